/* src/reference/control.c - whole graphs, and the operators that have graphs inside: If, Loop, Scan.
 *
 * A scope is one table of arrays for all values of the file: a graph in a graph has entries of its own there, and what it
 * does not define is found in the same table, or asked of whoever runs the outermost node. Each iteration of a loop
 * works in an arena that is rewound after it; what it carries on is copied out before. Iterations and nodes are counted over
 * all nested scopes, so that no file runs forever. */
#include "reference/moving.h"

#include <string.h>

enum { MAX_STEPS = 1 << 22 };

typedef struct scope {
    const tw_graph_file *file;
    tw_array *value; /* per value of the file; data NULL: not known              */
    tw_arena *keep;  /* constants live here, as long as the outermost scope       */
    tw_diag *diag;
    const tw_ref_case *around; /* the node that this is a graph of, NULL: none             */
    int64_t *steps;            /* taken so far, by all nested scopes                        */
    tw_status status;          /* of the last search, when it failed for another reason than absence */
} scope;

/* ---- values ---- */

static tw_status read_constant(scope *s, int v)
{
    static const double nothing;
    const tw_constant *t = s->file->value[v].constant;
    tw_array a = {.type = t->type, .n_dims = t->n_dims, .n = t->n_elems, .data = &nothing};
    memcpy(a.dim, t->dim, sizeof a.dim);
    if (a.n > 0) TW_TRY(tw_constant_read(t, s->file->path, s->keep, s->diag, &a.data));
    s->value[v] = a;
    return TW_OK;
}

static const tw_array *scope_find(void *user, int v)
{
    scope *s = user;
    if (!s->value[v].data && s->file->value[v].constant) s->status = read_constant(s, v);
    if (s->value[v].data) return &s->value[v];
    if (s->status != TW_OK || !s->around || !s->around->outer) return NULL;
    return s->around->outer(s->around->user, v);
}

static tw_status find_value(scope *s, const tw_ref_case *c, int v, const tw_array **out)
{
    s->status = TW_OK;
    *out = scope_find(s, v);
    if (*out) return TW_OK;
    if (s->status != TW_OK) return s->status;
    return tw_ref_error(c, "'%.*s' has no value", TW_FIRST(100, s->file->value[v].name));
}

/* ---- nodes in order ---- */

static bool is_known(const scope *s, const tw_onnx_node *node)
{
    for (int i = 0; i < node->n_outputs; i++) {
        int v = node->output[i];
        if (v >= 0 && !s->value[v].data && !s->file->value[v].constant) return false;
    }
    return true;
}

static tw_status count_step(scope *s, const tw_ref_case *c)
{
    if (++*s->steps <= MAX_STEPS) return TW_OK;
    return tw_ref_unknown(c, "more than %d steps of nodes and loops", MAX_STEPS);
}

static tw_status run_node(scope *s, int graph, const tw_onnx_node *node, tw_arena *arena)
{
    const tw_array **input;
    tw_array *output;
    bool *wanted;
    TW_ALLOC(arena, input, node->n_inputs);
    TW_ALLOC(arena, output, node->n_outputs);
    TW_ALLOC(arena, wanted, node->n_outputs);
    tw_ref_case c = {s->file,
                     node,
                     tw_graph_opset(s->file, node->domain),
                     node->n_inputs,
                     node->n_outputs,
                     input,
                     wanted,
                     graph,
                     scope_find,
                     s,
                     arena,
                     s->diag};
    TW_TRY(count_step(s, &c));
    for (int i = 0; i < node->n_inputs; i++)
        if (node->input[i] >= 0) TW_TRY(find_value(s, &c, node->input[i], &input[i]));
    for (int i = 0; i < node->n_outputs; i++) wanted[i] = node->output[i] >= 0;
    TW_TRY(tw_ref_run(&c, output));
    for (int i = 0; i < node->n_outputs; i++)
        if (wanted[i]) s->value[node->output[i]] = output[i];
    return TW_OK;
}

