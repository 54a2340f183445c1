/* src/model/model.c - names, finders, invariants and the printer of models, see model.h.
 *
 * An operator is checked by itself (tw_op_check), with a table that says where its parts were written:
 * the reader fills it, tw_model_check points all of it at the operator. */
#include "model/model.h"

#include "model/expr.h"
#include "model/pieces.h"

#include <string.h>

static const struct {
    const char *name;
    int64_t bytes;
    bool is_float;
} dtypes[TW_N_DTYPES] = {
#define X(id, name, bytes, is_float) {name, bytes, is_float},
    TW_DTYPES(X)
#undef X
};

const char *tw_dtype_name(tw_dtype dtype) { return dtypes[dtype].name; }
int64_t tw_dtype_bytes(tw_dtype dtype) { return dtypes[dtype].bytes; }
bool tw_dtype_is_float(tw_dtype dtype) { return dtypes[dtype].is_float; }

const char *tw_compute_name(tw_compute compute)
{
    static const char *const name[TW_N_COMPUTES] = {"multiply-add", "add",     "max", "average",
                                                    "min",          "product", "map"};
    return name[compute];
}

bool tw_op_reads_bytes(const tw_model *model, const tw_op *op, int tensor)
{
    for (int o = 0; o < tw_op_output(op); o++)
        if (tw_tensors_share(model, op->operand[o].tensor, tensor)) return true;
    return false;
}

bool tw_tensors_are_alike(const tw_model *model, int a, int b)
{
    const tw_tensor *x = &model->tensor[a], *y = &model->tensor[b];
    return a == b || (x->root == y->root && x->offset == y->offset && x->dtype == y->dtype &&
                      tw_tensor_elems(x) == tw_tensor_elems(y));
}

bool tw_op_reads_alike(const tw_model *model, const tw_op *op, int tensor)
{
    for (int o = 0; o < tw_op_output(op); o++)
        if (tw_tensors_are_alike(model, op->operand[o].tensor, tensor)) return true;
    return false;
}

unsigned tw_operand_loops(const tw_operand *operand)
{
    unsigned loops = 0;
    for (int a = 0; a < operand->n_axes; a++)
        for (int t = 0; t < operand->axis[a].n_terms; t++) loops |= 1U << operand->axis[a].term[t].loop;
    return loops;
}

unsigned tw_op_reductions(const tw_op *op)
{
    unsigned loops = 0;
    for (int l = 0; l < op->n_loops; l++) loops |= (unsigned)op->loop[l].reduces << l;
    return loops;
}

int64_t tw_op_points(const tw_op *op)
{
    int64_t points = 1;
    for (int l = 0; l < op->n_loops; l++) points *= op->loop[l].extent;
    return points;
}

/* How often the operator reads bytes of the tensor, in whatever shape. */
static int count_reads(const tw_model *model, const tw_op *op, int tensor)
{
    int n = 0;
    for (int i = 0; i < tw_op_output(op); i++) n += tw_tensors_share(model, op->operand[i].tensor, tensor);
    return n;
}

int tw_chain_input(const tw_model *model, int op)
{
    const tw_op *at = &model->op[op];
    for (int i = 0; op > 0 && i < tw_op_output(at); i++)
        if (at->operand[i].tensor == at[-1].operand[tw_op_output(at - 1)].tensor) return i;
    return -1;
}

tw_status tw_chain_check(const tw_model *model, int op, tw_loc loc, tw_diag *diag)
{
    int input = tw_chain_input(model, op), tensor = input < 0 ? -1 : model->op[op].operand[input].tensor;
    if (input < 0 || count_reads(model, &model->op[op], tensor) != 1)
        return tw_diag_error(diag, loc,
                             "operator '%s' is fused, but does not read once what the operator before it makes",
                             model->op[op].name);
    for (int o = 0; o < model->n_ops; o++)
        if (o != op && count_reads(model, &model->op[o], tensor) > 0)
            return tw_diag_error(diag, loc, "operator '%s' is fused, but another operator reads '%s' too",
                                 model->op[op].name, model->tensor[tensor].name);
    if (model->tensor[tensor].is_output)
        return tw_diag_error(diag, loc, "operator '%s' is fused, but '%s' is an output of the workload, too",
                             model->op[op].name, model->tensor[tensor].name);
    return TW_OK;
}

