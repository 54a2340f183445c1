/* test/place/test_layout.c - slots lie one behind the other, aligned, disjoint, inside, or are refused with a reason. */
#include "place/layout.h"
#include "tw_test.h"

static const tw_op op = {.name = "op", .n_operands = 2, .operand = {{.name = "ifm"}, {.name = "ofm"}}};

static tw_machine machine_of(int64_t size, int64_t align)
{
    return (tw_machine){.name = "m",
                        .n_memories = 2,
                        .memory = {{.name = "out", .size = TW_UNLIMITED, .align = 1},
                                   {.name = "l1", .loc = {"m.yaml", 4, 5}, .size = size, .align = align}}};
}

TEST(random_layouts_are_sound_and_as_tight_as_alignment_allows)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 5000; i++) {
        tw_machine machine = machine_of(TW_UNLIMITED, tw_test_pick(&rng, 1, 64));
        tw_pools pools = {.op = &op, .machine = &machine};
        int64_t need = 0, align = machine.memory[1].align;
        for (int o = 0; o < 2; o++) {
            pools.count[1][o] = tw_test_pick(&rng, 1, 4);
            pools.size[1][o] = tw_test_pick(&rng, 1, 100);
            for (int64_t s = 0; s < pools.count[1][o]; s++) {
                while (need % align) need++;
                need += pools.size[1][o];
            }
        }
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {0};
        tw_layout layout;
        CHECK_EQ(tw_layout_build(&pools, false, arena, &diag, &layout), TW_OK);
        CHECK_EQ(layout.used[1], need);
        CHECK_EQ(tw_layout_check(&layout, &machine, &diag), TW_OK);
        machine.memory[1].size = need;
        CHECK_EQ(tw_layout_build(&pools, false, arena, &diag, &layout), TW_OK);
        machine.memory[1].size = need - 1;
        CHECK_EQ(tw_layout_build(&pools, false, arena, &diag, &layout), TW_INFEASIBLE);
        tw_diag_release(&diag);
        tw_arena_free(arena);
    }
}

TEST(a_refusal_names_the_memory_the_shortage_and_who_fills_it)
{
    tw_machine machine = machine_of(100, 1);
    tw_pools pools = {.op = &op,
                      .machine = &machine,
                      .count = {{0}, {2, 1}},
                      .size = {{0}, {30, 50}},
                      .loc = {{0}, {"map.yaml", 7, 9}}};
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_layout layout;
    CHECK_EQ(tw_layout_build(&pools, false, arena, &diag, &layout), TW_INFEASIBLE);
    CHECK_STR(diag.text[0], "map.yaml:7:9: infeasible: memory 'l1' is short by 10: buffers need 110 of 100");
    CHECK_STR(diag.text[1], "map.yaml:7:9: note: 'ifm' takes 2 x 30 in 'l1'");
    CHECK_STR(diag.text[2], "map.yaml:7:9: note: 'ofm' takes 1 x 50 in 'l1'");
    CHECK_STR(diag.text[3], "m.yaml:4:5: note: memory 'l1' declared here with 100");
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(broken_layouts_are_noticed)
{
    tw_machine machine = machine_of(100, 4);
    const tw_buffer overlapping[] = {{1, 0, 0, 0, 10}, {1, 1, 0, 8, 10}}, outside[] = {{1, 0, 0, 96, 10}},
                    askew[] = {{1, 0, 0, 2, 10}};
    const tw_layout bad[] = {{.n_buffers = 2, .buffer = overlapping},
                             {.n_buffers = 1, .buffer = outside},
                             {.n_buffers = 1, .buffer = askew}};
    tw_diag diag = {0};
    for (size_t i = 0; i < TW_COUNT(bad); i++) CHECK_EQ(tw_layout_check(&bad[i], &machine, &diag), TW_ERR_INPUT);
    tw_diag_release(&diag);
}
