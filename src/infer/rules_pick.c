/* src/infer/rules_pick.c - operators that pick elements by position, put them there, or pick by what they are. */
#include "infer/rule.h"

/* ---- Slice ---- */

typedef struct cuts {
    tw_ints start, end, axis, step;
} cuts;

static tw_status read_cuts(const tw_rule_case *c, cuts *s, bool *known)
{
    TW_TRY(tw_rule_ints(c, "starts", 1, &s->start));
    TW_TRY(tw_rule_ints(c, "ends", 2, &s->end));
    TW_TRY(tw_rule_ints(c, "axes", 3, &s->axis));
    TW_TRY(tw_rule_ints(c, NULL, 4, &s->step));
    if (!s->start.there || !s->end.there) return tw_rule_error(c, "starts or ends are missing");
    *known = s->start.known && s->end.known && s->axis.known >= s->axis.there && s->step.known >= s->step.there;
    int n = s->start.n;
    if (*known && (s->end.n != n || (s->axis.there && s->axis.n != n) || (s->step.there && s->step.n != n)))
        return tw_rule_error(c, "%d starts, %d ends, %d axes, %d steps", n, s->end.n, s->axis.n, s->step.n);
    return TW_OK;
}

/* Positions may lie anywhere; negative ones count from the end, and all are brought to the nearest that makes sense. */
static int64_t cut_length(int64_t extent, int64_t start, int64_t end, int64_t step)
{
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? extent : extent - 1;
    start = start < 0 ? tw_max(start, -extent - 1) + extent : start;
    end = end < 0 ? tw_max(end, -extent - 1) + extent : end;
    start = tw_clamp(start, tw_max(lo, 0), hi);
    end = tw_clamp(end, lo, hi);
    step = tw_clamp(step, -TW_EXTENT_MAX, TW_EXTENT_MAX);
    int64_t span = step > 0 ? end - start : start - end;
    return span > 0 ? tw_cdiv(span, step > 0 ? step : -step) : 0;
}

static tw_status slice(const tw_rule_case *c)
{
    cuts s;
    bool known;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(read_cuts(c, &s, &known));
    for (int i = 0; known && i < s.start.n; i++) {
        int axis;
        int64_t step = s.step.there ? s.step.v[i] : 1;
        TW_TRY(tw_rule_axis(c, s.axis.there ? s.axis.v[i] : i, out.n, &axis));
        if (step == 0) return tw_rule_error(c, "the step along axis %d is 0", axis);
        out.dim[axis] = cut_length(c->in[0]->dim[axis], s.start.v[i], s.end.v[i], step);
    }
    return known ? tw_rule_set(c, 0, &out) : TW_OK;
}

/* ---- Gather and Scatter ---- */

static tw_status gather(const tw_rule_case *c)
{
    int axis;
    const tw_shape_of_value *x = c->in[0], *index = c->in[1];
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 0), x->n_dims, &axis));
    tw_dims out = {0};
    for (int i = 0; i < axis; i++) tw_dims_add(&out, x->dim[i]);
    for (int i = 0; i < index->n_dims; i++) tw_dims_add(&out, index->dim[i]);
    for (int i = axis + 1; i < x->n_dims; i++) tw_dims_add(&out, x->dim[i]);
    return tw_rule_set(c, 0, &out);
}

static tw_status gather_elements(const tw_rule_case *c)
{
    int axis;
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 0), c->in[0]->n_dims, &axis));
    TW_TRY(tw_rule_rank(c, 1, c->in[0]->n_dims, c->in[0]->n_dims));
    return tw_rule_like(c, 0, c->in[1]);
}

