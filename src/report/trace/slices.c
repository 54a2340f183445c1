/* src/report/trace/slices.c - see slices.h.
 *
 * Counters need to know before which cycle nothing more can begin. Async: each unit runs its commands one after the
 * other, so that is the earliest moment at which one that has commands left is free; and a program has the stores of a
 * step right behind its execution, so what only stores does not begin before the last execution that was seen.
 * Lockstep: what computes starts with its row, and rows come in order. */
#include "report/trace/slices.h"
#include "report/facts/hardware.h"
#include "report/facts/jointfacts.h"
#include "report/text/stalls.h"
#include "report/trace/counters.h"
#include "write/grow.h"

#include <stdio.h>
#include <string.h>

typedef struct unit {
    int engine;
    int64_t free_at;
} unit;

typedef struct named_counter { /* free buffers of a pool; pools of the same name share one */
    const char *name;
    int counter;
} named_counter;

static const char *const verb[] = {"load", "store", "execute", "add", "fill"}; /* by tw_opcode */
enum { N_VERBS = TW_COUNT(verb) };

typedef struct slicer {
    const tw_plan *plan;
    int op; /* at hand */
    const tw_program *program;
    const tw_slice_sink *sink;
    tw_arena *arena; /* the walk rewinds its own */
    tw_counters counters;
    int64_t n_units, unit_room;
    unit *unit;                       /* per track of the trace */
    int64_t *to_come, *loads_to_come; /* per engine */
    int64_t last_exec;
    int64_t *held_since; /* per buffer of the operator, -1: it is free */
    int64_t op_start, op_end;
    int *reserved, *in_flight;                     /* counters per memory and per engine */
    int credits[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* of this operator's pools, -1: none */
    int *hold_credits;                             /* of groups: per hold                */
    int64_t n_pools, pool_room;
    named_counter *pool;
    const char **category; /* per verb, from, to; NULL: not used so far */
    /* the command whose events are coming */
    bool pending;
    tw_slice slice;
    tw_slice_link link[TW_SLICE_LINKS];
    char name[TW_SLICE_TEXT];
    size_t name_len;
} slicer;

/* Tracks of the trace stand below that of the operators or, of groups, those of each group. */
enum { OPERATORS };
static int first_track(const slicer *s) { return s->plan->joint ? s->plan->joint->program->n_nests : 1; }
enum { RANKS = 4 * TW_MAX_UNITS }; /* of one engine */

static int64_t ns_of(const slicer *s, int64_t cycle) { return tw_cycles_ns(cycle, s->plan->machine->clock_mhz); }
static bool has_waits(const slicer *s) { return s->plan->op[0].timeline.has_waits; }
static bool moves(const slicer *s, int engine)
{
    return engine >= 0 && tw_hardware_engine(s->plan, engine)->kind == TW_MOVES;
}
static const char *units_name(const slicer *s)
{
    return s->plan->machine->unit == TW_UNIT_BYTE ? "bytes" : "elements";
}

/* ---- tracks ---- */

static tw_status take_track(void *user, int number, const tw_track *track)
{
    slicer *s = user;
    char name[TW_TRACE_TEXT];
    int rank = track->engine < 0 ? 1 + track->level : (1 + track->engine) * RANKS + track->unit + track->lane;
    s->unit = tw_grow(s->arena, s->unit, s->n_units, &s->unit_room, sizeof *s->unit);
    if (!s->unit) return TW_ERR_NOMEM;
    s->unit[s->n_units++] = (unit){track->engine, s->op_start};
    return s->sink->track(s->sink->user, first_track(s) + number, tw_track_name(s->plan, track, name), rank);
}

/* ---- commands ---- */

static tw_status end_command(slicer *s)
{
    if (!s->pending) return TW_OK;
    s->pending = false;
    return s->sink->slice(s->sink->user, &s->slice);
}

/* NULL: it did not wait, it had nothing to do. */
static const char *reason_of(const slicer *s, const tw_trace_event *event)
{
    if (!has_waits(s)) return "waits for the row";
    if (event->wait == TW_WAIT_DATA) return "waits for data";
    if (event->wait == TW_WAIT_PORT) return "waits for port";
    return event->wait == TW_WAIT_CREDIT ? "waits for credit" : NULL;
}

static tw_status show_wait(const slicer *s, const tw_trace_event *event)
{
    const char *reason = reason_of(s, event);
    if (event->gap == 0 || !reason) return TW_OK;
    tw_slice wait = {.track = first_track(s) + event->track,
                     .name = reason,
                     .category = "wait",
                     .start_ns = ns_of(s, event->start - event->gap),
                     .end_ns = ns_of(s, event->start)};
    return s->sink->slice(s->sink->user, &wait);
}

static const char *category_of(slicer *s, const tw_trace_event *event)
{
    tw_opcode op = event->instr->op;
    int from = tw_trace_from(s->plan, event), to = tw_trace_to(s->plan, event);
    int n = tw_hardware_n_memories(s->plan);
    const char **known = &s->category[((int)op * n + (op <= TW_STORE ? from : 0)) * n + to];
    const char *source = tw_hardware_memory_name(s->plan, from), *target = tw_hardware_memory_name(s->plan, to);
    if (!*known)
        *known = op <= TW_STORE ? tw_arena_printf(s->arena, "%s %.60s to %.60s", verb[op], source, target)
                                : tw_arena_printf(s->arena, "%s on %.60s", verb[op], target);
    return *known;
}

static tw_status begin_command(slicer *s, const tw_trace_event *event)
{
    tw_opcode op = event->instr->op;
    s->name_len = 0;
    s->pending = true;
    s->slice = (tw_slice){.track = first_track(s) + event->track,
                          .name = s->name,
                          .category = category_of(s, event),
                          .amount = op <= TW_STORE  ? units_name(s)
                                    : op == TW_EXEC ? "points"
                                                    : "elements",
                          .start_ns = ns_of(s, event->start),
                          .end_ns = ns_of(s, event->busy_end),
                          .link = s->link};
    return s->slice.category ? TW_OK : TW_ERR_NOMEM;
}

static void add_link(slicer *s, int64_t residency, bool begins)
{
    if (residency < 0) return;
    for (int i = 0; i < s->slice.n_links; i++)
        if (s->link[i].id == residency + 1) return;
    if (s->slice.n_links < TW_SLICE_LINKS) s->link[s->slice.n_links++] = (tw_slice_link){residency + 1, begins};
}

static void add_text(slicer *s, const char *text)
{
    size_t n = strlen(text), room = sizeof s->name - 1 - s->name_len;
    if (n > room) n = room;
    memcpy(s->name + s->name_len, text, n);
    s->name_len += n;
    s->name[s->name_len] = 0;
}

static void add_name(slicer *s, const tw_trace_event *event)
{
    char label[TW_TRACE_TEXT];
    if (s->name_len > 0) add_text(s, " + ");
    add_text(s, tw_trace_label(s->plan, event, label));
}

static void add_event(slicer *s, const tw_trace_event *event)
{
    add_name(s, event);
    s->slice.work += event->instr->work;
    for (int i = 0; i < event->n_used; i++) add_link(s, event->used[i], false);
    add_link(s, event->made, event->opens);
}

/* ---- counters ---- */

static int64_t free_from(const slicer *s, const unit *u)
{
    bool only_stores = !s->plan->joint && moves(s, u->engine) && s->loads_to_come[u->engine] == 0;
    return only_stores ? tw_max(u->free_at, s->last_exec) : u->free_at;
}

/* The cycle before which nothing that is still to come begins. */
static int64_t earliest(const slicer *s)
{
    int64_t all = INT64_MAX;
    if (!has_waits(s)) return s->last_exec;
    for (int i = 0; i < s->n_units; i++)
        if (s->to_come[s->unit[i].engine] > 0) all = tw_min(all, free_from(s, &s->unit[i]));
    return tw_min(all, s->op_end);
}

static tw_status change(slicer *s, int counter, int64_t cycle, int64_t delta)
{
    if (tw_counters_full(&s->counters, counter)) TW_TRY(tw_counters_settle(&s->counters, earliest(s)));
    return tw_counters_add(&s->counters, counter, cycle, delta);
}

static tw_status hold(slicer *s, int buffer, int64_t cycle, int64_t amount)
{
    int n;
    const tw_buffer *b = &tw_hardware_buffers(s->plan, s->op, &n)[buffer];
    int credits = s->plan->joint ? s->hold_credits[b->pool] : s->credits[b->memory][b->operand];
    if (credits >= 0) TW_TRY(change(s, credits, cycle, -amount));
    return change(s, s->reserved[b->memory], cycle, amount * b->size);
}

static tw_status take_buffer(slicer *s, int buffer, int64_t cycle)
{
    if (s->held_since[buffer] >= 0) return TW_OK;
    s->held_since[buffer] = cycle;
    return hold(s, buffer, cycle, 1);
}

/* An execution that meets only padding gives a tile back that is still to come: that is never there. */
static tw_status give_buffer(slicer *s, int buffer, int64_t cycle)
{
    int64_t since = s->held_since[buffer];
    if (since < 0) return TW_OK;
    s->held_since[buffer] = -1;
    return hold(s, buffer, tw_max(cycle, since), -1);
}

/* A late engine takes its buffer only when it is done. Lockstep: transfers through a memory hide behind others, and may
 * even outlast their operator. */
static int64_t opened_at(const slicer *s, const tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    bool late = in->op == TW_EXEC && in->engine >= 0 && tw_hardware_engine(s->plan, in->engine)->late;
    return tw_min(late ? event->end : event->start, s->op_end);
}

static tw_status count(slicer *s, const tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    if (event->opens) TW_TRY(take_buffer(s, in->dst, opened_at(s, event)));
    for (int i = 0; i < event->n_closed; i++) TW_TRY(give_buffer(s, event->closed_buffer[i], event->busy_end));
    if (!moves(s, in->engine)) return TW_OK;
    TW_TRY(change(s, s->in_flight[in->engine], event->start, in->work));
    return change(s, s->in_flight[in->engine], event->end, -in->work);
}

static void note_progress(slicer *s, const tw_trace_event *event)
{
    int e = event->instr->engine;
    s->unit[event->track].free_at = event->busy_end;
    if (e >= 0) s->to_come[e]--;
    if (e >= 0 && event->instr->op == TW_LOAD) s->loads_to_come[e]--;
    if (!moves(s, e)) s->last_exec = event->start;
}

static tw_status take_event(void *user, const tw_trace_event *event)
{
    slicer *s = user;
    if (!event->joins) {
        TW_TRY(end_command(s));
        TW_TRY(show_wait(s, event));
        TW_TRY(begin_command(s, event));
    }
    add_event(s, event);
    TW_TRY(count(s, event));
    note_progress(s, event);
    return TW_OK;
}

/* ---- operators ---- */

static tw_status announce(slicer *s, const char *name, const char *unit_name, int *counter)
{
    TW_TRY(tw_counters_new(&s->counters, counter));
    return s->sink->counter(s->sink->user, *counter, name, unit_name,
                            (1 + tw_hardware_n_engines(s->plan)) * RANKS + *counter);
}

/* Those that all operators share. */
static tw_status announce_counters(slicer *s)
{
    int n_memories = tw_hardware_n_memories(s->plan), n_engines = tw_hardware_n_engines(s->plan);
    char name[TW_TRACE_TEXT];
    TW_ALLOC(s->arena, s->reserved, n_memories);
    TW_ALLOC(s->arena, s->in_flight, n_engines);
    for (int m = 1; m < n_memories; m++) {
        snprintf(name, sizeof name, "%.120s reserved", tw_hardware_memory_name(s->plan, m));
        TW_TRY(announce(s, name, units_name(s), &s->reserved[m]));
    }
    for (int e = 0; e < n_engines; e++) {
        if (!moves(s, e)) continue;
        snprintf(name, sizeof name, "%.120s in flight", tw_hardware_engine_name(s->plan, e));
        TW_TRY(announce(s, name, units_name(s), &s->in_flight[e]));
    }
    return TW_OK;
}

static tw_status find_pool(slicer *s, const tw_pool_use *use, int *counter)
{
    const char *pool = tw_pool_name(use, s->arena);
    const char *name = pool ? tw_arena_printf(s->arena, "%.160s free", pool) : NULL;
    if (!name) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < s->n_pools; i++)
        if (strcmp(s->pool[i].name, name) == 0) {
            *counter = s->pool[i].counter;
            return TW_OK;
        }
    TW_TRY(announce(s, name, "buffers", counter));
    s->pool = tw_grow(s->arena, s->pool, s->n_pools, &s->pool_room, sizeof *s->pool);
    if (!s->pool) return TW_ERR_NOMEM;
    s->pool[s->n_pools++] = (named_counter){name, *counter};
    return TW_OK;
}

