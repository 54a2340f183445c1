/* src/reference/unary.c - element-wise operators with one operand: floats in double, integers in int64_t. */
#include "reference/entries.h"

#include <math.h>

typedef double real_function(double x);
typedef int64_t whole_function(int64_t x);

static tw_status map_wholes(const tw_array *x, whole_function *f, tw_arena *arena, tw_array *out)
{
    int64_t *v = tw_array_wholes(x, arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++) v[i] = f(v[i]);
    tw_array_put_wholes(out, v);
    return TW_OK;
}

static tw_status map_reals(const tw_array *x, real_function *f, tw_arena *arena, tw_array *out)
{
    double *v = tw_array_reals(x, arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++) v[i] = f(v[i]);
    tw_array_put_reals(out, v);
    return TW_OK;
}

/* g NULL: integers go through f too. `type` is that of the result, TW_ONNX_NONE: the operand's. */
static tw_status map(const tw_ref_case *c, tw_array *output, real_function *f, whole_function *g, tw_onnx_type type)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (!tw_onnx_is_number(x->type)) return tw_ref_error(c, "elements of type %s", tw_onnx_type_name(x->type));
    TW_TRY(tw_ref_make(c, type == TW_ONNX_NONE ? x->type : type, x->n_dims, x->dim, output));
    if (g && tw_onnx_is_whole(x->type) && x->type != TW_ONNX_U64) return map_wholes(x, g, c->arena, output);
    return map_reals(x, f, c->arena, output);
}

static double reciprocal(double x) { return 1 / x; }
static double negated(double x) { return -x; }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double relu(double x) { return x < 0 ? 0 : x; }
static double is_nan(double x) { return x != x; }
static double is_false(double x) { return x == 0; }
static int64_t whole_abs(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }
static int64_t whole_negated(int64_t x) { return (int64_t)(0 - (uint64_t)x); }
static int64_t whole_relu(int64_t x) { return x < 0 ? 0 : x; }
static int64_t whole_not(int64_t x) { return ~x; }

#define UNARY(X)                          \
    X(Abs, fabs, whole_abs, NONE)         \
    X(Neg, negated, whole_negated, NONE)  \
    X(Sign, sign, NULL, NONE)             \
    X(Relu, relu, whole_relu, NONE)       \
    X(Sqrt, sqrt, NULL, NONE)             \
    X(Reciprocal, reciprocal, NULL, NONE) \
    X(Exp, exp, NULL, NONE)               \
    X(Log, log, NULL, NONE)               \
    X(Sin, sin, NULL, NONE)               \
    X(Cos, cos, NULL, NONE)               \
    X(Tan, tan, NULL, NONE)               \
    X(Asin, asin, NULL, NONE)             \
    X(Acos, acos, NULL, NONE)             \
    X(Atan, atan, NULL, NONE)             \
    X(Sinh, sinh, NULL, NONE)             \
    X(Cosh, cosh, NULL, NONE)             \
    X(Tanh, tanh, NULL, NONE)             \
    X(Asinh, asinh, NULL, NONE)           \
    X(Acosh, acosh, NULL, NONE)           \
    X(Atanh, atanh, NULL, NONE)           \
    X(Erf, erf, NULL, NONE)               \
    X(Ceil, ceil, NULL, NONE)             \
    X(Floor, floor, NULL, NONE)           \
    X(Round, rint, NULL, NONE)            \
    X(IsNaN, is_nan, NULL, BOOL)          \
    X(Not, is_false, NULL, BOOL)

#define X(op, f, g, type)                                             \
    static tw_status run_##op(const tw_ref_case *c, tw_array *output) \
    {                                                                 \
        return map(c, output, f, g, TW_ONNX_##type);                  \
    }
UNARY(X)
#undef X

/* All integer types, u64 included: only the bits count. */
static tw_status run_bitwise_not(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (!tw_onnx_is_whole(x->type)) return tw_ref_error(c, "elements that are not integers");
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    return map_wholes(x, whole_not, c->arena, output);
}

static tw_status run_is_inf(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    bool below = tw_onnx_int(c->node, "detect_negative", 1) != 0,
         above = tw_onnx_int(c->node, "detect_positive", 1) != 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_make(c, TW_ONNX_BOOL, x->n_dims, x->dim, output));
    for (int64_t i = 0; i < x->n; i++) {
        double v = tw_array_get(x, i);
        tw_array_set(output, i, isinf(v) && (v < 0 ? below : above));
    }
    return TW_OK;
}

/* ---- Clip ---- */

static tw_status clip_wholes(const tw_array *x, const tw_array *lo, const tw_array *hi, tw_arena *arena,
                             tw_array *out)
{
    int64_t *v = tw_array_wholes(x, arena);
    uint64_t flip = x->type == TW_ONNX_U64 ? UINT64_C(1) << 63 : 0; /* orders unsigned numbers as signed ones */
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++) {
        int64_t key = (int64_t)((uint64_t)v[i] ^ flip);
        if (lo) key = tw_max(key, (int64_t)((uint64_t)tw_array_get_int(lo, 0) ^ flip));
        if (hi) key = tw_min(key, (int64_t)((uint64_t)tw_array_get_int(hi, 0) ^ flip));
        v[i] = (int64_t)((uint64_t)key ^ flip);
    }
    tw_array_put_wholes(out, v);
    return TW_OK;
}

static tw_status clip_reals(const tw_array *x, double lo, double hi, tw_arena *arena, tw_array *out)
{
    double *v = tw_array_reals(x, arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++) {
        v[i] = v[i] < lo ? lo : v[i];
        v[i] = v[i] > hi ? hi : v[i];
    }
    tw_array_put_reals(out, v);
    return TW_OK;
}

/* Bounds are attributes before opset 11, inputs since. */
static tw_status run_clip(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *lo = tw_ref_input(c, 1), *hi = tw_ref_input(c, 2);
    TW_TRY(tw_ref_need(c, 0, &x));
    if ((lo && lo->n != 1) || (hi && hi->n != 1)) return tw_ref_error(c, "bounds that are not scalars");
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    if (tw_onnx_is_whole(x->type)) return clip_wholes(x, lo, hi, c->arena, output);
    double least = lo ? tw_array_get(lo, 0) : (double)tw_onnx_float(c->node, "min", -INFINITY);
    double most = hi ? tw_array_get(hi, 0) : (double)tw_onnx_float(c->node, "max", INFINITY);
    return clip_reals(x, least, most, c->arena, output);
}

const tw_ref_entry tw_ref_unary[] = {
#define X(op, f, g, type) {#op, "", run_##op},
    UNARY(X)
#undef X
        {"BitwiseNot", "", run_bitwise_not},
    {"IsInf", "", run_is_inf},
    {"Clip", "", run_clip},
    {0},
};
