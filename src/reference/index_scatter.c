/* src/reference/index_scatter.c - elements that are put, added, multiplied or compared into places. */
#include "reference/moving.h"

#include <string.h>

typedef enum reduction { PUT, ADD, MUL, MAX, MIN } reduction;

static tw_status reduction_of(const tw_ref_case *c, tw_onnx_type type, reduction *out)
{
    static const char *const name[] = {"none", "add", "mul", "max", "min"};
    const char *wish = tw_onnx_string(c->node, "reduction", "none");
    for (size_t i = 0; i < TW_COUNT(name); i++) {
        *out = (reduction)i;
        if (strcmp(name[i], wish) != 0) continue;
        if (*out == PUT || tw_onnx_is_number(type)) return TW_OK;
        return tw_ref_error(c, "'reduction' is '%s' for elements of %s", wish, tw_onnx_type_name(type));
    }
    return tw_ref_error(c, "'reduction' is '%s'", wish);
}

static double real_reduced(reduction how, double a, double b)
{
    switch (how) {
    case ADD: return a + b;
    case MUL: return a * b;
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case PUT: break;
    }
    return b;
}

static int64_t whole_reduced(reduction how, int64_t a, int64_t b, bool u64)
{
    bool above = u64 ? (uint64_t)a > (uint64_t)b : a > b;
    switch (how) {
    case ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case MAX: return above ? a : b;
    case MIN: return above ? b : a;
    case PUT: break;
    }
    return b;
}

static void put(reduction how, tw_array *out, int64_t to, const tw_array *from, int64_t i)
{
    if (how == PUT) {
        tw_moving_run(out, to, from, i, 1);
    } else if (tw_onnx_is_float(out->type)) {
        tw_array_set(out, to, real_reduced(how, tw_array_get(out, to), tw_array_get(from, i)));
    } else {
        tw_array one = {.type = out->type, .n = 1, .data = tw_moving_at(out, to)};
        int64_t v =
            whole_reduced(how, tw_array_get_int(out, to), tw_array_get_int(from, i), out->type == TW_ONNX_U64);
        tw_array_put_wholes(&one, out->type == TW_ONNX_BOOL ? &(int64_t){v != 0} : &v);
    }
}

typedef struct scattering {
    const tw_array *x, *at, *update;
    reduction how;
} scattering;

/* Reads the three inputs and begins the output as a copy of the data. */
static tw_status begin(const tw_ref_case *c, scattering *s, tw_array *output)
{
    TW_TRY(tw_ref_need(c, 0, &s->x));
    TW_TRY(tw_ref_need(c, 1, &s->at));
    TW_TRY(tw_ref_need(c, 2, &s->update));
    if (!tw_onnx_is_whole(s->at->type) || s->update->type != s->x->type)
        return tw_ref_error(c, "indices of %s and updates of %s for data of %s", tw_onnx_type_name(s->at->type),
                            tw_onnx_type_name(s->update->type), tw_onnx_type_name(s->x->type));
    TW_TRY(reduction_of(c, s->x->type, &s->how));
    return tw_moving_reshaped(c, s->x, s->x->n_dims, s->x->dim, output);
}

tw_status tw_run_scatter_elements(const tw_ref_case *c, tw_array *output)
{
    scattering s;
    int axis;
    int64_t stride[TW_ONNX_MAX_DIMS];
    TW_TRY(begin(c, &s, output));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), s.x->n_dims, &axis));
    if (!tw_ref_same_shape(s.at, s.update) || s.at->n_dims != s.x->n_dims)
        return tw_ref_error(c, "indices and updates differ in shape, or in rank from the data");
    for (int k = 0; k < s.x->n_dims; k++)
        if (k != axis && s.at->dim[k] > s.x->dim[k])
            return tw_ref_error(c, "axis %d of the indices is %" PRId64 ", of the data %" PRId64, k, s.at->dim[k],
                                s.x->dim[k]);
    tw_moving_strides(s.x, stride);
    int64_t step = stride[axis];
    stride[axis] = 0;
    tw_walk w = tw_walk_of(s.at->n_dims, s.at->dim);
    tw_walk_strides(&w, stride, 0);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int64_t p;
        TW_TRY(tw_moving_place(c, tw_array_get_int(s.at, i), s.x->dim[axis], &p));
        put(s.how, output, w.at[0] + p * step, s.update, i);
    }
    return TW_OK;
}

/* Updates have the indices' shape without its last axis, then the axes of the data that no index names. */
static tw_status check_updates(const tw_ref_case *c, const scattering *s, int64_t depth)
{
    int owner = s->at->n_dims - 1, rest = s->x->n_dims - (int)depth;
    bool fits = s->update->n_dims == owner + rest;
    for (int k = 0; fits && k < owner; k++) fits = s->update->dim[k] == s->at->dim[k];
    for (int k = 0; fits && k < rest; k++) fits = s->update->dim[owner + k] == s->x->dim[(int)depth + k];
    return fits ? TW_OK : tw_ref_error(c, "the shape of the updates does not follow from indices and data");
}

tw_status tw_run_scatter_nd(const tw_ref_case *c, tw_array *output)
{
    scattering s;
    TW_TRY(begin(c, &s, output));
    int64_t depth = s.at->n_dims > 0 ? s.at->dim[s.at->n_dims - 1] : 0;
    if (depth < 1 || depth > s.x->n_dims)
        return tw_ref_error(c, "an index names %" PRId64 " axes of %d", depth, s.x->n_dims);
    TW_TRY(check_updates(c, &s, depth));
    int64_t inner = tw_ref_extent(s.x, (int)depth, s.x->n_dims);
    for (int64_t i = 0; i < s.at->n / depth; i++) {
        int64_t place = 0;
        for (int k = 0; k < (int)depth; k++) {
            int64_t p;
            TW_TRY(tw_moving_place(c, tw_array_get_int(s.at, i * depth + k), s.x->dim[k], &p));
            place = place * s.x->dim[k] + p;
        }
        for (int64_t j = 0; j < inner; j++) put(s.how, output, place * inner + j, s.update, i * inner + j);
    }
    return TW_OK;
}
