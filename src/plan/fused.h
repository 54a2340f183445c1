/* src/plan/fused.h - a plan layer by layer, or the same model as groups on one timeline: whichever is better by the objectives. */
#ifndef TW_PLAN_FUSED_H
#define TW_PLAN_FUSED_H
#include "plan/plan.h"

/* Whether groups are looked for at all: of several operators, by an objective that groups can be compared by, and without limits of a
 * partial mapping, which are about operators one by one. */
bool tw_fused_is_asked(const tw_request *asked);
/* `apart` is the plan of the same request, of operators that look like `alone` (fuse.h) or, if that is NULL, as in the model; *out is the
 * better one. Of `apart` the mapping and the sums are read alone. */
TW_NODISCARD tw_status tw_fused_find(const tw_request *asked, const tw_plan *apart, const tw_op *alone,
                                     const tw_work *work, const tw_plan **out);
#endif
