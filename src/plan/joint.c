/* src/plan/joint.c - a mapping with groups to a plan, and what its judge says of it. */
#include "verify/joint.h"
#include "core/deadline.h"
#include "plan/execute.h"
#include "sim/fanout.h"

/* What each operator did of the whole: its executions, from the first to the last. Split over cores, it has parts in several
 * groups. */
static tw_status describe_ops(tw_plan *plan, const tw_joint_plan *joint, tw_arena *arena)
{
    tw_op_plan *op;
    TW_ALLOC(arena, op, plan->model->n_ops);
    for (int i = 0; i < plan->model->n_ops; i++) op[i].timeline.has_waits = true;
    for (int g = 0; g < joint->program->n_nests; g++) {
        const tw_nest *nest = &joint->program->nest[g];
        for (int k = 0; k < nest->n_ops; k++) {
            const tw_joint_span *span = &joint->timeline.op[g][k];
            tw_program *program = &op[nest->map->op[k].op].program;
            program->op = nest->op[k].op;
            program->model = plan->model;
            program->machine = nest->op[k].machine;
            tw_summary *sum = &op[nest->map->op[k].op].timeline.sum;
            sum->cycles = tw_max(sum->cycles, span->end_cycle);
            sum->execs += span->execs;
            sum->macs += span->macs;
        }
    }
    plan->op = op;
    return TW_OK;
}

/* Units of a memory that are in use at a time, each hold with as many buffers as it ever has at once. */
static int64_t units_at(const tw_joint_plan *joint, int memory, int64_t cycle)
{
    int64_t sum = 0;
    for (int s = 0; s < joint->program->n_holds; s++) {
        tw_span life = joint->timeline.life[s];
        const tw_pool_use *pool = &joint->timeline.pool[s];
        if (joint->program->hold[s]->memory == memory && life.lo <= cycle && cycle < tw_max(life.hi, life.lo + 1))
            sum += tw_nest_hold_units(joint->program->hold[s], pool->peak);
    }
    return sum;
}

static tw_status describe_memories(tw_joint_plan *joint, tw_arena *arena)
{
    const tw_platform *platform = joint->program->platform;
    tw_memory_use *use;
    TW_ALLOC(arena, use, platform->n_memories);
    for (int m = 0; m < platform->n_memories; m++)
        use[m] = (tw_memory_use){platform->memory[m].name, platform->memory[m].is.size, joint->program->used[m], 0};
    for (int s = 0; s < joint->program->n_holds; s++) {
        int m = joint->program->hold[s]->memory;
        if (joint->timeline.pool[s].peak > 0)
            use[m].peak_live = tw_max(use[m].peak_live, units_at(joint, m, joint->timeline.life[s].lo));
    }
    joint->memory = use;
    return TW_OK;
}

tw_status tw_plan_build_joint(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                              const tw_joint_search *search, const tw_work *work, const tw_plan **out)
{
    tw_joint_plan *joint;
    tw_plan *plan;
    assert(machine->platform);
    TW_ALLOC(work->arena, joint, 1);
    TW_ALLOC(work->arena, plan, 1);
    joint->search = search;
    TW_TRY(tw_joint_build(model, machine->platform, mapping, work, &joint->program));
    tw_status ran = tw_joint_run(joint->program, NULL, work, &joint->timeline);
    if (ran != TW_OK && ran != TW_WRONG) return ran;
    *plan = (tw_plan){.joint = joint, .model = model, .machine = machine, .mapping = mapping};
    plan->sum = joint->timeline.sum;
    TW_TRY(describe_memories(joint, work->arena));
    TW_TRY(describe_ops(plan, joint, work->arena));
    *out = plan;
    return ran;
}

/* ---- the verdict ---- */

