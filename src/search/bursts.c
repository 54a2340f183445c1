/* src/search/bursts.c - see bursts.h. */
#include "search/bursts.h"

#include "search/layout.h"
#include "tile/box.h"

#include <string.h>

enum {
    MOST_BLOCKS = 256,
    MOST_LOOPS = 4,       /* outside                                       */
    MOST_STEPS = 1 << 15, /* blocks of all orders                          */
    LARGEST = 1 << 30,    /* units, so that products with rates are numbers */
};

typedef struct link { /* a mover of inputs */
    int memory, engine;
    int64_t grain, cycles; /* it carries `grain` units in `cycles`                   */
    int64_t cap;           /* room for inputs that have come by it for later blocks, -1: without limit */
    int64_t before;        /* cycles beside all that it carries                      */
    unsigned inputs;       /* of which whole tiles come by it, as a mask             */
    bool rounds;           /* it serves in program order, and what each block brings is known by steps */
    unsigned turns;        /* inputs, if each has a unit of its own where all come in every step; 0: not so */
} link;

typedef struct bursts {
    const tw_view *v;
    const tw_ends *ends;
    const tw_engine *mac;
    int64_t known, best;
    unsigned inside;
    int n_loops, loop[MOST_LOOPS]; /* outside */
    int n_links;
    link link[TW_MAX_ENGINES];
    bool single;                   /* two tiles of the output have no room                      */
    unsigned dense;                /* inputs of which tiles inside a block bring what their hull has */
    unsigned own[TW_MAX_OPERANDS]; /* places of the loops on which an input depends            */
    int step_loop;                 /* the reduction that each block runs through in steps, -1: not known */
    int64_t n_full;                /* steps that are as long as the longest, at least          */
    /* by the cuts at hand */
    tw_split split[TW_MAX_LOOPS];
    int n_blocks;
    int64_t stride[MOST_LOOPS];                  /* of the number of a block by the index of each loop */
    int64_t exec[MOST_BLOCKS], out[MOST_BLOCKS]; /* cycles of a block, and in which its sums leave     */
    int64_t units[TW_MAX_OPERANDS][MOST_BLOCKS];
    uint8_t first[MOST_BLOCKS];                     /* places whose loops stand on their first index */
    int64_t held[TW_MAX_OPERANDS][1 << MOST_LOOPS]; /* by the loops that run, -1: not asked for yet        */
    int64_t executed;                               /* cycles of all blocks                      */
    int64_t least;                                  /* of any order: nothing waits for a mover */
    int64_t steps_left;
} bursts;

/* ---- blocks ---- */

/* Passes over the array of a tile of these lengths, at least. */
static int64_t passes_of_tile(const bursts *b, const int64_t *len)
{
    const tw_view *v = b->v;
    const tw_space *s = v->s;
    int64_t passes = 1;
    bool laid = v->f->joined && s->laid;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (v->f->over.dim[l] == 0) passes = tw_sat_mul(passes, len[l]);
        laid = laid && (!tw_layout_may_lie(s, l) || (v->f->over.dim[l] > 0 && len[l] <= TW_LAID_LONGEST));
    }
    if (laid) return tw_sat_mul(passes, tw_layout_passes(s, len));
    for (int d = 0; d < v->f->n_dims; d++) {
        int64_t points = 1;
        for (unsigned rest = v->f->loops[d]; rest; rest &= rest - 1)
            points = tw_sat_mul(points, len[__builtin_ctz(rest)]);
        passes = tw_sat_mul(passes, tw_cdiv(points, v->f->size[d]));
    }
    return passes;
}

/* The same of all tiles of a block: those from loop l on are still to be chosen. */
static int64_t passes_of_block(const bursts *b, int l, int64_t *len)
{
    int64_t sum = 0;
    while (l < b->v->s->op->n_loops && !(b->inside >> l & 1)) l++;
    if (l == b->v->s->op->n_loops) return passes_of_tile(b, len);
    tw_tiles tiles = tw_tiles_of(b->split[l]);
    for (int k = 0; k < tiles.n; k++) {
        len[l] = tiles.len[k];
        sum = tw_sat_add(sum, tw_sat_mul(tiles.count[k], passes_of_block(b, l + 1, len)));
    }
    return sum;
}

