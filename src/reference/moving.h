/* src/reference/moving.h - elements that are moved without being looked at.
 *
 * Most operators of these files say for every element of the output where it comes from. Three ways cover them: runs of
 * neighbours, steps per axis (a transposed, sliced or broadcast view), and a table per axis:
 *
 *     out[i][j] = in[from[0][i]][from[1][j]], or the fill where a table says -1
 *
 * Elements are bytes here; a string is the pointer to it. */
#ifndef TW_REFERENCE_MOVING_H
#define TW_REFERENCE_MOVING_H
#include "reference/entries.h"

/* Bytes of an element as the host has it. */
size_t tw_moving_bytes(tw_onnx_type type);
/* Where element i lies. Only what was allocated for an output may be written through it. */
void *tw_moving_at(const tw_array *a, int64_t i);
/* Zero, false, or the empty string. */
const void *tw_moving_zero(tw_onnx_type type);
/* Elements from one position of each axis to the next. */
void tw_moving_strides(const tw_array *a, int64_t stride[TW_ONNX_MAX_DIMS]);

/* n neighbours. */
void tw_moving_run(tw_array *out, int64_t to, const tw_array *in, int64_t from, int64_t n);
/* All of out: `stride` elements of `in` per step of each axis of out, beginning at `from`. */
void tw_moving_view(tw_array *out, const tw_array *in, const int64_t *stride, int64_t from);
/* All of out, by one table per axis of out, which has as many as `in`. */
void tw_moving_tables(tw_array *out, const tw_array *in, int64_t *const *from, const void *fill);
/* All of out is one element. */
void tw_moving_fill(tw_array *out, const void *element);
/* A copy of x that is called another shape of as many elements. */
TW_NODISCARD tw_status tw_moving_reshaped(const tw_ref_case *c, const tw_array *x, int n_dims, const int64_t *dim,
                                          tw_array *out);
/* A table for each axis of `out`, not written yet; none when out has no elements. */
TW_NODISCARD tw_status tw_moving_tables_new(const tw_array *out, tw_arena *arena, int64_t *from[TW_ONNX_MAX_DIMS]);
/* The only element of input i as an integer, `fallback` when the input is left out. */
TW_NODISCARD tw_status tw_moving_whole(const tw_ref_case *c, int i, int64_t fallback, int64_t *out);
/* An index that may count from the end, as 0..extent-1; anything else is an error. */
TW_NODISCARD tw_status tw_moving_place(const tw_ref_case *c, int64_t index, int64_t extent, int64_t *out);
/* The largest integer not above x; what no int64_t can hold ends at +-2^53, and NaN is -2^53. */
int64_t tw_moving_floor(double x);
/* Weight of a cubic interpolation at distance x of a tap. */
double tw_moving_cubic(double x, double a);

typedef tw_status tw_ref_function(const tw_ref_case *c, tw_array *output);
/* move_shape.c */
tw_ref_function tw_run_identity, tw_run_reshape, tw_run_flatten, tw_run_squeeze, tw_run_unsqueeze;
/* move_parts.c */
tw_ref_function tw_run_transpose, tw_run_concat, tw_run_split, tw_run_slice, tw_run_expand, tw_run_tile;
/* move_blocks.c */
tw_ref_function tw_run_depth_to_space, tw_run_space_to_depth, tw_run_col2im, tw_run_reverse_sequence, tw_run_trilu;
/* move_pad.c, move_cast.c, move_resize.c */
tw_ref_function tw_run_pad, tw_run_center_crop_pad, tw_run_cast, tw_run_cast_like, tw_run_resize, tw_run_upsample;
/* make_values.c */
tw_ref_function tw_run_constant, tw_run_constant_of_shape, tw_run_range, tw_run_eye_like, tw_run_shape, tw_run_size,
    tw_run_one_hot;
/* index_gather.c, index_scatter.c */
tw_ref_function tw_run_gather, tw_run_gather_elements, tw_run_gather_nd, tw_run_compress, tw_run_scatter_elements,
    tw_run_scatter_nd;
/* index_order.c, index_boxes.c, index_sample.c, index_rois.c */
tw_ref_function tw_run_top_k, tw_run_unique, tw_run_non_zero, tw_run_non_max_suppression, tw_run_grid_sample,
    tw_run_roi_align, tw_run_max_roi_pool;
#endif
