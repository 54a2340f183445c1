/* src/search/joint.c - see joint.h. */
#include "search/joint.h"

/* Parallel loops that surely have several tiles, as a mask. */
static unsigned loops_listed(const tw_view *v)
{
    unsigned loops = 0;
    for (int l = 0; l < v->s->op->n_loops; l++)
        if (v->n[1][l] > 1 && tw_space_depends(v->s, tw_op_output(v->s->op), l)) loops |= 1u << l;
    return loops;
}

/* Whether all tiles along the loops in `inside` have room for their sums together. */
static bool have_room(const tw_view *v, unsigned inside)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op);
    const tw_memory *memory = &s->machine->memory[tw_path_innermost(s->path[output])];
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < s->op->n_loops; l++)
        len[l] = inside >> l & 1 ? s->op->loop[l].extent : tw_min(v->lo[0][l], s->op->loop[l].extent);
    return tw_sat_mul(tw_footprint_least(s, output, len), tw_min(s->partial_units, s->elem_units[output])) <=
           memory->size;
}

/* Whether sums of several tiles of level t may stay while a reduction runs outside of them: several reductions are cut, and there is room
 * for all tiles along some loop. Then tiles come one behind the other, and go likewise. */
static bool may_reside_together(const tw_view *v, int t)
{
    unsigned cut = v->may[t] & v->s->reductions, own = v->s->loops[tw_op_output(v->s->op)];
    if ((cut & (cut - 1)) == 0) return false;
    for (unsigned rest = v->may[t] & own; rest; rest &= rest - 1)
        if (have_room(v, rest & -rest)) return true;
    return false;
}

/* The same where several tiles may stay together while a reduction runs: in a row come no more sums than have room, and before such a row,
 * and right behind an execution, some tile goes. So the array waits for one tile that goes and one that comes in every row. */
static int64_t returns_in_rows(const tw_view *v, const tw_engine *mover, int64_t elems, int64_t late)
{
    const tw_space *s = v->s;
    int64_t room = s->machine->memory[tw_path_innermost(s->path[tw_op_output(s->op)])].size;
    if (room == TW_UNLIMITED) return 0;
    int64_t rows = tw_cdiv(tw_sat_mul(elems, s->partial_units), room);
    return tw_sat_mul(rows, tw_sat_add(2 * tw_busy_of(mover, 1, 1), late));
}

int64_t tw_joint_returns(const tw_view *v, int t, int64_t trips)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op), m = tw_path_innermost(s->path[output]);
    const tw_engine *mover = &s->machine->engine[s->mover[m][output]];
    int64_t n = trips - 1, elems = tw_sat_mul(s->least[output], n),
            late = tw_cost_cycles(&mover->cost, 1) - tw_engine_busy(mover, 1);
    if (s->back[m] != s->mover[m][output] || mover->count > 1) return 0;
    if (s->machine->engine[s->machine->compute].late || v->skips) return 0;
    if (t != v->f->n_tiled - 1 || may_reside_together(v, t)) return returns_in_rows(v, mover, elems, late);
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_space_depends(s, output, l)) n = tw_sat_mul(n, v->n[t + 1][l]);
    int64_t in = tw_busy_of(mover, n, tw_sat_mul(elems, s->partial_units));
    int64_t out = tw_busy_of(mover, n, tw_sat_mul(elems, tw_min(s->partial_units, s->elem_units[output])));
    return tw_sat_add(tw_sat_add(in, out), tw_sat_mul(late, n));
}

/* Tiles of the reduction that has fewest, where it is cut; 0: none may be. */
static int64_t least_trips(const tw_view *v)
{
    int64_t least = 0;
    for (unsigned rest = v->may[0] & v->s->reductions; rest; rest &= rest - 1) {
        int64_t n = tw_max(2, v->n[1][__builtin_ctz(rest)]);
        least = least == 0 ? n : tw_min(least, n);
    }
    return least;
}

/* Cycles in which the buffers of sums that leave are held: while these come, are executed in `cycles` and go, `trips` times, the first
 * time they do not come. As many at once as there are buffers. */
