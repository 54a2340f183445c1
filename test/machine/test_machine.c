/* test/machine/test_machine.c - machine files, costs and the validator. */
#include "input/field.h"
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
    "  - {name: mac, computes: multiply-add, on: l1, accumulate: fused, min_tile: 8, tile_multiple: 4,\n"
    "     pad_limit: half-kernel, cost: {constant: 3}}\n";

/* Both forms of `holds`, every form of a cost, one engine for both ways, one for each, and one that joins. */
static const char async[] =
    "machine: stream\n"
    "unit: byte\n"
    "timing: async\n"
    "reuse: declared\n"
    "memories:\n"
    "  - {name: dram, size: unlimited, energy: 200 pJ}\n"
    "  - {name: l3, size: 128 KiB, holds: [output, inputs]}\n"
    "  - {name: l1, size: 32 KiB, holds: inputs, energy: 0.125pJ}\n"
    "  - {name: fabric, size: 4 KiB, holds: output}\n"
    "engines:\n"
    "  - {name: array, computes: multiply-add, on: fabric, energy: 0.2 pJ, cost: {array: [16, 8], latency: 5},\n"
    "     pipelined: true}\n"
    "  - {name: dma, between: [dram, l3], cost: {latency: 100, per_cycle: 64}, pipelined: true}\n"
    "  - {name: stream, between: [l3, l1], carries: in, joins: inputs, count: 2, cost: {constant: 10, busy: 4}}\n"
    "  - {name: drain, between: [l3, fabric], carries: out, cost: {constant: 7}}\n"
    "  - {name: back, between: [l3, fabric], carries: in, cost: {step: 64, per_step: 2}}\n";

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
    CHECK_EQ(m.engine[2].tile_multiple, 4);
    CHECK(m.engine[2].pad_half);
    CHECK_EQ(tw_machine_units(&m, TW_DTYPE_I32, 10), 40);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}

TEST(keys_that_are_left_out_have_their_defaults)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, small, &m);
    CHECK_EQ(m.memory[1].holds, TW_HOLDS_ALL);
    CHECK_EQ(m.memory[1].energy_fj, 0);
    CHECK_EQ(m.engine[1].carries, TW_BOTH_WAYS);
    CHECK_EQ(m.engine[1].count, 1);
    CHECK(!m.engine[1].pipelined && !m.engine[1].joins);
    CHECK_EQ(m.engine[2].cost.constant.busy, 3);
    read_or_fail(&b, async, &m);
    CHECK_EQ(m.engine[0].min_tile, 1);
    CHECK_EQ(m.engine[0].tile_multiple, 1);
    tw_bench_free(&b);
}

TEST(every_field_of_an_async_machine_arrives)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, async, &m);
    CHECK_EQ(m.timing, TW_ASYNC);
    CHECK_EQ(m.reuse, TW_REUSE_DECLARED);
    CHECK_EQ(m.memory[0].holds, TW_HOLDS_ALL);
    CHECK_EQ(m.memory[0].energy_fj, 200000);
    CHECK_EQ(m.memory[1].holds, TW_HOLDS_ALL);
    CHECK_EQ(m.memory[2].holds, TW_HOLDS_INPUTS);
    CHECK_EQ(m.memory[2].energy_fj, 125);
    CHECK_EQ(m.memory[3].holds, TW_HOLDS_OUTPUT);
    const tw_engine *array = &m.engine[0], *dma = &m.engine[1], *stream = &m.engine[2], *drain = &m.engine[3];
    CHECK_EQ(m.compute, 0);
    CHECK_EQ(array->energy_fj, 200);
    CHECK_EQ(array->accumulate, 1U << TW_FUSED);
    CHECK_EQ(array->cost.kind, TW_COST_ARRAY);
    CHECK_EQ(array->cost.array.size[0], 16);
    CHECK_EQ(array->cost.array.size[1], 8);
    CHECK_EQ(array->cost.array.latency, 5);
    CHECK(array->pipelined && dma->pipelined && !drain->pipelined);
    CHECK_EQ(dma->carries, TW_BOTH_WAYS);
    CHECK_EQ(stream->carries, TW_INWARDS);
    CHECK(stream->joins && !dma->joins);
    CHECK_EQ(stream->count, 2);
    CHECK_EQ(stream->cost.constant.busy, 4);
    CHECK_EQ(drain->carries, TW_OUTWARDS);
    CHECK_EQ(drain->cost.constant.busy, 7);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}