/* What is kept for all of a fused group has no credits. */
static tw_status begin_pools(slicer *s, const tw_op_plan *op, int64_t start)
{
    const tw_machine *machine = s->plan->machine;
    for (int m = 0; m < machine->n_memories; m++)
        for (int o = 0; o < s->program->op->n_operands; o++) {
            const tw_pool_use *use = &op->timeline.pool[m][o];
            s->credits[m][o] = -1;
            if (m == 0 || use->n_operands == 0 || s->program->stop[m][o].resident) continue;
            TW_TRY(find_pool(s, use, &s->credits[m][o]));
            TW_TRY(change(s, s->credits[m][o], start, use->slots));
        }
    return TW_OK;
}

/* Every hold has its buffers to itself. */
static tw_status begin_holds(slicer *s, int64_t start)
{
    const tw_joint *joint = s->plan->joint->program;
    TW_ALLOC(s->arena, s->hold_credits, joint->n_holds);
    for (int i = 0; i < joint->n_holds; i++) {
        const tw_nest_hold *hold = joint->hold[i];
        const char *name =
            tw_arena_printf(s->arena, "%.80s in %.60s free", s->plan->model->tensor[hold->tensor].name,
                            joint->platform->memory[hold->memory].name);
        if (!name) return TW_ERR_NOMEM;
        TW_TRY(announce(s, name, "buffers", &s->hold_credits[i]));
        TW_TRY(change(s, s->hold_credits[i], start, hold->slots));
    }
    return TW_OK;
}

