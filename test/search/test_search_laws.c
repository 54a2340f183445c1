/* test/search/test_search_laws.c - what must hold of optima, whatever they are.
 *
 * Swapped operands, larger memories, more buffers, other numbers of threads: each changes a search in a way whose
 * effect on the optimum is known. Limits are held against brute force over the mappings that obey them.
 *
 * The search calls pthread_create: this file is for the thread sanitizer too. */
#include "async_random.h"
#include "brute_random.h"
#include "mapping/limits.h"
#include "plan/plan.h"
#include "tw_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct problem {
    tw_context *ctx;
    brute_case c;
    const tw_model *model;
    const tw_machine *machine;
    brute_goal goal;
} problem;

static void close_problem(problem *p) { tw_context_free(p->ctx); }

static problem open_problem(const brute_case *c, uint64_t *rng)
{
    problem p = {.ctx = tw_context_new(), .c = *c};
    CHECK_EQ(tw_model_parse(p.ctx, "workload", p.c.workload, &p.model), TW_OK);
    CHECK_EQ(tw_machine_parse(p.ctx, "machine", p.c.machine, &p.machine), TW_OK);
    p.goal = brute_random_goal(rng, p.machine);
    return p;
}

static problem random_problem(uint64_t *rng, tw_timing timing, int64_t limit)
{
    brute_case c;
    brute_random_make(rng, (brute_wish){timing, limit, false}, &c);
    return open_problem(&c, rng);
}

static tw_search_options options_of(const problem *p)
{
    tw_search_options o = {.n_objectives = p->goal.n,
                           .pareto = p->goal.pareto,
                           .max_buffers = p->c.max_buffers,
                           .n_threads = 1,
                           .prove = true};
    o.objective = p->goal.objective;
    return o;
}

static const tw_plan *search(const problem *p, const tw_machine *machine, tw_search_options options)
{
    const tw_plan *plan = NULL;
    tw_context_clear_messages(p->ctx);
    tw_status status = tw_plan_search(p->ctx, p->model, machine, &options, &plan);
    CHECK(status == TW_OK || status == TW_INFEASIBLE);
    return plan;
}

static void show(const problem *p, const char *what)
{
    char goal[200];
    brute_goal_text(&p->goal, goal, sizeof goal);
    fprintf(stderr, "%s: objectives %s, at most %" PRId64 " buffers\n%s%s", what, goal, p->c.max_buffers,
            p->c.workload, p->c.machine);
}

static double first_value(const tw_plan *plan)
{
    return plan ? tw_plan_search_result(plan, 0)->value[0] : INFINITY;
}

/* Whether a is not worse than b, lexicographically; nothing is worse than anything. */
static bool is_at_most(const tw_plan *a, const tw_plan *b)
{
    if (!b) return true;
    if (!a) return false;
    const tw_search_result *x = tw_plan_search_result(a, 0), *y = tw_plan_search_result(b, 0);
    for (int i = 0; i < x->n_objectives; i++)
        if (x->value[i] != y->value[i]) return x->value[i] < y->value[i];
    return true;
}

static void check_law(const problem *p, bool good, const char *law)
{
    if (!good) show(p, law);
    CHECK(good);
}

/* ---- the same problem, said otherwise ---- */

static void print_matmul(char *out, size_t room, int64_t m, int64_t n, int64_t k, const char *dtype)
{
    snprintf(out, room,
             "workload: w\nops:\n  - {name: op, op: matmul, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
             "], dtype: %s}\n",
             m, n, k, dtype);
}

/* An async machine with one engine for both inputs sends ifm before w, which may matter to time but to nothing else. */
static bool is_timeless(const brute_goal *goal)
{
    for (int i = 0; i < goal->n; i++)
        if (goal->objective[i].measure == TW_CYCLES || goal->objective[i].measure == TW_EDP) return false;
    return true;
}

static unsigned swap_inputs(unsigned roles)
{
    bool activations = roles & TW_HOLDS_ACTIVATIONS, weights = roles & TW_HOLDS_WEIGHTS;
    return (roles & TW_HOLDS_OUTPUT) | (activations ? TW_HOLDS_WEIGHTS : 0u) |
           (weights ? TW_HOLDS_ACTIVATIONS : 0u);
}

/* The machine on which a transposed product is what the product is on this one: activations and weights change places, and so do the
 * sizes of rows and columns. */
typedef struct transposed {
    tw_machine machine;
    tw_tile_sizes sizes[32];
    tw_names names[32];
    const char *name[32][8];
    int n_names;
} transposed;

