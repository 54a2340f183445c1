/* test/program/test_program.c - programs of any operator: geometry, refusals, out-of-memory, judged by the verifier. */
#include "async_random.h"
#include "program/cursor.h"

#include "cli/oracle.h"

#include <stdio.h>
#include <string.h>

typedef struct parts {
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
} parts;

static tw_status plan_of(tw_context *ctx, const char *workload, const char *machine, const char *mapping, parts *p)
{
    TW_TRY(tw_model_open(ctx, workload, &p->model));
    TW_TRY(strchr(machine, '{') ? tw_machine_parse(ctx, "machine", machine, &p->machine)
                                : tw_machine_open(ctx, machine, &p->machine));
    TW_TRY(tw_mapping_parse(ctx, p->model, p->machine, "mapping", mapping, &p->mapping));
    return tw_plan_eval(ctx, p->model, p->machine, p->mapping, &p->plan);
}

static void must_verify_op(tw_context *ctx, const tw_plan *plan, int op, const char *what)
{
    const tw_verdict *v = NULL;
    tw_verify_options options = {.reference = tw_oracle_reference, .seed = 7};
    if (tw_plan_verify(ctx, plan, op, &options, &v) == TW_OK && v->checked && v->executed && v->equal) return;
    print_error("%s: %s\n", what, v && v->first_fault ? v->first_fault : "no verdict");
    fail();
}

static void must_verify(tw_context *ctx, const tw_plan *plan, const char *what)
{
    must_verify_op(ctx, plan, 0, what);
}

TEST(operators_of_every_kind_run_on_every_built_in_machine)
{
    static const char *const workload[] = {
        "matmul:20x30x40,dtype=i8",
        "matmul:7x9x11,transpose=ab,batch=3",
        "gemv:40x50",
        "add:6x7x8",
        "conv:3x12x12,out=5,kernel=3,pad=1,stride=2,dtype=i8",
        "conv:4x9x9,out=4,kernel=3,dilation=2,pad=2x1x0x3,groups=2",
        "conv:3x5x5,out=2,kernel=4,stride=2,pad=1,transposed",
        "dwconv:6x11x11,kernel=5,pad=2,stride=2",
        "pool:3x13x13,kernel=3,stride=2,ceil",
        "pool:2x8x8,kernel=2,stride=2,type=average",
        "pool:2x7x7,kernel=3,pad=1,type=average",
    };
    for (size_t w = 0; w < TW_COUNT(workload); w++)
        for (int m = 0; tw_machine_builtin_name(m); m++) {
            tw_context *ctx = tw_context_new();
            const tw_model *model;
            const tw_machine *machine;
            const tw_plan *plan;
            tw_search_options some = {.budget = tw_test_part(300000)};
            CHECK_EQ(tw_model_open(ctx, workload[w], &model), TW_OK);
            CHECK_EQ(tw_machine_open(ctx, tw_machine_builtin_name(m), &machine), TW_OK);
            if (machine->platform && machine->platform->n_cores > 1) { /* no operator has it alone */
                tw_context_free(ctx);
                continue;
            }
            bool offered = machine->engine[machine->compute].computes >> model->op[0].compute & 1;
            tw_status status = tw_plan_search(ctx, model, machine, &some, &plan);
            CHECK_EQ(status, !offered ? TW_ERR_INPUT : TW_OK);
            bool pads_less = machine->engine[machine->compute].pad_half && strstr(workload[w], "dilation");
            if (status == TW_OK) CHECK_EQ(tw_plan_model(plan)->n_ops, pads_less ? 2 : 1); /* padding is written */
            for (int o = 0; status == TW_OK && o < tw_plan_model(plan)->n_ops; o++)
                must_verify_op(ctx, plan, o, workload[w]);
            tw_context_free(ctx);
        }
}

