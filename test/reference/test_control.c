/* test/reference/test_control.c - graphs, and graphs in nodes, written down as the reader would give them.
 *
 *     values   0 trips  1 go  2 start  3 step  4 end  5 all        of the main graph
 *              6 i  7 go_in  8 sum_in  9 sum  10 copy  11 go_out   of the body: sum = sum_in + step, which is outside */
#include "reference/reference.h"
#include "tw_test.h"

#include <string.h>

enum { TRIPS, GO, START, STEP, END, ALL, I, GO_IN, SUM_IN, SUM, COPY, GO_OUT, N_VALUES };

typedef struct net {
    tw_value value[N_VALUES];
    tw_attribute attribute[4];
    tw_onnx_node main, body[3];
    tw_graph graph[3];
    tw_graph_file file;
    tw_array array[N_VALUES];
    tw_arena *arena;
    tw_diag diag;
} net;

static const char *const name[N_VALUES] = {"trips", "go",    "start",  "step", "end",  "all",
                                           "i",     "go_in", "sum_in", "sum",  "copy", "go_out"};

static tw_onnx_node node_of(const char *op, int n_in, const int *in, int n_out, const int *out)
{
    return (tw_onnx_node){.name = "",
                          .op = op,
                          .domain = "",
                          .offset = 5,
                          .n_inputs = n_in,
                          .input = in,
                          .n_outputs = n_out,
                          .output = out};
}

/* A Loop that adds `step` to a sum and keeps all sums. */
static net *net_new(void)
{
    static const char *const domain[1] = {""};
    static const int64_t version[1] = {13};
    static const int loop_in[] = {TRIPS, GO, START}, loop_out[] = {END, ALL}, main_in[] = {TRIPS, GO, START, STEP};
    static const int body_in[] = {I, GO_IN, SUM_IN}, body_out[] = {GO_OUT, SUM, COPY}, add_in[] = {SUM_IN, STEP};
    static const int sum[] = {SUM}, copy[] = {COPY}, go_in[] = {GO_IN}, go_out[] = {GO_OUT};
    net *n = calloc(1, sizeof *n);
    for (int v = 0; v < N_VALUES; v++) n->value[v] = (tw_value){.name = name[v], .graph = v >= I, .node = -1};
    n->value[COPY].declared =
        (tw_declared){.there = true, .type = TW_ONNX_F32, .is_tensor = true, .n_dims = 1, .dim = {2}};
    n->attribute[0] = (tw_attribute){.name = "body", .kind = TW_ATTR_GRAPH, .graph = 1};
    n->main = node_of("Loop", 3, loop_in, 2, loop_out);
    n->main.attribute = n->attribute;
    n->main.n_attributes = 1;
    n->body[0] = node_of("Add", 2, add_in, 1, sum);
    n->body[1] = node_of("Identity", 1, sum, 1, copy);
    n->body[2] = node_of("Identity", 1, go_in, 1, go_out);
    n->graph[0] = (tw_graph){.name = "main",
                             .around = -1,
                             .n_nodes = 1,
                             .node = &n->main,
                             .n_inputs = 4,
                             .input = main_in,
                             .n_outputs = 2,
                             .output = loop_out};
    n->graph[1] = (tw_graph){.name = "body",
                             .n_nodes = 3,
                             .node = n->body,
                             .n_inputs = 3,
                             .input = body_in,
                             .n_outputs = 3,
                             .output = body_out};
    n->file = (tw_graph_file){.path = "m.onnx",
                              .n_opsets = 1,
                              .opset_domain = domain,
                              .opset_version = version,
                              .n_graphs = 2,
                              .n_values = N_VALUES,
                              .graph = n->graph,
                              .value = n->value};
    n->arena = tw_arena_new();
    return n;
}

static void net_free(net *n)
{
    tw_arena_free(n->arena);
    tw_diag_release(&n->diag);
    free(n);
}

static void set(net *n, int64_t trips, bool go)
{
    static const float start[2] = {1, 2}, step[2] = {10, 20};
    static int64_t t;
    static uint8_t g;
    t = trips;
    g = go;
    memset(n->array, 0, sizeof n->array);
    n->array[TRIPS] = (tw_array){.type = TW_ONNX_I64, .n = 1, .data = &t};
    n->array[GO] = (tw_array){.type = TW_ONNX_BOOL, .n = 1, .data = &g};
    n->array[START] = (tw_array){.type = TW_ONNX_F32, .n_dims = 1, .dim = {2}, .n = 2, .data = start};
    n->array[STEP] = (tw_array){.type = TW_ONNX_F32, .n_dims = 1, .dim = {2}, .n = 2, .data = step};
}

static tw_status run(net *n) { return tw_ref_graph(&n->file, 0, n->arena, &n->diag, n->array); }

static void check(const tw_array *a, int n_dims, const int64_t *dim, const float *want)
{
    CHECK_EQ(a->n_dims, n_dims);
    for (int k = 0; k < n_dims; k++) CHECK_EQ(a->dim[k], dim[k]);
    for (int64_t i = 0; i < a->n; i++) CHECK(((const float *)a->data)[i] == want[i]);
}

