/* src/rivals/timeloop/price.c - see price.h. */
#include "rivals/timeloop/price.h"

#include <math.h>
#include <string.h>

static bool resides(const tw_tl_price *p, int m, int o) { return !(p->frame->bypass[m] >> o & 1); }

static double clusters_of(const tw_tl_price *p, int m)
{
    const tw_rival_memory *memory = &p->space->machine->memory[m];
    int64_t clusters = memory->instances / ((const tw_tl_level *)memory->extra)->cluster;
    return fmin(p->instances[m], (double)tw_max(1, clusters));
}

/* Iterations over the fan-outs of memories first..last that move the operand. */
static double moving(const tw_tl_price *p, int o, int first, int last)
{
    double n = 1;
    for (int m = first; m <= last; m++)
        for (int d = 0; d < p->space->n_dims; d++)
            if (p->space->relevant[o] >> d & 1) n *= p->frame->over[m][d];
    return n;
}

/* Words of an updated operand that an instance ever sees; where its tiles overlap, no more than all. */
static double own_words(const tw_tl_price *p, int o, int m)
{
    if (!p->space->einsum->operand[o].updated) return 0;
    if (p->space->slides[o]) return (double)p->space->words[o];
    return (double)p->space->words[o] / moving(p, o, 0, m - 1);
}

/* Whether a dimension moves an axis of the operand that is a sum of several loops. */
static bool slides_along(const tw_tl_space *s, int o, int d)
{
    const tw_einsum_operand *op = &s->einsum->operand[o];
    for (int r = 0; r < op->n_ranks; r++)
        for (int t = 0; op->rank[r].n_terms > 1 && t < op->rank[r].n_terms; t++)
            if (op->rank[r].term[t].dim == d) return true;
    return false;
}

/* Children in the fan-outs of memories first..last that may get their parts from each other, or the same in part. */
static double overlapping(const tw_tl_price *p, int o, int first, int last)
{
    double n = 1;
    for (int m = first; m <= last; m++)
        for (int d = 0; d < p->space->n_dims; d++)
            if (slides_along(p->space, o, d)) n *= p->frame->over[m][d];
    return n;
}

/* Blocks of so many words, a whole number below 2^52. */
static inline double up(double words, double block)
{
    double blocks = (double)(int64_t)(words / block);
    return blocks * block < words ? blocks + 1 : blocks;
}
static inline double share(double words, double block) { return words / block; }

/* Reads and updates of one outer instance and fills of one inner instance, counted in blocks that `round` makes of words. */
static inline __attribute__((always_inline)) double energy(const tw_tl_handover *h, double words,
                                                           double (*round)(double, double))
{
    double out = words * h->differ, pj = round(out - h->own_from, h->from_block) * h->read_pj;
    if (h->own_from > 0) pj += round(out, h->from_block) * h->update_pj;
    return pj * h->clusters_from + round(words - h->own_to, h->to_block) * h->write_pj * h->clusters_to;
}

double tw_tl_price_of(const tw_tl_handover *h, double words) { return energy(h, words, up); }

/* The line below the energy of a handover. Children that overlap may get parts from each other: then one of them may be all that
 * reads, and where there are several outer instances the tool spreads what neighbours hand on over all of them. */
static void bound_line(const tw_tl_price *p, tw_tl_handover *h)
{
    tw_tl_handover low = *h;
    double linked = overlapping(p, h->operand, h->from, h->to - 1);
    h->linked = linked;
    low.differ /= linked;
    h->pj = energy(&low, 0, share);
    h->pj_per_word = energy(&low, 1, share) - h->pj;
    if (linked > 1 && p->instances[h->from] > 1) {
        double fills = h->write_pj / h->to_block * h->clusters_to;
        h->pj_per_word -= fills * (1 - p->instances[h->from] / p->instances[h->to]);
    }
}

static void add_handover(tw_tl_price *p, int o, int from, int to)
{
    tw_tl_handover *h = &p->handover[p->n_handovers++];
    const tw_rival_memory *outer = &p->space->machine->memory[from], *inner = &p->space->machine->memory[to];
    *h = (tw_tl_handover){.operand = o,
                          .from = from,
                          .to = to,
                          .differ = moving(p, o, from, to - 1),
                          .own_from = own_words(p, o, from),
                          .own_to = own_words(p, o, to),
                          .clusters_from = clusters_of(p, from),
                          .clusters_to = clusters_of(p, to),
                          .from_block = (double)outer->block_words,
                          .to_block = (double)inner->block_words,
                          .read_pj = outer->read_pj,
                          .update_pj = outer->update_pj,
                          .write_pj = inner->write_pj};
    bound_line(p, h);
}

/* Whether the array is fed by a fan-out: its links depend on the loops over time. */
static bool feeds_array(const tw_tl_price *p)
{
    int m = p->space->n_memories - 1;
    for (int d = 0; d < p->space->n_dims; d++)
        if (p->frame->over[m][d] > 1) return true;
    return false;
}

