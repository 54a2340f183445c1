/* test/onnx/test_reader.c - models written byte by byte, good and bad; and all of ONNX's own test data where it is installed.
 *
 * The messages are made by lib/pb.h, which knows nothing of the reader. */
#include "onnx/graph.h"
#include "pb.h"
#include "tw_test.h"

#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- messages ---- */

enum { FLOAT = 1, INT8 = 3, INT64 = 7 };

static void add_value(tw_text *graph, int field, const char *name, const char *dims)
{
    tw_text shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (const char *d = dims; *d; d++) {
        tw_text dim = {0};
        if (*d >= '0' && *d <= '9')
            pb_int(&dim, 1, *d - '0');
        else if (*d != '?')
            pb_bytes(&dim, 2, d, 1);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, FLOAT);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &type);
    pb_message(graph, field, &value);
}

/* Names of one letter: "xw" reads x and w; '-' is left out. */
static tw_text node_of(const char *op, const char *name, const char *in, const char *out)
{
    tw_text node = {0};
    for (; *in; in++) pb_bytes(&node, 1, in, *in != '-');
    for (; *out; out++) pb_bytes(&node, 2, out, *out != '-');
    pb_text(&node, 3, name);
    pb_text(&node, 4, op);
    return node;
}

static void add_node(tw_text *graph, const char *op, const char *name, const char *in, const char *out)
{
    tw_text node = node_of(op, name, in, out);
    pb_message(graph, 1, &node);
}

static tw_text tensor_of(const char *name, int type, const int64_t *dim, int n)
{
    tw_text t = {0};
    for (int i = 0; i < n; i++) pb_int(&t, 1, dim[i]);
    pb_int(&t, 2, type);
    pb_text(&t, 8, name);
    return t;
}

static void add_floats(tw_text *graph, const char *name, int n)
{
    static const float zero[64];
    tw_text t = tensor_of(name, FLOAT, (int64_t[]){n}, 1);
    pb_bytes(&t, 9, zero, (size_t)n * sizeof *zero);
    pb_message(graph, 5, &t);
}

/* Empties the graph. */
static tw_text model_of(tw_text *graph)
{
    tw_text opset = {0}, model = {0};
    pb_int(&model, 1, 8);
    pb_text(&model, 2, "hand");
    pb_text(graph, 2, "g");
    pb_message(&model, 7, graph);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    return model;
}

/* ---- reading ---- */

typedef struct fixture {
    tw_arena *arena;
    tw_diag diag;
    const tw_graph_file *file;
    uint8_t *bytes; /* of exactly the model's size, so that a sanitizer sees what lies behind */
} fixture;

static tw_status read_bytes(fixture *f, const char *bytes, size_t n)
{
    *f = (fixture){.arena = tw_arena_new(), .bytes = malloc(n > 0 ? n : 1)};
    if (n > 0) memcpy(f->bytes, bytes, n);
    return tw_graph_read("m.onnx", f->bytes, n, f->arena, &f->diag, &f->file);
}

static void release(fixture *f)
{
    tw_arena_free(f->arena);
    tw_diag_release(&f->diag);
    free(f->bytes);
}

static fixture accepted(tw_text *model)
{
    fixture f;
    tw_status status = read_bytes(&f, model->bytes, model->len);
    if (status != TW_OK) print_error("%s\n", f.diag.last);
    CHECK_EQ(status, TW_OK);
    CHECK_EQ(f.diag.n_errors, 0);
    tw_text_release(model);
    return f;
}

static void refused_model(tw_text *model, const char *message)
{
    fixture f;
    CHECK_EQ(read_bytes(&f, model->bytes, model->len), TW_ERR_INPUT);
    CHECK_STR(f.diag.text[0], message);
    release(&f);
    tw_text_release(model);
}

static void refused(tw_text *graph, const char *message)
{
    tw_text model = model_of(graph);
    refused_model(&model, message);
}

static const tw_value *value_of(const tw_graph_file *file, const char *name)
{
    for (int i = 0; i < file->n_values; i++)
        if (strcmp(file->value[i].name, name) == 0) return &file->value[i];
    fail_msg("no value %s", name);
    return NULL;
}

static const void *elements_of(fixture *f, const tw_constant *c)
{
    const void *out = NULL;
    tw_status status = tw_constant_read(c, "m.onnx", f->arena, &f->diag, &out);
    if (status != TW_OK) print_error("%s\n", f->diag.last);
    CHECK_EQ(status, TW_OK);
    CHECK(tw_constant_is_there(c, "m.onnx"));
    return out;
}

/* ---- good models ---- */

/* Two nodes, a constant, a left-out input, an attribute, a symbol, value_info. */
static tw_text small_model(void)
{
    tw_text graph = {0}, node = node_of("Conv", "c1", "xw-", "y"), attribute = {0};
    pb_text(&attribute, 1, "pads");
    pb_packed(&attribute, 8, (int64_t[]){1, -1, 300}, 3);
    pb_int(&attribute, 20, TW_ATTR_INTS);
    pb_message(&node, 5, &attribute);
    pb_message(&graph, 1, &node);
    add_node(&graph, "Relu", "", "y", "z");
    add_floats(&graph, "w", 2);
    add_value(&graph, 11, "x", "n3?8");
    add_value(&graph, 11, "w", "2");
    add_value(&graph, 12, "z", "");
    add_value(&graph, 13, "y", "45");
    add_value(&graph, 13, "gone", "45");
    return model_of(&graph);
}

TEST(a_small_model_reads_as_it_was_written)
{
    tw_text model = small_model(), text = {0};
    fixture f = accepted(&model);
    tw_graph_print(f.file, &text);
    CHECK_STR(text.bytes, "ir 8 by 'hand'\n"
                          "opset '' 17\n"
                          "value 0 'w' in graph 0: constant float 2 at byte 78 declared float 2\n"
                          "value 1 'x' in graph 0: input declared float nx3x?x8\n"
                          "value 2 'y' in graph 0: node 0 declared float 4x5\n"
                          "value 3 'z' in graph 0: node 1 declared float scalar\n"
                          "graph 0 'g': (1) -> (3)\n"
                          "  node 0 'c1' Conv (1, 0, -) -> (2) pads=[1, -1, 300]\n"
                          "  node 1 '' Relu (2) -> (3)\n");
    CHECK_EQ(tw_graph_opset(f.file, "ai.onnx"), 17);
    CHECK_EQ(tw_graph_opset(f.file, "com.other"), 0);
    CHECK(value_of(f.file, "w")->constant->raw >= f.bytes);
    CHECK_EQ(f.bytes[f.file->graph[0].node[0].offset], 10); /* its first field: input */
    tw_text_release(&text);
    release(&f);
}

