/* src/lower/window.c - convolutions and pools.
 *
 *     conv    [b] [g] oc o.. | [ic] k..     ifm [b] [g] [ic] at..    w [g] oc [ic] k..   ofm [b] [g] oc o..
 *     pool    [bc] o.. | k..                ifm [bc] at..                                ofm [bc] o..
 *
 * at = stride * o + dilation * k - pad, or (o + pad - dilation * k) / stride when transposed. Loops in brackets are
 * left out when they are 1; without an inner channel (depthwise) there is no ic. */
#include "lower/build.h"

#include <string.h>

enum { MAX_SPATIAL = 3 };
static const char *const out_names[MAX_SPATIAL] = {"oz", "oy", "ox"}, *const tap_names[MAX_SPATIAL] = {"kz", "ky",
                                                                                                       "kx"};

typedef struct windows {
    int n;
    bool transposed;
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
    int64_t lo[MAX_SPATIAL], hi[MAX_SPATIAL]; /* padding */
} windows;

/* ---- attributes ---- */

/* Entries of a list attribute, all in least..2^31 - 1; `fallback` when it is not there. */
static void read_list(tw_lowering *l, const char *name, int n, int64_t fallback, int64_t least, int64_t *out)
{
    const tw_attribute *a = tw_onnx_attribute(l->node, name);
    if (a && a->n != 0 && a->n != n) tw_refuse(l, "a list of the wrong length");
    bool there = a && a->n == n;
    for (int i = 0; i < n; i++) {
        out[i] = there ? a->ints[i] : fallback;
        if (out[i] < least || out[i] > TW_EXTENT_MAX) tw_refuse(l, "an attribute out of range");
    }
}

static int64_t reach(const windows *w, int d) { return (w->kernel[d] - 1) * w->dilation[d] + 1; }

/* Padding in all that makes the outputs come out as inferred. */
static int64_t missing_padding(const windows *w, int d, int64_t out_pad)
{
    if (w->transposed) return (w->in[d] - 1) * w->stride[d] + out_pad + reach(w, d) - w->out[d];
    return (w->out[d] - 1) * w->stride[d] + reach(w, d) - w->in[d];
}

static void share_padding(windows *w, bool more_behind, const int64_t *out_pad)
{
    for (int d = 0; d < w->n; d++) {
        int64_t total = tw_max(missing_padding(w, d, out_pad[d]), 0);
        w->lo[d] = more_behind ? total / 2 : total - total / 2;
        w->hi[d] = total - w->lo[d];
    }
}

static void read_padding(tw_lowering *l, windows *w)
{
    const char *how = tw_onnx_string(l->node, "auto_pad", "NOTSET");
    const tw_attribute *shape = w->transposed ? tw_onnx_attribute(l->node, "output_shape") : NULL;
    int64_t pads[2 * MAX_SPATIAL] = {0}, out_pad[MAX_SPATIAL] = {0};
    if (w->transposed) read_list(l, "output_padding", w->n, 0, 0, out_pad);
    bool same = strncmp(how, "SAME", 4) == 0;
    if (same || (shape && shape->n)) {
        bool more_behind = strcmp(how, "SAME_UPPER") == 0;
        share_padding(w, more_behind, out_pad);
        return;
    }
    if (strcmp(how, "VALID") != 0) read_list(l, "pads", 2 * w->n, 0, 0, pads);
    for (int d = 0; d < w->n; d++) {
        w->lo[d] = pads[d];
        w->hi[d] = pads[d + w->n];
    }
}

