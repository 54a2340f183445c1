/* src/report/data/joint_events.h - the commands of a plan of groups for programs: see events.c and docs/json.md. */
#ifndef TW_REPORT_DATA_JOINT_EVENTS_H
#define TW_REPORT_DATA_JOINT_EVENTS_H
#include "report/report.h"

#include <stdio.h>

/* As JSON lines or as CSV; of one engine of the platform, -1: of all. TW_ERR_IO, and nothing is said, when `out` failed. */
TW_NODISCARD tw_status tw_joint_events(const tw_plan *plan, const tw_event_origin *origin, bool csv, int engine,
                                       tw_arena *scratch, tw_diag *diag, FILE *out);
#endif
