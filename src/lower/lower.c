/* src/lower/lower.c - the walk over the nodes of a network, see lower.h.
 *
 * A node that is element-wise or has an entry in a table of describers begins a group (fold.c); the group is lowered
 * where its last node stands. What cannot be described goes to the host as it is. */
#include "lower/build.h"

#include <stdlib.h>
#include <string.h>

/* ---- describers ---- */

static const tw_describer *find_describer(const tw_onnx_node *node)
{
    static const tw_describer *const table[] = {tw_window_ops,   tw_matmul_ops, tw_reduce_ops,    tw_norm_ops,
                                                tw_move_ops,     tw_view_ops,   tw_recurrent_ops, tw_quant_ops,
                                                tw_position_ops, tw_select_ops};
    for (size_t t = 0; t < TW_COUNT(table); t++)
        for (const tw_describer *d = table[t]; d->op; d++)
            if (strcmp(d->op, node->op) == 0 && strcmp(d->domain, node->domain) == 0) return d;
    return NULL;
}

/* ---- one node ---- */

static void set_node(tw_lowering *l, int index)
{
    l->index = index;
    l->node = &l->file->graph[l->graph].node[index];
    l->name = l->node->name[0] ? tw_say(l, "%s%s", l->prefix, l->node->name)
                               : tw_say(l, "%s%s_%d", l->prefix, l->node->op, index);
    l->opset = tw_graph_opset(l->file, l->node->domain);
    l->why = NULL;
    l->nest_open = false;
}

/* Why nothing of this shape or type can be described; NULL: it may be. */
static const char *obstacle(const tw_lowering *l, int value, bool output)
{
    if (value < 0) return NULL;
    const tw_shape_of_value *shape = tw_shape_of(l, value);
    if (!shape->known) return "a shape is not known";
    if (!shape->is_tensor) return "not a tensor";
    if (output && shape->n_elems == 0) return "no elements";
    return tw_dtype_of(l, shape->type) == TW_N_DTYPES ? "no numbers" : NULL;
}

static void refuse_obstacles(tw_lowering *l)
{
    for (int i = 0; i < l->node->n_inputs; i++) {
        const char *why = obstacle(l, l->node->input[i], i == 0);
        if (why) tw_refuse(l, why);
    }
    for (int i = 0; i < l->node->n_outputs; i++) {
        const char *why = obstacle(l, l->node->output[i], true);
        if (why) tw_refuse(l, why);
    }
}

/* Takes back what a node that is refused has made. Its tensors are swept up later. */
static void take_back(tw_lowering *l, int n_steps, int n_views)
{
    l->n_steps = n_steps;
    l->n_views = n_views;
    l->nest_open = false;
    for (int i = 0; i < l->node->n_outputs; i++) {
        int t = tw_tensor_of(l, l->node->output[i]);
        if (t < 0 || l->no_memory) continue;
        l->tensor[t].root = t;
        l->tensor[t].offset = 0;
        l->tensor[t].role = TW_ROLE_BETWEEN;
    }
}

/* "Conv+Relu" */
static const char *joined_ops(tw_lowering *l, const int *node, int n)
{
    const tw_graph *graph = &l->file->graph[l->graph];
    const char *text = graph->node[node[0]].op;
    for (int i = 1; i < n; i++) text = tw_say(l, "%s+%s", text, graph->node[node[i]].op);
    return text;
}

static const int *copied(tw_lowering *l, const int *node, int n)
{
    int *copy = TW_NEW(l->arena, int, n);
    if (copy)
        memcpy(copy, node, (size_t)n * sizeof *copy);
    else
        l->no_memory = true;
    return copy;
}

/* Ends the last nest of the nodes; a node that is all views has none. */
static void close_nest(tw_lowering *l, const int *node, int n)
{
    if (tw_refused(l) || !l->nest_open) return;
    const int *list = copied(l, node, n);
    if (list) tw_nest_end(l, joined_ops(l, node, n), n, list);
}

