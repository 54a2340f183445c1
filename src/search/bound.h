/* src/search/bound.h - what every mapping of a part of the space costs at least.
 *
 * A part gives the largest tile of every loop at every level a range [lo, hi]. More can only be needed with
 *
 *     smaller tiles:  executions, instances of nested programs, transfers        so counts are those of hi
 *     larger tiles:   buffers, the first load, the last store                    so sizes are those of lo
 *
 * and each engine does one thing at a time (as many as its count). The bounds, in the words of tw_closer:
 *
 *     compute    first load through all memories + all executions + last store
 *     link       what a mover has to carry, with what must come before and after it
 *     movement   units that cross into a memory of S units in any schedule (Loomis-Whitney): in a phase that moves X
 *                units at most sqrt(K) ((S + X) / 3)^1.5 / sqrt(product of widths) points can be done, K being the
 *                points of the loops that only shift windows
 *     rows       lockstep: a row per execution, and for each instance of a nested program a first load and a last store
 *     capacity   one buffer of each operand (of the output as many as adding up needs)
 *
 * test/search/test_bound.c holds them against simulations. */
#ifndef TW_SEARCH_BOUND_H
#define TW_SEARCH_BOUND_H
#include "search/space.h"

typedef struct tw_part_bounds {
    tw_outcome cost;     /* each figure is a lower bound on its own               */
    bool feasible;       /* false: nothing of the part fits                       */
    tw_closer cycles_by; /* what gives cost.cycles                                */
    int cycles_at;       /* engine, -1: none                                      */
    int64_t execs;       /* executions                                            */
    int64_t short_by;    /* not feasible: units that are missing at least         */
} tw_part_bounds;

/* What does not depend on the part: fills points_inside, least and movement of the space. */
TW_NODISCARD tw_status tw_space_measure(tw_space *space, tw_arena *scratch);
/* Of two loops, the first with the smaller number, over a dimension of this size; NULL: not known. */
const tw_pair *tw_space_pair(const tw_space *space, int loop, int other, int64_t size);
/* Takes sizes out of its ranges that cannot fit; false: nothing fits. */
bool tw_part_tighten(const tw_space *space, tw_part *part);
/* Whether some tile of an input may lie wholly in padding. */
bool tw_part_is_hollow(const tw_space *space, const tw_part *part);
void tw_part_least(const tw_space *space, const tw_part *part, tw_part_bounds *out);
/* Lockstep: executions, first loads and last stores alone, without the rows between executions. */
void tw_part_unpaused(const tw_space *space, const tw_part *part, int64_t *ticks, int64_t *cycles);
/* The value, and in part->closer and ->at what gives the first objective. */
void tw_part_bound(const tw_space *space, const tw_goals *goals, const tw_part_bounds *least, tw_part *part);

/* Units that `count` buffers of `units` each take per operand, as the layout puts them: those of `first` before the others. */
int64_t tw_stacked(const int64_t *count, const int64_t *units, int n, int64_t align, unsigned first);
/* The same, at least, in whatever order and alignment they are given out. */
int64_t tw_given_least(const int64_t *count, const int64_t *units, int n);
/* Elements of the operand that a tile of these lengths touches at least and, away from edges, at most. */
int64_t tw_footprint_least(const tw_space *space, int operand, const int64_t *len);
/* Of them those that are touched if the tile is cut further: neither gaps of a stride nor what lies in padding are there. */
int64_t tw_touched_least(const tw_space *space, int operand, const int64_t *len);
int64_t tw_footprint_most(const tw_space *space, int operand, const int64_t *len);
/* Busy cycles of n commands with this work in all, at least; and of one command. */
int64_t tw_busy_of(const tw_engine *engine, int64_t n, int64_t work);
#endif