/* The last axis of the indices holds positions in the axes behind the batch axes. */
static tw_status gather_nd(const tw_rule_case *c)
{
    const tw_shape_of_value *x = c->in[0], *index = c->in[1];
    int64_t batch = tw_onnx_int(c->node, "batch_dims", 0);
    TW_TRY(tw_rule_rank(c, 1, 1, TW_ONNX_MAX_DIMS));
    int64_t depth = index->dim[index->n_dims - 1];
    if (batch < 0 || batch >= index->n_dims || depth > x->n_dims - batch)
        return tw_rule_error(c,
                             "%" PRId64 " positions behind %" PRId64 " batch axes of a tensor with %d dimensions",
                             depth, batch, x->n_dims);
    tw_dims out = {0};
    for (int i = 0; i + 1 < index->n_dims; i++) tw_dims_add(&out, index->dim[i]);
    for (int64_t i = batch + depth; i < x->n_dims; i++) tw_dims_add(&out, x->dim[i]);
    return tw_rule_set(c, 0, &out);
}

static tw_status scatter(const tw_rule_case *c)
{
    int axis;
    char a[TW_SHAPE_TEXT], b[TW_SHAPE_TEXT];
    const tw_shape_of_value *index = c->in[1], *updates = c->in[2];
    TW_TRY(tw_rule_axis(c, tw_onnx_int(c->node, "axis", 0), c->in[0]->n_dims, &axis));
    TW_TRY(tw_rule_rank(c, 1, c->in[0]->n_dims, c->in[0]->n_dims));
    TW_TRY(tw_rule_rank(c, 2, c->in[0]->n_dims, c->in[0]->n_dims));
    for (int i = 0; i < index->n_dims; i++)
        if (index->dim[i] != updates->dim[i])
            return tw_rule_error(c, "indices are %s, updates %s", tw_shape_text(index->n_dims, index->dim, a),
                                 tw_shape_text(updates->n_dims, updates->dim, b));
    return tw_rule_like(c, 0, c->in[0]);
}

static tw_status scatter_nd(const tw_rule_case *c)
{
    TW_TRY(tw_rule_rank(c, 1, 1, TW_ONNX_MAX_DIMS));
    int64_t depth = c->in[1]->dim[c->in[1]->n_dims - 1];
    if (depth > c->in[0]->n_dims)
        return tw_rule_error(c, "%" PRId64 " positions in a tensor with %d dimensions", depth, c->in[0]->n_dims);
    return tw_rule_like(c, 0, c->in[0]);
}

/* Words counted: as many columns as the largest place among ngram_indexes says. */
static tw_status tf_idf(const tw_rule_case *c)
{
    tw_ints places;
    int64_t columns = 0;
    TW_TRY(tw_rule_rank(c, 0, 1, 2));
    TW_TRY(tw_rule_ints(c, "ngram_indexes", -1, &places));
    for (int i = 0; i < places.n; i++) columns = tw_max(columns, tw_min(places.v[i], TW_EXTENT_MAX) + 1);
    tw_dims out = {0};
    if (c->in[0]->n_dims == 2) tw_dims_add(&out, c->in[0]->dim[0]);
    tw_dims_add(&out, columns);
    return tw_rule_set(c, 0, &out);
}

static const tw_rule rules[] = {
    {"Slice", "", "TU?U?U?U?:T", slice},
    {"Gather", "", "Ti:T", gather},
    {"GatherElements", "", "Ti:T", gather_elements},
    {"GatherND", "", "Tl:T", gather_nd},
    {"Scatter", "", "TiT:T", scatter},
    {"ScatterElements", "", "TiT:T", scatter},
    {"ScatterND", "", "TlT:T", scatter_nd},
    {"TfIdfVectorizer", "", "T:f", tf_idf},
    /* the number of elements depends on what they are */
    {"NonZero", "", "T:l", tw_rule_unknown},
    {"Compress", "", "Tb:T", tw_rule_unknown},
    {"Unique", "", "T:Tlll", tw_rule_unknown},
    {"NonMaxSuppression", "", "TTl?f?f?:l", tw_rule_unknown},
};
const tw_rules tw_rules_pick = {rules, TW_COUNT(rules), false};
