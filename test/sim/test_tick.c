/* test/sim/test_tick.c - the simulator against models.md 1.2, and both judges against the simulator. */
#include "tick_oracle.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

#include "cli/oracle.h"

typedef struct text {
    char workload[64], machine[1024], mapping[640];
} text;

static text text_of(const tick_case *c, bool shared_channel)
{
    text t;
    snprintf(t.workload, sizeof t.workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64 ",dtype=i8", c->M, c->N,
             c->K);
    snprintf(t.machine, sizeof t.machine,
             "machine: m\nunit: element\ntiming: lockstep\n"
             "memories: [{name: out, size: unlimited}, {name: buf, size: unlimited}]\n"
             "engines:\n"
             "  - {name: move, between: [out, buf], channels: %s, cost: {latency: 64, per_cycle: 32}}\n"
             "  - {name: mac, computes: multiply-add, on: buf, cost: {latency: 0, per_cycle: 1024}}\n"
             "  - {name: add, computes: sum, on: buf, cost: {latency: 0, per_cycle: 64}%s}\n",
             shared_channel ? "1" : "unlimited", c->shared ? ", shares: mac" : "");
    snprintf(t.mapping, sizeof t.mapping,
             "mapping: {matmul: {levels: [{at: buf, tiles: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64
             "}, cut: %s, "
             "order: [%s, k], buffers: {ifm: %d, w: %d, ofm: %d}, accumulate: %s}]}}\n",
             c->mt, c->nt, c->kt, c->greedy ? "greedy" : "balanced", c->nm ? "n, m" : "m, n", c->ni, c->nw, c->no,
             c->mode == 'S'   ? "separate"
             : c->mode == 'I' ? "in-place"
                              : "fused");
    return t;
}

static const tw_plan *plan_of(tw_context *ctx, const text *t)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan = NULL;
    if (tw_model_open(ctx, t->workload, &model) != TW_OK ||
        tw_machine_parse(ctx, "machine", t->machine, &machine) != TW_OK ||
        tw_mapping_parse(ctx, model, machine, "mapping", t->mapping, &mapping) != TW_OK ||
        tw_plan_eval(ctx, model, machine, mapping, &plan) != TW_OK)
        print_error("%s\n%s%s%s\n", tw_context_n_messages(ctx) ? tw_context_message(ctx, 0) : "?", t->workload,
                    t->machine, t->mapping);
    CHECK(plan != NULL);
    return plan;
}

static int64_t legal(uint64_t *rng, int64_t extent, int64_t count, bool greedy)
{
    (void)rng;
    while (greedy && (extent + (extent + count - 1) / count - 1) / ((extent + count - 1) / count) != count) count--;
    return count;
}

static tick_case random_case(uint64_t *rng)
{
    tick_case c = {.M = tw_test_pick(rng, 1, 14), .N = tw_test_pick(rng, 1, 14), .K = tw_test_pick(rng, 1, 14)};
    c.greedy = tw_test_pick(rng, 0, 1);
    c.mt = legal(rng, c.M, tw_test_pick(rng, 1, tw_min(c.M, 4)), c.greedy);
    c.nt = legal(rng, c.N, tw_test_pick(rng, 1, tw_min(c.N, 4)), c.greedy);
    c.kt = legal(rng, c.K, tw_test_pick(rng, 1, tw_min(c.K, 5)), c.greedy);
    c.mode = "SIF"[tw_test_pick(rng, 0, 2)];
    int least = c.kt == 1 || c.mode == 'F' ? 1 : c.mode == 'I' ? 2 : 3;
    c.ni = (int)tw_test_pick(rng, 1, 4);
    c.nw = (int)tw_test_pick(rng, 1, 4);
    c.no = (int)tw_test_pick(rng, least, least + 3);
    c.nm = tw_test_pick(rng, 0, 1);
    c.shared = tw_test_pick(rng, 0, 1);
    return c;
}

static void check_against_oracle(const tick_case *c, const tw_plan *plan, const tick_result *expected)
{
    const tw_summary *sum = tw_plan_summary(plan);
    const tw_engine_use *move = tw_plan_engine_use(plan, 0, 0);
    const tw_memory_use *buffer = tw_plan_memory_use(plan, 0, 1);
    (void)c;
    CHECK_EQ(sum->ticks, expected->ticks);
    CHECK_EQ(sum->execs, expected->T);
    CHECK_EQ(sum->cycles, expected->cost);
    CHECK_EQ(move->loads, expected->loads);
    CHECK_EQ(move->load_units, expected->load_elems);
    CHECK_EQ(move->stores, expected->stores);
    CHECK_EQ(buffer->static_units, expected->slots_elems);
    CHECK_EQ(buffer->peak_live, expected->peak_live);
}

/* Rows seen by an observer agree with the run that kept none. */
typedef struct seen {
    int64_t rows, peak, end;
} seen;
static tw_status see(void *user, const tw_row *row)
{
    seen *s = user;
    CHECK_EQ(row->tick, s->rows);
    CHECK_EQ(row->start_cycle, s->end);
    s->rows++;
    s->peak = tw_max(s->peak, row->live_units);
    s->end = row->end_cycle;
    return TW_OK;
}

