/* src/rivals/zigzag/front.c - fronts of paths, point by point from outside, and the nests of complete paths. */
#include "rivals/zigzag/front.h"
#include "core/deadline.h"
#include "rivals/zigzag/prices.h"

#include <math.h>
#include <string.h>

enum { WIDE = 64, POOL = 1 << 17 }; /* labels of a cell with the same ends; of all cells at once */

typedef struct label { /* a path from outside up to a point */
    double price[TW_ZZ_PRICES];
    int32_t at[TW_ZZ_CUTS]; /* points of the cuts that were made       */
    int32_t next;
    uint32_t ends; /* cuts that are outside of all loops */
} label;

typedef struct front {
    tw_zz_prices prices;
    double known, least; /* value of the best nest so far, and the least of any complete path */
    int64_t counted;
    tw_zz_nest nest;               /* the best so far, no loops: the caller's */
    double (*to_go)[TW_ZZ_PRICES]; /* of a point and a state: the least of each price */
    int32_t *cell;                 /* of a point and a state: its first label, -1: none */
    label *pool;
    int32_t spare, n_pool;
    bool spent; /* there was no room for all labels, or no time */
} front;

/* ---- what is still to pay ---- */

static double (*to_go(const front *f, int64_t point, int state))[TW_ZZ_PRICES]
{
    return &f->to_go[point * f->prices.lattice.n_states + state];
}

/* Cuts are made from outside. */
static int next_cut(const front *f, int state, int o)
{
    const tw_zz_lattice *g = &f->prices.lattice;
    return g->n_cuts[o] - 1 - tw_zz_made(g, state, o);
}

static void least_of(const front *f, const double *a, double *into)
{
    for (int i = 0; i < f->prices.n; i++) into[i] = fmin(into[i], a[i]);
}

/* The points one prime factor further inside, one by one; -1: there are no more. */
typedef struct stepper {
    int dim;
    int64_t next;
} stepper;

static int64_t next_step(const tw_zz_lattice *g, int64_t point, stepper *s)
{
    for (; s->dim < g->n_dims; s->dim++, s->next = 0) {
        const tw_zz_ladder *l = &g->dim[s->dim];
        int64_t here = point / l->stride % l->n;
        while (s->next < here) {
            int64_t at = s->next++, between = 0;
            if (l->divisor[here] % l->divisor[at] != 0) continue;
            for (int64_t k = at + 1; k < here; k++)
                between += l->divisor[here] % l->divisor[k] == 0 && l->divisor[k] % l->divisor[at] == 0;
            if (between == 0) return point - (here - at) * l->stride;
        }
    }
    return -1;
}

static void find_to_go(front *f, int64_t point, int state)
{
    double *out = *to_go(f, point, state);
    if (state == f->prices.lattice.n_states - 1) {
        for (int i = 0; i < f->prices.n; i++) out[i] = 0;
        return;
    }
    for (int i = 0; i < f->prices.n; i++) out[i] = INFINITY;
    stepper s = {0};
    for (int64_t to; (to = next_step(&f->prices.lattice, point, &s)) >= 0;) least_of(f, *to_go(f, to, state), out);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int k = next_cut(f, state, o);
        double price[TW_ZZ_PRICES];
        if (k < 0 || isinf(tw_zz_cross(&f->prices, point, o, k)->energy)) continue;
        memcpy(price, *to_go(f, point, state + f->prices.lattice.stride[o]), sizeof price);
        tw_zz_pay(&f->prices, tw_zz_cross(&f->prices, point, o, k), o, k, price);
        least_of(f, price, out);
    }
}

/* ---- the nest of a path ---- */

/* Loops of a part of the path, outermost those that move the operand whose cut is outside of them. */
static void add_loops(const front *f, int64_t from, int64_t to, int operand, tw_zz_nest *nest)
{
    static const tw_zz_kind order[] = {TW_ZZ_IR, TW_ZZ_PR, TW_ZZ_R};
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < f->prices.lattice.n_dims; i++) {
            int d = f->prices.lattice.dim[i].dim;
            int64_t size = tw_zz_inside(&f->prices.lattice, to, i) / tw_zz_inside(&f->prices.lattice, from, i);
            if (size == 1 || f->prices.c->operand[operand].kind[d] != order[pass]) continue;
            nest->loop[nest->n_loops].dim = d;
            nest->loop[nest->n_loops++].size = size;
        }
}