TEST(weights_bypass_the_memory_that_does_not_hold_them)
{
    enum { DRAM, SRAM, REGISTERS };
    static const char text[] = "machine: m\nunit: byte\ntiming: async\nmemories:\n"
                               "  - {name: dram, size: unlimited}\n"
                               "  - {name: sram, size: 64 KiB, holds: [activations, output]}\n"
                               "  - {name: registers, size: 1 KiB}\n"
                               "engines:\n"
                               "  - {name: dma, between: [dram, sram], carries: both, cost: {constant: 1}}\n"
                               "  - {name: feed, between: [sram, registers], carries: both, cost: {constant: 1}}\n"
                               "  - {name: stream, between: [dram, registers], carries: in, cost: {constant: 1}}\n"
                               "  - {name: mac, computes: multiply-add, memory: registers, cost: {constant: 1}}\n";
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, text, &m);
    tw_path weights = tw_machine_role_path(&m, TW_HOLDS_WEIGHTS),
            output = tw_machine_role_path(&m, TW_HOLDS_OUTPUT);
    CHECK_EQ(tw_path_outer(weights, REGISTERS), DRAM);
    CHECK_EQ(tw_path_outer(output, REGISTERS), SRAM);
    CHECK_EQ(tw_machine_ways(&m, DRAM, REGISTERS), TW_INWARDS);
    tw_bench_free(&b);
}

TEST(inputs_and_output_have_paths_of_their_own)
{
    enum { DRAM, L3, L1, FABRIC };
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, async, &m);
    CHECK_EQ(tw_path_innermost(tw_machine_role_path(&m, TW_HOLDS_INPUTS)), L1);
    CHECK_EQ(tw_path_innermost(tw_machine_role_path(&m, TW_HOLDS_OUTPUT)), FABRIC);
    CHECK_EQ(tw_path_outer(tw_machine_role_path(&m, TW_HOLDS_OUTPUT), FABRIC), L3);
    CHECK_EQ(tw_path_outer(tw_machine_role_path(&m, TW_HOLDS_OUTPUT), L3), DRAM);
    CHECK_EQ(tw_path_outer(tw_machine_role_path(&m, TW_HOLDS_OUTPUT), DRAM), -1);
    CHECK_EQ(tw_machine_ways(&m, DRAM, L3), TW_BOTH_WAYS);
    CHECK_EQ(tw_machine_ways(&m, L3, L1), TW_INWARDS);
    CHECK_EQ(tw_machine_ways(&m, L3, FABRIC), TW_BOTH_WAYS);
    CHECK_EQ(tw_machine_ways(&m, L1, FABRIC), 0);
    CHECK_EQ(tw_machine_ways(&m, FABRIC, L3), 0);
    CHECK_EQ(tw_machine_link(&m, DRAM, L3, TW_OUTWARDS, TW_HOLDS_ALL), 1);
    CHECK_EQ(tw_machine_link(&m, L3, L1, TW_INWARDS, TW_HOLDS_ALL), 2);
    CHECK_EQ(tw_machine_link(&m, L3, L1, TW_OUTWARDS, TW_HOLDS_ALL), -1);
    CHECK_EQ(tw_machine_link(&m, L3, FABRIC, TW_OUTWARDS, TW_HOLDS_ALL), 3);
    CHECK_EQ(tw_machine_link(&m, L3, FABRIC, TW_INWARDS, TW_HOLDS_ALL), 4);
    tw_bench_free(&b);
}