static void record_folds(tw_lowering *l, const tw_node_group *group, int first)
{
    for (int i = first + 1; i < group->n; i++) {
        if (!tw_room_for(l, &l->fold, l->n_folds, &l->fold_room, sizeof *l->fold)) return;
        const tw_onnx_node *node = &l->file->graph[l->graph].node[group->node[i]];
        const char *name = node->name[0] ? node->name : tw_say(l, "%s_%d", node->op, group->node[i]);
        l->fold[l->n_folds++] = (tw_fold_info){name, node->op, l->name};
    }
}

/* ---- groups ---- */

/* Element-wise nodes of a group, from the given one on, as one map; false: it is not possible. */
static bool lower_map(tw_lowering *l, const tw_node_group *group, int first)
{
    int n_steps = l->n_steps, n_views = l->n_views;
    set_node(l, group->node[first]);
    refuse_obstacles(l);
    if (!tw_refused(l)) tw_map_group(l, group, first);
    close_nest(l, &group->node[first], group->n - first);
    if (l->why) take_back(l, n_steps, n_views);
    if (!tw_refused(l)) record_folds(l, group, first);
    return !l->why;
}

static bool lower_chain(tw_lowering *l, void (*lower)(tw_lowering *l))
{
    int n_steps = l->n_steps, n_views = l->n_views, index = l->index;
    l->why = NULL;
    lower(l);
    close_nest(l, &index, 1);
    if (l->why) take_back(l, n_steps, n_views);
    return !l->why;
}

static bool is_variadic(const tw_onnx_node *node)
{
    return strcmp(node->op, "Sum") == 0 || strcmp(node->op, "Mean") == 0 || strcmp(node->op, "Min") == 0 ||
           strcmp(node->op, "Max") == 0;
}

/* One element-wise node by itself, on the host if it must be. */
static void lower_element(tw_lowering *l, int index)
{
    const tw_node_group alone = {.n = 1, .node = {index}, .value = l->file->graph[l->graph].node[index].output[0]};
    if (lower_map(l, &alone, 0)) return;
    const char *why = l->why;
    if (is_variadic(l->node) && lower_chain(l, tw_variadic_chain)) return;
    tw_add_host(l, why);
}

static void lower_elements(tw_lowering *l, const tw_node_group *group, int first)
{
    if (first >= group->n || (group->n - first > 1 && lower_map(l, group, first))) return;
    for (int i = first; i < group->n && !l->no_memory; i++) lower_element(l, group->node[i]);
}

/* The first node of a group by its describer; true: the others are folded into it. */
static bool lower_described(tw_lowering *l, const tw_node_group *group, const tw_describer *describer)
{
    int n_steps = l->n_steps, n_views = l->n_views;
    bool folded = false;
    set_node(l, group->node[0]);
    refuse_obstacles(l);
    if (!tw_refused(l)) describer->lower(l);
    if (!tw_refused(l) && group->n > 1) folded = tw_fold_group(l, group);
    close_nest(l, group->node, folded ? group->n : 1);
    if (l->no_memory) return false;
    if (l->why) take_back(l, n_steps, n_views);
    if (folded && !l->why) record_folds(l, group, 0);
    if (l->why) tw_add_host(l, l->why);
    return folded && !l->why;
}

static void lower_group(tw_lowering *l, const tw_node_group *group)
{
    const tw_onnx_node *first = &l->file->graph[l->graph].node[group->node[0]];
    const tw_describer *describer = find_describer(first);
    if (tw_element_of(l, first))
        lower_elements(l, group, 0);
    else if (!lower_described(l, group, describer))
        lower_elements(l, group, 1);
}

/* ---- graphs ---- */

/* A constant, or a tensor without elements. */
static bool is_there(const tw_lowering *l, int value)
{
    const tw_shape_of_value *shape = tw_shape_of(l, value);
    return l->file->value[value].constant || (shape->constant && tw_is_constant(l, value)) ||
           (shape->known && shape->is_tensor && shape->n_elems == 0);
}

/* Nothing is left to do: the node's outputs are there already, or it has none. */
static bool is_settled(const tw_lowering *l, const tw_onnx_node *node)
{
    for (int i = 0; i < node->n_outputs; i++)
        if (node->output[i] >= 0 && !is_there(l, node->output[i])) return false;
    return true;
}

