/* src/fuse/tiling.c - the closed form of tilings, for all segments of a driver at once; see tiling.h.
 *
 * For each tiling the operators come in from the driver backwards. A *corner* is one combination of first, middle and last tiles; of every
 * corner the box of each operator and the part of each tensor are known as soon as all that read it are in. What
 * follows of a tensor (how much is held, moved and made) is summed up when another operator reads it, and looked up by all segments. */
#include "fuse/tiler.h"
#include "mapping/taken.h"
#include "tile/box.h"
#include "tile/split.h"

#include <math.h>
#include <string.h>

enum { MOST_SIZES = 24 };

tw_status tw_tiler_new(const tw_pricing *by, tw_arena *arena, tw_tiler **out)
{
    TW_ALLOC(arena, *out, 1);
    (*out)->by = by;
    (*out)->arena = arena;
    return TW_OK;
}

/* ---- corners ---- */

typedef struct classes { /* of the tiles along a cut */
    int n;
    tw_span span[3], before[3];
    int64_t times[3];
} classes;

static classes classes_of(const tw_op *op, int loop, int64_t size)
{
    tw_split s = tw_split_by_size(op->loop[loop].extent, size);
    classes c = {.n = (int)tw_min(3, s.count)};
    int64_t at[3] = {0, s.count == 2 ? 1 : s.count / 2, s.count - 1};
    for (int i = 0; i < c.n; i++) {
        c.span[i] = tw_split_at(&s, 0, at[i]);
        if (i > 0) c.before[i] = tw_split_at(&s, 0, at[i] - 1);
        c.times[i] = c.n == 3 && i == 1 ? s.count - 2 : 1;
    }
    return c;
}

static tw_corner corner_of(const tw_tiling *t, const classes *cut, const int *at)
{
    tw_corner k = {.times = {1}, .same = t->n_cuts, .end = {true, true}};
    for (int p = 0; p < t->n_cuts; p++) {
        k.at[p] = at[p];
        k.times[p + 1] = k.times[p] * (double)cut[p].times[at[p]];
        k.end[0] &= at[p] == 0;
        k.end[1] &= at[p] == cut[p].n - 1;
    }
    while (k.same > 0 && at[k.same - 1] == 0) k.same--;
    return k;
}

/* All corners of the tiling, the last cut fastest, with the driver's tiles. */
static void open_corners(tw_tiler *w, const tw_tiling *t)
{
    int at[TW_TILING_CUTS] = {0}, p, step = 1;
    const tw_op *driver = tw_frame_driver(w->widest);
    classes cut[TW_TILING_CUTS];
    for (p = 0; p < t->n_cuts; p++) cut[p] = classes_of(driver, t->loop[p], t->size[p]);
    for (p = t->n_cuts - 1; p >= 0; step *= cut[p--].n) {
        w->n_classes[p] = cut[p].n;
        w->step[p] = step;
    }
    w->n_corners = 0;
    do {
        tw_box *box = &w->entered[0].box[w->n_corners];
        *box = w->entered[0].whole;
        for (p = 0; p < t->n_cuts; p++) box->span[t->loop[p]] = cut[p].span[at[p]];
        if (t->slide > 0) {
            tw_box *old = &w->entered[0].old[w->n_corners];
            *old = *box;
            old->span[t->loop[t->slide - 1]] = cut[t->slide - 1].before[at[t->slide - 1]];
        }
        w->corner[w->n_corners++] = corner_of(t, cut, at);
        for (p = t->n_cuts - 1; p >= 0 && ++at[p] == cut[p].n; p--) at[p] = 0;
    } while (p >= 0);
}

/* The corner of the tiles in the middle. */
static int middle_corner(const tw_tiler *w, const tw_tiling *t)
{
    int c = 0;
    for (int p = 0; p < t->n_cuts; p++) c += w->step[p] * (w->n_classes[p] / 2);
    return c;
}

/* ---- what operators read ---- */

static bool is_same(const tw_region *a, const tw_region *b, int n_axes)
{
    return memcmp(a->axis, b->axis, (size_t)n_axes * sizeof *a->axis) == 0;
}

/* The axis that the cut moves from its first tile to the next, if it is the last one that moves anything and no other axis moves; -1:
 * there is none. */
static int slide_axis(const tw_tiler *w, const tw_tiler_seen *s, const tw_tiling *t, int n_axes)
{
    const tw_region *first = &s->region[0], *next = &s->region[w->step[t->slide - 1]];
    int axis = -1;
    if (s->inner != t->slide || s == &w->seen[w->entered[0].output]) return -1;
    for (int a = 0; a < n_axes; a++) {
        if (first->axis[a].lo == next->axis[a].lo && first->axis[a].hi == next->axis[a].hi) continue;
        if (axis >= 0) return -1;
        axis = a;
    }
    return axis;
}

