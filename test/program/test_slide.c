/* test/program/test_slide.c - windows that slide: numbers worked out by hand, what is refused, and files that read back.
 *
 * The machine has one memory and costs that can be added up: 10 cycles and a cycle per byte for a load, 100 for an execution. The
 * operator is a pool over rows of one byte, 3 rows high: a tile of n outputs has a window of n + 2 rows. */
#include "plan/plan.h"
#include "tw_test.h"

#include "cli/oracle.h"

#include <stdio.h>
#include <string.h>

static const char one_memory[] =
    "machine: one\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited, energy: 3 pJ},"
    " {name: l1, size: 64, energy: 1 pJ}]\nengines:\n"
    "  - {name: load, between: [dram, l1], carries: in, cost: {latency: 10, per_cycle: 1}}\n"
    "  - {name: store, between: [dram, l1], carries: out, cost: {latency: 0, per_cycle: 16}}\n"
    "  - {name: alu, computes: [max, multiply-add], on: l1, cost: {constant: 100}}\n";

typedef struct slid {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    tw_status status;
} slid;

/* `level` is what the only level says, on one_memory, or all levels on the built-in machine kpu. */
static slid open_slid(const char *workload, const char *op, const char *level)
{
    slid s = {.ctx = tw_context_new()};
    bool kpu = *level == '{';
    char text[1000];
    snprintf(text, sizeof text,
             kpu ? "mapping: {%s: {levels: [%s]}}\n" : "mapping: {%s: {levels: [{at: l1, %s}]}}\n", op, level);
    CHECK_EQ(tw_model_open(s.ctx, workload, &s.model), TW_OK);
    CHECK_EQ(kpu ? tw_machine_open(s.ctx, "kpu", &s.machine)
                 : tw_machine_parse(s.ctx, "machine", one_memory, &s.machine),
             TW_OK);
    s.status = tw_mapping_parse(s.ctx, s.model, s.machine, "map", text, &s.mapping);
    if (s.status == TW_OK) s.status = tw_plan_eval(s.ctx, s.model, s.machine, s.mapping, &s.plan);
    return s;
}

static void must_verify(const slid *s)
{
    const tw_verdict *v = NULL;
    tw_verify_options options = {.reference = tw_oracle_reference, .seed = 7};
    CHECK_EQ(s->status, TW_OK);
    CHECK_EQ(tw_plan_verify(s->ctx, s->plan, 0, &options, &v), TW_OK);
    if (v->first_fault) print_error("%s\n", v->first_fault);
    CHECK(v->checked && v->executed && v->equal && v->first_fault == NULL);
}

static const tw_link_use *ifm_of(const slid *s) { return tw_plan_link_use(s->plan, 0, 1, 0); }

/* 8 rows make 6 outputs, in three tiles of 2: windows of 4 rows that share 2. */
TEST(the_first_window_comes_whole_and_the_others_bring_two_rows_each)
{
    slid s = open_slid("pool:1x8x1,kernel=3x1,dtype=i8", "pool", "sizes: {oy: 2}, order: [oy], slide: {ifm: oy}");
    must_verify(&s);
    CHECK_EQ(ifm_of(&s)->transfers, 3);
    CHECK_EQ(ifm_of(&s)->units, 4 + 2 + 2);
    CHECK_EQ(ifm_of(&s)->held_units, 4);
    /* Loads of 14, 12, 12 cycles and executions take turns in one window; 2 bytes are stored in one cycle. */
    CHECK_EQ(tw_plan_summary(s.plan)->cycles, 14 + 100 + 12 + 100 + 12 + 100 + 1);
    CHECK_EQ(tw_plan_summary(s.plan)->energy_fj, (8 + 6) * 4000);
    tw_context_free(s.ctx);
}

/* With a second buffer the next rows come while the window is read: 4 + 2 rows. */
TEST(a_second_buffer_is_room_for_the_rows_that_come_ahead)
{
    slid s = open_slid("pool:1x8x1,kernel=3x1,dtype=i8", "pool",
                       "sizes: {oy: 2}, order: [oy], slide: {ifm: oy}, buffers: {ifm: 2, ofm: 2}");
    must_verify(&s);
    const tw_pool_use *pool = tw_plan_pool_use(s.plan, 0, 1, 0);
    CHECK_EQ(ifm_of(&s)->held_units, 4 + 2);
    CHECK_EQ(pool->slot_units, 4);
    CHECK_EQ(pool->ahead_units, 2);
    CHECK_EQ(pool->peak, 2);
    CHECK_EQ(tw_plan_summary(s.plan)->cycles, 14 + 3 * 100 + 1);
    CHECK_EQ(tw_plan_memory_use(s.plan, 0, 1)->static_units, 6 + 2 * 2);
    CHECK_EQ(tw_plan_memory_use(s.plan, 0, 1)->peak_live, 6 + 2 * 2);
    tw_context_free(s.ctx);
}

