/* test/search/test_rim.c - moves that pad, on a machine whose mover does them alone: the zeros that it fills in are bounded.
 *
 * Random moves of up to two loops, with zeros before, behind or between; every tiling and every choice of buffers is simulated, and
 * what the search proves has to be the least, and no root bound above it. Where the output is kept whole, tiles that are nothing but zeros
 * are paid for with its store. */
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

enum { CASES = 60, TEXT = 1200 };

/* b[d0, d1] = a[c0 d0 + o0, c1 d1 + o1], zeros where that is none of a's. */
static void print_move(uint64_t *rng, char text[TEXT])
{
    int64_t n[2] = {tw_test_pick(rng, 2, 9), tw_test_pick(rng, 1, 5)}, from[2], coef[2], extent[2];
    for (int i = 0; i < 2; i++) {
        coef[i] = tw_test_pick(rng, 0, 4) == 0 ? 2 : 1;
        from[i] = tw_test_pick(rng, 0, 3) - 2;
        extent[i] = tw_test_pick(rng, 1, n[i] + 1);
        if (from[i] >= extent[i]) from[i] = extent[i] - 1;
    }
    snprintf(text, TEXT,
             "workload: move\ntensors:\n"
             "  - {name: a, dtype: f32, shape: [%" PRId64 ", %" PRId64 "]}\n"
             "  - {name: b, dtype: f32, shape: [%" PRId64 ", %" PRId64 "]}\n"
             "ops:\n  - name: move\n    compute: map\n    loops: {d0: %" PRId64 ", d1: %" PRId64 "}\n"
             "    reduce: []\n    value: \"ifm * 1\"\n"
             "    reads: {ifm: {tensor: a, at: [%" PRId64 "*d0%+" PRId64 ", %" PRId64 "*d1%+" PRId64 "]}}\n"
             "    writes: {ofm: {tensor: b, at: [d0, d1]}}\n",
             extent[0], extent[1], n[0], n[1], n[0], n[1], coef[0], from[0], coef[1], from[1]);
}

static void print_machine(uint64_t *rng, char text[TEXT])
{
    snprintf(text, TEXT,
             "machine: mover\nunit: byte\ntiming: async\nlaunch: %d\nmemories:\n  - {name: l3, size: unlimited}\n"
             "  - {name: l1, size: %d, align: %d%s}\nengines:\n"
             "  - {name: dma, between: [l3, l1], strided: true, %scost: {setup: %d.%d, row_least: %d, beat: %d, "
             "fill: %d.%d}}\n"
             "  - {name: cores, computes: [map], memory: l1, cost: {cores: 2, per_point: 20}}\n",
             (int)tw_test_pick(rng, 0, 20), (int)(16 * tw_test_pick(rng, 1, 24)), tw_test_pick(rng, 0, 1) ? 8 : 1,
             tw_test_pick(rng, 0, 1) ? ", whole: true" : "", tw_test_pick(rng, 0, 1) ? "prefetch: innermost, " : "",
             (int)tw_test_pick(rng, 0, 9), (int)tw_test_pick(rng, 0, 9), (int)tw_test_pick(rng, 0, 3),
             (int)(4 << tw_test_pick(rng, 0, 3)), (int)tw_test_pick(rng, 0, 20), (int)tw_test_pick(rng, 0, 9));
}

/* *arranged: the mover does it alone. */
static tw_status search(const char *move, const char *on, bool exhaustive, tw_search_result *out, bool *arranged)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.prove = true, .exhaustive = exhaustive, .max_buffers = 2, .n_threads = 1};
    CHECK_EQ(tw_model_parse(ctx, "move", move, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", on, &machine), TW_OK);
    tw_status status = tw_plan_search(ctx, model, machine, &options, &plan);
    if (status == TW_OK) *out = *tw_plan_search_result(plan, 0);
    if (status == TW_OK) *arranged = plan->op[0].program.machine->arranged;
    tw_context_free(ctx);
    return status;
}

TEST(what_is_proven_of_moves_that_pad_is_the_least)
{
    uint64_t rng = tw_test_seed();
    int n_arranged = 0;
    for (int i = 0; i < tw_test_rounds(CASES); i++) {
        char move[TEXT], on[TEXT];
        tw_search_result every = {0}, proven = {0};
        bool arranged = false;
        print_move(&rng, move);
        print_machine(&rng, on);
        tw_status status = search(move, on, true, &every, &arranged);
        CHECK_EQ(search(move, on, false, &proven, &arranged), status);
        n_arranged += arranged;
        bool right = status != TW_OK ||
                     (proven.proven && proven.best == every.best && proven.root_bound <= (double)every.best);
        if (!right)
            printf("case %d: %" PRId64 ", every mapping %" PRId64 ", root %.0f\n%s%s", i, proven.best, every.best,
                   proven.root_bound, move, on);
        CHECK(right);
    }
    CHECK(n_arranged > 0);
}
