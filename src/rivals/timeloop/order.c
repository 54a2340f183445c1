/* src/rivals/timeloop/order.c - see order.h; the rules of what enters are those of operand.h. */
#include "rivals/timeloop/order.h"

#include <math.h>
#include <string.h>

double tw_tl_cost_value(tw_measure measure, tw_tl_cost c)
{
    return measure == TW_ENERGY ? c.energy_pj : measure == TW_CYCLES ? c.cycles : c.energy_pj * c.cycles;
}

bool tw_tl_cost_less(tw_measure measure, tw_tl_cost a, tw_tl_cost b)
{
    double x = tw_tl_cost_value(measure, a), y = tw_tl_cost_value(measure, b);
    if (x != y) return x < y;
    return measure == TW_ENERGY ? a.cycles < b.cycles : a.energy_pj < b.energy_pj;
}

/* A handover's tile while loops are put around it. */
typedef struct tile {
    double volume, words; /* of the tile; that entered with the loops so far        */
    bool still;           /* nothing moved it yet                                   */
    bool settled;         /* every further loop multiplies                          */
    bool jumped;          /* it moved along an axis by whole tiles: no neighbour has what enters, then and later */
    double part;          /* words that a step of its innermost moving loop brings  */
} tile;
typedef struct box { /* of the tile of an operand that slides: its sizes, its first step, and all of them */
    int64_t reach[TW_RIVAL_RANKS], first[TW_RIVAL_RANKS], sum[TW_RIVAL_RANKS];
} box;

typedef struct walk {
    tw_tl_order_search *s;
    const tw_tl_price *p;
    bool slides;                        /* some operand does */
    double left[TW_RIVAL_MEMORIES + 1]; /* iterations over time in the blocks outside of m - 1 and further: [m] */
    tw_tl_orders at;
} walk;

typedef struct state {
    int64_t inner[TW_RIVAL_DIMS]; /* iterations inside of the loop at hand, fan-outs included */
    tile tile[TW_TL_HANDOVERS];   /* as many as there are handovers                           */
    box box[TW_TL_HANDOVERS];     /* the same, where an operand slides                        */
} state;

static void copy_state(const walk *w, const state *from, state *to)
{
    memcpy(to, from, offsetof(state, tile) + (size_t)w->p->n_handovers * sizeof(tile));
    if (w->slides) memcpy(to->box, from->box, (size_t)w->p->n_handovers * sizeof(box));
}

/* ---- one loop around one tile ---- */

static double entering(const tile *t, const box *b, int n_ranks, const int64_t *move)
{
    double overlap = 1;
    for (int r = 0; r < n_ranks; r++) overlap *= (double)tw_max(0, b->reach[r] - move[r]);
    return t->volume - overlap;
}

/* A loop that moves a tile for the first time. */
static void move_first(tile *t, box *b, const tw_einsum_operand *op, const int64_t *step, double bound)
{
    bool sums = false;
    t->still = false;
    t->part = entering(t, b, op->n_ranks, step);
    t->words = t->volume + (bound - 1) * t->part;
    for (int r = 0; r < op->n_ranks; r++) {
        b->first[r] = b->sum[r] = step[r];
        sums |= step[r] != 0 && op->rank[r].n_terms > 1;
    }
    t->settled = !sums;
}

/* A loop that moves it again: the box may be where it was, or one step of the innermost loop on. */
static void move_again(tile *t, box *b, const tw_einsum_operand *op, const int64_t *step, double bound)
{
    bool zero = true, same = true, other = false;
    for (int r = 0; r < op->n_ranks; r++) {
        int64_t move = step[r] - b->sum[r];
        zero &= move == 0;
        same &= move == b->first[r];
        other |= step[r] != 0 && b->first[r] == 0;
        b->sum[r] += step[r];
    }
    double brings = zero ? 0 : same ? t->part : t->volume;
    t->words = bound * t->words - (bound - 1) * (t->volume - brings);
    t->settled = other;
}

typedef struct loop { /* to be put around tiles */
    int dim;
    double bound;
    int64_t inner; /* iterations of the dimension inside of it */
} loop;

/* The same for the tile of an operand that slides. */
static void slide(const tw_einsum_operand *op, tile *t, box *b, loop l)
{
    int64_t step[TW_RIVAL_RANKS] = {0};
    for (int r = 0; r < op->n_ranks; r++)
        for (int i = 0; i < op->rank[r].n_terms; i++)
            if (op->rank[r].term[i].dim == l.dim) step[r] += op->rank[r].term[i].coefficient * l.inner;
    if (t->still)
        move_first(t, b, op, step, l.bound);
    else
        move_again(t, b, op, step, l.bound);
}

