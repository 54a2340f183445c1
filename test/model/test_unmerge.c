/* test/model/test_unmerge.c - loops divided into the axes of tensors: the same points, the same elements. */
#include "model/unmerge.h"
#include "tw_test.h"

/* Element that a point of the loops, each at `at`, reads of the operand; -1: padding. */
static int64_t element(const tw_operand *operand, const int64_t *at)
{
    int64_t index = 0, position;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int64_t value = axis->offset;
        for (int t = 0; t < axis->n_terms; t++) value += axis->term[t].coef * at[axis->term[t].loop];
        if (!tw_axis_position(axis, value, &position)) return -1;
        index = index * axis->extent + position;
    }
    return index;
}

/* Whether both walk the same elements of all operands in the same order of points, the last loop fastest. */
static void check_same_walk(const tw_op *a, const tw_op *b)
{
    int64_t n = tw_op_points(a), at[2][TW_MAX_LOOPS] = {0};
    CHECK_EQ(tw_op_points(b), n);
    for (int64_t i = 0; i < n; i++) {
        const tw_op *op[] = {a, b};
        for (int k = 0; k < 2; k++) {
            int64_t rest = i;
            for (int l = op[k]->n_loops - 1; l >= 0; l--) {
                at[k][l] = rest % op[k]->loop[l].extent;
                rest /= op[k]->loop[l].extent;
            }
        }
        for (int o = 0; o < a->n_operands; o++)
            CHECK_EQ(element(&a->operand[o], at[0]), element(&b->operand[o], at[1]));
    }
}

#define WALK(extent_, loop_)                                                      \
    (tw_axis)                                                                     \
    {                                                                             \
        .extent = (extent_), .divisor = 1, .n_terms = 1, .term = { {(loop_), 1} } \
    }

/* An addition over one loop of 24 elements. */
static tw_op flat_add(void)
{
    tw_op op = {.name = "add", .compute = TW_ADD, .n_loops = 1, .loop = {{"d0", 24, false}}, .n_operands = 3};
    for (int o = 0; o < 3; o++)
        op.operand[o] = (tw_operand){.name = "x", .tensor = o, .n_axes = 1, .axis = {WALK(24, 0)}};
    return op;
}

static tw_tensor tensor_of(int root, int64_t a, int64_t b, int64_t c)
{
    return (tw_tensor){.name = "t", .n_axes = 4, .extent = {1, a, b, c}, .root = root};
}

TEST(a_loop_over_all_elements_becomes_the_axes_of_its_tensors)
{
    tw_arena *arena = tw_arena_new();
    const tw_tensor tensor[] = {tensor_of(0, 2, 3, 4), tensor_of(1, 2, 3, 4), tensor_of(2, 2, 3, 4)};
    const tw_model model = {.n_tensors = 3, .tensor = tensor};
    tw_op op = flat_add(), was = op;
    CHECK(tw_op_unmerge(&op, &model, arena));
    CHECK_EQ(op.n_loops, 3);
    CHECK_STR(op.loop[2].name, "d02");
    for (int o = 0; o < 3; o++) CHECK_EQ(op.operand[o].n_axes, 3);
    check_same_walk(&was, &op);
    tw_arena_free(arena);
}

TEST(a_loop_stays_where_tensors_disagree_or_something_is_held_along_it)
{
    tw_arena *arena = tw_arena_new();
    const tw_tensor tensor[] = {tensor_of(0, 2, 3, 4), tensor_of(1, 4, 3, 2), tensor_of(2, 2, 3, 4)};
    const tw_model model = {.n_tensors = 3, .tensor = tensor};
    tw_op op = flat_add();
    CHECK(tw_op_unmerge(&op, &model, arena));
    CHECK_EQ(op.n_loops, 1);
    const tw_tensor same[] = {tensor[0], tensor[0], tensor[0]};
    op.n_held = 1;
    op.held[0] = (tw_held){"h0", 0, -1};
    CHECK(tw_op_unmerge(&op, &(tw_model){.n_tensors = 3, .tensor = same}, arena));
    CHECK_EQ(op.n_loops, 1);
    tw_arena_free(arena);
}

/* out[y] = sum over k of x[y + k]: the loop over y is part of a window. */
TEST(a_tensor_gets_the_axes_in_which_somebody_sees_it_if_they_are_finer)
{
    tw_tensor t = {.name = "t", .n_axes = 3, .extent = {6, 1, 4}};
    const tw_operand finer = {.n_axes = 3, .axis = {WALK(2, 0), WALK(3, 1), WALK(4, 2)}},
                     other = {.n_axes = 2, .axis = {WALK(3, 0), WALK(8, 1)}},
                     less = {.n_axes = 1, .axis = {WALK(6, 0)}}, flat = {.n_axes = 1, .axis = {WALK(24, 0)}};
    CHECK(!tw_tensor_refine(&t, &other));
    CHECK(!tw_tensor_refine(&t, &less));
    CHECK(!tw_tensor_refine(&t, &flat));
    CHECK(tw_tensor_refine(&t, &finer));
    CHECK_EQ(t.n_axes, 3);
    CHECK_EQ(t.extent[0], 2);
    CHECK_EQ(t.extent[1], 3);
    CHECK_EQ(t.extent[2], 4);
    CHECK(!tw_tensor_refine(&t, &finer));
}

TEST(loops_of_windows_stay)
{
    tw_arena *arena = tw_arena_new();
    tw_op op = {.name = "conv",
                .compute = TW_ADD,
                .n_loops = 2,
                .loop = {{"y", 6, false}, {"k", 3, true}},
                .n_operands = 2,
                .operand = {{.name = "x",
                             .tensor = 0,
                             .n_axes = 1,
                             .axis = {{.extent = 8, .divisor = 1, .n_terms = 2, .term = {{0, 1}, {1, 1}}}}},
                            {.name = "o", .tensor = 1, .n_axes = 1, .axis = {WALK(6, 0)}}}};
    const tw_tensor tensor[] = {tensor_of(0, 1, 4, 2), tensor_of(1, 1, 3, 2)};
    tw_op was = op;
    CHECK(tw_op_unmerge(&op, &(tw_model){.n_tensors = 2, .tensor = tensor}, arena));
    CHECK_EQ(op.n_loops, 2);
    check_same_walk(&was, &op);
    tw_arena_free(arena);
}
