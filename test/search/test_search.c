/* test/search/test_search.c - the search against the table of models.md 1.9 and against trying everything. */
#include "tick_oracle.h"
#include "tw_test.h"

#include <stdio.h>

static const tw_plan *search(tw_context *ctx, const char *workload, const char *machine_text,
                             tw_search_options options)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan = NULL;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "m", machine_text, &machine), TW_OK);
    (void)!tw_plan_search(ctx, model, machine, &options, &plan);
    return plan;
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
        const char *mode;
        int64_t min_tile, best, n_optima;
    } row[] = {
        {100000, "separate", 1, 7, 6},  {100000, "in-place", 1, 6, 1}, {100000, "fused", 1, 5, 1},
        {100000, "separate", 32, 7, 4}, {50000, "separate", 1, 18, 6}, {50000, "in-place", 1, 14, 2},
        {50000, "fused", 1, 9, 1},      {10000, "fused", 1, 97, 8},    {10000, "in-place", 32, 146, 10},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        char text[700];
        machine_text(text, sizeof text, row[i].capacity);
        tw_context *ctx = tw_context_new();
        const tw_plan *plan = search(ctx, "matmul:128x128x512", text,
                                     (tw_search_options){.mode = row[i].mode, .min_tile = row[i].min_tile});
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
        static const char *const word[] = {"separate", "in-place", "fused"};
        int64_t best = brute_force(M, N, K, capacity, "SIF"[mode], &n_optima);
        char text[700], workload[64];
        machine_text(text, sizeof text, capacity);
        snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, M, N, K);
        tw_context *ctx = tw_context_new();
        const tw_plan *plan =
            search(ctx, workload, text, (tw_search_options){.mode = word[mode], .max_execs = 1000});
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
        const char *mode, *approach;
        int64_t best;
    } row[] = {{"separate", "multistage", 123},
               {"in-place", "multistage", 120},
               {"fused", "multistage", 109},
               {"separate", "direct", 166},
               {"in-place", "direct", 146},
               {"fused", "direct", 101},
               {"any", NULL, 101},
               {NULL, NULL, 120}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan;
        tw_search_options options = {.mode = row[i].mode, .approach = row[i].approach};
        CHECK_EQ(tw_model_open(ctx, "matmul:128x128x512", &model), TW_OK);
        CHECK_EQ(tw_machine_open(ctx, "tick-three-level", &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
        CHECK_EQ(tw_plan_summary(plan)->ticks, row[i].best);
        tw_context_free(ctx);
    }
}

TEST(what_cannot_fit_is_refused_with_a_reason)
{
    char text[700];
    machine_text(text, sizeof text, 2);
    tw_context *ctx = tw_context_new();
    CHECK(search(ctx, "matmul:4x4x4", text, (tw_search_options){0}) == NULL);
    CHECK_STR(tw_context_message(ctx, 0),
              "<workload>:1:1: infeasible: no mapping of 'matmul' in the family fits machine 'm'");
    CHECK_STR(tw_context_message(ctx, 1), "<workload>:1:1: note: the mapping of the family that comes nearest:");
    /* Single elements with one slot each, and for an in-place sum a second output slot. */
    CHECK_STR(tw_context_message(ctx, 2),
              "<workload>:1:1: infeasible: memory 'buf' is short by 2: buffers need 4 of 2");
    tw_context_free(ctx);
}

TEST(unknown_words_are_refused)
{
    static const struct {
        tw_search_options options;
        const char *text;
    } bad[] = {
        {{.mode = "fast"}, "error: mode 'fast' is none of separate, in-place, fused, any"},
        {{.cut = "even"}, "error: cut 'even' is none of balanced, greedy"},
        {{.approach = "both"}, "error: approach 'both' is none of direct, multistage"},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan;
        CHECK_EQ(tw_model_open(ctx, "matmul:4x4x4", &model), TW_OK);
        CHECK_EQ(tw_machine_open(ctx, "tick-10k", &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &bad[i].options, &plan), TW_ERR_INPUT);
        CHECK_STR(tw_context_message(ctx, 0), bad[i].text);
        tw_context_free(ctx);
    }
}