/* Padding of 2 at both ends of 5 rows: outputs 0..6 read rows -2..0 to 4..6. Tiles of one output have the windows {0}, {0 1}, {0 1 2},
 * {1 2 3}, {2 3 4}, {3 4}, {4}: the last two bring nothing. */
TEST(windows_that_bring_nothing_new_are_not_moved)
{
    slid s = open_slid("pool:1x5x1,kernel=3x1,pad=2x0,dtype=i8", "pool",
                       "sizes: {oy: 1}, order: [oy], slide: {ifm: oy}, buffers: {ifm: 3}");
    must_verify(&s);
    CHECK_EQ(ifm_of(&s)->transfers, 5);
    CHECK_EQ(ifm_of(&s)->units, 5);
    CHECK_EQ(ifm_of(&s)->held_units, 3 + 2 * 1);
    tw_context_free(s.ctx);
}

/* A sweep along oy for each of 2 columns of 3: the second begins with a whole window again. */
TEST(every_sweep_begins_with_a_whole_window)
{
    slid s = open_slid("pool:1x8x6,kernel=3x1,dtype=i8", "pool",
                       "sizes: {oy: 3, ox: 3}, order: [ox, oy], slide: {ifm: oy}, buffers: {ifm: 2}");
    must_verify(&s);
    CHECK_EQ(ifm_of(&s)->transfers, 4);
    CHECK_EQ(ifm_of(&s)->units, 2 * 3 * (5 + 3));
    CHECK_EQ(ifm_of(&s)->held_units, 3 * (5 + 3));
    tw_context_free(s.ctx);
}

/* Windows of 5 rows that move on by 3, in two sweeps: their rows have the numbers 0..5, 3..8 and 8..13, 11..16. With 2 buffers there is room for 8 rows, and the
 * second sweep waits for all of the first. With 3 there is room for 11: its first window waits for the first one alone, its next
 * one for the second. Loads take 25 and 19 cycles, an execution 100, a store 1. */
TEST(a_sweep_begins_while_the_last_one_is_read_if_both_have_room)
{
    slid two = open_slid("pool:1x8x6,kernel=3x1,dtype=i8", "pool",
                         "sizes: {oy: 3, ox: 3}, order: [ox, oy], slide: {ifm: oy}, buffers: {ifm: 2, ofm: 2}");
    must_verify(&two);
    CHECK_EQ(tw_plan_summary(two.plan)->cycles, 25 + 2 * 100 + 25 + 2 * 100 + 1);
    slid three = open_slid("pool:1x8x6,kernel=3x1,dtype=i8", "pool",
                           "sizes: {oy: 3, ox: 3}, order: [ox, oy], slide: {ifm: oy}, buffers: {ifm: 3, ofm: 2}");
    must_verify(&three);
    CHECK_EQ(tw_plan_summary(three.plan)->cycles, 25 + 4 * 100 + 1);
    CHECK_EQ(ifm_of(&three)->units, ifm_of(&two)->units);
    tw_context_free(two.ctx);
    tw_context_free(three.ctx);
}

/* The last column of three is narrower: rows of two lengths lie in the buffer at once. */
TEST(sweeps_with_rows_of_other_lengths_share_the_buffer)
{
    slid s = open_slid("pool:1x8x5,kernel=3x1,dtype=i8", "pool",
                       "sizes: {oy: 2, ox: 2}, order: [ox, oy], slide: {ifm: oy}, buffers: {ifm: 4, ofm: 2}");
    must_verify(&s);
    CHECK_EQ(ifm_of(&s)->units, 8 * 5);
    CHECK_EQ(tw_plan_summary(s.plan)->cycles, 10 + 8 + 9 * 100 + 1);
    tw_context_free(s.ctx);
}

/* Stride 2 and kernel 2 share nothing; neither does a loop with one tile: both load as ever, into buffers as ever. */
TEST(where_there_is_nothing_to_keep_tiles_come_as_ever)
{
    slid apart = open_slid("pool:1x8x1,kernel=2x1,stride=2x1,dtype=i8", "pool",
                           "sizes: {oy: 2}, order: [oy], slide: {ifm: oy}, buffers: {ifm: 2}");
    must_verify(&apart);
    CHECK_EQ(ifm_of(&apart)->units, 8);
    CHECK_EQ(ifm_of(&apart)->held_units, 2 * 4);
    CHECK_EQ(tw_plan_pool_use(apart.plan, 0, 1, 0)->ahead_units, 0);
    slid whole = open_slid("pool:1x8x1,kernel=3x1,dtype=i8", "pool", "slide: {ifm: oy}");
    must_verify(&whole);
    CHECK_EQ(ifm_of(&whole)->units, 8);
    CHECK_EQ(tw_plan_pool_use(whole.plan, 0, 1, 0)->ahead_units, 0);
    tw_context_free(apart.ctx);
    tw_context_free(whole.ctx);
}

