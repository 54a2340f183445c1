/* src/reference/index_sample.c - GridSample: an image read at places that need not be pixels.
 *
 * Any number of spatial axes. A place is split into taps per axis (nearest 1, linear 2, cubic 4); what a tap outside
 * the image reads is the padding's matter, tap by tap. */
#include "reference/moving.h"

#include <math.h>
#include <string.h>

enum { MAX_TAPS = 4 };
typedef struct taps {
    int n;
    int64_t at[MAX_TAPS]; /* -1: outside, reads 0 */
    double weight[MAX_TAPS];
} taps;

typedef enum padding { ZEROS, BORDER, REFLECTION } padding;
typedef struct sampling {
    const tw_array *x, *grid;
    int n_axes; /* spatial */
    int order;  /* 0 nearest, 1 linear, 3 cubic */
    padding padding;
    bool corners;
} sampling;

/* Mirrored at the outermost pixels, or at their outer edges. */
static int64_t reflected(int64_t at, int64_t extent, bool corners)
{
    int64_t period = corners ? 2 * (extent - 1) : 2 * extent;
    if (period == 0) return 0;
    at -= tw_fdiv(at, period) * period;
    if (at < extent) return at;
    return corners ? period - at : period - 1 - at;
}

static int64_t pixel(const sampling *s, int64_t at, int64_t extent)
{
    if (at >= 0 && at < extent) return at;
    if (s->padding == ZEROS) return -1;
    return s->padding == BORDER ? tw_clamp(at, 0, extent - 1) : reflected(at, extent, s->corners);
}

/* From -1..1 of the grid to taps of an axis. */
static taps taps_of(const sampling *s, double place, int64_t extent)
{
    double n = (double)extent, x = s->corners ? (place + 1) / 2 * (n - 1) : ((place + 1) * n - 1) / 2;
    int64_t base = s->order == 0 ? tw_moving_floor(nearbyint(x)) : tw_moving_floor(x);
    double rest = x - (double)base;
    taps t = {.n = s->order + 1};
    for (int i = 0; i < t.n; i++) {
        int offset = s->order == 3 ? i - 1 : i;
        t.at[i] = pixel(s, base + offset, extent);
        t.weight[i] = s->order == 0   ? 1
                      : s->order == 1 ? 1 - fabs(rest - offset)
                                      : tw_moving_cubic(rest - offset, -0.75);
    }
    return t;
}

/* Sum over the taps of axis k and all behind it; `from` is where the axes before it have led to. */
static double weighed(const sampling *s, const double *image, const taps *t, int k, int64_t from)
{
    if (k == s->n_axes) return image[from];
    double sum = 0;
    for (int i = 0; i < t[k].n; i++)
        if (t[k].at[i] >= 0 && t[k].weight[i] != 0)
            sum += t[k].weight[i] * weighed(s, image, t, k + 1, from * s->x->dim[2 + k] + t[k].at[i]);
    return sum;
}

static tw_status order_of(const tw_ref_case *c, int *order)
{
    static const struct {
        const char *name;
        int order;
    } mode[] = {{"bilinear", 1}, {"linear", 1}, {"nearest", 0}, {"bicubic", 3}, {"cubic", 3}};
    const char *name = tw_onnx_string(c->node, "mode", "bilinear");
    for (size_t i = 0; i < TW_COUNT(mode); i++) {
        *order = mode[i].order;
        if (strcmp(name, mode[i].name) == 0) return TW_OK;
    }
    return tw_ref_error(c, "'mode' is '%s'", name);
}

static tw_status padding_of(const tw_ref_case *c, padding *out)
{
    static const char *const name[] = {"zeros", "border", "reflection"};
    const char *wish = tw_onnx_string(c->node, "padding_mode", "zeros");
    for (size_t i = 0; i < TW_COUNT(name); i++) {
        *out = (padding)i;
        if (strcmp(wish, name[i]) == 0) return TW_OK;
    }
    return tw_ref_error(c, "'padding_mode' is '%s'", wish);
}

static tw_status read_sampling(const tw_ref_case *c, sampling *s)
{
    TW_TRY(tw_ref_need(c, 0, &s->x));
    TW_TRY(tw_ref_need(c, 1, &s->grid));
    TW_TRY(order_of(c, &s->order));
    TW_TRY(padding_of(c, &s->padding));
    const tw_array *x = s->x, *g = s->grid;
    s->corners = tw_onnx_int(c->node, "align_corners", 0) != 0;
    s->n_axes = x->n_dims - 2;
    if (s->n_axes < 1 || g->n_dims != x->n_dims || g->dim[0] != x->dim[0] || g->dim[g->n_dims - 1] != s->n_axes)
        return tw_ref_error(c, "the grid must have %d axes, the last of them %d long", x->n_dims, s->n_axes);
    for (int k = 2; k < x->n_dims; k++)
        if (x->dim[k] == 0) return tw_ref_error(c, "axis %d of the image is empty", k);
    if (!tw_onnx_is_number(x->type) || !tw_onnx_is_float(g->type))
        return tw_ref_unknown(c, "an image of %s", tw_onnx_type_name(x->type));
    return TW_OK;
}

/* All channels of one place of the grid. The grid names the axes from the last to the first. */
static void sample_place(const sampling *s, const double *image, int64_t place, tw_array *output)
{
    taps t[TW_ONNX_MAX_DIMS];
    int64_t pixels = tw_ref_extent(s->x, 2, s->x->n_dims), n_out = tw_ref_extent(output, 2, output->n_dims);
    int64_t batch = place / n_out, n_channels = s->x->dim[1];
    for (int k = 0; k < s->n_axes; k++)
        t[k] = taps_of(s, tw_array_get(s->grid, (place + 1) * s->n_axes - 1 - k), s->x->dim[2 + k]);
    for (int64_t ch = 0; ch < n_channels; ch++) {
        int64_t plane = batch * n_channels + ch;
        tw_array_set(output, plane * n_out + place % n_out, weighed(s, image + plane * pixels, t, 0, 0));
    }
}

tw_status tw_run_grid_sample(const tw_ref_case *c, tw_array *output)
{
    sampling s;
    TW_TRY(read_sampling(c, &s));
    int64_t dim[TW_ONNX_MAX_DIMS] = {s.x->dim[0], s.x->dim[1]};
    for (int k = 0; k < s.n_axes; k++) dim[2 + k] = s.grid->dim[1 + k];
    TW_TRY(tw_ref_make(c, s.x->type, s.x->n_dims, dim, output));
    if (output->n == 0) return TW_OK;
    tw_arena_mark mark = tw_arena_save(c->arena);
    double *image = tw_array_reals(s.x, c->arena);
    if (!image) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < s.grid->n / s.n_axes; i++) sample_place(&s, image, i, output);
    tw_arena_rewind(c->arena, mark);
    return TW_OK;
}
