/* src/verify/verify.h - nothing is believed.
 *
 * Two judges watch the rows of a timeline go by. Neither uses a line of what made them: no tile
 * geometry, no builder, no simulator. They know the operator, the machine, the mapping as it was written (expect.h), the
 * layout table and the instructions.
 *
 *   check.c    tracks what every buffer holds and re-derives capacity, overlap, engine use, hazards, order, cost
 *              of rows, and that every loop point is executed once and reaches memory once
 *   execute.c  runs the instructions on numbers in byte-addressed memories whose free bytes are poison,
 *              and compares the result with a reference
 *
 * Both are sinks for rows: feed them with the walk of a timeline. Of an async machine the checker takes the
 * commands in program order, as they come, the executor in the order of their starts: put tw_order (sim/order.h)
 * before it. */
#ifndef TW_VERIFY_VERIFY_H
#define TW_VERIFY_VERIFY_H
#include "core/deadline.h"
#include "machine/discipline.h"
#include "mapping/opmap.h"
#include "program/instr.h"

/* A tile that lies in a buffer from the beginning (an input) or stays there (the output), see tw_op_map.fused. */
typedef struct tw_resident {
    int operand, buffer;
    tw_region region;
} tw_resident;

typedef struct tw_op_claim {       /* of groups, an operator: when its first execution starts, */
    int64_t start, busy, rescaled; /* cycles of its engine, points that rescale sums */
} tw_op_claim;
typedef struct
    tw_hold_claim { /* of groups, a hold: from the first buffer that is taken to the last that comes back, */
    tw_span life;
    int64_t transfers, units, loads, load_units; /* and what comes into it or, of outputs, leaves it */
} tw_hold_claim;

/* Of a compute engine: cycles of its units in which they execute nothing, and those of executions that are lost. */
typedef struct tw_idle_claim {
    int64_t startup, tail; /* before the first execution of a unit, behind its last one */
    int64_t unused;        /* of units that execute nothing                              */
    int64_t late;          /* an execution waits at its end for a buffer                 */
    int64_t contended;     /* movers use its memory, too                                 */
    int64_t no_data,
        no_credit; /* between two executions, by reason, of all operands; rows: `no_data` has all, the other is 0 */
} tw_idle_claim;

/* What is reported of a run. All of it is compared with what the rows say; what is NULL is not. */
typedef struct tw_claims {
    tw_summary sum;
    const tw_engine_use *engine; /* per engine                                                       */
    const tw_memory_use *memory; /* per memory                                                       */
    const tw_pool_use *pool;     /* of commands: per pool; of one operator TW_MAX_OPERANDS per memory, of
                                                     groups by the number that buffers name                         */
    const tw_link_use (
        *link)[TW_MAX_OPERANDS];    /* of one operator: into memory m, from 1 on                        */
    const tw_search_result *search; /* of one operator; NULL: the mapping was given                     */
    const tw_summary
        *op; /* of groups, per operator of the model: cycles (the end of its last execution), execs, macs */
    const int64_t *port_busy, *port_passed, /* of groups, per port: cycles of all its ways, transfers, */
        *port_units;                /* and what these move, in whole words                                     */
    const int64_t *outermost_units; /* of groups: read from and written to memory 0, in whole words    */
    const tw_op_claim *op_time;     /* of groups, per operator of the model,                                */
    const tw_hold_claim *hold;      /* per hold, by the number that buffers name,                           */
    const int64_t *group_fj;        /* and per group, energy of its commands                                */
    const tw_idle_claim *idle;      /* of groups, per engine                                                */
    bool has_compute;               /* of one operator: what follows is said, of its compute engine         */
    int compute_engine;
    tw_idle_claim compute;
} tw_claims;

/* A circular buffer in which a window of an input slides. */
typedef struct tw_verify_slide {
    int64_t rows; /* position x of the axis lies at x modulo so many; 0: the operand does not slide there */
    int axis;
} tw_verify_slide;

typedef struct tw_scene tw_scene;

