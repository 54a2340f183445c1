/* src/reference/move_parts.c - tensors in another order, cut, joined and repeated. */
#include "reference/moving.h"

#include <string.h>

tw_status tw_run_transpose(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list perm;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "perm", -1, &perm));
    if (perm.there && perm.n != x->n_dims)
        return tw_ref_error(c, "'perm' has %" PRId64 " axes, the input %d", perm.n, x->n_dims);
    int64_t all[TW_ONNX_MAX_DIMS], dim[TW_ONNX_MAX_DIMS], stride[TW_ONNX_MAX_DIMS];
    bool used[TW_ONNX_MAX_DIMS] = {false};
    tw_moving_strides(x, all);
    for (int k = 0; k < x->n_dims; k++) {
        int64_t from = perm.there ? perm.v[k] : x->n_dims - 1 - k;
        if (from < 0 || from >= x->n_dims || used[from])
            return tw_ref_error(c, "'perm' is no order of %d axes: entry %d is %" PRId64, x->n_dims, k, from);
        used[from] = true;
        dim[k] = x->dim[from];
        stride[k] = all[from];
    }
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    tw_moving_view(output, x, stride, 0);
    return TW_OK;
}

/* ---- Concat and Split ---- */

static tw_status check_joinable(const tw_ref_case *c, const tw_array *x, const tw_array *y, int i, int axis)
{
    if (x->type != y->type || x->n_dims != y->n_dims)
        return tw_ref_error(c, "input %d is %s of %d axes, input 0 is %s of %d", i, tw_onnx_type_name(y->type),
                            y->n_dims, tw_onnx_type_name(x->type), x->n_dims);
    for (int k = 0; k < x->n_dims; k++)
        if (k != axis && x->dim[k] != y->dim[k])
            return tw_ref_error(c, "axis %d of input %d is %" PRId64 ", of input 0 %" PRId64, k, i, y->dim[k],
                                x->dim[k]);
    return TW_OK;
}

static tw_status joined_shape(const tw_ref_case *c, const tw_array *x, int axis, int64_t *dim)
{
    memcpy(dim, x->dim, sizeof x->dim);
    for (int i = 1; i < c->n_inputs; i++) {
        const tw_array *y;
        TW_TRY(tw_ref_need(c, i, &y));
        TW_TRY(check_joinable(c, x, y, i, axis));
        if (!tw_ckd_add(dim[axis], y->dim[axis], &dim[axis])) return tw_ref_error(c, "the sum overflows");
    }
    return TW_OK;
}

tw_status tw_run_concat(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int axis;
    int64_t dim[TW_ONNX_MAX_DIMS], done = 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    if (c->opset >= 4 && !tw_onnx_attribute(c->node, "axis")) return tw_ref_error(c, "'axis' is missing");
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 1), x->n_dims, &axis));
    TW_TRY(joined_shape(c, x, axis, dim));
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    int64_t row = output->n == 0 ? 0 : tw_ref_extent(output, axis, x->n_dims);
    for (int i = 0; i < c->n_inputs && row > 0; i++) {
        int64_t part = tw_ref_extent(c->input[i], axis, x->n_dims);
        for (int64_t o = 0; o < output->n / row; o++)
            tw_moving_run(output, o * row + done, c->input[i], o * part, part);
        done += part;
    }
    return TW_OK;
}

/* Sizes of equal parts; from opset 18 the last may be smaller. */
static tw_status equal_parts(const tw_ref_case *c, int64_t extent, int64_t *size)
{
    int64_t n = tw_onnx_int(c->node, "num_outputs", c->n_outputs);
    if (n != c->n_outputs) return tw_ref_error(c, "'num_outputs' is %" PRId64 ", the node has %d", n, c->n_outputs);
    int64_t part = tw_cdiv(extent, n), last = extent - part * (n - 1);
    if (last < 0 || (c->opset < 18 && last != part))
        return tw_ref_error(c, "%" PRId64 " elements cannot be cut into %" PRId64 " parts", extent, n);
    for (int64_t i = 0; i < n; i++) size[i] = i == n - 1 ? last : part;
    return TW_OK;
}

