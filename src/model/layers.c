/* src/model/layers.c - see layers.h: two operators are equal when they print as the same text without names and formulas. */
#include "model/layers.h"

#include "core/table.h"

#include <string.h>

/* The tensor of operand i as the operator sees it. */
static tw_status own_tensor(const tw_model *model, const tw_op *op, int i, const char *name, tw_tensor *out)
{
    const tw_operand *operand = &op->operand[i];
    const tw_tensor *seen = &model->tensor[operand->tensor];
    *out =
        (tw_tensor){.name = name, .dtype = seen->dtype, .n_axes = operand->n_axes, .role = seen->role, .root = i};
    for (int a = 0; a < operand->n_axes; a++) out->extent[a] = operand->axis[a].extent;
    out->bytes = tw_operand_elems(operand) * tw_dtype_bytes(seen->dtype);
    out->is_output = i == tw_op_output(op);
    return name ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_model_of_op(const tw_model *model, int number, const char *name, tw_arena *arena, const tw_model **out)
{
    const tw_op *from = &model->op[number];
    tw_model *copy;
    tw_op *op;
    tw_tensor *tensor;
    TW_ALLOC(arena, copy, 1);
    TW_ALLOC(arena, op, 1);
    TW_ALLOC(arena, tensor, from->n_operands);
    *op = *from;
    op->name = name;
    op->from = (tw_op_origin){0};
    for (int h = 0; h < op->n_held; h++) op->held[h].tensor = -1;
    for (int o = 0; o < op->n_operands; o++) {
        const char *own = op->operand[o].name;
        TW_TRY(own_tensor(model, from, o, *name ? tw_arena_printf(arena, "%s.%s", name, own) : own, &tensor[o]));
        op->operand[o].tensor = o;
        op->operand[o].rows = (tw_selection){0};
    }
    *copy = (tw_model){*name ? name : "layer", op->n_operands, tensor, 1, op};
    *out = copy;
    return TW_OK;
}

/* What counts for a plan. */
static tw_status print_bare(const tw_model *model, int number, tw_arena *scratch, tw_text *out)
{
    const tw_model *one;
    TW_TRY(tw_model_of_op(model, number, "", scratch, &one));
    tw_op op = one->op[0];
    tw_model bare = *one;
    op.value = op.finish = NULL;
    op.n_held = 0;
    bare.op = &op;
    tw_model_print(&bare, out);
    if (tw_op_is_move(one, &one->op[0])) tw_text_printf(out, "moves\n");
    return out->failed ? TW_ERR_NOMEM : TW_OK;
}

static tw_status layer_of(const tw_model *model, int number, tw_table *table, tw_arena *scratch, int **out)
{
    tw_text text = {0};
    bool found;
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = print_bare(model, number, scratch, &text);
    tw_arena_rewind(scratch, mark);
    *out = status == TW_OK ? tw_table_text(table, text.bytes, &found) : NULL;
    tw_text_release(&text);
    return *out ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_layers_find(const tw_model *model, const tw_deadline *deadline, tw_arena *arena, tw_arena *scratch,
                         tw_layers *out)
{
    enum { WORK = 512 };
    tw_pulse pulse = {.deadline = deadline};
    tw_table *table = tw_table_new(sizeof(int), scratch); /* of numbers from 1 on */
    int *of, *first, *count, n = 0, *number;
    if (!table) return TW_ERR_NOMEM;
    TW_ALLOC(arena, of, model->n_ops + 1);
    TW_ALLOC(arena, first, model->n_ops + 1);
    TW_ALLOC(arena, count, model->n_ops + 1);
    for (int o = 0; o < model->n_ops; o++) {
        of[o] = -1;
        if (tw_pulse_is_over(&pulse, WORK)) return TW_STOPPED;
        if (model->op[o].kind != TW_OP_DESCRIBED) continue;
        TW_TRY(layer_of(model, o, table, scratch, &number));
        if (*number == 0) first[n] = o, *number = ++n;
        of[o] = *number - 1;
        count[of[o]]++;
    }
    *out = (tw_layers){n, of, first, count};
    return TW_OK;
}
