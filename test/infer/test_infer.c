/* test/infer/test_infer.c - shapes of single nodes by hand, of ONNX's own test data, and of networks of other people.
 *
 * A node is written as text:
 *
 *     inputs      "1x3x8x8 int64:3=1,2,3 -"     float unless a type is said; with elements: a constant; -: left out
 *     attributes  "axis:1 pads=1,1 mode'SAME"   one integer, integers, floats after ~, a string after '
 *     outputs     "1x4x8x8 int64:2 ?"           what comes out, or the message after the node's place */
#include "infer/infer.h"
#include "pb.h"
#include "tw_test.h"

#include <glob.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a model of one node ---- */

static tw_onnx_type take_type(const char **at)
{
    for (int t = 1; t < TW_ONNX_N_TYPES; t++) {
        const char *name = tw_onnx_type_name((tw_onnx_type)t);
        size_t n = strlen(name);
        if (strncmp(*at, name, n) == 0 && (*at)[n] == ':') return *at += n + 1, (tw_onnx_type)t;
    }
    return TW_ONNX_F32;
}

typedef struct tensor {
    tw_onnx_type type;
    int n_dims;
    const char *dim[TW_ONNX_MAX_DIMS]; /* numbers or symbols */
    int length[TW_ONNX_MAX_DIMS];
    const char *elements; /* NULL: none */
} tensor;

static tensor take_tensor(const char *at)
{
    tensor t = {.type = take_type(&at)};
    for (bool scalar = strncmp(at, "scalar", 6) == 0; !scalar && *at && *at != ' ' && *at != '=';
         at += *at == 'x') {
        t.dim[t.n_dims] = at;
        t.length[t.n_dims++] = (int)strcspn(at, "x =");
        at += strcspn(at, "x =");
    }
    at += strcspn(at, " =");
    t.elements = *at == '=' ? at + 1 : NULL;
    return t;
}

static void add_value(tw_text *graph, int field, const char *name, const tensor *t)
{
    tw_text shape = {0}, type = {0}, wrapped = {0}, value = {0};
    for (int i = 0; i < t->n_dims; i++) {
        tw_text dim = {0};
        if (*t->dim[i] >= '0' && *t->dim[i] <= '9')
            pb_int(&dim, 1, atoll(t->dim[i]));
        else if (*t->dim[i] != '?')
            pb_bytes(&dim, 2, t->dim[i], (size_t)t->length[i]);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&type, 1, t->type);
    pb_message(&type, 2, &shape);
    pb_message(&wrapped, 1, &type);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &wrapped);
    pb_message(graph, field, &value);
}

/* Elements in the typed field of their type. */
static tw_text constant_of(const char *name, const tensor *t)
{
    tw_text out = {0};
    for (int i = 0; i < t->n_dims; i++) pb_int(&out, 1, atoll(t->dim[i]));
    pb_int(&out, 2, t->type);
    for (const char *at = t->elements; *at && *at != ' '; at += *at == ',') {
        char *end;
        double x = strtod(at, &end);
        if (end == at) break;
        at = end;
        if (t->type == TW_ONNX_F32)
            pb_float(&out, 4, (float)x);
        else
            pb_int(&out, t->type == TW_ONNX_I64 ? 7 : 5, (int64_t)x);
    }
    pb_text(&out, 8, name);
    return out;
}

static void add_attribute(tw_text *node, const char *text, size_t n)
{
    tw_text a = {0};
    size_t name = strcspn(text, ":=~'");
    char kind = text[name];
    const char *at = text + name + 1;
    pb_bytes(&a, 1, text, name);
    if (kind == ':') pb_int(&a, 3, atoll(at));
    if (kind == '\'') pb_bytes(&a, 4, at, (size_t)(text + n - at));
    while ((kind == '=' || kind == '~') && at < text + n) {
        char *end;
        if (kind == '~')
            pb_float(&a, 7, strtof(at, &end));
        else
            pb_int(&a, 8, strtoll(at, &end, 10));
        at = end + 1;
    }
    pb_int(&a, 20, kind == ':' ? 2 : kind == '\'' ? 3 : kind == '~' ? 6 : 7);
    pb_message(node, 5, &a);
}

static void add_inputs(tw_text *graph, tw_text *node, const char *inputs)
{
    int k = 0;
    for (const char *at = inputs; *at; at += strcspn(at, " "), at += *at == ' ', k++) {
        char name[] = {(char)('a' + k), 0};
        bool there = *at != '-';
        pb_text(node, 1, there ? name : "");
        tensor t = take_tensor(at);
        tw_text constant = {0};
        if (there && t.elements) {
            constant = constant_of(name, &t);
            pb_message(graph, 5, &constant);
        } else if (there) {
            add_value(graph, 11, name, &t);
        }
    }
}

/* Empties the graph. */
static tw_text model_of(tw_text *graph, int64_t version)
{
    tw_text opset = {0}, ms = {0}, model = {0};
    pb_int(&model, 1, 8);
    pb_text(graph, 2, "g");
    pb_message(&model, 7, graph);
    pb_int(&opset, 2, version);
    pb_message(&model, 8, &opset);
    pb_text(&ms, 1, "com.microsoft");
    pb_int(&ms, 2, 1);
    pb_message(&model, 8, &ms);
    return model;
}

static const char *word_end(const char *at) { return at + strcspn(at, " "); }

/* Output k is called "o0", "o1", ...; an operator may be written as "com.microsoft.QLinearAdd". */
static tw_text one_node(const char *op, int64_t version, const char *inputs, const char *attributes, int n_out)
{
    tw_text graph = {0}, node = {0};
    bool ms = strncmp(op, "com.microsoft.", 14) == 0;
    add_inputs(&graph, &node, inputs);
    for (int k = 0; k < n_out; k++) pb_text(&node, 2, (char[]){'o', (char)('0' + k), 0});
    pb_text(&node, 3, "n");
    pb_text(&node, 4, ms ? op + 14 : op);
    for (const char *at = attributes; *at; at = word_end(at), at += *at == ' ')
        add_attribute(&node, at, (size_t)(word_end(at) - at));
    if (ms) pb_text(&node, 7, "com.microsoft");
    pb_message(&graph, 1, &node);
    return model_of(&graph, version);
}

/* ---- what is inferred, as text ---- */

static void add_shape(tw_text *out, const tw_shape_of_value *v)
{
    if (out->len > 0) tw_text_add(out, " ", 1);
    if (!v->known) {
        tw_text_add(out, "?", 1);
        return;
    }
    if (v->type != TW_ONNX_F32) tw_text_printf(out, "%s:", tw_onnx_type_name(v->type));
    if (v->n_dims == 0) tw_text_printf(out, "scalar");
    for (int i = 0; i < v->n_dims; i++) tw_text_printf(out, "%s%" PRId64, i > 0 ? "x" : "", v->dim[i]);
}

