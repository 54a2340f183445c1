/* src/search/shortlist.h - mappings made by construction, to begin with.
 *
 * An async program is a nest of tile loops. If nothing waits for a buffer it takes
 *
 *     first tiles in  +  max(executions, the transfers of each mover)  +  last tile out
 *
 * which are products of sizes and trip counts. So many nests can be weighed in the time of one simulation: along loops that
 * an array unrolls, sizes that waste no pass; along others, sizes that divide; windows whole; parallel loops in every order,
 * reductions inside them, so that sums stay where they are; and each memory, from the inside out, keeps what spares the mover
 * that fills it most. The best are simulated. What is found proves nothing.
 *
 * Energy and traffic are sums of the same products. They are weighed where time matters too: in a product of energy and
 * time, or among programs that may take so many cycles at most; and time among those that may take so much energy. */
#ifndef TW_SEARCH_SHORTLIST_H
#define TW_SEARCH_SHORTLIST_H
#include "core/deadline.h"
#include "mapping/objective.h"
#include "search/space.h"

enum {
    TW_SHORTLIST_LEVELS = 2, /* frames with more tiled levels are left to others */
    TW_SHORTLIST_CANDIDATES = 24,
    TW_SHORTLIST_EXECS = 32, /* so many executions count as a cycle: of equal nests short programs come first */
};
typedef struct tw_candidate { /* a mapping, buffers open */
    int frame;
    int64_t cycles, moving; /* estimates: of the program, and of all movers together */
    double weight;          /* what the objective is, by these estimates             */
    int32_t size[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS];
    int8_t order[TW_SHORTLIST_LEVELS]
                [TW_MAX_LOOPS];                    /* loops that are cut, outermost first; the others behind them */
    int8_t keep[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* value of the variable */
    bool slides;                                   /* some window does */
} tw_candidate;
typedef struct tw_shortlist {
    tw_goal goal;   /* what is weighed                                              */
    int64_t cycles; /* that a program may take, INT64_MAX: any number               */
    int64_t above;  /* and takes more than                              */
    double energy;  /* that it may take, INFINITY: any amount                       */
    int n;
    int64_t n_weighed, n_looked; /* nests, and choices of sizes */
    int64_t n_played;            /* steps of queues             */
    int64_t most_work;           /* pieces of work that it may take, */
    int64_t most_played;         /* those of queues apart            */
    int64_t execs;               /* that count as a cycle           */
    int n_tried;
    const tw_candidate *tried;                       /* those that are not put in again */
    const tw_deadline *deadline;                     /* that may end it, NULL: none  */
    tw_candidate candidate[TW_SHORTLIST_CANDIDATES]; /* the best first, of each choice of sizes one */
} tw_shortlist;

/* Whether estimates can be made: async, with costs that are products; and whether they are those of the goals, in which time
 * matters. */
bool tw_shortlist_serves(const tw_space *space);
bool tw_shortlist_suits(const tw_space *space, const tw_goals *goals);
/* An empty one for these goals; where it does not suit them, for energy x time, of which the best are mostly good in what
 * does not depend on time, too. */
tw_shortlist tw_shortlist_of(const tw_space *space, const tw_goals *goals, const tw_deadline *deadline);
/* Looks only at programs whose estimate is too high by a little: above the cycles that are allowed or, if time itself is
 * made small, above those of the best. False: cycles decide nothing there. */
bool tw_shortlist_doubt(tw_shortlist *shortlist, const tw_goal_value *best);
/* Pieces of work that were done for it. */
int64_t tw_shortlist_work(const tw_shortlist *shortlist);
/* Puts in what a frame has that weighs less than `below`, as far as it is among the best. */
void tw_shortlist_add(const tw_space *space, int frame, double below, tw_shortlist *shortlist);
/* The same of nests of two levels whose tiles are like those of `home`, every variable one number, half or twice as long, with reductions cut
 * in the outer level, too. So less has to come before the first execution. */
void tw_shortlist_divide(const tw_space *space, const tw_part *home, double below, tw_shortlist *shortlist);
/* NULL in *out when the space does not have it. */
TW_NODISCARD tw_status tw_shortlist_part(const tw_space *space, const tw_candidate *candidate, tw_part **out);
#endif