/* Whether tiles inside a block that cut these loops bring what their hull has: each is alone on its axis, without a stride. */
static bool is_dense(const tw_operand *operand, unsigned cut)
{
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        if (!(tw_axis_loops(axis) & cut)) continue;
        if (axis->n_terms != 1 || axis->term[0].coef != 1 || axis->divisor > 1) return false;
    }
    return true;
}

/* Units of input o that the block brings, at least. */
static int64_t units_of_block(const bursts *b, int o, const tw_box *box)
{
    const tw_space *s = b->v->s;
    tw_region region;
    int64_t len[TW_MAX_LOOPS];
    if (b->dense >> o & 1) return s->elem_units[o] * tw_region_of(&s->op->operand[o], box, &region);
    for (int l = 0; l < s->op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    return s->elem_units[o] * tw_touched_least(s, o, len);
}

/* Cycles in which a block of these lengths is executed, and in which its sums leave. */
static void find_cycles(bursts *b, int at, const tw_box *box)
{
    const tw_space *s = b->v->s;
    int output = tw_op_output(s->op), m = tw_path_innermost(s->path[output]);
    const tw_engine *drain = &s->machine->engine[s->mover[m][output]];
    int64_t len[TW_MAX_LOOPS], points = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        len[l] = tw_span_len(box->span[l]);
        if (tw_space_depends(s, output, l)) points = tw_sat_mul(points, len[l]);
    }
    b->exec[at] = tw_busy_of(b->mac, 1, passes_of_block(b, 0, len));
    b->out[at] = b->single ? tw_engine_busy(drain, tw_max(1, tw_sat_mul(points, s->elem_units[output]))) : 0;
}

/* Fills in block `at`, the one with these indices. Cycles are those of the block in `alike` that has tiles shorter than the first along the same
 * loops, -1: there was none; units of an input are those of the block whose loops that it does not depend on stand on their first index. */
static void look_at_block(bursts *b, int at, const int64_t index[MOST_LOOPS], tw_box *box,
                          int alike[1 << MOST_LOOPS])
{
    const tw_space *s = b->v->s;
    int64_t same[TW_MAX_OPERANDS];
    unsigned rests = 0;
    for (int o = 0; o < tw_op_output(s->op); o++) same[o] = at;
    b->first[at] = 0;
    for (int i = 0; i < b->n_loops; i++) {
        int l = b->loop[i];
        b->first[at] |= (uint8_t)((index[i] == 0) << i);
        box->span[l] = tw_split_at(&b->split[l], 0, index[i]);
        rests |= (unsigned)(tw_span_len(box->span[l]) != tw_split_largest(&b->split[l])) << i;
        for (int o = 0; o < tw_op_output(s->op); o++)
            if (!(b->own[o] >> i & 1)) same[o] -= index[i] * b->stride[i];
    }
    if (alike[rests] < 0)
        find_cycles(b, alike[rests] = at, box);
    else
        b->exec[at] = b->exec[alike[rests]], b->out[at] = b->out[alike[rests]];
    for (int o = 0; o < tw_op_output(s->op); o++)
        b->units[o][at] = same[o] < at ? b->units[o][same[o]] : units_of_block(b, o, box);
}

/* Fills in all blocks of the cuts at hand; false: there are too many. */
static bool look_at_blocks(bursts *b)
{
    tw_box box = tw_box_of_op(b->v->s->op);
    int alike[1 << MOST_LOOPS];
    int64_t n = 1, left = 0, index[MOST_LOOPS] = {0};
    for (int i = b->n_loops; i-- > 0;) {
        b->stride[i] = n;
        n *= b->split[b->loop[i]].count;
        if (n > MOST_BLOCKS) return false;
    }
    b->n_blocks = (int)n;
    memset(alike, -1, sizeof alike);
    memset(b->held, -1, sizeof b->held);
    b->executed = 0;
    b->least = tw_sat_add(b->ends->fill, b->ends->drain);
    for (int at = 0; at < n; at++) {
        look_at_block(b, at, index, &box, alike);
        for (int i = b->n_loops; i-- > 0 && ++index[i] == b->split[b->loop[i]].count;) index[i] = 0;
        b->least = tw_sat_add(b->least, tw_sat_add(b->exec[at], b->out[at]));
        b->executed = tw_sat_add(b->executed, b->exec[at]);
        left = tw_max(left, b->out[at]);
    }
    b->least -= left; /* the drain of the last one is in the ends */
    return true;
}

