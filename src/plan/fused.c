/* src/plan/fused.c - see fused.h. */
#include "plan/fused.h"

#include "core/deadline.h"
#include "fuse/exact.h"
#include "fuse/least.h"
#include "fuse/partly.h"
#include "fuse/renumber.h"
#include "fuse/single.h"
#include "machine/discipline.h"
#include "machine/vary.h"
#include "mapping/groups.h"
#include "mapping/objective.h"
#include "plan/ends.h"
#include "plan/polish.h"
#include "search/search.h"

#include <math.h>
#include <string.h>

/* Energy x time is made small where the sum of both, as shares of what they are now, is: close to it that is the same. */
double tw_fused_price(const void *user, double cycles, double energy_fj)
{
    const tw_fused_scale *s = user;
    if (s->measure == TW_ENERGY) return energy_fj + 1e-9 * cycles;
    if (s->measure == TW_EDP) return cycles / s->cycles + energy_fj / s->energy_fj;
    return cycles + (1e-9 + s->weight * s->cycles) * energy_fj / s->energy_fj;
}

static tw_measure measure_of(const tw_search_options *options)
{
    return options->n_objectives > 0 ? options->objective[0].measure : TW_CYCLES;
}

/* How far time may be above its least for the sake of energy. */
static double tolerance_of(const tw_search_options *options)
{
    const tw_objective *o = options->objective;
    bool any = options->n_objectives > 1 && o[0].measure == TW_CYCLES && o[1].measure == TW_ENERGY;
    return any && options->within ? options->within[0] : 0;
}

/* Whether groups can be searched for by the first objective: off_chip.h has the last one. */
static bool is_searched(const tw_search_options *options, const tw_machine *machine)
{
    tw_measure first = measure_of(options);
    return first == TW_CYCLES || first == TW_ENERGY || first == TW_EDP ||
           tw_objective_is_off_chip(&options->objective[0], machine);
}

bool tw_fused_suits(const tw_request *asked)
{
    const tw_limits *limits = asked->options->limits;
    return asked->options->groups && (!limits || limits->groups.n_groups > 0) && !asked->options->pareto &&
           tw_discipline_of(asked->machine)->fuses && is_searched(asked->options, asked->machine);
}

bool tw_fused_is_asked(const tw_request *asked)
{
    return (asked->model->n_ops > 1 || asked->options->limits) && tw_fused_suits(asked);
}

tw_status tw_fused_check(const tw_search_options *options, const tw_machine *machine, tw_loc loc, tw_diag *diag)
{
    if (!options->groups)
        return tw_diag_error(diag, loc, "groups are given, and a plan layer by layer (--layers) has none");
    if (options->pareto || !is_searched(options, machine))
        return tw_diag_error(
            diag, loc,
            "groups are given: their search makes latency, energy, EDP or the traffic of '%s' small, "
            "and has no front",
            machine->platform ? machine->platform->memory[0].name : machine->memory[0].name);
    return tw_grouping_check_machine(machine, loc, diag);
}

/* An operator outside of the group that reads what one before its last makes: such a group is not searched. NULL: there is none. */
static const tw_op *find_outside(const tw_model *model, const tw_group_map *group, int *tensor)
{
    int first = group->op[0].op, last = first + group->n_ops - 1;
    for (int i = first; i < last; i++) {
        *tensor = tw_op_makes(&model->op[i]);
        for (int r = 0; r < model->n_ops; r++)
            if ((r < first || r > last) && tw_op_reads_bytes(model, &model->op[r], *tensor)) return &model->op[r];
    }
    return NULL;
}

/* What the group would keep inside and the model hands over; -1: nothing. */
static int find_handed(const tw_model *model, const tw_group_map *group)
{
    for (int i = group->op[0].op; i < group->op[0].op + group->n_ops - 1; i++)
        if (model->tensor[tw_op_makes(&model->op[i])].is_output) return tw_op_makes(&model->op[i]);
    return -1;
}

