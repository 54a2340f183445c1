/* test/rivals/test_foreign.c - nests of one tool by the rules of another, and as mappings of ours and back.
 *
 * Rules that look at one operand after the other must say what those say that look at all of a mapping; where nothing slides, both
 * tools fill a tile equally often; and whatever a mapping becomes in another format counts the same when it comes back. */
#include "input/tree.h"
#include "rivals/plain.h"
#include "rivals/timeloop/foreign.h"
#include "rivals/zigzag/zigzag.h"
#include "tl_random.h"
#include "tw_read.h"

#include <math.h>

typedef struct trial { /* the files of a random case with a random mapping */
    tw_context *ctx;
    tw_arena *arena, *scratch;
    tw_diag diag;
    tw_loopnest_loop loop[64];
    tw_loopnest nest;
    tw_rival rival;
    tw_rival_layer layer;
} trial;

static tw_work work_of(trial *t) { return (tw_work){t->arena, t->scratch, &t->diag}; }

/* Operands reside everywhere: what passes by belongs to the outer memory in one way of counting and to no memory in the other. */
static bool resides_everywhere(const trial *t)
{
    for (int m = 0; m < t->rival.machine->n_memories; m++)
        for (int o = 0; o < t->layer.einsum->n_operands; o++)
            if (t->nest.depth[m][o] < 0) return false;
    return true;
}

static void open_trial(trial *t, uint64_t *seed)
{
    static tl_random texts;
    const tw_rival *rival;
    *t = (trial){
        .ctx = tw_context_new(), .arena = tw_arena_new(), .scratch = tw_arena_new(), .diag = {.muted = true}};
    memset(&texts, 0, sizeof texts);
    tl_random_problem(seed, 6, &texts);
    tl_random_machine(seed, &texts);
    CHECK_EQ(tl_random_open(t->ctx, &texts, &rival), TW_OK);
    tl_random_mapping(seed, rival, t->loop, &t->nest);
    t->layer = rival->layer[0];
    t->layer.nest = &t->nest;
    t->rival = *rival;
    t->rival.layer = &t->layer;
}

static void close_trial(trial *t)
{
    tw_context_free(t->ctx);
    tw_arena_free(t->arena);
    tw_arena_free(t->scratch);
}

static void check_lines(const tw_account *a, const tw_account *b, uint64_t seed)
{
    CHECK_EQ(a->n_lines, b->n_lines);
    for (int i = 0; i < a->n_lines; i++)
        for (int k = 0; k < 3; k++) {
            if (a->line[i].action[k].accesses != b->line[i].action[k].accesses)
                print_message("seed %" PRIu64 ": %s of %s in %s\n", seed, a->line[i].action[k].name,
                              a->line[i].operand, a->line[i].memory);
            CHECK_EQ(a->line[i].action[k].accesses, b->line[i].action[k].accesses);
        }
}

TEST(operand_by_operand_is_counted_what_the_whole_mapping_is_counted)
{
    uint64_t seed = tw_test_seed();
    int compared = 0;
    for (int i = 0; i < 400; i++) {
        uint64_t start = seed;
        trial t;
        tw_account whole, apart;
        tw_remarks remarks = {0};
        open_trial(&t, &seed);
        remarks.arena = t.arena;
        if (resides_everywhere(&t) && tw_tl_count(&t.rival, 0, work_of(&t), &whole) == TW_OK) {
            CHECK_EQ(tw_tl_count_foreign(&t.rival, 0, work_of(&t), &remarks, &apart), TW_OK);
            check_lines(&whole, &apart, start);
            compared++;
        }
        close_trial(&t);
    }
    CHECK(compared > 20);
}

static double energy_of(const tw_account *a, const char *memory, const char *operand, int action)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].memory, memory) == 0 && strcmp(a->line[i].operand, operand) == 0)
            return a->line[i].action[action].energy_pj;
    return -1;
}

