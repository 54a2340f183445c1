/* src/rivals/zigzag/front.h - how fast can any nest be? Shortest paths with several prices.
 *
 * Latency is no sum over cuts, but what it is made of is: cycles that a port is asked for, cycles by which single transfers are late, first
 * tiles that must be there before the first cycle, last ones that leave after the last, room in a memory, energy. Each of these is a price
 * of a cut at a point of the lattice (lattice.h), and latency rises with each of them. So paths are compared in all prices at once: of two that
 * stand at the same point with the same cuts made, one that is no cheaper in any price need not be followed. What is left is the front.
 *
 *     busy | o                     Paths are followed from outside, where most is decided. One is given up as soon as its prices and the least
 *          |    o   x dearer       of each that is still to pay cannot be better than the nest that is known already.
 *          |       o
 *          +------------ energy    A front that grows too wide is joined: two paths become one with the lower price of each.
 *
 * Every price is one that no nest of the path is below: a level counts as double-buffered where any order allows it, tiles as wide as results
 * are at least. So the least value of all fronts is a bound, and where a nest reaches it, it is the best there is. */
#ifndef TW_RIVALS_ZIGZAG_FRONT_H
#define TW_RIVALS_ZIGZAG_FRONT_H
#include "rivals/zigzag/lattice.h"

typedef struct tw_zz_least {
    double bound; /* no nest of the case is below it, nor below `known` */
    tw_zz_nest
        nest; /* the best of those whose paths were followed to the end; no loops: none is better than what is known */
    int64_t counted; /* nests */
} tw_zz_least;
/* The least latency or energy x latency. `known` is the value of a nest, INFINITY: none is known. */
TW_NODISCARD tw_status tw_zz_front(const tw_zz_case *c, tw_measure measure, double known, tw_work work,
                                   tw_zz_least *out);
#endif
