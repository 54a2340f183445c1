/* test/search/test_closed.c - the closed form of traffic is what trying every order and residency finds, and the floor over all nests is
 * attained.
 *
 * For sizes that divide their loops every mapping with these sizes is counted, one by one; the least of what crosses into the
 * memory must be the number that the closed form gives without trying any. For the floor all sizes are tried as well, so
 * loops are short. */
#include "search/descend.h"
#include "search/floor.h"

#include "plan/evaluate.h"
#include "tw_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    const tw_space *space;
    const tw_eval *eval;
    int memory;
    int64_t least, n;
} trial;

static void try_part(trial *t, tw_part *part);

static bool try_child(void *user, tw_part *part)
{
    try_part(user, part);
    return true;
}

/* Counts every mapping of the part; frees it. */
static void try_part(trial *t, tw_part *part)
{
    bool divided;
    CHECK_EQ(tw_part_divide(t->space, part, try_child, t, &divided), TW_OK);
    if (!divided) {
        tw_op_map map;
        tw_outcome outcome;
        int64_t ignored;
        tw_part_map(t->space, part, &map);
        t->n++;
        tw_status status = t->eval->count(t->eval->user[0], &t->space->problem, &map, &outcome, &ignored);
        if (status == TW_OK) t->least = tw_min(t->least, outcome.crossed[t->memory]);
    }
    free(part);
}

typedef struct bench {
    tw_context *ctx;
    tw_arena *arena;
    tw_evaluator *evaluator;
    const tw_model *model;
    tw_machine machine;
    tw_space space;
} bench;

/* One scratchpad of so many elements; sums may leave it and come back. */
static void open_bench(bench *b, const char *workload, int64_t size, const char *reuse)
{
    char text[512];
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    tw_objective traffic = {TW_TRAFFIC, "buf"};
    tw_search_options options = {.objective = &traffic, .n_objectives = 1, .cut = TW_CUT_GREEDY};
    snprintf(text, sizeof text,
             "machine: m\nunit: element\ntiming: async\nreuse: %s\n"
             "memories: [{name: dram, size: unlimited}, {name: buf, size: %" PRId64 "}]\nengines:\n"
             "  - {name: mac, computes: [multiply-add], memory: buf, cost: {latency: 0, per_cycle: 1}}\n"
             "  - {name: move, between: [dram, buf], carries: both, cost: {latency: 0, per_cycle: 1}}\n",
             reuse, size);
    b->ctx = tw_context_new();
    b->arena = tw_arena_new();
    b->evaluator = tw_evaluator_new(1);
    CHECK_EQ(tw_model_open(b->ctx, workload, &b->model), TW_OK);
    CHECK_EQ(tw_machine_parse(b->ctx, "machine", text, &machine), TW_OK);
    b->machine = tw_machine_for(machine, b->model, &b->model->op[0], (tw_fusion){0});
    CHECK_EQ(tw_space_of(&(tw_problem){b->model, 0, &b->machine}, &options, b->arena, &diag, &b->space), TW_OK);
    CHECK_EQ(tw_space_measure(&b->space, b->arena), TW_OK);
}

static void close_bench(bench *b)
{
    tw_evaluator_free(b->evaluator);
    tw_arena_free(b->arena);
    tw_context_free(b->ctx);
}

/* The only frame, sizes of the first tile of each loop chosen: a divisor at random. */
static tw_part *draw_sizes(const bench *b, uint64_t *rng)
{
    bool empty;
    tw_part *part = tw_part_of_frame(&b->space, 0, &empty);
    CHECK(!empty);
    for (int l = 0; l < b->space.op->n_loops; l++) {
        int64_t extent = b->space.op->loop[l].extent, size;
        do size = tw_test_pick(rng, 1, extent);
        while (extent % size != 0);
        part->var[tw_var_size(&b->space, 0, l)] = (tw_range){(int32_t)size, (int32_t)size};
    }
    return part;
}

static int64_t closed_of(const bench *b, const tw_part *part)
{
    tw_view view;
    tw_closed closed;
    tw_part_bounds least = {0};
    tw_part_least(&b->space, part, &least);
    if (!least.feasible) return INT64_MAX;
    tw_view_of(&b->space, part, &least, &view);
    tw_price price = tw_price_of_units(&b->space, 1, -1);
    CHECK(tw_closed_of(&view, 1, &closed));
    return tw_closed_least(&closed, &price);
}

