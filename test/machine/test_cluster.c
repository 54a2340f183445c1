/* test/machine/test_cluster.c - what clusters add to machine files: parameters, descriptors, kernels, policies.
 *
 * Costs are held against counting: every unit of every row, every point of every round. */
#include "tw_read.h"

/* Every key that there is, each with a value that is not its default. */
static const char full[] =
    "machine: full\n"
    "unit: byte\n"
    "timing: async\n"
    "parameters:\n"
    "  call: {value: 41.3, from: 0, to: 100}\n"
    "  press: {value: 0.25, from: 0.1, to: 1}\n"
    "launch: call\n"
    "barrier: 3.007\n"
    "pad_to: tile\n"
    "memories:\n"
    "  - {name: l3, size: unlimited}\n"
    "  - {name: l2, size: 1 MiB, placement: lifetime, keeps: inputs, buffers: dual-inputs}\n"
    "  - {name: l1, size: 64 KiB, align: 8, placement: bump, keeps: [output], whole: true, buffers: dual}\n"
    "engines:\n"
    "  - {name: far, between: [l3, l2], prefetch: all, cost: {setup: 1.5, beat: 8, beats: rows}}\n"
    "  - {name: dma, between: [l2, l1], joins: inputs, prefetch: innermost, strided: true,\n"
    "     cost: {setup: 13.6, per_row: 0.001, row_least: 3.57, beat: 64, per_beat: 0.99, beats: lines, fill: 50,\n"
    "            fill_waits: 16384, clash_waits: 26000}}\n"
    "  - {name: cores, computes: [multiply-add, add, max], on: l1, writes: end, tile_multiple: 8,\n"
    "     multiple_loops: parallel,\n"
    "     cost: {cores: 8, start: call, per_lane: 4.42, per_round: 49.8, row_least: 33.4, per_point: 1.25, depth: "
    "4,\n"
    "            unroll: [7, 6, 5], banks: {count: 32, width: 8, wave: 8, busy: press, along: 0.173, half: 0.17,\n"
    "                                       full: 0.79}},\n"
    "     cost_of: {add: {cores: 8, per_point: 18.8}, max: {cores: 2, start: 1}}}\n";

static void read_or_fail(tw_bench *b, const char *text, tw_machine *machine)
{
    tw_status status = tw_read_machine(b, "m.yaml", text, machine);
    if (status != TW_OK) print_error("%s\n%s\n", text, b->diag.last ? b->diag.last : "");
    CHECK_EQ(status, TW_OK);
}

