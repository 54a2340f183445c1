/* src/program/walk.c - the steps of a group, and what everybody touches in them.
 *
 * The driver's pieces come from the cuts, from the outside in. A producer's box follows from what is read of its output: so
 * boxes are found from the driver backwards, for every depth that a hold has. When a place moves, only what lies deeper changes. */
#include "program/walk.h"

#include "mapping/groups.h"
#include "tile/box.h"
#include "tile/split.h"

#include <string.h>

tw_split tw_place_split(const tw_nest *nest, int place, int64_t len)
{
    const tw_nest_cut *cut = &nest->map->cut[place];
    if (!tw_place_is_legal(nest, place, len)) return tw_split_by_count(len, 1, TW_BALANCED);
    return cut->size > 0 ? tw_split_by_size(len, cut->size) : tw_split_by_count(len, cut->count, cut->rule);
}

bool tw_place_is_legal(const tw_nest *nest, int place, int64_t len)
{
    const tw_nest_cut *cut = &nest->map->cut[place];
    return cut->size > 0 || (cut->count <= len && tw_split_next_legal(len, cut->count, cut->rule) == cut->count);
}

bool tw_same_region(const tw_region *a, const tw_region *b, int n_axes)
{
    for (int x = 0; x < n_axes; x++)
        if (a->axis[x].lo != b->axis[x].lo || a->axis[x].hi != b->axis[x].hi) return false;
    return true;
}

/* ---- hulls ---- */

typedef struct hull {
    int n_axes;
    bool any;
    tw_region region;
} hull;

static void add_region(hull *h, const tw_region *region)
{
    for (int a = 0; a < h->n_axes; a++) {
        tw_span *to = &h->region.axis[a], from = region->axis[a];
        *to = h->any ? (tw_span){tw_min(to->lo, from.lo), tw_max(to->hi, from.hi)} : from;
    }
    h->any = true;
}

/* What the operator reads of the tensor with this box. */
static void add_reads(hull *h, const tw_op *op, int tensor, const tw_box *box)
{
    if (tw_box_is_empty(op, box)) return;
    for (int o = 0; o < tw_op_output(op); o++) {
        tw_region region;
        if (op->operand[o].tensor == tensor && tw_region_of(&op->operand[o], box, &region) > 0)
            add_region(h, &region);
    }
}

/* What the operators `readers` of the group read of a tensor at a depth. */
static hull reads_of(const tw_nest_walk *w, unsigned readers, int tensor, int depth)
{
    hull h = {.n_axes = w->nest->model->tensor[tensor].n_axes};
    for (; readers; readers &= readers - 1) {
        int k = __builtin_ctz(readers);
        add_reads(&h, w->nest->op[k].op, tensor, tw_nest_box(w, k, depth));
    }
    return h;
}

static int64_t elems_of(const hull *h)
{
    int64_t n = h->any;
    for (int a = 0; a < h->n_axes && n > 0; a++) n *= tw_span_len(h->region.axis[a]);
    return n;
}

/* ---- boxes ---- */

/* All loops of the driver, of the part that its core has. */
static tw_box whole_box(const tw_nest *nest) { return tw_group_work(nest->map, nest->op[nest->n_ops - 1].op); }

static void find_driver(tw_nest_walk *w, int from)
{
    const tw_nest *nest = w->nest;
    tw_box *box = &w->box[(nest->n_ops - 1) * (nest->n_places + 1)];
    if (from == 0) box[0] = whole_box(nest);
    for (int p = from; p < nest->n_places; p++) {
        int loop = nest->map->cut[p].loop;
        tw_span piece = box[p].span[loop];
        tw_split s = tw_place_split(nest, p, tw_span_len(piece));
        w->count[p] = s.count;
        box[p + 1] = box[p];
        box[p + 1].span[loop] = tw_split_at(&s, piece.lo, w->index[p]);
    }
}

static unsigned readers_behind(const tw_nest *nest, int k)
{
    unsigned readers = 0;
    int tensor = nest->op[k].op->operand[tw_op_output(nest->op[k].op)].tensor;
    for (int j = k + 1; j < nest->n_ops; j++)
        for (int o = 0; o < tw_op_output(nest->op[j].op); o++)
            if (nest->op[j].op->operand[o].tensor == tensor) readers |= 1u << j;
    return readers;
}

/* A producer makes what is read of its output; in a step, what is asked for where it writes. */
static void find_producer(tw_nest_walk *w, int k, int depth)
{
    const tw_op *op = w->nest->op[k].op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    tw_box *box = &w->box[k * (w->nest->n_places + 1) + depth];
    hull h = {.n_axes = out->n_axes};
    if (w->slide && depth == w->nest->hold[w->nest->op[k].made].depth)
        h.any = tw_nest_asked(w, w->nest->op[k].made, &h.region) > 0;
    else
        h = reads_of(w, readers_behind(w->nest, k), out->tensor, depth);
    *box = tw_box_of_op(op);
    for (int a = 0; a < out->n_axes; a++)
        if (out->axis[a].n_terms > 0)
            box->span[out->axis[a].term[0].loop] = h.any ? h.region.axis[a] : (tw_span){0, 0};
    if (w->nest->running.runs >> k & 1) /* as far as the driver is */
        box->span[w->nest->running.loop[k]] =
            tw_nest_box(w, w->nest->n_ops - 1, depth)->span[w->nest->map->running - 1];
}

