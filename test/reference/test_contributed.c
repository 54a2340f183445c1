/* test/reference/test_contributed.c - operators of com.microsoft against combinations of the standard's own operators,
 * which have tests of their own. */
#include "reference/reference.h"
#include "tw_test.h"

#include <math.h>
#include <string.h>

enum { MAX_IN = 12 };
typedef struct bench {
    tw_arena *arena;
    tw_diag diag;
    uint64_t random;
} bench;

static bench begin(void) { return (bench){.arena = tw_arena_new(), .random = tw_test_seed()}; }

static void end(bench *b)
{
    tw_diag_release(&b->diag);
    tw_arena_free(b->arena);
}

#define DIMS(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

/* Values lo..hi in sixteenths (floats) or whole (integers). */
static tw_array *filled(bench *b, tw_onnx_type type, int64_t lo, int64_t hi, int n_dims, const int64_t *dim)
{
    tw_array *a = TW_NEW(b->arena, tw_array, 1);
    CHECK_EQ(tw_array_new(type, n_dims, dim, b->arena, a), TW_OK);
    for (int64_t i = 0; i < a->n; i++) {
        double x = (double)tw_test_pick(&b->random, lo * 16, hi * 16) / 16;
        tw_array_set(a, i, type == TW_ONNX_F32 ? x : floor(x));
    }
    return a;
}

static tw_array *scalar(bench *b, tw_onnx_type type, double x)
{
    tw_array *a = TW_NEW(b->arena, tw_array, 1);
    CHECK_EQ(tw_array_new(type, 0, NULL, b->arena, a), TW_OK);
    tw_array_set(a, 0, x);
    return a;
}

/* Runs a node; `attribute` ends with one without a name. The outputs are in the arena. */
static tw_array *run(bench *b, const char *op, const char *domain, const tw_attribute *attribute, int n_outputs,
                     int n, const tw_array *const *in)
{
    int n_attributes = 0;
    while (attribute && attribute[n_attributes].name) n_attributes++;
    tw_onnx_node node = {
        .name = "n", .op = op, .domain = domain, .n_attributes = n_attributes, .attribute = attribute};
    tw_ref_case c = {.node = &node,
                     .opset = *domain ? 1 : 17,
                     .n_inputs = n,
                     .n_outputs = n_outputs,
                     .input = in,
                     .arena = b->arena,
                     .diag = &b->diag};
    tw_array *out = TW_NEW(b->arena, tw_array, n_outputs);
    tw_status status = tw_ref_run(&c, out);
    if (status != TW_OK) print_error("%s\n", b->diag.last);
    CHECK_EQ(status, TW_OK);
    return out;
}
#define INPUTS(...) \
    (int)(sizeof((const tw_array *[]){__VA_ARGS__}) / sizeof(tw_array *)), (const tw_array *[]) { __VA_ARGS__ }
#define STANDARD(op, attribute, ...)    run(&b, op, "", attribute, 3, INPUTS(__VA_ARGS__))
#define CONTRIBUTED(op, attribute, ...) run(&b, op, "com.microsoft", attribute, 3, INPUTS(__VA_ARGS__))

static void check_near(const tw_array *a, const tw_array *b, double tolerance)
{
    CHECK_EQ(a->type, b->type);
    CHECK_EQ(a->n_dims, b->n_dims);
    for (int i = 0; i < a->n_dims; i++) CHECK_EQ(a->dim[i], b->dim[i]);
    for (int64_t i = 0; i < a->n; i++) CHECK(fabs(tw_array_get(a, i) - tw_array_get(b, i)) <= tolerance);
}