static void put_around(const walk *w, state *at, int i, loop l)
{
    const tw_tl_space *s = w->p->space;
    int o = w->p->handover[i].operand;
    tile *t = &at->tile[i];
    bool moves = s->relevant[o] >> l.dim & 1;
    if (w->slides && s->jumps[o] >> l.dim & 1) t->jumped = true;
    if (t->settled || (!moves && !t->still)) {
        t->words *= l.bound;
    } else if (moves && !s->slides[o]) {
        t->words *= l.bound;
        t->still = false;
        t->settled = true;
    } else if (moves) {
        slide(&s->einsum->operand[o], t, &at->box[i], l);
    }
}

/* ---- a finished nest ---- */

/* Cycles that one memory needs for what was counted. */
static double cycles_at(const walk *w, const state *at, int m)
{
    const tw_tl_price *p = w->p;
    double reads[TW_RIVAL_OPERANDS], writes[TW_RIVAL_OPERANDS];
    memcpy(reads, p->array_reads[m], sizeof reads);
    memcpy(writes, p->array_writes[m], sizeof writes);
    for (int i = 0; i < p->n_handovers; i++) {
        const tw_tl_handover *h = &p->handover[i];
        double words = round(at->tile[i].words);
        if (h->from == m) reads[h->operand] += words * h->differ - h->own_from;
        if (h->from == m && p->space->einsum->operand[h->operand].updated) writes[h->operand] += words * h->differ;
        if (h->to == m) writes[h->operand] += words - h->own_to;
    }
    return tw_tl_cycles(&p->space->machine->memory[m], p->space->n_operands, reads, writes, w->s->cycles);
}

/* Whether a memory is asked for more than it has, or so nearly that the tool's own steps decide. */
static bool is_busy(const walk *w, const state *at, int m)
{
    const tw_tl_price *p = w->p;
    const tw_tl_space *s = p->space;
    double reads = 0, writes = 0, most = w->s->cycles * (1 - 1e-9);
    for (int o = 0; o < s->n_operands; o++) {
        reads += p->array_reads[m][o];
        writes += p->array_writes[m][o];
    }
    for (int i = 0; i < p->n_handovers; i++) {
        const tw_tl_handover *h = &p->handover[i];
        double words = at->tile[i].words;
        if (h->from == m) reads += words * h->differ;
        if (h->from == m && h->own_from > 0) writes += words * h->differ;
        if (h->to == m) writes += words;
    }
    return reads > s->read_bw[m] * most || writes > s->write_bw[m] * most ||
           reads + writes > s->shared_bw[m] * most;
}

static double cycles_of(const walk *w, const state *at)
{
    double cycles = w->s->cycles;
    for (int m = 0; m < w->p->space->n_memories; m++)
        if (w->p->space->machine->memory[m].n_ports > 0 && is_busy(w, at, m))
            cycles = fmax(cycles, cycles_at(w, at, m));
    return cycles;
}

static void finish(walk *w, const state *at)
{
    const tw_tl_price *p = w->p;
    tw_tl_cost cost = {.energy_pj = p->fixed_pj, .cycles = 0};
    tw_tl_order_search *s = w->s;
    s->counted++;
    if (p->exact && !s->rough) {
        for (int i = 0; i < p->n_handovers; i++)
            cost.energy_pj += tw_tl_price_of(&p->handover[i], at->tile[i].words);
        cost.cycles = cycles_of(w, at);
        cost.energy_pj += p->leak_pj * cost.cycles;
        cost.cycles += p->space->latency;
    } else if (!s->recount(s->user, &w->at, &cost)) {
        return;
    }
    if (!tw_tl_cost_less(s->measure, cost, s->best)) return;
    s->found = true;
    s->best = cost;
    s->orders = w->at;
}

/* ---- blocks ---- */

/* Whether the order of the loops that are left in the block makes a difference to any tile inside of it. */
static bool matters(const walk *w, const state *at, int m, unsigned left)
{
    if ((left & (left - 1)) == 0) return false;
    if (w->p->feeds_array) return true; /* whose links depend on all of them */
    for (int i = 0; i < w->p->n_handovers; i++) {
        const tw_tl_handover *h = &w->p->handover[i];
        const tile *t = &at->tile[i];
        if (h->to <= m) continue;
        if (!w->p->exact && w->p->space->slides[h->operand] && !t->jumped) return true;
        if (t->settled) continue;
        if (w->p->space->slides[h->operand] || left & ~w->p->space->relevant[h->operand]) return true;
    }
    return false;
}

/* The least energy that this can still become: settled tiles are all there with every loop that is left, others may stand. */
static bool is_hopeless(const walk *w, const state *at, double left)
{
    const tw_tl_price *p = w->p;
    double energy = p->fixed_pj, cycles = fmax(p->least_cycles, w->s->cycles);
    for (int i = 0; i < p->n_handovers; i++) {
        const tile *t = &at->tile[i];
        double words = t->words * (t->settled ? left : 1) * (w->s->rough ? 2.0 / 3 : 1);
        energy += p->handover[i].pj + p->handover[i].pj_per_word * words;
    }
    tw_tl_cost least = {(energy + p->leak_pj * cycles) * (1 - 1e-12), cycles + p->space->latency};
    return !tw_tl_cost_less(w->s->measure, least, w->s->best);
}

