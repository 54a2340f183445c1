/* test/search/test_objectives.c - lists of objectives: a later one never costs an earlier one, more than it may.
 *
 * Small problems are held against trying everything: every mapping is costed, and the list is worked off as its definition
 * says, one objective after the other, over the mappings that are left. Larger ones, whose searches give up, have laws. */
#include "brute_random.h"
#include "plan/plan.h"
#include "tw_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    tw_context *ctx;
    brute_case c;
    const tw_model *model;
    const tw_machine *machine;
} problem;

static problem random_problem(uint64_t *rng, int64_t limit)
{
    problem p = {.ctx = tw_context_new()};
    tw_timing timing = tw_test_pick(rng, 0, 2) ? TW_ASYNC : TW_LOCKSTEP;
    brute_random_make(rng, (brute_wish){timing, limit, false}, &p.c);
    CHECK_EQ(tw_model_parse(p.ctx, "workload", p.c.workload, &p.model), TW_OK);
    CHECK_EQ(tw_machine_parse(p.ctx, "machine", p.c.machine, &p.machine), TW_OK);
    return p;
}

/* Where buffers are packed their end is the packer's, which brute force does not ask. */
static bool is_packed(const problem *p)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        if (p->machine->memory[m].placement == TW_PLACE_LIFETIME) return true;
    return false;
}

static tw_search_options options_of(const problem *p, const brute_goal *goal, const double *within)
{
    return (tw_search_options){.size = sizeof(tw_search_options),
                               .n_objectives = goal->n,
                               .objective = goal->objective,
                               .within = within,
                               .max_buffers = p->c.max_buffers,
                               .n_threads = 1};
}

static const tw_search_result *search(const problem *p, const tw_search_options *options, const tw_plan **plan)
{
    tw_context_clear_messages(p->ctx);
    *plan = NULL;
    tw_status status = tw_plan_search(p->ctx, p->model, p->machine, options, plan);
    CHECK(status == TW_OK || status == TW_INFEASIBLE);
    return *plan ? tw_plan_search_result(*plan, 0) : NULL;
}

static void show(const problem *p, const brute_goal *goal, const double *within, const char *what)
{
    char text[200];
    brute_goal_text(goal, text, sizeof text);
    fprintf(stderr, "%s: objectives %s (first within %g), at most %" PRId64 " buffers\n%s%s", what, text,
            within ? within[0] : 0.0, p->c.max_buffers, p->c.workload, p->c.machine);
}

/* One, two or three objectives that differ, and how far the earlier ones may be above their least. */
static brute_goal random_list(uint64_t *rng, const tw_machine *machine, double *within)
{
    static const double share[] = {0, 0, 0.01, 0.1, 0.5, 1};
    int wanted = (int)tw_test_pick(rng, 1, 3);
    brute_goal list = {.n = 0};
    while (list.n < wanted) {
        brute_goal one = brute_random_goal(rng, machine);
        bool again = false;
        for (int i = 0; i < list.n; i++) again |= list.objective[i].measure == one.objective[0].measure;
        if (!again) list.objective[list.n++] = one.objective[0];
    }
    for (int i = 0; i < list.n; i++)
        within[i] = i + 1 < list.n ? share[tw_test_pick(rng, 0, (int64_t)TW_COUNT(share) - 1)] : 0;
    return list;
}

/* ---- against trying everything ---- */

enum { MOST_OUTCOMES = 8192 };
typedef struct every {
    int64_t n;
    tw_outcome outcome[MOST_OUTCOMES];
    bool left[MOST_OUTCOMES]; /* not ruled out so far */
} every;

static void collect(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    every *e = user;
    (void)map;
    CHECK(e->n < MOST_OUTCOMES);
    e->left[e->n] = true;
    e->outcome[e->n++] = *outcome;
}

/* The measures once more, written as a user would. */
static double measured(const tw_machine *machine, const tw_objective *objective, const tw_outcome *o)
{
    double sum = 0;
    switch (objective->measure) {
    case TW_CYCLES: return (double)o->cycles;
    case TW_TICKS: return (double)o->ticks;
    case TW_ENERGY: return (double)o->energy_fj;
    case TW_EDP: return (double)o->energy_fj * (double)o->cycles;
    case TW_PEAK:
        if (objective->at) return (double)o->used[tw_machine_find_memory(machine, objective->at)];
        for (int m = 1; m < machine->n_memories; m++) sum += (double)o->used[m];
        return sum;
    default: break;
    }
    int memory = tw_machine_find_memory(machine, objective->at);
    if (memory >= 0) return (double)o->crossed[memory];
    for (int e = 0; e < machine->n_engines; e++)
        if (strcmp(machine->engine[e].name, objective->at) == 0) return (double)o->moved[e];
    abort();
}

