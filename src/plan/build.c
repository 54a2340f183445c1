/* src/plan/build.c - a mapping to a plan, see plan.h.
 *
 *     mapping (read, or found by search) -> programs with their layouts -> timelines -> addresses of each group
 *
 * Every stage takes the finished values before it as const and makes one new value. */
#include "machine/platform.h"
#include "mapping/fusion.h"
#include "place/layout.h"
#include "plan/describe.h"
#include "plan/evaluate.h"
#include "plan/placing.h"
#include "tile/traffic.h"

/* Operators run one after the other; false when the total leaves 64 bits. */
static bool add_sum(tw_summary *to, const tw_summary *from)
{
    return tw_ckd_add(to->ticks, from->ticks, &to->ticks) && tw_ckd_add(to->cycles, from->cycles, &to->cycles) &&
           tw_ckd_add(to->execs, from->execs, &to->execs) && tw_ckd_add(to->macs, from->macs, &to->macs) &&
           tw_ckd_add(to->instructions, from->instructions, &to->instructions) &&
           tw_ckd_add(to->energy_fj, from->energy_fj, &to->energy_fj);
}

/* The operator's own view of the machine has less of a memory where others of its group take their part. */
static void describe_memories(tw_op_plan *op, const tw_machine *machine)
{
    for (int m = 0; m < machine->n_memories; m++)
        op->memory[m] = (tw_memory_use){machine->memory[m].name, machine->memory[m].size,
                                        op->program.layout.used[m], op->timeline.peak_live[m]};
}

/* The names of the operands that share a pool. The simulator only counts them. */
static tw_status name_pools(tw_op_plan *op, tw_arena *arena)
{
    const tw_program *p = &op->program;
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            tw_pool_use *use = &op->timeline.pool[m][o];
            const char **name;
            int n = 0;
            if (use->n_operands == 0) continue;
            TW_ALLOC(arena, name, use->n_operands);
            for (int k = 0; k < p->op->n_operands; k++)
                if (p->stop[m][k].here && p->stop[m][k].pool == o) name[n++] = p->op->operand[k].name;
            use->operand = name;
        }
    return TW_OK;
}

/* Operand o between memory m and the one outside it. */
static tw_link_use describe_link(const tw_op_plan *plan, int m, int o, int64_t least)
{
    const tw_program *p = &plan->program;
    const tw_link_count *count = &plan->timeline.link[m][o];
    if (!p->stop[m][o].here) return (tw_link_use){.operand = p->op->operand[o].name};
    tw_link_use use = {.outer = p->machine->memory[p->stop[m][o].outer].name,
                       .inner = p->machine->memory[m].name,
                       .operand = p->op->operand[o].name,
                       .transfers = count->transfers,
                       .units = count->units,
                       .loads = count->loads,
                       .load_units = count->load_units,
                       .partial_stores = count->partial_stores,
                       .partial_units = count->partial_units,
                       .n_slots = p->layout.count[m][o],
                       .least_units = tw_program_units(p, o, least)};
    use.elems = (count->units - count->partial_units) / p->elem_units[o] + count->partial_units / p->partial_units;
    use.held_units = tw_layout_units(&p->layout, m, o, use.n_slots);
    return use;
}

static tw_status describe_links(tw_op_plan *plan, tw_arena *scratch)
{
    const tw_program *p = &plan->program;
    for (int o = 0; o < p->op->n_operands; o++) {
        int64_t least;
        TW_TRY(tw_traffic_least(p->op, o, scratch, &least));
        for (int m = 1; m < p->machine->n_memories; m++) plan->link[m][o] = describe_link(plan, m, o, least);
    }
    return TW_OK;
}

