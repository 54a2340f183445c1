/* src/report/facts/holding.h - what every buffer holds, row by row.
 *
 * Whether a value is dead shows only later, when nobody reads it any more. So the rows are walked twice: the
 * first walk notes the lifetime of every value, the second replays them. Only lifetimes that meet a printed
 * row are kept, so memory grows with what is printed and not with the plan.
 *
 *     row        4         5         6         7
 *     ifm0       write     read      read      (dead)       born 4, last use 6
 *
 * A level's buffers are those of its own memory and of the memories that it passes through. Rows of
 * another level read and write them too, on behalf of the level's EXEC; those accesses do not count. */
#ifndef TW_REPORT_FACTS_HOLDING_H
#define TW_REPORT_FACTS_HOLDING_H
#include "program/program.h"
#include "report/facts/shown.h"

typedef struct tw_life {
    int64_t born, last_use; /* ticks of rows */
} tw_life;

typedef struct tw_lifetimes {
    const tw_program *program;
    const tw_shown *shown;
    tw_arena *arena;
    int64_t tick; /* newest row of any level            */
    struct tw_buffer_lives {
        int64_t n, room;
        tw_life *life; /* finished ones that meet a printed row, in order */
        bool open;
        tw_life now;
        int64_t last_tick; /* the row of last_use ends with this tick */
    } * buffer;            /* one per buffer of the layout       */
} tw_lifetimes;

/* A sink for the first walk; close after its last row. */
tw_status tw_lifetimes_init(tw_lifetimes *lives, const tw_program *program, const tw_shown *shown, tw_arena *arena);
tw_row_sink tw_lifetimes_sink(tw_lifetimes *lives);
tw_status tw_lifetimes_close(tw_lifetimes *lives);

typedef struct tw_holding {
    bool full;    /* some value was written                       */
    bool alive;   /* and will still be read                       */
    bool written; /* in the row that was applied last             */
    bool partial; /* an output over a part of the reduction       */
    int64_t last_use;
    int64_t index[TW_MAX_LOOPS]; /* tile                          */
} tw_holding;

typedef struct tw_holdings {
    const tw_program *program;
    const tw_lifetimes *lives;
    int64_t *next;    /* per buffer: the next life to begin */
    tw_holding *held; /* per buffer                         */
} tw_holdings;

tw_status tw_holdings_init(tw_holdings *h, const tw_program *program, const tw_lifetimes *lives, tw_arena *arena);
/* The state during `row`, exact for the buffers of the row's level when the row is printed. */
void tw_holdings_apply(tw_holdings *h, const tw_rowset *row);

/* The tiled level whose buffers lie in `memory`. */
int tw_level_of_memory(const tw_program *program, int memory);
#endif
