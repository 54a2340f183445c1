/* src/machine/graph.h - which nodes of a machine file belong to which view of the machine.
 *
 * The file is a tree of memories, engines and cores; a view is one compute engine with the memories and movers on its paths
 * (platform.h). The parts are numbered as in the platform: shared ones first, then those of each core. Nothing is judged here but
 * what it takes to tell the views apart: a part that cannot be read goes into every view that might have it, so that the reader meets it. */
#ifndef TW_MACHINE_GRAPH_H
#define TW_MACHINE_GRAPH_H
#include "input/tree.h"
#include "machine/platform.h"

/* A memory, an engine or a port as the file has it. */
typedef struct tw_machine_part {
    const tw_node *node;
    const char *name; /* "big.l1"; NULL: it has none that can be read */
    int core;         /* -1: shared                                   */
} tw_machine_part;

typedef enum tw_part_kind { TW_PART_MEMORY, TW_PART_ENGINE, TW_PART_PORT, TW_N_PARTS } tw_part_kind;
typedef struct tw_machine_parts {
    int n_cores;
    tw_platform_core *core;
    int n[TW_N_PARTS];
    tw_machine_part *part[TW_N_PARTS];
} tw_machine_parts;

/* Whether the node is an engine that computes, but no adder. */
bool tw_graph_computes(const tw_node *node);
/* Appends the parts of a list (NULL: none) of a core (-1: shared ones), each with its name and that of its core before it. There
 * is room for them. */
TW_NODISCARD tw_status tw_graph_add(tw_machine_parts *graph, tw_part_kind kind, const tw_node *list, int core,
                                    tw_arena *arena);
/* The part called so, as seen from a core (-1: from outside): its own ones first, then shared ones, then by full names. -1:
 * there is none. */
int tw_graph_find(const tw_machine_parts *graph, tw_part_kind kind, const char *name, int core);
#endif
