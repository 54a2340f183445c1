/* src/reference/index_order.c - elements by size: TopK, Unique, NonZero.
 *
 * Every element becomes a key of 64 bits that sorts as the element does: integers with their sign turned, floats as
 * their bits in the order of the numbers (NaN above all, both zeros the same), strings by their rank. */
#include "reference/moving.h"

#include <stdlib.h>
#include <string.h>

typedef struct keyed { /* a row of keys, and the first of its elements */
    const uint64_t *key;
    int64_t n, index;
} keyed;

static int by_keys(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    for (int64_t i = 0; i < x->n; i++)
        if (x->key[i] != y->key[i]) return x->key[i] < y->key[i] ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* ---- keys ---- */

static uint64_t real_key(double x)
{
    uint64_t bits, sign = UINT64_C(1) << 63;
    if (x != x) return UINT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

typedef struct ranked {
    const char *text;
    int64_t index;
} ranked;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const ranked *)a)->text, ((const ranked *)b)->text);
}

static tw_status text_keys(const tw_array *x, tw_arena *arena, uint64_t *key)
{
    ranked *r;
    TW_ALLOC(arena, r, x->n);
    for (int64_t i = 0; i < x->n; i++) r[i] = (ranked){((const char *const *)x->data)[i], i};
    qsort(r, (size_t)x->n, sizeof *r, by_text);
    uint64_t rank = 0;
    for (int64_t i = 0; i < x->n; i++) {
        if (i > 0 && strcmp(r[i].text, r[i - 1].text) != 0) rank++;
        key[r[i].index] = rank;
    }
    return TW_OK;
}

static tw_status keys_of(const tw_ref_case *c, const tw_array *x, uint64_t **out)
{
    TW_ALLOC(c->arena, *out, x->n);
    if (x->type == TW_ONNX_STRING) return text_keys(x, c->arena, *out);
    if (!tw_onnx_is_number(x->type))
        return tw_ref_unknown(c, "the order of elements of %s", tw_onnx_type_name(x->type));
    uint64_t turned = x->type == TW_ONNX_U64 ? 0 : UINT64_C(1) << 63;
    for (int64_t i = 0; i < x->n; i++)
        (*out)[i] =
            tw_onnx_is_float(x->type) ? real_key(tw_array_get(x, i)) : (uint64_t)tw_array_get_int(x, i) ^ turned;
    return TW_OK;
}

/* ---- TopK ---- */

static tw_status read_k(const tw_ref_case *c, int64_t extent, int64_t *k)
{
    if (c->opset < 10)
        *k = tw_onnx_int(c->node, "k", -1);
    else
        TW_TRY(tw_moving_whole(c, 1, -1, k));
    if (*k < 0 || *k > extent) return tw_ref_error(c, "the first %" PRId64 " of %" PRId64, *k, extent);
    return TW_OK;
}

static tw_status make_top(const tw_ref_case *c, const tw_array *x, int axis, int64_t k, tw_array *output)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = k;
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, &output[0]));
    if (c->n_outputs > 1) TW_TRY(tw_ref_make(c, TW_ONNX_I64, x->n_dims, dim, &output[1]));
    return TW_OK;
}

tw_status tw_run_top_k(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    int axis;
    int64_t k;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_axis(c, tw_onnx_int(c->node, "axis", -1), x->n_dims, &axis));
    TW_TRY(read_k(c, x->dim[axis], &k));
    TW_TRY(make_top(c, x, axis, k, output));
    if (output->n == 0) return TW_OK;
    tw_arena_mark mark = tw_arena_save(c->arena);
    uint64_t *key, turned = tw_onnx_int(c->node, "largest", 1) ? UINT64_MAX : 0;
    keyed *row;
    TW_TRY(keys_of(c, x, &key));
    TW_ALLOC(c->arena, row, x->dim[axis]);
    for (int64_t i = 0; i < x->n; i++) key[i] ^= turned;
    int64_t inner = tw_ref_extent(x, axis + 1, x->n_dims), extent = x->dim[axis];
    for (int64_t r = 0; r < x->n / extent; r++) {
        int64_t from = r / inner * extent * inner + r % inner, to = r / inner * k * inner + r % inner;
        for (int64_t i = 0; i < extent; i++) row[i] = (keyed){&key[from + i * inner], 1, i};
        qsort(row, (size_t)extent, sizeof *row, by_keys);
        for (int64_t i = 0; i < k; i++) {
            tw_moving_run(&output[0], to + i * inner, x, from + row[i].index * inner, 1);
            if (c->n_outputs > 1) *(int64_t *)tw_moving_at(&output[1], to + i * inner) = row[i].index;
        }
    }
    tw_arena_rewind(c->arena, mark);
    return TW_OK;
}

/* ---- Unique ---- */

typedef struct groups {
    int64_t n_items, n;                /* slices, and different ones among them             */
    int64_t *first, *count, *group_of; /* per group: its first slice, how many; per slice: its group */
} groups;

