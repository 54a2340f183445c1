/* test/model/test_divided.c - operators that are divided: both models are computed point by point, and make the same numbers. */
#include "model/divided.h"
#include "tilewright/tilewright.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The element of the tensor that a point means; -1: it lies in the padding. */
static int64_t element(const tw_operand *operand, const int64_t *at)
{
    int64_t e = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        int64_t value = operand->axis[a].offset, position;
        for (int t = 0; t < operand->axis[a].n_terms; t++)
            value += operand->axis[a].term[t].coef * at[operand->axis[a].term[t].loop];
        if (!tw_axis_position(&operand->axis[a], value, &position)) return -1;
        e = e * operand->axis[a].extent + position;
    }
    return e;
}

static int64_t value_at(const tw_op *op, const int64_t *at, int64_t *const *data)
{
    int64_t value = op->compute == TW_ADD ? 0 : 1, input[TW_MAX_OPERANDS] = {0};
    int found[TW_MAX_OPERANDS] = {0};
    for (int o = 0; o < tw_op_output(op); o++) { /* pieces of an input add to it, and at most one has an element */
        int64_t e = element(&op->operand[o], at);
        int of = op->operand[o].beside > 0 ? op->operand[o].beside - 1 : o;
        if (e >= 0) input[of] += data[op->operand[o].tensor][e];
        CHECK((found[of] += e >= 0) < 2);
    }
    for (int o = 0; o < tw_op_output(op) && op->operand[o].beside == 0; o++)
        value = op->compute == TW_ADD ? value + input[o] : value * input[o];
    return value;
}

static void compute(const tw_op *op, int64_t *const *data)
{
    int64_t at[TW_MAX_LOOPS] = {0};
    for (int64_t i = 0; i < tw_op_points(op); i++) {
        const tw_operand *out = &op->operand[tw_op_output(op)];
        data[out->tensor][element(out, at)] += value_at(op, at, data);
        for (int l = op->n_loops - 1; l >= 0 && ++at[l] == op->loop[l].extent; l--) at[l] = 0;
    }
}

static int made_by(const tw_op *op) { return op->operand[tw_op_output(op)].tensor; }

/* What each tensor is in the end; inputs are drawn, tensor by tensor, so that those of both models are the same. */
static int64_t **run(const tw_model *model, uint64_t seed)
{
    int64_t **data = calloc((size_t)model->n_tensors, sizeof *data);
    for (int t = 0; t < model->n_tensors; t++) {
        int64_t n = tw_tensor_elems(&model->tensor[t]);
        data[t] = calloc((size_t)n, sizeof **data);
        uint64_t own = seed + (uint64_t)t;
        for (int64_t e = 0; e < n && model->tensor[t].role != TW_ROLE_BETWEEN; e++)
            data[t][e] = tw_test_pick(&own, -9, 9);
    }
    for (int o = 0; o < model->n_ops; o++) compute(&model->op[o], data);
    return data;
}

static void free_run(const tw_model *model, int64_t **data)
{
    for (int t = 0; t < model->n_tensors; t++) free(data[t]);
    free(data);
}

static void draw_op(char *text, size_t n, uint64_t *random)
{
    if (tw_test_pick(random, 0, 2) == 0)
        snprintf(text, n, "matmul:%dx%dx%d,dtype=i8,out_dtype=i32,accumulator=i32", (int)tw_test_pick(random, 1, 4),
                 (int)tw_test_pick(random, 1, 4), (int)tw_test_pick(random, 2, 30));
    else
        snprintf(text, n, "conv:%dx%dx%d,out=%d,kernel=%d,stride=%d,pad=%d,dtype=i8,out_dtype=i32,accumulator=i32",
                 (int)tw_test_pick(random, 1, 7), (int)tw_test_pick(random, 3, 6), (int)tw_test_pick(random, 3, 6),
                 (int)tw_test_pick(random, 1, 3), (int)tw_test_pick(random, 2, 3), (int)tw_test_pick(random, 1, 2),
                 (int)tw_test_pick(random, 0, 1));
}

