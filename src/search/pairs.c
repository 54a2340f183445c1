/* src/search/pairs.c - see pairs.h. */
#include "search/pairs.h"

#include "core/core.h"

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

void tw_pair_measure(tw_pair *pair, int64_t extent, int64_t other)
{
    partition p = {0};
    for (int64_t a = 0; a <= TW_PAIR_LONGEST; a++)
        for (int64_t b = 0; b <= TW_PAIR_LONGEST; b++) pair->passes[a][b] = INT16_MAX;
    partition_rest(pair, extent, &p, other, other);
    for (int64_t a = 1; a <= extent; a++) /* a limit allows what a smaller one does */
        for (int64_t b = 2; b <= other; b++)
            pair->passes[a][b] = (int16_t)tw_min(pair->passes[a][b], pair->passes[a][b - 1]);
}
