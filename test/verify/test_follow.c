/* test/verify/test_follow.c - programs that do not do what their mapping asks for. Each is made of one mapping and judged by
 * another: right by itself, but not what was written. And reports whose numbers are not those of their rows. */
#include "plan/execute.h"
#include "plan/plan.h"
#include "tw_read.h"
#include "tw_test.h"

#define LOCKSTEP                                                                                                   \
    "machine: m\nunit: element\ntiming: lockstep\nmemories: [{name: dram, size: unlimited}, {name: l2, size: "     \
    "unlimited}, "                                                                                                 \
    "{name: l1, size: unlimited}]\nengines: [{name: dma, between: [dram, l2], channels: 1, cost: {constant: 3}}, " \
    "{name: "                                                                                                      \
    "feed, between: [l2, l1], channels: unlimited, cost: {constant: 1}}, {name: mac, computes: multiply-add, on: " \
    "l1, cost: "                                                                                                   \
    "{constant: 2}}, {name: add1, computes: sum, on: l1, cost: {constant: 1}}, {name: add2, computes: sum, on: "   \
    "l2, cost: "                                                                                                   \
    "{constant: 1}}]\n"
#define ASYNC                                                                                                  \
    "machine: m\nunit: element\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l2, size: "    \
    "unlimited}, "                                                                                             \
    "{name: l1, size: unlimited}]\nengines: [{name: dma, between: [dram, l2], count: 2, cost: {latency: 5, "   \
    "per_cycle: 3}}, "                                                                                         \
    "{name: feed, between: [l2, l1], cost: {constant: 4}}, {name: mac, computes: multiply-add, on: l1, cost: " \
    "{constant: 2}}]\n"
#define LEVELS(l2, l1) "mapping: {matmul: {levels: [{at: l2, " l2 "}, {at: l1, " l1 "}]}}\n"

typedef struct judged {
    tw_bench bench;
    tw_model model;
    tw_machine machine;
    tw_mapping made, asked;
    const tw_plan *plan;
    tw_claims claims;
} judged;

static judged *judged_new(const char *machine, const char *made, const char *asked)
{
    tw_bench b = tw_bench_new();
    judged *j = TW_NEW(b.arena, judged, 1);
    CHECK(j != NULL);
    j->bench = b;
    CHECK_EQ(tw_read_model(&j->bench, "w", "matmul:12x10x9", &j->model), TW_OK);
    CHECK_EQ(tw_read_machine(&j->bench, "m", machine, &j->machine), TW_OK);
    CHECK_EQ(tw_read_mapping(&j->bench, "made", made, &j->model, &j->machine, &j->made), TW_OK);
    CHECK_EQ(tw_read_mapping(&j->bench, "asked", asked, &j->model, &j->machine, &j->asked), TW_OK);
    tw_arena *scratch = tw_arena_new();
    CHECK_EQ(tw_plan_build(&j->model, &j->machine, &j->made, NULL,
                           &(tw_work){j->bench.arena, scratch, &j->bench.diag}, &j->plan),
             TW_OK);
    j->claims = tw_claims_of(&j->plan->op[0]);
    tw_arena_free(scratch);
    return j;
}

/* The checker's first fault, "" when there is none. */
static const char *judge(judged *j, bool with_claims)
{
    static char text[320];
    tw_level_info level[TW_MAX_MEMORIES];
    tw_resident resident[TW_MAX_OPERANDS];
    tw_program as_asked = j->plan->op[0].program;
    as_asked.map = &j->asked.op[0];
    tw_verify_input in = tw_verify_input_of(&as_asked, NULL, level, resident);
    if (with_claims) in.claims = &j->claims;
    tw_arena *scratch = tw_arena_new();
    tw_checker *checker = tw_checker_new(&in, j->bench.arena);
    CHECK(scratch != NULL && checker != NULL);
    CHECK_EQ(tw_watch(&j->plan->op[0], NULL, &(tw_judges){checker, NULL, j->bench.arena}, scratch, &j->bench.diag),
             TW_OK);
    const char *fault = tw_checker_finish(checker);
    snprintf(text, sizeof text, "%s", fault ? fault : "");
    tw_arena_free(scratch);
    return text;
}

static const char *fault_of(const char *machine, const char *made, const char *asked)
{
    static char text[320];
    judged *j = judged_new(machine, made, asked);
    snprintf(text, sizeof text, "%s", judge(j, false));
    tw_bench b = j->bench;
    tw_bench_free(&b);
    return text;
}

