/* src/onnx/constant.c - tensors: what they say of themselves when they are found, their elements when they are asked for.
 *
 * Elements lie in one of three ways: raw_data (dense, little-endian), a typed field (float_data, int32_data, ..; numbers
 * as protobuf has them), or another file. int32_data carries every type of at most 32 bits that is no float of 32. */
#include "onnx/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw data is handed out as it lies in the file");

/* ---- what a message says ---- */

static tw_status fail(const tw_source *source, const tw_constant *c, const char *what)
{
    return tw_source_error(source, "tensor '%.*s' at byte %" PRId64 ": %s", TW_FIRST(200, c->name), c->offset,
                           what);
}

static tw_status add_dim(const tw_source *source, uint64_t bits, tw_constant *c)
{
    char text[96];
    if (c->n_dims == TW_ONNX_MAX_DIMS) {
        snprintf(text, sizeof text, "more than %d dimensions", TW_ONNX_MAX_DIMS);
        return fail(source, c, text);
    }
    int64_t dim = (int64_t)bits;
    c->dim[c->n_dims++] = dim;
    if (dim >= 0 && tw_ckd_mul(c->n_elems, dim, &c->n_elems)) return TW_OK;
    snprintf(text, sizeof text,
             dim < 0 ? "dimension %d is %" PRId64 : "dimension %d, %" PRId64 ", makes it too large", c->n_dims - 1,
             dim);
    return fail(source, c, text);
}

static tw_status add_dims(const tw_source *source, tw_bytes packed, tw_constant *c)
{
    tw_wire w = tw_wire_of(packed);
    for (uint64_t bits; tw_wire_number(&w, TW_WIRE_VARINT(1), &bits);) TW_TRY(add_dim(source, bits, c));
    return tw_source_end(source, &w, "dims");
}

/* "4096" as a number; false when it is none or negative. */
static bool decimal_of(tw_bytes text, int64_t *out)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        if (!tw_ckd_mul(value, 10, &value) || !tw_ckd_add(value, text.at[i] - '0', &value)) return false;
    }
    *out = value;
    return text.n > 0;
}

static bool is(tw_bytes text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.at, word, text.n) == 0;
}

/* A StringStringEntryProto of external_data. */
static tw_status read_external(const tw_source *source, tw_bytes message, tw_constant *c)
{
    tw_bytes key = {message.at, 0}, value = key;
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == TW_WIRE_BYTES(1)) key = f.bytes;
        if (f.tag == TW_WIRE_BYTES(2)) value = f.bytes;
    }
    TW_TRY(tw_source_end(source, &w, "external data"));
    if (is(key, "location")) {
        if (memchr(value.at, 0, value.n)) return fail(source, c, "the location of its external data holds a zero");
        c->location = tw_arena_strndup(source->arena, (const char *)value.at, value.n);
        return c->location ? TW_OK : TW_ERR_NOMEM;
    }
    if (is(key, "offset") && !decimal_of(value, &c->external_offset))
        return fail(source, c, "the offset of its external data is no number");
    if (is(key, "length") && !decimal_of(value, &c->external_bytes))
        return fail(source, c, "the length of its external data is no number");
    return TW_OK;
}

static tw_status read_field(const tw_source *source, const tw_field *f, tw_constant *c, tw_bytes *raw)
{
    switch (f->tag) {
    case TW_WIRE_VARINT(1): return add_dim(source, f->bits, c);
    case TW_WIRE_BYTES(1): return add_dims(source, f->bytes, c);
    case TW_WIRE_VARINT(2): c->type = tw_onnx_type_of_number(f->bits); break;
    case TW_WIRE_BYTES(3): return fail(source, c, "it is one segment of a tensor");
    case TW_WIRE_BYTES(9): *raw = f->bytes; break;
    case TW_WIRE_BYTES(13): return read_external(source, f->bytes, c);
    case TW_WIRE_VARINT(14): c->external = f->bits == 1; break;
    default: break;
    }
    return TW_OK;
}

/* The name comes late in the message, and messages want it early. */
static tw_status read_name(const tw_source *source, tw_bytes message, tw_constant *c)
{
    tw_bytes name = {message.at, 0};
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);)
        if (f.tag == TW_WIRE_BYTES(8)) name = f.bytes;
    TW_TRY(tw_source_end(source, &w, "tensor"));
    c->name = tw_source_name(name, source->arena);
    c->name_at = name.at;
    c->name_bytes = name.n;
    return c->name ? TW_OK : TW_ERR_NOMEM;
}

