/* src/program/lanes.c - what each lane of a private memory has of a box, and what a transfer to or from all lanes is. */
#include "program/lanes.h"

#include "mapping/spread.h"
#include "program/walk.h"
#include "tile/box.h"
#include "tile/shape.h"

unsigned tw_lane_loops(const tw_nest_op *op, unsigned per)
{
    unsigned loops = 0;
    for (int l = 0; l < op->op->n_loops; l++)
        if (op->over.dim[l] > 0 && (per >> (op->over.dim[l] - 1) & 1)) loops |= 1u << l;
    return loops;
}

int64_t tw_lane_count(const tw_nest_op *op, unsigned per)
{
    int64_t n = 1; /* at most the elements of the array */
    for (unsigned left = tw_lane_loops(op, per); left; left &= left - 1) n *= op->parts[__builtin_ctz(left)];
    return n;
}

/* Cuts the loops down to the pieces of lane number `lane` of these loops; false when one is empty. */
static bool cut_down(const tw_nest_op *op, unsigned loops, int64_t lane, tw_box *box)
{
    bool any = true;
    for (int l = op->op->n_loops - 1; l >= 0; l--) {
        if (!(loops >> l & 1)) continue;
        int64_t parts = op->parts[l], piece = tw_cdiv(tw_span_len(box->span[l]), parts), at = lane % parts;
        tw_span whole = box->span[l];
        lane /= parts;
        box->span[l] =
            (tw_span){tw_min(whole.lo + at * piece, whole.hi), tw_min(whole.lo + (at + 1) * piece, whole.hi)};
        any &= box->span[l].lo < box->span[l].hi;
    }
    return any;
}

/* The part of the box that the lane has; false: none of it. */
static bool lane_box(const tw_nest_op *op, unsigned per, int64_t lane, const tw_box *box, tw_box *out)
{
    *out = *box;
    return cut_down(op, tw_lane_loops(op, per), lane, out);
}

static bool same_spans(const tw_box *a, const tw_box *b, unsigned loops)
{
    for (; loops; loops &= loops - 1) {
        int l = __builtin_ctz(loops);
        if (a->span[l].lo != b->span[l].lo || a->span[l].hi != b->span[l].hi) return false;
    }
    return true;
}

bool tw_lanes_same(const tw_nest_op *op, int operand, unsigned per, const tw_box *a, const tw_box *b)
{
    const tw_operand *o = &op->op->operand[operand];
    unsigned loops = tw_lane_loops(op, per);
    if (same_spans(a, b, loops | tw_operand_loops(o))) return true;
    for (int64_t i = 0, n = tw_lane_count(op, per); i < n; i++) {
        tw_box x, y;
        tw_region of_x, of_y;
        int64_t n_x = lane_box(op, per, i, a, &x) ? tw_region_of(o, &x, &of_x) : 0;
        int64_t n_y = lane_box(op, per, i, b, &y) ? tw_region_of(o, &y, &of_y) : 0;
        if (n_x != n_y || (n_x > 0 && !tw_same_region(&of_x, &of_y, o->n_axes))) return false;
    }
    return true;
}

/* Passes that those of some loops make that lie over one dimension. A loop that is divided has no lanes. */
static int64_t passes_over(const tw_nest_op *op, int dim, int64_t size, const tw_box *box, unsigned loops)
{
    int64_t together = 1, apart = 1;
    for (int l = 0; l < op->op->n_loops; l++) {
        if (!(loops >> l & 1) || !tw_spread_has(&op->over, l, dim)) continue;
        together *= tw_spread_units(&op->over, l, dim, tw_span_len(box->span[l]));
        apart *= tw_cdiv(tw_span_len(box->span[l]), op->parts[l]);
    }
    return op->split_dims >> dim & 1 ? apart : tw_cdiv(together, size);
}

