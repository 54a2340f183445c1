/* test/plan/test_unusual.c - machines that nobody builds: cores that compute some operators only, next to no memory, arrays of one point, links slower than the DRAM, two buses. Each is
 * planned, and the plan is executed. */
#include "tw_test.h"

#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { MOST_CORES = 3 };
typedef struct unusual {
    const char *name, *engines, *ports;
    struct {
        const char *computes;
        int size, rows, columns;
    } core[MOST_CORES];
} unusual;

static const char both[] = "multiply-add, add";
static const char slow_links[] =
    "engines:\n"
    "  - {name: l, between: [c0.m, c1.m], carries: in, cost: {latency: 50, per_cycle: 1}}\n"
    "  - {name: r, between: [c1.m, c0.m], carries: in, cost: {latency: 50, per_cycle: 1}}\n";
static const char two_buses[] = "ports:\n"
                                "  - {name: x, broadcast: true, per_cycle: 2, movers: [c0.dma, c1.dma]}\n"
                                "  - {name: y, per_cycle: 1, movers: [c2.dma]}\n";
static const unusual machine[] = {
    {"each computes a part", "", "", {{"multiply-add", 300, 4, 4}, {"add", 300, 2, 2}}},
    {"64 bytes and one point", "", "", {{both, 64, 1, 1}, {both, 64, 1, 1}}},
    {"a core without room for a window", "", "", {{both, 12, 1, 1}, {both, 300, 1, 1}}},
    {"links slower than the memory", slow_links, "", {{both, 200, 4, 4}, {both, 200, 4, 4}}},
    {"two buses", "", two_buses, {{both, 200, 4, 4}, {both, 200, 2, 4}, {"multiply-add", 200, 4, 4}}},
};

static const char workload[] =
    "workload: chain\nops:\n"
    "  - {name: a, op: conv, shape: [2, 5, 4], out: 3, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, accumulator: "
    "i32, "
    "inputs: {ifm: t0}, output: t1}\n"
    "  - {name: b, op: conv, shape: [3, 5, 4], out: 2, kernel: 1, pad: 0, dtype: i8, out_dtype: i8, accumulator: "
    "i32, "
    "inputs: {ifm: t1}, output: t2}\n"
    "  - {name: s, op: add, shape: [2, 5, 4], dtype: i8, out_dtype: i8, inputs: {ifm: t2, w: t0}, output: t3}\n";

static void write_machine(const unusual *u, char *text, size_t room)
{
    size_t n = (size_t)snprintf(
        text, room,
        "machine: unusual\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n%s%scores:\n",
        u->engines, u->ports);
    for (int c = 0; c < MOST_CORES && u->core[c].computes; c++)
        n += (size_t)snprintf(
            text + n, room - n,
            "  - name: c%d\n    memories: [{name: m, size: %d}]\n    engines:\n"
            "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 4}}\n"
            "      - {name: mac, computes: [%s], memory: m, cost: {array: [%d, %d]}}\n",
            c, u->core[c].size, u->core[c].computes, u->core[c].rows, u->core[c].columns);
}

/* Two cores stand behind a third, which comes last: one with an accumulator for each column, that inputs and outputs come to on ways of their own, and one with a mover for weights. A bus joins their
 * links, and behind the third there is a memory for all. */
static const char behind[] =
    "machine: u1\n"
    "unit: byte\n"
    "timing: async\n"
    "memories: [{name: dram, size: unlimited, energy: 50 pJ}, {name: l2, size: 64 KiB, energy: 5 pJ}]\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l2], cost: {latency: 50, per_cycle: 4}}\n"
    "ports: \n"
    "  - {name: p, memory: l2, per_cycle: 8}\n"
    "  - {name: bus, per_cycle: 4, broadcast: true, movers: [b.in, b.out, c.in, c.out]}\n"
    "cores:\n"
    "  - name: b\n"
    "    memories: [{name: m, size: 8 KiB, holds: [inputs]}, {name: acc, size: 1 KiB, holds: [output, bias], per: "
    "columns}]\n"
    "    engines:\n"
    "      - {name: in, between: [a.l1, m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
    "      - {name: out, between: [a.l1, acc], carries: out, sums: true, cost: {latency: 2, per_cycle: 4}}\n"
    "      - {name: bias, between: [m, acc], carries: in, roles: bias, multicast: true, cost: {latency: 4, "
    "per_cycle: 16}}\n"
    "      - {name: mac, computes: multiply-add, memory: acc, cost: {array: {rows: 8, columns: 4}}}\n"
    "  - name: c\n"
    "    memories: [{name: m, size: 8 KiB}]\n"
    "    engines:\n"
    "      - {name: in, between: [a.l1, m], carries: in, roles: [activations, output], cost: {latency: 2, "
    "per_cycle: 4}}\n"
    "      - {name: weigh, between: [a.l1, m], carries: in, roles: weights, cost: {latency: 2, per_cycle: 4}}\n"
    "      - {name: out, between: [a.l1, m], carries: out, cost: {latency: 2, per_cycle: 4}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [8, 4]}}\n"
    "      - {name: vec, computes: [add, max, map], memory: m, cost: {array: {lanes: 8}}}\n"
    "  - name: a\n"
    "    memories: [{name: l1, size: 24 KiB}, {name: rf, size: 1 KiB}]\n"
    "    engines:\n"
    "      - {name: dma, between: [l2, l1], cost: {latency: 5, per_cycle: 8}}\n"
    "      - {name: mv, between: [l1, rf], cost: {latency: 1, per_cycle: 8}}\n"
    "      - {name: mac, computes: multiply-add, memory: rf, cost: {array: [8, 4]}}\n";

static void check_plan(const char *machine_text)
{
    tw_context *ctx = tw_context_new();
    const tw_model *w = NULL;
    const tw_machine *m = NULL;
    const tw_plan *plan = NULL;
    const tw_verdict *v = NULL;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.groups = true;
    CHECK_EQ(tw_model_parse(ctx, "workload", workload, &w), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &m), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, w, m, &options, &plan), TW_OK);
    CHECK(tw_plan_n_groups(plan) > 0);
    CHECK_EQ(tw_plan_verify(ctx, plan, -1, NULL, &v), TW_OK);
    CHECK(v->checked && v->executed && v->equal);
    tw_context_free(ctx);
}

TEST(unusual_machines_are_planned_and_the_plans_are_right)
{
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        char text[4000];
        write_machine(&machine[i], text, sizeof text);
        print_message("%s\n", machine[i].name);
        check_plan(text);
    }
}

TEST(cores_behind_another_one_may_differ_in_everything) { check_plan(behind); }
