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
    int *by = &o->needed_by[o->lowered->graph.tensor[tensor].root];
    if (step < *by) *by = step;
}

/* The inputs of a step, and those of its nodes, which it is judged by. */
static void need_inputs(ordering *o, const tw_graph_file *file, const tw_op *step, int at)
{
    for (int i = 0; i < tw_op_n_reads(step); i++) need(o, tw_op_read(step, i), at);
    for (int n = 0; n < step->from.n_nodes; n++) {
        const tw_onnx_node *node = &file->graph[step->from.graph].node[step->from.node[n]];
        for (int k = 0; k < node->n_inputs; k++)
            if (node->input[k] >= 0) need(o, o->lowered->tensor_of_value[node->input[k]], at);
    }
}

/* The step before which a step that makes a constant has to run. */
static int place_of(const ordering *o, const tw_op *step)
{
    int first = o->lowered->graph.n_ops + 1;
    for (int i = 0; i < tw_op_n_writes(step); i++) {
        int made = tw_op_written(step, i);
        if (made >= 0) first = (int)tw_min(first, o->needed_by[o->lowered->graph.tensor[made].root]);
    }
    return first;
}

/* What the steps of one program need is needed by the first of them. */
static void need_step(ordering *o, const tw_run *r, int s)
{
    const tw_op *step = &r->lowered->graph.op[s];
    const tw_network_part *part = tw_part_of_step(r->plan, s);
    int at = part ? part->first_step : s;
    need_inputs(o, r->net->file, step, at);
    for (int i = 0; part && i < step->from.plain->n_operands; i++) need(o, step->from.plain->operand[i].tensor, at);
}

static tw_status find_places(const tw_run *r, int *place)
{
    const tw_lowered *lowered = r->lowered;
    ordering o = {.lowered = lowered};
    TW_ALLOC(r->ctx->arena, o.needed_by, lowered->graph.n_tensors + 1);
    for (int t = 0; t < lowered->graph.n_tensors; t++) o.needed_by[t] = lowered->graph.n_ops + 1;
    for (int t = 0; t < lowered->graph.n_tensors; t++)
        if (lowered->graph.tensor[t].is_output) need(&o, t, lowered->graph.n_ops);
    for (int s = 0; s < lowered->graph.n_ops; s++)
        if (!lowered->graph.op[s].from.in_branch) need_step(&o, r, s);
    for (int c = lowered->constants.n_ops - 1; c >= 0; c--) {
        const tw_op *step = &lowered->constants.op[c];
        place[c] = step->from.in_branch ? lowered->graph.n_ops + 1 : place_of(&o, step);
        if (place[c] <= lowered->graph.n_ops) need_inputs(&o, r->net->file, step, place[c]);
    }
    return TW_OK;
}

/* Counting sort by place: both kinds of steps keep their order. */
tw_status tw_run_order(tw_run *r)
{
    const tw_lowered *lowered = r->lowered;
    tw_run_job *job;
    int *place, *at;
    TW_ALLOC(r->ctx->arena, job, lowered->graph.n_ops + lowered->constants.n_ops + 1);
    TW_ALLOC(r->ctx->arena, place, lowered->constants.n_ops + 1);
    TW_ALLOC(r->ctx->arena, at, lowered->graph.n_ops + 2);
    TW_TRY(find_places(r, place));
    for (int c = 0; c < lowered->constants.n_ops; c++)
        if (place[c] <= lowered->graph.n_ops) at[place[c] + 1]++;
    for (int s = 0; s <= lowered->graph.n_ops; s++) at[s + 1] += at[s] + (s < lowered->graph.n_ops);
    r->n_jobs = at[lowered->graph.n_ops + 1];
    for (int c = 0; c < lowered->constants.n_ops; c++)
        if (place[c] <= lowered->graph.n_ops) job[at[place[c]]++] = (tw_run_job){&lowered->constants.op[c], c, -1};
    for (int s = 0; s < lowered->graph.n_ops; s++)
        job[at[s]] = (tw_run_job){&lowered->graph.op[s], s, r->net->layers.of[s]};
    r->job = job;
    return TW_OK;
}
