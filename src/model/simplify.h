/* src/model/simplify.h - the same operator with the fewest loops that do the same work.
 *
 *     before   conv    oc oy ox | ic ky kx      ifm [ic, oy+ky, ox+kx]   w [oc, ic, ky, kx]   ofm [oc, oy, ox]     kernel 1x1
 *     after            oc oyox  | ic            ifm [ic, oyox]           w [oc, ic]           ofm [oc, oyox]
 *
 * Four rewritings, none of which knows what a convolution is:
 *
 *   ones     a loop of one step goes, and so does an axis of one element
 *   taps     steps of a reduction at which some input always lies in the padding do nothing and go: of a 3x3 kernel on
 *            an input of one row, two rows. Of the weights, only what is left is walked: w [oc, ic, 1 + 0, kx]
 *   windows  an axis stride*o + k whose windows begin at multiples of some g is two axes, o and k / g along the blocks of
 *            g elements and k % g inside of them: where windows do not overlap, nothing is left of the window
 *   merging  two loops that walk neighbouring axes of every operand that has them, the inner one from end to end, are one
 *
 * The elements of each operand keep their order, so that a tensor of the old shape is one of the new shape. Sums may be
 * added up in another order. Held vectors stay along their loops, formulas as they are.
 *
 * Merging costs nothing on engines that count points or bytes: each tile of the two loops has one of as many points of the
 * merged one, and only where both loops were cut unevenly the first load and the last store could be shorter. Engines
 * that see loops are another matter: an array that two loops lie over at once, cores that share the longest one. So a
 * judge is asked. */
#ifndef TW_MODEL_SIMPLIFY_H
#define TW_MODEL_SIMPLIFY_H
#include "model/model.h"

typedef struct tw_merge_judge {
    /* Whether an operator is worse off with the loop `outer` of `merged` than with that and `inner` of `apart`. NULL: never. */
    bool (*is_worse)(const void *user, const tw_op *apart, int outer, int inner, const tw_op *merged);
    const void *user;
} tw_merge_judge;

/* Rewrites a sound operator into a sound one. False: out of memory. */
TW_NODISCARD bool tw_op_simplify(tw_op *op, const tw_merge_judge *judge, tw_arena *arena);

/* An array of processing elements: one pass is rows x columns points of two loops. */
typedef struct tw_grid {
    int64_t rows, columns;
    bool parallel; /* only loops that name the output lie over it */
} tw_grid;
/* Passes that the operator takes at least, no loop being cut. */
int64_t tw_grid_passes(const tw_grid *grid, const tw_op *op);

/* Two of the rewritings by themselves; true: something has changed. */
bool tw_op_drop_ones(tw_op *op);
bool tw_op_drop_taps(tw_op *op);
#endif
