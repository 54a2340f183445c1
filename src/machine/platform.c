/* src/machine/platform.c - finders and invariants of platforms, see platform.h. */
#include "machine/platform.h"

#include <string.h>

/* ---- finding ---- */

/* What is known of a memory or an engine when it is looked for. */
typedef struct candidate {
    const char *name, *plain; /* the full name and the short one */
    int core;
} candidate;

static candidate memory_at(const tw_platform *p, int i)
{
    return (candidate){p->memory[i].name, p->memory[i].is.name, p->memory[i].core};
}

static candidate view_at(const tw_platform *p, int i)
{
    const tw_platform_engine *e = &p->engine[p->view[i].engine];
    return (candidate){e->name, e->is.name, e->core};
}

static int find(const tw_platform *p, int n, candidate (*at)(const tw_platform *, int), const char *name, int core)
{
    int found = -1;
    for (int i = 0; i < n && core >= 0; i++)
        if (at(p, i).core == core && strcmp(at(p, i).plain, name) == 0) return i;
    for (int i = 0; i < n; i++)
        if (strcmp(at(p, i).name, name) == 0) return i;
    for (int i = 0; i < n && core < 0; i++)
        if (strcmp(at(p, i).plain, name) == 0) found = found == -1 ? i : -2;
    return found;
}

int tw_platform_find_memory(const tw_platform *platform, const char *name, int core)
{
    return find(platform, platform->n_memories, memory_at, name, core);
}

int tw_platform_find_view(const tw_platform *platform, const char *name, int core)
{
    return find(platform, platform->n_views, view_at, name, core);
}

int tw_platform_find_computing(const tw_platform *platform, const tw_op *op)
{
    for (int v = 0; v < platform->n_views; v++)
        if (tw_machine_computes(&platform->view[v].machine, op)) return v;
    return -1;
}

int tw_platform_find_core(const tw_platform *platform, const char *name)
{
    for (int i = 0; i < platform->n_cores; i++)
        if (strcmp(platform->core[i].name, name) == 0) return i;
    return -1;
}

bool tw_platform_is_link(const tw_platform *p, int engine)
{
    const tw_engine *e = &p->engine[engine].is;
    if (e->kind != TW_MOVES) return false;
    int from = p->memory[e->outer].core, to = p->memory[e->memory].core;
    return from >= 0 && to >= 0 && from != to;
}

/* Whether the engine brings what one core has to another one: a link that only takes outwards what stands behind another core does not. */
static bool links_to(const tw_platform *p, int engine)
{
    return (p->engine[engine].is.carries & TW_INWARDS) && tw_platform_is_link(p, engine);
}

static bool is_in(tw_memory_list list, int memory)
{
    for (int i = 0; i < list.n; i++)
        if (list.memory[i] == memory) return true;
    return false;
}

/* Links from every memory to the nearest of the targets, -1: none leads there. */
static void find_distances(const tw_platform *p, tw_memory_list to, const tw_op *op, int operand, int *distance)
{
    for (int m = 0; m < p->n_memories; m++) distance[m] = is_in(to, m) ? 0 : -1;
    for (int d = 0, found = 1; found && d < TW_MAX_HOPS; d++) {
        found = 0;
        for (int e = 0; e < p->n_engines; e++) {
            const tw_engine *is = &p->engine[e].is;
            if (is->kind != TW_MOVES || distance[is->memory] != d || distance[is->outer] >= 0) continue;
            if (d > 0 && p->memory[is->memory].lanes > 1) continue;
            if (!links_to(p, e) || !tw_engine_carries(is, op, operand)) continue;
            distance[is->outer] = d + 1;
            found++;
        }
    }
}

int tw_platform_find_route(const tw_platform *p, tw_memory_list from, tw_memory_list to, const tw_op *op,
                           int operand, int link[TW_MAX_HOPS])
{
    int distance[TW_MAX_PLATFORM_MEMORIES], n = 0, left = 0;
    find_distances(p, to, op, operand, distance);
    for (int i = 0; i < from.n; i++) {
        int d = distance[from.memory[i]];
        if (d > 0 && (left == 0 || d < left)) left = d;
    }
    while (left > 0) {
        int e = 0;
        for (;; e++) { /* there is one: the distance says so */
            const tw_engine *is = &p->engine[e].is;
            if (is->kind != TW_MOVES || distance[is->memory] != left - 1 || !is_in(from, is->outer)) continue;
            if (left > 1 && p->memory[is->memory].lanes > 1) continue;
            if (links_to(p, e) && tw_engine_carries(is, op, operand)) break;
        }
        link[n++] = e;
        from = (tw_memory_list){1, &p->engine[e].is.memory};
        left--;
    }
    return n;
}