static tw_status given_parts(const tw_ref_case *c, tw_ref_list split, int64_t extent, int64_t *size)
{
    if (split.n != c->n_outputs)
        return tw_ref_error(c, "'split' has %" PRId64 " parts, the node %d outputs", split.n, c->n_outputs);
    int64_t sum = 0;
    for (int64_t i = 0; i < split.n; i++) {
        size[i] = split.v[i];
        if (size[i] < 0 || !tw_ckd_add(sum, size[i], &sum))
            return tw_ref_error(c, "part %" PRId64 " of 'split' is %" PRId64, i, size[i]);
    }
    if (sum != extent) return tw_ref_error(c, "'split' sums up to %" PRId64 ", the axis has %" PRId64, sum, extent);
    return TW_OK;
}

static tw_status cut_part(const tw_ref_case *c, const tw_array *x, int axis, tw_span part, tw_array *out)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = part.hi - part.lo;
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, out));
    if (out->n == 0) return TW_OK;
    int64_t inner = tw_ref_extent(x, axis + 1, x->n_dims), row = x->dim[axis] * inner, run = dim[axis] * inner;
    for (int64_t o = 0; o < x->n / row; o++) tw_moving_run(out, o * run, x, o * row + part.lo * inner, run);
    return TW_OK;
}

tw_status tw_run_split(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list split;
    int axis;
    int64_t *size, at = 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "split", 1, &split));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), x->n_dims, &axis));
    if (c->n_outputs < 1) return tw_ref_error(c, "there are no outputs");
    TW_ALLOC(c->arena, size, c->n_outputs);
    if (split.there)
        TW_TRY(given_parts(c, split, x->dim[axis], size));
    else
        TW_TRY(equal_parts(c, x->dim[axis], size));
    for (int i = 0; i < c->n_outputs; at += size[i++])
        if (tw_ref_wants(c, i)) TW_TRY(cut_part(c, x, axis, (tw_span){at, at + size[i]}, &output[i]));
    return TW_OK;
}

/* ---- Slice ---- */

typedef struct cut { /* of one axis: elements start, start + step, ... */
    int64_t start, step, n;
} cut;

static cut cut_of(int64_t extent, int64_t start, int64_t end, int64_t step)
{
    if (extent == 0) return (cut){0, 1, 0};
    if (start < 0) start += extent;
    if (end < 0) end += extent;
    if (step > 0) {
        start = tw_clamp(start, 0, extent);
        end = tw_clamp(end, 0, extent);
        return (cut){start, step, end > start ? tw_cdiv(end - start, step) : 0};
    }
    step = tw_max(step, -INT64_MAX);
    start = tw_clamp(start, 0, extent - 1);
    end = tw_clamp(end, -1, extent - 1);
    return (cut){start, step, start > end ? tw_cdiv(start - end, -step) : 0};
}

typedef struct slicing {
    tw_ref_list starts, ends, axes, steps;
} slicing;

static tw_status read_slicing(const tw_ref_case *c, slicing *s)
{
    TW_TRY(tw_ref_ints(c, "starts", 1, &s->starts));
    TW_TRY(tw_ref_ints(c, "ends", 2, &s->ends));
    TW_TRY(tw_ref_ints(c, "axes", 3, &s->axes));
    TW_TRY(tw_ref_ints(c, "steps", 4, &s->steps));
    if (!s->starts.there || !s->ends.there) return tw_ref_error(c, "'starts' or 'ends' is missing");
    int64_t n = s->starts.n;
    if (s->ends.n != n || (s->axes.there && s->axes.n != n) || (s->steps.there && s->steps.n != n))
        return tw_ref_error(c, "'starts' has %" PRId64 " entries, another list has not", n);
    return TW_OK;
}

static tw_status cut_axes(const tw_ref_case *c, const slicing *s, const tw_array *x, cut *cuts)
{
    bool used[TW_ONNX_MAX_DIMS] = {false};
    for (int64_t i = 0; i < s->starts.n; i++) {
        int k;
        int64_t step = s->steps.there ? s->steps.v[i] : 1;
        TW_TRY(tw_ref_axis(c, s->axes.there ? s->axes.v[i] : i, x->n_dims, &k));
        if (used[k]) return tw_ref_error(c, "axis %d is named twice", k);
        if (step == 0) return tw_ref_error(c, "the step of axis %d is 0", k);
        used[k] = true;
        cuts[k] = cut_of(x->dim[k], s->starts.v[i], s->ends.v[i], step);
    }
    return TW_OK;
}

