/* test/lower/test_nodes.c - described operators against ONNX's own test data (Debian: libonnx-testdata).
 *
 * Every folder has a model, inputs and the expected outputs. The model is lowered, and its steps are run one after the
 * other: a described operator by the direct interpretation of its description (verify's reference, which visits every
 * point of the nest), a step of the host by the evaluator. Floats may be off by 1e-5 + 1e-3 of the expected size,
 * integers not at all. Inputs that say how (the target of a Reshape) are known when shapes are inferred, data are not. */
#include "lower/lower.h"
#include "onnx_data.h"
#include "steps_run.h"
#include "tw_test.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum verdict { TILED_RIGHT, TILED_WRONG, HOST_RIGHT, HOST_WRONG, NO_STEPS, UNKNOWN, N_VERDICTS } verdict;
static const char *const verdict_names[N_VERDICTS] = {"tiled", "wrong", "host", "wrong", "views", "unknown"};
typedef struct family {
    char name[64];
    int count[N_VERDICTS];
} family;
typedef struct tally {
    family family[400];
    int n, count[N_VERDICTS];
    bool no_fold;
} tally;

/* ---- tensors ---- */

static bool is_float(tw_onnx_type type)
{
    return type == TW_ONNX_F32 || type == TW_ONNX_F64 || type == TW_ONNX_F16 || type == TW_ONNX_BF16;
}

static bool same_element(const tw_array *a, const tw_array *b, int64_t i)
{
    if (a->type == TW_ONNX_STRING)
        return strcmp(((const char *const *)a->data)[i], ((const char *const *)b->data)[i]) == 0;
    if (!is_float(a->type)) return tw_array_get_int(a, i) == tw_array_get_int(b, i);
    double x = tw_array_get(a, i), y = tw_array_get(b, i);
    if (x == y || (x != x && y != y)) return true;
    return fabs(x - y) <= 1e-5 + (a->type == TW_ONNX_BF16 ? 1.0 / 128 : 1e-3) * fabs(y);
}

static bool same_array(const tw_array *a, const tw_array *b)
{
    if ((!a->data && a->n > 0) || a->type != b->type || a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!same_element(a, b, i)) return false;
    return true;
}

/* ---- one folder ---- */

/* Operators whose later inputs say how, not what. */
static bool says_how(const char *op)
{
    static const char *const list[] = {"Reshape",   "Slice",     "Pad",   "Tile",   "Expand",
                                       "Squeeze",   "Unsqueeze", "Split", "Resize", "Upsample",
                                       "ReduceSum", "Dropout",   "TopK",  "OneHot", "CumSum"};
    for (size_t i = 0; i < TW_COUNT(list); i++)
        if (strcmp(list[i], op) == 0) return true;
    return false;
}

static bool is_parameter(const tw_graph_file *file, int value)
{
    const tw_graph *g = &file->graph[0];
    for (int n = 0; n < g->n_nodes; n++)
        for (int i = 1; i < g->node[n].n_inputs; i++)
            if (g->node[n].input[i] == value && says_how(g->node[n].op) && g->node[n].input[0] != value)
                return true;
    return false;
}

static bool has_only_tensors(const tw_graph_file *file)
{
    const tw_graph *g = &file->graph[0];
    for (int i = 0; i < g->n_inputs; i++)
        if (!file->value[g->input[i]].declared.is_tensor) return false;
    for (int i = 0; i < g->n_outputs; i++)
        if (!file->value[g->output[i]].declared.is_tensor) return false;
    return true;
}

static bool all_right(steps_run *r, const char *set)
{
    const tw_graph_file *file = r->lowered->shapes->file;
    for (int i = 0; i < file->graph[0].n_outputs; i++) {
        char path[5000];
        tw_array expected;
        int value = file->graph[0].output[i];
        snprintf(path, sizeof path, "%s/output_%d.pb", set, i);
        if (read_tensor(path, file->value[value].declared.type, r->arena, r->diag, &expected) != TW_OK)
            return false;
        tw_array got = steps_tensor(r, r->lowered->tensor_of_value[value]);
        if (!same_array(&got, &expected)) return false;
    }
    return true;
}

static verdict judge(steps_run *r, const char *set)
{
    int n_tiled = 0, n_host = 0;
    for (int s = 0; s < r->lowered->graph.n_ops; s++) {
        if (r->lowered->graph.op[s].kind == TW_OP_UNKNOWN) return UNKNOWN;
        if (r->lowered->graph.op[s].kind == TW_OP_DESCRIBED)
            n_tiled++;
        else
            n_host++;
    }
    tw_status status = steps_run_all(r);
    if (status == TW_INFEASIBLE) return UNKNOWN;
    bool right = status == TW_OK && all_right(r, set);
    if (n_tiled == 0 && n_host == 0) return right ? NO_STEPS : TILED_WRONG;
    return n_host == 0 ? (right ? TILED_RIGHT : TILED_WRONG) : right ? HOST_RIGHT : HOST_WRONG;
}

