/* src/lower/nest.c - one described operator in the making, see build.h.
 *
 * All names in a model are the same for the same shapes, so that equal layers are equal texts. */
#include "lower/build.h"

#include <math.h>
#include <string.h>

static const char *const operand_names[TW_MAX_OPERANDS] = {"ifm", "w", "in2", "in3", "in4", "ofm"};
static const char *const held_names[TW_MAX_HELD] = {"h0", "h1", "h2",  "h3",  "h4",  "h5",  "h6",  "h7",
                                                    "h8", "h9", "h10", "h11", "h12", "h13", "h14", "h15"};

void tw_nest_begin(tw_lowering *l, const char *suffix, tw_compute compute)
{
    if (l->nest_open) tw_nest_end(l, l->node->op, 0, NULL);
    l->nest = (tw_lowered_nest){.suffix = suffix, .value_is = -1, .finish_is = -1};
    l->nest.op = (tw_op){.name = "op", .compute = compute};
    l->nest.value.n_vars = l->nest.finish.n_vars = TW_N_VARS;
    l->f = &l->nest.value;
    l->nest_open = true;
}

/* ---- loops and operands ---- */

int tw_add_loop(tw_lowering *l, const char *name, int64_t extent, bool reduces)
{
    tw_op *op = &l->nest.op;
    if (op->n_loops == TW_MAX_LOOPS || extent < 1 || extent > TW_EXTENT_MAX) {
        tw_refuse(l, extent < 1 ? "no elements" : extent > TW_EXTENT_MAX ? "too large" : "too many loops");
        return 0;
    }
    op->loop[op->n_loops] = (tw_loop){name, extent, reduces};
    return op->n_loops++;
}

int tw_add_outer(tw_lowering *l, const char *name, int64_t extent)
{
    return extent == 1 ? -1 : tw_add_loop(l, name, extent, false);
}

