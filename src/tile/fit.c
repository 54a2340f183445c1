/* src/tile/fit.c - the largest tile that a capacity allows.
 *
 * The equations of a one-parameter layout are quadratic with non-negative coefficients, so "fits" is
 * monotone in x and bisection finds the boundary. Overflow counts as "does not fit". */
#include "core/core.h"

static bool fits(int64_t quad, int64_t lin, int64_t constant, int64_t capacity, int64_t x)
{
    int64_t sum; /* (quad*x + lin)*x + constant */
    return tw_ckd_mul(quad, x, &sum) && tw_ckd_add(sum, lin, &sum) && tw_ckd_mul(sum, x, &sum) &&
           tw_ckd_add(sum, constant, &sum) && sum <= capacity;
}

int64_t tw_fit_largest(int64_t quad, int64_t lin, int64_t constant, int64_t capacity)
{
    if (quad < 0 || lin < 0 || constant < 0 || (quad == 0 && lin == 0)) return -1;
    if (!fits(quad, lin, constant, capacity, 0)) return -1;
    int64_t lo = 0, hi = capacity; /* x fits at lo; x = capacity + 1 never fits since quad + lin >= 1 */
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2 + 1;
        if (fits(quad, lin, constant, capacity, mid))
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}
