/* src/verify/kernel.h - runs a box of loop points on dense arrays of doubles. */
#ifndef TW_VERIFY_KERNEL_H
#define TW_VERIFY_KERNEL_H
#include "core/deadline.h"
#include "model/model.h"

typedef struct tw_kernel_input {
    const double *data; /* the elements of `region`, row-major; NULL: the box meets only padding of it */
    tw_region region;
} tw_kernel_input;

/* What `value` of the operator needs besides the inputs. */
typedef struct tw_kernel_value {
    const double *held[TW_MAX_HELD]; /* one number, or one for each index of its loop */
    double bound;                    /* see tw_draw; 0: values are taken as they are  */
    bool positive;
    const tw_deadline *deadline; /* that may end it, NULL: none */
} tw_kernel_value;

/* Accumulates the points of a sound box into `out`, which holds the box' output region, row-major.
 * `value` may be NULL where the operator has none. TW_AVERAGE adds up like TW_ADD; dividing is the caller's. Returns -1, or the input that was asked for an
 * element inside its tensor that its region does not hold. */
int tw_kernel_run(const tw_op *op, tw_compute compute, const tw_box *box, const tw_kernel_input *input,
                  const tw_kernel_value *value, double *out);
#endif
