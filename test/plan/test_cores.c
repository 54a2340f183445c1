/* test/plan/test_cores.c - random graphs of convolutions on machines of two to four cores with links, buses and broadcasts.
 *
 * What is drawn: cores with one memory or two, shared memory or none, links between some of them, or between neighbours in a row alone, so that what cores pass on takes
 * routes over several; cores that stand behind another one, whose memory all passes that they load and store; a port at the DRAM and a bus for the links, which
 * broadcast or not; groups whose operators run on different cores, groups that are split over cores in unequal shares, tensors that stay in the memory
 * of one core and are read on others. Whatever is planned must be found right by the judge, executed on numbers. TW_CASES says how many, TW_SEED which. */
#include "least_check.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 8000, MOST_OPS = 5, MOST_CORES = 4 };

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM], mapping[ROOM];
    int n_cores, n_ops, n_links, n_behind;
    bool deep;             /* a second memory in each core */
    bool in_row;           /* links join neighbours only   */
    int gate[MOST_CORES];  /* the core that this one stands behind, -1: none */
    bool hops[MOST_CORES]; /* which is joined with it by two links, not by a mover */
    int channels[MOST_OPS + 1], reads[MOST_OPS];
    int rows;
    int home[MOST_OPS]; /* core where what it makes may stay, -1: none */
} draw;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }
static bool toss(draw *d, int64_t n) { return pick(d, 1, n) == 1; }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

/* ---- the machine ---- */

/* Some cores stand behind others, perhaps one behind the other, and not in the order of the file. */
static void draw_gates(draw *d)
{
    bool behind = toss(d, 3), backwards = toss(d, 2);
    for (int i = 0; i < d->n_cores; i++) {
        int c = backwards ? d->n_cores - 1 - i : i, by = i > 0 ? (int)pick(d, 0, i - 1) : 0;
        d->gate[c] = behind && i > 0 && toss(d, 2) ? (backwards ? d->n_cores - 1 - by : by) : -1;
        d->hops[c] = toss(d, 2);
        d->n_behind += d->gate[c] >= 0;
    }
}

/* Whether one of the two stands behind the other; then whether links join them. */
static bool is_gate(const draw *d, int a, int b, bool *hops)
{
    int inner = d->gate[a] == b ? a : d->gate[b] == a ? b : -1;
    *hops = inner >= 0 && d->hops[inner];
    return inner >= 0;
}

static void draw_links(draw *d)
{
    bool backwards = toss(d, 2);
    for (int i = 0; i < d->n_cores; i++)
        for (int k = 0; k < d->n_cores; k++) {
            int a = backwards ? d->n_cores - 1 - i : i, b = backwards ? d->n_cores - 1 - k : k;
            bool hops;
            if (a == b) continue;
            if (is_gate(d, a, b, &hops) ? !hops : d->in_row ? abs(a - b) > 1 : toss(d, 4)) continue;
            if (!hops && (d->gate[a] >= 0 || d->gate[b] >= 0) && a > b)
                continue; /* what leads back, too, is another gate */
            add(d->machine,
                "%s  - {name: l%d%d, between: [c%d.m, c%d.m], carries: in, cost: {latency: %d, per_cycle: %d}}\n",
                d->n_links++ == 0 ? "engines:\n" : "", a, b, a, b, (int)pick(d, 0, 5), (int)pick(d, 1, 8));
        }
}

static void draw_ports(draw *d)
{
    bool bus = d->n_links > 0 && !toss(d, 3);
    add(d->machine, "ports:\n  - {name: ddr, memory: dram, per_cycle: %d, word: %d, broadcast: %s}\n",
        (int)pick(d, 1, 8), (int)pick(d, 1, 4), toss(d, 2) ? "true" : "false");
    if (!bus) return;
    add(d->machine, "  - {name: bus, per_cycle: %d, broadcast: %s, movers: [", (int)pick(d, 1, 8),
        toss(d, 2) ? "true" : "false");
    const char *gap = "";
    for (int a = 0; a < d->n_cores; a++)
        for (int b = 0; b < d->n_cores; b++) {
            char name[40];
            snprintf(name, sizeof name, "name: l%d%d,", a, b);
            if (!strstr(d->machine, name)) continue;
            add(d->machine, "%sl%d%d", gap, a, b);
            gap = ", ";
        }
    add(d->machine, "]}\n");
}

