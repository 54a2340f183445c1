/* src/api/restore.c - what the search for groups said of a plan, told and taken back; see restore.h. */
#include "api/restore.h"

#include "api/options.h"
#include "plan/context.h"
#include "plan/ends.h"

tw_status tw_plan_group_search(tw_context *ctx, const tw_plan *plan, tw_group_search *out)
{
    const tw_joint_search *s = plan->joint ? plan->joint->search : NULL;
    int64_t *cycles, *energy;
    if (!s || s->given) return TW_ERR_INPUT;
    int n = s->apart_op ? plan->model->n_ops : 0;
    TW_ALLOC(ctx->arena, cycles, n + 1);
    TW_ALLOC(ctx->arena, energy, n + 1);
    for (int i = 0; i < n; i++) cycles[i] = s->apart_op[i].cycles, energy[i] = s->apart_op[i].energy_fj;
    *out = (tw_group_search){.size = sizeof *out,
                             .measure = s->measure,
                             .cycles = plan->sum.cycles,
                             .energy_fj = plan->sum.energy_fj,
                             .layers_cycles = s->apart.cycles,
                             .layers_energy_fj = s->apart.energy_fj,
                             .n_ops = n,
                             .op_cycles = cycles,
                             .op_energy_fj = energy,
                             .bound = s->bound,
                             .bound_by = s->bound_by,
                             .bound_waits = s->bound_waits,
                             .n_simulated = s->n_simulated,
                             .n_cores = s->n_cores,
                             .alone = s->alone,
                             .equal = s->equal,
                             .space = s->space,
                             .bound_units = s->bound_units};
    return TW_OK;
}

tw_status tw_joint_search_of(tw_context *ctx, const tw_group_search *said, tw_joint_search *out)
{
    int64_t *alone;
    tw_summary *each;
    TW_ALLOC(ctx->arena, alone, said->n_cores + 1);
    TW_ALLOC(ctx->arena, each, said->n_ops + 1);
    for (int i = 0; i < said->n_cores; i++) alone[i] = said->alone[i];
    for (int i = 0; i < said->n_ops; i++)
        each[i] = (tw_summary){.cycles = said->op_cycles[i], .energy_fj = said->op_energy_fj[i]};
    *out = (tw_joint_search){.measure = said->measure,
                             .apart = {.cycles = said->layers_cycles, .energy_fj = said->layers_energy_fj},
                             .apart_op = said->n_ops > 0 ? each : NULL,
                             .bound = said->bound,
                             .bound_waits = said->bound_waits,
                             .n_simulated = said->n_simulated,
                             .n_cores = said->n_cores,
                             .alone = alone,
                             .equal = said->equal,
                             .space = said->space,
                             .bound_units = said->bound_units};
    if (!said->bound_by) return TW_OK;
    out->bound_by = tw_arena_printf(ctx->arena, "%s", said->bound_by);
    return out->bound_by ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_plan_restore_groups(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                 const tw_mapping *mapping, const tw_group_search *said, const tw_plan **out)
{
    tw_group_search own;
    tw_joint_search *search;
    const tw_plan *plan;
    TW_TRY(tw_group_search_take(said, &ctx->diag, &own));
    if (mapping->n_groups == 0 || !machine->platform || (own.n_ops > 0 && own.n_ops != model->n_ops))
        return tw_diag_error(&ctx->diag, (tw_loc){0},
                             "a mapping without groups is not what a search for groups found");
    TW_ALLOC(ctx->arena, search, 1);
    TW_TRY(tw_joint_search_of(ctx, &own, search));
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    const tw_work work = tw_context_work(ctx);
    tw_status status = tw_plan_build_joint(model, machine, mapping, search, &work, &plan);
    if (status == TW_OK && machine->platform->n_cores < 2) status = tw_joint_with_ends(plan, &work, &plan);
    tw_arena_rewind(ctx->scratch, mark);
    TW_TRY(status);
    if (plan->sum.cycles != own.cycles || plan->sum.energy_fj != own.energy_fj)
        return tw_diag_error(&ctx->diag, (tw_loc){0}, "the mapping is not the one that the search found");
    *out = plan;
    return TW_OK;
}
