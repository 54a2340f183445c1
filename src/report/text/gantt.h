/* src/report/text/gantt.h - the engines of an async plan over time, one row per engine or unit.
 *
 *     dma       IiiiWwwwIiiiWwww▒▒▒▒WwwwWwww           93%
 *     mover     ░░░░IiiiWwwwIiii                       41%
 *     array     ░░░░░░░░░░░░▐███▐███░░░░▐███           55%
 *               ┴─────────┴─────────┴─────────┴─────────
 *               0         100       200       300
 *
 * A cell is a slice of time and shows what happens in it: an operand on its way, a run, waiting for data, waiting for
 * a credit, or nothing. Where a cell holds several of these they take turns along the row, so that each has as many
 * cells as its share of the time; a single cell is right to within its neighbour. Where commands are longer than
 * cells, the first cell of each looks different. A sink for commands: it needs the same memory for any number. */
#ifndef TW_REPORT_TEXT_GANTT_H
#define TW_REPORT_TEXT_GANTT_H
#include "plan/plan.h"
#include "write/line.h"

enum { TW_GANTT_UNITS = 4 }; /* an engine of more units has one row */

/* Who plays, and what about: a chart knows no more of a program than this. */
typedef struct tw_gantt_engine {
    const char *name;
    int64_t units;
} tw_gantt_engine;
typedef struct tw_gantt_thing { /* that commands are about: an operand, a tensor, an operator */
    const char *name;
    char letter; /* of a..z, the first cell of a command has it as a capital */
    tw_style style;
} tw_gantt_thing;
enum { TW_GANTT_RUNS = -1, TW_GANTT_SEVERAL = -2, TW_GANTT_THINGS = 48 };
typedef struct tw_gantt_cast {
    int n_engines;
    const tw_gantt_engine *engine;
    int n_things; /* at most TW_GANTT_THINGS */
    const tw_gantt_thing *thing;
    /* The thing that a command is about, TW_GANTT_RUNS: the engine runs, TW_GANTT_SEVERAL: several things. */
    int (*about)(const void *user, const tw_rowset *row);
    const void *user;
} tw_gantt_cast;
/* Operands of an operator, by their initials. */
TW_NODISCARD tw_status tw_gantt_cast_of(const tw_program *program, tw_arena *arena, tw_gantt_cast *out);
/* Tensors and operators of groups. */
TW_NODISCARD tw_status tw_gantt_cast_of_joint(const tw_plan *plan, tw_arena *arena, tw_gantt_cast *out);

typedef struct tw_gantt_row {
    int engine, unit; /* unit -1: all of them */
    int64_t begins;   /* commands that begin in the shown span */
    int64_t busy;     /* cycles in it, of `units` units        */
    int64_t units;
    int cell; /* looked up last, and its cycles */
    tw_span now;
} tw_gantt_row;

typedef struct tw_gantt {
    tw_gantt_cast cast;
    tw_span shown;
    int cells, width; /* slices of time, and columns of each: more than 1 where cycles are fewer than columns */
    int name_width;
    int n_rows;
    tw_gantt_row *row;
    int *first_row;  /* per engine                                    */
    int64_t *cycles; /* per row, cell and kind of what takes the time */
    uint64_t *began; /* per row and cell: bit k, a command of kind k begins there */
    uint64_t occurs; /* bit k: kind k occurs                          */
    /* To end a walk behind the shown cycles: */
    int64_t *left;   /* instructions of each engine that are still to come    */
    int64_t *beyond; /* its last commands in a row that start behind the span */
    bool done;
} tw_gantt;

/* A chart of the cycles `shown`, not empty, that fits the line. */
TW_NODISCARD tw_status tw_gantt_init(tw_gantt *gantt, const tw_gantt_cast *cast, tw_span shown, const tw_line *line,
                                     tw_arena *arena);
tw_row_sink tw_gantt_sink(tw_gantt *gantt);
/* Walks the plan until nothing more of it can be seen. */
TW_NODISCARD tw_status tw_gantt_watch(tw_gantt *gantt, const tw_op_plan *plan, tw_arena *scratch, tw_diag *diag);
/* After the walk. */
void tw_gantt_print(const tw_gantt *gantt, tw_line *line);
#endif
