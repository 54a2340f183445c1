/* src/plan/find.c - the mapping of every operator by search, and the plan of what was found; see plan.h. */
#include <math.h>
#include <string.h>

#include "core/deadline.h"
#include "mapping/fusion.h"
#include "plan/chain.h"
#include "plan/divide.h"
#include "plan/evaluate.h"
#include "plan/exchange.h"
#include "plan/fused.h"
#include "plan/off_chip.h"
#include "plan/padding.h"
#include "plan/placing.h"
#include "plan/plan.h"
#include "plan/several.h"
#include "search/search.h"

/* What stops the mapping that misses least. */
static void explain(const tw_problem *problem, const tw_op_map *map, tw_arena *scratch, tw_diag *diag)
{
    tw_program program;
    tw_diag_note(diag, problem->model->op[problem->op].loc,
                 "of the mappings that were tried, this one comes nearest:");
    tw_status status = tw_program_build(problem, map, scratch, diag, &program);
    if (status == TW_OK) status = tw_group_check(&program, scratch, diag);
    (void)status; /* the search has its own; this one is about the messages */
}

/* The points of a front, each as the whole model's mapping with this one for operator `op`. */
static tw_status keep_front(const tw_found *found, const tw_mapping *mapping, int op, int n_goals, tw_arena *arena,
                            tw_front_list *out)
{
    tw_front_point *point;
    double *value;
    TW_ALLOC(arena, point, found->n_front);
    TW_ALLOC(arena, value, found->n_front * n_goals);
    for (int i = 0; i < found->n_front; i++) {
        tw_mapping *one;
        tw_op_map *map;
        TW_ALLOC(arena, one, 1);
        TW_ALLOC(arena, map, mapping->n_ops);
        memcpy(map, mapping->op, (size_t)mapping->n_ops * sizeof *map);
        map[op] = found->front[i];
        *one = (tw_mapping){mapping->n_ops, map};
        for (int g = 0; g < n_goals; g++) value[i * n_goals + g] = (double)found->front_value[i].of[g];
        point[i] = (tw_front_point){n_goals, &value[i * n_goals], one};
    }
    *out = (tw_front_list){found->n_front, point};
    return TW_OK;
}

/* What is searched, and what was found. */
typedef struct hunt {
    const tw_request *asked;
    tw_found *found;
    tw_op_map *map;  /* of fused operators from the beginning */
    const int *like; /* per operator: an equal one that is searched for it, or itself; NULL: all are searched */
    tw_search_record *result;
    tw_evaluator *evaluator;
} hunt;

/* Whether the group that operator `op` belongs to is equal to one before it. */
static bool is_repeated(const hunt *h, int op)
{
    while (op > 0 && h->map[op].fused) op--;
    return h->like && h->like[op] != op;
}

/* Seconds of those that are left for operators [first, first + n): their share of the points that are still to be planned; 0: no
 * limit. */
static double time_of_ops(const hunt *h, int first, int n, const tw_deadline *deadline)
{
    const tw_model *model = h->asked->model;
    double left = tw_deadline_left(deadline), points = 0, sum = 0;
    for (int i = first; i < model->n_ops; i++)
        if (i < first + n || !is_repeated(h, i)) sum += (double)tw_op_points(&model->op[i]);
    for (int i = first; i < first + n; i++) points += (double)tw_op_points(&model->op[i]);
    return isfinite(left) && sum > points ? left * points / sum : 0;
}

/* Operator i as the maps have its neighbours; `among` says what else it might be fused with. */
static tw_status find_op(hunt *h, int i, tw_among among, tw_arena *scratch, tw_diag *diag)
{
    const tw_request *asked = h->asked;
    const tw_machine *view;
    tw_deadline share;
    const tw_deadline *all = diag->deadline;
    TW_TRY(tw_machine_view(asked->model, i, asked->machine, h->map, scratch, &view));
    tw_deadline_init(&share, time_of_ops(h, i, 1, all), all);
    diag->deadline = &share;
    const tw_search search = {{asked->model, i, view},
                              asked->options,
                              tw_evaluator_eval(h->evaluator),
                              .start = asked->start ? &asked->start->op[i] : NULL,
                              .among = among};
    tw_status status = tw_search_op(&search, scratch, diag, &h->found[i], &h->result[i]);
    diag->deadline = all;
    h->map[i] = h->found[i].map;
    if (status != TW_INFEASIBLE || diag->muted) return status;
    if (h->found[i].nearest) explain(&search.problem, &h->map[i], scratch, diag);
    if (asked->advisor && among != TW_AMONG_WISHES)
        asked->advisor->nothing_fits(&(tw_problem){asked->model, i, asked->machine}, h->map, asked->options,
                                     h->result[i].proven, scratch, diag);
    return status;
}

