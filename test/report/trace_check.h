/* test/report/trace_check.h - traces of plans, held against the events of the plan, whatever format they were read from.
 *
 * A reader fills `seen`; the rest is an oracle that keeps all events and asks them everything anew: which slices a track
 * has, what a counter is at every nanosecond at which anything happens, who is linked with whom. */
#ifndef TW_TEST_REPORT_TRACE_CHECK_H
#define TW_TEST_REPORT_TRACE_CHECK_H
#include "async_plans.h"
#include "async_random.h"
#include "brute_random.h"
#include "report/trace/trace.h"

#include <stdlib.h>

enum { SEEN_TEXT = 512, SEEN_LINKS = 48 };

typedef struct seen_track {
    char name[SEEN_TEXT];
    char unit[32]; /* of a counter */
    int64_t rank;
} seen_track;

typedef struct seen_slice {
    char name[SEEN_TEXT], category[SEEN_TEXT], amount[32];
    int64_t start, end, work; /* ns */
    int track, n_links;
    int64_t link[SEEN_LINKS];
    bool begins[SEEN_LINKS]; /* a format that does not say leaves it false */
} seen_slice;

typedef struct seen_sample {
    int counter;
    int64_t ns, value;
} seen_sample;

typedef struct seen {
    char title[SEEN_TEXT];
    int n_tracks, n_counters, n_slices, n_samples;
    seen_track *track, *counter;
    seen_slice *slice; /* in the order of their begins, per track */
    seen_sample *sample;
} seen;

/* One more item at the end of an array, zeroed. */
#define SEEN_MORE(list, n) ((list) = seen_grown((list), (n), sizeof *(list)), &(list)[(n)++])
static inline void *seen_grown(void *list, int n, size_t size)
{
    if ((n & (n - 1)) == 0) list = realloc(list, (size_t)(n ? 2 * n : 1) * size);
    if (!list) abort();
    memset((char *)list + (size_t)n * size, 0, size);
    return list;
}

static inline void seen_release(seen *s)
{
    free(s->track);
    free(s->counter);
    free(s->slice);
    free(s->sample);
    *s = (seen){0};
}

