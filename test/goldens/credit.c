/* test/goldens/credit.c - reference_credit_schedule.jsonl and reference_gantt_*.json: the input side of the KPU on
 * real links.
 *
 * What the files do not say stands in the README beside them: fp32, 64 bytes a cycle on every link, latencies 100, 10,
 * 10 and 1, an A row panel kept in L2, two streamers. The events show the rest: the buffers of L3 are shared by A and B
 * (with two of them the third transfer waits), those of L1 are each operand's own (strA runs ahead of strB), a link's
 * source is free when the link is, and the last cycle of latency belongs to the streamers. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

typedef struct slots {
    int64_t l3, l2a, l2b, l1;
} slots;

typedef struct run {
    tw_context *ctx;
    const tw_plan *plan;
    kpu_events events;
} run;

static bool open_run(run *r, const int64_t shape[3], int64_t tile, int64_t array, const slots *s)
{
    kpu_machine m = {.dma = "cost: {latency: 100, per_cycle: 64}, pipelined: true",
                     .move = "cost: {latency: 10, per_cycle: 64}, pipelined: true",
                     .stream = "cost: {latency: 11, per_cycle: 64}, pipelined: true",
                     .stream_keys = "count: 2"};
    kpu_case c = {{shape[0], shape[1], shape[2]}, {tile, tile, tile}, 4, 4, s->l3, s->l2a, s->l2b, s->l1};
    snprintf(m.compute, sizeof m.compute, "{array: [%" PRId64 ", %" PRId64 "]}", array, array);
    *r = (run){.ctx = tw_context_new()};
    r->plan = r->ctx ? kpu_eval(r->ctx, &m, &c) : NULL;
    return r->plan && kpu_walk(r->ctx, r->plan, &r->events);
}

static void close_run(run *r)
{
    free(r->events.list);
    tw_context_free(r->ctx);
}

/* ---- reference_credit_schedule.jsonl ---- */

/* The share is given with four digits, rounded either way. */
static void check_share(fields *f, const char *key, int64_t part, int64_t whole)
{
    const json_t *value = field_any(f, key);
    if (!value) return;
    double scaled = 1e4 * json_number_value(value);
    int64_t expected = (int64_t)(scaled + 0.5), got = (20000 * part + whole) / (2 * whole);
    if (expected == got - 1 && 20000 * part == (2 * expected + 1) * whole) got = expected; /* half way */
    check_value(f->t, f->file, f->id, key, got, json_is_number(value) ? expected : -1);
}

static void check_schedule(fields *f, const run *r)
{
    int64_t first = -1, end = 0, steps = 0;
    for (int64_t i = 0; i < r->events.n; i++) {
        const kpu_event *e = &r->events.list[i];
        if (strcmp(e->engine, "compute") != 0) continue;
        if (first < 0) first = e->start;
        end = e->end;
        steps++;
    }
    int64_t busy = tw_plan_engine_use(r->plan, 0, 0)->busy_cycles;
    field_check(f, "steps", steps);
    field_check(f, "first_compute", first);
    field_check(f, "input_makespan", end);
    field_check(f, "compute_cycles", busy);
    field_check(f, "stall_after_first", end - first - busy);
    field_check(f, "dma_bytes",
                tw_plan_link_use(r->plan, 0, KPU_L3, KPU_A)->units +
                    tw_plan_link_use(r->plan, 0, KPU_L3, KPU_B)->units);
    check_share(f, "util", busy, end);
}

void run_credit_record(tally *t, const char *file, const json_t *record)
{
    char id[160] = "record";
    fields f = open_fields(t, file, id, record);
    int64_t shape[3] = {field_int(&f, "M", 1), field_int(&f, "N", 1), field_int(&f, "K", 1)};
    int64_t tile = field_int(&f, "T", 1), array = field_int(&f, "array", 1);
    fields g = open_fields(t, file, id, field_any(&f, "slots"));
    slots s = {field_int(&g, "L3", 1), field_int(&g, "L2A", 1), field_int(&g, "L2B", 1), field_int(&g, "L1", 1)};
    snprintf(id, sizeof id,
             "%" PRId64 "x%" PRId64 "x%" PRId64 "/%" PRId64 " array %" PRId64 " slots %" PRId64 " %" PRId64
             " %" PRId64 " %" PRId64,
             shape[0], shape[1], shape[2], tile, array, s.l3, s.l2a, s.l2b, s.l1);
    bool sound = close_fields(&g);
    run r = {0};
    if (!sound || !f.good) return;
    if (open_run(&r, shape, tile, array, &s)) {
        check_schedule(&f, &r);
        close_fields(&f);
    } else {
        fail_case(t, file, id, "no plan");
    }
    close_run(&r);
}

/* ---- reference_gantt_SHAPE_TTILE.json ---- */

/* "64" is 64x64x64. */
static bool read_name(const char *file, int64_t shape[3], int64_t *tile)
{
    long long m, n, k, t;
    if (sscanf(file, "reference_gantt_%lldx%lldx%lld_T%lld", &m, &n, &k, &t) != 4) {
        if (sscanf(file, "reference_gantt_%lld_T%lld", &m, &t) != 2) return false;
        n = k = m;
    }
    shape[0] = m;
    shape[1] = n;
    shape[2] = k;
    *tile = t;
    return m > 0 && n > 0 && k > 0 && t > 0;
}

