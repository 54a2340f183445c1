/* src/reference/index_rois.c - regions of an image pooled to a fixed size: RoiAlign and MaxRoiPool. */
#include "reference/moving.h"

#include <math.h>
#include <string.h>

typedef struct rois {
    const tw_array *x, *boxes;
    int64_t n, channels, height, width; /* regions; of the image */
    int64_t out[2];                     /* rows, columns of a pooled region */
    double scale;
} rois;

static tw_status read_rois(const tw_ref_case *c, int box, rois *r)
{
    TW_TRY(tw_ref_need(c, 0, &r->x));
    TW_TRY(tw_ref_need(c, 1, &r->boxes));
    if (r->x->n_dims != 4 || r->boxes->n_dims != 2 || r->boxes->dim[1] != box || !tw_onnx_is_float(r->x->type) ||
        !tw_onnx_is_float(r->boxes->type))
        return tw_ref_error(c, "the image must have 4 axes, and regions %d numbers", box);
    r->n = r->boxes->dim[0];
    r->channels = r->x->dim[1];
    r->height = r->x->dim[2];
    r->width = r->x->dim[3];
    r->scale = (double)tw_onnx_float(c->node, "spatial_scale", 1);
    if (r->x->n == 0) return tw_ref_error(c, "the image is empty");
    return TW_OK;
}

static tw_status make_pooled(const tw_ref_case *c, const rois *r, tw_array *output)
{
    int64_t dim[4] = {r->n, r->channels, r->out[0], r->out[1]};
    return tw_ref_make(c, r->x->type, 4, dim, output);
}

static const double *plane_of(const rois *r, const double *image, int64_t batch, int64_t channel)
{
    return image + (batch * r->channels + channel) * r->height * r->width;
}

static tw_status batch_of(const tw_ref_case *c, const rois *r, double batch, int64_t *out)
{
    *out = tw_moving_floor(batch);
    if (*out < 0 || *out >= r->x->dim[0])
        return tw_ref_error(c, "a region of image %" PRId64 " of %" PRId64, *out, r->x->dim[0]);
    return TW_OK;
}

/* ---- RoiAlign ---- */

typedef struct aligned {
    double start[2], bin[2]; /* rows, columns */
    int64_t grid[2];         /* samples of a bin */
} aligned;

typedef struct pair { /* the two pixels around a sample along one axis */
    int64_t at[2];
    double weight[2];
} pair;

static pair pair_of(double x, int64_t extent)
{
    if (!(x >= -1 && x <= (double)extent)) return (pair){0};
    x = x > 0 ? x : 0;
    int64_t low = (int64_t)x;
    if (low >= extent - 1) return (pair){{extent - 1, extent - 1}, {1, 0}};
    return (pair){{low, low + 1}, {1 - (x - (double)low), x - (double)low}};
}

static tw_status align(const tw_ref_case *c, const rois *r, int64_t region, bool half, aligned *out)
{
    int64_t ratio = tw_onnx_int(c->node, "sampling_ratio", 0);
    for (int k = 0; k < 2; k++) { /* a box is x1 y1 x2 y2 */
        double lo = tw_array_get(r->boxes, 4 * region + 1 - k) * r->scale - (half ? 0.5 : 0);
        double hi = tw_array_get(r->boxes, 4 * region + 3 - k) * r->scale - (half ? 0.5 : 0);
        double size = half || hi - lo > 1 ? hi - lo : 1;
        out->start[k] = lo;
        out->bin[k] = size / (double)r->out[k];
        out->grid[k] = ratio > 0 ? ratio : tw_max(0, -tw_moving_floor(-out->bin[k]));
        if (out->grid[k] > 1 << 15)
            return tw_ref_unknown(c, "a region of %g pixels in %" PRId64 " bins", size, r->out[k]);
    }
    return TW_OK;
}

static pair sample_pair(const aligned *a, int k, int64_t bin, int64_t i, int64_t extent)
{
    return pair_of(a->start[k] + a->bin[k] * ((double)bin + ((double)i + 0.5) / (double)a->grid[k]), extent);
}

/* The largest of the weighted pixels, not of the interpolated values: so does the standard's own implementation. */
static double pool_bin(const rois *r, const double *plane, const aligned *a, int64_t row, int64_t column, bool max)
{
    double sum = 0, best = -INFINITY;
    for (int64_t i = 0; i < a->grid[0]; i++)
        for (int64_t j = 0; j < a->grid[1]; j++) {
            pair y = sample_pair(a, 0, row, i, r->height), x = sample_pair(a, 1, column, j, r->width);
            for (int k = 0; k < 4; k++) {
                double v = y.weight[k / 2] * x.weight[k % 2] * plane[y.at[k / 2] * r->width + x.at[k % 2]];
                sum += v;
                best = v > best ? v : best;
            }
        }
    int64_t n = a->grid[0] * a->grid[1];
    if (n == 0) return 0;
    return max ? best : sum / (double)n;
}