/* x and y have n_outer axes before the spatial ones; `kernel` is where the weights have theirs, NULL: the attribute. */
static windows read_windows(tw_lowering *l, tw_seen x, tw_seen y, const int64_t *kernel, bool transposed)
{
    windows w = {.n = x.n_dims - 2, .transposed = transposed};
    if (w.n < 1 || w.n > MAX_SPATIAL || y.n_dims != x.n_dims) {
        tw_refuse(l, "only 1 to 3 spatial axes are described");
        w.n = 0;
        return w;
    }
    for (int d = 0; d < w.n; d++) {
        w.in[d] = x.dim[d + 2];
        w.out[d] = y.dim[d + 2];
    }
    if (kernel)
        memcpy(w.kernel, kernel, (size_t)w.n * sizeof *kernel);
    else
        read_list(l, "kernel_shape", w.n, 0, 1, w.kernel);
    read_list(l, "strides", w.n, 1, 1, w.stride);
    read_list(l, "dilations", w.n, 1, 1, w.dilation);
    if (!tw_refused(l)) read_padding(l, &w);
    return w;
}

/* ---- axes ---- */

static const char *name_of(const char *const *names, const windows *w, int d)
{
    return names[MAX_SPATIAL - w->n + d];
}

static void add_window_loops(tw_lowering *l, const windows *w, bool taps, int *loop)
{
    for (int d = 0; d < w->n; d++)
        loop[d] =
            tw_add_loop(l, name_of(taps ? tap_names : out_names, w, d), taps ? w->kernel[d] : w->out[d], taps);
}

/* The positions that outputs and taps reach, as the next axes of the newest operand. */
static void add_window_axes(tw_lowering *l, const windows *w, const int *out, const int *tap)
{
    for (int d = 0; d < w->n; d++) {
        tw_axis axis = {.extent = w->in[d], .offset = -w->lo[d], .divisor = 1, .n_terms = 2};
        axis.term[0] = (tw_term){out[d], w->stride[d]};
        axis.term[1] = (tw_term){tap[d], w->dilation[d]};
        if (w->transposed) {
            axis.offset = w->lo[d];
            axis.divisor = w->stride[d];
            axis.term[0].coef = 1;
            axis.term[1].coef = -w->dilation[d];
        }
        tw_add_axis_as(l, axis);
    }
}

/* ---- convolutions ---- */

typedef struct conv {
    tw_seen x, w, y;
    windows win;
    int64_t groups, oc, ic; /* channels of a group */
    int g, o, i;            /* their loops, -1: none */
} conv;

static bool read_conv(tw_lowering *l, int x, int w, bool transposed, conv *c)
{
    *c = (conv){.x = tw_see_input(l, x), .w = tw_see_input(l, w), .y = tw_see_output(l, 0)};
    c->groups = tw_onnx_int(l->node, "group", 1);
    if (c->x.n_dims < 3 || c->w.n_dims != c->x.n_dims || c->groups < 1)
        tw_refuse(l, "only 1 to 3 spatial axes are described");
    if (tw_refused(l)) return false;
    c->win = read_windows(l, c->x, c->y, &c->w.dim[2], transposed);
    c->ic = c->x.dim[1] / c->groups;
    c->oc = transposed ? c->w.dim[1] : c->w.dim[0] / c->groups;
    bool fits = c->ic * c->groups == c->x.dim[1] && c->oc * c->groups == c->y.dim[1];
    if (!fits) tw_refuse(l, "channels cannot be divided into groups");
    return !tw_refused(l);
}

/* The whole nest but its output, and its value: loops as above. */
static void begin_conv(tw_lowering *l, conv *c)
{
    int out[MAX_SPATIAL], tap[MAX_SPATIAL];
    bool inner = c->groups == 1 || c->ic > 1;
    tw_nest_begin(l, "", TW_MULTIPLY_ADD);
    int b = tw_add_outer(l, "b", c->x.dim[0]);
    bool depthwise = c->groups > 1 && c->oc == 1 && c->ic == 1;
    c->g = tw_add_outer(l, depthwise ? "c" : "g", c->groups);
    c->o = c->groups > 1 && c->oc == 1 ? -1 : tw_add_loop(l, "oc", c->oc, false);
    add_window_loops(l, &c->win, false, out);
    c->i = inner ? tw_add_loop(l, "ic", c->ic, true) : -1;
    add_window_loops(l, &c->win, true, tap);
    TW_WALK(l, c->x, b, c->g, c->i);
    add_window_axes(l, &c->win, out, tap);
    if (c->win.transposed)
        TW_WALK(l, c->w, c->g, c->i, c->o);
    else
        TW_WALK(l, c->w, c->g, c->o, c->i);
    for (int d = 0; d < c->win.n; d++) tw_add_axis(l, tap[d]);
}