/* Dilation 2: taps at 0, 2, 4; windows are hulls. 9 rows make 5 outputs, tiles of 2: 6 rows, then 2, then 1. */
TEST(dilated_windows_slide_over_their_hull)
{
    slid s = open_slid("pool:1x9x1,kernel=3x1,dilation=2x1,dtype=i8", "pool",
                       "sizes: {oy: 2}, order: [oy], slide: {ifm: oy}");
    must_verify(&s);
    CHECK_EQ(ifm_of(&s)->units, 9);
    CHECK_EQ(ifm_of(&s)->transfers, 3);
    tw_context_free(s.ctx);
}

TEST(too_little_memory_says_what_the_circular_buffer_takes)
{
    slid s = open_slid("pool:1x8x12,kernel=3x1,dtype=i8", "pool",
                       "sizes: {oy: 2}, order: [oy], slide: {ifm: oy}, buffers: {ifm: 2}");
    CHECK_EQ(s.status, TW_INFEASIBLE);
    CHECK_STR(tw_context_message(s.ctx, 0),
              "map:1:27: infeasible: memory 'l1' is short by 32: buffers need 96 of 64");
    CHECK_STR(tw_context_message(s.ctx, 1),
              "map:1:27: note: 'ifm' takes a window of 48 and 1 x 24 ahead of it in 'l1'");
    tw_context_free(s.ctx);
}

/* ---- what is refused ---- */

static void check_refused(const char *workload, const char *levels, const char *message)
{
    slid s = open_slid(workload, "conv", levels);
    CHECK_EQ(s.status, TW_ERR_INPUT);
    CHECK_STR(tw_context_message(s.ctx, 0), message);
    tw_context_free(s.ctx);
}

TEST(a_window_slides_along_the_innermost_loop_that_changes_it)
{
    static const char conv[] = "conv:4x12x12,out=8,kernel=3,pad=1,dtype=i8";
#define OUTSIDE "{at: l3, pass: true}, {at: l2, pass: true}, "
    check_refused(conv,
                  OUTSIDE
                  "{at: l1, pass: true, slide: {ifm: oy}}, {at: fabric, sizes: {oy: 2, ox: 4}, order: [oy, ox]}",
                  "map:1:71: error: 'ifm' cannot slide along 'oy' in 'l1': loop 'ox' inside it changes the tile");
    check_refused(conv,
                  OUTSIDE
                  "{at: l1, pass: true, slide: {ifm: oy}, keep: {ifm: oy}}, {at: fabric, sizes: {oy: 2, ox: 4}, "
                  "order: [oy, ox]}",
                  "map:1:71: error: 'ifm' cannot slide along 'oy' in 'l1': loop 'ox' inside it changes the tile");
    check_refused(conv,
                  OUTSIDE
                  "{at: l1, pass: true, slide: {ifm: oy}, keep: {ifm: ox}}, {at: fabric, sizes: {oy: 2, ox: 4}, "
                  "order: [ox, oy]}",
                  "map:1:71: error: 'ifm' cannot slide along 'oy' in 'l1': it is kept there while 'oy' moves");
    check_refused(conv,
                  OUTSIDE
                  "{at: l1, pass: true, slide: {ifm: oy}}, {at: fabric, sizes: {oy: 2, oc: 4}, order: [oy, oc]}",
                  "map:1:71: error: 'ifm' cannot slide along 'oy' in 'l1': it is sent again when 'oc' moves; "
                  "'keep: {ifm: oy}' lets it stay");
    check_refused(conv,
                  OUTSIDE "{at: l1, pass: true, slide: {ifm: oy}}, {at: fabric, sizes: {oy: 2}, order: [oy], "
                          "serpentine: true}",
                  "map:1:71: error: 'ifm' cannot slide in 'l1': every second sweep runs backwards");
}

/* ---- files ---- */

