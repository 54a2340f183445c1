/* src/network_run.c - every step of a network on numbers: see network.h.
 *
 * The steps run in their order, each on what the steps before it made: described operators as tiled programs, the others by
 * evaluation. Behind them a second thread evaluates the nodes that a step stands for, on the same inputs, and compares:
 * a fault is found where it is made, and roundings do not add up over the network.
 *
 * Elements are kept in the type that the network gives them; programs work on doubles. */
#include "network.h"

#include "execute.h"
#include "pipeline.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct run {
    const tw_network_plan *plan;
    const tw_network *net;
    const tw_lowered *lowered;
    const tw_network_run_options *options;
    tw_context *ctx;
    tw_array *store;           /* per root tensor: its elements, data NULL: not made yet */
    tw_step_verdict *verdict;  /* per step                                               */
    pthread_mutex_t lock;      /* of constants in `store`, and of the context            */
    atomic_int n_ran;          /* steps that the reference may look at                   */
    atomic_bool over;          /* no more will follow                                    */
    tw_status judged;          /* how the second thread ended                            */
} run;

/* ---- elements ---- */

static int64_t width_of(const tw_net_tensor *tensor) { return tw_onnx_type_bytes(tensor->type); }

static tw_status make_store(run *r, int root)
{
    const tw_net_tensor *t = &r->lowered->tensor[root];
    return tw_array_new(t->type, t->n_dims, t->dim, r->ctx->arena, &r->store[root]);
}

/* A constant of the file, or one that was worked out before. */
static tw_status load_constant(run *r, int root)
{
    const tw_net_tensor *t = &r->lowered->tensor[root];
    const tw_graph_file *file = r->net->file;
    if (t->literal) {
        r->store[root] = *t->literal;
        return TW_OK;
    }
    const tw_constant *constant = t->value >= 0 ? file->value[t->value].constant : NULL;
    if (!constant)
        return tw_diag_error(&r->ctx->diag, (tw_loc){file->path, 0, 0}, "tensor '%s' has no elements", t->name);
    const void *data;
    TW_TRY(tw_constant_read(constant, file->path, r->ctx->arena, &r->ctx->diag, &data));
    r->store[root] = (tw_array){t->type, t->n_dims, {0}, t->n_elems, data};
    memcpy(r->store[root].dim, t->dim, sizeof r->store[root].dim);
    return TW_OK;
}

/* What a tensor holds now; its bytes are those of its root. */
static tw_status look(run *r, int tensor, tw_array *out)
{
    const tw_net_tensor *t = &r->lowered->tensor[tensor], *root = &r->lowered->tensor[t->root];
    pthread_mutex_lock(&r->lock);
    tw_status status = TW_OK;
    if (!r->store[t->root].data && root->role == TW_ROLE_CONSTANT) status = load_constant(r, t->root);
    const char *data = r->store[t->root].data;
    if (status == TW_OK && !data && t->n_elems > 0)
        status = tw_diag_error(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0}, "tensor '%s' has no elements", t->name);
    pthread_mutex_unlock(&r->lock);
    TW_TRY(status);
    int64_t bytes = t->type == TW_ONNX_STRING ? (int64_t)sizeof(char *) : width_of(t);
    *out = (tw_array){t->type, t->n_dims, {0}, t->n_elems, data ? data + t->offset * bytes : NULL};
    memcpy(out->dim, t->dim, sizeof out->dim);
    return TW_OK;
}

static tw_status as_doubles(const tw_array *array, int64_t n, tw_arena *arena, double **out)
{
    TW_ALLOC(arena, *out, n + 1);
    for (int64_t i = 0; i < n; i++) (*out)[i] = tw_array_get(array, array->n == 1 ? 0 : i);
    return TW_OK;
}

static tw_status keep(run *r, int tensor, const double *value, int64_t n)
{
    const tw_net_tensor *t = &r->lowered->tensor[tensor];
    if (!r->store[t->root].data) {
        pthread_mutex_lock(&r->lock);
        tw_status status = make_store(r, t->root);
        pthread_mutex_unlock(&r->lock);
        TW_TRY(status);
    }
    tw_array *root = &r->store[t->root];
    for (int64_t i = 0; i < n; i++) tw_array_set(root, t->offset + i, value[i]);
    return TW_OK;
}

