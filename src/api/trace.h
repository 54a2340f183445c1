/* src/api/trace.h - what the public functions that write traces share. */
#ifndef TW_API_TRACE_H
#define TW_API_TRACE_H
#include "plan/context.h"
#include "report/trace/slices.h"

/* Writes the trace of a plan, or of a network, compressed if asked for. */
TW_NODISCARD tw_status tw_context_print_trace(tw_context *ctx, const tw_slice_source *source,
                                              tw_trace_format format, bool gzip, FILE *out);
#endif
