/* src/rivals/timeloop/bound.h - the least energy of what is still open when the inner memories' factors are chosen.
 *
 * With a frame, what a handover into a memory takes depends on the iterations over time inside of it and on the order of the
 * loops outside. Whatever that order is, one loop is the innermost of them: operands that it moves begin anew with each of its
 * steps, all others may stand still. The least over the choice of that loop, summed over the memories, is a bound; and because
 * it depends on products of factors, a table over all products answers it. The innermost loop outside of a memory is one of the
 * next memory that has any: handovers wait until there is one, so that the table knows from which loops it is chosen.
 *
 *     table[m][w][inside]  the least energy of handovers into memories up to m, and into the w memories inside of m that wait
 *
 * Where a memory has too many factors to look at each with each, those that wait take the least over all loops that are left. */
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

typedef struct tw_tl_block_factors { /* of the first memory outside of a tile that has loops over time */
    int memory;
    const int64_t *factor; /* NULL: nothing is known about it */
} tw_tl_block_factors;
/* The least energy of the handovers into a memory, `time` iterations being inside of it. */
double tw_tl_bound_at(const tw_tl_price *price, int memory, const int64_t *time, tw_tl_block_factors block);
/* The same for a memory and the `waiting` ones inside of it, between which there are no loops. */
double tw_tl_bound_waiting(const tw_tl_price *price, int memory, int waiting, const int64_t *time,
                           tw_tl_block_factors block);

/* The least words that pass each memory, per instance, as far as handovers are settled. */
typedef struct tw_tl_traffic {
    bool apart; /* children read what overlaps apart, as they mostly do: then it is a guess and no bound */
    double reads[TW_RIVAL_MEMORIES], writes[TW_RIVAL_MEMORIES];
} tw_tl_traffic;
/* Adds the handovers into a memory and the `waiting` ones inside of it. */
void tw_tl_traffic_add(const tw_tl_price *price, int memory, int waiting, const int64_t *time,
                       tw_tl_block_factors block, tw_tl_traffic *traffic);
/* Cycles that the memories need for it and for what the array asks for, at least. */
double tw_tl_traffic_cycles(const tw_tl_price *price, const tw_tl_traffic *traffic);

typedef struct tw_tl_table {
    int n_memories, size;
    double *
        of; /* rows of n_memories x n_memories, of what a memory takes with any loop outside, and two to work with */
} tw_tl_table;
static inline size_t tw_tl_table_room(int n_memories, int size)
{
    return ((size_t)n_memories * (size_t)n_memories + (size_t)n_memories + 2) * (size_t)size;
}
static inline double *tw_tl_table_row(const tw_tl_table *t, int memory, int waiting)
{
    return t->of + ((size_t)memory * (size_t)t->n_memories + (size_t)waiting) * (size_t)t->size;
}
/* Rows of memory 0 are the end. `closely`: memories with few factors are looked at one by one. */
void tw_tl_bound_fill(const tw_tl_price *price, const tw_tl_lattice *lattice, bool closely,
                      const tw_tl_table *table);
#endif
