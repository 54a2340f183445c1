/* test/rivals/test_zigzag.c - ZigZag's rules against walking through a nest, trying everything, and the tool's other dialect. */
#include "rivals/zigzag/front.h"
#include "rivals/zigzag/zigzag.h"
#include "tilewright/rivals.h"
#include "tw_read.h"

#include <math.h>

#define FOLDER "test/rivals/zigzag/"

/* ---- files ---- */

static const tw_rival *open_set(tw_bench *b, tw_context *ctx, const char *machine, const char *mapping)
{
    const tw_rival *rival = NULL;
    const tw_rival_text file[] = {{machine, tw_read_source(b, machine)},
                                  {FOLDER "layers.yaml", tw_read_source(b, FOLDER "layers.yaml")},
                                  {"mapping.yaml", mapping}};
    CHECK_EQ(tw_rival_parse(ctx, file, 3, &rival), TW_OK);
    return rival;
}

static const tw_account *account_of(tw_context *ctx, const tw_rival *rival, int layer)
{
    const tw_account *account = NULL;
    CHECK_EQ(tw_rival_count(ctx, rival, layer, TW_RULES_ZIGZAG, &account), TW_OK);
    return account;
}

static void check_same(const tw_account *a, const tw_account *b)
{
    CHECK(a->cycles == b->cycles);
    CHECK(a->energy_pj == b->energy_pj);
    CHECK_EQ(a->n_lines, b->n_lines);
    for (int i = 0; i < a->n_lines; i++)
        for (int k = 0; k < a->line[i].n_actions; k++)
            CHECK_EQ(a->line[i].action[k].accesses, b->line[i].action[k].accesses);
}

TEST(the_older_dialect_says_the_same)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const char *mapping = tw_read_source(&b, FOLDER "mapping.yaml");
    const tw_rival *now = open_set(&b, ctx, FOLDER "array.yaml", mapping);
    const tw_rival *then = open_set(&b, ctx, FOLDER "legacy.yaml", mapping);
    for (int i = 0; i < tw_rival_n_layers(now); i++) check_same(account_of(ctx, now, i), account_of(ctx, then, i));
    tw_context_free(ctx);
    tw_bench_free(&b);
}

TEST(a_key_that_is_there_twice_counts_the_last_time_and_is_remarked)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_rival *rival = open_set(&b, ctx, FOLDER "array.yaml",
                                     "- name: default\n  spatial_mapping: {D1: [\"K, 2\"], D2: []}\n  "
                                     "spatial_mapping: {D1: [\"K, 4\"], D2: [\"C, 4\"]}\n");
    CHECK_EQ(tw_context_n_messages(ctx), 1);
    CHECK_STR(tw_context_message(ctx, 0),
              "mapping.yaml:3:3: note: duplicate key 'spatial_mapping'; this one counts, that at 2:3 does not");
    const tw_rival *plain = open_set(&b, ctx, FOLDER "array.yaml",
                                     "- name: default\n  spatial_mapping: {D1: [\"K, 4\"], D2: [\"C, 4\"]}\n");
    check_same(account_of(ctx, rival, 0), account_of(ctx, plain, 0));
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* The mapping of all layers as the tool's file. */
static char *print_mappings(tw_context *ctx, const tw_rival *mapped)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    for (int i = 0; i < tw_rival_n_layers(mapped); i++)
        CHECK_EQ(tw_rival_print_mapping(ctx, mapped, i, out), TW_OK);
    fclose(out);
    return text;
}

TEST(a_mapping_that_was_found_and_written_counts_the_same_when_it_is_read)
{
    static const tw_measure measure[] = {TW_CYCLES, TW_ENERGY, TW_EDP};
    tw_bench b = tw_bench_new();
    for (int m = 0; m < 3; m++) {
        tw_context *ctx = tw_context_new();
        tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
        const tw_rival_found *found[3];
        const tw_rival *mapped,
            *rival = open_set(&b, ctx, FOLDER "array.yaml", tw_read_source(&b, FOLDER "mapping.yaml"));
        how.measure = measure[m];
        how.max_nodes = 2000;
        CHECK_EQ(tw_rival_search_all(ctx, rival, &how, found, &mapped), TW_OK);
        char *text = print_mappings(ctx, mapped);
        const tw_rival *again = open_set(&b, ctx, FOLDER "array.yaml", text);
        for (int i = 0; i < 3; i++) {
            check_same(found[i]->account, account_of(ctx, again, i));
            CHECK(found[i]->bound <= found[i]->value);
        }
        free(text);
        tw_context_free(ctx);
    }
    tw_bench_free(&b);
}