/* Raw bytes must be as many as type and shape say; a type without a size has none. */
static tw_status take_raw(const tw_source *source, tw_bytes raw, tw_constant *c)
{
    int64_t need, size = tw_onnx_type_bytes(c->type);
    char text[TW_SHAPE_MAX + 96], shape[TW_SHAPE_MAX];
    if (!tw_ckd_mul(c->n_elems, tw_max(size, 1), &need)) return fail(source, c, "it is too large");
    if (!raw.at || size == 0 || c->external) return TW_OK;
    c->raw = raw.at;
    if ((uint64_t)need == raw.n) return TW_OK;
    snprintf(text, sizeof text, "raw data of %zu bytes, %s %s needs %" PRId64, raw.n, tw_onnx_type_name(c->type),
             tw_onnx_shape(c->dim, c->n_dims, shape), need);
    return fail(source, c, text);
}

tw_status tw_constant_of(const tw_source *source, tw_bytes message, tw_constant *out)
{
    tw_constant c = {.n_elems = 1,
                     .offset = tw_source_offset(source, message.at),
                     .message = message.at,
                     .message_bytes = message.n,
                     .external_bytes = -1};
    tw_bytes raw = {NULL, 0};
    TW_TRY(read_name(source, message, &c));
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) TW_TRY(read_field(source, &f, &c, &raw));
    if (c.external && !c.location) return fail(source, &c, "external data without a location");
    TW_TRY(take_raw(source, raw, &c));
    *out = c;
    return TW_OK;
}

tw_status tw_constant_of_sparse(const tw_source *source, tw_bytes message, tw_constant *out)
{
    tw_constant values = {.name = ""},
                c = {.n_elems = 1, .offset = tw_source_offset(source, message.at), .name = ""};
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == TW_WIRE_BYTES(1)) TW_TRY(tw_constant_of(source, f.bytes, &values));
        if (f.tag == TW_WIRE_VARINT(3)) TW_TRY(add_dim(source, f.bits, &c));
        if (f.tag == TW_WIRE_BYTES(3)) TW_TRY(add_dims(source, f.bytes, &c));
    }
    TW_TRY(tw_source_end(source, &w, "sparse tensor"));
    c.name = values.name;
    c.name_at = values.name_at;
    c.name_bytes = values.name_bytes;
    c.type = values.type;
    TW_TRY(take_raw(source, (tw_bytes){NULL, 0}, &c));
    *out = c;
    return TW_OK;
}

tw_status tw_constant_parse(const char *path, const uint8_t *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                            const tw_constant **out)
{
    tw_source source = {path, {bytes, n}, arena, diag, NULL};
    tw_constant *c;
    TW_ALLOC(arena, c, 1);
    TW_TRY(tw_constant_of(&source, source.bytes, c));
    *out = c;
    return TW_OK;
}

/* ---- the value of a Constant node ---- */

/* A list of `n` elements, or one element without dims when n is -1, that the reader has made. */
static tw_constant made(const tw_onnx_node *node, tw_onnx_type type, int n, const void *elements)
{
    tw_constant c = {.name = "", .type = type, .n_elems = n < 0 ? 1 : n, .offset = node->offset, .raw = elements};
    if (n >= 0) c.dim[c.n_dims++] = n;
    return c;
}

/* The elements of an attribute that holds a Constant's value; no name: it does not. */
static tw_constant value_of(const tw_onnx_node *node, const tw_attribute *a)
{
    switch (a->kind) {
    case TW_ATTR_FLOAT: return made(node, TW_ONNX_F32, -1, &a->f);
    case TW_ATTR_INT: return made(node, TW_ONNX_I64, -1, &a->i);
    case TW_ATTR_STRING: return made(node, TW_ONNX_STRING, -1, &a->s);
    case TW_ATTR_FLOATS: return made(node, TW_ONNX_F32, a->n, a->floats);
    case TW_ATTR_INTS: return made(node, TW_ONNX_I64, a->n, a->ints);
    case TW_ATTR_STRINGS: return made(node, TW_ONNX_STRING, a->n, a->strings);
    case TW_ATTR_TENSOR:
    case TW_ATTR_OTHER: return a->tensor ? *a->tensor : (tw_constant){0};
    case TW_ATTR_GRAPH:
    case TW_ATTR_NONE: break;
    }
    return (tw_constant){0};
}

