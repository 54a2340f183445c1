/* test/search/test_search.c - the search against the table of models.md 1.9 and against trying everything. */
#include "tick_oracle.h"
#include "tw_test.h"

#include "model/model.h"

#include <stdio.h>
#include <string.h>

static const tw_plan *search(tw_context *ctx, const char *workload, const char *machine_text,
                             tw_search_options options)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan = NULL;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "m", machine_text, &machine), TW_OK);
    return tw_plan_search(ctx, model, machine, &options, &plan) == TW_OK ? plan : NULL;
}

static void machine_text(char *text, size_t n, int64_t capacity)
{
    snprintf(text, n,
             "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: buf, "
             "size: %" PRId64 "}], "
             "engines: [{name: move, between: [out, buf], channels: unlimited, cost: {constant: 1}}, "
             "{name: mac, computes: multiply-add, on: buf, cost: {constant: 1}}, {name: add, computes: sum, on: "
             "buf, cost: {constant: 1}}]}",
             capacity);
}

TEST(the_optima_of_the_specification_are_found_with_their_number)
{
    static const struct {
        int64_t capacity;
        tw_mode mode;
        int64_t min_tile, best, n_optima;
    } row[] = {
        {100000, TW_MODE_SEPARATE, 1, 7, 6},    {100000, TW_MODE_IN_PLACE, 1, 6, 1},
        {100000, TW_MODE_FUSED, 1, 5, 1},       {100000, TW_MODE_SEPARATE, 32, 7, 4},
        {50000, TW_MODE_SEPARATE, 1, 18, 6},    {50000, TW_MODE_IN_PLACE, 1, 14, 2},
        {50000, TW_MODE_FUSED, 1, 9, 1},        {10000, TW_MODE_FUSED, 1, 97, 8},
        {10000, TW_MODE_IN_PLACE, 32, 146, 10},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        char text[700];
        machine_text(text, sizeof text, row[i].capacity);
        tw_context *ctx = tw_context_new();
        const tw_plan *plan =
            search(ctx, "matmul:128x128x512", text,
                   (tw_search_options){.space = TW_SPACE_NOTES, .mode = row[i].mode, .min_tile = row[i].min_tile});
        CHECK(plan != NULL);
        const tw_search_result *r = tw_plan_search_result(plan, 0);
        CHECK_EQ(r->best, row[i].best);
        CHECK_EQ(r->n_optima, row[i].n_optima);
        CHECK(r->proven);
        CHECK_EQ(tw_plan_summary(plan)->ticks, row[i].best);
        tw_context_free(ctx);
    }
}

/* Tries everything that models.md 1.7 allows, with the literal rules of 1.2. */
static int64_t brute_force(int64_t M, int64_t N, int64_t K, int64_t capacity, char mode, int64_t *n_optima)
{
    int64_t best = INT64_MAX;
    *n_optima = 0;
    for (int64_t mt = 1; mt <= M; mt++)
        for (int64_t nt = 1; nt <= N; nt++)
            for (int64_t kt = 1; kt <= K; kt++) {
                if (tw_cdiv(M, tw_cdiv(M, mt)) != mt || tw_cdiv(N, tw_cdiv(N, nt)) != nt ||
                    tw_cdiv(K, tw_cdiv(K, kt)) != kt)
                    continue;
                int least = kt == 1 || mode == 'F' ? 1 : mode == 'I' ? 2 : 3;
                int most = least == 1 && mt * nt == 1 ? 1 : least + 1;
                for (int ni = 1; ni <= tw_min(2, mt * kt); ni++)
                    for (int nw = 1; nw <= tw_min(2, nt * kt); nw++)
                        for (int no = least; no <= most; no++)
                            for (int nm = 0; nm <= (mt > 1 && nt > 1); nm++) {
                                tick_case c = {M, N, K, mt, nt, kt, false, ni, nw, no, nm, mode, false};
                                tick_result r = tick_oracle(&c, false);
                                if (r.slots_elems > capacity || r.ticks > best) continue;
                                *n_optima = r.ticks < best ? 1 : *n_optima + 1;
                                best = r.ticks;
                            }
            }
    return best;
}