/* Of operands that are named: "w" instead of "ifm", and the other way round. */
static const tw_names *swap_names(transposed *t, const tw_names *names)
{
    if (!names) return NULL;
    tw_names *out = &t->names[t->n_names];
    const char **name = t->name[t->n_names++];
    CHECK(names->n <= 8 && t->n_names <= 32);
    for (int i = 0; i < names->n; i++) {
        const char *is = names->name[i];
        name[i] = strcmp(is, "ifm") == 0 ? "w" : strcmp(is, "w") == 0 ? "ifm" : is;
    }
    *out = (tw_names){names->n, name};
    return out;
}

static void transpose_machine(const tw_machine *machine, transposed *out)
{
    tw_engine *mac = &out->machine.engine[machine->compute];
    out->machine = *machine;
    for (int m = 0; m < machine->n_memories; m++) {
        out->machine.memory[m].holds = swap_inputs(machine->memory[m].holds);
        out->machine.memory[m].keeps = swap_inputs(machine->memory[m].keeps);
        out->machine.memory[m].named = swap_names(out, machine->memory[m].named);
    }
    for (int e = 0; e < machine->n_engines; e++) {
        out->machine.engine[e].roles = swap_inputs(machine->engine[e].roles);
        out->machine.engine[e].named = swap_names(out, machine->engine[e].named);
    }
    if (mac->cost.kind == TW_COST_ARRAY) mac->cost.array.stationary = swap_inputs(mac->cost.array.stationary);
    for (int i = 0; i < mac->n_tile_sizes; i++) {
        const char *loop = mac->tile_sizes[i].loop;
        out->sizes[i] = mac->tile_sizes[i];
        out->sizes[i].loop = strcmp(loop, "m") == 0 ? "n" : strcmp(loop, "n") == 0 ? "m" : loop;
    }
    mac->tile_sizes = out->sizes;
}

TEST(a_transposed_product_costs_the_same)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(800); i++) {
        brute_case c;
        tw_timing timing = i % 2 ? TW_ASYNC : TW_LOCKSTEP;
        const char *dtype = tw_test_pick(&rng, 0, 1) ? "i8" : "f32";
        int64_t e[3];
        brute_random_make(&rng, (brute_wish){timing, 3000, false}, &c);
        for (int l = 0; l < 3; l++) e[l] = tw_test_pick(&rng, 1, timing == TW_ASYNC ? 3 : 6);
        print_matmul(c.workload, sizeof c.workload, e[0], e[1], e[2], dtype);
        problem p = open_problem(&c, &rng);
        if (brute_size(&(brute_space){p.model, p.machine, c.max_buffers, false}, 50000) > 50000) {
            close_problem(&p);
            continue;
        }
        while (timing == TW_ASYNC && !is_timeless(&p.goal)) p.goal = brute_random_goal(&rng, p.machine);
        print_matmul(c.workload, sizeof c.workload, e[1], e[0], e[2], dtype);
        problem q = open_problem(&c, &rng);
        q.goal = p.goal;
        tw_machine dense = *p.machine; /* the last buffer of a memory is not filled up */
        for (int m = 0; m < dense.n_memories; m++) dense.memory[m].align = 1;
        transposed other = {.n_names = 0};
        transpose_machine(&dense, &other);
        CHECK(p.model->op[0].operand[1].weights);
        const tw_plan *a = search(&p, &dense, options_of(&p)), *b = search(&q, &other.machine, options_of(&p));
        check_law(&p, is_at_most(a, b) && is_at_most(b, a), "transposed");
        if (p.goal.pareto && a) CHECK_EQ(tw_plan_n_front(a, 0), tw_plan_n_front(b, 0));
        close_problem(&p);
        close_problem(&q);
    }
}

/* ---- more of something ---- */

TEST(a_larger_memory_never_costs_more)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(400); i++) {
        problem p = random_problem(&rng, i % 2 ? TW_ASYNC : TW_LOCKSTEP, 800);
        tw_machine larger = *p.machine;
        int m = (int)tw_test_pick(&rng, 1, larger.n_memories - 1);
        const tw_plan *before = search(&p, p.machine, options_of(&p));
        for (int step = 0; step < 3 && larger.memory[m].size != TW_UNLIMITED; step++) {
            larger.memory[m].size += tw_test_pick(&rng, 1, 8);
            const tw_plan *after = search(&p, &larger, options_of(&p));
            check_law(&p, p.goal.pareto ? first_value(after) <= first_value(before) : is_at_most(after, before),
                      "larger memory");
            before = after;
        }
        close_problem(&p);
    }
}

