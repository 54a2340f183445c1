/* src/report/text/ops_table.h - the operators of a workload, a row each, where one screen has to do.
 *
 *       operator    cycles  share  of peak  lost to   gap   energy
 *       fc1         18'039     3%      45%     wait     -        -
 *       gru1_input  87'990    16%      68% overhead     -        -                                              */
#ifndef TW_REPORT_TEXT_OPS_TABLE_H
#define TW_REPORT_TEXT_OPS_TABLE_H
#include "plan/plan.h"
#include "write/line.h"

/* The table, and an empty line. */
TW_NODISCARD tw_status tw_ops_table_print(const tw_plan *plan, tw_line *line, tw_arena *scratch);
/* The fact "verified" of all operators together, and what is wrong. `verdict` NULL: nobody looked. */
void tw_ops_verdict_print(const tw_plan *plan, const tw_verdict *const *verdict, tw_line *line);
#endif
