/* test/search/test_queue.c - machines whose loads and stores share a queue: what the search finds against a grid of mappings.
 *
 * The grid knows nothing of estimates: sizes that divide, loops in any order, inputs kept for one tile or for as long as can be, some
 * buffers more than needed, each simulated. The search has the effort that a layer of a network has. */
#include "search/queue.h"

#include "plan/evaluate.h"
#include "tw_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define QUEUE                                                                                                    \
    "machine: one-queue\nunit: byte\ntiming: async\nmemories:\n"                                                 \
    "  - {name: dram, size: unlimited}\n  - {name: sram, size: 2228224}\nengines:\n"                             \
    "  - {name: port, between: [dram, sram], carries: both%s, cost: {latency: 0, per_cycle: 8}}\n"               \
    "  - {name: array, computes: [multiply-add], on: sram, accumulate: fused, unrolls: any, cost: {array: [32, " \
    "32]}}\n"

enum { GRID = 1000, N_LOOPS = 4 };
typedef struct layer {
    const char *spec;
    int64_t extent[N_LOOPS]; /* oc, ic, oy, ox */
} layer;
/* The layers of ResNet-18 with windows of 3x3. */
static const layer layers[] = {
    {"conv:64x56x56,out=64,kernel=3,pad=1,dtype=i8,out_dtype=i8", {64, 64, 56, 56}},
    {"conv:64x56x56,out=128,kernel=3,pad=1,stride=2,dtype=i8,out_dtype=i8", {128, 64, 28, 28}},
    {"conv:128x28x28,out=128,kernel=3,pad=1,dtype=i8,out_dtype=i8", {128, 128, 28, 28}},
    {"conv:128x28x28,out=256,kernel=3,pad=1,stride=2,dtype=i8,out_dtype=i8", {256, 128, 14, 14}},
    {"conv:256x14x14,out=256,kernel=3,pad=1,dtype=i8,out_dtype=i8", {256, 256, 14, 14}},
    {"conv:256x14x14,out=512,kernel=3,pad=1,stride=2,dtype=i8,out_dtype=i8", {512, 256, 7, 7}},
    {"conv:512x7x7,out=512,kernel=3,pad=1,dtype=i8,out_dtype=i8", {512, 512, 7, 7}},
};

/* A divisor of the extent at random, of channels no less than what fills the array. */
static int64_t size_of(uint64_t *rng, int64_t extent, int64_t least)
{
    int64_t size;
    do {
        size = extent >> tw_test_pick(rng, 0, 4);
        if (size > 1 && extent % 7 == 0 && tw_test_pick(rng, 0, 2) == 0) size = extent / 7;
    } while (size < least || extent % size != 0);
    return size;
}

static void grid_mapping(uint64_t *rng, const layer *of, char *text, size_t size)
{
    static const char *const loop[N_LOOPS] = {"oc", "ic", "oy", "ox"};
    int64_t len[N_LOOPS];
    int at[N_LOOPS] = {0, 1, 2, 3};
    for (int i = 0; i < N_LOOPS; i++) len[i] = size_of(rng, of->extent[i], i < 2 ? 32 : 1);
    for (int i = N_LOOPS - 1; i > 0; i--) {
        int k = (int)tw_test_pick(rng, 0, i), was = at[i];
        at[i] = at[k];
        at[k] = was;
    }
    snprintf(text, size,
             "mapping:\n  conv:\n    levels:\n"
             "      - {at: sram, sizes: {oc: %" PRId64 ", ic: %" PRId64 ", oy: %" PRId64 ", ox: %" PRId64
             "}, order: [%s, %s, %s, %s, ky, kx], keep: {ifm: %s, w: %s}, unroll: [oc, ic]}\n",
             len[0], len[1], len[2], len[3], loop[at[0]], loop[at[1]], loop[at[2]], loop[at[3]],
             tw_test_pick(rng, 0, 2) ? "all" : "tile", tw_test_pick(rng, 0, 2) ? "all" : "tile");
}

/* Adds buffers to what the mapping needs, as outlined. */
static void add_buffers(const tw_outline *outline, int more, tw_op_map *map)
{
    for (int o = 0; o < 3; o++) map->level[0].slots[o] = outline->needed[1][o] + more;
}

