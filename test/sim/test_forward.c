/* test/sim/test_forward.c - skipping repetitions against simulating them.
 *
 * A run that somebody watches simulates every command, one that nobody watches skips what repeats (forward.h). Both must
 * come to the same totals, to the last waiting cycle and the last share of the critical path. A measurement leaves out the
 * critical path and the peaks, and comes to the same for the rest. */
#include "tw_read.h"

#include "mapping/fusion.h"
#include "program/program.h"
#include "sim/timeline.h"

#include <string.h>

typedef struct text {
    char workload[120], machine[2000], mapping[800];
} text;

static int64_t pick(uint64_t *rng, int64_t lo, int64_t hi) { return tw_test_pick(rng, lo, hi); }

/* A random cost for a mover. */
static const char *cost_of(uint64_t *rng, char out[96])
{
    int64_t c = pick(rng, 0, 60);
    if (pick(rng, 0, 7) == 0) /* what leaves is there late: who wants it back waits */
        snprintf(out, 96, "cost: {constant: %" PRId64 ", busy: %" PRId64 "}", pick(rng, 100, 1500),
                 pick(rng, 0, 9));
    else if (pick(rng, 0, 1))
        snprintf(out, 96, "cost: {constant: %" PRId64 ", busy: %" PRId64 "}", c, pick(rng, 0, c));
    else
        snprintf(out, 96, "cost: {latency: %" PRId64 ", per_cycle: %" PRId64 "}, pipelined: %s", c, pick(rng, 1, 9),
                 pick(rng, 0, 1) ? "true" : "false");
    return out;
}

static void make_machine(uint64_t *rng, text *t)
{
    char a[96], b[96], c[96], d[96], e[96], f[96];
    bool two_way = pick(rng, 0, 3) == 0;
    snprintf(t->machine, sizeof t->machine,
             "machine: m\nunit: element\ntiming: async\nreuse: %s\nmemories:\n"
             "  - {name: dram, size: unlimited, energy: 3 pJ}\n  - {name: l2, size: unlimited, energy: 1 fJ}\n"
             "  - {name: l1, size: unlimited, holds: inputs}\n  - {name: fab, size: unlimited, holds: output}\n"
             "engines:\n"
             "  - {name: dma, between: [dram, l2], carries: %s, count: %" PRId64 ", %s}\n%s%s%s"
             "  - {name: stream, between: [l2, l1], carries: in, count: %" PRId64 "%s, %s}\n"
             "  - {name: drain, between: [l2, fab], carries: both, %s}\n"
             "  - {name: mac, computes: multiply-add, on: fab, cost: {latency: %" PRId64 ", per_cycle: %" PRId64
             "}}\n",
             pick(rng, 0, 1) ? "declared" : "resident", two_way ? "both" : "in", pick(rng, 1, 3), cost_of(rng, a),
             two_way ? "" : "  - {name: write, between: [dram, l2], carries: out, ", two_way ? "" : cost_of(rng, b),
             two_way ? "" : "}\n", pick(rng, 1, 3), pick(rng, 0, 1) ? ", joins: inputs" : "", cost_of(rng, c),
             cost_of(rng, d), pick(rng, 0, 9), pick(rng, 1, 5));
    (void)e, (void)f;
}

