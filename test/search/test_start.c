/* test/search/test_start.c - tiles that waste no pass, against all ways to cut a loop at one level and at two. */
#include "search/start.h"

#include "tile/split.h"
#include "tw_test.h"

enum { LONGEST = 40, MOST_TILES = 64 };

typedef struct tiles { /* of a loop, in their order */
    int n;
    int64_t len[MOST_TILES];
} tiles;

/* Each piece in tiles of `size` and a rest, or in `count` tiles that differ by one at most. */
static tiles cut(const tiles *pieces, int64_t size, int64_t count)
{
    tiles out = {0};
    for (int i = 0; i < pieces->n; i++) {
        tw_split split = count > 0 ? tw_split_by_count(pieces->len[i], tw_min(count, pieces->len[i]), TW_BALANCED)
                                   : tw_split_by_size(pieces->len[i], size);
        for (int64_t k = 0; k < split.count; k++) out.len[out.n++] = tw_span_len(tw_split_at(&split, 0, k));
    }
    return out;
}

static int64_t passes_of(const tiles *t, int64_t size)
{
    int64_t passes = 0;
    for (int i = 0; i < t->n; i++) passes += tw_cdiv(t->len[i], size);
    return passes;
}

/* The longest tile, which is the first, is a length that fits, and none from a shorter one on is skipped. */
static void check_fit(int64_t extent, const tiles *longest_of, const tiles *innermost, int t, int64_t size)
{
    int64_t longest = longest_of->len[0], spare = passes_of(innermost, size) * size - extent;
    for (int64_t len = 1; len <= longest; len++) CHECK(tw_fit_longest(extent, t, len, size, spare) <= longest);
    for (int i = 0; i < longest_of->n; i++) CHECK(longest_of->len[i] <= longest);
}

static void check_inside(int64_t extent, const tiles *outer, int64_t size)
{
    const tiles whole = {1, {outer->len[0]}};
    for (int64_t len = 1; len <= outer->len[0]; len++)
        for (int by_count = 0; by_count < 2; by_count++) {
            int64_t count = tw_cdiv(outer->len[0], len);
            tiles first = cut(&whole, len, by_count ? count : 0),
                  inner = cut(outer, first.len[0], by_count ? count : 0);
            check_fit(extent, &inner, &inner, 1, size);
            check_fit(extent, outer, &inner, 0, size);
        }
}

TEST(no_length_of_the_longest_tile_that_wastes_no_pass_is_skipped)
{
    static const int64_t size[] = {2, 5, 16};
    for (size_t i = 0; i < TW_COUNT(size); i++)
        for (int64_t extent = 1; extent <= LONGEST; extent++)
            for (int64_t len = 1; len <= extent; len++)
                for (int by_count = 0; by_count < 2; by_count++) {
                    const tiles whole = {1, {extent}};
                    tiles outer = cut(&whole, len, by_count ? tw_cdiv(extent, len) : 0);
                    check_fit(extent, &outer, &outer, 0, size[i]);
                    check_inside(extent, &outer, size[i]);
                }
}

TEST(of_many_tiles_each_leaves_what_one_leaves)
{
    /* 196 positions over 16 columns are 13 passes with 12 units to spare: six tiles of 30 leave two each. */
    CHECK_EQ(tw_fit_longest(196, 0, 17, 16, 12), 30);
    CHECK_EQ(tw_fit_longest(196, 0, 32, 16, 12), 32);
    CHECK_EQ(tw_fit_longest(49, 0, 17, 16, 15), 17); /* one longer than whole passes: the others may be shorter */
    CHECK_EQ(tw_fit_longest(49, 0, 18, 16, 15), 18);
    CHECK_EQ(tw_fit_longest(20, 0, 18, 16, 12), 20);
}
