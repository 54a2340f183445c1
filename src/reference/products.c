/* src/reference/products.c - MatMul, Gemm, their fused forms, Det; see product.h for the product itself.
 *
 * The inner loop runs along a row of b and of the result, both contiguous, over four rows of b at a time, in
 * blocks of columns that stay in the cache while all rows of a pass by. */
#include "reference/product.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ELEMS = 1 << 15 }; /* of b that should stay in the cache */

static void add_four_rows(int64_t n, const double *a, tw_rows b, double *restrict y)
{
    const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    const double *restrict b0 = b.v, *restrict b1 = b.v + b.step, *restrict b2 = b1 + b.step,
                           *restrict b3 = b2 + b.step;
    for (int64_t j = 0; j < n; j++) y[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
}

static void add_one_row(int64_t n, double a, const double *restrict b, double *restrict y)
{
    for (int64_t j = 0; j < n; j++) y[j] += a * b[j];
}

void tw_product_add(tw_product_size size, tw_rows a, tw_rows b, double *y, int64_t y_step)
{
    const int64_t m = size.m, n = size.n, k = size.k;
    int64_t width = tw_clamp(BLOCK_ELEMS / tw_max(k, 1), 16, 1024);
    for (int64_t from = 0; from < n; from += width) {
        int64_t columns = tw_min(width, n - from);
        for (int64_t i = 0; i < m; i++) {
            double *row = y + i * y_step + from;
            int64_t j = 0;
            for (; j + 4 <= k; j += 4)
                add_four_rows(columns, a.v + i * a.step + j, (tw_rows){b.v + j * b.step + from, b.step}, row);
            for (; j < k; j++) add_one_row(columns, a.v[i * a.step + j], b.v + j * b.step + from, row);
        }
    }
}

double *tw_product_turned(const double *v, int64_t rows, int64_t columns, tw_arena *arena)
{
    double *turned = TW_NEW(arena, double, tw_max(rows * columns, 1));
    for (int64_t i = 0; turned && i < rows; i++)
        for (int64_t j = 0; j < columns; j++) turned[j * rows + i] = v[i * columns + j];
    return turned;
}

/* ---- tensors ---- */

/* A tensor as matrices: shape of their batch, rows and columns of one. */
typedef struct stack {
    tw_array batch;
    int64_t rows, columns;
} stack;

static stack stack_of(const tw_array *a, bool is_left)
{
    stack s = {.batch = *a, .rows = 1, .columns = 1};
    if (a->n_dims == 1) {
        s.batch.n_dims = 0;
        *(is_left ? &s.columns : &s.rows) = a->dim[0];
        return s;
    }
    s.batch.n_dims = a->n_dims - 2;
    s.rows = a->dim[a->n_dims - 2];
    s.columns = a->dim[a->n_dims - 1];
    return s;
}

/* The shape of the product and its type; a walk over its matrices. */
static tw_status make_product(const tw_ref_case *c, const tw_array *a, const tw_array *b, tw_onnx_type type,
                              tw_array *out, tw_walk *w)
{
    if (a->n_dims < 1 || b->n_dims < 1) return tw_ref_error(c, "an operand is a scalar");
    stack s = stack_of(a, true), t = stack_of(b, false);
    const tw_array *batches[] = {&s.batch, &t.batch};
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS + 2];
    if (s.columns != t.rows)
        return tw_ref_error(c, "rows of %" PRId64 " meet columns of %" PRId64 " elements", s.columns, t.rows);
    TW_TRY(tw_ref_broadcast(c, batches, 2, &n_dims, dim));
    *w = tw_walk_of(n_dims, dim);
    tw_walk_operand(w, &s.batch);
    tw_walk_operand(w, &t.batch);
    if (a->n_dims > 1) dim[n_dims++] = s.rows;
    if (b->n_dims > 1) dim[n_dims++] = t.columns;
    return tw_ref_make(c, type, n_dims, dim, out);
}

tw_status tw_product_tensors(const tw_ref_case *c, tw_factor a, tw_factor b, tw_onnx_type type, tw_array *out,
                             double **result)
{
    tw_walk w;
    double *v;
    TW_TRY(make_product(c, a.shape, b.shape, type, out, &w));
    TW_ALLOC(c->arena, v, tw_max(out->n, 1));
    stack left = stack_of(a.shape, true);
    const int64_t m = left.rows, k = left.columns, n = stack_of(b.shape, false).columns;
    TW_TRY(tw_ref_work(c, out->n, k, 1));
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w))
        tw_product_add((tw_product_size){m, n, k}, (tw_rows){a.v + w.at[0] * m * k, k},
                       (tw_rows){b.v + w.at[1] * k * n, n}, v + i * m * n, n);
    *result = v;
    return TW_OK;
}

