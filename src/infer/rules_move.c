/* src/infer/rules_move.c - operators that lay elements out anew: reshapes, joins, cuts, resizes, made-up tensors. */
#include "infer/rule.h"

#include <math.h>
#include <string.h>

/* ---- the same elements under another shape ---- */

static tw_status no_reshape(const tw_rule_case *c, const tw_ints *to)
{
    char from[TW_SHAPE_TEXT], target[TW_SHAPE_TEXT];
    return tw_rule_error(c, "%s does not fit into %s", tw_shape_text(c->in[0]->n_dims, c->in[0]->dim, from),
                         tw_shape_text(to->n, to->v, target));
}

/* Product of all but the axis `open`; -1 when it does not fit. */
static int64_t product_without(const tw_dims *dims, int open)
{
    int64_t n = 1;
    for (int i = 0; i < dims->n; i++)
        if (i != open && !tw_ckd_mul(n, dims->dim[i], &n)) return -1;
    return n;
}

static tw_status set_ints(const tw_rule_case *c, const tw_ints *dims)
{
    tw_dims out = {0};
    for (int i = 0; i < dims->n; i++) tw_dims_add(&out, dims->v[i]);
    return tw_rule_set(c, 0, &out);
}

/* Whether the shape says itself what it is, whatever is reshaped. */
static bool is_complete(const tw_ints *to, bool zeros)
{
    for (int i = 0; i < to->n; i++)
        if (to->v[i] < !zeros) return false;
    return true;
}

/* 0: as before (or nothing, with allowzero), -1: what is left. */
static tw_status reshape(const tw_rule_case *c)
{
    tw_ints to;
    const tw_shape_of_value *x = c->in[0];
    bool zeros = tw_onnx_int(c->node, "allowzero", 0) != 0;
    TW_TRY(tw_rule_ints(c, "shape", 1, &to));
    if (!to.there) return tw_rule_error(c, "no shape is given");
    if (!to.known) return TW_OK;
    if (!x->known) return is_complete(&to, zeros) ? set_ints(c, &to) : TW_OK;
    if (to.n > TW_ONNX_MAX_DIMS)
        return tw_rule_error(c, "%d dimensions, at most %d are understood", to.n, TW_ONNX_MAX_DIMS);
    tw_dims out = {.n = to.n};
    int open = -1;
    for (int i = 0; i < to.n; i++) {
        bool copy = to.v[i] == 0 && !zeros;
        if (to.v[i] < -1 || to.v[i] > TW_EXTENT_MAX || (copy && i >= x->n_dims) || (to.v[i] == -1 && open >= 0))
            return no_reshape(c, &to);
        if (to.v[i] == -1) open = i;
        out.dim[i] = copy ? x->dim[i] : to.v[i];
    }
    int64_t rest = product_without(&out, open);
    if (open >= 0 && rest > 0 && x->n_elems % rest == 0) out.dim[open] = x->n_elems / rest;
    if (open >= 0 && rest == 0 && x->n_elems == 0) out.dim[open] = 0;
    if (product_without(&out, -1) != x->n_elems) return no_reshape(c, &to);
    return tw_rule_set(c, 0, &out);
}

static tw_status flatten(const tw_rule_case *c)
{
    int rank = c->in[0]->n_dims;
    int64_t axis = tw_onnx_int(c->node, "axis", 1);
    if (axis < -rank || axis > rank)
        return tw_rule_error(c, "axis %" PRId64 " of a tensor with %d dimensions", axis, rank);
    if (axis < 0) axis += rank;
    tw_dims out = {2, {1, 1}};
    for (int i = 0; i < rank; i++)
        if (!tw_ckd_mul(out.dim[i >= axis], c->in[0]->dim[i], &out.dim[i >= axis]))
            return tw_rule_error(c, "a dimension exceeds %" PRId64, TW_EXTENT_MAX);
    return tw_rule_set(c, 0, &out);
}

