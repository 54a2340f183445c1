/* src/rivals/zigzag/network.c - the layers that ZigZag takes from an ONNX file: Conv, QLinearConv, Gemm and MatMul; in Stream pools, what is computed
 * element by element of one tensor or two, means of rows and softmax, which is four of them, are layers, too.
 *
 * Everything else costs nothing here, with a note that says how many nodes that are. As in the tool, the first entry of kernel_shape, strides, dilations and pads belongs to X although ONNX means Y; where that makes a
 * difference a note says so, because the numbers are then those of another layer. */
#include "infer/infer.h"
#include "rivals/zigzag/zigzag.h"

#include <string.h>

typedef struct network {
    tw_zz_reader *r;
    const tw_graph_file *file;
    const tw_graph *graph;
    const tw_shapes *shapes;
    int n_skipped, n_swapped;
} network;

static tw_loc place(const network *n) { return (tw_loc){n->file->path, 0, 0}; }

static tw_status shape_of(const network *n, const tw_onnx_node *node, int value, const tw_shape_of_value **out)
{
    if (value >= 0 && n->shapes->value[value].known && n->shapes->value[value].n_dims > 0) {
        *out = &n->shapes->value[value];
        return TW_OK;
    }
    return tw_diag_error(n->r->work.diag, place(n), "node '%s' (%s): the shape of '%s' is not known", node->name,
                         node->op, value >= 0 ? n->file->value[value].name : "");
}

/* Inputs that other nodes write. */
static int n_sources(const network *n, const tw_onnx_node *node)
{
    int sources = 0;
    for (int i = 0; i < node->n_inputs; i++)
        sources += node->input[i] >= 0 && n->file->value[node->input[i]].node >= 0;
    return sources;
}

static void add_dim(tw_zz_layer *l, const char *name, int64_t extent)
{
    l->dim[l->n_dims] = name;
    l->extent[l->n_dims++] = extent > 0 ? extent : 1;
}

/* Indices as names of dims, or of relations, one letter or two each, with blanks between them. */
static void add_indices(tw_zz_layer *l, int operand, const char *names)
{
    char word[8];
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        memcpy(word, at, n);
        word[n] = 0;
        at += n;
        int d = tw_zz_dim_of(l, word);
        for (int i = 0; d < 0 && i < l->n_relations; i++)
            if (strcmp(l->relation[i].name, word) == 0) d = l->n_dims + i;
        if (d >= 0) l->index[operand][l->n_indices[operand]++] = d;
    }
}

static void set_precisions(tw_zz_layer *l, const tw_onnx_node *node)
{
    int64_t act = tw_onnx_int(node, "act_size", 8);
    l->bits[TW_ZZ_LAYER_I] = l->final_bits = act;
    l->bits[TW_ZZ_LAYER_W] = tw_onnx_int(node, "weight_size", 8);
    l->bits[TW_ZZ_LAYER_O] = tw_onnx_int(node, "output_size", 2 * act);
}

/* Entry i of a list attribute. */
static int64_t entry_of(const tw_onnx_node *node, const char *name, int i, int64_t fallback)
{
    const tw_attribute *a = tw_onnx_attribute(node, name);
    return a && a->kind == TW_ATTR_INTS && i < a->n ? a->ints[i] : fallback;
}

