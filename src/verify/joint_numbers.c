/* src/verify/joint_numbers.c - see joint_runner.h: what the numbers are, and what they should be in the end. */
#include "verify/joint_runner.h"
#include "verify/shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- drawing ---- */

static bool reads(const tw_op *op, int tensor)
{
    for (int o = 0; o < tw_op_output(op); o++)
        if (op->operand[o].tensor == tensor) return true;
    return false;
}

/* Numbers that suit one more reader. */
static void suit(tw_draw *sum, const tw_draw *more, bool thins)
{
    sum->amplitude = tw_max(1, tw_min(sum->amplitude, more->amplitude));
    sum->positive |= more->positive;
    if (more->factors) sum->factors = true;
    if ((thins || more->factors) && more->density < sum->density) sum->density = more->density;
}

static tw_draw draw_for(const tw_joint_judge *j, int tensor)
{
    tw_draw sum = {.amplitude = 4, .scale = 1, .density = 1};
    for (int i = 0; i < j->in.model->n_ops; i++) {
        const tw_op *op = &j->in.model->op[i];
        if (reads(op, tensor)) suit(&sum, &j->runner->op[i].like.draw, op->operand[0].tensor == tensor);
    }
    return sum;
}

static double draw_one(const tw_draw *d, tw_dtype dtype, uint64_t *state)
{
    uint64_t r = tw_random_next(state);
    int64_t a = d->amplitude;
    bool positive = d->positive || tw_numbers_lowest(dtype) == 0;
    bool in_share = d->density >= 1 || (double)(tw_random_next(state) >> 11) * 0x1p-53 < d->density;
    if (dtype == TW_DTYPE_BOOL) return (double)(r & 1);
    if (d->factors) return in_share && a > 1 ? 2 : positive || r & 1 ? 1 : -1;
    if (!in_share) return 0;
    return (double)(positive ? (int64_t)(r % (uint64_t)(2 * a)) : (int64_t)(r % (uint64_t)(2 * a + 1)) - a);
}

void tw_joint_tame(const tw_joint_judge *j, int tensor, double *value, int64_t n)
{
    tw_dtype dtype = j->in.model->tensor[tensor].dtype;
    for (int64_t i = 0; i < n; i++) {
        uint64_t state = 0;
        double x = value[i] == 0 ? 0 : value[i];
        if (!isnan(x)) memcpy(&state, &x, sizeof state);
        state ^= j->in.seed;
        value[i] = draw_one(&j->runner->stock[tensor].draw, dtype, &state);
    }
}

static tw_status draw_held(tw_joint_judge *j, int number)
{
    tw_joint_maths *m = &j->runner->op[number];
    for (int h = 0; h < m->like.op.n_held; h++) {
        int loop = m->like.op.held[h].loop;
        int64_t n = loop < 0 ? 1 : m->like.op.loop[loop].extent;
        double *value;
        TW_ALLOC(j->arena, value, n);
        tw_draw_held(h, j->in.seed + (uint64_t)number, n, value);
        m->like.value.held[h] = value;
    }
    return TW_OK;
}

static tw_status init_op(tw_joint_judge *j, int number)
{
    tw_joint_maths *m = &j->runner->op[number];
    m->like.op = j->in.model->op[number];
    m->like.value.deadline = j->in.deadline;
    if (m->like.op.compute == TW_AVERAGE) {
        m->divisor = tw_numbers_divisors(&m->like.op, j->arena);
        if (!m->divisor) return TW_ERR_NOMEM;
    }
    m->like.draw = tw_draw_of(j->in.model, &m->like.op, m->divisor);
    m->like.value.bound = m->like.draw.bound;
    m->like.value.positive = m->like.draw.positive;
    return draw_held(j, number);
}

static tw_status init_tensor(tw_joint_judge *j, int tensor)
{
    tw_joint_stock *s = &j->runner->stock[tensor];
    int64_t n = tw_tensor_elems(&j->in.model->tensor[tensor]);
    s->draw = draw_for(j, tensor);
    for (int i = 0; i < j->in.model->n_ops; i++) s->is_read |= reads(&j->in.model->op[i], tensor);
    if (j->tensor[tensor].inside) return TW_OK;
    TW_ALLOC(j->arena, s->value, n);
    if (j->tensor[tensor].maker >= 0) {
        TW_ALLOC(j->arena, s->stored, n);
        return TW_OK;
    }
    uint64_t state = j->in.seed + (uint64_t)tensor * UINT64_C(0x632be59bd9b4e019);
    for (int64_t i = 0; i < n; i++) s->value[i] = draw_one(&s->draw, j->in.model->tensor[tensor].dtype, &state);
    return TW_OK;
}

tw_status tw_joint_draw(tw_joint_judge *j)
{
    for (int i = 0; i < j->in.model->n_ops; i++) TW_TRY(init_op(j, i));
    for (int t = 0; t < j->in.model->n_tensors; t++) TW_TRY(init_tensor(j, t));
    return TW_OK;
}

/* ---- completing ---- */

int64_t tw_joint_round(tw_dtype dtype, double *value, int64_t n)
{
    uint8_t bytes[8];
    for (int64_t i = 0; i < n; i++) {
        if (tw_numbers_pack(dtype, &value[i], 1, bytes) < 1) return i;
        tw_numbers_unpack(dtype, bytes, 1, &value[i]);
    }
    return n;
}

