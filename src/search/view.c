/* src/search/view.c - see view.h. */
#include "search/view.h"
#include "tile/box.h"

#include <math.h>

bool tw_part_is_hollow(const tw_space *s, const tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int o = 0; o < tw_op_output(s->op); o++)
        for (int a = 0; s->clipped >> o & 1 && a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            if (!tw_axis_is_clipped(s->op, axis)) continue;
            for (int i = 0; i < axis->n_terms; i++) {
                int l = axis->term[i].loop;
                int64_t len = s->op->loop[l].extent;
                if (!s->op->loop[l].reduces && s->useful[l] < len) return true;
                for (int t = 0; t < f->n_tiled && s->op->loop[l].reduces; t++)
                    if (p->var[tw_var_size(s, t, l)].lo < len) return true;
            }
        }
    return false;
}

/* Length of the shortest tile of level t along loop l, or something below. */
static int64_t smallest_tile(const tw_space *s, const tw_part *p, const tw_frame *f, int t, int l)
{
    int64_t len[TW_MAX_LENGTHS], least = INT64_MAX;
    tw_range size = p->var[tw_var_size(s, 0, l)], rule = p->var[tw_var_rule(s, f, 0, l)];
    if (t == 0 && !tw_range_open(size) && tw_range_open(rule)) { /* by whichever rule */
        int64_t extent = s->op->loop[l].extent, n = tw_cdiv(extent, size.lo);
        return tw_max(1, tw_min(extent - (n - 1) * size.lo, extent / n));
    }
    for (int i = 0; i <= t; i++)
        if (tw_range_open(p->var[tw_var_size(s, i, l)]) || tw_range_open(p->var[tw_var_rule(s, f, i, l)])) return 1;
    int n = tw_part_lengths(s, p, t + 1, l, len);
    for (int i = 0; i < n; i++) least = tw_min(least, len[i]);
    return n == 0 ? 1 : least;
}

/* Length of the last of all tiles of level t along loop l, or something below. */
static int64_t last_tile(const tw_view *v, int t, int l)
{
    const tw_space *s = v->s;
    tw_range rule = v->p->var[tw_var_rule(s, v->f, t, l)];
    int64_t size = v->lo[t][l], largest = t == 0 ? s->op->loop[l].extent : v->lo[t - 1][l];
    int64_t len = t == 0 ? largest : v->last[t - 1][l], least = size;
    for (int i = 0; i <= t; i++)
        if (v->lo[i][l] != v->hi[i][l]) return 1;
    if (rule.hi > 0) least = tw_min(least, len - (tw_cdiv(len, size) - 1) * size); /* greedy: the rest */
    if (rule.lo == 0) least = tw_min(least, tw_max(1, len / tw_cdiv(largest, size)));
    return least;
}

int64_t tw_view_units(const tw_view *v, int o, const int64_t *len)
{
    return v->s->elem_units[o] * tw_footprint_least(v->s, o, len);
}

static int64_t output_slots(const tw_view *v, int t);
static void count_passes(tw_view *v);

/* The sizes of tiles, and what their buffers take: what capacity asks for. */
static void look(const tw_space *s, const tw_part *p, tw_view *v)
{
    v->s = s;
    v->p = p;
    v->f = &s->frame[p->frame];
    for (int t = 0; t < v->f->n_tiled; t++) {
        v->surely[t] = v->may[t] = 0;
        for (int l = 0; l < s->op->n_loops; l++) {
            tw_range r = p->var[tw_var_size(s, t, l)];
            int64_t extent = s->op->loop[l].extent;
            v->lo[t][l] = r.lo;
            v->hi[t][l] = r.hi;
            if (r.hi < (t == 0 ? extent : v->lo[t - 1][l])) v->surely[t] |= 1u << l;
            if (r.lo < (t == 0 ? extent : v->hi[t - 1][l])) v->may[t] |= 1u << l;
        }
        for (int o = 0; o < s->op->n_operands; o++) v->lo_units[t][o] = tw_view_units(v, o, v->lo[t]);
        v->output_slots[t] = output_slots(v, t);
    }
}

