/* src/report/text/joint_dump.h - stages of a plan of groups as stable text, see dump.c. */
#ifndef TW_REPORT_TEXT_JOINT_DUMP_H
#define TW_REPORT_TEXT_JOINT_DUMP_H
#include "plan/plan.h"

#include <stdio.h>

/* Where every buffer lies. */
void tw_joint_layout_print(const tw_plan *plan, tw_text *out);
/* The holds of each group. */
void tw_joint_program_print(const tw_plan *plan, tw_text *out);
/* The sums; the commands follow. */
void tw_joint_timeline_print(const tw_plan *plan, tw_text *out);
/* "command 3 big.load unit 0 cycles 116..142 busy 132 wait data 116 load wide.w[0,1] 2048 dram -> big.l1 slot 1" */
void tw_joint_command_print(const tw_plan *plan, const tw_rowset *row, tw_text *out);
#endif
