/* src/report/facts/bound.h - what no schedule of these tiles can beat. Simple and honest: see bound.c. */
#ifndef TW_REPORT_FACTS_BOUND_H
#define TW_REPORT_FACTS_BOUND_H
#include "plan/plan.h"
#include "report/facts/usage.h"

typedef struct tw_bound {
    int64_t ticks;  /* of any lockstep program with as many executions                          */
    int64_t cycles; /* the busiest engine that works on one thing at a time                     */
    int engine;     /* which engine that is                                                     */
} tw_bound;

/* `usage` of a whole walk. */
tw_bound tw_bound_of(const tw_op_plan *plan, const tw_usage *usage);
#endif
