/* test/search/test_spread.c - which loops lie over an array: the frames of a space, and how a mapping says it.
 *
 * That the best of these spreads is the best of all is held against trying every spread by test_brute.c. */
#include "search/pairs.h"
#include "search/spread.h"

#include "plan/plan.h"
#include "tw_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char machine_text[] =
    "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n  - {name: sram, size: "
    "4096}\n"
    "engines:\n  - {name: dma, between: [dram, sram], carries: both, cost: {latency: 1, per_cycle: 64}}\n"
    "  - {name: mac, computes: multiply-add, on: sram, accumulate: fused, unrolls: %s, cost: {array: %s}}\n";

/* The frames of an operator on an array; one memory inside the outermost one. */
static int frames_of(const char *spec, const char *unrolls, const char *array, tw_spread *first)
{
    char text[sizeof machine_text + 100];
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    const tw_model *model;
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    tw_search_options options = {.space = TW_SPACE_ALL};
    tw_space space;
    snprintf(text, sizeof text, machine_text, unrolls, array);
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    CHECK_EQ(tw_space_of(&(tw_problem){model, 0, &here}, &options, arena, &diag, &space), TW_OK);
    *first = space.frame[0].over;
    int n = space.n_frames;
    tw_arena_free(arena);
    tw_context_free(ctx);
    return n;
}

TEST(every_loop_lies_over_some_dimension)
{
    tw_spread first;
    /* m, n and k over rows or columns; what changes their places is the same on a square. */
    CHECK_EQ(frames_of("matmul:8x9x10", "whole", "[4, 5]", &first), 8);
    CHECK_EQ(frames_of("matmul:8x9x10", "whole", "[4, 4]", &first), 4);
    CHECK_EQ(frames_of("matmul:8x9x10", "[parallel, whole]", "[4, 5]", &first), 4);
    CHECK_EQ(frames_of("matmul:8x9x10", "[parallel, whole]", "[4, 4]", &first), 2);
    CHECK_EQ(frames_of("matmul:8x9x10", "whole", "{lanes: 4}", &first), 1);
    CHECK_EQ(frames_of("matmul:8x9x10", "whole", "{a: 2, b: 3, c: 4}", &first), 27);
    CHECK_EQ(frames_of("matmul:8x9x10", "whole", "{a: 2, b: 2, c: 2}", &first),
             5); /* of three, sets in any number */
    CHECK_EQ(frames_of("matmul:8x9x10", "whole", "{a: 2, b: 2, c: 4}", &first), 14);
    /* A loop of one point makes no difference. */
    CHECK_EQ(frames_of("matmul:8x1x10", "whole", "[4, 5]", &first), 4);
    /* More spreads than frames: 4^6 of a convolution. */
    CHECK_EQ(frames_of("conv:4x9x8,out=5,kernel=3", "whole", "{a: 2, b: 3, c: 4, d: 5}", &first), TW_MOST_SPREADS);
}

TEST(the_first_frame_takes_the_fewest_passes)
{
    tw_spread over;
    frames_of("conv:64x7x7,out=64,kernel=3,pad=1", "parallel", "[16, 16]", &over); /* oc, oy, ox, ic, ky, kx */
    CHECK_EQ(over.dim[0], 1);
    CHECK_EQ(over.dim[1], 2);
    CHECK_EQ(over.dim[2], 2);
    CHECK(over.dim[3] == 0 && over.dim[4] == 0 && over.dim[5] == 0);
    frames_of("matmul:64x64x64", "parallel", "[16, 16]", &over);
    CHECK(over.dim[0] == 1 && over.dim[1] == 2 && over.dim[2] == 0);
}