static int64_t times(int64_t a, int64_t b) { return tw_ckd_mul(a, b, &a) ? a : INT64_MAX; }

int64_t tw_tensor_elems(const tw_tensor *tensor)
{
    int64_t elems = !tensor->unshaped;
    for (int a = 0; a < tensor->n_axes; a++) elems = times(elems, tensor->extent[a]);
    return elems;
}

int64_t tw_operand_elems(const tw_operand *operand)
{
    int64_t elems = 1;
    for (int a = 0; a < operand->n_axes; a++) elems = times(elems, operand->axis[a].extent);
    return elems;
}

bool tw_operand_sees(const tw_operand *operand, const tw_tensor *tensor)
{
    const tw_selection *s = &operand->rows;
    int64_t n = tw_operand_elems(operand), whole = tw_tensor_elems(tensor);
    if (s->count == 0) return n == whole;
    return times(times(s->outer, s->count), s->inner) == n && times(times(s->outer, s->extent), s->inner) == whole;
}

int tw_op_n_reads(const tw_op *op)
{
    return op->kind == TW_OP_DESCRIBED ? tw_op_output(op) + op->n_held : op->n_inputs;
}

int tw_op_read(const tw_op *op, int i)
{
    int n = tw_op_output(op);
    if (op->kind != TW_OP_DESCRIBED) return op->input[i];
    return i < n ? op->operand[i].tensor : op->held[i - n].tensor;
}

int tw_op_n_writes(const tw_op *op) { return op->kind == TW_OP_DESCRIBED ? 1 : op->n_outputs; }

int tw_op_written(const tw_op *op, int i)
{
    return op->kind == TW_OP_DESCRIBED ? op->operand[tw_op_output(op)].tensor : op->output[i];
}

tw_model tw_model_alone(const tw_model *model, int op)
{
    return (tw_model){model->name, model->n_tensors, model->tensor, 1, &model->op[op]};
}

int tw_op_find_loop(const tw_op *op, const char *name)
{
    for (int l = 0; l < op->n_loops; l++)
        if (strcmp(op->loop[l].name, name) == 0) return l;
    return -1;
}

int tw_op_find_operand(const tw_op *op, const char *name)
{
    for (int i = 0; i < op->n_operands; i++)
        if (strcmp(op->operand[i].name, name) == 0) return i;
    return -1;
}

/* ---- one operator ---- */

tw_op_locs tw_op_locs_of(tw_loc loc)
{
    tw_op_locs locs;
    for (int l = 0; l < TW_MAX_LOOPS; l++) locs.loop[l] = loc;
    for (int i = 0; i < TW_MAX_OPERANDS; i++) {
        locs.operand[i] = loc;
        for (int a = 0; a < TW_MAX_AXES; a++) locs.axis[i][a] = loc;
    }
    return locs;
}

static bool in_range(int64_t extent) { return 1 <= extent && extent <= TW_EXTENT_MAX; }

static tw_status check_extent(int64_t extent, const char *what, tw_loc loc, tw_diag *diag)
{
    if (in_range(extent)) return TW_OK;
    return tw_diag_error(diag, loc, "extent of '%s' is %" PRId64 ", outside 1..%" PRId64, what, extent,
                         TW_EXTENT_MAX);
}