/* Loops in some order, of two levels now and then; partial sums that return have rounds of their own. */
static void make_mapping(uint64_t *rng, text *t)
{
    static const char *const order[] = {"m, n, k", "n, m, k", "m, n, k", "n, m, k", "m, k, n", "k, n, m"};
    static const char *const keep[] = {"tile", "m", "n", "k", "all"};
    int64_t size[3], extent[3];
    for (int i = 0; i < 3; i++) {
        size[i] = pick(rng, 1, 4);
        extent[i] = tw_max(size[i], size[i] * pick(rng, 1, 16) - pick(rng, 0, 3));
    }
    snprintf(t->workload, sizeof t->workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, extent[0], extent[1],
             extent[2]);
    char l2[300] = "", l1[60] = "", outer[120] = "pass: true";
    if (pick(rng, 0, 2) == 0)
        snprintf(outer, sizeof outer, "sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [%s]",
                 tw_min(extent[0], size[0] * pick(rng, 1, 7)), tw_min(extent[1], size[1] * pick(rng, 1, 7)),
                 tw_min(extent[2], size[2] * pick(rng, 1, 7)), order[pick(rng, 0, 5)]);
    if (pick(rng, 0, 1))
        snprintf(l2, sizeof l2, ", buffers: {ifm: %" PRId64 ", w: %" PRId64 ", ofm: %" PRId64 "}", pick(rng, 1, 30),
                 pick(rng, 1, 30), pick(rng, 1, 4));
    if (pick(rng, 0, 1)) snprintf(l1, sizeof l1, ", buffers: {ifm: %" PRId64 ", w: 2}", pick(rng, 1, 4));
    snprintf(t->mapping, sizeof t->mapping,
             "mapping:\n  matmul:\n    levels:\n      - {at: l2, %s, keep: {ifm: %s, w: %s}%s}\n"
             "      - {at: l1, pass: true%s}\n"
             "      - {at: fab, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64
             "}, order: [%s], buffers: {ofm: %" PRId64 "}}\n",
             outer, keep[pick(rng, 0, 4)], keep[pick(rng, 0, 4)], l2, l1, size[0], size[1], size[2],
             order[pick(rng, 0, 5)], pick(rng, 1, 3));
}

static tw_status see(void *user, const tw_rowset *row)
{
    *(int64_t *)user += row->n_events;
    return TW_OK;
}

static void check_same(const tw_timeline *a, const tw_timeline *b, const tw_program *p)
{
    CHECK_EQ(a->sum.cycles, b->sum.cycles);
    CHECK_EQ(a->sum.instructions, b->sum.instructions);
    CHECK_EQ(a->sum.macs, b->sum.macs);
    CHECK_EQ(a->sum.execs, b->sum.execs);
    CHECK_EQ(a->sum.energy_fj, b->sum.energy_fj);
    int64_t critical = 0;
    for (int e = 0; e < p->machine->n_engines; e++) {
        const tw_engine_use *x = &a->engine[e], *y = &b->engine[e];
        CHECK_EQ(x->busy_cycles, y->busy_cycles);
        CHECK_EQ(x->wait_data, y->wait_data);
        CHECK_EQ(x->wait_credit, y->wait_credit);
        CHECK_EQ(x->critical_cycles, y->critical_cycles);
        CHECK_EQ(x->loads, y->loads);
        CHECK_EQ(x->load_units, y->load_units);
        CHECK_EQ(x->stores, y->stores);
        CHECK_EQ(x->store_units, y->store_units);
        CHECK_EQ(x->ops, y->ops);
        critical += x->critical_cycles;
    }
    CHECK_EQ(critical, a->sum.cycles);
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            CHECK_EQ(memcmp(&a->link[m][o], &b->link[m][o], sizeof a->link[m][o]), 0);
            CHECK_EQ(a->pool[m][o].peak, b->pool[m][o].peak);
            CHECK_EQ(a->pool[m][o].wait_cycles, b->pool[m][o].wait_cycles);
        }
}

static int n_skipped;         /* programs of which anything was skipped                         */
static int n_skipped_returns; /* programs whose partial sums return, of which rounds were skipped */

/* What a search measures is what the whole simulation says. */
static void check_measured(const tw_program *p, tw_arena *scratch, tw_diag *diag, const tw_timeline *plain)
{
    tw_meter meter = {.limit = INT64_MAX};
    tw_timeline brief;
    CHECK_EQ(tw_timeline_measure(p, true, &meter, scratch, diag, &brief), TW_OK);
    CHECK(!meter.unfinished && meter.done > 0);
    n_skipped += meter.done < brief.sum.instructions;
    if (p->flow->residency[0][tw_op_output(p->op)].returns && meter.done < brief.sum.instructions)
        n_skipped_returns++;
    CHECK_EQ(brief.sum.cycles, plain->sum.cycles);
    CHECK_EQ(brief.sum.instructions, plain->sum.instructions);
    CHECK_EQ(brief.sum.macs, plain->sum.macs);
    CHECK_EQ(brief.sum.energy_fj, plain->sum.energy_fj);
    for (int e = 0; e < p->machine->n_engines; e++) {
        CHECK_EQ(brief.engine[e].busy_cycles, plain->engine[e].busy_cycles);
        CHECK_EQ(brief.engine[e].load_units, plain->engine[e].load_units);
        CHECK_EQ(brief.engine[e].store_units, plain->engine[e].store_units);
    }
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++)
            CHECK_EQ(memcmp(&brief.link[m][o], &plain->link[m][o], sizeof brief.link[m][o]), 0);
    int64_t done = meter.done;
    meter = (tw_meter){.limit = done - 1};
    CHECK_EQ(tw_timeline_measure(p, true, &meter, scratch, diag, &brief), TW_INFEASIBLE);
    CHECK(meter.unfinished);
}

