/* src/search/ends.c - async: what comes before the first and after the last command of an engine, see bound.h. */
#include "search/bursts.h"
#include "search/joint.h"
#include "search/shapes.h"
#include "search/start.h"

static int64_t cost_of(const tw_view *v, int e, int64_t work)
{
    return tw_cost_of_units(&v->s->machine->engine[e].cost, tw_max(1, work));
}

/* Cycles of a transfer of so many units of the operand into or out of memory m, at least. */
static int64_t tile_cost(const tw_view *v, int m, int o, int64_t units)
{
    int e = v->s->mover[m][o];
    int64_t cycles = cost_of(v, e, units);
    if (!tw_cost_by_shape(&v->s->machine->engine[e].cost)) return cycles;
    return tw_max(cycles, tw_shapes_cycles(v, m, o, units));
}

/* Cycles before anything starts. */
static int64_t launch_of(const tw_space *s) { return tw_cdiv(s->machine->launch, TW_MILLI); }

static tw_route route_of(const tw_space *s, int o)
{
    tw_route r = {0};
    for (int m = 1; m < s->machine->n_memories; m++)
        if (tw_space_holds(s, m, o)) r.memory[r.n++] = m;
    return r;
}

/* The step of its route that the engine makes, -1: none. */
static int step_of(const tw_space *s, const tw_route *r, int o, int engine)
{
    int k = r->n - 1;
    if (s->resident >> o & 1) return -1;
    while (k >= 0 && s->mover[r->memory[k]][o] != engine) k--;
    return k;
}

/* Cycles of steps [i, j) of the route of operand o, with tiles of this size. */
static int64_t way_in(const tw_view *v, int o, const tw_route *r, int i, int j,
                      const int64_t (*units)[TW_MAX_OPERANDS])
{
    int64_t cycles = 0;
    for (int k = i; k < j && !(v->s->resident >> o & 1); k++)
        cycles = tw_sat_add(cycles, tile_cost(v, r->memory[k], o, units[v->f->grain[r->memory[k]]][o]));
    return cycles;
}

/* The way in of all inputs that an engine carries, one behind the other; 0: it carries none. An input whose first tile may have no
 * units does not come. Of several inputs the one that the engine carries first is not the one that it carries last. */
static int64_t fill_through(const tw_view *v, int e, const tw_route *way, const int64_t (*units)[TW_MAX_OPERANDS])
{
    const tw_space *s = v->s;
    const tw_engine *engine = &s->machine->engine[e];
    int64_t all = 0, best = INT64_MAX, before[TW_MAX_OPERANDS], behind[TW_MAX_OPERANDS];
    int n = 0;
    for (int o = 0; o < tw_op_output(s->op); o++) {
        int k = step_of(s, &way[o], o, e);
        if (k < 0 || units[v->f->n_tiled - 1][o] == 0) continue;
        int64_t moved = units[v->f->grain[way[o].memory[k]]][o];
        int64_t busy =
            tw_cost_by_shape(&engine->cost) ? cost_of(v, e, moved) : tw_engine_busy(engine, tw_max(1, moved));
        before[n] = way_in(v, o, &way[o], 0, k, units);
        behind[n++] = way_in(v, o, &way[o], k, way[o].n, units) - busy;
        all = tw_sat_add(all, busy);
    }
    for (int first = 0; first < n; first++)
        for (int last = 0; last < n; last++)
            if (first != last || n == 1)
                best = tw_min(best, tw_sat_add(before[first], tw_sat_add(all, behind[last])));
    return n == 0 ? 0 : best;
}

/* Before the first execution all its inputs have come through all engines. */
static int64_t fill_in(const tw_view *v, const tw_route *way, const int64_t (*units)[TW_MAX_OPERANDS])
{
    const tw_space *s = v->s;
    int64_t fill = 0;
    for (int o = 0; o < tw_op_output(s->op); o++)
        if (units[v->f->n_tiled - 1][o] > 0) fill = tw_max(fill, way_in(v, o, &way[o], 0, way[o].n, units));
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || engine->count > 1 || engine->joins) continue;
        fill = tw_max(fill, fill_through(v, e, way, units));
    }
    return fill;
}

int64_t tw_ends_fill(const tw_view *v, const tw_ends *ends, const int64_t (*units)[TW_MAX_OPERANDS])
{
    return fill_in(v, ends->way, units);
}

