/* src/reference/reductions.c - Reduce*, ArgMax, ArgMin, CumSum.
 *
 * A reduction visits the operand in order and folds each element into the cell of the result that belongs to it:
 * the result's strides along reduced axes are 0. Integers fold in int64_t where the operator has no division or
 * root. */
#include "reference/entries.h"

#include <math.h>
#include <string.h>

typedef struct cell {
    double sum;  /* or product, or extreme; scaled by exp(-most) for LogSumExp */
    double most; /* LogSumExp: the largest so far                              */
} cell;

typedef struct rule {
    double start;
    void (*step)(cell *to, double x);
    double (*end)(const cell *of, double n); /* n elements went into it; NULL: the sum */
    int64_t whole_start;
    int64_t (*whole)(int64_t sum, int64_t x); /* NULL: integers go through double */
} rule;

/* ---- functions ---- */

static void add(cell *to, double x) { to->sum += x; }
static void add_abs(cell *to, double x) { to->sum += fabs(x); }
static void add_square(cell *to, double x) { to->sum += x * x; }
static void multiply(cell *to, double x) { to->sum *= x; }
static void take_max(cell *to, double x) { to->sum = x > to->sum || x != x ? x : to->sum; }
static void take_min(cell *to, double x) { to->sum = x < to->sum || x != x ? x : to->sum; }
static void add_power(cell *to, double x)
{
    double most = fmax(to->most, x);
    if (isinf(most))
        to->sum = most > 0 ? 1 : 0;
    else
        to->sum = to->sum * exp(to->most - most) + exp(x - most);
    to->most = most;
}
static double mean(const cell *of, double n) { return of->sum / n; }
static double root(const cell *of, double n __attribute__((unused))) { return sqrt(of->sum); }
static double log_sum(const cell *of, double n __attribute__((unused))) { return log(of->sum); }
static double log_power(const cell *of, double n __attribute__((unused))) { return of->most + log(of->sum); }

static int64_t whole_add(int64_t sum, int64_t x) { return (int64_t)((uint64_t)sum + (uint64_t)x); }
static int64_t whole_mul(int64_t sum, int64_t x) { return (int64_t)((uint64_t)sum * (uint64_t)x); }
static int64_t whole_add_abs(int64_t sum, int64_t x) { return whole_add(sum, x < 0 ? whole_mul(-1, x) : x); }
static int64_t whole_add_square(int64_t sum, int64_t x) { return whole_add(sum, whole_mul(x, x)); }

/* ---- reducing ---- */

static tw_status find_reduced(const tw_ref_case *c, int n_dims, bool *reduced)
{
    tw_ref_list axes;
    TW_TRY(tw_ref_ints(c, "axes", 1, &axes));
    bool all = axes.n == 0 && !tw_onnx_int(c->node, "noop_with_empty_axes", 0);
    for (int i = 0; i < n_dims; i++) reduced[i] = all;
    for (int64_t i = 0; i < axes.n; i++) {
        int axis;
        TW_TRY(tw_ref_axis(c, axes.v[i], n_dims, &axis));
        reduced[axis] = true;
    }
    return TW_OK;
}

/* The shape of the result: with 1 for each reduced axis, or without them. */
static tw_array shape_without(const tw_array *x, const bool *reduced, bool keep)
{
    tw_array shape = {.type = x->type};
    for (int i = 0; i < x->n_dims; i++)
        if (keep || !reduced[i]) shape.dim[shape.n_dims++] = reduced[i] ? 1 : x->dim[i];
    return shape;
}

static tw_walk walk_of_reduction(const tw_array *x, const tw_array *kept)
{
    tw_walk w = tw_walk_of(x->n_dims, x->dim);
    tw_walk_operand(&w, kept);
    return w;
}

