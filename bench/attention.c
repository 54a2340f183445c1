/* bench/attention.c - a network of one attention head, written as a file: no public one is that small.
 *
 *     x -> q, k, v      512 rows of 512 features, projected to 64 each
 *     softmax(q k' / 8) v
 *     -> y              projected back to 512
 *
 * in floats. Its weights are zeros: plans do not depend on them. */
#include "pb.h"
#include "search_run.h"

#include <stdlib.h>
#include <unistd.h>

enum { FLOAT = 1, NODE = 1, CONSTANT = 5, INPUT = 11, OUTPUT = 12 };
enum { ROWS = 512, FEATURES = 512, HEAD = 64 };

static void add_value(tw_text *graph, int field, const char *name, int64_t rows, int64_t columns)
{
    tw_text value = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i < 2; i++) {
        tw_text one = {0};
        pb_int(&one, 1, i == 0 ? rows : columns);
        pb_message(&shape, 1, &one);
    }
    pb_int(&tensor, 1, FLOAT);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &type);
    pb_message(graph, field, &value);
}

/* A constant of so many rows and columns, 0 rows: a scalar; all its elements are x. False when out of memory. */
static bool add_constant(tw_text *graph, const char *name, int64_t rows, int64_t columns, float x)
{
    int64_t n = rows > 0 ? rows * columns : 1;
    float *data = malloc((size_t)n * sizeof *data);
    tw_text t = {0};
    if (!data) return false;
    for (int64_t i = 0; i < n; i++) data[i] = x;
    if (rows > 0) pb_int(&t, 1, rows);
    if (rows > 0) pb_int(&t, 1, columns);
    pb_int(&t, 2, FLOAT);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, data, (size_t)n * sizeof *data);
    pb_message(graph, CONSTANT, &t);
    free(data);
    return true;
}

static void add_node(tw_text *graph, const char *op, const char *a, const char *b, const char *out)
{
    tw_text node = {0};
    pb_text(&node, 1, a);
    if (b) pb_text(&node, 1, b);
    pb_text(&node, 2, out);
    pb_text(&node, 3, out);
    pb_text(&node, 4, op);
    pb_message(graph, NODE, &node);
}

static bool describe(tw_text *graph)
{
    add_node(graph, "MatMul", "x", "wq", "q");
    add_node(graph, "MatMul", "x", "wk", "k");
    add_node(graph, "MatMul", "x", "wv", "v");
    add_node(graph, "Transpose", "k", NULL, "kt");
    add_node(graph, "MatMul", "q", "kt", "score");
    add_node(graph, "Div", "score", "root", "scaled");
    add_node(graph, "Softmax", "scaled", NULL, "share");
    add_node(graph, "MatMul", "share", "v", "context");
    add_node(graph, "MatMul", "context", "wy", "y");
    pb_text(graph, 2, "attention_head");
    add_value(graph, INPUT, "x", ROWS, FEATURES);
    add_value(graph, OUTPUT, "y", ROWS, FEATURES);
    return add_constant(graph, "wq", FEATURES, HEAD, 0) && add_constant(graph, "wk", FEATURES, HEAD, 0) &&
           add_constant(graph, "wv", FEATURES, HEAD, 0) && add_constant(graph, "wy", HEAD, FEATURES, 0) &&
           add_constant(graph, "root", 0, 0, 8);
}

bool bench_write_attention(int file)
{
    tw_text model = {0}, graph = {0}, opset = {0};
    bool done = describe(&graph);
    pb_int(&model, 1, 8);
    pb_message(&model, 7, &graph);
    pb_int(&opset, 2, 13);
    pb_message(&model, 8, &opset);
    done = done && !model.failed && write(file, model.bytes, model.len) == (ssize_t)model.len;
    tw_text_release(&model);
    return done;
}
