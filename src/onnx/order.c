/* src/onnx/order.c - nodes in an order in which every value is written before it is read.
 *
 * The standard wants them so in the file, and most files are; onnxruntime runs the others too. While bodies are read, every
 * read of what a node of a graph writes is recorded, those from graphs inside of it as reads of the node that has them. Where
 * one of them comes before its writer, the nodes are walked in the order of the file, each behind the writers that it still
 * waits for: nodes that are in order stay as they are. A writer that is being waited for already closes a cycle. */
#include "onnx/reader.h"

#include <string.h>

tw_status tw_reader_note_read(tw_reader *reader, int graph, int writer)
{
    if (reader->n_reads == reader->room_reads) {
        int room = reader->room_reads ? 2 * reader->room_reads : 256;
        tw_read_of *more;
        TW_ALLOC(reader->scratch, more, room);
        if (reader->n_reads > 0) memcpy(more, reader->read, (size_t)reader->n_reads * sizeof *more);
        reader->read = more;
        reader->room_reads = room;
    }
    reader->read[reader->n_reads++] = (tw_read_of){graph, reader->at[graph], writer};
    return TW_OK;
}

typedef struct walk {
    tw_reader *reader;
    tw_onnx_node *node;
    int n;
    int *first, *writer; /* node i waits for writer[first[i]] .. writer[first[i + 1] - 1] */
    int *next;           /* of them, the one to look at                                   */
    bool *done, *open;
    int *stack, depth; /* nodes that wait, each for the one above it                      */
    int *order, n_ordered;
} walk;

/* ---- who waits for whom ---- */

static tw_status list_writers(walk *w, int g, int first_read)
{
    const tw_read_of *read = w->reader->read;
    int n_reads = w->reader->n_reads;
    TW_ALLOC(w->reader->scratch, w->first, w->n + 2);
    TW_ALLOC(w->reader->scratch, w->writer, n_reads - first_read + 1);
    for (int i = first_read; i < n_reads; i++)
        if (read[i].graph == g) w->first[read[i].node + 2]++;
    for (int i = 0; i < w->n; i++) w->first[i + 2] += w->first[i + 1];
    for (int i = first_read; i < n_reads; i++)
        if (read[i].graph == g) w->writer[w->first[read[i].node + 1]++] = read[i].writer;
    return TW_OK;
}

static tw_status begin(walk *w, int g, int first_read)
{
    TW_TRY(list_writers(w, g, first_read));
    TW_ALLOC(w->reader->scratch, w->next, w->n + 1);
    TW_ALLOC(w->reader->scratch, w->done, w->n + 1);
    TW_ALLOC(w->reader->scratch, w->open, w->n + 1);
    TW_ALLOC(w->reader->scratch, w->stack, w->n + 1);
    TW_ALLOC(w->reader->scratch, w->order, w->n + 1);
    return TW_OK;
}

/* ---- the order ---- */

static void push(walk *w, int node)
{
    w->stack[w->depth++] = node;
    w->open[node] = true;
    w->next[node] = w->first[node];
}

static void pop(walk *w)
{
    int node = w->stack[--w->depth];
    w->open[node] = false;
    w->done[node] = true;
    w->order[w->n_ordered++] = node;
}

/* Node and everything that it waits for; false: a cycle, which is on the stack from the node in *again on. */
static bool order_from(walk *w, int node, int *again)
{
    push(w, node);
    while (w->depth > 0) {
        int top = w->stack[w->depth - 1];
        if (w->next[top] == w->first[top + 1]) {
            pop(w);
            continue;
        }
        int writer = w->writer[w->next[top]++];
        *again = writer;
        if (w->open[writer]) return false;
        if (!w->done[writer]) push(w, writer);
    }
    return true;
}

static void add_name(tw_text *text, const tw_onnx_node *node)
{
    if (node->name[0])
        tw_text_printf(text, "'%.*s'", TW_FIRST(40, node->name));
    else
        tw_text_printf(text, "%.*s at byte %" PRId64, TW_FIRST(30, node->op), node->offset);
}

