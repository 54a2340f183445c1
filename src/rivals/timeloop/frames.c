/* src/rivals/timeloop/frames.c - everything that may lie over the fan-outs, and everything that may pass by.
 *
 * A dimension lies on X or on Y of a fan-out, not on both, as the tool has it. Of two ways to lay the same factors out only the
 * first is kept: it changes nothing but names. */
#include "rivals/timeloop/space.h"

#include <math.h>
#include <string.h>

void tw_tl_space_init(tw_tl_space *s, const tw_rival *rival, int layer)
{
    const tw_rival_layer *l = &rival->layer[layer];
    const tw_tl_layer *extra = l->extra;
    *s = (tw_tl_space){.machine = rival->machine, .einsum = l->einsum, .limits = &extra->limits};
    s->n_memories = rival->machine->n_memories;
    s->n_dims = l->einsum->n_dims;
    s->n_operands = l->einsum->n_operands;
    for (int o = 0; o < s->n_operands; o++) {
        const tw_einsum_operand *op = &l->einsum->operand[o];
        s->relevant[o] = tw_einsum_relevant(op);
        for (int r = 0; r < op->n_ranks; r++) {
            s->slides[o] |= op->rank[r].n_terms > 1;
            if (op->rank[r].n_terms == 1) s->jumps[o] |= 1u << op->rank[r].term[0].dim;
        }
        bool fits = tw_einsum_volume(op, l->einsum->extent, &s->words[o]);
        assert(fits);
        (void)fits;
    }
    for (int m = 0; m < s->n_memories; m++) {
        const tw_rival_memory *memory = &rival->machine->memory[m];
        bool unlimited = memory->size_bits == TW_UNLIMITED;
        s->room[m] = unlimited
                         ? TW_UNLIMITED
                         : (int64_t)floor((double)(memory->size_bits / memory->word_bits) / memory->buffering);
        s->read_bw[m] = s->write_bw[m] = s->shared_bw[m] = INFINITY;
        for (int p = 0; p < memory->n_ports; p++) {
            double *to[] = {s->read_bw, s->write_bw, s->shared_bw};
            to[memory->port[p].kind][m] = memory->port[p].most;
        }
        s->latency += (double)((const tw_tl_level *)memory->extra)->latency;
    }
}

/* ---- fan-outs ---- */

typedef struct builder {
    const tw_tl_space *s;
    tw_tl_frame *frame;
    int n, room;
    bool cut;       /* there is no room for more: nothing else is gone through */
    tw_tl_frame at; /* the one that is being built */
    int64_t rest[TW_RIVAL_DIMS];
} builder;

static void next_memory(builder *b, int m);

/* How the order of a fan-out and its split tie dimensions to X or Y. The order lists some dimensions; the others follow it. */
typedef struct tie {
    unsigned x, y;      /* dimensions that can only lie there            */
    int most_x, most_y; /* of the others, so many at most                */
} tie;

static tie tie_of(const tw_tl_block *b, int split, int n_dims)
{
    tie t = {0};
    for (int i = 0; i < b->n_inner; i++) *(i < split ? &t.x : &t.y) |= 1u << b->inner[i];
    t.most_x = tw_max(0, split - b->n_inner) > n_dims ? n_dims : (int)tw_max(0, split - b->n_inner);
    t.most_y = n_dims - (int)tw_max(split, b->n_inner);
    return t;
}

/* Whether the dimensions over 1 fit onto X and Y; fills on_y. */
static bool fits_tie(builder *b, int m, unsigned used, tie t)
{
    const tw_tl_level *level = b->s->machine->memory[m].extra;
    unsigned open = used & ~(t.x | t.y), y = 0;
    do {
        int64_t size[2] = {1, 1};
        unsigned all = y | (t.y & used);
        for (int d = 0; d < b->s->n_dims; d++) size[all >> d & 1] *= b->at.over[m][d];
        b->at.on_y[m] = all;
        if (size[0] <= level->fan_x && size[1] <= level->fan_y && __builtin_popcount(open & ~y) <= t.most_x &&
            __builtin_popcount(y) <= t.most_y)
            return true;
        y = (y - open) & open;
    } while (y != 0);
    return false;
}

static bool lay_out(builder *b, int m)
{
    const tw_tl_block *limit = &b->s->limits->space[m];
    int n = b->s->n_dims, first = limit->split < 0 ? n : limit->split, last = limit->split < 0 ? 0 : limit->split;
    unsigned used = 0;
    for (int d = 0; d < n; d++) used |= (unsigned)(b->at.over[m][d] > 1) << d;
    for (int split = first; split >= last; split--)
        if (fits_tie(b, m, used, tie_of(limit, split, n))) return true;
    return false;
}

static void next_factor(builder *b, int m, int d)
{
    const tw_tl_level *level = b->s->machine->memory[m].extra;
    int64_t most = level->fan_x * level->fan_y;
    if (d == b->s->n_dims) {
        if (lay_out(b, m)) next_memory(b, m + 1);
        return;
    }
    int64_t rest = b->rest[d];
    for (int i = 0; i < d; i++) most /= b->at.over[m][i];
    for (int64_t f = 1; f <= tw_min(most, rest) && !b->cut; f++) {
        if (rest % f != 0 || !tw_tl_allows(&b->s->limits->space[m], d, f)) continue;
        b->at.over[m][d] = (int32_t)f;
        b->rest[d] = rest / f;
        next_factor(b, m, d + 1);
    }
    b->rest[d] = rest;
    b->at.over[m][d] = 1;
}

static bool uses_enough(const builder *b)
{
    double used = 1;
    for (int m = 0; m < b->s->n_memories; m++)
        for (int d = 0; d < b->s->n_dims; d++) used *= (double)b->at.over[m][d];
    return used >= b->s->limits->least_parallel * (double)b->s->machine->array_instances;
}

/* ---- what passes by ---- */

static void next_bypass(builder *b, int m)
{
    unsigned all = (1u << b->s->n_operands) - 1, fixed = b->s->limits->bypass[m] & all;
    unsigned open = m == 0 ? 0 : all & ~(fixed | b->s->limits->keep[m]);
    if (m == b->s->n_memories) {
        if (b->n == b->room)
            b->cut = true;
        else
            b->frame[b->n++] = b->at;
        return;
    }
    for (unsigned x = open;; x = (x - 1) & open) {
        b->at.bypass[m] = fixed | x;
        next_bypass(b, m + 1);
        if (x == 0 || b->cut) return;
    }
}

static void next_memory(builder *b, int m)
{
    if (m < b->s->n_memories)
        next_factor(b, m, 0);
    else if (uses_enough(b))
        next_bypass(b, 0);
}

tw_status tw_tl_frames(const tw_tl_space *s, tw_arena *arena, tw_arena *scratch, tw_tl_frame **out, int *n,
                       bool *cut)
{
    builder b = {.s = s, .room = TW_TL_FRAMES};
    tw_arena_mark mark = tw_arena_save(scratch);
    TW_ALLOC(scratch, b.frame, b.room);
    for (int m = 0; m < s->n_memories; m++)
        for (int d = 0; d < s->n_dims; d++) b.at.over[m][d] = 1;
    memcpy(b.rest, s->einsum->extent, sizeof b.rest);
    next_memory(&b, 0);
    TW_ALLOC(arena, *out, b.n + 1);
    memcpy(*out, b.frame, (size_t)b.n * sizeof **out);
    tw_arena_rewind(scratch, mark);
    *n = b.n;
    *cut = b.cut;
    return TW_OK;
}