static void draw_core(draw *d, int c)
{
    add(d->machine, "  - name: c%d\n    memories:\n      - {name: m, size: %d}\n", c, (int)pick(d, 1500, 9000));
    if (d->deep) add(d->machine, "      - {name: i, size: %d}\n", (int)pick(d, 1000, 4000));
    add(d->machine, "    engines:\n");
    char outer[20] = "dram";
    if (d->gate[c] >= 0) snprintf(outer, sizeof outer, "c%d.m", d->gate[c]);
    if (d->gate[c] < 0 || !d->hops[c])
        add(d->machine, "      - {name: dma, between: [%s, m], %scost: {latency: %d, per_cycle: %d}}\n", outer,
            toss(d, 2) ? "prefetch: all, " : "", (int)pick(d, 0, 9), (int)pick(d, 1, 8));
    if (d->deep)
        add(d->machine, "      - {name: mv, between: [m, i], cost: {latency: 1, per_cycle: %d}}\n",
            (int)pick(d, 1, 8));
    add(d->machine, "      - {name: mac, computes: multiply-add, memory: %s, cost: {array: [%d, %d]}}\n",
        d->deep ? "i" : "m", (int)pick(d, 1, 8), (int)pick(d, 1, 8));
}

static void draw_machine(draw *d)
{
    d->n_cores = (int)pick(d, 2, MOST_CORES);
    d->deep = toss(d, 3);
    d->in_row = d->n_cores > 2 && toss(d, 2);
    add(d->machine,
        "machine: random\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited, energy: 9 pJ}\n");
    draw_gates(d);
    draw_links(d);
    if (!toss(d, 4)) draw_ports(d);
    add(d->machine, "cores:\n");
    for (int c = 0; c < d->n_cores; c++) draw_core(d, c);
}

/* ---- the workload ---- */

static void draw_workload(draw *d)
{
    d->n_ops = (int)pick(d, 1, MOST_OPS);
    d->rows = (int)pick(d, 3, 9);
    d->channels[0] = (int)pick(d, 1, 5);
    add(d->workload, "workload: chain\nops:\n");
    for (int i = 0; i < d->n_ops; i++) {
        int from = i > 0 && toss(d, 5) ? (int)pick(d, 0, i) : i, k = toss(d, 3) ? 1 : 3;
        d->reads[i] = from;
        d->channels[i + 1] = (int)pick(d, 1, 6);
        add(d->workload,
            "  - {name: o%d, op: conv, shape: [%d, %d, 5], out: %d, kernel: %d, pad: %d, dtype: i8, out_dtype: i8, "
            "accumulator: i32, "
            "inputs: {ifm: t%d}, output: t%d}\n",
            i, d->channels[from], d->rows, d->channels[i + 1], k, k / 2, from, i + 1);
    }
}

/* ---- the mapping ---- */

/* One operator over four cores, in two shares of its rows and two of its channels. */
static void draw_grid(draw *d, int i)
{
    d->home[i] = -1;
    add(d->mapping,
        "  - name: g%d\n    ops: [o%d]\n    split: {loops: {oy: [%d, %d], oc: 2}, cores: [c0, c1, c2, c3]}\n", i, i,
        (int)pick(d, 1, 2), (int)pick(d, 1, 2));
    add(d->mapping, "    levels: [{at: m, sizes: {ox: %d}}]\n", (int)pick(d, 2, 5));
}

/* One operator over all cores, each with a share of its channels or rows, or of both. */
static void draw_split(draw *d, int i)
{
    if (d->n_cores == 4 && d->channels[i + 1] > 1 && toss(d, 2)) {
        draw_grid(d, i);
        return;
    }
    bool rows = toss(d, 2);
    int extent = rows ? d->rows : d->channels[i + 1], n = d->n_cores < extent ? d->n_cores : extent;
    d->home[i] = -1;
    add(d->mapping, "  - name: g%d\n    ops: [o%d]\n    split: {loop: %s, cores: [", i, i, rows ? "oy" : "oc");
    for (int c = 0; c < n; c++) add(d->mapping, "%sc%d", c ? ", " : "", c);
    add(d->mapping, "], shares: [");
    for (int c = 0; c < n; c++) add(d->mapping, "%s%d", c ? ", " : "", (int)pick(d, 1, 3));
    add(d->mapping, "]}\n    levels: [{at: m, sizes: {ox: %d}}]\n", (int)pick(d, 2, 5));
}