static bool slides(const tw_einsum_operand *x)
{
    for (int r = 0; r < x->n_ranks; r++)
        if (x->rank[r].n_terms > 1) return true;
    return false;
}

static const char arch[] =
    "architecture:\n  version: 0.4\n  subtree:\n  - name: top\n    local:\n"
    "    - {name: main, class: DRAM, attributes: {width: 8, datawidth: 8}}\n"
    "    - {name: mid, class: storage, attributes: {depth: 4096, width: 8, datawidth: 8}}\n"
    "    - {name: 'low[0..5]', class: storage, attributes: {depth: 4096, width: 8, datawidth: 8, meshX: 3}}\n"
    "    - {name: 'mac[0..5]', class: mac, attributes: {meshX: 3}}\n",
                  ert[] = "ERT:\n  version: 0.4\n  tables:\n"
                          "  - {name: top.main, actions: [{name: read, energy: 100}, {name: write, energy: 110}]}\n"
                          "  - {name: top.mid, actions: [{name: read, energy: 5}, {name: write, energy: 7}]}\n"
                          "  - {name: top.low, actions: [{name: read, energy: 1}, {name: write, energy: 2}]}\n"
                          "  - {name: top.mac, actions: [{name: compute, energy: 1}]}\n",
                  problem[] =
                      "problem:\n  shape:\n    name: x\n    dimensions: [M, N, K]\n    data_spaces:\n"
                      "    - {name: A, projection: [[[M]], [[K]]]}\n    - {name: B, projection: [[[K]], [[N]]]}\n"
                      "    - {name: Z, projection: [[[M]], [[N]]], read_write: true}\n"
                      "  instance: {M: 12, N: 18, K: 8}\n";

static void open_product(trial *t, uint64_t *seed)
{
    const tw_rival_text file[] = {{"arch", arch}, {"ert", ert}, {"problem", problem}};
    const tw_rival *rival;
    *t = (trial){
        .ctx = tw_context_new(), .arena = tw_arena_new(), .scratch = tw_arena_new(), .diag = {.muted = true}};
    CHECK_EQ(tw_rival_parse(t->ctx, file, 3, &rival), TW_OK);
    tl_random_mapping(seed, rival, t->loop, &t->nest);
    t->layer = rival->layer[0];
    t->layer.nest = &t->nest;
    t->rival = *rival;
    t->rival.layer = &t->layer;
}

/* The tool adds up fractions of wide words and cuts off what is behind the point: at most one word of the widest transfer. */
TEST(tiles_of_operands_that_do_not_slide_are_filled_equally_often_by_both_rules)
{
    uint64_t seed = tw_test_seed();
    int compared = 0;
    for (int i = 0; i < 120; i++) {
        trial t;
        tw_account timeloop, zigzag;
        open_product(&t, &seed);
        if (tw_tl_count(&t.rival, 0, work_of(&t), &timeloop) == TW_OK) {
            const tw_einsum *e = t.layer.einsum;
            CHECK_EQ(tw_zigzag_tool.count(&t.rival, 0, work_of(&t), &zigzag), TW_OK);
            CHECK(zigzag.compute_cycles == timeloop.compute_cycles);
            for (int m = 1; m < t.rival.machine->n_memories; m++)
                for (int o = 0; o < e->n_operands; o++) {
                    const char *memory = t.rival.machine->memory[m].name;
                    if (e->operand[o].updated || slides(&e->operand[o]) || t.nest.depth[m][o] < 0) continue;
                    double a = energy_of(&timeloop, memory, e->operand[o].name, 1),
                           b = energy_of(&zigzag, memory, e->operand[o].name, TW_WAY_WRITE_UP);
                    CHECK(a - b <= t.rival.machine->memory[m].write_pj * 12 * 18);
                    CHECK(b <= a * (1 + 1e-9));
                    compared++;
                }
        }
        close_trial(&t);
    }
    CHECK(compared > 50);
}

