/* src/search/small.h - all sizes of one level of a small operator.
 *
 * A program of a few executions is made of latencies and of commands that round up. Estimates know little of that, and sizes that divide are not
 * those that fill a command: of 24 outputs of 6 inputs on the KPU tiles of 16 and 8 outputs carry 64 and 32 bytes for each input, two
 * of 12 carry 48 each. There are few sizes, bounds close nearly all of them, and of the others each order is worth a simulation. */
#ifndef TW_SEARCH_SMALL_H
#define TW_SEARCH_SMALL_H
#include "search/space.h"

enum { TW_SMALL_POINTS = 256 }; /* of a small operator, at most */

/* The smallest sizes of a frame of one tiled level. */
TW_NODISCARD tw_status tw_small_begin(const tw_space *space, int frame, tw_part **out);
/* The next sizes; false: there are no more. */
bool tw_small_next(const tw_space *space, tw_part *part);
/* The mapping with these sizes and the k-th of the loops that they cut outermost, whose memories keep what moves least; NULL in *out: none. False in
 * *more: there is no such order. */
TW_NODISCARD tw_status tw_small_complete(const tw_space *space, const tw_part *sized, int k, bool *more,
                                         tw_part **out);
#endif
