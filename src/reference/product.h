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
/* y[m][n] += a[m][k] * b[k][n]; the rows of y are y_step apart. */
void tw_product_add(int64_t m, int64_t n, int64_t k, tw_rows a, tw_rows b, double *y, int64_t y_step);
/* The transposed of rows x columns numbers; NULL when out of memory. */
double *tw_product_turned(const double *v, int64_t rows, int64_t columns, tw_arena *arena);

/* numpy's matmul of tensors: axes before the last two are broadcast, a vector is a row on the left and a column on
 * the right. x and y are the elements of a and b. Makes *out of that type; *result has its elements, not stored
 * yet. */
TW_NODISCARD tw_status tw_product_tensors(const tw_ref_case *c, tw_arena *arena, tw_diag *diag, const tw_array *a,
                                          const double *x, const tw_array *b, const double *y, tw_onnx_type type,
                                          tw_array *out, double **result);
#endif