/* A random mapping: counts per loop and level, slots, orders as declared, some levels passed through. */
static void random_mapping(uint64_t *rng, const tw_model *model, const char *mode, char *text, size_t n)
{
    const tw_op *op = &model->op[0];
    static const char *const at[] = {"l3", "l2", "l1"};
    size_t len = (size_t)snprintf(text, n, "mapping: {%s: {levels: [", op->name);
    int64_t left[TW_MAX_LOOPS];
    for (int l = 0; l < op->n_loops; l++) left[l] = op->loop[l].extent;
    for (int level = 0; level < 3; level++) {
        if (level < 2 && tw_test_pick(rng, 0, 2) == 0) {
            len += (size_t)snprintf(text + len, n - len, "{at: %s, pass: true, buffers: {ofm: %d}}, ", at[level],
                                    (int)tw_test_pick(rng, 2, 3));
            continue;
        }
        bool by_size = tw_test_pick(rng, 0, 3) == 0;
        len += (size_t)snprintf(text + len, n - len, "{at: %s, accumulate: %s, %s: {", at[level], mode,
                                by_size ? "sizes" : "tiles");
        for (int l = 0; l < op->n_loops; l++) {
            int64_t c = tw_test_pick(rng, 1, tw_min(left[l], 3));
            int64_t size = tw_cdiv(left[l], c);
            len += (size_t)snprintf(text + len, n - len, "%s%s: %" PRId64, l ? ", " : "", op->loop[l].name,
                                    by_size ? size : c);
            left[l] = by_size ? 1 : left[l] / c; /* smallest piece that reaches the next level */
        }
        len += (size_t)snprintf(text + len, n - len, "}, buffers: {");
        for (int o = 0; o + 1 < op->n_operands; o++)
            len += (size_t)snprintf(text + len, n - len, "%s: %d, ", op->operand[o].name,
                                    (int)tw_test_pick(rng, 1, 3));
        len += (size_t)snprintf(text + len, n - len, "ofm: %d}}%s", (int)tw_test_pick(rng, 3, 4),
                                level < 2 ? ", " : "");
    }
    snprintf(text + len, n - len, "]}}");
}

/* Every link carries at least what the operator touches, and all operands together what its mover moved. */
static void check_traffic(const tw_plan *plan)
{
    for (int m = 1; m < tw_plan_n_memories(plan); m++) {
        int64_t units = 0, transfers = 0, moved = 0, moves = 0;
        for (int o = 0; o < tw_plan_n_operands(plan, 0); o++) {
            const tw_link_use *use = tw_plan_link_use(plan, 0, m, o);
            CHECK(use->units >= use->least_units);
            units += use->units;
            transfers += use->transfers;
        }
        char mover[16];
        snprintf(mover, sizeof mover, "move%d", 4 - m);
        for (int e = 0; e < tw_plan_n_engines(plan); e++) {
            const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
            if (strcmp(use->engine, mover) != 0) continue;
            moved = use->load_units + use->store_units;
            moves = use->loads + use->stores;
        }
        CHECK_EQ(units, moved);
        CHECK_EQ(transfers, moves);
    }
}

TEST(random_nests_through_three_levels_verify)
{
    static const char *const workload[] = {
        "matmul:9x7x8,dtype=i8",
        "conv:3x7x6,out=4,kernel=3,pad=1",
        "conv:2x6x6,out=2,kernel=3,pad=2x0x1x2,stride=2,dtype=i8",
        "conv:2x4x4,out=2,kernel=3,stride=2,pad=1,transposed",
        "conv:1x3x3,out=1,kernel=1,pad=2",
        "dwconv:4x6x6,kernel=3,dilation=2,pad=2",
        "pool:2x7x7,kernel=3,stride=2,pad=1",
        "pool:2x6x5,kernel=2,stride=3,ceil,type=average",
        "add:5x6",
        "gemv:9x10",
        "conv:4x5x5,out=4,kernel=3,groups=2,pad=1",
    };
    uint64_t rng = tw_test_seed();
    int64_t passed = 0;
    int rounds = tw_test_rounds(1000);
    for (int i = 0; i < rounds; i++) {
        uint64_t seed = rng;
        const char *line = workload[tw_test_pick(&rng, 0, (int64_t)TW_COUNT(workload) - 1)];
        const char *mode = (const char *const[]){"separate", "in-place", "fused"}[tw_test_pick(&rng, 0, 2)];
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        char mapping[2048];
        parts p;
        CHECK_EQ(tw_model_open(ctx, line, &model), TW_OK);
        random_mapping(&rng, model, mode, mapping, sizeof mapping);
        if (plan_of(ctx, line, "tick-three-level", mapping, &p) != TW_OK) {
            print_error("case %d, seed %" PRIu64 ": %s\n%s\n%s\n", i, seed, tw_context_message(ctx, 0), line,
                        mapping);
            fail();
        }
        const tw_verdict *v = NULL;
        tw_verify_options options = {.reference = tw_oracle_reference, .seed = seed};
        if (tw_plan_verify(ctx, p.plan, 0, &options, &v) != TW_OK) {
            print_error("case %d, seed %" PRIu64 ": %s\n%s\n%s\n", i, seed, v ? v->first_fault : "?", line,
                        mapping);
            fail();
        }
        passed += v->equal;
        check_traffic(p.plan);
        tw_context_free(ctx);
    }
    CHECK_EQ(passed, rounds);
}

