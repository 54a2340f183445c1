/* test/rivals/test_timeloop_sizes.c - factors with remainders: counts against walking all iterations, the search against trying
 * all sizes and orders. */
#include "tilewright/rivals.h"
#include "tl_random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char machine[] =
    "architecture:\n  version: 0.4\n  subtree:\n  - name: top\n    local:\n"
    "    - {name: m0, class: DRAM, attributes: {width: 16, datawidth: 8}}\n"
    "    - {name: m1, class: SRAM, attributes: {depth: 30, width: 8, datawidth: 8}}\n"
    "    - {name: m2, class: regfile, attributes: {depth: 9, width: 8, datawidth: 8}}\n"
    "    - {name: mac, class: mac, attributes: {}}\n"
    "ERT:\n  version: 0.4\n  tables:\n"
    "  - {name: top.m0, actions: [{name: read, energy: 100}, {name: write, energy: 110}]}\n"
    "  - {name: top.m1, actions: [{name: read, energy: 7}, {name: write, energy: 8}]}\n"
    "  - {name: top.m2, actions: [{name: read, energy: 1}, {name: write, energy: 1}]}\n"
    "  - {name: top.mac, actions: [{name: compute, energy: 1}]}\n"
    "mapspace_constraints:\n  targets:\n"
    "  - {target: m1, type: bypass, keep: [W, I, O]}\n  - {target: m2, type: bypass, keep: [W, I, O]}\n";

static tw_status open_product(tw_context *ctx, const int64_t *size, const tw_rival **out)
{
    static char problem[600];
    snprintf(problem, sizeof problem,
             "problem:\n  shape:\n    name: product\n    dimensions: [M, K, N]\n    data_spaces:\n"
             "    - {name: W, projection: [[[K]], [[N]]]}\n    - {name: I, projection: [[[M]], [[K]]]}\n"
             "    - {name: O, projection: [[[M]], [[N]]], read_write: true}\n"
             "  instance: {M: %d, K: %d, N: %d}\n",
             (int)size[0], (int)size[1], (int)size[2]);
    tw_rival_text file[] = {{"machine", machine}, {"problem", problem}};
    return tw_rival_parse(ctx, file, 2, out);
}

/* Bounds and last rounds of three loops per dimension, and an order per memory, as a nest. */
static void make_nest(const int64_t *size, int64_t bound[3][3], int order[3][3], tw_loopnest_loop *loop,
                      tw_loopnest *out)
{
    *out = (tw_loopnest){.loop = loop};
    for (int m = 0; m < 3; m++) {
        for (int o = 0; o < 3; o++) out->depth[m][o] = out->n_loops;
        for (int i = 0; i < 3; i++) {
            int d = order[m][i];
            int64_t inner = 1, rest = size[d] - 1;
            for (int k = m + 1; k < 3; k++) inner *= bound[k][d];
            if (bound[m][d] > 1)
                loop[out->n_loops++] = (tw_loopnest_loop){d, bound[m][d], rest / inner % bound[m][d] + 1, -1, m};
        }
    }
}

/* ---- counting ---- */

typedef struct walker {
    const tw_loopnest *nest;
    const int64_t *size;
    unsigned relevant;
    int m; /* words into the tile of this memory */
    int64_t at[3], low[3], high[3], before_low[3], before_high[3];
    bool seen;
    double words;
} walker;

/* Words of the tile that were not in the one before. */
static void step(walker *w)
{
    double volume = 1, overlap = 1;
    for (int d = 0; d < 3; d++) {
        w->low[d] = w->relevant >> d & 1 ? w->at[d] : 0;
        int64_t inside = 1;
        for (int i = 0; i < w->nest->n_loops; i++)
            if (w->nest->loop[i].dim == d && w->nest->loop[i].level >= w->m) inside *= w->nest->loop[i].bound;
        w->high[d] = w->relevant >> d & 1 ? tw_min(w->at[d] + inside, w->size[d]) : 1;
        volume *= (double)(w->high[d] - w->low[d]);
        overlap *= (double)tw_max(0, tw_min(w->high[d], w->before_high[d]) - tw_max(w->low[d], w->before_low[d]));
    }
    w->words += volume - (w->seen ? overlap : 0);
    memcpy(w->before_low, w->low, sizeof w->low);
    memcpy(w->before_high, w->high, sizeof w->high);
    w->seen = true;
}

/* Every iteration of the loops outside of the tile, those beyond the extent left out. */
static void walk(walker *w, int i)
{
    const tw_loopnest *nest = w->nest;
    if (i == nest->n_loops || nest->loop[i].level >= w->m) {
        step(w);
        return;
    }
    int d = nest->loop[i].dim;
    int64_t inner = 1;
    for (int j = i + 1; j < nest->n_loops; j++)
        if (nest->loop[j].dim == d) inner *= nest->loop[j].bound;
    for (int64_t k = 0; k < nest->loop[i].bound && w->at[d] + k * inner < w->size[d]; k++) {
        w->at[d] += k * inner;
        walk(w, i + 1);
        w->at[d] -= k * inner;
    }
}

