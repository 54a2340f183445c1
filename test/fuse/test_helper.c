/* test/fuse/test_helper.c - the second thread of a search over cores (fuse/helper.c, pthread_create): what it tiles ahead changes neither the plan nor any count. Small enough to run where threads
 * are watched. */
#include <tilewright/tilewright.h>

#include "fuse/hunt.h"
#include "tw_read.h"

static const char machine_text[] =
    "machine: cores\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
    "ports: [{name: ddr, memory: dram, per_cycle: 8, broadcast: true}]\ncores:\n"
    "  - name: a\n    memories: [{name: m, size: 1500}]\n    engines:\n"
    "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 8}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 2]}}\n"
    "  - name: b\n    memories: [{name: m, size: 1500}]\n    engines:\n"
    "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 8}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 2]}}\n"
    "  - name: c\n    memories: [{name: m, size: 900}]\n    engines:\n"
    "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 4}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [2, 2]}}\n";
/* Branches that alternate: the search has two orders of operators, each on a thread of its own. */
static const char workload_text[] = "workload: branches\nops:\n"
                                    "  - {name: left, op: conv, shape: [3, 9, 8], out: 4, kernel: 3, pad: 1, "
                                    "dtype: i8, out_dtype: i8, accumulator: i32, "
                                    "inputs: {ifm: t0}, output: t1}\n"
                                    "  - {name: right, op: conv, shape: [3, 9, 8], out: 4, kernel: 1, pad: 0, "
                                    "dtype: i8, out_dtype: i8, accumulator: "
                                    "i32, inputs: {ifm: t0}, output: t2}\n"
                                    "  - {name: left2, op: conv, shape: [4, 9, 8], out: 2, kernel: 3, pad: 1, "
                                    "dtype: i8, out_dtype: i8, accumulator: "
                                    "i32, inputs: {ifm: t1}, output: t3}\n"
                                    "  - {name: right2, op: conv, shape: [4, 9, 8], out: 2, kernel: 1, pad: 0, "
                                    "dtype: i8, out_dtype: i8, accumulator: "
                                    "i32, inputs: {ifm: t2}, output: t4}\n";

static double by_cycles(const void *user, double cycles, double energy_fj)
{
    (void)user, (void)energy_fj;
    return cycles;
}

TEST(two_threads_find_what_one_finds_and_count_as_much)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_cores_found found[3];
    tw_arena *scratch = tw_arena_new();
    CHECK_EQ(tw_read_model(&b, "workload", workload_text, &model), TW_OK);
    CHECK_EQ(tw_read_machine(&b, "machine", machine_text, &machine), TW_OK);
    for (int i = 0; i < 3; i++) {
        const tw_fuse_request asked = {
            .model = &model, .machine = &machine, .by = {by_cycles, NULL}, .n_threads = i + 1};
        CHECK_EQ(tw_cores_find(&asked, &(tw_work){b.arena, scratch, &b.diag}, &found[i]), TW_OK);
        CHECK_EQ(found[i].best.cycles, found[0].best.cycles);
        CHECK_EQ(found[i].best.energy_fj, found[0].best.energy_fj);
        CHECK_EQ(found[i].best.n_simulated, found[0].best.n_simulated);
        CHECK_EQ(found[i].n_commands, found[0].n_commands);
        CHECK_EQ(found[i].equal, found[0].equal);
        CHECK_EQ(found[i].best.mapping.n_groups, found[0].best.mapping.n_groups);
        for (int c = 0; c < 3; c++) CHECK_EQ(found[i].alone[c], found[0].alone[c]);
    }
    CHECK(found[0].best.n_simulated > 20);
    tw_arena_free(scratch);
    tw_bench_free(&b);
}

TEST(a_helper_that_is_asked_for_nothing_ends)
{
    for (int i = 0; i < 20; i++) {
        tw_arena *arena = tw_arena_new();
        const tw_fuse_request asked = {.n_threads = 2};
        const tw_platform platform = {.n_cores = 2};
        tw_diag diag = {0};
        tw_cores_found found = {0};
        tw_cores_hunt h = {.asked = &asked,
                           .platform = &platform,
                           .arena = arena,
                           .best = &found.best,
                           .out = &found,
                           .diag = &diag};
        CHECK_EQ(tw_helper_open(&h), TW_OK);
        CHECK(h.helper != NULL);
        tw_helper_forget(&h);
        tw_helper_close(&h);
        CHECK(h.helper == NULL);
        tw_arena_free(arena);
    }
}
