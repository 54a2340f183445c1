/* test/search/test_first.c - an operator that reduces nothing has a plan before anything is searched.
 *
 * Random element-wise operators, broadcasts and moves of odd and prime extents on every built-in machine, with a budget of
 * one piece of work: each has a plan or a proof that there is none. Large ones must be near the bound of the space, which
 * knows nothing of how the first mapping is made. */
#include "map_random.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

static bool is_proven(tw_context *ctx)
{
    for (int i = 0; i < tw_context_n_messages(ctx); i++)
        if (strstr(tw_context_message(ctx, i), "was found before")) return false;
    return true;
}

TEST(a_map_has_a_plan_or_a_proof_whatever_the_budget)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 40; i++) {
        map_random w = map_random_make(&rng, INT64_C(1) << tw_test_pick(&rng, 4, 18));
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        CHECK_EQ(tw_model_parse(ctx, "workload", w.text, &model), TW_OK);
        for (int k = 0; tw_machine_builtin_name(k); k++) {
            const tw_machine *machine;
            const tw_plan *plan = NULL;
            tw_search_options options = {
                .budget = 1, .n_threads = 1, .space = k % 2 ? TW_SPACE_WINDOWS : TW_SPACE_ALL};
            CHECK_EQ(tw_machine_open(ctx, tw_machine_builtin_name(k), &machine), TW_OK);
            if (machine->platform && machine->platform->n_cores > 1) continue; /* no operator has it alone */
            tw_context_clear_messages(ctx);
            tw_status status = tw_plan_search(ctx, model, machine, &options, &plan);
            bool good = status == TW_OK || (status == TW_INFEASIBLE && is_proven(ctx));
            if (!good) fprintf(stderr, "%s on %s\n", w.text, machine->name);
            CHECK(good);
        }
        tw_context_free(ctx);
    }
}

/* The best cycles of a search that may do so much, -1: nothing was found. */
static int64_t best_of(const char *workload, const char *on, int64_t budget)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.budget = budget, .n_threads = 1};
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(strchr(on, ' ') ? tw_machine_parse(ctx, "machine", on, &machine) : tw_machine_open(ctx, on, &machine),
             TW_OK);
    tw_status status = tw_plan_search(ctx, model, machine, &options, &plan);
    int64_t best = status == TW_OK ? tw_plan_search_result(plan, 0)->best : -1;
    tw_context_free(ctx);
    return best;
}

/* Of a convolution whose every loop is longer than the multiple, or shorter. By hand: 534'249 cycles in tiles of 16 x 16. */
TEST(machines_that_take_multiples_have_good_plans_at_once)
{
    static const char conv[] = "conv:64x56x56,out=64,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32";
    int64_t gemmini = best_of(conv, "gemmini-like", 400000), ethos = best_of(conv, "ethos-u55-like", 400000);
    CHECK(gemmini > 0 && gemmini <= 470000);
    CHECK(ethos > 0 && ethos <= 700000);
}

/* What comes first decides: 40 of 64 input channels of nine rows, then the others, and the sums of both stay. Whole inputs take 463'937 cycles. */
TEST(reductions_are_cut_outside_of_sums_that_stay)
{
    static const char conv[] = "conv:64x56x56,out=64,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32";
    int64_t ethos = best_of(conv, "ethos-u55-like", 6000000);
    CHECK(ethos > 0 && ethos <= 459108);
}

/* As many frames as there are ways to lay six loops over two dimensions have the same bounds where movers are the limit: 279'396 cycles
 * when each was searched. */
TEST(tiles_are_searched_in_the_frame_that_suits_them)
{
    int64_t best = best_of("conv:64x56x56,out=128,kernel=3,stride=2,pad=1", "gemmini-like", 1500000);
    CHECK(best > 0 && best <= 250000);
}

TEST(machines_that_take_listed_sizes_have_plans_of_them)
{
    static const char machine[] =
        "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited}, {name: l2, size: "
        "200000}, "
        "{name: l1, size: 20000}], engines: [{name: dma, between: [dram, l2], cost: {latency: 20, per_cycle: 16}}, "
        "{name: mv, between: [l2, l1], cost: {latency: 5, per_cycle: 64}}, {name: mac, computes: multiply-add, "
        "memory: l1, cost: {latency: 0, per_cycle: 256}, tile_sizes: {oc: [16, 48], oy: [4, 8], ox: [7, 12], "
        "ic: [8, 24], m: [10, 30], k: [64]}}]}";
    int64_t conv = best_of("conv:64x56x56,out=64,kernel=3,pad=1,dtype=i8", machine, 100000);
    int64_t matmul = best_of("matmul:100x300x200,dtype=i8", machine, 100000);
    CHECK(conv >= 451584 && conv < 700000); /* as long as mac is busy, at least */
    CHECK(matmul >= 23438 && matmul < 35000);
}

/* Percent by which the first mapping is above the bound of the space. */
static double percent_above(const char *spec, const char *on, double time_limit)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.budget = time_limit > 0 ? 0 : 1, .time_limit = time_limit, .n_threads = 1};
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, on, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    double above = 100 * ((double)r->best / r->root_bound - 1);
    tw_context_free(ctx);
    return above;
}

TEST(large_element_wise_operators_begin_near_their_bound)
{
    CHECK(percent_above("add:33554432", "kpu", 0) <
          0.1); /* the largest tile that fits leaves no room for the next */
    CHECK(percent_above("add:33554393", "kpu", 0) < 0.1); /* a prime */
    CHECK(percent_above("add:127x512x512", "kpu", 0) < 0.1);
    CHECK(percent_above("add:64x512x512x8", "kpu", 0) < 0.1);
    CHECK(percent_above("add:127x512x512", "kpu-minimal", 0) < 10);
    CHECK(percent_above("add:127x512x512", "snitch", 0) < 6);
}

TEST(a_time_limit_that_is_over_at_once_leaves_a_plan) { CHECK(percent_above("add:127x512x512", "kpu", 1e-9) < 5); }

/* The first programs that a search meets here are of the smallest tiles, and longer than any budget. */
TEST(a_reduction_of_a_large_tensor_has_a_plan_when_the_budget_finds_none)
{
    static const char text[] = "workload: w\n"
                               "tensors:\n"
                               "  - {name: x, dtype: f32, shape: [33554432]}\n"
                               "  - {name: y, dtype: f32, shape: [1]}\n"
                               "ops:\n"
                               "  - name: most\n"
                               "    compute: max\n"
                               "    loops: {r: 33554432, one: 1}\n"
                               "    reduce: [r]\n"
                               "    reads: {ifm: {tensor: x, at: [r]}}\n"
                               "    writes: {ofm: {tensor: y, at: [one]}}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.budget = 100000, .n_threads = 1, .space = TW_SPACE_WINDOWS};
    CHECK_EQ(tw_model_parse(ctx, "workload", text, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "snitch", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    /* 17 cycles for an element, on the one core that has the result; transfers run beside them. */
    CHECK((double)tw_plan_search_result(plan, 0)->best < 1.01 * 17 * 33554432);
    tw_context_free(ctx);
}
