/* src/model/pieces.h - inputs that are in several tensors.
 *
 * An input may be in pieces along one axis, each a tensor and an operand of its own (tw_operand.beside). A point finds its element in one of
 * them, or in none, and then it is padding:
 *
 *     ifm         [ic, oy + ky - 1, ox + kx - 1]     rows 0 .. 13 of what was one tensor
 *     ifm.piece1  [ic, oy + ky - 15, ox + kx - 1]    rows 14 .. 27, beside ifm
 *
 * So a window reads rows of both, and what a box touches of each is a box again: of the neighbour's piece, the border rows alone. */
#ifndef TW_MODEL_PIECES_H
#define TW_MODEL_PIECES_H
#include "model/model.h"

/* Invariant 6 of tw_model. */
TW_NODISCARD tw_status tw_pieces_check(const tw_op *op, const tw_op_locs *locs, tw_diag *diag);
/* The input as if all of its pieces were one: from the first position of any to the last. */
tw_operand tw_op_whole_input(const tw_op *op, int input);
#endif
