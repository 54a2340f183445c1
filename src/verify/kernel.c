/* src/verify/kernel.c - see kernel.h.
 *
 * Every operand has an offset into its array that each loop changes by a constant, except along axes where
 * positions may be missing (padding, division, not held): those are *tested*, their numerators step by constants in
 * the same way, and the position is looked at when it is used. So the state of the nest is one list of
 * counters, and moving on is one addition for each.
 *
 * One loop is run as an inner loop without counters, one with small strides. Where it moves along tested axes, the points at
 * which nothing is missing are an interval of it, and those outside do nothing: loops of which that cannot be said are
 * not taken. Of an input in pieces a point takes the piece that has an element; `from` says which one that is. */
#include "verify/kernel.h"

#include <math.h>

#include "verify/shape.h"

enum { MAX_TESTED = TW_MAX_OPERANDS * TW_MAX_AXES, MAX_COUNTERS = TW_MAX_OPERANDS + MAX_TESTED };

typedef struct tested { /* an axis whose position has to be looked at */
    int input;
    const tw_axis *axis;
    tw_span held;
    int64_t stride;
    int64_t along; /* positions per step of the inner loop */
} tested;

typedef struct nest {
    const tw_op *op;
    tw_compute compute;
    const tw_box *box;
    const tw_kernel_input *input;
    const tw_kernel_value *value;
    double *out;
    int n_inputs, n_tested, n_counters; /* counters: offsets of the inputs, of the output, numerators */
    int n_variables;                    /* inputs without further pieces                               */
    tested tested[MAX_TESTED];
    int64_t counter[MAX_COUNTERS];
    int64_t step[MAX_COUNTERS][TW_MAX_LOOPS];
    int inner;                       /* loop run without counters, -1: none          */
    int64_t stride[TW_MAX_OPERANDS]; /* of each operand along it                     */
} nest;

/* ---- setting up ---- */

static bool may_miss(const nest *k, const tw_axis *axis)
{
    int64_t lo = axis->offset, hi = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) {
        tw_span s = k->box->span[axis->term[t].loop];
        int64_t first = axis->term[t].coef * s.lo, last = axis->term[t].coef * (s.hi - 1);
        lo += tw_min(first, last);
        hi += tw_max(first, last);
    }
    return axis->divisor != 1 || lo < 0 || hi >= axis->extent;
}

/* Adds `scale` times the axis' expression to a counter. */
static void add_expression(nest *k, int counter, const tw_axis *axis, int64_t scale)
{
    k->counter[counter] += scale * axis->offset;
    for (int t = 0; t < axis->n_terms; t++) {
        int l = axis->term[t].loop;
        k->step[counter][l] += scale * axis->term[t].coef;
        k->counter[counter] += scale * axis->term[t].coef * k->box->span[l].lo;
    }
}

/* Whether the region holds every position of an axis that cannot miss. */
static bool holds_axis(const nest *k, const tw_axis *axis, tw_span held)
{
    tw_axis moved = *axis;
    moved.offset -= held.lo;
    moved.extent = tw_span_len(held);
    return !may_miss(k, &moved);
}

/* An axis is tested when a point may find nothing there: no position, or a position that is not held. */
static void add_input(nest *k, int o)
{
    const tw_operand *operand = &k->op->operand[o];
    int64_t stride = 1;
    for (int a = operand->n_axes - 1; a >= 0; a--) {
        const tw_axis *axis = &operand->axis[a];
        tw_span held = k->input[o].data ? k->input[o].region.axis[a] : (tw_span){0, 0};
        if (may_miss(k, axis) || !holds_axis(k, axis, held)) {
            k->tested[k->n_tested++] = (tested){o, axis, held, stride, 0};
        } else {
            add_expression(k, o, axis, stride);
            k->counter[o] -= stride * held.lo;
        }
        stride *= tw_span_len(held);
    }
}

static void add_output(nest *k)
{
    const tw_operand *out = &k->op->operand[k->n_inputs];
    int64_t stride = 1;
    for (int a = out->n_axes - 1; a >= 0; a--) {
        int l = out->axis[a].term[0].loop;
        k->step[k->n_inputs][l] = stride;
        stride *= tw_span_len(k->box->span[l]);
    }
}

static int64_t stride_cost(int64_t stride) { return stride == 0 ? 0 : stride == 1 ? 1 : 4; }

/* Whether a point does nothing at all when one of its inputs is missing. */
static bool needs_all(const nest *k)
{
    if (k->compute == TW_MAP) return false;
    return k->op->value || k->compute == TW_MULTIPLY_ADD || k->n_variables == 1;
}

