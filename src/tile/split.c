/* src/tile/split.c - see split.h.
 *
 * balanced  len = q * count + r: the first r tiles have q + 1 points, the others q
 * greedy    tiles of t = ceil(len / count), the last one what is left. A count is legal only when
 *           tiles of that size need exactly that many: 10 points cut in 6 give t = 2 and 5 tiles. */
#include "tile/split.h"

const char *tw_cut_name(tw_cut cut) { return cut == TW_GREEDY ? "greedy" : "balanced"; }

bool tw_split_is_legal(int64_t extent, int64_t count, tw_cut cut)
{
    if (count < 1 || count > extent) return false;
    return cut == TW_BALANCED || tw_cdiv(extent, tw_cdiv(extent, count)) == count;
}

tw_split tw_split_by_count(int64_t len, int64_t count, tw_cut cut)
{
    assert(tw_split_is_legal(len, count, cut));
    if (cut == TW_BALANCED) return (tw_split){len, count, len / count, len % count};
    return (tw_split){len, count, tw_cdiv(len, count), 0};
}

tw_split tw_split_by_size(int64_t len, int64_t size)
{
    assert(len >= 1 && size >= 1);
    return (tw_split){len, tw_cdiv(len, size), size, 0};
}

void tw_split_tile(int64_t extent, int64_t count, tw_cut cut, int64_t i, int64_t *lo, int64_t *hi)
{
    assert(0 <= i && i < count);
    tw_split split = tw_split_by_count(extent, count, cut);
    tw_span tile = tw_split_at(&split, 0, i);
    *lo = tile.lo;
    *hi = tile.hi;
}

int64_t tw_split_next_legal(int64_t len, int64_t count, tw_cut cut)
{
    for (int64_t c = tw_max(count, 1); c <= len;) {
        if (tw_split_is_legal(len, c, cut)) return c;
        /* Tiles of t points need fewer than c; the next legal count is what tiles of t - 1 need. */
        c = tw_cdiv(len, tw_cdiv(len, c) - 1);
    }
    return 0;
}
