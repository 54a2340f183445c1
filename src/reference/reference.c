/* src/reference/reference.c - finds an operator's implementation, and what implementations need (entries.h). */
#include "core/deadline.h"
#include "reference/entries.h"

#include <stdio.h>
#include <string.h>

/* ---- dispatch ---- */

static const tw_ref_entry *find_in(const tw_ref_entry *table, const tw_onnx_node *node)
{
    for (; table->op; table++)
        if (strcmp(table->op, node->op) == 0 && (!table->domain || strcmp(table->domain, node->domain) == 0))
            return table;
    return NULL;
}

static const tw_ref_entry *find(const tw_onnx_node *node)
{
    const tw_ref_entry *const tables[] = {
        tw_ref_unary,     tw_ref_binary,   tw_ref_activations,  tw_ref_softmaxes, tw_ref_reductions,
        tw_ref_norms,     tw_ref_products, tw_ref_convolutions, tw_ref_pools,     tw_ref_quantised,
        tw_ref_recurrent, tw_ref_losses,   tw_ref_moving,       tw_ref_indexing,  tw_ref_control,
    };
    for (size_t i = 0; i < TW_COUNT(tables); i++) {
        const tw_ref_entry *entry = find_in(tables[i], node);
        if (entry) return entry;
    }
    return NULL;
}

bool tw_ref_knows(const tw_onnx_node *node) { return find(node) != NULL; }

static tw_status check_shape(const tw_ref_case *c, int n_dims, const int64_t *dim)
{
    int64_t n = 1;
    if (n_dims > TW_ONNX_MAX_DIMS) return tw_ref_error(c, "a tensor with %d axes", n_dims);
    for (int i = 0; i < n_dims; i++) {
        if (dim[i] < 0) return tw_ref_error(c, "axis %d of a tensor has %" PRId64 " elements", i, dim[i]);
        /* Zeros are left out, so that the product of any few dims is bounded too. */
        if (dim[i] > 0 && (!tw_ckd_mul(n, dim[i], &n) || n > TW_ref_MAX_ELEMS))
            return tw_ref_error(c, "a tensor has more than %" PRId64 " elements", TW_ref_MAX_ELEMS);
    }
    return TW_OK;
}

static tw_status copy_strings(tw_array *a, tw_arena *arena)
{
    const char **text = (const char **)a->data;
    for (int64_t i = 0; i < a->n; i++) {
        text[i] = text[i] ? tw_arena_strndup(arena, text[i], strlen(text[i])) : "";
        if (!text[i]) return TW_ERR_NOMEM;
    }
    return TW_OK;
}

static tw_status copy_array(tw_array *a, tw_arena *arena)
{
    tw_array copy;
    TW_TRY(tw_array_new(a->type, a->n_dims, a->dim, arena, &copy));
    if (a->n > 0) memcpy((void *)copy.data, a->data, (size_t)a->n * (size_t)tw_array_elem_bytes(a->type));
    *a = copy;
    return a->type == TW_ONNX_STRING ? copy_strings(a, arena) : TW_OK;
}

/* In an arena of its own, from which only the outputs are taken over. */
static tw_status run_apart(const tw_ref_entry *entry, const tw_ref_case *c, tw_array *output)
{
    tw_arena *scratch = tw_arena_new();
    const tw_ref_case apart = tw_ref_in(c, scratch);
    tw_status status = scratch ? entry->run(&apart, output) : TW_ERR_NOMEM;
    for (int i = 0; status == TW_OK && i < c->n_outputs; i++)
        if (output[i].data) status = copy_array(&output[i], c->arena);
    tw_arena_free(scratch);
    return status;
}

tw_status tw_ref_run(const tw_ref_case *c, tw_array *output)
{
    const tw_ref_entry *entry = find(c->node);
    if (!entry) return tw_ref_unknown(c, "no implementation of this operator");
    for (int i = 0; i < c->n_inputs; i++)
        if (c->input[i]) TW_TRY(check_shape(c, c->input[i]->n_dims, c->input[i]->dim));
    for (int i = 0; i < c->n_outputs; i++) output[i] = (tw_array){0};
    return run_apart(entry, c, output);
}

/* ---- messages ---- */

enum { MESSAGE_MAX = 512 };

static void sentence(const tw_ref_case *c, char out[MESSAGE_MAX], const char *fmt, va_list args)
{
    const tw_onnx_node *node = c->node;
    int n = snprintf(out, MESSAGE_MAX, "node '%.*s' (%.*s) at byte %" PRId64 ": ", TW_FIRST(100, node->name),
                     TW_FIRST(60, node->op), node->offset);
    tw_vsnprintf(out + n, (size_t)(MESSAGE_MAX - n), fmt, args);
}

static tw_loc place_of(const tw_ref_case *c) { return (tw_loc){c->file ? c->file->path : NULL, 0, 0}; }

tw_status tw_ref_error(const tw_ref_case *c, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    sentence(c, text, fmt, args);
    va_end(args);
    return tw_diag_error(c->diag, place_of(c), "%s", text);
}

tw_status tw_ref_unknown(const tw_ref_case *c, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    sentence(c, text, fmt, args);
    va_end(args);
    return tw_diag_infeasible(c->diag, place_of(c), "%s", text);
}

/* ---- arguments ---- */

tw_ref_case tw_ref_in(const tw_ref_case *c, tw_arena *arena)
{
    tw_ref_case in = *c;
    in.arena = arena;
    return in;
}

const tw_array *tw_ref_input(const tw_ref_case *c, int i) { return i >= 0 && i < c->n_inputs ? c->input[i] : NULL; }

tw_status tw_ref_need(const tw_ref_case *c, int i, const tw_array **out)
{
    *out = tw_ref_input(c, i);
    return *out ? TW_OK : tw_ref_error(c, "input %d is missing", i);
}