/* The message behind "at byte N: ", or the whole. */
static const char *message_of(const tw_diag *diag)
{
    const char *at = diag->last ? strstr(diag->last, " at byte ") : NULL;
    return at ? strstr(at, ": ") + 2 : diag->last ? diag->last : "no message";
}

static void outputs_of(const tw_text *model, const tw_infer_options *options, tw_text *out)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    const tw_shapes *shapes;
    CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)model->bytes, model->len, arena, &diag, &file), TW_OK);
    tw_status status = tw_infer_shapes(file, options, arena, &diag, &shapes);
    if (status == TW_OK) {
        const tw_graph *g = &file->graph[0];
        const tw_onnx_node *last = &g->node[g->n_nodes - 1];
        for (int k = 0; k < last->n_outputs; k++) add_shape(out, &shapes->value[last->output[k]]);
    } else {
        tw_text_printf(out, "%s", message_of(&diag));
    }
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

typedef struct example {
    const char *op, *inputs, *attributes, *outputs;
    int64_t version; /* 0: 17 */
    int n_out;       /* 0: as many as outputs has words, for messages one */
} example;

static int count_words(const char *text)
{
    int n = 1;
    for (; *text; text++) n += *text == ' ';
    return n;
}

static void check_examples(const example *e, size_t n, bool bad)
{
    const tw_infer_options none = {0};
    for (size_t i = 0; i < n; i++) {
        int n_out = e[i].n_out ? e[i].n_out : bad ? 1 : count_words(e[i].outputs);
        tw_text model = one_node(e[i].op, e[i].version ? e[i].version : 17, e[i].inputs, e[i].attributes, n_out),
                out = {0};
        outputs_of(&model, &none, &out);
        if (strcmp(out.bytes, e[i].outputs) != 0) printf("%s(%s) %s\n", e[i].op, e[i].inputs, e[i].attributes);
        CHECK_STR(out.bytes, e[i].outputs);
        tw_text_release(&model);
        tw_text_release(&out);
    }
}
#define CHECK_GOOD(...) CHECK_ALL(false, __VA_ARGS__)
#define CHECK_BAD(...)  CHECK_ALL(true, __VA_ARGS__)
#define CHECK_ALL(bad, ...)                      \
    do {                                         \
        const example all[] = {__VA_ARGS__};     \
        check_examples(all, TW_COUNT(all), bad); \
    } while (0)

/* ---- single nodes ---- */

TEST(windows_slide_over_their_input)
{
    CHECK_GOOD({"Conv", "1x3x8x8 4x3x3x3 4", "", "1x4x6x6"},
               {"Conv", "1x3x8x8 4x3x3x3", "pads=1,1,1,1 strides=2,2", "1x4x4x4"},
               {"Conv", "1x3x8x8 4x3x3x3", "dilations=2,3 kernel_shape=3,3", "1x4x4x2"},
               {"Conv", "2x8x9 8x1x3", "group:8 auto_pad'SAME_UPPER strides=2", "2x8x5"},
               {"Conv", "2x8x9 8x1x3", "group:8 auto_pad'VALID pads=1,1", "2x8x7"},
               {"com.microsoft.FusedConv", "1x3x8x8 4x3x1x1 4 1x4x8x8", "activation'Relu", "1x4x8x8"},
               {"ConvInteger", "uint8:1x1x3x3 int8:1x1x2x2 uint8:scalar", "", "int32:1x1x2x2"},
               {"QLinearConv",
                "uint8:1x1x7x7 scalar uint8:scalar int8:1x1x1x1 scalar int8:scalar scalar uint8:scalar", "",
                "uint8:1x1x7x7"},
               {"ConvTranspose", "1x3x4x4 3x5x3x3", "strides=2,2 pads=1,1,1,1 output_padding=1,1", "1x5x8x8"},
               {"ConvTranspose", "1x4x4 4x1x3", "group:4 strides=3 auto_pad'SAME_LOWER", "1x4x12"},
               {"ConvTranspose", "1x1x3x3 1x2x3x3", "strides=3,2 output_shape=10,8", "1x2x10x8"},
               {"MaxPool", "1x3x7x7", "kernel_shape=3,3 strides=2,2", "1x3x3x3 int64:1x3x3x3"},
               {"MaxPool", "1x3x8x8", "kernel_shape=3,3 strides=2,2 ceil_mode:1", "1x3x4x4"},
               {"AveragePool", "1x1x4", "kernel_shape=1 strides=2 pads=0,1 ceil_mode:1", "1x1x2"},
               {"MaxPool", "1x1x10", "kernel_shape=3 dilations=4", "1x1x2"},
               {"com.microsoft.QLinearAveragePool", "uint8:1x8x8x3 scalar uint8:scalar scalar uint8:scalar",
                "kernel_shape=2,2 strides=2,2 channels_last:1", "uint8:1x4x4x3"},
               {"GlobalAveragePool", "2x64x7x7", "", "2x64x1x1"},
               {"com.microsoft.QLinearGlobalAveragePool", "uint8:1x7x7x9 scalar uint8:scalar scalar uint8:scalar",
                "channels_last:1", "uint8:1x1x1x9"},
               {"MaxUnpool", "1x1x2x2 int64:1x1x2x2", "kernel_shape=2,2 strides=2,2", "1x1x4x4"},
               {"MaxUnpool", "1x1x2x2 int64:1x1x2x2 int64:4=1,1,5,5", "kernel_shape=2,2 strides=2,2", "1x1x5x5"},
               {"Col2Im", "1x5x5 int64:2=5,5 int64:2=1,5", "", "1x1x5x5", 18},
               {"MaxRoiPool", "1x3x8x8 5x5", "pooled_shape=2,3", "5x3x2x3"});
}

