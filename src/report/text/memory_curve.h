/* src/report/text/memory_curve.h - how full the memories of a plan of groups are over time, a line each.
 *
 *     in use over time, of the most at once
 *     a.sram  ▃▅▇███████████████████▇▅▁  5'004 of 81'920 from 798 */
#ifndef TW_REPORT_TEXT_MEMORY_CURVE_H
#define TW_REPORT_TEXT_MEMORY_CURVE_H
#include "plan/plan.h"
#include "write/line.h"

/* Of memories with buffers; of more than 16 the rest is counted. */
void tw_memory_curves_print(const tw_plan *plan, tw_line *line);
#endif
