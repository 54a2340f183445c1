/* test/report/test_losses.c - where the time goes: parts add up to the time of every plan, and say what can be seen. */
#include "async_random.h"
#include "losses_check.h"
#include "plan/plan.h"
#include "report/facts/jointfacts.h"
#include "report/facts/losses.h"

#include <stdio.h>
#include <string.h>

/* ---- random plans ---- */

TEST(the_losses_of_random_streams_add_up_to_their_time)
{
    uint64_t rng = tw_test_seed();
    int n = tw_test_rounds(6000), n_plans = 0;
    for (int i = 0; i < n; i++) {
        async_random r =
            async_random_make(&rng, (async_wish){.long_loops = i % 4 == 0, .max_steps = i % 4 ? 0 : 2000});
        tw_context *ctx = tw_context_new();
        const tw_plan *plan;
        if (async_random_eval(ctx, &r, &plan) == TW_OK) {
            losses_check(plan);
            n_plans++;
        }
        tw_context_free(ctx);
    }
    printf("%d of %d have a plan\n", n_plans, n);
    CHECK(n_plans > n / 2);
}

static int64_t pick(uint64_t *rng, int64_t lo, int64_t hi) { return tw_test_pick(rng, lo, hi); }

static void add_cost(uint64_t *rng, FILE *f)
{
    int64_t form = pick(rng, 0, 2);
    if (form == 0) fprintf(f, "cost: {constant: %d}", (int)pick(rng, 0, 9));
    if (form == 1) fprintf(f, "cost: {latency: %d, per_cycle: %d}", (int)pick(rng, 0, 9), (int)pick(rng, 1, 8));
    if (form == 2) fprintf(f, "cost: {per_step: %d, step: %d}", (int)pick(rng, 1, 4), (int)pick(rng, 1, 9));
}

/* One to three memories inside the outermost, each with its mover and some with an adder. */
static void print_rows_machine(uint64_t *rng, int n, FILE *f)
{
    fprintf(f, "machine: m\nunit: element\ntiming: lockstep\nmemories:\n  - {name: m0, size: unlimited}\n");
    for (int m = 1; m <= n; m++) fprintf(f, "  - {name: m%d, size: unlimited}\n", m);
    fprintf(f, "engines:\n");
    for (int m = 1; m <= n; m++) {
        fprintf(f, "  - {name: move%d, between: [m%d, m%d], channels: %s, ", m, m - 1, m,
                pick(rng, 0, 1) ? "1" : "unlimited");
        add_cost(rng, f);
        fprintf(f, "}\n  - {name: add%d, computes: sum, on: m%d, ", m, m);
        add_cost(rng, f);
        fprintf(f, "%s}\n", m == n && pick(rng, 0, 1) ? ", shares: mac" : "");
    }
    fprintf(f, "  - {name: mac, computes: multiply-add, on: m%d, ", n);
    add_cost(rng, f);
    fprintf(f, "}\n");
}

/* `len` has the lengths of what the level cuts, and then those of its tiles. */
static void print_level(uint64_t *rng, int m, int64_t len[3], FILE *f)
{
    static const char *const mode[] = {"separate", "in-place", "fused"};
    for (int l = 0; l < 3; l++) len[l] = pick(rng, tw_cdiv(len[l], 4), len[l]);
    fprintf(f, "%s{at: m%d, ", m > 1 ? ", " : "", m);
    fprintf(f, "sizes: {m: %d, n: %d, k: %d}, ", (int)len[0], (int)len[1], (int)len[2]);
    fprintf(f, "order: [%s, k], buffers: {ifm: %d, w: %d, ofm: %d}, accumulate: %s}",
            pick(rng, 0, 1) ? "m, n" : "n, m", (int)pick(rng, 1, 3), (int)pick(rng, 1, 3), (int)pick(rng, 3, 4),
            mode[pick(rng, 0, 2)]);
}

static const tw_plan *plan_of(tw_context *ctx, const char *workload, const char *machine, const char *mapping)
{
    const tw_model *model;
    const tw_machine *m;
    const tw_mapping *map;
    const tw_plan *plan = NULL;
    bool read = tw_model_open(ctx, workload, &model) == TW_OK &&
                tw_machine_parse(ctx, "machine", machine, &m) == TW_OK &&
                tw_mapping_parse(ctx, model, m, "mapping", mapping, &map) == TW_OK;
    if (!read)
        printf("%s\n%s\n%s%s\n", tw_context_n_messages(ctx) ? tw_context_message(ctx, 0) : "?", workload, machine,
               mapping);
    CHECK(read);
    return tw_plan_eval(ctx, model, m, map, &plan) == TW_OK ? plan : NULL;
}

