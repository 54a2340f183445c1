/* src/model/padded.c - see padded.h. */
#include "model/padded.h"

#include <string.h>

/* ---- how much ---- */

/* Taps of the longest window along the axis; 0: there is none. */
static int64_t taps_of(const tw_op *op, const tw_axis *axis)
{
    int64_t taps = 0;
    for (int t = 0; t < axis->n_terms && axis->n_terms > 1; t++)
        if (op->loop[axis->term[t].loop].reduces) taps = tw_max(taps, op->loop[axis->term[t].loop].extent);
    return axis->divisor == 1 ? taps : 0;
}

tw_excess tw_excess_of(const tw_op *op, int operand)
{
    tw_excess e = {.any = false};
    for (int a = 0; a < op->operand[operand].n_axes; a++) {
        const tw_axis *axis = &op->operand[operand].axis[a];
        int64_t taps = taps_of(op, axis), least, most;
        if (taps == 0 || !tw_axis_values(axis, op, &least, &most)) continue;
        e.lo[a] = tw_max(0, -least - taps / 2);
        e.hi[a] = tw_max(0, most - (axis->extent - 1) - taps / 2);
        e.any |= e.lo[a] > 0 || e.hi[a] > 0;
    }
    return e;
}

/* ---- with what ---- */

/* The number in the rim: 0, a constant, or what is held. */
typedef struct filler {
    bool any;
    int held; /* variable of `value`; -1: a constant */
    double constant;
} filler;

/* Whether step `at` of a formula is the filler. */
static bool is_filler(const tw_formula *f, int at, const filler *with)
{
    if (at < f->n_vars) return with->held == at;
    const tw_formula_step *s = &f->step[at - f->n_vars];
    return with->held < 0 && s->fn == TW_FN_CONSTANT && s->constant == with->constant;
}

/* Whether step `at` is 0 whatever the other variables are, once `input` is the filler. */
static bool vanishes(const tw_formula *f, int at, int input, const filler *with)
{
    if (at < f->n_vars) return at == input && with->held < 0 && with->constant == 0;
    const tw_formula_step *s = &f->step[at - f->n_vars];
    switch (s->fn) {
    case TW_FN_CONSTANT: return s->constant == 0;
    case TW_FN_MULTIPLY: return vanishes(f, s->arg[0], input, with) || vanishes(f, s->arg[1], input, with);
    case TW_FN_SUBTRACT:
        if (s->arg[0] == input && is_filler(f, s->arg[1], with)) return true; /* fall through */
    case TW_FN_ADD: return vanishes(f, s->arg[0], input, with) && vanishes(f, s->arg[1], input, with);
    case TW_FN_NEGATE:
    case TW_FN_F32:
    case TW_FN_I32: return vanishes(f, s->arg[0], input, with);
    default: return false;
    }
}

/* A number with which the value of a point is 0: 0 itself, or what is subtracted from the input. */
static filler find_filler(const tw_op *op, int input)
{
    const tw_formula *f = op->value;
    int result = f->n_vars + f->n_steps - 1;
    filler with = {.any = true, .held = -1};
    if (vanishes(f, result, input, &with)) return with;
    for (int i = 0; i < f->n_steps; i++) {
        int less = f->step[i].arg[1];
        if (f->step[i].fn != TW_FN_SUBTRACT || f->step[i].arg[0] != input) continue;
        if (less < f->n_vars && (less < tw_op_output(op) || op->held[less - tw_op_output(op)].loop >= 0)) continue;
        if (less >= f->n_vars && f->step[less - f->n_vars].fn != TW_FN_CONSTANT) continue;
        with.held = less < f->n_vars ? less : -1;
        with.constant = less < f->n_vars ? 0 : f->step[less - f->n_vars].constant;
        if (vanishes(f, result, input, &with)) return with;
    }
    return (filler){.any = false};
}

