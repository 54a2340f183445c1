/* src/reference/softmaxes.c - Softmax, LogSoftmax, Hardmax.
 *
 * Since opset 13 they work along one axis; before, the tensor is a matrix whose columns are all axes from `axis`
 * on. */
#include "reference/entries.h"

#include <math.h>

/* Rewrites n numbers that lie `step` apart. */
typedef void row_function(double *v, int64_t n, int64_t step);

static double largest(const double *v, int64_t n, int64_t step)
{
    double most = -INFINITY;
    for (int64_t i = 0; i < n; i++) most = v[i * step] > most ? v[i * step] : most;
    return most;
}

static double sum_of_powers(const double *v, int64_t n, int64_t step, double most)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(v[i * step] - most);
    return sum;
}

static void softmax(double *v, int64_t n, int64_t step)
{
    double most = largest(v, n, step), sum = sum_of_powers(v, n, step, most);
    for (int64_t i = 0; i < n; i++) v[i * step] = exp(v[i * step] - most) / sum;
}

static void log_softmax(double *v, int64_t n, int64_t step)
{
    double most = largest(v, n, step), sum = sum_of_powers(v, n, step, most);
    for (int64_t i = 0; i < n; i++) v[i * step] -= most + log(sum);
}

/* 1 at the first of the largest. */
static void hardmax(double *v, int64_t n, int64_t step)
{
    double most = largest(v, n, step);
    bool found = false;
    for (int64_t i = 0; i < n; i++) {
        bool here = !found && v[i * step] == most;
        found = found || here;
        v[i * step] = here;
    }
}

static tw_status run(const tw_ref_case *c, tw_array *output, row_function *f)
{
    const tw_array *x;
    int axis, behind;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (!tw_onnx_is_float(x->type)) return tw_ref_error(c, "elements of type %s", tw_onnx_type_name(x->type));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", c->opset < 13 ? 1 : -1), x->n_dims, &axis));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    behind = c->opset < 13 ? x->n_dims : axis + 1;
    int64_t n = tw_ref_extent(x, axis, behind), step = tw_ref_extent(x, behind, x->n_dims);
    double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i += n * step)
        for (int64_t j = 0; j < step; j++) f(v + i + j, n, step);
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status run_softmax(const tw_ref_case *c, tw_array *output) { return run(c, output, softmax); }

static tw_status run_log_softmax(const tw_ref_case *c, tw_array *output) { return run(c, output, log_softmax); }

static tw_status run_hardmax(const tw_ref_case *c, tw_array *output) { return run(c, output, hardmax); }

const tw_ref_entry tw_ref_softmaxes[] = {
    {"Softmax", "", run_softmax},
    {"LogSoftmax", "", run_log_softmax},
    {"Hardmax", "", run_hardmax},
    {0},
};