/* ---- holds ---- */

int64_t tw_nest_asked(const tw_nest_walk *w, int s, tw_region *out)
{
    bool slides = w->nest->hold[s].slides;
    *out = slides ? w->slide[s].fresh : w->region[s];
    return slides ? w->slide[s].elems : w->elems[s];
}

/* What is asked of a hold, where windows slide: by operators that read it there, and by holds that come from it. One that is held as long
 * asks for what is new to it; others need, in their turn, all that their readers touch meanwhile. */
static hull asks_of(const tw_nest_walk *w, int s)
{
    const tw_nest *nest = w->nest;
    const tw_nest_hold *hold = &nest->hold[s];
    hull h = reads_of(w, hold->direct, hold->tensor, hold->depth);
    for (int c = s + 1; c < nest->n_holds; c++) {
        const tw_nest_hold *child = &nest->hold[c];
        tw_region region;
        if (child->from != TW_FROM_HOLD || child->source != s || child->readers == 0) continue;
        if (child->depth == hold->depth) {
            if (tw_nest_asked(w, c, &region) > 0) add_region(&h, &region);
            continue;
        }
        hull all = reads_of(w, child->readers, hold->tensor, hold->depth);
        if (all.any) add_region(&h, &all.region);
    }
    return h;
}

/* Whether the window that is asked for goes on from the one that is there: nothing of it lies before, and its rows are no wider. */
static bool goes_on(const tw_region *window, const hull *h, int axis)
{
    for (int a = 0; a < h->n_axes; a++) {
        tw_span is = window->axis[a], asked = h->region.axis[a];
        if (asked.lo < is.lo || (a != axis && asked.hi > is.hi)) return false;
    }
    return true;
}

/* The window moves on: behind its end lies what is new. Where nothing is asked for it stays. */
static void slide_on(tw_nest_walk *w, int s, const hull *h)
{
    const tw_nest_hold *hold = &w->nest->hold[s];
    struct tw_nest_slide *slide = &w->slide[s];
    slide->elems = slide->moved = 0;
    if (!h->any) return;
    slide->continues = w->elems[s] > 0 && goes_on(&w->region[s], h, hold->axis);
    slide->fresh = h->region;
    hull window = *h;
    if (slide->continues) { /* its rows stay as wide as they are */
        tw_span is = w->region[s].axis[hold->axis], asked = h->region.axis[hold->axis];
        window.region = slide->fresh = w->region[s];
        slide->moved = tw_max(0, asked.hi - is.hi);
        slide->fresh.axis[hold->axis] = (tw_span){tw_max(asked.lo, is.hi), asked.hi};
        window.region.axis[hold->axis] = (tw_span){asked.lo, tw_max(is.hi, asked.hi)};
    }
    w->region[s] = window.region;
    w->elems[s] = elems_of(&window);
    window.region = slide->fresh;
    slide->elems = slide->continues && slide->moved == 0 ? 0 : elems_of(&window);
    slide->number += slide->elems > 0;
}

static void find_hold(tw_nest_walk *w, int s)
{
    const tw_nest_hold *hold = &w->nest->hold[s];
    const tw_nest *nest = w->nest;
    hull h = w->slide ? asks_of(w, s) : reads_of(w, hold->readers, hold->tensor, hold->depth);
    if (hold->resident && hold->from == TW_FROM_TENSOR) { /* all of it, for others, too */
        const tw_tensor *tensor = &nest->model->tensor[hold->tensor];
        h.any = true;
        for (int a = 0; a < h.n_axes; a++) h.region.axis[a] = (tw_span){0, tensor->extent[a]};
    }
    if (hold->slides) {
        slide_on(w, s, &h);
        return;
    }
    if (hold->maker == nest->n_ops - 1) { /* the output of the group */
        const tw_op *op = nest->op[hold->maker].op;
        w->elems[s] =
            tw_region_of(&op->operand[tw_op_output(op)], tw_nest_box(w, hold->maker, hold->depth), &w->region[s]);
        return;
    }
    w->elems[s] = elems_of(&h);
    w->region[s] = h.any ? h.region : (tw_region){0};
}

/* On the way out of what is read inside, nobody asks: it takes what is made. */
static void pass_out(tw_nest_walk *w, int s)
{
    w->elems[s] = tw_nest_asked(w, w->nest->op[w->nest->hold[s].maker].made, &w->region[s]);
}

/* What operator `maker` of the group makes, -1: what it takes from outside, as holds that are deeper than `place` hold it. Who asks comes
 * before who is asked. */
