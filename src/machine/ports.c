/* src/machine/ports.c - see ports.h. */
#include "machine/ports.h"

#include "input/field.h"

#include <string.h>

typedef struct port_reader {
    const tw_machine_parts *graph;
    const tw_platform *platform;
    tw_platform_engine *engine;
    const tw_machine_part *part; /* the port at hand, */
    tw_port port;                /* what is known of it, */
    int number;                  /* and its number       */
} port_reader;

/* One direction of one end of a mover gets the port, unless it has another one. */
static void join(port_reader *r, tw_fields *f, int *use, const char *engine)
{
    if (*use == r->number) {
        TW_REFUSE(f, r->port.loc, "engine '%s' is given twice in 'movers' of port '%s'", engine, r->port.name);
        return;
    }
    if (*use >= 0) {
        const tw_port *other = &r->platform->port[*use];
        if (r->port.memory < 0)
            TW_REFUSE(f, r->port.loc, "engine '%s' has ports at both of its ends, and cannot pass '%s', too",
                      engine, r->port.name);
        else
            TW_REFUSE(f, r->port.loc, "engine '%s' uses port '%s' at '%s' already, and cannot use '%s', too",
                      engine, other->name, r->platform->memory[r->port.memory].name, r->port.name);
        tw_diag_note(f->diag, other->loc, "port '%s' is here", other->name);
        return;
    }
    *use = r->number;
}

/* Where the mover passes the port; false: nowhere. */
static bool attach(port_reader *r, tw_fields *f, tw_platform_engine *e)
{
    bool in = e->is.carries & TW_INWARDS, out = e->is.carries & TW_OUTWARDS;
    bool at_outer = e->is.outer == r->port.memory, at_inner = e->is.memory == r->port.memory;
    const struct {
        bool is;
        unsigned serves;
        int *use;
    } way[] = {{in && at_outer, TW_PORT_READS, &e->reads[0]},
               {out && at_inner, TW_PORT_READS, &e->reads[1]},
               {in && at_inner, TW_PORT_WRITES, &e->writes[0]},
               {out && at_outer, TW_PORT_WRITES, &e->writes[1]}};
    int n = 0, n_bad = f->n_bad;
    for (size_t i = 0; i < TW_COUNT(way); i++) {
        if (e->is.kind != TW_MOVES || !way[i].is || !(r->port.serves & way[i].serves)) continue;
        if (f->n_bad == n_bad) join(r, f, way[i].use, e->name);
        n++;
    }
    return n > 0;
}

/* A mover passes a bus once in each direction: at the end where it reads or, if that has a port, where it writes. */
static bool board(port_reader *r, tw_fields *f, tw_platform_engine *e)
{
    static const unsigned way[] = {TW_INWARDS, TW_OUTWARDS};
    for (int i = 0; i < 2; i++) {
        if (!(e->is.carries & way[i])) continue;
        bool taken = e->reads[i] >= 0 && e->reads[i] != r->number;
        join(r, f, taken ? &e->writes[i] : &e->reads[i], e->name);
    }
    return true;
}

/* The movers that the port names. */
static void attach_named(port_reader *r, tw_fields *f, const tw_node *list)
{
    if (list->n_children == 0) TW_REFUSE(f, list->loc, "'movers' is empty");
    for (const tw_node *node = list->child; node; node = node->next) {
        const char *name = node->kind == TW_SCALAR ? node->text : "";
        int e = tw_graph_find(r->graph, TW_PART_ENGINE, name, r->part->core);
        if (e < 0 || r->platform->engine[e].is.kind != TW_MOVES)
            TW_REFUSE(f, node->loc, "'movers' names '%s', which is no mover", name);
        else if (!(r->port.memory < 0 ? board(r, f, &r->engine[e]) : attach(r, f, &r->engine[e])))
            TW_REFUSE(f, node->loc, "engine '%s' does not pass port '%s'", r->platform->engine[e].name,
                      r->port.name);
    }
}

static void attach_all(port_reader *r, tw_fields *f)
{
    int n = 0;
    for (int e = 0; e < r->platform->n_engines; e++) n += attach(r, f, &r->engine[e]);
    if (n == 0) TW_REFUSE(f, r->port.loc, "no engine passes port '%s'", r->port.name);
}

