/* test/sim/test_notes.c - the configurations of the tiling notes with their corrected tick counts (models.md 1.8),
 * each through the built-in machines, as a user would give them, and each verified. */
#include "tw_test.h"

#include "cli/oracle.h"

#include <stdio.h>

#define ONE(map)    "mapping: {matmul: {levels: [{at: buffer, " map "}]}}"
#define DIRECT(map) "mapping: {matmul: {levels: [{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, " map "}]}}"

static const struct {
    const char *name, *workload, *machine, *mapping;
    int64_t slots, ticks; /* slots of the innermost memory */
} note[] = {
    {"L3-A", "matmul:128x128x512", "tick-100k", ONE("tiles: {m: 2, n: 2}, order: [n, m]"), 69632, 9},
    {"L3-B", "matmul:128x128x512", "tick-100k", ONE("tiles: {m: 5}, buffers: {ifm: 2, w: 1, ofm: 2}"), 98816, 7},
    {"L2-C", "matmul:26x128x512", "tick-50k", ONE("tiles: {n: 2}"), 47744, 5},
    {"L2-D", "matmul:26x128x512", "tick-50k", ONE("tiles: {n: 4}, buffers: {w: 2, ofm: 2}"), 47744, 6},
    {"L2-E", "matmul:26x128x512", "tick-50k", ONE("tiles: {k: 2}, buffers: {ofm: 3}, accumulate: separate"), 49408,
     6},
    {"L1-3x7", "matmul:26x64x512", "tick-10k", ONE("tiles: {m: 3, n: 7}"), 9818, 43},
    {"L1-2x11", "matmul:26x64x512", "tick-10k", ONE("tiles: {m: 2, n: 11}"), 9806, 45},
    {"L1-G", "matmul:26x64x512", "tick-10k", ONE("tiles: {k: 10}, buffers: {ofm: 3}, accumulate: separate"), 9672,
     22},
    {"L1-H", "matmul:26x64x512", "tick-10k",
     ONE("tiles: {k: 29}, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate"), 9896, 32},
    {"L1-I", "matmul:26x64x512", "tick-10k",
     ONE("tiles: {n: 2, k: 9}, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate"), 9940, 21},
    {"L3-B over L2-C over L1-I", "matmul:128x128x512", "tick-three-level",
     "mapping: {matmul: {levels: [{at: l3, tiles: {m: 5}, buffers: {ifm: 2, w: 1, ofm: 2}, accumulate: separate}, "
     "{at: l2, tiles: {n: 2}, accumulate: separate}, "
     "{at: l1, tiles: {n: 2, k: 9}, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate}]}}",
     9940, 227},
    {"direct-J", "matmul:128x128x512", "tick-three-level", DIRECT("tiles: {m: 15, n: 15}, cut: greedy"), 9297, 455},
    {"direct-K", "matmul:128x128x512", "tick-three-level",
     DIRECT("tiles: {m: 32, n: 32}, buffers: {ifm: 2, w: 2, ofm: 2}"), 8224, 1030},
    {"direct-L", "matmul:128x128x512", "tick-three-level",
     DIRECT("tiles: {m: 4, n: 4, k: 12}, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate"), 9600, 199},
};

TEST(the_plans_of_the_tiling_notes_take_their_corrected_ticks_and_are_right)
{
    for (size_t i = 0; i < TW_COUNT(note); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *mapping;
        const tw_plan *plan;
        const tw_verdict *verdict;
        tw_verify_options options = {.reference = tw_oracle_reference, .seed = i};
        print_message("%s\n", note[i].name);
        CHECK_EQ(tw_model_open(ctx, note[i].workload, &model), TW_OK);
        CHECK_EQ(tw_machine_open(ctx, note[i].machine, &machine), TW_OK);
        CHECK_EQ(tw_mapping_parse(ctx, model, machine, "mapping", note[i].mapping, &mapping), TW_OK);
        CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
        CHECK_EQ(tw_plan_summary(plan)->ticks, note[i].ticks);
        CHECK_EQ(tw_plan_memory_use(plan, 0, tw_plan_n_memories(plan) - 1)->static_units, note[i].slots);
        CHECK_EQ(tw_plan_verify(ctx, plan, 0, &options, &verdict), TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
        tw_context_free(ctx);
    }
}
