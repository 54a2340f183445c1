/* src/plan/several.c - the plan of a model on several cores, held against layers on one. */
#include "plan/several.h"

#include "core/deadline.h"
#include "fuse/cores.h"
#include "fuse/exact.h"
#include "fuse/least_cores.h"
#include "fuse/order.h"
#include "plan/fused.h"
#include "plan/polish.h"
#include "search/search.h"

#include <math.h>

bool tw_several_is_asked(const tw_request *asked)
{
    const tw_platform *platform = asked->machine->platform;
    return platform && !asked->options->limits && tw_fused_suits(asked) &&
           (platform->n_cores > 1 || tw_several_is_needed(asked));
}

/* Whether the engine that operators one by one run on leaves one of them to another engine of the machine. */
static bool has_several_engines(const tw_request *asked)
{
    for (int i = 0; i < asked->model->n_ops; i++)
        if (!tw_machine_computes(asked->machine, &asked->model->op[i]) &&
            tw_platform_find_computing(asked->machine->platform, &asked->model->op[i]) >= 0)
            return true;
    return false;
}

static bool has_pieces(const tw_request *asked)
{
    for (int i = 0; i < asked->model->n_ops; i++)
        if (tw_op_has_pieces(&asked->model->op[i])) return true;
    return false;
}

bool tw_several_is_needed(const tw_request *asked)
{
    const char *ignored;
    tw_loc loc;
    return asked->machine->platform && (tw_platform_needs_groups(asked->machine->platform, &ignored, &loc) ||
                                        has_several_engines(asked) || has_pieces(asked));
}

tw_status tw_several_bound(const tw_request *asked, tw_arena *scratch, tw_joint_search *search)
{
    tw_cores_least least;
    TW_TRY(tw_cores_least_of(asked->model, asked->machine, scratch, &least));
    search->bound = least.cycles;
    search->bound_by = least.by;
    search->bound_units = least.units;
    return TW_OK;
}

static tw_status write_search(const tw_request *asked, const tw_cores_found *found, const tw_plan *apart,
                              const tw_work *work, tw_joint_search *out)
{
    int n = asked->machine->platform->n_cores;
    *out = (tw_joint_search){
        .n_simulated = found->best.n_simulated, .n_cores = n, .alone = found->alone, .equal = found->equal};
    if (apart) out->apart = apart->sum;
    return tw_several_bound(asked, work->scratch, out);
}

/* For energy and delay together the scale is that of the fastest plan. */
static tw_status find_groups(const tw_request *asked, const tw_plan *apart, const tw_work *work,
                             tw_cores_found *found, tw_fused_scale *scale)
{
    tw_measure measure = scale->measure;
    if (!apart && measure == TW_EDP) {
        scale->measure = TW_CYCLES;
        tw_fuse_request quick = {.model = asked->model,
                                 .machine = asked->machine,
                                 .by = {tw_fused_price, scale},
                                 .n_threads = tw_search_threads(asked->options)};
        TW_TRY(tw_cores_find(&quick, work, found));
        *scale = (tw_fused_scale){measure, (double)tw_max(1, found->best.cycles),
                                  (double)tw_max(1, found->best.energy_fj), 0, 0};
    }
    const tw_fuse_request request = {.model = asked->model,
                                     .machine = asked->machine,
                                     .by = {tw_fused_price, scale},
                                     .n_threads = tw_search_threads(asked->options)};
    return tw_cores_find(&request, work, found);
}

/* The price of what was found; INFINITY: nothing was. */
static double price_of(const tw_pricing *by, const tw_fused *found)
{
    if (found->mapping.n_groups == 0) return INFINITY;
    return by->price(by->user, (double)found->cycles, (double)found->energy_fj);
}

/* Where branches alternate: the small space of the operators in the order in which each stands behind what it reads, in which a branch can be one run. */
static tw_status find_in_branches(const tw_fuse_request *given, const tw_work *work, tw_cores_found *found,
                                  tw_joint_search *search)
{
    tw_fuse_request request = *given;
    tw_model *model;
    int *order;
    bool same;
    tw_exact exact;
    double known = price_of(&given->by, &found->best);
    TW_ALLOC(work->arena, model, 1);
    TW_TRY(tw_order_follow(given->model, work->arena, model, &order, &same));
    if (same) return TW_OK;
    request.model = model;
    TW_TRY(tw_exact_find(&request, known, work, &exact));
    search->n_simulated += exact.n_tried;
    if (exact.best.mapping.n_groups == 0) return TW_OK;
    found->best = exact.best;
    return tw_order_restore(order, work->arena, &found->best.mapping);
}