/* What a judge needs to know about the run. */
typedef struct tw_verify_input {
    const tw_model *model;
    const tw_op *op;
    const tw_machine *machine;
    const tw_layout *layout;
    const tw_op_map
        *map; /* as it was written; NULL: the program is right or wrong by itself, whatever was asked for */
    const tw_op_map
        *next;    /* of the operator behind it, as it was written; NULL: there is none, or it is not known */
    int n_levels; /* tiled levels */
    const tw_level_info *level;
    bool is_pass[TW_MAX_MEMORIES];    /* memories that are passed through */
    bool holds_sums[TW_MAX_MEMORIES]; /* async: the output's buffers there are of the accumulator's type */
    unsigned padded;                  /* bit l: loop l is padded up to a multiple of its tile, */
    int64_t largest[TW_MAX_LOOPS];    /* this one                                              */
    bool streamed[TW_MAX_OPERANDS];   /* an input whose tile changes with every execution      */
    bool laid_whole; /* async: the output's buffer in the compute engine's memory holds all of it     */
    int innermost;   /* loop whose tiles follow each other, -1: there is one execution, or several
                                         levels                                                */
    tw_verify_slide slide[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* async */
    int n_residents;
    const tw_resident *resident;
    const tw_claims *claims;
    const tw_deadline *deadline; /* that may end it; NULL: none. A judgement made after that is worth nothing   */
    int8_t over[TW_MAX_LOOPS];   /* async: dimension of the array that the loop lies over + 1, 0: none      */
    int32_t share[TW_MAX_LOOPS]
                 [TW_MAX_DIMS];  /* of a divided loop: neighbouring points over each dimension, 0: none */
    int64_t parts[TW_MAX_LOOPS]; /* of groups: lanes that share a loop over a dimension with private memories, */
    unsigned dims;               /* and these dimensions, as bits                                           */
    const tw_scene *scene;       /* set by the judge itself, see scene.h                                    */
} tw_verify_input;

typedef struct tw_checker tw_checker;
/* NULL when out of memory. Everything is allocated in `arena`. */
tw_checker *tw_checker_new(const tw_verify_input *in, tw_arena *arena);
tw_row_sink tw_checker_sink(tw_checker *checker);
/* After the last row: the first fault found, NULL when there is none. Needs no memory. The rows' status is TW_OK
 * even when they are faulty; only TW_ERR_NOMEM stops a run. */
const char *tw_checker_finish(tw_checker *checker);

/* Numbers to run on: dense, in the order of the operands' elements; what is held as one number or one for each index of
 * its loop. */
typedef struct tw_given {
    const double *input[TW_MAX_OPERANDS];
    const double *held[TW_MAX_HELD];
} tw_given;

typedef struct tw_executor tw_executor;
/* Inputs are filled with small integers drawn from `seed`. NULL when out of memory. */
tw_executor *tw_executor_new(const tw_verify_input *in, uint64_t seed, tw_arena *arena);
/* Inputs are given. They must fit the operands' types, otherwise that is the fault. */
tw_executor *tw_executor_new_given(const tw_verify_input *in, const tw_given *given, tw_arena *arena);
tw_row_sink tw_executor_sink(tw_executor *executor);
/* After the last row: compares the output in the outermost memory with the reference. `*fault` is the first fault,
 * NULL when there is none; `*who` computed the reference, NULL when a fault made that needless. A reference that
 * has no answer is replaced by tw_reference_direct. TW_ERR_NOMEM leaves the question open. */
TW_NODISCARD tw_status tw_executor_finish(tw_executor *executor, tw_reference_fn reference, void *user,
                                          const char **who, const char **fault);

/* After the last row, instead: the output as it lies in the outermost memory. Written when there is no fault; an element
 * that was never stored is one. */
TW_NODISCARD tw_status tw_executor_output(tw_executor *executor, double *out, const char **fault);

/* The operator as a reference sees it: see tw_reference_fn. */
struct tw_reference_case {
    const tw_model *model;
    const tw_op *op;
    const double *input[TW_MAX_OPERANDS]; /* dense, row-major, one per input operand */
    const double *held[TW_MAX_HELD];      /* one number, or one for each index of its loop */
    double bound;                /* not 0: what `value` gives is rounded and cut off at this size, of a product it
                                             becomes -1 or 1, so that the order of points does not matter; */
    bool positive;               /* and loses its sign before that */
    const tw_deadline *deadline; /* that may end it; NULL: none. What is computed then is not finished */
};
/* The library's own reference: visits every point of the whole nest. Shares nothing with the tile kernels but the
 * evaluation of formulas. Sums have the accumulator's type when they are finished. NULL only when out of memory. */
const char *tw_reference_direct(void *user, const tw_reference_case *c, double *out);
#endif
