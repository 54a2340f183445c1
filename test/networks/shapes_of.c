/* test/networks/shapes_of.c - shapes_of MODEL.onnx [--dim N=8] [--input-shape x=1x3x8x8] [--fill x=1] ...
 *
 * What shape inference says of a network, in the form in which tools/ort/run.mjs writes down what onnxruntime says:
 *
 *     conv1_out float 1x64x112x112
 *     axis int64 scalar
 *     then_branch/y unknown
 *
 * --fill gives an input whose elements all have one value. Values of subgraphs have the attributes that lead to them
 * before their names. */
#include "infer/infer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 64 };

typedef struct fill {
    const char *name;
    double value;
} fill;
typedef struct request {
    tw_dim_value dim[MAX_OPTIONS];
    tw_input_shape input[MAX_OPTIONS];
    fill fill[MAX_OPTIONS];
    int n_dims, n_inputs, n_fills;
} request;

static tw_input_shape input_shape(const char *name, const char *text)
{
    tw_input_shape shape = {.name = name};
    for (char *rest = (char *)text; *rest && shape.n_dims < TW_ONNX_MAX_DIMS; rest += *rest == 'x')
        shape.dim[shape.n_dims++] = strtoll(rest, &rest, 10);
    return shape;
}

/* Takes one option: `value` is NAME=VALUE and is cut in two. */
static bool take_option(request *r, const char *option, char *value)
{
    char *equals = strrchr(value, '=');
    if (!equals || r->n_dims + r->n_inputs + r->n_fills >= MAX_OPTIONS) return false;
    *equals = 0;
    if (strcmp(option, "--dim") == 0)
        r->dim[r->n_dims++] = (tw_dim_value){value, atoll(equals + 1)};
    else if (strcmp(option, "--input-shape") == 0)
        r->input[r->n_inputs++] = input_shape(value, equals + 1);
    else if (strcmp(option, "--fill") == 0)
        r->fill[r->n_fills++] = (fill){value, atof(equals + 1)};
    else
        return false;
    return true;
}

static int64_t bound(const request *r, const tw_declared *declared, int i)
{
    for (int k = 0; declared->symbol[i] && k < r->n_dims; k++)
        if (strcmp(r->dim[k].name, declared->symbol[i]) == 0) return r->dim[k].value;
    return declared->dim[i];
}

/* An input of the declared shape with all elements alike. */
static tw_status filled(const request *r, const tw_declared *declared, double value, tw_arena *arena, tw_array *out)
{
    int64_t dim[TW_ONNX_MAX_DIMS];
    for (int i = 0; i < declared->n_dims; i++) dim[i] = bound(r, declared, i);
    TW_TRY(tw_array_new(declared->type, declared->n_dims, dim, arena, out));
    for (int64_t i = 0; i < out->n; i++) tw_array_set(out, i, value);
    return TW_OK;
}

static tw_status given(const request *r, const tw_graph_file *file, tw_arena *arena, const tw_array **out)
{
    tw_array *array;
    TW_ALLOC(arena, array, file->n_values);
    for (int k = 0; k < r->n_fills; k++)
        for (int i = 0; i < file->graph[0].n_inputs; i++) {
            int v = file->graph[0].input[i];
            if (strcmp(file->value[v].name, r->fill[k].name) == 0)
                TW_TRY(filled(r, &file->value[v].declared, r->fill[k].value, arena, &array[v]));
        }
    *out = array;
    return TW_OK;
}

/* The attribute that holds graph g, NULL for the main graph. */
static const char *held_by(const tw_graph_file *file, int g)
{
    const tw_graph *around = file->graph[g].around < 0 ? NULL : &file->graph[file->graph[g].around];
    for (int n = 0; around && n < around->n_nodes; n++)
        for (int a = 0; a < around->node[n].n_attributes; a++)
            if (around->node[n].attribute[a].kind == TW_ATTR_GRAPH && around->node[n].attribute[a].graph == g)
                return around->node[n].attribute[a].name;
    return NULL;
}

static void print_scope(const tw_graph_file *file, int g)
{
    const char *attribute = held_by(file, g);
    if (!attribute) return;
    print_scope(file, file->graph[g].around);
    printf("%s/", attribute);
}

static void print_value(const tw_shapes *shapes, int v)
{
    const tw_shape_of_value *shape = &shapes->value[v];
    print_scope(shapes->file, shapes->file->value[v].graph);
    printf("%s ", shapes->file->value[v].name);
    if (!shape->known) {
        puts("unknown");
        return;
    }
    printf("%s %s", tw_onnx_type_name(shape->type), shape->n_dims == 0 ? "scalar" : "");
    for (int i = 0; i < shape->n_dims; i++) printf("%s%" PRId64, i ? "x" : "", shape->dim[i]);
    puts("");
}

static tw_status run(const char *path, const request *r, tw_arena *arena, tw_diag *diag)
{
    const tw_graph_file *file;
    TW_TRY(tw_graph_open(path, arena, diag, &file));
    tw_infer_options options = {r->n_dims, r->n_inputs, r->dim, r->input, NULL};
    const tw_shapes *shapes;
    tw_status status = given(r, file, arena, &options.given);
    if (status == TW_OK) status = tw_infer_shapes(file, &options, arena, diag, &shapes);
    for (int v = 0; status == TW_OK && v < file->n_values; v++) print_value(shapes, v);
    tw_graph_close(file);
    return status;
}

int main(int argc, char **argv)
{
    request r = {0};
    for (int i = 2; i < argc; i += 2)
        if (i + 1 == argc || !take_option(&r, argv[i], argv[i + 1])) return fprintf(stderr, "%s?\n", argv[i]), 64;
    tw_arena *arena = tw_arena_new();
    if (argc < 2 || !arena) return 64;
    tw_diag diag = {0};
    tw_status status = run(argv[1], &r, arena, &diag);
    for (int i = 0; i < diag.n_texts; i++) fprintf(stderr, "%s\n", diag.text[i]);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    return status == TW_OK ? 0 : 1;
}
