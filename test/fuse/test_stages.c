/* test/fuse/test_stages.c - where a group is cut into stages, against trying all cuts. */
#include "fuse/stages.h"

#include "tw_read.h"

#include <math.h>
#include <stdio.h>

static const char machine_text[] =
    "machine: m\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\ncores:\n  - name: t\n    "
    "grid: [5]\n"
    "    links: {name: noc, memory: m, cost: {latency: 1, per_cycle: 4}}\n    memories: [{name: m, size: 64 KiB}]\n"
    "    engines:\n      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 4}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n";

enum { MOST = 7 };

/* The work of the slowest of the stages. */
static double slowest(const double *work, int n, const tw_stages *stages)
{
    double most = 0;
    for (int s = 0; s < stages->k; s++) {
        double sum = 0;
        for (int i = stages->first[s]; i < (s + 1 < stages->k ? stages->first[s + 1] : n); i++) sum += work[i];
        most = fmax(most, sum / stages->n_cores[s]);
    }
    return most;
}

/* The least over all ways to choose where stages s .. k - 1 begin, and how many of the cores that are left each stage has. */
static double best_of(const double *work, int n, const tw_stages *before, int s, int cores)
{
    double best = 1e300;
    tw_stages now = *before;
    if (s == now.k) return cores == 0 ? slowest(work, n, &now) : best;
    int least = s == 0 ? 0 : now.first[s - 1] + 1, most = s == 0 ? 0 : n - (now.k - s);
    for (now.first[s] = least; now.first[s] <= most; now.first[s]++)
        for (now.n_cores[s] = 1; now.n_cores[s] <= cores; now.n_cores[s]++)
            best = fmin(best, best_of(work, n, &now, s + 1, cores - now.n_cores[s]));
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

static void check_stages(const double *work, int n, int k, int cores)
{
    tw_stages stages;
    const tw_stages none = {.k = k};
    int sum = 0;
    tw_stages_cut(work, n, k, cores, cores, &stages);
    CHECK_EQ(stages.k, k);
    CHECK_EQ(stages.first[0], 0);
    for (int s = 1; s < k; s++) CHECK(stages.first[s] > stages.first[s - 1] && stages.first[s] < n);
    for (int s = 0; s < k; s++) sum += stages.n_cores[s];
    for (int s = 0; s < k; s++) CHECK(stages.n_cores[s] >= 1);
    CHECK_EQ(sum, cores);
    CHECK(fabs(slowest(work, n, &stages) - best_of(work, n, &none, 0, cores)) < 1e-6);
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
        tw_core_machine *core;
        double work[MOST], own[TW_MAX_GROUP_OPS];
        draw_chain(&random, n, text, sizeof text);
        CHECK_EQ(tw_read_machine(&b, "m", machine_text, &machine), TW_OK);
        CHECK_EQ(tw_read_model(&b, "w", text, &model), TW_OK);
        CHECK_EQ(tw_core_machines_of(&machine, b.arena, b.arena, &core), TW_OK);
        CHECK(tw_stages_work(&(tw_segment){&model, 0, n}, &core[2], own));
        for (int k = 0; k < n; k++) { /* channels out and in */
            work[k] = (double)model.op[k].loop[0].extent * (double)model.op[k].loop[3].extent;
            CHECK_EQ((int64_t)(own[k] * 16), (int64_t)(work[k] * 36));
        }
        for (int k = 1; k <= n; k++)
            for (int cores = k; cores <= tw_min(TW_STAGES_CORES, k + 3); cores++) check_stages(work, n, k, cores);
        tw_bench_free(&b);
    }
}

TEST(cores_that_pass_something_on_stand_next_to_each_other)
{
    tw_bench b = tw_bench_new();
    tw_machine machine;
    CHECK_EQ(tw_read_machine(&b, "m", machine_text, &machine), TW_OK);
    int between[] = {0, 1, 2}, round[] = {4, 0, 3, 1};
    static const int both[][2] = {{0, 2}, {1, 2}}, chain[][2] = {{0, 1}, {1, 2}, {2, 3}};
    tw_stages_settle(machine.platform, 2, both, 3, between);
    CHECK_EQ(between[2], 1); /* two pass on to the one between them */
    tw_stages_settle(machine.platform, 3, chain, 4, round);
    for (int i = 1; i < 4; i++) CHECK(abs(round[i] - round[i - 1]) <= 2);
    CHECK((round[0] < round[1]) == (round[1] < round[2]) && (round[1] < round[2]) == (round[2] < round[3]));
    tw_bench_free(&b);
}

static bool can_pass(tw_bench *b, const char *memories, const char *cores)
{
    char text[1500];
    tw_machine machine;
    snprintf(text, sizeof text,
             "machine: m\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}%s]\n%s", memories,
             cores);
    CHECK_EQ(tw_read_machine(b, "m", text, &machine), TW_OK);
    return tw_stages_can_pass(machine.platform);
}

TEST(cores_pass_things_on_over_links_and_in_memories_that_they_share)
{
    static const char apart[] =
        "cores:\n  - name: t\n    grid: [2]\n    memories: [{name: m, size: 64 KiB}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n";
    static const char shared[] = "engines:\n  - {name: down, between: [dram, l2], cost: {latency: 0, per_cycle: "
                                 "4}}\ncores:\n  - name: t\n    grid: "
                                 "[2]\n    memories: [{name: m, size: 64 KiB}]\n    engines:\n"
                                 "      - {name: dma, between: [l2, m], cost: {latency: 0, per_cycle: 4}}\n"
                                 "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n";
    tw_bench b = tw_bench_new();
    tw_machine linked;
    CHECK(!can_pass(&b, "", apart));
    CHECK(can_pass(&b, ", {name: l2, size: 1 MiB}", shared));
    CHECK_EQ(tw_read_machine(&b, "m", machine_text, &linked), TW_OK);
    CHECK(tw_stages_can_pass(linked.platform));
    tw_bench_free(&b);
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
    const int stage[] = {0, 1}, of[] = {1, 3};
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
    CHECK_EQ(tw_stages_place(&model, core, &group, stage, of, 2, b.arena, &out), TW_OK);
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
