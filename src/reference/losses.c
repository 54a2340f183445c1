/* src/reference/losses.c - losses of training, and Dropout, which does nothing outside of it. */
#include "reference/entries.h"

#include <math.h>
#include <string.h>

/* ---- Dropout ---- */

static tw_status run_dropout(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *ratio = tw_ref_input(c, 1), *training = tw_ref_input(c, 2);
    TW_TRY(tw_ref_need(c, 0, &x));
    bool random = training && training->n == 1 && tw_array_get_int(training, 0) != 0;
    if (random && (!ratio || ratio->n != 1 || tw_array_get(ratio, 0) != 0))
        return tw_ref_unknown(c, "dropping at random");
    output[0] = *x;
    if (!tw_ref_wants(c, 1)) return TW_OK;
    TW_TRY(tw_ref_make(c, c->opset < 10 ? x->type : TW_ONNX_BOOL, x->n_dims, x->dim, &output[1]));
    for (int64_t i = 0; i < x->n; i++) tw_array_set(&output[1], i, 1);
    return TW_OK;
}

/* ---- losses ---- */

typedef struct loss {
    const tw_array *x, *target, *weight; /* N x C x D.., N x D.., C or NULL */
    double *scores;                      /* of x's shape, logarithms        */
    int64_t classes, inner;
    bool ignores;
    int64_t ignored;
} loss;

static tw_status read_loss(const tw_ref_case *c, loss *l)
{
    TW_TRY(tw_ref_need(c, 0, &l->x));
    TW_TRY(tw_ref_need(c, 1, &l->target));
    if (!tw_onnx_is_float(l->x->type) || l->x->n_dims < 2 || !tw_onnx_is_whole(l->target->type))
        return tw_ref_error(c, "scores or classes of a wrong type or shape");
    l->classes = l->x->dim[1];
    l->inner = tw_ref_extent(l->x, 2, l->x->n_dims);
    l->weight = tw_ref_input(c, 2);
    l->ignores = tw_onnx_attribute(c->node, "ignore_index") != NULL;
    l->ignored = tw_onnx_int(c->node, "ignore_index", 0);
    if (l->target->n != l->x->dim[0] * l->inner || (l->weight && l->weight->n != l->classes))
        return tw_ref_error(c, "classes or weights do not fit the scores");
    l->scores = tw_array_reals(l->x, c->arena);
    return l->scores ? TW_OK : TW_ERR_NOMEM;
}

/* Logarithms of the softmax along the classes. */
static void take_logarithms(loss *l)
{
    for (int64_t i = 0; i < l->target->n; i++) {
        double *v = l->scores + i / l->inner * l->classes * l->inner + i % l->inner, most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < l->classes; k++) most = fmax(most, v[k * l->inner]);
        for (int64_t k = 0; k < l->classes; k++) sum += exp(v[k * l->inner] - most);
        for (int64_t k = 0; k < l->classes; k++) v[k * l->inner] -= most + log(sum);
    }
}

/* One loss per target, and the weight that it counts with. */
static tw_status weigh(const tw_ref_case *c, const loss *l, int64_t i, double *value, double *weight)
{
    int64_t class = tw_array_get_int(l->target, i);
    *value = *weight = 0;
    if (l->ignores && class == l->ignored) return TW_OK;
    if (class < 0 || class >= l->classes)
        return tw_ref_error(c, "class %" PRId64 " of %" PRId64, class, l->classes);
    *weight = l->weight ? tw_array_get(l->weight, class) : 1;
    *value = -l->scores[(i / l->inner * l->classes + class) * l->inner + i % l->inner] * *weight;
    return TW_OK;
}

static tw_status add_up(const tw_ref_case *c, const loss *l, tw_array *output)
{
    const char *reduction = tw_onnx_string(c->node, "reduction", "mean");
    bool each = strcmp(reduction, "none") == 0, mean = strcmp(reduction, "mean") == 0;
    double sum = 0, weights = 0;
    TW_TRY(tw_ref_make(c, l->x->type, each ? l->target->n_dims : 0, l->target->dim, output));
    for (int64_t i = 0; i < l->target->n; i++) {
        double value, weight;
        TW_TRY(weigh(c, l, i, &value, &weight));
        if (each) tw_array_set(output, i, value);
        sum += value;
        weights += weight;
    }
    if (!each) tw_array_set(output, 0, mean ? sum / weights : sum);
    return TW_OK;
}

static tw_status run_likelihood(const tw_ref_case *c, tw_array *output)
{
    loss l = {0};
    TW_TRY(read_loss(c, &l));
    return add_up(c, &l, output);
}

static tw_status run_entropy(const tw_ref_case *c, tw_array *output)
{
    loss l = {0};
    TW_TRY(read_loss(c, &l));
    take_logarithms(&l);
    if (tw_ref_wants(c, 1)) {
        TW_TRY(tw_ref_make(c, l.x->type, l.x->n_dims, l.x->dim, &output[1]));
        tw_array_put_reals(&output[1], l.scores);
    }
    return add_up(c, &l, output);
}

const tw_ref_entry tw_ref_losses[] = {
    {"Dropout", "", run_dropout},
    {"NegativeLogLikelihoodLoss", "", run_likelihood},
    {"SoftmaxCrossEntropyLoss", "", run_entropy},
    {0},
};