/* The first of operators [i, i + n), a group; the others take one tile each, which proves nothing where they might take less. */
static tw_status find_first(hunt *h, int i, int n, tw_among among, tw_arena *scratch, tw_diag *diag)
{
    TW_TRY(find_op(h, i, among, scratch, diag));
    for (int k = i + 1; k < i + n; k++) {
        h->found[k].map = h->map[k];
        h->result[k].missing = true;
    }
    return TW_OK;
}

/* Whether nothing is left to search for behind the first of operators [i, i + n): the limits say so, or the machine stands for a
 * compiler that doubles buffers by a rule of its own and does not tile what it fuses. */
static bool is_settled(const tw_request *asked, int i, int n)
{
    const tw_limits *limits = asked->options->limits;
    if (asked->machine->memory[asked->machine->n_memories - 1].doubles != TW_DOUBLE_ANY) return true;
    for (int k = i + 1; k < i + n; k++)
        if (!limits || !limits->op[k].whole) return false;
    return true;
}

/* Operators [i, i + n) of a chain for which nothing was found, fused only where they have to be. `open`: that is not proven, so that
 * what is said of an operator here does not hold for others fused with it. */
static tw_status find_apart(hunt *h, int i, int n, bool open, tw_arena *scratch, tw_diag *diag)
{
    const tw_limits *limits = h->asked->options->limits;
    bool wishes = false;
    for (int k = i + 1; k < i + n; k++) {
        bool must = limits && limits->op[k].fused == 1;
        wishes |= h->map[k].fused && !must;
        h->map[k].fused = must;
    }
    for (int k = i, size; k < i + n; k += size) {
        size = tw_group_size(h->map, i + n, k);
        tw_among among = !open ? TW_AMONG_NONE : wishes ? TW_AMONG_WISHES : TW_AMONG_OTHERS;
        TW_TRY(size > 1 ? find_first(h, k, size, among, scratch, diag) : find_op(h, k, among, scratch, diag));
    }
    return TW_OK;
}

/* The best of what operators [i, i + n) may be as a chain; some of the time is kept for what they are apart. */
static tw_status search_chain(hunt *h, int i, int n, tw_arena *scratch, tw_diag *diag, bool *open)
{
    static const double share_of_chain = 0.6;
    const tw_chain chain = {h->asked, tw_evaluator_eval(h->evaluator), i, n};
    const tw_deadline *all = diag->deadline;
    tw_deadline share, most;
    tw_deadline_init(&share, time_of_ops(h, i, n, all), all);
    double left = tw_deadline_left(&share);
    tw_deadline_init(&most, isfinite(left) ? share_of_chain * left : 0, &share);
    diag->deadline = &most;
    tw_status status = tw_chain_find(&chain, &(tw_work){scratch, scratch, diag}, h->map, h->found, h->result, open);
    diag->deadline = all;
    return status;
}

/* Operators [i, i + n) that may be fused. Where nothing fits, those apart say why, and of what has to be fused the first one
 * beside single tiles. */
static tw_status find_chain(hunt *h, int i, int n, tw_arena *scratch, tw_diag *diag)
{
    const tw_model *model = h->asked->model;
    const tw_machine *machine = h->asked->machine;
    bool open = true;
    for (int k = i; k < i + n; k++) /* the search of a chain does not say why */
        if (!tw_machine_computes(machine, &model->op[k]))
            return tw_diag_error(diag, model->op[k].loc, "engine '%s' of '%s' does not compute '%s'",
                                 machine->engine[machine->compute].name, machine->name,
                                 tw_compute_name(model->op[k].compute));
    if (is_settled(h->asked, i, n)) return find_first(h, i, n, TW_AMONG_NONE, scratch, diag);
    tw_status status = search_chain(h, i, n, scratch, diag, &open);
    return status == TW_INFEASIBLE ? find_apart(h, i, n, open, scratch, diag) : status;
}

/* What was found for an equal operator. */
static void repeat_op(hunt *h, int i, int like)
{
    h->found[i] = h->found[like];
    h->result[i] = h->result[like];
    h->map[i] = h->map[like];
}

static tw_status find_ops(hunt *h, tw_arena *scratch, tw_diag *diag)
{
    int n_ops = h->asked->model->n_ops;
    for (int i = 0, n; i < n_ops; i += n) {
        n = tw_group_size(h->map, n_ops, i);
        if (is_repeated(h, i))
            for (int k = 0; k < n; k++) repeat_op(h, i + k, h->like[i] + k);
        else
            TW_TRY(n > 1 ? find_chain(h, i, n, scratch, diag) : find_op(h, i, TW_AMONG_NONE, scratch, diag));
    }
    return TW_OK;
}

/* On all threads, within the time that the options and the work allow; half of it where groups on several cores come behind. Those may have a plan where the
 * first core has none, so that nothing is said then. */
