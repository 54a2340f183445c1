/* src/model/divided.c - see divided.h. A tensor that is divided becomes its first part, and the others stand behind all tensors. */
#include "model/divided.h"

#include <string.h>

/* A tensor that is in parts. */
typedef struct parts {
    int axis;         /* -1: it is whole */
    const char *name; /* of the whole */
    int n, tensor[TW_MAX_PIECES];
    tw_span span[TW_MAX_PIECES];
} parts;

typedef struct writer {
    tw_model *model;
    tw_tensor *tensor;
    tw_op *op;
    parts *parts; /* of each tensor */
    tw_arena *arena;
    tw_diag *diag;
    tw_loc loc;
} writer;

/* The operator that is being divided. */
typedef struct piecewise {
    tw_op op;
    int loop;
    bool sums;
    const tw_divided_op *which;
    tw_span span[TW_MAX_PIECES];
    int first; /* tensor that the first piece makes */
} piecewise;

bool tw_op_can_be_divided(const tw_op *op, int loop)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    bool adds = op->compute == TW_MULTIPLY_ADD || op->compute == TW_ADD;
    if (op->kind != TW_OP_DESCRIBED || op->loop[loop].extent < 2 || out->rows.count > 0 || out->scattered > 0)
        return false;
    for (int i = 0; i < op->n_held; i++)
        if (op->held[i].loop == loop) return false; /* a vector that each piece would need a part of */
    return adds || !op->loop[loop].reduces;
}

static void cut_loop(piecewise *p)
{
    int64_t sum = 0, before = 0, extent = p->op.loop[p->loop].extent;
    for (int k = 0; k < p->which->n; k++) sum += p->which->share[k];
    for (int k = 0; k < p->which->n; k++) {
        p->span[k].lo = extent * before / sum;
        before += p->which->share[k];
        p->span[k].hi = extent * before / sum;
    }
}

static tw_status check_piecewise(const writer *w, const piecewise *p)
{
    const tw_op *op = &p->op;
    for (int i = 0; i < p->which->n; i++)
        if (p->span[i].lo == p->span[i].hi)
            return tw_diag_error(w->diag, w->loc, "piece %d of '%s' has nothing of '%s', whose extent is %" PRId64,
                                 i, op->name, p->which->loop, op->loop[p->loop].extent);
    int made = op->operand[tw_op_output(op)].tensor;
    if (!p->sums && w->tensor[made].is_output)
        return tw_diag_error(w->diag, w->loc, "'%s' makes an output of the model, which cannot be divided",
                             op->name);
    for (int t = 0; t < w->model->n_tensors && !p->sums; t++)
        if (t != made && w->tensor[t].root == w->tensor[made].root)
            return tw_diag_error(w->diag, w->loc, "'%s' makes '%s', of which '%s' is a view: it cannot be divided",
                                 op->name, w->tensor[made].name, w->tensor[t].name);
    if (p->sums && p->which->n > TW_MAX_SUMS)
        return tw_diag_error(w->diag, w->loc, "'%s' is divided into %d sums, of which at most %d are added up",
                             op->name, p->which->n, TW_MAX_SUMS);
    return TW_OK;
}

/* ---- who reads parts ---- */

/* The parts that the operator finds along the axis of an input, as it is before: from the first to the last. */
static void find_touched(const tw_op *op, const tw_axis *axis, const parts *of, int *first, int *last)
{
    int64_t least, most;
    if (!tw_axis_values(axis, op, &least, &most)) least = most = 0; /* the check of the model says so */
    int64_t lo = tw_max(0, tw_fdiv(least, axis->divisor)), hi = tw_fdiv(most, axis->divisor);
    for (*first = 0; *first < of->n - 1 && of->span[*first].hi <= lo;) ++*first;
    for (*last = *first; *last < of->n - 1 && of->span[*last].hi <= hi;) ++*last;
}

/* An input as one of the parts of its tensor. */
static void read_part(tw_operand *operand, const parts *of, int i)
{
    tw_axis *axis = &operand->axis[of->axis];
    operand->tensor = of->tensor[i];
    axis->extent = tw_span_len(of->span[i]);
    axis->offset -= of->span[i].lo * axis->divisor;
}

