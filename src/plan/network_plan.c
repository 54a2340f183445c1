/* src/plan/network_plan.c - layers to plans, several at a time: see network.h.
 *
 * A budget is of work, not of time, so that the plan does not depend on the host. In the first round every layer has the
 * same, whatever else the network has. What layers leave of it is handed on in a second round: to those that ran out, by
 * the cycles that may still be gained in all their steps, as long as that is enough to find more than the first did.
 *
 * Threads take layers from one list, the one with the most points first, and search each with one thread: what is found
 * does not depend on how many there are. Every thread has an arena of its own, which the context keeps. The thread that
 * called waits, and tells how far it is. */
#include "plan/network.h"

#include "core/deadline.h"
#include "mapping/limits.h"
#include "mapping/objective.h"
#include "plan/fused.h"
#include "plan/network_mapping.h"
#include "plan/plan.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 64, PROGRESS_MS = 100 };
static const double network_gap = 0.0099; /* a layer's search ends when no more than this is to gain */
/* Work: of a layer in the first round, and in the second at least and at most; and without finding something better. */
static const int64_t base_budget = 1000000, more_budget = 1000000, most_budget = 3000000;
static const int64_t handed_on =
    2; /* so many pieces of work that are left make one in the second round, which finds less */
static const int64_t base_patience = 120000, more_patience = 170000;

typedef struct result { /* of one layer */
    const tw_plan *plan;
    const char *refusal;
    bool is_left; /* refused because time was up */
    tw_status status;
    int64_t budget; /* of the search to come, 0: the options' */
} result;

typedef struct team {
    const tw_network *network;
    const tw_machine *machine;
    const tw_network_search_options *options;
    const tw_network_mapping *mapping; /* NULL: search                  */
    int *order;                        /* of the layers                         */
    int n_order;                       /* those of this round                   */
    result *result;                    /* per layer                             */
    int64_t begin_ns;                  /* of the clock                          */
    tw_deadline deadline;              /* of the searches                       */
    pthread_mutex_t lock;              /* of what follows                       */
    pthread_cond_t changed;
    int n_taken, n_done, n_refused, n_running;
    int at_work;     /* a layer, -1: none */
    int64_t over_ns; /* of the clock: when the deadline was first seen to be over, 0: it is not */
    double points_left;
} team;

typedef struct worker {
    team *team;
    tw_arena *arena;
    pthread_t thread;
} worker;

/* ---- one layer ---- */

/* A layer's share of the time that is left: half of it is for all layers alike, half goes by points. 0: no limit. */
static double time_share(team *t, int layer, int n_workers)
{
    double left = tw_deadline_left(&t->deadline), points = (double)tw_op_points(&t->network->layer[layer]->op[0]);
    if (isinf(left)) return 0;
    double n_left = t->network->layers.n - t->n_done, all = t->points_left > points ? t->points_left : points;
    double share = left * n_workers * 0.5 * (1 / n_left + points / all);
    return share < left ? tw_deadline_seconds(&t->deadline, share) : tw_deadline_seconds(&t->deadline, 0);
}

static tw_search_options options_of(team *t, int layer, tw_limits *limits)
{
    tw_search_options o = *t->options->search;
    o.n_threads = 1;
    o.progress = NULL; /* the deadline tells */
    o.limits = tw_limits_of_ops(o.limits);
    if (o.limits) {
        *limits = (tw_limits){1, &o.limits->op[layer]};
        o.limits = limits;
    }
    return o;
}

