/* src/onnx/reader.h - what the parts of the reader share while a model is read. */
#ifndef TW_ONNX_READER_H
#define TW_ONNX_READER_H
#include "core/deadline.h"
#include "onnx/scope.h"
#include "onnx/source.h"

typedef struct tw_read_of { /* node `node` of a graph, or a graph inside of it, reads what node `writer` writes */
    int graph, node, writer;
} tw_read_of;

typedef struct tw_reader {
    tw_source source;
    tw_arena *scratch;
    tw_scope *scope;
    tw_graph *graph; /* those whose reading has begun; their node arrays have names, ops and offsets */
    int *at;         /* of each: the node being read, or their number                                */
    int n_graphs, room_graphs;
    int depth;        /* of graphs around the present point                                           */
    int64_t n_items;  /* against TW_ONNX_MAX_ITEMS                                                    */
    tw_read_of *read; /* of graphs that are not sorted yet                                           */
    int n_reads, room_reads;
    bool sorted;    /* nodes had to be, and a note says so                                          */
    bool wrong;     /* something was reported, and reading went on                                  */
    tw_pulse pulse; /* of nodes, constants and values                                               */
} tw_reader;

/* Counts what is going to be made; reports when a file has too much of it. */
TW_NODISCARD tw_status tw_reader_charge(tw_reader *reader, int64_t n_items);
/* Looks at the clock now and then; TW_STOPPED when time is up. Each node, constant and value asks. */
TW_NODISCARD static inline tw_status tw_reader_beat(tw_reader *reader)
{
    enum { WORK = 64 };
    return tw_pulse_is_over(&reader->pulse, WORK) ? TW_STOPPED : TW_OK;
}
/* The graph of a message as the next of reader->graph; its index goes to *out. around: -1 for the main graph. */
TW_NODISCARD tw_status tw_reader_graph(tw_reader *reader, tw_bytes message, int around, int *out);
/* Inputs, outputs and attributes of a node; the fields of one that is broken up to there. */
int64_t tw_reader_node_items(tw_bytes message);
/* Name, op, domain and outputs of a node. */
TW_NODISCARD tw_status tw_reader_node_head(tw_reader *reader, tw_bytes message, int graph, int at,
                                           tw_onnx_node *node);
/* Its inputs and attributes, when all values of its graph are defined. */
TW_NODISCARD tw_status tw_reader_node_body(tw_reader *reader, tw_bytes message, int graph, tw_onnx_node *node);
TW_NODISCARD tw_status tw_reader_attribute(tw_reader *reader, tw_bytes message, int graph, tw_attribute *out);
/* The value that a name means here, in *out; -1 and a message, "VERB 'x', which ..", when it means none. Reading may go on. */
TW_NODISCARD tw_status tw_reader_find(tw_reader *reader, int name, const char *verb, int *out);

/* ---- order.c ---- */

/* The node of the graph that is being read, reads what node `writer` of it writes. */
TW_NODISCARD tw_status tw_reader_note_read(tw_reader *reader, int graph, int writer);
/* Sorts the nodes of a graph whose bodies are read, by its reads from `first_read` on, and forgets them. A cycle is reported,
 * and reading may go on. */
TW_NODISCARD tw_status tw_reader_sort(tw_reader *reader, int graph, int first_read, tw_onnx_node *node);
#endif
