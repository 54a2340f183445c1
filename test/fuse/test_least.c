/* test/fuse/test_least.c - what no plan can be below, by hand. */
#include "fuse/least.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>

/* Loads and stores have movers of their own, a byte a cycle each. */
static const char machine_text[] =
    "machine: m\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited}\n  - {name: sram, size: %d}\nengines:\n"
    "  - {name: in, between: [dram, sram], carries: in, cost: {latency: 0, per_cycle: 1}}\n"
    "  - {name: out, between: [dram, sram], carries: out, cost: {latency: 0, per_cycle: 1}}\n"
    "  - {name: mac, computes: [multiply-add, max], memory: sram, cost: {array: [8, 8]}}\n";

#define I8 "dtype: i8, out_dtype: i8, accumulator: i32"
/* Two convolutions of 11'664 and 9'216 cycles, a maximum of 64 over what they make, and two products of it, with 256 and 32'768 weights. */
static const char head[] =
    "workload: w\nops:\n"
    "  - {name: a, op: conv, shape: [16, 20, 20], out: 16, kernel: 3, " I8 ", output: t0}\n"
    "  - {name: b, op: conv, shape: [16, 18, 18], out: 16, kernel: 3, " I8 ", inputs: {ifm: t0}, output: t1}\n"
    "  - {name: p, op: pool, shape: [16, 16, 16], kernel: 16, dtype: i8, inputs: {ifm: t1}, output: t2}\n"
    "  - {name: c, op: conv, shape: [16, 1, 1], out: 16, kernel: 1, " I8 ", inputs: {ifm: t2}, output: t3}\n"
    "  - {name: d, op: conv, shape: [16, 1, 1], out: 2048, kernel: 1, " I8 ", inputs: {ifm: t3}}\n";

static tw_least least_of(tw_context *ctx, const char *workload, int size, const tw_plan **plan)
{
    const tw_model *model;
    const tw_machine *machine;
    char text[1000];
    tw_least least = {0};
    tw_arena *scratch = tw_arena_new();
    snprintf(text, sizeof text, machine_text, size);
    CHECK_EQ(tw_machine_parse(ctx, "m.yaml", text, &machine), TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", workload, &model), TW_OK);
    CHECK_EQ(tw_least_of(model, machine, scratch, &least), TW_OK);
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.n_threads = 1;
    options.budget = 2000;
    options.groups = true;
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, plan), TW_OK);
    CHECK(least.cycles <= (*plan)->sum.cycles);
    tw_arena_free(scratch);
    return least;
}

/* No weight of d is done before a whole channel of c, so before all of p, b and a: 20'944 cycles, when all but what fits of 32'768 weights is still to come. */
TEST(weights_come_no_further_ahead_than_there_is_room)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    tw_least least = least_of(ctx, head, 8192, &plan);
    CHECK(least.waits);
    CHECK_EQ(least.cycles, 20944 + 32768 - 8192);
    print_message("bound %d, planned %d\n", (int)least.cycles, (int)plan->sum.cycles);
    least = least_of(ctx, head, 32768, &plan); /* with that much room what has to be loaded takes longer */
    CHECK(!least.waits);
    CHECK_EQ(least.cycles, 6400 + 2 * 2304 + 256 + 32768);
    tw_context_free(ctx);
}

/* Of three rows of the kernel two meet nothing but padding: neither they nor their weights are needed. */
TEST(taps_that_are_always_padding_are_not_loaded)
{
    static const char row[] =
        "workload: w\nops:\n"
        "  - {name: a, op: conv, shape: [4, 1, 40], out: 4, kernel: [3, 1], pad: [1, 0], " I8 ", output: t0}\n"
        "  - {name: b, op: conv, shape: [4, 1, 40], out: 4, kernel: 1, " I8 ", inputs: {ifm: t0}}\n";
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    tw_least least = least_of(ctx, row, 8192, &plan);
    CHECK_EQ(least.cycles, 160 + 16 + 16);
    tw_context_free(ctx);
}
