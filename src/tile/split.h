/* src/tile/split.h - an interval cut into tiles.
 *
 * A split is described by four numbers, whichever way it was asked for: tile i begins at
 * i*step + min(i, extra), and has step points, one more if i < extra, but ends at `len` at the latest.
 *
 *     balanced, 128 in 5:   step 25, extra 3      26 26 26 25 25
 *     greedy,   128 in 5:   step 26, extra 0      26 26 26 26 24
 *     by size,  128 by 50:  step 50, extra 0      50 50 28                                           */
#ifndef TW_TILE_SPLIT_H
#define TW_TILE_SPLIT_H
#include "core/core.h"

const char *tw_cut_name(tw_cut cut); /* "balanced", "greedy" */
enum { TW_N_CUTS = TW_GREEDY + 1 };

typedef struct tw_split {
    int64_t len, count, step, extra;
} tw_split;

/* `count` is legal for `len` (tw_split_is_legal). */
tw_split tw_split_by_count(int64_t len, int64_t count, tw_cut cut);
/* Tiles of `size` >= 1, the last one what is left. */
tw_split tw_split_by_size(int64_t len, int64_t size);
/* Length of the largest tile, which is the first one. */
static inline int64_t tw_split_largest(const tw_split *s) { return tw_min(s->step + (s->extra > 0), s->len); }
/* Tile i of an interval that begins at `base`. */
static inline tw_span tw_split_at(const tw_split *s, int64_t base, int64_t i)
{
    int64_t lo = i * s->step + tw_min(i, s->extra);
    return (tw_span){base + lo, base + tw_min(lo + s->step + (i < s->extra), s->len)};
}
/* The smallest legal count that is >= count, or 0 when there is none. */
int64_t tw_split_next_legal(int64_t len, int64_t count, tw_cut cut);
#endif