/* What the operators of a group take together, of the first objective; -1: it may not be the least. */
static double least_of_group(const problem *p, const tw_plan *plan)
{
    const tw_fusion_result *f = &tw_plan_search_result(plan, 0)->fusion;
    bool fitted = false; /* buffers that are never given back add up: operators are fitted together in turn */
    for (int m = 1; m < p->machine->n_memories; m++) fitted |= p->machine->memory[m].placement == TW_PLACE_BUMP;
    return fitted && f->value > f->bound ? -1 : f->value;
}

/* Of a group that is searched as one all operators count; of others, the first operator's search. */
static bool is_group_at_most(const problem *p, const tw_plan *after, const tw_plan *before)
{
    if (!before) return true;
    if (!after) return false;
    if (tw_plan_search_result(after, 0)->fusion.n_ops == 0)
        return p->goal.pareto ? first_value(after) <= first_value(before) : is_at_most(after, before);
    double least = least_of_group(p, after), most = least_of_group(p, before);
    return least < 0 || most < 0 || least <= most;
}

/* What a mapping leaves for the operators behind it, sums among that, decides whether its group fits: a mapping that needs
 * more must not stand in the way of one that needs less. */
TEST(a_larger_memory_never_costs_a_group_more)
{
    enum { STEPS = 8 };
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(60); i++) {
        brute_case c;
        brute_random_make(&rng, (brute_wish){.timing = TW_ASYNC, .limit = 800, .group = true}, &c);
        problem p = open_problem(&c, &rng);
        tw_machine larger = *p.machine;
        int m = (int)tw_test_pick(&rng, 1, larger.n_memories - 1);
        const tw_plan *before = NULL;
        larger.memory[m].size = tw_test_pick(&rng, 1, 20);
        for (int step = 0; step < STEPS; step++, larger.memory[m].size += tw_test_pick(&rng, 1, 16)) {
            const tw_plan *after = search(&p, &larger, options_of(&p));
            check_law(&p, is_group_at_most(&p, after, before), "larger memory of a group");
            before = after;
        }
        close_problem(&p);
    }
}

TEST(more_buffers_allowed_are_never_worse)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(120); i++) {
        problem p = random_problem(&rng, i % 2 ? TW_ASYNC : TW_LOCKSTEP, 800);
        const tw_plan *before = NULL;
        for (int64_t n = 1; n <= 4; n++) {
            tw_search_options options = options_of(&p);
            options.max_buffers = n < 4 ? n : 0;
            const tw_plan *after = search(&p, p.machine, options);
            check_law(&p, p.goal.pareto ? first_value(after) <= first_value(before) : is_at_most(after, before),
                      "more buffers");
            before = after;
        }
        close_problem(&p);
    }
}

/* ---- the family of the notes ---- */

/* A product, and machines of one or two levels that are small beside it. */
static brute_case notes_case(uint64_t *rng)
{
    brute_case c = {.max_buffers = 0};
    int64_t e[3], level = tw_test_pick(rng, 1, 4) == 1;
    for (int l = 0; l < 3; l++) e[l] = tw_test_pick(rng, 1, level ? 8 : 13);
    print_matmul(c.workload, sizeof c.workload, e[0], e[1], e[2], "i8");
    char outer[160] = "", link[160] = "";
    if (level) {
        snprintf(outer, sizeof outer, ", {name: l2, size: %" PRId64 "}", tw_test_pick(rng, 20, 200));
        snprintf(link, sizeof link,
                 "  - {name: m2, between: [outside, l2], channels: 1, cost: {constant: %" PRId64 "}}\n",
                 tw_test_pick(rng, 1, 9));
    }
    snprintf(
        c.machine, sizeof c.machine,
        "machine: m\nunit: element\ntiming: lockstep\nmemories: [{name: outside, size: unlimited}%s, {name: l1, "
        "size: "
        "%" PRId64 "}]\nengines:\n%s  - {name: mv, between: [%s, l1], channels: %s, cost: {step: %" PRId64
        ", per_step: %" PRId64 "}}\n  - {name: ad, computes: sum, on: l1, cost: {latency: 0, per_cycle: 8}%s}\n"
        "  - {name: mac, computes: multiply-add, on: l1, accumulate: [separate, in-place, fused], cost: {latency: "
        "%" PRId64 ", per_cycle: %" PRId64 "}}\n",
        outer, tw_test_pick(rng, 3, 60), link, level ? "l2" : "outside",
        tw_test_pick(rng, 0, 1) ? "unlimited" : "1", tw_test_pick(rng, 1, 4), tw_test_pick(rng, 1, 9),
        tw_test_pick(rng, 0, 1) ? ", shares: mac" : "", tw_test_pick(rng, 0, 9), tw_test_pick(rng, 1, 8));
    return c;
}