TEST(three_hundred_small_problems_have_the_optimum_that_trying_everything_finds)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 300; i++) {
        int64_t M = tw_test_pick(&rng, 1, 7), N = tw_test_pick(&rng, 1, 7), K = tw_test_pick(&rng, 1, 8), n_optima;
        int64_t capacity = tw_test_pick(&rng, 3, M * K + K * N + M * N + 20);
        int mode = (int)tw_test_pick(&rng, 0, 2);
        static const tw_mode word[] = {TW_MODE_SEPARATE, TW_MODE_IN_PLACE, TW_MODE_FUSED};
        int64_t best = brute_force(M, N, K, capacity, "SIF"[mode], &n_optima);
        char text[700], workload[64];
        machine_text(text, sizeof text, capacity);
        snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, M, N, K);
        tw_context *ctx = tw_context_new();
        tw_search_options options = {.space = TW_SPACE_NOTES, .mode = word[mode], .max_execs = 1000};
        const tw_plan *plan = search(ctx, workload, text, options);
        if (best == INT64_MAX)
            CHECK(plan == NULL);
        else {
            CHECK(plan != NULL);
            CHECK_EQ(tw_plan_search_result(plan, 0)->best, best);
            CHECK_EQ(tw_plan_search_result(plan, 0)->n_optima, n_optima);
        }
        tw_context_free(ctx);
    }
}

