/* src/sim/timeline.h - when every instruction of a program runs.
 *
 * Lockstep: instructions are put into rows. A row ends when its slowest engine ends; what a row
 * writes can be used from the next row on, what a row reads may be overwritten from the next row on.
 * The row of an instruction is the longest path to it:
 *
 *     row = max(row of the engine's previous instruction + 1     (not for movers: any number per row),
 *               row that wrote a source + 1,
 *               row of the last access to the target + 1)
 *
 * except that a load goes one row before its first reader, as late as it can. An EXEC that contains a
 * program of the next level occupies its row for as long as that program takes. Transfers into and
 * out of pass-through levels are copies of transfers of the tiled level, one row away, and hide behind those: in
 * a row where only such transfers run, the innermost of their movers sets its length.
 *
 * Async: every engine runs its commands in program order, each as soon as it can:
 *
 *     start = max(unit free, sources there, target free)
 *     end   = start + cost: the target is there;   start + busy: unit free, sources read, credits given back
 *
 * Program order is an order of dependence, so one pass over it suffices: nothing is queued and nothing is searched. */
#ifndef TW_SIM_TIMELINE_H
#define TW_SIM_TIMELINE_H
#include "core/meter.h"
#include "program/program.h"

typedef struct tw_link_count {
    int64_t transfers, units;  /* in both directions */
    int64_t loads, load_units; /* inwards            */
    int64_t partial_stores, partial_units;
} tw_link_count;

/* How a compute engine spends the cycles in which it executes nothing, and those that it would not need alone; summed over its
 * units. Each unit's time is
 *
 *     until its first execution starts | busy and between two executions ... | from the end of the last to the end of all
 *     startup                            busy + waits                          tail                                       */
typedef struct tw_idle {
    int64_t startup, tail; /* of units that execute anything                                               */
    int64_t unused;        /* the whole time of those that do not                                          */
    int64_t late;          /* async: an execution has its result, but no buffer for it yet; part of `busy` */
    int64_t contended;     /* async: executions take longer while movers use their memory; part of `busy`  */
} tw_idle;

typedef struct tw_timeline {
    tw_summary sum;
    tw_idle idle; /* of the compute engine; brief: not counted */
    /* Async: cycles between executions in which the compute engine waits for an operand to be in a memory, or for a buffer of it
     * there; by the pool's operand. Brief: not counted. */
    int64_t no_data[TW_MAX_MEMORIES][TW_MAX_OPERANDS], no_credit[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int first_wait; /* async: what the first execution waited for last, memory * TW_MAX_OPERANDS + operand; -1: nothing */
    /* Lockstep: cycles between executions in which rows last because of each engine. */
    int64_t held_up[TW_MAX_ENGINES];
    int64_t startup_by[TW_MAX_ENGINES],
        tail_by[TW_MAX_ENGINES]; /* the same before the first and behind the last one */
    bool brief;                  /* critical paths and what is used of pools were left out            */
    bool has_waits;              /* engines have a share of the critical path and reasons for waiting */
    tw_engine_use engine[TW_MAX_ENGINES];
    int64_t peak_live[TW_MAX_MEMORIES];
    tw_link_count link[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* into and out of memory m, per operand */
    tw_pool_use pool[TW_MAX_MEMORIES][TW_MAX_OPERANDS];   /* async */
} tw_timeline;

/* Simulates without keeping rows: memory does not grow with the program. TW_STOPPED when the deadline of `diag` ends it. */
TW_NODISCARD tw_status tw_timeline_run(const tw_program *program, tw_arena *scratch, tw_diag *diag,
                                       tw_timeline *out);
/* The same within a limit of work: instructions really looked at, buffers, and moments compared; TW_INFEASIBLE when that is
 * not enough. `brief`: cycles, counts and energy suffice; a clock to which the rest is extra work leaves it 0. */
TW_NODISCARD tw_status tw_timeline_measure(const tw_program *program, bool brief, tw_meter *meter,
                                           tw_arena *scratch, tw_diag *diag, tw_timeline *out);
/* The same, handing every row to the sink in order. A row is held back until every value in it is read again or
 * overwritten, so that memory grows with the longest time a dead value stays in its slot. */
TW_NODISCARD tw_status tw_timeline_walk(const tw_program *program, const tw_row_sink *sink, tw_arena *scratch,
                                        tw_diag *diag, tw_timeline *out);
/* Whether a walk hands instructions over in an order of the program that is not that of their starts: see sim/order.h. */
bool tw_timeline_runs_ahead(const tw_program *program);
void tw_timeline_print(const tw_timeline *timeline, const tw_program *program, tw_text *out);
#endif
