/* src/reference/slide.c - see slide.h. All numbers are bounded by TW_EXTENT_MAX, so that sums of two products fit. */
#include "reference/slide.h"

#include <string.h>

/* Values of a list attribute with one (or two) numbers per spatial axis; `fallback` where it is not there. */
static tw_status read_list(const tw_ref_case *c, const char *name, int n, int64_t least, int64_t fallback,
                           int64_t *out)
{
    tw_ref_list list;
    TW_TRY(tw_ref_ints(c, name, -1, &list));
    if (list.there && list.n != n) return tw_ref_error(c, "'%s' has %" PRId64 " numbers, not %d", name, list.n, n);
    for (int i = 0; i < n; i++) {
        out[i] = list.there ? list.v[i] : fallback;
        if (out[i] < least || out[i] > TW_EXTENT_MAX)
            return tw_ref_error(c, "'%s' has a number %" PRId64 ", outside %" PRId64 "..%" PRId64, name, out[i],
                                least, TW_EXTENT_MAX);
    }
    return TW_OK;
}

static int64_t reach(const tw_slide *s, int i) { return (s->kernel[i] - 1) * s->dilation[i] + 1; }

/* Everything but the extents. */
static tw_status read_attributes(const tw_ref_case *c, const int64_t *kernel, tw_slide *s)
{
    int64_t pads[2 * TW_ONNX_MAX_DIMS];
    if (!kernel && !tw_onnx_attribute(c->node, "kernel_shape")) return tw_ref_error(c, "kernel_shape is missing");
    if (kernel)
        memcpy(s->kernel, kernel, (size_t)s->n * sizeof *kernel);
    else
        TW_TRY(read_list(c, "kernel_shape", s->n, 1, 1, s->kernel));
    TW_TRY(read_list(c, "strides", s->n, 1, 1, s->stride));
    TW_TRY(read_list(c, "dilations", s->n, 1, 1, s->dilation));
    TW_TRY(read_list(c, "pads", 2 * s->n, 0, 0, pads));
    for (int i = 0; i < s->n; i++) {
        if (s->kernel[i] < 1) return tw_ref_error(c, "the kernel is empty");
        s->lo[i] = pads[i];
        s->hi[i] = pads[s->n + i];
    }
    return TW_OK;
}

/* Splits the padding that makes `out` outputs of an axis; the odd one goes to the end unless `lower`. */
static void pad_same(tw_slide *s, int i, bool lower)
{
    s->out[i] = tw_cdiv(s->in[i], s->stride[i]);
    int64_t total = tw_max((s->out[i] - 1) * s->stride[i] + reach(s, i) - s->in[i], 0);
    s->lo[i] = lower ? total - total / 2 : total / 2;
    s->hi[i] = total - s->lo[i];
}

static tw_status count_outputs(const tw_ref_case *c, tw_slide *s, int i)
{
    int64_t room = s->in[i] + s->lo[i] + s->hi[i] - reach(s, i);
    bool up = tw_onnx_int(c->node, "ceil_mode", 0) != 0;
    if (room < 0)
        return tw_ref_error(c, "the kernel reaches %" PRId64 " elements, the padded input has %" PRId64,
                            reach(s, i), room + reach(s, i));
    s->out[i] = (up ? tw_cdiv(room, s->stride[i]) : room / s->stride[i]) + 1;
    /* A window that starts behind the input and its left padding is dropped. */
    if (up && (s->out[i] - 1) * s->stride[i] >= s->in[i] + s->lo[i]) s->out[i]--;
    return TW_OK;
}

static tw_status set_products(const tw_ref_case *c, tw_slide *s)
{
    s->n_in = s->n_out = s->n_taps = 1;
    for (int i = 0; i < s->n; i++)
        if (!tw_ckd_mul(s->n_in, s->in[i], &s->n_in) || !tw_ckd_mul(s->n_out, s->out[i], &s->n_out) ||
            !tw_ckd_mul(s->n_taps, s->kernel[i], &s->n_taps) ||
            tw_max(tw_max(s->n_in, s->n_out), s->n_taps) > TW_ref_MAX_ELEMS)
            return tw_ref_error(c, "more than %" PRId64 " elements", TW_ref_MAX_ELEMS);
    return TW_OK;
}

static tw_status begin(const tw_ref_case *c, const tw_array *x, int64_t *extent, tw_slide *s)
{
    if (x->n_dims < 2) return tw_ref_error(c, "the input has only %d axes", x->n_dims);
    s->n = x->n_dims - 2;
    for (int i = 0; i < s->n; i++) {
        extent[i] = x->dim[2 + i];
        if (extent[i] < 1) return tw_ref_error(c, "spatial axis %d is empty", i);
    }
    return TW_OK;
}

