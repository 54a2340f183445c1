/* src/advise/remedy.c - what changes of the machine, of the mapping or of the options would give.
 *
 * A change of the machine (change.h) or of the options is answered by the same search that found the plan; of a plan whose mapping was given by
 * simulating that mapping. Engines can only change what takes time, except that on a lockstep machine a link may be too
 * slow to pass a level through: where time does not count they are left out. */
#include "advise/remedy.h"

#include "advise/change.h"
#include "advise/improve.h"
#include "advise/joint_remedy.h"
#include "mapping/fusion.h"
#include "plan/placing.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "plan/links.h"
#include "search/search.h"
#include "write/grow.h"
#include "write/number.h"

/* ---- searches ---- */

typedef struct asker {
    const tw_search_options *given; /* whose `progress` is heard                                   */
    bool stopped;                   /* it, or the deadline, ended a search: what that one found is no answer */
    const tw_deadline *deadline;
    int n_left; /* searches that are still to come, 0: not known */
    tw_search_options options;
    tw_evaluator *evaluator;
    tw_arena *scratch;
} asker;

static bool ask_progress(void *user, const tw_progress *progress)
{
    asker *a = user;
    if (!a->stopped && a->given->progress) a->stopped = !a->given->progress(a->given->user, progress);
    a->stopped |= tw_deadline_is_over(a->deadline);
    return !a->stopped;
}

/* Only the first objective counts. */
static tw_status asker_init(asker *a, const tw_search_options *options, const tw_deadline *deadline,
                            tw_arena *scratch)
{
    int64_t threads = options->n_threads > 0 ? options->n_threads : sysconf(_SC_NPROCESSORS_ONLN);
    *a = (asker){.given = options, .options = *options, .deadline = deadline, .scratch = scratch};
    a->evaluator = tw_evaluator_new((int)tw_clamp(threads, 1, TW_MAX_THREADS));
    a->options.pareto = false;
    a->options.n_objectives = (int)tw_min(options->n_objectives, 1);
    a->options.within = NULL;
    a->options.groups = false; /* what is asked is about single operators */
    a->options.progress = ask_progress;
    a->options.user = a;
    return a->evaluator ? TW_OK : TW_ERR_NOMEM;
}

/* Seconds for the next search, as many for each that may still come and for what follows them; 0: no limit. */
static double time_of_search(const asker *a)
{
    double left = tw_deadline_left(a->deadline);
    return isfinite(left) ? left / (double)(1 + tw_max(1, a->n_left)) : 0;
}

/* The machine as the operator meets it that is searched for, beside others that are mapped like this; NULL: that take one tile. */
static tw_status view_of(const tw_problem *problem, const tw_op_map *beside, const tw_search_options *options,
                         tw_arena *scratch, const tw_machine **out)
{
    tw_op_map *map = NULL;
    if (!beside) TW_TRY(tw_maps_begin(problem->model, problem->machine, options->limits, scratch, &map));
    return tw_machine_view(problem->model, problem->op, problem->machine, beside ? beside : map, scratch, out);
}

/* tw_search_op without a word. TW_INFEASIBLE with result->proven: there is none. */
static tw_status ask(asker *a, const tw_problem *problem, const tw_op_map *beside, const tw_search_options *options,
                     tw_op_map *map, tw_search_record *result)
{
    tw_arena_mark mark = tw_arena_save(a->scratch);
    tw_deadline share;
    tw_deadline_init(&share, time_of_search(a), a->deadline);
    tw_diag muted = {.muted = true, .deadline = &share};
    tw_found found;
    const tw_machine *view;
    *result = (tw_search_record){0};
    TW_TRY(view_of(problem, beside, options, a->scratch, &view));
    const tw_search search = {{problem->model, problem->op, view}, options, tw_evaluator_eval(a->evaluator), NULL};
    tw_status status = tw_search_op(&search, a->scratch, &muted, &found, result);
    *map = found.map;
    a->stopped |= tw_deadline_is_over(a->deadline);
    tw_arena_rewind(a->scratch, mark);
    return status == TW_ERR_INPUT ? TW_INFEASIBLE : status;
}

/* ---- changes ---- */

typedef struct tried {
    tw_remedy remedy;
    const tw_machine *machine;
    double *value; /* of each operator, INFINITY: nothing was found */
    bool *proven;
    tw_op_map *map; /* of each operator; NULL: the remedy has a mapping of all */
} tried;

typedef struct trial {
    const tw_plan *plan;
    asker asker;
    tw_goals goals;
    tw_op_map *best; /* of each operator on the machine as it is: the plan's, or a better one met on the way */
    double *value;
    bool given;    /* the mapping was: machines are changed under it, nothing is searched */
    bool proven;   /* the plan is */
    bool counts;   /* searches are only counted, none is made */
    int64_t *left; /* of hints: commands that may still be simulated */
    tw_arena *arena, *work;
    tried *list;
    int n;
    int64_t room;
} trial;

