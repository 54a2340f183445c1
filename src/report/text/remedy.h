/* src/report/text/remedy.h - what would help, as a table and as data.
 *
 *         cycles    gain  what would help
 *         11'934    8.1%  dma: twice as fast: 128 bytes per cycle
 *         12'800    1.4%  l2: twice as large: 131'072 bytes (best found)
 *       no gain     more memory: l3, l1; more channels: dma, mover                                             */
#ifndef TW_REPORT_TEXT_REMEDY_H
#define TW_REPORT_TEXT_REMEDY_H
#include "plan/plan.h"
#include "write/json.h"
#include "write/line.h"

/* Rows for changes that make a difference, then, by their names, those that do not. `plan` is the one that they
 * were found for. */
TW_NODISCARD tw_status tw_report_remedies_text(const tw_plan *plan, const tw_remedy *remedy, int n, tw_line *line);
/* An array, one object for each. */
void tw_report_remedies_json(const tw_remedy *remedy, int n, tw_json *j);
#endif
