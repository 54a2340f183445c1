/* src/infer/rules_window.c - operators that slide a window: convolutions, pools, and what undoes them.
 *
 * One axis at a time:
 *
 *     outputs = (pad_lo + in + pad_hi - reach) / stride + 1      reach = (kernel - 1) * dilation + 1
 *
 * rounded down, or up with ceil_mode; then a window that would start behind the input and its front padding is no
 * output (as PyTorch and onnxruntime have it). auto_pad SAME gives in / stride rounded up, whatever the kernel. */
#include "infer/rule.h"

#include <string.h>

enum { SPATIAL = TW_ONNX_MAX_DIMS - 2 };

typedef enum auto_pad { PAD_GIVEN, PAD_VALID, PAD_SAME } auto_pad;
typedef struct window {
    int n; /* spatial axes */
    auto_pad mode;
    bool ceil;
    int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], pad[2 * SPATIAL];
} window;

/* Where the axes of an image are: N C spatial.., or N spatial.. C with channels_last. */
typedef struct image {
    int n, first, channel;
} image;

static image image_of(const tw_rule_case *c, const tw_shape_of_value *x)
{
    bool last = tw_onnx_int(c->node, "channels_last", 0) != 0;
    return (image){x->n_dims - 2, last ? 1 : 2, last ? x->n_dims - 1 : 1};
}

