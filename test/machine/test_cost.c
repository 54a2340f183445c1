/* test/machine/test_cost.c - what can be asked of every kind of cost. */
#include "machine/cost_kind.h"
#include "tw_test.h"

static tw_cost random_cost(uint64_t *rng)
{
    int64_t cycles = tw_test_pick(rng, 0, 90), work = tw_test_pick(rng, 1, 40), milli = tw_test_pick(rng, 0, 9000);
    switch ((tw_cost_kind)tw_test_pick(rng, 0, TW_N_COSTS - 1)) {
    case TW_COST_LINEAR: return (tw_cost){TW_COST_LINEAR, .linear = {cycles, work}};
    case TW_COST_STEPPED: return (tw_cost){TW_COST_STEPPED, .stepped = {.step = work, .per_step = cycles}};
    case TW_COST_DESCRIPTOR:
        return (tw_cost){TW_COST_DESCRIPTOR, .descriptor = {.barrier = milli,
                                                            .setup = tw_test_pick(rng, 0, 9000),
                                                            .per_row = tw_test_pick(rng, 0, 900),
                                                            .per_beat = tw_test_pick(rng, 0, 2000),
                                                            .beat = work,
                                                            .fill_waits = cycles,
                                                            .clash_waits = cycles}};
    case TW_COST_KERNEL:
        return (tw_cost){TW_COST_KERNEL, .kernel = {.barrier = milli,
                                                    .start = tw_test_pick(rng, 0, 9000),
                                                    .per_lane = tw_test_pick(rng, 0, 900),
                                                    .per_point = tw_test_pick(rng, 0, 2000),
                                                    .cores = tw_test_pick(rng, 1, 8),
                                                    .depth = 1,
                                                    .banks = {8, 8, 2, cycles, cycles, 3, 4}}};
    case TW_COST_ARRAY:
        return (tw_cost){TW_COST_ARRAY,
                         .array = {.latency = cycles, .n_dims = 2, .dim = {"a", "b"}, .size = {work, 3}}};
    case TW_COST_CONSTANT:
    case TW_N_COSTS: break;
    }
    return (tw_cost){TW_COST_CONSTANT, .constant = {cycles, tw_test_pick(rng, 0, cycles)}};
}

/* What tw_cost_cycles takes for a command of so much work: of a kernel points of one row, of an array passes. */
static int64_t work_of(const tw_cost *cost, int64_t work)
{
    tw_shape row = {1, 1, work, 0, work};
    tw_kernel_nest points = {1, 1, work, work};
    if (cost->kind == TW_COST_DESCRIPTOR) return tw_cost_of_transfer(&cost->descriptor, &row);
    return cost->kind == TW_COST_KERNEL ? tw_cost_of_kernel(&cost->kernel, &points, false) : work;
}

TEST(commands_together_take_no_less_than_the_least)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 20000; i++) {
        tw_cost cost = random_cost(&rng);
        bool pipelined = tw_cost_has_latency(&cost) && tw_test_pick(&rng, 0, 1);
        int64_t n = tw_test_pick(&rng, 1, 6), all = 0, busy = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t work = tw_test_pick(&rng, 1, 100);
            all += work;
            busy += tw_cost_busy(&cost, pipelined, work_of(&cost, work));
        }
        CHECK(tw_cost_least(&cost, pipelined, n, all) <= busy);
        CHECK_EQ(tw_cost_least(&cost, pipelined, 0, all), 0);
    }
}

TEST(no_command_is_faster_than_the_rate_or_shorter_than_what_each_of_them_takes)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 20000; i++) {
        tw_cost cost = random_cost(&rng);
        int64_t work = tw_test_pick(&rng, 1, 500), of, grain = tw_cost_grain(&cost, &of);
        int64_t cycles = tw_cost_cycles(&cost, work_of(&cost, work));
        double rate = tw_cost_rate(&cost);
        CHECK(cycles >= tw_cost_fixed(&cost));
        CHECK(tw_cost_busy(&cost, false, work_of(&cost, work)) <= cycles);
        if (grain > 0) CHECK_EQ(cycles, tw_cost_fixed(&cost) + of * tw_cdiv(work, grain));
        if (rate > 0 && cost.kind != TW_COST_ARRAY) CHECK((double)cycles * rate >= (double)work * 0.999);
    }
}

TEST(what_is_calm_is_not_disturbed_and_otherwise_the_same)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 4000; i++) {
        tw_cost cost = random_cost(&rng), calm = cost;
        int64_t work = tw_test_pick(&rng, 1, 500);
        tw_kernel_nest points = {1, 1, work, work};
        tw_cost_calm(&calm);
        CHECK_EQ(tw_cost_cycles(&calm, work_of(&calm, work)), tw_cost_cycles(&cost, work_of(&cost, work)));
        if (!tw_cost_contends(&cost)) continue;
        CHECK_EQ(tw_cost_of_kernel(&calm.kernel, &points, true), tw_cost_of_kernel(&cost.kernel, &points, false));
    }
}

TEST(only_costs_in_thousandths_have_a_barrier)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 4000; i++) {
        tw_cost cost = random_cost(&rng), before = cost;
        bool can = tw_cost_set_barrier(&cost, 7000);
        CHECK_EQ(can, cost.kind == TW_COST_DESCRIPTOR || cost.kind == TW_COST_KERNEL);
        CHECK_EQ(tw_cost_cycles(&cost, 1), can ? 8 : tw_cost_cycles(&before, 1));
    }
}

TEST(a_cost_is_of_the_engine_that_can_have_it)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 4000; i++) {
        tw_cost cost = random_cost(&rng);
        CHECK_EQ(tw_cost_check(&cost, TW_MOVES), cost.kind != TW_COST_KERNEL && cost.kind != TW_COST_ARRAY);
        CHECK_EQ(tw_cost_check(&cost, TW_COMPUTES), cost.kind != TW_COST_DESCRIPTOR);
    }
}
