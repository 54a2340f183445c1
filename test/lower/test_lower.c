/* test/lower/test_lower.c - small networks and the steps that they become, as text.
 *
 * A network is written as lines:
 *
 *     x 1x3x8x8                     an input
 *     !w 4x3x3x3                    a constant of zeros; "!w 1=6" has one element of that value; !!w: of bytes
 *     Conv x w -> y pads=1,1,1,1    a node; integers after =, one integer after :, text after ', a float after ~; its
 *                                   domain before a dot
 *     < y                           an output */
#include "core/deadline.h"
#include "lower/lower.h"
#include "model/layers.h"
#include "pb.h"
#include "tw_test.h"

#include <stdio.h>
#include <time.h>

/* ---- building ---- */

static void add_attribute(tw_text *node, const char *word)
{
    tw_text a = {0};
    size_t n = strcspn(word, "=:'~");
    int64_t ints[16];
    int n_ints = 0;
    pb_bytes(&a, 1, word, n);
    const char *at = word + n + 1;
    char *end = NULL;
    if (word[n] == ':') pb_int(&a, 3, atoll(at));
    if (word[n] == '\'') pb_text(&a, 4, at);
    if (word[n] == '~') pb_float(&a, 2, strtof(at, &end));
    for (; word[n] == '=' && *at; at = *end ? end + 1 : end) ints[n_ints++] = strtoll(at, &end, 10);
    for (int i = 0; i < n_ints; i++) pb_int(&a, 8, ints[i]);
    pb_int(&a, 20, word[n] == ':' ? 2 : word[n] == '\'' ? 3 : word[n] == '~' ? 1 : 7);
    pb_message(node, 5, &a);
}

static void add_node(tw_text *graph, char *line)
{
    tw_text node = {0};
    bool output = false;
    char *rest, *word = strtok_r(line, " ", &rest);
    char *dot = strrchr(word, '.');
    pb_text(&node, 4, dot ? dot + 1 : word);
    if (dot) pb_bytes(&node, 7, word, (size_t)(dot - word));
    while ((word = strtok_r(NULL, " ", &rest))) {
        if (strcmp(word, "->") == 0)
            output = true;
        else if (strpbrk(word, "=:'~"))
            add_attribute(&node, word);
        else
            pb_text(&node, output ? 2 : 1, strcmp(word, "-") == 0 ? "" : word);
    }
    pb_message(graph, 1, &node);
}

static int read_dims(const char *text, int64_t *dim)
{
    int n = 0;
    for (char *end; *text && *text != '='; text = *end == 'x' ? end + 1 : end) dim[n++] = strtoll(text, &end, 10);
    return n;
}

static void add_value(tw_text *graph, int field, const char *name, const char *dims)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    int n = dims ? read_dims(dims, dim) : 0;
    tw_text shape = {0}, type = {0}, tensor = {0}, value = {0};
    for (int i = 0; i < n; i++) {
        tw_text d = {0};
        pb_int(&d, 1, dim[i]);
        pb_message(&shape, 1, &d);
    }
    pb_int(&tensor, 1, TW_ONNX_F32);
    if (dims) pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &type);
    pb_message(graph, field, &value);
}

static void add_constant(tw_text *graph, const char *name, const char *dims, tw_onnx_type type)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    int n = read_dims(dims, dim);
    tw_text t = {0};
    tw_arena *arena = tw_arena_new();
    tw_array array;
    CHECK_EQ(tw_array_new(type, n, dim, arena, &array), TW_OK);
    for (int i = 0; i < n; i++) pb_int(&t, 1, dim[i]);
    pb_int(&t, 2, type);
    pb_text(&t, 8, name);
    const char *fill = strchr(dims, '=');
    for (int64_t i = 0; fill && i < array.n; i++) tw_array_set(&array, i, strtod(fill + 1, NULL));
    pb_bytes(&t, 9, array.data, (size_t)(array.n * tw_onnx_type_bytes(type)));
    tw_arena_free(arena);
    pb_message(graph, 5, &t);
}

static void add_line(tw_text *graph, char *line)
{
    char *space = strchr(line, ' ');
    if (strstr(line, "->")) {
        add_node(graph, line);
        return;
    }
    *space = 0;
    if (strncmp(line, "!!", 2) == 0)
        add_constant(graph, line + 2, space + 1, TW_ONNX_U8);
    else if (*line == '!')
        add_constant(graph, line + 1, space + 1, TW_ONNX_F32);
    else if (*line == '<')
        add_value(graph, 12, space + 1, NULL);
    else
        add_value(graph, 11, line, space + 1);
}

static tw_text model_of(const char *lines)
{
    tw_text graph = {0}, model = {0}, opset = {0};
    char *copy = strdup(lines), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")))
        if (*line) add_line(&graph, line);
    free(copy);
    pb_text(&graph, 2, "g");
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, &graph);
    return model;
}

typedef struct net {
    tw_text bytes;
    tw_arena *arena;
    tw_diag diag;
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    tw_status status;
} net;

