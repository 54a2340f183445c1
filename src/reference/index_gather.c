/* src/reference/index_gather.c - elements that other elements point to; and the table of the operators that index. */
#include "reference/moving.h"

#include <string.h>

static tw_status read_gather(const tw_ref_case *c, const tw_array **x, const tw_array **at)
{
    TW_TRY(tw_ref_need(c, 0, x));
    TW_TRY(tw_ref_need(c, 1, at));
    if (!tw_onnx_is_whole((*at)->type))
        return tw_ref_error(c, "indices of type %s", tw_onnx_type_name((*at)->type));
    return TW_OK;
}

tw_status tw_run_gather(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *at;
    int axis, n = 0;
    int64_t dim[2 * TW_ONNX_MAX_DIMS];
    TW_TRY(read_gather(c, &x, &at));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), x->n_dims, &axis));
    for (int k = 0; k < axis; k++) dim[n++] = x->dim[k];
    for (int k = 0; k < at->n_dims; k++) dim[n++] = at->dim[k];
    for (int k = axis + 1; k < x->n_dims; k++) dim[n++] = x->dim[k];
    TW_TRY(tw_ref_make(c, x->type, n, dim, output));
    int64_t outer = output->n == 0 ? 0 : tw_ref_extent(x, 0, axis), inner = tw_ref_extent(x, axis + 1, x->n_dims);
    for (int64_t i = 0; i < at->n; i++) {
        int64_t p;
        TW_TRY(tw_moving_place(c, tw_array_get_int(at, i), x->dim[axis], &p));
        for (int64_t o = 0; o < outer; o++)
            tw_moving_run(output, (o * at->n + i) * inner, x, (o * x->dim[axis] + p) * inner, inner);
    }
    return TW_OK;
}

tw_status tw_run_gather_elements(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *at;
    int axis;
    int64_t stride[TW_ONNX_MAX_DIMS];
    TW_TRY(read_gather(c, &x, &at));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), x->n_dims, &axis));
    if (at->n_dims != x->n_dims)
        return tw_ref_error(c, "the indices have %d axes, the data %d", at->n_dims, x->n_dims);
    for (int k = 0; k < x->n_dims; k++)
        if (k != axis && at->dim[k] > x->dim[k])
            return tw_ref_error(c, "axis %d of the indices is %" PRId64 ", of the data %" PRId64, k, at->dim[k],
                                x->dim[k]);
    TW_TRY(tw_ref_make(c, x->type, at->n_dims, at->dim, output));
    tw_moving_strides(x, stride);
    int64_t step = stride[axis];
    stride[axis] = 0;
    tw_walk w = tw_walk_of(at->n_dims, at->dim);
    tw_walk_strides(&w, stride, 0);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int64_t p;
        TW_TRY(tw_moving_place(c, tw_array_get_int(at, i), x->dim[axis], &p));
        tw_moving_run(output, i, x, w.at[0] + p * step, 1);
    }
    return TW_OK;
}

/* ---- GatherND ---- */

typedef struct nd {
    const tw_array *x, *at;
    int batch, depth; /* leading axes that are walked together, axes that one index names */
} nd;

static tw_status read_nd(const tw_ref_case *c, nd *g)
{
    TW_TRY(read_gather(c, &g->x, &g->at));
    int64_t batch = tw_onnx_int(c->node, "batch_dims", 0);
    if (batch < 0 || batch >= g->at->n_dims || batch > g->x->n_dims)
        return tw_ref_error(c, "'batch_dims' is %" PRId64 " for indices of %d axes", batch, g->at->n_dims);
    g->batch = (int)batch;
    int64_t depth = g->at->dim[g->at->n_dims - 1];
    if (depth < 1 || depth > g->x->n_dims - batch)
        return tw_ref_error(c, "an index names %" PRId64 " axes of %" PRId64, depth, g->x->n_dims - batch);
    g->depth = (int)depth;
    for (int k = 0; k < g->batch; k++)
        if (g->x->dim[k] != g->at->dim[k])
            return tw_ref_error(c, "axis %d is %" PRId64 " in the data, %" PRId64 " in the indices", k,
                                g->x->dim[k], g->at->dim[k]);
    return TW_OK;
}