TEST(limits_of_the_machine_are_refusals_with_numbers)
{
    static const char machine[] =
        "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: l2, size: "
        "5000}, {name: l1, size: 1000}], "
        "engines: [{name: dma, between: [out, l2], channels: 1, cost: {latency: 10, per_cycle: 1}}, "
        "{name: mv, between: [l2, l1], channels: 1, cost: {latency: 1, per_cycle: 8}}, "
        "{name: mac, computes: [multiply-add], on: l1, cost: {constant: 1}, accumulate: fused, min_tile: 4, "
        "pad_limit: half-kernel}]}";
    static const struct {
        const char *workload, *mapping, *text;
        tw_status status;
    } bad[] = {
        {"matmul:16x16x16", "mapping: {matmul: {levels: [{at: l2}, {at: l1, tiles: {m: 5, n: 4}}]}}",
         "mapping:1:39: infeasible: tiles of loop 'm' at 'l1' have 3 points, engine 'mac' needs at least 4",
         TW_INFEASIBLE},
        {"matmul:64x64x64",
         "mapping: {matmul: {levels: [{at: l2, tiles: {m: 4}}, {at: l1, tiles: {m: 4, n: 4, k: 4}}]}}",
         "mapping:1:29: infeasible: memory 'l2' is short by 1144: buffers need 6144 of 5000", TW_INFEASIBLE},
        {"matmul:16x16x16", "mapping: {matmul: {levels: [{at: l2, pass: true}, {at: l1, tiles: {m: 2}}]}}",
         "mapping:1:29: infeasible: 'l2' cannot be passed through: 128 units of 'ifm' take 138 cycles on 'dma' and "
         "cannot hide behind 17 on 'mv'",
         TW_INFEASIBLE},
        {"conv:2x9x9,out=2,kernel=3,pad=2", "mapping: {conv: {levels: [{at: l2}, {at: l1}]}}",
         "<workload>:1:1: infeasible: a tile of 'ifm' has 2 elements of padding, engine 'mac' takes at most 1 for "
         "a kernel of 3; the padding must be "
         "materialised",
         TW_INFEASIBLE},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        tw_context *ctx = tw_context_new();
        parts p;
        CHECK_EQ(plan_of(ctx, bad[i].workload, machine, bad[i].mapping, &p), bad[i].status);
        CHECK_STR(tw_context_message(ctx, 0), bad[i].text);
        tw_context_free(ctx);
    }
}

static const char multiple_lockstep[] =
    "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: l2, size: "
    "unlimited}, {name: l1, size: unlimited}], "
    "engines: [{name: dma, between: [out, l2], channels: 1, cost: {constant: 1}}, "
    "{name: mv, between: [l2, l1], channels: 1, cost: {constant: 1}}, "
    "{name: mac, computes: [multiply-add], on: l1, cost: {constant: 1}, accumulate: fused, tile_multiple: %d}]}";
static const char multiple_async[] =
    "{machine: m, unit: element, timing: async, memories: [{name: out, size: unlimited}, {name: l2, size: "
    "unlimited}, {name: l1, size: unlimited}], "
    "engines: [{name: dma, between: [out, l2], cost: {constant: 1}}, {name: mv, between: [l2, l1], cost: "
    "{constant: "
    "1}}, {name: mac, computes: [multiply-add], on: l1, cost: {constant: 1}, tile_multiple: %d}]}";

