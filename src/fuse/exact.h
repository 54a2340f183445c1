/* src/fuse/exact.h - the best mapping of a small space on one core or several, with the proof that there is none better in it.
 *
 * The space: the operators, in the model's order, are cut into runs; each is run in one of the ways of ways.h; and what a run that is not split makes for later ones
 * is stored in memory 0, or stays whole in the memory of the core that makes it. Other orders of operators and inputs that stay are not in it, nor, on several cores, tiles of several loops and
 * windows that slide.
 *
 * Everything that is left after bounds is simulated. Bounds of a beginning of a mapping:
 *
 *   - a run that reads what the run before it makes waits for all of that run, so that what depends on it stands one behind the other: cycles of executions
 *     on a core, or what passes the ports of memory 0 in between;
 *   - everything that must pass the ports of memory 0, one behind the other;
 *   - the busy cycles of each engine that has one unit, and energy: sums over all runs, without what tensors that stay save.
 *
 * What the operators behind the beginning take at least is the least over all their ways. */
#ifndef TW_FUSE_EXACT_H
#define TW_FUSE_EXACT_H
#include "fuse/fuse.h"

typedef struct tw_exact {
    bool complete;     /* no mapping of the space is better than `known`, or than `best` if there is one */
    double n_mappings; /* of the space; 0: it is too large to be listed, or the machine is none of its kind */
    int64_t n_tried;   /* of them that were simulated */
    tw_fused best;     /* better than `known`; no groups: there is none */
} tw_exact;

/* `known`: the price of what was found before; INFINITY: nothing was. What the search takes is limited by the number of commands that it simulates, so that the answer is
 * the same on every host; a deadline ends it earlier. */
TW_NODISCARD tw_status tw_exact_find(const tw_fuse_request *asked, double known, const tw_work *work,
                                     tw_exact *out);
#endif