static tw_improver simulator_of(const trial *t)
{
    return (tw_improver){
        t->plan, tw_evaluator_eval(t->asker.evaluator), &t->goals, t->asker.deadline, t->arena, t->asker.scratch,
        t->left};
}

/* The first objective of a mapping; INFINITY where it is not possible. */
static tw_status value_of(trial *t, int op, const tw_machine *machine, const tw_op_map *map, double *out)
{
    const tw_improver simulator = simulator_of(t);
    return tw_improver_value(&simulator, op, machine, map, out);
}

/* Between searches too somebody may want to stop: many small ones never ask. */
static bool goes_on(trial *t, int op)
{
    return ask_progress(&t->asker,
                        &(tw_progress){.op = op, .found = true, .best = t->value[op], .bound = t->value[op]});
}

static tw_status keep(trial *t, const tried *one)
{
    t->list = tw_grow(t->work, t->list, t->n, &t->room, sizeof *t->list);
    if (!t->list) return TW_ERR_NOMEM;
    t->list[t->n++] = *one;
    return TW_OK;
}

/* A search that gave up on the plan may have missed what this one meets. */
static tw_status learn(trial *t, int op, const tw_op_map *map)
{
    double value;
    if (t->plan->op[op].search.proven) return TW_OK;
    TW_TRY(value_of(t, op, t->plan->machine, map, &value));
    if (value >= t->value[op]) return TW_OK;
    t->value[op] = value;
    t->best[op] = *map;
    return TW_OK;
}

static tw_status answer_op(trial *t, int op, const tw_search_options *options, tried *one)
{
    tw_op_map map;
    tw_search_record result;
    const tw_problem problem = {t->plan->model, op, one->machine};
    if (t->given) {
        one->proven[op] = true; /* simulated */
        return value_of(t, op, one->machine, &t->best[op], &one->value[op]);
    }
    tw_status status = ask(&t->asker, &problem, t->plan->mapping->op, options, &map, &result);
    if (status != TW_OK && status != TW_INFEASIBLE) return status;
    one->value[op] = status == TW_OK ? result.value[0] : INFINITY;
    one->proven[op] = result.proven;
    one->map[op] = map;
    /* What takes more buffers than the user allows says nothing about the plan. */
    return status == TW_OK && options == &t->asker.options ? learn(t, op, &map) : TW_OK;
}

/* Searches with the change made and adds what came out. `only`: the operator that it concerns, -1: all. */
static tw_status answer(trial *t, tw_remedy remedy, const tw_machine *machine, const tw_search_options *options,
                        int only)
{
    int n_ops = t->plan->model->n_ops;
    tried one = {.remedy = remedy, .machine = machine};
    if (!remedy.change) return TW_ERR_NOMEM;
    if (t->counts) t->asker.n_left += only >= 0 ? 1 : n_ops;
    if (t->counts) return TW_OK;
    TW_ALLOC(t->arena, one.map, n_ops);
    TW_ALLOC(t->work, one.value, n_ops);
    TW_ALLOC(t->work, one.proven, n_ops);
    for (int i = 0; i < n_ops; i++) {
        one.value[i] = t->value[i];
        one.map[i] = t->best[i];
        one.proven[i] = t->plan->op[i].search.proven;
        if (only >= 0 && only != i) continue;
        if (goes_on(t, i)) TW_TRY(answer_op(t, i, options, &one));
        t->asker.n_left--;
        one.remedy.untried = t->asker.stopped;
        if (t->asker.stopped) break;
    }
    return keep(t, &one);
}

/* These mappings of all operators as one value. */
static tw_status mapping_of(const trial *t, const tw_op_map *map, const tw_mapping **out)
{
    tw_mapping *mapping;
    TW_ALLOC(t->arena, mapping, 1);
    *mapping = (tw_mapping){t->plan->model->n_ops, map};
    *out = mapping;
    return TW_OK;
}

/* The plan's mapping with this one for an operator. */
static tw_status mapping_with(const trial *t, int op, const tw_op_map *map, const tw_mapping **out)
{
    int n_ops = t->plan->model->n_ops;
    tw_op_map *all;
    TW_ALLOC(t->arena, all, n_ops);
    memcpy(all, t->plan->mapping->op, (size_t)n_ops * sizeof *all);
    all[op] = *map;
    return mapping_of(t, all, out);
}

