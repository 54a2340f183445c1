/* src/onnx/node.c - nodes, in two steps: what they write, and, when all values of the graph are known, what they read. */
#include "onnx/reader.h"

#include <string.h>

enum {
    INPUT = TW_WIRE_BYTES(1),
    OUTPUT = TW_WIRE_BYTES(2),
    NAME = TW_WIRE_BYTES(3),
    OP = TW_WIRE_BYTES(4),
    ATTRIBUTE = TW_WIRE_BYTES(5),
    DOMAIN = TW_WIRE_BYTES(7)
};

int64_t tw_reader_node_items(tw_bytes message)
{
    int64_t n = 0;
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) n += f.tag == INPUT || f.tag == OUTPUT || f.tag == ATTRIBUTE;
    return n;
}

/* Names and counts. */
static tw_status read_names(const tw_source *source, tw_bytes message, tw_onnx_node *node)
{
    tw_bytes name = {message.at, 0}, op = name, domain = name;
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) switch (f.tag) {
        case INPUT: node->n_inputs++; break;
        case OUTPUT: node->n_outputs++; break;
        case ATTRIBUTE: node->n_attributes++; break;
        case NAME: name = f.bytes; break;
        case OP: op = f.bytes; break;
        case DOMAIN: domain = f.bytes; break;
        default: break;
        }
    TW_TRY(tw_source_end(source, &w, "node"));
    node->name = tw_source_name(name, source->arena);
    node->op = tw_source_name(op, source->arena);
    node->domain = tw_source_name(domain, source->arena);
    if (!node->name || !node->op || !node->domain) return TW_ERR_NOMEM;
    if (strcmp(node->domain, "ai.onnx") == 0) node->domain = "";
    return TW_OK;
}

static void report_twice(tw_reader *reader, const tw_value *value)
{
    const tw_onnx_node *writer = value->node < 0 ? NULL : &reader->graph[value->graph].node[value->node];
    reader->wrong = true;
    if (!writer)
        (void)tw_source_error(&reader->source, "writes '%.*s', which is an input or a constant",
                              TW_FIRST(200, value->name));
    else if (writer == reader->source.node)
        (void)tw_source_error(&reader->source, "writes '%.*s' twice", TW_FIRST(200, value->name));
    else
        (void)tw_source_error(
            &reader->source, "writes '%.*s', which node '%.*s' (%.*s) at byte %" PRId64 " writes too",
            TW_FIRST(200, value->name), TW_FIRST(200, writer->name), TW_FIRST(100, writer->op), writer->offset);
}

static tw_status define(tw_reader *reader, tw_bytes bytes, int graph, int at, int *out)
{
    *out = -1;
    if (bytes.n == 0) return TW_OK;
    int name = tw_scope_name(reader->scope, bytes);
    if (name < 0) return TW_ERR_NOMEM;
    int before = tw_scope_find(reader->scope, name);
    if (before >= 0 && tw_scope_value(reader->scope, before)->graph == graph) {
        report_twice(reader, tw_scope_value(reader->scope, before));
        return TW_OK;
    }
    *out = tw_scope_define(reader->scope, name, graph);
    if (*out < 0) return TW_ERR_NOMEM;
    tw_scope_value(reader->scope, *out)->node = at;
    return TW_OK;
}

static tw_status read_outputs(tw_reader *reader, tw_bytes message, int graph, int at, int *output)
{
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);)
        if (f.tag == OUTPUT) TW_TRY(define(reader, f.bytes, graph, at, output++));
    return TW_OK;
}

tw_status tw_reader_node_head(tw_reader *reader, tw_bytes message, int graph, int at, tw_onnx_node *node)
{
    int *output;
    node->offset = tw_source_offset(&reader->source, message.at);
    TW_TRY(read_names(&reader->source, message, node));
    TW_ALLOC(reader->source.arena, output, node->n_outputs);
    node->output = output;
    reader->source.node = node;
    tw_status status = read_outputs(reader, message, graph, at, output);
    reader->source.node = NULL;
    return status;
}

tw_status tw_reader_find(tw_reader *reader, int name, const char *verb, int *out)
{
    *out = tw_scope_find(reader->scope, name);
    if (*out < 0) {
        reader->wrong = true;
        (void)tw_source_error(&reader->source, "%s '%.*s', which nothing defines", verb,
                              TW_FIRST(200, tw_scope_text(reader->scope, name)));
        return TW_OK;
    }
    const tw_value *value = tw_scope_value(reader->scope, *out);
    bool in_node = reader->at[value->graph] < reader->graph[value->graph].n_nodes;
    return value->node >= 0 && in_node ? tw_reader_note_read(reader, value->graph, value->node) : TW_OK;
}

static tw_status read_input(tw_reader *reader, tw_bytes bytes, int *out)
{
    *out = -1;
    if (bytes.n == 0) return TW_OK;
    int name = tw_scope_name(reader->scope, bytes);
    return name < 0 ? TW_ERR_NOMEM : tw_reader_find(reader, name, "reads", out);
}

static tw_status read_body(tw_reader *reader, tw_bytes message, int graph, int *input, tw_attribute *attribute)
{
    tw_wire w = tw_wire_of(message);
    for (tw_field f; tw_wire_next(&w, &f);) {
        if (f.tag == INPUT) TW_TRY(read_input(reader, f.bytes, input++));
        if (f.tag == ATTRIBUTE) TW_TRY(tw_reader_attribute(reader, f.bytes, graph, attribute++));
    }
    return TW_OK;
}

/* A Constant node's output is a constant like any other. */
static tw_status note_constant(tw_reader *reader, const tw_onnx_node *node)
{
    const tw_constant *constant;
    if (strcmp(node->op, "Constant") != 0 || node->domain[0] || node->n_outputs < 1 || node->output[0] < 0)
        return TW_OK;
    TW_TRY(tw_constant_of_node(&reader->source, node, &constant));
    tw_scope_value(reader->scope, node->output[0])->constant = constant;
    return TW_OK;
}

tw_status tw_reader_node_body(tw_reader *reader, tw_bytes message, int graph, tw_onnx_node *node)
{
    int *input;
    tw_attribute *attribute;
    TW_ALLOC(reader->source.arena, input, node->n_inputs);
    TW_ALLOC(reader->source.arena, attribute, node->n_attributes);
    node->input = input;
    node->attribute = attribute;
    reader->source.node = node;
    tw_status status = read_body(reader, message, graph, input, attribute);
    if (status == TW_OK) status = note_constant(reader, node);
    reader->source.node = NULL;
    return status;
}