static tw_status read_window(network *n, const tw_onnx_node *node, const tw_shape_of_value *in, tw_zz_layer *l)
{
    static const char *const name[] = {"IX", "IY"}, *const out[] = {"OX", "OY"}, *const tap[] = {"FX", "FY"};
    bool swapped = false;
    for (int i = 0; i < 2; i++) {
        tw_zz_relation *x = &l->relation[l->n_relations++];
        *x = (tw_zz_relation){.name = name[i],
                              .dim = {tw_zz_dim_of(l, out[i]), tw_zz_dim_of(l, tap[i])},
                              .step = {entry_of(node, "strides", i, 1), entry_of(node, "dilations", i, 1)},
                              .size = in->dim[3 - i],
                              .before = entry_of(node, "pads", i, -1)};
        x->has_before = x->before >= 0;
        if (x->step[0] < 1 || x->step[1] < 1)
            return tw_diag_error(n->r->work.diag, place(n),
                                 "node '%s' (%s): strides and dilations must be 1 or more", node->name, node->op);
    }
    swapped |= l->extent[l->relation[0].dim[1]] != l->extent[l->relation[1].dim[1]];
    swapped |= l->relation[0].step[0] != l->relation[1].step[0] || l->relation[0].step[1] != l->relation[1].step[1];
    n->n_swapped += swapped;
    return TW_OK;
}

static tw_status read_conv(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    const tw_shape_of_value *in, *out, *weights;
    int64_t group = tw_onnx_int(node, "group", 1);
    int w = strcmp(node->op, "Conv") == 0 ? 1 : 3;
    TW_TRY(shape_of(n, node, node->input[0], &in));
    TW_TRY(shape_of(n, node, node->output[0], &out));
    TW_TRY(shape_of(n, node, w < node->n_inputs ? node->input[w] : -1, &weights));
    if (in->n_dims != 4 || out->n_dims != 4 || weights->n_dims != 4 || group < 1)
        return tw_diag_error(n->r->work.diag, place(n),
                             "node '%s' (%s): ZigZag's rules know convolutions of two axes only", node->name,
                             node->op);
    add_dim(l, "B", out->dim[0]);
    add_dim(l, "K", tw_cdiv(out->dim[1], group));
    add_dim(l, "G", group);
    add_dim(l, "OX", out->dim[3]);
    if (!n->r->is_stream) add_dim(l, "OY", out->dim[2]);
    add_dim(l, "C", tw_cdiv(in->dim[1], group));
    add_dim(l, "FX", entry_of(node, "kernel_shape", 0, weights->dim[2]));
    if (n->r->is_stream) add_dim(l, "OY", out->dim[2]);
    add_dim(l, "FY", entry_of(node, "kernel_shape", 1, weights->dim[3]));
    TW_TRY(read_window(n, node, in, l));
    add_indices(l, TW_ZZ_LAYER_O, "B G K OY OX");
    add_indices(l, TW_ZZ_LAYER_W, "G K C FY FX");
    add_indices(l, TW_ZZ_LAYER_I, "B G C IY IX");
    l->order[1] = TW_ZZ_LAYER_W;
    l->order[2] = TW_ZZ_LAYER_I;
    return TW_OK;
}

static void order_product(tw_zz_layer *l, bool batched, bool headed, bool constant)
{
    static const char *const prefix[] = {"", "B ", "H ", "B H "};
    const char *before = prefix[batched + 2 * headed];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        if (o != TW_ZZ_LAYER_W || !constant) add_indices(l, o, before);
    add_indices(l, TW_ZZ_LAYER_O, "D K");
    add_indices(l, TW_ZZ_LAYER_I, "D C");
    add_indices(l, TW_ZZ_LAYER_W, "C K");
    l->order[1] = TW_ZZ_LAYER_I;
    l->order[2] = TW_ZZ_LAYER_W;
}

static void add_batches(tw_zz_layer *l, const tw_shape_of_value *in)
{
    if (in->n_dims > 2) add_dim(l, "B", in->dim[0]);
    if (in->n_dims > 3) add_dim(l, "H", in->dim[1]);
}