/* The loop that counts all output channels, -1: two loops do. */
static int channel_loop(const conv *c) { return c->g < 0 ? c->o : c->o < 0 ? c->g : -1; }

/* Gives the nest its output, ready for a formula that holds vectors along the channels. Channels that are two loops
 * take a step of their own for that: their sums are made first, of the given type. */
static int end_conv(tw_lowering *l, const conv *c, bool vectors, tw_onnx_type sums, int *channel)
{
    *channel = channel_loop(c);
    if (*channel >= 0 || !vectors) {
        tw_add_output(l, c->y);
        return tw_tail(l);
    }
    int64_t inner = tw_product(&c->y.dim[2], c->win.n);
    tw_seen sum = tw_between_like(l, ".sum", sums, c->y), y = TW_RESHAPED(c->y, c->y.dim[0], c->y.dim[1], inner);
    tw_add_output(l, sum);
    l->nest.suffix = ".sum";
    sum = tw_reshaped(sum, y.n_dims, y.dim);
    tw_nest_begin(l, "", TW_MAP);
    int loop[3] = {tw_add_outer(l, "b", y.dim[0]), tw_add_loop(l, "c", y.dim[1], false),
                   tw_add_outer(l, "s", y.dim[2])};
    tw_set_value(l, tw_add_walked(l, sum, loop, 3));
    tw_add_output(l, y);
    *channel = loop[1];
    return tw_tail(l);
}

/* Something held that is a scalar or one value per channel. */
static int hold_channels(tw_lowering *l, tw_seen x, int channel)
{
    return tw_hold(l, x, tw_elems_of(x) == 1 ? -1 : channel);
}

static void activate(tw_lowering *l, int x)
{
    const char *name = tw_onnx_string(l->node, "activation", NULL);
    const tw_attribute *params = tw_onnx_attribute(l->node, "activation_params");
    if (!name || !*name) {
        tw_set_tail(l, x);
        return;
    }
    const float *a = params && params->n > 0 ? &params->floats[0] : NULL;
    const float *b = params && params->n > 1 ? &params->floats[1] : NULL;
    tw_set_tail(l, tw_activation(l, name, x, a, b));
}

/* Of floats, as the standard has it; planners also write it of bytes, whose sums wrap around. */
static void plain_conv(tw_lowering *l, bool transposed)
{
    conv c;
    int channel;
    if (tw_has_input(l, 3)) tw_refuse(l, "a tensor that is added is not described");
    if (!read_conv(l, 0, 1, transposed, &c)) return;
    begin_conv(l, &c);
    bool biased = tw_has_input(l, 2);
    tw_onnx_type type = tw_type_of(l, c.y);
    bool narrow = !tw_is_float_type(type) && tw_onnx_type_bytes(type) < 4;
    int x = end_conv(l, &c, biased, narrow ? TW_ONNX_I32 : type, &channel);
    if (biased && !tw_refused(l)) x = tw_plus(l, x, hold_channels(l, tw_see_input(l, 2), channel));
    if (!tw_refused(l)) activate(l, tw_fit(l, x, type));
}

static void lower_conv(tw_lowering *l) { plain_conv(l, false); }
static void lower_conv_transpose(tw_lowering *l) { plain_conv(l, true); }