/* The sum over the operators. Where a search gave up, the best mapping of the machine as it is still counts. */
static tw_status settle(trial *t, tried *one)
{
    tw_remedy *r = &one->remedy;
    double before = 0;
    if (r->untried) return TW_OK;
    r->proven = t->proven;
    for (int i = 0; i < t->plan->model->n_ops; i++) {
        double known = INFINITY;
        if (!one->proven[i] && !t->asker.stopped) TW_TRY(value_of(t, i, one->machine, &t->best[i], &known));
        if (one->map && known < one->value[i]) one->map[i] = t->best[i];
        r->value += fmin(one->value[i], known);
        r->proven = r->proven && one->proven[i];
        before += t->value[i];
    }
    r->feasible = r->value < INFINITY;
    r->untried =
        !r->feasible && t->asker.stopped; /* it had too little time, and the best mapping as it is was not asked */
    if (!r->feasible) r->value = 0;
    if (r->feasible && before > 0) r->gain = 1 - r->value / before;
    if (one->machine != t->plan->machine) r->machine = one->machine;
    return one->map ? mapping_of(t, one->map, &r->mapping) : TW_OK;
}

/* Where it is known what every command waits for, a faster engine is worth a question only if time is the objective. */
static bool time_counts(const trial *t)
{
    tw_measure first = t->asker.options.n_objectives > 0 ? t->asker.options.objective[0].measure : TW_CYCLES;
    return !t->plan->op[0].timeline.has_waits || first == TW_CYCLES || first == TW_EDP;
}

/* Whether the engine takes a twentieth of the critical paths, where these are known. */
static bool is_critical(const tw_plan *plan, const char *engine)
{
    int64_t sum = 0;
    for (int i = 0; i < plan->model->n_ops; i++)
        for (int e = 0; e < plan->op[i].program.machine->n_engines; e++)
            if (strcmp(plan->op[i].program.machine->engine[e].name, engine) == 0)
                sum += plan->op[i].timeline.engine[e].critical_cycles;
    return !plan->op[0].timeline.has_waits || sum >= plan->sum.cycles / 20;
}

/* A tw_change_sink. A larger memory changes nothing for a mapping that fits. */
static tw_status try_change(void *user, const tw_remedy *change, const tw_machine *changed)
{
    trial *t = user;
    if (t->given && change->kind == TW_MORE_MEMORY) return TW_OK;
    if (t->left && (*t->left == 0 || !is_critical(t->plan, change->at))) return TW_OK;
    return answer(t, *change, changed, &t->asker.options, -1);
}

static tw_status try_machines(trial *t)
{
    return tw_changes_each(t->plan->machine, (tw_change_scope){.timed = time_counts(t)}, t->arena,
                           (tw_change_sink){try_change, t});
}

/* ---- changes of what the user allows ---- */

/* The largest number that a limit allows, 0: none; and the same limit with the next one allowed too. */
static int64_t most_allowed(const tw_number_limit *limit)
{
    int64_t most = limit->at_most / limit->multiple_of * limit->multiple_of;
    for (int i = limit->n_list - 1; i >= 0; i--)
        if (limit->list[i] <= most) return limit->list[i];
    return limit->n_list > 0 ? 0 : most;
}

static tw_status allow_more(tw_number_limit *limit, int64_t more, tw_arena *arena)
{
    int64_t *list;
    limit->at_most = more;
    if (limit->n_list == 0) return TW_OK;
    TW_ALLOC(arena, list, limit->n_list + 1);
    int n = 0;
    while (n < limit->n_list && limit->list[n] < more) list[n] = limit->list[n], n++;
    list[n++] = more;
    limit->list = list;
    limit->n_list = n;
    return TW_OK;
}

static tw_status try_limit(trial *t, int op, int level, int operand)
{
    const tw_limits *limits = t->asker.options.limits;
    const tw_machine *machine = t->plan->machine;
    const tw_number_limit *slots = &limits->op[op].level[level].slots[operand];
    int64_t most = most_allowed(slots), ceiling = tw_discipline_of(machine)->max_buffers;
    if (t->asker.options.max_buffers > 0) ceiling = tw_min(ceiling, t->asker.options.max_buffers);
    if (most < 1 || most > ceiling - slots->multiple_of) return TW_OK;
    tw_op_limits *changed;
    TW_ALLOC(t->asker.scratch, changed, limits->n_ops);
    for (int i = 0; i < limits->n_ops; i++) changed[i] = limits->op[i];
    tw_limits all = {limits->n_ops, changed};
    int64_t more = most + slots->multiple_of;
    TW_TRY(allow_more(&changed[op].level[level].slots[operand], more, t->asker.scratch));
    tw_search_options options = t->asker.options;
    options.limits = &all;
    const tw_op *of = &t->plan->model->op[op];
    bool several = t->plan->model->n_ops > 1;
    const char *text =
        tw_arena_printf(t->arena, "%" PRId64 " of '%s'%s%s%s, not %" PRId64, more, of->operand[operand].name,
                        several ? " of '" : "", several ? of->name : "", several ? "'" : "", most);
    return answer(t, (tw_remedy){TW_MORE_BUFFERS, machine->memory[level + 1].name, text}, machine, &options, op);
}