/* Cycles of the best of the grid. */
static int64_t best_of_grid(tw_context *ctx, const layer *of, const tw_model *model, const tw_machine *machine)
{
    uint64_t rng = tw_test_seed();
    tw_evaluator *evaluator = tw_evaluator_new(1);
    const tw_eval *eval = tw_evaluator_eval(evaluator);
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    const tw_problem problem = {model, 0, &here};
    int64_t best = INT64_MAX, ignored;
    for (int i = 0; i < tw_test_rounds(GRID); i++) {
        char text[400];
        const tw_mapping *mapping;
        tw_outline outline;
        tw_outcome outcome;
        grid_mapping(&rng, of, text, sizeof text);
        CHECK_EQ(tw_mapping_parse(ctx, model, machine, "grid", text, &mapping), TW_OK);
        tw_op_map map = mapping->op[0];
        if (eval->outline(eval->user[0], &problem, &map, &outline) != TW_OK) continue;
        for (int more = 0; more < 2; more++) {
            tw_meter meter = {.limit = 100000};
            add_buffers(&outline, more, &map);
            tw_status status = eval->cost(eval->user[0], &problem, &map, &meter, &outcome, &ignored);
            if (status == TW_OK && !meter.unfinished) best = tw_min(best, outcome.cycles);
        }
    }
    tw_evaluator_free(evaluator);
    return best;
}