static tw_status read_product(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    const tw_shape_of_value *in, *out;
    TW_TRY(shape_of(n, node, node->input[0], &in));
    TW_TRY(shape_of(n, node, node->output[0], &out));
    int rank = in->n_dims;
    bool turned = tw_onnx_int(node, "transA", 0) != 0, constant = n_sources(n, node) < 2;
    if (rank < 2 || rank > 4 || out->n_dims != rank || (turned && rank != 2))
        return tw_diag_error(
            n->r->work.diag, place(n),
            "node '%s' (%s): ZigZag's rules know products of two, three or four axes, in and out alike", node->name,
            node->op);
    int64_t inner = in->dim[turned ? 0 : rank - 1];
    if (n->r->is_stream) add_batches(l, in);
    if (!n->r->is_stream) add_dim(l, "C", inner);
    add_dim(l, "D", in->dim[turned ? 1 : rank - 2]);
    if (n->r->is_stream) add_dim(l, "C", inner);
    add_dim(l, "K", out->dim[rank - 1]);
    if (!n->r->is_stream) add_batches(l, in);
    if (!constant) l->bits[TW_ZZ_LAYER_W] = l->bits[TW_ZZ_LAYER_I];
    order_product(l, rank > 2, rank > 3, constant);
    return TW_OK;
}

/* A pool has no weights: an operand without a width stands for them, as in files of the tool. Channels are K, the only loop over them; the
 * tool has a second one that nothing depends on, and that would only repeat all of the work. */
static tw_status read_pool(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    const tw_shape_of_value *in, *out;
    bool global = strncmp(node->op, "Global", 6) == 0;
    TW_TRY(shape_of(n, node, node->input[0], &in));
    TW_TRY(shape_of(n, node, node->output[0], &out));
    if (in->n_dims != 4 || out->n_dims != 4)
        return tw_diag_error(n->r->work.diag, place(n),
                             "node '%s' (%s): Stream's rules know pools of two axes only", node->name, node->op);
    add_dim(l, "B", out->dim[0]);
    add_dim(l, "K", out->dim[1]);
    add_dim(l, "OX", out->dim[3]);
    add_dim(l, "OY", out->dim[2]);
    add_dim(l, "FX", global ? in->dim[3] : entry_of(node, "kernel_shape", 0, 1));
    add_dim(l, "FY", global ? in->dim[2] : entry_of(node, "kernel_shape", 1, 1));
    TW_TRY(read_window(n, node, in, l));
    add_indices(l, TW_ZZ_LAYER_O, "B K OY OX");
    add_indices(l, TW_ZZ_LAYER_W, "FY FX");
    add_indices(l, TW_ZZ_LAYER_I, "B K IY IX");
    l->order[1] = TW_ZZ_LAYER_W;
    l->order[2] = TW_ZZ_LAYER_I;
    l->bits[TW_ZZ_LAYER_W] = 0;
    l->bits[TW_ZZ_LAYER_O] = l->final_bits;
    return TW_OK;
}

/* What a point of ours is, where it is not a product or a sum: saturated, so that it fits into every type. NULL: it is one of these. */
static const char *value_of(const char *op)
{
    static const char *const value[][2] = {{"Sub", "max(-127, min(127, i - w))"},
                                           {"Div", "quotient(i, w)"},
                                           {"Pow", "max(-127, min(127, trunc(power(i, w))))"},
                                           {"Relu", "max(0, i)"},
                                           {"Gelu", "trunc(i * (1 + erf(i * 0.70710678)) / 2)"},
                                           {"Silu", "trunc(i * sigmoid(i))"},
                                           {"Sigmoid", "round(sigmoid(i))"},
                                           {"Tanh", "trunc(tanh(i))"},
                                           {"Exp", "min(127, trunc(exp(i)))"},
                                           {"Sqrt", "trunc(sqrt(max(0, i)))"},
                                           {"Reciprocal", "quotient(1, i)"}};
    for (size_t i = 0; i < TW_COUNT(value); i++)
        if (strcmp(value[i][0], op) == 0) return value[i][1];
    return NULL;
}

static int maker_of(const network *n, const tw_onnx_node *node, int input, int own);

/* ---- element by element: loops B, H, D, K along the axes ---- */

enum { AXES = 4 };

