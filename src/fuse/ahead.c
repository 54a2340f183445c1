/* src/fuse/ahead.c - see ahead.h.
 *
 * What one element of an operator's weights waits for is followed backwards. Along an axis it is a set of positions, or one of which nobody knows
 * which: the channel that the element is multiplied with. Where an axis is walked by a loop that is known and by one that is one point, as rows are by the kernel's, a position counts that is
 * reached whatever that point is. */
#include "fuse/ahead.h"
#include "fuse/least.h"

#include <stdlib.h>
#include <string.h>

/* Positions that are walked in all: then it is enough. */
static const int64_t most_steps = INT64_C(100) * 1000 * 1000;

/* What must be there of a tensor: along each axis the marked positions or, where there are no marks, one position. */
typedef struct wanted {
    double elems; /* 0: nothing is known to be */
    bool *mark[TW_MAX_AXES];
} wanted;

typedef struct finder {
    const tw_ahead *of;
    wanted *tensor;  /* per tensor, of the element at hand */
    int64_t *worked; /* per engine, before it              */
    int64_t n_steps;
    tw_arena *scratch;
} finder;

/* ---- one axis ---- */

/* Loops of an operator while it is walked: marks or, where there are none, one point. */
typedef bool *const loop_marks[TW_MAX_LOOPS];

/* Marks the positions that known loops reach, `base` being what the others add. */
static void reach(finder *f, const tw_op *op, const tw_axis *axis, loop_marks loop, int term, int64_t base,
                  bool *mark)
{
    int64_t at;
    while (term < axis->n_terms && !loop[axis->term[term].loop]) term++;
    f->n_steps++;
    if (term == axis->n_terms) {
        if (tw_axis_position(axis, base, &at)) mark[at] = true;
        return;
    }
    int l = axis->term[term].loop;
    for (int64_t i = 0; i < op->loop[l].extent; i++)
        if (loop[l][i]) reach(f, op, axis, loop, term + 1, base + i * axis->term[term].coef, mark);
}

static int64_t count_marks(const bool *mark, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += mark[i];
    return sum;
}

/* How the loops of an axis are known. */
typedef struct axis_terms {
    int unknown; /* the term of which one point is wanted, -1: none or several */
    int n_unknown, n_known;
} axis_terms;

static axis_terms terms_of(const tw_axis *axis, loop_marks loop)
{
    axis_terms n = {.unknown = -1};
    for (int t = 0; t < axis->n_terms; t++) {
        bool known = loop[axis->term[t].loop] != NULL;
        if (!known) n.unknown = n.n_unknown == 0 ? t : -1;
        n.n_unknown += !known;
        n.n_known += known;
    }
    return n;
}

/* Positions that are reached whatever the point of the unknown loop is. */
static tw_status reach_always(finder *f, const tw_op *op, const tw_axis *axis, loop_marks loop,
                              const axis_terms *terms, bool *out)
{
    int64_t n = terms->n_unknown ? op->loop[axis->term[terms->unknown].loop].extent : 1;
    bool *one;
    TW_ALLOC(f->scratch, one, axis->extent);
    memset(out, 1, (size_t)axis->extent);
    for (int64_t i = 0; i < n && f->n_steps <= most_steps; i++) {
        memset(one, 0, (size_t)axis->extent);
        f->n_steps += axis->extent;
        reach(f, op, axis, loop, 0, axis->offset + (n > 1 ? i * axis->term[terms->unknown].coef : 0), one);
        for (int64_t p = 0; p < axis->extent; p++) out[p] = out[p] && one[p];
    }
    return TW_OK;
}

/* Whether the position that one unknown loop alone leads to is inside the tensor, whatever the point is. */
static bool is_inside(const tw_op *op, const tw_axis *axis, int term)
{
    int64_t at, coef = axis->term[term].coef, n = op->loop[axis->term[term].loop].extent;
    for (int64_t i = 0; i < n; i++)
        if (!tw_axis_position(axis, axis->offset + i * coef, &at)) return false;
    return true;
}

/* What is wanted along an axis: *out are the positions, NULL: one. False in *any: maybe none. */
static tw_status want_axis(finder *f, const tw_op *op, const tw_axis *axis, loop_marks loop, bool **out, bool *any)
{
    axis_terms terms = terms_of(axis, loop);
    *out = NULL;
    *any = terms.n_unknown <= 1;
    if (!*any) return TW_OK;
    if (terms.n_unknown == 1 && terms.n_known == 0) {
        f->n_steps += op->loop[axis->term[terms.unknown].loop].extent;
        *any = is_inside(op, axis, terms.unknown);
        return TW_OK;
    }
    TW_ALLOC(f->scratch, *out, axis->extent);
    TW_TRY(reach_always(f, op, axis, loop, &terms, *out));
    *any = count_marks(*out, axis->extent) > 0;
    return TW_OK;
}

/* ---- operators ---- */

