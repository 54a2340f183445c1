/* src/machine/gate.c - a search in breadth from the shared memories over movers, which enters another core only if that has no way of its own, and only where movers lead both in and out; see
 * gate.h. */
#include "machine/gate.h"

#include <string.h>

typedef struct finder {
    const tw_machine_parts *graph;
    const tw_machine_part *memory;
    int n, n_movers;
    int (*ends)[2]; /* of movers */
    unsigned *ways; /* from the first end to the second: TW_INWARDS */
    bool *direct;   /* per core: a mover joins it with a shared memory */
    bool *reached;
    int *outer, *level; /* per memory: the next on its way out, and how many cores it stands behind */
} finder;

static int end_of(const finder *f, const tw_machine_part *mover, const tw_node *node)
{
    return node->kind == TW_SCALAR ? tw_graph_find(f->graph, TW_PART_MEMORY, node->text, mover->core) : -1;
}

static unsigned ways_of(const tw_machine_part *mover)
{
    const tw_node *carries = tw_node_entry(mover->node, "carries");
    for (unsigned way = TW_INWARDS; carries && carries->kind == TW_SCALAR && way <= TW_OUTWARDS; way++)
        if (strcmp(carries->text, tw_carries_name(way)) == 0) return way;
    return TW_BOTH_WAYS;
}

static tw_status list_movers(finder *f, tw_arena *arena)
{
    int n = f->graph->n[TW_PART_ENGINE];
    TW_ALLOC(arena, f->ends, n + 1);
    TW_ALLOC(arena, f->ways, n + 1);
    for (int e = 0; e < n; e++) {
        const tw_machine_part *part = &f->graph->part[TW_PART_ENGINE][e];
        const tw_node *between = tw_node_entry(part->node, "between");
        int *ends = f->ends[f->n_movers];
        if (!between || between->kind != TW_LIST || between->n_children != 2) continue;
        ends[0] = end_of(f, part, between->child);
        ends[1] = end_of(f, part, between->child->next);
        f->ways[f->n_movers] = ways_of(part);
        f->n_movers += ends[0] >= 0 && ends[1] >= 0;
    }
    return TW_OK;
}

static void find_direct(finder *f)
{
    for (int e = 0; e < f->n_movers; e++)
        for (int i = 0; i < 2; i++) {
            int own = f->memory[f->ends[e][i]].core, other = f->memory[f->ends[e][1 - i]].core;
            if (own >= 0 && other < 0) f->direct[own] = true;
        }
}

/* Whether movers lead from the memory into some of a core's, and back out of some. */
static bool joins(const finder *f, int memory, int core)
{
    unsigned ways = 0;
    for (int e = 0; e < f->n_movers; e++) {
        const int *ends = f->ends[e];
        if (ends[0] == memory && f->memory[ends[1]].core == core) ways |= f->ways[e];
        if (ends[1] == memory && f->memory[ends[0]].core == core)
            ways |= f->ways[e] == TW_BOTH_WAYS ? TW_BOTH_WAYS : f->ways[e] ^ TW_BOTH_WAYS;
    }
    return ways == TW_BOTH_WAYS;
}

/* From memory `at` one mover further in; returns how many have been reached then. */
static int step_in(finder *f, int at, int *queue, int n)
{
    int core = f->memory[at].core;
    for (int e = 0; e < f->n_movers; e++)
        for (int i = 0; i < 2; i++) {
            int to = f->ends[e][1 - i], other = f->memory[to].core;
            bool enters = core >= 0 && other != core;
            if (f->ends[e][i] != at || f->reached[to]) continue;
            if (enters && (f->direct[other] || !joins(f, at, other))) continue;
            f->reached[to] = true;
            f->outer[to] = core < 0 ? -1 : at;
            f->level[to] = f->level[at] + enters;
            queue[n++] = to;
        }
    return n;
}

static tw_status walk(finder *f, tw_arena *arena)
{
    int *queue, n = 0;
    TW_ALLOC(arena, queue, f->n + 1);
    for (int m = 0; m < f->n; m++) {
        f->outer[m] = -1;
        f->reached[m] = f->memory[m].core < 0;
        if (f->reached[m]) queue[n++] = m;
    }
    for (int i = 0; i < n; i++) n = step_in(f, queue[i], queue, n);
    return TW_OK;
}

/* The memories by how many cores they stand behind. */
static tw_status sort(const finder *f, tw_arena *arena, tw_machine_part *memory, int *outer)
{
    tw_machine_part *sorted;
    int *place, n = 0;
    TW_ALLOC(arena, sorted, f->n + 1);
    TW_ALLOC(arena, place, f->n + 1);
    for (int level = 0; n < f->n; level++)
        for (int m = 0; m < f->n; m++) {
            if (f->level[m] != level) continue;
            place[m] = n;
            sorted[n++] = memory[m];
        }
    for (int m = 0; m < f->n; m++) {
        memory[m] = sorted[m];
        outer[place[m]] = f->outer[m] < 0 ? -1 : place[f->outer[m]];
    }
    return TW_OK;
}

tw_status tw_gates_find(tw_machine_parts *graph, tw_arena *arena, const int **out)
{
    finder f = {.graph = graph, .memory = graph->part[TW_PART_MEMORY], .n = graph->n[TW_PART_MEMORY]};
    int *outer;
    TW_ALLOC(arena, outer, f.n + 1);
    TW_ALLOC(arena, f.direct, graph->n_cores + 1);
    TW_ALLOC(arena, f.reached, f.n + 1);
    TW_ALLOC(arena, f.outer, f.n + 1);
    TW_ALLOC(arena, f.level, f.n + 1);
    TW_TRY(list_movers(&f, arena));
    find_direct(&f);
    TW_TRY(walk(&f, arena));
    bool any = false;
    for (int m = 0; m < f.n; m++) any |= f.level[m] > 0;
    *out = NULL;
    if (!any) return TW_OK;
    TW_TRY(sort(&f, arena, graph->part[TW_PART_MEMORY], outer));
    *out = outer;
    return TW_OK;
}

bool tw_gate_is_passed(const tw_machine_parts *graph, const int *outer, int core, int memory)
{
    const tw_machine_part *part = graph->part[TW_PART_MEMORY];
    if (!outer) return false;
    for (int m = 0; m < graph->n[TW_PART_MEMORY] && part[memory].core != core; m++)
        for (int at = part[m].core == core ? outer[m] : -1; at >= 0; at = outer[at])
            if (at == memory) return true;
    return false;
}