/* What is behind the end of the window before is new. */
static void find_fresh(tw_tiler *w, tw_tiler_seen *s, const tw_tiling *t)
{
    s->ahead = 0;
    for (int c = 0; c < w->n_corners; c++) {
        tw_span is = s->region[c].axis[s->axis];
        bool continues = w->corner[c].at[t->slide - 1] > 0 && s->old_elems[c] > 0 && s->elems[c] > 0;
        s->fresh[c] = s->region[c];
        s->fresh_elems[c] = s->elems[c];
        if (!continues) continue;
        int64_t from = tw_clamp(s->old[c].axis[s->axis].hi, is.lo, is.hi);
        s->fresh[c].axis[s->axis].lo = from;
        s->fresh_elems[c] = s->elems[c] / tw_span_len(is) * (is.hi - from);
        s->ahead = tw_max(s->ahead, s->fresh_elems[c]);
    }
}

/* Sums over all corners, once it is known what is read at each of them. */
static void sum_up(tw_tiler *w, tw_tiler_seen *s, const tw_tiling *t)
{
    int n_axes = w->widest->segment.model->tensor[s->tensor].n_axes;
    s->version = ++w->version;
    s->inner = 0;
    s->most = 0;
    for (int p = 0; p < t->n_cuts; p++)
        if (w->n_classes[p] > 1 && !is_same(&s->region[0], &s->region[w->step[p]], n_axes)) s->inner = p + 1;
    s->axis = t->slide > 0 ? slide_axis(w, s, t, n_axes) : -1;
    if (s->axis >= 0) find_fresh(w, s, t);
    for (int c = 0; c < w->n_corners; c++) s->most = tw_max(s->most, s->elems[c]);
}

static void widen(tw_region *hull, const tw_region *by, int n_axes)
{
    for (int a = 0; a < n_axes; a++)
        hull->axis[a] =
            (tw_span){tw_min(hull->axis[a].lo, by->axis[a].lo), tw_max(hull->axis[a].hi, by->axis[a].hi)};
}

/* What the box touches of the operand; false: nothing. */
static bool region_of(const tw_op *op, int operand, const tw_box *box, tw_region *out)
{
    return !tw_box_is_empty(op, box) && tw_region_of(&op->operand[operand], box, out) > 0;
}

/* A part of the operand joins the hull of what others touch, whose elements are counted. */
static void join(const tw_region *region, int n_axes, tw_region *hull, int64_t *elems)
{
    if (*elems == 0)
        memcpy(hull, region, (size_t)n_axes * sizeof *region->axis);
    else
        widen(hull, region, n_axes);
    *elems = 1;
    for (int a = 0; a < n_axes; a++) *elems *= tw_span_len(hull->axis[a]);
}

/* A corner before c at which the operator has the same box, but for loops that do not move the operand; -1: there is none. */
static int like_corner(const tw_tiler *w, const tw_entered *e, const tw_op *op, unsigned loops, int c,
                       const tw_tiling *t)
{
    for (int p = 0; p < t->n_cuts; p++) {
        int b = c - w->step[p];
        bool same = w->corner[c].at[p] > 0;
        for (int l = 0; l < op->n_loops && same; l++) {
            const tw_span *x = &e->box[b].span[l], *y = &e->box[c].span[l];
            same = loops >> l & 1 ? x->lo == y->lo && x->hi == y->hi : (x->lo < x->hi) == (y->lo < y->hi);
        }
        if (same) return b;
    }
    return -1;
}

static void touch_all(tw_tiler *w, int d, int operand, tw_tiler_seen *s, const tw_tiling *t)
{
    const tw_entered *e = &w->entered[d];
    const tw_op *op = tw_segment_op(&w->widest->segment, tw_tiler_op(w->widest, d));
    int n_axes = op->operand[operand].n_axes;
    unsigned loops = tw_operand_loops(&op->operand[operand]);
    tw_region region[TW_MOST_CORNERS], old;
    bool any[TW_MOST_CORNERS];
    for (int c = 0; c < w->n_corners && s->version == 0; c++) {
        s->elems[c] = s->old_elems[c] = 0;
        memset(s->region[c].axis, 0, (size_t)n_axes * sizeof(tw_span));
    }
    for (int c = 0; c < w->n_corners; c++) {
        int like = like_corner(w, e, op, loops, c, t);
        any[c] = like >= 0 ? any[like] : region_of(op, operand, &e->box[c], &region[c]);
        if (like >= 0 && any[c]) memcpy(region[c].axis, region[like].axis, (size_t)n_axes * sizeof(tw_span));
        if (any[c]) join(&region[c], n_axes, &s->region[c], &s->elems[c]);
        if (t->slide > 0 && w->corner[c].at[t->slide - 1] > 0 && region_of(op, operand, &e->old[c], &old))
            join(&old, n_axes, &s->old[c], &s->old_elems[c]);
    }
    sum_up(w, s, t);
}

/* ---- what operators take ---- */