static void add_attribute(tw_text *node, const char *name, int kind, tw_text *value)
{
    tw_text attribute = {0};
    pb_text(&attribute, 1, name);
    tw_text_add(&attribute, value->bytes ? value->bytes : "", value->len);
    if (kind >= 0) pb_int(&attribute, 20, kind);
    pb_message(node, 5, &attribute);
    tw_text_release(value);
}

/* Each kind of attribute, with its type (kind = 1) or, as very old files have it, without (0). */
static void every_kind(int kind)
{
    tw_text graph = {0}, node = node_of("Odd", "o", "", "y"), v = {0}, t, g = {0};
    int64_t dim = 1;
    pb_float(&v, 2, 0.5f);
    add_attribute(&node, "f", kind * TW_ATTR_FLOAT, &v);
    pb_int(&v, 3, -7);
    add_attribute(&node, "i", kind * TW_ATTR_INT, &v);
    pb_bytes(&v, 4, "a\0b", 3);
    add_attribute(&node, "s", kind * TW_ATTR_STRING, &v);
    t = tensor_of("", INT64, &dim, 1);
    pb_int(&t, 7, 9);
    pb_message(&v, 5, &t);
    add_attribute(&node, "t", kind * TW_ATTR_TENSOR, &v);
    pb_text(&g, 2, "inner");
    pb_message(&v, 6, &g);
    add_attribute(&node, "g", kind * TW_ATTR_GRAPH, &v);
    pb_float(&v, 7, 1), pb_float(&v, 7, 2);
    add_attribute(&node, "floats", kind * TW_ATTR_FLOATS, &v);
    pb_int(&v, 8, 1), pb_packed(&v, 8, (int64_t[]){2, 3}, 2), pb_int(&v, 8, 4);
    add_attribute(&node, "ints", kind * TW_ATTR_INTS, &v);
    pb_text(&v, 9, "p"), pb_text(&v, 9, "q\n");
    add_attribute(&node, "strings", kind * TW_ATTR_STRINGS, &v);
    pb_message(&graph, 1, &node);
    tw_text model = model_of(&graph), text = {0};
    fixture f = accepted(&model);
    const tw_onnx_node *o = &f.file->graph[0].node[0];
    CHECK_EQ(tw_onnx_int(o, "i", 0), -7);
    CHECK_EQ(tw_onnx_int(o, "f", 3), 3);
    CHECK(tw_onnx_float(o, "f", 0) == 0.5f && tw_onnx_float(o, "none", 2) == 2);
    CHECK_STR(tw_onnx_string(o, "s", "-"), "a");
    CHECK_STR(tw_onnx_string(o, "none", "-"), "-");
    CHECK_EQ(tw_onnx_attribute(o, "s")->s_bytes, 3);
    CHECK_EQ(*(const int64_t *)elements_of(&f, tw_onnx_attribute(o, "t")->tensor), 9);
    tw_graph_print(f.file, &text);
    CHECK(strstr(text.bytes, " f=0.5 i=-7 s='a\\x00b' t=int64 1 at byte "));
    CHECK(strstr(text.bytes, " g=graph 1 floats=[1, 2] ints=[1, 2, 3, 4] strings=['p', 'q\\x0a']\n"));
    CHECK(strstr(text.bytes, "graph 1 'inner' in graph 0: () -> ()\n"));
    tw_text_release(&text);
    release(&f);
}

TEST(attributes_of_every_kind_with_and_without_their_type)
{
    every_kind(1);
    every_kind(0);
}

TEST(attributes_that_proto3_leaves_empty_are_zero)
{
    tw_text graph = {0}, node = node_of("Odd", "o", "", "y"), v = {0};
    add_attribute(&node, "i", TW_ATTR_INT, &v);
    add_attribute(&node, "s", TW_ATTR_STRING, &v);
    add_attribute(&node, "ints", TW_ATTR_INTS, &v);
    pb_text(&v, 21, "outer");
    add_attribute(&node, "refers", TW_ATTR_INT, &v);
    pb_message(&graph, 1, &node);
    tw_text model = model_of(&graph);
    fixture f = accepted(&model);
    const tw_onnx_node *o = &f.file->graph[0].node[0];
    CHECK_EQ(tw_onnx_int(o, "i", 5), 0);
    CHECK_STR(tw_onnx_string(o, "s", "-"), "");
    CHECK_EQ(tw_onnx_attribute(o, "ints")->n, 0);
    CHECK_EQ(tw_onnx_int(o, "refers", 5), 5);
    release(&f);
}

/* ---- elements ---- */

static const tw_constant *parsed(fixture *f, tw_text *t)
{
    const tw_constant *c = NULL;
    *f = (fixture){.arena = tw_arena_new(), .bytes = malloc(t->len)};
    memcpy(f->bytes, t->bytes, t->len);
    tw_status status = tw_constant_parse("m.onnx", f->bytes, t->len, f->arena, &f->diag, &c);
    if (status != TW_OK) print_error("%s\n", f->diag.last);
    CHECK_EQ(status, TW_OK);
    tw_text_release(t);
    return c;
}

/* -3, 0 and 7 (or 3, 0, 7; or 1, 0, 1) in the typed field: packed, one by one, and raw. */
static void check_ints(int type, int field, const int64_t *x, const void *expected)
{
    size_t size = (size_t)tw_onnx_type_bytes((tw_onnx_type)type);
    for (int form = 0; form < 3; form++) {
        fixture f;
        tw_text t = tensor_of("t", type, (int64_t[]){1, 3}, 2);
        if (form == 0) pb_packed(&t, field, x, 3);
        for (int i = 0; form == 1 && i < 3; i++) pb_int(&t, field, x[i]);
        if (form == 2) pb_bytes(&t, 9, expected, 3 * size);
        const tw_constant *c = parsed(&f, &t);
        const void *elements = elements_of(&f, c);
        CHECK_EQ((uintptr_t)elements % size, 0);
        CHECK_EQ(memcmp(elements, expected, 3 * size), 0);
        CHECK_EQ(c->n_elems, 3);
        release(&f);
    }
}

