/* src/tile/best.h - the tiles with the least traffic that fit a memory.
 *
 * The memory holds one tile of each operand. A tile size is a multiple of the granule, up to the first that covers
 * its loop whole. Of all combinations whose tiles fit together the one with the least traffic is best; among equals
 * the one that holds the fewest elements, and then the first in lexicographic order of the operator's loops.
 *
 * Elements are those of tw_traffic_of with every operand held one tile; the output counts once for each time that it
 * is written and once for each time that it is read back. A tile's elements are counted as it is away from the edges
 * of its tensors: the most that any tile of this size can have. */
#ifndef TW_TILE_BEST_H
#define TW_TILE_BEST_H
#include "model/model.h"

typedef struct tw_best_request {
    const tw_op *op;
    int order[TW_MAX_LOOPS]; /* all loops, outermost first */
    int64_t granule;         /* in 1..TW_EXTENT_MAX        */
    int64_t capacity;        /* elements                   */
} tw_best_request;

typedef struct tw_best_tiles { /* as tw_tile_choice says them */
    int64_t tile[TW_MAX_LOOPS];
    int64_t elems, held, n_tried;
} tw_best_tiles;

/* TW_INFEASIBLE, with a message, when not even the smallest tiles fit. Time grows with the number of tile sizes that
 * bounds cannot exclude: next to nothing for loops without windows, whatever their extent. */
TW_NODISCARD tw_status tw_best_find(const tw_best_request *request, tw_arena *scratch, tw_diag *diag,
                                    tw_best_tiles *out);
#endif
