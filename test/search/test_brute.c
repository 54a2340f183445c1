/* test/search/test_brute.c - the search of the whole space against trying every mapping.
 *
 * Random small operators on random machines of both timings and on clusters, each with several objectives: single ones, lexicographic
 * ones and Pareto fronts. Case i of a seed is always the same, whoever runs it:
 *
 *     TW_SEED=n TW_CASE=i     only this one
 *     TW_CASES=n              so many pairs of operator and machine instead of the default
 *     TW_FAILURES=n           go on until so many have failed */
#include "async_random.h"
#include "brute_random.h"
#include "mapping/limits.h"
#include "tw_read.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the brute force itself ---- */

#define LOCKSTEP(inner, movers)                                                                           \
    "machine: m\nunit: element\ntiming: lockstep\nmemories: [{name: dram, size: unlimited}, " inner "]\n" \
    "engines: [" movers ", {name: mac, computes: [multiply-add, add], on: l1, accumulate: fused, cost: "  \
    "{constant: 1}}]\n"
#define ONE_LEVEL \
    LOCKSTEP("{name: l1, size: unlimited}", "{name: mv, between: [dram, l1], channels: 1, cost: {constant: 1}}")
#define TWO_LEVELS                                                                 \
    LOCKSTEP("{name: l2, size: unlimited}, {name: l1, size: unlimited}",           \
             "{name: m2, between: [dram, l2], channels: 1, cost: {constant: 1}}, " \
             "{name: m1, between: [l2, l1], channels: 1, cost: {constant: 1}}")
#define ASYNC                                                                                               \
    "machine: m\nunit: element\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: " \
    "unlimited}]\nengines: [{name: mv, between: [dram, l1], cost: {constant: 1}}, {name: mac, computes: "   \
    "[multiply-add, add], on: l1, cost: {constant: 1}}]\n"

static int64_t size_of(const char *workload, const char *machine, int64_t max_buffers, bool full)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine m;
    CHECK_EQ(tw_read_model(&b, "workload", workload, &model), TW_OK);
    CHECK_EQ(tw_read_machine(&b, "machine", machine, &m), TW_OK);
    brute_space space = {&model, &m, max_buffers, full};
    int64_t n = brute_size(&space, INT64_MAX - 1);
    tw_bench_free(&b);
    return n;
}

TEST(spaces_have_as_many_mappings_as_counted_by_hand)
{
    /* Two points: one tile or two, tiles of one or of two. Three operands with one to three buffers. */
    CHECK_EQ(size_of("add:2", ONE_LEVEL, 1, true), 4);
    CHECK_EQ(size_of("add:2", ONE_LEVEL, 3, true), 4 * 27);
    CHECK_EQ(size_of("add:2", ONE_LEVEL, 1, false), 3);
    /* Five points: 1, 2, 3 or 5 tiles, tiles of 1..5. Two loops: both orders. */
    CHECK_EQ(size_of("add:5x5", ONE_LEVEL, 1, true), 9 * 9 * 2);
    /* Three points in two levels: passed through 6 ways; else each of 3, 2 or 1 points twice, cut 6, 4 or 2 ways. */
    CHECK_EQ(size_of("add:3", TWO_LEVELS, 1, true), 6 + 2 * (6 + 4 + 2));
    CHECK_EQ(size_of("add:3", TWO_LEVELS, 2, true), 6 * 8 + 2 * (6 + 4 + 2) * 64);
    /* Lockstep: the reduction comes last, so there are two orders of m and n. */
    CHECK_EQ(size_of("matmul:2x2x2", ONE_LEVEL, 1, true), 4 * 4 * 4 * 2);
    /* Async: any order, and each operand stays for a tile, always, or while m, n or k stays. */
    CHECK_EQ(size_of("matmul:2x2x2", ASYNC, 1, true), 4 * 4 * 4 * 6 * 5 * 5 * 5);
    /* One, two or all three loops cut, each in one of two ways: orders of those, and 2, 3 or 4 ways to stay. */
    CHECK_EQ(size_of("matmul:2x2x2", ASYNC, 2, false), 8 * (1 + 3 * 2 * 8 + 3 * 4 * 2 * 27 + 8 * 6 * 64));
}

typedef struct outcomes {
    tw_outcome *at;
    size_t n, room;
} outcomes;

