/* test/lower/test_nodes.c - described operators against ONNX's own test data (Debian: libonnx-testdata).
 *
 * Every folder has a model, inputs and the expected outputs. The model is lowered, and its steps are run one after the
 * other: a described operator by the direct interpretation of its description (verify's reference, which visits every
 * point of the nest), a step of the host by the evaluator. Floats may be off by 1e-5 + 1e-3 of the expected size,
 * integers not at all. Inputs that say how (the target of a Reshape) are known when shapes are inferred, data are not. */
#include "lower/lower.h"
#include "onnx_data.h"
#include "tw_test.h"
#include "verify/verify.h"

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

/* ---- running steps ---- */

typedef struct run {
    const tw_lowered *lowered;
    tw_array *root;  /* per tensor that is its own root */
    tw_array *value; /* of the file, for subgraphs */
    tw_arena *arena;
    tw_diag *diag;
} run;

static size_t element_bytes(tw_onnx_type type)
{
    return type == TW_ONNX_STRING ? sizeof(char *) : (size_t)tw_onnx_type_bytes(type);
}

/* The elements of a tensor, wherever they lie; data NULL: not there. */
static tw_array read_net(run *r, int t)
{
    const tw_net_tensor *tensor = &r->lowered->tensor[t];
    const tw_array *root = &r->root[tensor->root];
    tw_array a = *root;
    if (!tensor->known || (!root->data && tensor->n_elems > 0)) return a;
    a.type = tensor->type;
    a.n = tensor->n_elems;
    a.n_dims = tensor->n_dims;
    memcpy(a.dim, tensor->dim, sizeof a.dim);
    if (root->data) a.data = (const char *)root->data + (size_t)tensor->offset * element_bytes(a.type);
    return a;
}

static tw_status write_net(run *r, int t, const tw_array *from)
{
    const tw_net_tensor *tensor = &r->lowered->tensor[t], *whole = &r->lowered->tensor[tensor->root];
    tw_array *root = &r->root[tensor->root];
    if (tensor->root == t) {
        *root = *from;
        return TW_OK;
    }
    if (!root->data) TW_TRY(tw_array_new(whole->type, whole->n_dims, whole->dim, r->arena, root));
    memcpy((char *)root->data + (size_t)tensor->offset * element_bytes(from->type), from->data,
           (size_t)from->n * element_bytes(from->type));
    return TW_OK;
}

static const double *numbers_of(run *r, int t)
{
    tw_array a = read_net(r, t);
    double *x = a.data ? TW_NEW(r->arena, double, a.n + 1) : NULL;
    for (int64_t i = 0; x && i < a.n; i++) x[i] = tw_array_get(&a, i);
    return x;
}

static bool fits(tw_onnx_type type, double x)
{
    static const struct {
        tw_onnx_type type;
        double lo, hi;
    } range[] = {
        {TW_ONNX_I8, -128, 127},
        {TW_ONNX_U8, 0, 255},
        {TW_ONNX_I16, -32768, 32767},
        {TW_ONNX_U16, 0, 65535},
        {TW_ONNX_I32, -2147483648.0, 2147483647},
        {TW_ONNX_U32, 0, 4294967295.0},
        {TW_ONNX_BOOL, 0, 1},
        {TW_ONNX_I64, -0x1p63, 0x1p63},
        {TW_ONNX_U64, 0, 0x1p64},
    };
    for (size_t i = 0; i < TW_COUNT(range); i++)
        if (range[i].type == type) return range[i].lo <= x && x <= range[i].hi && x == trunc(x);
    return true;
}

static tw_status run_tiled(run *r, const tw_step *step)
{
    const tw_op *op = step->model->op;
    tw_reference_case c = {.model = step->model, .op = op};
    int out = step->operand[step->n_operands - 1];
    const tw_net_tensor *tensor = &r->lowered->tensor[out];
    tw_array made;
    for (int i = 0; i < step->n_operands - 1; i++)
        if (!(c.input[i] = numbers_of(r, step->operand[i])))
            return tw_diag_error(r->diag, (tw_loc){0}, "%s: no input %d", step->name, i);
    for (int h = 0; h < op->n_held; h++)
        if (!(c.held[h] = numbers_of(r, step->held[h])))
            return tw_diag_error(r->diag, (tw_loc){0}, "%s: no held %d", step->name, h);
    double *result = TW_NEW(r->arena, double, tensor->n_elems);
    if (!result || !tw_reference_direct(NULL, &c, result)) return TW_ERR_NOMEM;
    TW_TRY(tw_array_new(tensor->type, tensor->n_dims, tensor->dim, r->arena, &made));
    for (int64_t i = 0; i < made.n; i++) {
        if (!fits(tensor->type, result[i]))
            return tw_diag_error(r->diag, (tw_loc){0}, "%s: %g does not fit its type", step->name, result[i]);
        tw_array_set(&made, i, result[i]);
    }
    return write_net(r, out, &made);
}

