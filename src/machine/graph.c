/* src/machine/graph.c - see graph.h. */
#include "machine/graph.h"

#include <string.h>

bool tw_graph_computes(const tw_node *node)
{
    const tw_node *computes = tw_node_entry(node, "computes");
    if (!computes || tw_node_entry(node, "between")) return false;
    return computes->kind != TW_SCALAR || strcmp(computes->text, "sum") != 0;
}

tw_status tw_graph_add(tw_machine_parts *graph, tw_part_kind kind, const tw_node *list, int core, tw_arena *arena)
{
    const char *prefix = core >= 0 ? graph->core[core].name : NULL;
    for (const tw_node *node = list ? list->child : NULL; node; node = node->next) {
        const tw_node *name = tw_node_entry(node, "name");
        tw_machine_part *part = &graph->part[kind][graph->n[kind]++];
        *part = (tw_machine_part){.node = node, .core = core};
        if (!name || name->kind != TW_SCALAR) continue;
        part->name = prefix ? tw_arena_printf(arena, "%s.%s", prefix, name->text) : name->text;
        if (!part->name) return TW_ERR_NOMEM;
    }
    return TW_OK;
}

int tw_graph_find(const tw_machine_parts *graph, tw_part_kind kind, const char *name, int core)
{
    const tw_machine_part *part = graph->part[kind];
    size_t n = core >= 0 && graph->core[core].name ? strlen(graph->core[core].name) + 1 : 0;
    for (int i = 0; i < graph->n[kind] && n > 0; i++)
        if (part[i].core == core && part[i].name && strcmp(part[i].name + n, name) == 0) return i;
    for (int i = 0; i < graph->n[kind]; i++)
        if (part[i].name && strcmp(part[i].name, name) == 0) return i;
    return -1;
}
