/* test/report/test_trace.c - events on tracks against the rows of the timeline, and the page's columns read back.
 *
 * What a trace says about times, tiles and buffers is compared with tw_plan_walk, event by event; what the columns say
 * is decoded here as docs/design/report.md describes them and compared with the trace. */
#include "async_random.h"
#include "report/data/columns.h"
#include "report/trace/trace.h"

#include <jansson.h>
#include <string.h>
#include <zlib.h>

enum { MOST = 20000 };

typedef struct kept {
    tw_trace_event event;
    tw_instr instr;
} kept;

typedef struct record {
    const tw_plan *plan;
    int64_t n, n_rows, n_actions;
    kept *event;
    int n_tracks;
    tw_track track[600];
    int64_t origin[64], end[64];
    int64_t row_origin;
} record;

static tw_status keep_track(void *user, int number, const tw_track *track)
{
    record *r = user;
    CHECK_EQ(number, r->n_tracks);
    r->track[r->n_tracks++] = *track;
    return TW_OK;
}

static tw_status keep_begin(void *user, int op, int64_t start)
{
    return ((record *)user)->origin[op] = start, TW_OK;
}
static tw_status keep_end(void *user, int op, int64_t end) { return ((record *)user)->end[op] = end, TW_OK; }

static tw_status keep_event(void *user, const tw_trace_event *event)
{
    record *r = user;
    CHECK(r->n < MOST);
    r->event[r->n] = (kept){*event, *event->instr};
    r->n++;
    return TW_OK;
}

static record trace_of(const tw_plan *plan)
{
    record r = {.plan = plan, .event = malloc(MOST * sizeof *r.event)};
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    bool complete;
    tw_trace_sink sink = {keep_track, keep_begin, keep_event, keep_end, &r};
    CHECK_EQ(tw_trace_walk(plan, 0, &sink, scratch, &diag, &complete), TW_OK);
    CHECK(complete);
    tw_diag_release(&diag);
    tw_arena_free(scratch);
    return r;
}

/* ---- against the rows ---- */

static tw_status compare_row(void *user, const tw_row *row)
{
    record *r = user;
    for (int i = 0; i < row->n_actions; i++) {
        const tw_action *a = &row->action[i];
        CHECK(r->n_actions < r->n);
        const kept *k = &r->event[r->n_actions++];
        int64_t origin = r->origin[k->event.op];
        CHECK_EQ(k->event.start - origin, a->start_cycle);
        CHECK_EQ(k->event.end - origin, a->end_cycle);
        CHECK_EQ(k->instr.op, a->op);
        CHECK_EQ(k->instr.work, a->units);
        const tw_track *track = &r->track[k->event.track];
        CHECK_EQ(track->engine < 0, k->instr.nested);
        if (track->engine >= 0) CHECK_STR(r->plan->machine->engine[track->engine].name, a->engine);
        if (!a->from) continue;
        CHECK_EQ(k->event.busy_end - origin, a->busy_end);
        CHECK_EQ(track->unit, a->unit);
        CHECK_STR(r->plan->machine->memory[tw_trace_from(r->plan, &k->event)].name, a->from);
        CHECK_STR(r->plan->machine->memory[tw_trace_to(r->plan, &k->event)].name, a->to);
        for (int l = 0; l < r->plan->model->op[k->event.op].n_loops; l++) CHECK_EQ(k->event.index[l], a->index[l]);
    }
    return TW_OK;
}

static void check_rows(tw_context *ctx, record *r)
{
    for (int64_t i = 0; i < r->n; i++) r->event[i].event.instr = &r->event[i].instr;
    for (int op = 0; op < tw_model_n_ops(r->plan->model); op++)
        CHECK_EQ(tw_plan_walk(ctx, r->plan, op, compare_row, r), TW_OK);
    CHECK_EQ(r->n_actions, r->n);
    CHECK_EQ(r->end[tw_model_n_ops(r->plan->model) - 1], tw_plan_summary(r->plan)->cycles);
}

