/* src/report/text/remedy.h - what would help, as a table and as data.
 *
 *       what would help                                gain  cycles
 *       dma              11% more: 71 bytes per cycle  8.1%  11'934  proven
 *       l2               10% larger: 72'090 bytes      1.4%  12'800  best found
 *       no gain     more memory: l3, l1; more channels: dma, mover                                             */
#ifndef TW_REPORT_TEXT_REMEDY_H
#define TW_REPORT_TEXT_REMEDY_H
#include "plan/plan.h"
#include "write/json.h"
#include "write/line.h"

/* Rows for changes that make a difference, then, by their names, those that do not. `plan` is the one that they
 * were found for. */
TW_NODISCARD tw_status tw_report_remedies_text(const tw_plan *plan, const tw_remedy *remedy, int n, tw_line *line,
                                               tw_arena *arena);
/* An array, one object for each. */
void tw_report_remedies_json(const tw_remedy *remedy, int n, tw_json *j);
#endif
