/* src/plan/network_join.c - see network_join.h. */
#include "plan/network_join.h"

#include "core/deadline.h"
#include "model/unmerge.h"
#include "plan/fused.h"

#include <string.h>

enum { MOST_STEPS = TW_MAX_GROUPS }; /* so that groups of one operator each are not too many */

/* ---- which steps ---- */

static int root_of(const tw_model *graph, int tensor) { return graph->tensor[tensor].root; }

/* Whether operands are whole tensors, whose rows lie one behind the other. */
static bool sees_whole_tensors(const tw_op *op)
{
    for (int o = 0; o < op->n_operands; o++)
        if (op->operand[o].rows.count > 0 || op->operand[o].scattered > 0) return false;
    return true;
}

static bool writes(const tw_model *graph, const tw_op *op, int root)
{
    for (int i = 0; i < tw_op_n_writes(op); i++)
        if (tw_op_written(op, i) >= 0 && root_of(graph, tw_op_written(op, i)) == root) return true;
    return false;
}

/* Whether the step alone makes its tensor, all of it. */
static bool makes_whole(const tw_model *graph, int step)
{
    const tw_op *op = &graph->op[step];
    int tensor = op->operand[tw_op_output(op)].tensor;
    if (root_of(graph, tensor) != tensor) return false;
    for (int i = 0; i < graph->n_ops; i++)
        if (i != step && writes(graph, &graph->op[i], tensor)) return false;
    return true;
}

static bool can_join(const tw_network_plan *plan, int step)
{
    const tw_network *net = plan->network;
    const tw_op *op = &net->lowered->graph.op[step];
    return op->kind == TW_OP_DESCRIBED && !op->from.in_branch && op->from.plain &&
           plan->plan[net->layers.of[step]] && sees_whole_tensors(op) && sees_whole_tensors(op->from.plain) &&
           makes_whole(&net->lowered->graph, step);
}

/* Whether the engine holds something for the step that one of steps [first, step) makes: it has to be there before. */
static bool holds_what_is_made(const tw_model *graph, int first, int step)
{
    const tw_op *op = &graph->op[step];
    for (int h = 0; h < op->n_held; h++)
        for (int i = first; i < step; i++)
            if (op->held[h].tensor >= 0 && writes(graph, &graph->op[i], root_of(graph, op->held[h].tensor)))
                return true;
    return false;
}

tw_stretch tw_stretch_from(const tw_network_plan *plan, int first)
{
    const tw_model *graph = &plan->network->lowered->graph;
    tw_stretch s = {.first = first};
    while (first + s.n < graph->n_ops && s.n < MOST_STEPS && can_join(plan, first + s.n) &&
           !holds_what_is_made(graph, first, first + s.n))
        s.n++;
    return s;
}

/* ---- its tensors ---- */

typedef struct table {
    const tw_model *graph;
    tw_arena *arena;
    int n, n_roots, room;
    tw_tensor *tensor;
    int *graph_of;
    int *root; /* per tensor of the graph: 1 + the root here; 0: none yet */
} table;

/* Without axes of one element; flat where that is too many. */
static void set_shape(const tw_tensor *from, tw_tensor *to)
{
    to->n_axes = 0;
    for (int a = 0; a < from->n_axes; a++)
        if (from->extent[a] > 1 && to->n_axes <= TW_MAX_AXES) to->extent[to->n_axes++] = from->extent[a];
    if (to->n_axes == 0) to->extent[to->n_axes++] = 1;
    if (to->n_axes <= TW_MAX_AXES) return;
    to->n_axes = 1;
    to->extent[0] = tw_tensor_elems(from);
}

static int add_root(table *t, int graph_root)
{
    if (t->root[graph_root] > 0) return t->root[graph_root] - 1;
    tw_tensor *own = &t->tensor[t->n];
    *own = t->graph->tensor[graph_root];
    own->root = t->n;
    own->offset = 0;
    own->is_output = false;
    if (own->role == TW_ROLE_BETWEEN) own->role = TW_ROLE_INPUT; /* unless it is made here */
    set_shape(&t->graph->tensor[graph_root], own);
    t->graph_of[t->n] = graph_root;
    t->root[graph_root] = t->n + 1;
    return t->n++;
}

static bool has_shape(const tw_tensor *tensor, const tw_operand *operand)
{
    bool same = tensor->n_axes == operand->n_axes;
    for (int a = 0; a < operand->n_axes && same; a++) same = tensor->extent[a] == operand->axis[a].extent;
    return same;
}

/* The tensor of the operand in the shape in which it sees it. */
static tw_status see(table *t, tw_operand *operand)
{
    const tw_tensor *from = &t->graph->tensor[operand->tensor];
    int root = add_root(t, from->root), n_views = 0;
    for (int i = 0; i < t->n; i++) {
        const tw_tensor *own = &t->tensor[i];
        if (own->root != root) continue;
        if (own->offset == from->offset && has_shape(own, operand)) {
            operand->tensor = i;
            return TW_OK;
        }
        n_views++;
    }
    tw_tensor *view = &t->tensor[t->n];
    *view = t->tensor[root];
    view->name = tw_arena_printf(t->arena, "%s~%d", view->name, n_views);
    view->offset = from->offset;
    view->n_axes = operand->n_axes;
    for (int a = 0; a < operand->n_axes; a++) view->extent[a] = operand->axis[a].extent;
    view->bytes = tw_operand_elems(operand) * tw_dtype_bytes(view->dtype);
    t->graph_of[t->n] = operand->tensor;
    operand->tensor = t->n++;
    return view->name ? TW_OK : TW_ERR_NOMEM;
}