static net lower(const char *lines, tw_lower_options options)
{
    net n = {.bytes = model_of(lines), .arena = tw_arena_new()};
    tw_infer_options none = {0};
    CHECK_EQ(tw_graph_read("net.onnx", (const uint8_t *)n.bytes.bytes, n.bytes.len, n.arena, &n.diag, &n.file),
             TW_OK);
    CHECK_EQ(tw_infer_shapes(n.file, &none, n.arena, &n.diag, &n.shapes), TW_OK);
    n.status = tw_lower_network(n.shapes, &options, n.arena, &n.diag, &n.lowered);
    return n;
}

static void release(net *n)
{
    tw_diag_release(&n->diag);
    tw_arena_free(n->arena);
    tw_text_release(&n->bytes);
}

static void check_with(const char *lines, tw_lower_options options, const char *expected)
{
    net n = lower(lines, options);
    tw_text text = {0};
    CHECK_EQ(n.status, TW_OK);
    tw_lowered_print(n.lowered, &text);
    CHECK_STR(text.bytes, expected);
    tw_text_release(&text);
    release(&n);
}

static const tw_lower_options usual = {.float_as = TW_N_DTYPES},
                              unfolded = {.no_fold = true, .float_as = TW_N_DTYPES};

static void check(const char *lines, const char *expected) { check_with(lines, usual, expected); }

/* ---- folding ---- */

static const char conv_bn_relu[] =
    "x 1x3x8x8\n!w 4x3x3x3\n!b 4\n!s 4\n!o 4\n!m 4\n!v 4\n"
    "Conv x w b -> c pads=1,1,1,1\nBatchNormalization c s o m v -> n\nRelu n -> y\n< y\n";

TEST(what_follows_a_convolution_is_folded_into_it)
{
    check(conv_bn_relu,
          "Conv_0 [Conv+BatchNormalization+Relu] multiply-add oc=4 oy=8 ox=8 | ic=3 ky=3 kx=3: x, w; held b, s, o, "
          "m, v "
          "-> y; finish $0 = (f32(sum + h0) - h3) * (h1 / sqrt(h4 + 9.999999747378752e-06)); max(f32($0 + h2), 0)\n"
          "folded BatchNormalization_1 [BatchNormalization] into Conv_0\n"
          "folded Relu_2 [Relu] into Conv_0\n"
          "1 steps, 8 tensors, 2 folds, 0 views\n");
}

TEST(without_folding_only_the_bias_stays)
{
    check_with(conv_bn_relu, unfolded,
               "Conv_0 [Conv] multiply-add oc=4 oy=8 ox=8 | ic=3 ky=3 kx=3: x, w; held b -> c; finish sum + h0\n"
               "BatchNormalization_1 [BatchNormalization] map d0=4 d1=64: c; held s, o, m, v -> n; value $0 = (ifm "
               "- h2) * "
               "(h0 / sqrt(h3 + 9.999999747378752e-06)); $0 + h1\n"
               "Relu_2 [Relu] map d0=256: n -> y; value max(ifm, 0)\n"
               "3 steps, 10 tensors, 0 folds, 0 views\n");
}

TEST(a_tensor_times_a_function_of_itself_is_folded)
{
    check("x 1x3x8x8\n!w 4x3x1x1\nConv x w -> c\nSigmoid c -> s\nMul c s -> y\n< y\n",
          "Conv_0 [Conv+Sigmoid+Mul] multiply-add oc=4 oyox=64 | ic=3: x, w -> y; finish $0 = f32(sum); "
          "$0 * f32(sigmoid($0))\n"
          "folded Sigmoid_1 [Sigmoid] into Conv_0\n"
          "folded Mul_2 [Mul] into Conv_0\n"
          "1 steps, 3 tensors, 2 folds, 0 views\n");
}

TEST(nothing_is_folded_past_a_tensor_that_somebody_else_reads)
{
    check("x 1x3x8x8\n!w 4x3x1x1\nConv x w -> c\nRelu c -> y\n< y\n< c\n",
          "Conv_0 [Conv] multiply-add oc=4 oyox=64 | ic=3: x, w -> c\n"
          "Relu_1 [Relu] map d0=256: c -> y; value max(ifm, 0)\n"
          "2 steps, 4 tensors, 0 folds, 0 views\n");
}

TEST(element_wise_chains_are_one_map)
{
    check("a 2x5\nb 2x5\n!c 5\n!six 1=6\nAdd a b -> s\nMul s c -> m\nMin m six -> y\n< y\n",
          "Add_0 [Add+Mul+Min] map d0=2 d1=5: a, b; held c -> y; value min(f32(f32(ifm + w) * h0), 6)\n"
          "folded Mul_1 [Mul] into Add_0\n"
          "folded Min_2 [Min] into Add_0\n"
          "1 steps, 4 tensors, 2 folds, 0 views\n");
}

