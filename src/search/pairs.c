/* src/search/pairs.c - see pairs.h. */
#include "search/pairs.h"

#include "core/core.h"

#include <stdbool.h>

typedef struct partition { /* of the second loop, parts that fall in length */
    int n;
    int64_t part[TW_PAIR_LONGEST];
} partition;

/* Passes of the first loop's whole extent beside these parts, for every limit on its own. */
static void weigh(tw_pair *pair, int64_t extent, const partition *beside)
{
    int64_t cost[TW_PAIR_LONGEST + 1] = {0};
    for (int64_t len = 1; len <= extent; len++)
        for (int i = 0; i < beside->n; i++) cost[len] += tw_cdiv(len * beside->part[i], pair->size);
    int64_t least[TW_PAIR_LONGEST + 1] = {0};
    for (int64_t longest = 1; longest <= extent; longest++) {
        for (int64_t len = 1; len <= extent; len++) {
            int64_t shorter = longest > 1 ? least[len] : INT64_MAX;
            least[len] = len >= longest ? tw_min(shorter, least[len - longest] + cost[longest]) : shorter;
        }
        int16_t *known = &pair->passes[longest][beside->part[0]];
        *known = (int16_t)tw_min(*known, least[extent]);
    }
}

/* All partitions of `left` into parts of at most `longest`, behind those that are chosen. */
static void partition_rest(tw_pair *pair, int64_t extent, partition *p, int64_t left, int64_t longest)
{
    if (left == 0) weigh(pair, extent, p);
    for (int64_t len = tw_min(left, longest); len >= 1; len--) {
        p->part[p->n++] = len;
        partition_rest(pair, extent, p, left - len, len);
        p->n--;
    }
}

/* Of pieces of `extent` those of the next level inside that are `len` long, if that is the length of the longest: evenly cut, or with a rest. */
static int64_t count_pieces(int64_t extent, int64_t len, bool even)
{
    int64_t n = tw_cdiv(extent, len);
    if (!even) return extent / len;
    return tw_cdiv(extent, n) == len ? extent - (len - 1) * n : 0;
}

/* The same of `level`, at least, whatever the levels outside do. */
static int64_t count_alike(int64_t extent, int64_t len, int level)
{
    int64_t least = INT64_MAX;
    for (int even = 0; even < 2; even++)
        for (int64_t outer = level > 0 ? len : extent; outer <= extent; outer++) {
            int64_t n = level > 0 ? count_pieces(extent, outer, even) * count_alike(outer, len, level - 1)
                                  : count_pieces(extent, len, even);
            if (n > 0) least = tw_min(least, n);
        }
    return least;
}

static void measure_alike(tw_pair *pair, int i, int64_t extent)
{
    for (int level = 0; level < TW_PAIR_LEVELS; level++)
        for (int64_t len = 0; len <= TW_PAIR_LONGEST; len++) {
            bool none = len == 0 || len > extent, counted = level < TW_PAIR_LEVELS - 1;
            pair->alike[i][level][len] = none ? 0 : counted ? (uint8_t)count_alike(extent, len, level) : 1;
        }
}

void tw_pair_measure(tw_pair *pair, int64_t extent, int64_t other)
{
    partition p = {0};
    for (int64_t a = 0; a <= TW_PAIR_LONGEST; a++)
        for (int64_t b = 0; b <= TW_PAIR_LONGEST; b++) pair->passes[a][b] = INT16_MAX;
    partition_rest(pair, extent, &p, other, other);
    measure_alike(pair, 0, extent);
    measure_alike(pair, 1, other);
    for (int64_t a = 1; a <= extent; a++) /* a limit allows what a smaller one does */
        for (int64_t b = 2; b <= other; b++)
            pair->passes[a][b] = (int16_t)tw_min(pair->passes[a][b], pair->passes[a][b - 1]);
}