static tw_status reduce_reals(const tw_array *x, const tw_array *kept, const rule *r, tw_arena *arena,
                              tw_array *out)
{
    const double *v = tw_array_reals(x, arena);
    tw_walk w = walk_of_reduction(x, kept);
    cell *cells;
    TW_ALLOC(arena, cells, tw_max(out->n, 1));
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < out->n; i++) cells[i] = (cell){r->start, -INFINITY};
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) r->step(&cells[w.at[0]], v[i]);
    double each = out->n ? (double)x->n / (double)out->n : 0;
    for (int64_t i = 0; i < out->n; i++) tw_array_set(out, i, r->end ? r->end(&cells[i], each) : cells[i].sum);
    return TW_OK;
}

/* Flipping the top bit orders unsigned numbers of 64 bits as signed ones. */
static tw_status reduce_wholes(const tw_array *x, const tw_array *kept, const rule *r, tw_arena *arena,
                               tw_array *out)
{
    const int64_t *v = tw_array_wholes(x, arena);
    bool extreme = r->whole == tw_max || r->whole == tw_min;
    uint64_t flip = x->type == TW_ONNX_U64 && extreme ? UINT64_C(1) << 63 : 0;
    tw_walk w = walk_of_reduction(x, kept);
    int64_t *cells;
    TW_ALLOC(arena, cells, tw_max(out->n, 1));
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < out->n; i++) cells[i] = r->whole_start;
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w))
        cells[w.at[0]] = r->whole(cells[w.at[0]], (int64_t)((uint64_t)v[i] ^ flip));
    for (int64_t i = 0; i < out->n; i++) cells[i] = (int64_t)((uint64_t)cells[i] ^ flip);
    tw_array_put_wholes(out, cells);
    return TW_OK;
}

static tw_status reduce(const tw_ref_case *c, tw_array *output, const rule *r)
{
    const tw_array *x;
    bool reduced[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_ref_need(c, 0, &x));
    if (!tw_onnx_is_number(x->type)) return tw_ref_error(c, "elements of type %s", tw_onnx_type_name(x->type));
    TW_TRY(find_reduced(c, x->n_dims, reduced));
    tw_array kept = shape_without(x, reduced, true);
    tw_array shape = shape_without(x, reduced, tw_onnx_int(c->node, "keepdims", 1) != 0);
    TW_TRY(tw_ref_make(c, x->type, shape.n_dims, shape.dim, output));
    bool whole = tw_onnx_is_whole(x->type) && r->whole;
    return whole ? reduce_wholes(x, &kept, r, c->arena, output) : reduce_reals(x, &kept, r, c->arena, output);
}

#define REDUCTIONS(X)                                            \
    X(ReduceSum, 0, add, NULL, 0, whole_add)                     \
    X(ReduceMean, 0, add, mean, 0, NULL)                         \
    X(ReduceProd, 1, multiply, NULL, 1, whole_mul)               \
    X(ReduceMax, -INFINITY, take_max, NULL, INT64_MIN, tw_max)   \
    X(ReduceMin, INFINITY, take_min, NULL, INT64_MAX, tw_min)    \
    X(ReduceL1, 0, add_abs, NULL, 0, whole_add_abs)              \
    X(ReduceL2, 0, add_square, root, 0, NULL)                    \
    X(ReduceSumSquare, 0, add_square, NULL, 0, whole_add_square) \
    X(ReduceLogSum, 0, add, log_sum, 0, NULL)                    \
    X(ReduceLogSumExp, 0, add_power, log_power, 0, NULL)

#define X(op, start, step, end, whole_start, whole)                              \
    static tw_status run_##op(const tw_ref_case *c, tw_array *output)            \
    {                                                                            \
        return reduce(c, output, &(rule){start, step, end, whole_start, whole}); \
    }
REDUCTIONS(X)
#undef X

/* ---- ArgMax, ArgMin ---- */

/* An axis between the product of those before it and of those behind it. */
typedef struct split {
    int64_t before, n, behind;
} split;

