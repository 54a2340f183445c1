/* src/fuse/kinds.c - copies what a core has of the platform, with numbers of its own, and compares cores in words that do not name them. */
#include "fuse/kinds.h"

#include <string.h>

typedef struct maker {
    const tw_machine *machine;
    const tw_platform *platform;
    tw_core_machine *core;
    tw_arena *arena, *scratch;
} maker;

/* ---- the parts of a core ---- */

/* Which parts of the platform are those of a core, and what their numbers are there; -1: it has them not. */
typedef struct choice {
    const tw_platform *of;
    int core;
    int *memory, *engine, *port;
} choice;

static bool is_of(const choice *c, int owner) { return owner < 0 || owner == c->core; }

static void choose_ports(const choice *c, const tw_platform_engine *e)
{
    for (int way = 0; way < 2; way++) {
        if (e->reads[way] >= 0) c->port[e->reads[way]] = 0;
        if (e->writes[way] >= 0) c->port[e->writes[way]] = 0;
    }
}

/* What views of the core have of other cores: memories on its way out, and the movers between them. */
static void choose_passed(const choice *c)
{
    for (int v = 0; v < c->of->n_views; v++) {
        const tw_platform_view *view = &c->of->view[v];
        if (c->of->engine[view->engine].core != c->core) continue;
        for (int m = 0; m < view->machine.n_memories; m++) c->memory[view->memory[m]] = 0;
        for (int e = 0; e < view->machine.n_engines; e++) {
            c->engine[view->mover[e]] = 0;
            choose_ports(c, &c->of->engine[view->mover[e]]);
        }
    }
}

/* Numbers those that are marked with 0. */
static int number(int *list, int n)
{
    int next = 0;
    for (int i = 0; i < n; i++)
        if (list[i] == 0) list[i] = next++;
    return next;
}

static tw_status choose_parts(const maker *k, int of, choice *c)
{
    const tw_platform *p = k->platform;
    *c = (choice){.of = p, .core = of};
    TW_ALLOC(k->scratch, c->memory, p->n_memories);
    TW_ALLOC(k->scratch, c->engine, p->n_engines);
    TW_ALLOC(k->scratch, c->port, p->n_ports + 1);
    for (int i = 0; i < p->n_ports; i++) c->port[i] = -1;
    for (int m = 0; m < p->n_memories; m++) c->memory[m] = is_of(c, p->memory[m].core) ? 0 : -1;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_platform_engine *engine = &p->engine[e];
        bool own = is_of(c, engine->core) && c->memory[engine->is.memory] >= 0 &&
                   (engine->is.kind != TW_MOVES || c->memory[engine->is.outer] >= 0);
        c->engine[e] = own ? 0 : -1;
        if (own) choose_ports(c, engine);
    }
    choose_passed(c);
    return TW_OK;
}

static int numbered(const int *list, int i) { return i < 0 ? -1 : list[i]; }

/* The parts that were chosen, in numbers of their own. */
static tw_status copy_parts(const maker *k, const choice *c, tw_platform *own)
{
    const tw_platform *p = c->of;
    tw_platform_memory *memory;
    tw_platform_engine *engine;
    tw_port *port;
    own->n_memories = number(c->memory, p->n_memories);
    own->n_engines = number(c->engine, p->n_engines);
    own->n_ports = number(c->port, p->n_ports);
    TW_ALLOC(k->arena, memory, own->n_memories);
    TW_ALLOC(k->arena, engine, own->n_engines);
    TW_ALLOC(k->arena, port, own->n_ports + 1);
    for (int m = 0; m < p->n_memories; m++)
        if (c->memory[m] >= 0) memory[c->memory[m]] = p->memory[m];
    for (int i = 0; i < p->n_ports; i++) {
        if (c->port[i] < 0) continue;
        port[c->port[i]] = p->port[i];
        port[c->port[i]].memory = numbered(c->memory, p->port[i].memory);
    }
    for (int e = 0; e < p->n_engines; e++) {
        if (c->engine[e] < 0) continue;
        tw_platform_engine *to = &engine[c->engine[e]];
        *to = p->engine[e];
        to->is.memory = c->memory[to->is.memory];
        to->is.outer = numbered(c->memory, to->is.outer);
        for (int way = 0; way < 2; way++) {
            to->reads[way] = numbered(c->port, to->reads[way]);
            to->writes[way] = numbered(c->port, to->writes[way]);
        }
    }
    own->memory = memory;
    own->engine = engine;
    own->port = port;
    return TW_OK;
}