/* ---- steps ---- */

/* Whether loop r alone moves one axis of the operand, from its beginning to its end. */
static bool runs_along(const tw_operand *operand, int r, int64_t extent)
{
    int n = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        if (!(tw_axis_loops(axis) >> r & 1)) continue;
        if (axis->n_terms != 1 || axis->term[0].coef != 1 || axis->divisor > 1) return false;
        if (axis->offset != 0 || axis->extent != extent) return false;
        n++;
    }
    return n == 1;
}

/* Units of a whole tile of input o in a step of the block; 0: not known. */
static int64_t units_of_step(const bursts *b, int o, int at)
{
    const tw_space *s = b->v->s;
    int r = b->step_loop;
    if (r < 0 || !runs_along(&s->op->operand[o], r, s->op->loop[r].extent)) return 0;
    return b->units[o][at] / s->op->loop[r].extent * b->v->lo[0][r];
}

/* ---- residencies ---- */

/* Units of input o of one iteration of all loops but those at the places `runs`, each tile once. */
static int64_t held(bursts *b, int o, unsigned runs)
{
    int64_t *held = &b->held[o][runs], units = 0;
    if (*held >= 0) return *held;
    unsigned others = ((1u << b->n_loops) - 1) & ~(runs & b->own[o]);
    for (int at = 0; at < b->n_blocks; at++)
        if ((others & ~b->first[at]) == 0) units = tw_sat_add(units, b->units[o][at]);
    return *held = units;
}

/* Whether memory i has room for so much of input o beside a tile of everything else. */
static bool has_room(const tw_view *v, int i, int o, int64_t units)
{
    const tw_space *s = v->s;
    int64_t others = 0;
    if (!tw_space_holds(s, i, o)) return false;
    if (s->machine->memory[i].size == TW_UNLIMITED) return true;
    for (int k = 0; k < s->op->n_operands; k++)
        if (k != o && tw_space_holds(s, i, k)) others = tw_sat_add(others, v->slot_units[0][k]);
    return tw_sat_add(units, others) <= s->machine->memory[i].size;
}

/* Whether tiles that are whole along these loops have room. */
static bool tiles_fit(const tw_view *v, unsigned whole)
{
    const tw_space *s = v->s;
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < s->op->n_loops; l++) len[l] = whole >> l & 1 ? s->op->loop[l].extent : v->lo[0][l];
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t units = 0;
        for (int o = 0; o < s->op->n_operands; o++)
            if (tw_space_holds(s, m, o)) units = tw_sat_add(units, tw_view_units(v, o, len));
        if (s->machine->memory[m].size != TW_UNLIMITED && units > s->machine->memory[m].size) return false;
    }
    return true;
}

/* Whether windows of the operand may slide from block to block: then a block brings less than its hull. They slide along the innermost loop
 * that moves them, so not where a reduction that does is cut. */
static bool may_slide(const bursts *b, int m, int o)
{
    const tw_view *v = b->v;
    unsigned slides = 0, reduced = v->s->reductions & v->s->loops[o];
    for (int i = m; i < v->s->machine->n_memories; i++) slides |= v->s->slides[i][o] & v->may[0];
    if (slides == 0) return false;
    return b->inside || (slides & v->s->reductions) || (!(v->surely[0] & reduced) && tiles_fit(v, reduced));
}

/* Loops, by their place in b->loop, that must stand on their first index where input o comes into memory m, as a mask, by room alone. */
static unsigned first_by_room(bursts *b, int m, int o, const int *order)
{
    unsigned first = 0, runs = 0;
    for (int depth = b->n_loops; depth-- > 0;) {
        int64_t units = held(b, o, runs |= 1u << order[depth]);
        bool room = false;
        for (int i = m; i < b->v->s->machine->n_memories && !room; i++) room = has_room(b->v, i, o, units);
        if (!room) break;
        first |= 1u << order[depth] & ~b->own[o];
    }
    return first;
}