/* Executions of the innermost level, those of its largest piece. */
static int64_t execs_of(const tw_plan *plan, int level)
{
    const tw_level_map *map = &plan->mapping->op[0].level[level];
    return map->count[0] * map->count[1] * map->count[2];
}

/* Bounds leave nothing out and let nothing in: the best, how many attain it and the first of them are those of the whole
 * family, and they belong to it. */
TEST(the_family_of_the_notes_has_the_same_optima_with_and_without_bounds)
{
    static const tw_mode mode[] = {TW_MODE_DEFAULT, TW_MODE_SEPARATE, TW_MODE_IN_PLACE, TW_MODE_FUSED};
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(400); i++) {
        brute_case c = notes_case(&rng);
        problem p = open_problem(&c, &rng);
        p.goal = (brute_goal){.n = 1, .objective = {{tw_test_pick(&rng, 0, 1) ? TW_TICKS : TW_CYCLES, NULL}}};
        tw_search_options options = options_of(&p);
        options.space = TW_SPACE_NOTES;
        options.mode = mode[tw_test_pick(&rng, 0, 3)];
        if (p.machine->n_memories > 2)
            options.approach = TW_APPROACH_DIRECT + (tw_approach)tw_test_pick(&rng, 0, 1);
        options.max_execs = tw_test_pick(&rng, 0, 1) ? 0 : tw_test_pick(&rng, 1, 200);
        const tw_plan *a = search(&p, p.machine, options);
        options.exhaustive = true;
        const tw_plan *b = search(&p, p.machine, options);
        bool good = !a == !b;
        if (a && b)
            good = first_value(a) == first_value(b) &&
                   tw_plan_search_result(a, 0)->n_optima == tw_plan_search_result(b, 0)->n_optima &&
                   memcmp(a->mapping->op[0].level, b->mapping->op[0].level, sizeof a->mapping->op[0].level) == 0;
        if (a && p.machine->n_memories == 2)
            good &= execs_of(a, 0) <= (options.max_execs > 0 ? options.max_execs : 512);
        check_law(&p, good, "notes");
        close_problem(&p);
    }
}

/* Every point of a front of fewer mappings is reached by one of more. */
TEST(a_front_of_more_mappings_covers_one_of_fewer)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(200); i++) {
        problem p = random_problem(&rng, i % 2 ? TW_ASYNC : TW_LOCKSTEP, 400);
        while (!p.goal.pareto) p.goal = brute_random_goal(&rng, p.machine);
        tw_search_options few = options_of(&p), more = few;
        few.max_buffers = 1;
        more.max_buffers = 2;
        const tw_plan *a = search(&p, p.machine, more), *b = search(&p, p.machine, few);
        for (int k = 0; b && k < tw_plan_n_front(b, 0); k++) {
            bool covered = false;
            for (int j = 0; a && j < tw_plan_n_front(a, 0); j++) {
                bool all = true;
                for (int o = 0; o < p.goal.n; o++)
                    all &= tw_plan_front(a, 0, j)->value[o] <= tw_plan_front(b, 0, k)->value[o];
                covered |= all;
            }
            check_law(&p, covered, "front");
        }
        close_problem(&p);
    }
}

/* ---- families ---- */

TEST(the_family_of_the_notes_is_never_better_than_everything)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(120); i++) {
        problem p = random_problem(&rng, TW_LOCKSTEP, 3000);
        tw_search_options options = options_of(&p);
        options.n_objectives = 1;
        options.pareto = false;
        options.objective = &(tw_objective){i % 4 < 2 ? TW_TICKS : TW_CYCLES, NULL};
        options.max_buffers = 4; /* separate sums, and one more */
        const tw_plan *all = search(&p, p.machine, options);
        options.space = TW_SPACE_NOTES;
        const tw_plan *notes = search(&p, p.machine, options);
        check_law(&p, is_at_most(all, notes), "notes");
        close_problem(&p);
    }
}

/* ---- the same search again ---- */

