/* src/rivals/zigzag/lattice.c - the points of the lattice in the order of their numbers, so that every step leads to a later one. */
#include "rivals/zigzag/lattice.h"
#include "rivals/zigzag/count.h"

#include <math.h>
#include <string.h>

enum { DIVISORS = 256, CELLS = 1 << 21 };
enum {
    NOTHING = -1,
    LOOP = -2
}; /* how a cell was reached: by a step, or by a cut of the operand with this number */

typedef struct ladder { /* the divisors of a dimension, ascending */
    int dim, n;
    int64_t divisor[DIVISORS];
    int64_t stride; /* of its number in the number of a point */
} ladder;
typedef struct cell {
    double energy;
    int32_t from; /* the point before, or this one */
    int8_t how;   /* see above                     */
} cell;
typedef struct lattice {
    const tw_zz_case *c;
    int n_dims;
    ladder dim[TW_RIVAL_DIMS];
    int64_t n_points;
    int n_cuts[TW_ZZ_OPERANDS]; /* to make; an input's first one is at the multipliers */
    int n_states;               /* how many of them were made, by each operand        */
    cell *cell;                 /* of a point and a state                              */
    double *price;              /* of the point at hand, by operand and cut            */
} lattice;

/* ---- points ---- */

static bool climb(ladder *l, int64_t steps)
{
    for (int64_t d = 1; d <= steps; d++) {
        if (d > steps / 2 && d < steps) d = steps;
        if (steps % d != 0) continue;
        if (l->n == DIVISORS) return false;
        l->divisor[l->n++] = d;
    }
    return true;
}

/* False: there are too many. */
static bool find_points(lattice *g)
{
    g->n_points = 1;
    for (int d = 0; d < g->c->n_dims; d++) {
        if (g->c->steps[d] <= 1) continue;
        ladder *l = &g->dim[g->n_dims++];
        *l = (ladder){.dim = d, .stride = g->n_points};
        if (g->c->steps[d] > 1 << 20 || !climb(l, g->c->steps[d])) return false;
        g->n_points *= l->n;
        if (g->n_points > CELLS) return false;
    }
    g->n_states = 1;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        g->n_cuts[o] = g->c->operand[o].n_levels - (o == 0);
        g->n_states *= g->n_cuts[o] + 1;
    }
    return g->n_points * g->n_states <= CELLS;
}

static int64_t inside_of(const lattice *g, int64_t point, int i)
{
    return g->dim[i].divisor[point / g->dim[i].stride % g->dim[i].n];
}

/* A nest with the loops of a point inside. Outside, those come first that are no reuse of the operand, so that nothing more
 * stays. Returns how many loops are inside. */
static int nest_at(const lattice *g, int64_t point, int operand, tw_zz_nest *nest)
{
    int inside = 0;
    nest->n_loops = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < g->n_dims; i++) {
            int d = g->dim[i].dim;
            int64_t in = inside_of(g, point, i), size = pass == 0 ? in : g->c->steps[d] / in;
            if (size == 1 || (pass > 0 && (g->c->operand[operand].kind[d] == TW_ZZ_IR) != (pass == 2))) continue;
            nest->loop[nest->n_loops].dim = d;
            nest->loop[nest->n_loops++].size = size;
        }
        if (pass == 0) inside = nest->n_loops;
    }
    return inside;
}

/* ---- prices ---- */

/* The cut below the lowest memory: an input stays at the multipliers. */
static double price_of_array(const lattice *g, int64_t point, int operand)
{
    const tw_zz_operand *x = &g->c->operand[operand];
    tw_zz_nest nest;
    tw_zz_times times;
    tw_zz_flows flows;
    int inside = nest_at(g, point, operand, &nest);
    for (int i = 0; i < inside; i++)
        if (x->kind[nest.loop[i].dim] != TW_ZZ_IR) return INFINITY;
    for (int l = 0; l < x->n_levels; l++) nest.cut[operand][l] = nest.n_loops;
    tw_zz_times_of(g->c, &nest, operand, &times);
    tw_zz_flows_of(g->c, &nest, operand, false, &times, &flows);
    return tw_zz_link_energy(g->c, operand, &flows, 0, TW_WAY_READ_DOWN);
}

/* The cut between a level and the next: what passes between them. */
static double price_of_cut(const lattice *g, int64_t point, int operand, int level)
{
    const tw_zz_operand *x = &g->c->operand[operand];
    tw_zz_nest nest;
    tw_zz_times times;
    tw_zz_flows flows;
    int inside = nest_at(g, point, operand, &nest);
    for (int l = 0; l < x->n_levels; l++) nest.cut[operand][l] = l <= level ? inside : nest.n_loops;
    if (tw_zz_tile_bits(g->c, &nest, operand, level) > x->level[level].size) return INFINITY;
    tw_zz_times_of(g->c, &nest, operand, &times);
    tw_zz_flows_of(g->c, &nest, operand, false, &times, &flows);
    return tw_zz_link_energy(g->c, operand, &flows, level, TW_WAY_READ_UP) +
           tw_zz_link_energy(g->c, operand, &flows, level, TW_WAY_WRITE_UP) +
           tw_zz_link_energy(g->c, operand, &flows, level + 1, TW_WAY_READ_DOWN) +
           tw_zz_link_energy(g->c, operand, &flows, level + 1, TW_WAY_WRITE_DOWN);
}

