/* src/lower/norm.c - normalisations as chains.
 *
 *     mean       average of x over the axes
 *     centred    x - mean
 *     deviation  1 / sqrt(average of centred^2 + epsilon)
 *     result     centred * deviation * scale + bias */
#include "lower/build.h"

#include <string.h>

typedef struct norm {
    tw_seen x, y;                /* in the shape in which it is done                      */
    bool gone[TW_ONNX_MAX_DIMS]; /* axes that are averaged over                           */
    tw_seen scale, bias;         /* broadcast to x; tensor -1: none                       */
    double epsilon;
    bool centres;            /* the mean is taken off                                 */
    bool epsilon_outside;    /* 1 / (sqrt(..) + epsilon)                              */
    tw_seen mean, deviation; /* where they are wanted outside; tensor -1: not         */
} norm;

static const tw_seen none = {.tensor = -1};

static tw_seen or_between(tw_lowering *l, tw_seen wanted, const char *suffix, tw_onnx_type type, tw_seen like)
{
    if (wanted.tensor < 0) return tw_between_like(l, suffix, type, like);
    return tw_reshaped(wanted, like.n_dims, like.dim);
}

static tw_seen centre(tw_lowering *l, const norm *n)
{
    tw_onnx_type type = tw_type_of(l, n->x);
    tw_seen mean = or_between(l, n->mean, ".mean", type, tw_without(n->x, n->gone));
    tw_seen centred = tw_between_like(l, ".centred", type, n->x), input[2] = {n->x, mean};
    int var[2];
    tw_mean(l, ".mean", n->x, n->gone, mean);
    tw_map(l, ".centred", centred, 2, input, var);
    if (!tw_refused(l)) tw_set_value(l, tw_minus(l, var[0], var[1]));
    return centred;
}

static int64_t count_gone(const norm *n)
{
    int64_t count = 1;
    for (int d = 0; d < n->x.n_dims; d++) count *= n->gone[d] ? n->x.dim[d] : 1;
    return count;
}

/* The mean square, ready for more. */
static int mean_square(tw_lowering *l, const char *suffix, const norm *n, tw_seen centred, tw_seen out)
{
    tw_reduction(l, suffix, TW_ADD, centred, n->gone, out);
    if (tw_refused(l)) return 0;
    tw_value_begin(l);
    tw_set_value(l, tw_times(l, 0, 0));
    int sum = tw_tail(l);
    return tw_over(l, sum, tw_num(l, (double)count_gone(n)));
}

/* One over the root of the mean square. */
static tw_seen deviate(tw_lowering *l, const norm *n, tw_seen centred)
{
    tw_seen inverse = or_between(l, n->deviation, ".deviation", tw_type_of(l, n->x), tw_without(n->x, n->gone));
    int mean = mean_square(l, ".deviation", n, centred, inverse), e = tw_num(l, n->epsilon);
    if (tw_refused(l)) return inverse;
    int root = n->epsilon_outside ? tw_plus(l, tw_fn1(l, TW_FN_SQRT, mean), e)
                                  : tw_fn1(l, TW_FN_SQRT, tw_plus(l, mean, e));
    tw_set_tail(l, tw_fn1(l, TW_FN_RECIPROCAL, root));
    return inverse;
}

static void normalise(tw_lowering *l, const norm *n)
{
    if (tw_refused(l)) return;
    tw_seen centred = n->centres ? centre(l, n) : n->x;
    tw_seen input[4] = {centred, deviate(l, n, centred)};
    int var[4], k = 2, scale = -1, bias = -1;
    if (n->scale.tensor >= 0) input[scale = k++] = n->scale;
    if (n->bias.tensor >= 0) input[bias = k++] = n->bias;
    tw_map(l, "", n->y, k, input, var);
    if (tw_refused(l)) return;
    int x = tw_times(l, var[0], var[1]);
    if (scale >= 0) x = tw_times(l, x, var[scale]);
    if (bias >= 0) x = tw_plus(l, x, var[bias]);
    tw_set_value(l, x);
}

/* ---- which axes ---- */

