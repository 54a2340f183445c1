/* test/reference/test_moving.c - operators that move, index and make elements, and graphs in nodes; cases by hand.
 *
 * ONNX's own node tests are in test_nodes.c; here is what they leave out: opsets 18 and 19, contradictions with their
 * exact messages, hostile numbers, and the numbers of the coordinate modes worked out on paper. */
#include "reference/reference.h"
#include "tw_test.h"

#include <math.h>
#include <string.h>

enum { MOST = 8 };

typedef struct bench {
    tw_arena *arena;
    tw_diag diag;
    tw_array in[MOST], out[MOST];
    const tw_array *input[MOST];
    int n_in, n_out;
    tw_attribute attribute[MOST];
    int n_attributes;
    int64_t opset;
} bench;

static bench *bench_new(int64_t opset)
{
    bench *b = calloc(1, sizeof *b);
    *b = (bench){.arena = tw_arena_new(), .opset = opset, .n_out = 1};
    return b;
}

static void bench_free(bench *b)
{
    tw_arena_free(b->arena);
    tw_diag_release(&b->diag);
    free(b);
}

/* "2x3" is two axes, "" a scalar. */
static tw_array array(tw_onnx_type type, const char *shape, const void *data)
{
    tw_array a = {.type = type, .n = 1, .data = data};
    while (*shape) {
        char *end;
        a.dim[a.n_dims] = strtoll(shape, &end, 10);
        a.n *= a.dim[a.n_dims++];
        shape = *end ? end + 1 : end;
    }
    return a;
}

static const void *kept(bench *b, const void *data, size_t n, size_t bytes)
{
    void *copy = tw_arena_alloc(b->arena, n + 1, bytes);
    return n > 0 ? memcpy(copy, data, n * bytes) : copy;
}

static void add(bench *b, tw_onnx_type type, const char *shape, const void *data)
{
    tw_array *a = &b->in[b->n_in];
    *a = array(type, shape, data);
    size_t bytes = type == TW_ONNX_STRING ? sizeof(char *) : (size_t)tw_onnx_type_bytes(type);
    a->data = kept(b, data, type == TW_ONNX_NONE ? 0 : (size_t)a->n, bytes);
    b->input[b->n_in] = type == TW_ONNX_NONE ? NULL : &b->in[b->n_in];
    b->n_in++;
}
static void leave_out(bench *b) { add(b, TW_ONNX_NONE, "", NULL); }
static void attr_int(bench *b, const char *name, int64_t i)
{
    b->attribute[b->n_attributes++] = (tw_attribute){.name = name, .kind = TW_ATTR_INT, .i = i};
}
static void attr_string(bench *b, const char *name, const char *s)
{
    b->attribute[b->n_attributes++] =
        (tw_attribute){.name = name, .kind = TW_ATTR_STRING, .s = s, .s_bytes = strlen(s)};
}
static void attr_ints(bench *b, const char *name, int n, const int64_t *v)
{
    b->attribute[b->n_attributes++] =
        (tw_attribute){.name = name, .kind = TW_ATTR_INTS, .n = n, .ints = kept(b, v, (size_t)n, sizeof *v)};
}

static tw_status run(bench *b, const char *op)
{
    static const tw_graph_file file = {.path = "m.onnx"};
    static const int none[MOST];
    tw_onnx_node node = {.name = "n",
                         .op = op,
                         .domain = "",
                         .offset = 7,
                         .input = none,
                         .output = none,
                         .n_inputs = b->n_in,
                         .n_outputs = b->n_out,
                         .attribute = b->attribute,
                         .n_attributes = b->n_attributes};
    tw_ref_case c = {.file = &file,
                     .node = &node,
                     .opset = b->opset,
                     .n_inputs = b->n_in,
                     .n_outputs = b->n_out,
                     .input = b->input,
                     .arena = b->arena,
                     .diag = &b->diag};
    return tw_ref_run(&c, b->out);
}

