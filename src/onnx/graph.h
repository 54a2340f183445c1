/* src/onnx/graph.h - a network as an ONNX file has it: nodes, values, constants.
 *
 * The file stays mapped as long as the graph is used, and everything that is large lies in it: a constant is a shape,
 * a type and where its bytes are. Nothing of them is read before somebody asks (tw_constant_read). What is small
 * (nodes, names, attributes) is in the arena.
 *
 *     value 0 "x"  ---> node 0 Conv "c1" ---> value 3 "y" ---> node 1 Relu ---> value 4 "z"
 *     value 1 "w" (constant)  --^
 *
 * One table of values serves the main graph and all its subgraphs (the branches of If, the bodies of Loop and Scan): a
 * name in a subgraph that is not defined there means the value of the graph around it, and the reader has settled that.
 *
 * Invariants: every index is in range or -1 where it may be missing; a value is written by at most one node; the nodes
 * of a graph come in an order in which every value is written before it is read; all counts, dims and lengths are
 * bounded by the TW_ONNX_ limits and lie inside the file. */
#ifndef TW_ONNX_GRAPH_H
#define TW_ONNX_GRAPH_H
#include "core/core.h"

enum {
    TW_ONNX_MAX_DIMS = 16,       /* of one tensor            */
    TW_ONNX_MAX_DEPTH = 16,      /* of graphs in graphs      */
    TW_ONNX_MAX_OPSETS = 256,    /* each node looks for its own */
    TW_ONNX_MAX_ITEMS = 1 << 20, /* nodes, values, attributes, inputs of a file */
};

/* The numbers are those of TensorProto.DataType. id, number, name, bytes of an element (0: no fixed size) */
/* clang-format off */
#define TW_ONNX_TYPES(X)                                                                                    \
    X(NONE, 0, "undefined", 0) X(F32, 1, "float", 4) X(U8, 2, "uint8", 1) X(I8, 3, "int8", 1)                \
    X(U16, 4, "uint16", 2) X(I16, 5, "int16", 2) X(I32, 6, "int32", 4) X(I64, 7, "int64", 8)                 \
    X(STRING, 8, "string", 0) X(BOOL, 9, "bool", 1) X(F16, 10, "float16", 2) X(F64, 11, "double", 8)         \
    X(U32, 12, "uint32", 4) X(U64, 13, "uint64", 8) X(C64, 14, "complex64", 8) X(C128, 15, "complex128", 16) \
    X(BF16, 16, "bfloat16", 2)
/* clang-format on */
typedef enum tw_onnx_type {
#define X(id, number, name, bytes) TW_ONNX_##id = number,
    TW_ONNX_TYPES(X)
#undef X
        TW_ONNX_N_TYPES
} tw_onnx_type;
const char *tw_onnx_type_name(tw_onnx_type type); /* "float", ...; "type 23" is not known: "unknown" */
int64_t tw_onnx_type_bytes(tw_onnx_type type);
tw_onnx_type tw_onnx_type_called(const char *name); /* TW_ONNX_NONE: there is none of that name */

/* A constant of the file: an initializer, the value of a Constant node, a tensor attribute, a .pb file. */
typedef struct tw_constant {
    const char *name;       /* "" when it has none */
    const uint8_t *name_at; /* as the file has it: what it is found by                             */
    size_t name_bytes;
    tw_onnx_type type;
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    int64_t n_elems; /* product of the dims                                                   */
    int64_t offset;  /* of its message in the file, for diagnostics                           */
    const uint8_t
        *raw; /* dense little-endian elements in the file, of value_int(s), value_float(s), value_string(s) of a
                             Constant node in the arena; NULL: in another way                      */
    const uint8_t
        *message; /* the whole TensorProto, for elements in typed fields (float_data..); NULL like `raw`: a
                               sparse tensor, which cannot be read                                 */
    size_t message_bytes;
    bool external;        /* the elements are in another file:                                     */
    const char *location; /* relative to the model's folder                                        */
    int64_t external_offset, external_bytes; /* bytes -1: to the end of that file                  */
} tw_constant;

typedef enum tw_attribute_kind { /* the numbers are AttributeProto.AttributeType */
                                 TW_ATTR_NONE = 0,
                                 TW_ATTR_FLOAT = 1,
                                 TW_ATTR_INT = 2,
                                 TW_ATTR_STRING = 3,
                                 TW_ATTR_TENSOR = 4,
                                 TW_ATTR_GRAPH = 5,
                                 TW_ATTR_FLOATS = 6,
                                 TW_ATTR_INTS = 7,
                                 TW_ATTR_STRINGS = 8,
                                 TW_ATTR_OTHER = 9,
} tw_attribute_kind;
typedef struct tw_attribute {
    const char *name;
    tw_attribute_kind kind;
    int64_t i;
    float f;
    const char *s; /* zero-terminated copy; may hold zeros, s_bytes counts */
    size_t s_bytes;
    int n; /* of ints, floats or strings */
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    const tw_constant *tensor;
    int graph; /* index into tw_graph_file.graph, -1 */
} tw_attribute;