static const char *convert(tw_bench *b, tw_context *ctx, const tw_rival *rival,
                           tw_status (*print)(tw_context *ctx, const tw_rival *rival, FILE *out))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(print(ctx, rival, out), TW_OK);
    fclose(out);
    const char *copy = tw_arena_strndup(b->arena, text, n);
    free(text);
    return copy;
}

TEST(a_machine_and_layers_in_our_words_are_files_that_we_read)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_rival *rival = open_set(&b, ctx, FOLDER "array.yaml", tw_read_source(&b, FOLDER "mapping.yaml"));
    tw_machine machine;
    tw_model model;
    CHECK_EQ(tw_read_machine(&b, "m.yaml", convert(&b, ctx, rival, tw_rival_print_machine), &machine), TW_OK);
    CHECK_EQ(tw_read_model(&b, "w.yaml", convert(&b, ctx, rival, tw_rival_print_workload), &model), TW_OK);
    CHECK_EQ(model.n_ops, 3);
    CHECK_EQ(machine.memory[1].size, 4 * 16 + 8 * 4 + 1024); /* weights, sums and the buffer */
    for (int i = 0; i < model.n_ops; i++) CHECK_EQ(tw_op_points(&model.op[i]), account_of(ctx, rival, i)->macs);
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* Sums over the layers of networks, which the tool's authors test it with. */
TEST(networks_cost_what_the_authors_of_the_tool_expect)
{
    static const struct {
        const char *workload, *machine, *mapping;
        double energy_pj, cycles;
    } rows[] = {
        {"resnet18.onnx", "ascend_like", "ascend_like", 1940385435.76, 3032311.0},
        {"resnet18.yaml", "ascend_like", "ascend_like", 2449578483.76, 3980000.0},
        {"resnet18.onnx", "edge_tpu_like", "edge_tpu_like", 1903229377.55, 2887804.5},
        {"resnet18.yaml", "edge_tpu_like", "edge_tpu_like", 2413348670.67, 3741293.0},
        {"resnet18.onnx", "meta_prototype", "meta_prototype_like", 1863284164.16, 2700449.66},
        {"resnet18.yaml", "tpu_like", "tpu_like", 2615172831.38, 5584991.0},
    };
    const char *shared = tw_test_shared();
    if (!shared) skip();
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        char path[3][4096];
        const char *const file[] = {path[0], path[1], path[2]};
        double energy = 0, cycles = 0;
        tw_context *ctx = tw_context_new();
        const tw_rival *rival = NULL;
        snprintf(path[0], sizeof path[0], "%s/data/zigzag/workload/%s", shared, rows[i].workload);
        snprintf(path[1], sizeof path[1], "%s/data/zigzag/hardware/%s.yaml", shared, rows[i].machine);
        snprintf(path[2], sizeof path[2], "%s/data/zigzag/mapping/%s.yaml", shared, rows[i].mapping);
        CHECK_EQ(tw_rival_open(ctx, file, 3, &rival), TW_OK);
        for (int l = 0; l < tw_rival_n_layers(rival); l++) {
            energy += account_of(ctx, rival, l)->energy_pj;
            cycles += account_of(ctx, rival, l)->cycles;
        }
        CHECK(fabs(energy / rows[i].energy_pj - 1) <= 1e-9);
        CHECK(fabs(cycles - rows[i].cycles) <= 0.01); /* as many digits as they give */
        tw_context_free(ctx);
    }
}

/* ---- cases made here ---- */

enum { A, B, C, D, DIMS }; /* O[a][b] += W[b][c] * I[a + d][c], and W has d too */