int64_t tw_ends_drain(const tw_view *v, const tw_ends *ends, const int64_t (*units)[TW_MAX_OPERANDS])
{
    int output = tw_op_output(v->s->op);
    return way_in(v, output, &ends->way[output], 0, ends->way[output].n, units);
}

/* The least that one execution takes: on an array it passes over all points of the loops that do not lie over it. */
static int64_t one_exec(const tw_view *v)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    int64_t passes = 1;
    if (mac->cost.kind == TW_COST_KERNEL) return tw_busy_of(mac, 1, 1);
    for (int l = 0; l < v->s->op->n_loops && mac->cost.kind == TW_COST_ARRAY && !v->skips; l++)
        if (v->f->over.dim[l] == 0) passes = tw_sat_mul(passes, v->small[v->f->n_tiled - 1][l]);
    return tw_cost_cycles(&mac->cost, passes);
}

/* Cycles of an array, at least, in which points of a box of these lengths are executed, however it is cut. */
static int64_t box_cycles(const tw_view *v, const int64_t *len)
{
    const tw_space *s = v->s;
    int64_t passes = 1;
    for (int l = 0; l < s->op->n_loops; l++)
        if (v->f->over.dim[l] == 0) passes = tw_sat_mul(passes, len[l]);
    for (int d = 0; d < v->f->n_dims; d++) {
        int64_t points = 1;
        for (unsigned rest = v->f->loops[d]; rest; rest &= rest - 1)
            points = tw_sat_mul(points, len[__builtin_ctz(rest)]);
        passes = tw_sat_mul(passes, tw_cdiv(points, v->f->size[d]));
    }
    return tw_busy_of(&s->machine->engine[s->machine->compute], 1, passes);
}

/* What is executed at least when a tile of input o has come into memory m, the last one that does: all of the piece that its level has then, of
 * which every execution needs a part of the tile. Of what slides the first executions may need what was there before, and where tiles lie
 * in padding some need nothing: then one execution. */
static int64_t execs_behind(const tw_view *v, int m, int o)
{
    const tw_space *s = v->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int t = v->f->grain[m];
    int64_t one = one_exec(v);
    if (t == v->f->n_tiled - 1 || mac->cost.kind != TW_COST_ARRAY || mac->count > 1 || v->hollow || s->slides[m][o])
        return one;
    if (s->rules->nests || s->machine->reuse != TW_REUSE_DECLARED || s->machine->memory[m].whole) return one;
    return tw_max(one, box_cycles(v, v->small[t]));
}

/* Points of the loops over dimension d that a tile has at least where the dimension takes W passes, as few as can be. Of any, as the
 * last: all tiles but one cover at most the passes but one, and so many are left for it. The first one is the largest along
 * every loop: if it takes one pass, so do all, and no more than W of them have all points; else it has more than a pass. */
static int64_t least_over(const tw_view *v, int d, bool last)
{
    const tw_space *s = v->s;
    int64_t size = v->f->size[d], points = 1;
    for (unsigned rest = v->f->loops[d]; rest; rest &= rest - 1)
        points = tw_sat_mul(points, s->op->loop[__builtin_ctz(rest)].extent);
    if (points == INT64_MAX) return 1;
    int64_t passes = tw_cdiv(points, size);
    return last ? points - (passes - 1) * size : tw_cdiv(points, passes);
}

/* The same of those of its loops that are in the mask, which the others are not. */
static int64_t least_among(const tw_view *v, int d, unsigned loops, bool last)
{
    int64_t beside = 1;
    for (unsigned rest = v->f->loops[d] & ~loops; rest; rest &= rest - 1)
        beside = tw_sat_mul(beside, v->hi[v->f->n_tiled - 1][__builtin_ctz(rest)]);
    return tw_cdiv(least_over(v, d, last), beside);
}

/* The dimensions over which that says something, as a mask: those that take more passes than they need are none of them. */
static unsigned dims_stretched(const tw_view *v)
{
    unsigned dims = 0;
    for (int d = 0; d < v->f->n_dims; d++)
        if (least_over(v, d, false) > 1 && v->passes[d] <= tw_view_passes_whole(v, d)) dims |= 1u << d;
    return dims;
}