static int operand_of(const front *f, int cut)
{
    int o = 0;
    while (cut >= f->prices.first[o + 1]) o++;
    return o;
}

static void nest_of(const front *f, const label *l, tw_zz_nest *nest)
{
    bool done[TW_ZZ_CUTS] = {0};
    int64_t at = 0;
    *nest = (tw_zz_nest){0};
    for (int n = 0; n < f->prices.first[TW_ZZ_OPERANDS]; n++) {
        int next = -1; /* the innermost cut that is left: its point divides all others */
        for (int i = 0; i < f->prices.first[TW_ZZ_OPERANDS]; i++)
            if (!done[i] && (next < 0 || l->at[i] < l->at[next])) next = i;
        int o = operand_of(f, next), level = tw_zz_cut_level(o, next - f->prices.first[o]);
        done[next] = true;
        add_loops(f, at, l->at[next], o, nest);
        at = l->at[next];
        if (level >= 0) nest->cut[o][level] = nest->n_loops;
    }
    add_loops(f, at, f->prices.lattice.n_points - 1, 0, nest);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) nest->cut[o][f->prices.c->operand[o].n_levels - 1] = nest->n_loops;
    tw_zz_nest_settle(f->prices.c, nest);
}

/* ---- fronts ---- */

static bool is_no_dearer(const front *f, const label *a, const label *b)
{
    for (int i = 0; i < f->prices.n; i++)
        if (a->price[i] > b->price[i]) return false;
    return true;
}

static bool is_hopeless(const front *f, int64_t point, int state, const label *l)
{
    double price[TW_ZZ_PRICES];
    const double *rest = *to_go(f, point, state);
    for (int i = 0; i < f->prices.n; i++) price[i] = l->price[i] + rest[i];
    if (f->prices.n > 0 && isinf(rest[0])) return true;
    return tw_zz_prices_value(&f->prices, price, l->ends) >= f->known * (1 - 1e-12);
}

/* How much lower two labels would become as one. */
static double distance(const front *f, const label *a, const label *b)
{
    double sum = 0;
    for (int i = 0; i < f->prices.n; i++) sum += fabs(a->price[i] - b->price[i]) / (1 + a->price[i] + b->price[i]);
    return sum;
}

static void join_nearest(front *f, int32_t first, const label *l)
{
    label *best = &f->pool[first];
    double least = INFINITY;
    for (int32_t i = first; i >= 0; i = f->pool[i].next) {
        double d = f->pool[i].ends == l->ends ? distance(f, &f->pool[i], l) : INFINITY;
        if (d < least) least = d, best = &f->pool[i];
    }
    least_of(f, l->price, best->price);
}

static void drop(front *f, int32_t *link)
{
    int32_t gone = *link;
    *link = f->pool[gone].next;
    f->pool[gone].next = f->spare;
    f->spare = gone;
}

static void keep(front *f, int32_t *cell, const label *l)
{
    int32_t at = f->spare;
    if (at >= 0)
        f->spare = f->pool[at].next;
    else if (f->n_pool < POOL)
        at = f->n_pool++;
    else {
        f->spent = true;
        return;
    }
    f->pool[at] = *l;
    f->pool[at].next = *cell;
    *cell = at;
}

/* Puts a path into the front of a point and a state. */
static void arrive(front *f, int64_t point, int state, const label *l)
{
    int32_t *cell = &f->cell[point * f->prices.lattice.n_states + state];
    int n = 0;
    for (int32_t *link = cell; *link >= 0;) {
        label *other = &f->pool[*link];
        if (other->ends == l->ends && is_no_dearer(f, other, l)) return;
        if (other->ends == l->ends && is_no_dearer(f, l, other)) {
            drop(f, link);
            continue;
        }
        n += other->ends == l->ends;
        link = &other->next;
    }
    bool inside =
        point < f->prices.lattice.n_points - 1; /* until then it is open which cuts are outside of all loops */
    if (inside && is_hopeless(f, point, state, l)) return;
    if (n < WIDE || !inside)
        keep(f, cell, l);
    else
        join_nearest(f, *cell, l);
}

