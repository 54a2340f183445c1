/* src/infer/rules_quant.c - operators that go to 8-bit numbers and back, or work on them. */
#include "infer/rule.h"

/* To the type of the zero point; without one to output_dtype, or uint8. */
static tw_status quantize(const tw_rule_case *c)
{
    const tw_shape_of_value *zero = tw_rule_in(c, 2);
    c->out[0].type = zero ? zero->type : tw_rule_type(c, "output_dtype", TW_ONNX_U8);
    return tw_rule_same(c);
}

static tw_status dynamic_quantize(const tw_rule_case *c)
{
    tw_dims scalar = {0};
    TW_TRY(tw_rule_like(c, 0, c->in[0]));
    TW_TRY(tw_rule_set(c, 1, &scalar));
    return tw_rule_set(c, 2, &scalar);
}

/* a scale zero, b scale zero, output scale zero */
static tw_status qlinear_binary(const tw_rule_case *c)
{
    tw_dims dims = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_broadcast(c, &dims, c->in[3]->n_dims, c->in[3]->dim));
    return tw_rule_set(c, 0, &dims);
}

/* output scale, output zero, then tensor scale zero as often as there are tensors */
static tw_status qlinear_concat(const tw_rule_case *c)
{
    if (c->n_in < 5 || (c->n_in - 2) % 3 != 0) return tw_rule_error(c, "%d inputs are not 2 and threes", c->n_in);
    int axis;
    tw_dims out = tw_dims_of(c->in[2]);
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 0), out.n, &axis));
    for (int k = 5; k < c->n_in; k += 3) {
        TW_TRY(tw_rule_rank(c, k, out.n, out.n));
        out.dim[axis] += c->in[k]->dim[axis];
    }
    c->out[0].type = c->in[1]->type;
    return tw_rule_set(c, 0, &out);
}

/* condition, x scale zero, y scale zero, output scale zero */
static tw_status qlinear_where(const tw_rule_case *c)
{
    tw_dims dims = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_broadcast(c, &dims, c->in[1]->n_dims, c->in[1]->dim));
    TW_TRY(tw_rule_broadcast(c, &dims, c->in[4]->n_dims, c->in[4]->dim));
    return tw_rule_set(c, 0, &dims);
}

#define MS "com.microsoft"
static const tw_rule rules[] = {
    {"QuantizeLinear", "", "TUV?:.", quantize},
    {"DequantizeLinear", "", "TUT?:U", tw_rule_same},
    {"DynamicQuantizeLinear", "", "f:yfy", dynamic_quantize},
    {"QuantizeLinear", MS, "TUV?:.", quantize},
    {"DequantizeLinear", MS, "TUT?:U", tw_rule_same},
    {"QLinearAdd", MS, "TfT?TfT?fT?:T", qlinear_binary},
    {"QLinearMul", MS, "TfT?TfT?fT?:T", qlinear_binary},
    {"QLinearSigmoid", MS, "TfT?fT?:T", tw_rule_same},
    {"QLinearLeakyRelu", MS, "TfT?fT?:T", tw_rule_same},
    {"QLinearSoftmax", MS, "TfT?fT:T", tw_rule_same},
    {"QLinearConcat", MS, ".+:.", qlinear_concat},
    {"QLinearWhere", MS, "bTfTTfTfT:T", qlinear_where},
};
const tw_rules tw_rules_quant = {rules, TW_COUNT(rules), false};
