/* src/reference/convolutions.c - Conv and its relatives, as products of matrices.
 *
 * For a block of output positions the taps are gathered into a matrix with one row per input channel and tap
 * (zeros where there is padding); weights times that matrix is the block of the output. The transposed operator
 * multiplies first and scatters afterwards. Quantised operators subtract zeros first, which makes padding 0 too.
 * Padding takes no part: a weight that is infinite or no number does not meet its zeros. */
#include "reference/product.h"
#include "reference/quant.h"
#include "reference/slide.h"

#include <math.h>
#include <string.h>

enum { GATHERED_ELEMS = 1 << 15 };

typedef struct conv {
    tw_slide slide;
    int64_t n_images, groups, ins, outs; /* channels of one group */
    const double *x, *w;                 /* w: groups x outs x ins x taps; transposed: groups x ins x outs x taps */
    double *y;                           /* the result with n x outs x positions, not stored yet                 */
    bool skips;                          /* some weight is not finite: padding is left out one tap at a time      */
} conv;

static int64_t block_width(const conv *v, int64_t rows)
{
    return tw_clamp(GATHERED_ELEMS / tw_max(rows, 1), 16, tw_max(v->slide.n_out, 16));
}

/* ---- forward ---- */

static void gather(const conv *v, const double *x, const int64_t *reads, int64_t width, double *columns)
{
    for (int64_t k = 0; k < v->ins; k++, x += v->slide.n_in)
        for (int64_t t = 0; t < v->slide.n_taps * width; t++) *columns++ = reads[t] < 0 ? 0 : x[reads[t]];
}

/* y += w times the columns, without those taps that are padding. */
static void add_without_padding(const conv *v, const double *w, const int64_t *reads, int64_t width,
                                const double *columns, double *y)
{
    const tw_slide *s = &v->slide;
    for (int64_t o = 0; o < v->outs; o++, y += s->n_out)
        for (int64_t row = 0; row < v->ins * s->n_taps; row++, w++)
            for (int64_t i = 0; i < width; i++)
                if (reads[row % s->n_taps * width + i] >= 0) y[i] += *w * columns[row * width + i];
}

static void convolve_block(const conv *v, int64_t from, int64_t to, const int64_t *reads, double *columns,
                           double *y)
{
    const tw_slide *s = &v->slide;
    int64_t rows = v->ins * s->n_taps, width = to - from;
    for (int64_t i = 0; i < v->n_images * v->groups; i++) {
        const double *w = v->w + i % v->groups * v->outs * rows;
        double *to_y = y + i * v->outs * s->n_out + from;
        gather(v, v->x + i * v->ins * s->n_in, reads, width, columns);
        if (v->skips)
            add_without_padding(v, w, reads, width, columns, to_y);
        else
            tw_product_add((tw_product_size){v->outs, width, rows}, (tw_rows){w, rows}, (tw_rows){columns, width},
                           to_y, s->n_out);
    }
}

static tw_status convolve(const conv *v, tw_arena *arena, double *y)
{
    const tw_slide *s = &v->slide;
    int64_t width = block_width(v, v->ins * s->n_taps), *reads;
    double *columns;
    TW_ALLOC(arena, reads, s->n_taps * width);
    TW_ALLOC(arena, columns, tw_max(v->ins, 1) * s->n_taps * width);
    for (int64_t from = 0; from < s->n_out; from += width) {
        int64_t to = tw_min(from + width, s->n_out);
        tw_slide_reads(s, from, to, reads);
        convolve_block(v, from, to, reads, columns, y);
    }
    return TW_OK;
}

/* Shapes of x and w against each other and `group`; the result's shape. */
static tw_status prepare(const tw_ref_case *c, const tw_array *x, const tw_array *w, conv *v,
                         int64_t dim[TW_ONNX_MAX_DIMS])
{
    int64_t groups = tw_onnx_int(c->node, "group", 1);
    if (x->n_dims < 2 || w->n_dims != x->n_dims)
        return tw_ref_error(c, "input with %d axes, weights with %d", x->n_dims, w->n_dims);
    if (groups < 1 || x->dim[1] < 1 || w->dim[0] < 1 || w->dim[0] % groups || x->dim[1] % groups ||
        x->dim[1] / groups != w->dim[1])
        return tw_ref_error(c, "%" PRId64 " channels in %" PRId64 " groups meet weights of %" PRId64 " x %" PRId64,
                            x->dim[1], groups, w->dim[0], w->dim[1]);
    TW_TRY(tw_slide_read(c, x, w->dim + 2, &v->slide));
    v->n_images = x->dim[0];
    v->groups = groups;
    v->ins = w->dim[1];
    v->outs = w->dim[0] / groups;
    dim[0] = x->dim[0];
    dim[1] = w->dim[0];
    memcpy(dim + 2, v->slide.out, (size_t)v->slide.n * sizeof *dim);
    return TW_OK;
}