static tw_status check_counts(const tw_op *op, tw_diag *diag)
{
    if (op->n_loops < 1 || op->n_loops > TW_MAX_LOOPS)
        return tw_diag_error(diag, op->loc, "operator '%s' has %d loops, outside 1..%d", op->name, op->n_loops,
                             TW_MAX_LOOPS);
    if (op->n_operands < 2 || op->n_operands > TW_MAX_OPERANDS)
        return tw_diag_error(diag, op->loc, "operator '%s' has %d operands, outside 2..%d", op->name,
                             op->n_operands, TW_MAX_OPERANDS);
    bool sums = op->compute == TW_MULTIPLY_ADD || op->compute == TW_ADD;
    bool one_input = !sums && op->compute != TW_MAP;
    if (one_input && tw_op_n_variables(op) != 1)
        return tw_diag_error(diag, op->loc, "operator '%s' computes %s of %d inputs, must be 1", op->name,
                             tw_compute_name(op->compute), tw_op_n_variables(op));
    return TW_OK;
}

static tw_status check_loops(const tw_op *op, const tw_op_locs *locs, tw_diag *diag)
{
    int64_t points = 1;
    for (int l = 0; l < op->n_loops; l++) {
        TW_TRY(check_extent(op->loop[l].extent, op->loop[l].name, locs->loop[l], diag));
        if (tw_op_find_loop(op, op->loop[l].name) != l)
            return tw_diag_error(diag, locs->loop[l], "two loops are called '%s'", op->loop[l].name);
        if (!tw_ckd_mul(points, op->loop[l].extent, &points))
            return tw_diag_error(diag, op->loc, "operator '%s' has more loop points than fit 64 bits", op->name);
    }
    return TW_OK;
}

bool tw_axis_values(const tw_axis *axis, const tw_op *op, int64_t *least, int64_t *most)
{
    int64_t lo = axis->offset, hi = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t reach;
        if (!tw_ckd_mul(axis->term[t].coef, op->loop[axis->term[t].loop].extent - 1, &reach)) return false;
        if (!tw_ckd_add(reach < 0 ? lo : hi, reach, reach < 0 ? &lo : &hi)) return false;
    }
    *least = lo;
    *most = hi;
    return -TW_POSITION_MAX <= lo && hi <= TW_POSITION_MAX;
}

static tw_status check_axis(const tw_op *op, const tw_axis *axis, tw_loc loc, tw_diag *diag)
{
    int64_t least, most;
    TW_TRY(check_extent(axis->extent, "axis", loc, diag));
    if (axis->divisor < 1 || axis->n_terms < 0 || axis->n_terms > TW_MAX_TERMS)
        return tw_diag_error(diag, loc, "axis has %d loops and divisor %" PRId64, axis->n_terms, axis->divisor);
    for (int t = 0; t < axis->n_terms; t++)
        if (axis->term[t].loop < 0 || axis->term[t].loop >= op->n_loops || axis->term[t].coef == 0)
            return tw_diag_error(diag, loc, "axis names loop %d with factor %" PRId64, axis->term[t].loop,
                                 axis->term[t].coef);
    if (!tw_axis_values(axis, op, &least, &most)) return tw_diag_error(diag, loc, "positions do not fit 62 bits");
    if (axis->floors && axis->divisor == 1)
        return tw_diag_error(diag, loc, "axis is divided by 1 and rounded down");
    int64_t at;
    if (axis->n_terms == 0 && !tw_axis_position(axis, least, &at))
        return tw_diag_error(diag, loc, "position %" PRId64 "/%" PRId64 " is never inside the tensor's %" PRId64,
                             least, axis->divisor, axis->extent);
    return TW_OK;
}