static tw_status refuse_open(const tw_model *model, const tw_group_map *group, tw_diag *diag)
{
    int tensor;
    const char *from = model->op[group->op[0].op].name, *to = model->op[group->op[group->n_ops - 1].op].name;
    const tw_op *outside = find_outside(model, group, &tensor);
    if (outside)
        return tw_diag_infeasible(diag, group->loc,
                                  "'%s' to '%s' are not searched as one group: '%s', outside, reads '%s'", from, to,
                                  outside->name, model->tensor[tensor].name);
    tensor = find_handed(model, group);
    if (tensor >= 0)
        return tw_diag_infeasible(diag, group->loc,
                                  "'%s' to '%s' are not searched as one group: '%s', which would stay inside, is "
                                  "an output of the workload",
                                  from, to, model->tensor[tensor].name);
    return tw_diag_infeasible(diag, group->loc, "no tiling was found with which '%s' to '%s' fit as one group",
                              from, to);
}

/* Says why no mapping has the groups that must be there. */
static tw_status refuse(const tw_request *asked, const tw_fused *found, const tw_op *alone, const tw_work *work)
{
    const tw_limits *limits = asked->options->limits;
    if (tw_deadline_is_over(work->diag->deadline))
        return tw_diag_stopped(work->diag, limits->groups.group[0].loc,
                               "the search for a mapping with these groups");
    for (int g = 0; g < limits->groups.n_groups && found->blocked < 0; g++) {
        const tw_group_map *group = &limits->groups.group[g];
        tw_model model = *asked->model;
        const tw_joint *joint;
        if (alone && limits->alone && limits->alone[g]) model.op = alone;
        if (!tw_group_is_open(group))
            TW_TRY(tw_joint_build(&model, asked->machine->platform, &(tw_mapping){.n_groups = 1, .group = group},
                                  work, &joint));
    }
    const tw_group_map *group = &limits->groups.group[tw_max(0, found->blocked)];
    if (found->blocked >= 0) return refuse_open(asked->model, group, work->diag);
    return tw_diag_infeasible(work->diag, group->loc, "no mapping was found that has the groups that are given");
}

/* Whether each group of the mapping is one that was given with its tiles. */
static tw_status find_fixed(const tw_request *asked, const tw_mapping *mapping, tw_arena *arena, const bool **out)
{
    const tw_limits *limits = asked->options->limits;
    bool *fixed;
    *out = NULL;
    if (!limits) return TW_OK;
    TW_ALLOC(arena, fixed, mapping->n_groups);
    for (int g = 0; g < mapping->n_groups; g++)
        for (int k = 0; k < limits->groups.n_groups; k++)
            fixed[g] |= !tw_group_is_open(&limits->groups.group[k]) &&
                        limits->groups.group[k].op[0].op == mapping->group[g].op[0].op;
    *out = fixed;
    return TW_OK;
}

tw_fused_scale tw_fused_scale_of(const tw_request *asked, const tw_summary *apart)
{
    static const double unknown = 1e9;
    return (tw_fused_scale){measure_of(asked->options), apart ? (double)tw_max(1, apart->cycles) : unknown,
                            apart ? (double)tw_max(1, apart->energy_fj) : unknown,
                            apart ? tolerance_of(asked->options) : 0, 0};
}

bool tw_fused_is_better(const tw_fused_scale *s, const tw_fused *fused, const tw_summary *apart)
{
    double a = (double)fused->cycles, b = (double)apart->cycles;
    double e = (double)fused->energy_fj, g = (double)apart->energy_fj;
    double first[2] = {a, b};
    if (s->measure == TW_ENERGY) first[0] = e, first[1] = g;
    if (s->measure == TW_EDP) first[0] = a * e, first[1] = b * g;
    if (s->within > 0 && a < b && b <= a * (1 + s->within)) return e < g;
    if (first[0] != first[1]) return first[0] < first[1];
    return a != b ? a < b : e < g;
}

