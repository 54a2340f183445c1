/* src/emit/best.h - the best plan among those that Quidditch can be told.
 *
 * What its attribute can say may be a small part of what a machine can do, and then the best plan of all often has no
 * attribute. Here each family of mappings that have one (emit/quidditch.h) is searched, and the best of their best taken. */
#ifndef TW_EMIT_BEST_H
#define TW_EMIT_BEST_H
#include "plan/plan.h"

/* As tw_plan_find, latency being the objective; limits are not heard. Dispatches without an attribute get the best mapping
 * of all. */
TW_NODISCARD tw_status tw_lowered_find(const tw_model *model, const tw_machine *machine,
                                       const tw_search_options *options, const tw_work *work, const tw_plan **out);
#endif
