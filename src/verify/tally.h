/* src/verify/tally.h - what is reported of a run, counted again.
 *
 * The numbers of a report are sums over the rows of its timeline. They are added up here from the rows themselves, beside the
 * checker that judges each of them, and compared in the end: time, executions, energy, the use of every engine, what crossed
 * every link, how full every memory and every pool of buffers was, and what a search says of its own result. */
#ifndef TW_VERIFY_TALLY_H
#define TW_VERIFY_TALLY_H
#include "verify/fault.h"

typedef struct tw_tally_pool { /* async: credits that are out */
    int64_t out, needed, peak, waited;
    int64_t slots, next, n_given, *given_at; /* a ring: when the last ones came back */
} tw_tally_pool;

typedef struct tw_tally {
    const tw_verify_input *in;
    tw_summary sum;
    tw_engine_use engine[TW_MAX_ENGINES];
    tw_link_use link[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int64_t live[TW_MAX_MEMORIES]; /* most units alive: lockstep, set by the checker */
    tw_tally_pool pool[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    bool paths; /* set by a checker of streams: engines have units and a share of the critical path */
    bool overflows;
} tw_tally;

/* false when out of memory. */
bool tw_tally_init(tw_tally *t, const tw_verify_input *in, tw_arena *arena);
/* An instruction, with the time that it takes of its engine and, async, its wait. Nested executions are counted by their rows. */
void tw_tally_instr(tw_tally *t, const tw_instr *instr);
void tw_tally_busy(tw_tally *t, int engine, int64_t cycles);
/* Async: a command waited; a credit of the buffer is taken at `start`, or comes back at `end`. */
void tw_tally_wait(tw_tally *t, const tw_event *event, int awaited);
void tw_tally_take(tw_tally *t, int buffer, int64_t start);
void tw_tally_give(tw_tally *t, int buffer, int64_t end);
/* After the last row: the first number of the report that is not so is the fault. */
void tw_tally_compare(tw_tally *t, tw_fault *fault);
#endif
