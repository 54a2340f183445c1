/* src/lower/element.c - element-wise operators: which there are, and what each computes, see build.h. */
#include <math.h>
#include <string.h>

#include "lower/build.h"

typedef const tw_element_call call;

static float attribute(call *c, const char *name, float fallback) { return tw_onnx_float(c->node, name, fallback); }

/* ---- one input ---- */

static int plain(call *c, tw_fn fn) { return tw_fit(c->l, tw_fn1(c->l, fn, c->arg[0]), c->out); }

static int jumping(call *c, tw_fn fn) { return tw_fn1(c->l, fn, tw_rounded(c->l, c->arg[0], c->type[0])); }

/* Activations with alpha and beta as attributes. */
static int activated(call *c, tw_fn fn)
{
    (void)fn;
    const tw_attribute *a = tw_onnx_attribute(c->node, "alpha"), *b = tw_onnx_attribute(c->node, "beta");
    return tw_fit(c->l, tw_activation(c->l, c->node->op, c->arg[0], a ? &a->f : NULL, b ? &b->f : NULL), c->out);
}

static int selu(call *c, tw_fn fn)
{
    (void)fn;
    tw_lowering *l = c->l;
    float alpha = attribute(c, "alpha", 1.67326319217681884765625F);
    float gamma = attribute(c, "gamma", 1.05070102214813232421875F);
    return tw_times(l, tw_activation(l, "Elu", c->arg[0], &alpha, NULL), tw_num(l, (double)gamma));
}

static int celu(call *c, tw_fn fn)
{
    (void)fn;
    tw_lowering *l = c->l;
    float alpha = attribute(c, "alpha", 1);
    int a = tw_num(l, (double)alpha), zero = tw_num(l, 0), x = c->arg[0];
    int low = tw_times(l, a, tw_fn1(l, TW_FN_EXPM1, tw_over(l, x, a)));
    return tw_plus(l, tw_fn2(l, TW_FN_MAX, x, zero), tw_fn2(l, TW_FN_MIN, low, zero));
}

static int hard_swish(call *c, tw_fn fn)
{
    (void)fn;
    float a = 1.0F / 6, b = 0.5F;
    return tw_times(c->l, c->arg[0], tw_activation(c->l, "HardSigmoid", c->arg[0], &a, &b));
}

static int mish(call *c, tw_fn fn)
{
    (void)fn;
    int s = tw_activation(c->l, "Softplus", c->arg[0], NULL, NULL);
    return tw_times(c->l, c->arg[0], tw_fn1(c->l, TW_FN_TANH, s));
}

/* x * sigmoid(alpha * x) */
static int swish(tw_lowering *l, int x, double alpha)
{
    int scaled = alpha == 1 ? x : tw_times(l, x, tw_num(l, alpha));
    return tw_times(l, x, tw_fn1(l, TW_FN_SIGMOID, scaled));
}

static int plain_swish(call *c, tw_fn fn)
{
    (void)fn;
    return swish(c->l, c->arg[0], (double)attribute(c, "alpha", 1));
}

static int shrink(call *c, tw_fn fn)
{
    (void)fn;
    tw_lowering *l = c->l;
    double bias = (double)attribute(c, "bias", 0), lambd = (double)attribute(c, "lambd", 0.5F);
    int x = c->arg[0], b = tw_num(l, bias);
    int up = tw_fn2(l, TW_FN_LESS, tw_num(l, lambd), x), down = tw_fn2(l, TW_FN_LESS, x, tw_num(l, -lambd));
    int y = tw_choose(l, down, tw_plus(l, x, b), tw_choose(l, up, tw_minus(l, x, b), tw_num(l, 0)));
    return tw_fit(l, y, c->out);
}

static int is_inf(call *c, tw_fn fn)
{
    (void)fn;
    tw_lowering *l = c->l;
    bool negative = tw_onnx_int(c->node, "detect_negative", 1),
         positive = tw_onnx_int(c->node, "detect_positive", 1);
    int inf = tw_fn1(l, TW_FN_ISINF, c->arg[0]), zero = tw_num(l, 0);
    if (!negative) inf = tw_fn2(l, TW_FN_AND, inf, tw_fn2(l, TW_FN_LESS, zero, c->arg[0]));
    if (!positive) inf = tw_fn2(l, TW_FN_AND, inf, tw_fn2(l, TW_FN_LESS, c->arg[0], zero));
    return inf;
}

