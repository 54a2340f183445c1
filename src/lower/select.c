/* src/lower/select.c - operators that find elements by index.
 *
 *     Gather            y[o, i, n] = x[o, index[i], n]          rows of x, in the order of an index
 *     GatherND          the same with rows that tuples name: a step before it makes numbers of them
 *     GatherElements    every element a row of its own
 *     ScatterND         a copy of x, then rows of it are written where an index says; ScatterElements alike
 *
 * Where a row lies is known when the index is. The plan sees what is known before: so many rows, each moved by itself. An
 * operand that is a *selection* stands in the model as its rows, one after the other with a gap between them, so that no
 * two are one transfer; whose rows they are is the step's business (tw_selection). The mover follows the index by itself; the
 * index is an operand too, so that its own way counts. Rows that are named twice are moved twice.
 *
 * Rows of an output stand without a gap: the output of an operator has all its loops' points and no others. */
#include "lower/build.h"

#include <string.h>

/* ---- rows ---- */

/* Rows [outer, count, inner] of a tensor [outer, extent, inner]. */
typedef struct rows {
    int64_t outer, extent, count, inner;
} rows;

typedef struct row_loops {
    int outer, row, inner; /* -1: none */
} row_loops;

static row_loops add_row_loops(tw_lowering *l, const rows *r)
{
    row_loops loops = {.outer = tw_add_outer(l, "d0", r->outer)};
    loops.row = tw_add_loop(l, "d1", r->count, false);
    loops.inner = tw_add_outer(l, "d2", r->inner);
    return loops;
}

static void set_selection(tw_lowering *l, int operand, int index, const rows *r, int64_t apart)
{
    if (!tw_refused(l))
        l->nest.select[operand] = (tw_selection){index, r->outer, r->extent, r->count, r->inner, apart};
}

/* y is rows of x. */
static void gather_rows(tw_lowering *l, tw_seen x, tw_seen index, const rows *r, tw_seen y)
{
    int64_t apart;
    if (!tw_ckd_add(r->inner, 1, &apart) || apart > TW_EXTENT_MAX) tw_refuse(l, "too large");
    if (tw_refused(l)) return;
    tw_nest_begin(l, "", TW_MAP);
    row_loops loops = add_row_loops(l, r);
    tw_add_operand(l, x);
    tw_add_axis(l, loops.outer);
    tw_add_axis(l, loops.row);
    tw_axis along = {.extent = apart, .divisor = 1, .n_terms = loops.inner >= 0};
    along.term[0] = (tw_term){loops.inner, 1};
    tw_add_axis_as(l, along);
    int by = TW_WALK(l, index, loops.row);
    set_selection(l, 0, by, r, apart);
    tw_add_output(l, y);
    if (!tw_refused(l)) tw_set_value(l, 0);
}

/* Rows of y become those of x. */
static void scatter_rows(tw_lowering *l, tw_seen x, tw_seen index, const rows *r, tw_seen y)
{
    if (tw_refused(l)) return;
    tw_nest_begin(l, "", TW_MAP);
    row_loops loops = add_row_loops(l, r);
    TW_WALK(l, x, loops.outer, loops.row, loops.inner);
    int by = TW_WALK(l, index, loops.row);
    tw_add_output(l, y);
    set_selection(l, tw_op_output(&l->nest.op), by, r, r->inner);
    if (!tw_refused(l)) tw_set_value(l, 0);
}

static void copy_all(tw_lowering *l, tw_seen x, tw_seen y)
{
    int var;
    tw_map(l, ".copy", y, 1, &x, &var);
    if (!tw_refused(l)) tw_set_value(l, var);
}

/* ---- numbers of rows ---- */

/* An index that counts from the end when it is negative, as one that does not. */
static int from_start(tw_lowering *l, int index, int extent)
{
    return tw_plus(l, index, tw_choose(l, tw_fn2(l, TW_FN_LESS, index, tw_num(l, 0)), extent, tw_num(l, 0)));
}

static tw_seen int_literal(tw_lowering *l, const char *suffix, const int64_t *x, int64_t n)
{
    tw_array *array;
    tw_seen seen = tw_literal(l, suffix, TW_ONNX_I64, 1, &n, &array);
    for (int64_t i = 0; i < n && !tw_refused(l); i++) tw_array_set(array, i, (double)x[i]);
    return seen;
}

