/* src/reference/move_resize.c - Resize and Upsample.
 *
 * Every position of an output axis is a place between the input's: the coordinate mode says which. Scales are floats of 32
 * bits, and so are places: a position that is near a boundary falls on the side on which onnxruntime sees it. Nearest rounds it
 * to one element and moves that, whatever its type. Linear and cubic weigh the elements around it, axis by axis in
 * double, with one rounding at the end; a filter for a smaller image may be stretched (antialias). The two filters
 * differ in their weights and their reach alone. */
#include "reference/moving.h"

#include <math.h>
#include <string.h>

typedef enum places { HALF_PIXEL, SYMMETRIC, PYTORCH, CORNERS, ASYMMETRIC, TF_NEAREST, TF_CROP } places;
typedef enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, SIMPLE } rounding; /* SIMPLE: before version 11 */

typedef struct resizing {
    const tw_array *x;
    int reach; /* of the filter: 0 nearest, 1 linear, 2 cubic */
    places places;
    rounding rounding;
    double a, beyond; /* of cubic; what tf_crop_and_resize reads outside */
    bool exclude, antialias;
    float scale[TW_ONNX_MAX_DIMS], start[TW_ONNX_MAX_DIMS], end[TW_ONNX_MAX_DIMS];
    int64_t out[TW_ONNX_MAX_DIMS];
} resizing;

/* ---- one axis ---- */

/* Where output position i of axis k lies in the input. */
static float place_of(const resizing *r, int k, int64_t i)
{
    float at = (float)i, scale = r->scale[k], in = (float)r->x->dim[k], out = (float)r->out[k];
    float wide = in * scale; /* the output's extent before it was rounded */
    switch (r->places) {
    case HALF_PIXEL: break;
    case SYMMETRIC: return (float)((double)(in / 2 * (1 - out / wide)) + ((double)at + 0.5) / (double)scale - 0.5);
    case PYTORCH: return out > 1 ? (at + 0.5f) / scale - 0.5f : 0;
    case CORNERS: return wide == 1 ? 0 : at * (in - 1) / (wide - 1);
    case ASYMMETRIC: return at / scale;
    case TF_NEAREST: return (at + 0.5f) / scale;
    case TF_CROP:
        if (out <= 1) return 0.5f * (r->start[k] + r->end[k]) * (in - 1);
        return r->start[k] * (in - 1) + at * (r->end[k] - r->start[k]) * (in - 1) / (out - 1);
    }
    return (at + 0.5f) / scale - 0.5f;
}

static bool is_beyond(const resizing *r, int k, float at)
{
    return r->places == TF_CROP && !(at >= 0 && at <= (float)(r->x->dim[k] - 1));
}

static int64_t nearest(const resizing *r, int k, double at)
{
    bool up = r->rounding == CEIL || (r->rounding == SIMPLE && r->scale[k] < 1);
    double rounded = r->rounding == PREFER_FLOOR  ? ceil(at - 0.5)
                     : r->rounding == PREFER_CEIL ? floor(at + 0.5)
                     : up                         ? ceil(at)
                                                  : floor(at);
    return tw_clamp(tw_moving_floor(rounded), 0, r->x->dim[k] - 1);
}

typedef struct filter { /* of one axis: n taps per output position */
    int64_t n;
    int64_t *at;
    double *weight;
} filter;

/* How far a filter is stretched: less than 1 for a smaller image. */
static double stretch_of(const resizing *r, int k)
{
    return r->antialias && r->scale[k] < 1 ? (double)r->scale[k] : 1;
}

static void weigh(const resizing *r, int k, double at, filter f, int64_t first)
{
    double stretch = stretch_of(r, k), sum = 0, extent = (double)r->x->dim[k];
    int64_t base = tw_moving_floor(fmax(-extent, fmin(at, 2 * extent)));
    for (int64_t j = 0; j < f.n; j++) {
        int64_t tap = base + first + j;
        double x = ((double)tap - at) * stretch;
        f.weight[j] = r->reach == 2 ? tw_moving_cubic(x, r->a) : fmax(0, 1 - fabs(x));
        if (r->exclude && (tap < 0 || tap >= r->x->dim[k])) f.weight[j] = 0;
        f.at[j] = tw_clamp(tap, 0, r->x->dim[k] - 1);
        sum += f.weight[j];
    }
    bool rescale = (r->exclude || r->antialias) && sum != 0;
    for (int64_t j = 0; rescale && j < f.n; j++) f.weight[j] /= sum;
}

