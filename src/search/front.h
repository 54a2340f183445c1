/* src/search/front.h - the best mappings so far: one, or with Pareto all that none beats in every objective. */
#ifndef TW_SEARCH_FRONT_H
#define TW_SEARCH_FRONT_H
#include "search/search.h"

typedef struct tw_best {
    tw_goal_value value;
    int frame; /* that the mapping is from */
    tw_op_map map;
} tw_best;

typedef struct tw_front {
    const tw_goals *goals;
    bool
        counts; /* points that attain the best are counted, and the first of them in the order of the space is kept */
    int64_t n_optima;
    int n, room;
    tw_best *best; /* ascending */
} tw_front;

void tw_front_release(tw_front *front);
TW_NODISCARD tw_status tw_front_copy(tw_front *to, const tw_front *from);
/* Takes the mapping in if nothing there is as good. TW_ERR_NOMEM is the only failure. */
TW_NODISCARD tw_status tw_front_offer(tw_front *front, const tw_op *op, const tw_goal_value *value, int frame,
                                      const tw_op_map *map);
/* What another search over other parts of the space found, which began with a copy of this front and n_optima 0. */
TW_NODISCARD tw_status tw_front_merge(tw_front *front, const tw_op *op, const tw_front *other);
/* Whether mappings that cost at least this could get in. */
bool tw_front_wants(const tw_front *front, const tw_goal_value *bound);
#endif