TEST(sums_of_pieces_that_are_added_up_are_what_the_operator_makes)
{
    uint64_t random = tw_test_seed();
    int n_divided = 0;
    for (int i = 0; i < 200; i++) {
        tw_context *ctx = tw_context_new();
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {.muted = true};
        const tw_model *given, *divided;
        char text[160];
        draw_op(text, sizeof text, &random);
        CHECK_EQ(tw_model_open(ctx, text, &given), TW_OK);
        const tw_op *op = &given->op[0];
        int loop = (int)tw_test_pick(&random, 0, op->n_loops - 1);
        while (i % 4 && !op->loop[loop].reduces) loop = (loop + 1) % op->n_loops;
        tw_divided_op which = {
            .op = op->name, .loop = op->loop[loop].name, .n = (int)tw_test_pick(&random, 2, i % 3 ? 3 : 5)};
        for (int k = 0; k < which.n; k++) which.share[k] = tw_test_pick(&random, 1, 3);
        tw_status status = tw_model_divide(given, 1, &which, op->loc, arena, &diag, &divided);
        if (!op->loop[loop].reduces) CHECK_EQ(status, TW_ERR_INPUT);
        if (status == TW_OK) {
            uint64_t seed = random;
            int64_t **was = run(given, seed), **is = run(divided, seed);
            int out = op->operand[tw_op_output(op)].tensor, points = 0;
            CHECK_EQ(divided->n_ops, which.n + 1);
            for (int k = 0; k < which.n; k++) points += (int)tw_op_points(&divided->op[k]);
            CHECK_EQ(points, tw_op_points(op));
            CHECK(memcmp(was[out], is[out], (size_t)tw_tensor_elems(&given->tensor[out]) * sizeof **was) == 0);
            free_run(given, was);
            free_run(divided, is);
            n_divided++;
        }
        tw_arena_free(arena);
        tw_context_free(ctx);
    }
    CHECK(n_divided > 40);
}

/* Two products, or convolutions, of which the second one reads what the first makes in parts. */
static void draw_pair(char *text, size_t n, uint64_t *random, tw_divided_op which[2])
{
    int hidden = (int)tw_test_pick(random, 5, 12), rows = (int)tw_test_pick(random, 1, 4);
    bool conv = tw_test_pick(random, 0, 1);
    static const char types[] = "dtype: i8, out_dtype: i32, accumulator: i32";
    which[0] = (tw_divided_op){.op = "a", .loop = conv ? "oc" : "n", .n = (int)tw_test_pick(random, 2, 4)};
    for (int k = 0; k < which[0].n; k++) which[0].share[k] = tw_test_pick(random, 2, 3);
    which[1] = which[0];
    which[1].op = "b";
    which[1].loop = conv ? "ic" : "k";
    if (conv)
        snprintf(text, n,
                 "workload: pair\nops:\n  - {name: a, op: conv, shape: [2, %d, 4], out: %d, kernel: 3, pad: 1, %s, "
                 "output: h}\n  - {name: b, op: conv, shape: [%d, %d, 4], out: 3, kernel: 3, pad: 1, dtype: i32, "
                 "inputs: "
                 "{ifm: h}}\n",
                 rows, hidden, types, hidden, rows);
    else
        snprintf(text, n,
                 "workload: pair\nops:\n  - {name: a, op: matmul, shape: [%d, %d, 5], %s, output: h}\n"
                 "  - {name: b, op: matmul, shape: [%d, 3, %d], dtype: i32, inputs: {ifm: h}}\n",
                 rows, hidden, types, rows, hidden);
}

TEST(parts_that_the_next_operator_adds_up_are_as_good_as_the_whole)
{
    uint64_t random = tw_test_seed();
    for (int i = 0; i < 60; i++) {
        tw_context *ctx = tw_context_new();
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {.muted = true};
        const tw_model *given, *divided;
        tw_divided_op which[2];
        char text[600];
        draw_pair(text, sizeof text, &random, which);
        CHECK_EQ(tw_model_parse(ctx, "pair", text, &given), TW_OK);
        CHECK_EQ(tw_model_divide(given, 2, which, given->op[0].loc, arena, &diag, &divided), TW_OK);
        CHECK_EQ(divided->n_ops, 2 * which[0].n + 1);
        uint64_t seed = random;
        int64_t **was = run(given, seed), **is = run(divided, seed);
        int out = made_by(&given->op[1]);
        CHECK_EQ(made_by(&divided->op[divided->n_ops - 1]), out);
        CHECK(memcmp(was[out], is[out], (size_t)tw_tensor_elems(&given->tensor[out]) * sizeof **was) == 0);
        free_run(given, was);
        free_run(divided, is);
        tw_arena_free(arena);
        tw_context_free(ctx);
    }
}

