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

typedef struct sent { /* a load that others may hear */
    int64_t tensor;
    int32_t src;
    int memory; /* where it reads */
    tw_region region;
    tw_span time;
} sent;

typedef struct port_state {
    int64_t busy, passed, units;
    way *way;
    int n_sent; /* of the last ones, of which there is one in each place but the first times round */
    sent *sent; /* NULL: it does not broadcast */
} port_state;

struct tw_ports {
    const tw_platform *platform;
    const tw_model *model;
    tw_arena *arena;
    port_state *port;
};

tw_ports *tw_ports_new(const tw_platform *platform, const tw_model *model, tw_arena *arena)
{
    tw_ports *p = TW_NEW(arena, tw_ports, 1);
    if (!p) return NULL;
    *p = (tw_ports){platform, model, arena, TW_NEW(arena, port_state, platform->n_ports)};
    for (int i = 0; i < platform->n_ports && p->port; i++) {
        bool heard = platform->port[i].broadcasts;
        if (!(p->port[i].way = TW_NEW(arena, way, platform->port[i].ways))) return NULL;
        if (heard && !(p->port[i].sent = TW_NEW(arena, sent, TW_HEARD_MOST))) return NULL;
    }
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

/* ---- broadcasts ---- */

static bool is_same(const tw_ports *p, const sent *s, const tw_instr *in)
{
    if (s->tensor != in->tile || s->src != in->src[0] || s->memory != p->platform->engine[in->engine].is.outer)
        return false;
    for (int a = 0; a < p->model->tensor[in->tile].n_axes; a++)
        if (s->region.axis[a].lo != in->region.axis[a].lo || s->region.axis[a].hi != in->region.axis[a].hi)
            return false;
    return true;
}

/* Loads from one place into one: lanes of private memories are served otherwise. */
static bool can_be_heard(const tw_ports *p, int port, const tw_instr *in)
{
    return port >= 0 && p->port[port].sent && in->op == TW_LOAD && in->copies == 1;
}

/* The one that a load hears which is ready at `start` and lasts so long; NULL: none. */
static const sent *find_heard(const tw_ports *p, const int port[2], const tw_instr *in, int64_t start, int64_t busy)
{
    const sent *best = NULL;
    if (!can_be_heard(p, port[0], in)) return NULL;
    const port_state *state = &p->port[port[0]];
    for (int i = 0; i < tw_min(state->n_sent, TW_HEARD_MOST); i++) {
        const sent *s = &state->sent[i];
        int64_t len = tw_span_len(s->time);
        int ignored;
        if (s->time.lo < start || len < busy || (best && best->time.lo <= s->time.lo) || !is_same(p, s, in))
            continue;
        if (port[1] >= 0 && first_free(p, port[1], s->time.lo, len, &ignored) != s->time.lo) continue;
        best = s;
    }
    return best;
}

static void note_sent(tw_ports *p, int port, const tw_instr *in, tw_span time)
{
    if (!can_be_heard(p, port, in)) return;
    port_state *state = &p->port[port];
    state->sent[state->n_sent++ % TW_HEARD_MOST] =
        (sent){in->tile, in->src[0], p->platform->engine[in->engine].is.outer, in->region, time};
}

/* ---- the ports of a transfer ---- */

static bool take_way(tw_ports *p, int port, int which, int64_t units, tw_span time)
{
    port_state *state = &p->port[port];
    int64_t word = p->platform->port[port].word;
    state->busy += tw_span_len(time);
    state->units += tw_cdiv(units, word) * word;
    state->passed++;
    return take(&state->way[which], time, p->arena);
}

int64_t tw_ports_pass(tw_ports *p, tw_instr *in, int64_t start, int64_t *busy)
{
    const tw_platform_engine *engine = &p->platform->engine[in->engine];
    const int out = in->op == TW_STORE;
    const int64_t units[2] = {in->reads, in->writes};
    int way_of[2] = {0, 0}, port[2] = {engine->reads[out], engine->writes[out]};
    for (int i = 0; i < 2; i++)
        if (port[i] >= 0) *busy = tw_max(*busy, tw_port_cycles(&p->platform->port[port[i]], units[i]));
    if (*busy == 0) return start;
    const sent *heard = find_heard(p, port, in, start, *busy);
    in->heard = heard != NULL;
    if (heard) {
        start = heard->time.lo;
        *busy = tw_span_len(heard->time);
        port[0] = -1;
    }
    for (int64_t at = -1; at != start;) { /* until both are free at the same time */
        at = start;
        for (int i = 0; i < 2; i++)
            if (port[i] >= 0) start = tw_max(start, first_free(p, port[i], start, *busy, &way_of[i]));
    }
    const tw_span time = {start, start + *busy};
    for (int i = 0; i < 2; i++)
        if (port[i] >= 0 && !take_way(p, port[i], way_of[i], units[i], time)) return INT64_MAX;
    note_sent(p, port[0], in, time);
    return start;
}

int64_t tw_ports_busy(const tw_ports *ports, int port) { return ports->port[port].busy; }
int64_t tw_ports_units(const tw_ports *ports, int port) { return ports->port[port].units; }
int64_t tw_ports_passed(const tw_ports *ports, int port) { return ports->port[port].passed; }
