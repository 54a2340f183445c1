/* src/model/move.c - operators that only move elements, see model.h.
 *
 * A move is a map whose value is one of its inputs, whichever has an element there: a transpose, a slice, a repetition
 * have one input that is everywhere; a concatenation adds up inputs of which one is present and the others are padding,
 * that is 0. A pad has one input, and zeros around it. */
#include "model/model.h"

/* The inputs whose sum a step is, as a mask; 0: it is something else. Multiplying by one is how a formula says a variable. */
static unsigned copied_by(const tw_formula *f, int at)
{
    if (at < f->n_vars) return 1u << at;
    const tw_formula_step *s = &f->step[at - f->n_vars];
    if (s->fn == TW_FN_MULTIPLY) {
        const tw_formula_step *one = s->arg[1] < f->n_vars ? NULL : &f->step[s->arg[1] - f->n_vars];
        return one && one->fn == TW_FN_CONSTANT && one->constant == 1 ? copied_by(f, s->arg[0]) : 0;
    }
    if (s->fn != TW_FN_ADD) return 0;
    unsigned a = copied_by(f, s->arg[0]), b = copied_by(f, s->arg[1]);
    return a != 0 && b != 0 && (a & b) == 0 ? a | b : 0;
}

/* The box of loop points at which the input has elements; false: its map is none that strides can walk. */
static bool present_box(const tw_op *op, const tw_operand *input, tw_box *box)
{
    unsigned seen = 0;
    for (int l = 0; l < op->n_loops; l++) box->span[l] = (tw_span){0, op->loop[l].extent};
    for (int a = 0; a < input->n_axes; a++) {
        const tw_axis *axis = &input->axis[a];
        if (axis->n_terms == 0 && (axis->offset < 0 || axis->offset >= axis->extent)) return false;
        if (axis->n_terms == 0) continue;
        if (axis->n_terms > 1 || axis->divisor != 1 || axis->term[0].coef < 1) return false;
        int l = axis->term[0].loop;
        int64_t coef = axis->term[0].coef;
        if (seen >> l & 1) return false;
        seen |= 1u << l;
        box->span[l].lo = tw_max(0, tw_cdiv(-axis->offset, coef));
        box->span[l].hi = tw_min(op->loop[l].extent, tw_fdiv(axis->extent - 1 - axis->offset, coef) + 1);
        if (box->span[l].lo >= box->span[l].hi) return false;
    }
    return true;
}

static bool meet(const tw_op *op, const tw_box *a, const tw_box *b)
{
    for (int l = 0; l < op->n_loops; l++)
        if (tw_max(a->span[l].lo, b->span[l].lo) >= tw_min(a->span[l].hi, b->span[l].hi)) return false;
    return true;
}

/* Whether every point has an element of exactly one input, or of the only one where there is any. */
static bool covers(const tw_op *op)
{
    tw_box box[TW_MAX_OPERANDS];
    int64_t left = tw_op_points(op);
    for (int o = 0; o < tw_op_output(op); o++) {
        int64_t points = 1;
        if (!present_box(op, &op->operand[o], &box[o])) return false;
        for (int i = 0; i < o; i++)
            if (meet(op, &box[i], &box[o])) return false;
        for (int l = 0; l < op->n_loops; l++) points *= tw_span_len(box[o].span[l]);
        left -= points;
    }
    return left == 0 || tw_op_output(op) == 1;
}

bool tw_op_is_move(const tw_model *model, const tw_op *op)
{
    int output = tw_op_output(op);
    if (op->compute != TW_MAP || op->finish || op->n_held > 0 || !op->value) return false;
    for (int o = 0; o < op->n_operands; o++)
        if (op->operand[o].scattered > 0 ||
            model->tensor[op->operand[o].tensor].dtype != model->tensor[op->operand[output].tensor].dtype)
            return false;
    if (copied_by(op->value, op->value->n_vars + op->value->n_steps - 1) != (1u << output) - 1) return false;
    return covers(op);
}