tw_status tw_fused_bound(const tw_request *asked, tw_arena *scratch, tw_joint_search *search)
{
    tw_least least = {0};
    TW_TRY(tw_least_of(asked->model, asked->machine, scratch, &least));
    search->bound = least.cycles;
    search->bound_waits = least.waits;
    search->bound_units = least.units;
    if (least.engine >= 0) search->bound_by = asked->machine->platform->engine[least.engine].name;
    return TW_OK;
}

/* What each operator takes in the plan layer by layer, if that says it. */
static tw_status list_apart(const tw_plan *apart, tw_arena *arena, const tw_summary **out)
{
    tw_summary *each;
    *out = NULL;
    if (!apart || !apart->op) return TW_OK;
    TW_ALLOC(arena, each, apart->model->n_ops + 1);
    for (int i = 0; i < apart->model->n_ops; i++) each[i] = apart->op[i].timeline.sum;
    *out = each;
    return TW_OK;
}

/* ---- the search ---- */

/* Models of at most so many operators are also planned for memories of half the size, of half of that, and so on: what is found there fits here, and tilings that are best by their
 * estimate in much room are not always. Above that it takes too long. */
enum { MOST_SHRUNK_OPS = 12, MOST_HALVINGS = 5 };

typedef struct hunt {
    const tw_request *asked;
    tw_fuse_request request; /* about the machine at hand */
    const tw_plan *apart;
    const tw_work *work;
    tw_joint_search search;
    const tw_summary *apart_op; /* of each operator of the model as it was asked about */
    int halvings;
    double first; /* the price of what was found without halving */
    int blocked;  /* as tw_fused has it */
} hunt;

static double price_of(const hunt *h, int64_t cycles, int64_t energy_fj)
{
    return h->request.by.price(h->request.by.user, (double)cycles, (double)energy_fj);
}

/* Lists the small space of fuse/exact.h, if there is one and nothing must be there: what is better than what was found, and than layers, is taken, and nothing there is better than
 * the answer. */
static tw_status find_exactly(hunt *h, tw_fused *found)
{
    double known = h->apart ? price_of(h, h->apart->sum.cycles, h->apart->sum.energy_fj) : (double)INFINITY;
    tw_exact exact;
    bool any = found->mapping.n_groups > 0;
    if (any) known = fmin(known, price_of(h, found->cycles, found->energy_fj));
    bool best = h->search.measure == TW_CYCLES && any && found->cycles <= h->search.bound;
    if (h->request.limits || best || h->halvings > 0) return TW_OK;
    TW_TRY(tw_exact_find(&h->request, known, h->work, &exact));
    if (h->halvings == 0) h->search.space = exact.complete ? exact.n_mappings : 0;
    h->search.n_simulated += exact.n_tried;
    if (exact.best.mapping.n_groups > 0) *found = exact.best;
    return TW_OK;
}

/* The plan of the mapping on the machine at hand; its simulation is short, and not given up. */
static tw_status build_found(const hunt *h, const tw_fused *fused, const tw_plan **out)
{
    tw_mapping *mapping;
    tw_joint_search *search;
    TW_ALLOC(h->work->arena, mapping, 1);
    TW_ALLOC(h->work->arena, search, 1);
    *mapping = fused->mapping;
    *search = h->search;
    TW_TRY(tw_mapping_check(mapping, fused->model, h->request.machine, h->work->diag));
    const tw_deadline *deadline = h->work->diag->deadline;
    h->work->diag->deadline = NULL;
    tw_status status = tw_plan_build_joint(fused->model, h->request.machine, mapping, search, h->work, out);
    h->work->diag->deadline = deadline;
    return status;
}

static bool is_small(const hunt *h)
{
    return h->asked->model->n_ops <= MOST_SHRUNK_OPS && !h->request.limits && h->request.machine->platform;
}

/* Whether so little memory is left that what is found is far worse already: with less it will not be better. */
static bool is_far(const hunt *h, const tw_fused *found)
{
    static const double far = 1.1;
    return found->mapping.n_groups == 0 || price_of(h, found->cycles, found->energy_fj) > far * h->first;
}

