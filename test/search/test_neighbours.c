/* test/search/test_neighbours.c - mappings around a mapping: all of them lie in the space, and looking around finds something. */
#include "search/neighbours.h"

#include "plan/plan.h"
#include "tw_test.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 60 };

/* Whether every variable has a value that it may have, and the mapping of the part is that of no other. */
static void check_part(const tw_space *s, const tw_part *part)
{
    const tw_frame *f = &s->frame[part->frame];
    tw_op_map map;
    tw_part *again;
    CHECK(tw_part_is_sized(s, part));
    for (int i = f->rule; i < f->n_vars; i++) CHECK(tw_part_may_choose(s, part, i, part->var[i].lo));
    tw_part_map(s, part, &map);
    CHECK_EQ(tw_part_of_map(s, part->frame, &map, &again), TW_OK);
    CHECK(again != NULL);
    CHECK_EQ(memcmp(again->var, part->var, (size_t)f->n_vars * sizeof *part->var), 0);
    free(again);
}

/* A part with every loop whole, as a mapping may have it. */
static tw_part *first_part(const tw_space *s)
{
    bool empty;
    tw_part *p = tw_part_of_frame(s, 0, &empty);
    CHECK(!empty);
    for (int i = 0; i < s->frame[0].rule; i++) p->var[i].lo = p->var[i].hi;
    CHECK(tw_part_complete(s, p));
    return p;
}

static void walk_at_random(const char *spec, const char *on, uint64_t *rng)
{
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    const tw_model *model;
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    tw_search_options options = {.space = TW_SPACE_ALL};
    tw_space space;
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, on, &machine), TW_OK);
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    CHECK_EQ(tw_space_of(&(tw_problem){model, 0, &here}, &options, arena, &diag, &space), TW_OK);
    tw_part *at = first_part(&space);
    for (int n = 0, i = 0; n < STEPS && i < 100 * STEPS; i++) {
        tw_part *next;
        int k = (int)tw_test_pick(rng, 0, tw_neighbours_count(&space, at) - 1);
        CHECK_EQ(tw_neighbours_part(&space, at, k, &next), TW_OK);
        if (!next) continue;
        check_part(&space, next);
        free(at);
        at = next;
        n++;
    }
    free(at);
    tw_arena_free(arena);
    tw_context_free(ctx);
}

TEST(neighbours_lie_in_the_space_and_have_one_mapping_each)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(10); i++) {
        walk_at_random("matmul:20x33x48,dtype=f32", "kpu", &rng);
        walk_at_random("conv:6x9x12,out=20,kernel=3,pad=1", "kpu", &rng);
        walk_at_random("conv:16x18x18,out=32,kernel=3,stride=2", "gemmini-like", &rng);
        walk_at_random("dwconv:24x10x10,kernel=5,pad=2", "tpu-like", &rng);
    }
}

/* The estimates of the shortlist prefer 16 channels in two levels, 4'091 cycles; 10 of them in one are better. */
TEST(walks_find_what_estimates_do_not)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    const tw_search_options options = {.space = TW_SPACE_WINDOWS, .budget = 10000000};
    CHECK_EQ(tw_model_open(ctx, "dwconv:960x7x7,kernel=3,pad=1,dtype=f32", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    CHECK(tw_plan_search_result(plan, 0)->best <= 3979);
    tw_context_free(ctx);
}