/* The memory inside memory i on the way of input o, -1: none. */
static int memory_inside(const tw_space *s, int i, int o)
{
    for (int k = i + 1; k < s->machine->n_memories; k++)
        if (tw_space_holds(s, k, o)) return k;
    return -1;
}

/* Cycles in which tiles of input k are in memory i, all together, at least: each on its way in, and while it is read. Only whole tiles of steps
 * that are known are counted. */
static int64_t holding(bursts *b, int i, int k, const int *order)
{
    const tw_space *s = b->v->s;
    int inside = memory_inside(s, i, k);
    if (inside < 0 || s->outside[inside][k] != i || may_slide(b, i, k) || (s->resident >> k & 1)) return 0;
    const tw_engine *in = &s->machine->engine[s->mover[i][k]], *out = &s->machine->engine[s->mover[inside][k]];
    if (in->joins || out->joins) return 0;
    unsigned first = first_by_room(b, i, k, order);
    int64_t sum = 0;
    for (int at = 0; at < b->n_blocks; at++) {
        int64_t each = first & ~b->first[at] ? 0 : units_of_step(b, k, at);
        if (each <= 0) continue;
        sum = tw_sat_add(sum, tw_sat_mul(b->n_full, tw_cost_of_units(&in->cost, each) + tw_engine_busy(out, each)));
    }
    return sum;
}

/* Cycles of a program in which so many units of input o stay in memory i, by what buffers of other inputs have room beside them. */
static int64_t beside(bursts *b, int i, int o, int64_t units, const int *order)
{
    const tw_view *v = b->v;
    const tw_space *s = v->s;
    int64_t most = 0, room = s->machine->memory[i].size - units;
    for (int k = 0; k < s->op->n_operands; k++)
        if (k != o && tw_space_holds(s, i, k)) room -= v->slot_units[0][k];
    for (int k = 0; k < tw_op_output(s->op); k++) {
        if (k == o || !tw_space_holds(s, i, k) || v->slot_units[0][k] <= 0 || s->slides[i][k]) continue;
        int64_t buffers = 1 + room / v->slot_units[0][k], inside = memory_inside(s, i, k);
        if (inside < 0) continue;
        if (tw_cost_by_shape(&s->machine->engine[s->mover[i][k]].cost) ||
            tw_cost_by_shape(&s->machine->engine[s->mover[inside][k]].cost))
            continue;
        /* Most often there are so many that it is not worth a look at each block. */
        int64_t each = tw_cost_of_units(&s->machine->engine[s->mover[i][k]].cost, v->slot_units[0][k]) +
                       tw_engine_busy(&s->machine->engine[s->mover[inside][k]], v->slot_units[0][k]);
        if (tw_sat_mul(tw_sat_mul(each, b->n_full), b->n_blocks) / buffers <= b->executed) continue;
        most = tw_max(most, holding(b, i, k, order) / buffers);
    }
    return most;
}

/* Whether a program in which so many units stay in memory i takes clearly longer than all executions; then *crowded is no more than that. */
static bool is_crowded(bursts *b, int i, int o, int64_t units, const int *order, int64_t *crowded)
{
    static const int64_t clearly = 32; /* by such a part */
    if (b->v->s->machine->memory[i].size == TW_UNLIMITED || b->step_loop < 0) return false;
    int64_t cycles = beside(b, i, o, units, order);
    if (cycles <= tw_sat_add(b->executed, b->executed / clearly)) return false;
    *crowded = tw_min(*crowded, cycles);
    return true;
}

/* The same as first_by_room, where residencies that leave so few buffers to other inputs that programs take clearly longer than all executions are
 * set aside: *crowded is what the quickest of these takes at least. */