/* Without a memory it is a bus, which says who passes it. */
static bool read_memory_of(port_reader *r, tw_fields *f)
{
    const tw_node *node = tw_field_node(f, "memory", TW_OPTIONAL);
    r->port.memory = -1;
    if (!node && !tw_field_node(f, "movers", TW_OPTIONAL))
        TW_REFUSE(f, r->port.loc, "port '%s' needs a 'memory' or, if it is a bus, 'movers'",
                  r->port.name ? r->port.name : "");
    if (!node) return true;
    const char *name = node->kind == TW_SCALAR ? node->text : "";
    r->port.memory = tw_graph_find(r->graph, TW_PART_MEMORY, name, r->part->core);
    if (r->port.memory < 0) TW_REFUSE(f, node->loc, "undefined memory '%s'", name);
    return r->port.memory >= 0;
}

static void check_new_port(const port_reader *r, tw_fields *f)
{
    for (int i = 0; i < r->number && r->port.name; i++) {
        const tw_port *before = &r->platform->port[i];
        if (!before->name || strcmp(before->name, r->port.name) != 0) continue;
        TW_REFUSE(f, r->port.loc, "port '%s' is given twice", r->port.name);
        tw_diag_note(f->diag, before->loc, "'%s' was first given here", before->name);
    }
}

/* Whether it could be read. */
static bool read_port(port_reader *r, tw_diag *diag)
{
    static const char *const serves[] = {"reads", "writes", "both"};
    const char *name = NULL;
    int what = TW_COUNT(serves) - 1;
    tw_fields f = tw_fields_open(r->part->node, "port", diag);
    r->port = (tw_port){.loc = r->part->node->loc, .ways = 1, .word = 1, .read_fj = -1, .write_fj = -1};
    if (tw_field_name(&f, "name", TW_REQUIRED, &name)) r->port.name = r->part->name;
    if (name && strlen(r->port.name) > TW_NAME_MAX)
        TW_REFUSE(&f, r->port.loc, "name '%s' is longer than %d bytes", r->port.name, TW_NAME_MAX);
    check_new_port(r, &f);
    bool known = read_memory_of(r, &f);
    tw_field_int(&f, "ways", TW_OPTIONAL, 1, TW_MAX_WAYS, &r->port.ways);
    tw_field_int(&f, "per_cycle", TW_OPTIONAL, 1, TW_EXTENT_MAX, &r->port.per_cycle);
    tw_field_int(&f, "word", TW_OPTIONAL, 1, TW_EXTENT_MAX, &r->port.word);
    tw_field_energy(&f, "read", TW_OPTIONAL, &r->port.read_fj);
    tw_field_energy(&f, "write", TW_OPTIONAL, &r->port.write_fj);
    tw_field_word(&f, "serves", TW_OPTIONAL, serves, TW_COUNT(serves), &what);
    tw_field_bool(&f, "broadcast", TW_OPTIONAL, &r->port.broadcasts);
    r->port.serves = (unsigned)what + 1;
    const tw_node *movers = tw_field_list(&f, "movers", TW_OPTIONAL);
    if (known && f.n_bad == 0 && movers) attach_named(r, &f, movers);
    if (known && f.n_bad == 0 && !movers) attach_all(r, &f);
    return tw_fields_close(&f) == TW_OK;
}

tw_status tw_ports_read(const tw_machine_parts *graph, tw_platform_engine *engine, tw_arena *arena, tw_diag *diag,
                        tw_platform *platform)
{
    tw_port *port;
    int n_bad = 0;
    TW_ALLOC(arena, port, graph->n[TW_PART_PORT] + 1);
    platform->port = port;
    for (int i = 0; i < graph->n[TW_PART_PORT]; i++) {
        port_reader r = {graph, platform, engine, &graph->part[TW_PART_PORT][i], {0}, i};
        n_bad += !read_port(&r, diag);
        port[i] = r.port;
    }
    platform->n_ports = graph->n[TW_PART_PORT];
    return n_bad ? TW_ERR_INPUT : TW_OK;
}
