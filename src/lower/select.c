/* src/lower/select.c - operators that find elements by index.
 *
 *     Gather            y[o, i, n] = x[o, index[i], n]          rows of x, in the order of an index
 *     GatherND          the same with rows that tuples name: a step before it makes numbers of them
 *     GatherElements    every element a row of its own
 *     ScatterND         a copy of x, then rows of it are written where an index says; ScatterElements alike
 *     .. with a reduction: the rows are read, combined with the updates, and written back
 *
 * Where a row lies is known when the index is. The plan sees what is known before: so many rows, each moved by itself. An
 * operand that is a *selection* stands in the model as its rows, scattered, so that no two are one transfer; whose rows they
 * are is the step's business (tw_selection). The mover follows the index by itself; the
 * index is an operand too, so that its own way counts. Rows that are named twice are moved twice, and one that is combined
 * twice is read again only after it was written: the second update waits for the first.
 *
 * An index outside of its axis names nothing. Numbers of tuples would hide that, since the tuple (0, 7) of 2x5 is as good
 * as (1, 2): they are made so that no such tuple has the number of a row. */
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

/* The newest operand is rows of its tensor. */
static void set_selection(tw_lowering *l, int operand, int index, bool counts, const rows *r)
{
    if (tw_refused(l)) return;
    l->nest.op.operand[operand].rows = (tw_selection){index, counts, r->outer, r->extent, r->count, r->inner};
    l->nest.op.operand[operand].scattered = r->outer == 1 ? 1 : 2;
}

/* Indices as the node has them, or numbers that were made of them. */
typedef struct row_index {
    tw_seen seen;
    bool counts;
} row_index;

/* y is rows of x. */
static void gather_rows(tw_lowering *l, const char *suffix, tw_seen x, row_index index, const rows *r, tw_seen y)
{
    if (tw_refused(l)) return;
    tw_nest_begin(l, suffix, TW_MAP);
    row_loops loops = add_row_loops(l, r);
    TW_WALK(l, x, loops.outer, loops.row, loops.inner);
    int by = TW_WALK(l, index.seen, loops.row);
    set_selection(l, 0, by, index.counts, r);
    tw_add_output(l, y);
    if (!tw_refused(l)) tw_set_value(l, 0);
}

/* Rows of y become those of x. */
static void scatter_rows(tw_lowering *l, tw_seen x, row_index index, const rows *r, tw_seen y)
{
    if (tw_refused(l)) return;
    tw_nest_begin(l, "", TW_MAP);
    row_loops loops = add_row_loops(l, r);
    TW_WALK(l, x, loops.outer, loops.row, loops.inner);
    int by = TW_WALK(l, index.seen, loops.row);
    tw_add_output(l, y);
    set_selection(l, tw_op_output(&l->nest.op), by, index.counts, r);
    if (!tw_refused(l)) tw_set_value(l, 0);
}

/* Of two numbers one of which is none, the larger and the smaller are the update, as onnxruntime compares them. */
static int combined(tw_lowering *l, tw_fn how, int so_far, int update)
{
    if (how == TW_FN_MAX) return tw_choose(l, tw_fn2(l, TW_FN_LESS, update, so_far), so_far, update);
    if (how == TW_FN_MIN) return tw_choose(l, tw_fn2(l, TW_FN_LESS, so_far, update), so_far, update);
    return tw_fn2(l, how, so_far, update);
}

/* Rows of y are combined with those of x, one after the other. */
static void combine_rows(tw_lowering *l, tw_seen x, row_index index, const rows *r, tw_fn how, tw_seen y)
{
    if (tw_refused(l)) return;
    tw_nest_begin(l, "", TW_MAP);
    row_loops loops = add_row_loops(l, r);
    int so_far = TW_WALK(l, y, loops.outer, loops.row, loops.inner);
    int update = TW_WALK(l, x, loops.outer, loops.row, loops.inner), by = TW_WALK(l, index.seen, loops.row);
    set_selection(l, so_far, by, index.counts, r);
    tw_add_output(l, y);
    set_selection(l, tw_op_output(&l->nest.op), by, index.counts, r);
    if (tw_refused(l)) return;
    tw_value_begin(l);
    tw_set_value(l, tw_fit(l, combined(l, how, so_far, update), tw_type_of(l, y)));
}

