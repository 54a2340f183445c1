/* test/lower/test_images.c - Resize of small images, all of it drawn at random: described, and the same as the evaluator has it. The
 * evaluator is held against onnxruntime by `make onnx-random`. */
#include "lower/lower.h"
#include "pb.h"
#include "steps_run.h"
#include "tw_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const modes[] = {"nearest", "nearest", "linear", "cubic"};
static const char *const places[] = {"half_pixel",        "pytorch_half_pixel",   "align_corners",
                                     "asymmetric",        "tf_half_pixel_for_nn", "half_pixel_symmetric",
                                     "tf_crop_and_resize"};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
static const tw_onnx_type types[] = {TW_ONNX_F32, TW_ONNX_U8, TW_ONNX_I8, TW_ONNX_I32, TW_ONNX_F64};

typedef struct image {
    const char *mode, *place, *rounding;
    tw_onnx_type type;
    int64_t in[3], out[3];
    bool listed; /* sizes are those of the last two axes alone */
    float region[6];
    int exclude, antialias;
} image;

#define PICK(rng, list) (list)[tw_test_pick((rng), 0, (int64_t)TW_COUNT(list) - 1)]

static image draw(uint64_t *rng)
{
    image m = {PICK(rng, modes), PICK(rng, places), PICK(rng, roundings), PICK(rng, types)};
    m.listed = tw_test_pick(rng, 0, 1);
    for (int d = 0; d < 3; d++) {
        m.in[d] = tw_test_pick(rng, 1, d == 0 ? 2 : 9);
        m.out[d] = d == 0 ? m.in[d] : tw_test_pick(rng, 1, tw_test_pick(rng, 0, 5) == 0 ? 40 : 12);
        m.region[d] = d == 0 ? 0 : (float)tw_test_pick(rng, -1, 3) * 0.2f;
        m.region[3 + d] = d == 0 ? 1 : m.region[d] + (float)tw_test_pick(rng, 1, 6) * 0.25f;
    }
    m.exclude = strcmp(m.mode, "cubic") == 0 && tw_test_pick(rng, 0, 2) == 0;
    m.antialias = strcmp(m.mode, "nearest") != 0 && tw_test_pick(rng, 0, 4) == 0;
    return m;
}

/* ---- the model ---- */

static void add_attribute(tw_text *node, const char *name, int kind, const char *text, int64_t i, float f)
{
    tw_text a = {0};
    pb_text(&a, 1, name);
    if (kind == TW_ATTR_FLOAT) pb_float(&a, 2, f);
    if (kind == TW_ATTR_INT) pb_int(&a, 3, i);
    if (kind == TW_ATTR_STRING) pb_text(&a, 4, text);
    if (kind == TW_ATTR_INTS) pb_int(&a, 8, 1);
    if (kind == TW_ATTR_INTS) pb_int(&a, 8, 2);
    pb_int(&a, 20, kind);
    pb_message(node, 5, &a);
}

static void add_constant(tw_text *graph, const char *name, tw_onnx_type type, int64_t n, const void *data,
                         size_t bytes)
{
    tw_text t = {0};
    pb_int(&t, 1, n);
    pb_int(&t, 2, type);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, data, bytes);
    pb_message(graph, 5, &t);
}