/* As the file names it: engine and tile. */
static void name_event(const kpu_event *e, char engine[16], char tile[96])
{
    bool stream = strcmp(e->engine, "stream") == 0;
    snprintf(engine, 16, "%s%s",
             stream                              ? "str"
             : strcmp(e->engine, "move") == 0    ? "bm"
             : strcmp(e->engine, "compute") == 0 ? "fab"
                                                 : e->engine,
             stream ? e->operand : "");
    snprintf(tile, 96, "%s%" PRId64 ",%" PRId64, e->operand, e->index[0], e->index[1]);
    if (e->n_index == 3) snprintf(tile + strlen(tile), 96 - strlen(tile), "+=%" PRId64, e->index[2]);
}

/* The next event of the engine at or after `from`; the number of events when there is none. */
static int64_t next_of(const kpu_events *all, const char *engine, int64_t from)
{
    char name[16], tile[96];
    for (; from < all->n; from++) {
        name_event(&all->list[from], name, tile);
        if (strcmp(name, engine) == 0) break;
    }
    return from;
}

/* Each engine's events in its own order: how the engines' lists are mixed is the file's affair. */
static void check_gantt(tally *t, const char *file, const json_t *root, const kpu_events *all)
{
    static const char *const engine[] = {"dma", "bm", "strA", "strB", "fab"};
    int64_t at[5] = {0}, listed = 0, ours = 0;
    for (size_t i = 0; i < json_array_size(root); i++) {
        char id[32];
        snprintf(id, sizeof id, "event %zu", i);
        fields f = open_fields(t, file, id, json_array_get(root, i));
        const char *who = json_string_value(field_any(&f, "engine")),
                   *what = json_string_value(field_any(&f, "tile"));
        int e = 0;
        while (e < 5 && (!who || strcmp(who, engine[e]) != 0)) e++;
        if (e == 5 || !what) {
            fail_case(t, file, id, "names no engine or no tile");
            continue;
        }
        at[e] = next_of(all, who, at[e]);
        if (at[e] == all->n) {
            fail_case(t, file, id, "is one more than we have of that engine");
            continue;
        }
        char name[16], tile[96];
        const kpu_event *mine = &all->list[at[e]++];
        name_event(mine, name, tile);
        check_text(t, file, id, "tile", tile, what);
        field_check(&f, "start", mine->start);
        field_check(&f, "end", mine->busy_end);
        close_fields(&f);
        listed++;
    }
    for (int64_t i = 0; i < all->n; i++) ours += strcmp(all->list[i].engine, "drain") != 0;
    check_value(t, file, "all", "events", ours, listed);
}

/* Cycles of the first execution in the file, 0 when there is none. */
static int64_t first_execution(const json_t *root)
{
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *event = json_array_get(root, i);
        const char *engine = json_string_value(json_object_get(event, "engine"));
        if (engine && strcmp(engine, "fab") == 0) return member(event, "end", 0) - member(event, "start", 0);
    }
    return 0;
}

/* The smallest array on which a full tile takes so long: ceil(m / R) * ceil(n / R) * k. */
static int64_t array_of(const int64_t tile[3], int64_t cycles)
{
    for (int64_t r = 1; r <= 65536; r++)
        if (((tile[0] + r - 1) / r) * ((tile[1] + r - 1) / r) * tile[2] == cycles) return r;
    return 0;
}

static int64_t last_end(const json_t *root)
{
    int64_t end = 0;
    for (size_t i = 0; i < json_array_size(root); i++) {
        int64_t this = member(json_array_get(root, i), "end", 0);
        end = this > end ? this : end;
    }
    return end;
}

/* The file does not say how many buffers there are. The README gives those of one file; the schedules beside it use two
 * other sets. The one whose last event ends when the file's does is compared, event by event. */
void run_gantt(tally *t, const char *file, const json_t *root)
{
    int64_t shape[3], tile, size[3];
    if (!read_name(file, shape, &tile) || !json_is_array(root)) {
        fail_case(t, file, "", "is not a list of events, or its name has no shape and tile");
        return;
    }
    for (int d = 0; d < 3; d++) size[d] = tile < shape[d] ? tile : shape[d];
    int64_t nk = (shape[2] + tile - 1) / tile, array = array_of(size, first_execution(root));
    const slots set[] = {{2, 2 * nk, 2, 2}, {1, nk, 1, 1}, {8, 2 * nk, 4, 2}};
    size_t chosen = 0, n = sizeof set / sizeof *set;
    if (array == 0) {
        fail_case(t, file, "", "no array takes as long as its first execution");
        return;
    }
    run r = {0};
    for (; chosen < n; chosen++) {
        bool good = open_run(&r, shape, tile, array, &set[chosen]);
        if (good && tw_plan_summary(r.plan)->cycles == last_end(root)) break;
        close_run(&r);
        r = (run){0};
    }
    if (chosen == n)
        fail_case(t, file, "", "no set of buffers gives its makespan");
    else
        check_gantt(t, file, root, &r.events);
    close_run(&r);
}
