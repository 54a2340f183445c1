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
    int *last = &r->last[r->lowered->graph.tensor[tensor].root];
    if (*last < j) *last = j;
}

static void needed_by_job(tw_run *r, int j)
{
    const tw_op *step = r->job[j].step;
    for (int i = 0; i < tw_op_n_reads(step); i++) needed(r, tw_op_read(step, i), j);
    for (int i = 0; i < tw_op_n_writes(step); i++) needed(r, tw_op_written(step, i), j);
    for (int i = 0; step->from.plain && i < step->from.plain->n_operands; i++)
        needed(r, step->from.plain->operand[i].tensor, j);
    for (int i = 0; i < step->from.n_nodes; i++) {
        const tw_onnx_node *node = &r->net->file->graph[step->from.graph].node[step->from.node[i]];
        for (int k = 0; k < node->n_inputs; k++)
            if (node->input[k] >= 0) needed(r, r->lowered->tensor_of_value[node->input[k]], j);
    }
}

static tw_status find_last(tw_run *r)
{
    const tw_lowered *lowered = r->lowered;
    TW_ALLOC(r->ctx->arena, r->last, lowered->graph.n_tensors + 1);
    for (int t = 0; t < lowered->graph.n_tensors; t++) r->last[t] = -1;
    for (int j = 0; j < r->n_jobs; j++) needed_by_job(r, j);
    for (int t = 0; t < lowered->graph.n_tensors; t++)
        if (lowered->graph.tensor[t].is_output) r->last[lowered->graph.tensor[t].root] = r->n_jobs;
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
    for (int t = 0; t < r->lowered->graph.n_tensors; t++)
        if (r->last[t] == j) forget(r, t);
}

void tw_run_end(tw_run *r)
{
    for (int t = 0; r->owner && t < r->lowered->graph.n_tensors; t++)
        if (r->last[t] < r->n_jobs) forget(r, t);
}

/* ---- making ---- */

/* What outlives the run is the context's. */
static tw_status make_store(tw_run *r, int root, const tw_array *like)
{
    if (r->last[root] < r->n_jobs) {
        if (!(r->owner[root] = tw_arena_new())) return TW_ERR_NOMEM;
        return tw_array_new(like->type, like->n_dims, like->dim, r->owner[root], &r->store[root]);
    }
    pthread_mutex_lock(&r->lock);
    tw_status status = tw_array_new(like->type, like->n_dims, like->dim, r->ctx->arena, &r->store[root]);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static tw_status make_root(tw_run *r, int root)
{
    const tw_array like = tw_lowered_array(r->lowered, root);
    return r->store[root].data ? TW_OK : make_store(r, root, &like);
}

static tw_array part_of(const tw_run *r, int tensor)
{
    const tw_tensor *t = &r->lowered->graph.tensor[tensor];
    const tw_array *root = &r->store[t->root];
    if (t->unshaped) return *root;
    tw_array part = tw_lowered_array(r->lowered, tensor);
    if (root->data) part.data = (const char *)root->data + t->offset * tw_array_elem_bytes(part.type);
    return part;
}

tw_status tw_run_keep(tw_run *r, int tensor, const double *value)
{
    TW_TRY(make_root(r, r->lowered->graph.tensor[tensor].root));
    tw_array part = part_of(r, tensor);
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
    const tw_tensor *t = &r->lowered->graph.tensor[tensor];
    if (!t->unshaped && (array->type != r->lowered->source[tensor].type || array->n != tw_tensor_elems(t)))
        return tw_diag_error(&r->ctx->diag, file_of(r),
                             "tensor '%s' has another type or size than the file says: give the inputs that decide "
                             "about it (--input, --data)",
                             t->name);
    TW_TRY(t->unshaped ? make_store(r, t->root, array) : make_root(r, t->root));
    tw_array part = part_of(r, tensor);
    size_t bytes = (size_t)(array->n * tw_array_elem_bytes(array->type));
    if (bytes > 0) memcpy((void *)part.data, array->data, bytes);
    return array->type == TW_ONNX_STRING ? own_strings(r, &part) : TW_OK;
}

/* ---- looking ---- */

/* A constant of the file, or one that was worked out before. */
static tw_status load_constant(tw_run *r, int root)
{
    const tw_constant *constant = tw_lowered_constant(r->lowered, root);
    tw_array array = tw_lowered_array(r->lowered, root);
    if (r->lowered->source[root].literal) r->store[root] = *r->lowered->source[root].literal;
    if (!constant) return TW_OK;
    TW_TRY(tw_constant_read(constant, r->net->file->path, r->ctx->arena, &r->ctx->diag, &array.data));
    r->store[root] = array;
    return TW_OK;
}

tw_status tw_run_look(tw_run *r, int tensor, tw_array *out)
{
    const tw_tensor *t = &r->lowered->graph.tensor[tensor], *root = &r->lowered->graph.tensor[t->root];
    pthread_mutex_lock(&r->lock);
    tw_status status = TW_OK;
    if (!r->store[t->root].data && root->role == TW_ROLE_CONSTANT) status = load_constant(r, t->root);
    if (status == TW_OK && !r->store[t->root].data && tw_tensor_elems(t) > 0)
        status = tw_diag_error(&r->ctx->diag, file_of(r), "tensor '%s' has no elements", t->name);
    pthread_mutex_unlock(&r->lock);
    if (status == TW_OK) *out = part_of(r, tensor);
    return status;
}

bool tw_run_has(const tw_run *r, int tensor)
{
    return r->store[r->lowered->graph.tensor[tensor].root].data != NULL;
}

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

static tw_status take_given(tw_run *r, const tw_network_data *data, int tensor)
{
    tw_array want = tw_lowered_array(r->lowered, tensor);
    bool same = data->n_dims == want.n_dims && strcmp(data->type, tw_onnx_type_name(want.type)) == 0;
    for (int d = 0; same && d < want.n_dims; d++) same = data->dim[d] == want.dim[d];
    if (!same)
        return tw_diag_error(&r->ctx->diag, file_of(r),
                             "the elements given for input '%s' are of another type or shape", data->name);
    want.data = data->bytes;
    r->store[tensor] = want;
    return TW_OK;
}

/* Inputs that nobody reads are drawn all the same: what the others are does not depend on them. */
static tw_status draw_input(tw_run *r, int value, int tensor, uint64_t *seed)
{
    const tw_shape_of_value *shape = &r->net->shapes->value[value];
    if (shape->type == TW_ONNX_STRING)
        return tw_diag_error(&r->ctx->diag, file_of(r),
                             "input '%s' is of strings, which cannot be drawn: give a file",
                             r->net->file->value[value].name);
    if (tensor >= 0) TW_TRY(make_root(r, tensor));
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
    return tensor < 0 ? TW_OK : take_given(r, data, tensor);
}

tw_status tw_run_begin(tw_run *r)
{
    const tw_graph *main = &r->net->file->graph[0];
    uint64_t seed = r->options->seed;
    TW_ALLOC(r->ctx->arena, r->store, r->lowered->graph.n_tensors + 1);
    TW_ALLOC(r->ctx->arena, r->owner, r->lowered->graph.n_tensors + 1);
    TW_TRY(find_last(r));
    for (int i = 0; i < main->n_inputs; i++) TW_TRY(fill_input(r, main->input[i], &seed));
    return TW_OK;
}
