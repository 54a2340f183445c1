/* src/report/trace/perfetto.h - a plan, or those of a network, as a trace that Perfetto opens (ui.perfetto.dev, or any build of it).
 *
 * Native packets, written as they are known: one group of tracks named after the plan, in it the operators, the engines
 * in the order of the machine, and the counters. See slices.h for what they show, docs/trace.md for how to look at it. */
#ifndef TW_REPORT_TRACE_PERFETTO_H
#define TW_REPORT_TRACE_PERFETTO_H
#include "report/trace/slices.h"

TW_NODISCARD tw_status tw_report_perfetto(const tw_slice_source *source, tw_arena *scratch, tw_diag *diag,
                                          FILE *out);
/* The same as JSON in the form of Chrome's about:tracing, which Perfetto reads as well. */
TW_NODISCARD tw_status tw_report_chrome(const tw_slice_source *source, tw_arena *scratch, tw_diag *diag, FILE *out);
#endif