static unsigned first_where(bursts *b, int m, int o, const int *order, int64_t *crowded)
{
    unsigned first = 0, runs = 0;
    for (int depth = b->n_loops; depth-- > 0;) {
        int64_t units = held(b, o, runs |= 1u << order[depth]);
        bool room = false;
        for (int i = m; i < b->v->s->machine->n_memories && !room; i++)
            room = has_room(b->v, i, o, units) && !is_crowded(b, i, o, units, order, crowded);
        if (!room) break;
        first |= 1u << order[depth] & ~b->own[o];
    }
    return first;
}

/* ---- what a mover has carried ---- */

/* Cycles, times the grain of the mover, in which it carries the block's units of input o, at least, each tile rounded up by itself. */
static int64_t carrying(const bursts *b, const link *w, int o, int at, bool rounds)
{
    int64_t all = tw_sat_mul(b->units[o][at], w->cycles), each = rounds ? units_of_step(b, o, at) : 0;
    if (each <= 0) return all;
    int64_t busy = tw_sat_mul(tw_engine_busy(&b->v->s->machine->engine[w->engine], each), w->grain);
    return tw_sat_add(all, tw_sat_mul(b->n_full, tw_max(0, busy - tw_sat_mul(each, w->cycles))));
}

/* The same of what may have come for the block and later ones when the one before it ends, at most: some steps of the block and some tiles of
 * one more, since the mover serves in program order. `comes`: inputs that the block brings, as a mask. -1: not known. */
static int64_t ahead_of(const bursts *b, const link *w, unsigned comes, int at)
{
    const tw_engine *engine = &b->v->s->machine->engine[w->engine];
    int64_t units = 0, busy = 0, most = 0;
    for (unsigned rest = comes; rest; rest &= rest - 1) {
        int64_t each = units_of_step(b, __builtin_ctz(rest), at);
        if (each <= 0) return -1;
        units += each;
        busy += tw_engine_busy(engine, each);
    }
    if (units == 0 || w->cap / units + 1 >= b->n_full) return -1; /* it may be for the block after */
    int64_t n = w->cap / units;
    for (unsigned some = comes; some; some = (some - 1) & comes) {
        int64_t left = w->cap - n * units, more = 0;
        for (unsigned rest = some; rest; rest &= rest - 1) {
            int64_t each = units_of_step(b, __builtin_ctz(rest), at);
            left -= each;
            more += tw_engine_busy(engine, each);
        }
        if (left >= 0) most = tw_max(most, more);
    }
    return tw_sat_mul(n * busy + most, w->grain);
}

/* ---- programs ---- */

/* What a mover has carried so far, in cycles times its grain; and the latest end of a block less what had been carried then, and was ahead of
 * it: behind that end all later units come but those. */
typedef struct queue {
    int64_t carried, late;
    bool any;
} queue;

typedef struct carrier { /* how far a mover has come */
    unsigned first[TW_MAX_OPERANDS];
    queue plain, rounded, turn[TW_MAX_OPERANDS];
    bool out_of_turn; /* some block has not had all inputs */
} carrier;

/* Units of what stays from the block before, of which the block needs all, beside the tiles that were read last. */
static int64_t staying(const bursts *b, unsigned stays, int at)
{
    int64_t units = 0;
    for (unsigned rest = stays; rest; rest &= rest - 1) {
        int o = __builtin_ctz(rest);
        units = tw_sat_add(units, tw_max(0, b->units[o][at] - b->v->slot_units[0][o]));
    }
    return units;
}

/* The number of the block behind block `at` in this order; behind the last one comes the first. */
static int64_t next_block(const bursts *b, const int *order, int64_t index[MOST_LOOPS], int64_t at)
{
    for (int i = b->n_loops; i-- > 0;) {
        int64_t stride = b->stride[order[i]], count = b->split[b->loop[order[i]]].count;
        at += stride;
        if (++index[i] < count) break;
        index[i] = 0;
        at -= count * stride;
    }
    return at;
}

/* a / b + c, rounded up, or x where that is more, as it is mostly: a product says so sooner. */
static int64_t at_least(int64_t x, int64_t a, int64_t b, int64_t c)
{
    int64_t product;
    if (!__builtin_mul_overflow(x - c, b, &product) && a <= product) return x;
    return tw_max(x, tw_cdiv(a, b) + c);
}