/* Operator `op` of the model, all ways; true when it runs at all, and all ways agree on that. */
static bool try_op(tw_bench *b, const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                   int64_t *n_instructions)
{
    tw_arena *scratch = tw_arena_new();
    tw_program program;
    tw_timeline skipped, plain;
    int64_t seen = 0;
    tw_status status = tw_program_build(&(tw_problem){model, op, machine}, map, b->arena, &b->diag, &program);
    if (status == TW_OK) {
        status = tw_timeline_run(&program, scratch, &b->diag, &skipped);
        CHECK_EQ(tw_timeline_walk(&program, &(tw_row_sink){see, NULL, &seen}, scratch, &b->diag, &plain), status);
    }
    if (status == TW_OK) {
        check_same(&skipped, &plain, &program);
        check_measured(&program, scratch, &b->diag, &plain);
        CHECK_EQ(seen, plain.sum.instructions);
        *n_instructions += seen;
    }
    tw_arena_free(scratch);
    return status == TW_OK;
}

/* True when all operators run. */
static bool try_case(const text *t, int64_t *n_instructions)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    bool read = tw_read_model(&b, "w", t->workload, &model) == TW_OK &&
                tw_read_machine(&b, "m", t->machine, &machine) == TW_OK &&
                tw_read_mapping(&b, "p", t->mapping, &model, &machine, &mapping) == TW_OK;
    if (!read) print_error("%s\n%s%s%s", b.diag.text[0], t->workload, t->machine, t->mapping);
    CHECK(read);
    bool runs = true;
    for (int i = 0; i < model.n_ops; i++) {
        machine.fusion = tw_fusion_of(mapping.op, mapping.n_ops, i);
        runs &= try_op(&b, &model, i, &machine, &mapping.op[i], n_instructions);
    }
    tw_bench_free(&b);
    return runs;
}

TEST(what_is_skipped_is_what_would_have_happened)
{
    uint64_t rng = tw_test_seed();
    int64_t n = 0, instructions = 0;
    int most = tw_test_rounds(4000);
    for (int i = 0; i < most; i++) {
        text t;
        make_machine(&rng, &t);
        make_mapping(&rng, &t);
        n += try_case(&t, &instructions);
    }
    print_message("%" PRId64 " of %d programs run, %" PRId64 " instructions, %d with partial sums skipped\n", n,
                  most, instructions, n_skipped_returns);
    CHECK(n > most * 15 / 40 && n_skipped_returns > most / 100);
}