/* Without axes all that are 1 go. */
static tw_status squeeze(const tw_rule_case *c)
{
    tw_ints axes;
    bool gone[TW_ONNX_MAX_DIMS] = {false};
    const tw_shape_of_value *x = c->in[0];
    char text[TW_SHAPE_TEXT];
    TW_TRY(tw_rule_ints(c, "axes", 1, &axes));
    if (axes.there && !axes.known) return TW_OK;
    for (int i = 0; !axes.there && i < x->n_dims; i++) gone[i] = x->dim[i] == 1;
    for (int i = 0; i < axes.n; i++) {
        int axis;
        TW_TRY(tw_rule_axis(c, axes.v[i], x->n_dims, &axis));
        if (x->dim[axis] != 1)
            return tw_rule_error(c, "axis %d of %s is not 1", axis, tw_shape_text(x->n_dims, x->dim, text));
        gone[axis] = true;
    }
    tw_dims out = {0};
    for (int i = 0; i < x->n_dims; i++)
        if (!gone[i]) tw_dims_add(&out, x->dim[i]);
    return tw_rule_set(c, 0, &out);
}

static tw_status unsqueeze(const tw_rule_case *c)
{
    tw_ints axes;
    bool made[TW_ONNX_MAX_DIMS] = {false};
    TW_TRY(tw_rule_ints(c, "axes", 1, &axes));
    if (!axes.there) return tw_rule_error(c, "no axes are given");
    if (!axes.known) return TW_OK;
    if (axes.n + c->in[0]->n_dims > TW_ONNX_MAX_DIMS)
        return tw_rule_error(c, "%d dimensions, at most %d are understood", axes.n + c->in[0]->n_dims,
                             TW_ONNX_MAX_DIMS);
    tw_dims out = {.n = axes.n + c->in[0]->n_dims};
    for (int i = 0; i < axes.n; i++) {
        int axis;
        TW_TRY(tw_rule_axis(c, axes.v[i], out.n, &axis));
        if (made[axis]) return tw_rule_error(c, "axis %d is given twice", axis);
        made[axis] = true;
    }
    for (int i = 0, from = 0; i < out.n; i++) out.dim[i] = made[i] ? 1 : c->in[0]->dim[from++];
    return tw_rule_set(c, 0, &out);
}

static tw_status transpose(const tw_rule_case *c)
{
    int64_t perm[TW_ONNX_MAX_DIMS];
    bool used[TW_ONNX_MAX_DIMS] = {false};
    const tw_shape_of_value *x = c->in[0];
    tw_dims out = {.n = x->n_dims};
    TW_TRY(tw_rule_attr(c, "perm", x->n_dims, 0, 0, perm));
    bool given = tw_onnx_attribute(c->node, "perm") != NULL;
    for (int i = 0; i < x->n_dims; i++) {
        int64_t from = given ? perm[i] : x->n_dims - 1 - i;
        if (from >= x->n_dims || used[from])
            return tw_rule_error(c, "perm is no permutation of %d axes", x->n_dims);
        used[from] = true;
        out.dim[i] = x->dim[from];
    }
    return tw_rule_set(c, 0, &out);
}

static tw_status read_block(const tw_rule_case *c, int64_t *block)
{
    TW_TRY(tw_rule_rank(c, 0, 4, 4));
    TW_TRY(tw_rule_attr(c, "blocksize", 1, 1, 1, block));
    return *block > 65535 ? tw_rule_error(c, "blocksize %" PRId64 " makes no sense", *block) : TW_OK;
}

static tw_status depth_to_space(const tw_rule_case *c)
{
    int64_t b;
    TW_TRY(read_block(c, &b));
    const int64_t *x = c->in[0]->dim;
    if (x[1] % (b * b) != 0)
        return tw_rule_error(c, "%" PRId64 " channels are no multiple of %" PRId64, x[1], b * b);
    return tw_rule_set(c, 0, &(tw_dims){4, {x[0], x[1] / (b * b), x[2] * b, x[3] * b}});
}

static tw_status space_to_depth(const tw_rule_case *c)
{
    int64_t b, channels;
    TW_TRY(read_block(c, &b));
    const int64_t *x = c->in[0]->dim;
    if (x[2] % b != 0 || x[3] % b != 0)
        return tw_rule_error(c, "%" PRId64 "x%" PRId64 " is no multiple of %" PRId64, x[2], x[3], b);
    if (!tw_ckd_mul(x[1], b * b, &channels)) return tw_rule_error(c, "too many channels");
    return tw_rule_set(c, 0, &(tw_dims){4, {x[0], channels, x[2] / b, x[3] / b}});
}

