/* src/verify/tally.h - what is reported of a run, counted again.
 *
 * The numbers of a report are sums over the rows of its timeline. They are added up here from the rows themselves, beside the
 * judge that looks at each of them, and compared in the end: time, executions, energy, the use of every engine and port, how full
 * every memory and every pool of buffers was, when each operator began
 * and ended, how long buffers were held and what was moved into them, what each group took. */
#ifndef TW_VERIFY_TALLY_H
#define TW_VERIFY_TALLY_H
#include "verify/port.h"

typedef struct tw_tally_pool {
    int first; /* its first buffer, the others follow */
    int said;  /* its number in the report            */
    int64_t out, needed, peak, waited;
    tw_hold_claim moved;                     /* of groups */
    int64_t slots, next, n_given, *given_at; /* a ring: when the last ones came back */
} tw_tally_pool;

typedef struct tw_tally_passed { /* through an engine: what takes energy */
    int64_t points;
    int64_t units[2][2]; /* outwards, inwards; written, read */
} tw_tally_passed;

typedef struct tw_tally_idle { /* of a compute engine */
    tw_idle_claim is;
    int64_t executing; /* cycles of its executions, of all units */
    bool *ran;         /* per unit                               */
    int64_t *last;     /* the same: when its last execution lets it go */
} tw_tally_idle;

typedef struct tw_tally {
    const tw_scene *scene;
    const tw_claims *claims; /* NULL: nothing is compared */
    tw_summary sum;
    tw_engine_use *engine;
    tw_tally_passed *passed; /* per engine */
    tw_tally_idle *idle;     /* per engine */
    int64_t *lengths;        /* per engine: of all its commands, with what they wait for ports           */
    int64_t last_length;     /* of the command that ends last, of equals the first,                      */
    int last_engine;         /* and its engine                                                           */
    int64_t launch;          /* cycles until the first command can start                                 */
    int64_t *live;           /* per memory, most units alive: of pools, otherwise set by the checker */
    int n_pools;
    tw_tally_pool *pool;
    int *pool_of;           /* per buffer, -1: none */
    const tw_model *model;  /* of groups, else NULL                                                           */
    tw_summary *op;         /* per operator of it: cycles (the end of its last execution), execs, macs        */
    tw_op_claim *op_time;   /* per operator of it */
    tw_tally_passed *group; /* of groups: per group and engine                                               */
    int n_groups;
    const tw_ways *ports;
    bool packed; /* memories hold nothing but the buffers of the table                                            */
    bool paths;  /* engines have units and a share of the critical path                                          */
    bool
        unhurried; /* commands may start later than they could: nobody compares what they waited for               */
    bool overflows;
} tw_tally;

/* false when out of memory. */
bool tw_tally_init(tw_tally *t, const tw_scene *scene, const tw_claims *claims, tw_arena *arena);
/* Operators and groups of a model are counted, too; false when out of memory. */
bool tw_tally_add_groups(tw_tally *t, const tw_model *model, int n_groups, tw_arena *arena);
/* A pool of so many slots; false when out of memory. Whoever adds it says in `pool_of` which buffers belong to it. */
bool tw_tally_add_pool(tw_tally *t, int first, int said, int64_t slots, tw_arena *arena);

/* What a transfer moves, in units at its source and at its target. */
typedef struct tw_moved {
    bool inward;
    int64_t work, reads, writes;
} tw_moved;
/* An instruction, with the time that it takes of its engine and, of a command, its wait. `moved` is NULL when both ends see its
 * work. Nested executions are counted by their rows. */
void tw_tally_instr(tw_tally *t, const tw_instr *instr, const tw_moved *moved);
void tw_tally_busy(tw_tally *t, int engine, int64_t cycles);
/* A command as a whole; `awaited` is the buffer whose credit it waited for, -1: none. */
void tw_tally_command(tw_tally *t, const tw_event *event, int awaited);
/* An execution, a fill included: of its cycles so many it waits at its end, so many it loses to movers. */
void tw_tally_execution(tw_tally *t, const tw_event *event, int64_t late, int64_t contended);
/* An execution of an operator of the model. */
void tw_tally_op(tw_tally *t, int op, const tw_event *event);
/* A credit of the buffer is taken at `start`, or comes back at `end`. */
void tw_tally_take(tw_tally *t, int buffer, int64_t start);
void tw_tally_give(tw_tally *t, int buffer, int64_t end);

/* Numbers that are said of something, and what they are. */
typedef struct tw_claim {
    const char *what;
    int64_t said, is;
} tw_claim;
void tw_tally_claims(tw_fault *fault, const char *of, const char *at, const tw_claim *c, int n);
/* After the last row: the first number of the report that is not so is the fault. */
void tw_tally_compare(tw_tally *t, tw_fault *fault);
#endif
