/* src/advise/whynot.h - a mapping does not fit: which memory, by how much, could an allocator help, and what would fit?
 *
 * Nothing here is estimated. Every change is laid out and placed; of those that fit the time is simulated, as `eval`
 * does. */
#ifndef TW_ADVISE_WHYNOT_H
#define TW_ADVISE_WHYNOT_H
#include "plan/plan.h"

/* See tw_plan_why_not. */
TW_NODISCARD tw_status tw_why_not_find(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                                       const tw_work *work, const tw_why_not **out);
#endif
