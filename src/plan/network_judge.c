/* src/plan/network_judge.c - nodes by evaluation, and what steps made against it: see network_run.h.
 *
 * A step is judged on the inputs that it was run on: a fault is found where it is made, and roundings do not add up over the
 * network. */
#include "plan/network_run.h"

#include <math.h>
#include <string.h>

/* ---- nodes ---- */

/* Values that an evaluation of several nodes has made so far. */
typedef struct made {
    int value;
    tw_array array;
} made;
typedef struct evaluation {
    tw_run *r;
    tw_arena *arena;
    const made *made;
    int n_made;
    tw_status status; /* of looking up values around a subgraph */
} evaluation;

tw_status tw_run_value(tw_run *r, int value, tw_array *out)
{
    const tw_shape_of_value *shape = &r->net->shapes->value[value];
    const tw_constant *constant = r->net->file->value[value].constant;
    int tensor = r->lowered->tensor_of_value[value];
    *out = (tw_array){0};
    if (shape->constant) *out = *shape->constant;
    if (shape->constant) return TW_OK;
    if (tensor >= 0) return tw_run_look(r, tensor, out);
    if (!constant) return TW_OK;
    const void *data = NULL;
    pthread_mutex_lock(&r->lock);
    tw_status status = tw_constant_read(constant, r->net->file->path, r->ctx->arena, &r->ctx->diag, &data);
    pthread_mutex_unlock(&r->lock);
    *out = (tw_array){constant->type, constant->n_dims, {0}, constant->n_elems, data};
    memcpy(out->dim, constant->dim, sizeof out->dim);
    return status;
}

static tw_status find_value(evaluation *e, int value, tw_array *out)
{
    for (int i = 0; i < e->n_made; i++)
        if (e->made[i].value == value) {
            *out = e->made[i].array;
            return TW_OK;
        }
    return tw_run_value(e->r, value, out);
}

static const tw_array *find_outer(void *user, int value)
{
    evaluation *e = user;
    tw_array *array = TW_NEW(e->arena, tw_array, 1);
    if (!array) {
        e->status = TW_ERR_NOMEM;
        return NULL;
    }
    e->status = find_value(e, value, array);
    return e->status == TW_OK && array->data ? array : NULL;
}

static tw_status evaluate(evaluation *e, int graph, const tw_onnx_node *node, tw_diag *diag, tw_array *output)
{
    const tw_array **input;
    tw_array *array;
    bool *wanted;
    TW_ALLOC(e->arena, input, node->n_inputs + 1);
    TW_ALLOC(e->arena, array, node->n_inputs + 1);
    TW_ALLOC(e->arena, wanted, node->n_outputs + 1);
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->input[i] < 0) continue;
        TW_TRY(find_value(e, node->input[i], &array[i]));
        input[i] = &array[i];
    }
    for (int i = 0; i < node->n_outputs; i++) wanted[i] = node->output[i] >= 0;
    tw_ref_case c = {.file = e->r->net->file,
                     .node = node,
                     .opset = tw_graph_opset(e->r->net->file, node->domain),
                     .n_inputs = node->n_inputs,
                     .n_outputs = node->n_outputs,
                     .input = input,
                     .wanted = wanted,
                     .graph = graph,
                     .outer = find_outer,
                     .user = e,
                     .arena = e->arena,
                     .diag = diag};
    tw_status status = tw_ref_run(&c, output);
    return e->status != TW_OK ? e->status : status;
}

tw_status tw_run_evaluate(tw_run *r, int graph, const tw_onnx_node *node, tw_arena *arena, tw_diag *diag,
                          tw_array *output)
{
    evaluation e = {.r = r, .arena = arena};
    return evaluate(&e, graph, node, diag, output);
}

/* ---- comparison ---- */

/* Largest difference that counts as none, of the largest element: a few roundings of the type. */
static double tolerance_of(tw_onnx_type type)
{
    switch (type) {
    case TW_ONNX_F64: return 1e-9;
    case TW_ONNX_F16: return 4e-3;
    case TW_ONNX_BF16: return 3e-2;
    case TW_ONNX_F32: return 1e-4;
    default: return 0;
    }
}

/* Whether whole numbers may be one off: they come out of a rounding. */
static bool is_quantised(const tw_onnx_node *node)
{
    return strstr(node->op, "Quantize") || strncmp(node->op, "QLinear", 7) == 0 || strcmp(node->op, "QGemm") == 0;
}

static double difference(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs(a - b);
}

typedef struct deviation {
    double worst, scale; /* largest difference; largest element of what it should be */
    int64_t at;          /* of the difference                                        */
} deviation;
static deviation deviation_of(const tw_array *got, const tw_array *want)
{
    deviation d = {.at = -1};
    for (int64_t i = 0; i < want->n && want->type != TW_ONNX_STRING; i++) {
        double b = tw_array_get(want, i), off = difference(tw_array_get(got, i), b);
        if (isfinite(b) && fabs(b) > d.scale) d.scale = fabs(b);
        if (off > d.worst) d.worst = off, d.at = i;
    }
    return d;
}