static const tw_array *outer_value(void *user, int value)
{
    run *r = user;
    int t = r->lowered->tensor_of_value[value];
    if (t < 0) return NULL;
    r->value[value] = read_net(r, t);
    return r->value[value].data ? &r->value[value] : NULL;
}

static tw_status run_host(run *r, const tw_step *step)
{
    const tw_graph_file *file = r->lowered->shapes->file;
    const tw_onnx_node *node = &file->graph[step->graph].node[step->node[0]];
    const tw_array **input = TW_NEW(r->arena, const tw_array *, node->n_inputs + 1);
    tw_array *own = TW_NEW(r->arena, tw_array, node->n_inputs + 1),
             *output = TW_NEW(r->arena, tw_array, node->n_outputs + 1);
    bool *wanted = TW_NEW(r->arena, bool, node->n_outputs + 1);
    for (int i = 0; i < node->n_inputs; i++) {
        if (step->input[i] < 0) continue;
        own[i] = read_net(r, step->input[i]);
        input[i] = &own[i];
    }
    for (int i = 0; i < node->n_outputs; i++) wanted[i] = step->output[i] >= 0;
    tw_refer_case c = {.file = file,
                       .node = node,
                       .opset = tw_graph_opset(file, node->domain),
                       .n_inputs = node->n_inputs,
                       .n_outputs = node->n_outputs,
                       .input = input,
                       .wanted = wanted,
                       .graph = step->graph,
                       .outer = outer_value,
                       .user = r};
    TW_TRY(tw_refer_run(&c, r->arena, r->diag, output));
    for (int i = 0; i < node->n_outputs; i++)
        if (wanted[i]) TW_TRY(write_net(r, step->output[i], &output[i]));
    return TW_OK;
}

/* Constants into their places. */
static tw_status load_constants(run *r)
{
    const tw_graph_file *file = r->lowered->shapes->file;
    for (int t = 0; t < r->lowered->n_tensors; t++) {
        const tw_net_tensor *tensor = &r->lowered->tensor[t];
        if (tensor->root != t || r->root[t].data || tensor->role != TW_ROLE_CONSTANT) continue;
        if (tensor->literal) {
            r->root[t] = *tensor->literal;
            continue;
        }
        const tw_constant *constant = file->value[tensor->value].constant;
        r->root[t] = (tw_array){.type = constant->type, .n_dims = constant->n_dims, .n = constant->n_elems};
        memcpy(r->root[t].dim, constant->dim, sizeof r->root[t].dim);
        TW_TRY(tw_constant_read(constant, file->path, r->arena, r->diag, &r->root[t].data));
    }
    return TW_OK;
}

static tw_status run_steps(run *r)
{
    TW_TRY(load_constants(r));
    for (int s = 0; s < r->lowered->n_steps; s++) {
        const tw_step *step = &r->lowered->step[s];
        if (step->in_branch) continue; /* the host runs the If as a whole */
        TW_TRY(step->kind == TW_STEP_TILED ? run_tiled(r, step) : run_host(r, step));
    }
    return TW_OK;
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

static bool all_right(run *r, const char *set)
{
    const tw_graph_file *file = r->lowered->shapes->file;
    for (int i = 0; i < file->graph[0].n_outputs; i++) {
        char path[5000];
        tw_array expected;
        int value = file->graph[0].output[i];
        snprintf(path, sizeof path, "%s/output_%d.pb", set, i);
        if (read_tensor(path, file->value[value].declared.type, r->arena, r->diag, &expected) != TW_OK)
            return false;
        tw_array got = read_net(r, r->lowered->tensor_of_value[value]);
        if (!same_array(&got, &expected)) return false;
    }
    return true;
}

static verdict judge(run *r, const char *set)
{
    int n_tiled = 0, n_host = 0;
    for (int s = 0; s < r->lowered->n_steps; s++) {
        if (r->lowered->step[s].kind == TW_STEP_UNKNOWN) return UNKNOWN;
        if (r->lowered->step[s].kind == TW_STEP_TILED)
            n_tiled++;
        else
            n_host++;
    }
    tw_status status = run_steps(r);
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
    run r = {lowered, TW_NEW(arena, tw_array, lowered->n_tensors + 1), TW_NEW(arena, tw_array, file->n_values + 1),
             arena, diag};
    for (int i = 0; i < g->n_inputs; i++)
        if (lowered->tensor_of_value[g->input[i]] >= 0)
            r.root[lowered->tensor_of_value[g->input[i]]] = given[g->input[i]];
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