static tw_status keep_array(run *r, int tensor, const tw_array *array)
{
    const tw_net_tensor *t = &r->lowered->tensor[tensor];
    if (t->root == tensor && !r->store[tensor].data) { /* the evaluation's own memory goes with its arena */
        pthread_mutex_lock(&r->lock);
        tw_status status = tw_array_new(array->type, array->n_dims, array->dim, r->ctx->arena, &r->store[tensor]);
        pthread_mutex_unlock(&r->lock);
        TW_TRY(status);
    }
    tw_array *root = &r->store[t->root];
    size_t width = array->type == TW_ONNX_STRING ? sizeof(char *) : (size_t)tw_onnx_type_bytes(array->type);
    if (array->n > 0) memcpy((char *)root->data + (size_t)t->offset * width, array->data, (size_t)array->n * width);
    return TW_OK;
}

/* ---- inputs ---- */

static const tw_network_data *given_input(const run *r, const char *name)
{
    for (int i = 0; i < r->options->n_inputs; i++)
        if (strcmp(r->options->input[i].name, name) == 0) return &r->options->input[i];
    return NULL;
}

/* Floats in [-1, 1), whole numbers 0 and 1: small enough to be anything's index. */
static void draw(tw_array *array, uint64_t *seed)
{
    bool whole = array->type != TW_ONNX_F32 && array->type != TW_ONNX_F64 && array->type != TW_ONNX_F16 &&
                 array->type != TW_ONNX_BF16;
    for (int64_t i = 0; i < array->n; i++) {
        uint64_t bits = tw_random_next(seed);
        tw_array_set(array, i, whole ? (double)(bits & 1) : (double)(bits >> 40) / (double)(1 << 23) - 1);
    }
}

static tw_status check_given(run *r, const tw_network_data *data, const tw_net_tensor *t)
{
    bool same = data->n_dims == t->n_dims && strcmp(data->type, tw_onnx_type_name(t->type)) == 0;
    for (int d = 0; same && d < t->n_dims; d++) same = data->dim[d] == t->dim[d];
    if (same) return TW_OK;
    return tw_diag_error(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0},
                         "the elements given for input '%s' are of another type or shape", t->name);
}

static tw_status fill_inputs(run *r)
{
    uint64_t seed = r->options->seed;
    for (int t = 0; t < r->lowered->n_tensors; t++) {
        const tw_net_tensor *tensor = &r->lowered->tensor[t];
        if (tensor->role != TW_ROLE_INPUT || tensor->root != t) continue;
        const tw_network_data *data = given_input(r, tensor->name);
        if (data) {
            TW_TRY(check_given(r, data, tensor));
            r->store[t] = (tw_array){tensor->type, tensor->n_dims, {0}, tensor->n_elems, data->bytes};
            memcpy(r->store[t].dim, tensor->dim, sizeof tensor->dim);
        } else {
            if (tensor->type == TW_ONNX_STRING)
                return tw_diag_error(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0},
                                     "input '%s' is of strings, which cannot be drawn: give a file", tensor->name);
            TW_TRY(make_store(r, t));
            draw(&r->store[t], &seed);
        }
    }
    return TW_OK;
}

/* ---- tiled steps ---- */

static tw_status gather(run *r, const tw_step *step, tw_arena *scratch, tw_given *out)
{
    const tw_op *op = &step->model->op[0];
    tw_array array;
    double *value;
    for (int o = 0; o < tw_op_output(op); o++) {
        int64_t n = tw_tensor_elems(&step->model->tensor[op->operand[o].tensor]);
        TW_TRY(look(r, step->operand[o], &array));
        TW_TRY(as_doubles(&array, n, scratch, &value));
        out->input[o] = value;
    }
    for (int h = 0; h < op->n_held; h++) {
        int64_t n = op->held[h].loop < 0 ? 1 : op->loop[op->held[h].loop].extent;
        TW_TRY(look(r, step->held[h], &array));
        TW_TRY(as_doubles(&array, n, scratch, &value));
        out->held[h] = value;
    }
    return TW_OK;
}

static const char *why_untiled(const run *r, const tw_plan *plan, int layer)
{
    int64_t most = r->options->max_instructions > 0 ? r->options->max_instructions : INT64_C(1) << 24;
    if (!plan) return r->plan->refusal[layer];
    return plan->op[0].timeline.sum.instructions > most ? "its program is too long" : NULL;
}

/* As it is described, where there is no program. */
static tw_status run_described(const tw_step *step, const tw_given *given, double *out)
{
    tw_reference_case c = {.model = step->model, .op = &step->model->op[0]};
    memcpy(c.input, given->input, sizeof c.input);
    memcpy(c.held, given->held, sizeof c.held);
    return tw_reference_direct(NULL, &c, out) ? TW_OK : TW_ERR_NOMEM;
}

