/* src/program/flowcursor.h - the instructions of an async program, step by step.
 *
 * A step is one execution with everything that belongs to it, in program order:
 *
 *     per input, from the outside in, the loads that bring its tile (those of a memory whose inputs come
 *     together stand behind each other, as one command),
 *     partial sums that come back,
 *     EXEC,
 *     at the end of the output's stay the stores, outwards through every memory whose residency ends as well.
 *
 * Where the mover prefetches, the loads of a step stand before the execution of the one before it, unless they need
 * the buffers that this gives back. Program order is an order of dependence: an instruction stands behind everything that it waits for, the credit of
 * its target included, and each engine's stream is its instructions in this order. A slot is the one that was given
 * back furthest back. When none was, the engine waits for a credit that only a later instruction gives back, which
 * its own reader keeps waiting: a deadlock. The cursor stops and says who is stuck. */
#ifndef TW_PROGRAM_FLOWCURSOR_H
#define TW_PROGRAM_FLOWCURSOR_H
#include "program/program.h"

enum { TW_FLOW_STEP_MAX = (TW_MAX_OPERANDS + 2) * TW_MAX_MEMORIES * 2 + 2 };

typedef struct tw_free_ring { /* slots of a pool that are free, the longest free first */
    int32_t n, head, n_free;
    int32_t most_out; /* at once, so far */
    int32_t *slot;
} tw_free_ring;

/* The last windows of a circular buffer, as many as it has credits. Rows are numbered as they come, through all sweeps: row r of the tensor has
 * the number r + base, and lies there modulo the rows of the buffer. */
typedef struct tw_past_windows {
    int64_t n;       /* windows that came, in all: window i stands at i modulo the credits */
    int64_t base;    /* of the sweep at hand                                        */
    int64_t end;     /* number behind the last row that came                        */
    int64_t over;    /* windows before this one have no rows where the last one's came */
    int64_t *first;  /* number of the first row of each                             */
    int32_t *buffer; /* its credit                                                  */
} tw_past_windows;

typedef struct tw_holder { /* who holds a buffer, for the report of a deadlock */
    int operand;
    int64_t number; /* of the tile, see tw_residency */
} tw_holder;

typedef struct tw_flow_cursor {
    const tw_program *program;
    const tw_flow *flow;
    int out_memory; /* that the compute engine writes to */
    bool brief;     /* leave index, box and region of instructions alone */
    bool done;
    bool prefetches; /* executions wait for the loads of the next step, where these need nothing of this one */
    int64_t *freed;  /* per buffer: the step that gave it back last                                        */
    int n_waiting;   /* in `waiting`, at the end                                                            */
    int stuck_memory, stuck_operand; /* the tile that finds no slot; memory 0: none */
    int stuck_engine;                /* that would have brought it                  */
    int64_t step;
    int moved; /* the outermost place that the last step moved, -1 before the first and after the last */
    unsigned
        idle; /* bit e: engine e has brought no input since the innermost place began its sweep; the first one does not count */
    tw_places at_first, at_last;
    int64_t ordinal[TW_MAX_PLACES], count[TW_MAX_PLACES], index[TW_MAX_PLACES];
    bool backwards[TW_MAX_PLACES];
    tw_box tile[TW_MAX_MEMORIES]; /* of each tiled level */
    int64_t elems[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    bool resized;                      /* innermost tiles have other lengths than when these were counted: */
    int64_t points, passes, contended; /* what an execution of one is, see tw_instr            */
    tw_box whole;                      /* all loops, and what of each operand they touch */
    int64_t whole_elems[TW_MAX_OPERANDS];
    unsigned simple; /* bit o: the elements of operand o are the product of its loops' lengths */
    bool fresh[TW_MAX_MEMORIES]
              [TW_MAX_OPERANDS]; /* serpentine: the residency began with this stand of its depth  */
    bool ending[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* and ends with it                                         */
    tw_free_ring ring[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int32_t
        *where[TW_MAX_MEMORIES][TW_MAX_OPERANDS];   /* buffer of each tile of the residency, -1: none             */
    int32_t *now[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* that of the current tile                              */
    int64_t number[TW_MAX_MEMORIES]
                  [TW_MAX_OPERANDS]; /* of the current tile, see tw_residency                      */
    int32_t window[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* of what slides: the buffer of the last window that came  */
    tw_past_windows past[TW_MAX_MEMORIES]
                        [TW_MAX_OPERANDS]; /* of what slides                                        */
    tw_holder *holder;                     /* per buffer                                            */
    int16_t turn[TW_MAX_ENGINES];
    int n_owed; /* credits that the next EXEC gives back, since no transfer reads them last */
    int32_t owed[TW_MAX_OPERANDS * TW_MAX_MEMORIES];
    int n;
    tw_event *out;
    tw_event waiting
        [TW_FLOW_STEP_MAX]; /* the execution of the last step and what follows it; most of the cursor's bytes, and not
                                           cleared */
} tw_flow_cursor;

TW_NODISCARD tw_status tw_flow_cursor_init(tw_flow_cursor *cursor, const tw_program *program, tw_arena *arena);
/* Writes the instructions of the next step, without their times; returns how many, 0 at the end, -1 at a deadlock. */
int tw_flow_cursor_next(tw_flow_cursor *cursor, tw_event out[TW_FLOW_STEP_MAX]);
/* Passes over the next n rounds of a place whose inner places all stand on their first index, as if they had been
 * run: the rounds are alike and n is less than those that are left. */
void tw_flow_cursor_skip(tw_flow_cursor *cursor, int place, int64_t n, int64_t steps);
/* Who waits for whom, and what would help, as TW_INFEASIBLE. */
TW_NODISCARD tw_status tw_flow_explain_deadlock(const tw_flow_cursor *cursor, tw_diag *diag);
#endif