static tw_status make_filter(const tw_ref_case *c, const resizing *r, int k, filter *out)
{
    int64_t first = tw_moving_floor(-r->reach / stretch_of(r, k)) + 1;
    out->n = 2 - 2 * first;
    if (out->n > TW_ref_MAX_ELEMS / r->out[k])
        return tw_ref_unknown(c, "axis %d made %g times smaller", k, 1 / (double)r->scale[k]);
    TW_ALLOC(c->arena, out->at, out->n * r->out[k]);
    TW_ALLOC(c->arena, out->weight, out->n * r->out[k]);
    for (int64_t i = 0; i < r->out[k]; i++)
        weigh(r, k, (double)place_of(r, k, i), (filter){out->n, out->at + i * out->n, out->weight + i * out->n},
              first);
    return TW_OK;
}

/* ---- all axes ---- */

/* An axis that keeps its extent at a scale of 1 stays as it is, also where the mode would shift it by half an element. */
static bool is_untouched(const resizing *r, int k)
{
    return r->places != TF_CROP && r->out[k] == r->x->dim[k] && r->scale[k] == 1;
}

/* Where the elements of nearest lie; for the others, whether they lie beyond (-1). */
static tw_status make_tables(const resizing *r, tw_arena *arena, int64_t *table[TW_ONNX_MAX_DIMS])
{
    for (int k = 0; k < r->x->n_dims; k++) {
        TW_ALLOC(arena, table[k], r->out[k]);
        for (int64_t i = 0; i < r->out[k]; i++) {
            float at = place_of(r, k, i);
            table[k][i] = is_untouched(r, k) ? i : is_beyond(r, k, at) ? -1 : nearest(r, k, (double)at);
        }
    }
    return TW_OK;
}

/* Applies the filter of axis k to `data`, whose axes before k have their new extents already. */
static tw_status filter_axis(const tw_ref_case *c, const resizing *r, int k, double **data)
{
    filter f = {0};
    double *to;
    int64_t outer = 1, inner = tw_ref_extent(r->x, k + 1, r->x->n_dims), in = r->x->dim[k], out = r->out[k];
    for (int j = 0; j < k; j++) outer *= r->out[j];
    if (outer * out > TW_ref_MAX_ELEMS / inner)
        return tw_ref_unknown(c, "more than %" PRId64 " elements on the way", TW_ref_MAX_ELEMS);
    TW_TRY(make_filter(c, r, k, &f));
    TW_ALLOC(c->arena, to, outer * out * inner);
    for (int64_t o = 0; o < outer * out; o++) {
        const double *from = *data + o / out * in * inner;
        for (int64_t j = 0; j < f.n; j++) {
            double weight = f.weight[o % out * f.n + j];
            const double *row = from + f.at[o % out * f.n + j] * inner;
            for (int64_t i = 0; i < inner && weight != 0; i++) to[o * inner + i] += weight * row[i];
        }
    }
    *data = to;
    return TW_OK;
}

static void put_beyond(const resizing *r, int64_t *const *table, double *data)
{
    tw_walk w = tw_walk_of(r->x->n_dims, r->out);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w))
        for (int k = 0; k < w.n_dims; k++)
            if (table[k][w.index[k]] < 0) data[i] = r->beyond;
}

/* Whole numbers are cut off. Those that a float has room for are rounded to it before: 2.9999999999 is 3, as it is for
 * onnxruntime, which computes with floats. */
static void settle_wholes(double *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (fabs(data[i]) < 0x1p24) data[i] = (double)(float)data[i];
}

static tw_status interpolate(const tw_ref_case *c, const resizing *r, int64_t *const *table, tw_array *output)
{
    if (!tw_onnx_is_number(r->x->type))
        return tw_ref_unknown(c, "weighed elements of %s", tw_onnx_type_name(r->x->type));
    double *data = tw_array_reals(r->x, c->arena);
    if (!data) return TW_ERR_NOMEM;
    for (int k = 0; k < r->x->n_dims; k++)
        if (!is_untouched(r, k)) TW_TRY(filter_axis(c, r, k, &data));
    if (tw_onnx_is_whole(r->x->type)) settle_wholes(data, output->n);
    if (r->places == TF_CROP) put_beyond(r, table, data);
    tw_array_put_reals(output, data);
    return TW_OK;
}