static tw_status search_layer(team *t, int layer, double seconds, tw_arena *arena, tw_diag *diag,
                              const tw_plan **out)
{
    tw_limits limits;
    tw_search_options o = options_of(t, layer, &limits);
    const tw_model *model = t->network->layer[layer];
    if (t->machine->platform && tw_platform_find_computing(t->machine->platform, &model->op[0]) < 0)
        return tw_diag_error(diag, model->op[0].loc, "the machine does not compute '%s'",
                             tw_compute_name(model->op[0].compute));
    o.time_limit = seconds;
    o.groups = false; /* they are looked for in the end, of many steps */
    if (!t->options->keep_space) o.space = TW_SPACE_WINDOWS;
    if (o.gap <= 0 && !o.prove) o.gap = network_gap;
    if (t->result[layer].budget > 0) {
        o.budget = t->result[layer].budget;
        o.patience = t->result[layer].plan ? more_patience : base_patience;
    }
    const tw_plan *before = t->result[layer].plan;
    /* A plan that gave up some of its first objective for another is not where the search for the first was. */
    bool goes_on = before && before->op[0].search.space == o.space &&
                   before->op[0].search.least[0] == before->op[0].search.value[0];
    const tw_mapping *start = goes_on ? before->mapping : NULL;
    tw_arena *scratch = tw_arena_new();
    if (!scratch) return TW_ERR_NOMEM;
    tw_status status =
        tw_plan_find(&(tw_request){model, t->machine, &o, start, NULL}, &(tw_work){arena, scratch, diag}, out);
    tw_arena_free(scratch);
    return status;
}

static tw_status eval_layer(team *t, int layer, tw_arena *arena, tw_diag *diag, const tw_plan **out)
{
    tw_mapping *mapping;
    const tw_op *op = &t->network->layer[layer]->op[0];
    TW_ALLOC(arena, mapping, 1);
    *mapping = (tw_mapping){1, &t->mapping->layers->op[layer]};
    if (!tw_machine_computes(t->machine, op))
        return tw_diag_error(diag, op->loc, "the machine does not compute '%s'", tw_compute_name(op->compute));
    if (mapping->op->n_levels == 0)
        return tw_diag_error(diag, op->loc, "the mapping leaves it out: it says 'none'");
    tw_arena *scratch = tw_arena_new();
    if (!scratch) return TW_ERR_NOMEM;
    const tw_origin found = {.found = t->mapping->found ? &t->mapping->found[layer] : NULL};
    tw_status status = tw_plan_build(t->network->layer[layer], t->machine, mapping, found.found ? &found : NULL,
                                     &(tw_work){arena, scratch, diag}, out);
    tw_arena_free(scratch);
    return status;
}

/* The text behind "file: error: ". */
static const char *reason_of(const tw_diag *diag)
{
    if (diag->n_texts == 0) return "no mapping was found";
    static const char *const severity[] = {"error: ", "infeasible: ", "stopped: "};
    for (size_t i = 0; i < TW_COUNT(severity); i++) {
        const char *found = strstr(diag->text[0], severity[i]);
        if (found) return found + strlen(severity[i]);
    }
    return diag->text[0];
}

/* What a later round found counts when it is no worse. */
static bool is_no_worse(const tw_plan *plan, const tw_plan *before)
{
    return !before || plan->op[0].search.least[0] <= before->op[0].search.least[0];
}

/* Whether the deadline is over for long. For a while after it layers still get what they have by construction. */
static bool is_late(team *t)
{
    static const double late = 0.25; /* seconds */
    if (!tw_deadline_is_over(&t->deadline)) return false;
    if (t->over_ns == 0) t->over_ns = tw_deadline_now();
    return tw_deadline_since(t->over_ns) > late;
}

static const char *why_left(const team *t)
{
    bool time = tw_deadline_ending(&t->deadline) == TW_END_TIME;
    return time ? "the time limit came before it was planned" : "it was interrupted before it was planned";
}

static void leave_layer(const team *t, result *r)
{
    if (r->plan) return;
    r->refusal = why_left(t);
    r->is_left = true;
}

