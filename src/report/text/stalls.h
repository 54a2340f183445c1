/* src/report/text/stalls.h - where the time of an async plan goes: per engine busy, waiting for data, waiting for a credit,
 * idle; who makes up the critical path. */
#ifndef TW_REPORT_TEXT_STALLS_H
#define TW_REPORT_TEXT_STALLS_H
#include "plan/plan.h"
#include "write/line.h"

/* What a walk over the commands counts; a sink. */
typedef struct tw_activity {
    int64_t commands[TW_MAX_ENGINES];
} tw_activity;
tw_row_sink tw_activity_sink(tw_activity *activity);

/* Cycles that no schedule of these commands can beat: the longest that a unit must be busy. */
typedef struct tw_busiest {
    int engine;
    int64_t cycles; /* of its busiest unit, at least */
} tw_busiest;
tw_busiest tw_busiest_of(const tw_op_plan *plan);
/* The engine with the largest share of the critical path. */
int tw_most_critical(const tw_op_plan *plan);

/* Cycles that the engine's units are not busy and do not wait: before, between and after their commands. */
int64_t tw_idle_cycles(const tw_op_plan *plan, int engine);
/* Of the pools that the engine fills, the one for whose credits engines waited longest; NULL: none waited. */
const tw_pool_use *tw_worst_pool(const tw_op_plan *plan, int engine);
/* "ifm+w in l3" */
const char *tw_pool_name(const tw_pool_use *pool, tw_arena *arena);

/* One sentence: the bottleneck, and what it waits for. What would help is not guessed here (advise/remedy.h). NULL when out of
 * memory. */
const char *tw_stall_advice(const tw_op_plan *plan, tw_arena *arena);
/* The table. `activity` NULL: nobody watched, instructions stand for commands. */
TW_NODISCARD tw_status tw_stalls_print(const tw_op_plan *plan, const tw_activity *activity, tw_line *line,
                                       tw_arena *arena);
#endif