TEST(every_field_of_a_cluster_arrives)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, full, &m);
    CHECK_EQ(m.n_parameters, 2);
    CHECK_STR(m.parameter[1].name, "press");
    CHECK_EQ(m.parameter[1].value, 250);
    CHECK_EQ(m.parameter[1].least, 100);
    CHECK_EQ(m.parameter[1].most, 1000);
    CHECK_EQ(m.parameter[1].value_loc.line, 6);
    CHECK_EQ(m.launch, 41300);
    CHECK_EQ(m.barrier, 3007);
    CHECK(m.pads);
    CHECK_EQ(m.memory[0].placement, TW_PLACE_SLOTS);
    CHECK_EQ(m.memory[0].keeps, TW_HOLDS_ALL);
    CHECK_EQ(m.memory[0].doubles, TW_DOUBLE_ANY);
    CHECK_EQ(m.memory[1].placement, TW_PLACE_LIFETIME);
    CHECK_EQ(m.memory[1].keeps, TW_HOLDS_INPUTS);
    CHECK_EQ(m.memory[1].doubles, TW_DOUBLE_INPUTS);
    CHECK(!m.memory[1].whole);
    CHECK_EQ(m.memory[2].placement, TW_PLACE_BUMP);
    CHECK_EQ(m.memory[2].keeps, TW_HOLDS_OUTPUT);
    CHECK_EQ(m.memory[2].doubles, TW_DOUBLE_CHANGING);
    CHECK(m.memory[2].whole);
    const tw_engine *far = &m.engine[0], *dma = &m.engine[1], *cores = &m.engine[2];
    CHECK(far->prefetches && !far->drains && dma->prefetches && dma->drains);
    CHECK_EQ(far->cost.descriptor.beats, TW_BEATS_ROWS);
    CHECK_EQ(far->cost.descriptor.per_beat, TW_MILLI);
    CHECK_EQ(far->cost.descriptor.clash_waits, far->cost.descriptor.fill_waits);
    CHECK_EQ(dma->cost.kind, TW_COST_DESCRIPTOR);
    CHECK_EQ(dma->cost.descriptor.setup, 13600);
    CHECK_EQ(dma->cost.descriptor.per_row, 1);
    CHECK_EQ(dma->cost.descriptor.row_least, 3570);
    CHECK_EQ(dma->cost.descriptor.beat, 64);
    CHECK_EQ(dma->cost.descriptor.per_beat, 990);
    CHECK_EQ(dma->cost.descriptor.beats, TW_BEATS_LINES);
    CHECK_EQ(dma->cost.descriptor.fill, 50000);
    CHECK_EQ(dma->cost.descriptor.fill_waits, 16384);
    CHECK_EQ(dma->cost.descriptor.clash_waits, 26000);
    CHECK_EQ(dma->cost.descriptor.barrier, 3007);
    CHECK(cores->late && cores->multiple_parallel);
    CHECK_EQ(cores->cost.kind, TW_COST_KERNEL);
    CHECK_EQ(cores->cost.kernel.start, 41300);
    CHECK_EQ(cores->cost.kernel.per_lane, 4420);
    CHECK_EQ(cores->cost.kernel.per_round, 49800);
    CHECK_EQ(cores->cost.kernel.row_least, 33400);
    CHECK_EQ(cores->cost.kernel.per_point, 1250);
    CHECK_EQ(cores->cost.kernel.depth, 4);
    CHECK_EQ(cores->cost.kernel.n_unrolls, 3);
    CHECK_EQ(cores->cost.kernel.unroll[2], 5);
    CHECK_EQ(cores->cost.kernel.banks.count, 32);
    CHECK_EQ(cores->cost.kernel.banks.busy, 250);
    CHECK_EQ(cores->cost.kernel.banks.along, 173);
    CHECK_EQ(cores->cost.kernel.banks.full, 790);
    CHECK_EQ(m.has_apart, 1u << TW_ADD | 1u << TW_MAX);
    CHECK_EQ(m.apart[TW_ADD].kernel.per_point, 18800);
    CHECK_EQ(m.apart[TW_ADD].kernel.depth, 1);
    CHECK_EQ(m.apart[TW_ADD].kernel.barrier, 3007);
    CHECK_EQ(m.apart[TW_MAX].kernel.cores, 2);
    tw_bench_free(&b);
}

/* The block of docs/formats.md that shows a cluster. */
TEST(the_cluster_of_the_documentation_is_accepted)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    tw_text text = {0};
    bool inside = false;
    for (const char *at = tw_read_source(&b, "docs/formats.md"); *at; at += strcspn(at, "\n") + 1) {
        inside = strncmp(at, "    ", 4) == 0 && (inside || strncmp(at, "    # a cluster\n", 16) == 0);
        if (inside) tw_text_add(&text, at + 4, strcspn(at, "\n") - 3);
    }
    CHECK(text.len > 0);
    read_or_fail(&b, text.bytes, &m);
    CHECK_STR(m.name, "small-cluster");
    tw_text_release(&text);
    tw_bench_free(&b);
}

/* ---- printing ---- */

static void check_same_descriptor(const tw_cost_descriptor *a, const tw_cost_descriptor *b)
{
    CHECK_EQ(a->barrier, b->barrier);
    CHECK_EQ(a->setup, b->setup);
    CHECK_EQ(a->per_row, b->per_row);
    CHECK_EQ(a->per_beat, b->per_beat);
    CHECK_EQ(a->row_least, b->row_least);
    CHECK_EQ(a->beat, b->beat);
    CHECK_EQ(a->beats, b->beats);
    CHECK_EQ(a->fill, b->fill);
    CHECK_EQ(a->fill_waits, b->fill_waits);
    CHECK_EQ(a->clash_waits, b->clash_waits);
}

