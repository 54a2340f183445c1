/* src/search/leaf.c - see leaf.h: what both kinds of machines share. */
#include "search/leafs.h"

tw_status tw_leaf_try(tw_leaf *leaf, const tw_op_map *map)
{
    const tw_judge *judge = leaf->judge;
    tw_outcome outcome;
    bool unfinished = false;
    int64_t short_by = 0;
    tw_status status = leaf->counted
                           ? judge->count(judge->user, map, &outcome, &short_by)
                           : judge->cost(judge->user, leaf->space->machine, map, &outcome, &unfinished, &short_by);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) {
        if (status == TW_INFEASIBLE) leaf->judge->refused(leaf->judge->user, map, short_by);
        leaf->n_refused++;
        return TW_OK;
    }
    TW_TRY(status);
    if (unfinished) {
        leaf->judge->left(leaf->judge->user, &leaf->part->bound);
        return TW_OK;
    }
    leaf->n_found++;
    tw_goal_value value = tw_goals_value(leaf->goals, &outcome);
    bool better;
    TW_TRY(leaf->judge->found(leaf->judge->user, map, &value, &better));
    leaf->n_better += better;
    return TW_OK;
}

bool tw_leaf_wants(const tw_leaf *leaf, const tw_outcome *least, tw_closer closer)
{
    if (leaf->exhaustive) return true;
    tw_goal_value bound = tw_goals_value(leaf->goals, least);
    return leaf->judge->wanted(leaf->judge->user, &bound, closer);
}

bool tw_leaf_allows(const tw_leaf *leaf, int m, int o, int64_t slots)
{
    return slots <= leaf->space->max_buffers && tw_number_allows(&leaf->space->limits.level[m - 1].slots[o], slots);
}

tw_status tw_leaf_refine(const tw_space *space, const tw_goals *goals, tw_part *part, const tw_judge *judge)
{
    tw_leaf leaf = {.space = space, .goals = goals, .part = part, .judge = judge};
    tw_outcome least;
    part->refined = true;
    tw_part_least(space, part, &leaf.least);
    tw_part_map(space, part, &leaf.map);
    tw_status status = space->rules->refine(&leaf, &least);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK; /* the search will tell */
    TW_TRY(status);
    tw_goal_value bound = tw_goals_value(goals, &least);
    if (tw_value_compare(goals, &bound, &part->bound) > 0) {
        part->bound = bound;
        part->closer = space->rules->refined_by;
    }
    return TW_OK;
}

tw_status tw_leaf_estimate(const tw_space *space, const tw_goals *goals, const tw_part *part, const tw_judge *judge,
                           tw_estimate *out)
{
    tw_leaf leaf = {.space = space, .goals = goals, .part = part, .judge = judge};
    tw_outcome least;
    *out = (tw_estimate){0};
    tw_part_least(space, part, &leaf.least);
    tw_part_map(space, part, &leaf.map);
    out->legal = true;
    out->short_by = leaf.least.short_by;
    if (!leaf.least.feasible) return TW_OK;
    tw_status status = space->rules->estimate(&leaf, &least, &out->short_by);
    out->legal = status == TW_OK;
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    out->fits = out->short_by == 0;
    out->execs = leaf.least.execs;
    out->bound = tw_goals_value(goals, &least);
    return status;
}

tw_status tw_leaf_quick(const tw_space *space, const tw_goals *goals, const tw_part *part, const tw_judge *judge)
{
    tw_leaf leaf = {.space = space, .goals = goals, .part = part, .judge = judge, .quick = true};
    tw_part_least(space, part, &leaf.least);
    tw_part_map(space, part, &leaf.map);
    return space->rules->buffers(&leaf);
}

tw_status tw_leaf_search(const tw_space *space, const tw_goals *goals, const tw_part *part, bool exhaustive,
                         const tw_judge *judge)
{
    tw_leaf leaf = {.space = space, .goals = goals, .part = part, .exhaustive = exhaustive, .judge = judge};
    tw_part_least(space, part, &leaf.least);
    tw_part_map(space, part, &leaf.map);
    if (!leaf.least.feasible && !exhaustive) return TW_OK;
    return space->rules->buffers(&leaf);
}
