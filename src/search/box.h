/* src/search/box.h - async: products with one reduction, by the tiles of the outermost tiled level: cycles that no program of the space is below.
 *
 * Let P be the largest tile of the outermost tiled level, level 0, k its length along the reduction and N all points of that loop. Level 0 cuts each
 * loop by one of two rules, so with P, k, the rules and the loops that run inside of the reduction it is known which tiles it has, one by one. A tile
 * of s sums takes ceil(s / units of the array) passes for each point of the reduction at least, however it is cut inside; let T be those of all
 * tiles. The first memory has tiles of level 0, which come and go as a whole, in a command each. Three cases:
 *
 *     whole   level 0 does not cut the reduction. The first execution needs P of all inputs with all N, and all N T passes come behind.
 *     leave   it does, and sums leave unfinished. The first execution needs P with k; and each time sums come back the array waits (joint.h).
 *     stay    it does, and no sum leaves unfinished: the innermost memory of the output keeps all that belongs to one run of the reduction, a *block*. That
 *             is P, but all of each loop of level 0 that runs inside of the reduction. A residency ends with the loops of levels outside of its own
 *             but for reductions (program/flow.h), so such loops are inside only where one level is tiled, and then P is not cut.
 *
 * Where sums stay:
 *
 *     room    A block fits into the innermost memory of the output.
 *     begin   When the first block begins an iteration it has needed all of the iterations before, and P of this one; the passes that are left of it
 *             and those of all other blocks come behind. The first mover has carried all that. If P is not cut the largest of its tiles, and what comes
 *             behind it, then passes the second, if that is no quicker. Each iteration is weighed.
 *     waits   Of two blocks one after the other all sums of the first are there when its last iteration begins, and of the second when its first
 *             iteration has begun with every tile. What has no room leaves in between: behind the end of the tile that is finished first,
 *             before the begin of the one that begins last. The array executes meanwhile what is left of both iterations, less those two tiles, and
 *             otherwise waits. Tiles inside may take more passes than is said above: that is more to execute meanwhile, in two
 *             iterations at most, but more in all N, too.
 *
 * And always:
 *
 *     end     The last tile of level 0 goes out of the first memory as a whole, behind the one before it. Into that memory comes last what is executed
 *             last: if the tile is cut inside, all of its sums but for those of all other passes, or the tile takes a pass more. What the array waits before
 *             the last tile is not counted on top of the end of the one before it; and a pass more may save a wait on both sides of its block.
 *
 * The least over all P, k, rules and loops inside is a bound for all frames, and it knows what ranges of sizes do not: tiles that fill the array and
 * come quickly, blocks that have room for the next, and iterations in which sums can leave are different ones. */
#ifndef TW_SEARCH_BOX_H
#define TW_SEARCH_BOX_H
#include "search/view.h"

/* The least over all P, up to `enough`; 0: nothing is known. */
TW_NODISCARD tw_status tw_box_floor(const tw_space *space, int64_t enough, int64_t *cycles);
/* The same of programs whose outermost level has these tiles. */
TW_NODISCARD tw_status tw_box_of_tile(const tw_space *space, const int64_t size[TW_MAX_LOOPS], int64_t enough,
                                      int64_t *cycles);
#endif
