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
    const int64_t *block;       /* factors of the memory outside, NULL: any  */
    double steps;               /* iterations over time outside of the tile  */
    double left[TW_RIVAL_DIMS]; /* of each dimension                         */
    unsigned there;             /* dimensions that the block has loops over  */
} view;

/* The smallest part of the iterations of a loop over d that is not the first: it has as many as the smallest factor at least. */
static double least_part(const view *v, int d)
{
    double left = v->left[d];
    if (v->there >> d & 1) return 1 - 1 / (double)v->block[d];
    for (double f = 2; f * f <= left; f++)
        if (fmod(left, f) == 0) return 1 - 1 / f;
    return 1 - 1 / left;
}

/* Words of the box that a step along dimension d brings. */
static double entering(const view *v, const tw_tl_handover *h, int d, const int64_t *reach, double volume)
{
    const tw_einsum_operand *op = &v->p->space->einsum->operand[h->operand];
    double overlap = 1;
    int64_t inner = v->time[d] * v->p->inside[h->to][d] * v->p->frame->over[h->to - 1][d];
    for (int r = 0; r < op->n_ranks; r++) {
        int64_t step = 0;
        for (int t = 0; t < op->rank[r].n_terms; t++)
            if (op->rank[r].term[t].dim == d) step += op->rank[r].term[t].coefficient * inner;
        overlap *= (double)tw_max(0, reach[r] - step);
    }
    return volume - overlap;
}

/* Iterations left of all other dimensions that move the same axes as d; 1 where d is alone. */
static double left_beside(const view *v, int o, int d)
{
    const tw_einsum_operand *op = &v->p->space->einsum->operand[o];
    unsigned beside = 0;
    double left = 1;
    for (int r = 0; r < op->n_ranks; r++) {
        unsigned of_rank = 0;
        for (int t = 0; t < op->rank[r].n_terms; t++) of_rank |= 1u << op->rank[r].term[t].dim;
        if (of_rank >> d & 1) beside |= of_rank;
    }
    for (int k = 0; k < v->p->space->n_dims; k++)
        if (k != d && beside >> k & 1) left *= v->left[k];
    return left;
}

/* The least words into a tile whose innermost moving loop is over d. Loops along the same axis that follow it directly may bring
 * as little as it does, or nothing at all where another dimension takes the box to where it was; with every further iteration
 * what entered after the first box is there again. All other loops bring the whole again. */
static double words_moving(const view *v, const tw_tl_handover *h, int d, const int64_t *reach, double steps)
{
    double volume = 1, part, beside = left_beside(v, h->operand, d);
    for (int r = 0; r < v->p->space->einsum->operand[h->operand].n_ranks; r++) volume *= (double)reach[r];
    part = entering(v, h, d, reach, volume);
    if (beside == 1) return part * steps + (volume - part) * steps / v->left[d];
    return volume * steps / (v->left[d] * beside) + least_part(v, d) * part * steps;
}

/* Iterations for which an operand can stand still: those of loops that do not move it, up to one that does. */
static double standing(const view *v, unsigned relevant)
{
    double n = 1;
    bool closed = (v->there & relevant) != 0; /* in the block outside: what is further out comes after it */
    for (int d = 0; d < v->p->space->n_dims; d++)
        if (!(relevant >> d & 1)) n *= closed ? (double)v->block[d] : v->left[d];
    return n;
}