static void copy_all(tw_lowering *l, tw_seen x, tw_seen y)
{
    int var;
    tw_map(l, ".copy", y, 1, &x, &var);
    if (!tw_refused(l)) tw_set_value(l, var);
}

/* ---- numbers of rows ---- */

/* Steps of `stride` that an index stands for, which counts from the end when it is negative. One outside of its axis takes
 * three times as much off as there are places, which nothing that is added to it makes up for. */
static int place_of(tw_lowering *l, int index, int extent, int stride, int64_t places)
{
    int zero = tw_num(l, 0), nowhere = tw_num(l, -3 * (double)places);
    int at = tw_plus(l, index, tw_choose(l, tw_fn2(l, TW_FN_LESS, index, zero), extent, zero));
    int below = tw_choose(l, tw_fn2(l, TW_FN_LESS, at, extent), tw_times(l, at, stride), nowhere);
    return tw_choose(l, tw_fn2(l, TW_FN_LESS, at, zero), nowhere, below);
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
    int value = place_of(l, x, e, s, n);
    tw_set_value(l, o >= 0 ? tw_plus(l, value, o) : value);
    return numbers;
}

/* Where the positions of a shape lie in a tensor that is as large or larger, `below` elements behind each: a constant. */
static tw_seen places_within(tw_lowering *l, const char *suffix, int n_dims, const int64_t *dim,
                             const int64_t *whole, int64_t below)
{
    int64_t n = tw_product(dim, n_dims);
    tw_array *array;
    if (n > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    if (tw_refused(l)) return (tw_seen){.tensor = -1};
    tw_seen seen = tw_literal(l, suffix, TW_ONNX_I64, 1, &n, &array);
    for (int64_t i = 0; i < n && !tw_refused(l); i++) {
        int64_t left = i, step = below, at = 0;
        for (int d = n_dims - 1; d >= 0; d--) {
            at += left % dim[d] * step;
            left /= dim[d];
            step *= whole[d];
        }
        tw_array_set(array, i, (double)at);
    }
    return seen;
}

/* Indices along an axis of x, for all of the other positions or for the first ones: numbers of elements. */
static tw_seen number_elements(tw_lowering *l, tw_seen x, tw_seen index, int axis)
{
    int behind = x.n_dims - axis - 1;
    const int64_t *dim = index.dim, total = tw_elems_of(index);
    int64_t inner = tw_product(&x.dim[axis + 1], behind), n_inner = tw_product(&dim[axis + 1], behind),
            n_outer = tw_product(dim, axis);
    tw_seen none = {.tensor = -1};
    if (tw_refused(l)) return none;
    tw_seen numbers = tw_between(l, ".elements", TW_ONNX_I64, 1, &total);
    tw_seen outer_at = places_within(l, ".outer", axis, dim, x.dim, x.dim[axis] * inner);
    tw_seen inner_at = places_within(l, ".inner", behind, &dim[axis + 1], &x.dim[axis + 1], 1);
    tw_seen input[3] = {TW_RESHAPED(index, n_outer, dim[axis], n_inner), TW_RESHAPED(outer_at, n_outer, 1, 1),
                        TW_RESHAPED(inner_at, n_inner)};
    int var[3];
    if (tw_refused(l)) return none;
    tw_map(l, ".elements", TW_RESHAPED(numbers, n_outer, dim[axis], n_inner), 3, input, var);
    if (tw_refused(l)) return none;
    int extent = tw_num(l, (double)x.dim[axis]), stride = tw_num(l, (double)inner);
    int at = place_of(l, var[0], extent, stride, tw_elems_of(x));
    tw_set_value(l, tw_plus(l, tw_plus(l, at, var[2]), var[1]));
    return numbers;
}

static bool is_index_type(tw_onnx_type type) { return type == TW_ONNX_I64 || type == TW_ONNX_I32; }

/* ---- operators ---- */

void tw_gather_axis(tw_lowering *l, const char *suffix, tw_seen x, int axis, tw_seen index, tw_seen y)
{
    if (tw_refused(l)) return;
    rows r = {tw_product(x.dim, axis), x.dim[axis], tw_elems_of(index),
              tw_product(&x.dim[axis + 1], x.n_dims - axis - 1)};
    gather_rows(l, suffix, x, (row_index){index, false}, &r, y);
}

void tw_gather_by_index(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), y = tw_see_output(l, 0);
    int axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    if (index.tensor < 0 || !is_index_type(tw_type_of(l, index))) tw_refuse(l, "an index of another type");
    tw_gather_axis(l, "", x, axis, index, y);
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
    bool counts = k > 1 || outer > 1;
    tw_seen numbers = counts ? number_tuples(l, index, outer, count, k, &x.dim[b]) : index;
    if (!tw_refused(l)) gather_rows(l, "", x, (row_index){TW_RESHAPED(numbers, r.count), counts}, &r, y);
}