TEST(windows_that_do_not_fit_are_refused)
{
    CHECK_BAD({"Conv", "1x3x8x8 4x2x3x3", "", "input is 1x3x8x8, weights are 4x2x3x3: 3 channels against 2"},
              {"Conv", "1x3x2x8 4x3x3x3", "", "kernel reaches 3 elements along spatial axis 0, padded input has 2"},
              {"Conv", "1x3x8x8 4x3x3x3 5", "", "bias is 5, the output has 4 channels"},
              {"Conv", "1x3x8x8 4x3x3", "", "input 1 is 4x3x3, 4 dimensions expected"},
              {"Conv", "3x8 4x3", "", "input 0 is 3x8, at least 3 dimensions expected"},
              {"Conv", "1x3x8x8 4x3x3x3", "strides=2", "attribute 'strides' has 1 numbers, 2 expected"},
              {"Conv", "1x3x8x8 4x3x3x3", "strides=0,1", "attribute 'strides' has a 0, outside 1..2147483647"},
              {"Conv", "1x3x8x8 4x3x3x3", "kernel_shape=3,5",
               "kernel_shape is 5 along spatial axis 1, the weights have 3"},
              {"Conv", "1x4x8x8 3x2x3x3", "group:2", "3 output channels in 2 groups"},
              {"Conv", "1x3x8x8 4x3x3x3", "auto_pad'MORE",
               "auto_pad is 'MORE'; it may be NOTSET, SAME_UPPER, SAME_LOWER or VALID"},
              {"Conv", "1x3x8x8 double:4x3x3x3", "", "input 1 is of type double, float expected"},
              {"Conv", "1x3x8x8", "", "1 inputs are too few"}, {"Conv", "1x3x8x8 - 4", "", "input 1 is left out"},
              {"Conv", "1x3x8x8 4x3x3x3 4 4", "", "4 inputs, at most 3 expected"},
              {"ConvTranspose", "1x3x1x1 3x5x1x1", "pads=1,1,1,1",
               "axis 2 of output 0 would be -1, outside 0..2147483647"},
              {"MaxPool", "1x3x8x8", "", "attribute 'kernel_shape' is missing"});
}

TEST(element_wise_operators_spread_their_inputs)
{
    CHECK_GOOD({"Relu", "int8:2x3", "", "int8:2x3"}, {"Add", "2x1x4 3x1", "", "2x3x4"},
               {"Add", "2x3x4 3", "axis:1", "2x3x4", 6}, {"Add", "scalar 0x3", "", "0x3"},
               {"Pow", "2 int64:2x2", "", "2x2"}, {"Equal", "3 2x1", "", "bool:2x3"},
               {"Where", "bool:2x1 3 scalar", "", "2x3"}, {"Sum", "3 2x1 4x1x1", "", "4x2x3"},
               {"Max", "3", "", "3"}, {"PRelu", "2x3x4 3x1", "", "2x3x4"}, {"Cast", "2x3", "to:7", "int64:2x3"},
               {"Cast", "2x3", "to'BOOL", "bool:2x3", 5}, {"Clip", "2x3 - scalar", "", "2x3"},
               {"Dropout", "2x3", "", "2x3 bool:2x3"}, {"Dropout", "2x3", "", "2x3 2x3", 9},
               {"Softmax", "2x3", "axis:-2", "2x3"}, {"BatchNormalization", "2x3x4 3 3 3 3", "", "2x3x4"},
               {"LayerNormalization", "2x3x4 4 4", "", "2x3x4 2x3x1 2x3x1"},
               {"com.microsoft.SkipLayerNormalization", "2x3x4 2x3x4 4", "", "2x3x4 2x3x1 2x3x1 2x3x4"},
               {"com.microsoft.BiasGelu", "2x3 3", "", "2x3"}, {"QuantizeLinear", "2x3 scalar", "", "uint8:2x3"},
               {"QuantizeLinear", "2x3 scalar int8:scalar", "", "int8:2x3"},
               {"DequantizeLinear", "uint8:2x3 scalar", "", "2x3"},
               {"DynamicQuantizeLinear", "2x3", "", "uint8:2x3 scalar uint8:scalar"},
               {"com.microsoft.QLinearAdd",
                "int8:2x1 scalar int8:scalar int8:3 scalar int8:scalar scalar int8:scalar", "", "int8:2x3"},
               {"com.microsoft.QLinearConcat",
                "scalar uint8:scalar uint8:2x1 scalar uint8:scalar uint8:2x4 scalar uint8:scalar", "axis:1",
                "uint8:2x5"},
               {"com.microsoft.QLinearSigmoid", "uint8:2x3 scalar - scalar", "", "uint8:2x3"},
               {"com.example.Thing", "2x3", "", "?"});
}

TEST(element_wise_operators_refuse_what_does_not_go_together)
{
    CHECK_BAD({"Add", "2x3 4", "", "2x3 and 4 do not go together: 3 against 4"},
              {"Add", "2x3 int64:3", "", "input 1 is of type int64, float expected"},
              {"Where", "2 3 3", "", "input 0 is of type float, bool expected"},
              {"PRelu", "3 2x3", "", "slope 2x3 is larger than the input 3"},
              {"Softmax", "2x3", "axis:2", "axis 2 of a tensor with 2 dimensions"},
              {"BatchNormalization", "2x3x4 4 3 3 3", "", "input 1 is 4, the tensor has 3 channels"},
              {"Cast", "2", "", "attribute 'to' is missing"},
              {"Relu", "2", "", "2 outputs, at most 1 expected", 17, 2},
              {"Add", "2147483647x1x1 2147483647x16", "",
               "output 0 would be 2147483647x2147483647x16, too many elements"},
              {"Abs", "2147483647x2147483647", "",
               "m.onnx: error: input 'a' is 2147483647x2147483647, larger than can be understood"});
}

TEST(products_and_reductions)
{
    CHECK_GOOD(
        {"MatMul", "2x3 3x4", "", "2x4"}, {"MatMul", "3 3x4", "", "4"}, {"MatMul", "2x3 3", "", "2"},
        {"MatMul", "3 3", "", "scalar"}, {"MatMul", "5x1x2x3 7x3x4", "", "5x7x2x4"},
        {"MatMulInteger", "uint8:2x3 int8:3x4", "", "int32:2x4"},
        {"QLinearMatMul", "uint8:2x3 scalar uint8:scalar int8:3x4 scalar int8:scalar scalar uint8:scalar", "",
         "uint8:2x4"},
        {"Gemm", "3x2 4x3 4", "transA:1 transB:1", "2x4"},
        {"com.microsoft.FusedMatMul", "5x3x2 5x3x4", "transA:1", "5x2x4"},
        {"com.microsoft.MatMulIntegerToFloat", "uint8:2x3 int8:3x4 scalar scalar", "", "2x4"},
        {"com.microsoft.DynamicQuantizeMatMul", "2x3 int8:3x4 scalar", "", "2x4"},
        {"com.microsoft.QGemm", "uint8:2x3 scalar uint8:scalar int8:3x4 scalar int8:scalar", "", "2x4"},
        {"Einsum", "2x3 3x4", "equation'ij,jk->ik", "2x4"}, {"Einsum", "2x3", "equation'ij->ji", "3x2"},
        {"Einsum", "5x2x3 5x3x4", "equation'...ij,...jk", "5x2x4"}, {"Einsum", "3 3", "equation'i,i", "scalar"},
        {"ReduceSum", "2x3x4 int64:1=-1", "", "2x3x1"}, {"ReduceMean", "2x3x4", "axes=0,2 keepdims:0", "3"},
        {"ReduceSum", "2x3", "", "1x1"}, {"ReduceSum", "2x3", "noop_with_empty_axes:1", "2x3"},
        {"ReduceSum", "2x3 int64:1", "", "?"}, {"ArgMax", "2x3x4", "axis:1 keepdims:0", "int64:2x4"},
        {"TopK", "2x30 int64:1=5", "", "2x5 int64:2x5"}, {"TopK", "20x30", "k:5 axis:0", "5x30", 9},
        {"CumSum", "2x3 int64:scalar=0", "", "2x3"}, {"Det", "5x3x3", "", "5"},
        {"LSTM", "7x2x5 1x12x5 1x12x3", "hidden_size:3", "7x1x2x3 1x2x3 1x2x3"},
        {"GRU", "2x7x5 2x9x5 2x9x3", "layout:1 direction'bidirectional", "2x7x2x3 2x2x3"},
        {"RNN", "7x2x5 1x3x5 1x3x3", "", "7x1x2x3"},
        {"com.microsoft.DynamicQuantizeLSTM",
         "7x2x5 int8:1x5x12 int8:1x3x12 - - - - - 1x12 int8:1x12 1x12 int8:1x12", "hidden_size:3", "7x1x2x3 1x2x3"},
        {"com.microsoft.Attention", "2x7x8 8x24 24", "num_heads:2", "2x7x8 2x2x2x7x4"},
        {"com.microsoft.MultiHeadAttention", "2x7x8 2x9x8 2x9x6", "num_heads:2", "2x7x6"});
}

