/* src/verify/port.c - see port.h. */
#include "verify/port.h"

#include "verify/tally.h"

#include <string.h>

typedef struct stretch {
    int64_t from, until;
} stretch;

typedef struct way {
    stretch *taken;
    int n, room;
} way;

typedef struct passage {     /* of a load over a port that broadcasts */
    int tensor, src, memory; /* what it reads where: a buffer of a memory, or -1 */
    tw_region region;
    stretch time;
} passage;

struct tw_ways {
    const tw_scene *scene;
    const tw_model *model;
    tw_arena *arena;
    way *way; /* of all ports, one behind the other */
    int *first;
    int64_t *busy, *passed, *units;
    passage **
        last; /* per port: the last that passed, the newest at `n_last` modulo their number; NULL: it does not broadcast */
    int64_t *n_last;
};

static int64_t rounds(int64_t work, int64_t per) { return work / per + (work % per ? 1 : 0); }

const tw_port *tw_port_at(const tw_scene *scene, int engine, bool inward, bool reads)
{
    const tw_platform_engine *e = &scene->platform->engine[engine];
    int port = reads ? e->reads[!inward] : e->writes[!inward];
    return port >= 0 && port < scene->platform->n_ports ? &scene->platform->port[port] : NULL;
}

int64_t tw_port_words(const tw_port *port, int64_t units)
{
    return port && port->word > 1 ? rounds(units, port->word) * port->word : units;
}

int64_t tw_port_length(const tw_port *port, int64_t units)
{
    return port && port->per_cycle > 0 ? rounds(tw_port_words(port, units), port->per_cycle) : 0;
}

tw_ways *tw_ways_new(const tw_scene *scene, const tw_model *model, tw_arena *arena)
{
    const tw_platform *p = scene->platform;
    tw_ways *is = TW_NEW(arena, tw_ways, 1);
    int64_t n = 0;
    for (int i = 0; i < p->n_ports; i++) n += p->port[i].ways;
    if (!is) return NULL;
    is->scene = scene;
    is->model = model;
    is->arena = arena;
    is->way = TW_NEW(arena, way, n + 1);
    is->first = TW_NEW(arena, int, p->n_ports + 1);
    is->busy = TW_NEW(arena, int64_t, p->n_ports + 1);
    is->passed = TW_NEW(arena, int64_t, p->n_ports + 1);
    is->units = TW_NEW(arena, int64_t, p->n_ports + 1);
    is->last = TW_NEW(arena, passage *, p->n_ports + 1);
    is->n_last = TW_NEW(arena, int64_t, p->n_ports + 1);
    if (!is->way || !is->first || !is->busy || !is->passed || !is->units || !is->last || !is->n_last) return NULL;
    for (int i = 0; i < p->n_ports; i++) is->first[i + 1] = is->first[i] + (int)p->port[i].ways;
    for (int i = 0; i < p->n_ports; i++)
        if (p->port[i].broadcasts && !(is->last[i] = TW_NEW(arena, passage, TW_HEARD_MOST))) return NULL;
    return is;
}

/* The port at one end of a transfer; -1: none. */
static int port_of(const tw_ways *p, const tw_event *e, bool inward, bool reads)
{
    if (p->scene->platform->n_ports == 0 || e->instr.op == TW_EXEC || e->busy_end <= e->start_cycle) return -1;
    if (reads && e->instr.heard) return -1;
    const tw_port *port = tw_port_at(p->scene, e->instr.engine, inward, reads);
    return port ? (int)(port - p->scene->platform->port) : -1;
}

