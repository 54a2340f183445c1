/* src/advise/network_remedy.c - the changes of a machine, each with a plan of the whole network on it; and changes of its programs.
 *
 * A change is answered by the same search that found the plan, in a context of its own that ends with it: only numbers stay. */
#include "advise/network_remedy.h"

#include "advise/change.h"
#include "advise/joint_remedy.h"
#include "advise/remedy.h"
#include "input/tree.h"
#include "plan/network_mapping.h"
#include "write/grow.h"
#include "write/number.h"

#include <math.h>
#include <string.h>

typedef struct asked {
    tw_network_remedy remedy;
    double weight; /* the larger, the sooner it is asked */
} asked;

typedef struct trial {
    const tw_network_plan *plan;
    const tw_network_search_options *options;
    const tw_deadline *deadline;
    bool energy;       /* is what counts, not time                     */
    bool interrupted;  /* `progress` ended one                        */
    double *had;       /* per layer, as it is                          */
    double value;      /* of all of them                               */
    const char *given; /* the mapping file of a plan that was not searched; NULL: it was   */
    tw_arena *arena;   /* of the results                               */
    tw_arena *work;
    asked **list;
    int n;
    int64_t room;
} trial;

/* ---- what a plan of the network costs ---- */

/* The first objective of all steps of a layer. */
static double layer_value(const trial *t, const tw_network_plan *plan, int layer)
{
    const tw_plan *one = plan->plan[layer];
    if (!one) return 0;
    return (double)(t->energy ? one->sum.energy_fj : one->sum.cycles) * plan->network->layers.count[layer];
}

static double plan_value(const tw_network_plan *plan, bool energy)
{
    return (double)(energy ? plan->totals.energy_fj : plan->totals.cycles);
}

/* ---- the list ---- */

/* The same of its programs. */
static double critical_of_programs(const tw_network_plan *plan, const char *engine)
{
    double sum = 0;
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_joint_plan *joint = plan->part[i].plan ? plan->part[i].plan->joint : NULL;
        for (int e = 0; joint && e < joint->program->platform->n_engines; e++)
            if (strcmp(joint->program->platform->engine[e].name, engine) == 0)
                sum += (double)joint->timeline.engine[e].critical_cycles;
    }
    return sum;
}

/* Cycles of the network's critical paths that belong to the engine. */
static double critical_cycles(const tw_network_plan *plan, const char *engine)
{
    double sum = 0;
    if (plan->totals.n_programs > 0) return critical_of_programs(plan, engine);
    for (int i = 0; i < plan->network->layers.n; i++) {
        const tw_plan *one = plan->plan[i];
        for (int e = 0; one && e < one->machine->n_engines; e++)
            if (strcmp(one->machine->engine[e].name, engine) == 0)
                sum += (double)one->op[0].timeline.engine[e].critical_cycles * plan->network->layers.count[i];
    }
    return sum;
}

static double weight_of(const trial *t, const tw_remedy *change)
{
    switch (change->kind) {
    case TW_MORE_BANDWIDTH:
    case TW_OTHER_ARRAY: return 2 + critical_cycles(t->plan, change->at);
    case TW_MORE_MEMORY: return 1;
    default: return 0;
    }
}

/* A tw_change_sink. */
static tw_status collect(void *user, const tw_remedy *change, const tw_machine *changed)
{
    trial *t = user;
    asked *one;
    TW_ALLOC(t->work, one, 1);
    *one = (asked){.remedy.all = *change, .weight = weight_of(t, change)};
    one->remedy.all.untried = true;
    one->remedy.all.machine = changed;
    t->list = tw_grow(t->work, t->list, t->n, &t->room, sizeof *t->list);
    if (!t->list) return TW_ERR_NOMEM;
    int at = t->n++;
    for (; at > 0 && t->list[at - 1]->weight < one->weight; at--) t->list[at] = t->list[at - 1];
    t->list[at] = one;
    return TW_OK;
}

/* ---- one change ---- */

/* The layer that wins most, -1: none does. */
static int best_layer(const trial *t, const tw_network_remedy *remedy)
{
    int best = -1;
    for (int i = 0; i < remedy->n_layers; i++)
        if (t->had[i] > remedy->layer[i] &&
            (best < 0 || t->had[i] - remedy->layer[i] > t->had[best] - remedy->layer[best]))
            best = i;
    return best;
}

