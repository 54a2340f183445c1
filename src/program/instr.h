/* src/program/instr.h - what an instruction and a timed row are. Data only: the verifier and the
 * printers include this file and nothing else of program/ or sim/. */
#ifndef TW_PROGRAM_INSTR_H
#define TW_PROGRAM_INSTR_H
#include "machine/machine.h"
#include "model/model.h"
#include "place/buffer.h"

enum { TW_MAX_GIVES = 16, TW_AFTER_ALL = -2 };

/* One instruction. Buffers are indices into the layout; -1 is the operand's tensor in the outermost memory.
 *
 *   LOAD   copies `region` of operand from buffer src[0] to buffer dst, packed, row-major
 *   STORE  the same away from the compute engine; `accumulates`: adds to what dst holds there
 *   EXEC   runs the loop points of `box`: reads src[i] for input i (-1: the box meets only padding of
 *          that input), writes dst. `accumulates`: adds to what dst holds, else it starts afresh. When
 *          `nested`, the program of the next tiled level does the work.
 *   SUM    dst = src[0] + src[1]; dst is src[0] for an in-place sum; `box` as the EXEC that made src[1]
 *   FILL   writes the neutral value of the whole output tile of `box` into dst
 *
 * `takes`: dst was free before and is held from the start on. In a stream LOAD also brings partial sums of the output back,
 * and every instruction says which credits come back: `gives`, these buffers are free when the instruction ends its work
 * (tw_engine_busy after its start); buffers that it neither takes nor gives stay as they are. In rows nothing is given
 * back: a buffer is free when nothing reads it any more.
 *
 * Buffers of a pool may be one circular buffer (tw_buffer.circular): a LOAD then brings `region`, the new rows of a window, and its
 * dst is that window's credit, by which it is read. A window that `continues` another one reads rows of it, and its rows lie behind them, modulo
 * the buffer's rows. One that continues none begins a sweep: its rows lie behind the last ones of the sweep before, when the window `after`, and all before
 * it, have been given back. */
typedef struct tw_instr {
    tw_opcode op;
    bool accumulates, nested;
    bool takes;   /* dst, which is free: in a stream, a credit for it                */
    bool partial; /* LOAD, STORE of the output: elements are of the accumulator's type; otherwise a
                                    STORE out of the compute engine's memory converts them         */
    bool
        rescales; /* EXEC in a program of groups: what `dst` holds is multiplied, element by element, as its references changed: `src` */
    bool drains;  /* LOAD: waits until the compute engine has done all that stands before it */
    bool
        crosses; /* in a program of groups: LOAD from, or STORE to, a tensor that one group makes and another reads; `tile` is its
                      number */
    bool heard;    /* LOAD: it takes what another one brings over a port that broadcasts: the clock says so */
    bool together; /* one command with the instruction before it: same start, same end */
    int16_t engine, operand;
    int16_t unit;         /* which of the engine's units, 0..count - 1                      */
    int16_t group, which; /* in a program of groups: the group, and the operator of it that the command is for */
    int16_t
        copies; /* targets, or for a STORE and the inputs of an EXEC sources: this many buffers, one behind the other, one per lane
                       of a private memory; elsewhere 1 */
    int32_t link; /* LOAD, STORE: what counts it belongs to, see tw_link_count */
    int16_t n_src, n_gives;
    int32_t dst;
    int32_t
        continues; /* LOAD into a circular buffer: the credit of the window before it, -1: none; elsewhere of no meaning */
    int32_t
        after; /* the same: the credit of the last window that has rows where its own come, -1: none that its own credit does not speak for;
                  TW_AFTER_ALL: all windows */
    int32_t src[TW_MAX_OPERANDS];
    int32_t gives[TW_MAX_GIVES];
    int64_t work;                /* LOAD, STORE: units; EXEC: points; SUM, FILL: elements          */
    int64_t passes;              /* EXEC with an array cost: passes over the array; with a kernel or descriptor
                                    cost: thousandths of a cycle                               */
    int64_t contended;           /* EXEC with a kernel cost: the same when a mover works on the memory meanwhile */
    int64_t reads, writes;       /* in a program of groups, LOAD and STORE: units at the source, at the target */
    int64_t tile;                /* async, LOAD and STORE: number of the operand's tile at this level */
    int64_t index[TW_MAX_LOOPS]; /* tile index per loop at this level                              */
    tw_box box;                  /* EXEC, SUM, FILL: loop points; LOAD, STORE: of the step served  */
    tw_region region;            /* LOAD, STORE, SUM, FILL: elements of the operand                */
} tw_instr;

/* An instruction with its time. */
typedef struct tw_event {
    tw_instr instr;
    int64_t start_cycle, end_cycle;
    int64_t busy_end; /* when its engine can start the next command, and its sources are read; in rows: end_cycle */
    tw_wait wait;     /* what it waited for last, and how long its unit stood idle before it; in rows: nothing */
    int64_t waited;
} tw_event;

/* Instructions that start together. Lockstep: rows of a nested program lie between the begin and the end of the
 * row whose EXEC contains them. Async: the one command of one engine, in program order, which is an order in which
 * everything comes after what it depends on; `tick` counts commands, `level` is 0. */
typedef struct tw_rowset {
    bool
        command; /* the one command of one engine, with a time and a reason for waiting of its own; otherwise a row */
    int level;   /* index into the program's tiled levels, outermost 0        */
    int memory; /* that level's memory                                       */
    int64_t tick, start_cycle, end_cycle;
    int64_t live_units; /* in `memory`, this row                              */
    int n_events;
    const tw_event *event;
} tw_rowset;

/* Who wants to see the rows of a timeline, in order; either function may be NULL. A status other than TW_OK stops
 * the run. */
typedef struct tw_row_sink {
    tw_status (*begin)(void *user, const tw_rowset *row);
    tw_status (*end)(void *user, const tw_rowset *row);
    void *user;
} tw_row_sink;

/* What the tiled levels of a program are, for readers of rows. */
typedef struct tw_level_info {
    int memory; /* tiled for                                                  */
    tw_accumulate mode;
    int64_t n_tiles[TW_MAX_LOOPS]; /* tiles per loop of the first box                  */
} tw_level_info;
#endif
