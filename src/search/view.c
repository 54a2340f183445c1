/* src/search/view.c - see view.h. */
#include "search/kernels.h"
#include "search/layout.h"
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

/* Programs run every loop upwards from its lowest index, so the first tile is a box at the origin, and as long as the largest.
 * A longer one has all elements of a shorter one. */
int64_t tw_view_first_units(const tw_view *v, int o, const int64_t *len)
{
    const tw_space *s = v->s;
    tw_box box = tw_box_of_op(s->op);
    tw_region region;
    if (!(s->clipped >> o & 1)) return tw_view_units(v, o, len);
    for (int l = 0; l < s->op->n_loops; l++) box.span[l].hi = tw_min(box.span[l].hi, len[l]);
    return s->elem_units[o] * tw_region_of(&s->op->operand[o], &box, &region);
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

/* Whether windows of the operand may slide in some memory that has tiles of level t. */
static bool may_slide(const tw_view *v, int t, int o)
{
    for (int m = 1; m < v->s->machine->n_memories; m++)
        if (v->f->grain[m] == t && v->s->slides[m][o]) return true;
    return false;
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
        bool slides = may_slide(v, t, o); /* then as little as a row may come */
        v->small_units[t][o] = slides                ? 1
                               : small & s->loops[o] ? tw_view_units(v, o, v->small[t])
                                                     : v->lo_units[t][o];
        v->last_units[t][o] = last & s->loops[o] ? tw_view_units(v, o, v->last[t]) : v->lo_units[t][o];
        v->first_units[t][o] = s->clipped >> o & 1 ? tw_view_first_units(v, o, v->lo[t]) : v->lo_units[t][o];
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
        if (count[o] > 0 && !fixed && !s->slides[m][o]) /* of what slides further ones are smaller */
            count[o] = tw_max(count[o], s->limits.level[m - 1].slots[o].at_least);
    }
}

void tw_view_of(const tw_space *s, const tw_part *p, tw_part_bounds *out, tw_view *v)
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

/* Windows along a loop that may bring nothing new, where they slide, at most: those behind the first that reaches beyond the tensor's
 * end, once for every sweep. */
static int64_t bring_nothing(const tw_view *v, int m, int o, int l)
{
    const tw_space *s = v->s;
    if (!(s->clipped >> o & 1) || !tw_part_may_slide(s, v->p, m, o, l)) return 0;
    for (int a = 0; a < s->op->operand[o].n_axes; a++)
        for (int i = 0; i < s->op->operand[o].axis[a].n_terms; i++)
            if (s->op->operand[o].axis[a].term[i].loop == l)
                return s->overhang[o][a] / s->op->operand[o].axis[a].term[i].coef;
    return 0;
}

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
        int64_t tiles = v->n[t + 1][l];
        if (tw_space_depends(s, o, l)) tiles -= tw_min(tiles - 1, bring_nothing(v, m, o, l));
        sum.transfers = tw_sat_mul(sum.transfers, tw_space_depends(s, o, l) ? tiles : again);
        sum.units = tw_sat_mul(sum.units, again);
    }
    /* What is kept as a whole may come, or go, at once. */
    if (s->machine->memory[m].whole && (s->machine->memory[m].keeps & tw_role_of(s->op, o)))
        sum.transfers = tw_min(1, sum.transfers);
    return sum;
}

/* ---- time ---- */

/* ceil(volume / size) of a volume that is a product, without overflow. */
static int64_t passes_of(int64_t a, int64_t b, int64_t size)
{
    int64_t volume = tw_sat_mul(a, b);
    return volume == INT64_MAX ? INT64_MAX / size : tw_cdiv(volume, size);
}

/* Passes that tiles of loop l waste at least, `with` points of other loops lying beside each of its own: where no length that the
 * tiles can have is a whole number of passes. */
