/* src/onnx/graph.c - graphs. Names may be used in a file before they are defined in it (initializers come behind the nodes
 * that read them), so a graph is read in the order of meaning, not of the file: its parts are listed, then constants, inputs
 * and what nodes write are defined, then the nodes are read, and sorted where they have to be. */
#include "onnx/reader.h"

#include <stdio.h>
#include <string.h>

#define PARTS(X) X(node, 1) X(constant, 5) X(input, 11) X(output, 12) X(info, 13) X(sparse, 15)

typedef struct parts { /* messages of a graph by their field */
    tw_bytes name;
#define X(part, field) \
    tw_bytes *part;    \
    int n_##part##s;
    PARTS(X)
#undef X
} parts;

tw_status tw_reader_charge(tw_reader *reader, int64_t n_items)
{
    reader->n_items += n_items;
    if (reader->n_items <= TW_ONNX_MAX_ITEMS) return TW_OK;
    return tw_source_error(&reader->source, "more than %d nodes, values, attributes and inputs", TW_ONNX_MAX_ITEMS);
}

/* Everything is counted before anything is made of it: what is too much costs nothing but the walk. */
static tw_status count_parts(tw_reader *reader, tw_bytes message, parts *out)
{
    tw_wire w = tw_wire_of(message);
    int64_t n = 0;
    *out = (parts){.name = {message.at, 0}};
    for (tw_field f; tw_wire_next(&w, &f); n++) {
        if (f.tag == TW_WIRE_BYTES(1)) n += tw_reader_node_items(f.bytes);
        if (n >= TW_ONNX_MAX_ITEMS) return tw_reader_charge(reader, n + 1);
        if (f.tag == TW_WIRE_BYTES(2)) out->name = f.bytes;
#define X(part, field) \
    if (f.tag == TW_WIRE_BYTES(field)) out->n_##part##s++;
        PARTS(X)
#undef X
    }
    TW_TRY(tw_source_end(&reader->source, &w, "graph"));
    return tw_reader_charge(reader, n);
}

static tw_status list_parts(tw_reader *reader, tw_bytes message, parts *out)
{
    TW_TRY(count_parts(reader, message, out));
#define X(part, field)                                      \
    TW_ALLOC(reader->scratch, out->part, out->n_##part##s); \
    out->n_##part##s = 0;
    PARTS(X)
#undef X
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) {
#define X(part, field) \
    if (f.tag == TW_WIRE_BYTES(field)) out->part[out->n_##part##s++] = f.bytes;
        PARTS(X)
#undef X
    }
    return TW_OK;
}

/* ---- definitions ---- */

static tw_status define_constant(tw_reader *reader, const tw_constant *constant, int graph)
{
    const tw_source *source = &reader->source;
    tw_bytes bytes = {constant->name_at, constant->name_bytes};
    if (bytes.n == 0) return tw_source_error(source, "constant at byte %" PRId64 " has no name", constant->offset);
    int name = tw_scope_name(reader->scope, bytes);
    if (name < 0) return TW_ERR_NOMEM;
    int before = tw_scope_find(reader->scope, name);
    if (before >= 0 && tw_scope_value(reader->scope, before)->graph == graph)
        return tw_source_error(source, "constant '%.*s' at byte %" PRId64 " is there twice",
                               TW_FIRST(200, constant->name), constant->offset);
    int value = tw_scope_define(reader->scope, name, graph);
    if (value < 0) return TW_ERR_NOMEM;
    tw_scope_value(reader->scope, value)->constant = constant;
    return TW_OK;
}

static tw_status define_constants(tw_reader *reader, const tw_bytes *message, int n, int graph, bool sparse)
{
    tw_constant *constant;
    TW_ALLOC(reader->source.arena, constant, n);
    for (int i = 0; i < n; i++) {
        TW_TRY(tw_reader_beat(reader));
        TW_TRY(sparse ? tw_constant_of_sparse(&reader->source, message[i], &constant[i])
                      : tw_constant_of(&reader->source, message[i], &constant[i]));
        TW_TRY(define_constant(reader, &constant[i], graph));
    }
    return TW_OK;
}

typedef struct info { /* ValueInfoProto */
    int name;         /* -1: none */
    tw_bytes type;
} info;

static tw_status read_info(tw_reader *reader, tw_bytes message, info *out)
{
    tw_wire w = tw_wire_of(message);
    tw_bytes name = {message.at, 0};
    *out = (info){.name = -1};
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == TW_WIRE_BYTES(1)) name = f.bytes;
        if (f.tag == TW_WIRE_BYTES(2)) out->type = f.bytes;
    }
    TW_TRY(tw_source_end(&reader->source, &w, "value"));
    if (name.n > 0 && (out->name = tw_scope_name(reader->scope, name)) < 0) return TW_ERR_NOMEM;
    return TW_OK;
}

