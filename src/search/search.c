/* src/search/search.c - see search.h: the space, the hunt, and what is said about it. */
#include "search/branch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double gap_of(double best, double bound) { return best > bound && best > 0 ? (best - bound) / best : 0; }

static void describe_bound(const tw_space *s, const tw_hunt *hunt, tw_search_record *r)
{
    r->root_bound = (double)hunt->root.of[0];
    r->bound_by = hunt->root_by;
    if (hunt->root_at >= 0) r->bound_at = s->machine->engine[hunt->root_at].name;
}

/* By the machine's own names: the caller's need not live as long. */
static tw_objective objective_of(const tw_goal *goal, const tw_machine *machine)
{
    const char *mover = goal->engine < 0 ? NULL : machine->engine[goal->engine].name;
    return (tw_objective){goal->measure, goal->memory < 0 ? mover : machine->memory[goal->memory].name};
}

/* Whether options leave out a part of what the space has by its name. */
static bool is_limited(const tw_search_options *o)
{
    bool fewer = o->max_execs > 0 || o->max_outer > 0 || o->max_inner > 0 || o->max_buffers > 0 || o->min_tile > 1;
    return o->limits || fewer || o->mode != TW_MODE_DEFAULT || o->cut != TW_CUT_DEFAULT ||
           o->approach != TW_APPROACH_BEST;
}

static void describe(const tw_space *s, const tw_goals *goals, const tw_search_options *options,
                     const tw_hunt *hunt, tw_search_record *r)
{
    bool budget = hunt->ending == TW_END_BUDGET && options->budget <= 0;
    *r = (tw_search_record){.space = options->space,
                            .ending = hunt->ending,
                            .by_default = budget || (hunt->ending == TW_END_GAP && options->gap <= 0),
                            .limited = is_limited(options),
                            .proven = !hunt->any_open};
    if (hunt->front.n == 0) return;
    r->n_objectives = goals->n;
    const tw_best *best = &hunt->front.best[0];
    tw_wide first = best->value.of[0];
    for (int i = 0; i < goals->n; i++) {
        r->objective[i] = objective_of(&goals->goal[i], s->machine);
        r->value[i] = (double)best->value.of[i];
    }
    r->best = first > INT64_MAX ? INT64_MAX : (int64_t)first;
    tw_wide bound = hunt->any_open && hunt->open.of[0] < first ? hunt->open.of[0] : first;
    r->bound = (double)bound;
    r->gap = gap_of((double)first, (double)bound);
    r->n_space = options->exhaustive && r->proven ? (double)hunt->n_points : tw_space_count(s);
    r->n_nodes = hunt->n_nodes;
    r->work = hunt->work;
    r->n_points =
        (double)hunt->n_points < r->n_space ? hunt->n_points : (int64_t)r->n_space; /* seeds may come again */
    memcpy(r->closed, hunt->closed, sizeof r->closed);
    if (hunt->front.counts && !goals->pareto) r->n_optima = hunt->front.n_optima;
    r->seconds = hunt->seconds;
    describe_bound(s, hunt, r);
}

static tw_status keep_found(const tw_hunt *hunt, tw_arena *arena, tw_found *found)
{
    found->map = hunt->front.best[0].map;
    if (!hunt->front.goals->pareto) return TW_OK;
    tw_op_map *map;
    tw_goal_value *value;
    TW_ALLOC(arena, map, hunt->front.n);
    TW_ALLOC(arena, value, hunt->front.n);
    for (int i = 0; i < hunt->front.n; i++) {
        map[i] = hunt->front.best[i].map;
        value[i] = hunt->front.best[i].value;
    }
    found->n_front = hunt->front.n;
    found->front = map;
    found->front_value = value;
    return TW_OK;
}

