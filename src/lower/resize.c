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
 * Whole numbers are weighed in double and cut off; a sum that is whole but for its last digits is that whole number, as it is
 * in the floats of onnxruntime.
 *
 * Nearest neighbours are such lines without taps (nearest.c). */
#include "lower/resize.h"

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

static bool is_mode(const tw_resize *r, const char *name) { return strcmp(r->places, name) == 0; }

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
static float common_scale(tw_lowering *l, const tw_resize *r, const tw_array *sizes, const tw_attribute *axes)
{
    bool larger = strcmp(tw_onnx_string(l->node, "keep_aspect_ratio_policy", ""), "not_smaller") == 0;
    float scale = 0;
    for (int i = 0; i < (int)sizes->n && !tw_refused(l); i++) {
        float other = (float)tw_array_get(sizes, i) / (float)r->x.dim[listed_axis(l, axes, i, r->x.n_dims)];
        if (i == 0 || (larger ? other > scale : other < scale)) scale = other;
    }
    return scale;
}

bool tw_resize_is_old(const tw_lowering *l) { return strcmp(l->node->op, "Upsample") == 0 || l->opset < 11; }

static void read_scales(tw_lowering *l, tw_resize *r)
{
    bool old = tw_resize_is_old(l);
    const tw_attribute *axes = tw_onnx_attribute(l->node, "axes"), *list = tw_onnx_attribute(l->node, "scales");
    const tw_array *scales = tw_known_input(l, old ? 1 : 2), *sizes = old ? NULL : tw_known_input(l, 3);
    const tw_array *roi = old ? NULL : tw_known_input(l, 1);
    int n = axes ? axes->n : r->x.n_dims;
    bool crops = is_mode(r, "tf_crop_and_resize"), by_scales = scales && scales->n == n;
    if (crops && !(roi && roi->n == 2 * n)) tw_refuse(l, "the region is not constant");
    if (tw_has_input(l, old ? 1 : 2) && !scales) tw_refuse(l, "how much is not constant");
    float common = !by_scales && sizes && keeps_aspect(l) ? common_scale(l, r, sizes, axes) : 0;
    for (int d = 0; d < r->x.n_dims; d++) r->scale[d] = (float)r->y.dim[d] / (float)r->x.dim[d];
    for (int d = 0; d < r->x.n_dims; d++) r->end[d] = 1;
    for (int i = 0; i < n && !tw_refused(l); i++) {
        int d = listed_axis(l, axes, i, r->x.n_dims);
        if (by_scales) r->scale[d] = (float)tw_array_get(scales, i);
        if (list && list->kind == TW_ATTR_FLOATS && list->n == n) r->scale[d] = list->floats[i];
        if (common > 0) r->scale[d] = common;
        if (crops) r->start[d] = (float)tw_array_get(roi, i);
        if (crops) r->end[d] = (float)tw_array_get(roi, i + n);
    }
}

tw_resize tw_resize_read(tw_lowering *l)
{
    const char *usual = tw_resize_is_old(l) ? "asymmetric" : "half_pixel";
    tw_resize r = {.x = tw_see_input(l, 0),
                   .y = tw_see_output(l, 0),
                   .places = tw_onnx_string(l->node, "coordinate_transformation_mode", usual),
                   .beyond = (double)tw_onnx_float(l->node, "extrapolation_value", 0)};
    if (r.x.n_dims != r.y.n_dims) tw_refuse(l, "shapes contradict each other");
    if (!tw_refused(l)) read_scales(l, &r);
    return r;
}

float tw_resize_place(const tw_resize *r, int d, int64_t i)
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

bool tw_resize_is_beyond(const tw_resize *r, int d, double place)
{
    return is_mode(r, "tf_crop_and_resize") && !(place >= 0 && place <= (double)(r->x.dim[d] - 1));
}

bool tw_resize_is_untouched(const tw_resize *r, int d)
{
    return r->x.dim[d] == r->y.dim[d] && r->scale[d] == 1 && !is_mode(r, "tf_crop_and_resize");
}