static double exec_cycles(const tw_segment_frame *f, int k, const tw_spread *over, const tw_box *box)
{
    const tw_op *op = tw_segment_op(&f->segment, k);
    const tw_cost *cost = &f->op[k].engine.cost;
    int64_t len[TW_MAX_LOOPS], work = tw_box_points(op, box);
    if (work == 0) return 0;
    for (int l = 0; l < op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    if (cost->kind == TW_COST_ARRAY) work = tw_spread_passes(over, op, &cost->array, len);
    if (cost->kind == TW_COST_KERNEL) {
        int o = (int)tw_max(0, tw_op_output(op) - 1);
        int64_t units = tw_machine_units(f->machine, f->segment.model->tensor[op->operand[o].tensor].dtype, 1);
        tw_kernel_nest nest = tw_nest_of(op, len, units);
        work = tw_cost_of_kernel(&cost->kernel, &nest, false);
    }
    return (double)tw_engine_busy(&f->op[k].engine, work);
}

/* At the peak of an array, where no loops over it are chosen yet. */
static double peak_cycles(const tw_segment_frame *f, int k, const tw_box *box)
{
    const tw_cost *cost = &f->op[k].engine.cost;
    if (cost->kind != TW_COST_ARRAY) return exec_cycles(f, k, &(tw_spread){{0}}, box);
    double at_once = 1;
    for (int d = 0; d < cost->array.n_dims; d++) at_once *= (double)cost->array.size[d];
    return (double)tw_box_points(tw_segment_op(&f->segment, k), box) / at_once;
}

/* The operator that came in as number d as one that may run along a loop, -1: none does. */
static int running_at(const tw_tiler *w, int d)
{
    int k = w->n_running - 1 - d;
    return k >= 0 && (w->running.runs >> k & 1) ? k : -1;
}

/* Cuts that count for the operator: with the others it does not run again. */
static int cuts_of(const tw_tiler *w, int d, const tw_tiling *t)
{
    return running_at(w, d) >= 0 || (t->sums && d == 0) ? t->n_cuts : w->seen[w->entered[d].output].inner;
}

/* Whether the operator runs at the corner; then it does so as often as its output changes, or what it has reduced. */
static bool runs_at(const tw_tiler *w, int d, int c, const tw_tiling *t)
{
    return w->corner[c].same <= cuts_of(w, d, t) && tw_fresh_elems(&w->seen[w->entered[d].output], c) > 0;
}

/* The points with which what the operator has added up so far is rescaled at the corner; false: it is not. */
static bool rescales_at(const tw_tiler *w, int d, int c, const tw_tiling *t, tw_box *out)
{
    const tw_op *op = tw_segment_op(&w->widest->segment, tw_tiler_op(w->widest, d));
    int k = running_at(w, d);
    if (k < 0 || !w->running.by[k] || w->corner[c].at[t->n_cuts - 1] == 0) return false;
    *out = w->entered[d].box[c];
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) out->span[l].hi = tw_min(out->span[l].hi, out->span[l].lo + 1);
    return true;
}

static void sum_work(tw_tiler *w, int d, const tw_tiling *t)
{
    tw_entered *e = &w->entered[d];
    int k = tw_tiler_op(w->widest, d), inner = cuts_of(w, d, t);
    const tw_op *op = tw_segment_op(&w->widest->segment, k);
    tw_box rescaled;
    e->peak = e->points = 0;
    e->is_spread = false;
    for (int c = 0; c < w->n_corners; c++) {
        if (!runs_at(w, d, c, t)) continue;
        double times = w->corner[c].times[inner];
        e->peak += times * peak_cycles(w->widest, k, &e->box[c]);
        e->points += times * (double)tw_box_points(op, &e->box[c]);
        if (!rescales_at(w, d, c, t, &rescaled)) continue;
        e->peak += times * peak_cycles(w->widest, k, &rescaled);
        e->points += times * (double)tw_box_points(op, &rescaled);
    }
}

/* ---- spreads that were found before ---- */

static tw_remembered *place_of(tw_tiler *w, const tw_frame_op *op, const int64_t *len, int n)
{
    uint64_t hash = (uint64_t)(op - w->widest->facts->op) * 0x9e3779b97f4a7c15u;
    for (int l = 0; l < n; l++) hash = (hash ^ (uint64_t)len[l]) * 0x100000001b3u, hash ^= hash >> 29;
    return &w->memo[hash % TW_TILER_MEMO];
}

/* A walk over all ways to lay the loops of an operator over its array, in the order of the list. */
typedef struct spread_walk {
    const tw_segment_frame *f;
    int k, n, loop[TW_MAX_LOOPS]; /* the loops that may lie over the array, in the order of the operator */
    const tw_box *box;
    int64_t len[TW_MAX_LOOPS], along[TW_MAX_DIMS],
        beside;          /* points along each dimension so far, and of no dimension */
    double floor, least; /* no way is faster; the best so far */
    int best;
} spread_walk;

/* Cycles that the loops laid so far take, which more loops only add to. */
static double walked_cycles(const spread_walk *s)
{
    const tw_engine *engine = &s->f->op[s->k].engine;
    int64_t passes = s->beside;
    for (int d = 0; d < engine->cost.array.n_dims; d++) passes *= tw_cdiv(s->along[d], engine->cost.array.size[d]);
    return (double)tw_engine_busy(engine, passes);
}