tw_status tw_machine_suits(const tw_model *model, const tw_machine *machine, tw_diag *diag)
{
    const tw_platform *platform = machine->platform;
    const char *what;
    tw_loc loc;
    if (platform && tw_platform_needs_groups(platform, &what, &loc))
        return tw_diag_error(diag, loc, "%s '%s' needs a mapping with 'groups'",
                             platform->n_ports > 0 ? "port" : "private memory", what);
    for (int i = 0; platform && i < model->n_ops; i++) {
        const tw_op *op = &model->op[i];
        int other = tw_machine_computes(machine, op) ? -1 : tw_platform_find_computing(platform, op);
        if (other >= 0)
            return tw_diag_error(diag, op->loc, "engine '%s' of '%s' does not compute '%s', '%s' does: %s",
                                 machine->engine[machine->compute].name, machine->name,
                                 tw_compute_name(op->compute), platform->engine[platform->view[other].engine].name,
                                 "several engines work together in groups alone");
    }
    for (int i = 0; i < model->n_ops; i++) {
        if (tw_op_has_pieces(&model->op[i]))
            return tw_diag_error(diag, model->op[i].loc, "'%s' reads an input in pieces, which only groups do",
                                 model->op[i].name);
        TW_TRY(tw_machine_check_op(machine, &model->op[i], diag));
    }
    return TW_OK;
}

/* Whether somebody has to look where things lie: a single operator's slots are where the layout put them. */
static bool needs_placing(const tw_group *group, int memory)
{
    return group->n > 1 || group->machine->memory[memory].placement != TW_PLACE_SLOTS;
}

static bool any_placing(const tw_group *group)
{
    bool any = false;
    for (int m = 1; m < group->machine->n_memories; m++) any |= needs_placing(group, m);
    return any;
}

/* The view with all of its memories: together with the others an operator's buffers lie anywhere in them. */
static tw_status show_all(const tw_machine *view, tw_arena *arena, const tw_machine **out)
{
    tw_machine *all;
    TW_ALLOC(arena, all, 1);
    *all = *view;
    for (int m = 0; m < view->n_memories; m++) all->memory[m].size = tw_memory_full(&view->memory[m]);
    *out = all;
    return TW_OK;
}

/* Program and timeline of one operator. */
static tw_status build_op(const tw_group *group, int i, const tw_work *work, tw_op_plan *out)
{
    const tw_machine *view;
    tw_diag *diag = work->diag;
    diag->short_by = 0;
    const tw_op_map *map = &group->map[i];
    out->next = i + 1 < group->model->n_ops ? &group->map[i + 1] : NULL;
    TW_TRY(tw_machine_view(group->model, i, group->machine, group->map, work->arena, &view));
    const tw_problem problem = {group->model, i, view};
    tw_status built = tw_program_build(&problem, map, work->arena, diag, &out->program);
    if (built == TW_INFEASIBLE && diag->short_by > 0 && !diag->muted && group->advisor)
        group->advisor->too_large(&problem, map, work->scratch, diag);
    TW_TRY(built);
    TW_TRY(show_all(view, work->arena, &out->program.machine));
    if (group->like) {
        out->timeline = group->like[i - group->first].timeline;
        out->touches = group->like[i - group->first].touches;
        return TW_OK;
    }
    bool known =
        group->evaluator && group->n == 1 && tw_evaluator_recall(group->evaluator, &problem, map, &out->timeline);
    bool looks = any_placing(group) && !(known && out->timeline.sum.instructions > TW_TOUCHES_MOST);
    if (looks) return tw_touches_watch(&out->program, work, &out->timeline, &out->touches);
    return known ? TW_OK : tw_timeline_run(&out->program, work->scratch, diag, &out->timeline);
}

