/* test/search/test_boxes.c - boxes of two loops that share a dimension, against all ways to cut both loops at three levels. */
#include "search/boxes.h"

#include "core/core.h"
#include "tile/split.h"
#include "tw_test.h"

enum { LEVELS = 3 };

typedef struct cut { /* of a loop, in pieces of each level */
    int n[LEVELS + 1];
    int64_t len[LEVELS + 1][TW_PAIR_LONGEST];
} cut;

/* Each piece of the level outside in tiles of `size` and a rest, or in as many as the longest has of that size. */
static void cut_level(cut *c, int t, int64_t size, bool even)
{
    int64_t count = tw_cdiv(c->len[t][0], size);
    c->n[t + 1] = 0;
    for (int i = 0; i < c->n[t]; i++) {
        int64_t len = c->len[t][i];
        tw_split split =
            even ? tw_split_by_count(len, tw_min(count, len), TW_BALANCED) : tw_split_by_size(len, size);
        for (int64_t k = 0; k < split.count; k++)
            c->len[t + 1][c->n[t + 1]++] = tw_span_len(tw_split_at(&split, 0, k));
    }
}

static void cut_randomly(cut *c, int64_t extent, uint64_t *seed)
{
    *c = (cut){.n = {1}, .len = {{extent}}};
    for (int t = 0; t < LEVELS; t++) {
        bool even = tw_test_pick(seed, 0, 1) == 1;
        int64_t size = tw_test_pick(seed, 1, c->len[t][0]);
        if (tw_test_pick(seed, 0, 2) == 0) size = c->len[t][0];
        cut_level(c, t, even ? tw_cdiv(c->len[t][0], tw_cdiv(c->len[t][0], size)) : size, even);
    }
}

typedef struct box {
    int64_t passes, elements;
} box;

/* Passes and elements of the tiles within the first `upto` indices of both loops. */
static box look_at(const cut *a, const cut *b, const int64_t *upto, int64_t size, const int64_t *stride)
{
    box out = {0};
    int64_t x = 0, y;
    for (int i = 0; i < a->n[LEVELS] && x < upto[0]; x += a->len[LEVELS][i++]) {
        y = 0;
        for (int k = 0; k < b->n[LEVELS] && y < upto[1]; y += b->len[LEVELS][k++]) {
            int64_t p = a->len[LEVELS][i], q = b->len[LEVELS][k];
            out.passes += tw_cdiv(p * q, size);
            out.elements += (1 + stride[0] * (p - 1)) * (1 + stride[1] * (q - 1));
        }
    }
    return out;
}

/* The first box of these levels is one that boxes.h knows. */
static void check_box(const tw_pair *pair, const cut *a, const cut *b, const int level[2], const int64_t *stride)
{
    const int64_t extent[2] = {a->len[0][0], b->len[0][0]};
    const int64_t len[2] = {a->len[level[0] + 1][0], b->len[level[1] + 1][0]};
    tw_boxes boxes = {.pair = pair, .full = level[0] == LEVELS - 1 && level[1] == LEVELS - 1};
    box first = look_at(a, b, len, pair->size, stride);
    for (int i = 0; i < 2; i++) {
        boxes.extent[i] = extent[i];
        boxes.level[i] = level[i];
        boxes.lo[i] = tw_max(1, len[i] - 2);
        boxes.hi[i] = tw_min(extent[i], len[i] + 1);
    }
    boxes.wide = look_at(a, b, extent, pair->size, stride).passes;
    CHECK(tw_boxes_points(&boxes, first.passes) <= len[0] * len[1]);
    CHECK(tw_boxes_elements(&boxes, first.passes, stride) <= first.elements);
}

TEST(no_box_that_some_cuts_make_is_left_out)
{
    static const int64_t extents[][3] = {{14, 14, 16}, {7, 7, 16}, {16, 9, 4},
                                         {10, 10, 16}, {5, 13, 8}, {3, 16, 16}};
    uint64_t seed = tw_test_seed();
    for (size_t k = 0; k < TW_COUNT(extents); k++) {
        tw_pair pair = {.loop = {0, 1}, .size = extents[k][2]};
        tw_pair_measure(&pair, extents[k][0], extents[k][1]);
        for (int i = 0; i < tw_test_rounds(4000); i++) {
            const int64_t stride[2] = {tw_test_pick(&seed, 1, 3), tw_test_pick(&seed, 1, 3)};
            cut a, b;
            cut_randomly(&a, extents[k][0], &seed);
            cut_randomly(&b, extents[k][1], &seed);
            for (int t = 0; t < LEVELS; t++)
                for (int inside = 0; inside < 4; inside++) {
                    const int level[2] = {t - (inside & 1), t - (inside >> 1)};
                    check_box(&pair, &a, &b, level, stride);
                }
        }
    }
}

TEST(a_column_of_fourteen_is_one_of_fourteen_alike)
{
    tw_pair pair = {.loop = {0, 1}, .size = 16};
    tw_pair_measure(&pair, 14, 14);
    tw_boxes boxes = {
        .pair = &pair, .extent = {14, 14}, .level = {-1, 0}, .lo = {14, 1}, .hi = {14, 14}, .wide = 14};
    CHECK_EQ(tw_boxes_points(&boxes, 1), 14);
    CHECK_EQ(tw_boxes_points(&boxes, 2), 28); /* two columns, seven times */
    const int64_t stride[2] = {2, 2};
    CHECK_EQ(tw_boxes_elements(&boxes, 1, stride), 27);
}