tw_status tw_constant_of_node(const tw_source *source, const tw_onnx_node *node, const tw_constant **out)
{
    *out = NULL;
    for (int i = 0; i < node->n_attributes && !*out; i++) {
        const tw_attribute *a = &node->attribute[i];
        if (strncmp(a->name, "value", 5) != 0 && strcmp(a->name, "sparse_value") != 0) continue;
        tw_constant c = value_of(node, a), *copy;
        if (!c.name) continue;
        TW_ALLOC(source->arena, copy, 1);
        *copy = c;
        *out = copy;
    }
    return TW_OK;
}

/* ---- elements in typed fields ---- */

typedef struct typed { /* how the elements of a type lie in their field */
    uint32_t tag;
    int parts;      /* numbers per element */
    int64_t lo, hi; /* of the numbers, where the field is wider than the type */
} typed;

/* false: there is no field for this type. */
static bool typed_of(tw_onnx_type type, typed *out)
{
    enum {
        FLOATS = TW_WIRE_FIXED32(4),
        INT32S = TW_WIRE_VARINT(5),
        STRINGS = TW_WIRE_BYTES(6),
        INT64S = TW_WIRE_VARINT(7),
        DOUBLES = TW_WIRE_FIXED64(10),
        UINT64S = TW_WIRE_VARINT(11)
    };
    switch (type) {
    case TW_ONNX_F32: *out = (typed){FLOATS, 1, 0, 0}; return true;
    case TW_ONNX_C64: *out = (typed){FLOATS, 2, 0, 0}; return true;
    case TW_ONNX_F64: *out = (typed){DOUBLES, 1, 0, 0}; return true;
    case TW_ONNX_C128: *out = (typed){DOUBLES, 2, 0, 0}; return true;
    case TW_ONNX_STRING: *out = (typed){STRINGS, 1, 0, 0}; return true;
    case TW_ONNX_U8: *out = (typed){INT32S, 1, 0, UINT8_MAX}; return true;
    case TW_ONNX_I8: *out = (typed){INT32S, 1, INT8_MIN, INT8_MAX}; return true;
    case TW_ONNX_BOOL: *out = (typed){INT32S, 1, 0, 1}; return true;
    case TW_ONNX_I16: *out = (typed){INT32S, 1, INT16_MIN, INT16_MAX}; return true;
    case TW_ONNX_U16:
    case TW_ONNX_F16:
    case TW_ONNX_BF16: *out = (typed){INT32S, 1, 0, UINT16_MAX}; return true;
    case TW_ONNX_I32: *out = (typed){INT32S, 1, INT32_MIN, INT32_MAX}; return true;
    case TW_ONNX_I64: *out = (typed){INT64S, 1, INT64_MIN, INT64_MAX}; return true;
    case TW_ONNX_U32: *out = (typed){UINT64S, 1, 0, UINT32_MAX}; return true;
    case TW_ONNX_U64: *out = (typed){UINT64S, 1, INT64_MIN, INT64_MAX}; return true;
    case TW_ONNX_NONE:
    case TW_ONNX_N_TYPES: break;
    }
    return false;
}

static bool is_number(uint32_t tag) { return (tag & 7) == TW_WIRE_VARINT(0); }

/* The numbers in the field, of which at most so many are counted; -1 when they cannot be walked. */
static int64_t count_typed(const tw_constant *c, const typed *how, int64_t most)
{
    if (!c->message) return 0;
    tw_repeated r = tw_repeated_of((tw_bytes){c->message, c->message_bytes}, how->tag);
    int64_t n = 0;
    for (tw_field f; n < most && tw_repeated_next(&r, &f);) n++;
    return tw_repeated_broken(&r) ? -1 : n;
}

/* Whether the field has as many numbers as the shape says. A field that is longer is not walked to its end: whoever made it may
 * let a million nodes ask. */
static bool all_there(const tw_constant *c, const typed *how)
{
    int64_t need, beyond;
    return tw_ckd_mul(c->n_elems, how->parts, &need) && tw_ckd_add(need, 1, &beyond) &&
           count_typed(c, how, beyond) == need;
}

