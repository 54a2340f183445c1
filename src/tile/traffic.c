/* src/tile/traffic.c - see traffic.h.
 *
 * One sweep: the elements of a tile are a product over axes, and axes that share no loop vary independently, so
 * the sum over all tiles is a product of sums, one per group of axes that share loops. A group is summed by
 * visiting its tiles; for a matmul each group is one loop, for a convolution (oy, ky) and (ox, kx).
 *
 * Serpentine: a loop that comes back sweeps backwards and finds the tile where it turned still resident. What a
 * turn saves depends on which tile lies there, so the outer loops are walked: time linear in their trips. */
#include "tile/traffic.h"

#include "tile/box.h"

/* ---- one sweep ---- */

typedef struct sum {
    const tw_tile_nest *nest;
    const tw_operand *operand;
    unsigned axes; /* of the group */
    tw_box box;
    int64_t total;
    bool fits;
} sum;

static void add_tile(sum *s)
{
    int64_t elems = 1;
    for (int a = 0; a < s->operand->n_axes && s->fits; a++) {
        if (!(s->axes >> a & 1)) continue;
        const tw_axis *axis = &s->operand->axis[a];
        s->fits =
            tw_ckd_mul(elems, tw_span_len(tw_span_clip(tw_axis_reach(axis, &s->box), 0, axis->extent)), &elems);
    }
    s->fits = s->fits && tw_ckd_add(s->total, elems, &s->total);
}

static void visit_loops(sum *s, unsigned loops)
{
    if (loops == 0) {
        add_tile(s);
        return;
    }
    int l = __builtin_ctz(loops);
    const tw_split *split = &s->nest->split[l];
    for (int64_t i = 0; i < split->count && s->fits; i++) {
        s->box.span[l] = tw_split_at(split, 0, i);
        visit_loops(s, loops & (loops - 1));
    }
}

/* The axes that are tied to `first` by common loops, and those loops. */
static unsigned group_of(const tw_operand *operand, int first, unsigned *loops)
{
    unsigned axes = 1u << first, before = 0;
    *loops = tw_axis_loops(&operand->axis[first]);
    while (axes != before) {
        before = axes;
        for (int a = 0; a < operand->n_axes; a++)
            if (tw_axis_loops(&operand->axis[a]) & *loops) {
                axes |= 1u << a;
                *loops |= tw_axis_loops(&operand->axis[a]);
            }
    }
    return axes;
}

static bool sweep_of(const tw_tile_nest *nest, const tw_operand *operand, int64_t *out)
{
    unsigned done = 0;
    *out = 1;
    for (int a = 0; a < operand->n_axes; a++) {
        if (done >> a & 1) continue;
        unsigned loops;
        sum s = {.nest = nest, .operand = operand, .axes = group_of(operand, a, &loops), .fits = true};
        visit_loops(&s, loops);
        if (!s.fits || !tw_ckd_mul(*out, s.total, out)) return false;
        done |= s.axes;
    }
    return true;
}

/* ---- repetition ---- */

static bool relevant(const tw_tile_nest *nest, unsigned loops, int place)
{
    int l = nest->order[place];
    return (loops >> l & 1) && nest->split[l].count > 1;
}

/* f: how often each tile is loaded. */
static bool repetition(const tw_tile_nest *nest, unsigned loops, int depth, int64_t *out)
{
    bool sweeps_inside = false;
    *out = 1;
    for (int p = depth - 1; p >= 0; p--) {
        int l = nest->order[p];
        if (relevant(nest, loops, p))
            sweeps_inside = true;
        else if (!(loops >> l & 1) && sweeps_inside && !tw_ckd_mul(*out, nest->split[l].count, out))
            return false;
    }
    return true;
}

/* ---- serpentine nests ---- */

/* A walk over the outer `depth` loops, every second sweep backwards. */
typedef struct serpentine {
    const tw_tile_nest *nest;
    const tw_operand *operand;
    unsigned loops;
    int depth;
    int64_t index[TW_MAX_LOOPS], last[TW_MAX_LOOPS];
    bool started;
    int64_t loads, elems;
} serpentine;

static void serpentine_visit(serpentine *s)
{
    bool same = s->started;
    for (int p = 0; p < s->depth && same; p++) {
        int l = s->nest->order[p];
        if ((s->loops >> l & 1) && s->index[l] != s->last[l]) same = false;
    }
    s->started = true;
    for (int p = 0; p < s->depth; p++) s->last[s->nest->order[p]] = s->index[s->nest->order[p]];
    if (same) return;
    /* Loads of the data under this point: all tiles of the loops inside the depth. */
    sum all = {.nest = s->nest, .operand = s->operand, .axes = ~0u, .fits = true};
    unsigned inner = s->loops;
    int64_t tiles = 1;
    for (int p = 0; p < s->depth; p++) {
        int l = s->nest->order[p];
        all.box.span[l] = tw_split_at(&s->nest->split[l], 0, s->index[l]);
        inner &= ~(1u << l);
    }
    for (int l = 0; l < s->nest->op->n_loops; l++)
        if (inner >> l & 1) tiles *= s->nest->split[l].count;
    visit_loops(&all, inner);
    s->loads += tiles;
    s->elems += all.total;
}