static tw_status run_nodes(scope *s, int graph, tw_arena *arena)
{
    const tw_graph *g = &s->file->graph[graph];
    for (int i = 0; i < g->n_nodes; i++)
        if (!is_known(s, &g->node[i])) TW_TRY(run_node(s, graph, &g->node[i], arena));
    return TW_OK;
}

tw_status tw_ref_graph(const tw_graph_file *file, int graph, tw_arena *arena, tw_diag *diag, tw_array *value)
{
    int64_t steps = 0;
    const tw_graph *g = &file->graph[graph];
    scope s = {.file = file, .value = value, .keep = arena, .diag = diag, .steps = &steps};
    TW_TRY(run_nodes(&s, graph, arena));
    for (int i = 0; i < g->n_outputs; i++) {
        int v = g->output[i];
        if (!scope_find(&s, v)) {
            if (s.status != TW_OK) return s.status;
            return tw_diag_error(diag, (tw_loc){file->path, 0, 0}, "output '%.*s' of the graph has no value",
                                 TW_FIRST(100, file->value[v].name));
        }
    }
    return TW_OK;
}

/* ---- graphs in nodes ---- */

/* Forgets what a graph and the graphs in it have computed. */
static void forget(const scope *s, int graph)
{
    const tw_graph *g = &s->file->graph[graph];
    for (int i = 0; i < g->n_inputs; i++) s->value[g->input[i]] = (tw_array){0};
    for (int i = 0; i < g->n_nodes; i++) {
        const tw_onnx_node *node = &g->node[i];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->output[k] >= 0 && !s->file->value[node->output[k]].constant)
                s->value[node->output[k]] = (tw_array){0};
        for (int k = 0; k < node->n_attributes; k++)
            if (node->attribute[k].kind == TW_ATTR_GRAPH) forget(s, node->attribute[k].graph);
    }
}

/* A scope for the graphs of a node: the table of the scope that the node is in, or a new one. */
static tw_status open_scope(const tw_ref_case *c, int64_t *steps, scope *s)
{
    *s = (scope){.file = c->file, .keep = c->arena, .diag = c->diag, .around = c, .steps = steps};
    if (c->outer == scope_find) {
        const scope *in = c->user;
        s->value = in->value;
        s->keep = in->keep;
        s->steps = in->steps;
        return TW_OK;
    }
    if (!c->file) return tw_ref_error(c, "its graphs are not there");
    TW_ALLOC(c->arena, s->value, c->file->n_values);
    return TW_OK;
}

static tw_status graph_of(const tw_ref_case *c, const char *name, int *out)
{
    const tw_attribute *a = tw_onnx_attribute(c->node, name);
    if (!a || a->kind != TW_ATTR_GRAPH || a->graph < 0) return tw_ref_error(c, "'%s' is missing", name);
    *out = a->graph;
    return TW_OK;
}

/* A copy that needs nothing of the original's arena. */
static tw_status copy_array(const tw_ref_case *c, const tw_array *x, tw_array *out)
{
    TW_TRY(tw_moving_reshaped(c, x, x->n_dims, x->dim, out));
    const char **text = tw_moving_at(out, 0);
    for (int64_t i = 0; x->type == TW_ONNX_STRING && i < out->n; i++)
        if (!(text[i] = tw_arena_strndup(c->arena, text[i], strlen(text[i])))) return TW_ERR_NOMEM;
    return TW_OK;
}

/* A condition: one bool; true when it is left out. */
static tw_status read_condition(const tw_ref_case *c, const tw_array *x, bool *out)
{
    if (x && (x->n != 1 || x->type != TW_ONNX_BOOL))
        return tw_ref_error(c, "the condition is %" PRId64 " of %s instead of one bool", x->n,
                            tw_onnx_type_name(x->type));
    *out = !x || tw_array_get_int(x, 0) != 0;
    return TW_OK;
}