/* The value of that name in this very graph, -1: none. */
static int find_here(const tw_reader *reader, int name, int graph)
{
    int value = name < 0 ? -1 : tw_scope_find(reader->scope, name);
    return value >= 0 && tw_scope_value(reader->scope, value)->graph == graph ? value : -1;
}

static tw_status declare(tw_reader *reader, const info *in, int graph)
{
    tw_declared declared;
    int value = find_here(reader, in->name, graph);
    if (value < 0 || !in->type.at) return TW_OK;
    TW_TRY(tw_declared_of(&reader->source, in->type, &declared));
    tw_scope_value(reader->scope, value)->declared = declared;
    return TW_OK;
}

/* What is listed as an input and has a constant is that constant: files before IR version 4 list them all. */
static tw_status define_input(tw_reader *reader, tw_bytes message, int graph, int *out)
{
    info in;
    *out = -1;
    TW_TRY(read_info(reader, message, &in));
    int64_t offset = tw_source_offset(&reader->source, message.at);
    if (in.name < 0) return tw_source_error(&reader->source, "input at byte %" PRId64 " has no name", offset);
    int before = find_here(reader, in.name, graph);
    if (before >= 0 && !tw_scope_value(reader->scope, before)->constant)
        return tw_source_error(&reader->source, "input '%.*s' at byte %" PRId64 " is there twice",
                               TW_FIRST(200, tw_scope_text(reader->scope, in.name)), offset);
    if (before < 0 && (*out = tw_scope_define(reader->scope, in.name, graph)) < 0) return TW_ERR_NOMEM;
    return TW_OK;
}

static tw_status define_inputs(tw_reader *reader, const parts *p, int g)
{
    int *input, n = 0;
    TW_ALLOC(reader->source.arena, input, p->n_inputs);
    for (int i = 0; i < p->n_inputs; i++) {
        int value;
        TW_TRY(tw_reader_beat(reader));
        TW_TRY(define_input(reader, p->input[i], g, &value));
        if (value >= 0) input[n++] = value;
    }
    reader->graph[g].input = input;
    reader->graph[g].n_inputs = n;
    return TW_OK;
}

static tw_status declare_all(tw_reader *reader, const tw_bytes *message, int n, int graph)
{
    for (int i = 0; i < n; i++) {
        info in;
        TW_TRY(tw_reader_beat(reader));
        TW_TRY(read_info(reader, message[i], &in));
        TW_TRY(declare(reader, &in, graph));
    }
    return TW_OK;
}

/* ---- nodes and outputs ---- */

/* The array is in its graph before it is filled: messages about one node may name another. */
static tw_status define_nodes(tw_reader *reader, const parts *p, int g, tw_onnx_node *node)
{
    reader->graph[g].node = node;
    reader->graph[g].n_nodes = p->n_nodes;
    for (int i = 0; i < p->n_nodes; i++) {
        TW_TRY(tw_reader_beat(reader));
        TW_TRY(tw_reader_node_head(reader, p->node[i], g, i, &node[i]));
    }
    return TW_OK;
}

static tw_status read_nodes(tw_reader *reader, const parts *p, int g, tw_onnx_node *node)
{
    int first_read = reader->n_reads;
    for (int i = 0; i < p->n_nodes; i++) {
        reader->at[g] = i;
        TW_TRY(tw_reader_beat(reader));
        TW_TRY(tw_reader_node_body(reader, p->node[i], g, &node[i]));
    }
    reader->at[g] = p->n_nodes;
    return tw_reader_sort(reader, g, first_read, node);
}

