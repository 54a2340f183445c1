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
    int64_t cap;           /* room for inputs that have come by it, -1: without limit */
    int64_t before;        /* cycles beside all that it carries                      */
    unsigned inputs;       /* of which whole tiles come by it, as a mask             */
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
    /* by the cuts at hand */
    tw_split split[TW_MAX_LOOPS];
    int n_blocks;
    int64_t stride[MOST_LOOPS];                  /* of the number of a block by the index of each loop */
    int64_t exec[MOST_BLOCKS], out[MOST_BLOCKS]; /* cycles of a block, and in which its sums leave     */
    int64_t units[TW_MAX_OPERANDS][MOST_BLOCKS];
    uint8_t first[MOST_BLOCKS];                     /* places whose loops stand on their first index */
    int64_t held[TW_MAX_OPERANDS][1 << MOST_LOOPS]; /* by the loops that run, -1: not asked for yet        */
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
    b->least = tw_sat_add(b->ends->fill, b->ends->drain);
    for (int at = 0; at < n; at++) {
        look_at_block(b, at, index, &box, alike);
        for (int i = b->n_loops; i-- > 0 && ++index[i] == b->split[b->loop[i]].count;) index[i] = 0;
        b->least = tw_sat_add(b->least, tw_sat_add(b->exec[at], b->out[at]));
        left = tw_max(left, b->out[at]);
    }
    b->least -= left; /* the drain of the last one is in the ends */
    return true;
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

/* Whether memory m or one further in has room for so much of input o beside a tile of everything else. */
static bool has_room(const tw_view *v, int m, int o, int64_t units)
{
    const tw_space *s = v->s;
    for (int i = m; i < s->machine->n_memories; i++) {
        int64_t others = 0;
        if (!tw_space_holds(s, i, o)) continue;
        if (s->machine->memory[i].size == TW_UNLIMITED) return true;
        for (int k = 0; k < s->op->n_operands; k++)
            if (k != o && tw_space_holds(s, i, k)) others = tw_sat_add(others, v->slot_units[0][k]);
        if (tw_sat_add(units, others) <= s->machine->memory[i].size) return true;
    }
    return false;
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

/* Loops, by their place in b->loop, that must stand on their first index where input o comes into memory m, as a mask. */
static unsigned first_where(bursts *b, int m, int o, const int *order)
{
    unsigned first = 0, runs = 0;
    for (int depth = b->n_loops; depth-- > 0;) {
        runs |= 1u << order[depth];
        if (!has_room(b->v, m, o, held(b, o, runs))) break;
        first |= 1u << order[depth] & ~b->own[o];
    }
    return first;
}

/* ---- programs ---- */

typedef struct carrier { /* how far a mover has come */
    unsigned first[TW_MAX_OPERANDS];
    int64_t carried; /* units                                                             */
    int64_t ahead;   /* the most by which ends of blocks were behind it, times its grain, */
    bool any;        /* if there was one                                                  */
} carrier;

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

/* When a block is over, as far as this mover is concerned, that is over at `next` otherwise. */
static int64_t carry(const bursts *b, const link *w, carrier *c, int64_t at, int64_t next)
{
    for (unsigned rest = w->inputs; rest; rest &= rest - 1) {
        int o = __builtin_ctz(rest);
        if ((c->first[o] & ~b->first[at]) == 0) c->carried += b->units[o][at];
    }
    int64_t busy = tw_sat_mul(c->carried, w->cycles);
    next = at_least(next, busy, w->grain, w->before);
    if (c->any && w->cap >= 0) next = at_least(next, tw_max(0, c->ahead + busy - w->cap * w->cycles), w->grain, 0);
    return next;
}

/* Cycles of the program with this order; where they are as many as the fewest so far, any number from there on. */
static int64_t weigh(bursts *b, const int *order)
{
    carrier all[TW_MAX_ENGINES];
    int64_t end = b->ends->fill, left = 0, waited = 0, at = 0, index[MOST_LOOPS] = {0};
    for (int k = 0; k < b->n_links; k++) {
        all[k].carried = all[k].ahead = 0;
        all[k].any = false;
        for (unsigned rest = b->link[k].inputs; rest; rest &= rest - 1) {
            int o = __builtin_ctz(rest);
            all[k].first[o] = first_where(b, b->link[k].memory, o, order);
        }
    }
    for (int step = 0; step < b->n_blocks && tw_sat_add(b->least, waited) < b->best; step++) {
        int64_t alone = tw_sat_add(tw_sat_add(end, left), b->exec[at]);
        end = alone;
        for (int k = 0; k < b->n_links; k++) end = carry(b, &b->link[k], &all[k], at, end);
        waited += end - alone;
        left = b->out[at];
        at = next_block(b, order, index, at);
        for (int k = 0; k < b->n_links; k++) {
            carrier *c = &all[k];
            int64_t slack = tw_sat_mul(end, b->link[k].grain) - tw_sat_mul(c->carried, b->link[k].cycles);
            c->ahead = c->any ? tw_max(c->ahead, slack) : slack;
            c->any = true;
        }
    }
    return tw_max(tw_sat_add(end, b->ends->drain), tw_sat_add(b->least, waited));
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

/* Room for inputs that mover e has brought into memory m, there and further in; -1: without limit. */
static int64_t room_of(const tw_space *s, int m, int e)
{
    int64_t room = 0;
    for (int i = m; i < s->machine->n_memories; i++) {
        bool holds = false;
        for (int o = 0; o < tw_op_output(s->op); o++)
            holds |= tw_space_holds(s, i, o) && tw_space_holds(s, m, o) && s->mover[m][o] == e;
        if (!holds) continue;
        if (s->machine->memory[i].size > LARGEST) return -1; /* which is true of TW_UNLIMITED, too */
        room = tw_min(room + s->machine->memory[i].size, LARGEST);
    }
    return room;
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
        w.cap = room_of(s, w.memory, e);
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
    find_links(&b);
    put_cuts(&b, 0, inside | outside, outermost);
    return b.best == INT64_MAX ? 0 : b.best;
}
