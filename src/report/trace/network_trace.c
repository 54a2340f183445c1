/* src/report/trace/network_trace.c - puts the plans of layers in the order of the steps, each under the name of its step. */
#include "report/trace/network_trace.h"

#include <string.h>

static const tw_plan *plan_of(const tw_network_plan *plan, int step)
{
    int layer = plan->network->layers.of[step];
    return layer < 0 ? NULL : plan->plan[layer];
}

/* The layer's operator under the step's name. */
static void put_step(const tw_network_plan *plan, int step, tw_op *op, tw_op_plan *out)
{
    *out = plan_of(plan, step)->op[0];
    *op = *out->program.op;
    op->name = plan->network->lowered->graph.op[step].name;
    out->program.op = op;
}

tw_status tw_network_as_plan(const tw_network_plan *plan, tw_arena *arena, tw_diag *diag, tw_plan *out)
{
    int n_steps = plan->network->lowered->graph.n_ops, n = 0;
    const char *path = tw_network_summary_of(plan->network).path, *slash = strrchr(path, '/');
    tw_model *model;
    tw_op *op;
    tw_op_plan *steps;
    TW_ALLOC(arena, model, 1);
    TW_ALLOC(arena, op, n_steps + 1);
    TW_ALLOC(arena, steps, n_steps + 1);
    for (int s = 0; s < n_steps; s++)
        if (plan_of(plan, s)) put_step(plan, s, &op[n], &steps[n]), n++;
    if (n == 0)
        return tw_diag_error(diag, (tw_loc){0}, "no step of the network has a plan: there is nothing to trace");
    model->name = slash ? slash + 1 : path;
    model->n_ops = n;
    model->op = op;
    *out = (tw_plan){.model = model, .machine = plan->machine, .op = steps};
    out->sum.cycles = plan->totals.layers_cycles;
    return TW_OK;
}