/* ---- joins and cuts ---- */

static tw_status concat(const tw_rule_case *c)
{
    int axis;
    tw_dims out = tw_dims_of(c->in[0]);
    char a[TW_SHAPE_TEXT], b[TW_SHAPE_TEXT];
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 1), out.n, &axis));
    for (int k = 1; k < c->n_in; k++) {
        const tw_shape_of_value *x = c->in[k];
        bool fits = x->n_dims == out.n;
        for (int i = 0; fits && i < out.n; i++) fits = i == axis || x->dim[i] == out.dim[i];
        if (!fits)
            return tw_rule_error(c, "input %d is %s, it cannot follow %s along axis %d", k,
                                 tw_shape_text(x->n_dims, x->dim, a),
                                 tw_shape_text(c->in[0]->n_dims, c->in[0]->dim, b), axis);
        if (!tw_ckd_add(out.dim[axis], x->dim[axis], &out.dim[axis]))
            return tw_rule_error(c, "the axis is too long");
    }
    return tw_rule_set(c, 0, &out);
}

/* Parts as they are given, or as equal as can be: the last one is smaller. */
static tw_status split(const tw_rule_case *c)
{
    int axis;
    tw_ints parts;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 0), out.n, &axis));
    TW_TRY(tw_rule_ints(c, "split", 1, &parts));
    if (c->n_out == 0 || (parts.there && !parts.known)) return TW_OK;
    if (parts.there && parts.n != c->n_out)
        return tw_rule_error(c, "%d parts are given, there are %d outputs", parts.n, c->n_out);
    int64_t left = c->in[0]->dim[axis], all = left;
    int64_t equal = tw_cdiv(all, tw_max(1, tw_onnx_int(c->node, "num_outputs", c->n_out)));
    for (int k = 0; k < c->n_out; k++) {
        out.dim[axis] = parts.there ? parts.v[k] : tw_min(equal, left);
        if (out.dim[axis] < 0 || out.dim[axis] > left)
            return tw_rule_error(c, "the parts do not add up to %" PRId64, all);
        left -= out.dim[axis];
        TW_TRY(tw_rule_set(c, k, &out));
    }
    return left == 0 ? TW_OK : tw_rule_error(c, "the parts do not add up to %" PRId64, all);
}

/* ---- larger and smaller ---- */

static bool is_bounded(int64_t x) { return -TW_EXTENT_MAX <= x && x <= TW_EXTENT_MAX; }

/* Pads of all axes' fronts, then of all backs; of some axes only when they are given. Negative ones cut. */
static tw_status pad(const tw_rule_case *c)
{
    tw_ints pads, axes;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_ints(c, c->opset < 2 ? "paddings" : "pads", 1, &pads));
    TW_TRY(tw_rule_ints(c, NULL, 3, &axes));
    if (!pads.there) return tw_rule_error(c, "no pads are given");
    if (!pads.known || (axes.there && !axes.known)) return TW_OK;
    int n = axes.there ? axes.n : out.n;
    if (pads.n != 2 * n) return tw_rule_error(c, "%d pads for %d axes", pads.n, n);
    for (int i = 0; i < n; i++) {
        int axis = i;
        if (axes.there) TW_TRY(tw_rule_axis(c, axes.v[i], out.n, &axis));
        if (!is_bounded(pads.v[i]) || !is_bounded(pads.v[n + i])) return tw_rule_error(c, "pads make no sense");
        out.dim[axis] = c->in[0]->dim[axis] + pads.v[i] + pads.v[n + i];
    }
    return tw_rule_set(c, 0, &out);
}

