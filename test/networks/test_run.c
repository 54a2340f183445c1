/* test/networks/test_run.c - networks of a few nodes on numbers: what is run, on which inputs, and what it is compared with.
 * A run has a thread of its own (pthread_create in src/plan/network_run.c), so these go to the thread sanitizer too. */
#include "pb.h"
#include "tilewright/network.h"
#include "tw_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* splitmix64, as the documentation of the inputs has it. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* ---- networks ---- */

enum { SIDE = 150 }; /* of a matrix: more elements than inference computes with */

enum { NODE = 1, INPUT = 11, OUTPUT = 12 };         /* fields of a graph      */
enum { FLOAT = 1, UINT8 = 2, INT64 = 7, BOOL = 9 }; /* types of elements      */

/* [rows, n], or [n] without rows. */
static void add_table(tw_text *graph, int field, const char *name, int type, int64_t rows, int64_t n)
{
    tw_text shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    for (int i = rows == 0; i < 2; i++) {
        tw_text dim = {0};
        pb_int(&dim, 1, i == 0 ? rows : n);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, type);
    pb_message(&tensor, 2, &shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
}

static void add_value(tw_text *graph, int field, const char *name, int type, int64_t n)
{
    add_table(graph, field, name, type, 0, n);
}

/* SIDE x SIDE floats. */
static void add_matrix(tw_text *graph, int field, const char *name)
{
    add_table(graph, field, name, FLOAT, SIDE, SIDE);
}

static void add_constant_matrix(tw_text *graph, const char *name, uint64_t *seed)
{
    tw_text t = {0};
    float x[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) x[i] = ldexpf((float)(next(seed) >> 40), -23) - 1;
    pb_int(&t, 1, SIDE);
    pb_int(&t, 1, SIDE);
    pb_int(&t, 2, FLOAT);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, x, sizeof x);
    pb_message(graph, 5, &t);
}

/* `inputs` are words. */
static tw_text node_of(const char *op, const char *inputs, const char *output)
{
    tw_text node = {0};
    char *words = strdup(inputs), *rest = words;
    for (char *word; (word = strsep(&rest, " "));)
        if (*word) pb_text(&node, 1, word);
    free(words);
    pb_text(&node, 2, output);
    pb_text(&node, 4, op);
    return node;
}

static void add_node(tw_text *graph, const char *op, const char *inputs, const char *output)
{
    tw_text node = node_of(op, inputs, output);
    pb_message(graph, NODE, &node);
}

static void add_branch(tw_text *node, const char *name, tw_text *graph)
{
    tw_text attribute = {0};
    pb_text(&attribute, 1, name);
    pb_message(&attribute, 6, graph);
    pb_int(&attribute, 20, 5);
    pb_message(node, 5, &attribute);
}

typedef struct ran {
    tw_context *ctx;
    tw_status status;
    const tw_network *network;
    const tw_network_verdict *verdict;
} ran;

/* The file is gone after this; what was mapped stays. */
static tw_status open_graph(tw_context *ctx, tw_text *graph, const tw_network_options *options,
                            const tw_network **out)
{
    char path[] = "/tmp/tw_run_XXXXXX.onnx";
    tw_text model = {0}, opset = {0};
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, graph);
    FILE *file = fdopen(mkstemps(path, 5), "wb");
    CHECK_EQ(fwrite(model.bytes, 1, model.len, file), model.len);
    fclose(file);
    tw_text_release(&model);
    tw_status status = tw_network_open(ctx, path, options, out);
    unlink(path);
    return status;
}

static ran run_on(const char *name, tw_text *graph, const tw_network_options *how,
                  const tw_network_run_options *options)
{
    ran r = {.ctx = tw_context_new()};
    const tw_machine *machine;
    const tw_network_plan *plan;
    r.status = open_graph(r.ctx, graph, how, &r.network);
    if (r.status == TW_OK) r.status = tw_machine_open(r.ctx, name, &machine);
    if (r.status == TW_OK) r.status = tw_network_search(r.ctx, r.network, machine, NULL, &plan);
    if (r.status == TW_OK) r.status = tw_network_run(r.ctx, plan, options, &r.verdict);
    for (int i = 0; r.status != TW_OK && i < tw_context_n_messages(r.ctx); i++)
        print_error("%s\n", tw_context_message(r.ctx, i));
    return r;
}

static ran run(tw_text *graph, const tw_network_run_options *options)
{
    return run_on("kpu", graph, &(tw_network_options){0}, options);
}