static tw_status copy_op(table *t, const tw_op *from, const char *name, tw_op *to)
{
    *to = *from;
    to->name = name;
    to->from = (tw_op_origin){0};
    for (int h = 0; h < to->n_held; h++) to->held[h].tensor = -1;
    for (int o = 0; o < to->n_operands; o++) TW_TRY(see(t, &to->operand[o]));
    return TW_OK;
}

/* What steps outside of the stretch read of it, and what the network asks for, is an output of it. */
static void mark_ends(table *t, const tw_stretch *s)
{
    const tw_model *graph = t->graph;
    for (int g = 0; g < graph->n_tensors; g++)
        if (graph->tensor[g].is_output && t->root[root_of(graph, g)] > 0)
            t->tensor[t->root[root_of(graph, g)] - 1].is_output = true;
    for (int i = 0; i < graph->n_ops; i++) {
        const tw_op *op = &graph->op[i];
        bool inside = i >= s->first && i < s->first + s->n;
        int made = inside ? t->root[op->operand[tw_op_output(op)].tensor] : 0;
        if (made > 0) t->tensor[made - 1].role = TW_ROLE_BETWEEN;
        for (int r = 0; r < tw_op_n_reads(op) && !inside; r++) {
            int root = tw_op_read(op, r) >= 0 ? t->root[root_of(graph, tw_op_read(op, r))] : 0;
            if (root > 0) t->tensor[root - 1].is_output = true;
        }
    }
    for (int i = 0; i < t->n; i++) {
        tw_tensor *root = &t->tensor[t->tensor[i].root];
        root->is_output &= root->role == TW_ROLE_BETWEEN;
        t->tensor[i].role = root->role;
        t->tensor[i].is_output = root->is_output;
    }
}

tw_status tw_stretch_build(const tw_network *net, tw_arena *arena, tw_stretch *s)
{
    const tw_model *graph = &net->lowered->graph;
    table t = {.graph = graph, .arena = arena, .room = s->n * TW_MAX_OPERANDS * 3 + 1};
    tw_op *op, *alone;
    TW_ALLOC(arena, t.tensor, t.room);
    TW_ALLOC(arena, t.graph_of, t.room);
    TW_ALLOC(arena, t.root, graph->n_tensors + 1);
    TW_ALLOC(arena, op, s->n);
    TW_ALLOC(arena, alone, s->n);
    for (int i = 0; i < s->n; i++) {
        const tw_op *step = &graph->op[s->first + i];
        tw_op plain = *step->from.plain;
        if (!tw_op_unmerge(&plain, graph, arena)) return TW_ERR_NOMEM;
        TW_TRY(copy_op(&t, &plain, step->name, &op[i]));
        TW_TRY(copy_op(&t, step, step->name, &alone[i]));
    }
    mark_ends(&t, s);
    s->model = (tw_model){"network", t.n, t.tensor, s->n, op};
    s->alone = alone;
    s->graph_of = t.graph_of;
    return TW_OK;
}

/* ---- its plan ---- */

/* What its steps take one after the other. */
static tw_summary sum_of(const tw_network_plan *plan, const tw_stretch *s)
{
    tw_summary sum = {0};
    for (int i = s->first; i < s->first + s->n; i++) {
        const tw_summary *one = &plan->plan[plan->network->layers.of[i]]->sum;
        sum.cycles += one->cycles;
        sum.energy_fj += one->energy_fj;
        sum.macs += one->macs;
    }
    return sum;
}

static tw_status plan_stretch(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                              const tw_stretch *s, const tw_plan **out)
{
    tw_mapping mapping;
    tw_op_map *map;
    const tw_request asked = {&s->model, plan->machine, options, NULL, NULL};
    *out = NULL;
    if (!tw_fused_is_asked(&asked)) return TW_OK;
    TW_ALLOC(work->arena, map, s->n);
    for (int i = 0; i < s->n; i++) map[i] = plan->plan[plan->network->layers.of[s->first + i]]->mapping->op[0];
    mapping = (tw_mapping){s->n, map};
    const tw_plan apart = {
        .model = &s->model, .machine = plan->machine, .mapping = &mapping, .sum = sum_of(plan, s)};
    TW_TRY(tw_fused_find(&asked, &apart, s->alone, work, out));
    if (*out == &apart) *out = NULL;
    return TW_OK;
}

/* The stretch that begins with a step, or the step alone. */
static tw_status add_part(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                          int first, tw_network_part *part, tw_stretch *s)
{
    *s = tw_stretch_from(plan, first);
    *part = (tw_network_part){.first_step = first, .n_steps = (int)tw_max(1, s->n)};
    if (s->n < 2 || tw_deadline_is_over(work->diag->deadline)) return TW_OK;
    TW_TRY(tw_stretch_build(plan->network, work->arena, s));
    return plan_stretch(plan, options, work, s, &part->plan);
}

tw_status tw_network_join(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                          tw_network_plan *out)
{
    int n_steps = plan->network->lowered->graph.n_ops, n = 0;
    tw_network_part *part;
    tw_stretch *stretch;
    TW_ALLOC(work->arena, part, n_steps + 1);
    TW_ALLOC(work->arena, stretch, n_steps + 1);
    for (int s = 0; s < n_steps; n++) {
        TW_TRY(add_part(plan, options, work, s, &part[n], &stretch[n]));
        s += part[n].n_steps;
    }
    out->n_parts = n;
    out->part = part;
    out->stretch = stretch;
    return TW_OK;
}