/* Whatever the order of the walk: a track does one thing at a time, and gaps fill what is between. */
static void check_tracks(const record *r)
{
    int64_t *free_at = calloc(600, sizeof *free_at);
    int op = -1;
    for (int64_t i = 0; i < r->n; i++) {
        const tw_trace_event *e = &r->event[i].event;
        if (e->op != op)
            for (int t = 0; t < 600; t++)
                free_at[t] = tw_max(free_at[t], r->origin[e->op] + tw_trace_launch(r->plan, e->op));
        op = e->op;
        CHECK(e->track >= 0 && e->track < r->n_tracks);
        if (e->joins) {
            CHECK_EQ(e->start, r->event[i - 1].event.start);
            CHECK_EQ(e->track, r->event[i - 1].event.track);
            continue;
        }
        CHECK(e->gap >= 0);
        CHECK_EQ(free_at[e->track] + e->gap, e->start);
        CHECK(e->busy_end >= e->start);
        free_at[e->track] = e->busy_end;
    }
    free(free_at);
}

/* What an event reads was made before by an event whose target it is, and nobody closes what is not open. */
static void check_residencies(const record *r)
{
    int64_t *buffer_of = malloc(MOST * sizeof *buffer_of), n = 0;
    bool *closed = calloc(MOST, 1);
    for (int64_t i = 0; i < r->n; i++) {
        const tw_trace_event *e = &r->event[i].event;
        for (int k = 0; k < e->n_used; k++) {
            CHECK(e->used[k] < n);
            if (e->used[k] >= 0) CHECK_EQ(buffer_of[e->used[k]], r->event[i].instr.src[k]);
            if (e->used[k] >= 0) CHECK(!closed[e->used[k]]);
        }
        if (e->opens) {
            CHECK_EQ(e->made, n);
            buffer_of[n++] = r->event[i].instr.dst;
        }
        if (e->made >= 0) CHECK_EQ(buffer_of[e->made], r->event[i].instr.dst);
        for (int k = 0; k < e->n_closed; k++) {
            CHECK_EQ(buffer_of[e->closed[k]], e->closed_buffer[k]);
            CHECK(!closed[e->closed[k]]);
            closed[e->closed[k]] = true;
        }
    }
    free(buffer_of);
    free(closed);
}

/* ---- columns ---- */

typedef struct column {
    unsigned char *bytes;
    uLongf len;
    size_t at;
} column;

static column read_column(const tw_columns *c, int i)
{
    column out = {.len = (uLongf)c->column[i].raw};
    out.bytes = malloc(out.len + 1);
    CHECK_EQ(uncompress(out.bytes, &out.len, (const Bytef *)c->column[i].out.bytes, c->column[i].out.len), Z_OK);
    CHECK_EQ(out.len, c->column[i].raw);
    return out;
}

static int64_t next(column *c)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        CHECK(c->at < c->len);
        unsigned char b = c->bytes[c->at++];
        x |= (uint64_t)(b & 127) << shift;
        if (b < 128) return (int64_t)x;
    }
}

static int64_t next_signed(column *c)
{
    int64_t x = next(c);
    return x % 2 ? -(x + 1) / 2 : x / 2;
}

static json_t *head_of(const tw_columns *c)
{
    char *text;
    size_t len;
    FILE *stream = open_memstream(&text, &len);
    tw_json j = {.out = stream};
    tw_columns_head(c, &j);
    fclose(stream);
    json_error_t why;
    json_t *head = json_loadb(text, len, 0, &why);
    if (!head) fail_msg("%s: %s", why.text, text);
    free(text);
    return head;
}

static int64_t field(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    CHECK(value);
    return json_is_true(value) ? 1 : json_is_boolean(value) ? 0 : json_integer_value(value);
}

static void check_span(const json_t *op, const tw_trace_event *e, const tw_instr *in, int loop, int64_t index)
{
    const json_t *level = json_array_get(json_object_get(op, "levels"), (size_t)e->level);
    const json_t *spans = json_array_get(json_object_get(level, "spans"), (size_t)loop);
    CHECK_EQ(json_integer_value(json_array_get(spans, (size_t)(2 * index))), in->box.span[loop].lo);
    CHECK_EQ(json_integer_value(json_array_get(spans, (size_t)(2 * index + 1))), in->box.span[loop].hi);
}