/* Everything from the axis on is one row. */
static void rows(norm *n, int axis)
{
    int64_t outer = tw_product(n->x.dim, axis), inner = tw_product(&n->x.dim[axis], n->x.n_dims - axis);
    n->x = TW_RESHAPED(n->x, outer, inner);
    n->y = TW_RESHAPED(n->y, outer, inner);
    n->scale = n->scale.tensor < 0 ? none : TW_RESHAPED(n->scale, tw_elems_of(n->scale));
    n->bias = n->bias.tensor < 0 ? none : TW_RESHAPED(n->bias, tw_elems_of(n->bias));
    n->gone[1] = true;
}

static void lower_layer_norm(tw_lowering *l)
{
    bool simple = strcmp(l->node->op, "LayerNormalization") != 0;
    norm n = {.x = tw_see_input(l, 0),
              .y = tw_see_output(l, 0),
              .scale = tw_see_input(l, 1),
              .bias = tw_see_input(l, 2),
              .centres = !simple,
              .mean = none,
              .deviation = none,
              .epsilon = (double)tw_onnx_float(l->node, "epsilon", 1e-5F)};
    int axis = tw_axis_attribute(l, "axis", -1, n.x.n_dims);
    if (simple) n.deviation = tw_see_output(l, 1);
    if (!simple) n.mean = tw_see_output(l, 1);
    if (!simple) n.deviation = tw_see_output(l, 2);
    if (tw_refused(l)) return;
    rows(&n, axis);
    normalise(l, &n);
}

/* x + skip + bias, then layer normalisation: input, skip, gamma, beta, bias. */
static void lower_skip_layer_norm(tw_lowering *l)
{
    bool simple = strcmp(l->node->op, "SkipSimplifiedLayerNormalization") == 0;
    tw_seen x = tw_see_input(l, 0), bias = tw_see_input(l, simple ? 3 : 4);
    tw_seen input[3] = {x, tw_see_input(l, 1), bias}, sum = tw_see_output(l, 3);
    int var[3], with_bias = bias.tensor >= 0;
    if (x.n_dims < 2) tw_refuse(l, "axis out of range");
    if (tw_refused(l)) return;
    sum = or_between(l, sum, ".added", tw_type_of(l, x), x);
    tw_map(l, ".added", sum, 2 + with_bias, input, var);
    if (tw_refused(l)) return;
    int added = tw_plus(l, var[0], var[1]);
    tw_set_value(l, with_bias ? tw_plus(l, added, var[2]) : added);
    norm n = {.x = sum,
              .y = tw_see_output(l, 0),
              .scale = tw_see_input(l, 2),
              .bias = simple ? none : tw_see_input(l, 3),
              .centres = !simple,
              .mean = tw_see_output(l, 1),
              .deviation = tw_see_output(l, 2),
              .epsilon = (double)tw_onnx_float(l->node, "epsilon", 1e-12F)};
    rows(&n, x.n_dims - 1);
    normalise(l, &n);
}

static void lower_instance_norm(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), scale = tw_see_input(l, 1), bias = tw_see_input(l, 2);
    if (x.n_dims < 3) tw_refuse(l, "axis out of range");
    if (tw_refused(l)) return;
    int64_t inner = tw_product(&x.dim[2], x.n_dims - 2);
    norm n = {.x = TW_RESHAPED(x, x.dim[0], x.dim[1], inner),
              .gone = {false, false, true},
              .scale = TW_RESHAPED(scale, x.dim[1], 1),
              .bias = TW_RESHAPED(bias, x.dim[1], 1),
              .centres = true,
              .mean = none,
              .deviation = none,
              .epsilon = (double)tw_onnx_float(l->node, "epsilon", 1e-5F)};
    n.y = tw_reshaped(tw_see_output(l, 0), 3, n.x.dim);
    normalise(l, &n);
}

/* Scales per group before version 21, per channel since. */
static void lower_group_norm(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), scale = tw_see_input(l, 1), bias = tw_see_input(l, 2);
    int64_t groups = tw_onnx_int(l->node, "num_groups", 1);
    if (x.n_dims < 3 || groups < 1 || x.dim[1] % groups != 0) tw_refuse(l, "groups do not divide the channels");
    if (tw_refused(l)) return;
    int64_t own = tw_elems_of(scale) == groups ? 1 : x.dim[1] / groups;
    norm n = {.x = TW_RESHAPED(x, x.dim[0], groups, x.dim[1] / groups, tw_product(&x.dim[2], x.n_dims - 2)),
              .gone = {false, false, true, true},
              .scale = TW_RESHAPED(scale, groups, own, 1),
              .bias = TW_RESHAPED(bias, groups, own, 1),
              .centres = true,
              .mean = none,
              .deviation = none,
              .epsilon = (double)tw_onnx_float(l->node, "epsilon", 1e-5F)};
    n.y = tw_reshaped(tw_see_output(l, 0), 4, n.x.dim);
    normalise(l, &n);
}

