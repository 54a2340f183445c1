/* test/lib/least_check.c - see least_check.h. */
#include "least_check.h"

#include "fuse/least.h"
#include "plan/groupform.h"
#include "plan/plan.h"

/* Units on all movers that begin at memory 0. */
static int64_t units_outside(const tw_plan *plan)
{
    const tw_platform *p = plan->machine->platform;
    int64_t sum = 0;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_engine_use *use = &plan->joint->timeline.engine[e];
        if (p->engine[e].is.kind == TW_MOVES && p->engine[e].is.outer == 0)
            sum += use->load_units + use->store_units;
    }
    return sum;
}

static tw_least least_of(const tw_model *model, const tw_machine *machine)
{
    tw_arena *scratch = tw_arena_new();
    tw_least least = {0};
    CHECK(scratch != NULL);
    CHECK_EQ(tw_least_of(model, machine, scratch, &least), TW_OK);
    tw_arena_free(scratch);
    return least;
}

static bool is_at_most(int64_t least, int64_t is, const char *what)
{
    if (least > is) print_error("the bound is %" PRId64 " %s, the plan has %" PRId64 "\n", least, what, is);
    return least <= is;
}

/* The closed form of no group has an engine busy for longer than it was. */
static bool forms_hold(const tw_plan *plan)
{
    for (int g = 0; g < plan->joint->program->n_nests; g++) {
        tw_group_form f = tw_group_form_of(plan, g);
        if (f.engine < 0) continue;
        const tw_engine_use *use = &plan->joint->timeline.engine[f.engine];
        if (!is_at_most(f.cycles, tw_cdiv(use->busy_cycles, tw_max(1, use->count)),
                        "cycles, in closed form of a group,"))
            return false;
    }
    return true;
}

bool least_holds(const tw_plan *plan)
{
    tw_least least = least_of(plan->model, plan->machine);
    if (least.engine >= 0 && !is_at_most(least.cycles, plan->sum.cycles, "cycles")) return false;
    if (!plan->joint) return true;
    if (!forms_hold(plan)) return false;
    tw_platform one = *plan->machine->platform; /* what has to pass is the same on every core */
    tw_machine first = *plan->machine;
    one.n_views = 1;
    first.platform = &one;
    least = least_of(plan->model, &first);
    return least.engine < 0 || is_at_most(least.units, units_outside(plan), "units that pass memory 0");
}