static int64_t passes_wasted(const tw_view *v, int l, int64_t with, int64_t size)
{
    int t = v->f->n_tiled - 1;
    int64_t len = v->s->op->loop[l].extent, hi = v->hi[t][l], lo = tw_max(1, v->lo[t][l] - 1);
    double most = (double)hi * (double)with / (double)size, whole = floor(most);
    if (whole < 1 || whole * (double)size >= (double)lo * (double)with) return 0;
    /* Every piece with a tile has at least as much in whole tiles as in its rest. */
    int64_t parent = t > 0 ? v->hi[t - 1][l] : 0;
    double tiles = (double)(len - tw_max(parent, hi)) / (double)hi / (v->f->n_tiled > 1 ? 2 : 1);
    double all = (double)len * (double)with / (double)size;
    if (all > 1e9) return 0; /* the fractions below would be lost */
    return (int64_t)floor(all + fmax(tiles, 0) * (whole + 1 - most) - 1e-6);
}

/* The same where no tile, rests included, can be long enough to fill its passes better than the best. */
static int64_t passes_by_best(const tw_view *v, int l, int64_t with, int64_t size)
{
    enum { LONGEST = 64 };
    int64_t len = v->s->op->loop[l].extent, hi = v->hi[v->f->n_tiled - 1][l], best_len = 1,
            best = passes_of(1, with, size);
    if (hi > LONGEST || best > INT32_MAX) return 0;
    for (int64_t x = 2; x <= hi && best_len * with % size != 0; x++) {
        int64_t passes = passes_of(x, with, size);
        if (passes * best_len < best * x) best = passes, best_len = x;
    }
    return tw_cdiv(tw_sat_mul(len, best), best_len);
}

/* The same of two short loops, whatever others that have one index only are beside them; 0: not known. */
static int64_t passes_of_pair(const tw_view *v, unsigned open, int64_t size)
{
    const tw_space *s = v->s;
    int pair[2] = {0}, n = 0;
    for (unsigned rest = open; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (s->op->loop[l].extent == 1) continue;
        if (n == 2) return 0;
        pair[n++] = l;
    }
    const tw_pair *known = n == 2 ? tw_space_pair(s, pair[0], pair[1], size) : NULL;
    if (!known) return 0;
    const int64_t *hi = v->hi[v->f->n_tiled - 1];
    return known->passes[tw_min(hi[pair[0]], s->op->loop[pair[0]].extent)]
                        [tw_min(hi[pair[1]], s->op->loop[pair[1]].extent)];
}

/* Passes over a dimension of `size`, at least: of the loops in `open`, whose tiles are not chosen, with tiles of others whose volumes
 * are known. */
static int64_t passes_beside(const tw_view *v, unsigned open, int64_t with, int64_t size)
{
    int64_t points = 1, tiles = 1;
    for (unsigned rest = open; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        points = tw_sat_mul(points, v->s->op->loop[l].extent);
        tiles = tw_sat_mul(tiles, v->n[v->f->n_tiled][l]);
    }
    int64_t least = tw_max(passes_of(points, with, size), tiles);
    if (open & (open - 1)) return with == 1 ? tw_max(least, passes_of_pair(v, open, size)) : least;
    if (open == 0) return least;
    int l = __builtin_ctz(open);
    return tw_max(least, tw_max(passes_wasted(v, l, with, size), passes_by_best(v, l, with, size)));
}

/* Passes over dimension d of the array, at least; exact when the tiles of its loops are chosen. */
static int64_t passes_over(const tw_view *v, int d, int64_t size)
{
    tw_tiles known = {.n = 1, .len = {1}, .count = {1}}, tiles;
    unsigned open = 0;
    int64_t passes = 0;
    for (unsigned rest = v->f->loops[d]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        open |= 1u << l;
        if (!tw_part_tiles(v->s, v->p, l, &tiles)) continue;
        tw_tiles before = known;
        if (tw_tiles_combine(&known, &tiles))
            open &= ~(1u << l);
        else
            known = before;
    }
    for (int i = 0; i < known.n; i++)
        passes = tw_sat_add(passes, tw_sat_mul(known.count[i], passes_beside(v, open, known.len[i], size)));
    return passes;
}

static void count_passes(tw_view *v)
{
    for (int d = 0; d < v->f->n_dims; d++) v->passes[d] = passes_over(v, d, v->f->size[d]);
    if (v->f->joined) v->passes[0] = tw_max(v->passes[0], tw_layout_least(v->s, v->p));
}