/* The shortest and the last tiles of level t; even[l]: all tiles outside it have one length along the loop. */
static void look_at_ends(tw_view *v, int t, bool even[TW_MAX_LOOPS])
{
    const tw_space *s = v->s;
    unsigned small = 0, last = 0; /* loops along which they are shorter */
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t lo = v->lo[t][l];
        even[l] = even[l] && lo == v->hi[t][l] && (t == 0 ? s->op->loop[l].extent : v->lo[t - 1][l]) % lo == 0;
        v->small[t][l] = even[l] ? lo : smallest_tile(s, v->p, v->f, t, l);
        v->last[t][l] = even[l] ? lo : last_tile(v, t, l);
        small |= (unsigned)(v->small[t][l] != lo) << l;
        last |= (unsigned)(v->last[t][l] != lo) << l;
    }
    if (small == 0) last = 0;
    for (int o = 0; o < s->op->n_operands; o++) {
        v->small_units[t][o] = small & s->loops[o] ? tw_view_units(v, o, v->small[t]) : v->lo_units[t][o];
        v->last_units[t][o] = last & s->loops[o] ? tw_view_units(v, o, v->last[t]) : v->lo_units[t][o];
    }
}

/* Whether, of three or more tiles of so many points, one that is neither first nor last is as long as the largest: by either rule
 * all are, or more than one. */
static bool is_full_between(int64_t extent, int64_t size)
{
    int64_t n = tw_cdiv(extent, size);
    bool balanced = tw_cdiv(extent, n) == size; /* otherwise there is only the rule with a rest */
    return !balanced || extent % n == 0 || extent % n >= 2;
}

/* Positions outside of the tensor, of `outside` in all, that the largest tile of level t has along an axis at most, where term i
 * alone moves. The first tile is as long as the largest and has the padding of one side; the second has none, and is as long
 * or shorter by a point. */
static int64_t missing_along(const tw_view *v, int t, const tw_axis *axis, int i, int64_t outside, bool even)
{
    int l = axis->term[i].loop;
    int64_t coef = axis->term[i].coef, before = tw_max(0, -axis->offset), extent = v->s->op->loop[l].extent;
    int64_t lo = v->lo[t][l], hi = v->hi[t][l];
    if (v->n[t + 1][l] < 2 || coef * (extent - hi) < outside) return outside;
    if (v->n[t + 1][l] < 3 || coef * (extent - 2 * hi) < outside || coef * tw_max(1, lo - 1) < outside)
        return before;
    if (even || (lo == hi && is_full_between(extent, lo))) return 0;
    return tw_min(before, coef);
}

/* Positions of an axis that the largest tile of level t brings, at least. */
static int64_t slot_along(const tw_view *v, int t, int o, int a, const bool even[TW_MAX_LOOPS])
{
    const tw_space *s = v->s;
    const tw_axis *axis = &s->op->operand[o].axis[a];
    int64_t reach = tw_axis_stretch(axis, v->lo[t]), outside = s->overhang[o][a], missing = outside;
    bool plain = axis->n_terms <= 2 && axis->divisor == 1;
    for (int i = 0; i < axis->n_terms; i++) plain = plain && axis->term[i].coef > 0;
    for (int i = 0; i < axis->n_terms && plain && outside > 0; i++) {
        int l = axis->term[i].loop, other = axis->n_terms == 2 ? axis->term[1 - i].loop : l;
        bool whole = other == l || v->lo[t][other] == s->op->loop[other].extent;
        if (whole && (even[l] || t == 0)) missing = tw_min(missing, missing_along(v, t, axis, i, outside, even[l]));
    }
    int64_t least = reach - missing;
    if (axis->divisor > 1) least = axis->floors ? tw_cdiv(least, axis->divisor) : least / axis->divisor;
    return tw_clamp(least, 0, axis->extent);
}

