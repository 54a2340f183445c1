/* src/lower/tidy.c - what is left of the steps and tensors once everything is lowered. */
#include "lower/build.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

static int root_of(const tw_lowering *l, int tensor) { return l->tensor[tensor].root; }

static bool is_needed(const tw_lowering *l, const bool *needed, const tw_op *step)
{
    for (int i = 0; i < tw_op_n_writes(step); i++)
        if (tw_op_written(step, i) >= 0 && needed[root_of(l, tw_op_written(step, i))]) return true;
    return false;
}

static void need_inputs(const tw_lowering *l, bool *needed, const tw_op *step)
{
    for (int i = 0; i < tw_op_n_reads(step); i++)
        if (tw_op_read(step, i) >= 0) needed[root_of(l, tw_op_read(step, i))] = true;
}

static tw_status drop_steps(tw_lowering *l)
{
    bool *needed, *alive;
    int kept = 0;
    TW_ALLOC(l->arena, needed, l->n_tensors + 1);
    TW_ALLOC(l->arena, alive, l->n_steps + 1);
    for (int t = 0; t < l->n_tensors; t++)
        if (l->tensor[t].is_output) needed[root_of(l, t)] = true;
    for (int s = l->n_steps - 1; s >= 0; s--) {
        alive[s] = is_needed(l, needed, &l->step[s]);
        if (alive[s]) need_inputs(l, needed, &l->step[s]);
    }
    for (int s = 0; s < l->n_steps; s++)
        if (alive[s]) l->step[kept++] = l->step[s];
    l->n_steps = kept;
    return TW_OK;
}

/* ---- tensors ---- */

static void use(const tw_lowering *l, int *number, int tensor)
{
    if (tensor >= 0) number[tensor] = number[root_of(l, tensor)] = 1;
}

/* What a node reads is looked at when its step is judged, also where the step itself reads another view of it. */
static void use_views_of_nodes(const tw_lowering *l, int *number)
{
    for (int s = 0; s < l->n_steps; s++) {
        const tw_op_origin *from = &l->step[s].from;
        for (int i = 0; i < from->n_nodes; i++) {
            const tw_onnx_node *node = &l->file->graph[from->graph].node[from->node[i]];
            for (int k = 0; k < node->n_inputs; k++) {
                int t = node->input[k] >= 0 ? l->tensor_of_value[node->input[k]] : -1;
                if (t >= 0 && root_of(l, t) != t && number[root_of(l, t)]) number[t] = 1;
            }
        }
    }
}

static void use_all(const tw_lowering *l, int *number)
{
    for (int s = 0; s < l->n_steps; s++) {
        const tw_op *step = &l->step[s];
        for (int i = 0; i < tw_op_n_reads(step); i++) use(l, number, tw_op_read(step, i));
        for (int i = 0; i < tw_op_n_writes(step); i++) use(l, number, tw_op_written(step, i));
        for (int o = 0; step->from.plain && o < step->from.plain->n_operands; o++)
            use(l, number, step->from.plain->operand[o].tensor);
    }
    for (int t = 0; t < l->n_tensors; t++)
        if (l->tensor[t].is_output || (l->tensor[t].role == TW_ROLE_INPUT && root_of(l, t) == t)) use(l, number, t);
    use_views_of_nodes(l, number);
}

static void renumber(const int *number, int *tensor, int n)
{
    for (int i = 0; i < n; i++)
        if (tensor[i] >= 0) tensor[i] = number[tensor[i]];
}

static tw_status renumber_list(tw_lowering *l, const int *number, const int **list, int n)
{
    int *copy;
    if (n == 0) return TW_OK;
    TW_ALLOC(l->arena, copy, n);
    memcpy(copy, *list, (size_t)n * sizeof *copy);
    renumber(number, copy, n);
    *list = copy;
    return TW_OK;
}

static void renumber_op(const int *number, tw_op *op)
{
    for (int o = 0; o < op->n_operands; o++) renumber(number, &op->operand[o].tensor, 1);
    for (int h = 0; h < op->n_held; h++) renumber(number, &op->held[h].tensor, 1);
}

static tw_status renumber_plain(tw_lowering *l, const int *number, tw_op *step)
{
    tw_op *copy;
    if (!step->from.plain) return TW_OK;
    TW_ALLOC(l->arena, copy, 1);
    *copy = *step->from.plain;
    renumber_op(number, copy);
    step->from.plain = copy;
    return TW_OK;
}

static tw_status renumber_steps(tw_lowering *l, const int *number)
{
    for (int s = 0; s < l->n_steps; s++) {
        tw_op *step = &l->step[s];
        renumber_op(number, step);
        TW_TRY(renumber_plain(l, number, step));
        TW_TRY(renumber_list(l, number, &step->input, step->n_inputs));
        TW_TRY(renumber_list(l, number, &step->output, step->n_outputs));
    }
    return TW_OK;
}

static tw_status drop_tensors(tw_lowering *l)
{
    int *number, kept = 0;
    TW_ALLOC(l->arena, number, l->n_tensors + 1);
    use_all(l, number);
    for (int t = 0; t < l->n_tensors; t++) number[t] = number[t] ? kept++ : -1;
    TW_TRY(renumber_steps(l, number));
    for (int t = 0; t < l->n_tensors; t++) {
        if (number[t] < 0) continue;
        tw_tensor tensor = l->tensor[t];
        tensor.root = number[tensor.root];
        l->tensor[number[t]] = tensor;
        l->source[number[t]] = l->source[t];
    }
    l->n_tensors = kept;
    renumber(number, l->tensor_of_value, l->file->n_values);
    return TW_OK;
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    const tw_op *x = *(tw_op *const *)a, *y = *(tw_op *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

/* Nodes of a file may be called alike; from the second on they get a number. */
static tw_status number_names(tw_lowering *l)
{
    tw_op **sorted;
    TW_ALLOC(l->arena, sorted, l->n_steps + 1);
    for (int s = 0; s < l->n_steps; s++) sorted[s] = &l->step[s];
    qsort(sorted, (size_t)l->n_steps, sizeof *sorted, by_name);
    for (int s = 1, same = 1; s < l->n_steps; s++) {
        same = strcmp(sorted[s - same]->name, sorted[s]->name) == 0 ? same + 1 : 1;
        if (same > 1) sorted[s]->name = tw_say(l, "%s#%d", sorted[s - same + 1]->name, same);
    }
    return l->no_memory ? TW_ERR_NOMEM : TW_OK;
}

tw_status tw_tidy(tw_lowering *l)
{
    TW_TRY(drop_steps(l));
    TW_TRY(drop_tensors(l));
    return number_names(l);
}