static bool same_formulas(const tw_op *a, const tw_op *b)
{
    return a->n_held == b->n_held && tw_formula_equal(a->value, b->value) && tw_formula_equal(a->finish, b->finish);
}

/* The plan of the step's layer, for the step's own arithmetic. */
static tw_status plan_of_step(run *r, int s, tw_arena *scratch, const tw_plan **out)
{
    const tw_plan *plan = r->plan->plan[r->net->layer_of[s]];
    const tw_step *step = &r->lowered->step[s];
    *out = plan;
    if (!plan || same_formulas(&step->model->op[0], &plan->model->op[0])) return TW_OK;
    return tw_plan_build(step->model, r->plan->machine, plan->mapping, NULL, NULL, scratch, r->ctx->scratch,
                         &r->ctx->diag, out);
}

static tw_status run_tiled(run *r, int s, tw_arena *scratch)
{
    const tw_step *step = &r->lowered->step[s];
    const tw_op *op = &step->model->op[0];
    tw_step_verdict *v = &r->verdict[s];
    const tw_plan *plan;
    int64_t n = tw_tensor_elems(&step->model->tensor[op->operand[tw_op_output(op)].tensor]);
    tw_given given = {0};
    double *out;
    TW_TRY(plan_of_step(r, s, scratch, &plan));
    TW_TRY(gather(r, step, scratch, &given));
    TW_ALLOC(scratch, out, n + 1);
    v->why_not = why_untiled(r, plan, r->net->layer_of[s]);
    if (v->why_not) {
        TW_TRY(run_described(step, &given, out));
    } else {
        TW_TRY(tw_plan_execute(plan, 0, &given, scratch, &r->ctx->diag, out, &v->fault));
        v->executed = v->checked = v->fault == NULL;
        if (v->fault && !(v->fault = tw_arena_printf(r->ctx->arena, "%s", v->fault))) return TW_ERR_NOMEM;
        if (v->fault) return TW_OK;
    }
    return keep(r, step->operand[step->n_operands - 1], out, n);
}

/* ---- nodes, by evaluation ---- */

/* Values that an evaluation of several nodes has made so far. */
typedef struct made {
    int value;
    tw_array array;
} made;
typedef struct evaluation {
    run *r;
    tw_arena *arena;
    const made *made;
    int n_made;
    tw_status status; /* of looking up values around a subgraph */
} evaluation;

/* Data NULL: it is not known. */
static tw_status find_value(evaluation *e, int value, tw_array *out)
{
    *out = (tw_array){0};
    for (int i = 0; i < e->n_made; i++)
        if (e->made[i].value == value) {
            *out = e->made[i].array;
            return TW_OK;
        }
    const tw_shape_of_value *shape = &e->r->net->shapes->value[value];
    int tensor = e->r->lowered->tensor_of_value[value];
    if (shape->constant) {
        *out = *shape->constant;
        return TW_OK;
    }
    if (tensor >= 0) return look(e->r, tensor, out);
    const tw_constant *constant = e->r->net->file->value[value].constant;
    if (!constant) return TW_OK;
    pthread_mutex_lock(&e->r->lock);
    const void *data = NULL;
    tw_status status =
        tw_constant_read(constant, e->r->net->file->path, e->r->ctx->arena, &e->r->ctx->diag, &data);
    pthread_mutex_unlock(&e->r->lock);
    *out = (tw_array){constant->type, constant->n_dims, {0}, constant->n_elems, data};
    memcpy(out->dim, constant->dim, sizeof out->dim);
    return status;
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
    tw_refer_case c = {.file = e->r->net->file,
                       .node = node,
                       .opset = tw_graph_opset(e->r->net->file, node->domain),
                       .n_inputs = node->n_inputs,
                       .n_outputs = node->n_outputs,
                       .input = input,
                       .wanted = wanted,
                       .graph = graph,
                       .outer = find_outer,
                       .user = e};
    tw_status status = tw_refer_run(&c, e->arena, diag, output);
    return e->status != TW_OK ? e->status : status;
}

