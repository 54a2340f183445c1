/* src/report/text/ticktable.h - who does what in each tick, and what every buffer holds then.
 *
 *     tick  move                    mac           adder          live
 *        3  (1,1)>w1                (0,1,0)>o2    o0+o1>o0     77'824 <- peak
 *   buffer |ifm0 (0,0)  |ifm1 (0,1)  |w0 (0,1)    >w1 (1,1)    |o0|o1>o2|         |
 *
 * One column per engine that the plan uses: the movers from the outermost to the innermost, the compute engine, the
 * adders. What an outer level executes stands in the compute engine's column: the rows below it do it, from the first
 * to the last tick of the heading's range, and they are indented. Where the line is too narrow for that without
 * breaking words, the levels of a nested plan share columns: each level has a header line of its own, which says
 * what stands in the column in the rows of that level:
 *
 *     ticks      move2         run in l1    add2            live
 *       tick     move1         mac                          live
 *
 * Two walks over the rows: the first one measures and notes lifetimes, the second one prints. */
#ifndef TW_REPORT_TEXT_TICKTABLE_H
#define TW_REPORT_TEXT_TICKTABLE_H
#include "plan/plan.h"
#include "report/facts/usage.h"
#include "report/text/bar.h"
#include "sim/fanout.h"
#include "sim/timeline.h"

enum { TW_TABLE_COLUMNS = 2 * TW_MAX_MEMORIES };

/* A way to give engines columns, and the room that it takes; [1] of a pair: with initials. */
typedef struct tw_tick_columns {
    bool shared; /* by engines of different levels */
    int n;
    int of[TW_MAX_MEMORIES][TW_MAX_ENGINES]; /* column of an engine in rows of a level, -1: it has none there */
    int natural[2][TW_TABLE_COLUMNS];        /* width of the fullest cell                                     */
    int word[2][TW_TABLE_COLUMNS];           /* width of the longest word                                     */
} tw_tick_columns;

typedef struct tw_headings { /* ranges of ticks of the printed heading rows of one level */
    int64_t n, room, next;
    tw_span *range;
} tw_headings;

typedef struct tw_ticktable {
    const tw_program *program;
    tw_cuts cuts;
    const tw_usage *usage;
    tw_line *line;
    tw_arena *arena;
    tw_shown shown;
    tw_notation notation;
    tw_lifetimes lives;
    tw_holdings holdings;
    tw_headings heading[TW_MAX_MEMORIES];
    int64_t tick;                   /* newest row of any level                                     */
    int64_t due;                    /* first tick that was neither printed nor said to be left out */
    tw_tick_columns apart, shared;  /* both are measured                                           */
    const tw_tick_columns *columns; /* the one of them that is printed                             */
    int at[TW_TABLE_COLUMNS], width[TW_TABLE_COLUMNS];
    int gutter, live_width;
    tw_bar bar[TW_MAX_MEMORIES]; /* of the memories but the outermost */
} tw_ticktable;

/* `usage` is read when the table is printed, not before. */
tw_status tw_ticktable_init(tw_ticktable *table, const tw_op_plan *plan, const tw_usage *usage,
                            const tw_shown *shown, tw_line *line, tw_arena *arena);
/* Adds what has to see the first walk. */
void tw_ticktable_measure(tw_ticktable *table, tw_row_fanout *fanout);
/* After it: legend and header. */
tw_status tw_ticktable_begin(tw_ticktable *table);
/* For the second walk. */
tw_row_sink tw_ticktable_rows(tw_ticktable *table);
void tw_ticktable_end(tw_ticktable *table);
#endif