TEST(three_levels_reach_the_optima_of_the_specification)
{
    static const struct {
        tw_mode mode;
        tw_approach approach;
        int64_t best;
    } row[] = {{TW_MODE_SEPARATE, TW_APPROACH_MULTISTAGE, 123},
               {TW_MODE_IN_PLACE, TW_APPROACH_MULTISTAGE, 120},
               {TW_MODE_FUSED, TW_APPROACH_MULTISTAGE, 109},
               {TW_MODE_SEPARATE, TW_APPROACH_DIRECT, 166},
               {TW_MODE_IN_PLACE, TW_APPROACH_DIRECT, 146},
               {TW_MODE_FUSED, TW_APPROACH_DIRECT, 101},
               {TW_MODE_ANY, TW_APPROACH_BEST, 101},
               {TW_MODE_DEFAULT, TW_APPROACH_BEST, 120}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan;
        tw_search_options options = {.space = TW_SPACE_NOTES, .mode = row[i].mode, .approach = row[i].approach};
        CHECK_EQ(tw_model_open(ctx, "matmul:128x128x512", &model), TW_OK);
        CHECK_EQ(tw_machine_open(ctx, "tick-three-level", &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
        CHECK_EQ(tw_plan_summary(plan)->ticks, row[i].best);
        tw_context_free(ctx);
    }
}

/* Single elements with one slot each and, for an in-place sum, a second output slot. */
TEST(what_cannot_fit_is_refused_with_a_reason)
{
    static const struct {
        tw_search_options options;
        const char *space, *needs, *ofm;
    } row[] = {{{0}, "all", "3 elements 'buf' would be large enough, 1", "1 x 1"},
               {{.mode = TW_MODE_IN_PLACE}, "all", "4 elements 'buf' would be large enough, 2", "2 x 1"},
               {{.mode = TW_MODE_SEPARATE}, "all", "5 elements 'buf' would be large enough, 3", "3 x 1"},
               {{.space = TW_SPACE_NOTES}, "notes", "4 elements 'buf' would be large enough, 2", "2 x 1"}};
    char text[700], message[400];
    machine_text(text, sizeof text, 2);
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        CHECK(search(ctx, "matmul:4x4x4", text, row[i].options) == NULL);
        CHECK_EQ(tw_context_n_messages(ctx), 2);
        snprintf(message, sizeof message,
                 "<workload>:1:1: infeasible: no mapping of 'matmul' in the space '%s' fits machine 'm', proven",
                 row[i].space);
        CHECK_STR(tw_context_message(ctx, 0), message);
        snprintf(message, sizeof message,
                 "m:1:88: note: with %s more than it has: 'ifm' 1 x 1, 'w' 1 x 1, 'ofm' %s", row[i].needs,
                 row[i].ofm);
        CHECK_STR(tw_context_message(ctx, 1), message);
        tw_context_free(ctx);
    }
}

/* Without an adder nothing may be left to add: whole reductions, or executions that accumulate. */
TEST(a_machine_without_adders_is_planned_without_sums)
{
    static const char machine[] =
        "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: buf, size: "
        "99}], "
        "engines: [{name: move, between: [out, buf], channels: unlimited, cost: {constant: 1}}, "
        "{name: mac, computes: multiply-add, on: buf, cost: {constant: 1}}]}";
    for (tw_mode mode = TW_MODE_DEFAULT; mode <= TW_MODE_ANY; mode++) {
        tw_context *ctx = tw_context_new();
        const tw_plan *plan = search(ctx, "matmul:8x8x16", machine, (tw_search_options){.mode = mode});
        const tw_verdict *verdict;
        CHECK(plan != NULL);
        CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
        tw_context_free(ctx);
        ctx = tw_context_new();
        plan = search(ctx, "matmul:2x2x90", machine, (tw_search_options){.mode = mode});
        CHECK_EQ(plan != NULL, mode == TW_MODE_DEFAULT || mode == TW_MODE_FUSED || mode == TW_MODE_ANY);
        if (!plan) { /* a row, a column and a sum at least */
            CHECK_EQ(tw_context_n_messages(ctx), 2);
            CHECK_STR(tw_context_message(ctx, 1),
                      "m:1:88: note: with 181 elements 'buf' would be large enough, 82 more than it has: 'ifm' 1 x "
                      "90, 'w' 1 x 90, 'ofm' 1 x 1");
        }
        tw_context_free(ctx);
    }
}

TEST(a_mode_that_the_machine_lacks_is_refused)
{
    tw_context *ctx = tw_context_new();
    CHECK(search(ctx, "matmul:4x4x4",
                 "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: "
                 "buf, size: 99}], "
                 "engines: [{name: move, between: [out, buf], channels: unlimited, cost: {constant: 1}}, "
                 "{name: mac, computes: multiply-add, on: buf, accumulate: fused, cost: {constant: 1}}]}",
                 (tw_search_options){.mode = TW_MODE_SEPARATE}) == NULL);
    CHECK_STR(tw_context_message(ctx, 0), "m:1:199: error: engine 'mac' does not accumulate 'separate'");
    tw_context_free(ctx);
}

/* Every mapping of the family of a small padded operator, judged by the evaluator: the search may not call
 * anything an optimum that is not. */
typedef struct all_of_it {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const char *name;
    int64_t best;
} all_of_it;

static void try_mapping(all_of_it *a, const char *text)
{
    const tw_mapping *mapping;
    const tw_plan *plan;
    if (tw_mapping_parse(a->ctx, a->model, a->machine, "m", text, &mapping) == TW_OK &&
        tw_plan_eval(a->ctx, a->model, a->machine, mapping, &plan) == TW_OK)
        a->best = tw_min(a->best, tw_plan_summary(plan)->ticks);
    tw_context_clear_messages(a->ctx);
}

static void try_all(all_of_it *a, const tw_op *op, int loop, int64_t *count)
{
    if (loop < op->n_loops) {
        for (count[loop] = 1; count[loop] <= op->loop[loop].extent; count[loop]++) try_all(a, op, loop + 1, count);
        return;
    }
    for (int slots = 0; slots < 8; slots++) {
        char text[512];
        int n = snprintf(text, sizeof text, "mapping: {%s: {levels: [{at: buf, accumulate: in-place, tiles: {",
                         op->name);
        for (int l = 0; l < op->n_loops; l++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s: %" PRId64, l ? ", " : "", op->loop[l].name,
                          count[l]);
        snprintf(text + n, sizeof text - (size_t)n, "}, buffers: {ifm: %d, ofm: %d}}]}}", 1 + (slots & 1),
                 1 + (slots >> 1));
        try_mapping(a, text);
    }
}

TEST(small_padded_operators_have_the_optimum_that_evaluating_everything_finds)
{
    static const char *const line[] = {"pool:1x2x1,kernel=3,pad=2,type=average",
                                       "pool:1x3x1,kernel=2,pad=1,stride=2", "pool:1x1x1,kernel=3x1,pad=2x0x2x0",
                                       "pool:2x2x1,kernel=1x3,pad=0x2x0x2"};
    static const int64_t capacity[] = {2, 3, 4, 6, 9, 14};
    for (size_t w = 0; w < TW_COUNT(line); w++)
        for (size_t c = 0; c < TW_COUNT(capacity); c++) {
            char text[700];
            machine_text(text, sizeof text, capacity[c]);
            char *computes = strstr(text, "multiply-add");
            memmove(computes + 14, computes + 12, strlen(computes + 12) + 1);
            memcpy(computes, "[max, average]", 14);
            tw_context *ctx = tw_context_new();
            all_of_it a = {.ctx = ctx, .best = INT64_MAX};
            CHECK_EQ(tw_model_open(ctx, line[w], &a.model), TW_OK);
            CHECK_EQ(tw_machine_parse(ctx, "m", text, &a.machine), TW_OK);
            int64_t count[TW_MAX_LOOPS];
            try_all(&a, &a.model->op[0], 0, count);
            const tw_plan *plan = NULL;
            tw_search_options options = {.space = TW_SPACE_NOTES, .mode = TW_MODE_IN_PLACE, .max_execs = 10000};
            tw_status status = tw_plan_search(ctx, a.model, a.machine, &options, &plan);
            CHECK_EQ(status, a.best == INT64_MAX ? TW_INFEASIBLE : TW_OK);
            if (status == TW_OK) CHECK_EQ(tw_plan_summary(plan)->ticks, a.best);
            tw_context_free(ctx);
        }
}

/* Cut along both kernel loops, eight of the nine tiles lie in the padding and cost nothing. */
TEST(tiles_in_padding_do_not_count_against_a_cut)
{
    char text[700];
    machine_text(text, sizeof text, 330);
    tw_context *ctx = tw_context_new();
    all_of_it a = {.ctx = ctx, .best = INT64_MAX};
    CHECK_EQ(tw_model_open(ctx, "conv:8x1x1,out=64,kernel=3,pad=1", &a.model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "m", text, &a.machine), TW_OK);
    try_mapping(&a, "mapping: {conv: {levels: [{at: buf, tiles: {oc: 2, ky: 3, kx: 3}, buffers: {ofm: 2}, "
                    "accumulate: in-place}]}}");
    CHECK_EQ(a.best, 5);
    const tw_plan *plan;
    CHECK_EQ(tw_plan_search(ctx, a.model, a.machine, NULL, &plan), TW_OK);
    CHECK(tw_plan_summary(plan)->ticks <= 5);
    tw_context_free(ctx);
}

/* A slow outer link cannot be passed through, and sixteen outer executions are too few. */
TEST(limits_of_the_family_of_the_notes_are_limits)
{
    static const char machine[] =
        "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: l2, size: "
        "300}, {name: l1, size: 60}], "
        "engines: [{name: dma, between: [out, l2], channels: 1, cost: {latency: 100, per_cycle: 1}}, "
        "{name: mv, between: [l2, l1], channels: 1, cost: {latency: 1, per_cycle: 8}}, "
        "{name: mac, computes: multiply-add, on: l1, accumulate: fused, cost: {constant: 1}}]}";
    static const tw_search_options wider[] = {
        {.space = TW_SPACE_NOTES, .max_outer = 128, .max_inner = 512, .budget = 1000000},
        {.space = TW_SPACE_ALL, .budget = 1000000}};
    tw_context *ctx = tw_context_new();
    CHECK(search(ctx, "matmul:40x40x40", machine, (tw_search_options){.space = TW_SPACE_NOTES}) == NULL);
    CHECK_STR(tw_context_message(ctx, 0),
              "<workload>:1:1: infeasible: no mapping of 'matmul' in the space 'notes' fits machine 'm', proven");
    for (size_t i = 0; i < TW_COUNT(wider); i++) {
        const tw_plan *plan = search(ctx, "matmul:40x40x40", machine, wider[i]);
        const tw_verdict *verdict;
        CHECK(plan != NULL);
        CHECK_EQ(tw_plan_search_result(plan, 0)->space, wider[i].space);
        CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
    }
    tw_context_free(ctx);
}

TEST(a_used_up_budget_ends_the_search_soon_and_is_admitted)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.mode = TW_MODE_IN_PLACE, .budget = 500000};
    CHECK_EQ(tw_model_open(ctx, "matmul:128x128x512", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "tick-three-level", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    CHECK(!r->proven);
    CHECK_EQ(r->ending, TW_END_BUDGET);
    CHECK(r->bound > 0 && r->bound < (double)r->best && r->gap > 0 && r->gap < 1);
    /* Too large for any program to be simulated to its end: nothing is found, which proves nothing. */
    CHECK_EQ(tw_model_open(ctx, "matmul:1000000x1000000x1000000", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "tick-10k", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_INFEASIBLE);
    CHECK_STR(
        tw_context_message(ctx, 0),
        "<workload>:1:1: infeasible: no mapping of 'matmul' in the space 'all' that fits machine 'tick-10k' was "
        "found, not proven: the search ended by the budget, there may be one");
    tw_context_free(ctx);
}

/* On a built-in machine. */
static tw_search_result result_on(tw_context *ctx, const char *workload, const char *name,
                                  const tw_search_options *options)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, name, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, options, &plan), TW_OK);
    return *tw_plan_search_result(plan, 0);
}