/* Addresses of a group of operators, in the memories in which it has buffers. */
static tw_status place_group(const tw_group *group, const tw_work *work, tw_parts *out)
{
    const tw_machine *machine = group->machine;
    const tw_placing *placing = &out->placing[out->n_placings];
    int n = 0;
    for (int m = 1; m < machine->n_memories; m++) {
        if (!needs_placing(group, m)) continue;
        tw_placing *g = &out->placing[out->n_placings];
        TW_TRY(tw_placing_build(out->op, group->first, group->n, m, work, g));
        if (g->n_blocks == 0) continue;
        out->n_placings++;
        n++;
        g->capacity = machine->memory[m].size;
        TW_TRY(tw_placing_check(g, out->op, work->diag));
    }
    for (int i = group->first; n > 0 && i < group->first + group->n; i++) {
        tw_layout *layout = &out->op[i].program.layout;
        TW_TRY(tw_placed_layout(placing, n, &out->op[i].program, i, work->arena, layout));
    }
    return TW_OK;
}

tw_status tw_group_build(const tw_group *group, const tw_work *work, tw_parts *out)
{
    for (int i = group->first; i < group->first + group->n; i++) TW_TRY(build_op(group, i, work, &out->op[i]));
    return place_group(group, work, out);
}

/* The parts of all groups, one after the other. */
static tw_status build_groups(const tw_plan *plan, const tw_origin *origin, const tw_work *work, tw_parts *out)
{
    const tw_model *model = plan->model;
    tw_group group = {.model = model,
                      .machine = plan->machine,
                      .map = plan->mapping->op,
                      .advisor = origin->advisor,
                      .evaluator = origin->evaluator};
    const int *like;
    TW_TRY(tw_groups_repeated(model, group.map, false, work, &like));
    TW_ALLOC(work->arena, out->op, model->n_ops);
    TW_ALLOC(work->arena, out->placing, model->n_ops * plan->machine->n_memories);
    for (; group.first < model->n_ops; group.first += group.n) {
        group.n = tw_group_size(group.map, model->n_ops, group.first);
        group.like = like[group.first] < group.first ? &out->op[like[group.first]] : NULL;
        TW_TRY(tw_group_build(&group, work, out));
    }
    return TW_OK;
}

/* Sums, and what the public interface shows of each operator. */
static tw_status describe(tw_plan *plan, tw_op_plan *op, const tw_origin *origin, const tw_work *work)
{
    const tw_model *model = plan->model;
    TW_TRY(tw_placements_describe(plan->placing, plan->n_placings, op, work->arena, &plan->placement));
    for (int i = 0; i < model->n_ops; i++) {
        describe_memories(&op[i], plan->machine);
        TW_TRY(name_pools(&op[i], work->arena));
        TW_TRY(describe_links(&op[i], work->scratch));
        op[i].searched = origin->found && !origin->found[i].missing;
        if (plan->mapping->op[i].fused && op[i].searched)
            op[i].searched = origin->found[i].n_objectives > 0; /* the cache has no other word for what was not */
        if (origin->found) op[i].search = origin->found[i];
        op[i].result = tw_search_view(&op[i].search);
        if (!add_sum(&plan->sum, &op[i].timeline.sum))
            return tw_diag_error(work->diag, model->op[i].loc, "the time of all operators exceeds 2^63 cycles");
    }
    return TW_OK;
}

tw_status tw_plan_build(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                        const tw_origin *origin, const tw_work *work, const tw_plan **out)
{
    static const tw_origin given = {0};
    tw_parts parts = {0};
    tw_plan *plan;
    if (mapping->n_groups > 0) return tw_plan_build_joint(model, machine, mapping, NULL, work, out);
    if (!origin) origin = &given;
    TW_ALLOC(work->arena, plan, 1);
    *plan = (tw_plan){.model = model, .machine = machine, .mapping = mapping, .front = origin->front};
    if (mapping->n_groups == 0) TW_TRY(tw_machine_suits(model, machine, work->diag));
    TW_TRY(tw_mapping_check(mapping, model, machine, work->diag));
    TW_TRY(build_groups(plan, origin, work, &parts));
    plan->op = parts.op;
    plan->placing = parts.placing;
    plan->n_placings = parts.n_placings;
    TW_TRY(describe(plan, parts.op, origin, work));
    *out = plan;
    return TW_OK;
}
