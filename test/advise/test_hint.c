/* test/advise/test_hint.c - advice of the first screen, followed: machine and mapping of each are evaluated, and give what it promised. */
#include "tw_test.h"

#include "tilewright/tilewright.h"

#include <string.h>

static const char bus[] =
    "{machine: bus, unit: byte, timing: async, memories: [{name: dram, size: unlimited, energy: 15.6 pJ}, "
    "{name: sram, size: 12 KiB, energy: 0.33 pJ}], engines: [{name: bus, between: [dram, sram], carries: both, "
    "prefetch: all, cost: {latency: 0, per_cycle: 4}}, {name: array, computes: [multiply-add, add], on: sram, "
    "energy: 0.04 pJ, cost: {array: [64, 16]}}]}";
static const char chain[] =
    "{workload: chain, ops: ["
    "{name: a, op: conv, shape: [3, 28, 28], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: "
    "i32, "
    "output: x}, {name: b, op: conv, shape: [8, 28, 28], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
    "accumulator: i32, inputs: {ifm: x}, output: y}]}";

typedef struct question {
    const char *workload, *machine;
} question;
static const question asked[] = {{"matmul:64x64x64,dtype=i8", "kpu"},
                                 {"matmul:96x40x24,dtype=i8", "gemmini-like"},
                                 {"conv:3x28x28,out=8,kernel=3,pad=1,dtype=i8", "npu-like"},
                                 {"matmul:24x16x16", "tick-costed"},
                                 {chain, bus}};

static const tw_plan *plan_of(tw_context *ctx, const question *q, tw_search_options *options,
                              const tw_model **model, const tw_machine **machine)
{
    const tw_plan *plan;
    bool text = *q->workload == '{';
    CHECK_EQ(text ? tw_model_parse(ctx, "w", q->workload, model) : tw_model_open(ctx, q->workload, model), TW_OK);
    CHECK_EQ(text ? tw_machine_parse(ctx, "m", q->machine, machine) : tw_machine_open(ctx, q->machine, machine),
             TW_OK);
    *options = (tw_search_options){.size = sizeof *options, .budget = 2000, .n_threads = 1, .groups = true};
    CHECK_EQ(tw_plan_search(ctx, *model, *machine, options, &plan), TW_OK);
    return plan;
}

static void follow(tw_context *ctx, const tw_model *model, const tw_machine *machine, const tw_remedy *hint)
{
    const tw_plan *plan;
    CHECK(hint->feasible && hint->gain >= 0.01 && hint->mapping);
    CHECK_EQ(tw_plan_eval(ctx, model, hint->machine ? hint->machine : machine, hint->mapping, &plan), TW_OK);
    CHECK_EQ((int64_t)hint->value, tw_plan_summary(plan)->cycles);
}

TEST(every_hint_gives_what_it_promises)
{
    int n_all = 0;
    for (size_t i = 0; i < TW_COUNT(asked); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_remedy *hint;
        tw_search_options options;
        int n;
        const tw_plan *plan = plan_of(ctx, &asked[i], &options, &model, &machine);
        CHECK_EQ(tw_plan_hints(ctx, plan, &options, &hint, &n), TW_OK);
        CHECK(hint && n <= 3);
        for (int k = 0; k < n; k++) {
            follow(ctx, model, machine, &hint[k]);
            if (k > 0) CHECK(hint[k - 1].gain >= hint[k].gain);
        }
        if (asked[i].workload == chain) CHECK(tw_plan_n_groups(plan) > 0 && n > 0);
        n_all += n;
        tw_context_free(ctx);
    }
    CHECK(n_all >= 5);
}

TEST(a_plan_that_takes_long_to_simulate_gets_none)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_remedy *hint;
    tw_search_options options;
    int n;
    const question q = {"matmul:2048x2048x2048,dtype=i8", "kpu"};
    const tw_plan *plan = plan_of(ctx, &q, &options, &model, &machine);
    CHECK(tw_plan_summary(plan)->instructions > 75000);
    CHECK_EQ(tw_plan_hints(ctx, plan, &options, &hint, &n), TW_OK);
    CHECK(!hint && n == 0);
    tw_context_free(ctx);
}