/* What a node has too many axes for, or of which shapes are not known, is no layer. */
static bool is_named(const network *n, const tw_onnx_node *node, int input)
{
    int value = input < 0 ? node->output[0] : input < node->n_inputs ? node->input[input] : -1;
    return value >= 0 && n->shapes->value[value].known && n->shapes->value[value].n_dims <= AXES;
}

static const tw_shape_of_value *named(const network *n, const tw_onnx_node *node, int input)
{
    return &n->shapes->value[input < 0 ? node->output[0] : node->input[input]];
}

/* Loops along the axes of a tensor; one without axes has one element. */
static void add_axes(tw_zz_layer *l, const tw_shape_of_value *x)
{
    static const char *const name[AXES] = {"B", "H", "D", "K"};
    for (int a = 0; a < tw_max(x->n_dims, 1); a++) add_dim(l, name[a], x->n_dims > 0 ? x->dim[a] : 1);
}

/* Indices of an operand that is spread over the axes of the result: axes of length 1, and those that it does not have, move nothing. */
static bool add_spread(tw_zz_layer *l, int operand, const tw_shape_of_value *x, const tw_shape_of_value *out)
{
    for (int a = 0; a < out->n_dims; a++) {
        int at = a - (out->n_dims - x->n_dims);
        int64_t extent = at < 0 ? 1 : x->dim[at];
        if (extent != 1 && extent != out->dim[a]) return false;
        if (extent == out->dim[a]) l->index[operand][l->n_indices[operand]++] = a;
    }
    return x->n_dims <= out->n_dims;
}

/* One input; the weights have no width. */
static void order_single(tw_zz_layer *l)
{
    l->order[1] = TW_ZZ_LAYER_I;
    l->order[2] = TW_ZZ_LAYER_W;
    l->bits[TW_ZZ_LAYER_W] = 0;
}

/* A function of each element. */
static tw_status read_map(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    if (!is_named(n, node, -1) || !is_named(n, node, 0)) return TW_INFEASIBLE;
    const tw_shape_of_value *out = named(n, node, -1);
    add_axes(l, out);
    bool alike = add_spread(l, TW_ZZ_LAYER_O, out, out) && add_spread(l, TW_ZZ_LAYER_I, named(n, node, 0), out);
    l->value = value_of(node->op);
    order_single(l);
    return alike ? TW_OK : TW_INFEASIBLE;
}

/* Two tensors element by element. The second input stands for weights, or the first where it is spread and the second is not. */
static tw_status read_pairs(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    if (!is_named(n, node, -1) || !is_named(n, node, 0) || !is_named(n, node, 1)) return TW_INFEASIBLE;
    const tw_shape_of_value *in[] = {named(n, node, 0), named(n, node, 1)}, *out = named(n, node, -1);
    int first = in[0]->n_dims < out->n_dims && in[1]->n_dims == out->n_dims;
    add_axes(l, out);
    bool alike = add_spread(l, TW_ZZ_LAYER_O, out, out) && add_spread(l, TW_ZZ_LAYER_I, in[first], out) &&
                 add_spread(l, TW_ZZ_LAYER_W, in[!first], out);
    l->order[1] = TW_ZZ_LAYER_I;
    l->order[2] = TW_ZZ_LAYER_W;
    l->adds = strcmp(node->op, "Add") == 0;
    l->value = value_of(node->op);
    if (n_sources(n, node) > 1) l->bits[TW_ZZ_LAYER_W] = l->bits[TW_ZZ_LAYER_I];
    l->source = maker_of(n, node, first, (int)l->id);
    l->other = maker_of(n, node, !first, (int)l->id);
    return alike ? TW_OK : TW_INFEASIBLE;
}

