/* src/program/cursor.h - the instructions of one tiled level on one box, step by step.
 *
 * A *step* is one execution with everything that belongs to it, in program order:
 *
 *     loads of the operands that no slot holds (through the pass-through levels first),
 *     EXEC, or FILL when the whole output tile lies in padding, or nothing when this reduction tile does,
 *     SUM when the mode adds partials with an adder,
 *     after the last reduction tile the STORE, outwards through the pass-through levels.
 *
 * Each engine's stream is its instructions in program order. Slots are chosen here, without time:
 *
 *   inputs   a value that a slot holds is not loaded again; otherwise the slot whose last use lies
 *            furthest back is overwritten (never used first, lowest number on ties)
 *   output   the slot that was freed furthest back (never used first, lowest number on ties)
 *   FIFOs    in turn
 *
 * models.md 1.2 states the output rule with ticks; docs/design/slots.md proves that both say the same. */
#ifndef TW_PROGRAM_CURSOR_H
#define TW_PROGRAM_CURSOR_H
#include "program/program.h"

enum {
    TW_STEP_MAX = TW_MAX_OPERANDS * (TW_MAX_MEMORIES + 1) + 2, /* instructions of one step */
};

typedef struct tw_slot_pool {
    int n, first;                /* slots, and the buffer of slot 0                               */
    int last;                    /* inputs: slot used last                                        */
    int64_t key[TW_MAX_SLOTS];   /* the value a slot holds, -1: none                              */
    int64_t stamp[TW_MAX_SLOTS]; /* inputs: step of the last use; output: when freed; -1: unused  */
} tw_slot_pool;

typedef struct tw_cursor {
    const tw_program *program;
    const tw_tiled_level *level;
    bool brief;                     /* leave index, box and region of instructions alone where a
                                       simulation without observers does not need them           */
    bool accumulate_outer;          /* the final stores add to what their target holds           */
    int32_t outer[TW_MAX_OPERANDS]; /* buffers that are loaded from and stored to, -1: tensors   */
    tw_box box, tile;
    tw_split split[TW_MAX_LOOPS];
    int64_t index[TW_MAX_LOOPS];
    bool done;
    int64_t step, n_freeing;      /* steps, and instructions that freed output slots, so far   */
    int64_t key[TW_MAX_OPERANDS]; /* the values this step works on                             */
    int64_t key_stride[TW_MAX_OPERANDS][TW_MAX_LOOPS];
    int64_t elems[TW_MAX_OPERANDS]; /* of this step's regions                                    */
    tw_slot_pool pool[TW_MAX_OPERANDS];
    int turn[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int accumulator; /* output slot under way, -1: none                           */
    unsigned reductions;
    int n; /* instructions of the step being made                       */
    tw_instr *out;
} tw_cursor;

/* `outer` are the buffers of the level above, all -1 at the outermost level. */
void tw_cursor_init(tw_cursor *cursor, const tw_program *program, int level, const tw_box *box,
                    const int32_t outer[TW_MAX_OPERANDS], bool accumulate_outer);
/* Writes the next step that has instructions; returns how many, 0 at the end. */
int tw_cursor_next(tw_cursor *cursor, tw_instr out[TW_STEP_MAX]);
#endif