static void plan_layer(team *t, int layer, double seconds, tw_arena *arena)
{
    tw_diag diag = {.deadline = &t->deadline};
    result *r = &t->result[layer];
    const tw_plan *plan = NULL;
    r->status = t->mapping ? eval_layer(t, layer, arena, &diag, &plan)
                           : search_layer(t, layer, seconds, arena, &diag, &plan);
    bool refused = r->status == TW_INFEASIBLE || r->status == TW_ERR_INPUT || r->status == TW_STOPPED;
    if (refused && !r->plan) {
        r->is_left = r->status == TW_STOPPED;
        r->refusal = tw_arena_printf(arena, "%s", reason_of(&diag));
        r->status = r->refusal ? TW_OK : TW_ERR_NOMEM;
    } else if (refused) {
        r->status = TW_OK;
    } else if (plan && is_no_worse(plan, r->plan)) {
        r->plan = plan;
        r->refusal = NULL;
    }
    tw_diag_release(&diag);
}

/* ---- the team ---- */

static int take(team *t)
{
    int layer = t->n_taken < t->n_order ? t->order[t->n_taken++] : -1;
    if (layer >= 0) t->at_work = layer;
    return layer;
}

static void *work(void *user)
{
    worker *w = user;
    team *t = w->team;
    pthread_mutex_lock(&t->lock);
    int n_workers = t->n_running;
    for (int layer; (layer = take(t)) >= 0;) {
        double seconds = time_share(t, layer, n_workers);
        bool late = is_late(t);
        pthread_mutex_unlock(&t->lock);
        if (late)
            leave_layer(t, &t->result[layer]);
        else
            plan_layer(t, layer, seconds, w->arena);
        pthread_mutex_lock(&t->lock);
        t->points_left -= (double)tw_op_points(&t->network->layer[layer]->op[0]);
        t->n_refused += t->result[layer].refusal != NULL;
        t->n_done++;
    }
    t->n_running--;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void wait_a_little(team *t)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PROGRESS_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
    pthread_cond_timedwait(&t->changed, &t->lock, &until);
}

static void watch(team *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->n_running > 0) {
        wait_a_little(t);
        tw_network_progress p = {.n_done = t->n_done,
                                 .n_layers = t->network->layers.n,
                                 .name = t->at_work >= 0 ? t->network->model->op[t->at_work].name : "",
                                 .n_refused = t->n_refused,
                                 .seconds = tw_deadline_since(t->begin_ns)};
        pthread_mutex_unlock(&t->lock);
        bool more = !t->options->progress || t->options->progress(t->options->user, &p);
        if (!more) atomic_store(&t->deadline.interrupted, true);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

static int count_workers(const team *t)
{
    int wanted = t->options->search->n_threads;
    if (wanted <= 0) wanted = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return (int)tw_clamp(wanted, 1, tw_clamp(t->n_order, 1, MAX_WORKERS));
}

static void free_arena(void *arena) { tw_arena_free(arena); }

/* Workers that cannot be started are done without, as long as there is one. */
static tw_status run_team(team *t, tw_context *ctx)
{
    worker all[MAX_WORKERS];
    int n = count_workers(t), started = 0;
    for (int i = 0; i < n; i++) {
        all[i] = (worker){.team = t, .arena = tw_arena_new()};
        if (!all[i].arena) return TW_ERR_NOMEM;
        TW_TRY(tw_context_close_later(ctx, free_arena, all[i].arena));
    }
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < n; i++) started += pthread_create(&all[started].thread, NULL, work, &all[started]) == 0;
    t->n_running = started;
    pthread_mutex_unlock(&t->lock);
    if (started == 0) return TW_ERR_NOMEM;
    watch(t);
    for (int i = 0; i < started; i++) pthread_join(all[i].thread, NULL);
    return TW_OK;
}

typedef struct weight {
    int64_t points;
    int layer;
} weight;
static int by_points(const void *a, const void *b)
{
    const weight *x = a, *y = b;
    if (x->points != y->points) return x->points > y->points ? -1 : 1;
    return x->layer - y->layer;
}

