/* src/rivals/timeloop/bound.c - see bound.h. */
#include "rivals/timeloop/bound.h"

#include <math.h>
#include <string.h>

/* ---- the lattice ---- */

bool tw_tl_lattice_init(tw_tl_lattice *l, int n_dims, const int64_t *base)
{
    int64_t size = 1;
    l->n_dims = n_dims;
    for (int d = n_dims - 1; d >= 0; d--) {
        l->n[d] = 0;
        for (int64_t f = 1; f * f <= base[d]; f++)
            if (base[d] % f == 0 && l->n[d] < TW_TL_DIVISORS / 2) l->divisor[d][l->n[d]++] = f;
        for (int i = l->n[d] - 1; i >= 0; i--) {
            int64_t f = l->divisor[d][i];
            if (f * f != base[d]) l->divisor[d][l->n[d]++] = base[d] / f;
        }
        l->stride[d] = (int)size;
        size *= l->n[d];
        if (size > 1 << 22) return false;
    }
    l->size = (int)size;
    return true;
}

void tw_tl_lattice_at(const tw_tl_lattice *l, int index, int64_t *time)
{
    for (int d = 0; d < l->n_dims; d++) time[d] = l->divisor[d][index / l->stride[d] % l->n[d]];
}

/* ---- handovers into one memory ---- */

typedef struct view { /* of a tile and what is left outside of it */
    const tw_tl_price *p;
    const int64_t *time;
    double steps;               /* iterations over time outside of it     */
    double left[TW_RIVAL_DIMS]; /* of each dimension                      */
} view;

/* The smallest part of a step over a loop of dimension d: the loop has at least so many iterations as the smallest factor. */
static double least_part(double left)
{
    for (double f = 2; f * f <= left; f++)
        if (fmod(left, f) == 0) return 1 - 1 / f;
    return 1 - 1 / left;
}

/* Words of the box that a step along dimension d brings. */
static double entering(const view *v, int o, int m, int d, const int64_t *reach, double volume)
{
    const tw_einsum_operand *op = &v->p->space->einsum->operand[o];
    double overlap = 1;
    int64_t inner = v->time[d] * v->p->inside[m][d] * (m > 0 ? v->p->frame->over[m - 1][d] : 1);
    for (int r = 0; r < op->n_ranks; r++) {
        int64_t step = 0;
        for (int t = 0; t < op->rank[r].n_terms; t++)
            if (op->rank[r].term[t].dim == d) step += op->rank[r].term[t].coefficient * inner;
        overlap *= (double)tw_max(0, reach[r] - step);
    }
    return volume - overlap;
}

/* The least words into a tile whose innermost moving loop is over d. With every further loop what entered after the first box is
 * there again, whatever its own step brings. */
static double words_moving(const view *v, int o, int m, int d, const int64_t *reach, double volume, double steps)
{
    double part = entering(v, o, m, d, reach, volume);
    if (part == volume) return volume * steps;
    return volume + least_part(v->left[d]) * part * steps;
}

/* The least words into one instance of the inner memory where the innermost loop outside is over j. */
static double least_words(const view *v, const tw_tl_handover *h, int j)
{
    const tw_tl_space *s = v->p->space;
    int64_t reach[TW_RIVAL_RANKS];
    double volume = tw_tl_price_tile(v->p, h->operand, h->to, v->time, reach), steps = v->steps, least = INFINITY;
    unsigned relevant = s->relevant[h->operand];
    if (relevant >> j & 1)
        return s->slides[h->operand] ? words_moving(v, h->operand, h->to, j, reach, volume, steps) : volume * steps;
    for (int d = 0; d < s->n_dims; d++)
        if (!(relevant >> d & 1)) steps /= v->left[d];
    if (!s->slides[h->operand]) return volume * steps;
    for (int d = 0; d < s->n_dims; d++)
        if (relevant >> d & 1 && v->left[d] > 1)
            least = fmin(least, words_moving(v, h->operand, h->to, d, reach, volume, steps));
    return least < INFINITY ? least : volume;
}

static double energy_with(const view *v, int m, int j)
{
    double pj = 0;
    for (int i = 0; i < v->p->n_handovers; i++) {
        const tw_tl_handover *h = &v->p->handover[i];
        if (h->to == m) pj += h->pj + h->pj_per_word * least_words(v, h, j);
    }
    return pj;
}

double tw_tl_bound_at(const tw_tl_price *p, int m, const int64_t *time)
{
    view v = {.p = p, .time = time, .steps = 1};
    double least = INFINITY;
    bool any = false;
    if (!tw_tl_price_fits(p, m, time)) return INFINITY;
    for (int d = 0; d < p->space->n_dims; d++) {
        v.left[d] = (double)(p->base[d] / time[d]);
        v.steps *= v.left[d];
    }
    for (int j = 0; j < p->space->n_dims; j++)
        if (v.left[j] > 1) {
            least = fmin(least, energy_with(&v, m, j));
            any = true;
        }
    return any ? least : energy_with(&v, m, 0);
}

/* ---- the table ---- */

/* Takes the least along dimension d over all factors that the block allows. */
static void least_along(const tw_tl_lattice *l, const tw_tl_block *block, int d, double *of, double *scratch)
{
    for (int i = 0; i < l->size; i++) {
        int at = i / l->stride[d] % l->n[d];
        double least = INFINITY;
        for (int to = at; to < l->n[d]; to++) {
            int64_t a = l->divisor[d][at], b = l->divisor[d][to];
            if (b % a == 0 && tw_tl_allows(block, d, b / a)) least = fmin(least, of[i + (to - at) * l->stride[d]]);
        }
        scratch[i] = least;
    }
    memcpy(of, scratch, (size_t)l->size * sizeof *of);
}

void tw_tl_bound_fill(const tw_tl_price *p, const tw_tl_lattice *l, double *table, double *scratch)
{
    int64_t time[TW_RIVAL_DIMS];
    double *outer = table; /* of memory 0: all iterations are inside of it */
    for (int i = 0; i < l->size; i++) outer[i] = i == l->size - 1 ? 0 : INFINITY;
    for (int m = 1; m < p->space->n_memories; m++) {
        double *of = table + (size_t)m * (size_t)l->size;
        memcpy(of, table + (size_t)(m - 1) * (size_t)l->size, (size_t)l->size * sizeof *of);
        for (int d = 0; d < l->n_dims; d++) least_along(l, &p->space->limits->time[m - 1], d, of, scratch);
        for (int i = 0; i < l->size; i++) {
            if (of[i] == INFINITY) continue;
            tw_tl_lattice_at(l, i, time);
            of[i] += tw_tl_bound_at(p, m, time);
        }
    }
}