/* Evaluates a mapping of matmul:100x16x16 whose levels are given, where tiles must be multiples of n. */
static tw_status eval_multiple(tw_context *ctx, bool async, int n, const char *l2, const char *l1, parts *p)
{
    char text[1000], mapping[300];
    snprintf(text, sizeof text, async ? multiple_async : multiple_lockstep, n);
    snprintf(mapping, sizeof mapping, "mapping: {matmul: {levels: [{at: l2, %s}, {at: l1, %s}]}}", l2, l1);
    return plan_of(ctx, "matmul:100x16x16", text, mapping, p);
}

TEST(tiles_of_a_cut_loop_are_multiples_but_for_the_last)
{
    static const struct {
        const char *l2, *l1, *text; /* NULL: it is allowed */
    } row[] = {
        {"tiles: {m: 1}", "tiles: {m: 1}", NULL}, /* 100 points, but not cut */
        {"tiles: {m: 1}", "sizes: {m: 16, n: 8, k: 8}", NULL},
        {"pass: true", "sizes: {m: 48}", NULL},
        {"sizes: {m: 32}", "sizes: {m: 16}", NULL},
        {"sizes: {m: 48}", "tiles: {m: 1}", NULL}, /* cut outside, handed on whole */
        {"tiles: {m: 1}", "sizes: {m: 20}",
         "mapping:1:54: infeasible: a tile of loop 'm' at 'l1' has 20 points, engine 'mac' needs a multiple of 8 "
         "in all "
         "but the last"},
        {"tiles: {m: 1}", "tiles: {m: 5}, cut: balanced",
         "mapping:1:54: infeasible: a tile of loop 'm' at 'l1' has 20 points, engine 'mac' needs a multiple of 8 "
         "in all "
         "but the last"},
        {"tiles: {m: 2}", "sizes: {m: 16}", /* 16 16 16 2, twice */
         "mapping:1:54: infeasible: a tile of loop 'm' at 'l1' has 2 points, engine 'mac' needs a multiple of 8 in "
         "all "
         "but the last"},
        {"sizes: {m: 50}", "tiles: {m: 1}",
         "mapping:1:55: infeasible: a tile of loop 'm' at 'l1' has 50 points, engine 'mac' needs a multiple of 8 "
         "in all "
         "but the last"},
        {"tiles: {m: 1}", "tiles: {k: 5}", /* 4 3 3 3 3 */
         "mapping:1:54: infeasible: a tile of loop 'k' at 'l1' has 4 points, engine 'mac' needs a multiple of 8 in "
         "all "
         "but the last"},
    };
    for (int async = 0; async < 2; async++)
        for (size_t i = 0; i < TW_COUNT(row); i++) {
            tw_context *ctx = tw_context_new();
            parts p;
            tw_status status = eval_multiple(ctx, async, 8, row[i].l2, row[i].l1, &p);
            CHECK_EQ(status, row[i].text ? TW_INFEASIBLE : TW_OK);
            if (row[i].text) CHECK_STR(tw_context_message(ctx, 0), row[i].text);
            if (!row[i].text) must_verify(ctx, p.plan, row[i].l1);
            tw_context_free(ctx);
        }
}

