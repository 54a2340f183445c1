/* src/rivals/timeloop/sizes.c - see sizes.h. Factors are chosen memory by memory from inside, all dimensions at a time, those first
 * whose handovers promise the least; what is further outside takes at least what passes once. */
#include "rivals/timeloop/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tw_tl_sizes_are_free(const tw_tl_price *p, int dim)
{
    const tw_tl_space *s = p->space;
    for (int m = 0; m < s->n_memories; m++)
        if (p->frame->over[m][dim] > 1) return false;
    for (int o = 0; o < s->n_operands; o++)
        if (s->slides[o]) return false;
    return true;
}

typedef struct walk {
    tw_tl_sizes *s;
    const tw_tl_price *p;
    tw_arena *scratch;
    double once
        [TW_RIVAL_MEMORIES]; /* energy of the handovers into memory m and outside of it if everything passes once */
    int64_t size[TW_RIVAL_MEMORIES + 1]
                [TW_RIVAL_DIMS]; /* iterations over time inside of memory m, the last round being full */
    int64_t tiles[TW_RIVAL_MEMORIES + 1]
                 [TW_RIVAL_DIMS]; /* of that size                                                  */
} walk;

/* ---- bounds ---- */

/* Words into one instance of a memory with so many tiles along each dimension, if an operand stands still along those in `still`. */
static double words(const walk *w, const tw_tl_handover *h, const int64_t *tiles, unsigned still)
{
    const tw_tl_space *s = w->p->space;
    double n = 1;
    for (int d = 0; d < s->n_dims; d++)
        if (s->relevant[h->operand] >> d & 1)
            n *= (double)(w->p->base[d] * w->p->inside[h->to][d]);
        else if (!(still >> d & 1))
            n *= (double)tiles[d];
    return n;
}

/* The least energy of the handovers into m: one loop is the innermost outside, and stops what it moves from standing still. */
static double least_at(const walk *w, int m, const int64_t *tiles)
{
    const tw_tl_space *s = w->p->space;
    double least = INFINITY;
    unsigned left = 0;
    for (int d = 0; d < s->n_dims; d++) left |= (unsigned)(tiles[d] > 1) << d;
    for (int j = 0; j < s->n_dims; j++) {
        double pj = 0;
        if (left != 0 && !(left >> j & 1)) continue;
        for (int i = 0; i < w->p->n_handovers; i++) {
            const tw_tl_handover *h = &w->p->handover[i];
            bool moves = left != 0 && s->relevant[h->operand] >> j & 1;
            double part = moves && tiles[j] > 2 ? 1 - 1 / (double)tiles[j] : 1;
            if (h->to == m) pj += h->pj + h->pj_per_word * part * words(w, h, tiles, moves ? 0 : ~0u);
        }
        least = fmin(least, pj);
    }
    return least;
}

static void fill_once(walk *w)
{
    const int64_t none[TW_RIVAL_DIMS] = {0}; /* is not looked at */
    double sum = 0;
    for (int m = 1; m < w->p->space->n_memories; m++) {
        for (int i = 0; i < w->p->n_handovers; i++) {
            const tw_tl_handover *h = &w->p->handover[i];
            if (h->to == m) sum += h->pj + h->pj_per_word * words(w, h, none, ~0u);
        }
        w->once[m] = sum;
    }
}

/* ---- tiles ---- */

/* An operand's tiles in a memory must fit; a dimension in one tile is there as a whole. */
static bool fits(const walk *w, int m)
{
    int64_t time[TW_RIVAL_DIMS];
    for (int d = 0; d < w->p->space->n_dims; d++) time[d] = w->tiles[m][d] == 1 ? w->p->base[d] : w->size[m][d];
    return tw_tl_price_fits(w->p, m, time);
}

/* ---- leaves ---- */

static void try_orders(walk *w)
{
    const tw_tl_space *s = w->p->space;
    double factor[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS], inside[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS], cycles = 1;
    int n = s->n_memories;
    for (int m = n - 1; m >= 0; m--)
        for (int d = 0; d < s->n_dims; d++) {
            int64_t inner = m + 1 < n ? w->tiles[m + 1][d] : w->p->base[d], outer = m > 0 ? w->tiles[m][d] : 1;
            factor[m][d] = (double)inner / (double)outer;
            inside[m][d] = (double)w->p->base[d] / (double)outer;
            cycles *= (double)w->s->factor[m][d];
        }
    tw_tl_order_search o = {.price = w->p,
                            .measure = w->s->measure,
                            .factor = (const double(*)[TW_RIVAL_DIMS])factor,
                            .inside = (const double(*)[TW_RIVAL_DIMS])inside,
                            .cycles = cycles,
                            .rough = true,
                            .recount = w->s->recount,
                            .user = w->s->user,
                            .best = w->s->best};
    tw_tl_order_best(&o);
    *w->s->counted += o.counted;
    if (!o.found) return;
    w->s->found = true;
    w->s->best = o.best;
    w->s->orders = o.orders;
    memcpy(w->s->best_factor, w->s->factor, sizeof w->s->best_factor);
}

