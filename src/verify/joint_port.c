/* src/verify/joint_port.c - the ports of a platform: which of their ways are taken, and when.
 *
 * Every way has a list of what it is taken for, in the order of time. A transfer gets the first way that is free for all its
 * busy cycles. What is over before anything that is still to come can start is forgotten. */
#include "verify/joint_judge.h"

#include <string.h>

typedef struct stretch {
    int64_t from, until;
} stretch;

typedef struct way {
    stretch *taken;
    int n, room;
} way;

struct tw_joint_ports {
    way *way; /* of all ports, one behind the other */
    int *first;
    int64_t *busy, *passed;
};

tw_joint_ports *tw_joint_ports_new(tw_joint_judge *j)
{
    const tw_platform *p = j->in.platform;
    tw_joint_ports *is = TW_NEW(j->arena, tw_joint_ports, 1);
    int64_t n = 0;
    for (int i = 0; i < p->n_ports; i++) n += p->port[i].ways;
    if (!is) return NULL;
    is->way = TW_NEW(j->arena, way, n + 1);
    is->first = TW_NEW(j->arena, int, p->n_ports + 1);
    is->busy = TW_NEW(j->arena, int64_t, p->n_ports + 1);
    is->passed = TW_NEW(j->arena, int64_t, p->n_ports + 1);
    if (!is->way || !is->first || !is->busy || !is->passed) return NULL;
    for (int i = 0; i < p->n_ports; i++) is->first[i + 1] = is->first[i] + (int)p->port[i].ways;
    return is;
}

/* The port at one end of a transfer; -1: none. */
static int port_of(const tw_joint_at *s, bool target)
{
    const tw_platform_engine *e = &s->j->in.platform->engine[s->instr->engine];
    if (s->instr->op == TW_EXEC || s->event->busy_end <= s->event->start_cycle) return -1;
    int port = target ? e->writes[!s->inward] : e->reads[!s->inward];
    return port < s->j->in.platform->n_ports ? port : -1;
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
static int64_t port_clear_at(const tw_joint_at *s, int port, int64_t at)
{
    const tw_joint_ports *p = s->j->ports;
    int64_t best = INT64_MAX, length = s->event->busy_end - s->event->start_cycle;
    for (int w = p->first[port]; w < p->first[port + 1] && best > at; w++)
        best = tw_min(best, clear_at(&p->way[w], at, length));
    return best;
}

int64_t tw_joint_ports_earliest(const tw_joint_at *s)
{
    int64_t at = s->ready;
    for (int end = 0, same = 0; same < 2; end = !end) {
        int port = port_of(s, end);
        int64_t clear = port < 0 ? at : port_clear_at(s, port, at);
        same = clear == at ? same + 1 : 0;
        at = clear;
    }
    return at;
}

bool tw_joint_ports_check(const tw_joint_at *s)
{
    int64_t start = s->event->start_cycle;
    for (int end = 0; end < 2; end++) {
        int port = port_of(s, end);
        int64_t clear = port < 0 ? start : port_clear_at(s, port, start);
        if (clear != start)
            return tw_joint_fault(s, "starts at %" PRId64 ", port '%s' is taken until %" PRId64, start,
                                  s->j->in.platform->port[port].name, clear);
    }
    return true;
}

static void forget(way *w, int64_t before)
{
    int n = n_over(w, before);
    w->n -= n;
    memmove(w->taken, w->taken + n, (size_t)w->n * sizeof *w->taken);
}

static tw_status make_room(tw_joint_judge *j, way *w)
{
    if (w->n < w->room) return TW_OK;
    if (w->n > 0) forget(w, tw_joint_watermark(j));
    if (2 * w->n < w->room) return TW_OK;
    int room = w->room ? 2 * w->room : 16;
    stretch *wider;
    TW_ALLOC(j->arena, wider, room);
    if (w->n) memcpy(wider, w->taken, (size_t)w->n * sizeof *wider);
    w->taken = wider;
    w->room = room;
    return TW_OK;
}

tw_status tw_joint_ports_take(const tw_joint_at *s)
{
    tw_joint_ports *p = s->j->ports;
    const stretch is = {s->event->start_cycle, s->event->busy_end};
    for (int end = 0; end < 2; end++) {
        int port = port_of(s, end);
        if (port < 0) continue;
        way *w = &p->way[p->first[port]];
        while (clear_at(w, is.from, is.until - is.from) != is.from) w++;
        TW_TRY(make_room(s->j, w));
        int at = n_over(w, is.from);
        memmove(w->taken + at + 1, w->taken + at, (size_t)(w->n++ - at) * sizeof *w->taken);
        w->taken[at] = is;
        tw_joint_add(s->j, &p->busy[port], is.until - is.from);
        p->passed[port]++;
    }
    return TW_OK;
}

int64_t tw_joint_ports_busy(const tw_joint_judge *j, int port) { return j->ports->busy[port]; }
int64_t tw_joint_ports_passed(const tw_joint_judge *j, int port) { return j->ports->passed[port]; }