/* The index has no more positions than x along any axis but its own. */
static bool read_elements(tw_lowering *l, tw_seen x, tw_seen index, int *axis)
{
    *axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    if (x.n_dims != index.n_dims || !is_index_type(tw_type_of(l, index)))
        tw_refuse(l, "shapes contradict each other");
    for (int d = 0; d < x.n_dims && !tw_refused(l); d++)
        if (d != *axis && index.dim[d] > x.dim[d]) tw_refuse(l, "shapes contradict each other");
    return !tw_refused(l);
}

static void lower_gather_elements(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), y = tw_see_output(l, 0);
    int axis;
    if (!read_elements(l, x, index, &axis)) return;
    row_index numbers = {number_elements(l, x, index, axis), true};
    rows r = {1, tw_elems_of(x), tw_elems_of(index), 1};
    gather_rows(l, "", x, numbers, &r, y);
}

/* A copy of x whose rows become the updates, or are combined with them. */
static void scatter(tw_lowering *l, tw_seen x, tw_seen updates, row_index index, const rows *r, tw_seen y)
{
    static const struct {
        const char *name;
        tw_fn fn;
    } known[] = {{"add", TW_FN_ADD}, {"mul", TW_FN_MULTIPLY}, {"max", TW_FN_MAX}, {"min", TW_FN_MIN}};
    const char *name = tw_onnx_string(l->node, "reduction", "none");
    size_t i = 0;
    while (i < TW_COUNT(known) && strcmp(known[i].name, name) != 0) i++;
    bool put = strcmp(name, "none") == 0;
    if (!put && i == TW_COUNT(known)) tw_refuse(l, "an unknown reduction");
    if (!put && tw_type_of(l, x) == TW_ONNX_BOOL) tw_refuse(l, "no numbers");
    if (tw_elems_of(updates) != r->count * r->inner) tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return;
    copy_all(l, x, y);
    if (put)
        scatter_rows(l, updates, index, r, y);
    else
        combine_rows(l, updates, index, r, known[i].fn, y);
}

static void lower_scatter_nd(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), updates = tw_see_input(l, 2),
            y = tw_see_output(l, 0);
    int k = index.n_dims > 0 ? (int)tw_min(index.dim[index.n_dims - 1], TW_ONNX_MAX_DIMS) : 0;
    if (k < 1 || k > x.n_dims || updates.tensor < 0 || !is_index_type(tw_type_of(l, index)))
        tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return;
    rows r = {1, tw_product(x.dim, k), tw_product(index.dim, index.n_dims - 1),
              tw_product(&x.dim[k], x.n_dims - k)};
    tw_seen numbers = k == 1 ? index : number_tuples(l, index, 1, r.count, k, x.dim);
    if (!tw_refused(l)) scatter(l, x, updates, (row_index){TW_RESHAPED(numbers, r.count), k > 1}, &r, y);
}

static void lower_scatter_elements(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), index = tw_see_input(l, 1), updates = tw_see_input(l, 2),
            y = tw_see_output(l, 0);
    int axis;
    if (updates.tensor < 0) tw_refuse(l, "an input is missing");
    if (!read_elements(l, x, index, &axis)) return;
    rows r = {1, tw_elems_of(x), tw_elems_of(index), 1};
    row_index numbers = {number_elements(l, x, index, axis), true};
    if (!tw_refused(l)) scatter(l, x, updates, numbers, &r, y);
}

const tw_describer tw_select_ops[] = {
    {"GatherND", "", lower_gather_nd, true},        {"GatherElements", "", lower_gather_elements, true},
    {"ScatterND", "", lower_scatter_nd, false},     {"ScatterElements", "", lower_scatter_elements, false},
    {"Scatter", "", lower_scatter_elements, false}, {0},
};