static void add_value(tw_text *graph, int field, const char *name, tw_onnx_type type, const int64_t *extent)
{
    tw_text shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    for (int d = 0; d < 3; d++) {
        tw_text dim = {0};
        pb_int(&dim, 1, extent[d]);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, type);
    pb_message(&tensor, 2, &shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
}

static tw_text model_of(const image *m)
{
    tw_text model = {0}, graph = {0}, node = {0}, opset = {0};
    const char *input[] = {"x", "region", "", "sizes"};
    int n = m->listed ? 2 : 3, from = 3 - n;
    float region[6];
    for (int i = 0; i < n; i++) {
        region[i] = m->region[from + i];
        region[n + i] = m->region[3 + from + i];
    }
    for (int i = 0; i < 4; i++) pb_text(&node, 1, input[i]);
    pb_text(&node, 2, "y");
    pb_text(&node, 4, "Resize");
    add_attribute(&node, "mode", TW_ATTR_STRING, m->mode, 0, 0);
    add_attribute(&node, "coordinate_transformation_mode", TW_ATTR_STRING, m->place, 0, 0);
    add_attribute(&node, "nearest_mode", TW_ATTR_STRING, m->rounding, 0, 0);
    add_attribute(&node, "exclude_outside", TW_ATTR_INT, NULL, m->exclude, 0);
    add_attribute(&node, "antialias", TW_ATTR_INT, NULL, m->antialias, 0);
    add_attribute(&node, "extrapolation_value", TW_ATTR_FLOAT, NULL, 0, 5.5f);
    if (m->listed) add_attribute(&node, "axes", TW_ATTR_INTS, NULL, 0, 0);
    pb_message(&graph, 1, &node);
    add_constant(&graph, "region", TW_ONNX_F32, 2 * n, region, (size_t)(2 * n) * sizeof *region);
    add_constant(&graph, "sizes", TW_ONNX_I64, n, &m->out[from], (size_t)n * sizeof *m->out);
    add_value(&graph, 11, "x", m->type, m->in);
    add_value(&graph, 12, "y", m->type, m->out);
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 19);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, &graph);
    return model;
}

/* ---- both ways ---- */

static bool is_same(const tw_array *a, const tw_array *b)
{
    if (a->n != b->n || a->type != b->type) return false;
    for (int64_t i = 0; i < a->n; i++)
        if (fabs(tw_array_get(a, i) - tw_array_get(b, i)) > (a->type == TW_ONNX_F32 ? 2e-5 : 1e-9) * 100)
            return false;
    return true;
}

static void check_image(const image *m, uint64_t *rng, int64_t number)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_text model = model_of(m);
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    tw_infer_options none = {0};
    tw_lower_options how = {.float_as = TW_N_DTYPES};
    tw_array x;
    CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)model.bytes, model.len, arena, &diag, &file), TW_OK);
    CHECK_EQ(tw_infer_shapes(file, &none, arena, &diag, &shapes), TW_OK);
    CHECK_EQ(tw_lower_network(shapes, &how, arena, &diag, &lowered), TW_OK);
    CHECK_EQ(tw_array_new(m->type, 3, m->in, arena, &x), TW_OK);
    /* Areas of one number, whose weighed sums are that number, and others. */
    for (int64_t i = 0; i < x.n; i++)
        tw_array_set(&x, i, (double)(tw_test_pick(rng, 0, 1) ? 99 : tw_test_pick(rng, 0, 99)));
    tw_array *value = TW_NEW(arena, tw_array, file->n_values + 1);
    value[file->graph[0].input[0]] = x;
    CHECK_EQ(tw_ref_graph(file, 0, arena, &diag, value), TW_OK);
    steps_run r = steps_run_of(lowered, arena, &diag);
    steps_give(&r, file->graph[0].input[0], &x);
    tw_status status = steps_run_all(&r);
    tw_array y = steps_tensor(&r, lowered->tensor_of_value[file->graph[0].output[0]]);
    bool good = status == TW_OK && lowered->n_undescribed == 0 && is_same(&y, &value[file->graph[0].output[0]]);
    if (!good)
        print_error("TW_SEED=%" PRIu64 " image %" PRId64 ": %s %s %s of type %d%s%s%s\n", tw_test_seed(), number,
                    m->mode, m->place, m->rounding, (int)m->type, lowered->n_undescribed > 0 ? ": " : "",
                    lowered->n_undescribed > 0 ? lowered->undescribed[0].why : "", diag.last ? diag.last : "");
    CHECK(good);
    tw_diag_release(&diag);
    tw_text_release(&model);
    tw_arena_free(arena);
}

TEST(every_image_is_described_and_is_what_the_evaluator_makes_of_it)
{
    uint64_t rng = tw_test_seed();
    for (int64_t i = 0; i < 600; i++) {
        image m = draw(&rng);
        check_image(&m, &rng, i);
    }
}