/* Convolutions of ResNet-18: near enough with little work on the array, proven on the cluster. For 1x1 with a stride the bound
 * does not know that tiles which fill the array ask for more inputs than its streamers bring, nor all that divided loops cost. */
TEST(layers_with_whole_windows_are_proven_or_nearly_so)
{
    static const struct {
        const char *layer;
        int64_t array, cluster; /* cycles on kpu, at most, and on snitch */
        double gap;             /* on kpu */
    } row[] = {{"conv:3x224x224,out=64,kernel=7,stride=2,pad=3", 461490, 15570424, 0.01},
               {"conv:64x56x56,out=64,kernel=3,pad=1", 452200, 15289930, 0.01},
               {"conv:64x56x56,out=128,kernel=3,pad=1,stride=2", 226200, 9818206, 0.01},
               {"conv:128x28x28,out=256,kernel=1,stride=2", 29300, 1499610, 0.03},
               {"conv:512x7x7,out=512,kernel=3,pad=1", 518500, 15927734, 0.05}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        char workload[100];
        snprintf(workload, sizeof workload, "%s,dtype=f32", row[i].layer);
        tw_search_options options = {.space = TW_SPACE_WINDOWS, .gap = 0.01, .budget = 2000000};
        tw_search_result r = result_on(ctx, workload, "kpu", &options);
        CHECK(r.best > 0 && r.best <= row[i].array && r.gap < row[i].gap);
        options.gap = 0; /* bounds alone come within a hundredth there */
        r = result_on(ctx, workload, "snitch", &options);
        CHECK(r.proven);
        CHECK_EQ(r.best, row[i].cluster);
        tw_context_free(ctx);
    }
}