static void draw_group(draw *d, int first, int n)
{
    int core = (int)pick(d, 0, d->n_cores - 1), last = first + n - 1;
    add(d->mapping, "  - name: g%d\n    ops: [", first);
    for (int i = 0; i < n; i++) add(d->mapping, "%so%d", i ? ", " : "", first + i);
    add(d->mapping, "]\n    engines: {");
    for (int i = 0; i < n; i++) {
        if (toss(d, 2)) core = (int)pick(d, 0, d->n_cores - 1);
        add(d->mapping, "%so%d: c%d.mac", i ? ", " : "", first + i, core);
        d->home[first + i] = -1;
    }
    d->home[last] = core;
    add(d->mapping, "}\n    levels: [{at: c%d.m, sizes: {oy: %d}, buffers: {t%d: %d}}]\n", core, (int)pick(d, 1, 5),
        last + 1, (int)pick(d, 1, 2));
}

static void draw_mapping(draw *d)
{
    const char *gap = "resident: {";
    add(d->mapping, "groups:\n");
    for (int i = 0, n; i < d->n_ops; i += n) {
        n = toss(d, 2) ? 1 : (int)pick(d, 1, d->n_ops - i);
        if (n == 1 && toss(d, 2))
            draw_split(d, i);
        else
            draw_group(d, i, n);
    }
    for (int i = 0; i + 1 < d->n_ops; i++) {
        if (d->home[i] < 0 || toss(d, 3)) continue;
        add(d->mapping, "%st%d: c%d.m", gap, i + 1, d->home[i]);
        gap = ", ";
    }
    if (strcmp(gap, ", ") == 0) add(d->mapping, "}\n");
}

/* ---- trials ---- */

typedef struct counts {
    int planned, linked, routed, heard, behind;
} counts;

static tw_status plan_of(draw *d, tw_context *ctx, const tw_plan **plan)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    tw_status read = tw_machine_parse(ctx, "machine", d->machine, &machine);
    if (read != TW_OK) fprintf(stderr, "%s\n", d->machine);
    CHECK_EQ(read, TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "workload", d->workload, &model), TW_OK);
    tw_status status = tw_mapping_parse(ctx, model, machine, "mapping", d->mapping, &mapping);
    return status == TW_OK ? tw_plan_eval(ctx, model, machine, mapping, plan) : status;
}

/* Whether two links, one behind the other, are used: what passes both takes a route. */
static bool has_route(const draw *d, const char *json)
{
    for (int i = 0; i + 2 < d->n_cores && d->in_row; i++)
        for (int way = 0; way < 2; way++) {
            char first[40], second[40];
            snprintf(first, sizeof first, "\"engine\":\"l%d%d\"", i + way, i + 1 - way);
            snprintf(second, sizeof second, "\"engine\":\"l%d%d\"", i + 1 + way, i + 2 - way);
            if (strstr(json, first) && strstr(json, second)) return true;
        }
    return false;
}

static void count_events(const draw *d, const char *json, counts *n)
{
    n->routed += has_route(d, json);
    n->linked += strstr(json, "\"engine\":\"l") != NULL;
    n->heard += strstr(json, "\"heard\":true") != NULL;
}

static bool try_case(draw *d, counts *n)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    const tw_verdict *verdict;
    bool good = true;
    draw_machine(d);
    draw_workload(d);
    draw_mapping(d);
    tw_status status = plan_of(d, ctx, &plan);
    CHECK(status == TW_OK || status == TW_INFEASIBLE || status == TW_ERR_INPUT);
    if (status == TW_OK) {
        tw_verify_options options = TW_VERIFY_OPTIONS_INIT;
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);
        n->planned++;
        n->behind += d->n_behind > 0;
        CHECK(least_holds(plan));
        good = tw_plan_verify(ctx, plan, -1, &options, &verdict) == TW_OK && verdict->checked &&
               verdict->executed && verdict->equal;
        if (!good) fprintf(stderr, "%s\n", verdict->first_fault ? verdict->first_fault : "not executed");
        CHECK_EQ(tw_plan_print_events(ctx, plan, TW_FORMAT_JSONL, NULL, out), TW_OK);
        fclose(out);
        count_events(d, text, n);
        free(text);
    }
    tw_context_free(ctx);
    return good;
}

