/* src/fit/step.h - one damped Gauss-Newton step inside a box, and the losses that weigh residuals.
 *
 *     minimise  d'A d / 2 + g'd   over   lo <= d <= hi
 *
 * by active sets: coordinates that meet an edge of the box stay there, the others are solved for again, and one that
 * would gain by leaving its edge leaves it. */
#ifndef TW_FIT_STEP_H
#define TW_FIT_STEP_H
#include "machine/machine.h"

typedef struct tw_quadratic {
    int n;
    double a[TW_MAX_PARAMETERS][TW_MAX_PARAMETERS]; /* symmetric, not indefinite */
    double g[TW_MAX_PARAMETERS];
    double lo[TW_MAX_PARAMETERS], hi[TW_MAX_PARAMETERS]; /* lo <= 0 <= hi        */
} tw_quadratic;

/* With `damping` times its diagonal added to A. */
void tw_box_step(const tw_quadratic *q, double damping, double d[TW_MAX_PARAMETERS]);

typedef enum tw_robust_kind {
    TW_ROBUST_HUBER, /* square up to `width`, then linear   */
    TW_ROBUST_TUKEY, /* about square, from `width` on constant */
} tw_robust_kind;
typedef struct tw_robust {
    tw_robust_kind kind;
    double width;
} tw_robust;
double tw_robust_of(const tw_robust *loss, double residual);
/* Its slope over the residual: the weight of the residual's square that has the same slope. */
double tw_robust_weight(const tw_robust *loss, double residual);
#endif
