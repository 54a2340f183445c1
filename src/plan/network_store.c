/* src/plan/network_store.c - the elements of all tensors while a network runs: see network_run.h.
 *
 * They are kept in the type that the network gives them, a root tensor in an arena of its own, which is freed behind the last
 * step that needs it: for its program, or because its nodes are evaluated again from their inputs. */
#include "plan/network_run.h"

#include <string.h>

static tw_loc file_of(const tw_run *r) { return (tw_loc){r->net->file->path, 0, 0}; }

/* ---- lifetimes ---- */

static void needed(tw_run *r, int tensor, int j)
{
    if (tensor < 0) return;
    int *last = &r->last[r->lowered->tensor[tensor].root];
    if (*last < j) *last = j;
}

static void needed_by_job(tw_run *r, int j)
{
    const tw_step *step = r->job[j].step;
    for (int o = 0; o < step->n_operands; o++) needed(r, step->operand[o], j);
    for (int h = 0; step->kind == TW_STEP_TILED && h < step->model->op[0].n_held; h++) needed(r, step->held[h], j);
    for (int i = 0; i < step->n_inputs; i++) needed(r, step->input[i], j);
    for (int i = 0; i < step->n_outputs; i++) needed(r, step->output[i], j);
    for (int i = 0; i < step->n_nodes; i++) {
        const tw_onnx_node *node = &r->net->file->graph[step->graph].node[step->node[i]];
        for (int k = 0; k < node->n_inputs; k++)
            if (node->input[k] >= 0) needed(r, r->lowered->tensor_of_value[node->input[k]], j);
    }
}

static tw_status find_last(tw_run *r)
{
    const tw_lowered *lowered = r->lowered;
    TW_ALLOC(r->ctx->arena, r->last, lowered->n_tensors + 1);
    for (int t = 0; t < lowered->n_tensors; t++) r->last[t] = -1;
    for (int j = 0; j < r->n_jobs; j++) needed_by_job(r, j);
    for (int t = 0; t < lowered->n_tensors; t++)
        if (lowered->tensor[t].is_output) r->last[lowered->tensor[t].root] = r->n_jobs;
    return TW_OK;
}

static void forget(tw_run *r, int root)
{
    if (!r->owner[root]) return;
    tw_arena_free(r->owner[root]);
    r->owner[root] = NULL;
    r->store[root].data = NULL;
}

void tw_run_release(tw_run *r, int j)
{
    for (int t = 0; t < r->lowered->n_tensors; t++)
        if (r->last[t] == j) forget(r, t);
}

void tw_run_end(tw_run *r)
{
    for (int t = 0; r->owner && t < r->lowered->n_tensors; t++)
        if (r->last[t] < r->n_jobs) forget(r, t);
}

/* ---- making ---- */

