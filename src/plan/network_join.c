/* src/plan/network_join.c - see network_join.h. */
#include "plan/network_join.h"

#include "core/deadline.h"
#include "model/unmerge.h"
#include "plan/ends.h"
#include "plan/fused.h"
#include "plan/network_again.h"
#include "plan/network_mapping.h"
#include "plan/off_chip.h"
#include "plan/several.h"

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

/* How many steps write each root tensor, or parts of it. */
static tw_status count_writers(const tw_model *graph, tw_arena *arena, int **out)
{
    TW_ALLOC(arena, *out, graph->n_tensors + 1);
    for (int i = 0; i < graph->n_ops; i++)
        for (int w = 0; w < tw_op_n_writes(&graph->op[i]); w++) {
            int tensor = tw_op_written(&graph->op[i], w);
            if (tensor >= 0) (*out)[root_of(graph, tensor)]++;
        }
    return TW_OK;
}

/* Whether the step alone makes its tensor, all of it. */
static bool makes_whole(const tw_model *graph, int step, const int *n_writers)
{
    const tw_op *op = &graph->op[step];
    int tensor = op->operand[tw_op_output(op)].tensor;
    return root_of(graph, tensor) == tensor && n_writers[tensor] == 1;
}

/* Whether the first core, which runs layers, has no room for the step, and there are others that may. */
static bool has_no_room(const tw_network_plan *plan, int step)
{
    const tw_platform *platform = plan->machine->platform;
    return plan->plan && platform && platform->n_cores > 1 && !plan->plan[plan->network->layers.of[step]];
}

/* Whether the step by itself has no plan: layers have none on such a machine, or the engine that runs layers leaves the step to
 * another one. It goes into a program. */
static bool needs_groups(const tw_network_plan *plan, int step)
{
    const tw_machine *machine = plan->machine;
    const tw_op *op = &plan->network->lowered->graph.op[step];
    const char *ignored;
    tw_loc loc;
    return machine->platform && tw_platform_find_computing(machine->platform, op) >= 0 &&
           (tw_platform_needs_groups(machine->platform, &ignored, &loc) || !tw_machine_computes(machine, op) ||
            has_no_room(plan, step));
}