static const tw_einsum_rank rank_a = {1, {{A, 1}}}, rank_b = {1, {{B, 1}}}, rank_c = {1, {{C, 1}}},
                            rank_d = {1, {{D, 1}}};

static tw_einsum einsum_of(const int64_t *extent, int64_t stride)
{
    tw_einsum e = {.name = "layer", .n_dims = DIMS, .n_operands = 3, .dim = {"A", "B", "C", "D"}};
    memcpy(e.extent, extent, DIMS * sizeof *extent);
    e.operand[0] = (tw_einsum_operand){"I", false, 2, {rank_c, {2, {{A, stride}, {D, 1}}}}, 8, 0};
    e.operand[1] = (tw_einsum_operand){"W", false, 3, {rank_b, rank_c, rank_d}, 8, 0};
    e.operand[2] = (tw_einsum_operand){"O", true, 2, {rank_a, rank_b}, 8, 16};
    return e;
}

static tw_rival_memory memory_of(const char *name, int64_t size, unsigned keeps, unsigned serves)
{
    tw_rival_memory m = {.name = name,
                         .size_bits = size,
                         .keeps = keeps,
                         .serves = serves,
                         .read_pj = 2,
                         .write_pj = 3,
                         .n_ports = 2};
    m.port[0] = (tw_rival_port){"r_port_1", TW_RIVAL_READS, 32, 8};
    m.port[1] = (tw_rival_port){"w_port_1", TW_RIVAL_WRITES, 32, 8};
    for (int o = 0; o < TW_RIVAL_OPERANDS; o++)
        for (int w = 0; w < TW_N_WAYS; w++)
            m.port_of[o][w] = !(keeps >> o & 1) ? -1 : w == TW_WAY_READ_DOWN || w == TW_WAY_READ_UP ? 0 : 1;
    return m;
}

/* A memory per multiplier for weights, one per row for sums, a shared one, and one outside. */
static tw_hierarchy machine_of(int64_t small, int64_t large)
{
    tw_hierarchy h = {
        .name = "array", .n_memories = 4, .n_axes = 2, .axis = {"D1", "D2"}, .axis_size = {4, 4}, .mac_pj = 1};
    h.memory[0] = memory_of("outside", INT64_C(1) << 40, 7, 3);
    h.memory[1] = memory_of("shared", large, 5, 3);
    h.memory[2] = memory_of("sums", small, 4, 2);
    h.memory[3] = memory_of("weights", small, 2, 0);
    return h;
}

static tw_zz_unrolling over_array(void) { return (tw_zz_unrolling){2, {{0, B, 2}, {1, C, 2}}}; }

/* Shuffled prime factors with random cuts. */
static tw_zz_nest random_nest(uint64_t *seed, const tw_zz_case *c)
{
    tw_zz_nest nest = {0};
    for (int d = 0; d < c->n_dims; d++)
        for (int64_t n = c->steps[d], p = 2; n > 1; p++)
            for (; n % p == 0; n /= p) {
                nest.loop[nest.n_loops].dim = d;
                nest.loop[nest.n_loops++].size = p;
            }
    for (int i = nest.n_loops - 1; i > 0; i--) {
        int j = (int)tw_test_pick(seed, 0, i);
        typeof(nest.loop[0]) swap = nest.loop[i];
        nest.loop[i] = nest.loop[j];
        nest.loop[j] = swap;
    }
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0, at = 0; l < c->operand[o].n_levels; l++) {
            at = l == c->operand[o].n_levels - 1 ? nest.n_loops : (int)tw_test_pick(seed, at, nest.n_loops);
            nest.cut[o][l] = at;
        }
    tw_zz_nest_settle(c, &nest);
    return nest;
}

/* ---- the oracle: walk through the nest and look ---- */

/* Position of each loop of the nest in cycle t. */
static void positions(const tw_zz_nest *nest, int64_t t, int64_t *at)
{
    for (int i = 0; i < nest->n_loops; i++) {
        at[i] = t % nest->loop[i].size;
        t /= nest->loop[i].size;
    }
}

