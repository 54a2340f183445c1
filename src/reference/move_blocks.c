/* src/reference/move_blocks.c - blocks of pixels to channels and back, columns to images, parts of rows. */
#include "reference/moving.h"

#include <string.h>

/* ---- DepthToSpace and SpaceToDepth ---- */

static tw_status block_of(const tw_ref_case *c, const tw_array **x, int64_t *block)
{
    TW_TRY(tw_ref_need(c, 0, x));
    if ((*x)->n_dims != 4) return tw_ref_error(c, "the input has %d axes instead of 4", (*x)->n_dims);
    *block = tw_onnx_int(c->node, "blocksize", 0);
    if (*block < 1 || *block > INT32_MAX) return tw_ref_error(c, "'blocksize' is %" PRId64, *block);
    return TW_OK;
}

/* The output as six axes, and for each how far a step goes in the input. */
static void move_six(tw_array *out, const tw_array *x, const int64_t dim[6], const int64_t stride[6])
{
    tw_array six = *out;
    six.n_dims = 6;
    memcpy(six.dim, dim, 6 * sizeof *dim);
    tw_moving_view(&six, x, stride, 0);
}

tw_status tw_run_depth_to_space(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int64_t b = 1;
    TW_TRY(block_of(c, &x, &b));
    const char *mode = tw_onnx_string(c->node, "mode", "DCR");
    bool dcr = strcmp(mode, "DCR") == 0;
    if (!dcr && strcmp(mode, "CRD") != 0) return tw_ref_error(c, "'mode' is '%s'", mode);
    const int64_t *d = x->dim;
    if (d[1] % (b * b) != 0)
        return tw_ref_error(c, "%" PRId64 " channels are not a multiple of blocks of %" PRId64, d[1], b * b);
    int64_t dim[4] = {d[0], d[1] / (b * b)};
    if (!tw_ckd_mul(d[2], b, &dim[2]) || !tw_ckd_mul(d[3], b, &dim[3]))
        return tw_ref_error(c, "the image is too large");
    TW_TRY(tw_ref_make(c, x->type, 4, dim, output));
    if (output->n == 0) return TW_OK;
    int64_t plane = d[2] * d[3], depth = dcr ? dim[1] * plane : plane;
    int64_t six[6] = {d[0], dim[1], d[2], b, d[3], b};
    int64_t stride[6] = {d[1] * plane, dcr ? plane : b * b * plane, d[3], b * depth, 1, depth};
    move_six(output, x, six, stride);
    return TW_OK;
}

tw_status tw_run_space_to_depth(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int64_t b = 1;
    TW_TRY(block_of(c, &x, &b));
    const int64_t *d = x->dim;
    if (d[2] % b != 0 || d[3] % b != 0)
        return tw_ref_error(c, "an image of %" PRId64 " x %" PRId64 " cannot be cut into blocks of %" PRId64, d[2],
                            d[3], b);
    int64_t dim[4] = {d[0], 0, d[2] / b, d[3] / b};
    if (!tw_ckd_mul(d[1], b * b, &dim[1])) return tw_ref_error(c, "there are too many channels");
    TW_TRY(tw_ref_make(c, x->type, 4, dim, output));
    if (output->n == 0) return TW_OK;
    int64_t plane = d[2] * d[3];
    int64_t six[6] = {d[0], b, b, d[1], dim[2], dim[3]};
    int64_t stride[6] = {d[1] * plane, d[3], 1, plane, b * d[3], b};
    move_six(output, x, six, stride);
    return TW_OK;
}

/* ---- Col2Im ---- */

enum { MAX_SPATIAL = TW_ONNX_MAX_DIMS / 2 - 1 };

typedef struct columns {
    int n; /* spatial axes                            */
    int64_t image[MAX_SPATIAL], block[MAX_SPATIAL], places[MAX_SPATIAL];
    int64_t stride[MAX_SPATIAL], dilation[MAX_SPATIAL], pad[MAX_SPATIAL];
    int64_t n_places, n_taps;
} columns;

static tw_status spatial_ints(const tw_ref_case *c, const char *name, int n, int64_t *out)
{
    tw_ref_list list;
    TW_TRY(tw_ref_ints(c, name, -1, &list));
    if (list.there && list.n != n)
        return tw_ref_error(c, "'%s' has %" PRId64 " entries for %d axes", name, list.n, n);
    for (int k = 0; k < n; k++) {
        out[k] = list.there ? list.v[k] : 1;
        if (out[k] < 1 || out[k] > INT32_MAX) return tw_ref_error(c, "'%s' has a %" PRId64, name, out[k]);
    }
    return TW_OK;
}

static tw_status place_columns(const tw_ref_case *c, tw_ref_list pads, columns *s)
{
    if (pads.there && pads.n != 2 * s->n)
        return tw_ref_error(c, "'pads' has %" PRId64 " entries for %d axes", pads.n, s->n);
    s->n_places = s->n_taps = 1;
    for (int k = 0; k < s->n; k++) {
        int64_t after = pads.there ? pads.v[k + s->n] : 0;
        s->pad[k] = pads.there ? pads.v[k] : 0;
        if (s->image[k] < 1 || s->block[k] < 1 || s->image[k] > INT32_MAX || s->block[k] > INT32_MAX || after < 0 ||
            after > INT32_MAX || s->pad[k] < 0 || s->pad[k] > INT32_MAX)
            return tw_ref_error(c, "axis %d of the image or the block is out of range", k);
        int64_t room = s->image[k] + s->pad[k] + after - s->dilation[k] * (s->block[k] - 1) - 1;
        s->places[k] = room < 0 ? 0 : room / s->stride[k] + 1;
        if (!tw_ckd_mul(s->n_places, s->places[k], &s->n_places) || !tw_ckd_mul(s->n_taps, s->block[k], &s->n_taps))
            return tw_ref_error(c, "there are too many blocks");
    }
    return TW_OK;
}