/* An input whose tensor is in parts becomes the first one that is touched, and the others stand beside it. */
static tw_status read_parts(const writer *w, tw_op *op, int input, const parts *of)
{
    const tw_operand whole = op->operand[input];
    int first, last;
    if (whole.n_axes != w->tensor[whole.tensor].n_axes || whole.scattered > 0 || whole.rows.count > 0)
        return tw_diag_error(w->diag, w->loc, "'%s' sees '%s', which is divided, in another shape", op->name,
                             of->name);
    find_touched(op, &whole.axis[of->axis], of, &first, &last);
    if (op->n_operands + last - first > TW_MAX_OPERANDS)
        return tw_diag_error(w->diag, w->loc,
                             "'%s' reads %d parts of '%s', more than an operator has operands for: it must be "
                             "divided alike",
                             op->name, last - first + 1, of->name);
    read_part(&op->operand[input], of, first);
    for (int i = first + 1; i <= last; i++) {
        int at = tw_op_output(op);
        const char *name = tw_arena_printf(w->arena, "%s_%d", whole.name, i - first);
        if (!name) return TW_ERR_NOMEM;
        op->operand[at + 1] = op->operand[at];
        op->operand[at] = whole;
        op->operand[at].name = name;
        op->operand[at].beside = input + 1;
        read_part(&op->operand[at], of, i);
        op->n_operands++;
    }
    return TW_OK;
}

/* All inputs that are whole while their tensors are in parts. */
static tw_status read_all_parts(const writer *w, tw_op *op)
{
    for (int o = 0; o < tw_op_output(op); o++) {
        const parts *of = &w->parts[op->operand[o].tensor];
        if (of->axis < 0 || op->operand[o].axis[of->axis].extent != of->span[of->n - 1].hi) continue;
        TW_TRY(read_parts(w, op, o, of));
    }
    return TW_OK;
}

/* ---- pieces ---- */

/* The axis of the output along which a parallel loop runs. */
static int axis_of(const tw_op *op, int loop)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    int a = 0;
    while (out->axis[a].n_terms == 0 || out->axis[a].term[0].loop != loop) a++;
    return a;
}

/* One piece, which makes the tensor `to`. */
static tw_status write_piece(const writer *w, const piecewise *p, int i, int to, tw_op *out)
{
    int last = tw_op_output(&p->op);
    *out = p->op;
    if (p->sums) out->finish = NULL;
    if (!out->value && !out->finish) out->n_held = 0;
    out->wants_fusion = false;
    out->loop[p->loop].extent = tw_span_len(p->span[i]);
    for (int o = 0; o < last; o++)
        for (int a = 0; a < out->operand[o].n_axes; a++) {
            tw_axis *axis = &out->operand[o].axis[a];
            for (int t = 0; t < axis->n_terms; t++)
                if (axis->term[t].loop == p->loop) axis->offset += axis->term[t].coef * p->span[i].lo;
        }
    out->operand[last].tensor = to;
    if (p->sums)
        out->operand[last].name = "sums";
    else
        out->operand[last].axis[axis_of(&p->op, p->loop)].extent = tw_span_len(p->span[i]);
    return read_all_parts(w, out);
}

/* The tensor of piece i: sums of all elements, or a part of them. */
static tw_tensor piece_tensor(const piecewise *p, int i, tw_dtype dtype, const char *name)
{
    const tw_operand *is = &p->op.operand[tw_op_output(&p->op)];
    tw_tensor t = {.name = name, .loc = p->op.loc, .n_axes = is->n_axes, .role = TW_ROLE_BETWEEN};
    t.dtype = p->sums ? p->op.accumulator : dtype;
    t.bytes = tw_dtype_bytes(t.dtype);
    for (int a = 0; a < is->n_axes; a++) {
        bool cut = !p->sums && a == axis_of(&p->op, p->loop);
        t.extent[a] = cut ? tw_span_len(p->span[i]) : is->axis[a].extent;
        t.bytes *= t.extent[a];
    }
    return t;
}

/* Adds up the sums: one loop along each axis of the output. */
static void write_adder(const piecewise *p, tw_op *out)
{
    static const char *const name[TW_MAX_SUMS] = {"sum0", "sum1", "sum2", "sum3", "sum4"};
    const tw_op *op = &p->op;
    const tw_operand *is = &op->operand[tw_op_output(op)];
    int at[TW_MAX_LOOPS], n = p->which->n;
    *out = (tw_op){.name = op->name, .loc = op->loc, .from = op->from, .compute = TW_ADD, .n_operands = n + 1};
    out->finish = op->finish;
    out->accumulator = op->accumulator;
    for (int l = 0; l < op->n_loops; l++) {
        at[l] = out->n_loops;
        if (!op->loop[l].reduces) out->loop[out->n_loops++] = op->loop[l];
    }
    for (int i = 0; i <= n; i++) {
        tw_operand *operand = &out->operand[i];
        *operand = *is;
        for (int a = 0; a < is->n_axes; a++) operand->axis[a].term[0].loop = at[is->axis[a].term[0].loop];
        if (i < n) operand->name = name[i], operand->tensor = p->first + i;
    }
    if (!op->finish) return;
    out->n_held = op->n_held;
    for (int i = 0; i < op->n_held; i++) {
        out->held[i] = op->held[i];
        if (op->held[i].loop >= 0) out->held[i].loop = at[op->held[i].loop];
    }
}

