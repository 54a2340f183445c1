/* src/advise/network_remedy.c - the changes of a machine, each with a plan of the whole network on it.
 *
 * A change is answered by the same search that found the plan, in a context of its own that ends with it: only numbers stay. */
#include "advise/network_remedy.h"

#include "advise/change.h"
#include "advise/remedy.h"
#include "write/grow.h"
#include "write/number.h"

#include <math.h>
#include <string.h>

typedef struct asked {
    tw_network_remedy remedy;
    tw_machine machine;
    double weight; /* the larger, the sooner it is asked */
} asked;

typedef struct trial {
    const tw_network_plan *plan;
    const tw_network_search_options *options;
    const tw_deadline *deadline;
    bool energy;      /* is what counts, not time                     */
    bool interrupted; /* `progress` ended one                        */
    double *had;      /* per layer, as it is                          */
    double value;     /* of all of them                               */
    tw_arena *arena;  /* of the results                               */
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
    return (double)(energy ? plan->totals.layers_energy_fj : plan->totals.layers_cycles);
}

/* ---- the list ---- */

/* Cycles of the network's critical paths that belong to the engine. */
static double critical_cycles(const tw_network_plan *plan, const char *engine)
{
    double sum = 0;
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
    *one = (asked){.remedy.all = *change, .machine = *changed, .weight = weight_of(t, change)};
    one->remedy.all.untried = true;
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
    int best = best_layer(t, remedy);
    if (best < 0 || remedy->all.gain <= 0) return TW_OK;
    int64_t won = (int64_t)(t->had[best] - remedy->layer[best]);
    const char *name = t->plan->network->layer[best]->name;
    char number[TW_GROUPED_MAX];
    remedy->all.change =
        tw_arena_printf(t->arena, "%s; most in '%.*s': %s %s", remedy->all.change, TW_FIRST(40, name),
                        t->energy ? tw_energy(won, number) : tw_grouped(won, number), t->energy ? "less" : "fewer");
    return remedy->all.change ? TW_OK : TW_ERR_NOMEM;
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
    r->all.proven = plan->totals.n_proven == n && t->plan->totals.n_proven == n;
    return describe(t, r);
}

static bool hear(void *user, const tw_network_progress *progress)
{
    trial *t = user;
    const tw_network_search_options *given = t->options;
    if (given->progress) t->interrupted |= !given->progress(given->user, progress);
    return !t->interrupted && !tw_deadline_is_over(t->deadline);
}

/* Plans the network on the changed machine; each change that is still to come has as much time as this one. */
static tw_status ask(trial *t, asked *one, int n_left)
{
    tw_context *own = tw_context_new();
    const tw_network_plan *plan;
    tw_network_search_options options = *t->options;
    tw_search_options search = *t->options->search;
    double left = tw_deadline_left(t->deadline);
    if (!own) return TW_ERR_NOMEM;
    search.time_limit = isfinite(left) ? fmax(left / n_left, 0.01) : 0;
    options.search = &search;
    options.progress = hear;
    options.user = t;
    tw_status status = tw_network_build(own, t->plan->network, &one->machine, &options, NULL, &plan);
    t->interrupted |= tw_deadline_is_over(t->deadline);
    if (status == TW_OK && !t->interrupted) status = settle(t, one, plan);
    tw_context_free(own);
    return status == TW_INFEASIBLE || status == TW_STOPPED || status == TW_ERR_INPUT ? TW_OK : status;
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

static tw_status try_all(trial *t)
{
    int n_layers = t->plan->network->layers.n;
    TW_ALLOC(t->work, t->had, n_layers);
    for (int i = 0; i < n_layers; i++) t->had[i] = layer_value(t, t->plan, i);
    TW_TRY(tw_changes_each(t->plan->machine, !t->energy, t->arena, (tw_change_sink){collect, t}));
    for (int i = 0; i < t->n && !t->interrupted && !tw_deadline_is_over(t->deadline); i++)
        TW_TRY(ask(t, t->list[i], t->n - i));
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
    tw_status status = t.work ? try_all(&t) : TW_ERR_NOMEM;
    if (status == TW_OK) status = finish(&t, out, n);
    tw_arena_free(t.work);
    return status;
}
