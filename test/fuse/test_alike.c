/* test/fuse/test_alike.c - segments that are alike have one number, and others have others. */
#include "fuse/alike.h"
#include "tw_read.h"

/* c1, c2 and c3 are alike; c0 reads the input of the model, c4 makes its output, and what `wide` reads has another row. What c2 makes is read twice. */
static const char chain[] =
    "workload: chain\nops:\n"
    "  - {name: c0, op: conv, shape: [4, 8, 8], out: 4, kernel: 3, pad: 1, inputs: {ifm: t0}, output: t1}\n"
    "  - {name: c1, op: conv, shape: [4, 8, 8], out: 4, kernel: 3, pad: 1, inputs: {ifm: t1}, output: t2}\n"
    "  - {name: c2, op: conv, shape: [4, 8, 8], out: 4, kernel: 3, pad: 1, inputs: {ifm: t2}, output: t3}\n"
    "  - {name: c3, op: conv, shape: [4, 8, 8], out: 4, kernel: 3, pad: 1, inputs: {ifm: t3}, output: t4}\n"
    "  - {name: one, op: conv, shape: [4, 8, 8], out: 4, kernel: 1, inputs: {ifm: t4}, output: t5}\n"
    "  - {name: sum, op: add, shape: [4, 8, 8], inputs: {ifm: t5, w: t3}, output: t6}\n";

static int number_of(tw_alike *a, const tw_model *model, int first, int n)
{
    const tw_segment segment = {model, first, n};
    int number = -1;
    CHECK_EQ(tw_alike_number(a, &segment, &number), TW_OK);
    return number;
}

TEST(equal_operators_in_equal_places_are_alike)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_alike *a;
    CHECK_EQ(tw_read_model(&b, "chain", chain, &model), TW_OK);
    CHECK_EQ(tw_alike_new(b.arena, &a), TW_OK);
    CHECK_EQ(tw_alike_open(a, &model), TW_OK);
    int one = number_of(a, &model, 1, 1), two = number_of(a, &model, 1, 2);
    CHECK_EQ(number_of(a, &model, 3, 1), one);
    CHECK(number_of(a, &model, 0, 1) != one); /* nobody makes its input */
    CHECK(number_of(a, &model, 4, 1) != one); /* another kernel         */
    CHECK(two != one);
    CHECK(number_of(a, &model, 0, 2) != two);
    CHECK(number_of(a, &model, 2, 2) != two);  /* others read what is between them */
    CHECK_EQ(tw_alike_open(a, &model), TW_OK); /* numbers stay when a model is opened again */
    CHECK_EQ(number_of(a, &model, 3, 1), one);
    CHECK_EQ(number_of(a, &model, 1, 2), two);
    tw_bench_free(&b);
}

TEST(tensors_are_numbered_as_the_segment_names_them)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    CHECK_EQ(tw_read_model(&b, "chain", chain, &model), TW_OK);
    const tw_segment segment = {&model, 1, 5};
    int n = 0;
    for (int k = 0; k < segment.n; k++)
        for (int o = 0; o < tw_segment_op(&segment, k)->n_operands; o++) {
            int tensor = tw_segment_op(&segment, k)->operand[o].tensor, local = tw_alike_local(&segment, tensor);
            CHECK(local >= 0 && local <= n); /* no number is left out */
            n += local == n;
            CHECK_EQ(tw_alike_tensor(&segment, local), tensor);
        }
    CHECK_EQ(tw_alike_local(&segment, model.op[0].operand[0].tensor), -1);
    tw_bench_free(&b);
}
