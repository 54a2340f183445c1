/* src/reference/quantised.c - operators on integers that stand for reals, except convolutions and pools.
 *
 * Products of integers less their zeros add up exactly in double; one scale is applied at the end. Quotients of
 * floats are rounded to float before they are rounded to an integer, as the standard does it. */
#include "reference/product.h"
#include "reference/quant.h"

#include <math.h>
#include <string.h>

/* ---- to and from reals ---- */

/* Input 0, and the grid of its scales and zero points, inputs 1 and 2: one for all, or one a slice of an axis. */
static tw_status read_scaled(const tw_ref_case *c, const tw_array **x, const tw_array **scale, tw_quant_grid *g)
{
    int axis = -1;
    TW_TRY(tw_ref_need(c, 0, x));
    TW_TRY(tw_ref_need(c, 1, scale));
    if ((*scale)->n != 1) TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 1), (*x)->n_dims, &axis));
    return tw_grid_read(c, 1, 2, *x, axis, g);
}

static tw_status run_quantize(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *scale, *zero = tw_ref_input(c, 2);
    tw_quant_grid g;
    TW_TRY(read_scaled(c, &x, &scale, &g));
    TW_TRY(tw_ref_make(c, zero ? zero->type : TW_ONNX_U8, x->n_dims, x->dim, output));
    if (!tw_onnx_is_whole(output->type))
        return tw_ref_unknown(c, "results of type %s", tw_onnx_type_name(output->type));
    for (int64_t i = 0; i < x->n; i++) {
        double q = tw_array_get(x, i) / tw_grid_scale(&g, i);
        tw_array_set(output, i, tw_quantised((double)(float)q, tw_grid_zero(&g, i), output->type));
    }
    return TW_OK;
}