static tw_status resize(const tw_ref_case *c, const resizing *r, tw_array *output)
{
    int64_t *table[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_ref_make(c, r->x->type, r->x->n_dims, r->out, output));
    if (output->n == 0) return TW_OK;
    if (r->x->n == 0) return tw_ref_error(c, "the input is empty, the output is not");
    tw_array fill;
    TW_TRY(tw_ref_make(c, r->x->type, 0, r->out, &fill));
    if (tw_onnx_is_number(fill.type)) tw_array_set(&fill, 0, r->beyond);
    tw_arena_mark mark = tw_arena_save(c->arena);
    TW_TRY(make_tables(r, c->arena, table));
    if (r->reach == 0)
        tw_moving_tables(output, r->x, table, fill.data);
    else
        TW_TRY(interpolate(c, r, table, output));
    tw_arena_rewind(c->arena, mark);
    return TW_OK;
}

/* ---- what the node says ---- */

static tw_status choose(const tw_ref_case *c, const char *attribute, const char *const *name, size_t n,
                        const char *fallback, int *out)
{
    const char *wish = tw_onnx_string(c->node, attribute, fallback);
    for (size_t i = 0; i < n; i++) {
        *out = (int)i;
        if (strcmp(wish, name[i]) == 0) return TW_OK;
    }
    return tw_ref_error(c, "'%s' is '%s'", attribute, wish);
}

static tw_status read_modes(const tw_ref_case *c, resizing *r)
{
    static const char *const filters[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const place_names[] = {"half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
                                              "align_corners",     "asymmetric",           "tf_half_pixel_for_nn",
                                              "tf_crop_and_resize"};
    static const char *const round_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    bool old = c->opset < 11 || strcmp(c->node->op, "Upsample") == 0;
    int place, to;
    TW_TRY(choose(c, "mode", filters, TW_COUNT(filters), "nearest", &r->reach));
    TW_TRY(choose(c, "coordinate_transformation_mode", place_names, TW_COUNT(place_names),
                  old ? "asymmetric" : "half_pixel", &place));
    TW_TRY(choose(c, "nearest_mode", round_names, TW_COUNT(round_names), "round_prefer_floor", &to));
    if (r->reach == 3) r->reach = 1;
    r->places = (places)place;
    r->rounding = old ? SIMPLE : (rounding)to;
    r->a = (double)tw_onnx_float(c->node, "cubic_coeff_a", -0.75f);
    r->beyond = (double)tw_onnx_float(c->node, "extrapolation_value", 0);
    r->exclude = tw_onnx_int(c->node, "exclude_outside", 0) != 0;
    r->antialias = tw_onnx_int(c->node, "antialias", 0) != 0;
    return TW_OK;
}

/* The axes that lists speak of, and how many. */
static tw_status read_axes(const tw_ref_case *c, const resizing *r, int *axis, int *n)
{
    tw_ref_list axes;
    bool used[TW_ONNX_MAX_DIMS] = {false};
    TW_TRY(tw_ref_ints(c, "axes", -1, &axes));
    *n = 0;
    for (int64_t i = 0; i < (axes.there ? axes.n : r->x->n_dims); i++) {
        int k;
        TW_TRY(tw_ref_axis(c, axes.there ? axes.v[i] : i, r->x->n_dims, &k));
        if (used[k]) return tw_ref_error(c, "axis %d is named twice", k);
        used[k] = true;
        axis[(*n)++] = k;
    }
    return TW_OK;
}

/* A scale counts for the region, which is the whole axis where nothing is cut out. */
static tw_status scale_axis(const tw_ref_case *c, resizing *r, int k, double scale)
{
    if (!(scale > 0) || scale > 1e9) return tw_ref_error(c, "the scale of axis %d is %g", k, scale);
    r->scale[k] = (float)scale;
    float part = r->places == TF_CROP ? r->end[k] - r->start[k] : 1;
    if (!(part > 0) || part > 1e9f) return tw_ref_error(c, "the region of axis %d is empty", k);
    r->out[k] = tw_moving_floor((double)floorf((float)r->x->dim[k] * (r->scale[k] * part)));
    return TW_OK;
}

static tw_status read_scales(const tw_ref_case *c, const tw_array *scales, const int *axis, int n, resizing *r)
{
    if (scales->n != n || !tw_onnx_is_float(scales->type))
        return tw_ref_error(c, "there are %" PRId64 " scales for %d axes", scales->n, n);
    for (int i = 0; i < n; i++) TW_TRY(scale_axis(c, r, axis[i], tw_array_get(scales, i)));
    return TW_OK;
}

static tw_status read_sizes(const tw_ref_case *c, const tw_array *sizes, const int *axis, int n, resizing *r)
{
    if (sizes->n != n || !tw_onnx_is_whole(sizes->type))
        return tw_ref_error(c, "there are %" PRId64 " sizes for %d axes", sizes->n, n);
    for (int i = 0; i < n; i++) {
        int k = axis[i];
        r->out[k] = tw_array_get_int(sizes, i);
        if (r->out[k] < 0) return tw_ref_error(c, "the size of axis %d is %" PRId64, k, r->out[k]);
        if (r->x->dim[k] > 0 && r->out[k] > 0) r->scale[k] = (float)r->out[k] / (float)r->x->dim[k];
    }
    return TW_OK;
}

/* From opset 18: all axes have one scale, the largest or smallest that the sizes allow. */
static tw_status keep_aspect(const tw_ref_case *c, const int *axis, int n, resizing *r)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
    int policy;
    TW_TRY(choose(c, "keep_aspect_ratio_policy", policies, TW_COUNT(policies), "stretch", &policy));
    if (policy == 0 || n == 0) return TW_OK;
    float scale = r->scale[axis[0]];
    for (int i = 1; i < n; i++) {
        float other = r->scale[axis[i]];
        if (policy == 1 ? other < scale : other > scale) scale = other;
    }
    for (int i = 0; i < n; i++) {
        r->scale[axis[i]] = scale;
        r->out[axis[i]] = tw_moving_floor((double)roundf(scale * (float)r->x->dim[axis[i]]));
    }
    return TW_OK;
}

