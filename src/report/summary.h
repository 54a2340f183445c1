/* src/report/summary.h - what a person wants to know first: how long, why not faster, how close to the
 * bound, does it fit, is it right; then the mapping as a table. */
#ifndef TW_REPORT_SUMMARY_H
#define TW_REPORT_SUMMARY_H
#include "report/cuts.h"
#include "report/line.h"
#include "report/plan.h"
#include "report/usage.h"

/* `verdict` NULL: not verified. */
void tw_summary_print(const tw_op_plan *plan, const tw_usage *usage, const tw_verdict *verdict, tw_line *line);
void tw_mapping_table_print(const tw_program *program, const tw_cuts *cuts, tw_line *line);
#endif
