/* src/plan/network.c - an ONNX file as a graph with its layers: see network.h. */
#include "plan/network.h"

#include "core/deadline.h"
#include "core/table.h"
#include "machine/merge.h"
#include "machine/padding.h"

#include <string.h>

/* ---- reading ---- */

static void close_file(void *file) { tw_graph_close(file); }

static tw_status open_file(tw_context *ctx, const char *path, const tw_graph_file **out)
{
    const char *name = tw_arena_printf(ctx->arena, "%s", path);
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_graph_open(name, ctx->arena, &ctx->diag, out));
    return tw_context_close_later(ctx, close_file, (void *)*out);
}

static tw_status find_input(tw_context *ctx, const tw_graph_file *file, const char *name, int *out)
{
    const tw_graph *main = &file->graph[0];
    for (int i = 0; i < main->n_inputs; i++)
        if (strcmp(file->value[main->input[i]].name, name) == 0) {
            *out = main->input[i];
            return TW_OK;
        }
    return tw_diag_error(&ctx->diag, (tw_loc){file->path, 0, 0}, "there is no input '%s'", name);
}

static tw_status check_dims(tw_context *ctx, const char *input, int n)
{
    if (n >= 0 && n <= TW_ONNX_MAX_DIMS) return TW_OK;
    return tw_diag_error(&ctx->diag, (tw_loc){0}, "input '%s' is given %d dimensions, a tensor has at most %d",
                         input, n, TW_ONNX_MAX_DIMS);
}

static tw_status check_options(tw_context *ctx, const tw_network_options *options)
{
    for (int i = 0; i < options->n_shapes; i++)
        TW_TRY(check_dims(ctx, options->shape[i].input, options->shape[i].n_dims));
    for (int i = 0; i < options->n_data; i++)
        TW_TRY(check_dims(ctx, options->data[i].name, options->data[i].n_dims));
    return TW_OK;
}

/* The size that an option or the file gives a dimension of an input; -1: neither does. */
static int64_t size_of(const tw_network_options *options, const tw_value *value, int d)
{
    for (int i = 0; i < options->n_shapes; i++)
        if (strcmp(options->shape[i].input, value->name) == 0 && d < options->shape[i].n_dims)
            return options->shape[i].dim[d];
    for (int i = 0; value->declared.symbol[d] && i < options->n_dims; i++)
        if (strcmp(options->dim[i].name, value->declared.symbol[d]) == 0) return options->dim[i].size;
    return value->declared.dim[d];
}

static tw_status fill_input(tw_context *ctx, const tw_graph_file *file, const tw_network_options *options,
                            const tw_network_fill *fill, tw_array *given)
{
    enum { MOST = 1 << 26 };
    int index = -1;
    TW_TRY(find_input(ctx, file, fill->input, &index));
    const tw_value *value = &file->value[index];
    int64_t dim[TW_ONNX_MAX_DIMS], n = 1;
    int n_dims = value->declared.n_dims;
    for (int i = 0; i < options->n_shapes; i++)
        if (strcmp(options->shape[i].input, value->name) == 0) n_dims = options->shape[i].n_dims;
    bool known = n_dims >= 0 && value->declared.type != TW_ONNX_NONE && value->declared.type != TW_ONNX_STRING;
    for (int d = 0; known && d < n_dims; d++) {
        dim[d] = size_of(options, value, d);
        known = dim[d] >= 0 && tw_ckd_mul(n, dim[d], &n) && n <= MOST;
    }
    if (!known)
        return tw_diag_error(&ctx->diag, (tw_loc){file->path, 0, 0}, "input '%s' cannot be filled: give its shape",
                             fill->input);
    TW_TRY(tw_array_new(value->declared.type, n_dims, dim, ctx->arena, &given[index]));
    for (int64_t i = 0; i < n; i++) tw_array_set(&given[index], i, fill->value);
    return TW_OK;
}

/* The elements of inputs that are known beforehand, by value. */
static tw_status given_data(tw_context *ctx, const tw_network_options *options, tw_network *net)
{
    tw_array *given;
    bool *derived;
    TW_ALLOC(ctx->arena, given, net->file->n_values + 1);
    TW_ALLOC(ctx->arena, derived, net->file->n_values + 1);
    for (int i = 0; i < options->n_fills; i++)
        TW_TRY(fill_input(ctx, net->file, options, &options->fill[i], given));
    for (int i = 0; i < options->n_data; i++) {
        const tw_network_data *d = &options->data[i];
        int value = -1;
        TW_TRY(find_input(ctx, net->file, d->name, &value));
        given[value] = (tw_array){tw_onnx_type_called(d->type), d->n_dims, {0}, d->n_elems, d->bytes};
        memcpy(given[value].dim, d->dim, (size_t)d->n_dims * sizeof *d->dim);
    }
    TW_TRY(tw_network_derive(ctx, net->file, given, derived));
    net->given = given;
    net->derived = derived;
    return TW_OK;
}