static void add_outcome(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    (void)map;
    outcomes *list = user;
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : 256;
        list->at = realloc(list->at, list->room * sizeof *list->at);
        if (!list->at) abort();
    }
    list->at[list->n++] = *outcome;
}

static int compare_outcomes(const void *a, const void *b) { return memcmp(a, b, sizeof(tw_outcome)); }

static outcomes outcomes_of(const brute_space *space)
{
    outcomes all = {0};
    brute_run(space, add_outcome, &all);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, compare_outcomes);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++)
        if (n == 0 || compare_outcomes(&all.at[n - 1], &all.at[i]) != 0) all.at[n++] = all.at[i];
    all.n = n;
    return all;
}

/* What is left out because it says the same with other words changes nothing. */
TEST(everything_and_what_is_told_apart_have_the_same_outcomes)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < async_rounds(300); i++) {
        brute_case c;
        brute_random_make(&rng, (brute_wish){i % 2 ? TW_ASYNC : TW_LOCKSTEP, 20000, true}, &c);
        tw_bench b = tw_bench_new();
        tw_model model;
        tw_machine machine;
        CHECK_EQ(tw_read_model(&b, "workload", c.workload, &model), TW_OK);
        CHECK_EQ(tw_read_machine(&b, "machine", c.machine, &machine), TW_OK);
        brute_space space = {&model, &machine, c.max_buffers, true};
        outcomes all = outcomes_of(&space);
        space.full = false;
        outcomes fewer = outcomes_of(&space);
        bool same = all.n == fewer.n && (all.n == 0 || memcmp(all.at, fewer.at, all.n * sizeof *all.at) == 0);
        if (!same) fprintf(stderr, "%s%s", c.workload, c.machine);
        CHECK(same);
        free(all.at);
        free(fewer.at);
        tw_bench_free(&b);
    }
}

/* Of everything, those of the family of models.md 1.7 for a matmul. */
typedef struct family {
    const tw_op *op;
    int64_t max_execs;
    bool timed; /* cycles count, not ticks */
    int64_t best, n_optima;
} family;

static void try_member(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    family *f = user;
    const tw_level_map *l = &map->level[0];
    for (int i = 0; i < 3; i++)
        if (l->size[i] > 0) return;
    int64_t m = l->count[0], n = l->count[1], k = l->count[2],
            least = tw_mapping_min_output_slots(l->accumulate, k);
    if (m * n * k > f->max_execs) return;
    if (l->slots[0] > tw_min(2, m * k) || l->slots[1] > tw_min(2, k * n)) return;
    if (l->slots[2] > (least == 1 && m * n == 1 ? 1 : least + 1)) return;
    int64_t value = f->timed ? outcome->cycles : outcome->ticks;
    if (value > f->best) return;
    f->n_optima = value < f->best ? 1 : f->n_optima + 1;
    f->best = value;
}

TEST(the_family_of_the_notes_has_the_optima_that_the_search_of_it_finds)
{
    static const char *const word[] = {"separate", "in-place", "fused"};
    static const tw_mode mode[] = {TW_MODE_SEPARATE, TW_MODE_IN_PLACE, TW_MODE_FUSED};
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < async_rounds(300); i++) {
        int64_t e[3], how = tw_test_pick(&rng, 0, 2),
                      max_execs = tw_test_pick(&rng, 1, 3) == 1 ? 1000 : tw_test_pick(&rng, 1, 30);
        bool timed = tw_test_pick(&rng, 0, 1);
        for (int j = 0; j < 3; j++) e[j] = tw_test_pick(&rng, 1, 4);
        int64_t all = e[0] * e[2] + e[2] * e[1] + e[0] * e[1];
        char line[64], text[700];
        snprintf(line, sizeof line, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, e[0], e[1], e[2]);
        snprintf(
            text, sizeof text,
            "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: buf, "
            "size: %" PRId64 "}], engines: [{name: move, between: [out, buf], channels: unlimited, cost: "
            "{per_step: %" PRId64 ", step: 2}}, {name: mac, computes: multiply-add, on: buf, accumulate: %s, cost: "
            "{latency: %" PRId64 ", per_cycle: 2}}, {name: add, computes: sum, on: buf%s, cost: {constant: 1}}]}",
            tw_test_pick(&rng, 3, all + 20), tw_test_pick(&rng, 1, 9), word[how], tw_test_pick(&rng, 0, 5),
            tw_test_pick(&rng, 0, 1) ? ", shares: mac" : "");
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan;
        CHECK_EQ(tw_model_open(ctx, line, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "m", text, &machine), TW_OK);
        family f = {.op = &model->op[0], .max_execs = max_execs, .timed = timed, .best = INT64_MAX};
        brute_run(&(brute_space){model, machine, 4, false}, try_member, &f);
        tw_search_options options = {.space = TW_SPACE_NOTES,
                                     .mode = mode[how],
                                     .max_execs = max_execs,
                                     .n_objectives = 1,
                                     .objective = (const tw_objective[]){{timed ? TW_CYCLES : TW_TICKS, NULL}}};
        for (int all_of_it = 0; all_of_it < 2; all_of_it++) {
            options.exhaustive = all_of_it;
            tw_status status = tw_plan_search(ctx, model, machine, &options, &plan);
            bool good = status == (f.best == INT64_MAX ? TW_INFEASIBLE : TW_OK);
            if (good && status == TW_OK)
                good = tw_plan_search_result(plan, 0)->best == f.best &&
                       tw_plan_search_result(plan, 0)->n_optima == f.n_optima;
            if (!good)
                fprintf(stderr, "%s, at most %" PRId64 " executions, %s%s\n%s\n", line, max_execs,
                        timed ? "cycles" : "ticks", all_of_it ? ", exhaustive" : "", text);
            CHECK(good);
        }
        tw_context_free(ctx);
    }
}

