/* src/program/nest.c - from a group as it was written to its holds: see nest.h, and nestbuild.h for the steps. */
#include "program/nestbuild.h"

#include "mapping/groups.h"

/* ---- operators ---- */

static int64_t array_size(const tw_machine *machine, int dim)
{
    return dim < tw_cost_dims(&machine->engine[machine->compute].cost)
               ? machine->engine[machine->compute].cost.array.size[dim]
               : 1;
}

/* Lanes that share each loop over a dimension that memories are private to. */
static void share_loops(const tw_group_op *given, tw_nest_op *op)
{
    int64_t left[TW_MAX_DIMS];
    for (int d = 0; d < TW_MAX_DIMS; d++) left[d] = array_size(op->machine, d);
    for (int l = 0; l < op->op->n_loops; l++) {
        int d = op->over.dim[l] - 1;
        op->parts[l] = 1;
        if (d < 0 || !(op->split_dims >> d & 1)) continue;
        op->parts[l] = given->parts[l] > 0 ? given->parts[l] : tw_min(left[d], op->op->loop[l].extent);
        left[d] = tw_max(1, left[d] / op->parts[l]);
    }
}

/* The view for the operator at hand: with the cost that the engine has for it. */
static tw_status open_machine(const tw_machine *machine, const tw_op *op, tw_arena *arena, const tw_machine **out)
{
    tw_machine *own;
    TW_ALLOC(arena, own, 1);
    *own = *machine;
    if (own->has_apart >> op->compute & 1) own->engine[own->compute].cost = own->apart[op->compute];
    *out = own;
    return TW_OK;
}

static tw_status open_op(tw_nest_builder *b, int k)
{
    tw_nest *nest = b->nest;
    const tw_group_op *given = &nest->map->op[k];
    tw_nest_op *op = &nest->op[k];
    op->op = &nest->model->op[given->op];
    op->engine = tw_nest_view_of(nest, k)->engine;
    TW_TRY(open_machine(&tw_nest_view_of(nest, k)->machine, op->op, b->arena, &op->machine));
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    bool array = engine->cost.kind == TW_COST_ARRAY;
    if (array) op->over = tw_spread_or_default(&given->over, op->op, tw_cost_dims(&engine->cost));
    for (int m = 1; m < op->machine->n_memories && array; m++) op->split_dims |= op->machine->memory[m].per;
    share_loops(given, op);
    op->n_subs = 1;
    for (int l = 0; l < op->op->n_loops; l++) {
        bool cut = given->reduce[l] > 0 && op->op->loop[l].reduces;
        op->reduce[l] = cut ? tw_min(given->reduce[l], op->op->loop[l].extent) : op->op->loop[l].extent;
        if (cut) op->n_subs *= tw_cdiv(op->op->loop[l].extent, op->reduce[l]);
    }
    for (int o = 0; o < TW_MAX_OPERANDS; o++) op->input[o] = -1;
    for (int o = 0; o < op->op->n_operands; o++)
        op->elem_units[o] = tw_machine_units(op->machine, nest->model->tensor[op->op->operand[o].tensor].dtype, 1);
    op->made = -1;
    if (op->n_subs <= 1 << 20) return TW_OK;
    return tw_diag_error(b->diag, nest->map->loc, "'reduce' cuts operator '%s' into more than %d pieces",
                         op->op->name, 1 << 20);
}

tw_status tw_nest_build(tw_nest_builder *b, const tw_work *work)
{
    tw_nest *nest = b->nest;
    nest->n_ops = nest->map->n_ops;
    nest->n_places = nest->map->n_cuts;
    TW_ALLOC(b->arena, nest->op, nest->n_ops);
    for (int k = 0; k < nest->n_ops; k++) TW_TRY(open_op(b, k));
    int where;
    const char *why;
    if (nest->map->running > 0 && !tw_group_running(nest->map, nest->model, &nest->running, &where, &why))
        return tw_diag_error(b->diag, nest->map->loc, "reductions of group '%s' cannot run: of '%s', %s",
                             nest->map->name, nest->op[where].op->name, why);
    TW_TRY(tw_nest_check_first(b));
    TW_TRY(tw_nest_open_holds(b));
    TW_TRY(tw_nest_settle(b));
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = tw_nest_measure(b, work->scratch);
    tw_arena_rewind(work->scratch, mark);
    return status;
}