static void check_same_kernel(const tw_cost_kernel *a, const tw_cost_kernel *b)
{
    CHECK_EQ(a->barrier, b->barrier);
    CHECK_EQ(a->start, b->start);
    CHECK_EQ(a->per_lane, b->per_lane);
    CHECK_EQ(a->per_round, b->per_round);
    CHECK_EQ(a->per_point, b->per_point);
    CHECK_EQ(a->row_least, b->row_least);
    CHECK_EQ(memcmp(&a->banks, &b->banks, sizeof a->banks), 0);
    CHECK_EQ(a->cores, b->cores);
    CHECK_EQ(a->depth, b->depth);
    CHECK_EQ(a->n_unrolls, b->n_unrolls);
    for (int i = 0; i < a->n_unrolls; i++) CHECK_EQ(a->unroll[i], b->unroll[i]);
}

static void check_same_cost(const tw_cost *a, const tw_cost *b)
{
    CHECK_EQ(a->kind, b->kind);
    CHECK(a->kind == TW_COST_DESCRIPTOR || a->kind == TW_COST_KERNEL);
    if (a->kind == TW_COST_DESCRIPTOR) check_same_descriptor(&a->descriptor, &b->descriptor);
    if (a->kind == TW_COST_KERNEL) check_same_kernel(&a->kernel, &b->kernel);
}

static void check_same_machine(const tw_machine *a, const tw_machine *b)
{
    CHECK_EQ(a->launch, b->launch);
    CHECK_EQ(a->barrier, b->barrier);
    CHECK_EQ(a->pads, b->pads);
    for (int i = 0; i < a->n_memories; i++) {
        CHECK_EQ(a->memory[i].placement, b->memory[i].placement);
        CHECK_EQ(a->memory[i].keeps, b->memory[i].keeps);
        CHECK_EQ(a->memory[i].doubles, b->memory[i].doubles);
        CHECK_EQ(a->memory[i].whole, b->memory[i].whole);
    }
    for (int e = 0; e < a->n_engines; e++) {
        const tw_engine *x = &a->engine[e], *y = &b->engine[e];
        CHECK_EQ(x->prefetches, y->prefetches);
        CHECK_EQ(x->drains, y->drains);
        CHECK_EQ(x->joins, y->joins);
        CHECK_EQ(x->strided, y->strided);
        CHECK_EQ(x->late, y->late);
        CHECK_EQ(x->tile_multiple, y->tile_multiple);
        CHECK_EQ(x->multiple_parallel, y->multiple_parallel);
        CHECK_EQ(a->has_apart, b->has_apart);
        check_same_cost(&x->cost, &y->cost);
        for (int c = 0; c < TW_N_COMPUTES; c++)
            if (a->has_apart >> c & 1) check_same_cost(&a->apart[c], &b->apart[c]);
    }
}

static int64_t milli(uint64_t *rng)
{
    static const int64_t step[] = {1, 10, 100, 1000};
    return tw_test_pick(rng, 0, 3) ? tw_test_pick(rng, 0, 3000) * step[tw_test_pick(rng, 0, 3)] : 0;
}

static tw_cost random_descriptor(uint64_t *rng, int64_t barrier)
{
    tw_cost_descriptor c = {.barrier = barrier, .row_least = milli(rng)};
    c.setup = milli(rng), c.per_row = milli(rng), c.per_beat = milli(rng), c.fill = milli(rng);
    c.beat = tw_test_pick(rng, 1, 99), c.beats = (tw_beats)tw_test_pick(rng, 0, TW_N_BEATS - 1);
    c.fill_waits = tw_test_pick(rng, 0, 2) * 1000;
    c.clash_waits = tw_test_pick(rng, 0, 1) ? c.fill_waits : tw_test_pick(rng, 0, 2) * 1000;
    return (tw_cost){TW_COST_DESCRIPTOR, .descriptor = c};
}