static void check_array(const tw_array *got, tw_onnx_type type, const char *shape, const void *data)
{
    tw_array want = array(type, shape, data);
    CHECK_EQ(got->type, type);
    CHECK_EQ(got->n_dims, want.n_dims);
    for (int k = 0; k < want.n_dims; k++) CHECK_EQ(got->dim[k], want.dim[k]);
    for (int64_t i = 0; i < want.n; i++) {
        if (type == TW_ONNX_STRING)
            CHECK_STR(((const char *const *)got->data)[i], ((const char *const *)data)[i]);
        else if (type == TW_ONNX_I64)
            CHECK_EQ(tw_array_get_int(got, i), tw_array_get_int(&want, i));
        else
            CHECK(tw_array_get(got, i) == tw_array_get(&want, i) ||
                  fabs(tw_array_get(got, i) - tw_array_get(&want, i)) < 1e-5);
    }
}

#define F32(shape, ...) \
    TW_ONNX_F32, shape, (const float[]) { __VA_ARGS__ }
#define I64(shape, ...) \
    TW_ONNX_I64, shape, (const int64_t[]) { __VA_ARGS__ }

/* Runs, and frees. */
static void gives(bench *b, const char *op, tw_onnx_type type, const char *shape, const void *data)
{
    CHECK_EQ(run(b, op), TW_OK);
    check_array(&b->out[0], type, shape, data);
    bench_free(b);
}
static void refuses(bench *b, const char *op, tw_status status, const char *message)
{
    CHECK_EQ(run(b, op), status);
    CHECK_STR(b->diag.last, message);
    bench_free(b);
}

/* ---- shapes ---- */

static bench *reshape_of(const int64_t *shape, const char *n)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    bench *b = bench_new(14);
    add(b, TW_ONNX_F32, "2x3", x);
    add(b, TW_ONNX_I64, n, shape);
    return b;
}

TEST(reshape_copies_dims_and_fills_one_in)
{
    gives(reshape_of((int64_t[]){0, -1, 1}, "3"), "Reshape", F32("2x3x1", 1, 2, 3, 4, 5, 6));
    gives(reshape_of((int64_t[]){-1}, "1"), "Reshape", F32("6", 1, 2, 3, 4, 5, 6));
}

TEST(reshapes_that_contradict_themselves_are_refused)
{
    refuses(reshape_of((int64_t[]){-1, -1}, "2"), "Reshape", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Reshape) at byte 7: axes 0 and 1 of the shape are both -1");
    refuses(reshape_of((int64_t[]){-1, 4}, "2"), "Reshape", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Reshape) at byte 7: 6 elements are not a multiple of the 4 beside the -1");
    refuses(reshape_of((int64_t[]){7}, "1"), "Reshape", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Reshape) at byte 7: 6 elements cannot have a shape of 7");
    refuses(reshape_of((int64_t[]){2, 3, 0}, "3"), "Reshape", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Reshape) at byte 7: axis 2 of the shape copies an axis that the input does "
            "not have");
    refuses(reshape_of((int64_t[]){-1, INT64_MAX, INT64_MAX}, "3"), "Reshape", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Reshape) at byte 7: the shape has a dim of 9223372036854775807");
}

TEST(reshape_may_mean_zeros)
{
    bench *b = bench_new(14);
    add(b, F32("0x3", 0));
    add(b, I64("2", 3, 0));
    attr_int(b, "allowzero", 1);
    gives(b, "Reshape", F32("3x0", 0));
}

TEST(only_axes_of_one_element_are_dropped)
{
    bench *b = bench_new(11);
    add(b, F32("1x2x1", 1, 2));
    attr_ints(b, "axes", 1, (int64_t[]){-1});
    gives(b, "Squeeze", F32("1x2", 1, 2));
    b = bench_new(13);
    add(b, F32("1x2x1", 1, 2));
    add(b, I64("1", 1));
    refuses(b, "Squeeze", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Squeeze) at byte 7: axis 1 has 2 elements and cannot be dropped");
}

/* ---- cuts ---- */

/* Position by position. Unlike Python, a start before the tensor is its first element whatever the step. */
static int64_t slice_oracle(int64_t extent, int64_t start, int64_t end, int64_t step, int64_t *out)
{
    int64_t n = 0;
    if (start < 0) start += extent;
    if (end < 0) end += extent;
    if (step > 0 && start < 0) start = 0;
    if (step < 0) start = start < 0 ? 0 : start < extent ? start : extent - 1;
    for (int64_t p = start; step > 0 ? p < end : p > end; p += step)
        if (p >= 0 && p < extent) out[n++] = p;
    return n;
}

