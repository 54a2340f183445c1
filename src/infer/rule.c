/* src/infer/rule.c - see rule.h. */
#include "infer/rule.h"

#include <stdio.h>
#include <string.h>

tw_status tw_rule_error(const tw_rule_case *c, const char *fmt, ...)
{
    char text[800];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tw_diag_error(c->diag, (tw_loc){c->file->path, 0, 0}, "node '%.*s' (%.*s) at byte %" PRId64 ": %s",
                         TW_FIRST(100, c->node->name), TW_FIRST(60, c->node->op), c->node->offset, text);
}

const tw_shape_of_value *tw_rule_in(const tw_rule_case *c, int k) { return k < c->n_in ? c->in[k] : NULL; }

/* ---- shapes ---- */

tw_dims tw_dims_of(const tw_shape_of_value *v)
{
    tw_dims dims = {.n = v->n_dims};
    memcpy(dims.dim, v->dim, sizeof dims.dim);
    return dims;
}

void tw_dims_add(tw_dims *dims, int64_t dim)
{
    if (dims->n < TW_ONNX_MAX_DIMS) dims->dim[dims->n] = dim;
    dims->n++;
}

const char *tw_shape_text(int n, const int64_t *dim, char text[TW_SHAPE_TEXT])
{
    size_t at = (size_t)snprintf(text, TW_SHAPE_TEXT, "%s", n == 0 ? "scalar" : "");
    for (int i = 0; i < n && i < TW_ONNX_MAX_DIMS && at < TW_SHAPE_TEXT; i++) {
        at += (size_t)snprintf(text + at, TW_SHAPE_TEXT - at, "%s", i > 0 ? "x" : "");
        if (at >= TW_SHAPE_TEXT) break;
        if (dim[i] == -1)
            at += (size_t)snprintf(text + at, TW_SHAPE_TEXT - at, "?");
        else
            at += (size_t)snprintf(text + at, TW_SHAPE_TEXT - at, "%" PRId64, dim[i]);
    }
    return text;
}

/* 0 in one dimension: no elements, however large the others are. */
static bool count_elems(const tw_dims *dims, int64_t *out)
{
    int64_t n = 1;
    bool fits = true;
    for (int i = 0; i < dims->n; i++) {
        if (dims->dim[i] == 0) return *out = 0, true;
        fits = fits && tw_ckd_mul(n, dims->dim[i], &n);
    }
    *out = n;
    return fits && n <= INT64_MAX / 16; /* so that bytes fit as well */
}

tw_shape_fault tw_shape_set(tw_shape_of_value *out, const tw_dims *dims, int *axis)
{
    int64_t n;
    if (dims->n > TW_ONNX_MAX_DIMS) return TW_SHAPE_RANK;
    for (*axis = 0; *axis < dims->n; ++*axis)
        if (dims->dim[*axis] < 0 || dims->dim[*axis] > TW_EXTENT_MAX) return TW_SHAPE_AXIS;
    if (!count_elems(dims, &n)) return TW_SHAPE_ELEMS;
    out->known = out->is_tensor = true;
    out->n_dims = dims->n;
    out->n_elems = n;
    memcpy(out->dim, dims->dim, sizeof out->dim);
    return TW_SHAPE_FINE;
}

tw_status tw_rule_set(const tw_rule_case *c, int k, const tw_dims *dims)
{
    int axis;
    char text[TW_SHAPE_TEXT];
    if (k >= c->n_out) return TW_OK;
    switch (tw_shape_set(&c->out[k], dims, &axis)) {
    case TW_SHAPE_RANK:
        return tw_rule_error(c, "output %d would have %d dimensions, at most %d are understood", k, dims->n,
                             TW_ONNX_MAX_DIMS);
    case TW_SHAPE_AXIS:
        return tw_rule_error(c, "axis %d of output %d would be %" PRId64 ", outside 0..%" PRId64, axis, k,
                             dims->dim[axis], TW_EXTENT_MAX);
    case TW_SHAPE_ELEMS:
        return tw_rule_error(c, "output %d would be %s, too many elements", k,
                             tw_shape_text(dims->n, dims->dim, text));
    case TW_SHAPE_FINE: break;
    }
    return TW_OK;
}

tw_status tw_rule_like(const tw_rule_case *c, int k, const tw_shape_of_value *v)
{
    tw_dims dims = tw_dims_of(v);
    return tw_rule_set(c, k, &dims);
}

tw_status tw_rule_set_row(const tw_rule_case *c, const int64_t *value, int n)
{
    TW_TRY(tw_rule_set(c, 0, &(tw_dims){1, {n}}));
    tw_array *array;
    TW_ALLOC(c->arena, array, 1);
    TW_TRY(tw_array_new(TW_ONNX_I64, 1, &(int64_t){n}, c->arena, array));
    if (n > 0) memcpy((void *)array->data, value, (size_t)n * sizeof *value);
    c->out[0].constant = array;
    return TW_OK;
}