static tw_cost random_kernel(uint64_t *rng, int64_t barrier)
{
    tw_cost_kernel c = {.barrier = barrier, .row_least = milli(rng)};
    c.start = milli(rng), c.per_lane = milli(rng), c.per_round = milli(rng), c.per_point = milli(rng);
    c.cores = tw_test_pick(rng, 1, 9), c.depth = tw_test_pick(rng, 1, 9),
    c.n_unrolls = (int)tw_test_pick(rng, 0, TW_MAX_UNROLLS);
    for (int i = 0; i < c.n_unrolls; i++) c.unroll[i] = (int16_t)tw_test_pick(rng, 1, 99);
    if (tw_test_pick(rng, 0, 1))
        c.banks = (tw_banks){tw_test_pick(rng, 1, 64),
                             tw_test_pick(rng, 1, 64),
                             tw_test_pick(rng, 1, 64),
                             milli(rng),
                             milli(rng),
                             milli(rng),
                             milli(rng)};
    return (tw_cost){TW_COST_KERNEL, .kernel = c};
}

static tw_cost random_cost(uint64_t *rng, bool computes, int64_t barrier)
{
    return computes ? random_kernel(rng, barrier) : random_descriptor(rng, barrier);
}

TEST(a_printed_cluster_is_the_same_cluster)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 1000; i++) {
        tw_bench b = tw_bench_new();
        tw_machine m, again;
        tw_text text = {0};
        read_or_fail(&b, full, &m);
        m.launch = milli(&rng);
        m.barrier = tw_test_pick(&rng, 0, 1) ? milli(&rng) : 0;
        m.pads = tw_test_pick(&rng, 0, 1);
        for (int k = 1; k < m.n_memories; k++) {
            m.memory[k].placement = (tw_placement)tw_test_pick(&rng, 0, TW_N_PLACEMENTS - 1);
            m.memory[k].keeps = (unsigned)tw_test_pick(&rng, 1, 3);
            m.memory[k].doubles = (tw_doubling)tw_test_pick(&rng, 0, TW_N_DOUBLINGS - 1);
            m.memory[k].whole = tw_test_pick(&rng, 0, 1);
        }
        for (int e = 0; e < m.n_engines; e++) {
            tw_engine *engine = &m.engine[e];
            engine->cost = random_cost(&rng, engine->kind == TW_COMPUTES, m.barrier);
            if (engine->kind == TW_MOVES) {
                engine->prefetches = tw_test_pick(&rng, 0, 1);
                engine->drains = engine->prefetches && tw_test_pick(&rng, 0, 1);
                continue;
            }
            engine->late = tw_test_pick(&rng, 0, 1);
            engine->multiple_parallel = tw_test_pick(&rng, 0, 1);
            m.has_apart = (unsigned)tw_test_pick(&rng, 0, (1 << TW_N_COMPUTES) - 1);
            for (int c = 0; c < TW_N_COMPUTES; c++) m.apart[c] = random_cost(&rng, true, m.barrier);
        }
        CHECK_EQ(tw_machine_check(&m, &b.diag), TW_OK);
        tw_machine_print(&m, &text);
        read_or_fail(&b, text.bytes, &again);
        check_same_machine(&again, &m);
        tw_text_release(&text);
        tw_bench_free(&b);
    }
}

/* ---- parameters ---- */

TEST(a_machine_with_other_values_differs_where_the_parameters_stand_and_nowhere_else)
{
    tw_bench b = tw_bench_new();
    tw_machine m, other, back;
    read_or_fail(&b, full, &m);
    CHECK_EQ(tw_machine_with(&m, (const int64_t[]){7500, 1000}, b.arena, &b.diag, &other), TW_OK);
    CHECK_EQ(other.parameter[0].value, 7500);
    CHECK_EQ(other.launch, 7500);
    CHECK_EQ(other.engine[2].cost.kernel.start, 7500);
    CHECK_EQ(other.engine[2].cost.kernel.banks.busy, 1000);
    CHECK_EQ(other.engine[2].cost.kernel.banks.along, 173);
    CHECK_EQ(m.launch, 41300); /* the first one is as it was */
    CHECK_EQ(tw_machine_with(&other, (const int64_t[]){41300, 250}, b.arena, &b.diag, &back), TW_OK);
    check_same_machine(&back, &m);
    tw_bench_free(&b);
}