static int erf_gelu(tw_lowering *l, int x)
{
    int e = tw_fn1(l, TW_FN_ERF, tw_times(l, x, tw_num(l, sqrt(0.5))));
    return tw_times(l, tw_times(l, tw_num(l, 0.5), x), tw_plus(l, e, tw_num(l, 1)));
}

static int tanh_gelu(tw_lowering *l, int x)
{
    int cube = tw_times(l, tw_times(l, x, x), tw_times(l, x, tw_num(l, 0.044715)));
    int t = tw_fn1(l, TW_FN_TANH, tw_times(l, tw_num(l, sqrt(2 / M_PI)), tw_plus(l, x, cube)));
    return tw_times(l, tw_times(l, tw_num(l, 0.5), x), tw_plus(l, t, tw_num(l, 1)));
}

static int biased(call *c) { return c->n > 1 && c->arg[1] >= 0 ? tw_plus(c->l, c->arg[0], c->arg[1]) : c->arg[0]; }

static int gelu(call *c, tw_fn fn)
{
    (void)fn;
    bool fast = strcmp(tw_onnx_string(c->node, "approximate", "none"), "tanh") == 0;
    return fast ? tanh_gelu(c->l, c->arg[0]) : erf_gelu(c->l, c->arg[0]);
}

static int bias_gelu(call *c, tw_fn fn)
{
    (void)fn;
    return erf_gelu(c->l, biased(c));
}

static int fast_gelu(call *c, tw_fn fn)
{
    (void)fn;
    return tanh_gelu(c->l, biased(c));
}

static int quick_gelu(call *c, tw_fn fn)
{
    (void)fn;
    return swish(c->l, c->arg[0], (double)attribute(c, "alpha", 1.702F));
}

static int converted(call *c, tw_fn fn)
{
    (void)fn;
    return tw_cast(c->l, c->arg[0], c->type[0], c->out);
}

/* Bounds are attributes in old versions and inputs, which may be left out, in newer ones. */
static int clip(call *c, tw_fn fn)
{
    (void)fn;
    int x = c->arg[0];
    const tw_attribute *low = tw_onnx_attribute(c->node, "min"), *high = tw_onnx_attribute(c->node, "max");
    if (low) x = tw_fn2(c->l, TW_FN_MAX, x, tw_num(c->l, (double)low->f));
    if (high) x = tw_fn2(c->l, TW_FN_MIN, x, tw_num(c->l, (double)high->f));
    if (c->n > 1 && c->arg[1] >= 0) x = tw_fn2(c->l, TW_FN_MAX, x, c->arg[1]);
    if (c->n > 2 && c->arg[2] >= 0) x = tw_fn2(c->l, TW_FN_MIN, x, c->arg[2]);
    return x;
}

/* ---- several inputs ---- */

static int binary(call *c, tw_fn fn) { return tw_fit(c->l, tw_fn2(c->l, fn, c->arg[0], c->arg[1]), c->out); }

static int compared(call *c, tw_fn fn)
{
    tw_lowering *l = c->l;
    return tw_fn2(l, fn, tw_rounded(l, c->arg[0], c->type[0]), tw_rounded(l, c->arg[1], c->type[0]));
}

static int compared_back(call *c, tw_fn fn)
{
    tw_lowering *l = c->l;
    return tw_fn2(l, fn, tw_rounded(l, c->arg[1], c->type[0]), tw_rounded(l, c->arg[0], c->type[0]));
}

static int division(call *c, tw_fn fn)
{
    if (tw_is_float_type(c->out)) return tw_fn2(c->l, fn, c->arg[0], c->arg[1]);
    return tw_fit(c->l, tw_fn2(c->l, TW_FN_QUOTIENT, c->arg[0], c->arg[1]), c->out);
}

static int modulo(call *c, tw_fn fn)
{
    bool as_c = tw_onnx_int(c->node, "fmod", 0) != 0;
    return tw_fit(c->l, tw_fn2(c->l, as_c ? TW_FN_REMAINDER : fn, c->arg[0], c->arg[1]), c->out);
}

static int shift(call *c, tw_fn fn)
{
    bool right = strcmp(tw_onnx_string(c->node, "direction", ""), "RIGHT") == 0;
    return tw_fit(c->l, tw_fn2(c->l, right ? TW_FN_SHIFT_RIGHT : fn, c->arg[0], c->arg[1]), c->out);
}

static int prelu(call *c, tw_fn fn)
{
    tw_lowering *l = c->l;
    int negative = tw_fn2(l, fn, c->arg[0], tw_num(l, 0));
    return tw_fit(l, tw_choose(l, negative, tw_times(l, c->arg[0], c->arg[1]), c->arg[0]), c->out);
}