static tw_status check_operand(const tw_op *op, int i, const tw_op_locs *locs, tw_diag *diag)
{
    const tw_operand *operand = &op->operand[i];
    if (tw_op_find_operand(op, operand->name) != i)
        return tw_diag_error(diag, locs->operand[i], "two operands are called '%s'", operand->name);
    if (operand->n_axes < 1 || operand->n_axes > TW_MAX_AXES)
        return tw_diag_error(diag, locs->operand[i], "operand '%s' has %d axes, outside 1..%d", operand->name,
                             operand->n_axes, TW_MAX_AXES);
    if (operand->scattered < 0 || operand->scattered > operand->n_axes)
        return tw_diag_error(diag, locs->operand[i], "operand '%s' scatters %d axes, outside 0..%d", operand->name,
                             operand->scattered, operand->n_axes);
    int64_t elems = 8; /* the widest type */
    for (int a = 0; a < operand->n_axes; a++) {
        TW_TRY(check_axis(op, &operand->axis[a], locs->axis[i][a], diag));
        if (!tw_ckd_mul(elems, operand->axis[a].extent, &elems))
            return tw_diag_error(diag, locs->operand[i], "tensor of '%s' has more bytes than fit 64 bits",
                                 operand->name);
    }
    return TW_OK;
}

/* An output axis is one parallel loop, from end to end. */
static tw_status check_output_axis(const tw_op *op, const tw_axis *axis, unsigned *seen, tw_loc loc, tw_diag *diag)
{
    if (axis->n_terms != 1 || axis->term[0].coef != 1 || axis->offset != 0 || axis->divisor != 1)
        return tw_diag_error(diag, loc, "an output axis must be one loop and nothing else");
    const tw_loop *loop = &op->loop[axis->term[0].loop];
    if (loop->reduces) return tw_diag_error(diag, loc, "output axis '%s' is a reduction loop", loop->name);
    if (*seen >> axis->term[0].loop & 1)
        return tw_diag_error(diag, loc, "loop '%s' is two output axes", loop->name);
    if (loop->extent != axis->extent)
        return tw_diag_error(diag, loc, "output axis '%s' has extent %" PRId64 ", its loop has %" PRId64,
                             loop->name, axis->extent, loop->extent);
    *seen |= 1U << axis->term[0].loop;
    return TW_OK;
}

static tw_status check_output(const tw_op *op, const tw_op_locs *locs, tw_diag *diag)
{
    int o = tw_op_output(op);
    unsigned seen = 0, reached = 0;
    for (int a = 0; a < op->operand[o].n_axes; a++)
        TW_TRY(check_output_axis(op, &op->operand[o].axis[a], &seen, locs->axis[o][a], diag));
    for (int i = 0; i < op->n_operands; i++) reached |= tw_operand_loops(&op->operand[i]);
    for (int l = 0; l < op->n_loops; l++) {
        if (!op->loop[l].reduces && !(seen >> l & 1))
            return tw_diag_error(diag, locs->loop[l], "loop '%s' is neither in 'reduce' nor an output axis",
                                 op->loop[l].name);
        if (!(reached >> l & 1))
            return tw_diag_error(diag, locs->loop[l], "loop '%s' reaches no operand", op->loop[l].name);
    }
    return TW_OK;
}

/* ---- formulas ---- */

static tw_status check_held(const tw_op *op, int h, tw_diag *diag)
{
    const tw_held *held = &op->held[h];
    bool taken = tw_op_find_operand(op, held->name) >= 0 || strcmp(held->name, TW_SUM_NAME) == 0;
    for (int i = 0; i < h; i++) taken |= strcmp(op->held[i].name, held->name) == 0;
    if (!tw_formula_is_name(held->name) || taken)
        return tw_diag_error(diag, op->loc, "operator '%s' cannot call what it holds '%s'", op->name, held->name);
    bool scalar = held->loop == -1, vector = held->loop >= 0 && held->loop < op->n_loops;
    bool named = vector && strcmp(op->loop[held->loop].name, TW_SCALAR_NAME) != 0;
    if (scalar || (named && !op->loop[held->loop].reduces)) return TW_OK;
    return tw_diag_error(diag, op->loc, "operator '%s' holds '%s' along no parallel loop", op->name, held->name);
}

static tw_status check_formula(const tw_op *op, const tw_formula *f, const char *what, int n_vars, tw_diag *diag)
{
    if (!f || (tw_formula_check(f) && f->n_vars == n_vars)) return TW_OK;
    return tw_diag_error(diag, op->loc, "'%s' of operator '%s' is no formula of %d variables", what, op->name,
                         n_vars);
}