/* What the operator reads of an input with these loops; kept if it is more than what is known. */
static tw_status want_input(finder *f, const tw_op *op, int operand, loop_marks loop)
{
    const tw_operand *o = &op->operand[operand];
    wanted now = {.elems = 1};
    bool any = !tw_operand_is_diagonal(o) && o->rows.count == 0;
    for (int a = 0; a < o->n_axes && any; a++) {
        TW_TRY(want_axis(f, op, &o->axis[a], loop, &now.mark[a], &any));
        if (any && now.mark[a]) now.elems *= (double)count_marks(now.mark[a], o->axis[a].extent);
    }
    if (any && f->n_steps <= most_steps && now.elems > f->tensor[o->tensor].elems) f->tensor[o->tensor] = now;
    return TW_OK;
}

/* Whether the output is seen axis by axis as the loops walk it, without an offset. */
static bool walks_output(const tw_op *op)
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    for (int a = 0; a < out->n_axes; a++)
        if (out->axis[a].n_terms > 1 || out->axis[a].offset != 0 || out->axis[a].divisor != 1) return false;
    return true;
}

/* The share of the operator's needed points that is wanted. */
static double share_of(const tw_op *op, const tw_ahead_op *at, loop_marks loop)
{
    double share = 1;
    for (int l = 0; l < op->n_loops; l++) {
        int64_t n = loop[l] ? count_marks(loop[l], op->loop[l].extent) : 1;
        share *= (double)n / (double)tw_max(1, at->needed.count[l]);
    }
    return share;
}

/* Cycles of a share of the points. All that read padding, and need not be executed, may be among them. */
static int64_t cycles_of(const tw_ahead_op *at, double share)
{
    if (share >= 1) return at->cycles;
    double least = at->outside < 1 ? (share - at->outside) / (1 - at->outside) : 0;
    return least > 0 ? (int64_t)((double)at->cycles * least * (1 - 1e-9)) : 0;
}

/* An operator that makes what is wanted: its points, and what they read. */
static tw_status want_op(finder *f, int i)
{
    const tw_op *op = &f->of->model->op[i];
    const tw_ahead_op *at = &f->of->op[i];
    const tw_operand *out = &op->operand[tw_op_output(op)];
    const wanted *made = &f->tensor[out->tensor];
    bool *loop[TW_MAX_LOOPS] = {NULL};
    if (made->elems == 0 || !at->needed.mark[0] || !walks_output(op)) return TW_OK;
    for (int l = 0; l < op->n_loops; l++) loop[l] = at->needed.mark[l];
    for (int a = 0; a < out->n_axes; a++)
        if (out->axis[a].n_terms == 1) loop[out->axis[a].term[0].loop] = made->mark[a];
    f->worked[at->engine] += cycles_of(at, share_of(op, at, loop));
    for (int o = 0; o < tw_op_output(op); o++) TW_TRY(want_input(f, op, o, loop));
    return TW_OK;
}

/* ---- inputs of the graph ---- */

/* What comes from memory 0 for an operator, and what it surely takes before any element of it is done. */
typedef struct arrival {
    int64_t after; /* cycles of the engine that is busy longest */
    int64_t units;
    int mover;
} arrival;

/* How often operators read the tensor, in whatever shape. */
static int count_readers(const tw_model *model, int tensor)
{
    int n = 0;
    for (int i = 0; i < model->n_ops; i++)
        for (int r = 0; r < tw_op_n_reads(&model->op[i]); r++) {
            int read = tw_op_read(&model->op[i], r);
            n += read >= 0 && tw_tensors_share(model, read, tensor);
        }
    return n;
}

/* What is wanted before an element of an input of operator i is done, whose points are those of `loop`. */
static tw_status wait_for(finder *f, int i, int operand, loop_marks loop, int64_t *after)
{
    const tw_model *model = f->of->model;
    const tw_op *op = &model->op[i];
    tw_arena_mark mark = tw_arena_save(f->scratch);
    int64_t busy = 0;
    memset(f->tensor, 0, (size_t)model->n_tensors * sizeof *f->tensor);
    memset(f->worked, 0, (size_t)f->of->platform->n_engines * sizeof *f->worked);
    for (int o = 0; o < tw_op_output(op); o++)
        if (o != operand) TW_TRY(want_input(f, op, o, loop));
    for (int k = i - 1; k >= 0 && f->n_steps <= most_steps; k--) TW_TRY(want_op(f, k));
    for (int e = 0; e < f->of->platform->n_engines; e++)
        busy = tw_max(busy, f->worked[e] / tw_max(1, f->of->platform->engine[e].is.count));
    *after = tw_min(*after, busy);
    tw_arena_rewind(f->scratch, mark);
    return TW_OK;
}

/* Loops of the element that walk an axis of another input together with others: the taps of a window. */
static unsigned taps_of(const tw_op *op, int operand)
{
    unsigned own = tw_operand_loops(&op->operand[operand]), taps = 0;
    for (int o = 0; o < tw_op_output(op); o++)
        for (int a = 0; a < op->operand[o].n_axes && o != operand; a++)
            for (int t = 0; t < op->operand[o].axis[a].n_terms && op->operand[o].axis[a].n_terms > 1; t++)
                taps |= own & 1u << op->operand[o].axis[a].term[t].loop;
    return taps;
}

