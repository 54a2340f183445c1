/* test/lower/test_folds.c - a fold changes no number: what several nodes compute as one step is what they compute one by one.
 *
 * A network is a head (an element-wise node or one with sums) and followers. It is lowered with and without folding, both
 * are run on the same elements, and every bit of the results is compared; then the result of the fold is held against the
 * evaluator, which knows of no steps at all. Every pair of element types is walked. */
#include "lower/lower.h"
#include "pb.h"
#include "steps_run.h"
#include "tw_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const tw_onnx_type types[] = {TW_ONNX_F32, TW_ONNX_F16, TW_ONNX_BF16, TW_ONNX_F64, TW_ONNX_I8,
                                     TW_ONNX_U8,  TW_ONNX_I16, TW_ONNX_U16,  TW_ONNX_I32, TW_ONNX_U32,
                                     TW_ONNX_I64, TW_ONNX_U64, TW_ONNX_BOOL};
enum { ROWS = 6, COLUMNS = 8 };

static bool is_float(tw_onnx_type type)
{
    return type == TW_ONNX_F32 || type == TW_ONNX_F64 || type == TW_ONNX_F16 || type == TW_ONNX_BF16;
}

/* ---- networks ---- */

static void add_value(tw_text *graph, int field, const char *name, tw_onnx_type type, bool shaped)
{
    tw_text shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    for (int d = 0; shaped && d < 2; d++) {
        tw_text dim = {0};
        pb_int(&dim, 1, d == 0 ? ROWS : COLUMNS);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, type);
    if (shaped) pb_message(&tensor, 2, &shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
}

/* "MatMul a b -> y to:1": inputs, output, an integer attribute. */
static void add_node(tw_text *graph, const char *line)
{
    tw_text node = {0};
    bool output = false;
    char *copy = strdup(line), *rest = copy, *word = strsep(&rest, " ");
    pb_text(&node, 4, word);
    while ((word = strsep(&rest, " "))) {
        char *colon = strchr(word, ':');
        if (strcmp(word, "->") == 0) {
            output = true;
        } else if (!colon) {
            pb_text(&node, output ? 2 : 1, word);
        } else {
            tw_text a = {0};
            pb_bytes(&a, 1, word, (size_t)(colon - word));
            pb_int(&a, 3, atoll(colon + 1));
            pb_int(&a, 20, 2);
            pb_message(&node, 5, &a);
        }
    }
    free(copy);
    pb_message(graph, 1, &node);
}

typedef struct network {
    char line[4][64];
    int n;
    tw_onnx_type in, out;
    bool
        unfolded_only; /* not held against the evaluator: the head is a chain, which rounds between its steps, or numbers
                           need more than the 53 bits of a double */
} network;

static tw_text model_of(const network *net)
{
    tw_text graph = {0}, model = {0}, opset = {0};
    if (strstr(net->line[0], " t ")) add_node(&graph, "Transpose b -> t");
    for (int i = 0; i < net->n; i++) add_node(&graph, net->line[i]);
    add_value(&graph, 11, "a", net->in, true);
    add_value(&graph, 11, "b", net->in, true);
    add_value(&graph, 12, "y", net->out, false);
    pb_text(&graph, 2, "g");
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, &graph);
    return model;
}

/* ---- numbers ---- */

/* Fractions, whole numbers, and numbers at the ends of types. Formulas are of doubles: what wraps around stays below 2^53. */
static double draw_any(bool is_float_type, uint64_t *seed)
{
    static const double edges[] = {0,     1,     -1,    127,   128, 255,  256,     2049,
                                   32767, 65504, 65535, 65536, 1e5, -1e5, 16777217};
    int64_t kind = tw_test_pick(seed, 0, 9);
    if (kind == 0) return edges[tw_test_pick(seed, 0, TW_COUNT(edges) - 1)];
    if (kind < 4) return (double)tw_test_pick(seed, is_float_type ? -300 : 0, 300);
    return (double)tw_test_pick(seed, -2000000, 2000000) * 0x1p-19;
}

static double draw(tw_onnx_type type, uint64_t *seed)
{
    bool wide = type == TW_ONNX_U32 || type == TW_ONNX_U64;
    double x = draw_any(is_float(type), seed);
    return wide ? fabs(x) : type == TW_ONNX_BOOL ? x > 1 : x;
}

