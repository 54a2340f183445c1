/* src/verify/compute.c - an operator as it is executed: its numbers, and what a box of loop points does to its output. */
#include <string.h>

#include "verify/executor.h"
#include "verify/kernel.h"
#include "verify/shape.h"

/* ---- the operator ---- */

bool tw_maths_init(tw_maths *m, const tw_model *model, const tw_op *op, bool draws, tw_arena *arena)
{
    m->op = *op;
    if (op->compute == TW_AVERAGE && !(m->divisor = tw_numbers_divisors(op, arena))) return false;
    if (!draws) return true;
    m->draw = tw_draw_of(model, op, m->divisor);
    m->value.bound = m->draw.bound;
    m->value.positive = m->draw.positive;
    return true;
}

bool tw_maths_hold(tw_maths *m, uint64_t seed, const tw_given *given, tw_arena *arena)
{
    for (int h = 0; h < m->op.n_held; h++) {
        int loop = m->op.held[h].loop;
        int64_t n = loop < 0 ? 1 : m->op.loop[loop].extent;
        double *value = TW_NEW(arena, double, n);
        m->value.held[h] = value;
        if (!value) return false;
        if (given)
            memcpy(value, given->held[h], (size_t)n * sizeof *value);
        else
            tw_draw_held(h, seed, n, value);
    }
    return true;
}

/* ---- points ---- */

/* All but sums have one type on the chip. */
double tw_compute_neutral(const tw_maths *m) { return tw_numbers_neutral(m->op.compute, m->op.accumulator); }

/* What is no number stays none, in whatever order the points come. */
void tw_compute_merge(const tw_maths *m, double *a, const double *b, int64_t n)
{
    switch (m->op.compute) {
    case TW_MAX:
        for (int64_t i = 0; i < n; i++) a[i] = a[i] > b[i] || a[i] != a[i] ? a[i] : b[i];
        break;
    case TW_MIN:
        for (int64_t i = 0; i < n; i++) a[i] = a[i] < b[i] || a[i] != a[i] ? a[i] : b[i];
        break;
    case TW_PRODUCT:
        for (int64_t i = 0; i < n; i++) a[i] *= b[i];
        break;
    default:
        for (int64_t i = 0; i < n; i++) a[i] += b[i];
    }
}

void tw_compute_divide(const tw_maths *m, const tw_region *region, double *sum)
{
    const tw_operand *out = &m->op.operand[tw_op_output(&m->op)];
    tw_region whole = tw_verify_whole(out);
    if (m->op.compute != TW_AVERAGE) return;
    tw_runs r = tw_runs_of(out, region, &whole, 1);
    do {
        const double *divisor = m->divisor + tw_runs_offset(&r);
        for (int64_t i = 0; i < r.bytes; i++) sum[i] /= divisor[i];
        sum += r.bytes;
    } while (tw_runs_next(&r));
}

/* ---- finishing ---- */

/* Elements of a region behind each other for which all that is held stands still, or runs along with them. */
typedef struct stretch {
    int n_axes; /* before it */
    int64_t n;
} stretch;
static stretch stretch_of(const tw_op *op, const tw_region *region)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    stretch s = {out->n_axes, 1};
    for (bool stops = false; s.n_axes > 0 && !stops;) {
        int loop = out->axis[s.n_axes - 1].term[0].loop;
        for (int h = 0; h < op->n_held; h++) stops |= op->held[h].loop == loop;
        if (stops && s.n_axes < out->n_axes) break;
        s.n *= tw_span_len(region->axis[--s.n_axes]);
    }
    return s;
}

/* The variables behind the sum, at this position. */
static void find_held(const tw_maths *m, const tw_region *region, const int64_t at[TW_MAX_AXES], int n_axes,
                      const double **var, int64_t *stride)
{
    const tw_op *op = &m->op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    for (int h = 0; h < op->n_held; h++) {
        var[1 + h] = m->value.held[h];
        stride[1 + h] = 0;
        for (int a = 0; a < out->n_axes && op->held[h].loop >= 0; a++) {
            if (out->axis[a].term[0].loop != op->held[h].loop) continue;
            var[1 + h] += a < n_axes ? at[a] : region->axis[a].lo;
            stride[1 + h] = a >= n_axes;
        }
    }
}

static void finish_stretch(const tw_formula *finish, const double **var, const int64_t *stride, int64_t n,
                           double *sum)
{
    for (int64_t some; n > 0; n -= some, sum += some) {
        double made[TW_FORMULA_BLOCK];
        some = tw_min(n, TW_FORMULA_BLOCK);
        var[0] = sum;
        tw_formula_eval_many(finish, var, stride, ~0u, some, made);
        for (int v = 1; v < finish->n_vars; v++) var[v] += some * stride[v];
        memcpy(sum, made, (size_t)some * sizeof *sum);
    }
}

void tw_compute_finish(const tw_maths *m, const tw_region *region, double *sum)
{
    const tw_op *op = &m->op;
    int64_t at[TW_MAX_AXES], stride[1 + TW_MAX_HELD] = {1};
    const double *var[1 + TW_MAX_HELD];
    if (!op->finish) return;
    stretch run = stretch_of(op, region);
    for (int a = 0; a < run.n_axes; a++) at[a] = region->axis[a].lo;
    for (int a = 0; a >= 0; sum += run.n) {
        find_held(m, region, at, run.n_axes, var, stride);
        finish_stretch(op->finish, var, stride, run.n, sum);
        for (a = run.n_axes - 1; a >= 0 && ++at[a] == region->axis[a].hi; a--) at[a] = region->axis[a].lo;
    }
}

double *tw_compute_box(tw_execution *s, const tw_maths *m, const tw_box *box, const tw_kernel_input *input)
{
    const tw_op *op = &m->op;
    tw_region made = tw_verify_output_region(op, box);
    int64_t n = tw_verify_region_elems(&op->operand[tw_op_output(op)], &made);
    double *out = tw_space_take(s, n, sizeof *out), neutral = tw_compute_neutral(m);
    if (!out) return NULL;
    for (int64_t k = 0; k < n; k++) out[k] = neutral;
    int lacking = tw_kernel_run(op, op->compute, box, input, &m->value, out);
    if (lacking < 0) return out;
    tw_fault_at(&s->at, "reads elements of '%s' that its buffer does not hold", op->operand[lacking].name);
    return NULL;
}
