/* src/lower/tidy.c - what is left of the steps and tensors once everything is lowered. */
#include "lower/build.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

static int root_of(const tw_lowering *l, int tensor) { return l->tensor[tensor].root; }

static void need(const tw_lowering *l, bool *needed, const int *tensor, int n)
{
    for (int i = 0; i < n; i++)
        if (tensor[i] >= 0) needed[root_of(l, tensor[i])] = true;
}

static bool is_needed(const tw_lowering *l, const bool *needed, const tw_step *step)
{
    if (step->kind == TW_STEP_TILED) return needed[root_of(l, step->operand[step->n_operands - 1])];
    for (int i = 0; i < step->n_outputs; i++)
        if (step->output[i] >= 0 && needed[root_of(l, step->output[i])]) return true;
    return false;
}

static void need_inputs(const tw_lowering *l, bool *needed, const tw_step *step)
{
    if (step->kind != TW_STEP_TILED) {
        need(l, needed, step->input, step->n_inputs);
        return;
    }
    need(l, needed, step->operand, step->n_operands - 1);
    need(l, needed, step->held, step->model->op->n_held);
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

static void use(const tw_lowering *l, int *number, const int *tensor, int n)
{
    for (int i = 0; i < n; i++)
        if (tensor[i] >= 0) number[tensor[i]] = number[root_of(l, tensor[i])] = 1;
}

/* What a node reads is looked at when its step is judged, also where the step itself reads another view of it. */
static void use_views_of_nodes(const tw_lowering *l, int *number)
{
    for (int s = 0; s < l->n_steps; s++) {
        const tw_step *step = &l->step[s];
        for (int i = 0; i < step->n_nodes; i++) {
            const tw_onnx_node *node = &l->file->graph[step->graph].node[step->node[i]];
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
        const tw_step *step = &l->step[s];
        if (step->kind == TW_STEP_TILED) {
            use(l, number, step->operand, step->n_operands);
            use(l, number, step->held, step->model->op->n_held);
        } else {
            use(l, number, step->input, step->n_inputs);
            use(l, number, step->output, step->n_outputs);
        }
    }
    for (int t = 0; t < l->n_tensors; t++)
        if (l->tensor[t].is_output || (l->tensor[t].role == TW_ROLE_INPUT && root_of(l, t) == t))
            use(l, number, &t, 1);
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
    TW_ALLOC(l->arena, copy, n + 1);
    if (n) memcpy(copy, *list, (size_t)n * sizeof *copy);
    renumber(number, copy, n);
    *list = copy;
    return TW_OK;
}

static tw_status renumber_steps(tw_lowering *l, const int *number)
{
    for (int s = 0; s < l->n_steps; s++) {
        tw_step *step = &l->step[s];
        if (step->kind == TW_STEP_TILED) {
            renumber(number, step->operand, step->n_operands);
            renumber(number, step->held, step->model->op->n_held);
        } else {
            TW_TRY(renumber_list(l, number, &step->input, step->n_inputs));
            TW_TRY(renumber_list(l, number, &step->output, step->n_outputs));
        }
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
        tw_net_tensor tensor = l->tensor[t];
        tensor.root = number[tensor.root];
        l->tensor[number[t]] = tensor;
    }
    l->n_tensors = kept;
    renumber(number, l->tensor_of_value, l->file->n_values);
    return TW_OK;
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    const tw_step *x = *(tw_step *const *)a, *y = *(tw_step *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

/* Nodes of a file may be called alike; from the second on they get a number. */
static tw_status number_names(tw_lowering *l)
{
    tw_step **sorted;
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
