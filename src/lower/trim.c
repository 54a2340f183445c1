/* src/lower/trim.c - operands without what the nest does not read.
 *
 *     x [16001], of which windows at 160 * o + k read [0, 15920): a view of so many elements, which 80 divides
 *
 * What lies before and behind all that is read is no business of the nest where the rest lies side by side: its operand is a
 * view. Windows that leave some elements over at the end then begin and end at multiples of a number (simplify.h).
 *
 *     w [64, 32, 3, 3], of which a convolution over one row reads [64, 32, 1 + 0, kx]
 *     w.taps [64, 32, 3] = a copy of that, by a step of its own; the convolution reads [64, 32, kx]
 *
 * The copy reads a constant alone, so that it is done before the network runs (constants.c). What is left lies side by side,
 * and moves in long rows. */
#include "lower/build.h"

#include <string.h>

/* ---- views ---- */

/* Whether windows along the outermost axis leave something over before or behind them. */
static bool leaves_over(const tw_op *op, const tw_axis *axis, int64_t *least, int64_t *most)
{
    bool window = axis->n_terms > 1 && axis->divisor == 1 && tw_axis_values(axis, op, least, most);
    if (!window || *least < 0 || *most >= axis->extent) return false;
    return *least > 0 || *most < axis->extent - 1;
}

void tw_trim_views(tw_lowering *l)
{
    tw_op *op = &l->nest.op;
    for (int o = 0; o < tw_op_output(op) && !tw_refused(l); o++) {
        tw_operand *operand = &op->operand[o];
        int64_t least, most, dim[TW_MAX_AXES], inner = 1;
        if (operand->rows.count > 0 || !leaves_over(op, &operand->axis[0], &least, &most)) continue;
        for (int a = 1; a < operand->n_axes; a++) inner *= dim[a] = operand->axis[a].extent;
        operand->axis[0].offset -= least;
        operand->axis[0].extent = dim[0] = most - least + 1;
        const char *suffix = tw_say(l, "%s.part", l->nest.suffix);
        tw_seen whole = {.tensor = operand->tensor};
        operand->tensor = tw_part_of(l, suffix, whole, least * inner, operand->n_axes, dim).tensor;
    }
}

/* ---- constants ---- */

typedef struct part { /* positions first, first + step, .. of an axis, n of them */
    int64_t first, step, n;
} part;

/* What the nest reads along an axis; all of it where that is not an even row of positions. */
static part part_of(const tw_op *op, const tw_axis *axis)
{
    part whole = {0, 1, axis->extent}, p = {axis->offset, 1, 1};
    if (axis->n_terms > 1 || axis->divisor != 1) return whole;
    if (axis->n_terms == 1) {
        p.n = op->loop[axis->term[0].loop].extent;
        p.step = axis->term[0].coef;
    }
    int64_t last = p.first + (p.n - 1) * p.step;
    bool inside = 0 <= tw_min(p.first, last) && tw_max(p.first, last) < axis->extent;
    return inside && p.n < axis->extent ? p : whole;
}

/* Rewrites the operand to walk what is left of it. */
static bool trim_operand(const tw_op *op, tw_operand *operand, part *p)
{
    bool trimmed = false;
    for (int a = 0; a < operand->n_axes; a++) {
        tw_axis *axis = &operand->axis[a];
        p[a] = part_of(op, axis);
        if (p[a].n == axis->extent) continue;
        axis->extent = p[a].n;
        axis->offset = 0;
        axis->term[0].coef = 1;
        trimmed = true;
    }
    return trimmed;
}

/* Describes out[..] = x[.., first + step * d, ..]. */
static void describe_copy(tw_lowering *l, tw_seen x, const tw_operand *whole, const part *p, tw_seen out)
{
    static const char *const name[TW_MAX_AXES] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
    for (int a = 0; a < whole->n_axes; a++) tw_add_loop(l, name[a], p[a].n, false);
    tw_add_operand(l, x);
    for (int a = 0; a < whole->n_axes; a++)
        tw_add_axis_as(l, (tw_axis){.extent = whole->axis[a].extent,
                                    .offset = p[a].first,
                                    .divisor = 1,
                                    .n_terms = 1,
                                    .term = {{a, p[a].step}}});
    tw_add_output(l, out);
    tw_set_value(l, 0);
}

/* The tensor of what is left, and the step that makes it, while the nest at hand waits. */
static int add_copy(tw_lowering *l, int tensor, const tw_operand *whole, const part *p)
{
    int64_t dim[TW_MAX_AXES];
    tw_lowered_nest *waiting = TW_NEW(l->arena, tw_lowered_nest, 1);
    if (!waiting) {
        l->no_memory = true;
        return tensor;
    }
    *waiting = l->nest;
    for (int a = 0; a < whole->n_axes; a++) dim[a] = p[a].n;
    const char *suffix = tw_say(l, "%s.taps", waiting->suffix);
    tw_seen out = tw_between(l, suffix, l->source[tensor].type, whole->n_axes, dim);
    if (tw_refused(l)) return tensor;
    tw_nest_begin(l, suffix, TW_MAP);
    describe_copy(l, (tw_seen){.tensor = tensor}, whole, p, out);
    tw_nest_end(l, l->node->op, 0, NULL);
    l->nest = *waiting;
    return out.tensor;
}

static bool is_constant(const tw_lowering *l, int tensor)
{
    return l->tensor[l->tensor[tensor].root].role == TW_ROLE_CONSTANT;
}

bool tw_trim_constants(tw_lowering *l)
{
    tw_op *op = &l->nest.op;
    bool any = false;
    if (l->options->no_fold || op->compute == TW_MAP) return false;
    for (int o = 0; o < tw_op_output(op) && !tw_refused(l); o++) {
        part p[TW_MAX_AXES];
        tw_operand whole = op->operand[o], trimmed = whole;
        if (whole.rows.count > 0 || !is_constant(l, whole.tensor)) continue;
        if (!trim_operand(op, &trimmed, p)) continue;
        trimmed.tensor = add_copy(l, whole.tensor, &whole, p);
        op->operand[o] = trimmed;
        any = true;
    }
    return any;
}