/* The least that any element of the input waits for. Taps are taken one by one, since a stride leads each to other rows; of other loops of its own, one
 * point is wanted, whichever it is. */
static tw_status wait_least(finder *f, int i, int operand, int64_t *after)
{
    enum { MOST_TAPS = 64 };
    const tw_op *op = &f->of->model->op[i];
    const bool *const *needed = (const bool *const *)f->of->op[i].needed.mark;
    unsigned own = tw_operand_loops(&op->operand[operand]), taps = taps_of(op, operand);
    bool *loop[TW_MAX_LOOPS] = {NULL};
    int64_t n = 1;
    for (int l = 0; l < op->n_loops; l++) n *= taps >> l & 1 ? op->loop[l].extent : 1;
    if (n > MOST_TAPS) taps = 0, n = 1;
    for (int l = 0; l < op->n_loops; l++) {
        if (own >> l & 1 && !(taps >> l & 1)) continue;
        TW_ALLOC(f->scratch, loop[l], op->loop[l].extent);
        if (!(taps >> l & 1)) memcpy(loop[l], needed[l], (size_t)op->loop[l].extent);
    }
    *after = INT64_MAX;
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k;
        for (int l = 0; l < op->n_loops; l++) {
            if (!(taps >> l & 1)) continue;
            memset(loop[l], 0, (size_t)op->loop[l].extent);
            loop[l][rest % op->loop[l].extent] = true;
            rest /= op->loop[l].extent;
        }
        TW_TRY(wait_for(f, i, operand, loop, after));
    }
    return TW_OK;
}

static tw_status find_arrivals(finder *f, arrival *list, int *n)
{
    const tw_model *model = f->of->model;
    for (int i = 0; i < model->n_ops; i++)
        for (int o = 0; o < tw_op_output(&model->op[i]); o++) {
            const tw_ahead_op *at = &f->of->op[i];
            if (at->mover[o] == 0 || !at->needed.mark[0]) continue;
            if (count_readers(model, model->op[i].operand[o].tensor) != 1) continue;
            tw_arena_mark mark = tw_arena_save(f->scratch);
            arrival *a = &list[(*n)++];
            *a = (arrival){.units = at->units[o], .mover = at->mover[o] - 1};
            TW_TRY(wait_least(f, i, o, &a->after));
            tw_arena_rewind(f->scratch, mark);
        }
    return TW_OK;
}

static int by_after(const void *a, const void *b)
{
    const arrival *x = a, *y = b;
    return (x->after < y->after) - (x->after > y->after);
}

/* Units that fit on chip; -1: any number does. */
static int64_t room_of(const tw_platform *platform)
{
    int64_t room = 0;
    for (int m = 1; m < platform->n_memories; m++) {
        const tw_memory *memory = &platform->memory[m].is;
        if (memory->size >= INT64_MAX / 4 || memory->per) return -1;
        if (!tw_ckd_add(room, memory->size, &room) || room > INT64_MAX / 4) return -1;
    }
    return room;
}

/* Of what waits for the most, latest first: while the first so many wait, all of them but what there is room for are still to come. */
static void weigh(tw_ahead *ahead, const arrival *list, int n, int64_t room, int64_t *units)
{
    for (int i = 0; i < n; i++) {
        const tw_engine *mover = &ahead->platform->engine[list[i].mover].is;
        units[list[i].mover] += list[i].units;
        int64_t rest = units[list[i].mover] - room;
        if (rest <= 0 || list[i].after == 0) continue;
        int64_t cycles =
            list[i].after + tw_cost_least(&mover->cost, mover->pipelined, 1, rest) / tw_max(1, mover->count);
        if (cycles > ahead->cycles) ahead->cycles = cycles, ahead->mover = list[i].mover;
    }
}

tw_status tw_ahead_of(tw_ahead *ahead, tw_arena *scratch)
{
    const tw_model *model = ahead->model;
    finder f = {.of = ahead, .scratch = scratch};
    arrival *list;
    int64_t *units, room = room_of(ahead->platform);
    int n = 0;
    ahead->cycles = 0;
    if (room < 0) return TW_OK;
    TW_ALLOC(scratch, list, model->n_ops * TW_MAX_OPERANDS + 1);
    TW_ALLOC(scratch, units, ahead->platform->n_engines);
    TW_ALLOC(scratch, f.tensor, model->n_tensors + 1);
    TW_ALLOC(scratch, f.worked, ahead->platform->n_engines);
    TW_TRY(find_arrivals(&f, list, &n));
    for (int i = 0; i < n; i++) qsort(list, (size_t)n, sizeof *list, by_after);
    weigh(ahead, list, n, room, units);
    return TW_OK;
}