/* A shape that lives until sixteen more are made; 0 rows: of one dimension. */
static const int64_t *dims(int64_t rows, int64_t n)
{
    static int64_t all[16][2];
    static int next;
    int64_t *dim = all[next++ % 16];
    int k = 0;
    if (rows > 0) dim[k++] = rows;
    dim[k] = n;
    return dim;
}

static tw_network_data data_of(const char *name, const char *type, int64_t n, const void *bytes)
{
    return (tw_network_data){
        .name = name, .type = type, .n_dims = 1, .dim = dims(0, n), .n_elems = n, .bytes = bytes};
}

static tw_network_data table_of(const char *name, const char *type, int64_t rows, int64_t n, const void *bytes)
{
    return (tw_network_data){
        .name = name, .type = type, .n_dims = 2, .dim = dims(rows, n), .n_elems = rows * n, .bytes = bytes};
}

/* ---- inputs ---- */

TEST(inputs_are_drawn_one_after_the_other_also_those_that_nobody_reads)
{
    enum { N = 9 };
    tw_text g = {0};
    const char *name[] = {"idle", "f", "u", "b", "i"}, *out[] = {NULL, "f2", "u2", "b2", "i2"};
    const int type[] = {FLOAT, FLOAT, UINT8, BOOL, INT64};
    for (int i = 0; i < 5; i++) add_value(&g, INPUT, name[i], type[i], N);
    for (int i = 1; i < 5; i++) add_node(&g, "Identity", name[i], out[i]);
    for (int i = 1; i < 5; i++) add_value(&g, OUTPUT, out[i], type[i], N);
    ran r = run(&g, &(tw_network_run_options){.seed = 5});
    CHECK_EQ(r.status, TW_OK);
    uint64_t seed = 5;
    const tw_network_data *o = r.verdict->output;
    for (int i = 0; i < N; i++) next(&seed);
    for (int i = 0; i < N; i++)
        CHECK(((const float *)o[0].bytes)[i] == ldexpf((float)(next(&seed) >> 40), -23) - 1);
    for (int i = 0; i < N; i++) CHECK_EQ(((const uint8_t *)o[1].bytes)[i], next(&seed) >> 56);
    for (int i = 0; i < N; i++) CHECK_EQ(((const uint8_t *)o[2].bytes)[i], next(&seed) >> 63);
    for (int i = 0; i < N; i++) CHECK_EQ(((const int64_t *)o[3].bytes)[i], next(&seed) >> 63);
    tw_context_free(r.ctx);
}

TEST(inputs_of_another_shape_are_refused)
{
    static const float two[2];
    tw_text g = {0};
    add_value(&g, INPUT, "x", FLOAT, 3);
    add_node(&g, "Neg", "x", "y");
    add_value(&g, OUTPUT, "y", FLOAT, 3);
    tw_network_data x = data_of("x", "float", 2, two);
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 1, .input = &x});
    CHECK_EQ(r.status, TW_ERR_INPUT);
    tw_context_free(r.ctx);
}

TEST(inputs_that_the_shapes_in_the_file_settle_are_derived)
{
    static const float x[3] = {1, 2, 3};
    tw_text g = {0};
    add_value(&g, INPUT, "x", FLOAT, 3);
    add_value(&g, INPUT, "repeats", INT64, 1);
    add_node(&g, "Tile", "x repeats", "y");
    add_value(&g, OUTPUT, "y", FLOAT, 6);
    tw_network_data in = data_of("x", "float", 3, x);
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 1, .input = &in});
    CHECK_EQ(r.status, TW_OK);
    for (int i = 0; i < 6; i++) CHECK(((const float *)r.verdict->output[0].bytes)[i] == x[i % 3]);
    tw_context_free(r.ctx);
}

