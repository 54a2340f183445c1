/* test/search/test_enumeration.c - trying every mapping, which the search is judged by, is judged itself.
 *
 * By counts that were made by hand, by a larger space that says the same with more words, and by the family of models.md 1.7. */
#include "async_random.h"
#include "brute_random.h"
#include "tw_read.h"

#include <stdio.h>
#include <string.h>

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
    for (int i = 0; i < tw_test_rounds(300); i++) {
        brute_case c;
        brute_random_make(&rng, (brute_wish){i % 2 ? TW_ASYNC : TW_LOCKSTEP, 8000, true}, &c);
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
    for (int i = 0; i < tw_test_rounds(300); i++) {
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
