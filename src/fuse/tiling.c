/* src/fuse/tiling.c - the closed form of tilings, for all segments of a driver at once; see tiling.h.
 *
 * For each tiling the operators come in from the driver backwards. A *corner* is one combination of first, middle and last tiles; of every
 * corner the box of each operator and the part of each tensor are known as soon as all that read it are in. What
 * follows of a tensor (how much is held, moved and made) is summed up when another operator reads it, and looked up by all segments. */
#include "fuse/tiling.h"

#include "mapping/taken.h"
#include "model/running.h"
#include "tile/box.h"
#include "tile/shape.h"
#include "tile/split.h"

#include <math.h>
#include <string.h>

enum { MOST_SIZES = 24, MOST_CORNERS = 27, MEMO_SIZE = 1 << 12 };

typedef struct corner {
    int at[TW_TILING_CUTS];
    double times[TW_TILING_CUTS + 1]; /* it stands for times[d] of those that the first d cuts make */
    int same;                         /* cuts from here on stand at their first tile               */
    bool end[2];                      /* it is the first of all, the last of all                   */
} corner;

typedef struct link_sums { /* of a tensor on a mover */
    int mover, op;         /* the operator whose operand shapes the transfers                  */
    int64_t version;       /* of the tensor's sums                                             */
    double cycles, first, last, energy_fj;
} link_sums;

typedef struct seen { /* a tensor, as far as operators are in that touch it */
    int tensor;
    bool is_made;                      /* by an operator that may come in                                  */
    bool twice;                        /* it is held together with what it was before                      */
    int64_t version;                   /* 0: nobody reads it yet in this tiling                            */
    int inner;                         /* cuts that count, the others leave what is held as it is          */
    int64_t most, ahead;               /* elements held at once; most that come for the next window        */
    int64_t elems[MOST_CORNERS];       /* that are held at each corner,                                    */
    tw_region region[MOST_CORNERS];    /* and where                                                        */
    int axis;                          /* along which the window slides, -1: it does not                   */
    int64_t fresh_elems[MOST_CORNERS]; /* then: what is new,                                             */
    tw_region fresh[MOST_CORNERS];
    int64_t old_elems[MOST_CORNERS]; /* and what the tile before holds if nothing slides                 */
    tw_region old[MOST_CORNERS];
    int n_links;
    link_sums link[TW_FRAME_STOPS];
} seen;

/* What is made or moved at a corner. */
static int64_t fresh_elems(const seen *s, int c) { return s->axis >= 0 ? s->fresh_elems[c] : s->elems[c]; }
static const tw_region *fresh_region(const seen *s, int c) { return s->axis >= 0 ? &s->fresh[c] : &s->region[c]; }

typedef struct entered {                /* an operator that is in */
    int output, input[TW_MAX_OPERANDS]; /* as seen                                                      */
    tw_box whole, box[MOST_CORNERS];
    tw_box old[MOST_CORNERS];    /* where windows slide: of the tile before, if nothing did */
    double peak, worked, points; /* cycles at the peak of the engine, and with its loops over the array */
    double last_work;
    bool is_spread; /* `over` and `worked` are known in this tiling */
    tw_spread over;
} entered;

typedef struct remembered {
    const tw_frame_op *op;
    int64_t len[TW_MAX_LOOPS];
    tw_spread spread;
} remembered;

struct tw_tiler {
    const tw_pricing *by;
    remembered memo[MEMO_SIZE]; /* the best spread for a tile; a new one takes the place of an old one */
    /* the drive at hand */
    tw_drive *drive;
    const tw_segment_frame *widest;                /* that has all operators which may come in             */
    int index[TW_MAX_GROUP_OPS][TW_FRAME_TENSORS]; /* of each frame's tensors as seen                  */
    bool wanted[TW_MAX_GROUP_OPS];                 /* frames that the loops at hand are for                 */
    int n_seen;
    seen seen[TW_FRAME_TENSORS];
    entered entered[TW_MAX_GROUP_OPS]; /* the driver first */
    /* the tiling at hand */
    int64_t version;
    int n_corners;
    corner corner[MOST_CORNERS];
    int n_classes[TW_TILING_CUTS], step[TW_TILING_CUTS]; /* along a cut; from a corner to the next one */
    /* where reductions run along a loop: of the only frame that is tried then */
    tw_running running;
    int n_running; /* operators of that frame, 0: none run */
};

