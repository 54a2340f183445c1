/* src/lower/position.c - operators that know where an element lies.
 *
 *     ArgMax    max, then per element its place where it is the max (a number behind the last where it is not), then the
 *               least of these: the first such place
 *     CumSum    a sum over a window that reaches back to the first element: what lies before it is padding
 *     Trilu     a map that compares rows and columns, two constants that count */
#include "lower/build.h"

#include <string.h>

/* ---- the place of the largest ---- */

/* x is [before, along, behind]: per row the place of its largest (smallest) element, of equals the first (last). */
static void find_place(tw_lowering *l, const char *suffix, tw_seen x, bool smallest, bool last, tw_seen out)
{
    static const bool gone[3] = {false, true, false};
    tw_seen kept = tw_without(x, gone), best = tw_between_like(l, ".best", tw_type_of(l, x), kept);
    tw_seen places = tw_between_like(l, ".places", TW_ONNX_I64, x);
    tw_seen count = TW_RESHAPED(tw_counting(l, ".count", x.dim[1]), x.dim[1], 1), input[3] = {x, best, count};
    int var[3];
    tw_reduction(l, ".best", smallest ? TW_MIN : TW_MAX, x, gone, best);
    tw_map(l, ".places", places, 3, input, var);
    if (tw_refused(l)) return;
    int nowhere = tw_num(l, last ? -1 : (double)x.dim[1]);
    tw_set_value(l, tw_choose(l, tw_fn2(l, TW_FN_EQUAL, var[0], var[1]), var[2], nowhere));
    tw_reduction(l, suffix, last ? TW_MAX : TW_MIN, places, gone, tw_reshaped(out, kept.n_dims, kept.dim));
}

static void lower_arg(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
    int axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    bool last = tw_onnx_int(l->node, "select_last_index", 0) != 0;
    if (tw_refused(l)) return;
    x = TW_RESHAPED(x, tw_product(x.dim, axis), x.dim[axis], tw_product(&x.dim[axis + 1], x.n_dims - axis - 1));
    find_place(l, "", x, strcmp(l->node->op, "ArgMin") == 0, last, y);
}

/* 1 at the first of the largest, 0 elsewhere. */
static void lower_hardmax(tw_lowering *l)
{
    static const bool gone[3] = {false, true, false};
    tw_seen x = tw_rows_of(l, tw_see_input(l, 0)), y = tw_see_output(l, 0);
    int var[2];
    if (tw_refused(l)) return;
    tw_seen place = tw_between_like(l, ".place", TW_ONNX_I64, tw_without(x, gone));
    find_place(l, ".place", x, false, false, place);
    tw_seen input[2] = {place, TW_RESHAPED(tw_counting(l, ".count", x.dim[1]), x.dim[1], 1)};
    tw_map(l, "", tw_reshaped(y, x.n_dims, x.dim), 2, input, var);
    if (!tw_refused(l)) tw_set_value(l, tw_fn2(l, TW_FN_EQUAL, var[0], var[1]));
}

/* ---- running sums ---- */

static int known_axis(tw_lowering *l, int i, int n_dims)
{
    const tw_array *known = tw_known_input(l, i);
    int64_t axis = known && known->data && known->n == 1 ? tw_array_get_int(known, 0) : INT64_MIN;
    if (axis < 0 && axis >= -n_dims) axis += n_dims;
    if (axis >= 0 && axis < n_dims) return (int)axis;
    tw_refuse(l, known ? "axis out of range" : "the axis is not constant");
    return 0;
}

/* Output i adds up the elements at i - k, or i + k in reverse, one further when its own does not count. */
static void lower_cum_sum(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
    int axis = known_axis(l, 1, x.n_dims), sign = tw_onnx_int(l->node, "reverse", 0) != 0 ? 1 : -1;
    bool exclusive = tw_onnx_int(l->node, "exclusive", 0) != 0;
    if (tw_refused(l)) return;
    tw_nest_begin(l, "", TW_ADD);
    int before = tw_add_outer(l, "d0", tw_product(x.dim, axis)), i = tw_add_loop(l, "d1", x.dim[axis], false);
    int behind = tw_add_outer(l, "d2", tw_product(&x.dim[axis + 1], x.n_dims - axis - 1));
    int k = tw_add_loop(l, "k", x.dim[axis], true);
    tw_add_operand(l, x);
    tw_add_axis(l, before);
    tw_add_axis_as(l, (tw_axis){.extent = x.dim[axis],
                                .offset = exclusive ? sign : 0,
                                .divisor = 1,
                                .n_terms = 2,
                                .term = {{i, 1}, {k, sign}}});
    tw_add_axis(l, behind);
    tw_add_output(l, y);
    if (tw_refused(l)) return;
    int sum = tw_tail(l);
    tw_set_tail(l, tw_fit(l, sum, tw_type_of(l, y)));
}

/* ---- rows and columns ---- */

/* The upper triangle: row + k <= column; the lower: column <= row + k. */
static void lower_trilu(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), shift = tw_see_input(l, 1), y = tw_see_output(l, 0);
    int var[4] = {0}, n = x.n_dims;
    if (n < 2) tw_refuse(l, "no rows");
    if (tw_refused(l)) return;
    tw_seen row = TW_RESHAPED(tw_counting(l, ".row", x.dim[n - 2]), x.dim[n - 2], 1);
    tw_seen input[4] = {x, row, tw_counting(l, ".column", x.dim[n - 1]), shift};
    tw_map(l, "", y, shift.tensor >= 0 ? 4 : 3, input, var);
    if (tw_refused(l)) return;
    int at = shift.tensor >= 0 ? tw_plus(l, var[1], var[3]) : var[1];
    bool upper = tw_onnx_int(l->node, "upper", 1) != 0;
    int inside = tw_fn2(l, TW_FN_LESS_EQUAL, upper ? at : var[2], upper ? var[2] : at);
    tw_set_value(l, tw_choose(l, inside, var[0], tw_num(l, 0)));
}

/* A constant: only the shape of the input counts. */
static void lower_eye_like(tw_lowering *l)
{
    tw_seen y = tw_see_output(l, 0);
    int64_t k = tw_onnx_int(l->node, "k", 0);
    tw_array *array;
    if (y.n_dims != 2 || tw_elems_of(y) > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    if (tw_refused(l)) return;
    tw_seen eye = tw_literal(l, ".eye", tw_type_of(l, y), 2, y.dim, &array);
    for (int64_t r = 0; r < y.dim[0] && !tw_refused(l) && -y.dim[0] < k && k < y.dim[1]; r++)
        if (r + k >= 0 && r + k < y.dim[1]) tw_array_set(array, r * y.dim[1] + r + k, 1);
    if (!tw_refused(l)) tw_output_is(l, 0, eye, 0);
}

const tw_describer tw_position_ops[] = {
    {"ArgMax", "", lower_arg, true},
    {"ArgMin", "", lower_arg, true},
    {"Hardmax", "", lower_hardmax, true},
    {"CumSum", "", lower_cum_sum, true},
    {"Trilu", "", lower_trilu, true},
    {"EyeLike", "", lower_eye_like, false},
    {0},
};