static tw_status tile(const tw_rule_case *c)
{
    tw_ints times;
    tw_dims out = tw_dims_of(c->in[0]);
    if (c->opset < 6) return TW_OK;
    TW_TRY(tw_rule_ints(c, NULL, 1, &times));
    if (!times.known) return TW_OK;
    if (times.n != out.n) return tw_rule_error(c, "%d repeats for %d axes", times.n, out.n);
    for (int i = 0; i < out.n; i++)
        if (times.v[i] < 0 || !tw_ckd_mul(out.dim[i], times.v[i], &out.dim[i]))
            return tw_rule_error(c, "axis %d is repeated %" PRId64 " times", i, times.v[i]);
    return tw_rule_set(c, 0, &out);
}

static tw_status expand(const tw_rule_case *c)
{
    tw_ints to;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_ints(c, NULL, 1, &to));
    if (!to.known) return TW_OK;
    if (to.n > TW_ONNX_MAX_DIMS)
        return tw_rule_error(c, "%d dimensions, at most %d are understood", to.n, TW_ONNX_MAX_DIMS);
    TW_TRY(tw_rule_broadcast(c, &out, to.n, to.v));
    return tw_rule_set(c, 0, &out);
}

/* Factors of a resize: floats in an attribute or an input. n is 0 when there are none, -1 when they are not known. */
static tw_status read_scales(const tw_rule_case *c, int k, int *n, float scale[TW_ONNX_MAX_DIMS])
{
    const tw_attribute *a = tw_onnx_attribute(c->node, "scales");
    const tw_array *array = NULL;
    if (!a && !tw_rule_in(c, k)) return *n = 0, TW_OK;
    if (!a && c->in[k]->known && c->in[k]->n_elems == 0) return *n = 0, TW_OK;
    if (!a) TW_TRY(tw_rule_constant(c, k, &array));
    if (!a && !array) return *n = -1, TW_OK;
    int64_t count = a ? a->n : array->n;
    if (count > TW_ONNX_MAX_DIMS || (a && a->kind != TW_ATTR_FLOATS))
        return tw_rule_error(c, "the scales make no sense");
    for (int64_t i = 0; i < count; i++) scale[i] = a ? a->floats[i] : (float)tw_array_get(array, i);
    *n = (int)count;
    return TW_OK;
}

/* The product is rounded to a float before it is rounded down: 10 times the float below 0.7 is 7. */
static tw_status scaled(const tw_rule_case *c, int64_t in, float scale, int64_t *out)
{
    float x = (float)in * scale;
    if (!(scale > 0) || !(x <= (float)TW_EXTENT_MAX))
        return tw_rule_error(c, "a scale of %g makes no sense", (double)scale);
    *out = (int64_t)floorf(x);
    return TW_OK;
}

static tw_status upsample(const tw_rule_case *c)
{
    float scale[TW_ONNX_MAX_DIMS];
    int n;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(read_scales(c, 1, &n, scale));
    if (n < 0) return TW_OK;
    if (n != out.n) return tw_rule_error(c, "%d scales for %d axes", n, out.n);
    for (int i = 0; i < n; i++) TW_TRY(scaled(c, out.dim[i], scale[i], &out.dim[i]));
    return tw_rule_set(c, 0, &out);
}

/* Sizes that keep the aspect ratio: the smallest or largest of the factors counts for all axes. */
static void keep_aspect(const tw_rule_case *c, const int *axis, int n, const char *policy, int64_t *size)
{
    bool larger = strcmp(policy, "not_smaller") == 0;
    float factor = larger ? 0 : INFINITY;
    for (int i = 0; i < n; i++) {
        float f = (float)size[i] / (float)tw_max(1, c->in[0]->dim[axis[i]]);
        factor = larger ? fmaxf(factor, f) : fminf(factor, f);
    }
    for (int i = 0; i < n; i++) size[i] = (int64_t)fminf(roundf(factor * (float)c->in[0]->dim[axis[i]]), 1e15f);
}

static tw_status resize_axes(const tw_rule_case *c, int axis[TW_ONNX_MAX_DIMS], int *n)
{
    tw_ints axes;
    TW_TRY(tw_rule_ints(c, "axes", -1, &axes));
    *n = axes.there ? axes.n : c->in[0]->n_dims;
    if (*n > c->in[0]->n_dims) return tw_rule_error(c, "%d axes of a tensor with %d", *n, c->in[0]->n_dims);
    for (int i = 0; i < *n; i++) {
        axis[i] = i;
        if (axes.there) TW_TRY(tw_rule_axis(c, axes.v[i], c->in[0]->n_dims, &axis[i]));
    }
    return TW_OK;
}