static char *mapping_of(const problem *p, const tw_plan *plan)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    CHECK(f != NULL);
    CHECK_EQ(tw_plan_print_mapping(p->ctx, plan, f), TW_OK);
    fclose(f);
    return text;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool same_results(const tw_search_result *a, const tw_search_result *b)
{
    bool same = a->n_objectives == b->n_objectives && a->best == b->best && a->bound == b->bound &&
                a->gap == b->gap && a->bound_by == b->bound_by && same_text(a->bound_at, b->bound_at) &&
                a->root_bound == b->root_bound && a->n_space == b->n_space && a->n_nodes == b->n_nodes &&
                a->n_points == b->n_points && a->n_optima == b->n_optima && a->proven == b->proven &&
                a->ending == b->ending && a->space == b->space;
    for (int i = 0; i < a->n_objectives; i++) same &= a->value[i] == b->value[i];
    for (int i = 0; i < TW_N_BOUNDS; i++) same &= a->closed[i] == b->closed[i];
    return same;
}

static void print_result(const tw_search_result *r)
{
    fprintf(stderr, "best %" PRId64 ", bound %.0f by %d, space %.0f, nodes %" PRId64 ", points %" PRId64 ", closed",
            r->best, r->bound, (int)r->bound_by, r->n_space, r->n_nodes, r->n_points);
    for (int i = 0; i < TW_N_BOUNDS; i++) fprintf(stderr, " %" PRId64, r->closed[i]);
    fprintf(stderr, "%s\n", r->proven ? ", proven" : "");
}

static bool same_plans(const problem *p, const tw_plan *a, const tw_plan *b)
{
    if (!a || !b) return a == b;
    char *x = mapping_of(p, a), *y = mapping_of(p, b);
    bool same = strcmp(x, y) == 0 && same_results(tw_plan_search_result(a, 0), tw_plan_search_result(b, 0)) &&
                tw_plan_n_front(a, 0) == tw_plan_n_front(b, 0);
    for (int i = 0; same && i < tw_plan_n_front(a, 0); i++) {
        tw_text s = {0}, t = {0};
        tw_mapping_print(tw_plan_front(a, 0, i)->mapping, p->model, p->machine, &s);
        tw_mapping_print(tw_plan_front(b, 0, i)->mapping, p->model, p->machine, &t);
        same = strcmp(s.bytes, t.bytes) == 0;
        for (int k = 0; k < p->goal.n; k++)
            same &= tw_plan_front(a, 0, i)->value[k] == tw_plan_front(b, 0, i)->value[k];
        tw_text_release(&s);
        tw_text_release(&t);
    }
    if (!same) {
        fprintf(stderr, "%s%s", x, y);
        print_result(tw_plan_search_result(a, 0));
        print_result(tw_plan_search_result(b, 0));
    }
    free(x);
    free(y);
    return same;
}

static void check_threads(const problem *p, tw_search_options options)
{
    const tw_plan *alone = search(p, p->machine, options);
    for (int n = 1; n <= 3; n++) {
        options.n_threads = n;
        check_law(p, same_plans(p, alone, search(p, p->machine, options)), "threads");
    }
}

TEST(the_number_of_threads_changes_nothing)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(200); i++) {
        problem p = random_problem(&rng, i % 2 ? TW_ASYNC : TW_LOCKSTEP, 60000);
        tw_search_options options = options_of(&p);
        if (i % 5 == 0) options.exhaustive = true;
        if (i % 7 == 0) options.budget = tw_test_pick(&rng, 1, 2000); /* what it counts is work, not time */
        if (i % 3 == 0) options.gap = 0.15;
        options.prove = i % 4 == 0;
        check_threads(&p, options);
        close_problem(&p);
    }
}

/* Builds that watch threads take longer still than those that watch memory. */
#ifdef __SANITIZE_THREAD__
enum { SLOWER = 4 };
#else
enum { SLOWER = 1 };
#endif