/* Also through whole numbers that are computed; what only gives its shape is data. */
TEST(other_inputs_that_say_how_are_asked_for)
{
    static const int64_t starts = 0, ends = 2, one = 1;
    tw_text g = {0};
    add_value(&g, INPUT, "x", FLOAT, 3);
    add_value(&g, INPUT, "starts", INT64, 1);
    add_value(&g, INPUT, "half", INT64, 1);
    add_node(&g, "Add", "half half", "ends");
    add_node(&g, "Slice", "x starts ends", "y");
    add_value(&g, OUTPUT, "y", FLOAT, 2);
    tw_text again = {0};
    tw_text_add(&again, g.bytes, g.len);
    ran r = run(&g, &(tw_network_run_options){0});
    CHECK_EQ(r.status, TW_ERR_INPUT);
    CHECK_EQ(tw_context_n_messages(r.ctx), 2);
    CHECK(strstr(tw_context_message(r.ctx, 0), "error: input 'starts' is no data, it tells node '' (Slice)") !=
          NULL);
    CHECK(strstr(tw_context_message(r.ctx, 1), "--input=half=FILE.pb, --data=FOLDER or --fill=half=VALUE") != NULL);
    CHECK(!tw_network_input_says_how(r.network, 0) && tw_network_input_says_how(r.network, 2));
    tw_context_free(r.ctx);
    tw_network_data in[] = {data_of("starts", "int64", 1, &starts), data_of("half", "int64", 1, &one)};
    r = run(&again, &(tw_network_run_options){.n_inputs = 2, .input = in});
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.verdict->output[0].dim[0], ends);
    tw_context_free(r.ctx);
}

TEST(a_run_that_needs_too_much_memory_is_refused_before_it_begins)
{
    tw_text g = {0};
    add_value(&g, INPUT, "x", FLOAT, 1 << 20);
    add_node(&g, "Neg", "x", "y");
    add_value(&g, OUTPUT, "y", FLOAT, 1 << 20);
    ran r = run(&g, &(tw_network_run_options){.max_memory = 1 << 20});
    CHECK_EQ(r.status, TW_INFEASIBLE);
    CHECK(strstr(tw_context_message(r.ctx, 0), "running it would take about") != NULL);
    tw_context_free(r.ctx);
}

/* ---- steps ---- */

/* The nodes of a chain are evaluated from x when its last step has run: x must still be there. */
TEST(chains_are_compared_at_their_end)
{
    tw_text g = {0};
    add_value(&g, INPUT, "v", FLOAT, 40);
    add_node(&g, "Relu", "v", "x");
    add_node(&g, "Softmax", "x", "s");
    add_node(&g, "Neg", "s", "y");
    add_value(&g, OUTPUT, "y", FLOAT, 40);
    ran r = run(&g, &(tw_network_run_options){0});
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.verdict->n_executed, r.verdict->n_steps);
    CHECK_EQ(r.verdict->n_wrong, 0);
    CHECK(r.verdict->step[r.verdict->n_steps - 1].equal);
    double sum = 0;
    for (int i = 0; i < 40; i++) sum += (double)((const float *)r.verdict->output[0].bytes)[i];
    CHECK(fabs(sum + 1) < 1e-5);
    tw_context_free(r.ctx);
}

/* Without rounding between the nodes i * 0.1f / 0.1f is below i for some i. */
TEST(folded_nodes_jump_where_single_ones_do)
{
    enum { N = 200 };
    float a[N], b[N];
    int differ = 0;
    tw_text g = {0};
    for (int i = 0; i < N; i++) {
        a[i] = (float)i * (b[i] = 0.1F);
        differ += floor((double)a[i] / (double)b[i]) != (double)floorf(a[i] / b[i]);
    }
    CHECK(differ > 0);
    add_value(&g, INPUT, "a", FLOAT, N);
    add_value(&g, INPUT, "b", FLOAT, N);
    add_node(&g, "Div", "a b", "q");
    add_node(&g, "Floor", "q", "y");
    add_value(&g, OUTPUT, "y", FLOAT, N);
    tw_network_data in[] = {data_of("a", "float", N, a), data_of("b", "float", N, b)};
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 2, .input = in});
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.verdict->n_steps, 1);
    for (int i = 0; i < N; i++) CHECK(((const float *)r.verdict->output[0].bytes)[i] == floorf(a[i] / b[i]));
    tw_context_free(r.ctx);
}

/* Planners write networks of bytes that the standard does not have: their sums are made in 32 bits and wrap around. */
TEST(sums_of_bytes_wrap_around)
{
    enum { N = 3, INT8 = 3 };
    static const int8_t a[N * N] = {100, 100, 100, -100, 100, 7, 1, 2, 3},
                              b[N * N] = {100, 1, 0, 100, 0, 1, 100, 1, 1};
    tw_text g = {0};
    add_table(&g, INPUT, "a", INT8, N, N);
    add_table(&g, INPUT, "b", INT8, N, N);
    add_node(&g, "MatMul", "a b", "y");
    add_table(&g, OUTPUT, "y", INT8, N, N);
    tw_network_data in[] = {table_of("a", "int8", N, N, a), table_of("b", "int8", N, N, b)};
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 2, .input = in});
    CHECK_EQ(r.status, TW_OK);
    for (int i = 0; i < N * N; i++) {
        int sum = 0;
        for (int k = 0; k < N; k++) sum += a[i / N * N + k] * b[k * N + i % N];
        CHECK_EQ(((const int8_t *)r.verdict->output[0].bytes)[i], (int8_t)(uint8_t)sum);
    }
    tw_context_free(r.ctx);
}

