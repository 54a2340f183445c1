/* src/verify/joint_nest.c - what a group is, from its mapping alone: operators, steps, boxes, regions, lanes; joint_holds.c has its holds.
 *
 * A box of a producer is never smaller than what it executes at once: behind the depth of the hold where it writes, boxes
 * stay as they are there. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

#include <string.h>

/* ---- operators ---- */

static void divide_lanes(const tw_joint_judge *j, tw_joint_op *o)
{
    for (int m = 0; m < o->view->machine.n_memories; m++)
        o->in.dims |= j->in.platform->memory[o->view->memory[m]].is.per;
    for (int l = 0; l < TW_MAX_LOOPS; l++) o->in.parts[l] = 1;
    for (int d = 0; d < TW_MAX_DIMS; d++) {
        int64_t left = d < tw_cost_dims(&o->engine.cost) ? o->engine.cost.array.size[d] : 1, used = 1;
        for (int l = 0; l < o->op->n_loops && (o->in.dims >> d & 1); l++) {
            if (o->in.over[l] != d + 1) continue;
            int64_t given = o->map->parts[l];
            o->in.parts[l] = given > 0 ? given : tw_max(1, tw_min(left / used, o->op->loop[l].extent));
            used *= o->in.parts[l];
        }
    }
}

static void init_op(const tw_joint_judge *j, tw_joint_group *g, int number)
{
    tw_joint_op *o = &g->op[number];
    o->map = &g->map->op[number];
    o->op = &j->in.model->op[o->map->op];
    o->in = j->known;
    o->in.op = o->op;
    o->view = &j->in.platform->view[o->map->view];
    o->engine = j->in.platform->engine[o->view->engine].is;
    if (o->view->machine.has_apart >> o->op->compute & 1) o->engine.cost = o->view->machine.apart[o->op->compute];
    tw_verify_lay_out(&o->map->over, tw_cost_dims(&o->engine.cost), &o->in);
    divide_lanes(j, o);
    for (int l = 0; l < o->op->n_loops && number < g->n_ops - 1; l++)
        if (o->op->loop[l].reduces && o->map->reduce[l] > 0 && o->map->reduce[l] < o->op->loop[l].extent)
            o->divided |= 1u << l;
}

/* ---- steps ---- */

static int64_t tiles_of(const tw_nest_cut *cut, int64_t len)
{
    if (cut->size > 0) return len / cut->size + (len % cut->size != 0);
    int64_t count = tw_min(tw_max(1, cut->count), len);
    if (cut->rule == TW_BALANCED) return count;
    int64_t each = len / count + (len % count != 0);
    return len / each + (len % each != 0);
}

static tw_span tile_of(const tw_nest_cut *cut, tw_span piece, int64_t i)
{
    int64_t len = piece.hi - piece.lo, count = tiles_of(cut, len), lo, hi;
    if (cut->size == 0 && cut->rule == TW_BALANCED) {
        int64_t each = len / count, rest = len % count;
        lo = i * each + tw_min(i, rest);
        hi = lo + each + (i < rest);
    } else {
        int64_t asked = tw_min(tw_max(1, cut->count), len);
        int64_t each = cut->size > 0 ? cut->size : len / asked + (len % asked != 0);
        lo = i * each;
        hi = tw_min(lo + each, len);
    }
    return (tw_span){piece.lo + lo, piece.lo + hi};
}

static void driver_box(tw_joint_group *g, int depth)
{
    int driver = g->n_ops - 1;
    const tw_op *op = g->op[driver].op;
    tw_box *box = tw_joint_box(g, depth, driver);
    g->any[depth * g->n_ops + driver] = true;
    if (depth == 0) {
        *box = tw_verify_whole_box(op);
        for (int i = 0; i < g->map->n_parts; i++) box->span[g->map->part[i].loop] = g->map->part[i].span;
        return;
    }
    const tw_nest_cut *cut = &g->map->cut[depth - 1];
    *box = *tw_joint_box(g, depth - 1, driver);
    g->count[depth - 1] = tiles_of(cut, tw_span_len(box->span[cut->loop]));
    box->span[cut->loop] = tile_of(cut, box->span[cut->loop], g->at[depth - 1]);
}

