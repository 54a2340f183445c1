/* src/report/trace/network_trace.c - see network_trace.h. A section's slices are shown with the numbers that tracks and counters of these
 * names have in the whole trace, and later by as much as the sections before it take. */
#include "report/trace/network_trace.h"

#include "report/trace/counters.h"
#include "write/grow.h"

#include <string.h>

/* ---- sections ---- */

static const tw_plan *plan_of(const tw_network_plan *plan, int step)
{
    int layer = plan->network->layers.of[step];
    return layer < 0 ? NULL : plan->plan[layer];
}

static const char *name_of(const tw_network_plan *plan)
{
    const char *path = tw_network_summary_of(plan->network).path, *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The layer's operator under the step's name. */
static void put_step(const tw_network_plan *plan, int step, tw_op *op, tw_op_plan *out)
{
    *out = plan_of(plan, step)->op[0];
    *op = *out->program.op;
    op->name = plan->network->lowered->graph.op[step].name;
    out->program.op = op;
}

/* Steps by their layers, as operators of one plan. */
static tw_status put_layers(const tw_network_plan *plan, tw_arena *arena, tw_network_section *s)
{
    tw_model *model;
    tw_op *op;
    tw_op_plan *steps;
    int n = 0;
    TW_ALLOC(arena, model, 1);
    TW_ALLOC(arena, op, s->n_steps + 1);
    TW_ALLOC(arena, steps, s->n_steps + 1);
    s->plan = (tw_plan){.model = model, .machine = plan->machine, .op = steps};
    for (int i = s->first_step; i < s->first_step + s->n_steps; i++) {
        const tw_plan *layer = plan_of(plan, i);
        if (!layer) continue;
        put_step(plan, i, &op[n], &steps[n]), n++;
        s->plan.sum.cycles += layer->sum.cycles;
        s->n_commands += layer->sum.instructions;
    }
    *model = (tw_model){.name = name_of(plan), .n_ops = n, .op = op};
    return TW_OK;
}

static tw_status add_section(const tw_network_plan *plan, const tw_network_part *part, tw_arena *arena,
                             tw_network_section *s)
{
    if (!part->plan) return put_layers(plan, arena, s);
    s->plan = *part->plan;
    s->n_commands = part->plan->sum.instructions;
    return TW_OK;
}

tw_status tw_network_sections(const tw_network_plan *plan, tw_arena *arena, tw_diag *diag,
                              const tw_network_section **out, int *n)
{
    tw_network_section *all;
    int64_t begin = 0;
    *n = 0;
    TW_ALLOC(arena, all, plan->n_parts + 1);
    for (int i = 0; i < plan->n_parts;) {
        tw_network_section *s = &all[*n];
        *s = (tw_network_section){.first_step = plan->part[i].first_step, .begin_cycle = begin};
        int from = i;
        do s->n_steps += plan->part[i].n_steps;
        while (++i < plan->n_parts && !plan->part[from].plan && !plan->part[i].plan);
        TW_TRY(add_section(plan, &plan->part[from], arena, s));
        if (s->n_commands == 0 && !s->plan.joint && s->plan.model->n_ops == 0) continue;
        begin += s->plan.sum.cycles;
        ++*n;
    }
    *out = all;
    if (*n > 0) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0}, "no step of the network has a plan: there is nothing to trace");
}

/* ---- one trace ---- */

typedef struct names { /* of tracks, or of counters: a number is a place here */
    int64_t n, room;
    const char **text;
} names;

typedef struct joiner {
    const tw_slice_sink *sink;
    tw_arena *arena;
    names tracks, counters;
    int64_t n_local[2], room_local[2];
    int *local[2];               /* of the section at hand: numbers of its tracks, and of its counters */
    int64_t begin_ns, next_link; /* links of earlier sections have the numbers before                  */
    int64_t last_link;
} joiner;

static int find_name(const names *all, const char *name)
{
    for (int64_t i = 0; i < all->n; i++)
        if (strcmp(all->text[i], name) == 0) return (int)i;
    return -1;
}

