/* src/search/sizes.h - a frame with joined dimensions divided into all sizes of its tiles at once.
 *
 * Where loops may be divided, bounds of ranges say little: how well tiles fill an array depends on their lengths along all loops together, so
 * a range has the passes of the best of its sizes, and what movers carry for another. Halving takes thousands of parts. But there are few sizes whose
 * sums have room, the passes of all are remembered (fills.h), and of most these alone take longer than what was found. The rest become parts
 * of one size each, whose bounds are sharp: passes, rests and bursts (bursts.h) of these tiles. What is not made into a part takes `beyond` cycles or
 * more. */
#ifndef TW_SEARCH_SIZES_H
#define TW_SEARCH_SIZES_H
#include "search/space.h"

/* Hands each size of the loops over the array whose passes take less than `limit` cycles to `take`, which owns it and answers false without
 * memory, as a part that is open in all else like `part`, which is whole; *beyond: what all other mappings of the part take at least.
 * *divided is false, and nothing is handed over, where the frame is not like that. */
TW_NODISCARD tw_status tw_sizes_divide(const tw_space *space, const tw_part *part, int64_t limit, tw_part_fn take,
                                       void *user, int64_t *beyond, bool *divided);
#endif