/* The mapping with no more room on chip than a machine has: there it takes as long as on that one. */
static tw_status with_room(const tw_platform *of, const tw_mapping *mapping, tw_arena *arena, tw_mapping *out)
{
    tw_group_room *room;
    TW_ALLOC(arena, room, mapping->n_rooms + of->n_memories);
    *out = *mapping;
    out->room = room;
    out->n_rooms = 0;
    for (int m = 1; m < of->n_memories; m++) {
        int64_t units = tw_room_of(mapping->room, mapping->n_rooms, m, of->memory[m].is.size);
        if (units < INT64_MAX) room[out->n_rooms++] = (tw_group_room){.memory = m, .units = units};
    }
    return TW_OK;
}

/* What was found, or the plan, if that is better. */
static void keep_better(const hunt *h, const tw_plan *plan, tw_fused *found)
{
    if (found->mapping.n_groups > 0 &&
        price_of(h, found->cycles, found->energy_fj) <= price_of(h, plan->sum.cycles, plan->sum.energy_fj))
        return;
    *found = (tw_fused){.mapping = *plan->mapping,
                        .model = plan->model,
                        .cycles = plan->sum.cycles,
                        .energy_fj = plan->sum.energy_fj,
                        .blocked = -1};
}

/* Every operator as a group of its own, as the plan layer by layer has it; TW_INFEASIBLE where groups cannot say that. */
static tw_status layers_as_groups(const hunt *h, tw_fused *out)
{
    const tw_fuse_request *asked = &h->request;
    tw_group_map *group;
    const tw_model *model = asked->model;
    TW_ALLOC(h->work->arena, group, model->n_ops);
    if (asked->alone) {
        tw_model *copy;
        TW_ALLOC(h->work->arena, copy, 1);
        *copy = *model;
        copy->op = asked->alone;
        model = copy;
    }
    for (int i = 0; i < model->n_ops; i++)
        TW_TRY(
            tw_single_group(&(tw_problem){model, i, asked->machine}, &asked->apart[i], h->work->arena, &group[i]));
    *out = (tw_fused){.mapping = {.n_groups = model->n_ops, .group = group}, .model = model, .blocked = -1};
    return TW_OK;
}

/* The search for groups orders tilings by an estimate, and lays loops over arrays in fewer ways than that for operators. So what operators are alone, with whatever may stay between them and small
 * changes, is a second beginning. */
static tw_status begin_with_layers(const hunt *h, tw_fused *found)
{
    static const int64_t most_commands = 200000;
    tw_fused layers;
    const tw_plan *plan;
    tw_diag silent = tw_diag_quiet(h->work->diag);
    const tw_work work = {h->work->arena, h->work->scratch, &silent};
    hunt quiet = *h;
    quiet.work = &work;
    bool best = h->search.measure == TW_CYCLES && found->mapping.n_groups > 0 && found->cycles <= h->search.bound;
    if (!is_small(h) || h->halvings > 0 || best || h->search.space > 0 || !h->request.apart ||
        h->apart->sum.instructions > most_commands || tw_deadline_is_over(h->work->diag->deadline))
        return TW_OK;
    tw_status status = layers_as_groups(h, &layers);
    if (status == TW_OK) status = build_found(&quiet, &layers, &plan);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    TW_TRY(tw_joint_polish(plan, &h->request.by, NULL, h->work, &plan));
    keep_better(h, plan, found);
    return TW_OK;
}