/* When the block is over whose inputs in `comes` are next, which is over at `next` otherwise, if the one before has ended at `end`; `rounds`: each tile
 * is rounded up. */
static int64_t serve(const bursts *b, const link *w, queue *q, unsigned comes, int at, int64_t end, bool rounds,
                     int64_t next)
{
    if (end >= 0 && w->cap >= 0) {
        int64_t ahead = rounds ? ahead_of(b, w, comes, at) : tw_sat_mul(w->cap, w->cycles);
        int64_t late = tw_sat_mul(end, w->grain) - q->carried - ahead;
        if (ahead >= 0) q->late = q->any ? tw_max(q->late, late) : late;
        q->any |= ahead >= 0;
    }
    for (unsigned rest = comes; rest; rest &= rest - 1)
        q->carried = tw_sat_add(q->carried, carrying(b, w, __builtin_ctz(rest), at, rounds));
    next = at_least(next, q->carried, w->grain, w->before);
    return q->any ? at_least(next, tw_max(0, q->late + q->carried), w->grain, 0) : next;
}

/* The same where units take turns, and there are as many of them as inputs, all of which come in every step: then each input has a unit of
 * its own, which alone has to bring all of it. */
static int64_t serve_in_turns(const bursts *b, const link *w, carrier *c, int at, int64_t end, int64_t next)
{
    link own = *w;
    own.grain = w->grain / __builtin_popcount(w->turns);
    for (unsigned rest = w->turns; rest; rest &= rest - 1) {
        int o = __builtin_ctz(rest);
        next = serve(b, &own, &c->turn[o], 1u << o, at, end, false, next);
    }
    return next;
}

/* When a block is over, as far as this mover is concerned, that is over at `next` otherwise, if the one before has ended at `end`; -1: it is the
 * first. */
static int64_t carry(const bursts *b, const link *w, carrier *c, int at, int64_t end, int64_t next)
{
    unsigned comes = 0;
    link now = *w;
    for (unsigned rest = w->inputs; rest; rest &= rest - 1)
        if ((c->first[__builtin_ctz(rest)] & ~b->first[at]) == 0) comes |= rest & -rest;
    if (w->cap >= 0) now.cap = tw_max(0, w->cap - staying(b, w->inputs & ~comes, at));
    next = serve(b, &now, &c->plain, comes, at, end, false, next);
    if (w->rounds) next = serve(b, &now, &c->rounded, comes, at, end, true, next);
    c->out_of_turn |= comes != w->turns;
    return w->turns && !c->out_of_turn ? serve_in_turns(b, w, c, at, end, next) : next;
}

/* Cycles of the program with this order; where they are as many as the fewest so far, any number from there on. */
static int64_t weigh(bursts *b, const int *order)
{
    carrier all[TW_MAX_ENGINES];
    int64_t end = b->ends->fill, left = 0, waited = 0, at = 0, crowded = INT64_MAX, index[MOST_LOOPS] = {0};
    for (int k = 0; k < b->n_links; k++) {
        memset(&all[k], 0, sizeof all[k]);
        for (unsigned rest = b->link[k].inputs; rest; rest &= rest - 1) {
            int o = __builtin_ctz(rest);
            all[k].first[o] = first_where(b, b->link[k].memory, o, order, &crowded);
        }
    }
    for (int step = 0; step < b->n_blocks && tw_sat_add(b->least, waited) < b->best; step++) {
        int64_t alone = tw_sat_add(tw_sat_add(end, left), b->exec[at]), before = step > 0 ? end : -1;
        end = alone;
        for (int k = 0; k < b->n_links; k++) end = carry(b, &b->link[k], &all[k], (int)at, before, end);
        waited += end - alone;
        left = b->out[at];
        at = next_block(b, order, index, at);
    }
    return tw_min(crowded, tw_max(tw_sat_add(end, b->ends->drain), tw_sat_add(b->least, waited)));
}

