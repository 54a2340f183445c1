/* test/lib/steps_run.c - see steps_run.h. */
#include "steps_run.h"

#include "verify/verify.h"

#include <math.h>
#include <string.h>

steps_run steps_run_of(const tw_lowered *lowered, tw_arena *arena, tw_diag *diag)
{
    int n_values = lowered->shapes->file->n_values;
    return (steps_run){lowered, TW_NEW(arena, tw_array, lowered->graph.n_tensors + 1),
                       TW_NEW(arena, tw_array, n_values + 1), arena, diag};
}

void steps_give(steps_run *r, int value, const tw_array *array)
{
    int tensor = r->lowered->tensor_of_value[value];
    if (tensor >= 0) r->root[tensor] = *array;
}

static size_t element_bytes(tw_onnx_type type)
{
    return type == TW_ONNX_STRING ? sizeof(char *) : (size_t)tw_onnx_type_bytes(type);
}

tw_array steps_tensor(steps_run *r, int t)
{
    const tw_tensor *tensor = &r->lowered->graph.tensor[t];
    const tw_array *root = &r->root[tensor->root];
    tw_array a = tw_lowered_array(r->lowered, t);
    if (tensor->unshaped || (!root->data && a.n > 0)) return *root;
    if (root->data) a.data = (const char *)root->data + (size_t)tensor->offset * element_bytes(a.type);
    return a;
}

static tw_status write_net(steps_run *r, int t, const tw_array *from)
{
    const tw_tensor *tensor = &r->lowered->graph.tensor[t];
    const tw_array whole = tw_lowered_array(r->lowered, tensor->root);
    tw_array *root = &r->root[tensor->root];
    if (tensor->root == t) {
        *root = *from;
        return TW_OK;
    }
    if (!root->data) TW_TRY(tw_array_new(whole.type, whole.n_dims, whole.dim, r->arena, root));
    memcpy((char *)root->data + (size_t)tensor->offset * element_bytes(from->type), from->data,
           (size_t)from->n * element_bytes(from->type));
    return TW_OK;
}

static const double *numbers_of(steps_run *r, int t)
{
    tw_array a = steps_tensor(r, t);
    double *x = a.data ? TW_NEW(r->arena, double, a.n + 1) : NULL;
    for (int64_t i = 0; x && i < a.n; i++) x[i] = tw_array_get(&a, i);
    return x;
}

static bool fits(tw_onnx_type type, double x)
{
    static const struct {
        tw_onnx_type type;
        double lo, hi;
    } range[] = {
        {TW_ONNX_I8, -128, 127},
        {TW_ONNX_U8, 0, 255},
        {TW_ONNX_I16, -32768, 32767},
        {TW_ONNX_U16, 0, 65535},
        {TW_ONNX_I32, -2147483648.0, 2147483647},
        {TW_ONNX_U32, 0, 4294967295.0},
        {TW_ONNX_BOOL, 0, 1},
        {TW_ONNX_I64, -0x1p63, 0x1p63},
        {TW_ONNX_U64, 0, 0x1p64},
    };
    for (size_t i = 0; i < TW_COUNT(range); i++)
        if (range[i].type == type) return range[i].lo <= x && x <= range[i].hi && x == trunc(x);
    return true;
}

/* Rows of a tensor that another names; NULL: there is no such row. */
static const double *rows_of(steps_run *r, const tw_op *step, int operand)
{
    const tw_selection *s = &step->operand[operand].rows;
    tw_array whole = steps_tensor(r, step->operand[operand].tensor),
             index = steps_tensor(r, step->operand[s->index].tensor);
    double *x = TW_NEW(r->arena, double, s->outer * s->count * s->inner);
    for (int64_t i = 0; x && i < s->outer * s->count * s->inner; i++) {
        int64_t row = i / s->inner, from = tw_selection_at(s, &index, row / s->count, row % s->count);
        if (from < 0) return NULL;
        x[i] = tw_array_get(&whole, from + i % s->inner);
    }
    return x;
}

/* How many rows before this one have the same number. */
static int64_t turn_of(const tw_selection *s, const tw_array *index, int64_t row)
{
    int64_t turn = 0;
    for (int64_t i = 0; i < row; i++) turn += tw_selection_at(s, index, 0, i) == tw_selection_at(s, index, 0, row);
    return turn;
}

/* A step that reads what it writes takes the rows that have the same number one after the other; turn -1: all rows. */
static tw_status write_rows(steps_run *r, const tw_op *step, const double *result, int64_t turn, bool *more)
{
    const tw_selection *s = &step->operand[tw_op_output(step)].rows;
    tw_array whole = steps_tensor(r, tw_op_written(step, 0));
    tw_array index = steps_tensor(r, step->operand[s->index].tensor);
    for (int64_t i = 0; i < s->outer * s->count * s->inner; i++) {
        int64_t row = i / s->inner, to = tw_selection_at(s, &index, row / s->count, row % s->count);
        if (to < 0) return tw_diag_error(r->diag, (tw_loc){0}, "%s: no such row", step->name);
        int64_t its = turn < 0 ? -1 : turn_of(s, &index, row);
        if (its == turn) tw_array_set(&whole, to + i % s->inner, result[i]);
        *more |= its > turn;
    }
    return TW_OK;
}