static bool check_rows(uint64_t *rng)
{
    char workload[64], machine[2000] = "", mapping[2000] = "";
    int n = (int)pick(rng, 1, 3);
    int64_t len[3] = {pick(rng, 1, 14), pick(rng, 1, 14), pick(rng, 1, 14)};
    snprintf(workload, sizeof workload, "matmul:%dx%dx%d,dtype=i8", (int)len[0], (int)len[1], (int)len[2]);
    FILE *f = fmemopen(machine, sizeof machine, "w");
    print_rows_machine(rng, n, f);
    fclose(f);
    f = fmemopen(mapping, sizeof mapping, "w");
    fprintf(f, "mapping: {matmul: {levels: [");
    for (int m = 1; m <= n; m++) print_level(rng, m, len, f);
    fprintf(f, "]}}\n");
    fclose(f);
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = plan_of(ctx, workload, machine, mapping);
    if (plan) losses_check(plan);
    tw_context_free(ctx);
    return plan != NULL;
}

TEST(the_losses_of_random_rows_add_up_to_their_time)
{
    uint64_t rng = tw_test_seed();
    int n = tw_test_rounds(6000), n_plans = 0;
    for (int i = 0; i < n; i++) n_plans += check_rows(&rng);
    printf("%d of %d have a plan\n", n_plans, n);
    CHECK(n_plans > n / 2);
}

/* ---- single ones ---- */

static const tw_plan *search(tw_context *ctx, const char *workload, const char *machine)
{
    const tw_model *model;
    const tw_machine *m;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, machine, &m), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, m, NULL, &plan), TW_OK);
    return plan;
}

TEST(the_losses_of_machines_that_come_with_the_library_add_up)
{
    static const char *const name[] = {"kpu", "snitch", "gemmini-like", "tpu-like", "tick-costed", "npu-like"};
    for (size_t i = 0; i < TW_COUNT(name); i++) {
        tw_context *ctx = tw_context_new();
        losses_check(
            search(ctx, strcmp(name[i], "snitch") == 0 ? "matmul:24x40x56,dtype=f64" : "matmul:37x29x53,dtype=i8",
                   name[i]));
        tw_context_free(ctx);
    }
}

/* On the array of the KPU, 16 x 16, with m over its rows and n over its columns, in tiles of this size. */
static void look_at_kpu(const char *workload, int m_size, tw_context *ctx, tw_arena *arena, tw_losses *out)
{
    char text[400];
    const tw_model *model;
    const tw_machine *m;
    const tw_mapping *map;
    const tw_plan *plan;
    snprintf(text, sizeof text,
             "mapping: {matmul: {levels: [{at: l3, pass: true}, {at: l2, pass: true}, {at: l1, pass: true}, {at: "
             "fabric, sizes: {m: %d, n: 16, k: 64}, unroll: {rows: m, columns: n}}]}}\n",
             m_size);
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "kpu", &m), TW_OK);
    if (tw_mapping_parse(ctx, model, m, "mapping", text, &map) != TW_OK) puts(tw_context_message(ctx, 0));
    CHECK_EQ(tw_plan_eval(ctx, model, m, map, &plan), TW_OK);
    CHECK_EQ(tw_losses_of_plan(plan, arena, out), TW_OK);
}

TEST(an_array_that_is_half_empty_says_which_loop_over_which_dimension)
{
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    tw_losses x;
    look_at_kpu("matmul:7x32x64,dtype=i8", 7, ctx, arena, &x);
    CHECK_EQ(x.peak, 7 * 32 * 64 / 256);
    CHECK_EQ(x.of[TW_LOSS_FILL], 2 * 64 - x.peak);
    CHECK_STR(tw_loss_text(&x.part[0], arena), "m 7 of 16 rows");
    tw_arena_free(arena);
    tw_context_free(ctx);
}

/* 20 rows in tiles of 16 and 4: what the tile of 4 loses is lost at the edge. */
TEST(a_smaller_tile_loses_at_the_edge)
{
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    tw_losses x;
    look_at_kpu("matmul:20x16x64,dtype=i8", 16, ctx, arena, &x);
    CHECK_EQ(x.peak, 20 * 16 * 64 / 256);
    CHECK_EQ(x.of[TW_LOSS_FILL], 0);
    CHECK_EQ(x.of[TW_LOSS_EDGE], 64 - 4 * 16 * 64 / 256);
    tw_arena_free(arena);
    tw_context_free(ctx);
}

