/* src/search/fills.h - sizes of tiles that fill an array well, where loops may be divided.
 *
 * How well a tile fills an array depends on its lengths along all loops together: 24 channels and 10 positions are 15 x 16 units of 16 x 16,
 * 25 and 10 take two passes. Sizes that are good for each loop alone meet by chance. So all tiles whose sums have room are asked for the
 * passes of the whole operator, which bounds remember anyway (layout.h), and those with the fewest are made. Of tiles of which two have
 * no room, the time that their sums take to leave is added. */
#ifndef TW_SEARCH_FILLS_H
#define TW_SEARCH_FILLS_H
#include "search/space.h"

typedef struct tw_fill {
    int32_t size[TW_LAID_LOOPS]; /* along the loops of tw_space.laid_loop */
    int64_t cycles;              /* of all executions, and while sums leave */
} tw_fill;
/* The best, `most` at most, the best first; returns how many, 0: nothing is known. */
int tw_fills_of(const tw_space *space, int most, tw_fill *out);
#endif