static void hull(const tw_operand *shape, tw_joint_part *sum, const tw_joint_part *more)
{
    if (!more->any) return;
    for (int a = 0; a < shape->n_axes && sum->any; a++) {
        sum->region.axis[a].lo = tw_min(sum->region.axis[a].lo, more->region.axis[a].lo);
        sum->region.axis[a].hi = tw_max(sum->region.axis[a].hi, more->region.axis[a].hi);
    }
    if (!sum->any) *sum = *more;
}

static tw_joint_part touched(const tw_op *op, int operand, const tw_box *box)
{
    tw_joint_part part = {0};
    part.any = tw_verify_hull(op, operand, box, &part.region);
    return part;
}

/* What the operators of a set, as the boxes stand at a depth, touch of a tensor that they read. */
static tw_joint_part read_of(const tw_joint_group *g, const tw_operand *shape, int tensor, int depth)
{
    tw_joint_part sum = {0};
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < tw_op_output(g->op[i].op) && tw_joint_has_points(g, depth, i); o++) {
            if (g->op[i].op->operand[o].tensor != tensor) continue;
            tw_joint_part one = touched(g->op[i].op, o, tw_joint_box(g, depth, i));
            hull(shape, &sum, &one);
        }
    return sum;
}

/* ---- windows that slide ---- */

/* What a hold takes from where it comes from. */
static tw_joint_part taken(const tw_joint_judge *j, const tw_joint_group *g, const tw_joint_hold *h)
{
    return h->slide.is ? h->slide.fresh : tw_joint_asked(j, g, h);
}

/* What those operators touch of the tensor that read it through a hold, as the boxes stand at a depth. */
static tw_joint_part read_through(const tw_joint_group *g, const tw_operand *shape, const tw_joint_hold *h,
                                  int depth, bool here)
{
    tw_joint_part sum = {0};
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < tw_op_output(g->op[i].op) && tw_joint_has_points(g, depth, i); o++) {
            bool reads = g->op[i].op->operand[o].tensor == h->tensor && (h->through >> i & 1);
            if (!reads || (here && &g->hold[g->op[i].hold[o]] != h)) continue;
            tw_joint_part one = touched(g->op[i].op, o, tw_joint_box(g, depth, i));
            hull(shape, &sum, &one);
        }
    return sum;
}

tw_joint_part tw_joint_asked(const tw_joint_judge *j, const tw_joint_group *g, const tw_joint_hold *h)
{
    const tw_operand *shape = &j->tensor[h->tensor].shape;
    tw_joint_part sum = read_through(g, shape, h, h->depth, true);
    for (int c = 0; c < g->n_holds; c++) {
        const tw_joint_hold *to = &g->hold[c];
        if (to->made || to->parent < 0 || &g->hold[to->parent] != h || to->through == 0) continue;
        tw_joint_part one = to->depth == h->depth ? taken(j, g, to) : read_through(g, shape, to, h->depth, false);
        hull(shape, &sum, &one);
    }
    return sum;
}

/* Whether the window goes on from where it is: no wider than it is, and not further back. */
static bool goes_further(const tw_joint_hold *h, const tw_operand *shape, const tw_joint_part *asked)
{
    for (int a = 0; a < shape->n_axes; a++) {
        tw_span is = h->now.region.axis[a], to = asked->region.axis[a];
        if (to.lo < is.lo || (a != h->slide.axis && to.hi > is.hi)) return false;
    }
    return h->now.any;
}

static void note_rows(tw_joint_hold *h, const tw_operand *shape, int64_t moved)
{
    int64_t rows = tw_span_len(h->next.region.axis[h->slide.axis]);
    h->slide.window = tw_max(h->slide.window, rows);
    h->slide.row = tw_max(h->slide.row, tw_verify_region_elems(shape, &h->next.region) / rows);
    h->slide.moved = tw_max(h->slide.moved, moved);
}

