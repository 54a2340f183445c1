/* test/program/test_dual.c - memories that know single and double buffers only, and what they refuse. */
#include "tw_read.h"

#include "program/program.h"

static const char machine_text[] = "machine: m\nunit: element\ntiming: async\nmemories:\n"
                                   "  - {name: l3, size: unlimited}\n"
                                   "  - {name: l1, size: unlimited, buffers: %s}\nengines:\n"
                                   "  - {name: dma, between: [l3, l1], cost: {constant: 1}}\n"
                                   "  - {name: cores, computes: multiply-add, on: l1, cost: {constant: 1}}\n";

/* gemv of 4 x 6 in tiles of 2 x 3, k outside: w changes with every execution, ifm with every sweep. NULL: accepted. */
static const char *refusal(tw_bench *b, const char *doubles, const char *keys)
{
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    tw_program program;
    char *text = tw_arena_printf(b->arena, machine_text, doubles);
    CHECK_EQ(tw_read_model(b, "w", "gemv:4x6", &model), TW_OK);
    CHECK_EQ(tw_read_machine(b, "m", text, &machine), TW_OK);
    text = tw_arena_printf(b->arena, "mapping:\n  gemv:\n    levels:\n      - {at: l1, sizes: {n: 2, k: 3}, %s}\n",
                           keys);
    CHECK_EQ(tw_read_mapping(b, "map", text, &model, &machine, &mapping), TW_OK);
    tw_status status =
        tw_program_build(&(tw_problem){&model, 0, &machine}, &mapping.op[0], b->arena, &b->diag, &program);
    CHECK(status == TW_OK || status == TW_INFEASIBLE);
    return status == TW_OK ? NULL : b->diag.last;
}

static void check(const char *doubles, const char *keys, const char *expected)
{
    tw_bench b = tw_bench_new();
    const char *got = refusal(&b, doubles, keys);
    if (!expected && got) print_error("%s\n", got);
    if (expected)
        CHECK_STR(got, expected);
    else
        CHECK(got == NULL);
    tw_bench_free(&b);
}

TEST(any_number_of_buffers_is_right_where_nothing_is_said)
{
    check("any", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 3, w: 5, ofm: 4}", NULL);
}

TEST(dual_memories_double_what_changes_with_every_execution)
{
    check("dual", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 1, w: 2, ofm: 2}", NULL);
    check("dual", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 1, w: 1, ofm: 2}", NULL);
    check("dual", "order: [n, k], buffers: {ifm: 2, w: 2, ofm: 1}", NULL); /* here ifm changes, too */
    check("dual", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 2, w: 2, ofm: 2}",
          "map:4:9: infeasible: 'ifm' has 2 buffers in 'l1', which doubles only inputs that change with every "
          "execution");
    check("dual", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 1, w: 3, ofm: 2}",
          "map:4:9: infeasible: 'w' has 3 buffers in 'l1', which doubles all inputs that change with every "
          "execution or none");
    check("dual", "order: [n, k], buffers: {ifm: 1, w: 2, ofm: 1}",
          "map:4:9: infeasible: 'w' has 2 buffers in 'l1', which doubles all inputs that change with every "
          "execution or none");
    check("dual", "order: [n, k], buffers: {ifm: 2, w: 2, ofm: 2}",
          "map:4:9: infeasible: 'ofm' has 2 buffers in 'l1', which doubles only inputs that change with every "
          "execution");
}

TEST(other_memories_double_all_inputs_or_none)
{
    check("dual-inputs", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 2, w: 2, ofm: 2}", NULL);
    check("dual-inputs", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 1, w: 1, ofm: 2}", NULL);
    check("dual-inputs", "order: [k, n], keep: {ofm: all}, buffers: {ifm: 1, w: 2, ofm: 2}",
          "map:4:9: infeasible: 'w' has 2 buffers in 'l1', which doubles all inputs or none");
    check("dual-inputs", "order: [n, k], buffers: {ifm: 2, w: 2, ofm: 2}",
          "map:4:9: infeasible: 'ofm' has 2 buffers in 'l1', which doubles only inputs");
}

TEST(what_is_left_open_is_what_a_memory_can_have)
{
    check("dual", "order: [k, n], keep: {ofm: all}", NULL);
    check("dual", "order: [n, k]", NULL);
    check("dual-inputs", "order: [n, k]", NULL);
}
