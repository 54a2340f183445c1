/* src/verify/compute.c - what a box of loop points does to its output, on numbers. */
#include "verify/executor.h"
#include "verify/kernel.h"
#include "verify/shape.h"

static bool takes_maximum(const tw_execution *s) { return s->e->op.compute == TW_MAX; }

/* Of a maximum: below all values that both types have. */
double tw_compute_neutral(const tw_execution *s)
{
    if (!takes_maximum(s)) return 0;
    double out = tw_numbers_lowest(tw_verify_dtype(&s->e->in, tw_execution_output(s)));
    double sums = tw_numbers_lowest(s->e->op.accumulator);
    return out > sums ? out : sums;
}

void tw_compute_merge(const tw_execution *s, double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) a[i] = !takes_maximum(s) ? a[i] + b[i] : a[i] > b[i] ? a[i] : b[i];
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

double *tw_compute_box(tw_execution *s, const tw_kernel_input *input, const tw_region *made)
{
    const tw_op *op = &s->e->op;
    int64_t n = tw_verify_region_elems(tw_execution_operand(s, tw_execution_output(s)), made);
    double *out = tw_space_take(s, n, sizeof *out), neutral = tw_compute_neutral(s);
    if (!out) return NULL;
    for (int64_t k = 0; k < n; k++) out[k] = neutral;
    int lacking = tw_kernel_run(op, op->compute, &s->at.instr->box, input, out);
    if (lacking >= 0) {
        tw_fault_at(&s->at, "reads elements of '%s' that its buffer does not hold", op->operand[lacking].name);
        return NULL;
    }
    if (op->compute == TW_AVERAGE) divide(s, made, out);
    return out;
}
