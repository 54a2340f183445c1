/* src/program/walk.c - the steps of a group, and what everybody touches in them.
 *
 * The driver's pieces come from the cuts, from the outside in. A producer's box follows from what is read of its output: so
 * boxes are found from the driver backwards, for every depth that a stay has. When a place moves, only what lies deeper changes. */
#include "program/walk.h"

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

static bool is_empty(const tw_op *op, const tw_box *box)
{
    for (int l = 0; l < op->n_loops; l++)
        if (box->span[l].lo >= box->span[l].hi) return true;
    return false;
}

/* What the operator reads of the tensor with this box. */
static void add_reads(hull *h, const tw_op *op, int tensor, const tw_box *box)
{
    if (is_empty(op, box)) return;
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
static tw_box whole_box(const tw_nest *nest)
{
    tw_box box = tw_box_of_op(nest->op[nest->n_ops - 1].op);
    if (nest->map->part_loop >= 0) box.span[nest->map->part_loop] = nest->map->part;
    return box;
}

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

/* A producer makes what is read of its output. */
static void find_producer(tw_nest_walk *w, int k, int depth)
{
    const tw_op *op = w->nest->op[k].op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    tw_box *box = &w->box[k * (w->nest->n_places + 1) + depth];
    hull h = reads_of(w, readers_behind(w->nest, k), out->tensor, depth);
    *box = tw_box_of_op(op);
    for (int a = 0; a < out->n_axes; a++)
        if (out->axis[a].n_terms > 0)
            box->span[out->axis[a].term[0].loop] = h.any ? h.region.axis[a] : (tw_span){0, 0};
}

/* ---- stays ---- */

static void find_stay(tw_nest_walk *w, int s)
{
    const tw_stay *stay = &w->nest->stay[s];
    const tw_nest *nest = w->nest;
    hull h = reads_of(w, stay->readers, stay->tensor, stay->depth);
    if (stay->stays && stay->from == TW_FROM_TENSOR) { /* all of it, for others, too */
        const tw_tensor *tensor = &nest->model->tensor[stay->tensor];
        h.any = true;
        for (int a = 0; a < h.n_axes; a++) h.region.axis[a] = (tw_span){0, tensor->extent[a]};
    }
    if (stay->maker == nest->n_ops - 1) { /* the output of the group */
        const tw_op *op = nest->op[stay->maker].op;
        w->elems[s] =
            tw_region_of(&op->operand[tw_op_output(op)], tw_nest_box(w, stay->maker, stay->depth), &w->region[s]);
        return;
    }
    w->elems[s] = elems_of(&h);
    w->region[s] = h.any ? h.region : (tw_region){0};
}

/* Everything that lies deeper than `from` places. */
static void refresh(tw_nest_walk *w, int from)
{
    const tw_nest *nest = w->nest;
    find_driver(w, from);
    for (int d = from == 0 ? 0 : from + 1; d <= nest->n_places; d++)
        if (nest->depths >> d & 1)
            for (int k = nest->n_ops - 2; k >= 0; k--) find_producer(w, k, d);
    for (int s = 0; s < nest->n_stays; s++)
        if (from == 0 || nest->stay[s].depth > from) find_stay(w, s);
}

tw_status tw_nest_walk_init(tw_nest_walk *w, const tw_nest *nest, tw_arena *arena)
{
    *w = (tw_nest_walk){.nest = nest};
    TW_ALLOC(arena, w->box, nest->n_ops * (nest->n_places + 1));
    TW_ALLOC(arena, w->region, nest->n_stays);
    TW_ALLOC(arena, w->elems, nest->n_stays);
    refresh(w, 0);
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
    memcpy(copy.box, from->box, (size_t)(nest->n_ops * (nest->n_places + 1)) * sizeof *copy.box);
    memcpy(copy.region, from->region, (size_t)nest->n_stays * sizeof *copy.region);
    memcpy(copy.elems, from->elems, (size_t)nest->n_stays * sizeof *copy.elems);
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

int64_t tw_nest_sub_region(const tw_nest *nest, int stay, const tw_box *box, tw_region *out)
{
    const tw_stay *s = &nest->stay[stay];
    hull h = {.n_axes = nest->model->tensor[s->tensor].n_axes};
    add_reads(&h, nest->op[s->which].op, s->tensor, box);
    *out = h.any ? h.region : (tw_region){0};
    return elems_of(&h);
}