TEST(the_built_in_machines_are_read_and_printed_back)
{
    int n = 0;
    for (const tw_builtin *builtin = tw_machine_builtins; builtin->name; builtin++, n++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        read_or_fail(&b, builtin->text, &m);
        CHECK_STR(m.name, builtin->name);
        CHECK_EQ(builtin->text[0], '#'); /* the sentence that `tilewright machines` shows */
        CHECK_EQ(tw_machine_units(&m, TW_DTYPE_F64, 10), m.unit == TW_UNIT_BYTE ? 80 : 10);
        check_round_trip(&b, &m);
        tw_bench_free(&b);
    }
    CHECK(n >= 10);
}

/* The block of docs/formats.md that shows an async machine. */
TEST(the_async_example_of_the_documentation_is_accepted)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    tw_text text = {0};
    bool inside = false;
    for (const char *at = tw_read_source(&b, "docs/formats.md"); *at; at += strcspn(at, "\n") + 1) {
        inside = strncmp(at, "    ", 4) == 0 && (inside || strncmp(at, "    # an async machine\n", 23) == 0);
        if (inside) tw_text_add(&text, at + 4, strcspn(at, "\n") - 3);
    }
    CHECK(text.len > 0);
    read_or_fail(&b, text.bytes, &m);
    CHECK_EQ(m.timing, TW_ASYNC);
    check_round_trip(&b, &m);
    tw_text_release(&text);
    tw_bench_free(&b);
}

TEST(energies_are_exact_in_femtojoules)
{
    static const struct {
        const char *text;
        int64_t fj;
    } all[] = {
        {"0 pJ", 0},        {"1 fJ", 1},         {"1.000 fJ", 1},    {"0.001 pJ", 1},
        {"200pJ", 200000},  {"1.5 nJ", 1500000}, {"0.000001 nJ", 1}, {"12.3450 pJ", 12345},
        {"1'000 fJ", 1000}, {"0.10 pJ", 100},    {"10 pJ", 10000},   {"1000000 nJ", TW_ENERGY_MAX},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        const char *head = strstr(small, "size: unlimited") + strlen("size: unlimited");
        char *text = tw_arena_printf(b.arena, "%.*s, energy: %s%s", (int)(head - small), small, all[i].text, head);
        read_or_fail(&b, text, &m);
        CHECK_EQ(m.memory[0].energy_fj, all[i].fj);
        check_round_trip(&b, &m);
        tw_bench_free(&b);
    }
}

/* Everything that a printer could forget, in any combination. */
static tw_cost_array random_array(uint64_t *rng)
{
    static const char *const names[] = {tw_rows_name, tw_columns_name, "depth", "planes"};
    tw_cost_array array = {.latency = tw_test_pick(rng, 0, 200), .n_dims = (int)tw_test_pick(rng, 1, TW_MAX_DIMS)};
    for (int d = 0; d < array.n_dims; d++) {
        array.dim[d] = names[d];
        array.size[d] = tw_test_pick(rng, 1, 64);
    }
    return array;
}

static tw_cost random_cost(uint64_t *rng, bool computes)
{
    int64_t cycles = tw_test_pick(rng, 0, 200), work = tw_test_pick(rng, 1, 64);
    switch (tw_test_pick(rng, 0, computes ? 3 : 2)) {
    case 0: return (tw_cost){TW_COST_CONSTANT, .constant = {cycles, tw_test_pick(rng, 0, cycles)}};
    case 1: return (tw_cost){TW_COST_LINEAR, .linear = {cycles, work}};
    case 2: return (tw_cost){TW_COST_STEPPED, .stepped = {.step = work, .per_step = cycles}};
    default: return (tw_cost){TW_COST_ARRAY, .array = random_array(rng)};
    }
}

