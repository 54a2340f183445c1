/* test/sim/test_kpu_note.c - what the KPU note gets wrong, done right: one test for each row of the table in
 * kpu-displays.md 3.1 and each erratum of models.md 4.3. */
#include "tw_test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- the note's machine ---- */

typedef struct note { /* every field has a default: 0 */
    int64_t shape[3], tile[3];
    const char *dma, *move, *stream, *array; /* costs; latency only: 100, 10, 10, and 1 per execution */
    bool shared_l2, no_panel;
    int64_t l3, l2a, l2b, l1; /* buffers */
    const char *l2_size;
} note;

static void machine_text(const note *n, char *out, size_t room)
{
    snprintf(out, room,
             "machine: kpu\nunit: byte\ntiming: async\nreuse: declared\nmemories:\n"
             "  - {name: dram, size: unlimited}\n  - {name: l3, size: unlimited}\n  - {name: l2, size: %s}\n"
             "  - {name: l1, size: unlimited, holds: inputs}\n"
             "  - {name: fabric, size: unlimited, holds: output}\n"
             "engines:\n"
             "  - {name: dma, between: [dram, l3], carries: in, %s}\n"
             "  - {name: move, between: [l3, l2], carries: in, %s}\n"
             "  - {name: stream, between: [l2, l1], carries: in, joins: inputs, %s}\n"
             "  - {name: array, computes: multiply-add, on: fabric, cost: %s}\n"
             "  - {name: drain, between: [l2, fabric], carries: out, cost: {constant: 0}}\n"
             "  - {name: lift, between: [l3, l2], carries: out, cost: {constant: 0}}\n"
             "  - {name: out, between: [dram, l3], carries: out, cost: {constant: 0}}\n",
             n->l2_size ? n->l2_size : "unlimited", n->dma ? n->dma : "cost: {constant: 100}",
             n->move ? n->move : "cost: {constant: 10}", n->stream ? n->stream : "cost: {constant: 10}",
             n->array ? n->array : "{constant: 1}");
}

static void mapping_text(const note *n, char *out, size_t room)
{
    int64_t nk = tw_cdiv(n->shape[2], n->tile[2]),
            l2a = n->l2a        ? n->l2a
                  : n->no_panel ? 2
                                : nk,
            l2b = n->l2b ? n->l2b : 2;
    char l2[64];
    if (n->shared_l2)
        snprintf(l2, sizeof l2, "ifm+w: %" PRId64, l2a);
    else
        snprintf(l2, sizeof l2, "ifm: %" PRId64 ", w: %" PRId64, l2a, l2b);
    snprintf(out, room,
             "mapping:\n  matmul:\n    levels:\n      - {at: l3, pass: true, buffers: {ifm+w: %" PRId64 "}}\n"
             "      - {at: l2, pass: true, keep: {ifm: %s}, buffers: {%s}}\n"
             "      - {at: l1, pass: true, buffers: {ifm: %" PRId64 ", w: %" PRId64 "}}\n"
             "      - {at: fabric, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [m, n, k]}\n",
             n->l3 ? n->l3 : 2, n->no_panel ? "tile" : "m", l2, n->l1 ? n->l1 : 2, n->l1 ? n->l1 : 2,
             tw_min(n->tile[0], n->shape[0]), tw_min(n->tile[1], n->shape[1]), tw_min(n->tile[2], n->shape[2]));
}

static tw_status try_plan(tw_context *ctx, const note *n, const tw_plan **plan)
{
    char workload[64], machine[2048], mapping[1024];
    const tw_model *model;
    const tw_machine *kpu;
    const tw_mapping *map;
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64 ",dtype=i8", n->shape[0],
             n->shape[1], n->shape[2]);
    machine_text(n, machine, sizeof machine);
    mapping_text(n, mapping, sizeof mapping);
    if (tw_model_open(ctx, workload, &model) != TW_OK || tw_machine_parse(ctx, "machine", machine, &kpu) != TW_OK ||
        tw_mapping_parse(ctx, model, kpu, "mapping", mapping, &map) != TW_OK)
        fail_msg("%s\n%s\n%s", tw_context_message(ctx, 0), machine, mapping);
    return tw_plan_eval(ctx, model, kpu, map, plan);
}

