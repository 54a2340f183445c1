/* src/reference/quant.h - integers that stand for reals: real = (integer - zero) * scale. */
#ifndef TW_REFERENCE_QUANT_H
#define TW_REFERENCE_QUANT_H
#include "reference/entries.h"

/* One scale and zero for the whole tensor, or one per position of an axis. */
typedef struct tw_quant_grid {
    const tw_array *scale, *zero; /* NULL: 1 and 0                                        */
    int64_t n;                    /* positions of the axis, 1: one for all                */
    int64_t inner;                /* elements from one position of the axis to the next   */
} tw_quant_grid;

/* From inputs `scale` and `zero` (-1: none) for a tensor of x's shape; they have one element, or as many as
 * `axis`. */
TW_NODISCARD tw_status tw_grid_read(const tw_ref_case *c, int scale, int zero, const tw_array *x, int axis,
                                    tw_quant_grid *out);
double tw_grid_scale(const tw_quant_grid *g, int64_t i); /* of element i */
double tw_grid_zero(const tw_quant_grid *g, int64_t i);
/* The elements less their zeros; NULL when out of memory. */
double *tw_grid_centred(const tw_quant_grid *g, const tw_array *x, tw_arena *arena);
/* The reals; NULL when out of memory. */
double *tw_grid_reals(const tw_quant_grid *g, const tw_array *x, tw_arena *arena);
/* x / scale to the nearest (even) integer, plus zero, held inside the type's range. */
double tw_quantised(double x_by_scale, double zero, tw_onnx_type type);

/* Floats quantised to uint8 by what they are: DynamicQuantizeLinear. */
typedef struct tw_dynamic {
    double scale, zero;
} tw_dynamic;
tw_dynamic tw_dynamic_of(const double *v, int64_t n);
/* x's integer less the zero. */
double tw_dynamic_centred(const tw_dynamic *d, double x);
#endif
