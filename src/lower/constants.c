/* src/lower/constants.c - what depends on constants alone is done before the network runs.
 *
 *     w -> Slice -> Concat -> v       v is a constant like w: Slice and Concat are no steps of the network
 *     x ---------------------> LSTM   reads v as a weight
 *
 * First, before anything is lowered, every value is asked whether it depends on constants alone, so that a constant node
 * never shares a step with one that has to wait for data, and so that its result can be held like a constant of the
 * file. Then, once there are steps, those that read nothing but constants are set apart: nodes, and steps in the middle of
 * a node (the product of a zero state with the weights of a recurrent cell). No element is computed here: planning needs
 * shapes alone. `verify` computes them and holds them against the reference like every other step.
 *
 * An input whose elements the caller gives is no constant, though shapes and branches may depend on it: what is computed of it
 * is work, however well it is known.
 *
 * A node that turns little into much (the Expand of a scalar) is left as it is when its result is larger than
 * TW_CONSTANT_MOST_BYTES and than all that it reads: the network would carry it around as a weight. */
#include "lower/build.h"

#include <string.h>

/* ---- values ---- */

/* Operators whose results differ from call to call. */
static bool is_random(const tw_onnx_node *node)
{
    static const char *const op[] = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                                     "Multinomial",  "Bernoulli",        "Dropout"};
    for (size_t i = 0; i < TW_COUNT(op); i++)
        if (strcmp(node->op, op[i]) == 0) return true;
    return false;
}

/* Operators that look at shapes alone. What they say is known always, and comes from no constant. */
static bool is_of_shapes(const tw_onnx_node *node)
{
    return strcmp(node->op, "Shape") == 0 || strcmp(node->op, "Size") == 0;
}

static int64_t value_bytes(const tw_lowering *l, int value)
{
    const tw_shape_of_value *shape = tw_shape_of(l, value);
    int64_t bytes;
    if (!shape->known || !shape->is_tensor) return 0;
    return tw_ckd_mul(shape->n_elems, tw_onnx_type_bytes(shape->type), &bytes) ? bytes : INT64_MAX;
}

static int64_t saturated_sum(int64_t a, int64_t b) { return tw_ckd_add(a, b, &a) ? a : INT64_MAX; }

static bool is_too_large(int64_t made, int64_t read) { return made > TW_CONSTANT_MOST_BYTES && made > read; }

static bool is_file_constant(const tw_lowering *l, int value) { return l->file->value[value].constant != NULL; }

/* A constant of the file, or computed of such ones. */
static bool depends_on_constants(const tw_lowering *l, int value)
{
    return is_file_constant(l, value) || l->made_of_constants[value];
}

/* Whether all that the graph reads from around it is constant. */
static bool reads_constants(const tw_lowering *l, int top, int graph)
{
    const tw_graph *g = &l->file->graph[graph];
    bool all = true;
    for (int n = 0; n < g->n_nodes && all; n++) {
        const tw_onnx_node *node = &g->node[n];
        all = !is_random(node);
        for (int i = 0; i < node->n_inputs && all; i++)
            all = node->input[i] < 0 || tw_is_within(l->file, l->file->value[node->input[i]].graph, top) ||
                  depends_on_constants(l, node->input[i]);
        for (int a = 0; a < node->n_attributes && all; a++)
            if (node->attribute[a].kind == TW_ATTR_GRAPH && node->attribute[a].graph >= 0)
                all = reads_constants(l, top, node->attribute[a].graph);
    }
    for (int i = 0; i < g->n_outputs && all; i++)
        all = g->output[i] < 0 || tw_is_within(l->file, l->file->value[g->output[i]].graph, top) ||
              depends_on_constants(l, g->output[i]);
    return all;
}

