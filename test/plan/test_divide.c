/* test/plan/test_divide.c - divided operators on several cores, given and found: sums that pass links and are added up in one place, parts that stay for what is made next; executed. */
#include "plan/plan.h"
#include "tilewright/tilewright.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4000, CORES = 3 };

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

static void write_machine(char *text, int rate)
{
    *text = 0;
    add(text,
        "machine: row\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited, energy: 5 pJ}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: %d}]\ncores:\n  - name: c\n    grid: [%d]\n"
        "    links: {name: noc, memory: m, cost: {latency: 2, per_cycle: 4}}\n"
        "    memories: [{name: m, size: 16 KiB, energy: 1 pJ}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: 2, per_cycle: %d}}\n"
        "      - {name: mac, computes: [multiply-add, add], memory: m, energy: 0.1 pJ, cost: {array: [2, 2]}}\n",
        rate, CORES, rate);
}

static const tw_plan *must_verify(tw_context *ctx, const tw_plan *plan)
{
    const tw_verdict *v;
    CHECK_EQ(tw_plan_verify(ctx, plan, -1, &(tw_verify_options){.seed = 5}, &v), TW_OK);
    if (v->first_fault) fprintf(stderr, "%s\n", v->first_fault);
    CHECK(v->checked && v->executed && v->equal);
    return plan;
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

/* The sums in one group, or each in a group of its own from which it goes to memory 0 or stays where it is made. */
static void draw_mapping(uint64_t *random, int n, const char *loop, char *text)
{
    int core[8];
    bool one = tw_test_pick(random, 0, 1), hold = tw_test_pick(random, 0, 1);
    const char *gap = "resident: {";
    for (int i = 0; i <= n; i++) core[i] = (int)tw_test_pick(random, 0, CORES - 1);
    *text = 0;
    add(text, "divide: {o: {%s: [", loop);
    for (int i = 0; i < n; i++) add(text, "%s%d", i ? ", " : "", (int)tw_test_pick(random, 1, 3));
    add(text, "]}}\ngroups:\n");
    if (one) {
        add(text, "  - ops: [");
        for (int i = 0; i < n; i++) add(text, "o.sum%d, ", i);
        add(text, "o]\n    engines: {");
        for (int i = 0; i < n; i++) add(text, "o.sum%d: c_%d.mac, ", i, core[i]);
        add(text, "o: c_%d.mac}\n    levels: [{at: c_%d.m, sizes: {%s: 2}, buffers: {o.sum0: %d}}]\n", core[n],
            core[n], strcmp(loop, "k") == 0 ? "m" : "oy", (int)tw_test_pick(random, 1, 2));
        return;
    }
    for (int i = 0; i <= n; i++) {
        char sum[16] = "";
        if (i < n) snprintf(sum, sizeof sum, ".sum%d", i);
        add(text, "  - {ops: [o%s], core: c_%d, levels: [{at: m}]}\n", sum, core[i]);
    }
    for (int i = 0; i < n && hold; i++) add(text, "%so.sum%d: c_%d.m", i ? ", " : gap, i, core[i]);
    if (hold) add(text, "}\n");
}

static void draw_workload(uint64_t *random, bool *conv, char *text)
{
    *conv = tw_test_pick(random, 0, 1);
    *text = 0;
    if (*conv)
        add(text,
            "workload: one\nops:\n  - {name: o, op: conv, shape: [%d, %d, 5], out: %d, kernel: 3, pad: 1, dtype: "
            "i8, "
            "out_dtype: i8, accumulator: i32}\n",
            (int)tw_test_pick(random, 4, 12), (int)tw_test_pick(random, 2, 6), (int)tw_test_pick(random, 1, 5));
    else
        add(text,
            "workload: one\nops:\n  - {name: o, op: matmul, shape: [%d, %d, %d], dtype: i8, out_dtype: i8, "
            "accumulator: i32}\n",
            (int)tw_test_pick(random, 2, 6), (int)tw_test_pick(random, 1, 6), (int)tw_test_pick(random, 12, 60));
}

TEST(sums_on_several_cores_are_passed_on_and_added_up)
{
    uint64_t random = tw_test_seed();
    int n_planned = 0, n_linked = 0, n_cases = tw_test_rounds(200);
    for (int i = 0; i < n_cases; i++) {
        static char machine_text[ROOM], workload[ROOM], text[ROOM];
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *mapping;
        const tw_plan *plan, *again;
        bool conv;
        write_machine(machine_text, (int)tw_test_pick(&random, 1, 8));
        draw_workload(&random, &conv, workload);
        draw_mapping(&random, (int)tw_test_pick(&random, 2, 4), conv ? "ic" : "k", text);
        CHECK_EQ(tw_model_parse(ctx, "workload", workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
        if (tw_mapping_parse(ctx, model, machine, "mapping", text, &mapping) == TW_OK &&
            tw_plan_eval(ctx, model, machine, mapping, &plan) == TW_OK) {
            char *written = mapping_of(ctx, must_verify(ctx, plan));
            CHECK_EQ(tw_mapping_parse(ctx, model, machine, "again", written, &mapping), TW_OK);
            CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &again), TW_OK);
            CHECK_EQ(tw_plan_summary(again)->cycles, tw_plan_summary(plan)->cycles);
            for (int e = 0; e < tw_plan_n_engines(plan); e++) {
                const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
                if (!strstr(use->engine, "noc") || use->load_units == 0) continue;
                n_linked++;
                break;
            }
            n_planned++;
            free(written);
        }
        tw_context_free(ctx);
    }
    fprintf(stderr, "%d of %d planned, %d over links\n", n_planned, n_cases, n_linked);
    CHECK(n_planned > n_cases / 2 && n_linked > n_cases / 8);
}

/* A product with one output has nothing that cores could share but its sum. */
TEST(a_long_sum_is_shared_by_cores)
{
    static char machine_text[ROOM];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan, *again;
    const tw_mapping *mapping;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.groups = true;
    write_machine(machine_text, 16);
    CHECK_EQ(
        tw_model_parse(ctx, "dot",
                       "workload: dot\nops:\n  - {name: o, op: matmul, shape: [1, 1, 6000], dtype: i8, out_dtype: "
                       "i8, accumulator: i32}\n",
                       &model),
        TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    char *written = mapping_of(ctx, must_verify(ctx, plan));
    CHECK(strstr(written, "divide: {o: {k: [1, 1, 1]}}") != NULL);
    CHECK(tw_plan_summary(plan)->cycles * 10 < plan->joint->search->alone[0] * 7);
    CHECK(plan->joint->search->bound <= tw_plan_summary(plan)->cycles);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "again", written, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &again), TW_OK);
    CHECK_EQ(tw_plan_summary(again)->cycles, tw_plan_summary(plan)->cycles);
    free(written);
    tw_context_free(ctx);
}