tw_status tw_run_slice(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    slicing s;
    cut cuts[TW_ONNX_MAX_DIMS];
    int64_t dim[TW_ONNX_MAX_DIMS], stride[TW_ONNX_MAX_DIMS], from = 0;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(read_slicing(c, &s));
    for (int k = 0; k < x->n_dims; k++) cuts[k] = (cut){0, 1, x->dim[k]};
    TW_TRY(cut_axes(c, &s, x, cuts));
    for (int k = 0; k < x->n_dims; k++) dim[k] = cuts[k].n;
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    if (output->n == 0) return TW_OK;
    tw_moving_strides(x, stride);
    for (int k = 0; k < x->n_dims; k++) {
        from += cuts[k].start * stride[k];
        stride[k] = cuts[k].n > 1 ? cuts[k].step * stride[k] : 0;
    }
    tw_moving_view(output, x, stride, from);
    return TW_OK;
}

/* ---- Expand and Tile ---- */

tw_status tw_run_expand(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_ref_list shape;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_ints(c, "shape", 1, &shape));
    if (!shape.there) return tw_ref_error(c, "the shape is missing");
    if (shape.n > TW_ONNX_MAX_DIMS)
        return tw_ref_unknown(c, "a shape of %" PRId64 " axes, more than %d", shape.n, TW_ONNX_MAX_DIMS);
    tw_array wish = {.n_dims = (int)shape.n};
    for (int k = 0; k < wish.n_dims; k++) {
        if (shape.v[k] < 0) return tw_ref_error(c, "axis %d of the shape is %" PRId64, k, shape.v[k]);
        wish.dim[k] = shape.v[k];
    }
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_ref_broadcast(c, (const tw_array *[]){x, &wish}, 2, &n_dims, dim));
    TW_TRY(tw_ref_make(c, x->type, n_dims, dim, output));
    tw_walk w = tw_walk_of(n_dims, dim);
    tw_walk_operand(&w, x);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) tw_moving_run(output, i, x, w.at[0], 1);
    return TW_OK;
}

/* Opset 1 repeats along one axis. */
static tw_status one_repeat(const tw_ref_case *c, const tw_array *x, int64_t *repeat)
{
    int64_t times, axis;
    int k;
    TW_TRY(tw_moving_whole(c, 1, 1, &times));
    TW_TRY(tw_moving_whole(c, 2, 0, &axis));
    TW_TRY(tw_ref_axis(c, axis, x->n_dims, &k));
    repeat[k] = times;
    return TW_OK;
}

static tw_status all_repeats(const tw_ref_case *c, const tw_array *x, int64_t *repeat)
{
    tw_ref_list repeats;
    TW_TRY(tw_ref_ints(c, "repeats", 1, &repeats));
    if (repeats.n != x->n_dims)
        return tw_ref_error(c, "'repeats' has %" PRId64 " entries for %d axes", repeats.n, x->n_dims);
    for (int k = 0; k < x->n_dims; k++) repeat[k] = repeats.v[k];
    return TW_OK;
}

tw_status tw_run_tile(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int64_t dim[TW_ONNX_MAX_DIMS], repeat[TW_ONNX_MAX_DIMS], *from[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_ref_need(c, 0, &x));
    for (int k = 0; k < x->n_dims; k++) repeat[k] = 1;
    if (c->opset < 6)
        TW_TRY(one_repeat(c, x, repeat));
    else
        TW_TRY(all_repeats(c, x, repeat));
    for (int k = 0; k < x->n_dims; k++)
        if (repeat[k] < 0 || !tw_ckd_mul(x->dim[k], repeat[k], &dim[k]))
            return tw_ref_error(c, "axis %d is repeated %" PRId64 " times", k, repeat[k]);
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    if (output->n == 0) return TW_OK;
    tw_arena_mark mark = tw_arena_save(c->arena);
    TW_TRY(tw_moving_tables_new(output, c->arena, from));
    for (int k = 0; k < x->n_dims; k++)
        for (int64_t i = 0; i < dim[k]; i++) from[k][i] = i % x->dim[k];
    tw_moving_tables(output, x, from, NULL);
    tw_arena_rewind(c->arena, mark);
    return TW_OK;
}