/* Problems that take a while, with and without an end. */
TEST(threads_that_work_side_by_side_for_long_change_nothing)
{
    static const struct {
        const char *workload, *machine;
        int budget;
        tw_space_name space;
        double gap;
    } row[] = {{"matmul:48x40x56", "tick-three-level", 1600000},
               {"matmul:24x24x24", "kpu", 400000},
               {"conv:16x14x14,out=32,kernel=3,pad=1", "kpu", 400000},
               {"matmul:48x40x56", "tick-costed", 200000},
               {"conv:4x9x9,out=6,kernel=3,pad=1", "tick-10k", 200000},
               {"matmul:64x96x64,dtype=i8", "kpu", 200000},
               {"matmul:33x65x129,dtype=i8", "kpu", 20000},
               {"conv:16x14x14,out=32,kernel=3,pad=1", "kpu", 300000, TW_SPACE_WINDOWS},
               {"conv:16x14x14,out=32,kernel=3,pad=1", "kpu", 0, TW_SPACE_WINDOWS, 0.05},
               {"conv:128x28x28,out=256,kernel=1,stride=2,dtype=f32", "kpu", 600000, TW_SPACE_WINDOWS, 0.01}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        problem p = {.ctx = tw_context_new(), .goal = {.n = 1}};
        snprintf(p.c.workload, sizeof p.c.workload, "%s\n", row[i].workload);
        snprintf(p.c.machine, sizeof p.c.machine, "%s\n", row[i].machine);
        CHECK_EQ(tw_model_open(p.ctx, row[i].workload, &p.model), TW_OK);
        CHECK_EQ(tw_machine_open(p.ctx, row[i].machine, &p.machine), TW_OK);
        tw_search_options options = {.budget = tw_test_part(row[i].budget) / SLOWER,
                                     .space = row[i].space,
                                     .gap = row[i].gap,
                                     .n_threads = 1,
                                     .max_buffers = 3};
        if (options.gap > 0) options.max_buffers = 0;
        check_threads(&p, options);
        close_problem(&p);
    }
}

/* ---- limits ---- */

/* The best of what obeys the limits, by brute force. */
typedef struct obedient {
    const tw_op *op;
    const tw_op_limits *limits;
    const tw_goals *goals;
    bool found;
    tw_goal_value best;
    tw_op_map best_map;
    int64_t n;
    uint64_t *rng; /* of all of them, one is kept */
    tw_op_map one;
    tw_goal_value one_value;
} obedient;

static bool obeys_cuts(const tw_op *op, const tw_level_limits *limits, const tw_level_map *map, const int64_t *len)
{
    for (int l = 0; l < op->n_loops; l++) {
        tw_split s = tw_level_split(map, l, len[l]);
        int64_t size = tw_split_largest(&s);
        tw_number_limit sizes = limits->sizes[l];
        if (size == len[l]) sizes.multiple_of = 1;
        if (!tw_number_allows(&limits->tiles[l], s.count) || !tw_number_allows(&sizes, size)) return false;
        unsigned rule = map->size[l] > 0 ? TW_GREEDY : TW_BALANCED;
        unsigned rules = tw_number_is_one(&limits->sizes[l]) ? 1u << TW_GREEDY : limits->cuts;
        if (s.count > 1 && !(rules >> rule & 1)) return false;
    }
    return true;
}

/* Every order of the others is tried too, so that this one is the only one to count. */
static bool obeys_order(const tw_op *op, const tw_level_limits *limits, const tw_level_map *map)
{
    for (int i = 0; limits->has_order && i < op->n_loops; i++)
        if (map->order[i] != limits->order[i]) return false;
    return true;
}

static bool obeys(const obedient *o, const tw_op_map *map)
{
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < o->op->n_loops; l++) len[l] = o->op->loop[l].extent;
    for (int i = 0; i < map->n_levels; i++) {
        const tw_level_limits *limits = &o->limits->level[i];
        const tw_level_map *level = &map->level[i];
        if (limits->pass >= 0 && limits->pass != level->pass) return false;
        for (int k = 0; k < o->op->n_operands; k++) {
            int keep = level->keeps[k];
            if (level->slots[k] > 0 && !tw_number_allows(&limits->slots[k], level->slots[k])) return false;
            if (!(limits->keep[k] >> (keep == 0 ? 0 : keep < 0 ? 1 : keep + 1) & 1)) return false;
        }
        if (level->pass) continue;
        if (!(limits->accumulate >> level->accumulate & 1)) return false;
        if (!obeys_cuts(o->op, limits, level, len) || !obeys_order(o->op, limits, level)) return false;
        for (int l = 0; l < o->op->n_loops; l++) {
            tw_split s = tw_level_split(level, l, len[l]);
            len[l] = tw_split_largest(&s);
        }
    }
    return true;
}

static void try_obedient(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    obedient *o = user;
    if (!obeys(o, map)) return;
    tw_goal_value value = tw_goals_value(o->goals, outcome);
    if (tw_test_pick(o->rng, 0, o->n++) == 0) o->one = *map, o->one_value = value;
    if (o->found && tw_value_compare(o->goals, &value, &o->best) >= 0) return;
    o->found = true;
    o->best = value;
    o->best_map = *map;
}

