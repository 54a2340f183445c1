/* src/model/ops.c - operator kinds as described nests, see ops.h.
 *
 *     matmul   [b] m n | k              ifm [b] m k       w [b] k n        ofm [b] m n
 *     matmul_transpose_b                 the same with w [b] n k
 *     gemv     n | k                    ifm k             w n k            ofm n
 *     conv     [b] [g] oc oy ox | ic ky kx
 *                                       ifm [b] [g] ic Y X   w [g] oc ic ky kx   ofm [b] [g] oc oy ox
 *     dwconv   [b] c oy ox | ky kx      ifm [b] c Y X     w c ky kx        ofm [b] c oy ox
 *     pool     [b] c oy ox | ky kx      ifm [b] c Y X                      ofm [b] c oy ox
 *     add      d0 d1 ...                ifm d0 d1 ...     w d0 d1 ...      ofm d0 d1 ...
 *
 * Loops after the bar reduce; [b] and [g] exist when batch and groups exceed 1. With groups, oc and ic
 * count inside a group and g is an axis of its own, because an output axis is exactly one loop.
 * Y = stride*oy + dilation*ky - pad, or when transposed (oy + pad - dilation*ky)/stride. */
#include "model/ops.h"

#include "model/axis.h"

#include <string.h>

/* ---- nests ---- */

static int add_loop(tw_op *op, const char *name, int64_t extent, bool reduces)
{
    op->loop[op->n_loops] = (tw_loop){name, extent, reduces};
    return op->n_loops++;
}

/* -1, no loop, when the extent is 1. */
static int add_outer_loop(tw_op *op, const char *name, int64_t extent)
{
    return extent > 1 ? add_loop(op, name, extent, false) : -1;
}

static tw_axis axis_of_loop(const tw_op *op, int loop)
{
    return (tw_axis){.extent = op->loop[loop].extent, .divisor = 1, .n_terms = 1, .term = {{loop, 1}}};
}

/* An operand that is walked by these loops, one per axis; loops that do not exist (-1) are left out. */
static tw_operand *add_operand(tw_op *op, const char *name, const int *loop, int n_loops)
{
    tw_operand *operand = &op->operand[op->n_operands++];
    *operand = (tw_operand){.name = name};
    for (int i = 0; i < n_loops; i++)
        if (loop[i] >= 0) operand->axis[operand->n_axes++] = axis_of_loop(op, loop[i]);
    return operand;
}
/* What is known before the operator runs. */
#define ADD_WEIGHTS(op, ...) (ADD_OPERAND((op), "w", __VA_ARGS__)->weights = true)
#define ADD_OPERAND(op, name, ...) \
    add_operand((op), (name), (const int[]){__VA_ARGS__}, (int)TW_COUNT(((const int[]){__VA_ARGS__})))

/* ---- fields ---- */

static const int64_t extent_max = TW_EXTENT_MAX;

tw_dtype tw_compute_dtype(tw_compute compute, tw_dtype input)
{
    bool sums = compute == TW_MULTIPLY_ADD || compute == TW_ADD;
    return tw_dtype_is_float(input) || !sums ? input : TW_DTYPE_I32;
}

bool tw_field_dtype(tw_fields *f, const char *key, tw_presence presence, tw_dtype *out)
{
    static const char *const word[] = {
#define X(id, name, bytes, is_float) name,
        TW_DTYPES(X)
#undef X
    };
    int index;
    if (!tw_field_word(f, key, presence, word, TW_N_DTYPES, &index)) return false;
    *out = (tw_dtype)index;
    return true;
}

/* Where the value of a field that is there was written. */
static tw_loc loc_of(tw_fields *f, const char *key) { return tw_field_node(f, key, TW_OPTIONAL)->loc; }

typedef struct int_list {
    int n; /* 0: absent or wrong */
    int64_t value[TW_MAX_AXES];
    const tw_node *node[TW_MAX_AXES]; /* where each was written, also if it is wrong */
} int_list;

/* A list of integers in min..TW_EXTENT_MAX, or one integer. */
static int_list read_ints(tw_fields *f, const char *key, tw_presence presence, int64_t min, int most)
{
    int_list out = {0};
    const tw_node *value = tw_field_node(f, key, presence);
    if (!value) return out;
    bool list = value->kind == TW_LIST;
    int n = list ? value->n_children : 1, i = 0, bad = f->n_bad;
    if (n < 1 || n > most) {
        TW_REFUSE(f, value->loc, "'%s' has %d entries, outside 1..%d", key, n, most);
        return out;
    }
    for (const tw_node *entry = list ? value->child : value; i < n; entry = entry->next, i++) {
        out.node[i] = entry;
        f->n_bad += !tw_node_int(entry, key, min, extent_max, f->diag, &out.value[i]);
    }
    out.n = f->n_bad == bad ? n : 0;
    return out;
}