/* The innermost level of the mapping that a search finds, as text. */
static void check_unroll(const char *spec, const char *unrolls, const char *array, const char *expected)
{
    char text[sizeof machine_text + 100], *mapping = NULL;
    size_t n;
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.budget = 2000000};
    snprintf(text, sizeof text, machine_text, unrolls, array);
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    FILE *f = open_memstream(&mapping, &n);
    CHECK(f && tw_plan_print_mapping(ctx, plan, f) == TW_OK);
    fclose(f);
    if (!strstr(mapping, expected)) fprintf(stderr, "no '%s' in\n%s", expected, mapping);
    CHECK(strstr(mapping, expected) != NULL);
    free(mapping);
    tw_context_free(ctx);
}

TEST(a_mapping_names_the_loops_that_it_needs)
{
    check_unroll("matmul:32x32x8,dtype=i8", "parallel", "[16, 16]", "unroll: [m, n]");
    check_unroll("conv:8x7x7,out=16,kernel=3,pad=1,dtype=i8", "parallel", "[16, 16]",
                 "unroll: {rows: oc, columns: [oy, ox]}");
}

/* Cycles of an operator on the KPU. */
static int64_t cycles_of(const char *spec)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.space = TW_SPACE_WINDOWS, .gap = 0.01, .budget = 2000000};
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    int64_t cycles = tw_plan_search_result(plan, 0)->best;
    tw_context_free(ctx);
    return cycles;
}

/* 7 x 7 positions are four passes over 16 columns, 49 of 64 units; one loop of seven alone is 7 of 16. */
TEST(short_loops_fill_a_dimension_together)
{
    static const double points = 512.0 * 7 * 7 * 512 * 9;
    CHECK(points / (double)cycles_of("conv:512x7x7,out=512,kernel=3,pad=1,dtype=f32") > 195);
    CHECK(points / 2 / (double)cycles_of("conv:256x14x14,out=512,kernel=3,pad=1,stride=2,dtype=f32") > 195);
    /* 14 x 14 as 8 and 6 by 8 and 6: 4 + 3 + 3 + 3 passes, 196 of 208. */
    CHECK(points / (double)cycles_of("conv:256x14x14,out=256,kernel=3,pad=1,dtype=f32") > 238);
}

/* Parts of a loop that is cut behind the indices whose bits are set. */
static int64_t cut_at(unsigned cuts, int extent, int64_t part[TW_PAIR_LONGEST], int64_t *longest)
{
    int64_t n = 0, len = 0;
    *longest = 0;
    for (int i = 0; i < extent; i++) {
        len++;
        if (i < extent - 1 && !(cuts >> i & 1)) continue;
        part[n++] = len;
        *longest = len > *longest ? len : *longest;
        len = 0;
    }
    return n;
}

static int64_t fewest_passes(int a, int b, int64_t longest_a, int64_t longest_b, int64_t size)
{
    int64_t best = INT64_MAX, x[TW_PAIR_LONGEST], y[TW_PAIR_LONGEST], most;
    for (unsigned i = 0; i < 1u << (a - 1); i++)
        for (unsigned k = 0; k < 1u << (b - 1); k++) {
            int64_t n = cut_at(i, a, x, &most), sum = 0;
            if (most > longest_a) continue;
            int64_t m = cut_at(k, b, y, &most);
            if (most > longest_b) continue;
            for (int64_t u = 0; u < n; u++)
                for (int64_t v = 0; v < m; v++) sum += (x[u] * y[v] + size - 1) / size;
            best = sum < best ? sum : best;
        }
    return best;
}

TEST(pairs_of_loops_take_as_few_passes_as_trying_every_cut_finds)
{
    static const int extent[][3] = {{7, 7, 16}, {5, 8, 6}, {1, 6, 4}, {8, 3, 5}, {6, 6, 1}};
    for (size_t i = 0; i < TW_COUNT(extent); i++) {
        tw_pair pair = {.size = extent[i][2]};
        tw_pair_measure(&pair, extent[i][0], extent[i][1]);
        for (int a = 1; a <= extent[i][0]; a++)
            for (int b = 1; b <= extent[i][1]; b++)
                CHECK_EQ(pair.passes[a][b], fewest_passes(extent[i][0], extent[i][1], a, b, extent[i][2]));
    }
}
