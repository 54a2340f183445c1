/* src/plan/off_chip.h - groups for any objective that they are searched for, the traffic of the outermost memory among them.
 *
 * The search for groups weighs cycles and energy (fuse/tiling.h). What passes into and out of the outermost memory is the energy of a machine on which
 * each unit read or written there costs 1 and nothing else costs anything: groups are found on that machine, and become a plan of the one that was
 * given. Behind latency it is what decides within a tolerance, or among equals. So traffic has seeds, small spaces, small changes and several cores like any other objective. */
#ifndef TW_PLAN_OFF_CHIP_H
#define TW_PLAN_OFF_CHIP_H
#include "plan/plan.h"

/* The best plan in groups, or `apart`, the plan layer by layer, if that is better (NULL: there is none). `alone`: as tw_fused_find has it; of `apart_units`, units
 * that it moves over the links of the outermost memory, asks only this objective. TW_INFEASIBLE, without a word, when there is neither. */
TW_NODISCARD tw_status tw_groups_find(const tw_request *asked, const tw_plan *apart, int64_t apart_units,
                                      const tw_op *alone, const tw_work *work, const tw_plan **out);
/* Units that a plan moves over the links of the outermost memory: of groups all, of layers those of operator `op`. */
int64_t tw_off_chip_of_groups(const tw_plan *plan);
int64_t tw_off_chip_of_op(const tw_plan *plan, int op);
#endif