/* The place of the tuple that starts at index i, in tuples of the rest of the axes. */
static tw_status tuple_place(const tw_ref_case *c, const nd *g, int64_t i, int64_t *out)
{
    *out = 0;
    for (int k = 0; k < g->depth; k++) {
        int64_t p, extent = g->x->dim[g->batch + k];
        TW_TRY(tw_moving_place(c, tw_array_get_int(g->at, i + k), extent, &p));
        *out = *out * extent + p;
    }
    return TW_OK;
}

tw_status tw_run_gather_nd(const tw_ref_case *c, tw_array *output)
{
    nd g;
    int n = 0;
    int64_t dim[2 * TW_ONNX_MAX_DIMS];
    TW_TRY(read_nd(c, &g));
    const tw_array *x = g.x, *at = g.at;
    for (int k = 0; k < at->n_dims - 1; k++) dim[n++] = at->dim[k];
    for (int k = g.batch + g.depth; k < x->n_dims; k++) dim[n++] = x->dim[k];
    TW_TRY(tw_ref_make(c, x->type, n, dim, output));
    if (output->n == 0) return TW_OK;
    int64_t inner = tw_ref_extent(x, g.batch + g.depth, x->n_dims), block = tw_ref_extent(x, g.batch, x->n_dims);
    int64_t per_batch = tw_ref_extent(at, g.batch, at->n_dims - 1);
    for (int64_t i = 0; i < at->n / g.depth; i++) {
        int64_t p;
        TW_TRY(tuple_place(c, &g, i * g.depth, &p));
        tw_moving_run(output, i * inner, x, i / per_batch * block + p * inner, inner);
    }
    return TW_OK;
}

/* ---- Compress ---- */

/* Positions at which the condition holds. */
static tw_status kept_places(const tw_ref_case *c, int64_t extent, int64_t **kept, int64_t *n)
{
    const tw_array *condition;
    TW_TRY(tw_ref_need(c, 1, &condition));
    if (condition->type != TW_ONNX_BOOL || condition->n_dims != 1)
        return tw_ref_error(c, "the condition must be a list of bool");
    TW_ALLOC(c->arena, *kept, condition->n);
    *n = 0;
    for (int64_t i = 0; i < condition->n; i++) {
        if (!tw_array_get_int(condition, i)) continue;
        if (i >= extent) return tw_ref_error(c, "element %" PRId64 " of %" PRId64 " is kept", i, extent);
        (*kept)[(*n)++] = i;
    }
    return TW_OK;
}

tw_status tw_run_compress(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_array flat;
    int axis;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_axis_or_flat(c, &x, &flat, &axis));
    int64_t *kept = NULL, n = 0, dim[TW_ONNX_MAX_DIMS];
    TW_TRY(kept_places(c, x->dim[axis], &kept, &n));
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = n;
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, output));
    int64_t outer = output->n == 0 ? 0 : tw_ref_extent(x, 0, axis), inner = tw_ref_extent(x, axis + 1, x->n_dims);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++)
            tw_moving_run(output, (o * n + i) * inner, x, (o * x->dim[axis] + kept[i]) * inner, inner);
    return TW_OK;
}

const tw_ref_entry tw_ref_indexing[] = {
    {"Gather", "", tw_run_gather},
    {"GatherElements", "", tw_run_gather_elements},
    {"GatherND", "", tw_run_gather_nd},
    {"Compress", "", tw_run_compress},
    {"Scatter", "", tw_run_scatter_elements},
    {"ScatterElements", "", tw_run_scatter_elements},
    {"ScatterND", "", tw_run_scatter_nd},
    {"TopK", "", tw_run_top_k},
    {"Unique", "", tw_run_unique},
    {"NonZero", "", tw_run_non_zero},
    {"NonMaxSuppression", "", tw_run_non_max_suppression},
    {"GridSample", "", tw_run_grid_sample},
    {"RoiAlign", "", tw_run_roi_align},
    {"MaxRoiPool", "", tw_run_max_roi_pool},
    {0},
};
