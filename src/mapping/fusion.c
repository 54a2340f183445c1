/* src/mapping/fusion.c - whether operators can be fused, and which are by default; see fusion.h. */
#include "mapping/fusion.h"

#include "machine/discipline.h"

tw_status tw_fusion_check(const tw_model *model, int op, const tw_machine *machine, tw_loc loc, tw_diag *diag)
{
    const tw_op *at = &model->op[op];
    TW_TRY(tw_chain_check(model, op, loc, diag));
    if (!tw_discipline_of(machine)->fuses)
        return tw_diag_error(diag, loc, "operator '%s' is fused, which needs an async machine", at->name);
    tw_path in = tw_machine_path(machine, at, tw_chain_input(model, op));
    if (tw_path_innermost(in) != tw_path_innermost(tw_machine_role_path(machine, TW_HOLDS_OUTPUT)))
        return tw_diag_error(diag, loc,
                             "operator '%s' is fused, but the compute engine of '%s' does not read from the memory "
                             "that it writes",
                             at->name, machine->name);
    return TW_OK;
}

bool tw_fusion_is_default(const tw_model *model, int op, const tw_machine *machine)
{
    tw_diag muted = {.muted = true};
    return model->op[op].wants_fusion && tw_fusion_check(model, op, machine, model->op[op].loc, &muted) == TW_OK;
}

tw_fusion tw_fusion_of(const tw_op_map *map, int n, int op)
{
    return (tw_fusion){.before = map[op].fused, .behind = op + 1 < n && map[op + 1].fused};
}

int tw_group_size(const tw_op_map *map, int n, int first)
{
    int end = first + 1;
    while (end < n && map[end].fused) end++;
    return end - first;
}