/* Rows become one element: axes that the result does not have, or has with one element. */
static tw_status read_rows(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    if (!is_named(n, node, -1) || !is_named(n, node, 0)) return TW_INFEASIBLE;
    const tw_shape_of_value *in = named(n, node, 0), *out = named(n, node, -1);
    int at = 0;
    add_axes(l, in);
    for (int a = 0; a < in->n_dims; a++) {
        bool kept = at < out->n_dims && out->dim[at] == in->dim[a];
        l->index[TW_ZZ_LAYER_I][l->n_indices[TW_ZZ_LAYER_I]++] = a;
        if (kept) l->index[TW_ZZ_LAYER_O][l->n_indices[TW_ZZ_LAYER_O]++] = a;
        at += kept || in->n_dims == out->n_dims;
    }
    order_single(l);
    return at == out->n_dims ? TW_OK : TW_INFEASIBLE;
}

/* ---- softmax ---- */

/* Of the rows of the last axis their maxima (0), exp of what elements are below them (1), the sums of these (2), and each over its sum (3). */
static void read_softmax_step(const tw_shape_of_value *x, int step, tw_zz_layer *l)
{
    int last = x->n_dims - 1;
    bool rows = step == 0 || step == 2;
    add_axes(l, x);
    order_single(l);
    for (int a = 0; a <= last; a++) {
        l->index[TW_ZZ_LAYER_I][l->n_indices[TW_ZZ_LAYER_I]++] = a;
        if (a < last || !rows) l->index[TW_ZZ_LAYER_O][l->n_indices[TW_ZZ_LAYER_O]++] = a;
        if (a < last && !rows) l->index[TW_ZZ_LAYER_W][l->n_indices[TW_ZZ_LAYER_W]++] = a;
    }
    if (rows) return;
    l->bits[TW_ZZ_LAYER_W] = l->bits[TW_ZZ_LAYER_I];
    l->value = step == 1 ? "min(127, trunc(exp(i - w)))" : value_of("Div");
}

static tw_status read_softmax(network *n, const tw_onnx_node *node, tw_zz_layer *l)
{
    static const char *const step[] = {"max", "exp", "sum", "div"};
    if (!is_named(n, node, 0) || named(n, node, 0)->n_dims == 0) return TW_INFEASIBLE;
    tw_zz_layer like = *l; /* numbers beyond those of nodes; the last step has the node's own, which others read */
    int64_t id[] = {l->id + n->graph->n_nodes, l->id + 2 * (int64_t)n->graph->n_nodes,
                    l->id + 3 * (int64_t)n->graph->n_nodes, l->id};
    for (int s = 0; s < 4; s++) {
        tw_zz_layer *one = &l[s];
        *one = like;
        one->name = tw_arena_printf(n->r->work.arena, "%s-%s", like.name, step[s]);
        if (!one->name) return TW_ERR_NOMEM;
        one->id = id[s];
        one->source = s < 2 ? (like.source == like.id ? id[s] : like.source) : id[1];
        one->other = s == 1 ? id[0] : s == 3 ? id[2] : id[s];
        read_softmax_step(named(n, node, 0), s, one);
    }
    n->r->n_layers += 3;
    return TW_OK;
}

typedef tw_status read_layer(network *n, const tw_onnx_node *node, tw_zz_layer *l);

/* NULL: the node is no layer. */
static read_layer *reader_of(const network *n, const tw_onnx_node *node)
{
    static const struct {
        const char *op;
        bool stream; /* is a layer there alone */
        read_layer *read;
    } kind[] = {{"Conv", false, read_conv},
                {"QLinearConv", false, read_conv},
                {"Gemm", false, read_product},
                {"MatMul", false, read_product},
                {"MaxPool", true, read_pool},
                {"AveragePool", true, read_pool},
                {"GlobalMaxPool", true, read_pool},
                {"GlobalAveragePool", true, read_pool},
                {"Add", true, read_pairs},
                {"Mul", true, read_pairs},
                {"Sub", true, read_pairs},
                {"Div", true, read_pairs},
                {"Pow", true, read_pairs},
                {"Relu", true, read_map},
                {"Gelu", true, read_map},
                {"Silu", true, read_map},
                {"Sigmoid", true, read_map},
                {"Tanh", true, read_map},
                {"Exp", true, read_map},
                {"Sqrt", true, read_map},
                {"Reciprocal", true, read_map},
                {"ReduceMean", true, read_rows},
                {"Softmax", true, read_softmax}};
    for (size_t i = 0; i < TW_COUNT(kind); i++)
        if (strcmp(node->op, kind[i].op) == 0 && (n->r->is_stream || !kind[i].stream)) return kind[i].read;
    return NULL;
}

