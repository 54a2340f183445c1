/* src/report/text/async.h - the page about one operator on an async machine: what a person wants to know first, then what
 * crosses each link, the memories as a picture, where the time goes, and the engines over time. */
#ifndef TW_REPORT_TEXT_ASYNC_H
#define TW_REPORT_TEXT_ASYNC_H
#include "plan/plan.h"
#include "write/line.h"

/* `arena` holds what is kept for the page, `scratch` is the walk's own. */
TW_NODISCARD tw_status tw_async_print(const tw_op_plan *plan, const tw_verdict *verdict,
                                      const tw_print_options *options, tw_line *line, const tw_work *work);
/* "matmul on kpu  m 128, n 128, k 128, 2'097'152 points", on two lines where one is too short. */
void tw_heading_print(const tw_op_plan *plan, tw_line *line);
#endif