/* All orders of the loops from place i on. */
static void put_orders(bursts *b, int i, int *order, int outermost)
{
    if (i == b->n_loops) {
        b->steps_left -= b->n_blocks;
        if (b->steps_left < 0) b->best = 0;
        if (b->best > b->least) b->best = tw_min(b->best, weigh(b, order));
        return;
    }
    for (int k = i; k < b->n_loops && b->best > b->known; k++) {
        int other = order[i];
        order[i] = order[k];
        order[k] = other;
        if (i > 0 || outermost < 0 || b->loop[order[0]] == outermost) put_orders(b, i + 1, order, outermost);
        order[k] = order[i];
        order[i] = other;
    }
}

/* All rules by which the loops from l on may be cut. */
static void put_cuts(bursts *b, int l, unsigned cut, int outermost)
{
    const tw_view *v = b->v;
    int order[MOST_LOOPS] = {0, 1, 2, 3};
    while (l < v->s->op->n_loops && !(cut >> l & 1)) l++;
    if (b->best <= b->known) return;
    if (l == v->s->op->n_loops) {
        if (look_at_blocks(b))
            put_orders(b, 0, order, outermost);
        else
            b->best = 0;
        return;
    }
    tw_range rule = v->p->var[tw_var_rule(v->s, v->f, 0, l)];
    int64_t extent = v->s->op->loop[l].extent, size = v->lo[0][l], n = tw_cdiv(extent, size);
    bool even = rule.lo == 0 && tw_cdiv(extent, n) == size;
    if (even) {
        b->split[l] = tw_split_by_count(extent, n, TW_BALANCED);
        put_cuts(b, l + 1, cut, outermost);
    }
    if (!even || (rule.hi > 0 && extent % size > 0)) {
        b->split[l] = tw_split_by_size(extent, size);
        put_cuts(b, l + 1, cut, outermost);
    }
}

/* ---- what is known ---- */

/* Room for inputs that mover e has brought into memory m, there and further in, beside a tile of all else; -1: without limit. When a block ends its last
 * tiles are still where they were read from. */
static int64_t room_of(const tw_view *v, int m, int e)
{
    const tw_space *s = v->s;
    int64_t room = 0;
    for (int i = m; i < s->machine->n_memories; i++) {
        int64_t others = 0;
        bool holds = false;
        for (int o = 0; o < s->op->n_operands; o++) {
            bool comes = o < tw_op_output(s->op) && tw_space_holds(s, m, o) && s->mover[m][o] == e;
            if (!tw_space_holds(s, i, o)) continue;
            holds |= comes;
            bool last = !comes || i == tw_path_innermost(s->path[o]);
            if (last && !s->slides[i][o] && !(s->resident >> o & 1)) others += v->slot_units[0][o];
        }
        if (!holds) continue;
        if (s->machine->memory[i].size > LARGEST) return -1; /* which is true of TW_UNLIMITED, too */
        room = tw_min(room + tw_max(0, s->machine->memory[i].size - others), LARGEST);
    }
    return room;
}

/* Finds the reduction that a block runs through in steps, each with a tile of every input that depends on it. */
static void find_steps(bursts *b)
{
    const tw_view *v = b->v;
    unsigned cut = v->surely[0] & v->s->reductions;
    b->step_loop = -1;
    if (b->inside || cut != (v->may[0] & v->s->reductions) || !cut || (cut & (cut - 1))) return;
    int r = __builtin_ctz(cut);
    int64_t extent = v->s->op->loop[r].extent, size = v->lo[0][r];
    if (size != v->hi[0][r] || size >= extent) return;
    int64_t n_steps = tw_cdiv(extent, size);
    b->step_loop = r;
    b->n_full = extent % size == 0 ? n_steps : tw_max(0, tw_min(extent / size, extent - (size - 1) * n_steps));
}

/* Inputs of the mover, if there are as many as it has units and no step of a block is without a tile of each, as far as they come at all. */
static unsigned taking_turns(const bursts *b, int m, int e)
{
    const tw_view *v = b->v;
    const tw_space *s = v->s;
    unsigned cut = v->may[0] & s->reductions, inputs = 0;
    if (s->machine->engine[e].count < 2 || b->inside || (cut & (cut - 1))) return 0;
    for (int o = 0; o < tw_op_output(s->op); o++) {
        if (!tw_space_holds(s, m, o) || s->mover[m][o] != e) continue;
        if ((cut & ~s->loops[o]) || (s->resident >> o & 1)) return 0;
        inputs |= 1u << o;
    }
    return __builtin_popcount(inputs) == s->machine->engine[e].count ? inputs : 0;
}