typedef struct tw_onnx_node {
    const char *name;   /* as in the file, "" when it has none                   */
    const char *op;     /* "Conv"                                                */
    const char *domain; /* "" for ai.onnx                                      */
    int64_t offset;     /* of its message in the file                            */
    int n_inputs, n_outputs, n_attributes;
    const int *input;  /* values, -1: left out  */
    const int *output; /* values, -1: left out  */
    const tw_attribute *attribute;
} tw_onnx_node;

/* What a file says about a value's shape. */
typedef struct tw_declared {
    bool there;                           /* the file says something                                              */
    tw_onnx_type type;                    /* TW_ONNX_NONE: not a tensor, or not said                              */
    bool is_tensor;                       /* false: a sequence, an optional, a map                                */
    int n_dims;                           /* -1: rank not said                                                    */
    int64_t dim[TW_ONNX_MAX_DIMS];        /* -1: not a number                                */
    const char *symbol[TW_ONNX_MAX_DIMS]; /* "batch", NULL: none                             */
} tw_declared;

typedef struct tw_value {
    const char *name;
    int graph; /* where it is defined                                                          */
    int node;  /* index within that graph's nodes of the one that writes it, -1: input or constant */
    const tw_constant *constant; /* initializer, or the output of a Constant node; NULL        */
    tw_declared declared;
} tw_value;

typedef struct tw_graph {
    const char *name;
    int around; /* graph that has it as an attribute, -1: the main graph                       */
    int n_nodes, n_inputs, n_outputs;
    const tw_onnx_node *node;
    const int *input;  /* values; initializers that are also listed as inputs are not here      */
    const int *output; /* values                                                                */
} tw_graph;

typedef struct tw_graph_file {
    const char *path;
    int64_t ir_version;
    int n_opsets;
    const char *const *opset_domain; /* "" for ai.onnx */
    const int64_t *opset_version;
    const char *producer;
    int n_graphs, n_values;
    const tw_graph *graph; /* [0] is the main graph */
    const tw_value *value;
    const uint8_t *bytes; /* the mapping */
    size_t n_bytes;
    bool mapped; /* by tw_graph_open: tw_graph_close gives it back */
} tw_graph_file;

/* Maps the file and reads everything but the constants' elements. The mapping lasts until tw_graph_close. Diagnostics:
 * "model.onnx: error: node 'conv1' (Conv) at byte 4711: ..." with loc {path, 0, 0}. */
TW_NODISCARD tw_status tw_graph_open(const char *path, tw_arena *arena, tw_diag *diag, const tw_graph_file **out);
/* The same of bytes in memory, which must stay. */
TW_NODISCARD tw_status tw_graph_read(const char *path, const uint8_t *bytes, size_t n, tw_arena *arena,
                                     tw_diag *diag, const tw_graph_file **out);
void tw_graph_close(const tw_graph_file *file);
/* Version of a domain's operators, 0 when the file does not import it. */
int64_t tw_graph_opset(const tw_graph_file *file, const char *domain);
/* NULL when the node has none of that name. */
const tw_attribute *tw_onnx_attribute(const tw_onnx_node *node, const char *name);
int64_t tw_onnx_int(const tw_onnx_node *node, const char *name, int64_t fallback);
float tw_onnx_float(const tw_onnx_node *node, const char *name, float fallback);
const char *tw_onnx_string(const tw_onnx_node *node, const char *name, const char *fallback);

/* A tensor on its own, as ONNX's test data has it (input_0.pb). `bytes` must stay. */
TW_NODISCARD tw_status tw_constant_parse(const char *path, const uint8_t *bytes, size_t n, tw_arena *arena,
                                         tw_diag *diag, const tw_constant **out);
/* Whether its elements can be had: not external, or the external file is there (beside `path`) and long enough. */
bool tw_constant_is_there(const tw_constant *constant, const char *path);
/* The same with a message that says what is missing; nothing is read. */
TW_NODISCARD tw_status tw_constant_check(const tw_constant *constant, const char *path, tw_diag *diag);
/* The elements as dense bytes of the host's types; strings as const char *. Points into the mapping when they lie there
 * in that form and aligned, else they are made in the arena. Reports what is missing or too short. */
TW_NODISCARD tw_status tw_constant_read(const tw_constant *constant, const char *path, tw_arena *arena,
                                        tw_diag *diag, const void **out);
/* Stable text: one line per node, value and constant, for --dump=graph and tests. */
void tw_graph_print(const tw_graph_file *file, tw_text *out);
#endif