TEST(integers_of_every_type_in_their_fields)
{
    static const int64_t s[] = {-3, 0, 7}, u[] = {3, 0, 7}, b[] = {1, 0, 1};
    check_ints(TW_ONNX_I8, 5, s, (int8_t[]){-3, 0, 7});
    check_ints(TW_ONNX_U8, 5, u, (uint8_t[]){3, 0, 7});
    check_ints(TW_ONNX_I16, 5, s, (int16_t[]){-3, 0, 7});
    check_ints(TW_ONNX_U16, 5, u, (uint16_t[]){3, 0, 7});
    check_ints(TW_ONNX_F16, 5, u, (uint16_t[]){3, 0, 7});
    check_ints(TW_ONNX_BF16, 5, u, (uint16_t[]){3, 0, 7});
    check_ints(TW_ONNX_BOOL, 5, b, (uint8_t[]){1, 0, 1});
    check_ints(TW_ONNX_I32, 5, s, (int32_t[]){-3, 0, 7});
    check_ints(TW_ONNX_I64, 7, s, (int64_t[]){-3, 0, 7});
    check_ints(TW_ONNX_U32, 11, u, (uint32_t[]){3, 0, 7});
    check_ints(TW_ONNX_U64, 11, s, (uint64_t[]){(uint64_t)-3, 0, 7});
}

TEST(floats_doubles_complex_numbers_and_strings_in_their_fields)
{
    fixture f;
    static const float floats[] = {1.5f, -2};
    tw_text t = tensor_of("", TW_ONNX_F32, (int64_t[]){3}, 1);
    pb_bytes(&t, 4, floats, sizeof floats), pb_float(&t, 4, 3);
    const float *x = elements_of(&f, parsed(&f, &t));
    CHECK(x[0] == 1.5f && x[1] == -2 && x[2] == 3);
    release(&f);
    t = tensor_of("", TW_ONNX_C64, NULL, 0);
    pb_bytes(&t, 4, floats, sizeof floats);
    x = elements_of(&f, parsed(&f, &t));
    CHECK(x[0] == 1.5f && x[1] == -2);
    release(&f);
    t = tensor_of("", TW_ONNX_C128, (int64_t[]){1}, 1);
    pb_double(&t, 10, 0.25), pb_double(&t, 10, -0.5);
    const double *d = elements_of(&f, parsed(&f, &t));
    CHECK(d[0] == 0.25 && d[1] == -0.5);
    release(&f);
    t = tensor_of("", TW_ONNX_STRING, (int64_t[]){2}, 1);
    pb_text(&t, 6, "one"), pb_text(&t, 6, "");
    const char *const *s = elements_of(&f, parsed(&f, &t));
    CHECK_STR(s[0], "one");
    CHECK_STR(s[1], "");
    release(&f);
    t = tensor_of("", TW_ONNX_F32, (int64_t[]){4, 0}, 2);
    CHECK(elements_of(&f, parsed(&f, &t)) != NULL);
    release(&f);
}

/* The elements cannot be had, and the message says why. */
static void unreadable(tw_text *t, const char *message)
{
    fixture f;
    const void *out;
    const tw_constant *c = parsed(&f, t);
    CHECK(!tw_constant_is_there(c, "m.onnx"));
    CHECK_EQ(tw_constant_read(c, "m.onnx", f.arena, &f.diag, &out), TW_ERR_INPUT);
    CHECK_STR(f.diag.last, message);
    release(&f);
}

TEST(elements_that_are_not_as_many_as_the_shape_says)
{
    tw_text t = tensor_of("t", INT64, (int64_t[]){2, 2}, 2);
    pb_int(&t, 7, 1);
    unreadable(&t, "m.onnx: error: tensor 't' at byte 0: 1 numbers in its field, int64 2x2 needs 4");
    t = tensor_of("t", FLOAT, NULL, 0);
    unreadable(&t, "m.onnx: error: tensor 't' at byte 0: 0 numbers in its field, float scalar needs 1");
    t = tensor_of("t", FLOAT, (int64_t[]){INT64_C(1) << 60}, 1);
    unreadable(&t, "m.onnx: error: tensor 't' at byte 0: 0 numbers in its field, float 1152921504606846976 needs "
                   "1152921504606846976");
    t = tensor_of("t", 23, (int64_t[]){1}, 1);
    unreadable(&t, "m.onnx: error: tensor 't' at byte 0: elements of its type cannot be read");
    t = tensor_of("t", INT64, (int64_t[]){1}, 1);
    pb_bytes(&t, 7, "\x80", 1);
    unreadable(&t, "m.onnx: error: tensor 't' at byte 0: its numbers are cut off");
}

TEST(numbers_outside_their_type)
{
    fixture f;
    const void *out;
    tw_text t = tensor_of("t", INT8, (int64_t[]){1}, 1);
    pb_int(&t, 5, 128);
    const tw_constant *c = parsed(&f, &t);
    CHECK_EQ(tw_constant_read(c, "m.onnx", f.arena, &f.diag, &out), TW_ERR_INPUT);
    CHECK_STR(f.diag.last, "m.onnx: error: tensor 't' at byte 0: 128 is outside int8");
    release(&f);
}

/* ---- Constant nodes ---- */

static fixture constant_node(const char *name, int kind, tw_text *value)
{
    tw_text graph = {0}, node = node_of("Constant", "k", "", "y");
    add_attribute(&node, name, kind, value);
    pb_message(&graph, 1, &node);
    add_node(&graph, "Relu", "r", "y", "z");
    tw_text model = model_of(&graph);
    return accepted(&model);
}

TEST(constant_nodes_of_every_form)
{
    tw_text v = {0};
    pb_float(&v, 2, 0.5f);
    fixture f = constant_node("value_float", TW_ATTR_FLOAT, &v);
    const tw_value *y = value_of(f.file, "y");
    CHECK_EQ(y->node, 0);
    CHECK_EQ(y->constant->n_dims, 0);
    CHECK(*(const float *)elements_of(&f, y->constant) == 0.5f);
    release(&f);
    pb_int(&v, 3, 6);
    f = constant_node("value_int", TW_ATTR_INT, &v);
    CHECK_EQ(*(const int64_t *)elements_of(&f, value_of(f.file, "y")->constant), 6);
    release(&f);
    pb_text(&v, 4, "six");
    f = constant_node("value_string", TW_ATTR_STRING, &v);
    CHECK_STR(*(const char *const *)elements_of(&f, value_of(f.file, "y")->constant), "six");
    release(&f);
    pb_float(&v, 7, 1), pb_float(&v, 7, 2);
    f = constant_node("value_floats", TW_ATTR_FLOATS, &v);
    CHECK(((const float *)elements_of(&f, value_of(f.file, "y")->constant))[1] == 2);
    CHECK_EQ(value_of(f.file, "y")->constant->dim[0], 2);
    release(&f);
    f = constant_node("value_ints", TW_ATTR_INTS, &v);
    CHECK_EQ(value_of(f.file, "y")->constant->n_elems, 0);
    CHECK(elements_of(&f, value_of(f.file, "y")->constant) != NULL);
    release(&f);
    pb_text(&v, 9, "a"), pb_text(&v, 9, "b");
    f = constant_node("value_strings", TW_ATTR_STRINGS, &v);
    CHECK_STR(((const char *const *)elements_of(&f, value_of(f.file, "y")->constant))[1], "b");
    release(&f);
    f = constant_node("other", TW_ATTR_INT, &v);
    CHECK(value_of(f.file, "y")->constant == NULL);
    release(&f);
}