/* ---- the walk ---- */

typedef struct choice {
    double pj;
    int32_t factor[TW_RIVAL_DIMS];
} choice;
typedef struct gathering {
    walk *w;
    int m, n, room;
    double inner;
    choice *choice;
} gathering;

static tw_tl_cost cost_of(const walk *w, double pj)
{
    const tw_tl_price *p = w->p;
    return (tw_tl_cost){(p->fixed_pj + pj + p->leak_pj * p->least_cycles) * (1 - 1e-12),
                        p->least_cycles + p->space->latency};
}

static bool is_better(const walk *w, double pj)
{
    return tw_tl_cost_less(w->s->measure, cost_of(w, pj), w->s->best);
}

static int by_energy(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->pj != y->pj) return x->pj < y->pj ? -1 : 1;
    return memcmp(x->factor, y->factor, sizeof x->factor);
}

static void keep(gathering *g)
{
    walk *w = g->w;
    if (!fits(w, g->m)) return;
    double pj = g->inner + least_at(w, g->m, w->tiles[g->m]) + (g->m > 1 ? w->once[g->m - 1] : 0);
    if (!is_better(w, pj)) return;
    choice *c = &g->choice[g->n < g->room ? g->n : g->room - 1];
    if (g->n == g->room) { /* what has no room is left open */
        if (tw_tl_cost_less(w->s->measure, cost_of(w, pj), w->s->open)) w->s->open = cost_of(w, pj);
        w->s->stopped = true;
        return;
    }
    c->pj = pj;
    for (int d = 0; d < w->p->space->n_dims; d++) c->factor[d] = (int32_t)w->s->factor[g->m][d];
    g->n++;
}

/* The factors of dimension d and up that make different numbers of tiles, each as small as that number allows. */
static void gather(gathering *g, int d)
{
    walk *w = g->w;
    int m = g->m;
    if (d == w->p->space->n_dims) {
        keep(g);
        return;
    }
    int64_t inner = w->tiles[m + 1][d];
    const tw_tl_block *limit = &w->p->space->limits->time[m];
    bool whole = !tw_tl_sizes_are_free(w->p, d);
    for (int64_t n = inner; n >= 1;) { /* tiles of this memory, fewer and fewer */
        int64_t k = tw_cdiv(inner, n);
        n = tw_cdiv(inner, k);
        if (tw_tl_allows(limit, d, k) && (!whole || inner % k == 0)) {
            w->s->factor[m][d] = k;
            w->size[m][d] = w->size[m + 1][d] * k;
            w->tiles[m][d] = n;
            gather(g, d + 1);
        }
        n--;
    }
}

static tw_status choose(walk *w, int m, double inner)
{
    tw_arena_mark mark = tw_arena_save(w->scratch);
    gathering g = {.w = w, .m = m, .room = 1 << 16, .inner = inner};
    tw_status status = TW_OK;
    if (m == 0) {
        for (int d = 0; d < w->p->space->n_dims; d++) {
            w->s->factor[0][d] = w->tiles[1][d];
            if (!tw_tl_allows(&w->p->space->limits->time[0], d, w->s->factor[0][d])) return TW_OK;
        }
        try_orders(w);
        return TW_OK;
    }
    TW_ALLOC(w->scratch, g.choice, g.room);
    gather(&g, 0);
    qsort(g.choice, (size_t)g.n, sizeof *g.choice, by_energy);
    for (int i = 0; i < g.n && status == TW_OK && is_better(w, g.choice[i].pj); i++) {
        ++*w->s->nodes;
        w->s->stopped |=
            (w->s->most_nodes > 0 && *w->s->nodes > w->s->most_nodes) || tw_pulse_is_over(w->s->pulse, 1 << 8);
        if (w->s->stopped) {
            tw_tl_cost least = cost_of(w, g.choice[i].pj);
            if (tw_tl_cost_less(w->s->measure, least, w->s->open)) w->s->open = least;
            break;
        }
        for (int d = 0; d < w->p->space->n_dims; d++) {
            w->s->factor[m][d] = g.choice[i].factor[d];
            w->size[m][d] = w->size[m + 1][d] * g.choice[i].factor[d];
            w->tiles[m][d] = tw_cdiv(w->tiles[m + 1][d], g.choice[i].factor[d]);
        }
        status = choose(w, m - 1, inner + least_at(w, m, w->tiles[m]));
    }
    tw_arena_rewind(w->scratch, mark);
    return status;
}

tw_tl_cost tw_tl_sizes_bound(const tw_tl_price *price)
{
    walk w = {.p = price};
    fill_once(&w);
    return cost_of(&w, w.once[price->space->n_memories - 1]);
}

tw_status tw_tl_sizes_search(tw_tl_sizes *s, tw_arena *scratch)
{
    walk w = {.s = s, .p = s->price, .scratch = scratch};
    int n = s->price->space->n_memories;
    for (int d = 0; d < s->price->space->n_dims; d++) {
        w.size[n][d] = 1;
        w.tiles[n][d] = s->price->base[d];
    }
    fill_once(&w);
    return choose(&w, n - 1, 0);
}