static inline void seen_copy(char *to, const char *from, size_t n)
{
    n = n < SEEN_TEXT ? n : SEEN_TEXT - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

/* ---- plans ---- */

/* A lockstep machine of two levels inside the outermost, everything without limit; one channel or many. */
static inline opened random_lockstep(uint64_t *rng, int64_t mhz)
{
    static const char *const mode[] = {"separate", "in-place", "fused"};
    char machine[2048], clock[64] = "";
    tw_text mapping = {0};
    int64_t e[3];
    if (mhz > 0) snprintf(clock, sizeof clock, "clock_mhz: %d\n", (int)mhz);
    const char *channels[2] = {tw_test_pick(rng, 0, 1) ? "1" : "unlimited",
                               tw_test_pick(rng, 0, 1) ? "1" : "unlimited"};
    snprintf(
        machine, sizeof machine,
        "machine: rows\nunit: element\ntiming: lockstep\n%smemories:\n  - {name: far, size: unlimited}\n"
        "  - {name: mid, size: unlimited}\n  - {name: near, size: unlimited}\nengines:\n"
        "  - {name: outer, between: [far, mid], channels: %s, cost: {latency: %d, per_cycle: 4}}\n"
        "  - {name: inner, between: [mid, near], channels: %s, cost: {constant: %d}}\n"
        "  - {name: mac, computes: [multiply-add, add, max], on: near, accumulate: [separate, in-place, fused], "
        "cost: {latency: 1, per_cycle: 8}}\n"
        "  - {name: sum2, computes: sum, on: mid, cost: {constant: 2}}\n"
        "  - {name: sum1, computes: sum, on: near, cost: {constant: 1}}\n",
        clock, channels[0], (int)tw_test_pick(rng, 0, 9), channels[1], (int)tw_test_pick(rng, 0, 3));
    opened o = {.ctx = tw_context_new()};
    tw_text model = {0};
    int n_ops = (int)tw_test_pick(rng, 1, 2);
    tw_text_printf(&model, "workload: w\nops:\n");
    tw_text_printf(&mapping, "mapping:\n");
    for (int i = 0; i < n_ops; i++) {
        for (int l = 0; l < 3; l++) e[l] = tw_test_pick(rng, 1, 8);
        tw_text_printf(&model, "  - {name: mm%d, op: matmul, shape: [%d, %d, %d]}\n", i, (int)e[0], (int)e[1],
                       (int)e[2]);
        tw_text_printf(&mapping, "  mm%d: {levels: [", i);
        bool pass = tw_test_pick(rng, 0, 2) == 0;
        if (pass) tw_text_printf(&mapping, "{at: mid, pass: true}, ");
        for (int level = pass ? 1 : 0; level < 2; level++)
            tw_text_printf(
                &mapping,
                "%s{at: %s, tiles: {m: %d, n: %d, k: %d}, buffers: {ifm: %d, w: %d, ofm: %d}, accumulate: %s}",
                level == 1 && !pass ? ", " : "", level ? "near" : "mid", (int)tw_test_pick(rng, 1, tw_min(e[0], 2)),
                (int)tw_test_pick(rng, 1, tw_min(e[1], 2)), (int)tw_test_pick(rng, 1, tw_min(e[2], 2)),
                (int)tw_test_pick(rng, 1, 2), (int)tw_test_pick(rng, 1, 2), (int)tw_test_pick(rng, 3, 4),
                mode[tw_test_pick(rng, 0, 2)]);
        tw_text_printf(&mapping, "]}\n");
    }
    const tw_mapping *map;
    CHECK_EQ(tw_model_parse(o.ctx, "workload", model.bytes, &o.model), TW_OK);
    CHECK_EQ(tw_machine_parse(o.ctx, "machine", machine, &o.machine), TW_OK);
    tw_status status = tw_mapping_parse(o.ctx, o.model, o.machine, "mapping", mapping.bytes, &map);
    if (status == TW_OK) status = tw_plan_eval(o.ctx, o.model, o.machine, map, &o.plan);
    tw_text_release(&model);
    tw_text_release(&mapping);
    return o;
}

static inline void add_clock(char *machine, size_t room, int64_t mhz)
{
    size_t n = strlen(machine);
    if (mhz > 0) snprintf(machine + n, room - n, "clock_mhz: %d\n", (int)mhz);
}

static inline opened random_async(uint64_t *rng, int64_t mhz)
{
    opened o = {.ctx = tw_context_new()};
    async_random r = async_random_make(rng, (async_wish){.max_steps = 60});
    add_clock(r.machine, sizeof r.machine, mhz);
    if (async_random_eval(o.ctx, &r, &o.plan) == TW_OK) o.machine = o.plan->machine, o.model = o.plan->model;
    return o;
}

/* Fused operators, engines that write late, launches, barriers: the mapping is the best one. */
static inline opened random_searched(uint64_t *rng, brute_wish wish, int64_t mhz)
{
    opened o = {.ctx = tw_context_new()};
    brute_case c;
    brute_random_make(rng, wish, &c);
    add_clock(c.machine, sizeof c.machine, mhz);
    tw_search_options options = {.max_buffers = c.max_buffers, .n_threads = 1};
    CHECK_EQ(tw_model_parse(o.ctx, "workload", c.workload, &o.model), TW_OK);
    CHECK_EQ(tw_machine_parse(o.ctx, "machine", c.machine, &o.machine), TW_OK);
    if (tw_plan_search(o.ctx, o.model, o.machine, &options, &o.plan) != TW_OK) o.plan = NULL;
    return o;
}

/* The i-th of a series; o.plan is NULL when it is no use. */
static inline opened trace_plan(uint64_t *rng, int i)
{
    static const int64_t clocks[] = {0, 1000, 333, 7, 2400};
    int64_t mhz = clocks[tw_test_pick(rng, 0, (int64_t)TW_COUNT(clocks) - 1)];
    opened o = i % 4 == 0   ? random_lockstep(rng, mhz)
               : i % 4 == 1 ? random_searched(rng, (brute_wish){TW_ASYNC, 2000, false, true}, mhz)
               : i % 4 == 2 ? random_searched(rng, (brute_wish){TW_LOCKSTEP, 2000, false, false}, mhz)
                            : random_async(rng, mhz);
    if (o.plan && tw_plan_summary(o.plan)->instructions > 700) o.plan = NULL;
    return o;
}

/* ---- what is expected ---- */

typedef struct kept_event {
    tw_trace_event event;
    tw_instr instr;
} kept_event;

typedef struct expected_trace {
    const tw_plan *plan;
    int n_events, n_tracks, n_ops;
    kept_event *event;
    tw_track *track;
    tw_span *op;
} expected_trace;

static inline tw_status keep_track(void *user, int number, const tw_track *track)
{
    expected_trace *x = user;
    CHECK_EQ(number, x->n_tracks);
    *SEEN_MORE(x->track, x->n_tracks) = *track;
    return TW_OK;
}

static inline tw_status keep_begin(void *user, int op, int64_t start)
{
    expected_trace *x = user;
    CHECK_EQ(op, x->n_ops);
    *SEEN_MORE(x->op, x->n_ops) = (tw_span){start, -1};
    return TW_OK;
}

static inline tw_status keep_event(void *user, const tw_trace_event *event)
{
    expected_trace *x = user;
    kept_event *to = SEEN_MORE(x->event, x->n_events);
    *to = (kept_event){*event, *event->instr};
    return TW_OK;
}

static inline tw_status keep_end(void *user, int op, int64_t end)
{
    expected_trace *x = user;
    x->op[op].hi = end;
    return TW_OK;
}

static inline expected_trace expect_trace(const tw_plan *plan)
{
    expected_trace x = {.plan = plan};
    tw_trace_sink sink = {keep_track, keep_begin, keep_event, keep_end, &x};
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    bool complete = false;
    CHECK_EQ(tw_trace_walk(plan, 0, &sink, scratch, &diag, &complete), TW_OK);
    CHECK(complete);
    for (int i = 0; i < x.n_events; i++) x.event[i].event.instr = &x.event[i].instr;
    tw_diag_release(&diag);
    tw_arena_free(scratch);
    return x;
}

static inline void expected_release(expected_trace *x)
{
    free(x->event);
    free(x->track);
    free(x->op);
}

__extension__ typedef __int128 wide;
static inline int64_t trace_ns(const tw_plan *plan, int64_t cycles)
{
    int64_t mhz = plan->machine->clock_mhz;
    return mhz ? (int64_t)((wide)cycles * 1000 / mhz) : cycles;
}

/* ---- slices ---- */

static inline int find_track(const seen_track *list, int n, const char *name)
{
    int found = -1;
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) {
            if (found >= 0) fail_msg("two tracks '%s'", name);
            found = i;
        }
    if (found < 0) fail_msg("no track '%s'", name);
    return found;
}

