/* src/lower/arith.c - arithmetic of types and of activations as formulas, see build.h. */
#include <math.h>
#include <string.h>

#include "lower/build.h"

/* The function that makes a number one of this type; TW_N_FNS: none is needed or there is none. */
static tw_fn narrowing(tw_onnx_type type)
{
    switch (type) {
    case TW_ONNX_I8: return TW_FN_I8;
    case TW_ONNX_U8: return TW_FN_U8;
    case TW_ONNX_I16: return TW_FN_I16;
    case TW_ONNX_U16: return TW_FN_U16;
    case TW_ONNX_I32: return TW_FN_I32;
    case TW_ONNX_U32: return TW_FN_U32;
    case TW_ONNX_I64: return TW_FN_I64;
    case TW_ONNX_U64: return TW_FN_U64;
    case TW_ONNX_F16: return TW_FN_F16;
    case TW_ONNX_BF16: return TW_FN_BF16;
    case TW_ONNX_F32: return TW_FN_F32;
    default: return TW_N_FNS;
    }
}

int tw_fit(tw_lowering *l, int x, tw_onnx_type type)
{
    return tw_is_float_type(type) || type == TW_ONNX_BOOL ? x : tw_fn1(l, narrowing(type), x);
}

/* What is known about the results of a formula: whether each is a number of the type that `narrow` makes. A variable is one
 * already, as what comes from a tensor is, but for a sum that is not stored yet. */
typedef struct narrowness {
    tw_fn narrow;
    bool sum_first;
    int n_vars;
    bool step[TW_FORMULA_MAX_STEPS];
} narrowness;

static bool is_narrow(const narrowness *n, int x)
{
    return x < n->n_vars ? x > 0 || !n->sum_first : n->step[x - n->n_vars];
}

/* The small whole numbers that every type has. */
static bool is_small(double x) { return x >= 0 && x <= 127 && x == floor(x); }

static bool makes_narrow(const narrowness *n, const tw_formula_step *s)
{
    bool is_float = n->narrow == TW_FN_F32 || n->narrow == TW_FN_F16 || n->narrow == TW_FN_BF16;
    switch (s->fn) {
    case TW_FN_CONSTANT: return is_small(s->constant);
    case TW_FN_ISNAN:
    case TW_FN_ISINF:
    case TW_FN_NOT:
    case TW_FN_AND:
    case TW_FN_OR:
    case TW_FN_XOR:
    case TW_FN_EQUAL:
    case TW_FN_LESS:
    case TW_FN_LESS_EQUAL:
    case TW_FN_PRESENT: return true;
    case TW_FN_MIN:
    case TW_FN_MAX: return is_narrow(n, s->arg[0]) && is_narrow(n, s->arg[1]);
    case TW_FN_SELECT: return is_narrow(n, s->arg[1]) && is_narrow(n, s->arg[2]);
    case TW_FN_ABS:
    case TW_FN_NEGATE:
    case TW_FN_CEIL:
    case TW_FN_FLOOR:
    case TW_FN_ROUND: return is_float && is_narrow(n, s->arg[0]);
    case TW_FN_F16:
    case TW_FN_BF16: return n->narrow == TW_FN_F32 || s->fn == n->narrow;
    default: return s->fn == n->narrow;
    }
}

static bool is_of_type(const tw_lowering *l, int x, tw_fn narrow)
{
    const tw_formula_draft *f = l->f;
    narrowness n = {.narrow = narrow, .sum_first = f == &l->nest.finish, .n_vars = f->n_vars};
    for (int s = 0; s <= x - f->n_vars; s++) n.step[s] = makes_narrow(&n, &f->step[s]);
    return is_narrow(&n, x);
}

int tw_rounded(tw_lowering *l, int x, tw_onnx_type type)
{
    tw_fn narrow = narrowing(type);
    bool nothing = narrow == TW_N_FNS || l->f->failed || x < 0 || is_of_type(l, x, narrow);
    return nothing ? x : tw_fn1(l, narrow, x);
}

/* Whether every value of `from` is one of `to`. */
static bool holds_all(tw_onnx_type from, tw_onnx_type to)
{
    bool from_float = tw_is_float_type(from), to_float = tw_is_float_type(to);
    if (from == to || to == TW_ONNX_F64) return true;
    if (from_float) return to == TW_ONNX_F32 && from != TW_ONNX_F64;
    if (from == TW_ONNX_BOOL) return true;
    if (to_float) return false;
    return tw_type_lowest(to) <= tw_type_lowest(from) && tw_type_highest(to) >= tw_type_highest(from);
}

int tw_cast(tw_lowering *l, int x, tw_onnx_type from, tw_onnx_type to)
{
    x = tw_rounded(l, x, from);
    if (to == TW_ONNX_BOOL)
        return from == TW_ONNX_BOOL ? x : tw_fn1(l, TW_FN_NOT, tw_fn2(l, TW_FN_EQUAL, x, tw_num(l, 0)));
    return holds_all(from, to) ? x : tw_fn1(l, narrowing(to), x);
}

