/* src/mapping/fusion.c - whether operators can be fused, and which are by default; see fusion.h. */
#include "mapping/fusion.h"

#include "mapping/mapping.h"
#include "model/layers.h"

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

typedef struct groups {
    const tw_model *model;
    const tw_op_map *map;
    tw_layers layers;
    bool open;
} groups;

static bool are_equal(const groups *g, int a, int b)
{
    int n = tw_group_size(g->map, g->model->n_ops, a);
    bool equal = n == tw_group_size(g->map, g->model->n_ops, b);
    for (int i = 0; equal && i < n; i++) {
        bool chained = i == 0 || tw_chain_input(g->model, a + i) == tw_chain_input(g->model, b + i);
        bool mapped = (i == 0 && g->open) || tw_op_map_same(&g->map[a + i], &g->map[b + i]);
        equal = g->layers.of[a + i] == g->layers.of[b + i] && chained && mapped;
    }
    return equal;
}

tw_status tw_groups_repeated(const tw_model *model, const tw_op_map *map, bool open, const tw_work *work,
                             const int **out)
{
    int *like;
    groups g = {.model = model, .map = map, .open = open};
    TW_ALLOC(work->arena, like, model->n_ops);
    tw_arena_mark mark = tw_arena_save(work->scratch);
    if (model->n_ops > 1) TW_TRY(tw_layers_find(model, NULL, work->scratch, work->scratch, &g.layers));
    for (int i = 0; i < model->n_ops; i++)
        while (like[i] < i && (map[like[i]].fused || !are_equal(&g, like[i], i))) like[i]++;
    tw_arena_rewind(work->scratch, mark);
    *out = like;
    return TW_OK;
}
