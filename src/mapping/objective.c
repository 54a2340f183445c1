/* src/mapping/objective.c - see objective.h. */
#include "mapping/objective.h"

#include <string.h>

static int find_mover(const tw_machine *machine, const char *name)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (machine->engine[e].kind == TW_MOVES && strcmp(machine->engine[e].name, name) == 0) return e;
    return -1;
}

static tw_status resolve(const tw_objective *objective, const tw_machine *machine, tw_diag *diag, tw_goal *out)
{
    bool named = objective->measure == TW_TRAFFIC || objective->measure == TW_PEAK;
    *out = (tw_goal){objective->measure, -1, -1};
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
    if (out->memory == 0)
        return tw_diag_error(diag, (tw_loc){0},
                             "'%s' is the outermost memory of '%s': nothing is outside of it, and "
                             "no buffers lie in it",
                             objective->at, machine->name);
    if (out->memory < 0 && out->engine < 0)
        return tw_diag_error(diag, (tw_loc){0}, "machine '%s' has no %s '%s'", machine->name,
                             objective->measure == TW_PEAK ? "memory" : "mover or memory", objective->at);
    return TW_OK;
}

tw_status tw_goals_of(const tw_search_options *options, const tw_machine *machine, tw_diag *diag, tw_goals *out)
{
    TW_TRY(tw_objectives_check(options->n_objectives, diag));
    *out = (tw_goals){.n = options->n_objectives, .pareto = options->pareto};
    for (int i = 0; i < out->n; i++) TW_TRY(resolve(&options->objective[i], machine, diag, &out->goal[i]));
    if (out->n == 0) {
        out->n = 1;
        out->goal[0] = (tw_goal){TW_CYCLES, -1, -1};
    }
    return TW_OK;
}

static tw_wide value_of(const tw_goal *goal, const tw_outcome *outcome)
{
    switch (goal->measure) {
    case TW_TICKS: return outcome->ticks;
    case TW_ENERGY: return outcome->energy_fj;
    case TW_EDP: return (tw_wide)outcome->energy_fj * outcome->cycles;
    case TW_TRAFFIC: return goal->memory >= 0 ? outcome->crossed[goal->memory] : outcome->moved[goal->engine];
    case TW_PEAK: return outcome->used[goal->memory];
    default: return outcome->cycles;
    }
}

tw_goal_value tw_goals_value(const tw_goals *goals, const tw_outcome *outcome)
{
    tw_goal_value value = {{0}};
    for (int i = 0; i < goals->n; i++) value.of[i] = value_of(&goals->goal[i], outcome);
    return value;
}

int tw_value_compare(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b)
{
    for (int i = 0; i < goals->n; i++)
        if (a->of[i] != b->of[i]) return a->of[i] < b->of[i] ? -1 : 1;
    return 0;
}

bool tw_value_covers(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b)
{
    for (int i = 0; i < goals->n; i++)
        if (a->of[i] > b->of[i]) return false;
    return true;
}
