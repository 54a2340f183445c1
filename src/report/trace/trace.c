/* src/report/trace/trace.c - see trace.h. */
#include "report/trace/trace.h"
#include "report/facts/cuts.h"
#include "report/facts/hardware.h"
#include "report/facts/jointfacts.h"
#include "write/grow.h"

#include <stdio.h>
#include <string.h>

typedef struct busy_track {
    tw_track track;
    int64_t free_at;
} busy_track;

typedef struct tracer {
    const tw_plan *plan;
    const tw_program *program;
    int64_t max_events;
    const tw_trace_sink *sink;
    tw_arena *own; /* rows come while others use the caller's scratch */
    int op;
    int64_t origin, ready; /* cycles of the plan at which the operator begins, and has been launched */
    tw_cuts cuts;
    int64_t outer[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* per level: index of the tile that its rows are inside of */
    int64_t *residency;                           /* per buffer: what lies there, -1: nothing yet              */
    int64_t n_residencies;
    int n_tracks;
    int64_t track_room;
    busy_track *track;
    int *first_unit; /* track of the engine's first unit, -1: it has lanes, found as they are needed */
    int64_t n_events;
    bool full; /* the walk was stopped: there are more events than may be shown */
} tracer;

/* ---- tracks ---- */

static tw_status add_track(tracer *t, tw_track track)
{
    t->track = tw_grow(t->own, t->track, t->n_tracks, &t->track_room, sizeof *t->track);
    if (!t->track) return TW_ERR_NOMEM;
    t->track[t->n_tracks++] = (busy_track){track, t->ready};
    return t->sink->track ? t->sink->track(t->sink->user, t->n_tracks - 1, &track) : TW_OK;
}

/* In rows an engine may have any number of transfers under way at once: those engines have no units. */
static tw_status add_units(tracer *t)
{
    int n_engines = tw_hardware_n_engines(t->plan);
    bool units = t->plan->op[0].timeline.has_waits; /* each does one thing at a time */
    TW_ALLOC(t->own, t->first_unit, n_engines);
    for (int e = 0; e < n_engines; e++) {
        t->first_unit[e] = units ? t->n_tracks : -1;
        for (int64_t u = 0; units && u < tw_hardware_engine(t->plan, e)->count; u++)
            TW_TRY(add_track(t, (tw_track){e, (int)u, 0, 0}));
    }
    return TW_OK;
}

/* A lane of the engine, or of the level's tiles, that is free at `start`. */
static tw_status find_lane(tracer *t, int engine, int level, int64_t start, int *out)
{
    int lane = 0;
    for (int i = 0; i < t->n_tracks; i++) {
        const busy_track *at = &t->track[i];
        if (at->track.engine != engine || (engine < 0 && at->track.level != level)) continue;
        lane++;
        if (at->free_at > start) continue;
        *out = i;
        return TW_OK;
    }
    *out = t->n_tracks;
    return add_track(t, (tw_track){engine, 0, lane, level});
}

/* ---- tiles ---- */

static int memory_of(const tracer *t, int buffer)
{
    return buffer < 0 ? 0 : t->program->layout.buffer[buffer].memory;
}

/* Tiles that are moved are those of the memory on the inner side. */
static int level_of(const tracer *t, const tw_instr *in)
{
    if (in->op == TW_EXEC && !in->nested) return t->program->n_tiled - 1;
    return t->program->stop[memory_of(t, in->op == TW_STORE ? in->src[0] : in->dst)][in->operand].grain;
}

static void set_index(const tracer *t, const tw_rowset *row, tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    for (int l = 0; l < t->program->op->n_loops; l++)
        event->index[l] = in->index[l] + t->outer[row->level][l] * t->cuts.level[row->level].count[l];
    for (int l = t->program->op->n_loops; l < TW_MAX_LOOPS; l++) event->index[l] = 0;
}

/* ---- residencies ---- */

static int64_t lies_in(const tracer *t, int buffer) { return buffer < 0 ? -1 : t->residency[buffer]; }

static int n_sources(const tw_instr *in) { return in->op <= TW_STORE ? 1 : in->n_src; }

static void set_residencies(tracer *t, tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    event->n_used = n_sources(in);
    for (int i = 0; i < event->n_used; i++) event->used[i] = lies_in(t, in->src[i]);
    event->opens = in->dst >= 0 && in->takes;
    if (event->opens) t->residency[in->dst] = t->n_residencies++;
    event->made = lies_in(t, in->dst);
    event->n_closed = in->n_gives;
    for (int i = 0; i < event->n_closed; i++) {
        event->closed_buffer[i] = in->gives[i];
        event->closed[i] = lies_in(t, in->gives[i]);
    }
}

/* ---- rows ---- */

static tw_status set_times(tracer *t, const tw_rowset *row, const tw_event *from, tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    event->start = t->origin + from->start_cycle;
    event->end = t->origin + from->end_cycle;
    event->busy_end = t->origin + from->busy_end;
    event->joins = in->together;
    if (event->joins) return TW_OK; /* on the track of the one before */
    int unit = in->nested ? -1 : t->first_unit[in->engine];
    if (unit >= 0)
        event->track = unit + in->unit;
    else
        TW_TRY(find_lane(t, in->nested ? -1 : in->engine, row->level, event->start, &event->track));
    int64_t *free_at = &t->track[event->track].free_at;
    event->gap = event->start - *free_at;
    event->wait = from->wait;
    *free_at = event->busy_end;
    return TW_OK;
}

static tw_status take_row(void *user, const tw_rowset *row)
{
    tracer *t = user;
    tw_trace_event event = {.op = t->op};
    t->full = t->max_events > 0 && t->n_events + row->n_events > t->max_events;
    if (t->full) return TW_INFEASIBLE; /* any status but TW_OK ends the walk */
    t->n_events += row->n_events;
    for (int i = 0; i < row->n_events; i++) {
        event.instr = &row->event[i].instr;
        event.level = level_of(t, event.instr);
        event.gap = 0;
        event.wait = TW_WAIT_NONE;
        TW_TRY(set_times(t, row, &row->event[i], &event));
        set_index(t, row, &event);
        set_residencies(t, &event);
        if (event.instr->nested) memcpy(t->outer[row->level + 1], event.index, sizeof event.index);
        if (t->sink->event) TW_TRY(t->sink->event(t->sink->user, &event));
    }
    return TW_OK;
}

/* ---- operators ---- */

static tw_status begin_op(tracer *t, int op)
{
    t->op = op;
    t->program = &t->plan->op[op].program;
    t->cuts = tw_cuts_of(t->program);
    memset(t->outer, 0, sizeof t->outer);
    int n = t->program->layout.n_buffers;
    TW_ALLOC(t->own, t->residency, n + 1);
    for (int b = 0; b < n; b++) t->residency[b] = -1;
    t->ready = t->origin + tw_trace_launch(t->plan, op);
    for (int i = 0; i < t->n_tracks; i++) t->track[i].free_at = tw_max(t->track[i].free_at, t->ready);
    return t->sink->begin ? t->sink->begin(t->sink->user, op, t->origin) : TW_OK;
}

static tw_status walk_op(tracer *t, int op, tw_arena *scratch, tw_diag *diag)
{
    tw_row_sink sink = {take_row, NULL, t};
    tw_timeline again;
    TW_TRY(begin_op(t, op));
    tw_status status = tw_timeline_walk(t->program, &sink, scratch, diag, &again);
    if (t->full) status = TW_OK;
    t->origin += t->plan->op[op].timeline.sum.cycles;
    if (status != TW_OK || !t->sink->end) return status;
    return t->sink->end(t->sink->user, op, t->origin);
}

static tw_status walk_ops(tracer *t, tw_arena *scratch, tw_diag *diag)
{
    TW_TRY(add_units(t));
    for (int i = 0; i < t->plan->model->n_ops && !t->full; i++) {
        tw_arena_mark mark = tw_arena_save(scratch);
        tw_status status = walk_op(t, i, scratch, diag);
        tw_arena_rewind(scratch, mark);
        TW_TRY(status);
    }
    return TW_OK;
}

/* ---- groups ---- */

/* One command, for an operator of the model. Its index is that of the group's step, along the loops of the last operator. */
static tw_status take_command(void *user, const tw_rowset *row)
{
    tracer *t = user;
    const tw_instr *in = &row->event[0].instr;
    tw_trace_event event = {
        .op = t->plan->joint->program->nest[in->group].map->op[in->which].op, .level = 0, .instr = in};
    t->full = t->max_events > 0 && t->n_events + 1 > t->max_events;
    if (t->full) return TW_INFEASIBLE; /* any status but TW_OK ends the walk */
    t->n_events++;
    TW_TRY(set_times(t, row, &row->event[0], &event));
    memcpy(event.index, in->index, sizeof event.index);
    set_residencies(t, &event);
    return t->sink->event ? t->sink->event(t->sink->user, &event) : TW_OK;
}

/* All groups at once: everything lies between one begin and one end, those of operator 0. */
static tw_status walk_groups(tracer *t, tw_arena *scratch, tw_diag *diag)
{
    int n = t->plan->joint->program->n_buffers;
    t->ready = tw_trace_launch(t->plan, 0);
    TW_TRY(add_units(t));
    TW_ALLOC(t->own, t->residency, n + 1);
    for (int b = 0; b < n; b++) t->residency[b] = -1;
    if (t->sink->begin) TW_TRY(t->sink->begin(t->sink->user, 0, 0));
    tw_status status = tw_joint_walk(t->plan, &(tw_row_sink){take_command, NULL, t}, scratch, diag);
    if (t->full) status = TW_OK;
    if (status != TW_OK || !t->sink->end) return status;
    return t->sink->end(t->sink->user, 0, t->plan->sum.cycles);
}

tw_status tw_trace_walk(const tw_plan *plan, int64_t max_events, const tw_trace_sink *sink, tw_arena *scratch,
                        tw_diag *diag, bool *complete)
{
    tracer t = {.plan = plan, .max_events = max_events, .sink = sink, .own = tw_arena_new()};
    if (!t.own) return TW_ERR_NOMEM;
    tw_status status = (plan->joint ? walk_groups : walk_ops)(&t, scratch, diag);
    *complete = !t.full;
    tw_arena_free(t.own);
    return status;
}

int64_t tw_trace_launch(const tw_plan *plan, int op)
{
    return tw_cdiv(plan->op[op].program.machine->launch, TW_MILLI);
}

/* ---- names ---- */

/* The memory that it tiles for in the first operator that has so many levels. */
static const char *name_of_level(const tw_plan *plan, int level)
{
    int op = 0;
    while (op + 1 < plan->model->n_ops && plan->op[op].program.n_tiled <= level) op++;
    return plan->machine->memory[plan->op[op].program.tiled[level].memory].name;
}

const char *tw_track_name(const tw_plan *plan, const tw_track *track, char *text)
{
    if (track->engine < 0) {
        snprintf(text, TW_TRACE_TEXT, "%.120s tiles", name_of_level(plan, track->level));
        return text;
    }
    const char *name = tw_hardware_engine_name(plan, track->engine);
    int number = track->unit + track->lane;
    if (tw_hardware_engine(plan, track->engine)->count > 1 || track->lane > 0)
        snprintf(text, TW_TRACE_TEXT, "%.120s %d", name, number);
    else
        snprintf(text, TW_TRACE_TEXT, "%.120s", name);
    return text;
}

_Static_assert((int)TW_TRACE_TEXT >= (int)TW_JOINT_LABEL, "there is room for a label");

const char *tw_trace_label(const tw_plan *plan, const tw_trace_event *event, char *text)
{
    if (plan->joint) return tw_joint_label(plan, event->instr, text);
    const tw_operand *operand = &plan->model->op[event->op].operand[event->instr->operand];
    int n = snprintf(text, TW_TRACE_TEXT, "%.40s[", operand->name);
    for (int a = 0; a < operand->n_axes; a++) {
        int64_t tile = operand->axis[a].n_terms > 0 ? event->index[operand->axis[a].term[0].loop] : 0;
        n += snprintf(text + n, (size_t)(TW_TRACE_TEXT - n), "%s%" PRId64, a ? "," : "", tile);
    }
    snprintf(text + n, (size_t)(TW_TRACE_TEXT - n), "]");
    return text;
}

static int where(const tw_plan *plan, const tw_trace_event *event, int buffer)
{
    int n;
    return buffer < 0 ? 0 : tw_hardware_buffers(plan, event->op, &n)[buffer].memory;
}

int tw_trace_from(const tw_plan *plan, const tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    for (int i = 0; i < n_sources(in); i++)
        if (in->src[i] >= 0) return where(plan, event, in->src[i]);
    return 0;
}

int tw_trace_to(const tw_plan *plan, const tw_trace_event *event) { return where(plan, event, event->instr->dst); }
