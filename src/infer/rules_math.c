/* src/infer/rules_math.c - matrix products, reductions, and what picks along an axis. */
#include "infer/rule.h"

/* ---- matrix products ---- */

static tw_status no_product(const tw_rule_case *c, int k_a, int k_b, int64_t a, int64_t b)
{
    char left[TW_SHAPE_TEXT], right[TW_SHAPE_TEXT];
    return tw_rule_error(c, "%s times %s: %" PRId64 " columns against %" PRId64 " rows",
                         tw_shape_text(c->in[k_a]->n_dims, c->in[k_a]->dim, left),
                         tw_shape_text(c->in[k_b]->n_dims, c->in[k_b]->dim, right), a, b);
}

static void swap_last(tw_dims *d)
{
    int64_t last = d->dim[d->n - 1];
    d->dim[d->n - 1] = d->dim[d->n - 2];
    d->dim[d->n - 2] = last;
}

/* As numpy has it: a vector is a row on the left, a column on the right, and its axis is gone afterwards. */
static tw_status product(const tw_rule_case *c, int k_a, int k_b, bool trans_a, bool trans_b)
{
    TW_TRY(tw_rule_rank(c, k_a, 1, TW_ONNX_MAX_DIMS));
    TW_TRY(tw_rule_rank(c, k_b, 1, TW_ONNX_MAX_DIMS));
    tw_dims a = tw_dims_of(c->in[k_a]), b = tw_dims_of(c->in[k_b]);
    bool row = a.n == 1, column = b.n == 1;
    if (row) a = (tw_dims){2, {1, a.dim[0]}};
    if (column) b = (tw_dims){2, {b.dim[0], 1}};
    if (trans_a && !row) swap_last(&a);
    if (trans_b && !column) swap_last(&b);
    if (a.dim[a.n - 1] != b.dim[b.n - 2]) return no_product(c, k_a, k_b, a.dim[a.n - 1], b.dim[b.n - 2]);
    tw_dims out = {.n = a.n - 2};
    for (int i = 0; i < out.n; i++) out.dim[i] = a.dim[i];
    TW_TRY(tw_rule_broadcast(c, &out, b.n - 2, b.dim));
    if (!row) tw_dims_add(&out, a.dim[a.n - 2]);
    if (!column) tw_dims_add(&out, b.dim[b.n - 1]);
    return tw_rule_set(c, 0, &out);
}

static tw_status matmul(const tw_rule_case *c) { return product(c, 0, 1, false, false); }
static tw_status qlinear_matmul(const tw_rule_case *c) { return product(c, 0, 3, false, false); }

static tw_status fused_matmul(const tw_rule_case *c)
{
    if (tw_onnx_int(c->node, "transBatchA", 0) || tw_onnx_int(c->node, "transBatchB", 0)) return TW_OK;
    return product(c, 0, 1, tw_onnx_int(c->node, "transA", 0) != 0, tw_onnx_int(c->node, "transB", 0) != 0);
}

/* Weights of k columns in n rows, packed; both are attributes. */
static tw_status matmul_nbits(const tw_rule_case *c)
{
    int64_t k, n;
    TW_TRY(tw_rule_rank(c, 0, 1, TW_ONNX_MAX_DIMS));
    TW_TRY(tw_rule_attr(c, "K", 1, 1, 0, &k));
    TW_TRY(tw_rule_attr(c, "N", 1, 1, 0, &n));
    tw_dims out = tw_dims_of(c->in[0]);
    if (out.dim[out.n - 1] != k)
        return tw_rule_error(c, "%" PRId64 " columns against %" PRId64 " rows", out.dim[out.n - 1], k);
    out.dim[out.n - 1] = n;
    return tw_rule_set(c, 0, &out);
}

static tw_status gemm_of(const tw_rule_case *c, int k_a, int k_b, int k_c)
{
    TW_TRY(tw_rule_rank(c, k_a, 2, 2));
    TW_TRY(tw_rule_rank(c, k_b, 2, 2));
    TW_TRY(product(c, k_a, k_b, tw_onnx_int(c->node, "transA", 0) != 0, tw_onnx_int(c->node, "transB", 0) != 0));
    const tw_shape_of_value *bias = tw_rule_in(c, k_c);
    if (!bias || c->opset < 7) return TW_OK;
    tw_dims out = tw_dims_of(&c->out[0]);
    TW_TRY(tw_rule_broadcast(c, &out, bias->n_dims, bias->dim));
    char text[TW_SHAPE_TEXT];
    if (out.n != 2 || out.dim[0] != c->out[0].dim[0] || out.dim[1] != c->out[0].dim[1])
        return tw_rule_error(c, "input %d is %s, larger than the product", k_c,
                             tw_shape_text(bias->n_dims, bias->dim, text));
    return TW_OK;
}

static tw_status gemm(const tw_rule_case *c) { return gemm_of(c, 0, 1, 2); }

/* a scale zero, b scale zero, c, output scale, output zero: without an output zero point the result is float. */
static tw_status qgemm(const tw_rule_case *c)
{
    const tw_shape_of_value *zero = tw_rule_in(c, 8);
    c->out[0].type = zero ? zero->type : TW_ONNX_F32;
    return c->opset >= 7
               ? gemm_of(c, 0, 3, 6)
               : product(c, 0, 3, tw_onnx_int(c->node, "transA", 0) != 0, tw_onnx_int(c->node, "transB", 0) != 0);
}

