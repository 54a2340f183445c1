/* src/onnx/type.c - element types and declared shapes. */
#include "onnx/source.h"

#include <stdio.h>
#include <string.h>

const char *tw_onnx_type_name(tw_onnx_type type)
{
    switch (type) {
#define X(id, number, name, bytes) \
    case TW_ONNX_##id: return name;
        TW_ONNX_TYPES(X)
#undef X
    case TW_ONNX_N_TYPES: break;
    }
    return "unknown";
}

int64_t tw_onnx_type_bytes(tw_onnx_type type)
{
    switch (type) {
#define X(id, number, name, bytes) \
    case TW_ONNX_##id: return bytes;
        TW_ONNX_TYPES(X)
#undef X
    case TW_ONNX_N_TYPES: break;
    }
    return 0;
}

tw_onnx_type tw_onnx_type_called(const char *name)
{
    for (int type = TW_ONNX_NONE + 1; type < TW_ONNX_N_TYPES; type++)
        if (strcmp(tw_onnx_type_name((tw_onnx_type)type), name) == 0) return (tw_onnx_type)type;
    return TW_ONNX_NONE;
}

tw_onnx_type tw_onnx_type_of_number(uint64_t number)
{
    return number < TW_ONNX_N_TYPES ? (tw_onnx_type)number : TW_ONNX_NONE;
}

const char *tw_onnx_shape(const int64_t *dim, int n, char buf[TW_SHAPE_MAX])
{
    int len = snprintf(buf, TW_SHAPE_MAX, n == 0 ? "scalar" : "");
    for (int d = 0; d < n; d++)
        len += snprintf(buf + len, (size_t)(TW_SHAPE_MAX - len), d == 0 ? "%" PRId64 : "x%" PRId64, dim[d]);
    return buf;
}

/* TensorShapeProto.Dimension. A negative number says as little as none. */
static tw_status read_dim(const tw_source *source, tw_bytes message, int64_t *dim, const char **symbol)
{
    tw_wire w = tw_wire_of(message);
    *dim = -1;
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == TW_WIRE_VARINT(1)) *dim = tw_max((int64_t)f.bits, -1);
        if (f.tag == TW_WIRE_BYTES(2) && f.bytes.n > 0 && !(*symbol = tw_source_name(f.bytes, source->arena)))
            return TW_ERR_NOMEM;
    }
    return tw_source_end(source, &w, "dimension");
}

/* TensorShapeProto. */
static tw_status read_shape(const tw_source *source, tw_bytes message, tw_declared *out)
{
    tw_wire w = tw_wire_of(message);
    out->n_dims = 0;
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag != TW_WIRE_BYTES(1)) continue;
        if (out->n_dims == TW_ONNX_MAX_DIMS)
            return tw_source_error(source, "shape at byte %" PRId64 ": more than %d dimensions",
                                   tw_source_offset(source, message.at), TW_ONNX_MAX_DIMS);
        TW_TRY(read_dim(source, f.bytes, &out->dim[out->n_dims], &out->symbol[out->n_dims]));
        out->n_dims++;
    }
    return tw_source_end(source, &w, "shape");
}

/* TypeProto.Tensor. */
static tw_status read_tensor(const tw_source *source, tw_bytes message, tw_declared *out)
{
    tw_wire w = tw_wire_of(message);
    out->is_tensor = true;
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == TW_WIRE_VARINT(1)) out->type = tw_onnx_type_of_number(f.bits);
        if (f.tag == TW_WIRE_BYTES(2)) TW_TRY(read_shape(source, f.bytes, out));
    }
    return tw_source_end(source, &w, "tensor type");
}

tw_status tw_declared_of(const tw_source *source, tw_bytes type, tw_declared *out)
{
    tw_wire w = tw_wire_of(type);
    *out = (tw_declared){.there = true, .n_dims = -1};
    for (tw_field f; tw_wire_next(&w, &f);)
        if (f.tag == TW_WIRE_BYTES(1)) TW_TRY(read_tensor(source, f.bytes, out));
    return tw_source_end(source, &w, "type");
}
