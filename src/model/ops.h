/* src/model/ops.h - the operator kinds: what `op: conv` and its fields mean as a loop nest.
 *
 * A kind is read into a draft: the nest with its access maps, and for each operand the element type;
 * which tensors the operands are is decided later, in read.c. The nests are listed in ops.c and, for
 * users, in docs/formats.md. */
#ifndef TW_MODEL_OPS_H
#define TW_MODEL_OPS_H
#include "input/field.h"
#include "model/model.h"

typedef struct tw_draft {
    tw_op op;
    tw_op_locs locs;
    tw_dtype dtype[TW_MAX_OPERANDS];
    const char *tensor[TW_MAX_OPERANDS]; /* name, NULL: <operator>.<operand> */
} tw_draft;

/* The type into which inputs of this type are accumulated. */
tw_dtype tw_compute_dtype(tw_compute compute, tw_dtype input);
/* An element type; false when it is absent or wrong. */
bool tw_field_dtype(tw_fields *f, const char *key, tw_presence presence, tw_dtype *out);

/* Reads the fields of the kind named by `op` (all but name, op, accumulator, inputs and output) into the draft's
 * nest; name and loc are set by the caller. `fallback` is the element type when none is given. */
void tw_kind_read(tw_fields *f, const tw_node *op, tw_dtype fallback, tw_draft *draft);
#endif
