/* src/model/running.c - which reductions of a group can run along a loop of its driver: see running.h.
 *
 * First the loops: backwards through the tensors, from the driver's loop to the axis that it moves, and from there to the loops of whoever makes
 * or reads that axis. Then, forwards, how everything changes when the references do. */
#include "model/running.h"

/* REFERENCE: made of references and constants alone, so that it both shifts and scales what it meets. */
typedef enum how { CONSTANT, FREE, SHIFTED, SCALED, REFERENCE, OTHERWISE } how;

typedef struct change { /* of a number when references change */
    how how;
    unsigned by; /* the references, as bits of operators */
} change;

typedef struct analysis {
    const tw_model *model;
    const tw_op *const *op;
    int n;
    int64_t extent; /* of the loop */
    tw_running *out;
    change made[TW_RUNNING_OPS]; /* what each operator makes */
    int where;
    const char *why;
} analysis;

static bool refuse(analysis *a, int k, const char *why)
{
    a->where = k;
    a->why = why;
    return false;
}

static int maker_of(const analysis *a, int tensor)
{
    for (int k = 0; k < a->n; k++)
        if (a->op[k]->operand[tw_op_output(a->op[k])].tensor == tensor) return k;
    return -1;
}

/* ---- loops ---- */

/* Whether position and index are the same along the axis; *loop is the loop. */
static bool is_plain(const analysis *a, const tw_axis *axis, int *loop)
{
    bool plain = axis->n_terms == 1 && axis->term[0].coef == 1 && axis->offset == 0 && axis->divisor <= 1;
    *loop = plain ? axis->term[0].loop : -1;
    return plain && axis->extent == a->extent;
}

/* Operator k goes along with its loop `loop`; *more: that is new. */
static bool take_loop(analysis *a, int k, int loop, bool *more)
{
    if (a->out->loop[k] == loop) return true;
    if (a->out->loop[k] >= 0) return refuse(a, k, "two of its loops would go along with the one that is cut");
    if (a->op[k]->loop[loop].extent != a->extent) return refuse(a, k, "its loop has another length");
    a->out->loop[k] = (int8_t)loop;
    *more = true;
    return true;
}

/* Everybody who makes or reads the axis of a tensor goes along with it. */
static bool follow_axis(analysis *a, int tensor, int axis, bool *more)
{
    for (int k = 0; k < a->n; k++)
        for (int o = 0; o < a->op[k]->n_operands; o++) {
            int loop;
            if (a->op[k]->operand[o].tensor != tensor) continue;
            if (!is_plain(a, &a->op[k]->operand[o].axis[axis], &loop))
                return refuse(a, k, "it reads or makes more than one position at once");
            if (!take_loop(a, k, loop, more)) return false;
        }
    return true;
}

static bool find_loops(analysis *a)
{
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < a->n; k++)
            for (int o = 0; o < a->op[k]->n_operands && a->out->loop[k] >= 0; o++) {
                const tw_operand *operand = &a->op[k]->operand[o];
                for (int x = 0; x < operand->n_axes && maker_of(a, operand->tensor) >= 0; x++)
                    if (tw_axis_has_loop(&operand->axis[x], a->out->loop[k]) &&
                        !follow_axis(a, operand->tensor, x, &more))
                        return false;
            }
    }
    for (int k = 0; k < a->n; k++)
        if (a->out->loop[k] >= 0 && a->op[k]->loop[a->out->loop[k]].reduces) a->out->runs |= 1u << k;
    return true;
}

/* ---- changes ---- */

static bool is_still(change c) { return c.how == CONSTANT || c.how == FREE; }
static bool can_scale(change c) { return is_still(c) || c.how == SCALED || c.how == REFERENCE; }
static bool can_shift(change c) { return is_still(c) || c.how == SHIFTED || c.how == REFERENCE; }

/* Whether there is nothing of the loop in it. */
static bool is_apart(change c) { return c.how == CONSTANT || c.how == REFERENCE; }

