/* src/fuse/ahead.h - how far ahead of the work data can be loaded: a bound by the room that there is for it.
 *
 * An element of the weights is *done* when all points that use it are. Of what was loaded for the last time by then, as much as there is room for on chip may be for later; all
 * the rest is done. So at any time t
 *
 *     what is still to be loaded  >=  all that is not done at t  -  room
 *
 * and nothing of a layer's weights is done before all that a single element of them waits for: with a convolution, one channel of its whole input, and so
 * all of what the layer before the last reads.
 *
 *     conv 1 | conv 2 | conv 3 | conv 4        while conv 1 is not complete, nothing of w3 and w4 is done:
 *     w1       w2       w3       w4            time >= cycles of conv 1 + (w3 + w4 - room) / rate
 *
 * This holds for plans of all kinds, in whatever order operators and their parts run, recomputed or not. */
#ifndef TW_FUSE_AHEAD_H
#define TW_FUSE_AHEAD_H
#include "machine/platform.h"
#include "model/model.h"

/* Points of each loop at which something needed is made. */
typedef struct tw_ahead_points {
    bool *mark[TW_MAX_LOOPS];
    int64_t count[TW_MAX_LOOPS];
} tw_ahead_points;

typedef struct tw_ahead_op {
    tw_ahead_points needed;         /* all marks NULL: nothing is known of it                                */
    double outside;                 /* the share of them that may be left out, since they read padding       */
    int64_t cycles;                 /* of all others, at the least,                                          */
    int engine;                     /* of this engine of the platform                                        */
    int mover[TW_MAX_OPERANDS];     /* 1 + the one that brings an input of the graph from memory 0; 0: none  */
    int64_t units[TW_MAX_OPERANDS]; /* that have to be brought                                               */
} tw_ahead_op;

typedef struct tw_ahead {
    const tw_model *model;
    const tw_platform *platform;
    const tw_ahead_op *op; /* per operator of the model */
    int64_t cycles;        /* found: no plan takes less; 0: nothing */
    int mover;             /* that moves what comes last            */
} tw_ahead;
/* Fills in `cycles` and `mover`. */
TW_NODISCARD tw_status tw_ahead_of(tw_ahead *ahead, tw_arena *scratch);
#endif