/* The same where a loop lies over the dimension alone: what is spare in all passes is spare in any tile at most. */
static int64_t stretched(const tw_view *v, int d, int t, int l, bool last)
{
    const tw_space *s = v->s;
    int64_t size = v->f->size[d], extent = s->op->loop[l].extent;
    int64_t len = tw_max(last ? v->last[t][l] : v->lo[t][l], least_among(v, d, 1u << l, last));
    if (v->f->loops[d] != 1u << l || len >= extent) return len;
    int64_t spare = tw_cdiv(extent, size) * size - extent;
    if (last && t == 0) len = tw_max(len, tw_fit_last(extent, v->p->var[tw_var_size(s, 0, l)], size, spare));
    return last ? tw_fit_longer(len, size, spare) : tw_fit_longest(extent, t, len, size, spare);
}

/* Elements along an axis, which one loop that shifts no window moves, of a tile at the origin with so many indices of that loop;
 * -1: the axis is not like that. */
static int64_t along_axis(const tw_space *s, const tw_axis *axis, int l, int64_t n, const int64_t *len)
{
    int64_t end = axis->offset + 1;
    if (axis->divisor > 1) return -1;
    for (int i = 0; i < axis->n_terms; i++) {
        int other = axis->term[i].loop;
        if (axis->term[i].coef <= 0 || (other != l && !(s->windows >> other & 1))) return -1;
        end += axis->term[i].coef * ((other == l ? n : len[other]) - 1);
    }
    return tw_clamp(end, 0, axis->extent) - tw_clamp(axis->offset, 0, axis->extent);
}

/* The axis that loop l moves, and no other loop but those that shift windows; NULL: there is none, or several. */
static const tw_axis *own_axis(const tw_space *s, int o, int l)
{
    const tw_axis *own = NULL;
    for (int a = 0; a < s->op->operand[o].n_axes; a++)
        for (int i = 0; i < s->op->operand[o].axis[a].n_terms; i++)
            if (s->op->operand[o].axis[a].term[i].loop == l) {
                if (own) return NULL;
                own = &s->op->operand[o].axis[a];
            }
    return own;
}

/* Units of a tile of these lengths at least, of level t: several loops of the operand over dimension d have more points together
 * than the least of each make. Where no axis has fewer elements than its loop has indices, the tile has no fewer than these
 * points; elements along an axis are a concave function of indices, so that is asked at both ends of their range. */
static int64_t widened(const tw_view *v, int d, int t, int o, const int64_t *len, bool last, int64_t units)
{
    const tw_space *s = v->s;
    unsigned own = v->f->loops[d] & s->loops[o] & ~s->windows;
    int64_t now = 1, least = least_among(v, d, own, last);
    if ((own & (own - 1)) == 0) return units;
    for (unsigned rest = s->loops[o]; rest; rest &= rest - 1) /* tiles that a machine takes may be longer */
        if (len[__builtin_ctz(rest)] > s->op->loop[__builtin_ctz(rest)].extent) return units;
    for (unsigned rest = own; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        int64_t n = len[l], most = tw_min(v->hi[t][l], s->op->loop[l].extent);
        const tw_axis *axis = own_axis(s, o, l);
        int64_t along = axis ? along_axis(s, axis, l, n, len) : -1;
        if (along < n || along_axis(s, axis, l, most, len) < most) return units;
        now = tw_sat_mul(now, last ? n : along);
    }
    return least <= now || now == INT64_MAX ? units : tw_sat_mul(units / now, least);
}

/* Raises lengths of tiles of each level to what they are at least where the loops over these dimensions of the array take no pass
 * too many. */
static void stretch(const tw_view *v, unsigned dims, bool last, int operand, int64_t (*units)[TW_MAX_OPERANDS])
{
    const tw_space *s = v->s;
    for (int t = 0; t < v->f->n_tiled; t++) {
        int64_t len[TW_MAX_LOOPS];
        for (int l = 0; l < s->op->n_loops; l++) {
            int d = v->f->over.dim[l] - 1;
            len[l] = last ? v->last[t][l] : v->lo[t][l];
            if (d >= 0 && (dims >> d & 1)) len[l] = stretched(v, d, t, l, last);
        }
        int64_t least = last ? tw_view_units(v, operand, len) : tw_view_first_units(v, operand, len);
        for (int d = 0; dims >> d; d++)
            if (dims >> d & 1) least = widened(v, d, t, operand, len, last, least);
        units[t][operand] = least;
    }
}

/* Executions, the way of the first input tiles in and of the last output tile out. Over each dimension of an array either the
 * tiles take as few passes as can be, and then none of them is short, or one pass more. */