/* Output i: what was known before (input i + 2), moved towards what is found now. */
static void move_towards(tw_lowering *l, int i, const char *suffix, tw_seen found)
{
    tw_seen input[2] = {tw_see_input(l, i + 2), found}, out = tw_see_output(l, i);
    double momentum = (double)tw_onnx_float(l->node, "momentum", 0.9F);
    int var[2];
    if (out.tensor < 0 || tw_refused(l)) return;
    input[0] = tw_reshaped(input[0], found.n_dims, found.dim);
    tw_map(l, suffix, tw_reshaped(out, found.n_dims, found.dim), 2, input, var);
    if (tw_refused(l)) return;
    int before = tw_times(l, var[0], tw_num(l, momentum)), now = tw_times(l, var[1], tw_num(l, 1 - momentum));
    tw_set_value(l, tw_plus(l, before, now));
}

/* (x - mean) / sqrt(variance + epsilon) * scale + bias with the statistics of this batch. */
static void scale_batch(tw_lowering *l, tw_seen centred, tw_seen variance)
{
    double epsilon = (double)tw_onnx_float(l->node, "epsilon", 1e-5F);
    tw_seen input[4] = {centred, variance, tw_see_input(l, 1), tw_see_input(l, 2)};
    int var[4];
    for (int i = 2; i < 4; i++) input[i] = tw_reshaped(input[i], variance.n_dims, variance.dim);
    tw_map(l, "", tw_reshaped(tw_see_output(l, 0), centred.n_dims, centred.dim), 4, input, var);
    if (tw_refused(l)) return;
    int deviation = tw_fn1(l, TW_FN_SQRT, tw_plus(l, var[1], tw_num(l, epsilon)));
    tw_set_value(l, tw_plus(l, tw_times(l, var[0], tw_over(l, var[2], deviation)), var[3]));
}

/* In training; otherwise it is element-wise. */
static void lower_batch_norm(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    if (l->opset < 14 || tw_onnx_int(l->node, "training_mode", 0) == 0) tw_refuse(l, "an old form of training");
    for (int i = 0; i < 5; i++)
        if (!tw_has_input(l, i)) tw_refuse(l, "an input is missing");
    if (x.n_dims < 2) tw_refuse(l, "no channels");
    if (tw_refused(l)) return;
    norm n = {.x = TW_RESHAPED(x, x.dim[0], x.dim[1], tw_product(&x.dim[2], x.n_dims - 2)),
              .gone = {true, false, true}};
    tw_seen each = tw_without(n.x, n.gone), variance = tw_between_like(l, ".variance", tw_type_of(l, x), each);
    n.mean = tw_between_like(l, ".mean", tw_type_of(l, x), each);
    tw_seen centred = centre(l, &n);
    int square = mean_square(l, ".variance", &n, centred, variance);
    if (!tw_refused(l)) tw_set_tail(l, square);
    move_towards(l, 1, ".running_mean", n.mean);
    move_towards(l, 2, ".running_variance", variance);
    if (!tw_refused(l)) scale_batch(l, centred, variance);
}

static void lower_mean_variance(tw_lowering *l)
{
    static const int64_t usual[] = {0, 2, 3};
    const tw_attribute *a = tw_onnx_attribute(l->node, "axes");
    norm n = {.x = tw_see_input(l, 0),
              .y = tw_see_output(l, 0),
              .scale = none,
              .bias = none,
              .mean = none,
              .deviation = none,
              .centres = true,
              .epsilon = 1e-9,
              .epsilon_outside = true};
    int n_axes = a ? a->n : (int)TW_COUNT(usual);
    for (int i = 0; i < n_axes; i++) {
        int64_t axis = a ? a->ints[i] : usual[i];
        if (axis < 0) axis += n.x.n_dims;
        if (axis < 0 || axis >= n.x.n_dims)
            tw_refuse(l, "axis out of range");
        else
            n.gone[axis] = true;
    }
    normalise(l, &n);
}