TEST(a_fused_convolution_is_a_convolution_a_sum_and_a_function)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_F32, -2, 2, DIMS(2, 4, 5, 6)),
                   *w = filled(&b, TW_ONNX_F32, -1, 1, DIMS(6, 2, 3, 3));
    const tw_array *bias = filled(&b, TW_ONNX_F32, -1, 1, DIMS(6)),
                   *z = filled(&b, TW_ONNX_F32, -4, 4, DIMS(2, 6, 3, 4));
    tw_attribute group[] = {{.name = "group", .kind = TW_ATTR_INT, .i = 2}, {0}};
    tw_attribute fused[] = {group[0], {.name = "activation", .kind = TW_ATTR_STRING, .s = "Relu"}, {0}};
    tw_array *sum = STANDARD("Add", NULL, STANDARD("Conv", group, x, w, bias), z);
    check_near(CONTRIBUTED("FusedConv", fused, x, w, bias, z), STANDARD("Relu", NULL, sum), 1e-5);
    end(&b);
}

TEST(fused_products_turn_and_scale_their_operands)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_F32, -2, 2, DIMS(5, 3)), *w = filled(&b, TW_ONNX_F32, -2, 2, DIMS(4, 5));
    tw_attribute turned[] = {{.name = "transA", .kind = TW_ATTR_INT, .i = 1},
                             {.name = "transB", .kind = TW_ATTR_INT, .i = 1},
                             {.name = "alpha", .kind = TW_ATTR_FLOAT, .f = 0.5f},
                             {.name = "activation", .kind = TW_ATTR_STRING, .s = "LeakyRelu"},
                             {.name = "activation_alpha", .kind = TW_ATTR_FLOAT, .f = 0.25f},
                             {0}};
    tw_attribute leaky[] = {{.name = "alpha", .kind = TW_ATTR_FLOAT, .f = 0.25f}, {0}};
    tw_array *product = STANDARD("Gemm", turned, x, w);
    check_near(CONTRIBUTED("FusedMatMul", turned, x, w), product, 0);
    check_near(CONTRIBUTED("FusedGemm", turned, x, w), STANDARD("LeakyRelu", leaky, product), 1e-6);
    end(&b);
}

TEST(gelus_add_their_bias_first)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_F32, -4, 4, DIMS(3, 8)), *bias = filled(&b, TW_ONNX_F32, -1, 1, DIMS(8));
    tw_array *sum = STANDARD("Add", NULL, x, bias);
    check_near(CONTRIBUTED("BiasGelu", NULL, x, bias), CONTRIBUTED("Gelu", NULL, sum), 1e-6);
    check_near(CONTRIBUTED("FastGelu", NULL, x, bias), CONTRIBUTED("Gelu", NULL, sum), 1e-3);
    check_near(CONTRIBUTED("QuickGelu", NULL, x), CONTRIBUTED("Gelu", NULL, x), 0.03);
    end(&b);
}

TEST(layer_normalisation_with_a_skip_normalises_the_sum)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_F32, -4, 4, DIMS(2, 3, 8)),
                   *skip = filled(&b, TW_ONNX_F32, -4, 4, DIMS(2, 3, 8));
    const tw_array *gamma = filled(&b, TW_ONNX_F32, 1, 2, DIMS(8)), *beta = filled(&b, TW_ONNX_F32, -1, 1, DIMS(8));
    tw_attribute epsilon[] = {{.name = "epsilon", .kind = TW_ATTR_FLOAT, .f = 1e-5f}, {0}};
    tw_array *sum = STANDARD("Add", NULL, x, skip);
    check_near(CONTRIBUTED("SkipLayerNormalization", epsilon, x, skip, gamma, beta),
               STANDARD("LayerNormalization", epsilon, sum, gamma, beta), 1e-5);
    tw_array *square = STANDARD("Mul", NULL, sum, sum);
    tw_attribute last[] = {{.name = "axes", .kind = TW_ATTR_INTS, .n = 1, .ints = (int64_t[]){-1}}, {0}};
    tw_array *mean = STANDARD("Add", NULL, STANDARD("ReduceMean", last, square), scalar(&b, TW_ONNX_F32, 1e-5f));
    tw_array *expected = STANDARD("Mul", NULL, STANDARD("Div", NULL, sum, STANDARD("Sqrt", NULL, mean)), gamma);
    check_near(CONTRIBUTED("SkipSimplifiedLayerNormalization", epsilon, x, skip, gamma), expected, 1e-5);
    check_near(STANDARD("SimplifiedLayerNormalization", epsilon, sum, gamma), expected, 1e-5);
    end(&b);
}

