/* src/model/taps.c - reductions without the steps that never find anything: see simplify.h.
 *
 * A step v of loop k is dead on an axis when coef * v + the other terms is no position of the tensor, whatever the other
 * loops do. With one other loop that is decided exactly, with more by the interval that they reach, which may call a
 * dead step alive. The steps that are alive on all axes lie on first, first + step, .. last, and those are kept. */
#include "model/simplify.h"

enum {
    LONGEST = 1 << 16,      /* loops of more steps are left alone           */
    DIVISOR_MOST = 1 << 12, /* of axes that are looked at with their rest   */
};

/* Whether a point is nothing as soon as one of its inputs is in the padding. */
static bool needs_all(const tw_op *op)
{
    if (tw_op_has_pieces(op) || op->compute == TW_MAP || (op->compute == TW_AVERAGE && op->average_counts_padding))
        return false;
    return op->compute == TW_MULTIPLY_ADD || op->value || tw_op_output(op) == 1;
}

static int64_t coefficient(const tw_axis *axis, int loop)
{
    int64_t sum = 0;
    for (int t = 0; t < axis->n_terms; t++) sum += axis->term[t].loop == loop ? axis->term[t].coef : 0;
    return sum;
}

/* What the terms of other loops than k add up to: the interval, and the one loop that does it, -1: none or several. */
static tw_span others(const tw_op *op, const tw_axis *axis, int k, int *one)
{
    tw_span sum = {axis->offset, axis->offset + 1};
    int n = 0;
    *one = -1;
    for (int t = 0; t < axis->n_terms; t++) {
        const tw_term *term = &axis->term[t];
        if (term->loop == k) continue;
        int64_t last = term->coef * (op->loop[term->loop].extent - 1);
        sum.lo += tw_min(0, last);
        sum.hi += tw_max(0, last);
        n += term->loop != *one;
        *one = term->loop;
    }
    if (n != 1) *one = -1;
    return sum;
}

/* Whether begin + coef * i, 0 <= i < n, is ever a position of the tensor. */
static bool meets(const tw_axis *axis, int64_t begin, int64_t coef, int64_t n)
{
    int64_t most = axis->extent * axis->divisor - 1, position;
    if (coef < 0) { /* from the other end */
        begin += coef * (n - 1);
        coef = -coef;
    }
    int64_t first = begin < 0 ? tw_cdiv(-begin, coef) : 0, last = tw_min(n - 1, tw_fdiv(most - begin, coef));
    for (int64_t i = first; i <= tw_min(last, first + axis->divisor - 1); i++)
        if (tw_axis_position(axis, begin + coef * i, &position)) return true;
    return false;
}

static bool is_alive(const tw_op *op, const tw_axis *axis, int k, int64_t v)
{
    int one;
    int64_t at = coefficient(axis, k) * v;
    tw_span sum = others(op, axis, k, &one);
    if (axis->divisor > DIVISOR_MOST) return true;
    if (one >= 0 && coefficient(axis, one) != 0)
        return meets(axis, axis->offset + at, coefficient(axis, one), op->loop[one].extent);
    if (tw_span_len(sum) == 1) return meets(axis, sum.lo + at, 1, 1);
    return sum.hi - 1 + at >= 0 && sum.lo + at < axis->extent * axis->divisor;
}

static bool is_alive_everywhere(const tw_op *op, int k, int64_t v)
{
    for (int o = 0; o < tw_op_output(op); o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            if (coefficient(&op->operand[o].axis[a], k) && !is_alive(op, &op->operand[o].axis[a], k, v))
                return false;
    return true;
}

typedef struct steps {
    int64_t first, step, n; /* n 0: none */
} steps;

static int64_t divisor_of_both(int64_t a, int64_t b) { return b == 0 ? a : divisor_of_both(b, a % b); }

static steps living_steps(const tw_op *op, int k)
{
    int64_t first = -1, last = -1, step = 0;
    for (int64_t v = 0; v < op->loop[k].extent; v++) {
        if (!is_alive_everywhere(op, k, v)) continue;
        if (first < 0) first = v;
        step = divisor_of_both(v - first, step);
        last = v;
    }
    if (first < 0) return (steps){0, 1, 0};
    return (steps){first, step ? step : 1, step ? (last - first) / step + 1 : 1};
}

static void keep_steps(tw_op *op, int k, steps s)
{
    op->loop[k].extent = s.n;
    for (int o = 0; o < tw_op_output(op); o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            tw_axis *axis = &op->operand[o].axis[a];
            axis->offset += coefficient(axis, k) * s.first;
            for (int t = 0; t < axis->n_terms; t++)
                if (axis->term[t].loop == k) axis->term[t].coef *= s.step;
        }
}

bool tw_op_drop_taps(tw_op *op)
{
    bool changed = false;
    for (int k = 0; k < op->n_loops && needs_all(op); k++) {
        if (!op->loop[k].reduces || op->loop[k].extent > LONGEST) continue;
        steps s = living_steps(op, k);
        if (s.n == 0 || s.n == op->loop[k].extent) continue;
        keep_steps(op, k, s);
        changed = true;
    }
    return changed;
}