int tw_quantize(tw_lowering *l, int x, int zero, tw_onnx_type type)
{
    int q = tw_fn1(l, TW_FN_ROUND, x);
    if (zero >= 0) q = tw_plus(l, q, zero);
    q = tw_fn2(l, TW_FN_MAX, q, tw_num(l, tw_type_lowest(type)));
    return tw_fn2(l, TW_FN_MIN, q, tw_num(l, tw_type_highest(type)));
}

int tw_dequantize(tw_lowering *l, int x, int scale, int zero)
{
    return tw_times(l, zero < 0 ? x : tw_minus(l, x, zero), scale);
}

/* ---- activations ---- */

static int relu(tw_lowering *l, int x, double a, double b)
{
    (void)a, (void)b;
    return tw_fn2(l, TW_FN_MAX, x, tw_num(l, 0));
}

static int sigmoid(tw_lowering *l, int x, double a, double b)
{
    (void)a, (void)b;
    return tw_fn1(l, TW_FN_SIGMOID, x);
}

static int hyperbolic(tw_lowering *l, int x, double a, double b)
{
    (void)a, (void)b;
    return tw_fn1(l, TW_FN_TANH, x);
}

static int is_negative(tw_lowering *l, int x) { return tw_fn2(l, TW_FN_LESS, x, tw_num(l, 0)); }

static int leaky_relu(tw_lowering *l, int x, double a, double b)
{
    (void)b;
    return tw_choose(l, is_negative(l, x), tw_times(l, x, tw_num(l, a)), x);
}

static int thresholded_relu(tw_lowering *l, int x, double a, double b)
{
    (void)b;
    return tw_choose(l, tw_fn2(l, TW_FN_LESS, tw_num(l, a), x), x, tw_num(l, 0));
}

static int elu(tw_lowering *l, int x, double a, double b)
{
    (void)b;
    return tw_choose(l, is_negative(l, x), tw_times(l, tw_fn1(l, TW_FN_EXPM1, x), tw_num(l, a)), x);
}

static int hard_sigmoid(tw_lowering *l, int x, double a, double b)
{
    int line = tw_plus(l, tw_times(l, x, tw_num(l, a)), tw_num(l, b));
    return tw_fn2(l, TW_FN_MIN, tw_fn2(l, TW_FN_MAX, line, tw_num(l, 0)), tw_num(l, 1));
}

static int scaled_tanh(tw_lowering *l, int x, double a, double b)
{
    return tw_times(l, tw_fn1(l, TW_FN_TANH, tw_times(l, x, tw_num(l, b))), tw_num(l, a));
}

static int affine(tw_lowering *l, int x, double a, double b)
{
    return tw_plus(l, tw_times(l, x, tw_num(l, a)), tw_num(l, b));
}

static int softsign(tw_lowering *l, int x, double a, double b)
{
    (void)a, (void)b;
    return tw_over(l, x, tw_plus(l, tw_fn1(l, TW_FN_ABS, x), tw_num(l, 1)));
}

/* log(1 + exp(x)) without leaving the range. */
static int softplus(tw_lowering *l, int x, double a, double b)
{
    (void)a, (void)b;
    int tail = tw_fn1(l, TW_FN_EXP, tw_fn1(l, TW_FN_NEGATE, tw_fn1(l, TW_FN_ABS, x)));
    return tw_plus(l, tw_fn2(l, TW_FN_MAX, x, tw_num(l, 0)), tw_fn1(l, TW_FN_LOG1P, tail));
}

static int clipped(tw_lowering *l, int x, double a, double b)
{
    return tw_fn2(l, TW_FN_MIN, tw_fn2(l, TW_FN_MAX, x, tw_num(l, a)), tw_num(l, b));
}

static const struct {
    const char *name;
    int (*emit)(tw_lowering *l, int x, double a, double b);
    float alpha, beta; /* when they are not said */
} activations[] = {
    {"Relu", relu, 0, 0},
    {"Sigmoid", sigmoid, 0, 0},
    {"Tanh", hyperbolic, 0, 0},
    {"LeakyRelu", leaky_relu, 0.01F, 0},
    {"ThresholdedRelu", thresholded_relu, 1, 0},
    {"Elu", elu, 1, 0},
    {"HardSigmoid", hard_sigmoid, 0.2F, 0.5F},
    {"ScaledTanh", scaled_tanh, 1, 1},
    {"Affine", affine, 1, 0},
    {"Softsign", softsign, 0, 0},
    {"Softplus", softplus, 0, 0},
    {"Clip", clipped, -INFINITY, INFINITY},
};

int tw_activation(tw_lowering *l, const char *name, int x, const float *alpha, const float *beta)
{
    for (size_t i = 0; i < TW_COUNT(activations); i++)
        if (tw_same_word(activations[i].name, name))
            return activations[i].emit(l, x, (double)(alpha ? *alpha : activations[i].alpha),
                                       (double)(beta ? *beta : activations[i].beta));
    tw_refuse(l, "an activation that is not described");
    return -1;
}
