/* test/search/test_small.c - sizes of small operators, all of them.
 *
 * What is found for a product with a vector of six elements is the optimum, which a proof of some minutes has: tiles of 16 and 8 outputs, whose weights
 * fill commands of 64 bytes. */
#include "plan/plan.h"
#include "search/small.h"
#include "tw_read.h"

#include <stdlib.h>

static int64_t best_of(const char *spec, int64_t budget)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    const tw_search_options options = {
        .size = sizeof options, .space = TW_SPACE_WINDOWS, .budget = budget, .n_threads = 1};
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    int64_t best = (int64_t)tw_plan_search_result(plan, 0)->best;
    tw_context_free(ctx);
    return best;
}

TEST(tiles_of_small_products_fill_commands) { CHECK_EQ(best_of("conv:6x1x1,out=24,kernel=1", 300000), 264); }

/* Every combination of sizes is met once. */
TEST(all_sizes_of_a_level_are_listed)
{
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    const tw_model *model;
    const tw_machine *machine;
    tw_part *part;
    CHECK_EQ(tw_model_open(ctx, "matmul:3x5x4", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    tw_search_options options = {.space = TW_SPACE_WINDOWS};
    tw_diag diag = {.muted = true};
    tw_space space;
    bool seen[3 * 5 * 4] = {false};
    int n = 0;
    CHECK_EQ(tw_space_of(&(tw_problem){model, 0, &here}, &options, arena, &diag, &space), TW_OK);
    int frame = 0;
    while (space.frame[frame].n_tiled > 1) frame++;
    CHECK_EQ(tw_small_begin(&space, frame, &part), TW_OK);
    for (bool more = true; more; more = tw_small_next(&space, part)) {
        int at = 0;
        for (int l = 0; l < 3; l++) {
            int32_t size = part->var[tw_var_size(&space, 0, l)].lo;
            CHECK(size >= 1 && size <= space.op->loop[l].extent);
            at = at * (int)space.op->loop[l].extent + size - 1;
        }
        CHECK(!seen[at]);
        seen[at] = true;
        n++;
    }
    CHECK_EQ(n, 3 * 5 * 4);
    free(part);
    tw_arena_free(arena);
    tw_context_free(ctx);
}
