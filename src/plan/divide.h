/* src/plan/divide.h - a model as it is, or with operators divided whose pieces cores share: whichever is better.
 *
 * Cores share the points of one operator's parallel loops as it is, but what they make of it in parts passes memory 0. Divided operators (model/divided.h) have tensors of their own for each
 * piece: sums that each core makes and one adds up, and parts that stay on the core that makes them for what it makes next. Of models of up to six operators, planned on several
 * cores for time, up to four divisions are tried one after the other: of the operators with the most points, along their longest reduction, and along a parallel loop together with all that read
 * it, down to where it is added up; each into two pieces and into as many as there are cores (at most five). What is better is kept; nothing is tried where the plan as it is takes at most a
 * tenth more than the bound, or has parts that stay and are exchanged (exchange.h). */
#ifndef TW_PLAN_DIVIDE_H
#define TW_PLAN_DIVIDE_H
#include "plan/plan.h"

/* *out is the plan of the request as it is, and may become one of a model with divided operators. */
TW_NODISCARD tw_status tw_divide_improve(const tw_request *asked, const tw_work *work, const tw_plan **out);
#endif
