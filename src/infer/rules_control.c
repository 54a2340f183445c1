/* src/infer/rules_control.c - operators with graphs in them: If, Loop, Scan.
 *
 * The graph's nodes are walked with what is known of the values around it. A loop's body is walked once with the shapes that it
 * starts with; what comes out with another shape has no shape of its own, and the body is walked again without it. */
#include "infer/rule.h"

#include <string.h>

/* Walking a body again at every level of a nest would take time exponential in its depth. */
enum { MAX_REPEATED_DEPTH = 4 };

static int graph_of(const tw_rule_case *c, const char *name)
{
    const tw_attribute *a = tw_onnx_attribute(c->node, name);
    return a && a->kind == TW_ATTR_GRAPH ? a->graph : -1;
}

static const tw_shape_of_value *result(const tw_rule_case *c, int graph, int k)
{
    return tw_rule_value(c, c->file->graph[graph].output[k]);
}

static bool agree(const tw_shape_of_value *a, const tw_shape_of_value *b)
{
    return a->known && b->known && a->type == b->type && a->n_dims == b->n_dims &&
           memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof *a->dim) == 0;
}

/* Output k is like v; its elements are others. */
static void copy_result(const tw_rule_case *c, int k, const tw_shape_of_value *v)
{
    c->out[k] = *v;
    c->out[k].constant = NULL;
}

/* ---- If ---- */

/* -1: not known. */
static tw_status read_condition(const tw_rule_case *c, int k, int *out)
{
    const tw_array *array = NULL;
    if (k < c->n_in && c->in[k]) TW_TRY(tw_rule_constant(c, k, &array));
    *out = array && array->n == 1 ? tw_array_get_int(array, 0) != 0 : -1;
    return TW_OK;
}

/* Both branches of a condition that is not known. One that contradicts its inputs is one that is not taken; both: the
 * first one's error counts. */
static tw_status try_branches(const tw_rule_case *c, const int graph[2], bool possible[2])
{
    for (int i = 0; i < 2; i++) TW_TRY(tw_rule_try_graph(c, graph[i], &possible[i]));
    return possible[0] || possible[1] ? TW_OK : tw_rule_graph(c, graph[0], true);
}

static tw_status branches(const tw_rule_case *c)
{
    bool possible[2] = {true, true};
    int condition, graph[2] = {graph_of(c, "else_branch"), graph_of(c, "then_branch")};
    TW_TRY(read_condition(c, 0, &condition));
    for (int i = 0; i < 2; i++) {
        if (graph[i] < 0) return tw_rule_error(c, "a branch is missing");
        if (c->file->graph[graph[i]].n_outputs != c->n_out)
            return tw_rule_error(c, "%d outputs, a branch has %d", c->n_out, c->file->graph[graph[i]].n_outputs);
        if (condition >= 0) TW_TRY(tw_rule_graph(c, graph[i], condition == i));
    }
    if (condition < 0) TW_TRY(try_branches(c, graph, possible));
    for (int k = 0; k < c->n_out; k++) {
        const tw_shape_of_value *a = result(c, graph[0], k), *b = result(c, graph[1], k);
        if (condition >= 0)
            c->out[k] = condition ? *b : *a;
        else if (!possible[1] || agree(a, b))
            copy_result(c, k, a);
        else if (!possible[0])
            copy_result(c, k, b);
    }
    return TW_OK;
}

/* ---- Loop ---- */

static int depth_of(const tw_rule_case *c, int graph)
{
    int depth = 0;
    for (int g = graph; g >= 0; g = c->file->graph[g].around) depth++;
    return depth;
}

/* A body's input starts as `v`, or as something of that type. */
static void start_with(const tw_rule_case *c, int value, const tw_shape_of_value *v, bool shape)
{
    tw_shape_of_value *in = tw_rule_value(c, value);
    *in = v ? *v : (tw_shape_of_value){0};
    in->constant = NULL;
    in->known = in->known && shape;
}

