/* src/onnx/attribute.c - attributes of nodes.
 *
 * The type of an attribute is written behind its value, and very old files leave it out: so the fields are collected
 * first, and read when it is clear which of them counts. */
#include "onnx/reader.h"

#include <string.h>

typedef struct fields {
    tw_bytes name, s, t, g, sparse;
    uint64_t type, i, f;
    bool has_i, has_f, is_reference; /* is_reference: it stands for an attribute of a function's caller */
    int n_ints, n_floats, n_strings;
} fields;

static tw_status collect(const tw_source *source, tw_bytes message, fields *out)
{
    tw_wire w = tw_wire_of(message);
    *out = (fields){.name = {message.at, 0}};
    for (tw_field f; tw_wire_next(&w, &f);) switch (f.tag) {
        case TW_WIRE_BYTES(1): out->name = f.bytes; break;
        case TW_WIRE_FIXED32(2): out->f = f.bits, out->has_f = true; break;
        case TW_WIRE_VARINT(3): out->i = f.bits, out->has_i = true; break;
        case TW_WIRE_BYTES(4): out->s = f.bytes; break;
        case TW_WIRE_BYTES(5): out->t = f.bytes; break;
        case TW_WIRE_BYTES(6): out->g = f.bytes; break;
        case TW_WIRE_VARINT(20): out->type = f.bits; break;
        case TW_WIRE_BYTES(21): out->is_reference = f.bytes.n > 0; break;
        case TW_WIRE_BYTES(22): out->sparse = f.bytes; break;
        default: break;
        }
    return tw_source_end(source, &w, "attribute");
}

/* Elements of a repeated field; at most TW_ONNX_MAX_ITEMS. */
static tw_status count(const tw_source *source, tw_bytes message, uint32_t tag, int *n)
{
    tw_repeated r = tw_repeated_of(message, tag);
    *n = 0;
    for (tw_field f; tw_repeated_next(&r, &f);)
        if (++*n > TW_ONNX_MAX_ITEMS)
            return tw_source_error(source, "attribute at byte %" PRId64 ": more than %d elements",
                                   tw_source_offset(source, message.at), TW_ONNX_MAX_ITEMS);
    return tw_source_end_repeated(source, &r, "attribute");
}

enum { FLOATS = TW_WIRE_FIXED32(7), INTS = TW_WIRE_VARINT(8), STRINGS = TW_WIRE_BYTES(9) };

static tw_status count_lists(const tw_source *source, tw_bytes message, fields *out)
{
    TW_TRY(count(source, message, FLOATS, &out->n_floats));
    TW_TRY(count(source, message, INTS, &out->n_ints));
    return count(source, message, STRINGS, &out->n_strings);
}

static tw_attribute_kind kind_of(const fields *f)
{
    if (f->is_reference) return TW_ATTR_OTHER;
    if (f->type != TW_ATTR_NONE) return f->type < TW_ATTR_OTHER ? (tw_attribute_kind)f->type : TW_ATTR_OTHER;
    if (f->has_f) return TW_ATTR_FLOAT;
    if (f->has_i) return TW_ATTR_INT;
    if (f->s.at) return TW_ATTR_STRING;
    if (f->t.at) return TW_ATTR_TENSOR;
    if (f->g.at) return TW_ATTR_GRAPH;
    if (f->n_floats > 0) return TW_ATTR_FLOATS;
    if (f->n_ints > 0) return TW_ATTR_INTS;
    return f->n_strings > 0 ? TW_ATTR_STRINGS : TW_ATTR_NONE;
}

static tw_status read_floats(const tw_source *source, tw_bytes message, int n, tw_attribute *out)
{
    float *x;
    TW_ALLOC(source->arena, x, n);
    out->floats = x;
    out->n = n;
    tw_repeated r = tw_repeated_of(message, FLOATS);
    for (tw_field f; tw_repeated_next(&r, &f);) *x++ = tw_wire_float(f.bits);
    return TW_OK;
}

static tw_status read_ints(const tw_source *source, tw_bytes message, int n, tw_attribute *out)
{
    int64_t *x;
    TW_ALLOC(source->arena, x, n);
    out->ints = x;
    out->n = n;
    tw_repeated r = tw_repeated_of(message, INTS);
    for (tw_field f; tw_repeated_next(&r, &f);) *x++ = (int64_t)f.bits;
    return TW_OK;
}

static tw_status read_strings(const tw_source *source, tw_bytes message, int n, tw_attribute *out)
{
    const char **x;
    TW_ALLOC(source->arena, x, n);
    out->strings = x;
    out->n = n;
    tw_repeated r = tw_repeated_of(message, STRINGS);
    for (tw_field f; tw_repeated_next(&r, &f); x++)
        if (!(*x = tw_arena_strndup(source->arena, (const char *)f.bytes.at, f.bytes.n))) return TW_ERR_NOMEM;
    return TW_OK;
}

static tw_status read_string(const tw_source *source, tw_bytes bytes, tw_attribute *out)
{
    out->s = tw_arena_strndup(source->arena, (const char *)bytes.at, bytes.n);
    out->s_bytes = bytes.n;
    return out->s ? TW_OK : TW_ERR_NOMEM;
}

static tw_status read_tensor(const tw_source *source, tw_bytes bytes, bool sparse, tw_attribute *out)
{
    tw_constant *tensor;
    TW_ALLOC(source->arena, tensor, 1);
    out->tensor = tensor;
    return sparse ? tw_constant_of_sparse(source, bytes, tensor) : tw_constant_of(source, bytes, tensor);
}

/* The part of the fields that its kind names. */
static tw_status take(tw_reader *reader, tw_bytes message, const fields *f, int graph, tw_attribute *out)
{
    const tw_source *source = &reader->source;
    switch (out->kind) {
    case TW_ATTR_NONE: return TW_OK;
    case TW_ATTR_FLOAT: out->f = tw_wire_float(f->f); return TW_OK;
    case TW_ATTR_INT: out->i = (int64_t)f->i; return TW_OK;
    case TW_ATTR_STRING: return read_string(source, f->s, out);
    case TW_ATTR_FLOATS: return read_floats(source, message, f->n_floats, out);
    case TW_ATTR_INTS: return read_ints(source, message, f->n_ints, out);
    case TW_ATTR_STRINGS: return read_strings(source, message, f->n_strings, out);
    case TW_ATTR_TENSOR:
        if (!f->t.at) return tw_source_error(source, "attribute '%.*s' has no tensor", TW_FIRST(200, out->name));
        return read_tensor(source, f->t, false, out);
    case TW_ATTR_GRAPH:
        if (!f->g.at) return tw_source_error(source, "attribute '%.*s' has no graph", TW_FIRST(200, out->name));
        return tw_reader_graph(reader, f->g, graph, &out->graph);
    case TW_ATTR_OTHER: return f->sparse.at ? read_tensor(source, f->sparse, true, out) : TW_OK;
    }
    return TW_OK;
}

tw_status tw_reader_attribute(tw_reader *reader, tw_bytes message, int graph, tw_attribute *out)
{
    fields f;
    TW_TRY(collect(&reader->source, message, &f));
    TW_TRY(count_lists(&reader->source, message, &f));
    *out = (tw_attribute){
        .name = tw_source_name(f.name, reader->source.arena), .kind = kind_of(&f), .s = "", .graph = -1};
    return out->name ? take(reader, message, &f, graph, out) : TW_ERR_NOMEM;
}
