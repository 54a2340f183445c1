/* src/report/data/losses_json.h - the losses of a plan, an operator or a network for programs: docs/json.md. */
#ifndef TW_REPORT_DATA_LOSSES_JSON_H
#define TW_REPORT_DATA_LOSSES_JSON_H
#include "report/facts/losses.h"
#include "write/json.h"

/* The value alone: an object. */
TW_NODISCARD tw_status tw_losses_json(const tw_losses *losses, tw_arena *scratch, tw_json *j);
/* The keys "losses" and, of a plan of groups, "engine_losses" with those of every compute engine that executes anything. */
TW_NODISCARD tw_status tw_plan_losses_json(const tw_plan *plan, tw_arena *scratch, tw_json *j);
#endif