static void copy_view(const choice *c, const tw_platform_view *from, const tw_platform *own, tw_platform_view *to)
{
    *to = *from;
    to->machine.platform = own;
    to->engine = c->engine[from->engine];
    for (int m = 0; m < from->machine.n_memories; m++) to->memory[m] = c->memory[from->memory[m]];
    for (int e = 0; e < from->machine.n_engines; e++) to->mover[e] = c->engine[from->mover[e]];
}

static tw_status copy_views(const maker *k, const choice *c, tw_platform *own, tw_core_machine *out)
{
    const tw_platform *p = c->of;
    tw_platform_view *view;
    TW_ALLOC(k->arena, view, p->n_views);
    TW_ALLOC(k->arena, out->view, p->n_views);
    TW_ALLOC(k->arena, out->memory, p->n_memories);
    own->n_views = 0;
    own->view = view;
    for (int v = 0; v < p->n_views; v++) {
        if (c->engine[p->view[v].engine] < 0) continue;
        out->view[own->n_views] = v;
        copy_view(c, &p->view[v], own, &view[own->n_views++]);
    }
    for (int m = 0; m < p->n_memories; m++)
        if (c->memory[m] >= 0) out->memory[c->memory[m]] = m;
    return TW_OK;
}

/* The machine of a core: its own parts, and the shared ones. */
static tw_status open_core(const maker *k, int c, tw_core_machine *out)
{
    tw_platform *own;
    choice own_parts;
    TW_ALLOC(k->arena, own, 1);
    *own = *k->platform;
    TW_TRY(choose_parts(k, c, &own_parts));
    TW_TRY(copy_parts(k, &own_parts, own));
    TW_TRY(copy_views(k, &own_parts, own, out));
    out->machine = own->n_views > 0 ? own->view[0].machine : *k->machine;
    out->machine.platform = own;
    return TW_OK;
}

/* All parts, in the numbers that they have. */
static tw_status open_all(const maker *k, tw_core_machine *out)
{
    const tw_platform *p = k->platform;
    TW_ALLOC(k->arena, out->view, p->n_views);
    TW_ALLOC(k->arena, out->memory, p->n_memories);
    for (int v = 0; v < p->n_views; v++) out->view[v] = v;
    for (int m = 0; m < p->n_memories; m++) out->memory[m] = m;
    out->machine = *k->machine;
    out->kind = p->n_cores;
    return TW_OK;
}

/* Whether movers of other cores pass the port, too. */
static bool is_shared_port(const maker *k, int port, int c)
{
    for (int e = 0; e < k->platform->n_engines; e++) {
        const tw_platform_engine *engine = &k->platform->engine[e];
        if (engine->is.kind != TW_MOVES || engine->core == c) continue;
        for (int way = 0; way < 2; way++)
            if (engine->reads[way] == port || engine->writes[way] == port) return true;
    }
    return false;
}

/* A port in words that do not name the core: which one it is, where others share it, else what it is. */
static void describe_port(const maker *k, int port, int c, tw_text *out)
{
    if (port < 0 || is_shared_port(k, port, c)) {
        tw_text_printf(out, "%d ", port);
        return;
    }
    const tw_port *p = &k->platform->port[port];
    tw_text_printf(out, "own %u %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d ", p->serves,
                   p->ways, p->per_cycle, p->word, p->read_fj, p->write_fj, p->broadcasts);
}

/* A view in words that do not name the core, with the ports that its movers pass. */
static void describe_view(const maker *k, const tw_platform_view *view, int c, tw_text *out)
{
    tw_machine own = view->machine;
    own.platform = NULL;
    for (int m = 0; m < own.n_memories; m++) own.memory[m].name = k->platform->memory[view->memory[m]].is.name;
    for (int e = 0; e < own.n_engines; e++) {
        bool links = tw_platform_is_link(k->platform, view->mover[e]); /* whose name may say which cores it joins */
        own.engine[e].name = links ? "link" : k->platform->engine[view->mover[e]].is.name;
    }
    tw_machine_print(&own, out);
    for (int e = 0; e < own.n_engines; e++) {
        const tw_platform_engine *mover = &k->platform->engine[view->mover[e]];
        for (int way = 0; way < 2; way++) {
            describe_port(k, mover->reads[way], c, out);
            describe_port(k, mover->writes[way], c, out);
        }
    }
}

/* Everything about a core but its name. */
static void describe_core(const maker *k, int c, tw_text *out)
{
    for (int v = 0; v < k->platform->n_views; v++)
        if (k->platform->engine[k->platform->view[v].engine].core == c)
            describe_view(k, &k->platform->view[v], c, out);
}

