/* test/verify/test_expect.c - what the verifier makes of a mapping, against what the builder makes of it; and programs whose
 * builder read the mapping in a wrong way, which the checker must not believe. */
#include "async_cases.h"
#include "async_random.h"
#include "brute_random.h"
#include "tw_read.h"

static bool agrees(const tw_program *p)
{
    tw_level_info level[TW_MAX_MEMORIES], built[TW_MAX_MEMORIES];
    static const tw_op_map fused = {.fused = true};
    tw_verify_input in = {.model = p->model, .op = p->op, .machine = p->machine, .layout = &p->layout};
    if (p->machine->fusion.behind) in.next = &fused;
    tw_verify_expect(p->map, level, &in);
    tw_program_levels(p, built);
    bool same = in.n_levels == p->n_tiled && in.padded == p->padded;
    for (int t = 0; t < p->n_tiled && same; t++)
        same = level[t].memory == built[t].memory && level[t].mode == built[t].mode;
    for (int l = 0; l < p->op->n_loops; l++) same &= in.largest[l] == p->largest[l];
    if (!p->flow) return same;
    for (int l = 0; l < p->op->n_loops; l++) same &= in.over[l] == p->flow->over.dim[l];
    for (int o = 0; o < tw_op_output(p->op); o++) {
        const tw_residency *s = &p->flow->residency[p->flow->innermost[o]][o];
        same &= in.streamed[o] == (s->filler >= 0 && s->depth >= p->flow->n_places);
    }
    bool sweeps = p->n_tiled == 1 && p->flow->n_places > 0 && !p->flow->serpentine;
    return same && in.innermost == (sweeps ? p->flow->place[p->flow->n_places - 1].loop : -1);
}

typedef struct seen {
    const tw_model *model;
    const tw_machine *machine;
    tw_arena *arena;
    int64_t n;
} seen;

static void see(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    (void)outcome;
    seen *s = user;
    tw_diag muted = {.muted = true};
    tw_program program;
    tw_arena_mark mark = tw_arena_save(s->arena);
    CHECK_EQ(tw_program_build(&(tw_problem){s->model, 0, s->machine}, map, s->arena, &muted, &program), TW_OK);
    bool good = agrees(&program);
    if (!good) {
        tw_text text = {0};
        tw_mapping_print(&(tw_mapping){1, map}, s->model, s->machine, &text);
        fprintf(stderr, "%s", text.bytes ? text.bytes : "");
        tw_text_release(&text);
    }
    CHECK(good);
    s->n++;
    tw_arena_rewind(s->arena, mark);
}

/* Every mapping of small operators on machines of both timings, on clusters that pad, and of groups. */
TEST(a_mapping_says_to_the_verifier_what_it_says_to_the_builder)
{
    static const brute_wish wish[] = {{.timing = TW_LOCKSTEP, .limit = 400},
                                      {.timing = TW_ASYNC, .limit = 400},
                                      {.timing = TW_ASYNC, .limit = 400, .cluster = true},
                                      {.timing = TW_ASYNC, .limit = 400, .group = true}};
    uint64_t rng = tw_test_seed();
    int64_t n = 0;
    for (int i = 0; i < tw_test_rounds(400); i++) {
        brute_case c;
        tw_bench b = tw_bench_new();
        tw_model model;
        tw_machine machine;
        brute_random_make(&rng, wish[i % 4], &c);
        CHECK_EQ(tw_read_model(&b, "workload", c.workload, &model), TW_OK);
        CHECK_EQ(tw_read_machine(&b, "machine", c.machine, &machine), TW_OK);
        tw_machine view = machine;
        view.fusion.behind = model.n_ops > 1;
        seen s = {.model = &model, .machine = &view, .arena = b.arena};
        brute_run(&(brute_space){&model, &machine, c.max_buffers, false}, see, &s);
        n += s.n;
        tw_bench_free(&b);
    }
    print_message("%" PRId64 " mappings\n", n);
}

/* ---- builders that read it in a wrong way ---- */

typedef struct plant {
    tw_bench bench;
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    tw_program program;
    tw_flow flow;
} plant;

static plant *plant_new(const char *workload, const char *machine, const char *mapping)
{
    tw_bench b = tw_bench_new();
    plant *p = TW_NEW(b.arena, plant, 1);
    CHECK(p != NULL);
    p->bench = b;
    CHECK_EQ(tw_read_model(&p->bench, "w", workload, &p->model), TW_OK);
    CHECK_EQ(tw_read_machine(&p->bench, "m", machine, &p->machine), TW_OK);
    CHECK_EQ(tw_read_mapping(&p->bench, "p", mapping, &p->model, &p->machine, &p->mapping), TW_OK);
    CHECK_EQ(tw_program_build(&(tw_problem){&p->model, 0, &p->machine}, &p->mapping.op[0], p->bench.arena,
                              &p->bench.diag, &p->program),
             TW_OK);
    p->flow = *p->program.flow;
    p->program.flow = &p->flow;
    return p;
}