/* The sizes of the operator: exactly as many as `names` says, such as "channels, height, width". */
static bool read_shape(tw_fields *f, int n, const char *names, int64_t *out)
{
    const int_list got = read_ints(f, "shape", TW_REQUIRED, 1, TW_MAX_AXES);
    if (got.n == n) memcpy(out, got.value, (size_t)n * sizeof *out);
    if (got.n == n || got.n == 0) return got.n == n;
    TW_REFUSE(f, loc_of(f, "shape"), "'shape' has %d entries, %s needs %d: %s", got.n, f->what, n, names);
    return false;
}

/* One number for both directions, or [y, x]. `out` keeps its defaults when absent. */
static void read_pair(tw_fields *f, const char *key, tw_presence presence, int64_t min, int64_t out[2],
                      const tw_node *node[2])
{
    const int_list got = read_ints(f, key, presence, min, 2);
    for (int d = 0; d < 2; d++)
        if (got.node[d]) node[d] = got.node[d];
    if (got.n == 0) return;
    if (got.n == 1) node[1] = node[0];
    out[0] = got.value[0];
    out[1] = got.value[got.n - 1];
}

/* One number, [y, x] or [top, left, bottom, right]. */
static void read_pad(tw_fields *f, tw_window_axis axis[2])
{
    const int_list got = read_ints(f, "pad", TW_OPTIONAL, 0, 4);
    const int64_t *p = got.value;
    int n = got.n;
    if (n == 3) {
        TW_REFUSE(f, loc_of(f, "pad"), "'pad' has 3 entries, must have 1, 2 or 4");
        return;
    }
    for (int d = 0; d < 2 && n > 0; d++) {
        axis[d].pad_lo = p[n == 1 ? 0 : d];
        axis[d].pad_hi = p[n == 1 ? 0 : n == 2 ? d : d + 2];
    }
}

static int64_t read_count(tw_fields *f, const char *key)
{
    int64_t n = 1;
    tw_field_int(f, key, TW_OPTIONAL, 1, extent_max, &n);
    return n;
}

/* The fields of both axes of a sliding window; checks them when all could be read. */
typedef struct window {
    tw_window_axis axis[2]; /* y, x */
    const tw_node *kernel[2];
} window;

static void read_out_pad(tw_fields *f, window *w)
{
    const tw_node *node[2] = {NULL, NULL};
    int64_t out_pad[2] = {0, 0};
    read_pair(f, "out_pad", TW_OPTIONAL, 0, out_pad, node);
    if (node[0] && !w->axis[0].transposed)
        TW_REFUSE(f, node[0]->loc, "'out_pad' is only for a transposed convolution");
    for (int d = 0; d < 2; d++) w->axis[d].out_pad = out_pad[d];
}

static void read_window(tw_fields *f, const int64_t in_extent[2], window *w)
{
    int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
    const tw_node *node[2];
    read_pair(f, "kernel", TW_REQUIRED, 1, kernel, w->kernel);
    read_pair(f, "stride", TW_OPTIONAL, 1, stride, node);
    read_pair(f, "dilation", TW_OPTIONAL, 1, dilation, node);
    read_pad(f, w->axis);
    for (int d = 0; d < 2; d++) {
        w->axis[d].in_extent = in_extent[d];
        w->axis[d].kernel = kernel[d];
        w->axis[d].stride = stride[d];
        w->axis[d].dilation = dilation[d];
    }
}

static bool window_is_good(tw_fields *f, const window *w)
{
    for (int d = 0; d < 2 && f->n_bad == 0; d++)
        if (tw_window_axis_check(&w->axis[d], w->kernel[d]->loc, f->diag) != TW_OK) f->n_bad++;
    return f->n_bad == 0;
}

/* The input positions that output loop `out` and tap loop `tap` reach. */
static tw_axis axis_of_window(const tw_window_axis *ax, int out, int tap)
{
    tw_axis axis = {.extent = ax->in_extent, .divisor = 1, .n_terms = 2};
    if (ax->transposed) {
        axis.divisor = ax->stride;
        axis.offset = ax->pad_lo;
        axis.term[0] = (tw_term){out, 1};
        axis.term[1] = (tw_term){tap, -ax->dilation};
    } else {
        axis.offset = -ax->pad_lo;
        axis.term[0] = (tw_term){out, ax->stride};
        axis.term[1] = (tw_term){tap, ax->dilation};
    }
    return axis;
}

static void add_window_axes(tw_operand *ifm, const window *w, int oy, int ox, int ky, int kx)
{
    ifm->axis[ifm->n_axes++] = axis_of_window(&w->axis[0], oy, ky);
    ifm->axis[ifm->n_axes++] = axis_of_window(&w->axis[1], ox, kx);
}

