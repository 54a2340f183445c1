/* src/reference/quant.c - see quant.h. */
#include "reference/quant.h"

#include <math.h>

static bool fits(const tw_array *a, int64_t n)
{
    return !a || (tw_onnx_is_number(a->type) && (a->n == 1 || a->n == n));
}

tw_status tw_grid_read(const tw_ref_case *c, int scale, int zero, const tw_array *x, int axis, tw_quant_grid *out)
{
    tw_quant_grid g = {tw_ref_input(c, scale), tw_ref_input(c, zero), 1, 1};
    bool along = axis >= 0 && axis < x->n_dims;
    if (scale >= 0 && !g.scale) return tw_ref_error(c, "input %d, a scale, is missing", scale);
    if (along) {
        g.n = tw_max(x->dim[axis], 1);
        g.inner = tw_max(tw_ref_extent(x, axis + 1, x->n_dims), 1);
    }
    if (!fits(g.scale, g.n) || !fits(g.zero, g.n))
        return tw_ref_unknown(c, "scales or zeros that are neither one nor %" PRId64, g.n);
    *out = g;
    return TW_OK;
}

double tw_grid_scale(const tw_quant_grid *g, int64_t i)
{
    return !g->scale ? 1 : tw_array_get(g->scale, g->scale->n == 1 ? 0 : i / g->inner % g->n);
}

double tw_grid_zero(const tw_quant_grid *g, int64_t i)
{
    return !g->zero ? 0 : tw_array_get(g->zero, g->zero->n == 1 ? 0 : i / g->inner % g->n);
}

double *tw_grid_centred(const tw_quant_grid *g, const tw_array *x, tw_arena *arena)
{
    double *v = tw_array_reals(x, arena);
    for (int64_t i = 0; v && i < x->n; i++) v[i] -= tw_grid_zero(g, i);
    return v;
}

double *tw_grid_reals(const tw_quant_grid *g, const tw_array *x, tw_arena *arena)
{
    double *v = tw_grid_centred(g, x, arena);
    for (int64_t i = 0; v && i < x->n; i++) v[i] *= tw_grid_scale(g, i);
    return v;
}

double tw_quantised(double x_by_scale, double zero, tw_onnx_type type)
{
    double bits = (double)(8 * tw_onnx_type_bytes(type));
    bool is_signed = type == TW_ONNX_I8 || type == TW_ONNX_I16 || type == TW_ONNX_I32;
    double lo = is_signed ? -exp2(bits - 1) : 0, hi = exp2(is_signed ? bits - 1 : bits) - 1;
    double x = rint(x_by_scale) + zero;
    return x >= hi ? hi : x > lo ? x : lo;
}

tw_dynamic tw_dynamic_of(const double *v, int64_t n)
{
    double lo = 0, hi = 0;
    for (int64_t i = 0; i < n; i++) {
        lo = fmin(lo, v[i]);
        hi = fmax(hi, v[i]);
    }
    float scale = (float)(hi - lo) / 255;
    if (scale == 0) scale = 1;
    return (tw_dynamic){(double)scale, tw_quantised((double)((float)-lo / scale), 0, TW_ONNX_U8)};
}

double tw_dynamic_centred(const tw_dynamic *d, double x)
{
    return tw_quantised((double)((float)x / (float)d->scale), d->zero, TW_ONNX_U8) - d->zero;
}