static split split_at(const tw_array *x, int axis)
{
    return (split){tw_ref_extent(x, 0, axis), x->dim[axis], tw_ref_extent(x, axis + 1, x->n_dims)};
}

/* Whether element a is larger than b; integers are compared exactly. */
static bool larger(const tw_array *x, int64_t a, int64_t b)
{
    if (x->type == TW_ONNX_U64) return (uint64_t)tw_array_get_int(x, a) > (uint64_t)tw_array_get_int(x, b);
    if (tw_onnx_is_whole(x->type)) return tw_array_get_int(x, a) > tw_array_get_int(x, b);
    return tw_array_get(x, a) > tw_array_get(x, b);
}

static int64_t best_of_row(const tw_array *x, int64_t from, int64_t n, int64_t step, bool most, bool last)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t a = from + i * step, b = from + best * step;
        bool better = most ? larger(x, a, b) : larger(x, b, a), worse = most ? larger(x, b, a) : larger(x, a, b);
        if (better || (last && !worse)) best = i;
    }
    return best;
}

static tw_status run_arg(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int axis;
    bool most = strcmp(c->node->op, "ArgMax") == 0, last = tw_onnx_int(c->node, "select_last_index", 0) != 0;
    bool reduced[TW_ONNX_MAX_DIMS] = {0};
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), x->n_dims, &axis));
    reduced[axis] = true;
    tw_array shape = shape_without(x, reduced, tw_onnx_int(c->node, "keepdims", 1) != 0);
    TW_TRY(tw_ref_make(c, TW_ONNX_I64, shape.n_dims, shape.dim, output));
    split s = split_at(x, axis);
    if (s.n == 0 && output->n > 0) return tw_ref_error(c, "the axis is empty");
    int64_t *out = (int64_t *)output->data;
    for (int64_t i = 0; i < s.before; i++)
        for (int64_t j = 0; j < s.behind; j++)
            *out++ = best_of_row(x, i * s.n * s.behind + j, s.n, s.behind, most, last);
    return TW_OK;
}

/* ---- CumSum ---- */

/* Both sums are kept; the one of the element's type is stored. */
static void accumulate(const tw_array *x, int64_t from, int64_t n, int64_t step, bool exclusive, tw_array *out)
{
    double sum = 0;
    int64_t whole = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = from + i * step;
        double sum_before = sum;
        int64_t whole_before = whole;
        sum += tw_array_get(x, at);
        whole = whole_add(whole, tw_array_get_int(x, at));
        if (x->type == TW_ONNX_I64 || x->type == TW_ONNX_U64)
            ((int64_t *)out->data)[at] = exclusive ? whole_before : whole;
        else
            tw_array_set(out, at, exclusive ? sum_before : sum);
    }
}

static tw_status run_cumsum(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *where;
    int axis;
    bool exclusive = tw_onnx_int(c->node, "exclusive", 0) != 0, reverse = tw_onnx_int(c->node, "reverse", 0) != 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 1, &where));
    if (where->n != 1) return tw_ref_error(c, "the axis is not a single number");
    TW_TRY(tw_ref_axis(c, tw_array_get_int(where, 0), x->n_dims, &axis));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    split s = split_at(x, axis);
    int64_t first = reverse ? (s.n - 1) * s.behind : 0, step = reverse ? -s.behind : s.behind;
    for (int64_t i = 0; i < s.before; i++)
        for (int64_t j = 0; j < s.behind; j++)
            accumulate(x, i * s.n * s.behind + j + first, s.n, step, exclusive, output);
    return TW_OK;
}

const tw_ref_entry tw_ref_reductions[] = {
#define X(op, start, step, end, whole_start, whole) {#op, "", run_##op},
    REDUCTIONS(X)
#undef X
        {"ArgMax", "", run_arg},
    {"ArgMin", "", run_arg},
    {"CumSum", "", run_cumsum},
    {0},
};