typedef struct walk {
    bool *taken;                /* nodes that belong to a group                     */
    const tw_node_group **ends; /* per node: the group of several that ends with it */
} walk;

static void begin_group(tw_lowering *l, walk *w, int index, bool element)
{
    tw_node_group group, *kept;
    tw_group_of(l, index, w->taken, element, &group);
    for (int i = 0; i < group.n; i++) w->taken[group.node[i]] = true;
    if (group.n == 1) {
        lower_group(l, &group);
        return;
    }
    if (!(kept = TW_NEW(l->arena, tw_node_group, 1))) {
        l->no_memory = true;
        return;
    }
    *kept = group;
    w->ends[group.node[group.n - 1]] = kept;
}

static void lower_alone(tw_lowering *l, int index)
{
    const tw_describer *describer = find_describer(&l->file->graph[l->graph].node[index]);
    const tw_node_group alone = {.n = 1, .node = {index}};
    if (describer) {
        lower_described(l, &alone, describer);
        return;
    }
    set_node(l, index);
    bool is_if = strcmp(l->node->op, "If") == 0 && !l->node->domain[0];
    if (is_if && tw_lower_if(l)) return;
    refuse_obstacles(l);
    tw_add_host(l, is_if ? "which branch runs depends on data" : l->why ? l->why : "no description");
}

static void lower_node(tw_lowering *l, walk *w, int index)
{
    const tw_onnx_node *node = &l->file->graph[l->graph].node[index];
    if (!l->options->no_fold) l->n_constant_nodes += tw_is_constant_node(l, node);
    if (!w->taken[index] && !is_settled(l, node)) {
        bool element = tw_element_of(l, node) != NULL;
        const tw_describer *describer = element ? NULL : find_describer(node);
        if (element || (describer && describer->folds && node->output[0] >= 0))
            begin_group(l, w, index, element);
        else
            lower_alone(l, index);
    }
    if (w->ends[index]) lower_group(l, w->ends[index]);
}

void tw_lower_graph(tw_lowering *l, int graph, const char *prefix)
{
    int n = l->file->graph[graph].n_nodes, outer = l->graph, index = l->index;
    const char *outer_prefix = l->prefix;
    const bool nested = l->node != NULL;
    walk w = {TW_NEW(l->arena, bool, n + 1), TW_NEW(l->arena, const tw_node_group *, n + 1)};
    if (!w.taken || !w.ends) l->no_memory = true;
    l->graph = graph;
    l->prefix = prefix;
    for (int i = 0; i < n && !l->no_memory; i++) {
        lower_node(l, &w, i);
        tw_lowering_beat(l);
    }
    l->graph = outer;
    l->prefix = outer_prefix;
    if (nested) set_node(l, index);
}

/* ---- the network ---- */

static int by_kind(const void *a, const void *b)
{
    const tw_undescribed *x = a, *y = b;
    int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->why, y->why);
}

static int by_count(const void *a, const void *b)
{
    const tw_undescribed *x = a, *y = b;
    int order = (x->n < y->n) - (x->n > y->n);
    return order ? order : by_kind(a, b);
}

/* HOST and UNKNOWN steps by operator and reason. */
static tw_status count_undescribed(const tw_lowering *l, tw_lowered *out)
{
    tw_undescribed *count;
    TW_ALLOC(l->arena, count, l->n_steps + 1);
    int n = 0, n_kinds = 0;
    for (int s = 0; s < l->n_steps; s++)
        if (l->step[s].kind != TW_OP_DESCRIBED && !l->step[s].from.constant)
            count[n++] = (tw_undescribed){l->step[s].from.what, l->step[s].why, 1};
    qsort(count, (size_t)n, sizeof *count, by_kind);
    for (int i = 0; i < n; i++)
        if (n_kinds > 0 && by_kind(&count[n_kinds - 1], &count[i]) == 0)
            count[n_kinds - 1].n++;
        else
            count[n_kinds++] = count[i];
    qsort(count, (size_t)n_kinds, sizeof *count, by_count);
    out->n_undescribed = n_kinds;
    out->undescribed = count;
    return TW_OK;
}

