/* src/report/text/whynot.h - why a mapping does not fit, for people and for programs. */
#ifndef TW_REPORT_TEXT_WHYNOT_H
#define TW_REPORT_TEXT_WHYNOT_H
#include "plan/plan.h"

tw_status tw_report_whynot_text(const tw_why_not *why, const tw_print_options *options, tw_arena *scratch,
                                tw_diag *diag, FILE *out);
tw_status tw_report_whynot_json(const tw_why_not *why, tw_diag *diag, FILE *out);
#endif
