/* src/search/search.c - the space, the stages of a list of objectives, and what is said about them; see search.h.
 *
 * Each objective has a stage of its own, a whole search with the effort that it would have alone: first the least of the
 * first objective, then the least of the second among the mappings that keep the first within its tolerance, and so on. So a
 * later objective never costs an earlier one. In the end short stages lower what lists do not name: objectives that were
 * allowed some tolerance, energy, time, memory; these look at nothing but ties. */
#include "search/branch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double gap_of(double best, double bound) { return best > bound && best > 0 ? (best - bound) / best : 0; }

/* What the stage of an objective found out. */
typedef struct finding {
    tw_wide least, bound; /* the least found; nothing that keeps the objectives before it has less than `bound` */
    bool proven;
} finding;

/* A list of objectives, in stages. */
typedef struct staged {
    const tw_search *search;
    tw_space space;
    tw_space_name smaller; /* see smaller_of */
    tw_goals asked, stage; /* all; and those of the stage that was last */
    tw_hunt hunt;          /* of all stages together; its front is that of the last */
    int n_found;           /* objectives whose stage was run */
    finding finding[TW_MAX_OBJECTIVES];
    tw_goal_value value;                         /* of all objectives, of the best mapping */
    tw_goal kept[TW_MAX_OBJECTIVES + TW_N_TIES]; /* limits of the stages to come                */
    int n_kept;
    bool tied;   /* what decides among equals is proven, too */
    bool spared; /* the objective that ended last was proven so soon that nobody looked for less energy yet */
    bool cut;    /* a stage could not even simulate what it began with: no more of them */
    bool single; /* one search for the whole list: all its values are compared as they are */
} staged;

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

static void describe_objectives(const staged *c, tw_search_record *r)
{
    r->n_objectives = c->asked.n;
    for (int i = 0; i < c->asked.n; i++) {
        const tw_goal *goal = &c->asked.goal[i];
        const finding *f = &c->finding[i];
        r->objective[i] = objective_of(goal, c->space.machine);
        r->value[i] = (double)c->value.of[i];
        r->within[i] = goal->within;
        tw_wide least =
            f->least < c->value.of[i] ? f->least : c->value.of[i]; /* a later stage may have lowered it */
        r->least[i] = goal->within > 0 ? (double)least : r->value[i];
        r->bounds[i] = (double)(f->bound < f->least ? f->bound : f->least);
        r->bounds[i] = r->bounds[i] < r->least[i] ? r->bounds[i] : r->least[i];
        r->proven = r->proven && f->proven;
    }
    tw_wide first = c->value.of[0];
    r->best = first > INT64_MAX ? INT64_MAX : (int64_t)first;
    r->bound = r->bounds[0];
    r->gap = gap_of(r->least[0], r->bound);
}

