/* test/reference/test_nodes.c - the evaluator against ONNX's own test data (Debian: libonnx-testdata).
 *
 * Every folder has a model, inputs and the outputs that the standard's authors computed. They are compared as
 * ONNX's own runner does it: floats within 1e-7 + 1e-3 of the expected size, everything else exactly. What comes
 * out is one of three: right, wrong, or no implementation.
 *
 * The data have no bfloat16 of their own: such tensors are labelled uint16, and what was computed was cut off
 * instead of rounded, so that the last of 8 bits may differ. */
#include "onnx_data.h"
#include "reference/reference.h"
#include "tw_test.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum verdict { RIGHT, WRONG, UNKNOWN, N_VERDICTS } verdict;
typedef struct family {
    char name[64];
    int count[N_VERDICTS];
} family;
typedef struct tally {
    family family[400];
    int n;
    int count[N_VERDICTS];
} tally;

/* ---- one folder ---- */

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
    return fabs(x - y) <= 1e-7 + (a->type == TW_ONNX_BF16 ? 1.0 / 128 : 1e-3) * fabs(y);
}

static bool same_array(const tw_array *a, const tw_array *b)
{
    if (!a->data || a->type != b->type || a->n_dims != b->n_dims || a->n != b->n) return false;
    for (int i = 0; i < a->n_dims; i++)
        if (a->dim[i] != b->dim[i]) return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!same_element(a, b, i)) return false;
    return true;
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

static verdict compare(const tw_graph_file *file, const char *set, tw_arena *arena, tw_diag *diag,
                       const tw_array *value)
{
    const tw_graph *g = &file->graph[0];
    for (int i = 0; i < g->n_outputs; i++) {
        char path[4200];
        tw_array expected;
        snprintf(path, sizeof path, "%s/output_%d.pb", set, i);
        if (read_tensor(path, file->value[g->output[i]].declared.type, arena, diag, &expected) != TW_OK)
            return UNKNOWN;
        if (!same_array(&value[g->output[i]], &expected)) return WRONG;
    }
    return RIGHT;
}

static verdict run_set(const tw_graph_file *file, const char *set, tw_arena *arena, tw_diag *diag)
{
    const tw_graph *g = &file->graph[0];
    tw_array *value = TW_NEW(arena, tw_array, file->n_values + 1);
    for (int i = 0; i < g->n_inputs; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/input_%d.pb", set, i);
        const tw_value *input = &file->value[g->input[i]];
        if (read_tensor(path, input->declared.type, arena, diag, &value[g->input[i]]) != TW_OK) return UNKNOWN;
    }
    tw_status status = tw_ref_graph(file, 0, arena, diag, value);
    if (status != TW_OK) return status == TW_INFEASIBLE ? UNKNOWN : WRONG;
    return compare(file, set, arena, diag, value);
}

static verdict run_sets(const tw_graph_file *file, const char *folder, tw_arena *arena, tw_diag *diag)
{
    char pattern[4200];
    glob_t sets;
    verdict worst = RIGHT;
    if (!has_only_tensors(file)) return UNKNOWN;
    snprintf(pattern, sizeof pattern, "%s/test_data_set_*", folder);
    if (glob(pattern, 0, NULL, &sets) != 0) return UNKNOWN;
    for (size_t i = 0; i < sets.gl_pathc && worst == RIGHT; i++)
        worst = run_set(file, sets.gl_pathv[i], arena, diag);
    globfree(&sets);
    return worst;
}

/* ---- all of them ---- */

/* A model of one node counts for its operator. */
static const char *family_of(const tw_graph_file *file)
{
    return file->graph[0].n_nodes == 1 ? file->graph[0].node[0].op : "(several nodes)";
}

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
    char path[4200];
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_graph_file *file;
    verdict v = WRONG;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (tw_graph_open(path, arena, &diag, &file) == TW_OK) {
        v = run_sets(file, folder, arena, &diag);
        count(t, family_of(file), v);
        tw_graph_close(file);
    } else
        count(t, "(not read)", v);
    if (v == WRONG) printf("wrong: %s: %s\n", folder, diag.last ? diag.last : "other numbers");
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const family *)a)->name, ((const family *)b)->name);
}

static void print(tally *t)
{
    qsort(t->family, (size_t)t->n, sizeof t->family[0], by_name);
    printf("%-32s %6s %6s %8s\n", "operator", "right", "wrong", "unknown");
    for (int i = 0; i < t->n; i++)
        printf("%-32s %6d %6d %8d\n", t->family[i].name, t->family[i].count[RIGHT], t->family[i].count[WRONG],
               t->family[i].count[UNKNOWN]);
    printf("%-32s %6d %6d %8d\n", "all", t->count[RIGHT], t->count[WRONG], t->count[UNKNOWN]);
}

static void run_all(const char *kind, tally *t)
{
    char pattern[4200];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/test_*", data_folder(), kind);
    if (glob(pattern, 0, NULL, &found) != 0) {
        printf("skipped: nothing in %s (install libonnx-testdata or set TW_ONNX_TESTDATA)\n", pattern);
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) run_folder(found.gl_pathv[i], t);
    globfree(&found);
    print(t);
}

TEST(node_tests_of_the_standard)
{
    static tally t;
    run_all("node", &t);
    CHECK_EQ(t.count[WRONG], 0);
    CHECK(t.count[RIGHT] >= 866);
}

TEST(operators_as_pytorch_exported_them)
{
    static tally t;
    run_all("pytorch-operator", &t);
    CHECK_EQ(t.count[WRONG], 0);
}

TEST(layers_as_pytorch_exported_them)
{
    static tally t;
    run_all("pytorch-converted", &t);
    CHECK_EQ(t.count[WRONG], 0);
}
