/* src/machine/padding.c - see padding.h. */
#include "machine/padding.h"

/* The machine as engine i meets it: of several, or the only one. */
static const tw_machine *view_of(const tw_machine *machine, int i)
{
    return machine->platform ? &machine->platform->view[i].machine : machine;
}

static int count_views(const tw_machine *machine) { return machine->platform ? machine->platform->n_views : 1; }

bool tw_machine_maps(const tw_machine *machine)
{
    for (int i = 0; i < count_views(machine); i++) {
        const tw_machine *view = view_of(machine, i);
        if (view->engine[view->compute].computes >> TW_MAP & 1) return true;
    }
    return false;
}

bool tw_machine_limits_padding(const tw_machine *machine, const tw_op *op)
{
    bool limited = false;
    for (int i = 0; i < count_views(machine); i++) {
        const tw_machine *view = view_of(machine, i);
        if (!tw_machine_computes(view, op)) continue;
        if (!view->engine[view->compute].pad_half) return false;
        limited = true;
    }
    return limited;
}

static bool must_write(const tw_machine *machine, const tw_op *op, int operand)
{
    return tw_excess_of(op, operand).any && tw_machine_limits_padding(machine, op) &&
           tw_padding_can_be_written(op, operand);
}

tw_status tw_machine_finds_padding(const tw_machine *machine, const tw_model *model, tw_arena *arena, int *n,
                                   const tw_written_padding **out)
{
    tw_written_padding *list;
    *n = 0;
    TW_ALLOC(arena, list, model->n_ops * TW_MAX_OPERANDS + 1);
    for (int i = 0; i < model->n_ops; i++) {
        const tw_op *op = &model->op[i];
        for (int o = 0; op->kind == TW_OP_DESCRIBED && o < tw_op_output(op); o++)
            if (must_write(machine, op, o)) list[(*n)++] = (tw_written_padding){op->name, op->operand[o].name};
    }
    *out = list;
    return TW_OK;
}