static tw_status infer(tw_context *ctx, const tw_graph_file *file, const tw_network_options *options,
                       const tw_array *given, const tw_shapes **out)
{
    tw_dim_value *dim;
    tw_input_shape *shape;
    tw_infer_options how = {options->n_dims, options->n_shapes, NULL, NULL, given};
    TW_ALLOC(ctx->arena, dim, options->n_dims + 1);
    TW_ALLOC(ctx->arena, shape, options->n_shapes + 1);
    for (int i = 0; i < options->n_dims; i++) dim[i] = (tw_dim_value){options->dim[i].name, options->dim[i].size};
    for (int i = 0; i < options->n_shapes; i++) {
        shape[i] = (tw_input_shape){.name = options->shape[i].input, .n_dims = options->shape[i].n_dims};
        memcpy(shape[i].dim, options->shape[i].dim, (size_t)shape[i].n_dims * sizeof *shape[i].dim);
    }
    how.dim = dim;
    how.input = shape;
    return tw_infer_shapes(file, &how, ctx->arena, &ctx->diag, out);
}

static tw_status find_dtype(tw_context *ctx, const char *name, tw_dtype *out)
{
    *out = TW_N_DTYPES;
    if (!name) return TW_OK;
    for (int d = 0; d < TW_N_DTYPES; d++)
        if (strcmp(tw_dtype_name((tw_dtype)d), name) == 0) *out = (tw_dtype)d;
    if (*out != TW_N_DTYPES) return TW_OK;
    return tw_diag_error(&ctx->diag, (tw_loc){0}, "there is no element type '%s'", name);
}

/* ---- layers ---- */

/* "model/conv1" of "/model/conv1": a name that mapping files and workloads can hold as it is. Of a long one the end tells
 * more. */
static const char *plain_name(tw_arena *arena, const char *name)
{
    enum { MOST = 120 };
    size_t n = strlen(name);
    if (n > MOST) name += n - MOST;
    while (*name == '/') name++;
    char *copy = tw_arena_printf(arena, "%s%s", !*name ? "step" : tw_is_digit(*name) ? "_" : "", name);
    for (char *c = copy; c && *c; c++)
        if (!tw_is_alnum(*c) && !strchr(c == copy ? "_." : "_./-", *c)) *c = '_';
    return copy;
}

/* Cleaned names may have become equal. */
static tw_status name_layer(const char *step, tw_table *taken, tw_arena *arena, const char **out)
{
    const char *plain = plain_name(arena, step);
    bool found = true;
    *out = plain;
    for (int k = 1; *out; k++) {
        if (!tw_table_text(taken, *out, &found)) return TW_ERR_NOMEM;
        if (!found) return TW_OK;
        *out = tw_arena_printf(arena, "%s~%d", plain, k);
    }
    return TW_ERR_NOMEM;
}

static tw_status find_layers(tw_network *net, tw_context *ctx)
{
    const tw_model *graph = &net->lowered->graph, **layer;
    tw_table *taken = tw_table_new(sizeof(int), ctx->scratch);
    if (!taken) return TW_ERR_NOMEM;
    tw_status status = tw_layers_find(graph, ctx->diag.deadline, ctx->arena, ctx->scratch, &net->layers);
    if (status == TW_STOPPED)
        return tw_diag_stopped(&ctx->diag, (tw_loc){net->file->path, 0, 0}, "the search for equal layers");
    TW_TRY(status);
    TW_ALLOC(ctx->arena, layer, net->layers.n + 1);
    for (int i = 0; i < net->layers.n; i++) {
        const char *name;
        int first = net->layers.first[i];
        TW_TRY(name_layer(graph->op[first].name, taken, ctx->arena, &name));
        TW_TRY(tw_model_of_op(graph, first, name, ctx->arena, &layer[i]));
    }
    net->layer = layer;
    return TW_OK;
}

/* All layers side by side. */
static tw_status join_layers(tw_network *net, tw_arena *arena)
{
    tw_model *model;
    tw_op *op;
    tw_tensor *tensor;
    int n = 0;
    for (int i = 0; i < net->layers.n; i++) n += net->layer[i]->n_tensors;
    TW_ALLOC(arena, model, 1);
    TW_ALLOC(arena, op, net->layers.n + 1);
    TW_ALLOC(arena, tensor, n + 1);
    *model = (tw_model){"network", n, tensor, net->layers.n, op, .apart = true};
    n = 0;
    for (int i = 0; i < net->layers.n; i++) {
        const tw_model *one = net->layer[i];
        op[i] = one->op[0];
        for (int t = 0; t < one->n_tensors; t++) {
            op[i].operand[t].tensor = n + t;
            tensor[n + t] = one->tensor[t];
            tensor[n + t].root = n + t;
        }
        n += one->n_tensors;
    }
    net->model = model;
    return TW_OK;
}