TEST(products_and_reductions_that_make_no_sense)
{
    CHECK_BAD({"MatMul", "2x3 4x5", "", "2x3 times 4x5: 3 columns against 4 rows"},
              {"MatMul", "scalar 4x5", "", "input 0 is scalar, at least 1 dimensions expected"},
              {"Gemm", "2x3 3x4 2x5", "", "2x4 and 2x5 do not go together: 4 against 5"},
              {"Gemm", "2x3 3x4 5x2x4", "", "input 2 is 5x2x4, larger than the product"},
              {"ReduceSum", "2x3 int64:1=2", "", "axis 2 of a tensor with 2 dimensions"},
              {"TopK", "2x3 int64:1=5", "", "keeps 5 of 3"},
              {"Einsum", "2x3 4x5", "equation'ij,jk->ik", "an index of the equation is 3 and 4"},
              {"Einsum", "2x3", "equation'ijk->k", "input 0 is 2x3, the equation has another number of indices"},
              {"Einsum", "2x3", "equation'ij->k", "the result of the equation has an index that no input has"},
              {"Einsum", "2x3", "equation'i-j->k", "the equation has characters that are no indices"},
              {"LSTM", "7x2x5 1x9x5 1x12x3", "", "weights have 9 rows, 12 expected"},
              {"GRU", "7x2x5 1x9x5 1x9x3", "direction'bidirectional", "weights for 1 directions, the layer has 2"});
}

TEST(elements_are_laid_out_anew)
{
    CHECK_GOOD({"Reshape", "2x3x4 int64:2=0,-1", "", "2x12"}, {"Reshape", "2x3", "shape=3,2", "3x2", 1},
               {"Reshape", "0x3 int64:2=3,0", "allowzero:1", "3x0"}, {"Reshape", "2x3 int64:2", "", "?"},
               {"Flatten", "2x3x4", "axis:2", "6x4"}, {"Flatten", "2x3", "axis:0", "1x6"},
               {"Squeeze", "1x2x1", "", "2"}, {"Squeeze", "1x2x1 int64:1=-1", "", "1x2"},
               {"Squeeze", "1x2x1", "axes=0", "2x1", 11}, {"Unsqueeze", "2x3 int64:2=0,-1", "", "1x2x3x1"},
               {"Transpose", "2x3x4", "", "4x3x2"}, {"Transpose", "2x3x4", "perm=1,0,2", "3x2x4"},
               {"DepthToSpace", "1x8x2x3", "blocksize:2", "1x2x4x6"},
               {"SpaceToDepth", "1x2x4x6", "blocksize:2", "1x8x2x3"}, {"Concat", "2x3 2x4", "axis:-1", "2x7"},
               {"Split", "7x2 int64:2=3,4", "", "3x2 4x2"}, {"Split", "7x2", "num_outputs:3", "3x2 3x2 1x2", 18},
               {"Split", "6", "", "2 2 2"}, {"Pad", "2x3 int64:4=0,1,2,3", "", "4x7"},
               {"Pad", "4x4", "pads=-1,0,0,2", "3x6", 10}, {"Pad", "2x3 int64:2=1,1 - int64:1=1", "", "2x5", 18},
               {"Tile", "2x3 int64:2=2,1", "", "4x3"}, {"Expand", "3x1 int64:3=2,1,4", "", "2x3x4"},
               {"Resize", "1x1x4x5 - 4=1,1,2,1.5", "", "1x1x8x7"},
               {"Resize", "1x1x4x5 - - int64:4=1,1,3,3", "", "1x1x3x3"},
               {"Resize", "1x1x4x5 4=1,1,2,2", "", "1x1x8x10", 10}, {"Resize", "10 - 1=0.7", "", "7"},
               {"Upsample", "1x1x2x2", "scales~1,1,2,3", "1x1x4x6", 8},
               {"Resize", "1x1x4x8 - - int64:2=8,8", "axes=2,3 keep_aspect_ratio_policy'not_larger", "1x1x4x8", 18},
               {"ConstantOfShape", "int64:2=2,3", "", "2x3"}, {"ConstantOfShape", "int64:0=", "", "scalar"},
               {"Range", "int64:scalar=1 int64:scalar=10 int64:scalar=4", "", "int64:3"},
               {"Range", "scalar=3 scalar=0 scalar=1", "", "0"}, {"Shape", "2x3x4", "start:1", "int64:2"},
               {"Size", "2x3", "", "int64:scalar"}, {"OneHot", "int64:2x3 int64:scalar=9 2", "axis:1", "2x9x3"},
               {"EyeLike", "3x3", "dtype:7", "int64:3x3"}, {"GridSample", "1x3x8x8 1x5x6x2", "", "1x3x5x6"},
               {"RoiAlign", "1x3x8x8 9x4 int64:9", "output_height:2", "9x3x2x1"},
               {"RandomNormal", "", "shape=2,3", "2x3"}, {"Range", "scalar scalar scalar", "", "?"});
}

