/* src/lower/resize.c - images that are made larger or smaller by weighing neighbours.
 *
 * Output row y lies between two rows of the input: the coordinate mode says where. It is the sum of the taps around that
 * place, each times a weight that only y and the tap decide about:
 *
 *     y[n, c, oy, ox] = sum over ky, kx of x[n, c, row(oy) + ky, column(ox) + kx] * wy[oy, ky] * wx[ox, kx]
 *
 * So linear and cubic filters, stretched or not, are sums of products like a convolution, with two small constants in the
 * place of the kernel. row(oy) is the line (a*oy + b)//c: it is found by fitting, so that the modes need no formulas of
 * their own. Taps beyond the edge stand for the last row: they are padding, and their weights are the last row's.
 *
 * Nearest neighbours by odd factors are such lines without taps (move.c). */
#include "lower/build.h"

#include <math.h>
#include <string.h>

/* ---- lines ---- */

/* Bounds of b for a slope a/c, and the points that they come from: table[i] * c <= a*i + b < (table[i] + 1) * c. */
typedef struct room {
    int64_t lo, hi, lo_at, hi_at;
} room;

static room room_of(const int64_t *table, int64_t n, int64_t a, int64_t c)
{
    room r = {INT64_MIN, INT64_MAX, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        int64_t lo = table[i] * c - a * i, hi = lo + c - 1;
        if (lo > r.lo) r.lo = lo, r.lo_at = i;
        if (hi < r.hi) r.hi = hi, r.hi_at = i;
    }
    return r;
}

/* Two points that contradict each other bound the slope on one side: the interval shrinks until it holds or is empty. */
static bool fit_with(const int64_t *table, int64_t n, int64_t c, int64_t *a, int64_t *b)
{
    int64_t lo = 0, hi = n > 1 ? (table[n - 1] - table[0] + 1) * c : 0;
    while (lo <= hi) {
        *a = lo + (hi - lo) / 2;
        room r = room_of(table, n, *a, c);
        if (r.lo <= r.hi) {
            *b = r.lo;
            return true;
        }
        int64_t apart = r.lo_at - r.hi_at, rise = table[r.lo_at] * c - (table[r.hi_at] + 1) * c + 1;
        if (apart > 0)
            lo = tw_max(*a + 1, tw_cdiv(rise, apart));
        else
            hi = tw_min(*a - 1, tw_fdiv(-rise, -apart));
    }
    return false;
}

bool tw_fit_line(const int64_t *table, int64_t n, tw_axis *axis)
{
    const int64_t wide[] = {n, n - 1, 2 * n, INT64_C(1) << 20};
    int64_t a = 0, b = 0;
    for (int64_t i = 1; i <= 64 + (int64_t)TW_COUNT(wide); i++) {
        int64_t c = i <= 64 ? i : wide[i - 65];
        if (c < 1 || !fit_with(table, n, c, &a, &b) || a > TW_EXTENT_MAX || tw_max(b, -b) > TW_EXTENT_MAX) continue;
        axis->offset = b;
        axis->divisor = c;
        axis->floors = c > 1;
        axis->term[0].coef = a;
        return true;
    }
    return false;
}

/* ---- what the node says ---- */

typedef struct interpolation {
    tw_seen x, y;
    const char *places; /* the coordinate mode                    */
    bool cubic, exclude, antialias;
    double a, beyond; /* of cubic; what tf_crop_and_resize reads outside */
    float scale[TW_ONNX_MAX_DIMS], start[TW_ONNX_MAX_DIMS], end[TW_ONNX_MAX_DIMS];
} interpolation;

static bool is_mode(const interpolation *r, const char *name) { return strcmp(r->places, name) == 0; }

/* Entry i of the lists speaks of this axis. */
static int listed_axis(tw_lowering *l, const tw_attribute *axes, int i, int n_dims)
{
    int64_t axis = axes ? axes->ints[i] : i;
    if (axis < 0) axis += n_dims;
    if (axis >= 0 && axis < n_dims) return (int)axis;
    tw_refuse(l, "axis out of range");
    return 0;
}