/* The outputs of a branch may be values of the graph around it. */
static tw_status find_output(tw_reader *reader, tw_bytes message, int g, int *out)
{
    info in;
    char gives[256];
    TW_TRY(read_info(reader, message, &in));
    if (in.name < 0)
        return tw_source_error(&reader->source, "output at byte %" PRId64 " has no name",
                               tw_source_offset(&reader->source, message.at));
    snprintf(gives, sizeof gives, "graph '%.*s' gives", TW_FIRST(200, reader->graph[g].name));
    return tw_reader_find(reader, in.name, gives, out);
}

static tw_status find_outputs(tw_reader *reader, const parts *p, int g)
{
    int *output;
    TW_ALLOC(reader->source.arena, output, p->n_outputs);
    for (int i = 0; i < p->n_outputs; i++) TW_TRY(find_output(reader, p->output[i], g, &output[i]));
    reader->graph[g].output = output;
    reader->graph[g].n_outputs = p->n_outputs;
    return TW_OK;
}

/* ---- a graph ---- */

static tw_status new_graph(tw_reader *reader, const parts *p, int around, int *out)
{
    if (reader->n_graphs == reader->room_graphs) {
        int room = reader->room_graphs ? 2 * reader->room_graphs : 4;
        tw_graph *graph;
        int *at;
        TW_ALLOC(reader->scratch, graph, room);
        TW_ALLOC(reader->scratch, at, room);
        if (reader->n_graphs > 0) memcpy(graph, reader->graph, (size_t)reader->n_graphs * sizeof *graph);
        if (reader->n_graphs > 0) memcpy(at, reader->at, (size_t)reader->n_graphs * sizeof *at);
        reader->graph = graph;
        reader->at = at;
        reader->room_graphs = room;
    }
    const char *name = tw_source_name(p->name, reader->source.arena);
    if (!name) return TW_ERR_NOMEM;
    *out = reader->n_graphs++;
    reader->graph[*out] = (tw_graph){.name = name, .around = around};
    return TW_OK;
}

static tw_status read_inside(tw_reader *reader, const parts *p, int g, int first)
{
    tw_onnx_node *node;
    TW_ALLOC(reader->source.arena, node, p->n_nodes);
    TW_TRY(define_constants(reader, p->constant, p->n_constants, g, false));
    TW_TRY(define_constants(reader, p->sparse, p->n_sparses, g, true));
    TW_TRY(define_inputs(reader, p, g));
    TW_TRY(define_nodes(reader, p, g, node));
    TW_TRY(declare_all(reader, p->info, p->n_infos, g));
    TW_TRY(declare_all(reader, p->input, p->n_inputs, g));
    TW_TRY(declare_all(reader, p->output, p->n_outputs, g));
    int n = tw_scope_n_values(reader->scope) - first; /* those of graphs inside come behind */
    TW_TRY(read_nodes(reader, p, g, node));
    TW_TRY(find_outputs(reader, p, g));
    tw_scope_leave(reader->scope, first, n);
    return TW_OK;
}

tw_status tw_reader_graph(tw_reader *reader, tw_bytes message, int around, int *out)
{
    parts p;
    int g;
    if (reader->depth == TW_ONNX_MAX_DEPTH)
        return tw_source_error(&reader->source, "graph at byte %" PRId64 ": nested deeper than %d",
                               tw_source_offset(&reader->source, message.at), TW_ONNX_MAX_DEPTH);
    TW_TRY(list_parts(reader, message, &p));
    TW_TRY(new_graph(reader, &p, around, &g));
    reader->depth++;
    const tw_onnx_node *node = reader->source.node;
    reader->source.node = NULL;
    TW_TRY(read_inside(reader, &p, g, tw_scope_n_values(reader->scope)));
    reader->source.node = node;
    reader->depth--;
    *out = g;
    return TW_OK;
}