static void search_beats_the_grid(const char *queue)
{
    char text[800];
    int n_worse = 0;
    snprintf(text, sizeof text, QUEUE, queue);
    for (size_t i = 0; i < TW_COUNT(layers); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_limits *limits;
        const tw_plan *plan;
        CHECK_EQ(tw_model_open(ctx, layers[i].spec, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
        CHECK_EQ(tw_limits_parse(ctx, model, machine, "limits",
                                 "mapping: {conv: {levels: [{at: sram, unroll: [oc, ic]}]}}\n", &limits),
                 TW_OK);
        tw_search_options options = {.space = TW_SPACE_WINDOWS,
                                     .gap = 0.0099,
                                     .budget = 1000000,
                                     .patience = 200000,
                                     .n_threads = 1,
                                     .limits = limits};
        CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
        int64_t found = tw_plan_search_result(plan, 0)->best, grid = best_of_grid(ctx, &layers[i], model, machine);
        if (found > grid)
            fprintf(stderr, "%s%s: found %" PRId64 ", the grid has %" PRId64 "\n", layers[i].spec, queue, found,
                    grid);
        n_worse += found > grid;
        tw_context_free(ctx);
    }
    CHECK_EQ(n_worse, 0);
}

TEST(no_mapping_of_a_grid_beats_the_search_where_loads_and_stores_share_a_queue)
{
    search_beats_the_grid(", prefetch: all");
}

TEST(nor_where_nothing_is_fetched_ahead) { search_beats_the_grid(""); }

/* Cycles with little work; `given`: a partial mapping, or a whole one. */
static int64_t found_with(const char *spec, const char *given)
{
    char text[800];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_limits *limits;
    const tw_plan *plan;
    snprintf(text, sizeof text, QUEUE, ", prefetch: all");
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
    CHECK_EQ(tw_limits_parse(ctx, model, machine, "limits", given, &limits), TW_OK);
    tw_search_options options = {.budget = 2000000, .n_threads = 1, .limits = limits};
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    int64_t cycles = tw_plan_summary(plan)->cycles;
    tw_context_free(ctx);
    return cycles;
}

/* A row at a time with a window that slides is best here: sums take four bytes each, so that whatever brings rows twice is slower. */
TEST(one_sweep_of_a_window_is_found_where_loads_and_stores_share_a_queue)
{
    static const char spec[] = "conv:64x56x56,out=64,kernel=3,pad=1,dtype=i8";
    int64_t rows =
        found_with(spec, "mapping: {conv: {levels: [{at: sram, sizes: {oy: 1}, tiles: {oc: 1, ox: 1, ic: 1, ky: 1, "
                         "kx: 1}, slide: {ifm: oy}, unroll: [oc, ic]}]}}\n");
    int64_t found = found_with(spec, "mapping: {conv: {levels: []}}\n");
    if (found > rows) fprintf(stderr, "found %" PRId64 ", rows take %" PRId64 "\n", found, rows);
    CHECK(found <= rows);
}
TEST(nor_with_several_queues) { search_beats_the_grid(", prefetch: all, count: 2"); }

/* ---- the queue itself ---- */

typedef struct command {
    int step, unit;
    double cycles;
    enum { LOAD, EXEC, STORE } kind;
} command;

/* What is left of something that these places make shorter where they stand on their last index. */
static double left_of(const tw_queue *q, double cycles, unsigned places)
{
    for (int p = 0; p < q->n_places; p++)
        if ((places >> p & 1) && q->rest[p] > 0) cycles *= q->rest[p];
    return cycles;
}

/* All commands of a nest, units told off in the order of steps; returns how many. */
static int commands_of(const tw_queue *q, command *out, int *n_steps)
{
    int n = 0, turn = 0, steps = 1;
    for (int p = 0; p < q->n_places; p++) steps *= (int)q->trips[p];
    for (int step = 0; step < steps; step++) {
        unsigned at_first = 0, at_last = 0;
        for (int p = q->n_places - 1, rest = step; p >= 0; p--) {
            int64_t index = rest % q->trips[p];
            rest /= (int)q->trips[p];
            at_first |= (unsigned)(index == 0) << p;
            at_last |= (unsigned)(index + 1 == q->trips[p]) << p;
        }
        for (int i = 0; i < q->n_inputs; i++)
            if ((q->first[i] & ~at_first) == 0)
                out[n++] =
                    (command){step, turn++ % q->units, left_of(q, q->load[i], at_last & q->shrinks[i]), LOAD};
        out[n++] = (command){step, 0, left_of(q, q->exec, at_last), EXEC};
        if (((1u << q->n_places) - 1) & ~q->output & ~at_last) continue;
        out[n++] = (command){step, turn++ % q->units, left_of(q, q->store, at_last & q->output), STORE};
    }
    *n_steps = steps;
    return n;
}

/* When the command is sent: with prefetch loads go with the step before them, and come first there. */
static int place_of(const tw_queue *q, const command *c)
{
    int step = q->prefetches && c->kind == LOAD && c->step > 0 ? c->step - 1 : c->step;
    return 2 * step + (q->prefetches && c->kind != LOAD ? 1 : 0);
}

/* Every command of every step, with buffers for all. */
static double played_slowly(const tw_queue *q)
{
    enum { MOST = 20000 };
    static command all[MOST];
    int n_steps, n = commands_of(q, all, &n_steps);
    double unit[TW_QUEUE_UNITS] = {0}, engine = 0, end = 0;
    for (int place = 0; place <= 2 * n_steps + 1; place++) {
        for (int i = 0; i < n; i++) {
            command *c = &all[i];
            if (place_of(q, c) != place) continue;
            double *at = &unit[c->unit];
            if (c->kind == EXEC) {
                double start = engine;
                for (int k = 0; k < n; k++) /* what came for this step */
                    if (all[k].kind == LOAD && all[k].step == c->step && all[k].cycles > start)
                        start = all[k].cycles;
                engine = start + c->cycles;
                end = engine > end ? engine : end;
                continue;
            }
            double ready = c->kind == STORE && engine > *at ? engine : *at;
            *at = ready + c->cycles;
            c->cycles = *at; /* from now on: when it ended */
            end = *at > end ? *at : end;
        }
    }
    return end;
}

TEST(a_queue_with_repetition_left_out_takes_as_long_as_all_of_it)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_part(300); i++) {
        tw_queue q = {.n_places = (int)tw_test_pick(&rng, 1, 3),
                      .exec = (double)tw_test_pick(&rng, 1, 100),
                      .store = (double)tw_test_pick(&rng, 1, 60),
                      .units = (int)tw_test_pick(&rng, 1, 2),
                      .prefetches = tw_test_pick(&rng, 0, 1),
                      .sums = TW_QUEUE_SUMS + 1,
                      .n_inputs = (int)tw_test_pick(&rng, 1, 2)};
        unsigned places = (1u << q.n_places) - 1;
        double steps = 1;
        for (int p = 0; p < q.n_places; p++) steps *= (double)(q.trips[p] = tw_test_pick(&rng, 2, 14));
        for (int p = 0; p < q.n_places && tw_test_pick(&rng, 0, 1); p++)
            q.rest[p] = (double)tw_test_pick(&rng, 0, 4) / 4;
        q.output = (unsigned)tw_test_pick(&rng, 1, places);
        for (int o = 0; o < q.n_inputs; o++) {
            q.load[o] = (double)tw_test_pick(&rng, 1, 100);
            q.shrinks[o] = (unsigned)tw_test_pick(&rng, 0, places);
            q.first[o] = (unsigned)tw_test_pick(&rng, 0, places) & (unsigned)tw_test_pick(&rng, 0, places);
        }
        double slow = played_slowly(&q), quick = tw_queue_cycles(&q, &(int64_t){0});
        bool rests = false;
        for (int p = 0; p < q.n_places; p++) rests |= q.rest[p] > 0 && q.rest[p] < 1;
        double off = steps <= 512 ? 1e-9 : rests ? 0.35 : 0.2; /* short ones are played to their end */
        if (quick < slow * (1 - off) || quick > slow * (1 + off))
            fprintf(stderr, "%d places, %d units, prefetch %d: %g instead of %g\n", q.n_places, q.units,
                    q.prefetches, quick, slow);
        CHECK(quick >= slow * (1 - off) && quick <= slow * (1 + off));
    }
}