/* ---- the search against it ---- */

enum { GOALS = 3, MAX_FRONT = 512, LIMIT = 6000, RARE_LIMIT = 60000 };

/* What brute force found for one choice of objectives. */
typedef struct verdict {
    brute_goal wanted;
    tw_goals goals;
    bool found;
    tw_goal_value best;
    tw_op_map map;
    int n_front;
    tw_goal_value front[MAX_FRONT];
} verdict;

typedef struct trial { /* one operator, perhaps with one fused behind it, and one machine */
    uint64_t seed;
    int64_t number;
    brute_wish wish;
    brute_case c;
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    unsigned windows; /* loops that shift one */
    verdict v[GOALS]; /* of everything        */
    verdict w[GOALS]; /* with whole windows   */
    tw_text *report;
} trial;

static void add_to_front(verdict *v, const tw_goal_value *value)
{
    for (int i = 0; i < v->n_front; i++)
        if (tw_value_covers(&v->goals, &v->front[i], value)) return;
    int n = 0;
    for (int i = 0; i < v->n_front; i++)
        if (!tw_value_covers(&v->goals, value, &v->front[i])) v->front[n++] = v->front[i];
    if (n == MAX_FRONT) abort();
    v->front[n++] = *value;
    v->n_front = n;
}

static void judge_one(verdict *v, const tw_op_map *map, const tw_outcome *outcome)
{
    tw_goal_value value = tw_goals_value(&v->goals, outcome);
    if (v->wanted.pareto) add_to_front(v, &value);
    if (v->found && tw_value_compare(&v->goals, &value, &v->best) >= 0) return;
    v->found = true;
    v->best = value;
    v->map = *map;
}

/* Reductions that move along an axis together with another loop. */
static unsigned windows_of(const tw_op *op)
{
    unsigned windows = 0;
    for (int l = 0; l < op->n_loops; l++)
        for (int o = 0; o < op->n_operands && op->loop[l].reduces; o++)
            for (int a = 0; a < op->operand[o].n_axes; a++) {
                const tw_axis *axis = &op->operand[o].axis[a];
                bool here = false, others = false;
                for (int i = 0; i < axis->n_terms; i++) {
                    here |= axis->term[i].loop == l;
                    others |= axis->term[i].loop != l && op->loop[axis->term[i].loop].extent > 1;
                }
                if (here && others) windows |= 1u << l;
            }
    return windows;
}

static bool cuts_windows(const trial *t, const tw_op_map *map)
{
    const tw_op *op = &t->model->op[0];
    for (int l = 0; l < op->n_loops; l++)
        for (int i = 0; i < map->n_levels && (t->windows >> l & 1); i++)
            if (!map->level[i].pass && tw_level_n_tiles(&map->level[i], l, op->loop[l].extent) > 1) return true;
    return false;
}

static void judge(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    trial *t = user;
    bool whole = !cuts_windows(t, map);
    for (int g = 0; g < GOALS; g++) {
        judge_one(&t->v[g], map, outcome);
        if (whole) judge_one(&t->w[g], map, outcome);
    }
}

