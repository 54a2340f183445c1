/* src/mapping/objective.c - resolves objectives against a machine, makes the stages of a list, and compares values; see
 * objective.h. */
#include "mapping/objective.h"

#include "machine/platform.h"

#include <math.h>
#include <string.h>

static int find_mover(const tw_machine *machine, const char *name)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (machine->engine[e].kind == TW_MOVES && strcmp(machine->engine[e].name, name) == 0) return e;
    return -1;
}

/* The memories that are joined to the outermost one: what crosses them crosses it. 0: one of them is joined to others outside of it, too. */
static unsigned joined_to_outermost(const tw_machine *machine)
{
    unsigned joined = 0, elsewhere = 0;
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine *mover = &machine->engine[e];
        if (mover->kind != TW_MOVES) continue;
        *(mover->outer == 0 ? &joined : &elsewhere) |= 1u << mover->memory;
    }
    return joined & elsewhere ? 0 : joined;
}

/* Traffic of the outermost memory is that of all that are joined to it. */
static tw_status resolve_outermost(const tw_objective *objective, const tw_machine *machine, tw_diag *diag,
                                   tw_goal *out)
{
    if (objective->measure == TW_PEAK)
        return tw_diag_error(diag, (tw_loc){0}, "'%s' is the outermost memory of '%s': no buffers are in it",
                             objective->at, machine->name);
    out->joined = joined_to_outermost(machine);
    if (out->joined) return TW_OK;
    return tw_diag_error(
        diag, (tw_loc){0},
        "memories of '%s' are joined to '%s' and to others between: the objective 'traffic' takes one "
        "of them, or a mover",
        machine->name, objective->at);
}

static tw_status resolve(const tw_objective *objective, const tw_machine *machine, tw_diag *diag, tw_goal *out)
{
    bool named = objective->measure == TW_TRAFFIC || objective->measure == TW_PEAK;
    *out = (tw_goal){.measure = objective->measure, .memory = -1, .engine = -1};
    if (objective->measure == TW_TICKS && !tw_discipline_of(machine)->ticks)
        return tw_diag_error(diag, (tw_loc){0},
                             "machine '%s' is async and has no ticks; the objective is 'latency'", machine->name);
    if (!named) return TW_OK;
    if (!objective->at)
        return tw_diag_error(diag, (tw_loc){0}, "the objective '%s' needs the name of a %s",
                             objective->measure == TW_PEAK ? "peak" : "traffic",
                             objective->measure == TW_PEAK ? "memory" : "mover or a memory");
    out->memory = tw_machine_find_memory(machine, objective->at);
    if (out->memory < 0 && objective->measure == TW_TRAFFIC) out->engine = find_mover(machine, objective->at);
    if (out->memory == 0) return resolve_outermost(objective, machine, diag, out);
    if (out->memory < 0 && out->engine < 0)
        return tw_diag_error(diag, (tw_loc){0}, "machine '%s' has no %s '%s'", machine->name,
                             objective->measure == TW_PEAK ? "memory" : "mover or memory", objective->at);
    return TW_OK;
}

/* A tolerance is for the objectives behind it, and a front has no use for one. */
static tw_status check_within(const tw_search_options *options, int i, tw_diag *diag)
{
    double within = options->within[i];
    if (!(within >= 0 && within <= TW_WITHIN_MAX))
        return tw_diag_error(diag, (tw_loc){0}, "objective %d may be above its least by 0 to %.0f times, not %g",
                             i + 1, TW_WITHIN_MAX, within);
    if (within > 0 && (options->pareto || i == options->n_objectives - 1))
        return tw_diag_error(diag, (tw_loc){0},
                             options->pareto
                                 ? "a Pareto front takes objectives as they are, none of them within a share"
                                 : "the last objective has none behind it that it could be above its "
                                   "least for");
    return TW_OK;
}

tw_status tw_goals_of(const tw_search_options *options, const tw_machine *machine, tw_diag *diag, tw_goals *out)
{
    TW_TRY(tw_objectives_check(options->n_objectives, diag));
    *out = (tw_goals){.n = options->n_objectives, .pareto = options->pareto};
    for (int i = 0; i < out->n; i++) {
        TW_TRY(resolve(&options->objective[i], machine, diag, &out->goal[i]));
        if (!options->within) continue;
        TW_TRY(check_within(options, i, diag));
        out->goal[i].within = options->within[i];
    }
    if (out->n == 0) {
        out->n = 1;
        out->goal[0] = (tw_goal){.measure = TW_CYCLES, .memory = -1, .engine = -1};
    }
    return TW_OK;
}

