/* src/model/padded.h - padding that is written into a tensor, by an operator of its own.
 *
 * Engines may take no more padding than half a kernel. What is beyond that becomes part of a larger tensor: an operator copies the input
 * into it and fills the rim, and the one that was there reads it instead, with as much padding as the engine takes:
 *
 *     conv 3x3, dilation 2, pad 2      ifm [c, y + 2*ky - 2]                       28 rows, 2 of padding on both sides
 *     becomes   conv.ifm.padded        ifm [c, y - 1] -> padded [c, y]             30 rows, of which 28 are copied
 *               conv                   padded [c, y + 2*ky - 1]                    1 of padding on both sides
 *
 * The rim has numbers that add nothing: zeros where inputs are multiplied or added up, the zero point where one is subtracted first, the least
 * number of the type where the largest is looked for. An average that leaves padding out of its divisor has no such number. */
#ifndef TW_MODEL_PADDED_H
#define TW_MODEL_PADDED_H
#include "model/model.h"

/* What of an operand's padding is more than half a kernel, along each axis with taps. */
typedef struct tw_excess {
    int64_t lo[TW_MAX_AXES], hi[TW_MAX_AXES];
    bool any;
} tw_excess;
tw_excess tw_excess_of(const tw_op *op, int operand);

/* Whether some number in the rim adds nothing, so that the padding can be written. */
bool tw_padding_can_be_written(const tw_op *op, int operand);

/* The operator that writes the tensor `to` for an operand: `maps` says whether the engine computes maps; otherwise it is of the
 * kind of the operator itself, over one point for each element. NULL: out of memory. */
const tw_op *tw_padding_op(const tw_op *op, int operand, int to, bool maps, const char *name, tw_arena *arena);
/* The operator, reading the tensor `to` instead. */
tw_op tw_padding_taken(const tw_op *op, int operand, int to);
/* That tensor. */
tw_tensor tw_padded_tensor(const tw_op *op, int operand, tw_dtype dtype, const char *name);

/* An operand whose padding is written: the operator of the workload, and its input. */
typedef struct tw_written_padding {
    const char *op, *operand;
} tw_written_padding;
/* The model with these written, each by an operator `conv.ifm.padded` before its reader; it lists them (tw_model.written). TW_ERR_INPUT when there is no such operand, or
 * it has no padding to be written. */
TW_NODISCARD tw_status tw_model_write_padding(const tw_model *model, int n, const tw_written_padding *which,
                                              bool maps, tw_loc loc, tw_arena *arena, tw_diag *diag,
                                              const tw_model **out);
#endif