static void divide(const tw_joint_maths *m, const tw_region *region, double *value)
{
    const tw_operand *out = &m->like.op.operand[tw_op_output(&m->like.op)];
    tw_region whole = tw_verify_whole(out);
    tw_runs r = tw_runs_of(out, region, &whole, 1);
    do {
        const double *by = m->divisor + tw_runs_offset(&r);
        for (int64_t i = 0; i < r.bytes; i++) value[i] /= by[i];
        value += r.bytes;
    } while (tw_runs_next(&r));
}

int64_t tw_joint_complete(const tw_joint_judge *j, int op, const tw_region *region, double *value, int64_t n)
{
    tw_joint_maths *m = &j->runner->op[op];
    int tensor = m->like.op.operand[tw_op_output(&m->like.op)].tensor;
    tw_execution s = {.e = &m->like};
    if (m->divisor) divide(m, region, value);
    if (m->like.op.finish) {
        int64_t fits = tw_joint_round(m->like.op.accumulator, value, n);
        if (fits < n) return fits;
        tw_compute_finish(&s, region, value);
    }
    int64_t fits = tw_joint_round(j->in.model->tensor[tensor].dtype, value, n);
    if (fits == n && j->tensor[tensor].inside) tw_joint_tame(j, tensor, value, n);
    return fits;
}

/* ---- the reference ---- */

enum { AT_MAX = 96 };
static const char *coordinates(const tw_operand *shape, int64_t at, char text[AT_MAX])
{
    int64_t position[TW_MAX_AXES];
    size_t n = 0;
    for (int a = shape->n_axes - 1; a >= 0; a--) {
        position[a] = at % shape->axis[a].extent;
        at /= shape->axis[a].extent;
    }
    text[0] = 0;
    for (int a = 0; a < shape->n_axes && n < AT_MAX; a++)
        n += (size_t)snprintf(text + n, AT_MAX - n, "%s%" PRId64, a ? ", " : "", position[a]);
    return text;
}

static void compare(tw_joint_judge *j, int tensor, const double *should, int64_t n)
{
    const tw_joint_stock *s = &j->runner->stock[tensor];
    const char *name = j->in.model->tensor[tensor].name;
    char at[AT_MAX];
    for (int64_t i = 0; i < n && !j->fault.set; i++) {
        const double x = s->value[i], y = should[i];
        if (!s->stored[i])
            tw_fault_set(&j->fault, "element (%s) of '%s' is never stored",
                         coordinates(&j->tensor[tensor].shape, i, at), name);
        else if (x != y && !(isnan(x) && isnan(y)))
            tw_fault_set(&j->fault, "element (%s) of '%s' is %.9g, should be %.9g",
                         coordinates(&j->tensor[tensor].shape, i, at), name, x, y);
    }
}

/* What the operator makes of the tensors as they should be; `is` gets its output as the others read it. */
/* Whether there is time for a reference that does not look at the deadline. */
static bool is_quick(const tw_joint_judge *j, const tw_op *op)
{
    static const double points_per_second = 2e9;
    return (double)tw_op_points(op) < points_per_second * tw_deadline_left(j->in.deadline);
}

static tw_status refer_to(tw_joint_judge *j, int number, double **is, const char **who, int64_t *elements)
{
    const tw_op *op = &j->in.model->op[number];
    const tw_joint_maths *m = &j->runner->op[number];
    int tensor = op->operand[tw_op_output(op)].tensor;
    int64_t n = tw_tensor_elems(&j->in.model->tensor[tensor]);
    tw_reference_case c = {.model = j->in.model, .op = op, .deadline = j->in.deadline};
    for (int o = 0; o < tw_op_output(op); o++) c.input[o] = is[op->operand[o].tensor];
    memcpy(c.held, m->like.value.held, sizeof c.held);
    c.bound = m->like.value.bound;
    c.positive = m->like.value.positive;
    TW_ALLOC(j->arena, is[tensor], n);
    *who = j->in.reference && is_quick(j, op) ? j->in.reference(j->in.user, &c, is[tensor]) : NULL;
    if (!*who) *who = tw_reference_direct(NULL, &c, is[tensor]);
    if (!*who) return TW_ERR_NOMEM;
    int64_t fits = tw_joint_round(j->in.model->tensor[tensor].dtype, is[tensor], n);
    if (fits < n)
        tw_fault_set(&j->fault, "'%s' makes the value %g, which type %s does not hold", op->name, is[tensor][fits],
                     tw_dtype_name(j->in.model->tensor[tensor].dtype));
    else if (!j->tensor[tensor].inside)
        compare(j, tensor, is[tensor], n);
    if (!j->tensor[tensor].inside) *elements += n;
    if (j->runner->stock[tensor].is_read) tw_joint_tame(j, tensor, is[tensor], n);
    return TW_OK;
}

tw_status tw_joint_refer(tw_joint_judge *j, const char **who, int64_t *elements)
{
    double **is;
    TW_ALLOC(j->arena, is, j->in.model->n_tensors);
    for (int t = 0; t < j->in.model->n_tensors; t++)
        if (j->tensor[t].maker < 0) is[t] = j->runner->stock[t].value;
    for (int i = 0; i < j->in.model->n_ops && !j->fault.set; i++) TW_TRY(refer_to(j, i, is, who, elements));
    return TW_OK;
}