static double least_of(const every *e, const tw_machine *machine, const tw_objective *objective)
{
    double least = INFINITY;
    for (int64_t i = 0; i < e->n; i++)
        if (e->left[i]) least = fmin(least, measured(machine, objective, &e->outcome[i]));
    return least;
}

/* Rules out what is above. */
static void keep(every *e, const tw_machine *machine, const tw_objective *objective, double most)
{
    for (int64_t i = 0; i < e->n; i++)
        e->left[i] = e->left[i] && measured(machine, objective, &e->outcome[i]) <= most;
}

static bool check_value(const char *what, int i, double is, double should)
{
    if (is == should) return true;
    fprintf(stderr, "---- objective %d: %s is %.17g instead of %.17g\n", i + 1, what, is, should);
    return false;
}

/* Works the list off, and compares what the search said; then what decides among equals. */
static bool check_list(const problem *p, const brute_goal *goal, const double *within, every *e)
{
    const tw_plan *plan;
    const tw_search_options options = options_of(p, goal, within);
    const tw_search_result *r = search(p, &options, &plan);
    static const tw_objective tie[] = {{TW_ENERGY, NULL}, {TW_CYCLES, NULL}, {TW_PEAK, NULL}};
    if (!r && e->n > 0) fprintf(stderr, "---- %s\n", tw_context_message(p->ctx, 0));
    if (!r) return e->n == 0;
    bool good = e->n > 0 && r->proven && r->ending == TW_END_DONE;
    if (!good) fprintf(stderr, "---- %s, ending %d\n", r->proven ? "proven" : "not proven", (int)r->ending);
    for (int i = 0; i < goal->n; i++) {
        double least = least_of(e, p->machine, &goal->objective[i]);
        good = check_value("the least", i, r->least[i], least) && good;
        good = check_value("the bound", i, r->bounds[i], least) && good;
        good = good && r->within[i] == within[i];
        keep(e, p->machine, &goal->objective[i], floor(least * within[i]) + least);
    }
    for (int i = 0; i < goal->n; i++) { /* as small as those behind it leave it */
        double least = least_of(e, p->machine, &goal->objective[i]);
        good = check_value("the value", i, r->value[i], least) && good;
        keep(e, p->machine, &goal->objective[i], least);
    }
    const tw_summary *sum = tw_plan_op_summary(plan, 0);
    for (int i = 0; i < 2; i++) {
        double least = least_of(e, p->machine, &tie[i]);
        good = check_value("the tie", goal->n + i, (double)(i ? sum->cycles : sum->energy_fj), least) && good;
        keep(e, p->machine, &tie[i], least);
    }
    double used = 0;
    for (int m = 1; m < tw_plan_n_memories(plan); m++) used += (double)tw_plan_memory_use(plan, 0, m)->static_units;
    return (is_packed(p) || check_value("the memory", goal->n + 2, used, least_of(e, p->machine, &tie[2]))) && good;
}

TEST(a_list_is_worked_off_as_its_definition_says)
{
    enum { CASES = 400, LIMIT = 3000 };
    uint64_t rng = tw_test_seed();
    every *e = malloc(sizeof *e);
    CHECK(e != NULL);
    for (int i = 0; i < CASES; i++) {
        double within[TW_MAX_OBJECTIVES];
        problem p = random_problem(&rng, LIMIT);
        brute_goal goal = random_list(&rng, p.machine, within);
        bool peaks = false;
        for (int k = 0; k < goal.n; k++) peaks |= goal.objective[k].measure == TW_PEAK;
        e->n = 0;
        brute_run(&(brute_space){p.model, p.machine, p.c.max_buffers, false}, collect, e);
        bool good = (peaks && is_packed(&p)) || check_list(&p, &goal, within, e);
        if (!good) show(&p, &goal, within, "not what trying everything gives");
        CHECK(good);
        tw_context_free(p.ctx);
        if (!good) break;
    }
    free(e);
}

