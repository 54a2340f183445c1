/* src/model/divided.h - an operator that is divided into several, which cores can run with tensors of their own.
 *
 * Along a reduction each piece makes partial sums, of the accumulator's type, and an operator adds them up, in the order of the pieces, and finishes:
 *
 *     conv   ofm[oc, y, x] = finish(sum over ic < 64 of ifm[ic, y, x] * w[oc, ic])
 *     becomes   conv.sum0  [oc, y, x] = sum over ic < 40 of ifm[ic, y, x] * w[oc, ic]
 *               conv.sum1  [oc, y, x] = sum over ic < 24 of ifm[ic + 40, y, x] * w[oc, ic + 40]
 *               conv       ofm = finish(conv.sum0 + conv.sum1)
 *
 * Along a parallel loop each piece makes a part of the output as a tensor of its own. Whoever reads that reads the parts that it touches, as pieces of its input (pieces.h). It may be divided, too; where that is
 * by the loop that runs along the axis, a reduction (then its pieces are sums) or parallel again, each of its pieces reads one part:
 *
 *     up     h[m, n] = ..          becomes   up.part0 makes h.part0, up.part1 makes h.part1
 *     down   y[m, j] = sum over n of h[m, n] * v[j, n]
 *                                            down.sum0 reads h.part0, down.sum1 reads h.part1, down adds up
 *
 * With windows they read rows of two parts, of the neighbour's part the border rows alone:
 *
 *     conv1  divided along oy               conv1.part0 makes rows 0 .. 13, conv1.part1 rows 14 .. 27
 *     conv2  divided along oy, 3 x 3        conv2.part0 reads rows 0 .. 13 of the one and row 14 of the other
 *
 * So what a core makes stays there for what it makes next. Of integers all numbers are as before, of floats sums are those of another order. Everything else, who makes what where, and what passes
 * links, is said of these operators as of any others. */
#ifndef TW_MODEL_DIVIDED_H
#define TW_MODEL_DIVIDED_H
#include "model/model.h"

enum {
    TW_MAX_SUMS = TW_MAX_OPERANDS - 1, /* that one operator adds up */
    TW_MAX_PIECES = 64,
};

typedef struct tw_divided_op {
    const char *op, *loop;
    int n;
    int64_t share[TW_MAX_PIECES]; /* piece i ends at floor(extent * (share[0] + .. + share[i]) / sum of all) */
} tw_divided_op;

/* Whether the operator can be divided along the loop at all, by what it computes. */
bool tw_op_can_be_divided(const tw_op *op, int loop);
/* The model with these divided, who makes something before who reads it; it lists them (tw_model.divided). TW_ERR_INPUT, reported at `loc`, when that cannot be. */
TW_NODISCARD tw_status tw_model_divide(const tw_model *model, int n, const tw_divided_op *which, tw_loc loc,
                                       tw_arena *arena, tw_diag *diag, const tw_model **out);
#endif
