/* src/lower/reduce.c - reductions over axes, and softmax, which is made of them.
 *
 *     LogSumExp, Softmax      max, exp(x - max), sum, log(sum) + max or quotients */
#include "lower/build.h"

#include <string.h>

/* ---- which axes ---- */

static void mark_axis(tw_lowering *l, int64_t axis, int n_dims, bool *gone)
{
    if (axis < 0) axis += n_dims;
    if (axis < 0 || axis >= n_dims)
        tw_refuse(l, "axis out of range");
    else
        gone[axis] = true;
}

/* Axes from the attribute, or from input 1 in newer versions; false: nothing goes. */
static bool read_axes(tw_lowering *l, int n_dims, bool *gone)
{
    const tw_attribute *a = tw_onnx_attribute(l->node, "axes");
    const tw_array *known = tw_known_input(l, 1);
    if (tw_has_input(l, 1) && !known) tw_refuse(l, "axes are not constant");
    if (tw_refused(l)) return true;
    int64_t n = a ? a->n : known ? known->n : 0;
    for (int64_t i = 0; i < n; i++) mark_axis(l, a ? a->ints[i] : tw_array_get_int(known, i), n_dims, gone);
    if (n > 0) return true;
    if (tw_onnx_int(l->node, "noop_with_empty_axes", 0) != 0) return false;
    memset(gone, true, (size_t)n_dims);
    return true;
}

/* ---- reductions ---- */

typedef struct reduction {
    tw_seen x, y;
    bool gone[TW_ONNX_MAX_DIMS];
} reduction;