static void check_slice(int64_t extent, int64_t start, int64_t end, int64_t step)
{
    static const int64_t x[5] = {0, 1, 2, 3, 4};
    int64_t want[16], n = slice_oracle(extent, start, end, step, want);
    bench *b = bench_new(13);
    add(b, TW_ONNX_I64, "5", x);
    b->in[0].dim[0] = b->in[0].n = extent;
    add(b, I64("1", start));
    add(b, I64("1", end));
    add(b, I64("1", 0));
    add(b, I64("1", step));
    CHECK_EQ(run(b, "Slice"), TW_OK);
    CHECK_EQ(b->out[0].n, n);
    for (int64_t i = 0; i < n; i++) CHECK_EQ(tw_array_get_int(&b->out[0], i), want[i]);
    bench_free(b);
}

TEST(every_slice_of_a_short_axis)
{
    for (int64_t extent = 0; extent <= 5; extent++)
        for (int64_t start = -8; start <= 8; start++)
            for (int64_t end = -8; end <= 8; end++)
                for (int64_t step = -3; step <= 3; step++)
                    if (step != 0) check_slice(extent, start, end, step);
}

TEST(slices_with_the_largest_numbers)
{
    bench *b = bench_new(10);
    add(b, F32("4", 1, 2, 3, 4));
    add(b, I64("1", INT64_MAX));
    add(b, I64("1", INT64_MIN));
    leave_out(b);
    add(b, I64("1", -2));
    gives(b, "Slice", F32("2", 4, 2));
    b = bench_new(10);
    add(b, F32("4", 1, 2, 3, 4));
    add(b, I64("1", -1));
    add(b, I64("1", INT64_MIN));
    leave_out(b);
    add(b, I64("1", INT64_MIN));
    gives(b, "Slice", F32("1", 4));
    b = bench_new(10);
    add(b, F32("4", 1, 2, 3, 4));
    add(b, I64("1", 0));
    add(b, I64("1", 4));
    leave_out(b);
    add(b, I64("1", 0));
    refuses(b, "Slice", TW_ERR_INPUT, "m.onnx: error: node 'n' (Slice) at byte 7: the step of axis 0 is 0");
}

TEST(slice_of_the_first_opset_has_attributes)
{
    bench *b = bench_new(1);
    add(b, F32("2x3", 1, 2, 3, 4, 5, 6));
    attr_ints(b, "starts", 1, (int64_t[]){-2});
    attr_ints(b, "ends", 1, (int64_t[]){1000});
    attr_ints(b, "axes", 1, (int64_t[]){1});
    gives(b, "Slice", F32("2x2", 2, 3, 5, 6));
}

static bench *split_of(int64_t opset)
{
    bench *b = bench_new(opset);
    add(b, F32("5", 1, 2, 3, 4, 5));
    b->n_out = 2;
    if (opset >= 18) attr_int(b, "num_outputs", 2);
    return b;
}

TEST(parts_are_equal_until_the_last_may_be_smaller)
{
    refuses(split_of(13), "Split", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Split) at byte 7: 5 elements cannot be cut into 2 parts");
    bench *b = split_of(18);
    CHECK_EQ(run(b, "Split"), TW_OK);
    check_array(&b->out[0], F32("3", 1, 2, 3));
    check_array(&b->out[1], F32("2", 4, 5));
    bench_free(b);
}

TEST(joined_tensors_agree_in_all_other_axes)
{
    bench *b = bench_new(13);
    add(b, F32("1x2", 1, 2));
    add(b, F32("1x3", 3, 4, 5));
    attr_int(b, "axis", 0);
    refuses(b, "Concat", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Concat) at byte 7: axis 1 of input 1 is 3, of input 0 2");
}