TEST(channels_that_are_two_loops_take_their_bias_in_a_step_of_its_own)
{
    check("x 1x4x5x5\n!w 6x2x3x3\n!b 6\nConv x w b -> c group:2\nRelu c -> y\n< y\n",
          "Conv_0.sum [Conv] multiply-add g=2 oc=3 oy=3 ox=3 | ic=2 ky=3 kx=3: x, w -> c.sum\n"
          "Conv_0 [Conv+Relu] map c=6 s=9: c.sum; held b -> y; value max(f32(ifm + h0), 0)\n"
          "folded Relu_1 [Relu] into Conv_0\n"
          "2 steps, 5 tensors, 1 folds, 0 views\n");
    check("x 1x4x5x5\n!w 4x1x3x3\n!b 4\nConv x w b -> y group:4\n< y\n",
          "Conv_0 [Conv] multiply-add c=4 oy=3 ox=3 | ky=3 kx=3: x, w; held b -> y; finish sum + h0\n"
          "1 steps, 4 tensors, 0 folds, 0 views\n");
}

/* ---- chains and views ---- */

TEST(softmax_is_four_steps)
{
    check("x 3x5\nSoftmax x -> y\n< y\n",
          "Softmax_0.max [Softmax] max d0=3 | r1=5: x -> y.max\n"
          "Softmax_0.exp [Softmax] map d0=3 d1=5: x, y.max -> y.exp; value exp(ifm - w)\n"
          "Softmax_0.sum [Softmax] add d0=3 | r1=5: y.exp -> y.sum\n"
          "Softmax_0 [Softmax] map d0=3 d1=5: y.exp, y.sum -> y; value ifm / w\n"
          "4 steps, 5 tensors, 0 folds, 0 views\n");
}

TEST(other_shapes_and_contiguous_parts_are_views)
{
    check("x 4x6\nFlatten x -> f\nSplit f -> a b\nRelu b -> y\n< y\n",
          "Relu_2 [Relu] map d0=12: b=x+12 -> y; value max(ifm, 0)\n"
          "1 steps, 3 tensors, 0 folds, 2 views\n");
    check("x 4x6\nSplit x -> a b axis:1\n< b\n",
          "Split_0.1 [Split] map d0=4 d1=3: x -> b; value ifm * 1\n1 steps, 2 tensors, 0 folds, 0 views\n");
}

TEST(a_concatenation_of_many_is_a_tree)
{
    check("a 2x1\nb 2x2\nc 2x1\nd 2x1\ne 2x1\nf 2x1\nConcat a b c d e f -> y axis:1\n< y\n",
          "Concat_0.part0_0 [Concat] map d0=2 d1=6: a, b, c, d, e -> y.part0_0; value ifm + w + in2 + in3 + in4\n"
          "Concat_0 [Concat] map d0=2 d1=7: y.part0_0, f -> y; value ifm + w\n"
          "2 steps, 8 tensors, 0 folds, 0 views\n");
}

TEST(a_function_is_known_by_its_name_whoever_defines_it)
{
    check("x 3x4\n!w 4x5\nMatMul x w -> m\ncom.example.Silu m -> y\n< y\n",
          "MatMul_0 [MatMul+Silu] multiply-add m=3 n=5 | k=4: x, w -> y; finish $0 = f32(sum); $0 * sigmoid($0)\n"
          "folded Silu_1 [Silu] into MatMul_0\n"
          "1 steps, 3 tensors, 1 folds, 0 views\n");
}

TEST(batch_normalisation_in_training_also_moves_its_statistics)
{
    check("x 2x3x4\n!s 3\n!b 3\n!m 3\n!v 3\nBatchNormalization x s b m v -> y rm rv training_mode:1 momentum~0.5\n"
          "< y\n< rm\n< rv\n",
          "BatchNormalization_0.mean [BatchNormalization] average d1=3 | r0=2 r2=4: x -> y.mean\n"
          "BatchNormalization_0.centred [BatchNormalization] map d0=2 d1=3 d2=4: x, y.mean -> y.centred; value ifm "
          "- w\n"
          "BatchNormalization_0.variance [BatchNormalization] add d1=3 | r0=2 r2=4: y.centred -> y.variance; value "
          "ifm * ifm; finish sum / 8\n"
          "BatchNormalization_0.running_mean [BatchNormalization] map d0=3: m, y.mean -> rm; value ifm * 0.5 + w * "
          "0.5\n"
          "BatchNormalization_0.running_variance [BatchNormalization] map d0=3: v, y.variance -> rv; value ifm * "
          "0.5 + w * 0.5\n"
          "BatchNormalization_0 [BatchNormalization] map d0=2 d1=3 d2=4: y.centred, y.variance; held s, b -> y; "
          "value ifm * (h0 / sqrt(w + 9.999999747378752e-06)) + h1\n"
          "6 steps, 11 tensors, 0 folds, 0 views\n");
}