/* Lays loop number x and those before it; `at` is the number in the list of what lies so far. A loop of one point is the same everywhere. */
static void walk_spreads(spread_walk *s, int x, int at)
{
    const tw_frame_op *is = &s->f->op[s->k];
    int n_dims = is->engine.cost.array.n_dims, step = 1;
    if (s->least <= s->floor || (s->best >= 0 && walked_cycles(s) >= s->least)) return;
    if (x < 0) {
        double now = exec_cycles(s->f, s->k, &is->spread[at], s->box);
        if (s->best >= 0 && now >= s->least) return;
        s->best = at;
        s->least = now;
        return;
    }
    for (int i = 0; i < x; i++) step *= n_dims;
    int64_t len = s->len[s->loop[x]];
    for (int d = 0; d < (len > 1 ? n_dims : 1); d++) {
        int64_t was = s->along[d];
        s->along[d] *= len;
        walk_spreads(s, x - 1, at + d * step);
        s->along[d] = was;
    }
}

/* The first of the list that takes the least. */
static const tw_spread *try_spreads(const tw_segment_frame *f, int k, const tw_box *box)
{
    const tw_op *op = tw_segment_op(&f->segment, k);
    const tw_cost_array *array = &f->op[k].engine.cost.array;
    spread_walk s = {.f = f, .k = k, .box = box, .beside = 1, .least = INFINITY, .best = -1};
    int64_t at_once = 1;
    for (int l = 0; l < op->n_loops; l++) {
        s.len[l] = tw_span_len(box->span[l]);
        if (f->op[k].spread[0].dim[l] > 0)
            s.loop[s.n++] = l;
        else
            s.beside *= s.len[l];
    }
    if (tw_box_points(op, box) == 0) return &f->op[k].spread[0];
    for (int d = 0; d < array->n_dims; d++) s.along[d] = 1, at_once *= array->size[d];
    s.floor = (double)tw_engine_busy(&f->op[k].engine, tw_cdiv(tw_box_points(op, box), at_once));
    walk_spreads(&s, s.n - 1, 0);
    return &f->op[k].spread[s.best];
}

/* The loops over the array that take the fewest passes of the box. */
static const tw_spread *best_spread(tw_tiler *w, int k, const tw_box *box)
{
    const tw_segment_frame *f = w->widest;
    const tw_op *op = tw_segment_op(&f->segment, k);
    int64_t len[TW_MAX_LOOPS] = {0};
    static const tw_spread none;
    if (f->op[k].n_spreads == 0) return &none;
    for (int l = 0; l < op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    tw_remembered *at = place_of(w, &f->op[k], len, op->n_loops);
    if (at->op != &f->op[k] || memcmp(at->len, len, sizeof len) != 0) {
        *at = (tw_remembered){.op = &f->op[k], .spread = try_spreads(f, k, box)};
        memcpy(at->len, len, sizeof len);
    }
    return at->spread;
}

static void spread_out(tw_tiler *w, int d, const tw_tiling *t)
{
    tw_entered *e = &w->entered[d];
    int k = tw_tiler_op(w->widest, d), inner = cuts_of(w, d, t);
    tw_box rescaled;
    if (e->is_spread) return;
    e->is_spread = true;
    e->over = best_spread(w, k, &e->box[middle_corner(w, t)]);
    e->worked = e->last_work = 0;
    for (int c = 0; c < w->n_corners; c++) {
        if (!runs_at(w, d, c, t)) continue;
        double cycles = exec_cycles(w->widest, k, e->over, &e->box[c]);
        if (rescales_at(w, d, c, t, &rescaled)) cycles += exec_cycles(w->widest, k, e->over, &rescaled);
        e->worked += w->corner[c].times[inner] * cycles;
        if (w->corner[c].end[1]) e->last_work = cycles;
    }
}

/* ---- operators come in ---- */

/* The box in which the operator makes a region of its output; nothing where there are no elements. */
static void box_of(const tw_op *op, const tw_entered *e, const tw_region *region, int64_t elems, tw_box *box)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    memcpy(box->span, e->whole.span, (size_t)op->n_loops * sizeof *box->span);
    for (int a = 0; a < out->n_axes; a++)
        if (out->axis[a].n_terms > 0)
            box->span[out->axis[a].term[0].loop] = elems > 0 ? region->axis[a] : (tw_span){0, 0};
}

/* Its boxes follow from what is read of its output. */
static void find_boxes(tw_tiler *w, int d, const tw_tiling *t)
{
    tw_entered *e = &w->entered[d];
    const tw_tiler_seen *made = &w->seen[e->output];
    const tw_op *op = tw_segment_op(&w->widest->segment, tw_tiler_op(w->widest, d));
    for (int c = 0; c < w->n_corners; c++) {
        box_of(op, e, tw_fresh_region(made, c), tw_fresh_elems(made, c), &e->box[c]);
        int k = running_at(w, d);
        if (k >= 0) e->box[c].span[w->running.loop[k]] = w->entered[0].box[c].span[t->running - 1];
        if (t->slide > 0) box_of(op, e, &made->old[c], made->old_elems[c], &e->old[c]);
    }
}

