/* test/plan/test_fusion.c - the mapping says which operators are fused: with and against the wish of the workload, on machines
 * that can and that cannot; and what was built for another mapping is a fault. */
#include "plan/execute.h"
#include "tw_test.h"

#include <string.h>

typedef struct stage {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
} stage;

/* A workload or machine of several lines is a file. */
static stage open_stage(const char *workload, const char *machine)
{
    stage s = {.ctx = tw_context_new()};
    bool file = strchr(workload, '\n') != NULL;
    CHECK_EQ(file ? tw_model_parse(s.ctx, "w", workload, &s.model) : tw_model_open(s.ctx, workload, &s.model),
             TW_OK);
    CHECK_EQ(strchr(machine, '\n') ? tw_machine_parse(s.ctx, "m", machine, &s.machine)
                                   : tw_machine_open(s.ctx, machine, &s.machine),
             TW_OK);
    return s;
}

static void read_mapping(stage *s, const char *text)
{
    tw_status status = tw_mapping_parse(s->ctx, s->model, s->machine, "map", text, &s->mapping);
    for (int i = 0; status != TW_OK && i < tw_context_n_messages(s->ctx); i++)
        print_error("%s\n", tw_context_message(s->ctx, i));
    CHECK_EQ(status, TW_OK);
}

static void eval(stage *s, const char *text)
{
    read_mapping(s, text);
    CHECK_EQ(tw_plan_eval(s->ctx, s->model, s->machine, s->mapping, &s->plan), TW_OK);
}

/* A search for what the partial mapping leaves open; NULL: for everything. */
static void find(stage *s, const char *limits)
{
    tw_search_options options = {.budget = 500000};
    if (limits) CHECK_EQ(tw_limits_parse(s->ctx, s->model, s->machine, "limits", limits, &options.limits), TW_OK);
    CHECK_EQ(tw_plan_search(s->ctx, s->model, s->machine, &options, &s->plan), TW_OK);
}