/* Two products. Each core makes a part of what is between them, which stays there for its own sum of the second one: nothing of it passes the DRAM, and of the sums one core's pass the link. */
TEST(parts_stay_on_the_core_that_makes_them)
{
    static const char workload[] = "workload: mlp\nops:\n  - {name: up, op: matmul, shape: [4, 60, 40], dtype: i8, "
                                   "out_dtype: i8, accumulator: i32, "
                                   "output: h}\n  - {name: down, op: matmul, shape: [4, 20, 60], dtype: i8, "
                                   "out_dtype: i8, accumulator: i32, inputs: "
                                   "{ifm: h}}\n";
    static const char text[] = "divide: {up: {n: [2, 1]}, down: {k: [2, 1]}}\ngroups:\n"
                               "  - {ops: [up.part0], core: c_0, levels: [{at: m, sizes: {n: 8}}]}\n"
                               "  - {ops: [up.part1], core: c_1, levels: [{at: m, sizes: {n: 8}}]}\n"
                               "  - ops: [down.sum0, down.sum1, down]\n"
                               "    engines: {down.sum0: c_0.mac, down.sum1: c_1.mac, down: c_1.mac}\n"
                               "    levels: [{at: c_1.m, sizes: {n: 5}, buffers: {down.sum0: 2}}]\n"
                               "resident: {h.part0: c_0.m, h.part1: c_1.m}\n";
    static char machine_text[ROOM];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    int64_t links = 0, dram = 0;
    write_machine(machine_text, 4);
    CHECK_EQ(tw_model_parse(ctx, "mlp", workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "mapping", text, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
    must_verify(ctx, plan);
    for (int e = 0; e < tw_plan_n_engines(plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
        *(strstr(use->engine, "noc") ? &links : &dram) += use->load_units + use->store_units;
    }
    CHECK_EQ(links, 4 * 4 * 20);                             /* sums of 32 bits */
    CHECK_EQ(dram, 2 * 4 * 40 + 60 * 40 + 20 * 60 + 4 * 20); /* the input for both cores, weights and output once */
    tw_context_free(ctx);
}

/* What cannot be divided is refused where the file says so; everything else is read in pieces. */
TEST(divisions_that_cannot_be_are_refused)
{
    static const char workload[] = "workload: pair\nops:\n"
                                   "  - {name: a, op: conv, shape: [4, 6, 6], out: 8, kernel: 3, pad: 1, dtype: "
                                   "i8, out_dtype: i8, accumulator: i32, output: h}\n"
                                   "  - {name: b, op: conv, shape: [8, 6, 6], out: 4, kernel: 3, pad: 1, dtype: "
                                   "i8, out_dtype: i8, accumulator: i32, inputs: {ifm: h}}\n";
    static const struct {
        const char *divide, *message;
    } row[] = {
        {"{a: {oc: 6}}",
         "m:1:9: error: 'b' reads 6 parts of 'h', more than an operator has operands for: it must be "
         "divided alike"},
        {"{b: {oc: 2}}", "m:1:9: error: 'b' makes an output of the model, which cannot be divided"},
        {"{b: {ic: 6}}", "m:1:9: error: 'b' is divided into 6 sums, of which at most 5 are added up"},
        {"{a: {oy: 7}}", "m:1:9: error: piece 0 of 'a' has nothing of 'oy', whose extent is 6"},
        {"{a: {oc: 2}, b: {ic: [1, 1]}}", NULL},
        {"{a: {oc: 2}, b: {ic: [1, 3]}}", NULL},
        {"{a: {oy: 2}, b: {ic: 2}}", NULL},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        static char machine_text[ROOM], text[ROOM];
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *mapping;
        write_machine(machine_text, 4);
        snprintf(
            text, sizeof text,
            "divide: %s\ngroups:\n  - {ops: [a.part0], core: c_0, levels: [{at: m}]}\n  - {ops: [a.part1], core: "
            "c_0, levels: [{at: m}]}\n  - {ops: [b.sum0, b.sum1, b], core: c_0, levels: [{at: m}]}\n",
            row[i].divide);
        CHECK_EQ(tw_model_parse(ctx, "w", workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
        tw_status status = tw_mapping_parse(ctx, model, machine, "m", text, &mapping);
        CHECK_EQ(status, row[i].message ? TW_ERR_INPUT : TW_OK);
        if (row[i].message) CHECK_STR(tw_context_message(ctx, 0), row[i].message);
        tw_context_free(ctx);
    }
}

/* ---- windows that read of several parts ---- */

/* Two convolutions, each split over three cores in a row with shares of its own; what is between them stays in parts. */
typedef struct halo {
    int rows, columns, channels, kernel, pad, stride;
    int made[CORES + 1], read[CORES + 1]; /* rows of the first one, and of the second, that each core makes: ends */
    int out_rows, tile;
} halo;

static void draw_ends(uint64_t *random, int rows, int end[CORES + 1])
{
    end[0] = 0;
    for (int c = 0; c < CORES; c++)
        end[c + 1] = c == CORES - 1 ? rows : (int)tw_test_pick(random, end[c] + 1, rows - (CORES - 1 - c));
}

static void draw_halo(uint64_t *random, halo *h)
{
    *h = (halo){.rows = (int)tw_test_pick(random, 6, 14),
                .columns = (int)tw_test_pick(random, 3, 6),
                .channels = (int)tw_test_pick(random, 1, 5),
                .kernel = (int)tw_test_pick(random, 1, 5),
                .stride = 1};
    if (h->kernel > 1) h->stride = (int)tw_test_pick(random, 1, 2); /* a window leaves out no rows */
    h->pad = (int)tw_test_pick(random, 0, h->kernel / 2);
    if (h->columns + 2 * h->pad < h->kernel) h->columns = h->kernel;
    h->out_rows = (h->rows + 2 * h->pad - h->kernel) / h->stride + 1;
    h->tile = tw_test_pick(random, 0, 1) ? (int)tw_test_pick(random, 1, 3) : 0;
}

static void write_halo(const halo *h, char *workload, char *text)
{
    *workload = *text = 0;
    add(workload,
        "workload: pair\nops:\n  - {name: a, op: conv, shape: [3, %d, %d], out: %d, kernel: 3, pad: 1, dtype: i8, "
        "out_dtype: i8, accumulator: i32, output: h}\n  - {name: b, op: conv, shape: [%d, %d, %d], out: 2, kernel: "
        "%d, pad: %d, stride: %d, dtype: i8, out_dtype: i8, accumulator: i32, inputs: {ifm: h}, output: y}\n",
        h->rows, h->columns, h->channels, h->channels, h->rows, h->columns, h->kernel, h->pad, h->stride);
    add(text, "divide: {a: {oy: [%d, %d, %d]}}\ngroups:\n", h->made[1], h->made[2] - h->made[1],
        h->made[3] - h->made[2]);
    for (int c = 0; c < CORES; c++) add(text, "  - {ops: [a.part%d], core: c_%d, levels: [{at: m}]}\n", c, c);
    add(text, "  - {split: {loop: oy, cores: [c_0, c_1, c_2], shares: [%d, %d, %d]}, ops: [b], levels: [{at: m",
        h->read[1], h->read[2] - h->read[1], h->read[3] - h->read[2]);
    if (h->tile) add(text, ", sizes: {oy: %d}", h->tile);
    add(text, "}]}\nresident: {h.part0: c_0.m, h.part1: c_1.m, h.part2: c_2.m}\n");
}

/* Bytes over the link from core `from` to its neighbour, in one tile per core: rows that are made at or before `from`, and read at or behind the neighbour, row by row. */
static int64_t link_bytes(const halo *h, int from, int to)
{
    int64_t n = 0;
    for (int r = 0; r < h->rows; r++)
        for (int reader = 0; reader < CORES; reader++) {
            bool reads = false, passes = to > from ? reader >= to : reader <= to;
            for (int y = h->read[reader]; y < h->read[reader + 1]; y++)
                for (int k = 0; k < h->kernel; k++) reads |= y * h->stride + k - h->pad == r;
            bool made = to > from ? r < h->made[from + 1] : r >= h->made[from];
            n += reads && passes && made;
        }
    int last = (h->columns + 2 * h->pad - h->kernel) / h->stride * h->stride + h->kernel - h->pad;
    return n * (last < h->columns ? last : h->columns) * h->channels; /* a stride may leave out the last columns */
}

static int64_t carried(const tw_plan *plan, const char *engine)
{
    for (int e = 0; e < tw_plan_n_engines(plan); e++)
        if (strcmp(tw_plan_engine_use(plan, 0, e)->engine, engine) == 0)
            return tw_plan_engine_use(plan, 0, e)->load_units;
    return 0;
}

TEST(windows_take_border_rows_of_other_parts_over_links)
{
    uint64_t random = tw_test_seed();
    int n_tried = 0, n_moved = 0, n_cases = tw_test_rounds(300);
    for (int i = 0; i < n_cases; i++) {
        static char machine_text[ROOM], workload[ROOM], text[ROOM];
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *mapping;
        const tw_plan *plan, *again;
        halo h;
        draw_halo(&random, &h);
        draw_ends(&random, h.rows, h.made);
        bool all_read = (h.out_rows - 1) * h.stride + h.kernel - h.pad > h.made[CORES - 1];
        if (h.out_rows >= CORES && all_read) {
            draw_ends(&random, h.out_rows, h.read);
            write_machine(machine_text, (int)tw_test_pick(&random, 1, 8));
            write_halo(&h, workload, text);
            CHECK_EQ(tw_model_parse(ctx, "pair", workload, &model), TW_OK);
            CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
            CHECK_EQ(tw_mapping_parse(ctx, model, machine, "mapping", text, &mapping), TW_OK);
            CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
            char *written = mapping_of(ctx, must_verify(ctx, plan));
            CHECK_EQ(tw_mapping_parse(ctx, model, machine, "again", written, &mapping), TW_OK);
            CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &again), TW_OK);
            CHECK_EQ(tw_plan_summary(again)->cycles, tw_plan_summary(plan)->cycles);
            free(written);
            for (int c = 0; c + 1 < CORES && h.tile == 0; c++) {
                char east[40], west[40];
                snprintf(east, sizeof east, "c_%d.noc_west", c + 1); /* called by where it comes from */
                snprintf(west, sizeof west, "c_%d.noc_east", c);
                CHECK_EQ(carried(plan, east), link_bytes(&h, c, c + 1));
                CHECK_EQ(carried(plan, west), link_bytes(&h, c + 1, c));
                n_moved += link_bytes(&h, c, c + 1) > 0;
            }
            n_tried++;
        }
        tw_context_free(ctx);
    }
    fprintf(stderr, "%d of %d planned, rows passed %d links\n", n_tried, n_cases, n_moved);
    CHECK(n_tried > n_cases / 3 && n_moved > n_tried / 4);
}

/* Two convolutions of 12 channels over three cores, each with its output channels: the closed form of layers that are split alike. What is between them stays in parts, each link carries
 * the part of the core that it comes from, once, and the DRAM passes the input once for all cores, every weight once, and the output. */
TEST(channels_that_stay_in_parts_are_exchanged_over_links)
{
    static const char machine_text[] =
        "machine: three\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
        "ports: [{name: ddr, memory: dram, per_cycle: 4, broadcast: true}]\nengines:\n"
        "  - {name: link0_1, between: [c0.m, c1.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
        "  - {name: link0_2, between: [c0.m, c2.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
        "  - {name: link1_0, between: [c1.m, c0.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
        "  - {name: link1_2, between: [c1.m, c2.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
        "  - {name: link2_0, between: [c2.m, c0.m], carries: in, cost: {latency: 2, per_cycle: 4}}\n"
        "  - {name: link2_1, between: [c2.m, c1.m], carries: in, cost: {latency: 2, per_cycle: 4}}\ncores:\n";
    static const char core[] =
        "  - name: c%d\n    memories: [{name: m, size: 32 KiB}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], cost: {latency: 2, per_cycle: 4}}\n"
        "      - {name: mac, computes: [multiply-add, add], memory: m, cost: {array: [4, 4]}}\n";
    static const char workload[] = "workload: pair\nops:\n"
                                   "  - {name: a, op: conv, shape: [5, 7, 6], out: 12, kernel: 3, pad: 1, dtype: "
                                   "i8, out_dtype: i8, accumulator: "
                                   "i32, output: h}\n"
                                   "  - {name: b, op: conv, shape: [12, 7, 6], out: 12, kernel: 3, pad: 1, dtype: "
                                   "i8, out_dtype: i8, accumulator: "
                                   "i32, inputs: {ifm: h}, output: y}\n";
    static const char text[] =
        "divide: {a: {oc: 3}, b: {ic: 3}}\ngroups:\n"
        "  - {ops: [a.part0], core: c0, levels: [{at: m}]}\n"
        "  - {ops: [a.part1], core: c1, levels: [{at: m}]}\n"
        "  - {ops: [a.part2], core: c2, levels: [{at: m}]}\n"
        "  - {split: {loop: oc, cores: [c0, c1, c2]}, ops: [b.sum0, b.sum1, b.sum2, b], levels: "
        "[{at: m}]}\n"
        "resident: {h.part0: c0.m, h.part1: c1.m, h.part2: c2.m}\n";
    static char machine[ROOM];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *three;
    const tw_mapping *mapping;
    const tw_plan *plan;
    int64_t n_links = 0, dram = 0;
    *machine = 0;
    add(machine, "%s", machine_text);
    for (int c = 0; c < 3; c++) add(machine, core, c);
    CHECK_EQ(tw_model_parse(ctx, "pair", workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "three", machine, &three), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, three, "mapping", text, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, three, mapping, &plan), TW_OK);
    must_verify(ctx, plan);
    for (int e = 0; e < tw_plan_n_engines(plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
        if (strstr(use->engine, "link")) {
            CHECK_EQ(use->load_units, 4 * 7 * 6); /* a third of the channels */
            n_links++;
        } else {
            dram += use->load_units + use->store_units;
        }
    }
    CHECK_EQ(n_links, 6);
    CHECK_EQ(dram, 3 * 5 * 7 * 6 + 9 * 12 * (5 + 12) + 12 * 7 * 6); /* delivered: the input to three cores */
    CHECK_EQ(plan->joint->timeline.port_units[0], 5 * 7 * 6 + 9 * 12 * (5 + 12) + 12 * 7 * 6);
    tw_context_free(ctx);
}

/* Two convolutions that three cores share, behind a slow DRAM: their rows stay where they are made. */
TEST(plan_finds_rows_that_are_exchanged)
{
    static const char workload[] =
        "workload: pair\nops:\n"
        "  - {name: a, op: conv, shape: [5, 12, 6], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
        "accumulator: i32, output: h}\n"
        "  - {name: b, op: conv, shape: [8, 12, 6], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
        "accumulator: i32, inputs: {ifm: h}}\n";
    static char machine_text[ROOM];
    char *first = NULL;
    write_machine(machine_text, 2);
    for (int threads = 1; threads <= 3; threads += 2) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan, *again;
        const tw_mapping *mapping;
        tw_search_options options = TW_SEARCH_OPTIONS_INIT;
        options.groups = true;
        options.n_threads = threads;
        CHECK_EQ(tw_model_parse(ctx, "pair", workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
        char *written = mapping_of(ctx, must_verify(ctx, plan));
        CHECK(strstr(written, "divide: {a: {oy: [4, 4, 4]}}") != NULL);
        CHECK(strstr(written, "h.part2: c_2.m") != NULL);
        CHECK(plan->joint->search->bound <= tw_plan_summary(plan)->cycles);
        CHECK_EQ(tw_mapping_parse(ctx, model, machine, "again", written, &mapping), TW_OK);
        CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &again), TW_OK);
        CHECK_EQ(tw_plan_summary(again)->cycles, tw_plan_summary(plan)->cycles);
        if (first) CHECK_STR(written, first);
        free(first);
        first = written;
        tw_context_free(ctx);
    }
    free(first);
}
