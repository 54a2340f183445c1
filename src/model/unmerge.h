/* src/model/unmerge.h - the same operator with loops divided, so that it sees its tensors in the shapes that these have.
 *
 *     before   add   d0 [200704]         a [d0]   b [d0]   out [d0]           a is [64, 56, 56]
 *     after          d00 d01 d02         a [d00, d01, d02]   ..               operators before and behind it see the same axes
 *
 * The other way round than merging (simplify.h). A loop is divided where it walks every axis that it occurs in by itself, from end to end;
 * vectors that are held keep their loop. Axes that are finer than the tensor's, as those of a grouped convolution are, stay. */
#ifndef TW_MODEL_UNMERGE_H
#define TW_MODEL_UNMERGE_H
#include "model/model.h"

/* Axes of one element count for nothing. False: out of memory. */
TW_NODISCARD bool tw_op_unmerge(tw_op *op, const tw_model *model, tw_arena *arena);
/* The tensor gets the axes in which the operand sees it, if these divide its own ones further; whether they do. */
bool tw_tensor_refine(tw_tensor *tensor, const tw_operand *operand);
#endif