static tw_number_limit random_limit(uint64_t *rng, int64_t most, int64_t *list)
{
    tw_number_limit limit = tw_number_any();
    switch (tw_test_pick(rng, 0, 7)) {
    case 0: limit.at_most = tw_test_pick(rng, 1, most); break;
    case 1: limit.at_least = tw_test_pick(rng, 1, most); break;
    case 2: limit.multiple_of = tw_test_pick(rng, 1, 3); break;
    case 3:
        list[0] = tw_test_pick(rng, 1, most);
        list[1] = list[0] + tw_test_pick(rng, 1, 2);
        limit.n_list = 2;
        limit.list = list;
        break;
    default: break;
    }
    return limit;
}

typedef struct lists {
    int64_t at[TW_MAX_MEMORIES][3][TW_MAX_LOOPS][2];
} lists;

static bool holds(const problem *p, int level, int operand)
{
    return p->machine->memory[level + 1].holds & tw_role_of(&p->model->op[0], operand);
}

static void random_limits(uint64_t *rng, const problem *p, tw_op_limits *out, lists *room)
{
    const tw_op *op = &p->model->op[0];
    *out = tw_op_limits_none(p->machine);
    int l = (int)tw_test_pick(rng, 0, out->n_levels - 1);
    tw_level_limits *level = &out->level[l];
    bool async = p->machine->timing == TW_ASYNC, pass_free = !async && l < out->n_levels - 1;
    for (int i = 0; i < op->n_loops; i++) {
        if (tw_test_pick(rng, 0, 3) == 0) level->tiles[i] = random_limit(rng, 3, room->at[l][0][i]);
        if (tw_test_pick(rng, 0, 3) == 0) level->sizes[i] = random_limit(rng, 3, room->at[l][1][i]);
    }
    for (int i = 0; i < op->n_operands && !pass_free; i++)
        if (holds(p, l, i) && tw_test_pick(rng, 0, 3) == 0)
            level->slots[i] = random_limit(rng, 2, room->at[l][2][i]);
    if (tw_test_pick(rng, 0, 3) == 0) level->cuts = (unsigned)tw_test_pick(rng, 1, 3);
    if (l < out->n_levels - 1 && tw_test_pick(rng, 0, 3) == 0) level->pass = (int)tw_test_pick(rng, 0, 1);
    unsigned modes = (unsigned)tw_test_pick(rng, 0, 31);
    if (!async && (modes & p->machine->engine[p->machine->compute].accumulate)) level->accumulate = modes & 7;
    for (int i = 0; i < op->n_operands && async; i++)
        if (holds(p, l, i) && tw_test_pick(rng, 0, 3) == 0)
            level->keep[i] = (uint32_t)tw_test_pick(rng, 1, (4 << op->n_loops) - 1);
    if (tw_test_pick(rng, 0, 2) != 0) return;
    level->has_order = true;
    for (int reduces = 0, n = 0; reduces < 2; reduces++)
        for (int i = 0; i < op->n_loops; i++)
            if (op->loop[i].reduces == reduces) level->order[n++] = i;
    for (int i = op->n_loops - 1; i > 0; i--) {
        int k = (int)tw_test_pick(rng, 0, i), was = level->order[i];
        if (!async && op->loop[was].reduces != op->loop[level->order[k]].reduces) continue;
        level->order[i] = level->order[k];
        level->order[k] = was;
    }
}

static void print_number(const char *what, const char *name, const tw_number_limit *n)
{
    if (n->at_least > 1) fprintf(stderr, " %s %s >= %" PRId64, what, name, n->at_least);
    if (n->at_most < INT64_MAX) fprintf(stderr, " %s %s <= %" PRId64, what, name, n->at_most);
    if (n->multiple_of > 1) fprintf(stderr, " %s %s multiple of %" PRId64, what, name, n->multiple_of);
    if (n->n_list) fprintf(stderr, " %s %s in %" PRId64 " %" PRId64, what, name, n->list[0], n->list[1]);
}

static void print_limits(const problem *p, const tw_op_limits *limits)
{
    const tw_op *op = &p->model->op[0];
    for (int i = 0; i < limits->n_levels; i++) {
        const tw_level_limits *l = &limits->level[i];
        fprintf(stderr, "%s: pass %d cuts %x accumulate %x", p->machine->memory[i + 1].name, l->pass, l->cuts,
                l->accumulate);
        for (int k = 0; k < op->n_loops; k++) {
            print_number("tiles", op->loop[k].name, &l->tiles[k]);
            print_number("size", op->loop[k].name, &l->sizes[k]);
        }
        for (int k = 0; k < op->n_operands; k++) {
            print_number("buffers", op->operand[k].name, &l->slots[k]);
            if (l->keep[k] != UINT32_MAX) fprintf(stderr, " keep %s %x", op->operand[k].name, l->keep[k]);
        }
        for (int k = 0; l->has_order && k < op->n_loops; k++)
            fprintf(stderr, "%s%s", k ? " " : " order ", op->loop[l->order[k]].name);
        fprintf(stderr, "\n");
    }
}