/* "rows 32, not 16; most in 'conv1': 12'345 fewer" */
static tw_status describe(const trial *t, tw_network_remedy *remedy)
{
    int best = t->plan->totals.n_programs > 0 ? -1 : best_layer(t, remedy);
    if (best < 0 || remedy->all.gain <= 0) return TW_OK;
    int64_t won = (int64_t)(t->had[best] - remedy->layer[best]);
    const char *name = t->plan->network->layer[best]->name;
    char number[TW_GROUPED_MAX];
    remedy->all.change =
        tw_arena_printf(t->arena, "%s; most in '%.*s': %s %s", remedy->all.change, TW_FIRST(40, name),
                        t->energy ? tw_energy(won, number) : tw_grouped(won, number), t->energy ? "less" : "fewer");
    return remedy->all.change ? TW_OK : TW_ERR_NOMEM;
}

/* The plan's mapping file, in the arena of the results. */
static tw_status keep_mapping(const trial *t, const tw_network_plan *plan, const char **out)
{
    tw_text text = {0};
    tw_status status = tw_network_mapping_print(plan, t->work, &text);
    if (status == TW_OK && !(*out = tw_arena_strndup(t->arena, text.bytes, text.len))) status = TW_ERR_NOMEM;
    tw_text_release(&text);
    return status;
}

/* What became of it. A network of which fewer steps have a plan is no answer. */
static tw_status settle(trial *t, asked *one, const tw_network_plan *plan)
{
    tw_network_remedy *r = &one->remedy;
    double *layer;
    int n = plan->network->layers.n;
    r->all.untried = false;
    if (plan->totals.n_planned < t->plan->totals.n_planned) return TW_OK;
    TW_ALLOC(t->arena, layer, n);
    for (int i = 0; i < n; i++) layer[i] = layer_value(t, plan, i);
    r->n_layers = n;
    r->layer = layer;
    r->all.feasible = true;
    r->all.value = plan_value(plan, t->energy);
    r->all.gain = t->value > 0 ? 1 - r->all.value / t->value : 0;
    r->all.proven = plan->totals.n_proven == n && t->plan->totals.n_proven == n && plan->totals.n_programs == 0 &&
                    t->plan->totals.n_programs == 0;
    if (r->all.gain > 0) TW_TRY(keep_mapping(t, plan, &r->mapping));
    return describe(t, r);
}

static bool hear(void *user, const tw_network_progress *progress)
{
    trial *t = user;
    const tw_network_search_options *given = t->options;
    if (given->progress) t->interrupted |= !given->progress(given->user, progress);
    return !t->interrupted && !tw_deadline_is_over(t->deadline);
}

/* The mapping that was given, on the changed machine. */
static tw_status build_given(const trial *t, tw_context *own, const tw_machine *machine,
                             const tw_network_search_options *options, const tw_network_plan **out)
{
    const tw_node *root;
    tw_network_mapping mapping = {0};
    const tw_work work = tw_context_work(own);
    TW_TRY(tw_tree_parse("mapping", t->given, strlen(t->given), own->arena, &own->diag, &root));
    TW_TRY(tw_network_mapping_of_tree(root, t->plan->network, machine, &work, &mapping));
    return tw_network_build(own, t->plan->network, machine, options, &mapping, out);
}

/* Plans the network on the changed machine, as `plan` would, or simulates what was given there: within a share of the time it would find less than it promises. What
 * is not finished when time is up is no answer. */
static tw_status ask(trial *t, asked *one)
{
    tw_context *own = tw_context_new();
    const tw_network_plan *plan;
    tw_network_search_options options = *t->options;
    tw_search_options search = *t->options->search;
    if (!own) return TW_ERR_NOMEM;
    tw_deadline_follow(&own->deadline, t->deadline);
    search.time_limit = 0;
    options.search = &search;
    options.progress = hear;
    options.user = t;
    const tw_machine *machine = one->remedy.all.machine;
    bool searched = !t->given || !machine;
    if (!machine) machine = t->plan->machine;
    tw_status status = searched ? tw_network_build(own, t->plan->network, machine, &options, NULL, &plan)
                                : build_given(t, own, machine, &options, &plan);
    t->interrupted |= tw_deadline_is_over(t->deadline);
    if (status == TW_OK && !t->interrupted) status = settle(t, one, plan);
    tw_context_free(own);
    return status == TW_INFEASIBLE || status == TW_STOPPED || status == TW_ERR_INPUT ? TW_OK : status;
}