tw_status tw_slide_read(const tw_ref_case *c, const tw_array *x, const int64_t *kernel, tw_slide *out)
{
    const char *mode = tw_onnx_string(c->node, "auto_pad", "NOTSET");
    tw_slide s = {0};
    TW_TRY(begin(c, x, s.in, &s));
    TW_TRY(read_attributes(c, kernel, &s));
    for (int i = 0; i < s.n; i++) {
        if (strcmp(mode, "NOTSET") != 0) s.lo[i] = s.hi[i] = 0;
        if (strncmp(mode, "SAME", 4) == 0)
            pad_same(&s, i, strcmp(mode, "SAME_LOWER") == 0);
        else
            TW_TRY(count_outputs(c, &s, i));
    }
    TW_TRY(set_products(c, &s));
    *out = s;
    return TW_OK;
}

tw_status tw_slide_global(const tw_ref_case *c, const tw_array *x, tw_slide *out)
{
    tw_slide s = {0};
    TW_TRY(begin(c, x, s.in, &s));
    for (int i = 0; i < s.n; i++) {
        s.kernel[i] = s.in[i];
        s.stride[i] = s.dilation[i] = s.out[i] = 1;
    }
    TW_TRY(set_products(c, &s));
    *out = s;
    return TW_OK;
}

/* The result's extent as output_shape, auto_pad or the pads have it; the padding follows from it. */
static void size_transposed(tw_slide *s, int i, const char *mode, int64_t wished, int64_t extra)
{
    bool same = strncmp(mode, "SAME", 4) == 0;
    int64_t full = s->stride[i] * (s->out[i] - 1) + extra + reach(s, i);
    if (wished < 0 && same) wished = s->out[i] * s->stride[i];
    if (strcmp(mode, "VALID") == 0) s->lo[i] = s->hi[i] = 0;
    if (wished >= 0) {
        int64_t total = tw_max(full - wished, 0);
        s->lo[i] = strcmp(mode, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
        s->hi[i] = total - s->lo[i];
        s->in[i] = wished;
    } else
        s->in[i] = full - s->lo[i] - s->hi[i];
}

tw_status tw_slide_transposed(const tw_ref_case *c, const tw_array *x, const int64_t *kernel, tw_slide *out)
{
    const char *mode = tw_onnx_string(c->node, "auto_pad", "NOTSET");
    int64_t wished[TW_ONNX_MAX_DIMS], extra[TW_ONNX_MAX_DIMS];
    tw_slide s = {0};
    TW_TRY(begin(c, x, s.out, &s));
    TW_TRY(read_attributes(c, kernel, &s));
    TW_TRY(read_list(c, "output_shape", s.n, -1, -1, wished));
    TW_TRY(read_list(c, "output_padding", s.n, 0, 0, extra));
    for (int i = 0; i < s.n; i++) {
        size_transposed(&s, i, mode, wished[i], extra[i]);
        if (s.in[i] < 1) return tw_ref_error(c, "nothing is left of axis %d", i);
    }
    TW_TRY(set_products(c, &s));
    *out = s;
    return TW_OK;
}

/* Row-major index `i` of a shape as coordinates. */
static void coordinates(int n, const int64_t *dim, int64_t i, int64_t *at)
{
    for (int d = n - 1; d >= 0; d--) {
        at[d] = i % dim[d];
        i /= dim[d];
    }
}

static int64_t read_at(const tw_slide *s, const int64_t *position, const int64_t *tap)
{
    int64_t at = 0;
    for (int d = 0; d < s->n; d++) {
        int64_t x = position[d] * s->stride[d] + tap[d] * s->dilation[d] - s->lo[d];
        if (x < 0 || x >= s->in[d]) return -1;
        at = at * s->in[d] + x;
    }
    return at;
}

void tw_slide_reads(const tw_slide *s, int64_t from, int64_t to, int64_t *at)
{
    int64_t position[TW_ONNX_MAX_DIMS], tap[TW_ONNX_MAX_DIMS];
    for (int64_t p = from; p < to; p++) {
        coordinates(s->n, s->out, p, position);
        for (int64_t k = 0; k < s->n_taps; k++) {
            coordinates(s->n, s->kernel, k, tap);
            at[k * (to - from) + p - from] = read_at(s, position, tap);
        }
    }
}
