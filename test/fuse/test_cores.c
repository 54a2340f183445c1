/* test/fuse/test_cores.c - plans on machines of several unequal cores against each core alone, and against every share of two of them. TW_CASES says how many cases of each. */
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 6000 };

/* How many cases: TW_CASES, or so many. */
static int count_cases(int n) { return getenv("TW_CASES") ? atoi(getenv("TW_CASES")) : n; }

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM];
    int n_cores, n_ops, side[3][2]; /* of each array */
    int rate, size;
    bool linked; /* every core with the next one, both ways */
    bool behind; /* every core but the first stands behind the one before it */
} draw;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

/* Cores [first, first + n) of the machine, behind one port that broadcasts. */
static void write_machine(const draw *d, int first, int n, char *text)
{
    *text = 0;
    add(text,
        "machine: cores\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited, energy: 5 pJ}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: %d, broadcast: true}]\n",
        d->rate);
    for (int c = first; c + 1 < first + n && d->linked; c++)
        add(text,
            "%s  - {name: l%d, between: [c%d.m, c%d.m], carries: in, cost: {latency: 2, per_cycle: %d}}\n"
            "  - {name: r%d, between: [c%d.m, c%d.m], carries: in, cost: {latency: 2, per_cycle: %d}}\n",
            c == first ? "engines:\n" : "", c, c, c + 1, 2 * d->rate, c, c + 1, c, 2 * d->rate);
    add(text, "cores:\n");
    for (int c = first; c < first + n; c++) {
        char outer[20] = "dram";
        if (d->behind && c > first) snprintf(outer, sizeof outer, "c%d.m", c - 1);
        add(text,
            "  - name: c%d\n    memories: [{name: m, size: %d}]\n    engines:\n"
            "      - {name: dma, between: [%s, m], prefetch: all, cost: {latency: 2, per_cycle: %d}}\n"
            "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [%d, %d]}}\n",
            c, d->size, outer, d->rate, d->side[c][0], d->side[c][1]);
    }
}

static void draw_case(draw *d, int most_ops)
{
    int channels = (int)pick(d, 1, 8), rows = (int)pick(d, 4, 16), columns = (int)pick(d, 4, 16);
    d->n_cores = (int)pick(d, 2, 3);
    d->rate = (int)pick(d, 1, 16);
    d->size = (int)pick(d, 1200, 9000);
    for (int c = 0; c < 3; c++) d->side[c][0] = 1 << pick(d, 0, 4), d->side[c][1] = 1 << pick(d, 0, 4);
    d->n_ops = (int)pick(d, 1, most_ops);
    d->linked = most_ops > 1 && pick(d, 0, 1) && !d->behind;
    for (int c = 1; c < 3 && d->linked; c++) d->side[c][0] = d->side[0][0], d->side[c][1] = d->side[0][1];
    add(d->workload, "workload: chain\nops:\n");
    for (int i = 0; i < d->n_ops; i++) {
        int out = (int)pick(d, 1, 8), k = pick(d, 0, 1) ? 3 : 1;
        add(d->workload,
            "  - {name: o%d, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: %d, dtype: i8, out_dtype: "
            "i8, accumulator: "
            "i32, inputs: {ifm: t%d}, output: t%d}\n",
            i, channels, rows, columns, out, k, k / 2, i, i + 1);
        channels = out;
    }
    write_machine(d, 0, d->n_cores, d->machine);
}