static tw_status run_tiled(steps_run *r, const tw_op *op, int64_t turn)
{
    tw_reference_case c = {.model = &r->lowered->graph, .op = op};
    const tw_operand *output = &op->operand[tw_op_output(op)];
    const tw_array like = tw_lowered_array(r->lowered, output->tensor);
    tw_array made;
    for (int i = 0; i < tw_op_output(op); i++)
        if (!(c.input[i] =
                  op->operand[i].rows.count > 0 ? rows_of(r, op, i) : numbers_of(r, op->operand[i].tensor)))
            return tw_diag_error(r->diag, (tw_loc){0}, "%s: no input %d", op->name, i);
    for (int h = 0; h < op->n_held; h++)
        if (!(c.held[h] = numbers_of(r, op->held[h].tensor)))
            return tw_diag_error(r->diag, (tw_loc){0}, "%s: no held %d", op->name, h);
    double *result = TW_NEW(r->arena, double, tw_operand_elems(output) + 1);
    if (!result || !tw_reference_direct(NULL, &c, result)) return TW_ERR_NOMEM;
    if (output->rows.count > 0) {
        bool combines = op->operand[0].tensor == output->tensor, more = false;
        TW_TRY(write_rows(r, op, result, combines ? turn : -1, &more));
        return more ? run_tiled(r, op, turn + 1) : TW_OK;
    }
    TW_TRY(tw_array_new(like.type, like.n_dims, like.dim, r->arena, &made));
    for (int64_t i = 0; i < made.n; i++) {
        if (!fits(like.type, result[i]))
            return tw_diag_error(r->diag, (tw_loc){0}, "%s: %g does not fit its type", op->name, result[i]);
        tw_array_set(&made, i, result[i]);
    }
    return write_net(r, output->tensor, &made);
}

static const tw_array *outer_value(void *user, int value)
{
    steps_run *r = user;
    int t = r->lowered->tensor_of_value[value];
    if (t < 0) return NULL;
    r->value[value] = steps_tensor(r, t);
    return r->value[value].data ? &r->value[value] : NULL;
}

static tw_status run_host(steps_run *r, const tw_op *step)
{
    const tw_graph_file *file = r->lowered->shapes->file;
    const tw_onnx_node *node = &file->graph[step->from.graph].node[step->from.node[0]];
    const tw_array **input = TW_NEW(r->arena, const tw_array *, node->n_inputs + 1);
    tw_array *own = TW_NEW(r->arena, tw_array, node->n_inputs + 1),
             *output = TW_NEW(r->arena, tw_array, node->n_outputs + 1);
    bool *wanted = TW_NEW(r->arena, bool, node->n_outputs + 1);
    for (int i = 0; i < node->n_inputs; i++) {
        if (step->input[i] < 0) continue;
        own[i] = steps_tensor(r, step->input[i]);
        input[i] = &own[i];
    }
    for (int i = 0; i < node->n_outputs; i++) wanted[i] = step->output[i] >= 0;
    tw_ref_case c = {.file = file,
                     .node = node,
                     .opset = tw_graph_opset(file, node->domain),
                     .n_inputs = node->n_inputs,
                     .n_outputs = node->n_outputs,
                     .input = input,
                     .wanted = wanted,
                     .graph = step->from.graph,
                     .outer = outer_value,
                     .user = r,
                     .arena = r->arena,
                     .diag = r->diag};
    TW_TRY(tw_ref_run(&c, output));
    for (int i = 0; i < node->n_outputs; i++)
        if (wanted[i]) TW_TRY(write_net(r, step->output[i], &output[i]));
    return TW_OK;
}

/* Constants into their places. */
static tw_status load_constants(steps_run *r)
{
    const tw_graph_file *file = r->lowered->shapes->file;
    for (int t = 0; t < r->lowered->graph.n_tensors; t++) {
        const tw_tensor *tensor = &r->lowered->graph.tensor[t];
        if (tensor->root != t || r->root[t].data || tensor->role != TW_ROLE_CONSTANT) continue;
        if (r->lowered->source[t].literal) r->root[t] = *r->lowered->source[t].literal;
        const tw_constant *constant = tw_lowered_constant(r->lowered, t);
        if (!constant) continue; /* constant steps make it */
        r->root[t] = (tw_array){.type = constant->type, .n_dims = constant->n_dims, .n = constant->n_elems};
        memcpy(r->root[t].dim, constant->dim, sizeof r->root[t].dim);
        TW_TRY(tw_constant_read(constant, file->path, r->arena, r->diag, &r->root[t].data));
    }
    return TW_OK;
}

static tw_status run_step(steps_run *r, const tw_op *step)
{
    if (step->from.in_branch) return TW_OK; /* the host runs the If as a whole */
    return step->kind == TW_OP_DESCRIBED ? run_tiled(r, step, 0) : run_host(r, step);
}

/* A network without steps is fine here. */
static tw_status check_graph(const tw_model *graph, tw_diag *diag)
{
    return graph->n_ops == 0 ? TW_OK : tw_model_check(graph, diag);
}

tw_status steps_run_all(steps_run *r)
{
    TW_TRY(check_graph(&r->lowered->constants, r->diag));
    TW_TRY(check_graph(&r->lowered->graph, r->diag));
    TW_TRY(load_constants(r));
    for (int s = 0; s < r->lowered->constants.n_ops; s++) TW_TRY(run_step(r, &r->lowered->constants.op[s]));
    for (int s = 0; s < r->lowered->graph.n_ops; s++) TW_TRY(run_step(r, &r->lowered->graph.op[s]));
    return TW_OK;
}
