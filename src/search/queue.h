/* src/search/queue.h - how long a program takes whose loads and stores wait in one queue.
 *
 * A mover that carries both ways serves in program order, so what stands behind a store waits until the executions are over that
 * make what it stores. With prefetch the loads of one step stand before it, all others behind:
 *
 *     queue     | store | load 1 | load 2 | .. | load 0 of the next tile of the output | store |
 *     engine    |   step 0   | step 1 | step 2 | ..                                     |
 *
 * Inputs that are kept come in some steps only, all at once. So neither the busiest engine nor a sum of maxima says how long that
 * takes; but the nest of tile loops is regular. The queue is played for the first iterations of each loop and for the last one,
 * and those between are taken to be as long as the last of the first: some hundred steps, whatever the length of the program.
 *
 * This is an estimate, not a bound: tiles are taken to be alike but for rests, and buffers of inputs to be enough. */
#ifndef TW_SEARCH_QUEUE_H
#define TW_SEARCH_QUEUE_H
#include "core/core.h"

enum {
    TW_QUEUE_INPUTS = 4,
    TW_QUEUE_PLACES = 6, /* loops of tiles: nests with more are not played */
    TW_QUEUE_UNITS = 4,  /* more behave as so many                         */
    TW_QUEUE_SUMS = 2,   /* with more buffers of the output nothing waits for one */
};
typedef struct tw_queue {
    int n_places;
    int64_t trips[TW_QUEUE_PLACES]; /* of the loops of tiles, outermost first                                 */
    double rest[TW_QUEUE_PLACES];   /* how long the last tile is, as a share of the others; 0: as long as they */
    unsigned output;                /* places that change the output's tile                                   */
    double exec;                    /* cycles of one execution,                                               */
    double store;                   /* and of one store                                                       */
    int units;                      /* of the mover, that take turns                                          */
    bool prefetches;                /* the loads of a step stand before the store of the step before it       */
    int sums;                       /* buffers of the output: executions wait for a store if there are few    */
    int n_inputs;
    double load[TW_QUEUE_INPUTS];      /* cycles of one transfer of a whole tile,                                */
    unsigned shrinks[TW_QUEUE_INPUTS]; /* which is shorter where these places stand on their last index        */
    unsigned first[TW_QUEUE_INPUTS];   /* places that stand on their first index when a tile comes               */
} tw_queue;

/* Cycles from the first load to the end of the last store; the steps that were played for it are added to *n_steps. */
double tw_queue_cycles(const tw_queue *queue, int64_t *n_steps);
#endif