/* ---- kinds ---- */

static void build_matmul(tw_fields *f, int transpose, tw_op *op)
{
    int64_t s[TW_MAX_AXES], batch = read_count(f, "batch");
    if (!read_shape(f, 3, "m, n, k", s)) return;
    int b = add_outer_loop(op, "b", batch);
    int m = add_loop(op, "m", s[0], false), n = add_loop(op, "n", s[1], false), k = add_loop(op, "k", s[2], true);
    if (transpose & 1)
        ADD_OPERAND(op, "ifm", b, k, m);
    else
        ADD_OPERAND(op, "ifm", b, m, k);
    if (transpose & 2)
        ADD_WEIGHTS(op, b, n, k);
    else
        ADD_WEIGHTS(op, b, k, n);
    ADD_OPERAND(op, "ofm", b, m, n);
}

static void read_matmul(tw_fields *f, tw_op *op)
{
    static const char *const word[] = {"none", "a", "b", "ab"};
    int transpose = 0;
    tw_field_word(f, "transpose", TW_OPTIONAL, word, TW_COUNT(word), &transpose);
    build_matmul(f, transpose, op);
}

static void read_matmul_transpose_b(tw_fields *f, tw_op *op) { build_matmul(f, 2, op); }

static void read_gemv(tw_fields *f, tw_op *op)
{
    int64_t s[TW_MAX_AXES];
    if (!read_shape(f, 2, "n, k", s)) return;
    int n = add_loop(op, "n", s[0], false), k = add_loop(op, "k", s[1], true);
    ADD_OPERAND(op, "ifm", k);
    ADD_WEIGHTS(op, n, k);
    ADD_OPERAND(op, "ofm", n);
}

static void check_divides(tw_fields *f, int64_t groups, int64_t channels, const char *what)
{
    if (channels % groups == 0) return;
    TW_REFUSE(f, loc_of(f, "groups"), "%" PRId64 " %s channels cannot be divided into %" PRId64 " groups", channels,
              what, groups);
}

static void build_conv(tw_op *op, const window *w, int64_t batch, int64_t groups, int64_t oc_extent,
                       int64_t ic_extent)
{
    int b = add_outer_loop(op, "b", batch), g = add_outer_loop(op, "g", groups);
    int oc = add_loop(op, "oc", oc_extent / groups, false);
    int oy = add_loop(op, "oy", tw_window_n_outputs(&w->axis[0]), false);
    int ox = add_loop(op, "ox", tw_window_n_outputs(&w->axis[1]), false);
    int ic = add_loop(op, "ic", ic_extent / groups, true);
    int ky = add_loop(op, "ky", w->axis[0].kernel, true), kx = add_loop(op, "kx", w->axis[1].kernel, true);
    add_window_axes(ADD_OPERAND(op, "ifm", b, g, ic), w, oy, ox, ky, kx);
    ADD_WEIGHTS(op, g, oc, ic, ky, kx);
    ADD_OPERAND(op, "ofm", b, g, oc, oy, ox);
}

static void read_conv(tw_fields *f, tw_op *op)
{
    int64_t s[TW_MAX_AXES] = {1, 1, 1}, out = 1;
    int64_t batch = read_count(f, "batch"), groups = read_count(f, "groups");
    bool transposed = false;
    window w = {0};
    read_shape(f, 3, "channels, height, width", s);
    tw_field_int(f, "out", TW_REQUIRED, 1, extent_max, &out);
    tw_field_bool(f, "transposed", TW_OPTIONAL, &transposed);
    read_window(f, &s[1], &w);
    w.axis[0].transposed = w.axis[1].transposed = transposed;
    read_out_pad(f, &w);
    if (!window_is_good(f, &w)) return;
    check_divides(f, groups, s[0], "input");
    check_divides(f, groups, out, "output");
    if (f->n_bad == 0) build_conv(op, &w, batch, groups, out, s[0]);
}

/* One window per channel: depthwise convolution with weights, pooling without. */
static void build_channelwise(tw_op *op, const window *w, int64_t batch, int64_t channels, bool weights)
{
    int b = add_outer_loop(op, "b", batch);
    int c = add_loop(op, "c", channels, false);
    int oy = add_loop(op, "oy", tw_window_n_outputs(&w->axis[0]), false);
    int ox = add_loop(op, "ox", tw_window_n_outputs(&w->axis[1]), false);
    int ky = add_loop(op, "ky", w->axis[0].kernel, true), kx = add_loop(op, "kx", w->axis[1].kernel, true);
    add_window_axes(ADD_OPERAND(op, "ifm", b, c), w, oy, ox, ky, kx);
    if (weights) ADD_WEIGHTS(op, c, ky, kx);
    ADD_OPERAND(op, "ofm", b, c, oy, ox);
}

