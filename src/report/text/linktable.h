/* src/report/text/linktable.h - what crosses each link of an async plan, per operand and direction.
 *
 *   f       how often each element that the loops touch crosses: what was moved inwards by what must be; of the
 *           output, how often it leaves
 *   reuse   loop points per element moved, whichever way */
#ifndef TW_REPORT_TEXT_LINKTABLE_H
#define TW_REPORT_TEXT_LINKTABLE_H
#include "plan/plan.h"
#include "write/line.h"

TW_NODISCARD tw_status tw_linktable_print(const tw_op_plan *plan, tw_line *line, tw_arena *arena);
#endif