static void look_at_slots(tw_view *v, int t, const bool even[TW_MAX_LOOPS])
{
    const tw_space *s = v->s;
    for (int o = 0; o < s->op->n_operands; o++) {
        int64_t n = s->elem_units[o];
        for (int a = 0; a < s->op->operand[o].n_axes && (s->clipped >> o & 1); a++)
            n = tw_sat_mul(n, slot_along(v, t, o, a, even));
        v->slot_units[t][o] = s->clipped >> o & 1 ? tw_max(n, v->lo_units[t][o]) : v->lo_units[t][o];
    }
}

/* What several bounds ask for. */
static void look_closer(tw_view *v)
{
    const tw_space *s = v->s;
    bool even[TW_MAX_LOOPS];
    v->hollow = s->clipped && tw_part_is_hollow(s, v->p);
    v->skips = v->hollow && s->leaves_out;
    v->points = v->skips ? s->points_inside : tw_op_points(s->op);
    v->execs[0] = 1;
    for (int l = 0; l < s->op->n_loops; l++) v->n[0][l] = 1, even[l] = true;
    for (int t = 0; t < v->f->n_tiled; t++) {
        int64_t volume = 1;
        v->execs[t + 1] = 1;
        for (int l = 0; l < s->op->n_loops; l++) {
            v->n[t + 1][l] = tw_cdiv(s->op->loop[l].extent, v->hi[t][l]);
            v->execs[t + 1] = tw_sat_mul(v->execs[t + 1], v->n[t + 1][l]);
            volume = tw_sat_mul(volume, v->hi[t][l]);
        }
        if (v->skips) v->execs[t + 1] = tw_max(1, tw_cdiv(v->points, volume));
        look_at_ends(v, t, even);
        look_at_slots(v, t, even);
    }
}

/* ---- capacity ---- */

/* The fewest output slots that tiled level t can do with. */
static int64_t output_slots(const tw_view *v, int t)
{
    const tw_space *s = v->s;
    if (!s->discipline->adders || !(v->surely[t] & s->reductions)) return 1; /* sums are made where they lie */
    unsigned modes =
        v->f->mode >= 0 ? 1u << v->f->mode : s->modes & s->limits.level[v->f->memory[t] - 1].accumulate;
    tw_range chosen = v->p->var[v->f->modes + t];
    if (!tw_range_open(chosen)) modes = 1u << chosen.lo;
    int64_t least = 3;
    for (int m = 0; m < TW_N_ACCUMULATES; m++)
        if (modes >> m & 1) least = tw_min(least, tw_mapping_min_output_slots((tw_accumulate)m, 2));
    return least;
}

void tw_view_slots(const tw_view *v, int m, int64_t count[TW_MAX_OPERANDS], int64_t units[TW_MAX_OPERANDS])
{
    const tw_space *s = v->s;
    int t = v->f->grain[m], output = tw_op_output(s->op);
    bool fixed = !s->discipline->credits && v->f->memory[t] != m; /* buffers of what passes through */
    for (int o = 0; o < s->op->n_operands; o++) {
        units[o] = v->lo_units[t][o];
        count[o] = 1;
        if (!tw_space_holds(s, m, o))
            count[o] = 0;
        else if (fixed)
            count[o] = tw_space_pass_slots(s, m, o);
        else if (o == output)
            count[o] = v->output_slots[t];
        if (count[o] > 0 && !fixed) count[o] = tw_max(count[o], s->limits.level[m - 1].slots[o].at_least);
    }
}

void tw_view_of(const tw_space *s, const tw_part *p, tw_least *out, tw_view *v)
{
    v->out = out;
    look(s, p, v);
    look_closer(v);
    count_passes(v);
}

/* Units of tiles of level t that are longer than the smallest by one point of one loop, for each loop that is open. */
typedef struct longer {
    unsigned loops;
    int64_t units[TW_MAX_LOOPS][TW_MAX_OPERANDS];
} longer;

