/* src/plan/lifetime.h - when each buffer of an operator is used. */
#ifndef TW_PLAN_LIFETIME_H
#define TW_PLAN_LIFETIME_H
#include "plan/plan.h"
#include "tilewright/build.h"

/* Per buffer of the program's layout, in `arena`; the timeline is walked once. */
TW_NODISCARD tw_status tw_lifetimes_of(const tw_op_plan *plan, const tw_work *work, tw_buffer_info **out);
#endif