/* ---- reports ---- */

static void print_values(tw_text *out, const tw_goals *goals, const tw_goal_value *value)
{
    for (int i = 0; i < goals->n; i++) tw_text_printf(out, " %.0f", (double)value->of[i]);
}

static void print_problem(const trial *t, const verdict *v, tw_text *out)
{
    char goal[200];
    brute_goal_text(&v->wanted, goal, sizeof goal);
    tw_text_printf(out, "TW_SEED=%" PRIu64 " TW_CASE=%" PRId64 ", objectives %s, at most %" PRId64 " buffers\n%s%s",
                   t->seed, t->number, goal, t->c.max_buffers, t->c.workload, t->c.machine);
    tw_text_printf(out, "brute force:");
    if (!v->found) {
        tw_text_printf(out, " nothing fits\n");
        return;
    }
    print_values(out, &v->goals, &v->best);
    tw_text_printf(out, "\n");
    for (int i = 0; i < v->n_front; i++) {
        tw_text_printf(out, "  front");
        print_values(out, &v->goals, &v->front[i]);
        tw_text_printf(out, "\n");
    }
    tw_mapping_print(&(tw_mapping){1, &v->map}, t->model, t->machine, out);
}

static char *mapping_text(trial *t, const tw_mapping *mapping)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f || tw_mapping_print_to(t->ctx, mapping, t->model, t->machine, f) != TW_OK) abort();
    fclose(f);
    return text;
}