/* The next slice of the track, from *at on. */
static inline const seen_slice *next_slice(const seen *s, int track, int *at)
{
    while (*at < s->n_slices && s->slice[*at].track != track) (*at)++;
    if (*at == s->n_slices) fail_msg("track '%s' has too few slices", s->track[track].name);
    return &s->slice[(*at)++];
}

static inline bool has_link(const seen_slice *slice, int64_t residency)
{
    int n = 0;
    for (int i = 0; i < slice->n_links; i++) n += slice->link[i] == residency + 1;
    return n == 1;
}

/* The slice of event i and of those that join it. */
static inline void check_command(const expected_trace *x, int i, const seen_slice *slice)
{
    char name[4096] = "", label[TW_TRACE_TEXT];
    int64_t work = 0, links[SEEN_LINKS];
    int n_links = 0;
    const tw_trace_event *first = &x->event[i].event;
    do {
        const tw_trace_event *e = &x->event[i].event;
        CHECK_EQ(e->track, first->track);
        CHECK_EQ(e->start, first->start);
        CHECK_EQ(e->busy_end, first->busy_end);
        if (*name) strcat(name, " + ");
        strcat(name, tw_trace_label(x->plan, e, label));
        work += e->instr->work;
        for (int u = 0; u <= e->n_used; u++) {
            int64_t r = u < e->n_used ? e->used[u] : e->made;
            bool known = r < 0;
            for (int k = 0; k < n_links; k++) known |= links[k] == r;
            if (!known) links[n_links++] = r;
            CHECK(r < 0 || has_link(slice, r));
        }
    } while (++i < x->n_events && x->event[i].event.joins);
    CHECK_STR(slice->name, name);
    CHECK_EQ(slice->work, work);
    CHECK_EQ(slice->start, trace_ns(x->plan, first->start));
    CHECK_EQ(slice->end, trace_ns(x->plan, first->busy_end));
    CHECK_EQ(slice->n_links, n_links);
}

