/* src/verify/kernel.c - see kernel.h.
 *
 * Every operand has an offset into its array that each loop changes by a constant, except along axes where
 * positions may be missing (padding, division, not held): those are *tested*, their numerators step by constants in
 * the same way, and the position is looked at when it is used. So the state of the nest is one list of
 * counters, and moving on is one addition for each.
 *
 * One loop is run as an inner loop without counters: one that no tested axis depends on, with small strides. */
#include "verify/kernel.h"

#include <math.h>

#include "verify/shape.h"

enum { MAX_TESTED = TW_MAX_OPERANDS * TW_MAX_AXES, MAX_COUNTERS = TW_MAX_OPERANDS + MAX_TESTED };

typedef struct tested { /* an axis whose position has to be looked at */
    int input;
    const tw_axis *axis;
    tw_span held;
    int64_t stride;
} tested;

typedef struct nest {
    const tw_op *op;
    tw_compute compute;
    const tw_box *box;
    const tw_kernel_input *input;
    const tw_kernel_value *value;
    double *out;
    int n_inputs, n_tested, n_counters; /* counters: offsets of the inputs, of the output, numerators */
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
            k->tested[k->n_tested++] = (tested){o, axis, held, stride};
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

/* The loop with the smallest strides that is not short; -1 when tested axes depend on all of them. */
static int pick_inner(const nest *k)
{
    int best = -1;
    int64_t least = INT64_MAX;
    unsigned busy = 0;
    for (int t = 0; t < k->n_tested; t++) busy |= tw_verify_axis_loops(k->tested[t].axis);
    for (int l = 0; l < k->op->n_loops; l++) {
        if (busy >> l & 1) continue;
        int64_t cost = tw_span_len(k->box->span[l]) < 8 ? 40 - 5 * tw_span_len(k->box->span[l]) : 0;
        for (int o = 0; o <= k->n_inputs; o++) cost += stride_cost(k->step[o][l]);
        if (cost < least) least = cost, best = l;
    }
    return best;
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

static void multiply_add(const double *a, int64_t sa, const double *b, int64_t sb, double *restrict out, int64_t so,
                         int64_t n)
{
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

static void multiply_all(const nest *k, const int64_t *offset, const int64_t *stride, double *out, int64_t so,
                         int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double product = 1;
        for (int o = 0; o < k->n_inputs; o++) product *= k->input[o].data[offset[o] + i * stride[o]];
        out[i * so] += product;
    }
}

static void accumulate(const nest *k, const double *a, int64_t sa, double *out, int64_t so, int64_t n)
{
    switch (k->compute) {
    case TW_MAX:
        for (int64_t i = 0; i < n; i++) out[i * so] = a[i * sa] > out[i * so] ? a[i * sa] : out[i * so];
        break;
    case TW_MIN:
        for (int64_t i = 0; i < n; i++) out[i * so] = a[i * sa] < out[i * so] ? a[i * sa] : out[i * so];
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

static void multiply_two(const nest *k, const int64_t *offset, const int64_t *stride, double *out, int64_t so,
                         int64_t n)
{
    int a = stride[1] == 0; /* the one that stands still comes first */
    const double *x = k->input[a].data + offset[a], *y = k->input[!a].data + offset[!a];
    multiply_add(x, stride[a], y, stride[!a], out, so, n);
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
static void find_variables(const nest *k, const int64_t *offset, const int64_t *index, const double **var,
                           int64_t *stride)
{
    static const double zero = 0;
    for (int o = 0; o < k->n_inputs; o++) {
        var[o] = offset[o] >= 0 ? k->input[o].data + offset[o] : &zero;
        stride[o] = offset[o] >= 0 ? k->stride[o] : 0;
    }
    for (int h = 0; h < k->op->n_held; h++) {
        int loop = k->op->held[h].loop;
        var[k->n_inputs + h] = k->value->held[h] + (loop < 0 ? 0 : index[loop]);
        stride[k->n_inputs + h] = loop >= 0 && loop == k->inner;
    }
}

static void run_values(const nest *k, const int64_t *offset, const int64_t *index, int64_t n)
{
    const double *var[TW_MAX_OPERANDS + TW_MAX_HELD];
    int64_t stride[TW_MAX_OPERANDS + TW_MAX_HELD], so = k->stride[k->n_inputs];
    double made[TW_FORMULA_BLOCK], *out = k->out + k->counter[k->n_inputs];
    unsigned present = ~0u;
    for (int o = 0; o < k->n_inputs; o++)
        if (offset[o] < 0) present &= ~(1u << o);
    find_variables(k, offset, index, var, stride);
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

/* n points along the inner loop; offset[o] < 0 where the input has no element. */
static void run_points(const nest *k, const int64_t *offset, const int64_t *index, int64_t n)
{
    const int64_t *stride = k->stride;
    int present = 0, out_at = k->n_inputs;
    for (int o = 0; o < k->n_inputs; o++) present += offset[o] >= 0;
    double *out = k->out + k->counter[out_at];
    if (k->op->value) {
        if (present == k->n_inputs || k->compute == TW_MAP) run_values(k, offset, index, n);
    } else if (k->compute != TW_MULTIPLY_ADD) {
        for (int o = 0; o < k->n_inputs; o++)
            if (offset[o] >= 0) accumulate(k, k->input[o].data + offset[o], stride[o], out, stride[out_at], n);
    } else if (present == k->n_inputs) {
        if (k->n_inputs == 2)
            multiply_two(k, offset, stride, out, stride[out_at], n);
        else
            multiply_all(k, offset, stride, out, stride[out_at], n);
    }
}

/* Where a tested axis stands. */
typedef enum state { PRESENT, ABSENT, LACKING } state;
static state look(const tested *x, int64_t numerator, int64_t *offset)
{
    int64_t at = x->axis->divisor > 1 ? numerator / x->axis->divisor : numerator;
    if (numerator < 0 || at * x->axis->divisor != numerator || at >= x->axis->extent) return ABSENT;
    if (at < x->held.lo || at >= x->held.hi) return LACKING;
    *offset += (at - x->held.lo) * x->stride;
    return PRESENT;
}

/* Offsets of the inputs at this point, -1 where there is no element. Returns the input whose region lacks
 * an element that exists, -1: none. */
static int resolve(const nest *k, int64_t offset[TW_MAX_OPERANDS])
{
    state now[TW_MAX_OPERANDS] = {PRESENT};
    for (int o = 0; o < k->n_inputs; o++) offset[o] = k->counter[o];
    if (k->n_tested == 0) return -1;
    for (int t = 0; t < k->n_tested; t++) {
        int o = k->tested[t].input;
        if (now[o] == ABSENT) continue;
        state s = look(&k->tested[t], k->counter[k->n_inputs + 1 + t], &offset[o]);
        if (s != PRESENT) now[o] = s;
    }
    for (int o = 0; o < k->n_inputs; o++) {
        if (now[o] == LACKING) return o;
        if (now[o] == ABSENT) offset[o] = -1;
    }
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
    for (int o = 0; o < k.n_inputs; o++) add_input(&k, o);
    add_output(&k);
    k.n_counters = k.n_inputs + 1 + k.n_tested;
    for (int t = 0; t < k.n_tested; t++) add_expression(&k, k.n_inputs + 1 + t, k.tested[t].axis, 1);
    k.inner = pick_inner(&k);
    for (int o = 0; o <= k.n_inputs && k.inner >= 0; o++) k.stride[o] = k.step[o][k.inner];
    int64_t n = k.inner >= 0 ? tw_span_len(box->span[k.inner]) : 1, index[TW_MAX_LOOPS], offset[TW_MAX_OPERANDS];
    tw_verify_visit_first(box, (1u << op->n_loops) - 1, index);
    do {
        int lacking = resolve(&k, offset);
        if (lacking >= 0) return lacking;
        run_points(&k, offset, index, n);
    } while (advance(&k, index));
    return -1;
}