static void describe(const staged *c, tw_search_record *r)
{
    const tw_hunt *hunt = &c->hunt;
    const tw_search_options *options = c->search->options;
    bool budget = hunt->ending == TW_END_BUDGET && options->budget <= 0;
    *r = (tw_search_record){.space = options->space,
                            .ending = hunt->ending,
                            .by_default = budget || (hunt->ending == TW_END_GAP && options->gap <= 0),
                            .limited = is_limited(options),
                            .proven = true};
    if (hunt->front.n == 0) {
        r->proven = !hunt->any_open;
        return;
    }
    describe_objectives(c, r);
    r->n_space = options->exhaustive && r->proven ? (double)hunt->n_points : tw_space_count(&c->space);
    r->n_nodes = hunt->n_nodes;
    r->work = hunt->work;
    r->n_points = (double)hunt->n_points < r->n_space
                      ? hunt->n_points
                      : (int64_t)r->n_space; /* seeds, and later stages, may meet one again */
    memcpy(r->closed, hunt->closed, sizeof r->closed);
    if (hunt->front.counts && !c->asked.pareto) r->n_optima = hunt->front.n_optima;
    r->seconds = hunt->seconds;
    describe_bound(&c->space, hunt, r);
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
static tw_status refuse(const tw_space *s, const tw_search *search, const tw_hunt *hunt, tw_diag *diag,
                        tw_found *found)
{
    const tw_search_options *options = search->options;
    found->nearest = hunt->has_nearest;
    found->map = hunt->nearest;
    if (!hunt->any_open && search->among == TW_AMONG_WISHES)
        return tw_diag_infeasible(
            diag, s->op->loc,
            "no mapping of '%s' in the space '%s' that fits machine '%s' was found, not proven: "
            "there is none by itself, but the search ended before all that is fused was ruled out",
            s->op->name, tw_space_word(options->space), s->machine->name);
    if (!hunt->any_open && search->among == TW_AMONG_OTHERS)
        return tw_diag_infeasible(diag, s->op->loc,
                                  "no mapping of '%s' in the space '%s' that fits machine '%s' beside what is "
                                  "fused with it was found, not "
                                  "proven: others of these might leave more room",
                                  s->op->name, tw_space_word(options->space), s->machine->name);
    bool cores = s->machine->platform && s->machine->platform->n_cores > 1; /* others may have room */
    if (!hunt->any_open && cores)
        return tw_diag_infeasible(diag, s->op->loc,
                                  "no mapping of '%s' in the space '%s' fits engine '%s' of machine '%s', proven",
                                  s->op->name, tw_space_word(options->space),
                                  s->machine->engine[s->machine->compute].name, s->machine->name);
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
    bool all = options->space == TW_SPACE_ALL, whole = options->space == TW_SPACE_WHOLE;
    if (!(all || whole) || options->exhaustive) return TW_SPACE_ALL;
    if (s->rules->notes) return TW_SPACE_NOTES;
    return all && tw_op_windows(s->op) ? TW_SPACE_WINDOWS : TW_SPACE_ALL;
}

/* Work that a search may take, whoever said so; INT64_MAX: whatever a proof takes. */
static int64_t budget_of(const tw_search_options *options)
{
    return options->budget > 0 ? options->budget : options->prove ? INT64_MAX : TW_DEFAULT_BUDGET;
}

/* The budget of the smaller space that comes behind this one, which, as with time, is kept for it; 0: what the options say. There is none, or it has
 * as much again: less than the default is soon over. */
static int64_t work_of_smaller(tw_space_name smaller, const tw_search_options *options)
{
    int64_t budget = budget_of(options);
    bool kept = smaller != TW_SPACE_ALL && budget >= TW_DEFAULT_BUDGET && budget < INT64_MAX;
    return kept ? budget / 4 : 0;
}

static int64_t work_of_space(tw_space_name smaller, const tw_search_options *options)
{
    int64_t kept = work_of_smaller(smaller, options);
    return kept > 0 ? budget_of(options) - kept : options->budget;
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
static tw_status ask_smaller(const tw_search *search, const tw_space *s, tw_space_name smaller,
                             const tw_goals *goals, tw_arena *arena, tw_diag *diag, tw_hunt *hunt)
{
    const tw_search_options *options = search->options;
    tw_search_options less = *options;
    tw_search small = {search->problem, &less, search->eval, NULL, false};
    tw_space family;
    tw_hunt other;
    bool stopped = hunt->ending == TW_END_STOPPED;
    bool ended = !hunt->any_open || (stopped && hunt->front.n > 0) || hunt->ending == TW_END_GAP;
    less.space = smaller;
    if (ended || smaller == TW_SPACE_ALL) return TW_OK;
    if (less.space == TW_SPACE_NOTES && options->mode == TW_MODE_DEFAULT) less.mode = TW_MODE_ANY;
    less.max_execs = less.max_outer = less.max_inner = 0;
    if (work_of_smaller(less.space, options) > 0) less.budget = work_of_smaller(less.space, options);
    TW_TRY(tw_space_of(&search->problem, &less, arena, diag, &family));
    tw_space_aim(&family, goals);
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

static tw_wide value_in_best(const staged *c, const tw_goal *goal)
{
    return c->hunt.front.best[0].value.of[tw_goals_find(&c->stage, goal)];
}

/* ---- other objectives ---- */

/* What nothing is proven about is also looked for among what is best in something else: with a limit on energy, say, far fewer
 * mappings are left, and some of them are quick. So no objective is beaten at its own by what a search for another finds. */
enum {
    OTHERS_SHARE = 16, /* each of two searches has so much of the work                                   */
    SHORT_SHARE =
        16, /* and begins with what was found if simulating that, with other buffers, too, takes little of it */
};
static const int64_t least_for_others = 1000000;

/* Work for each of these searches, 0: there are none. */
static int64_t work_of_others(const staged *c)
{
    const tw_search_options *options = c->search->options;
    const tw_measure measure = c->asked.goal[0].measure;
    int64_t budget = options->budget > 0 ? options->budget : TW_DEFAULT_BUDGET;
    bool timed = options->time_limit > 0 || options->patience > 0; /* somebody is in a hurry */
    if (c->single || options->prove || timed || !c->space.rules->shortlist || budget < least_for_others) return 0;
    return measure == TW_CYCLES || measure == TW_EDP || measure == TW_ENERGY ? budget / OTHERS_SHARE : 0;
}

/* The same for a search with these goals. Energy alone is only counted, and found soon, but not in a sixteenth of little work. */
static int64_t work_beside(const staged *c, const tw_goals *goals)
{
    static const int64_t soon = 750000;
    const tw_search_options *options = c->search->options;
    bool counted = goals->goal[0].measure == TW_ENERGY && goals->n_limits == 0;
    int64_t budget = options->budget > 0 ? options->budget : TW_DEFAULT_BUDGET, work = work_of_others(c);
    return counted && work > 0 ? tw_max(work, tw_min(soon, budget / 2)) : work;
}

int64_t tw_outline_instructions(const tw_outline *outline, const tw_machine *machine)
{
    int64_t n = outline->n_execs;
    for (int e = 0; e < machine->n_engines; e++)
        if (!tw_ckd_add(n, outline->commands[e], &n)) return INT64_MAX;
    return n;
}

/* What a mapping costs; *known is false where its program is so long that finding out would take much of the work. */
static tw_status simulate_other(const staged *c, const tw_op_map *map, tw_outcome *out, bool *known)
{
    const tw_eval *eval = c->search->eval;
    tw_meter meter = {.limit = tw_max(least_for_others, work_of_others(c))};
    int64_t short_by;
    tw_status status = eval->cost(eval->user[0], &c->search->problem, map, &meter, out, &short_by);
    *known = !meter.unfinished;
    return status;
}

/* Instructions of a mapping's program, about as many where not all tiles have elements. */
static int64_t instructions_of(const staged *c, const tw_op_map *map, bool *exact)
{
    const tw_eval *eval = c->search->eval;
    tw_outline outline;
    *exact = false;
    if (!c->space.rules->shortlist) return 0; /* there every instruction is counted as it is */
    if (eval->outline(eval->user[0], &c->search->problem, map, &outline) != TW_OK) return 0;
    *exact = outline.exact;
    return tw_outline_instructions(&outline, c->space.machine);
}

/* Whether the mapping's program surely has so many instructions that simulating it would take all of this work. */
static bool is_long(const staged *c, const tw_op_map *map, int64_t work)
{
    bool exact;
    return instructions_of(c, map, &exact) > work && exact;
}

/* A search with these goals from a mapping on, or from nothing if its program is long; what it finds is offered. *out is its best, or
 * what it began with. */
static tw_status search_beside(staged *c, const tw_goals *goals, const tw_diag *diag, tw_op_map *out)
{
    tw_search_options options = *c->search->options;
    const tw_op_map start = *out;
    const bool begins = !is_long(c, out, work_of_others(c) / SHORT_SHARE);
    const tw_search search = {c->search->problem, &options, c->search->eval, begins ? &start : NULL, begins, true};
    tw_outcome outcome;
    bool known;
    tw_hunt hunt;
    options.budget = work_beside(c, goals);
    tw_space_aim(&c->space, goals);
    tw_status status = tw_branch(&search, &c->space, goals, diag->deadline, &hunt);
    if (status == TW_OK && hunt.front.n > 0) *out = hunt.front.best[0].map;
    add_hunt(&c->hunt, &hunt);
    tw_front_release(&hunt.front);
    tw_space_aim(&c->space, &c->stage);
    TW_TRY(status);
    TW_TRY(simulate_other(c, out, &outcome, &known));
    if (!known) return TW_OK;
    const tw_goal_value value = tw_goals_value(&c->stage, &outcome);
    return tw_front_offer(&c->hunt.front, c->space.op, &value, -1, out);
}

/* What has the least of the other measure with no more energy than the best: estimates of time lead to mappings that counts alone do not meet, some with
 * less energy. */
static tw_status ask_within_energy(staged *c, const tw_goal *other, const tw_diag *diag)
{
    const tw_goal *own = &c->asked.goal[0], limit = tw_goal_kept(own, value_in_best(c, own));
    const tw_goals within = tw_goals_stage(other, &limit, 1);
    tw_op_map map = c->hunt.front.best[0].map;
    return search_beside(c, &within, diag, &map);
}

/* What is best in the other measure, and what has the least of the objective with no more of the other. */
static tw_status ask_other(staged *c, tw_measure measure, const tw_diag *diag)
{
    const tw_goal *own = &c->asked.goal[0];
    const tw_goal other = {.measure = measure, .memory = -1, .engine = -1};
    const tw_goals alone = tw_goals_stage(&other, NULL, 0);
    tw_op_map map = c->hunt.front.best[0].map;
    tw_outcome outcome;
    bool known;
    TW_TRY(search_beside(c, &alone, diag, &map));
    TW_TRY(simulate_other(c, &map, &outcome, &known));
    if (!known) return TW_OK;
    const tw_goal limit = tw_goal_kept(&other, tw_goals_value(&alone, &outcome).of[0]);
    const tw_goals within = tw_goals_stage(own, &limit, 1);
    TW_TRY(search_beside(c, &within, diag, &map));
    return own->measure == TW_ENERGY ? ask_within_energy(c, &other, diag) : TW_OK;
}

/* Time and energy are weighed against their product, the product against both. */
static int list_others(const staged *c, tw_measure other[2])
{
    bool product = c->asked.goal[0].measure == TW_EDP;
    other[0] = product ? TW_CYCLES : TW_EDP;
    other[1] = TW_ENERGY;
    return 1 + product;
}

/* Work for all of them: of each two searches, of energy three. */
static int64_t work_of_all_others(const staged *c)
{
    tw_measure other[2];
    int64_t sum = c->asked.goal[0].measure == TW_ENERGY ? work_of_others(c) : 0;
    for (int i = list_others(c, other) - 1; i >= 0; i--) {
        const tw_goal goal = {.measure = other[i], .memory = -1, .engine = -1};
        const tw_goals alone = tw_goals_stage(&goal, NULL, 0);
        sum += work_beside(c, &alone) + work_of_others(c);
    }
    return sum;
}

static tw_status ask_others(staged *c, const tw_diag *diag)
{
    tw_measure other[2];
    int n = list_others(c, other);
    bool ended = !c->hunt.any_open || c->hunt.ending != TW_END_BUDGET || c->hunt.front.n == 0;
    if (ended || work_of_others(c) == 0) return TW_OK;
    for (int i = 0; i < n && !tw_deadline_is_over(diag->deadline); i++) TW_TRY(ask_other(c, other[i], diag));
    if (!tw_front_wants(&c->hunt.front, &c->hunt.open)) c->hunt.any_open = false;
    return TW_OK;
}

/* With little work for each of many layers a search for energy or for the product begins with what is best in something else: time is
 * estimated well, so that quick mappings are there soon, and there are some among them that move little. */
typedef struct aside {
    staged *of;
    const tw_diag *diag;
    tw_hunt spent;
    bool any; /* there is a best: */
    tw_op_map best;
    tw_goal_value value; /* by the objective itself */
} aside;

static bool begins_beside(const staged *c)
{
    const tw_search *search = c->search;
    tw_measure measure = c->asked.goal[0].measure;
    bool network = search->options->patience > 0 && !search->start && c->space.rules->shortlist;
    return network && !c->single && (measure == TW_ENERGY || measure == TW_EDP);
}

/* Searches with these goals, from `start` on, NULL: from nothing. *least: what it found of the first. */
static tw_status look_beside(aside *b, const tw_goals *goals, const tw_op_map *start, tw_wide *least,
                             tw_op_map *map)
{
    staged *c = b->of;
    const tw_search search = {c->search->problem, c->search->options, c->search->eval, start, true};
    tw_meter meter = {.limit = INT64_MAX};
    tw_outcome outcome;
    int64_t short_by;
    tw_hunt hunt;
    *least = -1;
    tw_space_aim(&c->space, goals);
    tw_status status = tw_branch(&search, &c->space, goals, b->diag->deadline, &hunt);
    add_hunt(&b->spent, &hunt);
    if (status == TW_OK && hunt.front.n > 0) {
        *least = hunt.front.best[0].value.of[0];
        *map = hunt.front.best[0].map;
    }
    tw_front_release(&hunt.front);
    if (status != TW_OK || *least < 0) return status;
    TW_TRY(search.eval->cost(search.eval->user[0], &search.problem, map, &meter, &outcome, &short_by));
    const tw_goal_value value = tw_goals_value(&c->stage, &outcome);
    if (b->any && tw_value_compare(&c->stage, &value, &b->value) >= 0) return TW_OK;
    b->any = true;
    b->value = value;
    b->best = *map;
    return TW_OK;
}

/* The quickest, the one with the least energy that is about as quick, and the one that is best in the other of energy and product. */
static tw_status begin_beside(aside *b)
{
    staged *c = b->of;
    const tw_goal cycles = {.measure = TW_CYCLES, .memory = -1, .engine = -1, .within = 0.01};
    const tw_goal energy = {.measure = TW_ENERGY, .memory = -1, .engine = -1};
    const tw_goal product = {.measure = TW_EDP, .memory = -1, .engine = -1};
    const tw_goals time = tw_goals_stage(&cycles, NULL, 0);
    tw_wide least;
    tw_op_map map;
    TW_TRY(look_beside(b, &time, NULL, &least, &map));
    if (least >= 0) {
        const tw_goal kept = tw_goal_kept(&cycles, least);
        const tw_goals within = tw_goals_stage(&energy, &kept, 1);
        const tw_op_map quick = map;
        TW_TRY(look_beside(b, &within, &quick, &least, &map));
    }
    const tw_goals other = tw_goals_stage(c->asked.goal[0].measure == TW_EDP ? &energy : &product, NULL, 0);
    TW_TRY(look_beside(b, &other, NULL, &least, &map));
    tw_space_aim(&c->space, &c->stage);
    return TW_OK;
}

/* ---- fronts ---- */

/* A front has no sieve: a search that keeps whatever nothing beats meets its ends by chance. So where it is not proven each objective is looked
 * for alone, and each other one with a little more than the least of that, as lists are: what is found is offered. */
static const double corner_within[] = {0, 0.02, 0.1, 0.5};
enum { CORNER_ROUNDS = TW_COUNT(corner_within) };

/* Work for all such searches, 0: there are none. */
static int64_t work_of_corners(const staged *c)
{
    const tw_search_options *options = c->search->options;
    int64_t budget = options->budget > 0 ? options->budget : TW_DEFAULT_BUDGET;
    bool endless = options->prove && options->time_limit <= 0; /* that comes to its end without them */
    bool few = !c->asked.pareto || c->asked.n < 2 || budget < least_for_others;
    return endless || few || options->exhaustive ? 0 : budget / 2;
}

/* What such searches have, and what they found: the least of each objective, and the mapping that has it. */
typedef struct corners {
    staged *of;
    const tw_diag *diag;
    int64_t left, each;               /* pieces of work */
    tw_wide least[TW_MAX_OBJECTIVES]; /* < 0: none */
    tw_op_map best[TW_MAX_OBJECTIVES];
} corners;

/* The least by these goals from a mapping on, NULL: from nothing. Where programs are long, each search has work for some. */
static tw_status look_for_corner(corners *k, const tw_goals *goals, const tw_op_map *start, tw_wide *least,
                                 tw_op_map *map)
{
    static const int64_t programs = 12;
    staged *c = k->of;
    tw_search_options options = *c->search->options;
    const tw_search search = {c->search->problem, &options, c->search->eval, start, start != NULL};
    tw_outcome outcome;
    tw_hunt hunt;
    bool known = false, exact;
    int64_t enough = start ? instructions_of(c, start, &exact) * programs : 0;
    *least = -1;
    options.budget = tw_min(k->left, tw_max(k->each, enough));
    options.prove = false;
    if (options.budget <= 0 || tw_deadline_is_over(k->diag->deadline)) return TW_OK;
    tw_space_aim(&c->space, goals);
    tw_status status = tw_branch(&search, &c->space, goals, k->diag->deadline, &hunt);
    k->left -= hunt.work;
    add_hunt(&c->hunt, &hunt);
    if (status == TW_OK && hunt.front.n > 0) {
        *least = hunt.front.best[0].value.of[0];
        *map = hunt.front.best[0].map;
    }
    tw_front_release(&hunt.front);
    tw_space_aim(&c->space, &c->stage);
    if (status == TW_OK && *least >= 0) status = simulate_other(c, map, &outcome, &known);
    if (status != TW_OK || !known) return status;
    const tw_goal_value value = tw_goals_value(&c->stage, &outcome);
    return tw_front_offer(&c->hunt.front, c->space.op, &value, -1, map);
}

/* The least of each other objective with so much more of objective i than its least. */
static tw_status look_near_corner(corners *k, int i, double within)
{
    const tw_goals *asked = &k->of->asked;
    tw_goal own = asked->goal[i];
    tw_wide ignored;
    tw_op_map map;
    own.within = within;
    for (int o = 0; o < asked->n && k->least[i] >= 0; o++) {
        const tw_goal kept = tw_goal_kept(&own, k->least[i]);
        const tw_goals near = tw_goals_stage(&asked->goal[o], &kept, 1);
        if (o != i) TW_TRY(look_for_corner(k, &near, &k->best[i], &ignored, &map));
    }
    return TW_OK;
}

static tw_status ask_corners(staged *c, const tw_diag *diag)
{
    const int n = c->asked.n;
    corners k = {.of = c, .diag = diag, .left = work_of_corners(c)};
    if (!c->hunt.any_open || c->hunt.ending == TW_END_STOPPED || k.left == 0) return TW_OK;
    k.each = k.left / (n + n * (n - 1) * CORNER_ROUNDS);
    for (int i = 0; i < n; i++) {
        const tw_goals alone = tw_goals_stage(&c->asked.goal[i], NULL, 0);
        TW_TRY(look_for_corner(&k, &alone, NULL, &k.least[i], &k.best[i]));
    }
    for (int round = 0; round < CORNER_ROUNDS; round++)
        for (int i = 0; i < n; i++) TW_TRY(look_near_corner(&k, i, corner_within[round]));
    if (c->hunt.front.n > 0 && !tw_front_wants(&c->hunt.front, &c->hunt.open)) c->hunt.any_open = false;
    return TW_OK;
}

/* ---- stages ---- */

/* Seconds for the space itself, so that some are left for a smaller one and for the stages to come; 0: all there are. */
static double time_of_space(const staged *c, const tw_diag *diag)
{
    static const double share = 0.75, alone = 0.9, first = 0.6;
    double left = tw_deadline_left(diag->deadline);
    if (isinf(left)) return 0;
    if (c->smaller != TW_SPACE_ALL) left *= share;
    if (work_of_corners(c) > 0) return left * first;
    return c->single ? left : left * (c->asked.n > 1 ? first : alone);
}

/* What a search found out about its objective i. Of others than the first an open part says nothing: it may have less of
 * the first. */
static finding finding_of(const tw_hunt *hunt, const tw_best *best, int i)
{
    finding f = {.least = best->value.of[i], .bound = best->value.of[i], .proven = !hunt->any_open};
    if (hunt->any_open && (i > 0 || hunt->open.of[0] < f.least)) f.bound = i > 0 ? 0 : hunt->open.of[0];
    return f;
}

/* From now on the goal is a limit. Where its stage has lowered others, these stay as low. */
static void keep_goal(staged *c, const tw_goal *goal, tw_wide least)
{
    for (int k = 0; k < c->n_kept; k++)
        if (c->kept[k].within <= 0) c->kept[k].most = value_in_best(c, &c->kept[k]);
    c->kept[c->n_kept++] = tw_goal_kept(goal, least);
}

/* The limit that a goal is without tolerance, NULL: none. */
static const tw_goal *find_kept(const staged *c, const tw_goal *goal)
{
    for (int k = 0; k < c->n_kept; k++)
        if (tw_goal_same(&c->kept[k], goal) && c->kept[k].within <= 0) return &c->kept[k];
    return NULL;
}

/* What is told while a later stage runs: the numbers of the first objective stay. */
typedef struct relay {
    const tw_search_options *to;
    tw_progress told;
} relay;

static bool pass_on(void *user, const tw_progress *progress)
{
    const relay *r = user;
    tw_progress p = r->told;
    p.seconds += progress->seconds;
    p.nodes += progress->nodes;
    p.simulated += progress->simulated;
    return r->to->progress(r->to->user, &p);
}

static relay relay_of(const staged *c)
{
    const finding *f = &c->finding[0];
    tw_progress told = {.op = c->space.problem.op,
                        .found = true,
                        .best = (double)f->least,
                        .bound = (double)f->bound,
                        .gap = gap_of((double)f->least, (double)f->bound),
                        .seconds = c->hunt.seconds,
                        .nodes = c->hunt.n_nodes,
                        .simulated = c->hunt.n_points,
                        .space = tw_space_word(c->search->options->space)};
    return (relay){c->search->options, told};
}

/* Adds what a stage has done to what those before it did, and takes its front. */
static void add_stage(staged *c, const tw_goals *stage, tw_hunt *hunt)
{
    tw_hunt *sum = &c->hunt;
    sum->n_nodes += hunt->n_nodes;
    sum->n_points += hunt->n_points;
    sum->work += hunt->work;
    sum->seconds += hunt->seconds;
    for (int i = 0; i < TW_N_BOUNDS; i++) sum->closed[i] += hunt->closed[i];
    c->cut = hunt->front.n == 0;
    if (c->cut) {
        tw_front_release(&hunt->front);
        return;
    }
    c->stage = *stage;
    tw_front_release(&sum->front);
    sum->front = hunt->front;
    sum->front.goals = &c->stage;
}

/* Whether nobody waits for the stages to come. */
static bool is_cut_short(const staged *c, const tw_diag *diag)
{
    return c->cut || c->hunt.ending == TW_END_STOPPED || tw_deadline_is_over(diag->deadline);
}

/* The options of a stage that may take so much work, 0: what they say themselves. Where no budget is given a stage behind the
 * first also ends soon after it has found something better for the last time: of how far its objective may fall while others
 * are kept bounds know little, so that it would mostly take all of its two seconds. */
static tw_search_options stage_options(const staged *c, int64_t budget)
{
    static const int64_t patience = 1500000, most = 8000000, share = 4, programs = 12;
    bool exact;
    tw_search_options options = *c->search->options;
    if (budget > 0)
        options.budget = tw_min(budget, options.budget > 0 ? options.budget : budget);
    else if (options.patience > 0)
        options.patience /= share;
    else if (options.budget <= 0 && !options.prove)
        options.patience =
            tw_clamp(instructions_of(c, &c->hunt.front.best[0].map, &exact) * programs, patience, most);
    if (options.progress) options.progress = pass_on;
    return options;
}

/* One more stage, from what was found so far, with so much work, 0: what the options say. */
static tw_status run_stage(staged *c, const tw_goals *goals, int64_t budget, const tw_diag *diag, finding *out)
{
    static const double share = 0.5; /* of the time that is left */
    const tw_op_map start = c->hunt.front.best[0].map;
    const tw_goals stage = *goals;
    tw_search_options options = stage_options(c, budget);
    if (stage.n > 1) options.gap = 0, options.prove = true; /* only the end of all of them will do */
    relay to = relay_of(c);
    tw_hunt hunt;
    tw_deadline most;
    options.user = &to;
    const tw_search search = {c->search->problem, &options, c->search->eval, &start, true, budget > 0};
    double left = tw_deadline_left(diag->deadline);
    tw_deadline_init(&most, isfinite(left) ? left * share : 0, diag->deadline);
    tw_space_aim(&c->space, &stage);
    tw_status status = tw_branch(&search, &c->space, &stage, &most, &hunt);
    if (status != TW_OK) {
        tw_front_release(&hunt.front);
        return status;
    }
    *out = (finding){0};
    if (hunt.front.n > 0) *out = finding_of(&hunt, &hunt.front.best[0], 0);
    bool told = c->hunt.ending != TW_END_DONE; /* by an objective that counts more */
    if (hunt.ending == TW_END_STOPPED || (budget == 0 && hunt.ending != TW_END_DONE && !told))
        c->hunt.ending = hunt.ending;
    add_stage(c, &stage, &hunt);
    return TW_OK;
}

/* Work for a tie: a part of what the objectives took, more where somebody waits for a proof, never more than that part of the budget, and
 * little for one of many layers: there ties took a third of the time, and the
 * energy of whole networks is the same in three digits without any. */
static int64_t tie_work(const staged *c)
{
    static const int64_t share = 8, least = 100000, share_of_layer = 32, least_of_layer = 8000, most = 2000000;
    const tw_search_options *options = c->search->options;
    if (options->prove) return most;
    if (options->patience > 0) return tw_clamp(c->hunt.work / share_of_layer, least_of_layer, most);
    int64_t work = tw_clamp(c->hunt.work / share, least, most);
    return options->budget > 0 ? tw_clamp(options->budget / share, 1, work) : work;
}

/* Where the program is too long for the work that a tie is worth, it stays as it is. */
static tw_status run_tie(staged *c, const tw_goal *goal, const tw_diag *diag)
{
    finding f;
    bool none = tw_goals_find(&c->stage, goal) >= 0 && value_in_best(c, goal) == 0;
    if (none || is_cut_short(c, diag)) return TW_OK;
    const tw_goals stage = tw_goals_stage(goal, c->kept, c->n_kept);
    TW_TRY(run_stage(c, &stage, tie_work(c), diag, &f));
    c->cut = false;
    return TW_OK;
}

/* Whether the first n objectives are proven and took little. */
static bool is_small(const staged *c, int n)
{
    static const int64_t most = 20000; /* pieces of work */
    bool small = c->hunt.work <= most;
    for (int i = 0; i < n; i++) small = small && c->finding[i].proven;
    return small;
}

/* What decides among equals in the end, one before the next: objectives that were allowed some tolerance, then the ties. */
static int list_ties(const staged *c, tw_goal tie[TW_MAX_OBJECTIVES + TW_N_TIES])
{
    int n = 0, n_before;
    for (int i = 0; i < c->asked.n; i++)
        if (c->asked.goal[i].within > 0) tie[n++] = c->asked.goal[i];
    n_before = n;
    for (int i = 0; i < TW_N_TIES; i++) {
        const tw_goal is = tw_goal_tie(i);
        bool listed = find_kept(c, &is) != NULL;
        for (int k = 0; k < n_before; k++) listed = listed || tw_goal_same(&tie[k], &is);
        if (!listed) tie[n++] = is;
    }
    return n;
}

/* All ties in one stage, where objectives are proven and took little. Where that stage does not come to its end each tie has a stage of
 * its own as ever. */
static tw_status run_all_ties(staged *c, const tw_diag *diag)
{
    tw_goal tie[TW_MAX_OBJECTIVES + TW_N_TIES];
    const int n = list_ties(c, tie);
    finding f;
    if (n < 2 || n > TW_MAX_OBJECTIVES || is_cut_short(c, diag)) return TW_OK;
    const tw_goals stage = tw_goals_stage_of(tie, n, c->kept, c->n_kept);
    TW_TRY(run_stage(c, &stage, tie_work(c), diag, &f));
    c->tied = !c->cut && f.proven;
    c->cut = false;
    return TW_OK;
}

/* Ends the stage of objective i: less energy with no more of the objective, which may even get smaller. This belongs to every
 * objective, the last or not: so a list has of its first objectives what they have without the others. */
static tw_status end_objective(staged *c, int i, const tw_diag *diag)
{
    const tw_goal *goal = &c->asked.goal[i], energy = tw_goal_tie(0);
    tw_goal strict = *goal;
    finding *f = &c->finding[i];
    strict.within = 0;
    keep_goal(c, &strict, f->least);
    bool small = is_small(c, i + 1), last = i + 1 == c->asked.n;
    c->spared = small && !last; /* what is proven does not get smaller */
    if (small && last) TW_TRY(run_all_ties(c, diag));
    if (!c->spared && !c->tied && !find_kept(c, &energy)) TW_TRY(run_tie(c, &energy, diag));
    c->n_kept--;
    tw_wide now = value_in_best(c, goal);
    f->least = now < f->least ? now : f->least;
    keep_goal(c, goal, f->least);
    return TW_OK;
}

/* The objectives behind the first. One that is kept already has nothing left to find. */
static tw_status run_objectives(staged *c, const tw_diag *diag)
{
    TW_TRY(end_objective(c, 0, diag));
    for (; c->n_found < c->asked.n && !is_cut_short(c, diag); c->n_found++) {
        const tw_goal *goal = &c->asked.goal[c->n_found], *kept = find_kept(c, goal);
        finding *f = &c->finding[c->n_found];
        if (kept) {
            *f = (finding){kept->most, kept->most, true};
            continue;
        }
        const tw_goals stage = tw_goals_stage(goal, c->kept, c->n_kept);
        TW_TRY(run_stage(c, &stage, 0, diag, f));
        if (c->cut) break;
        TW_TRY(end_objective(c, c->n_found, diag));
    }
    return TW_OK;
}

/* What the best mapping has of every objective. Where the time was over before the stage of one, nobody has looked yet; of
 * such an objective nothing else is known. */
static tw_status value_best(staged *c)
{
    const tw_search *search = c->search;
    const tw_best *best = &c->hunt.front.best[0];
    bool known = true;
    for (int i = 0; i < c->asked.n; i++) {
        int at = tw_goals_find(&c->stage, &c->asked.goal[i]);
        known &= at >= 0;
        if (at >= 0) c->value.of[i] = best->value.of[at];
    }
    if (known) return TW_OK;
    tw_outcome outcome;
    int64_t short_by;
    tw_meter meter = {.limit = INT64_MAX};
    TW_TRY(search->eval->cost(search->eval->user[0], &search->problem, &best->map, &meter, &outcome, &short_by));
    c->value = tw_goals_value(&c->asked, &outcome);
    for (int i = c->n_found; i < c->asked.n; i++) c->finding[i] = (finding){.least = c->value.of[i]};
    return TW_OK;
}

/* What the best mapping has of a goal becomes the limit of the ties to come. */
static void fix_goal(staged *c, const tw_goal *goal)
{
    tw_goal fixed = *goal;
    fixed.within = 0;
    fixed.exact = true;
    fixed.most = value_in_best(c, goal);
    for (int k = 0; k < c->n_kept; k++)
        if (tw_goal_same(&c->kept[k], goal)) {
            c->kept[k] = fixed;
            return;
        }
    c->kept[c->n_kept++] = fixed;
}

/* Nothing but mappings that are equal in all objectives is looked at: then what an objective costs does not depend on the
 * effort for ties. */
static tw_status run_ties(staged *c, const tw_diag *diag)
{
    bool lowered = false;
    if (c->tied || is_cut_short(c, diag)) return TW_OK;
    for (int i = 0; i < c->asked.n; i++)
        if (c->asked.goal[i].within <= 0) fix_goal(c, &c->asked.goal[i]);
    for (int i = 0; i < c->asked.n; i++) {
        if (c->asked.goal[i].within <= 0) continue;
        bool above = value_in_best(c, &c->asked.goal[i]) > c->finding[i].least;
        if (above) TW_TRY(run_tie(c, &c->asked.goal[i], diag));
        lowered |= above;
        fix_goal(c, &c->asked.goal[i]);
    }
    for (int i = 0; i < TW_N_TIES; i++) {
        const tw_goal tie = tw_goal_tie(i);
        if (find_kept(c, &tie)) continue;
        if (i > 0 || lowered || c->spared)
            TW_TRY(run_tie(c, &tie, diag)); /* energy ends every objective, but not those lowered here */
        if (tw_goals_find(&c->stage, &tie) >= 0) fix_goal(c, &tie);
    }
    return TW_OK;
}

/* All stages behind the first. */
static tw_status run_stages(staged *c, const tw_diag *diag)
{
    const tw_best *best = &c->hunt.front.best[0];
    c->n_found = c->single ? c->asked.n : 1;
    for (int i = 0; i < c->n_found; i++) c->finding[i] = finding_of(&c->hunt, best, i);
    if (!c->single) {
        TW_TRY(run_objectives(c, diag));
        TW_TRY(run_ties(c, diag));
    }
    return value_best(c);
}

/* Fronts, spaces that count their optima, and enumerations compare all objectives at once. */
static bool is_single(const staged *c)
{
    const tw_search_options *options = c->search->options;
    bool tolerant = false;
    for (int i = 0; i < c->asked.n; i++) tolerant |= c->asked.goal[i].within > 0;
    return c->asked.pareto || ((c->space.notes || options->exhaustive) && !tolerant);
}

/* The goals of the first stage, or of all in one. */
static tw_goals first_goals(const staged *c)
{
    tw_goals goals = c->asked;
    if (!c->single) return tw_goals_stage(&c->asked.goal[0], NULL, 0);
    if (!c->asked.pareto && !c->space.notes) tw_goals_add_ties(&goals, tw_goals_timed(&goals));
    return goals;
}

/* The least bound of all frames. */
static tw_status least_of_frames(const tw_space *s, const tw_goals *goals, bool *any, tw_goal_value *out)
{
    *any = false;
    for (int i = 0; i < s->n_frames; i++) {
        bool empty;
        tw_part_bounds least;
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

/* Nothing is kept for a smaller space in which nothing fits: whole windows may have no room, or sizes that the engine does not take. */
static tw_status choose_smaller(staged *c, tw_arena *arena, tw_diag *diag)
{
    tw_search_options less = *c->search->options;
    tw_space family;
    tw_goal_value least;
    bool any = true;
    c->smaller = less.space = smaller_of(&c->space, c->search->options);
    if (less.space != TW_SPACE_WINDOWS) return TW_OK;
    TW_TRY(tw_space_of(&c->search->problem, &less, arena, diag, &family));
    tw_space_aim(&family, &c->stage);
    TW_TRY(tw_space_measure(&family, arena));
    TW_TRY(least_of_frames(&family, &c->stage, &any, &least));
    if (!any) c->smaller = TW_SPACE_ALL;
    return TW_OK;
}

/* All stages, or the first one if that finds nothing. */
static tw_status run_stages_of(staged *c, tw_arena *arena, tw_diag *diag)
{
    tw_deadline most;
    c->single = is_single(c);
    c->stage = first_goals(c);
    tw_space_aim(&c->space, &c->stage);
    TW_TRY(choose_smaller(c, arena, diag));
    tw_deadline_init(&most, time_of_space(c, diag), diag->deadline);
    tw_search_options share = *c->search->options;
    tw_search first = *c->search;
    share.budget = work_of_space(c->smaller, c->search->options);
    int64_t beside = work_of_all_others(c) + (c->search->options->prove ? 0 : work_of_corners(c));
    if (beside > 0) share.budget = (share.budget > 0 ? share.budget : TW_DEFAULT_BUDGET) - beside;
    first.options = &share;
    aside others = {.of = c, .diag = diag};
    if (begins_beside(c)) TW_TRY(begin_beside(&others));
    if (others.any) first.start = &others.best, first.foreign = true;
    TW_TRY(tw_branch(&first, &c->space, &c->stage, &most, &c->hunt));
    add_hunt(&c->hunt, &others.spent);
    TW_TRY(ask_smaller(c->search, &c->space, c->smaller, &c->stage, arena, diag, &c->hunt));
    TW_TRY(ask_others(c, diag));
    TW_TRY(ask_corners(c, diag));
    return c->hunt.front.n > 0 ? run_stages(c, diag) : TW_OK;
}

/* What an operator needs by any measure: whatever is asked for, searches beside and behind it ask for time and energy, and of a list the first stage is
 * that of its first objective alone. Where somebody is in a hurry only what is asked for is measured. */
static tw_status measure_space(tw_space *s, const tw_search_options *options, tw_arena *arena)
{
    if (options->patience == 0) s->wants |= TW_WANTS_TIME | TW_WANTS_ENERGY;
    return tw_space_measure(s, arena);
}

tw_status tw_search_op(const tw_search *search, tw_arena *arena, tw_diag *diag, tw_found *found,
                       tw_search_record *result)
{
    const tw_search_options *options = search->options;
    staged c = {.search = search};
    *found = (tw_found){0};
    TW_TRY(tw_goals_of(options, search->problem.machine, diag, &c.asked));
    TW_TRY(tw_space_of(&search->problem, options, arena, diag, &c.space));
    TW_TRY(measure_space(&c.space, options, arena));
    tw_status status = run_stages_of(&c, arena, diag);
    bool none = status == TW_OK && c.hunt.front.n == 0 && !c.hunt.any_open;
    if (none && options->space == TW_SPACE_WINDOWS) { /* no whole window fits */
        tw_search_options all = *options;
        tw_search other = *search;
        all.space = TW_SPACE_ALL;
        other.options = &all;
        tw_front_release(&c.hunt.front);
        return tw_search_op(&other, arena, diag, found, result);
    }
    if (status == TW_OK) {
        describe(&c, result);
        status =
            c.hunt.front.n > 0 ? keep_found(&c.hunt, arena, found) : refuse(&c.space, search, &c.hunt, diag, found);
    }
    tw_front_release(&c.hunt.front);
    return status;
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
    static const char *const word[] = {[TW_SPACE_ALL] = "all",
                                       [TW_SPACE_NOTES] = "notes",
                                       [TW_SPACE_WINDOWS] = "windows",
                                       [TW_SPACE_WHOLE] = "whole"};
    return word[space];
}

const char *tw_space_meaning(tw_space_name space)
{
    static const char *const meaning[] = {
        [TW_SPACE_ALL] = "everything that a mapping may choose",
        [TW_SPACE_NOTES] = "the tick machine's family: few executions, one or two buffers",
        [TW_SPACE_WINDOWS] = "everything that a mapping may choose, but windows stay whole",
        [TW_SPACE_WHOLE] =
            "everything that a mapping may choose, but each loop lies over one dimension of an array"};
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

int tw_search_threads(const tw_search_options *options)
{
    int64_t cores = options->n_threads > 0 ? options->n_threads : sysconf(_SC_NPROCESSORS_ONLN);
    return (int)tw_clamp(cores, 1, TW_MAX_THREADS);
}