/* A program so short that its ends are a quarter of it: what the array waits for its first sums is part of the bound. The budget is
 * about half a second. */
TEST(short_products_on_an_array_are_proven)
{
    tw_context *ctx = tw_context_new();
    const tw_search_options options = {.prove = true, .budget = 6000000};
    tw_search_result r = result_on(ctx, "matmul:64x64x64,dtype=f32", "kpu", &options);
    CHECK(r.proven);
    CHECK_EQ(r.best, 1381);
    tw_context_free(ctx);
}

/* A window that is too large to be held whole: everything is searched, and the result says so. */
TEST(windows_are_cut_where_none_fits)
{
    static const char machine[] = "machine: m\nunit: element\ntiming: async\n"
                                  "memories: [{name: dram, size: unlimited}, {name: l1, size: 12}]\n"
                                  "engines: [{name: mv, between: [dram, l1], cost: {constant: 1}},\n"
                                  "          {name: mac, computes: multiply-add, on: l1, cost: {constant: 1}}]\n";
    tw_context *ctx = tw_context_new();
    const tw_search_options options = {.space = TW_SPACE_WINDOWS, .max_buffers = 2};
    const tw_plan *cut = search(ctx, "conv:1x4x4,out=1,kernel=3", machine, options);
    CHECK(cut != NULL && tw_plan_search_result(cut, 0)->space == TW_SPACE_ALL);
    const tw_plan *whole = search(ctx, "conv:1x4x4,out=1,kernel=2", machine, options);
    CHECK(whole != NULL && tw_plan_search_result(whole, 0)->space == TW_SPACE_WINDOWS);
    CHECK(tw_plan_search_result(whole, 0)->proven);
    tw_context_free(ctx);
}