static tw_status run_if(const tw_ref_case *c, tw_array *output)
{
    scope s;
    const tw_array *condition, *result;
    bool holds = false;
    int graph = -1;
    int64_t steps = 0;
    TW_TRY(tw_ref_need(c, 0, &condition));
    TW_TRY(read_condition(c, condition, &holds));
    TW_TRY(graph_of(c, holds ? "then_branch" : "else_branch", &graph));
    TW_TRY(open_scope(c, &steps, &s));
    const tw_graph *g = &c->file->graph[graph];
    if (g->n_outputs != c->n_outputs)
        return tw_ref_error(c, "the branch has %d outputs, the node %d", g->n_outputs, c->n_outputs);
    TW_TRY(run_nodes(&s, graph, c->arena));
    for (int i = 0; i < c->n_outputs; i++) {
        if (!tw_ref_wants(c, i)) continue;
        TW_TRY(find_value(&s, c, g->output[i], &result));
        TW_TRY(copy_array(c, result, &output[i]));
    }
    return TW_OK;
}

/* ---- arrays on top of each other ---- */

typedef struct pile { /* arrays of one shape, one behind the other */
    tw_array first;   /* shape and type                            */
    int64_t n, room;
    char *bytes;
} pile;

static tw_status grow_pile(tw_arena *arena, pile *p, size_t each)
{
    char *bytes;
    p->room = tw_max(4, 2 * p->room);
    TW_ALLOC(arena, bytes, (size_t)p->room * each + 1);
    if (p->n > 0) memcpy(bytes, p->bytes, (size_t)p->n * each);
    p->bytes = bytes;
    return TW_OK;
}

static tw_status push(const tw_ref_case *c, const tw_array *x, pile *p)
{
    size_t each = (size_t)x->n * tw_moving_bytes(x->type);
    if (p->n == 0) p->first = *x;
    if (x->type != p->first.type || !tw_ref_same_shape(x, &p->first))
        return tw_ref_error(c, "iteration %" PRId64 " gives another shape or type than the first", p->n);
    if (x->n > 0 && p->n >= TW_ref_MAX_ELEMS / x->n)
        return tw_ref_unknown(c, "more than %" PRId64 " elements", TW_ref_MAX_ELEMS);
    if (p->n == p->room) TW_TRY(grow_pile(c->arena, p, each));
    tw_array copy = *x;
    if (x->type == TW_ONNX_STRING) TW_TRY(copy_array(c, x, &copy));
    if (each > 0)
        memcpy(p->bytes + (size_t)p->n++ * each, copy.data, each);
    else
        p->n++;
    return TW_OK;
}

/* The pile as one array with a new axis: position i of it is the i-th array, or the i-th from the end. Without arrays, the
 * shape is the one that the file states for value `v`. */
static tw_status pile_array(const tw_ref_case *c, const pile *p, int v, int64_t axis, bool backwards, tw_array *out)
{
    const tw_declared *said = &c->file->value[v].declared;
    tw_array item = p->first;
    if (p->n == 0) {
        if (said->type == TW_ONNX_NONE) return tw_ref_unknown(c, "an empty output of a type that is not said");
        item = (tw_array){.type = said->type, .n_dims = said->n_dims > 0 ? said->n_dims : 0};
        for (int k = 0; k < item.n_dims; k++) item.dim[k] = tw_max(0, said->dim[k]);
    }
    int at, n_dims = item.n_dims + 1;
    int64_t dim[TW_ONNX_MAX_DIMS + 1], stride[TW_ONNX_MAX_DIMS + 1], inner[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_ref_axis(c, axis, n_dims, &at));
    tw_moving_strides(&item, inner);
    for (int k = 0, from = 0; k < n_dims; k++) {
        dim[k] = k == at ? p->n : item.dim[from];
        stride[k] = k == at ? (backwards ? -item.n : item.n) : inner[from];
        from += k != at;
    }
    TW_TRY(tw_ref_make(c, item.type, n_dims, dim, out));
    tw_array all = {.type = item.type, .data = p->bytes};
    if (out->n > 0) tw_moving_view(out, &all, stride, backwards ? (p->n - 1) * item.n : 0);
    return TW_OK;
}