bool tw_ref_wants(const tw_ref_case *c, int i) { return i < c->n_outputs && (!c->wanted || c->wanted[i]); }

tw_status tw_ref_ints(const tw_ref_case *c, const char *name, int i, tw_ref_list *out)
{
    const tw_array *a = tw_ref_input(c, i);
    const tw_attribute *attribute = tw_onnx_attribute(c->node, name);
    *out = (tw_ref_list){0};
    if (a) {
        if (!tw_onnx_is_whole(a->type)) return tw_ref_error(c, "input %d has to be of integers", i);
        *out = (tw_ref_list){true, a->n, tw_array_wholes(a, c->arena)};
        return out->v ? TW_OK : TW_ERR_NOMEM;
    }
    if (!attribute) return TW_OK;
    if (attribute->kind == TW_ATTR_INT)
        *out = (tw_ref_list){true, 1, &attribute->i};
    else if (attribute->kind == TW_ATTR_INTS)
        *out = (tw_ref_list){true, attribute->n, attribute->ints};
    else
        return tw_ref_error(c, "attribute '%s' has to be a list of integers", name);
    return TW_OK;
}

tw_status tw_ref_axis(const tw_ref_case *c, int64_t axis, int n_dims, int *out)
{
    if (axis < -n_dims || axis >= n_dims)
        return tw_ref_error(c, "axis %" PRId64 " of a tensor with %d axes", axis, n_dims);
    *out = (int)(axis < 0 ? axis + n_dims : axis);
    return TW_OK;
}

tw_status tw_ref_axis_or_flat(const tw_ref_case *c, const tw_array **x, tw_array *flat, int *axis)
{
    const tw_array *a = *x;
    if (tw_onnx_attribute(c->node, "axis")) return tw_ref_axis(c, tw_onnx_int(c->node, "axis", 0), a->n_dims, axis);
    *flat = (tw_array){.type = a->type, .n_dims = 1, .dim = {a->n}, .n = a->n, .data = a->data};
    *x = flat;
    *axis = 0;
    return TW_OK;
}

/* ---- shapes ---- */

int64_t tw_ref_extent(const tw_array *a, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= a->dim[i];
    return n;
}

bool tw_ref_same_shape(const tw_array *a, const tw_array *b)
{
    return a->n_dims == b->n_dims && memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof a->dim[0]) == 0;
}

tw_status tw_ref_make(const tw_ref_case *c, tw_onnx_type type, int n_dims, const int64_t *dim, tw_array *out)
{
    TW_TRY(check_shape(c, n_dims, dim));
    return tw_array_new(type, n_dims, dim, c->arena, out);
}

tw_status tw_ref_work(const tw_ref_case *c, int64_t a, int64_t b, int64_t d)
{
    static const double steps_per_second = 1e9;
    int64_t work;
    if (!tw_ckd_mul(a, b, &work) || !tw_ckd_mul(work, d, &work) || work > TW_ref_MAX_WORK)
        return tw_ref_unknown(c, "more than %" PRId64 " steps", TW_ref_MAX_WORK);
    if ((double)work < steps_per_second * tw_deadline_left(c->diag->deadline)) return TW_OK;
    return tw_diag_stopped(c->diag, (tw_loc){c->file ? c->file->path : NULL, 0, 0}, "the evaluation of '%s'",
                           c->node->op);
}

tw_status tw_ref_broadcast(const tw_ref_case *c, const tw_array *const *a, int n, int *n_dims,
                           int64_t dim[TW_ONNX_MAX_DIMS])
{
    *n_dims = 0;
    for (int i = 0; i < n; i++) *n_dims = a[i]->n_dims > *n_dims ? a[i]->n_dims : *n_dims;
    for (int d = 0; d < *n_dims; d++) dim[d] = 1;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < a[i]->n_dims; d++) {
            int64_t *to = &dim[*n_dims - a[i]->n_dims + d];
            if (*to == 1)
                *to = a[i]->dim[d];
            else if (a[i]->dim[d] != 1 && a[i]->dim[d] != *to)
                return tw_ref_error(c, "extents %" PRId64 " and %" PRId64 " do not broadcast", *to, a[i]->dim[d]);
        }
    return TW_OK;
}

tw_walk tw_walk_of(int n_dims, const int64_t *dim)
{
    tw_walk w = {.n_dims = n_dims, .n = 1};
    for (int i = 0; i < n_dims; i++) {
        w.dim[i] = dim[i];
        w.n *= dim[i];
    }
    return w;
}

void tw_walk_operand(tw_walk *w, const tw_array *a)
{
    int64_t stride[TW_ONNX_MAX_DIMS] = {0}, step = 1;
    for (int d = a->n_dims - 1; d >= 0; d--) {
        stride[w->n_dims - a->n_dims + d] = a->dim[d] == 1 ? 0 : step;
        step *= a->dim[d];
    }
    tw_walk_strides(w, stride, 0);
}

void tw_walk_strides(tw_walk *w, const int64_t *stride, int64_t at)
{
    assert(w->n_operands < TW_WALK_OPERANDS);
    memcpy(w->stride[w->n_operands], stride, (size_t)w->n_dims * sizeof *stride);
    w->at[w->n_operands++] = at;
}

void tw_walk_next(tw_walk *w)
{
    for (int d = w->n_dims - 1; d >= 0; d--) {
        w->index[d]++;
        for (int k = 0; k < w->n_operands; k++) w->at[k] += w->stride[k][d];
        if (w->index[d] < w->dim[d]) return;
        for (int k = 0; k < w->n_operands; k++) w->at[k] -= w->stride[k][d] * w->dim[d];
        w->index[d] = 0;
    }
}