/* The standard says so since version 22, and onnxruntime has always done it. */
TEST(what_has_no_length_stays_zero_when_it_is_normalised)
{
    static const float x[2 * 2] = {0, 0, 3, 4}, want[2 * 2] = {0, 0, 0.6F, 0.8F};
    tw_text g = {0};
    add_table(&g, INPUT, "x", FLOAT, 2, 2);
    add_node(&g, "LpNormalization", "x", "y");
    add_table(&g, OUTPUT, "y", FLOAT, 2, 2);
    tw_network_data in = table_of("x", "float", 2, 2, x);
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 1, .input = &in});
    CHECK_EQ(r.status, TW_OK);
    CHECK_EQ(r.verdict->n_executed, r.verdict->n_steps);
    for (int i = 0; i < 4; i++) CHECK(fabsf(((const float *)r.verdict->output[0].bytes)[i] - want[i]) < 1e-6F);
    tw_context_free(r.ctx);
}

/* ---- elements by index ---- */

static tw_text node_with_text(const char *op, const char *inputs, const char *attribute, const char *text)
{
    tw_text node = node_of(op, inputs, "y"), a = {0};
    pb_text(&a, 1, attribute);
    pb_text(&a, 4, text);
    pb_int(&a, 20, 3);
    pb_message(&node, 5, &a);
    return node;
}

enum { ROWS = 5, WIDE = 6, UPDATES = 9 };
typedef struct combined {
    const char *name;
    float (*of)(float a, float b);
} combined;
static float plus(float a, float b) { return a + b; }
static float times(float a, float b) { return a * b; }
static float larger(float a, float b) { return a > b ? a : b; }
static float smaller(float a, float b) { return a < b ? a : b; }

/* One update after the other, as the standard has it. */
TEST(rows_that_several_updates_name_are_combined_with_each_of_them)
{
    static const combined how[] = {{"add", plus}, {"mul", times}, {"max", larger}, {"min", smaller}};
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    for (size_t h = 0; h < TW_COUNT(how); h++) {
        float x[ROWS * WIDE], u[UPDATES * WIDE], want[ROWS * WIDE];
        int64_t at[UPDATES];
        for (int i = 0; i < ROWS * WIDE; i++) want[i] = x[i] = ldexpf((float)(next(&seed) >> 56), -5) - 4;
        for (int i = 0; i < UPDATES * WIDE; i++) u[i] = ldexpf((float)(next(&seed) >> 56), -5) - 4;
        for (int i = 0; i < ROWS * WIDE; i += 7) want[i] = x[i] = NAN;
        for (int i = 0; i < UPDATES * WIDE; i += 13) u[i] = NAN;
        for (int i = 0; i < UPDATES; i++) {
            int row = (int)(next(&seed) % ROWS);
            at[i] = next(&seed) & 1 ? row : row - ROWS;
            for (int k = 0; k < WIDE; k++) want[row * WIDE + k] = how[h].of(want[row * WIDE + k], u[i * WIDE + k]);
        }
        tw_text g = {0}, node = node_with_text("ScatterND", "x i u", "reduction", how[h].name);
        add_table(&g, INPUT, "x", FLOAT, ROWS, WIDE);
        add_table(&g, INPUT, "i", INT64, UPDATES, 1);
        add_table(&g, INPUT, "u", FLOAT, UPDATES, WIDE);
        pb_message(&g, NODE, &node);
        add_table(&g, OUTPUT, "y", FLOAT, ROWS, WIDE);
        tw_network_data in[] = {table_of("x", "float", ROWS, WIDE, x), table_of("i", "int64", UPDATES, 1, at),
                                table_of("u", "float", UPDATES, WIDE, u)};
        ran r = run(&g, &(tw_network_run_options){.n_inputs = 3, .input = in});
        CHECK_EQ(r.status, TW_OK);
        CHECK_EQ(r.verdict->n_executed, 2);
        const float *y = (const float *)r.verdict->output[0].bytes;
        for (int i = 0; i < ROWS * WIDE; i++) CHECK(y[i] == want[i] || (isnan(y[i]) && isnan(want[i])));
        tw_context_free(r.ctx);
    }
}