static tw_status end_holds(slicer *s, int64_t end)
{
    const tw_joint *joint = s->plan->joint->program;
    for (int i = 0; i < joint->n_holds; i++) TW_TRY(change(s, s->hold_credits[i], end, -joint->hold[i]->slots));
    return TW_OK;
}

static tw_status begin_op(void *user, int op, int64_t start)
{
    slicer *s = user;
    const tw_op_plan *plan = &s->plan->op[op];
    const tw_engine_use *engine = s->plan->joint ? s->plan->joint->timeline.engine : plan->timeline.engine;
    int n_buffers;
    s->op = op;
    s->program = &plan->program;
    s->op_start = s->last_exec = start;
    s->op_end = start + (s->plan->joint ? s->plan->sum : plan->timeline.sum).cycles;
    tw_hardware_buffers(s->plan, op, &n_buffers);
    TW_ALLOC(s->arena, s->held_since, n_buffers + 1);
    for (int b = 0; b < n_buffers; b++) s->held_since[b] = -1;
    for (int64_t i = 0; i < s->n_units; i++) s->unit[i].free_at = start;
    for (int e = 0; e < tw_hardware_n_engines(s->plan); e++) {
        const tw_engine_use *use = &engine[e];
        s->to_come[e] = use->loads + use->stores + use->ops;
        s->loads_to_come[e] = use->loads;
    }
    for (int i = 0; i < s->counters.n; i++) TW_TRY(change(s, i, start, 0));
    return s->plan->joint ? begin_holds(s, start) : begin_pools(s, plan, start);
}