/* Of two numbers that are added, or multiplied. */
static change join(change a, change b, bool multiplied)
{
    change c = {OTHERWISE, a.by | b.by};
    if (is_still(a) && is_still(b))
        c.how = a.how == FREE || b.how == FREE ? FREE : CONSTANT;
    else if (is_apart(a) && is_apart(b))
        c.how = REFERENCE;
    else if (!multiplied)
        c.how = can_shift(a) && can_shift(b) ? SHIFTED : OTHERWISE;
    else if (can_scale(a) && can_scale(b))
        c.how = SCALED;
    else if ((a.how == SHIFTED && b.how == CONSTANT) || (b.how == SHIFTED && a.how == CONSTANT))
        c.how = SHIFTED;
    return c;
}

static change quotient(change a, change b)
{
    return b.how == SHIFTED ? (change){OTHERWISE, a.by | b.by} : join(a, b, true);
}

static change change_of_step(const tw_formula_step *step, const change *arg)
{
    change a = arg[0];
    switch (step->fn) {
    case TW_FN_CONSTANT: return (change){CONSTANT, 0};
    case TW_FN_ADD:
    case TW_FN_SUBTRACT: return join(a, arg[1], false);
    case TW_FN_MULTIPLY: return join(a, arg[1], true);
    case TW_FN_DIVIDE: return quotient(a, arg[1]);
    case TW_FN_NEGATE: return a;
    case TW_FN_RECIPROCAL: return can_scale(a) ? join(a, (change){CONSTANT, 0}, true) : (change){OTHERWISE, a.by};
    case TW_FN_EXP:
        if (is_still(a) || is_apart(a)) return a;
        return (change){can_shift(a) ? SCALED : OTHERWISE, a.by};
    case TW_FN_F16:
    case TW_FN_BF16:
    case TW_FN_F32: return a; /* but for the last digits */
    default: break;
    }
    static const int n_args[] = {
#define X(id, word, args) args,
        TW_FNS(X)
#undef X
    };
    change all = {CONSTANT, 0};
    bool still = true, apart = true;
    for (int i = 0; i < n_args[step->fn]; i++) {
        all.by |= arg[i].by;
        still = still && is_still(arg[i]);
        apart = apart && is_apart(arg[i]);
        if (arg[i].how == FREE) all.how = FREE;
    }
    if (!still) all.how = apart ? REFERENCE : OTHERWISE;
    return all;
}

static change change_of_formula(const tw_formula *f, const change *var)
{
    change at[TW_MAX_OPERANDS + TW_MAX_HELD + TW_FORMULA_MAX_STEPS];
    for (int v = 0; v < f->n_vars; v++) at[v] = var[v];
    for (int s = 0; s < f->n_steps; s++) {
        change arg[3] = {{CONSTANT, 0}, {CONSTANT, 0}, {CONSTANT, 0}};
        for (int i = 0; i < 3; i++)
            if (f->step[s].arg[i] >= 0 && f->step[s].arg[i] < f->n_vars + s) arg[i] = at[f->step[s].arg[i]];
        at[f->n_vars + s] = change_of_step(&f->step[s], arg);
    }
    return at[f->n_vars + f->n_steps - 1];
}

/* What an operand brings: of what is made in the group how that changes, of all else whether it moves along. */
static change change_of_input(const analysis *a, int k, int o)
{
    const tw_operand *operand = &a->op[k]->operand[o];
    int maker = maker_of(a, operand->tensor), loop = a->out->loop[k];
    if (maker >= 0 && a->made[maker].how > FREE) return a->made[maker];
    return (change){loop >= 0 && (tw_operand_loops(operand) >> loop & 1) ? FREE : CONSTANT, 0};
}

static change change_of_held(const analysis *a, int k, int h)
{
    return (change){a->out->loop[k] >= 0 && a->op[k]->held[h].loop == a->out->loop[k] ? FREE : CONSTANT, 0};
}