/* Sums of long sweeps leave and are wanted again in the next one, whose pace is another: at first, or all the time, rounds wait for them. */
static void make_late(uint64_t *rng, text *t)
{
    snprintf(t->workload, sizeof t->workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, pick(rng, 20, 120),
             pick(rng, 1, 3), pick(rng, 2, 12));
    snprintf(t->machine, sizeof t->machine,
             "machine: m\nunit: element\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
             "  - {name: l1, size: unlimited}\nengines:\n"
             "  - {name: in, between: [dram, l1], carries: in, count: %" PRId64 ", cost: {constant: %" PRId64
             ", busy: %" PRId64 "}}\n"
             "  - {name: out, between: [dram, l1], carries: out, cost: {constant: %" PRId64 ", busy: %" PRId64
             "}}\n  - {name: mac, computes: multiply-add, memory: l1, cost: {latency: %" PRId64
             ", per_cycle: %" PRId64 "}}\n",
             pick(rng, 1, 3), pick(rng, 20, 90), pick(rng, 1, 20), pick(rng, 60, 3000), pick(rng, 1, 40),
             pick(rng, 0, 9), pick(rng, 1, 2));
    snprintf(t->mapping, sizeof t->mapping,
             "mapping:\n  matmul:\n    levels:\n      - {at: l1, sizes: {m: 1, n: 1, k: %" PRId64
             "}, order: [%s], buffers: {ifm: %" PRId64 ", w: %" PRId64 ", ofm: %" PRId64 "}}\n",
             pick(rng, 1, 2), pick(rng, 0, 2) ? "k, m, n" : "k, n, m", pick(rng, 1, 12), pick(rng, 1, 4),
             pick(rng, 1, 12));
}

TEST(rounds_that_wait_for_partial_sums_are_not_taken_for_others)
{
    uint64_t rng = tw_test_seed();
    int64_t n = 0, instructions = 0;
    int most = tw_test_rounds(1200), before = n_skipped_returns;
    for (int i = 0; i < most; i++) {
        text t;
        make_late(&rng, &t);
        n += try_case(&t, &instructions);
    }
    print_message("%" PRId64 " of %d programs run, %" PRId64 " instructions, %d with partial sums skipped\n", n,
                  most, instructions, n_skipped_returns - before);
    CHECK(n > most / 2 && n_skipped_returns - before > most / 10);
}

/* Windows that are padded or not, with strides and gaps, also of one loop over two axes. */
static void make_windows(uint64_t *rng, text *t)
{
    static const char *const order[] = {"oc, oy, ox, ic, ky, kx", "ic, oc, oy, ox, ky, kx",
                                        "oy, ox, oc, ic, ky, kx", "ox, ic, oc, ky, oy, kx",
                                        "ky, oy, ic, ox, kx, oc", "oc, ic, kx, ky, ox, oy"};
    static const char *const keep[] = {"tile", "oc", "oy", "ic", "all"};
    int64_t k[2] = {pick(rng, 1, 3), pick(rng, 1, 3)}, pad[2], out[2], in[2], step = pick(rng, 1, 3);
    char l2[120] = "";
    for (int i = 0; i < 2; i++) {
        pad[i] = pick(rng, 0, 2) ? 0 : pick(rng, 0, k[i] - 1);
        out[i] = pick(rng, 0, 1) ? pick(rng, 1, 4) : pick(rng, 6, 16);
        in[i] = tw_max(1, (out[i] - 1) * step + k[i] - 2 * pad[i]);
    }
    snprintf(t->workload, sizeof t->workload,
             "conv:%" PRId64 "x%" PRId64 "x%" PRId64 ",out=%" PRId64 ",kernel=%" PRId64 "x%" PRId64
             ",stride=%" PRId64 ",pad=%" PRId64 "x%" PRId64,
             pick(rng, 1, 9), in[0], in[1], pick(rng, 1, 12), k[0], k[1], step, pad[0], pad[1]);
    if (pick(rng, 0, 1))
        snprintf(l2, sizeof l2, ", buffers: {ifm: %" PRId64 ", w: %" PRId64 ", ofm: %" PRId64 "}", pick(rng, 1, 30),
                 pick(rng, 1, 30), pick(rng, 1, 30));
    snprintf(
        t->mapping, sizeof t->mapping,
        "mapping:\n  conv:\n    levels:\n      - {at: l2, pass: true, keep: {ifm: %s, w: %s}%s}\n"
        "      - {at: l1, pass: true}\n      - {at: fab, tiles: {oc: 1}, sizes: {oy: 1, ox: 1, ic: 1, ky: %" PRId64
        "}, order: [%s], buffers: {ofm: %" PRId64 "}}\n",
        keep[pick(rng, 0, 4)], keep[pick(rng, 0, 4)], l2, pick(rng, 1, k[0]), order[pick(rng, 0, 5)],
        pick(rng, 1, 3));
}

