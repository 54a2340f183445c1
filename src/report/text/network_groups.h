/* src/report/text/network_groups.h - steps of a network that are programs: against layer by layer, and group by group. */
#ifndef TW_REPORT_TEXT_NETWORK_GROUPS_H
#define TW_REPORT_TEXT_NETWORK_GROUPS_H
#include "plan/network.h"
#include "write/line.h"

/* "8.26x as fast as layer by layer, which takes .." and what is not moved; nothing where all steps are done by their layers. */
void tw_network_gain_print(const tw_network_plan *plan, tw_line *line);
/* What the programs take on each core alone and in equal parts, added up, and how many of them are proven; nothing on one core. */
void tw_network_cores_print(const tw_network_plan *plan, tw_line *line, tw_arena *scratch);
/* A row per group of several steps, the first few; of all groups with `all`. Steps have the numbers of the other tables. */
TW_NODISCARD tw_status tw_network_groups_print(const tw_network_plan *plan, bool all, tw_line *line,
                                               tw_arena *scratch);
#endif