TEST(random_graphs_on_cores_with_links_are_what_the_judge_expects)
{
    const char *asked = getenv("TW_CASES");
    int n_cases = asked ? atoi(asked) : 1500;
    uint64_t seed = tw_test_seed();
    counts n = {0};
    for (int i = 0; i < n_cases; i++) {
        static draw d;
        d = (draw){.random = seed + (uint64_t)i * UINT64_C(0x632be59bd9b4e019)}; /* seeds share no cases */
        if (try_case(&d, &n)) continue;
        fprintf(stderr, "case %d of seed %llu\n%s\n%s\n%s\n", i, (unsigned long long)seed, d.machine, d.workload,
                d.mapping);
        CHECK(false);
    }
    fprintf(stderr, "%d of %d planned, %d over links, %d over routes, %d heard, %d with cores behind others\n",
            n.planned, n_cases, n.linked, n.routed, n.heard, n.behind);
    CHECK(n.planned > n_cases / 5);
    CHECK(n.linked > n_cases / 30);
    CHECK(n.routed > n_cases / 250);
    CHECK(n.heard > n_cases / 50);
    CHECK(n.behind > n_cases / 20);
}

/* ---- bytes on links ---- */

/* Bytes that an engine moves, by its events. */
static int64_t bytes_on(const char *json, const char *engine)
{
    char key[60];
    int64_t sum = 0;
    snprintf(key, sizeof key, "\"engine\":\"%s\"", engine);
    for (const char *at = json; (at = strstr(at, key)); at++) {
        const char *end = strchr(at, '\n'), *work = strstr(at, "\"units\":");
        if (work && (!end || work < end)) sum += atoll(work + strlen("\"units\":"));
    }
    return sum;
}

/* A grid of 2 x 3 cores. What t_0_0 makes, 6 x 8 x 8 bytes, is read by t_1_2: on the shortest routes it passes three links, and these are told by the
 * order of the file. Nothing else passes any link. */
TEST(what_takes_a_route_passes_every_link_of_it_once_and_no_other)
{
    static const char machine[] =
        "machine: grid\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\ncores:\n  - name: "
        "t\n"
        "    grid: [2, 3]\n    links: {name: noc, memory: m, cost: {latency: 3, per_cycle: 4}}\n    memories: "
        "[{name: m, size: 4 KiB}]\n"
        "    engines:\n      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n";
    static const char workload[] = "workload: two\nops:\n"
                                   "  - {name: a, op: conv, shape: [3, 8, 8], out: 6, kernel: 1, dtype: i8, "
                                   "out_dtype: i8, accumulator: i32, output: x}\n"
                                   "  - {name: b, op: conv, shape: [6, 8, 8], out: 2, kernel: 1, dtype: i8, "
                                   "out_dtype: i8, accumulator: i32, inputs: {ifm: x}, output: y}\n";
    static const char mapping[] = "groups:\n  - {name: g, ops: [a, b], engines: {a: t_0_0.mac, b: t_1_2.mac}, "
                                  "levels: [{at: t_1_2.m, sizes: {oy: 2}, buffers: {x: 2}}]}\n";
    static const char apart[] =
        "groups:\n  - {name: g, ops: [a], engines: {a: t_0_0.mac}, levels: [{at: t_0_0.m, sizes: {oy: 2}}]}\n"
        "  - {name: h, ops: [b], engines: {b: t_1_2.mac}, levels: [{at: t_1_2.m, sizes: {oy: 2}}]}\nresident: {x: "
        "t_0_0.m}\n";
    static const char *const used[] = {"t_0_1.noc_west", "t_0_2.noc_west", "t_1_2.noc_north"};
    const char *const both[] = {mapping, apart};
    for (size_t m = 0; m < TW_COUNT(both); m++) {
        static draw d;
        d = (draw){0};
        add(d.machine, "%s", machine);
        add(d.workload, "%s", workload);
        add(d.mapping, "%s", both[m]);
        tw_context *ctx = tw_context_new();
        const tw_plan *plan;
        const tw_verdict *verdict;
        tw_verify_options options = TW_VERIFY_OPTIONS_INIT;
        char *json = NULL;
        size_t len;
        CHECK_EQ(plan_of(&d, ctx, &plan), TW_OK);
        CHECK_EQ(tw_plan_verify(ctx, plan, -1, &options, &verdict), TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
        FILE *out = open_memstream(&json, &len);
        CHECK_EQ(tw_plan_print_events(ctx, plan, TW_FORMAT_JSONL, NULL, out), TW_OK);
        fclose(out);
        for (size_t i = 0; i < TW_COUNT(used); i++) CHECK_EQ(bytes_on(json, used[i]), 6 * 8 * 8);
        int64_t all = 0;
        for (const char *at = json; (at = strstr(at, ".noc_")); at++) all++;
        CHECK_EQ(all, 3 * 4); /* four tiles, three links each */
        free(json);
        tw_context_free(ctx);
    }
}
