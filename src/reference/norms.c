/* src/reference/norms.c - normalisations. All in double, rounded once when an output is stored.
 *
 * Most of them are one step: a block of numbers is centred and divided by its deviation, then scaled per channel
 * or per element. What differs is which elements make up a block. */
#include "reference/entries.h"

#include <math.h>
#include <string.h>

typedef struct moments {
    double mean, variance;
} moments;

static moments moments_of(const double *v, int64_t n)
{
    moments m = {0, 0};
    for (int64_t i = 0; i < n; i++) m.mean += v[i];
    m.mean /= (double)n;
    for (int64_t i = 0; i < n; i++) m.variance += (v[i] - m.mean) * (v[i] - m.mean);
    m.variance /= (double)n;
    return m;
}

static void scale_block(double *v, int64_t n, double mean, double factor, double offset)
{
    for (int64_t i = 0; i < n; i++) v[i] = (v[i] - mean) * factor + offset;
}

static double epsilon_of(const tw_ref_case *c, float fallback)
{
    return (double)tw_onnx_float(c->node, "epsilon", fallback);
}

static tw_status need_float(const tw_ref_case *c, int least_dims, const tw_array **x)
{
    TW_TRY(tw_ref_need(c, 0, x));
    if (!tw_onnx_is_float((*x)->type)) return tw_ref_error(c, "elements of type %s", tw_onnx_type_name((*x)->type));
    if ((*x)->n_dims < least_dims) return tw_ref_error(c, "input 0 has only %d axes", (*x)->n_dims);
    return TW_OK;
}

/* Input i with exactly n elements. */
static tw_status need_n(const tw_ref_case *c, int i, int64_t n, const tw_array **out)
{
    TW_TRY(tw_ref_need(c, i, out));
    if ((*out)->n == n && tw_onnx_is_float((*out)->type)) return TW_OK;
    return tw_ref_error(c, "input %d has %" PRId64 " elements, not %" PRId64, i, (*out)->n, n);
}

/* ---- BatchNormalization ---- */

/* Moments of a channel over all images, one block of `inner` per image. */
static moments moments_of_channel(const double *v, int64_t n_images, int64_t n_channels, int64_t inner)
{
    moments m = {0, 0};
    double n = (double)(n_images * inner);
    for (int64_t b = 0; b < n_images; b++)
        for (int64_t i = 0; i < inner; i++) m.mean += v[b * n_channels * inner + i] / n;
    for (int64_t b = 0; b < n_images; b++)
        for (int64_t i = 0; i < inner; i++) m.variance += pow(v[b * n_channels * inner + i] - m.mean, 2) / n;
    return m;
}

/* Training keeps running averages as outputs 1 and 2. */
static tw_status train_channel(const tw_ref_case *c, const moments *m, const moments *old, int64_t channel,
                               tw_array *output)
{
    double keep = (double)tw_onnx_float(c->node, "momentum", 0.9f);
    if (c->n_outputs > 1 && output[1].data)
        tw_array_set(&output[1], channel, old->mean * keep + m->mean * (1 - keep));
    if (c->n_outputs > 2 && output[2].data)
        tw_array_set(&output[2], channel, old->variance * keep + m->variance * (1 - keep));
    return TW_OK;
}

