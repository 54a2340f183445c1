/* src/report/trace/network_trace.h - a planned network as plans that follow each other: what traces, events and charts show.
 *
 *     0 .. 3   conv relu conv add      a program of groups, on one timeline
 *     4 .. 5   NonZero conv            steps by their layers, one after the other
 *     6 .. 8   conv conv pool          a program
 *
 * Steps of the host, and others without a plan, take no time and are left out. */
#ifndef TW_REPORT_TRACE_NETWORK_TRACE_H
#define TW_REPORT_TRACE_NETWORK_TRACE_H
#include "plan/network.h"
#include "report/trace/slices.h"

typedef struct tw_network_section {
    int first_step, n_steps; /* those without a plan included            */
    tw_plan plan;            /* a program, or operators that are steps    */
    int64_t begin_cycle;     /* of the network                            */
    int64_t n_commands;      /* of it                                     */
} tw_network_section;

/* TW_ERR_INPUT when no step has a plan. What it points to is in `arena` or in the network's plan. */
TW_NODISCARD tw_status tw_network_sections(const tw_network_plan *plan, tw_arena *arena, tw_diag *diag,
                                           const tw_network_section **out, int *n);
/* The slices of all sections on one timeline: tracks and counters of one name are the same. */
TW_NODISCARD tw_status tw_network_slices(const tw_network_plan *plan, tw_arena *scratch, tw_diag *diag,
                                         tw_slice_source *out);
#endif