static tw_status end_pools(slicer *s, const tw_op_plan *op, int64_t end)
{
    for (int m = 1; m < s->plan->machine->n_memories; m++)
        for (int o = 0; o < s->program->op->n_operands; o++)
            if (s->credits[m][o] >= 0) TW_TRY(change(s, s->credits[m][o], end, -op->timeline.pool[m][o].slots));
    return TW_OK;
}

/* From the first execution of each group to the end of its last one. */
static tw_status show_groups(const slicer *s)
{
    for (int g = 0; g < s->plan->joint->program->n_nests; g++) {
        tw_span when = tw_joint_group_span(s->plan, g);
        tw_slice all = {.track = g,
                        .name = s->plan->joint->program->nest[g].map->name,
                        .category = "group",
                        .start_ns = ns_of(s, when.lo),
                        .end_ns = ns_of(s, when.hi)};
        TW_TRY(s->sink->slice(s->sink->user, &all));
    }
    return TW_OK;
}

/* What is still held is over with its operator. Changes at its very end wait: the next one begins there. */
static tw_status end_op(void *user, int op, int64_t end)
{
    slicer *s = user;
    TW_TRY(end_command(s));
    int n_buffers;
    tw_hardware_buffers(s->plan, op, &n_buffers);
    for (int b = 0; b < n_buffers; b++) TW_TRY(give_buffer(s, b, end));
    TW_TRY(s->plan->joint ? end_holds(s, end) : end_pools(s, &s->plan->op[op], end));
    TW_TRY(tw_counters_settle(&s->counters, end));
    if (s->plan->joint) return show_groups(s);
    tw_slice all = {.track = OPERATORS,
                    .name = s->program->op->name,
                    .category = "operator",
                    .start_ns = ns_of(s, s->op_start),
                    .end_ns = ns_of(s, end)};
    return s->sink->slice(s->sink->user, &all);
}