TEST(layouts_that_do_not_work_out)
{
    CHECK_BAD({"Reshape", "2x3 int64:2=4,-1", "", "2x3 does not fit into 4x?"},
              {"Reshape", "2x3 int64:1=7", "", "2x3 does not fit into 7"},
              {"Reshape", "2x3 int64:3=1,2,0", "", "2x3 does not fit into 1x2x0"},
              {"Reshape", "2x3 int64:2=-1,-1", "", "2x3 does not fit into ?x?"},
              {"Reshape", "2x3 int32:2=3,2", "", "input 1 is of type int32, int64 expected"},
              {"Squeeze", "1x2 int64:1=1", "", "axis 1 of 1x2 is not 1"},
              {"Unsqueeze", "2 int64:2=0,0", "", "axis 0 is given twice"},
              {"Transpose", "2x3", "perm=0,0", "perm is no permutation of 2 axes"},
              {"Concat", "2x3 3x4", "axis:1", "input 1 is 3x4, it cannot follow 2x3 along axis 1"},
              {"Split", "7 int64:2=3,3", "", "the parts do not add up to 7", 17, 2},
              {"Split", "7 int64:3=3,3,1", "", "3 parts are given, there are 2 outputs", 17, 2},
              {"Pad", "2x3 int64:2=0,1", "", "2 pads for 2 axes"},
              {"Tile", "2x3 int64:1=2", "", "1 repeats for 2 axes"},
              {"Resize", "10 - 1=-1", "", "a scale of -1 makes no sense"},
              {"Resize", "10 - 2=1,1", "", "2 scales for 1 axes"},
              {"DepthToSpace", "1x6x2x2", "blocksize:2", "6 channels are no multiple of 4"},
              {"ConstantOfShape", "int64:1=-2", "", "axis 0 of output 0 would be -2, outside 0..2147483647"},
              {"ConstantOfShape", "int64:1=3000000000", "",
               "axis 0 of output 0 would be 3000000000, outside 0..2147483647"},
              {"Range", "scalar=1 scalar=2 scalar=0", "", "from 1 to 2 in steps of 0"});
}

TEST(elements_are_picked_by_position)
{
    CHECK_GOOD({"Slice", "10x4 int64:1=2 int64:1=-1 int64:1=0", "", "7x4"},
               {"Slice", "10 int64:1=-1 int64:1=-9223372036854775807 int64:1=0 int64:1=-3", "", "4"},
               {"Slice", "10x4", "starts=8,1 ends=99,3", "2x2", 9}, {"Slice", "10 int64:1 int64:1=3", "", "?"},
               {"Slice", "10 int64:1=5 int64:1=3", "", "0"}, {"Gather", "5x6 int64:2x3", "axis:1", "5x2x3"},
               {"Gather", "5x6 int64:scalar", "", "6"}, {"GatherElements", "5x6 int64:2x3", "", "2x3"},
               {"GatherND", "5x6x7 int64:3x2", "", "3x7"}, {"GatherND", "2x6x7 int64:2x1", "batch_dims:1", "2x7"},
               {"ScatterElements", "5x6 int64:2x3 2x3", "", "5x6"}, {"ScatterND", "5x6 int64:3x1 3x6", "", "5x6"},
               {"NonZero", "5x6", "", "?"}, {"NonZero", "4=0,1,0,3", "", "int64:1x2"},
               {"Compress", "6 bool:6", "", "?"});
    CHECK_BAD({"Slice", "10 int64:1=0 int64:1=5 int64:1=0 int64:1=0", "", "the step along axis 0 is 0"},
              {"Slice", "10 int64:2=0,1 int64:1=5", "", "2 starts, 1 ends, 0 axes, 0 steps"},
              {"Gather", "5x6 3", "", "input 1 is of type float, int32 or int64 expected"},
              {"GatherND", "5x6 int64:2x3", "", "3 positions behind 0 batch axes of a tensor with 2 dimensions"},
              {"ScatterElements", "5x6 int64:2x3 2x2", "", "indices are 2x3, updates 2x2"});
}

TEST(a_message_names_the_file_the_node_and_where_it_is)
{
    tw_text model = one_node("Add", 17, "2x3 4", "", 1);
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    const tw_shapes *shapes;
    char expected[200];
    CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)model.bytes, model.len, arena, &diag, &file), TW_OK);
    CHECK_EQ(tw_infer_shapes(file, &(tw_infer_options){0}, arena, &diag, &shapes), TW_ERR_INPUT);
    snprintf(expected, sizeof expected,
             "m.onnx: error: node 'n' (Add) at byte %" PRId64 ": 2x3 and 4 do not go together: 3 against 4",
             file->graph[0].node[0].offset);
    CHECK_STR(diag.last, expected);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    tw_text_release(&model);
}

/* ---- inputs get numbers ---- */

static void check_bound(const char *inputs, const tw_infer_options *options, const char *expected)
{
    tw_text model = one_node("Concat", 17, inputs, "axis:0", 1), out = {0};
    outputs_of(&model, options, &out);
    CHECK_STR(out.bytes, expected);
    tw_text_release(&model);
    tw_text_release(&out);
}
#define OPTIONS(...) (&(tw_infer_options){__VA_ARGS__})
#define DIMS(...)                               \
    .dim = (const tw_dim_value[]){__VA_ARGS__}, \
    .n_dims = (int)(sizeof((const tw_dim_value[]){__VA_ARGS__}) / sizeof(tw_dim_value))
#define SHAPES(...)                                 \
    .input = (const tw_input_shape[]){__VA_ARGS__}, \
    .n_inputs = (int)(sizeof((const tw_input_shape[]){__VA_ARGS__}) / sizeof(tw_input_shape))

TEST(symbols_are_bound_by_options)
{
    check_bound("batchx3 batchx3", OPTIONS(DIMS({"batch", 4})), "8x3");
    check_bound("batchx3 batchx3", OPTIONS(SHAPES({"a", 2, {5, 3}})), "10x3");
    check_bound("batchxn batchxn", OPTIONS(DIMS({"n", 7}), SHAPES({"a", 2, {5, -1}})), "10x7");
    check_bound("2x3 2x3", OPTIONS(SHAPES({"a", 2, {5, 3}})), "7x3");
}

TEST(open_dimensions_are_errors_that_say_what_to_do)
{
    check_bound("batchx3xhx?", OPTIONS(0),
                "m.onnx: error: input 'a' has no size for 'batch' (axis 0), 'h' (axis 2), axis 3: say --dim "
                "batch=SIZE --dim h=SIZE or "
                "--input-shape a=?x3x?x? with a size for each ?");
    check_bound("?x3", OPTIONS(0),
                "m.onnx: error: input 'a' has no size for axis 0: say --input-shape a=?x3 with a size for each ?");
    check_bound("nxn", OPTIONS(SHAPES({"a", 2, {-1, -1}})),
                "m.onnx: error: input 'a' has no size for 'n' (axis 0), 'n' (axis 1): say --dim n=SIZE or "
                "--input-shape a=?x? with a size for each ?");
}