/* ---- quantised ---- */

typedef struct grid {
    const tw_array *scale, *zero;
} grid;

static grid grid_of(bench *b, double scale, double zero)
{
    return (grid){scalar(b, TW_ONNX_F32, scale), scalar(b, TW_ONNX_U8, zero)};
}

#define REAL(x, g)      STANDARD("DequantizeLinear", NULL, x, (g).scale, (g).zero)
#define QUANTISED(x, g) STANDARD("QuantizeLinear", NULL, x, (g).scale, (g).zero)

TEST(element_wise_operators_on_integers_are_those_on_reals)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_U8, 0, 255, DIMS(2, 3, 4)),
                   *y = filled(&b, TW_ONNX_U8, 0, 255, DIMS(3, 1));
    grid gx = grid_of(&b, 0.03, 100), gy = grid_of(&b, 0.05, 7), gz = grid_of(&b, 0.1, 128);
    check_near(CONTRIBUTED("QLinearAdd", NULL, x, gx.scale, gx.zero, y, gy.scale, gy.zero, gz.scale, gz.zero),
               QUANTISED(STANDARD("Add", NULL, REAL(x, gx), REAL(y, gy)), gz), 1);
    check_near(CONTRIBUTED("QLinearMul", NULL, x, gx.scale, gx.zero, y, gy.scale, gy.zero, gz.scale, gz.zero),
               QUANTISED(STANDARD("Mul", NULL, REAL(x, gx), REAL(y, gy)), gz), 1);
    check_near(CONTRIBUTED("QLinearSigmoid", NULL, x, gx.scale, gx.zero, gz.scale, gz.zero),
               QUANTISED(STANDARD("Sigmoid", NULL, REAL(x, gx)), gz), 1);
    check_near(CONTRIBUTED("QLinearLeakyRelu", NULL, x, gx.scale, gx.zero, gz.scale, gz.zero),
               QUANTISED(STANDARD("LeakyRelu", NULL, REAL(x, gx)), gz), 1);
    end(&b);
}

TEST(parts_on_different_grids_are_joined_on_a_third)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_U8, 0, 255, DIMS(2, 3, 4)),
                   *y = filled(&b, TW_ONNX_U8, 0, 255, DIMS(2, 1, 4));
    grid gx = grid_of(&b, 0.03, 100), gy = grid_of(&b, 0.05, 7), gz = grid_of(&b, 0.1, 128);
    tw_attribute axis[] = {{.name = "axis", .kind = TW_ATTR_INT, .i = 1}, {0}};
    check_near(CONTRIBUTED("QLinearConcat", axis, gz.scale, gz.zero, x, gx.scale, gx.zero, y, gy.scale, gy.zero),
               QUANTISED(STANDARD("Concat", axis, REAL(x, gx), REAL(y, gy)), gz), 1);
    end(&b);
}

TEST(quantised_averages_are_averages_of_reals)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_U8, 0, 255, DIMS(2, 3, 4, 5));
    grid gx = grid_of(&b, 0.03, 100), gz = grid_of(&b, 0.02, 90);
    int64_t two[] = {2, 2}, first[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    tw_attribute kernel[] = {{.name = "kernel_shape", .kind = TW_ATTR_INTS, .n = 2, .ints = two}, {0}};
    tw_attribute last[] = {kernel[0], {.name = "channels_last", .kind = TW_ATTR_INT, .i = 1}, {0}};
    tw_attribute to_last[] = {{.name = "perm", .kind = TW_ATTR_INTS, .n = 4, .ints = first}, {0}};
    tw_attribute from_last[] = {{.name = "perm", .kind = TW_ATTR_INTS, .n = 4, .ints = back}, {0}};
    const tw_array *expected = QUANTISED(STANDARD("AveragePool", kernel, REAL(x, gx)), gz);
    check_near(CONTRIBUTED("QLinearAveragePool", kernel, x, gx.scale, gx.zero, gz.scale, gz.zero), expected, 1);
    const tw_array *moved = STANDARD("Transpose", to_last, x);
    moved = CONTRIBUTED("QLinearAveragePool", last, moved, gx.scale, gx.zero, gz.scale, gz.zero);
    check_near(STANDARD("Transpose", from_last, moved), expected, 1);
    check_near(CONTRIBUTED("QLinearGlobalAveragePool", NULL, x, gx.scale, gx.zero, gz.scale, gz.zero),
               QUANTISED(STANDARD("GlobalAveragePool", NULL, REAL(x, gx)), gz), 1);
    end(&b);
}

