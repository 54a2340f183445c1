/* src/verify/compute.c - what a box of loop points does to its output, on numbers. */
#include <string.h>

#include "verify/executor.h"
#include "verify/kernel.h"
#include "verify/shape.h"

/* All but sums have one type on the chip. */
double tw_compute_neutral(const tw_execution *s)
{
    return tw_numbers_neutral(s->e->op.compute, s->e->op.accumulator);
}

/* What is no number stays none, in whatever order the points come. */
void tw_compute_merge(const tw_execution *s, double *a, const double *b, int64_t n)
{
    switch (s->e->op.compute) {
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

/* Divides what a tile has added up by the divisors of its output elements. */
static void divide(const tw_execution *s, const tw_region *region, double *sum)
{
    const tw_operand *out = tw_execution_operand(s, tw_execution_output(s));
    tw_region whole = tw_verify_whole(out);
    tw_runs r = tw_runs_of(out, region, &whole, 1);
    do {
        const double *divisor = s->e->divisor + tw_runs_offset(&r);
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
static void find_held(const tw_execution *s, const tw_region *region, const int64_t at[TW_MAX_AXES], int n_axes,
                      const double **var, int64_t *stride)
{
    const tw_op *op = &s->e->op;
    const tw_operand *out = tw_execution_operand(s, tw_execution_output(s));
    for (int h = 0; h < op->n_held; h++) {
        var[1 + h] = s->e->value.held[h];
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

void tw_compute_finish(const tw_execution *s, const tw_region *region, double *sum)
{
    const tw_op *op = &s->e->op;
    int64_t at[TW_MAX_AXES], stride[1 + TW_MAX_HELD] = {1};
    const double *var[1 + TW_MAX_HELD];
    if (!op->finish) return;
    stretch run = stretch_of(op, region);
    for (int a = 0; a < run.n_axes; a++) at[a] = region->axis[a].lo;
    for (int a = 0; a >= 0; sum += run.n) {
        find_held(s, region, at, run.n_axes, var, stride);
        finish_stretch(op->finish, var, stride, run.n, sum);
        for (a = run.n_axes - 1; a >= 0 && ++at[a] == region->axis[a].hi; a--) at[a] = region->axis[a].lo;
    }
}

double *tw_compute_box(tw_execution *s, const tw_kernel_input *input, const tw_region *made)
{
    const tw_op *op = &s->e->op;
    int64_t n = tw_verify_region_elems(tw_execution_operand(s, tw_execution_output(s)), made);
    double *out = tw_space_take(s, n, sizeof *out), neutral = tw_compute_neutral(s);
    if (!out) return NULL;
    for (int64_t k = 0; k < n; k++) out[k] = neutral;
    int lacking = tw_kernel_run(op, op->compute, &s->at.instr->box, input, &s->e->value, out);
    if (lacking >= 0) {
        tw_fault_at(&s->at, "reads elements of '%s' that its buffer does not hold", op->operand[lacking].name);
        return NULL;
    }
    if (op->compute == TW_AVERAGE) divide(s, made, out);
    return out;
}