static tw_status resize_to(const tw_rule_case *c, const int *axis, int n, const tw_ints *sizes)
{
    int64_t size[TW_ONNX_MAX_DIMS];
    tw_dims out = tw_dims_of(c->in[0]);
    const char *policy = tw_onnx_string(c->node, "keep_aspect_ratio_policy", "stretch");
    if (sizes->n != n) return tw_rule_error(c, "%d sizes for %d axes", sizes->n, n);
    for (int i = 0; i < n; i++) {
        if (sizes->v[i] < 0 || sizes->v[i] > TW_EXTENT_MAX)
            return tw_rule_error(c, "a size of %" PRId64 " makes no sense", sizes->v[i]);
        size[i] = sizes->v[i];
    }
    if (strcmp(policy, "stretch") != 0) keep_aspect(c, axis, n, policy, size);
    for (int i = 0; i < n; i++) out.dim[axis[i]] = size[i];
    return tw_rule_set(c, 0, &out);
}

/* With cropping, a scale counts for the region of interest: starts of all axes, then ends. */
static tw_status crop_extent(const tw_rule_case *c, int n, int i, float *extent)
{
    const tw_array *roi;
    if (strcmp(tw_onnx_string(c->node, "coordinate_transformation_mode", ""), "tf_crop_and_resize") != 0)
        return TW_OK;
    TW_TRY(tw_rule_constant(c, 1, &roi));
    if (roi && roi->n == 2 * n) *extent = (float)(tw_array_get(roi, n + i) - tw_array_get(roi, i));
    return TW_OK;
}

/* A tensor without a shape has one when all its axes are resized to given sizes. */
static tw_status resize_unknown(const tw_rule_case *c, const tw_ints *sizes)
{
    bool all = !tw_onnx_attribute(c->node, "axes") && !tw_onnx_attribute(c->node, "keep_aspect_ratio_policy");
    return sizes->n > 0 && all ? set_ints(c, sizes) : TW_OK;
}

static tw_status resize_by(const tw_rule_case *c, const int *axis, int n)
{
    float scale[TW_ONNX_MAX_DIMS];
    int n_scales;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(read_scales(c, c->opset < 11 ? 1 : 2, &n_scales, scale));
    if (n_scales < 0) return TW_OK;
    if (n_scales != n) return tw_rule_error(c, "%d scales for %d axes", n_scales, n);
    for (int i = 0; i < n; i++) {
        float extent = 1;
        TW_TRY(crop_extent(c, n, i, &extent));
        TW_TRY(scaled(c, out.dim[axis[i]], scale[i] * extent, &out.dim[axis[i]]));
    }
    return tw_rule_set(c, 0, &out);
}

/* Version 10: scales are input 1; later: region, scales, sizes. */
static tw_status resize(const tw_rule_case *c)
{
    int axis[TW_ONNX_MAX_DIMS], n;
    tw_ints sizes = {0};
    if (c->opset >= 11) TW_TRY(tw_rule_ints(c, NULL, 3, &sizes));
    if (sizes.there && !sizes.known) return TW_OK;
    if (!c->in[0]->known) return resize_unknown(c, &sizes);
    TW_TRY(resize_axes(c, axis, &n));
    return sizes.n > 0 ? resize_to(c, axis, n, &sizes) : resize_by(c, axis, n);
}

/* ---- tensors from nothing ---- */

/* Shape and Size are constants whatever is in the tensor. */
static tw_status shape(const tw_rule_case *c)
{
    int64_t rank = c->in[0]->n_dims;
    int64_t start = tw_onnx_int(c->node, "start", 0), end = tw_onnx_int(c->node, "end", rank);
    start = tw_clamp(start < 0 ? start + rank : start, 0, rank);
    end = tw_clamp(end < 0 ? end + rank : end, start, rank);
    return tw_rule_set_row(c, c->in[0]->dim + start, (int)(end - start));
}