static void check_verified(stage *s)
{
    for (int i = 0; i < s->model->n_ops; i++) {
        const tw_verdict *verdict;
        tw_status status = tw_plan_verify(s->ctx, s->plan, i, &(tw_verify_options){.seed = 1}, &verdict);
        if (status == TW_WRONG) print_error("%s: %s\n", s->model->op[i].name, verdict->first_fault);
        CHECK_EQ(status, TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
    }
}

/* Units that cross the link into memory m, either way. */
static int64_t traffic(const tw_plan *plan, int m)
{
    int64_t sum = 0;
    for (int i = 0; i < plan->model->n_ops; i++)
        for (int o = 0; o < plan->model->op[i].n_operands; o++) sum += plan->op[i].link[m][o].units;
    return sum;
}

/* The caller frees. */
static char *printed(const stage *s, const tw_mapping *mapping)
{
    tw_text text = {0};
    tw_mapping_print(mapping, s->model, s->machine, &text);
    CHECK(!text.failed);
    return text.bytes;
}

/* What is printed reads as the same mapping, operator by operator. */
static void check_round_trip(stage *s, const tw_mapping *mapping)
{
    char *first = printed(s, mapping);
    read_mapping(s, first);
    char *second = printed(s, s->mapping);
    CHECK_STR(second, first);
    for (int i = 0; i < mapping->n_ops; i++) CHECK_EQ(s->mapping->op[i].fused, mapping->op[i].fused);
    free(first);
    free(second);
}

/* ---- the workload wishes ---- */

static const char wished[] = "matmul_transpose_b:1x400x161:f64,epilogue=add";
#define TILED                                                                               \
    "mapping:\n  matmul_transpose_b:\n    levels:\n"                                        \
    "      - {at: l1, sizes: {n: 200, k: 23}, order: [m, n, k], buffers: {ifm: 2, w: 2}}\n" \
    "  matmul_transpose_b.add:\n"
#define WHOLE "    levels:\n      - {at: l1}\n"

TEST(a_wish_is_fulfilled_unless_the_mapping_says_no)
{
    stage silent = open_stage(wished, "snitch"), yes = open_stage(wished, "snitch"),
          no = open_stage(wished, "snitch");
    eval(&silent, TILED WHOLE);
    eval(&yes, TILED "    fused: true\n" WHOLE);
    eval(&no, TILED "    fused: false\n" WHOLE);
    check_verified(&silent);
    check_verified(&yes);
    check_verified(&no);
    CHECK_EQ(silent.plan->sum.cycles, yes.plan->sum.cycles);
    CHECK(no.plan->sum.cycles > yes.plan->sum.cycles);
    CHECK_EQ(traffic(silent.plan, 1), traffic(yes.plan, 1));
    CHECK_EQ(traffic(no.plan, 1), traffic(yes.plan, 1) + 2 * 400 * 8); /* stored, and loaded */
    stage *all[] = {&silent, &yes, &no};
    for (int i = 0; i < 3; i++) {
        char *text = printed(all[i], all[i]->plan->mapping);
        CHECK_EQ(strstr(text, "\n    fused:") != NULL, i == 2); /* where it is not the default */
        check_round_trip(all[i], all[i]->plan->mapping);
        free(text);
        tw_context_free(all[i]->ctx);
    }
}

TEST(a_search_fuses_what_the_workload_wishes_and_what_the_limits_say)
{
    stage s = open_stage(wished, "snitch"), apart = open_stage(wished, "snitch");
    find(&s, NULL);
    find(&apart, "mapping: {matmul_transpose_b.add: {fused: false}}\n");
    check_verified(&s);
    check_verified(&apart);
    CHECK(s.plan->mapping->op[1].fused && !s.plan->op[1].searched);
    CHECK(!apart.plan->mapping->op[1].fused && apart.plan->op[1].searched);
    CHECK(traffic(s.plan, 1) < traffic(apart.plan, 1));
    tw_context_free(s.ctx);
    tw_context_free(apart.ctx);
}

/* Rows have no buffers that outlive their operator; the array of `kpu` reads from the fabric and writes elsewhere. */
TEST(a_wish_that_the_machine_cannot_fulfil_leaves_the_operator_alone)
{
    static const char *const machine[] = {"tick-10k", "kpu"};
    for (int i = 0; i < 2; i++) {
        stage s = open_stage("matmul:12x10x8,epilogue=add", machine[i]);
        find(&s, NULL);
        check_verified(&s);
        CHECK(!s.plan->mapping->op[1].fused && s.plan->op[1].searched);
        char *text = printed(&s, s.plan->mapping);
        CHECK(strstr(text, "\n    fused:") == NULL);
        check_round_trip(&s, s.plan->mapping);
        free(text);
        tw_context_free(s.ctx);
    }
}

/* ---- the workload says nothing ---- */

static const char chain[] = "workload: chain\nops:\n"
                            "  - {name: mm, op: matmul, shape: [16, 24, 32], dtype: f64, output: y}\n"
                            "  - {name: plus, op: add, shape: [16, 24], dtype: f64, inputs: {ifm: y}, output: z}\n"
                            "  - {name: last, op: add, shape: [16, 24], dtype: f64, inputs: {w: z}}\n";

TEST(a_mapping_fuses_operators_of_a_workload_without_a_wish)
{
    stage apart = open_stage(chain, "snitch"), fused = open_stage(chain, "snitch");
    eval(&apart,
         "mapping:\n  mm: {levels: [{at: l1}]}\n  plus: {levels: [{at: l1}]}\n  last: {levels: [{at: l1}]}\n");
    eval(&fused, "mapping:\n  mm: {levels: [{at: l1}]}\n  plus: {fused: true, levels: [{at: l1}]}\n"
                 "  last: {levels: [{at: l1}], fused: true}\n");
    check_verified(&apart);
    check_verified(&fused);
    CHECK(fused.plan->sum.cycles < apart.plan->sum.cycles);
    CHECK_EQ(traffic(apart.plan, 1), traffic(fused.plan, 1) + INT64_C(4) * 16 * 24 * 8);
    check_round_trip(&fused, fused.plan->mapping);
    find(&apart, "mapping: {plus: {fused: true}}\n");
    check_verified(&apart);
    CHECK(apart.plan->mapping->op[1].fused && !apart.plan->mapping->op[2].fused);
    tw_context_free(apart.ctx);
    tw_context_free(fused.ctx);
}

/* ---- any ---- */

enum { MOST_OPS = 4, TEXT = 2000 };

/* Additions one behind the other; each may wish to be fused, and reads what is before it through either input. */
static int random_chain(uint64_t *rng, char text[TEXT])
{
    int n = (int)tw_test_pick(rng, 2, MOST_OPS), a = (int)tw_test_pick(rng, 1, 6), b = (int)tw_test_pick(rng, 1, 6);
    int at = snprintf(text, TEXT, "workload: w\nops:\n");
    for (int i = 0; i < n; i++) {
        at += snprintf(text + at, (size_t)(TEXT - at),
                       "  - {name: o%d, op: add, shape: [%d, %d], dtype: i32, output: t%d", i, a, b, i);
        if (i > 0)
            at += snprintf(text + at, (size_t)(TEXT - at), ", inputs: {%s: t%d}%s",
                           tw_test_pick(rng, 0, 1) ? "ifm" : "w", i - 1,
                           tw_test_pick(rng, 0, 1) ? ", fused: true" : "");
        at += snprintf(text + at, (size_t)(TEXT - at), "}\n");
    }
    return n;
}

/* Every operator cut at random; bit i of `fused` fuses operator i. */
static void chain_mapping(uint64_t rng, int n, unsigned fused, char text[TEXT])
{
    int at = snprintf(text, TEXT, "mapping:\n");
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, (size_t)(TEXT - at),
                       "  o%d: {fused: %s, levels: [{at: l1, tiles: {d0: %d}, order: [%s]}]}\n", i,
                       fused >> i & 1 ? "true" : "false",
                       (int)tw_test_pick(&rng, 1, 1 + (tw_test_pick(&rng, 0, 1) == 0)),
                       tw_test_pick(&rng, 0, 1) ? "d0, d1" : "d1, d0");
}