/* Operator d joins those behind it; false: nothing reads what it makes. */
static bool enter(tw_tiler *w, int d, const tw_tiling *t)
{
    tw_entered *e = &w->entered[d];
    const tw_op *op = tw_segment_op(&w->widest->segment, tw_tiler_op(w->widest, d));
    if (d == 0)
        touch_all(w, d, tw_op_output(op), &w->seen[e->output], t);
    else if (w->seen[e->output].version == 0)
        return false;
    else
        find_boxes(w, d, t);
    for (int o = 0; o < tw_op_output(op); o++) touch_all(w, d, o, &w->seen[e->input[o]], t);
    sum_work(w, d, t);
    return true;
}

/* ---- the lists ---- */

/* What makes room for the tiling on a list that is full. Those that run take the place of half of the others at most: prices of
 * the two kinds err differently, and the best of both are simulated. */
static int displaced(const tw_tilings *list, const tw_tiling *t)
{
    int n_running = 0, last = -1;
    for (int i = 0; i < list->n; i++)
        if (list->tiling[i].running) n_running++, last = i;
    return t->running && n_running >= list->most / 2 ? last : list->n - 1;
}

void tw_tilings_keep(tw_tilings *list, const tw_tiling *t)
{
    int at = list->n;
    while (at > 0 && list->tiling[at - 1].price > t->price) at--;
    if (list->n == list->most) {
        int gone = displaced(list, t);
        if (at > gone) return;
        list->n--;
        memmove(&list->tiling[gone], &list->tiling[gone + 1], (size_t)(list->n - gone) * sizeof *t);
    }
    memmove(&list->tiling[at + 1], &list->tiling[at], (size_t)(list->n - at) * sizeof *t);
    list->tiling[at] = *t;
    list->n++;
}

/* Whether the tiling may get onto the list. */
static bool is_promising(tw_tiler *w, const tw_segment_frame *f, const tw_tilings *list, bool peak, tw_tiling *t)
{
    t->resident = tw_tiler_residents(f, list);
    if (!tw_tiler_fits(w, f, TW_BOTH_SIDES, &list->seams, t)) return false;
    tw_tiler_price(w, f, TW_BOTH_SIDES, peak, t);
    return list->n < list->most || t->price < list->tiling[list->most - 1].price;
}

void tw_tiler_describe(const tw_tiler *w, const tw_segment_frame *f, tw_tiling *t)
{
    t->changing = t->slides = 0;
    for (int i = 0; i < f->n_tensors; i++) {
        t->changing |= (uint64_t)(tw_seen_of(w, f, i)->inner > 0) << i;
        t->slides |= (uint64_t)(tw_seen_of(w, f, i)->axis >= 0) << i;
    }
}

bool tw_tiler_may_slide(const tw_tiler *w, const tw_segment_frame *f, tw_side side, const tw_tiling *t)
{
    bool any = false;
    for (int i = 0; i < f->n_tensors; i++) {
        if (tw_seen_of(w, f, i)->axis < 0) continue;
        for (int m = 0; m < f->tensor[i].n_memories; m++) {
            int memory = f->tensor[i].memory[m], own = side == TW_OUTER_SIDE ? f->outer : f->level;
            if (side != TW_BOTH_SIDES && (memory <= f->outer) != (side == TW_OUTER_SIDE)) continue;
            any = true;
            if (f->platform->memory[memory].lanes > 1 || (memory != own && t->slide < t->n_cuts)) return false;
        }
    }
    return any;
}

void tw_tiler_spread(tw_tiler *w, int n_entered, const tw_tiling *t)
{
    for (int d = 0; d < n_entered; d++) spread_out(w, d, t);
}

/* First at the peak, which costs little; what may be among the best then with the loops that really lie over the arrays. */
static void offer(tw_tiler *w, int n_entered, tw_tiling *t)
{
    const tw_segment_frame *f = w->drive->frame[n_entered - 1];
    tw_tilings *list = w->drive->list[n_entered - 1], *wanted[TW_MAX_LISTS];
    int n = 0;
    if (!f || !w->wanted[n_entered - 1] || (t->slide > 0 && !tw_tiler_may_slide(w, f, TW_BOTH_SIDES, t))) return;
    for (int i = 0; i < w->drive->n_lists[n_entered - 1]; i++)
        if (!list[i].nests && list[i].keeps == (t->slide > 0) && is_promising(w, f, &list[i], true, t))
            wanted[n++] = &list[i];
    if (n == 0) return;
    tw_tiler_spread(w, n_entered, t);
    tw_tiler_describe(w, f, t);
    for (int k = 0; k < f->segment.n; k++) t->over[k] = *w->entered[tw_tiler_op(f, k)].over;
    for (int i = 0; i < n; i++)
        if (is_promising(w, f, wanted[i], false, t)) tw_tilings_keep(wanted[i], t);
}

/* Whether a segment of more than n operators may still fit, given the memories that are full. */
static bool may_go_on(const tw_tiler *w, int n, int n_wanted, uint64_t full)
{
    bool any = full == 0;
    for (int k = n; k < n_wanted && !any; k++)
        any = w->drive->frame[k] && w->wanted[k] && !tw_halves_are_over(w->drive->frame[k], full);
    return any;
}

