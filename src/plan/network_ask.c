/* src/plan/network_ask.c - inputs that are no data: see network.h.
 *
 * Some inputs of operators say how, not what: the shape of a Reshape, the axes of a sum, the scales of a Resize. Where such a one
 * is an input of the network, numbers drawn at random would make nonsense of it. What the shapes in the file settle (Reshape,
 * Expand, ConstantOfShape, Tile, sizes of a Resize) is derived from them; the others have to be given. An input that reaches such a
 * place through whole numbers that nodes compute counts as well; one whose shape alone is asked for does not. */
#include "plan/network.h"

#include <string.h>

/* ---- which inputs say how ---- */

static const struct {
    const char *op;
    unsigned inputs; /* a bit each */
} says_how[] = {
    {"Reshape", 1 << 1},
    {"Expand", 1 << 1},
    {"Tile", 3 << 1},
    {"Slice", 15 << 1},
    {"Pad", 5 << 1},
    {"Resize", 7 << 1},
    {"Upsample", 1 << 1},
    {"ConstantOfShape", 1},
    {"Range", 7},
    {"Squeeze", 1 << 1},
    {"Unsqueeze", 1 << 1},
    {"Split", 1 << 1},
    {"TopK", 1 << 1},
    {"OneHot", 1 << 1},
    {"CumSum", 1 << 1},
    {"CenterCropPad", 1 << 1},
    {"MaxUnpool", 3 << 1},
    {"Trilu", 1 << 1},
    {"AffineGrid", 1 << 1},
    {"NonMaxSuppression", 1 << 2},
    {"RoiAlign", 1 << 2},
    {"ReverseSequence", 1 << 1},
    {"ReduceSum", 1 << 1},
    {"ReduceMean", 1 << 1},
    {"ReduceMax", 1 << 1},
    {"ReduceMin", 1 << 1},
    {"ReduceProd", 1 << 1},
    {"ReduceL1", 1 << 1},
    {"ReduceL2", 1 << 1},
    {"ReduceLogSum", 1 << 1},
    {"ReduceLogSumExp", 1 << 1},
    {"ReduceSumSquare", 1 << 1},
};

static bool is_how(const tw_onnx_node *node, int i)
{
    if (node->domain[0] || i > 30) return false;
    for (size_t k = 0; k < TW_COUNT(says_how); k++)
        if (strcmp(says_how[k].op, node->op) == 0) return says_how[k].inputs >> i & 1;
    return false;
}

typedef struct search {
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_onnx_node **asks; /* per value */
    int *stack, n;
    bool *seen;
} search;

static void push(search *s, int value)
{
    if (value < 0 || s->seen[value] || s->file->value[value].constant) return;
    s->seen[value] = true;
    s->stack[s->n++] = value;
}

static bool is_whole(tw_onnx_type type) { return type == TW_ONNX_I64 || type == TW_ONNX_I32; }

/* The inputs of the network behind a value; of computed ones only whole numbers are followed. */
static void follow(search *s, int value, const tw_onnx_node *asker)
{
    push(s, value);
    while (s->n > 0) {
        int v = s->stack[--s->n];
        const tw_value *at = &s->file->value[v];
        if (at->node < 0 && at->graph == 0) s->asks[v] = asker;
        if (at->node < 0 || s->shapes->value[v].constant) continue;
        const tw_onnx_node *node = &s->file->graph[at->graph].node[at->node];
        bool of_shape = strcmp(node->op, "Shape") == 0 || strcmp(node->op, "Size") == 0;
        for (int i = 0; !of_shape && i < node->n_inputs; i++)
            if (node->input[i] >= 0 && is_whole(s->shapes->value[node->input[i]].type)) push(s, node->input[i]);
    }
}