static const char plain_machine[] =
    "machine: m\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited}\n  - {name: l1, size: 4096, align: 4, placement: %s}\nengines:\n"
    "  - {name: dma, between: [dram, l1], cost: {latency: 3, per_cycle: 4}}\n"
    "  - {name: alu, computes: add, memory: l1, cost: {latency: 2, per_cycle: 3}}\n";

/* The same mapping with and without fusion: what stays is not moved, everything else as before. */
static void compare(const stage *apart, const stage *fused)
{
    for (int i = 0; i < fused->model->n_ops; i++) {
        const tw_op *op = &fused->model->op[i];
        tw_fusion f = fused->plan->op[i].program.machine->fusion;
        CHECK_EQ(f.before, fused->mapping->op[i].fused);
        for (int o = 0; o < op->n_operands; o++) {
            bool stays = o == tw_op_output(op) ? f.behind : f.before && tw_chain_input(fused->model, i) == o;
            int64_t units = apart->plan->op[i].link[1][o].units;
            CHECK(units > 0);
            CHECK_EQ(fused->plan->op[i].link[1][o].units, stays ? 0 : units);
        }
    }
}

TEST(whatever_a_mapping_fuses_is_verified_and_not_moved)
{
    static const char *const placement[] = {"slots", "bump", "lifetime"};
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 300; i++) {
        char workload[TEXT], machine[TEXT], mapping[TEXT];
        int n = random_chain(&rng, workload);
        snprintf(machine, sizeof machine, plain_machine, placement[i % 3]);
        if (strstr(workload, "shape: [1,")) continue;
        uint64_t cuts = rng;
        unsigned which = (unsigned)tw_test_pick(&rng, 0, (1 << n) - 1) & ~1u;
        stage apart = open_stage(workload, machine), fused = open_stage(workload, machine);
        chain_mapping(cuts, n, 0, mapping);
        eval(&apart, mapping);
        chain_mapping(cuts, n, which, mapping);
        eval(&fused, mapping);
        check_verified(&apart);
        check_verified(&fused);
        compare(&apart, &fused);
        CHECK(fused.plan->sum.cycles <= apart.plan->sum.cycles);
        check_round_trip(&fused, fused.plan->mapping);
        tw_context_free(apart.ctx);
        tw_context_free(fused.ctx);
    }
}