static void find_holds(tw_nest_walk *w, int maker, int place)
{
    const tw_nest *nest = w->nest;
    bool drives = maker == nest->n_ops - 1;
    for (int s = nest->n_holds - 1; s >= 0; s--)
        if (nest->hold[s].maker == maker && nest->hold[s].depth > place && (drives || nest->hold[s].readers))
            find_hold(w, s);
    for (int s = 0; s < nest->n_holds && maker >= 0 && !drives; s++)
        if (nest->hold[s].maker == maker && nest->hold[s].depth > place && !nest->hold[s].readers) pass_out(w, s);
}

/* Everything that lies deeper than `place`, which moved; -1: everything. */
static void refresh(tw_nest_walk *w, int place)
{
    const tw_nest *nest = w->nest;
    find_driver(w, (int)tw_max(place, 0));
    for (int k = nest->n_ops - 1; k >= 0; k--) {
        find_holds(w, k, place);
        for (int d = place + 1; d <= nest->n_places && k < nest->n_ops - 1; d++)
            if (nest->depths >> d & 1) find_producer(w, k, d);
    }
    find_holds(w, -1, place);
}

tw_status tw_nest_walk_init(tw_nest_walk *w, const tw_nest *nest, tw_arena *arena)
{
    *w = (tw_nest_walk){.nest = nest};
    TW_ALLOC(arena, w->box, nest->n_ops * (nest->n_places + 1));
    TW_ALLOC(arena, w->region, nest->n_holds);
    TW_ALLOC(arena, w->elems, nest->n_holds);
    if (nest->any_slides) TW_ALLOC(arena, w->slide, nest->n_holds);
    refresh(w, -1);
    return TW_OK;
}

void tw_nest_walk_after(tw_nest_walk *w, int place)
{
    int p = place;
    if (w->done) return;
    for (int inner = place + 1; inner < w->nest->n_places; inner++) w->index[inner] = 0;
    for (; p >= 0 && w->index[p] + 1 >= w->count[p]; p--) w->index[p] = 0;
    w->done = p < 0;
    if (w->done) return;
    w->index[p]++;
    refresh(w, p);
}

void tw_nest_walk_next(tw_nest_walk *w) { tw_nest_walk_after(w, w->nest->n_places - 1); }

void tw_nest_walk_copy(tw_nest_walk *to, const tw_nest_walk *from)
{
    const tw_nest *nest = from->nest;
    tw_nest_walk copy = *from;
    copy.box = to->box;
    copy.region = to->region;
    copy.elems = to->elems;
    copy.slide = to->slide;
    memcpy(copy.box, from->box, (size_t)(nest->n_ops * (nest->n_places + 1)) * sizeof *copy.box);
    memcpy(copy.region, from->region, (size_t)nest->n_holds * sizeof *copy.region);
    memcpy(copy.elems, from->elems, (size_t)nest->n_holds * sizeof *copy.elems);
    if (copy.slide) memcpy(copy.slide, from->slide, (size_t)nest->n_holds * sizeof *copy.slide);
    *to = copy;
}

/* ---- sub-steps ---- */

tw_box tw_nest_sub_box(const tw_nest_op *op, const tw_box *box, int64_t sub)
{
    tw_box piece = *box;
    for (int l = op->op->n_loops - 1; l >= 0; l--) {
        int64_t len = tw_span_len(box->span[l]);
        if (!op->op->loop[l].reduces || op->reduce[l] >= len) continue;
        tw_split s = tw_split_by_size(len, op->reduce[l]);
        piece.span[l] = tw_split_at(&s, box->span[l].lo, sub % s.count);
        sub /= s.count;
    }
    return piece;
}

bool tw_nest_fills(const tw_nest *nest, int k, const tw_box *box, tw_box *out)
{
    const tw_nest_op *op = &nest->op[k];
    int64_t elems[TW_MAX_OPERANDS] = {0};
    tw_region ignored;
    bool is_private = nest->hold[op->made].per != 0;
    *out = *box;
    for (int o = 0; o < tw_op_output(op->op); o++) {
        elems[o] = tw_region_of(&op->op->operand[o], box, &ignored);
        is_private |= nest->hold[op->input[o]].per != 0;
    }
    if (is_private || !tw_op_is_neutral(op->op, elems)) return false;
    for (int l = 0; l < op->op->n_loops; l++)
        if (op->op->loop[l].reduces) out->span[l].hi = tw_min(out->span[l].hi, out->span[l].lo + 1);
    return true;
}

int64_t tw_nest_sub_region(const tw_nest *nest, int hold, const tw_box *box, tw_region *out)
{
    const tw_nest_hold *s = &nest->hold[hold];
    hull h = {.n_axes = nest->model->tensor[s->tensor].n_axes};
    add_reads(&h, nest->op[s->which].op, s->tensor, box);
    *out = h.any ? h.region : (tw_region){0};
    return elems_of(&h);
}
