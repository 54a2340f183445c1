/* src/lower/readers.c - who reads which value, see build.h. */
#include "lower/build.h"

#include <string.h>

/* Calls `see` for every input of every node. */
static void each_input(const tw_graph_file *file, void (*see)(void *user, int value, int graph, int node),
                       void *user)
{
    for (int g = 0; g < file->n_graphs; g++)
        for (int n = 0; n < file->graph[g].n_nodes; n++) {
            const tw_onnx_node *node = &file->graph[g].node[n];
            for (int i = 0; i < node->n_inputs; i++)
                if (node->input[i] >= 0) see(user, node->input[i], g, n);
        }
}

typedef struct lists {
    const tw_graph_file *file;
    int *first, *fill, *node;
    bool *escapes;
} lists;

static void count_reader(void *user, int value, int graph, int node)
{
    lists *s = user;
    (void)node;
    if (s->file->value[value].graph == graph)
        s->first[value + 1]++;
    else
        s->escapes[value] = true;
}

static void list_reader(void *user, int value, int graph, int node)
{
    lists *s = user;
    if (s->file->value[value].graph == graph) s->node[s->fill[value]++] = node;
}

tw_status tw_readers_build(const tw_graph_file *file, tw_arena *arena, tw_reader_lists *out)
{
    lists s = {.file = file};
    TW_ALLOC(arena, s.first, file->n_values + 1);
    TW_ALLOC(arena, s.fill, file->n_values + 1);
    TW_ALLOC(arena, s.escapes, file->n_values + 1);
    each_input(file, count_reader, &s);
    for (int v = 0; v < file->n_values; v++) s.first[v + 1] += s.first[v];
    memcpy(s.fill, s.first, (size_t)(file->n_values + 1) * sizeof *s.fill);
    TW_ALLOC(arena, s.node, s.first[file->n_values] + 1);
    each_input(file, list_reader, &s);
    for (int g = 0; g < file->n_graphs; g++)
        for (int i = 0; i < file->graph[g].n_outputs; i++)
            if (file->graph[g].output[i] >= 0) s.escapes[file->graph[g].output[i]] = true;
    *out = (tw_reader_lists){s.first, s.node, s.escapes};
    return TW_OK;
}
