/* test/search/test_layout.c - tiles over an array with loops that may be divided, against trying every share of every loop. */
#include "search/layout.h"

#include "plan/plan.h"
#include "search/fills.h"
#include "tw_read.h"

#include <stdio.h>
#include <stdlib.h>

static const char machine_text[] =
    "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n  - {name: sram, size: "
    "65536}\n"
    "engines:\n  - {name: dma, between: [dram, sram], carries: both, cost: {latency: 1, per_cycle: 4096}}\n"
    "  - {name: mac, computes: multiply-add, on: sram, accumulate: fused, unrolls: %s, cost: {array: %s}}\n";

typedef struct scene {
    tw_context *ctx;
    tw_arena *arena;
    tw_machine here;
    const tw_model *model;
    tw_space space;
} scene;

static void open_scene(scene *s, const char *spec, const char *unrolls, const char *array)
{
    char text[sizeof machine_text + 100];
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    tw_search_options options = {.space = TW_SPACE_ALL};
    s->ctx = tw_context_new();
    s->arena = tw_arena_new();
    snprintf(text, sizeof text, machine_text, unrolls, array);
    CHECK_EQ(tw_model_open(s->ctx, spec, &s->model), TW_OK);
    CHECK_EQ(tw_machine_parse(s->ctx, "machine", text, &machine), TW_OK);
    s->here = tw_machine_for(machine, s->model, &s->model->op[0], (tw_fusion){0});
    CHECK_EQ(tw_space_of(&(tw_problem){s->model, 0, &s->here}, &options, s->arena, &diag, &s->space), TW_OK);
}

static void close_scene(scene *s)
{
    tw_arena_free(s->arena);
    tw_context_free(s->ctx);
}

static bool is_joined(const char *spec, const char *unrolls, const char *array)
{
    scene s;
    open_scene(&s, spec, unrolls, array);
    bool joined = false;
    for (int i = 0; i < s.space.n_frames; i++) joined |= s.space.frame[i].joined;
    close_scene(&s);
    return joined;
}

TEST(loops_are_divided_where_whole_ones_leave_much_of_the_array_idle)
{
    static const char layer4[] = "conv:32x7x7,out=512,kernel=3,pad=1";
    CHECK(is_joined(layer4, "parallel", "[16, 16]"));
    CHECK(!is_joined(layer4, "[parallel, whole]", "[16, 16]"));
    CHECK(!is_joined(layer4, "parallel", "{lanes: 256}"));                                   /* one dimension */
    CHECK(!is_joined(layer4, "parallel", "[16, 16], stationary: weights, block_least: 16")); /* blocks count */
    CHECK(!is_joined("conv:32x16x16,out=64,kernel=3,pad=1", "parallel", "[16, 16]"));        /* nothing is idle */
    CHECK(!is_joined("conv:32x14x14,out=64,kernel=3,pad=1", "parallel", "[16, 16]"));        /* 196 of 208 */
}

/* Every share of every loop over the first dimension, what is left over the second; lengths in `len`. */
static int64_t fewest(const scene *s, const tw_tiles *tiles, tw_spread *over, int l)
{
    const tw_op *op = s->space.op;
    const tw_cost_array *array = &s->here.engine[s->here.compute].cost.array;
    int64_t best = INT64_MAX, len[TW_MAX_LOOPS];
    if (l == 3) {
        int64_t sum = 0;
        for (int l2 = 3; l2 < op->n_loops; l2++) len[l2] = 1;
        for (int i = 0; i < tiles[0].n; i++)
            for (int j = 0; j < tiles[1].n; j++)
                for (int k = 0; k < tiles[2].n; k++) {
                    len[0] = tiles[0].len[i], len[1] = tiles[1].len[j], len[2] = tiles[2].len[k];
                    sum += tiles[0].count[i] * tiles[1].count[j] * tiles[2].count[k] *
                           tw_spread_passes(over, op, array, len);
                }
        return sum;
    }
    for (int d = 1; d <= 2; d++) {
        over->dim[l] = (int8_t)d;
        best = tw_min(best, fewest(s, tiles, over, l + 1));
    }
    for (int32_t share = 2; share < op->loop[l].extent; share++) {
        over->share[l][0] = share;
        best = tw_min(best, fewest(s, tiles, over, l + 1));
        over->share[l][0] = 0;
    }
    return best;
}