/* What a point of the operator contributes. */
static change change_of_points(const analysis *a, int k)
{
    const tw_op *op = a->op[k];
    change var[TW_MAX_OPERANDS + TW_MAX_HELD];
    int n = tw_op_n_variables(op);
    if (n < tw_op_output(op)) return (change){OTHERWISE, 0};
    for (int o = 0; o < n; o++) var[o] = change_of_input(a, k, o);
    for (int h = 0; h < op->n_held; h++) var[n + h] = change_of_held(a, k, h);
    if (op->value) return change_of_formula(op->value, var);
    change all = var[0];
    for (int o = 1; o < n; o++) all = join(all, var[o], op->compute == TW_MULTIPLY_ADD);
    return all;
}

static change finished(const analysis *a, int k, change sum)
{
    const tw_op *op = a->op[k];
    change var[1 + TW_MAX_HELD];
    if (!op->finish) return sum;
    var[0] = sum;
    for (int h = 0; h < op->n_held; h++) var[1 + h] = change_of_held(a, k, h);
    return change_of_formula(op->finish, var);
}

static bool adds_up(const tw_op *op) { return op->compute == TW_ADD || op->compute == TW_MULTIPLY_ADD; }

/* Sums are kept, and changed, as floats of the type in which others see them. */
static bool check_floats(analysis *a, int k)
{
    const tw_op *op = a->op[k];
    tw_dtype dtype = a->model->tensor[op->operand[tw_op_output(op)].tensor].dtype;
    bool drives = k == a->n - 1;
    if (!tw_dtype_is_float(op->accumulator) || !tw_dtype_is_float(dtype))
        return refuse(a, k, "it does not compute with floats");
    if (!drives && op->accumulator != dtype)
        return refuse(a, k, "its sums are of another type than what is read of it");
    if (!drives && op->finish)
        return refuse(a, k, "it changes its sums when they are complete, and others read them before");
    if (op->compute == TW_AVERAGE) return refuse(a, k, "it divides by the number of all points");
    return true;
}

/* An operator that reduces along the loop: what it makes is a reference for those behind it. */
static bool run(analysis *a, int k, change points)
{
    if (!check_floats(a, k)) return false;
    bool scaled = points.how == SCALED || points.how == REFERENCE;
    if (points.how == OTHERWISE || points.how == SHIFTED || (scaled && !adds_up(a->op[k])))
        return refuse(a, k, "what it has added up cannot be rescaled when what it depends on changes");
    a->out->by[k] = scaled ? points.by : 0;
    if (__builtin_popcount(a->out->by[k]) > TW_MAX_OPERANDS) return refuse(a, k, "it has too many references");
    a->out->references |= a->out->by[k];
    a->made[k] = (change){REFERENCE, 1u << k};
    return true;
}

static bool find_change(analysis *a, int k)
{
    const tw_op *op = a->op[k];
    change points = change_of_points(a, k);
    if (a->out->runs >> k & 1) return run(a, k, points);
    if (points.how > FREE && a->out->loop[k] < 0)
        return refuse(a, k, "it reads what changes with every tile, and makes nothing along the loop");
    bool reduces = tw_op_reductions(op) != 0;
    if (reduces && points.how > FREE && (points.how != SCALED || !adds_up(op))) points.how = OTHERWISE;
    a->made[k] = finished(a, k, points);
    if (a->made[k].how == OTHERWISE)
        return refuse(a, k, "what it makes cannot be rescaled when what it depends on changes");
    return true;
}

bool tw_running_of(const tw_model *model, const tw_op *const *op, int n, int loop, tw_running *out, int *where,
                   const char **why)
{
    *out = (tw_running){.runs = 0};
    if (n < 1 || n > TW_RUNNING_OPS) return false;
    analysis a = {.model = model, .op = op, .n = n, .extent = op[n - 1]->loop[loop].extent, .out = out};
    for (int k = 0; k < n; k++) out->loop[k] = -1;
    out->loop[n - 1] = (int8_t)loop;
    bool can = op[n - 1]->loop[loop].reduces || refuse(&a, n - 1, "the loop does not reduce");
    can = can && find_loops(&a);
    for (int k = 0; k < n && can; k++) can = find_change(&a, k);
    *where = a.where;
    *why = a.why;
    return can;
}