/* Tuples [outer, count, k] name rows of [outer, dim0 .. dimk-1]: their numbers, counted over all of outer. */
static tw_seen number_tuples(tw_lowering *l, tw_seen tuples, int64_t outer, int64_t count, int k,
                             const int64_t *dim)
{
    int64_t stride[TW_ONNX_MAX_DIMS], n = 1, total;
    for (int i = k - 1; i >= 0; n *= dim[i--]) stride[i] = n;
    tw_seen none = {.tensor = -1};
    if (!tw_ckd_mul(outer, count, &total) || tw_ckd_mul(outer, n, &n) == false) tw_refuse(l, "too large");
    if (tw_refused(l)) return none;
    tw_seen numbers = tw_between(l, ".rows", TW_ONNX_I64, 1, &total);
    tw_seen strides = int_literal(l, ".strides", stride, k), extents = int_literal(l, ".extents", dim, k);
    tw_seen base = none;
    if (outer > 1) {
        tw_array *array;
        if (outer > TW_LITERAL_MOST / k) tw_refuse(l, "too large a constant");
        if (tw_refused(l)) return none;
        base = tw_literal(l, ".base", TW_ONNX_I64, 2, (const int64_t[]){outer, k}, &array);
        for (int64_t o = 0; o < outer && !tw_refused(l); o++) tw_array_set(array, o * k, (double)(o * (n / outer)));
    }
    tw_nest_begin(l, ".rows", TW_MULTIPLY_ADD);
    int b = tw_add_outer(l, "b", outer), i = tw_add_loop(l, "i", count, false), j = tw_add_loop(l, "k", k, true);
    int x = TW_WALK(l, tuples, b, i, j), s = TW_WALK(l, strides, j), e = TW_WALK(l, extents, j);
    int o = base.tensor >= 0 ? TW_WALK(l, base, b, j) : -1;
    tw_add_output(l, numbers);
    if (tw_refused(l)) return none;
    tw_value_begin(l);
    int value = tw_times(l, from_start(l, x, e), s);
    tw_set_value(l, o >= 0 ? tw_plus(l, value, o) : value);
    return numbers;
}

/* Indices [outer, n, inner] into the middle of [outer, extent, inner]: numbers of elements. */
static tw_seen number_elements(tw_lowering *l, tw_seen index, int64_t outer, int64_t extent, int64_t n,
                               int64_t inner)
{
    int64_t total = tw_elems_of(index);
    tw_seen none = {.tensor = -1};
    if (tw_refused(l)) return none;
    tw_seen numbers = tw_between(l, ".elements", TW_ONNX_I64, 1, &total);
    tw_seen input[3] = {TW_RESHAPED(index, outer, n, inner),
                        TW_RESHAPED(tw_counting(l, ".outer", outer), outer, 1, 1),
                        TW_RESHAPED(tw_counting(l, ".inner", inner), inner)};
    int var[3];
    if (tw_refused(l)) return none;
    tw_map(l, ".elements", TW_RESHAPED(numbers, outer, n, inner), 3, input, var);
    if (tw_refused(l)) return none;
    int at = tw_plus(l, from_start(l, var[0], tw_num(l, (double)extent)),
                     tw_times(l, var[1], tw_num(l, (double)extent)));
    tw_set_value(l, tw_plus(l, tw_times(l, at, tw_num(l, (double)inner)), var[2]));
    return numbers;
}

static bool is_index_type(tw_onnx_type type) { return type == TW_ONNX_I64 || type == TW_ONNX_I32; }

/* ---- operators ---- */

void tw_gather_by_index(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), y = tw_see_output(l, 0);
    int axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    if (index.tensor < 0 || !is_index_type(tw_type_of(l, index))) tw_refuse(l, "an index of another type");
    if (tw_refused(l)) return;
    rows r = {tw_product(x.dim, axis), x.dim[axis], tw_elems_of(index),
              tw_product(&x.dim[axis + 1], x.n_dims - axis - 1)};
    gather_rows(l, x, index, &r, y);
}