/* (x - x_zero) * (w - w_zero); what is zero is left out. */
static void quantised_value(tw_lowering *l, const conv *c, tw_seen x_zero, tw_seen w_zero)
{
    int x = 0, w = 1;
    bool with_x = x_zero.tensor >= 0 && !tw_is_zero(l, x_zero),
         with_w = w_zero.tensor >= 0 && !tw_is_zero(l, w_zero);
    if (tw_refused(l) || (!with_x && !with_w)) return;
    if (with_w && tw_elems_of(w_zero) > 1 && channel_loop(c) < 0) tw_refuse(l, "zero points of groups");
    tw_value_begin(l);
    if (with_x) x = tw_minus(l, x, tw_hold(l, x_zero, -1));
    if (with_w && !tw_refused(l)) w = tw_minus(l, w, hold_channels(l, w_zero, channel_loop(c)));
    tw_set_value(l, tw_times(l, x, w));
}

static void lower_conv_integer(tw_lowering *l)
{
    conv c;
    int channel;
    if (!read_conv(l, 0, 1, false, &c)) return;
    begin_conv(l, &c);
    quantised_value(l, &c, tw_see_input(l, 2), tw_see_input(l, 3));
    end_conv(l, &c, false, TW_ONNX_I32, &channel);
}

/* x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, B */
static void lower_qlinear_conv(tw_lowering *l)
{
    conv c;
    int channel;
    if (!read_conv(l, 0, 3, false, &c)) return;
    begin_conv(l, &c);
    quantised_value(l, &c, tw_see_input(l, 2), tw_see_input(l, 5));
    bool biased = tw_has_input(l, 8);
    tw_seen w_scale = tw_see_input(l, 4);
    int x = end_conv(l, &c, biased || tw_elems_of(w_scale) > 1, TW_ONNX_I32, &channel);
    if (tw_refused(l)) return;
    if (biased) x = tw_plus(l, x, hold_channels(l, tw_see_input(l, 8), channel));
    int scale = tw_times(l, tw_hold(l, tw_see_input(l, 1), -1), hold_channels(l, w_scale, channel));
    x = tw_times(l, x, tw_over(l, scale, tw_hold(l, tw_see_input(l, 6), -1)));
    int zero = tw_has_input(l, 7) ? tw_hold(l, tw_see_input(l, 7), -1) : -1;
    tw_set_tail(l, tw_quantize(l, x, zero, tw_type_of(l, c.y)));
}

/* ---- pools ---- */

/* A window per channel. */
static void begin_pool(tw_lowering *l, const char *suffix, tw_compute compute, tw_seen x, const windows *w,
                       tw_seen y)
{
    int out[MAX_SPATIAL], tap[MAX_SPATIAL];
    tw_nest_begin(l, suffix, compute);
    int b = tw_add_outer(l, "b", x.dim[0]), c = tw_add_loop(l, "c", x.dim[1], false);
    add_window_loops(l, w, false, out);
    add_window_loops(l, w, true, tap);
    TW_WALK(l, x, b, c);
    add_window_axes(l, w, out, tap);
    tw_add_output(l, y);
}

static bool read_pool(tw_lowering *l, tw_seen *x, tw_seen *y, windows *w)
{
    if (tw_onnx_int(l->node, "channels_last", 0) != 0) tw_refuse(l, "channels are last");
    *x = tw_see_input(l, 0);
    *y = tw_see_output(l, 0);
    *w = read_windows(l, *x, *y, NULL, false);
    return !tw_refused(l);
}

/* A position in a tensor with rows one after the other, as one with columns one after the other. */
static int by_columns(tw_lowering *l, const windows *w, int at)
{
    int size = tw_num(l, (double)tw_product(w->in, w->n)), rest = tw_fn2(l, TW_FN_MODULO, at, size);
    int inner = tw_num(l, 0), channel = tw_minus(l, at, rest);
    int64_t step = tw_product(w->in, w->n);
    for (int d = w->n - 1; d >= 0; d--) {
        int extent = tw_num(l, (double)w->in[d]);
        step /= w->in[d];
        inner = tw_plus(l, inner, tw_times(l, tw_fn2(l, TW_FN_MODULO, rest, extent), tw_num(l, (double)step)));
        rest = tw_fn2(l, TW_FN_QUOTIENT, rest, extent);
    }
    return tw_plus(l, channel, inner);
}

