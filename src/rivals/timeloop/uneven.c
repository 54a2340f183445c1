/* src/rivals/timeloop/uneven.c - the flows of one operand in a nest whose factors leave remainders over time.
 *
 * The last round of a loop is shorter where all loops of its dimension further outside are in theirs. Tiles of an operand that does
 * not slide are disjoint or the same, so that a tile enters whenever it is another one than before. What a part of the nest brings
 * depends on which dimensions are in their last rounds, and on nothing else: there are few such states, and each is looked at once.
 * A loop that moves the operand brings what is inside of it once per iteration; one that does not brings it again, unless all
 * that is inside is one tile, which is there. Loops over a fan-out divide. */
#include "rivals/timeloop/operand.h"

#include <math.h>

/* Positions that a dimension's loops over the fan-outs of memories up to m take. */
static int64_t space_of(const tw_tl_case *c, int dim, int m)
{
    int64_t n = 1;
    for (int i = 0; i < c->nest->n_loops; i++) {
        const tw_loopnest_loop *l = &c->nest->loop[i];
        if (l->dim == dim && l->level <= m && l->over >= 0) n *= l->bound;
    }
    return n;
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

typedef struct rounds { /* the loops over time outside of memory m's children */
    const tw_tl_case *c;
    int operand, m;
    unsigned relevant;
    bool array;   /* the children are the array: it keeps nothing            */
    double *memo; /* per loop and dimensions in their last rounds; NAN: open */
} rounds;

static int64_t iterations(const rounds *r, int i, unsigned last)
{
    const tw_loopnest_loop *l = &r->c->nest->loop[i];
    return last >> l->dim & 1 ? l->last : l->bound;
}

static bool is_outside(const rounds *r, int i)
{
    const tw_loopnest_loop *l = &r->c->nest->loop[i];
    return l->level <= r->m && l->over < 0;
}

/* Words of a child's tile, where the dimensions of `last` are in their last rounds. */
static double child_tile(const rounds *r, unsigned last)
{
    const tw_tl_case *c = r->c;
    double words = 1;
    for (int d = 0; d < c->einsum->n_dims; d++) {
        int64_t full = 1, size = 1;
        if (!(r->relevant >> d & 1)) continue;
        for (int i = c->nest->n_loops - 1; i >= 0; i--) {
            const tw_loopnest_loop *l = &c->nest->loop[i];
            if (l->dim != d || l->level <= r->m) continue;
            size += full * ((last >> d & 1 ? l->last : l->bound) - 1);
            full *= l->bound;
        }
        words *= (double)size;
    }
    return words;
}

/* Whether loops i and up bring one tile only. */
static bool is_one(const rounds *r, int i, unsigned last)
{
    for (; i < r->c->nest->n_loops; i++)
        if (is_outside(r, i) && r->relevant >> r->c->nest->loop[i].dim & 1 && iterations(r, i, last) > 1)
            return false;
    return !r->array;
}

/* Words that loops i and up bring, the first tile being another one than before. */
static double bring(const rounds *r, int i, unsigned last)
{
    const tw_loopnest *nest = r->c->nest;
    while (i < nest->n_loops && !is_outside(r, i)) i++;
    if (i == nest->n_loops) return r->array ? 1 : child_tile(r, last);
    double *memo = &r->memo[((size_t)i << r->c->einsum->n_dims) + last];
    if (!isnan(*memo)) return *memo;
    int dim = nest->loop[i].dim;
    double n = (double)iterations(r, i, last), words = bring(r, i + 1, last);
    bool stands = !r->array && !(r->relevant >> dim & 1) && is_one(r, i + 1, last);
    if (n > 1 && !stands) words += (n - 1) * bring(r, i + 1, last & ~(1u << dim));
    return *memo = words;
}

static tw_status words_into(const tw_tl_case *c, int operand, int m, double *out)
{
    rounds r = {.c = c, .operand = operand, .m = m, .array = m + 1 == c->machine->n_memories};
    tw_arena_mark mark = tw_arena_save(c->scratch);
    size_t n = (size_t)(c->nest->n_loops + 1) << c->einsum->n_dims;
    r.relevant = tw_einsum_relevant(&c->einsum->operand[operand]);
    TW_ALLOC(c->scratch, r.memo, n);
    for (size_t i = 0; i < n; i++) r.memo[i] = NAN;
    *out = bring(&r, 0, (1u << c->einsum->n_dims) - 1);
    tw_arena_rewind(c->scratch, mark);
    return TW_OK;
}

/* A remainder along a dimension that also lies over a fan-out leaves some positions with less to do, and one along a dimension by
 * which an operand slides changes what overlaps. */
static tw_status check(const tw_tl_case *c, int operand, tw_loc loc, tw_diag *diag)
{
    const tw_einsum_operand *op = &c->einsum->operand[operand];
    for (int i = 0; i < c->nest->n_loops; i++) {
        const tw_loopnest_loop *l = &c->nest->loop[i];
        if (l->last == l->bound) continue;
        if (l->over >= 0 || space_of(c, l->dim, c->machine->n_memories) > 1)
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
        double words, different = 1;
        TW_TRY(words_into(c, operand, m, &words));
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