static int64_t compute_and_ends(const tw_view *v, const tw_route *way, tw_ends *ends)
{
    const tw_space *s = v->s;
    int64_t compute = tw_view_compute(v, -1), least = INT64_MAX, (*units)[TW_MAX_OPERANDS] = ends->units;
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    int output = tw_op_output(s->op);
    int64_t fill = ends->fill, drain = ends->drain;
    if (cost->kind != TW_COST_ARRAY) return tw_sat_add(tw_sat_add(fill, compute), drain);
    unsigned dims = dims_stretched(v);
    for (int d = 0; d < v->f->n_dims; d++)
        if (dims >> d & 1) least = tw_min(least, tw_view_compute(v, d));
    if (least < INT64_MAX) least = tw_sat_add(tw_sat_add(fill, least), drain);
    for (int o = 0; o < output; o++) stretch(v, dims, false, o, units);
    stretch(v, dims, true, output, units);
    fill = tw_max(fill, fill_in(v, way, units));
    drain = tw_max(drain, way_in(v, output, &way[output], 0, way[output].n, units));
    ends->stretched = drain;
    return tw_min(least, tw_sat_add(tw_sat_add(fill, compute), drain));
}

/* What comes before the first and after the last input that each mover carries. */
static void look_beside(const tw_view *v, const tw_route *way, const int64_t (*first)[TW_MAX_OPERANDS],
                        tw_ends *ends)
{
    const tw_space *s = v->s;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        int64_t before = INT64_MAX, after = INT64_MAX;
        for (int o = 0; o < tw_op_output(s->op) && engine->kind == TW_MOVES; o++) {
            int k = step_of(s, &way[o], o, e);
            if (k < 0) continue;
            before = tw_min(before, way_in(v, o, &way[o], 0, k, first));
            after = tw_min(after, way_in(v, o, &way[o], k + 1, way[o].n, v->small_units));
        }
        ends->beside[e] = before == INT64_MAX
                              ? -1
                              : tw_sat_add(tw_sat_add(before, after),
                                           tw_cost_cycles(&engine->cost, 1) - tw_engine_busy(engine, 1));
    }
}

/* Cycles of the rows that a strided mover has to carry, both ways, in transfers of one row or of several. */
static int64_t arranged_cycles(const tw_space *s, const tw_engine *engine)
{
    const tw_cost_descriptor *cost = &engine->cost.descriptor; /* a strided mover has one */
    if (!engine->strided || engine->carries != TW_BOTH_WAYS) return 0;
    int64_t row = cost->per_row + tw_min(cost->row_least, cost->setup + cost->per_beat);
    return tw_cdiv(tw_sat_mul(s->arranged_rows, row), TW_MILLI);
}

/* Cycles in which a strided mover fills in zeros, all of which it does itself. Transfers are rounded up with what they fill in, so
 * that the sum is rounded down here. */
static int64_t rim_cycles(const tw_space *s, const tw_engine *engine)
{
    const tw_cost_descriptor *cost = &engine->cost.descriptor;
    if (s->rim_units == 0 || !engine->strided || engine->carries != TW_BOTH_WAYS || engine->count > 1) return 0;
    int64_t beats = tw_cdiv(s->rim_units, cost->beat);
    return tw_sat_add(cost->setup + cost->fill, tw_sat_mul(beats, cost->per_beat)) / TW_MILLI;
}

/* Whether the innermost memory of input o has no room for two of its tiles. */
static bool is_single(const tw_view *v, int o)
{
    const tw_space *s = v->s;
    int m = tw_path_innermost(s->path[o]), t = v->f->n_tiled - 1;
    const tw_memory *memory = &s->machine->memory[m];
    int64_t units = v->slot_units[t][o];
    if (memory->size == TW_UNLIMITED || memory->whole || s->slides[m][o] || v->f->grain[m] != t) return false;
    for (int i = 0; i < s->op->n_operands; i++)
        if (tw_space_holds(s, m, i)) units = tw_sat_add(units, v->slot_units[t][i]);
    return units > memory->size;
}

/* Cycles in which nothing is executed because the only buffer of some input is filled: what was in it is no longer there, and every
 * execution needs what comes. */