TEST(values_outside_the_range_of_a_parameter_are_brought_to_its_end)
{
    tw_bench b = tw_bench_new();
    tw_machine m, other;
    read_or_fail(&b, full, &m);
    CHECK_EQ(tw_machine_with(&m, (const int64_t[]){-1, 0}, b.arena, &b.diag, &other), TW_OK);
    CHECK_EQ(other.launch, 0);
    CHECK_EQ(other.engine[2].cost.kernel.banks.busy, 100);
    CHECK_EQ(tw_machine_with(&m, (const int64_t[]){INT64_MAX, INT64_MAX}, b.arena, &b.diag, &other), TW_OK);
    CHECK_EQ(other.launch, 100000);
    CHECK_EQ(other.engine[2].cost.kernel.banks.busy, 1000);
    tw_bench_free(&b);
}

/* ---- the machine as an operator meets it ---- */

TEST(an_operator_meets_the_cost_of_what_it_computes_and_pays_the_launch_unless_it_is_fused)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, full, &m);
    tw_op op = {.compute = TW_MULTIPLY_ADD};
    tw_machine view = tw_machine_for(&m, NULL, &op, (tw_fusion){.behind = true});
    CHECK_EQ(view.engine[2].cost.kernel.start, 41300);
    CHECK_EQ(view.launch, 41300);
    op = (tw_op){.compute = TW_ADD};
    view = tw_machine_for(&m, NULL, &op, (tw_fusion){.before = true});
    CHECK_EQ(view.engine[2].cost.kernel.per_point, 18800);
    CHECK_EQ(view.launch, 0);
    tw_bench_free(&b);
}

/* ---- descriptors ---- */

/* Beats by looking at every unit: of a row in the tensor, and of the same row where rows lie one behind the other. */
static int64_t count_lines(int64_t at, int64_t units, int64_t beat)
{
    int64_t n = 0;
    for (int64_t u = at; u < at + units; u++) n += u == at || u % beat == 0;
    return n;
}

static int64_t count_beats(const tw_cost_descriptor *cost, int64_t at, int64_t rows, int64_t units, int64_t stride)
{
    int64_t n = 0;
    for (int64_t u = 0; u < rows * units && cost->beats == TW_BEATS_PACKED; u++) n += u % cost->beat == 0;
    for (int64_t r = 0; r < rows && cost->beats == TW_BEATS_ROWS; r++) n += count_lines(0, units, cost->beat);
    for (int64_t r = 0; r < rows && cost->beats == TW_BEATS_LINES; r++)
        n += tw_max(count_lines(at + r * stride, units, cost->beat), count_lines(r * units, units, cost->beat));
    return n;
}

TEST(a_transfer_costs_its_set_up_its_rows_and_its_beats)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 4000; i++) {
        tw_cost cost = random_descriptor(&rng, 0);
        const tw_cost_descriptor *d = &cost.descriptor;
        tw_shape s = {
            .planes = 1, .rows = tw_test_pick(&rng, 1, i % 4 ? 12 : 500), .units = tw_test_pick(&rng, 1, 200)};
        s.at = tw_test_pick(&rng, 0, 300);
        s.stride = s.units + tw_test_pick(&rng, 0, 200);
        int64_t body = count_beats(d, s.at, s.rows, s.units, s.stride) * d->per_beat;
        if (s.rows > 1) body = tw_max(body, s.rows * d->row_least);
        CHECK_EQ(tw_cost_of_transfer(d, &s), d->setup + s.rows * d->per_row + body);
        CHECK(tw_cost_cycles(&cost, tw_cost_of_transfer(d, &s)) >= tw_cost_of_units(&cost, s.rows * s.units));
    }
}

/* ---- kernels ---- */