static tw_status read_strings(const tw_source *source, const tw_constant *c, const typed *how, const void **out)
{
    const char **text;
    TW_ALLOC(source->arena, text, c->n_elems);
    tw_repeated r = tw_repeated_of((tw_bytes){c->message, c->message_bytes}, how->tag);
    int64_t n = 0;
    for (tw_field f; tw_repeated_next(&r, &f); n++) {
        text[n] = tw_arena_strndup(source->arena, (const char *)f.bytes.at, f.bytes.n);
        if (!text[n]) return TW_ERR_NOMEM;
    }
    *out = text;
    return TW_OK;
}

static tw_status read_numbers(const tw_source *source, const tw_constant *c, const typed *how, const void **out)
{
    size_t size = (size_t)tw_onnx_type_bytes(c->type) / (size_t)how->parts;
    uint8_t *bytes = tw_arena_alloc(source->arena, (size_t)c->n_elems * (size_t)how->parts, size), *to = bytes;
    if (!bytes) return TW_ERR_NOMEM;
    tw_repeated r = tw_repeated_of((tw_bytes){c->message, c->message_bytes}, how->tag);
    for (tw_field f; tw_repeated_next(&r, &f); to += size) {
        int64_t x = how->tag == TW_WIRE_VARINT(5) ? (int32_t)f.bits : (int64_t)f.bits;
        if (is_number(how->tag) && (x < how->lo || x > how->hi))
            return tw_source_error(source, "tensor '%.*s' at byte %" PRId64 ": %" PRId64 " is outside %s",
                                   TW_FIRST(200, c->name), c->offset, x, tw_onnx_type_name(c->type));
        memcpy(to, &f.bits, size);
    }
    *out = bytes;
    return TW_OK;
}

static tw_status check_typed(const tw_source *source, const tw_constant *c, typed *how)
{
    char text[TW_SHAPE_MAX + 96], shape[TW_SHAPE_MAX];
    if (!typed_of(c->type, how)) return fail(source, c, "elements of its type cannot be read");
    if (!c->message) return fail(source, c, "elements of sparse tensors cannot be read");
    if (all_there(c, how)) return TW_OK;
    int64_t have = count_typed(c, how, INT64_MAX), need = c->n_elems * how->parts;
    snprintf(text, sizeof text, "%" PRId64 " numbers in its field, %s %s needs %" PRId64, have,
             tw_onnx_type_name(c->type), tw_onnx_shape(c->dim, c->n_dims, shape), need);
    return fail(source, c, have < 0 ? "its numbers are cut off" : text);
}

static tw_status read_typed(const tw_source *source, const tw_constant *c, const void **out)
{
    typed how;
    TW_TRY(check_typed(source, c, &how));
    return c->type == TW_ONNX_STRING ? read_strings(source, c, &how, out) : read_numbers(source, c, &how, out);
}

/* ---- elements in another file ---- */

/* Inside the folder of the model: relative, and no ".." among its parts. */
static bool residencies_inside(const char *location)
{
    if (location[0] == '/' || location[0] == 0) return false;
    for (const char *part = location; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0)) return false;
    return true;
}

/* Opens the file, which lies beside the model, when it is a regular one; -1 with errno otherwise. Allocates nothing: want of
 * memory would look like a file that is missing. */
static int open_external(const tw_constant *c, const char *model, int64_t *size)
{
    char path[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(model, '/');
    int n = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - model) + 1 : 0, model, c->location);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = st.st_size;
        return fd;
    }
    close(fd);
    errno = ENOENT;
    return -1;
}

/* Bytes of the part of the file that is the tensor's; negative when it starts behind the end. */
static int64_t external_room(const tw_constant *c, int64_t size)
{
    int64_t behind = size - tw_min(c->external_offset, size);
    return c->external_bytes < 0 ? behind : tw_min(behind, c->external_bytes);
}

static int64_t bytes_needed(const tw_constant *c) { return c->n_elems * tw_onnx_type_bytes(c->type); }

/* pread until all is there; false when the file ends or fails before. */
static bool read_whole(int fd, uint8_t *to, int64_t n, int64_t from)
{
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(fd, to + done, (size_t)(n - done), from + done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += got;
    }
    return true;
}