/* All segments with this tiling, from the shortest on. */
static void try_tiling(tw_tiler *w, int n_wanted, tw_tiling *t)
{
    uint64_t full = 0;
    for (int i = 0; i < w->n_seen; i++) w->seen[i].version = 0;
    open_corners(w, t);
    for (int n = 1; n <= n_wanted; n++) {
        if (!enter(w, n - 1, t)) return;
        if (full == 0) offer(w, n, t);
        bool is_half = !t->sums && tw_halves_offer(w, n, full, t);
        if (full != 0 && !is_half)
            return; /* longer segments are not looked at for outer tiles alone that are among the worse ones here */
        if (w->drive->frame[n - 1]) full |= tw_tiler_full(w, w->drive->frame[n - 1]);
        if (!may_go_on(w, n, n_wanted, full)) return;
    }
}

/* ---- sizes ---- */

static bool is_cut_taken(const tw_segment_frame *f, int loop, int64_t size)
{
    const tw_op *op = tw_frame_driver(f);
    const tw_engine *engine = &f->op[f->segment.n - 1].engine;
    tw_taken taken = tw_taken_of(engine, op, loop);
    int64_t extent = op->loop[loop].extent, rest = extent % size;
    if (size == extent) return extent <= taken.last;
    if (!tw_frame_is_cut_large(f, extent, size)) return false;
    return tw_number_allows(&taken.tiles, size) && (rest == 0 || rest <= taken.last);
}

/* Sizes of tiles along a loop that differ enough to be tried, the whole loop first. */
static int list_sizes(const tw_segment_frame *f, int loop, int64_t size[MOST_SIZES])
{
    int n = 0;
    int64_t extent = tw_frame_driver(f)->loop[loop].extent, tiles = 1;
    tw_taken taken = tw_taken_of(&f->op[f->segment.n - 1].engine, tw_frame_driver(f), loop);
    while (tiles <= extent && n < MOST_SIZES) {
        int64_t s = tw_cdiv(extent, tiles);
        if (tiles > 1) s = tw_min(extent, tw_cdiv(s, tw_max(1, taken.step)) * tw_max(1, taken.step));
        if (is_cut_taken(f, loop, s) && (n == 0 || size[n - 1] != s)) size[n++] = s;
        tiles = tw_max(tiles + 1, tiles < 8 ? 0 : tiles * 5 / 4);
    }
    if (n > 0 && n < MOST_SIZES && size[n - 1] > 1 && is_cut_taken(f, loop, 1)) size[n++] = 1; /* row by row */
    return n;
}

/* ---- loops that are cut ---- */

typedef struct cut_loops {
    int n, loop[TW_TILING_CUTS]; /* outermost first                                 */
    int n_moving;                /* of them, the first, that move what stays inside */
    int running;                 /* 1 + the last of them, if reductions run along it */
    int n_sums;                  /* of them, the last, that add up                   */
} cut_loops;

/* Loops that do not move what stays inside are cut innermost, so that nothing is computed again for them. */
static bool moves_inside(const tw_segment_frame *f, int loop)
{
    tw_box box[TW_MAX_GROUP_OPS], half[TW_MAX_GROUP_OPS], tile = tw_box_of_op(tw_frame_driver(f));
    tw_segment_boxes(&f->segment, &tile, box);
    tile.span[loop].hi = tw_cdiv(tile.span[loop].hi, 2);
    tw_segment_boxes(&f->segment, &tile, half);
    for (int i = 0; i < f->n_tensors; i++) {
        tw_region a, b;
        if (f->tensor[i].part != TW_INTERMEDIATE) continue;
        if (tw_segment_region(&f->segment, box, f->tensor[i].tensor, &a) !=
            tw_segment_region(&f->segment, half, f->tensor[i].tensor, &b))
            return true;
    }
    return false;
}

/* The first `most` loops of the frame's, in the order in which they are cut. */
static cut_loops loops_of(const tw_segment_frame *f, int most)
{
    cut_loops c = {.n = 0};
    int n = (int)tw_min(most, f->n_loops);
    bool moves[TW_TILING_CUTS];
    for (int i = 0; i < n; i++) moves[i] = moves_inside(f, f->loop[i]);
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < tw_frame_driver(f)->n_loops; l++)
            for (int i = 0; i < n; i++)
                if (f->loop[i] == l && moves[i] == (pass == 0)) c.loop[c.n++] = l, c.n_moving += pass == 0;
    return c;
}

/* Windows slide along the last cut that moves what stays inside, and along the one before it when they change places; where
 * nothing stays inside, along the last cut. */
static void try_slides(tw_tiler *w, int n_wanted, tw_tiling t, int n_moving)
{
    if (t.n_cuts == 0) return;
    t.slide = n_moving > 0 ? n_moving : t.n_cuts;
    try_tiling(w, n_wanted, &t);
    if (t.slide < 2) return;
    int at = t.slide - 1, loop = t.loop[at];
    int64_t size = t.size[at];
    t.loop[at] = t.loop[at - 1];
    t.size[at] = t.size[at - 1];
    t.loop[at - 1] = loop;
    t.size[at - 1] = size;
    try_tiling(w, n_wanted, &t);
}

