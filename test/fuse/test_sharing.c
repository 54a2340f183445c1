/* test/fuse/test_sharing.c - pipelines some of whose stages several cores share: what is found is right, and what a simple hand makes of it. TW_CASES says how many cases. */
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 6000 };

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

static const tw_plan *find_plan(tw_context *ctx, const char *machine_text, const char *workload, int threads)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan = NULL;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.groups = true;
    options.n_threads = threads;
    CHECK_EQ(tw_model_parse(ctx, "workload", workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
    return tw_plan_search(ctx, model, machine, &options, &plan) == TW_OK ? plan : NULL;
}

static char *mapping_of(tw_context *ctx, const tw_plan *plan)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    CHECK_EQ(tw_plan_print_mapping(ctx, plan, out), TW_OK);
    fclose(out);
    return text;
}

static bool is_verified(tw_context *ctx, const tw_plan *plan)
{
    tw_verify_options options = TW_VERIFY_OPTIONS_INIT;
    const tw_verdict *v;
    if (tw_plan_verify(ctx, plan, -1, &options, &v) != TW_OK) return false;
    if (v->first_fault) fprintf(stderr, "%s\n", v->first_fault);
    return v->checked && v->executed && v->equal;
}

/* Cores in a row behind a slow DRAM. */
static void write_machine(char *text, int n_cores, int size, int rows, int columns, int rate)
{
    *text = 0;
    add(text,
        "machine: row\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: %d, broadcast: true}]\ncores:\n  - name: c\n    grid: [%d]\n"
        "    links: {name: noc, memory: m, cost: {latency: 2, per_cycle: 8}}\n    memories: [{name: m, size: %d}]\n"
        "    engines:\n      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [%d, %d]}}\n",
        rate, n_cores, size, rows, columns);
}

/* conv a has twice the work of b, and the weights of both are more than a core holds: a is shared by two cores in channels, and b runs on the one between them. Nothing is computed twice, and
 * what passes the DRAM is what must. Each core alone, splits, and pipelines of a core for each stage take half as long again at least. */
TEST(the_stage_with_twice_the_work_has_two_cores)
{
    static const char workload[] = "workload: two\nops:\n"
                                   "  - {name: a, op: conv, shape: [32, 24, 24], out: 64, kernel: 3, pad: 1, "
                                   "dtype: i8, out_dtype: i8, accumulator: i32, output: x}\n"
                                   "  - {name: b, op: conv, shape: [64, 24, 24], out: 16, kernel: 3, pad: 1, "
                                   "dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: x}, output: y}\n";
    char machine[ROOM];
    tw_context *ctx = tw_context_new();
    write_machine(machine, 3, 22 * 1024, 16, 8, 1);
    const tw_plan *plan = find_plan(ctx, machine, workload, 1);
    CHECK(plan != NULL);
    if (plan) {
        char *text = mapping_of(ctx, plan);
        CHECK(is_verified(ctx, plan));
        CHECK(tw_plan_summary(plan)->cycles <= 73000); /* 131'088 without; 110'786 with 26 KiB */
        CHECK(strstr(text, "divide: {a: {oc:") != NULL);
        CHECK(strstr(text, "engines: {a.part0: c_0.mac, a.part1: c_2.mac, b: c_1.mac}") != NULL);
        int64_t dram = 0;
        for (int e = 0; e < tw_plan_n_engines(plan); e++) {
            const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
            if (!strstr(use->engine, "noc")) dram += use->load_units + use->store_units;
        }
        CHECK_EQ(dram, 2 * 32 * 24 * 24 + 16 * 24 * 24 +
                           9 * (32 * 64 + 64 * 16)); /* both load the input; the bus carries it once */
        free(text);
    }
    tw_context_free(ctx);
}

/* Whether some group runs parts of an operator on several cores. */
static bool shares_stages(const char *mapping)
{
    const char *ops = mapping;
    while ((ops = strstr(ops, "ops: ["))) {
        const char *part = strstr(ops, ".part1"), *end = strchr(ops, ']');
        if (part && end && part < end && strstr(ops, ".part0") < part) return true;
        ops++;
    }
    return false;
}

TEST(random_chains_on_rows_of_cores_are_planned_right_and_alike_for_any_number_of_threads)
{
    uint64_t seed = tw_test_seed();
    int n_cases = getenv("TW_CASES") ? atoi(getenv("TW_CASES")) : 5, n_planned = 0, n_shared = 0, n_parts = 0;
    for (int i = 0; i < n_cases; i++) {
        uint64_t random = seed + (uint64_t)i * UINT64_C(0x632be59bd9b4e019);
        char machine[ROOM], workload[ROOM] = "workload: chain\nops:\n";
        int n_ops = (int)tw_test_pick(&random, 2, 4), channels = (int)tw_test_pick(&random, 4, 24),
            rows = (int)tw_test_pick(&random, 6, 16);
        for (int k = 0; k < n_ops; k++) {
            int out = (int)tw_test_pick(&random, 4, 32), taps = tw_test_pick(&random, 0, 2) ? 3 : 1;
            add(workload,
                "  - {name: o%d, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: %d, dtype: i8, "
                "out_dtype: i8, "
                "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
                k, channels, rows, rows, out, taps, taps / 2, k, k + 1);
            channels = out;
        }
        write_machine(machine, (int)tw_test_pick(&random, 3, 5), (int)tw_test_pick(&random, 3000, 12000),
                      1 << tw_test_pick(&random, 1, 3), 1 << tw_test_pick(&random, 1, 3),
                      (int)tw_test_pick(&random, 1, 4));
        tw_context *ctx = tw_context_new();
        const tw_plan *plan = find_plan(ctx, machine, workload, 1), *again = find_plan(ctx, machine, workload, 3);
        CHECK_EQ(plan == NULL, again == NULL);
        if (plan && again) {
            char *one = mapping_of(ctx, plan), *three = mapping_of(ctx, again);
            bool right = is_verified(ctx, plan);
            CHECK_STR(one, three);
            if (!right) fprintf(stderr, "case %d\n%s%s%s", i, machine, workload, one);
            CHECK(right);
            n_planned++;
            n_shared += shares_stages(one);
            n_parts += shares_stages(one) && strstr(one, "part:") != NULL;
            free(one);
            free(three);
        }
        tw_context_free(ctx);
    }
    fprintf(stderr, "%d of %d planned, %d with shared stages, %d of them in parts\n", n_planned, n_cases, n_shared,
            n_parts);
    CHECK(n_planned > n_cases / 2);
}
