/* src/plan/fused.c - see fused.h. */
#include "plan/fused.h"

#include "core/deadline.h"
#include "fuse/least.h"
#include "machine/discipline.h"
#include "plan/polish.h"
#include "search/search.h"

/* Energy x time is made small where the sum of both, as shares of what they are now, is: close to it that is the same. */
double tw_fused_price(const void *user, double cycles, double energy_fj)
{
    const tw_fused_scale *s = user;
    if (s->measure == TW_ENERGY) return energy_fj + 1e-9 * cycles;
    if (s->measure == TW_EDP) return cycles / s->cycles + energy_fj / s->energy_fj;
    return cycles + 1e-9 * energy_fj / s->energy_fj;
}

static tw_measure measure_of(const tw_search_options *options)
{
    return options->n_objectives > 0 ? options->objective[0].measure : TW_CYCLES;
}

bool tw_fused_suits(const tw_request *asked)
{
    tw_measure first = measure_of(asked->options);
    return asked->options->groups && !asked->options->limits && !asked->options->pareto &&
           tw_discipline_of(asked->machine)->fuses && (first == TW_CYCLES || first == TW_ENERGY || first == TW_EDP);
}

bool tw_fused_is_asked(const tw_request *asked) { return asked->model->n_ops > 1 && tw_fused_suits(asked); }

tw_fused_scale tw_fused_scale_of(const tw_request *asked, const tw_summary *apart)
{
    static const double unknown = 1e9;
    return (tw_fused_scale){measure_of(asked->options), apart ? (double)tw_max(1, apart->cycles) : unknown,
                            apart ? (double)tw_max(1, apart->energy_fj) : unknown};
}

bool tw_fused_is_better(const tw_fused_scale *s, const tw_fused *fused, const tw_summary *apart)
{
    double a = (double)fused->cycles, b = (double)apart->cycles;
    double e = (double)fused->energy_fj, g = (double)apart->energy_fj;
    double first[2] = {a, b};
    if (s->measure == TW_ENERGY) first[0] = e, first[1] = g;
    if (s->measure == TW_EDP) first[0] = a * e, first[1] = b * g;
    if (first[0] != first[1]) return first[0] < first[1];
    return a != b ? a < b : e < g;
}

tw_status tw_fused_find(const tw_request *asked, const tw_plan *apart, const tw_op *alone, const tw_work *work,
                        const tw_plan **out)
{
    tw_fused_scale s = tw_fused_scale_of(asked, &apart->sum);
    const tw_fuse_request request = {.model = asked->model,
                                     .machine = asked->machine,
                                     .apart = apart->mapping->op,
                                     .alone = alone,
                                     .by = {tw_fused_price, &s},
                                     .n_threads = tw_search_threads(asked->options)};
    tw_fused fused;
    tw_mapping *mapping;
    tw_joint_search *search;
    tw_least least = {0};
    int64_t start = tw_deadline_now();
    *out = apart;
    tw_status status = tw_fuse_find(&request, work, &fused);
    if (status == TW_INFEASIBLE || (status == TW_OK && !tw_fused_is_better(&s, &fused, &apart->sum))) return TW_OK;
    TW_TRY(status);
    TW_TRY(tw_least_of(asked->model, asked->machine, work->scratch, &least));
    TW_ALLOC(work->arena, mapping, 1);
    TW_ALLOC(work->arena, search, 1);
    *mapping = fused.mapping;
    *search = (tw_joint_search){
        .measure = s.measure, .apart = apart->sum, .bound = least.cycles, .n_simulated = fused.n_simulated};
    search->bound_waits = least.waits;
    if (least.engine >= 0) search->bound_by = asked->machine->platform->engine[least.engine].name;
    search->seconds = tw_deadline_since(start);
    TW_TRY(tw_mapping_check(mapping, fused.model, asked->machine, work->diag));
    const tw_deadline *deadline = work->diag->deadline; /* the last simulation is short, and not given up */
    work->diag->deadline = NULL;
    status = tw_plan_build_joint(fused.model, asked->machine, mapping, search, work, out);
    work->diag->deadline = deadline;
    return status == TW_OK ? tw_joint_polish(*out, &request.by, work, out) : status;
}