static tw_status det(const tw_rule_case *c)
{
    TW_TRY(tw_rule_rank(c, 0, 2, TW_ONNX_MAX_DIMS));
    tw_dims out = tw_dims_of(c->in[0]);
    if (out.dim[out.n - 1] != out.dim[out.n - 2])
        return tw_rule_error(c, "the matrices are not square: %" PRId64 "x%" PRId64, out.dim[out.n - 2],
                             out.dim[out.n - 1]);
    out.n -= 2;
    return tw_rule_set(c, 0, &out);
}

/* ---- reductions ---- */

static tw_status mark_axes(const tw_rule_case *c, const tw_ints *axes, int rank, bool gone[TW_ONNX_MAX_DIMS])
{
    for (int i = 0; i < TW_ONNX_MAX_DIMS; i++) gone[i] = false;
    for (int i = 0; i < axes->n; i++) {
        int axis;
        TW_TRY(tw_rule_axis(c, axes->v[i], rank, &axis));
        gone[axis] = true;
    }
    return TW_OK;
}

static tw_status reduced(const tw_rule_case *c, const bool *gone)
{
    bool keep = tw_onnx_int(c->node, "keepdims", 1) != 0;
    tw_dims out = {0};
    for (int i = 0; i < c->in[0]->n_dims; i++)
        if (!gone[i] || keep) tw_dims_add(&out, gone[i] ? 1 : c->in[0]->dim[i]);
    return tw_rule_set(c, 0, &out);
}

/* No axes: all of them, or with noop_with_empty_axes none. All of a tensor without a shape are one number, too. */
static tw_status reduce(const tw_rule_case *c)
{
    tw_ints axes;
    bool gone[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_rule_ints(c, "axes", 1, &axes));
    if (axes.there && !axes.known && (!c->in[1]->known || c->in[1]->n_elems > 0)) return TW_OK;
    bool all = axes.n == 0 && !tw_onnx_int(c->node, "noop_with_empty_axes", 0);
    if (!c->in[0]->known)
        return all && !tw_onnx_int(c->node, "keepdims", 1) ? tw_rule_set(c, 0, &(tw_dims){0}) : TW_OK;
    TW_TRY(mark_axes(c, &axes, c->in[0]->n_dims, gone));
    for (int i = 0; all && i < c->in[0]->n_dims; i++) gone[i] = true;
    return reduced(c, gone);
}

static tw_status arg_max(const tw_rule_case *c)
{
    int axis;
    bool gone[TW_ONNX_MAX_DIMS] = {false};
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 0), c->in[0]->n_dims, &axis));
    gone[axis] = true;
    return reduced(c, gone);
}

static tw_status top_k(const tw_rule_case *c)
{
    int axis;
    tw_ints k;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", -1), out.n, &axis));
    TW_TRY(tw_rule_ints(c, "k", 1, &k));
    if (!k.there) return tw_rule_error(c, "how many to keep is not said");
    if (!k.known) return TW_OK;
    if (k.n != 1 || k.v[0] < 0 || k.v[0] > out.dim[axis])
        return tw_rule_error(c, "keeps %" PRId64 " of %" PRId64, k.n == 1 ? k.v[0] : -1, out.dim[axis]);
    out.dim[axis] = k.v[0];
    TW_TRY(tw_rule_set(c, 0, &out));
    return tw_rule_set(c, 1, &out);
}

/* Loss per sample, or one number. */
static tw_status loss(const tw_rule_case *c)
{
    const char *reduction = tw_onnx_string(c->node, "reduction", "mean");
    tw_dims one = {0};
    if (reduction[0] != 'n') TW_TRY(tw_rule_set(c, 0, &one));
    if (reduction[0] == 'n') TW_TRY(tw_rule_like(c, 0, c->in[1]));
    return tw_rule_like(c, 1, c->in[0]);
}

#define MS      "com.microsoft"
#define REDUCE  "", "Nl?:N", reduce, true
#define EXTREME "", "Tl?:T", reduce, true /* of bools too */
static const tw_rule rules[] = {
    {"MatMul", "", "NN:N", matmul},
    {"MatMulInteger", "", "TUT?U?:n", matmul},
    {"QLinearMatMul", "", "TWTUWUWV:V", qlinear_matmul},
    {"Gemm", "", "NNN?:N", gemm},
    {"Det", "", "F:F", det},
    {"ReduceL1", REDUCE},
    {"ReduceL2", REDUCE},
    {"ReduceLogSum", REDUCE},
    {"ReduceLogSumExp", REDUCE},
    {"ReduceMax", EXTREME},
    {"ReduceMean", REDUCE},
    {"ReduceMin", EXTREME},
    {"ReduceProd", REDUCE},
    {"ReduceSum", REDUCE},
    {"ReduceSumSquare", REDUCE},
    {"ArgMax", "", "N:l", arg_max},
    {"ArgMin", "", "N:l", arg_max},
    {"TopK", "", "Nl?:Nl", top_k},
    {"NegativeLogLikelihoodLoss", "", "FiF?:F", loss},
    {"SoftmaxCrossEntropyLoss", "", "FiF?:FF", loss},
    {"FusedMatMul", MS, "FF:F", fused_matmul},
    {"TransposeMatMul", MS, "FF:F", fused_matmul},
    {"MatMulNBits", MS, "TyT.?.?T?:T", matmul_nbits},
    {"FusedGemm", MS, "FFF?:F", gemm},
    {"MatMulIntegerToFloat", MS, "TUffT?U?f?:f", matmul},
    {"DynamicQuantizeMatMul", MS, "fUfU?f?:f", matmul},
    {"MatMulInteger16", MS, "TU:n", matmul},
    {"QGemm", MS, "TfTUfUn?f?V?:.", qgemm},
};
const tw_rules tw_rules_math = {rules, TW_COUNT(rules), false};
