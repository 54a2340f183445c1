/* test/program/test_arrays.c - passes over arrays of any number of dimensions, several loops over one of them included. */
#include "mapping/mapping.h"
#include "tw_read.h"
#include "tw_test.h"

#include <tilewright/tilewright.h>

static const char array_machine[] =
    "machine: cube\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited}\n"
    "  - {name: sram, size: 64 KiB, holds: [activations, output]}\n"
    "  - {name: registers, size: 16 KiB}\n"
    "engines:\n"
    "  - {name: dma, between: [dram, sram], carries: both, cost: {latency: 20, per_cycle: 16}}\n"
    "  - {name: feed, between: [sram, registers], carries: both, cost: {latency: 2, per_cycle: 32}}\n"
    "  - {name: stream, between: [dram, registers], carries: in, cost: {latency: 20, per_cycle: 8}}\n"
    "  - {name: mac, computes: multiply-add, memory: registers, cost: {array: {rows: 4, columns: 6, depth: 2}}}\n";

/* The same with an operand that stays in place. */
static const char stays_machine[] =
    "machine: stays\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: "
    "unlimited}]\n"
    "engines:\n  - {name: dma, between: [dram, l1], cost: {latency: 0, per_cycle: 8}}\n"
    "  - {name: mac, computes: multiply-add, memory: l1, cost: {array: [16, 16], latency: 3, stationary: %s, "
    "block_least: "
    "16}}\n";

/* Cycles of all executions of a matmul whose loops n and k lie over the array. */
static int64_t stays_for(const char *what, const char *shape, const char *tiles)
{
    char machine_text[600], mapping[200];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *map;
    const tw_plan *plan;
    const tw_verdict *verdict;
    snprintf(machine_text, sizeof machine_text, stays_machine, what);
    snprintf(mapping, sizeof mapping, "mapping: {matmul: {levels: [{at: l1, tiles: {%s}, unroll: [n, k]}]}}\n",
             tiles);
    CHECK_EQ(tw_model_open(ctx, shape, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "stays", machine_text, &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "map", mapping, &map), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, map, &plan), TW_OK);
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && !verdict->first_fault);
    int64_t cycles = tw_plan_engine_use(plan, 0, 1)->busy_cycles;
    tw_context_free(ctx);
    return cycles;
}

TEST(a_block_that_stays_in_place_takes_its_cycles_however_little_streams_past)
{
    static const char small[] = "matmul:8x32x40,dtype=i8", large[] = "matmul:20x32x40,dtype=i8";
    CHECK_EQ(stays_for("weights", small, "m: 1"), 3 + (2 * 3) * 16); /* n 2, k 3 blocks; 8 would stream */
    CHECK_EQ(stays_for("weights", large, "m: 1"), 3 + (2 * 3) * 20);
    CHECK_EQ(stays_for("weights", large, "m: 2"), 2 * (3 + (2 * 3) * 16)); /* each half has all blocks again */
    CHECK_EQ(stays_for("weights", small, "n: 4"), 4 * (3 + (1 * 3) * 16)); /* 8 of 16 rows are a block, too */
    CHECK_EQ(stays_for("activations", small, "m: 1"), 3 + (8 * 3) * 16);   /* m 8, k 3; 2 would stream */
    CHECK_EQ(stays_for("output", small, "m: 1"), 3 + (8 * 2) * 16);        /* m 8, n 2; 3 would stream */
}

/* Cycles of the one execution of a convolution with these loops over the array. */
static int64_t cycles_of(const char *unroll)
{
    char mapping[400];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *map;
    const tw_plan *plan;
    const tw_verdict *verdict;
    snprintf(mapping, sizeof mapping,
             "mapping: {conv: {levels: [{at: sram, pass: true}, {at: registers, tiles: {oc: 1}%s%s}]}}\n",
             *unroll ? ", unroll: " : "", unroll);
    CHECK_EQ(tw_model_open(ctx, "conv:4x5x5,out=8,kernel=3,dtype=i8", &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "cube", array_machine, &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "map", mapping, &map), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, map, &plan), TW_OK);
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
    int64_t cycles = 0;
    for (int i = 0; i < tw_plan_n_engines(plan); i++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, i);
        if (strcmp(use->engine, "mac") == 0) cycles = use->busy_cycles;
    }
    tw_context_free(ctx);
    return cycles;
}

/* oc 8, oy 3, ox 3 | ic 4, ky 3, kx 3: 2'592 points. */
TEST(every_dimension_divides_what_lies_over_it)
{
    CHECK_EQ(cycles_of("{rows: oc, columns: [oy, ox], depth: ic}"), (8 / 4) * 2 * (4 / 2) * 9); /* 9 over 6 are 2 */
    CHECK_EQ(cycles_of("{rows: oc, columns: oy, depth: ic}"), 2 * 1 * 2 * 3 * 9);
    CHECK_EQ(cycles_of("{depth: [ic, ky, kx]}"), 8 * 9 * 18);
    CHECK_EQ(cycles_of("{rows: [oc, oy, ox], columns: [ic, ky, kx]}"), 18 * 6);
    CHECK_EQ(cycles_of("[oc, oy, ox]"), 2 * 1 * 2 * 36);
    CHECK_EQ(cycles_of(""), 2 * 1 * 2 * 36); /* the longest parallel loops */
}

TEST(a_loop_is_divided_over_several_dimensions)
{
    CHECK_EQ(cycles_of("{rows: [oc/2, oy], columns: oc}"), 2 * 1 * 3 * 36); /* 2 x 3 over 4, and 4 over 6 */
    CHECK_EQ(cycles_of("{columns: oc, rows: [oy, oc/2]}"), 2 * 1 * 3 * 36);
    CHECK_EQ(cycles_of("{rows: oc/3, columns: oc}"), 9 * 36);     /* three groups, the last of two points */
    CHECK_EQ(cycles_of("{rows: oc/7, columns: oc}"), 2 * 9 * 36); /* 7 over 4, and 2 */
    CHECK_EQ(cycles_of("{columns: oc/7, rows: oc}"), 2 * 9 * 36); /* 7 over 6, and 2 over 4 */
    CHECK_EQ(cycles_of("{rows: oc/2}"), 4 * 9 * 36);              /* the pairs one after the other */
    CHECK_EQ(cycles_of("{rows: oc/2, columns: oc/2, depth: oc}"), 9 * 36);
    CHECK_EQ(cycles_of("{rows: oc/2, columns: oc/3, depth: oc}"), 9 * 36); /* 2, 3 and 2 groups of 6 */
    CHECK_EQ(cycles_of("{columns: oc/3, depth: oc/2}"), 2 * 9 * 36);       /* and 2 after each other */
    CHECK_EQ(cycles_of("{rows: ic/2, columns: [ic, ky, kx]}"), 3 * 8 * 9); /* 2 over 4, 18 over 6 */
}