static tw_status read_columns(const tw_ref_case *c, columns *s)
{
    tw_ref_list image, block, pads;
    TW_TRY(tw_ref_ints(c, "image_shape", 1, &image));
    TW_TRY(tw_ref_ints(c, "block_shape", 2, &block));
    TW_TRY(tw_ref_ints(c, "pads", -1, &pads));
    if (image.n != block.n || image.n < 1)
        return tw_ref_error(c, "the image has %" PRId64 " axes, the block %" PRId64, image.n, block.n);
    if (image.n > MAX_SPATIAL) return tw_ref_unknown(c, "an image of %" PRId64 " axes", image.n);
    s->n = (int)image.n;
    memcpy(s->image, image.v, (size_t)s->n * sizeof *image.v);
    memcpy(s->block, block.v, (size_t)s->n * sizeof *block.v);
    TW_TRY(spatial_ints(c, "strides", s->n, s->stride));
    TW_TRY(spatial_ints(c, "dilations", s->n, s->dilation));
    return place_columns(c, pads, s);
}

/* Adds the columns of one image: rows are taps of the block, columns its places. */
static void add_columns(const columns *s, const double *x, double *image)
{
    int64_t dim[2 * MAX_SPATIAL];
    memcpy(dim, s->block, (size_t)s->n * sizeof *dim);
    memcpy(dim + s->n, s->places, (size_t)s->n * sizeof *dim);
    tw_walk w = tw_walk_of(2 * s->n, dim);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int64_t at = 0;
        bool inside = true;
        for (int k = 0; k < s->n; k++) {
            int64_t p = w.index[s->n + k] * s->stride[k] + w.index[k] * s->dilation[k] - s->pad[k];
            inside = inside && p >= 0 && p < s->image[k];
            at = inside ? at * s->image[k] + p : 0;
        }
        if (inside) image[at] += x[i];
    }
}

tw_status tw_run_col2im(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    columns s = {0};
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(read_columns(c, &s));
    if (x->n_dims != 3 || x->dim[1] % s.n_taps != 0 || x->dim[2] != s.n_places || !tw_onnx_is_number(x->type))
        return tw_ref_error(c, "the input must be N x C*%" PRId64 " x %" PRId64, s.n_taps, s.n_places);
    int64_t dim[TW_ONNX_MAX_DIMS] = {x->dim[0], x->dim[1] / s.n_taps};
    memcpy(dim + 2, s.image, (size_t)s.n * sizeof *dim);
    TW_TRY(tw_ref_make(c, x->type, 2 + s.n, dim, output));
    tw_arena_mark mark = tw_arena_save(c->arena);
    double *sums, *in = tw_array_reals(x, c->arena);
    TW_ALLOC(c->arena, sums, output->n);
    if (!in) return TW_ERR_NOMEM;
    int64_t pixels = output->n == 0 ? 0 : tw_ref_extent(output, 2, output->n_dims);
    for (int64_t i = 0; pixels > 0 && i < output->n / pixels; i++)
        add_columns(&s, in + i * s.n_taps * s.n_places, sums + i * pixels);
    tw_array_put_reals(output, sums);
    tw_arena_rewind(c->arena, mark);
    return TW_OK;
}

/* ---- parts of rows ---- */

tw_status tw_run_reverse_sequence(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list lens;
    int64_t batch = tw_onnx_int(c->node, "batch_axis", 1), time = tw_onnx_int(c->node, "time_axis", 0);
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "sequence_lens", 1, &lens));
    if (x->n_dims < 2 || batch + time != 1 || batch * time != 0)
        return tw_ref_error(c, "batch axis %" PRId64 " and time axis %" PRId64 " must be 0 and 1", batch, time);
    if (lens.n != x->dim[batch])
        return tw_ref_error(c, "%" PRId64 " lengths for a batch of %" PRId64, lens.n, x->dim[batch]);
    for (int64_t i = 0; i < lens.n; i++)
        if (lens.v[i] < 0 || lens.v[i] > x->dim[time])
            return tw_ref_error(c, "length %" PRId64 " is %" PRId64 " of %" PRId64, i, lens.v[i], x->dim[time]);
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    int64_t stride[TW_ONNX_MAX_DIMS];
    tw_moving_strides(x, stride);
    tw_walk w = tw_walk_of(x->n_dims, x->dim);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int64_t t = w.index[time], len = lens.v[w.index[batch]];
        tw_moving_run(output, i, x, t < len ? i + (len - 1 - 2 * t) * stride[time] : i, 1);
    }
    return TW_OK;
}

tw_status tw_run_trilu(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int64_t k;
    bool upper = tw_onnx_int(c->node, "upper", 1) != 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_moving_whole(c, 1, 0, &k));
    if (x->n_dims < 2) return tw_ref_error(c, "the input has %d axes and is no matrix", x->n_dims);
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    tw_walk w = tw_walk_of(x->n_dims, x->dim);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int64_t diagonal = w.index[x->n_dims - 1] - w.index[x->n_dims - 2];
        bool keeps = upper ? diagonal >= k : diagonal <= k;
        memcpy(tw_moving_at(output, i), keeps ? tw_moving_at(x, i) : tw_moving_zero(x->type),
               tw_moving_bytes(x->type));
    }
    return TW_OK;
}