/* The largest first. */
static tw_status list_order(team *t, tw_arena *arena)
{
    int n = t->network->layers.n, *order;
    weight *all;
    TW_ALLOC(arena, all, n + 1);
    TW_ALLOC(arena, order, n + 1);
    for (int i = 0; i < n; i++) {
        all[i] = (weight){tw_op_points(&t->network->layer[i]->op[0]), i};
        t->points_left += (double)all[i].points;
    }
    qsort(all, (size_t)n, sizeof *all, by_points);
    for (int i = 0; i < n; i++) order[i] = all[i].layer;
    t->order = order;
    t->n_order = n;
    return TW_OK;
}

/* ---- the second round ---- */

static bool ran_out(const result *r)
{
    return r->plan && r->plan->op[0].searched && r->plan->op[0].search.ending == TW_END_BUDGET &&
           r->plan->op[0].search.gap > network_gap;
}

/* What may still be gained in all steps of a layer, of the first objective. */
static double open_of(const team *t, int layer)
{
    const tw_search_record *s = &t->result[layer].plan->op[0].search;
    return (s->least[0] - s->bound) * t->network->layers.count[layer];
}

/* Whether more work may find something: of layers that were nearer to their bound the second round has bettered none. */
static bool is_far(const result *r)
{
    static const double far = 0.1;
    return ran_out(r) && r->plan->op[0].search.least[0] > (1 + far) * r->plan->op[0].search.bound;
}

/* Puts the layers that ran out far from their bounds first, those with most to gain before the others; returns how many there are. */
static int list_open(team *t)
{
    int n = 0;
    for (int i = 0; i < t->network->layers.n; i++) {
        if (!is_far(&t->result[i])) continue;
        int at = n++;
        for (; at > 0 && open_of(t, t->order[at - 1]) < open_of(t, i); at--) t->order[at] = t->order[at - 1];
        t->order[at] = i;
    }
    return n;
}

/* What the first round left of its budgets. */
static int64_t unused_work(const team *t)
{
    int64_t sum = 0;
    for (int i = 0; i < t->network->layers.n; i++)
        if (t->result[i].plan) sum += tw_max(0, base_budget - t->result[i].plan->op[0].search.work);
    return sum;
}

/* Hands it on by what is to gain. A share that is too small to find more goes to those before it; a network always has enough
 * for one layer. */
static void hand_on(team *t)
{
    int n = list_open(t);
    int64_t pool = tw_max(unused_work(t) / handed_on, most_budget);
    for (t->n_order = 0; t->n_order < n; t->n_order++) {
        double rest = 0;
        for (int k = t->n_order; k < n; k++) rest += open_of(t, t->order[k]);
        double share = (double)pool * open_of(t, t->order[t->n_order]) / rest;
        int64_t budget = tw_clamp((int64_t)share, more_budget, most_budget);
        if (pool < more_budget) break;
        t->result[t->order[t->n_order]].budget = tw_min(budget, pool);
        pool -= budget;
    }
}

static tw_status run_rounds(team *t, tw_context *ctx)
{
    const tw_search_options *o = t->options->search;
    bool budgets = !t->mapping && o->budget <= 0 && !o->prove && isinf(tw_deadline_left(&t->deadline));
    for (int i = 0; i < t->network->layers.n && budgets; i++) t->result[i].budget = base_budget;
    TW_TRY(run_team(t, ctx));
    for (int i = 0; i < t->network->layers.n; i++) TW_TRY(t->result[i].status);
    if (!budgets || tw_deadline_is_over(&t->deadline)) return TW_OK;
    hand_on(t);
    if (t->n_order == 0) return TW_OK;
    t->n_taken = 0;
    t->n_done = t->network->layers.n - t->n_order;
    return run_team(t, ctx);
}