TEST(a_tile_is_laid_out_in_the_fewest_passes)
{
    static const char *const arrays[] = {"[4, 4]", "[4, 8]", "[6, 3]"};
    for (size_t a = 0; a < TW_COUNT(arrays); a++) {
        scene s;
        open_scene(&s, "conv:2x5x5,out=11,kernel=1", "parallel", arrays[a]);
        CHECK(s.space.laid != NULL);
        for (int64_t x = 1; x <= 11 && s.space.laid; x++)
            for (int64_t y = 1; y <= 5; y++)
                for (int64_t z = 1; z <= 5; z++) {
                    tw_tiles tiles[TW_MAX_LOOPS] = {{1, {x}, {1}}, {1, {y}, {1}}, {1, {z}, {1}},
                                                    {1, {1}, {1}}, {1, {1}, {1}}, {1, {1}, {1}}};
                    int64_t len[TW_MAX_LOOPS] = {x, y, z, 1, 1, 1};
                    tw_spread over = {{0}}, found;
                    int64_t expected = fewest(&s, tiles, &over, 0);
                    CHECK_EQ(tw_layout_passes(&s.space, len), expected);
                    CHECK_EQ(tw_layout_best(&s.space, tiles, &found), expected);
                }
        close_scene(&s);
    }
}

/* The spread that is found takes as many passes as are said, and no fewer are those of shares that make other groups of edge tiles by
 * more than these tiles. */
TEST(all_tiles_take_the_passes_that_are_said)
{
    scene s;
    uint64_t r = tw_test_seed();
    open_scene(&s, "conv:2x7x7,out=40,kernel=1", "parallel", "[4, 6]");
    for (int i = 0; i < 2000; i++) {
        int64_t x = tw_test_pick(&r, 1, 40), y = tw_test_pick(&r, 1, 7), z = tw_test_pick(&r, 1, 7), sum = 0;
        tw_tiles tiles[TW_MAX_LOOPS] = {tw_tiles_of(tw_split_by_size(40, x)),
                                        tw_tiles_of(tw_split_by_size(7, y)),
                                        tw_tiles_of(tw_split_by_size(7, z)),
                                        {1, {1}, {1}},
                                        {1, {1}, {1}},
                                        {1, {1}, {1}}};
        tw_spread found;
        int64_t said = tw_layout_best(&s.space, tiles, &found);
        for (int a = 0; a < tiles[0].n; a++)
            for (int b = 0; b < tiles[1].n; b++)
                for (int c = 0; c < tiles[2].n; c++) {
                    int64_t len[TW_MAX_LOOPS] = {tiles[0].len[a], tiles[1].len[b], tiles[2].len[c], 1, 1, 1};
                    sum += tiles[0].count[a] * tiles[1].count[b] * tiles[2].count[c] *
                           tw_spread_passes(&found, s.space.op, &s.here.engine[s.here.compute].cost.array, len);
                }
        CHECK_EQ(said, sum);
    }
    close_scene(&s);
}

static tw_tiles tiles_of(int64_t extent, int64_t size, bool even)
{
    int64_t count = tw_cdiv(extent, size);
    return tw_tiles_of(even && tw_cdiv(extent, count) == size ? tw_split_by_count(extent, count, TW_BALANCED)
                                                              : tw_split_by_size(extent, size));
}

/* The fewest passes of all tiles of these sizes, by whichever rule each loop is cut; one spread for all tiles, or each tile its own. */
static int64_t fewest_of_sizes(const scene *s, const int64_t size[3], bool apart)
{
    int64_t least = INT64_MAX;
    for (int rules = 0; rules < 8; rules++) {
        const tw_tiles one = {1, {1}, {1}};
        tw_tiles tiles[TW_MAX_LOOPS] = {one, one, one, one, one, one};
        tw_spread over = {{0}};
        int64_t sum = 0;
        for (int l = 0; l < 3; l++) tiles[l] = tiles_of(s->space.op->loop[l].extent, size[l], rules >> l & 1);
        for (int i = 0; i < tiles[0].n && apart; i++)
            for (int j = 0; j < tiles[1].n; j++)
                for (int k = 0; k < tiles[2].n; k++) {
                    const tw_tiles tile[TW_MAX_LOOPS] = {{1, {tiles[0].len[i]}, {1}},
                                                         {1, {tiles[1].len[j]}, {1}},
                                                         {1, {tiles[2].len[k]}, {1}},
                                                         one,
                                                         one,
                                                         one};
                    sum += tiles[0].count[i] * tiles[1].count[j] * tiles[2].count[k] * fewest(s, tile, &over, 0);
                }
        least = tw_min(least, apart ? sum : fewest(s, tiles, &over, 0));
    }
    return least;
}

