/* src/reference/move_pad.c - tensors with a rim, or without one.
 *
 * Each axis gets a table that tells where the elements of the output come from; negative pads crop. */
#include "reference/moving.h"

#include <string.h>

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

static tw_status mode_of(const tw_ref_case *c, pad_mode *out)
{
    static const char *const name[] = {"constant", "reflect", "edge", "wrap"};
    const char *mode = tw_onnx_string(c->node, "mode", "constant");
    for (size_t i = 0; i < TW_COUNT(name); i++) {
        *out = (pad_mode)i;
        if (strcmp(mode, name[i]) == 0) return TW_OK;
    }
    return tw_ref_error(c, "'mode' is '%s'", mode);
}

/* Where position i of an axis comes from, in a tensor that goes on beyond its ends as the mode says. */
static int64_t padded_source(pad_mode mode, int64_t i, int64_t extent)
{
    if (i >= 0 && i < extent) return i;
    switch (mode) {
    case PAD_CONSTANT: return -1;
    case PAD_EDGE: return i < 0 ? 0 : extent - 1;
    case PAD_WRAP: return i - tw_fdiv(i, extent) * extent;
    case PAD_REFLECT: return i < 0 ? -i : 2 * (extent - 1) - i;
    }
    return -1;
}

typedef struct rim { /* elements before and after each axis, negative: so many less */
    int64_t lo[TW_ONNX_MAX_DIMS], hi[TW_ONNX_MAX_DIMS];
} rim;

/* The lists before opset 18 name all axes; later an input may say which. */
static tw_status read_rim(const tw_ref_case *c, const tw_array *x, rim *r)
{
    tw_ref_list pads, axes;
    bool used[TW_ONNX_MAX_DIMS] = {false};
    TW_TRY(tw_ref_ints(c, tw_onnx_attribute(c->node, "paddings") ? "paddings" : "pads", 1, &pads));
    TW_TRY(tw_ref_ints(c, "axes", 3, &axes));
    int64_t n = axes.there ? axes.n : x->n_dims;
    if (pads.n != 2 * n) return tw_ref_error(c, "'pads' has %" PRId64 " entries for %" PRId64 " axes", pads.n, n);
    for (int64_t i = 0; i < n; i++) {
        int k;
        TW_TRY(tw_ref_axis(c, axes.there ? axes.v[i] : i, x->n_dims, &k));
        if (used[k]) return tw_ref_error(c, "axis %d is named twice", k);
        used[k] = true;
        r->lo[k] = pads.v[i];
        r->hi[k] = pads.v[i + n];
    }
    return TW_OK;
}

static tw_status padded_dim(const tw_ref_case *c, pad_mode mode, int k, int64_t extent, tw_span pad, int64_t *out)
{
    if (!tw_ckd_add(extent, pad.lo, out) || !tw_ckd_add(*out, pad.hi, out) || *out < 0 || pad.lo < -extent ||
        pad.hi < -extent)
        return tw_ref_error(c, "axis %d of %" PRId64 " elements is padded by %" PRId64 " and %" PRId64, k, extent,
                            pad.lo, pad.hi);
    int64_t widest = tw_max(pad.lo, pad.hi);
    if (mode == PAD_REFLECT && widest > tw_max(extent - 1, 0))
        return tw_ref_error(c, "axis %d of %" PRId64 " elements cannot be reflected %" PRId64 " times", k, extent,
                            widest);
    if (mode != PAD_CONSTANT && extent == 0 && *out > 0)
        return tw_ref_error(c, "axis %d has no elements to pad with", k);
    return TW_OK;
}

/* The element that a constant rim is made of. */
static tw_status rim_element(const tw_ref_case *c, const tw_array *x, const void **out)
{
    const tw_array *value = tw_ref_input(c, 2);
    *out = tw_moving_zero(x->type);
    if (value) {
        if (value->n != 1 || value->type != x->type)
            return tw_ref_error(c, "the value to pad with is %" PRId64 " of %s, the input is of %s", value->n,
                                tw_onnx_type_name(value->type), tw_onnx_type_name(x->type));
        *out = value->data;
    } else if (tw_onnx_attribute(c->node, "value") && tw_onnx_is_number(x->type)) {
        tw_array one;
        TW_TRY(tw_ref_make(c, x->type, 0, x->dim, &one));
        tw_array_set(&one, 0, (double)tw_onnx_float(c->node, "value", 0));
        *out = one.data;
    }
    return TW_OK;
}

static tw_status pad_by(const tw_ref_case *c, const tw_array *x, const rim *r, pad_mode mode, const void *fill,
                        tw_array *output)
{
    int64_t dim[TW_ONNX_MAX_DIMS], *from[TW_ONNX_MAX_DIMS];
    for (int k = 0; k < x->n_dims; k++)
        TW_TRY(padded_dim(c, mode, k, x->dim[k], (tw_span){r->lo[k], r->hi[k]}, &dim[k]));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    if (output->n == 0) return TW_OK;
    tw_arena_mark mark = tw_arena_save(c->arena);
    TW_TRY(tw_moving_tables_new(output, c->arena, from));
    for (int k = 0; k < x->n_dims; k++)
        for (int64_t i = 0; i < dim[k]; i++) from[k][i] = padded_source(mode, i - r->lo[k], x->dim[k]);
    tw_moving_tables(output, x, from, fill);
    tw_arena_rewind(c->arena, mark);
    return TW_OK;
}

tw_status tw_run_pad(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    pad_mode mode;
    rim r = {0};
    const void *fill;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(mode_of(c, &mode));
    TW_TRY(read_rim(c, x, &r));
    TW_TRY(rim_element(c, x, &fill));
    return pad_by(c, x, &r, mode, fill, output);
}

/* Of an odd difference the smaller half lies before the tensor, whether it is padded or cropped. */
tw_status tw_run_center_crop_pad(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list shape, axes;
    rim r = {0};
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "shape", 1, &shape));
    TW_TRY(tw_ref_ints(c, "axes", -1, &axes));
    if (shape.n != (axes.there ? axes.n : x->n_dims))
        return tw_ref_error(c, "the shape has %" PRId64 " entries, not one per axis", shape.n);
    for (int64_t i = 0; i < shape.n; i++) {
        int k;
        TW_TRY(tw_ref_axis(c, axes.there ? axes.v[i] : i, x->n_dims, &k));
        if (shape.v[i] < 0) return tw_ref_error(c, "axis %d of the shape is %" PRId64, k, shape.v[i]);
        int64_t more = shape.v[i] - x->dim[k];
        r.lo[k] = more / 2;
        r.hi[k] = more - r.lo[k];
    }
    return pad_by(c, x, &r, PAD_CONSTANT, tw_moving_zero(x->type), output);
}
