/* src/model/formula.c - building, checking and evaluating formulas, see formula.h.
 *
 * A finished formula has one form: its steps stand in the order in which the result asks for them, left to right, and no
 * two are the same. So formulas that compute the same in the same way are equal, and texts read back as what was
 * printed. */
#include "model/formula.h"

#include <math.h>
#include <string.h>

enum { MAX_VARS = 32 }; /* bits of `present` */

static int arity(tw_fn fn)
{
    static const int8_t args[TW_N_FNS] = {
#define X(id, word, n) n,
        TW_FNS(X)
#undef X
    };
    return args[fn];
}

/* ---- building ---- */

static int add_step(tw_formula_draft *d, tw_formula_step step)
{
    if (d->n_steps == TW_FORMULA_MAX_STEPS) d->failed = true;
    if (d->failed) return 0;
    d->step[d->n_steps] = step;
    return d->n_vars + d->n_steps++;
}

int tw_formula_constant(tw_formula_draft *d, double value)
{
    return add_step(d, (tw_formula_step){.fn = TW_FN_CONSTANT, .constant = isnan(value) ? (double)NAN : value});
}

int tw_formula_call(tw_formula_draft *d, tw_fn fn, int a, int b, int c)
{
    int given[3] = {a, b, c};
    tw_formula_step step = {.fn = fn};
    for (int i = 0; i < arity(fn); i++) step.arg[i] = given[i];
    return add_step(d, step);
}

static bool same_step(const tw_formula_step *a, const tw_formula_step *b)
{
    return a->fn == b->fn && memcmp(a->arg, b->arg, sizeof a->arg) == 0 &&
           memcmp(&a->constant, &b->constant, sizeof a->constant) == 0; /* NOLINT: bits */
}

/* The steps that the result needs, moved one by one. */
typedef struct mover {
    const tw_formula_draft *from;
    int moved[TW_FORMULA_MAX_STEPS]; /* where a step went, -1: not yet */
    int n;
    tw_formula_step *to;
} mover;

static int move_step(mover *m, int value)
{
    int n_vars = m->from->n_vars, at = 0;
    if (value < n_vars) return value;
    tw_formula_step step = m->from->step[value - n_vars];
    int *moved = &m->moved[value - n_vars];
    if (*moved >= 0) return *moved;
    for (int i = 0; i < arity(step.fn); i++) step.arg[i] = move_step(m, step.arg[i]);
    while (at < m->n && !same_step(&m->to[at], &step)) at++;
    if (at == m->n) m->to[m->n++] = step;
    return *moved = n_vars + at;
}

const tw_formula *tw_formula_finish(tw_formula_draft *d, int result, tw_arena *arena)
{
    if (result < d->n_vars) result = tw_formula_call(d, TW_FN_MULTIPLY, result, tw_formula_constant(d, 1), 0);
    tw_formula all = {d->n_vars, result - d->n_vars + 1, d->step};
    if (d->failed || result >= d->n_vars + d->n_steps || !tw_formula_check(&all)) return NULL;
    tw_formula *f = TW_NEW(arena, tw_formula, 1);
    mover m = {.from = d, .to = TW_NEW(arena, tw_formula_step, d->n_steps)};
    if (!f || !m.to) return NULL;
    memset(m.moved, -1, sizeof m.moved);
    (void)move_step(&m, result);
    *f = (tw_formula){d->n_vars, m.n, m.to};
    return f;
}

bool tw_formula_check(const tw_formula *f)
{
    if (f->n_vars < 0 || f->n_vars > MAX_VARS || f->n_steps < 1 || f->n_steps > TW_FORMULA_MAX_STEPS) return false;
    for (int s = 0; s < f->n_steps; s++) {
        const tw_formula_step *step = &f->step[s];
        if ((unsigned)step->fn >= TW_N_FNS) return false;
        int end = step->fn == TW_FN_PRESENT ? f->n_vars : f->n_vars + s;
        for (int i = 0; i < arity(step->fn); i++)
            if (step->arg[i] < 0 || step->arg[i] >= end) return false;
    }
    return true;
}

bool tw_formula_equal(const tw_formula *a, const tw_formula *b)
{
    if (!a || !b) return a == b;
    bool same = a->n_vars == b->n_vars && a->n_steps == b->n_steps;
    for (int s = 0; same && s < a->n_steps; s++) same = same_step(&a->step[s], &b->step[s]);
    return same;
}

/* ---- arithmetic ---- */

