/* test/plan/test_chain.c - operators that may be fused, against every mapping of every one of them.
 *
 * Brute force lists what each operator can cost between each kind of neighbours, tries all combinations of a group from the best
 * on until one can be placed, and takes the best way to part the chain into groups. TW_CASES=n draws so many chains. */
#include "async_random.h"
#include "brute_table.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <string.h>

enum { MOST_OPS = 3, MOST_WAYS = 4000, TEXT = 2000, BUFFERS = 2 };

/* ---- every mapping of an operator ---- */

typedef struct way { /* a mapping, told apart by its value and by what lies where in the memory */
    int64_t value, size[TW_MAX_OPERANDS], offset[TW_MAX_OPERANDS];
    int count[TW_MAX_OPERANDS];
    tw_op_map map;
} way;

typedef struct ways {
    const tw_model *model;
    const tw_machine *machine; /* as the operator meets it */
    tw_objective objective;
    int op, n;
    way *way;
    tw_arena *scratch;
} ways;

static bool is_same(const way *a, const way *b)
{
    return a->value == b->value && memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->offset, b->offset, sizeof a->offset) == 0 && memcmp(a->count, b->count, sizeof a->count) == 0;
}

static void add_way(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    ways *w = user;
    tw_diag muted = {.muted = true};
    tw_program p;
    way one = {.value = (int64_t)brute_measure(w->machine, &w->objective, outcome), .map = *map};
    tw_arena_mark mark = tw_arena_save(w->scratch);
    CHECK_EQ(tw_program_build(&(tw_problem){w->model, w->op, w->machine}, map, w->scratch, &muted, &p), TW_OK);
    for (int o = 0; o < p.op->n_operands; o++) {
        if (p.layout.first[1][o] < 0) continue;
        const tw_buffer *b = &p.layout.buffer[p.layout.first[1][o]];
        one.offset[o] = b->offset;
        one.count[o] = p.layout.count[1][o];
        one.size[o] = one.count[o] > 1 && b[1].inside ? -b->size : b->size; /* one piece, or one each */
    }
    tw_arena_rewind(w->scratch, mark);
    for (int i = 0; i < w->n; i++)
        if (is_same(&w->way[i], &one)) return;
    CHECK(w->n < MOST_WAYS);
    w->way[w->n++] = one;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = ((const way *)a)->value, y = ((const way *)b)->value;
    return (x > y) - (x < y);
}

/* ---- the best of a group ---- */

typedef struct oracle {
    const tw_model *model;
    const tw_machine *machine;
    tw_machine roomy;
    tw_machine view;
    tw_objective objective;
    way *pool[MOST_OPS];
    int n[MOST_OPS];
    tw_op_map map[MOST_OPS];
    tw_arena *scratch;
    int64_t best;
} oracle;

static bool can_be_placed(oracle *o, int a, int b)
{
    tw_op_plan op[MOST_OPS];
    tw_placing placing[TW_MAX_MEMORIES];
    tw_parts parts = {op, placing, 0};
    tw_diag muted = {.muted = true};
    tw_arena_mark mark = tw_arena_save(o->scratch);
    const tw_group group = {.model = o->model, .machine = &o->roomy, .map = o->map, .first = a, .n = b - a};
    memset(op, 0, sizeof op);
    bool fits = tw_group_build(&group, &(tw_work){o->scratch, o->scratch, &muted}, &parts) == TW_OK;
    for (int i = 0; i < parts.n_placings && fits; i++)
        fits = placing[i].height[placing[i].policy] <= o->machine->memory[placing[i].memory].size;
    tw_arena_rewind(o->scratch, mark);
    return fits;
}

/* All ways of operator k and those behind it; those before it take `sum`. */
static void try_ways(oracle *o, int a, int b, int k, int64_t sum)
{
    if (k == b) {
        if (b - a == 1 || can_be_placed(o, a, b)) o->best = sum;
        return;
    }
    for (int i = 0; i < o->n[k] && sum + o->pool[k][i].value < o->best; i++) {
        o->map[k] = o->pool[k][i].map;
        try_ways(o, a, b, k + 1, sum + o->pool[k][i].value);
    }
}

