/* test/fuse/test_stages.c - where a group is cut into stages, against trying all cuts. */
#include "fuse/stages.h"

#include "tw_read.h"

#include <stdio.h>

static const char machine_text[] =
    "machine: m\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\ncores:\n  - name: t\n    "
    "grid: [5]\n"
    "    links: {name: noc, memory: m, cost: {latency: 1, per_cycle: 4}}\n    memories: [{name: m, size: 64 KiB}]\n"
    "    engines:\n      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 4}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n";

enum { MOST = 7 };

/* The work of the slowest of the stages. */
static double slowest(const double *work, int n, const int *first, int k)
{
    double most = 0;
    for (int s = 0; s < k; s++) {
        double sum = 0;
        for (int i = first[s]; i < (s + 1 < k ? first[s + 1] : n); i++) sum += work[i];
        most = sum > most ? sum : most;
    }
    return most;
}

/* The least over all ways to choose where stages s .. k - 1 begin. */
static double best_of(const double *work, int n, int *first, int s, int k)
{
    double best = 1e300;
    if (s == k) return slowest(work, n, first, k);
    for (first[s] = first[s - 1] + 1; first[s] <= n - (k - s); first[s]++) {
        int own[MOST];
        for (int i = 0; i <= s; i++) own[i] = first[i];
        double now = best_of(work, n, own, s + 1, k);
        best = now < best ? now : best;
    }
    return best;
}

static void draw_chain(uint64_t *random, int n, char *text, size_t room)
{
    int channels = (int)tw_test_pick(random, 1, 9);
    size_t len = (size_t)snprintf(text, room, "workload: chain\nops:\n");
    for (int i = 0; i < n; i++) {
        int out = (int)tw_test_pick(random, 1, 9);
        len += (size_t)snprintf(
            text + len, room - len,
            "  - {name: o%d, op: conv, shape: [%d, 6, 6], out: %d, kernel: %d, dtype: i8, out_dtype: i8, "
            "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
            i, channels, out, 1, i, i + 1);
        channels = out;
    }
}

TEST(stages_are_cut_so_that_the_slowest_is_as_fast_as_can_be)
{
    uint64_t seed = tw_test_seed();
    for (int i = 0; i < 60; i++) {
        tw_bench b = tw_bench_new();
        uint64_t random = seed + (uint64_t)i;
        tw_machine machine;
        tw_model model;
        static char text[4000];
        int n = (int)tw_test_pick(&random, 2, MOST);
        tw_group_op op[MOST];
        double work[MOST];
        draw_chain(&random, n, text, sizeof text);
        CHECK_EQ(tw_read_machine(&b, "m", machine_text, &machine), TW_OK);
        CHECK_EQ(tw_read_model(&b, "w", text, &model), TW_OK);
        for (int k = 0; k < n; k++) {
            op[k] = (tw_group_op){.op = k, .view = 0};
            work[k] =
                (double)model.op[k].loop[0].extent * (double)model.op[k].loop[3].extent; /* channels out and in */
        }
        const tw_group_map group = {.name = "g", .n_ops = n, .op = op};
        for (int k = 1; k <= n; k++) {
            int first[TW_MAX_GROUP_OPS], all[MOST] = {0};
            tw_stages_cut(&model, machine.platform, &group, k, first);
            CHECK_EQ(first[0], 0);
            for (int s = 1; s < k; s++) CHECK(first[s] > first[s - 1] && first[s] < n);
            CHECK_EQ((int64_t)slowest(work, n, first, k), (int64_t)best_of(work, n, all, 1, k));
        }
        tw_bench_free(&b);
    }
}

TEST(a_stage_runs_on_its_core_and_holds_what_it_uses_there)
{
    tw_bench b = tw_bench_new();
    uint64_t random = 7;
    tw_machine machine;
    tw_model model;
    tw_core_machine *core;
    tw_group_map out;
    static char text[4000];
    const int first[] = {0, 1}, of[] = {1, 3};
    draw_chain(&random, 2, text, sizeof text);
    CHECK_EQ(tw_read_machine(&b, "m", machine_text, &machine), TW_OK);
    CHECK_EQ(tw_read_model(&b, "w", text, &model), TW_OK);
    CHECK_EQ(tw_core_machines_of(&machine, b.arena, b.arena, &core), TW_OK);
    const tw_group_op op[] = {{.op = 0, .view = 1}, {.op = 1, .view = 1}};
    const tw_nest_cut cut[] = {{.loop = 1, .size = 2}};
    const tw_group_level level[] = {{.memory = 2, .depth = 1}};
    const int input = model.op[0].operand[0].tensor, weights = model.op[1].operand[1].tensor,
              middle = model.op[0].operand[tw_op_output(&model.op[0])].tensor;
    const tw_hold hold[] = {{.tensor = input, .memory = 2, .depth = -1, .slots = 2},
                            {.tensor = weights, .memory = 2, .depth = 0, .slots = 1}};
    const tw_group_map group = {.name = "g",
                                .n_ops = 2,
                                .op = op,
                                .n_cuts = 1,
                                .cut = cut,
                                .n_levels = 1,
                                .level = level,
                                .n_holds = 2,
                                .hold = hold};
    CHECK_EQ(tw_stages_place(&model, core, &group, first, of, 2, b.arena, &out), TW_OK);
    CHECK_EQ(out.op[0].view, 1);
    CHECK_EQ(out.op[1].view, 3);
    CHECK_EQ(out.n_levels, 2);
    CHECK_EQ(out.level[0].memory, 2);
    CHECK_EQ(out.level[1].memory, 4);
    CHECK_EQ(out.n_holds, 3);
    CHECK(out.hold[0].tensor == input && out.hold[0].memory == 2 && out.hold[0].slots == 2);
    CHECK(out.hold[1].tensor == weights && out.hold[1].memory == 4 && out.hold[1].depth == 0);
    CHECK(out.hold[2].tensor == middle && out.hold[2].memory == 4 && out.hold[2].slots == 2);
    tw_bench_free(&b);
}
