/* src/search/bound.c - see bound.h. */
#include "search/view.h"

#include <math.h>

/* Units of memory m that the group takes at least, when this operator takes `own`. */
static int64_t group_least(const tw_memory *m, bool sums, int64_t own)
{
    if (m->reserved > 0) return tw_sat_add(tw_sat_mul(tw_cdiv(own, m->align), m->align), m->reserved);
    return m->behind ? tw_max(own, m->behind->least[sums]) : own;
}

/* Whether the innermost memory holds sums that are not finished. */
static bool surely_sums(const tw_view *v)
{
    for (int t = 0; t < v->f->n_tiled; t++)
        if (v->surely[t] & v->s->reductions) return true;
    return false;
}

static bool fits(tw_view *v)
{
    const tw_space *s = v->s;
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t count[TW_MAX_OPERANDS], units[TW_MAX_OPERANDS];
        const tw_memory *memory = &s->machine->memory[m];
        bool sums = surely_sums(v);
        int output = tw_op_output(s->op);
        tw_view_slots(v, m, count, units);
        if (memory->behind) units[output] = tw_max(units[output], memory->behind->left[sums]);
        int64_t used = memory->placement == TW_PLACE_SLOTS
                           ? tw_stacked(count, units, s->op->n_operands, memory->align, s->resident)
                           : tw_given_least(count, units, s->op->n_operands);
        used = group_least(memory, sums, used);
        v->out->cost.used[m] = used;
        if (used <= tw_memory_full(memory)) continue;
        v->out->short_by = used - tw_memory_full(memory);
        return false;
    }
    return true;
}

/* ---- traffic ---- */

/* Units per cycle, 0: no limit. */
static double rate_of(const tw_engine *e)
{
    int64_t cycles, grain = tw_cost_grain(&e->cost, &cycles);
    return cycles > 0 ? (double)grain / (double)cycles * (double)e->count : 0;
}

/* Cycles in which the movers between memory m and those outside can carry so many units. */
static int64_t movement_cycles(const tw_view *v, int m)
{
    const tw_space *s = v->s;
    double rate = 0;
    if (s->movement[m] == 0) return 0;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || engine->memory != m) continue;
        bool hidden = s->rules->nests && v->f->memory[v->f->grain[m]] != m;
        if (rate_of(engine) <= 0 || hidden || !engine->one_channel) return 0;
        rate += rate_of(engine);
    }
    return rate > 0 ? (int64_t)floor((double)s->movement[m] / rate * (1 - 1e-9)) : 0;
}

static void add_traffic(tw_view *v, tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    tw_outcome *cost = &v->out->cost;
    cost->energy_fj = tw_sat_mul(v->points, s->machine->engine[s->machine->compute].energy_fj);
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t energy = 0, least_both = INT64_MAX;
        for (int o = 0; o < s->op->n_operands; o++) {
            if (!tw_space_holds(s, m, o) || (s->resident >> o & 1)) continue;
            int e = s->mover[m][o];
            tw_load l = tw_view_load(v, m, o);
            all->units[e] = tw_sat_add(all->units[e], l.units);
            bool joins = s->machine->engine[e].joins && o < tw_op_output(s->op);
            all->commands[e] =
                joins ? tw_max(all->commands[e], l.transfers) : tw_sat_add(all->commands[e], l.transfers);
            cost->crossed[m] = tw_sat_add(cost->crossed[m], l.units);
            int64_t both = s->machine->memory[s->outside[m][o]].energy_fj + s->machine->memory[m].energy_fj;
            least_both = tw_min(least_both, both);
            energy = tw_sat_add(energy, tw_sat_mul(l.units, both));
        }
        if (s->movement[m] > cost->crossed[m]) { /* the memory holds all operands, all come from one place */
            energy = tw_max(energy, tw_sat_mul(s->movement[m], least_both));
            cost->crossed[m] = s->movement[m];
        }
        cost->energy_fj = tw_sat_add(cost->energy_fj, energy);
    }
    for (int e = 0; e < s->machine->n_engines; e++) cost->moved[e] = all->units[e];
}

void tw_part_least(const tw_space *s, const tw_part *p, tw_least *out)
{
    tw_view v;
    tw_traffic_bound all = {{0}, {0}};
    *out = (tw_least){.cycles_by = TW_BOUND_COMPUTE, .cycles_at = -1};
    tw_view_of(s, p, out, &v);
    out->feasible = fits(&v);
    if (!out->feasible) return;
    add_traffic(&v, &all);
    s->rules->bound(&v, &all);
    out->execs = v.execs[v.f->n_tiled];
    for (int m = 1; m < s->machine->n_memories; m++)
        tw_view_raise(&v, movement_cycles(&v, m), TW_BOUND_MOVEMENT, tw_machine_mover(s->machine, m));
}

void tw_part_bound(const tw_space *s, const tw_goals *goals, const tw_least *least, tw_part *part)
{
    const tw_goal *first = &goals->goal[0];
    part->bound = tw_goals_value(goals, &least->cost);
    part->execs = s->rules->short_first ? least->execs : 0;
    part->at = -1;
    switch (first->measure) {
    case TW_TICKS: part->closer = TW_BOUND_ROWS; break;
    case TW_ENERGY: part->closer = TW_BOUND_ENERGY; break;
    case TW_EDP: part->closer = TW_BOUND_ENERGY; break;
    case TW_PEAK: part->closer = TW_BOUND_PEAK; break;
    case TW_TRAFFIC:
        part->closer = first->memory >= 0 && s->movement[first->memory] == least->cost.crossed[first->memory]
                           ? TW_BOUND_MOVEMENT
                           : TW_BOUND_LINK;
        break;
    default:
        part->closer = least->cycles_by;
        part->at = least->cycles_at;
        break;
    }
}
