/* src/search/kernels.c - cycles of the executions of a kernel: exactly, and at least; see kernels.h. */
#include "search/kernels.h"

#include <math.h>

static const tw_engine *engine_of(const tw_space *s) { return &s->machine->engine[s->machine->compute]; }

/* Tiles of which the lengths along loops from l on are still to be chosen. */
typedef struct kinds {
    const tw_space *s;
    const tw_pieces *pieces;
    int64_t len[TW_MAX_LOOPS];
} kinds;

static int64_t cycles_of_kinds(kinds *k, int l, int64_t count)
{
    const tw_space *s = k->s;
    const tw_cost *cost = &engine_of(s)->cost;
    if (l == s->op->n_loops) {
        tw_kernel_nest nest = tw_nest_of(s->op, k->len, s->elem_units[tw_max(0, tw_op_output(s->op) - 1)]);
        return tw_sat_mul(count, tw_cost_cycles(cost, tw_cost_of_kernel(&cost->kernel, &nest, false)));
    }
    int64_t sum = 0;
    for (int i = 0; i < k->pieces[l].n; i++) {
        k->len[l] = k->pieces[l].len[i];
        sum = tw_sat_add(sum, cycles_of_kinds(k, l + 1, tw_sat_mul(count, k->pieces[l].count[i])));
    }
    return sum;
}

int64_t tw_kernels_exactly(const tw_space *s, const tw_pieces *pieces)
{
    kinds k = {.s = s, .pieces = pieces};
    return tw_cdiv(cycles_of_kinds(&k, 0, 1), engine_of(s)->count);
}

/* Rows that are unrolled at most where a core has no more than so many. */
static int64_t most_lanes(const tw_cost_kernel *k, int64_t rows)
{
    int64_t most = 1;
    for (int i = 0; i < k->n_unrolls; i++)
        if (k->unroll[i] <= rows) most = tw_max(most, k->unroll[i]);
    return most;
}

/* What so many executions and rounds take at least, where executions with a single round, or with part of one, take `each`
 * alone: some of them, as long as that is cheaper than a round more. */
static double at_most_one(double execs, double rounds, double each, double round)
{
    if (rounds <= execs) return execs * each;
    return execs * each + (rounds - execs) * fmin(each, round);
}

int64_t tw_kernels_least(const tw_view *v)
{
    const tw_space *s = v->s;
    const tw_cost_kernel *k = &engine_of(s)->cost.kernel;
    int inner = v->f->n_tiled - 1;
    int64_t share = 1; /* the longest parallel loop of a tile, at most */
    double parts = 1, smallest = 1,
           execs = (double)v->execs[inner + 1]; /* parallel points of all tiles, and of one     */
    for (int l = 0; l < s->op->n_loops; l++) {
        bool reduces = s->op->loop[l].reduces;
        parts *= (double)(reduces ? v->n[inner + 1][l] : s->op->loop[l].extent);
        if (reduces) continue;
        share = tw_max(share, v->hi[inner][l]);
        smallest *= (double)v->small[inner][l];
    }
    double cores = (double)tw_min(k->cores, share), lanes = (double)most_lanes(k, tw_cdiv(share, k->cores));
    double points = (double)v->points / cores * (double)k->per_point * fmax(1, (double)k->depth / lanes);
    double each = (double)(k->start + k->per_lane + k->barrier), rounds = parts / cores / lanes;
    double least = points + at_most_one(execs, rounds, each, (double)k->per_round);
    if (smallest > cores * lanes) /* each has several rounds */
        least = execs * each + fmax(points + rounds * (double)k->per_round, parts / cores * (double)k->row_least);
    least = least / TW_MILLI / (double)engine_of(s)->count * (1 - 1e-12);
    return least < 9e18 ? (int64_t)least : INT64_MAX;
}