/* Whether the node can be computed before the network runs. */
static bool is_constant_node(const tw_lowering *l, const tw_onnx_node *node)
{
    int64_t read = 0;
    if (node->n_inputs == 0 || is_random(node) || is_of_shapes(node) || !tw_ref_knows(node)) return false;
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->input[i] < 0) continue;
        if (!depends_on_constants(l, node->input[i])) return false;
        read = saturated_sum(read, value_bytes(l, node->input[i]));
    }
    for (int a = 0; a < node->n_attributes; a++) {
        int graph = node->attribute[a].kind == TW_ATTR_GRAPH ? node->attribute[a].graph : -1;
        if (graph >= 0 && !reads_constants(l, graph, graph)) return false;
    }
    for (int i = 0; i < node->n_outputs; i++) {
        if (node->output[i] < 0) continue;
        const tw_shape_of_value *shape = tw_shape_of(l, node->output[i]);
        if (!shape->known || !shape->is_tensor || is_too_large(value_bytes(l, node->output[i]), read)) return false;
    }
    return true;
}

/* The branch that an If takes; -1: it is no If, or data decides. */
static int branch_taken(const tw_lowering *l, const tw_onnx_node *node)
{
    if (strcmp(node->op, "If") != 0 || node->domain[0] || node->n_inputs != 1 || node->input[0] < 0) return -1;
    const tw_array *condition = tw_shape_of(l, node->input[0])->constant;
    if (!condition || !condition->data || condition->n != 1) return -1;
    const tw_attribute *a =
        tw_onnx_attribute(node, tw_array_get(condition, 0) != 0 ? "then_branch" : "else_branch");
    return a && a->kind == TW_ATTR_GRAPH ? a->graph : -1;
}

/* Whether the graph reads a value that depends on a given input. */
static bool reads_given(const tw_lowering *l, int graph)
{
    const tw_graph *g = &l->file->graph[graph];
    for (int n = 0; n < g->n_nodes; n++)
        for (int i = 0; i < g->node[n].n_outputs; i++)
            if (g->node[n].output[i] >= 0 && l->made_of_given[g->node[n].output[i]]) return true;
    return false;
}

static bool is_given_node(const tw_lowering *l, const tw_onnx_node *node)
{
    bool given = false;
    if (is_of_shapes(node)) return false;
    for (int i = 0; i < node->n_inputs; i++) given |= node->input[i] >= 0 && l->made_of_given[node->input[i]];
    for (int a = 0; a < node->n_attributes && !given; a++)
        if (node->attribute[a].kind == TW_ATTR_GRAPH && node->attribute[a].graph >= 0)
            given = reads_given(l, node->attribute[a].graph);
    return given;
}

static void mark_graph(tw_lowering *l, int graph);

static void mark_node(tw_lowering *l, const tw_onnx_node *node)
{
    for (int a = 0; a < node->n_attributes; a++)
        if (node->attribute[a].kind == TW_ATTR_GRAPH && node->attribute[a].graph >= 0)
            mark_graph(l, node->attribute[a].graph);
    bool constant = is_constant_node(l, node), given = is_given_node(l, node);
    int branch = constant ? -1 : branch_taken(l, node);
    for (int i = 0; i < node->n_outputs; i++) {
        if (node->output[i] < 0) continue;
        int from = branch >= 0 && i < l->file->graph[branch].n_outputs ? l->file->graph[branch].output[i] : -1;
        l->made_of_given[node->output[i]] = given;
        l->made_of_constants[node->output[i]] = constant || (from >= 0 && depends_on_constants(l, from));
    }
}

static void mark_graph(tw_lowering *l, int graph)
{
    const tw_graph *g = &l->file->graph[graph];
    for (int n = 0; n < g->n_nodes; n++) mark_node(l, &g->node[n]);
}

tw_status tw_constants_find(tw_lowering *l)
{
    const tw_graph *main = &l->file->graph[0];
    TW_ALLOC(l->arena, l->made_of_constants, l->file->n_values + 1);
    TW_ALLOC(l->arena, l->made_of_given, l->file->n_values + 1);
    for (int i = 0; i < main->n_inputs; i++)
        l->made_of_given[main->input[i]] = tw_shape_of(l, main->input[i])->constant != NULL;
    mark_graph(l, 0);
    return TW_OK;
}

