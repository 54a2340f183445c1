/* test/search/test_shortlist.c - what is made by construction, and how long a search goes on after it.
 *
 * Layers of real networks that once ended above what could be had at once, each as one operator. The bounds know nothing of how
 * mappings are made. */
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>

enum { BUDGET = 1000000, PATIENCE = 120000 };
static const tw_search_options as_layer = {
    .space = TW_SPACE_WINDOWS, .gap = 0.0099, .budget = BUDGET, .patience = PATIENCE, .n_threads = 1};

static const tw_plan *plan_of(tw_context *ctx, const char *spec, const tw_search_options *options)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, options, &plan), TW_OK);
    return plan;
}

static tw_search_result result_of(const char *spec, const tw_search_options *options)
{
    tw_context *ctx = tw_context_new();
    tw_search_result r = *tw_plan_search_result(plan_of(ctx, spec, options), 0);
    tw_context_free(ctx);
    return r;
}

/* Percent above the bound of the whole space; of loops that lie over one dimension of the array each, whose bound is near. */
static double percent_above(const char *spec)
{
    tw_search_options options = as_layer;
    options.space = TW_SPACE_WHOLE;
    tw_search_result r = result_of(spec, &options);
    return 100 * ((double)r.best / r.root_bound - 1);
}

TEST(small_element_wise_layers_come_as_near_as_tiles_of_one_cycle)
{
    CHECK(percent_above("add:25088,dtype=f32") < 0.2); /* additions of MobileNetV2 */
    CHECK(percent_above("add:12544,dtype=f32") < 0.2);
    CHECK(percent_above("add:7840,dtype=f32") < 0.2);
    CHECK(percent_above("add:50176,dtype=f32") < 0.2); /* of ResNet-18 */
    CHECK(percent_above("add:4800,dtype=f32") < 0.2);  /* has more divisors than there is room for */
}

TEST(loops_that_nothing_divides_are_cut_into_whole_passes_and_a_rest)
{
    CHECK(percent_above("matmul:196x64x384,dtype=f32") < 8); /* 14x14 positions on 16 rows */
    CHECK(percent_above("matmul:196x96x576,dtype=f32") < 8);
    CHECK(percent_above("matmul:40x6625x120,dtype=f32") < 0.5); /* the alphabet of a text recogniser */
    CHECK(percent_above("matmul:20x8210x256,dtype=f32") < 0.5);
}

/* Where many sizes fit, all of them are looked at before patience begins: the first was 82 % above. */
TEST(layers_with_many_sizes_have_their_whole_shortlist)
{
    CHECK(percent_above("conv:256x14x14,out=256,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32") < 1);
    CHECK(percent_above("conv:512x7x7,out=512,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32") < 1);
    CHECK(percent_above("conv:128x28x28,out=128,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32") < 1);
}

TEST(less_energy_within_a_latency_is_found_with_the_budget_of_a_layer)
{
    static const tw_objective list[] = {{TW_CYCLES, NULL}, {TW_ENERGY, NULL}};
    static const double within[] = {0.01, 0};
    tw_search_options tolerant = as_layer;
    tolerant.objective = list;
    tolerant.within = within;
    tolerant.n_objectives = 2;
    tolerant.size = sizeof tolerant;
    tw_context *ctx = tw_context_new();
    /* Of MobileNetV2; with the fewest cycles alone it takes 490 uJ, and 180 must be. */
    const tw_plan *plan = plan_of(ctx, "conv:96x196x1,out=576,kernel=1,dtype=f32", &tolerant);
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    CHECK(r->value[0] <= 1.01 * r->least[0] && r->value[0] < 46000);
    CHECK(r->value[1] < 210e9);
    tw_context_free(ctx);
}

/* ---- windows that slide ---- */

static const char little_memory[] =
    "machine: little\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 100 pJ}\n"
    "  - {name: l1, size: 5 KiB, energy: 1 pJ}\n"
    "engines:\n"
    "  - {name: in, between: [dram, l1], carries: in, cost: {latency: 4, per_cycle: 1}}\n"
    "  - {name: out, between: [dram, l1], carries: out, cost: {latency: 4, per_cycle: 4}}\n"
    "  - {name: mac, computes: [multiply-add], memory: l1, energy: 0.1 pJ, cost: {array: [8, 16]}}\n";

/* The objective of a 3x3 convolution; whether its window slides is in *slides. `limits`: text, NULL: none. */
static double convolved(const tw_objective *objective, const char *limits, bool *slides)
{
    tw_search_options options = {.n_objectives = 1, .objective = objective, .budget = 300000, .n_threads = 1};
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, "conv:8x64x32,out=8,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32", &model),
             TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "little", little_memory, &machine), TW_OK);
    if (limits) CHECK_EQ(tw_limits_parse(ctx, model, machine, "limits", limits, &options.limits), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    *slides = plan->mapping->op[0].level[0].slides[0] > 0;
    double value = tw_plan_search_result(plan, 0)->value[0];
    tw_context_free(ctx);
    return value;
}