/* Position i of an axis, which is dropped. */
static tw_status take(const tw_ref_case *c, const tw_array *x, int axis, int64_t i, tw_array *out)
{
    int64_t all[TW_ONNX_MAX_DIMS], dim[TW_ONNX_MAX_DIMS], stride[TW_ONNX_MAX_DIMS];
    tw_moving_strides(x, all);
    for (int k = 0, from = 0; k < x->n_dims - 1; k++, from++) {
        from += from == axis;
        dim[k] = x->dim[from];
        stride[k] = all[from];
    }
    TW_TRY(tw_ref_make(c, x->type, x->n_dims - 1, dim, out));
    tw_moving_view(out, x, stride, i * all[axis]);
    return TW_OK;
}

/* ---- iterations ---- */

typedef struct loop {
    const tw_ref_case *c; /* results go into its arena                                             */
    scope scope;
    int graph;
    const tw_graph *body;
    int n_states, n_piles;
    tw_array *state;           /* carried from one iteration to the next; data NULL: left out  */
    pile *pile;                /* what every iteration adds to                                 */
    tw_arena *work, *carry[2]; /* one iteration; states of this and the last one               */
    tw_arena_mark work_start, carry_start[2];
    int64_t done, steps;
} loop;

static void loop_release(loop *l)
{
    if (l->body) forget(&l->scope, l->graph);
    tw_arena_free(l->work);
    tw_arena_free(l->carry[0]);
    tw_arena_free(l->carry[1]);
}

/* After it, loop_release is due whatever it returns. */
static tw_status loop_init(const tw_ref_case *c, int n_states, int first_out, loop *l)
{
    *l = (loop){.c = c, .n_states = n_states};
    TW_TRY(graph_of(c, "body", &l->graph));
    TW_TRY(open_scope(c, &l->steps, &l->scope));
    l->body = &c->file->graph[l->graph];
    l->n_piles = l->body->n_outputs - first_out - n_states;
    if (l->n_piles < 0 || c->n_outputs > n_states + l->n_piles)
        return tw_ref_error(c, "the body has %d outputs for %d states and %d outputs of the node",
                            l->body->n_outputs, n_states, c->n_outputs);
    TW_ALLOC(c->arena, l->state, n_states);
    TW_ALLOC(c->arena, l->pile, l->n_piles);
    l->work = tw_arena_new();
    l->carry[0] = tw_arena_new();
    l->carry[1] = tw_arena_new();
    if (!l->work || !l->carry[0] || !l->carry[1]) return TW_ERR_NOMEM;
    l->work_start = tw_arena_save(l->work);
    for (int k = 0; k < 2; k++) l->carry_start[k] = tw_arena_save(l->carry[k]);
    return TW_OK;
}

/* Values of a new iteration: everything of the last one is forgotten, and the states are inputs from `first_in` on. */
static tw_status loop_begin(loop *l, int first_in)
{
    TW_TRY(count_step(&l->scope, l->c));
    forget(&l->scope, l->graph);
    for (int k = 0; k < l->n_states; k++) l->scope.value[l->body->input[first_in + k]] = l->state[k];
    return TW_OK;
}

static tw_status loop_carry(loop *l, int first_out)
{
    tw_arena *to = l->carry[l->done % 2];
    const tw_ref_case kept = tw_ref_in(l->c, to);
    const tw_array *x;
    tw_arena_rewind(to, l->carry_start[l->done % 2]);
    for (int k = 0; k < l->n_states; k++) {
        TW_TRY(find_value(&l->scope, l->c, l->body->output[first_out + k], &x));
        TW_TRY(copy_array(&kept, x, &l->state[k]));
    }
    return TW_OK;
}

/* Runs the body; its outputs from `first_out` on are the new states, then what is piled up. */
static tw_status loop_run(loop *l, int first_out)
{
    const tw_array *x;
    TW_TRY(run_nodes(&l->scope, l->graph, l->work));
    for (int k = 0; k < l->n_piles; k++) {
        TW_TRY(find_value(&l->scope, l->c, l->body->output[first_out + l->n_states + k], &x));
        TW_TRY(push(l->c, x, &l->pile[k]));
    }
    return loop_carry(l, first_out);
}

static void loop_end(loop *l)
{
    forget(&l->scope, l->graph);
    tw_arena_rewind(l->work, l->work_start);
    l->done++;
}