static tw_status run_dequantize(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *scale;
    tw_quant_grid g;
    TW_TRY(read_scaled(c, &x, &scale, &g));
    TW_TRY(tw_ref_make(c, scale->type, x->n_dims, x->dim, output));
    const double *v = tw_grid_reals(&g, x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status run_dynamic(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (c->n_outputs != 3) return tw_ref_error(c, "%d outputs, not 3", c->n_outputs);
    TW_TRY(tw_ref_make(c, TW_ONNX_U8, x->n_dims, x->dim, &output[0]));
    TW_TRY(tw_ref_make(c, TW_ONNX_F32, 0, NULL, &output[1]));
    TW_TRY(tw_ref_make(c, TW_ONNX_U8, 0, NULL, &output[2]));
    const double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    tw_dynamic d = tw_dynamic_of(v, x->n);
    for (int64_t i = 0; i < x->n; i++) tw_array_set(&output[0], i, tw_dynamic_centred(&d, v[i]) + d.zero);
    tw_array_set(&output[1], 0, d.scale);
    tw_array_set(&output[2], 0, d.zero);
    return TW_OK;
}

/* ---- products ---- */

/* Where the operands of a quantised product are among the inputs; -1: not there. */
typedef struct places {
    int a, a_scale, a_zero, b, b_scale, b_zero;
} places;
typedef struct product {
    const tw_array *a, *b;
    tw_quant_grid of_a, of_b;
    double *x, *y; /* centred                          */
    double *v;     /* the product in units of the scales */
    int64_t rows, columns;
} product;

static tw_status read_product(const tw_ref_case *c, places at, product *p)
{
    TW_TRY(tw_ref_need(c, at.a, &p->a));
    TW_TRY(tw_ref_need(c, at.b, &p->b));
    TW_TRY(tw_grid_read(c, at.a_scale, at.a_zero, p->a, p->a->n_dims - 2, &p->of_a));
    TW_TRY(tw_grid_read(c, at.b_scale, at.b_zero, p->b, p->b->n_dims > 1 ? p->b->n_dims - 1 : -1, &p->of_b));
    p->x = tw_grid_centred(&p->of_a, p->a, c->arena);
    p->y = tw_grid_centred(&p->of_b, p->b, c->arena);
    return p->x && p->y ? TW_OK : TW_ERR_NOMEM;
}

static tw_status multiply(const tw_ref_case *c, tw_onnx_type type, product *p, tw_array *output)
{
    p->rows = p->a->n_dims > 1 ? p->a->dim[p->a->n_dims - 2] : 1;
    p->columns = p->b->n_dims > 1 ? p->b->dim[p->b->n_dims - 1] : 1;
    return tw_product_tensors(c, (tw_factor){p->a, p->x}, (tw_factor){p->b, p->y}, type, output, &p->v);
}

/* The scale of element i of the result: a's of its row times b's of its column. */
static double scale_of(const product *p, int64_t i)
{
    int64_t row = i / p->columns % p->rows, column = i % p->columns;
    return tw_grid_scale(&p->of_a, row * p->of_a.inner) * tw_grid_scale(&p->of_b, column);
}

static tw_status run_integer(const tw_ref_case *c, tw_array *output)
{
    product p = {0};
    TW_TRY(read_product(c, (places){0, -1, 2, 1, -1, 3}, &p));
    TW_TRY(multiply(c, TW_ONNX_I32, &p, output));
    tw_array_put_reals(output, p.v);
    return TW_OK;
}

/* v[i] holds reals; stores them on the grid of inputs `scale` and `zero`. */
static tw_status store(const tw_ref_case *c, int scale, int zero, const double *v, tw_array *output)
{
    tw_quant_grid g;
    TW_TRY(tw_grid_read(c, scale, zero, output, -1, &g));
    for (int64_t i = 0; i < output->n; i++)
        tw_array_set(output, i, tw_quantised(v[i] / tw_grid_scale(&g, i), tw_grid_zero(&g, i), output->type));
    return TW_OK;
}

static tw_status run_qlinear_matmul(const tw_ref_case *c, tw_array *output)
{
    product p = {0};
    const tw_array *zero;
    TW_TRY(tw_ref_need(c, 7, &zero));
    TW_TRY(read_product(c, (places){0, 1, 2, 3, 4, 5}, &p));
    TW_TRY(multiply(c, zero->type, &p, output));
    for (int64_t i = 0; i < output->n; i++) p.v[i] *= scale_of(&p, i);
    return store(c, 6, 7, p.v, output);
}

/* Adds a float bias along the last axis and stores floats. */
static tw_status store_floats(const tw_ref_case *c, const product *p, double factor, const tw_array *bias,
                              tw_array *output)
{
    if (bias && bias->n != p->columns)
        return tw_ref_error(c, "bias of %" PRId64 " for %" PRId64 " columns", bias->n, p->columns);
    for (int64_t i = 0; i < output->n; i++)
        tw_array_set(output, i, p->v[i] * scale_of(p, i) * factor + (bias ? tw_array_get(bias, i % bias->n) : 0));
    return TW_OK;
}

static tw_status run_to_float(const tw_ref_case *c, tw_array *output)
{
    product p = {0};
    TW_TRY(read_product(c, (places){0, 2, 4, 1, 3, 5}, &p));
    TW_TRY(multiply(c, TW_ONNX_F32, &p, output));
    return store_floats(c, &p, 1, tw_ref_input(c, 6), output);
}

static tw_status run_dynamic_matmul(const tw_ref_case *c, tw_array *output)
{
    product p = {0};
    TW_TRY(read_product(c, (places){0, -1, -1, 1, 2, 3}, &p));
    tw_dynamic d = tw_dynamic_of(p.x, p.a->n);
    for (int64_t i = 0; i < p.a->n; i++) p.x[i] = tw_dynamic_centred(&d, p.x[i]);
    TW_TRY(multiply(c, TW_ONNX_F32, &p, output));
    return store_floats(c, &p, d.scale, tw_ref_input(c, 4), output);
}

/* ---- QGemm ---- */

static tw_status turn(const tw_array **a, double **v, tw_arena *arena)
{
    tw_array *turned;
    TW_ALLOC(arena, turned, 1);
    *turned = **a;
    turned->dim[0] = (*a)->dim[1];
    turned->dim[1] = (*a)->dim[0];
    *v = tw_product_turned(*v, (*a)->dim[0], (*a)->dim[1], arena);
    *a = turned;
    return *v ? TW_OK : TW_ERR_NOMEM;
}

/* b's scales are per column of what is multiplied, so they are read again when b is turned. */
static tw_status read_gemm(const tw_ref_case *c, product *p)
{
    bool turn_a = tw_onnx_int(c->node, "transA", 0) != 0, turn_b = tw_onnx_int(c->node, "transB", 0) != 0;
    TW_TRY(tw_ref_need(c, 0, &p->a));
    TW_TRY(tw_ref_need(c, 3, &p->b));
    if (p->a->n_dims != 2 || p->b->n_dims != 2) return tw_ref_error(c, "an operand is not a matrix");
    TW_TRY(tw_grid_read(c, 1, 2, p->a, -1, &p->of_a));
    TW_TRY(tw_grid_read(c, 4, 5, p->b, turn_b ? 0 : 1, &p->of_b));
    p->x = tw_grid_centred(&p->of_a, p->a, c->arena);
    p->y = tw_grid_centred(&p->of_b, p->b, c->arena);
    if (!p->x || !p->y) return TW_ERR_NOMEM;
    if (turn_a) TW_TRY(turn(&p->a, &p->x, c->arena));
    if (turn_b) TW_TRY(turn(&p->b, &p->y, c->arena));
    return tw_grid_read(c, 4, 5, p->b, 1, &p->of_b);
}

/* Inputs: a, b with scale and zero each; bias in units of the product; scale and zero of y, or floats come out. */
static tw_status run_qgemm(const tw_ref_case *c, tw_array *output)
{
    product p = {0};
    const tw_array *bias = tw_ref_input(c, 6), *zero = tw_ref_input(c, 8);
    double alpha = (double)tw_onnx_float(c->node, "alpha", 1);
    bool floats = !tw_ref_input(c, 7);
    TW_TRY(read_gemm(c, &p));
    TW_TRY(multiply(c, floats ? TW_ONNX_F32 : zero ? zero->type : TW_ONNX_U8, &p, output));
    if (bias && bias->n != 1 && bias->n != p.columns && bias->n != output->n)
        return tw_ref_error(c, "bias of %" PRId64 " for %" PRId64 " columns", bias->n, p.columns);
    for (int64_t i = 0; i < output->n; i++)
        p.v[i] = (p.v[i] + (bias ? tw_array_get(bias, i % bias->n) : 0)) * alpha * scale_of(&p, i);
    if (!floats) return store(c, 7, 8, p.v, output);
    tw_array_put_reals(output, p.v);
    return TW_OK;
}

/* ---- element by element ---- */

/* Inputs: a, b with scale and zero each, scale and zero of the result. */
static tw_status run_pair(const tw_ref_case *c, tw_array *output)
{
    const tw_array *in[2];
    tw_quant_grid of_a, of_b;
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    bool sum = strcmp(c->node->op, "QLinearAdd") == 0;
    TW_TRY(tw_ref_need(c, 0, &in[0]));
    TW_TRY(tw_ref_need(c, 3, &in[1]));
    TW_TRY(tw_grid_read(c, 1, 2, in[0], -1, &of_a));
    TW_TRY(tw_grid_read(c, 4, 5, in[1], -1, &of_b));
    TW_TRY(tw_ref_broadcast(c, in, 2, &n_dims, dim));
    TW_TRY(tw_ref_make(c, in[0]->type, n_dims, dim, output));
    const double *x = tw_grid_reals(&of_a, in[0], c->arena), *y = tw_grid_reals(&of_b, in[1], c->arena);
    double *v;
    TW_ALLOC(c->arena, v, tw_max(output->n, 1));
    if (!x || !y) return TW_ERR_NOMEM;
    tw_walk w = tw_walk_of(n_dims, dim);
    tw_walk_operand(&w, in[0]);
    tw_walk_operand(&w, in[1]);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w))
        v[i] = sum ? x[w.at[0]] + y[w.at[1]] : x[w.at[0]] * y[w.at[1]];
    return store(c, 6, 7, v, output);
}