/* The least words into one instance of the inner memory where the innermost loop outside is over j; j < 0: there is none. */
static double least_words(const view *v, const tw_tl_handover *h, int j)
{
    const tw_tl_space *s = v->p->space;
    int64_t reach[TW_RIVAL_RANKS];
    double volume = tw_tl_price_tile(v->p, h->operand, h->to, v->time, reach), steps = v->steps, least = INFINITY;
    unsigned relevant = s->relevant[h->operand];
    bool moves = j >= 0 && relevant >> j & 1, slides = s->slides[h->operand];
    if (moves) return slides ? words_moving(v, h, j, reach, steps) : volume * steps;
    steps /= standing(v, relevant);
    if (!slides) return volume * steps;
    for (int d = 0; d < s->n_dims; d++)
        if (relevant >> d & 1 && v->left[d] > 1) least = fmin(least, words_moving(v, h, d, reach, steps));
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

/* Dimensions whose loop may be the innermost, the first loops outside being those of memory `block`. */
static unsigned innermost(const view *v, int block)
{
    const tw_tl_block *b = &v->p->space->limits->time[block];
    unsigned left = 0;
    for (int i = 0; i < b->n_inner; i++)
        if (v->there >> b->inner[i] & 1) return 1u << b->inner[i];
    for (int d = 0; d < v->p->space->n_dims; d++) left |= (unsigned)(v->left[d] > 1) << d;
    return v->there ? v->there : left;
}

double tw_tl_bound_waiting(const tw_tl_price *p, int m, int waiting, const int64_t *time, tw_tl_block_factors block)
{
    double pj = 0;
    for (int w = 0; w <= waiting; w++) pj += tw_tl_bound_at(p, m + w, time, block);
    return pj;
}

static view view_of(const tw_tl_price *p, const int64_t *time, tw_tl_block_factors block)
{
    view v = {.p = p, .time = time, .block = block.factor, .steps = 1};
    for (int d = 0; d < p->space->n_dims; d++) {
        v.left[d] = (double)(p->base[d] / time[d]);
        v.steps *= v.left[d];
        if (block.factor && block.factor[d] > 1) v.there |= 1u << d;
    }
    return v;
}

double tw_tl_bound_at(const tw_tl_price *p, int m, const int64_t *time, tw_tl_block_factors block)
{
    view v = view_of(p, time, block);
    double least = INFINITY;
    unsigned may = innermost(&v, block.memory);
    for (int j = 0; j < p->space->n_dims; j++)
        if (may >> j & 1) least = fmin(least, energy_with(&v, m, j));
    return may ? least : energy_with(&v, m, -1);
}

/* ---- traffic ---- */

/* Of one handover. Parts that children share or hand on are read once at least, and filled who knows how often. */
static void add_words(const tw_tl_price *p, const tw_tl_handover *h, double words, tw_tl_traffic *t)
{
    double linked = t->apart ? 1 : h->linked, out = words * h->differ / linked;
    t->reads[h->from] += fmax(0, out - h->own_from);
    if (p->space->einsum->operand[h->operand].updated) t->writes[h->from] += out;
    if (linked == 1) t->writes[h->to] += fmax(0, words - h->own_to);
}

void tw_tl_traffic_add(const tw_tl_price *p, int m, int waiting, const int64_t *time, tw_tl_block_factors block,
                       tw_tl_traffic *t)
{
    view v = view_of(p, time, block);
    unsigned may = innermost(&v, block.memory);
    for (int i = 0; i < p->n_handovers; i++) {
        const tw_tl_handover *h = &p->handover[i];
        double least = INFINITY;
        if (h->to < m || h->to > m + waiting) continue;
        for (int j = 0; j < p->space->n_dims; j++)
            if (may >> j & 1) least = fmin(least, least_words(&v, h, j));
        add_words(p, h, may ? least : least_words(&v, h, -1), t);
    }
}

double tw_tl_traffic_cycles(const tw_tl_price *p, const tw_tl_traffic *t)
{
    const tw_tl_space *s = p->space;
    double cycles = p->least_cycles;
    for (int m = 0; m < s->n_memories; m++) {
        double reads = t->reads[m], writes = t->writes[m];
        for (int o = 0; o < s->n_operands && !p->feeds_array; o++) {
            reads += fmax(0, p->array_reads[m][o]);
            writes += p->array_writes[m][o];
        }
        double most =
            fmax(fmax(reads / s->read_bw[m], writes / s->write_bw[m]), (reads + writes) / s->shared_bw[m]);
        cycles = fmax(cycles, floor(most * (1 - 1e-12)));
    }
    return cycles;
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

/* How many pairs of products the block can take one to the other. */
static double pairs_of(const tw_tl_lattice *l, const tw_tl_block *block)
{
    double n = 1;
    for (int d = 0; d < l->n_dims; d++) {
        int pairs = 0;
        for (int a = 0; a < l->n[d]; a++)
            for (int b = a; b < l->n[d]; b++)
                pairs += l->divisor[d][b] % l->divisor[d][a] == 0 &&
                         tw_tl_allows(block, d, l->divisor[d][b] / l->divisor[d][a]);
        n *= pairs;
    }
    return n;
}

typedef struct filling { /* the rows of memory m, for all that may wait inside of it */
    const tw_tl_price *p;
    const tw_tl_lattice *l;
    const tw_tl_table *t;
    int m;
    bool may_wait; /* the memory outside may be without loops       */
    int n_waiting; /* of the product at hand: memories that fit it  */
    int from;      /* the product                                   */
    int64_t time[TW_RIVAL_DIMS], block[TW_RIVAL_DIMS];
    double least[TW_RIVAL_MEMORIES], most; /* by what waits; the largest of them    */
} filling;

static double *any_row(const tw_tl_table *t, int m) { return tw_tl_table_row(t, t->n_memories, m); }

/* What the handovers into memory m and the w inside of it take, all loops that are left being possible. */
static double any_waiting(const tw_tl_table *t, int m, int w, int i)
{
    double pj = 0;
    for (int k = 0; k <= w; k++) pj += any_row(t, m + k)[i];
    return pj;
}

static void look_at_pair(filling *x, int at)
{
    double pj = 0, outer = tw_tl_table_row(x->t, x->m - 1, 0)[at];
    if (at == x->from || outer >= x->most) return;
    x->most = 0;
    for (int w = 0; w <= x->n_waiting; w++) {
        pj += tw_tl_bound_at(x->p, x->m + w, x->time, (tw_tl_block_factors){x->m - 1, x->block});
        x->least[w] = fmin(x->least[w], outer + pj);
        x->most = fmax(x->most, x->least[w]);
    }
}

static void pair_up(filling *x, int d, int at)
{
    const tw_tl_lattice *l = x->l;
    if (d == l->n_dims) {
        look_at_pair(x, at);
        return;
    }
    int first = at / l->stride[d] % l->n[d];
    for (int to = first; to < l->n[d]; to++) {
        int64_t a = l->divisor[d][first], b = l->divisor[d][to];
        if (b % a != 0 || !tw_tl_allows(&x->p->space->limits->time[x->m - 1], d, b / a)) continue;
        x->block[d] = b / a;
        pair_up(x, d + 1, at + (to - first) * l->stride[d]);
    }
}

/* Memories inside of m whose tiles fit with the same product: only those can wait. -1: that of m does not. */
static int count_waiting(const filling *x, int i)
{
    int n = -1;
    while (x->m + n + 1 < x->t->n_memories && any_row(x->t, x->m + n + 1)[i] < INFINITY) n++;
    return n;
}

/* What waits without a loop of the memory outside. */
static void begin_product(filling *x, int i)
{
    x->from = i;
    x->n_waiting = count_waiting(x, i);
    x->most = 0;
    for (int w = 0; w <= x->n_waiting; w++) {
        x->least[w] = x->may_wait ? tw_tl_table_row(x->t, x->m - 1, w + 1)[i] : INFINITY;
        x->most = fmax(x->most, x->least[w]);
    }
}

static void end_product(const filling *x, int i)
{
    for (int w = 0; x->m + w < x->t->n_memories; w++)
        tw_tl_table_row(x->t, x->m, w)[i] = w <= x->n_waiting ? x->least[w] : INFINITY;
}

static void fill_by_pairs(filling *x)
{
    for (int i = 0; i < x->l->size; i++) {
        begin_product(x, i);
        tw_tl_lattice_at(x->l, i, x->time);
        if (x->n_waiting >= 0) pair_up(x, 0, i);
        end_product(x, i);
    }
}

/* The same where there are too many pairs: all loops that are left may be the innermost. */
static void fill_by_products(filling *x)
{
    const tw_tl_lattice *l = x->l;
    double *least = any_row(x->t, x->t->n_memories), *scratch = least + l->size;
    memcpy(least, tw_tl_table_row(x->t, x->m - 1, 0), (size_t)l->size * sizeof *least);
    for (int d = 0; d < l->n_dims; d++) least_along(l, &x->p->space->limits->time[x->m - 1], d, least, scratch);
    for (int i = 0; i < l->size; i++) {
        begin_product(x, i);
        for (int w = 0; w <= x->n_waiting; w++)
            x->least[w] = fmin(x->least[w], least[i] + any_waiting(x->t, x->m, w, i));
        end_product(x, i);
    }
}

/* Whether a memory may be without loops over time. */
static bool may_be_empty(const tw_tl_space *s, int m)
{
    for (int d = 0; d < s->n_dims; d++)
        if (!tw_tl_allows(&s->limits->time[m], d, 1)) return false;
    return true;
}

/* Memory 0 has everything inside of it; what waits until there has no loop outside. */
static void fill_end(const tw_tl_lattice *l, const tw_tl_table *t)
{
    for (int w = 0; w < t->n_memories; w++) {
        double *of = tw_tl_table_row(t, 0, w);
        for (int i = 0; i < l->size; i++) of[i] = INFINITY;
        of[l->size - 1] = w > 0 ? any_waiting(t, 1, w - 1, l->size - 1) : 0;
    }
}

static void fill_any(const tw_tl_price *p, const tw_tl_lattice *l, const tw_tl_table *t)
{
    int64_t time[TW_RIVAL_DIMS];
    for (int i = 0; i < l->size; i++) {
        tw_tl_lattice_at(l, i, time);
        for (int m = 1; m < t->n_memories; m++)
            any_row(t, m)[i] =
                tw_tl_price_fits(p, m, time) ? tw_tl_bound_at(p, m, time, (tw_tl_block_factors){0}) : INFINITY;
    }
}

void tw_tl_bound_fill(const tw_tl_price *p, const tw_tl_lattice *l, bool closely, const tw_tl_table *t)
{
    enum { PAIRS = 1 << 17 };
    fill_any(p, l, t);
    fill_end(l, t);
    for (int m = 1; m < t->n_memories; m++) {
        filling x = {.p = p, .l = l, .t = t, .m = m, .may_wait = may_be_empty(p->space, m - 1)};
        if (closely && m > 1 && pairs_of(l, &p->space->limits->time[m - 1]) <= PAIRS)
            fill_by_pairs(&x);
        else
            fill_by_products(&x);
    }
}