static int64_t refilling(const tw_view *v)
{
    const tw_space *s = v->s;
    int64_t most = 0;
    for (int o = 0; o < tw_op_output(s->op) && !v->hollow; o++) {
        int m = tw_path_innermost(s->path[o]);
        const tw_engine *mover = &s->machine->engine[s->mover[m][o]];
        if ((s->resident >> o & 1) || mover->joins || s->rules->nests || !is_single(v, o)) continue;
        tw_load l = tw_view_load(v, m, o);
        int64_t late = tw_cost_cycles(&mover->cost, 1) - tw_engine_busy(mover, 1);
        most = tw_max(most, tw_sat_add(tw_busy_of(mover, l.transfers, l.units), tw_sat_mul(late, l.transfers)));
    }
    return most;
}

/* Cycles in which all units of mover e are busy together. */
static int64_t busy_moving(const tw_view *v, const tw_traffic_bound *all, int e)
{
    const tw_engine *engine = &v->s->machine->engine[e];
    int64_t busy = tw_max(tw_busy_of(engine, all->commands[e], all->units[e]), all->apart[e]);
    if (all->tile[e] > 0 && all->units[e] < INT64_MAX / tw_max(1, all->tile_busy[e]))
        busy = tw_max(busy, tw_cdiv(all->units[e] * all->tile_busy[e], all->tile[e]));
    return busy;
}

/* ---- the last tile but one ---- */

/* A rest may be as short as can be, but then the tile before it is a whole one. Where the outermost level cuts into tiles of known size and
 * the input o depends on all loops that it cuts, each step brings a tile of o; in the last two steps the innermost of these loops, q, has its
 * last two tiles, the others stand still. A mover serves in program order, so all its commands but those of the last two steps are
 * behind it when the tile of o for the last step but one has come, and both steps are executed after that. */
typedef struct last_steps {
    const tw_view *v;
    const tw_ends *ends;
    int e, o, k; /* the mover makes step k of the way of the input */
} last_steps;

/* Cycles in which the mover carries what a step with tiles of at most these lengths may need; but for operand `o`. */
static int64_t step_busy(const last_steps *w, const int64_t *len, int o)
{
    const tw_space *s = w->v->s;
    const tw_engine *engine = &s->machine->engine[w->e];
    int output = tw_op_output(s->op);
    int64_t busy = 0;
    for (int i = 0; i <= output; i++) {
        bool carries = false;
        for (int m = 1; m < s->machine->n_memories; m++)
            carries |= engine->memory == m && tw_space_holds(s, m, i) &&
                       (i < output ? s->mover[m][i] : s->back[m]) == w->e;
        if (!carries || i == o) continue;
        int64_t elem = i < output ? s->elem_units[i] : tw_max(s->partial_units, s->elem_units[i]);
        busy = tw_sat_add(busy, tw_engine_busy(engine, tw_max(1, tw_sat_mul(elem, tw_footprint_most(s, i, len)))));
    }
    return busy;
}

/* Cycles behind all commands of the mover, at least, where q is the innermost loop that is cut, its last tile has from `last` to `most_last`
 * points and the one before it `before` or more. May be less than nothing. */
static int64_t behind_steps(const last_steps *w, int q, int64_t last, int64_t before, int64_t most_last)
{
    const tw_view *v = w->v;
    const tw_space *s = v->s;
    int64_t units[TW_MAX_MEMORIES][TW_MAX_OPERANDS], len[TW_MAX_LOOPS], most[TW_MAX_LOOPS];
    for (int t = 0; t < v->f->n_tiled; t++) units[t][w->o] = v->small_units[t][w->o];
    for (int l = 0; l < s->op->n_loops; l++) {
        most[l] = tw_min(v->hi[0][l], s->op->loop[l].extent);
        len[l] = tw_min(v->last[0][l], most[l]);
    }
    int64_t busy = step_busy(w, most, w->o);
    most[q] = most_last;
    busy = tw_sat_add(busy, step_busy(w, most, -1));
    len[q] = last;
    int64_t executed = box_cycles(v, len);
    len[q] = before;
    executed = tw_sat_add(executed, box_cycles(v, len));
    units[0][w->o] = tw_view_units(v, w->o, len);
    int64_t in = way_in(v, w->o, &w->ends->way[w->o], w->k + 1, w->ends->way[w->o].n, units);
    return tw_sat_add(in, tw_sat_add(executed, w->ends->drain)) - busy;
}