/* The next window: where it goes on, what is new begins where it ended. */
static void slide(const tw_joint_judge *j, const tw_joint_group *g, tw_joint_hold *h)
{
    const tw_operand *shape = &j->tensor[h->tensor].shape;
    tw_joint_part asked = tw_joint_asked(j, g, h);
    int64_t end = h->now.region.axis[h->slide.axis].hi, moved = 0;
    h->slide.fresh = asked;
    h->slide.continues = false;
    h->slide.renews = asked.any;
    h->next = asked.any ? asked : h->now;
    if (!asked.any) return;
    if (goes_further(h, shape, &asked)) {
        tw_span rows = asked.region.axis[h->slide.axis];
        h->slide.continues = true;
        h->next = h->now; /* as wide as before */
        moved = tw_max(0, rows.hi - end);
        h->slide.fresh.region = h->now.region;
        h->slide.fresh.region.axis[h->slide.axis] = (tw_span){tw_max(rows.lo, end), rows.hi};
        h->next.region.axis[h->slide.axis] = (tw_span){rows.lo, tw_max(rows.hi, end)};
        h->slide.fresh.any = h->slide.renews = moved > 0;
    }
    note_rows(h, shape, moved);
}

/* The windows at a depth of what an operator makes, -1: of what comes from outside; those that take before those that are taken from. */
static void slide_all(const tw_joint_judge *j, tw_joint_group *g, int maker, int depth)
{
    for (int h = g->n_holds - 1; h >= 0 && g->slides; h--)
        if (g->hold[h].slide.is && g->hold[h].maker == maker && g->hold[h].depth == depth) slide(j, g, &g->hold[h]);
}

/* Which loops of the driver move each loop of an operator: through what is read of what it makes. */
static unsigned movers(const tw_joint_group *g, int number, int loop)
{
    const tw_op *op = g->op[number].op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    unsigned loops = number == g->n_ops - 1 ? 1u << loop : 0;
    for (int a = 0; a < out->n_axes; a++) {
        if (out->axis[a].term[0].loop != loop) continue;
        for (int i = number + 1; i < g->n_ops; i++)
            for (int o = 0; o < tw_op_output(g->op[i].op); o++) {
                const tw_operand *read = &g->op[i].op->operand[o];
                for (int t = 0; t < read->axis[a].n_terms && read->tensor == out->tensor; t++)
                    loops |= movers(g, i, read->axis[a].term[t].loop);
            }
    }
    return loops;
}

/* The axis that the loop moves, and whether there is exactly one. */
static bool find_axis(const tw_joint_judge *j, const tw_joint_group *g, tw_joint_hold *h)
{
    int n = 0;
    for (int a = 0; a < j->tensor[h->tensor].shape.n_axes; a++) {
        unsigned loops = 0;
        for (int i = 0; i < g->n_ops; i++)
            for (int o = 0; o < tw_op_output(g->op[i].op); o++) {
                const tw_operand *read = &g->op[i].op->operand[o];
                for (int t = 0; t < read->axis[a].n_terms && read->tensor == h->tensor; t++)
                    loops |= movers(g, i, read->axis[a].term[t].loop);
            }
        if (!(loops >> h->slide.loop & 1)) continue;
        h->slide.axis = a;
        n++;
    }
    return n == 1;
}

static void check_slides(tw_joint_judge *j, tw_joint_group *g)
{
    for (int i = 0; i < g->n_holds; i++) {
        tw_joint_hold *h = &g->hold[i];
        if (!h->slide.is) continue;
        bool last = h->depth > 0 && g->map->cut[h->depth - 1].loop == h->slide.loop;
        if (last && h->maker != g->n_ops - 1 && !h->per && !h->sums && h->divided_by < 0 && find_axis(j, g, h))
            continue;
        tw_fault_set(&j->fault, "group '%s': '%s' cannot slide in '%s'", g->map->name,
                     j->in.model->tensor[h->tensor].name, j->in.platform->memory[h->memory].name);
    }
}