static tw_status plan_layers(team *t, tw_context *ctx)
{
    t->begin_ns = tw_deadline_now();
    tw_deadline_init(&t->deadline, t->options->search->time_limit, ctx->diag.deadline);
    t->at_work = -1;
    TW_TRY(list_order(t, ctx->arena));
    TW_ALLOC(ctx->arena, t->result, t->network->layers.n + 1);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    tw_status status = run_rounds(t, ctx);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    TW_TRY(status);
    for (int i = 0; i < t->network->layers.n; i++) TW_TRY(t->result[i].status);
    return TW_OK;
}

/* ---- what they add up to ---- */

/* Cycles below which no mapping of the space can run: the search's bound, or what was simulated. */
static double bound_of(const tw_plan *plan)
{
    const tw_op_plan *op = &plan->op[0];
    bool latency = op->searched && op->search.objective[0].measure == TW_CYCLES;
    return latency ? op->search.bound : 0;
}

static void add_layer(const tw_network_plan *plan, int layer, tw_network_totals *sum)
{
    const tw_plan *p = plan->plan[layer];
    int64_t n = plan->network->layers.count[layer];
    if (!p) {
        sum->n_refused += (int)n;
        return;
    }
    const tw_op *op = &plan->network->layer[layer]->op[0];
    sum->n_planned += (int)n;
    sum->cycles += n * p->sum.cycles;
    sum->energy_fj += n * p->sum.energy_fj;
    if (op->compute == TW_MULTIPLY_ADD) sum->macs += n * tw_op_points(op);
    sum->bound += (double)n * bound_of(p);
    if (!p->op[0].searched) return;
    sum->n_proven += p->op[0].search.proven;
    sum->n_close += p->op[0].search.proven || p->op[0].search.gap < 0.01;
    sum->n_ran_out += p->op[0].search.ending == TW_END_BUDGET && p->op[0].search.gap >= 0.01;
}

/* A program takes the place of the layers of its steps. */
static void join_part(const tw_network_plan *plan, const tw_network_part *part, tw_network_totals *sum)
{
    if (!part->plan) return;
    sum->n_programs++;
    sum->n_groups += part->plan->mapping->n_groups;
    sum->cycles += part->plan->sum.cycles;
    sum->energy_fj += part->plan->sum.energy_fj;
    sum->bound += (double)part->plan->joint->search->bound;
    for (int s = part->first_step; s < part->first_step + part->n_steps; s++) {
        const tw_plan *layer = plan->plan[plan->network->layers.of[s]];
        const tw_op *op = &plan->network->lowered->graph.op[s];
        if (!layer) {
            sum->n_refused--;
            sum->n_planned++;
            sum->macs += op->compute == TW_MULTIPLY_ADD ? tw_op_points(op) : 0;
            continue;
        }
        sum->cycles -= layer->sum.cycles;
        sum->energy_fj -= layer->sum.energy_fj;
        sum->bound -= bound_of(layer);
    }
}

static tw_network_totals totals_of(const tw_network_plan *plan, double seconds)
{
    tw_network_totals sum = {.seconds = seconds};
    for (int i = 0; i < plan->network->layers.n; i++) add_layer(plan, i, &sum);
    for (int s = 0; s < plan->network->lowered->graph.n_ops; s++) sum.n_untimed += plan->network->layers.of[s] < 0;
    sum.layers_cycles = sum.cycles;
    sum.layers_energy_fj = sum.energy_fj;
    sum.layers_bound = sum.bound;
    int n_refused = sum.n_refused;
    for (int i = 0; i < plan->n_parts; i++) join_part(plan, &plan->part[i], &sum);
    if (sum.n_refused <
        n_refused) /* programs have steps that have no layer: what the others take is not what all would */
        sum.layers_cycles = sum.layers_energy_fj = 0, sum.layers_bound = 0;
    return sum;
}

