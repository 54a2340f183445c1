/* src/verify/shape.c - see shape.h. */
#include "verify/shape.h"

#include <string.h>

bool tw_verify_box_is_sound(const tw_op *op, const tw_box *box)
{
    for (int l = 0; l < op->n_loops; l++) {
        tw_span s = box->span[l];
        if (s.lo < 0 || s.lo >= s.hi || s.hi > op->loop[l].extent) return false;
    }
    return true;
}

tw_box tw_verify_whole_box(const tw_op *op)
{
    tw_box box = {0};
    for (int l = 0; l < op->n_loops; l++) box.span[l].hi = op->loop[l].extent;
    return box;
}

static bool same_span(tw_span a, tw_span b) { return a.lo == b.lo && a.hi == b.hi; }

bool tw_verify_same_box(const tw_op *op, const tw_box *a, const tw_box *b)
{
    for (int l = 0; l < op->n_loops; l++)
        if (!same_span(a->span[l], b->span[l])) return false;
    return true;
}

bool tw_verify_same_region(const tw_operand *operand, const tw_region *a, const tw_region *b)
{
    for (int i = 0; i < operand->n_axes; i++)
        if (!same_span(a->axis[i], b->axis[i])) return false;
    return true;
}

bool tw_verify_region_is_sound(const tw_operand *operand, const tw_region *region)
{
    for (int a = 0; a < operand->n_axes; a++) {
        tw_span s = region->axis[a];
        if (s.lo < 0 || s.lo >= s.hi || s.hi > operand->axis[a].extent) return false;
    }
    return true;
}

bool tw_verify_region_inside(const tw_operand *operand, const tw_region *inner, const tw_region *outer)
{
    for (int a = 0; a < operand->n_axes; a++)
        if (inner->axis[a].lo < outer->axis[a].lo || inner->axis[a].hi > outer->axis[a].hi) return false;
    return true;
}

int64_t tw_verify_region_elems(const tw_operand *operand, const tw_region *region)
{
    int64_t n = 1;
    for (int a = 0; a < operand->n_axes; a++) n *= tw_span_len(region->axis[a]);
    return n;
}

tw_region tw_verify_common(const tw_operand *operand, const tw_region *a, const tw_region *b)
{
    tw_region common = {0};
    for (int i = 0; i < operand->n_axes; i++)
        common.axis[i] = (tw_span){tw_max(a->axis[i].lo, b->axis[i].lo), tw_min(a->axis[i].hi, b->axis[i].hi)};
    return common;
}

tw_region tw_verify_whole(const tw_operand *operand)
{
    tw_region whole = {0};
    for (int a = 0; a < operand->n_axes; a++) whole.axis[a] = (tw_span){0, operand->axis[a].extent};
    return whole;
}

tw_region tw_verify_output_region(const tw_op *op, const tw_box *box)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    tw_region region = {0};
    for (int a = 0; a < out->n_axes; a++) region.axis[a] = box->span[out->axis[a].term[0].loop];
    return region;
}

tw_dtype tw_verify_dtype(const tw_verify_input *in, int operand)
{
    return in->model->tensor[in->op->operand[operand].tensor].dtype;
}

int64_t tw_verify_units(const tw_verify_input *in, int operand, int64_t elems)
{
    return tw_verify_dtype_units(in->machine->unit, tw_verify_dtype(in, operand), elems);
}

int64_t tw_verify_sum_units(const tw_verify_input *in, int64_t elems)
{
    return tw_verify_dtype_units(in->machine->unit, in->op->accumulator, elems);
}

int64_t tw_verify_slot_units(const tw_verify_input *in, int memory, int operand, int64_t elems)
{
    bool sums = operand == tw_op_output(in->op) && in->holds_sums[memory];
    return sums ? tw_verify_sum_units(in, elems) : tw_verify_units(in, operand, elems);
}

int64_t tw_verify_points(const tw_op *op, const tw_box *box)
{
    int64_t n = 1;
    for (int l = 0; l < op->n_loops; l++) n *= tw_span_len(box->span[l]);
    return n;
}

void tw_verify_visit_first(const tw_box *box, unsigned loops, int64_t index[TW_MAX_LOOPS])
{
    for (int l = 0; l < TW_MAX_LOOPS; l++) index[l] = loops >> l & 1 ? box->span[l].lo : 0;
}

