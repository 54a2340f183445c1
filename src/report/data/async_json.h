/* src/report/data/async_json.h - the part of the plan's document that only async machines have: docs/json.md, "async". */
#ifndef TW_REPORT_DATA_ASYNC_JSON_H
#define TW_REPORT_DATA_ASYNC_JSON_H
#include "plan/plan.h"
#include "write/json.h"

/* Key and value, inside the operator's object. */
TW_NODISCARD tw_status tw_async_json(const tw_op_plan *plan, tw_json *j, tw_arena *scratch);
#endif