TEST(tiles_of_a_loop_with_a_list_have_sizes_of_it_and_the_last_is_no_longer)
{
    static const char machine[] =
        "{machine: m, unit: element, timing: async, memories: [{name: out, size: unlimited}, {name: l2, size: "
        "unlimited}, {name: l1, size: unlimited}], engines: [{name: dma, between: [out, l2], cost: {constant: 1}}, "
        "{name: mv, between: [l2, l1], cost: {constant: 1}}, {name: mac, computes: [multiply-add], memory: l1, "
        "cost: "
        "{constant: 1}, tile_multiple: 7, tile_sizes: {m: [40, 16, 24], n: [16], k: [16], oc: [3]}}]}";
    static const struct {
        const char *l2, *l1, *text; /* NULL: it is allowed */
    } row[] = {
        {"pass: true", "sizes: {m: 40}", NULL},
        {"pass: true", "sizes: {m: 24}", NULL},     /* 24 24 24 24 4 */
        {"sizes: {m: 64}", "sizes: {m: 24}", NULL}, /* 24 24 16 | 24 12 */
        {"sizes: {m: 40}", "tiles: {m: 1}", NULL},  /* 40 | 40 | 20 */
        {"tiles: {m: 1}", "tiles: {m: 1}",
         "the last tile of loop 'm' at 'l1' has 100 points, engine 'mac' takes at most 40"},
        {"sizes: {m: 56}", "sizes: {m: 40}", NULL}, /* 40 16 | 40 4 */
        {"sizes: {m: 48}", "sizes: {m: 40}",        /* 40 8 | .. */
         "a tile of loop 'm' at 'l1' has 8 points, which is none of the sizes that engine 'mac' takes"},
        {"pass: true", "sizes: {m: 32}",
         "a tile of loop 'm' at 'l1' has 32 points, which is none of the sizes that engine 'mac' takes"},
        {"pass: true", "sizes: {m: 16, n: 8}",
         "a tile of loop 'n' at 'l1' has 8 points, which is none of the sizes that engine 'mac' takes"},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        parts p;
        char mapping[300];
        snprintf(mapping, sizeof mapping, "mapping: {matmul: {levels: [{at: l2, %s}, {at: l1, %s}]}}", row[i].l2,
                 row[i].l1);
        CHECK_EQ(plan_of(ctx, "matmul:100x16x16", machine, mapping, &p), row[i].text ? TW_INFEASIBLE : TW_OK);
        if (row[i].text) CHECK(strstr(tw_context_message(ctx, 0), row[i].text));
        if (!row[i].text) must_verify(ctx, p.plan, row[i].l1);
        tw_context_free(ctx);
    }
}

/* Appends the tiles of a piece, cut into x tiles as evenly as can be or into tiles of x. */
static int cut_evenly(int64_t len, int64_t x, bool by_size, int64_t *tile)
{
    int n = 0;
    for (int64_t i = 0, left = len; left > 0; i++, n++) {
        tile[n] = by_size ? tw_min(x, left) : len / x + (i < len % x);
        left -= tile[n];
    }
    return n;
}

TEST(multiples_are_judged_tile_by_tile)
{
    uint64_t rng = tw_test_seed();
    int n_good = 0, rounds = tw_test_rounds(3000);
    for (int i = 0; i < rounds; i++) {
        int64_t middle[100], tile[200], x[2], multiple = tw_test_pick(&rng, 1, 9);
        bool by_size[2], good = true;
        char level[2][60];
        for (int l = 0; l < 2; l++) {
            by_size[l] = tw_test_pick(&rng, 0, 2) != 0;
            x[l] = by_size[l] ? tw_test_pick(&rng, 1, 100) : tw_test_pick(&rng, 1, l ? 3 : 8);
            if (l == 0 && by_size[0]) x[0] = tw_max(x[0], 3);
            snprintf(level[l], sizeof level[l], "%s: {m: %" PRId64 "}", by_size[l] ? "sizes" : "tiles", x[l]);
        }
        int n_middle = cut_evenly(100, x[0], by_size[0], middle), n = 0;
        if (!by_size[1] && x[1] > middle[n_middle - 1]) continue; /* cannot be cut so */
        for (int k = 0; k < n_middle; k++) n += cut_evenly(middle[k], x[1], by_size[1], tile + n);
        for (int k = 0; k + 1 < n; k++) good &= tile[k] % multiple == 0;
        tw_context *ctx = tw_context_new();
        parts p;
        CHECK_EQ(eval_multiple(ctx, i % 2, (int)multiple, level[0], level[1], &p), good ? TW_OK : TW_INFEASIBLE);
        n_good += good;
        tw_context_free(ctx);
    }
    CHECK(n_good > rounds / 10 && n_good < rounds * 5 / 6);
}

/* A long latency hides behind a slow link as long as the tiles that really occur are large enough. */
TEST(links_are_compared_at_the_tiles_that_occur)
{
    static const char machine[] =
        "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: l2, size: "
        "50000}, {name: l1, size: 20000}], "
        "engines: [{name: dma, between: [out, l2], channels: 1, cost: {latency: 10, per_cycle: 1000}}, "
        "{name: mv, between: [l2, l1], channels: 1, cost: {latency: 0, per_cycle: 1}}, "
        "{name: mac, computes: multiply-add, on: l1, accumulate: fused, cost: {constant: 1}}]}";
    static const struct {
        const char *tiles;
        tw_status status;
    } row[] = {{"m: 2, n: 2", TW_OK}, {"m: 64, n: 64, k: 64", TW_INFEASIBLE}, {"m: 4, n: 4, k: 16", TW_OK}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        char mapping[256];
        parts p;
        snprintf(mapping, sizeof mapping,
                 "mapping: {matmul: {levels: [{at: l2, pass: true}, {at: l1, tiles: {%s}}]}}", row[i].tiles);
        CHECK_EQ(plan_of(ctx, "matmul:64x64x64", machine, mapping, &p), row[i].status);
        if (row[i].status == TW_OK) must_verify(ctx, p.plan, row[i].tiles);
        tw_context_free(ctx);
    }
}

