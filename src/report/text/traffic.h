/* src/report/text/traffic.h - what crosses each link: per operand how often, how much, how much more than it must. */
#ifndef TW_REPORT_TEXT_TRAFFIC_H
#define TW_REPORT_TEXT_TRAFFIC_H
#include "plan/plan.h"
#include "write/line.h"

void tw_traffic_print(const tw_op_plan *plan, tw_line *line);
#endif