/* Nothing was found: why, and what came nearest. */
static tw_status refuse(const tw_space *s, const tw_search_options *options, const tw_hunt *hunt, tw_diag *diag,
                        tw_found *found)
{
    found->nearest = hunt->has_nearest;
    found->map = hunt->nearest;
    if (!hunt->any_open)
        return tw_diag_infeasible(diag, s->op->loc,
                                  "no mapping of '%s' in the space '%s' fits machine '%s', proven", s->op->name,
                                  tw_space_word(options->space), s->machine->name);
    static const char *const why[] = {[TW_END_DONE] = "",
                                      [TW_END_BUDGET] = "the budget",
                                      [TW_END_TIME] = "the time limit",
                                      [TW_END_STOPPED] = "the interruption",
                                      [TW_END_MEMORY] = "the memory limit",
                                      [TW_END_GAP] = "the gap"};
    return tw_diag_infeasible(diag, s->op->loc,
                              "no mapping of '%s' in the space '%s' that fits machine '%s' was found, not proven: "
                              "the search ended by %s, "
                              "there may be one",
                              s->op->name, tw_space_word(options->space), s->machine->name, why[hunt->ending]);
}

/* The smaller space that a search which gives up is followed by one over: the family of the notes or, where windows may be cut,
 * mappings that do not. TW_SPACE_ALL: none. */
static tw_space_name smaller_of(const tw_space *s, const tw_search_options *options)
{
    if (options->space != TW_SPACE_ALL || options->exhaustive) return TW_SPACE_ALL;
    if (s->rules->notes) return TW_SPACE_NOTES;
    return tw_op_windows(s->op) ? TW_SPACE_WINDOWS : TW_SPACE_ALL;
}

static bool has_default_budget(const tw_search_options *options) { return options->budget <= 0 && !options->prove; }

/* The budget of the space itself: as with time, some is kept for the smaller one. */
static int64_t work_of_space(const tw_space *s, const tw_search_options *options)
{
    bool keeps = smaller_of(s, options) != TW_SPACE_ALL && has_default_budget(options);
    return keeps ? TW_DEFAULT_BUDGET / 4 * 3 : options->budget;
}

/* What the other search did. */
static void add_hunt(tw_hunt *to, const tw_hunt *from)
{
    to->n_nodes += from->n_nodes;
    to->n_points += from->n_points;
    to->work += from->work;
    to->seconds += from->seconds;
}

/* A search that gave up must not be worse than one over a smaller space. */
static tw_status ask_smaller(const tw_search *search, const tw_space *s, const tw_goals *goals, tw_arena *arena,
                             tw_diag *diag, tw_hunt *hunt)
{
    const tw_search_options *options = search->options;
    tw_search_options less = *options;
    tw_search small = {search->problem, &less, search->eval, NULL};
    tw_space family;
    tw_hunt other;
    bool stopped = hunt->ending == TW_END_STOPPED;
    bool ended = !hunt->any_open || (stopped && hunt->front.n > 0) || hunt->ending == TW_END_GAP;
    less.space = smaller_of(s, options);
    if (ended || less.space == TW_SPACE_ALL) return TW_OK;
    if (less.space == TW_SPACE_NOTES && options->mode == TW_MODE_DEFAULT) less.mode = TW_MODE_ANY;
    less.max_execs = less.max_outer = less.max_inner = 0;
    if (has_default_budget(options)) less.budget = TW_DEFAULT_BUDGET - work_of_space(s, options);
    TW_TRY(tw_space_of(&search->problem, &less, arena, diag, &family));
    TW_TRY(tw_space_measure(&family, arena));
    tw_deadline soon; /* nobody is asked any more */
    tw_deadline_init(&soon, TW_HURRY, NULL);
    if (stopped) less.progress = NULL;
    tw_status status = tw_branch(&small, &family, goals, stopped ? &soon : diag->deadline, &other);
    for (int i = 0; i < other.front.n && status == TW_OK; i++)
        status = tw_front_offer(&hunt->front, s->op, &other.front.best[i].value, -1, &other.front.best[i].map);
    add_hunt(hunt, &other);
    if (hunt->front.n > 0 && !tw_front_wants(&hunt->front, &hunt->open)) hunt->any_open = false;
    tw_front_release(&other.front);
    return status;
}

/* Seconds for the space itself, so that some are left for a smaller one; 0: all there are. */
static double time_of_space(const tw_space *s, const tw_search_options *options, const tw_diag *diag)
{
    static const double share = 0.75;
    double left = tw_deadline_left(diag->deadline);
    return smaller_of(s, options) != TW_SPACE_ALL && isfinite(left) ? left * share : 0;
}