/* Two convolutions, or one and an addition of what it makes and something else. */
static void draw_windows(char *text, size_t n, uint64_t *random)
{
    static const char types[] = "dtype: i8, out_dtype: i32, accumulator: i32";
    int size = (int)tw_test_pick(random, 4, 9), channels = (int)tw_test_pick(random, 2, 5),
        kernel = (int)tw_test_pick(random, 1, 4), pad = (int)tw_test_pick(random, 0, kernel - 1),
        stride = (int)tw_test_pick(random, 1, 3);
    snprintf(text, n,
             "workload: pair\nops:\n  - {name: a, op: conv, shape: [2, %d, 4], out: %d, kernel: 3, pad: 1, %s, "
             "output: h}\n  - {name: b, op: conv, shape: [%d, %d, 4], out: 3, kernel: %d, pad: %d, stride: %d, "
             "dtype: i32, inputs: {ifm: h}}\n",
             size, channels, types, channels, size, kernel, pad, stride);
}

static tw_divided_op draw_division(const tw_op *op, uint64_t *random)
{
    int loop = (int)tw_test_pick(random, 0, op->n_loops - 1);
    tw_divided_op which = {.op = op->name, .loop = op->loop[loop].name, .n = (int)tw_test_pick(random, 2, 4)};
    for (int k = 0; k < which.n; k++) which.share[k] = tw_test_pick(random, 1, 3);
    return which;
}

/* What is read of parts along rows, columns and channels, by who is divided along any loop or along none; printed and read again as well. */
TEST(windows_over_parts_find_what_they_find_in_the_whole)
{
    uint64_t random = tw_test_seed();
    int n_divided = 0, n_pieces = 0, n_cases = tw_test_rounds(2000);
    for (int i = 0; i < n_cases; i++) {
        tw_context *ctx = tw_context_new();
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {.muted = true};
        const tw_model *given, *divided, *again;
        char text[600];
        draw_windows(text, sizeof text, &random);
        if (tw_model_parse(ctx, "pair", text, &given) == TW_OK) { /* the kernel may be larger than the image */
            const tw_divided_op which[2] = {draw_division(&given->op[0], &random),
                                            draw_division(&given->op[1], &random)};
            int n = (int)tw_test_pick(&random, 1, 2);
            if (tw_model_divide(given, n, which, given->op[0].loc, arena, &diag, &divided) == TW_OK) {
                uint64_t seed = random;
                int64_t **was = run(given, seed), **is = run(divided, seed);
                int out = made_by(&given->op[1]);
                CHECK(memcmp(was[out], is[out], (size_t)tw_tensor_elems(&given->tensor[out]) * sizeof **was) == 0);
                tw_text printed = {0};
                tw_model_print(divided, &printed);
                CHECK_EQ(tw_model_parse(ctx, "again", printed.bytes, &again), TW_OK);
                for (int o = 0; o < divided->n_ops; o++) {
                    CHECK_EQ(divided->op[o].n_operands, again->op[o].n_operands);
                    for (int k = 0; k < divided->op[o].n_operands; k++) {
                        CHECK_EQ(divided->op[o].operand[k].beside, again->op[o].operand[k].beside);
                        n_pieces += divided->op[o].operand[k].beside > 0;
                    }
                }
                tw_text_release(&printed);
                free_run(given, was);
                free_run(divided, is);
                n_divided++;
            }
        }
        tw_arena_free(arena);
        tw_context_free(ctx);
    }
    fprintf(stderr, "%d of %d divided, %d pieces\n", n_divided, n_cases, n_pieces);
    CHECK(n_divided > n_cases / 4 && n_pieces > n_cases / 4);
}
