/* src/mapping/taken.h - which tiles of a loop the compute engine takes.
 *
 * A machine may ask for multiples along a loop that is cut, or have a list of sizes for it. That is about the tiles of the
 * innermost level, all but the one that ends the loop:
 *
 *     100 points, multiples of 16     16 16 16 16 16 16 4      are taken
 *     the same, halved first          16 16 16 2 | 16 ..       are not: the 2 does not end the loop
 *
 * So what is outside is a sum of tiles that are taken. */
#ifndef TW_MAPPING_TAKEN_H
#define TW_MAPPING_TAKEN_H
#include "mapping/limits.h"

typedef struct tw_taken {
    tw_number_limit tiles; /* all but the last; a list is the engine's own                  */
    int64_t last;          /* the one that ends the loop is at most this long               */
    int64_t step;          /* what tiles of outer levels are multiples of, but for the last */
} tw_taken;

/* What the engine takes along a loop; a list counts instead of `tile_multiple`. */
tw_taken tw_taken_of(const tw_engine *engine, const tw_op *op, int loop);
bool tw_taken_is_any(const tw_taken *taken);
/* What is asked of a level outside the innermost one. */
tw_taken tw_taken_outside(const tw_taken *taken);

typedef struct tw_refused { /* a tile that is not taken */
    int64_t len;            /* 0: all are               */
    bool last;              /* it ends the loop         */
} tw_refused;
/* Of the tiles that the levels cut a loop into one after the other, all of which can cut what they get, those that level
 * n_levels - 1 makes. */
tw_refused tw_taken_refuses(const tw_taken *taken, const tw_level_map *const *level, int n_levels, int loop,
                            int64_t extent);
#endif