/* ---- programs ---- */

/* A tw_search_options.progress. */
static bool hear_program(void *user, const tw_progress *progress)
{
    trial *t = user;
    (void)progress;
    return hear(t, &(tw_network_progress){.n_done = 0, .n_layers = t->n, .name = "groups"});
}

static double value_of(const trial *t, const tw_plan *plan)
{
    return (double)(t->energy ? plan->sum.energy_fj : plan->sum.cycles);
}

/* What all other programs take less on a changed machine as they are: where more fits, buffers that shared addresses do not wait for each other. */
static tw_status find_others(const trial *t, int part, const tw_machine *machine, const tw_work *work, double *won)
{
    *won = 0;
    for (int i = 0; machine && i < t->plan->n_parts; i++) {
        const tw_plan *other = t->plan->part[i].plan, *there;
        if (!other || i == part) continue;
        tw_arena_mark mark = tw_arena_save(t->work);
        tw_diag muted = {.muted = true};
        tw_status status = tw_plan_build_joint(other->model, machine, other->mapping, other->joint->search,
                                               &(tw_work){t->work, work->scratch, &muted}, &there);
        if (status == TW_OK) *won += value_of(t, other) - value_of(t, there);
        tw_arena_rewind(t->work, mark);
        if (status == TW_ERR_NOMEM) return status;
    }
    return TW_OK;
}

/* The mapping file of the network with other groups of one program. */
static tw_status keep_changed(const trial *t, int part, const tw_remedy *found, const char **out)
{
    tw_network_part *parts;
    tw_network_plan changed = *t->plan;
    tw_plan program = *t->plan->part[part].plan;
    TW_ALLOC(t->work, parts, t->plan->n_parts);
    memcpy(parts, t->plan->part, (size_t)t->plan->n_parts * sizeof *parts);
    program.mapping = found->mapping;
    parts[part].plan = &program;
    changed.part = parts;
    return keep_mapping(t, &changed, out);
}

/* A change of one program, as one of the network. */
static tw_status add_move(trial *t, int part, const tw_remedy *found, const tw_work *work)
{
    asked *one;
    double won;
    if (!found->feasible) return TW_OK;
    TW_ALLOC(t->work, one, 1);
    TW_TRY(find_others(t, part, found->machine, work, &won));
    one->remedy.all = *found;
    one->remedy.all.mapping = NULL; /* it is of a part of the network */
    one->remedy.all.value = t->value - value_of(t, t->plan->part[part].plan) + found->value - won;
    one->remedy.all.gain = t->value > 0 ? 1 - one->remedy.all.value / t->value : 0;
    if (one->remedy.all.gain > 0 && found->mapping) TW_TRY(keep_changed(t, part, found, &one->remedy.mapping));
    t->list = tw_grow(t->work, t->list, t->n, &t->room, sizeof *t->list);
    if (!t->list) return TW_ERR_NOMEM;
    t->list[t->n++] = one;
    return TW_OK;
}

/* The part whose program takes longest of those that were not asked yet; -1: all were. */
static int next_program(const trial *t, bool *seen)
{
    int best = -1;
    for (int i = 0; i < t->plan->n_parts; i++)
        if (t->plan->part[i].plan && !seen[i] &&
            (best < 0 || t->plan->part[i].plan->sum.cycles > t->plan->part[best].plan->sum.cycles))
            best = i;
    if (best >= 0) seen[best] = true;
    return best;
}

/* Other groups, tiles and buffers of the programs, in their share of the time. */
static tw_status try_programs(trial *t, const tw_work *work)
{
    static const double share = 0.75; /* of which tw_joint_moves_find takes a third */
    tw_deadline limit;
    const tw_deadline *all = t->deadline;
    int part;
    bool *seen;
    double left = tw_deadline_left(all);
    tw_status status = TW_OK;
    TW_ALLOC(t->work, seen, t->plan->n_parts + 1);
    tw_deadline_init(&limit, isfinite(left) ? fmax(share * left, 1e-3) : 0, all);
    while (status == TW_OK && !t->interrupted && !tw_deadline_is_over(&limit) &&
           (part = next_program(t, seen)) >= 0) {
        tw_search_options options = *t->options->search;
        tw_diag muted = {.muted = true, .deadline = &limit};
        const tw_remedy *found;
        int n = 0;
        options.limits = NULL;
        options.progress = hear_program;
        options.user = t;
        options.time_limit = isfinite(left) ? tw_deadline_left(&limit) : 0;
        status = tw_joint_moves_find(t->plan->part[part].plan, &options,
                                     &(tw_work){t->arena, work->scratch, &muted}, &found, &n);
        for (int i = 0; i < n && status == TW_OK; i++) status = add_move(t, part, &found[i], work);
    }
    return status;
}