static int where(call *c, tw_fn fn)
{
    (void)fn;
    return tw_choose(c->l, c->arg[0], c->arg[1], c->arg[2]);
}

static int variadic(call *c, tw_fn fn)
{
    int x = c->arg[0];
    for (int i = 1; i < c->n; i++) x = tw_fn2(c->l, fn, x, c->arg[i]);
    return tw_fit(c->l, x, c->out);
}

static int mean(call *c, tw_fn fn) { return tw_times(c->l, variadic(c, fn), tw_num(c->l, 1.0 / c->n)); }

/* (x - mean) / sqrt(variance + epsilon) * scale + bias */
static int batch_norm(call *c, tw_fn fn)
{
    tw_lowering *l = c->l;
    int deviation = tw_fn1(l, fn, tw_plus(l, c->arg[4], tw_num(l, (double)attribute(c, "epsilon", 1e-5F))));
    int centred = tw_minus(l, c->arg[0], c->arg[3]);
    return tw_plus(l, tw_times(l, centred, tw_over(l, c->arg[1], deviation)), c->arg[2]);
}

/* ---- quantised ---- */

/* Quotients are rounded as floats, as every implementation has them, before they are rounded to integers. */
static int quantize_linear(call *c, tw_fn fn)
{
    int quotient = tw_fn1(c->l, fn, tw_over(c->l, c->arg[0], c->arg[1]));
    return tw_quantize(c->l, quotient, c->n > 2 ? c->arg[2] : -1, c->out);
}

static int dequantize_linear(call *c, tw_fn fn)
{
    (void)fn;
    return tw_dequantize(c->l, c->arg[0], c->arg[1], c->n > 2 ? c->arg[2] : -1);
}

/* A, A_scale, A_zero, B, B_scale, B_zero, C_scale, C_zero */
static int q_binary(call *c, tw_fn fn)
{
    tw_lowering *l = c->l;
    int a = tw_dequantize(l, c->arg[0], c->arg[1], c->arg[2]),
        b = tw_dequantize(l, c->arg[3], c->arg[4], c->arg[5]);
    int y = tw_over(l, tw_fn2(l, fn, a, b), c->arg[6]);
    return tw_quantize(l, y, c->n > 7 ? c->arg[7] : -1, c->out);
}

/* X, X_scale, X_zero, Y_scale, Y_zero */
static int q_activated(call *c, const char *name)
{
    tw_lowering *l = c->l;
    float alpha = attribute(c, "alpha", 0.01F);
    int x = tw_dequantize(l, c->arg[0], c->arg[1], c->arg[2]);
    int y = tw_over(l, tw_activation(l, name, x, &alpha, NULL), c->arg[3]);
    return tw_quantize(l, y, c->n > 4 ? c->arg[4] : -1, c->out);
}

static int q_sigmoid(call *c, tw_fn fn)
{
    (void)fn;
    return q_activated(c, "Sigmoid");
}

static int q_leaky_relu(call *c, tw_fn fn)
{
    (void)fn;
    return q_activated(c, "LeakyRelu");
}

/* ---- the table ---- */