static void start_scalar(const tw_rule_case *c, int value, tw_onnx_type type, const tw_array *constant)
{
    *tw_rule_value(c, value) =
        (tw_shape_of_value){.known = true, .is_tensor = true, .type = type, .n_elems = 1, .constant = constant};
}

/* Walks a body until the n carried values, its first inputs and outputs after `skip_in` and `skip_out`, have the shapes
 * that they start with, or none. */
static tw_status settle(const tw_rule_case *c, int body, int n, int skip_in, int skip_out, bool *steady)
{
    const tw_graph *g = &c->file->graph[body];
    int rounds = depth_of(c, body) > MAX_REPEATED_DEPTH ? 1 : 3;
    for (int k = 0; k < n; k++) steady[k] = rounds > 1;
    for (int round = 1;; round++) {
        bool changed = false;
        for (int k = 0; k < n; k++) start_with(c, g->input[skip_in + k], tw_rule_in(c, skip_in + k), steady[k]);
        TW_TRY(tw_rule_graph(c, body, true));
        for (int k = 0; k < n; k++) {
            const tw_shape_of_value *before = tw_rule_in(c, skip_in + k);
            bool same = before && agree(before, result(c, body, skip_out + k));
            changed = changed || (steady[k] && !same);
            steady[k] = steady[k] && same;
        }
        if (!changed || round == rounds) return TW_OK;
        for (int k = 0; round + 1 == rounds && k < n; k++) steady[k] = false;
    }
}

/* One scan output: its slices one behind the other along `axis`. */
static tw_status stack(const tw_rule_case *c, int k, const tw_shape_of_value *slice, int64_t axis, int64_t count)
{
    c->out[k].type = slice->type;
    if (!slice->known || count < 0) return TW_OK;
    int at;
    TW_TRY(tw_rule_axis(c, axis, slice->n_dims + 1, &at));
    tw_dims out = {0};
    for (int i = 0, from = 0; i <= slice->n_dims; i++) tw_dims_add(&out, i == at ? count : slice->dim[from++]);
    return tw_rule_set(c, k, &out);
}

/* Times the body runs, -1 when that depends on what it computes. */
static tw_status count_trips(const tw_rule_case *c, int body, int64_t *out)
{
    int condition;
    tw_ints most;
    bool asked = tw_rule_in(c, 1) != NULL;
    TW_TRY(read_condition(c, 1, &condition));
    TW_TRY(tw_rule_ints(c, NULL, 0, &most));
    const tw_array *again = result(c, body, 0)->constant;
    bool always = (!asked || condition == 1) && again && again->n == 1 && tw_array_get_int(again, 0) != 0;
    *out = condition == 0 ? 0 : always && most.n == 1 ? tw_max(most.v[0], 0) : -1;
    return TW_OK;
}

/* Inputs: most trips, condition, carried..; the body's: trip, condition, carried..; its outputs: condition, carried..,
 * scanned... */
static tw_status loop(const tw_rule_case *c)
{
    int body = graph_of(c, "body"), n = c->n_in > 2 ? c->n_in - 2 : 0;
    if (body < 0) return tw_rule_error(c, "its body is missing");
    const tw_graph *g = &c->file->graph[body];
    if (g->n_inputs < n + 2 || g->n_outputs != c->n_out + 1 || c->n_out < n)
        return tw_rule_error(c, "%d values are carried, the body has %d inputs and %d outputs", n, g->n_inputs,
                             g->n_outputs);
    bool *steady;
    tw_array *yes;
    int64_t trips;
    TW_ALLOC(c->arena, steady, n + 1);
    TW_ALLOC(c->arena, yes, 1);
    TW_TRY(tw_array_new(TW_ONNX_BOOL, 0, NULL, c->arena, yes));
    *(uint8_t *)yes->data = 1;
    start_scalar(c, g->input[0], TW_ONNX_I64, NULL);
    start_scalar(c, g->input[1], TW_ONNX_BOOL, yes);
    TW_TRY(settle(c, body, n, 2, 1, steady));
    TW_TRY(count_trips(c, body, &trips));
    tw_rule_value(c, g->input[1])->constant = NULL;
    for (int k = 0; k < n; k++) {
        c->out[k].type = result(c, body, 1 + k)->type;
        if (steady[k]) copy_result(c, k, result(c, body, 1 + k));
    }
    for (int k = n; k < c->n_out; k++) TW_TRY(stack(c, k, result(c, body, 1 + k), 0, trips));
    return TW_OK;
}