/* Without axes, where that means that nothing goes, the same elements come out of most reductions. */
static void pass_through(tw_lowering *l, tw_seen x)
{
    static const char *const same[] = {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"};
    for (size_t i = 0; i < TW_COUNT(same); i++)
        if (strcmp(l->node->op, same[i]) == 0) {
            tw_output_is(l, 0, x, 0);
            return;
        }
    tw_refuse(l, "no axes");
}

/* false: there is nothing left to describe. */
static bool read_reduction(tw_lowering *l, reduction *r)
{
    *r = (reduction){.x = tw_see_input(l, 0), .y = tw_see_output(l, 0)};
    if (read_axes(l, r->x.n_dims, r->gone)) return !tw_refused(l);
    pass_through(l, r->x);
    return false;
}

/* A reduction of value(x), with a finish; TW_N_FNS: none. */
static void reduce(tw_lowering *l, tw_compute compute, tw_fn finish, int (*value)(tw_lowering *l))
{
    reduction r;
    if (!read_reduction(l, &r)) return;
    tw_reduction(l, "", compute, r.x, r.gone, r.y);
    if (tw_refused(l)) return;
    tw_value_begin(l);
    if (value) tw_set_value(l, value(l));
    int x = tw_tail(l);
    if (finish != TW_N_FNS) x = tw_fn1(l, finish, x);
    bool sums = compute == TW_ADD || compute == TW_PRODUCT;
    tw_set_tail(l, sums ? tw_fit(l, x, tw_type_of(l, r.y)) : x);
}

static int magnitude(tw_lowering *l) { return tw_fn1(l, TW_FN_ABS, 0); }
static int square(tw_lowering *l) { return tw_times(l, 0, 0); }

static void lower_sum(tw_lowering *l) { reduce(l, TW_ADD, TW_N_FNS, NULL); }
static void lower_prod(tw_lowering *l) { reduce(l, TW_PRODUCT, TW_N_FNS, NULL); }
static void lower_max(tw_lowering *l) { reduce(l, TW_MAX, TW_N_FNS, NULL); }
static void lower_min(tw_lowering *l) { reduce(l, TW_MIN, TW_N_FNS, NULL); }
static void lower_l1(tw_lowering *l) { reduce(l, TW_ADD, TW_N_FNS, magnitude); }
static void lower_l2(tw_lowering *l) { reduce(l, TW_ADD, TW_FN_SQRT, square); }
static void lower_sum_square(tw_lowering *l) { reduce(l, TW_ADD, TW_N_FNS, square); }
static void lower_log_sum(tw_lowering *l) { reduce(l, TW_ADD, TW_FN_LOG, NULL); }

static void lower_mean(tw_lowering *l)
{
    reduction r;
    if (read_reduction(l, &r)) tw_mean(l, "", r.x, r.gone, r.y);
}

/* ---- exponentials ---- */

typedef struct exponentials {
    tw_seen max, e, sum; /* max and sum with 1 where axes go */
} exponentials;

/* Steps: maximum, exp(x - maximum), their sum. */
static exponentials exponentiate(tw_lowering *l, tw_seen x, const bool *gone)
{
    tw_onnx_type type = tw_type_of(l, x);
    tw_seen kept = tw_without(x, gone);
    exponentials s = {tw_between_like(l, ".max", type, kept), tw_between_like(l, ".exp", type, x),
                      tw_between_like(l, ".sum", type, kept)};
    tw_seen input[2] = {x, s.max};
    int var[2];
    tw_reduction(l, ".max", TW_MAX, x, gone, s.max);
    tw_map(l, ".exp", s.e, 2, input, var);
    if (tw_refused(l)) return s;
    tw_set_value(l, tw_fn1(l, TW_FN_EXP, tw_minus(l, var[0], var[1])));
    tw_reduction(l, ".sum", TW_ADD, s.e, gone, s.sum);
    return s;
}

static void lower_log_sum_exp(tw_lowering *l)
{
    reduction r;
    if (!read_reduction(l, &r)) return;
    if (!tw_is_float_type(tw_type_of(l, r.x))) tw_refuse(l, "exponentials of integers");
    exponentials s = exponentiate(l, r.x, r.gone);
    tw_seen input[2] = {s.sum, s.max};
    int var[2];
    tw_map(l, "", tw_reshaped(r.y, s.sum.n_dims, s.sum.dim), 2, input, var);
    if (!tw_refused(l)) tw_set_value(l, tw_plus(l, tw_fn1(l, TW_FN_LOG, var[0]), var[1]));
}

tw_seen tw_rows_of(tw_lowering *l, tw_seen x)
{
    bool old = l->opset < 13;
    int64_t axis = tw_onnx_int(l->node, "axis", old ? 1 : -1);
    if (axis < 0) axis += x.n_dims;
    if (axis < 0 || axis > x.n_dims || (axis == x.n_dims && !old)) tw_refuse(l, "axis out of range");
    if (tw_refused(l)) return x;
    int64_t before = tw_product(x.dim, (int)axis);
    int64_t along = old ? tw_product(&x.dim[axis], x.n_dims - (int)axis) : x.dim[axis];
    return TW_RESHAPED(x, before, along, old ? 1 : tw_product(&x.dim[axis + 1], x.n_dims - (int)axis - 1));
}

static void lower_softmax(tw_lowering *l)
{
    const bool gone[3] = {false, true, false}, logarithm = strcmp(l->node->op, "LogSoftmax") == 0;
    tw_seen x = tw_rows_of(l, tw_see_input(l, 0)), y = tw_see_output(l, 0);
    if (tw_refused(l)) return;
    exponentials s = exponentiate(l, x, gone);
    tw_seen quotients[2] = {s.e, s.sum}, logarithms[3] = {x, s.max, s.sum};
    int var[3];
    tw_map(l, "", tw_reshaped(y, x.n_dims, x.dim), logarithm ? 3 : 2, logarithm ? logarithms : quotients, var);
    if (tw_refused(l)) return;
    if (logarithm)
        tw_set_value(l, tw_minus(l, tw_minus(l, var[0], var[1]), tw_fn1(l, TW_FN_LOG, var[2])));
    else
        tw_set_value(l, tw_over(l, var[0], var[1]));
}

/* ---- the table ---- */

const tw_describer tw_reduce_ops[] = {
    {"ReduceSum", "", lower_sum, true},
    {"ReduceProd", "", lower_prod, true},
    {"ReduceMax", "", lower_max, true},
    {"ReduceMin", "", lower_min, true},
    {"ReduceL1", "", lower_l1, true},
    {"ReduceL2", "", lower_l2, true},
    {"ReduceSumSquare", "", lower_sum_square, true},
    {"ReduceLogSum", "", lower_log_sum, true},
    {"ReduceMean", "", lower_mean, true},
    {"ReduceLogSumExp", "", lower_log_sum_exp, true},
    {"Softmax", "", lower_softmax, true},
    {"LogSoftmax", "", lower_softmax, true},
    {0},
};
