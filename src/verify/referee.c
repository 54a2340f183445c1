/* src/verify/referee.c - what should come out, and whether it did. */
#include "verify/executor.h"
#include "verify/shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the reference ---- */

/* Whether there is time for a reference that does not look at the deadline. */
static bool is_quick(const tw_referee *by, const tw_op *op)
{
    static const double points_per_second = 2e9;
    return (double)tw_op_points(op) < points_per_second * tw_deadline_left(by->deadline);
}

const char *tw_referee_answer(const tw_referee *by, const tw_maths *m, const double *const *input, double *out)
{
    tw_reference_case c = {.model = by->model, .op = &m->op, .deadline = by->deadline};
    for (int o = 0; o < tw_op_output(&m->op); o++) c.input[o] = input[o];
    memcpy(c.held, m->value.held, sizeof c.held);
    c.bound = m->value.bound;
    c.positive = m->value.positive;
    const char *who = by->reference && is_quick(by, &m->op) ? by->reference(by->user, &c, out) : NULL;
    return who ? who : tw_reference_direct(NULL, &c, out);
}

/* ---- the comparison ---- */

/* Whether a number is b as its type has it; formulas may make what is no number. */
static bool is_equal(double a, double b, tw_dtype dtype, double tolerance)
{
    double size = fabs(b) > 1 ? fabs(b) : 1;
    if (a == b || fabs(a - b) <= tolerance * size || (isnan(a) && isnan(b))) return true;
    return tw_dtype_is_float(dtype) && tw_numbers_round(dtype, &b, 1) == 1 && a == b;
}

/* "(0, 3, 17)" of a flat index. */
enum { COORDINATES_MAX = 96 };
static const char *coordinates(const tw_operand *operand, int64_t at, char text[COORDINATES_MAX])
{
    int64_t position[TW_MAX_AXES];
    for (int a = operand->n_axes - 1; a >= 0; a--) {
        position[a] = at % operand->axis[a].extent;
        at /= operand->axis[a].extent;
    }
    size_t n = 0;
    text[0] = 0;
    for (int a = 0; a < operand->n_axes && n < COORDINATES_MAX; a++)
        n += (size_t)snprintf(text + n, COORDINATES_MAX - n, "%s%" PRId64, a ? ", " : "", position[a]);
    return text;
}

void tw_compare(tw_fault *fault, const tw_place *p, const char *name, double tolerance, const double *expected,
                double *got)
{
    int64_t n = tw_verify_region_elems(p->shape, &p->region), elem = tw_dtype_bytes(p->dtype);
    char at[COORDINATES_MAX];
    tw_numbers_unpack(p->dtype, p->data, n, got);
    for (int64_t i = 0; i < n && !fault->set; i++) {
        if (!p->shadow[i * elem])
            tw_fault_set(fault, "element (%s) of '%s' is never stored", coordinates(p->shape, i, at), name);
        else if (expected && !is_equal(got[i], expected[i], p->dtype, tolerance))
            tw_fault_set(fault, "element (%s) of '%s' is %.9g, should be %.9g", coordinates(p->shape, i, at), name,
                         got[i], expected[i]);
    }
}