/* Slices along the axis as rows of keys, sorted; equal ones are neighbours, the earliest first. */
static tw_status sort_slices(const tw_ref_case *c, const tw_array *x, int axis, keyed **out)
{
    uint64_t *key, *rows;
    int64_t extent = x->dim[axis], inner = tw_ref_extent(x, axis + 1, x->n_dims);
    int64_t n = extent == 0 ? 0 : x->n / extent;
    TW_TRY(keys_of(c, x, &key));
    TW_ALLOC(c->arena, rows, x->n);
    TW_ALLOC(c->arena, *out, extent);
    for (int64_t i = 0; i < x->n; i++) {
        int64_t o = i / inner / extent, at = i / inner % extent;
        rows[at * n + o * inner + i % inner] = key[i];
    }
    for (int64_t i = 0; i < extent; i++) (*out)[i] = (keyed){rows + i * n, n, i};
    qsort(*out, (size_t)extent, sizeof **out, by_keys);
    return TW_OK;
}

static void number_groups(const keyed *slice, groups *g)
{
    for (int64_t i = 0; i < g->n_items; i++) {
        bool same = i > 0 && (slice[i].n == 0 || memcmp(slice[i].key, slice[i - 1].key,
                                                        (size_t)slice[i].n * sizeof *slice[i].key) == 0);
        if (!same) g->first[g->n++] = slice[i].index;
        g->count[g->n - 1]++;
        g->group_of[slice[i].index] = g->n - 1;
    }
}

/* Groups in the order of their first slices. */
static tw_status order_by_first(tw_arena *arena, groups *g)
{
    groups old = *g;
    int64_t *now; /* new number of a group */
    TW_ALLOC(arena, now, g->n);
    TW_ALLOC(arena, g->first, g->n_items);
    TW_ALLOC(arena, g->count, g->n_items);
    g->n = 0;
    for (int64_t i = 0; i < g->n_items; i++) {
        int64_t was = old.group_of[i];
        if (old.first[was] == i) {
            now[was] = g->n;
            g->first[g->n] = i;
            g->count[g->n++] = old.count[was];
        }
        g->group_of[i] = now[was];
    }
    return TW_OK;
}

static tw_status group_slices(const tw_ref_case *c, const tw_array *x, int axis, groups *g)
{
    keyed *slice;
    *g = (groups){.n_items = x->dim[axis]};
    TW_ALLOC(c->arena, g->first, g->n_items);
    TW_ALLOC(c->arena, g->count, g->n_items);
    TW_ALLOC(c->arena, g->group_of, g->n_items);
    TW_TRY(sort_slices(c, x, axis, &slice));
    number_groups(slice, g);
    return tw_onnx_int(c->node, "sorted", 1) ? TW_OK : order_by_first(c->arena, g);
}

static tw_status put_list(const tw_ref_case *c, int i, const int64_t *v, int64_t n, tw_array *output)
{
    if (!tw_ref_wants(c, i)) return TW_OK;
    TW_TRY(tw_ref_make(c, TW_ONNX_I64, 1, &n, &output[i]));
    tw_array_put_wholes(&output[i], v);
    return TW_OK;
}

tw_status tw_run_unique(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    tw_array flat;
    int axis;
    groups g;
    int64_t dim[TW_ONNX_MAX_DIMS];
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_axis_or_flat(c, &x, &flat, &axis));
    TW_TRY(group_slices(c, x, axis, &g));
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = g.n;
    TW_TRY(tw_ref_make(c, x->type, x->n_dims, dim, &output[0]));
    int64_t inner = tw_ref_extent(x, axis + 1, x->n_dims);
    for (int64_t i = 0; i < output->n; i += inner) {
        int64_t o = i / inner / g.n, at = i / inner % g.n;
        tw_moving_run(&output[0], i, x, (o * x->dim[axis] + g.first[at]) * inner, inner);
    }
    TW_TRY(put_list(c, 1, g.first, g.n, output));
    TW_TRY(put_list(c, 2, g.group_of, g.n_items, output));
    return put_list(c, 3, g.count, g.n, output);
}

/* ---- NonZero ---- */

static bool is_zero(const tw_array *x, int64_t i)
{
    switch (x->type) {
    case TW_ONNX_STRING: return ((const char *const *)x->data)[i][0] == 0;
    case TW_ONNX_C64: return ((const float *)x->data)[2 * i] == 0 && ((const float *)x->data)[2 * i + 1] == 0;
    case TW_ONNX_C128: return ((const double *)x->data)[2 * i] == 0 && ((const double *)x->data)[2 * i + 1] == 0;
    default: return tw_array_get(x, i) == 0;
    }
}

tw_status tw_run_non_zero(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    int64_t dim[2] = {x->n_dims, 0};
    for (int64_t i = 0; i < x->n; i++) dim[1] += !is_zero(x, i);
    TW_TRY(tw_ref_make(c, TW_ONNX_I64, 2, dim, output));
    int64_t *out = tw_moving_at(output, 0), found = 0;
    tw_walk w = tw_walk_of(x->n_dims, x->dim);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        if (is_zero(x, i)) continue;
        for (int k = 0; k < x->n_dims; k++) out[k * dim[1] + found] = w.index[k];
        found++;
    }
    return TW_OK;
}
