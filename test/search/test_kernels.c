/* test/search/test_kernels.c - executions of kernels, and transfers by rows and planes, on a machine like a DSP. */
#include "search/kernels.h"

#include "plan/plan.h"
#include "tile/split.h"
#include "tw_test.h"

#include <stdio.h>

static const char dsp[] = "machine: dsp\nunit: byte\ntiming: async\nmemories:\n"
                          "  - {name: ddr, size: unlimited}\n"
                          "  - {name: vtcm, size: 4 MiB, align: 128, placement: lifetime}\n"
                          "engines:\n"
                          "  - {name: udma, between: [ddr, vtcm], carries: both, prefetch: all, cost: {setup: 150, "
                          "per_row: 2, beat: 64, beats: lines}}\n"
                          "  - {name: hvx, computes: [multiply-add, add, max, map], on: vtcm,\n"
                          "     cost: {cores: 4, start: 500, per_lane: 4, per_round: 8, per_point: 0.002, unroll: "
                          "[8, 4, 2], depth: 4}}\n";

static tw_search_result result_of(const char *spec, const char *on, const tw_search_options *options)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(on ? tw_machine_open(ctx, on, &machine) : tw_machine_parse(ctx, "machine", dsp, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, options, &plan), TW_OK);
    tw_search_result r = *tw_plan_search_result(plan, 0);
    tw_context_free(ctx);
    return r;
}

TEST(windows_on_a_dsp_are_planned_to_a_hundredth_of_their_bound)
{
    static const tw_search_options as_layer = {
        .space = TW_SPACE_WINDOWS, .gap = 0.0099, .budget = 1000000, .patience = 200000, .n_threads = 1};
    static const char *const spec[] = {"conv:64x56x56,out=64,kernel=3,pad=1,dtype=i8,out_dtype=i8",
                                       "conv:128x28x28,out=128,kernel=3,pad=1,dtype=i8,out_dtype=i8",
                                       "conv:128x28x28,out=256,kernel=3,pad=1,stride=2,dtype=i8,out_dtype=i8",
                                       "conv:256x14x14,out=256,kernel=3,pad=1,dtype=i8,out_dtype=i8",
                                       "conv:512x7x7,out=512,kernel=3,pad=1,dtype=i8,out_dtype=i8"};
    for (size_t i = 0; i < TW_COUNT(spec); i++) CHECK(result_of(spec[i], NULL, &as_layer).gap <= 0.01);
}

/* ---- all tiles, one by one ---- */

typedef struct tiles {
    const tw_op *op;
    const tw_cost *cost;
    const tw_split *split;
    int64_t elem, len[TW_MAX_LOOPS];
} tiles;

static int64_t cycles_of_tiles(tiles *t, int l)
{
    if (l == t->op->n_loops) {
        tw_kernel_nest nest = tw_nest_of(t->op, t->len, t->elem);
        return tw_cost_cycles(t->cost, tw_cost_of_kernel(&t->cost->kernel, &nest, false));
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < t->split[l].count; i++) {
        t->len[l] = tw_span_len(tw_split_at(&t->split[l], 0, i));
        sum += cycles_of_tiles(t, l + 1);
    }
    return sum;
}

/* The tiles of a split by their lengths: all but the last few are alike. */
static tw_pieces pieces_of(const tw_split *split)
{
    tw_pieces p = {0, {0}, {0}};
    for (int64_t i = 0; i < split->count; i++) {
        int64_t len = tw_span_len(tw_split_at(split, 0, i));
        if (p.n == 0 || p.len[p.n - 1] != len) p.len[p.n++] = len;
        p.count[p.n - 1]++;
    }
    return p;
}

TEST(kernels_over_tiles_that_differ_are_counted_as_one_by_one)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 200; i++) {
        tw_context *ctx = tw_context_new();
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {.muted = true};
        const tw_model *model;
        const tw_machine *machine;
        tw_space space;
        char spec[80];
        snprintf(spec, sizeof spec, "matmul:%dx%dx%d,dtype=i8", (int)tw_test_pick(&rng, 1, 60),
                 (int)tw_test_pick(&rng, 1, 60), (int)tw_test_pick(&rng, 1, 60));
        CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", dsp, &machine), TW_OK);
        CHECK_EQ(tw_space_of(&(tw_problem){model, 0, machine}, &(tw_search_options){.n_threads = 1}, arena, &diag,
                             &space),
                 TW_OK);
        tw_split split[TW_MAX_LOOPS];
        tw_pieces pieces[TW_MAX_LOOPS];
        for (int l = 0; l < space.op->n_loops; l++) {
            int64_t extent = space.op->loop[l].extent, size = tw_test_pick(&rng, 1, extent);
            split[l] = tw_test_pick(&rng, 0, 1) ? tw_split_by_size(extent, size)
                                                : tw_split_by_count(extent, tw_cdiv(extent, size), TW_BALANCED);
            pieces[l] = pieces_of(&split[l]);
        }
        const tw_cost *cost = &machine->engine[machine->compute].cost;
        tiles all = {.op = space.op, .cost = cost, .split = split, .elem = space.elem_units[1]};
        CHECK_EQ(tw_kernels_exactly(&space, pieces), cycles_of_tiles(&all, 0));
        tw_arena_free(arena);
        tw_context_free(ctx);
    }
}

/* ---- moves ---- */

TEST(an_expansion_is_not_bounded_by_rows_that_come_once)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_parse(ctx, "workload",
                            "workload: w\nops:\n  - name: op\n    compute: map\n    value: \"a\"\n"
                            "    loops: {d0: 97, d1: 2}\n    reads: {a: {dtype: f32, at: [d1], shape: [2]}}\n"
                            "    writes: {y: {dtype: f32, at: [d0, d1]}}\n",
                            &model),
             TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "snitch", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &(tw_search_options){.n_threads = 1}, &plan), TW_OK);
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    CHECK(r->root_bound <= (double)r->best);
    tw_context_free(ctx);
}