TEST(positions_of_the_largest_are_the_least_places_where_they_lie)
{
    check("x 1x2x4x4\nMaxPool x -> y i kernel_shape=2,2 strides=2,2\n< y\n< i\n",
          "MaxPool_0 [MaxPool] max coy=4 ox=2 | ky=2 kx=2: x -> y\n"
          "MaxPool_0.places [MaxPool] map c=2 oy=2 ox=2 ky=2 kx=2: x, y, y.count; held y.channel -> y.places; "
          "value select(and(present(ifm), equal(ifm, w)), h0 * 16 + in2, 32)\n"
          "MaxPool_0.positions [MaxPool] min d0=8 | r1=4: y.places -> i\n"
          "3 steps, 6 tensors, 0 folds, 0 views\n");
    check("x 3x4\nArgMax x -> y axis:1\n< y\n", "ArgMax_0.best [ArgMax] max d0=3 | r1=4: x -> y.best\n"
                                                "ArgMax_0.places [ArgMax] map d0=3 d1=4: x, y.best; held y.count "
                                                "-> y.places; value select(equal(ifm, w), h0, 4)\n"
                                                "ArgMax_0 [ArgMax] min d0=3 | r1=4: y.places -> y\n"
                                                "3 steps, 5 tensors, 0 folds, 0 views\n");
    check("x 3x4\nArgMin x -> y axis:0 select_last_index:1\n< y\n",
          "ArgMin_0.best [ArgMin] min d1=4 | r0=3: x -> y.best\n"
          "ArgMin_0.places [ArgMin] map d0=3 d1=4: x, y.best; held y.count -> y.places; value select(equal(ifm, "
          "w), h0, -1)\n"
          "ArgMin_0 [ArgMin] max d1=4 | r0=3: y.places -> y\n"
          "3 steps, 5 tensors, 0 folds, 0 views\n");
    check("x 3x4\nHardmax x -> y\n< y\n",
          "Hardmax_0.best [Hardmax] max d0=3 | r1=4: x -> y.best\n"
          "Hardmax_0.places [Hardmax] map d0=3 d1=4: x, y.best; held y.count -> y.places; value select(equal(ifm, "
          "w), h0, 4)\n"
          "Hardmax_0.place [Hardmax] min d0=3 | r1=4: y.places -> y.place\n"
          "Hardmax_0 [Hardmax] map d0=3 d1=4: y.place; held y.count -> y; value equal(ifm, h0)\n"
          "4 steps, 7 tensors, 0 folds, 0 views\n");
}

static bool always(const void *user, const tw_op *apart, int outer, int inner, const tw_op *merged)
{
    (void)user, (void)apart, (void)outer, (void)inner, (void)merged;
    return true;
}

TEST(loops_that_walk_neighbouring_axes_are_one)
{
    check("x 2x8x6x6\n!w 16x8x1x1\nConv x w -> y\n< y\n",
          "Conv_0 [Conv] multiply-add b=2 oc=16 oyox=36 | ic=8: x, w -> y\n"
          "1 steps, 3 tensors, 0 folds, 0 views\n");
    check("x 1x8x4x4\n!w 16x8x4x4\nConv x w -> y\n< y\n",
          "Conv_0 [Conv] multiply-add oc=16 | ickykx=128: x, w -> y\n"
          "1 steps, 3 tensors, 0 folds, 0 views\n");
    /* Unless somebody thinks better of two. */
    check_with("x 1x1x16x16\n!w 1x1x1x1\nConv x w -> y\n< y\n",
               (tw_lower_options){.float_as = TW_N_DTYPES, .judge = {.is_worse = always}},
               "Conv_0 [Conv] multiply-add oy=16 ox=16: x, w -> y\n"
               "1 steps, 3 tensors, 0 folds, 0 views\n");
    check("x 1x1x16x16\n!w 1x1x1x1\nConv x w -> y\n< y\n", "Conv_0 [Conv] multiply-add oyox=256: x, w -> y\n"
                                                           "1 steps, 3 tensors, 0 folds, 0 views\n");
}

TEST(taps_that_meet_only_padding_are_gone)
{
    check("x 1x4x1x5\n!w 3x4x3x3\nConv x w -> y pads=1,1,1,1\n< y\n",
          "constant Conv_0.taps [Conv] map d0d1=12 d3=3: w -> y.taps; value ifm * 1\n"
          "Conv_0 [Conv] multiply-add oc=3 ox=5 | ic=4 kx=3: x, y.taps -> y\n"
          "0 nodes and 1 steps depend on constants alone; the network reads 1 of their results\n"
          "1 steps, 4 tensors, 0 folds, 0 views\n");
    /* Weights that are no constant, and networks in which nothing is folded, keep the rest where it is. */
    check("x 1x4x1x5\nw 3x4x3x3\nConv x w -> y pads=1,1,1,1\n< y\n",
          "Conv_0 [Conv] multiply-add oc=3 ox=5 | ic=4 kx=3: x, w -> y\n"
          "1 steps, 3 tensors, 0 folds, 0 views\n");
    check("x 1x4x1x5\nAveragePool x -> y kernel_shape=3,3 pads=1,1,1,1\n< y\n",
          "AveragePool_0 [AveragePool] average c=4 ox=5 | kx=3: x -> y\n"
          "1 steps, 2 tensors, 0 folds, 0 views\n");
    check("x 1x4x1x5\nAveragePool x -> y kernel_shape=3,3 pads=1,1,1,1 count_include_pad:1\n< y\n",
          "AveragePool_0 [AveragePool] average c=4 ox=5 | ky=3 kx=3: x -> y\n"
          "1 steps, 2 tensors, 0 folds, 0 views\n");
}