/* How often the loops outside of the first `cut` that move the operand are at another place than a cycle before; and once at the
 * beginning. */
static int64_t changes(const tw_zz_case *c, const tw_zz_nest *nest, int o, int cut)
{
    int64_t n = 0, before[TW_ZZ_LOOPS], now[TW_ZZ_LOOPS];
    for (int64_t t = 0; t < (int64_t)c->cycles; t++) {
        bool moved = t == 0;
        positions(nest, t, now);
        for (int i = cut; t > 0 && i < nest->n_loops; i++)
            moved |= now[i] != before[i] && c->operand[o].kind[nest->loop[i].dim] != TW_ZZ_IR;
        n += moved;
        memcpy(before, now, sizeof now);
    }
    return n;
}

/* Different elements that the loops inside of the cut touch, with what is unrolled up to the stage: marked one by one. */
static int64_t touched(const tw_zz_case *c, const tw_zz_nest *nest, int o, int cut, int stage)
{
    const tw_einsum_operand *e = &c->einsum->operand[c->operand[o].index];
    int64_t size[DIMS] = {1, 1, 1, 1}, n = 0;
    static unsigned char seen[1 << 16];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < cut; i++) size[nest->loop[i].dim] *= nest->loop[i].size;
    for (int s = 0; s <= stage; s++)
        for (int i = 0; i < c->unrolling.n; i++) {
            const tw_zz_unroll *u = &c->unrolling.part[i];
            int below = 0;
            while (below < c->operand[o].n_levels &&
                   !(c->machine->memory[c->operand[o].level[below].memory].serves >> u->axis & 1))
                below++;
            if (below == s) size[u->dim] *= u->factor;
        }
    for (int64_t p = 0; p < size[0] * size[1] * size[2] * size[3]; p++) {
        int64_t rest = p, at[DIMS], index = 0;
        for (int d = 0; d < DIMS; d++) {
            at[d] = rest % size[d];
            rest /= size[d];
        }
        for (int r = 0; r < e->n_ranks; r++) {
            int64_t x = 0;
            for (int k = 0; k < e->rank[r].n_terms; k++)
                x += e->rank[r].term[k].coefficient * at[e->rank[r].term[k].dim];
            index = index * 40 + x;
        }
        n += !seen[index];
        seen[index] = 1;
    }
    return n;
}

static double words(double elems, double bits, int64_t transfers, double units)
{
    return trunc(ceil(elems * bits / 8) * (8.0 / 32) * (double)transfers * units);
}

/* Instances of a level that are used: what is unrolled above it. */
static int64_t units_of(const tw_zz_case *c, int o, int level)
{
    int64_t n = 1;
    for (int i = 0; i < c->unrolling.n; i++) {
        int below = 0;
        while (!(c->machine->memory[c->operand[o].level[below].memory].serves >> c->unrolling.part[i].axis & 1))
            below++;
        if (below > level) n *= c->unrolling.part[i].factor;
    }
    return n;
}

static void check_fills(const tw_zz_case *c, const tw_zz_nest *nest, const tw_zz_count *count)
{
    for (int o = 1; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l + 1 < c->operand[o].n_levels; l++) {
            int cut = nest->cut[o][l];
            int64_t n = changes(c, nest, o, cut), elems = touched(c, nest, o, cut, l);
            CHECK_EQ(count->exact[o].elems[l], elems);
            CHECK_EQ(count->words[o][l][TW_WAY_WRITE_UP], words((double)elems, 8, n, (double)units_of(c, o, l)));
        }
}