/* Counts the nest of a complete path, which may be the best so far. */
static void count_path(front *f, const label *l)
{
    const tw_zz_case *c = f->prices.c;
    tw_zz_nest nest;
    tw_zz_count count;
    int memory;
    nest_of(f, l, &nest);
    f->counted++;
    if (!tw_zz_nest_fits(c, &nest, &memory) || !tw_zz_count_nest(c, &nest, &count) || count.onload < 0 ||
        count.offload < 0)
        return;
    double value = tw_zz_value(f->prices.measure, count.latency, count.energy);
    if (value >= f->known) return;
    f->known = value;
    f->nest = nest;
}

static void finish(front *f, const label *l)
{
    double value = tw_zz_prices_value(&f->prices, l->price, l->ends);
    if (value >= f->known * (1 - 1e-12)) return;
    count_path(f, l);
    f->least = fmin(f->least, value);
}

static void cut_at(front *f, int64_t point, int state, const label *l)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int k = next_cut(f, state, o), next = state + f->prices.lattice.stride[o];
        if (k < 0 || isinf(tw_zz_cross(&f->prices, point, o, k)->energy)) continue;
        label cut = *l;
        tw_zz_pay(&f->prices, tw_zz_cross(&f->prices, point, o, k), o, k, cut.price);
        if (!tw_zz_prices_fit(&f->prices, cut.price)) continue;
        cut.at[f->prices.first[o] + k] = (int32_t)point;
        if (point == f->prices.lattice.n_points - 1) cut.ends |= 1U << (f->prices.first[o] + k);
        if (next == f->prices.lattice.n_states - 1)
            finish(f, &cut);
        else
            arrive(f, point, next, &cut);
    }
}

static void step_from(front *f, int64_t point, int state, const label *l)
{
    stepper s = {0};
    for (int64_t to; (to = next_step(&f->prices.lattice, point, &s)) >= 0;) arrive(f, to, state, l);
}

static void walk(front *f, const tw_deadline *deadline)
{
    const tw_zz_lattice *g = &f->prices.lattice;
    for (int64_t p = g->n_points - 1; p >= 0 && !f->spent; p--) {
        for (int s = 0; s < g->n_states; s++)
            for (int32_t *cell = &f->cell[p * g->n_states + s]; *cell >= 0;) {
                label l = f->pool[*cell];
                drop(f, cell);
                cut_at(f, p, s, &l);
                step_from(f, p, s, &l);
            }
        f->spent |= tw_deadline_is_over(deadline);
    }
}

/* ---- the whole ---- */

static tw_status prepare(front *f, tw_arena *scratch)
{
    const tw_zz_lattice *g = &f->prices.lattice;
    int64_t cells = g->n_points * g->n_states;
    TW_TRY(tw_zz_prices_build(&f->prices, scratch));
    TW_ALLOC(scratch, f->to_go, cells);
    TW_ALLOC(scratch, f->cell, cells);
    TW_ALLOC(scratch, f->pool, POOL);
    for (int64_t p = 0; p < g->n_points; p++)
        for (int s = g->n_states - 1; s >= 0; s--) find_to_go(f, p, s);
    for (int64_t i = 0; i < cells; i++) f->cell[i] = -1;
    f->spare = -1;
    return TW_OK;
}

static tw_status run(front *f, tw_work work, tw_zz_least *out)
{
    label start = {0};
    TW_TRY(prepare(f, work.scratch));
    int64_t all = f->prices.lattice.n_points - 1;
    tw_zz_pay_sums(&f->prices, start.price);
    arrive(f, all, 0, &start);
    walk(f, work.diag->deadline);
    out->nest = f->nest;
    out->counted = f->counted;
    out->bound = fmin(f->least, f->known);
    if (!f->spent) return TW_OK;
    for (int i = 0; i < f->prices.n; i++) start.price[i] += (*to_go(f, all, 0))[i];
    out->bound = fmin(out->bound, tw_zz_prices_least(&f->prices, start.price));
    return TW_OK;
}

tw_status tw_zz_front(const tw_zz_case *c, tw_measure measure, double known, tw_work work, tw_zz_least *out)
{
    front *f;
    tw_arena_mark mark = tw_arena_save(work.scratch);
    TW_ALLOC(work.scratch, f, 1);
    *out = (tw_zz_least){0};
    f->known = f->least = known;
    tw_status status = tw_zz_prices_init(&f->prices, c, measure, known) ? run(f, work, out) : TW_OK;
    tw_arena_rewind(work.scratch, mark);
    return status;
}