static tw_status check_value(const tw_op *op, tw_diag *diag)
{
    const char *compute = tw_compute_name(op->compute);
    if (op->compute == TW_MAP && (!op->value || tw_op_reductions(op) != 0))
        return tw_diag_error(diag, op->loc, "operator '%s' computes map, which needs a 'value' and reduces no loop",
                             op->name);
    if (!op->value) return TW_OK;
    if (op->compute == TW_AVERAGE)
        return tw_diag_error(diag, op->loc, "operator '%s' computes %s, which has no 'value'", op->name, compute);
    if (op->compute == TW_ADD && tw_op_n_variables(op) != 1)
        return tw_diag_error(diag, op->loc, "operator '%s' computes %s with a 'value' of %d inputs, must be 1",
                             op->name, compute, tw_op_n_variables(op));
    for (int i = 0; i < tw_op_n_variables(op); i++)
        if (!tw_formula_is_name(op->operand[i].name))
            return tw_diag_error(diag, op->loc, "'value' of operator '%s' cannot name its input '%s'", op->name,
                                 op->operand[i].name);
    return TW_OK;
}

static tw_status check_formulas(const tw_op *op, tw_diag *diag)
{
    if (op->n_held < 0 || op->n_held > TW_MAX_HELD)
        return tw_diag_error(diag, op->loc, "operator '%s' holds %d values, outside 0..%d", op->name, op->n_held,
                             TW_MAX_HELD);
    for (int h = 0; h < op->n_held; h++) TW_TRY(check_held(op, h, diag));
    TW_TRY(check_value(op, diag));
    TW_TRY(check_formula(op, op->value, "value", tw_op_n_variables(op) + op->n_held, diag));
    return check_formula(op, op->finish, "finish", 1 + op->n_held, diag);
}

tw_status tw_op_check(const tw_op *op, const tw_op_locs *locs, tw_diag *diag)
{
    TW_TRY(check_counts(op, diag));
    TW_TRY(check_loops(op, locs, diag));
    for (int i = 0; i < op->n_operands; i++) TW_TRY(check_operand(op, i, locs, diag));
    TW_TRY(check_output(op, locs, diag));
    TW_TRY(tw_pieces_check(op, locs, diag));
    return check_formulas(op, diag);
}

static bool is_unsigned(tw_dtype dtype)
{
    return dtype == TW_DTYPE_U8 || dtype == TW_DTYPE_U16 || dtype == TW_DTYPE_U32 || dtype == TW_DTYPE_U64 ||
           dtype == TW_DTYPE_BOOL;
}

tw_status tw_accumulator_check(tw_compute compute, tw_dtype accumulator, tw_dtype output, tw_loc loc, tw_diag *diag)
{
    const char *acc = tw_dtype_name(accumulator), *out = tw_dtype_name(output);
    if (accumulator == output) return TW_OK;
    static const char *const keeps[TW_N_COMPUTES] = {[TW_MAX] = "a maximum",
                                                     [TW_AVERAGE] = "an average",
                                                     [TW_MIN] = "a minimum",
                                                     [TW_PRODUCT] = "a product",
                                                     [TW_MAP] = "a map"};
    if (keeps[compute])
        return tw_diag_error(diag, loc, "accumulator is %s, but the output is %s: %s keeps its type", acc, out,
                             keeps[compute]);
    if (tw_dtype_is_float(accumulator) != tw_dtype_is_float(output))
        return tw_diag_error(
            diag, loc, "accumulator is %s, but the output is %s: both must be integers or both floats", acc, out);
    bool loses_sign = is_unsigned(accumulator) && !is_unsigned(output);
    if (tw_dtype_bytes(accumulator) <= tw_dtype_bytes(output) || loses_sign) /* those of one width differ in sign */
        return tw_diag_error(diag, loc, "accumulator is %s, which cannot hold the output's %s", acc, out);
    return TW_OK;
}

/* ---- the model ---- */