static void lower_lp_norm(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
    bool gone[TW_ONNX_MAX_DIMS] = {false}, one = tw_onnx_int(l->node, "p", 2) == 1;
    gone[tw_axis_attribute(l, "axis", -1, x.n_dims)] = true;
    tw_seen length = tw_between_like(l, ".length", tw_type_of(l, x), tw_without(x, gone)), input[2] = {x, length};
    int var[2];
    tw_reduction(l, ".length", TW_ADD, x, gone, length);
    if (tw_refused(l)) return;
    tw_value_begin(l);
    tw_set_value(l, one ? tw_fn1(l, TW_FN_ABS, 0) : tw_times(l, 0, 0));
    int sum = tw_tail(l);
    if (!one) tw_set_tail(l, tw_fn1(l, TW_FN_SQRT, sum));
    tw_map(l, "", y, 2, input, var);
    if (tw_refused(l)) return;
    int nothing = tw_fn2(l, TW_FN_EQUAL, var[1], tw_num(l, 0)); /* what has no length stays zero */
    tw_set_value(l, tw_choose(l, nothing, tw_num(l, 0), tw_over(l, var[0], var[1])));
}

/* Over a window of channels: x / (bias + alpha / size * sum of squares) ^ beta */
static void lower_local_response(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
    int64_t size = tw_onnx_int(l->node, "size", 0);
    double alpha = (double)tw_onnx_float(l->node, "alpha", 1e-4F), bias = (double)tw_onnx_float(l->node, "bias", 1);
    if (x.n_dims < 2 || size < 1 || size > TW_EXTENT_MAX) tw_refuse(l, "no channels");
    if (tw_refused(l)) return;
    int64_t inner = tw_product(&x.dim[2], x.n_dims - 2);
    tw_seen squares = tw_between_like(l, ".squares", tw_type_of(l, x), x), input[2] = {x, squares};
    int var[2];
    tw_nest_begin(l, ".squares", TW_ADD);
    int b = tw_add_outer(l, "b", x.dim[0]), c = tw_add_loop(l, "c", x.dim[1], false);
    int s = tw_add_outer(l, "s", inner), k = tw_add_loop(l, "kc", size, true);
    tw_add_operand(l, x);
    tw_add_axis(l, b);
    tw_add_axis_as(
        l,
        (tw_axis){
            .extent = x.dim[1], .offset = -((size - 1) / 2), .divisor = 1, .n_terms = 2, .term = {{c, 1}, {k, 1}}});
    tw_add_axis(l, s);
    tw_add_output(l, squares);
    tw_set_value(l, tw_times(l, 0, 0));
    tw_map(l, "", y, 2, input, var);
    if (tw_refused(l)) return;
    int sum = tw_plus(l, tw_num(l, bias), tw_times(l, var[1], tw_num(l, alpha / (double)size)));
    int power = tw_fn2(l, TW_FN_POWER, sum, tw_num(l, (double)tw_onnx_float(l->node, "beta", 0.75F)));
    tw_set_value(l, tw_over(l, var[0], power));
}

#define MS "com.microsoft"
const tw_describer tw_norm_ops[] = {
    {"LayerNormalization", "", lower_layer_norm, true},
    {"LayerNormalization", MS, lower_layer_norm, true},
    {"SimplifiedLayerNormalization", "", lower_layer_norm, true},
    {"SimplifiedLayerNormalization", MS, lower_layer_norm, true},
    {"SkipLayerNormalization", MS, lower_skip_layer_norm, true},
    {"SkipSimplifiedLayerNormalization", MS, lower_skip_layer_norm, true},
    {"BatchNormalization", "", lower_batch_norm, true},
    {"InstanceNormalization", "", lower_instance_norm, true},
    {"GroupNormalization", "", lower_group_norm, true},
    {"MeanVarianceNormalization", "", lower_mean_variance, true},
    {"LpNormalization", "", lower_lp_norm, true},
    {"LRN", "", lower_local_response, true},
    {0},
};