bool tw_verify_visit_next(const tw_box *box, unsigned loops, int64_t index[TW_MAX_LOOPS])
{
    for (unsigned rest = loops; rest;) {
        int l = 31 - __builtin_clz(rest);
        if (++index[l] < box->span[l].hi) return true;
        index[l] = box->span[l].lo;
        rest &= ~(1u << l);
    }
    return false;
}

unsigned tw_verify_axis_loops(const tw_axis *axis)
{
    unsigned loops = 0;
    for (int t = 0; t < axis->n_terms; t++) loops |= 1u << axis->term[t].loop;
    return loops;
}

unsigned tw_verify_loops(const tw_operand *operand)
{
    unsigned loops = 0;
    for (int a = 0; a < operand->n_axes; a++) loops |= tw_verify_axis_loops(&operand->axis[a]);
    return loops;
}

void tw_verify_lay_out(const tw_spread *given, int n_dims, tw_verify_input *in)
{
    const tw_op *op = in->op;
    unsigned chosen = 0;
    bool any = false;
    int8_t n = 0;
    memcpy(in->over, given->dim, sizeof in->over);
    memcpy(in->share, given->share, sizeof in->share);
    for (int l = 0; l < op->n_loops; l++) any |= in->over[l] > 0 || tw_verify_divides(in, l);
    for (int d = 0; d < n_dims && !any; d++) {
        int longest = -1;
        for (int l = 0; l < op->n_loops; l++) {
            if (op->loop[l].reduces || (chosen >> l & 1)) continue;
            if (longest < 0 || op->loop[l].extent > op->loop[longest].extent) longest = l;
        }
        if (longest >= 0) chosen |= 1u << longest;
    }
    for (int l = 0; l < op->n_loops; l++)
        if (chosen >> l & 1) in->over[l] = ++n;
}

bool tw_verify_divides(const tw_verify_input *in, int loop)
{
    int64_t shares = 0;
    for (int d = 0; d < TW_MAX_DIMS; d++) shares |= in->share[loop][d];
    return shares != 0;
}

/* A share has some points, but not all, of what lies over that dimension. */
static bool is_share(const tw_verify_input *in, int loop, int d)
{
    int64_t share = in->share[loop][d];
    return share == 0 || (share > 1 && in->over[loop] != d + 1);
}

bool tw_verify_array_takes(const tw_verify_input *in, const tw_engine *engine, int loop, tw_verify_phrase *fault)
{
    int dims = tw_cost_dims(&engine->cost);
    bool divided = tw_verify_divides(in, loop), exists = in->over[loop] >= 0 && in->over[loop] <= dims,
         sound = true;
    for (int d = 0; d < TW_MAX_DIMS; d++) {
        exists &= in->share[loop][d] == 0 || d < dims;
        sound &= is_share(in, loop, d);
    }
    bool adds = (divided || in->over[loop] > 0) && in->op->loop[loop].reduces;
    if (!exists)
        *fault = (tw_verify_phrase){"a dimension that ", " does not have"};
    else if (adds && engine->unrolls_parallel)
        *fault = (tw_verify_phrase){"", ", which takes parallel loops only"};
    else if (divided && (engine->unrolls_whole || in->dims))
        *fault = (tw_verify_phrase){"several dimensions of ", ", which takes whole loops"};
    else if (!sound)
        *fault = (tw_verify_phrase){"a dimension of ", " with a share that is none"};
    else
        return true;
    return false;
}

/* The largest integer that is at most a / b; b is positive. */
static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* The first and the last position that the loops of a box lead to, inside the tensor or not. */
static void reach_of(const tw_axis *axis, const tw_box *box, int64_t *first, int64_t *last)
{
    int64_t low = axis->offset, high = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) {
        tw_span s = box->span[axis->term[t].loop];
        int64_t a = axis->term[t].coef * s.lo, b = axis->term[t].coef * (s.hi - 1);
        low += a < b ? a : b;
        high += a < b ? b : a;
    }
    if (axis->divisor == 1) {
        *first = low;
        *last = high;
        return;
    }
    *first = axis->floors ? floor_of(low, axis->divisor) : -floor_of(-low, axis->divisor);
    *last = floor_of(high, axis->divisor);
}

bool tw_verify_axis_hull(const tw_axis *axis, const tw_box *box, tw_span *out)
{
    int64_t first, last;
    reach_of(axis, box, &first, &last);
    *out = (tw_span){first > 0 ? first : 0, last < axis->extent ? last + 1 : axis->extent};
    return out->lo < out->hi;
}