/* Whether the input lies in pieces along the axis: then points at which one piece has nothing find another one. */
static bool is_in_pieces(const nest *k, int input, const tw_axis *axis)
{
    const tw_operand *operand = k->op->operand;
    int whole = operand[input].beside > 0 ? operand[input].beside - 1 : input;
    long a = axis - operand[input].axis;
    for (int o = k->n_variables; o < k->n_inputs; o++)
        if (operand[o].beside == whole + 1 && (operand[o].axis[a].offset != operand[whole].axis[a].offset ||
                                               operand[o].axis[a].extent != operand[whole].axis[a].extent))
            return true;
    return false;
}

static int64_t coefficient(const tw_axis *axis, int loop)
{
    int64_t sum = 0;
    for (int t = 0; t < axis->n_terms; t++)
        if (axis->term[t].loop == loop) sum += axis->term[t].coef;
    return sum;
}

/* Whether the points of the loop at which nothing is missing are an interval. */
static bool can_be_inner(const nest *k, int loop)
{
    for (int t = 0; t < k->n_tested; t++) {
        int64_t along = coefficient(k->tested[t].axis, loop);
        if (along != 0 && (along < 0 || k->tested[t].axis->divisor != 1 || !needs_all(k) ||
                           is_in_pieces(k, k->tested[t].input, k->tested[t].axis)))
            return false;
    }
    return true;
}

static int64_t stride_along(const nest *k, int operand, int loop)
{
    int64_t stride = k->step[operand][loop];
    for (int t = 0; t < k->n_tested; t++)
        if (k->tested[t].input == operand) stride += coefficient(k->tested[t].axis, loop) * k->tested[t].stride;
    return stride;
}

/* The loop with the smallest strides that is not short; -1 when there is none. */
static int pick_inner(const nest *k)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (int l = 0; l < k->op->n_loops; l++) {
        if (!can_be_inner(k, l)) continue;
        int64_t cost = tw_span_len(k->box->span[l]) < 8 ? 40 - 5 * tw_span_len(k->box->span[l]) : 0;
        for (int o = 0; o <= k->n_inputs; o++) cost += stride_cost(stride_along(k, o, l));
        if (cost < least) least = cost, best = l;
    }
    return best;
}

static void set_inner(nest *k)
{
    k->inner = pick_inner(k);
    if (k->inner < 0) return;
    for (int o = 0; o <= k->n_inputs; o++) k->stride[o] = stride_along(k, o, k->inner);
    for (int t = 0; t < k->n_tested; t++) k->tested[t].along = coefficient(k->tested[t].axis, k->inner);
}

/* ---- points ---- */

/* out += x * b, four at a time. */
static void scale_add(double x, const double *b, double *out, int64_t n)
{
    typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) *(four *)(out + i) += x * *(const four *)(b + i);
    for (; i < n; i++) out[i] += x * b[i];
}

typedef struct series { /* elements `step` apart */
    const double *at;
    int64_t step;
} series;

static void multiply_add(series x, series y, double *restrict out, int64_t so, int64_t n)
{
    const double *a = x.at, *b = y.at;
    const int64_t sa = x.step, sb = y.step;
    if (sa == 0 && sb == 1 && so == 1) {
        scale_add(*a, b, out, n);
    } else if (so == 0) {
        double sum = *out;
        for (int64_t i = 0; i < n; i++) sum += a[i * sa] * b[i * sb];
        *out = sum;
    } else {
        for (int64_t i = 0; i < n; i++) out[i * so] += a[i * sa] * b[i * sb];
    }
}

static void multiply_all(const nest *k, const int *from, const int64_t *offset, double *out, int64_t n)
{
    const int64_t *stride = k->stride, so = stride[k->n_inputs];
    for (int64_t i = 0; i < n; i++) {
        double product = 1;
        for (int v = 0; v < k->n_variables; v++) {
            int o = from[v];
            product *= k->input[o].data[offset[o] + i * stride[o]];
        }
        out[i * so] += product;
    }
}

/* What is no number stays none, in whatever order the points come. */
static void accumulate(const nest *k, const double *a, int64_t sa, double *out, int64_t so, int64_t n)
{
    switch (k->compute) {
    case TW_MAX:
        for (int64_t i = 0; i < n; i++)
            if (a[i * sa] > out[i * so] || a[i * sa] != a[i * sa]) out[i * so] = a[i * sa];
        break;
    case TW_MIN:
        for (int64_t i = 0; i < n; i++)
            if (a[i * sa] < out[i * so] || a[i * sa] != a[i * sa]) out[i * so] = a[i * sa];
        break;
    case TW_PRODUCT:
        for (int64_t i = 0; i < n; i++) out[i * so] *= a[i * sa];
        break;
    case TW_MAP:
        for (int64_t i = 0; i < n; i++) out[i * so] = a[i * sa];
        break;
    default:
        for (int64_t i = 0; i < n; i++) out[i * so] += a[i * sa];
    }
}

