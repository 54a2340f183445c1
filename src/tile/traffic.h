/* src/tile/traffic.h - how much of each operand crosses a link, exactly.
 *
 * Tiles are visited in a nest of tile loops, outermost first. A memory that keeps what the loops inside
 * depth h touch loads a tile again only when the outer h loops come back to it:
 *
 *     for i            depth 0: everything is kept, each tile is loaded once
 *       for j          depth 1: kept while i stays
 *         for k        depth 2: kept while i and j stay
 *                      depth 3: one tile is kept
 *
 * Each tile is loaded f times, f being the product of the trips of those loops, among the outer h, that
 * do not occur in the operand and have one inside them that does and that runs more than once: such a loop
 * sweeps over other tiles before it comes back. So elements = f x one sweep over all tiles, edge tiles and
 * overlapping windows included. */
#ifndef TW_TILE_TRAFFIC_H
#define TW_TILE_TRAFFIC_H
#include "model/model.h"
#include "tile/split.h"

typedef struct tw_tile_nest {
    const tw_op *op;
    tw_split split[TW_MAX_LOOPS]; /* how each loop of the operator is cut  */
    int order[TW_MAX_LOOPS];      /* all loops, outermost first            */
    bool serpentine;              /* every second sweep runs backwards, so that it begins where the last ended */
} tw_tile_nest;

/* Traffic of one operand into a memory that keeps what the loops inside `depth` touch, 0..n_loops; the counts are
 * those of the public tw_traffic. False when one leaves 64 bits. */
TW_NODISCARD bool tw_traffic_of(const tw_tile_nest *nest, int operand, int depth, tw_traffic *out);
/* Elements of the operand that the operator touches at all: what must cross every link at least once. Axes that
 * share loops, and gaps in axes of more than 2^26 elements, are counted as if they were not, which may be too many. TW_ERR_NOMEM is the only failure. */
TW_NODISCARD tw_status tw_traffic_least(const tw_op *op, int operand, tw_arena *scratch, int64_t *out);
#endif