static const tw_plan *plan_of(tw_context *ctx, const note *n)
{
    const tw_plan *plan;
    if (try_plan(ctx, n, &plan) != TW_OK) fail_msg("%s", tw_context_message(ctx, 0));
    return plan;
}

/* ---- what happens ---- */

enum { L3 = 1, L2, L1, FABRIC };
enum { A, B, C };

typedef struct event {
    char engine[8];
    int operand; /* of the first action */
    int64_t tile[3], units, start, end;
} event;
typedef struct events {
    int n;
    event at[8192];
} events;

static tw_status add_event(void *user, const tw_row *row)
{
    events *all = user;
    const tw_action *a = row->action;
    assert_true(all->n < (int)TW_COUNT(all->at));
    event *e = &all->at[all->n++];
    *e = (event){.operand = *a->operand == 'i'   ? A
                            : *a->operand == 'w' ? B
                                                 : C,
                 .start = row->start_cycle,
                 .end = row->end_cycle};
    snprintf(e->engine, sizeof e->engine, "%s", a->engine);
    for (int i = 0; i < a->n_tile; i++) e->tile[i] = a->tile[i];
    for (int i = 0; i < row->n_actions; i++) e->units += row->action[i].units;
    return TW_OK;
}

/* Stays until the next call. */
static const events *events_of(tw_context *ctx, const tw_plan *plan)
{
    static events all;
    all.n = 0;
    CHECK_EQ(tw_plan_walk(ctx, plan, 0, add_event, &all), TW_OK);
    return &all;
}

static int count(const events *all, const char *engine, int operand)
{
    int n = 0;
    for (int i = 0; i < all->n; i++)
        n += strcmp(all->at[i].engine, engine) == 0 && (operand < 0 || all->at[i].operand == operand);
    return n;
}

/* Event number i of the engine. */
static const event *nth(const events *all, const char *engine, int i)
{
    int at = 0;
    while (at < all->n && (strcmp(all->at[at].engine, engine) != 0 || i-- > 0)) at++;
    assert_true(at < all->n);
    return &all->at[at];
}

static int64_t bytes(const tw_plan *plan, int memory, int operand)
{
    return tw_plan_link_use(plan, 0, memory, operand)->units;
}

typedef struct injected {
    int n;
    int64_t compute[64], a_dma, a_l3, a_l2, start_of_all;
} injected;

static tw_status add_row(void *user, const tw_injection_row *row)
{
    injected *in = user;
    const tw_injection_link *dma = &row->link[L3][A];
    if (in->n == 0) {
        in->a_dma = dma->start;
        in->a_l3 = dma->arrive;
        in->a_l2 = row->link[L2][A].arrive;
        in->start_of_all = dma->start;
    }
    for (int m = L3; m <= L1; m++)
        for (int o = A; o <= B; o++)
            if (row->link[m][o].sent) in->start_of_all = tw_min(in->start_of_all, row->link[m][o].start);
    in->compute[in->n++ % 64] = row->compute;
    return TW_OK;
}

static injected inject(const note *n, bool plain, tw_injection_summary *sum)
{
    injected in = {0};
    tw_context *ctx = tw_context_new();
    tw_injection_options how = {.plain = plain};
    const tw_injection_summary *made;
    CHECK_EQ(tw_plan_injection(ctx, plan_of(ctx, n), 0, &how, add_row, &in, &made), TW_OK);
    *sum = *made; /* the numbers; what it points to goes with the context */
    tw_context_free(ctx);
    return in;
}

#define CUBE(n) \
    {           \
        n, n, n \
    }
