/* src/tile/box.c - see box.h. */
#include "tile/box.h"

tw_box tw_box_of_op(const tw_op *op)
{
    tw_box box = {0};
    for (int l = 0; l < op->n_loops; l++) box.span[l] = (tw_span){0, op->loop[l].extent};
    return box;
}

int64_t tw_box_points(const tw_op *op, const tw_box *box)
{
    int64_t n = 1;
    for (int l = 0; l < op->n_loops; l++) n *= tw_span_len(box->span[l]);
    return n;
}

unsigned tw_axis_loops(const tw_axis *axis)
{
    unsigned loops = 0;
    for (int t = 0; t < axis->n_terms; t++) loops |= 1u << axis->term[t].loop;
    return loops;
}

/* Smallest and largest value of the sum before division; both are attained. */
static tw_span numerators(const tw_axis *axis, const tw_box *box)
{
    int64_t lo = axis->offset, hi = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) {
        tw_span s = box->span[axis->term[t].loop];
        int64_t coef = axis->term[t].coef;
        lo += coef > 0 ? coef * s.lo : coef * (s.hi - 1);
        hi += coef > 0 ? coef * (s.hi - 1) : coef * s.lo;
    }
    return (tw_span){lo, hi + 1};
}

tw_span tw_axis_reach(const tw_axis *axis, const tw_box *box)
{
    tw_span n = numerators(axis, box);
    if (axis->divisor == 1) return n;
    if (axis->floors) return (tw_span){tw_fdiv(n.lo, axis->divisor), tw_fdiv(n.hi - 1, axis->divisor) + 1};
    /* The multiples of the divisor within the numerators; a hull, since not each need be attained. */
    return (tw_span){tw_cdiv(n.lo, axis->divisor), tw_fdiv(n.hi - 1, axis->divisor) + 1};
}

int64_t tw_region_of(const tw_operand *operand, const tw_box *box, tw_region *out)
{
    int64_t n = 1;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        out->axis[a] = tw_span_clip(tw_axis_reach(axis, box), 0, axis->extent);
        n *= tw_span_len(out->axis[a]);
    }
    return n;
}

void tw_axis_padding(const tw_axis *axis, const tw_box *box, int64_t *lo, int64_t *hi)
{
    tw_span reach = tw_axis_reach(axis, box);
    *lo = tw_max(0, 0 - reach.lo);
    *hi = tw_max(0, reach.hi - axis->extent);
}

bool tw_axis_is_clipped(const tw_op *op, const tw_axis *axis)
{
    int64_t least, most;
    return axis->divisor > 1 || !tw_axis_values(axis, op, &least, &most) || least < 0 || most >= axis->extent;
}

unsigned tw_op_clipped(const tw_op *op)
{
    unsigned mask = 0;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            if (tw_axis_is_clipped(op, &op->operand[o].axis[a])) mask |= 1u << o;
    return mask;
}

bool tw_op_is_neutral(const tw_op *op, const int64_t elems[TW_MAX_OPERANDS])
{
    int empty = 0, n = tw_op_n_variables(op);
    int64_t whole[TW_MAX_OPERANDS] = {0}; /* of each input, all of its pieces */
    if (op->compute == TW_MAP) return false;
    for (int o = 0; o < tw_op_output(op); o++) whole[tw_op_variable(op, o)] += elems[o];
    for (int o = 0; o < n; o++) empty += whole[o] == 0;
    return op->compute == TW_MULTIPLY_ADD ? empty > 0 : empty == n;
}

/* Away from the tensor's edges only the lengths matter; near them, how far the box reaches beyond, and the
 * rest of the division decides which positions exist. */
int tw_box_key(const tw_op *op, const tw_box *box, unsigned clipped, int64_t key[TW_BOX_KEY_MAX])
{
    int n = 0;
    for (int l = 0; l < op->n_loops; l++) key[n++] = tw_span_len(box->span[l]);
    for (int o = 0; o < op->n_operands; o++) {
        if (!(clipped >> o & 1)) continue;
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            const tw_axis *axis = &op->operand[o].axis[a];
            tw_span num = numerators(axis, box);
            key[n++] = tw_min(0, num.lo);
            key[n++] = tw_max(0, num.hi - axis->extent * axis->divisor);
            key[n++] = num.lo - tw_fdiv(num.lo, axis->divisor) * axis->divisor;
        }
    }
    return n;
}

bool tw_box_is_empty(const tw_op *op, const tw_box *box)
{
    for (int l = 0; l < op->n_loops; l++)
        if (box->span[l].lo >= box->span[l].hi) return true;
    return false;
}