static tw_status run_host(run *r, int s, tw_arena *scratch)
{
    const tw_step *step = &r->lowered->step[s];
    const tw_onnx_node *node = &r->net->file->graph[step->graph].node[step->node[0]];
    evaluation e = {.r = r, .arena = scratch};
    tw_array *output;
    r->verdict[s].why_not = step->why ? step->why : "evaluated, not planned";
    TW_ALLOC(scratch, output, node->n_outputs + 1);
    TW_TRY(evaluate(&e, step->graph, node, &r->ctx->diag, output));
    for (int i = 0; i < step->n_outputs; i++)
        if (step->output[i] >= 0) TW_TRY(keep_array(r, step->output[i], &output[i]));
    return TW_OK;
}

/* ---- comparison ---- */

/* Largest difference that counts as none, of the largest element: a few roundings of the type. Whole numbers that come out
 * of a rounding may be one off. */
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

static bool is_quantised(const tw_onnx_node *node)
{
    return strstr(node->op, "Quantize") || strncmp(node->op, "QLinear", 7) == 0 || strcmp(node->op, "QGemm") == 0;
}

static double difference(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs(a - b);
}

static void compare(const tw_array *got, const tw_array *want, bool one_off, tw_arena *arena, tw_step_verdict *v)
{
    double worst = 0, scale = 0;
    int64_t at = -1;
    v->compared = true;
    for (int64_t i = 0; i < want->n && want->type != TW_ONNX_STRING; i++) {
        double b = tw_array_get(want, i), d = difference(tw_array_get(got, i), b);
        if (isfinite(b) && fabs(b) > scale) scale = fabs(b);
        if (d > worst) worst = d, at = i;
    }
    double tolerance = tolerance_of(want->type), off = scale > 0 ? worst / scale : worst;
    bool same = worst == 0 || (tolerance > 0 ? off <= tolerance || worst < 1e-6 : one_off && worst <= 1);
    if (off > v->deviation) v->deviation = off;
    if (!same && !v->fault)
        v->fault = tw_arena_printf(arena, "element %" PRId64 " is %.9g, should be %.9g", at, tw_array_get(got, at),
                                   tw_array_get(want, at));
}

static tw_status compare_node(run *r, int s, const tw_onnx_node *node, const tw_array *output)
{
    tw_array got;
    for (int i = 0; i < node->n_outputs; i++) {
        int tensor = node->output[i] >= 0 ? r->lowered->tensor_of_value[node->output[i]] : -1;
        if (tensor < 0 || !r->store[r->lowered->tensor[tensor].root].data || !output[i].data) continue;
        TW_TRY(look(r, tensor, &got));
        pthread_mutex_lock(&r->lock);
        if (got.n != output[i].n)
            r->verdict[s].fault = "has another size";
        else
            compare(&got, &output[i], is_quantised(node), r->ctx->arena, &r->verdict[s]);
        pthread_mutex_unlock(&r->lock);
    }
    return TW_OK;
}

/* The nodes of a step, one after the other; what the last of them makes has to agree. */
static tw_status judge_step(run *r, int s, tw_arena *arena, tw_diag *diag)
{
    const tw_step *step = &r->lowered->step[s];
    made *list;
    int most = 0;
    for (int i = 0; i < step->n_nodes; i++) most += r->net->file->graph[step->graph].node[step->node[i]].n_outputs;
    TW_ALLOC(arena, list, most + 1);
    evaluation e = {.r = r, .arena = arena, .made = list};
    for (int i = 0; i < step->n_nodes; i++) {
        const tw_onnx_node *node = &r->net->file->graph[step->graph].node[step->node[i]];
        tw_array *output;
        TW_ALLOC(arena, output, node->n_outputs + 1);
        TW_TRY(evaluate(&e, step->graph, node, diag, output));
        for (int k = 0; k < node->n_outputs; k++) list[e.n_made++] = (made){node->output[k], output[k]};
        TW_TRY(compare_node(r, s, node, output));
    }
    tw_step_verdict *v = &r->verdict[s];
    v->equal = v->compared && !v->fault;
    return TW_OK;
}

static tw_status judge_one(run *r, int s)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {.muted = true};
    if (!arena) return TW_ERR_NOMEM;
    tw_status status = TW_OK;
    if (r->lowered->step[s].kind == TW_STEP_TILED && !r->verdict[s].fault) status = judge_step(r, s, arena, &diag);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status; /* it has no answer */
}

static void *judge(void *user)
{
    run *r = user;
    for (int s = 0; s < r->lowered->n_steps && r->judged == TW_OK;) {
        if (s < atomic_load(&r->n_ran)) {
            r->judged = judge_one(r, s++);
        } else if (atomic_load(&r->over)) {
            if (s >= atomic_load(&r->n_ran)) break;
        } else {
            nanosleep(&(struct timespec){0, 200000}, NULL);
        }
    }
    return NULL;
}