static tw_status try_buffers(trial *t)
{
    const tw_limits *limits = t->asker.options.limits;
    if (t->asker.options.max_buffers > 0 && t->asker.options.space != TW_SPACE_NOTES) {
        tw_search_options options = t->asker.options;
        options.max_buffers++;
        const char *text = tw_arena_printf(t->arena, "%" PRId64 " of each operand, not %" PRId64,
                                           options.max_buffers, t->asker.options.max_buffers);
        TW_TRY(
            answer(t, (tw_remedy){TW_MORE_BUFFERS, t->plan->machine->name, text}, t->plan->machine, &options, -1));
    }
    for (int i = 0; limits && i < limits->n_ops; i++)
        for (int l = 0; l < limits->op[i].n_levels; l++)
            for (int o = 0; o < t->plan->model->op[i].n_operands; o++) {
                tw_arena_mark mark = tw_arena_save(t->asker.scratch);
                TW_TRY(try_limit(t, i, l, o));
                tw_arena_rewind(t->asker.scratch, mark);
            }
    return TW_OK;
}

/* ---- all of them ---- */

bool tw_remedy_is_before(const tw_remedy *a, const tw_remedy *b)
{
    if (a->untried != b->untried) return b->untried;
    if (a->feasible != b->feasible) return a->feasible;
    return a->gain >= b->gain;
}

static void sort(tw_remedy *list, int n)
{
    for (int i = 1; i < n; i++) {
        tw_remedy moved = list[i];
        int at = i;
        for (; at > 0 && !tw_remedy_is_before(&list[at - 1], &moved); at--) list[at] = list[at - 1];
        list[at] = moved;
    }
}

/* ---- changes of the mapping ---- */

/* Adds a remedy that is known: with it operator `op` has this value. */
static tw_status add_known(trial *t, int op, tw_remedy remedy, double value, bool proven)
{
    tried one = {.remedy = remedy, .machine = t->plan->machine};
    TW_ALLOC(t->work, one.value, t->plan->model->n_ops);
    TW_ALLOC(t->work, one.proven, t->plan->model->n_ops);
    for (int i = 0; i < t->plan->model->n_ops; i++) {
        one.value[i] = i == op ? value : t->value[i];
        one.proven[i] = i != op || proven;
    }
    return keep(t, &one);
}

/* Single changes of one operator's mapping. */
static tw_status try_single_changes(trial *t, int op)
{
    const tw_improver simulator = simulator_of(t);
    const char *name = t->plan->model->op[op].name;
    const tw_improvement *action;
    bool all;
    int n;
    TW_TRY(tw_improvements_find(&simulator, op, t->value[op], &action, &n, &all));
    for (int i = 0; i < n; i++) {
        tw_remedy remedy = {
            .kind = action[i].kind, .at = name, .change = action[i].change, .machine = action[i].machine};
        TW_TRY(mapping_with(t, op, action[i].map, &remedy.mapping));
        TW_TRY(add_known(t, op, remedy, action[i].value, true));
    }
    if (!all)
        TW_TRY(add_known(t, op,
                         (tw_remedy){.kind = TW_OTHER_TILE, .at = name, .change = "other changes", .untried = true},
                         t->value[op], false));
    return TW_OK;
}

/* What `plan` would do instead of the mapping that was given. */
static tw_status try_search(trial *t, int op)
{
    tw_op_map map;
    tw_search_record result;
    const tw_problem problem = {t->plan->model, op, t->plan->machine};
    if (!goes_on(t, op)) return TW_OK;
    tw_status status = ask(&t->asker, &problem, t->plan->mapping->op, &t->asker.options, &map, &result);
    if (status == TW_INFEASIBLE || t->asker.stopped) return TW_OK;
    TW_TRY(status);
    const char *text = result.proven ? tw_arena_printf(t->arena, "the best mapping of the space '%s', proven",
                                                       tw_space_word(result.space))
                                     : "the best mapping that a search finds";
    if (!text) return TW_ERR_NOMEM;
    tw_remedy remedy = {.kind = TW_OTHER_MAPPING, .at = t->plan->model->op[op].name, .change = text};
    TW_TRY(mapping_with(t, op, &map, &remedy.mapping));
    return result.value[0] < t->value[op] ? add_known(t, op, remedy, result.value[0], true) : TW_OK;
}