/* The same by the last step alone, which brings a tile of o too, and what others need after it at most. */
static int64_t behind_last(const last_steps *w)
{
    const tw_view *v = w->v;
    const tw_space *s = v->s;
    int64_t units[TW_MAX_MEMORIES][TW_MAX_OPERANDS], len[TW_MAX_LOOPS], most[TW_MAX_LOOPS];
    for (int t = 0; t < v->f->n_tiled; t++) units[t][w->o] = v->small_units[t][w->o];
    for (int l = 0; l < s->op->n_loops; l++) {
        most[l] = tw_min(v->hi[0][l], s->op->loop[l].extent);
        len[l] = tw_min(v->last[0][l], most[l]);
    }
    units[0][w->o] = tw_view_units(v, w->o, len);
    int64_t in = way_in(v, w->o, &w->ends->way[w->o], w->k + 1, w->ends->way[w->o].n, units);
    return tw_sat_add(in, tw_sat_add(box_cycles(v, len), w->ends->drain)) - step_busy(w, most, w->o);
}

/* The same of the rules by which the loop may be cut. */
static int64_t behind_rules(const last_steps *w, int q)
{
    const tw_space *s = w->v->s;
    tw_range rule = w->v->p->var[tw_var_rule(s, w->v->f, 0, q)];
    int64_t extent = s->op->loop[q].extent, size = w->v->lo[0][q], n = tw_cdiv(extent, size), least = INT64_MAX;
    if (rule.hi > 0) {
        int64_t rest = extent - (n - 1) * size;
        least = behind_steps(w, q, rest, size, rest);
    }
    if (rule.lo == 0) least = tw_min(least, behind_steps(w, q, extent / n, extent / n, size));
    return least;
}

/* Whether that is so of input o and the mover. */
static bool has_last_steps(const last_steps *w)
{
    const tw_view *v = w->v;
    const tw_space *s = v->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute], *engine = &s->machine->engine[w->e];
    int m = w->ends->way[w->o].memory[w->k];
    if (v->f->grain[m] != 0 || v->hollow || v->skips || s->rules->nests || s->machine->pads) return false;
    if (mac->cost.kind != TW_COST_ARRAY || mac->count > 1 || mac->cost.array.stationary) return false;
    if (engine->count > 1 || engine->joins || tw_cost_by_shape(&engine->cost) || engine->memory != m) return false;
    if (engine->carries == TW_BOTH_WAYS || s->mover[m][tw_op_output(s->op)] == w->e)
        return false; /* stores come later */
    if (s->slides[m][w->o] || s->machine->memory[m].whole || (s->clipped >> w->o & 1)) return false;
    for (int l = 0; l < s->op->n_loops; l++)
        if (v->lo[0][l] != v->hi[0][l]) return false;
    return v->surely[0] != 0 && (v->surely[0] & ~s->loops[w->o]) == 0;
}

/* Cycles behind all commands of mover e, at least, by its last steps; INT64_MIN: nothing is known. */
static int64_t behind_last_steps(const tw_view *v, const tw_ends *ends, int e)
{
    const tw_space *s = v->s;
    int64_t most = INT64_MIN;
    tw_cut_loops order;
    for (int o = 0; o < tw_op_output(s->op); o++) {
        last_steps w = {v, ends, e, o, step_of(s, &ends->way[o], o, e)};
        if (w.k < 0 || !has_last_steps(&w)) continue;
        bool known = tw_part_order(s, v->p, 0, &order) && order.n > 0;
        int64_t least = INT64_MAX;
        for (unsigned rest = v->surely[0]; rest; rest &= rest - 1)
            if (!known || order.loop[order.n - 1] == __builtin_ctz(rest))
                least = tw_min(least, behind_rules(&w, __builtin_ctz(rest)));
        if (least < INT64_MAX) most = tw_max(most, tw_max(least, behind_last(&w)));
    }
    return most;
}

/* Whether one mover brings the inputs of mover e from outside first, in commands of its own that take no less than those of e. */
static bool come_in_line(const tw_view *v, const tw_route *way, int e)
{
    const tw_space *s = v->s;
    const tw_engine *engine = &s->machine->engine[e];
    int64_t cycles, grain = tw_cost_grain(&engine->cost, &cycles);
    int first = -1;
    if (engine->count > 1 || engine->joins || engine->carries != TW_INWARDS || grain <= 0 || v->hollow)
        return false;
    for (int o = 0; o < tw_op_output(s->op); o++) {
        int64_t first_cycles;
        if (step_of(s, &way[o], o, e) < 0) continue;
        int d = s->mover[way[o].memory[0]][o];
        const tw_engine *outer = &s->machine->engine[d];
        if (d == e || (first >= 0 && d != first) || outer->count > 1 || outer->joins) return false;
        if (tw_cost_by_shape(&outer->cost) || tw_cost_by_shape(&engine->cost)) return false;
        if (tw_cost_grain(&outer->cost, &first_cycles) != grain || first_cycles < cycles) return false;
        if (tw_engine_busy(outer, 1) < tw_engine_busy(engine, 1)) return false;
        first = d;
    }
    return first >= 0;
}