TEST(options_that_name_what_is_not_there_are_errors)
{
    check_bound("2x3", OPTIONS(DIMS({"batch", 4})),
                "m.onnx: error: --dim batch: no dimension of the network has this name");
    check_bound("nx3", OPTIONS(DIMS({"n", -4})), "m.onnx: error: --dim n: -4 is outside 0..2147483647");
    check_bound("nx3", OPTIONS(DIMS({"n", 4}, {"n", 5})), "m.onnx: error: --dim n: given as 4 and as 5");
    check_bound("2x3", OPTIONS(SHAPES({"q", 1, {3}})), "m.onnx: note: input 'a'");
    check_bound("2x3", OPTIONS(SHAPES({"a", 1, {3}})),
                "m.onnx: error: --input-shape a: 1 dimensions, the file says 2");
    check_bound("nx3", OPTIONS(DIMS({"n", 4}), SHAPES({"a", 2, {5, 3}})),
                "m.onnx: error: dimension 'n' is 4 and, as axis 0 of input 'a', 5");
    check_bound("nx3 nx3", OPTIONS(SHAPES({"a", 2, {5, 3}}, {"b", 2, {6, 3}})),
                "m.onnx: error: dimension 'n' is 5 and, as axis 0 of input 'b', 6");
}

/* ---- graphs of several nodes ---- */

static tw_text node_of(const char *op, const char *in, const char *out)
{
    tw_text node = {0};
    for (; *in; in++) pb_bytes(&node, 1, in, 1);
    for (; *out; out++) pb_bytes(&node, 2, out, 1);
    pb_text(&node, 4, op);
    return node;
}

static void add_node(tw_text *graph, const char *op, const char *in, const char *attributes, const char *out)
{
    tw_text node = node_of(op, in, out);
    for (const char *at = attributes; *at; at = word_end(at), at += *at == ' ')
        add_attribute(&node, at, (size_t)(word_end(at) - at));
    pb_message(graph, 1, &node);
}

static void add_constant(tw_text *graph, const char *name, const char *text)
{
    tensor t = take_tensor(text);
    tw_text constant = constant_of(name, &t);
    pb_message(graph, 5, &constant);
}

/* A value without a shape when the text is empty. */
static void add_named(tw_text *graph, int field, const char *name, const char *text)
{
    tensor t = take_tensor(text);
    tw_text value = {0};
    pb_text(&value, 1, name);
    if (*text)
        add_value(graph, field, name, &t);
    else
        pb_message(graph, field, &value);
    tw_text_release(&value);
}

static void add_graph(tw_text *node, const char *name, tw_text *graph)
{
    tw_text a = {0};
    pb_text(&a, 1, name);
    pb_message(&a, 6, graph);
    pb_int(&a, 20, 5);
    pb_message(node, 5, &a);
}

typedef struct inferred {
    tw_arena *arena;
    tw_diag diag;
    tw_text model;
    const tw_graph_file *file;
    const tw_shapes *shapes;
    tw_status status;
} inferred;

/* Empties the graph. */
static inferred infer(tw_text *graph, const tw_infer_options *options)
{
    inferred r = {.arena = tw_arena_new(), .model = model_of(graph, 17)};
    CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)r.model.bytes, r.model.len, r.arena, &r.diag, &r.file),
             TW_OK);
    r.status = tw_infer_shapes(r.file, options, r.arena, &r.diag, &r.shapes);
    return r;
}

static void release(inferred *r)
{
    tw_diag_release(&r->diag);
    tw_arena_free(r->arena);
    tw_text_release(&r->model);
}

static void check_shape(const inferred *r, const char *name, const char *expected)
{
    tw_text text = {0};
    CHECK_EQ(r->status, TW_OK);
    for (int v = 0; v < r->file->n_values; v++)
        if (strcmp(r->file->value[v].name, name) == 0) add_shape(&text, &r->shapes->value[v]);
    CHECK_STR(text.bytes ? text.bytes : "not there", expected);
    tw_text_release(&text);
}

TEST(shapes_that_are_computed_from_shapes_are_known)
{
    tw_text graph = {0};
    add_named(&graph, 11, "x", "nx6x4");
    add_constant(&graph, "i", "int64:scalar=0");
    add_constant(&graph, "z", "int64:1=0");
    add_constant(&graph, "m", "int64:1=-1");
    add_node(&graph, "Shape", "x", "", "s");
    add_node(&graph, "Gather", "si", "", "g");
    add_node(&graph, "Unsqueeze", "gz", "", "u");
    add_node(&graph, "Concat", "um", "axis:0", "t");
    add_node(&graph, "Reshape", "xt", "", "y");
    inferred r = infer(&graph, OPTIONS(DIMS({"n", 5})));
    check_shape(&r, "y", "5x24");
    CHECK_EQ(r.shapes->n_unknown, 0);
    for (int v = 0; v < r.file->n_values; v++)
        CHECK_EQ(r.shapes->value[v].constant != NULL, strchr("xy", *r.file->value[v].name) == NULL);
    tw_text text = {0};
    tw_shapes_print(r.shapes, &text);
    CHECK(strstr(text.bytes, "t int64 2\n") && strstr(text.bytes, "y float 5x24\n"));
    tw_text_release(&text);
    release(&r);
}

TEST(what_follows_an_unknown_operator_is_unknown_unless_the_file_says_it)
{
    tw_text graph = {0};
    add_named(&graph, 11, "x", "2x3");
    add_node(&graph, "Mystery", "x", "", "ab");
    add_node(&graph, "Relu", "a", "", "c");
    add_node(&graph, "Relu", "b", "", "d");
    add_named(&graph, 13, "b", "4x4");
    inferred r = infer(&graph, OPTIONS(0));
    check_shape(&r, "c", "?");
    check_shape(&r, "d", "4x4");
    CHECK_EQ(r.shapes->n_unknown, 2);
    release(&r);
}

TEST(declared_shapes_that_contradict_are_listed_and_do_not_count)
{
    tw_text graph = {0};
    add_named(&graph, 11, "x", "nx3");
    add_node(&graph, "Relu", "x", "", "y");
    add_node(&graph, "Relu", "y", "", "z");
    add_named(&graph, 13, "y", "nx4");
    add_named(&graph, 12, "z", "int64:2x?");
    inferred r = infer(&graph, OPTIONS(DIMS({"n", 2})));
    check_shape(&r, "z", "2x3");
    CHECK_EQ(r.shapes->n_stale, 2);
    CHECK_STR(r.shapes->stale[0], "'y': the file says 2x4, it is 2x3");
    CHECK_STR(r.shapes->stale[1], "'z': the file says int64 2x?, it is float 2x3");
    release(&r);
}