bool tw_verify_hull(const tw_op *op, int operand, const tw_box *box, tw_region *out)
{
    const tw_operand *o = &op->operand[operand];
    for (int a = 0; a < o->n_axes; a++)
        if (!tw_verify_axis_hull(&o->axis[a], box, &out->axis[a])) return false;
    return true;
}

bool tw_verify_axis_can_miss(const tw_op *op, const tw_axis *axis)
{
    int64_t first, last;
    tw_box all = tw_verify_whole_box(op);
    reach_of(axis, &all, &first, &last);
    return axis->divisor > 1 || first < 0 || last >= axis->extent;
}

bool tw_verify_can_miss(const tw_op *op, int operand)
{
    const tw_operand *o = &op->operand[operand];
    for (int a = 0; a < o->n_axes; a++)
        if (tw_verify_axis_can_miss(op, &o->axis[a])) return true;
    return false;
}

int64_t tw_verify_padding(const tw_op *op, int operand, int axis, const tw_box *box)
{
    int64_t first, last, before = INT64_MAX, behind = INT64_MAX;
    bool all_before = true, all_behind = true;
    for (int o = operand; o < op->n_operands;
         o++) { /* of an input in pieces: before the first and behind the last */
        const tw_axis *x = &op->operand[o].axis[axis];
        if (o != operand && op->operand[o].beside != operand + 1) continue;
        reach_of(x, box, &first, &last);
        all_before = all_before && last < 0;
        all_behind = all_behind && first >= x->extent;
        before = tw_min(before, -first);
        behind = tw_min(behind, last + 1 - x->extent);
    }
    return all_before || all_behind ? 0 : tw_max(0, tw_max(before, behind));
}

int64_t tw_verify_reach(const tw_op *op, int operand, int axis, const tw_box *box)
{
    int64_t first, last;
    reach_of(&op->operand[operand].axis[axis], box, &first, &last);
    return last < first ? 0 : last - first + 1;
}

static bool follows(const tw_verify_input *in) { return in->map && in->map->fused && in->op > in->model->op; }

bool tw_verify_finds(const tw_verify_input *in, int operand)
{
    const tw_op *op = in->op;
    return follows(in) && op->operand[operand].tensor == op[-1].operand[op[-1].n_operands - 1].tensor;
}

bool tw_verify_leaves(const tw_verify_input *in) { return in->next && in->next->fused; }

bool tw_verify_is_alone(const tw_verify_input *in) { return !follows(in) && !tw_verify_leaves(in); }

unsigned tw_verify_role(const tw_op *op, int operand)
{
    bool output = operand == op->n_operands - 1;
    return output ? TW_HOLDS_OUTPUT : op->operand[operand].weights ? TW_HOLDS_WEIGHTS : TW_HOLDS_ACTIVATIONS;
}

bool tw_verify_is_named(const tw_names *list, const tw_op *op, int operand)
{
    if (op->operand[operand].beside > 0)
        operand = op->operand[operand].beside - 1; /* a piece counts as its input */
    for (int i = 0; list != NULL && i < list->n; i++)
        if (!strcmp(op->operand[operand].name, list->name[i])) return true;
    return false;
}

bool tw_verify_memory_holds(const tw_memory *m, const tw_op *op, int operand)
{
    return (m->holds & tw_verify_role(op, operand)) != 0 || tw_verify_is_named(m->named, op, operand);
}

bool tw_verify_holds(const tw_verify_input *in, int memory, int operand)
{
    return tw_verify_memory_holds(&in->machine->memory[memory], in->op, operand);
}

bool tw_verify_carries(const tw_verify_input *in, int engine, int operand, unsigned way)
{
    const tw_engine *mine = &in->machine->engine[engine];
    if (!(mine->carries & way)) return false;
    if (tw_verify_is_named(mine->named, in->op, operand) || (!mine->roles && !mine->named)) return true;
    if (!(mine->roles & tw_verify_role(in->op, operand))) return false;
    for (int e = 0; e < in->machine->n_engines; e++) { /* one that names it does it */
        const tw_engine *other = &in->machine->engine[e];
        if (other->kind == TW_MOVES && other->outer == mine->outer && other->memory == mine->memory &&
            (other->carries & way) && tw_verify_is_named(other->named, in->op, operand))
            return false;
    }
    return true;
}

int tw_verify_outside(const tw_verify_input *in, int memory, int operand)
{
    do memory--;
    while (memory > 0 && !tw_verify_holds(in, memory, operand));
    return memory;
}