static tw_status cannot_open(const tw_source *source, const tw_constant *c, int error)
{
    char text[512];
    if (error == ENOMEM) return TW_ERR_NOMEM;
    if (error == ENOENT || error == ENOTDIR)
        snprintf(text, sizeof text, "its external data '%.*s' is not there", TW_FIRST(200, c->location));
    else
        snprintf(text, sizeof text, "its external data '%.*s' cannot be opened: %s", TW_FIRST(200, c->location),
                 strerror(error));
    return fail(source, c, text);
}

/* Opens the file, which is long enough. */
static tw_status open_whole(const tw_source *source, const tw_constant *c, int *fd)
{
    char text[512];
    int64_t size;
    if (tw_onnx_type_bytes(c->type) == 0) return fail(source, c, "elements of its type cannot be read");
    if (!residencies_inside(c->location)) {
        snprintf(text, sizeof text, "its external data '%.*s' lies outside the model's folder",
                 TW_FIRST(200, c->location));
        return fail(source, c, text);
    }
    *fd = open_external(c, source->path, &size);
    if (*fd < 0) return cannot_open(source, c, errno);
    int64_t need = bytes_needed(c), room = external_room(c, size);
    if (room >= need) return TW_OK;
    close(*fd);
    snprintf(text, sizeof text, "'%.*s' has %" PRId64 " bytes of it from byte %" PRId64 ", %" PRId64 " are needed",
             TW_FIRST(200, c->location), room, c->external_offset, need);
    return fail(source, c, text);
}

static tw_status read_opened(const tw_source *source, const tw_constant *c, int fd, const void **out)
{
    int64_t need = bytes_needed(c);
    uint8_t *bytes = tw_arena_alloc(source->arena, (size_t)tw_max(need, 1), 1);
    if (!bytes) return TW_ERR_NOMEM;
    *out = bytes;
    if (read_whole(fd, bytes, need, c->external_offset)) return TW_OK;
    return tw_diag_io(source->diag, (tw_loc){source->path, 0, 0}, "tensor '%.*s': '%.*s' cannot be read",
                      TW_FIRST(200, c->name), TW_FIRST(200, c->location));
}

static tw_status read_file(const tw_source *source, const tw_constant *c, const void **out)
{
    int fd;
    const void *elements = NULL;
    TW_TRY(open_whole(source, c, &fd));
    tw_status status = read_opened(source, c, fd, &elements);
    close(fd);
    if (status == TW_OK) *out = elements;
    return status;
}

/* ---- elements ---- */

static bool external_is_there(const tw_constant *c, const char *model)
{
    int64_t size;
    if (tw_onnx_type_bytes(c->type) == 0 || !residencies_inside(c->location)) return false;
    int fd = open_external(c, model, &size);
    if (fd < 0) return false;
    close(fd);
    return external_room(c, size) >= bytes_needed(c);
}

bool tw_constant_is_there(const tw_constant *constant, const char *path)
{
    typed how;
    if (constant->external) return external_is_there(constant, path);
    if (constant->raw) return true;
    return constant->message && typed_of(constant->type, &how) && all_there(constant, &how);
}

tw_status tw_constant_check(const tw_constant *constant, const char *path, tw_diag *diag)
{
    tw_source source = {path, {NULL, 0}, NULL, diag, NULL};
    typed how;
    int fd;
    if (!constant->external) return constant->raw ? TW_OK : check_typed(&source, constant, &how);
    TW_TRY(open_whole(&source, constant, &fd));
    close(fd);
    return TW_OK;
}

/* Alignment that a C program expects of the type's elements. */
static size_t alignment_of(const tw_constant *c)
{
    return c->type == TW_ONNX_STRING ? _Alignof(char *) : (size_t)tw_min(tw_onnx_type_bytes(c->type), 8);
}

tw_status tw_constant_read(const tw_constant *constant, const char *path, tw_arena *arena, tw_diag *diag,
                           const void **out)
{
    tw_source source = {path, {NULL, 0}, arena, diag, NULL};
    if (constant->external) return read_file(&source, constant, out);
    if (!constant->raw) return read_typed(&source, constant, out);
    if ((uintptr_t)constant->raw % alignment_of(constant) == 0) {
        *out = constant->raw;
        return TW_OK;
    }
    uint8_t *copy = tw_arena_alloc(arena, (size_t)tw_max(bytes_needed(constant), 1), 1);
    if (!copy) return TW_ERR_NOMEM;
    memcpy(copy, constant->raw, (size_t)bytes_needed(constant));
    *out = copy;
    return TW_OK;
}