/* Operator `op` fused with the one before it; each as it is mapped. */
static tw_status try_fusion(trial *t, int op)
{
    const tw_model *model = t->plan->model;
    tw_diag muted = {.muted = true, .deadline = t->asker.deadline};
    tw_op_map *map;
    const tw_plan *fused;
    if (t->plan->mapping->op[op].fused || !tw_discipline_of(t->plan->machine)->fuses) return TW_OK;
    if (tw_fusion_check(model, op, t->plan->machine, model->op[op].loc, &muted) != TW_OK) return TW_OK;
    TW_ALLOC(t->arena, map, model->n_ops);
    memcpy(map, t->plan->mapping->op, (size_t)model->n_ops * sizeof *map);
    map[op].fused = true;
    const tw_mapping *mapping;
    TW_TRY(mapping_of(t, map, &mapping));
    const tw_work work = {t->work, t->asker.scratch, &muted};
    tw_status status = tw_plan_build(model, t->plan->machine, mapping, NULL, &work, &fused);
    if (status != TW_OK || fused->sum.cycles >= t->plan->sum.cycles) return status == TW_ERR_NOMEM ? status : TW_OK;
    const char *text =
        tw_arena_printf(t->arena, "fused with '%s': what is between them never leaves '%s'", model->op[op - 1].name,
                        t->plan->machine->memory[t->plan->machine->n_memories - 1].name);
    if (!text) return TW_ERR_NOMEM;
    const tw_remedy remedy = {
        .kind = TW_OTHER_FUSION, .at = model->op[op].name, .change = text, .mapping = mapping};
    return add_known(t, op, remedy, t->value[op] - (double)(t->plan->sum.cycles - fused->sum.cycles), true);
}

static tw_status try_mapping(trial *t)
{
    if (!t->given || t->counts) return TW_OK;
    bool time = t->goals.goal[0].measure == TW_CYCLES;
    for (int op = 0; op < t->plan->model->n_ops && !t->asker.stopped; op++) {
        if (op > 0 && time) TW_TRY(try_fusion(t, op));
        TW_TRY(try_single_changes(t, op));
        TW_TRY(try_search(t, op));
    }
    return TW_OK;
}

/* ---- fusion that nobody wished for ---- */

static bool may_fuse(const trial *t, int op)
{
    const tw_model *model = t->plan->model;
    tw_diag muted = {.muted = true};
    return !model->op[op].wants_fusion && !t->plan->mapping->op[op].fused &&
           tw_fusion_check(model, op, t->plan->machine, model->op[op].loc, &muted) == TW_OK;
}

/* The model with a wish for every pair of neighbours that can be fused and is not; returns how many. */
static tw_status add_wishes(const trial *t, tw_model *out, int *n)
{
    tw_op *op;
    *out = *t->plan->model;
    *n = 0;
    TW_ALLOC(t->work, op, out->n_ops);
    for (int i = 0; i < out->n_ops; i++) {
        bool may = i > 0 && may_fuse(t, i);
        op[i] = out->op[i];
        op[i].wants_fusion |= may;
        *n += may;
    }
    out->op = op;
    return TW_OK;
}

/* "'fc.add' fused with 'fc', 'out' with 'act': what is between them never leaves 'l1'" */
static const char *describe_fusion(const trial *t, const tw_plan *fused)
{
    enum { LISTED = 4 };
    const tw_machine *machine = t->plan->machine;
    tw_text text = {0};
    int n = 0;
    for (int i = 1; i < t->plan->model->n_ops; i++) {
        if (!fused->mapping->op[i].fused || t->plan->mapping->op[i].fused) continue;
        if (n++ < LISTED)
            tw_text_printf(&text, "%s'%s'%s with '%s'", n > 1 ? ", " : "", t->plan->model->op[i].name,
                           n > 1 ? "" : " fused", t->plan->model->op[i - 1].name);
    }
    if (n > LISTED) tw_text_printf(&text, " and %d more", n - LISTED);
    tw_text_printf(&text, "%swhat is between %s never leaves '%s'",
                   n ? ": " : "neighbours fused: ", n > 1 ? "each two" : "them",
                   machine->memory[machine->n_memories - 1].name);
    const char *change = text.failed ? NULL : tw_arena_strndup(t->arena, text.bytes, text.len);
    tw_text_release(&text);
    return change;
}

static double plan_value(const trial *t, const tw_plan *plan)
{
    return t->goals.goal[0].measure == TW_ENERGY ? (double)plan->sum.energy_fj : (double)plan->sum.cycles;
}

/* What planning the operators gives if all that can be fused may be. */
static tw_status ask_fusion(trial *t, const tw_model *model)
{
    double before = 0;
    tw_deadline share;
    tw_deadline_init(&share, time_of_search(&t->asker) * model->n_ops, t->asker.deadline);
    tw_diag muted = {.muted = true, .deadline = &share};
    const tw_request request = {model, t->plan->machine, &t->asker.options, NULL, NULL};
    const tw_work work = {t->arena, t->asker.scratch, &muted};
    tw_remedy remedy = {.kind = TW_OTHER_FUSION, .at = t->plan->model->name, .change = "neighbours fused"};
    const tw_plan *fused = NULL;
    tw_status status = goes_on(t, 0) ? tw_plan_find(&request, &work, &fused) : TW_STOPPED;
    t->asker.n_left -= model->n_ops;
    if (status == TW_ERR_NOMEM) return status;
    remedy.untried = status != TW_OK || t->asker.stopped;
    for (int i = 0; i < model->n_ops; i++) before += t->value[i];
    double won = remedy.untried ? 0 : fmax(0, before - plan_value(t, fused));
    if (!remedy.untried) remedy.mapping = fused->mapping;
    if (!remedy.untried) remedy.change = describe_fusion(t, fused);
    if (!remedy.change) return TW_ERR_NOMEM;
    return add_known(t, 0, remedy, t->value[0] - won, !remedy.untried && won > 0);
}