tw_status tw_tiler_new(const tw_pricing *by, tw_arena *arena, tw_tiler **out)
{
    TW_ALLOC(arena, *out, 1);
    (*out)->by = by;
    return TW_OK;
}

/* The frame's operator that came in as number d, the driver being number 0. */
static int op_at(const tw_segment_frame *f, int d) { return f->segment.n - 1 - d; }

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

static corner corner_of(const tw_tiling *t, const classes *cut, const int *at)
{
    corner k = {.times = {1}, .same = t->n_cuts, .end = {true, true}};
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
static int slide_axis(const tw_tiler *w, const seen *s, const tw_tiling *t, int n_axes)
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
static void find_fresh(tw_tiler *w, seen *s, const tw_tiling *t)
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
static void sum_up(tw_tiler *w, seen *s, const tw_tiling *t)
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

/* The part of the operand that the box touches joins the hull of what others do, whose elements are counted. */
static void touch(const tw_op *op, int operand, const tw_box *box, tw_region *hull, int64_t *elems)
{
    tw_region region = {0};
    int n_axes = op->operand[operand].n_axes;
    if (tw_box_is_empty(op, box) || tw_region_of(&op->operand[operand], box, &region) == 0) return;
    if (*elems == 0)
        memcpy(hull, &region, (size_t)n_axes * sizeof *region.axis);
    else
        widen(hull, &region, n_axes);
    *elems = 1;
    for (int a = 0; a < n_axes; a++) *elems *= tw_span_len(hull->axis[a]);
}

static void touch_all(tw_tiler *w, int d, int operand, seen *s, const tw_tiling *t)
{
    const entered *e = &w->entered[d];
    const tw_op *op = tw_segment_op(&w->widest->segment, op_at(w->widest, d));
    size_t axes = (size_t)op->operand[operand].n_axes * sizeof(tw_span);
    for (int c = 0; c < w->n_corners && s->version == 0; c++) {
        s->elems[c] = s->old_elems[c] = 0;
        memset(s->region[c].axis, 0, axes);
    }
    for (int c = 0; c < w->n_corners; c++) {
        touch(op, operand, &e->box[c], &s->region[c], &s->elems[c]);
        if (t->slide > 0 && w->corner[c].at[t->slide - 1] > 0)
            touch(op, operand, &e->old[c], &s->old[c], &s->old_elems[c]);
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
    return running_at(w, d) >= 0 ? t->n_cuts : w->seen[w->entered[d].output].inner;
}

/* Whether the operator runs at the corner; then it does so as often as its output changes, or what it has reduced. */
static bool runs_at(const tw_tiler *w, int d, int c, const tw_tiling *t)
{
    return w->corner[c].same <= cuts_of(w, d, t) && fresh_elems(&w->seen[w->entered[d].output], c) > 0;
}

/* The points with which what the operator has added up so far is rescaled at the corner; false: it is not. */
static bool rescales_at(const tw_tiler *w, int d, int c, const tw_tiling *t, tw_box *out)
{
    const tw_op *op = tw_segment_op(&w->widest->segment, op_at(w->widest, d));
    int k = running_at(w, d);
    if (k < 0 || !w->running.by[k] || w->corner[c].at[t->n_cuts - 1] == 0) return false;
    *out = w->entered[d].box[c];
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) out->span[l].hi = tw_min(out->span[l].hi, out->span[l].lo + 1);
    return true;
}

static void sum_work(tw_tiler *w, int d, const tw_tiling *t)
{
    entered *e = &w->entered[d];
    int k = op_at(w->widest, d), inner = cuts_of(w, d, t);
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

static remembered *place_of(tw_tiler *w, const tw_frame_op *op, const int64_t *len, int n)
{
    uint64_t hash = (uint64_t)(op - w->widest->facts->op) * 0x9e3779b97f4a7c15u;
    for (int l = 0; l < n; l++) hash = (hash ^ (uint64_t)len[l]) * 0x100000001b3u, hash ^= hash >> 29;
    return &w->memo[hash % MEMO_SIZE];
}

static tw_spread try_spreads(const tw_segment_frame *f, int k, const tw_box *box)
{
    tw_spread best = {{0}};
    double least = 0;
    for (int i = 0; i < f->op[k].n_spreads; i++) {
        double now = exec_cycles(f, k, &f->op[k].spread[i], box);
        if (i > 0 && now >= least) continue;
        least = now;
        best = f->op[k].spread[i];
    }
    return best;
}

/* The loops over the array that take the fewest passes of the box. */
static tw_spread best_spread(tw_tiler *w, int k, const tw_box *box)
{
    const tw_segment_frame *f = w->widest;
    const tw_op *op = tw_segment_op(&f->segment, k);
    int64_t len[TW_MAX_LOOPS] = {0};
    if (f->op[k].n_spreads == 0) return (tw_spread){{0}};
    for (int l = 0; l < op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    remembered *at = place_of(w, &f->op[k], len, op->n_loops);
    if (at->op != &f->op[k] || memcmp(at->len, len, sizeof len) != 0) {
        *at = (remembered){.op = &f->op[k], .spread = try_spreads(f, k, box)};
        memcpy(at->len, len, sizeof len);
    }
    return at->spread;
}

/* The loops over the array that suit a tile in the middle, and what the operator takes with them. */
static void spread_out(tw_tiler *w, int d, const tw_tiling *t)
{
    entered *e = &w->entered[d];
    int k = op_at(w->widest, d), inner = cuts_of(w, d, t);
    tw_box rescaled;
    if (e->is_spread) return;
    e->is_spread = true;
    e->over = best_spread(w, k, &e->box[middle_corner(w, t)]);
    e->worked = e->last_work = 0;
    for (int c = 0; c < w->n_corners; c++) {
        if (!runs_at(w, d, c, t)) continue;
        double cycles = exec_cycles(w->widest, k, &e->over, &e->box[c]);
        if (rescales_at(w, d, c, t, &rescaled)) cycles += exec_cycles(w->widest, k, &e->over, &rescaled);
        e->worked += w->corner[c].times[inner] * cycles;
        if (w->corner[c].end[1]) e->last_work = cycles;
    }
}

/* ---- operators come in ---- */

/* The box in which the operator makes a region of its output; nothing where there are no elements. */
static void box_of(const tw_op *op, const entered *e, const tw_region *region, int64_t elems, tw_box *box)
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
    entered *e = &w->entered[d];
    const seen *made = &w->seen[e->output];
    const tw_op *op = tw_segment_op(&w->widest->segment, op_at(w->widest, d));
    for (int c = 0; c < w->n_corners; c++) {
        box_of(op, e, fresh_region(made, c), fresh_elems(made, c), &e->box[c]);
        int k = running_at(w, d);
        if (k >= 0) e->box[c].span[w->running.loop[k]] = w->entered[0].box[c].span[t->running - 1];
        if (t->slide > 0) box_of(op, e, &made->old[c], made->old_elems[c], &e->old[c]);
    }
}

/* Operator d joins those behind it; false: nothing reads what it makes. */
static bool enter(tw_tiler *w, int d, const tw_tiling *t)
{
    entered *e = &w->entered[d];
    const tw_op *op = tw_segment_op(&w->widest->segment, op_at(w->widest, d));
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

/* ---- transfers ---- */

/* The ports that the tensor passes on the way over a mover; -1: none. What stays inside is taken for what comes in. */
static void ports_of(const tw_segment_frame *f, const tw_frame_tensor *h, int link, int port[2])
{
    int out = h->part == TW_GOES_OUT;
    port[0] = f->platform->engine[link].reads[out];
    port[1] = f->platform->engine[link].writes[out];
}

/* Of reading so many units at one end, and writing them at the other. */
static double move_energy(const tw_segment_frame *f, const tw_frame_tensor *h, int link, int64_t units)
{
    const tw_platform *p = f->platform;
    const tw_engine *mover = &p->engine[link].is;
    int port[2], end[2] = {h->part == TW_GOES_OUT ? mover->memory : mover->outer,
                           h->part == TW_GOES_OUT ? mover->outer : mover->memory};
    double sum = 0;
    ports_of(f, h, link, port);
    for (int i = 0; i < 2; i++) {
        const tw_port *at = port[i] < 0 ? NULL : &p->port[port[i]];
        int64_t own = !at ? -1 : i == 0 ? at->read_fj : at->write_fj;
        int64_t word = at ? at->word : 1;
        sum += (double)(tw_cdiv(units, word) * word) * (double)(own >= 0 ? own : p->memory[end[i]].is.energy_fj);
    }
    return sum;
}

static double move_cycles(const tw_segment_frame *f, const tw_frame_tensor *h, int link, const tw_region *region,
                          int64_t elems)
{
    const tw_engine *mover = &f->platform->engine[link].is;
    int64_t work = elems * h->units, passing = 0;
    int port[2];
    ports_of(f, h, link, port);
    for (int i = 0; i < 2; i++)
        if (port[i] >= 0) passing = tw_max(passing, tw_port_cycles(&f->platform->port[port[i]], work));
    if (tw_cost_by_shape(&mover->cost)) {
        const tw_operand *operand = &tw_segment_op(&f->segment, h->op)->operand[h->operand];
        tw_shape shape = tw_region_shape(operand, region, NULL, h->units);
        work = tw_cost_of_transfer(&mover->cost.descriptor, &shape);
    }
    return (double)tw_max(passing, tw_engine_busy(mover, work)) / (double)tw_max(1, mover->count);
}

static void sum_moves(const tw_tiler *w, const tw_segment_frame *f, const tw_frame_tensor *h, const seen *s,
                      link_sums *sums)
{
    sums->version = s->version;
    sums->op = f->segment.first + h->op;
    sums->cycles = sums->first = sums->last = sums->energy_fj = 0;
    for (int c = 0; c < w->n_corners; c++) {
        if (w->corner[c].same > s->inner || fresh_elems(s, c) == 0) continue;
        double cycles = move_cycles(f, h, sums->mover, fresh_region(s, c), fresh_elems(s, c));
        sums->cycles += w->corner[c].times[s->inner] * cycles;
        sums->energy_fj +=
            w->corner[c].times[s->inner] * move_energy(f, h, sums->mover, fresh_elems(s, c) * h->units);
        if (w->corner[c].end[0]) sums->first = cycles;
        if (w->corner[c].end[1]) sums->last = cycles;
    }
}

/* What the tensor takes on a mover, as the frame has it. */
static const link_sums *moves_of(tw_tiler *w, const tw_segment_frame *f, int i, int x)
{
    const tw_frame_tensor *h = &f->tensor[i];
    seen *s = &w->seen[w->index[f->segment.n - 1][i]];
    int n = 0;
    while (n < s->n_links && s->link[n].mover != h->link[x]) n++;
    if (n == s->n_links) {
        if (n == TW_FRAME_STOPS) n--;
        s->link[n] = (link_sums){.mover = h->link[x]};
        s->n_links = n + 1;
    }
    if (s->link[n].version != s->version || s->link[n].op != f->segment.first + h->op)
        sum_moves(w, f, h, s, &s->link[n]);
    return &s->link[n];
}

static const seen *seen_of(const tw_tiler *w, const tw_segment_frame *f, int i)
{
    return &w->seen[w->index[f->segment.n - 1][i]];
}

/* ---- between seams ---- */

static bool is_resident(const tw_tilings *list, const tw_frame_tensor *h)
{
    if (h->part == TW_GOES_OUT) return list->seams.out;
    for (int k = 0; k < list->seams.n_in; k++)
        if (list->seams.in[k] == h->tensor) return h->part == TW_COMES_IN;
    return false;
}

static uint64_t residents_of(const tw_segment_frame *f, const tw_tilings *list)
{
    uint64_t all = 0;
    for (int i = 0; i < f->n_tensors; i++) all |= (uint64_t)is_resident(list, &f->tensor[i]) << i;
    return all;
}

static int home_of(const tw_segment_frame *f, int i) { return f->facts->home[f->tensor[i].tensor]; }

/* The first of the tensor's memories that holds tiles of it, and of the links that move them: those inside of where it is resident. */
static int tiles_from(const tw_segment_frame *f, uint64_t resident, int i)
{
    const tw_frame_tensor *h = &f->tensor[i];
    for (int m = 0; (resident >> i & 1) && m < h->n_memories; m++)
        if (h->memory[m] == home_of(f, i)) return m + 1;
    return 0;
}

static int64_t aligned(const tw_segment_frame *f, int memory, int64_t units)
{
    int64_t align = f->platform->memory[memory].is.align;
    return tw_cdiv(units, align) * align;
}

/* What one memory needs: once, for each buffer of what comes in, of what is made. Every buffer begins at a multiple of the memory's alignment, and the one
 * that lies last need not end at one: `spare` is the most that this saves. */
typedef struct room {
    int64_t once, in, out, spare;
} room;

static void spare_end(const tw_segment_frame *f, int memory, int64_t units, room *need)
{
    need[memory].spare = tw_max(need[memory].spare, aligned(f, memory, units) - units);
}

static void add_room(const tw_tiler *w, const tw_segment_frame *f, uint64_t resident, int i, room *need)
{
    const tw_frame_tensor *h = &f->tensor[i];
    const seen *s = seen_of(w, f, i);
    if (resident >> i & 1) {
        need[home_of(f, i)].once += aligned(f, home_of(f, i), h->whole);
        spare_end(f, home_of(f, i), h->whole, need);
    }
    for (int m = tiles_from(f, resident, i); m < h->n_memories; m++) {
        room *r = &need[h->memory[m]];
        int64_t most = (s->twice ? 2 : 1) * s->most * h->units, units = aligned(f, h->memory[m], most),
                each = units;
        if (s->axis >= 0) each = aligned(f, h->memory[m], s->ahead * h->units);
        spare_end(f, h->memory[m], most, need);
        bool one = s->inner == 0 || h->part == TW_STAYS_INSIDE;
        r->once += one ? units : units - each;
        if (!one) *(h->part == TW_COMES_IN ? &r->in : &r->out) += each;
    }
}

/* With as many buffers as fit, two of each at best, each memory by itself, beside what is resident; false: nothing fits. */
static bool fit_buffers(const tw_tiler *w, const tw_segment_frame *f, const tw_seams *seams, tw_tiling *t)
{
    static const int64_t slots[][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}};
    room need[TW_MAX_PLATFORM_MEMORIES];
    int n = f->platform->n_memories;
    memset(need, 0, (size_t)n * sizeof *need);
    need[seams->shelf].once = seams->passing;
    for (int i = 0; i < f->n_tensors; i++) add_room(w, f, t->resident, i, need);
    for (int i = 0; i < 4; i++) {
        int m = 1;
        t->in_slots = slots[i][0];
        t->out_slots = slots[i][1];
        while (m < n && need[m].once + t->in_slots * need[m].in + t->out_slots * need[m].out - need[m].spare <=
                            f->platform->memory[m].is.size)
            m++;
        if (m == n) return true;
    }
    return false;
}

/* Whether no longer segment fits: what is inside stays so, and what nobody makes comes in. */
static bool is_full(const tw_tiler *w, int n_entered)
{
    const tw_segment_frame *f = w->drive->frame[n_entered - 1];
    room need[TW_MAX_PLATFORM_MEMORIES];
    if (!f) return false;
    memset(need, 0, (size_t)f->platform->n_memories * sizeof *need);
    for (int i = 0; i < f->n_tensors; i++)
        if (f->tensor[i].part != TW_COMES_IN || !seen_of(w, f, i)->is_made) add_room(w, f, 0, i, need);
    for (int m = 1; m < f->platform->n_memories; m++)
        if (need[m].once + need[m].in + need[m].out - need[m].spare > f->platform->memory[m].is.size) return true;
    return false;
}

typedef struct load { /* of all that moves */
    double busy[TW_MAX_PLATFORM_ENGINES], passing[TW_MAX_PORTS];
    double first, last; /* of what comes into the first operator, and of what goes out */
} load;

static void add_link(tw_tiler *w, const tw_segment_frame *f, int i, int x, load *all, tw_tiling *t)
{
    const tw_frame_tensor *h = &f->tensor[i];
    const link_sums *sums = moves_of(w, f, i, x);
    const tw_engine *mover = &f->platform->engine[h->link[x]].is;
    int port[2];
    ports_of(f, h, h->link[x], port);
    all->busy[h->link[x]] += sums->cycles;
    for (int k = 0; k < 2; k++)
        if (port[k] >= 0)
            all->passing[port[k]] +=
                sums->cycles * (double)tw_max(1, mover->count) / (double)f->platform->port[port[k]].ways;
    if (h->part == TW_COMES_IN && h->op == 0) all->first += sums->first;
    if (h->part == TW_GOES_OUT) all->last += sums->last;
    t->energy_fj += sums->energy_fj;
}

/* What the mover or the port takes that is busy longest. */
static double moving_of(tw_tiler *w, const tw_segment_frame *f, load *all, tw_tiling *t)
{
    double moved = 0;
    memset(all->busy, 0, (size_t)f->platform->n_engines * sizeof *all->busy);
    memset(all->passing, 0, (size_t)f->platform->n_ports * sizeof *all->passing);
    all->first = all->last = 0;
    for (int i = 0; i < f->n_tensors; i++)
        for (int x = tiles_from(f, t->resident, i); x < f->tensor[i].n_links; x++) add_link(w, f, i, x, all, t);
    for (int e = 0; e < f->platform->n_engines; e++) moved = fmax(moved, all->busy[e]);
    for (int k = 0; k < f->platform->n_ports; k++) moved = fmax(moved, all->passing[k]);
    return moved;
}

static double working_of(const tw_tiler *w, const tw_segment_frame *f, bool peak, tw_tiling *t)
{
    double busy[TW_MAX_PLATFORM_ENGINES], worked = 0;
    memset(busy, 0, (size_t)f->platform->n_engines * sizeof *busy);
    for (int k = 0; k < f->segment.n; k++) {
        const entered *e = &w->entered[op_at(f, k)];
        const tw_engine *engine = &f->op[k].engine;
        busy[f->platform->view[f->op[k].view].engine] +=
            (peak ? e->peak : e->worked) / (double)tw_max(1, engine->count);
        t->energy_fj += e->points * (double)engine->energy_fj;
    }
    for (int e = 0; e < f->platform->n_engines; e++) worked = fmax(worked, busy[e]);
    return worked;
}

/* Time and energy between these seams. Where loads, executions and stores do not overlap they add up. */
static void price_tiling(tw_tiler *w, const tw_segment_frame *f, bool peak, tw_tiling *t)
{
    load all;
    t->energy_fj = 0;
    double worked = working_of(w, f, peak, t), moved = moving_of(w, f, &all, t);
    double last_work = peak ? 0 : w->entered[0].last_work;
    double overlapped = fmax(worked + all.first + all.last, moved + last_work * (all.last > 0));
    t->cycles = t->in_slots > 1 && t->out_slots > 1   ? overlapped
                : t->in_slots > 1 || t->out_slots > 1 ? (overlapped + moved + worked) / 2
                                                      : moved + worked;
    t->price = w->by->price(w->by->user, t->cycles, t->energy_fj);
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

static void keep(tw_tilings *list, const tw_tiling *t)
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
    t->resident = residents_of(f, list);
    if (!fit_buffers(w, f, &list->seams, t)) return false;
    price_tiling(w, f, peak, t);
    return list->n < list->most || t->price < list->tiling[list->most - 1].price;
}

static void describe(tw_tiler *w, const tw_segment_frame *f, tw_tiling *t)
{
    t->changing = t->slides = 0;
    for (int i = 0; i < f->n_tensors; i++) {
        t->changing |= (uint64_t)(seen_of(w, f, i)->inner > 0) << i;
        t->slides |= (uint64_t)(seen_of(w, f, i)->axis >= 0) << i;
    }
    for (int k = 0; k < f->segment.n; k++) t->over[k] = w->entered[op_at(f, k)].over;
}

/* Whether groups can say how windows slide in all memories of the tensors: not in lanes, and further outside only along the last cut. */
static bool may_slide(const tw_tiler *w, const tw_segment_frame *f, const tw_tiling *t)
{
    bool any = false;
    for (int i = 0; i < f->n_tensors; i++) {
        if (seen_of(w, f, i)->axis < 0) continue;
        any = true;
        for (int m = 0; m < f->tensor[i].n_memories; m++) {
            int memory = f->tensor[i].memory[m];
            if (f->platform->memory[memory].lanes > 1 || (memory != f->level && t->slide < t->n_cuts)) return false;
        }
    }
    return any;
}

/* First at the peak, which costs little; what may be among the best then with the loops that really lie over the arrays. */
static void offer(tw_tiler *w, int n_entered, tw_tiling *t)
{
    const tw_segment_frame *f = w->drive->frame[n_entered - 1];
    tw_tilings *list = w->drive->list[n_entered - 1], *wanted[TW_MAX_LISTS];
    int n = 0;
    if (!f || !w->wanted[n_entered - 1] || (t->slide > 0 && !may_slide(w, f, t))) return;
    for (int i = 0; i < w->drive->n_lists[n_entered - 1]; i++)
        if (list[i].keeps == (t->slide > 0) && is_promising(w, f, &list[i], true, t)) wanted[n++] = &list[i];
    if (n == 0) return;
    for (int d = 0; d < n_entered; d++) spread_out(w, d, t);
    describe(w, f, t);
    for (int i = 0; i < n; i++)
        if (is_promising(w, f, wanted[i], false, t)) keep(wanted[i], t);
}

/* All segments with this tiling, from the shortest on. */
static void try_tiling(tw_tiler *w, int n_wanted, tw_tiling *t)
{
    for (int i = 0; i < w->n_seen; i++) w->seen[i].version = 0;
    open_corners(w, t);
    for (int n = 1; n <= n_wanted; n++) {
        if (!enter(w, n - 1, t)) return;
        offer(w, n, t);
        if (is_full(w, n)) return;
    }
}

/* ---- sizes ---- */

static bool is_cut_taken(const tw_segment_frame *f, int loop, int64_t size)
{
    const tw_op *op = tw_frame_driver(f);
    tw_taken taken = tw_taken_of(&f->op[f->segment.n - 1].engine, op, loop);
    int64_t extent = op->loop[loop].extent, rest = extent % size;
    if (size == extent) return extent <= taken.last;
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
        if (f->tensor[i].part != TW_STAYS_INSIDE) continue;
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
        if (c->running) n_sizes[p] = thin_out(size[p], n_sizes[p]);
    }
    do {
        tw_tiling t = {.running = c->running};
        int n_moving = 0;
        for (p = 0; p < c->n; p++) {
            if (size[p][at[p]] == driver->loop[c->loop[p]].extent) continue;
            n_moving += p < c->n_moving;
            t.loop[t.n_cuts] = c->loop[p];
            t.size[t.n_cuts++] = size[p][at[p]];
        }
        bool runs = c->running && t.n_cuts > 0 && t.loop[t.n_cuts - 1] == c->running - 1;
        if (!c->running || runs) try_tiling(w, n_wanted, &t);
        if (!c->running) try_slides(w, n_wanted, t, n_moving);
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
        const tw_op *op = tw_segment_op(&f->segment, op_at(f, d));
        entered *e = &w->entered[d];
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

void tw_tilings_find(tw_tiler *w, tw_drive *drive)
{
    bool todo[TW_MAX_GROUP_OPS] = {false};
    w->drive = drive;
    w->widest = NULL;
    for (int n = 0; n < drive->n; n++)
        if ((todo[n] = drive->frame[n] != NULL)) w->widest = drive->frame[n];
    if (!w->widest) return;
    open_ops(w);
    try_alike(w, 2, todo);
    for (int n = 0; n < drive->n; n++) {
        todo[n] = drive->frame[n] && drive->frame[n]->n_loops > 2;
        for (int i = 0; i < drive->n_lists[n]; i++) todo[n] &= drive->list[n][i].n == 0 || drive->list[n][i].keeps;
    }
    try_alike(w, 3, todo);
    for (int n = 1; n < drive->n; n++)
        if (drive->frame[n]) try_running(w, n);
}

void tw_tilings_find_one(tw_tiler *tiler, const tw_segment_frame *frame, tw_tilings *list)
{
    int last = frame->segment.n - 1;
    tw_drive drive = {.n = frame->segment.n};
    drive.frame[last] = frame;
    drive.n_lists[last] = 1;
    drive.list[last][0] = *list;
    tw_tilings_find(tiler, &drive);
    *list = drive.list[last][0];
}

/* ---- as a mapping ---- */

/* A level of each memory that something is held in, outermost first; the first one has all cuts. */
static tw_status write_levels(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_group_level *level;
    bool held[TW_MAX_PLATFORM_MEMORIES] = {false};
    for (int i = 0; i < f->n_tensors; i++)
        for (int m = 0; m < f->tensor[i].n_memories; m++) held[f->tensor[i].memory[m]] = true;
    TW_ALLOC(arena, level, TW_MAX_GROUP_LEVELS);
    for (int m = 1; m < f->platform->n_memories; m++)
        if (held[m] && (m == f->level || out->n_levels < TW_MAX_GROUP_LEVELS - 1))
            level[out->n_levels++] = (tw_group_level){.memory = m, .depth = t->n_cuts};
    out->level = level;
    return TW_OK;
}

/* Tensors that come once have one buffer, and nothing is said of them. */
static tw_status write_holds(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_hold *hold;
    TW_ALLOC(arena, hold, f->n_tensors * TW_FRAME_STOPS);
    for (int i = 0; i < f->n_tensors; i++) {
        const tw_frame_tensor *h = &f->tensor[i];
        bool slides = t->slides >> i & 1;
        int64_t slots = h->part == TW_COMES_IN ? t->in_slots : h->part == TW_GOES_OUT ? t->out_slots : 1;
        if (!(t->changing >> i & 1) || (slots == 1 && !slides)) continue;
        for (int m = tiles_from(f, t->resident, i); m < h->n_memories; m++)
            hold[out->n_holds++] = (tw_hold){.tensor = h->tensor,
                                             .memory = h->memory[m],
                                             .depth = slides && t->slide < t->n_cuts ? t->slide : -1,
                                             .slots = slots,
                                             .slide = slides ? 1 + t->loop[t->slide - 1] : 0};
    }
    out->hold = hold;
    return TW_OK;
}

tw_status tw_tiling_group(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_group_op *op;
    tw_nest_cut *cut;
    TW_ALLOC(arena, op, f->segment.n);
    TW_ALLOC(arena, cut, t->n_cuts);
    for (int k = 0; k < f->segment.n; k++)
        op[k] = (tw_group_op){.op = f->segment.first + k, .view = f->op[k].view, .over = t->over[k]};
    for (int p = 0; p < t->n_cuts; p++) cut[p] = (tw_nest_cut){.loop = t->loop[p], .size = t->size[p]};
    *out = (tw_group_map){.name = tw_frame_driver(f)->name,
                          .n_ops = f->segment.n,
                          .op = op,
                          .n_cuts = t->n_cuts,
                          .cut = cut,
                          .running = t->running};
    TW_TRY(write_levels(f, t, arena, out));
    return write_holds(f, t, arena, out);
}