static void randomize(uint64_t *rng, tw_machine *m)
{
    m->reuse = (tw_reuse)tw_test_pick(rng, 0, TW_N_REUSES - 1);
    for (int i = 0; i < m->n_memories; i++) {
        m->memory[i].align = tw_test_pick(rng, 1, 64);
        m->memory[i].energy_fj = tw_test_pick(rng, 0, 1) ? tw_test_pick(rng, 0, 3000000) : 0;
    }
    for (int e = 0; e < m->n_engines; e++) {
        tw_engine *engine = &m->engine[e];
        engine->count = tw_test_pick(rng, 1, TW_MAX_UNITS);
        if (engine->kind == TW_COMPUTES) {
            engine->energy_fj = tw_test_pick(rng, 0, 2000);
            engine->tile_multiple = tw_test_pick(rng, 1, 3);
        }
        engine->cost = random_cost(rng, engine->kind == TW_COMPUTES);
        engine->pipelined = tw_cost_has_latency(&engine->cost) && tw_test_pick(rng, 0, 1);
    }
    m->engine[2].joins = tw_test_pick(rng, 0, 1);
    if (tw_test_pick(rng, 0, 1)) { /* one engine for both ways between l3 and fabric */
        m->engine[3].carries = TW_BOTH_WAYS;
        m->n_engines--;
    }
}

static void check_same_cost(const tw_cost *a, const tw_cost *b)
{
    int64_t of_a, of_b;
    CHECK_EQ(a->kind, b->kind);
    CHECK_EQ(tw_cost_fixed(a), tw_cost_fixed(b));
    CHECK_EQ(tw_cost_grain(a, &of_a), tw_cost_grain(b, &of_b));
    CHECK_EQ(of_a, of_b);
    CHECK_EQ(tw_cost_busy(a, false, 1), tw_cost_busy(b, false, 1));
    CHECK_EQ(tw_cost_dims(a), tw_cost_dims(b));
    for (int i = 0; i < tw_cost_dims(a); i++) {
        CHECK_EQ(a->array.size[i], b->array.size[i]);
        CHECK_STR(a->array.dim[i], b->array.dim[i]);
    }
}

static void check_same_engine(const tw_engine *a, const tw_engine *b)
{
    check_same_cost(&a->cost, &b->cost);
    CHECK_EQ(a->carries, b->carries);
    CHECK_EQ(a->joins, b->joins);
    CHECK_EQ(a->pipelined, b->pipelined);
    CHECK_EQ(a->count, b->count);
    CHECK_EQ(a->energy_fj, b->energy_fj);
    CHECK_EQ(a->tile_multiple, b->tile_multiple);
}

TEST(a_printed_async_machine_is_the_same_machine)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        tw_bench b = tw_bench_new();
        tw_machine m, again;
        tw_text text = {0};
        read_or_fail(&b, async, &m);
        randomize(&rng, &m);
        CHECK_EQ(tw_machine_check(&m, &b.diag), TW_OK);
        tw_machine_print(&m, &text);
        read_or_fail(&b, text.bytes, &again);
        CHECK_EQ(again.reuse, m.reuse);
        for (int j = 0; j < m.n_memories; j++) {
            CHECK_EQ(again.memory[j].align, m.memory[j].align);
            CHECK_EQ(again.memory[j].holds, m.memory[j].holds);
            CHECK_EQ(again.memory[j].energy_fj, m.memory[j].energy_fj);
        }
        for (int e = 0; e < m.n_engines; e++) check_same_engine(&again.engine[e], &m.engine[e]);
        tw_text_release(&text);
        tw_bench_free(&b);
    }
}

TEST(costs_are_constant_linear_stepped_or_passes_over_an_array)
{
    tw_cost constant = {TW_COST_CONSTANT, .constant = {.cycles = 5}},
            array = {TW_COST_ARRAY, .array = {.latency = 3}};
    tw_cost linear = {TW_COST_LINEAR, .linear = {64, 32}};
    tw_cost stepped = {TW_COST_STEPPED, .stepped = {.step = 100, .per_step = 7}};
    CHECK_EQ(tw_cost_cycles(&constant, 1000), 5);
    CHECK_EQ(tw_cost_cycles(&linear, 0), 64);
    CHECK_EQ(tw_cost_cycles(&linear, 32), 65);
    CHECK_EQ(tw_cost_cycles(&linear, 33), 66);
    CHECK_EQ(tw_cost_cycles(&stepped, 0), 0);
    CHECK_EQ(tw_cost_cycles(&stepped, 100), 7);
    CHECK_EQ(tw_cost_cycles(&stepped, 101), 14);
    CHECK_EQ(tw_cost_cycles(&array, 40), 43);
}

