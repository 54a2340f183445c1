/* src/report/text/network_table.h - the steps and layers of a planned network as tables.
 *
 *     wide      steps with all that is known of each; layers by memory
 *     80        steps: cycles, gap, busy, limit; layers: work, bound, energy; layers by memory
 *
 * Steps and layers are numbered from 0, as in the JSON document. Of a long list the most expensive steps are shown, in order,
 * unless options->n_rows asks for others. */
#ifndef TW_REPORT_TEXT_NETWORK_TABLE_H
#define TW_REPORT_TEXT_NETWORK_TABLE_H
#include "plan/network.h"
#include "write/line.h"

TW_NODISCARD tw_status tw_network_tables_print(const tw_network_plan *plan, const tw_network_verdict *verdict,
                                               const tw_print_options *options, tw_arena *scratch, tw_line *line);
#endif