static tw_status size(const tw_rule_case *c)
{
    tw_array *array;
    TW_TRY(tw_rule_set(c, 0, &(tw_dims){0}));
    TW_ALLOC(c->arena, array, 1);
    TW_TRY(tw_array_new(TW_ONNX_I64, 0, NULL, c->arena, array));
    *(int64_t *)array->data = c->in[0]->n_elems;
    c->out[0].constant = array;
    return TW_OK;
}

static tw_status constant(const tw_rule_case *c)
{
    static const struct {
        const char *name;
        tw_onnx_type type;
        bool row;
    } kind[] = {{"value_float", TW_ONNX_F32, false},     {"value_floats", TW_ONNX_F32, true},
                {"value_int", TW_ONNX_I64, false},       {"value_ints", TW_ONNX_I64, true},
                {"value_string", TW_ONNX_STRING, false}, {"value_strings", TW_ONNX_STRING, true}};
    for (size_t i = 0; i < TW_COUNT(kind); i++) {
        const tw_attribute *a = tw_onnx_attribute(c->node, kind[i].name);
        if (!a) continue;
        c->out[0].type = kind[i].type;
        return tw_rule_set(c, 0, &(tw_dims){kind[i].row, {a->n}});
    }
    return TW_OK;
}

static tw_status constant_of_shape(const tw_rule_case *c)
{
    tw_ints dims;
    const tw_attribute *value = tw_onnx_attribute(c->node, "value");
    c->out[0].type = value && value->tensor ? value->tensor->type : TW_ONNX_F32;
    TW_TRY(tw_rule_ints(c, NULL, 0, &dims));
    return dims.known ? set_ints(c, &dims) : TW_OK;
}

static tw_status random_tensor(const tw_rule_case *c)
{
    tw_ints dims;
    c->out[0].type = tw_rule_type(c, "dtype", TW_ONNX_F32);
    TW_TRY(tw_rule_ints(c, "shape", -1, &dims));
    return set_ints(c, &dims);
}

static tw_status multinomial(const tw_rule_case *c)
{
    int64_t n;
    TW_TRY(tw_rule_rank(c, 0, 2, 2));
    TW_TRY(tw_rule_attr(c, "sample_size", 1, 1, 1, &n));
    c->out[0].type = tw_rule_type(c, "dtype", TW_ONNX_I32);
    return tw_rule_set(c, 0, &(tw_dims){2, {c->in[0]->dim[0], n}});
}

static tw_status range(const tw_rule_case *c)
{
    const tw_array *part[3];
    for (int k = 0; k < 3; k++) {
        TW_TRY(tw_rule_constant(c, k, &part[k]));
        if (!part[k]) return TW_OK;
        if (part[k]->n != 1) return tw_rule_error(c, "input %d is not one number", k);
    }
    double from = tw_array_get(part[0], 0), to = tw_array_get(part[1], 0), step = tw_array_get(part[2], 0);
    double n = ceil((to - from) / step);
    if (step == 0 || !(n <= (double)TW_EXTENT_MAX))
        return tw_rule_error(c, "from %g to %g in steps of %g", from, to, step);
    return tw_rule_set(c, 0, &(tw_dims){1, {n > 0 ? (int64_t)n : 0}});
}

static tw_status one_hot(const tw_rule_case *c)
{
    int rank = c->in[0]->n_dims + 1, axis;
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", -1), rank, &axis));
    const tw_array *array;
    TW_TRY(tw_rule_constant(c, 1, &array));
    if (!array) return TW_OK;
    if (array->n != 1) return tw_rule_error(c, "depth is not one number");
    int64_t depth = tw_array_get_int(array, 0);
    tw_dims out = {0};
    for (int i = 0, from = 0; i < rank; i++) tw_dims_add(&out, i == axis ? depth : c->in[0]->dim[from++]);
    return tw_rule_set(c, 0, &out);
}

/* ---- images ---- */

