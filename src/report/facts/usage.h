/* src/report/facts/usage.h - where the time of a plan goes. A sink for rows, fed by one walk.
 *
 *   active     cycles in which an engine has something under way
 *   decisive   cycles for which a row waits for this engine: it ends last (on a tie the compute engine, then
 *              the adders, then the movers, by index). Every cycle of the plan is decisive for exactly
 *              one engine, so the shares add up to 100 %: the largest one names the bottleneck. */
#ifndef TW_REPORT_FACTS_USAGE_H
#define TW_REPORT_FACTS_USAGE_H
#include "program/program.h"

typedef struct tw_usage {
    const tw_program *program;
    int64_t active_cycles[TW_MAX_ENGINES];
    int64_t decisive_cycles[TW_MAX_ENGINES];
    int64_t peak_live[TW_MAX_MEMORIES];     /* of memories that a level tiles for                    */
    int64_t peak_tick[TW_MAX_MEMORIES];     /* first row that reaches it, -1: the memory has no rows */
    int64_t n_reading_nothing;              /* executions and fills of the compute engine without a source   */
    int64_t inner_end[TW_MAX_MEMORIES + 1]; /* per level: end of its newest row                      */
} tw_usage;

void tw_usage_init(tw_usage *usage, const tw_program *program);
tw_row_sink tw_usage_sink(tw_usage *usage);
/* The engine with the most decisive cycles. */
int tw_usage_bottleneck(const tw_usage *usage);
#endif