/* The innermost memory of an operand hands it to the array word by word. */
static void add_array(tw_tl_price *p, int o, int m)
{
    const tw_rival_memory *memory = &p->space->machine->memory[m];
    double words = p->cycles * moving(p, o, m, p->space->n_memories - 1), own = own_words(p, o, m);
    bool updated = p->space->einsum->operand[o].updated;
    double low = words / overlapping(p, o, m, p->space->n_memories - 1);
    double pj = up(fmax(0, low - own), (double)memory->block_words) * memory->read_pj;
    if (updated) pj += up(low, (double)memory->block_words) * memory->update_pj;
    p->array_reads[m][o] = words - own;
    p->array_writes[m][o] = updated ? words : 0;
    if (!p->feeds_array) p->fixed_pj += pj * clusters_of(p, m);
}

static void add_operand(tw_tl_price *p, int o)
{
    int outer = -1;
    for (int m = 0; m < p->space->n_memories; m++) {
        if (!resides(p, m, o)) continue;
        if (outer >= 0 && p->n_handovers < TW_TL_HANDOVERS) add_handover(p, o, outer, m);
        outer = m;
    }
    add_array(p, o, outer);
}

/* Handovers say all, unless loops over a fan-out move an axis that is a sum of several loops, or feed the array. */
static bool is_exact(const tw_tl_price *p)
{
    const tw_tl_space *s = p->space;
    for (int m = 0; m < s->n_memories; m++)
        for (int d = 0; d < s->n_dims; d++)
            for (int o = 0; o < s->n_operands; o++)
                if ((p->frame->over[m][d] > 1 && slides_along(s, o, d)) ||
                    (s->slides[o] && s->einsum->operand[o].updated))
                    return false;
    return !p->feeds_array;
}

static double leak_of(const tw_tl_price *p)
{
    const tw_hierarchy *h = p->space->machine;
    double pj = 0;
    for (int m = 0; m < h->n_memories; m++) {
        const tw_tl_level *level = h->memory[m].extra;
        unsigned all = (1u << p->space->n_operands) - 1;
        double used = (p->frame->bypass[m] & all) == all ? 1 : p->instances[m];
        for (int g = 0; level->gate && g < h->n_memories; g++)
            if (strcmp(h->memory[g].name, level->gate) == 0 && h->memory[m].instances > h->memory[g].instances) {
                double gate = (p->frame->bypass[g] & all) == all ? 1 : p->instances[g];
                used = (double)h->memory[m].instances / (double)h->memory[g].instances * gate;
            }
        pj += h->memory[m].leak_pj * used;
    }
    return pj;
}

/* Every tensor passes the outermost memory once at least. */
static double least_cycles(const tw_tl_price *p)
{
    const tw_tl_space *s = p->space;
    double reads = 0, writes = 0;
    for (int o = 0; o < s->n_operands; o++) {
        if (s->slides[o]) continue;
        *(s->einsum->operand[o].updated ? &writes : &reads) += (double)s->words[o];
    }
    double least = fmax(reads / s->read_bw[0], writes / s->write_bw[0]);
    return fmax(p->cycles, floor(fmax(least, (reads + writes) / s->shared_bw[0]) * (1 - 1e-12)));
}

bool tw_tl_price_init(tw_tl_price *p, const tw_tl_space *s, const tw_tl_frame *frame)
{
    double positions = 1;
    *p = (tw_tl_price){.space = s, .frame = frame, .cycles = 1};
    for (int d = 0; d < s->n_dims; d++) p->base[d] = s->einsum->extent[d];
    for (int m = 0; m < s->n_memories; m++) {
        p->instances[m] = positions;
        for (int d = 0; d < s->n_dims; d++) {
            positions *= frame->over[m][d];
            p->base[d] /= frame->over[m][d];
        }
    }
    for (int m = s->n_memories - 1; m >= 0; m--)
        for (int d = 0; d < s->n_dims; d++)
            p->inside[m][d] = (m + 1 < s->n_memories ? p->inside[m + 1][d] : 1) * frame->over[m][d];
    for (int d = 0; d < s->n_dims; d++) p->cycles *= (double)p->base[d];
    p->fixed_pj = p->cycles * positions * s->machine->mac_pj;
    p->feeds_array = feeds_array(p);
    for (int o = 0; o < s->n_operands; o++) add_operand(p, o);
    p->leak_pj = leak_of(p);
    p->least_cycles = least_cycles(p);
    p->exact = is_exact(p);
    return p->n_handovers < TW_TL_HANDOVERS;
}

double tw_tl_price_tile(const tw_tl_price *p, int o, int m, const int64_t *time, int64_t *reach)
{
    const tw_einsum_operand *op = &p->space->einsum->operand[o];
    int64_t size[TW_RIVAL_DIMS];
    double volume = 1;
    for (int d = 0; d < p->space->n_dims; d++) size[d] = time[d] * p->inside[m][d];
    for (int r = 0; r < op->n_ranks; r++) {
        reach[r] = tw_einsum_reach(&op->rank[r], size);
        volume *= (double)reach[r];
    }
    return volume;
}

bool tw_tl_price_fits(const tw_tl_price *p, int m, const int64_t *time)
{
    const tw_tl_level *level = p->space->machine->memory[m].extra;
    int64_t reach[TW_RIVAL_RANKS];
    double words = 0;
    if (p->space->room[m] == TW_UNLIMITED) return true;
    for (int o = 0; o < p->space->n_operands; o++)
        if (resides(p, m, o)) words += tw_tl_price_tile(p, o, m, time, reach);
    return words <= (double)p->space->room[m] && words >= (double)p->space->room[m] * level->least_used;
}