static tw_text sparse_of(const char *name)
{
    tw_text sparse = {0}, values = tensor_of(name, FLOAT, (int64_t[]){1}, 1);
    pb_float(&values, 4, 5);
    pb_message(&sparse, 1, &values);
    pb_packed(&sparse, 3, (int64_t[]){3, 4}, 2);
    return sparse;
}

TEST(sparse_tensors_have_a_shape_and_no_elements)
{
    const void *out;
    tw_text v = {0}, sparse = sparse_of(""), graph = {0};
    pb_message(&v, 22, &sparse);
    fixture f = constant_node("sparse_value", 11, &v);
    const tw_constant *c = value_of(f.file, "y")->constant;
    CHECK(c && c->n_dims == 2 && c->n_elems == 12 && c->type == TW_ONNX_F32);
    CHECK(!tw_constant_is_there(c, "m.onnx"));
    CHECK_EQ(tw_constant_read(c, "m.onnx", f.arena, &f.diag, &out), TW_ERR_INPUT);
    CHECK_STR(f.diag.last, "m.onnx: error: tensor '' at byte 47: elements of sparse tensors cannot be read");
    release(&f);
    sparse = sparse_of("w");
    pb_message(&graph, 15, &sparse);
    add_node(&graph, "Relu", "r", "w", "z");
    tw_text model = model_of(&graph);
    f = accepted(&model);
    CHECK_EQ(value_of(f.file, "w")->constant->n_elems, 12);
    release(&f);
}

/* ---- graphs in graphs ---- */

TEST(names_of_a_branch_mean_the_nearest_value_written_before)
{
    tw_text graph = {0}, node = node_of("If", "i", "x", "z"), inner = {0}, v = {0};
    add_node(&inner, "Add", "a", "xy", "b"); /* both of the graph around */
    add_node(&inner, "Neg", "n", "b", "k");
    add_value(&inner, 12, "k", "");
    add_value(&inner, 12, "y", "");
    pb_text(&inner, 2, "then");
    pb_message(&v, 6, &inner);
    add_attribute(&node, "then_branch", TW_ATTR_GRAPH, &v);
    add_floats(&inner, "x", 1);             /* hides the other x */
    add_node(&inner, "Neg", "n", "x", "k"); /* the same name as in the first branch */
    add_value(&inner, 12, "k", "");
    pb_text(&inner, 2, "else");
    pb_message(&v, 6, &inner);
    add_attribute(&node, "else_branch", TW_ATTR_GRAPH, &v);
    add_node(&graph, "Relu", "r", "x", "y");
    pb_message(&graph, 1, &node);
    add_node(&graph, "Relu", "last", "x", "o");
    add_value(&graph, 11, "x", "1");
    add_value(&graph, 12, "z", "");
    tw_text model = model_of(&graph), text = {0};
    fixture f = accepted(&model);
    tw_graph_print(f.file, &text);
    CHECK(strstr(text.bytes, "graph 0 'g': (0) -> (2)\n"
                             "  node 0 'r' Relu (0) -> (1)\n"
                             "  node 1 'i' If (0) -> (2) then_branch=graph 1 else_branch=graph 2\n"
                             "  node 2 'last' Relu (0) -> (3)\n"
                             "graph 1 'then' in graph 0: () -> (5, 1)\n"
                             "  node 0 'a' Add (0, 1) -> (4)\n"
                             "  node 1 'n' Neg (4) -> (5)\n"
                             "graph 2 'else' in graph 0: () -> (7)\n"
                             "  node 0 'n' Neg (6) -> (7)\n"));
    CHECK_EQ(f.file->value[5].graph, 1);
    CHECK_EQ(f.file->value[7].graph, 2);
    tw_text_release(&text);
    release(&f);
}

/* `levels` graphs, each the attribute of the only node of the one around it. */
static tw_text nested(int levels)
{
    tw_text graph = {0};
    for (int i = 1; i < levels; i++) {
        tw_text node = node_of("Loop", "", "", ""), v = {0};
        pb_message(&v, 6, &graph);
        add_attribute(&node, "body", TW_ATTR_GRAPH, &v);
        pb_message(&graph, 1, &node);
    }
    return model_of(&graph);
}

TEST(graphs_nest_as_deep_as_the_limit_and_no_deeper)
{
    tw_text model = nested(TW_ONNX_MAX_DEPTH);
    fixture f = accepted(&model);
    CHECK_EQ(f.file->n_graphs, TW_ONNX_MAX_DEPTH);
    release(&f);
    model = nested(TW_ONNX_MAX_DEPTH + 1);
    refused_model(&model, "m.onnx: error: node '' (Loop) at byte 344: graph at byte 362: nested deeper than 16");
    for (int levels = 64; levels <= 4096; levels *= 64) {
        model = nested(levels);
        CHECK_EQ(read_bytes(&f, model.bytes, model.len), TW_ERR_INPUT);
        CHECK_EQ(f.diag.n_errors, 1);
        release(&f);
        tw_text_release(&model);
    }
}

TEST(a_branch_cannot_read_what_its_own_node_writes)
{
    tw_text graph = {0}, node = node_of("If", "i", "x", "z"), inner = {0}, v = {0};
    add_node(&inner, "Neg", "n", "z", "k");
    pb_message(&v, 6, &inner);
    add_attribute(&node, "then_branch", TW_ATTR_GRAPH, &v);
    pb_message(&graph, 1, &node);
    add_value(&graph, 11, "x", "1");
    refused(&graph, "m.onnx: error: node 'i' (If) at byte 12: needs what is made of its output: cycle: 'i' -> 'i'");
}

