/* src/report/facts/cuts.h - how the tiled levels of a program cut the loops, for people to read.
 *
 * A level is shown by what it does to the first and largest box that reaches it. */
#ifndef TW_REPORT_FACTS_CUTS_H
#define TW_REPORT_FACTS_CUTS_H
#include "program/program.h"

typedef struct tw_cuts {
    int n_levels; /* tiled levels, outermost first */
    struct {
        int64_t count[TW_MAX_LOOPS];   /* tiles                          */
        int64_t largest[TW_MAX_LOOPS]; /* points of the largest tile     */
        unsigned loops;                /* bit l: loop l is cut           */
        bool sums;                     /* an adder adds partial tiles up */
    } level[TW_MAX_MEMORIES];
} tw_cuts;

tw_cuts tw_cuts_of(const tw_program *program);
#endif