TEST(windows_on_blocks_are_reductions)
{
    check("x 1x1x131\n!w 6x1x32\nConv x w -> y strides=16\n< y\n",
          "Conv_0 [Conv] multiply-add oc=6 ox=7 | kx0=2 kx1=16: y.part=x+0, w -> y\n"
          "1 steps, 4 tensors, 0 folds, 0 views\n");
    check("x 1x2x8x8\n!w 32x2x4x4\nConv x w -> y strides=4,4\n< y\n",
          "Conv_0 [Conv] multiply-add oc=32 oy=2 ox=2 | ic=2 ky=4 kx=4: x, w -> y\n"
          "1 steps, 3 tensors, 0 folds, 0 views\n");
}

TEST(running_sums_are_windows_and_triangles_are_maps)
{
    check("x 3x4\n!a 1=1\nCast a -> axis to:7\nCumSum x axis -> y exclusive:1\n< y\n",
          "CumSum_1 [CumSum] add d0=3 d1=4 | k=3: x -> y\n"
          "1 nodes and 0 steps depend on constants alone; the network reads 0 of their results\n"
          "1 steps, 2 tensors, 0 folds, 0 views\n");
    check("x 3x4\nTrilu x -> y upper:0\n< y\n",
          "Trilu_0 [Trilu] map d0=3 d1=4: x; held y.row, y.column -> y; value select(less_equal(h1, h0), ifm, 0)\n"
          "1 steps, 4 tensors, 0 folds, 0 views\n");
}

TEST(what_is_a_constant_or_has_no_elements_needs_no_step)
{
    check("x 3x4\nDropout x -> y mask\n< y\n< mask\n", "0 steps, 4 tensors, 0 folds, 2 views\n");
    check("x 3x4\nEyeLike x -> y\n< y\n", "0 steps, 3 tensors, 0 folds, 1 views\n");
    check("x 0x4\nRelu x -> r\nTranspose r -> y\n< y\n", "0 steps, 2 tensors, 0 folds, 0 views\n");
}

TEST(what_nobody_reads_is_left_out)
{
    check("x 2x3\nRelu x -> a\nExp x -> b\nNeg b -> c\n< a\n",
          "Relu_0 [Relu] map d0=6: x -> a; value max(ifm, 0)\n1 steps, 2 tensors, 0 folds, 0 views\n");
}

static const tw_op *step_called(const tw_lowered *lowered, const char *name)
{
    for (int s = 0; s < lowered->graph.n_ops; s++)
        if (strcmp(lowered->graph.op[s].name, name) == 0) return &lowered->graph.op[s];
    fail_msg("no step '%s'", name);
    return NULL;
}

/* The operator by itself. */
static const char *text_of(const tw_lowered *lowered, const char *name, tw_text *text)
{
    const tw_model *own;
    tw_arena *arena = tw_arena_new();
    int at = (int)(step_called(lowered, name) - lowered->graph.op);
    CHECK_EQ(tw_model_of_op(&lowered->graph, at, "", arena, &own), TW_OK);
    text->len = 0;
    tw_model_print(own, text);
    tw_arena_free(arena);
    return text->bytes;
}

/* Step `first` of direction 0 is the same as all others of that name. */
static void check_steps_alike(const tw_lowered *lowered, const char *node, const char *what, int first,
                              int directions)
{
    char one[64], other[64];
    tw_text a = {0}, b = {0};
    snprintf(one, sizeof one, "%s.%s0_%d", node, what, first);
    for (int t = first; t < 5 * directions; t++) {
        snprintf(other, sizeof other, "%s.%s%d_%d", node, what, t / 5, t % 5);
        CHECK_STR(text_of(lowered, one, &a), text_of(lowered, other, &b));
    }
    tw_text_release(&a);
    tw_text_release(&b);
}

TEST(all_steps_of_an_lstm_are_the_same_models)
{
    static const char *const what[] = {"hr", "gates", "c", "h"};
    net n = lower("x 5x2x3\nh 2x2x4\ns 2x2x4\n!w 2x16x3\n!r 2x16x4\n!b 2x32\n"
                  "LSTM x w r b - h s -> y - c direction'bidirectional hidden_size:4\n< y\n< c\n",
                  usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->graph.n_ops, 2 * (1 + 5 * 4));
    for (size_t i = 0; i < TW_COUNT(what); i++) check_steps_alike(n.lowered, "LSTM_0", what[i], 0, 2);
    release(&n);
}

