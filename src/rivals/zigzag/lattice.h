/* src/rivals/zigzag/lattice.h - the least energy of all nests of a layer, by a shortest path.
 *
 * What a cut costs depends on which loops are inside of it, and not on their order: the elements of the tile, the rounds that it stays,
 * and whether sums are complete are functions of how many iterations of each dimension are inside. So a nest is a path through the
 * lattice of these numbers, from none to all, one prime factor after the other, on which each operand makes its cuts, the innermost
 * first; an input's first one is at the multipliers, where it stays while nothing but loops that reuse it are inside.
 *
 *     K ^        x all              a step adds a factor of a dimension,
 *       |  .--W1-'                  a cut (W1: the first of W) costs what passes there
 *       |  |
 *       '--O1----> C
 *
 * The path with the least sum is the least energy of all orders, sizes and cuts, but for one thing: tiles are asked to fit one by one,
 * not together. So it is a bound, and if the nest of the path fits it is the best there is. */
#ifndef TW_RIVALS_ZIGZAG_LATTICE_H
#define TW_RIVALS_ZIGZAG_LATTICE_H
#include "rivals/zigzag/zigzag.h"

/* *bound: no nest takes less energy; 0 and an empty nest where the lattice has too many points to look at. INFINITY: no nest fits. */
TW_NODISCARD tw_status tw_zz_least_energy(const tw_zz_case *c, tw_arena *scratch, double *bound, tw_zz_nest *nest);
#endif