/* The value of operators [a, b) as one group, INT64_MAX: they do not fit. */
static int64_t best_group(oracle *o, int a, int b)
{
    unsigned fused = 0;
    for (int k = a + 1; k < b; k++) fused |= 1u << k;
    for (int k = 0; k < o->model->n_ops; k++) o->map[k] = (tw_op_map){.fused = fused >> k & 1};
    for (int k = a; k < b; k++) {
        tw_fusion fusion = {k > a, k + 1 < b};
        tw_machine view = tw_machine_for(o->machine, o->model, &o->model->op[k], fusion);
        ways w = {o->model, &view, o->objective, k, 0, o->pool[k], o->scratch};
        const brute_space space = {.model = o->model,
                                   .machine = o->machine,
                                   .max_buffers = BUFFERS,
                                   .alone = true,
                                   .op = k,
                                   .fused = fused};
        brute_run(&space, add_way, &w);
        qsort(w.way, (size_t)w.n, sizeof *w.way, by_value);
        o->n[k] = w.n;
    }
    o->best = INT64_MAX;
    try_ways(o, a, b, a, 0);
    return o->best;
}

/* The best way to part operators [a, n) into groups. */
static int64_t best_parting(int64_t group[MOST_OPS][MOST_OPS + 1], int a, int n)
{
    int64_t best = a == n ? 0 : INT64_MAX;
    for (int b = a + 1; b <= n; b++) {
        int64_t rest = group[a][b] == INT64_MAX ? INT64_MAX : best_parting(group, b, n);
        if (rest != INT64_MAX) best = tw_min(best, group[a][b] + rest);
    }
    return best;
}

/* ---- random chains ---- */

static int pick(uint64_t *rng, int lo, int hi) { return (int)tw_test_pick(rng, lo, hi); }

/* Products with vectors and additions one behind the other; some sums are wider than what is stored. */
static int random_chain(uint64_t *rng, char text[TEXT])
{
    int n = pick(rng, 0, 3) == 0 ? 3 : 2, last = pick(rng, 2, 6);
    int at = snprintf(text, TEXT, "workload: w\nops:\n");
    for (int i = 0; i < n; i++) {
        bool add = i > 0 && pick(rng, 0, 1);
        int next = add ? last : pick(rng, 2, 6);
        at += snprintf(text + at, (size_t)(TEXT - at), "  - {name: o%d, op: %s, shape: [%d", i,
                       add ? "add" : "gemv", next);
        if (!add) at += snprintf(text + at, (size_t)(TEXT - at), ", %d", last);
        at += snprintf(text + at, (size_t)(TEXT - at), "], dtype: i8, out_dtype: i8, %soutput: t%d",
                       add ? "" : "accumulator: i32, ", i);
        if (i > 0) at += snprintf(text + at, (size_t)(TEXT - at), ", inputs: {ifm: t%d}, fused: true", i - 1);
        at += snprintf(text + at, (size_t)(TEXT - at), "}\n");
        last = next;
    }
    return n;
}

static void random_machine(uint64_t *rng, const char *placement, char text[TEXT])
{
    snprintf(text, TEXT,
             "machine: m\nunit: byte\ntiming: async\nreuse: %s\nmemories:\n  - {name: dram, size: unlimited, "
             "energy: 90 pJ}\n"
             "  - {name: l1, size: %d, align: %d, placement: %s, energy: %d pJ}\nengines:\n"
             "  - {name: dma, between: [dram, l1], cost: {latency: %d, per_cycle: %d}}\n"
             "  - {name: mac, computes: [multiply-add, add], memory: l1, energy: %d pJ, cost: {latency: %d, "
             "per_cycle: %d}}\n",
             pick(rng, 0, 3) ? "resident" : "declared", pick(rng, 8, 60), 1 << pick(rng, 0, 2), placement,
             pick(rng, 0, 9), pick(rng, 0, 9), pick(rng, 1, 4), pick(rng, 0, 3), pick(rng, 0, 6), pick(rng, 1, 4));
}

typedef struct trial {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    char workload[TEXT], text[TEXT];
    tw_objective objective;
    int n;
} trial;

/* What operators of a chain have of it adds up. */
static tw_objective random_objective(uint64_t *rng)
{
    static const tw_objective all[] = {{TW_CYCLES, NULL}, {TW_CYCLES, NULL},  {TW_ENERGY, NULL},
                                       {TW_EDP, NULL},    {TW_TRAFFIC, "l1"}, {TW_TRAFFIC, "dma"}};
    return all[pick(rng, 0, (int)TW_COUNT(all) - 1)];
}