static inline void check_track(const expected_trace *x, const seen *s, int track)
{
    char name[TW_TRACE_TEXT];
    int mine = find_track(s->track, s->n_tracks, tw_track_name(x->plan, &x->track[track], name)), at = 0;
    int64_t free_at = 0;
    for (int i = 0; i < x->n_events; i++) {
        const tw_trace_event *e = &x->event[i].event;
        if (e->track != track || e->joins) continue;
        bool lockstep = x->plan->machine->timing == TW_LOCKSTEP;
        if (e->gap > 0 && (lockstep || e->wait == TW_WAIT_DATA || e->wait == TW_WAIT_CREDIT)) {
            const seen_slice *wait = next_slice(s, mine, &at);
            CHECK_STR(wait->name, lockstep                  ? "waits for the row"
                                  : e->wait == TW_WAIT_DATA ? "waits for data"
                                                            : "waits for credit");
            CHECK_STR(wait->category, "wait");
            CHECK_EQ(wait->start, trace_ns(x->plan, e->start - e->gap));
            CHECK_EQ(wait->end, trace_ns(x->plan, e->start));
            CHECK(wait->start >= free_at);
            free_at = wait->end;
        }
        const seen_slice *slice = next_slice(s, mine, &at);
        check_command(x, i, slice);
        CHECK(slice->start >= free_at && slice->end >= slice->start);
        free_at = slice->end;
    }
    while (at < s->n_slices) CHECK(s->slice[at++].track != mine);
}

static inline void check_operators(const expected_trace *x, const seen *s)
{
    int mine = find_track(s->track, s->n_tracks, "operators"), at = 0;
    for (int i = 0; i < x->n_ops; i++) {
        const seen_slice *slice = next_slice(s, mine, &at);
        CHECK_STR(slice->name, x->plan->model->op[i].name);
        CHECK_EQ(slice->start, trace_ns(x->plan, x->op[i].lo));
        CHECK_EQ(slice->end, trace_ns(x->plan, x->op[i].hi));
    }
}

/* ---- against the rows of the public interface ---- */

typedef struct row_totals {
    const expected_trace *x;
    int64_t origin, commands, ns;
} row_totals;

static inline tw_status add_row(void *user, const tw_row *row)
{
    row_totals *t = user;
    bool async = t->x->plan->machine->timing == TW_ASYNC;
    for (int i = 0; i < (async ? 1 : row->n_actions); i++) {
        const tw_action *a = &row->action[i];
        t->commands++;
        t->ns += trace_ns(t->x->plan, t->origin + (async ? a->busy_end : a->end_cycle)) -
                 trace_ns(t->x->plan, t->origin + a->start_cycle);
    }
    return TW_OK;
}

static inline void check_rows(const opened *o, const expected_trace *x, const seen *s)
{
    row_totals rows = {.x = x};
    int64_t commands = 0, ns = 0;
    for (int op = 0; op < x->n_ops; op++) {
        rows.origin = x->op[op].lo;
        CHECK_EQ(tw_plan_walk(o->ctx, o->plan, op, add_row, &rows), TW_OK);
    }
    for (int i = 0; i < s->n_slices; i++) {
        const seen_slice *slice = &s->slice[i];
        if (strcmp(slice->category, "wait") == 0 || strcmp(slice->category, "operator") == 0) continue;
        commands++;
        ns += slice->end - slice->start;
    }
    CHECK_EQ(commands, rows.commands);
    CHECK_EQ(ns, rows.ns);
}

/* ---- links ---- */

/* In lockstep, transfers through a memory hide behind others: they may outlast their row, and begin before the one that
 * feeds them. */
static inline bool passes_through_memories(const expected_trace *x)
{
    for (int i = 0; i < x->n_ops; i++)
        for (int t = 0; t < x->plan->op[i].program.n_tiled; t++)
            if (x->plan->op[i].program.tiled[t].n_pass > 0) return x->plan->machine->timing == TW_LOCKSTEP;
    return false;
}

