/* src/search/bound.c - see bound.h. */
#include "search/closed.h"
#include "search/shapes.h"

#include <math.h>

/* Units of memory m that the group takes at least, when this operator takes `own`. */
static int64_t group_least(const tw_memory *m, bool sums, int64_t own)
{
    if (m->reserved > 0) return tw_memory_with_others(m, own);
    return m->others ? tw_max(own, m->others->least[sums]) : own;
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
        for (int o = 0; o <= output; o++) units[o] = tw_max(units[o], v->slot_units[v->f->grain[m]][o]);
        if (memory->others) units[output] = tw_max(units[output], memory->others->left[sums]);
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

static bool raise_traffic(tw_view *v, int m, tw_traffic_bound *all, int64_t *energy);

/* Tiles along loop l of the outermost level that are as long as the largest, at least, sizes being chosen. */
static int64_t full_along(const tw_view *v, int l)
{
    const tw_space *s = v->s;
    tw_range rule = v->p->var[tw_var_rule(s, v->f, 0, l)];
    int64_t extent = s->op->loop[l].extent, size = v->lo[0][l], n = tw_cdiv(extent, size), least = n;
    if (extent % size == 0) return n;
    if (rule.hi > 0) least = tw_min(least, n - 1);       /* and a rest */
    if (rule.lo == 0) least = tw_min(least, extent % n); /* others are shorter by one */
    return least;
}

/* Tiles of the operand in memory m that have as many units as the largest, at least, each of which comes, or goes, by a command of its own; and
 * whether all have. 0: not known. */
static int64_t full_tiles(const tw_view *v, int m, int o, bool *all)
{
    const tw_space *s = v->s;
    const tw_memory *memory = &s->machine->memory[m];
    int t = v->f->grain[m];
    int64_t n = 1;
    *all = true;
    if (s->rules->nests || v->skips || s->slides[m][o] || (s->clipped >> o & 1)) return 0;
    if (memory->whole && (memory->keeps & tw_role_of(s->op, o))) return 0;
    if (o == tw_op_output(s->op) && s->partial_units != s->elem_units[o]) return 0;
    for (unsigned rest = s->loops[o]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        int64_t size = v->lo[t][l];
        bool even = v->small[t][l] == size && s->op->loop[l].extent % size == 0;
        if (size != v->hi[t][l] || size > s->op->loop[l].extent || (t > 0 && !even)) return 0;
        *all = *all && even;
        n = tw_sat_mul(n, even ? s->op->loop[l].extent / size : full_along(v, l));
    }
    return n;
}

/* What the commands that carry an operand into or out of memory m take, apart from those of others. */
static void add_apart(const tw_view *v, int m, int o, tw_load l, tw_traffic_bound *all)
{
    int e = v->s->mover[m][o];
    const tw_engine *engine = &v->s->machine->engine[e];
    bool even, first = !all->asked[e];
    int64_t cycles, n = tw_min(full_tiles(v, m, o, &even), l.transfers), units = v->lo_units[v->f->grain[m]][o];
    int64_t each = tw_busy_of(engine, 1, units);
    all->asked[e] = true;
    if (engine->joins || tw_cost_grain(&engine->cost, &cycles) == 0) return; /* others round up in other ways */
    int64_t rest = tw_max(0, l.units - tw_sat_mul(n, units));
    int64_t full = tw_sat_add(tw_sat_mul(each, n), tw_busy_of(engine, l.transfers - n, rest));
    all->apart[e] = tw_sat_add(all->apart[e], tw_max(tw_busy_of(engine, l.transfers, l.units), full));
    if (n == 0 || !even || (!first && all->tile[e] == 0)) {
        all->tile[e] = all->tile_busy[e] = 0;
    } else if (first || (double)each * (double)all->tile[e] < (double)all->tile_busy[e] * (double)units) {
        all->tile[e] = units;
        all->tile_busy[e] = each;
    }
}

/* Whether all tiles of the operand in memory m have as many points along each loop as the largest. */
static bool are_alike(const tw_view *v, int m, int o)
{
    int t = v->f->grain[m];
    for (unsigned rest = v->s->loops[o]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        int64_t size = v->lo[t][l];
        if (size != v->hi[t][l] || v->small[t][l] != size || v->s->op->loop[l].extent % size != 0) return false;
    }
    return true;
}

/* Unfinished sums that come back into memory m by a mover of inputs may be larger tiles than these, and then their units cost less. */
static void add_returns(const tw_view *v, int m, tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    int e = s->back[m], output = tw_op_output(s->op);
    unsigned may = 0;
    for (int t = 0; t < v->f->n_tiled; t++) may |= v->may[t] & s->reductions;
    if (e < 0 || all->tile[e] == 0 || !may || !tw_space_holds(s, m, output)) return;
    int64_t tile = tw_footprint_least(s, output, v->lo[v->f->grain[m]]) * s->partial_units;
    int64_t each = tw_busy_of(&s->machine->engine[e], 1, tile);
    if (!are_alike(v, m, output) || (s->clipped >> output & 1)) {
        all->tile[e] = all->tile_busy[e] = 0;
    } else if ((double)each * (double)all->tile[e] < (double)all->tile_busy[e] * (double)tile) {
        all->tile[e] = tile;
        all->tile_busy[e] = each;
    }
}

static bool add_traffic(tw_view *v, tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    tw_outcome *cost = &v->out->cost;
    cost->energy_fj = tw_sat_mul(v->points, s->machine->engine[s->machine->compute].energy_fj);
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t energy = 0, least_both = INT64_MAX, over_all;
        for (int o = 0; o < s->op->n_operands; o++) {
            if (!tw_space_holds(s, m, o) || (s->resident >> o & 1)) continue;
            int e = s->mover[m][o];
            tw_load l = tw_view_load(v, m, o);
            all->units[e] = tw_sat_add(all->units[e], l.units);
            bool joins = s->machine->engine[e].joins && o < tw_op_output(s->op);
            all->commands[e] =
                joins ? tw_max(all->commands[e], l.transfers) : tw_sat_add(all->commands[e], l.transfers);
            add_apart(v, m, o, l, all);
            cost->crossed[m] = tw_sat_add(cost->crossed[m], l.units);
            int64_t both = s->machine->memory[s->outside[m][o]].energy_fj + s->machine->memory[m].energy_fj;
            least_both = tw_min(least_both, both);
            energy = tw_sat_add(energy, tw_sat_mul(l.units, both));
        }
        if (s->movement[m] > cost->crossed[m]) { /* the memory holds all operands, all come from one place */
            energy = tw_max(energy, tw_sat_mul(s->movement[m], least_both));
            cost->crossed[m] = s->movement[m];
        }
        if (!raise_traffic(v, m, all, &over_all)) return false;
        cost->energy_fj = tw_sat_add(cost->energy_fj, tw_max(energy, over_all));
    }
    for (int m = 1; m < s->machine->n_memories; m++) add_returns(v, m, all);
    for (int e = 0; e < s->machine->n_engines; e++) cost->moved[e] = all->units[e];
    return true;
}