static bool keeps_aspect(const tw_lowering *l)
{
    return strcmp(tw_onnx_string(l->node, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0;
}

/* One scale for all axes: the largest or smallest that the sizes allow. */
static float common_scale(tw_lowering *l, const interpolation *r, const tw_array *sizes, const tw_attribute *axes)
{
    bool larger = strcmp(tw_onnx_string(l->node, "keep_aspect_ratio_policy", ""), "not_smaller") == 0;
    float scale = 0;
    for (int i = 0; i < (int)sizes->n && !tw_refused(l); i++) {
        float other = (float)tw_array_get(sizes, i) / (float)r->x.dim[listed_axis(l, axes, i, r->x.n_dims)];
        if (i == 0 || (larger ? other > scale : other < scale)) scale = other;
    }
    return scale;
}

static void read_scales(tw_lowering *l, interpolation *r)
{
    bool old = strcmp(l->node->op, "Upsample") == 0 || l->opset < 11;
    const tw_attribute *axes = tw_onnx_attribute(l->node, "axes"), *list = tw_onnx_attribute(l->node, "scales");
    const tw_array *scales = tw_known_input(l, old ? 1 : 2), *sizes = old ? NULL : tw_known_input(l, 3);
    const tw_array *roi = old ? NULL : tw_known_input(l, 1);
    int n = axes ? axes->n : r->x.n_dims;
    bool crops = is_mode(r, "tf_crop_and_resize"), by_scales = scales && scales->n == n;
    if (crops && !(roi && roi->n == 2 * n)) tw_refuse(l, "the region is not constant");
    if (tw_has_input(l, old ? 1 : 2) && !scales) tw_refuse(l, "how much is not constant");
    float common = !by_scales && sizes && keeps_aspect(l) ? common_scale(l, r, sizes, axes) : 0;
    for (int d = 0; d < r->x.n_dims; d++) r->scale[d] = (float)r->y.dim[d] / (float)r->x.dim[d];
    for (int i = 0; i < n && !tw_refused(l); i++) {
        int d = listed_axis(l, axes, i, r->x.n_dims);
        if (by_scales) r->scale[d] = (float)tw_array_get(scales, i);
        if (list && list->kind == TW_ATTR_FLOATS && list->n == n) r->scale[d] = list->floats[i];
        if (common > 0) r->scale[d] = common;
        if (crops) r->start[d] = (float)tw_array_get(roi, i);
        if (crops) r->end[d] = (float)tw_array_get(roi, i + n);
    }
}

static interpolation read_interpolation(tw_lowering *l)
{
    bool old = strcmp(l->node->op, "Upsample") == 0 || l->opset < 11;
    const char *mode = tw_onnx_string(l->node, "mode", "nearest");
    interpolation r = {
        .x = tw_see_input(l, 0),
        .y = tw_see_output(l, 0),
        .places = tw_onnx_string(l->node, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
        .cubic = strcmp(mode, "cubic") == 0,
        .exclude = tw_onnx_int(l->node, "exclude_outside", 0) != 0,
        .antialias = tw_onnx_int(l->node, "antialias", 0) != 0,
        .a = (double)tw_onnx_float(l->node, "cubic_coeff_a", -0.75f),
        .beyond = (double)tw_onnx_float(l->node, "extrapolation_value", 0)};
    if (!r.cubic && strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0) tw_refuse(l, "an unknown mode");
    if (r.x.n_dims != r.y.n_dims) tw_refuse(l, "shapes contradict each other");
    if (!tw_is_float_type(tw_type_of(l, r.x))) tw_refuse(l, "interpolation of whole numbers");
    if (!tw_refused(l)) read_scales(l, &r);
    return r;
}

/* ---- one axis ---- */

/* Where output position i of axis d lies among the input's; in floats, as onnxruntime has it. */
static float place_of(const interpolation *r, int d, int64_t i)
{
    float in = (float)r->x.dim[d], out = (float)r->y.dim[d], at = (float)i, scale = r->scale[d], wide = in * scale;
    if (is_mode(r, "asymmetric")) return at / scale;
    if (is_mode(r, "tf_half_pixel_for_nn")) return (at + 0.5f) / scale;
    if (is_mode(r, "align_corners")) return wide == 1 ? 0 : at * (in - 1) / (wide - 1);
    if (is_mode(r, "tf_crop_and_resize")) {
        float from = r->start[d], to = r->end[d];
        return out > 1 ? from * (in - 1) + at * (to - from) * (in - 1) / (out - 1) : 0.5f * (from + to) * (in - 1);
    }
    if (is_mode(r, "pytorch_half_pixel") && out <= 1) return 0;
    if (!is_mode(r, "half_pixel_symmetric")) return (at + 0.5f) / scale - 0.5f;
    return (float)((double)(in / 2 * (1 - out / wide)) + ((double)at + 0.5) / (double)scale - 0.5);
}

/* The row at or above a place; one that is a rounding below a row is on it. */
static int64_t row_of(double place)
{
    double near = round(place);
    return (int64_t)(fabs(place - near) < 1e-7 ? near : floor(place));
}

static bool is_beyond(const interpolation *r, int d, double place)
{
    return is_mode(r, "tf_crop_and_resize") && !(place >= 0 && place <= (double)(r->x.dim[d] - 1));
}

/* Weight of a row that is x rows away. */
static double weight_of(const interpolation *r, double x)
{
    double a = r->a;
    x = fabs(x);
    if (!r->cubic) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

typedef struct filter {
    int axis, loop, tap_loop;
    int64_t first, n; /* taps of position i: row(i) + first .. row(i) + first + n - 1 */
    double stretch;
    int64_t *row;
    tw_array *weight;
    tw_seen weights, beyond;
    bool any_beyond;
    tw_axis map;
} filter;

static double stretch_of(const interpolation *r, int d)
{
    return r->antialias && r->scale[d] < 1 ? r->scale[d] : 1;
}

/* The weights of output position i. What lies beyond the edge is added to the edge. */
static void weigh(tw_lowering *l, const interpolation *r, const filter *f, int64_t i)
{
    double place = place_of(r, f->axis, i), sum = 0;
    int64_t in = r->x.dim[f->axis], from = f->row[i] + f->first;
    bool rescale = r->exclude || r->antialias;
    if (is_beyond(r, f->axis, place)) return;
    for (int64_t k = 0; k < f->n; k++) {
        bool outside = from + k < 0 || from + k >= in;
        if (!(r->exclude && outside)) sum += weight_of(r, ((double)(from + k) - place) * f->stretch);
    }
    for (int64_t k = 0; k < f->n; k++) {
        int64_t at = tw_clamp(from + k, 0, in - 1) - from;
        double w = weight_of(r, ((double)(from + k) - place) * f->stretch);
        if ((r->exclude && at != k) || w == 0) continue;
        if (at < 0 || at >= f->n) return tw_refuse(l, "positions far beyond the edge");
        double so_far = tw_array_get(f->weight, i * f->n + at);
        tw_array_set(f->weight, i * f->n + at, so_far + (rescale && sum != 0 ? w / sum : w));
    }
}

/* The vector of output positions that read nothing of the input. */
static void mark_beyond(tw_lowering *l, const interpolation *r, filter *f)
{
    int64_t n = r->y.dim[f->axis];
    tw_array *array;
    for (int64_t i = 0; i < n; i++) f->any_beyond |= is_beyond(r, f->axis, place_of(r, f->axis, i));
    if (!f->any_beyond || r->beyond == 0) return;
    f->beyond = tw_literal(l, tw_say(l, ".beyond%d", f->axis), TW_ONNX_F32, 1, &n, &array);
    for (int64_t i = 0; i < n && !tw_refused(l); i++)
        tw_array_set(array, i, is_beyond(r, f->axis, place_of(r, f->axis, i)));
}

static filter make_filter(tw_lowering *l, const interpolation *r, int d)
{
    int64_t n = r->y.dim[d];
    filter f = {.axis = d, .stretch = stretch_of(r, d), .beyond = {.tensor = -1}};
    f.first = (int64_t)floor(-(r->cubic ? 2 : 1) / f.stretch) + 1;
    f.n = 2 - 2 * f.first;
    int64_t dim[] = {n, f.n};
    if (n > 1 << 16 || f.n > 4096 || n * f.n > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    if (tw_refused(l)) return f;
    if (!(f.row = TW_NEW(l->arena, int64_t, n))) l->no_memory = true;
    f.weights = tw_literal(l, tw_say(l, ".weights%d", d),
                           tw_type_of(l, r->x) == TW_ONNX_F64 ? TW_ONNX_F64 : TW_ONNX_F32, 2, dim, &f.weight);
    for (int64_t i = 0; i < n && !tw_refused(l); i++) f.row[i] = row_of(place_of(r, d, i));
    if (tw_refused(l)) return f;
    if (!tw_fit_line(f.row, n, &f.map)) tw_refuse(l, "places that are on no line");
    for (int64_t i = 0; i < n && !tw_refused(l); i++) weigh(l, r, &f, i);
    if (!tw_refused(l)) mark_beyond(l, r, &f);
    return f;
}

/* ---- the nest ---- */

static const char *const axis_names[] = {"d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                         "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
static const char *const tap_names[] = {"k0", "k1", "k2",  "k3",  "k4",  "k5",  "k6",  "k7",
                                        "k8", "k9", "k10", "k11", "k12", "k13", "k14", "k15"};

static bool is_untouched(const interpolation *r, int d)
{
    return r->x.dim[d] == r->y.dim[d] && r->scale[d] == 1 && !is_mode(r, "tf_crop_and_resize");
}

/* How x is read along a filtered axis. */
static tw_axis filtered(const interpolation *r, const filter *f)
{
    tw_axis axis = f->map;
    axis.extent = r->x.dim[f->axis];
    axis.offset += f->first * axis.divisor;
    axis.n_terms = axis.term[0].coef != 0;
    axis.term[0].loop = f->loop;
    axis.term[axis.n_terms++] = (tw_term){f->tap_loop, axis.divisor};
    return axis;
}

/* What lies beyond the region is another number. */
static void finish_beyond(tw_lowering *l, const interpolation *r, const filter *f, int n)
{
    int result = tw_tail(l);
    for (int i = 0; i < n; i++)
        if (f[i].beyond.tensor >= 0)
            result = tw_choose(l, tw_hold(l, f[i].beyond, f[i].loop), tw_num(l, r->beyond), result);
    tw_set_tail(l, result);
}

/* Axes that stay as they are and stand side by side are one loop. */
static void open_nest(tw_lowering *l, const interpolation *r, filter *f, int n)
{
    tw_axis axis[TW_ONNX_MAX_DIMS];
    int n_axes = 0, k = 0;
    tw_nest_begin(l, "", TW_MULTIPLY_ADD);
    for (int d = 0; d < r->x.n_dims && !tw_refused(l);) {
        int64_t whole = 1;
        int first = d;
        while (d < r->x.n_dims && is_untouched(r, d)) whole *= r->x.dim[d++];
        if (whole > 1) {
            int loop = tw_add_loop(l, axis_names[first], whole, false);
            axis[n_axes++] = (tw_axis){.extent = whole, .divisor = 1, .n_terms = 1, .term = {{loop, 1}}};
        }
        if (d == r->x.n_dims) break;
        f[k].loop = tw_add_loop(l, axis_names[d], r->y.dim[d], false);
        axis[n_axes++] = (tw_axis){.extent = -k++ - 1};
        d++;
    }
    for (int i = 0; i < n && !tw_refused(l); i++)
        f[i].tap_loop = tw_add_loop(l, tap_names[f[i].axis], f[i].n, true);
    if (tw_refused(l)) return;
    tw_add_operand(l, r->x);
    for (int i = 0; i < n_axes; i++)
        tw_add_axis_as(l, axis[i].extent < 0 ? filtered(r, &f[-axis[i].extent - 1]) : axis[i]);
    for (int i = 0; i < n; i++) TW_WALK(l, f[i].weights, f[i].loop, f[i].tap_loop);
    tw_add_output(l, r->y);
}

void tw_interpolate(tw_lowering *l)
{
    enum { MOST = TW_MAX_OPERANDS - 2 };
    interpolation r = read_interpolation(l);
    filter f[MOST];
    int n = 0;
    for (int d = 0; d < r.x.n_dims && !tw_refused(l); d++) {
        if (is_untouched(&r, d)) continue;
        if (n == MOST) return tw_refuse(l, "too many axes");
        f[n++] = make_filter(l, &r, d);
    }
    if (tw_refused(l)) return;
    if (n == 0) return tw_output_is(l, 0, r.x, 0);
    open_nest(l, &r, f, n);
    if (!tw_refused(l)) finish_beyond(l, &r, f, n);
}