#define MS     "com.microsoft"
#define FN(id) TW_FN_##id
enum { ALL = 99 };
static const tw_element elements[] = {
    {"Abs", "", plain, FN(ABS)},
    {"Neg", "", plain, FN(NEGATE)},
    {"Sqrt", "", plain, FN(SQRT)},
    {"Reciprocal", "", plain, FN(RECIPROCAL)},
    {"Exp", "", plain, FN(EXP)},
    {"Log", "", plain, FN(LOG)},
    {"Sin", "", plain, FN(SIN)},
    {"Cos", "", plain, FN(COS)},
    {"Tan", "", plain, FN(TAN)},
    {"Asin", "", plain, FN(ASIN)},
    {"Acos", "", plain, FN(ACOS)},
    {"Atan", "", plain, FN(ATAN)},
    {"Sinh", "", plain, FN(SINH)},
    {"Cosh", "", plain, FN(COSH)},
    {"Tanh", "", plain, FN(TANH)},
    {"Asinh", "", plain, FN(ASINH)},
    {"Acosh", "", plain, FN(ACOSH)},
    {"Atanh", "", plain, FN(ATANH)},
    {"Erf", "", plain, FN(ERF)},
    {"Sigmoid", "", plain, FN(SIGMOID)},
    {"Ceil", "", jumping, FN(CEIL)},
    {"Floor", "", jumping, FN(FLOOR)},
    {"Round", "", jumping, FN(ROUND)},
    {"Sign", "", plain, FN(SIGN)},
    {"IsNaN", "", plain, FN(ISNAN)},
    {"Not", "", plain, FN(NOT)},
    {"Relu", "", activated, FN(MAX)},
    {"LeakyRelu", "", activated, FN(MAX)},
    {"ThresholdedRelu", "", activated, FN(MAX)},
    {"Elu", "", activated, FN(MAX)},
    {"HardSigmoid", "", activated, FN(MAX)},
    {"Softsign", "", activated, FN(MAX)},
    {"Softplus", "", activated, FN(MAX)},
    {"Selu", "", selu, FN(MAX)},
    {"Celu", "", celu, FN(MAX)},
    {"HardSwish", "", hard_swish, FN(MAX)},
    {"Mish", "", mish, FN(MAX)},
    {"Shrink", "", shrink, FN(MAX)},
    {"IsInf", "", is_inf, FN(ISINF)},
    {"Gelu", NULL, gelu, FN(ERF)}, /* the name says it all: whoever defines it */
    {"QuickGelu", NULL, quick_gelu, FN(SIGMOID)},
    {"Silu", NULL, plain_swish, FN(SIGMOID)},
    {"Swish", NULL, plain_swish, FN(SIGMOID)},
    {"BiasGelu", MS, bias_gelu, FN(ERF), .needs = 2},
    {"FastGelu", MS, fast_gelu, FN(TANH)},
    {"Cast", "", converted, FN(TRUNC), .reads = 1},
    {"CastLike", "", converted, FN(TRUNC), .reads = 1},
    {"Clip", "", clip, FN(MAX)},
    {"Add", "", binary, FN(ADD), .needs = 2},
    {"Sub", "", binary, FN(SUBTRACT), .needs = 2},
    {"Mul", "", binary, FN(MULTIPLY), .needs = 2},
    {"Div", "", division, FN(DIVIDE), .needs = 2},
    {"Pow", "", binary, FN(POWER), .needs = 2},
    {"Mod", "", modulo, FN(MODULO), .needs = 2},
    {"And", "", binary, FN(AND), .needs = 2},
    {"Or", "", binary, FN(OR), .needs = 2},
    {"Xor", "", binary, FN(XOR), .needs = 2},
    {"Equal", "", compared, FN(EQUAL), .needs = 2},
    {"Less", "", compared, FN(LESS), .needs = 2},
    {"LessOrEqual", "", compared, FN(LESS_EQUAL), .needs = 2},
    {"Greater", "", compared_back, FN(LESS), .needs = 2},
    {"GreaterOrEqual", "", compared_back, FN(LESS_EQUAL), .needs = 2},
    {"BitShift", "", shift, FN(SHIFT_LEFT), .needs = 2},
    {"BitwiseAnd", "", binary, FN(BIT_AND), .needs = 2},
    {"BitwiseOr", "", binary, FN(BIT_OR), .needs = 2},
    {"BitwiseXor", "", binary, FN(BIT_XOR), .needs = 2},
    {"PRelu", "", prelu, FN(LESS), .needs = 2},
    {"Where", "", where, FN(SELECT), .needs = 3},
    {"Sum", "", variadic, FN(ADD), .needs = ALL},
    {"Mean", "", mean, FN(ADD), .needs = ALL},
    {"Min", "", variadic, FN(MIN), .needs = ALL},
    {"Max", "", variadic, FN(MAX), .needs = ALL},
    {"BatchNormalization", "", batch_norm, FN(SQRT), .needs = 5, .along = 1},
    {"QuantizeLinear", "", quantize_linear, FN(F32), .needs = 2, .along = 2, .holds = true},
    {"DequantizeLinear", "", dequantize_linear, FN(F32), .needs = 2, .along = 2, .holds = true},
    {"QuantizeLinear", MS, quantize_linear, FN(F32), .needs = 2, .along = 2, .holds = true},
    {"DequantizeLinear", MS, dequantize_linear, FN(F32), .needs = 2, .along = 2, .holds = true},
    {"QLinearAdd", MS, q_binary, FN(ADD), .needs = 7, .holds = true},
    {"QLinearMul", MS, q_binary, FN(MULTIPLY), .needs = 7, .holds = true},
    {"QLinearSigmoid", MS, q_sigmoid, FN(SIGMOID), .needs = 4, .holds = true},
    {"QLinearLeakyRelu", MS, q_leaky_relu, FN(MAX), .needs = 4, .holds = true},
};