/* ---- Scan ---- */

/* An axis per scanned value, 0 where the node does not say. */
static int64_t scan_axis(const tw_ints *axes, int i) { return i < axes->n ? axes->v[i] : 0; }

/* The slices that a body reads: the input without the scanned axis, whose length is the number of steps. */
static tw_status start_slice(const tw_rule_case *c, int k, int64_t axis, int value, int64_t *steps)
{
    const tw_shape_of_value *v = tw_rule_in(c, k);
    start_with(c, value, v, v != NULL);
    tw_shape_of_value *slice = tw_rule_value(c, value);
    if (!slice->known) return TW_OK;
    int at;
    TW_TRY(tw_rule_axis(c, axis, v->n_dims, &at));
    if (*steps >= 0 && *steps != v->dim[at])
        return tw_rule_error(c, "inputs are scanned over %" PRId64 " and %" PRId64 " steps", *steps, v->dim[at]);
    *steps = v->dim[at];
    slice->n_dims--;
    slice->n_elems = 1;
    for (int i = at; i < slice->n_dims; i++) slice->dim[i] = v->dim[i + 1];
    for (int i = 0; i < slice->n_dims; i++) slice->n_elems *= slice->dim[i];
    return TW_OK;
}

static tw_status scan(const tw_rule_case *c)
{
    int body = graph_of(c, "body");
    int64_t scanned = tw_onnx_int(c->node, "num_scan_inputs", 0), steps = -1;
    tw_ints in_axes, out_axes;
    if (c->opset < 9) return TW_OK; /* had a batch axis and lengths */
    if (body < 0) return tw_rule_error(c, "its body is missing");
    const tw_graph *g = &c->file->graph[body];
    if (scanned < 1 || scanned > c->n_in || g->n_inputs != c->n_in || g->n_outputs != c->n_out)
        return tw_rule_error(c, "%d inputs and %d outputs, the body has %d and %d", c->n_in, c->n_out, g->n_inputs,
                             g->n_outputs);
    int n = c->n_in - (int)scanned;
    if (n > c->n_out) return tw_rule_error(c, "%d values are carried, there are %d outputs", n, c->n_out);
    bool *steady;
    TW_ALLOC(c->arena, steady, n + 1);
    TW_TRY(tw_rule_ints(c, "scan_input_axes", -1, &in_axes));
    TW_TRY(tw_rule_ints(c, "scan_output_axes", -1, &out_axes));
    for (int k = n; k < c->n_in; k++) TW_TRY(start_slice(c, k, scan_axis(&in_axes, k - n), g->input[k], &steps));
    TW_TRY(settle(c, body, n, 0, 0, steady));
    for (int k = 0; k < n; k++) {
        c->out[k].type = result(c, body, k)->type;
        if (steady[k]) copy_result(c, k, result(c, body, k));
    }
    for (int k = n; k < c->n_out; k++) TW_TRY(stack(c, k, result(c, body, k), scan_axis(&out_axes, k - n), steps));
    return TW_OK;
}

static const tw_rule rules[] = {
    {"If", "", "b:.*", branches, true},
    {"Loop", "", "l?b?.*:.*", loop, true},
    {"Scan", "", ".*:.*", scan, true},
};
const tw_rules tw_rules_control = {rules, TW_COUNT(rules), false};
