/* src/model/summed.c - see summed.h. */
#include "model/summed.h"

#include <string.h>

typedef struct writer {
    tw_model *model;
    tw_tensor *tensor;
    tw_op *op;
    tw_arena *arena;
    tw_diag *diag;
    tw_loc loc;
} writer;

bool tw_sum_can_be_divided(const tw_op *op, int loop)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    return op->kind == TW_OP_DESCRIBED && (op->compute == TW_MULTIPLY_ADD || op->compute == TW_ADD) &&
           op->loop[loop].reduces && op->loop[loop].extent > 1 && out->rows.count == 0 && out->scattered == 0;
}

static int find_op(const tw_model *model, const char *name)
{
    for (int o = 0; o < model->n_ops; o++)
        if (strcmp(model->op[o].name, name) == 0) return o;
    return -1;
}

static tw_span piece_of(const tw_divided_sum *which, int i, int64_t extent)
{
    int64_t sum = 0, before = 0;
    for (int k = 0; k < which->n; k++) sum += which->share[k];
    for (int k = 0; k < i; k++) before += which->share[k];
    return (tw_span){extent * before / sum, extent * (before + which->share[i]) / sum};
}

/* Sums over a piece of the loop, into a tensor of their own. */
static void write_piece(const tw_op *op, int loop, tw_span piece, int to, tw_op *out)
{
    int last = tw_op_output(op);
    out->finish = NULL;
    if (!op->value) out->n_held = 0;
    out->wants_fusion = false;
    out->loop[loop].extent = tw_span_len(piece);
    for (int o = 0; o < last; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            tw_axis *axis = &out->operand[o].axis[a];
            for (int t = 0; t < axis->n_terms; t++)
                if (axis->term[t].loop == loop) axis->offset += axis->term[t].coef * piece.lo;
        }
    out->operand[last].name = "sums";
    out->operand[last].tensor = to;
}

static tw_tensor sums_tensor(const tw_op *op, const char *name)
{
    const tw_operand *is = &op->operand[tw_op_output(op)];
    tw_tensor t = {.name = name,
                   .loc = op->loc,
                   .dtype = op->accumulator,
                   .n_axes = is->n_axes,
                   .bytes = tw_dtype_bytes(op->accumulator),
                   .role = TW_ROLE_BETWEEN};
    for (int a = 0; a < is->n_axes; a++) {
        t.extent[a] = is->axis[a].extent;
        t.bytes *= t.extent[a];
    }
    return t;
}

/* Adds up n tensors from number `first` on: one loop along each axis of the output. */
static void write_adder(const tw_op *op, int first, int n, tw_op *out)
{
    static const char *const name[TW_MAX_SUMS] = {"sum0", "sum1", "sum2", "sum3", "sum4"};
    const tw_operand *is = &op->operand[tw_op_output(op)];
    int at[TW_MAX_LOOPS];
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
        if (i < n) operand->name = name[i], operand->tensor = first + i;
    }
    if (!op->finish) return;
    out->n_held = op->n_held;
    for (int i = 0; i < op->n_held; i++) {
        out->held[i] = op->held[i];
        if (op->held[i].loop >= 0) out->held[i].loop = at[op->held[i].loop];
    }
}

static tw_status divide_one(writer *w, const tw_divided_sum *which)
{
    tw_model *model = w->model;
    int at = find_op(model, which->op), loop = at < 0 ? -1 : tw_op_find_loop(&w->op[at], which->loop);
    if (loop < 0)
        return tw_diag_error(w->diag, w->loc, "'%s' is no operator with a loop '%s'", which->op, which->loop);
    const tw_op op = w->op[at];
    if (!tw_sum_can_be_divided(&op, loop))
        return tw_diag_error(w->diag, w->loc, "'%s' adds nothing up along '%s' that can be added up in pieces",
                             which->op, which->loop);
    int first = model->n_tensors;
    for (int i = 0; i < which->n; i++) {
        const char *name = tw_arena_printf(w->arena, "%s.sum%d", op.name, i);
        if (!name) return TW_ERR_NOMEM;
        if (find_op(model, name) >= 0)
            return tw_diag_error(w->diag, w->loc, "there is an operator '%s' already", name);
    }
    memmove(&w->op[at + which->n], &w->op[at], (size_t)(model->n_ops - at) * sizeof *w->op);
    model->n_ops += which->n;
    for (int i = 0; i < which->n; i++) {
        tw_span piece = piece_of(which, i, op.loop[loop].extent);
        const char *name = tw_arena_printf(w->arena, "%s.sum%d", op.name, i);
        if (!name) return TW_ERR_NOMEM;
        if (piece.lo == piece.hi)
            return tw_diag_error(w->diag, w->loc, "sum %d of '%s' has nothing of '%s', whose extent is %" PRId64, i,
                                 op.name, which->loop, op.loop[loop].extent);
        w->tensor[model->n_tensors] = sums_tensor(&op, name);
        w->tensor[model->n_tensors].root = model->n_tensors;
        w->op[at + i] = op;
        w->op[at + i].name = name;
        write_piece(&op, loop, piece, model->n_tensors++, &w->op[at + i]);
    }
    write_adder(&op, first, which->n, &w->op[at + which->n]);
    return TW_OK;
}

tw_status tw_model_divide_sums(const tw_model *model, int n, const tw_divided_sum *which, tw_loc loc,
                               tw_arena *arena, tw_diag *diag, const tw_model **out)
{
    writer w = {.arena = arena, .diag = diag, .loc = loc};
    tw_divided_sum *list;
    int more = 0;
    for (int i = 0; i < n; i++) more += which[i].n;
    TW_ALLOC(arena, w.model, 1);
    TW_ALLOC(arena, w.tensor, model->n_tensors + more);
    TW_ALLOC(arena, w.op, model->n_ops + more);
    TW_ALLOC(arena, list, n);
    *w.model = *model;
    memcpy(w.tensor, model->tensor, (size_t)model->n_tensors * sizeof *w.tensor);
    memcpy(w.op, model->op, (size_t)model->n_ops * sizeof *w.op);
    memcpy(list, which, (size_t)n * sizeof *list);
    w.model->tensor = w.tensor;
    w.model->op = w.op;
    w.model->n_divided = n;
    w.model->divided = list;
    for (int i = 0; i < n; i++) TW_TRY(divide_one(&w, &which[i]));
    TW_TRY(tw_model_check(w.model, diag));
    *out = w.model;
    return TW_OK;
}