/* The first core of each kind. */
static tw_status find_kinds(const maker *k)
{
    int n = k->platform->n_cores;
    tw_text *text;
    tw_status status = TW_OK;
    TW_ALLOC(k->scratch, text, n);
    for (int c = 0; c < n; c++) {
        int like = 0;
        describe_core(k, c, &text[c]);
        if (text[c].failed) status = TW_ERR_NOMEM;
        while (like < c && (k->core[like].kind != like || text[like].len != text[c].len || text[c].len == 0 ||
                            memcmp(text[like].bytes, text[c].bytes, text[c].len) != 0))
            like++;
        k->core[c].kind = like;
    }
    for (int c = 0; c < n; c++) tw_text_release(&text[c]);
    return status;
}

tw_status tw_core_machines_of(const tw_machine *machine, tw_arena *arena, tw_arena *scratch, tw_core_machine **out)
{
    maker k = {.machine = machine, .platform = machine->platform, .arena = arena, .scratch = scratch};
    int n = k.platform->n_cores;
    TW_ALLOC(arena, k.core, n + 1);
    TW_TRY(find_kinds(&k));
    for (int c = 0; c < n; c++) TW_TRY(open_core(&k, c, &k.core[c]));
    TW_TRY(open_all(&k, &k.core[n]));
    *out = k.core;
    return TW_OK;
}

/* Another size of a core's own memories. */
typedef struct resizing {
    int times;
    int64_t less; /* -1: half */
} resizing;

static void resize(tw_memory *memory, bool own, const resizing *by)
{
    if (!own) return;
    if (memory->size < INT64_MAX / 2 / by->times) memory->size *= by->times;
    memory->size -= by->less < 0 ? memory->size / 2 : tw_min(by->less, memory->size - memory->size / 4);
}

static tw_status resize_core(const tw_core_machine *core, const resizing *by, tw_arena *arena, tw_machine *out)
{
    const tw_platform *p = core->machine.platform;
    int own = -1;
    for (int v = 0; v < p->n_views && own < 0; v++) own = p->engine[p->view[v].engine].core;
    tw_platform *wide;
    tw_platform_memory *memory;
    tw_platform_view *view;
    TW_ALLOC(arena, wide, 1);
    TW_ALLOC(arena, memory, p->n_memories);
    TW_ALLOC(arena, view, p->n_views + 1);
    for (int m = 0; m < p->n_memories; m++) {
        memory[m] = p->memory[m];
        resize(&memory[m].is, own >= 0 && p->memory[m].core == own, by);
    }
    *wide = *p;
    wide->memory = memory;
    wide->view = view;
    for (int v = 0; v < p->n_views; v++) {
        view[v] = p->view[v];
        view[v].machine.platform = wide;
        for (int m = 0; m < view[v].machine.n_memories; m++)
            resize(&view[v].machine.memory[m], own >= 0 && p->memory[view[v].memory[m]].core == own, by);
    }
    *out = p->n_views > 0 ? view[0].machine : core->machine;
    out->platform = wide;
    return TW_OK;
}

tw_status tw_core_enlarge(const tw_core_machine *core, int times, tw_arena *arena, tw_machine *out)
{
    return resize_core(core, &(resizing){times, 0}, arena, out);
}

tw_status tw_core_reduce(const tw_core_machine *core, int64_t less, tw_arena *arena, tw_machine *out)
{
    return resize_core(core, &(resizing){1, less}, arena, out);
}

tw_status tw_core_widen(const tw_core_machine *c, int first, tw_arena *arena, tw_group_map *group)
{
    tw_group_op *op;
    tw_group_level *level;
    tw_hold *hold;
    TW_ALLOC(arena, op, group->n_ops);
    TW_ALLOC(arena, level, group->n_levels);
    TW_ALLOC(arena, hold, group->n_holds + 1);
    memcpy(op, group->op, (size_t)group->n_ops * sizeof *op);
    memcpy(level, group->level, (size_t)group->n_levels * sizeof *level);
    if (group->n_holds) memcpy(hold, group->hold, (size_t)group->n_holds * sizeof *hold);
    for (int i = 0; i < group->n_ops; i++) op[i].view = c->view[op[i].view], op[i].op += first;
    for (int i = 0; i < group->n_levels; i++) level[i].memory = c->memory[level[i].memory];
    for (int i = 0; i < group->n_holds; i++) hold[i].memory = c->memory[hold[i].memory];
    group->op = op;
    group->level = level;
    group->hold = hold;
    return TW_OK;
}