/* Says what is wrong, once with everything that is needed to see it again; returns false. */
static bool complain(trial *t, const verdict *v, const tw_plan *plan, const char *fmt, ...)
{
    char what[2000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    tw_text_printf(t->report, "---- %s\n", what);
    print_problem(t, v, t->report);
    const tw_search_result *r = plan ? tw_plan_search_result(plan, 0) : NULL;
    if (r) {
        tw_text_printf(t->report,
                       "search: best %" PRId64 ", bound %.0f, root %.0f, %s, space %.0f, simulated %" PRId64
                       ", nodes %" PRId64 "\n",
                       r->best, r->bound, r->root_bound, r->proven ? "proven" : "not proven", r->n_space,
                       r->n_points, r->n_nodes);
        char *text = NULL;
        size_t n;
        FILE *f = open_memstream(&text, &n);
        if (f && tw_plan_print_mapping(t->ctx, plan, f) == TW_OK) fclose(f), tw_text_printf(t->report, "%s", text);
        free(text);
        for (int i = 0; i < tw_plan_n_front(plan, 0); i++) {
            tw_text_printf(t->report, "  front");
            for (int k = 0; k < v->goals.n; k++)
                tw_text_printf(t->report, " %.0f", tw_plan_front(plan, 0, i)->value[k]);
            tw_text_printf(t->report, "\n");
        }
    }
    return false;
}

/* ---- comparisons ---- */

/* What a plan costs, through the public interface. Of a memory it takes what the operator takes that takes most. */
static tw_outcome outcome_of(const trial *t, const tw_plan *plan)
{
    const tw_summary *sum = tw_plan_op_summary(plan, 0);
    tw_outcome out = {.cycles = sum->cycles, .ticks = sum->ticks, .energy_fj = sum->energy_fj};
    for (int e = 0; e < tw_plan_n_engines(plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
        out.moved[e] = use->load_units + use->store_units;
    }
    for (int m = 0; m < tw_plan_n_memories(plan); m++) {
        for (int i = 0; i < t->model->n_ops; i++)
            out.used[m] = tw_max(out.used[m], tw_plan_memory_use(plan, i, m)->static_units);
        for (int o = 0; m > 0 && o < t->model->op[0].n_operands; o++)
            out.crossed[m] += tw_plan_link_use(plan, 0, m, o)->units;
    }
    return out;
}

static bool equals(const verdict *v, const tw_goal_value *value, const double *claimed)
{
    for (int i = 0; i < v->goals.n; i++)
        if ((double)value->of[i] != claimed[i]) return false;
    return true;
}

/* The mapping, printed, read again and evaluated, costs what the search said. */
static bool check_mapping(trial *t, const verdict *v, const tw_plan *plan, const tw_mapping *mapping,
                          const double *claimed)
{
    char *text = mapping_text(t, mapping);
    const tw_mapping *again;
    const tw_plan *other;
    bool good = tw_mapping_parse(t->ctx, t->model, t->machine, "mapping", text, &again) == TW_OK &&
                tw_plan_eval(t->ctx, t->model, t->machine, again, &other) == TW_OK;
    if (!good)
        complain(t, v, plan, "a mapping of the search does not run: %s\n%s", tw_context_message(t->ctx, 0), text);
    if (good) {
        tw_outcome outcome = outcome_of(t, other);
        tw_goal_value value = tw_goals_value(&v->goals, &outcome);
        good = equals(v, &value, claimed) ||
               complain(t, v, plan, "a mapping does not cost what the search says, but %.0f..\n%s",
                        (double)value.of[0], text);
    }
    free(text);
    return good;
}

static bool check_front(trial *t, const verdict *v, const tw_plan *plan)
{
    int n = tw_plan_n_front(plan, 0);
    if (n != v->n_front) return complain(t, v, plan, "the front has %d points instead of %d", n, v->n_front);
    for (int i = 0; i < n; i++) {
        const tw_front_point *p = tw_plan_front(plan, 0, i);
        bool there = false;
        for (int k = 0; k < n; k++) there |= equals(v, &v->front[k], p->value);
        if (!there) return complain(t, v, plan, "point %d is not on the front", i);
        for (int k = 0; k < i; k++)
            if (memcmp(tw_plan_front(plan, 0, k)->value, p->value, (size_t)v->goals.n * sizeof p->value[0]) == 0)
                return complain(t, v, plan, "points %d and %d are the same", k, i);
        if (i > 0 && tw_plan_front(plan, 0, i - 1)->value[0] > p->value[0])
            return complain(t, v, plan, "point %d stands before a smaller one", i - 1);
        if (!check_mapping(t, v, plan, p->mapping, p->value)) return false;
    }
    return true;
}

static bool check_result(trial *t, const verdict *v, const tw_plan *plan, bool exhaustive)
{
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    const char *how = exhaustive ? "exhaustive: " : "";
    if (!r->proven || r->gap != 0 || r->ending != TW_END_DONE) return complain(t, v, plan, "%snot proven", how);
    bool same = v->wanted.pareto ? (double)v->best.of[0] == r->value[0] : equals(v, &v->best, r->value);
    if (!same) return complain(t, v, plan, "%sthe search found %.0f.. instead", how, r->value[0]);
    if ((double)r->best != r->value[0]) return complain(t, v, plan, "%sbest and value differ", how);
    if (r->bound > r->value[0] || r->root_bound > r->value[0])
        return complain(t, v, plan, "%sa bound is above the best", how);
    if ((double)r->n_points > r->n_space) return complain(t, v, plan, "%smore points than the space has", how);
    if (exhaustive && (double)r->n_points != r->n_space)
        return complain(t, v, plan, "exhaustive: not all points of the space were simulated");
    return !v->wanted.pareto || check_front(t, v, plan);
}

/* A search that ends when it is near enough: what it says of the optimum is true. */
static bool check_near(trial *t, const verdict *v, const tw_search_options *options)
{
    tw_search_options near = *options;
    const tw_plan *plan = NULL;
    near.gap = 0.2;
    if (tw_plan_search(t->ctx, t->model, t->machine, &near, &plan) != TW_OK)
        return complain(t, v, plan, "near enough: nothing was found");
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    if (r->gap > near.gap || r->ending != (r->proven ? TW_END_DONE : TW_END_GAP) || (r->proven && r->gap > 0))
        return complain(t, v, plan, "near enough: gap %f", r->gap);
    if (r->bound > (double)v->best.of[0] || r->value[0] < (double)v->best.of[0])
        return complain(t, v, plan, "near enough: the optimum is not between bound and best");
    return true;
}

/* A search as it is when nothing is said about its end: within 1 % or out of work, and what it says is true. */
static bool check_default(trial *t, const verdict *v, const tw_search_options *options)
{
    tw_search_options usual = *options;
    const tw_plan *plan = NULL;
    usual.prove = false;
    if (tw_plan_search(t->ctx, t->model, t->machine, &usual, &plan) != TW_OK)
        return complain(t, v, plan, "by default: nothing was found");
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    bool ended =
        r->proven ? r->ending == TW_END_DONE : r->by_default && (r->gap <= 0.01 || r->ending == TW_END_BUDGET);
    if (!ended) return complain(t, v, plan, "by default: gap %f, ending %d", r->gap, (int)r->ending);
    if (r->bound > (double)v->best.of[0] || r->value[0] < (double)v->best.of[0])
        return complain(t, v, plan, "by default: the optimum is not between bound and best");
    return !r->proven || equals(v, &v->best, r->value) ||
           complain(t, v, plan, "by default: proven, but not the best");
}

static bool check_search(trial *t, const verdict *v, tw_space_name space, bool exhaustive, int n_threads)
{
    tw_search_options options = {.n_objectives = v->wanted.n,
                                 .objective = v->wanted.objective,
                                 .pareto = v->wanted.pareto,
                                 .space = space,
                                 .max_buffers = t->c.max_buffers,
                                 .exhaustive = exhaustive,
                                 .n_threads = n_threads,
                                 .prove = true};
    const tw_plan *plan = NULL;
    tw_op_limits limit[BRUTE_MAX_OPS];
    tw_limits limits = {t->model->n_ops, limit};
    for (int i = 0; i < t->model->n_ops; i++) { /* brute force gives the others one tile */
        limit[i] = tw_op_limits_none(t->machine);
        if (i > 0) limit[i].fused = limit[i].whole = true;
    }
    if (t->model->n_ops > 1) options.limits = &limits;
    tw_context_clear_messages(t->ctx);
    tw_status status = tw_plan_search(t->ctx, t->model, t->machine, &options, &plan);
    if (status != (v->found ? TW_OK : TW_INFEASIBLE))
        return complain(t, v, plan, "%sthe search says %s: %s", exhaustive ? "exhaustive: " : "",
                        tw_status_name(status), status == TW_OK ? "" : tw_context_message(t->ctx, 0));
    if (status != TW_OK) return true;
    if (!check_result(t, v, plan, exhaustive)) return false;
    if (!v->wanted.pareto && !exhaustive && !check_near(t, v, &options)) return false;
    if (!v->wanted.pareto && !exhaustive && !check_default(t, v, &options)) return false;
    tw_outcome outcome = outcome_of(t, plan);
    tw_goal_value value = tw_goals_value(&v->goals, &outcome);
    if (!equals(v, &value, tw_plan_search_result(plan, 0)->value))
        return complain(t, v, plan, "the plan does not cost what its search says");
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    const tw_mapping *mapping;
    bool good = f && tw_plan_print_mapping(t->ctx, plan, f) == TW_OK;
    if (f) fclose(f);
    good = good && tw_mapping_parse(t->ctx, t->model, t->machine, "mapping", text, &mapping) == TW_OK;
    if (!good) complain(t, v, plan, "the plan's mapping cannot be read: %s", text);
    free(text);
    return good && check_mapping(t, v, plan, mapping, tw_plan_search_result(plan, 0)->value);
}

/* ---- cases ---- */

static void open_trial(trial *t, uint64_t *rng)
{
    tw_diag diag = {0};
    bool rare = tw_test_pick(rng, 1, 100) == 1;
    brute_wish wish = t->wish;
    bool free = !wish.cluster && !wish.group && !wish.array && !wish.window;
    if (free) wish.timing = t->number % 2 ? TW_ASYNC : TW_LOCKSTEP;
    wish.limit = rare ? RARE_LIMIT : LIMIT;
    brute_random_make(rng, wish, &t->c);
    t->ctx = tw_context_new();
    if (!t->ctx || tw_model_parse(t->ctx, "workload", t->c.workload, &t->model) != TW_OK ||
        tw_machine_parse(t->ctx, "machine", t->c.machine, &t->machine) != TW_OK)
        abort();
    for (int g = 0; g < GOALS; g++) {
        verdict *v = &t->v[g];
        *v = (verdict){.wanted = brute_random_goal(rng, t->machine)};
        tw_search_options options = {
            .n_objectives = v->wanted.n, .objective = v->wanted.objective, .pareto = v->wanted.pareto};
        if (tw_goals_of(&options, t->machine, &diag, &v->goals) != TW_OK) abort();
        t->w[g] = *v;
    }
    t->windows = windows_of(&t->model->op[0]);
    tw_diag_release(&diag);
}

/* Where buffers are packed the end is the packer's. */
static bool is_fair(const trial *t, const verdict *v)
{
    bool packed = false;
    for (int m = 1; m < t->machine->n_memories; m++) packed |= t->machine->memory[m].placement == TW_PLACE_LIFETIME;
    for (int i = 0; i < v->wanted.n && packed; i++)
        if (v->wanted.objective[i].measure == TW_PEAK) return false;
    return true;
}

/* Case `number` of the seed; false after a report. */
static bool run_case(uint64_t seed, int64_t number, brute_wish wish, tw_text *report)
{
    uint64_t rng = seed + (uint64_t)number * UINT64_C(0x632be59bd9b4e019);
    trial *t = calloc(1, sizeof *t);
    if (!t) abort();
    *t = (trial){.seed = seed, .number = number, .wish = wish, .report = report};
    open_trial(t, &rng);
    brute_run(&(brute_space){t->model, t->machine, t->c.max_buffers, false}, judge, t);
    bool good = true;
    for (int g = 0; g < GOALS; g++) {
        int n_threads = tw_test_pick(&rng, 1, 16) == 1 ? 2 : 1;
        bool exhaustive = tw_test_pick(&rng, 1, 4) == 1;
        if (!is_fair(t, &t->v[g])) continue;
        good = check_search(t, &t->v[g], TW_SPACE_ALL, false, n_threads) && good;
        if (exhaustive) good = check_search(t, &t->v[g], TW_SPACE_ALL, true, n_threads) && good;
        if (!t->windows) continue;
        verdict *whole = t->w[g].found ? &t->w[g] : &t->v[g]; /* without a whole window that fits: everything */
        good = check_search(t, whole, TW_SPACE_WINDOWS, exhaustive, n_threads) && good;
    }
    tw_context_free(t->ctx);
    free(t);
    return good;
}

typedef struct crew { /* workers share the cases */
    pthread_mutex_t lock;
    uint64_t seed;
    brute_wish wish;
    int64_t next, n;
    int64_t n_bad, most_bad;
    tw_text report;
} crew;

static void *work(void *user)
{
    crew *c = user;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        int64_t number = c->n_bad < c->most_bad ? c->next++ : c->n;
        pthread_mutex_unlock(&c->lock);
        if (number >= c->n) return NULL;
        tw_text report = {0};
        bool good = run_case(c->seed, number, c->wish, &report);
        pthread_mutex_lock(&c->lock);
        if (!good) {
            c->n_bad++;
            tw_text_printf(&c->report, "%s", report.bytes);
        }
        pthread_mutex_unlock(&c->lock);
        tw_text_release(&report);
    }
}

static int64_t number_of(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 0) : otherwise;
}