/* Whether the node hands on what it reads, element by element and in the same order, and has no cost. */
static bool hands_on(const network *n, const tw_onnx_node *node)
{
    static const char *const op[] = {
        "Relu",    "Clip",    "LeakyRelu",  "Sigmoid",   "Tanh",    "HardSwish",
        "Gelu",    "Silu",    "Elu",        "Exp",       "Sqrt",    "BatchNormalization",
        "Flatten", "Reshape", "Squeeze",    "Unsqueeze", "Dropout", "Identity",
        "Cast",    "PRelu",   "HardSigmoid"};
    for (size_t i = 0; !reader_of(n, node) && i < TW_COUNT(op); i++)
        if (strcmp(node->op, op[i]) == 0) return node->n_inputs > 0;
    return false;
}

/* The node that makes an input, on the way back over those that hand it on; `own` where none does. */
static int maker_of(const network *n, const tw_onnx_node *node, int input, int own)
{
    int value = input < node->n_inputs ? node->input[input] : -1;
    for (;;) {
        int at = value >= 0 ? n->file->value[value].node : -1;
        if (at < 0) return own;
        if (!hands_on(n, &n->graph->node[at])) return at;
        value = n->graph->node[at].input[0];
    }
}

static tw_status read_node(network *n, int i)
{
    const tw_onnx_node *node = &n->graph->node[i];
    read_layer *read = reader_of(n, node);
    if (!read) {
        n->n_skipped++;
        return TW_OK;
    }
    tw_zz_layer *l = &n->r->layer[n->r->n_layers];
    *l = (tw_zz_layer){.name = node->name, .type = node->op, .loc = place(n)};
    if (!*node->name) l->name = tw_arena_printf(n->r->work.arena, "Op%d", i);
    if (!l->name) return TW_ERR_NOMEM;
    set_precisions(l, node);
    l->id = i;
    l->source = maker_of(n, node, 0, i);
    l->other = read == read_product ? maker_of(n, node, 1, i) : i;
    tw_status status = read(n, node, l);
    n->n_skipped += status == TW_INFEASIBLE;
    n->r->n_layers += status == TW_OK;
    return status == TW_INFEASIBLE ? TW_OK : status;
}

tw_status tw_zz_read_network(tw_zz_reader *r, const tw_graph_file *graph)
{
    network n = {.r = r, .file = graph, .graph = &graph->graph[0]};
    tw_infer_options options = {0};
    if (r->layer) return tw_diag_error(r->work.diag, place(&n), "a second workload is given; there can be one");
    TW_TRY(tw_infer_shapes(graph, &options, r->work.arena, r->work.diag, &n.shapes));
    TW_ALLOC(r->work.arena, r->layer, (r->is_stream ? 4 : 1) * n.graph->n_nodes + 1); /* a softmax is four */
    for (int i = 0; i < n.graph->n_nodes; i++) TW_TRY(read_node(&n, i));
    if (n.n_skipped > 0)
        tw_diag_note(r->work.diag, place(&n), "%d of %d nodes are %s", n.n_skipped, n.graph->n_nodes,
                     r->is_stream ? "no layers by Stream's rules, and have no cost here"
                                  : "no convolution and no matrix product; ZigZag's rules give them no cost");
    if (n.n_swapped > 0)
        tw_diag_note(r->work.diag, place(&n),
                     "%d convolutions have kernels, strides or dilations that differ in X and Y; as in ZigZag they "
                     "are swapped",
                     n.n_swapped);
    return TW_OK;
}