static tw_status try_wishes(trial *t)
{
    tw_model model;
    int n;
    bool adds_up = t->goals.goal[0].measure == TW_CYCLES || t->goals.goal[0].measure == TW_ENERGY;
    if (t->given || !adds_up) return TW_OK;
    TW_TRY(add_wishes(t, &model, &n));
    if (n == 0) return TW_OK;
    if (t->counts) t->asker.n_left += model.n_ops;
    return t->counts ? TW_OK : ask_fusion(t, &model);
}

static tw_status try_each(trial *t)
{
    TW_TRY(try_mapping(t));
    TW_TRY(try_wishes(t));
    TW_TRY(try_machines(t));
    return t->given ? TW_OK : try_buffers(t);
}

/* Each gets its share of the time. */
static tw_status try_all(trial *t)
{
    t->counts = true;
    TW_TRY(try_each(t));
    t->counts = false;
    return try_each(t);
}

/* Whether the mapping came from nowhere: no operator was searched for. */
static bool is_given(const tw_plan *plan)
{
    for (int i = 0; i < plan->model->n_ops; i++)
        if (plan->op[i].searched) return false;
    return true;
}

static tw_status begin(trial *t, const tw_search_options *options, const tw_deadline *deadline, tw_arena *scratch)
{
    int n_ops = t->plan->model->n_ops;
    tw_diag muted = {.muted = true};
    TW_TRY(asker_init(&t->asker, options, deadline, scratch));
    TW_TRY(tw_goals_of(&t->asker.options, t->plan->machine, &muted, &t->goals));
    TW_ALLOC(t->work, t->best, n_ops);
    TW_ALLOC(t->work, t->value, n_ops);
    t->proven = true;
    for (int i = 0; i < n_ops; i++) {
        t->best[i] = t->plan->mapping->op[i];
        t->value[i] = t->plan->op[i].search.least[0]; /* what it gave up for other objectives is no one's gain */
        t->proven = t->proven && (t->given || t->plan->op[i].search.proven);
        if (t->given) TW_TRY(value_of(t, i, t->plan->machine, &t->best[i], &t->value[i]));
    }
    return TW_OK;
}

static tw_status finish(trial *t, const tw_remedy **out, int *n)
{
    tw_remedy *list;
    TW_ALLOC(t->arena, list, t->n);
    for (int i = 0; i < t->n; i++) {
        TW_TRY(settle(t, &t->list[i]));
        list[i] = t->list[i].remedy;
    }
    sort(list, t->n);
    *out = list;
    *n = t->n;
    return TW_OK;
}

tw_status tw_remedies_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                           const tw_remedy **out, int *n)
{
    tw_deadline limit;
    if (plan->joint) return tw_joint_remedies_find(plan, options, work, out, n);
    tw_deadline_init(&limit, options->time_limit, work->diag->deadline);
    trial t = {.plan = plan, .given = is_given(plan), .arena = work->arena, .work = tw_arena_new()};
    tw_status status = t.work ? begin(&t, options, &limit, work->scratch) : TW_ERR_NOMEM;
    if (status == TW_OK) status = try_all(&t);
    if (status == TW_OK) status = finish(&t, out, n);
    tw_evaluator_free(t.asker.evaluator);
    tw_arena_free(t.work);
    return status;
}

/* ---- hints ---- */

/* The next one that helps behind the first `from`: of the machine, elsewhere than there, or of the mapping; -1: none does. */
static int next_hint(const tw_remedy *list, int n, bool of_mapping, const char *elsewhere)
{
    static const double worth = 0.01;
    for (int i = 0; i < n; i++)
        if (list[i].feasible && list[i].gain >= worth && tw_change_is_of_mapping(list[i].kind) == of_mapping &&
            !(elsewhere && strcmp(list[i].at, elsewhere) == 0))
            return i;
    return -1;
}

/* Of a sorted list, those worth telling, the best first. */
static tw_status choose(const tw_remedy *list, int n, tw_arena *arena, const tw_remedy **out, int *n_out)
{
    tw_remedy *chosen;
    int machine = next_hint(list, n, false, NULL), mapping = next_hint(list, n, true, NULL), m = 0;
    int other = machine >= 0 ? next_hint(list, n, false, list[machine].at) : -1;
    TW_ALLOC(arena, chosen, TW_MAX_HINTS);
    for (int i = 0; i < n; i++)
        if (i == machine || i == mapping || i == other) chosen[m++] = list[i];
    *out = chosen;
    *n_out = m;
    return TW_OK;
}

