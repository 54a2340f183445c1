/* src/reference/move_elements.c - see moving.h; and the table of the operators that move and make elements. */
#include "reference/moving.h"

#include <math.h>
#include <string.h>

size_t tw_moving_bytes(tw_onnx_type type)
{
    return type == TW_ONNX_STRING ? sizeof(const char *) : (size_t)tw_onnx_type_bytes(type);
}

void *tw_moving_at(const tw_array *a, int64_t i) { return (char *)a->data + (size_t)i * tw_moving_bytes(a->type); }

const void *tw_moving_zero(tw_onnx_type type)
{
    static const char *const empty = "";
    static const double zeros[2];
    return type == TW_ONNX_STRING ? (const void *)&empty : zeros;
}

void tw_moving_strides(const tw_array *a, int64_t stride[TW_ONNX_MAX_DIMS])
{
    for (int k = 0; k < a->n_dims; k++) stride[k] = a->n == 0 ? 0 : tw_ref_extent(a, k + 1, a->n_dims);
}

void tw_moving_run(tw_array *out, int64_t to, const tw_array *in, int64_t from, int64_t n)
{
    if (n > 0) memcpy(tw_moving_at(out, to), tw_moving_at(in, from), (size_t)n * tw_moving_bytes(out->type));
}

void tw_moving_view(tw_array *out, const tw_array *in, const int64_t *stride, int64_t from)
{
    tw_walk w = tw_walk_of(out->n_dims, out->dim);
    tw_walk_strides(&w, stride, from);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) tw_moving_run(out, i, in, w.at[0], 1);
}

static int64_t source_of(const tw_walk *w, int64_t *const *from, const int64_t *stride)
{
    int64_t at = 0;
    for (int k = 0; k < w->n_dims; k++) {
        int64_t position = from[k][w->index[k]];
        if (position < 0) return -1;
        at += position * stride[k];
    }
    return at;
}

void tw_moving_tables(tw_array *out, const tw_array *in, int64_t *const *from, const void *fill)
{
    int64_t stride[TW_ONNX_MAX_DIMS];
    tw_moving_strides(in, stride);
    tw_walk w = tw_walk_of(out->n_dims, out->dim);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int64_t at = source_of(&w, from, stride);
        memcpy(tw_moving_at(out, i), at < 0 ? fill : tw_moving_at(in, at), tw_moving_bytes(out->type));
    }
}

void tw_moving_fill(tw_array *out, const void *element)
{
    for (int64_t i = 0; i < out->n; i++) memcpy(tw_moving_at(out, i), element, tw_moving_bytes(out->type));
}

tw_status tw_moving_reshaped(const tw_ref_case *c, const tw_array *x, int n_dims, const int64_t *dim, tw_array *out)
{
    TW_TRY(tw_ref_make(c, x->type, n_dims, dim, out));
    if (out->n != x->n)
        return tw_ref_error(c, "%" PRId64 " elements cannot have a shape of %" PRId64, x->n, out->n);
    tw_moving_run(out, 0, x, 0, x->n);
    return TW_OK;
}

tw_status tw_moving_tables_new(const tw_array *out, tw_arena *arena, int64_t *from[TW_ONNX_MAX_DIMS])
{
    for (int k = 0; k < out->n_dims && out->n > 0; k++) TW_ALLOC(arena, from[k], out->dim[k]);
    return TW_OK;
}

tw_status tw_moving_whole(const tw_ref_case *c, int i, int64_t fallback, int64_t *out)
{
    *out = fallback;
    const tw_array *a = tw_ref_input(c, i);
    if (!a) return TW_OK;
    if (a->n != 1 || !tw_onnx_is_whole(a->type))
        return tw_ref_error(c, "input %d must be one integer, it is %" PRId64 " of %s", i, a->n,
                            tw_onnx_type_name(a->type));
    *out = tw_array_get_int(a, 0);
    return TW_OK;
}

tw_status tw_moving_place(const tw_ref_case *c, int64_t index, int64_t extent, int64_t *out)
{
    if (index < -extent || index >= extent)
        return tw_ref_error(c, "index %" PRId64 " of an axis of %" PRId64 " elements", index, extent);
    *out = index < 0 ? index + extent : index;
    return TW_OK;
}

int64_t tw_moving_floor(double x)
{
    const double far = 9007199254740992.0;
    if (!(x > -far)) return (int64_t)-far;
    return (int64_t)(x < far ? floor(x) : far);
}

double tw_moving_cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

const tw_ref_entry tw_ref_moving[] = {
    {"Identity", "", tw_run_identity},
    {"Reshape", "", tw_run_reshape},
    {"Flatten", "", tw_run_flatten},
    {"Squeeze", "", tw_run_squeeze},
    {"Unsqueeze", "", tw_run_unsqueeze},
    {"Transpose", "", tw_run_transpose},
    {"Concat", "", tw_run_concat},
    {"Split", "", tw_run_split},
    {"Slice", "", tw_run_slice},
    {"Expand", "", tw_run_expand},
    {"Tile", "", tw_run_tile},
    {"Pad", "", tw_run_pad},
    {"Pad", "com.microsoft", tw_run_pad},
    {"CenterCropPad", "", tw_run_center_crop_pad},
    {"DepthToSpace", "", tw_run_depth_to_space},
    {"SpaceToDepth", "", tw_run_space_to_depth},
    {"Col2Im", "", tw_run_col2im},
    {"ReverseSequence", "", tw_run_reverse_sequence},
    {"Trilu", "", tw_run_trilu},
    {"Cast", "", tw_run_cast},
    {"CastLike", "", tw_run_cast_like},
    {"Resize", "", tw_run_resize},
    {"Upsample", "", tw_run_upsample},
    {"Constant", "", tw_run_constant},
    {"ConstantOfShape", "", tw_run_constant_of_shape},
    {"Range", "", tw_run_range},
    {"EyeLike", "", tw_run_eye_like},
    {"Shape", "", tw_run_shape},
    {"Size", "", tw_run_size},
    {"OneHot", "", tw_run_one_hot},
    {0},
};