/* The state is the callee's: what is put around it is not wanted any more. */
static void next_block(walk *w, state *at, int m);

/* Puts the loop over d of block m around everything inside. */
static void add_loop(walk *w, state *at, int m, int d)
{
    double bound = w->s->factor[m][d];
    for (int i = 0; i < w->p->n_handovers; i++)
        if (w->p->handover[i].to > m) put_around(w, at, i, (loop){d, bound, at->inner[d]});
    at->inner[d] = (int64_t)((double)at->inner[d] * bound);
    w->at.dim[m][w->at.n[m]++] = d;
}

/* Dimensions of `left` that may be the next from inside, by the order that is fixed. */
static unsigned may_be_next(const walk *w, int m, unsigned left)
{
    const tw_tl_block *b = &w->p->space->limits->time[m];
    unsigned outer = 0;
    for (int i = 0; i < b->n_inner; i++)
        if (left >> b->inner[i] & 1) return 1u << b->inner[i];
    for (int i = 0; i < b->n_outer; i++) outer |= 1u << b->outer[i];
    if (left & ~outer) return left & ~outer;
    for (int i = 0; i < b->n_outer; i++)
        if (left >> b->outer[i] & 1) return 1u << b->outer[i];
    return left;
}

/* All loops that are left in the block, in any order that is allowed. */
static void add_rest(walk *w, state *at, int m, unsigned left)
{
    while (left) {
        int d = __builtin_ctz(may_be_next(w, m, left));
        add_loop(w, at, m, d);
        left &= ~(1u << d);
    }
    double outside = m > 0 ? w->left[m - 1] : 1;
    if (w->s->every || !is_hopeless(w, at, outside)) next_block(w, at, m - 1);
}

static void next_loop(walk *w, state *at, int m, unsigned left, double rest)
{
    int n = w->at.n[m];
    if (!matters(w, at, m, left)) {
        add_rest(w, at, m, left);
        return;
    }
    unsigned next = may_be_next(w, m, left);
    for (int d = 0; d < w->p->space->n_dims; d++) {
        if (!(next >> d & 1)) continue;
        state with;
        copy_state(w, at, &with);
        w->at.n[m] = n;
        add_loop(w, &with, m, d);
        double outside = rest / w->s->factor[m][d];
        if (w->s->every || !is_hopeless(w, &with, outside)) next_loop(w, &with, m, left & ~(1u << d), outside);
    }
}

static void next_block(walk *w, state *at, int m)
{
    unsigned left = 0;
    if (m < 0) {
        finish(w, at);
        return;
    }
    for (int d = 0; d < w->p->space->n_dims; d++) {
        at->inner[d] *= w->p->frame->over[m][d];
        left |= (unsigned)(w->s->factor[m][d] > 1) << d;
    }
    w->at.n[m] = 0;
    next_loop(w, at, m, left, w->left[m]);
}

/* An operand's tile in a memory, in words. */
static double tile_of(const walk *w, const tw_tl_handover *h, int64_t *reach)
{
    const tw_einsum_operand *op = &w->p->space->einsum->operand[h->operand];
    double volume = 1;
    for (int r = 0; r < op->n_ranks; r++) {
        double size = 1;
        for (int t = 0; t < op->rank[r].n_terms; t++) {
            int d = op->rank[r].term[t].dim;
            double inside = w->s->inside[h->to][d] * (double)w->p->inside[h->to][d];
            size += (double)op->rank[r].term[t].coefficient * (inside - 1);
        }
        reach[r] = (int64_t)size;
        volume *= size;
    }
    return volume;
}

/* The tiles before any loop is put around them. */
static void begin(const walk *w, state *at)
{
    const tw_tl_price *p = w->p;
    for (int d = 0; d < p->space->n_dims; d++) at->inner[d] = 1;
    for (int i = 0; i < p->n_handovers; i++) {
        tile *t = &at->tile[i];
        t->volume = t->words = tile_of(w, &p->handover[i], at->box[i].reach);
        t->still = true;
        t->settled = t->jumped = false;
    }
}

void tw_tl_order_best(tw_tl_order_search *s)
{
    walk w = {.s = s, .p = s->price};
    state at;
    for (int o = 0; o < s->price->space->n_operands; o++) w.slides |= s->price->space->slides[o];
    double left = 1;
    for (int m = 0; m < s->price->space->n_memories; m++) {
        for (int d = 0; d < s->price->space->n_dims; d++) left *= s->factor[m][d];
        w.left[m] = left;
    }
    s->found = false;
    begin(&w, &at);
    next_block(&w, &at, s->price->space->n_memories - 1);
}