/* Per output and tap: where the element lies if it is the output, else a number behind the last. Returns [c, o.., k..]. */
static tw_seen places_of_taps(tw_lowering *l, tw_seen x, tw_seen y, const windows *w)
{
    int out[MAX_SPATIAL], tap[MAX_SPATIAL];
    int64_t channels = x.dim[0] * x.dim[1], inner = tw_product(w->in, w->n), dim[1 + 2 * MAX_SPATIAL] = {channels};
    for (int d = 0; d < w->n; d++) {
        dim[1 + d] = w->out[d];
        dim[1 + w->n + d] = w->kernel[d];
    }
    tw_seen places = tw_between(l, ".places", TW_ONNX_I64, 1 + 2 * w->n, dim);
    tw_seen count = tw_counting(l, ".count", inner), channel = tw_counting(l, ".channel", channels);
    if (tw_refused(l)) return places;
    tw_nest_begin(l, ".places", TW_MAP);
    int c = tw_add_loop(l, "c", channels, false);
    add_window_loops(l, w, false, out);
    for (int d = 0; d < w->n; d++) tap[d] = tw_add_loop(l, name_of(tap_names, w, d), w->kernel[d], false);
    int element = TW_WALK(l, x, c);
    add_window_axes(l, w, out, tap);
    int largest = TW_WALK(l, y, c);
    for (int d = 0; d < w->n; d++) tw_add_axis(l, out[d]);
    int at = tw_add_operand(l, count);
    add_window_axes(l, w, out, tap);
    tw_add_output(l, places);
    int first = tw_times(l, tw_hold(l, channel, c), tw_num(l, (double)inner));
    int is_it = tw_fn2(l, TW_FN_AND, tw_fn1(l, TW_FN_PRESENT, element), tw_fn2(l, TW_FN_EQUAL, element, largest));
    tw_set_value(l, tw_choose(l, is_it, tw_plus(l, first, at), tw_num(l, (double)(channels * inner))));
    return places;
}

/* Where the outputs come from, the first of equals: the least place. */
static void find_positions(tw_lowering *l, tw_seen x, tw_seen y, const windows *w)
{
    bool gone[1 + 2 * MAX_SPATIAL] = {false};
    tw_seen places = places_of_taps(l, x, y, w);
    for (int d = 0; d < w->n; d++) gone[1 + w->n + d] = true;
    if (!tw_refused(l)) tw_reduction(l, ".positions", TW_MIN, places, gone, tw_see_output(l, 1));
    if (tw_refused(l) || tw_onnx_int(l->node, "storage_order", 0) == 0) return;
    int at = tw_tail(l);
    tw_set_tail(l, by_columns(l, w, at));
}

static void lower_max_pool(tw_lowering *l)
{
    tw_seen x, y;
    windows w;
    if (!read_pool(l, &x, &y, &w)) return;
    begin_pool(l, "", TW_MAX, x, &w, y);
    if (tw_has_output(l, 1) && !tw_refused(l)) find_positions(l, x, y, &w);
}

/* Taps of output o along axis d that count: in the tensor, or in its padding too. */
static int64_t taps_that_count(const windows *w, int d, int64_t o, bool padding)
{
    int64_t n = 0, lo = padding ? -w->lo[d] : 0, hi = w->in[d] + (padding ? w->hi[d] : 0);
    for (int64_t k = 0; k < w->kernel[d]; k++) {
        int64_t at = o * w->stride[d] - w->lo[d] + k * w->dilation[d];
        n += lo <= at && at < hi;
    }
    return n;
}

/* Whether no window leaves the tensor, or the tensor with its padding. */
static bool all_count(const windows *w, bool padding)
{
    for (int d = 0; d < w->n; d++) {
        int64_t last = (w->out[d] - 1) * w->stride[d] - w->lo[d] + (w->kernel[d] - 1) * w->dilation[d];
        if (last >= w->in[d] + (padding ? w->hi[d] : 0) || (!padding && w->lo[d] > 0)) return false;
    }
    return true;
}