/* A product of 6 x 16 x 32 points on two cores that do 4 and 8 points a cycle; the small one has rows 0 .. `rows` - 1, in the end none. */
static void look_at_cores(int rows, tw_arena *arena, tw_losses *out)
{
    static const char *const machine =
        "machine: two\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\ncores:\n"
        "  - name: small\n    memories: [{name: m, size: 8192}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 64}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [1, 4]}}\n"
        "  - name: large\n    memories: [{name: m, size: 8192}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 64}}\n"
        "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [1, 8]}}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *m;
    const tw_mapping *map;
    const tw_plan *plan;
    char text[400];
    if (rows > 0)
        snprintf(
            text, sizeof text,
            "groups:\n  - {split: {loop: m, cores: [small, large], shares: [%d, %d]}, ops: [matmul], levels: [{at: "
            "m}]}\n",
            rows, 6 - rows);
    else
        snprintf(text, sizeof text, "groups:\n  - {core: large, ops: [matmul], levels: [{at: m}]}\n");
    CHECK_EQ(tw_model_open(ctx, "matmul:6x16x32,dtype=i8", &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine, &m), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, m, "mapping", text, &map), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, m, map, &plan), TW_OK);
    losses_check(plan);
    CHECK_EQ(tw_losses_of_plan(plan, arena, out), TW_OK);
    tw_context_free(ctx);
}

TEST(cores_that_have_less_than_their_share_are_a_part_of_the_waterfall)
{
    tw_arena *arena = tw_arena_new();
    tw_losses x;
    look_at_cores(2, arena, &x); /* as their speeds are: 4 rows of 8 points a cycle, 2 of 4 */
    CHECK(x.all_cores);
    CHECK_EQ(x.peak, 6 * 16 * 32 / 12);
    CHECK_EQ(x.of[TW_LOSS_CORES], 0);
    look_at_cores(3, arena, &x); /* equal parts: the small one takes longer, and could do with less */
    CHECK_EQ(x.peak, 6 * 16 * 32 / 12);
    CHECK_EQ(x.of[TW_LOSS_CORES], 3 * 16 * 32 / 4 - x.peak);
    CHECK_EQ(x.part[0].kind, TW_LOSS_CORES);
    look_at_cores(0, arena, &x); /* one alone */
    CHECK_EQ(x.peak, 6 * 16 * 32 / 12);
    CHECK_EQ(x.of[TW_LOSS_CORES], 6 * 16 * 32 / 8 - x.peak);
    tw_arena_free(arena);
}

/* Layers of examples/16-three-cores in equal parts: the input crosses once and arrives three times; all tensors of a port add up to the port. */
TEST(what_several_cores_load_at_once_crosses_a_port_that_broadcasts_once)
{
    const char *source = getenv("TW_SOURCE");
    char path[3][600];
    static const char *const name[] = {"workload.yaml", "machine.yaml", "equal.yaml"};
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_port_traffic *traffic;
    int n;
    int64_t sum = 0;
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/examples/16-three-cores/%s", source ? source : ".", name[i]);
    CHECK_EQ(tw_model_open(ctx, path[0], &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, path[1], &machine), TW_OK);
    CHECK_EQ(tw_mapping_open(ctx, model, machine, path[2], &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
    losses_check(plan);
    CHECK_EQ(tw_joint_port_traffic(plan, &(tw_work){arena, arena, &diag}, &n, &traffic), TW_OK);
    for (int i = 0; i < n; i++) {
        sum += traffic[i].units;
        if (strcmp(model->tensor[traffic[i].tensor].name, "l0.ifm") != 0) continue;
        CHECK_EQ(traffic[i].transfers, 1);
        CHECK_EQ(traffic[i].units, 3 * 56 * 56);
        CHECK_EQ(traffic[i].delivered, 3 * 3 * 56 * 56);
    }
    CHECK_EQ(sum, plan->joint->timeline.port_units[0]);
    CHECK_EQ(sum, 3 * 56 * 56 + (3 + 3 * 8) * 8 * 9 + 4 * 8 * 56 * 56 + 3 * 8 * 56 * 56);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    tw_context_free(ctx);
}
