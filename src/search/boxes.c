/* src/search/boxes.c - see boxes.h. */
#include "search/boxes.h"

#include "core/core.h"

/* Boxes as long as these along both loops, at least. */
static int64_t count_alike(const tw_boxes *b, const int64_t *len)
{
    int64_t n = 1;
    for (int i = 0; i < 2; i++)
        if (b->level[i] >= 0) n *= b->pair->alike[i][tw_min(b->level[i], TW_PAIR_LEVELS - 1)][len[i]];
    return n;
}

/* Whether a box of these lengths may take x passes, where all together are no more than there are. */
static bool may_take(const tw_boxes *b, int64_t x, const int64_t *len)
{
    int64_t size = b->pair->size, points = len[0] * len[1], n = count_alike(b, len);
    if (points > x * size || x > points || (b->full && points <= (x - 1) * size)) return false;
    if (n == 0 || b->pair->passes[len[0]][len[1]] > b->wide) return false;
    return n * x + tw_cdiv(b->extent[0] * b->extent[1] - n * points, size) <= b->wide;
}

/* Elements of a box of these lengths in x tiles at most. */
static int64_t elements_of(int64_t x, const int64_t *len, const int64_t *stride)
{
    int64_t least = INT64_MAX;
    for (int64_t k = 1; k <= tw_min(x, len[0]); k++) {
        int64_t other = tw_min(x / k, len[1]);
        int64_t along = stride[0] * len[0] - (stride[0] - 1) * k;
        least = tw_min(least, along * (stride[1] * len[1] - (stride[1] - 1) * other));
    }
    return least;
}

int64_t tw_boxes_elements(const tw_boxes *b, int64_t x, const int64_t stride[2])
{
    int64_t least = INT64_MAX, len[2];
    for (len[0] = b->lo[0]; len[0] <= b->hi[0]; len[0]++)
        for (len[1] = b->lo[1]; len[1] <= b->hi[1]; len[1]++)
            if (len[0] * len[1] < least && may_take(b, x, len)) least = tw_min(least, elements_of(x, len, stride));
    return least;
}

int64_t tw_boxes_points(const tw_boxes *b, int64_t x)
{
    static const int64_t one[2] = {1, 1};
    return tw_boxes_elements(b, x, one);
}
