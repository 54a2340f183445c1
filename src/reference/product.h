/* src/reference/product.h - products of matrices in double, which most of the heavy operators are made of.
 *
 * Integers of up to 16 bits go through here as well: their products add up exactly, as long as there are fewer
 * than 2^21 of them per element. */
#ifndef TW_REFERENCE_PRODUCT_H
#define TW_REFERENCE_PRODUCT_H
#include "reference/entries.h"

/* Row-major, rows `step` elements apart. */
typedef struct tw_rows {
    const double *v;
    int64_t step;
} tw_rows;
typedef struct tw_product_size {
    int64_t m, n, k; /* rows and columns of the product; products per element */
} tw_product_size;
/* y[m][n] += a[m][k] * b[k][n]; the rows of y are y_step apart. */
void tw_product_add(tw_product_size size, tw_rows a, tw_rows b, double *y, int64_t y_step);
/* The transposed of rows x columns numbers; NULL when out of memory. */
double *tw_product_turned(const double *v, int64_t rows, int64_t columns, tw_arena *arena);

/* A tensor with its elements as numbers. */
typedef struct tw_factor {
    const tw_array *shape;
    const double *v;
} tw_factor;
/* numpy's matmul of tensors: axes before the last two are broadcast, a vector is a row on the left and a column on
 * the right. Makes *out of that type; *result has its elements, not stored
 * yet. */
TW_NODISCARD tw_status tw_product_tensors(const tw_ref_case *c, tw_factor a, tw_factor b, tw_onnx_type type,
                                          tw_array *out, double **result);
#endif
