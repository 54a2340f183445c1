/* src/lower/fold.c - several nodes as one step.
 *
 *     conv -> y -> sigmoid -> s        the group {conv, sigmoid, mul} has one value that is read outside of it, z:
 *             y ------------> mul -> z  its nodes become one step, a convolution whose `finish` is y * sigmoid(y)
 *
 * A group grows from its first node over the readers of its values, in the order of the nodes. What may join is
 * element-wise, has the first one's shape, and reads only values of the group and others that the step can have: held
 * ones behind a reduction, up to five tensors in a map. Constant nodes join constant ones only. The largest group whose last node makes its single result is taken (nodes that nobody reads make none). The step stands
 * where its last node stands, so that everything it reads is there. */
#include "lower/build.h"

#include <string.h>

/* ---- growing ---- */

typedef struct growth {
    tw_lowering *l;
    const tw_graph *graph;
    const bool *taken;
    bool map;  /* the first node is element-wise          */
    int shape; /* value that has the shape of the group   */
    tw_node_group group;
    int n_tensors, tensor[TW_MAX_OPERANDS]; /* map: values read from outside          */
} growth;

static bool same_dims(const tw_lowering *l, int a, int b)
{
    const tw_shape_of_value *x = tw_shape_of(l, a), *y = tw_shape_of(l, b);
    return x->known && y->known && x->n_dims == y->n_dims &&
           memcmp(x->dim, y->dim, (size_t)x->n_dims * sizeof *x->dim) == 0;
}

static bool holds_node(const tw_node_group *group, int node)
{
    for (int i = 0; i < group->n; i++)
        if (group->node[i] == node) return true;
    return false;
}

/* Whether a node of the group writes the value as its first output. */
static bool inside(const growth *g, int value)
{
    for (int i = 0; i < g->group.n; i++)
        if (g->graph->node[g->group.node[i]].output[0] == value) return true;
    return false;
}

/* A scalar, or a constant with at most one stretch of dims that are not 1. */
static bool can_be_held(const tw_lowering *l, int value)
{
    const tw_shape_of_value *shape = tw_shape_of(l, value);
    bool constant = tw_is_constant(l, value);
    int stretches = 0;
    for (int d = 0; d < shape->n_dims; d++) stretches += shape->dim[d] != 1 && (d == 0 || shape->dim[d - 1] == 1);
    return shape->n_elems == 1 || (constant && stretches == 1);
}

static bool add_tensor(growth *g, int value)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i] == value) return true;
    if (g->n_tensors == TW_MAX_OPERANDS - 1) return false;
    g->tensor[g->n_tensors++] = value;
    return true;
}

static bool can_read(growth *g, int value)
{
    if (inside(g, value)) return true;
    if (can_be_held(g->l, value)) return true;
    return g->map && add_tensor(g, value);
}

static bool can_join(growth *g, int index)
{
    const tw_onnx_node *node = &g->graph->node[index];
    const tw_element *e = g->taken[index] ? NULL : tw_element_of(g->l, node);
    int n_tensors = g->n_tensors;
    bool joins = e && same_dims(g->l, node->output[0], g->shape) &&
                 tw_is_constant(g->l, node->output[0]) == tw_is_constant(g->l, g->shape);
    for (int i = 0; joins && i < node->n_inputs; i++)
        if (tw_element_reads(e, node, i)) joins = can_read(g, node->input[i]);
    if (!joins) g->n_tensors = n_tensors;
    return joins;
}

/* Values of the group that are read outside of it. */
static int count_results(const growth *g, int *one)
{
    const tw_reader_lists *r = &g->l->readers;
    int n = 0;
    for (int i = 0; i < g->group.n; i++) {
        int value = g->graph->node[g->group.node[i]].output[0];
        bool out = r->escapes[value];
        for (int k = r->first[value]; !out && k < r->first[value + 1]; k++)
            out = !holds_node(&g->group, r->node[k]);
        if (!out) continue;
        *one = value;
        n++;
    }
    return n;
}

/* The first reader of a value of the group that comes after `after`; -1. */
static int next_reader(const growth *g, int after)
{
    const tw_reader_lists *r = &g->l->readers;
    int least = -1;
    for (int i = 0; i < g->group.n; i++) {
        int value = g->graph->node[g->group.node[i]].output[0];
        for (int k = r->first[value]; k < r->first[value + 1]; k++)
            if (r->node[k] > after && (least < 0 || r->node[k] < least)) least = r->node[k];
    }
    return least;
}

