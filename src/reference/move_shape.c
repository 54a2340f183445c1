/* src/reference/move_shape.c - the same elements in another shape. */
#include "reference/moving.h"

tw_status tw_run_identity(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    return tw_moving_reshaped(c, x, x->n_dims, x->dim, output);
}

static tw_status check_rank(const tw_ref_case *c, int64_t n_dims)
{
    if (n_dims <= TW_ONNX_MAX_DIMS) return TW_OK;
    return tw_ref_unknown(c, "a shape of %" PRId64 " axes, more than %d", n_dims, TW_ONNX_MAX_DIMS);
}

/* Zeros become the input's dims; the place of the -1, or -1, goes to `open`, and 1 in its place. */
static tw_status copy_dims(const tw_ref_case *c, const tw_array *x, tw_ref_list shape, int64_t *dim, int *open)
{
    bool zeros = tw_onnx_int(c->node, "allowzero", 0) != 0;
    *open = -1;
    for (int k = 0; k < (int)shape.n; k++) {
        dim[k] = shape.v[k];
        if (dim[k] == 0 && !zeros) {
            if (k >= x->n_dims)
                return tw_ref_error(c, "axis %d of the shape copies an axis that the input does not have", k);
            dim[k] = x->dim[k];
        }
        if (dim[k] != -1) continue;
        if (*open >= 0) return tw_ref_error(c, "axes %d and %d of the shape are both -1", *open, k);
        *open = k;
        dim[k] = 1;
    }
    return TW_OK;
}

/* What is left for the axis that was -1. */
static tw_status infer_open(const tw_ref_case *c, const tw_array *x, int n_dims, int open, int64_t *dim)
{
    int64_t rest = 1;
    for (int k = 0; k < n_dims; k++)
        if (dim[k] < 0 || !tw_ckd_mul(rest, dim[k], &rest))
            return tw_ref_error(c, "the shape has a dim of %" PRId64, dim[k]);
    if (rest == 0 || x->n % rest != 0)
        return tw_ref_error(c, "%" PRId64 " elements are not a multiple of the %" PRId64 " beside the -1", x->n,
                            rest);
    dim[open] = x->n / rest;
    return TW_OK;
}

tw_status tw_run_reshape(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list shape;
    int64_t dim[TW_ONNX_MAX_DIMS];
    int open;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "shape", 1, &shape));
    if (!shape.there) return tw_ref_error(c, "the new shape is missing");
    TW_TRY(check_rank(c, shape.n));
    TW_TRY(copy_dims(c, x, shape, dim, &open));
    if (open >= 0) TW_TRY(infer_open(c, x, (int)shape.n, open, dim));
    return tw_moving_reshaped(c, x, (int)shape.n, dim, output);
}

tw_status tw_run_flatten(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    int64_t axis = tw_onnx_int(c->node, "axis", 1);
    if (axis < -x->n_dims || axis > x->n_dims)
        return tw_ref_error(c, "axis %" PRId64 " of a tensor of %d axes", axis, x->n_dims);
    int cut = (int)(axis < 0 ? axis + x->n_dims : axis);
    int64_t dim[2] = {tw_ref_extent(x, 0, cut), tw_ref_extent(x, cut, x->n_dims)};
    return tw_moving_reshaped(c, x, 2, dim, output);
}

/* Marks the axes of a list among n_dims; one that is named twice is an error. */
static tw_status mark_axes(const tw_ref_case *c, tw_ref_list axes, int n_dims, bool marked[TW_ONNX_MAX_DIMS])
{
    for (int64_t i = 0; i < axes.n; i++) {
        int k;
        TW_TRY(tw_ref_axis(c, axes.v[i], n_dims, &k));
        if (marked[k]) return tw_ref_error(c, "axis %d is named twice", k);
        marked[k] = true;
    }
    return TW_OK;
}

tw_status tw_run_squeeze(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list axes;
    bool drop[TW_ONNX_MAX_DIMS] = {false};
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "axes", 1, &axes));
    if (axes.there) TW_TRY(mark_axes(c, axes, x->n_dims, drop));
    int64_t dim[TW_ONNX_MAX_DIMS];
    int n = 0;
    for (int k = 0; k < x->n_dims; k++) {
        if (drop[k] && x->dim[k] != 1)
            return tw_ref_error(c, "axis %d has %" PRId64 " elements and cannot be dropped", k, x->dim[k]);
        bool gone = axes.there ? drop[k] : x->dim[k] == 1;
        if (!gone) dim[n++] = x->dim[k];
    }
    return tw_moving_reshaped(c, x, n, dim, output);
}

tw_status tw_run_unsqueeze(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list axes;
    bool added[TW_ONNX_MAX_DIMS] = {false};
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "axes", 1, &axes));
    if (!axes.there) return tw_ref_error(c, "'axes' is missing");
    TW_TRY(check_rank(c, x->n_dims + axes.n));
    int n = x->n_dims + (int)axes.n;
    TW_TRY(mark_axes(c, axes, n, added));
    int64_t dim[TW_ONNX_MAX_DIMS];
    for (int k = 0, from = 0; k < n; k++) dim[k] = added[k] ? 1 : x->dim[from++];
    return tw_moving_reshaped(c, x, n, dim, output);
}
