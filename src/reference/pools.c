/* src/reference/pools.c - a window slides over each channel: MaxPool, AveragePool, LpPool, their global forms,
 * MaxUnpool.
 *
 * One output position at a time: the table of what its taps read is made once and used for all channels. */
#include "reference/quant.h"
#include "reference/slide.h"

#include <math.h>
#include <string.h>

enum { STEPS_PER_TAP = 64 }; /* a tap costs more than the product that a step stands for */

/* What one window sees: n taps, -1 for padding. */
typedef struct view {
    const double *x; /* one channel */
    const int64_t *reads;
    int64_t n;
    int64_t in_padded; /* taps inside the input and its declared padding */
} view;
typedef struct pool pool;
struct pool {
    /* The value of a window; *where is the element it is from, for MaxPool. */
    double (*of)(const pool *p, const view *v, int64_t *where);
    tw_slide slide;
    bool count_padding;
    double p;
};

static double pool_max(const pool *p __attribute__((unused)), const view *v, int64_t *where)
{
    double most = -INFINITY;
    *where = -1;
    for (int64_t k = 0; k < v->n; k++) {
        int64_t at = v->reads[k];
        if (at < 0 || (*where >= 0 && !(v->x[at] > most || (v->x[at] != v->x[at] && most == most)))) continue;
        most = v->x[at];
        *where = at;
    }
    return most;
}

static double pool_average(const pool *p, const view *v, int64_t *where __attribute__((unused)))
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < v->n; k++) {
        int64_t at = v->reads[k];
        if (at >= 0) sum += v->x[at];
        n += at >= 0;
    }
    return sum / (double)(p->count_padding ? v->in_padded : n);
}

static double pool_lp(const pool *p, const view *v, int64_t *where __attribute__((unused)))
{
    double sum = 0;
    for (int64_t k = 0; k < v->n; k++) {
        int64_t at = v->reads[k];
        if (at >= 0) sum += pow(fabs(v->x[at]), p->p);
    }
    return pow(sum, 1 / p->p);
}

/* Taps of output position `i` that lie before the end of the padded input: ceil_mode lets windows hang over. */
static int64_t taps_in_padded(const tw_slide *s, int64_t i)
{
    int64_t n = 1;
    for (int d = s->n - 1; d >= 0; d--) {
        int64_t room = s->in[d] + s->lo[d] + s->hi[d] - i % s->out[d] * s->stride[d];
        n *= tw_clamp(tw_cdiv(room, s->dilation[d]), 0, s->kernel[d]);
        i /= s->out[d];
    }
    return n;
}

/* y and *where (NULL: not asked for) have one element per channel and position. */
static tw_status slide_over(const pool *p, const double *x, int64_t channels, tw_arena *arena, double *y,
                            int64_t *where)
{
    const tw_slide *s = &p->slide;
    int64_t *reads, at;
    TW_ALLOC(arena, reads, s->n_taps);
    for (int64_t i = 0; i < s->n_out; i++) {
        tw_slide_reads(s, i, i + 1, reads);
        view v = {x, reads, s->n_taps, taps_in_padded(s, i)};
        for (int64_t k = 0; k < channels; k++, v.x += s->n_in) {
            y[k * s->n_out + i] = p->of(p, &v, &at);
            if (where) where[k * s->n_out + i] = at < 0 ? -1 : k * s->n_in + at;
        }
    }
    return TW_OK;
}

static tw_status need_numbers(const tw_ref_case *c, const tw_array **x)
{
    TW_TRY(tw_ref_need(c, 0, x));
    if (tw_onnx_is_number((*x)->type)) return TW_OK;
    return tw_ref_error(c, "elements of type %s", tw_onnx_type_name((*x)->type));
}

static tw_status make_pooled(const tw_ref_case *c, const tw_array *x, const pool *p, tw_onnx_type type,
                             tw_array *out)
{
    int64_t dim[TW_ONNX_MAX_DIMS] = {x->dim[0], x->dim[1]};
    memcpy(dim + 2, p->slide.out, (size_t)p->slide.n * sizeof *dim);
    TW_TRY(tw_ref_make(c, type, x->n_dims, dim, out));
    return tw_ref_work(c, tw_max(out->n, p->slide.n_out), p->slide.n_taps, STEPS_PER_TAP);
}

static tw_status run_pool(const tw_ref_case *c, tw_array *output, pool *p, bool global)
{
    const tw_array *x;
    double *y;
    TW_TRY(need_numbers(c, &x));
    if (global)
        TW_TRY(tw_slide_global(c, x, &p->slide));
    else
        TW_TRY(tw_slide_read(c, x, NULL, &p->slide));
    TW_TRY(make_pooled(c, x, p, x->type, output));
    TW_ALLOC(c->arena, y, tw_max(output->n, 1));
    const double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    TW_TRY(slide_over(p, v, x->dim[0] * x->dim[1], c->arena, y, NULL));
    tw_array_put_reals(output, y);
    return TW_OK;
}

