/* src/plan/network_order.c - in which order a network is run: see network_run.h.
 *
 * The steps keep their order. Steps that make constants stand right before the first step that needs what they make, so
 * that not all weights of a network have to be there at once. Steps in the branch of an If that data decides about are not
 * run: the If is evaluated as a whole. */
#include "plan/network_run.h"

typedef struct ordering {
    const tw_lowered *lowered;
    int *
        needed_by; /* per root tensor: the first step that needs it, n_steps: the network's outputs, above: nobody */
} ordering;

static void need(ordering *o, int tensor, int step)
{
    if (tensor < 0) return;
    int *by = &o->needed_by[o->lowered->tensor[tensor].root];
    if (step < *by) *by = step;
}

/* The inputs of a step, and those of its nodes, which it is judged by. */
static void need_inputs(ordering *o, const tw_graph_file *file, const tw_step *step, int at)
{
    for (int i = 0; i < step->n_operands - 1; i++) need(o, step->operand[i], at);
    for (int h = 0; step->kind == TW_STEP_TILED && h < step->model->op[0].n_held; h++) need(o, step->held[h], at);
    for (int i = 0; i < step->n_inputs; i++) need(o, step->input[i], at);
    for (int n = 0; n < step->n_nodes; n++) {
        const tw_onnx_node *node = &file->graph[step->graph].node[step->node[n]];
        for (int k = 0; k < node->n_inputs; k++)
            if (node->input[k] >= 0) need(o, o->lowered->tensor_of_value[node->input[k]], at);
    }
}

/* The step before which a step that makes a constant has to run. */
static int place_of(const ordering *o, const tw_step *step)
{
    int first = o->lowered->n_steps + 1;
    for (int i = step->n_operands > 0 ? step->n_operands - 1 : 0; i < step->n_operands; i++)
        first = (int)tw_min(first, o->needed_by[o->lowered->tensor[step->operand[i]].root]);
    for (int i = 0; i < step->n_outputs; i++)
        if (step->output[i] >= 0)
            first = (int)tw_min(first, o->needed_by[o->lowered->tensor[step->output[i]].root]);
    return first;
}

static tw_status find_places(const tw_run *r, int *place)
{
    const tw_lowered *lowered = r->lowered;
    ordering o = {.lowered = lowered};
    TW_ALLOC(r->ctx->arena, o.needed_by, lowered->n_tensors + 1);
    for (int t = 0; t < lowered->n_tensors; t++) o.needed_by[t] = lowered->n_steps + 1;
    for (int t = 0; t < lowered->n_tensors; t++)
        if (lowered->tensor[t].is_output) need(&o, t, lowered->n_steps);
    for (int s = 0; s < lowered->n_steps; s++)
        if (!lowered->step[s].in_branch) need_inputs(&o, r->net->file, &lowered->step[s], s);
    for (int c = lowered->n_constant_steps - 1; c >= 0; c--) {
        const tw_step *step = &lowered->constant_step[c];
        place[c] = step->in_branch ? lowered->n_steps + 1 : place_of(&o, step);
        if (place[c] <= lowered->n_steps) need_inputs(&o, r->net->file, step, place[c]);
    }
    return TW_OK;
}

/* Counting sort by place: both kinds of steps keep their order. */
tw_status tw_run_order(tw_run *r)
{
    const tw_lowered *lowered = r->lowered;
    tw_run_job *job;
    int *place, *at;
    TW_ALLOC(r->ctx->arena, job, lowered->n_steps + lowered->n_constant_steps + 1);
    TW_ALLOC(r->ctx->arena, place, lowered->n_constant_steps + 1);
    TW_ALLOC(r->ctx->arena, at, lowered->n_steps + 2);
    TW_TRY(find_places(r, place));
    for (int c = 0; c < lowered->n_constant_steps; c++)
        if (place[c] <= lowered->n_steps) at[place[c] + 1]++;
    for (int s = 0; s <= lowered->n_steps; s++) at[s + 1] += at[s] + (s < lowered->n_steps);
    r->n_jobs = at[lowered->n_steps + 1];
    for (int c = 0; c < lowered->n_constant_steps; c++)
        if (place[c] <= lowered->n_steps) job[at[place[c]]++] = (tw_run_job){&lowered->constant_step[c], c, -1};
    for (int s = 0; s < lowered->n_steps; s++) job[at[s]] = (tw_run_job){&lowered->step[s], s, r->net->layer_of[s]};
    r->job = job;
    return TW_OK;
}
