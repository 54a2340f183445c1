/* src/onnx/file.c - models: the file around the main graph. */
#include "onnx/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct model { /* ModelProto, as far as we care */
    tw_bytes graph, producer;
    int64_t ir_version;
    int n_opsets;
} model;

static tw_status read_model(const tw_source *source, model *out)
{
    tw_wire w = tw_wire_of(source->bytes);
    *out = (model){.producer = {source->bytes.at, 0}};
    for (tw_field f; tw_wire_next(&w, &f);) switch (f.tag) {
        case TW_WIRE_VARINT(1): out->ir_version = (int64_t)f.bits; break;
        case TW_WIRE_BYTES(2): out->producer = f.bytes; break;
        case TW_WIRE_BYTES(7):
            if (out->graph.at)
                return tw_source_error(source, "a second graph at byte %" PRId64,
                                       tw_source_offset(source, f.bytes.at));
            out->graph = f.bytes;
            break;
        case TW_WIRE_BYTES(8):
            if (++out->n_opsets > TW_ONNX_MAX_OPSETS)
                return tw_source_error(source, "more than %d operator sets", TW_ONNX_MAX_OPSETS);
            break;
        default: break;
        }
    TW_TRY(tw_source_end(source, &w, "model"));
    return out->graph.at ? TW_OK : tw_source_error(source, "no graph in it: this is not an ONNX model");
}

/* OperatorSetIdProto. */
static tw_status read_opset(const tw_source *source, tw_bytes message, const char **domain, int64_t *version)
{
    tw_bytes name = {message.at, 0};
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == TW_WIRE_BYTES(1)) name = f.bytes;
        if (f.tag == TW_WIRE_VARINT(2)) *version = (int64_t)f.bits;
    }
    TW_TRY(tw_source_end(source, &w, "operator set"));
    *domain = tw_source_name(name, source->arena);
    if (!*domain) return TW_ERR_NOMEM;
    if (strcmp(*domain, "ai.onnx") == 0) *domain = "";
    return TW_OK;
}

static tw_status read_opsets(const tw_source *source, int n, tw_graph_file *file)
{
    const char **domain;
    int64_t *version;
    TW_ALLOC(source->arena, domain, n);
    TW_ALLOC(source->arena, version, n);
    tw_wire w = tw_wire_of(source->bytes);
    for (tw_field f; tw_wire_next(&w, &f);)
        if (f.tag == TW_WIRE_BYTES(8)) TW_TRY(read_opset(source, f.bytes, domain++, version++));
    file->opset_domain = domain - n;
    file->opset_version = version - n;
    file->n_opsets = n;
    return TW_OK;
}

/* What grew in the scratch arena, at its final size. */
static tw_status keep(const tw_reader *reader, tw_graph_file *file)
{
    tw_graph *graph;
    tw_value *value;
    int n_values = tw_scope_n_values(reader->scope);
    TW_ALLOC(reader->source.arena, graph, reader->n_graphs);
    TW_ALLOC(reader->source.arena, value, n_values);
    memcpy(graph, reader->graph, (size_t)reader->n_graphs * sizeof *graph);
    if (n_values > 0) memcpy(value, tw_scope_value(reader->scope, 0), (size_t)n_values * sizeof *value);
    file->graph = graph;
    file->n_graphs = reader->n_graphs;
    file->value = value;
    file->n_values = n_values;
    return TW_OK;
}

static tw_status read_file(const tw_source *source, tw_arena *scratch, tw_graph_file *file)
{
    model m;
    int main_graph;
    TW_TRY(read_model(source, &m));
    TW_TRY(read_opsets(source, m.n_opsets, file));
    file->ir_version = m.ir_version;
    file->producer = tw_source_name(m.producer, source->arena);
    tw_reader reader = {.source = *source,
                        .scratch = scratch,
                        .scope = tw_scope_new(source->arena, scratch),
                        .pulse = {.deadline = source->diag->deadline}};
    if (!file->producer || !reader.scope) return TW_ERR_NOMEM;
    tw_status status = tw_reader_graph(&reader, m.graph, -1, &main_graph);
    if (status == TW_STOPPED)
        return tw_diag_stopped(source->diag, (tw_loc){source->path, 0, 0}, "the reading of the network");
    if (status != TW_OK) return status;
    return reader.wrong ? TW_ERR_INPUT : keep(&reader, file);
}