static tw_status keep_results(const team *t, tw_arena *arena, tw_network_plan *out)
{
    int n = t->network->layers.n;
    const tw_plan **plan;
    const char **refusal;
    bool *is_left;
    TW_ALLOC(arena, plan, n + 1);
    TW_ALLOC(arena, refusal, n + 1);
    TW_ALLOC(arena, is_left, n + 1);
    for (int i = 0; i < n; i++) {
        plan[i] = t->result[i].plan;
        refusal[i] = t->result[i].refusal;
        is_left[i] = t->result[i].is_left;
    }
    out->plan = plan;
    out->refusal = refusal;
    out->is_left = is_left;
    return TW_OK;
}

/* Programs of several steps, in the time that is left. */
static tw_status join(tw_context *ctx, const team *t, tw_network_plan *plan)
{
    const tw_work all = tw_context_work(ctx);
    const tw_deadline *deadline = ctx->diag.deadline;
    ctx->diag.deadline = &t->deadline;
    tw_status status = t->mapping ? tw_network_join_given(plan, t->mapping, &all, plan)
                                  : tw_network_join(plan, t->options->search, &all, plan);
    ctx->diag.deadline = deadline;
    return status;
}

/* A layer that has no plan of its own is not refused when its steps run in programs, nor when time was up before these were found. */
static tw_status correct_refusals(const team *t, tw_network_plan *plan, tw_arena *arena)
{
    const tw_network *net = plan->network;
    const tw_platform *platform = plan->machine->platform;
    const char **refusal;
    bool over = tw_deadline_is_over(&t->deadline), *is_left;
    TW_ALLOC(arena, refusal, net->layers.n + 1);
    TW_ALLOC(arena, is_left, net->layers.n + 1);
    memcpy(refusal, plan->refusal, (size_t)net->layers.n * sizeof *refusal);
    memcpy(is_left, plan->is_left, (size_t)net->layers.n * sizeof *is_left);
    for (int i = 0; i < plan->n_parts; i++)
        for (int k = 0; k < plan->part[i].n_steps; k++) {
            int step = plan->part[i].first_step + k, layer = net->layers.of[step];
            if (layer < 0 || !refusal[layer]) continue;
            bool could = platform && tw_platform_find_computing(platform, &net->lowered->graph.op[step]) >= 0;
            if (plan->part[i].plan) refusal[layer] = NULL;
            if (plan->part[i].plan || !over || !could) continue;
            refusal[layer] = why_left(t);
            is_left[layer] = true;
        }
    plan->refusal = refusal;
    plan->is_left = is_left;
    return TW_OK;
}

/* Groups that are given, before anything is searched. */
static tw_status check_limits(const team *t, tw_context *ctx)
{
    const tw_limits *limits = t->mapping ? NULL : t->options->search->limits;
    const tw_work all = tw_context_work(ctx);
    if (!t->mapping) TW_TRY(tw_goals_check(t->options->search, t->machine, &ctx->diag));
    if (!limits || !limits->programs) return TW_OK;
    TW_TRY(tw_fused_check(t->options->search, t->machine, limits->programs->key_loc, &ctx->diag));
    return tw_program_limits_check(t->network, t->machine, limits->programs, &all);
}

tw_status tw_network_build(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                           const tw_network_search_options *options, const tw_network_mapping *mapping,
                           const tw_network_plan **out)
{
    team t = {.network = network, .machine = machine, .options = options, .mapping = mapping};
    tw_network_plan *plan;
    TW_ALLOC(ctx->arena, plan, 1);
    *plan = (tw_network_plan){.network = network, .machine = machine};
    TW_TRY(check_limits(&t, ctx));
    TW_TRY(plan_layers(&t, ctx));
    TW_TRY(keep_results(&t, ctx->arena, plan));
    TW_TRY(join(ctx, &t, plan));
    TW_TRY(correct_refusals(&t, plan, ctx->arena));
    plan->totals = totals_of(plan, tw_deadline_since(t.begin_ns));
    TW_TRY(tw_network_place(plan, ctx->diag.deadline, ctx->arena, ctx->scratch, &plan->memory));
    *out = plan;
    return TW_OK;
}