tw_seen tw_resize_beyond(tw_lowering *l, const tw_resize *r, int d)
{
    int64_t n = r->y.dim[d];
    tw_array *array;
    bool any = false;
    for (int64_t i = 0; i < n; i++) any |= tw_resize_is_beyond(r, d, tw_resize_place(r, d, i));
    if (!any) return (tw_seen){.tensor = -1};
    if (n > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    tw_seen vector = tw_literal(l, tw_say(l, ".beyond%d", d), TW_ONNX_F32, 1, &n, &array);
    for (int64_t i = 0; i < n && !tw_refused(l); i++)
        tw_array_set(array, i, tw_resize_is_beyond(r, d, tw_resize_place(r, d, i)));
    return vector;
}

double tw_resize_fill(const tw_lowering *l, const tw_resize *r)
{
    uint64_t bytes = 0;
    tw_array one = {.type = tw_type_of(l, r->y), .n = 1, .data = &bytes};
    tw_array_set(&one, 0, r->beyond);
    return tw_array_get(&one, 0);
}

/* ---- one axis ---- */

typedef struct interpolation {
    tw_resize r;
    bool cubic, exclude, antialias;
    bool whole, wide; /* of whole numbers; of more digits than a float has */
    double a;         /* of cubic                                          */
} interpolation;

static interpolation read_interpolation(tw_lowering *l)
{
    const char *mode = tw_onnx_string(l->node, "mode", "nearest");
    interpolation r = {.r = tw_resize_read(l),
                       .cubic = strcmp(mode, "cubic") == 0,
                       .exclude = tw_onnx_int(l->node, "exclude_outside", 0) != 0,
                       .antialias = tw_onnx_int(l->node, "antialias", 0) != 0,
                       .a = (double)tw_onnx_float(l->node, "cubic_coeff_a", -0.75f)};
    if (!r.cubic && strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0) tw_refuse(l, "an unknown mode");
    r.whole = !tw_is_float_type(tw_type_of(l, r.r.x));
    r.wide = r.whole || tw_type_of(l, r.r.x) == TW_ONNX_F64;
    if (tw_type_of(l, r.r.x) == TW_ONNX_BOOL) tw_refuse(l, "no numbers");
    return r;
}

/* The row at or above a place; one that is so little below a row is on it. */
static int64_t row_of(double place, double little)
{
    double near = round(place);
    return (int64_t)(fabs(place - near) < little ? near : floor(place));
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
    bool apart; /* rows on no line: x is laid out with all taps of a position side by side */
    int64_t *row;
    tw_array *weight;
    tw_seen weights, beyond;
    tw_axis map;
} filter;

static double stretch_of(const interpolation *r, int d)
{
    return r->antialias && r->r.scale[d] < 1 ? (double)r->r.scale[d] : 1;
}

/* The weights of output position i. What lies beyond the edge is added to the edge, unless x has it there. */
static void weigh(const interpolation *r, const filter *f, int64_t i)
{
    double place = (double)tw_resize_place(&r->r, f->axis, i), sum = 0;
    int64_t in = r->r.x.dim[f->axis], from = f->row[i] + f->first;
    bool rescale = r->exclude || r->antialias;
    if (tw_resize_is_beyond(&r->r, f->axis, place)) return;
    for (int64_t k = 0; k < f->n; k++) {
        bool outside = from + k < 0 || from + k >= in;
        if (!(r->exclude && outside)) sum += weight_of(r, ((double)(from + k) - place) * f->stretch);
    }
    for (int64_t k = 0; k < f->n; k++) {
        int64_t inside = tw_clamp(from + k, 0, in - 1) - from, at = f->apart ? k : inside;
        double w = weight_of(r, ((double)(from + k) - place) * f->stretch);
        if ((r->exclude && inside != k) || w == 0) continue;
        double so_far = tw_array_get(f->weight, i * f->n + at);
        tw_array_set(f->weight, i * f->n + at, so_far + (rescale && sum != 0 ? w / sum : w));
    }
}

/* Whether every position has an element of x among its taps, to which what lies beyond the edge can be added. */
static bool reaches_inside(const interpolation *r, const filter *f)
{
    int64_t in = r->r.x.dim[f->axis];
    for (int64_t i = 0; i < r->r.y.dim[f->axis]; i++) {
        bool beyond = tw_resize_is_beyond(&r->r, f->axis, (double)tw_resize_place(&r->r, f->axis, i));
        int64_t from = f->row[i] + f->first;
        if (!beyond && (from >= in || from + f->n <= 0)) return false;
    }
    return true;
}

static bool find_rows(const interpolation *r, filter *f, double little)
{
    int64_t n = r->r.y.dim[f->axis];
    for (int64_t i = 0; i < n; i++) f->row[i] = row_of((double)tw_resize_place(&r->r, f->axis, i), little);
    return reaches_inside(r, f) && tw_fit_line(f->row, n, &f->map);
}

/* Rows on a line. Places are floats, whose roundings can spoil it: floats do not mind to lose the weight of a row that is 1e-7
 * away; otherwise one more tap has it. Where that does not help either, the rows are those that they are. */
static void choose_rows(const interpolation *r, filter *f)
{
    if (find_rows(r, f, r->wide ? 0 : 1e-7)) return;
    f->first--;
    f->n++;
    if (find_rows(r, f, 1e-5)) return;
    f->first++;
    f->n--;
    find_rows(r, f, 0);
    f->apart = true;
}

static filter make_filter(tw_lowering *l, const interpolation *r, int d)
{
    int64_t n = r->r.y.dim[d];
    filter f = {.axis = d, .stretch = stretch_of(r, d), .beyond = {.tensor = -1}};
    f.first = (int64_t)floor(-(r->cubic ? 2 : 1) / f.stretch) + 1;
    f.n = 2 - 2 * f.first;
    if (n > 1 << 16 || f.n > 4096 || n * (f.n + 1) > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    if (tw_refused(l)) return f;
    if (!(f.row = TW_NEW(l->arena, int64_t, n))) l->no_memory = true;
    if (tw_refused(l)) return f;
    choose_rows(r, &f);
    int64_t dim[] = {n, f.n};
    f.weights = tw_literal(l, tw_say(l, ".weights%d", d), r->wide ? TW_ONNX_F64 : TW_ONNX_F32, 2, dim, &f.weight);
    for (int64_t i = 0; i < n && !tw_refused(l); i++) weigh(r, &f, i);
    if (!tw_refused(l) && r->r.beyond != 0) f.beyond = tw_resize_beyond(l, &r->r, d);
    return f;
}

/* Lays x out along the axis of a filter whose rows are on no line: position i has its taps at n*i .. */
static void lay_out(tw_lowering *l, interpolation *r, filter *f)
{
    int64_t in = r->r.x.dim[f->axis], n_out = r->r.y.dim[f->axis], n = n_out * f->n;
    tw_seen laid = r->r.x;
    tw_array *array;
    laid.dim[f->axis] = n;
    tw_seen index = tw_literal(l, tw_say(l, ".rows%d", f->axis), TW_ONNX_I64, 1, &n, &array);
    for (int64_t i = 0; i < n && !tw_refused(l); i++)
        tw_array_set(array, i, (double)tw_clamp(f->row[i / f->n] + f->first + i % f->n, 0, in - 1));
    const char *suffix = tw_say(l, ".axis%d", f->axis);
    laid = tw_between(l, suffix, tw_type_of(l, laid), laid.n_dims, laid.dim);
    tw_gather_axis(l, suffix, r->r.x, f->axis, index, laid);
    r->r.x = laid;
    f->first = 0;
    f->map = (tw_axis){.divisor = 1, .term = {{0, f->n}}};
}

/* ---- the nest ---- */

static const char *const tap_names[] = {"k0", "k1", "k2",  "k3",  "k4",  "k5",  "k6",  "k7",
                                        "k8", "k9", "k10", "k11", "k12", "k13", "k14", "k15"};

/* How x is read along a filtered axis. */
static tw_axis filtered(const interpolation *r, const filter *f)
{
    tw_axis axis = f->map;
    axis.extent = r->r.x.dim[f->axis];
    axis.offset += f->first * axis.divisor;
    axis.n_terms = axis.term[0].coef != 0;
    axis.term[0].loop = f->loop;
    axis.term[axis.n_terms++] = (tw_term){f->tap_loop, axis.divisor};
    return axis;
}

/* A sum of whole numbers without what is behind its point. Up to 2^24 a float has room for a sum, and rounds away what is
 * left of numbers that should be whole. */
static int cut_off(tw_lowering *l, const interpolation *r, int sum)
{
    int small = tw_fn2(l, TW_FN_LESS, tw_fn1(l, TW_FN_ABS, sum), tw_num(l, 0x1p24));
    int near = tw_choose(l, small, tw_fn1(l, TW_FN_F32, sum), sum);
    return tw_fit(l, tw_fn1(l, TW_FN_TRUNC, near), tw_type_of(l, r->r.y));
}

/* What lies beyond the region is another number. */
static void finish_sums(tw_lowering *l, const interpolation *r, const filter *f, int n)
{
    int result = tw_tail(l);
    if (r->whole) result = cut_off(l, r, result);
    for (int i = 0; i < n; i++)
        if (f[i].beyond.tensor >= 0)
            result = tw_choose(l, tw_hold(l, f[i].beyond, f[i].loop), tw_num(l, tw_resize_fill(l, &r->r)), result);
    tw_set_tail(l, result);
}

/* Axes that stay as they are and stand side by side are one loop. */
static void open_nest(tw_lowering *l, const interpolation *r, filter *f, int n)
{
    tw_axis axis[TW_ONNX_MAX_DIMS];
    int n_axes = 0, k = 0;
    tw_nest_begin(l, "", TW_MULTIPLY_ADD);
    for (int d = 0; d < r->r.x.n_dims && !tw_refused(l);) {
        int64_t whole = 1;
        int first = d;
        while (d < r->r.x.n_dims && tw_resize_is_untouched(&r->r, d)) whole *= r->r.x.dim[d++];
        if (whole > 1) {
            int loop = tw_add_loop(l, tw_loop_name(first), whole, false);
            axis[n_axes++] = (tw_axis){.extent = whole, .divisor = 1, .n_terms = 1, .term = {{loop, 1}}};
        }
        if (d == r->r.x.n_dims) break;
        f[k].loop = tw_add_loop(l, tw_loop_name(d), r->r.y.dim[d], false);
        axis[n_axes++] = (tw_axis){.extent = -k++ - 1};
        d++;
    }
    for (int i = 0; i < n && !tw_refused(l); i++)
        f[i].tap_loop = tw_add_loop(l, tap_names[f[i].axis], f[i].n, true);
    if (tw_refused(l)) return;
    tw_add_operand(l, r->r.x);
    for (int i = 0; i < n_axes; i++)
        tw_add_axis_as(l, axis[i].extent < 0 ? filtered(r, &f[-axis[i].extent - 1]) : axis[i]);
    for (int i = 0; i < n; i++) TW_WALK(l, f[i].weights, f[i].loop, f[i].tap_loop);
    tw_add_output(l, r->r.y);
    if (r->whole) l->nest.op.accumulator = TW_DTYPE_F64;
}

void tw_interpolate(tw_lowering *l)
{
    enum { MOST = TW_MAX_OPERANDS - 2 };
    interpolation r = read_interpolation(l);
    filter f[MOST];
    int n = 0;
    for (int d = 0; d < r.r.x.n_dims && !tw_refused(l); d++) {
        if (tw_resize_is_untouched(&r.r, d)) continue;
        if (n == MOST) return tw_refuse(l, "too many axes");
        f[n++] = make_filter(l, &r, d);
    }
    if (tw_refused(l)) return;
    if (n == 0) return tw_output_is(l, 0, r.r.x, 0);
    for (int i = 0; i < n && !tw_refused(l); i++)
        if (f[i].apart) lay_out(l, &r, &f[i]);
    if (tw_refused(l)) return;
    open_nest(l, &r, f, n);
    if (!tw_refused(l)) finish_sums(l, &r, f, n);
}
