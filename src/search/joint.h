/* src/search/joint.h - async, one tiled level: what all movers carry by one order of loops.
 *
 * closed.h gives the least of each mover over all orders, each with the order that suits it. But they have one order in common. What
 * parts orders most is where reductions stand. Let X be the cut loops of the output inside the outermost cut reduction:
 *
 *     stay    no sum leaves before it is finished. Then the sums of all tiles along X are in the innermost memory of the output at
 *             once, so few X have room; and what stays while a loop of the output outside of X runs stays while all of the
 *             reductions and X run.
 *     leave   every sum leaves, and comes back, as often as some reduction has tiles: its mover is busy with them, and each time its
 *             tile has a buffer from the beginning of its way in to the end of its way out; there are only so many buffers. Where
 *             one mover carries both ways it serves in program order, and there a tile comes back just before its execution and goes right
 *             behind it: so the next one comes when this one has been executed and sent, and the array waits for both. With several
 *             levels, or several reductions, tiles may stay together while one runs. Then a row of them comes without one going in between, and goes
 *             likewise; but no more than have room, and before each row some tile goes right behind an execution, with nothing executed between
 *             the two: residencies of sums follow each other whole. So the array waits once for each row.
 *
 * Where no sum leaves some loop of the output outside of X is the outermost of those that are surely cut, if there is one, for all movers alike:
 * what stays while that one runs stays while all run. 3 x 3 tiles of weights and positions: either weights come three times or positions do, not
 * the ones for one mover and the others for the next.
 *
 * So movers take no less than the busiest of them in one of these classes. Tiles of 256 channels and four positions fill an array of 16 x 16, but
 * of 7x7 positions there are thirteen such tiles: weights come thirteen times, or sums go and come as often as there are steps in
 * which they could stay. */
#ifndef TW_SEARCH_JOINT_H
#define TW_SEARCH_JOINT_H
#include "search/closed.h"

enum { TW_JOINT_SETS = 4 };
typedef struct tw_joint_order {
    int n; /* sets X that have room */
    unsigned inside[TW_JOINT_SETS];
    unsigned outside[TW_JOINT_SETS]; /* loops one of which is the outermost that is surely cut; 0: not known */
    int mover;                       /* of sums out of the innermost memory of the output                */
    int64_t leaving;                 /* units that it carries where sums leave; INT64_MAX: they cannot      */
    int64_t holding;                 /* then a program takes so many cycles, for its buffers, or waiting for sums */
} tw_joint_order;

/* Cycles in which an array waits for sums, in tiles of the innermost level t, that leave and come back `trips` times; 0: not known. */
int64_t tw_joint_returns(const tw_view *view, int t, int64_t trips);
/* False: nothing is known. */
bool tw_joint_of(const tw_view *view, tw_joint_order *out);
/* Units by each mover where no sum leaves, X is set i and of the loops that are surely cut this one is the outermost, -1: any; at least what
 * they are in `all`. False: nothing fits. */
bool tw_joint_units(const tw_view *view, const tw_joint_order *joint, int i, int outermost, tw_traffic_bound *all);
#endif