tw_status tw_rule_rank(const tw_rule_case *c, int k, int lo, int hi)
{
    char text[TW_SHAPE_TEXT];
    const tw_shape_of_value *v = c->in[k];
    if (lo <= v->n_dims && v->n_dims <= hi) return TW_OK;
    tw_shape_text(v->n_dims, v->dim, text);
    if (lo == hi) return tw_rule_error(c, "input %d is %s, %d dimensions expected", k, text, lo);
    if (hi == TW_ONNX_MAX_DIMS)
        return tw_rule_error(c, "input %d is %s, at least %d dimensions expected", k, text, lo);
    return tw_rule_error(c, "input %d is %s, %d to %d dimensions expected", k, text, lo, hi);
}

tw_status tw_rule_axis(const tw_rule_case *c, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return tw_rule_error(c, "axis %" PRId64 " of a tensor with %d dimensions", axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return TW_OK;
}

tw_status tw_rule_broadcast(const tw_rule_case *c, tw_dims *into, int n, const int64_t *dim)
{
    tw_dims out = {.n = into->n > n ? into->n : n};
    for (int i = 1; i <= out.n; i++) {
        int64_t a = i <= into->n ? into->dim[into->n - i] : 1, b = i <= n ? dim[n - i] : 1;
        if (a != b && a != 1 && b != 1) {
            char left[TW_SHAPE_TEXT], right[TW_SHAPE_TEXT];
            return tw_rule_error(c, "%s and %s do not go together: %" PRId64 " against %" PRId64,
                                 tw_shape_text(into->n, into->dim, left), tw_shape_text(n, dim, right), a, b);
        }
        out.dim[out.n - i] = a == 1 ? b : a;
    }
    *into = out;
    return TW_OK;
}

/* ---- numbers ---- */

static tw_status ints_of_attribute(const tw_rule_case *c, const tw_attribute *a, tw_ints *out)
{
    if (a->kind == TW_ATTR_INTS)
        *out = (tw_ints){true, true, a->n, a->ints};
    else if (a->kind == TW_ATTR_INT)
        *out = (tw_ints){true, true, 1, &a->i};
    else
        return tw_rule_error(c, "attribute '%s' is not made of integers", a->name);
    return TW_OK;
}

tw_status tw_rule_ints(const tw_rule_case *c, const char *name, int k, tw_ints *out)
{
    const tw_attribute *a = name ? tw_onnx_attribute(c->node, name) : NULL;
    if (a) return ints_of_attribute(c, a, out);
    *out = (tw_ints){.there = k >= 0 && tw_rule_in(c, k)};
    if (!out->there) return TW_OK;
    const tw_array *array;
    TW_TRY(tw_rule_constant(c, k, &array));
    if (!array) return TW_OK;
    if (array->n_dims > 1) return tw_rule_rank(c, k, 0, 1);
    int64_t *v;
    TW_ALLOC(c->arena, v, array->n + 1);
    for (int64_t i = 0; i < array->n; i++) v[i] = tw_array_get_int(array, i);
    *out = (tw_ints){true, true, (int)array->n, v};
    return TW_OK;
}

tw_status tw_rule_attr(const tw_rule_case *c, const char *name, int n, int64_t lo, int64_t fallback, int64_t *out)
{
    tw_ints ints;
    TW_TRY(tw_rule_ints(c, name, -1, &ints));
    if (ints.there && ints.n != n)
        return tw_rule_error(c, "attribute '%s' has %d numbers, %d expected", name, ints.n, n);
    for (int i = 0; i < n; i++) {
        out[i] = ints.there ? ints.v[i] : fallback;
        if (ints.there && (out[i] < lo || out[i] > TW_EXTENT_MAX))
            return tw_rule_error(c, "attribute '%s' has a %" PRId64 ", outside %" PRId64 "..%" PRId64, name, out[i],
                                 lo, TW_EXTENT_MAX);
    }
    return TW_OK;
}

tw_onnx_type tw_rule_type(const tw_rule_case *c, const char *name, tw_onnx_type fallback)
{
    int64_t number = tw_onnx_int(c->node, name, fallback);
    return 0 < number && number < TW_ONNX_N_TYPES ? (tw_onnx_type)number : TW_ONNX_NONE;
}

/* ---- shapes that many share ---- */

tw_status tw_rule_same(const tw_rule_case *c)
{
    for (int k = 0; k < c->n_out; k++) TW_TRY(tw_rule_like(c, k, c->in[0]));
    return TW_OK;
}

tw_status tw_rule_spread(const tw_rule_case *c)
{
    tw_dims dims = {0};
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k]) TW_TRY(tw_rule_broadcast(c, &dims, c->in[k]->n_dims, c->in[k]->dim));
    return tw_rule_set(c, 0, &dims);
}

tw_status tw_rule_unknown(const tw_rule_case *c)
{
    (void)c;
    return TW_OK;
}