static tw_status run_batch(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *param[4]; /* scale, bias, mean, variance */
    TW_TRY(need_float(c, 1, &x));
    bool training = c->opset >= 14 && tw_onnx_int(c->node, "training_mode", 0) != 0;
    bool spatial = c->opset >= 9 || tw_onnx_int(c->node, "spatial", 1) != 0;
    int64_t channels = x->n_dims < 2 ? 1 : spatial ? x->dim[1] : tw_ref_extent(x, 1, x->n_dims);
    int64_t inner = x->n_dims < 2 || !spatial ? 1 : tw_ref_extent(x, 2, x->n_dims);
    for (int i = 0; i < 4; i++) TW_TRY(need_n(c, i + 1, channels, &param[i]));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    if (!training && (tw_ref_wants(c, 1) || tw_ref_wants(c, 2))) return tw_ref_unknown(c, "outputs of training");
    for (int i = 1; training && i < c->n_outputs && i < 3; i++)
        TW_TRY(tw_ref_make(c, param[1 + i]->type, 1, &channels, &output[i]));
    double *v = tw_array_reals(x, c->arena), epsilon = epsilon_of(c, 1e-5f);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t k = 0; k < channels; k++) {
        moments m = {tw_array_get(param[2], k), tw_array_get(param[3], k)}, old = m;
        if (training) m = moments_of_channel(v + k * inner, x->dim[0], channels, inner);
        if (training) TW_TRY(train_channel(c, &m, &old, k, output));
        for (int64_t b = 0; b < x->dim[0]; b++)
            scale_block(v + (b * channels + k) * inner, inner, m.mean,
                        tw_array_get(param[0], k) / sqrt(m.variance + epsilon), tw_array_get(param[1], k));
    }
    tw_array_put_reals(output, v);
    return TW_OK;
}

/* ---- InstanceNormalization, GroupNormalization ---- */