static void pick_nest(uint64_t *seed, const int64_t *size, tw_loopnest_loop *loop, tw_loopnest *nest)
{
    int64_t bound[3][3];
    int order[3][3];
    for (int d = 0; d < 3; d++) {
        bound[2][d] = tw_test_pick(seed, 1, size[d]);
        bound[1][d] = tw_test_pick(seed, 1, tw_cdiv(size[d], bound[2][d]));
        bound[0][d] = tw_cdiv(size[d], bound[1][d] * bound[2][d]);
    }
    for (int m = 0; m < 3; m++) {
        int first = (int)tw_test_pick(seed, 0, 2), turn = (int)tw_test_pick(seed, 1, 2);
        for (int i = 0; i < 3; i++) order[m][i] = (first + i * turn) % 3;
    }
    make_nest(size, bound, order, loop, nest);
}

TEST(words_of_factors_with_remainders_are_those_of_walking_all_iterations)
{
    static const unsigned relevant[] = {6, 3, 5}; /* W: K, N; I: M, K; O: M, N */
    uint64_t seed = tw_test_seed();
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    for (int i = 0; i < 400; i++) {
        int64_t size[3] = {tw_test_pick(&seed, 1, 9), tw_test_pick(&seed, 1, 9), tw_test_pick(&seed, 1, 9)};
        tw_context *ctx = tw_context_new();
        const tw_rival *rival;
        tw_loopnest_loop loop[16];
        tw_loopnest nest;
        tw_tl_flow flow[TW_RIVAL_MEMORIES];
        CHECK_EQ(open_product(ctx, size, &rival), TW_OK);
        pick_nest(&seed, size, loop, &nest);
        tw_tl_case c = {rival->machine, rival->layer[0].einsum, &nest, NULL, scratch};
        for (int o = 0; o < 3; o++) {
            CHECK_EQ(tw_tl_flows_uneven(&c, o, (tw_loc){0}, &diag, flow), TW_OK);
            for (int m = 1; m < 3; m++) {
                walker w = {.nest = &nest, .size = size, .relevant = relevant[o], .m = m};
                walk(&w, 0);
                CHECK_EQ((int64_t)flow[m - 1].accesses, (int64_t)w.words);
            }
            CHECK_EQ((int64_t)flow[2].accesses, size[0] * size[1] * size[2]);
        }
        tw_context_free(ctx);
    }
    tw_arena_free(scratch);
}

/* ---- searching ---- */

typedef struct brute {
    const tw_rival *rival;
    tw_rival trial;
    tw_rival_layer layer;
    tw_loopnest nest;
    tw_loopnest_loop loop[16];
    const int64_t *size;
    tw_work work;
    double best;
} brute;

static void all_orders(brute *b, int64_t bound[3][3])
{
    static int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int x = 0; x < 36; x++) {
        int chosen[3][3];
        double energy, cycles;
        memcpy(chosen[0], order[x / 6], sizeof chosen[0]);
        memcpy(chosen[1], order[x % 6], sizeof chosen[1]);
        memcpy(chosen[2], order[0], sizeof chosen[2]);
        make_nest(b->size, bound, chosen, b->loop, &b->nest);
        if (tw_tl_count_cost(&b->trial, 0, b->work, &energy, &cycles) == TW_OK)
            b->best = fmin(b->best, energy * cycles);
    }
}

static void all_sizes(brute *b, int64_t bound[3][3], int d)
{
    if (d == 3) {
        all_orders(b, bound);
        return;
    }
    for (bound[2][d] = 1; bound[2][d] <= b->size[d]; bound[2][d]++)
        for (bound[1][d] = 1; bound[1][d] <= tw_cdiv(b->size[d], bound[2][d]); bound[1][d]++) {
            bound[0][d] = tw_cdiv(b->size[d], bound[1][d] * bound[2][d]);
            all_sizes(b, bound, d + 1);
        }
}

TEST(what_is_proven_of_any_sizes_is_the_best_of_all_sizes)
{
    static brute b;
    static const int64_t sizes[][3] = {{5, 3, 4}, {3, 5, 5}, {7, 2, 3}, {1, 7, 5}};
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    tw_diag quiet = {.muted = true};
    tw_work work = {tw_arena_new(), tw_arena_new(), &quiet};
    how.measure = TW_EDP;
    how.any_sizes = true;
    for (size_t i = 0; i < TW_COUNT(sizes); i++) {
        int64_t bound[3][3];
        const tw_rival_found *found;
        tw_context *ctx = tw_context_new();
        b = (brute){.size = sizes[i], .work = work, .best = INFINITY};
        CHECK_EQ(open_product(ctx, sizes[i], &b.rival), TW_OK);
        b.trial = *b.rival;
        b.layer = b.rival->layer[0];
        b.layer.nest = &b.nest;
        b.trial.layer = &b.layer;
        all_sizes(&b, bound, 0);
        CHECK_EQ(tw_rival_search(ctx, b.rival, 0, &how, &found), TW_OK);
        CHECK(found->proven);
        if (fabs(found->value / b.best - 1) > 1e-9) print_message("%.10g, best %.10g\n", found->value, b.best);
        CHECK(fabs(found->value / b.best - 1) <= 1e-9);
        tw_context_free(ctx);
    }
    tw_arena_free(work.arena);
    tw_arena_free(work.scratch);
}