tw_status tw_goals_check(const tw_search_options *options, const tw_machine *machine, tw_diag *diag)
{
    const tw_platform *platform = machine->platform;
    tw_diag muted = {.muted = true};
    tw_goals goals;
    for (int v = 0; platform && v < platform->n_views; v++)
        if (tw_goals_of(options, &platform->view[v].machine, &muted, &goals) == TW_OK) return TW_OK;
    return tw_goals_of(options, machine, diag, &goals);
}

/* ---- traffic of the outermost memory ---- */

static bool is_called(const char *name, const char *full, const char *brief)
{
    return strcmp(name, full) == 0 || strcmp(name, brief) == 0;
}

bool tw_objective_is_off_chip(const tw_objective *objective, const tw_machine *machine)
{
    const tw_platform *p = machine->platform;
    int memory = -1, mover = -1, n_movers = 0;
    bool one_memory = true;
    if (objective->measure != TW_TRAFFIC || !objective->at || !p) return false;
    if (strcmp(objective->at, p->memory[0].name) == 0) return true;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_engine *is = &p->engine[e].is;
        if (is->kind != TW_MOVES || is->outer != 0) continue;
        one_memory &= memory < 0 || memory == is->memory;
        memory = is->memory;
        mover = e;
        n_movers++;
    }
    for (int e = 0; e < p->n_engines; e++)
        one_memory &=
            p->engine[e].is.kind != TW_MOVES || p->engine[e].is.memory != memory || p->engine[e].is.outer == 0;
    return (n_movers == 1 && is_called(objective->at, p->engine[mover].name, p->engine[mover].is.name)) ||
           (memory > 0 && one_memory &&
            is_called(objective->at, p->memory[memory].name, p->memory[memory].is.name));
}

/* Whether what is moved costs energy, so that mappings differ in it. */
static bool has_energies(const tw_machine *machine)
{
    for (int m = 0; m < machine->n_memories; m++)
        if (machine->memory[m].energy_fj > 0) return true;
    return false;
}

void tw_search_options_aim(const tw_machine *machine, tw_search_options *options)
{
    static const tw_objective objective[] = {{TW_CYCLES, NULL}, {TW_ENERGY, NULL}};
    static const double within[] = {0.01, 0};
    bool single = options->pareto || options->exhaustive || options->space == TW_SPACE_NOTES;
    if (options->n_objectives > 0 || single || !has_energies(machine) || tw_discipline_of(machine)->ticks) return;
    options->objective = objective;
    options->within = within;
    options->n_objectives = (int)TW_COUNT(objective);
}

/* ---- stages ---- */

tw_goal tw_goal_tie(int i)
{
    static const tw_measure measure[TW_N_TIES] = {TW_ENERGY, TW_CYCLES, TW_PEAK};
    return (tw_goal){.measure = measure[i], .memory = -1, .engine = -1};
}

bool tw_goal_same(const tw_goal *a, const tw_goal *b)
{
    return a->measure == b->measure && a->memory == b->memory && a->engine == b->engine;
}

static int count_goals(const tw_goals *goals) { return goals->n + goals->n_ties + goals->n_limits; }

int tw_goals_find(const tw_goals *goals, const tw_goal *goal)
{
    for (int i = 0; i < count_goals(goals); i++)
        if (tw_goal_same(&goals->goal[i], goal)) return i;
    return -1;
}

/* Before there are limits. */
static void add_tie(tw_goals *goals, const tw_goal *tie)
{
    if (tw_goals_find(goals, tie) >= 0) return;
    assert(goals->n_limits == 0 && goals->n + goals->n_ties < TW_MAX_GOALS);
    goals->goal[goals->n + goals->n_ties++] = *tie;
}

void tw_goals_add_ties(tw_goals *goals, bool timed)
{
    for (int i = 0; i < (timed ? TW_N_TIES : 1); i++) {
        const tw_goal tie = tw_goal_tie(i);
        add_tie(goals, &tie);
    }
}

tw_goals tw_goals_stage_of(const tw_goal *is, int n, const tw_goal *kept, int n_kept)
{
    tw_goals stage = {.n = n}, all = {.n = 0, .n_limits = n_kept};
    memcpy(stage.goal, is, (size_t)n * sizeof *is);
    bool timed = tw_goals_timed(&stage);
    if (n_kept > 0) memcpy(all.goal, kept, (size_t)n_kept * sizeof *kept);
    timed |= tw_goals_timed(&all);
    for (int k = 0; k < n_kept; k++)
        if (kept[k].within > 0) add_tie(&stage, &kept[k]);
    tw_goals_add_ties(&stage, timed);
    for (int k = 0; k < n_kept; k++) {
        assert(count_goals(&stage) < TW_MAX_GOALS);
        stage.goal[n + stage.n_ties + stage.n_limits++] = kept[k];
    }
    return stage;
}