static int64_t holding(const tw_view *v, int64_t trips, int64_t cycles)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op), m = tw_path_innermost(s->path[output]);
    const tw_engine *out = &s->machine->engine[s->mover[m][output]], *in = &s->machine->engine[s->back[m]];
    int64_t size = tw_sat_mul(s->partial_units, tw_footprint_least(s, output, v->lo[0])), tiles = 1;
    int64_t sums = tw_sat_mul(s->least[output], s->partial_units);
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_space_depends(s, output, l)) tiles = tw_sat_mul(tiles, v->n[1][l]);
    int64_t buffers = tw_max(1, s->machine->memory[m].size / tw_max(1, size));
    const tw_engine *mover[2] = {out, in};
    if (s->machine->engine[s->machine->compute].late) return 0; /* its buffer comes while it executes */
    for (int i = 0; i < 2; i++) {
        int64_t late = tw_cost_cycles(&mover[i]->cost, 1) - tw_engine_busy(mover[i], 1),
                n = trips - 1; /* unfinished */
        int64_t busy = tw_busy_of(mover[i], tw_sat_mul(tiles, n), tw_sat_mul(sums, n));
        cycles = tw_sat_add(cycles, tw_sat_add(busy, tw_sat_mul(late, tw_sat_mul(tiles, n))));
    }
    return cycles / buffers;
}

bool tw_joint_of(const tw_view *v, tw_joint_order *out)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op), memory = tw_path_innermost(s->path[output]);
    unsigned listed = loops_listed(v);
    int64_t trips = least_trips(v);
    if (v->f->n_tiled != 1 || v->skips || s->rules->nests || s->machine->reuse != TW_REUSE_DECLARED) return false;
    if (listed == 0 || s->reductions == 0 || (s->resident >> output & 1)) return false;
    if (s->machine->memory[memory].size == TW_UNLIMITED) return false;
    out->n = 0;
    for (unsigned inside = 0;; inside = (inside - listed) & listed) {
        if (have_room(v, inside)) {
            if (out->n == TW_JOINT_SETS) return false;
            out->outside[out->n] = listed & ~inside;
            out->inside[out->n++] = inside;
        }
        if (inside == listed) break;
    }
    out->mover = s->mover[memory][output];
    out->leaving = INT64_MAX;
    out->holding = 0;
    if (trips == 0 || s->back[memory] < 0) return true;
    int64_t sums = tw_sat_mul(s->least[output], s->partial_units),
            last = tw_sat_mul(s->least[output], s->elem_units[output]), compute = tw_view_compute(v, -1);
    out->leaving = tw_sat_add(last, tw_sat_mul(sums, (trips - 1) * (s->back[memory] == out->mover ? 2 : 1)));
    out->holding = tw_max(holding(v, trips, compute), tw_sat_add(compute, tw_joint_returns(v, 0, trips)));
    return true;
}

bool tw_joint_units(const tw_view *v, const tw_joint_order *joint, int i, int outermost, tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    tw_closed c;
    for (int m = 1; m < s->machine->n_memories; m++) {
        if (!tw_closed_of(v, m, &c) || c.n == 0) continue;
        for (int k = 0; k < c.n_loops; k++) {
            bool parallel = !(s->reductions >> c.loop[k] & 1), inside = joint->inside[i] >> c.loop[k] & 1;
            *(parallel && !inside ? &c.apart : &c.together) |= (uint8_t)(1u << k);
            if (c.loop[k] == outermost) c.outermost = (uint8_t)(1u << k);
        }
        for (int e = 0; e < s->machine->n_engines; e++) {
            const tw_engine *engine = &s->machine->engine[e];
            if (engine->kind != TW_MOVES || engine->memory != m || all->units[e] == 0) continue;
            tw_price price = tw_price_of_units(s, m, e);
            int64_t least = tw_closed_least(&c, &price);
            if (least == INT64_MAX) return false;
            all->units[e] = tw_max(all->units[e], least);
        }
    }
    return true;
}
