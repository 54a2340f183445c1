/* src/search/start.h - async: how long an array waits at the start of a program for its first block of sums, and between blocks.
 *
 * In a nest of tile loops let the *first block* be what is executed until the outermost reduction loop that is cut has run
 * once (without such a loop: one execution). It is a box: all reductions, and so much of each parallel loop as lies inside of
 * that loop, a tile or the whole piece that the level cuts. Two things follow.
 *
 *   room    Between two iterations of that reduction loop all sums of the block are unfinished. Either they are all in the
 *           innermost memory of the output, so the block fits there; or unfinished sums leave it, and since no loop outside cuts a
 *           reduction, every sum then leaves as often as that loop has iterations, and comes back once less.
 *   start   Everything that the block reads has passed each mover before the block ends, and the executions behind the block come
 *           later. So a program takes
 *
 *               what the block reads, through the mover  +  executions outside of the block  +  the last tile's way out
 *
 * A small block reads much for what it computes: with 16 x 16 points a cycle and 64 bytes a cycle a block of 16 x 16 sums of floats takes
 * two cycles to come for each cycle that it computes, one of 32 x 32 one for one. A large block leaves no room for the next: where the
 * block is one tile, and two do not fit, each of them has to leave before the next begins. Over the dimensions of an array the block takes
 * x passes of W; if these are as few as can be, all others cover W - x times the size of the dimension, and the rest is the
 * block's. That leaves few blocks to weigh, and one more pass is weighed against them. */
#ifndef TW_SEARCH_START_H
#define TW_SEARCH_START_H
#include "search/view.h"

/* Memories of an operand's path, outermost first without memory 0. */
typedef struct tw_route {
    int n, memory[TW_MAX_MEMORIES];
} tw_route;

typedef struct tw_ends { /* of a program, in cycles */
    /* Of each mover that carries inputs, -1: none: what comes before its first command and after its last, up to the
     * execution that waits for it. */
    int64_t beside[TW_MAX_ENGINES];
    int64_t fill;           /* before the first execution                                  */
    int64_t exec;           /* one execution                                               */
    int64_t drain;          /* the last tile's way out,                                    */
    int64_t stretched;      /* the same where no pass is wasted,                           */
    int64_t outer, leaving; /* without its first step; and where that is any tile          */
    const tw_route *way;    /* of each operand                                             */
    /* Where no pass is wasted: units of the first tile of each input and of the last of the output, by level. */
    int64_t units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
} tw_ends;
/* What comes before the first execution, and after the last, where tiles have these units. */
int64_t tw_ends_fill(const tw_view *view, const tw_ends *ends, const int64_t (*units)[TW_MAX_OPERANDS]);
int64_t tw_ends_drain(const tw_view *view, const tw_ends *ends, const int64_t (*units)[TW_MAX_OPERANDS]);

/* Cycles of a program of the part at least; 0: nothing is known. Nothing that is not above `known` is worth finding out. */
int64_t tw_start_least(const tw_view *view, const tw_ends *ends, int64_t known);
/* The same where no two of the largest tiles have room for their sums; 0: they do, or may. More passes over the array may make tiles
 * small enough: that is weighed against waiting. */
int64_t tw_start_alone(const tw_view *view, const tw_ends *ends);
/* The least length from `len` on that fills passes over a dimension of `size` units but for `spare` units. */
int64_t tw_fit_longer(int64_t len, int64_t size, int64_t spare);
/* The same of the longest tile of level t along a loop that is alone over the dimension, where `spare` units are left over in all
 * passes together: the loop has many such tiles, and each of them leaves as much. */
int64_t tw_fit_longest(int64_t extent, int t, int64_t len, int64_t size, int64_t spare);
/* The last tile of a loop that is cut once, at least, when its largest tile is one of these and every tile fills its passes like that. */
int64_t tw_fit_last(int64_t extent, tw_range largest, int64_t size, int64_t spare);
/* Operands whose elements are all different for all indices of the loops that shift no window, these being where no index lies in
 * padding, as a mask. */
unsigned tw_op_plain(const tw_op *op);
#endif
