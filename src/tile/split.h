/* src/tile/split.h - an interval cut into tiles. The rules are those of tw_split_tile in the
 * public header; here with spans, and shifted to where the interval begins. */
#ifndef TW_TILE_SPLIT_H
#define TW_TILE_SPLIT_H
#include "core/core.h"

/* Tile i of `whole` cut into `count`; the cut is legal. */
tw_span tw_split_span(tw_span whole, int64_t count, tw_cut cut, int64_t i);
/* Length of the largest tile, which is the first one. */
int64_t tw_split_largest(int64_t extent, int64_t count, tw_cut cut);
/* The smallest legal count that is >= count, or 0 when there is none. */
int64_t tw_split_next_legal(int64_t extent, int64_t count, tw_cut cut);
#endif