static void find_links(bursts *b)
{
    const tw_space *s = b->v->s;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        link w = {.engine = e, .memory = engine->memory, .before = b->ends->beside[e]};
        if (engine->kind != TW_MOVES || w.before < 0 || engine->joins || tw_cost_by_shape(&engine->cost)) continue;
        w.grain = tw_sat_mul(tw_cost_grain(&engine->cost, &w.cycles), engine->count);
        if (w.grain <= 0 || w.cycles <= 0 || w.grain > LARGEST || w.cycles > LARGEST) continue;
        w.cap = room_of(b->v, w.memory, e);
        w.turns = taking_turns(b, w.memory, e);
        w.rounds = b->step_loop >= 0 && engine->count == 1 && w.cap >= 0;
        for (int o = 0; o < tw_op_output(s->op); o++) {
            bool comes = tw_space_holds(s, w.memory, o) && s->mover[w.memory][o] == e && !(s->resident >> o & 1);
            w.inputs |= (unsigned)(comes && !may_slide(b, w.memory, o)) << o;
        }
        b->link[b->n_links++] = w;
    }
}

/* Whether bursts.h says something about the part, and everything that it asks for is chosen. */
static bool is_known(const tw_view *v, unsigned cut)
{
    const tw_space *s = v->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int output = tw_op_output(s->op);
    if (v->f->n_tiled != 1 || v->hollow || v->skips || s->rules->nests || s->machine->pads) return false;
    if (s->machine->reuse != TW_REUSE_DECLARED || (s->resident >> output & 1)) return false;
    if (mac->cost.kind != TW_COST_ARRAY || mac->cost.array.stationary || mac->count > 1 || mac->late) return false;
    for (int m = 1; m < s->machine->n_memories; m++)
        if (s->machine->memory[m].whole) return false;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (s->op->loop[l].extent > LARGEST) return false;
        if ((v->f->over.dim[l] > 0 && (s->reductions >> l & 1)) || ((v->may[0] >> l & 1) && (s->windows >> l & 1)))
            return false;
        if (!(s->reductions >> l & 1) && v->lo[0][l] != v->hi[0][l]) return false;
        if ((cut >> l & 1) && v->lo[0][l] > s->op->loop[l].extent) return false;
    }
    return true;
}

int64_t tw_bursts_least(const tw_view *v, const tw_ends *ends, unsigned inside, unsigned outside, int outermost,
                        int64_t known)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op), m = tw_path_innermost(s->path[output]);
    bursts b; /* blocks are many, and filled in where there are some */
    if (!is_known(v, inside | outside)) return 0;
    b.v = v;
    b.ends = ends;
    b.mac = &s->machine->engine[s->machine->compute];
    b.known = known;
    b.best = INT64_MAX;
    b.inside = inside;
    b.steps_left = MOST_STEPS;
    b.n_loops = b.n_links = 0;
    for (unsigned rest = outside; rest; rest &= rest - 1) {
        if (b.n_loops == MOST_LOOPS) return 0;
        b.loop[b.n_loops++] = __builtin_ctz(rest);
    }
    b.dense = 0;
    for (int o = 0; o < output; o++) {
        b.dense |= (unsigned)is_dense(&s->op->operand[o], inside | (v->may[0] & s->reductions)) << o;
        b.own[o] = 0;
        for (int i = 0; i < b.n_loops; i++) b.own[o] |= (unsigned)tw_space_depends(s, o, b.loop[i]) << i;
    }
    int64_t size = s->machine->memory[m].size, each = tw_min(s->partial_units, s->elem_units[output]);
    b.single =
        inside == 0 && size != TW_UNLIMITED && tw_sat_mul(2 * each, tw_footprint_least(s, output, v->lo[0])) > size;
    find_steps(&b);
    find_links(&b);
    put_cuts(&b, 0, inside | outside, outermost);
    return b.best == INT64_MAX ? 0 : b.best;
}