tw_status tw_search_op(const tw_search *search, tw_arena *arena, tw_diag *diag, tw_found *found,
                       tw_search_record *result)
{
    const tw_search_options *options = search->options;
    tw_space space;
    tw_goals goals;
    tw_hunt hunt;
    *found = (tw_found){0};
    TW_TRY(tw_goals_of(options, search->problem.machine, diag, &goals));
    TW_TRY(tw_space_of(&search->problem, options, arena, diag, &space));
    TW_TRY(tw_space_measure(&space, arena));
    tw_deadline most;
    tw_deadline_init(&most, time_of_space(&space, options, diag), diag->deadline);
    tw_search_options share = *options;
    share.budget = work_of_space(&space, options);
    tw_status status =
        tw_branch(&(tw_search){search->problem, &share, search->eval, search->start}, &space, &goals, &most, &hunt);
    if (status == TW_OK) status = ask_smaller(search, &space, &goals, arena, diag, &hunt);
    bool none = status == TW_OK && hunt.front.n == 0 && !hunt.any_open;
    if (none && options->space == TW_SPACE_WINDOWS) { /* no whole window fits */
        tw_search_options all = *options;
        all.space = TW_SPACE_ALL;
        tw_front_release(&hunt.front);
        return tw_search_op(&(tw_search){search->problem, &all, search->eval, search->start}, arena, diag, found,
                            result);
    }
    if (status == TW_OK) {
        describe(&space, &goals, options, &hunt, result);
        status = hunt.front.n > 0 ? keep_found(&hunt, arena, found) : refuse(&space, options, &hunt, diag, found);
    }
    tw_front_release(&hunt.front);
    return status;
}

/* The least bound of all frames. */
static tw_status least_of_frames(const tw_space *s, const tw_goals *goals, bool *any, tw_goal_value *out)
{
    *any = false;
    for (int i = 0; i < s->n_frames; i++) {
        bool empty;
        tw_least least;
        tw_part *part = tw_part_of_frame(s, i, &empty);
        if (!part) return TW_ERR_NOMEM;
        if (!empty) tw_part_least(s, part, &least);
        if (!empty && least.feasible) {
            tw_part_bound(s, goals, &least, part);
            if (!*any || tw_value_compare(goals, &part->bound, out) < 0) *out = part->bound;
            *any = true;
        }
        free(part);
    }
    return TW_OK;
}

tw_status tw_search_floor(const tw_search *search, tw_arena *arena, tw_diag *diag, tw_goal_value *out)
{
    tw_search_options all = *search->options; /* where no whole window fits, others are tried */
    if (all.space == TW_SPACE_WINDOWS) all.space = TW_SPACE_ALL;
    tw_space space;
    tw_goals goals;
    bool any;
    TW_TRY(tw_goals_of(&all, search->problem.machine, diag, &goals));
    TW_TRY(tw_space_of(&search->problem, &all, arena, diag, &space));
    TW_TRY(tw_space_measure(&space, arena));
    TW_TRY(least_of_frames(&space, &goals, &any, out));
    return any ? TW_OK : TW_INFEASIBLE;
}

const char *tw_space_word(tw_space_name space)
{
    static const char *const word[] = {
        [TW_SPACE_ALL] = "all", [TW_SPACE_NOTES] = "notes", [TW_SPACE_WINDOWS] = "windows"};
    return word[space];
}

const char *tw_space_meaning(tw_space_name space)
{
    static const char *const meaning[] = {
        [TW_SPACE_ALL] = "everything that a mapping may choose",
        [TW_SPACE_NOTES] = "the tick machine's family: few executions, one or two buffers",
        [TW_SPACE_WINDOWS] = "everything that a mapping may choose, but windows stay whole"};
    return meaning[space];
}

const char *tw_closer_name(tw_closer closer)
{
    static const char *const name[] = {
        [TW_BOUND_CAPACITY] = "capacity", [TW_BOUND_COMPUTE] = "compute", [TW_BOUND_LINK] = "link",
        [TW_BOUND_MOVEMENT] = "movement", [TW_BOUND_ROWS] = "rows",       [TW_BOUND_PEAK] = "peak",
        [TW_BOUND_ENERGY] = "energy",     [TW_BOUND_RELAXED] = "relaxed"};
    return name[closer];
}