/* ---- laws of searches that give up ---- */

/* A budget with which many of these do not end with a proof. */
static int64_t random_budget(uint64_t *rng)
{
    static const int64_t budget[] = {1, 1000, 10000, 100000};
    return budget[tw_test_pick(rng, 0, (int64_t)TW_COUNT(budget) - 1)];
}

TEST(a_later_objective_never_costs_an_earlier_one)
{
    enum { CASES = 150, LARGE = 100000 };
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < CASES; i++) {
        double within[TW_MAX_OBJECTIVES];
        const tw_plan *plan;
        problem p = random_problem(&rng, LARGE);
        brute_goal goal = random_list(&rng, p.machine, within);
        tw_search_options options = options_of(&p, &goal, NULL);
        options.budget = random_budget(&rng);
        const tw_search_result *all = search(&p, &options, &plan);
        bool good = true;
        double alone = all && goal.n == 1 ? all->value[0] : INFINITY;
        for (options.n_objectives = 1; options.n_objectives < goal.n; options.n_objectives++) {
            const tw_search_result *some = search(&p, &options, &plan);
            good = good && !some == !all;
            if (some && options.n_objectives == 1) alone = some->value[0];
            for (int k = 0; some && all && k < options.n_objectives; k++) {
                good = good && all->value[k] <= some->value[k];
                if (all->value[k] != some->value[k]) break; /* less of an earlier one may cost a later one */
            }
        }
        options.within = within;
        options.n_objectives = goal.n;
        const tw_search_result *tolerant = search(&p, &options, &plan);
        for (int k = 0; k < goal.n && tolerant; k++)
            good = good && tolerant->least[k] <= tolerant->value[k] && tolerant->bounds[k] <= tolerant->least[k] &&
                   tolerant->value[k] <= floor(tolerant->least[k] * within[k]) + tolerant->least[k];
        good = good && (!tolerant || tolerant->least[0] <= alone);
        if (!good) show(&p, &goal, within, "a later objective costs an earlier one");
        if (!good)
            fprintf(stderr, "budget %" PRId64 ", alone %.17g, of the list %.17g, with tolerance %.17g\n",
                    options.budget, alone, all ? all->value[0] : INFINITY,
                    tolerant ? tolerant->least[0] : INFINITY);
        CHECK(good);
        tw_context_free(p.ctx);
        if (!good) break;
    }
}

TEST(nothing_that_was_proven_is_beaten_by_the_plan_of_another_objective)
{
    enum { CASES = 60, LARGE = 30000, OBJECTIVES = 5 };
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < CASES; i++) {
        problem p = random_problem(&rng, LARGE);
        const tw_search_result *result[OBJECTIVES];
        tw_outcome outcome[OBJECTIVES];
        const tw_objective objective[OBJECTIVES] = {{TW_CYCLES, NULL},
                                                    {TW_ENERGY, NULL},
                                                    {TW_EDP, NULL},
                                                    {TW_TRAFFIC, p.machine->memory[1].name},
                                                    {TW_PEAK, p.machine->memory[1].name}};
        for (int k = 0; k < OBJECTIVES; k++) {
            const tw_plan *plan;
            const brute_goal goal = {.n = 1, .objective = {objective[k]}};
            const tw_search_options options = options_of(&p, &goal, NULL);
            result[k] = search(&p, &options, &plan);
            if (!plan) continue;
            const tw_summary *sum = tw_plan_op_summary(plan, 0);
            outcome[k] = (tw_outcome){.cycles = sum->cycles, .energy_fj = sum->energy_fj};
            for (int o = 0; o < p.model->op[0].n_operands; o++)
                outcome[k].crossed[1] += tw_plan_link_use(plan, 0, 1, o)->units;
            outcome[k].used[1] = tw_plan_memory_use(plan, 0, 1)->static_units;
        }
        bool good = true;
        for (int k = 0; k < OBJECTIVES; k++)
            for (int other = 0; other < OBJECTIVES && result[k] && result[k]->proven; other++)
                good = good && result[other] &&
                       measured(p.machine, &objective[k], &outcome[k]) <=
                           measured(p.machine, &objective[k], &outcome[other]);
        if (!good) show(&p, &(brute_goal){0}, NULL, "an objective is beaten by another one's plan");
        CHECK(good);
        tw_context_free(p.ctx);
        if (!good) break;
    }
}