static void producer_box(const tw_joint_judge *j, tw_joint_group *g, int depth, int number)
{
    const tw_joint_op *o = &g->op[number];
    tw_box *box = tw_joint_box(g, depth, number);
    bool *any = &g->any[depth * g->n_ops + number];
    if (depth > o->depth) {
        *box = *tw_joint_box(g, o->depth, number);
        *any = tw_joint_has_points(g, o->depth, number);
        return;
    }
    const tw_operand *out = &o->op->operand[tw_op_output(o->op)];
    bool asks = g->slides && depth == o->depth;
    tw_joint_part made =
        asks ? taken(j, g, &g->hold[o->hold[tw_op_output(o->op)]]) : read_of(g, out, out->tensor, depth);
    *any = made.any;
    *box = tw_verify_whole_box(o->op);
    for (int a = 0; a < out->n_axes && made.any; a++) box->span[out->axis[a].term[0].loop] = made.region.axis[a];
    if (o->runs) box->span[o->along] = tw_joint_box(g, depth, g->n_ops - 1)->span[g->map->running - 1];
}

/* The boxes of all depths behind `place`, which moved. */
static void find_boxes(const tw_joint_judge *j, tw_joint_group *g, int place)
{
    for (int h = 0; h < g->n_holds; h++) g->hold[h].slide.renews = false;
    for (int d = place + 1; d <= g->map->n_cuts; d++) {
        for (int i = 0; i < g->n_ops; i++) g->any[d * g->n_ops + i] = false;
        driver_box(g, d);
        for (int i = g->n_ops - 2; i >= 0; i--) {
            slide_all(j, g, i, d);
            producer_box(j, g, d, i);
        }
        slide_all(j, g, -1, d);
    }
}

int tw_joint_next(const tw_joint_judge *j, tw_joint_group *g)
{
    int p = g->map->n_cuts - 1;
    for (; p >= 0 && g->at[p] + 1 >= g->count[p]; p--) g->at[p] = 0;
    if (p < 0) return -1;
    g->at[p]++;
    find_boxes(j, g, p);
    return p;
}

/* How many rows windows have is known when all steps have been seen. */
static void measure_slides(const tw_joint_judge *j, tw_joint_group *g)
{
    do
        for (int h = 0; h < g->n_holds; h++)
            if (g->hold[h].slide.is) g->hold[h].now = g->hold[h].next;
    while (tw_joint_next(j, g) >= 0);
    for (int h = 0; h < g->n_holds; h++)
        if (g->hold[h].slide.is) g->hold[h].now = g->hold[h].next = (tw_joint_part){0};
    find_boxes(j, g, -1);
}

tw_joint_part tw_joint_region(const tw_joint_judge *j, const tw_joint_group *g, const tw_joint_hold *h,
                              const tw_box *sub)
{
    const tw_operand *shape = &j->tensor[h->tensor].shape;
    tw_joint_part sum = {0};
    if (h->maker == g->n_ops - 1) {
        sum.any = true;
        sum.region = tw_verify_output_region(g->op[h->maker].op, tw_joint_box(g, h->depth, h->maker));
        return sum;
    }
    if (h->slide.is) return h->next;
    if (h->outward && h->through == 0) h = &g->hold[g->op[h->maker].hold[tw_op_output(g->op[h->maker].op)]];
    if (h->slide.is) return h->slide.fresh; /* on the way out it is as it was made */
    if (!sub) return g->slides ? tw_joint_asked(j, g, h) : read_through(g, shape, h, h->depth, false);
    const tw_op *op = g->op[h->divided_by].op;
    for (int o = 0; o < tw_op_output(op); o++) {
        if (op->operand[o].tensor != h->tensor) continue;
        tw_joint_part one = touched(op, o, sub);
        hull(shape, &sum, &one);
    }
    return sum;
}

/* ---- lanes ---- */

static bool lies_over(const tw_joint_op *o, int loop, unsigned dims)
{
    return o->in.over[loop] > 0 && (dims >> (o->in.over[loop] - 1) & 1);
}

int64_t tw_joint_lanes(const tw_joint_op *o, unsigned dims)
{
    int64_t n = 1;
    for (int l = 0; l < o->op->n_loops; l++)
        if (lies_over(o, l, dims)) n *= o->in.parts[l];
    return n;
}