TEST(windows_are_skipped_as_they_would_have_happened)
{
    uint64_t rng = tw_test_seed();
    int64_t n = 0, instructions = 0;
    int most = tw_test_rounds(2000), before = n_skipped;
    for (int i = 0; i < most; i++) {
        text t;
        make_machine(&rng, &t);
        make_windows(&rng, &t);
        n += try_case(&t, &instructions);
    }
    print_message("%" PRId64 " of %d programs run, %" PRId64 " instructions, %d skipped\n", n, most, instructions,
                  n_skipped - before);
    CHECK(n > most / 2 && n_skipped - before > most / 4);
}

/* Rounds of the output's channels, each with sweeps of a window that slides. */
static void make_sliding(uint64_t *rng, text *t)
{
    int64_t k = pick(rng, 2, 3), step = pick(rng, 1, 3), rows = pick(rng, 5, 12);
    bool inner = pick(rng, 0, 1);
    snprintf(t->workload, sizeof t->workload,
             "conv:2x%" PRId64 "x4,out=%" PRId64 ",kernel=%" PRId64 "x1,pad=%" PRId64 "x0", rows,
             2 * pick(rng, 5, 30), k, pick(rng, 0, 1));
    snprintf(t->mapping, sizeof t->mapping,
             "mapping:\n  conv:\n    levels:\n      - {at: l2, pass: true, buffers: {ifm: %" PRId64 "}%s}\n"
             "      - {at: l1, pass: true, buffers: {ifm: %" PRId64 "}, keep: {ifm: oy}%s}\n"
             "      - {at: fab, sizes: {oc: 2, oy: %" PRId64
             "}, order: [oc, oy, ox, ic, ky, kx], buffers: {ofm: %" PRId64 "}}\n",
             pick(rng, 1, 3), inner ? "" : ", slide: {ifm: oy}", pick(rng, 1, 4), inner ? ", slide: {ifm: oy}" : "",
             step, pick(rng, 1, 3));
}

TEST(what_slides_is_skipped_as_it_would_have_happened)
{
    uint64_t rng = tw_test_seed();
    int64_t n = 0, instructions = 0;
    int most = tw_test_rounds(1500);
    for (int i = 0; i < most; i++) {
        text t;
        make_machine(&rng, &t);
        make_sliding(&rng, &t);
        n += try_case(&t, &instructions);
    }
    print_message("%" PRId64 " of %d programs run, %" PRId64 " instructions\n", n, most, instructions);
    CHECK(n > most * 12 / 15);
}

static const char *builtin(const char *name)
{
    int i = 0;
    while (strcmp(tw_machine_builtin_name(i), name) != 0) i++;
    return tw_machine_builtin_text(i);
}

/* Two levels of tiles, so that rounds have rounds of many steps inside, whole or with a rest. */
static void make_nested(uint64_t *rng, text *t)
{
    static const char *const order[] = {"m, n, k", "n, m, k", "m, k, n"};
    static const char *const keep[] = {"tile", "tile", "m", "n", "all"};
    int64_t inner = pick(rng, 1, 2), outer = inner * pick(rng, 2, 8) + pick(rng, 0, 1);
    snprintf(t->workload, sizeof t->workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64 ",dtype=i8",
             outer * pick(rng, 2, 8) + pick(rng, 0, 3), outer * pick(rng, 1, 4), inner * pick(rng, 4, 20));
    snprintf(t->mapping, sizeof t->mapping,
             "mapping:\n  matmul:\n    levels:\n      - {at: l2, sizes: {m: %" PRId64 ", n: %" PRId64
             "}, order: [%s], buffers: {ifm: %" PRId64 ", w: %" PRId64 "}, keep: {ifm: %s}}\n"
             "      - {at: l1, pass: true, buffers: {ifm: %" PRId64 ", w: %" PRId64 "}}\n"
             "      - {at: fab, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64
             "}, order: [%s], buffers: {ofm: %" PRId64 "}}\n",
             outer, outer, order[pick(rng, 0, 1)], pick(rng, 1, 3), pick(rng, 1, 3), keep[pick(rng, 0, 3)],
             pick(rng, 1, 4), pick(rng, 1, 4), inner, inner, inner, order[pick(rng, 0, 2)], pick(rng, 1, 3));
}