#define LINK(latency) "cost: {latency: " #latency ", per_cycle: 64}, pipelined: true"
#define WITH(note_, name)               \
    tw_context *ctx = tw_context_new(); \
    const tw_plan *name = plan_of(ctx, &(note_))

/* ---- the table, row by row ---- */

TEST(row_1_a_tile_is_in_l2_ten_cycles_before_its_step)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32)};
    tw_injection_summary sum;
    CHECK_EQ(inject(&n, true, &sum).a_l2, -10);
}

TEST(row_2_every_step_has_a_time_of_its_own_when_tiles_do_not_divide)
{
    note cases[] = {{.shape = CUBE(100), .tile = CUBE(32)},
                    {.shape = {128, 16, 128}, .tile = CUBE(32)},
                    {.shape = {64, 64, 16}, .tile = CUBE(32)}};
    int steps[] = {64, 16, 4};
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        tw_injection_summary sum;
        injected in = inject(&cases[i], true, &sum);
        CHECK_EQ(in.n, steps[i]);
        for (int q = 0; q < in.n; q++) CHECK_EQ(in.compute[q], q);
    }
}

TEST(row_3_traffic_is_bytes_and_a_link_carries_no_more_than_its_bandwidth)
{
    note n = {.shape = {100, 70, 50}, .tile = {32, 32, 16}, .dma = LINK(100), .move = LINK(10), .stream = LINK(10)};
    WITH(n, plan);
    CHECK_EQ(bytes(plan, L3, A), 100 * 50);
    CHECK_EQ(bytes(plan, L3, B), 4 * 50 * 70);
    CHECK(bytes(plan, L3, A) + bytes(plan, L3, B) <= 64 * tw_plan_summary(plan)->cycles);
    tw_context_free(ctx);
}

TEST(row_4_both_inputs_are_streamed_in_every_step)
{
    note n = {.shape = {100, 70, 50}, .tile = {32, 32, 16}};
    WITH(n, plan);
    CHECK_EQ(bytes(plan, L1, A), 100 * 50 * 3);
    CHECK_EQ(bytes(plan, L1, B), 50 * 70 * 4);
    CHECK_EQ(count(events_of(ctx, plan), "stream", -1), 4 * 3 * 4);
    tw_context_free(ctx);
}

TEST(row_5_the_result_leaves_the_fabric_once_and_passes_every_level)
{
    note n = {.shape = {100, 70, 50}, .tile = {32, 32, 16}};
    WITH(n, plan);
    for (int m = L3; m <= FABRIC; m++)
        if (m != L1) CHECK_EQ(bytes(plan, m, C), 100 * 70 * 4);
    CHECK_EQ(count(events_of(ctx, plan), "drain", C), 4 * 3);
    tw_context_free(ctx);
}

TEST(row_6_a_panel_needs_room_in_l2_and_without_it_a_is_fetched_for_every_column)
{
    note fits = {.shape = CUBE(128), .tile = CUBE(32), .l2_size = "14 KiB"}; /* 4 + 2 tiles, and 2 of the result */
    note tight = fits, none = fits;
    tight.l2_size = "14335";
    none.no_panel = true;
    WITH(fits, plan);
    CHECK_EQ(bytes(plan, L3, A), 128 * 128);
    CHECK_EQ(try_plan(ctx, &tight, &plan), TW_INFEASIBLE);
    CHECK_EQ(bytes(plan_of(ctx, &none), L3, A), 4 * 128 * 128);
    tw_context_free(ctx);
}