static tw_status run_average(const tw_ref_case *c, tw_array *output)
{
    pool p = {.of = pool_average, .count_padding = tw_onnx_int(c->node, "count_include_pad", 0) != 0};
    return run_pool(c, output, &p, false);
}

/* p was a float in the first opset. */
static double power_of(const tw_ref_case *c)
{
    const tw_attribute *p = tw_onnx_attribute(c->node, "p");
    return !p ? 2 : p->kind == TW_ATTR_FLOAT ? (double)p->f : (double)p->i;
}

static tw_status run_lp(const tw_ref_case *c, tw_array *output)
{
    return run_pool(c, output, &(pool){.of = pool_lp, .p = power_of(c)}, false);
}

static tw_status run_global_average(const tw_ref_case *c, tw_array *output)
{
    return run_pool(c, output, &(pool){.of = pool_average}, true);
}

static tw_status run_global_max(const tw_ref_case *c, tw_array *output)
{
    return run_pool(c, output, &(pool){.of = pool_max}, true);
}

static tw_status run_global_lp(const tw_ref_case *c, tw_array *output)
{
    return run_pool(c, output, &(pool){.of = pool_lp, .p = power_of(c)}, true);
}

/* ---- MaxPool and back ---- */

/* Within its channel, an index that counts the first spatial axis fastest. */
static int64_t by_columns(const tw_slide *s, int64_t at)
{
    int64_t channel = at / s->n_in, rest = at % s->n_in, coordinate[TW_ONNX_MAX_DIMS], turned = 0;
    for (int d = s->n - 1; d >= 0; d--) {
        coordinate[d] = rest % s->in[d];
        rest /= s->in[d];
    }
    for (int d = s->n - 1; d >= 0; d--) turned = turned * s->in[d] + coordinate[d];
    return channel * s->n_in + turned;
}

static tw_status run_max(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    pool p = {.of = pool_max};
    double *y;
    int64_t *where = NULL;
    TW_TRY(need_numbers(c, &x));
    TW_TRY(tw_slide_read(c, x, NULL, &p.slide));
    TW_TRY(make_pooled(c, x, &p, x->type, output));
    if (tw_ref_wants(c, 1)) {
        TW_TRY(make_pooled(c, x, &p, TW_ONNX_I64, &output[1]));
        where = (int64_t *)output[1].data;
    }
    TW_ALLOC(c->arena, y, tw_max(output->n, 1));
    const double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    TW_TRY(slide_over(&p, v, x->dim[0] * x->dim[1], c->arena, y, where));
    tw_array_put_reals(output, y);
    for (int64_t i = 0; where && tw_onnx_int(c->node, "storage_order", 0) && i < output->n; i++)
        where[i] = where[i] < 0 ? -1 : by_columns(&p.slide, where[i]);
    return TW_OK;
}

/* Indices count in the shape that the pool would have read; output_shape may be larger than that. */
static tw_status unpooled_shape(const tw_ref_case *c, const tw_array *x, tw_array *natural, tw_array *out)
{
    tw_slide s;
    tw_ref_list wished;
    if (!tw_onnx_attribute(c->node, "kernel_shape")) return tw_ref_error(c, "kernel_shape is missing");
    TW_TRY(tw_ref_ints(c, "kernel_shape", -1, &wished));
    if (x->n_dims < 2 || wished.n != x->n_dims - 2) return tw_ref_error(c, "kernel_shape does not fit the input");
    TW_TRY(tw_slide_transposed(c, x, wished.v, &s));
    *natural = (tw_array){.n_dims = x->n_dims, .dim = {x->dim[0], x->dim[1]}};
    memcpy(natural->dim + 2, s.in, (size_t)s.n * sizeof s.in[0]);
    *out = *natural;
    TW_TRY(tw_ref_ints(c, "", 2, &wished));
    if (!wished.there) return TW_OK;
    if (wished.n != x->n_dims) return tw_ref_error(c, "output_shape has %" PRId64 " numbers", wished.n);
    memcpy(out->dim, wished.v, (size_t)x->n_dims * sizeof out->dim[0]);
    return TW_OK;
}

/* The place in `out` of an index into `natural`, -1 when there is none. */
static int64_t placed(const tw_array *natural, const tw_array *out, int64_t index)
{
    int64_t at = 0, step = 1;
    if (index < 0) return -1;
    for (int d = natural->n_dims - 1; d >= 0; d--) {
        int64_t x = d == 0 ? index : index % natural->dim[d];
        if (x >= out->dim[d]) return -1;
        index = d == 0 ? 0 : index / natural->dim[d];
        at += x * step;
        step *= out->dim[d];
    }
    return at;
}

