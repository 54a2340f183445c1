/* src/model/pieces.c - inputs that are in several tensors: what is asked of their maps, and the hull of all pieces; see pieces.h. */
#include "model/pieces.h"

/* Whether both positions are the same sum of loops, but for the offset. */
static bool same_terms(const tw_axis *a, const tw_axis *b)
{
    if (a->n_terms != b->n_terms || a->divisor != b->divisor || a->floors != b->floors) return false;
    for (int t = 0; t < a->n_terms; t++)
        if (a->term[t].loop != b->term[t].loop || a->term[t].coef != b->term[t].coef) return false;
    return true;
}

/* The positions that a piece has, counted from where the input itself begins. */
static tw_span positions_of(const tw_axis *input, const tw_axis *piece)
{
    int64_t lo = (input->offset - piece->offset) / piece->divisor;
    return (tw_span){lo, lo + piece->extent};
}

/* The axis along which two pieces of an input lie beside each other, -1: they do not. */
static int axis_beside(const tw_operand *a, const tw_operand *b)
{
    int along = -1;
    if (a->n_axes != b->n_axes || a->scattered != b->scattered) return -1;
    for (int i = 0; i < a->n_axes; i++) {
        const tw_axis *x = &a->axis[i], *y = &b->axis[i];
        if (!same_terms(x, y) || (x->offset - y->offset) % x->divisor != 0) return -1;
        if (x->offset == y->offset && x->extent == y->extent) continue;
        tw_span at = positions_of(x, y);
        if (along >= 0 || (at.lo < x->extent && at.hi > 0)) return -1;
        along = i;
    }
    return along;
}

tw_status tw_pieces_check(const tw_op *op, const tw_op_locs *locs, tw_diag *diag)
{
    int n = tw_op_n_variables(op), last = tw_op_output(op);
    for (int i = 0; i <= last; i++) {
        const tw_operand *piece = &op->operand[i];
        int of = piece->beside - 1;
        if (of < 0 && i < n) continue;
        if (of < 0 && i == last) continue;
        if (i < n || i == last || of >= n)
            return tw_diag_error(diag, locs->operand[i],
                                 "'%s' is a piece: it stands behind all inputs, and beside one of them",
                                 piece->name);
        for (int k = of; k < i; k = k == of ? n : k + 1) {
            const tw_operand *other = &op->operand[k];
            if (k != of && other->beside != piece->beside) continue;
            if (piece->weights != other->weights || axis_beside(other, piece) < 0 ||
                axis_beside(other, piece) != axis_beside(&op->operand[of], piece))
                return tw_diag_error(diag, locs->operand[i],
                                     "'%s' does not stand beside '%s' along one axis: pieces of an input differ in "
                                     "the positions of one axis, and have none in common",
                                     piece->name, other->name);
        }
    }
    return TW_OK;
}

tw_operand tw_op_whole_input(const tw_op *op, int input)
{
    tw_operand whole = op->operand[input];
    for (int i = tw_op_n_variables(op); i < tw_op_output(op); i++) {
        if (op->operand[i].beside != input + 1) continue;
        for (int a = 0; a < whole.n_axes; a++) {
            tw_axis *axis = &whole.axis[a];
            tw_span at = positions_of(axis, &op->operand[i].axis[a]);
            int64_t lo = tw_min(0, at.lo), hi = tw_max(axis->extent, at.hi);
            axis->offset -= lo * axis->divisor;
            axis->extent = hi - lo;
        }
    }
    return whole;
}
