/* test/infer/test_kinds.c - attributes and inputs of another kind than the standard gives them are refused at their node. */
#include "infer/infer.h"
#include "pb.h"
#include "tw_test.h"

#include <string.h>

typedef struct attribute {
    const char *name;
    tw_attribute_kind kind;
} attribute;

static void add_attribute(tw_text *node, attribute a)
{
    tw_text t = {0};
    pb_text(&t, 1, a.name);
    switch (a.kind) {
    case TW_ATTR_FLOAT: pb_float(&t, 2, 0.5F); break;
    case TW_ATTR_INT: pb_int(&t, 3, 1); break;
    case TW_ATTR_STRING: pb_text(&t, 4, "s"); break;
    case TW_ATTR_FLOATS: pb_float(&t, 7, 0.5F); break;
    case TW_ATTR_INTS: pb_int(&t, 8, 1); break;
    default: break;
    }
    pb_int(&t, 20, a.kind);
    pb_message(node, 5, &t);
}

static void add_value(tw_text *graph, int field, const char *name, tw_onnx_type type, int64_t n)
{
    tw_text dim = {0}, shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    pb_int(&dim, 1, n);
    pb_message(&shape, 1, &dim);
    pb_int(&tensor, 1, type);
    if (n > 0)
        pb_message(&tensor, 2, &shape);
    else
        tw_text_release(&shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
}

/* y = op(x) with x of the type; NULL: accepted. */
static void check(const char *op, int n_inputs, tw_onnx_type type, attribute a, const char *message)
{
    tw_text graph = {0}, node = {0}, model = {0}, opset = {0};
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    const tw_shapes *shapes;
    for (int i = 0; i < n_inputs; i++) pb_text(&node, 1, "x");
    pb_text(&node, 2, "y");
    pb_text(&node, 3, "n");
    pb_text(&node, 4, op);
    if (a.name) add_attribute(&node, a);
    pb_message(&graph, 1, &node);
    add_value(&graph, 11, "x", type, 4);
    add_value(&graph, 12, "y", type, 0);
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, &graph);
    CHECK_EQ(tw_graph_read("m.onnx", (const uint8_t *)model.bytes, model.len, arena, &diag, &file), TW_OK);
    tw_status status = tw_infer_shapes(file, &(tw_infer_options){0}, arena, &diag, &shapes);
    CHECK_EQ(status, message ? TW_ERR_INPUT : TW_OK);
    if (message) {
        const char *behind = strstr(diag.last, ": ");
        behind = behind ? strstr(behind + 2, "at byte") : NULL;
        behind = behind ? strstr(behind, ": ") : NULL;
        CHECK_STR(behind ? behind + 2 : diag.last, message);
    }
    tw_diag_release(&diag);
    tw_text_release(&model);
    tw_arena_free(arena);
}

static const attribute none = {0};

TEST(an_attribute_of_another_kind_is_refused)
{
    check("LeakyRelu", 1, TW_ONNX_F32, (attribute){"alpha", TW_ATTR_FLOAT}, NULL);
    check("LeakyRelu", 1, TW_ONNX_F32, (attribute){"alpha", TW_ATTR_FLOATS},
          "attribute 'alpha' is a list of floats, a float expected");
    check("LeakyRelu", 1, TW_ONNX_F32, (attribute){"alpha", TW_ATTR_INT},
          "attribute 'alpha' is an integer, a float expected");
    check("Softmax", 1, TW_ONNX_F32, (attribute){"axis", TW_ATTR_FLOAT},
          "attribute 'axis' is a float, an integer expected");
    check("Softmax", 1, TW_ONNX_F32, (attribute){"axis", TW_ATTR_INTS},
          "attribute 'axis' is a list of integers, an integer expected");
    check("Gelu", 1, TW_ONNX_F32, (attribute){"approximate", TW_ATTR_INT},
          "attribute 'approximate' is an integer, a text expected");
    check("Transpose", 1, TW_ONNX_F32, (attribute){"perm", TW_ATTR_STRING},
          "attribute 'perm' is a text, a list of integers expected");
    check("LeakyRelu", 1, TW_ONNX_F32, (attribute){"nobody knows", TW_ATTR_STRING}, NULL);
}

TEST(inputs_of_a_type_that_the_operator_has_not_are_refused)
{
    static const char *const floats[] = {"LogSoftmax", "Softmax", "Exp",  "Sigmoid", "LeakyRelu", "Elu",
                                         "Floor",      "Gelu",    "Sqrt", "Round",   "Hardmax",   "Tanh"};
    for (size_t i = 0; i < TW_COUNT(floats); i++) {
        check(floats[i], 1, TW_ONNX_F16, none, NULL);
        check(floats[i], 1, TW_ONNX_BOOL, none, "input 0 is of type bool, floats expected");
        check(floats[i], 1, TW_ONNX_I32, none, "input 0 is of type int32, floats expected");
        check(floats[i], 1, TW_ONNX_STRING, none, "input 0 is of type string, floats expected");
    }
    check("Abs", 1, TW_ONNX_I8, none, NULL);
    check("Abs", 1, TW_ONNX_BOOL, none, "input 0 is of type bool, numbers expected");
    check("Add", 2, TW_ONNX_BOOL, none, "input 0 is of type bool, numbers expected");
    check("MatMul", 2, TW_ONNX_BOOL, none, "input 0 is of type bool, numbers expected");
    check("BitwiseAnd", 2, TW_ONNX_F32, none, "input 0 is of type float, whole numbers expected");
    check("And", 2, TW_ONNX_F32, none, "input 0 is of type float, bool expected");
    check("Not", 1, TW_ONNX_F32, none, "input 0 is of type float, bool expected");
    check("ReduceSum", 1, TW_ONNX_BOOL, none, "input 0 is of type bool, numbers expected");
    check("ReduceMax", 1, TW_ONNX_BOOL, none, NULL);
    check("Equal", 2, TW_ONNX_BOOL, none, NULL);
    check("Identity", 1, TW_ONNX_STRING, none, NULL);
}