/* Passes that some of the loops make. */
static int64_t passes_of(const tw_nest_op *op, const tw_box *box, unsigned loops)
{
    const tw_cost *cost = &op->machine->engine[op->machine->compute].cost;
    int64_t passes = 1; /* at most the points of the box */
    for (int d = 0; d < tw_cost_dims(cost); d++) passes *= passes_over(op, d, cost->array.size[d], box, loops);
    for (int l = 0; l < op->op->n_loops; l++)
        if (loops >> l & 1) passes *= tw_spread_units(&op->over, l, -1, tw_span_len(box->span[l]));
    return passes;
}

int64_t tw_lane_passes(const tw_nest_op *op, const tw_box *box)
{
    const tw_cost_array *array = &op->machine->engine[op->machine->compute].cost.array;
    int64_t passes = passes_of(op, box, ~0u);
    for (int o = 0; o < op->op->n_operands && array->stationary; o++) {
        if (!(array->stationary & tw_role_of(op->op, o))) continue;
        int64_t blocks = passes_of(op, box, tw_operand_loops(&op->op->operand[o]));
        passes = tw_max(passes, tw_cost_add_product(0, blocks, array->block_least));
    }
    return passes;
}

static int64_t combinations(const tw_nest_op *op, unsigned loops)
{
    int64_t n = 1;
    for (; loops; loops &= loops - 1) n *= op->parts[__builtin_ctz(loops)];
    return n;
}

/* Lanes that differ along none of the operand's loops, of those that have anything to do. */
static int64_t alike(const tw_nest_op *op, unsigned loops, const tw_box *box)
{
    int64_t n = 1;
    for (; loops; loops &= loops - 1) {
        int l = __builtin_ctz(loops);
        int64_t len = tw_span_len(box->span[l]), piece = tw_max(1, tw_cdiv(len, op->parts[l]));
        n *= tw_cdiv(len, piece);
    }
    return n;
}

int64_t tw_lanes_sharing(const tw_nest_op *op, unsigned per, const tw_box *box)
{
    return alike(op, tw_lane_loops(op, per) & tw_op_reductions(op->op), box);
}

static int64_t price_of(const tw_lane_question *q, const tw_operand *operand, const tw_region *region)
{
    if (!tw_cost_by_shape(&q->engine->cost)) return 0;
    tw_shape shape = tw_region_shape(operand, region, NULL, q->elem);
    return tw_cost_of_transfer(&q->engine->cost.descriptor, &shape);
}

bool tw_lanes_work(const tw_lane_question *q, tw_lane_work *out)
{
    const tw_operand *operand = &q->op->op->operand[q->operand];
    unsigned loops = tw_lane_loops(q->op, q->per), known = loops & tw_operand_loops(operand);
    int64_t same = alike(q->op, loops & ~known, q->box), n = combinations(q->op, known);
    /* Outwards, lanes that hold sums of the same elements are added up on the way. */
    int64_t times = q->inwards && !q->engine->multicast ? same : 1;
    *out = (tw_lane_work){0};
    for (int64_t i = 0; i < n; i++) {
        tw_box box = *q->box;
        tw_region region;
        int64_t units, elems = cut_down(q->op, known, i, &box) ? tw_region_of(operand, &box, &region) : 0;
        if (elems == 0) continue;
        if (!tw_ckd_mul(elems, q->elem, &units) || units > INT64_MAX / (same * n)) return false;
        out->units += units * times;
        out->price = tw_sat_add(out->price, price_of(q, operand, &region) * times);
        out->read += units * (q->inwards ? times : same);
        out->written += units * (q->inwards ? same : times);
    }
    return true;
}

int64_t tw_lane_elems(const tw_nest_op *op, int operand, unsigned per, const tw_box *box)
{
    const tw_operand *o = &op->op->operand[operand];
    unsigned known = tw_lane_loops(op, per) & tw_operand_loops(o);
    int64_t most = 0;
    for (int64_t i = 0, n = combinations(op, known); i < n; i++) {
        tw_box lane = *box;
        tw_region region;
        if (cut_down(op, known, i, &lane)) most = tw_max(most, tw_region_of(o, &lane, &region));
    }
    return most;
}