TEST(what_a_branch_defines_is_gone_behind_it)
{
    tw_text graph = {0}, node = node_of("If", "i", "x", "z"), inner = {0}, v = {0};
    add_node(&inner, "Neg", "n", "x", "k");
    pb_message(&v, 6, &inner);
    add_attribute(&node, "then_branch", TW_ATTR_GRAPH, &v);
    pb_message(&graph, 1, &node);
    add_node(&graph, "Neg", "m", "k", "l");
    add_value(&graph, 11, "x", "1");
    refused(&graph, "m.onnx: error: node 'm' (Neg) at byte 63: reads 'k', which nothing defines");
}

/* ---- bad names ---- */

TEST(a_value_that_is_written_twice)
{
    tw_text graph = {0};
    add_value(&graph, 11, "x", "1");
    add_node(&graph, "Relu", "a", "x", "y");
    add_node(&graph, "Neg", "b", "x", "y");
    refused(&graph,
            "m.onnx: error: node 'b' (Neg) at byte 46: writes 'y', which node 'a' (Relu) at byte 29 writes too");
    add_value(&graph, 11, "x", "1");
    add_node(&graph, "Neg", "b", "x", "x");
    refused(&graph, "m.onnx: error: node 'b' (Neg) at byte 29: writes 'x', which is an input or a constant");
    add_node(&graph, "Split", "s", "", "yy");
    refused(&graph, "m.onnx: error: node 's' (Split) at byte 12: writes 'y' twice");
    add_floats(&graph, "w", 1);
    add_floats(&graph, "w", 1);
    refused(&graph, "m.onnx: error: constant 'w' at byte 27 is there twice");
    add_value(&graph, 11, "x", "1");
    add_value(&graph, 11, "x", "1");
    refused(&graph, "m.onnx: error: input 'x' at byte 29 is there twice");
}

TEST(values_that_nobody_defines_and_cycles)
{
    fixture f;
    tw_text graph = {0};
    add_node(&graph, "Relu", "a", "q", "y");
    refused(&graph, "m.onnx: error: node 'a' (Relu) at byte 12: reads 'q', which nothing defines");
    add_value(&graph, 12, "q", "");
    refused(&graph, "m.onnx: error: graph 'g' gives 'q', which nothing defines");
    add_node(&graph, "Relu", "a", "z", "y");
    add_node(&graph, "Neg", "b", "y", "z");
    refused(
        &graph,
        "m.onnx: error: node 'a' (Relu) at byte 12: needs what is made of its output: cycle: 'a' -> 'b' -> 'a'");
    add_node(&graph, "Relu", "a", "y", "y");
    refused(&graph,
            "m.onnx: error: node 'a' (Relu) at byte 12: needs what is made of its output: cycle: 'a' -> 'a'");
    add_node(&graph, "Relu", "a", "q", "y");
    add_node(&graph, "Relu", "b", "r", "z");
    tw_text model = model_of(&graph);
    CHECK_EQ(read_bytes(&f, model.bytes, model.len), TW_ERR_INPUT);
    CHECK_EQ(f.diag.n_errors, 2); /* one run reports both */
    release(&f);
    tw_text_release(&model);
}

TEST(names_that_are_missing_or_do_not_print)
{
    tw_text graph = {0}, t = tensor_of("", FLOAT, (int64_t[]){0}, 1), none = {0}, node = {0};
    pb_message(&graph, 5, &t);
    refused(&graph, "m.onnx: error: constant at byte 12 has no name");
    pb_message(&graph, 11, &none);
    refused(&graph, "m.onnx: error: input at byte 12 has no name");
    pb_message(&graph, 12, &none);
    refused(&graph, "m.onnx: error: output at byte 12 has no name");
    pb_bytes(&node, 1, "a\nb", 3);
    pb_message(&graph, 1, &node);
    refused(&graph, "m.onnx: error: node '' () at byte 12: reads 'a\\x0ab', which nothing defines");
}

/* ---- bad tensors ---- */

static void refused_tensor(int type, const int64_t *dim, int n, size_t raw_bytes, const char *message)
{
    static const char raw[64];
    tw_text graph = {0}, t = tensor_of("w", type, dim, n);
    pb_bytes(&t, 9, raw, raw_bytes);
    pb_message(&graph, 5, &t);
    refused(&graph, message);
}

TEST(shapes_that_are_negative_or_too_large_and_raw_data_of_another_size)
{
    int64_t many[17] = {0}, huge = INT64_C(1) << 40;
    refused_tensor(FLOAT, (int64_t[]){2, -1}, 2, 8, "m.onnx: error: tensor 'w' at byte 12: dimension 1 is -1");
    refused_tensor(FLOAT, (int64_t[]){huge, huge}, 2, 8,
                   "m.onnx: error: tensor 'w' at byte 12: dimension 1, 1099511627776, makes it too large");
    refused_tensor(FLOAT, (int64_t[]){huge, huge >> 19}, 2, 8,
                   "m.onnx: error: tensor 'w' at byte 12: it is too large");
    refused_tensor(FLOAT, many, 17, 0, "m.onnx: error: tensor 'w' at byte 12: more than 16 dimensions");
    refused_tensor(FLOAT, (int64_t[]){2, 2}, 2, 12,
                   "m.onnx: error: tensor 'w' at byte 12: raw data of 12 bytes, float 2x2 needs 16");
    refused_tensor(INT8, (int64_t[]){2}, 1, 3,
                   "m.onnx: error: tensor 'w' at byte 12: raw data of 3 bytes, int8 2 needs 2");
}

TEST(attributes_without_what_their_type_promises)
{
    tw_text graph = {0}, node = node_of("Odd", "o", "", "y"), v = {0};
    add_attribute(&node, "value", TW_ATTR_TENSOR, &v);
    pb_message(&graph, 1, &node);
    refused(&graph, "m.onnx: error: node 'o' (Odd) at byte 12: attribute 'value' has no tensor");
    node = node_of("Odd", "o", "", "y");
    add_attribute(&node, "body", TW_ATTR_GRAPH, &v);
    pb_message(&graph, 1, &node);
    refused(&graph, "m.onnx: error: node 'o' (Odd) at byte 12: attribute 'body' has no graph");
}

TEST(declared_shapes_have_at_most_sixteen_dimensions)
{
    tw_text graph = {0};
    add_value(&graph, 11, "x", "11111111111111111");
    refused(&graph, "m.onnx: error: shape at byte 23: more than 16 dimensions");
}

/* ---- external data ---- */

typedef struct folder {
    char path[64], model[96], data[96];
} folder;

