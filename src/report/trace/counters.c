/* src/report/trace/counters.c - see counters.h. Changes are nearly in order: each goes to its place from the back. */
#include "report/trace/counters.h"
#include "write/grow.h"

#include <string.h>

enum { FIRST_ROOM = 256 };

tw_status tw_counters_new(tw_counters *c, int *counter)
{
    c->counter = tw_grow(c->arena, c->counter, c->n, &c->room, sizeof *c->counter);
    if (!c->counter) return TW_ERR_NOMEM;
    tw_counter fresh = {.room = FIRST_ROOM};
    TW_ALLOC(c->arena, fresh.change, fresh.room);
    c->counter[c->n] = fresh;
    *counter = (int)c->n++;
    return TW_OK;
}

bool tw_counters_full(const tw_counters *c, int counter)
{
    return c->counter[counter].n >= c->counter[counter].room;
}

/* Room behind the last change: what was shown makes way, and an array that stays more than half full doubles. */
static tw_status make_room(tw_counters *c, tw_counter *at)
{
    tw_change *to = at->change;
    if (at->first + at->n < at->room) return TW_OK;
    if (at->n > at->room / 2) {
        at->room *= 2;
        TW_ALLOC(c->arena, to, at->room);
    }
    memmove(to, at->change + at->first, (size_t)at->n * sizeof *to);
    at->change = to;
    at->first = 0;
    return TW_OK;
}

tw_status tw_counters_add(tw_counters *c, int counter, int64_t cycle, int64_t delta)
{
    tw_counter *at = &c->counter[counter];
    TW_TRY(make_room(c, at));
    tw_change *list = at->change + at->first;
    int64_t i = at->n;
    while (i > 0 && list[i - 1].cycle > cycle) i--;
    if (i > 0 && list[i - 1].cycle == cycle) {
        list[i - 1].delta += delta;
        return TW_OK;
    }
    memmove(list + i + 1, list + i, (size_t)(at->n - i) * sizeof *list);
    list[i] = (tw_change){cycle, delta};
    at->n++;
    return TW_OK;
}

/* The changes of the first nanosecond that waits, together. */
static tw_status show_next(tw_counters *c, int counter, int64_t ns)
{
    tw_counter *at = &c->counter[counter];
    for (; at->n > 0 && tw_cycles_ns(at->change[at->first].cycle, c->mhz) == ns; at->n--)
        at->value += at->change[at->first++].delta;
    if (at->begun && at->value == at->shown) return TW_OK;
    at->begun = true;
    at->shown = at->value;
    return c->show(c->user, counter, ns, at->value);
}

tw_status tw_counters_settle(tw_counters *c, int64_t until)
{
    int64_t end = until == INT64_MAX ? INT64_MAX : tw_cycles_ns(until, c->mhz);
    for (int i = 0; i < c->n; i++)
        for (tw_counter *at = &c->counter[i]; at->n > 0;) {
            int64_t ns = tw_cycles_ns(at->change[at->first].cycle, c->mhz);
            if (ns >= end) break;
            TW_TRY(show_next(c, i, ns));
        }
    return TW_OK;
}