static void lengthen(const tw_view *v, int t, longer *out)
{
    const tw_space *s = v->s;
    int64_t len[TW_MAX_LOOPS];
    out->loops = 0;
    for (int l = 0; l < s->op->n_loops; l++) len[l] = v->lo[t][l];
    for (int l = 0; l < s->op->n_loops; l++) {
        if (v->lo[t][l] == v->hi[t][l] || (s->divided >> l & 1)) continue;
        out->loops |= 1u << l;
        len[l]++;
        for (int o = 0; o < s->op->n_operands; o++)
            out->units[l][o] = tw_space_depends(s, o, l) ? tw_view_units(v, o, len) : v->lo_units[t][o];
        len[l]--;
    }
}

/* Takes out what does not fit into memory m, whose tiles are of level t; false: nothing fits. */
static bool tighten_memory(const tw_view *v, int m, int t, const longer *more, tw_part *p)
{
    const tw_space *s = v->s;
    int64_t size = s->machine->memory[m].size, count[TW_MAX_OPERANDS], units[TW_MAX_OPERANDS];
    if (size == TW_UNLIMITED) return true;
    tw_view_slots(v, m, count, units);
    int64_t room = size - tw_given_least(count, units, s->op->n_operands);
    if (room < 0) return false;
    for (unsigned rest = more->loops; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        tw_range *r = &p->var[tw_var_size(s, t, l)];
        if (!tw_range_open(*r)) continue;
        /* What one more point takes, each further one takes at least: footprints are convex. */
        int64_t slope = room - (size - tw_given_least(count, more->units[l], s->op->n_operands));
        if (slope > 0) r->hi = (int32_t)tw_min(r->hi, r->lo + room / slope);
    }
    return true;
}

bool tw_part_tighten(const tw_space *s, tw_part *p)
{
    tw_view v;
    longer more;
    if (tw_part_is_sized(s, p)) return true;
    look(s, p, &v);
    for (int m = 1; m < s->machine->n_memories; m++) {
        int t = v.f->grain[m];
        if (m == 1 || t != v.f->grain[m - 1]) lengthen(&v, t, &more);
        if (!tighten_memory(&v, m, t, &more, p)) return false;
    }
    return true;
}

/* Points of a tile whose buffers fit into memory m, at most (Loomis-Whitney with all three footprints alike). */
double tw_view_most_points(const tw_view *v, int m, const int64_t *count)
{
    const tw_space *s = v->s;
    double most = s->window_points, third = (double)s->machine->memory[m].size / 3;
    if (s->window_points <= 0 || s->machine->memory[m].size == TW_UNLIMITED) return INFINITY;
    for (int o = 0; o < 3; o++) {
        if (count[o] <= 0) return INFINITY;
        most *= third / ((double)count[o] * (double)s->elem_units[o]);
    }
    return sqrt(most) * (1 + 1e-9);
}

/* ---- traffic ---- */

tw_load tw_view_load(const tw_view *v, int m, int o)
{
    const tw_space *s = v->s;
    int t = v->f->grain[m];
    tw_load sum = {1, tw_sat_mul(s->least[o], s->elem_units[o])};
    bool fewer = v->hollow && o < tw_op_output(s->op); /* the output is made everywhere */
    if (fewer || v->skips) sum.transfers = tw_cdiv(s->least[o], tw_max(1, tw_footprint_most(s, o, v->hi[t])));
    for (int l = 0; l < s->op->n_loops && !fewer && !v->skips; l++) {
        /* A nested program begins with empty buffers. */
        int64_t again = tw_space_depends(s, o, l) || !s->rules->nests ? 1 : v->n[t][l];
        sum.transfers = tw_sat_mul(sum.transfers, tw_space_depends(s, o, l) ? v->n[t + 1][l] : again);
        sum.units = tw_sat_mul(sum.units, again);
    }
    /* What is kept as a whole may come, or go, at once. */
    if (s->machine->memory[m].whole && (s->machine->memory[m].keeps & tw_role_of(s->op, o)))
        sum.transfers = tw_min(1, sum.transfers);
    return sum;
}