TEST(quantised_products_are_products_of_reals)
{
    bench b = begin();
    const tw_array *x = filled(&b, TW_ONNX_U8, 0, 255, DIMS(4, 6)), *w = filled(&b, TW_ONNX_U8, 0, 255, DIMS(6, 5));
    const tw_array *bias = filled(&b, TW_ONNX_F32, -3, 3, DIMS(5)),
                   *whole = filled(&b, TW_ONNX_I32, -900, 900, DIMS(5));
    grid gx = grid_of(&b, 0.03, 100), gw = grid_of(&b, 0.01, 120), gz = grid_of(&b, 0.05, 128);
    const tw_array *real_x = REAL(x, gx), *real_w = REAL(w, gw),
                   *product = STANDARD("MatMul", NULL, real_x, real_w);
    check_near(CONTRIBUTED("MatMulIntegerToFloat", NULL, x, w, gx.scale, gw.scale, gx.zero, gw.zero, bias),
               STANDARD("Add", NULL, product, bias), 1e-4);
    check_near(CONTRIBUTED("DynamicQuantizeMatMul", NULL, real_x, w, gw.scale, gw.zero, bias),
               STANDARD("Add", NULL, product, bias), 0.1);
    const tw_array *offset = scalar(&b, TW_ONNX_F32, 0.03f * 0.01f);
    tw_attribute to_float[] = {{.name = "to", .kind = TW_ATTR_INT, .i = TW_ONNX_F32}, {0}};
    offset = STANDARD("Mul", NULL, STANDARD("Cast", to_float, whole), offset);
    const tw_array *sum = STANDARD("Add", NULL, product, offset);
    check_near(CONTRIBUTED("QGemm", NULL, x, gx.scale, gx.zero, w, gw.scale, gw.zero, whole), sum, 1e-4);
    check_near(CONTRIBUTED("QGemm", NULL, x, gx.scale, gx.zero, w, gw.scale, gw.zero, whole, gz.scale, gz.zero),
               QUANTISED(sum, gz), 1);
    end(&b);
}

TEST(an_lstm_with_quantised_weights_is_near_one_with_reals)
{
    bench b = begin();
    enum { STEPS = 5, ROWS = 2, INS = 3, HIDDEN = 4 };
    const tw_array *x = filled(&b, TW_ONNX_F32, -2, 2, DIMS(STEPS, ROWS, INS)),
                   *bias = filled(&b, TW_ONNX_F32, -1, 1, DIMS(2, 8 * HIDDEN));
    const tw_array *w = filled(&b, TW_ONNX_I8, -127, 127, DIMS(2, INS, 4 * HIDDEN));
    const tw_array *r = filled(&b, TW_ONNX_I8, -127, 127, DIMS(2, HIDDEN, 4 * HIDDEN));
    tw_array *scale = filled(&b, TW_ONNX_F32, 1, 1, DIMS(2)), *zero = filled(&b, TW_ONNX_I8, 3, 3, DIMS(2));
    for (int i = 0; i < 2; i++) tw_array_set(scale, i, 0.01);
    tw_attribute both[] = {{.name = "direction", .kind = TW_ATTR_STRING, .s = "bidirectional"},
                           {.name = "hidden_size", .kind = TW_ATTR_INT, .i = HIDDEN},
                           {0}};
    tw_attribute turn[] = {{.name = "perm", .kind = TW_ATTR_INTS, .n = 3, .ints = (int64_t[]){0, 2, 1}}, {0}};
    grid g = {scalar(&b, TW_ONNX_F32, 0.01), scalar(&b, TW_ONNX_I8, 3)};
    tw_array *expected = STANDARD("LSTM", both, x, STANDARD("Transpose", turn, REAL(w, g)),
                                  STANDARD("Transpose", turn, REAL(r, g)), bias);
    tw_array *got =
        CONTRIBUTED("DynamicQuantizeLSTM", both, x, w, r, bias, NULL, NULL, NULL, NULL, scale, zero, scale, zero);
    for (int i = 0; i < 3; i++) check_near(&got[i], &expected[i], 0.05);
    end(&b);
}