TEST(row_7_a_larger_tk_changes_no_traffic_and_adds_up_less_often)
{
    for (int64_t tk = 8; tk <= 128; tk *= 2) {
        note n = {.shape = CUBE(128), .tile = {32, 32, tk}};
        WITH(n, plan);
        for (int m = L3; m <= L1; m++) {
            CHECK_EQ(bytes(plan, m, A), (m == L1 ? 4 : 1) * 128 * 128);
            CHECK_EQ(bytes(plan, m, B), 4 * 128 * 128);
        }
        CHECK_EQ(bytes(plan, FABRIC, C), 4 * 128 * 128);
        CHECK_EQ(tw_plan_summary(plan)->execs / 16, 128 / tk); /* executions per tile of the result */
        tw_context_free(ctx);
    }
}

TEST(row_8_traffic_of_b_depends_on_tm_and_not_on_tn)
{
    for (int64_t tn = 8; tn <= 64; tn *= 2) {
        note n = {.shape = CUBE(128), .tile = {32, tn, 32}}, taller = {.shape = CUBE(128), .tile = {64, tn, 32}};
        WITH(n, plan);
        CHECK_EQ(bytes(plan, L3, B), 4 * 128 * 128);
        CHECK_EQ(bytes(plan_of(ctx, &taller), L3, B), 2 * 128 * 128);
        tw_context_free(ctx);
    }
}

TEST(row_9_tiles_of_b_are_named_by_row_and_column)
{
    note n = {.shape = {32, 96, 160}, .tile = CUBE(32)}; /* B has 5 rows and 3 columns of tiles */
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    int64_t rows = 0, columns = 0;
    for (int i = 0; i < all->n; i++) {
        if (strcmp(all->at[i].engine, "dma") != 0 || all->at[i].operand != B) continue;
        rows = tw_max(rows, all->at[i].tile[0] + 1);
        columns = tw_max(columns, all->at[i].tile[1] + 1);
    }
    CHECK_EQ(rows, 5);
    CHECK_EQ(columns, 3);
    tw_context_free(ctx);
}

TEST(rows_10_and_11_latencies_add_up_and_the_last_cycle_counts)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .stream = "cost: {constant: 11}"};
    tw_injection_summary sum;
    injected in = inject(&n, true, &sum);
    CHECK_EQ(in.a_dma, -121);
    CHECK_EQ(in.a_l3, -21);
    n.stream = NULL;
    CHECK_EQ(inject(&n, true, &sum).a_dma, -120);
}

TEST(row_12_a_step_lasts_as_long_as_its_slowest_part)
{
    note n = {.shape = CUBE(256), .tile = CUBE(32), .l3 = 8, .l2a = 16, .l2b = 8, .l1 = 8};
    n.dma = n.move = "cost: {latency: 100, per_cycle: 16}, pipelined: true"; /* 64 cycles for a tile */
    n.stream = "cost: {latency: 10, per_cycle: 64}, pipelined: true";
    n.array = "{array: [16, 16]}"; /* 128 cycles for a step */
    for (int64_t expected = 128; expected >= 64; expected -= 64) {
        WITH(n, plan);
        const events *all = events_of(ctx, plan);
        for (int q = 40; q < 60; q++) /* A is there: only B is fetched */
            CHECK_EQ(nth(all, "array", q + 1)->start - nth(all, "array", q)->start, expected);
        tw_context_free(ctx);
        n.array = "{array: [32, 32]}"; /* 32 cycles: now the link is what counts */
    }
}

TEST(row_13_a_schedule_begins_at_zero_and_tells_its_prologue)
{
    note n = {.shape = CUBE(64), .tile = CUBE(32)};
    n.dma = "cost: {latency: 100, per_cycle: 16}, pipelined: true";
    n.move = n.stream = "cost: {latency: 10, per_cycle: 16}, pipelined: true";
    tw_injection_summary sum;
    injected in = inject(&n, false, &sum);
    CHECK_EQ(in.start_of_all, 0);
    CHECK_EQ(sum.prologue, in.compute[0]);
    CHECK(sum.prologue >= 100 + 64 + 10 + 64 + 10 + 128);
}