/* "'a' -> 'b' -> 'a'" of the nodes from `bottom` of the stack on, which wait for each other and for the first of them:
 * data goes the other way. */
static void add_cycle(tw_text *text, const walk *w, int bottom)
{
    enum { MOST = 8 };
    int length = w->depth - bottom;
    add_name(text, &w->node[w->stack[bottom]]);
    for (int i = 1; i < length; i++) {
        if (i < MOST) tw_text_add(text, " -> ", 4), add_name(text, &w->node[w->stack[w->depth - i]]);
        if (i == MOST) tw_text_printf(text, " -> .. %d more", length - MOST);
    }
    tw_text_add(text, " -> ", 4);
    add_name(text, &w->node[w->stack[bottom]]);
}

static tw_status report_cycle(walk *w, int again)
{
    tw_text text = {0};
    int bottom = w->depth - 1;
    while (w->stack[bottom] != again) bottom--;
    add_cycle(&text, w, bottom);
    w->reader->wrong = true;
    w->reader->source.node = &w->node[again];
    if (!text.failed)
        (void)tw_source_error(&w->reader->source, "needs what is made of its output: cycle: %s", text.bytes);
    w->reader->source.node = NULL;
    tw_status status = text.failed ? TW_ERR_NOMEM : TW_OK;
    tw_text_release(&text);
    return status;
}

/* ---- the graph ---- */

static tw_status rearrange(walk *w)
{
    tw_onnx_node *old;
    TW_ALLOC(w->reader->scratch, old, w->n);
    memcpy(old, w->node, (size_t)w->n * sizeof *old);
    for (int i = 0; i < w->n; i++) {
        w->node[i] = old[w->order[i]];
        for (int o = 0; o < w->node[i].n_outputs; o++)
            if (w->node[i].output[o] >= 0) tw_scope_value(w->reader->scope, w->node[i].output[o])->node = i;
    }
    return TW_OK;
}

static void note(tw_reader *reader, const tw_onnx_node *node, const tw_onnx_node *writer)
{
    if (!reader->sorted)
        tw_diag_note(
            reader->source.diag, (tw_loc){reader->source.path, 0, 0},
            "nodes are not in the order of their data, and were sorted: node '%.*s' (%.*s) at byte %" PRId64
            " reads what node '%.*s' (%.*s) at byte %" PRId64 " writes",
            TW_FIRST(200, node->name), TW_FIRST(100, node->op), node->offset, TW_FIRST(200, writer->name),
            TW_FIRST(100, writer->op), writer->offset);
    reader->sorted = true;
}

static tw_status sort(tw_reader *reader, int g, int first_read, const tw_read_of *late, tw_onnx_node *node)
{
    walk w = {.reader = reader, .node = node, .n = reader->graph[g].n_nodes};
    tw_onnx_node reads = node[late->node], writes = node[late->writer];
    int again;
    TW_TRY(begin(&w, g, first_read));
    for (int i = 0; i < w.n; i++)
        if (!w.done[i] && !order_from(&w, i, &again)) return report_cycle(&w, again);
    note(reader, &reads, &writes);
    return rearrange(&w);
}

tw_status tw_reader_sort(tw_reader *reader, int g, int first_read, tw_onnx_node *node)
{
    const tw_read_of *late = NULL;
    for (int i = first_read; i < reader->n_reads && !late; i++)
        if (reader->read[i].graph == g && reader->read[i].writer >= reader->read[i].node) late = &reader->read[i];
    if (late) TW_TRY(sort(reader, g, first_read, late, node));
    int kept = first_read;
    for (int i = first_read; i < reader->n_reads; i++)
        if (reader->read[i].graph != g) reader->read[kept++] = reader->read[i];
    reader->n_reads = kept;
    return TW_OK;
}