TEST(a_mapping_that_does_not_fit_is_told_the_smallest_change_that_does)
{
    static const struct {
        const char *level, *note;
    } row[] = {
        {"tiles: {m: 1}", "mapping:1:29: note: it fits with 2 tiles along 'm' at 'buffer'"},
        {"tiles: {m: 2}, buffers: {ifm: 3}", "mapping:1:29: note: it fits with 1 buffer of 'ifm' at 'buffer'"},
        {"tiles: {m: 64, n: 1, k: 1}, buffers: {w: 3}",
         "mapping:1:29: note: it fits with 2 buffers of 'w' at 'buffer'"},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_context *ctx = tw_context_new();
        char mapping[256];
        parts p;
        snprintf(mapping, sizeof mapping, "mapping: {matmul: {levels: [{at: buffer, %s}]}}", row[i].level);
        CHECK_EQ(plan_of(ctx, "matmul:64x64x64", "tick-10k", mapping, &p), TW_INFEASIBLE);
        CHECK_STR(tw_context_message(ctx, tw_context_n_messages(ctx) - 1), row[i].note);
        tw_context_free(ctx);
    }
    /* No single change helps. */
    tw_context *ctx = tw_context_new();
    parts p;
    CHECK_EQ(plan_of(ctx, "matmul:1000x1000x1000", "tick-10k", "mapping: {matmul: {levels: [{at: buffer}]}}", &p),
             TW_INFEASIBLE);
    CHECK_STR(tw_context_message(ctx, tw_context_n_messages(ctx) - 1),
              "tick-10k:7:5: note: memory 'buffer' declared here with 10000");
    tw_context_free(ctx);
}

TEST(a_cut_must_suit_every_piece_that_reaches_it)
{
    static const struct {
        const char *mapping, *text;
    } bad[] = {
        {"mapping: {matmul: {levels: [{at: l3, tiles: {m: 3}}, {at: l2}, {at: l1, tiles: {m: 6}}]}}",
         "mapping:1:64: error: loop 'm' has 5 points at 'l1', fewer than 6 tiles"},
        {"mapping: {matmul: {levels: [{at: l3, tiles: {k: 2}}, {at: l2}, {at: l1, tiles: {k: 5}, cut: greedy}]}}",
         "mapping:1:64: error: a greedy cut of 8 points of 'k' at 'l1' never makes 5 tiles; the next count that it "
         "makes is 8"},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        tw_context *ctx = tw_context_new();
        parts p;
        CHECK_EQ(plan_of(ctx, "matmul:16x16x16", "tick-three-level", bad[i].mapping, &p), TW_ERR_INPUT);
        CHECK_STR(tw_context_message(ctx, 0), bad[i].text);
        tw_context_free(ctx);
    }
}

TEST(tiles_that_lie_in_padding_are_filled_and_not_loaded)
{
    tw_context *ctx = tw_context_new();
    parts p;
    CHECK_EQ(plan_of(ctx, "conv:1x4x4,out=1,kernel=1,pad=2x0x2x0", "tick-10k",
                     "mapping: {conv: {levels: [{at: buffer, tiles: {oy: 4}}]}}", &p),
             TW_OK);
    const tw_engine_use *move = tw_plan_engine_use(p.plan, 0, 0), *mac = tw_plan_engine_use(p.plan, 0, 1);
    CHECK_EQ(move->loads, 3); /* two tiles of rows and the weight, not four */
    CHECK_EQ(move->stores, 4);
    CHECK_EQ(mac->ops, 4); /* two executions, two fills */
    CHECK_EQ(tw_plan_summary(p.plan)->macs, 2 * 2 * 4);
    must_verify(ctx, p.plan, "padding");
    tw_context_free(ctx);
}