static tw_status grid_sample(const tw_rule_case *c)
{
    TW_TRY(tw_rule_rank(c, 0, 3, TW_ONNX_MAX_DIMS));
    TW_TRY(tw_rule_rank(c, 1, c->in[0]->n_dims, c->in[0]->n_dims));
    tw_dims out = {2, {c->in[0]->dim[0], c->in[0]->dim[1]}};
    for (int i = 1; i + 1 < c->in[1]->n_dims; i++) tw_dims_add(&out, c->in[1]->dim[i]);
    return tw_rule_set(c, 0, &out);
}

static tw_status affine_grid(const tw_rule_case *c)
{
    tw_ints size_of;
    TW_TRY(tw_rule_ints(c, NULL, 1, &size_of));
    if (!size_of.known) return TW_OK;
    if (size_of.n != 4 && size_of.n != 5)
        return tw_rule_error(c, "a size of %d numbers, 4 or 5 expected", size_of.n);
    tw_dims out = {1, {size_of.v[0]}};
    for (int i = 2; i < size_of.n; i++) tw_dims_add(&out, size_of.v[i]);
    tw_dims_add(&out, size_of.n - 2);
    return tw_rule_set(c, 0, &out);
}

static tw_status roi_align(const tw_rule_case *c)
{
    int64_t height, width;
    TW_TRY(tw_rule_rank(c, 0, 4, 4));
    TW_TRY(tw_rule_rank(c, 1, 2, 2));
    TW_TRY(tw_rule_attr(c, "output_height", 1, 1, 1, &height));
    TW_TRY(tw_rule_attr(c, "output_width", 1, 1, 1, &width));
    return tw_rule_set(c, 0, &(tw_dims){4, {c->in[1]->dim[0], c->in[0]->dim[1], height, width}});
}

static tw_status center_crop_pad(const tw_rule_case *c)
{
    tw_ints to, axes;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_ints(c, NULL, 1, &to));
    TW_TRY(tw_rule_ints(c, "axes", -1, &axes));
    if (!to.known) return TW_OK;
    if (to.n != (axes.there ? axes.n : out.n)) return tw_rule_error(c, "%d sizes for another number of axes", to.n);
    for (int i = 0; i < to.n; i++) {
        int axis = i;
        if (axes.there) TW_TRY(tw_rule_axis(c, axes.v[i], out.n, &axis));
        out.dim[axis] = to.v[i];
    }
    return tw_rule_set(c, 0, &out);
}

static const tw_rule rules[] = {
    {"Reshape", "", "Tl?:T", reshape, true},
    {"Flatten", "", "T:T", flatten},
    {"Squeeze", "", "Tl?:T", squeeze},
    {"Unsqueeze", "", "Tl?:T", unsqueeze},
    {"Transpose", "", "T:T", transpose},
    {"DepthToSpace", "", "T:T", depth_to_space},
    {"SpaceToDepth", "", "T:T", space_to_depth},
    {"Concat", "", "T+:T", concat},
    {"Split", "", "Tl?:T+", split},
    {"Pad", "", "Tl?T?i?:T", pad},
    {"Pad", "com.microsoft", "Tl?T?i?:T", pad},
    {"Tile", "", "Tl.?:T", tile},
    {"Expand", "", "Tl:T", expand},
    {"Upsample", "", "Tf?:T", upsample},
    {"Resize", "", "TU?f?l?:T", resize, true},
    {"Shape", "", "T:l", shape},
    {"Size", "", "T:l", size},
    {"Constant", "", ":.", constant},
    {"ConstantOfShape", "", "l:.", constant_of_shape},
    {"RandomNormal", "", ":.", random_tensor},
    {"RandomUniform", "", ":.", random_tensor},
    {"Multinomial", "", "T:.", multinomial},
    {"Range", "", "TTT:T", range},
    {"OneHot", "", "TUV:V", one_hot},
    {"GridSample", "", "TU:T", grid_sample},
    {"AffineGrid", "", "Tl:T", affine_grid},
    {"RoiAlign", "", "TTl:T", roi_align},
    {"CenterCropPad", "", "Ti:T", center_crop_pad},
};
const tw_rules tw_rules_move = {rules, TW_COUNT(rules), false};