void tw_group_of(tw_lowering *l, int node, const bool *taken, bool is_element, tw_node_group *group)
{
    growth g = {.l = l, .graph = &l->file->graph[l->graph], .taken = taken, .map = is_element};
    const tw_onnx_node *first = &g.graph->node[node];
    g.group = *group = (tw_node_group){.n = 1, .node = {node}, .value = first->output[0]};
    g.shape = first->output[0];
    if (l->options->no_fold || g.shape < 0 || !tw_shape_of(l, g.shape)->known) return;
    for (int i = 0; is_element && i < first->n_inputs; i++)
        if (first->input[i] >= 0 && !can_be_held(l, first->input[i]) && !add_tensor(&g, first->input[i])) return;
    for (int at = next_reader(&g, node); at >= 0 && g.group.n < TW_GROUP_MAX; at = next_reader(&g, at)) {
        if (!can_join(&g, at)) continue;
        g.group.node[g.group.n++] = at;
        if (count_results(&g, &g.group.value) == 1 && g.group.value == g.graph->node[at].output[0])
            *group = g.group;
    }
}

/* ---- folding into an open nest ---- */

typedef struct known { /* what the values of the group are in the formula */
    int n, value[TW_GROUP_MAX + 1], is[TW_GROUP_MAX + 1];
} known;

static int find_known(const known *k, int value)
{
    for (int i = 0; i < k->n; i++)
        if (k->value[i] == value) return k->is[i];
    return -1;
}

static void learn(known *k, int value, int is)
{
    k->value[k->n] = value;
    k->is[k->n++] = is;
}

/* What the next node reads is a number of the value's type, as it would be in a tensor. What comes out of the group is
 * rounded when it is stored. */
static void learn_rounded(tw_lowering *l, const tw_node_group *group, known *k, int value, int is)
{
    learn(k, value, value == group->value ? is : tw_rounded(l, is, tw_shape_of(l, value)->type));
}

/* Dims of x that are not 1, as one stretch of the output's: how long it is and how many elements lie behind it. */
static bool stretch_of(tw_seen x, tw_seen out, int64_t *extent, int64_t *inner)
{
    int first = out.n_dims, last = -1;
    for (int d = 0; d < out.n_dims; d++) {
        int at = d - (out.n_dims - x.n_dims);
        if (at < 0 || x.dim[at] == 1) continue;
        if (x.dim[at] != out.dim[d]) return false;
        if (first > d) first = d;
        last = d;
    }
    if (last < 0) return false;
    *extent = tw_product(&out.dim[first], last - first + 1);
    *inner = tw_product(&out.dim[last + 1], out.n_dims - last - 1);
    return *extent == tw_elems_of(x);
}

/* The variable of something that is held along an axis of the open nest's output. */
static int hold_input(tw_lowering *l, tw_seen x, tw_seen out)
{
    int64_t extent, inner;
    if (x.tensor < 0) return -1;
    if (tw_elems_of(x) == 1) return tw_scalar(l, x);
    int loop = stretch_of(x, out, &extent, &inner) ? tw_find_output_loop(l, extent, inner) : -1;
    if (loop < 0) tw_refuse(l, "no axis to hold it along");
    return tw_refused(l) ? 0 : tw_hold(l, x, loop);
}

static void fold_node(tw_lowering *l, const tw_node_group *group, const tw_onnx_node *node, known *k)
{
    const tw_element *e = tw_element_of(l, node);
    tw_seen out = tw_see(l, node->output[0]);
    int arg[TW_ELEMENT_MAX_INPUTS];
    l->holds_known = e->holds;
    for (int i = 0; i < node->n_inputs; i++) {
        bool reads = tw_element_reads(e, node, i);
        arg[i] = reads ? find_known(k, node->input[i]) : -1;
        if (reads && arg[i] < 0) arg[i] = hold_input(l, tw_element_input(l, e, node, i), out);
    }
    if (!tw_refused(l)) learn_rounded(l, group, k, node->output[0], tw_element_emit(l, e, node, arg));
    l->holds_known = false;
}

/* The nest is open, and what it writes is the first output of the group's first node as a whole. */
static bool is_open_for(tw_lowering *l, const tw_node_group *group)
{
    const tw_onnx_node *first = &l->file->graph[l->graph].node[group->node[0]];
    return l->nest_open && !tw_refused(l) && tw_op_written(&l->nest.op, 0) == l->tensor_of_value[first->output[0]];
}

bool tw_fold_group(tw_lowering *l, const tw_node_group *group)
{
    const tw_graph *graph = &l->file->graph[l->graph];
    if (!is_open_for(l, group)) return false;
    tw_lowered_nest *before = TW_NEW(l->arena, tw_lowered_nest, 1);
    if (!before) l->no_memory = true;
    if (!before) return false;
    *before = l->nest;
    known k = {0};
    int tail = tw_tail(l);
    learn_rounded(l, group, &k, graph->node[group->node[0]].output[0], tail);
    for (int i = 1; i < group->n && !tw_refused(l); i++) fold_node(l, group, &graph->node[group->node[i]], &k);
    bool done = !tw_refused(l) && !l->f->failed;
    if (!done) {
        l->why = NULL;
        l->nest = *before;
        return false;
    }
    tw_set_tail(l, find_known(&k, group->value));
    l->nest.op.operand[tw_op_output(&l->nest.op)].tensor = tw_tensor_of(l, group->value);
    return true;
}

