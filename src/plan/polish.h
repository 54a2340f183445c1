/* src/plan/polish.h - a plan in groups, made better by small changes.
 *
 * Groups are found by counting tilings in closed form and simulating the best. What that leaves out, start and end, what waits for what,
 * a buffer more here than there, is found by trying: every change of plan/group_moves.h but fusion is simulated, one that helps is kept at once, and
 * the next ones are tried beside it; then all again for the new plan, until nothing helps or so many commands are simulated as take some tenths
 * of a second. What is found does not depend on the host. */
#ifndef TW_PLAN_POLISH_H
#define TW_PLAN_POLISH_H
#include "plan/group_moves.h"

/* *out is the plan itself where nothing is better by the price. Groups that are `fixed`, if there are any (NULL: none), stay as they are. */
TW_NODISCARD tw_status tw_joint_polish(const tw_plan *plan, const tw_pricing *by, const bool *fixed,
                                       const tw_work *work, const tw_plan **out);
#endif