static void run_crew(brute_wish wish, int n_cases)
{
    enum { MOST = 16 };
    crew c = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .seed = tw_test_seed(),
              .wish = wish,
              .most_bad = 5,
              .n = number_of("TW_CASES", async_rounds(n_cases))};
    c.most_bad = number_of("TW_FAILURES", c.most_bad);
    if (getenv("TW_CASE")) {
        c.next = number_of("TW_CASE", 0);
        c.n = c.next + 1;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n = (int)tw_clamp(cores, 1, MOST);
    pthread_t worker[MOST];
    for (int i = 0; i < n; i++) CHECK_EQ(pthread_create(&worker[i], NULL, work, &c), 0);
    for (int i = 0; i < n; i++) pthread_join(worker[i], NULL);
    print_message("%" PRId64 " operators and machines x %d objectives\n", c.n, GOALS);
    if (c.report.bytes) fprintf(stderr, "%s", c.report.bytes); /* longer than cmocka prints */
    tw_text_release(&c.report);
    CHECK_EQ(c.n_bad, 0);
}

/* 2'000 pairs of operator and machine, half of them async, with three choices of objectives each. */
TEST(the_search_finds_what_trying_everything_finds) { run_crew((brute_wish){0}, 2000); }

/* Costs of descriptors and kernels, movers that fetch ahead, dual and whole buffers, padded loops, fused operators. */
TEST(the_search_on_clusters_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .cluster = true}, 800);
}

/* Windows that overlap and slide, or not, in every memory. */
TEST(the_search_of_windows_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .window = true}, 500);
}

/* What a mapping needs depends on what it leaves for the operators behind it. */
TEST(the_search_of_groups_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .group = true}, 500);
}

/* One to three dimensions, and any number of loops over each: the search lays every loop over one, trying everything also none. */
TEST(the_search_on_arrays_finds_what_trying_everything_finds)
{
    run_crew((brute_wish){.timing = TW_ASYNC, .array = true}, 600);
}
