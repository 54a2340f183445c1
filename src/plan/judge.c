/* src/plan/judge.c - what checker and executor say of a plan, see plan.h. */
#include "core/deadline.h"
#include "plan/execute.h"
#include "plan/plan.h"
#include "verify/rewritten.h"

static tw_status count_rows(void *user, const tw_rowset *row)
{
    enum { BETWEEN = 1 << 12 }; /* rows from report to report */
    const tw_row_count *c = user;
    c->verdict->rows++;
    c->verdict->instructions += row->n_events;
    if (c->options->progress && c->verdict->rows % BETWEEN == 0)
        c->options->progress(c->options->progress_user, c->verdict->instructions, c->total);
    return TW_OK;
}

tw_row_sink tw_row_count_sink(tw_row_count *count) { return (tw_row_sink){count_rows, NULL, count}; }

/* Whether executing needs less than 4 GiB of the host: the tensors, their reference, the memories of the machine.
 * Counted in MiB, so that nothing overflows. */
static bool is_affordable(const tw_program *p)
{
    enum { BYTES_PER_ELEM = 32, BYTES_PER_UNIT = 16, MOST_MIB = 4096 };
    int64_t mib = 0;
    for (int o = 0; o < p->op->n_operands; o++)
        mib += (tw_operand_elems(&p->op->operand[o]) >> 20) * BYTES_PER_ELEM;
    for (int m = 1; m < p->machine->n_memories; m++) mib += (p->layout.used[m] >> 20) * BYTES_PER_UNIT;
    return mib < MOST_MIB;
}

/* Whether numbers are run through the program: not those of a huge operator, and not when there is no time for it. */
static bool is_executed(const tw_program *p, const tw_verify_options *options, const tw_deadline *deadline,
                        bool *stopped)
{
    static const int64_t default_max = INT64_C(1) << 31;
    static const double seconds_per_elem = 2e-8; /* to draw one and to store it */
    double elems = 0;
    if (tw_op_points(p->op) > (options->max_macs > 0 ? options->max_macs : default_max) || !is_affordable(p))
        return false;
    for (int o = 0; o < p->op->n_operands; o++) elems += (double)tw_operand_elems(&p->op->operand[o]);
    *stopped = elems * seconds_per_elem > tw_deadline_left(deadline);
    return !*stopped;
}

/* What both judges say of the program. */
static tw_status hear(const tw_op_plan *plan, const tw_verify_options *options, const tw_work *work,
                      tw_arena *judges, tw_verdict *v)
{
    const tw_program *p = &plan->program;
    tw_level_info level[TW_MAX_MEMORIES];
    tw_resident resident[TW_MAX_OPERANDS];
    tw_verify_input in = tw_verify_input_of(p, plan->next, level, resident);
    in.deadline = work->diag->deadline;
    tw_claims claims = tw_claims_of(plan);
    in.claims = &claims;
    bool executes = is_executed(p, options, in.deadline, &v->stopped);
    tw_checker *checker = tw_checker_new(&in, judges);
    tw_executor *executor = executes ? tw_executor_new(&in, options->seed, judges) : NULL;
    if (!checker || (executes && !executor)) return TW_ERR_NOMEM;
    tw_row_count count = {v, options, plan->timeline.sum.instructions};
    tw_row_sink counted = tw_row_count_sink(&count);
    TW_TRY(tw_watch(plan, &counted, &(tw_judges){checker, executor, judges}, work->scratch, work->diag));
    v->first_fault = tw_checker_finish(checker);
    v->checked = v->first_fault == NULL;
    if (!executes) return TW_OK;
    const char *fault;
    TW_TRY(tw_executor_finish(executor, options->reference, options->user, &v->reference, &fault));
    v->executed = true;
    v->equal = fault == NULL;
    v->elements = tw_operand_elems(&p->op->operand[tw_op_output(p->op)]);
    if (!v->first_fault) v->first_fault = fault;
    return TW_OK;
}

/* Whether what was executed is what the workload says, where a mapping rewrote that; -1: all operators are asked about. */
static tw_status hear_rewriting(const tw_plan *plan, int op, const tw_verify_options *options, const tw_work *work,
                                tw_arena *judges, tw_verdict *v)
{
    const tw_rewriting is = {.given = plan->model->given,
                             .now = plan->model,
                             .reference = options->reference,
                             .user = options->user,
                             .seed = options->seed,
                             .deadline = work->diag->deadline};
    if (!is.given || !v->executed || v->first_fault) return TW_OK;
    TW_TRY(tw_rewriting_check(&is, op, judges, &v->first_fault));
    v->equal = !v->first_fault;
    return TW_OK;
}

/* Of judges whose time is up, nothing is believed. */
static tw_status judge(const tw_plan *plan, int op, const tw_verify_options *options, const tw_work *work,
                       tw_arena *judges, tw_verdict *v)
{
    static const int64_t default_max = INT64_C(1) << 24;
    int64_t most = options->max_instructions > 0 ? options->max_instructions : default_max;
    const tw_op_plan *is = plan->joint ? NULL : &plan->op[op];
    const tw_deadline *deadline = work->diag->deadline;
    tw_diag quiet = tw_diag_quiet(work->diag);
    const tw_work mine = {work->arena, work->scratch, &quiet};
    if ((is ? is->timeline.sum : plan->sum).instructions > most) return TW_OK; /* neither checked nor executed */
    tw_status status = tw_deadline_is_over(deadline) ? TW_STOPPED
                       : is                          ? hear(is, options, &mine, judges, v)
                                                     : tw_joint_hear(plan, options, &mine, judges, v);
    if (status == TW_OK) status = hear_rewriting(plan, is ? op : -1, options, &mine, judges, v);
    if (status == TW_OK && tw_deadline_is_over(deadline)) status = TW_STOPPED;
    if (status != TW_STOPPED) return status;
    *v = (tw_verdict){.stopped = true};
    return TW_OK;
}

/* Makes a copy of a text of a verdict, unless it is NULL, that outlives the judges. */
static tw_status keep_text(tw_arena *arena, const char **text)
{
    if (!*text) return TW_OK;
    *text = tw_arena_printf(arena, "%s", *text);
    return *text ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_plan_judge(const tw_plan *plan, int op, const tw_verify_options *options, const tw_work *work,
                        const tw_verdict **out)
{
    tw_verdict *v;
    TW_ALLOC(work->arena, v, 1);
    tw_arena *judges = tw_arena_new();
    if (!judges) return TW_ERR_NOMEM;
    tw_status status = judge(plan, op, options, work, judges, v);
    if (status == TW_OK) status = keep_text(work->arena, &v->reference);
    if (status == TW_OK) status = keep_text(work->arena, &v->first_fault);
    tw_arena_free(judges);
    TW_TRY(status);
    *out = v;
    return v->first_fault ? TW_WRONG : TW_OK;
}