/* ---- a mapping that was given ---- */

/* Whether nothing of the plan was searched. */
static bool is_given(const tw_network_plan *plan)
{
    for (int i = 0; i < plan->network->layers.n; i++)
        if (plan->plan[i] && plan->plan[i]->op[0].searched) return false;
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->part[i].plan && !plan->part[i].plan->joint->search->given) return false;
    return true;
}

/* What `plan` would do instead is asked first. */
static tw_status collect_search(trial *t)
{
    asked *one;
    if (!t->given) return TW_OK;
    TW_ALLOC(t->work, one, 1);
    one->remedy.all = (tw_remedy){.kind = TW_OTHER_MAPPING,
                                  .at = "all steps",
                                  .change = "the best mappings that a search finds",
                                  .untried = true};
    one->weight = INFINITY;
    t->list = tw_grow(t->work, t->list, t->n, &t->room, sizeof *t->list);
    if (!t->list) return TW_ERR_NOMEM;
    t->list[t->n++] = one;
    return TW_OK;
}

/* ---- all of them ---- */

static tw_status finish(const trial *t, const tw_network_remedy **out, int *n)
{
    tw_network_remedy *list;
    TW_ALLOC(t->arena, list, t->n);
    for (int i = 0; i < t->n; i++) {
        int at = i;
        for (; at > 0 && !tw_remedy_is_before(&list[at - 1].all, &t->list[i]->remedy.all); at--)
            list[at] = list[at - 1];
        list[at] = t->list[i]->remedy;
    }
    *out = list;
    *n = t->n;
    return TW_OK;
}

static tw_status try_all(trial *t, const tw_work *work)
{
    int n_layers = t->plan->network->layers.n;
    TW_TRY(try_programs(t, work));
    int n_moves = t->n;
    t->n = 0;
    asked **moves = t->list;
    t->list = NULL;
    t->room = 0;
    TW_ALLOC(t->work, t->had, n_layers);
    for (int i = 0; i < n_layers; i++) t->had[i] = layer_value(t, t->plan, i);
    TW_TRY(collect_search(t));
    TW_TRY(tw_changes_each(t->plan->machine, (tw_change_scope){.timed = !t->energy}, t->arena,
                           (tw_change_sink){collect, t}));
    for (int i = 0; i < t->n && !t->interrupted && !tw_deadline_is_over(t->deadline); i++)
        TW_TRY(ask(t, t->list[i]));
    for (int i = 0; i < n_moves; i++) {
        t->list = tw_grow(t->work, t->list, t->n, &t->room, sizeof *t->list);
        if (!t->list) return TW_ERR_NOMEM;
        t->list[t->n++] = moves[i];
    }
    return TW_OK;
}

tw_status tw_network_remedies_find(const tw_network_plan *plan, const tw_network_search_options *options,
                                   const tw_work *work, const tw_network_remedy **out, int *n)
{
    tw_deadline limit;
    const tw_search_options *search = options->search;
    tw_deadline_init(&limit, search->time_limit, work->diag->deadline);
    trial t = {.plan = plan, .options = options, .deadline = &limit, .arena = work->arena, .work = tw_arena_new()};
    t.energy = search->n_objectives > 0 && search->objective[0].measure == TW_ENERGY;
    t.value = plan_value(plan, t.energy);
    tw_status status = t.work ? TW_OK : TW_ERR_NOMEM;
    if (status == TW_OK && is_given(plan)) status = keep_mapping(&t, plan, &t.given);
    if (status == TW_OK) status = try_all(&t, work);
    if (status == TW_OK) status = finish(&t, out, n);
    tw_arena_free(t.work);
    return status;
}