bool tw_platform_needs_groups(const tw_platform *platform, const char **what, tw_loc *loc)
{
    int m = 0;
    while (m < platform->n_memories && platform->memory[m].is.per == 0) m++;
    if (platform->n_ports > 0)
        *what = platform->port[0].name, *loc = platform->port[0].loc;
    else if (m < platform->n_memories)
        *what = platform->memory[m].name, *loc = platform->memory[m].is.loc;
    return platform->n_ports > 0 || m < platform->n_memories;
}

int64_t tw_port_cycles(const tw_port *port, int64_t units)
{
    int64_t whole;
    if (port->per_cycle == 0) return 0;
    if (!tw_ckd_mul(tw_cdiv(units, port->word), port->word, &whole)) return INT64_MAX;
    return tw_cdiv(whole, port->per_cycle);
}

/* ---- invariants ---- */

static bool is_core(const tw_platform *p, int core) { return core >= -1 && core < p->n_cores; }
static bool is_port(const tw_platform *p, int port, int memory, unsigned serves)
{
    if (port == -1) return true;
    if (port < 0 || port >= p->n_ports) return false;
    return p->port[port].memory < 0 || (p->port[port].memory == memory && (p->port[port].serves & serves));
}

static bool engine_is_sound(const tw_platform *p, const tw_platform_engine *e)
{
    if (!e->name || !is_core(p, e->core) || e->is.memory < 0 || e->is.memory >= p->n_memories) return false;
    if (e->is.kind != TW_MOVES) return true;
    if (e->is.outer < 0 || e->is.outer >= p->n_memories || e->is.outer == e->is.memory) return false;
    return is_port(p, e->reads[0], e->is.outer, TW_PORT_READS) &&
           is_port(p, e->reads[1], e->is.memory, TW_PORT_READS) &&
           is_port(p, e->writes[0], e->is.memory, TW_PORT_WRITES) &&
           is_port(p, e->writes[1], e->is.outer, TW_PORT_WRITES);
}

static bool memory_is_sound(const tw_platform *p, int m)
{
    const tw_platform_memory *memory = &p->memory[m];
    if (!memory->name || !is_core(p, memory->core) || memory->lanes < 1) return false;
    return memory->is.per == 0 ? memory->lanes == 1 : m > 0;
}

static bool port_is_sound(const tw_platform *p, const tw_port *port)
{
    return port->name && port->memory >= -1 && port->memory < p->n_memories && port->ways >= 1 &&
           port->ways <= TW_MAX_WAYS && port->per_cycle >= 0 && port->word >= 1 && port->read_fj >= -1 &&
           port->write_fj >= -1 && port->serves != 0 && port->serves <= (TW_PORT_READS | TW_PORT_WRITES);
}

static bool view_is_sound(const tw_platform *p, const tw_platform_view *view)
{
    const tw_machine *machine = &view->machine;
    if (view->engine < 0 || view->engine >= p->n_engines || p->engine[view->engine].is.kind != TW_COMPUTES)
        return false;
    if (machine->platform != p || view->memory[0] != 0 || view->mover[machine->compute] != view->engine)
        return false;
    for (int m = 1; m < machine->n_memories; m++)
        if (view->memory[m] <= view->memory[m - 1] || view->memory[m] >= p->n_memories) return false;
    for (int e = 0; e < machine->n_engines; e++) {
        if (view->mover[e] < 0 || view->mover[e] >= p->n_engines) return false;
        if (view->memory[machine->engine[e].memory] != p->engine[view->mover[e]].is.memory) return false;
    }
    return true;
}

tw_status tw_platform_check(const tw_platform *p, tw_diag *diag)
{
    bool sound = p->n_views >= 1 && p->n_views <= TW_MAX_VIEWS && p->n_memories <= TW_MAX_PLATFORM_MEMORIES &&
                 p->n_engines <= TW_MAX_PLATFORM_ENGINES && p->n_ports <= TW_MAX_PORTS &&
                 p->n_cores <= TW_MAX_CORES;
    for (int m = 0; m < p->n_memories && sound; m++)
        if (!memory_is_sound(p, m))
            return tw_diag_error(diag, p->memory[m].is.loc, "memory %d of the platform is impossible", m);
    for (int e = 0; e < p->n_engines && sound; e++)
        if (!engine_is_sound(p, &p->engine[e]))
            return tw_diag_error(diag, p->engine[e].is.loc, "engine %d of the platform is impossible", e);
    for (int i = 0; i < p->n_ports && sound; i++)
        if (!port_is_sound(p, &p->port[i]))
            return tw_diag_error(diag, p->port[i].loc, "port %d of the platform is impossible", i);
    for (int v = 0; v < p->n_views && sound; v++) sound = view_is_sound(p, &p->view[v]);
    return sound ? TW_OK : tw_diag_error(diag, (tw_loc){0}, "the platform has impossible views");
}