static tw_status find_plan(tw_context *ctx, const draw *d, const char *machine_text, int threads,
                           const tw_plan **out)
{
    const tw_model *model;
    const tw_machine *machine;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.groups = true;
    options.n_threads = threads;
    CHECK_EQ(tw_model_parse(ctx, "workload", d->workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
    return tw_plan_search(ctx, model, machine, &options, out);
}

static int64_t cycles_of(const tw_plan *plan) { return tw_plan_summary(plan)->cycles; }

/* What each core takes on a machine of its own; 0: there is no plan. Those behind others are slower than that. */
static int64_t best_alone(const draw *d)
{
    int64_t best = 0;
    for (int c = 0; c < (d->behind ? 1 : d->n_cores); c++) {
        tw_context *ctx = tw_context_new();
        static char text[ROOM];
        const tw_plan *plan;
        write_machine(d, c, 1, text);
        if (find_plan(ctx, d, text, 1, &plan) == TW_OK && (best == 0 || cycles_of(plan) < best))
            best = cycles_of(plan);
        tw_context_free(ctx);
    }
    return best;
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

TEST(more_cores_are_never_worse_than_the_best_of_them_and_threads_change_nothing)
{
    uint64_t seed = tw_test_seed();
    int n_split = 0, n_planned = 0, n_linked = 0, n_behind = 0;
    int n_cases = count_cases(8);
    for (int i = 0; i < n_cases; i++) {
        static draw d;
        d = (draw){.random = seed + (uint64_t)i, .behind = i % 4 == 3};
        draw_case(&d, 4);
        tw_context *ctx = tw_context_new();
        const tw_plan *plan, *again;
        int64_t alone = best_alone(&d);
        tw_status status = find_plan(ctx, &d, d.machine, 1, &plan);
        CHECK(status == TW_OK || alone == 0);
        if (status == TW_OK) {
            CHECK_EQ(find_plan(ctx, &d, d.machine, 3, &again), TW_OK);
            char *one = mapping_of(ctx, plan), *three = mapping_of(ctx, again);
            CHECK_STR(one, three);
            CHECK(is_verified(ctx, plan));
            const tw_joint_search *search = plan->joint ? plan->joint->search : NULL;
            if (search) CHECK(search->bound <= cycles_of(plan));
            if (search) CHECK(search->equal == 0 || cycles_of(plan) <= search->equal);
            for (int e = 0; plan->joint && d.linked && e < 2 * (d.n_cores - 1); e++)
                if (tw_plan_engine_use(plan, 0, e)->loads > 0) {
                    n_linked++;
                    break;
                }
            if (alone > 0 && cycles_of(plan) > alone)
                fprintf(stderr, "case %d\n%s%s%s", i, d.machine, d.workload, one);
            CHECK(alone == 0 || cycles_of(plan) <= alone);
            n_split += strstr(one, "part:") != NULL;
            n_planned++;
            n_behind += d.behind && strstr(one, "c1.mac") != NULL;
            free(one);
            free(three);
        }
        tw_context_free(ctx);
    }
    fprintf(stderr, "%d planned, %d split, %d over links, %d on a core behind another\n", n_planned, n_split,
            n_linked, n_behind);
    CHECK(n_planned > n_cases / 2 && n_split > 0);
}

/* A core that reaches memory over another core's alone helps that one, also if links of one way each join them, in whatever order; what it reads and makes passes the other one's
 * memory. */
TEST(a_core_behind_another_one_helps_it)
{
    static const char
        head[] = "machine: behind\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n",
        links[] = "engines:\n"
                  "  - {name: in, between: [a.m, b.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
                  "  - {name: out, between: [b.m, a.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n",
        parts[] = "    memories: [{name: m, size: 24 KiB}]\n    engines:\n"
                  "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [16, 4]}}\n",
        dma[] = "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 8}}\n";
    static draw d;
    const tw_plan *plan, *alone;
    tw_context *ctx = tw_context_new();
    d = (draw){0};
    add(d.workload,
        "workload: one\nops:\n  - {name: c, op: conv, shape: [16, 16, 16], out: 16, kernel: 3, pad: 1, dtype: i8, "
        "out_dtype: i8, accumulator: i32}\n");
    add(d.machine, "%s%scores:\n  - name: b\n%s  - name: a\n%s%s", head, links, parts, parts, dma);
    CHECK_EQ(find_plan(ctx, &d, d.machine, 1, &plan), TW_OK);
    CHECK(is_verified(ctx, plan));
    *d.machine = 0;
    add(d.machine, "%scores:\n  - name: a\n%s%s", head, parts, dma);
    CHECK_EQ(find_plan(ctx, &d, d.machine, 1, &alone), TW_OK);
    CHECK(cycles_of(plan) * 3 < cycles_of(alone) * 2); /* twice as fast would be the most */
    const tw_engine_use *in = tw_plan_engine_use(plan, 0, 0), *out = tw_plan_engine_use(plan, 0, 1);
    CHECK_STR(in->engine, "in");
    CHECK(in->load_units > 0 && in->store_units == 0 && out->load_units == 0 && out->store_units > 0);
    tw_context_free(ctx);
}

/* The cycles of a mapping, 0: there are none. */
static int64_t try_mapping(const draw *d, const char *mapping_text)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    int64_t cycles = 0;
    CHECK_EQ(tw_model_parse(ctx, "workload", d->workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", d->machine, &machine), TW_OK);
    if (tw_mapping_parse(ctx, model, machine, "mapping", mapping_text, &mapping) == TW_OK &&
        tw_plan_eval(ctx, model, machine, mapping, &plan) == TW_OK)
        cycles = cycles_of(plan);
    tw_context_free(ctx);
    return cycles;
}

static void keep_least(int64_t cycles, int64_t *best)
{
    if (cycles > 0 && (*best == 0 || cycles < *best)) *best = cycles;
}

/* One convolution: on each core, and with every share of two cores along each of its loops; its rows cut into tiles, or not. */
static int64_t try_everything(const draw *d)
{
    static const char *const loop[] = {"oc", "oy", "ox"};
    int64_t best = 0;
    char text[ROOM];
    for (int rows = 1; rows <= 16; rows *= 2) {
        for (int c = 0; c < d->n_cores; c++) {
            snprintf(text, sizeof text, "groups:\n  - {core: c%d, ops: [o0], levels: [{at: m, sizes: {oy: %d}}]}\n",
                     c, rows);
            keep_least(try_mapping(d, text), &best);
        }
        for (int l = 0; l < 3; l++)
            for (int share = 1; share < 16; share++) {
                snprintf(text, sizeof text,
                         "groups:\n  - {split: {loop: %s, cores: [c0, c1], shares: [%d, %d]}, ops: [o0], levels: "
                         "[{at: m, "
                         "sizes: {oy: %d}, buffers: {t0: 2, t1: 2}}]}\n",
                         loop[l], share, 16 - share, rows);
                keep_least(try_mapping(d, text), &best);
            }
    }
    return best;
}

TEST(one_convolution_is_planned_at_least_as_well_as_by_trying_all_shares_of_two_cores)
{
    uint64_t seed = tw_test_seed();
    int n = 0, n_worse = 0;
    double worst = 1;
    int n_cases = count_cases(8);
    for (int i = 0; i < n_cases; i++) {
        static draw d;
        d = (draw){.random = seed + 1000 + (uint64_t)i};
        draw_case(&d, 1);
        tw_context *ctx = tw_context_new();
        const tw_plan *plan;
        int64_t least = try_everything(&d);
        if (least > 0) {
            CHECK_EQ(find_plan(ctx, &d, d.machine, 1, &plan), TW_OK);
            double ratio = (double)cycles_of(plan) / (double)least;
            if (ratio > 1.001)
                fprintf(stderr, "case %d: %ld, by trying %ld\n", i, (long)cycles_of(plan), (long)least);
            worst = ratio > worst ? ratio : worst;
            n_worse += ratio > 1.001;
            n++;
        }
        tw_context_free(ctx);
    }
    fprintf(stderr, "%d of %d are worse, at most %.3f times\n", n_worse, n, worst);
    CHECK(n > n_cases / 2);
    CHECK(n_worse * 5 <= n + 4);
    CHECK(worst <= 1.25);
}

/* Two chains of two convolutions each, on the same input. */
static void write_branches(draw *d, bool alternate)
{
    static const char *const name[] = {"a1", "a2", "b1", "b2"};
    static const char *const reads[] = {"x", "a", "x", "b"}, *const makes[] = {"a", "c", "b", "d"};
    static const int order[2][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
    *d->workload = 0;
    add(d->workload, "workload: branches\nops:\n");
    for (int n = 0; n < 4; n++) {
        int i = order[alternate][n];
        add(d->workload,
            "  - {name: %s, op: conv, shape: [6, 12, 12], out: 6, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
            "accumulator: i32, "
            "inputs: {ifm: %s}, output: %s}\n",
            name[i], reads[i], makes[i]);
    }
}

TEST(branches_that_alternate_are_planned_at_least_as_well_as_one_behind_the_other)
{
    uint64_t seed = tw_test_seed();
    for (int i = 0; i < count_cases(3); i++) {
        static draw d;
        const tw_plan *plan[2];
        d = (draw){.random = seed + 2000 + (uint64_t)i};
        draw_case(&d, 1);
        tw_context *ctx = tw_context_new();
        tw_status status[2];
        for (int alternate = 0; alternate < 2; alternate++) {
            write_branches(&d, alternate);
            status[alternate] = find_plan(ctx, &d, d.machine, 1, &plan[alternate]);
        }
        CHECK(status[0] != TW_OK || status[1] == TW_OK);
        if (status[0] == TW_OK) CHECK(cycles_of(plan[1]) <= cycles_of(plan[0]));
        if (status[1] == TW_OK) CHECK(is_verified(ctx, plan[1]));
        tw_context_free(ctx);
    }
}

/* Two convolutions whose weights, 9'216 bytes each, do not lie in one core together, behind a slow DRAM. Layer by layer what is between them, 18'432 bytes, is stored
 * and loaded again. As a pipeline each core has its own weights, and nothing passes the DRAM but weights, input and output. */
TEST(layers_whose_weights_fill_a_core_each_become_a_pipeline)
{
    static const char machine[] =
        "machine: pair\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: 1}]\ncores:\n  - name: c\n    grid: [2]\n"
        "    links: {name: noc, memory: m, cost: {latency: 2, per_cycle: 8}}\n    memories: [{name: m, size: 18 "
        "KiB}]\n"
        "    engines:\n      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [16, 16]}}\n";
    static const char workload[] = "workload: two\nops:\n"
                                   "  - {name: a, op: conv, shape: [32, 24, 24], out: 32, kernel: 3, pad: 1, "
                                   "dtype: i8, out_dtype: i8, accumulator: i32, output: x}\n"
                                   "  - {name: b, op: conv, shape: [32, 24, 24], out: 32, kernel: 3, pad: 1, "
                                   "dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: x}, output: y}\n";
    static draw d;
    const tw_plan *plan;
    tw_context *ctx = tw_context_new();
    int64_t over = 0, dram = 0;
    d = (draw){0};
    add(d.workload, "%s", workload);
    CHECK_EQ(find_plan(ctx, &d, machine, 1, &plan), TW_OK);
    CHECK(is_verified(ctx, plan));
    for (int e = 0; e < tw_plan_n_engines(plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
        *(strstr(use->engine, "noc") ? &over : &dram) += use->load_units + use->store_units;
    }
    CHECK(over >= 32 * 24 * 24);
    CHECK_EQ(dram, 2 * (32 * 24 * 24 + 32 * 32 * 9)); /* input and output, and the weights, once each */
    tw_context_free(ctx);
}

/* Four cores, each an array of 16 x 16, and a convolution with 2 rows and 32 channels: rows alone are too few for four, channels alone leave half of each array empty. */
TEST(rows_and_channels_are_split_at_once_where_neither_is_enough)
{
    static const char machine[] =
        "machine: four\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: 64, broadcast: true}]\ncores:\n  - name: c\n    grid: [2, "
        "2]\n"
        "    links: {name: noc, memory: m, cost: {latency: 2, per_cycle: 8}}\n    memories: [{name: m, size: 64 "
        "KiB}]\n"
        "    engines:\n      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 64}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: {rows: 16, columns: 16}}}\n";
    static const char workload[] =
        "workload: one\nops:\n  - {name: a, op: conv, shape: [32, 2, 16], out: 32, kernel: 3, pad: 1, "
        "dtype: i8, out_dtype: i8, accumulator: i32}\n";
    static draw d;
    const tw_plan *plan;
    tw_context *ctx = tw_context_new();
    int64_t one_loop = 0;
    d = (draw){0};
    add(d.workload, "%s", workload);
    add(d.machine, "%s", machine);
    CHECK_EQ(find_plan(ctx, &d, machine, 1, &plan), TW_OK);
    CHECK(is_verified(ctx, plan));
    char *found = mapping_of(ctx, plan);
    CHECK(strstr(found, "part: [{loop: ") != NULL);
    keep_least(try_mapping(&d, found), &one_loop);
    CHECK_EQ(one_loop, cycles_of(plan));
    one_loop = 0;
    for (int n = 2; n <= 4; n++)
        for (int l = 0; l < 3; l++) {
            static const char *const loop[] = {"oc", "oy", "ox"}, *const cores[] = {"", "", "c_0_0, c_0_1",
                                                                                    "c_0_0, c_0_1, c_1_0",
                                                                                    "c_0_0, c_0_1, c_1_0, c_1_1"};
            char text[ROOM];
            if (l == 1 && n > 2) continue;
            snprintf(text, sizeof text,
                     "groups:\n  - {split: {loop: %s, cores: [%s]}, ops: [a], levels: [{at: m}]}\n", loop[l],
                     cores[n]);
            keep_least(try_mapping(&d, text), &one_loop);
        }
    CHECK(one_loop > 0 && cycles_of(plan) < one_loop);
    free(found);
    tw_context_free(ctx);
}

/* A larger mesh has all mappings of a smaller one: four layers on 4 and 16 cores behind one DRAM, verified, none slower than on fewer. */
TEST(larger_meshes_are_no_slower)
{
    int64_t before = 0;
    for (int side = 2; side <= 4; side += 2) {
        static draw d;
        const tw_plan *plan;
        tw_context *ctx = tw_context_new();
        int channels = 16;
        d = (draw){0};
        add(d.machine,
            "machine: mesh\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
            "ports: [{name: ddr, memory: dram, ways: 4, per_cycle: 32, broadcast: true}]\ncores:\n  - name: c\n"
            "    grid: [%d, %d]\n    links: {name: noc, memory: m, cost: {latency: 4, per_cycle: 16}}\n"
            "    memories: [{name: m, size: 96 KiB}]\n    engines:\n"
            "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 40, per_cycle: 32}}\n"
            "      - {name: mac, computes: multiply-add, memory: m, cost: {array: {rows: 8, columns: 8}}}\n",
            side, side);
        add(d.workload, "workload: chain\nops:\n");
        for (int i = 0; i < 4; i++, channels = channels < 64 ? 2 * channels : 64)
            add(d.workload,
                "  - {name: o%d, op: conv, shape: [%d, 16, 16], out: %d, kernel: 3, pad: 1, dtype: i8, out_dtype: "
                "i8, accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
                i, channels, channels < 64 ? 2 * channels : 64, i, i + 1);
        CHECK_EQ(find_plan(ctx, &d, d.machine, 1, &plan), TW_OK);
        CHECK(is_verified(ctx, plan));
        CHECK(before == 0 || cycles_of(plan) <= before);
        before = cycles_of(plan);
        tw_context_free(ctx);
    }
}

/* Core a, which is first, is too small for the convolutions, and core b adds nothing: no core runs everything, nor does the first engine that computes each operator. */
TEST(what_no_core_runs_alone_is_planned_on_those_that_can)
{
    static const char machine[] =
        "machine: halves\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: 8}]\ncores:\n"
        "  - name: a\n    memories: [{name: m, size: 64}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 1, per_cycle: 4}}\n"
        "      - {name: mac, computes: [multiply-add, add], memory: m, cost: {array: {rows: 4}}}\n"
        "  - name: b\n    memories: [{name: m, size: 4 KiB}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 1, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: {rows: 4}}}\n";
    for (int n_ops = 2; n_ops <= 12; n_ops += 10) { /* in a small space, and beyond */
        static draw d;
        const tw_plan *plan;
        tw_context *ctx = tw_context_new();
        d = (draw){0};
        add(d.workload, "workload: chain\nops:\n");
        for (int i = 0; i < n_ops; i++)
            add(d.workload,
                "  - {name: o%d, op: %s, shape: [4, 6, 6], dtype: i8, out_dtype: i8, %sinputs: {ifm: t%d}, "
                "output: t%d}\n",
                i, i % 2 ? "add" : "conv", i % 2 ? "" : "accumulator: i32, out: 4, kernel: 5, pad: 2, ", i, i + 1);
        CHECK_EQ(find_plan(ctx, &d, machine, 2, &plan), TW_OK);
        CHECK(is_verified(ctx, plan));
        tw_context_free(ctx);
    }
}

/* Without ports operators run one by one on the first core, a, which is too small for them; b has room. */
TEST(what_the_first_core_has_no_room_for_is_planned_on_others)
{
    static const char machine[] =
        "machine: halves\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\ncores:\n"
        "  - name: a\n    memories: [{name: m, size: 1}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], cost: {latency: 1, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: {rows: 4}}}\n"
        "  - name: b\n    memories: [{name: m, size: 2 KiB}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], cost: {latency: 1, per_cycle: 4}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: {rows: 4}}}\n";
    for (int n_ops = 1; n_ops <= 2; n_ops++) {
        static draw d;
        const tw_plan *plan;
        tw_context *ctx = tw_context_new();
        d = (draw){0};
        add(d.workload, "workload: chain\nops:\n");
        for (int i = 0; i < n_ops; i++)
            add(d.workload,
                "  - {name: o%d, op: conv, shape: [4, 6, 6], out: 4, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
                "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
                i, i, i + 1);
        CHECK_EQ(find_plan(ctx, &d, machine, 2, &plan), TW_OK);
        CHECK(is_verified(ctx, plan));
        CHECK_EQ(tw_context_n_messages(ctx), 0);
        tw_context_free(ctx);
    }
}

/* No memory holds what one output needs, so that the reduction is cut and sums stay; also where that takes four cuts, of which two are reductions. */
TEST(reductions_that_no_core_has_room_for_are_cut_and_split_over_cores)
{
    static const struct {
        const char *op;
        int size;
    } row[] = {{"op: matmul, shape: [8, 8, 5000]", 4096},
               {"op: conv, shape: [64, 4, 4], out: 4, kernel: 3, pad: 1", 200},
               {"op: conv, shape: [16, 8, 8], out: 8, kernel: 3, pad: 1", 64}};
    for (size_t r = 0; r < TW_COUNT(row); r++) {
        static draw d;
        int64_t took[2];
        d = (draw){.n_cores = 2, .rate = 16, .size = row[r].size, .side = {{4, 4}, {4, 4}}};
        add(d.workload,
            "workload: w\nops: [{name: o, %s, dtype: i8, out_dtype: i8, accumulator: i32, "
            "inputs: {ifm: x}, output: y}]\n",
            row[r].op);
        for (int n = 1; n <= 2; n++) {
            const tw_plan *plan;
            tw_context *ctx = tw_context_new();
            write_machine(&d, 0, n, d.machine);
            CHECK_EQ(find_plan(ctx, &d, d.machine, 2, &plan), TW_OK);
            CHECK(is_verified(ctx, plan));
            took[n - 1] = cycles_of(plan);
            tw_context_free(ctx);
        }
        CHECK(took[1] < took[0]);
    }
}

/* B reads t where A made it; the weights of B, C and D leave no room for t until Z reads it, and no two of the convolutions fit together. So t leaves behind B, and comes again for Z. */
TEST(a_tensor_leaves_where_there_is_no_room_for_it_between_its_readers)
{
    static const char machine[] =
        "machine: leaves\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: 8}]\ncores:\n"
        "  - name: a\n    memories: [{name: m, size: 74 KiB}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 8}}\n"
        "      - {name: mac, computes: [multiply-add, add], memory: m, cost: {array: [64, 64]}}\n"
        "  - name: b\n    memories: [{name: m, size: 8 KiB}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: 8}}\n"
        "      - {name: pool, computes: max, memory: m, cost: {array: {lanes: 16}}}\n";
    static const struct {
        const char *name;
        int in, out, kernel;
    } conv[] = {{"A", 8, 40, 1}, {"B", 40, 72, 3}, {"C", 72, 72, 3}, {"D", 72, 40, 3}};
    static draw d;
    const tw_plan *plan, *kept;
    const tw_model *model;
    const tw_machine *on;
    const tw_mapping *other;
    tw_context *ctx = tw_context_new();
    d = (draw){0};
    add(d.workload, "workload: leaves\nops:\n");
    for (size_t i = 0; i < TW_COUNT(conv); i++)
        add(d.workload,
            "  - {name: %s, op: conv, shape: [%d, 32, 32], out: %d, kernel: %d, pad: %d, dtype: i8, out_dtype: i8, "
            "accumulator: i32, inputs: {ifm: t%zu}, output: t%zu}\n",
            conv[i].name, conv[i].in, conv[i].out, conv[i].kernel, conv[i].kernel / 2, i, i + 1);
    add(d.workload,
        "  - {name: Z, op: add, shape: [40, 32, 32], dtype: i8, out_dtype: i8, inputs: {ifm: t1, w: t4}}\n");
    CHECK_EQ(find_plan(ctx, &d, machine, 2, &plan), TW_OK);
    CHECK(is_verified(ctx, plan));
    char *mapping = mapping_of(ctx, plan), *line = strstr(mapping, "resident: {t1: {in: a.m, until: B}}\n");
    CHECK(line != NULL);
    if (line) { /* without that line the same groups are slower */
        memset(line, '#', 1);
        CHECK_EQ(tw_model_parse(ctx, "workload", d.workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", machine, &on), TW_OK);
        CHECK_EQ(tw_mapping_parse(ctx, model, on, "mapping", mapping, &other), TW_OK);
        CHECK_EQ(tw_plan_eval(ctx, model, on, other, &kept), TW_OK);
        CHECK(cycles_of(plan) < cycles_of(kept));
    }
    free(mapping);
    tw_context_free(ctx);
}