static folder new_folder(int64_t data_bytes)
{
    folder d = {.path = "/tmp/tw_reader_XXXXXX"};
    CHECK(mkdtemp(d.path) != NULL);
    snprintf(d.model, sizeof d.model, "%s/m.onnx", d.path);
    snprintf(d.data, sizeof d.data, "%s/w.bin", d.path);
    FILE *file = data_bytes < 0 ? NULL : fopen(d.data, "wb");
    for (int64_t i = 0; i < data_bytes; i++) fputc((int)i, file);
    if (file) fclose(file);
    return d;
}

static void drop_folder(const folder *d)
{
    unlink(d->model);
    unlink(d->data);
    rmdir(d->path);
}

static void add_entry(tw_text *t, const char *key, const char *value)
{
    tw_text entry = {0};
    pb_text(&entry, 1, key);
    pb_text(&entry, 2, value);
    pb_message(t, 13, &entry);
}

static tw_text external_tensor(const char *location, const char *offset, const char *length)
{
    tw_text t = tensor_of("w", INT8, (int64_t[]){2, 2}, 2);
    if (location) add_entry(&t, "location", location);
    if (offset) add_entry(&t, "offset", offset);
    if (length) add_entry(&t, "length", length);
    pb_int(&t, 14, 1);
    return t;
}

/* NULL: it reads, and the first element is `first`. {} in the message stands for the folder. */
static void check_external(int64_t data_bytes, const char *location, const char *offset, const char *length,
                           int first, const char *message)
{
    fixture f;
    const void *out = NULL;
    char expected[512];
    folder d = new_folder(data_bytes);
    tw_text t = external_tensor(location, offset, length);
    const tw_constant *c = parsed(&f, &t);
    CHECK_EQ(tw_constant_is_there(c, d.model), message == NULL);
    CHECK_EQ(tw_constant_read(c, d.model, f.arena, &f.diag, &out), message ? TW_ERR_INPUT : TW_OK);
    snprintf(expected, sizeof expected, "%s: error: tensor 'w' at byte 0: %s", d.model, message ? message : "");
    if (message)
        CHECK_STR(f.diag.last, expected);
    else
        CHECK_EQ(*(const int8_t *)out, first);
    release(&f);
    drop_folder(&d);
}

TEST(external_data_is_read_where_it_is_and_refused_where_it_is_not)
{
    check_external(4, "w.bin", NULL, NULL, 0, NULL);
    check_external(9, "./w.bin", "5", "4", 5, NULL);
    check_external(9, "w.bin", "3", NULL, 3, NULL);
    check_external(3, "w.bin", NULL, NULL, 0, "'w.bin' has 3 bytes of it from byte 0, 4 are needed");
    check_external(9, "w.bin", "6", NULL, 0, "'w.bin' has 3 bytes of it from byte 6, 4 are needed");
    check_external(9, "w.bin", "100", NULL, 0, "'w.bin' has 0 bytes of it from byte 100, 4 are needed");
    check_external(9, "w.bin", NULL, "2", 0, "'w.bin' has 2 bytes of it from byte 0, 4 are needed");
    check_external(-1, "w.bin", NULL, NULL, 0, "its external data 'w.bin' is not there");
    check_external(4, ".", NULL, NULL, 0, "its external data '.' is not there");
    check_external(4, "../w.bin", NULL, NULL, 0, "its external data '../w.bin' lies outside the model's folder");
    check_external(4, "a/../../w", NULL, NULL, 0, "its external data 'a/../../w' lies outside the model's folder");
    check_external(4, "a/..", NULL, NULL, 0, "its external data 'a/..' lies outside the model's folder");
    check_external(4, "/etc/passwd", NULL, NULL, 0,
                   "its external data '/etc/passwd' lies outside the model's folder");
    check_external(4, "", NULL, NULL, 0, "its external data '' lies outside the model's folder");
}

TEST(operator_sets_without_end)
{
    tw_text graph = {0}, model;
    pb_text(&graph, 2, "g");
    model = model_of(&graph);
    for (int i = 0; i < TW_ONNX_MAX_OPSETS; i++) {
        tw_text opset = {0};
        pb_int(&opset, 2, 1);
        pb_message(&model, 8, &opset);
    }
    refused_model(&model, "m.onnx: error: more than 256 operator sets");
}

TEST(external_data_that_cannot_be_opened_says_why)
{
    char location[5001], message[400];
    memset(location, 'w', sizeof location - 1); /* longer than any path, which nothing is allocated for */
    location[sizeof location - 1] = 0;
    snprintf(message, sizeof message, "its external data '%.200s' cannot be opened: File name too long", location);
    check_external(4, location, NULL, NULL, 0, message);
    location[300] = 0;
    check_external(4, location, NULL, NULL, 0, message);
}

TEST(external_data_that_is_described_badly)
{
    tw_text graph = {0}, t = external_tensor(NULL, "1", NULL);
    pb_message(&graph, 5, &t);
    refused(&graph, "m.onnx: error: tensor 'w' at byte 12: external data without a location");
    t = external_tensor("w", "-1", NULL);
    pb_message(&graph, 5, &t);
    refused(&graph, "m.onnx: error: tensor 'w' at byte 12: the offset of its external data is no number");
    t = external_tensor("w", NULL, "99999999999999999999");
    pb_message(&graph, 5, &t);
    refused(&graph, "m.onnx: error: tensor 'w' at byte 12: the length of its external data is no number");
}

/* ---- broken bytes ---- */

static void refused_bytes(const char *bytes, size_t n, const char *message)
{
    tw_text model = {0};
    tw_text_add(&model, bytes, n);
    refused_model(&model, message);
}
#define REFUSED(bytes, message) refused_bytes(bytes, sizeof(bytes) - 1, message)

