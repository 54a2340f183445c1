/* src/rivals/timeloop/uneven.c - the flows of one operand in a nest whose factors leave remainders over time.
 *
 * The last round of a loop is shorter where all loops of its dimension further outside are in theirs. So a dimension's tiles cover
 * its extent exactly, and each dimension can be counted alone: along one that moves the operand the tiles add up to the extent,
 * along one that does not they are there once per round outside of the innermost loop that does. Loops over a fan-out divide. */
#include "rivals/timeloop/operand.h"

typedef struct part { /* loops of one dimension in a part of the nest */
    int64_t rounds;   /* of all of them, from outside in              */
    int64_t space;    /* positions over fan-outs                      */
} part;

/* The loops over dim before the `end`th of the nest, of memories up to m. */
static part loops_of(const tw_tl_case *c, int dim, int end, int m)
{
    part p = {1, 1};
    for (int i = 0; i < end; i++) {
        const tw_loopnest_loop *l = &c->nest->loop[i];
        if (l->dim != dim || l->level > m) continue;
        if (l->over >= 0)
            p.space *= l->bound;
        else
            p.rounds = (p.rounds - 1) * l->bound + l->last;
    }
    return p;
}

/* The innermost loop over time of memories up to m that moves the operand; -1: none. */
static int innermost_mover(const tw_tl_case *c, unsigned relevant, int m)
{
    for (int i = c->nest->n_loops - 1; i >= 0; i--) {
        const tw_loopnest_loop *l = &c->nest->loop[i];
        if (l->level <= m && l->over < 0 && relevant >> l->dim & 1) return i;
    }
    return -1;
}

/* Words of the tile inside of memories up to m - 1, and with `fan_out` of the tiles side by side in its outer one's fan-out. A
 * dimension that is not cut outside of it is there as a whole. */
static int64_t tile_of(const tw_tl_case *c, int operand, int m, bool fan_out)
{
    int64_t size[TW_RIVAL_DIMS], volume = 0;
    for (int d = 0; d < c->einsum->n_dims; d++) {
        bool cut = false;
        size[d] = 1;
        for (int i = 0; i < c->nest->n_loops; i++) {
            const tw_loopnest_loop *l = &c->nest->loop[i];
            bool inside = l->level >= m || (fan_out && l->level == m - 1 && l->over >= 0);
            if (l->dim == d && inside) size[d] *= l->bound;
            cut |= l->dim == d && !inside;
        }
        if (!cut) size[d] = c->einsum->extent[d];
    }
    bool fits = tw_einsum_volume(&c->einsum->operand[operand], size, &volume);
    return fits ? volume : 0;
}

static double words_into(const tw_tl_case *c, int operand, int m)
{
    unsigned relevant = tw_einsum_relevant(&c->einsum->operand[operand]);
    bool array = m + 1 == c->machine->n_memories;
    int k = array ? c->nest->n_loops - 1 : innermost_mover(c, relevant, m);
    double words = 1;
    if (k < 0 && !array) return (double)tile_of(c, operand, m + 1, false);
    for (int d = 0; d < c->einsum->n_dims; d++) {
        int64_t space = loops_of(c, d, c->nest->n_loops, m).space;
        if (array || !(relevant >> d & 1))
            words *= (double)loops_of(c, d, k + 1, m).rounds;
        else
            words *= (double)(c->einsum->extent[d] / space);
    }
    return words;
}

/* A remainder along a dimension that also lies over a fan-out leaves some positions with less to do, and one along a dimension by
 * which an operand slides changes what overlaps. */
static tw_status check(const tw_tl_case *c, int operand, tw_loc loc, tw_diag *diag)
{
    const tw_einsum_operand *op = &c->einsum->operand[operand];
    for (int i = 0; i < c->nest->n_loops; i++) {
        const tw_loopnest_loop *l = &c->nest->loop[i];
        if (l->last == l->bound) continue;
        if (l->over >= 0 || loops_of(c, l->dim, c->nest->n_loops, c->machine->n_memories).space > 1)
            return tw_diag_error(diag, loc, "a remainder along '%s', which lies over a fan-out, cannot be counted",
                                 c->einsum->dim[l->dim]);
        for (int r = 0; r < op->n_ranks; r++)
            for (int t = 0; op->rank[r].n_terms > 1 && t < op->rank[r].n_terms; t++)
                if (op->rank[r].term[t].dim == l->dim)
                    return tw_diag_error(diag, loc,
                                         "a remainder along '%s', by which '%s' slides, cannot be counted",
                                         c->einsum->dim[l->dim], op->name);
    }
    for (int r = 0; r < op->n_ranks; r++)
        if (op->rank[r].n_terms > 1)
            return tw_diag_error(diag, loc, "remainders cannot be counted where '%s' slides", op->name);
    return TW_OK;
}

tw_status tw_tl_flows_uneven(const tw_tl_case *c, int operand, tw_loc loc, tw_diag *diag, tw_tl_flow *flow)
{
    unsigned relevant = tw_einsum_relevant(&c->einsum->operand[operand]);
    int64_t instances = 1;
    TW_TRY(check(c, operand, loc, diag));
    for (int m = 0; m < c->machine->n_memories; m++) {
        double words = words_into(c, operand, m), different = 1;
        flow[m] = (tw_tl_flow){.fan_out = 1, .tile = tile_of(c, operand, m, false), .instances = instances};
        for (int i = 0; i < c->nest->n_loops; i++) {
            const tw_loopnest_loop *l = &c->nest->loop[i];
            if (l->level != m || l->over < 0) continue;
            flow[m].fan_out *= l->bound;
            if (relevant >> l->dim & 1) different *= (double)l->bound;
        }
        if (flow[m].fan_out > 1) flow[m].spread = tile_of(c, operand, m + 1, true);
        flow[m].accesses = words * different;
        flow[m].received = words * (double)flow[m].fan_out;
        instances *= flow[m].fan_out;
    }
    return TW_OK;
}