/* Whether executing needs less than 4 GiB of the host, and no more points of any operator than allowed. */
static bool is_executed(const tw_plan *plan, const tw_verify_options *options)
{
    static const int64_t default_max = INT64_C(1) << 31;
    enum { BYTES_PER_ELEM = 32, BYTES_PER_UNIT = 16, MOST_MIB = 4096 };
    int64_t mib = 0, most = options->max_macs > 0 ? options->max_macs : default_max;
    for (int i = 0; i < plan->model->n_ops; i++)
        if (plan->op[i].timeline.sum.macs > most) return false;
    for (int t = 0; t < plan->model->n_tensors; t++)
        mib += (tw_tensor_elems(&plan->model->tensor[t]) >> 20) * BYTES_PER_ELEM;
    for (int m = 0; m < plan->joint->program->platform->n_memories; m++)
        mib += (plan->joint->program->used[m] >> 20) * plan->joint->program->platform->memory[m].lanes *
               BYTES_PER_UNIT;
    return mib < MOST_MIB;
}

/* What is said of each engine's time without executions. */
static tw_status claim_idle(const tw_plan *plan, tw_arena *arena, tw_claims *out)
{
    const tw_joint_timeline *t = &plan->joint->timeline;
    int n = plan->joint->program->platform->n_engines, n_holds = plan->joint->program->n_holds;
    tw_idle_claim *idle;
    TW_ALLOC(arena, idle, n + 1);
    for (int e = 0; e < n; e++) {
        const tw_idle *is = &t->idle[e];
        idle[e] = (tw_idle_claim){is->startup, is->tail, is->unused, is->late, is->contended, 0, 0};
        for (int h = 0; h < n_holds; h++) {
            idle[e].no_data += t->no_data[(int64_t)e * n_holds + h];
            idle[e].no_credit += t->no_credit[(int64_t)e * n_holds + h];
        }
    }
    out->idle = idle;
    return TW_OK;
}

/* What is said of operators and of what groups hold. */
static tw_status claim_parts(const tw_plan *plan, tw_arena *arena, tw_claims *out)
{
    const tw_joint_timeline *timeline = &plan->joint->timeline;
    const tw_joint *program = plan->joint->program;
    tw_op_claim *op;
    tw_hold_claim *hold;
    TW_ALLOC(arena, op, plan->model->n_ops + 1);
    TW_ALLOC(arena, hold, program->n_holds + 1);
    for (int i = 0; i < plan->model->n_ops; i++) op[i].start = INT64_MAX;
    for (int g = 0; g < program->n_nests; g++)
        for (int k = 0; k < program->nest[g].n_ops; k++) {
            const tw_joint_span *span = &timeline->op[g][k];
            tw_op_claim *is = &op[program->nest[g].map->op[k].op];
            is->start = tw_min(is->start, span->start_cycle);
            is->busy += span->busy;
            is->rescaled += span->rescaled;
        }
    for (int s = 0; s < program->n_holds; s++) {
        const tw_link_count *link = &timeline->link[s];
        hold[s] = (tw_hold_claim){timeline->life[s], link->transfers, link->units, link->loads, link->load_units};
    }
    out->op_time = op;
    out->hold = hold;
    out->group_fj = timeline->group_fj;
    return claim_idle(plan, arena, out);
}

/* What the plan says of itself. */
static tw_status claims_of(const tw_plan *plan, tw_arena *arena, tw_claims *out)
{
    const tw_joint_timeline *timeline = &plan->joint->timeline;
    tw_summary *op;
    TW_ALLOC(arena, op, plan->model->n_ops);
    for (int i = 0; i < plan->model->n_ops; i++) op[i] = plan->op[i].timeline.sum;
    *out = (tw_claims){.sum = plan->sum,
                       .engine = timeline->engine,
                       .memory = plan->joint->memory,
                       .pool = timeline->pool,
                       .op = op,
                       .port_busy = timeline->port_busy,
                       .port_passed = timeline->port_passed,
                       .port_units = timeline->port_units,
                       .outermost_units = &timeline->outermost_units};
    return claim_parts(plan, arena, out);
}

/* What its judge has to know. */
static tw_joint_input input_of(const tw_plan *plan, const tw_claims *claims, const tw_deadline *deadline)
{
    return (tw_joint_input){.model = plan->model,
                            .platform = plan->joint->program->platform,
                            .n_groups = plan->mapping->n_groups,
                            .group = plan->mapping->group,
                            .n_residents = plan->mapping->n_residents,
                            .resident = plan->mapping->resident,
                            .n_rooms = plan->mapping->n_rooms,
                            .room = plan->mapping->room,
                            .n_buffers = plan->joint->program->n_buffers,
                            .buffer = plan->joint->program->buffer,
                            .claims = claims,
                            .deadline = deadline};
}