/* Names of operators and tensors; "conv.sum0", "conv.part0" and, of the tensor, "x.part0". */
static tw_status name_piece(const writer *w, const piecewise *p, int i, const char **op, const char **tensor)
{
    const char *made = w->tensor[p->op.operand[tw_op_output(&p->op)].tensor].name;
    *op = tw_arena_printf(w->arena, p->sums ? "%s.sum%d" : "%s.part%d", p->op.name, i);
    *tensor = p->sums ? *op : tw_arena_printf(w->arena, "%s.part%d", made, i);
    return *op && *tensor ? TW_OK : TW_ERR_NOMEM;
}

static tw_status check_names(const writer *w, const piecewise *p)
{
    for (int i = 0; i < p->which->n; i++) {
        const char *op, *tensor;
        TW_TRY(name_piece(w, p, i, &op, &tensor));
        if (tw_model_find_op(w->model, op) >= 0)
            return tw_diag_error(w->diag, w->loc, "there is an operator '%s' already", op);
    }
    return TW_OK;
}

/* The pieces from operator `at` on. */
static tw_status write_pieces(writer *w, piecewise *p, int at)
{
    int made = p->op.operand[tw_op_output(&p->op)].tensor;
    tw_dtype dtype = w->tensor[made].dtype;
    const char *whole = w->tensor[made].name;
    parts *of = &w->parts[made];
    const char *op, *tensor, *first = NULL;
    p->first = w->model->n_tensors;
    for (int i = 0; i < p->which->n; i++) {
        int to = i == 0 && !p->sums ? made : w->model->n_tensors++;
        TW_TRY(name_piece(w, p, i, &op, &tensor));
        if (i == 0) first = tensor;
        TW_TRY(write_piece(w, p, i, to, &w->op[at + i]));
        w->op[at + i].name = op;
        if (to != made) w->tensor[to] = piece_tensor(p, i, dtype, tensor);
        w->tensor[to].root = to;
        if (!p->sums) of->tensor[i] = to, of->span[i] = p->span[i];
    }
    if (p->sums) return TW_OK;
    w->tensor[made] = piece_tensor(p, 0, dtype, first);
    w->tensor[made].root = made;
    of->axis = axis_of(&p->op, p->loop);
    of->name = whole;
    of->n = p->which->n;
    return TW_OK;
}

static tw_status divide_one(writer *w, const tw_divided_op *which)
{
    tw_model *model = w->model;
    int at = tw_model_find_op(model, which->op), loop = at < 0 ? -1 : tw_op_find_loop(&w->op[at], which->loop);
    if (loop < 0)
        return tw_diag_error(w->diag, w->loc, "'%s' is no operator with a loop '%s'", which->op, which->loop);
    piecewise p = {.op = w->op[at], .loop = loop, .sums = w->op[at].loop[loop].reduces, .which = which};
    if (!tw_op_can_be_divided(&p.op, loop))
        return tw_diag_error(w->diag, w->loc, "'%s' cannot be divided along '%s'", which->op, which->loop);
    cut_loop(&p);
    TW_TRY(check_piecewise(w, &p));
    TW_TRY(check_names(w, &p));
    int more = which->n - !p.sums;
    memmove(&w->op[at + more], &w->op[at], (size_t)(model->n_ops - at) * sizeof *w->op);
    model->n_ops += more;
    TW_TRY(write_pieces(w, &p, at));
    if (p.sums) write_adder(&p, &w->op[at + which->n]);
    return TW_OK;
}

tw_status tw_model_divide(const tw_model *model, int n, const tw_divided_op *which, tw_loc loc, tw_arena *arena,
                          tw_diag *diag, const tw_model **out)
{
    writer w = {.arena = arena, .diag = diag, .loc = loc};
    tw_divided_op *list;
    int more = 0;
    for (int i = 0; i < n; i++) more += which[i].n;
    TW_ALLOC(arena, w.model, 1);
    TW_ALLOC(arena, w.tensor, model->n_tensors + more);
    TW_ALLOC(arena, w.parts, model->n_tensors + more);
    TW_ALLOC(arena, w.op, model->n_ops + more);
    TW_ALLOC(arena, list, n);
    for (int t = 0; t < model->n_tensors + more; t++) w.parts[t].axis = -1;
    *w.model = *model;
    w.model->given = model->given ? model->given : model;
    memcpy(w.tensor, model->tensor, (size_t)model->n_tensors * sizeof *w.tensor);
    memcpy(w.op, model->op, (size_t)model->n_ops * sizeof *w.op);
    memcpy(list, which, (size_t)n * sizeof *list);
    w.model->tensor = w.tensor;
    w.model->op = w.op;
    w.model->n_divided = n;
    w.model->divided = list;
    for (int i = 0; i < n; i++) TW_TRY(divide_one(&w, &which[i]));
    for (int o = 0; o < w.model->n_ops; o++) TW_TRY(read_all_parts(&w, &w.op[o]));
    TW_TRY(tw_model_check(w.model, diag));
    *out = w.model;
    return TW_OK;
}