TEST(strings_are_tiled_and_joined_as_anything_else)
{
    const char *x[] = {"a", "b"}, *want[] = {"a", "b", "a", "b"};
    bench *b = bench_new(13);
    add(b, TW_ONNX_STRING, "2", x);
    add(b, I64("1", 2));
    gives(b, "Tile", TW_ONNX_STRING, "4", want);
    b = bench_new(13);
    add(b, TW_ONNX_STRING, "2", x);
    add(b, TW_ONNX_STRING, "2", x);
    attr_int(b, "axis", -1);
    gives(b, "Concat", TW_ONNX_STRING, "4", want);
}

TEST(results_that_are_too_large_are_not_allocated)
{
    bench *b = bench_new(13);
    add(b, F32("1", 1));
    add(b, I64("2", INT64_C(1) << 20, INT64_C(1) << 20));
    refuses(b, "Expand", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Expand) at byte 7: a tensor has more than 2147483648 elements");
}

/* ---- rims ---- */

static bench *pad_of(const char *mode, int64_t lo, int64_t hi)
{
    static const float x[3] = {1, 2, 3};
    bench *b = bench_new(19);
    add(b, TW_ONNX_F32, "3", x);
    add(b, I64("2", lo, hi));
    attr_string(b, "mode", mode);
    return b;
}

TEST(rims_of_every_kind)
{
    gives(pad_of("constant", 1, -1), "Pad", F32("3", 0, 1, 2));
    gives(pad_of("edge", 2, 1), "Pad", F32("6", 1, 1, 1, 2, 3, 3));
    gives(pad_of("reflect", 2, 2), "Pad", F32("7", 3, 2, 1, 2, 3, 2, 1));
    gives(pad_of("reflect", 2, -1), "Pad", F32("4", 3, 2, 1, 2));
    gives(pad_of("wrap", 4, 2), "Pad", F32("9", 3, 1, 2, 3, 1, 2, 3, 1, 2));
}

TEST(no_reflection_is_wider_than_the_tensor)
{
    refuses(pad_of("reflect", 3, 0), "Pad", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Pad) at byte 7: axis 0 of 3 elements cannot be reflected 3 times");
    refuses(pad_of("constant", -2, -2), "Pad", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Pad) at byte 7: axis 0 of 3 elements is padded by -2 and -2");
    refuses(pad_of("constant", INT64_MAX, 1), "Pad", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Pad) at byte 7: axis 0 of 3 elements is padded by 9223372036854775807 and 1");
    refuses(pad_of("mirror", 1, 1), "Pad", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Pad) at byte 7: 'mode' is 'mirror'");
}

TEST(a_rim_of_some_axes_with_a_value)
{
    bench *b = bench_new(18);
    add(b, F32("1x2", 1, 2));
    add(b, I64("2", 1, 0));
    add(b, F32("", 9));
    add(b, I64("1", -1));
    gives(b, "Pad", F32("1x3", 9, 1, 2));
}

TEST(crops_and_pads_around_the_center)
{
    bench *b = bench_new(18);
    add(b, F32("2x4", 1, 2, 3, 4, 5, 6, 7, 8));
    add(b, I64("2", 3, 1));
    gives(b, "CenterCropPad", F32("3x1", 2, 6, 0));
}

/* ---- indices ---- */