/* Cycles before mover e carries anything and in which what it carries before an input comes on top of it: of the input whose first tile is
 * largest. What e carries before that tile, the first tiles of others, the first mover has carried before or behind it, which took no less;
 * and it carries all else when the tile has come. */
static int64_t first_in_line(const tw_view *v, const tw_route *way, const int64_t (*first)[TW_MAX_OPERANDS], int e)
{
    int64_t before = 0;
    if (!come_in_line(v, way, e)) return 0;
    for (int o = 0; o < tw_op_output(v->s->op); o++) {
        int k = step_of(v->s, &way[o], o, e);
        if (k > 0) before = tw_max(before, way_in(v, o, &way[o], 0, k, first));
    }
    return before;
}

/* Cycles behind mover e when the last thing that it carries is a tile of unfinished sums that comes back, INT64_MAX: none does. It goes on inwards, is
 * executed, and goes all the way out. */
static int64_t behind_return(const tw_view *v, const tw_ends *ends, int e)
{
    const tw_space *s = v->s;
    const tw_route *out = &ends->way[tw_op_output(s->op)];
    unsigned may = 0;
    int64_t least = INT64_MAX, inwards = 0;
    for (int t = 0; t < v->f->n_tiled; t++) may |= v->may[t];
    for (int k = out->n - 1; k >= 0 && (may & s->reductions); k--) {
        int back = s->back[out->memory[k]];
        if (back == e) least = tw_min(least, inwards);
        if (back >= 0) inwards = tw_sat_add(inwards, cost_of(v, back, 1));
    }
    return least == INT64_MAX ? least : tw_sat_add(least, tw_sat_add(one_exec(v), ends->drain));
}

/* Cycles of a program in which mover e carries that much. `first` is what movers carry first, of each operand. */
static int64_t link_cycles(const tw_view *v, const tw_ends *ends, const int64_t (*first)[TW_MAX_OPERANDS],
                           const tw_traffic_bound *all, int e)
{
    const tw_space *s = v->s;
    const tw_engine *engine = &s->machine->engine[e];
    const int output = tw_op_output(s->op);
    const tw_route *way = ends->way, *out = &way[output];
    int64_t busy = tw_cdiv(busy_moving(v, all, e), engine->count);
    busy = tw_max(busy, tw_cdiv(arranged_cycles(s, engine), engine->count));
    busy = tw_max(busy, tw_cdiv(tw_max(tw_shapes_busy(v, e, all), all->shaped[e]), engine->count));
    busy = tw_sat_add(busy, tw_sat_add(rim_cycles(s, engine), launch_of(s)));
    int64_t before = INT64_MAX, after = INT64_MAX,
            more = tw_cost_cycles(&engine->cost, 1) - tw_engine_busy(engine, 1);
    for (int o = 0; o < output; o++) {
        int k = step_of(s, &way[o], o, e);
        if (k < 0) continue;
        before = tw_min(before, way_in(v, o, &way[o], 0, k, first));
        int64_t last = way_in(v, o, &way[o], k + 1, way[o].n, v->small_units);
        after = tw_min(after, tw_sat_add(last, tw_sat_add(execs_behind(v, way[o].memory[k], o), ends->drain)));
    }
    int k = step_of(s, out, output, e);
    if (k >= 0) {
        int64_t made = tw_sat_add(one_exec(v), way_in(v, output, out, k + 1, out->n, v->small_units));
        before = tw_min(before, tw_sat_add(ends->fill, made));
        after = tw_min(after, way_in(v, output, out, 0, k, v->small_units));
    }
    after = tw_min(after, behind_return(v, ends, e));
    if (before < INT64_MAX) before = tw_max(before, first_in_line(v, way, first, e));
    if (before == INT64_MAX || after == INT64_MAX)
        before = after = more = 0;
    else
        after = tw_max(after, behind_last_steps(v, ends, e));
    return tw_sat_add(busy, tw_sat_add(before, tw_sat_add(after, more)));
}

