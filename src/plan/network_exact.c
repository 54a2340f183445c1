/* src/plan/network_exact.c - whether a program's doubles hold its whole numbers: see network_run.h.
 *
 * Programs work on doubles, which know whole numbers up to 2^53. Types of 32 and 64 bits wrap around far beyond: the
 * product of two int32 needs 62 bits before it does. The largest elements that a step really has bound everything that it
 * computes, step by step of its formulas; where the bound leaves 2^53 the step is evaluated instead, on integers. */
#include "plan/network_run.h"

#include <math.h>

static const double exact = 0x1p53;

static bool is_whole(tw_dtype type)
{
    return type != TW_DTYPE_F16 && type != TW_DTYPE_BF16 && type != TW_DTYPE_F32 && type != TW_DTYPE_F64;
}

static double largest(const double *x, int64_t n, bool *negative)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(x[i]) > most) most = fabs(x[i]);
        *negative = *negative || x[i] < 0;
    }
    return most;
}

/* Largest number that a conversion can give; 0: it is none to whole numbers. */
static double range_of(tw_fn fn)
{
    switch (fn) {
    case TW_FN_I8: return 0x1p7;
    case TW_FN_U8: return 0x1p8;
    case TW_FN_I16: return 0x1p15;
    case TW_FN_U16: return 0x1p16;
    case TW_FN_I32: return 0x1p31;
    case TW_FN_U32: return 0x1p32;
    case TW_FN_I64: return 0x1p63;
    case TW_FN_U64: return 0x1p64;
    default: return 0;
    }
}

/* Bound of the result of one step of a formula from those of its arguments. Functions that are not listed make fractions,
 * which are no business of this. What may be negative becomes large without a sign. */
static double bound_of(const tw_formula_step *s, double a, double b, double c)
{
    switch (s->fn) {
    case TW_FN_CONSTANT: return fabs(s->constant);
    case TW_FN_ADD:
    case TW_FN_SUBTRACT:
    case TW_FN_BIT_OR:
    case TW_FN_BIT_XOR:
    case TW_FN_BIT_AND: return a + b;
    case TW_FN_MULTIPLY: return a * b;
    case TW_FN_POWER: return pow(a > 1 ? a : 1, b);
    case TW_FN_SHIFT_LEFT: return a * exp2(b < 64 ? b : 64);
    case TW_FN_MIN:
    case TW_FN_MAX: return a > b ? a : b;
    case TW_FN_SELECT: return b > c ? b : c;
    case TW_FN_QUOTIENT:
    case TW_FN_MODULO:
    case TW_FN_REMAINDER:
    case TW_FN_SHIFT_RIGHT:
    case TW_FN_ABS:
    case TW_FN_NEGATE: return a > 1 ? a : 1;
    case TW_FN_U8:
    case TW_FN_U16:
    case TW_FN_U32:
    case TW_FN_U64: return range_of(s->fn);
    default: return fmin(a, range_of(s->fn));
    }
}

/* Whether a step of a formula makes no negative number of numbers that are not. */
static bool keeps_sign(const tw_formula_step *s)
{
    return s->fn != TW_FN_SUBTRACT && s->fn != TW_FN_NEGATE && s->fn != TW_FN_LOG &&
           (s->fn != TW_FN_CONSTANT || s->constant >= 0);
}

/* The bound of a formula's result; *worst: of everything on the way. As long as nothing is negative, a conversion to a type
 * without a sign makes nothing larger. */
static double formula_bound(const tw_formula *f, const double *var, bool negative, double *worst)
{
    double bound[TW_FORMULA_MAX_STEPS], last = 0;
    for (int s = 0; s < f->n_steps; s++) {
        double arg[3];
        for (int i = 0; i < 3; i++) {
            int at = f->step[s].arg[i];
            arg[i] = at < f->n_vars ? var[at] : bound[at - f->n_vars];
        }
        negative = negative || !keeps_sign(&f->step[s]);
        last = bound[s] = bound_of(&f->step[s], arg[0], arg[1], arg[2]);
        if (!negative && range_of(f->step[s].fn) > 0) last = bound[s] = fmin(arg[0], last);
        if (last > *worst) *worst = last;
    }
    return last;
}

/* What one point contributes. */
static double point_bound(const tw_op *op, const double *var, bool negative, double *worst)
{
    double bound = op->compute == TW_MULTIPLY_ADD ? 1 : 0;
    if (op->value) return formula_bound(op->value, var, negative, worst);
    for (int o = 0; o < tw_op_output(op); o++)
        bound = op->compute == TW_MULTIPLY_ADD ? bound * var[o] : bound + var[o];
    return bound;
}

static double sum_bound(const tw_op *op, double point)
{
    double points = 1;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) points *= (double)op->loop[l].extent;
    switch (op->compute) {
    case TW_MULTIPLY_ADD:
    case TW_ADD: return point * points;
    case TW_PRODUCT: return pow(point > 1 ? point : 1, points);
    default: return point;
    }
}

bool tw_run_is_exact(const tw_model *graph, const tw_op *op, const tw_given *given)
{
    const tw_tensor *out = &graph->tensor[tw_op_written(op, 0)];
    double var[TW_MAX_OPERANDS + TW_MAX_HELD] = {0}, worst = 0;
    int n = tw_op_output(op);
    bool exact_inputs = true, negative = false;
    for (int o = 0; o < n; o++) {
        var[o] = largest(given->input[o], tw_operand_elems(&op->operand[o]), &negative);
        if (is_whole(graph->tensor[op->operand[o].tensor].dtype)) exact_inputs = exact_inputs && var[o] < exact;
    }
    for (int h = 0; h < op->n_held; h++)
        var[n + h] =
            largest(given->held[h], op->held[h].loop < 0 ? 1 : op->loop[op->held[h].loop].extent, &negative);
    if (!exact_inputs || !is_whole(out->dtype)) return exact_inputs;
    double sum = sum_bound(op, point_bound(op, var, negative, &worst));
    if (op->finish) {
        double finish[1 + TW_MAX_HELD] = {sum};
        for (int h = 0; h < op->n_held; h++) finish[1 + h] = var[n + h];
        formula_bound(op->finish, finish, negative, &worst);
    }
    return worst < exact && sum < exact;
}