static tw_status run_hunt(hunt *h, bool several, const tw_work *work)
{
    tw_diag quiet = tw_diag_quiet(work->diag), *diag = several ? &quiet : work->diag;
    tw_deadline limit;
    const tw_deadline *deadline = diag->deadline;
    double most = h->asked->options->time_limit;
    tw_deadline_init(&limit, several ? most / 2 : most, deadline);
    diag->deadline = &limit;
    tw_status status = find_ops(h, work->scratch, diag);
    diag->deadline = deadline;
    bool hidden = several && status != TW_OK && status != TW_INFEASIBLE && status != TW_STOPPED;
    return hidden ? run_hunt(h, false, work) : status;
}

/* What was found is not given up for the last simulation, which is short (branch.c) or was made before. */
static tw_status build_found(const hunt *h, const tw_mapping *mapping, const tw_work *work, const tw_plan **out)
{
    tw_front_list *front;
    tw_diag *diag = work->diag;
    TW_ALLOC(work->arena, front, h->asked->model->n_ops);
    for (int i = 0; i < h->asked->model->n_ops; i++)
        TW_TRY(keep_front(&h->found[i], mapping, i, h->result[i].n_objectives, work->arena, &front[i]));
    const tw_deadline *deadline = diag->deadline;
    const tw_origin origin = {h->result, front, h->asked->advisor, h->evaluator};
    diag->deadline = NULL;
    tw_status status = tw_plan_build(h->asked->model, h->asked->machine, mapping, &origin, work, out);
    diag->deadline = deadline;
    return status;
}

/* Whether somebody wanted an end, or time was up. */
static bool was_stopped(const hunt *h)
{
    for (int i = 0; i < h->asked->model->n_ops; i++)
        if (h->result[i].ending == TW_END_STOPPED || h->result[i].ending == TW_END_TIME) return true;
    return false;
}

/* Units that operators one after the other move over the links of the outermost memory. */
static int64_t layers_off_chip(const tw_plan *plan)
{
    int64_t sum = 0;
    for (int i = 0; i < plan->model->n_ops; i++) sum += tw_off_chip_of_op(plan, i);
    return sum;
}

/* In the time that is left. */
static tw_status find_groups(const tw_request *asked, int64_t start, const tw_work *work, const tw_plan **out)
{
    static const double least = 1e-3;
    tw_deadline limit;
    const tw_deadline *deadline = work->diag->deadline;
    double most = asked->options->time_limit, left = most > 0 ? most - tw_deadline_since(start) : 0;
    if (most > 0 && left <= 0 && !asked->options->limits) return TW_OK;
    tw_deadline_init(&limit, most > 0 && left < least ? least : left, deadline);
    work->diag->deadline = &limit;
    tw_status status = tw_groups_find(asked, *out, *out ? layers_off_chip(*out) : 0, NULL, work, out);
    work->diag->deadline = deadline;
    return status;
}

/* Why a machine that is known to groups alone has no plan: time was up, nothing computes an operator, or nothing was found. */
static tw_status explain_none(const tw_request *asked, int64_t start, tw_diag *diag)
{
    const tw_model *model = asked->model;
    const tw_machine *machine = asked->machine;
    double most = asked->options->time_limit;
    const tw_deadline *deadline = diag->deadline;
    bool time = most > 0 && tw_deadline_since(start) >= most;
    if (time || tw_deadline_is_over(deadline)) {
        if (time) diag->deadline = NULL; /* it is the options' limit that has come */
        tw_status status = tw_diag_stopped(diag, model->op[0].loc, "the search for groups");
        diag->deadline = deadline;
        return status;
    }
    for (int i = 0; i < model->n_ops; i++)
        if (tw_platform_find_computing(machine->platform, &model->op[i]) < 0)
            return tw_diag_error(diag, model->op[i].loc, "no engine of '%s' computes '%s'", machine->name,
                                 tw_compute_name(model->op[i].compute));
    return tw_diag_infeasible(diag, model->op[0].loc,
                              "no groups were found that fit machine '%s'; whether there are any is not proven",
                              machine->name);
}

/* Ports, private memories and a second compute engine are known to groups alone. */
static tw_status find_groups_alone(const tw_request *asked, int64_t start, const tw_work *work, const tw_plan **out)
{
    *out = NULL;
    tw_status status = find_groups(asked, start, work, out);
    if (status == TW_OK && *out) return TW_OK;
    bool said = tw_limits_have_groups(asked->options->limits);
    return (status == TW_OK || status == TW_INFEASIBLE) && !said ? explain_none(asked, start, work->diag) : status;
}