/* What is read was there: who made it had ended. The tiles that others work inside of are made by those. */
static inline void check_producers(const expected_trace *x)
{
    if (passes_through_memories(x)) return;
    for (int i = 0; i < x->n_events; i++)
        for (int u = 0; u < x->event[i].event.n_used; u++)
            for (int j = 0; j < x->n_events; j++) {
                const tw_trace_event *from = &x->event[j].event, *to = &x->event[i].event;
                if (!from->opens || from->made != to->used[u] || x->track[from->track].engine < 0) continue;
                if (i != j) CHECK(from->end <= to->start);
            }
}

/* ---- counters ---- */

/* When the residency that event i opens is over. */
static inline int64_t residency_end(const expected_trace *x, int i)
{
    const tw_trace_event *opener = &x->event[i].event;
    bool async = x->plan->machine->timing == TW_ASYNC;
    for (int j = i; j < x->n_events && x->event[j].event.op == opener->op; j++) {
        const tw_trace_event *e = &x->event[j].event;
        if (!async && j > i && e->opens && e->instr->dst == opener->instr->dst) return e->start;
        for (int k = 0; k < e->n_closed; k++)
            if (e->closed[k] == opener->made) return e->busy_end;
    }
    return x->op[opener->op].hi;
}

typedef struct holding { /* a residency, or what is on its way: [from, to) in ns */
    int64_t from, to, amount;
    int engine, memory, pool, op;
} holding;

static inline holding *list_holdings(const expected_trace *x, int *n)
{
    holding *list = NULL;
    *n = 0;
    for (int i = 0; i < x->n_events; i++) {
        const tw_trace_event *e = &x->event[i].event;
        const tw_engine *engine = e->instr->engine < 0 ? NULL : &x->plan->machine->engine[e->instr->engine];
        if (engine && engine->kind == TW_MOVES)
            *SEEN_MORE(list, *n) = (holding){trace_ns(x->plan, e->start),
                                             trace_ns(x->plan, e->end),
                                             e->instr->work,
                                             e->instr->engine,
                                             -1,
                                             -1,
                                             e->op};
        if (!e->opens) continue;
        const tw_buffer *b = &x->plan->op[e->op].program.layout.buffer[e->instr->dst];
        bool late = engine && engine->late && e->instr->op == TW_EXEC;
        int64_t from = tw_min(late ? e->end : e->start, x->op[e->op].hi);
        /* one that is given back before it comes, unread, is never there: [from, to) is empty */
        *SEEN_MORE(list, *n) = (holding){.from = trace_ns(x->plan, from),
                                         .to = trace_ns(x->plan, residency_end(x, i)),
                                         .amount = b->size,
                                         .engine = -1,
                                         .memory = b->memory,
                                         .pool = b->operand,
                                         .op = e->op};
    }
    return list;
}

static inline bool held_at(const holding *h, int64_t ns) { return h->from <= ns && ns < h->to; }

/* The counter's value at this time, by its name. */
static inline int64_t expected_value(const expected_trace *x, const holding *list, int n, const char *name,
                                     int64_t ns)
{
    const tw_machine *machine = x->plan->machine;
    int64_t sum = 0;
    char text[512];
    for (int i = 0; i < n; i++) {
        if (!held_at(&list[i], ns)) continue;
        if (list[i].engine >= 0)
            snprintf(text, sizeof text, "%s in flight", machine->engine[list[i].engine].name);
        else
            snprintf(text, sizeof text, "%s reserved", machine->memory[list[i].memory].name);
        if (strcmp(name, text) == 0) sum += list[i].amount;
    }
    for (int op = 0; op < x->n_ops; op++) {
        const tw_program *p = &x->plan->op[op].program;
        if (!p->flow || ns < trace_ns(x->plan, x->op[op].lo) || ns >= trace_ns(x->plan, x->op[op].hi)) continue;
        for (int m = 1; m < machine->n_memories; m++)
            for (int o = 0; o < p->op->n_operands; o++) {
                const tw_pool_use *use = &x->plan->op[op].timeline.pool[m][o];
                if (use->n_operands == 0 || p->flow->residency[m][o].resident) continue;
                int at = 0;
                for (int k = 0; k < use->n_operands; k++)
                    at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", k ? "+" : "", use->operand[k]);
                snprintf(text + at, sizeof text - (size_t)at, " in %s free", use->memory);
                if (strcmp(name, text) != 0) continue;
                sum += use->slots;
                for (int i = 0; i < n; i++)
                    sum -= list[i].op == op && list[i].memory == m && list[i].pool == o && held_at(&list[i], ns);
            }
    }
    return sum;
}