tw_status tw_graph_read(const char *path, const uint8_t *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                        const tw_graph_file **out)
{
    tw_source source = {path, {bytes, n}, arena, diag, NULL};
    tw_graph_file *file;
    TW_ALLOC(arena, file, 1);
    *file = (tw_graph_file){.path = tw_arena_strndup(arena, path, strlen(path)), .bytes = bytes, .n_bytes = n};
    tw_arena *scratch = tw_arena_new();
    tw_status status = file->path && scratch ? read_file(&source, scratch, file) : TW_ERR_NOMEM;
    tw_arena_free(scratch);
    if (status == TW_OK) *out = file;
    return status;
}

/* ---- the file ---- */

static tw_status map_opened(const char *path, int fd, tw_diag *diag, tw_bytes *out)
{
    struct stat st;
    tw_loc loc = {path, 0, 0};
    if (fstat(fd, &st) != 0) return tw_diag_io(diag, loc, "cannot be read: %s", strerror(errno));
    if (!S_ISREG(st.st_mode)) return tw_diag_io(diag, loc, "cannot be read: not a regular file");
    if (st.st_size == 0) return tw_diag_error(diag, loc, "the file is empty");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return tw_diag_io(diag, loc, "cannot be mapped: %s", strerror(errno));
    *out = (tw_bytes){at, (size_t)st.st_size};
    return TW_OK;
}

/* Not blocking: a pipe is no model, and would wait for its writer. */
static tw_status map_file(const char *path, tw_diag *diag, tw_bytes *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot be read: %s", strerror(errno));
    tw_status status = map_opened(path, fd, diag, out);
    close(fd);
    return status;
}

tw_status tw_graph_open(const char *path, tw_arena *arena, tw_diag *diag, const tw_graph_file **out)
{
    tw_bytes bytes = {NULL, 0};
    const tw_graph_file *file;
    tw_graph_file *mapped;
    TW_ALLOC(arena, mapped, 1);
    TW_TRY(map_file(path, diag, &bytes));
    tw_status status = tw_graph_read(path, bytes.at, bytes.n, arena, diag, &file);
    if (status != TW_OK) {
        munmap((void *)bytes.at, bytes.n);
        return status;
    }
    *mapped = *file;
    mapped->mapped = true;
    *out = mapped;
    return TW_OK;
}

void tw_graph_close(const tw_graph_file *file)
{
    if (file && file->mapped) munmap((void *)file->bytes, file->n_bytes);
}

/* ---- looking things up ---- */

int64_t tw_graph_opset(const tw_graph_file *file, const char *domain)
{
    if (strcmp(domain, "ai.onnx") == 0) domain = "";
    for (int i = 0; i < file->n_opsets; i++)
        if (strcmp(file->opset_domain[i], domain) == 0) return file->opset_version[i];
    return 0;
}

const tw_attribute *tw_onnx_attribute(const tw_onnx_node *node, const char *name)
{
    for (int i = 0; i < node->n_attributes; i++)
        if (strcmp(node->attribute[i].name, name) == 0) return &node->attribute[i];
    return NULL;
}

int64_t tw_onnx_int(const tw_onnx_node *node, const char *name, int64_t fallback)
{
    const tw_attribute *a = tw_onnx_attribute(node, name);
    return a && a->kind == TW_ATTR_INT ? a->i : fallback;
}

float tw_onnx_float(const tw_onnx_node *node, const char *name, float fallback)
{
    const tw_attribute *a = tw_onnx_attribute(node, name);
    return a && a->kind == TW_ATTR_FLOAT ? a->f : fallback;
}

const char *tw_onnx_string(const tw_onnx_node *node, const char *name, const char *fallback)
{
    const tw_attribute *a = tw_onnx_attribute(node, name);
    return a && a->kind == TW_ATTR_STRING ? a->s : fallback;
}