/* Inputs: x, scale, zero, scale and zero of the result. */
static tw_status run_activation(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_quant_grid g;
    const tw_activation *f = tw_activation_find(c->node->op + strlen("QLinear"));
    double alpha = f->alpha_name ? (double)tw_onnx_float(c->node, f->alpha_name, (float)f->alpha) : 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_grid_read(c, 1, 2, x, -1, &g));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, output));
    double *v = tw_grid_reals(&g, x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++) v[i] = f->of(v[i], alpha, 0);
    return store(c, 3, 4, v, output);
}

/* ---- QLinearConcat ---- */

/* Inputs: scale and zero of the result, then x, scale, zero for each part. */
static tw_status concat_shape(const tw_ref_case *c, int *axis, tw_array *output)
{
    const tw_array *x, *zero;
    TW_TRY(tw_ref_need(c, 1, &zero));
    TW_TRY(tw_ref_need(c, 2, &x));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), x->n_dims, axis));
    tw_array shape = *x;
    for (int i = 5; i < c->n_inputs; i += 3) {
        TW_TRY(tw_ref_need(c, i, &x));
        tw_array other = *x;
        if (other.n_dims != shape.n_dims) return tw_ref_error(c, "parts with different numbers of axes");
        shape.dim[*axis] += x->dim[*axis];
        other.dim[*axis] = shape.dim[*axis];
        if (!tw_ref_same_shape(&shape, &other)) return tw_ref_error(c, "parts that do not match");
    }
    return tw_ref_make(c, zero->type, shape.n_dims, shape.dim, output);
}

