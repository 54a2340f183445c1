/* src/plan/off_chip.c - asks for groups that move little on a machine whose energies count what is moved; see off_chip.h. */
#include "plan/off_chip.h"

#include "core/deadline.h"
#include "machine/vary.h"
#include "mapping/objective.h"
#include "plan/ends.h"
#include "plan/fused.h"
#include "plan/several.h"

#include <string.h>

static tw_status find(const tw_request *asked, const tw_plan *apart, const tw_op *alone, const tw_work *work,
                      const tw_plan **out)
{
    return tw_several_is_asked(asked) ? tw_several_find(asked, apart, work, out)
                                      : tw_fused_find(asked, apart, alone, work, out);
}

/* The list as the machine whose energies count is asked: up to the first objective that is this traffic, which is its energy there. 0: none of those that groups
 * are searched for is. */
static int count_objectives(const tw_search_options *options, const tw_machine *machine, tw_objective out[2])
{
    static const tw_objective energy = {TW_ENERGY, NULL};
    const tw_objective *is = options->objective;
    bool timed = options->n_objectives > 1 && is[0].measure == TW_CYCLES;
    int n = timed ? 2 : 1;
    if (options->n_objectives == 0 || !tw_objective_is_off_chip(&is[n - 1], machine)) return 0;
    out[0] = is[0];
    out[n - 1] = energy;
    return n;
}

/* What was found on the machine whose energies count, on the one that was given. */
static tw_status build(const tw_request *asked, const tw_plan *found, const tw_plan *apart, const tw_work *work,
                       const tw_plan **out)
{
    tw_joint_search *search;
    tw_mapping *mapping;
    TW_ALLOC(work->arena, search, 1);
    TW_ALLOC(work->arena, mapping, 1);
    *search = *found->joint->search;
    *mapping = *found->mapping;
    if (search->measure == TW_ENERGY) search->measure = TW_TRAFFIC;
    search->apart = apart ? apart->sum : (tw_summary){0};
    TW_TRY(tw_mapping_check(mapping, found->model, asked->machine, work->diag));
    const tw_deadline *deadline = work->diag->deadline; /* the last simulation is short, and not given up */
    work->diag->deadline = NULL;
    tw_status status = tw_plan_build_joint(found->model, asked->machine, mapping, search, work, out);
    if (status == TW_OK && !tw_several_is_asked(asked)) status = tw_joint_with_ends(*out, work, out);
    work->diag->deadline = deadline;
    return status;
}

/* `options`: those of `asked`, but for the objectives. */
static tw_status find_little_moved(const tw_request *asked, const tw_search_options *options, const tw_plan *apart,
                                   int64_t apart_units, const tw_op *alone, const tw_work *work,
                                   const tw_plan **out)
{
    tw_request counted = *asked;
    tw_variant v;
    tw_plan layers;
    const tw_plan *found;
    *out = apart;
    TW_TRY(tw_variant_of(asked->machine, work->arena, &v));
    tw_variant_count_outermost(&v);
    counted.machine = v.machine;
    counted.options = options;
    if (apart) {
        layers = *apart;
        layers.machine = v.machine;
        layers.sum.energy_fj = apart_units;
    }
    TW_TRY(find(&counted, apart ? &layers : NULL, alone, work, &found));
    return found && found != &layers ? build(asked, found, apart, work, out) : TW_OK;
}

tw_status tw_groups_find(const tw_request *asked, const tw_plan *apart, int64_t apart_units, const tw_op *alone,
                         const tw_work *work, const tw_plan **out)
{
    tw_objective objective[2];
    tw_search_options options = *asked->options;
    options.n_objectives = count_objectives(&options, asked->machine, objective);
    options.objective = objective;
    return options.n_objectives > 0 ? find_little_moved(asked, &options, apart, apart_units, alone, work, out)
                                    : find(asked, apart, alone, work, out);
}

int64_t tw_off_chip_of_groups(const tw_plan *plan) { return plan->joint->timeline.outermost_units; }

int64_t tw_off_chip_of_op(const tw_plan *plan, int op)
{
    int64_t units = 0;
    for (int m = 1; m < plan->machine->n_memories; m++)
        for (int o = 0; o < plan->model->op[op].n_operands; o++) {
            const tw_link_use *link = &plan->op[op].link[m][o];
            if (link->inner && strcmp(link->outer, plan->machine->memory[0].name) == 0) units += link->units;
        }
    return units;
}