/* Changes of the machine, then, unless nothing better exists, single changes of the mapping. */
static tw_status try_hints(trial *t)
{
    bool proven = true;
    for (int i = 0; i < t->plan->model->n_ops; i++)
        proven = proven && t->plan->op[i].searched && t->plan->op[i].search.proven;
    TW_TRY(try_machines(t));
    for (int op = 0; op < t->plan->model->n_ops && !proven && *t->left > 0; op++) TW_TRY(try_single_changes(t, op));
    return TW_OK;
}

tw_status tw_hints_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                        const tw_remedy **out, int *n)
{
    int64_t left = TW_HINT_COMMANDS;
    tw_search_options own = *options;
    const tw_remedy *list = NULL;
    int n_list = 0;
    own.n_threads = 1;
    own.progress = NULL;
    *out = NULL;
    *n = 0;
    if (plan->sum.instructions > TW_HINT_COMMANDS / 4) return TW_OK;
    if (plan->joint) {
        TW_TRY(tw_joint_hints_find(plan, &own, &left, work, &list, &n_list));
        return choose(list, n_list, work->arena, out, n);
    }
    trial t = {.plan = plan, .given = true, .left = &left, .arena = work->arena, .work = tw_arena_new()};
    tw_status status = t.work ? begin(&t, &own, work->diag->deadline, work->scratch) : TW_ERR_NOMEM;
    if (status == TW_OK) status = try_hints(&t);
    if (status == TW_OK) status = finish(&t, &list, &n_list);
    if (status == TW_OK) status = choose(list, n_list, work->arena, out, n);
    tw_evaluator_free(t.asker.evaluator);
    tw_arena_free(t.work);
    return status;
}

/* ---- the smallest capacity ---- */

typedef struct capacity {
    const tw_problem *problem;
    const tw_op_map *beside; /* as the search had the others; NULL: they take one tile */
    asker asker;
    bool proven;    /* that nothing fits: then any size that does is worth telling */
    bool unsettled; /* of some memory it stayed open whether it alone would help */
    tw_diag *diag;
} capacity;

typedef struct smallest {
    tw_program program;            /* of the operator                                                   */
    int64_t used[TW_MAX_MEMORIES]; /* by it and those that are fused behind it                           */
    bool exact;                    /* less is impossible                                                */
} smallest;

/* Searches for buffers that are small in these memories, which are without limit, in the first most of all.
 * TW_INFEASIBLE with out->exact: nothing fits. */
static tw_status find_smallest(capacity *c, const int *memory, int n, smallest *out)
{
    tw_machine *relaxed;
    tw_op_map *map;
    TW_ALLOC(c->asker.scratch, relaxed, 1);
    TW_ALLOC(c->asker.scratch, map, 1);
    *relaxed = *c->problem->machine;
    tw_search_options options = c->asker.options;
    tw_objective objective[TW_MAX_OBJECTIVES];
    tw_search_record result;
    tw_diag muted = {.muted = true};
    options.n_objectives = (int)tw_min(n, TW_MAX_OBJECTIVES);
    options.objective = objective;
    for (int i = 0; i < n; i++) relaxed->memory[memory[i]].size = TW_UNLIMITED;
    for (int i = 0; i < options.n_objectives; i++)
        objective[i] = (tw_objective){TW_PEAK, relaxed->memory[memory[i]].name};
    const tw_problem problem = {c->problem->model, c->problem->op, relaxed};
    tw_status status = ask(&c->asker, &problem, c->beside, &options, map, &result);
    *out = (smallest){.exact = result.proven};
    TW_TRY(status);
    const tw_machine *view;
    TW_TRY(view_of(&problem, c->beside, &options, c->asker.scratch, &view));
    TW_TRY(tw_program_build(&(tw_problem){c->problem->model, c->problem->op, view}, map, c->asker.scratch, &muted,
                            &out->program));
    for (int m = 1; m < view->n_memories; m++)
        TW_TRY(tw_group_need(&out->program, m, c->asker.scratch, &out->used[m]));
    return TW_OK;
}

static void list_pool(const tw_program *p, int m, int o, tw_text *out)
{
    const tw_layout *layout = &p->layout;
    int n = layout->count[m][o];
    if (n == 0) return;
    int64_t size = layout->buffer[layout->first[m][o]].size;
    tw_text_printf(out, "%s'%s' ", out->len ? ", " : "", p->op->operand[o].name);
    if (n > 1 && layout->ahead[m][o] > 0)
        tw_text_printf(out, "%s + %d x %s", TW_GROUPED(size), n - 1, TW_GROUPED(layout->ahead[m][o]));
    else
        tw_text_printf(out, "%d x %s", n, TW_GROUPED(size));
}

/* "'ifm' 1 x 4, 'ofm' 2 x 1" */
static void list_buffers(const tw_program *p, int m, tw_text *out)
{
    for (int o = 0; o < p->op->n_operands; o++) list_pool(p, m, o, out);
}