TEST(windows_slide_where_memory_is_little_whatever_is_made_small)
{
    static const tw_objective objective[] = {
        {TW_CYCLES, NULL}, {TW_ENERGY, NULL}, {TW_EDP, NULL}, {TW_TRAFFIC, "l1"}};
    for (size_t i = 0; i < TW_COUNT(objective); i++) {
        bool slides, never;
        double best = convolved(&objective[i], NULL, &slides);
        double whole =
            convolved(&objective[i], "mapping: {conv: {levels: [{at: l1, slide: {ifm: none}}]}}\n", &never);
        CHECK(slides && !never);
        CHECK(best < 0.97 * whole);
    }
}

/* Tiles that are whole along one loop bring nothing twice. Two of them have room with few points of the others, which whole loops over the array
 * would do in three times the passes. */
TEST(windows_that_slide_have_tiles_of_divided_loops_where_movers_are_the_limit)
{
    CHECK(result_of("dwconv:32x112x112,kernel=3,pad=1", &as_layer).best < 25600); /* 26'834 with whole loops */
    CHECK(result_of("dwconv:144x56x56,kernel=3,pad=1", &as_layer).best < 28900);  /* 29'760 */
}

/* Tiles of 48 channels and 3, 2 and 2 of 7 rows: weights of the short ones come ahead as far as there is room. Buffers in proportion left a third of the
 * memory to results, one of which is enough. */
TEST(what_results_leave_of_a_memory_goes_to_inputs)
{
    CHECK(result_of("conv:512x7x7,out=512,kernel=3,pad=1", &as_layer).best < 505000); /* 512'015 before */
}

/* Of two movers as quick as each other the inner one carries everything when the first tile of an input has come, whichever input came before. */
TEST(the_largest_first_tile_comes_before_what_the_next_mover_carries)
{
    CHECK(result_of("dwconv:42x32x32,kernel=5,stride=2,pad=2", &as_layer).bound >
          3010); /* 3'000 before, 3'123 found */
    CHECK(result_of("dwconv:192x20x20,kernel=5,stride=2,pad=2", &as_layer).bound > 5385); /* 5'375, 5'480 */
}

TEST(patience_ends_a_search_that_finds_nothing_better)
{
    static const char spec[] = "conv:16x24x80,out=16,kernel=3,pad=1,dtype=f32";
    tw_search_options hasty = as_layer, patient = as_layer, many = as_layer;
    hasty.gap = patient.gap = many.gap = 1e-6;
    hasty.patience = many.patience = 20000;
    patient.patience = 400000;
    many.n_threads = 5;
    tw_search_result a = result_of(spec, &hasty), b = result_of(spec, &patient), c = result_of(spec, &many);
    CHECK_EQ(a.ending, TW_END_BUDGET);
    CHECK(a.work < b.work && b.work < BUDGET + BUDGET / 2);
    CHECK(b.best <= a.best);
    CHECK(a.bound <= (double)b.best);
    CHECK_EQ(a.best, c.best);
    CHECK_EQ(a.work, c.work);
}

TEST(a_search_that_goes_on_is_no_worse_than_where_it_began)
{
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_diag diag = {.muted = true};
    const tw_work work = {arena, scratch, &diag};
    tw_context *ctx = tw_context_new();
    static const char *const spec[] = {"matmul:40x6625x120,dtype=f32", "add:25088,dtype=f32"};
    for (size_t i = 0; i < TW_COUNT(spec); i++) {
        const tw_plan *first = plan_of(ctx, spec[i], &as_layer), *again;
        tw_search_options little = as_layer;
        little.budget = 1;
        CHECK_EQ(
            tw_plan_find(&(tw_request){first->model, first->machine, &little, first->mapping, NULL}, &work, &again),
            TW_OK);
        CHECK_EQ(again->op[0].search.best, first->op[0].search.best);
        little.budget = 300000;
        CHECK_EQ(
            tw_plan_find(&(tw_request){first->model, first->machine, &little, first->mapping, NULL}, &work, &again),
            TW_OK);
        CHECK(again->op[0].search.best <= first->op[0].search.best);
    }
    tw_context_free(ctx);
    tw_arena_free(scratch);
    tw_arena_free(arena);
}

/* Rows of 16 units for channels and positions together: 8 channels and 2 positions, or 2 and 8, fill them. Sizes that are good for each loop
 * alone do not, and what a layer of a network may take ended with 2'748 and 6'774 cycles. */
TEST(blocks_of_loops_that_share_a_dimension_are_found_quickly)
{
    CHECK(result_of("conv:96x16x16,out=24,kernel=1", &as_layer).best <= 2696);
    CHECK(result_of("conv:36x32x32,out=42,kernel=1", &as_layer).best <= 6635);
}

/* Nothing better is found, but the least bound rises all the time: 3 % were left where patience ended with that. */
TEST(patience_begins_anew_while_the_least_bound_rises)
{
    const tw_search_result r = result_of("dwconv:24x16x16,kernel=5,pad=2", &as_layer);
    CHECK(r.best <= 938);
    CHECK(r.bound >= 0.99 * (double)r.best);
}
