/* src/reference/make_values.c - tensors that are made from few numbers: constants, ranges, shapes, one-hot rows. */
#include "reference/moving.h"

#include <math.h>
#include <string.h>

/* ---- constants ---- */

static tw_status read_tensor(const tw_ref_case *c, const tw_constant *t, tw_array *out)
{
    TW_TRY(tw_ref_make(c, t->type, t->n_dims, t->dim, out));
    const void *data;
    TW_TRY(tw_constant_read(t, c->file ? c->file->path : "", c->arena, c->diag, &data));
    if (t->n_elems > 0) out->data = data;
    return TW_OK;
}

/* n elements of a list, or a scalar when n is -1. */
static tw_status make_list(const tw_ref_case *c, tw_onnx_type type, int n, const void *elements, tw_array *out)
{
    int64_t dim[1] = {n};
    TW_TRY(tw_ref_make(c, type, n < 0 ? 0 : 1, dim, out));
    if (out->n > 0) memcpy(tw_moving_at(out, 0), elements, (size_t)out->n * tw_moving_bytes(type));
    return TW_OK;
}

static tw_status make_from(const tw_ref_case *c, const tw_attribute *a, tw_array *out)
{
    switch (a->kind) {
    case TW_ATTR_TENSOR: return read_tensor(c, a->tensor, out);
    case TW_ATTR_FLOAT: return make_list(c, TW_ONNX_F32, -1, &a->f, out);
    case TW_ATTR_FLOATS: return make_list(c, TW_ONNX_F32, a->n, a->floats, out);
    case TW_ATTR_INT: return make_list(c, TW_ONNX_I64, -1, &a->i, out);
    case TW_ATTR_INTS: return make_list(c, TW_ONNX_I64, a->n, a->ints, out);
    case TW_ATTR_STRING: return make_list(c, TW_ONNX_STRING, -1, &a->s, out);
    case TW_ATTR_STRINGS: return make_list(c, TW_ONNX_STRING, a->n, a->strings, out);
    default: return tw_ref_unknown(c, "a constant in attribute '%.*s'", TW_FIRST(40, a->name));
    }
}

tw_status tw_run_constant(const tw_ref_case *c, tw_array *output)
{
    for (int i = 0; i < c->node->n_attributes; i++) {
        const tw_attribute *a = &c->node->attribute[i];
        if (strncmp(a->name, "value", 5) == 0) return make_from(c, a, output);
    }
    return tw_ref_unknown(c, "a constant without a value that is a tensor, numbers or strings");
}

tw_status tw_run_constant_of_shape(const tw_ref_case *c, tw_array *output)
{
    tw_ref_list shape;
    const tw_attribute *value = tw_onnx_attribute(c->node, "value");
    tw_array one = {.type = TW_ONNX_F32, .n = 1, .data = tw_moving_zero(TW_ONNX_F32)};
    TW_TRY(tw_ref_ints(c, "", 0, &shape));
    if (!shape.there) return tw_ref_error(c, "the shape is missing");
    if (shape.n > TW_ONNX_MAX_DIMS)
        return tw_ref_unknown(c, "a shape of %" PRId64 " axes, more than %d", shape.n, TW_ONNX_MAX_DIMS);
    if (value && value->kind == TW_ATTR_TENSOR) TW_TRY(read_tensor(c, value->tensor, &one));
    if (one.n != 1) return tw_ref_error(c, "'value' has %" PRId64 " elements instead of 1", one.n);
    TW_TRY(tw_ref_make(c, one.type, (int)shape.n, shape.v, output));
    tw_moving_fill(output, one.data);
    return TW_OK;
}

/* ---- Range ---- */

static int64_t whole_steps(int64_t start, int64_t limit, int64_t delta)
{
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    uint64_t way = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    return (int64_t)((way - 1) / step >= (uint64_t)TW_ref_MAX_ELEMS ? (uint64_t)INT64_MAX : (way - 1) / step + 1);
}

static int64_t real_steps(double start, double limit, double delta)
{
    double n = ceil((limit - start) / delta);
    if (n > 0) return n < (double)TW_ref_MAX_ELEMS ? (int64_t)n : INT64_MAX;
    return isnan(n) ? -1 : 0;
}

static tw_status check_range(const tw_ref_case *c, const tw_array **a)
{
    for (int i = 0; i < 3; i++) {
        TW_TRY(tw_ref_need(c, i, &a[i]));
        if (a[i]->n != 1 || a[i]->type != a[0]->type || !tw_onnx_is_number(a[i]->type))
            return tw_ref_error(c, "input %d must be one number of the type of input 0", i);
    }
    if (tw_array_get(a[2], 0) == 0) return tw_ref_error(c, "the step is 0");
    return TW_OK;
}