/* Makes *out of that type and v->y. */
static tw_status run_product(const tw_ref_case *c, const tw_array *x, const tw_array *w, conv *v, tw_onnx_type type,
                             tw_array *out)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    TW_TRY(prepare(c, x, w, v, dim));
    TW_TRY(tw_ref_make(c, type, x->n_dims, dim, out));
    TW_TRY(tw_ref_work(c, tw_max(out->n, 1), tw_max(v->ins, 1), v->slide.n_taps));
    TW_ALLOC(c->arena, v->y, tw_max(out->n, 1));
    if (!v->x || !v->w) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < w->n; i++) v->skips |= !isfinite(v->w[i]);
    return convolve(v, c->arena, v->y);
}

/* Per channel: v += bias. */
static tw_status add_bias(const tw_ref_case *c, const tw_array *bias, const tw_array *out, double *v)
{
    if (!bias) return TW_OK;
    int64_t channels = out->dim[1], inner = tw_ref_extent(out, 2, out->n_dims);
    if (bias->n != channels)
        return tw_ref_error(c, "bias of %" PRId64 " for %" PRId64 " channels", bias->n, channels);
    for (int64_t i = 0; i < out->n; i++) v[i] += tw_array_get(bias, i / inner % channels);
    return TW_OK;
}

/* Floats. Planners also write convolutions of bytes, which are let through: doubles hold their sums. */
static bool can_be_convolved(tw_onnx_type type)
{
    return tw_onnx_is_float(type) || (tw_onnx_is_whole(type) && tw_onnx_type_bytes(type) <= 2);
}

static tw_status convolve_plain(const tw_ref_case *c, tw_array *output, double **y)
{
    const tw_array *x, *w;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 1, &w));
    if (!can_be_convolved(x->type) || x->type != w->type)
        return tw_ref_error(c, "operands of types %s and %s", tw_onnx_type_name(x->type),
                            tw_onnx_type_name(w->type));
    conv v = {.x = tw_array_reals(x, c->arena), .w = tw_array_reals(w, c->arena)};
    TW_TRY(run_product(c, x, w, &v, x->type, output));
    *y = v.y;
    return add_bias(c, tw_ref_input(c, 2), output, *y);
}

static tw_status run_conv(const tw_ref_case *c, tw_array *output)
{
    double *y;
    TW_TRY(convolve_plain(c, output, &y));
    tw_array_put_reals(output, y);
    return TW_OK;
}

/* With a sum (input 3) and an activation behind it. */
static tw_status run_fused(const tw_ref_case *c, tw_array *output)
{
    const char *name = tw_onnx_string(c->node, "activation", "");
    const tw_attribute *params = tw_onnx_attribute(c->node, "activation_params");
    const tw_activation *f = name[0] ? tw_activation_find(name) : NULL;
    const tw_array *sum = tw_ref_input(c, 3);
    double *y;
    bool clip = strcmp(name, "Clip") == 0;
    if (name[0] && !f && !clip) return tw_ref_unknown(c, "activation '%s'", name);
    double alpha = params && params->n > 0 ? (double)params->floats[0] : f ? f->alpha : -HUGE_VAL;
    double beta = params && params->n > 1 ? (double)params->floats[1] : f ? f->beta : HUGE_VAL;
    TW_TRY(convolve_plain(c, output, &y));
    if (sum && !tw_ref_same_shape(sum, output)) return tw_ref_error(c, "the sum has another shape");
    for (int64_t i = 0; i < output->n; i++) {
        double z = y[i] + (sum ? tw_array_get(sum, i) : 0);
        y[i] = clip ? (z < alpha ? alpha : z > beta ? beta : z) : f ? f->of(z, alpha, beta) : z;
    }
    tw_array_put_reals(output, y);
    return TW_OK;
}

/* ---- quantised ---- */

static tw_status run_integer(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *w;
    tw_quant_grid of_x, of_w;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 1, &w));
    TW_TRY(tw_grid_read(c, -1, 2, x, 0, &of_x));
    TW_TRY(tw_grid_read(c, -1, 3, w, 0, &of_w));
    conv v = {.x = tw_grid_centred(&of_x, x, c->arena), .w = tw_grid_centred(&of_w, w, c->arena)};
    TW_TRY(run_product(c, x, w, &v, TW_ONNX_I32, output));
    tw_array_put_reals(output, v.y);
    return TW_OK;
}

/* Inputs: x, scale, zero, w, scale, zero, scale and zero of y, bias in int32. */
static tw_status run_qlinear(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *w, *zero;
    tw_quant_grid of_x, of_w, of_y;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 3, &w));
    TW_TRY(tw_ref_need(c, 7, &zero));
    TW_TRY(tw_grid_read(c, 1, 2, x, -1, &of_x));
    TW_TRY(tw_grid_read(c, 4, 5, w, 0, &of_w));
    conv v = {.x = tw_grid_centred(&of_x, x, c->arena), .w = tw_grid_centred(&of_w, w, c->arena)};
    TW_TRY(run_product(c, x, w, &v, zero->type, output));
    TW_TRY(add_bias(c, tw_ref_input(c, 8), output, v.y));
    TW_TRY(tw_grid_read(c, 6, 7, output, -1, &of_y));
    int64_t per_filter = w->dim[0] ? w->n / w->dim[0] : 0, inner = v.slide.n_out;
    for (int64_t i = 0; i < output->n; i++) {
        double scale = tw_grid_scale(&of_x, 0) * tw_grid_scale(&of_w, i / inner % w->dim[0] * per_filter);
        tw_array_set(output, i,
                     tw_quantised(v.y[i] * scale / tw_grid_scale(&of_y, 0), tw_grid_zero(&of_y, 0), zero->type));
    }
    return TW_OK;
}

