/* src/model/summed.h - a reduction that is divided: partial sums, and an operator that adds them up.
 *
 * Cores can share the work of a sum only if each makes a sum of its own, and one of them adds these up. That is another model: the operator becomes one per piece of a reduction
 * loop, each with a tensor of its own of the accumulator's type, and an operator that adds these, and finishes:
 *
 *     conv   ofm[oc, y, x] = finish(sum over ic < 64 of ifm[ic, y, x] * w[oc, ic])
 *     becomes   conv.sum0  [oc, y, x] = sum over ic < 40 of ifm[ic, y, x] * w[oc, ic]
 *               conv.sum1  [oc, y, x] = sum over ic < 24 of ifm[ic + 40, y, x] * w[oc, ic + 40]
 *               conv       ofm = finish(conv.sum0 + conv.sum1)
 *
 * Sums are added in the order of their pieces, in the accumulator's type: of integers the result is the same, of floats it is that of another order. Everything else, who makes what where,
 * and what passes links, is said of these operators as of any others. */
#ifndef TW_MODEL_SUMMED_H
#define TW_MODEL_SUMMED_H
#include "model/model.h"

enum { TW_MAX_SUMS = TW_MAX_OPERANDS - 1 };

typedef struct tw_divided_sum {
    const char *op, *loop;
    int n;
    int64_t share[TW_MAX_SUMS]; /* piece i ends at floor(extent * (share[0] + .. + share[i]) / sum of all) */
} tw_divided_sum;

/* Whether the operator can be divided along the loop at all: it reduces, and what is added up in pieces can be added up in the end. */
bool tw_sum_can_be_divided(const tw_op *op, int loop);
/* The model with these divided; it lists them (tw_model.divided). TW_ERR_INPUT, reported at `loc`, when that cannot be. */
TW_NODISCARD tw_status tw_model_divide_sums(const tw_model *model, int n, const tw_divided_sum *which, tw_loc loc,
                                            tw_arena *arena, tw_diag *diag, const tw_model **out);
#endif
