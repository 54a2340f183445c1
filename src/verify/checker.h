/* src/verify/checker.h - what the files of the checker share: its state.
 *
 *   check.c  keeps the state: the layout, rows that nest, values that come and go
 *   rules.c  judges instructions against it
 *   row_time.c  judges the length of rows
 *
 * Programs of async machines have a checker of their own behind it: stream_checker.h. */
#ifndef TW_VERIFY_CHECKER_H
#define TW_VERIFY_CHECKER_H
#include "verify/cover.h"
#include "verify/fault.h"
#include "verify/links.h"
#include "verify/steps.h"

typedef struct tw_checker_value { /* what a buffer holds */
    bool full;
    tw_region region;
    uint64_t points;         /* output: fingerprint of what was accumulated */
    int64_t born, last_read; /* rows of its level's program                 */
    int64_t wrote, ready;    /* row of the last write; the first row in which it could have been loaded */
    tw_box box;              /* of a tile that was loaded: what it is for */
} tw_checker_value;

typedef struct tw_checker_live {
    int64_t change; /* units that become alive in this row less those that died before it */
    int64_t claimed, tick;
} tw_checker_live;

enum { TW_RESULTS_MAX = 64 }; /* more buffers of an output than that a lockstep mapping cannot have */
typedef struct tw_results {   /* which buffers of the output are in use, in the order of the program */
    int n, accumulator;       /* -1: none                                                           */
    bool held[TW_RESULTS_MAX];
    int64_t freed[TW_RESULTS_MAX], n_freed;
    int sum[2 * TW_RESULTS_MAX]; /* where those that have not come yet put their results           */
    int64_t n_sums, n_summed;
} tw_results;

typedef struct tw_checker_level {
    int memory, outer;       /* works in `memory`; loads from and stores to `outer`    */
    int64_t n_rows;          /* of the program under way, the open one included        */
    int64_t clock;           /* end of its last row, at first its start                */
    const tw_instr *nested;  /* of the open row: the EXEC that contains the next level */
    uint64_t pieces, points; /* stored into its target so far, by the next level       */
    tw_checker_live *live;
    int64_t *passing[TW_MAX_MEMORIES]; /* the same change for each memory that is passed through */
    /* see row_follow.h; without a mapping of no use */
    bool follows, innermost, started; /* started: a reduction is under way                     */
    tw_steps steps;
    int64_t last_exec, last_sum; /* rows, -1: none yet                                    */
    int n_loaded, n_queued;      /* in the row before: into the memory, into queues       */
    int turn[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    tw_results results;
    int64_t live_room;
} tw_checker_level;

struct tw_checker {
    tw_verify_input in;
    tw_arena *arena;
    tw_cover *cover;
    tw_fault fault;
    tw_checker_value *value; /* per buffer */
    int depth;               /* open rows  */
    int64_t next_tick;
    tw_tally tally;
    tw_links links;
    uint64_t stored; /* positions of the output that reached the outermost memory */
    tw_checker_level level[TW_MAX_MEMORIES];
    /* async machines: instead of all after `fault` but `stored`, see stream_checker.h; otherwise NULL */
    struct tw_stream_check *stream;
};

/* The row and the instruction being judged. */
typedef struct tw_checked {
    tw_site at;
    tw_checker *c;
    tw_checker_level *level;
} tw_checked;

/* The instruction of the level above that contains this row, NULL at the outermost level. */
const tw_instr *tw_checker_parent(const tw_checked *s);

/* false and a fault: the instruction at hand must not run here. */
bool tw_rules_instr(const tw_checked *s);
/* The same for instructions of one row that disturb each other or want the same unit. */
bool tw_rules_row(const tw_checked *row);
/* The same for the times of a row that has ended and of its instructions. */
bool tw_rules_time(const tw_checked *row);
#endif