static tw_status run_unpool(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *index;
    tw_array natural, shape;
    TW_TRY(need_numbers(c, &x));
    TW_TRY(tw_ref_need(c, 1, &index));
    if (index->n != x->n || index->type != TW_ONNX_I64) return tw_ref_error(c, "the indices do not fit the input");
    TW_TRY(unpooled_shape(c, x, &natural, &shape));
    TW_TRY(tw_ref_make(c, x->type, shape.n_dims, shape.dim, output));
    for (int64_t i = 0; i < x->n; i++) {
        int64_t at = placed(&natural, output, tw_array_get_int(index, i));
        if (at < 0) return tw_ref_error(c, "index %" PRId64 " is outside the result", tw_array_get_int(index, i));
        tw_array_set(output, at, tw_array_get(x, i));
    }
    return TW_OK;
}

/* ---- quantised averages ---- */

/* x with its channels second; `back` turns such a tensor into one with them last. */
static tw_status channels_moved(const tw_array *x, const double *v, bool back, tw_arena *arena, tw_array *out,
                                double **moved)
{
    int last = x->n_dims - 1;
    int64_t channels = x->dim[back ? 1 : last],
            inner = x->n_dims < 2 ? 1 : tw_ref_extent(x, back ? 2 : 1, back ? x->n_dims : last);
    double *to;
    TW_ALLOC(arena, to, tw_max(x->n, 1));
    for (int64_t i = 0; i < x->n; i++) {
        int64_t image = i / (channels * inner), k = back ? i / inner % channels : i % channels;
        int64_t j = back ? i % inner : i / channels % inner;
        to[image * channels * inner + (back ? j * channels + k : k * inner + j)] = v[i];
    }
    *out = *x;
    memmove(out->dim + (back ? 1 : 2), x->dim + (back ? 2 : 1), (size_t)(x->n_dims - 2) * sizeof x->dim[0]);
    out->dim[back ? last : 1] = channels;
    *moved = to;
    return TW_OK;
}

/* Inputs: x, its scale and zero, scale and zero of y. */
static tw_status quantised_average(const tw_ref_case *c, tw_array *output, bool global)
{
    const tw_array *x;
    tw_array shape, pooled;
    tw_quant_grid of_x, of_y;
    pool p = {.of = pool_average, .count_padding = tw_onnx_int(c->node, "count_include_pad", 0) != 0};
    bool last = tw_onnx_int(c->node, "channels_last", 0) != 0;
    TW_TRY(need_numbers(c, &x));
    if (x->n_dims < 2) return tw_ref_error(c, "the input has only %d axes", x->n_dims);
    TW_TRY(tw_grid_read(c, 1, 2, x, -1, &of_x));
    TW_TRY(tw_grid_read(c, 3, 4, x, -1, &of_y));
    double *v = tw_grid_reals(&of_x, x, c->arena), *y;
    if (!v) return TW_ERR_NOMEM;
    shape = *x;
    if (last) TW_TRY(channels_moved(x, v, false, c->arena, &shape, &v));
    if (global)
        TW_TRY(tw_slide_global(c, &shape, &p.slide));
    else
        TW_TRY(tw_slide_read(c, &shape, NULL, &p.slide));
    TW_TRY(make_pooled(c, &shape, &p, x->type, output));
    TW_ALLOC(c->arena, y, tw_max(output->n, 1));
    TW_TRY(slide_over(&p, v, shape.dim[0] * shape.dim[1], c->arena, y, NULL));
    pooled = *output;
    if (last) TW_TRY(channels_moved(&pooled, y, true, c->arena, output, &y));
    for (int64_t i = 0; i < output->n; i++)
        tw_array_set(output, i, tw_quantised(y[i] / tw_grid_scale(&of_y, 0), tw_grid_zero(&of_y, 0), x->type));
    return TW_OK;
}

static tw_status run_quantised(const tw_ref_case *c, tw_array *output)
{
    return quantised_average(c, output, false);
}

static tw_status run_quantised_global(const tw_ref_case *c, tw_array *output)
{
    return quantised_average(c, output, true);
}

const tw_ref_entry tw_ref_pools[] = {
    {"MaxPool", "", run_max},
    {"AveragePool", "", run_average},
    {"LpPool", "", run_lp},
    {"GlobalMaxPool", "", run_global_max},
    {"GlobalAveragePool", "", run_global_average},
    {"GlobalLpPool", "", run_global_lp},
    {"MaxUnpool", "", run_unpool},
    {"QLinearAveragePool", "com.microsoft", run_quantised},
    {"QLinearGlobalAveragePool", "com.microsoft", run_quantised_global},
    {0},
};