static void multiply_two(const nest *k, const int *from, const int64_t *offset, double *out, int64_t n)
{
    const int64_t *stride = k->stride;
    int first = stride[from[1]] == 0; /* the one that stands still comes first */
    int a = from[first], b = from[!first];
    const double *x = k->input[a].data + offset[a], *y = k->input[b].data + offset[b];
    multiply_add((series){x, stride[a]}, (series){y, stride[b]}, out, stride[k->n_inputs], n);
}

/* Values as they can be added up or multiplied in any order. */
static void tame(const nest *k, double *value, int64_t n)
{
    double most = k->value->bound;
    for (int64_t i = 0; i < n; i++) {
        double x = isnan(value[i]) ? 0 : rint(value[i]);
        if (k->value->positive) x = fabs(x);
        value[i] = k->compute == TW_PRODUCT ? (x < 0 ? -1 : 1) : x > most ? most : x < -most ? -most : x;
    }
}

/* The variables of `value` from this point on. */
static void find_variables(const nest *k, const int *from, const int64_t *offset, const int64_t *index,
                           const double **var, int64_t *stride)
{
    static const double zero = 0;
    for (int v = 0; v < k->n_variables; v++) {
        int o = from[v];
        var[v] = o >= 0 ? k->input[o].data + offset[o] : &zero;
        stride[v] = o >= 0 ? k->stride[o] : 0;
    }
    for (int h = 0; h < k->op->n_held; h++) {
        int loop = k->op->held[h].loop, v = k->n_variables + h;
        var[v] = k->value->held[h] + (loop < 0 ? 0 : index[loop]);
        stride[v] = loop >= 0 && loop == k->inner;
    }
}

static void run_values(const nest *k, const int *from, const int64_t *offset, const int64_t *index, tw_span points)
{
    int64_t n = tw_span_len(points);
    const double *var[TW_MAX_OPERANDS + TW_MAX_HELD];
    int64_t stride[TW_MAX_OPERANDS + TW_MAX_HELD], so = k->stride[k->n_inputs];
    double made[TW_FORMULA_BLOCK], *out = k->out + k->counter[k->n_inputs] + points.lo * so;
    unsigned present = ~0u;
    for (int v = 0; v < k->n_variables; v++)
        if (from[v] < 0) present &= ~(1u << v);
    find_variables(k, from, offset, index, var, stride);
    for (int h = k->n_variables; h < k->n_variables + k->op->n_held; h++) var[h] += points.lo * stride[h];
    while (n > 0) {
        int64_t some = tw_min(n, TW_FORMULA_BLOCK);
        tw_formula_eval_many(k->op->value, var, stride, present, some, made);
        if (k->value->bound > 0) tame(k, made, some);
        accumulate(k, made, 1, out, so, some);
        for (int v = 0; v < k->op->value->n_vars; v++) var[v] += some * stride[v];
        out += some * so;
        n -= some;
    }
}

/* The piece of an input that has an element at these points, -1: none has. */
static int find_piece(const nest *k, const int64_t *offset, int variable)
{
    if (offset[variable] >= 0) return variable;
    for (int o = k->n_variables; o < k->n_inputs; o++)
        if (k->op->operand[o].beside == variable + 1 && offset[o] >= 0) return o;
    return -1;
}

/* Points along the inner loop; offset[o], of the first one, < 0 where the input has no element. */
static void run_points(const nest *k, const int64_t *offset, const int64_t *index, tw_span points)
{
    const int64_t *stride = k->stride;
    int64_t n = tw_span_len(points);
    int present = 0, out_at = k->n_inputs, from[TW_MAX_OPERANDS];
    for (int v = 0; v < k->n_variables; v++) present += (from[v] = find_piece(k, offset, v)) >= 0;
    double *out = k->out + k->counter[out_at] + points.lo * stride[out_at];
    if (k->op->value) {
        if (present == k->n_variables || k->compute == TW_MAP) run_values(k, from, offset, index, points);
    } else if (k->compute != TW_MULTIPLY_ADD) {
        for (int v = 0; v < k->n_variables; v++) {
            int o = from[v];
            if (o >= 0) accumulate(k, k->input[o].data + offset[o], stride[o], out, stride[out_at], n);
        }
    } else if (present == k->n_variables) {
        if (k->n_variables == 2)
            multiply_two(k, from, offset, out, n);
        else
            multiply_all(k, from, offset, out, n);
    }
}

/* Where a tested axis stands. */
typedef enum state { PRESENT, ABSENT, LACKING } state;
static state look(const tested *x, int64_t numerator, int64_t *offset)
{
    int64_t at = x->axis->divisor > 1 ? numerator / x->axis->divisor : numerator;
    if (numerator < 0 || at >= x->axis->extent) return ABSENT;
    if (!x->axis->floors && at * x->axis->divisor != numerator) return ABSENT;
    if (at < x->held.lo || at >= x->held.hi) return LACKING;
    *offset += (at - x->held.lo) * x->stride;
    return PRESENT;
}

