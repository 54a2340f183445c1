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

TEST(unusual_machines_are_planned_and_the_plans_are_right)
{
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        char text[4000];
        tw_context *ctx = tw_context_new();
        const tw_model *w = NULL;
        const tw_machine *m = NULL;
        const tw_plan *plan = NULL;
        const tw_verdict *v = NULL;
        tw_search_options options = TW_SEARCH_OPTIONS_INIT;
        options.groups = true;
        write_machine(&machine[i], text, sizeof text);
        print_message("%s\n", machine[i].name);
        CHECK_EQ(tw_model_parse(ctx, "workload", workload, &w), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", text, &m), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, w, m, &options, &plan), TW_OK);
        CHECK(tw_plan_n_groups(plan) > 0);
        CHECK_EQ(tw_plan_verify(ctx, plan, -1, NULL, &v), TW_OK);
        CHECK(v->checked && v->executed && v->equal);
        tw_context_free(ctx);
    }
}
