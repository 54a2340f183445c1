/* src/reference/slide.h - how a window slides over the spatial axes of a tensor N x C x D1 x D2 ..: convolutions,
 * pools.
 *
 * Output position o and tap k of an axis meet the input at o * stride + k * dilation - lo; where that is outside
 * [0, in), there is padding. */
#ifndef TW_REFERENCE_SLIDE_H
#define TW_REFERENCE_SLIDE_H
#include "reference/entries.h"

typedef struct tw_slide {
    int n; /* spatial axes */
    int64_t in[TW_ONNX_MAX_DIMS], out[TW_ONNX_MAX_DIMS], kernel[TW_ONNX_MAX_DIMS], stride[TW_ONNX_MAX_DIMS],
        dilation[TW_ONNX_MAX_DIMS], lo[TW_ONNX_MAX_DIMS], hi[TW_ONNX_MAX_DIMS];
    int64_t n_in, n_out, n_taps; /* products */
} tw_slide;

/* From the attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. `kernel` is the weight's,
 * NULL: kernel_shape has to be there. x has at least two axes. */
TW_NODISCARD tw_status tw_slide_read(const tw_ref_case *c, const tw_array *x, const int64_t *kernel, tw_slide *out);
/* The window covers the whole input: global pools. */
TW_NODISCARD tw_status tw_slide_global(const tw_ref_case *c, const tw_array *x, tw_slide *out);
/* The other way round: x is what a convolution would have made, `out` what it would have read. */
TW_NODISCARD tw_status tw_slide_transposed(const tw_ref_case *c, const tw_array *x, const int64_t *kernel,
                                           tw_slide *out);
/* Where each tap of the output positions [from, to) reads: at[tap * (to - from) + position - from], -1 for
 * padding. */
void tw_slide_reads(const tw_slide *s, int64_t from, int64_t to, int64_t *at);
#endif