static const tw_element *find(const tw_onnx_node *node)
{
    for (const tw_element *e = elements; e < elements + TW_COUNT(elements); e++)
        if (strcmp(e->op, node->op) == 0 && (!e->domain || strcmp(e->domain, node->domain) == 0)) return e;
    return NULL;
}

static bool is_numeric(const tw_lowering *l, int value)
{
    const tw_shape_of_value *shape = tw_shape_of(l, value);
    return shape->known && shape->is_tensor && shape->n_elems > 0 && tw_dtype_of(l, shape->type) != TW_N_DTYPES;
}

/* Variants that are something else under the same name: training, blocks. */
static bool is_variant(const tw_lowering *l, const tw_onnx_node *node)
{
    for (int i = 1; i < node->n_outputs; i++)
        if (tw_is_read(l, node->output[i])) return true;
    return tw_onnx_int(node, "training_mode", 0) != 0 || tw_onnx_int(node, "spatial", 1) == 0 ||
           tw_onnx_int(node, "is_test", 1) == 0 || tw_onnx_int(node, "block_size", 0) != 0;
}

/* Zero points in the middle may be left out, and everything behind what is needed. */
static bool may_miss(const tw_element *e, int i) { return i >= e->needs || (e->holds && (i == 2 || i == 5)); }

const tw_element *tw_element_of(const tw_lowering *l, const tw_onnx_node *node)
{
    const tw_element *e = find(node);
    if (!e || is_variant(l, node) || node->n_inputs < 1 || node->n_inputs > TW_ELEMENT_MAX_INPUTS) return NULL;
    if (node->n_outputs < 1 || node->output[0] < 0 || !is_numeric(l, node->output[0])) return NULL;
    if (e->needs != ALL && node->n_inputs < e->needs) return NULL;
    for (int i = 0; i < node->n_inputs; i++) {
        bool there = node->input[i] >= 0;
        if (there ? !is_numeric(l, node->input[i]) : i == 0 || !may_miss(e, i)) return NULL;
    }
    return e;
}

bool tw_element_reads(const tw_element *e, const tw_onnx_node *node, int i)
{
    return node->input[i] >= 0 && (e->reads == 0 || i < e->reads);
}

/* A vector as [1, C, 1, 1]. */
static tw_seen along_axis(tw_seen vector, int axis, int n_dims)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    for (int d = 0; d < n_dims; d++) dim[d] = d == axis ? tw_elems_of(vector) : 1;
    return tw_reshaped(vector, n_dims, dim);
}

/* Before version 7 the second input of two may begin at a given axis of the first, and slopes lie along axis 1. */
static tw_seen old_broadcast(const tw_lowering *l, const tw_onnx_node *node, tw_seen x, int n_dims)
{
    bool slopes = strcmp(node->op, "PRelu") == 0;
    int64_t axis = slopes ? 1 : tw_onnx_int(node, "axis", -1);
    if (tw_graph_opset(l->file, node->domain) >= 7 || axis < 0 || axis + x.n_dims > n_dims) return x;
    if (!slopes && tw_onnx_int(node, "broadcast", 0) == 0) return x;
    for (int d = x.n_dims; d < n_dims - axis; d++) x.dim[d] = 1;
    x.n_dims = n_dims - (int)axis;
    return x;
}

tw_seen tw_element_input(tw_lowering *l, const tw_element *e, const tw_onnx_node *node, int i)
{
    tw_seen x = tw_see(l, node->input[i]);
    int n_dims = tw_shape_of(l, node->output[0])->n_dims;
    if (i == 0 || x.tensor < 0 || tw_elems_of(x) == 1) return x;
    if (e->along == 0) return old_broadcast(l, node, x, n_dims);
    int64_t axis = e->along == 1 ? 1 : tw_onnx_int(node, "axis", 1);
    if (axis < 0) axis += n_dims;
    if (axis < 0 || axis >= n_dims || x.n_dims != 1) tw_refuse(l, "axis out of range");
    return along_axis(x, (int)axis, n_dims);
}

int tw_element_emit(tw_lowering *l, const tw_element *e, const tw_onnx_node *node, const int *arg)
{
    tw_element_call c = {.l = l,
                         .node = node,
                         .f = l->f,
                         .n = node->n_inputs,
                         .out = tw_shape_of(l, node->output[0])->type,
                         .opset = l->opset};
    for (int i = 0; i < c.n; i++) {
        c.arg[i] = arg[i];
        c.type[i] = node->input[i] < 0 ? TW_ONNX_NONE : tw_shape_of(l, node->input[i])->type;
    }
    return e->emit(&c, e->fn);
}
