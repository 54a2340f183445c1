/* test/tile/test_shares.c - shares of unequal cores against trying every one, and what a split moves against adding up. */
#include "tilewright/shares.h"
#include "tw_test.h"

#include "core/core.h"

#include <string.h>

typedef struct trial {
    int64_t extent;
    int n;
    tw_share_rate core[5];
    int64_t now[5], best[5], most, count;
} trial;

/* Tries all shares, those of the first cores slowest, so that the first one of the best is the lexicographically smallest. */
static void try_all(trial *t, int c, int64_t left)
{
    if (c < t->n - 1) {
        for (t->now[c] = 0; t->now[c] <= left; t->now[c]++) try_all(t, c + 1, left - t->now[c]);
        return;
    }
    t->now[c] = left;
    int64_t most = 0;
    for (int i = 0; i < t->n; i++) {
        int64_t cycles = 0;
        for (int64_t k = 0; k < t->now[i]; k += t->core[i].grain) cycles += t->core[i].cycles;
        most = cycles > most ? cycles : most;
    }
    if (t->count > 0 && most > t->most) return;
    if (t->count == 0 || most < t->most) {
        t->most = most;
        t->count = 0;
        memcpy(t->best, t->now, sizeof t->best);
    }
    t->count++;
}

TEST(the_best_shares_are_those_that_trying_all_finds_and_as_many)
{
    tw_context *ctx = tw_context_new();
    uint64_t seed = 20;
    for (int round = 0; round < 3000; round++) {
        trial t = {.extent = 1 + (int64_t)(tw_random_next(&seed) % 24), .n = 1 + (int)(tw_random_next(&seed) % 4)};
        for (int c = 0; c < t.n; c++)
            t.core[c] = (tw_share_rate){1 + (int64_t)(tw_random_next(&seed) % 9),
                                        1 + (int64_t)(tw_random_next(&seed) % 12)};
        try_all(&t, 0, t.extent);
        const tw_shares *got;
        CHECK_EQ(tw_shares_best(ctx, t.extent, t.core, t.n, &got), TW_OK);
        CHECK_EQ(got->most, t.most);
        CHECK_EQ(got->n_best, t.count);
        for (int c = 0; c < t.n; c++) CHECK_EQ(got->share[c], t.best[c]);
        if (got->most != t.most || got->n_best != t.count) fprintf(stderr, "round %d of seed 20\n", round);
    }
    tw_context_free(ctx);
}

TEST(equal_shares_differ_by_one_at_most_and_the_larger_ones_come_first)
{
    tw_context *ctx = tw_context_new();
    tw_share_rate core[7] = {{3, 5}, {1, 1}, {2, 9}, {4, 4}, {1, 2}, {8, 3}, {5, 5}};
    for (int n = 1; n <= 7; n++)
        for (int64_t extent = 1; extent < 40; extent++) {
            const tw_shares *got;
            int64_t sum = 0;
            CHECK_EQ(tw_shares_equal(ctx, extent, core, n, &got), TW_OK);
            for (int c = 0; c < n; c++) {
                sum += got->share[c];
                CHECK(c == 0 || got->share[c] <= got->share[c - 1]);
                CHECK(got->share[0] - got->share[c] <= 1);
            }
            CHECK_EQ(sum, extent);
        }
    tw_context_free(ctx);
}

/* 30 points over 30 equal cores that take any number at no more cost: C(59, 29) ways, by Pascal's triangle. */
TEST(large_numbers_of_best_shares_are_exact_and_those_beyond_64_bits_are_reported)
{
    tw_context *ctx = tw_context_new();
    tw_share_rate core[64];
    for (int c = 0; c < 64; c++) core[c] = (tw_share_rate){1000, 7};
    int64_t row[60] = {1};
    for (int n = 1; n <= 59; n++)
        for (int k = n; k > 0; k--) row[k] += row[k - 1];
    const tw_shares *got;
    CHECK_EQ(tw_shares_best(ctx, 30, core, 30, &got), TW_OK);
    CHECK_EQ(got->n_best, row[29]);
    CHECK_EQ(got->share[29], 30);
    CHECK_EQ(tw_shares_best(ctx, 64, core, 64, &got), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 0), "error: the number of best shares of 64 points exceeds 2^63");
    tw_context_free(ctx);
}

