/* test/mapping/test_fusion.c - which groups of operators repeat an earlier one. */
#include "mapping/fusion.h"
#include "tw_read.h"

/* Four products, each with a sum behind it that reads what it makes: the last one as its second input. */
static const char workload[] = "workload: w\nops:\n"
                               "  - {name: a, op: matmul, shape: [2, 3, 4], output: ta}\n"
                               "  - {name: a2, op: add, shape: [2, 3], inputs: {ifm: ta}}\n"
                               "  - {name: b, op: matmul, shape: [2, 3, 4], output: tb}\n"
                               "  - {name: b2, op: add, shape: [2, 3], inputs: {ifm: tb}}\n"
                               "  - {name: c, op: matmul, shape: [2, 3, 5], output: tc}\n"
                               "  - {name: c2, op: add, shape: [2, 3], inputs: {ifm: tc}}\n"
                               "  - {name: d, op: matmul, shape: [2, 3, 4], output: td}\n"
                               "  - {name: d2, op: add, shape: [2, 3], inputs: {w: td}}\n";
enum { N = 8 };

static void check(const tw_op_map *map, bool open, const int want[N])
{
    tw_bench b = tw_bench_new();
    tw_model model;
    const int *like;
    CHECK_EQ(tw_read_model(&b, "w.yaml", workload, &model), TW_OK);
    CHECK_EQ(model.n_ops, N);
    CHECK_EQ(tw_groups_repeated(&model, map, open, &(tw_work){b.arena, b.arena, &b.diag}, &like), TW_OK);
    for (int i = 0; i < N; i++)
        if (!map[i].fused) CHECK_EQ(like[i], want[i]);
    tw_bench_free(&b);
}

TEST(equal_operators_repeat_each_other)
{
    const tw_op_map map[N] = {0};
    check(map, false, (const int[N]){0, 1, 0, 1, 4, 1, 0, 1});
}

TEST(groups_are_equal_when_they_are_chained_alike)
{
    tw_op_map map[N] = {0};
    for (int i = 1; i < N; i += 2) map[i].fused = true;
    check(map, false, (const int[N]){0, 0, 0, 0, 4, 0, 6, 0});
}

TEST(a_group_is_no_operator_by_itself)
{
    tw_op_map map[N] = {0};
    map[1].fused = true;
    check(map, false, (const int[N]){0, 0, 2, 3, 4, 3, 2, 3});
}

TEST(other_mappings_make_other_groups_unless_they_are_still_open)
{
    tw_op_map map[N] = {0};
    for (int i = 0; i < N; i++) map[i].n_levels = 1;
    map[2].level[0].count[1] = 3;
    map[6].level[0].loc.line = 7; /* is no part of what it says */
    check(map, false, (const int[N]){0, 1, 2, 1, 4, 1, 0, 1});
    check(map, true, (const int[N]){0, 1, 0, 1, 4, 1, 0, 1});
}

TEST(what_is_fused_behind_counts_although_the_first_is_open)
{
    tw_op_map map[N] = {0};
    for (int i = 0; i < N; i++) map[i] = (tw_op_map){.n_levels = 1, .fused = i % 2 == 1};
    map[3].level[0].size[0] = 2;
    check(map, true, (const int[N]){0, 0, 2, 0, 4, 0, 6, 0});
}