/* The model as it is. */
static tw_status find_plan(const tw_request *asked, const tw_work *work, const tw_plan **out)
{
    const tw_model *model = asked->model;
    tw_search_options of_ops = *asked->options;
    tw_request layers = *asked;
    layers.options = &of_ops;
    of_ops.limits = tw_limits_of_ops(asked->options->limits);
    hunt h = {.asked = &layers};
    tw_mapping *mapping;
    int64_t start = tw_deadline_now();
    TW_ALLOC(work->arena, mapping, 1);
    if (tw_limits_have_groups(asked->options->limits)) /* then groups suit the request */
        TW_TRY(tw_fused_check(asked->options, asked->machine, asked->options->limits->groups.group[0].loc,
                              work->diag));
    TW_TRY(tw_maps_begin(model, asked->machine, of_ops.limits, work->arena, &h.map));
    TW_ALLOC(work->scratch, h.found, model->n_ops);
    TW_ALLOC(work->scratch, h.result, model->n_ops);
    *mapping = (tw_mapping){model->n_ops, h.map};
    bool given = tw_limits_have_groups(asked->options->limits);
    if (tw_several_is_needed(asked) && (given || tw_several_is_asked(asked)))
        return find_groups_alone(asked, start, work, out);
    TW_TRY(tw_machine_suits(model, asked->machine, work->diag));
    if (!of_ops.limits) TW_TRY(tw_groups_repeated(model, h.map, true, work, &h.like));
    if (!(h.evaluator = tw_evaluator_new(tw_search_threads(asked->options)))) return TW_ERR_NOMEM;
    bool several = tw_several_is_asked(asked), grouped = several || tw_fused_is_asked(asked);
    tw_status status = run_hunt(&h, several, work);
    if (status == TW_OK) status = build_found(&h, mapping, work, out);
    bool goes_on =
        asked->options->limits || !was_stopped(&h) || (several && !tw_deadline_is_over(work->diag->deadline));
    if (status == TW_OK && grouped && goes_on) status = find_groups(asked, start, work, out);
    tw_evaluator_free(h.evaluator);
    bool elsewhere = several && (status == TW_INFEASIBLE || status == TW_STOPPED); /* than on the first core */
    return elsewhere ? find_groups_alone(asked, start, work, out) : status;
}

/* The model as it is, or with operators divided whose pieces cores share. */
static tw_status find_divided(const tw_request *asked, const tw_work *work, const tw_plan **out)
{
    int64_t start = tw_deadline_now();
    TW_TRY(find_plan(asked, work, out));
    double most = asked->options->time_limit, left = most > 0 ? most - tw_deadline_since(start) : 0;
    if (most > 0 && left <= 0) return TW_OK;
    tw_deadline limit;
    const tw_deadline *deadline = work->diag->deadline;
    tw_deadline_init(&limit, left, deadline);
    work->diag->deadline = &limit;
    const tw_plan *given = *out;
    tw_status status = tw_exchange_improve(asked, work, out);
    if (status == TW_OK) status = tw_divide_improve(asked, work, out);
    if (status == TW_OK) status = tw_sharing_improve(asked, given, work, out);
    work->diag->deadline = deadline;
    return status;
}

tw_status tw_plan_find(const tw_request *asked, const tw_work *work, const tw_plan **out)
{
    return tw_padding_find(asked, find_divided, work, out);
}

static bool is_confirmed(const tw_op_plan *op, tw_arena *scratch)
{
    const tw_search_record *said = &op->search;
    const tw_search_options asked = {.n_objectives = said->n_objectives, .objective = said->objective};
    tw_diag muted = {.muted = true};
    tw_goals goals;
    tw_outcome outcome;
    if (said->n_objectives < 1 || tw_goals_of(&asked, op->program.machine, &muted, &goals) != TW_OK) return false;
    if (tw_outcome_of(&op->program, &op->timeline, scratch, &outcome) != TW_OK) return false;
    tw_goal_value value = tw_goals_value(&goals, &outcome);
    for (int i = 0; i < goals.n; i++)
        if ((double)value.of[i] != said->value[i] || said->least[i] > said->value[i] ||
            (said->within[i] <= 0 && said->least[i] != said->value[i]))
            return false;
    return said->best == (value.of[0] > INT64_MAX ? INT64_MAX : (int64_t)value.of[0]) &&
           said->bound <= said->least[0] && (!said->proven || said->gap == 0);
}

bool tw_plan_confirms(const tw_plan *plan)
{
    tw_arena *scratch = tw_arena_new();
    bool good = scratch != NULL;
    for (int i = 0; i < plan->model->n_ops && good; i++)
        good = !plan->op[i].searched || is_confirmed(&plan->op[i], scratch);
    tw_arena_free(scratch);
    return good;
}

int tw_plan_n_front(const tw_plan *plan, int op) { return plan->front ? plan->front[op].n : 0; }
const tw_front_point *tw_plan_front(const tw_plan *plan, int op, int i) { return &plan->front[op].point[i]; }