/* Integers wrap around, so their products cannot be added up in double. */
static tw_status multiply_wholes(const tw_ref_case *c, const tw_array *a, const tw_array *b, tw_array *out)
{
    tw_walk w;
    int64_t *v;
    TW_TRY(make_product(c, a, b, a->type, out, &w));
    const int64_t *x = tw_array_wholes(a, c->arena), *y = tw_array_wholes(b, c->arena);
    TW_ALLOC(c->arena, v, tw_max(out->n, 1));
    if (!x || !y) return TW_ERR_NOMEM;
    int64_t m = stack_of(a, true).rows, k = stack_of(a, true).columns, n = stack_of(b, false).columns;
    TW_TRY(tw_ref_work(c, out->n, k, 1));
    for (int64_t q = 0; q < w.n; q++, tw_walk_next(&w))
        for (int64_t i = 0; i < m * n; i++) {
            uint64_t sum = 0;
            for (int64_t j = 0; j < k; j++)
                sum += (uint64_t)x[w.at[0] * m * k + i / n * k + j] * (uint64_t)y[w.at[1] * k * n + j * n + i % n];
            v[q * m * n + i] = (int64_t)sum;
        }
    tw_array_put_wholes(out, v);
    return TW_OK;
}

/* Two operands of numbers that have the same type. */
static tw_status need_pair(const tw_ref_case *c, const tw_array **a, const tw_array **b)
{
    TW_TRY(tw_ref_need(c, 0, a));
    TW_TRY(tw_ref_need(c, 1, b));
    if (tw_onnx_is_number((*a)->type) && (*a)->type == (*b)->type) return TW_OK;
    return tw_ref_error(c, "operands of types %s and %s", tw_onnx_type_name((*a)->type),
                        tw_onnx_type_name((*b)->type));
}

static tw_status run_matmul(const tw_ref_case *c, tw_array *output)
{
    const tw_array *a, *b;
    double *v;
    TW_TRY(need_pair(c, &a, &b));
    if (tw_onnx_is_whole(a->type)) return multiply_wholes(c, a, b, output);
    const double *x = tw_array_reals(a, c->arena), *y = tw_array_reals(b, c->arena);
    if (!x || !y) return TW_ERR_NOMEM;
    TW_TRY(tw_product_tensors(c, (tw_factor){a, x}, (tw_factor){b, y}, a->type, output, &v));
    tw_array_put_reals(output, v);
    return TW_OK;
}

/* Swaps the last two axes of a shape and of its elements. */
static tw_status turn(tw_array *a, double **v, tw_arena *arena)
{
    if (a->n_dims < 2 || a->n == 0) return TW_OK;
    int64_t *rows = &a->dim[a->n_dims - 2], *columns = &a->dim[a->n_dims - 1], held = *rows;
    double *all;
    TW_ALLOC(arena, all, a->n);
    for (int64_t at = 0; at < a->n; at += *rows * *columns) {
        double *one = tw_product_turned(*v + at, *rows, *columns, arena);
        if (!one) return TW_ERR_NOMEM;
        memcpy(all + at, one, (size_t)(*rows * *columns) * sizeof *one);
    }
    *rows = *columns;
    *columns = held;
    *v = all;
    return TW_OK;
}

/* alpha * a * b with a and b turned as transA and transB say. */
static tw_status scaled_product(const tw_ref_case *c, tw_array *output, double **out)
{
    const tw_array *a, *b;
    TW_TRY(need_pair(c, &a, &b));
    tw_array left = *a, right = *b;
    double *x = tw_array_reals(a, c->arena), *y = tw_array_reals(b, c->arena), *v;
    double alpha = (double)tw_onnx_float(c->node, "alpha", 1);
    if (!x || !y) return TW_ERR_NOMEM;
    if (tw_onnx_int(c->node, "transA", 0)) TW_TRY(turn(&left, &x, c->arena));
    if (tw_onnx_int(c->node, "transB", 0)) TW_TRY(turn(&right, &y, c->arena));
    TW_TRY(tw_product_tensors(c, (tw_factor){&left, x}, (tw_factor){&right, y}, a->type, output, &v));
    for (int64_t i = 0; i < output->n; i++) v[i] *= alpha;
    *out = v;
    return TW_OK;
}

