/* src/search/shortlist.h - mappings made by construction, to begin with.
 *
 * An async program is a nest of tile loops. If nothing waits for a buffer it takes
 *
 *     first tiles in  +  max(executions, the transfers of each mover)  +  last tile out
 *
 * which are products of sizes and trip counts. So many nests can be weighed in the time of one simulation: along loops that
 * an array unrolls, sizes that waste no pass; along others, sizes that divide; windows whole; parallel loops in every order,
 * reductions inside them, so that sums stay where they are; and each memory, from the inside out, keeps what spares the mover
 * that fills it most. The best are simulated. What is found proves nothing. */
#ifndef TW_SEARCH_SHORTLIST_H
#define TW_SEARCH_SHORTLIST_H
#include "core/deadline.h"
#include "search/space.h"

enum {
    TW_SHORTLIST_LEVELS = 2, /* frames with more tiled levels are left to others */
    TW_SHORTLIST_CANDIDATES = 24,
};
typedef struct tw_candidate { /* a mapping, buffers open */
    int frame;
    int64_t cycles, moving; /* estimates: of the program, and of all movers together */
    int32_t size[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS];
    int8_t order[TW_SHORTLIST_LEVELS]
                [TW_MAX_LOOPS];                    /* loops that are cut, outermost first; the others behind them */
    int8_t keep[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* value of the variable */
} tw_candidate;
typedef struct tw_shortlist {
    int n;
    int64_t n_weighed, n_looked;                     /* nests, and choices of sizes */
    const tw_deadline *deadline;                     /* that may end it, NULL: none  */
    tw_candidate candidate[TW_SHORTLIST_CANDIDATES]; /* the best first, of each choice of sizes one */
} tw_shortlist;

/* Whether estimates can be made: async, for time, with costs that are products. */
bool tw_shortlist_suits(const tw_space *space, const tw_goals *goals);
/* Puts in what a frame has that takes less than `below` cycles, as far as it is among the best. */
void tw_shortlist_add(const tw_space *space, int frame, int64_t below, tw_shortlist *shortlist);
/* NULL in *out when the space does not have it. */
TW_NODISCARD tw_status tw_shortlist_part(const tw_space *space, const tw_candidate *candidate, tw_part **out);
#endif