/* Leaves of the points those at which an axis along which the inner loop moves has a position. */
static void cut(const tested *x, int64_t first, tw_span *points)
{
    int64_t before = first < 0 ? (-first + x->along - 1) / x->along : 0;
    int64_t end = first < x->axis->extent ? (x->axis->extent - first + x->along - 1) / x->along : 0;
    *points = (tw_span){tw_max(points->lo, before), tw_min(points->hi, end)};
}

/* The same for an interval of points that all have one. */
static state look_along(const tested *x, int64_t first, tw_span points, int64_t *offset)
{
    if (first + points.lo * x->along < x->held.lo || first + (points.hi - 1) * x->along >= x->held.hi)
        return LACKING;
    *offset += (first - x->held.lo) * x->stride;
    return PRESENT;
}

/* One input: adds to its offset, and leaves in `points` those at which it has elements. */
static state resolve_input(const nest *k, int input, tw_span *points, int64_t *offset)
{
    const int64_t *numerator = &k->counter[k->n_inputs + 1];
    state worst = PRESENT;
    for (int t = 0; t < k->n_tested; t++)
        if (k->tested[t].input == input && k->tested[t].along > 0) cut(&k->tested[t], numerator[t], points);
    if (points->lo >= points->hi) return ABSENT;
    for (int t = 0; t < k->n_tested; t++) {
        const tested *x = &k->tested[t];
        if (x->input != input) continue;
        state s = x->along > 0 ? look_along(x, numerator[t], *points, offset) : look(x, numerator[t], offset);
        if (s == ABSENT) return ABSENT;
        if (s == LACKING) worst = LACKING;
    }
    return worst;
}

/* Of `points`, those at which something is to be done; offsets of the inputs at the first of them, -1 where there is no
 * element. Returns the input whose region lacks an element that exists, -1: none. */
static int resolve(const nest *k, tw_span *points, int64_t offset[TW_MAX_OPERANDS])
{
    state now[TW_MAX_OPERANDS];
    tw_span all = *points;
    for (int o = 0; o < k->n_inputs; o++) offset[o] = k->counter[o];
    if (k->n_tested == 0) return -1;
    for (int o = 0; o < k->n_inputs; o++) {
        tw_span some = all;
        now[o] = resolve_input(k, o, &some, &offset[o]);
        if (now[o] == LACKING) return o;
        if (now[o] == PRESENT) *points = (tw_span){tw_max(points->lo, some.lo), tw_min(points->hi, some.hi)};
    }
    for (int o = 0; o < k->n_inputs; o++) offset[o] = now[o] == ABSENT ? -1 : offset[o] + points->lo * k->stride[o];
    return -1;
}

static bool advance(nest *k, int64_t index[TW_MAX_LOOPS])
{
    for (int l = k->op->n_loops - 1; l >= 0; l--) {
        if (l == k->inner) continue;
        tw_span s = k->box->span[l];
        bool wraps = ++index[l] == s.hi;
        int64_t by = wraps ? -(s.hi - s.lo - 1) : 1;
        for (int c = 0; c < k->n_counters; c++) k->counter[c] += by * k->step[c][l];
        if (!wraps) return true;
        index[l] = s.lo;
    }
    return false;
}

int tw_kernel_run(const tw_op *op, tw_compute compute, const tw_box *box, const tw_kernel_input *input,
                  const tw_kernel_value *value, double *out)
{
    nest k = {.op = op, .compute = compute, .box = box, .input = input, .value = value, .out = out};
    k.n_inputs = tw_op_output(op);
    k.n_variables = tw_op_n_variables(op);
    for (int o = 0; o < k.n_inputs; o++) add_input(&k, o);
    add_output(&k);
    k.n_counters = k.n_inputs + 1 + k.n_tested;
    for (int t = 0; t < k.n_tested; t++) add_expression(&k, k.n_inputs + 1 + t, k.tested[t].axis, 1);
    set_inner(&k);
    int64_t n = k.inner >= 0 ? tw_span_len(box->span[k.inner]) : 1, index[TW_MAX_LOOPS], offset[TW_MAX_OPERANDS];
    tw_verify_visit_first(box, (1u << op->n_loops) - 1, index);
    tw_pulse pulse = {.deadline = value ? value->deadline : NULL};
    do {
        if (tw_pulse_is_over(&pulse, n)) return -1;
        tw_span points = {0, n};
        int lacking = resolve(&k, &points, offset);
        if (lacking >= 0) return lacking;
        if (points.lo < points.hi) run_points(&k, offset, index, points);
    } while (advance(&k, index));
    return -1;
}
