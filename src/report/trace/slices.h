/* src/report/trace/slices.h - a plan as trace viewers show it: slices on tracks, links between them, counters.
 *
 *     operators  |matmul..........................
 *     dma        |ifm[0,0]|w[0,0]|waits for credit|ifm[0,1]|
 *     array      |waits for data |ofm[0,0]|                    ifm[0,0] is linked with ofm[0,0], which reads it
 *     l3 reserved   4096     8192                  4096
 *
 * A slice is a command: events that join it (trace.h) are in its name and among its links. So slices of one track never
 * overlap; they come in the order of time, the tracks in any order. Gaps that have a reason are slices, too. A link is a
 * residency: it begins with the slice that opens it and passes through those that read it or add to it, by time.
 *
 * Times are nanoseconds of the machine's clock, rounded down; without a clock a cycle is one. Values of one counter
 * come in the order of time. Memory grows with how far engines run ahead of each other, not with the plan. */
#ifndef TW_REPORT_TRACE_SLICES_H
#define TW_REPORT_TRACE_SLICES_H
#include "report/trace/trace.h"

typedef struct tw_slice_link {
    int64_t id; /* from 1 on */
    bool begins;
} tw_slice_link;

enum { TW_SLICE_LINKS = TW_MAX_OPERANDS * (TW_MAX_OPERANDS + 1), TW_SLICE_TEXT = 640 };

typedef struct tw_slice {
    int track;
    const char *name;     /* "w[3,7]", "ifm[0,2] + w[2,0]", "waits for credit" */
    const char *category; /* "load dram to l3", "execute on fabric", "wait", "operator" */
    const char *amount;   /* what `work` counts: "bytes", "points"; NULL: nothing */
    int64_t work;
    int64_t start_ns, end_ns;
    int n_links;
    const tw_slice_link *link;
} tw_slice;

/* Tracks and counters are announced before they are used, and numbered from 0, each on their own; those with smaller
 * ranks stand above. */
typedef struct tw_slice_sink {
    tw_status (*track)(void *user, int track, const char *name, int rank);
    tw_status (*counter)(void *user, int counter, const char *name, const char *unit, int rank);
    tw_status (*slice)(void *user, const tw_slice *slice);
    tw_status (*value)(void *user, int counter, int64_t ns, int64_t value);
    void *user;
} tw_slice_sink;

/* Counters: units reserved per memory, free buffers per pool (async), units on their way per mover. TW_INFEASIBLE when
 * the plan takes longer than 2^63 nanoseconds. */
TW_NODISCARD tw_status tw_slices_walk(const tw_plan *plan, const tw_slice_sink *sink, tw_arena *scratch,
                                      tw_diag *diag);
/* What a trace is made of: a plan, or several. */
typedef struct tw_slice_source {
    const char *title;
    tw_status (*walk)(const void *user, const tw_slice_sink *sink, tw_arena *scratch, tw_diag *diag);
    const void *user;
} tw_slice_source;
/* `text` has room for TW_SLICE_TEXT bytes: it becomes the title. */
tw_slice_source tw_slices_of_plan(const tw_plan *plan, char *text);
/* "matmul on kpu, 1000 MHz", "matmul on tick-10k, 1 cycle = 1 ns"; `text` has room for TW_SLICE_TEXT bytes and is
 * returned. */
const char *tw_slices_title(const tw_plan *plan, char *text);
#endif