/* The busiest of all movers. */
static int64_t busiest(const tw_view *v, const tw_ends *ends, const int64_t (*first)[TW_MAX_OPERANDS],
                       const tw_traffic_bound *all, int *at)
{
    const tw_space *s = v->s;
    int64_t most = 0;
    for (int e = 0; e < s->machine->n_engines; e++) {
        if (s->machine->engine[e].kind != TW_MOVES || all->commands[e] == 0) continue;
        int64_t cycles = link_cycles(v, ends, first, all, e);
        if (cycles <= most) continue;
        most = cycles;
        *at = e;
    }
    return most;
}

/* The same by one order of loops: see joint.h. */
static void raise_jointly(tw_view *v, const tw_ends *ends, const int64_t (*first)[TW_MAX_OPERANDS],
                          const tw_traffic_bound *all)
{
    tw_joint_order joint;
    tw_traffic_bound now = *all;
    if (!tw_joint_of(v, &joint) || all->commands[joint.mover] == 0) return;
    now.units[joint.mover] = tw_max(now.units[joint.mover], joint.leaving);
    int at = joint.mover;
    int64_t least = joint.leaving == INT64_MAX ? INT64_MAX : link_cycles(v, ends, first, &now, at);
    least = tw_max(least, joint.holding);
    for (int i = 0; i < joint.n; i++) {
        unsigned rest = joint.outside[i];
        do {
            if (least <= v->out->cost.cycles) return;
            int busy = -1, outermost = rest ? __builtin_ctz(rest) : -1;
            now = *all;
            rest &= rest - 1;
            if (!tw_joint_units(v, &joint, i, outermost, &now)) continue;
            int64_t cycles = busiest(v, ends, first, &now, &busy), launch = launch_of(v->s);
            if (cycles >= least) continue;
            int64_t bursts = tw_bursts_least(v, ends, joint.inside[i], joint.outside[i], outermost,
                                             tw_max(cycles, v->out->cost.cycles) - launch);
            cycles = tw_max(cycles, bursts > 0 ? tw_sat_add(launch, bursts) : 0);
            if (cycles >= least) continue;
            least = cycles;
            at = busy;
        } while (rest);
    }
    if (least < INT64_MAX) tw_view_raise(v, least, TW_BOUND_LINK, at);
}

void tw_bound_links(tw_view *v, const tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op);
    tw_route way[TW_MAX_OPERANDS];
    for (int o = 0; o <= output; o++) way[o] = route_of(s, o);
    const tw_route *out = &way[output];
    int64_t first[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* what a mover carries first, of each operand */
    for (int t = 0; t < v->f->n_tiled; t++)
        for (int o = 0; o < output; o++)
            first[t][o] = v->first_units[v->f->n_tiled - 1][o] > 0 ? v->first_units[t][o] : v->small_units[t][o];
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int64_t fill = fill_in(v, way, v->first_units), drain = way_in(v, output, out, 0, out->n, v->last_units);
    tw_ends ends = {.fill = fill, .exec = tw_engine_busy(mac, 1), .drain = drain, .stretched = drain, .way = way};
    int64_t rest = tw_cost_cycles(&mac->cost, 1) - tw_engine_busy(mac, 1);
    int64_t compute = compute_and_ends(v, way, &ends);
    look_beside(v, way, first, &ends);
    ends.outer = way_in(v, output, out, 0, out->n - 1, v->last_units);
    ends.leaving = way_in(v, output, out, 0, out->n - 1, v->small_units);
    compute = tw_max(compute, tw_start_alone(v, &ends));
    int64_t refills = refilling(v);
    if (refills > 0) compute = tw_max(compute, tw_sat_add(refills, tw_sat_add(tw_view_compute(v, -1), drain)));
    tw_view_raise(v, tw_sat_add(launch_of(s), tw_sat_add(compute, rest)), TW_BOUND_COMPUTE, s->machine->compute);
    int at = -1;
    int64_t links = busiest(v, &ends, first, all, &at);
    tw_view_raise(v, links, TW_BOUND_LINK, at);
    raise_jointly(v, &ends, first, all);
    /* Last, since it takes longest and says nothing where movers take longer. */
    int64_t started = tw_start_least(v, &ends, v->out->cost.cycles - launch_of(s) - rest);
    tw_view_raise(v, tw_sat_add(launch_of(s), tw_sat_add(started, rest)), TW_BOUND_COMPUTE, s->machine->compute);
}