static void serpentine_walk(serpentine *s, int place, bool *backwards)
{
    if (place == s->depth) {
        serpentine_visit(s);
        return;
    }
    int l = s->nest->order[place];
    int64_t n = s->nest->split[l].count;
    for (int64_t i = 0; i < n; i++) {
        s->index[l] = backwards[place] ? n - 1 - i : i;
        serpentine_walk(s, place + 1, backwards);
    }
    backwards[place] = !backwards[place];
}

/* ---- the whole ---- */

static bool held_by(const tw_tile_nest *nest, const tw_operand *operand, unsigned loops, int depth, tw_traffic *out)
{
    /* The loops inside the depth run over everything, the outer ones stand on their first tile, the largest away
     * from the tensor's edge. */
    tw_tile_nest kept = *nest;
    out->n_held = 1;
    for (int p = 0; p < nest->op->n_loops; p++) {
        int l = nest->order[p];
        int64_t n = nest->split[l].count;
        if (p < depth)
            kept.split[l] = tw_split_by_size(tw_split_largest(&nest->split[l]), nest->split[l].len);
        else if ((loops >> l & 1) && !tw_ckd_mul(out->n_held, n, &out->n_held))
            return false;
    }
    return sweep_of(&kept, operand, &out->held);
}

bool tw_traffic_of(const tw_tile_nest *nest, int operand, int depth, tw_traffic *out)
{
    const tw_operand *o = &nest->op->operand[operand];
    unsigned loops = tw_operand_loops(o);
    int64_t f;
    tw_traffic t = {.tiles = 1};
    for (int l = 0; l < nest->op->n_loops; l++)
        if ((loops >> l & 1) && !tw_ckd_mul(t.tiles, nest->split[l].count, &t.tiles)) return false;
    if (!sweep_of(nest, o, &t.sweep) || !held_by(nest, o, loops, depth, &t)) return false;
    if (!repetition(nest, loops, depth, &f)) return false;
    if (!tw_ckd_mul(t.tiles, f, &t.loads) || !tw_ckd_mul(t.sweep, f, &t.elems)) return false;
    if (nest->serpentine && f > 1) {
        serpentine s = {.nest = nest, .operand = o, .loops = loops, .depth = depth};
        bool backwards[TW_MAX_LOOPS] = {false};
        serpentine_walk(&s, 0, backwards);
        t.loads = s.loads;
        t.elems = s.elems;
    }
    *out = t;
    return true;
}

/* ---- what is touched at all ---- */

/* Longer axes with gaps are counted as if they had none. */
enum { MOST_MARKED = 1 << 26 };

static void mark(const tw_op *op, const tw_axis *axis, int term, int64_t value, bool *seen)
{
    if (term == axis->n_terms) {
        int64_t at;
        if (tw_axis_position(axis, value, &at)) seen[at] = true;
        return;
    }
    for (int64_t i = 0; i < op->loop[axis->term[term].loop].extent; i++)
        mark(op, axis, term + 1, value + i * axis->term[term].coef, seen);
}

/* Whether the positions are an interval: one loop with step 1, which other loops only shift. */
static bool is_dense(const tw_op *op, const tw_axis *axis)
{
    if (axis->divisor != 1) return false;
    int64_t reach = 1;
    for (int round = 0; round < axis->n_terms; round++) /* terms that touch what is covered so far join it */
        for (int t = 0; t < axis->n_terms; t++) {
            int64_t coef = axis->term[t].coef < 0 ? -axis->term[t].coef : axis->term[t].coef;
            int64_t wide = coef * (op->loop[axis->term[t].loop].extent - 1) + 1;
            if (coef <= reach) reach = tw_max(reach, wide);
        }
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t coef = axis->term[t].coef < 0 ? -axis->term[t].coef : axis->term[t].coef;
        if (coef > reach && op->loop[axis->term[t].loop].extent > 1) return false;
    }
    return true;
}

tw_status tw_traffic_least(const tw_op *op, int operand, tw_arena *scratch, int64_t *out)
{
    const tw_operand *o = &op->operand[operand];
    tw_box whole = tw_box_of_op(op);
    int64_t n = 1;
    for (int a = 0; a < o->n_axes; a++) {
        const tw_axis *axis = &o->axis[a];
        int64_t count = tw_span_len(tw_span_clip(tw_axis_reach(axis, &whole), 0, axis->extent));
        if (!is_dense(op, axis) && axis->extent <= MOST_MARKED) {
            tw_arena_mark before = tw_arena_save(scratch);
            bool *seen;
            TW_ALLOC(scratch, seen, axis->extent);
            mark(op, axis, 0, axis->offset, seen);
            count = 0;
            for (int64_t i = 0; i < axis->extent; i++) count += seen[i];
            tw_arena_rewind(scratch, before);
        }
        n *= count; /* at most the tensor's elements, which fit */
    }
    *out = n;
    return TW_OK;
}