static void check_columns(const record *r)
{
    tw_columns c;
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    CHECK_EQ(tw_columns_fill(&c, r->plan, 0, arena, &diag), TW_OK);
    CHECK(c.complete);
    CHECK_EQ(c.n_events, r->n);
    json_t *head = head_of(&c), *kinds = json_object_get(head, "kinds"), *ops = json_object_get(head, "ops");
    CHECK_EQ(field(head, "n"), r->n);
    CHECK_EQ(field(head, "end"), tw_plan_summary(r->plan)->cycles);
    column col[TW_N_COLUMNS];
    for (int i = 0; i < c.n_columns; i++) col[i] = read_column(&c, i);
    int64_t(*last)[TW_MAX_LOOPS] = calloc(json_array_size(kinds) + 1, sizeof *last);
    int64_t *free_at = calloc(600, sizeof *free_at);
    int64_t op_now = -1;
    for (int64_t i = 0; i < r->n; i++) {
        const tw_trace_event *e = &r->event[i].event;
        const tw_instr *in = &r->event[i].instr;
        size_t k = (size_t)next(&col[TW_COLUMN_KIND]);
        const json_t *kind = json_array_get(kinds, k), *op = json_array_get(ops, (size_t)e->op);
        CHECK(kind);
        CHECK_EQ(field(kind, "operator"), e->op);
        const json_t *track = json_array_get(json_object_get(head, "tracks"), (size_t)field(kind, "track"));
        CHECK_EQ(field(track, "engine"), r->track[e->track].engine);
        CHECK_EQ(field(track, "unit"), r->track[e->track].unit);
        CHECK_EQ(field(track, "lane"), r->track[e->track].lane);
        CHECK_EQ(field(kind, "operand"), in->operand);
        CHECK_EQ(field(kind, "joins"), e->joins);
        CHECK_EQ(field(kind, "opens"), e->opens);
        CHECK_EQ(field(kind, "level"), e->level);
        if (op_now != e->op)
            for (int t = 0; t < 600; t++) free_at[t] = tw_max(free_at[t], field(op, "ready"));
        op_now = e->op;
        if (!e->joins) {
            int64_t time = next(&col[TW_COLUMN_TIME]);
            CHECK_EQ(time % 8, e->wait);
            CHECK_EQ(free_at[e->track] + time / 8, e->start);
            free_at[e->track] = e->start + next(&col[TW_COLUMN_DUR]);
            CHECK_EQ(free_at[e->track], e->busy_end);
            CHECK_EQ(e->busy_end + next_signed(&col[TW_COLUMN_TAIL]), e->end);
        }
        CHECK_EQ(next(&col[TW_COLUMN_WORK]), in->work);
        CHECK_EQ(next(&col[TW_COLUMN_DST]) - 1, in->dst);
        CHECK_EQ(field(kind, "sources"), e->n_used);
        for (int s = 0; s < e->n_used; s++) CHECK_EQ(next(&col[TW_COLUMN_SRC]) - 1, in->src[s]);
        CHECK_EQ(next(&col[TW_COLUMN_N_FREED]), e->n_closed);
        for (int s = 0; s < e->n_closed; s++) CHECK_EQ(next(&col[TW_COLUMN_FREED]), e->closed_buffer[s]);
        const json_t *cut = json_object_get(op, "cut");
        for (size_t s = 0; s < json_array_size(cut); s++) {
            int loop = (int)json_integer_value(json_array_get(cut, s));
            int64_t index = last[k][s] += next_signed(&col[(size_t)TW_COLUMN_INDEX + s]);
            if (e->level < 0) continue;
            CHECK_EQ(index, e->index[loop]);
            check_span(op, e, in, loop, index);
        }
    }
    for (int i = 0; i < c.n_columns; i++) {
        CHECK_EQ(col[i].at, col[i].len);
        free(col[i].bytes);
    }
    free(last);
    free(free_at);
    json_decref(head);
    tw_columns_release(&c);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

static void check_plan(tw_context *ctx, const tw_plan *plan)
{
    record r = trace_of(plan);
    check_rows(ctx, &r);
    check_tracks(&r);
    check_residencies(&r);
    check_columns(&r);
    free(r.event);
}

/* ---- plans ---- */

TEST(random_async_plans_are_traced_as_they_run)
{
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < tw_test_rounds(400); i++) {
        async_random c = async_random_make(&rng, (async_wish){0});
        tw_context *ctx = tw_context_new();
        const tw_plan *plan;
        if (async_random_eval(ctx, &c, &plan) == TW_OK) check_plan(ctx, plan), n++;
        tw_context_free(ctx);
    }
    CHECK(n > 10);
}

