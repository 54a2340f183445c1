/* src/sim/forward.h - repetitions that need not be simulated.
 *
 * A round is what happens between two moves of one place. The future of a simulation depends on its moments (when a
 * unit is free, a value there, a buffer free) and on who holds which buffer. Suppose that after a round all buffers are
 * held as before, up to their names within a pool, and every moment
 *
 *     (a) has moved by the same Delta, or
 *     (b) has not changed and lies before the start of every command of the round.
 *
 * Then the next round, if its tiles are alike, does the same, Delta later. Each of its commands starts at a maximum of
 * moments; those of kind (a) are Delta later than a round ago; one of kind (b) was below the start and therefore did
 * not decide, and decides even less now. So all starts are Delta later, the state after the round is again the state
 * before it moved by Delta, and by induction so are all rounds that follow with tiles of that size. Which moment came
 * last is the same in every round: the path of a moment is that of the moment before it which decided, and shares of its
 * own. So if the paths of all moments of kind (a) grew by the same shares, or each by what it grew by in the round before,
 * they go on like that: with d(M) what the path of M grew by and p(M) the moment that decides M, the next round adds d(p(M)),
 * and both say that this is d(M). (Two engines that are equally busy have paths of their own.)
 *
 * Units of engines that run in the round must be of kind (a): what they stood idle before a command is counted from when they
 * became free.
 *
 * Long rounds have rounds of places inside. These are skipped in the same way, each sweep by itself: that a sweep of the inner place was made shorter changes nothing
 * of what the outer one compares, since moments and counts are those that a simulation has in the end.
 *
 * Partial sums that leave and come back are waited for tile by tile. A place that the tiles do not depend on touches the same ones in every
 * round: their moments are part of the state. Otherwise each round has tiles of its own. Those of this round and of rounds to come
 * must have been there before the start of every command of this round; then no load has waited for them, or will, and they are no part of the state.
 * What a round sets anew, each next one sets for its own tiles, Delta later; paths to it are known where all grow by the same shares.
 *
 * So n rounds are skipped by adding n Delta to the moments of kind (a), n times the shares to their paths and n times
 * the counts of the round to the totals. test/sim/test_forward.c compares this with the plain simulation. */
#ifndef TW_SIM_FORWARD_H
#define TW_SIM_FORWARD_H
#include "program/flowcursor.h"
#include "sim/async.h"

typedef struct tw_snapshot {
    int64_t n;      /* moments                                                     */
    int64_t *at;    /* in an order that does not depend on the names of buffers    */
    int64_t *share; /* `width` per moment; those without a path have zeros         */
    int64_t n_free[TW_MAX_MEMORIES][TW_MAX_OPERANDS], n_out[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    uint64_t windows[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* of what slides: a print of where the last ones lie */
    int64_t len;                                        /* of the tile along the place's loop                */
    int64_t step;
    int64_t *due; /* of partial sums that only the round to come touches: when they were there before it */
    tw_timeline total;
} tw_snapshot;

typedef struct tw_forward {
    tw_async *sim;
    tw_timeline *total; /* what the simulation counts into */
    tw_flow_cursor *cursor;
    int place;
    int64_t n_parts;   /* tiles of partial sums that a round may touch, 0: none come back */
    int64_t *part;     /* their numbers, less that of the round's first                   */
    int64_t next_part; /* what is between the numbers of a round's and of the next one's, 0: they are the same */
    struct tw_forward *inside; /* the same of a place inside of this one, whose rounds are long; NULL: none */
    int64_t least_start;       /* of the commands since the last look  */
    int64_t n_looks;
    int64_t room;    /* moments of a snapshot */
    bool full;       /* `before` holds the state one round ago */
    bool same;       /* all paths grew by the same shares */
    bool grows;      /* `growth` is what each path grew by in the round before that */
    int64_t *growth; /* `width` per moment */
    int64_t
        owed; /* instructions to be simulated before the next look, so that looking takes no longer than simulating */
    int64_t seen; /* instructions at the last call                                       */
    tw_snapshot *before, *now;
    int64_t **slot; /* the moments themselves, in the order of the snapshot */
    int64_t **path; /* their paths, NULL: none                              */
} tw_forward;

/* *out is NULL when the program has no place whose rounds are alike. */
TW_NODISCARD tw_status tw_forward_new(tw_async *sim, tw_flow_cursor *cursor, tw_timeline *total, tw_arena *arena,
                                      tw_forward **out);
/* To be called after every step: where a place that is looked at has moved, compares with the state one round ago and skips what repeats. Returns the work
 * that this was, in instructions. */
int64_t tw_forward_look(tw_forward *outermost);
#endif