bool tw_is_constant(const tw_lowering *l, int value)
{
    if (value < 0) return false;
    if (is_file_constant(l, value)) return true;
    bool known = tw_shape_of(l, value)->constant != NULL;
    return l->options->no_fold ? known && !l->made_of_constants[value] : known || l->made_of_constants[value];
}

bool tw_is_constant_node(const tw_lowering *l, const tw_onnx_node *node)
{
    bool any = false;
    for (int i = 0; i < node->n_outputs; i++) {
        if (node->output[i] < 0) continue;
        if (is_file_constant(l, node->output[i]) || !tw_is_constant(l, node->output[i])) return false;
        if (l->made_of_given[node->output[i]]) return false;
        any = true;
    }
    return any;
}

/* ---- steps ---- */

typedef struct
    search { /* for steps that read constants alone: everything is one until something says that it is not */
    tw_lowering *l;
    bool *root_varies; /* per tensor: an input, or written by a step that is not constant */
    bool *step_varies;
    bool changed;
} search;

static bool varies(const search *s, int tensor)
{
    if (tensor < 0) return false;
    int value = s->l->source[tensor].value;
    return s->root_varies[s->l->tensor[tensor].root] || (value >= 0 && s->l->made_of_given[value]);
}

static int64_t bytes_of(const tw_lowering *l, int tensor) { return tensor < 0 ? 0 : l->tensor[tensor].bytes; }

/* What a step holds is small. */
static bool step_is_too_large(const tw_lowering *l, const tw_op *step)
{
    int64_t read = 0, made = 0;
    int n_held = step->kind == TW_OP_DESCRIBED ? step->n_held : 0;
    for (int i = 0; i < tw_op_n_reads(step) - n_held; i++)
        read = saturated_sum(read, bytes_of(l, tw_op_read(step, i)));
    for (int i = 0; i < tw_op_n_writes(step); i++) made = saturated_sum(made, bytes_of(l, tw_op_written(step, i)));
    return is_too_large(made, read);
}

static bool outputs_vary(const search *s, const tw_op *step)
{
    for (int i = 0; i < tw_op_n_writes(step); i++)
        if (varies(s, tw_op_written(step, i))) return true;
    return false;
}

static bool inputs_vary(const search *s, const tw_op *step)
{
    for (int i = 0; i < tw_op_n_reads(step); i++)
        if (varies(s, tw_op_read(step, i))) return true;
    return false;
}

/* A step that cannot be done before the network runs, whatever it reads. */
static bool is_bound(const tw_lowering *l, const tw_op *step)
{
    if (step->kind == TW_OP_UNKNOWN) return true;
    for (int i = 0; i < step->from.n_nodes; i++)
        if (is_random(&l->file->graph[step->from.graph].node[step->from.node[i]])) return true;
    for (int i = 0; i < step->n_outputs; i++)
        if (step->output[i] >= 0 && l->tensor[step->output[i]].unshaped) return true;
    return (step->kind == TW_OP_HOST && step->n_inputs == 0) || step_is_too_large(l, step);
}

static void set_varying(search *s, int tensor)
{
    if (tensor < 0 || s->root_varies[s->l->tensor[tensor].root]) return;
    s->root_varies[s->l->tensor[tensor].root] = true;
    s->changed = true;
}

static void visit(search *s, int i)
{
    const tw_op *step = &s->l->step[i];
    if (!s->step_varies[i] && !inputs_vary(s, step) && !outputs_vary(s, step)) return;
    s->step_varies[i] = true;
    for (int k = 0; k < tw_op_n_writes(step); k++) set_varying(s, tw_op_written(step, k));
}