static inline int64_t value_at(const seen *s, int counter, int64_t ns)
{
    int64_t value = 0;
    for (int i = 0; i < s->n_samples && s->sample[i].ns <= ns; i++)
        if (s->sample[i].counter == counter) value = s->sample[i].value;
    return value;
}

static inline int by_counter_and_time(const void *a, const void *b)
{
    const seen_sample *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->counter > y->counter) - (x->counter < y->counter);
}

static inline int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Every moment at which something begins or ends, and one in between. */
static inline int64_t *list_moments(const expected_trace *x, const holding *list, int n, int *n_moments)
{
    int64_t *moment = NULL;
    *n_moments = 0;
    for (int i = 0; i < n; i++) {
        *SEEN_MORE(moment, *n_moments) = list[i].from;
        *SEEN_MORE(moment, *n_moments) = list[i].to;
    }
    for (int i = 0; i < x->n_ops; i++) *SEEN_MORE(moment, *n_moments) = trace_ns(x->plan, x->op[i].hi);
    qsort(moment, (size_t)*n_moments, sizeof *moment, by_value);
    return moment;
}

static inline void check_samples(const seen *s)
{
    for (int c = 0; c < s->n_counters; c++) {
        const seen_sample *before = NULL;
        for (int i = 0; i < s->n_samples; i++) {
            if (s->sample[i].counter != c) continue;
            if (before) CHECK(before->ns < s->sample[i].ns && before->value != s->sample[i].value);
            CHECK(s->sample[i].value >= 0);
            before = &s->sample[i];
        }
        CHECK(before != NULL);
        CHECK(before->value == 0);
    }
}

static inline void check_counters(const expected_trace *x, seen *s)
{
    int n, n_moments;
    check_samples(s); /* in the order in which they were written */
    if (s->n_samples > 0) qsort(s->sample, (size_t)s->n_samples, sizeof *s->sample, by_counter_and_time);
    holding *list = list_holdings(x, &n);
    int64_t *moment = list_moments(x, list, n, &n_moments);
    for (int c = 0; c < s->n_counters; c++)
        for (int i = 0; i < n_moments; i++) {
            if (i > 0 && moment[i] == moment[i - 1]) continue;
            int64_t wanted = expected_value(x, list, n, s->counter[c].name, moment[i]);
            if (value_at(s, c, moment[i]) != wanted)
                fail_msg("'%s' is %" PRId64 " at %" PRId64 " ns, not %" PRId64, s->counter[c].name,
                         value_at(s, c, moment[i]), moment[i], wanted);
        }
    free(list);
    free(moment);
}

/* ---- all of it ---- */

static inline void check_tracks(const expected_trace *x, const seen *s)
{
    const tw_machine *machine = x->plan->machine;
    CHECK_EQ(s->n_tracks, x->n_tracks + 1);
    for (int a = 0; a < s->n_tracks; a++)
        for (int b = 0; b < a; b++) CHECK(s->track[a].rank != s->track[b].rank);
    int movers = 0;
    for (int e = 0; e < machine->n_engines; e++) movers += machine->engine[e].kind == TW_MOVES;
    CHECK(s->n_counters >= machine->n_memories - 1 + movers);
    for (int c = 0; c < s->n_counters; c++)
        CHECK(strcmp(s->counter[c].unit, "buffers") == 0 ||
              strcmp(s->counter[c].unit, machine->unit == TW_UNIT_BYTE ? "bytes" : "elements") == 0);
}

static inline void check_trace(const opened *o, seen *s)
{
    expected_trace x = expect_trace(o->plan);
    char clock[32] = "1 cycle = 1 ns";
    if (o->machine->clock_mhz) snprintf(clock, sizeof clock, "%d MHz", (int)o->machine->clock_mhz);
    CHECK(strstr(s->title, clock) != NULL);
    check_tracks(&x, s);
    for (int t = 0; t < x.n_tracks; t++) check_track(&x, s, t);
    check_operators(&x, s);
    check_rows(o, &x, s);
    check_producers(&x);
    check_counters(&x, s);
    expected_release(&x);
}
#endif