tw_goals tw_goals_stage(const tw_goal *is, const tw_goal *kept, int n_kept)
{
    return tw_goals_stage_of(is, 1, kept, n_kept);
}

tw_goal tw_goal_kept(const tw_goal *goal, tw_wide least)
{
    tw_goal kept = *goal;
    kept.most = least + (tw_wide)floor((double)least * goal->within);
    return kept;
}

static bool has_measure(const tw_goals *goals, tw_measure measure)
{
    for (int i = 0; i < count_goals(goals); i++) {
        bool tie = i >= goals->n && i < goals->n + goals->n_ties;
        if (!tie && goals->goal[i].measure == measure) return true;
    }
    return false;
}

bool tw_goals_timed(const tw_goals *goals) { return has_measure(goals, TW_CYCLES) || has_measure(goals, TW_EDP); }
bool tw_goals_placed(const tw_goals *goals) { return has_measure(goals, TW_PEAK); }

/* ---- values ---- */

static tw_wide used_by_all(const tw_outcome *outcome)
{
    tw_wide sum = 0;
    for (int m = 1; m < TW_MAX_MEMORIES; m++) sum += outcome->used[m];
    return sum;
}

bool tw_goal_crosses(const tw_goal *goal, int memory)
{
    return goal->memory == memory || (goal->memory == 0 && goal->joined >> memory & 1);
}

static tw_wide crossed_by(const tw_goal *goal, const tw_outcome *outcome)
{
    tw_wide sum = 0;
    for (int m = 1; m < TW_MAX_MEMORIES; m++) sum += tw_goal_crosses(goal, m) ? outcome->crossed[m] : 0;
    return sum;
}

static tw_wide value_of(const tw_goal *goal, const tw_outcome *outcome)
{
    switch (goal->measure) {
    case TW_TICKS: return outcome->ticks;
    case TW_ENERGY: return outcome->energy_fj;
    case TW_EDP: return (tw_wide)outcome->energy_fj * outcome->cycles;
    case TW_TRAFFIC: return goal->memory >= 0 ? crossed_by(goal, outcome) : outcome->moved[goal->engine];
    case TW_PEAK: return goal->memory >= 0 ? outcome->used[goal->memory] : used_by_all(outcome);
    default: return outcome->cycles;
    }
}

tw_goal_value tw_goals_value(const tw_goals *goals, const tw_outcome *outcome)
{
    tw_goal_value value = {{0}};
    for (int i = 0; i < count_goals(goals); i++) value.of[i] = value_of(&goals->goal[i], outcome);
    return value;
}

/* How far the value is above limit i. */
static tw_wide excess(const tw_goals *goals, const tw_goal_value *value, int i)
{
    int at = goals->n + goals->n_ties + i;
    return value->of[at] > goals->goal[at].most ? value->of[at] - goals->goal[at].most : 0;
}

static int compare_from(const tw_goal_value *a, const tw_goal_value *b, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (a->of[i] != b->of[i]) return a->of[i] < b->of[i] ? -1 : 1;
    return 0;
}

int tw_value_compare(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b)
{
    for (int i = 0; i < goals->n_limits; i++) {
        tw_wide x = excess(goals, a, i), y = excess(goals, b, i);
        if (x != y) return x < y ? -1 : 1;
    }
    return compare_from(a, b, 0, goals->n);
}

int tw_value_compare_ties(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b)
{
    return compare_from(a, b, goals->n, goals->n_ties);
}

bool tw_value_may_keep(const tw_goals *goals, const tw_goal_value *bound)
{
    for (int i = 0; i < goals->n_limits; i++)
        if (excess(goals, bound, i) > 0) return false;
    return true;
}

bool tw_value_keeps(const tw_goals *goals, const tw_goal_value *value)
{
    for (int i = goals->n + goals->n_ties; i < count_goals(goals); i++)
        if (value->of[i] > goals->goal[i].most || (goals->goal[i].exact && value->of[i] < goals->goal[i].most))
            return false;
    return true;
}

bool tw_value_covers(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b)
{
    for (int i = 0; i < goals->n; i++)
        if (a->of[i] > b->of[i]) return false;
    return true;
}