/* Of many sizes every other one: three loops are cut. */
static int thin_out(int64_t *size, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (n <= MOST_SIZES / 2 || i % 2 == 0 || i == n - 1) size[kept++] = size[i];
    return kept;
}

/* All combinations of sizes of these loops. */
static void try_loops(tw_tiler *w, int n_wanted, const cut_loops *c)
{
    const tw_op *driver = tw_frame_driver(w->widest);
    int64_t size[TW_TILING_CUTS][MOST_SIZES];
    int n_sizes[TW_TILING_CUTS], at[TW_TILING_CUTS] = {0}, p;
    for (p = 0; p < c->n; p++) {
        if ((n_sizes[p] = list_sizes(w->widest, c->loop[p], size[p])) == 0) return;
        if (c->running || c->n_sums > 0) n_sizes[p] = thin_out(size[p], n_sizes[p]);
    }
    do {
        tw_tiling t = {.running = c->running};
        int n_moving = 0;
        for (p = 0; p < c->n; p++) {
            if (size[p][at[p]] == driver->loop[c->loop[p]].extent) continue;
            n_moving += p < c->n_moving;
            t.sums |= p >= c->n - c->n_sums;
            t.loop[t.n_cuts] = c->loop[p];
            t.size[t.n_cuts++] = size[p][at[p]];
        }
        bool runs = c->running && t.n_cuts > 0 && t.loop[t.n_cuts - 1] == c->running - 1;
        if (c->running ? runs : c->n_sums == 0 || t.sums) try_tiling(w, n_wanted, &t);
        if (!c->running && c->n_sums == 0) try_slides(w, n_wanted, t, n_moving);
        for (p = c->n - 1; p >= 0 && ++at[p] == n_sizes[p]; p--) at[p] = 0;
    } while (p >= 0);
}

/* ---- the drive ---- */

/* A tensor of the widest frame, or of one in it. */
static int seen_at(tw_tiler *w, int tensor)
{
    int i = 0;
    while (i < w->n_seen && w->seen[i].tensor != tensor) i++;
    if (i == w->n_seen) {
        w->seen[i].tensor = tensor;
        w->seen[i].is_made = tw_segment_maker(&w->widest->segment, tensor) >= 0;
        w->seen[i].n_links = 0;
        w->seen[i].twice = false;
        w->n_seen++;
    }
    return i;
}

static void open_ops(tw_tiler *w)
{
    const tw_segment_frame *f = w->widest;
    w->n_seen = 0;
    for (int d = 0; d < f->segment.n; d++) {
        const tw_op *op = tw_segment_op(&f->segment, tw_tiler_op(f, d));
        tw_entered *e = &w->entered[d];
        e->whole = tw_box_of_op(op);
        e->output = seen_at(w, tw_op_makes(op));
        for (int o = 0; o < tw_op_output(op); o++) e->input[o] = seen_at(w, op->operand[o].tensor);
    }
    for (int n = 0; n < w->drive->n; n++)
        for (int i = 0; w->drive->frame[n] && i < w->drive->frame[n]->n_tensors; i++)
            w->index[n][i] = seen_at(w, w->drive->frame[n]->tensor[i].tensor);
}

/* Frames that have the same loops to cut are tried together. */
static void try_alike(tw_tiler *w, int most, bool *todo)
{
    const tw_drive *drive = w->drive;
    cut_loops loops[TW_MAX_GROUP_OPS];
    for (int n = 0; n < drive->n; n++)
        if (todo[n]) loops[n] = loops_of(drive->frame[n], most);
    for (int n = 0; n < drive->n; n++) {
        int n_wanted = 0;
        if (!todo[n]) continue;
        for (int k = 0; k < drive->n; k++) {
            w->wanted[k] = todo[k] && memcmp(&loops[k], &loops[n], sizeof *loops) == 0;
            if (w->wanted[k]) n_wanted = k + 1;
        }
        for (int k = 0; k < drive->n; k++) todo[k] &= !w->wanted[k];
        try_loops(w, n_wanted, &loops[n]);
    }
}

/* Whether something other than a product reads what comes from outside along the loop: that may be a mask with infinite numbers, of which a tile may have
 * nothing else, and exp(s - m) is then no number. */
static bool may_be_masked(const tw_segment_frame *f, const tw_running *running)
{
    for (int k = 0; k < f->segment.n; k++) {
        const tw_op *op = tw_segment_op(&f->segment, k);
        int loop = running->loop[k];
        bool product = op->compute == TW_MULTIPLY_ADD && !op->value;
        for (int h = 0; h < op->n_held && loop >= 0; h++)
            if (op->held[h].loop == loop) return true;
        for (int o = 0; o < tw_op_output(op) && loop >= 0 && !product; o++)
            if (tw_segment_maker(&f->segment, op->operand[o].tensor) < 0 &&
                (tw_operand_loops(&op->operand[o]) >> loop & 1))
                return true;
    }
    return false;
}