TEST(whole_numbers_wrap_around_and_divide_towards_zero)
{
    bench b = begin();
    tw_array *most = scalar(&b, TW_ONNX_I32, INT32_MAX), *seven = scalar(&b, TW_ONNX_I32, -7),
             *two = scalar(&b, TW_ONNX_I32, 2);
    CHECK_EQ(tw_array_get_int(STANDARD("Add", NULL, most, two), 0), (int64_t)INT32_MIN + 1);
    CHECK_EQ(tw_array_get_int(STANDARD("Div", NULL, seven, two), 0), -3);
    CHECK_EQ(tw_array_get_int(STANDARD("Div", NULL, seven, scalar(&b, TW_ONNX_I32, 0)), 0), 0);
    CHECK_EQ(tw_array_get_int(STANDARD("Mod", NULL, seven, two), 0), 1);
    CHECK_EQ(tw_array_get_int(STANDARD("Pow", NULL, seven, two), 0), 49);
    end(&b);
}

TEST(half_floats_round_once_and_survive_the_round_trip)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float x = tw_f16_to_float((uint16_t)bits), y = tw_bf16_to_float((uint16_t)bits);
        if (x == x) CHECK_EQ(tw_f16_of_float(x), bits);
        if (y == y) CHECK_EQ(tw_bf16_of_float(y), bits);
    }
    bench b = begin();
    tw_array *half = scalar(&b, TW_ONNX_F16, 0);
    tw_array_set(half, 0, 1 + 0x1p-11 + 0x1p-40); /* a float would make it a tie, and that 1 */
    CHECK(tw_array_get(half, 0) == 1 + 0x1p-10);
    tw_array_set(half, 0, -65520);
    CHECK(isinf(tw_array_get(half, 0)));
    end(&b);
}

/* The tap that is no number meets padding in the first row and the first column of the output: there it takes no part. */
TEST(a_weight_that_is_no_number_does_not_meet_padding)
{
    bench b = begin();
    tw_array *x = filled(&b, TW_ONNX_F32, -2, 2, DIMS(2, 3, 4, 5)),
             *w = filled(&b, TW_ONNX_F32, -1, 1, DIMS(2, 3, 3, 3));
    tw_attribute pads[] = {{.name = "pads", .kind = TW_ATTR_INTS, .n = 4, .ints = (int64_t[]){1, 1, 1, 1}}, {0}};
    tw_array_set(w, 9, 0); /* channel 1, tap (0, 0) of the first filter */
    const tw_array *without = STANDARD("Conv", pads, x, w);
    tw_array_set(w, 9, NAN);
    const tw_array *with = STANDARD("Conv", pads, x, w);
    for (int64_t i = 0; i < with->n; i++) {
        bool first_filter = i / 20 % 2 == 0, meets = i / 5 % 4 > 0 && i % 5 > 0;
        if (first_filter && meets)
            CHECK(isnan(tw_array_get(with, i)));
        else
            CHECK(fabs(tw_array_get(with, i) - tw_array_get(without, i)) < 1e-5);
    }
    end(&b);
}