static void read_channelwise(tw_fields *f, tw_op *op, bool ceil_mode, bool weights)
{
    int64_t s[TW_MAX_AXES] = {1, 1, 1}, batch = read_count(f, "batch");
    window w = {0};
    read_shape(f, 3, "channels, height, width", s);
    read_window(f, &s[1], &w);
    w.axis[0].ceil_mode = w.axis[1].ceil_mode = ceil_mode;
    if (window_is_good(f, &w)) build_channelwise(op, &w, batch, s[0], weights);
}

static void read_dwconv(tw_fields *f, tw_op *op) { read_channelwise(f, op, false, true); }

static void read_pool(tw_fields *f, tw_op *op)
{
    static const char *const word[] = {"max", "average"};
    bool ceil_mode = false;
    int type = 0;
    tw_field_bool(f, "ceil", TW_OPTIONAL, &ceil_mode);
    tw_field_word(f, "type", TW_OPTIONAL, word, TW_COUNT(word), &type);
    op->compute = type == 0 ? TW_MAX : TW_AVERAGE;
    const tw_node *count_pad = tw_field_node(f, "count_pad", TW_OPTIONAL);
    tw_field_bool(f, "count_pad", TW_OPTIONAL, &op->average_counts_padding);
    if (count_pad && type == 0) TW_REFUSE(f, count_pad->key_loc, "'count_pad' is only for average pooling");
    read_channelwise(f, op, ceil_mode, false);
}

static void read_add(tw_fields *f, tw_op *op)
{
    static const char *const name[TW_MAX_AXES] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
    const int_list s = read_ints(f, "shape", TW_REQUIRED, 1, TW_MAX_AXES);
    int loop[TW_MAX_AXES], n = s.n;
    if (n == 0) return;
    for (int a = 0; a < n; a++) loop[a] = add_loop(op, name[a], s.value[a], false);
    add_operand(op, "ifm", loop, n);
    add_operand(op, "w", loop, n);
    add_operand(op, "ofm", loop, n);
}

static const struct {
    const char *name;
    tw_compute compute;
    void (*read)(tw_fields *f, tw_op *op);
} kinds[] = {
    {"matmul", TW_MULTIPLY_ADD, read_matmul},
    {"matmul_transpose_b", TW_MULTIPLY_ADD, read_matmul_transpose_b},
    {"gemv", TW_MULTIPLY_ADD, read_gemv},
    {"conv", TW_MULTIPLY_ADD, read_conv},
    {"dwconv", TW_MULTIPLY_ADD, read_dwconv},
    {"pool", TW_MAX, read_pool},
    {"add", TW_ADD, read_add},
};

static int find_kind(const tw_node *op, tw_diag *diag)
{
    const char *name[TW_COUNT(kinds)];
    int found = -1;
    for (size_t i = 0; i < TW_COUNT(kinds); i++) name[i] = kinds[i].name;
    return tw_node_word(op, "op", name, TW_COUNT(kinds), diag, &found) ? found : -1;
}

/* The types of the operands. */
static void read_dtypes(tw_fields *f, tw_dtype dtype, tw_draft *draft)
{
    const tw_node *node = tw_field_node(f, "dtype", TW_OPTIONAL), *out = tw_field_node(f, "out_dtype", TW_OPTIONAL);
    int bad = f->n_bad;
    tw_field_dtype(f, "dtype", TW_OPTIONAL, &dtype);
    tw_dtype out_dtype = tw_compute_dtype(draft->op.compute, dtype);
    tw_field_dtype(f, "out_dtype", TW_OPTIONAL, &out_dtype);
    for (int i = 0; i < TW_MAX_OPERANDS; i++) draft->dtype[i] = dtype;
    if (draft->op.n_operands == 0) return;
    draft->dtype[tw_op_output(&draft->op)] = out_dtype;
    if (f->n_bad != bad || draft->op.compute != TW_AVERAGE || tw_dtype_is_float(out_dtype)) return;
    const tw_node *at = out ? out : node;
    TW_REFUSE(f, at ? at->loc : f->node->loc, "average pooling needs f32 or f64, '%s' is %s",
              out ? "out_dtype" : "dtype", tw_dtype_name(out_dtype));
}

void tw_kind_read(tw_fields *f, const tw_node *op, tw_dtype fallback, tw_draft *draft)
{
    int kind = find_kind(op, f->diag);
    if (kind < 0) {
        f->n_bad++;
        f->node = NULL;
        return;
    }
    f->what = kinds[kind].name;
    draft->op.compute = kinds[kind].compute;
    kinds[kind].read(f, &draft->op);
    read_dtypes(f, fallback, draft);
}