/* A case that brute force can do. */
static void open_trial(uint64_t *rng, int number, trial *t)
{
    static const char *const placement[] = {"slots", "bump", "lifetime"};
    t->objective = random_objective(rng);
    for (bool small = false; !small;) {
        t->n = random_chain(rng, t->workload);
        random_machine(rng, placement[number % 3], t->text);
        t->ctx = tw_context_new();
        CHECK_EQ(tw_model_parse(t->ctx, "w", t->workload, &t->model), TW_OK);
        CHECK_EQ(tw_machine_parse(t->ctx, "m", t->text, &t->machine), TW_OK);
        small = true;
        for (int k = 0; k < t->n && small; k++)
            small =
                brute_size(
                    &(brute_space){
                        .model = t->model, .machine = t->machine, .max_buffers = BUFFERS, .alone = true, .op = k},
                    8000) < 8000;
        if (!small) tw_context_free(t->ctx);
    }
}

/* The value of each possible group. */
static void ask_oracle(const trial *t, int64_t group[MOST_OPS][MOST_OPS + 1])
{
    oracle *o = calloc(1, sizeof *o);
    CHECK(o != NULL);
    *o = (oracle){.model = t->model,
                  .machine = t->machine,
                  .roomy = *t->machine,
                  .objective = t->objective,
                  .scratch = tw_arena_new()};
    for (int m = 1; m < o->roomy.n_memories; m++) o->roomy.memory[m].size = TW_UNLIMITED;
    for (int k = 0; k < t->n; k++) CHECK((o->pool[k] = calloc(MOST_WAYS, sizeof *o->pool[k])) != NULL);
    for (int a = 0; a < t->n; a++)
        for (int b = a + 1; b <= t->n; b++) group[a][b] = best_group(o, a, b);
    for (int k = 0; k < t->n; k++) free(o->pool[k]);
    tw_arena_free(o->scratch);
    free(o);
}

static void check_verified(const trial *t, const tw_plan *plan)
{
    for (int i = 0; i < t->n; i++) {
        const tw_verdict *verdict;
        tw_status status = tw_plan_verify(t->ctx, plan, i, &(tw_verify_options){.seed = 1}, &verdict);
        if (status == TW_WRONG) print_error("%s\n", verdict->first_fault);
        CHECK_EQ(status, TW_OK);
    }
}

/* What the plan has of the objective, all operators together. */
static int64_t value_of(const trial *t, const tw_plan *plan)
{
    tw_wide sum = 0;
    for (int i = 0; i < t->n; i++) {
        const tw_summary *of = tw_plan_op_summary(plan, i);
        tw_outcome outcome = {.cycles = of->cycles, .energy_fj = of->energy_fj};
        for (int e = 0; e < tw_plan_n_engines(plan); e++)
            outcome.moved[e] =
                tw_plan_engine_use(plan, i, e)->load_units + tw_plan_engine_use(plan, i, e)->store_units;
        for (int o = 0; o < t->model->op[i].n_operands; o++)
            outcome.crossed[1] += tw_plan_link_use(plan, i, 1, o)->units;
        sum += brute_measure(t->machine, &t->objective, &outcome);
    }
    return (int64_t)sum;
}

static void say_case(const trial *t, int64_t best, const tw_plan *plan)
{
    char goal[64];
    brute_goal_text(&(brute_goal){.n = 1, .objective = {t->objective}}, goal, sizeof goal);
    print_error("---- %s\n%s%sbrute force %" PRId64 "\n", goal, t->workload, t->text, best);
    if (!plan) return;
    const tw_fusion_result *f = &tw_plan_search_result(plan, 0)->fusion;
    print_error("found %" PRId64 ", bound %.0f, %d groups\n", value_of(t, plan), f->bound, f->n_groups);
}

