/* src/program/program.h - a mapping as instruction streams, generated on demand.
 *
 * A program is a description of loops; its instructions come out of a cursor, one step at a time,
 * and are never all in memory. A *step* is one execution of a tiled level with everything that
 * belongs to it, in program order:
 *
 *     loads of the operands that no slot holds (through the pass-through levels first),
 *     EXEC (or FILL, or nothing when the tile lies in padding),
 *     SUM when the mode adds partials with an adder,
 *     after the last reduction tile: the STORE, through the pass-through levels outwards.
 *
 * Each engine's stream is its instructions in program order. Slots are chosen here, without time:
 *
 *   inputs    a value that a slot holds is not loaded again; otherwise the slot whose last use lies
 *             furthest back is overwritten (never used first, lowest number on ties)
 *   output    the slot that was freed furthest back (never used first, lowest number on ties)
 *   FIFOs     in turn
 *
 * models.md 1.2 states the output rule with ticks; docs/design/slots-without-time.md proves that both
 * say the same. */
#ifndef TW_PROGRAM_PROGRAM_H
#define TW_PROGRAM_PROGRAM_H
#include "program/instr.h"
#include "search/mapping.h"

typedef struct tw_tiled_level {
    const tw_level_map *map;
    int memory;
    int n_pass;                     /* pass-through levels between the tiled level above and this one */
    int pass[TW_MAX_MEMORIES];      /* their memories, outermost first                                */
    int mover[TW_MAX_MEMORIES + 1]; /* n_pass + 1 engines: into pass[0], .., into memory              */
    int adder;                      /* engine, -1 when the level needs none                           */
    bool innermost;                 /* EXEC is the compute engine's, not a nested program's           */
} tw_tiled_level;

typedef struct tw_program {
    const tw_op *op;
    const tw_model *model;
    const tw_machine *machine;
    const tw_op_map *map;
    int n_tiled;
    tw_tiled_level tiled[TW_MAX_MEMORIES]; /* outermost first */
    tw_layout layout;
} tw_program;

/* Resolves the mapping of one operator against the machine: tile geometry, slot sizes, layout.
 * TW_ERR_INPUT when a cut is not legal, TW_INFEASIBLE when it does not fit. */
tw_status tw_program_build(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                           tw_arena *arena, tw_diag *diag, tw_program *out);
tw_status tw_program_check(const tw_program *program, tw_diag *diag);

/* Tiles per loop when the box reaches tiled level `level`; false when the cut is not legal there. */
bool tw_program_counts(const tw_program *program, int level, const tw_box *box, int64_t count[TW_MAX_LOOPS]);

/* Largest number of instructions in one step. */
enum { TW_STEP_MAX = (TW_MAX_OPERANDS + 1) * TW_MAX_MEMORIES + 3 };

/* One slot class while a level's program runs. */
enum { TW_MAX_SLOTS = 64 }; /* per operand and level */
typedef struct tw_slot_pool {
    int n, first;                /* slots, and the first one's buffer in the layout */
    int64_t key[TW_MAX_SLOTS];   /* the value a slot holds, -1 none                 */
    int64_t stamp[TW_MAX_SLOTS]; /* inputs: step of last use; output: when freed    */
} tw_slot_pool;

typedef struct tw_cursor {
    const tw_program *program;
    int level;
    bool accumulate_outer;       /* stores add to what the target holds             */
    int16_t outer[TW_MAX_OPERANDS]; /* the buffers this program loads from and stores to */
    tw_box box;
    int64_t count[TW_MAX_LOOPS], index[TW_MAX_LOOPS];
    tw_cut cut[TW_MAX_LOOPS];
    tw_box tile;
    int64_t step, n_steps;
    int64_t clock;               /* counts slot events                              */
    tw_slot_pool pool[TW_MAX_OPERANDS];
    int fifo_turn[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int accumulator;             /* slot of the output tile under way, -1 none      */
    int64_t key_stride[TW_MAX_OPERANDS][TW_MAX_LOOPS];
    unsigned loops[TW_MAX_OPERANDS], reductions;
} tw_cursor;

/* Starts the program of a tiled level on a box. `outer` are the buffers of the level above, -1 for tensors. */
void tw_cursor_init(tw_cursor *cursor, const tw_program *program, int level, const tw_box *box,
                    const int16_t outer[TW_MAX_OPERANDS], bool accumulate_outer);
/* Writes the next step's instructions; returns how many, 0 at the end. */
int tw_cursor_next(tw_cursor *cursor, tw_instr out[TW_STEP_MAX]);

void tw_program_print(const tw_program *program, tw_text *out);
#endif
