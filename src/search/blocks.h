/* src/search/blocks.h - mappings to begin with whose blocks of sums suit an array, see start.h.
 *
 * Where each dimension of the array has one loop, or two that share it, a block of x times y passes is as many sums as have room in the
 * innermost memory of the output. Of two loops that share a dimension tiles have 1, 2, 4, 8 or 16 indices of the second, so that none of its
 * units is idle. Two kinds of nests make a block, of which loops that share a dimension have the first: tiles of the innermost level that are the block, their reduction cut short so that the first
 * of them comes early; and tiles of one pass each, of which a level outside has the block: there the reduction runs outside
 * of them, long enough in each step for the sums of the block before to leave meanwhile. What is made proves nothing. */
#ifndef TW_SEARCH_BLOCKS_H
#define TW_SEARCH_BLOCKS_H
#include "search/space.h"

/* Whether blocks can be made in the frame. */
bool tw_blocks_suit(const tw_space *space, int frame);
bool tw_blocks_have(const tw_space *space, int frame, int k); /* whether there is a k-th */
/* The k-th makes its steps as long as so many others: 0 is tried first. */
int tw_blocks_step(int k);
/* Whether two differ in that alone. */
bool tw_blocks_are_kin(int k, int other);
/* The k-th, of which sizes are chosen; NULL in *out when the space does not have it. */
TW_NODISCARD tw_status tw_blocks_part(const tw_space *space, int frame, int k, tw_part **out);
/* Chooses its order; *out is a mapping that keeps what spares the movers most, NULL when the space does not have it. */
TW_NODISCARD tw_status tw_blocks_complete(const tw_space *space, int k, tw_part *part, tw_part **out);
#endif
