/* src/plan/groupform.c - see groupform.h. */
#include "plan/groupform.h"

#include "fuse/least.h"
#include "machine/cost.h"
#include "plan/groupfacts.h"

static const tw_nest *nest_of(const tw_plan *plan, int group) { return &plan->joint->program->nest[group]; }

static const tw_engine *engine_of(const tw_nest *nest, int e) { return &nest->platform->engine[e].is; }

/* What a mover takes at least for so many transfers of so many units in all, whatever their shapes. */
static int64_t moves(const tw_engine *mover, int64_t transfers, int64_t units)
{
    if (transfers == 0) return 0;
    return tw_cost_by_shape(&mover->cost) ? tw_cost_of_units(&mover->cost, units)
                                          : tw_cost_least(&mover->cost, mover->pipelined, transfers, units);
}

static void longest(tw_group_form *f, int e, int64_t cycles, int64_t count)
{
    cycles = tw_cdiv(cycles, tw_max(1, count));
    if (cycles <= f->cycles) return;
    f->cycles = cycles;
    f->engine = e;
}

/* The engine's work in the group. A compute engine is busy for its executions, a mover for all that it carries. */
static void add_engine(const tw_plan *plan, const tw_nest *nest, int e, tw_group_form *f)
{
    const tw_joint_timeline *t = &plan->joint->timeline;
    int64_t busy = 0;
    for (int k = 0; k < nest->n_ops; k++)
        if (nest->op[k].engine == e) busy += t->op[nest->group][k].busy;
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        const tw_link_count *link = &t->link[hold->number];
        if (hold->engine != e && hold->drain != e) continue;
        busy = tw_sat_add(busy, moves(engine_of(nest, e), link->transfers, link->units));
    }
    longest(f, e, busy, engine_of(nest, e)->count);
}

/* ---- computing again against moving ---- */

static const tw_platform_view *view_of(const tw_nest *nest, int k)
{
    return &nest->platform->view[nest->map->op[k].view];
}

static int64_t more_cycles(const tw_plan *plan, int group)
{
    const tw_nest *nest = nest_of(plan, group);
    int64_t sum = 0;
    for (int k = 0; k < nest->n_ops; k++) {
        int64_t more = plan->joint->timeline.op[group][k].macs - tw_group_points_once(plan, group, k);
        if (more > 0) sum += tw_least_cycles(view_of(nest, k), nest->op[k].op, more);
    }
    return sum;
}

/* The mover between memory 0 and the next memory on the operand's way, -1: there is none. */
static int outer_mover(const tw_nest *nest, int k, int operand)
{
    const tw_platform_view *view = view_of(nest, k);
    const tw_op *op = nest->op[k].op;
    tw_path path = tw_machine_path(&view->machine, op, operand) & ~1u;
    unsigned way = operand == tw_op_output(op) ? TW_OUTWARDS : TW_INWARDS;
    int link = path == 0 ? -1 : tw_machine_link_of(&view->machine, op, operand, 0, __builtin_ctz(path), way);
    return link < 0 ? -1 : view->mover[link];
}

/* Units that a mover would carry of what stays inside: stored by who makes it, unless it is stored anyway, and loaded by the first that reads it. */
static int64_t units_saved(const tw_plan *plan, int group, int e)
{
    const tw_nest *nest = nest_of(plan, group);
    int64_t sum = 0;
    for (int k = 0; k + 1 < nest->n_ops; k++) {
        const tw_op *op = nest->op[k].op;
        int tensor = op->operand[tw_op_output(op)].tensor;
        int64_t units = tw_machine_units(plan->machine, nest->model->tensor[tensor].dtype,
                                         tw_tensor_elems(&nest->model->tensor[tensor]));
        bool stored = false, loaded = false;
        for (int s = 0; s < nest->n_holds; s++)
            stored |= nest->hold[s].tensor == tensor && nest->hold[s].drain >= 0;
        if (!stored && outer_mover(nest, k, tw_op_output(op)) == e) sum += units;
        for (int j = k + 1; j < nest->n_ops && !loaded; j++)
            for (int o = 0; o < tw_op_output(nest->op[j].op) && !loaded; o++) {
                loaded = nest->op[j].op->operand[o].tensor == tensor;
                if (loaded && outer_mover(nest, j, o) == e) sum += units;
            }
    }
    return sum;
}

static int64_t saved_cycles(const tw_plan *plan, int group)
{
    const tw_nest *nest = nest_of(plan, group);
    int64_t most = 0;
    for (int e = 0; e < nest->platform->n_engines; e++) {
        int64_t units = units_saved(plan, group, e);
        int64_t cycles = units > 0 ? moves(engine_of(nest, e), 1, units) : 0;
        most = tw_max(most, tw_cdiv(cycles, tw_max(1, engine_of(nest, e)->count)));
    }
    return most;
}

/* ---- weights ---- */

static void add_weights(const tw_plan *plan, const tw_nest *nest, tw_group_form *f)
{
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        const tw_tensor *tensor = &nest->model->tensor[hold->tensor];
        if (hold->from != TW_FROM_TENSOR || !nest->op[hold->which].op->operand[hold->operand].weights) continue;
        f->weight_bytes += tensor->bytes;
        f->weight_loaded +=
            plan->joint->timeline.link[hold->number].load_units / hold->moved_units * tw_dtype_bytes(tensor->dtype);
    }
}

tw_group_form tw_group_form_of(const tw_plan *plan, int group)
{
    const tw_nest *nest = nest_of(plan, group);
    tw_group_form f = {.engine = -1};
    for (int e = 0; e < nest->platform->n_engines; e++) add_engine(plan, nest, e, &f);
    f.more_cycles = more_cycles(plan, group);
    f.saved_cycles = saved_cycles(plan, group);
    add_weights(plan, nest, &f);
    return f;
}