TEST(an_input_without_a_shape_needs_the_option)
{
    for (int said = 0; said < 2; said++) {
        tw_text graph = {0};
        add_named(&graph, 11, "x", "");
        add_node(&graph, "Relu", "x", "", "y");
        inferred r = infer(&graph, said ? OPTIONS(SHAPES({"x", 1, {5}})) : OPTIONS(0));
        if (said)
            CHECK(r.status == TW_OK && r.shapes->value[1].known);
        else
            CHECK_STR(r.diag.last,
                      "m.onnx: error: input 'x' has no shape in the file: say --input-shape x=SIZExSIZE...");
        release(&r);
    }
}

/* One branch: y = op(x). */
static tw_text branch_of(const char *op, const char *attributes, const char *result)
{
    tw_text graph = {0};
    add_node(&graph, op, "x", attributes, result);
    pb_text(&graph, 2, "branch");
    add_named(&graph, 12, result, "");
    return graph;
}

/* x 1x4; y = c ? squeeze of axis `axis` : x + x.  condition: "" an input, else a constant. */
static inferred infer_if(const char *condition, const char *then_op, const char *attributes)
{
    tw_text graph = {0}, node = node_of("If", "c", "y");
    tw_text yes = branch_of(then_op, attributes, "p"), no = branch_of("Relu", "", "q");
    add_named(&graph, 11, "x", "1x4");
    if (*condition)
        add_constant(&graph, "c", condition);
    else
        add_named(&graph, 11, "c", "bool:scalar");
    add_graph(&node, "then_branch", &yes);
    add_graph(&node, "else_branch", &no);
    pb_message(&graph, 1, &node);
    return infer(&graph, OPTIONS(0));
}

TEST(both_branches_count_unless_the_condition_is_known)
{
    inferred r = infer_if("", "Abs", "");
    check_shape(&r, "y", "1x4");
    release(&r);
    r = infer_if("", "Flatten", "axis:0");
    check_shape(&r, "y", "1x4");
    release(&r);
    r = infer_if("", "Flatten", "axis:2");
    check_shape(&r, "y", "?");
    release(&r);
    r = infer_if("bool:scalar=1", "Flatten", "axis:2");
    check_shape(&r, "y", "4x1");
    release(&r);
}

TEST(a_branch_that_is_not_taken_may_be_wrong)
{
    inferred r = infer_if("bool:scalar=0", "Transpose", "perm=5,6");
    check_shape(&r, "y", "1x4");
    CHECK_EQ(r.shapes->n_unknown, 0);
    release(&r);
    r = infer_if("", "Transpose", "perm=5,6"); /* not known: the one that can be is taken */
    check_shape(&r, "y", "1x4");
    CHECK_EQ(r.shapes->n_unknown, 0);
    release(&r);
}

/* Body: (i, c, s) -> (c, op(s s), s). */
static inferred infer_loop(const char *op, const char *attributes)
{
    tw_text graph = {0}, body = {0}, node = node_of("Loop", "mta", "yz");
    add_named(&graph, 11, "a", "2x3");
    add_constant(&graph, "m", "int64:scalar=7");
    add_constant(&graph, "t", "bool:scalar=1");
    add_named(&body, 11, "i", "int64:scalar");
    add_named(&body, 11, "c", "bool:scalar");
    add_named(&body, 11, "s", "");
    add_node(&body, "Identity", "c", "", "d");
    add_node(&body, op, "ss", attributes, "u");
    add_node(&body, "Identity", "s", "", "v");
    for (const char *out = "duv"; *out; out++) add_named(&body, 12, (char[]){*out, 0}, "");
    pb_text(&body, 2, "body");
    add_graph(&node, "body", &body);
    pb_message(&graph, 1, &node);
    return infer(&graph, OPTIONS(0));
}

TEST(what_a_loop_carries_is_known_when_its_shape_stays)
{
    inferred r = infer_loop("Add", "");
    check_shape(&r, "y", "2x3");
    check_shape(&r, "z", "7x2x3");
    release(&r);
    r = infer_loop("Concat", "axis:0");
    check_shape(&r, "y", "?");
    check_shape(&r, "z", "?");
    release(&r);
}

TEST(a_scan_takes_one_axis_away_and_puts_it_back)
{
    tw_text graph = {0}, body = {0}, node = node_of("Scan", "ab", "yz");
    add_named(&graph, 11, "a", "4");
    add_named(&graph, 11, "b", "4x6");
    add_named(&body, 11, "s", "");
    add_named(&body, 11, "t", "");
    add_node(&body, "Add", "st", "", "u");
    add_node(&body, "Identity", "u", "", "v");
    add_named(&body, 12, "u", "");
    add_named(&body, 12, "v", "");
    pb_text(&body, 2, "body");
    add_graph(&node, "body", &body);
    add_attribute(&node, "num_scan_inputs:1", 17);
    add_attribute(&node, "scan_input_axes=1", 17);
    add_attribute(&node, "scan_output_axes=-1", 19);
    pb_message(&graph, 1, &node);
    inferred r = infer(&graph, OPTIONS(0));
    check_shape(&r, "y", "4");
    check_shape(&r, "z", "4x6");
    release(&r);
}

TEST(running_out_of_memory_anywhere_is_reported)
{
    tw_text model = one_node("Resize", 17, "1x1x4x5 - 4=1,1,2,1.5", "", 1);
    tw_status status = TW_ERR_NOMEM;
    for (int64_t n = 1; status != TW_OK; n++) {
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {0};
        const tw_graph_file *file;
        const tw_shapes *shapes;
        CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)model.bytes, model.len, arena, &diag, &file), TW_OK);
        tw_arena_fail_at(arena, n);
        status = tw_infer_shapes(file, OPTIONS(0), arena, &diag, &shapes);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        CHECK(n < 1000);
        tw_diag_release(&diag);
        tw_arena_free(arena);
    }
    tw_text_release(&model);
}

/* ---- ONNX's own test data ---- */

#define TESTDATA "/usr/share/libonnx-testdata/data"
typedef struct score {
    int tests, outputs; /* tensors that come out                      */
    int known, by_data; /* shapes without, and with the inputs' elements */
    int skipped;        /* sequences and optionals                    */
} score;

static const tw_constant *read_pb(const char *dir, const char *kind, int i, tw_arena *arena)
{
    char path[600];
    const char *bytes;
    size_t n;
    tw_diag quiet = {.muted = true};
    const tw_constant *out = NULL;
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%d.pb", dir, kind, i);
    if (access(path, R_OK) != 0) return NULL;
    if (tw_file_read(path, (size_t)1 << 26, arena, &quiet, &bytes, &n) != TW_OK) return NULL;
    return tw_constant_parse(path, (const uint8_t *)bytes, n, arena, &quiet, &out) == TW_OK ? out : NULL;
}

