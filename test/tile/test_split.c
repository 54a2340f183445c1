/* test/tile/test_split.c - cuts against counting. */
#include "tile/split.h"
#include "tw_test.h"

static bool legal_by_trying(int64_t extent, int64_t count, tw_cut cut)
{
    if (count < 1 || count > extent) return false;
    if (cut == TW_BALANCED) return true;
    int64_t t = 1, n = 0; /* the smallest tile of which `count` cover the extent .. */
    while (t * count < extent) t++;
    for (int64_t left = extent; left > 0; left -= t) n++; /* .. must not cover it with fewer */
    return n == count;
}

TEST(every_cut_of_every_small_extent_covers_it_once_in_order)
{
    for (int64_t extent = 1; extent <= 60; extent++)
        for (int64_t count = 0; count <= extent + 1; count++)
            for (tw_cut cut = TW_BALANCED; cut <= TW_GREEDY; cut++) {
                bool legal = tw_split_is_legal(extent, count, cut);
                CHECK_EQ(legal, legal_by_trying(extent, count, cut));
                if (!legal) continue;
                int64_t end = 0, largest = 0, smallest = extent;
                for (int64_t i = 0; i < count; i++) {
                    int64_t lo, hi;
                    tw_split_tile(extent, count, cut, i, &lo, &hi);
                    CHECK_EQ(lo, end);
                    CHECK(hi > lo);
                    largest = tw_max(largest, hi - lo);
                    smallest = tw_min(smallest, hi - lo);
                    end = hi;
                }
                CHECK_EQ(end, extent);
                tw_split s = tw_split_by_count(extent, count, cut);
                CHECK_EQ(tw_split_largest(&s), largest);
                if (cut == TW_BALANCED) CHECK(largest - smallest <= 1);
            }
}

TEST(the_next_legal_count_is_the_first_that_trying_finds)
{
    for (int64_t extent = 1; extent <= 60; extent++)
        for (int64_t from = 1; from <= extent + 1; from++) {
            int64_t expected = from;
            while (expected <= extent && !legal_by_trying(extent, expected, TW_GREEDY)) expected++;
            CHECK_EQ(tw_split_next_legal(extent, from, TW_GREEDY), expected > extent ? 0 : expected);
        }
}

TEST(tiles_of_a_given_size_leave_the_rest_to_the_last)
{
    tw_split s = tw_split_by_size(10, 6);
    CHECK_EQ(s.count, 2);
    CHECK_EQ(tw_span_len(tw_split_at(&s, 0, 0)), 6);
    CHECK_EQ(tw_span_len(tw_split_at(&s, 100, 1)), 4);
    CHECK_EQ(tw_split_at(&s, 100, 1).hi, 110);
    s = tw_split_by_size(5, 9);
    CHECK_EQ(s.count, 1);
    CHECK_EQ(tw_split_largest(&s), 5);
}

TEST(the_largest_tile_that_fits_is_the_one_counting_up_finds)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 20000; i++) {
        int64_t quad = tw_test_pick(&rng, 0, 3), lin = tw_test_pick(&rng, quad == 0, 50),
                c = tw_test_pick(&rng, 0, 400);
        int64_t capacity = tw_test_pick(&rng, 0, 1000), x = -1;
        while (quad * (x + 1) * (x + 1) + lin * (x + 1) + c <= capacity) x++;
        CHECK_EQ(tw_fit_largest(quad, lin, c, capacity), x);
    }
    CHECK_EQ(tw_fit_largest(1, 0, 0, INT64_MAX), INT64_C(3037000499));
    CHECK_EQ(tw_fit_largest(0, 1, 0, INT64_MAX), INT64_MAX);
    CHECK_EQ(tw_fit_largest(0, 0, 1, 10), -1);
}
