/* src/plan/execute.c - see execute.h. */
#include "plan/execute.h"

#include "sim/fanout.h"
#include "sim/order.h"
#include "sim/timeline.h"
#include "verify/expect.h"

tw_verify_input tw_verify_input_of(const tw_program *p, const tw_op_map *next, tw_level_info level[TW_MAX_MEMORIES],
                                   tw_resident resident[TW_MAX_OPERANDS])
{
    tw_verify_input in = {
        .model = p->model, .op = p->op, .machine = p->machine, .layout = &p->layout, .next = next};
    tw_verify_expect(p->map, level, &in);
    tw_verify_residents(&in, resident);
    return in;
}

/* How the compute engine spends the time in which it executes nothing; of rows what stands between executions is one sum. */
static tw_idle_claim idle_of(const tw_op_plan *plan)
{
    const tw_timeline *t = &plan->timeline;
    tw_idle_claim c = {.startup = t->idle.startup,
                       .tail = t->idle.tail,
                       .unused = t->idle.unused,
                       .late = t->idle.late,
                       .contended = t->idle.contended};
    for (int m = 0; m < TW_MAX_MEMORIES; m++)
        for (int o = 0; o < TW_MAX_OPERANDS; o++) {
            c.no_data += t->no_data[m][o];
            c.no_credit += t->no_credit[m][o];
        }
    for (int e = 0; e < TW_MAX_ENGINES; e++) c.no_data += t->held_up[e];
    return c;
}

tw_claims tw_claims_of(const tw_op_plan *plan)
{
    return (tw_claims){.sum = plan->timeline.sum,
                       .engine = plan->timeline.engine,
                       .memory = plan->memory,
                       .link = plan->link,
                       .pool = plan->timeline.pool[0],
                       .search = plan->searched ? &plan->result : NULL,
                       .has_compute = !plan->timeline.brief,
                       .compute_engine = plan->program.machine->compute,
                       .compute = idle_of(plan)};
}

/* The executor sees a timeline in the order of time: lockstep rows are, the commands of an async program are put so. */
tw_status tw_watch(const tw_op_plan *plan, const tw_row_sink *other, const tw_judges *judges, tw_arena *scratch,
                   tw_diag *diag)
{
    const tw_program *p = &plan->program;
    tw_row_fanout fanout = {0};
    tw_order *order = NULL;
    if (other) tw_row_fanout_add(&fanout, *other);
    tw_row_fanout_add(&fanout, tw_checker_sink(judges->checker));
    if (judges->executor) {
        tw_row_sink sink = tw_executor_sink(judges->executor);
        if (tw_timeline_runs_ahead(p) && !(order = tw_order_new(p->machine, &sink, judges->arena)))
            return TW_ERR_NOMEM;
        for (int e = 0; order && e < p->machine->n_engines; e++) {
            const tw_engine_use *use = &plan->timeline.engine[e];
            tw_order_expect(order, e, use->loads + use->stores + use->ops);
            tw_order_expect_loads(order, e, use->loads);
        }
        tw_row_fanout_add(&fanout, order ? tw_order_sink(order) : sink);
    }
    tw_row_sink all = tw_row_fanout_sink(&fanout);
    tw_timeline ignored;
    TW_TRY(tw_timeline_walk(p, &all, scratch, diag, &ignored));
    return order ? tw_order_flush(order) : TW_OK;
}

/* The judges live in the work's arena. */
static tw_status run(const tw_op_plan *plan, const tw_given *given, const tw_work *work, double *out,
                     const char **fault)
{
    tw_level_info level[TW_MAX_MEMORIES];
    tw_resident resident[TW_MAX_OPERANDS];
    tw_verify_input in = tw_verify_input_of(&plan->program, plan->next, level, resident);
    in.deadline = work->diag->deadline;
    tw_claims claims = tw_claims_of(plan);
    in.claims = &claims;
    tw_judges judges = {tw_checker_new(&in, work->arena), tw_executor_new_given(&in, given, work->arena),
                        work->arena};
    if (!judges.checker || !judges.executor) return TW_ERR_NOMEM;
    TW_TRY(tw_watch(plan, NULL, &judges, work->scratch, work->diag));
    *fault = tw_checker_finish(judges.checker);
    if (!*fault) TW_TRY(tw_executor_output(judges.executor, out, fault));
    if (!tw_deadline_is_over(work->diag->deadline)) return TW_OK;
    *fault = NULL; /* of judges whose time is up, nothing is believed */
    return TW_STOPPED;
}

tw_op_plan tw_op_plan_for(const tw_op_plan *plan, const tw_model *model, int op)
{
    tw_op_plan own = *plan;
    own.program.model = model;
    own.program.op = &model->op[op];
    return own;
}

tw_status tw_plan_execute(const tw_op_plan *plan, const tw_given *given, tw_arena *scratch, tw_diag *diag,
                          double *out, const char **fault)
{
    const char *found = NULL;
    tw_arena *judges = tw_arena_new();
    if (!judges) return TW_ERR_NOMEM;
    tw_status status = run(plan, given, &(tw_work){judges, scratch, diag}, out, &found);
    *fault = found ? tw_arena_printf(scratch, "%s", found) : NULL;
    if (found && !*fault) status = TW_ERR_NOMEM;
    tw_arena_free(judges);
    return status;
}