/* ---- over all orders and residencies ---- */

/* The same in busy cycles, where what a unit takes follows from the shapes of tiles; 0: not known. */
static int64_t shaped_cycles(tw_closed *c, int e)
{
    static const double parts = 4096; /* of a thousandth of a cycle: prices are whole numbers */
    const tw_space *s = c->v->s;
    tw_price price = {{0}, 0};
    if (!tw_cost_by_shape(&s->machine->engine[e].cost)) return 0;
    for (int o = 0; o < s->op->n_operands; o++) {
        if (!tw_space_holds(s, c->memory, o)) continue;
        int64_t each = (int64_t)(parts * tw_shapes_rate(c->v, c->memory, o));
        if (s->mover[c->memory][o] == e) price.of[o] = each;
        if (o == tw_op_output(s->op) && s->back[c->memory] == e) price.back = each;
    }
    int64_t least = tw_closed_least(c, &price);
    return least < INT64_MAX ? (int64_t)((double)least / (parts * TW_MILLI) * (1 - 1e-12)) : 0;
}

/* Units by each mover between memory m and those outside. Movers that nothing makes wait, however often tiles come, are not
 * asked about. */
static void raise_movers(tw_closed *c, tw_traffic_bound *all)
{
    const tw_space *s = c->v->s;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || engine->memory != c->memory || all->units[e] == 0) continue;
        tw_price price = tw_price_of_units(s, c->memory, e);
        all->units[e] = tw_max(all->units[e], tw_closed_least(c, &price));
        if (s->wants & TW_WANTS_TIME) all->shaped[e] = shaped_cycles(c, e);
    }
}

/* Raises what crosses into memory m to the least over all orders and residencies; returns the energy of it. False: nothing
 * fits. */
static bool raise_traffic(tw_view *v, int m, tw_traffic_bound *all, int64_t *energy)
{
    const tw_space *s = v->s;
    int64_t *crossed = &v->out->cost.crossed[m];
    tw_closed c;
    *energy = s->floor_energy[m];
    *crossed = tw_max(*crossed, s->floor_crossed[m]);
    for (int e = 0; e < s->machine->n_engines; e++)
        if (s->machine->engine[e].memory == m) all->units[e] = tw_max(all->units[e], s->floor_moved[e]);
    if (s->rules->nests || s->wants == 0 || !tw_closed_of(v, m, &c) || c.n == 0) return true;
    if (s->wants & TW_WANTS_TRAFFIC) {
        tw_price price = tw_price_of_units(s, m, -1);
        *crossed = tw_max(*crossed, tw_closed_least(&c, &price));
    }
    if (s->wants & TW_WANTS_ENERGY) {
        tw_price price = tw_price_of_energy(s, m);
        *energy = tw_max(*energy, tw_closed_least(&c, &price));
    }
    if (s->wants & (TW_WANTS_TIME | TW_WANTS_TRAFFIC)) raise_movers(&c, all);
    return *crossed < INT64_MAX && *energy < INT64_MAX;
}

void tw_part_least(const tw_space *s, const tw_part *p, tw_part_bounds *out)
{
    tw_view v;
    tw_traffic_bound all = {0};
    *out = (tw_part_bounds){.cycles_by = TW_BOUND_COMPUTE, .cycles_at = -1};
    tw_view_of(s, p, out, &v);
    out->feasible = fits(&v);
    out->feasible = out->feasible && add_traffic(&v, &all);
    if (!out->feasible) return;
    if (s->wants != TW_WANTS_ENERGY && s->wants != TW_WANTS_TRAFFIC)
        s->rules->bound(&v, &all); /* somebody asks for time */
    out->execs = v.execs[v.f->n_tiled];
    for (int m = 1; m < s->machine->n_memories; m++)
        tw_view_raise(&v, movement_cycles(&v, m), TW_BOUND_MOVEMENT, tw_machine_mover(s->machine, m));
}

void tw_part_bound(const tw_space *s, const tw_goals *goals, const tw_part_bounds *least, tw_part *part)
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
        part->closer = first->memory > 0 && s->movement[first->memory] == least->cost.crossed[first->memory]
                           ? TW_BOUND_MOVEMENT
                           : TW_BOUND_LINK;
        break;
    default:
        part->closer = least->cycles_by;
        part->at = least->cycles_at;
        break;
    }
}
