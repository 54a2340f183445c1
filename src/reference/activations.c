/* src/reference/activations.c - functions of one number with up to two parameters; recurrent cells name them. */
#include "reference/entries.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define FUNCTION(name, expression)                                                                   \
    static double name(double x, double a __attribute__((unused)), double b __attribute__((unused))) \
    {                                                                                                \
        return expression;                                                                           \
    }

FUNCTION(relu, x < 0 ? 0 : x)
FUNCTION(leaky_relu, x < 0 ? a * x : x)
FUNCTION(thresholded_relu, x > a ? x : 0)
FUNCTION(elu, x < 0 ? a * expm1(x) : x)
FUNCTION(selu, x > 0 ? b * x : b * a * expm1(x))
FUNCTION(celu, x < 0 ? a * expm1(x / a) : x)
FUNCTION(sigmoid, 1 / (1 + exp(-x)))
FUNCTION(hard_sigmoid, fmax(0, fmin(1, a *x + b)))
FUNCTION(hard_swish, x *fmax(0, fmin(1, x / 6 + 0.5)))
FUNCTION(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
FUNCTION(softsign, x / (1 + fabs(x)))
FUNCTION(mish, x *tanh(softplus(x, 0, 0)))
FUNCTION(shrink, x<-a ? x + b : x> a ? x - b : 0)
FUNCTION(hyperbolic, tanh(x))
FUNCTION(scaled_tanh, a *tanh(b *x))
FUNCTION(affine, a *x + b)
FUNCTION(gelu, x * 0.5 * erfc(-x * M_SQRT1_2))
FUNCTION(tanh_gelu, 0.5 * x * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x))))
FUNCTION(quick_gelu, x / (1 + exp(-a * x)))

static const tw_activation list[] = {
    {"Relu", NULL, NULL, 0, 0, relu},
    {"LeakyRelu", "alpha", NULL, 0.01f, 0, leaky_relu},
    {"ThresholdedRelu", "alpha", NULL, 1, 0, thresholded_relu},
    {"Elu", "alpha", NULL, 1, 0, elu},
    {"Selu", "alpha", "gamma", 1.67326319217681884765625, 1.05070102214813232421875, selu},
    {"Celu", "alpha", NULL, 1, 0, celu},
    {"Sigmoid", NULL, NULL, 0, 0, sigmoid},
    {"HardSigmoid", "alpha", "beta", 0.2f, 0.5, hard_sigmoid},
    {"HardSwish", NULL, NULL, 0, 0, hard_swish},
    {"Softplus", NULL, NULL, 0, 0, softplus},
    {"Softsign", NULL, NULL, 0, 0, softsign},
    {"Mish", NULL, NULL, 0, 0, mish},
    {"Shrink", "lambd", "bias", 0.5, 0, shrink},
    {"Gelu", NULL, NULL, 0, 0, gelu},
    {"FastGelu", NULL, NULL, 0, 0, tanh_gelu},
    {"QuickGelu", "alpha", NULL, 1.702f, 0, quick_gelu},
    {"Silu", "alpha", NULL, 1, 0, quick_gelu},
    {"Swish", "alpha", NULL, 1, 0, quick_gelu},
    {"Tanh", NULL, NULL, 0, 0, hyperbolic},
    {"ScaledTanh", "alpha", "beta", 1, 1, scaled_tanh},
    {"Affine", "alpha", "beta", 1, 0, affine},
};

const tw_activation *tw_activation_find(const char *op)
{
    for (size_t i = 0; i < TW_COUNT(list); i++)
        if (tw_same_word(list[i].op, op)) return &list[i];
    return NULL;
}

/* x, plus a bias along the last axis when there is one, through the function. */
static tw_status apply(const tw_ref_case *c, tw_array *output, const tw_activation *f)
{
    const tw_array *x, *bias = tw_ref_input(c, 1);
    TW_TRY(tw_ref_need(c, 0, &x));
    if (!tw_onnx_is_number(x->type)) return tw_ref_error(c, "elements of type %s", tw_onnx_type_name(x->type));
    if (bias && (bias->n_dims != 1 || x->n_dims < 1 || bias->n != x->dim[x->n_dims - 1]))
        return tw_ref_error(c, "the bias does not fit the last axis");
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    double alpha = f->alpha_name ? (double)tw_onnx_float(c->node, f->alpha_name, (float)f->alpha) : 0;
    double beta = f->beta_name ? (double)tw_onnx_float(c->node, f->beta_name, (float)f->beta) : 0;
    double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++)
        v[i] = f->of(v[i] + (bias ? tw_array_get(bias, i % bias->n) : 0), alpha, beta);
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status run_named(const tw_ref_case *c, tw_array *output)
{
    return apply(c, output, tw_activation_find(c->node->op));
}

static tw_status run_gelu(const tw_ref_case *c, tw_array *output)
{
    bool by_tanh = strcmp(tw_onnx_string(c->node, "approximate", "none"), "tanh") == 0;
    return apply(c, output, tw_activation_find(by_tanh ? "FastGelu" : "Gelu"));
}

const tw_ref_entry tw_ref_activations[] = {
    {"LeakyRelu", "", run_named},
    {"ThresholdedRelu", "", run_named},
    {"Elu", "", run_named},
    {"Selu", "", run_named},
    {"Celu", "", run_named},
    {"Sigmoid", "", run_named},
    {"HardSigmoid", "", run_named},
    {"HardSwish", "", run_named},
    {"Softplus", "", run_named},
    {"Softsign", "", run_named},
    {"Mish", "", run_named},
    {"Shrink", "", run_named},
    {"ScaledTanh", "", run_named},
    {"Affine", "", run_named},
    {"BiasGelu", "com.microsoft", run_gelu},
    {"FastGelu", "com.microsoft", run_named},
    {"Gelu", NULL, run_gelu}, /* the name says it all: whoever defines it */
    {"QuickGelu", NULL, run_named},
    {"Silu", NULL, run_named},
    {"Swish", NULL, run_named},
    {0},
};
