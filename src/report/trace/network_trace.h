/* src/report/trace/network_trace.h - a planned network as one plan whose operators are its steps, one after the other: what traces show. */
#ifndef TW_REPORT_TRACE_NETWORK_TRACE_H
#define TW_REPORT_TRACE_NETWORK_TRACE_H
#include "plan/network.h"

/* Steps without a plan are left out. TW_ERR_INPUT when none has one. What it points to is in `arena` or in the network's plan. */
TW_NODISCARD tw_status tw_network_as_plan(const tw_network_plan *plan, tw_arena *arena, tw_diag *diag,
                                          tw_plan *out);
#endif