static tw_status read_align(const tw_ref_case *c, rois *r, bool *half, bool *max)
{
    const char *mode = tw_onnx_string(c->node, "mode", "avg");
    const char *places = tw_onnx_string(c->node, "coordinate_transformation_mode",
                                        c->opset < 16 ? "output_half_pixel" : "half_pixel");
    *half = strcmp(places, "half_pixel") == 0;
    *max = strcmp(mode, "max") == 0;
    if ((!*max && strcmp(mode, "avg") != 0) || (!*half && strcmp(places, "output_half_pixel") != 0))
        return tw_ref_error(c, "'mode' is '%s', 'coordinate_transformation_mode' is '%s'", mode, places);
    r->out[0] = tw_onnx_int(c->node, "output_height", 1);
    r->out[1] = tw_onnx_int(c->node, "output_width", 1);
    return read_rois(c, 4, r);
}

tw_status tw_run_roi_align(const tw_ref_case *c, tw_array *output)
{
    rois r;
    bool half, max;
    const tw_array *batches;
    TW_TRY(read_align(c, &r, &half, &max));
    TW_TRY(tw_ref_need(c, 2, &batches));
    if (batches->n != r.n)
        return tw_ref_error(c, "%" PRId64 " regions and %" PRId64 " batch indices", r.n, batches->n);
    TW_TRY(make_pooled(c, &r, output));
    double *image = tw_array_reals(r.x, c->arena);
    if (!image) return TW_ERR_NOMEM;
    int64_t bins = r.out[0] * r.out[1], per_region = r.channels * bins;
    for (int64_t n = 0; n < r.n && per_region > 0; n++) {
        aligned a;
        int64_t batch;
        TW_TRY(batch_of(c, &r, tw_array_get(batches, n), &batch));
        TW_TRY(align(c, &r, n, half, &a));
        for (int64_t i = 0; i < per_region; i++) {
            const double *plane = plane_of(&r, image, batch, i / bins);
            double v = pool_bin(&r, plane, &a, i % bins / r.out[1], i % r.out[1], max);
            tw_array_set(output, n * per_region + i, v);
        }
    }
    return TW_OK;
}

/* ---- MaxRoiPool ---- */

/* The pixels of a bin along one axis. */
static tw_span bin_span(const rois *r, int64_t region, int k, int64_t bin, int64_t extent)
{
    const double far = 1e9;
    double lo = round(fmax(-far, fmin(far, tw_array_get(r->boxes, 5 * region + 2 - k) * r->scale)));
    double hi = round(fmax(-far, fmin(far, tw_array_get(r->boxes, 5 * region + 4 - k) * r->scale)));
    double size = fmax(hi - lo + 1, 1) / (double)r->out[k];
    tw_span s = {(int64_t)(lo + floor((double)bin * size)), (int64_t)(lo + ceil((double)(bin + 1) * size))};
    return tw_span_clip(s, 0, extent);
}

static double largest(const rois *r, const double *plane, tw_span rows, tw_span columns)
{
    if (tw_span_len(rows) == 0 || tw_span_len(columns) == 0) return 0;
    double best = -INFINITY;
    for (int64_t y = rows.lo; y < rows.hi; y++)
        for (int64_t x = columns.lo; x < columns.hi; x++) best = fmax(best, plane[y * r->width + x]);
    return best;
}

tw_status tw_run_max_roi_pool(const tw_ref_case *c, tw_array *output)
{
    rois r;
    tw_ref_list shape;
    TW_TRY(read_rois(c, 5, &r));
    TW_TRY(tw_ref_ints(c, "pooled_shape", -1, &shape));
    if (shape.n != 2) return tw_ref_error(c, "'pooled_shape' has %" PRId64 " entries instead of 2", shape.n);
    memcpy(r.out, shape.v, sizeof r.out);
    TW_TRY(make_pooled(c, &r, output));
    double *image = tw_array_reals(r.x, c->arena);
    if (!image) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < output->n; i++) {
        int64_t column = i % r.out[1], row = i / r.out[1] % r.out[0], plane = i / r.out[1] / r.out[0];
        int64_t region = plane / r.channels, batch;
        TW_TRY(batch_of(c, &r, tw_array_get(r.boxes, 5 * region), &batch));
        tw_array_set(output, i,
                     largest(&r, plane_of(&r, image, batch, plane % r.channels),
                             bin_span(&r, region, 0, row, r.height), bin_span(&r, region, 1, column, r.width)));
    }
    return TW_OK;
}
