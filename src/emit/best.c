/* src/emit/best.c - see best.h. Dispatches share nothing, so that each is searched as a model of its own.
 *
 * Families without a pipeline come last, and most need no search: an input that changes in every step and has one buffer is
 * loaded between two executions, never beside one. So they take at least as long as all executions and, in a row with
 * them, all loads of such an input; the other bounds of a search do not see that. */
#include "emit/best.h"

#include "advise/advise.h"
#include "core/deadline.h"
#include "emit/quidditch.h"
#include "plan/plan.h"
#include "search/bound.h"

#include <math.h>
#include <string.h>

enum { FAMILIES_MAX = 1000 };

/* Where one dispatch is searched. */
typedef struct scene {
    tw_model model; /* its operators only           */
    int first;      /* its place in the whole model */
    const tw_machine *machine;
    const tw_search_options *given; /* whose `progress` is heard */
    tw_search_options options;
    tw_arena *arena, *scratch;
} scene;

static bool pass_on(void *user, const tw_progress *progress)
{
    const scene *s = user;
    tw_progress whole = *progress;
    whole.op += s->first;
    return s->given->progress(s->given->user, &whole);
}

static scene scene_of(const tw_model *model, int first, const tw_machine *machine, const tw_search_options *options)
{
    scene s = {.model = *model, .first = first, .machine = machine, .given = options, .options = *options};
    s.model.op = &model->op[first];
    s.model.n_ops = tw_quidditch_end(model, machine, first) - first;
    s.options.time_limit = 0; /* the deadline of all dispatches counts */
    s.options.n_objectives = 0;
    s.options.pareto = false;
    s.options.limits = NULL;
    if (options->progress) s.options.progress = pass_on;
    return s;
}

/* The innermost loop that the limits want cut, -1: none. */
static int innermost_cut(const tw_op *op, const tw_level_limits *level)
{
    for (int i = op->n_loops - 1; i >= 0; i--)
        if (level->tiles[level->order[i]].at_least > 1) return level->order[i];
    return -1;
}

/* Cycles of the contraction at least when every operand has one buffer. */
static int64_t least_in_sequence(const scene *s, const tw_level_limits *level)
{
    const tw_op *op = s->model.op;
    tw_machine machine = tw_machine_for(s->machine, &s->model, op, (tw_fusion){.behind = s->model.n_ops > 1});
    int inner = machine.n_memories - 1, innermost = innermost_cut(op, level);
    int link = tw_machine_link(&machine, tw_path_outer(tw_machine_role_path(&machine, TW_HOLDS_INPUTS), inner),
                               inner, TW_INWARDS, TW_HOLDS_ALL);
    const tw_engine *compute = &machine.engine[machine.compute];
    if (compute->cost.kind == TW_COST_ARRAY || link < 0) return 0;
    int64_t loads = 0;
    for (int i = 0; i < tw_op_output(op); i++) {
        const tw_tensor *tensor = &s->model.tensor[op->operand[i].tensor];
        if (innermost >= 0 && !(tw_operand_loops(&op->operand[i]) >> innermost & 1)) continue;
        int64_t units = tw_machine_units(&machine, tensor->dtype, tw_operand_elems(&op->operand[i]));
        loads = tw_max(loads, tw_busy_of(&machine.engine[link], 1, units));
    }
    return loads + tw_busy_of(compute, 1, tw_op_points(op));
}

/* TW_INFEASIBLE also when it cannot beat `best`. */
static tw_status search_family(scene *s, int family, const tw_plan *best, tw_diag *diag, const tw_plan **out)
{
    tw_limits limits;
    tw_arena_mark mark = tw_arena_save(s->scratch);
    TW_TRY(tw_quidditch_family(&s->model, s->machine, family, s->scratch, &limits));
    const tw_op_limits *op = &limits.op[0];
    bool dual = family < tw_quidditch_n_families(s->model.op) / 2;
    if (best && !dual && least_in_sequence(s, &op->level[op->n_levels - 1]) >= best->sum.cycles)
        return TW_INFEASIBLE;
    s->options.limits = &limits;
    tw_status status = tw_plan_find(&(tw_request){&s->model, s->machine, &s->options, NULL, &tw_advice},
                                    &(tw_work){s->arena, s->scratch, diag}, out);
    tw_arena_rewind(s->scratch, mark);
    return status;
}