static tw_status check_tensors_of(const tw_model *model, const tw_op *op, tw_diag *diag)
{
    for (int i = 0; i < op->n_operands; i++) {
        const tw_operand *operand = &op->operand[i];
        if (operand->tensor < 0 || operand->tensor >= model->n_tensors)
            return tw_diag_error(diag, op->loc, "operand '%s' names tensor %d of %d", operand->name,
                                 operand->tensor, model->n_tensors);
        if (!tw_operand_sees(operand, &model->tensor[operand->tensor]))
            return tw_diag_error(diag, op->loc, "operand '%s' and tensor '%s' differ in shape", operand->name,
                                 model->tensor[operand->tensor].name);
        const tw_operand *whole = &op->operand[tw_op_variable(op, i)];
        if (model->tensor[operand->tensor].dtype != model->tensor[whole->tensor].dtype)
            return tw_diag_error(diag, op->loc, "'%s' is a piece of '%s', which has another type", operand->name,
                                 whole->name);
    }
    const tw_tensor *out = &model->tensor[op->operand[tw_op_output(op)].tensor];
    tw_dtype averaged = op->finish ? op->accumulator : out->dtype;
    if (op->compute == TW_AVERAGE && !tw_dtype_is_float(averaged))
        return tw_diag_error(diag, op->loc, "operator '%s' computes an average, which needs f32 or f64, found %s",
                             op->name, tw_dtype_name(averaged));
    if (op->finish) return TW_OK; /* makes any type of any other */
    return tw_accumulator_check(op->compute, op->accumulator, out->dtype, op->loc, diag);
}

tw_status tw_model_check_op(const tw_model *model, const tw_op *op, tw_diag *diag)
{
    tw_op_locs locs = tw_op_locs_of(op->loc);
    TW_TRY(tw_op_check(op, &locs, diag));
    return check_tensors_of(model, op, diag);
}

static bool writes(const tw_op *op, int tensor)
{
    for (int i = 0; i < tw_op_n_writes(op); i++)
        if (tw_op_written(op, i) == tensor) return true;
    return false;
}

/* The first operator that writes the tensor, -1: it comes from outside, or lies in another. */
static int writer_of(const tw_model *model, int tensor)
{
    for (int o = 0; o < model->n_ops; o++)
        if (writes(&model->op[o], tensor)) return o;
    return -1;
}

static bool writes_rows(const tw_op *op)
{
    return op->kind == TW_OP_DESCRIBED && op->operand[tw_op_output(op)].rows.count > 0;
}

static tw_status check_order_of(const tw_model *model, int o, tw_diag *diag)
{
    const tw_op *op = &model->op[o];
    for (int i = 0; i < tw_op_n_writes(op); i++) {
        int output = tw_op_written(op, i), first = output < 0 ? o : writer_of(model, output);
        if (first != o && !writes_rows(op))
            return tw_diag_error(diag, op->loc, "operators '%s' and '%s' both write tensor '%s'",
                                 model->op[first].name, op->name, model->tensor[output].name);
    }
    for (int i = 0; i < tw_op_n_reads(op); i++) {
        int input = tw_op_read(op, i);
        if (input >= 0 && writer_of(model, input) >= o)
            return tw_diag_error(diag, op->loc, "operator '%s' reads tensor '%s' before it is written", op->name,
                                 model->tensor[input].name);
    }
    return TW_OK;
}

static tw_status check_tensor(const tw_model *model, int t, tw_diag *diag)
{
    const tw_tensor *tensor = &model->tensor[t];
    bool rooted = tensor->root >= 0 && tensor->root < model->n_tensors &&
                  model->tensor[tensor->root].root == tensor->root && tensor->offset >= 0;
    if (rooted && (tensor->root != t || tensor->offset == 0)) return TW_OK;
    return tw_diag_error(diag, tensor->loc, "tensor '%s' lies in no other", tensor->name);
}