static tw_status loop_states(const loop *l, tw_array *output)
{
    for (int k = 0; k < l->n_states && k < l->c->n_outputs; k++)
        if (l->state[k].data) TW_TRY(copy_array(l->c, &l->state[k], &output[k]));
    return TW_OK;
}

/* ---- Loop ---- */

static tw_status iterate(loop *l, int64_t trips, bool go)
{
    static const uint8_t yes = 1;
    const tw_array *condition;
    for (int64_t i = 0; go && i < trips; i++) {
        const int *in = l->body->input;
        TW_TRY(loop_begin(l, 2));
        l->scope.value[in[0]] = (tw_array){.type = TW_ONNX_I64, .n = 1, .data = &i};
        l->scope.value[in[1]] = (tw_array){.type = TW_ONNX_BOOL, .n = 1, .data = &yes};
        TW_TRY(loop_run(l, 1));
        TW_TRY(find_value(&l->scope, l->c, l->body->output[0], &condition));
        TW_TRY(read_condition(l->c, condition, &go));
        loop_end(l);
    }
    return TW_OK;
}

static tw_status loop_over(loop *l, tw_array *output)
{
    const tw_ref_case *c = l->c;
    int64_t trips;
    bool go = false;
    TW_TRY(tw_moving_whole(c, 0, INT64_MAX, &trips));
    TW_TRY(read_condition(c, tw_ref_input(c, 1), &go));
    if (l->body->n_inputs != 2 + l->n_states)
        return tw_ref_error(c, "the body has %d inputs for %d states", l->body->n_inputs, l->n_states);
    for (int k = 0; k < l->n_states; k++)
        if (c->input[2 + k]) l->state[k] = *c->input[2 + k];
    TW_TRY(iterate(l, trips, go));
    TW_TRY(loop_states(l, output));
    for (int k = l->n_states; k < c->n_outputs; k++)
        TW_TRY(pile_array(c, &l->pile[k - l->n_states], l->body->output[1 + k], 0, false, &output[k]));
    return TW_OK;
}

static tw_status run_loop(const tw_ref_case *c, tw_array *output)
{
    loop l;
    tw_status status = loop_init(c, (int)tw_max(0, c->n_inputs - 2), 1, &l);
    if (status == TW_OK) status = loop_over(&l, output);
    loop_release(&l);
    return status;
}

/* ---- Scan ---- */

typedef struct scan { /* what a Scan says of its inputs and outputs */
    int n_states, n_ins;
    tw_ref_list in_axes, out_axes, in_ways, out_ways; /* ways: 1 is backwards */
    const tw_array *const *input;                     /* states, then what is scanned */
} scan;

static int64_t entry(tw_ref_list list, int64_t i) { return list.there && i < list.n ? list.v[i] : 0; }

static tw_status read_scan(const tw_ref_case *c, scan *s)
{
    bool old = c->opset < 9;
    int64_t n = tw_onnx_int(c->node, "num_scan_inputs", 0), all = c->n_inputs - old;
    if (n < 1 || n > all) return tw_ref_error(c, "'num_scan_inputs' is %" PRId64 " of %" PRId64, n, all);
    s->n_ins = (int)n;
    s->n_states = (int)(all - n);
    s->input = c->input + old;
    TW_TRY(tw_ref_ints(c, "scan_input_axes", -1, &s->in_axes));
    TW_TRY(tw_ref_ints(c, "scan_output_axes", -1, &s->out_axes));
    TW_TRY(tw_ref_ints(c, old ? "directions" : "scan_input_directions", -1, &s->in_ways));
    TW_TRY(tw_ref_ints(c, "scan_output_directions", -1, &s->out_ways));
    for (int i = old; i < c->n_inputs; i++)
        if (!c->input[i]) return tw_ref_error(c, "input %d is missing", i);
    return TW_OK;
}