bool tw_joint_lane_box(const tw_joint_op *o, unsigned dims, const tw_box *box, int64_t lane, tw_box *out)
{
    *out = *box;
    for (int l = o->op->n_loops - 1; l >= 0; l--) {
        if (!lies_over(o, l, dims)) continue;
        int64_t len = tw_span_len(box->span[l]), piece = len / o->in.parts[l] + (len % o->in.parts[l] != 0),
                lo = box->span[l].lo + lane % o->in.parts[l] * piece;
        out->span[l] = (tw_span){lo, tw_min(lo + piece, box->span[l].hi)};
        lane /= o->in.parts[l];
        if (out->span[l].lo >= out->span[l].hi) return false;
    }
    return lane == 0;
}

int64_t tw_joint_lane_of(const tw_joint_op *o, unsigned all, int64_t lane, unsigned some)
{
    int64_t result = 0, times = 1;
    for (int l = o->op->n_loops - 1; l >= 0; l--) {
        if (!lies_over(o, l, all)) continue;
        if (lies_over(o, l, some)) {
            result += lane % o->in.parts[l] * times;
            times *= o->in.parts[l];
        }
        lane /= o->in.parts[l];
    }
    return result;
}

/* What an operator touches of the hold's tensor in a lane. */
static tw_joint_part lane_read(const tw_joint_op *o, const tw_joint_hold *h, const tw_operand *shape,
                               const tw_box *box, int64_t lane)
{
    tw_joint_part sum = {0};
    tw_box mine;
    if (!tw_joint_lane_box(o, h->per, box, lane, &mine)) return sum;
    for (int i = 0; i < tw_op_output(o->op); i++) {
        if (o->op->operand[i].tensor != h->tensor) continue;
        tw_joint_part one = touched(o->op, i, &mine);
        hull(shape, &sum, &one);
    }
    return sum;
}

tw_joint_part tw_joint_lane(const tw_joint_judge *j, const tw_joint_hold *h, int64_t lane, const tw_box *sub)
{
    const tw_joint_group *g = &j->group[h->group];
    tw_joint_part sum = {0};
    if (!h->per) return tw_joint_region(j, g, h, sub);
    if (h->made || h->outward) {
        const tw_joint_op *o = &g->op[h->maker];
        tw_box mine;
        sum.any = tw_joint_has_points(g, h->depth, h->maker) &&
                  tw_joint_lane_box(o, h->per, tw_joint_box(g, h->depth, h->maker), lane, &mine);
        if (sum.any) sum.region = tw_verify_output_region(o->op, &mine);
        return sum;
    }
    for (int i = 0; i < g->n_ops; i++) {
        if (!(h->through >> i & 1) || !tw_joint_has_points(g, h->depth, i)) continue;
        tw_joint_part one =
            lane_read(&g->op[i], h, &j->tensor[h->tensor].shape, sub ? sub : tw_joint_box(g, h->depth, i), lane);
        hull(&j->tensor[h->tensor].shape, &sum, &one);
    }
    return sum;
}

bool tw_joint_same(const tw_operand *shape, const tw_joint_part *a, const tw_joint_part *b)
{
    return a->any == b->any && (!a->any || tw_verify_same_region(shape, &a->region, &b->region));
}

/* ---- the whole ---- */

static bool check_map(tw_joint_judge *j, const tw_group_map *map)
{
    for (int i = 0; i < map->n_ops; i++)
        if (map->op[i].op < 0 || map->op[i].op >= j->in.model->n_ops || map->op[i].view < 0 ||
            map->op[i].view >= j->in.platform->n_views) {
            tw_fault_set(&j->fault, "group '%s': operator %d or its engine does not exist", map->name, i);
            return false;
        }
    if (map->n_ops < 1) tw_fault_set(&j->fault, "group '%s' has no operators", map->name);
    const tw_op *driver = map->n_ops > 0 ? &j->in.model->op[map->op[map->n_ops - 1].op] : NULL;
    for (int c = 0; c < map->n_cuts && driver; c++)
        if (map->cut[c].loop < 0 || map->cut[c].loop >= driver->n_loops)
            tw_fault_set(&j->fault, "group '%s': cut %d is of no loop of '%s'", map->name, c, driver->name);
    for (int i = 0; i < map->n_parts && driver; i++) {
        const tw_group_part *part = &map->part[i];
        if (part->loop < 0 || part->loop >= driver->n_loops || part->span.lo < 0 ||
            part->span.lo >= part->span.hi || part->span.hi > driver->loop[part->loop].extent ||
            driver->loop[part->loop].reduces)
            tw_fault_set(&j->fault, "group '%s': its part %" PRId64 "..%" PRId64 " is none of a loop of '%s'",
                         map->name, part->span.lo, part->span.hi, driver->name);
    }
    return !j->fault.set;
}