static tw_status run_concat(const tw_ref_case *c, tw_array *output)
{
    int axis;
    double *v;
    TW_TRY(concat_shape(c, &axis, output));
    TW_ALLOC(c->arena, v, tw_max(output->n, 1));
    int64_t row = tw_ref_extent(output, axis, output->n_dims), done = 0;
    for (int i = 2; i < c->n_inputs; i += 3) {
        const tw_array *x = c->input[i];
        tw_quant_grid g;
        TW_TRY(tw_grid_read(c, i + 1, i + 2, x, -1, &g));
        const double *part = tw_grid_reals(&g, x, c->arena);
        if (!part) return TW_ERR_NOMEM;
        int64_t width = tw_ref_extent(x, axis, x->n_dims);
        for (int64_t j = 0; j < x->n; j++) v[j / width * row + done + j % width] = part[j];
        done += width;
    }
    return store(c, 0, 1, v, output);
}

const tw_ref_entry tw_ref_quantised[] = {
    {"QuantizeLinear", "", run_quantize},
    {"DequantizeLinear", "", run_dequantize},
    {"QuantizeLinear", "com.microsoft", run_quantize},
    {"DequantizeLinear", "com.microsoft", run_dequantize},
    {"DynamicQuantizeLinear", "", run_dynamic},
    {"MatMulInteger", "", run_integer},
    {"QLinearMatMul", "", run_qlinear_matmul},
    {"MatMulIntegerToFloat", "com.microsoft", run_to_float},
    {"DynamicQuantizeMatMul", "com.microsoft", run_dynamic_matmul},
    {"QGemm", "com.microsoft", run_qgemm},
    {"QLinearAdd", "com.microsoft", run_pair},
    {"QLinearMul", "com.microsoft", run_pair},
    {"QLinearSigmoid", "com.microsoft", run_activation},
    {"QLinearLeakyRelu", "com.microsoft", run_activation},
    {"QLinearConcat", "com.microsoft", run_concat},
    {0},
};