const char *tw_loop_name(int i)
{
    static const char *const name[] = {"d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                       "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
    return name[i];
}

int tw_add_numbered(tw_lowering *l, int64_t extent)
{
    return tw_add_outer(l, tw_loop_name(l->nest.op.n_loops), extent);
}

int tw_add_operand(tw_lowering *l, tw_seen seen)
{
    tw_op *op = &l->nest.op;
    if (op->n_operands == TW_MAX_OPERANDS || seen.tensor < 0) {
        tw_refuse(l, seen.tensor < 0 ? "an input is missing" : "too many operands");
        return 0;
    }
    op->operand[op->n_operands] = (tw_operand){.name = operand_names[op->n_operands], .tensor = seen.tensor};
    return op->n_operands++;
}

void tw_add_axis_as(tw_lowering *l, tw_axis axis)
{
    if (l->nest.op.n_operands == 0) return;
    tw_operand *operand = &l->nest.op.operand[l->nest.op.n_operands - 1];
    if (operand->n_axes == TW_MAX_AXES)
        tw_refuse(l, "too many axes");
    else
        operand->axis[operand->n_axes++] = axis;
}

void tw_add_axis(tw_lowering *l, int loop)
{
    if (loop < 0) return;
    tw_add_axis_as(
        l, (tw_axis){.extent = l->nest.op.loop[loop].extent, .divisor = 1, .n_terms = 1, .term = {{loop, 1}}});
}

/* A scalar is one axis of one element. */
static void settle_axes(tw_lowering *l)
{
    tw_operand *operand = &l->nest.op.operand[l->nest.op.n_operands - 1];
    if (l->nest.op.n_operands && operand->n_axes == 0) tw_add_axis_as(l, (tw_axis){.extent = 1, .divisor = 1});
}

int tw_add_walked(tw_lowering *l, tw_seen seen, const int *loop, int n)
{
    int var = tw_add_operand(l, seen);
    for (int i = 0; i < n; i++) tw_add_axis(l, loop[i]);
    settle_axes(l);
    return var;
}

/* Sums of narrow types are made in a wider one; what does not add up keeps its type. */
static tw_dtype accumulator_of(tw_compute compute, tw_dtype out, bool wraps)
{
    bool sums = compute == TW_MULTIPLY_ADD || compute == TW_ADD;
    if (!sums && (compute != TW_PRODUCT || tw_dtype_is_float(out))) return out;
    if (out == TW_DTYPE_F16 || out == TW_DTYPE_BF16) return TW_DTYPE_F32;
    if (tw_dtype_is_float(out) || tw_dtype_bytes(out) == 8) return out;
    return tw_dtype_bytes(out) == 4 ? (wraps ? TW_DTYPE_I64 : out) : TW_DTYPE_I32;
}

/* Whether operands are as wide as the sum, which can leave its type then. */
static bool is_narrowing(const tw_lowering *l, tw_dtype out)
{
    const tw_lowered_nest *nest = &l->nest;
    bool wide = false;
    for (int i = 0; i < tw_op_output(&nest->op); i++)
        wide |= tw_dtype_bytes(l->tensor[nest->op.operand[i].tensor].dtype) >= tw_dtype_bytes(out);
    return wide;
}

void tw_add_output(tw_lowering *l, tw_seen seen)
{
    tw_op *op = &l->nest.op;
    bool any = false;
    for (int i = 0; i < op->n_loops; i++) any |= !op->loop[i].reduces;
    if (!any) tw_add_loop(l, "one", 1, false);
    tw_add_operand(l, seen);
    for (int i = 0; i < op->n_loops; i++)
        if (!op->loop[i].reduces) tw_add_axis(l, i);
    if (tw_refused(l)) return;
    tw_dtype out = tw_dtype_of(l, tw_type_of(l, seen));
    if (out == TW_N_DTYPES) {
        tw_refuse(l, "no numbers");
        return;
    }
    op->operand[tw_op_output(op)].name = operand_names[TW_MAX_OPERANDS - 1];
    op->accumulator = accumulator_of(op->compute, out, is_narrowing(l, out));
}

int tw_hold(tw_lowering *l, tw_seen seen, int loop)
{
    tw_op *op = &l->nest.op;
    for (int h = 0; h < op->n_held; h++)
        if (op->held[h].tensor == seen.tensor && op->held[h].loop == loop) return TW_VAR_HELD + h;
    if (op->n_held == TW_MAX_HELD || seen.tensor < 0) {
        tw_refuse(l, "too many values to hold");
        return TW_VAR_HELD;
    }
    if (tw_tensor_elems(&l->tensor[seen.tensor]) != (loop < 0 ? 1 : op->loop[loop].extent))
        tw_refuse(l, "a vector does not fit its axis");
    op->held[op->n_held] = (tw_held){held_names[op->n_held], loop, seen.tensor};
    return TW_VAR_HELD + op->n_held++;
}

static const tw_array *known_elements(const tw_lowering *l, tw_seen seen)
{
    if (seen.tensor < 0) return NULL;
    const tw_tensor_source *from = &l->source[seen.tensor];
    return from->value >= 0 ? tw_shape_of(l, from->value)->constant : from->literal;
}

/* Bounds and halves stand in formulas as they are; a scale that somebody has measured is held, so that layers that
 * differ in nothing else are the same. */
static bool is_plain(double x) { return isinf(x) || (fabs(x) <= 65536 && x * 64 == trunc(x * 64)); }

int tw_scalar(tw_lowering *l, tw_seen seen)
{
    const tw_array *known = l->holds_known ? NULL : known_elements(l, seen);
    bool plain = known && known->data && known->n == 1 && is_plain(tw_array_get(known, 0));
    return plain ? tw_num(l, tw_array_get(known, 0)) : tw_hold(l, seen, -1);
}

int tw_find_output_loop(const tw_lowering *l, int64_t extent, int64_t inner)
{
    const tw_op *op = &l->nest.op;
    int64_t behind = 1;
    for (int i = op->n_loops - 1; i >= 0; i--) {
        if (op->loop[i].reduces) continue;
        if (behind == inner && op->loop[i].extent == extent) return i;
        behind *= op->loop[i].extent;
    }
    return -1;
}

/* ---- formulas ---- */

void tw_value_begin(tw_lowering *l) { l->f = &l->nest.value; }
void tw_set_value(tw_lowering *l, int result) { l->nest.value_is = result; }

int tw_tail(tw_lowering *l)
{
    bool map = l->nest.op.compute == TW_MAP;
    int so_far = map ? l->nest.value_is : l->nest.finish_is;
    l->f = map ? &l->nest.value : &l->nest.finish;
    return so_far < 0 ? 0 : so_far;
}

void tw_set_tail(tw_lowering *l, int result)
{
    if (l->nest.op.compute == TW_MAP)
        l->nest.value_is = result;
    else
        l->nest.finish_is = result;
}

/* A draft with the variables that are really there: n_first, then what is held. */
static const tw_formula *settled(tw_lowering *l, const tw_formula_draft *from, int result, int n_first)
{
    tw_formula_draft to = {.n_vars = n_first + l->nest.op.n_held};
    int moved[TW_N_VARS + TW_FORMULA_MAX_STEPS] = {0};
    if (from->failed) tw_refuse(l, "too long a formula");
    for (int v = 0; v < TW_N_VARS; v++) moved[v] = v < TW_VAR_HELD ? v : v - TW_VAR_HELD + n_first;
    for (int s = 0; s < from->n_steps; s++) {
        const tw_formula_step *step = &from->step[s];
        moved[TW_N_VARS + s] =
            step->fn == TW_FN_CONSTANT
                ? tw_formula_constant(&to, step->constant)
                : tw_formula_call(&to, step->fn, moved[step->arg[0]], moved[step->arg[1]], moved[step->arg[2]]);
    }
    const tw_formula *formula = tw_refused(l) ? NULL : tw_formula_finish(&to, moved[result], l->arena);
    if (!formula && !tw_refused(l)) tw_refuse(l, "too long a formula");
    return formula;
}

static void settle_formulas(tw_lowering *l)
{
    tw_lowered_nest *nest = &l->nest;
    if (nest->value_is >= 0) nest->op.value = settled(l, &nest->value, nest->value_is, tw_op_output(&nest->op));
    if (nest->finish_is > 0) nest->op.finish = settled(l, &nest->finish, nest->finish_is, 1);
}

/* ---- steps ---- */

/* Every operand is its tensor as a whole, in some shape, or rows of all of it. */
static void check_operands(tw_lowering *l)
{
    const tw_op *op = &l->nest.op;
    for (int i = 0; i < op->n_operands && !tw_refused(l); i++) {
        const tw_tensor *tensor = &l->tensor[op->operand[i].tensor];
        if (tensor->dtype == TW_N_DTYPES) tw_refuse(l, "no numbers");
        if (!tw_operand_sees(&op->operand[i], tensor)) tw_refuse(l, "shapes contradict each other");
    }
}

/* Constants in a sum of products are weights. Where all inputs are, as with the initial state of a recurrence, the first
 * is not: all steps are the same operator. */
static void mark_weights(const tw_lowering *l, tw_op *op)
{
    bool all = true;
    if (op->compute != TW_MULTIPLY_ADD) return;
    for (int i = 0; i < tw_op_output(op); i++) {
        op->operand[i].weights = l->tensor[op->operand[i].tensor].role == TW_ROLE_CONSTANT;
        all &= op->operand[i].weights;
    }
    if (all) op->operand[0].weights = false;
}

/* The nest as the node describes it. */
static void settle(tw_lowering *l)
{
    tw_op *op = &l->nest.op;
    if (op->compute == TW_MAP && op->n_operands > 0)
        op->accumulator = l->tensor[op->operand[tw_op_output(op)].tensor].dtype;
    settle_formulas(l);
    check_operands(l);
}

static void check_nest(tw_lowering *l)
{
    const tw_model graph = {.n_tensors = l->n_tensors, .tensor = l->tensor};
    tw_diag diag = {0};
    if (!tw_refused(l) && tw_model_check_op(&graph, &l->nest.op, &diag) != TW_OK)
        tw_refuse(l, tw_say(l, "%s", diag.last ? diag.last : "not a sound description"));
    tw_diag_release(&diag);
}

static void simplify(tw_lowering *l)
{
    if (!tw_op_simplify(&l->nest.op, &l->options->judge, l->arena)) l->no_memory = true;
}

/* The nest as it is now, for groups, whose operators have to see tensors in the same shapes. Taps that do nothing go here, too: what a plan
 * takes at least is counted from this form. */
static void keep_plain(tw_lowering *l)
{
    tw_op *plain = TW_NEW(l->arena, tw_op, 1);
    if (!plain) {
        l->no_memory = true;
        return;
    }
    *plain = l->nest.op;
    if (tw_op_drop_taps(plain)) tw_op_drop_ones(plain);
    mark_weights(l, plain);
    l->nest.op.from.plain = plain;
}

/* The fewest loops for the work that the node describes. Constants that have become smaller may allow fewer still. */
static void simplify_nest(tw_lowering *l)
{
    if (tw_refused(l)) return;
    tw_op_drop_ones(&l->nest.op);
    keep_plain(l);
    if (tw_refused(l)) return;
    tw_trim_views(l);
    simplify(l);
    if (!tw_refused(l) && tw_trim_constants(l)) simplify(l);
    check_operands(l);
}

/* Makes the settled nest a step. */
static void add_step(tw_lowering *l, const char *what, int n_nodes, const int *node)
{
    check_nest(l);
    simplify_nest(l);
    if (tw_refused(l) || !tw_room_for_step(l)) return;
    tw_op *step = &l->step[l->n_steps++];
    *step = l->nest.op;
    mark_weights(l, step);
    step->name = tw_say(l, "%s%s", l->name, l->nest.suffix);
    step->from = (tw_op_origin){what, l->graph, n_nodes, node, false, l->in_branch, step->from.plain};
}

/* A step that writes the padding of an input, while the nest at hand waits, which then reads what that makes. */
static void write_padding(tw_lowering *l, int operand)
{
    tw_lowered_nest *waiting = TW_NEW(l->arena, tw_lowered_nest, 1);
    if (!waiting) l->no_memory = true;
    if (tw_refused(l)) return;
    *waiting = l->nest;
    const tw_op *op = &waiting->op;
    int from = op->operand[operand].tensor;
    const char *suffix = tw_say(l, "%s.padded", waiting->suffix);
    tw_tensor like = tw_padded_tensor(op, operand, l->tensor[from].dtype, suffix);
    tw_seen out = tw_between(l, suffix, l->source[from].type, like.n_axes, like.extent);
    const tw_op *pad =
        tw_refused(l) ? NULL : tw_padding_op(op, operand, out.tensor, l->options->padding.maps, suffix, l->arena);
    if (!pad) l->no_memory |= !tw_refused(l);
    if (tw_refused(l)) return;
    l->nest = (tw_lowered_nest){.suffix = suffix, .op = *pad, .value_is = -1, .finish_is = -1};
    l->nest.op.accumulator = l->tensor[out.tensor].dtype;
    add_step(l, l->node->op, 0, NULL);
    l->nest = *waiting;
    l->nest.op = tw_padding_taken(op, operand, out.tensor);
}

/* Padding that the machine does not take. */
static void write_paddings(tw_lowering *l)
{
    const tw_op *op = &l->nest.op;
    const tw_pad_judge *judge = &l->options->padding;
    if (tw_refused(l) || !judge->is_limited || !judge->is_limited(judge->user, op)) return;
    for (int o = 0; o < tw_op_output(op) && !tw_refused(l); o++)
        if (tw_excess_of(op, o).any && tw_padding_can_be_written(op, o)) write_padding(l, o);
}

void tw_nest_end(tw_lowering *l, const char *what, int n_nodes, const int *node)
{
    l->nest_open = false;
    if (tw_refused(l)) return;
    settle(l);
    write_paddings(l);
    if (!tw_refused(l)) add_step(l, what, n_nodes, node);
}