static filler filler_of(const tw_op *op, int input)
{
    const filler zero = {.any = true, .held = -1}, none = {.any = false};
    switch (op->compute) {
    case TW_MULTIPLY_ADD:
    case TW_ADD: return op->value ? find_filler(op, input) : zero;
    case TW_MAX: /* the rim is as an operator of the same kind leaves it */
    case TW_MIN:
    case TW_PRODUCT: return op->value ? none : zero;
    case TW_AVERAGE: return op->average_counts_padding ? zero : none;
    default: return none;
    }
}

bool tw_padding_can_be_written(const tw_op *op, int operand)
{
    const tw_operand *o = &op->operand[operand];
    return operand != tw_op_output(op) && o->rows.count == 0 && o->scattered == 0 && filler_of(op, operand).any;
}

/* ---- operators ---- */

/* The input itself, and in the rim the filler. */
static const tw_formula *copy_or_fill(const filler *with, tw_arena *arena)
{
    tw_formula_draft draft = {.n_vars = with->held >= 0 ? 2 : 1};
    if (with->held < 0 && with->constant == 0) return tw_formula_finish(&draft, 0, arena);
    int rim = with->held >= 0 ? 1 : tw_formula_constant(&draft, with->constant);
    int present = tw_formula_call(&draft, TW_FN_PRESENT, 0, 0, 0);
    return tw_formula_finish(&draft, tw_formula_call(&draft, TW_FN_SELECT, present, 0, rim), arena);
}

/* One loop along each axis of the larger tensor. */
static void walk_axes(const tw_op *op, int operand, tw_op *out)
{
    static const char *const name[TW_MAX_AXES] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
    const tw_operand *from = &op->operand[operand];
    tw_excess e = tw_excess_of(op, operand);
    tw_operand *in = &out->operand[0], *to = &out->operand[1];
    in->n_axes = to->n_axes = out->n_loops = from->n_axes;
    for (int a = 0; a < from->n_axes; a++) {
        int64_t extent = from->axis[a].extent + e.lo[a] + e.hi[a];
        out->loop[a] = (tw_loop){name[a], extent, false};
        to->axis[a] = (tw_axis){.extent = extent, .divisor = 1, .n_terms = 1, .term = {{a, 1}}};
        in->axis[a] = to->axis[a];
        in->axis[a].extent = from->axis[a].extent;
        in->axis[a].offset = -e.lo[a];
    }
}

const tw_op *tw_padding_op(const tw_op *op, int operand, int to, bool maps, const char *name, tw_arena *arena)
{
    const tw_operand *from = &op->operand[operand];
    filler with = filler_of(op, operand);
    bool sums = op->compute == TW_MULTIPLY_ADD || op->compute == TW_ADD || op->compute == TW_AVERAGE,
         plain = with.held < 0 && with.constant == 0;
    tw_op *out = TW_NEW(arena, tw_op, 1);
    if (!out) return NULL;
    *out = (tw_op){.name = name, .loc = op->loc, .n_operands = 2, .compute = op->compute};
    out->average_counts_padding = op->average_counts_padding;
    out->from = op->from;
    out->from.n_nodes = 0;
    out->from.plain = NULL;
    out->operand[0] = (tw_operand){.name = from->name, .tensor = from->tensor};
    out->operand[1] = (tw_operand){.name = "padded", .tensor = to};
    walk_axes(op, operand, out);
    if (!sums || (!maps && plain)) return out;
    out->compute = TW_MAP;
    if (!(out->value = copy_or_fill(&with, arena))) return NULL;
    if (with.held >= 0) out->n_held = 1, out->held[0] = op->held[with.held - tw_op_output(op)];
    return out;
}

tw_op tw_padding_taken(const tw_op *op, int operand, int to)
{
    tw_op out = *op;
    tw_excess e = tw_excess_of(op, operand);
    out.operand[operand].tensor = to;
    for (int a = 0; a < op->operand[operand].n_axes; a++) {
        out.operand[operand].axis[a].extent += e.lo[a] + e.hi[a];
        out.operand[operand].axis[a].offset += e.lo[a];
    }
    return out;
}