TEST(indices_outside_are_refused)
{
    bench *b = bench_new(13);
    add(b, F32("3", 1, 2, 3));
    add(b, I64("2", -3, 3));
    refuses(b, "Gather", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Gather) at byte 7: index 3 of an axis of 3 elements");
    b = bench_new(13);
    add(b, F32("2x2", 1, 2, 3, 4));
    add(b, I64("1x2", 0, -3));
    refuses(b, "GatherND", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (GatherND) at byte 7: index -3 of an axis of 2 elements");
}

static bench *scatter_of(const char *reduction)
{
    bench *b = bench_new(18);
    static const int64_t x[4] = {1, 2, 3, 4}, at[3] = {1, 1, -1}, update[3] = {5, -7, 9};
    add(b, TW_ONNX_I64, "4", x);
    add(b, TW_ONNX_I64, "3", at);
    add(b, TW_ONNX_I64, "3", update);
    attr_string(b, "reduction", reduction);
    return b;
}

TEST(scattered_elements_are_reduced_one_by_one)
{
    gives(scatter_of("none"), "ScatterElements", I64("4", 1, -7, 3, 9));
    gives(scatter_of("add"), "ScatterElements", I64("4", 1, 0, 3, 13));
    gives(scatter_of("mul"), "ScatterElements", I64("4", 1, -70, 3, 36));
    gives(scatter_of("max"), "ScatterElements", I64("4", 1, 5, 3, 9));
    gives(scatter_of("min"), "ScatterElements", I64("4", 1, -7, 3, 4));
    refuses(scatter_of("mean"), "ScatterElements", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (ScatterElements) at byte 7: 'reduction' is 'mean'");
}

TEST(of_equal_elements_the_first_comes_first)
{
    bench *b = bench_new(11);
    add(b, F32("5", -0.0f, 2, 0, 2, -1));
    add(b, I64("1", 4));
    b->n_out = 2;
    CHECK_EQ(run(b, "TopK"), TW_OK);
    check_array(&b->out[0], F32("4", 2, 2, 0, 0));
    check_array(&b->out[1], I64("4", 1, 3, 0, 2));
    bench_free(b);
}

TEST(different_strings_in_order_or_as_they_come)
{
    const char *x[] = {"b", "a", "b", "c"}, *sorted[] = {"a", "b", "c"}, *found[] = {"b", "a", "c"};
    for (int order = 0; order < 2; order++) {
        bench *b = bench_new(11);
        add(b, TW_ONNX_STRING, "4", x);
        attr_int(b, "sorted", order);
        b->n_out = 4;
        CHECK_EQ(run(b, "Unique"), TW_OK);
        check_array(&b->out[0], TW_ONNX_STRING, "3", order ? sorted : found);
        check_array(&b->out[1], TW_ONNX_I64, "3", order ? (int64_t[]){1, 0, 3} : (int64_t[]){0, 1, 3});
        check_array(&b->out[2], TW_ONNX_I64, "4", order ? (int64_t[]){1, 0, 1, 2} : (int64_t[]){0, 1, 0, 2});
        check_array(&b->out[3], TW_ONNX_I64, "3", order ? (int64_t[]){1, 2, 1} : (int64_t[]){2, 1, 1});
        bench_free(b);
    }
}

TEST(one_hot_rows_of_indices_outside_are_off)
{
    bench *b = bench_new(11);
    add(b, I64("3", 1, -1, 3));
    add(b, I64("", 3));
    add(b, F32("2", 5, 8));
    gives(b, "OneHot", F32("3x3", 5, 8, 5, 5, 5, 8, 5, 5, 5));
}

TEST(regions_are_pooled_by_their_largest_pixel)
{
    bench *b = bench_new(1);
    add(b, F32("1x1x3x3", 1, 2, 3, 4, 5, 6, 7, 8, 9));
    add(b, F32("1x5", 0, 1, 0, 2, 2)); /* image, x1 y1 x2 y2 */
    attr_ints(b, "pooled_shape", 2, (int64_t[]){1, 2});
    gives(b, "MaxRoiPool", F32("1x1x1x2", 8, 9));
}

/* ---- made ---- */

TEST(ranges_do_not_overflow)
{
    bench *b = bench_new(11);
    add(b, I64("", INT64_MAX - 1));
    add(b, I64("", INT64_MIN));
    add(b, I64("", INT64_MIN));
    gives(b, "Range", I64("2", INT64_MAX - 1, -2));
    b = bench_new(11);
    add(b, I64("", INT64_MIN));
    add(b, I64("", INT64_MAX));
    add(b, I64("", 1));
    refuses(b, "Range", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Range) at byte 7: a tensor has more than 2147483648 elements");
    b = bench_new(11);
    add(b, F32("", 0));
    add(b, F32("", 1));
    add(b, F32("", 0));
    refuses(b, "Range", TW_ERR_INPUT, "m.onnx: error: node 'n' (Range) at byte 7: the step is 0");
}

static bench *cast_of(tw_onnx_type type, const void *x, int64_t to)
{
    bench *b = bench_new(13);
    add(b, type, "3", x);
    attr_int(b, "to", to);
    return b;
}

TEST(casts_truncate_wrap_and_round)
{
    const float x[3] = {-1.5f, 300.75f, NAN};
    gives(cast_of(TW_ONNX_F32, x, TW_ONNX_U8), "Cast", TW_ONNX_U8, "3", (uint8_t[]){255, 44, 0});
    gives(cast_of(TW_ONNX_F32, x, TW_ONNX_I64), "Cast", I64("3", -1, 300, 0));
    gives(cast_of(TW_ONNX_F32, x, TW_ONNX_BOOL), "Cast", TW_ONNX_BOOL, "3", (uint8_t[]){1, 1, 1});
    gives(cast_of(TW_ONNX_F32, x, TW_ONNX_STRING), "Cast", TW_ONNX_STRING, "3",
          (const char *[]){"-1.5", "300.75", "NaN"});
    const int64_t whole[3] = {-2, 256, 0};
    gives(cast_of(TW_ONNX_I64, whole, TW_ONNX_BOOL), "Cast", TW_ONNX_BOOL, "3", (uint8_t[]){1, 1, 0});
    gives(cast_of(TW_ONNX_I64, whole, TW_ONNX_F16), "Cast", TW_ONNX_F16, "3", (uint16_t[]){0xc000, 0x5c00, 0});
    const uint64_t large[3] = {UINT64_MAX, 0, 1};
    gives(cast_of(TW_ONNX_U64, large, TW_ONNX_F32), "Cast", F32("3", 18446744073709551616.0f, 0, 1));
    gives(cast_of(TW_ONNX_U64, large, TW_ONNX_STRING), "Cast", TW_ONNX_STRING, "3",
          (const char *[]){"18446744073709551615", "0", "1"});
}

TEST(texts_that_are_no_numbers_are_refused)
{
    const char *x[3] = {"1", "-2.5e1", "12x"};
    refuses(cast_of(TW_ONNX_STRING, x, TW_ONNX_F32), "Cast", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Cast) at byte 7: '12x' is not a number of type float");
    x[2] = "INF";
    gives(cast_of(TW_ONNX_STRING, x, TW_ONNX_F16), "Cast", TW_ONNX_F16, "3", (uint16_t[]){0x3c00, 0xce40, 0x7c00});
}

TEST(columns_are_added_where_blocks_overlap)
{
    bench *b = bench_new(18);
    add(b, F32("1x2x2", 1, 2, 10, 20)); /* taps 0 and 1 of two blocks in an image of 1 x 3 */
    add(b, I64("2", 1, 3));
    add(b, I64("2", 1, 2));
    gives(b, "Col2Im", F32("1x1x1x3", 1, 12, 20));
}

/* ---- Resize: 1 2 3 4 at places worked out on paper ---- */

static bench *resize_of(const char *mode, const char *places, float scale, int64_t size)
{
    static const float x[4] = {1, 2, 3, 4}, roi[2] = {0.5f, 1.5f};
    bench *b = bench_new(19);
    add(b, TW_ONNX_F32, "4", x);
    add(b, TW_ONNX_F32, "2", roi);
    if (size == 0)
        add(b, F32("1", scale));
    else
        leave_out(b);
    if (size > 0) add(b, I64("1", size));
    attr_string(b, "mode", mode);
    attr_string(b, "coordinate_transformation_mode", places);
    return b;
}

TEST(places_of_every_coordinate_mode)
{
    gives(resize_of("linear", "half_pixel", 2, 0), "Resize",
          F32("8", 1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4));
    gives(resize_of("linear", "half_pixel", 0, 1), "Resize", F32("1", 2.5f));
    gives(resize_of("linear", "pytorch_half_pixel", 0, 1), "Resize", F32("1", 1));
    gives(resize_of("linear", "asymmetric", 2, 0), "Resize", F32("8", 1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4));
    gives(resize_of("linear", "align_corners", 0, 7), "Resize", F32("7", 1, 1.5f, 2, 2.5f, 3, 3.5f, 4));
    gives(resize_of("linear", "half_pixel_symmetric", 0.7f, 0), "Resize", F32("2", 1.785714f, 3.214286f));
    gives(resize_of("nearest", "tf_half_pixel_for_nn", 0, 2), "Resize", F32("2", 2, 4)); /* 1 and 3 */
    bench *b = resize_of("linear", "tf_crop_and_resize", 0, 3);                          /* 1.5, 3, 4.5 */
    b->attribute[b->n_attributes++] = (tw_attribute){.name = "extrapolation_value", .kind = TW_ATTR_FLOAT, .f = 10};
    gives(b, "Resize", F32("3", 2.5f, 4, 10));
}

static bench *nearest_of(const char *rounding)
{
    bench *b = resize_of("nearest", "asymmetric", 2, 0); /* 0, 0.5, 1, 1.5, ... */
    attr_string(b, "nearest_mode", rounding);
    return b;
}

TEST(halves_go_where_the_nearest_mode_says)
{
    gives(nearest_of("round_prefer_floor"), "Resize", F32("8", 1, 1, 2, 2, 3, 3, 4, 4));
    gives(nearest_of("round_prefer_ceil"), "Resize", F32("8", 1, 2, 2, 3, 3, 4, 4, 4));
    gives(nearest_of("floor"), "Resize", F32("8", 1, 1, 2, 2, 3, 3, 4, 4));
    gives(nearest_of("ceil"), "Resize", F32("8", 1, 2, 2, 3, 3, 4, 4, 4));
}

/* Half the size: taps at 1/4 and 3/4 of a filter of twice the reach weigh 3/8 and 1/8; the rim repeats, or is left out. */
TEST(a_stretched_filter_sees_all_elements)
{
    bench *b = resize_of("linear", "half_pixel", 0.5f, 0);
    attr_int(b, "antialias", 1);
    gives(b, "Resize", F32("2", 1.625f, 3.375f));
    b = resize_of("linear", "half_pixel", 0.5f, 0);
    attr_int(b, "antialias", 1);
    attr_int(b, "exclude_outside", 1);
    gives(b, "Resize", F32("2", 12.0f / 7, 23.0f / 7));
}

static bench *aspect_of(const char *policy)
{
    bench *b = bench_new(18);
    add(b, F32("1x2x4", 1, 2, 3, 4, 5, 6, 7, 8));
    leave_out(b);
    leave_out(b);
    add(b, I64("2", 4, 4));
    attr_ints(b, "axes", 2, (int64_t[]){1, -1});
    attr_string(b, "keep_aspect_ratio_policy", policy);
    return b;
}

TEST(one_scale_keeps_the_aspect)
{
    gives(aspect_of("not_larger"), "Resize", F32("1x2x4", 1, 2, 3, 4, 5, 6, 7, 8));
    gives(aspect_of("not_smaller"), "Resize",
          F32("1x4x8", 1, 1, 2, 2, 3, 3, 4, 4, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 5, 5, 6, 6, 7, 7, 8,
              8));
}

TEST(old_resizes_floor)
{
    const char *x[] = {"a", "b"}, *want[] = {"a", "a", "b"};
    bench *b = bench_new(10);
    add(b, TW_ONNX_STRING, "2", x);
    add(b, F32("1", 1.5f));
    gives(b, "Resize", TW_ONNX_STRING, "3", want);
    b = bench_new(7);
    add(b, F32("2", 1, 3));
    attr_string(b, "mode", "linear");
    b->attribute[b->n_attributes++] =
        (tw_attribute){.name = "scales", .kind = TW_ATTR_FLOATS, .n = 1, .floats = (float[]){2}};
    gives(b, "Upsample", F32("4", 1, 2, 3, 3));
}

TEST(resizes_without_a_size_are_refused)
{
    bench *b = resize_of("linear", "half_pixel", 2, 0);
    b->n_in = 2;
    refuses(b, "Resize", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Resize) at byte 7: there are neither scales nor sizes");
    refuses(resize_of("linear", "half_pixel", -1, 0), "Resize", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Resize) at byte 7: the scale of axis 0 is -1");
    refuses(resize_of("linear", "half_pixels", 2, 0), "Resize", TW_ERR_INPUT,
            "m.onnx: error: node 'n' (Resize) at byte 7: 'coordinate_transformation_mode' is 'half_pixels'");
}
