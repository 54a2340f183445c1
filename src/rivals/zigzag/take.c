/* src/rivals/zigzag/take.c - a nest from elsewhere as a mapping of the tool: an order of loops, a cut per operand and memory, and what lies
 * over the array. */
#include "rivals/plain.h"
#include "rivals/zigzag/zigzag.h"

#include <string.h>

static void take_unrolling(const tw_hierarchy *h, const tw_plain *p, tw_zz_unrolling *u)
{
    u->n = 0;
    for (int a = 0; a < h->n_axes; a++)
        for (int i = 0; i < p->n_space; i++)
            if (p->space[i].axis == a && u->n < (int)TW_COUNT(u->part))
                u->part[u->n++] = (tw_zz_unroll){a, p->space[i].dim, p->space[i].bound};
}

/* All rounds of a nest of the tool are alike, and together they are what the array leaves to do. */
static tw_status check_rounds(const tw_rival_layer *l, const tw_plain *p, const tw_zz_case *c, tw_diag *diag)
{
    for (int d = 0; d < c->n_dims; d++) {
        int64_t rounds = 1;
        for (int i = 0; i < p->n_loops; i++)
            if (p->loop[i].dim == d) rounds *= p->loop[i].bound;
        if (rounds != c->steps[d])
            return tw_diag_error(diag, l->loc,
                                 "loops over '%s' make %" PRId64
                                 " rounds of which not all are alike; a nest of ZigZag has %" PRId64 " that are",
                                 l->einsum->dim[d], rounds, c->steps[d]);
    }
    return TW_OK;
}

static void take_nest(const tw_plain *p, const tw_zz_case *c, tw_zz_nest *nest)
{
    *nest = (tw_zz_nest){.n_loops = p->n_loops};
    for (int i = 0; i < p->n_loops; i++) {
        nest->loop[i].dim = p->loop[p->n_loops - 1 - i].dim;
        nest->loop[i].size = p->loop[p->n_loops - 1 - i].bound;
    }
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++)
            nest->cut[o][l] = p->n_loops - p->outside[c->operand[o].level[l].memory][c->operand[o].index];
    tw_zz_nest_settle(c, nest);
}

static tw_status check_room(const tw_rival *rival, const tw_rival_layer *l, const tw_zz_case *c,
                            const tw_zz_nest *nest, tw_diag *diag)
{
    int m;
    if (tw_zz_nest_fits(c, nest, &m)) return TW_OK;
    return tw_diag_infeasible(diag, l->loc, "tiles of %.0f bits do not fit into the %" PRId64 " of '%s'",
                              tw_zz_memory_bits(c, nest, m), rival->machine->memory[m].size_bits,
                              rival->machine->memory[m].name);
}

tw_status tw_zz_take(const tw_rival *rival, int layer, const tw_plain *p, tw_work work, const tw_rival **out)
{
    const tw_rival_layer *l = &rival->layer[layer];
    tw_zz_extra *x;
    tw_zz_unrolling *u;
    tw_zz_nest *nest;
    tw_zz_case *c;
    TW_ALLOC(work.arena, x, 1);
    TW_ALLOC(work.arena, u, 1);
    TW_ALLOC(work.arena, nest, 1);
    TW_ALLOC(work.scratch, c, 1);
    *x = *(const tw_zz_extra *)l->extra;
    take_unrolling(rival->machine, p, u);
    TW_TRY(tw_zz_case_build(rival->machine, l->einsum, &x->facts, u, l->loc, work.diag, c));
    TW_TRY(check_rounds(l, p, c, work.diag));
    take_nest(p, c, nest);
    TW_TRY(check_room(rival, l, c, nest, work.diag));
    x->unrolling = u;
    x->n_unrollings = 1;
    x->chosen = nest;
    return tw_zz_put_in_place(rival, layer, x, c, work, out);
}