tw_tensor tw_padded_tensor(const tw_op *op, int operand, tw_dtype dtype, const char *name)
{
    const tw_operand *from = &op->operand[operand];
    tw_excess e = tw_excess_of(op, operand);
    tw_tensor t = {.name = name, .loc = op->loc, .dtype = dtype, .n_axes = from->n_axes, .role = TW_ROLE_BETWEEN};
    t.bytes = tw_dtype_bytes(dtype);
    for (int a = 0; a < from->n_axes; a++) {
        t.extent[a] = from->axis[a].extent + e.lo[a] + e.hi[a];
        t.bytes *= t.extent[a];
    }
    return t;
}

/* ---- models ---- */

typedef struct writer {
    tw_model *model;
    tw_tensor *tensor;
    tw_op *op;
    bool maps;
    tw_arena *arena;
    tw_diag *diag;
    tw_loc loc;
} writer;

static tw_status write_one(writer *w, const tw_written_padding *which)
{
    tw_model *model = w->model;
    int at = tw_model_find_op(model, which->op),
        operand = at < 0 ? -1 : tw_op_find_operand(&w->op[at], which->operand);
    if (operand < 0 || operand == tw_op_output(&w->op[at]))
        return tw_diag_error(w->diag, w->loc, "'%s.%s' is no input of an operator", which->op, which->operand);
    const tw_op op = w->op[at];
    if (!tw_excess_of(&op, operand).any)
        return tw_diag_error(w->diag, w->loc, "'%s.%s' has no padding beyond half a kernel, so none is written",
                             which->op, which->operand);
    if (!tw_padding_can_be_written(&op, operand))
        return tw_diag_error(w->diag, w->loc, "no number in the padding of '%s.%s' adds nothing to what '%s' makes",
                             which->op, which->operand, which->op);
    const char *name = tw_arena_printf(w->arena, "%s.%s.padded", which->op, which->operand);
    if (!name) return TW_ERR_NOMEM;
    if (tw_model_find_op(model, name) >= 0)
        return tw_diag_error(w->diag, w->loc, "there is an operator '%s' already", name);
    int to = model->n_tensors++;
    w->tensor[to] = tw_padded_tensor(&op, operand, w->tensor[op.operand[operand].tensor].dtype, name);
    w->tensor[to].root = to;
    const tw_op *pad = tw_padding_op(&op, operand, to, w->maps, name, w->arena);
    if (!pad) return TW_ERR_NOMEM;
    memmove(&w->op[at + 1], &w->op[at], (size_t)(model->n_ops++ - at) * sizeof *w->op);
    w->op[at] = *pad;
    w->op[at].accumulator = w->tensor[to].dtype;
    w->op[at + 1] = tw_padding_taken(&op, operand, to);
    w->op[at + 1].wants_fusion = false;
    return TW_OK;
}

tw_status tw_model_write_padding(const tw_model *model, int n, const tw_written_padding *which, bool maps,
                                 tw_loc loc, tw_arena *arena, tw_diag *diag, const tw_model **out)
{
    writer w = {.maps = maps, .arena = arena, .diag = diag, .loc = loc};
    tw_written_padding *list;
    TW_ALLOC(arena, w.model, 1);
    TW_ALLOC(arena, w.tensor, model->n_tensors + n);
    TW_ALLOC(arena, w.op, model->n_ops + n);
    TW_ALLOC(arena, list, n);
    *w.model = *model;
    w.model->given = model->given ? model->given : model;
    memcpy(w.tensor, model->tensor, (size_t)model->n_tensors * sizeof *w.tensor);
    memcpy(w.op, model->op, (size_t)model->n_ops * sizeof *w.op);
    memcpy(list, which, (size_t)n * sizeof *list);
    w.model->tensor = w.tensor;
    w.model->op = w.op;
    w.model->n_written = n;
    w.model->written = list;
    for (int i = 0; i < n; i++) TW_TRY(write_one(&w, &which[i]));
    TW_TRY(tw_model_check(w.model, diag));
    *out = w.model;
    return TW_OK;
}