static void plant_free(plant *p)
{
    tw_bench b = p->bench;
    tw_bench_free(&b);
}

/* The first fault of the program, simulated as it is now; NULL: none. */
static const char *fault_of(plant *p)
{
    tw_level_info level[TW_MAX_MEMORIES];
    tw_verify_input in = {
        .model = &p->model, .op = p->program.op, .machine = &p->machine, .layout = &p->program.layout};
    tw_arena *scratch = tw_arena_new();
    tw_timeline ignored;
    tw_verify_expect(&p->mapping.op[0], level, &in);
    memcpy(in.holds_sums, p->flow.sums, sizeof in.holds_sums);
    tw_checker *checker = tw_checker_new(&in, p->bench.arena);
    CHECK(scratch != NULL && checker != NULL);
    tw_row_sink sink = tw_checker_sink(checker);
    CHECK_EQ(tw_timeline_walk(&p->program, &sink, scratch, &p->bench.diag, &ignored), TW_OK);
    tw_arena_free(scratch);
    return tw_checker_finish(checker);
}

#define ON_ARRAY                                                                                                \
    "machine: m\nunit: element\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: "     \
    "unlimited}]\n"                                                                                             \
    "engines: [{name: dma, between: [dram, l1], cost: {constant: 1}}, {name: mac, computes: multiply-add, on: " \
    "l1, cost: "                                                                                                \
    "{array: [4, 8], latency: 3}}]\n"

static const char *fault_over(int rows, int columns)
{
    static char text[200];
    plant *p = plant_new("matmul:32x1x16", ON_ARRAY,
                         "mapping: {matmul: {levels: [{at: l1, sizes: {m: 16, n: 1, k: 8}}]}}\n");
    p->flow.over = (tw_spread){{0}};
    if (columns >= 0) p->flow.over.dim[columns] = 2;
    if (rows >= 0) p->flow.over.dim[rows] = 1;
    const char *fault = fault_of(p);
    snprintf(text, sizeof text, "%s", fault ? fault : "");
    plant_free(p);
    return text;
}

/* 16 x 1 x 8 points: m over four rows and n over eight columns are 4 x 1 x 8 passes. */
TEST(loops_that_lie_over_an_array_in_another_way_are_a_fault)
{
    enum { M, N, K };
    CHECK_STR(fault_over(M, N), "");
    CHECK_STR(fault_over(N, M), "command 2 (mac): EXEC claims 16 passes, makes 32");
    CHECK_STR(fault_over(M, K), "command 2 (mac): EXEC claims 4 passes, makes 32");
    CHECK_STR(fault_over(-1, -1), "command 2 (mac): EXEC claims 128 passes, makes 32");
}

#define THAT_PADS                                                                                               \
    "machine: m\nunit: element\ntiming: async\npad_to: tile\nmemories: [{name: dram, size: unlimited}, {name: " \
    "l1, size: "                                                                                                \
    "unlimited}]\nengines: [{name: dma, between: [dram, l1], cost: {constant: 1}}, {name: mac, computes: "      \
    "multiply-add, "                                                                                            \
    "on: l1, cost: {cores: 1, start: 2}}]\n"

TEST(loops_of_every_length_are_padded_alike)
{
    for (int64_t m = 1; m <= 10; m++)
        for (int64_t k = 1; k <= 7; k++) {
            char mapping[120];
            snprintf(mapping, sizeof mapping,
                     "mapping: {matmul: {levels: [{at: l1, sizes: {m: %" PRId64 ", n: 2, k: %" PRId64 "}}]}}\n", m,
                     k);
            plant *p = plant_new("matmul:10x3x7", THAT_PADS, mapping);
            CHECK_EQ(p->program.padded, (10 % m != 0) | 2 | (7 % k != 0) << 2);
            CHECK(agrees(&p->program));
            plant_free(p);
        }
}

/* The last tile along m has two points, and takes as long as one of four. */
TEST(a_padded_loop_that_is_taken_for_another_is_a_fault)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        plant *p = plant_new("matmul:10x1x2", THAT_PADS,
                             "mapping: {matmul: {levels: [{at: l1, sizes: {m: 4, n: 1, k: 2}}]}}\n");
        CHECK_EQ(p->program.padded, 1);
        if (wrong) p->program.padded = 0;
        const char *fault = fault_of(p);
        CHECK_EQ(fault != NULL, wrong);
        if (fault) CHECK_STR(fault, "command 8 (mac): EXEC claims 6000 under pressure, makes 10000");
        plant_free(p);
    }
}