TEST(rounds_inside_of_rounds_are_skipped_as_they_would_have_happened)
{
    uint64_t rng = tw_test_seed();
    int64_t n = 0, instructions = 0;
    int most = tw_test_rounds(400);
    for (int i = 0; i < most; i++) {
        text t;
        make_machine(&rng, &t);
        make_nested(&rng, &t);
        n += try_case(&t, &instructions);
    }
    print_message("%" PRId64 " of %d programs run, %" PRId64 " instructions\n", n, most, instructions);
    CHECK(n > most / 4);
}

/* 32 rounds of 32 of 32 steps: a few of each are run. */
TEST(long_rounds_are_short_to_simulate)
{
    static const char levels[] = "mapping: {matmul: {levels: [{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, "
                                 "pass: true}, {at: fabric, "
                                 "sizes: {m: 16, n: 16, k: 16}, order: [m, n, k], buffers: {ofm: 2}}]}}";
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    tw_program program;
    tw_timeline line;
    tw_meter meter = {.limit = INT64_MAX};
    int64_t all = 0;
    CHECK_EQ(tw_read_model(&b, "w", "matmul:512x512x512", &model), TW_OK);
    CHECK_EQ(tw_read_machine(&b, "m", builtin("kpu"), &machine), TW_OK);
    CHECK_EQ(tw_read_mapping(&b, "p", levels, &model, &machine, &mapping), TW_OK);
    CHECK(try_op(&b, &model, 0, &machine, mapping.op, &all));
    CHECK_EQ(tw_program_build(&(tw_problem){&model, 0, &machine}, mapping.op, b.arena, &b.diag, &program), TW_OK);
    CHECK_EQ(tw_timeline_measure(&program, true, &meter, b.arena, &b.diag, &line), TW_OK);
    CHECK(meter.done < all / 30);
    tw_bench_free(&b);
}

/* Engines that are equally busy have critical paths of their own, which grow side by side for ever: here dma and mover. */
TEST(engines_that_are_equally_busy_are_skipped_too)
{
    static const char levels[] =
        "mapping: {add: {levels: [{at: l3, pass: true, buffers: {ifm: 8, w: 8, ofm: 8}}, {at: l2, pass: true, "
        "buffers: {ifm: 5, w: 5, ofm: 5}}, {at: l1, pass: true, buffers: {ifm: 3, w: 3}}, {at: fabric, sizes: {d0: "
        "4}, "
        "order: [d0, d1, d2], buffers: {ofm: 2}}]}}";
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    tw_program program;
    tw_timeline line;
    tw_meter meter = {.limit = INT64_MAX};
    int64_t all = 0;
    CHECK_EQ(tw_read_model(&b, "w", "add:40001x16x7", &model), TW_OK);
    CHECK_EQ(tw_read_machine(&b, "m", builtin("kpu"), &machine), TW_OK);
    CHECK_EQ(tw_read_mapping(&b, "p", levels, &model, &machine, &mapping), TW_OK);
    CHECK(try_op(&b, &model, 0, &machine, mapping.op, &all));
    CHECK_EQ(tw_program_build(&(tw_problem){&model, 0, &machine}, mapping.op, b.arena, &b.diag, &program), TW_OK);
    CHECK_EQ(tw_timeline_measure(&program, false, &meter, b.arena, &b.diag, &line), TW_OK);
    CHECK(meter.done < all / 10);
    tw_bench_free(&b);
}