/* Number 7 of a table of 2 x 5 is an element, the column 7 is none. */
TEST(indices_that_would_hit_another_row_are_refused)
{
    static const struct {
        const char *op;
        int64_t at[2];
    } wrong[] = {{"GatherND", {0, 7}},
                 {"GatherND", {1, -6}},
                 {"GatherElements", {0, 2}},
                 {"GatherElements", {-3, 0}},
                 {"GatherElements", {0, INT64_MAX}}};
    static const float x[10];
    for (size_t w = 0; w < TW_COUNT(wrong); w++) {
        tw_text g = {0};
        bool tuple = strcmp(wrong[w].op, "GatherND") == 0;
        add_table(&g, INPUT, "x", FLOAT, 2, 5);
        add_table(&g, INPUT, "i", INT64, 1, 2);
        add_node(&g, wrong[w].op, "x i", "y");
        add_table(&g, OUTPUT, "y", FLOAT, tuple ? 0 : 1, tuple ? 1 : 2);
        tw_network_data in[] = {table_of("x", "float", 2, 5, x), table_of("i", "int64", 1, 2, wrong[w].at)};
        ran r = run(&g, &(tw_network_run_options){.n_inputs = 2, .input = in, .no_reference = w % 2 == 0});
        CHECK_EQ(r.status, TW_ERR_INPUT);
        tw_context_free(r.ctx);
    }
}

/* A step in the middle of a chain, too: it does not have to hold what the node will be evaluated for. */
TEST(whole_numbers_that_doubles_do_not_hold_are_combined_as_integers)
{
    static const uint64_t x[3] = {UINT64_MAX, 5, 7}, u[2] = {9, UINT64_MAX - 1},
                          want[3] = {UINT64_MAX, 9, UINT64_MAX - 1};
    static const int64_t at[2] = {1, 2};
    enum { UINT64 = 13 };
    tw_text g = {0}, node = node_with_text("ScatterElements", "x i u", "reduction", "max");
    add_value(&g, INPUT, "x", UINT64, 3);
    add_value(&g, INPUT, "i", INT64, 2);
    add_value(&g, INPUT, "u", UINT64, 2);
    pb_message(&g, NODE, &node);
    add_value(&g, OUTPUT, "y", UINT64, 3);
    tw_network_data in[] = {data_of("x", "uint64", 3, x), data_of("i", "int64", 2, at),
                            data_of("u", "uint64", 2, u)};
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 3, .input = in});
    CHECK_EQ(r.status, TW_OK);
    for (int i = 0; i < 3; i++) CHECK(((const uint64_t *)r.verdict->output[0].bytes)[i] == want[i]);
    tw_context_free(r.ctx);
}

/* ---- constants ---- */

/* Values v0 .. of SIDE x SIDE floats: v0 and v1 are data, v2 .. v4 constants, the others nodes that read two that came
 * before them, more often constants than not. The last three are the outputs. */
static tw_text random_graph(uint64_t seed)
{
    static const char *const op[] = {"MatMul", "Add", "Mul", "Sub", "Neg", "Transpose", "Softmax", "Relu"};
    enum { NODES = 14, FIRST = 5 };
    tw_text g = {0};
    char name[16], inputs[40];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "v%d", i);
        add_matrix(&g, INPUT, name);
    }
    for (int i = 2; i < FIRST; i++) {
        snprintf(name, sizeof name, "v%d", i);
        add_constant_matrix(&g, name, &seed);
    }
    for (int i = FIRST; i < FIRST + NODES; i++) {
        const char *what = op[next(&seed) % TW_COUNT(op)];
        int a = (int)(next(&seed) % (uint64_t)(i - 1)) + 1, b = (int)(next(&seed) % (uint64_t)(i - 1)) + 1;
        bool two = what[0] == 'M' || what[0] == 'A' || strcmp(what, "Sub") == 0;
        snprintf(inputs, sizeof inputs, two ? "v%d v%d" : "v%d", a, b);
        snprintf(name, sizeof name, "v%d", i);
        add_node(&g, what, inputs, name);
        if (i >= FIRST + NODES - 3) add_matrix(&g, OUTPUT, name);
    }
    return g;
}

static void check_close(const tw_network_data *a, const tw_network_data *b)
{
    bool close;
    tw_network_data_differ(a, b, &close);
    CHECK(close);
}

