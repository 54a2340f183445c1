/* src/search/leaf.h - the buffers of a mapping of which all else is chosen.
 *
 * Lockstep. The slots of an input matter in three ways: one slot forbids loading during an execution; two never delay
 * anything (docs/design/slots.md); and a sweep of tiles that fits into the slots is not loaded again. So only 1, 2 and the lengths of
 * sweeps are different. The output has as many as its mode needs, or one more, after which nothing waits for them.
 * Operands that meet the edge of their tensor may skip tiles: there every number is tried.
 *
 * Async. More buffers never take longer where one unit fills each pool (docs/design/async.md), and unlimited buffers never
 * take longer at all. Ranges of buffers are halved, a range being bounded by a simulation with its upper ends. Where no
 * objective depends on time the fewest are best. */
#ifndef TW_SEARCH_LEAF_H
#define TW_SEARCH_LEAF_H
#include "search/bound.h"

/* What a leaf needs from the search around it. */
typedef struct tw_judge {
    void *user;
    /* Whether a part with this bound may still hold something. */
    bool (*wanted)(void *user, const tw_goal_value *bound, tw_closer closer);
    /* A mapping that fits, with its value. */
    tw_status (*found)(void *user, const tw_op_map *map, const tw_goal_value *value, bool *better);
    void (*refused)(void *user, const tw_op_map *map, int64_t short_by);
    /* Something with this bound could not be settled within the means. */
    void (*left)(void *user, const tw_goal_value *bound);
    /* tw_eval.cost within the budget; TW_OK with *unfinished when that is not enough. */
    tw_status (*cost)(void *user, const tw_machine *machine, const tw_op_map *map, tw_outcome *out,
                      bool *unfinished, int64_t *short_by);
    /* The same without its time, of a mapping whose transfers a formula counts exactly: nothing is simulated. */
    tw_status (*count)(void *user, const tw_op_map *map, tw_outcome *out, int64_t *short_by);
    tw_status (*outline)(void *user, const tw_op_map *map, tw_outline *out);
    bool (*stopped)(void *user);
    /* Whether a program of so many instructions that the search need not simulate can be shown in the time that is left. */
    bool (*affords)(void *user, int64_t instructions);
    /* So many pieces of work were done that nothing above counts. */
    void (*spent)(void *user, int64_t work);
} tw_judge;

/* Raises the bound of a part in which all but buffers is chosen to what its transfers alone cost. */
TW_NODISCARD tw_status tw_leaf_refine(const tw_space *space, const tw_goals *goals, tw_part *part,
                                      const tw_judge *judge);
/* What a mapping costs at least with the buffers that suit it, judged without a simulation. */
typedef struct tw_estimate {
    bool legal, fits;
    int64_t short_by; /* it does not fit: units that are missing */
    int64_t execs;
    tw_goal_value bound;
} tw_estimate;
TW_NODISCARD tw_status tw_leaf_estimate(const tw_space *space, const tw_goals *goals, const tw_part *part,
                                        const tw_judge *judge, tw_estimate *out);
/* Simulates it with a few choices of buffers. */
TW_NODISCARD tw_status tw_leaf_quick(const tw_space *space, const tw_goals *goals, const tw_part *part,
                                     const tw_judge *judge);
TW_NODISCARD tw_status tw_leaf_search(const tw_space *space, const tw_goals *goals, const tw_part *part,
                                      bool exhaustive, const tw_judge *judge);
#endif