tw_status tw_run_range(const tw_ref_case *c, tw_array *output)
{
    const tw_array *a[3];
    TW_TRY(check_range(c, a));
    bool real = tw_onnx_is_float(a[0]->type);
    double x = tw_array_get(a[0], 0), dx = tw_array_get(a[2], 0);
    int64_t i = tw_array_get_int(a[0], 0), di = tw_array_get_int(a[2], 0);
    int64_t n = real ? real_steps(x, tw_array_get(a[1], 0), dx) : whole_steps(i, tw_array_get_int(a[1], 0), di);
    TW_TRY(tw_ref_make(c, a[0]->type, 1, &n, output));
    for (int64_t k = 0; k < n; k++) {
        tw_array one = {.type = output->type, .n = 1, .data = tw_moving_at(output, k)};
        if (real)
            tw_array_set(&one, 0, x + (double)k * dx);
        else
            tw_array_put_wholes(&one, &(int64_t){(int64_t)((uint64_t)i + (uint64_t)k * (uint64_t)di)});
    }
    return TW_OK;
}

/* ---- shapes ---- */

tw_status tw_run_shape(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    int64_t r = x->n_dims, start = tw_onnx_int(c->node, "start", 0), end = tw_onnx_int(c->node, "end", r);
    start = tw_clamp(start < 0 ? start + r : start, 0, r);
    end = tw_clamp(end < 0 ? end + r : end, start, r);
    return make_list(c, TW_ONNX_I64, (int)(end - start), x->dim + start, output);
}

tw_status tw_run_size(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    return make_list(c, TW_ONNX_I64, -1, &x->n, output);
}

/* ---- EyeLike and OneHot ---- */

tw_status tw_run_eye_like(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (x->n_dims != 2) return tw_ref_error(c, "the input has %d axes instead of 2", x->n_dims);
    int64_t k = tw_onnx_int(c->node, "k", 0), type = tw_onnx_int(c->node, "dtype", x->type);
    if (type < 0 || type >= TW_ONNX_N_TYPES || !tw_onnx_is_number((tw_onnx_type)type))
        return tw_ref_unknown(c, "elements of type %" PRId64, type);
    TW_TRY(tw_ref_make(c, (tw_onnx_type)type, 2, x->dim, output));
    k = tw_clamp(k, -x->dim[0], x->dim[1]);
    for (int64_t i = tw_max(0, -k); i < x->dim[0] && i + k < x->dim[1]; i++)
        tw_array_set(output, i * x->dim[1] + i + k, 1);
    return TW_OK;
}

typedef struct one_hot {
    const tw_array *indices, *values; /* values: off, on */
    int axis;
    int64_t depth;
} one_hot;

static tw_status read_one_hot(const tw_ref_case *c, one_hot *h)
{
    const tw_array *depth;
    TW_TRY(tw_ref_need(c, 0, &h->indices));
    TW_TRY(tw_ref_need(c, 1, &depth));
    TW_TRY(tw_ref_need(c, 2, &h->values));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", -1), h->indices->n_dims + 1, &h->axis));
    if (depth->n != 1 || !tw_onnx_is_number(depth->type) || !tw_onnx_is_number(h->indices->type))
        return tw_ref_error(c, "depth and indices must be numbers, and depth one");
    if (h->values->n != 2)
        return tw_ref_error(c, "there are %" PRId64 " values instead of off and on", h->values->n);
    h->depth = tw_array_get_int(depth, 0);
    if (h->depth < 1) return tw_ref_error(c, "the depth is %" PRId64, h->depth);
    return TW_OK;
}

tw_status tw_run_one_hot(const tw_ref_case *c, tw_array *output)
{
    one_hot h;
    int64_t dim[TW_ONNX_MAX_DIMS + 1];
    TW_TRY(read_one_hot(c, &h));
    const tw_array *at = h.indices;
    for (int k = 0, from = 0; k <= at->n_dims; k++) dim[k] = k == h.axis ? h.depth : at->dim[from++];
    TW_TRY(tw_ref_make(c, h.values->type, at->n_dims + 1, dim, output));
    tw_moving_fill(output, tw_moving_at(h.values, 0));
    int64_t inner = tw_ref_extent(at, h.axis, at->n_dims);
    for (int64_t i = 0; i < at->n; i++) {
        int64_t p = tw_array_get_int(at, i);
        if (p < 0) p += h.depth;
        if (p >= 0 && p < h.depth)
            tw_moving_run(output, (i / inner * h.depth + p) * inner + i % inner, h.values, 1, 1);
    }
    return TW_OK;
}
