/* src/plan/groupfacts.h - what a group of operators costs and saves, from its own boxes: the public tw_group_facts.
 *
 * Tile by tile, halos are computed again or kept, and what lies between two operators of the group never goes to the outermost memory.
 * Whether that pays is the question
 *
 *     points more / points a cycle   <   bytes less / bytes a cycle
 *
 * so the group breaks even where a machine computes (points more / bytes less) points for every byte that it moves. */
#ifndef TW_PLAN_GROUPFACTS_H
#define TW_PLAN_GROUPFACTS_H
#include "plan/plan.h"

/* Points of the group's operator k, each computed once: of one that several groups have parts of, this group's share. */
int64_t tw_group_points_once(const tw_plan *plan, int group, int k);
tw_group_facts tw_group_facts_of(const tw_plan *plan, int group);
/* Of the tensors that the group's operators read or write, in the order of the model, number i; and how many units of a memory the group's
 * holds take. */
tw_group_tensor tw_group_tensor_of(const tw_plan *plan, int group, int i);
int64_t tw_group_needs(const tw_plan *plan, int group, int memory);
/* Where tiles cut one axis of a tensor that the group makes: how many rows of it are made in all steps together, halos each time, and how many
 * there are. 0 of 0 where tiles cut none or several, or rows are made in parts: then its elements say it. */
typedef struct tw_group_rows {
    int64_t made, extent;
} tw_group_rows;
tw_group_rows tw_group_rows_of(const tw_plan *plan, int group, int i);
/* Shows every step, with the windows of the group's tensors. */
TW_NODISCARD tw_status tw_group_walk(const tw_plan *plan, int group, tw_group_step_fn fn, void *user,
                                     tw_arena *scratch);
/* What a group takes of the time and the energy of the plan, and what its operators take layer by layer. Groups overlap: a group's
 * cycles are those by which its executions end later than all before it, the last one's go on to the end of the plan; so they add up. */
typedef struct tw_group_gain {
    int64_t cycles, energy_fj;
    int64_t layers_cycles, layers_energy_fj; /* -1: not known, or it has parts of them */
} tw_group_gain;
tw_group_gain tw_group_gain_of(const tw_plan *plan, int group);
#endif