/* The number of the name in the whole trace; *fresh: it has none so far. */
static tw_status enter(joiner *j, names *all, int kind, const char *name, int *number, bool *fresh)
{
    *number = find_name(all, name);
    *fresh = *number < 0;
    if (*fresh) {
        all->text = tw_grow(j->arena, all->text, all->n, &all->room, sizeof *all->text);
        const char *kept = all->text ? tw_arena_printf(j->arena, "%s", name) : NULL;
        if (!kept) return TW_ERR_NOMEM;
        *number = (int)all->n;
        all->text[all->n++] = kept;
    }
    j->local[kind] = tw_grow(j->arena, j->local[kind], j->n_local[kind], &j->room_local[kind], sizeof(int));
    if (!j->local[kind]) return TW_ERR_NOMEM;
    j->local[kind][j->n_local[kind]++] = *number;
    return TW_OK;
}

static tw_status take_track(void *user, int track, const char *name, int rank)
{
    joiner *j = user;
    int number;
    bool fresh;
    (void)track;
    TW_TRY(enter(j, &j->tracks, 0, name, &number, &fresh));
    return fresh ? j->sink->track(j->sink->user, number, name, rank) : TW_OK;
}

static tw_status take_counter(void *user, int counter, const char *name, const char *unit, int rank)
{
    joiner *j = user;
    int number;
    bool fresh;
    (void)counter;
    TW_TRY(enter(j, &j->counters, 1, name, &number, &fresh));
    return fresh ? j->sink->counter(j->sink->user, number, name, unit, rank) : TW_OK;
}

static tw_status take_slice(void *user, const tw_slice *slice)
{
    joiner *j = user;
    tw_slice moved = *slice;
    tw_slice_link link[TW_SLICE_LINKS];
    for (int i = 0; i < slice->n_links; i++) {
        link[i] = slice->link[i];
        link[i].id += j->next_link;
        j->last_link = tw_max(j->last_link, link[i].id);
    }
    moved.track = j->local[0][slice->track];
    moved.start_ns += j->begin_ns;
    moved.end_ns += j->begin_ns;
    moved.link = link;
    return j->sink->slice(j->sink->user, &moved);
}

static tw_status take_value(void *user, int counter, int64_t ns, int64_t value)
{
    joiner *j = user;
    return j->sink->value(j->sink->user, j->local[1][counter], j->begin_ns + ns, value);
}

typedef struct sections {
    int n;
    const tw_network_section *all;
} sections;

/* A tw_slice_source's walk. */
static tw_status walk(const void *user, const tw_slice_sink *sink, tw_arena *scratch, tw_diag *diag)
{
    const sections *s = user;
    joiner j = {.sink = sink, .arena = tw_arena_new()};
    const tw_slice_sink all = {take_track, take_counter, take_slice, take_value, &j};
    tw_status status = j.arena ? TW_OK : TW_ERR_NOMEM;
    for (int i = 0; i < s->n && status == TW_OK; i++) {
        j.n_local[0] = j.n_local[1] = 0;
        j.next_link = j.last_link;
        j.begin_ns = tw_cycles_ns(s->all[i].begin_cycle, s->all[i].plan.machine->clock_mhz);
        status = tw_slices_walk(&s->all[i].plan, &all, scratch, diag);
    }
    tw_arena_free(j.arena);
    return status;
}

static tw_status check_length(const sections *s, tw_diag *diag)
{
    const tw_network_section *last = &s->all[s->n - 1];
    int64_t mhz = last->plan.machine->clock_mhz;
    if (mhz == 0 || (last->begin_cycle + last->plan.sum.cycles) / mhz < INT64_MAX / 1000) return TW_OK;
    return tw_diag_infeasible(diag, (tw_loc){0}, "the plan takes more than 2^63 nanoseconds: too long for a trace");
}

tw_status tw_network_slices(const tw_network_plan *plan, tw_arena *scratch, tw_diag *diag, tw_slice_source *out)
{
    sections *s;
    char title[TW_SLICE_TEXT];
    TW_ALLOC(scratch, s, 1);
    TW_TRY(tw_network_sections(plan, scratch, diag, &s->all, &s->n));
    TW_TRY(check_length(s, diag));
    const tw_model named = {.name = name_of(plan)};
    const tw_plan head = {.model = &named, .machine = plan->machine};
    *out = (tw_slice_source){tw_arena_printf(scratch, "%s", tw_slices_title(&head, title)), walk, s};
    return out->title ? TW_OK : TW_ERR_NOMEM;
}