TEST(rows_of_another_mapping_are_not_those_that_were_asked_for)
{
    static const char right[] =
        LEVELS("tiles: {m: 3, n: 2, k: 2}, order: [m, n, k], buffers: {ifm: 2, w: 2, ofm: 3}",
               "tiles: {m: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 2}");
    CHECK_STR(fault_of(LOCKSTEP, right, right), "");
    CHECK_STR(fault_of(LOCKSTEP,
                       LEVELS("tiles: {m: 3, n: 2, k: 2}, order: [n, m, k], buffers: {ifm: 2, w: 2, ofm: 3}",
                              "tiles: {m: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 2}"),
                       right),
              "row 17 (l2): EXEC is for another tile than the mapping asks for here");
    CHECK_STR(
        fault_of(LOCKSTEP,
                 LEVELS("tiles: {m: 3, n: 2}, sizes: {k: 6}, order: [m, n, k], buffers: {ifm: 2, w: 2, ofm: 3}",
                        "tiles: {m: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 2}"),
                 right),
        "layout: buffer l2.ifm0 has 24 units, its largest tile 20");
    CHECK_STR(fault_of(LOCKSTEP,
                       LEVELS("tiles: {m: 3, n: 2, k: 2}, order: [m, n, k], buffers: {ifm: 2, w: 2, ofm: 3}",
                              "tiles: {m: 3, k: 2}, buffers: {ifm: 2, w: 2, ofm: 2}"),
                       right),
              "row 5 (l1): EXEC is for another tile than the mapping asks for here");
}

/* Made for one machine, judged by another. */
static const char *fault_on(const char *made, const char *asked, const char *mapping)
{
    static char text[320];
    judged *j = judged_new(made, mapping, mapping);
    tw_machine machine;
    tw_op_plan *op = TW_NEW(j->bench.arena, tw_op_plan, 1);
    CHECK_EQ(tw_read_machine(&j->bench, "asked", asked, &machine), TW_OK);
    *op = j->plan->op[0];
    op->program.machine = &machine;
    tw_plan *plan = TW_NEW(j->bench.arena, tw_plan, 1);
    *plan = *j->plan;
    plan->op = op;
    j->plan = plan;
    snprintf(text, sizeof text, "%s", judge(j, false));
    tw_bench b = j->bench;
    tw_bench_free(&b);
    return text;
}

#define TAKES(what, memory)                                                                                 \
    "machine: m\nunit: element\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: " \
    "unlimited" memory "}]\nengines: [{name: dma, between: [dram, l1], cost: {constant: 4}}, {name: mac, "  \
    "computes: multiply-add, on: l1, cost: "                                                                \
    "{constant: 2}" what "}]\n"

TEST(tiles_and_buffers_that_the_machine_does_not_take_are_faults)
{
    static const char mapping[] =
        "mapping: {matmul: {levels: [{at: l1, sizes: {m: 5, n: 4, k: 3}, buffers: {ifm: 2, w: 3}}]}}\n";
    CHECK_STR(fault_on(TAKES("", ""), TAKES("", ""), mapping), "");
    CHECK_STR(fault_on(TAKES("", ""), TAKES(", min_tile: 4", ""), mapping),
              "tiles of loop 'n' in 'l1' have 3 points, at least 4 are asked for");
    CHECK_STR(fault_on(TAKES("", ""), TAKES(", tile_multiple: 4", ""), mapping),
              "command 2 (mac): EXEC has 5 points of loop 'm', 'mac' takes multiples of 4");
    CHECK_STR(fault_on(TAKES("", ""), TAKES(", tile_sizes: {m: [4, 5], n: [3, 7]}", ""), mapping),
              "command 2 (mac): EXEC has 4 points of loop 'n', which 'mac' does not take");
    CHECK_STR(fault_on(TAKES("", ""), TAKES(", tile_sizes: {m: [5], n: [4], k: [1, 2, 3]}", ""), mapping), "");
    CHECK_STR(
        fault_on(TAKES("", ""), TAKES(", tile_multiple: 7, tile_sizes: {m: [5], n: [4], k: [3]}", ""), mapping),
        "");
    CHECK_STR(fault_on(TAKES("", ""), TAKES("", ", buffers: dual-inputs"), mapping),
              "layout: 'w' has 3 buffers in 'l1', which does not take so many of it");
    CHECK_STR(fault_on(TAKES("", ""), TAKES("", ", align: 16"), mapping),
              "layout: buffer l1.ifm1 lies at 15, 'l1' is aligned to 16");
}

TEST(buffers_are_those_of_the_mapping)
{
    static const char two[] = LEVELS("tiles: {m: 3}, buffers: {ifm: 2}", "tiles: {k: 3}"),
                      three[] = LEVELS("tiles: {m: 3}, buffers: {ifm: 3}", "tiles: {k: 3}");
    CHECK_STR(fault_of(ASYNC, three, two), "layout: 'ifm' has 3 buffers in 'l2', the mapping asks for 2");
    CHECK_STR(fault_of(ASYNC, LEVELS("sizes: {m: 5}, buffers: {ifm: 2}", "tiles: {k: 3}"), two),
              "layout: buffer l2.ifm0 has 45 units, its largest tile 36");
}

