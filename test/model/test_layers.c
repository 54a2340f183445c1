/* test/model/test_layers.c - which operators are equal, and operators by themselves. */
#include "model/layers.h"
#include "tw_read.h"

static tw_layers layers_of(tw_bench *b, const tw_model *model)
{
    tw_layers layers;
    tw_arena *scratch = tw_arena_new();
    CHECK_EQ(tw_layers_find(model, NULL, b->arena, scratch, &layers), TW_OK);
    tw_arena_free(scratch);
    return layers;
}

static void read_ops(tw_bench *b, const char *ops, tw_model *model)
{
    const char *text = tw_arena_printf(b->arena, "workload: w\nops:\n%s", ops);
    tw_status status = tw_read_model(b, "w.yaml", text, model);
    if (status != TW_OK) print_error("%s\n%s\n", text, b->diag.last ? b->diag.last : "");
    CHECK_EQ(status, TW_OK);
}

TEST(operators_that_differ_in_names_alone_are_one_layer)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    read_ops(&b,
             "  - {name: a, op: matmul, shape: [4, 5, 6], output: x}\n"
             "  - {name: b, op: matmul, shape: [4, 5, 7]}\n"
             "  - {name: c, op: matmul, shape: [4, 5, 6]}\n"
             "  - {name: d, op: matmul, shape: [4, 6, 5], inputs: {ifm: x}}\n"
             "  - {name: e, op: matmul, shape: [4, 5, 6]}\n",
             &model);
    tw_layers layers = layers_of(&b, &model);
    static const int of[] = {0, 1, 0, 2, 0}, first[] = {0, 1, 3}, count[] = {3, 1, 1};
    CHECK_EQ(layers.n, 3);
    for (int i = 0; i < 5; i++) CHECK_EQ(layers.of[i], of[i]);
    for (int i = 0; i < 3; i++) CHECK_EQ(layers.first[i], first[i]);
    for (int i = 0; i < 3; i++) CHECK_EQ(layers.count[i], count[i]);
    tw_bench_free(&b);
}

/* ---- one by one ---- */

#define MAP(value)                                                                                        \
    "  - name: NAME\n    compute: map\n    loops: {i: 4, j: 6}\n    held: {h: scalar}\n    value: " value \
    "\n    reads: {x: {at: [i, j]}}\n    writes: {y: {at: [i, j]}}\n"
#define COPY                                                                                                  \
    "  - name: NAME\n    compute: map\n    loops: {i: 4, j: 6}\n    value: x\n    reads: {x: {at: [i, j]}}\n" \
    "    writes: {y: {at: [i, j]}}\n"
#define SUM(x, y)                                                                                                \
    "  - name: NAME\n    compute: multiply-add\n    loops: {i: 4, j: 6, k: 3}\n    reduce: [k]\n    reads: {x: " \
    "{" x "}, w: {at: [k, j]}}\n    writes: {y: {" y "}}\n"

/* The number of layers of two operators. */
static int layers_of_two(const char *a, const char *b)
{
    tw_bench bench = tw_bench_new();
    tw_text text = {0};
    tw_model model;
    for (int i = 0; i < 2; i++) {
        const char *op = i ? b : a, *name = strstr(op, "NAME");
        tw_text_printf(&text, "%.*sop%d%s", (int)(name - op), op, i, name + strlen("NAME"));
    }
    read_ops(&bench, text.bytes, &model);
    int n = layers_of(&bench, &model).n;
    tw_text_release(&text);
    tw_bench_free(&bench);
    return n;
}

TEST(every_part_of_a_nest_counts)
{
    static const char *const op[] = {
        SUM("at: [i, k]", "at: [i, j]"),
        SUM("at: [i, k], dtype: i8", "at: [i, j], dtype: f32"),
        SUM("at: [k, i]", "at: [i, j]"),
        SUM("at: [2*i, k]", "at: [i, j]"),
        SUM("at: [i, k], role: weights", "at: [i, j]"),
        SUM("at: [i, k], scattered: 1", "at: [i, j]"),
        SUM("at: [i, k], shape: [9, 3]", "at: [i, j]"),
        SUM("at: [i, k]", "at: [j, i]"),
        MAP("exp(x) * h"),
        COPY,
    };
    for (size_t i = 0; i < TW_COUNT(op); i++)
        for (size_t k = 0; k < TW_COUNT(op); k++) CHECK_EQ(layers_of_two(op[i], op[k]), i == k ? 1 : 2);
}

/* A mover can copy, but not square: see tw_op_is_move. */
TEST(what_is_done_to_elements_counts_only_where_elements_are_moved)
{
    CHECK_EQ(layers_of_two(MAP("exp(x) * h"), MAP("max(x, h)")), 1);
    CHECK_EQ(layers_of_two(COPY, COPY), 1);
    CHECK_EQ(layers_of_two(COPY, MAP("x * x")), 2);
    CHECK_EQ(layers_of_two(MAP("x * x"), COPY), 2);
}

TEST(operators_of_the_host_are_no_layer)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    read_ops(&b, "  - {name: a, op: matmul, shape: [4, 5, 6]}\n  - {name: b, op: matmul, shape: [4, 5, 6]}\n",
             &model);
    tw_op op[3] = {model.op[0], {.name = "h", .kind = TW_OP_HOST, .why = "no description"}, model.op[1]};
    model.op = op;
    model.n_ops = 3;
    tw_layers layers = layers_of(&b, &model);
    CHECK_EQ(layers.n, 1);
    CHECK_EQ(layers.of[1], -1);
    CHECK_EQ(layers.count[0], 2);
    tw_bench_free(&b);
}

TEST(an_operator_by_itself_is_a_workload)
{
    tw_bench b = tw_bench_new();
    tw_model model, again;
    const tw_model *own;
    tw_text text = {0};
    read_ops(&b,
             "  - {name: a, op: matmul, shape: [4, 5, 6], output: t}\n"
             "  - {name: b, op: matmul, shape: [4, 7, 5], inputs: {ifm: t}}\n",
             &model);
    CHECK_EQ(tw_model_of_op(&model, 1, "own", b.arena, &own), TW_OK);
    CHECK_EQ(tw_model_check(own, &b.diag), TW_OK);
    CHECK_EQ(own->n_ops, 1);
    CHECK_EQ(own->n_tensors, 3);
    CHECK_STR(own->tensor[0].name, "own.ifm");
    tw_model_print(own, &text);
    CHECK_EQ(tw_read_model(&b, "own.yaml", text.bytes, &again), TW_OK);
    CHECK_EQ(tw_op_points(&again.op[0]), 4 * 7 * 5);
    tw_text_release(&text);
    tw_bench_free(&b);
}