static void fill(tw_array *array, uint64_t *seed)
{
    for (int64_t i = 0; i < array->n; i++) tw_array_set(array, i, draw(array->type, seed));
}

static bool same_bits(const tw_array *a, const tw_array *b)
{
    if (a->type != b->type || a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++) {
        double x = tw_array_get(a, i), y = tw_array_get(b, i);
        if (x != y && !(isnan(x) && isnan(y))) return false;
    }
    return true;
}

/* Formulas are of doubles: they know the whole numbers of 64 bits to 53 bits. */
static bool is_right(const tw_array *got, const tw_array *want)
{
    double off = want->type == TW_ONNX_I64 || want->type == TW_ONNX_U64 ? 0x1p-52 : 0;
    if (got->type != want->type || got->n != want->n) return false;
    for (int64_t i = 0; i < got->n; i++) {
        double x = tw_array_get(got, i), y = tw_array_get(want, i);
        if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= off * fabs(y))) return false;
    }
    return true;
}

/* ---- both ways ---- */

typedef struct bench {
    tw_arena *arena;
    tw_diag diag;
    const tw_shapes *shapes;
    tw_array given[2];
} bench;

static tw_array run_steps(bench *b, bool no_fold, int *n_steps)
{
    const tw_graph *main = &b->shapes->file->graph[0];
    tw_lower_options how = {.no_fold = no_fold, .float_as = TW_N_DTYPES};
    const tw_lowered *lowered;
    CHECK_EQ(tw_lower_network(b->shapes, &how, b->arena, &b->diag, &lowered), TW_OK);
    steps_run r = steps_run_of(lowered, b->arena, &b->diag);
    for (int i = 0; i < 2; i++) steps_give(&r, main->input[i], &b->given[i]);
    tw_status status = steps_run_all(&r);
    if (status != TW_OK) print_error("%s\n", b->diag.last ? b->diag.last : "no message");
    CHECK_EQ(status, TW_OK);
    *n_steps = lowered->graph.n_ops;
    return steps_tensor(&r, lowered->tensor_of_value[main->output[0]]);
}

static tw_array evaluate(bench *b)
{
    const tw_graph_file *file = b->shapes->file;
    tw_array *value = TW_NEW(b->arena, tw_array, file->n_values + 1);
    for (int i = 0; i < 2; i++) value[file->graph[0].input[i]] = b->given[i];
    CHECK_EQ(tw_ref_graph(file, 0, b->arena, &b->diag, value), TW_OK);
    return value[file->graph[0].output[0]];
}

static void print_network(const network *net)
{
    print_error("of %s:", tw_onnx_type_name(net->in));
    for (int i = 0; i < net->n; i++) print_error(" [%s]", net->line[i]);
    print_error("\n");
}

static void print_difference(const char *what, const tw_array *a, const tw_array *b)
{
    for (int64_t i = 0; i < a->n && i < b->n; i++)
        if (tw_array_get(a, i) != tw_array_get(b, i)) {
            print_error("%s: element %d is %.17g, not %.17g\n", what, (int)i, tw_array_get(a, i),
                        tw_array_get(b, i));
            return;
        }
}

/* How many steps folding saves. */
static int check(const network *net, uint64_t *seed)
{
    bench b = {.arena = tw_arena_new()};
    tw_text bytes = model_of(net);
    const tw_graph_file *file;
    int folded_steps, steps;
    const int64_t dim[] = {ROWS, COLUMNS};
    tw_infer_options none = {0};
    CHECK_EQ(tw_graph_read("net.onnx", (const uint8_t *)bytes.bytes, bytes.len, b.arena, &b.diag, &file), TW_OK);
    CHECK_EQ(tw_infer_shapes(file, &none, b.arena, &b.diag, &b.shapes), TW_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(tw_array_new(net->in, 2, dim, b.arena, &b.given[i]), TW_OK);
        fill(&b.given[i], seed);
    }
    tw_array folded = run_steps(&b, false, &folded_steps), plain = run_steps(&b, true, &steps), want = evaluate(&b);
    bool same = same_bits(&folded, &plain), right = net->unfolded_only || is_right(&folded, &want);
    if (!same || !right) print_network(net);
    if (!same) print_difference("folded and not", &folded, &plain);
    if (!right) print_difference("folded and evaluated", &folded, &want);
    CHECK(same && right);
    tw_diag_release(&b.diag);
    tw_arena_free(b.arena);
    tw_text_release(&bytes);
    return steps - folded_steps;
}