/* What each operator of a model with one divided takes layer by layer: parts have shares of it, by their points. */
static tw_status apart_of_parts(hunt *h, const tw_model *model)
{
    const tw_model *given = h->asked->model;
    tw_summary *each;
    if (!h->apart_op) return TW_OK;
    TW_ALLOC(h->work->arena, each, model->n_ops + 1);
    for (int i = 0; i < model->n_ops; i++)
        for (int k = 0; k < given->n_ops; k++) {
            const tw_op *op = &given->op[k], *now = &model->op[i];
            const tw_summary *sum = &h->apart_op[k];
            bool part = tw_renumber_part(op, 0, model) == i || tw_renumber_part(op, 1, model) == i;
            if (!part && strcmp(op->name, now->name) != 0) continue;
            double share = part ? (double)tw_op_points(now) / (double)tw_op_points(op) : 1;
            each[i] = *sum;
            each[i].cycles = (int64_t)((double)sum->cycles * share);
            each[i].energy_fj = (int64_t)((double)sum->energy_fj * share);
        }
    h->search.apart_op = each;
    return TW_OK;
}

/* What passes memory 0 between two groups stays in part, where that helps and there is something to win. */
static tw_status keep_in_part(hunt *h, tw_fused *found)
{
    static const double near = 1.03; /* to the bound */
    tw_fused parts;
    bool best = h->search.measure == TW_CYCLES && (double)found->cycles <= near * (double)h->search.bound;
    if (!is_small(h) || h->halvings > 0 || best || found->mapping.n_groups < 2 || !h->asked->writes ||
        h->request.alone || found->model != h->asked->model || h->request.machine->platform->n_cores > 1)
        return TW_OK;
    TW_TRY(tw_partly_find(&h->request, found, h->work, &parts));
    h->search.n_simulated += parts.n_simulated;
    if (parts.mapping.n_groups == 0) return TW_OK;
    *found = parts;
    h->search.space = 0; /* that was of the model as it is given */
    return apart_of_parts(h, parts.model);
}

static tw_status find_here(hunt *h, const tw_plan **out);

/* The best that is found with half of every memory on chip, in all of it or with as much room as there, if that is better than what was found. */
static tw_status find_in_less(hunt *h, tw_fused *found)
{
    static const double near = 1.01; /* to the bound: there is little left to find */
    const tw_machine *machine = h->request.machine;
    tw_variant less;
    const tw_plan *plan = NULL;
    bool best = h->search.measure == TW_CYCLES && found->mapping.n_groups > 0 &&
                (double)found->cycles <= near * (double)h->search.bound;
    if (!is_small(h) || h->halvings == MOST_HALVINGS || best || h->search.space > 0 || is_far(h, found) ||
        tw_deadline_is_over(h->work->diag->deadline))
        return TW_OK;
    TW_TRY(tw_variant_of(machine, h->work->arena, &less));
    for (int m = 1; m < less.platform->n_memories; m++) tw_variant_set_size(&less, m, less.memory[m].is.size / 2);
    h->request.machine = less.machine;
    h->halvings++;
    tw_status status = find_here(h, &plan);
    h->halvings--;
    h->request.machine = machine;
    TW_TRY(status);
    if (!plan) return TW_OK;
    h->search.n_simulated = plan->joint->search->n_simulated;
    tw_fused there = {.mapping = *plan->mapping, .model = plan->model};
    TW_TRY(build_found(h, &there, &plan));
    keep_better(h, plan, found);
    TW_TRY(with_room(less.platform, &there.mapping, h->work->arena, &there.mapping));
    TW_TRY(build_found(h, &there, &plan));
    keep_better(h, plan, found);
    return TW_OK;
}

/* Whether what was found is worth small changes: it is better than layers, or may soon be, or must be there. */
static bool is_kept(const hunt *h, const tw_fused *found)
{
    const tw_fused_scale *s = h->request.by.user;
    if (found->mapping.n_groups == 0) return false;
    return !h->apart || h->request.limits || (is_small(h) && !is_far(h, found)) ||
           tw_fused_is_better(s, found, &h->apart->sum);
}

