/* src/plan/sums.h - a model as it is, or with reductions divided that cores share: whichever is better.
 *
 * Cores share the points of parallel loops as they are. A product with few outputs and a long sum has no such loops, or arrays stay empty when they are cut: there each core makes a sum
 * of its own, and one adds them up (model/summed.h). Of models of up to four operators, planned on several cores for time, the operators with the most points are divided one after
 * the other along their longest reduction, into two sums and into as many as there are cores (at most five), and what is better is kept; not where the plan as it is takes
 * at most a tenth more than the bound. */
#ifndef TW_PLAN_SUMS_H
#define TW_PLAN_SUMS_H
#include "plan/plan.h"

/* *out is the plan of the request as it is, and may become one of a model with divided sums. */
TW_NODISCARD tw_status tw_sums_improve(const tw_request *asked, const tw_work *work, const tw_plan **out);
#endif