/* A literal with one number per output position: 1 / points of its window. */
static tw_seen reciprocal_counts(tw_lowering *l, const windows *w, bool padding)
{
    int64_t dim[MAX_SPATIAL], total = tw_product(w->out, w->n);
    tw_array *counts;
    memcpy(dim, w->out, sizeof dim);
    tw_seen seen = tw_literal(l, ".shares", TW_ONNX_F32, w->n, dim, &counts);
    for (int64_t i = 0; i < total && !tw_refused(l); i++) {
        int64_t rest = i;
        double n = 1;
        for (int d = w->n - 1; d >= 0; d--) {
            n *= (double)taps_that_count(w, d, rest % w->out[d], padding);
            rest /= w->out[d];
        }
        tw_array_set(counts, i, n > 0 ? 1 / n : 0);
    }
    return seen;
}

/* y = sum * share of its window. */
static int share_map(tw_lowering *l, tw_seen sum, const windows *w, bool padding, tw_seen y)
{
    tw_seen input[2] = {sum, reciprocal_counts(l, w, padding)};
    int var[2];
    if (tw_refused(l)) return 0;
    tw_map(l, "", y, 2, input, var);
    return tw_refused(l) ? 0 : tw_times(l, var[0], var[1]);
}

static void lower_average_pool(tw_lowering *l)
{
    tw_seen x, y;
    windows w;
    bool padding = tw_onnx_int(l->node, "count_include_pad", 0) != 0;
    if (!read_pool(l, &x, &y, &w)) return;
    bool is_float = tw_dtype_is_float(tw_dtype_of(l, tw_type_of(l, y)));
    if (is_float && (!padding || all_count(&w, true))) {
        begin_pool(l, "", TW_AVERAGE, x, &w, y);
        l->nest.op.average_counts_padding = padding;
        return;
    }
    tw_seen sum = tw_between_like(l, ".sum", tw_type_of(l, y), y);
    begin_pool(l, ".sum", TW_ADD, x, &w, sum);
    tw_set_value(l, share_map(l, sum, &w, padding, y));
}

static void lower_lp_pool(tw_lowering *l)
{
    tw_seen x, y;
    windows w;
    const tw_attribute *a = tw_onnx_attribute(l->node, "p");
    double p = !a ? 2 : a->kind == TW_ATTR_FLOAT ? (double)a->f : (double)a->i;
    if (!read_pool(l, &x, &y, &w)) return;
    begin_pool(l, "", TW_ADD, x, &w, y);
    tw_value_begin(l);
    tw_set_value(l, tw_fn2(l, TW_FN_POWER, tw_fn1(l, TW_FN_ABS, 0), tw_num(l, p)));
    int sum = tw_tail(l);
    tw_set_tail(l, tw_fn2(l, TW_FN_POWER, sum, tw_num(l, 1 / p)));
}

/* ---- global pools ---- */

/* [N, C, all the rest] and which of it goes. */
static tw_seen flat_channels(tw_lowering *l, tw_seen x)
{
    if (x.n_dims < 2) {
        tw_refuse(l, "no channels");
        return x;
    }
    return TW_RESHAPED(x, x.dim[0], x.dim[1], tw_product(&x.dim[2], x.n_dims - 2));
}

static const bool gone_behind_channels[3] = {false, false, true};

static void lower_global_average(tw_lowering *l)
{
    tw_mean(l, "", flat_channels(l, tw_see_input(l, 0)), gone_behind_channels, tw_see_output(l, 0));
}

static void lower_global_max(tw_lowering *l)
{
    tw_reduction(l, "", TW_MAX, flat_channels(l, tw_see_input(l, 0)), gone_behind_channels, tw_see_output(l, 0));
}