/* What the search says is true: the optimum lies between its bound and its plan. Whether it is the plan. */
static bool check_search(const trial *t, const tw_limits *limits, int64_t best, int n_threads)
{
    const tw_search_options options = {.n_objectives = 1,
                                       .objective = &t->objective,
                                       .max_buffers = BUFFERS,
                                       .limits = limits,
                                       .n_threads = n_threads};
    const tw_plan *plan = NULL;
    tw_status status = tw_plan_search(t->ctx, t->model, t->machine, &options, &plan);
    if (status != (best == INT64_MAX ? TW_INFEASIBLE : TW_OK)) say_case(t, best, plan);
    CHECK_EQ(status, best == INT64_MAX ? TW_INFEASIBLE : TW_OK);
    if (status != TW_OK) return true;
    const tw_fusion_result *f = &tw_plan_search_result(plan, 0)->fusion;
    int64_t value = value_of(t, plan);
    bool good = value >= best && f->bound <= (double)best && f->value == (double)value;
    if (!good) say_case(t, best, plan);
    CHECK(good);
    CHECK_EQ(f->chosen, limits == NULL);
    CHECK(tw_plan_confirms(plan));
    check_verified(t, plan);
    return value == best;
}

/* The product has room beside the addition with unfinished sums alone: 8 bytes of them and 2, while a whole reduction takes 14. */
TEST(a_group_fits_that_leaves_sums_inside)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_limits *fuse;
    const tw_plan *plan = NULL;
    CHECK_EQ(tw_model_parse(
                 ctx, "w",
                 "workload: w\n"
                 "ops:\n"
                 "  - {name: o0, op: gemv, shape: [2, 6], dtype: i8, out_dtype: i8, accumulator: i32, output: t0}\n"
                 "  - {name: o1, op: add, shape: [2], dtype: i8, out_dtype: i8, output: t1, inputs: {ifm: t0}, "
                 "fused: true}\n",
                 &model),
             TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "m",
                              "machine: m\n"
                              "unit: byte\n"
                              "timing: async\n"
                              "reuse: resident\n"
                              "memories:\n"
                              "  - {name: dram, size: unlimited, energy: 90 pJ}\n"
                              "  - {name: l1, size: 13, align: 1, placement: bump, energy: 7 pJ}\n"
                              "engines:\n"
                              "  - {name: dma, between: [dram, l1], cost: {latency: 1, per_cycle: 3}}\n"
                              "  - {name: mac, computes: [multiply-add, add], memory: l1, energy: 3 pJ, cost: "
                              "{latency: 3, per_cycle: 3}}\n",
                              &machine),
             TW_OK);
    CHECK_EQ(tw_limits_parse(ctx, model, machine, "l", "mapping: {o1: {fused: true}}\n", &fuse), TW_OK);
    const tw_objective energy = {TW_ENERGY, NULL};
    const tw_search_options options = {.n_objectives = 1, .objective = &energy, .limits = fuse};
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    CHECK_EQ(tw_plan_op_summary(plan, 0)->energy_fj + tw_plan_op_summary(plan, 1)->energy_fj, 2176000);
    tw_context_free(ctx);
}

/* Of three placements; where buffers add up over a group it is fitted together without a proof that it is the best. */
TEST(what_is_fused_and_how_is_what_trying_everything_finds)
{
    const char *cases = getenv("TW_CASES");
    int n_cases = cases ? atoi(cases) : (int)tw_max(30, tw_test_rounds(120));
    uint64_t rng = tw_test_seed();
    int n_best[3] = {0}, n_all[3] = {0};
    for (int i = 0; i < n_cases; i++) {
        int64_t group[MOST_OPS][MOST_OPS + 1];
        trial t;
        const tw_limits *fuse;
        open_trial(&rng, i, &t);
        ask_oracle(&t, group);
        CHECK_EQ(tw_limits_parse(t.ctx, t.model, t.machine, "l",
                                 t.n == 2 ? "mapping: {o1: {fused: true}}\n"
                                          : "mapping: {o1: {fused: true}, o2: {fused: true}}\n",
                                 &fuse),
                 TW_OK);
        n_best[i % 3] += check_search(&t, NULL, best_parting(group, 0, t.n), 1 + i % 2);
        n_best[i % 3] += check_search(&t, fuse, group[0][t.n], 1);
        n_all[i % 3] += 2;
        tw_context_free(t.ctx);
    }
    print_message("%d objectives asked of %d chains\n", 2 * n_cases, n_cases);
    print_message("optimal: slots %d, bump %d, lifetime %d of %d each\n", n_best[0], n_best[1], n_best[2],
                  n_all[0]);
    for (int p = 0; p < 3; p++) CHECK(n_all[p] < 60 || 10 * n_best[p] >= 9 * n_all[p]); /* of few nothing is said */
}
