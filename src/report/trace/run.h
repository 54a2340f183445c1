/* src/report/trace/run.h - what a trace is written from: one plan, or the steps of a network one after the other.
 *
 *     operators  |conv1.....|pool1|conv2...............|     each step where the sum of those before it says
 *     dma        |..........|.....|....................|     tracks and counters of one name are one
 *
 * A network's trace is that of its steps, shifted: equal layers have one plan, whose slices then come several times, with
 * links of their own. Steps without a plan take no time. */
#ifndef TW_REPORT_TRACE_RUN_H
#define TW_REPORT_TRACE_RUN_H
#include "plan/network.h"
#include "report/trace/slices.h"

typedef struct tw_slice_source {
    const tw_plan *plan;            /* NULL: a network */
    const tw_network_plan *network; /* NULL: one plan  */
} tw_slice_source;

/* As tw_slices_walk. TW_INFEASIBLE also when no step of the network has a plan. */
TW_NODISCARD tw_status tw_source_walk(const tw_slice_source *source, const tw_slice_sink *sink, tw_arena *scratch,
                                      tw_diag *diag);
/* As tw_slices_title; a network is called like its file. */
const char *tw_source_title(const tw_slice_source *source, char *text);
#endif