/* ---- time ---- */

/* Passes of loop l over `rows` of an array, at least. Tiles whose length is no multiple waste part of a pass. */
static int64_t passes_along(const tw_view *v, int l, int64_t rows)
{
    int t = v->f->n_tiled - 1;
    int64_t len = v->s->op->loop[l].extent, hi = v->hi[t][l], lo = tw_max(1, v->lo[t][l] - 1);
    int64_t least = hi >= rows ? tw_cdiv(len, rows) : tw_cdiv(len, hi);
    if (hi < rows || hi / rows * rows >= lo) return least;
    /* Every piece with a tile has at least as much in whole tiles as in its rest. */
    int64_t parent = t > 0 ? v->hi[t - 1][l] : 0;
    double waste = (double)tw_cdiv(hi, rows) - (double)hi / (double)rows;
    double tiles = (double)(len - tw_max(parent, hi)) / (double)hi / (v->f->n_tiled > 1 ? 2 : 1);
    return tw_max(least, (int64_t)floor((double)len / (double)rows + fmax(tiles, 0) * waste - 1e-6));
}

/* The same when all is chosen: exact. */
static int64_t passes_exactly(const tw_view *v, int l, int64_t rows)
{
    const tw_space *s = v->s;
    struct {
        int64_t len, n;
    } now[64] = {{s->op->loop[l].extent, 1}}, next[64];
    int n_now = 1;
    for (int t = 0; t < v->f->n_tiled; t++) {
        int n_next = 0;
        int64_t size = v->lo[t][l], count = tw_cdiv(tw_part_piece(s, v->p, t, l), size);
        bool greedy = v->p->var[tw_var_rule(s, v->f, t, l)].lo == 1;
        for (int i = 0; i < n_now; i++) {
            if (n_next + 2 > 64 || (!greedy && count > now[i].len)) return 0;
            tw_split split =
                greedy ? tw_split_by_size(now[i].len, size) : tw_split_by_count(now[i].len, count, TW_BALANCED);
            int64_t large = split.extra > 0 ? split.extra : split.count - 1;
            next[n_next].len = tw_split_largest(&split), next[n_next++].n = now[i].n * large;
            next[n_next].len = tw_span_len(tw_split_at(&split, 0, split.count - 1));
            next[n_next++].n = now[i].n * (split.count - large);
        }
        n_now = 0;
        for (int i = 0; i < n_next; i++) {
            int j = 0;
            while (j < n_now && now[j].len != next[i].len) j++;
            if (j == n_now) now[n_now].len = next[i].len, now[n_now++].n = 0;
            now[j].n += next[i].n;
        }
    }
    int64_t passes = 0;
    for (int i = 0; i < n_now; i++) passes += now[i].n * tw_cdiv(now[i].len, rows);
    return passes;
}

/* Passes along each loop that lies alone over a dimension of the array, at least. */
static void count_passes(tw_view *v)
{
    const tw_cost *cost = &v->s->machine->engine[v->s->machine->compute].cost;
    bool sized = tw_part_is_sized(v->s, v->p);
    for (int d = 0; d < tw_cost_dims(cost); d++) {
        int l = v->f->alone[d];
        if (l < 0) continue;
        bool chosen = sized;
        for (int t = 0; t < v->f->n_tiled; t++) chosen &= !tw_range_open(v->p->var[tw_var_rule(v->s, v->f, t, l)]);
        v->passes[d] =
            tw_max(passes_along(v, l, cost->array.size[d]), chosen ? passes_exactly(v, l, cost->array.size[d]) : 0);
    }
}