static void price_point(const lattice *g, int64_t point)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int k = 0; k < g->n_cuts[o]; k++)
            g->price[o * TW_ZZ_LEVELS + k] =
                o > 0 && k == 0 ? price_of_array(g, point, o) : price_of_cut(g, point, o, o > 0 ? k - 1 : k);
}

/* What the multipliers send into the lowest memory of results is the same for all nests. */
static double price_of_sums(const lattice *g)
{
    tw_zz_nest nest;
    tw_zz_times times;
    tw_zz_flows flows;
    (void)nest_at(g, g->n_points - 1, 0, &nest);
    for (int l = 0; l < g->c->operand[0].n_levels; l++) nest.cut[0][l] = nest.n_loops;
    tw_zz_times_of(g->c, &nest, 0, &times);
    tw_zz_flows_of(g->c, &nest, 0, false, &times, &flows);
    return tw_zz_link_energy(g->c, 0, &flows, 0, TW_WAY_READ_DOWN) +
           tw_zz_link_energy(g->c, 0, &flows, 0, TW_WAY_WRITE_DOWN);
}

/* ---- paths ---- */

static int made_by(const lattice *g, int state, int operand)
{
    for (int o = 0; o < operand; o++) state /= g->n_cuts[o] + 1;
    return state % (g->n_cuts[operand] + 1);
}

static int state_stride(const lattice *g, int operand)
{
    int stride = 1;
    for (int o = 0; o < operand; o++) stride *= g->n_cuts[o] + 1;
    return stride;
}

static void reach(cell *to, double energy, int64_t from, int how)
{
    if (energy < to->energy) *to = (cell){energy, (int32_t)from, (int8_t)how};
}

static void make_cuts(const lattice *g, int64_t point, int state)
{
    cell *at = &g->cell[point * g->n_states];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int made = made_by(g, state, o);
        if (made < g->n_cuts[o])
            reach(&at[state + state_stride(g, o)], at[state].energy + g->price[o * TW_ZZ_LEVELS + made], point, o);
    }
}

/* One factor more, of which it is enough to look at those without another one between. */
static void take_steps(const lattice *g, int64_t point, int state)
{
    double energy = g->cell[point * g->n_states + state].energy;
    for (int i = 0; i < g->n_dims; i++) {
        const ladder *l = &g->dim[i];
        int64_t here = point / l->stride % l->n;
        for (int64_t next = here + 1; next < l->n; next++) {
            int64_t to = point + (next - here) * l->stride;
            if (l->divisor[next] % l->divisor[here] == 0)
                reach(&g->cell[to * g->n_states + state], energy, point, LOOP);
        }
    }
}

static void walk(const lattice *g)
{
    for (int64_t p = 0; p < g->n_points; p++) {
        price_point(g, p);
        for (int s = 0; s < g->n_states; s++) {
            if (g->cell[p * g->n_states + s].energy == INFINITY) continue;
            make_cuts(g, p, s);
            take_steps(g, p, s);
        }
    }
}

/* The steps of the path from the end to the beginning, and the cuts between them. */
static void trace(const lattice *g, tw_zz_nest *nest)
{
    int64_t point = g->n_points - 1;
    int state = g->n_states - 1, left = 0;
    tw_zz_nest back = {0};
    while (point > 0 || state > 0) {
        const cell *at = &g->cell[point * g->n_states + state];
        if (at->how == LOOP) {
            int i = 0;
            while (inside_of(g, point, i) == inside_of(g, at->from, i)) i++;
            back.loop[left].dim = g->dim[i].dim;
            back.loop[left++].size = inside_of(g, point, i) / inside_of(g, at->from, i);
            point = at->from;
        } else {
            int o = at->how, level = made_by(g, state, o) - 1 - (o > 0);
            if (level >= 0) back.cut[o][level] = left;
            state -= state_stride(g, o);
        }
    }
    *nest = (tw_zz_nest){.n_loops = left};
    for (int i = 0; i < left; i++) nest->loop[i] = back.loop[left - 1 - i];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < g->c->operand[o].n_levels; l++)
            nest->cut[o][l] = l + 1 == g->c->operand[o].n_levels ? left : left - back.cut[o][l];
    tw_zz_nest_settle(g->c, nest);
}

static tw_status find(lattice *g, tw_arena *scratch, double *bound, tw_zz_nest *nest)
{
    TW_ALLOC(scratch, g->cell, g->n_points * g->n_states);
    TW_ALLOC(scratch, g->price, TW_ZZ_OPERANDS * TW_ZZ_LEVELS);
    for (int64_t i = 0; i < g->n_points * g->n_states; i++) g->cell[i] = (cell){INFINITY, 0, NOTHING};
    g->cell[0].energy = 0;
    walk(g);
    double least = g->cell[g->n_points * g->n_states - 1].energy;
    *bound = g->c->machine->mac_pj * g->c->macs + price_of_sums(g) + least;
    if (least < INFINITY) trace(g, nest);
    return TW_OK;
}

tw_status tw_zz_least_energy(const tw_zz_case *c, tw_arena *scratch, double *bound, tw_zz_nest *nest)
{
    lattice *g;
    tw_arena_mark mark = tw_arena_save(scratch);
    TW_ALLOC(scratch, g, 1);
    g->c = c;
    *bound = 0;
    *nest = (tw_zz_nest){0};
    tw_status status = find_points(g) ? find(g, scratch, bound, nest) : TW_OK;
    tw_arena_rewind(scratch, mark);
    return status;
}