/* Results leave a level whenever the tile changes, complete or not; incomplete ones come back as often. */
static void check_results(const tw_zz_case *c, const tw_zz_nest *nest, const tw_zz_count *count)
{
    for (int l = 0; l + 1 < c->operand[0].n_levels; l++) {
        int cut = nest->cut[0][l];
        bool partial = false;
        for (int i = cut; i < nest->n_loops; i++) partial |= c->operand[0].kind[nest->loop[i].dim] == TW_ZZ_IR;
        for (int s = l + 2; s <= c->operand[0].n_levels; s++) partial |= c->operand[0].exact.sums[s];
        int64_t n = changes(c, nest, 0, cut), elems = touched(c, nest, 0, cut, l);
        if (c->operand[0].exact.sums[l + 1]) continue; /* summed on the way up */
        CHECK_EQ(count->words[0][l][TW_WAY_READ_UP],
                 words((double)elems, partial ? 16 : 8, n, (double)units_of(c, 0, l)));
        CHECK_EQ(count->words[0][l][TW_WAY_WRITE_UP],
                 partial ? words((double)elems, 16, n, (double)units_of(c, 0, l)) : 0);
    }
}

TEST(transfers_and_tiles_are_those_of_walking_through_the_nest)
{
    uint64_t seed = tw_test_seed();
    tw_diag diag = {0};
    tw_hierarchy h = machine_of(1 << 20, 1 << 20);
    for (int i = 0; i < 120; i++) {
        int64_t extent[DIMS] = {tw_test_pick(&seed, 1, 6), 2 * tw_test_pick(&seed, 1, 3),
                                2 * tw_test_pick(&seed, 1, 3), tw_test_pick(&seed, 1, 3)};
        tw_einsum e = einsum_of(extent, tw_test_pick(&seed, 1, 3));
        tw_zz_layer_facts facts = {0};
        tw_zz_unrolling u = over_array();
        tw_zz_case c;
        tw_zz_count count;
        CHECK_EQ(tw_zz_case_build(&h, &e, &facts, &u, (tw_loc){0}, &diag, &c), TW_OK);
        tw_zz_nest nest = random_nest(&seed, &c);
        CHECK(tw_zz_count_nest(&c, &nest, &count));
        check_fills(&c, &nest, &count);
        check_results(&c, &nest, &count);
    }
}

/* ---- windows of a port ---- */

TEST(the_union_of_windows_is_that_of_marking_every_cycle)
{
    uint64_t seed = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        tw_zz_duty duty[5];
        int n = (int)tw_test_pick(&seed, 1, 5);
        int64_t period = 1, marked = 0, total = 720;
        for (int k = 0; k < n; k++) {
            int64_t factor = tw_test_pick(&seed, 1, 3);
            period = total % (period * factor) == 0 ? period * factor : period;
            duty[n - 1 - k] =
                (tw_zz_duty){(double)period, (double)(total / period), (double)tw_test_pick(&seed, 1, period), 0};
        }
        for (int64_t t = 0; t < total; t++) {
            bool in = false;
            for (int k = 0; k < n; k++) in |= t % (int64_t)duty[k].period < (int64_t)duty[k].window;
            marked += in;
        }
        CHECK_EQ(tw_zz_union(duty, n), marked);
    }
}

/* ---- the search against trying everything ---- */

typedef struct brute {
    const tw_zz_case *c;
    tw_measure measure;
    double best;
    int left[DIMS][8]; /* prime factors that are not placed yet */
    int n_left[DIMS];
    tw_zz_nest nest;
} brute;

static void try_cuts(brute *b, int o, int l)
{
    int memory;
    tw_zz_count count;
    if (o == TW_ZZ_OPERANDS) {
        tw_zz_nest nest = b->nest;
        tw_zz_nest_settle(b->c, &nest);
        if (!tw_zz_nest_fits(b->c, &nest, &memory) || !tw_zz_count_nest(b->c, &nest, &count)) return;
        if (count.onload >= 0 && count.offload >= 0) {
            double value = b->measure == TW_CYCLES   ? count.latency
                           : b->measure == TW_ENERGY ? count.energy
                                                     : count.latency * count.energy;
            b->best = fmin(b->best, value);
        }
        return;
    }
    bool top = l == b->c->operand[o].n_levels - 1;
    for (int at = top ? b->nest.n_loops : l ? b->nest.cut[o][l - 1] : 0; at <= b->nest.n_loops; at++) {
        b->nest.cut[o][l] = at;
        try_cuts(b, top ? o + 1 : o, top ? 0 : l + 1);
    }
}

