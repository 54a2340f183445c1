/* test/lower/test_nearest.c - nearest elements of all coordinate modes and roundings against onnxruntime: test/reference/resize.txt has
 * its answers (tools/ort/resize.mjs wrote them), and both the evaluator and the description have to take the same elements. */
#include "lower/lower.h"
#include "pb.h"
#include "steps_run.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

typedef struct line {
    char coordinates[40], nearest[40], kind[10];
    int64_t n;
    double value; /* the scale, or the size */
    int64_t n_out, taken[64];
} line;

static bool read_line(FILE *file, line *l)
{
    int more = 1, at;
    if (fscanf(file, "%39s %39s %" SCNd64 " %9s %lf:", l->coordinates, l->nearest, &l->n, l->kind, &l->value) != 5)
        return false;
    for (l->n_out = 0; more == 1 && l->n_out < 64;) {
        at = fgetc(file);
        if (at == '\n' || at == EOF) break;
        more = fscanf(file, "%" SCNd64, &l->taken[l->n_out]);
        l->n_out += more == 1;
    }
    return true;
}

/* ---- the model ---- */

static void add_text_attribute(tw_text *node, const char *name, const char *text)
{
    tw_text a = {0};
    pb_text(&a, 1, name);
    pb_text(&a, 4, text);
    pb_int(&a, 20, TW_ATTR_STRING);
    pb_message(node, 5, &a);
}

static void add_constant(tw_text *graph, const char *name, tw_onnx_type type, const void *data, size_t bytes)
{
    tw_text t = {0};
    pb_int(&t, 1, 1);
    pb_int(&t, 2, type);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, data, bytes);
    pb_message(graph, 5, &t);
}

static void add_value(tw_text *graph, int field, const char *name, int64_t n)
{
    tw_text dim = {0}, shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    pb_int(&dim, 1, n);
    if (n > 0) pb_message(&shape, 1, &dim);
    pb_int(&tensor, 1, TW_ONNX_I32);
    if (n > 0) pb_message(&tensor, 2, &shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
    tw_text_release(&dim);
    tw_text_release(&shape);
}

static tw_text model_of(const line *l)
{
    tw_text model = {0}, graph = {0}, node = {0}, opset = {0};
    bool by_size = strcmp(l->kind, "size") == 0;
    float scale = (float)l->value;
    int64_t size = (int64_t)l->value;
    const char *input[] = {"x", "", by_size ? "" : "how", by_size ? "how" : ""};
    for (int i = 0; i < (by_size ? 4 : 3); i++) pb_text(&node, 1, input[i]);
    pb_text(&node, 2, "y");
    pb_text(&node, 4, "Resize");
    add_text_attribute(&node, "coordinate_transformation_mode", l->coordinates);
    add_text_attribute(&node, "nearest_mode", l->nearest);
    pb_message(&graph, 1, &node);
    if (by_size)
        add_constant(&graph, "how", TW_ONNX_I64, &size, sizeof size);
    else
        add_constant(&graph, "how", TW_ONNX_F32, &scale, sizeof scale);
    add_value(&graph, 11, "x", l->n);
    add_value(&graph, 12, "y", 0);
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 19);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, &graph);
    return model;
}

/* ---- both ways ---- */

static void check_taken(const line *l, const char *who, const tw_array *y)
{
    bool same = y->n == l->n_out;
    for (int64_t i = 0; same && i < y->n; i++) same = tw_array_get_int(y, i) == l->taken[i];
    if (!same)
        print_error("%s: %s %s %d %s %.17g\n", who, l->coordinates, l->nearest, (int)l->n, l->kind, l->value);
    CHECK(same);
}

/* Whether it is described. */
static bool check_line(const line *l)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_text model = model_of(l);
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    tw_infer_options none = {0};
    tw_lower_options how = {.float_as = TW_N_DTYPES};
    tw_array x;
    CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)model.bytes, model.len, arena, &diag, &file), TW_OK);
    CHECK_EQ(tw_infer_shapes(file, &none, arena, &diag, &shapes), TW_OK);
    CHECK_EQ(tw_lower_network(shapes, &how, arena, &diag, &lowered), TW_OK);
    CHECK_EQ(tw_array_new(TW_ONNX_I32, 1, &l->n, arena, &x), TW_OK);
    for (int64_t i = 0; i < l->n; i++) tw_array_set(&x, i, (double)i);
    tw_array *value = TW_NEW(arena, tw_array, file->n_values + 1);
    value[file->graph[0].input[0]] = x;
    CHECK_EQ(tw_ref_graph(file, 0, arena, &diag, value), TW_OK);
    check_taken(l, "evaluated", &value[file->graph[0].output[0]]);
    steps_run r = steps_run_of(lowered, arena, &diag);
    steps_give(&r, file->graph[0].input[0], &x);
    CHECK_EQ(steps_run_all(&r), TW_OK);
    tw_array y = steps_tensor(&r, lowered->tensor_of_value[file->graph[0].output[0]]);
    check_taken(l, "described", &y);
    bool described = lowered->graph.n_ops == 0 || lowered->graph.op[0].kind == TW_OP_DESCRIBED;
    tw_diag_release(&diag);
    tw_text_release(&model);
    tw_arena_free(arena);
    return described;
}

TEST(the_nearest_elements_are_those_of_onnxruntime)
{
    char path[4096];
    int n = 0, described = 0;
    line l;
    snprintf(path, sizeof path, "%s/test/reference/resize.txt", getenv("TW_SOURCE") ? getenv("TW_SOURCE") : ".");
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    for (; read_line(file, &l); n++) described += check_line(&l);
    fclose(file);
    printf("%d resizes, %d of them described\n", n, described);
    CHECK(n > 150);
    CHECK_EQ(described, n);
}
