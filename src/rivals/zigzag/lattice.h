/* src/rivals/zigzag/lattice.h - nests as paths through a lattice, and the least energy of all of them.
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
 * not together. So it is a bound, and if the nest of the path fits it is the best there is. For latency see front.h. */
#ifndef TW_RIVALS_ZIGZAG_LATTICE_H
#define TW_RIVALS_ZIGZAG_LATTICE_H
#include "rivals/zigzag/count.h"
#include "rivals/zigzag/zigzag.h"

enum { TW_ZZ_DIVISORS = 256, TW_ZZ_CELLS = 1 << 21 };

typedef struct tw_zz_ladder { /* the divisors of a dimension, ascending */
    int dim, n;
    int64_t divisor[TW_ZZ_DIVISORS];
    int64_t stride; /* of its number in the number of a point */
} tw_zz_ladder;
typedef struct tw_zz_lattice {
    const tw_zz_case *c;
    int n_dims; /* of more than one iteration */
    tw_zz_ladder dim[TW_RIVAL_DIMS];
    int64_t n_points;           /* 0: nothing is inside; the last: everything is                     */
    int n_cuts[TW_ZZ_OPERANDS]; /* to make; an input's first one is at the multipliers                */
    int n_states;               /* how many of them were made, by each operand                       */
    int stride[TW_ZZ_OPERANDS]; /* of an operand's cuts in the number of a state                     */
} tw_zz_lattice;

/* False: there are more points and states than are looked at. */
bool tw_zz_lattice_init(tw_zz_lattice *lattice, const tw_zz_case *c);
/* Iterations of the i-th dimension of the lattice that are inside. */
static inline int64_t tw_zz_inside(const tw_zz_lattice *g, int64_t point, int i)
{
    return g->dim[i].divisor[point / g->dim[i].stride % g->dim[i].n];
}
/* Cuts that an operand has made. */
static inline int tw_zz_made(const tw_zz_lattice *g, int state, int operand)
{
    return state / g->stride[operand] % (g->n_cuts[operand] + 1);
}
/* The level that an operand's k-th cut is above, -1: the multipliers. */
static inline int tw_zz_cut_level(int operand, int k) { return operand > 0 ? k - 1 : k; }

/* What passes the k-th cut of an operand where the loops of a point are inside. The flows are those of the level below the cut and
 * of the one above. */
typedef struct tw_zz_passing {
    tw_zz_times times;
    tw_zz_flows flows;
    double tile_bits; /* that the level below must hold at least */
} tw_zz_passing;
/* False: such a cut cannot be, because the tile does not fit or because the loops do not reuse what stays at the multipliers. */
bool tw_zz_passing_at(const tw_zz_lattice *lattice, int64_t point, int operand, int k, bool whole,
                      tw_zz_passing *out);
/* Energy of what passes; INFINITY: a port is missing. Of flows that are not `whole`. */
double tw_zz_passing_energy(const tw_zz_case *c, int operand, int k, const tw_zz_passing *passing);
/* What passes where all cuts of an operand are outside of all loops. */
void tw_zz_full_flows(const tw_zz_lattice *lattice, int operand, bool whole, tw_zz_flows *out);
/* Energy of all nests alike: the multipliers, and what they send. */
double tw_zz_constant_energy(const tw_zz_lattice *lattice);

/* *bound: no nest takes less energy; 0 and an empty nest where the lattice has too many points to look at. INFINITY: no nest fits. */
TW_NODISCARD tw_status tw_zz_least_energy(const tw_zz_case *c, tw_arena *scratch, double *bound, tw_zz_nest *nest);
#endif
