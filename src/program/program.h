/* src/program/program.h - a mapping resolved against operator and machine: what will be generated.
 *
 * A program is a description of loops; its instructions come out of a cursor (cursor.h), one step at
 * a time, and are never all in memory. Building it fixes the geometry that no later stage may doubt:
 * every cut is legal for every box that reaches it, every tile fits its slot, every slot its memory.
 *
 * Invariants: 1. tiled[0] is the outermost tiled level, tiled[n_tiled - 1] the innermost, the only one
 * whose EXEC is the compute engine's. 2. Every memory but the outermost is tiled for, or passed
 * through by exactly one tiled level. 3. Each operand has a pool in every such memory. */
#ifndef TW_PROGRAM_PROGRAM_H
#define TW_PROGRAM_PROGRAM_H
#include "program/flow.h"

/* Executions that one plan may have at most: more are refused instead of simulated for hours. */
#define TW_EXECS_MAX (INT64_C(1) << 36)

typedef struct tw_tiled_level {
    const tw_level_map *map;
    int memory;
    int n_pass;                     /* pass-through levels between the tiled level above and this one */
    int16_t pass[TW_MAX_MEMORIES];  /* their memories, outermost first                                */
    int16_t mover[TW_MAX_MEMORIES]; /* n_pass + 1 engines: into pass[0], .., into `memory`            */
    int16_t adder;                  /* engine, -1: none                                               */
    bool innermost;
} tw_tiled_level;

/* One operand in one memory. The memories of a program of rows are on the path of every operand; in a stream each operand has
 * its own path, see tw_residency. */
typedef struct tw_stop {
    bool here;      /* the memory is on the operand's path                                        */
    bool resident;  /* it never comes and never goes: see tw_op_map.fused                         */
    bool sums;      /* the output: unfinished sums lie there, of the accumulator's type           */
    bool packed;    /* its tiles lie one behind the other, without gaps                           */
    bool slides;    /* its tiles are windows in one circular buffer: see slide.h                  */
    bool changes;   /* its tile changes from one execution to the next, so that a second buffer can be of use */
    int16_t outer;  /* the memory before it on the path                                           */
    int16_t pool;   /* the operand under whose name the buffers are                               */
    int grain;      /* tiled level whose tiles lie there, -1: it is whole                         */
    int depth;      /* places of the nest outside of its residency                                */
    int64_t slots;  /* of the pool that stands under its own name, else 0                         */
    int64_t needed; /* slots of that pool with which the program works                            */
} tw_stop;

typedef struct tw_program {
    const tw_model *model;
    const tw_op *op;
    const tw_machine *machine;
    const tw_op_map *map;
    int n_tiled;
    tw_tiled_level tiled[TW_MAX_MEMORIES];
    unsigned loops[TW_MAX_OPERANDS]; /* tw_operand_loops                                              */
    unsigned clipped; /* bit o: operand o reaches beyond its tensor somewhere, or skips positions    */
    int64_t elem_units[TW_MAX_OPERANDS]; /* units of one element of each operand                  */
    int64_t partial_units;               /* units of one partial sum                                  */
    int64_t largest[TW_MAX_LOOPS];       /* tile of the innermost level                                     */
    unsigned padded; /* bit l: the machine pads loop l up to a multiple of its tile                   */
    int64_t n_execs; /* steps of the innermost level over the whole program, at most              */
    tw_stop stop[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* from memory 1 on                              */
    const tw_flow *flow; /* of a stream, NULL: the program is one of rows                          */
    tw_layout layout;
} tw_program;

/* TW_ERR_INPUT when a cut is not legal, TW_INFEASIBLE when it does not fit or breaks a machine limit. */
TW_NODISCARD tw_status tw_program_build(const tw_problem *problem, const tw_op_map *map, tw_arena *arena,
                                        tw_diag *diag, tw_program *out);
/* The same for memories as large as they have to be, with as many buffers of everything as the mapping says. */
TW_NODISCARD tw_status tw_program_build_roomy(const tw_problem *problem, const tw_op_map *map, tw_arena *arena,
                                              tw_diag *diag, tw_program *out);

/* Units that a region of this operand takes. */
static inline int64_t tw_program_units(const tw_program *program, int operand, int64_t elems)
{
    return program->elem_units[operand] * elems;
}
/* What verifiers and printers are told about the tiled levels. */
void tw_program_levels(const tw_program *program, tw_level_info info[TW_MAX_MEMORIES]);
TW_NODISCARD bool tw_flow_traffic(const tw_program *program, int memory, int operand, tw_flow_count *out);
/* The levels, pools and the first steps, as stable text. */
void tw_program_print(const tw_program *program, tw_text *out);
#endif