static bool can_join(const tw_network_plan *plan, int step, const int *n_writers)
{
    const tw_network *net = plan->network;
    const tw_op *op = &net->lowered->graph.op[step];
    return op->kind == TW_OP_DESCRIBED && !op->from.in_branch && op->from.plain &&
           ((plan->plan && plan->plan[net->layers.of[step]]) ||
            (!plan->plan && plan->machine->platform &&
             tw_platform_find_computing(plan->machine->platform, op) >= 0) ||
            needs_groups(plan, step)) &&
           sees_whole_tensors(op) && sees_whole_tensors(op->from.plain) &&
           makes_whole(&net->lowered->graph, step, n_writers);
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

static tw_stretch stretch_from(const tw_network_plan *plan, int first, const int *n_writers)
{
    const tw_model *graph = &plan->network->lowered->graph;
    tw_stretch s = {.first = first};
    while (first + s.n < graph->n_ops && s.n < MOST_STEPS && can_join(plan, first + s.n, n_writers) &&
           !holds_what_is_made(graph, first, first + s.n))
        s.n++;
    return s;
}

tw_status tw_stretch_from(const tw_network_plan *plan, int first, const tw_work *work, tw_stretch *out)
{
    int *n_writers;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    TW_TRY(count_writers(&plan->network->lowered->graph, work->scratch, &n_writers));
    *out = stretch_from(plan, first, n_writers);
    tw_arena_rewind(work->scratch, mark);
    return TW_OK;
}

/* ---- its tensors ---- */

typedef struct table {
    const tw_model *graph;
    tw_arena *arena;
    int n, room;
    tw_tensor *tensor;
    tw_table *names; /* that are taken */
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

static tw_status add_root(table *t, int graph_root, int *out)
{
    *out = t->root[graph_root] - 1;
    if (t->root[graph_root] > 0) return TW_OK;
    tw_tensor *own = &t->tensor[t->n];
    *own = t->graph->tensor[graph_root];
    TW_TRY(tw_label_of(own->name, t->names, t->arena, &own->name));
    own->root = t->n;
    own->offset = 0;
    own->is_output = false;
    if (own->role == TW_ROLE_BETWEEN) own->role = TW_ROLE_INPUT; /* unless it is made here */
    set_shape(&t->graph->tensor[graph_root], own);
    t->graph_of[t->n] = graph_root;
    t->root[graph_root] = t->n + 1;
    *out = t->n++;
    return TW_OK;
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
    int root;
    TW_TRY(add_root(t, from->root, &root));
    for (int i = 0; i < t->n; i++) {
        const tw_tensor *own = &t->tensor[i];
        if (own->root != root || own->offset != from->offset || !has_shape(own, operand)) continue;
        operand->tensor = i;
        return TW_OK;
    }
    tw_tensor *view = &t->tensor[t->n];
    *view = t->tensor[root];
    TW_TRY(tw_label_of(view->name, t->names, t->arena, &view->name));
    view->offset = from->offset;
    view->n_axes = operand->n_axes;
    for (int a = 0; a < operand->n_axes; a++) view->extent[a] = operand->axis[a].extent;
    view->bytes = tw_operand_elems(operand) * tw_dtype_bytes(view->dtype);
    t->graph_of[t->n] = operand->tensor;
    operand->tensor = t->n++;
    return TW_OK;
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

/* Steps of a chain that stands for one node (a softmax: maximum, powers, sum, quotients) hand on tensors that the file does not know, in
 * whatever shape they were described. They get the axes in which the first and the last step of the chain see them, so that those between do, too. */
static tw_status shape_chains(const tw_stretch *s, const tw_model *graph, tw_arena *scratch, const tw_model **out)
{
    enum { MOST_PASSES = 4 };
    tw_tensor *tensor;
    tw_model *model;
    bool *inside;
    TW_ALLOC(scratch, tensor, graph->n_tensors);
    TW_ALLOC(scratch, model, 1);
    TW_ALLOC(scratch, inside, graph->n_tensors);
    memcpy(tensor, graph->tensor, (size_t)graph->n_tensors * sizeof *tensor);
    *model = *graph;
    model->tensor = tensor;
    *out = model;
    for (int i = s->first; i < s->first + s->n; i++) {
        int made = graph->op[i].operand[tw_op_output(&graph->op[i])].tensor;
        inside[made] = graph->op[i].from.n_nodes == 0 && tensor[made].root == made && !tensor[made].is_output;
    }
    for (int pass = 0, more = 1; pass < MOST_PASSES && more; pass++) {
        more = 0;
        for (int i = s->first; i < s->first + s->n; i++) {
            tw_op plain = *graph->op[i].from.plain;
            if (!tw_op_unmerge(&plain, model, scratch)) return TW_ERR_NOMEM;
            for (int o = 0; o < plain.n_operands; o++)
                if (inside[plain.operand[o].tensor] && plain.operand[o].rows.count == 0)
                    more += tw_tensor_refine(&tensor[plain.operand[o].tensor], &plain.operand[o]);
        }
    }
    return TW_OK;
}

static tw_status build_stretch(const tw_network *net, const tw_work *work, tw_stretch *s)
{
    const tw_model *graph = &net->lowered->graph;
    tw_arena *arena = work->arena;
    table t = {.graph = graph, .arena = arena, .room = s->n * TW_MAX_OPERANDS * 3 + 1};
    tw_op *op, *alone;
    if (!(t.names = tw_table_new(sizeof(int), work->scratch))) return TW_ERR_NOMEM;
    const char *slash = strrchr(net->file->path, '/'), *name;
    TW_TRY(tw_label_of(slash ? slash + 1 : net->file->path, t.names, arena, &name));
    TW_ALLOC(arena, t.tensor, t.room);
    TW_ALLOC(arena, t.graph_of, t.room);
    TW_ALLOC(work->scratch, t.root, graph->n_tensors + 1);
    TW_ALLOC(arena, op, s->n);
    TW_ALLOC(arena, alone, s->n);
    const tw_model *shaped;
    TW_TRY(shape_chains(s, graph, work->scratch, &shaped));
    for (int i = 0; i < s->n; i++) {
        const tw_op *step = &graph->op[s->first + i];
        tw_op plain = *step->from.plain;
        if (!tw_op_unmerge(&plain, shaped, arena)) return TW_ERR_NOMEM;
        TW_TRY(copy_op(&t, &plain, net->label[s->first + i], &op[i]));
        TW_TRY(copy_op(&t, step, net->label[s->first + i], &alone[i]));
    }
    mark_ends(&t, s);
    s->model = (tw_model){name, t.n, t.tensor, s->n, op, .has_masks = true};
    s->alone = alone;
    s->graph_of = t.graph_of;
    return TW_OK;
}

tw_status tw_stretch_build(const tw_network *net, const tw_work *work, tw_stretch *s)
{
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = build_stretch(net, work, s);
    tw_arena_rewind(work->scratch, mark);
    return status;
}

/* ---- its plan ---- */

/* Whether all its steps have plans of their own. */
static bool has_layers(const tw_network_plan *plan, const tw_stretch *s)
{
    if (!plan->plan) return false;
    for (int i = s->first; i < s->first + s->n; i++)
        if (!plan->plan[plan->network->layers.of[i]]) return false;
    return true;
}

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

/* What its steps move over the links of the outermost memory. */
static int64_t off_chip_of(const tw_network_plan *plan, const tw_stretch *s)
{
    int64_t sum = 0;
    for (int i = s->first; i < s->first + s->n; i++)
        sum += tw_off_chip_of_op(plan->plan[plan->network->layers.of[i]], 0);
    return sum;
}

/* What each step takes by its layer, as operators of a plan. */
static tw_status each_of(const tw_network_plan *plan, const tw_stretch *s, tw_arena *arena, tw_op_plan **out)
{
    TW_ALLOC(arena, *out, s->n + 1);
    for (int i = 0; i < s->n; i++) (*out)[i].timeline.sum = plan->plan[plan->network->layers.of[s->first + i]]->sum;
    return TW_OK;
}

/* Compared with the layers, where these have plans. */
static tw_status plan_on_cores(const tw_network_plan *plan, const tw_request *asked, const tw_stretch *s,
                               const tw_work *work, const tw_plan **out)
{
    bool layers = has_layers(plan, s);
    tw_plan apart = {.model = asked->model, .machine = plan->machine};
    if (layers) apart.sum = sum_of(plan, s);
    tw_status status =
        tw_groups_find(asked, layers ? &apart : NULL, layers ? off_chip_of(plan, s) : 0, NULL, work, out);
    if (status == TW_INFEASIBLE || *out == &apart) *out = NULL;
    return status == TW_INFEASIBLE ? TW_OK : status;
}

static tw_status plan_stretch(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                              const tw_stretch *s, const tw_plan **out)
{
    tw_mapping mapping;
    tw_op_map *map;
    const tw_request asked = {&s->model, plan->machine, options, NULL, NULL};
    *out = NULL;
    if (tw_several_is_asked(&asked)) return plan_on_cores(plan, &asked, s, work, out);
    if (!tw_fused_is_asked(&asked)) return TW_OK;
    TW_ALLOC(work->arena, map, s->n);
    for (int i = 0; i < s->n; i++) map[i] = plan->plan[plan->network->layers.of[s->first + i]]->mapping->op[0];
    mapping = (tw_mapping){s->n, map};
    tw_op_plan *each;
    TW_TRY(each_of(plan, s, work->scratch, &each));
    const tw_plan apart = {
        .model = &s->model, .machine = plan->machine, .mapping = &mapping, .op = each, .sum = sum_of(plan, s)};
    TW_TRY(tw_groups_find(&asked, &apart, off_chip_of(plan, s), s->alone, work, out));
    if (*out == &apart) *out = NULL;
    return TW_OK;
}

/* The options of the stretch: groups that are given are those of its steps. */
static tw_status options_of(const tw_network_plan *plan, const tw_search_options *options, const tw_stretch *s,
                            const tw_work *work, tw_limits *limits, tw_search_options *out)
{
    *out = *options;
    if (!options->limits || !options->limits->programs) return TW_OK;
    TW_TRY(tw_program_limits_of(plan, s, options->limits->programs, work, limits));
    out->limits = limits->groups.n_groups > 0 ? limits : NULL;
    return TW_OK;
}

/* The parts so far. */
typedef struct parts {
    tw_network_part *part;
    tw_stretch *stretch;
    tw_table *planned; /* by what counts: 1 + the number of a part */
    int n;
} parts;

/* The plan of an equal stretch before it, or a new one. */
static tw_status plan_once(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                           parts *all)
{
    const tw_stretch *s = &all->stretch[all->n];
    tw_text text = {0};
    bool known;
    tw_status status = tw_stretch_print(s, work->scratch, &text);
    int *like = status == TW_OK ? tw_table_text(all->planned, text.bytes, &known) : NULL;
    tw_text_release(&text);
    TW_TRY(status);
    if (!like) return TW_ERR_NOMEM;
    const tw_plan **out = &all->part[all->n].plan;
    if (*like > 0 && !options->limits) {
        const tw_plan *found = all->part[*like - 1].plan;
        return found ? tw_stretch_again(&all->stretch[*like - 1], found, s, work, out) : TW_OK;
    }
    TW_TRY(plan_stretch(plan, options, work, s, out));
    if (!options->limits && !tw_deadline_is_over(work->diag->deadline)) *like = all->n + 1;
    return TW_OK;
}

/* The stretch that begins with a step, or the step alone. */
static tw_status add_part(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                          parts *all)
{
    tw_network_part *part = &all->part[all->n];
    tw_stretch *s = &all->stretch[all->n];
    *part = (tw_network_part){.first_step = s->first, .n_steps = (int)tw_max(1, s->n)};
    bool given = tw_limits_have_groups(options->limits);
    bool alone = s->n == 1 && needs_groups(plan, s->first);
    if (s->n < (alone || given ? 1 : 2)) return TW_OK;
    if (tw_deadline_is_over(work->diag->deadline) && !given) return TW_OK;
    tw_search_options own;
    tw_limits limits;
    TW_TRY(tw_stretch_build(plan->network, work, s));
    TW_TRY(options_of(plan, options, s, work, &limits, &own));
    return plan_once(plan, &own, work, all);
}

/* Steps for which the first core has no room may have none on any other: then what stands before the first of these is a stretch, and so is that step alone. */
static tw_status add_shorter(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                             parts *all)
{
    tw_stretch *s = &all->stretch[all->n];
    while (!all->part[all->n].plan && s->n > 1) {
        int at = 0;
        while (at < s->n && !has_no_room(plan, s->first + at)) at++;
        if (at == s->n) break;
        *s = (tw_stretch){.first = s->first, .n = (int)tw_max(1, at)};
        TW_TRY(add_part(plan, options, work, all));
    }
    return TW_OK;
}

tw_status tw_network_join(const tw_network_plan *plan, const tw_search_options *options, const tw_work *work,
                          tw_network_plan *out)
{
    const tw_model *graph = &plan->network->lowered->graph;
    int n_steps = graph->n_ops, *n_writers;
    bool joins = options->groups && n_steps <= TW_JOIN_MAX_STEPS;
    parts all = {0};
    TW_ALLOC(work->arena, all.part, n_steps + 1);
    TW_ALLOC(work->arena, all.stretch, n_steps + 1);
    TW_TRY(count_writers(graph, work->arena, &n_writers));
    if (!(all.planned = tw_table_new(sizeof(int), work->arena))) return TW_ERR_NOMEM;
    for (int s = 0; s < n_steps; all.n++) {
        all.stretch[all.n] = joins ? stretch_from(plan, s, n_writers) : (tw_stretch){.first = s};
        TW_TRY(add_part(plan, options, work, &all));
        TW_TRY(add_shorter(plan, options, work, &all));
        s += all.part[all.n].n_steps;
    }
    out->n_parts = all.n;
    out->part = all.part;
    out->stretch = all.stretch;
    bool given = options->limits && options->limits->programs;
    return given ? tw_program_limits_met(out, options->limits->programs, work->diag) : TW_OK;
}

/* What groups that are given are compared with. */
static tw_status compare(const tw_network_plan *plan, const tw_program_map *given, const tw_work *work,
                         tw_joint_search *out)
{
    static const tw_search_options options = {.groups = true};
    const tw_request asked = {&given->stretch.model, plan->machine, &options, NULL, NULL};
    *out = (tw_joint_search){.given = true, .measure = TW_CYCLES};
    if (has_layers(plan, &given->stretch)) {
        tw_summary *each;
        TW_ALLOC(work->arena, each, given->stretch.n + 1);
        for (int i = 0; i < given->stretch.n; i++)
            each[i] = plan->plan[plan->network->layers.of[given->stretch.first + i]]->sum;
        out->apart_op = each;
        out->apart = sum_of(plan, &given->stretch);
    }
    return tw_several_is_asked(&asked) ? tw_several_bound(&asked, work->scratch, out)
                                       : tw_fused_bound(&asked, work->scratch, out);
}

static tw_status add_given(const tw_network_plan *plan, const tw_program_map *given, const tw_work *work,
                           tw_network_part *part, tw_stretch *s)
{
    tw_joint_search *search;
    *s = given->stretch;
    *part = (tw_network_part){.first_step = s->first, .n_steps = s->n};
    TW_ALLOC(work->arena, search, 1);
    if (!given->said) TW_TRY(compare(plan, given, work, search));
    const tw_joint_search *said = given->said ? given->said : search;
    TW_TRY(tw_plan_build_joint(given->model, plan->machine, &given->mapping, said, work, &part->plan));
    return tw_joint_with_ends(part->plan, work, &part->plan);
}

tw_status tw_network_join_given(const tw_network_plan *plan, const tw_network_mapping *given, const tw_work *work,
                                tw_network_plan *out)
{
    int n_steps = plan->network->lowered->graph.n_ops, n = 0, next = 0;
    tw_network_part *part;
    tw_stretch *stretch;
    TW_ALLOC(work->arena, part, n_steps + 1);
    TW_ALLOC(work->arena, stretch, n_steps + 1);
    for (int s = 0; s < n_steps; n++) {
        stretch[n] = (tw_stretch){.first = s};
        part[n] = (tw_network_part){.first_step = s, .n_steps = 1};
        if (next < given->n_programs && given->program[next].stretch.first == s)
            TW_TRY(add_given(plan, &given->program[next++], work, &part[n], &stretch[n]));
        s += part[n].n_steps;
    }
    out->n_parts = n;
    out->part = part;
    out->stretch = stretch;
    return TW_OK;
}
