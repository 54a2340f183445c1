/* src/rivals/zigzag/lattice.c - the points of the lattice in the order of their numbers, so that every step leads to a later one. */
#include "rivals/zigzag/lattice.h"
#include "rivals/zigzag/count.h"

#include <math.h>
#include <string.h>

enum {
    NOTHING = -1,
    LOOP = -2
}; /* how a cell was reached: by a step, or by a cut of the operand with this number */

typedef struct cell {
    double energy;
    int32_t from; /* the point before, or this one */
    int8_t how;   /* see above                     */
} cell;
typedef struct walker {
    tw_zz_lattice lattice;
    cell *cell;                                     /* of a point and a state                              */
    double price[TW_ZZ_OPERANDS][TW_ZZ_LEVELS + 1]; /* of the point at hand, by operand and cut            */
} walker;

/* ---- points ---- */

static bool climb(tw_zz_ladder *l, int64_t steps)
{
    for (int64_t d = 1; d <= steps; d++) {
        if (d > steps / 2 && d < steps) d = steps;
        if (steps % d != 0) continue;
        if (l->n == TW_ZZ_DIVISORS) return false;
        l->divisor[l->n++] = d;
    }
    return true;
}

bool tw_zz_lattice_init(tw_zz_lattice *g, const tw_zz_case *c)
{
    *g = (tw_zz_lattice){.c = c, .n_points = 1, .n_states = 1};
    for (int d = 0; d < c->n_dims; d++) {
        if (c->steps[d] <= 1) continue;
        tw_zz_ladder *l = &g->dim[g->n_dims++];
        *l = (tw_zz_ladder){.dim = d, .stride = g->n_points};
        if (c->steps[d] > 1 << 20 || !climb(l, c->steps[d])) return false;
        g->n_points *= l->n;
        if (g->n_points > TW_ZZ_CELLS) return false;
    }
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        g->n_cuts[o] = c->operand[o].n_levels - (o == 0);
        g->stride[o] = g->n_states;
        g->n_states *= g->n_cuts[o] + 1;
    }
    return g->n_points * g->n_states <= TW_ZZ_CELLS;
}

/* A nest with the loops of a point inside. Outside, those come first that are no reuse of the operand, so that nothing more
 * stays. Returns how many loops are inside. */
static int nest_at(const tw_zz_lattice *g, int64_t point, int operand, tw_zz_nest *nest)
{
    int inside = 0;
    nest->n_loops = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < g->n_dims; i++) {
            int d = g->dim[i].dim;
            int64_t in = tw_zz_inside(g, point, i), size = pass == 0 ? in : g->c->steps[d] / in;
            if (size == 1 || (pass > 0 && (g->c->operand[operand].kind[d] == TW_ZZ_IR) != (pass == 2))) continue;
            nest->loop[nest->n_loops].dim = d;
            nest->loop[nest->n_loops++].size = size;
        }
        if (pass == 0) inside = nest->n_loops;
    }
    return inside;
}

/* ---- prices ---- */

/* Whether an input stays at the multipliers while these loops run. */
static bool is_reused(const tw_zz_operand *x, const tw_zz_nest *nest, int inside)
{
    for (int i = 0; i < inside; i++)
        if (x->kind[nest->loop[i].dim] != TW_ZZ_IR) return false;
    return true;
}

bool tw_zz_passing_at(const tw_zz_lattice *g, int64_t point, int operand, int k, bool whole, tw_zz_passing *out)
{
    const tw_zz_operand *x = &g->c->operand[operand];
    tw_zz_nest nest;
    int inside = nest_at(g, point, operand, &nest), level = tw_zz_cut_level(operand, k);
    if (level < 0 && !is_reused(x, &nest, inside)) return false;
    for (int l = 0; l < x->n_levels; l++) nest.cut[operand][l] = l <= level ? inside : nest.n_loops;
    out->tile_bits = level < 0 ? 0 : tw_zz_tile_bits(g->c, &nest, operand, level);
    if (level >= 0 && out->tile_bits > x->level[level].size) return false;
    tw_zz_times_of(g->c, &nest, operand, &out->times);
    tw_zz_flows_of(g->c, &nest, operand, whole, &out->times, &out->flows);
    return true;
}

double tw_zz_passing_energy(const tw_zz_case *c, int operand, int k, const tw_zz_passing *p)
{
    int level = tw_zz_cut_level(operand, k);
    double energy = tw_zz_link_energy(c, operand, &p->flows, level + 1, TW_WAY_READ_DOWN);
    if (level < 0) return energy;
    return energy + tw_zz_link_energy(c, operand, &p->flows, level + 1, TW_WAY_WRITE_DOWN) +
           tw_zz_link_energy(c, operand, &p->flows, level, TW_WAY_READ_UP) +
           tw_zz_link_energy(c, operand, &p->flows, level, TW_WAY_WRITE_UP);
}

static void price_point(walker *w, int64_t point)
{
    tw_zz_passing p;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int k = 0; k < w->lattice.n_cuts[o]; k++)
            w->price[o][k] = tw_zz_passing_at(&w->lattice, point, o, k, false, &p)
                                 ? tw_zz_passing_energy(w->lattice.c, o, k, &p)
                                 : INFINITY;
}