TEST(an_lstm_of_bytes_quantises_its_state_in_every_step)
{
    static const char *const what[] = {"hr", "gates", "c", "h"};
    net n = lower("x 5x2x3\nh 1x2x4\n!!w 1x3x16\n!!r 1x4x16\n!b 1x32\n!s 1=0.1\n!!z 1=3\n"
                  "com.microsoft.DynamicQuantizeLSTM x w r b - h - - s z s z -> y hidden_size:4\n< y\n",
                  usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->n_undescribed, 0);
    CHECK_EQ(n.lowered->graph.n_ops, 6 + 5 * (6 + 3));
    for (size_t i = 0; i < TW_COUNT(what); i++)
        check_steps_alike(n.lowered, "DynamicQuantizeLSTM_0", what[i], 0, 1);
    release(&n);
}

TEST(a_node_that_nobody_reads_delays_no_step)
{
    check("x 4x4\n!w 4x4\n!s 1=2\nMatMul x w -> a\nMatMul a w -> b\nMul a s -> idle\n< b\n",
          "MatMul_0 [MatMul] multiply-add m=4 n=4 | k=4: x, w -> a\n"
          "MatMul_1 [MatMul] multiply-add m=4 n=4 | k=4: a, w -> b\n"
          "2 steps, 4 tensors, 0 folds, 0 views\n");
}

/* ---- constants ---- */

/* More elements than inference computes with. */
#define WEIGHTS "!w 600x256\n"

TEST(weights_that_are_cut_and_joined_are_weights)
{
    check("x 4x256\n" WEIGHTS "!s 1=0\n!m 1=300\n!e 1=600\n"
          "Cast s -> s1 to:7\nCast m -> m1 to:7\nCast e -> e1 to:7\n"
          "Slice w s1 m1 s1 -> a\nSlice w m1 e1 s1 -> b\nConcat b a -> c axis:0\nTranspose c -> t\n"
          "MatMul x t -> y\n< y\n",
          "constant Concat_5 [Concat] map d1=153600: b=w+76800, a=w+0 -> c; value ifm + w\n"
          "constant Transpose_6 [Transpose] map d0=256 d1=600: c -> t; value ifm * 1\n"
          "MatMul_7 [MatMul] multiply-add m=4 n=600 | k=256: x, t -> y\n"
          "7 nodes and 2 steps depend on constants alone; the network reads 1 of their results\n"
          "1 steps, 7 tensors, 0 folds, 2 views\n");
}

TEST(a_constant_node_shares_no_step_with_one_that_waits_for_data)
{
    check("x 600x256\n" WEIGHTS "Neg w -> a\nAdd a x -> b\nRelu b -> y\n< y\n",
          "constant Neg_0 [Neg] map d0=153600: w -> a; value -ifm\n"
          "Add_1 [Add+Relu] map d0=153600: a, x -> y; value max(f32(ifm + w), 0)\n"
          "folded Relu_2 [Relu] into Add_1\n"
          "1 nodes and 1 steps depend on constants alone; the network reads 1 of their results\n"
          "1 steps, 4 tensors, 1 folds, 0 views\n");
}

TEST(without_folding_constants_are_computed_by_steps)
{
    check_with("x 4\n!a 4=1\n!b 4=2\nMul a b -> c\nAdd x c -> y\n< y\n", unfolded,
               "Mul_0 [Mul] map d0=4: a, b -> c; value ifm * w\n"
               "Add_1 [Add] map d0=4: x, c -> y; value ifm + w\n"
               "2 steps, 5 tensors, 0 folds, 0 views\n");
    check("x 4\n!a 4=1\n!b 4=2\nMul a b -> c\nAdd x c -> y\n< y\n",
          "Add_1 [Add] map d0=4: x, c -> y; value ifm + w\n"
          "1 nodes and 0 steps depend on constants alone; the network reads 1 of their results\n"
          "1 steps, 3 tensors, 0 folds, 0 views\n");
}

TEST(the_product_of_a_zero_state_is_a_constant)
{
    net n = lower("x 3x1x4\n!w 1x16x4\n!r 1x16x4\nLSTM x w r -> y hidden_size:4\n< y\n", usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->constants.n_ops, 1);
    CHECK_STR(n.lowered->constants.op[0].name, "LSTM_0.hr0_0");
    CHECK_EQ(n.lowered->graph.n_ops, 1 + 3 * 4 - 1);
    release(&n);
}

TEST(what_is_random_is_no_constant)
{
    net n = lower("x 600x256\n" WEIGHTS "RandomNormalLike w -> r\nAdd r x -> y\n< y\n", usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->constants.n_ops, 0);
    CHECK_EQ(n.lowered->n_constant_nodes, 0);
    CHECK_EQ(n.lowered->graph.n_ops, 2);
    release(&n);
}

TEST(little_that_becomes_too_much_stays_a_step_and_is_named)
{
    net n = lower("x 1x1\n!w 1x1=3\n!s 2=65536\nCast s -> s1 to:7\nExpand w s1 -> e\n"
                  "ReduceMax e -> m\nAdd m x -> y\n< y\n",
                  usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->constants.n_ops, 0);
    CHECK_EQ(n.lowered->n_too_large, 1);
    CHECK_STR(n.lowered->too_large[0], "Expand_1");
    release(&n);
}