TEST(constants_are_the_same_folded_and_unfolded)
{
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    int n_constants = 0;
    for (int i = 0; i < 3; i++, seed++) {
        tw_text graph = random_graph(seed), again = random_graph(seed);
        tw_network_run_options options = {.seed = seed};
        ran r = run_on("snitch", &graph, &(tw_network_options){0}, &options);
        ran apart = run_on("snitch", &again, &(tw_network_options){.no_fold = true}, &options);
        if (r.status != TW_OK || apart.status != TW_OK) print_error("TW_SEED=%llu\n", (unsigned long long)seed);
        CHECK_EQ(r.status, TW_OK);
        CHECK_EQ(apart.status, TW_OK);
        CHECK_EQ(apart.verdict->n_constants, 0);
        CHECK_EQ(r.verdict->n_constants_equal, r.verdict->n_constants);
        n_constants += r.verdict->n_constants;
        for (int o = 0; o < 3; o++) check_close(&r.verdict->output[o], &apart.verdict->output[o]);
        tw_context_free(r.ctx);
        tw_context_free(apart.ctx);
    }
    CHECK(n_constants > 3);
}

/* ---- images ---- */

static void add_shaped(tw_text *graph, int field, const char *name, int type, int n_dims, const int64_t *dim)
{
    tw_text shape = {0}, tensor = {0}, of_value = {0}, value = {0};
    for (int i = 0; i < n_dims; i++) {
        tw_text one = {0};
        pb_int(&one, 1, dim[i]);
        pb_message(&shape, 1, &one);
    }
    pb_int(&tensor, 1, type);
    pb_message(&tensor, 2, &shape);
    pb_message(&of_value, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &of_value);
    pb_message(graph, field, &value);
}

static void add_int64s(tw_text *graph, const char *name, int n_dims, const int64_t *dim, const int64_t *x,
                       int64_t n)
{
    tw_text t = {0};
    for (int i = 0; i < n_dims; i++) pb_int(&t, 1, dim[i]);
    pb_int(&t, 2, INT64);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, x, (size_t)n * sizeof *x);
    pb_message(graph, 5, &t);
}

static void add_string(tw_text *node, const char *name, const char *text)
{
    tw_text a = {0};
    pb_text(&a, 1, name);
    pb_text(&a, 4, text);
    pb_int(&a, 20, 3);
    pb_message(node, 5, &a);
}

static void add_integer(tw_text *node, const char *name, int64_t x)
{
    tw_text a = {0};
    pb_text(&a, 1, name);
    pb_int(&a, 3, x);
    pb_int(&a, 20, 2);
    pb_message(node, 5, &a);
}

static tw_text resize_graph(uint64_t *seed)
{
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
    static const char *const mode[] = {"linear", "linear", "cubic", "nearest"};
    const int64_t four = 4;
    int64_t in[4] = {1, 2}, out[4] = {1, 2};
    tw_text g = {0}, node = {0};
    for (int d = 2; d < 4; d++) {
        in[d] = 1 + (int64_t)(next(seed) % 12);
        out[d] = 1 + (int64_t)(next(seed) % 20);
    }
    add_shaped(&g, INPUT, "x", FLOAT, 4, in);
    add_int64s(&g, "s", 1, &four, out, 4);
    pb_text(&node, 1, "x");
    pb_text(&node, 1, "");
    pb_text(&node, 1, "");
    pb_text(&node, 1, "s");
    pb_text(&node, 2, "y");
    pb_text(&node, 4, "Resize");
    add_string(&node, "mode", mode[next(seed) % 4]);
    add_string(&node, "coordinate_transformation_mode", places[next(seed) % 4]);
    if (next(seed) % 4 == 0) add_integer(&node, "exclude_outside", 1);
    pb_message(&g, NODE, &node);
    add_shaped(&g, OUTPUT, "y", FLOAT, 4, out);
    return g;
}

TEST(images_of_any_size_become_images_of_any_size_in_tiles)
{
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    for (int i = 0; i < 16; i++) {
        uint64_t before = seed;
        tw_text g = resize_graph(&seed);
        ran r = run_on("snitch", &g, &(tw_network_options){0}, &(tw_network_run_options){.seed = seed});
        bool right = r.status == TW_OK && r.verdict->n_executed == r.verdict->n_steps &&
                     r.verdict->n_equal == r.verdict->n_steps;
        if (!right) print_error("TW_SEED=%llu\n", (unsigned long long)before);
        CHECK(right);
        tw_context_free(r.ctx);
    }
}