void tw_zz_full_flows(const tw_zz_lattice *g, int operand, bool whole, tw_zz_flows *out)
{
    tw_zz_nest nest;
    tw_zz_times times;
    (void)nest_at(g, g->n_points - 1, operand, &nest);
    for (int l = 0; l < g->c->operand[operand].n_levels; l++) nest.cut[operand][l] = nest.n_loops;
    tw_zz_times_of(g->c, &nest, operand, &times);
    tw_zz_flows_of(g->c, &nest, operand, whole, &times, out);
}

/* What the multipliers send into the lowest memory of results is the same for all nests. */
double tw_zz_constant_energy(const tw_zz_lattice *g)
{
    tw_zz_flows flows;
    tw_zz_full_flows(g, 0, false, &flows);
    return g->c->machine->mac_pj * g->c->macs + tw_zz_link_energy(g->c, 0, &flows, 0, TW_WAY_READ_DOWN) +
           tw_zz_link_energy(g->c, 0, &flows, 0, TW_WAY_WRITE_DOWN);
}

/* ---- paths ---- */

static void reach(cell *to, double energy, int64_t from, int how)
{
    if (energy < to->energy) *to = (cell){energy, (int32_t)from, (int8_t)how};
}

static void make_cuts(const walker *w, int64_t point, int state)
{
    const tw_zz_lattice *g = &w->lattice;
    cell *at = &w->cell[point * g->n_states];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int made = tw_zz_made(g, state, o);
        if (made < g->n_cuts[o]) reach(&at[state + g->stride[o]], at[state].energy + w->price[o][made], point, o);
    }
}

/* One factor more, of which it is enough to look at those without another one between. */
static void take_steps(const walker *w, int64_t point, int state)
{
    const tw_zz_lattice *g = &w->lattice;
    double energy = w->cell[point * g->n_states + state].energy;
    for (int i = 0; i < g->n_dims; i++) {
        const tw_zz_ladder *l = &g->dim[i];
        int64_t here = point / l->stride % l->n;
        for (int64_t next = here + 1; next < l->n; next++) {
            int64_t to = point + (next - here) * l->stride;
            if (l->divisor[next] % l->divisor[here] == 0)
                reach(&w->cell[to * g->n_states + state], energy, point, LOOP);
        }
    }
}

static void walk(walker *w)
{
    const tw_zz_lattice *g = &w->lattice;
    for (int64_t p = 0; p < g->n_points; p++) {
        price_point(w, p);
        for (int s = 0; s < g->n_states; s++) {
            if (w->cell[p * g->n_states + s].energy == INFINITY) continue;
            make_cuts(w, p, s);
            take_steps(w, p, s);
        }
    }
}

/* The steps of the path from the end to the beginning, and the cuts between them. */
static void trace(const walker *w, tw_zz_nest *nest)
{
    const tw_zz_lattice *g = &w->lattice;
    int64_t point = g->n_points - 1;
    int state = g->n_states - 1, left = 0;
    tw_zz_nest back = {0};
    while (point > 0 || state > 0) {
        const cell *at = &w->cell[point * g->n_states + state];
        if (at->how == LOOP) {
            int i = 0;
            while (tw_zz_inside(g, point, i) == tw_zz_inside(g, at->from, i)) i++;
            back.loop[left].dim = g->dim[i].dim;
            back.loop[left++].size = tw_zz_inside(g, point, i) / tw_zz_inside(g, at->from, i);
            point = at->from;
        } else {
            int o = at->how, level = tw_zz_cut_level(o, tw_zz_made(g, state, o) - 1);
            if (level >= 0) back.cut[o][level] = left;
            state -= g->stride[o];
        }
    }
    *nest = (tw_zz_nest){.n_loops = left};
    for (int i = 0; i < left; i++) nest->loop[i] = back.loop[left - 1 - i];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < g->c->operand[o].n_levels; l++)
            nest->cut[o][l] = l + 1 == g->c->operand[o].n_levels ? left : left - back.cut[o][l];
    tw_zz_nest_settle(g->c, nest);
}

static tw_status find(walker *w, tw_arena *scratch, double *bound, tw_zz_nest *nest)
{
    int64_t n = w->lattice.n_points * w->lattice.n_states;
    TW_ALLOC(scratch, w->cell, n);
    for (int64_t i = 0; i < n; i++) w->cell[i] = (cell){INFINITY, 0, NOTHING};
    w->cell[0].energy = 0;
    walk(w);
    *bound = tw_zz_constant_energy(&w->lattice) + w->cell[n - 1].energy;
    if (*bound < INFINITY) trace(w, nest);
    return TW_OK;
}

tw_status tw_zz_least_energy(const tw_zz_case *c, tw_arena *scratch, double *bound, tw_zz_nest *nest)
{
    walker *w;
    tw_arena_mark mark = tw_arena_save(scratch);
    TW_ALLOC(scratch, w, 1);
    *bound = 0;
    *nest = (tw_zz_nest){0};
    tw_status status = tw_zz_lattice_init(&w->lattice, c) ? find(w, scratch, bound, nest) : TW_OK;
    tw_arena_rewind(scratch, mark);
    return status;
}
