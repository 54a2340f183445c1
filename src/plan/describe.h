/* src/plan/describe.h - placings as the public interface shows them: names instead of numbers, and what follows from them. */
#ifndef TW_PLAN_DESCRIBE_H
#define TW_PLAN_DESCRIBE_H
#include "plan/plan.h"

TW_NODISCARD tw_status tw_placement_describe(const tw_placing *placing, const tw_op_plan *op, tw_arena *arena,
                                             tw_placement_use *out);
/* One per placing of the plan. */
TW_NODISCARD tw_status tw_placements_describe(const tw_placing *placing, int n, const tw_op_plan *op,
                                              tw_arena *arena, const tw_placement_use **out);
#endif