static void lower_gather_nd(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), y = tw_see_output(l, 0);
    int64_t batch = tw_onnx_int(l->node, "batch_dims", 0);
    int k = index.n_dims > 0 ? (int)tw_min(index.dim[index.n_dims - 1], TW_ONNX_MAX_DIMS) : 0;
    if (batch < 0 || batch >= index.n_dims || k < 1 || batch + k > x.n_dims || !is_index_type(tw_type_of(l, index)))
        tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return;
    int b = (int)batch;
    int64_t outer = tw_product(x.dim, b), count = tw_product(&index.dim[b], index.n_dims - 1 - b);
    rows r = {1, tw_product(x.dim, b + k), outer * count, tw_product(&x.dim[b + k], x.n_dims - b - k)};
    if (outer != tw_product(index.dim, b)) return tw_refuse(l, "shapes contradict each other");
    tw_seen numbers = k == 1 && outer == 1 ? index : number_tuples(l, index, outer, count, k, &x.dim[b]);
    if (!tw_refused(l)) gather_rows(l, x, TW_RESHAPED(numbers, r.count), &r, y);
}

/* x and index agree in all axes but one: [outer, extent, inner] and [outer, n, inner]. */
static bool read_elements(tw_lowering *l, tw_seen x, tw_seen index, int *axis)
{
    *axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    if (x.n_dims != index.n_dims || !is_index_type(tw_type_of(l, index)))
        tw_refuse(l, "shapes contradict each other");
    for (int d = 0; d < x.n_dims && !tw_refused(l); d++)
        if (d != *axis && x.dim[d] != index.dim[d]) tw_refuse(l, "an index for a part of the elements");
    return !tw_refused(l);
}

static tw_seen element_numbers(tw_lowering *l, tw_seen x, tw_seen index, int axis)
{
    return number_elements(l, index, tw_product(x.dim, axis), x.dim[axis], index.dim[axis],
                           tw_product(&x.dim[axis + 1], x.n_dims - axis - 1));
}

static void lower_gather_elements(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), y = tw_see_output(l, 0);
    int axis;
    if (!read_elements(l, x, index, &axis)) return;
    tw_seen numbers = element_numbers(l, x, index, axis);
    rows r = {1, tw_elems_of(x), tw_elems_of(index), 1};
    if (!tw_refused(l)) gather_rows(l, x, numbers, &r, y);
}

/* Rows that several tuples name would have to be added up, one after the other. */
static void refuse_reduction(tw_lowering *l)
{
    if (strcmp(tw_onnx_string(l->node, "reduction", "none"), "none") != 0) tw_refuse(l, "a reduction by index");
}

static void lower_scatter_nd(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), updates = tw_see_input(l, 2),
            y = tw_see_output(l, 0);
    int k = index.n_dims > 0 ? (int)tw_min(index.dim[index.n_dims - 1], TW_ONNX_MAX_DIMS) : 0;
    refuse_reduction(l);
    if (k < 1 || k > x.n_dims || updates.tensor < 0 || !is_index_type(tw_type_of(l, index)))
        tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return;
    rows r = {1, tw_product(x.dim, k), tw_product(index.dim, index.n_dims - 1),
              tw_product(&x.dim[k], x.n_dims - k)};
    tw_seen numbers = k == 1 ? index : number_tuples(l, index, 1, r.count, k, x.dim);
    copy_all(l, x, y);
    if (!tw_refused(l)) scatter_rows(l, updates, TW_RESHAPED(numbers, r.count), &r, y);
}

static void lower_scatter_elements(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), updates = tw_see_input(l, 2),
            y = tw_see_output(l, 0);
    int axis;
    refuse_reduction(l);
    if (updates.tensor < 0) tw_refuse(l, "an input is missing");
    if (!read_elements(l, x, index, &axis)) return;
    rows r = {1, tw_elems_of(x), tw_elems_of(index), 1};
    tw_seen numbers = element_numbers(l, x, index, axis);
    copy_all(l, x, y);
    if (!tw_refused(l)) scatter_rows(l, updates, numbers, &r, y);
}

const tw_describer tw_select_ops[] = {
    {"GatherND", "", lower_gather_nd, true},        {"GatherElements", "", lower_gather_elements, true},
    {"ScatterND", "", lower_scatter_nd, false},     {"ScatterElements", "", lower_scatter_elements, false},
    {"Scatter", "", lower_scatter_elements, false}, {0},
};

/* ---- using ---- */

int64_t tw_selection_at(const tw_selection *s, const tw_array *index, int64_t outer, int64_t row)
{
    int64_t at = tw_array_get_int(index, row);
    if (at < 0) at += s->extent;
    return at < 0 || at >= s->extent ? -1 : (outer * s->extent + at) * s->inner;
}
