/* src/sim/port.c - the ways of ports as sorted lists of the times in which they are taken.
 *
 * Times that touch are one entry. New ones come near the end of the list, since engines run their commands in order, so that
 * finding and putting them there takes few steps. */
#include "sim/port.h"

#include <string.h>

typedef struct way {
    int n, room;
    tw_span *taken;
} way;

typedef struct port_state {
    int64_t busy, passed;
    way *way;
} port_state;

struct tw_ports {
    const tw_platform *platform;
    tw_arena *arena;
    port_state *port;
};

tw_ports *tw_ports_new(const tw_platform *platform, tw_arena *arena)
{
    tw_ports *p = TW_NEW(arena, tw_ports, 1);
    if (!p) return NULL;
    *p = (tw_ports){platform, arena, TW_NEW(arena, port_state, platform->n_ports)};
    for (int i = 0; i < platform->n_ports && p->port; i++)
        if (!(p->port[i].way = TW_NEW(arena, way, platform->port[i].ways))) return NULL;
    return p->port ? p : NULL;
}

/* The first entry that ends behind `at`. */
static int find(const way *w, int64_t at)
{
    int lo = 0, hi = w->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (w->taken[mid].hi > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* The earliest time from `at` on when the way is free for so long. */
static int64_t fit(const way *w, int64_t at, int64_t len)
{
    for (int i = find(w, at); i < w->n && w->taken[i].lo < at + len; i++) at = w->taken[i].hi;
    return at;
}

static bool take(way *w, tw_span span, tw_arena *arena)
{
    int at = find(w, span.lo);
    bool before = at > 0 && w->taken[at - 1].hi == span.lo, behind = at < w->n && w->taken[at].lo == span.hi;
    if (before && behind) {
        w->taken[at - 1].hi = w->taken[at].hi;
        memmove(w->taken + at, w->taken + at + 1, (size_t)(--w->n - at) * sizeof *w->taken);
    } else if (before) {
        w->taken[at - 1].hi = span.hi;
    } else if (behind) {
        w->taken[at].lo = span.lo;
    } else {
        if (w->n == w->room) {
            int room = w->room ? 2 * w->room : 16;
            tw_span *wider = TW_NEW(arena, tw_span, room);
            if (!wider) return false;
            if (w->n) memcpy(wider, w->taken, (size_t)w->n * sizeof *wider);
            w->taken = wider;
            w->room = room;
        }
        memmove(w->taken + at + 1, w->taken + at, (size_t)(w->n - at) * sizeof *w->taken);
        w->taken[at] = span;
        w->n++;
    }
    return true;
}

/* The way that is free first, and when. */
static int64_t first_free(const tw_ports *p, int port, int64_t at, int64_t len, int *which)
{
    int64_t best = INT64_MAX;
    for (int64_t w = 0; w < p->platform->port[port].ways && best > at; w++) {
        int64_t start = fit(&p->port[port].way[w], at, len);
        if (start < best) best = start, *which = (int)w;
    }
    return best;
}

int64_t tw_ports_pass(tw_ports *p, const tw_instr *in, int64_t start, int64_t *busy)
{
    const tw_platform_engine *engine = &p->platform->engine[in->engine];
    const int out = in->op == TW_STORE, port[2] = {engine->reads[out], engine->writes[out]};
    const int64_t units[2] = {in->reads, in->writes};
    int way_of[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (port[i] >= 0) *busy = tw_max(*busy, tw_port_cycles(&p->platform->port[port[i]], units[i]));
    if (*busy == 0) return start;
    for (int64_t at = -1; at != start;) { /* until both are free at the same time */
        at = start;
        for (int i = 0; i < 2; i++)
            if (port[i] >= 0) start = tw_max(start, first_free(p, port[i], start, *busy, &way_of[i]));
    }
    for (int i = 0; i < 2; i++) {
        if (port[i] < 0) continue;
        port_state *state = &p->port[port[i]];
        state->busy += *busy;
        state->passed++;
        if (!take(&state->way[way_of[i]], (tw_span){start, start + *busy}, p->arena)) return INT64_MAX;
    }
    return start;
}

int64_t tw_ports_busy(const tw_ports *ports, int port) { return ports->port[port].busy; }
int64_t tw_ports_passed(const tw_ports *ports, int port) { return ports->port[port].passed; }