TEST(bytes_that_are_no_protobuf_and_models_without_a_graph)
{
    REFUSED("", "m.onnx: error: no graph in it: this is not an ONNX model");
    REFUSED("\x08\x07", "m.onnx: error: no graph in it: this is not an ONNX model");
    REFUSED("\x08", "m.onnx: error: model at byte 0: a number is cut off at byte 1");
    REFUSED("\x08\xff", "m.onnx: error: model at byte 0: a number is cut off at byte 1");
    REFUSED("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "m.onnx: error: model at byte 0: a number has more than 10 bytes at byte 1");
    REFUSED("\x08\x07\x3a\x05\x0a", "m.onnx: error: model at byte 0: field 7 has 5 bytes, 1 are left at byte 4");
    REFUSED("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "m.onnx: error: model at byte 0: field 7 has 18446744073709551615 bytes, 0 are left at byte 11");
    REFUSED("\x3b",
            "m.onnx: error: model at byte 0: field 7 has the encoding 3, which ONNX does not use at byte 1");
    REFUSED("\x07", "m.onnx: error: model at byte 0: there is no field with the tag 7 at byte 1");
    REFUSED("\x3d\x01\x02", "m.onnx: error: model at byte 0: a number of 4 bytes is cut off after 2 at byte 1");
    REFUSED("\x3a\x00\x3a\x00", "m.onnx: error: a second graph at byte 4");
    REFUSED("\x3a\x03\x0a\x09\x0a", "m.onnx: error: graph at byte 2: field 1 has 9 bytes, 1 are left at byte 4");
    REFUSED("\x3a\x04\x0a\x02\x0a\x09", "m.onnx: error: node at byte 4: field 1 has 9 bytes, 0 are left at byte 6");
    REFUSED("\x3a\x06\x0a\x04\x2a\x02\x0a\x09",
            "m.onnx: error: node '' () at byte 4: attribute at byte 6: field 1 has 9 bytes, 0 are left at byte 8");
    REFUSED("\x3a\x04\x2a\x02\x42\x09",
            "m.onnx: error: tensor at byte 4: field 8 has 9 bytes, 0 are left at byte 6");
    REFUSED("\x3a\x05\x2a\x03\x0a\x01\x80", "m.onnx: error: dims at byte 6: a number is cut off at byte 6");
    REFUSED("\x3a\x00\x42\x01\x0a", "m.onnx: error: operator set at byte 4: a number is cut off at byte 5");
}

static bool in_range(const int *value, int n, int n_values)
{
    for (int i = 0; i < n; i++)
        if (value[i] < -1 || value[i] >= n_values) return false;
    return true;
}

/* What the header promises of every file that was accepted. */
static void check_promises(const tw_graph_file *file)
{
    for (int g = 0; g < file->n_graphs; g++) {
        const tw_graph *graph = &file->graph[g];
        CHECK(graph->around >= -1 && graph->around < g);
        CHECK(in_range(graph->input, graph->n_inputs, file->n_values));
        CHECK(in_range(graph->output, graph->n_outputs, file->n_values));
        for (int i = 0; i < graph->n_nodes; i++) {
            const tw_onnx_node *node = &graph->node[i];
            CHECK(in_range(node->input, node->n_inputs, file->n_values));
            CHECK(in_range(node->output, node->n_outputs, file->n_values));
            for (int k = 0; k < node->n_inputs; k++) {
                const tw_value *v = node->input[k] < 0 ? NULL : &file->value[node->input[k]];
                CHECK(!v || v->graph != g || v->node < i);
            }
        }
    }
}

/* Reads bytes that may be anything, and everything that can be asked of them. */
static tw_status survive(const char *bytes, size_t n)
{
    fixture f;
    tw_text text = {0};
    const void *out;
    tw_status status = read_bytes(&f, bytes, n);
    CHECK(status == TW_OK || status == TW_ERR_INPUT);
    CHECK_EQ(status == TW_OK, f.diag.n_errors == 0);
    if (status == TW_OK) {
        check_promises(f.file);
        tw_graph_print(f.file, &text);
    }
    for (int i = 0; status == TW_OK && i < f.file->n_values; i++)
        if (f.file->value[i].constant)
            (void)!tw_constant_read(f.file->value[i].constant, "m.onnx", f.arena, &f.diag, &out);
    tw_text_release(&text);
    release(&f);
    return status;
}

/* Everything at once: branches, attributes, typed and raw tensors, external data. */
static tw_text rich_model(void)
{
    tw_text graph = {0}, node = node_of("If", "i", "x", "z"), inner = {0}, v = {0}, t,
            k = node_of("Constant", "k", "", "c");
    add_node(&inner, "Add", "a", "xc", "b");
    add_value(&inner, 12, "b", "");
    pb_message(&v, 6, &inner);
    add_attribute(&node, "then_branch", TW_ATTR_GRAPH, &v);
    t = tensor_of("", INT64, (int64_t[]){3}, 1);
    pb_packed(&t, 7, (int64_t[]){1, -1, 5}, 3);
    pb_message(&v, 5, &t);
    add_attribute(&k, "value", TW_ATTR_TENSOR, &v);
    pb_message(&graph, 1, &k);
    pb_float(&v, 7, 1), pb_float(&v, 7, 2);
    add_attribute(&node, "floats", TW_ATTR_FLOATS, &v);
    pb_text(&v, 9, "s");
    add_attribute(&node, "strings", TW_ATTR_STRINGS, &v);
    pb_message(&graph, 1, &node);
    add_floats(&graph, "u", 2);
    t = external_tensor("w.bin", "4", "4");
    pb_message(&graph, 5, &t);
    t = sparse_of("v");
    pb_message(&graph, 15, &t);
    add_value(&graph, 11, "x", "n3?8");
    add_value(&graph, 12, "z", "12");
    return model_of(&graph);
}

TEST(a_model_cut_off_anywhere_is_refused_or_whole_in_itself)
{
    tw_text small = small_model();
    for (size_t n = 0; n < small.len; n++) {
        /* behind the graph only the operator set is missing: that is a model too */
        tw_status status = survive(small.bytes, n);
        if (n < small.len - 4) CHECK_EQ(status, TW_ERR_INPUT);
    }
    CHECK_EQ(survive(small.bytes, small.len), TW_OK);
    tw_text_release(&small);
    tw_text rich = rich_model();
    for (size_t n = 0; n < rich.len; n++) (void)survive(rich.bytes, n);
    CHECK_EQ(survive(rich.bytes, rich.len), TW_OK);
    tw_text_release(&rich);
}

TEST(random_bytes_in_good_models_never_crash_the_reader)
{
    enum { FLIPS = 20000 };
    uint64_t seed = tw_test_seed();
    tw_text good[2] = {small_model(), rich_model()};
    int n_read = 0;
    for (int i = 0; i < FLIPS; i++) {
        const tw_text *from = &good[i % 2];
        char *copy = malloc(from->len);
        memcpy(copy, from->bytes, from->len);
        for (int64_t k = tw_test_pick(&seed, 1, 3); k > 0; k--)
            copy[tw_test_pick(&seed, 0, (int64_t)from->len - 1)] = (char)tw_random_next(&seed);
        n_read += survive(copy, from->len) == TW_OK;
        free(copy);
    }
    CHECK(n_read > FLIPS / 20 && n_read < FLIPS);
    tw_text_release(&good[0]);
    tw_text_release(&good[1]);
}

TEST(memory_that_runs_out_anywhere_is_reported)
{
    tw_text model = small_model();
    for (int n = 1;; n++) {
        fixture f = {.arena = tw_arena_new()};
        tw_arena_fail_at(f.arena, n);
        tw_status status =
            tw_graph_read("m.onnx", (const uint8_t *)model.bytes, model.len, f.arena, &f.diag, &f.file);
        release(&f);
        if (status == TW_OK) break;
        CHECK_EQ(status, TW_ERR_NOMEM);
        CHECK(n < 1000);
    }
    tw_text_release(&model);
}

/* ---- files ---- */

TEST(a_file_is_mapped_and_one_that_is_not_there_is_reported)
{
    tw_text model = small_model();
    fixture f = {.arena = tw_arena_new()};
    folder d = new_folder(0);
    char expected[256];
    FILE *file = fopen(d.model, "wb");
    CHECK_EQ(fwrite(model.bytes, 1, model.len, file), model.len);
    fclose(file);
    CHECK_EQ(tw_graph_open(d.model, f.arena, &f.diag, &f.file), TW_OK);
    CHECK_EQ(f.file->n_bytes, model.len);
    CHECK_STR(f.file->path, d.model);
    tw_graph_close(f.file);
    CHECK_EQ(tw_graph_open(d.path, f.arena, &f.diag, &f.file), TW_ERR_IO);
    snprintf(expected, sizeof expected, "%s: error: cannot be read: not a regular file", d.path);
    CHECK_STR(f.diag.last, expected);
    CHECK_EQ(tw_graph_open(d.data, f.arena, &f.diag, &f.file), TW_ERR_INPUT);
    snprintf(expected, sizeof expected, "%s: error: the file is empty", d.data);
    CHECK_STR(f.diag.last, expected);
    drop_folder(&d);
    CHECK_EQ(tw_graph_open(d.model, f.arena, &f.diag, &f.file), TW_ERR_IO);
    snprintf(expected, sizeof expected, "%s: error: cannot be read: No such file or directory", d.model);
    CHECK_STR(f.diag.last, expected);
    release(&f);
    tw_text_release(&model);
}

/* ---- ONNX's own test data ---- */

/* input_0.pb of a value that the model declares as no tensor (a sequence, an optional) is another message. */
static bool is_tensor_file(const tw_graph_file *file, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    bool input = strncmp(name, "input_", 6) == 0;
    int i = atoi(strchr(name, '_') + 1), n = input ? file->graph[0].n_inputs : file->graph[0].n_outputs;
    if (i >= n) return true;
    return file->value[(input ? file->graph[0].input : file->graph[0].output)[i]].declared.is_tensor;
}

static void check_tensor_file(const char *path)
{
    fixture f = {.arena = tw_arena_new()};
    const tw_constant *c;
    const char *bytes;
    const void *out;
    size_t n;
    CHECK_EQ(tw_file_read(path, 1 << 28, f.arena, &f.diag, &bytes, &n), TW_OK);
    tw_status status = tw_constant_parse(path, (const uint8_t *)bytes, n, f.arena, &f.diag, &c);
    if (status == TW_OK) status = tw_constant_read(c, path, f.arena, &f.diag, &out);
    if (status != TW_OK) print_error("%s\n", f.diag.last);
    CHECK_EQ(status, TW_OK);
    release(&f);
}

static int check_tensor_files(const tw_graph_file *file)
{
    char pattern[600];
    glob_t found;
    int n = 0;
    snprintf(pattern, sizeof pattern, "%.*s/test_data_set_*/*.pb", (int)(strrchr(file->path, '/') - file->path),
             file->path);
    if (glob(pattern, 0, NULL, &found) != 0) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (is_tensor_file(file, found.gl_pathv[i])) check_tensor_file(found.gl_pathv[i]), n++;
    globfree(&found);
    return n;
}

TEST(all_of_the_installed_test_data_of_onnx)
{
    const char *root = getenv("TW_ONNX_TESTDATA");
    char pattern[512];
    glob_t found;
    int n_tensors = 0;
    snprintf(pattern, sizeof pattern, "%s/*/*/model.onnx", root ? root : "/usr/share/libonnx-testdata/data");
    if (glob(pattern, 0, NULL, &found) != 0) skip();
    for (size_t i = 0; i < found.gl_pathc; i++) {
        fixture f = {.arena = tw_arena_new()};
        tw_status status = tw_graph_open(found.gl_pathv[i], f.arena, &f.diag, &f.file);
        if (status != TW_OK) print_error("%s\n", f.diag.last);
        CHECK_EQ(status, TW_OK);
        check_promises(f.file);
        n_tensors += check_tensor_files(f.file);
        tw_graph_close(f.file);
        release(&f);
    }
    print_message("%zu models, %d tensors\n", found.gl_pathc, n_tensors);
    globfree(&found);
}

/* ---- names that are no text ---- */

/* Constants, values and nodes find each other by the bytes of their names, however they are shown. */
TEST(names_are_found_by_their_bytes_and_shown_visibly)
{
    static const struct {
        const char *raw, *shown;
    } name[] = {
        {"w\x01", "w\\x01"},           {"w\\x01", "w\\\\x01"},    {"w\xff", "w\\xff"},
        {"\xe2\x80\xaew", "\\u202ew"}, {"w\xc2\x9b", "w\\u009b"}, {"a\\b", "a\\b"},
    };
    tw_text graph = {0};
    for (size_t k = 0; k < TW_COUNT(name); k++) add_floats(&graph, name[k].raw, 2);
    add_value(&graph, 11, "x", "2");
    for (size_t k = 0; k < TW_COUNT(name); k++) {
        tw_text node = {0};
        char out[2] = {(char)('p' + k), 0};
        pb_text(&node, 1, "x");
        pb_text(&node, 1, name[k].raw);
        pb_text(&node, 2, out);
        pb_text(&node, 4, "Add");
        pb_message(&graph, 1, &node);
    }
    add_value(&graph, 12, "p", "2");
    tw_text model = model_of(&graph);
    fixture f = accepted(&model);
    for (size_t k = 0; k < TW_COUNT(name); k++) {
        const tw_onnx_node *node = &f.file->graph[0].node[k];
        const tw_value *value = &f.file->value[node->input[1]];
        CHECK(value->constant != NULL);
        CHECK_STR(value->name, name[k].shown);
    }
    release(&f);
}