TEST(row_14_a_is_fetched_by_the_dma)
{
    note n = {.shape = CUBE(64), .tile = CUBE(32)};
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    CHECK_EQ(count(all, "dma", A), 2 * 2);
    CHECK_STR(all->at[0].engine, "dma");
    CHECK_EQ(all->at[0].operand, A);
    CHECK_EQ(all->n, 44 + 2 * 4); /* models.md 4.1, and the way of the result from l2 to dram */
    tw_context_free(ctx);
}

TEST(row_15_b_is_fetched_again_for_every_row_of_tiles)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32)};
    WITH(n, plan);
    CHECK_EQ(count(events_of(ctx, plan), "dma", B), 4 * 4 * 4);
    tw_context_free(ctx);
}

TEST(row_16_an_engine_waits_for_its_tile_and_drops_none)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .l3 = 1, .l2b = 1, .l1 = 1};
    WITH(n, plan);
    CHECK_EQ(tw_plan_summary(plan)->execs, 64);
    CHECK_EQ(tw_plan_summary(plan)->macs, 128 * 128 * 128);
    tw_context_free(ctx);
}

TEST(row_17_the_mover_takes_a_and_b_in_the_order_of_their_use)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .l2b = 1};
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    for (int i = 0; i < 8; i++) CHECK_EQ(nth(all, "move", i)->operand, i % 2 == 0 ? A : B);
    CHECK_EQ(nth(all, "move", 8)->operand, B); /* the panel is complete */
    tw_context_free(ctx);
}

TEST(row_18_credits_belong_to_pools_and_come_back)
{
    note n = {.shape = {128, 64, 192}, .tile = CUBE(32), .l3 = 1, .l2b = 1, .l1 = 1}; /* 4 x 2 x 6 steps */
    WITH(n, plan);
    CHECK_EQ(tw_plan_summary(plan)->execs, 48);
    for (int m = L3; m <= L1; m++) {
        const tw_pool_use *pool = tw_plan_pool_use(plan, 0, m, B);
        CHECK_EQ(pool->slots, 1);
        CHECK_EQ(pool->peak, 1);
    }
    tw_context_free(ctx);
}

TEST(row_19_a_credit_is_taken_before_the_transfer_starts)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .l3 = 1};
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    for (int i = 0; i + 1 < 64; i++) CHECK(nth(all, "dma", i + 1)->start >= nth(all, "move", i)->end);
    tw_context_free(ctx);
}

TEST(row_20_no_one_reads_a_tile_that_was_there_before)
{
    note n = {.shape = {70, 50, 90}, .tile = CUBE(32), .l3 = 1, .l2b = 1, .l1 = 1};
    WITH(n, plan);
    const tw_verdict *v;
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &v), TW_OK); /* on real numbers, free buffers poisoned */
    CHECK(v->checked && v->executed && v->equal);
    tw_context_free(ctx);
}

TEST(row_21_a_step_streams_whole_tiles)
{
    note n = {.shape = {100, 70, 50}, .tile = {32, 32, 16}};
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    CHECK_EQ(nth(all, "stream", 0)->units, 32 * 16 + 16 * 32);
    CHECK_EQ(nth(all, "stream", 47)->units, 4 * 2 + 2 * 6); /* the last corner */
    tw_context_free(ctx);
}

TEST(row_22_engines_work_side_by_side)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .array = "{constant: 150}"};
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    int64_t serial = 0;
    for (int e = 0; e < tw_plan_n_engines(plan); e++) serial += tw_plan_engine_use(plan, 0, e)->busy_cycles;
    CHECK(nth(all, "dma", 2)->start < nth(all, "array", 0)->end);
    CHECK(tw_plan_summary(plan)->cycles < serial);
    tw_context_free(ctx);
}