/* ---- transposed ---- */

static void scatter(const conv *v, const int64_t *reads, int64_t width, const double *columns, double *y)
{
    for (int64_t k = 0; k < v->outs; k++, y += v->slide.n_in)
        for (int64_t t = 0; t < v->slide.n_taps * width; t++, columns++)
            if (reads[t] >= 0) y[reads[t]] += *columns;
}

/* w is turned already: groups x (outs x taps) x ins. */
static tw_status convolve_back(const conv *v, tw_arena *arena, double *y)
{
    const tw_slide *s = &v->slide;
    int64_t rows = v->outs * s->n_taps, width = block_width(v, rows), *reads;
    double *columns;
    TW_ALLOC(arena, reads, s->n_taps * width);
    TW_ALLOC(arena, columns, tw_max(rows, 1) * width);
    for (int64_t from = 0; from < s->n_out; from += width) {
        int64_t to = tw_min(from + width, s->n_out), n = to - from;
        tw_slide_reads(s, from, to, reads);
        for (int64_t i = 0; i < v->n_images * v->groups; i++) {
            memset(columns, 0, (size_t)(rows * n) * sizeof *columns);
            tw_product_add((tw_product_size){rows, n, v->ins},
                           (tw_rows){v->w + i % v->groups * rows * v->ins, v->ins},
                           (tw_rows){v->x + i * v->ins * s->n_out + from, s->n_out}, columns, n);
            scatter(v, reads, n, columns, y + i * v->outs * s->n_in);
        }
    }
    return TW_OK;
}

static tw_status turned_weights(const conv *v, const double *w, tw_arena *arena, const double **out)
{
    int64_t rows = v->ins, columns = v->outs * v->slide.n_taps;
    double *all;
    TW_ALLOC(arena, all, tw_max(v->groups * rows * columns, 1));
    for (int64_t g = 0; g < v->groups; g++)
        for (int64_t i = 0; i < rows * columns; i++)
            all[g * rows * columns + i % columns * rows + i / columns] = w[g * rows * columns + i];
    *out = all;
    return TW_OK;
}

static tw_status prepare_back(const tw_ref_case *c, const tw_array *x, const tw_array *w, conv *v,
                              int64_t dim[TW_ONNX_MAX_DIMS])
{
    int64_t groups = tw_onnx_int(c->node, "group", 1);
    if (!tw_onnx_is_float(x->type) || x->type != w->type || w->n_dims != x->n_dims || x->n_dims < 2)
        return tw_ref_error(c, "input and weights do not match in type or number of axes");
    if (groups < 1 || x->dim[1] < 1 || x->dim[1] % groups || x->dim[1] != w->dim[0])
        return tw_ref_error(c, "%" PRId64 " channels in %" PRId64 " groups meet weights of %" PRId64, x->dim[1],
                            groups, w->dim[0]);
    TW_TRY(tw_slide_transposed(c, x, w->dim + 2, &v->slide));
    v->n_images = x->dim[0];
    v->groups = groups;
    v->ins = x->dim[1] / groups;
    v->outs = w->dim[1];
    dim[0] = x->dim[0];
    if (!tw_ckd_mul(w->dim[1], groups, &dim[1])) return tw_ref_error(c, "%" PRId64 " groups", groups);
    memcpy(dim + 2, v->slide.in, (size_t)v->slide.n * sizeof *dim);
    return TW_OK;
}

static tw_status run_transposed(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *w;
    conv v = {0};
    int64_t dim[TW_ONNX_MAX_DIMS];
    double *y;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 1, &w));
    TW_TRY(prepare_back(c, x, w, &v, dim));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    TW_TRY(tw_ref_work(c, tw_max(x->n, 1), tw_max(v.outs, 1), v.slide.n_taps));
    TW_ALLOC(c->arena, y, tw_max(output->n, 1));
    const double *weights = tw_array_reals(w, c->arena);
    v.x = tw_array_reals(x, c->arena);
    if (!weights || !v.x) return TW_ERR_NOMEM;
    TW_TRY(turned_weights(&v, weights, c->arena, &v.w));
    TW_TRY(convolve_back(&v, c->arena, y));
    TW_TRY(add_bias(c, tw_ref_input(c, 2), output, y));
    tw_array_put_reals(output, y);
    return TW_OK;
}

const tw_ref_entry tw_ref_convolutions[] = {
    {"Conv", "", run_conv},           {"FusedConv", "com.microsoft", run_fused}, {"ConvInteger", "", run_integer},
    {"QLinearConv", "", run_qlinear}, {"ConvTranspose", "", run_transposed},     {0},
};