/* ---- elements by index ---- */

static int64_t drawn(uint64_t *seed, int64_t least, int64_t most)
{
    return least + (int64_t)(next(seed) % (uint64_t)(most - least + 1));
}

/* Gather along any axis, by an index of any shape, negative ones among it. */
static tw_text gather_graph(uint64_t *seed)
{
    int64_t x[3], index[2], y[4], n = 0, list[16];
    int axis = (int)drawn(seed, 0, 2), rank = (int)drawn(seed, 0, 2), m = 0;
    tw_text g = {0}, node = node_of("Gather", "x i", "g");
    for (int d = 0; d < 3; d++) x[d] = drawn(seed, 1, 7);
    for (int d = 0; d < rank; d++) index[d] = drawn(seed, 1, 4);
    for (n = 1, m = 0; m < rank; m++) n *= index[m];
    for (int64_t i = 0; i < n; i++) list[i] = drawn(seed, -x[axis], x[axis] - 1);
    m = 0;
    for (int d = 0; d < axis; d++) y[m++] = x[d];
    for (int d = 0; d < rank; d++) y[m++] = index[d];
    for (int d = axis + 1; d < 3; d++) y[m++] = x[d];
    add_shaped(&g, INPUT, "x", FLOAT, 3, x);
    add_int64s(&g, "i", rank, index, list, n);
    add_integer(&node, "axis", axis);
    pb_message(&g, NODE, &node);
    add_node(&g, "Relu", "g", "y");
    add_shaped(&g, OUTPUT, "y", FLOAT, m, y);
    return g;
}

/* ScatterND of rows, planes or elements that are all different. */
static tw_text scatter_graph(uint64_t *seed)
{
    int64_t x[3], k = drawn(seed, 1, 3), rows = 1, index[2] = {0, k}, u[3], list[3 * 343];
    int m = 1;
    tw_text g = {0};
    for (int d = 0; d < 3; d++) x[d] = drawn(seed, 1, 7);
    for (int d = 0; d < k; d++) rows *= x[d];
    index[0] = u[0] = drawn(seed, 1, rows);
    for (int d = (int)k; d < 3; d++) u[m++] = x[d];
    int64_t first = drawn(seed, 0, rows - 1);
    for (int64_t i = 0; i < index[0]; i++) {
        int64_t row = (first + i) % rows;
        for (int d = (int)k - 1; d >= 0; row /= x[d--])
            list[i * k + d] =
                row % x[d] - (next(seed) % 2 ? x[d] : 0); /* the same position, counted from the end */
    }
    add_shaped(&g, INPUT, "x", FLOAT, 3, x);
    add_shaped(&g, INPUT, "u", FLOAT, m, u);
    add_int64s(&g, "i", 2, index, list, index[0] * k);
    add_node(&g, "ScatterND", "x i u", "y");
    add_shaped(&g, OUTPUT, "y", FLOAT, 3, x);
    return g;
}

