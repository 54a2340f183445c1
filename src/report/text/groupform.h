/* src/report/text/groupform.h - the closed form of a group (plan/groupform.h) in words. */
#ifndef TW_REPORT_TEXT_GROUPFORM_H
#define TW_REPORT_TEXT_GROUPFORM_H
#include "plan/plan.h"
#include "core/core.h"

/* "closed form: 45'120 cycles of load, 51'044 simulated; computed again in 3'528 cycles, not moved in 100'352: pays; weights loaded once" */
void tw_group_form_print(const tw_plan *plan, int group, tw_text *out);
#endif