/* ---- programs for another mapping ---- */

/* What the checker says of operator `op` of a plan when it is told that another mapping was asked for; "": nothing. */
static const char *judge_as(const stage *s, const tw_mapping *asked, int op)
{
    static char text[320];
    tw_level_info level[TW_MAX_MEMORIES];
    tw_resident resident[TW_MAX_OPERANDS];
    tw_program program = s->plan->op[op].program;
    program.map = &asked->op[op];
    const tw_op_map *next = op + 1 < asked->n_ops ? &asked->op[op + 1] : NULL;
    tw_verify_input in = tw_verify_input_of(&program, next, level, resident);
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_checker *checker = tw_checker_new(&in, arena);
    tw_diag muted = {.muted = true};
    CHECK(checker != NULL && scratch != NULL);
    CHECK_EQ(tw_watch(&s->plan->op[op], NULL, &(tw_judges){checker, NULL, arena}, scratch, &muted), TW_OK);
    const char *fault = tw_checker_finish(checker);
    snprintf(text, sizeof text, "%s", fault ? fault : "");
    tw_arena_free(arena);
    tw_arena_free(scratch);
    return text;
}

TEST(what_is_fused_against_the_mapping_is_a_fault_and_so_is_what_is_not)
{
    stage s = open_stage(chain, "snitch");
    static const char yes[] = "mapping:\n  mm: {levels: [{at: l1}]}\n  plus: {fused: true, levels: [{at: l1}]}\n"
                              "  last: {levels: [{at: l1}]}\n",
                      no[] = "mapping:\n  mm: {levels: [{at: l1}]}\n  plus: {levels: [{at: l1}]}\n"
                             "  last: {levels: [{at: l1}]}\n";
    for (int made = 0; made < 2; made++) {
        eval(&s, made ? yes : no);
        const tw_mapping *own = s.mapping;
        read_mapping(&s, made ? no : yes);
        for (int op = 0; op < 3; op++) {
            CHECK_STR(judge_as(&s, own, op), "");
            CHECK_EQ(judge_as(&s, s.mapping, op)[0] != 0, op < 2);
        }
    }
    tw_context_free(s.ctx);
}

/* The planner refuses such mappings, but the verifier does not know that. */
TEST(a_tensor_that_another_operator_needs_must_not_stay)
{
    stage s = open_stage("workload: w\nops:\n"
                         "  - {name: one, op: add, shape: [4], output: a}\n"
                         "  - {name: two, op: add, shape: [4], inputs: {ifm: a}, output: b}\n"
                         "  - {name: three, op: add, shape: [4], inputs: {ifm: a, w: b}}\n",
                         "snitch");
    eval(&s, "mapping: {one: {levels: [{at: l1}]}, two: {levels: [{at: l1}]}, three: {levels: [{at: l1}]}}\n");
    tw_op_map map[3];
    memcpy(map, s.mapping->op, sizeof map);
    map[0].fused = true;
    CHECK_STR(judge_as(&s, &(tw_mapping){3, map}, 0),
              "the mapping: 'one' is fused, but does not read once what the operator before it makes");
    map[0].fused = false;
    map[1].fused = true;
    CHECK_STR(judge_as(&s, &(tw_mapping){3, map}, 0),
              "the mapping: what 'one' makes stays for the next operator, 'three' reads it 1 times");
    tw_context_free(s.ctx);
}