/* What outlives the run is the context's. */
static tw_status make_store(tw_run *r, int root, tw_onnx_type type, int n_dims, const int64_t *dim)
{
    if (r->last[root] < r->n_jobs) {
        if (!(r->owner[root] = tw_arena_new())) return TW_ERR_NOMEM;
        return tw_array_new(type, n_dims, dim, r->owner[root], &r->store[root]);
    }
    pthread_mutex_lock(&r->lock);
    tw_status status = tw_array_new(type, n_dims, dim, r->ctx->arena, &r->store[root]);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static tw_array part_of(const tw_run *r, const tw_net_tensor *t)
{
    const tw_array *root = &r->store[t->root];
    if (!t->known) return *root;
    tw_array part = {t->type, t->n_dims, {0}, t->n_elems, root->data};
    if (part.data) part.data = (const char *)part.data + t->offset * tw_array_elem_bytes(t->type);
    memcpy(part.dim, t->dim, sizeof part.dim);
    return part;
}

tw_status tw_run_keep(tw_run *r, int tensor, const double *value)
{
    const tw_net_tensor *t = &r->lowered->tensor[tensor], *root = &r->lowered->tensor[t->root];
    if (!r->store[t->root].data) TW_TRY(make_store(r, t->root, root->type, root->n_dims, root->dim));
    tw_array part = part_of(r, t);
    tw_array_put_reals(&part, value);
    return TW_OK;
}

/* The texts, too, outlive the evaluation. */
static tw_status own_strings(tw_run *r, const tw_array *array)
{
    const char **text = (const char **)array->data;
    tw_status status = TW_OK;
    pthread_mutex_lock(&r->lock);
    for (int64_t i = 0; i < array->n && status == TW_OK; i++) {
        text[i] = tw_arena_printf(r->ctx->arena, "%s", text[i]);
        if (!text[i]) status = TW_ERR_NOMEM;
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* A shape that was not known is the array's. */
tw_status tw_run_keep_array(tw_run *r, int tensor, const tw_array *array)
{
    const tw_net_tensor *t = &r->lowered->tensor[tensor], *root = &r->lowered->tensor[t->root];
    if (t->known && (array->type != t->type || array->n != t->n_elems))
        return tw_diag_error(&r->ctx->diag, file_of(r),
                             "tensor '%s' has another type or size than the file says: give the inputs that decide "
                             "about it (--input, --data)",
                             t->name);
    if (!t->known)
        TW_TRY(make_store(r, t->root, array->type, array->n_dims, array->dim));
    else if (!r->store[t->root].data)
        TW_TRY(make_store(r, t->root, root->type, root->n_dims, root->dim));
    tw_array part = part_of(r, t);
    size_t bytes = (size_t)(array->n * tw_array_elem_bytes(array->type));
    if (bytes > 0) memcpy((void *)part.data, array->data, bytes);
    return array->type == TW_ONNX_STRING ? own_strings(r, &part) : TW_OK;
}

/* ---- looking ---- */

/* A constant of the file, or one that was worked out before. */
static tw_status load_constant(tw_run *r, int root)
{
    const tw_net_tensor *t = &r->lowered->tensor[root];
    const tw_graph_file *file = r->net->file;
    if (t->literal) {
        r->store[root] = *t->literal;
        return TW_OK;
    }
    const tw_constant *constant = t->value >= 0 ? file->value[t->value].constant : NULL;
    if (!constant) return TW_OK;
    const void *data;
    TW_TRY(tw_constant_read(constant, file->path, r->ctx->arena, &r->ctx->diag, &data));
    r->store[root] = (tw_array){t->type, t->n_dims, {0}, t->n_elems, data};
    memcpy(r->store[root].dim, t->dim, sizeof r->store[root].dim);
    return TW_OK;
}

tw_status tw_run_look(tw_run *r, int tensor, tw_array *out)
{
    const tw_net_tensor *t = &r->lowered->tensor[tensor], *root = &r->lowered->tensor[t->root];
    pthread_mutex_lock(&r->lock);
    tw_status status = TW_OK;
    if (!r->store[t->root].data && root->role == TW_ROLE_CONSTANT) status = load_constant(r, t->root);
    if (status == TW_OK && !r->store[t->root].data && t->n_elems > 0)
        status = tw_diag_error(&r->ctx->diag, file_of(r), "tensor '%s' has no elements", t->name);
    pthread_mutex_unlock(&r->lock);
    if (status == TW_OK) *out = part_of(r, t);
    return status;
}

bool tw_run_has(const tw_run *r, int tensor) { return r->store[r->lowered->tensor[tensor].root].data != NULL; }

/* ---- inputs ---- */

static const tw_network_data *given_input(const tw_run *r, const char *name)
{
    for (int i = 0; i < r->options->n_inputs; i++)
        if (strcmp(r->options->input[i].name, name) == 0) return &r->options->input[i];
    return NULL;
}

/* Floats in [-1, 1), bytes and bools of all values, other whole numbers 0 and 1: small enough to be anything's index.
 * tools/ort/tensor.mjs draws the same. */
static double drawn(tw_onnx_type type, uint64_t bits)
{
    switch (type) {
    case TW_ONNX_F32:
    case TW_ONNX_F64:
    case TW_ONNX_F16:
    case TW_ONNX_BF16: return (double)(bits >> 40) * 0x1p-23 - 1;
    case TW_ONNX_U8: return (double)(bits >> 56);
    case TW_ONNX_I8: return (double)(bits >> 56) - 128;
    default: return (double)(bits >> 63);
    }
}

static tw_status check_given(tw_run *r, const tw_network_data *data, const tw_net_tensor *t)
{
    bool same = data->n_dims == t->n_dims && strcmp(data->type, tw_onnx_type_name(t->type)) == 0;
    for (int d = 0; same && d < t->n_dims; d++) same = data->dim[d] == t->dim[d];
    if (same) return TW_OK;
    return tw_diag_error(&r->ctx->diag, file_of(r),
                         "the elements given for input '%s' are of another type or shape", t->name);
}

/* Inputs that nobody reads are drawn all the same: what the others are does not depend on them. */
static tw_status draw_input(tw_run *r, int value, int tensor, uint64_t *seed)
{
    const tw_shape_of_value *shape = &r->net->shapes->value[value];
    if (shape->type == TW_ONNX_STRING)
        return tw_diag_error(&r->ctx->diag, file_of(r),
                             "input '%s' is of strings, which cannot be drawn: give a file",
                             r->net->file->value[value].name);
    if (tensor >= 0) TW_TRY(make_store(r, tensor, shape->type, shape->n_dims, shape->dim));
    for (int64_t i = 0; i < shape->n_elems; i++) {
        double x = drawn(shape->type, tw_random_next(seed));
        if (tensor >= 0) tw_array_set(&r->store[tensor], i, x);
    }
    return TW_OK;
}

static tw_status fill_input(tw_run *r, int value, uint64_t *seed)
{
    const tw_network_data *data = given_input(r, r->net->file->value[value].name);
    int tensor = r->lowered->tensor_of_value[value];
    bool is_known = r->net->given && r->net->given[value].data && !(data && r->net->derived[value]);
    const tw_array *known = is_known ? &r->net->given[value] : NULL;
    if (known && tensor >= 0) r->store[tensor] = *known;
    if (known) return TW_OK;
    if (!data) return draw_input(r, value, tensor, seed);
    if (tensor < 0) return TW_OK;
    TW_TRY(check_given(r, data, &r->lowered->tensor[tensor]));
    r->store[tensor] = (tw_array){r->lowered->tensor[tensor].type, data->n_dims, {0}, data->n_elems, data->bytes};
    memcpy(r->store[tensor].dim, data->dim, (size_t)data->n_dims * sizeof *data->dim);
    return TW_OK;
}

tw_status tw_run_begin(tw_run *r)
{
    const tw_graph *main = &r->net->file->graph[0];
    uint64_t seed = r->options->seed;
    TW_ALLOC(r->ctx->arena, r->store, r->lowered->n_tensors + 1);
    TW_ALLOC(r->ctx->arena, r->owner, r->lowered->n_tensors + 1);
    TW_TRY(find_last(r));
    for (int i = 0; i < main->n_inputs; i++) TW_TRY(fill_input(r, main->input[i], &seed));
    return TW_OK;
}