static void try_orders(brute *b)
{
    bool any = false;
    for (int d = 0; d < DIMS; d++)
        for (int i = 0; i < b->n_left[d]; i++) {
            int size = b->left[d][i], last = --b->n_left[d];
            any = true;
            b->left[d][i] = b->left[d][last];
            b->nest.loop[b->nest.n_loops].dim = d;
            b->nest.loop[b->nest.n_loops++].size = size;
            try_orders(b);
            b->left[d][last] = b->left[d][i];
            b->left[d][i] = size;
            b->n_left[d]++;
            b->nest.n_loops--;
        }
    if (!any) try_cuts(b, 0, 0);
}

static double best_of_all(const tw_zz_case *c, tw_measure measure)
{
    brute b = {.c = c, .measure = measure, .best = INFINITY};
    for (int d = 0; d < DIMS; d++)
        for (int64_t n = c->steps[d], p = 2; n > 1; p++)
            for (; n % p == 0; n /= p) b.left[d][b.n_left[d]++] = (int)p;
    try_orders(&b);
    return b.best;
}

TEST(the_search_finds_the_best_of_everything_on_small_layers_and_no_bound_is_above_it)
{
    static const tw_measure measure[] = {TW_CYCLES, TW_ENERGY, TW_EDP};
    uint64_t seed = tw_test_seed();
    for (int i = 0; i < 12; i++) {
        tw_hierarchy h = machine_of(16 * tw_test_pick(&seed, 1, 4), 64 * tw_test_pick(&seed, 1, 6));
        int64_t extent[DIMS] = {(int64_t[]){2, 3, 4, 6}[tw_test_pick(&seed, 0, 3)], 4, 4,
                                tw_test_pick(&seed, 1, 2)};
        tw_einsum e = einsum_of(extent, 1);
        tw_zz_unrolling u = over_array();
        tw_zz_extra extra = {.n_unrollings = 1, .unrolling = &u};
        tw_zz_goal goal = {.machine = &h, .einsum = &e, .extra = &extra, .measure = measure[i % 3]};
        tw_diag diag = {0};
        tw_zz_case c;
        tw_zz_best best;
        double bound;
        CHECK_EQ(tw_zz_case_build(&h, &e, &extra.facts, &u, (tw_loc){0}, &diag, &c), TW_OK);
        double least = best_of_all(&c, goal.measure);
        tw_arena *scratch = tw_arena_new();
        tw_status status = tw_zz_search(&goal, (tw_work){.scratch = scratch, .diag = &diag}, &best, &bound);
        tw_arena_free(scratch);
        CHECK_EQ(status, least < INFINITY ? TW_OK : TW_INFEASIBLE);
        if (status == TW_OK) {
            CHECK(best.value >= least);
            CHECK(best.value <= least * (1 + 1e-12));
            CHECK(bound <= least);
        }
        tw_diag_release(&diag);
    }
}

/* The path is below every nest, and is a nest. Where its tiles fit together and it loads no less than nothing, it is the best one. */
TEST(the_path_of_least_energy_is_the_best_of_everything_where_it_fits)
{
    uint64_t seed = tw_test_seed();
    tw_arena *scratch = tw_arena_new();
    int reached = 0;
    for (int i = 0; i < 24; i++) {
        tw_hierarchy h = machine_of(16 * tw_test_pick(&seed, 1, 4), 64 * tw_test_pick(&seed, 1, 6));
        int64_t extent[DIMS] = {(int64_t[]){2, 3, 4, 6}[tw_test_pick(&seed, 0, 3)], tw_test_pick(&seed, 2, 4),
                                tw_test_pick(&seed, 3, 5), tw_test_pick(&seed, 1, 2)};
        tw_einsum e = einsum_of(extent, tw_test_pick(&seed, 1, 2));
        tw_zz_unrolling u = over_array();
        tw_zz_layer_facts facts = {0};
        tw_diag diag = {0};
        tw_zz_case c;
        tw_zz_nest nest;
        tw_zz_count count;
        double bound;
        int memory;
        CHECK_EQ(tw_zz_case_build(&h, &e, &facts, &u, (tw_loc){0}, &diag, &c), TW_OK);
        double least = best_of_all(&c, TW_ENERGY);
        CHECK_EQ(tw_zz_least_energy(&c, scratch, &bound, &nest), TW_OK);
        CHECK(bound > 0);
        CHECK(bound <= least * (1 + 1e-12));
        if (bound < INFINITY && tw_zz_count_nest(&c, &nest, &count)) {
            CHECK(fabs(count.energy - bound) <= 1e-9 * bound);
            if (tw_zz_nest_fits(&c, &nest, &memory) && count.onload >= 0 && count.offload >= 0) {
                CHECK(bound >= least * (1 - 1e-12));
                reached++;
            }
        }
        tw_diag_release(&diag);
    }
    CHECK(reached > 0);
    tw_arena_free(scratch);
}