/* A product and an operator fused behind it: what the one leaves for the other lies in a buffer that is never given back. */
static void make_group(uint64_t *rng, text *t)
{
    static const char *const order[] = {"m, n, k", "n, m, k", "m, k, n", "k, n, m"};
    static const char *const keep[] = {"tile", "m", "n", "all"};
    char a[96], b[96];
    snprintf(t->workload, sizeof t->workload,
             "matmul:%" PRId64 "x%" PRId64 "x%" PRId64 ",dtype=i8,out_dtype=i8,accumulator=%s,epilogue=add",
             pick(rng, 5, 30), pick(rng, 5, 30), pick(rng, 9, 30), pick(rng, 0, 1) ? "i8" : "i32");
    snprintf(t->machine, sizeof t->machine,
             "machine: m\nunit: byte\ntiming: async\nreuse: %s\nmemories:\n"
             "  - {name: dram, size: unlimited}\n  - {name: l1, size: unlimited}\nengines:\n"
             "  - {name: in, between: [dram, l1], carries: in, count: %" PRId64 ", %s}\n"
             "  - {name: out, between: [dram, l1], carries: out, %s}\n"
             "  - {name: mac, computes: [multiply-add, add], on: l1, writes: %s, cost: {latency: %" PRId64
             ", per_cycle: %" PRId64 "}}\n",
             pick(rng, 0, 1) ? "declared" : "resident", pick(rng, 1, 2), cost_of(rng, a), cost_of(rng, b),
             pick(rng, 0, 1) ? "end" : "start", pick(rng, 0, 9), pick(rng, 1, 9));
    snprintf(t->mapping, sizeof t->mapping,
             "mapping:\n  matmul:\n    levels:\n      - {at: l1, sizes: {m: %" PRId64 ", n: %" PRId64
             ", k: %" PRId64 "}, order: [%s], buffers: {ifm: %" PRId64 ", w: %" PRId64 "}, keep: {ifm: %s}}\n"
             "  matmul.add:\n    levels:\n      - {at: l1, sizes: {m: %" PRId64 ", n: %" PRId64
             "}, order: [m, n], buffers: {ofm: %" PRId64 "}}\n",
             pick(rng, 1, 5), pick(rng, 1, 5), pick(rng, 1, 9), order[pick(rng, 0, 3)], pick(rng, 1, 40),
             pick(rng, 1, 6), keep[pick(rng, 0, 3)], pick(rng, 1, 5), pick(rng, 1, 5), pick(rng, 1, 3));
}

TEST(what_is_skipped_beside_a_resident_buffer_is_what_would_have_happened)
{
    uint64_t rng = tw_test_seed();
    int64_t n = 0, instructions = 0;
    int most = tw_test_rounds(1500);
    for (int i = 0; i < most; i++) {
        text t;
        make_group(&rng, &t);
        n += try_case(&t, &instructions);
    }
    print_message("%" PRId64 " of %d groups run, %" PRId64 " instructions\n", n, most, instructions);
    CHECK(n > most * 7 / 15);
}

/* A program so long that it could not be simulated in the time of this test. */
TEST(a_thousand_million_instructions_take_no_longer_than_a_few_rounds)
{
    tw_bench b = tw_bench_new();
    tw_arena *scratch = tw_arena_new();
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    tw_program program;
    tw_timeline timeline;
    CHECK_EQ(tw_read_model(&b, "w", "matmul:2048x1024x1024", &model), TW_OK);
    CHECK_EQ(tw_read_machine(
                 &b, "m",
                 "machine: m\nunit: element\ntiming: async\nmemories: [{name: d, size: unlimited}, {name: s, "
                 "size: 64}]\nengines:\n  - {name: dma, between: [d, s], cost: {latency: 3, per_cycle: 2}, "
                 "pipelined: true}\n  - {name: mac, computes: multiply-add, on: s, cost: {constant: 5}}\n",
                 &machine),
             TW_OK);
    CHECK_EQ(tw_read_mapping(
                 &b, "p",
                 "mapping: {matmul: {levels: [{at: s, sizes: {m: 1, n: 2, k: 3}, buffers: {ifm: 2, w: 2}}]}}\n",
                 &model, &machine, &mapping),
             TW_OK);
    CHECK_EQ(tw_program_build(&(tw_problem){&model, 0, &machine}, &mapping.op[0], b.arena, &b.diag, &program),
             TW_OK);
    CHECK_EQ(tw_timeline_run(&program, scratch, &b.diag, &timeline), TW_OK);
    CHECK_EQ(timeline.sum.execs, INT64_C(2048) * 512 * 342);
    CHECK(timeline.sum.instructions > INT64_C(1000000000));
    tw_arena_free(scratch);
    tw_bench_free(&b);
}
