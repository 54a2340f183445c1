/* src/rivals/timeloop/price.h - what a frame fixes: who hands what to whom, and what a word of it takes.
 *
 * A handover is an operand's way from one memory to the next inner one in which it resides. Its words depend on the loops over
 * time outside of the inner memory alone; what they take in energy is a line with the words, up to blocks that are not full. */
#ifndef TW_RIVALS_TIMELOOP_PRICE_H
#define TW_RIVALS_TIMELOOP_PRICE_H
#include "rivals/timeloop/space.h"

enum { TW_TL_HANDOVERS = 64 }; /* of a frame; operands seldom reside in more memories */

typedef struct tw_tl_handover {
    int operand, from, to;   /* memories: outer, inner                                       */
    double differ;           /* parts read for the children of one outer instance, per part of a child */
    double linked;           /* children that may get their parts from each other, or the same in part   */
    double own_from, own_to; /* first reads that are left out, 0: the operand is not updated */
    double clusters_from, clusters_to;
    double from_block, to_block;         /* words that are accessed at once */
    double read_pj, update_pj, write_pj; /* of a block outside; inside     */
    double pj_per_word, pj; /* energy of w words into one inner instance is at least w x the first + the second,
                               links and shared parts included                              */
} tw_tl_handover;

typedef struct tw_tl_price {
    const tw_tl_space *space;
    const tw_tl_frame *frame;
    double instances[TW_RIVAL_MEMORIES];
    int64_t inside[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS]; /* iterations over the fan-outs from a memory on  */
    int64_t base[TW_RIVAL_DIMS];                      /* iterations over time                           */
    double cycles;                                    /* of the array                                   */
    double least_cycles;                              /* of everything: tensors pass the outermost memory */
    double fixed_pj;                                  /* the array, and what it reads and updates, at least */
    double leak_pj;                                   /* per cycle                                      */
    double array_reads[TW_RIVAL_MEMORIES][TW_RIVAL_OPERANDS]; /* of one instance, for the array         */
    double array_writes[TW_RIVAL_MEMORIES][TW_RIVAL_OPERANDS];
    int n_handovers;
    tw_tl_handover handover[TW_TL_HANDOVERS];
    bool feeds_array; /* the array is fed by a fan-out */
    bool exact;       /* handovers say all: no part is shared in a way that depends on the loops over time */
} tw_tl_price;

/* False: there are more handovers than there is room for. */
TW_NODISCARD bool tw_tl_price_init(tw_tl_price *price, const tw_tl_space *space, const tw_tl_frame *frame);
/* Energy of `words` into one inner instance, blocks that are not full included. */
double tw_tl_price_of(const tw_tl_handover *h, double words);
/* The sizes of an operand's tile in a memory, where `time` iterations over time are inside of it. */
double tw_tl_price_tile(const tw_tl_price *price, int operand, int memory, const int64_t *time, int64_t *reach);
/* Whether the tiles of memory m fit. */
bool tw_tl_price_fits(const tw_tl_price *price, int memory, const int64_t *time);
#endif