static tw_status compare(tw_run *r, const tw_array *got, const tw_array *want, bool one_off, tw_step_verdict *v)
{
    deviation d = deviation_of(got, want);
    double tolerance = tolerance_of(want->type), off = d.scale > 0 ? d.worst / d.scale : d.worst;
    bool same = d.worst == 0 || (tolerance > 0 ? off <= tolerance || d.worst < 1e-6 : one_off && d.worst <= 1);
    v->compared = true;
    if (off > v->deviation) v->deviation = off;
    if (same || v->fault) return TW_OK;
    pthread_mutex_lock(&r->lock);
    v->fault = tw_arena_printf(r->ctx->arena, "element %" PRId64 " is %.9g, should be %.9g", d.at,
                               tw_array_get(got, d.at), tw_array_get(want, d.at));
    pthread_mutex_unlock(&r->lock);
    return v->fault ? TW_OK : TW_ERR_NOMEM;
}

static tw_status compare_node(tw_run *r, int j, const tw_onnx_node *node, const tw_array *output)
{
    tw_array got;
    for (int i = 0; i < node->n_outputs; i++) {
        int tensor = node->output[i] >= 0 ? r->lowered->tensor_of_value[node->output[i]] : -1;
        if (tensor < 0 || !tw_run_has(r, tensor) || !output[i].data) continue;
        TW_TRY(tw_run_look(r, tensor, &got));
        if (got.n != output[i].n)
            r->verdict[j].fault = "has another size";
        else
            TW_TRY(compare(r, &got, &output[i], is_quantised(node), &r->verdict[j]));
    }
    return TW_OK;
}

/* ---- steps ---- */

typedef tw_status take_fn(tw_run *r, int j, const tw_onnx_node *node, const tw_array *output);

/* The nodes of a step, one after the other, each handed to `take`. */
static tw_status walk_nodes(tw_run *r, int j, tw_arena *arena, tw_diag *diag, take_fn *take)
{
    const tw_op *step = r->job[j].step;
    const tw_onnx_node *all = r->net->file->graph[step->from.graph].node;
    made *list;
    int most = 0;
    for (int i = 0; i < step->from.n_nodes; i++) most += all[step->from.node[i]].n_outputs;
    TW_ALLOC(arena, list, most + 1);
    evaluation e = {.r = r, .arena = arena, .made = list};
    for (int i = 0; i < step->from.n_nodes; i++) {
        const tw_onnx_node *node = &all[step->from.node[i]];
        tw_array *output;
        TW_ALLOC(arena, output, node->n_outputs + 1);
        TW_TRY(evaluate(&e, step->from.graph, node, diag, output));
        for (int k = 0; k < node->n_outputs; k++) list[e.n_made++] = (made){node->output[k], output[k]};
        TW_TRY(take(r, j, node, output));
    }
    return TW_OK;
}

/* What the last of them makes has to agree. */
static tw_status judge_nodes(tw_run *r, int j, tw_arena *arena, tw_diag *diag)
{
    TW_TRY(walk_nodes(r, j, arena, diag, compare_node));
    r->verdict[j].equal = r->verdict[j].compared && !r->verdict[j].fault;
    return TW_OK;
}

/* Values between the nodes of one step have no room in the store. */
static tw_status keep_node(tw_run *r, int j, const tw_onnx_node *node, const tw_array *output)
{
    const tw_op *step = r->job[j].step;
    const tw_onnx_node *last = &r->net->file->graph[step->from.graph].node[step->from.node[step->from.n_nodes - 1]];
    for (int i = 0; i < node->n_outputs; i++) {
        int tensor = node->output[i] >= 0 ? r->lowered->tensor_of_value[node->output[i]] : -1;
        bool wanted = tensor >= 0 && (node == last || tensor == tw_op_written(step, 0));
        if (wanted) TW_TRY(tw_run_keep_array(r, tensor, &output[i]));
    }
    return TW_OK;
}

tw_status tw_run_by_nodes(tw_run *r, int j, tw_arena *scratch)
{
    return walk_nodes(r, j, scratch, &r->ctx->diag, keep_node);
}

/* What the evaluation says about its input is told when both threads have ended. */
static tw_status keep_complaint(tw_run *r, const tw_diag *diag)
{
    const char *said = diag->last ? strstr(diag->last, "error: ") : NULL;
    pthread_mutex_lock(&r->lock);
    r->complaint = tw_arena_printf(r->ctx->arena, "%s", said ? said + strlen("error: ") : "the inputs are wrong");
    pthread_mutex_unlock(&r->lock);
    return r->complaint ? TW_ERR_INPUT : TW_ERR_NOMEM;
}

tw_status tw_run_judge(tw_run *r, int j)
{
    const tw_op *step = r->job[j].step;
    tw_diag diag = {.deadline = r->ctx->diag.deadline};
    if (step->kind != TW_OP_DESCRIBED || step->from.in_branch || r->verdict[j].fault) return TW_OK;
    tw_arena *arena = tw_arena_new();
    if (!arena) return TW_ERR_NOMEM;
    tw_status status = judge_nodes(r, j, arena, &diag);
    if (status == TW_ERR_INPUT) status = keep_complaint(r, &diag);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return status == TW_INFEASIBLE ? TW_OK : status; /* it has no answer */
}
