/* src/mapping/record.c - records of searches, and their public views; see record.h. */
#include "mapping/record.h"

tw_status tw_objectives_check(int n, tw_diag *diag)
{
    if (n >= 0 && n <= TW_MAX_OBJECTIVES) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0}, "a search takes up to %d objectives, not %d", TW_MAX_OBJECTIVES, n);
}

tw_search_result tw_search_view(const tw_search_record *r)
{
    return (tw_search_result){.size = sizeof(tw_search_result),
                              .n_objectives = r->n_objectives,
                              .objective = r->objective,
                              .value = r->value,
                              .best = r->best,
                              .bound = r->bound,
                              .gap = r->gap,
                              .bound_by = r->bound_by,
                              .bound_at = r->bound_at,
                              .root_bound = r->root_bound,
                              .n_space = r->n_space,
                              .n_nodes = r->n_nodes,
                              .n_points = r->n_points,
                              .work = r->work,
                              .n_closed = TW_N_BOUNDS,
                              .closed = r->closed,
                              .n_optima = r->n_optima,
                              .proven = r->proven,
                              .ending = r->ending,
                              .space = r->space,
                              .seconds = r->seconds,
                              .by_default = r->by_default,
                              .limited = r->limited,
                              .within = r->within,
                              .least = r->least,
                              .bounds = r->bounds,
                              .fusion = r->fusion};
}

static tw_status keep_name(const char *name, tw_arena *arena, const char **out)
{
    *out = name ? tw_arena_printf(arena, "%s", name) : NULL;
    return !name || *out ? TW_OK : TW_ERR_NOMEM;
}

static tw_status keep_tables(const tw_search_result *r, tw_arena *arena, tw_search_record *out)
{
    for (int i = 0; i < r->n_objectives; i++) {
        out->objective[i].measure = r->objective[i].measure;
        out->value[i] = r->value[i];
        out->within[i] = r->within ? r->within[i] : 0;
        out->least[i] = r->least ? r->least[i] : r->value[i];
        out->bounds[i] = r->bounds ? r->bounds[i] : i == 0 ? r->bound : 0;
        TW_TRY(keep_name(r->objective[i].at, arena, &out->objective[i].at));
    }
    for (int i = 0; i < r->n_closed && i < TW_N_BOUNDS; i++) out->closed[i] = r->closed[i];
    return TW_OK;
}

tw_status tw_search_record_of(const tw_search_result *r, tw_arena *arena, tw_diag *diag, tw_search_record *out)
{
    *out = (tw_search_record){.missing = true};
    if (!r) return TW_OK;
    TW_TRY(tw_objectives_check(r->n_objectives, diag));
    *out = (tw_search_record){.n_objectives = r->n_objectives,
                              .best = r->best,
                              .bound = r->bound,
                              .gap = r->gap,
                              .bound_by = r->bound_by,
                              .root_bound = r->root_bound,
                              .n_space = r->n_space,
                              .n_nodes = r->n_nodes,
                              .n_points = r->n_points,
                              .work = r->work,
                              .n_optima = r->n_optima,
                              .proven = r->proven,
                              .ending = r->ending,
                              .space = r->space,
                              .seconds = r->seconds,
                              .by_default = r->by_default,
                              .limited = r->limited,
                              .fusion = r->fusion};
    TW_TRY(keep_name(r->bound_at, arena, &out->bound_at));
    return keep_tables(r, arena, out);
}