tw_status tw_joint_hear(const tw_plan *plan, const tw_verify_options *options, const tw_work *work,
                        tw_arena *judges, tw_verdict *v)
{
    const tw_joint *program = plan->joint->program;
    tw_claims claims;
    TW_TRY(claims_of(plan, judges, &claims));
    tw_joint_input in = input_of(plan, &claims, work->diag->deadline);
    in.seed = options->seed;
    in.executes = is_executed(plan, options);
    in.reference = options->reference;
    in.user = options->user;
    tw_joint_judge *judge = tw_joint_judge_new(&in, judges);
    tw_joint_timeline ignored;
    if (!judge) return TW_ERR_NOMEM;
    tw_row_count count = {v, options, plan->sum.instructions};
    tw_row_fanout fanout = {0};
    tw_row_fanout_add(&fanout, tw_row_count_sink(&count));
    tw_row_fanout_add(&fanout, tw_joint_judge_sink(judge));
    tw_row_sink sink = tw_row_fanout_sink(&fanout);
    tw_status ran = tw_joint_run(program, &sink, &(tw_work){judges, work->scratch, work->diag}, &ignored);
    if (ran != TW_OK && ran != TW_WRONG) return ran;
    const char *fault, *who;
    TW_TRY(tw_joint_judge_finish(judge, &fault, &who, &v->elements));
    v->first_fault = fault;
    v->checked = !fault;
    v->executed = in.executes && who;
    v->equal = v->executed && !fault;
    v->reference = who;
    return TW_OK;
}

tw_status tw_joint_tell_fault(const tw_plan *plan, const tw_work *work)
{
    const tw_verify_options options = {.max_macs = 1}; /* checked, not executed */
    tw_diag quiet = tw_diag_quiet(work->diag);
    tw_verdict verdict = {0};
    tw_arena *judges = tw_arena_new();
    if (!judges) return TW_ERR_NOMEM;
    tw_status status =
        tw_joint_hear(plan, &options, &(tw_work){work->arena, work->scratch, &quiet}, judges, &verdict);
    if (status == TW_OK && verdict.first_fault)
        tw_diag_note(work->diag, plan->mapping->group[0].loc, "the verifier says: %s", verdict.first_fault);
    tw_arena_free(judges);
    return status == TW_OK ? TW_WRONG : status;
}

static tw_status execute(const tw_plan *plan, const tw_joint_given *given, const tw_work *work, const char **fault)
{
    tw_claims claims;
    tw_joint_timeline ignored;
    const char *who;
    int64_t elements;
    TW_TRY(claims_of(plan, work->arena, &claims));
    tw_joint_input in = input_of(plan, &claims, work->diag->deadline);
    in.given = given;
    in.executes = true;
    tw_joint_judge *judge = tw_joint_judge_new(&in, work->arena);
    if (!judge) return TW_ERR_NOMEM;
    tw_row_sink sink = tw_joint_judge_sink(judge);
    TW_TRY(tw_joint_run(plan->joint->program, &sink, work, &ignored));
    TW_TRY(tw_joint_judge_finish(judge, fault, &who, &elements));
    return tw_deadline_is_over(work->diag->deadline) ? TW_STOPPED : TW_OK;
}

tw_status tw_joint_execute(const tw_plan *plan, const tw_joint_given *given, tw_arena *scratch, tw_diag *diag,
                           const char **fault)
{
    const char *found = NULL;
    tw_arena *judges = tw_arena_new();
    if (!judges) return TW_ERR_NOMEM;
    tw_status status = execute(plan, given, &(tw_work){judges, scratch, diag}, &found);
    *fault = found ? tw_arena_printf(scratch, "%s", found) : NULL;
    if (found && !*fault) status = TW_ERR_NOMEM;
    tw_arena_free(judges);
    return status;
}