static tw_status check_strictly(const tw_lowering *l, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int s = 0; s < l->n_steps && l->options->strict; s++) {
        const tw_op *step = &l->step[s];
        if (step->kind == TW_OP_DESCRIBED || step->from.constant) continue;
        const tw_onnx_node *node = &l->file->graph[step->from.graph].node[step->from.node[0]];
        status = tw_diag_error(diag, (tw_loc){.file = l->file->path},
                               "node '%s' (%s) at byte %" PRId64 " is not described: %s", step->name,
                               step->from.what, node->offset, step->why);
    }
    return status;
}

/* Inputs come first, outputs are marked. */
static void mark_ends(tw_lowering *l, bool outputs)
{
    const tw_graph *main = &l->file->graph[0];
    const int *value = outputs ? main->output : main->input;
    for (int i = 0; i < (outputs ? main->n_outputs : main->n_inputs); i++) {
        int t = tw_tensor_of(l, value[i]);
        if (t >= 0 && outputs && !l->no_memory) l->tensor[t].is_output = true;
    }
}

/* The steps of the network, or those that make its constants, in their order. */
static tw_status pick_steps(const tw_lowering *l, bool constant, const char *name, tw_model *out)
{
    tw_op *op;
    int n = 0;
    for (int s = 0; s < l->n_steps; s++) n += l->step[s].from.constant == constant;
    TW_ALLOC(l->arena, op, n + 1);
    *out = (tw_model){name, l->n_tensors, l->tensor, 0, op};
    for (int s = 0; s < l->n_steps; s++)
        if (l->step[s].from.constant == constant) op[out->n_ops++] = l->step[s];
    return TW_OK;
}

static tw_status hand_over(tw_lowering *l, tw_diag *diag, const tw_lowered **out)
{
    tw_lowered *lowered;
    TW_TRY(tw_constants_set_apart(l));
    TW_TRY(tw_tidy(l));
    TW_TRY(check_strictly(l, diag));
    TW_ALLOC(l->arena, lowered, 1);
    *lowered = (tw_lowered){.shapes = l->shapes,
                            .source = l->source,
                            .n_folds = l->n_folds,
                            .n_views = l->n_views,
                            .fold = l->fold,
                            .tensor_of_value = l->tensor_of_value,
                            .n_constant_nodes = l->n_constant_nodes,
                            .n_too_large = l->n_too_large,
                            .too_large = l->too_large};
    TW_TRY(pick_steps(l, false, "network", &lowered->graph));
    TW_TRY(pick_steps(l, true, "constants", &lowered->constants));
    TW_TRY(tw_constants_count(l, lowered));
    TW_TRY(count_undescribed(l, lowered));
    *out = lowered;
    return TW_OK;
}

/* Nothing more could be made. */
static tw_status why_not(const tw_lowering *l, tw_diag *diag)
{
    tw_loc loc = {l->file->path, 0, 0};
    if (l->stopped) return tw_diag_stopped(diag, loc, "the lowering of the network");
    if (l->too_many) return tw_diag_error(diag, loc, "the network has more than %d steps", TW_LOWER_MAX_STEPS);
    return TW_ERR_NOMEM;
}

tw_status tw_lower_network(const tw_shapes *shapes, const tw_lower_options *options, tw_arena *arena, tw_diag *diag,
                           const tw_lowered **out)
{
    tw_lowering *l;
    TW_ALLOC(arena, l, 1);
    *l = (tw_lowering){.shapes = shapes,
                       .file = shapes->file,
                       .options = options,
                       .arena = arena,
                       .prefix = "",
                       .pulse = {.deadline = diag->deadline}};
    TW_ALLOC(arena, l->tensor_of_value, l->file->n_values + 1);
    for (int v = 0; v < l->file->n_values; v++) l->tensor_of_value[v] = -1;
    TW_TRY(tw_readers_build(l->file, arena, &l->readers));
    TW_TRY(tw_constants_find(l));
    mark_ends(l, false);
    tw_lower_graph(l, 0, "");
    mark_ends(l, true);
    return l->no_memory ? why_not(l, diag) : hand_over(l, diag, out);
}