tw_status tw_network_ask(const tw_graph_file *file, const tw_shapes *shapes, tw_arena *arena, tw_arena *scratch,
                         const tw_onnx_node *const **out)
{
    search s = {.file = file, .shapes = shapes};
    TW_ALLOC(arena, s.asks, file->n_values + 1);
    TW_ALLOC(scratch, s.stack, file->n_values + 1);
    TW_ALLOC(scratch, s.seen, file->n_values + 1);
    for (int g = 0; g < file->n_graphs; g++)
        for (int n = 0; n < file->graph[g].n_nodes; n++) {
            const tw_onnx_node *node = &file->graph[g].node[n];
            for (int i = 0; i < node->n_inputs; i++)
                if (is_how(node, i)) follow(&s, node->input[i], node);
        }
    *out = s.asks;
    return TW_OK;
}

/* ---- what the file settles ---- */

static bool is_settled(const tw_declared *d)
{
    bool settled = d->there && d->is_tensor && d->n_dims >= 0;
    for (int i = 0; settled && i < d->n_dims; i++) settled = d->dim[i] >= 0;
    return settled;
}

/* Writes element k of an input that says how, from the shapes of what goes in and what comes out; false: it does not
 * follow. */
static bool derive_one(const char *op, int i, const tw_declared *x, const tw_declared *y, tw_array *into, int64_t k)
{
    int64_t n = into->n;
    int axis = (int)(y->n_dims - n + k);
    bool all = n == y->n_dims, fits = x && x->n_dims == y->n_dims && all && x->dim[axis] > 0;
    if (n > y->n_dims) return false;
    tw_array_set(into, k, (double)y->dim[axis]);
    if (strcmp(op, "Expand") == 0) return true;
    if (strcmp(op, "Reshape") == 0 || strcmp(op, "ConstantOfShape") == 0) return all;
    if (strcmp(op, "Resize") == 0 && i == 3) return all;
    if (strcmp(op, "Tile") != 0 || !fits) return false;
    tw_array_set(into, k, (double)(y->dim[axis] / x->dim[axis]));
    return i == 1 && y->dim[axis] % x->dim[axis] == 0;
}

static bool derive(const tw_graph_file *file, const tw_onnx_node *node, int i, tw_array *into)
{
    const tw_declared *y = &file->value[node->output[0]].declared;
    const tw_declared *x = node->input[0] >= 0 ? &file->value[node->input[0]].declared : NULL;
    if (!is_settled(y) || (i > 0 && !(x && is_settled(x)))) return false;
    for (int64_t k = 0; k < into->n; k++)
        if (!derive_one(node->op, i, i > 0 ? x : NULL, y, into, k)) return false;
    return true;
}

/* A list whose length the file says, and which neither the file nor the user gives. */
static bool is_open_list(const tw_graph_file *file, const tw_array *given, int value)
{
    const tw_value *v = &file->value[value];
    const tw_declared *d = &v->declared;
    return v->graph == 0 && v->node < 0 && !v->constant && !given[value].data && d->type == TW_ONNX_I64 &&
           is_settled(d) && d->n_dims == 1 && d->dim[0] > 0 && d->dim[0] <= TW_ONNX_MAX_DIMS;
}

static int count_readers(const tw_graph *graph, int value)
{
    int n = 0;
    for (int k = 0; k < graph->n_nodes; k++)
        for (int i = 0; i < graph->node[k].n_inputs; i++) n += graph->node[k].input[i] == value;
    return n;
}

tw_status tw_network_derive(tw_context *ctx, const tw_graph_file *file, tw_array *given, bool *derived)
{
    const tw_graph *main = &file->graph[0];
    for (int n = 0; n < main->n_nodes; n++) {
        const tw_onnx_node *node = &main->node[n];
        for (int i = 0; i < node->n_inputs && node->n_outputs > 0 && node->output[0] >= 0; i++) {
            int v = node->input[i];
            tw_array list;
            if (v < 0 || !is_how(node, i) || !is_open_list(file, given, v) || count_readers(main, v) != 1) continue;
            const tw_declared *d = &file->value[v].declared;
            TW_TRY(tw_array_new(d->type, 1, d->dim, ctx->arena, &list));
            if (!derive(file, node, i, &list)) continue;
            given[v] = list;
            derived[v] = true;
        }
    }
    return TW_OK;
}