TEST(a_loop_carries_a_sum_and_keeps_all_of_them)
{
    net *n = net_new();
    set(n, 3, true);
    CHECK_EQ(run(n), TW_OK);
    check(&n->array[END], 1, (int64_t[]){2}, (float[]){31, 62});
    check(&n->array[ALL], 2, (int64_t[]){3, 2}, (float[]){11, 22, 21, 42, 31, 62});
    CHECK(!n->array[SUM].data); /* lay in memory that is gone */
    net_free(n);
}

TEST(a_loop_that_does_not_run_has_the_shape_that_was_declared)
{
    net *n = net_new();
    set(n, 3, false);
    CHECK_EQ(run(n), TW_OK);
    check(&n->array[END], 1, (int64_t[]){2}, (float[]){1, 2});
    check(&n->array[ALL], 2, (int64_t[]){0, 2}, NULL);
    net_free(n);
}

TEST(a_loop_without_end_is_refused)
{
    net *n = net_new();
    set(n, 0, true);
    n->main.input = (int[]){-1, -1, START};
    n->main.n_outputs = 1;
    n->graph[0].n_outputs = 1;
    n->graph[1].n_nodes = 0;
    n->graph[1].n_outputs = 2;
    n->graph[1].output = (int[]){GO_IN, SUM_IN};
    CHECK_EQ(run(n), TW_INFEASIBLE);
    CHECK_STR(n->diag.last,
              "m.onnx: infeasible: node '' (Loop) at byte 5: more than 4194304 steps of nodes and loops");
    net_free(n);
}

TEST(values_that_nobody_gives_are_named)
{
    net *n = net_new();
    set(n, 3, true);
    n->array[STEP].data = NULL;
    CHECK_EQ(run(n), TW_ERR_INPUT);
    CHECK_STR(n->diag.last, "m.onnx: error: node '' (Add) at byte 5: 'step' has no value");
    CHECK(!n->array[SUM_IN].data);
    net_free(n);
}

TEST(a_branch_may_give_a_value_from_around_it)
{
    net *n = net_new();
    n->attribute[0] = (tw_attribute){.name = "then_branch", .kind = TW_ATTR_GRAPH, .graph = 1};
    n->attribute[1] = (tw_attribute){.name = "else_branch", .kind = TW_ATTR_GRAPH, .graph = 2};
    n->main = node_of("If", 1, (int[]){GO}, 1, (int[]){END});
    n->main.attribute = n->attribute;
    n->main.n_attributes = 2;
    n->body[0] = node_of("Add", 2, (int[]){START, STEP}, 1, (int[]){SUM});
    n->graph[0].n_outputs = 1;
    n->graph[1] = (tw_graph){.node = n->body, .n_nodes = 1, .n_outputs = 1, .output = (int[]){SUM}};
    n->graph[2] = (tw_graph){.n_outputs = 1, .output = (int[]){STEP}};
    n->file.n_graphs = 3;
    set(n, 0, true);
    CHECK_EQ(run(n), TW_OK);
    check(&n->array[END], 1, (int64_t[]){2}, (float[]){11, 22});
    set(n, 0, false);
    CHECK_EQ(run(n), TW_OK);
    check(&n->array[END], 1, (int64_t[]){2}, (float[]){10, 20});
    net_free(n);
}

/* Backwards through the elements of `start`, and the sums again backwards into the last axis. */
TEST(a_scan_goes_either_way)
{
    net *n = net_new();
    static const float zero;
    n->attribute[1] = (tw_attribute){.name = "num_scan_inputs", .kind = TW_ATTR_INT, .i = 1};
    n->attribute[2] =
        (tw_attribute){.name = "scan_input_directions", .kind = TW_ATTR_INTS, .n = 1, .ints = (int64_t[]){1}};
    n->attribute[3] =
        (tw_attribute){.name = "scan_output_directions", .kind = TW_ATTR_INTS, .n = 1, .ints = (int64_t[]){1}};
    n->main = node_of("Scan", 2, (int[]){STEP, START}, 2, (int[]){END, ALL});
    n->main.attribute = n->attribute;
    n->main.n_attributes = 4;
    n->body[0] = node_of("Add", 2, (int[]){SUM_IN, I}, 1, (int[]){SUM});
    n->graph[1] = (tw_graph){.node = n->body,
                             .n_nodes = 2,
                             .n_inputs = 2,
                             .input = (int[]){SUM_IN, I},
                             .n_outputs = 2,
                             .output = (int[]){SUM, COPY}};
    set(n, 0, true);
    n->array[STEP] = (tw_array){.type = TW_ONNX_F32, .n = 1, .data = &zero};
    CHECK_EQ(run(n), TW_OK);
    check(&n->array[END], 0, NULL, (float[]){3});
    check(&n->array[ALL], 1, (int64_t[]){2}, (float[]){3, 2});
    net_free(n);
}

TEST(a_loop_survives_every_failed_allocation)
{
    for (int64_t at = 1;; at++) {
        net *n = net_new();
        set(n, 5, true);
        tw_arena_fail_at(n->arena, at);
        tw_status status = run(n);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        net_free(n);
        if (status == TW_OK) break;
    }
}
