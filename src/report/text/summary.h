/* src/report/text/summary.h - what a person wants to know first: how long, why not faster, how close to the
 * bound, does it fit, is it right; then the mapping as a table. */
#ifndef TW_REPORT_TEXT_SUMMARY_H
#define TW_REPORT_TEXT_SUMMARY_H
#include "plan/plan.h"
#include "report/facts/cuts.h"
#include "report/facts/usage.h"
#include "write/line.h"

/* Columns of a fact's name and of its text: "  bottleneck  dma: ..". */
enum { TW_FACT_NAME = 2, TW_FACT_TEXT = 14 };
void tw_fact_put(tw_line *line, tw_style style, const char *name, const char *text);
/* Appends ": 10% above" or ": reached". */
void tw_distance_add(char *text, size_t size, int64_t value, int64_t bound);
/* Only a plan that was executed too is called verified. `unit` is what it was checked by: "rows", "commands". */
void tw_verdict_print(const tw_verdict *verdict, const char *unit, tw_line *line);

/* `verdict` NULL: not verified. */
TW_NODISCARD tw_status tw_summary_print(const tw_op_plan *plan, const tw_usage *usage, const tw_verdict *verdict,
                                        const tw_print_options *options, tw_line *line, tw_arena *arena);
void tw_mapping_table_print(const tw_program *program, const tw_cuts *cuts, tw_line *line);
#endif