TEST(the_closed_form_is_what_trying_every_order_and_residency_finds)
{
    static const char *const spec[] = {"matmul:12x8x18,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "matmul:6x4x8,batch=2,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "conv:4x7x7,out=6,kernel=1,stride=2,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "conv:4x8x8,out=6,kernel=3,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "gemv:24x30"};
    uint64_t rng = tw_test_seed();
    int n_fit = 0;
    for (int i = 0; i < 60; i++) {
        bench b;
        int64_t size = INT64_C(1) << tw_test_pick(&rng, 3, 10);
        open_bench(&b, spec[i % (int)TW_COUNT(spec)], size, i / 4 % 2 ? "declared" : "resident");
        memset(b.space.slides, 0, sizeof b.space.slides); /* what slides is bounded, not found */
        tw_part *part = draw_sizes(&b, &rng);
        int64_t closed = closed_of(&b, part);
        trial t = {.space = &b.space, .eval = tw_evaluator_eval(b.evaluator), .memory = 1, .least = INT64_MAX};
        try_part(&t, part);
        CHECK_EQ(closed, t.least);
        n_fit += t.least < INT64_MAX;
        close_bench(&b);
    }
    CHECK(n_fit > 20);
}

TEST(the_closed_form_is_not_above_what_slides)
{
    uint64_t rng = tw_test_seed();
    int n_equal = 0, n_fit = 0;
    for (int i = 0; i < 30; i++) {
        bench b;
        int64_t size = INT64_C(1) << tw_test_pick(&rng, 5, 10);
        open_bench(&b, "conv:4x8x8,out=6,kernel=3,dtype=i8,out_dtype=i8,accumulator=i8", size,
                   i % 2 ? "declared" : "resident");
        tw_part *part = draw_sizes(&b, &rng);
        int64_t closed = closed_of(&b, part);
        trial t = {.space = &b.space, .eval = tw_evaluator_eval(b.evaluator), .memory = 1, .least = INT64_MAX};
        try_part(&t, part);
        CHECK(closed <= t.least);
        n_fit += t.least < INT64_MAX;
        n_equal += t.least < INT64_MAX && closed == t.least;
        close_bench(&b);
    }
    print_message("%d of %d are attained\n", n_equal, n_fit);
    CHECK(n_fit > 5 && n_equal > 0);
}

TEST(what_is_completed_costs_what_the_closed_form_says)
{
    uint64_t rng = tw_test_seed();
    tw_goals goals = {.n = 1, .goal = {{TW_TRAFFIC, 1, -1}}};
    int n = 0;
    for (int i = 0; i < 40; i++) {
        bench b;
        tw_part *whole;
        open_bench(&b, "matmul:24x16x36,dtype=i8,out_dtype=i8,accumulator=i8",
                   INT64_C(1) << tw_test_pick(&rng, 4, 10), i % 2 ? "declared" : "resident");
        tw_part *part = draw_sizes(&b, &rng);
        int64_t closed = closed_of(&b, part);
        if (closed < INT64_MAX) {
            CHECK_EQ(tw_closed_complete(&b.space, &goals, part, &whole), TW_OK);
            CHECK(whole != NULL);
            trial t = {.space = &b.space, .eval = tw_evaluator_eval(b.evaluator), .memory = 1, .least = INT64_MAX};
            try_part(&t, whole);
            CHECK_EQ(t.n, 1);
            CHECK_EQ(t.least, closed);
            n++;
        }
        free(part);
        close_bench(&b);
    }
    CHECK(n > 10);
}

TEST(the_floor_of_a_product_is_attained)
{
    static const struct {
        const char *workload;
        int64_t size;
    } row[] = {{"matmul:4x4x4,dtype=i8,out_dtype=i8,accumulator=i8", 8},
               {"matmul:4x4x4,dtype=i8,out_dtype=i8,accumulator=i8", 12},
               {"matmul:4x6x3,dtype=i8,out_dtype=i8,accumulator=i8", 16},
               {"matmul:6x4x4,dtype=i8,out_dtype=i8,accumulator=i8", 24}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        bench b;
        bool empty;
        open_bench(&b, row[i].workload, row[i].size, "resident");
        tw_price price = tw_price_of_units(&b.space, 1, -1);
        int64_t floor = tw_floor_of(&b.space, 1, &price, 30000);
        trial t = {.space = &b.space, .eval = tw_evaluator_eval(b.evaluator), .memory = 1, .least = INT64_MAX};
        try_part(&t, tw_part_of_frame(&b.space, 0, &empty));
        CHECK(floor <= t.least);
        CHECK(floor * 100 >=
              t.least * 80); /* one level has one cut of each loop, a nest of any depth may do better */
        close_bench(&b);
    }
}
