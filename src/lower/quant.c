/* src/lower/quant.c - quantisation whose scale is found at run time, and quantised concatenation. */
#include "lower/build.h"

/* The extreme of all elements, and zero. */
static void extreme(tw_lowering *l, const char *suffix, tw_compute compute, tw_seen x, tw_seen out)
{
    bool gone = true;
    tw_reduction(l, suffix, compute, TW_RESHAPED(x, tw_elems_of(x)), &gone, out);
    if (tw_refused(l)) return;
    int found = tw_tail(l);
    tw_set_tail(l, tw_fn2(l, compute == TW_MAX ? TW_FN_MAX : TW_FN_MIN, found, tw_num(l, 0)));
}

static void find_scale(tw_lowering *l, const char *suffix, tw_seen most, tw_seen least, tw_seen scale)
{
    tw_seen input[2] = {most, least};
    int var[2];
    tw_map(l, suffix, scale, 2, input, var);
    if (tw_refused(l)) return;
    int width = tw_minus(l, var[0], var[1]), none = tw_fn2(l, TW_FN_EQUAL, width, tw_num(l, 0));
    tw_set_value(l, tw_choose(l, none, tw_num(l, 1), tw_over(l, width, tw_num(l, 255))));
}

static void find_zero(tw_lowering *l, const char *suffix, tw_seen least, tw_seen scale, tw_seen zero)
{
    tw_seen input[2] = {least, scale};
    int var[2];
    tw_map(l, suffix, zero, 2, input, var);
    if (tw_refused(l)) return;
    int at = tw_fn1(l, TW_FN_F32, tw_over(l, tw_fn1(l, TW_FN_NEGATE, var[0]), var[1]));
    tw_set_value(l, tw_quantize(l, at, -1, TW_ONNX_U8));
}

void tw_dynamic_quantize(tw_lowering *l, const char *prefix, tw_seen x, tw_seen y, tw_seen scale, tw_seen zero)
{
    const int64_t one = 1;
    const char *max = tw_say(l, "%s.max", prefix), *min = tw_say(l, "%s.min", prefix);
    tw_seen most = tw_between(l, max, TW_ONNX_F32, 1, &one), least = tw_between(l, min, TW_ONNX_F32, 1, &one);
    tw_seen input[3] = {x, scale, zero};
    int var[3];
    if (tw_refused(l)) return;
    extreme(l, max, TW_MAX, x, most);
    extreme(l, min, TW_MIN, x, least);
    find_scale(l, tw_say(l, "%s.scale", prefix), most, least, scale);
    find_zero(l, tw_say(l, "%s.zero", prefix), least, scale, zero);
    tw_map(l, tw_say(l, "%s.bytes", prefix), y, 3, input, var);
    if (tw_refused(l)) return;
    int quotient = tw_fn1(l, TW_FN_F32, tw_over(l, var[0], var[1]));
    tw_set_value(l, tw_quantize(l, quotient, var[2], TW_ONNX_U8));
}

static tw_seen output_or_between(tw_lowering *l, int i, const char *suffix, tw_onnx_type type, tw_seen like)
{
    return tw_has_output(l, i) ? tw_see_output(l, i) : tw_between_like(l, suffix, type, like);
}

static void lower_dynamic_quantize(tw_lowering *l)
{
    const tw_seen x = tw_see_input(l, 0), scalar = {.n_dims = 0};
    tw_seen y = output_or_between(l, 0, ".bytes", TW_ONNX_U8, x);
    tw_seen scale = output_or_between(l, 1, ".scale", TW_ONNX_F32, scalar);
    tw_dynamic_quantize(l, "", x, y, scale, output_or_between(l, 2, ".zero", TW_ONNX_U8, scalar));
    if (!tw_refused(l)) l->nest.suffix = "";
}

/* ---- y_scale, y_zero, then x, scale and zero of every part ---- */

/* Part i of the inputs, requantised to the output's scale. */
static int requantised(tw_lowering *l, int var, int i, tw_onnx_type type)
{
    int x = tw_dequantize(l, var, tw_hold(l, tw_see_input(l, 3 + 3 * i), -1),
                          tw_has_input(l, 4 + 3 * i) ? tw_hold(l, tw_see_input(l, 4 + 3 * i), -1) : -1);
    int y = tw_over(l, x, tw_hold(l, tw_see_input(l, 0), -1));
    return tw_quantize(l, y, tw_has_input(l, 1) ? tw_hold(l, tw_see_input(l, 1), -1) : -1, type);
}

static void lower_q_concat(tw_lowering *l)
{
    tw_seen y = tw_see_output(l, 0), x[TW_MAX_OPERANDS];
    int n = (l->node->n_inputs - 2) / 3, axis = tw_axis_attribute(l, "axis", 1, y.n_dims);
    if (n < 1 || n > TW_MAX_OPERANDS - 1) tw_refuse(l, "more than five parts");
    for (int i = 0; i < n && !tw_refused(l); i++) {
        x[i] = tw_see_input(l, 2 + 3 * i);
        if (x[i].tensor < 0 || x[i].n_dims != y.n_dims) tw_refuse(l, "shapes contradict each other");
    }
    if (tw_refused(l)) return;
    tw_concat_begin(l, "", n, x, axis, y);
    if (tw_refused(l)) return;
    tw_onnx_type type = tw_type_of(l, y);
    int value = requantised(l, n - 1, n - 1, type);
    for (int i = n - 2; i >= 0 && !tw_refused(l); i--)
        value = tw_choose(l, tw_fn1(l, TW_FN_PRESENT, i), requantised(l, i, i, type), value);
    tw_set_value(l, value);
}

const tw_describer tw_quant_ops[] = {
    {"DynamicQuantizeLinear", "", lower_dynamic_quantize, false},
    {"QLinearConcat", "com.microsoft", lower_q_concat, true},
    {0},
};
