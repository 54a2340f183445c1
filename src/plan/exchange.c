/* src/plan/exchange.c - asks for runs that exchange halos, and for pipelines that share stages, where a plan in groups is far from its bound, and builds the plan of what is found; see exchange.h. */
#include "plan/exchange.h"

#include "core/deadline.h"
#include "fuse/sharing.h"
#include "plan/fused.h"
#include "plan/polish.h"
#include "plan/several.h"

/* Whether there is little to win: a fiftieth of the bound at most. */
static bool is_near_bound(const tw_plan *plan, tw_measure measure)
{
    const tw_joint_search *search = plan->joint->search;
    return search && measure == TW_CYCLES && (double)plan->sum.cycles <= 1.02 * (double)search->bound;
}

/* Whether something of the plan may be divided for time. */
static bool is_asked(const tw_request *asked, const tw_plan *plan)
{
    const tw_joint_search *search = plan && plan->joint ? plan->joint->search : NULL;
    return search && search->measure != TW_TRAFFIC && asked->writes && !asked->options->limits &&
           !asked->options->pareto && tw_several_is_asked(asked) && asked->machine->platform->n_cores > 1 &&
           asked->model->n_divided == 0 && plan->model == asked->model && !is_near_bound(plan, search->measure);
}

/* The plan of what was found; what is known of the model as it was given holds of it, but for proofs. */
static tw_status build(const tw_plan *given, const tw_exchanged *found, const tw_pricing *by, double seconds,
                       const tw_work *work, const tw_plan **out)
{
    tw_mapping *mapping;
    tw_joint_search *search;
    TW_ALLOC(work->arena, mapping, 1);
    TW_ALLOC(work->arena, search, 1);
    *mapping = found->mapping;
    *search = *given->joint->search;
    search->space = 0;
    search->n_simulated += found->n_simulated;
    search->seconds += seconds;
    TW_TRY(tw_mapping_check(mapping, found->model, given->machine, work->diag));
    const tw_deadline *deadline = work->diag->deadline; /* the last simulation is short, and not given up */
    work->diag->deadline = NULL;
    tw_status status = tw_plan_build_joint(found->model, given->machine, mapping, search, work, out);
    work->diag->deadline = deadline;
    return status == TW_OK ? tw_joint_polish(*out, by, NULL, work, out) : status;
}

tw_status tw_exchange_improve(const tw_request *asked, const tw_work *work, const tw_plan **out)
{
    const tw_plan *given = *out;
    if (!is_asked(asked, given)) return TW_OK;
    tw_fused_scale scale = tw_fused_scale_of(asked, &given->sum);
    const tw_pricing by = {tw_fused_price, &scale};
    const tw_fuse_request request = {.model = asked->model, .machine = asked->machine, .by = by};
    const tw_fused base = {
        .cycles = given->sum.cycles, .energy_fj = given->sum.energy_fj, .mapping = *given->mapping};
    tw_exchanged found;
    int64_t start = tw_deadline_now();
    TW_TRY(tw_exchange_find(&request, &base, work, &found));
    if (!found.model) return TW_OK;
    return build(given, &found, &by, tw_deadline_since(start), work, out);
}

tw_status tw_sharing_improve(const tw_request *asked, const tw_plan *given, const tw_work *work,
                             const tw_plan **out)
{
    const tw_plan *best = *out;
    if (!is_asked(asked, given) || !best->joint || !best->joint->search ||
        is_near_bound(best, best->joint->search->measure))
        return TW_OK;
    tw_fused_scale scale = tw_fused_scale_of(asked, &given->sum);
    const tw_pricing by = {tw_fused_price, &scale};
    const tw_fuse_request request = {.model = asked->model, .machine = asked->machine, .by = by};
    const tw_fused base = {.mapping = *given->mapping};
    tw_exchanged found = {.cycles = best->sum.cycles, .energy_fj = best->sum.energy_fj};
    int64_t start = tw_deadline_now();
    TW_TRY(tw_sharing_find(&request, &base, work, &found));
    if (!found.model) return TW_OK;
    return build(best, &found, &by, tw_deadline_since(start), work, out);
}