/* Channels in groups of consecutive ones; each group of each image is a block. */
static tw_status by_groups(const tw_ref_case *c, tw_array *output, int64_t groups)
{
    const tw_array *x, *scale, *bias;
    TW_TRY(need_float(c, 2, &x));
    int64_t channels = x->dim[1], inner = tw_ref_extent(x, 2, x->n_dims);
    if (groups <= 0) groups = channels;
    if (groups == 0 || channels % groups)
        return tw_ref_error(c, "%" PRId64 " groups of %" PRId64 " channels", groups, channels);
    TW_TRY(tw_ref_need(c, 1, &scale));
    TW_TRY(need_n(c, 1, scale->n == groups ? groups : channels, &scale));
    TW_TRY(need_n(c, 2, scale->n, &bias));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    double *v = tw_array_reals(x, c->arena), epsilon = epsilon_of(c, 1e-5f);
    if (!v) return TW_ERR_NOMEM;
    int64_t per_group = channels / groups;
    for (int64_t g = 0; g < x->dim[0] * groups; g++) {
        double *block = v + g * per_group * inner;
        moments m = moments_of(block, per_group * inner);
        for (int64_t k = 0; k < per_group; k++) {
            int64_t p = scale->n == groups ? g % groups : g % groups * per_group + k;
            scale_block(block + k * inner, inner, m.mean, tw_array_get(scale, p) / sqrt(m.variance + epsilon),
                        tw_array_get(bias, p));
        }
    }
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status run_instance(const tw_ref_case *c, tw_array *output) { return by_groups(c, output, 0); }

static tw_status run_group(const tw_ref_case *c, tw_array *output)
{
    int64_t groups = tw_onnx_int(c->node, "num_groups", -1);
    if (groups < 1) return tw_ref_error(c, "num_groups is missing or not positive");
    return by_groups(c, output, groups);
}

/* ---- LayerNormalization and what others made of it ---- */

typedef struct layer {
    const tw_array *scale, *bias; /* per element of a block, NULL: 1 and 0; broadcast as a tail of it */
    bool centred;                 /* false: the root of the mean square alone                         */
    double epsilon;
    int64_t n; /* of a block */
} layer;

static void layer_block(const layer *l, double *v, tw_array *means, tw_array *inverses, int64_t block)
{
    moments m = moments_of(v, l->n);
    if (!l->centred) m = (moments){0, m.variance + m.mean * m.mean};
    double inverse = 1 / sqrt(m.variance + l->epsilon);
    for (int64_t i = 0; i < l->n; i++)
        v[i] = (v[i] - m.mean) * inverse * (l->scale ? tw_array_get(l->scale, i % l->scale->n) : 1) +
               (l->bias ? tw_array_get(l->bias, i % l->bias->n) : 0);
    if (means) tw_array_set(means, block, m.mean);
    if (inverses) tw_array_set(inverses, block, inverse);
}

/* Scale and bias have to end as a block does. */
static tw_status check_tail(const tw_ref_case *c, const layer *l)
{
    const tw_array *tail[] = {l->scale, l->bias};
    for (int i = 0; i < 2; i++)
        if (tail[i] && (tail[i]->n < 1 || l->n % tail[i]->n || !tw_onnx_is_float(tail[i]->type)))
            return tw_ref_error(c, "scale or bias with %" PRId64 " elements for blocks of %" PRId64, tail[i]->n,
                                l->n);
    return TW_OK;
}

static tw_status by_layers(const tw_ref_case *c, tw_array *output, const tw_array *x, double *v, int axis, layer *l)
{
    tw_array shape = *x, *extra[2] = {NULL, NULL};
    l->n = tw_ref_extent(x, axis, x->n_dims);
    TW_TRY(check_tail(c, l));
    for (int i = axis; i < x->n_dims; i++) shape.dim[i] = 1;
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    for (int i = 1; i < 3; i++)
        if (tw_ref_wants(c, i)) {
            extra[i - 1] = &output[i];
            TW_TRY(tw_ref_make(c, TW_ONNX_F32, shape.n_dims, shape.dim, &output[i]));
        }
    for (int64_t b = 0; l->n > 0 && b < x->n / l->n; b++)
        layer_block(l, v + b * l->n, extra[0], l->centred ? extra[1] : extra[0], b);
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status layers(const tw_ref_case *c, tw_array *output, bool centred)
{
    const tw_array *x;
    int axis;
    TW_TRY(need_float(c, 1, &x));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", -1), x->n_dims, &axis));
    layer l = {tw_ref_input(c, 1), centred ? tw_ref_input(c, 2) : NULL, centred, epsilon_of(c, 1e-5f), 0};
    double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    return by_layers(c, output, x, v, axis, &l);
}

static tw_status run_layer(const tw_ref_case *c, tw_array *output) { return layers(c, output, true); }

static tw_status run_simplified(const tw_ref_case *c, tw_array *output) { return layers(c, output, false); }

/* v += a, which may be a tail of it. */
static tw_status add_tail(const tw_ref_case *c, double *v, int64_t n, const tw_array *a)
{
    if (!a) return TW_OK;
    if (a->n < 1 || n % a->n) return tw_ref_error(c, "skip or bias with %" PRId64 " elements", a->n);
    for (int64_t i = 0; i < n; i++) v[i] += tw_array_get(a, i % a->n);
    return TW_OK;
}

/* Inputs: x, skip, gamma, [beta,] bias. Output 3 is the sum that is normalised. */
static tw_status skip(const tw_ref_case *c, tw_array *output, bool centred)
{
    const tw_array *x;
    TW_TRY(need_float(c, 1, &x));
    layer l = {tw_ref_input(c, 2), centred ? tw_ref_input(c, 3) : NULL, centred, epsilon_of(c, 1e-12f), 0};
    double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    TW_TRY(add_tail(c, v, x->n, tw_ref_input(c, 1)));
    TW_TRY(add_tail(c, v, x->n, tw_ref_input(c, centred ? 4 : 3)));
    if (tw_ref_wants(c, 3)) {
        TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, &output[3]));
        tw_array_put_reals(&output[3], v);
    }
    return by_layers(c, output, x, v, x->n_dims - 1, &l);
}

static tw_status run_skip(const tw_ref_case *c, tw_array *output) { return skip(c, output, true); }

static tw_status run_skip_simplified(const tw_ref_case *c, tw_array *output) { return skip(c, output, false); }

/* ---- LpNormalization, MeanVarianceNormalization, LRN ---- */

static void lp_row(double *v, int64_t n, int64_t step, bool squared)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += squared ? v[i * step] * v[i * step] : fabs(v[i * step]);
    double norm = squared ? sqrt(sum) : sum;
    for (int64_t i = 0; i < n && norm != 0; i++) v[i * step] /= norm; /* what has no length stays zero */
}