/* ---- maps ---- */

typedef struct map_inputs {
    int n, value[TW_MAX_HELD];
    tw_seen seen[TW_MAX_HELD];
    int var[TW_MAX_HELD];
} map_inputs;

static void add_input(tw_lowering *l, map_inputs *in, int value, tw_seen seen)
{
    for (int i = 0; i < in->n; i++) {
        if (in->value[i] != value) continue;
        bool same = in->seen[i].n_dims == seen.n_dims &&
                    memcmp(in->seen[i].dim, seen.dim, (size_t)seen.n_dims * sizeof *seen.dim) == 0;
        if (!same) tw_refuse(l, "one tensor is read in two ways");
        return;
    }
    if (in->n == TW_MAX_HELD) {
        tw_refuse(l, "too many inputs");
        return;
    }
    in->value[in->n] = value;
    in->seen[in->n++] = seen;
}

static void collect_inputs(tw_lowering *l, const tw_node_group *group, int first, map_inputs *in)
{
    const tw_graph *graph = &l->file->graph[l->graph];
    known made = {0};
    for (int k = first; k < group->n; k++) {
        const tw_onnx_node *node = &graph->node[group->node[k]];
        const tw_element *e = tw_element_of(l, node);
        l->holds_known |= e->holds;
        for (int i = 0; i < node->n_inputs; i++)
            if (tw_element_reads(e, node, i) && find_known(&made, node->input[i]) < 0)
                add_input(l, in, node->input[i], tw_element_input(l, e, node, i));
        learn(&made, node->output[0], k);
    }
}

static void emit_node(tw_lowering *l, const tw_node_group *group, const tw_onnx_node *node, const map_inputs *in,
                      known *made)
{
    const tw_element *e = tw_element_of(l, node);
    int arg[TW_ELEMENT_MAX_INPUTS];
    for (int i = 0; i < node->n_inputs; i++) {
        arg[i] = -1;
        if (!tw_element_reads(e, node, i)) continue;
        arg[i] = find_known(made, node->input[i]);
        for (int k = 0; arg[i] < 0 && k < in->n; k++)
            if (in->value[k] == node->input[i]) arg[i] = in->var[k];
    }
    learn_rounded(l, group, made, node->output[0], tw_element_emit(l, e, node, arg));
}

void tw_map_group(tw_lowering *l, const tw_node_group *group, int first)
{
    const tw_graph *graph = &l->file->graph[l->graph];
    map_inputs in = {0};
    known made = {0};
    collect_inputs(l, group, first, &in);
    if (!tw_refused(l)) tw_map(l, "", tw_see(l, group->value), in.n, in.seen, in.var);
    for (int k = first; k < group->n && !tw_refused(l); k++)
        emit_node(l, group, &graph->node[group->node[k]], &in, &made);
    l->holds_known = false;
    if (!tw_refused(l)) tw_set_value(l, find_known(&made, group->value));
}

/* ---- more inputs than operands ---- */

static tw_fn variadic_fn(const tw_onnx_node *node)
{
    if (strcmp(node->op, "Min") == 0) return TW_FN_MIN;
    return strcmp(node->op, "Max") == 0 ? TW_FN_MAX : TW_FN_ADD;
}

/* So many inputs, the first of which may be what came out before. */
static void combine(tw_lowering *l, const char *suffix, tw_seen out, int n, const tw_seen *x, double share)
{
    int var[TW_MAX_OPERANDS], all;
    tw_map(l, suffix, out, n, x, var);
    if (tw_refused(l)) return;
    all = var[0];
    for (int i = 1; i < n; i++) all = tw_fn2(l, variadic_fn(l->node), all, var[i]);
    if (share != 1) all = tw_times(l, all, tw_num(l, share));
    tw_set_value(l, tw_fit(l, all, tw_type_of(l, out)));
}

void tw_variadic_chain(tw_lowering *l)
{
    enum { MOST = TW_MAX_OPERANDS - 1 };
    int n = l->node->n_inputs, at = 1;
    tw_seen out = tw_see_output(l, 0), x[MOST] = {tw_see_input(l, 0)};
    double share = strcmp(l->node->op, "Mean") == 0 ? 1.0 / n : 1;
    for (int round = 0; at < n && !tw_refused(l); round++) {
        int few = 1;
        while (few < MOST && at < n) x[few++] = tw_see_input(l, at++);
        const char *suffix = at == n ? "" : tw_say(l, ".part%d", round);
        tw_seen to = at == n ? out : tw_between_like(l, suffix, tw_type_of(l, out), out);
        combine(l, suffix, to, few, x, at == n ? share : 1);
        x[0] = to;
    }
}