/* One segment whose reductions run along a reduction of its driver, if they can. */
static void try_running(tw_tiler *w, int n)
{
    const tw_segment_frame *f = w->drive->frame[n];
    const tw_op *op[TW_MAX_GROUP_OPS], *driver = tw_frame_driver(f);
    const char *why;
    int where;
    for (int k = 0; k <= n; k++) op[k] = tw_segment_op(&f->segment, k);
    for (int k = 0; k < w->drive->n; k++) w->wanted[k] = k == n;
    for (int l = 0; l < driver->n_loops; l++) {
        if (!driver->loop[l].reduces || driver->loop[l].extent == 1 ||
            !tw_running_of(f->segment.model, op, n + 1, l, &w->running, &where, &why) ||
            !(w->running.runs & ~(1u << n)) || (f->segment.model->has_masks && may_be_masked(f, &w->running)))
            continue;
        cut_loops c = loops_of(f, 2);
        c.loop[c.n++] = l;
        c.running = 1 + l;
        w->n_running = n + 1;
        for (int k = 0; k <= n; k++)
            if (w->running.references >> k & 1) w->seen[seen_at(w, tw_op_makes(op[k]))].twice = true;
        try_loops(w, n + 1, &c);
        for (int i = 0; i < w->n_seen; i++) w->seen[i].twice = false;
        w->n_running = 0;
    }
}

/* ---- reductions that are cut ---- */

/* Whether the single operator has no tiling between groups that store and load, or none that is near what it takes in one tile, wherever that lies. */
static bool wants_sums(tw_tiler *w)
{
    static const double near = 1.5;
    const tw_drive *drive = w->drive;
    const tw_tilings *list = NULL;
    tw_tiling whole = {.in_slots = 1, .out_slots = 1};
    for (int i = 0; i < drive->n_lists[0] && !list; i++) {
        const tw_tilings *is = &drive->list[0][i];
        bool plain = is->seams.n_in == 0 && !is->seams.out && is->seams.passing == 0;
        if (plain && !is->keeps && !is->nests) list = is;
    }
    if (!list || list->n == 0) return list != NULL;
    for (int i = 0; i < w->n_seen; i++) w->seen[i].version = 0;
    open_corners(w, &whole);
    if (!enter(w, 0, &whole)) return false;
    tw_tiler_price(w, drive->frame[0], TW_BOTH_SIDES, true, &whole);
    return list->tiling[0].cycles > near * whole.cycles;
}

/* One reduction innermost, or two, so that `most` loops are cut. */
static void try_sums_of(tw_tiler *w, int most)
{
    const tw_segment_frame *f = w->drive->frame[0];
    const tw_op *driver = tw_frame_driver(f);
    for (int a = 0; a < driver->n_loops; a++)
        for (int b = a; b < driver->n_loops; b++) {
            if (!driver->loop[a].reduces || !driver->loop[b].reduces || driver->loop[a].extent == 1 ||
                driver->loop[b].extent == 1)
                continue;
            cut_loops c = loops_of(f, most - (a == b ? 1 : 2));
            c.n_sums = a == b ? 1 : 2;
            c.loop[c.n++] = a;
            if (b > a) c.loop[c.n++] = b;
            try_loops(w, 1, &c);
        }
}

/* With three loops; with four only where nothing fits otherwise. */
static void try_sums(tw_tiler *w)
{
    for (int k = 0; k < w->drive->n; k++) w->wanted[k] = k == 0;
    try_sums_of(w, 3);
    bool any = false;
    for (int i = 0; i < w->drive->n_lists[0]; i++) any |= w->drive->list[0][i].n > 0;
    if (!any) try_sums_of(w, 4);
}

tw_status tw_tilings_find(tw_tiler *w, tw_drive *drive)
{
    bool todo[TW_MAX_GROUP_OPS] = {false};
    w->drive = drive;
    w->widest = NULL;
    for (int n = 0; n < drive->n; n++)
        if ((todo[n] = drive->frame[n] != NULL)) w->widest = drive->frame[n];
    if (!w->widest) return TW_OK;
    open_ops(w);
    TW_TRY(tw_halves_open(w));
    try_alike(w, 2, todo);
    for (int n = 0; n < drive->n; n++) {
        todo[n] = drive->frame[n] && drive->frame[n]->n_loops > 2;
        for (int i = 0; i < drive->n_lists[n]; i++)
            todo[n] &= drive->list[n][i].n == 0 || drive->list[n][i].keeps || drive->list[n][i].nests;
    }
    try_alike(w, 3, todo);
    for (int n = 1; n < drive->n; n++)
        if (drive->frame[n]) try_running(w, n);
    if (drive->frame[0] && drive->sums && wants_sums(w)) try_sums(w);
    tw_halves_join(w);
    return TW_OK;
}

tw_status tw_tilings_find_one(tw_tiler *tiler, const tw_segment_frame *frame, tw_tilings *list)
{
    int last = frame->segment.n - 1;
    tw_drive drive = {.n = frame->segment.n};
    drive.frame[last] = frame;
    drive.n_lists[last] = 1;
    drive.list[last][0] = *list;
    TW_TRY(tw_tilings_find(tiler, &drive));
    *list = drive.list[last][0];
    return TW_OK;
}