/* ---- the whole ---- */

static tw_status check_length(const tw_plan *plan, tw_diag *diag)
{
    int64_t cycles = 0, mhz = plan->machine->clock_mhz;
    bool fits = true;
    for (int i = 0; i < plan->model->n_ops && !plan->joint; i++)
        fits &= tw_ckd_add(cycles, plan->op[i].timeline.sum.cycles, &cycles);
    if (plan->joint) cycles = plan->sum.cycles;
    if (fits && (mhz == 0 || cycles / mhz < INT64_MAX / 1000)) return TW_OK;
    return tw_diag_infeasible(diag, (tw_loc){0}, "the plan takes more than 2^63 nanoseconds: too long for a trace");
}

/* The first tracks: that of the operators, or those of the groups. */
static tw_status announce_wholes(const slicer *s)
{
    if (!s->plan->joint) return s->sink->track(s->sink->user, OPERATORS, "operators", 0);
    for (int g = 0; g < s->plan->joint->program->n_nests; g++) {
        char name[TW_TRACE_TEXT];
        snprintf(name, sizeof name, "group %.120s", s->plan->joint->program->nest[g].map->name);
        TW_TRY(s->sink->track(s->sink->user, g, name, 0));
    }
    return TW_OK;
}

static tw_status walk(slicer *s, tw_arena *scratch, tw_diag *diag)
{
    tw_trace_sink trace = {take_track, begin_op, take_event, end_op, s};
    int n_memories = tw_hardware_n_memories(s->plan), n_engines = tw_hardware_n_engines(s->plan);
    bool complete;
    TW_ALLOC(s->arena, s->category, N_VERBS * n_memories * n_memories);
    TW_ALLOC(s->arena, s->to_come, n_engines);
    TW_ALLOC(s->arena, s->loads_to_come, n_engines);
    TW_TRY(announce_wholes(s));
    TW_TRY(announce_counters(s));
    TW_TRY(tw_trace_walk(s->plan, 0, &trace, scratch, diag, &complete));
    return tw_counters_settle(&s->counters, INT64_MAX);
}

tw_status tw_slices_walk(const tw_plan *plan, const tw_slice_sink *sink, tw_arena *scratch, tw_diag *diag)
{
    TW_TRY(check_length(plan, diag));
    tw_arena *arena = tw_arena_new();
    slicer *s = arena ? TW_NEW(arena, slicer, 1) : NULL;
    tw_status status = TW_ERR_NOMEM;
    if (s) {
        *s = (slicer){.plan = plan, .sink = sink, .arena = arena};
        s->counters =
            (tw_counters){.mhz = plan->machine->clock_mhz, .arena = arena, .show = sink->value, .user = sink->user};
        status = walk(s, scratch, diag);
    }
    tw_arena_free(arena);
    return status;
}

const char *tw_slices_title(const tw_plan *plan, char *text)
{
    char clock[64] = "1 cycle = 1 ns";
    const tw_machine *machine = plan->machine;
    if (machine->clock_mhz > 0) snprintf(clock, sizeof clock, "%" PRId64 " MHz", machine->clock_mhz);
    snprintf(text, TW_SLICE_TEXT, "%.200s on %.200s, %s", plan->model->name, machine->name, clock);
    return text;
}

static tw_status walk_plan(const void *user, const tw_slice_sink *sink, tw_arena *scratch, tw_diag *diag)
{
    return tw_slices_walk(user, sink, scratch, diag);
}

tw_slice_source tw_slices_of_plan(const tw_plan *plan, char *text)
{
    return (tw_slice_source){tw_slices_title(plan, text), walk_plan, plan};
}
