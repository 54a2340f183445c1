/* src/search/layout.h - tiles over an array whose loops may be divided: the spread with the fewest passes.
 *
 * With loops that may be divided there are too many spreads for a frame each, and they need none: passes are all that a spread decides
 * about, so for tiles that are chosen it is clear which one is best. A frame whose dimensions are *joined* leaves it open. For bounds its
 * array has one dimension with all units: a tile of v points takes no fewer than ceil(v / units) passes, however it is laid out. When
 * the tiles are chosen the spread is that which takes the fewest passes over all of them; of equals that with the fewest divided loops.
 *
 * A loop lies over one dimension, or some neighbouring points of it over one and the groups of them over a later one. Of the shares that
 * make equally many groups of the largest tile the least is the best for that tile, and only that is looked at.
 *
 * Of one tile the fewest passes are remembered: bounds ask for the best of many lengths of a loop beside tiles of the others. */
#ifndef TW_SEARCH_LAYOUT_H
#define TW_SEARCH_LAYOUT_H
#include "search/spread.h"

/* Whether movers take longer than an array that is filled, and windows may slide: then tiles are as long along one loop as nothing comes twice
 * for, two of them have room, and so few points of the other loops are left that whole loops fill little of the array. */
bool tw_layout_is_moved(const tw_space *space);
/* Whether loops of the operator may be divided over the array in this space, and lie over it badly if they are not. */
bool tw_layout_helps(const tw_space *space, double undivided);
/* The joined frame's spread: all loops that may lie over the array, over its one dimension. */
tw_spread tw_layout_joined(const tw_space *space);
/* Makes room for what is remembered. */
TW_NODISCARD tw_status tw_layout_open(tw_space *space, tw_arena *arena);

/* Fewest passes over the array of a tile of these lengths along the loops that lie over it, none longer than TW_LAID_LONGEST, where they
 * are remembered. */
enum { TW_LAID_LONGEST = 256 };
int64_t tw_layout_passes(const tw_space *space, const int64_t *len);
/* The same of all tiles together, those along each loop being given, and the spread; 0: there are too many kinds of them. Where the
 * mapping says what lies over the array, with that. */
int64_t tw_layout_best(const tw_space *space, const tw_tiles tiles[TW_MAX_LOOPS], tw_spread *out);
/* The same of tiles of these sizes, and the loops that had best be cut into tiles and a rest, as a mask. */
int64_t tw_layout_of_sizes(const tw_space *space, const int32_t size[TW_MAX_LOOPS], unsigned *rests);
/* The passes alone, for an estimate: few spreads are looked at. */
int64_t tw_layout_about(const tw_space *space, const int32_t size[TW_MAX_LOOPS]);
/* The size up to `most` along loop l, 0: none, of tiles that fill the array best, their lengths along other loops being these. */
int64_t tw_layout_fill(const tw_space *space, int l, int64_t most, int64_t len[TW_MAX_LOOPS]);
bool tw_layout_may_lie(const tw_space *space, int loop);
/* The two lengths that a split makes, or one, and how many of each. */
tw_tiles tw_tiles_of(tw_split split);

/* layout_bound.c: passes over the array of all tiles of a part, at least; exact when all are chosen, 0: nothing is known. */
int64_t tw_layout_least(const tw_space *space, const tw_part *part);
/* Passes of all tiles, at least, where one level cuts and the largest tile is so long along the loops of tw_space.laid_loop, none above
 * TW_LAID_LONGEST; only where these are remembered. */
int64_t tw_layout_at(const tw_space *space, int64_t a, int64_t b, int64_t c);
/* Sums that have room in the innermost memory of the output, at most; INT64_MAX: any number, or a tile may have fewer than points of the
 * loops over the array. */
int64_t tw_layout_room(const tw_space *space);
TW_NODISCARD tw_status tw_layout_open_bounds(tw_space *space, int64_t n_tiles, tw_arena *arena);
#endif
