/* test/plan/test_padding.c - operators with more padding than the engine takes: planned, executed, and read back. */
#include "plan/plan.h"
#include "tilewright/tilewright.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

static void machine_text(char *text, size_t n, const char *computes, const char *limit, int kib)
{
    snprintf(text, n,
             "machine: limited\nunit: byte\ntiming: async\nmemories:\n"
             "  - {name: dram, size: unlimited, energy: 60 pJ}\n"
             "  - {name: sram, size: %d KiB, align: 4, energy: 1 pJ}\nengines:\n"
             "  - {name: dma, between: [dram, sram], prefetch: all, cost: {latency: 20, per_cycle: 4}}\n"
             "  - {name: array, computes: [%s], memory: sram, %s energy: 0.1 pJ, cost: {array: [8, 8], "
             "latency: 5}}\n",
             kib, computes, limit);
}

static void workload_text(char *text, size_t n, uint64_t *random)
{
    static const char *const kind[] = {"conv", "dwconv", "pool"};
    int which = (int)tw_test_pick(random, 0, 2), kernel = (int)tw_test_pick(random, 2, 4);
    int dilation = which < 2 && tw_test_pick(random, 0, 1) ? 2 : 1, half = kernel / 2;
    int lo = half + (int)tw_test_pick(random, 0, 2), hi = half + (int)tw_test_pick(random, lo == half, 2);
    int most = (kernel - 1) * dilation; /* a window that is nothing but padding is another matter */
    char out[24] = "";
    lo = lo < most ? lo : most;
    hi = hi < most ? hi : most;
    if (which == 0) snprintf(out, sizeof out, ",out=%d", (int)tw_test_pick(random, 1, 9));
    snprintf(text, n, "%s:%dx%dx%d%s,kernel=%d,stride=%d,pad=%dx%dx%dx%d%s,dtype=i32", kind[which],
             (int)tw_test_pick(random, 1, 9), (int)tw_test_pick(random, 6, 12), (int)tw_test_pick(random, 6, 12),
             out, kernel, (int)tw_test_pick(random, 1, 2), lo, hi, hi, lo, dilation == 2 ? ",dilation=2" : "");
}

static tw_search_options options_of(void)
{
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.n_threads = 1;
    options.budget = 3000;
    options.groups = true;
    return options;
}

static void must_verify(tw_context *ctx, const tw_plan *plan)
{
    int n = plan->joint ? 1 : plan->model->n_ops;
    for (int i = 0; i < n; i++) {
        const tw_verdict *verdict = NULL;
        tw_status status = tw_plan_verify(ctx, plan, i, &(tw_verify_options){.seed = 3}, &verdict);
        for (int m = 0; m < tw_context_n_messages(ctx); m++) print_message("%s\n", tw_context_message(ctx, m));
        CHECK_EQ(status, TW_OK);
    }
}

/* What is written into a mapping file gives the same plan. */
static void must_read_back(tw_context *ctx, const tw_model *model, const tw_plan *plan)
{
    char *text = NULL;
    size_t n;
    const tw_mapping *mapping;
    const tw_plan *again;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_mapping(ctx, plan, out), TW_OK);
    fclose(out);
    CHECK_EQ(strstr(text, "materialise: [") != NULL, tw_plan_model(plan) != model);
    CHECK_EQ(tw_mapping_parse(ctx, model, plan->machine, "mapping.yaml", text, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, plan->machine, mapping, &again), TW_OK);
    CHECK_EQ(again->sum.cycles, plan->sum.cycles);
    CHECK_EQ(again->sum.energy_fj, plan->sum.energy_fj);
    free(text);
}

TEST(an_operator_with_too_much_padding_has_a_plan_that_reads_back)
{
    uint64_t random = tw_test_seed();
    int n_written = 0, n_cases = tw_test_rounds(16);
    for (int i = 0; i < n_cases; i++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_model *model;
        const tw_plan *plan;
        tw_search_options options = options_of();
        char text[1000], workload[200];
        workload_text(workload, sizeof workload, &random);
        machine_text(text, sizeof text, i % 2 ? "multiply-add, max, map" : "multiply-add, max",
                     "pad_limit: half-kernel,", (int)tw_test_pick(&random, 2, 8));
        print_message("case %d: %s\n", i, workload);
        CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "limited", text, &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
        must_verify(ctx, plan);
        must_read_back(ctx, model, plan);
        n_written += tw_plan_model(plan) != model;
        tw_context_free(ctx);
    }
    CHECK(n_written >= n_cases / 2);
}

/* Three convolutions, of which the second is dilated: with its padding written nothing more leaves the chip. */
TEST(a_group_writes_padding_tile_by_tile)
{
    static const char workload[] =
        "workload: three\nops:\n"
        "  - {name: a, op: conv, shape: [8, 20, 20], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
        "accumulator: i32, output: t}\n"
        "  - {name: b, op: conv, shape: [8, 20, 20], out: 8, kernel: 3, pad: 2, dilation: 2, dtype: i8, out_dtype: "
        "i8, accumulator: i32, inputs: {ifm: t}, output: u}\n"
        "  - {name: c, op: conv, shape: [8, 20, 20], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
        "accumulator: i32, inputs: {ifm: u}}\n";
    int64_t cycles[2];
    for (int limited = 0; limited < 2; limited++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_model *model;
        const tw_plan *plan;
        tw_search_options options = options_of();
        char text[1000];
        machine_text(text, sizeof text, "multiply-add, map", limited ? "pad_limit: half-kernel," : "", 8);
        CHECK_EQ(tw_model_parse(ctx, "w", workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "limited", text, &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
        must_verify(ctx, plan);
        must_read_back(ctx, model, plan);
        CHECK_EQ(plan->model->n_ops, limited ? 4 : 3);
        CHECK(plan->joint != NULL);
        cycles[limited] = plan->sum.cycles;
        tw_context_free(ctx);
    }
    CHECK(cycles[0] <= cycles[1]);           /* it is paid for, */
    CHECK(cycles[1] <= cycles[0] * 11 / 10); /* and on chip    */
    print_message("%d cycles, with padding written %d\n", (int)cycles[0], (int)cycles[1]);
}