TEST(rows_are_found_and_written_by_index_in_tiles)
{
    uint64_t seed = getenv("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 10) : 1;
    for (int i = 0; i < 20; i++) {
        uint64_t before = seed;
        tw_text g = i % 2 ? gather_graph(&seed) : scatter_graph(&seed);
        ran r = run_on("snitch", &g, &(tw_network_options){0}, &(tw_network_run_options){.seed = seed});
        bool right = r.status == TW_OK && r.verdict->n_executed == r.verdict->n_steps && r.verdict->n_wrong == 0 &&
                     (r.verdict->n_steps == 0 || r.verdict->step[r.verdict->n_steps - 1].equal);
        if (!right) print_error("TW_SEED=%llu, case %d\n", (unsigned long long)before, i % 2);
        CHECK(right);
        tw_context_free(r.ctx);
    }
}

TEST(an_index_without_a_row_is_told)
{
    static const int64_t index[] = {1, 4, 0};
    static const float x[4];
    tw_text g = {0};
    tw_network_data in[] = {data_of("x", "float", 4, x), data_of("i", "int64", 3, index)};
    add_value(&g, INPUT, "x", FLOAT, 4);
    add_value(&g, INPUT, "i", INT64, 3);
    add_node(&g, "Gather", "x i", "y");
    add_value(&g, OUTPUT, "y", FLOAT, 3);
    ran r = run(&g, &(tw_network_run_options){.n_inputs = 2, .input = in});
    CHECK_EQ(r.status, TW_ERR_INPUT);
    CHECK(strstr(tw_context_message(r.ctx, 0), "step 'Gather_0': index 1 is 4, outside the 4 that there are"));
    tw_context_free(r.ctx);
}

static tw_text branch(const char *op)
{
    tw_text g = {0};
    add_node(&g, op, "x", op);
    add_value(&g, OUTPUT, op, FLOAT, 6);
    return g;
}

TEST(of_an_if_only_the_branch_that_is_taken_counts)
{
    static const float x[6] = {-3, -2, -1, 1, 2, 3};
    for (uint8_t taken = 0; taken < 2; taken++) {
        tw_text g = {0}, yes = branch("Neg"), no = branch("Sqrt"), node = node_of("If", "c", "y");
        add_value(&g, INPUT, "c", BOOL, 1);
        add_value(&g, INPUT, "x", FLOAT, 6);
        add_branch(&node, "then_branch", &yes);
        add_branch(&node, "else_branch", &no);
        pb_message(&g, NODE, &node);
        add_value(&g, OUTPUT, "y", FLOAT, 6);
        tw_network_data in[] = {data_of("x", "float", 6, x), data_of("c", "bool", 1, &taken)};
        ran r = run(&g, &(tw_network_run_options){.n_inputs = 2, .input = in});
        CHECK_EQ(r.status, TW_OK);
        CHECK_EQ(r.verdict->n_executed, 0);
        const float *y = r.verdict->output[0].bytes;
        for (int i = 0; i < 6; i++) CHECK(taken ? y[i] == -x[i] : x[i] < 0 ? isnan(y[i]) : y[i] == sqrtf(x[i]));
        tw_context_free(r.ctx);
    }
}

/* ---- whole numbers ---- */

/* Doubles know them up to 2^53; what leaves that is evaluated on integers, and wraps around there. */
TEST(whole_numbers_of_64_bits_are_exact)
{
    enum { N = 4 };
    static const int64_t a[N] = {INT64_MAX, (INT64_C(1) << 53) + 1, -3, 1}, b[N] = {2, 1, INT64_C(1) << 62, 5};
    static const char *const op[] = {"Add", "Mul", "Sub", "Max"};
    for (int k = 0; k < 4; k++) {
        tw_text g = {0};
        add_value(&g, INPUT, "a", INT64, N);
        add_value(&g, INPUT, "b", INT64, N);
        add_node(&g, op[k], "a b", "y");
        add_value(&g, OUTPUT, "y", INT64, N);
        tw_network_data in[] = {data_of("a", "int64", N, a), data_of("b", "int64", N, b)};
        ran r = run(&g, &(tw_network_run_options){.n_inputs = 2, .input = in});
        CHECK_EQ(r.status, TW_OK);
        CHECK_EQ(r.verdict->n_executed, 0);
        CHECK_STR(r.verdict->step[0].why_not, "its whole numbers need more than 53 bits");
        const int64_t *y = r.verdict->output[0].bytes;
        for (int i = 0; i < N; i++) {
            uint64_t p = (uint64_t)a[i], q = (uint64_t)b[i];
            int64_t want = k == 0        ? (int64_t)(p + q)
                           : k == 1      ? (int64_t)(p * q)
                           : k == 2      ? (int64_t)(p - q)
                           : a[i] > b[i] ? a[i]
                                         : b[i];
            CHECK(y[i] == want);
        }
        tw_context_free(r.ctx);
    }
}

TEST(products_of_32_bits_wrap_around_exactly_and_small_ones_stay_tiled)
{
    enum { N = 3, INT32 = 6 };
    static const int32_t large[N] = {2000000011, -2000000011, 123456789}, small[N] = {2000, -3, 7};
    for (int k = 0; k < 2; k++) {
        const int32_t *x = k == 0 ? large : small;
        tw_text g = {0};
        add_value(&g, INPUT, "x", INT32, N);
        add_node(&g, "Mul", "x x", "y");
        add_value(&g, OUTPUT, "y", INT32, N);
        tw_network_data in = data_of("x", "int32", N, x);
        ran r = run(&g, &(tw_network_run_options){.n_inputs = 1, .input = &in});
        CHECK_EQ(r.status, TW_OK);
        CHECK_EQ(r.verdict->n_executed, k);
        for (int i = 0; i < N; i++)
            CHECK_EQ(((const int32_t *)r.verdict->output[0].bytes)[i], (int32_t)((uint32_t)x[i] * (uint32_t)x[i]));
        tw_context_free(r.ctx);
    }
}