/* ---- the whole ---- */

static tw_status run_step(run *r, int s)
{
    tw_arena *scratch = tw_arena_new();
    if (!scratch) return TW_ERR_NOMEM;
    const tw_step *step = &r->lowered->step[s];
    tw_status status = step->kind == TW_STEP_TILED  ? run_tiled(r, s, scratch)
                       : step->kind == TW_STEP_HOST ? run_host(r, s, scratch)
                                                    : tw_diag_infeasible(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0},
                                                                         "step '%s' (%s) cannot be executed: %s",
                                                                         step->name, step->op, step->why);
    tw_arena_free(scratch);
    return status;
}

static bool tell(const run *r, int s, double seconds)
{
    tw_network_progress p = {s, r->lowered->n_steps, r->lowered->step[s].name, 0, seconds};
    return !r->options->progress || r->options->progress(r->options->user, &p);
}

static tw_status run_steps(run *r)
{
    struct timespec t0, t;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int s = 0; s < r->lowered->n_steps; s++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (!tell(r, s, (double)(t.tv_sec - t0.tv_sec) + (double)(t.tv_nsec - t0.tv_nsec) * 1e-9)) break;
        TW_TRY(run_step(r, s));
        if (r->verdict[s].fault) break; /* what follows has nothing to stand on */
        atomic_store(&r->n_ran, s + 1);
    }
    return TW_OK;
}

static tw_status run_both(run *r)
{
    pthread_t thread;
    bool judged = !r->options->no_reference && pthread_create(&thread, NULL, judge, r) == 0;
    tw_status status = run_steps(r);
    atomic_store(&r->over, true);
    if (judged) pthread_join(thread, NULL);
    return status != TW_OK ? status : r->judged;
}

static tw_status keep_outputs(run *r, tw_network_verdict *out)
{
    const tw_graph *main = &r->net->file->graph[0];
    tw_network_data *data;
    TW_ALLOC(r->ctx->arena, data, main->n_outputs + 1);
    for (int i = 0; i < main->n_outputs; i++) {
        evaluation e = {.r = r, .arena = r->ctx->arena};
        tw_array array;
        TW_TRY(find_value(&e, main->output[i], &array));
        data[i] = (tw_network_data){.name = r->net->file->value[main->output[i]].name,
                                    .type = tw_onnx_type_name(array.type),
                                    .n_dims = array.n_dims,
                                    .n_elems = array.n,
                                    .bytes = array.data};
        memcpy(data[i].dim, array.dim, sizeof data[i].dim);
    }
    out->n_outputs = main->n_outputs;
    out->output = data;
    return TW_OK;
}

static void count(const run *r, tw_network_verdict *out)
{
    for (int s = 0; s < r->lowered->n_steps; s++) {
        const tw_step_verdict *v = &r->verdict[s];
        bool ran = s < atomic_load(&r->n_ran);
        out->n_executed += v->executed;
        out->n_checked += v->checked;
        out->n_equal += v->equal;
        out->n_wrong += v->fault != NULL;
        out->n_host += ran && r->lowered->step[s].kind != TW_STEP_TILED;
        out->n_skipped += r->lowered->step[s].kind == TW_STEP_TILED && !v->executed;
    }
}

tw_status tw_network_execute(tw_context *ctx, const tw_network_plan *plan, const tw_network_run_options *options,
                             tw_network_verdict *out)
{
    run r = {.plan = plan, .net = plan->network, .lowered = plan->network->lowered, .options = options, .ctx = ctx};
    if (!r.net->executable)
        return tw_diag_error(&ctx->diag, (tw_loc){r.net->file->path, 0, 0},
                             "a network that is planned with another element type cannot be executed");
    TW_ALLOC(ctx->arena, r.store, r.lowered->n_tensors + 1);
    TW_ALLOC(ctx->arena, r.verdict, r.lowered->n_steps + 1);
    pthread_mutex_init(&r.lock, NULL);
    tw_status status = fill_inputs(&r);
    if (status == TW_OK) status = run_both(&r);
    *out = (tw_network_verdict){.n_steps = r.lowered->n_steps, .step = r.verdict};
    count(&r, out);
    if (status == TW_OK && out->n_wrong == 0 && atomic_load(&r.n_ran) == r.lowered->n_steps)
        status = keep_outputs(&r, out);
    pthread_mutex_destroy(&r.lock);
    if (status == TW_OK && out->n_wrong > 0) status = TW_WRONG;
    return status;
}