/* Point by point: rounds of the core that has most rows, and in each of them every step of the reduction. */
static int64_t count_kernel(const tw_cost_kernel *c, const tw_kernel_nest *n, bool contended)
{
    int64_t rows = 0, lanes = 1, lost = 0;
    for (int64_t i = 0; i < n->share; i++) rows += i % c->cores == 0;
    for (int i = 0; i < c->n_unrolls; i++)
        if (rows % c->unroll[i] == 0) {
            lanes = c->unroll[i];
            break;
        }
    if (c->banks.count > 0) {
        int64_t apart = n->stride / c->banks.width % c->banks.count;
        bool along = apart * 2 >= c->banks.wave && apart * 2 <= c->banks.wave * 3;
        lost = (contended ? along ? c->banks.along : c->banks.busy : 0) + (apart == 0 ? c->banks.full : 0) +
               (apart * 2 == c->banks.count ? c->banks.half : 0);
    }
    int64_t rounds = 0, all = 0;
    for (int64_t o = 0; o < n->others; o++)
        for (int64_t r = 0; r < rows; r += lanes) rounds++;
    int64_t points = 0; /* thousandths of a point */
    for (int64_t k = 0; k < n->reduction; k++) points += tw_max(lanes * (TW_MILLI + lost), c->depth * TW_MILLI);
    for (int64_t r = 0; r < rounds; r++) {
        int64_t round = points * c->per_point / TW_MILLI;
        all += rounds == 1 ? round : tw_max(round + c->per_round, lanes * c->row_least);
    }
    return c->start + lanes * c->per_lane + all;
}

TEST(a_kernel_costs_its_call_its_lanes_and_its_rounds)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 4000; i++) {
        tw_cost cost = random_kernel(&rng, 0);
        tw_cost_kernel *kernel = &cost.kernel;
        tw_kernel_nest n = {tw_test_pick(&rng, 1, 40), tw_test_pick(&rng, 1, 5), tw_test_pick(&rng, 1, 30),
                            tw_test_pick(&rng, 1, 600)};
        for (int k = 0; k < kernel->n_unrolls; k++) kernel->unroll[k] = (int16_t)tw_test_pick(&rng, 1, 8);
        CHECK_EQ(tw_cost_of_kernel(kernel, &n, false), count_kernel(kernel, &n, false));
        CHECK_EQ(tw_cost_of_kernel(kernel, &n, true), count_kernel(kernel, &n, true));
        CHECK(tw_cost_cycles(&cost, 1) >= 1);
    }
}

TEST(costs_that_leave_64_bits_saturate)
{
    int64_t most = INT64_C(1000000000000);
    tw_cost kernel = {TW_COST_KERNEL, .kernel = {.cores = 1, .depth = 1, .per_point = most}},
            mover = {TW_COST_DESCRIPTOR, .descriptor = {.beat = 1, .per_beat = most, .beats = TW_BEATS_ROWS}};
    tw_kernel_nest nest = {TW_EXTENT_MAX, TW_EXTENT_MAX, TW_EXTENT_MAX, 1};
    tw_shape shape = {
        .planes = TW_EXTENT_MAX, .rows = TW_EXTENT_MAX, .units = TW_EXTENT_MAX, .stride = TW_EXTENT_MAX};
    CHECK_EQ(tw_cost_of_kernel(&kernel.kernel, &nest, false), INT64_MAX);
    CHECK_EQ(tw_cost_of_kernel(&kernel.kernel, &nest, true), INT64_MAX);
    CHECK_EQ(tw_cost_cycles(&kernel, INT64_MAX), INT64_MAX);
    CHECK_EQ(tw_cost_of_transfer(&mover.descriptor, &shape), INT64_MAX);
    kernel.kernel.barrier = 1;
    CHECK_EQ(tw_cost_cycles(&kernel, INT64_MAX), INT64_MAX);
    nest = (tw_kernel_nest){1, 1, 20000, 1}; /* only the product before it is divided leaves them */
    CHECK(tw_cost_of_kernel(&kernel.kernel, &nest, false) == INT64_MAX ||
          tw_cost_of_kernel(&kernel.kernel, &nest, false) == 20000 * most);
}