/* The test data has bfloat16 as uint16. */
static bool same_shape(const tw_shape_of_value *v, const tw_constant *c)
{
    bool bits = v->type == TW_ONNX_BF16 && c->type == TW_ONNX_U16;
    bool same = (v->type == c->type || bits) && v->n_dims == c->n_dims;
    for (int i = 0; same && i < c->n_dims; i++) same = v->dim[i] == c->dim[i];
    return same;
}

static tw_array array_of(const tw_constant *c, tw_arena *arena, tw_diag *diag)
{
    tw_array a = {.type = c->type, .n_dims = c->n_dims, .n = c->n_elems};
    memcpy(a.dim, c->dim, sizeof a.dim);
    CHECK_EQ(tw_constant_read(c, TESTDATA, arena, diag, &a.data), TW_OK);
    return a;
}

/* Every output that has a shape has that of the expected tensor; returns how many have one. */
static int compare_outputs(const char *dir, const tw_shapes *shapes, tw_arena *arena, score *s)
{
    const tw_graph *g = &shapes->file->graph[0];
    int known = 0;
    s->outputs = s->skipped = 0;
    for (int k = 0; k < g->n_outputs; k++) {
        const tw_value *value = &shapes->file->value[g->output[k]];
        const tw_constant *expected = value->declared.is_tensor ? read_pb(dir, "output", k, arena) : NULL;
        const tw_shape_of_value *v = &shapes->value[g->output[k]];
        s->outputs += expected != NULL;
        s->skipped += expected == NULL;
        if (!expected || !v->known) continue;
        known++;
        if (!same_shape(v, expected)) printf("%s: output %d differs\n", dir, k);
        CHECK(same_shape(v, expected));
    }
    return known;
}

/* What the file declares of outputs is hidden, so that it does not help. */
static void hide_declared(const tw_graph_file *file)
{
    for (int v = 0; v < file->n_values; v++)
        if (file->value[v].node >= 0) ((tw_value *)(uintptr_t)&file->value[v])->declared.n_dims = -1;
}

static void try_data(const char *dir, score *total)
{
    char path[600];
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    CHECK_EQ(tw_graph_open(path, arena, &diag, &file), TW_OK);
    hide_declared(file);
    const tw_graph *g = &file->graph[0];
    tw_array *given = TW_NEW(arena, tw_array, file->n_values + 1);
    tw_input_shape *input = TW_NEW(arena, tw_input_shape, g->n_inputs + 1);
    tw_infer_options options = {.input = input};
    for (int i = 0; i < g->n_inputs; i++) {
        const tw_value *value = &file->value[g->input[i]];
        const tw_constant *c = value->declared.is_tensor ? read_pb(dir, "input", i, arena) : NULL;
        if (!c || c->n_dims != value->declared.n_dims) continue; /* CastLike's data has a rank of its own */
        given[g->input[i]] = array_of(c, arena, &diag);
        input[options.n_inputs] = (tw_input_shape){.name = value->name, .n_dims = c->n_dims};
        memcpy(input[options.n_inputs++].dim, c->dim, sizeof c->dim);
    }
    score s = {0};
    const tw_shapes *shapes;
    for (int data = 0; data < 2; data++) {
        options.given = data ? given : NULL;
        tw_status status = tw_infer_shapes(file, &options, arena, &diag, &shapes);
        if (status != TW_OK) printf("%s: %s\n", dir, diag.last);
        CHECK_EQ(status, TW_OK);
        int known = compare_outputs(dir, shapes, arena, &s);
        if (data)
            total->by_data += known;
        else
            total->known += known;
    }
    if (s.outputs > 0 && getenv("TW_VERBOSE") && shapes->n_unknown > 0)
        printf("%s: %d unknown\n", dir, shapes->n_unknown);
    total->tests++;
    total->outputs += s.outputs;
    total->skipped += s.skipped;
    tw_graph_close(file);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

static score try_folder(const char *folder)
{
    char pattern[200];
    glob_t found;
    score s = {0};
    snprintf(pattern, sizeof pattern, TESTDATA "/%s/*", folder);
    if (glob(pattern, 0, NULL, &found) != 0) return s;
    for (size_t i = 0; i < found.gl_pathc; i++) try_data(found.gl_pathv[i], &s);
    globfree(&found);
    printf("%-18s %4d tests, %4d tensors come out: %4d known by shapes, %4d with elements; %d others\n", folder,
           s.tests, s.outputs, s.known, s.by_data, s.skipped);
    return s;
}

TEST(onnx_test_data_comes_out_in_the_expected_shapes)
{
    if (access(TESTDATA, R_OK) != 0) skip();
    score node = try_folder("node"), simple = try_folder("simple"), op = try_folder("pytorch-operator"),
          converted = try_folder("pytorch-converted");
    CHECK(node.tests > 900 && node.known >= 919 && node.by_data >= 1058);
    CHECK(simple.tests + op.tests + converted.tests > 100);
    CHECK_EQ(op.known, op.outputs);
    CHECK_EQ(converted.known, converted.outputs);
}

/* ---- networks of other people ---- */

static void check_network(const char *path)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    const tw_shapes *shapes;
    CHECK_EQ(tw_graph_open(path, arena, &diag, &file), TW_OK);
    CHECK_EQ(tw_infer_shapes(file, OPTIONS(0), arena, &diag, &shapes), TW_OK);
    CHECK_EQ(shapes->n_stale, 0);
    CHECK_EQ(shapes->n_unknown, 0);
    hide_declared(file);
    CHECK_EQ(tw_infer_shapes(file, OPTIONS(0), arena, &diag, &shapes), TW_OK);
    if (tw_graph_opset(file, "com.example") == 0) CHECK_EQ(shapes->n_unknown, 0);
    tw_graph_close(file);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(networks_of_other_people_infer_completely_and_as_their_files_say)
{
    static const char *const pattern[] = {"zigzag/workload", "stream/*/workload"};
    const char *shared = tw_test_shared();
    size_t n = 0;
    if (!shared) skip();
    for (size_t i = 0; i < TW_COUNT(pattern); i++) {
        char path[600];
        glob_t found;
        snprintf(path, sizeof path, "%s/data/%s/*.onnx", shared, pattern[i]);
        if (glob(path, 0, NULL, &found) != 0) continue;
        for (size_t k = 0; k < found.gl_pathc; k++) check_network(found.gl_pathv[k]);
        n += found.gl_pathc;
        globfree(&found);
    }
    CHECK(n >= 10);
}