/* The axes that are scanned, and how long they all are. */
static tw_status scan_length(const tw_ref_case *c, const scan *s, int *axis, int64_t *length)
{
    for (int i = 0; i < s->n_ins; i++) {
        const tw_array *x = s->input[s->n_states + i];
        TW_TRY(tw_ref_axis(c, entry(s->in_axes, i), x->n_dims, &axis[i]));
        if (i == 0) *length = x->dim[axis[0]];
        if (x->dim[axis[i]] != *length)
            return tw_ref_error(c, "scanned axes of %" PRId64 " and %" PRId64 " elements", *length,
                                x->dim[axis[i]]);
    }
    return TW_OK;
}

static tw_status scan_over(loop *l, const scan *s, tw_array *output)
{
    const tw_ref_case *c = l->c, turn = tw_ref_in(c, l->work);
    int *axis;
    int64_t length = 0;
    if (l->body->n_inputs != s->n_states + s->n_ins)
        return tw_ref_error(c, "the body has %d inputs instead of %d", l->body->n_inputs, s->n_states + s->n_ins);
    TW_ALLOC(c->arena, axis, s->n_ins);
    TW_TRY(scan_length(c, s, axis, &length));
    for (int k = 0; k < s->n_states; k++) l->state[k] = *s->input[k];
    for (int64_t t = 0; t < length; t++) {
        TW_TRY(loop_begin(l, 0));
        for (int k = 0; k < s->n_ins; k++)
            TW_TRY(take(&turn, s->input[s->n_states + k], axis[k], entry(s->in_ways, k) ? length - 1 - t : t,
                        &l->scope.value[l->body->input[s->n_states + k]]));
        TW_TRY(loop_run(l, 0));
        loop_end(l);
    }
    TW_TRY(loop_states(l, output));
    for (int k = s->n_states; k < c->n_outputs; k++)
        TW_TRY(pile_array(c, &l->pile[k - s->n_states], l->body->output[k], entry(s->out_axes, k - s->n_states),
                          entry(s->out_ways, k - s->n_states) != 0, &output[k]));
    return TW_OK;
}

static tw_status scan_once(const tw_ref_case *c, const scan *s, tw_array *output)
{
    loop l;
    tw_status status = loop_init(c, s->n_states, 0, &l);
    if (status == TW_OK) status = scan_over(&l, s, output);
    loop_release(&l);
    return status;
}

/* Opset 8: all inputs and outputs have a batch in front. */
static tw_status scan_batches(const tw_ref_case *c, scan s, tw_array *output)
{
    const tw_array **input;
    tw_array *part, *result;
    pile *batch;
    int n = s.n_states + s.n_ins;
    TW_ALLOC(c->arena, input, n);
    TW_ALLOC(c->arena, part, n);
    TW_ALLOC(c->arena, result, c->n_outputs);
    TW_ALLOC(c->arena, batch, c->n_outputs);
    if (tw_ref_input(c, 0)) return tw_ref_unknown(c, "lengths of sequences");
    for (int i = 0; i < n; i++)
        if (s.input[i]->n_dims < 1 || s.input[i]->dim[0] != s.input[0]->dim[0])
            return tw_ref_error(c, "input %d has another batch than the first", i + 1);
    const tw_array *const *all = s.input;
    for (int64_t b = 0; b < all[0]->dim[0]; b++) {
        for (int i = 0; i < n; i++) {
            TW_TRY(take(c, all[i], 0, b, &part[i]));
            input[i] = &part[i];
        }
        s.input = input;
        TW_TRY(scan_once(c, &s, result));
        for (int i = 0; i < c->n_outputs; i++) TW_TRY(push(c, &result[i], &batch[i]));
    }
    if (all[0]->dim[0] == 0) return tw_ref_unknown(c, "an empty batch");
    for (int i = 0; i < c->n_outputs; i++) TW_TRY(pile_array(c, &batch[i], 0, 0, false, &output[i]));
    return TW_OK;
}

static tw_status run_scan(const tw_ref_case *c, tw_array *output)
{
    scan s;
    TW_TRY(read_scan(c, &s));
    return c->opset < 9 ? scan_batches(c, s, output) : scan_once(c, &s, output);
}

const tw_ref_entry tw_ref_control[] = {
    {"If", "", run_if},
    {"Loop", "", run_loop},
    {"Scan", "", run_scan},
    {0},
};