TEST(row_23_whatever_is_moved_was_fetched_and_is_named_by_tile)
{
    note n = {.shape = {100, 70, 50}, .tile = {32, 32, 16}};
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    CHECK_EQ(count(all, "move", A), count(all, "dma", A));
    for (int i = 0; i < count(all, "move", -1); i++) {
        const event *fetched = nth(all, "dma", i), *moved = nth(all, "move", i);
        CHECK(memcmp(fetched->tile, moved->tile, sizeof moved->tile) == 0);
        CHECK(fetched->end <= moved->start);
        CHECK(moved->tile[0] < 4 && moved->tile[1] < 4); /* not element offsets */
    }
    tw_context_free(ctx);
}

TEST(row_24_every_event_is_written_with_the_same_keys)
{
    note n = {.shape = CUBE(64), .tile = CUBE(32)};
    WITH(n, plan);
    char *text = NULL, *rest = NULL;
    size_t len;
    json_t *first = NULL;
    FILE *f = open_memstream(&text, &len);
    CHECK_EQ(tw_plan_print_events(ctx, plan, TW_FORMAT_JSONL, NULL, f), TW_OK);
    fclose(f);
    int lines = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++) {
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *key;
        json_t *value;
        CHECK(json_is_object(object));
        if (!first) first = json_incref(object);
        CHECK_EQ(json_object_size(object), json_object_size(first));
        json_object_foreach(object, key, value) CHECK(json_object_get(first, key) != NULL);
        json_decref(object);
    }
    CHECK_EQ(lines, 44 + 2 * 4);
    json_decref(first);
    free(text);
    tw_context_free(ctx);
}

TEST(row_25_credits_cause_stalls_and_each_stall_has_a_reason)
{
    note few = {.shape = CUBE(64), .tile = CUBE(32), .l3 = 1, .l2b = 1, .l1 = 1, .array = "{constant: 500}"},
         many = few;
    many.l3 = many.l2b = many.l1 = 64;
    WITH(few, plan);
    CHECK(tw_plan_engine_use(plan, 0, 0)->wait_credit > 0);
    CHECK(tw_plan_pool_use(plan, 0, L3, A)->wait_cycles > 0);
    CHECK_EQ(tw_plan_engine_use(plan_of(ctx, &many), 0, 0)->wait_credit, 0);
    tw_context_free(ctx);
}

/* ---- errata that are not in the table ---- */

TEST(a_shared_l2_needs_the_panel_and_one_more)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .shared_l2 = true, .l2a = 4};
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    CHECK_EQ(try_plan(ctx, &n, &plan), TW_INFEASIBLE);
    CHECK(strstr(tw_context_message(ctx, 0), "deadlock") != NULL);
    n.l2a = 5;
    CHECK_EQ(try_plan(ctx, &n, &plan), TW_OK);
    CHECK_EQ(tw_plan_pool_use(plan, 0, L2, A)->needed, 5);
    tw_context_free(ctx);
}

TEST(one_buffer_less_than_the_panel_deadlocks_and_the_message_says_so)
{
    note n = {.shape = CUBE(128), .tile = CUBE(32), .l2a = 3};
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    CHECK_EQ(try_plan(ctx, &n, &plan), TW_INFEASIBLE);
    bool cured = false;
    for (int i = 0; i < tw_context_n_messages(ctx); i++)
        cured |= strstr(tw_context_message(ctx, i), "the fewest buffers that work are 4") != NULL;
    CHECK(cured);
    tw_context_free(ctx);
}

TEST(the_second_fetch_of_a_tile_of_b_finds_its_credit)
{
    note n = {
        .shape = CUBE(64), .tile = CUBE(32), .l3 = 1, .l2b = 1, .l1 = 1}; /* each tile of B is fetched twice */
    WITH(n, plan);
    const events *all = events_of(ctx, plan);
    int fetched = 0;
    for (int i = 0; i < all->n; i++)
        fetched += strcmp(all->at[i].engine, "dma") == 0 && all->at[i].operand == B && all->at[i].tile[0] == 1 &&
                   all->at[i].tile[1] == 1;
    CHECK_EQ(fetched, 2);
    tw_context_free(ctx);
}