static tw_status run_fused_matmul(const tw_ref_case *c, tw_array *output)
{
    double *v;
    if (tw_onnx_int(c->node, "transBatchA", 0) || tw_onnx_int(c->node, "transBatchB", 0))
        return tw_ref_unknown(c, "operands with their batch axes turned");
    TW_TRY(scaled_product(c, output, &v));
    tw_array_put_reals(output, v);
    return TW_OK;
}

/* v += beta * bias, broadcast to the shape of out. */
static tw_status add_bias(const tw_ref_case *c, const tw_array *bias, const tw_array *out, double *v)
{
    const tw_array *both[] = {out, bias};
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    double beta = (double)tw_onnx_float(c->node, "beta", 1);
    TW_TRY(tw_ref_broadcast(c, both, 2, &n_dims, dim));
    tw_walk w = tw_walk_of(n_dims, dim);
    if (n_dims != out->n_dims || w.n != out->n) return tw_ref_error(c, "the bias is larger than the product");
    tw_walk_operand(&w, bias);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) v[i] += beta * tw_array_get(bias, w.at[0]);
    return TW_OK;
}

static tw_status gemm(const tw_ref_case *c, tw_array *output, double **v)
{
    const tw_array *a, *b, *bias = tw_ref_input(c, 2);
    TW_TRY(need_pair(c, &a, &b));
    if (a->n_dims != 2 || b->n_dims != 2) return tw_ref_error(c, "an operand is not a matrix");
    TW_TRY(scaled_product(c, output, v));
    return bias ? add_bias(c, bias, output, *v) : TW_OK;
}

static tw_status run_gemm(const tw_ref_case *c, tw_array *output)
{
    double *v;
    TW_TRY(gemm(c, output, &v));
    tw_array_put_reals(output, v);
    return TW_OK;
}

static tw_status run_fused_gemm(const tw_ref_case *c, tw_array *output)
{
    double *v;
    const char *name = tw_onnx_string(c->node, "activation", "");
    const tw_activation *f = tw_activation_find(name);
    if (!f) return tw_ref_unknown(c, "activation '%s'", name);
    double alpha = (double)tw_onnx_float(c->node, "activation_alpha", (float)f->alpha);
    double beta = (double)tw_onnx_float(
        c->node, f->beta_name && strcmp(f->beta_name, "gamma") == 0 ? "activation_gamma" : "activation_beta",
        (float)f->beta);
    TW_TRY(gemm(c, output, &v));
    for (int64_t i = 0; i < output->n; i++) v[i] = f->of(v[i], alpha, beta);
    tw_array_put_reals(output, v);
    return TW_OK;
}

/* ---- Det ---- */

static void swap_rows(double *v, int64_t n, int64_t i, int64_t j)
{
    for (int64_t k = 0; k < n; k++) {
        double held = v[i * n + k];
        v[i * n + k] = v[j * n + k];
        v[j * n + k] = held;
    }
}

/* By elimination with the largest pivot of each column. */
static double determinant(double *v, int64_t n)
{
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(v[i * n + k]) > fabs(v[pivot * n + k])) pivot = i;
        if (v[pivot * n + k] == 0) return 0;
        if (pivot != k) swap_rows(v, n, pivot, k);
        product *= pivot != k ? -v[k * n + k] : v[k * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            double factor = v[i * n + k] / v[k * n + k];
            for (int64_t j = k; j < n; j++) v[i * n + j] -= factor * v[k * n + j];
        }
    }
    return product;
}

static tw_status run_det(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (x->n_dims < 2 || x->dim[x->n_dims - 1] != x->dim[x->n_dims - 2])
        return tw_ref_error(c, "the matrices are not square");
    int64_t n = x->dim[x->n_dims - 1];
    TW_TRY(tw_ref_make(c, x->type, x->n_dims - 2, x->dim, output));
    double *v = tw_array_reals(x, c->arena);
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < output->n; i++) tw_array_set(output, i, determinant(v + i * n * n, n));
    return TW_OK;
}

const tw_ref_entry tw_ref_products[] = {
    {"MatMul", "", run_matmul},
    {"Gemm", "", run_gemm},
    {"FusedMatMul", "com.microsoft", run_fused_matmul},
    {"FusedGemm", "com.microsoft", run_fused_gemm},
    {"Det", "", run_det},
    {"Einsum", "", tw_ref_einsum},
    {0},
};