/* The best plan in groups on the machine at hand, with small changes; NULL: there is none. */
static tw_status find_here(hunt *h, const tw_plan **out)
{
    tw_fused fused = {.blocked = -1};
    const bool *fixed;
    *out = NULL;
    h->search.apart_op = h->apart_op;
    tw_status status = tw_fuse_find(&h->request, h->work, &fused);
    if (status != TW_INFEASIBLE) TW_TRY(status);
    h->blocked = fused.blocked;
    h->search.n_simulated += fused.n_simulated;
    TW_TRY(find_exactly(h, &fused));
    if (h->halvings == 0) h->first = price_of(h, fused.cycles, fused.energy_fj);
    TW_TRY(find_in_less(h, &fused));
    TW_TRY(begin_with_layers(h, &fused));
    TW_TRY(keep_in_part(h, &fused));
    if (!is_kept(h, &fused)) return TW_OK;
    TW_TRY(build_found(h, &fused, out));
    TW_TRY(find_fixed(h->asked, &fused.mapping, h->work->arena, &fixed));
    return tw_joint_polish(*out, &h->request.by, fixed, h->work, out);
}

/* The search of the plan, as it ended. */
static tw_status end_search(const hunt *h, int64_t start, const tw_plan *plan, const tw_plan **out)
{
    tw_joint_search *search;
    tw_joint_plan *joint;
    tw_plan *copy;
    TW_ALLOC(h->work->arena, search, 1);
    TW_ALLOC(h->work->arena, joint, 1);
    TW_ALLOC(h->work->arena, copy, 1);
    *search = *plan->joint->search;
    search->seconds = tw_deadline_since(start);
    *joint = *plan->joint;
    joint->search = search;
    *copy = *plan;
    copy->joint = joint;
    *out = copy;
    return TW_OK;
}

static bool is_better(const tw_fused_scale *s, const tw_plan *plan, const tw_plan *apart)
{
    const tw_fused found = {.cycles = plan->sum.cycles, .energy_fj = plan->sum.energy_fj};
    return tw_fused_is_better(s, &found, &apart->sum);
}

/* Where layers are preferred to faster groups for their energy, groups are looked for once more, and as much energy as all layers take is worth a tenth of the tolerance then. */
static tw_status spare_energy(hunt *h, tw_fused_scale *s, const tw_plan **plan)
{
    static const double of_tolerance = 0.1;
    if (s->within <= 0 || (*plan)->sum.cycles >= h->apart->sum.cycles || is_better(s, *plan, h->apart))
        return TW_OK;
    s->weight = of_tolerance * s->within;
    return find_here(h, plan);
}

tw_status tw_fused_find(const tw_request *asked, const tw_plan *apart, const tw_op *alone, const tw_work *work,
                        const tw_plan **out)
{
    tw_fused_scale s = tw_fused_scale_of(asked, apart ? &apart->sum : NULL);
    hunt h = {.asked = asked, .apart = apart, .work = work, .blocked = -1};
    h.request = (tw_fuse_request){.model = asked->model,
                                  .machine = asked->machine,
                                  .apart = apart ? apart->mapping->op : NULL,
                                  .alone = alone,
                                  .limits = asked->options->limits,
                                  .by = {tw_fused_price, &s},
                                  .n_threads = tw_search_threads(asked->options)};
    h.search = (tw_joint_search){.measure = s.measure};
    if (apart) h.search.apart = apart->sum;
    int64_t start = tw_deadline_now();
    const tw_plan *plan;
    *out = apart;
    TW_TRY(tw_fused_bound(asked, work->scratch, &h.search));
    TW_TRY(list_apart(apart, work->arena, &h.apart_op));
    TW_TRY(find_here(&h, &plan));
    if (!plan && h.request.limits) return refuse(asked, &(tw_fused){.blocked = h.blocked}, alone, work);
    if (plan && apart && !h.request.limits) TW_TRY(spare_energy(&h, &s, &plan));
    if (!plan) return TW_OK;
    if (!h.request.limits && apart && !is_better(&s, plan, apart)) return TW_OK;
    TW_TRY(end_search(&h, start, plan, &plan));
    return tw_joint_with_ends(plan, work, out);
}