TEST(an_undescribed_operator_on_constants_has_no_time_to_count)
{
    net n = lower("x 4\n!a 300x300=2\nMatMul a a -> b\nDet b -> d\nAdd x d -> y\n< y\n", usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->n_undescribed, 0);
    CHECK_EQ(n.lowered->constants.n_ops, 2);
    CHECK_EQ(n.lowered->graph.n_ops, 1);
    release(&n);
}

/* Shapes may depend on what is given for an input, but work on it is work. */
TEST(an_input_whose_elements_are_given_is_no_constant)
{
    net n = lower("i 3\n" WEIGHTS "Cast i -> j to:7\nGather w j -> g\nNeg g -> y\n< y\n", usual);
    tw_array *given = TW_NEW(n.arena, tw_array, n.file->n_values + 1);
    const int64_t three = 3;
    CHECK_EQ(tw_array_new(TW_ONNX_F32, 1, &three, n.arena, &given[n.file->graph[0].input[0]]), TW_OK);
    tw_infer_options options = {.given = given};
    CHECK_EQ(tw_infer_shapes(n.file, &options, n.arena, &n.diag, &n.shapes), TW_OK);
    CHECK_EQ(tw_lower_network(n.shapes, &usual, n.arena, &n.diag, &n.lowered), TW_OK);
    CHECK_EQ(n.lowered->constants.n_ops, 0);
    CHECK_EQ(n.lowered->n_constant_nodes, 0);
    CHECK_EQ(n.lowered->graph.n_ops, 1);
    release(&n);
}

/* The judge of a run evaluates the node on v, though the step reads another view of the same bytes. */
TEST(what_a_node_reads_is_kept_where_its_step_reads_a_part_of_it)
{
    net n = lower("x 1x1x11\nNeg x -> a\nIdentity a -> v\nMaxPool v -> y kernel_shape=2 strides=4\n< y\n", usual);
    CHECK_EQ(n.status, TW_OK);
    const tw_op *pool = step_called(n.lowered, "MaxPool_2");
    int v = n.file->graph[0].node[2].input[0];
    CHECK(n.lowered->source[pool->operand[0].tensor].value != v);
    CHECK(n.lowered->tensor_of_value[v] >= 0);
    CHECK_EQ(n.lowered->graph.tensor[n.lowered->tensor_of_value[v]].root,
             n.lowered->graph.tensor[pool->operand[0].tensor].root);
    release(&n);
}

/* ---- elements by index ---- */

TEST(rows_by_index_are_moved_one_by_one)
{
    check("x 2x5x8\ni 3x2\nCast i -> j to:7\nGather x j -> g axis:1\nRelu g -> y\n< y\n",
          "Cast_0 [Cast] map d0=6: i -> j; value i64(ifm)\n"
          "Gather_1 [Gather+Relu] map d0=2 d1=6 d2=8: x, j -> y; ifm is 6 of 5 rows by w; value max(ifm, 0)\n"
          "folded Relu_2 [Relu] into Gather_1\n"
          "2 steps, 4 tensors, 1 folds, 0 views\n");
}

TEST(rows_by_index_are_written_into_a_copy)
{
    check("x 4x5x8\ni 3x2\nu 3x8\nCast i -> j to:7\nScatterND x j u -> y\n< y\n",
          "Cast_0 [Cast] map d0=6: i -> j; value i64(ifm)\n"
          "ScatterND_1.rows [ScatterND] multiply-add i=3 | k=2: j, y.strides, y.extents -> y.rows; value "
          "$0 = ifm + select(less(ifm, 0), in2, 0); select(less($0, 0), -60, select(less($0, in2), $0 * w, -60))\n"
          "ScatterND_1.copy [ScatterND] map d0=160: x -> y; value ifm * 1\n"
          "ScatterND_1 [ScatterND] map d1=3 d2=8: u, y.rows -> y; ofm is 3 of 20 rows by w; value ifm * 1\n"
          "4 steps, 8 tensors, 0 folds, 0 views\n");
}

/* What is there is read where it will be written, by the same index. */
TEST(rows_that_are_combined_are_read_and_written)
{
    check("x 5x8\ni 3x1\nu 3x8\nCast i -> j to:7\nScatterND x j u -> y reduction'add\n< y\n",
          "Cast_0 [Cast] map d0=3: i -> j; value i64(ifm)\n"
          "ScatterND_1.copy [ScatterND] map d0=40: x -> y; value ifm * 1\n"
          "ScatterND_1 [ScatterND] map d1=3 d2=8: y, u, j -> y; ifm is 3 of 5 rows by in2; ofm is 3 of 5 rows by "
          "in2; "
          "value ifm + w\n"
          "3 steps, 5 tensors, 0 folds, 0 views\n");
}