static tw_status read_auto_pad(const tw_rule_case *c, auto_pad *out)
{
    const char *text = tw_onnx_string(c->node, "auto_pad", "NOTSET");
    if (strcmp(text, "NOTSET") == 0 || !*text)
        *out = PAD_GIVEN;
    else if (strcmp(text, "VALID") == 0)
        *out = PAD_VALID;
    else if (strcmp(text, "SAME_UPPER") == 0 || strcmp(text, "SAME_LOWER") == 0)
        *out = PAD_SAME;
    else
        return tw_rule_error(c, "auto_pad is '%.*s'; it may be NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                             TW_FIRST(40, text));
    return TW_OK;
}

/* Everything but the kernel. */
static tw_status read_window(const tw_rule_case *c, int n, window *w)
{
    *w = (window){.n = n, .ceil = tw_onnx_int(c->node, "ceil_mode", 0) != 0};
    TW_TRY(read_auto_pad(c, &w->mode));
    TW_TRY(tw_rule_attr(c, "strides", n, 1, 1, w->stride));
    TW_TRY(tw_rule_attr(c, "dilations", n, 1, 1, w->dilation));
    TW_TRY(tw_rule_attr(c, "pads", 2 * n, 0, 0, w->pad));
    if (w->mode == PAD_VALID) memset(w->pad, 0, sizeof w->pad);
    return TW_OK;
}

static int64_t reach_of(const window *w, int i) { return (w->kernel[i] - 1) * w->dilation[i] + 1; }

static tw_status slide(const tw_rule_case *c, const window *w, int i, int64_t in, int64_t *out)
{
    if (w->mode == PAD_SAME) return *out = tw_cdiv(in, w->stride[i]), TW_OK;
    int64_t padded = w->pad[i] + in + w->pad[w->n + i], rest = padded - reach_of(w, i);
    if (rest < 0)
        return tw_rule_error(c,
                             "kernel reaches %" PRId64 " elements along spatial axis %d, padded input has %" PRId64,
                             reach_of(w, i), i, padded);
    *out = rest / w->stride[i] + 1;
    if (w->ceil) *out = tw_cdiv(rest, w->stride[i]) + 1;
    if (w->ceil && (*out - 1) * w->stride[i] >= in + w->pad[i]) *out -= 1;
    return TW_OK;
}

/* x with its spatial axes slid over and `channels` channels. */
static tw_status slide_all(const tw_rule_case *c, const window *w, const tw_shape_of_value *x, int64_t channels,
                           tw_dims *out)
{
    image at = image_of(c, x);
    *out = tw_dims_of(x);
    out->dim[at.channel] = channels;
    for (int i = 0; i < w->n; i++) TW_TRY(slide(c, w, i, x->dim[at.first + i], &out->dim[at.first + i]));
    return TW_OK;
}

/* ---- convolutions ---- */

static tw_status mismatch(const tw_rule_case *c, const char *what, int64_t x, int64_t w,
                          const tw_shape_of_value *in, const tw_shape_of_value *weights)
{
    char a[TW_SHAPE_TEXT], b[TW_SHAPE_TEXT];
    return tw_rule_error(c, "input is %s, weights are %s: %" PRId64 " %s against %" PRId64,
                         tw_shape_text(in->n_dims, in->dim, a), tw_shape_text(weights->n_dims, weights->dim, b), x,
                         what, w);
}

/* Kernel from the weights; an attribute must say the same. */
static tw_status kernel_of_weights(const tw_rule_case *c, const tw_shape_of_value *weights, window *w)
{
    TW_TRY(tw_rule_attr(c, "kernel_shape", w->n, 1, 0, w->kernel));
    for (int i = 0; i < w->n; i++) {
        int64_t k = weights->dim[2 + i];
        if (k < 1) return tw_rule_error(c, "weights have no elements along spatial axis %d", i);
        if (w->kernel[i] != 0 && w->kernel[i] != k)
            return tw_rule_error(c, "kernel_shape is %" PRId64 " along spatial axis %d, the weights have %" PRId64,
                                 w->kernel[i], i, k);
        w->kernel[i] = k;
    }
    return TW_OK;
}

/* Reads window, groups and checks the weights' rank. */
static tw_status open_conv(const tw_rule_case *c, int k_x, int k_w, window *w, int64_t *groups)
{
    TW_TRY(tw_rule_rank(c, k_x, 3, TW_ONNX_MAX_DIMS));
    TW_TRY(tw_rule_rank(c, k_w, c->in[k_x]->n_dims, c->in[k_x]->n_dims));
    TW_TRY(read_window(c, c->in[k_x]->n_dims - 2, w));
    TW_TRY(tw_rule_attr(c, "group", 1, 1, 1, groups));
    return kernel_of_weights(c, c->in[k_w], w);
}

static tw_status check_bias(const tw_rule_case *c, int k, int64_t channels)
{
    const tw_shape_of_value *b = tw_rule_in(c, k);
    char text[TW_SHAPE_TEXT];
    if (!b || (b->n_dims == 1 && b->dim[0] == channels)) return TW_OK;
    return tw_rule_error(c, "bias is %s, the output has %" PRId64 " channels",
                         tw_shape_text(b->n_dims, b->dim, text), channels);
}

static tw_status conv_of(const tw_rule_case *c, int k_x, int k_w, int k_bias)
{
    window w;
    int64_t groups;
    tw_dims out;
    const tw_shape_of_value *x = c->in[k_x], *weights = c->in[k_w];
    TW_TRY(open_conv(c, k_x, k_w, &w, &groups));
    int64_t channels = x->dim[image_of(c, x).channel];
    if (channels != weights->dim[1] * groups)
        return mismatch(c, "channels", channels, weights->dim[1] * groups, x, weights);
    if (weights->dim[0] % groups != 0)
        return tw_rule_error(c, "%" PRId64 " output channels in %" PRId64 " groups", weights->dim[0], groups);
    if (k_bias >= 0) TW_TRY(check_bias(c, k_bias, weights->dim[0]));
    TW_TRY(slide_all(c, &w, x, weights->dim[0], &out));
    return tw_rule_set(c, 0, &out);
}

static tw_status conv(const tw_rule_case *c) { return conv_of(c, 0, 1, 2); }
static tw_status conv_integer(const tw_rule_case *c) { return conv_of(c, 0, 1, -1); }
static tw_status qlinear_conv(const tw_rule_case *c) { return conv_of(c, 0, 3, 8); }
static tw_status deform_conv(const tw_rule_case *c) { return conv_of(c, 0, 1, 3); }

/* Sizes that the node asks for; some exporters write batch and channels in front of them. */
static tw_status asked_shape(const tw_rule_case *c, int n, tw_ints *out)
{
    TW_TRY(tw_rule_ints(c, "output_shape", -1, out));
    if (out->there && out->n != n && out->n != n + 2)
        return tw_rule_error(c, "attribute 'output_shape' has %d numbers, %d expected", out->n, n);
    if (out->there) out->v += out->n - n;
    return TW_OK;
}

static tw_status conv_transpose(const tw_rule_case *c)
{
    window w;
    int64_t groups, more[SPATIAL];
    tw_ints asked;
    const tw_shape_of_value *x = c->in[0], *weights = c->in[1];
    TW_TRY(open_conv(c, 0, 1, &w, &groups));
    TW_TRY(tw_rule_attr(c, "output_padding", w.n, 0, 0, more));
    TW_TRY(asked_shape(c, w.n, &asked));
    if (x->dim[1] != weights->dim[0]) return mismatch(c, "channels", x->dim[1], weights->dim[0], x, weights);
    TW_TRY(check_bias(c, 2, weights->dim[1] * groups));
    tw_dims out = tw_dims_of(x);
    out.dim[1] = weights->dim[1] * groups;
    for (int i = 0; i < w.n; i++) {
        int64_t full = w.stride[i] * (x->dim[2 + i] - 1) + more[i] + reach_of(&w, i);
        out.dim[2 + i] = asked.there          ? asked.v[i]
                         : w.mode == PAD_SAME ? x->dim[2 + i] * w.stride[i]
                                              : full - w.pad[i] - w.pad[w.n + i];
    }
    return tw_rule_set(c, 0, &out);
}

/* ---- pools ---- */

static tw_status pool(const tw_rule_case *c)
{
    window w;
    tw_dims out;
    TW_TRY(tw_rule_rank(c, 0, 3, TW_ONNX_MAX_DIMS));
    const tw_shape_of_value *x = c->in[0];
    TW_TRY(read_window(c, x->n_dims - 2, &w));
    if (!tw_onnx_attribute(c->node, "kernel_shape")) return tw_rule_error(c, "attribute 'kernel_shape' is missing");
    TW_TRY(tw_rule_attr(c, "kernel_shape", w.n, 1, 1, w.kernel));
    TW_TRY(slide_all(c, &w, x, x->dim[image_of(c, x).channel], &out));
    TW_TRY(tw_rule_set(c, 0, &out));
    return tw_rule_set(c, 1, &out);
}

static tw_status global_pool(const tw_rule_case *c)
{
    TW_TRY(tw_rule_rank(c, 0, 2, TW_ONNX_MAX_DIMS));
    image at = image_of(c, c->in[0]);
    tw_dims out = tw_dims_of(c->in[0]);
    for (int i = 0; i < at.n; i++) out.dim[at.first + i] = 1;
    return tw_rule_set(c, 0, &out);
}

static tw_status max_unpool(const tw_rule_case *c)
{
    window w;
    tw_ints asked;
    const tw_shape_of_value *x = c->in[0];
    TW_TRY(tw_rule_rank(c, 0, 3, TW_ONNX_MAX_DIMS));
    TW_TRY(read_window(c, x->n_dims - 2, &w));
    TW_TRY(tw_rule_attr(c, "kernel_shape", w.n, 1, 1, w.kernel));
    TW_TRY(tw_rule_ints(c, NULL, 2, &asked));
    tw_dims out = tw_dims_of(x);
    if (asked.there && !asked.known) return TW_OK;
    if (asked.there && asked.n != x->n_dims)
        return tw_rule_error(c, "output shape has %d numbers, %d expected", asked.n, x->n_dims);
    for (int i = 0; i < w.n; i++)
        out.dim[2 + i] = (x->dim[2 + i] - 1) * w.stride[i] - w.pad[i] - w.pad[w.n + i] + w.kernel[i];
    for (int i = 0; asked.there && i < asked.n; i++) out.dim[i] = asked.v[i];
    return tw_rule_set(c, 0, &out);
}

static tw_status max_roi_pool(const tw_rule_case *c)
{
    int64_t pooled[2];
    TW_TRY(tw_rule_rank(c, 0, 4, 4));
    TW_TRY(tw_rule_rank(c, 1, 2, 2));
    TW_TRY(tw_rule_attr(c, "pooled_shape", 2, 1, 1, pooled));
    return tw_rule_set(c, 0, &(tw_dims){4, {c->in[1]->dim[0], c->in[0]->dim[1], pooled[0], pooled[1]}});
}

/* [n, channels * block, windows] and a constant image shape -> [n, channels, image..] */
static tw_status col2im(const tw_rule_case *c)
{
    tw_ints shape, block;
    TW_TRY(tw_rule_rank(c, 0, 3, 3));
    TW_TRY(tw_rule_ints(c, NULL, 1, &shape));
    TW_TRY(tw_rule_ints(c, NULL, 2, &block));
    if (!shape.known || !block.known) return TW_OK;
    int64_t taps = 1;
    for (int i = 0; i < block.n; i++)
        if (block.v[i] < 1 || !tw_ckd_mul(taps, block.v[i], &taps))
            return tw_rule_error(c, "block shape makes no sense");
    if (c->in[0]->dim[1] % taps != 0)
        return tw_rule_error(c, "%" PRId64 " rows are no multiple of a block's %" PRId64, c->in[0]->dim[1], taps);
    tw_dims out = {2, {c->in[0]->dim[0], c->in[0]->dim[1] / taps}};
    for (int i = 0; i < shape.n && i < TW_ONNX_MAX_DIMS; i++) tw_dims_add(&out, shape.v[i]);
    return tw_rule_set(c, 0, &out);
}

#define MS "com.microsoft"
static const tw_rule rules[] = {
    {"Conv", "", "NNN?:N", conv},
    {"FusedConv", MS, "FFF?F?:F", conv},
    {"ConvInteger", "", "TUT?U?:n", conv_integer},
    {"QLinearConv", "", "TfTUfUfVn?:V", qlinear_conv},
    {"QLinearConv", MS, "TfTUfUfVn?:V", qlinear_conv},
    {"DeformConv", "", "FFFF?F?:F", deform_conv},
    {"ConvTranspose", "", "NNN?:N", conv_transpose},
    {"MaxPool", "", "N:Nl", pool},
    {"AveragePool", "", "F:F", pool},
    {"LpPool", "", "F:F", pool},
    {"QLinearAveragePool", MS, "TfT?fT?:T", pool},
    {"GlobalAveragePool", "", "N:N", global_pool},
    {"GlobalMaxPool", "", "N:N", global_pool},
    {"GlobalLpPool", "", "N:N", global_pool},
    {"QLinearGlobalAveragePool", MS, "TfTfT:T", global_pool},
    {"MaxUnpool", "", "Tll?:T", max_unpool},
    {"MaxRoiPool", "", "TT:T", max_roi_pool},
    {"Col2Im", "", "Tll:T", col2im},
};
const tw_rules tw_rules_window = {rules, TW_COUNT(rules), true};