/* ---- texts ---- */

static const char *shape_text(const tw_model *graph, const tw_op *step, tw_arena *arena)
{
    int t = tw_op_n_writes(step) > 0 ? tw_op_written(step, 0) : -1;
    if (t < 0 || graph->tensor[t].unshaped) return "?";
    const tw_tensor *tensor = &graph->tensor[t];
    char text[24 * TW_ONNX_MAX_DIMS] = "scalar";
    for (int d = 0, n = 0; d < tensor->n_axes; d++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRId64, d ? "x" : "", tensor->extent[d]);
    return tw_arena_printf(arena, "%s", text);
}

static tw_status write_shapes(tw_network *net, tw_arena *arena)
{
    const tw_model *graph = &net->lowered->graph;
    const char **text;
    TW_ALLOC(arena, text, graph->n_ops + 1);
    for (int s = 0; s < graph->n_ops; s++)
        if (!(text[s] = shape_text(graph, &graph->op[s], arena))) return TW_ERR_NOMEM;
    net->shape_text = text;
    return TW_OK;
}

static bool is_limited(const void *machine, const tw_op *op) { return tw_machine_limits_padding(machine, op); }

static tw_pad_judge pad_judge_of(const tw_machine *machine)
{
    return (tw_pad_judge){is_limited, machine, tw_machine_maps(machine)};
}

tw_status tw_network_read(tw_context *ctx, const char *path, const tw_network_options *options,
                          const tw_network **out)
{
    tw_network *net;
    tw_lower_options how = {.no_fold = options->no_fold, .strict = options->strict};
    TW_ALLOC(ctx->arena, net, 1);
    TW_TRY(check_options(ctx, options));
    TW_TRY(find_dtype(ctx, options->dtype, &how.float_as));
    how.judge = tw_merge_judge_of(options->machine);
    if (options->machine) how.padding = pad_judge_of(options->machine);
    net->executable = !options->dtype;
    TW_TRY(open_file(ctx, path, &net->file));
    TW_TRY(given_data(ctx, options, net));
    TW_TRY(infer(ctx, net->file, options, net->given, &net->shapes));
    TW_TRY(tw_network_ask(net->file, net->shapes, ctx->arena, ctx->scratch, &net->asks));
    TW_TRY(tw_lower_network(net->shapes, &how, ctx->arena, &ctx->diag, &net->lowered));
    TW_TRY(find_layers(net, ctx));
    TW_TRY(join_layers(net, ctx->arena));
    TW_TRY(write_shapes(net, ctx->arena));
    *out = net;
    return TW_OK;
}

/* ---- lifetimes ---- */

static void needs(const tw_model *graph, tw_lifetime *of, int tensor, int step)
{
    if (tensor < 0) return;
    tw_lifetime *l = &of[graph->tensor[tensor].root];
    if (l->last < l->first && l->first > step) l->first = step;
    if (step > l->last) l->last = step;
}

void tw_network_lifetimes(const tw_model *graph, tw_lifetime *of)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        bool input = graph->tensor[t].role == TW_ROLE_INPUT;
        of[t] = input ? (tw_lifetime){-1, -1} : (tw_lifetime){graph->n_ops, -1};
    }
    for (int s = 0; s < graph->n_ops; s++) {
        const tw_op *step = &graph->op[s];
        for (int i = 0; i < tw_op_n_reads(step); i++) needs(graph, of, tw_op_read(step, i), s);
        for (int i = 0; i < tw_op_n_writes(step); i++) needs(graph, of, tw_op_written(step, i), s);
    }
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensor[t].is_output) needs(graph, of, t, graph->n_ops - 1);
}

tw_network_summary tw_network_summary_of(const tw_network *net)
{
    const tw_lowered *lowered = net->lowered;
    tw_network_summary sum = {.path = net->file->path,
                              .producer = net->file->producer,
                              .opset = tw_graph_opset(net->file, ""),
                              .n_nodes = net->file->graph[0].n_nodes,
                              .n_steps = lowered->graph.n_ops,
                              .n_layers = net->layers.n,
                              .n_folded = lowered->n_folds,
                              .n_views = lowered->n_views,
                              .n_constant_nodes = lowered->n_constant_nodes,
                              .n_constants = lowered->n_constants,
                              .constant_bytes = lowered->constant_bytes,
                              .weight_bytes = lowered->weight_bytes};
    for (int s = 0; s < lowered->graph.n_ops; s++) {
        const tw_op *step = &lowered->graph.op[s];
        sum.n_tiled += step->kind == TW_OP_DESCRIBED;
        sum.n_host += step->kind == TW_OP_HOST;
        sum.n_unknown += step->kind == TW_OP_UNKNOWN;
        if (step->kind == TW_OP_DESCRIBED && step->compute == TW_MULTIPLY_ADD) sum.macs += tw_op_points(step);
    }
    return sum;
}