/* ---- mappings to ours and back ---- */

static char *print_ours(trial *t, const tw_rival *rival)
{
    tw_text text = {0};
    tw_plain plain;
    tw_levels levels;
    tw_text_printf(&text, "mapping:\n");
    bool good = tw_levels_of(rival, 0, TW_LEVELS_ALL, &t->diag, &levels) == TW_OK &&
                tw_plain_of(&rival->layer[0], rival->machine, &t->diag, &plain) == TW_OK &&
                tw_plain_print_ours(&plain, rival, 0, &levels, &t->diag, &text) == TW_OK;
    char *copy = good ? tw_arena_strndup(t->arena, text.bytes, text.len) : NULL;
    tw_text_release(&text);
    return copy;
}

static const tw_rival *take_ours(trial *t, const tw_rival *rival, const char *text)
{
    const tw_node *root;
    static tw_plain_ours ours;
    tw_plain plain;
    const tw_rival *out = NULL;
    t->diag.muted = false;
    CHECK_EQ(tw_tree_parse("ours", text, strlen(text), t->arena, &t->diag, &root), TW_OK);
    CHECK_EQ(tw_plain_read_ours(root, rival, work_of(t), &ours), TW_OK);
    CHECK_EQ(tw_plain_of_ours(&ours, rival, 0, &t->diag, &plain), TW_OK);
    CHECK_EQ(rival->tool->take(rival, 0, &plain, work_of(t), &out), TW_OK);
    return out;
}

/* Whether it was converted: the counts are the same, and ours is the same mapping when it comes back. */
static bool goes_and_returns(trial *t, const tw_rival *rival, uint64_t seed)
{
    tw_account before, after;
    char *ours = print_ours(t, rival);
    if (!ours) return false;
    const tw_rival *back = take_ours(t, rival, ours);
    CHECK_EQ(rival->tool->count(rival, 0, work_of(t), &before), TW_OK);
    CHECK_EQ(rival->tool->count(back, 0, work_of(t), &after), TW_OK);
    if (before.energy_pj != after.energy_pj) print_message("seed %" PRIu64 "\n%s", seed, ours);
    CHECK(before.energy_pj == after.energy_pj);
    CHECK(before.cycles == after.cycles);
    CHECK_STR(print_ours(t, back), ours);
    return true;
}

TEST(mappings_of_timeloop_become_ours_and_come_back)
{
    uint64_t seed = tw_test_seed();
    int converted = 0;
    for (int i = 0; i < 300; i++) {
        uint64_t start = seed;
        trial t;
        tw_account account;
        open_product(&t, &seed);
        if (tw_tl_count(&t.rival, 0, work_of(&t), &account) == TW_OK)
            converted += goes_and_returns(&t, &t.rival, start);
        close_trial(&t);
    }
    CHECK(converted > 20);
}

#define FOLDER "test/rivals/zigzag/"
TEST(mappings_of_zigzag_become_ours_and_come_back)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_rival *rival;
    int converted = 0;
    const tw_rival_text file[] = {{"array", tw_read_source(&b, FOLDER "array.yaml")},
                                  {"layers", tw_read_source(&b, FOLDER "layers.yaml")},
                                  {"mapping", tw_read_source(&b, FOLDER "mapping.yaml")}};
    CHECK_EQ(tw_rival_parse(ctx, file, 3, &rival), TW_OK);
    for (int i = 0; i < tw_rival_n_layers(rival); i++) {
        trial t = {.arena = tw_arena_new(), .scratch = tw_arena_new(), .diag = {.muted = true}};
        const tw_rival *mapped;
        tw_rival one = *rival;
        CHECK_EQ(rival->tool->choose(rival, i, work_of(&t), &mapped), TW_OK);
        one.layer = &mapped->layer[i];
        one.n_layers = 1;
        converted += goes_and_returns(&t, &one, (uint64_t)i);
        tw_arena_free(t.arena);
        tw_arena_free(t.scratch);
    }
    CHECK(converted > 0);
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* ---- plans of ours ---- */