/* Passes in all; along loop `more`, if it is one, at least one more than can be. */
static int64_t compute_passes(const tw_view *v, int more)
{
    const tw_space *s = v->s;
    const tw_cost_array *array = &s->machine->engine[s->machine->compute].cost.array;
    int64_t passes = 1, together[TW_MAX_DIMS] = {1, 1, 1, 1}, points = 1;
    for (int d = 0; d < array->n_dims; d++) points = tw_sat_mul(points, array->size[d]);
    if (v->skips) return tw_cdiv(v->points, points);
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t along = s->op->loop[l].extent, extent = along;
        int d = v->f->over.dim[l] - 1;
        if (d >= 0 && v->f->alone[d] != l) { /* one of several */
            together[d] = tw_sat_mul(together[d], extent);
            continue;
        }
        if (d >= 0) along = v->passes[d];
        if (d >= 0 && l == more) along = tw_max(along, tw_cdiv(extent, array->size[d]) + 1);
        passes = tw_sat_mul(passes, along);
    }
    for (int d = 0; d < array->n_dims; d++) passes = tw_sat_mul(passes, tw_cdiv(together[d], array->size[d]));
    return passes;
}

/* Passes in all for the blocks of an operand that stays in place, at least; 0: none does. Every tile along the other loops has its
 * blocks anew. */
static int64_t block_passes(const tw_view *v)
{
    const tw_space *s = v->s;
    const tw_cost_array *array = &s->machine->engine[s->machine->compute].cost.array;
    int64_t most = 0;
    for (int o = 0; o < s->op->n_operands && array->stationary && !v->skips; o++) {
        int64_t passes = array->block_least, together[TW_MAX_DIMS] = {1, 1, 1, 1};
        if (!(array->stationary & tw_role_of(s->op, o))) continue;
        for (int l = 0; l < s->op->n_loops; l++) {
            int d = v->f->over.dim[l] - 1;
            bool moves = tw_space_depends(s, o, l);
            if (moves && d >= 0 && v->f->alone[d] != l)
                together[d] = tw_sat_mul(together[d], s->op->loop[l].extent);
            else if (moves)
                passes = tw_sat_mul(passes, d >= 0 ? v->passes[d] : s->op->loop[l].extent);
            else
                passes = tw_sat_mul(passes, v->n[v->f->n_tiled][l]);
        }
        for (int d = 0; d < array->n_dims; d++) passes = tw_sat_mul(passes, tw_cdiv(together[d], array->size[d]));
        most = tw_max(most, passes);
    }
    return most;
}

/* Cycles of all executions of a kernel when the tiles are one size and all alike, with nothing to disturb them; 0: they are
 * not. */
static int64_t kernel_cycles(const tw_view *v, const tw_cost *cost)
{
    const tw_space *s = v->s;
    if (v->f->n_tiled > 1 || v->skips) return 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t size = v->lo[0][l];
        if (size != v->hi[0][l] || (s->op->loop[l].extent % size != 0 && !s->machine->pads)) return 0;
    }
    tw_kernel_nest nest = tw_nest_of(s->op, v->lo[0], s->elem_units[tw_max(0, tw_op_output(s->op) - 1)]);
    int64_t busy = tw_sat_mul(v->execs[1], tw_cost_cycles(cost, tw_cost_of_kernel(&cost->kernel, &nest, false)));
    return tw_cdiv(busy, s->machine->engine[s->machine->compute].count);
}

int64_t tw_view_compute(const tw_view *v, int more)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    int64_t exact = mac->cost.kind == TW_COST_KERNEL ? kernel_cycles(v, &mac->cost) : 0;
    if (exact > 0) return exact;
    bool array = mac->cost.kind == TW_COST_ARRAY;
    int64_t work = array ? tw_max(compute_passes(v, more), block_passes(v)) : v->points;
    return tw_cdiv(tw_busy_of(mac, v->execs[v->f->n_tiled], work), mac->count);
}

void tw_view_raise(tw_view *v, int64_t cycles, tw_closer by, int at)
{
    if (cycles <= v->out->cost.cycles) return;
    v->out->cost.cycles = cycles;
    v->out->cycles_by = by;
    v->out->cycles_at = at;
}