static bool is_better(const tw_plan *plan, const tw_plan *best)
{
    tw_quidditch_config ignored;
    if (best && plan->sum.cycles >= best->sum.cycles) return false;
    return tw_quidditch_lowering_of(plan, 0, &ignored, NULL);
}

/* The last family tells why when nothing fits. */
static tw_status search_families(scene *s, tw_diag *diag, const tw_plan **out)
{
    const tw_plan *best = NULL, *plan;
    int n = tw_quidditch_n_families(s->model.op);
    if (n > FAMILIES_MAX)
        return tw_diag_infeasible(diag, s->model.op->loc, "operator '%s' has too many loops: give a mapping",
                                  s->model.op->name);
    for (int f = 0; f < n; f++) {
        tw_diag muted = tw_diag_quiet(diag);
        bool last = f == n - 1 && !best;
        double left = tw_deadline_left(diag->deadline);
        s->options.time_limit = isfinite(left) ? tw_deadline_seconds(diag->deadline, left / (n - f)) : 0;
        tw_status status = search_family(s, f, best, last ? diag : &muted, &plan);
        if (status == TW_OK && is_better(plan, best)) best = plan;
        if (status == TW_ERR_NOMEM || (last && status != TW_OK)) return status;
    }
    if (!best)
        return tw_diag_infeasible(diag, s->model.op->loc,
                                  "no mapping that Quidditch can be told was found for '%s'", s->model.op->name);
    *out = best;
    return TW_OK;
}

/* On a machine that knows single and double buffers only, the best of all mappings mostly has an attribute: then it is the
 * answer. So it is when the dispatch can have none. */
static tw_status search_dispatch(scene *s, tw_diag *diag, const tw_plan **out)
{
    tw_quidditch_config ignored;
    bool tiled = tw_quidditch_is_tiled(s->model.op);
    if (s->given->progress) s->options.user = s;
    if (tiled && s->machine->memory[s->machine->n_memories - 1].doubles == TW_DOUBLE_ANY)
        return search_families(s, diag, out);
    tw_limits limits;
    TW_TRY(tw_quidditch_dispatch(&s->model, s->machine, s->scratch, &limits));
    s->options.limits = &limits;
    TW_TRY(tw_plan_find(&(tw_request){&s->model, s->machine, &s->options, NULL, &tw_advice},
                        &(tw_work){s->arena, s->scratch, diag}, out));
    if (!tiled || tw_quidditch_lowering_of(*out, 0, &ignored, NULL)) return TW_OK;
    return search_families(s, diag, out);
}

/* Each has its share of the time: what is left is divided by those that are left. */
static tw_status search_dispatches(const tw_model *model, const tw_machine *machine,
                                   const tw_search_options *options, const tw_work *work, tw_op_map *map)
{
    tw_diag *diag = work->diag;
    const tw_deadline *all = diag->deadline;
    for (int o = 0; o < model->n_ops; o = tw_quidditch_end(model, machine, o)) {
        const tw_plan *plan = NULL;
        scene s = scene_of(model, o, machine, options);
        tw_deadline share;
        double left = tw_deadline_left(all);
        s.arena = work->arena;
        s.scratch = work->scratch;
        tw_deadline_init(&share, isfinite(left) ? left * s.model.n_ops / (model->n_ops - o) : 0, all);
        diag->deadline = &share;
        tw_status status = search_dispatch(&s, diag, &plan);
        diag->deadline = all;
        TW_TRY(status);
        assert(plan);
        memcpy(&map[o], plan->mapping->op, (size_t)s.model.n_ops * sizeof *map);
    }
    return TW_OK;
}

tw_status tw_lowered_find(const tw_model *model, const tw_machine *machine, const tw_search_options *options,
                          const tw_work *work, const tw_plan **out)
{
    tw_mapping *mapping;
    tw_op_map *map;
    tw_deadline limit;
    tw_diag *diag = work->diag;
    const tw_deadline *deadline = diag->deadline;
    TW_ALLOC(work->arena, mapping, 1);
    TW_ALLOC(work->arena, map, model->n_ops);
    *mapping = (tw_mapping){model->n_ops, map};
    tw_deadline_init(&limit, options->time_limit, deadline);
    diag->deadline = &limit;
    tw_status status = search_dispatches(model, machine, options, work, map);
    diag->deadline = NULL; /* as in tw_plan_find */
    if (status == TW_OK)
        status = tw_plan_build(model, machine, mapping, &(tw_origin){.advisor = &tw_advice}, work, out);
    diag->deadline = deadline;
    return status;
}