static int64_t divisor_of(uint64_t *seed, int64_t n)
{
    int64_t d;
    do d = 1 + (int64_t)(tw_random_next(seed) % (uint64_t)n);
    while (n % d != 0);
    return d;
}

/* Sizes that divide each other, in two levels, and orders at random. */
static const char *random_mapping(uint64_t *seed, tw_arena *arena)
{
    static const char *const order[] = {"m, n, k", "m, k, n", "n, m, k", "n, k, m", "k, m, n", "k, n, m"};
    int64_t outer[3], inner[3];
    for (int i = 0; i < 3; i++) {
        outer[i] = divisor_of(seed, 16);
        inner[i] = divisor_of(seed, outer[i] < 4 ? outer[i] : 4);
    }
    return tw_arena_printf(
        arena,
        "mapping:\n  matmul:\n    levels:\n"
        "      - {at: glb, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [%s]}\n"
        "      - {at: rf, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [%s]}\n",
        outer[0], outer[1], outer[2], order[tw_random_next(seed) % 6], inner[0], inner[1], inner[2],
        order[tw_random_next(seed) % 6]);
}

static bool sums_return(const tw_account *a)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].operand, "ofm") == 0 && a->line[i].action[TW_WAY_WRITE_UP].accesses > 0) return true;
    return false;
}

/* ZigZag charges what is read and what is written at both ends of a transfer, as the simulation does; of partial sums that return it
 * also brings those of the first round, which are not there yet. Timeloop leaves out the reads of what is sent outside. */
TEST(a_plan_of_ours_takes_the_energy_of_its_simulation_by_the_rules_of_zigzag_if_no_sums_return)
{
    uint64_t seed = tw_test_seed();
    tw_arena *arena = tw_arena_new();
    tw_bench b = tw_bench_new();
    const char *text = tw_read_source(&b, "examples/machines/simple3.yaml");
    tw_context *ctx = tw_context_new();
    int equal = 0;
    for (int i = 0; i < 200; i++) {
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *mapping;
        const tw_plan *plan;
        const tw_rival *rival;
        const tw_account *zigzag, *timeloop;
        const char *ours = random_mapping(&seed, arena);
        CHECK_EQ(tw_model_open(ctx, "matmul:16x16x16,dtype=i8,out_dtype=i8", &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "simple3", text, &machine), TW_OK);
        CHECK_EQ(tw_mapping_parse(ctx, model, machine, "ours", ours, &mapping), TW_OK);
        if (tw_plan_eval(ctx, model, machine, mapping, &plan) == TW_OK) {
            double fj = (double)tw_plan_summary(plan)->energy_fj;
            CHECK_EQ(tw_rival_of_plan(ctx, plan, &rival), TW_OK);
            CHECK_EQ(tw_rival_count(ctx, rival, 0, TW_RULES_ZIGZAG, &zigzag), TW_OK);
            CHECK_EQ(tw_rival_count(ctx, rival, 0, TW_RULES_TIMELOOP, &timeloop), TW_OK);
            CHECK(timeloop->energy_pj * 1e3 <= fj * (1 + 1e-9));
            CHECK(timeloop->cycles <= (double)tw_plan_summary(plan)->cycles);
            if (zigzag->energy_pj * 1e3 < fj * (1 - 1e-9)) print_message("%s", ours);
            CHECK(zigzag->energy_pj * 1e3 >= fj * (1 - 1e-9));
            if (sums_return(zigzag)) continue;
            CHECK(fabs(zigzag->energy_pj * 1e3 - fj) <= 1e-9 * fj);
            equal++;
        }
    }
    CHECK(equal > 0);
    tw_context_free(ctx);
    tw_bench_free(&b);
    tw_arena_free(arena);
}
