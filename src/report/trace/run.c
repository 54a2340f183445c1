/* src/report/trace/run.c - joins the slices of a network's steps into one trace.
 *
 * Every step announces its tracks and counters anew; what has a name that was met before is the same. A counter that
 * ends with one step and begins with the next at the same nanosecond shows the later value only, so its values wait until
 * the next one is later. */
#include "report/trace/run.h"
#include "report/trace/counters.h"
#include "write/grow.h"

#include <stdio.h>
#include <string.h>

typedef struct known {
    const char *name;
    int64_t ns, value; /* of a counter: that waits */
    bool waits;
} known;

typedef struct numbers { /* of the step at hand, from its own to those of the run */
    int64_t n, room;
    int *of;
} numbers;

typedef struct run {
    const tw_slice_sink *sink;
    tw_arena *arena;
    int64_t n_tracks, track_room, n_counters, counter_room;
    known *track, *counter;
    numbers tracks, counters;
    int64_t last_link;
} run;

/* ---- names ---- */

/* The number of a name in a list; -1: it is not there. */
static int find(const known *list, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return (int)i;
    return -1;
}

static tw_status set_number(run *r, numbers *list, int number, int of)
{
    while (list->n <= number) {
        list->of = tw_grow(r->arena, list->of, list->n, &list->room, sizeof *list->of);
        if (!list->of) return TW_ERR_NOMEM;
        list->of[list->n++] = -1;
    }
    list->of[number] = of;
    return TW_OK;
}

static tw_status take_track(void *user, int track, const char *name, int rank)
{
    run *r = user;
    int number = find(r->track, r->n_tracks, name);
    if (number >= 0) return set_number(r, &r->tracks, track, number);
    r->track = tw_grow(r->arena, r->track, r->n_tracks, &r->track_room, sizeof *r->track);
    name = tw_arena_printf(r->arena, "%s", name);
    if (!r->track || !name) return TW_ERR_NOMEM;
    number = (int)r->n_tracks++;
    r->track[number] = (known){.name = name};
    TW_TRY(set_number(r, &r->tracks, track, number));
    return r->sink->track(r->sink->user, number, name, rank);
}

static tw_status take_counter(void *user, int counter, const char *name, const char *unit, int rank)
{
    run *r = user;
    int number = find(r->counter, r->n_counters, name);
    if (number >= 0) return set_number(r, &r->counters, counter, number);
    r->counter = tw_grow(r->arena, r->counter, r->n_counters, &r->counter_room, sizeof *r->counter);
    name = tw_arena_printf(r->arena, "%s", name);
    if (!r->counter || !name) return TW_ERR_NOMEM;
    number = (int)r->n_counters++;
    r->counter[number] = (known){.name = name};
    TW_TRY(set_number(r, &r->counters, counter, number));
    return r->sink->counter(r->sink->user, number, name, unit, rank);
}

/* ---- slices and values ---- */

static tw_status take_slice(void *user, const tw_slice *slice)
{
    run *r = user;
    tw_slice moved = *slice;
    moved.track = r->tracks.of[slice->track];
    for (int i = 0; i < slice->n_links; i++) r->last_link = tw_max(r->last_link, slice->link[i].id);
    return r->sink->slice(r->sink->user, &moved);
}

static tw_status show(const run *r, int counter)
{
    known *c = &r->counter[counter];
    if (!c->waits) return TW_OK;
    c->waits = false;
    return r->sink->value(r->sink->user, counter, c->ns, c->value);
}

static tw_status take_value(void *user, int counter, int64_t ns, int64_t value)
{
    run *r = user;
    int number = r->counters.of[counter];
    known *c = &r->counter[number];
    if (c->waits && c->ns < ns) TW_TRY(show(r, number));
    *c = (known){c->name, ns, value, true};
    return TW_OK;
}

/* ---- the whole ---- */

/* The plan of a step; NULL: it has none. */
static const tw_plan *plan_of(const tw_network_plan *plan, int step)
{
    int layer = plan->network->layers.of[step];
    return layer < 0 ? NULL : plan->plan[layer];
}

static tw_status check_length(const tw_network_plan *plan, tw_diag *diag)
{
    int64_t mhz = plan->machine->clock_mhz, cycles = plan->totals.cycles;
    if (plan->totals.n_planned == 0)
        return tw_diag_infeasible(diag, (tw_loc){0}, "no step has a plan: there is nothing to trace");
    if (mhz == 0 || cycles / mhz < INT64_MAX / 1000) return TW_OK;
    return tw_diag_infeasible(diag, (tw_loc){0}, "the plan takes more than 2^63 nanoseconds: too long for a trace");
}

static tw_status walk_steps(run *r, const tw_network_plan *plan, tw_arena *scratch, tw_diag *diag)
{
    const tw_slice_sink sink = {take_track, take_counter, take_slice, take_value, r};
    int64_t start = 0;
    for (int s = 0; s < plan->network->lowered->graph.n_ops; s++) {
        const tw_plan *step = plan_of(plan, s);
        if (!step) continue;
        const tw_slice_place place = {start, r->last_link, plan->network->lowered->graph.op[s].name};
        r->tracks.n = r->counters.n = 0;
        TW_TRY(tw_slices_walk_at(step, &place, &sink, scratch, diag));
        start += step->sum.cycles;
    }
    for (int i = 0; i < r->n_counters; i++) TW_TRY(show(r, i));
    return TW_OK;
}

tw_status tw_source_walk(const tw_slice_source *source, const tw_slice_sink *sink, tw_arena *scratch, tw_diag *diag)
{
    if (source->plan) return tw_slices_walk(source->plan, sink, scratch, diag);
    TW_TRY(check_length(source->network, diag));
    run r = {.sink = sink, .arena = tw_arena_new()};
    tw_status status = r.arena ? walk_steps(&r, source->network, scratch, diag) : TW_ERR_NOMEM;
    tw_arena_free(r.arena);
    return status;
}

const char *tw_source_title(const tw_slice_source *source, char *text)
{
    if (source->plan) return tw_slices_title(source->plan, text);
    const char *path = tw_network_summary_of(source->network->network).path, *slash = strrchr(path, '/');
    return tw_slices_name(slash ? slash + 1 : path, source->network->machine, text);
}
