/* src/infer/rules_element.c - operators that keep a shape or spread one over another: element-wise arithmetic,
 * comparisons, normalizations. */
#include "infer/rule.h"

#include <string.h>
#include <strings.h>

/* Before version 7 the second input was laid over the first, from an axis on; the result is like the first. */
static tw_status binary(const tw_rule_case *c) { return c->opset < 7 ? tw_rule_same(c) : tw_rule_spread(c); }

/* The slope must not make the output larger than the input. */
static tw_status prelu(const tw_rule_case *c)
{
    tw_dims dims = tw_dims_of(c->in[0]);
    char x[TW_SHAPE_TEXT], slope[TW_SHAPE_TEXT];
    if (c->opset >= 7) {
        TW_TRY(tw_rule_broadcast(c, &dims, c->in[1]->n_dims, c->in[1]->dim));
        if (dims.n != c->in[0]->n_dims || memcmp(dims.dim, c->in[0]->dim, (size_t)dims.n * sizeof *dims.dim) != 0)
            return tw_rule_error(c, "slope %s is larger than the input %s",
                                 tw_shape_text(c->in[1]->n_dims, c->in[1]->dim, slope),
                                 tw_shape_text(c->in[0]->n_dims, c->in[0]->dim, x));
    }
    return tw_rule_like(c, 0, c->in[0]);
}

/* Softmax and its kin: the axis exists. A scalar has none and is left alone. */
static tw_status along_axis(const tw_rule_case *c)
{
    int axis;
    int64_t fallback = c->opset < 13 ? 1 : -1;
    const tw_attribute *a = tw_onnx_attribute(c->node, "axis");
    if (a && c->in[0]->n_dims > 0)
        TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", fallback), c->in[0]->n_dims, &axis));
    return tw_rule_same(c);
}

/* Mask: bool since version 10, like the input before. */
static tw_status dropout(const tw_rule_case *c)
{
    if (c->n_out > 1 && c->opset < 10) c->out[1].type = c->out[0].type;
    return tw_rule_same(c);
}

static tw_status batch_norm(const tw_rule_case *c)
{
    const tw_shape_of_value *x = c->in[0];
    char text[TW_SHAPE_TEXT];
    TW_TRY(tw_rule_rank(c, 0, 1, TW_ONNX_MAX_DIMS));
    int64_t channels = x->n_dims > 1 ? x->dim[1] : 1;
    bool per_channel = tw_onnx_int(c->node, "spatial", 1) != 0; /* before version 9 */
    for (int k = 1; per_channel && k < 5; k++)
        if (c->in[k]->n_elems != channels)
            return tw_rule_error(c, "input %d is %s, the tensor has %" PRId64 " channels", k,
                                 tw_shape_text(c->in[k]->n_dims, c->in[k]->dim, text), channels);
    TW_TRY(tw_rule_like(c, 0, x));
    for (int k = 1; k < c->n_out; k++) TW_TRY(tw_rule_like(c, k, c->in[1]));
    return TW_OK;
}

/* Scale and bias per channel. */
static tw_status channel_norm(const tw_rule_case *c)
{
    TW_TRY(tw_rule_rank(c, 0, 2, TW_ONNX_MAX_DIMS));
    return tw_rule_like(c, 0, c->in[0]);
}

/* Outputs 1 and 2 are statistics: one number where axes from `axis` on were. */
static tw_status layer_norm(const tw_rule_case *c)
{
    int axis;
    tw_dims reduced = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", -1), reduced.n, &axis));
    for (int i = axis; i < reduced.n; i++) reduced.dim[i] = 1;
    TW_TRY(tw_rule_like(c, 0, c->in[0]));
    for (int k = 1; k < c->n_out && k < 3; k++) TW_TRY(tw_rule_set(c, k, &reduced));
    return TW_OK;
}

/* Outputs: the norm, two statistics, the sum before the norm. */
static tw_status skip_layer_norm(const tw_rule_case *c)
{
    TW_TRY(layer_norm(c));
    return tw_rule_like(c, 3, c->in[0]);
}

/* The type is an attribute; without one it is that of the input. */
static tw_status same_of_dtype(const tw_rule_case *c)
{
    c->out[0].type = tw_rule_type(c, "dtype", c->in[0]->type);
    return tw_rule_same(c);
}

static tw_status cast(const tw_rule_case *c)
{
    const tw_attribute *to = tw_onnx_attribute(c->node, "to");
    if (!to) return tw_rule_error(c, "attribute 'to' is missing");
    c->out[0].type = tw_rule_type(c, "to", TW_ONNX_NONE);
    for (int t = 0; to->kind == TW_ATTR_STRING && t < TW_ONNX_N_TYPES; t++) /* before version 6 */
        if (tw_same_word(tw_onnx_type_name((tw_onnx_type)t), to->s)) c->out[0].type = (tw_onnx_type)t;
    return tw_rule_same(c);
}