TEST(the_best_within_limits_is_the_best_of_what_obeys_them)
{
    uint64_t rng = tw_test_seed();
    int n_found = 0;
    for (int i = 0; i < tw_test_rounds(600); i++) {
        brute_case c;
        brute_random_make(&rng, (brute_wish){i % 2 ? TW_ASYNC : TW_LOCKSTEP, 6000, true}, &c);
        problem p = open_problem(&c, &rng);
        tw_op_limits limits;
        lists room;
        tw_diag diag = {0};
        tw_goals goals;
        p.goal.pareto = false;
        random_limits(&rng, &p, &limits, &room);
        tw_limits all = {1, &limits};
        tw_search_options options = options_of(&p);
        options.limits = &all;
        CHECK_EQ(tw_goals_of(&options, p.machine, &diag, &goals), TW_OK);
        obedient o = {.op = &p.model->op[0], .limits = &limits, .goals = &goals, .rng = &rng};
        brute_run(&(brute_space){p.model, p.machine, c.max_buffers, true, .divided = true}, try_obedient, &o);
        const tw_plan *plan = search(&p, p.machine, options);
        n_found += o.found;
        bool same = (plan != NULL) == o.found;
        for (int k = 0; plan && k < goals.n; k++)
            same &= tw_plan_search_result(plan, 0)->value[k] == (double)o.best.of[k];
        if (!same) {
            tw_text text = {0};
            if (o.found) tw_mapping_print(&(tw_mapping){1, &o.best_map}, p.model, p.machine, &text);
            fprintf(stderr, "case %d: %.0f instead of %.0f\n%s", i, first_value(plan),
                    o.found ? (double)o.best.of[0] : INFINITY, o.found ? text.bytes : "");
            print_limits(&p, &limits);
            tw_text_release(&text);
        }
        check_law(&p, same, "limits");
        if (plan)
            check_law(&p, tw_limits_allow(&limits, o.op, p.machine, &plan->mapping->op[0]), "limits: mapping");
        tw_diag_release(&diag);
        close_problem(&p);
    }
    CHECK(n_found > tw_test_rounds(200));
}

/* A mapping file says everything: there is nothing left to choose, unless it leaves open what an array unrolls. */
TEST(a_whole_mapping_as_limits_is_the_answer)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(300); i++) {
        problem p = random_problem(&rng, i % 2 ? TW_ASYNC : TW_LOCKSTEP, 3000);
        tw_op_limits none = tw_op_limits_none(p.machine);
        tw_diag diag = {0};
        tw_goals goals;
        p.goal.pareto = false;
        tw_search_options options = options_of(&p);
        CHECK_EQ(tw_goals_of(&options, p.machine, &diag, &goals), TW_OK);
        obedient o = {.op = &p.model->op[0], .limits = &none, .goals = &goals, .rng = &rng};
        brute_run(&(brute_space){p.model, p.machine, p.c.max_buffers, false}, try_obedient, &o);
        const tw_engine *mac = &p.machine->engine[p.machine->compute];
        bool is_array = mac->cost.kind == TW_COST_ARRAY;
        if (o.found && !(is_array && !tw_spread_is_given(&o.one.level[o.one.n_levels - 1].over, o.op))) {
            tw_text text = {0};
            tw_mapping_print(&(tw_mapping){1, &o.one}, p.model, p.machine, &text);
            CHECK_EQ(tw_limits_parse(p.ctx, p.model, p.machine, "limits", text.bytes, &options.limits), TW_OK);
            const tw_plan *plan = search(&p, p.machine, options);
            bool same = plan != NULL;
            for (int k = 0; plan && k < goals.n; k++)
                same &= tw_plan_search_result(plan, 0)->value[k] == (double)o.one_value.of[k];
            if (!same) fprintf(stderr, "%s: %.0f\n", text.bytes, (double)o.one_value.of[0]);
            check_law(&p, same, "a whole mapping");
            tw_text_release(&text);
        }
        tw_diag_release(&diag);
        close_problem(&p);
    }
}
