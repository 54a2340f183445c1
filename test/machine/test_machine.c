/* test/machine/test_machine.c - machine files, costs and the validator. */
#include "tw_read.h"

static const char small[] =
    "machine: small\n"
    "unit: byte\n"
    "timing: lockstep\n"
    "memories:\n"
    "  - {name: dram, size: unlimited}\n"
    "  - {name: l1, size: 64 KiB, align: 64}\n"
    "engines:\n"
    "  - {name: adder, computes: sum, on: l1, shares: mac, cost: {step: 16, per_step: 2}}\n"
    "  - {name: dma, between: [dram, l1], channels: 1, cost: {latency: 100, per_cycle: 32}}\n"
    "  - {name: mac, computes: multiply-add, on: l1, accumulate: fused, min_tile: 8,\n"
    "     pad_limit: half-kernel, cost: {constant: 3}}\n";

static void read_or_fail(tw_bench *b, const char *text, tw_machine *machine)
{
    tw_status status = tw_read_machine(b, "m.yaml", text, machine);
    if (status != TW_OK) print_error("%s\n%s\n", text, b->diag.last ? b->diag.last : "");
    CHECK_EQ(status, TW_OK);
}

static void check_round_trip(tw_bench *b, const tw_machine *machine)
{
    tw_text first = {0}, second = {0};
    tw_machine again;
    tw_machine_print(machine, &first);
    read_or_fail(b, first.bytes, &again);
    tw_machine_print(&again, &second);
    CHECK_STR(second.bytes, first.bytes);
    tw_text_release(&first);
    tw_text_release(&second);
}

TEST(every_field_of_a_machine_file_arrives)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, small, &m);
    CHECK_EQ(m.unit, TW_UNIT_BYTE);
    CHECK_EQ(m.memory[0].size, TW_UNLIMITED);
    CHECK_EQ(m.memory[1].size, 65536);
    CHECK_EQ(m.memory[1].align, 64);
    CHECK_EQ(m.compute, 2);
    CHECK_EQ(tw_machine_mover(&m, 1), 1);
    CHECK_EQ(tw_machine_adder(&m, 1), 0);
    CHECK_EQ(tw_machine_adder(&m, 0), -1);
    CHECK_EQ(m.engine[0].shares, 2);
    CHECK(m.engine[1].one_channel);
    CHECK_EQ(m.engine[2].computes, 1U << TW_MULTIPLY_ADD);
    CHECK_EQ(m.engine[2].accumulate, 1U << TW_FUSED);
    CHECK_EQ(m.engine[2].min_tile, 8);
    CHECK(m.engine[2].pad_half);
    CHECK_EQ(tw_machine_units(&m, TW_DTYPE_I32, 10), 40);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}

TEST(the_example_machines_are_read_and_printed_back)
{
    static const char *const name[] = {"tick-10k", "tick-50k", "tick-100k", "tick-costed", "tick-three-level"};
    for (size_t i = 0; i < TW_COUNT(name); i++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        read_or_fail(&b, tw_read_source(&b, tw_arena_printf(b.arena, "examples/machines/%s.yaml", name[i])), &m);
        CHECK_STR(m.name, name[i]);
        CHECK_EQ(tw_machine_units(&m, TW_DTYPE_F64, 10), 10);
        check_round_trip(&b, &m);
        tw_bench_free(&b);
    }
}

TEST(costs_are_constant_linear_or_stepped)
{
    tw_cost constant = {TW_COST_CONSTANT, 5, 0}, linear = {TW_COST_LINEAR, 64, 32},
            stepped = {TW_COST_STEPPED, 7, 100};
    CHECK_EQ(tw_cost_cycles(&constant, 1000), 5);
    CHECK_EQ(tw_cost_cycles(&linear, 0), 64);
    CHECK_EQ(tw_cost_cycles(&linear, 32), 65);
    CHECK_EQ(tw_cost_cycles(&linear, 33), 66);
    CHECK_EQ(tw_cost_cycles(&stepped, 0), 0);
    CHECK_EQ(tw_cost_cycles(&stepped, 100), 7);
    CHECK_EQ(tw_cost_cycles(&stepped, 101), 14);
}

TEST(costs_saturate)
{
    tw_cost linear = {TW_COST_LINEAR, 2, 1}, stepped = {TW_COST_STEPPED, 2, 1};
    CHECK_EQ(tw_cost_cycles(&linear, INT64_MAX), INT64_MAX);
    CHECK_EQ(tw_cost_cycles(&stepped, INT64_MAX), INT64_MAX);
}

typedef void (*breaker)(tw_machine *m);
static void no_mover(tw_machine *m) { m->engine[1].kind = TW_ADDS; }
static void two_movers(tw_machine *m) { m->engine[m->n_engines++] = m->engine[1]; }
static void outer_compute(tw_machine *m) { m->engine[2].memory = 0; }
static void two_computes(tw_machine *m) { m->engine[m->n_engines++] = m->engine[2]; }
static void two_adders(tw_machine *m) { m->engine[m->n_engines++] = m->engine[0]; }
static void one_memory(tw_machine *m) { m->n_memories = 1; }
static void no_size(tw_machine *m) { m->memory[1].size = 0; }
static void far_share(tw_machine *m) { m->engine[0].memory = 0; }

TEST(a_broken_machine_is_not_accepted)
{
    static const breaker all[] = {no_mover,   two_movers, outer_compute, two_computes,
                                  two_adders, one_memory, no_size,       far_share};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        read_or_fail(&b, small, &m);
        CHECK_EQ(tw_machine_check(&m, &b.diag), TW_OK);
        all[i](&m);
        CHECK_EQ(tw_machine_check(&m, &b.diag), TW_ERR_INPUT);
        tw_bench_free(&b);
    }
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    for (int64_t n = 1;; n++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        tw_arena_fail_at(b.arena, n);
        tw_status status = tw_read_machine(&b, "m.yaml", small, &m);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&b);
        if (status == TW_OK) break;
        CHECK(n < 1000);
    }
}