TEST(an_engine_is_busy_without_its_latency_only_when_it_is_pipelined)
{
    tw_engine linear = {.cost = {TW_COST_LINEAR, .linear = {64, 32}}};
    tw_engine constant = {.cost = {TW_COST_CONSTANT, .constant = {10, 4}}};
    tw_engine stepped = {.cost = {TW_COST_STEPPED, .stepped = {.step = 100, .per_step = 7}}};
    CHECK_EQ(tw_engine_busy(&linear, 320), 74);
    linear.pipelined = true;
    CHECK_EQ(tw_engine_busy(&linear, 320), 10);
    CHECK_EQ(tw_engine_busy(&linear, INT64_MAX), INT64_MAX / 32 + 1);
    CHECK_EQ(tw_engine_busy(&constant, 320), 4);
    CHECK_EQ(tw_engine_busy(&stepped, 320), 28);
}

TEST(costs_saturate)
{
    tw_cost linear = {TW_COST_LINEAR, .linear = {2, 1}};
    tw_cost stepped = {TW_COST_STEPPED, .stepped = {.step = 1, .per_step = 2}};
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

static void negative_multiple(tw_machine *m) { m->engine[2].tile_multiple = -4; }

static void check_broken(const char *text, const breaker *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        read_or_fail(&b, text, &m);
        CHECK_EQ(tw_machine_check(&m, &b.diag), TW_OK);
        all[i](&m);
        CHECK_EQ(tw_machine_check(&m, &b.diag), TW_ERR_INPUT);
        tw_bench_free(&b);
    }
}

TEST(a_broken_machine_is_not_accepted)
{
    static const breaker all[] = {no_mover,   two_movers, outer_compute, two_computes,     two_adders,
                                  one_memory, no_size,    far_share,     negative_multiple};
    check_broken(small, all, TW_COUNT(all));
}

static void async_adder(tw_machine *m) { m->engine[4].kind = TW_ADDS; }
static void not_fused(tw_machine *m) { m->engine[0].accumulate = 1U << TW_SEPARATE; }
static void compute_on_inputs(tw_machine *m) { m->engine[0].memory = 2; }
static void no_units(tw_machine *m) { m->engine[1].count = 0; }
static void longer_busy(tw_machine *m) { m->engine[2].cost.constant.busy = 11; }
static void mover_array(tw_machine *m) { m->engine[1].cost = m->engine[0].cost; }
static void pipelined_constant(tw_machine *m) { m->engine[2].pipelined = true; }
static void outermost_inputs(tw_machine *m) { m->memory[0].holds = TW_HOLDS_INPUTS; }
static void holds_nothing(tw_machine *m) { m->memory[2].holds = 0; }
static void no_inputs_inside(tw_machine *m) { m->memory[1].holds = m->memory[2].holds = TW_HOLDS_OUTPUT; }
static void no_way_in(tw_machine *m) { m->engine[2].carries = 0; }
static void no_way_out(tw_machine *m) { m->engine[3].carries = TW_INWARDS; }
static void two_ways_in(tw_machine *m) { m->engine[3].carries = TW_BOTH_WAYS; }
static void useless_way(tw_machine *m) { m->engine[2].carries = TW_BOTH_WAYS; }
static void mover_off_the_path(tw_machine *m) { m->engine[4].outer = 2; }
static void joins_nothing(tw_machine *m) { m->engine[3].joins = true; }
static void two_computes_of_async(tw_machine *m) { m->engine[m->n_engines++] = m->engine[0]; }

TEST(a_broken_async_machine_is_not_accepted)
{
    static const breaker all[] = {
        async_adder,        not_fused,        compute_on_inputs,  no_units,      longer_busy,          mover_array,
        pipelined_constant, outermost_inputs, holds_nothing,      no_way_in,     no_inputs_inside,     no_way_out,
        two_ways_in,        useless_way,      mover_off_the_path, joins_nothing, two_computes_of_async};
    check_broken(async, all, TW_COUNT(all));
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