#define MS       "com.microsoft"
#define FLOATS   "", "F:F", tw_rule_same
#define NUMBERS  "", "N:N", tw_rule_same
#define BINARY   "", "NN:N", binary
#define WHOLE    "", "II:I", binary
#define COMPARE  "", "NN:b", binary
#define LOGIC    "", "bb:b", binary
#define VARIADIC "", "N+:N", tw_rule_spread
static const tw_rule rules[] = {
    {"Abs", NUMBERS},
    {"Acos", FLOATS},
    {"Acosh", FLOATS},
    {"Asin", FLOATS},
    {"Asinh", FLOATS},
    {"Atan", FLOATS},
    {"Atanh", FLOATS},
    {"Ceil", FLOATS},
    {"Celu", FLOATS},
    {"Cos", FLOATS},
    {"Cosh", FLOATS},
    {"Elu", FLOATS},
    {"Erf", NUMBERS},
    {"Exp", FLOATS},
    {"Floor", FLOATS},
    {"HardSigmoid", FLOATS},
    {"HardSwish", FLOATS},
    {"Identity", "", "T:T", tw_rule_same},
    {"LeakyRelu", FLOATS},
    {"Log", FLOATS},
    {"Neg", NUMBERS},
    {"Reciprocal", FLOATS},
    {"Relu", NUMBERS},
    {"Round", FLOATS},
    {"Selu", FLOATS},
    {"Shrink", NUMBERS},
    {"Sigmoid", FLOATS},
    {"Sign", NUMBERS},
    {"Sin", FLOATS},
    {"Sinh", FLOATS},
    {"Softplus", FLOATS},
    {"Softsign", FLOATS},
    {"Sqrt", FLOATS},
    {"Tan", FLOATS},
    {"Tanh", FLOATS},
    {"ThresholdedRelu", FLOATS},
    {"Gelu", FLOATS},
    {"Mish", FLOATS},
    {"Swish", FLOATS},
    {"Not", "", "b:b", tw_rule_same},
    {"BitwiseNot", "", "I:I", tw_rule_same},
    {"LRN", FLOATS},
    {"MeanVarianceNormalization", FLOATS},
    {"LpNormalization", FLOATS},
    {"Affine", FLOATS},
    {"ImageScaler", FLOATS},
    {"ParametricSoftplus", FLOATS},
    {"ScaledTanh", FLOATS},
    {"Scale", FLOATS},
    {"Add", BINARY},
    {"Sub", BINARY},
    {"Mul", BINARY},
    {"Div", BINARY},
    {"Mod", BINARY},
    {"BitShift", WHOLE},
    {"BitwiseAnd", WHOLE},
    {"BitwiseOr", WHOLE},
    {"BitwiseXor", WHOLE},
    {"Pow", "", "NM:N", binary},
    {"Equal", "", "TT:b", binary},
    {"Greater", COMPARE},
    {"GreaterOrEqual", COMPARE},
    {"Less", COMPARE},
    {"LessOrEqual", COMPARE},
    {"And", LOGIC},
    {"Or", LOGIC},
    {"Xor", LOGIC},
    {"Sum", VARIADIC},
    {"Max", VARIADIC},
    {"Min", VARIADIC},
    {"Mean", VARIADIC},
    {"Where", "", "bTT:T", tw_rule_spread},
    {"PRelu", "", "NN:N", prelu},
    {"Clip", "", "NN?N?:N", tw_rule_same},
    {"IsInf", "", "F:b", tw_rule_same},
    {"IsNaN", "", "F:b", tw_rule_same},
    {"Cast", "", "T:.", cast},
    {"CastLike", "", "TU:U", tw_rule_same},
    {"Softmax", "", "F:F", along_axis},
    {"LogSoftmax", "", "F:F", along_axis},
    {"Hardmax", "", "F:F", along_axis},
    {"CumSum", "", "Ni:N", tw_rule_same},
    {"Dropout", "", "TU?b?:Tb", dropout},
    {"BatchNormalization", "", "FUUVV:FVVVV", batch_norm},
    {"InstanceNormalization", "", "FFF:F", channel_norm},
    {"GroupNormalization", "", "FFF:F", channel_norm},
    {"LayerNormalization", "", "FUU?:Fff", layer_norm},
    {"RMSNormalization", "", "FU:F", layer_norm},
    {"SimplifiedLayerNormalization", "", "TU:Uf", layer_norm},
    {"Bernoulli", "", "T:.", same_of_dtype},
    {"RandomNormalLike", "", "T:.", same_of_dtype},
    {"RandomUniformLike", "", "T:.", same_of_dtype},
    {"EyeLike", "", "T:.", same_of_dtype},
    {"Trilu", "", "Tl?:T", tw_rule_same},
    {"ReverseSequence", "", "Tl:T", tw_rule_same},
    {"Gelu", TW_ANY_DOMAIN, "F:F", tw_rule_same},
    {"QuickGelu", TW_ANY_DOMAIN, "F:F", tw_rule_same},
    {"Silu", TW_ANY_DOMAIN, "F:F", tw_rule_same},
    {"Swish", TW_ANY_DOMAIN, "F:F", tw_rule_same},
    {"FastGelu", MS, "FF?:F", tw_rule_same},
    {"BiasGelu", MS, "FF:F", tw_rule_spread},
    {"BiasAdd", MS, "TTT:T", tw_rule_same},
    {"BiasDropout", MS, "TTT?U?b?:Tb", tw_rule_same},
    {"LayerNormalization", MS, "FUU?:Fff", layer_norm},
    {"SimplifiedLayerNormalization", MS, "TU:Uf", layer_norm},
    {"SkipLayerNormalization", MS, "FFFF?F?:FffF", skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", MS, "FFFF?:FffF", skip_layer_norm},
    {"GroupNorm", MS, "TUU:T", tw_rule_same},
    {"RotaryEmbedding", MS, "TlTT:T", tw_rule_same},
};
const tw_rules tw_rules_element = {rules, TW_COUNT(rules), false};
