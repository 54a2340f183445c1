/* src/report/ticktable.h - who does what in each tick, and what every buffer holds then.
 *
 *     tick  move                    mac           adder          live
 *        3  (1,1)>w1                (0,1,0)>o2    o0+o1>o0     77'824 <- peak
 *   buffer |ifm0 (0,0)  |ifm1 (0,1)  |w0 (0,1)    >w1 (1,1)    |o0|o1>o2|         |
 *
 * One column per engine that the plan uses. A row that contains the rows of an inner level is a heading with
 * its range of ticks, and the inner rows are indented. Two walks over the rows: the first one
 * measures and notes lifetimes, the second one prints. */
#ifndef TW_REPORT_TICKTABLE_H
#define TW_REPORT_TICKTABLE_H
#include "report/bar.h"
#include "report/usage.h"
#include "sim/timeline.h"

enum { TW_TABLE_COLUMNS = TW_MAX_MEMORIES + 2 };

typedef struct tw_headings { /* ranges of ticks of the printed heading rows of one level */
    int64_t n, room, next;
    tw_span *range;
} tw_headings;

typedef struct tw_ticktable {
    const tw_program *program;
    const tw_cuts *cuts;
    const tw_usage *usage;
    tw_line *line;
    tw_arena *arena;
    tw_shown shown;
    tw_notation notation;
    tw_lifetimes lives;
    tw_holdings holdings;
    tw_headings heading[TW_MAX_MEMORIES];
    int64_t tick;                     /* newest row of any level                                     */
    int64_t due;                      /* first tick that was neither printed nor said to be left out */
    int n_movers, n_columns;          /* movers first, then execution, then sums                     */
    int natural[2][TW_TABLE_COLUMNS]; /* width of the fullest cell; [1]: with initials               */
    int word[2][TW_TABLE_COLUMNS];    /* width of the longest word                                   */
    int at[TW_TABLE_COLUMNS], width[TW_TABLE_COLUMNS];
    int gutter, live_width;
} tw_ticktable;

/* `usage` is read when the table is printed, not before. */
tw_status tw_ticktable_init(tw_ticktable *table, const tw_program *program, const tw_cuts *cuts,
                            const tw_usage *usage, const tw_timeline *timeline, const tw_shown *shown,
                            tw_line *line, tw_arena *arena);
/* For the first walk. */
tw_row_sink tw_ticktable_measure(tw_ticktable *table);
/* After it: legend and header. */
tw_status tw_ticktable_begin(tw_ticktable *table);
/* For the second walk. */
tw_row_sink tw_ticktable_rows(tw_ticktable *table);
void tw_ticktable_end(tw_ticktable *table);
#endif
