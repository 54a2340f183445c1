/* test/fuse/test_growth.c - what a search over cores costs: commands that are simulated, which unlike seconds are the same everywhere, grow with the layers and not with their square. */
#include "fuse/cores.h"
#include "tw_read.h"

#include <stdio.h>

enum { ROOM = 16384 };

static double by_cycles(const void *user, double cycles, double energy_fj)
{
    (void)user, (void)energy_fj;
    return cycles;
}

static void write_mesh(int side, char *text)
{
    snprintf(text, ROOM,
             "machine: mesh\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
             "ports: [{name: ddr, memory: dram, ways: 4, per_cycle: 16, broadcast: true}]\ncores:\n  - name: c\n"
             "    grid: [%d, %d]\n    links: {name: noc, memory: m, cost: {latency: 4, per_cycle: 16}}\n"
             "    memories: [{name: m, size: 12 KiB}]\n    engines:\n"
             "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 40, per_cycle: 16}}\n"
             "      - {name: mac, computes: multiply-add, memory: m, cost: {array: {rows: 8, columns: 8}}}\n",
             side, side);
}

static void write_chain(int layers, char *text)
{
    int n = snprintf(text, ROOM, "workload: chain\nops:\n");
    for (int i = 0; i < layers; i++)
        n += snprintf(text + n, (size_t)(ROOM - n),
                      "  - {name: o%d, op: conv, shape: [16, 8, 8], out: 16, kernel: 3, pad: 1, dtype: i8, "
                      "out_dtype: i8, accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
                      i, i, i + 1);
}

/* Commands that were simulated for a chain of so many layers on side x side cores, for each of the layers. */
static double commands_of(int side, int layers)
{
    static char text[ROOM];
    tw_bench b = tw_bench_new();
    tw_arena *scratch = tw_arena_new();
    tw_model model;
    tw_machine machine;
    tw_cores_found found;
    write_chain(layers, text);
    CHECK_EQ(tw_read_model(&b, "workload", text, &model), TW_OK);
    write_mesh(side, text);
    CHECK_EQ(tw_read_machine(&b, "machine", text, &machine), TW_OK);
    const tw_fuse_request asked = {.model = &model, .machine = &machine, .by = {by_cycles, NULL}};
    CHECK_EQ(tw_cores_find(&asked, &(tw_work){b.arena, scratch, &b.diag}, &found), TW_OK);
    tw_arena_free(scratch);
    tw_bench_free(&b);
    return (double)found.n_commands / layers;
}

TEST(commands_for_each_layer_stay_about_the_same_in_longer_chains)
{
    tw_test_is_long();
    double few = commands_of(2, 8);
    CHECK(few > 0);
    CHECK(commands_of(2, 16) <
          1.25 * few); /* 1.04; 2.1 where all groups are simulated for whatever is tried of one */
    CHECK(commands_of(2, 24) < 1.25 * few);
}