/* Loops lie over dimensions that there are, and every lane has its place. */
static void check_lanes(tw_joint_judge *j, const tw_joint_group *g)
{
    tw_verify_phrase fault;
    for (int i = 0; i < g->n_ops; i++)
        for (int l = 0; l < g->op[i].op->n_loops; l++)
            if (!tw_verify_array_takes(&g->op[i].in, &g->op[i].engine, l, &fault))
                tw_fault_set(&j->fault, "group '%s': '%s' has loop '%s' over %s'%s'%s", g->map->name,
                             g->op[i].op->name, g->op[i].op->loop[l].name, fault.before, g->op[i].engine.name,
                             fault.after);
    for (int h = 0; h < g->n_holds; h++)
        for (int i = 0; i < g->n_ops; i++) {
            const tw_joint_hold *hold = &g->hold[h];
            bool uses = hold->maker == i || (hold->through >> i & 1);
            if (uses && tw_joint_lanes(&g->op[i], hold->per) > hold->lanes)
                tw_fault_set(&j->fault, "group '%s': '%s' has %" PRId64 " lanes in '%s', which has %" PRId64,
                             g->map->name, g->op[i].op->name, tw_joint_lanes(&g->op[i], hold->per),
                             j->in.platform->memory[hold->memory].name, hold->lanes);
        }
    for (int i = 0; i < g->n_ops; i++)
        for (int d = 0; d < TW_MAX_DIMS; d++) {
            const tw_joint_op *o = &g->op[i];
            int64_t size = d < tw_cost_dims(&o->engine.cost) ? o->engine.cost.array.size[d] : 1,
                    parts = (o->in.dims >> d & 1) ? tw_joint_lanes(o, 1u << d) : 1;
            if (parts > size)
                tw_fault_set(&j->fault,
                             "group '%s': '%s' has %" PRId64 " parts over dimension %d of '%s', which has %" PRId64,
                             g->map->name, o->op->name, parts, d, o->engine.name, size);
        }
}

/* What lies further inside stays no longer than what it comes from, or goes to. */
static void check_depths(tw_joint_judge *j, const tw_joint_group *g)
{
    for (int h = 0; h < g->n_holds; h++) {
        const tw_joint_hold *hold = &g->hold[h];
        if (hold->parent < 0) continue;
        const tw_joint_hold *inner = hold->outward ? &g->hold[hold->parent] : hold,
                            *outer = hold->outward ? hold : &g->hold[hold->parent];
        if (inner->depth < outer->depth)
            tw_fault_set(&j->fault, "group '%s': '%s' is held at depth %d in '%s' and at %d further inside in '%s'",
                         g->map->name, j->in.model->tensor[hold->tensor].name, outer->depth,
                         j->in.platform->memory[outer->memory].name, inner->depth,
                         j->in.platform->memory[inner->memory].name);
    }
}

static tw_status make_slots(tw_joint_judge *j, tw_joint_group *g)
{
    for (int h = 0; h < g->n_holds; h++) {
        tw_joint_hold *hold = &g->hold[h];
        if (hold->home) {
            hold->slot = hold->home->slot;
            continue;
        }
        TW_ALLOC(j->arena, hold->slot, hold->slots);
        for (int64_t s = 0; s < hold->slots; s++) hold->slot[s].given = s - hold->slots;
    }
    return TW_OK;
}

/* Whether a tile of an operator may lie in padding alone. */
static bool has_padding(const tw_joint_group *g)
{
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < tw_op_output(g->op[i].op); o++)
            if (tw_verify_can_miss(g->op[i].op, o)) return true;
    return false;
}