static verdict run_set(const tw_graph_file *file, const char *set, bool no_fold, tw_arena *arena, tw_diag *diag)
{
    const tw_graph *g = &file->graph[0];
    tw_array *given = TW_NEW(arena, tw_array, file->n_values + 1),
             *known = TW_NEW(arena, tw_array, file->n_values + 1);
    tw_input_shape *shape = TW_NEW(arena, tw_input_shape, g->n_inputs + 1);
    for (int i = 0; i < g->n_inputs; i++) {
        char path[5000];
        const tw_value *input = &file->value[g->input[i]];
        snprintf(path, sizeof path, "%s/input_%d.pb", set, i);
        tw_array *a = &given[g->input[i]];
        if (read_tensor(path, input->declared.type, arena, diag, a) != TW_OK) return UNKNOWN;
        shape[i] = (tw_input_shape){.name = input->name, .n_dims = a->n_dims};
        memcpy(shape[i].dim, a->dim, sizeof shape[i].dim);
        if (is_parameter(file, g->input[i])) known[g->input[i]] = *a;
    }
    tw_infer_options options = {.n_inputs = g->n_inputs, .input = shape, .given = known};
    tw_lower_options how = {.no_fold = no_fold, .float_as = TW_N_DTYPES};
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    if (tw_infer_shapes(file, &options, arena, diag, &shapes) != TW_OK) return UNKNOWN;
    if (tw_lower_network(shapes, &how, arena, diag, &lowered) != TW_OK) return TILED_WRONG;
    if (getenv("TW_SHOW")) {
        tw_text text = {0};
        tw_lowered_print(lowered, &text);
        printf("%s", text.bytes ? text.bytes : "");
        tw_text_release(&text);
    }
    steps_run r = steps_run_of(lowered, arena, diag);
    for (int i = 0; i < g->n_inputs; i++) steps_give(&r, g->input[i], &given[g->input[i]]);
    return judge(&r, set);
}

/* ---- all of them ---- */

static void count(tally *t, const char *name, verdict v)
{
    int i = 0;
    while (i < t->n && strcmp(t->family[i].name, name) != 0) i++;
    if (i == (int)TW_COUNT(t->family)) return;
    if (i == t->n) snprintf(t->family[t->n++].name, sizeof t->family[i].name, "%s", name);
    t->family[i].count[v]++;
    t->count[v]++;
}

static void run_folder(const char *folder, tally *t)
{
    char path[4300];
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    verdict v = UNKNOWN;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (tw_graph_open(path, arena, &diag, &file) == TW_OK) {
        snprintf(path, sizeof path, "%s/test_data_set_0", folder);
        if (has_only_tensors(file)) v = run_set(file, path, t->no_fold, arena, &diag);
        count(t, file->graph[0].n_nodes == 1 ? file->graph[0].node[0].op : "(several nodes)", v);
        tw_graph_close(file);
    }
    if (v == TILED_WRONG || v == HOST_WRONG)
        printf("wrong: %s: %s\n", folder, diag.last ? diag.last : "other numbers");
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const family *)a)->name, ((const family *)b)->name);
}

static void print_row(const char *name, const int *n)
{
    printf("%-30s", name);
    for (int v = 0; v < N_VERDICTS; v++) printf(" %7d", n[v]);
    printf("\n");
}

static void print(tally *t)
{
    qsort(t->family, (size_t)t->n, sizeof t->family[0], by_name);
    printf("%-30s", "operator");
    for (int v = 0; v < N_VERDICTS; v++) printf(" %7s", verdict_names[v]);
    printf("\n");
    for (int i = 0; i < t->n; i++) print_row(t->family[i].name, t->family[i].count);
    print_row("all", t->count);
}

static void run_all(const char *kind, tally *t)
{
    char pattern[4200];
    glob_t found;
    const char *only = getenv("TW_ONLY");
    snprintf(pattern, sizeof pattern, "%s/%s/test_%s", data_folder(), kind, only ? only : "*");
    if (glob(pattern, 0, NULL, &found) != 0) {
        printf("skipped: nothing in %s (install libonnx-testdata or set TW_ONNX_TESTDATA)\n", pattern);
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) run_folder(found.gl_pathv[i], t);
    globfree(&found);
    print(t);
    CHECK_EQ(t->count[TILED_WRONG], 0);
    CHECK_EQ(t->count[HOST_WRONG], 0);
}

TEST(node_tests_of_the_standard)
{
    static tally t;
    run_all("node", &t);
}

TEST(node_tests_of_the_standard_without_folding)
{
    static tally t = {.no_fold = true};
    run_all("node", &t);
}

TEST(operators_as_pytorch_exported_them)
{
    static tally t;
    run_all("pytorch-operator", &t);
}

TEST(layers_as_pytorch_exported_them)
{
    static tally t;
    run_all("pytorch-converted", &t);
}