TEST(what_is_left_over_is_counted_where_it_is_less_than_the_extent)
{
    tw_context *ctx = tw_context_new();
    tw_share_rate core[3] = {{1, 1}, {1, 1}, {1, 1}};
    const tw_shares *got; /* 10'000'001 = 3 * 3'333'334 - 1: one core has one less */
    CHECK_EQ(tw_shares_best(ctx, 10000001, core, 3, &got), TW_OK);
    CHECK_EQ(got->most, 3333334);
    CHECK_EQ(got->n_best, 3);
    CHECK_EQ(got->share[0], 3333333);
    tw_context_free(ctx);
}

TEST(arguments_out_of_range_are_reported)
{
    tw_context *ctx = tw_context_new();
    const tw_shares *got;
    tw_share_rate good = {1, 1}, idle = {0, 1}, slow = {1, INT64_MAX};
    CHECK_EQ(tw_shares_best(ctx, 0, &good, 1, &got), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 0), "error: the loop has 0 points, outside 1..16777216");
    CHECK_EQ(tw_shares_equal(ctx, 8, &idle, 1, &got), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 1), "error: core 0 takes 1 cycles for 0 points: both must be at least 1");
    CHECK_EQ(tw_shares_equal(ctx, 8, &slow, 1, &got), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 2), "error: the cycles of core 0 exceed 2^63");
    CHECK_EQ(tw_shares_best(ctx, 8, &good, 0, &got), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 3), "error: a loop cannot be split over 0 cores, only over 1 to 4096");
    tw_context_free(ctx);
}

/* Every layer by itself: what crosses which link when. */
TEST(the_traffic_of_split_layers_is_the_sum_of_its_transfers)
{
    tw_context *ctx = tw_context_new();
    uint64_t seed = 5;
    for (int round = 0; round < 500; round++) {
        tw_split_layers l = {.n_cores = 1 + (int)(tw_random_next(&seed) % 6),
                             .n_layers = 1 + (int64_t)(tw_random_next(&seed) % 5),
                             .n_cycles = (int64_t)(tw_random_next(&seed) % 1000),
                             .in_bytes = (int64_t)(tw_random_next(&seed) % 5000),
                             .weight_bytes = (int64_t)(tw_random_next(&seed) % 3000),
                             .out_bytes = (int64_t)(tw_random_next(&seed) % 5000),
                             .offchip_per_cycle = 1 + (int64_t)(tw_random_next(&seed) % 64),
                             .between_per_cycle = 1 + (int64_t)(tw_random_next(&seed) % 64)};
        tw_split_traffic got, want = {0};
        for (int64_t i = 0; i < l.n_layers; i++) {
            bool first = i == 0, last = i == l.n_layers - 1;
            want.offchip += (first ? l.in_bytes : 0) + l.weight_bytes + (last ? l.out_bytes : 0);
            want.offchip_unicast +=
                (first ? l.in_bytes * l.n_cores : 0) + l.weight_bytes + (last ? l.out_bytes : 0);
            for (int c = 0; c < l.n_cores && first; c++) want.delivered += l.in_bytes;
            want.between += last ? 0 : l.out_bytes;
            for (int c = 1; c < l.n_cores && !last; c++) want.between_unicast += l.out_bytes;
            want.cycles += (first ? tw_cdiv(l.in_bytes, l.offchip_per_cycle) : 0) +
                           tw_cdiv(l.weight_bytes, l.offchip_per_cycle) + l.n_cycles +
                           tw_cdiv(l.out_bytes, last ? l.offchip_per_cycle : l.between_per_cycle);
        }
        CHECK_EQ(tw_split_traffic_of(ctx, &l, &got), TW_OK);
        CHECK_EQ(got.offchip, want.offchip);
        CHECK_EQ(got.offchip_unicast, want.offchip_unicast);
        CHECK_EQ(got.between, want.between);
        CHECK_EQ(got.between_unicast, want.between_unicast);
        CHECK_EQ(got.delivered, want.delivered);
        CHECK_EQ(got.cycles, want.cycles);
    }
    tw_context_free(ctx);
}
