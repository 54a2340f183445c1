/* src/rivals/timeloop/bound.h - the least energy of what is still open when the inner memories' factors are chosen.
 *
 * With a frame, what a handover into a memory takes depends on the iterations over time inside of it and on the order of the
 * loops outside. Whatever that order is, one loop is the innermost of them: operands that it moves begin anew with each of its
 * steps, all others may stand still. The least over the choice of that loop, summed over the memories, is a bound; and because
 * it depends on products of factors, a table over all products answers it. Where the memory outside has few factors to choose
 * from, the table knows which of them are there, and with that which loop can be the innermost:
 *
 *     table[m][inside]  =  handovers into m  +  least over the factors of the memory outside of  table[m - 1][inside x factors]
 */
#ifndef TW_RIVALS_TIMELOOP_BOUND_H
#define TW_RIVALS_TIMELOOP_BOUND_H
#include "rivals/timeloop/price.h"

enum { TW_TL_DIVISORS = 256 };

typedef struct tw_tl_lattice { /* all products of factors of the dimensions' iterations over time */
    int n_dims;
    int n[TW_RIVAL_DIMS], stride[TW_RIVAL_DIMS];
    int64_t divisor[TW_RIVAL_DIMS][TW_TL_DIVISORS]; /* ascending */
    int size;
} tw_tl_lattice;
/* False: there are more than 2^22. */
TW_NODISCARD bool tw_tl_lattice_init(tw_tl_lattice *lattice, int n_dims, const int64_t *base);
void tw_tl_lattice_at(const tw_tl_lattice *lattice, int index, int64_t *time);

/* The least energy of the handovers into m, `time` iterations being inside of it. `block` has the factors of the memory outside of
 * it, NULL: they may be any. INFINITY: the tiles do not fit. */
double tw_tl_bound_at(const tw_tl_price *price, int memory, const int64_t *time, const int64_t *block);
/* table[m][i] for m > 0; those of memory 0 are the end. `table` has room for n_memories x lattice->size. */
void tw_tl_bound_fill(const tw_tl_price *price, const tw_tl_lattice *lattice, double *table, double *scratch);
#endif
