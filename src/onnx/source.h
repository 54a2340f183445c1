/* src/onnx/source.h - a file that is being read: where its messages go, and how they name their place. */
#ifndef TW_ONNX_SOURCE_H
#define TW_ONNX_SOURCE_H
#include "onnx/graph.h"
#include "onnx/wire.h"

typedef struct tw_source {
    const char *path;
    tw_bytes bytes;
    tw_arena *arena;
    tw_diag *diag;
    const tw_onnx_node *node; /* the one being read, which messages then name; NULL */
} tw_source;

/* Where `at` lies in the file. */
int64_t tw_source_offset(const tw_source *source, const uint8_t *at);
/* "PATH: error: node 'c1' (Conv) at byte 4711: ..."; without the node when there is none. Returns TW_ERR_INPUT. */
tw_status tw_source_error(const tw_source *source, const char *fmt, ...) TW_PRINTF(2, 3);
/* TW_OK when the walker came to its end; else it is reported: "WHAT at byte 12: ...". */
TW_NODISCARD tw_status tw_source_end(const tw_source *source, const tw_wire *wire, const char *what);
TW_NODISCARD tw_status tw_source_end_repeated(const tw_source *source, const tw_repeated *repeated,
                                              const char *what);
/* The name in its visible form (core/utf8.h), so that every writer may print it as it is. Different bytes give different
 * names: where anything is written out, or looks as if it were, a backslash is doubled. NULL when out of memory. */
TW_NODISCARD const char *tw_source_name(tw_bytes bytes, tw_arena *arena);

/* The tensor of a message. The elements in it are not looked at. */
TW_NODISCARD tw_status tw_constant_of(const tw_source *source, tw_bytes message, tw_constant *out);
/* The shape and type of a sparse tensor; its elements cannot be had. */
TW_NODISCARD tw_status tw_constant_of_sparse(const tw_source *source, tw_bytes message, tw_constant *out);
/* The value of a Constant node from its attributes; NULL when it has none that we know. */
TW_NODISCARD tw_status tw_constant_of_node(const tw_source *source, const tw_onnx_node *node,
                                           const tw_constant **out);

/* What a TypeProto declares. */
TW_NODISCARD tw_status tw_declared_of(const tw_source *source, tw_bytes type, tw_declared *out);
/* The type of this number; those that we do not know are TW_ONNX_NONE. */
tw_onnx_type tw_onnx_type_of_number(uint64_t number);
/* "2x3x4" into buf, which it returns; "scalar" without dims. */
#define TW_SHAPE_MAX 360
const char *tw_onnx_shape(const int64_t *dim, int n, char buf[TW_SHAPE_MAX]);
#endif