TEST(a_mapping_that_slides_reads_back_as_the_same_plan)
{
    slid s = open_slid(
        "conv:8x12x12,out=8,kernel=3,pad=1,dtype=i8", "conv",
        "{at: l3, pass: true, slide: {ifm: none}}, {at: l2, sizes: {oy: 4}, slide: {ifm: oy}, buffers: {ifm: 2}}, "
        "{at: l1, pass: true}, {at: fabric, sizes: {oc: 4, oy: 2, ox: 6}}");
    must_verify(&s);
    tw_text text = {0};
    const tw_mapping *again;
    const tw_plan *plan;
    tw_mapping_print(s.mapping, s.model, s.machine, &text);
    CHECK(strstr(text.bytes, "slide: {ifm: oy}") != NULL);
    CHECK(strstr(text.bytes, "none") == NULL);
    CHECK_EQ(tw_mapping_parse(s.ctx, s.model, s.machine, "again", text.bytes, &again), TW_OK);
    CHECK_EQ(tw_plan_eval(s.ctx, s.model, s.machine, again, &plan), TW_OK);
    CHECK_EQ(tw_plan_summary(plan)->cycles, tw_plan_summary(s.plan)->cycles);
    CHECK_EQ(tw_plan_link_use(plan, 0, 1, 0)->units, 8 * 12 * 12);
    CHECK_EQ(tw_plan_link_use(plan, 0, 2, 0)->units, 8 * 12 * 12);
    tw_text_release(&text);
    tw_context_free(s.ctx);
}

/* ---- searched for ---- */

/* A limit that is asked for is kept to, and what was found allows itself alone. */
TEST(a_partial_mapping_may_ask_for_windows_that_slide)
{
    slid s = open_slid("conv:8x12x12,out=8,kernel=3,pad=1,dtype=i8", "conv",
                       "{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, pass: true}, {at: fabric}");
    static const char asked[] = "mapping: {conv: {levels: [{at: l2, tiles: {oy: 3}, slide: {ifm: oy}},"
                                " {at: l1, slide: {ifm: [oy, none]}}]}}";
    const tw_limits *limits;
    const tw_plan *plan, *again;
    tw_text text = {0};
    CHECK_EQ(tw_limits_parse(s.ctx, s.model, s.machine, "asked", asked, &limits), TW_OK);
    tw_search_options options = {.limits = limits, .budget = 300000};
    CHECK_EQ(tw_plan_search(s.ctx, s.model, s.machine, &options, &plan), TW_OK);
    CHECK(plan->op[0].program.flow->residency[2][0].slides);
    tw_mapping_print(plan->mapping, s.model, s.machine, &text);
    CHECK_EQ(tw_limits_parse(s.ctx, s.model, s.machine, "found", text.bytes, &limits), TW_OK);
    options.limits = limits;
    CHECK_EQ(tw_plan_search(s.ctx, s.model, s.machine, &options, &again), TW_OK);
    CHECK_EQ(tw_plan_summary(again)->cycles, tw_plan_summary(plan)->cycles);
    CHECK(again->op[0].program.flow->residency[2][0].slides);
    tw_text_release(&text);
    tw_context_free(s.ctx);
}

/* Along what a level cuts not at all, or where windows share nothing, sliding is no different from whole tiles. */
TEST(a_partial_mapping_that_slides_over_nothing_allows_whole_tiles)
{
    slid s = open_slid("pool:1x8x1,kernel=2x1,stride=2x1,dtype=i8", "pool", "sizes: {oy: 2}");
    static const char *const asked[] = {"mapping: {pool: {levels: [{at: l1, sizes: {oy: 2}, slide: {ifm: oy}}]}}",
                                        "mapping: {pool: {levels: [{at: l1, tiles: {oy: 1}, slide: {ifm: oy}}]}}"};
    for (size_t i = 0; i < TW_COUNT(asked); i++) {
        const tw_limits *limits;
        const tw_plan *plan;
        CHECK_EQ(tw_limits_parse(s.ctx, s.model, s.machine, "asked", asked[i], &limits), TW_OK);
        tw_search_options options = {.limits = limits};
        CHECK_EQ(tw_plan_search(s.ctx, s.model, s.machine, &options, &plan), TW_OK);
    }
    tw_context_free(s.ctx);
}

/* Three rows of the twelve are shared by no two tiles when they slide: energy has no halo left. */
TEST(the_search_for_energy_lets_windows_slide)
{
    slid s = open_slid("pool:1x16x4,kernel=5x1,dtype=i8", "pool", "sizes: {oy: 2}");
    const tw_plan *plan;
    static const tw_objective energy = {.measure = TW_ENERGY};
    tw_search_options options = {.n_objectives = 1, .objective = &energy};
    CHECK_EQ(tw_plan_search(s.ctx, s.model, s.machine, &options, &plan), TW_OK);
    CHECK_EQ(tw_plan_link_use(plan, 0, 1, 0)->units, 16 * 4);
    CHECK_EQ(tw_plan_summary(plan)->energy_fj, (16 * 4 + 12 * 4) * 4000);
    tw_context_free(s.ctx);
}
