/* src/search/branch.h - branch and bound over the parts of a space, on all cores, with the same result on any number.
 *
 * Open parts are kept in the order of their bounds. A round takes the first few, lets each be searched by itself for
 * a fixed amount of work, best bound first, and then merges what was found and what stayed open, in the order in which the
 * parts were taken. What happens in a round depends on the state before it and not on who did what when; threads
 * only share the parts of a round among them. A task that reaches the bound of the whole space ends the search; what the
 * tasks behind it did by then is forgotten. */
#ifndef TW_SEARCH_BRANCH_H
#define TW_SEARCH_BRANCH_H
#include "core/deadline.h"
#include "search/front.h"
#include "search/leaf.h"

#define TW_HURRY 0.2 /* seconds that who interrupts a search that has found nothing waits for something */

typedef struct tw_hunt { /* what comes out */
    tw_front front;
    bool has_nearest; /* the refused mapping that misses least memory */
    int64_t least_short;
    tw_op_map nearest;
    tw_goal_value open; /* least bound of what stayed open; valid when any_open */
    bool any_open;      /* something that stayed open may be better             */
    tw_goal_value root; /* least bound of all frames                            */
    tw_closer root_by;
    int root_at;
    bool any_root;
    int64_t n_nodes, n_points, work, closed[TW_N_BOUNDS];
    tw_ending ending;
    double seconds;
} tw_hunt;

/* `deadline` may end it, with what was found by then; NULL: it does not. */
TW_NODISCARD tw_status tw_branch(const tw_search *search, const tw_space *space, const tw_goals *goals,
                                 const tw_deadline *deadline, tw_hunt *out);
#endif