tw_status tw_model_check(const tw_model *model, tw_diag *diag)
{
    if (model->n_ops < 1) return tw_diag_error(diag, (tw_loc){0}, "workload '%s' has no operators", model->name);
    for (int o = 0; o < model->n_ops; o++)
        if (model->op[o].kind == TW_OP_DESCRIBED) TW_TRY(tw_model_check_op(model, &model->op[o], diag));
    for (int t = 0; t < model->n_tensors; t++) TW_TRY(check_tensor(model, t, diag));
    for (int o = 0; o < model->n_ops; o++) TW_TRY(check_order_of(model, o, diag));
    return TW_OK;
}

/* ---- the printer ---- */

static bool is_read(const tw_model *model, int root)
{
    for (int o = 0; o < model->n_ops; o++)
        for (int i = 0; i < tw_op_output(&model->op[o]); i++)
            if (model->tensor[model->op[o].operand[i].tensor].root == root) return true;
    return false;
}

static void print_tensor(const tw_model *model, int t, tw_text *out)
{
    const tw_tensor *tensor = &model->tensor[t];
    tw_text_printf(out, "  - {name: %s, dtype: %s, shape: [", tensor->name, tw_dtype_name(tensor->dtype));
    for (int a = 0; a < tensor->n_axes; a++) tw_text_printf(out, "%s%" PRId64, a ? ", " : "", tensor->extent[a]);
    tw_text_printf(out, "]");
    if (tensor->root != t) tw_text_printf(out, ", view: %s", model->tensor[tensor->root].name);
    if (tensor->offset > 0) tw_text_printf(out, ", offset: %" PRId64, tensor->offset);
    if (tensor->root == t && tensor->is_output && is_read(model, t)) tw_text_printf(out, ", output: true");
    tw_text_printf(out, "}\n");
}

static void print_loops(const tw_op *op, tw_text *out)
{
    tw_text_printf(out, "    loops: {");
    for (int l = 0; l < op->n_loops; l++)
        tw_text_printf(out, "%s%s: %" PRId64, l ? ", " : "", op->loop[l].name, op->loop[l].extent);
    tw_text_printf(out, "}\n    reduce: [");
    const char *sep = "";
    for (int l = 0; l < op->n_loops; l++) {
        if (!op->loop[l].reduces) continue;
        tw_text_printf(out, "%s%s", sep, op->loop[l].name);
        sep = ", ";
    }
    tw_text_printf(out, "]\n");
}

static void print_operand(const tw_model *model, const tw_op *op, int i, tw_text *out)
{
    const tw_operand *operand = &op->operand[i];
    tw_text_printf(out, "      %s: {tensor: %s, at: [", operand->name, model->tensor[operand->tensor].name);
    for (int a = 0; a < operand->n_axes; a++) {
        if (a) tw_text_printf(out, ", ");
        tw_expr_print(&operand->axis[a], op, out);
    }
    tw_text_printf(out, "]");
    if (operand->weights) tw_text_printf(out, ", role: weights");
    if (operand->beside > 0) tw_text_printf(out, ", beside: %s", op->operand[operand->beside - 1].name);
    if (operand->scattered > 0) tw_text_printf(out, ", scattered: %d", operand->scattered);
    tw_text_printf(out, "}\n");
}

static void print_held(const tw_op *op, tw_text *out)
{
    tw_text_printf(out, "    held: {");
    for (int h = 0; h < op->n_held; h++)
        tw_text_printf(out, "%s%s: %s", h ? ", " : "", op->held[h].name,
                       op->held[h].loop < 0 ? TW_SCALAR_NAME : op->loop[op->held[h].loop].name);
    tw_text_printf(out, "}\n");
}

int tw_op_value_names(const tw_op *op, const char *name[TW_MAX_OPERANDS + TW_MAX_HELD])
{
    int n = tw_op_n_variables(op);
    for (int i = 0; i < n; i++) name[i] = op->operand[i].name;
    for (int h = 0; h < op->n_held; h++) name[n + h] = op->held[h].name;
    return n + op->n_held;
}