/* Whether the front of time and energy has a point with so much of both at most. */
static bool front_has(tw_context *ctx, const char *workload, double cycles, double energy)
{
    static const tw_objective both[] = {{TW_CYCLES, NULL}, {TW_ENERGY, NULL}};
    const tw_search_options options = {
        .size = sizeof options, .n_objectives = 2, .objective = both, .pareto = true};
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "simple3", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    for (int i = 0; i < tw_plan_n_front(plan, 0); i++) {
        const double *value = tw_plan_front(plan, 0, i)->value;
        if (value[0] <= cycles && value[1] <= energy) return true;
    }
    return false;
}

/* Registers that hold a few elements, and none of a whole window: windows are cut, padded ones leave tiles without elements, programs have half
 * a million instructions. Then it is energy that says whether anything was looked at, alone and behind time: the same convolution that is done in
 * 590'000 cycles can take twenty times as much. */
TEST(convolutions_have_mappings_where_registers_hold_no_window)
{
    static const tw_objective both[] = {{TW_CYCLES, NULL}, {TW_ENERGY, NULL}};
    static const double within[] = {0.01, 0};
    static const struct {
        const char *layer;
        double cycles, energy; /* at most; uJ */
    } row[] = {{"conv:16x16x16,out=16,kernel=3,pad=1", 596000, 8.7},
               {"pool:16x28x28,kernel=3,stride=2,pad=1", 28500, 4.5}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        const tw_search_options energy = {.size = sizeof energy, .n_objectives = 1, .objective = &both[1]};
        const tw_search_options staged = {
            .size = sizeof staged, .n_objectives = 2, .objective = both, .within = within};
        tw_search_result r = result_on(ctx, row[i].layer, "simple3", &staged);
        CHECK(r.value[0] <= row[i].cycles && r.value[1] <= row[i].energy * 1e9);
        r = result_on(ctx, row[i].layer, "simple3", &energy);
        CHECK(r.value[0] <= row[i].energy * 1e9);
        CHECK(front_has(ctx, row[i].layer, row[i].cycles, row[i].energy * 1e9));
        tw_context_free(ctx);
    }
}

/* Numbers of buffers that are surely enough are tried where some tiles lie in padding, too: all weights are kept here, of which no fewer
 * will do. */
TEST(what_is_kept_whole_is_found_where_tiles_lie_in_padding)
{
    static const char mapping[] =
        "mapping:\n  conv:\n    levels:\n      - {at: glb, pass: true, keep: {w: all}}\n"
        "      - {at: rf, sizes: {oc: 2, oy: 2, ox: 1, ic: 1, ky: 1, kx: 1}, order: [oy, ox, oc, ic, ky, kx]}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_limits *limits;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, "conv:16x16x16,out=16,kernel=3,pad=1", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "simple3", &machine), TW_OK);
    CHECK_EQ(tw_limits_parse(ctx, model, machine, "m", mapping, &limits), TW_OK);
    const tw_search_options options = {.limits = limits};
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    CHECK(tw_plan_summary(plan)->cycles <= 596000);
    tw_context_free(ctx);
}