/* A tensor that somebody makes: the file, this folder, or a step. */
static bool is_made(const tw_lowering *l, int t, const bool *written)
{
    const tw_tensor_source *from = &l->source[t];
    bool in_file = from->value >= 0 && is_file_constant(l, from->value);
    return written[t] || in_file || from->literal ||
           (!l->tensor[t].unshaped && tw_tensor_elems(&l->tensor[t]) == 0);
}

static tw_status search_init(search *s, tw_lowering *l, bool *written)
{
    s->l = l;
    TW_ALLOC(l->arena, s->root_varies, l->n_tensors + 1);
    TW_ALLOC(l->arena, s->step_varies, l->n_steps + 1);
    for (int i = 0; i < l->n_steps; i++) {
        const tw_op *step = &l->step[i];
        for (int k = 0; k < tw_op_n_writes(step); k++)
            if (tw_op_written(step, k) >= 0) written[l->tensor[tw_op_written(step, k)].root] = true;
        s->step_varies[i] = is_bound(l, step);
    }
    for (int t = 0; t < l->n_tensors; t++)
        s->root_varies[t] = l->tensor[t].role == TW_ROLE_INPUT || !is_made(l, t, written);
    return TW_OK;
}

/* Tensors that constant steps write are constants; views are what they are views of. */
static void settle_roles(tw_lowering *l, const search *s, const bool *written)
{
    for (int t = 0; t < l->n_tensors; t++)
        if (written[t]) l->tensor[t].role = s->root_varies[t] ? TW_ROLE_BETWEEN : TW_ROLE_CONSTANT;
    for (int t = 0; t < l->n_tensors; t++) l->tensor[t].role = l->tensor[l->tensor[t].root].role;
}

/* A step that would be constant were it not for its size. */
static void note_too_large(tw_lowering *l, const search *s, const tw_op *step)
{
    if (step->kind == TW_OP_UNKNOWN || !step_is_too_large(l, step) || inputs_vary(s, step)) return;
    if (tw_room_for(l, &l->too_large, l->n_too_large, &l->too_large_room, sizeof *l->too_large))
        l->too_large[l->n_too_large++] = step->name;
}

tw_status tw_constants_set_apart(tw_lowering *l)
{
    search s;
    bool *written;
    if (l->options->no_fold) return TW_OK;
    TW_ALLOC(l->arena, written, l->n_tensors + 1);
    TW_TRY(search_init(&s, l, written));
    do {
        s.changed = false;
        for (int i = 0; i < l->n_steps; i++) visit(&s, i);
    } while (s.changed);
    for (int i = 0; i < l->n_steps; i++) {
        l->step[i].from.constant = !s.step_varies[i];
        if (s.step_varies[i]) note_too_large(l, &s, &l->step[i]);
    }
    settle_roles(l, &s, written);
    return l->no_memory ? TW_ERR_NOMEM : TW_OK;
}

/* ---- counting ---- */

tw_status tw_constants_count(const tw_lowering *l, tw_lowered *out)
{
    bool *read;
    TW_ALLOC(l->arena, read, l->n_tensors + 1);
    for (int s = 0; s < out->graph.n_ops; s++)
        for (int i = 0; i < tw_op_n_reads(&out->graph.op[s]); i++) {
            int tensor = tw_op_read(&out->graph.op[s], i);
            if (tensor >= 0) read[l->tensor[tensor].root] = true;
        }
    for (int t = 0; t < l->n_tensors; t++)
        if (l->tensor[t].is_output) read[l->tensor[t].root] = true;
    for (int t = 0; t < l->n_tensors; t++) {
        const tw_tensor *tensor = &l->tensor[t];
        const tw_tensor_source *from = &l->source[t];
        bool made = from->value >= 0 ? !is_file_constant(l, from->value) : !from->literal;
        if (tensor->root != t || tensor->role != TW_ROLE_CONSTANT || !read[t]) continue;
        out->weight_bytes = saturated_sum(out->weight_bytes, tensor->bytes);
        if (!made) continue;
        out->n_constants++;
        out->constant_bytes = saturated_sum(out->constant_bytes, tensor->bytes);
    }
    return TW_OK;
}