/* ---- bounds of latency ---- */

/* Ports of random widths, some of them for reads and writes; operands that share a memory or do not. */
static tw_hierarchy random_machine(uint64_t *seed)
{
    static const unsigned keeps[][3] = {{5, 4, 2}, {7, 4, 2}, {7, 5, 2}, {3, 4, 4}, {5, 5, 2}, {7, 7, 3}};
    int kind = (int)tw_test_pick(seed, 0, TW_COUNT(keeps) - 1);
    tw_hierarchy h = {
        .name = "array", .n_memories = 4, .n_axes = 2, .axis = {"D1", "D2"}, .axis_size = {4, 4}, .mac_pj = 1};
    h.memory[0] = memory_of("outside", INT64_C(1) << 40, 7, 3);
    h.memory[1] = memory_of("shared", 64 * tw_test_pick(seed, 1, 8), keeps[kind][0], 3);
    h.memory[2] = memory_of("middle", 16 * tw_test_pick(seed, 1, 8), keeps[kind][1], 2);
    h.memory[3] = memory_of("near", 16 * tw_test_pick(seed, 1, 4), keeps[kind][2], 0);
    for (int m = 0; m < 4; m++) {
        bool one = tw_test_pick(seed, 0, 2) == 0;
        for (int p = 0; p < 2; p++) h.memory[m].port[p].most = 8 << tw_test_pick(seed, 0, 3);
        for (int o = 0; one && o < TW_RIVAL_OPERANDS; o++)
            for (int w = 0; w < TW_N_WAYS; w++)
                if (h.memory[m].port_of[o][w] > 0) h.memory[m].port_of[o][w] = 0;
    }
    return h;
}

TEST(no_nest_is_faster_than_the_least_of_all_fronts)
{
    static const tw_measure measure[] = {TW_CYCLES, TW_EDP};
    uint64_t seed = tw_test_seed();
    tw_arena *scratch = tw_arena_new();
    int reached = 0;
    for (int i = 0; i < 12; i++) {
        tw_hierarchy h = random_machine(&seed);
        int64_t extent[DIMS] = {(int64_t[]){2, 3, 4, 6}[tw_test_pick(&seed, 0, 3)], tw_test_pick(&seed, 2, 4),
                                tw_test_pick(&seed, 3, 5), tw_test_pick(&seed, 1, 2)};
        tw_einsum e = einsum_of(extent, tw_test_pick(&seed, 1, 2));
        tw_zz_unrolling u = over_array();
        tw_zz_layer_facts facts = {0};
        tw_diag diag = {0};
        tw_zz_case c;
        tw_zz_least front;
        CHECK_EQ(tw_zz_case_build(&h, &e, &facts, &u, (tw_loc){0}, &diag, &c), TW_OK);
        double least = best_of_all(&c, measure[i % 2]);
        for (int known = 0; known < 2; known++) {
            CHECK_EQ(tw_zz_front(&c, measure[i % 2], known ? least : INFINITY,
                                 (tw_work){.scratch = scratch, .diag = &diag}, &front),
                     TW_OK);
            CHECK(front.bound <= least * (1 + 1e-12));
        }
        reached += least < INFINITY && front.bound >= least * (1 - 1e-9);
        tw_diag_release(&diag);
    }
    CHECK(reached > 0);
    tw_arena_free(scratch);
}