static void check_searched(const char *workload, const char *machine)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *m;
    const tw_plan *plan;
    tw_search_options how = {.budget = 20000};
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, machine, &m), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, m, &how, &plan), TW_OK);
    check_plan(ctx, plan);
    tw_context_free(ctx);
}

TEST(lockstep_plans_with_nested_levels_are_traced)
{
    check_searched("matmul:128x128x512", "tick-three-level");
    check_searched("matmul:96x80x64", "tick-costed");
    check_searched("conv:4x20x20,out=6,kernel=3,pad=1", "tick-10k");
    check_searched("gemv:400x300", "tick-50k");
}

TEST(clusters_are_traced)
{
    check_searched("matmul:64x96x80,dtype=f64", "snitch");
    check_searched("conv:8x14x14,out=8,kernel=3,pad=1,dtype=i8", "kpu");
}

TEST(a_trace_ends_before_the_command_that_would_be_too_many)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_columns c;
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    CHECK_EQ(tw_model_open(ctx, "matmul:128x128x512", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "tick-three-level", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &(tw_search_options){.budget = 20000}, &plan), TW_OK);
    CHECK_EQ(tw_columns_fill(&c, plan, 50, arena, &diag), TW_OK);
    CHECK(!c.complete);
    CHECK(c.n_events <= 50 && c.n_events > 40);
    json_t *head = head_of(&c);
    CHECK(field(head, "end") < tw_plan_summary(plan)->cycles);
    CHECK_EQ(field(head, "instructions"), tw_plan_summary(plan)->instructions);
    json_decref(head);
    tw_columns_release(&c);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    tw_context_free(ctx);
}

/* ---- packing ---- */

TEST(base64_is_that_of_rfc_4648)
{
    static const char *const pair[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < TW_COUNT(pair); i++) {
        char *text;
        size_t len;
        FILE *stream = open_memstream(&text, &len);
        tw_base64_write(pair[i][0], strlen(pair[i][0]), stream);
        fclose(stream);
        CHECK_STR(text, pair[i][1]);
        free(text);
    }
}

TEST(numbers_of_any_size_come_back)
{
    uint64_t rng = tw_test_seed();
    enum { N = 50000 };
    int64_t *want = malloc(N * sizeof *want);
    tw_packer p;
    CHECK_EQ(tw_packer_open(&p), TW_OK);
    for (int i = 0; i < N; i++) {
        want[i] = tw_test_pick(&rng, -1, 1) * (tw_test_pick(&rng, 0, INT64_MAX - 1) >> tw_test_pick(&rng, 0, 62));
        tw_packer_put_signed(&p, want[i]);
    }
    CHECK_EQ(tw_packer_close(&p), TW_OK);
    CHECK_EQ(p.n, N);
    column c = {.len = (uLongf)p.raw, .bytes = malloc((size_t)p.raw)};
    CHECK_EQ(uncompress(c.bytes, &c.len, (const Bytef *)p.out.bytes, p.out.len), Z_OK);
    for (int i = 0; i < N; i++) {
        uint64_t x = (uint64_t)next(&c);
        CHECK_EQ((int64_t)(x >> 1 ^ (0 - (x & 1))), want[i]);
    }
    tw_packer_release(&p);
    free(c.bytes);
    free(want);
}