/* Rows and columns of the index are the first ones of x: their places are a constant. */
TEST(an_index_for_a_part_of_the_elements_is_described)
{
    net n = lower("x 4x5x6\ni 2x3x2\nCast i -> j to:7\nGatherElements x j -> y axis:1\n< y\n", usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->n_undescribed, 0);
    const tw_op *elements = step_called(n.lowered, "GatherElements_1.elements"), *last = &n.lowered->graph.op[2];
    CHECK_STR(last->name, "GatherElements_1");
    CHECK_EQ(elements->loop[0].extent, 2);
    CHECK_EQ(last->operand[0].rows.extent, 120);
    CHECK_EQ(last->operand[0].rows.count, 12);
    CHECK_EQ(last->operand[0].scattered, 1);
    release(&n);
}

/* ---- what is not described ---- */

TEST(what_is_not_described_is_listed_with_its_reason)
{
    net n = lower("x 4x4\nDet x -> d\nMystery x -> m\nDet x -> e\nNonZero x -> z\n< d\n< m\n< e\n< z\n", usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->n_undescribed, 3);
    CHECK_STR(n.lowered->undescribed[0].op, "Det");
    CHECK_EQ(n.lowered->undescribed[0].n, 2);
    CHECK_EQ(step_called(n.lowered, "Mystery_1")->kind, TW_OP_UNKNOWN);
    CHECK_EQ(step_called(n.lowered, "Det_0")->kind, TW_OP_HOST);
    release(&n);
}

TEST(strictness_makes_it_an_error_at_its_node)
{
    net n = lower("x 4x4\nDet x -> d\n< d\n", (tw_lower_options){.strict = true, .float_as = TW_N_DTYPES});
    CHECK_EQ(n.status, TW_ERR_INPUT);
    CHECK_STR(n.diag.last, "net.onnx: error: node 'Det_0' (Det) at byte 31 is not described: no description");
    release(&n);
}

TEST(floats_can_be_planned_as_another_type)
{
    net n = lower(conv_bn_relu, (tw_lower_options){.float_as = TW_DTYPE_I8});
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->graph.tensor[n.lowered->graph.op[0].operand[0].tensor].dtype, TW_DTYPE_I8);
    CHECK_EQ(n.lowered->graph.op[0].accumulator, TW_DTYPE_I32);
    release(&n);
}

TEST(running_out_of_memory_is_reported_wherever_it_happens)
{
    net n = lower(conv_bn_relu, usual);
    tw_status status = TW_ERR_NOMEM;
    for (int64_t at = 1; status == TW_ERR_NOMEM && at < 10000; at++) {
        tw_arena *arena = tw_arena_new();
        const tw_lowered *lowered;
        tw_arena_fail_at(arena, at);
        status = tw_lower_network(n.shapes, &usual, arena, &n.diag, &lowered);
        tw_arena_free(arena);
    }
    CHECK_EQ(status, TW_OK);
    release(&n);
}

/* ---- networks that somebody made to take long ---- */

static tw_text mysteries(int n)
{
    tw_text lines = {0};
    tw_text_printf(&lines, "x 4x4\n");
    for (int i = 0; i < n; i++) tw_text_printf(&lines, "Mystery%d x -> m%d\n< m%d\n", i, i, i);
    return lines;
}

TEST(a_hundred_thousand_kinds_of_unknown_operators_are_counted_at_once)
{
    const int kinds = tw_test_part(100000);
    tw_text lines = mysteries(kinds);
    clock_t start = clock();
    net n = lower(lines.bytes, usual);
    CHECK_EQ(n.status, TW_OK);
    CHECK_EQ(n.lowered->n_undescribed, kinds);
    CHECK_EQ(n.lowered->undescribed[0].n, 1);
    CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 15); /* comparing each with each took half a minute */
    tw_text_release(&lines);
    release(&n);
}

TEST(too_many_steps_are_refused)
{
    tw_text lines = mysteries(TW_LOWER_MAX_STEPS + 1);
    net n = lower(lines.bytes, usual);
    CHECK_EQ(n.status, TW_ERR_INPUT);
    CHECK_STR(n.diag.last, "net.onnx: error: the network has more than 131072 steps");
    tw_text_release(&lines);
    release(&n);
}

TEST(every_stage_ends_when_time_is_up)
{
    net n = lower(conv_bn_relu, usual);
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    tw_infer_options none = {0};
    tw_deadline over;
    tw_deadline_init(&over, 1e-9, NULL);
    n.diag.deadline = &over;
    CHECK_EQ(tw_graph_read("net.onnx", (const uint8_t *)n.bytes.bytes, n.bytes.len, n.arena, &n.diag, &file),
             TW_STOPPED);
    CHECK_STR(n.diag.last, "net.onnx: stopped: the time limit came before the reading of the network ended");
    CHECK_EQ(tw_infer_shapes(n.file, &none, n.arena, &n.diag, &shapes), TW_STOPPED);
    CHECK_STR(n.diag.last, "net.onnx: stopped: the time limit came before the inference of shapes ended");
    CHECK_EQ(tw_lower_network(n.shapes, &usual, n.arena, &n.diag, &lowered), TW_STOPPED);
    CHECK_STR(n.diag.last, "net.onnx: stopped: the time limit came before the lowering of the network ended");
    release(&n);
}