/* How many stretches are over at a time. */
static int n_over(const way *w, int64_t at)
{
    int least = 0, most = w->n;
    while (least < most) {
        int middle = least + (most - least) / 2;
        if (w->taken[middle].until <= at)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

/* When the last of those ends that lie in the way of a transfer at a time; that time when there is none. */
static int64_t clear_at(const way *w, int64_t at, int64_t length)
{
    int64_t clear = at;
    for (int i = n_over(w, at); i < w->n && w->taken[i].from < at + length; i++) clear = w->taken[i].until;
    return clear;
}

/* The same for a port: of its ways, the first that is clear. */
static int64_t port_clear_at(const tw_ways *p, int port, int64_t at, int64_t length)
{
    int64_t best = INT64_MAX;
    for (int w = p->first[port]; w < p->first[port + 1] && best > at; w++)
        best = tw_min(best, clear_at(&p->way[w], at, length));
    return best;
}

int64_t tw_ways_earliest(const tw_ways *p, const tw_event *e, bool inward, int64_t ready)
{
    int64_t at = ready;
    for (int reads = 1, same = 0; same < 2; reads = !reads) {
        int port = port_of(p, e, inward, reads);
        int64_t clear = port < 0 ? at : port_clear_at(p, port, at, e->busy_end - e->start_cycle);
        same = clear == at ? same + 1 : 0;
        at = clear;
    }
    return at;
}

/* ---- broadcasts ---- */

static passage passage_of(const tw_ways *p, const tw_asked *asked)
{
    const tw_instr *i = &asked->event->instr;
    return (passage){asked->tensor,
                     i->src[0],
                     p->scene->platform->engine[i->engine].is.outer,
                     i->region,
                     {asked->event->start_cycle, asked->event->busy_end}};
}

static bool brings_the_same(const tw_ways *p, const passage *a, const passage *b)
{
    if (a->tensor != b->tensor || a->src != b->src || a->memory != b->memory) return false;
    for (int i = 0; i < p->model->tensor[a->tensor].n_axes; i++)
        if (a->region.axis[i].lo != b->region.axis[i].lo || a->region.axis[i].hi != b->region.axis[i].hi)
            return false;
    return true;
}

/* The port over which a load can be heard, or hear; -1: none. */
static int broadcaster(const tw_ways *p, const tw_event *e, bool inward)
{
    const tw_port *port = tw_port_at(p->scene, e->instr.engine, inward, true);
    if (!port || !port->broadcasts || e->instr.op != TW_LOAD || e->instr.copies != 1) return -1;
    return (int)(port - p->scene->platform->port);
}

tw_span tw_ways_hear(const tw_ways *p, const tw_asked *asked, int64_t ready, int64_t length)
{
    tw_span best = {0, 0};
    int over = length > 0 ? broadcaster(p, asked->event, asked->inward) : -1;
    const tw_port *other = tw_port_at(p->scene, asked->event->instr.engine, asked->inward, false);
    const passage mine = passage_of(p, asked);
    if (over < 0) return best;
    for (int i = 0; i < tw_min(p->n_last[over], TW_HEARD_MOST); i++) {
        const passage *was = &p->last[over][i];
        int64_t from = was->time.from, takes = was->time.until - from;
        if (from < ready || takes < length || !brings_the_same(p, was, &mine)) continue;
        if (other && port_clear_at(p, (int)(other - p->scene->platform->port), from, takes) != from) continue;
        if (best.hi == 0 || from < best.lo) best = (tw_span){from, from + takes};
    }
    return best;
}

static void note_passage(tw_ways *p, const tw_asked *asked)
{
    const tw_event *e = asked->event;
    int over = e->instr.heard || e->busy_end <= e->start_cycle ? -1 : broadcaster(p, e, asked->inward);
    if (over >= 0) p->last[over][p->n_last[over]++ % TW_HEARD_MOST] = passage_of(p, asked);
}

bool tw_ways_check(const tw_ways *p, const tw_site *site, const tw_event *e, bool inward)
{
    int64_t start = e->start_cycle;
    for (int reads = 1; reads >= 0; reads--) {
        int port = port_of(p, e, inward, reads);
        int64_t clear = port < 0 ? start : port_clear_at(p, port, start, e->busy_end - start);
        if (clear != start)
            return tw_fault_at(site, "starts at %" PRId64 ", port '%s' is taken until %" PRId64, start,
                               p->scene->platform->port[port].name, clear);
    }
    return true;
}

static void forget(way *w, int64_t before)
{
    int n = n_over(w, before);
    w->n -= n;
    memmove(w->taken, w->taken + n, (size_t)w->n * sizeof *w->taken);
}

static tw_status make_room(tw_ways *p, way *w, int64_t watermark)
{
    if (w->n < w->room) return TW_OK;
    if (w->n > 0) forget(w, watermark);
    if (2 * w->n < w->room) return TW_OK;
    int room = w->room ? 2 * w->room : 16;
    stretch *wider;
    TW_ALLOC(p->arena, wider, room);
    if (w->n) memcpy(wider, w->taken, (size_t)w->n * sizeof *wider);
    w->taken = wider;
    w->room = room;
    return TW_OK;
}

static void add_capped(int64_t *sum, int64_t more)
{
    if (!tw_ckd_add(*sum, more, sum)) *sum = INT64_MAX;
}

tw_status tw_ways_take(tw_ways *p, const tw_asked *asked, const tw_moved *moved, int64_t watermark)
{
    const tw_event *e = asked->event;
    const stretch is = {e->start_cycle, e->busy_end};
    note_passage(p, asked);
    for (int reads = 1; reads >= 0; reads--) {
        int port = port_of(p, e, asked->inward, reads);
        if (port < 0) continue;
        way *w = &p->way[p->first[port]];
        while (clear_at(w, is.from, is.until - is.from) != is.from) w++;
        TW_TRY(make_room(p, w, watermark));
        int at = n_over(w, is.from);
        memmove(w->taken + at + 1, w->taken + at, (size_t)(w->n++ - at) * sizeof *w->taken);
        w->taken[at] = is;
        add_capped(&p->busy[port], is.until - is.from);
        add_capped(&p->units[port],
                   tw_port_words(&p->scene->platform->port[port], reads ? moved->reads : moved->writes));
        p->passed[port]++;
    }
    return TW_OK;
}

int64_t tw_ways_busy(const tw_ways *p, int port) { return p->busy[port]; }
int64_t tw_ways_units(const tw_ways *p, int port) { return p->units[port]; }
int64_t tw_ways_passed(const tw_ways *p, int port) { return p->passed[port]; }