static void say_one(capacity *c, int m, const smallest *s)
{
    const tw_memory *memory = &c->problem->machine->memory[m];
    int64_t used = s->used[m];
    tw_text buffers = {0};
    list_buffers(&s->program, m, &buffers);
    if (used > s->program.layout.used[m]) tw_text_printf(&buffers, ", and what is fused behind");
    tw_diag_note(c->diag, memory->loc, "with %s %s '%s' would be large enough, %s more than it has: %s%s",
                 TW_GROUPED(used), tw_unit_plural(c->problem->machine->unit), memory->name,
                 TW_GROUPED(used - memory->size),
                 buffers.failed ? "there is no memory to say what takes it" : buffers.bytes,
                 s->exact ? "" : "; less may do");
    tw_text_release(&buffers);
}

/* Whether the memory alone, made large enough, helps. */
static bool note_one(capacity *c, int m)
{
    tw_arena_mark mark = tw_arena_save(c->asker.scratch);
    smallest s;
    c->asker.n_left--;
    tw_status status = find_smallest(c, &m, 1, &s);
    bool helps = status == TW_OK && !c->asker.stopped && s.used[m] > c->problem->machine->memory[m].size;
    c->unsettled |= !helps && !s.exact;
    if (helps && (c->proven || s.exact)) say_one(c, m, &s);
    tw_arena_rewind(c->asker.scratch, mark);
    return helps;
}

/* "64 in 'l2' (has 60), 2 in 'l1' (has 1)" */
static void list_sizes(const tw_machine *machine, const int64_t used[TW_MAX_MEMORIES], tw_text *out)
{
    for (int m = 1; m < machine->n_memories; m++) {
        const tw_memory *memory = &machine->memory[m];
        if (used[m] > memory->size)
            tw_text_printf(out, "%s%s in '%s' (has %s)", out->len ? ", " : "", TW_GROUPED(used[m]), memory->name,
                           TW_GROUPED(memory->size));
    }
}

static void note_all(capacity *c, const int *memory, int n)
{
    tw_arena_mark mark = tw_arena_save(c->asker.scratch);
    smallest s;
    tw_status status = find_smallest(c, memory, n, &s);
    tw_arena_rewind(c->asker.scratch, mark); /* the sizes lie outside of it */
    tw_loc loc = c->problem->model->op[c->problem->op].loc;
    if (c->asker.stopped) return;
    if (status == TW_INFEASIBLE && s.exact) tw_diag_note(c->diag, loc, "memories of any size would not help");
    if (status != TW_OK || !c->proven) return;
    tw_text sizes = {0};
    list_sizes(c->problem->machine, s.used, &sizes);
    if (sizes.len && !sizes.failed)
        tw_diag_note(c->diag, loc, "%sit would fit with these %s: %s",
                     c->unsettled ? "" : "no single memory is to blame; ",
                     tw_unit_plural(c->problem->machine->unit), sizes.bytes);
    tw_text_release(&sizes);
}

static void note_no_time(const tw_op *op, tw_diag *diag)
{
    tw_diag_note(diag, op->loc, "there was no time to find out how large its memories would have to be");
}

void tw_smallest_capacity_note(const tw_problem *problem, const tw_op_map *beside, const tw_search_options *options,
                               bool proven, tw_arena *scratch, tw_diag *diag)
{
    static const double most_seconds = 10; /* nobody waits longer for advice */
    capacity c = {.problem = problem, .beside = beside, .proven = proven, .diag = diag};
    const tw_machine *machine = problem->machine;
    const tw_op *op = &problem->model->op[problem->op];
    int memory[TW_MAX_MEMORIES], n = 0;
    bool helped = false;
    tw_deadline limit;
    if (diag->muted) return;
    if (tw_deadline_is_over(diag->deadline)) {
        note_no_time(op, diag);
        return;
    }
    tw_deadline_init(&limit, most_seconds, diag->deadline);
    if (asker_init(&c.asker, options, &limit, scratch) != TW_OK) return;
    c.asker.options.exhaustive = false; /* the same answer, sooner */
    if (options->budget <= 0 && !options->prove) c.asker.options.budget = TW_DEFAULT_BUDGET;
    c.asker.options.prove = true; /* the least is asked for, not what is near it */
    c.asker.n_left = machine->n_memories;
    for (int m = machine->n_memories - 1; m >= 1; m--)
        if (machine->memory[m].size != TW_UNLIMITED) memory[n++] = m;
    for (int i = n - 1; i >= 0 && !c.asker.stopped; i--) helped = note_one(&c, memory[i]) || helped;
    if (!helped && !c.asker.stopped && n > 0) note_all(&c, memory, n);
    if (c.asker.stopped) note_no_time(op, diag);
    tw_evaluator_free(c.asker.evaluator);
}