static tw_status run_lp(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int axis;
    int64_t p = tw_onnx_int(c->node, "p", 2);
    TW_TRY(need_float(c, 1, &x));
    if (p != 1 && p != 2) return tw_ref_error(c, "p is %" PRId64 ", neither 1 nor 2", p);
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", -1), x->n_dims, &axis));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    int64_t n = x->dim[axis], step = tw_ref_extent(x, axis + 1, x->n_dims);
    for (int64_t i = 0; i < x->n; i += n * step)
        for (int64_t j = 0; j < step; j++) lp_row(v + i + j, n, step, p == 2);
    tw_array_put_reals(output, v);
    return TW_OK;
}

/* The shape of x with 1 for each axis that is averaged over. */
static tw_status averaged_shape(const tw_ref_case *c, const tw_array *x, tw_array *out)
{
    static const int64_t usual[] = {0, 2, 3};
    tw_ref_list axes;
    TW_TRY(tw_ref_ints(c, "axes", -1, &axes));
    if (!axes.there) axes = (tw_ref_list){true, 3, usual};
    *out = (tw_array){.type = TW_ONNX_F64, .n_dims = x->n_dims};
    memcpy(out->dim, x->dim, sizeof out->dim);
    for (int64_t i = 0; i < axes.n; i++) {
        int axis;
        TW_TRY(tw_ref_axis(c, axes.v[i], x->n_dims, &axis));
        out->dim[axis] = 1;
    }
    return TW_OK;
}

static tw_status run_mean_variance(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_array shape;
    moments *m;
    TW_TRY(need_float(c, 1, &x));
    TW_TRY(averaged_shape(c, x, &shape));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    int64_t n = tw_ref_extent(&shape, 0, shape.n_dims);
    double *v = tw_array_reals(x, c->arena), each = n ? (double)x->n / (double)n : 1;
    TW_ALLOC(c->arena, m, tw_max(n, 1));
    if (!v) return TW_ERR_NOMEM;
    for (int pass = 0; pass < 3; pass++) {
        tw_walk w = tw_walk_of(x->n_dims, x->dim);
        tw_walk_operand(&w, &shape);
        for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
            moments *mine = &m[w.at[0]];
            if (pass == 0)
                mine->mean += v[i] / each;
            else if (pass == 1)
                mine->variance += (v[i] - mine->mean) * (v[i] - mine->mean) / each;
            else
                v[i] = (v[i] - mine->mean) / (sqrt(mine->variance) + 1e-9);
        }
    }
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status run_lrn(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int64_t size = tw_onnx_int(c->node, "size", 0);
    double alpha = (double)tw_onnx_float(c->node, "alpha", 1e-4f),
           beta = (double)tw_onnx_float(c->node, "beta", 0.75f);
    double bias = (double)tw_onnx_float(c->node, "bias", 1);
    TW_TRY(need_float(c, 2, &x));
    if (size < 1 || size > TW_EXTENT_MAX) return tw_ref_error(c, "size is %" PRId64, size);
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    const double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    int64_t channels = x->dim[1], inner = tw_ref_extent(x, 2, x->n_dims);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t k = i / inner % channels, lo = tw_max(k - (size - 1) / 2, 0),
                hi = tw_min(k + size / 2, channels - 1);
        double sum = 0;
        for (int64_t j = lo; j <= hi; j++) sum += v[i + (j - k) * inner] * v[i + (j - k) * inner];
        tw_array_set(output, i, v[i] / pow(bias + alpha / (double)size * sum, beta));
    }
    return TW_OK;
}

const tw_ref_entry tw_ref_norms[] = {
    {"BatchNormalization", "", run_batch},
    {"InstanceNormalization", "", run_instance},
    {"GroupNormalization", "", run_group},
    {"LayerNormalization", "", run_layer},
    {"SimplifiedLayerNormalization", "", run_simplified},
    {"SimplifiedLayerNormalization", "com.microsoft", run_simplified},
    {"SkipLayerNormalization", "com.microsoft", run_skip},
    {"SkipSimplifiedLayerNormalization", "com.microsoft", run_skip_simplified},
    {"LpNormalization", "", run_lp},
    {"MeanVarianceNormalization", "", run_mean_variance},
    {"LRN", "", run_lrn},
    {0},
};
