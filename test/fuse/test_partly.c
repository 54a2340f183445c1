/* test/fuse/test_partly.c - tensors that stay on chip in part: plans are verified on numbers, faster than what they began with, not below the bound, and their mappings say all of it.
 *
 *     TW_SEED=n TW_CASES=n    so many random chains */
#include "least_check.h"
#include "mapping/groups.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4000 };

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

static const tw_machine *machine_of(tw_context *ctx, int size, int rate)
{
    char text[ROOM] = "";
    const tw_machine *machine;
    add(text,
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited, energy: 15 pJ}\n"
        "  - {name: sram, size: %d, energy: 1 pJ}\nengines:\n"
        "  - {name: bus, between: [dram, sram], prefetch: all, cost: {latency: 0, per_cycle: %d}}\n"
        "  - {name: array, computes: [multiply-add, add, max, map], memory: sram, cost: {latency: 0, per_cycle: "
        "1024}}\n",
        size, rate);
    CHECK_EQ(tw_machine_parse(ctx, "m.yaml", text, &machine), TW_OK);
    return machine;
}

static void add_conv(char *text, int i, int c, int side, int out, int kernel)
{
    add(text,
        "  - {name: o%d, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: %d, dtype: i8, out_dtype: i8, "
        "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
        i, c, side, side, out, kernel, kernel / 2, i, i + 1);
}

static tw_status plan_of(tw_context *ctx, const tw_model *model, const tw_machine *machine, bool groups,
                         const tw_plan **out)
{
    static const tw_objective latency = {TW_CYCLES, NULL};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = &latency;
    options.n_objectives = 1;
    options.groups = groups;
    options.budget = 100000;
    return tw_plan_search(ctx, model, machine, &options, out);
}

static void check_numbers(tw_context *ctx, const tw_plan *plan)
{
    const tw_verdict *verdict;
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->equal);
    CHECK(least_holds(plan));
}

/* The mapping as it is written takes as long. */
static void check_written(tw_context *ctx, const tw_model *model, const tw_machine *machine, const tw_plan *plan)
{
    const tw_mapping *mapping;
    const tw_plan *again;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    CHECK_EQ(tw_plan_print_mapping(ctx, plan, file), TW_OK);
    fclose(file);
    CHECK(strstr(text, "divide:") != NULL && strstr(text, "resident:") != NULL);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "map.yaml", text, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &again), TW_OK);
    CHECK_EQ(again->sum.cycles, plan->sum.cycles);
    free(text);
}

/* Neither tensor nor weights of both fit: 50'176 bytes, twice 36'864, and 65'536 of memory. */
TEST(a_tensor_that_is_too_large_stays_in_part)
{
    tw_test_is_long();
    tw_context *ctx = tw_context_new();
    char text[ROOM] = "workload: w\nops:\n";
    const tw_model *model;
    const tw_plan *layers, *plan;
    add_conv(text, 0, 64, 28, 64, 3);
    add_conv(text, 1, 64, 28, 64, 3);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", text, &model), TW_OK);
    const tw_machine *machine = machine_of(ctx, 65536, 1);
    CHECK_EQ(plan_of(ctx, model, machine, false, &layers), TW_OK);
    CHECK_EQ(plan_of(ctx, model, machine, true, &plan), TW_OK);
    print_message("%d cycles layer by layer, %d in groups\n", (int)layers->sum.cycles, (int)plan->sum.cycles);
    CHECK(plan->model->n_divided > 0);
    CHECK((double)plan->sum.cycles < 0.95 * (double)layers->sum.cycles);
    check_numbers(ctx, plan);
    check_written(ctx, model, machine, plan);
    tw_context_free(ctx);
}

TEST(what_stays_in_part_is_what_operators_make_one_by_one)
{
    uint64_t random = tw_test_seed();
    const char *cases = getenv("TW_CASES");
    int n_cases = cases ? atoi(cases) : tw_test_rounds(30), n_parts = 0;
    for (int k = 0; k < n_cases; k++) {
        tw_context *ctx = tw_context_new();
        char text[ROOM] = "workload: w\nops:\n";
        const tw_model *model;
        const tw_plan *layers, *plan;
        int n = (int)tw_test_pick(&random, 2, 3), side = (int)tw_test_pick(&random, 7, 12);
        int c = 4 * (int)tw_test_pick(&random, 2, 6), bytes = 0;
        for (int i = 0; i < n; i++) {
            int out = 4 * (int)tw_test_pick(&random, 2, 6), kernel = tw_test_pick(&random, 0, 2) ? 3 : 1;
            add_conv(text, i, c, side, out, kernel);
            bytes = (int)tw_max(bytes, c * out * kernel * kernel + side * side * out);
            c = out;
        }
        CHECK_EQ(tw_model_parse(ctx, "w.yaml", text, &model), TW_OK);
        const tw_machine *machine = machine_of(ctx, bytes * (int)tw_test_pick(&random, 6, 12) / 10, 1);
        if (plan_of(ctx, model, machine, false, &layers) == TW_OK) {
            CHECK_EQ(plan_of(ctx, model, machine, true, &plan), TW_OK);
            CHECK(plan->sum.cycles <= layers->sum.cycles);
            check_numbers(ctx, plan);
            if (plan->model->n_divided > 0) check_written(ctx, model, machine, plan);
            n_parts += plan->model->n_divided > 0;
        }
        tw_context_free(ctx);
    }
    print_message("%d chains, a tensor stays in part in %d\n", n_cases, n_parts);
    CHECK(n_parts > 0 || n_cases < 10);
}