int tw_op_finish_names(const tw_op *op, const char *name[1 + TW_MAX_HELD])
{
    name[0] = TW_SUM_NAME;
    for (int h = 0; h < op->n_held; h++) name[1 + h] = op->held[h].name;
    return 1 + op->n_held;
}

/* One text, or a list of its lines. */
static void print_formula(const char *key, const tw_formula *formula, const char *const *name, tw_text *out)
{
    tw_text text = {0};
    tw_formula_print(formula, name, &text);
    if (text.failed) out->failed = true;
    char *line = text.bytes, *end = line ? strstr(line, "; ") : NULL;
    bool list = end != NULL;
    tw_text_printf(out, "    %s: %s", key, list ? "[" : "");
    for (; end; line = end + 2, end = strstr(line, "; ")) {
        *end = 0;
        tw_text_printf(out, "\"%s\", ", line);
    }
    tw_text_printf(out, "\"%s\"%s\n", line ? line : "", list ? "]" : "");
    tw_text_release(&text);
}

static void print_formulas(const tw_op *op, tw_text *out)
{
    const char *name[TW_MAX_OPERANDS + TW_MAX_HELD];
    if (op->n_held > 0) print_held(op, out);
    (void)tw_op_value_names(op, name);
    if (op->value) print_formula("value", op->value, name, out);
    (void)tw_op_finish_names(op, name);
    if (op->finish) print_formula("finish", op->finish, name, out);
}

static void print_op(const tw_model *model, const tw_op *op, tw_text *out)
{
    tw_text_printf(out, "  - name: %s\n    compute: %s\n", op->name, tw_compute_name(op->compute));
    if (op->compute == TW_AVERAGE)
        tw_text_printf(out, "    count_padding: %s\n", op->average_counts_padding ? "true" : "false");
    if (op->wants_fusion) tw_text_printf(out, "    fused: true\n");
    if (op->accumulator != model->tensor[op->operand[tw_op_output(op)].tensor].dtype)
        tw_text_printf(out, "    accumulator: %s\n", tw_dtype_name(op->accumulator));
    print_loops(op, out);
    print_formulas(op, out);
    tw_text_printf(out, "    reads:\n");
    for (int i = 0; i < tw_op_output(op); i++) print_operand(model, op, i, out);
    tw_text_printf(out, "    writes:\n");
    print_operand(model, op, tw_op_output(op), out);
}

/* Layers of networks are called by their operators, whose names may have more in them than that of a workload. */
static void print_name(const char *name, tw_text *out)
{
    enum { LONGEST = 127 };
    bool begins = tw_is_alpha(*name) || *name == '_';
    tw_text_printf(out, "workload: %s", begins ? "" : "_");
    for (int i = 0; name[i] && i < LONGEST - !begins; i++) {
        bool plain = tw_is_alnum(name[i]) || strchr("_.-", name[i]);
        tw_text_printf(out, "%c", plain ? name[i] : '_');
    }
    tw_text_printf(out, "\n");
}

void tw_model_print(const tw_model *model, tw_text *out)
{
    print_name(model->name, out);
    tw_text_printf(out, "tensors:\n");
    for (int t = 0; t < model->n_tensors; t++) print_tensor(model, t, out);
    tw_text_printf(out, "ops:\n");
    for (int o = 0; o < model->n_ops; o++) print_op(model, &model->op[o], out);
}

bool tw_op_reads(const tw_op *op, int tensor)
{
    for (int o = 0; o < tw_op_output(op); o++)
        if (op->operand[o].tensor == tensor) return true;
    return false;
}

int tw_model_find_op(const tw_model *model, const char *name)
{
    for (int o = 0; o < model->n_ops; o++)
        if (strcmp(model->op[o].name, name) == 0) return o;
    return -1;
}

bool tw_axis_has_loop(const tw_axis *axis, int loop)
{
    for (int t = 0; t < axis->n_terms; t++)
        if (axis->term[t].loop == loop) return true;
    return false;
}