int64_t tw_view_passes_whole(const tw_view *v, int d)
{
    int64_t points = 1;
    for (unsigned rest = v->f->loops[d]; rest; rest &= rest - 1)
        points = tw_sat_mul(points, v->s->op->loop[__builtin_ctz(rest)].extent);
    return passes_of(points, 1, v->f->size[d]);
}

/* Passes in all; over dimension `more`, if it is one, at least one more than can be. */
static int64_t compute_passes(const tw_view *v, int more)
{
    const tw_space *s = v->s;
    int64_t passes = 1, points = 1;
    for (int d = 0; d < v->f->n_dims; d++) points = tw_sat_mul(points, v->f->size[d]);
    if (v->skips) return tw_cdiv(v->points, points);
    for (int l = 0; l < s->op->n_loops; l++)
        if (v->f->over.dim[l] == 0) passes = tw_sat_mul(passes, s->op->loop[l].extent);
    for (int d = 0; d < v->f->n_dims; d++) {
        int64_t along = v->passes[d];
        if (d == more) along = tw_max(along, tw_view_passes_whole(v, d) + 1);
        passes = tw_sat_mul(passes, along);
    }
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
        int64_t passes = array->block_least;
        if (!(array->stationary & tw_role_of(s->op, o))) continue;
        for (int d = 0; d < v->f->n_dims; d++) {
            unsigned own = v->f->loops[d] & s->loops[o];
            int64_t points = 1;
            for (unsigned rest = own; rest; rest &= rest - 1)
                points = tw_sat_mul(points, s->op->loop[__builtin_ctz(rest)].extent);
            passes = tw_sat_mul(passes, own == v->f->loops[d] ? v->passes[d] : tw_cdiv(points, v->f->size[d]));
        }
        for (int l = 0; l < s->op->n_loops; l++)
            if (!tw_space_depends(s, o, l))
                passes = tw_sat_mul(passes, v->n[v->f->n_tiled][l]);
            else if (v->f->over.dim[l] == 0)
                passes = tw_sat_mul(passes, s->op->loop[l].extent);
        most = tw_max(most, passes);
    }
    return most;
}

/* Cycles of all executions of a kernel when all is chosen; 0: it is not, or there are too many kinds of tiles. */
static int64_t kernel_exactly(const tw_view *v)
{
    enum { MOST_KINDS = 1024 };
    const tw_space *s = v->s;
    tw_pieces pieces[TW_MAX_LOOPS];
    int64_t n_kinds = 1;
    if (!tw_part_is_sized(s, v->p)) return 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        tw_tiles along;
        pieces[l].n = tw_part_tiles(v->s, v->p, l, &along) ? along.n : 0;
        if (pieces[l].n < 1 || pieces[l].n > TW_MOST_PIECES) return 0;
        for (int i = 0; i < pieces[l].n; i++) pieces[l].len[i] = along.len[i], pieces[l].count[i] = along.count[i];
        if (s->machine->pads && v->f->n_tiled == 1) /* all take as long as a whole one */
            pieces[l] = (tw_pieces){1, {v->lo[0][l]}, {v->n[1][l]}};
        n_kinds *= pieces[l].n;
        if (n_kinds > MOST_KINDS) return 0;
    }
    return tw_kernels_exactly(s, pieces);
}

int64_t tw_view_compute(const tw_view *v, int more)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    if (mac->cost.kind == TW_COST_KERNEL && !v->skips) return tw_max(tw_kernels_least(v), kernel_exactly(v));
    int64_t work = mac->cost.kind == TW_COST_ARRAY ? tw_max(compute_passes(v, more), block_passes(v)) : v->points;
    return tw_cdiv(tw_busy_of(mac, v->execs[v->f->n_tiled], work), mac->count);
}

void tw_view_raise(tw_view *v, int64_t cycles, tw_closer by, int at)
{
    if (cycles <= v->out->cost.cycles) return;
    v->out->cost.cycles = cycles;
    v->out->cycles_by = by;
    v->out->cycles_at = at;
}