TEST(ten_thousand_random_programs_agree_with_the_literal_rules_the_checker_and_the_executor)
{
    uint64_t rng = tw_test_seed();
    tw_verify_options with_blas = {.reference = tw_oracle_reference};
    for (int i = 0; i < 10000; i++) {
        uint64_t seed = rng;
        tick_case c = random_case(&rng);
        bool shared_channel = tw_test_pick(&rng, 0, 1);
        tick_result expected = tick_oracle(&c, shared_channel);
        tw_context *ctx = tw_context_new();
        text t = text_of(&c, shared_channel);
        const tw_plan *plan = plan_of(ctx, &t);
        check_against_oracle(&c, plan, &expected);
        seen s = {0};
        CHECK_EQ(tw_plan_walk(ctx, plan, 0, see, &s), TW_OK);
        CHECK_EQ(s.rows, expected.ticks);
        CHECK_EQ(s.peak, expected.peak_live);
        CHECK_EQ(s.end, expected.cost);
        const tw_verdict *verdict;
        with_blas.seed = seed;
        if (tw_plan_verify(ctx, plan, 0, &with_blas, &verdict) != TW_OK || !verdict->checked || !verdict->equal) {
            print_error("case %d, seed %" PRIu64 ": %s\n%s\n", i, seed, verdict->first_fault, t.mapping);
            fail();
        }
        tw_context_free(ctx);
    }
}

TEST(closed_forms_hold)
{
    for (int64_t n = 1; n <= 12; n++) {
        tick_case single = {
            .M = 12, .N = 12, .K = 12, .mt = n, .nt = 1, .kt = 1, .ni = 1, .nw = 1, .no = 1, .mode = 'F'};
        tick_case twice = single, sums = single;
        twice.ni = twice.nw = twice.no = 2;
        sums.mt = 1;
        sums.kt = n;
        sums.mode = 'I';
        sums.no = 2;
        tick_case *form[] = {&single, &twice, &sums};
        int64_t expected[] = {2 * n + 1, n + 2, n == 1 ? 3 : 2 * n + 2};
        for (size_t i = 0; i < TW_COUNT(form); i++) {
            tw_context *ctx = tw_context_new();
            text t = text_of(form[i], false);
            CHECK_EQ(tw_plan_summary(plan_of(ctx, &t))->ticks, expected[i]);
            tw_context_free(ctx);
        }
    }
}

/* models.md 1.6, costed direct: per outer level the first row's loads and the last store come on top. */
static int64_t transfer(int64_t elems) { return 64 + (elems + 31) / 32; }

static int64_t tile_at(int64_t extent, int64_t count, bool greedy, int64_t i)
{
    int64_t lo, hi;
    tw_split_tile(extent, count, greedy ? TW_GREEDY : TW_BALANCED, i, &lo, &hi);
    return hi - lo;
}

TEST(two_thousand_direct_plans_cost_the_inner_plan_plus_filling_and_draining)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        tick_case c = random_case(&rng);
        bool one = tw_test_pick(&rng, 0, 1);
        int64_t m = tile_at(c.M, c.mt, c.greedy, 0), n = tile_at(c.N, c.nt, c.greedy, 0),
                k = tile_at(c.K, c.kt, c.greedy, 0);
        int64_t first = one ? transfer(m * k) + transfer(k * n) : tw_max(transfer(m * k), transfer(k * n));
        int64_t last = transfer(tile_at(c.M, c.mt, c.greedy, c.mt - 1) * tile_at(c.N, c.nt, c.greedy, c.nt - 1));
        tick_result inner = tick_oracle(&c, one);
        text t = text_of(&c, one);
        char *levels = strstr(t.mapping, "[{at: buf");
        char tail[512];
        snprintf(tail, sizeof tail, "%s", levels + 1);
        snprintf(levels, sizeof t.mapping - (size_t)(levels - t.mapping),
                 "[{at: a, pass: true}, {at: b, pass: true}, %s", tail);
        const char *channel = one ? "1" : "unlimited";
        snprintf(t.machine, sizeof t.machine,
                 "machine: m\nunit: element\ntiming: lockstep\n"
                 "memories: [{name: out, size: unlimited}, {name: a, size: unlimited}, {name: b, size: unlimited}, "
                 "{name: buf, size: unlimited}]\n"
                 "engines:\n"
                 "  - {name: ma, between: [out, a], channels: %s, cost: {latency: 64, per_cycle: 32}}\n"
                 "  - {name: mb, between: [a, b], channels: %s, cost: {latency: 64, per_cycle: 32}}\n"
                 "  - {name: move, between: [b, buf], channels: %s, cost: {latency: 64, per_cycle: 32}}\n"
                 "  - {name: mac, computes: multiply-add, on: buf, cost: {latency: 0, per_cycle: 1024}}\n"
                 "  - {name: add, computes: sum, on: buf, cost: {latency: 0, per_cycle: 64}%s}\n",
                 channel, channel, channel, c.shared ? ", shares: mac" : "");
        tw_context *ctx = tw_context_new();
        const tw_plan *plan = plan_of(ctx, &t);
        const tw_verdict *verdict;
        CHECK_EQ(tw_plan_summary(plan)->ticks, inner.ticks + 4);
        CHECK_EQ(tw_plan_summary(plan)->cycles, inner.cost + 2 * (first + last));
        CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
        tw_context_free(ctx);
    }
}