/* Where one level cuts, what is known of a size is what its tiles take by the better rule, each laid out as suits it best. */
TEST(tiles_of_one_size_are_not_those_of_a_better_one)
{
    scene s;
    open_scene(&s, "conv:2x5x5,out=13,kernel=1", "parallel", "[4, 4]");
    CHECK(s.space.laid_least != NULL);
    for (int64_t x = 1; x <= 13 && s.space.laid_least; x++)
        for (int64_t y = 1; y <= 5; y++)
            for (int64_t z = 1; z <= 5; z++)
                CHECK_EQ(tw_layout_at(&s.space, x, y, z), fewest_of_sizes(&s, (int64_t[]){x, y, z}, true));
    close_scene(&s);
}

/* The best tiles are those that trying all of them finds, in the order of what they take. */
TEST(tiles_that_fill_an_array_best_come_first)
{
    enum { MOST = 40 };
    scene s;
    tw_fill fill[MOST];
    open_scene(&s, "conv:2x5x5,out=13,kernel=1", "parallel", "[4, 4]");
    int n = tw_fills_of(&s.space, MOST, fill), n_better = 0;
    CHECK_EQ(n, MOST);
    for (int i = 1; i < n; i++) CHECK(fill[i - 1].cycles <= fill[i].cycles);
    for (int64_t x = 1; x <= 13; x++)
        for (int64_t y = 1; y <= 5; y++)
            for (int64_t z = 1; z <= 5; z++)
                n_better +=
                    2 * fewest_of_sizes(&s, (int64_t[]){x, y, z}, true) < fill[MOST - 1].cycles; /* of 2 channels */
    CHECK(n_better < MOST);
    for (int i = 0; i < n; i++) {
        const int64_t size[3] = {fill[i].size[0], fill[i].size[1], fill[i].size[2]};
        CHECK_EQ(fill[i].cycles, 2 * fewest_of_sizes(&s, size, true));
    }
    close_scene(&s);
}

/* Of all sizes in the ranges of random parts, none takes fewer passes than the bound says. */
TEST(no_tiles_take_fewer_passes_than_their_part)
{
    scene s;
    uint64_t r = tw_test_seed();
    open_scene(&s, "conv:2x5x5,out=13,kernel=1", "parallel", "[4, 4]");
    int frame = 0;
    while (frame < s.space.n_frames && !s.space.frame[frame].joined) frame++;
    CHECK(frame < s.space.n_frames);
    for (int i = 0; i < 100 && frame < s.space.n_frames; i++) {
        bool empty;
        tw_part *p = tw_part_of_frame(&s.space, frame, &empty);
        static const int32_t extent[] = {13, 5, 5};
        tw_range range[3];
        CHECK(p != NULL);
        for (int l = 0; l < 3; l++) {
            int32_t lo = (int32_t)tw_test_pick(&r, 1, extent[l]), hi = (int32_t)tw_test_pick(&r, lo, extent[l]);
            p->var[tw_var_size(&s.space, 0, l)] = range[l] = (tw_range){lo, hi};
        }
        int64_t bound = tw_layout_least(&s.space, p), least = INT64_MAX;
        for (int64_t x = range[0].lo; x <= range[0].hi; x++)
            for (int64_t y = range[1].lo; y <= range[1].hi; y++)
                for (int64_t z = range[2].lo; z <= range[2].hi; z++)
                    least = tw_min(least, fewest_of_sizes(&s, (int64_t[]){x, y, z}, false));
        CHECK(bound <= least);
        free(p);
    }
    close_scene(&s);
}