/* Operands of the group that are the tensor. */
static int count_readers(const tw_joint_group *g, int tensor)
{
    int n = 0;
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < tw_op_output(g->op[i].op); o++) n += g->op[i].op->operand[o].tensor == tensor;
    return n;
}

/* Holds that one other hold is filled from, and nobody else reads; where padding, lanes, windows that slide or the hull of several operands
 * make it hard to tell which fill is the last, none are. */
static void note_read_once(tw_joint_group *g)
{
    if (has_padding(g) || g->slides) return;
    for (int h = 0; h < g->n_holds; h++) {
        int n = 0;
        if (g->hold[h].outer == -1 && g->hold[h].maker < g->n_ops - 1) n += 2;
        for (int i = 0; i < g->n_holds; i++) {
            const tw_joint_hold *other = &g->hold[i];
            if (other->parent == h && other->outward && other->through == 0) n += 2;
            bool filled = other->parent == h && !other->made && !other->outward;
            n += !filled ? 0 : other->divided_by < 0 && !other->per ? 1 : 2;
        }
        for (int i = 0; i < g->n_ops; i++)
            for (int o = 0; o < tw_op_output(g->op[i].op); o++)
                if (g->op[i].hold[o] == h) n += 2;
        g->hold[h].read_once = n == 1 && count_readers(g, g->hold[h].tensor) == 1;
    }
}

/* Two parts of the loop of one operator. */
static bool are_parts(const tw_group_map *a, const tw_group_map *b)
{
    return a->n_parts > 0 && b->n_parts > 0 && a->op[a->n_ops - 1].op == b->op[b->n_ops - 1].op;
}

/* Holds that there may be at most: those on two paths of each operand, and on routes of what other cores have. */
static int room_for(const tw_joint_judge *j, const tw_joint_group *g)
{
    int room = 0;
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < g->op[i].op->n_operands; o++) {
            int tensor = g->op[i].op->operand[o].tensor;
            room += 2 * TW_MAX_MEMORIES;
            if (j->tensor[tensor].home > 0 || tw_joint_maker_in(g, tensor) >= 0) room += j->in.platform->n_memories;
        }
    return room;
}

tw_status tw_joint_group_init(tw_joint_judge *j, int number)
{
    tw_joint_group *g = &j->group[number];
    g->map = &j->in.group[number];
    g->number = number;
    g->n_ops = g->map->n_ops;
    if (!check_map(j, g->map)) return TW_OK;
    g->rank = number == 0 ? 0 : j->group[number - 1].rank + !are_parts(&j->in.group[number - 1], g->map);
    TW_ALLOC(j->arena, g->op, g->n_ops);
    for (int i = 0; i < g->n_ops; i++) init_op(j, g, i);
    tw_joint_find_running(j, g);
    if (j->fault.set) return TW_OK;
    g->room = room_for(j, g);
    TW_ALLOC(j->arena, g->hold, g->room);
    TW_ALLOC(j->arena, g->box, (g->map->n_cuts + 1) * g->n_ops);
    TW_ALLOC(j->arena, g->any, (g->map->n_cuts + 1) * g->n_ops);
    for (int i = 0; i < g->n_ops; i++) {
        for (int o = 0; o < tw_op_output(g->op[i].op); o++)
            if (!tw_joint_add_input(j, g, i, o)) return j->no_memory ? TW_ERR_NOMEM : TW_OK;
        if (!tw_joint_add_output(j, g, i)) return j->no_memory ? TW_ERR_NOMEM : TW_OK;
    }
    bool slides = g->slides;
    g->slides = false; /* until it is known where */
    find_boxes(j, g, -1);
    g->slides = slides;
    tw_joint_note_readers(g);
    tw_joint_settle_depths(g);
    tw_joint_note_sums(j, g);
    check_slides(j, g);
    if (slides && !j->fault.set) {
        find_boxes(j, g, -1);
        measure_slides(j, g);
    }
    check_lanes(j, g);
    check_depths(j, g);
    note_read_once(g);
    g->sequence = (struct tw_joint_sequence){.since = -1, .waited = -1, .hurried = -1};
    TW_ALLOC(j->arena, g->n_on, j->in.platform->n_engines + 1);
    return make_slots(j, g);
}