static double quotient(double x, double y)
{
    if (y == 0) return 0;
    bool whole = fabs(x) < 0x1p62 && fabs(y) < 0x1p62 && x == rint(x) && y == rint(y);
    return whole ? (double)((int64_t)x / (int64_t)y) : trunc(x / y);
}

static double modulo(double x, double y)
{
    if (y == 0) return 0;
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* The 64 low bits of a number without what is behind its point. */
static uint64_t bits(double x)
{
    if (!isfinite(x)) return 0;
    double low = fmod(fabs(trunc(x)), 0x1p64);
    return x < 0 ? 0 - (uint64_t)low : (uint64_t)low;
}

static double shift_left(double x, double y) { return y >= 64 ? 0 : (double)(bits(x) << (bits(y) & 63)); }
static double shift_right(double x, double y) { return y >= 64 ? 0 : (double)(bits(x) >> (bits(y) & 63)); }

/* To the nearest number of a float type with so many digits, down to 2^least; above `most` there is only infinity. */
static double round_float(double x, int digits, int least, double most)
{
    int exponent;
    if (x == 0 || !isfinite(x)) return x;
    (void)frexp(x, &exponent);
    int last = exponent - digits > least ? exponent - digits : least;
    double rounded = ldexp(rint(ldexp(x, -last)), last);
    return fabs(rounded) > most ? copysign(INFINITY, x) : rounded;
}

/* What each function makes of x, y and z. */
#define BODIES(X)                                                                                 \
    X(ADD, x + y)                                                                                 \
    X(SUBTRACT, x - y)                                                                            \
    X(MULTIPLY, x *y)                                                                             \
    X(DIVIDE, x / y)                                                                              \
    X(NEGATE, -x)                                                                                 \
    X(QUOTIENT, quotient(x, y))                                                                   \
    X(MODULO, modulo(x, y))                                                                       \
    X(REMAINDER, fmod(x, y))                                                                      \
    X(POWER, pow(x, y))                                                                           \
    X(MIN, x < y || x != x ? x : y)                                                               \
    X(MAX, x > y || x != x ? x : y)                                                               \
    X(ABS, fabs(x))                                                                               \
    X(SIGN, x > 0 ? 1 : x < 0 ? -1 : x)                                                           \
    X(SQRT, sqrt(x))                                                                              \
    X(RECIPROCAL, 1 / x)                                                                          \
    X(EXP, exp(x))                                                                                \
    X(LOG, log(x))                                                                                \
    X(SIN, sin(x))                                                                                \
    X(COS, cos(x))                                                                                \
    X(TAN, tan(x))                                                                                \
    X(ASIN, asin(x))                                                                              \
    X(ACOS, acos(x))                                                                              \
    X(ATAN, atan(x))                                                                              \
    X(SINH, sinh(x))                                                                              \
    X(COSH, cosh(x))                                                                              \
    X(TANH, tanh(x))                                                                              \
    X(ASINH, asinh(x))                                                                            \
    X(ACOSH, acosh(x))                                                                            \
    X(ATANH, atanh(x))                                                                            \
    X(ERF, erf(x))                                                                                \
    X(SIGMOID, 1 / (1 + exp(-x)))                                                                 \
    X(LOG1P, log1p(x))                                                                            \
    X(EXPM1, expm1(x))                                                                            \
    X(CEIL, ceil(x))                                                                              \
    X(FLOOR, floor(x))                                                                            \
    X(ROUND, rint(x))                                                                             \
    X(TRUNC, trunc(x))                                                                            \
    X(ISNAN, x != x)                                                                              \
    X(ISINF, isinf(x) != 0)                                                                       \
    X(NOT, x == 0)                                                                                \
    X(AND, x != 0 && y != 0)                                                                      \
    X(OR, x != 0 || y != 0)                                                                       \
    X(XOR, (x != 0) != (y != 0))                                                                  \
    X(EQUAL, x == y)                                                                              \
    X(LESS, x < y)                                                                                \
    X(LESS_EQUAL, x <= y)                                                                         \
    X(SELECT, x != 0 ? y : z)                                                                     \
    X(SHIFT_LEFT, shift_left(x, y))                                                               \
    X(SHIFT_RIGHT, shift_right(x, y))                                                             \
    X(BIT_AND, (double)(int64_t)(bits(x) & bits(y)))                                              \
    X(BIT_OR, (double)(int64_t)(bits(x) | bits(y)))                                               \
    X(BIT_XOR, (double)(int64_t)(bits(x) ^ bits(y)))                                              \
    X(I8, (int8_t)bits(x))                                                                        \
    X(U8, (uint8_t)bits(x))                                                                       \
    X(I16, (int16_t)bits(x))                                                                      \
    X(U16, (uint16_t)bits(x))                                                                     \
    X(I32, (int32_t)bits(x))                                                                      \
    X(U32, (uint32_t)bits(x))                                                                     \
    X(I64, fmin((double)(int64_t)bits(x), 0x1.fffffffffffffp62)) /* the last double below 2^63 */ \
    X(U64, fmin((double)bits(x), 0x1.fffffffffffffp63))                                           \
    X(F16, round_float(x, 11, -24, 65504))                                                        \
    X(BF16, round_float(x, 8, -133, 0x1.fep127))                                                  \
    X(F32, (double)(float)x)

static double apply(tw_fn fn, double x, double y, double z)
{
    switch (fn) {
#define X(id, body) \
    case TW_FN_##id: return body;
        BODIES(X)
#undef X
    case TW_FN_CONSTANT:
    case TW_FN_PRESENT:
    case TW_N_FNS: break;
    }
    return 0;
}

double tw_formula_eval(const tw_formula *f, const double *var, unsigned present)
{
    double value[MAX_VARS + TW_FORMULA_MAX_STEPS], *next = value + f->n_vars;
    if (f->n_vars > 0) memcpy(value, var, (size_t)f->n_vars * sizeof *var);
    for (int s = 0; s < f->n_steps; s++, next++) {
        const tw_formula_step *step = &f->step[s];
        if (step->fn == TW_FN_CONSTANT)
            *next = step->constant;
        else if (step->fn == TW_FN_PRESENT)
            *next = present >> step->arg[0] & 1;
        else
            *next = apply(step->fn, value[step->arg[0]], arity(step->fn) > 1 ? value[step->arg[1]] : 0,
                          arity(step->fn) > 2 ? value[step->arg[2]] : 0);
    }
    return next[-1];
}

/* ---- many at once ---- */

enum { CHUNK = 64 }; /* so that all values of a chunk stay near */

static void fill(double x, int n, double *out)
{
    for (int i = 0; i < n; i++) out[i] = x;
}

static void apply_many(tw_fn fn, const double *a, const double *b, const double *c, int n, double *restrict out)
{
    switch (fn) {
#define X(id, body)                              \
    case TW_FN_##id:                             \
        for (int i = 0; i < n; i++) {            \
            double x = a[i], y = b[i], z = c[i]; \
            (void)x, (void)y, (void)z;           \
            out[i] = body;                       \
        }                                        \
        break;
        BODIES(X)
#undef X
    case TW_FN_CONSTANT:
    case TW_FN_PRESENT:
    case TW_N_FNS: break;
    }
}

static void gather(const double *from, int64_t stride, int n, double *out)
{
    for (int i = 0; i < n; i++) out[i] = from[i * stride];
}

/* The variables of many points: see tw_formula_eval_many. */
typedef struct columns {
    const double *const *var;
    const int64_t *stride;
    unsigned present;
} columns;

static void eval_chunk(const tw_formula *f, const columns *in, int64_t first, int n, double *out)
{
    const double *const *var = in->var;
    const int64_t *stride = in->stride;
    double gathered[MAX_VARS][CHUNK], made[TW_FORMULA_MAX_STEPS][CHUNK];
    const double *value[MAX_VARS + TW_FORMULA_MAX_STEPS];
    for (int v = 0; v < f->n_vars; v++) {
        value[v] = stride[v] == 1 ? var[v] + first : gathered[v];
        if (stride[v] != 1) gather(var[v] + first * stride[v], stride[v], n, gathered[v]);
    }
    for (int s = 0; s < f->n_steps; s++) {
        const tw_formula_step *step = &f->step[s];
        double *to = s + 1 == f->n_steps ? out : made[s];
        value[f->n_vars + s] = to;
        if (step->fn == TW_FN_CONSTANT)
            fill(step->constant, n, to);
        else if (step->fn == TW_FN_PRESENT)
            fill(in->present >> step->arg[0] & 1, n, to);
        else
            apply_many(step->fn, value[step->arg[0]], value[step->arg[1]], value[step->arg[2]], n, to);
    }
}

void tw_formula_eval_many(const tw_formula *f, const double *const *var, const int64_t *stride, unsigned present,
                          int64_t n, double *out)
{
    const columns in = {var, stride, present};
    for (int64_t first = 0; first < n; first += CHUNK)
        eval_chunk(f, &in, first, (int)tw_min(CHUNK, n - first), out + first);
}
