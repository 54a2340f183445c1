/* test/lib/brute.h - every mapping of one operator on a machine, tried one by one: what a search is judged by.
 *
 * The space is written down once more here, as nested loops over everything that a mapping may choose:
 *
 *   levels    each memory but the innermost is passed through or tiled
 *   cuts      each loop of a tiled level: balanced into c tiles, c canonical for the longest piece that reaches the
 *             level (cdiv(L, cdiv(L, c)) == c), or into tiles of size t, t in 1..L; rules mix freely
 *   order     all permutations; lockstep: parallel loops before reductions
 *   keep      async, per memory and operand held there: one tile, all, or while any of the loops stays
 *   slide     async, per memory and input held there: whole tiles, or along any loop that moves a window of it
 *   sums      lockstep, per tiled level: every mode that the machine offers
 *   unroll    where the compute engine is an array: the default, and each loop of more than one point over any of its dimensions or
 *             over none
 *   buffers   per memory and operand 1..max_buffers; lockstep pass-through levels have two of each
 *
 * Each mapping goes through tw_mapping_check, tw_program_build and tw_timeline_run; what these refuse is not in the
 * space, or does not fit, or deadlocks.
 *
 * `full` tries all of that. Otherwise choices that say the same with other words are left out: a tile as long as its
 * piece (that is one tile), the place of loops that are not cut in the order, keeping while a loop stays that is not
 * cut or is the innermost one, ways to add up where nothing is added. And when not even single buffers fit, more are
 * not tried. test_brute.c holds the two against each other.
 *
 * Some machines say what a mapping may choose there: where a memory does not keep an operand it has one tile, where it
 * keeps operands whole it has one tile or all; where loops are padded the innermost tiles have sizes that divide the loop
 * (and are multiples of what the compute engine asks for), or, if none does, any multiple, and are cut by size.
 *
 * Operators behind the first one are fused with it and have one tile each; a mapping is good if all of them together fit, and
 * takes of a memory what they take together. */
#ifndef TW_BRUTE_H
#define TW_BRUTE_H
#include "mapping/mapping.h"
#include "mapping/objective.h"

enum { BRUTE_MAX_OPS = 4 };

typedef struct brute_space {
    const tw_model *model; /* of one operator, and those that are fused with it */
    const tw_machine *machine;
    int64_t max_buffers;
    bool full;
    bool alone; /* instead: operator `op` of the model, whatever the others take of the memories; */
    int op;
    unsigned fused; /* bit i: operator i is fused with the one before it                              */
    bool divided;   /* loops may be divided over several dimensions of an array, where the search does so */
} brute_space;

/* A mapping that fits and runs, and what it costs. */
typedef void (*brute_fn)(void *user, const tw_op_map *map, const tw_outcome *outcome);

/* How many mappings there are to try, those that will be refused included; more than `limit`: the count ends there. */
int64_t brute_size(const brute_space *space, int64_t limit);
/* Tries them; how many were good. Ends the process when the host has no memory. */
int64_t brute_run(const brute_space *space, brute_fn fn, void *user);
#endif