static tw_status read_roi(const tw_ref_case *c, const int *axis, int n, resizing *r)
{
    if (r->places != TF_CROP) return TW_OK;
    const tw_array *roi = tw_ref_input(c, 1);
    if (!roi || roi->n != 2 * n || !tw_onnx_is_float(roi->type))
        return tw_ref_error(c, "the region must have %d numbers", 2 * n);
    for (int i = 0; i < n; i++) {
        r->start[axis[i]] = (float)tw_array_get(roi, i);
        r->end[axis[i]] = (float)tw_array_get(roi, i + n);
    }
    return TW_OK;
}

static tw_status begin(const tw_ref_case *c, resizing *r)
{
    *r = (resizing){0};
    TW_TRY(tw_ref_need(c, 0, &r->x));
    for (int k = 0; k < r->x->n_dims; k++) {
        r->scale[k] = r->end[k] = 1;
        r->out[k] = r->x->dim[k];
    }
    return read_modes(c, r);
}

tw_status tw_run_resize(const tw_ref_case *c, tw_array *output)
{
    resizing r;
    int axis[TW_ONNX_MAX_DIMS], n;
    TW_TRY(begin(c, &r));
    TW_TRY(read_axes(c, &r, axis, &n));
    const tw_array *scales = tw_ref_input(c, c->opset < 11 ? 1 : 2), *sizes = tw_ref_input(c, 3);
    bool by_scales = scales && scales->n > 0, by_sizes = sizes && sizes->n > 0;
    if (by_scales == by_sizes && r.x->n_dims > 0)
        return tw_ref_error(c, by_sizes ? "there are scales and sizes" : "there are neither scales nor sizes");
    TW_TRY(read_roi(c, axis, n, &r));
    if (by_scales) TW_TRY(read_scales(c, scales, axis, n, &r));
    if (by_sizes) {
        TW_TRY(read_sizes(c, sizes, axis, n, &r));
        TW_TRY(keep_aspect(c, axis, n, &r));
    }
    return resize(c, &r, output);
}

/* Opset 1 has two factors, 7 a list, 9 an input. */
tw_status tw_run_upsample(const tw_ref_case *c, tw_array *output)
{
    resizing r;
    TW_TRY(begin(c, &r));
    const tw_attribute *list = tw_onnx_attribute(c->node, "scales");
    const tw_array *scales = tw_ref_input(c, 1);
    int n_dims = r.x->n_dims;
    if (!scales && (list ? list->kind != TW_ATTR_FLOATS || list->n != n_dims : n_dims != 4))
        return tw_ref_error(c, "there are no scales for %d axes", n_dims);
    if (scales && (scales->n != n_dims || !tw_onnx_is_float(scales->type)))
        return tw_ref_error(c, "there are %" PRId64 " scales for %d axes", scales->n, n_dims);
    for (int k = 0; k < n_dims; k++) {
        double scale = scales ? tw_array_get(scales, k) : list ? (double)list->floats[k] : 1;
        if (!scales && !list && k >= 2)
            scale = (double)tw_onnx_float(c->node, k == 2 ? "height_scale" : "width_scale", 1);
        TW_TRY(scale_axis(c, &r, k, scale));
    }
    return resize(c, &r, output);
}
