/* src/verify/port.c - see port.h. */
#include "verify/port.h"

#include <string.h>

typedef struct stretch {
    int64_t from, until;
} stretch;

typedef struct way {
    stretch *taken;
    int n, room;
} way;

struct tw_ways {
    const tw_scene *scene;
    tw_arena *arena;
    way *way; /* of all ports, one behind the other */
    int *first;
    int64_t *busy, *passed;
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

tw_ways *tw_ways_new(const tw_scene *scene, tw_arena *arena)
{
    const tw_platform *p = scene->platform;
    tw_ways *is = TW_NEW(arena, tw_ways, 1);
    int64_t n = 0;
    for (int i = 0; i < p->n_ports; i++) n += p->port[i].ways;
    if (!is) return NULL;
    is->scene = scene;
    is->arena = arena;
    is->way = TW_NEW(arena, way, n + 1);
    is->first = TW_NEW(arena, int, p->n_ports + 1);
    is->busy = TW_NEW(arena, int64_t, p->n_ports + 1);
    is->passed = TW_NEW(arena, int64_t, p->n_ports + 1);
    if (!is->way || !is->first || !is->busy || !is->passed) return NULL;
    for (int i = 0; i < p->n_ports; i++) is->first[i + 1] = is->first[i] + (int)p->port[i].ways;
    return is;
}

/* The port at one end of a transfer; -1: none. */
static int port_of(const tw_ways *p, const tw_event *e, bool inward, bool reads)
{
    if (p->scene->platform->n_ports == 0 || e->instr.op == TW_EXEC || e->busy_end <= e->start_cycle) return -1;
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

tw_status tw_ways_take(tw_ways *p, const tw_event *e, bool inward, int64_t watermark)
{
    const stretch is = {e->start_cycle, e->busy_end};
    for (int reads = 1; reads >= 0; reads--) {
        int port = port_of(p, e, inward, reads);
        if (port < 0) continue;
        way *w = &p->way[p->first[port]];
        while (clear_at(w, is.from, is.until - is.from) != is.from) w++;
        TW_TRY(make_room(p, w, watermark));
        int at = n_over(w, is.from);
        memmove(w->taken + at + 1, w->taken + at, (size_t)(w->n++ - at) * sizeof *w->taken);
        w->taken[at] = is;
        if (!tw_ckd_add(p->busy[port], is.until - is.from, &p->busy[port])) p->busy[port] = INT64_MAX;
        p->passed[port]++;
    }
    return TW_OK;
}

int64_t tw_ways_busy(const tw_ways *p, int port) { return p->busy[port]; }
int64_t tw_ways_passed(const tw_ways *p, int port) { return p->passed[port]; }