static void lower_global_lp(tw_lowering *l)
{
    const tw_attribute *a = tw_onnx_attribute(l->node, "p");
    double p = !a ? 2 : a->kind == TW_ATTR_FLOAT ? (double)a->f : (double)a->i;
    tw_reduction(l, "", TW_ADD, flat_channels(l, tw_see_input(l, 0)), gone_behind_channels, tw_see_output(l, 0));
    if (tw_refused(l)) return;
    tw_value_begin(l);
    tw_set_value(l, tw_fn2(l, TW_FN_POWER, tw_fn1(l, TW_FN_ABS, 0), tw_num(l, p)));
    int sum = tw_tail(l);
    tw_set_tail(l, tw_fn2(l, TW_FN_POWER, sum, tw_num(l, 1 / p)));
}

/* ---- quantised pools: X, x_scale, x_zero, y_scale, y_zero ---- */

/* sum of (x - zero) times share times x_scale / y_scale, quantised. */
static void requantised(tw_lowering *l, int sum, tw_seen y)
{
    int ratio = tw_over(l, tw_hold(l, tw_see_input(l, 1), -1), tw_hold(l, tw_see_input(l, 3), -1));
    int zero = tw_has_input(l, 4) ? tw_hold(l, tw_see_input(l, 4), -1) : -1;
    tw_set_tail(l, tw_quantize(l, tw_times(l, sum, ratio), zero, tw_type_of(l, y)));
}

static void centred_value(tw_lowering *l)
{
    if (!tw_has_input(l, 2) || tw_is_zero(l, tw_see_input(l, 2)) || tw_refused(l)) return;
    tw_value_begin(l);
    tw_set_value(l, tw_minus(l, 0, tw_hold(l, tw_see_input(l, 2), -1)));
}

static void lower_q_average_pool(tw_lowering *l)
{
    tw_seen x, y;
    windows w;
    bool padding = tw_onnx_int(l->node, "count_include_pad", 0) != 0;
    if (!read_pool(l, &x, &y, &w)) return;
    bool even = all_count(&w, padding);
    tw_seen sum = even ? y : tw_between_like(l, ".sum", TW_ONNX_I32, y);
    begin_pool(l, even ? "" : ".sum", TW_ADD, x, &w, sum);
    centred_value(l);
    int mean;
    if (even) {
        mean = tw_tail(l);
        mean = tw_times(l, mean, tw_num(l, 1 / (double)tw_product(w.kernel, w.n)));
    } else {
        mean = share_map(l, sum, &w, padding, y);
    }
    if (!tw_refused(l)) requantised(l, mean, y);
}

static void lower_q_global_average(tw_lowering *l)
{
    tw_seen x = flat_channels(l, tw_see_input(l, 0)), y = tw_see_output(l, 0);
    if (tw_onnx_int(l->node, "channels_last", 0) != 0) tw_refuse(l, "channels are last");
    tw_reduction(l, "", TW_ADD, x, gone_behind_channels, y);
    centred_value(l);
    if (tw_refused(l)) return;
    int sum = tw_tail(l);
    requantised(l, tw_times(l, sum, tw_num(l, 1 / (double)x.dim[2])), y);
}

#define MS "com.microsoft"
const tw_describer tw_window_ops[] = {
    {"Conv", "", lower_conv, true},
    {"ConvTranspose", "", lower_conv_transpose, true},
    {"FusedConv", MS, lower_conv, true},
    {"ConvInteger", "", lower_conv_integer, true},
    {"QLinearConv", "", lower_qlinear_conv, true},
    {"MaxPool", "", lower_max_pool, true},
    {"AveragePool", "", lower_average_pool, true},
    {"LpPool", "", lower_lp_pool, true},
    {"GlobalAveragePool", "", lower_global_average, true},
    {"GlobalMaxPool", "", lower_global_max, true},
    {"GlobalLpPool", "", lower_global_lp, true},
    {"QLinearAveragePool", MS, lower_q_average_pool, true},
    {"QLinearGlobalAveragePool", MS, lower_q_global_average, true},
    {0},
};