/* What must be beaten: what was found, or the plan of another model that computes the same, if that is better. */
static double known_price(const tw_pricing *by, const tw_cores_found *found, const tw_plan *given)
{
    double known = price_of(by, &found->best);
    return given ? fmin(known, by->price(by->user, (double)given->sum.cycles, (double)given->sum.energy_fj))
                 : known;
}

/* Lists the small space of fuse/exact.h, if there is one: what is better there is taken, and nothing there is better than the answer. Needless where no plan at
 * all is. `given`: see tw_several_beat. */
static tw_status find_exactly(const tw_request *asked, const tw_pricing *by, const tw_plan *given,
                              const tw_work *work, tw_cores_found *found, tw_joint_search *search)
{
    const tw_fuse_request request = {
        .model = asked->model, .machine = asked->machine, .by = *by, .is_attempt = given != NULL};
    double known = known_price(by, found, given);
    tw_exact exact;
    bool any = found->best.mapping.n_groups > 0;
    if (any && search->measure == TW_CYCLES && found->best.cycles <= search->bound) return TW_OK;
    TW_TRY(tw_exact_find(&request, known, work, &exact));
    search->space = exact.complete ? exact.n_mappings : 0;
    search->n_simulated += exact.n_tried;
    if (exact.best.mapping.n_groups > 0) found->best = exact.best;
    return given ? TW_OK : find_in_branches(&request, work, found, search);
}

/* Whether small changes of what was found could still make it better than the given plan: they rarely gain a tenth. */
static bool is_close(const tw_pricing *by, const tw_cores_found *found, const tw_plan *given)
{
    return !given || price_of(by, &found->best) <=
                         1.15 * by->price(by->user, (double)given->sum.cycles, (double)given->sum.energy_fj);
}

static tw_status find(const tw_request *asked, const tw_plan *apart, const tw_plan *given, const tw_work *work,
                      const tw_plan **out)
{
    tw_cores_found found;
    tw_mapping *mapping;
    tw_joint_search *search;
    tw_fused_scale s = tw_fused_scale_of(asked, apart ? &apart->sum : NULL);
    const tw_pricing by = {tw_fused_price, &s};
    int64_t start = tw_deadline_now();
    *out = apart;
    tw_status status = find_groups(asked, apart, work, &found, &s);
    if (status == TW_INFEASIBLE && apart) return TW_OK;
    if (status != TW_INFEASIBLE) TW_TRY(status); /* what the search does not find, the small space may have */
    TW_ALLOC(work->arena, mapping, 1);
    TW_ALLOC(work->arena, search, 1);
    TW_TRY(write_search(asked, &found, apart, work, search));
    search->measure = s.measure;
    TW_TRY(find_exactly(asked, &by, given, work, &found, search));
    if (found.best.mapping.n_groups == 0 || !is_close(&by, &found, given)) return TW_INFEASIBLE;
    if (apart && !tw_fused_is_better(&s, &found.best, &apart->sum)) return TW_OK;
    *mapping = found.best.mapping;
    search->seconds = tw_deadline_since(start);
    TW_TRY(tw_mapping_check(mapping, asked->model, asked->machine, work->diag));
    const tw_deadline *deadline = work->diag->deadline; /* the last simulation is short, and not given up */
    work->diag->deadline = NULL;
    status = tw_plan_build_joint(asked->model, asked->machine, mapping, search, work, out);
    work->diag->deadline = deadline;
    return status == TW_OK ? tw_joint_polish(*out, &by, NULL, work, out) : status;
}

tw_status tw_several_find(const tw_request *asked, const tw_plan *apart, const tw_work *work, const tw_plan **out)
{
    return find(asked, apart, NULL, work, out);
}

tw_status tw_several_beat(const tw_request *asked, const tw_plan *given, const tw_work *work, const tw_plan **out)
{
    return find(asked, NULL, given, work, out);
}