TEST(commands_of_another_mapping_are_not_those_that_were_asked_for)
{
    static const char right[] =
        LEVELS("tiles: {m: 3, n: 2}, order: [m, n, k], keep: {ifm: m}", "tiles: {k: 3}, order: [k, m, n]");
    CHECK_STR(fault_of(ASYNC, right, right), "");
    CHECK_STR(
        fault_of(ASYNC, LEVELS("tiles: {m: 3, n: 2}, order: [n, m, k]", "tiles: {k: 3}, order: [k, m, n]"), right),
        "command 13 (dma): LOAD comes where the mapping asks for LOAD of 'ifm' in 'l1'");
    CHECK_STR(
        fault_of(ASYNC,
                 LEVELS("tiles: {m: 2, n: 2}, order: [m, n, k], keep: {ifm: m}", "tiles: {k: 3}, order: [k, m, n]"),
                 right),
        "layout: buffer l2.ifm0 has 54 units, its largest tile 36");
    CHECK_STR(
        fault_of(ASYNC,
                 LEVELS("tiles: {m: 3, n: 2}, order: [m, n, k], keep: {ifm: m}", "sizes: {k: 4}, order: [k, m, n]"),
                 right),
        "layout: buffer l1.ifm0 has 16 units, its largest tile 12");
    static const char kept[] =
        LEVELS("tiles: {m: 3, n: 2}, order: [m, n, k], keep: {w: all}", "tiles: {k: 3}, order: [k, m, n]");
    CHECK_STR(fault_of(ASYNC, right, kept), "layout: 'w' has 1 buffers in 'l2', the mapping asks for 2");
}

/* One number of a report after the other is raised by one. */
static void expect_claim(judged *j, int64_t *number, const char *words)
{
    ++*number;
    const char *fault = judge(j, true);
    if (!strstr(fault, words)) print_error("'%s' does not say '%s'\n", fault, words);
    CHECK(strstr(fault, words) != NULL);
    --*number;
    CHECK_STR(judge(j, true), "");
}

static void expect_claims(const char *machine, const char *mapping)
{
    judged *j = judged_new(machine, mapping, mapping);
    tw_engine_use engine[TW_MAX_ENGINES];
    tw_memory_use memory[TW_MAX_MEMORIES];
    tw_link_use link[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    tw_pool_use pool[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    memcpy(engine, j->claims.engine, sizeof engine);
    memcpy(memory, j->claims.memory, sizeof memory);
    memcpy(link, j->claims.link, sizeof link);
    memcpy(pool, j->claims.pool, sizeof pool);
    j->claims.engine = engine, j->claims.memory = memory;
    j->claims.link = (const tw_link_use(*)[TW_MAX_OPERANDS])link;
    j->claims.pool = pool[0];
    CHECK_STR(judge(j, true), "");
    expect_claim(j, &j->claims.sum.ticks, "the report says ticks");
    expect_claim(j, &j->claims.sum.cycles, "the report says cycles");
    expect_claim(j, &j->claims.sum.execs, "the report says executions");
    expect_claim(j, &j->claims.sum.macs, "the report says points");
    expect_claim(j, &j->claims.sum.energy_fj, "the report says energy");
    expect_claim(j, &engine[0].loads, "the report says loads of dma");
    expect_claim(j, &engine[1].load_units, "the report says units loaded of feed");
    expect_claim(j, &engine[0].store_units, "the report says units stored of dma");
    expect_claim(j, &engine[2].busy_cycles, "the report says busy cycles of mac");
    expect_claim(j, &engine[1].wait_credit, "cycles without a credit of feed");
    expect_claim(j, &engine[2].critical_cycles, "the critical path");
    expect_claim(j, &link[1][0].units, "the report says units of ifm into 'l2'");
    expect_claim(j, &link[2][2].elems, "the report says elements of ofm into 'l1'");
    expect_claim(j, &link[1][1].least_units, "the report says least units of w into 'l2'");
    expect_claim(j, &link[2][1].held_units, "the report says units held of w into 'l1'");
    expect_claim(j, &memory[1].peak_live, "the report says units in use at once of l2");
    if (j->machine.timing == TW_ASYNC) {
        expect_claim(j, &pool[1][0].needed, "the report says slots needed of l2.ifm0");
        expect_claim(j, &pool[2][1].peak, "the report says slots held at once of l1.w0");
        expect_claim(j, &pool[2][2].wait_cycles, "the report says cycles without a credit of l1.ofm0");
    }
    double value = (double)j->claims.sum.cycles;
    tw_search_result found = {
        .n_objectives = 1, .objective = &(tw_objective){0}, .best = j->claims.sum.cycles, .value = &value};
    found.bound = value;
    found.proven = true;
    j->claims.search = &found;
    CHECK_STR(judge(j, true), "");
    found.bound++;
    CHECK(strstr(judge(j, true), "the search says that nothing is below") != NULL);
    found.bound -= 2;
    CHECK(strstr(judge(j, true), "proven") != NULL);
    value++;
    CHECK(strstr(judge(j, true), "the search says that objective 1 is") != NULL);
    tw_bench b = j->bench;
    tw_bench_free(&b);
}

TEST(every_number_of_a_report_is_counted_again)
{
    expect_claims(LOCKSTEP, LEVELS("tiles: {m: 3, n: 2, k: 2}, order: [m, n, k], buffers: {ifm: 2, w: 2, ofm: 3}",
                                   "tiles: {m: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 2}"));
    expect_claims(
        ASYNC, LEVELS("tiles: {m: 3, n: 2}, order: [m, n, k], keep: {ifm: m}", "tiles: {k: 3}, order: [k, m, n]"));
}