static void say(network *net, const char *line) { snprintf(net->line[net->n++], sizeof net->line[0], "%s", line); }

static void say_cast(network *net, const char *from, const char *to, tw_onnx_type type)
{
    snprintf(net->line[net->n++], sizeof net->line[0], "Cast %s -> %s to:%d", from, to, (int)type);
}

/* ---- what is folded ---- */

static const char *const heads[] = {"Add a b -> x", "Mul a b -> x",     "Max a b -> x",
                                    "Abs a -> x",   "ReduceSum a -> x", "ReduceMax a -> x"};
static const char *const bool_heads[] = {"And a b -> x", "Xor a b -> x", "Not a -> x"};
static const char *const float_heads[] = {"MatMul a t -> x",   "Sigmoid a -> x",    "Softmax a -> x",
                                          "LogSoftmax a -> x", "ReduceMean a -> x", "ReduceL2 a -> x",
                                          "Gemm a t -> x",     "Div a b -> x",      "ReduceLogSumExp a -> x",
                                          "Exp a -> x",        "HardSwish a -> x",  "ReduceProd a -> x"};
static const char *const float_followers[] = {
    "Add x x -> z", "Mul x x -> z",      "Sqrt x -> z", "Tanh x -> z",        "Relu x -> z",    "LeakyRelu x -> z",
    "Floor x -> z", "Neg x -> z",        "Clip x -> z", "Elu x -> z",         "Mish x -> z",    "Selu x -> z",
    "Round x -> z", "Reciprocal x -> z", "Gelu x -> z", "HardSigmoid x -> z", "Softsign x -> z"};

TEST(casts_between_all_types_behind_all_heads)
{
    uint64_t seed = tw_test_seed();
    int saved = 0;
    for (size_t i = 0; i < TW_COUNT(types); i++)
        for (size_t k = 0; k < TW_COUNT(types); k++) {
            bool truth = types[i] == TW_ONNX_BOOL;
            for (size_t h = 0; h < (truth ? TW_COUNT(bool_heads) : TW_COUNT(heads)); h++) {
                network net = {.in = types[i], .out = types[k]};
                say(&net, truth ? bool_heads[h] : heads[h]);
                say_cast(&net, "x", "y", types[k]);
                saved += check(&net, &seed);
            }
        }
    CHECK(saved > 500);
}

TEST(arithmetic_in_one_type_between_casts_from_and_to_another)
{
    uint64_t seed = tw_test_seed();
    int saved = 0;
    for (size_t i = 0; i < TW_COUNT(types); i++)
        for (size_t k = 0; k < TW_COUNT(types); k++) {
            network net = {.in = types[i], .out = types[i], .unfolded_only = types[k] == TW_ONNX_U64};
            if (types[k] == TW_ONNX_BOOL) continue;
            say_cast(&net, "a", "c", types[k]);
            say(&net, "Add c c -> x");
            say(&net, tw_test_pick(&seed, 0, 1) ? "Sub x c -> z" : "Max x c -> z");
            say_cast(&net, "z", "y", types[i]);
            saved += check(&net, &seed);
        }
    CHECK(saved > 400);
}

/* What an operator makes of its narrow floats is rounded before the next one, whatever it is, reads it. */
TEST(followers_of_sums_and_functions_in_every_type_of_floats)
{
    uint64_t seed = tw_test_seed();
    int saved = 0;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++)
            for (size_t h = 0; h < TW_COUNT(float_heads); h++) {
                network net = {.in = types[i], .out = types[k], .unfolded_only = true};
                say(&net, float_heads[h]);
                say(&net, float_followers[tw_test_pick(&seed, 0, TW_COUNT(float_followers) - 1)]);
                say_cast(&net, "z", "y", types[k]);
                saved += check(&net, &seed);
            }
    CHECK(saved > 200);
}

TEST(a_float_that_is_lost_in_a_larger_one_stays_lost)
{
    uint64_t seed = tw_test_seed();
    for (size_t i = 0; i < 4; i++) {
        network net = {.in = types[i], .out = types[i]};
        say(&net, "Add a b -> x");
        say(&net, "Sub x b -> z");
        say(&net, "Sub z a -> y");
        CHECK_EQ(check(&net, &seed), 2);
    }
}
