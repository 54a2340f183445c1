/* src/search/first.c - see first.h.
 *
 * Whether a tile fits is asked with footprints that no tile of these lengths exceeds, and with alignment; so what is built
 * here fits, but for policies of placement that leave gaps. */
#include "search/first.h"

#include "search/view.h"

#include <stdlib.h>

typedef struct plant {
    const tw_space *s;
    const tw_frame *f;
    const tw_first *first;
    int t; /* the level at hand */
    int64_t size[TW_MAX_MEMORIES][TW_MAX_LOOPS];
} plant;

/* ---- what fits ---- */

static int64_t buffers_in(const plant *p, int m, int o)
{
    const tw_space *s = p->s;
    bool output = o == tw_op_output(s->op), passes = p->f->memory[p->t] != m;
    if (!s->discipline->credits && passes) return tw_space_pass_slots(s, m, o);
    /* A partial sum and what is added to it, and where the sum goes. */
    int64_t least = output && s->discipline->adders && s->reductions ? 3 : 1;
    return tw_max(tw_max(least, p->first->buffers), s->limits.level[m - 1].slots[o].at_least);
}

static bool fits(const plant *p, const int64_t *len)
{
    const tw_space *s = p->s;
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t count[TW_MAX_OPERANDS], units[TW_MAX_OPERANDS];
        if (p->f->grain[m] != p->t) continue;
        for (int o = 0; o < s->op->n_operands; o++) {
            count[o] = tw_space_holds(s, m, o) ? buffers_in(p, m, o) : 0;
            bool inner = p->t == p->f->n_tiled - 1;
            int64_t each = inner ? tw_space_held_units(s, m, o, len) : s->elem_units[o];
            units[o] = tw_sat_mul(each, tw_footprint_most(s, o, len));
        }
        int64_t used = tw_stacked(count, units, s->op->n_operands, s->machine->memory[m].align, s->resident);
        if (used > s->machine->memory[m].size) return false;
    }
    return true;
}

/* ---- sizes that a loop may have ---- */

static int64_t piece_of(const plant *p, int l) { return p->s->op->loop[l].extent; }

/* What the lengths of tiles are multiples of, where the loop is cut: of the tile inside; of innermost ones as the machine wants
 * it, or so that no pass over an array is wasted. */
static int64_t step_of(const plant *p, int l, int64_t size)
{
    if (p->t != p->f->n_tiled - 1) return p->size[p->t + 1][l];
    if (!tw_taken_is_any(&p->s->taken[l])) return p->s->taken[l].step;
    for (int d = 0; d < p->f->n_dims; d++)
        if (p->f->loops[d] == 1u << l && size > p->f->size[d]) return p->f->size[d];
    return 1;
}

static int64_t least_of(const plant *p, int l)
{
    const tw_level_limits *limits = &p->s->limits.level[p->f->memory[p->t] - 1];
    int64_t piece = piece_of(p, l), least = tw_max(step_of(p, l, 1), tw_max(p->s->min_tile, limits->min_tile));
    if (p->t < p->f->n_tiled - 1) least = tw_max(least, p->size[p->t + 1][l]);
    least = tw_max(least, tw_cdiv(piece, limits->tiles[l].at_most));
    int64_t allowed = tw_number_above(&limits->sizes[l], least);
    if (p->t == p->f->n_tiled - 1) least = tw_space_size_near(p->s, p->f, p->t, l, least);
    return allowed == 0 ? piece : tw_min(tw_max(allowed, least), piece);
}

/* The largest allowed size that is not above `size`, 0: none. */
static int64_t allowed_below(const plant *p, int l, int64_t size)
{
    const tw_taken *taken = &p->s->taken[l];
    bool inner = p->t == p->f->n_tiled - 1;
    if (size >= piece_of(p, l) && (!inner || piece_of(p, l) <= taken->last)) return piece_of(p, l);
    int64_t step = step_of(p, l, size);
    if (inner) size = tw_number_below(&taken->tiles, size);
    return tw_number_below(&p->s->limits.level[p->f->memory[p->t] - 1].sizes[l], size / step * step);
}

/* The smallest size that cuts the loop into as many tiles, as far as it is allowed. */
static int64_t evened(const plant *p, int l, int64_t size)
{
    int64_t piece = piece_of(p, l), step = step_of(p, l, size), even = tw_cdiv(piece, tw_cdiv(piece, size));
    even = tw_cdiv(even, step) * step;
    return even < size && allowed_below(p, l, even) == even ? even : size;
}

/* ---- growth ---- */

/* Makes the loop as long as fits, `most` at most; whether it grew. */
static bool grow(plant *p, int l, int64_t most)
{
    int64_t *len = p->size[p->t], was = len[l], lo = was, hi = tw_min(most, piece_of(p, l));
    while (lo < hi) { /* lo fits */
        int64_t middle = hi - (hi - lo) / 2;
        len[l] = middle;
        if (fits(p, len))
            lo = middle;
        else
            hi = middle - 1;
    }
    len[l] = tw_max(was, allowed_below(p, l, lo));
    return len[l] > was;
}

static void grow_by_turns(plant *p)
{
    for (bool grows = true; grows;) {
        grows = false;
        for (int l = p->s->op->n_loops - 1; l >= 0; l--) grows |= grow(p, l, 2 * p->size[p->t][l]);
    }
}

/* Along the rows of an operand, and then what it does not have. */
static void grow_rows(plant *p, const tw_operand *operand)
{
    for (int a = operand->n_axes - 1; a >= 0; a--)
        for (int i = 0; i < operand->axis[a].n_terms; i++) grow(p, operand->axis[a].term[i].loop, TW_EXTENT_MAX);
    for (int l = p->s->op->n_loops - 1; l >= 0; l--) grow(p, l, TW_EXTENT_MAX);
}

/* The loops over a dimension of the array, until they fill it together. */
static void fill_dim(plant *p, int d, int64_t size)
{
    int64_t points = 1;
    for (int l = p->s->op->n_loops - 1; l >= 0; l--) {
        if (!(p->f->loops[d] >> l & 1)) continue;
        grow(p, l, tw_cdiv(size, tw_min(points, size)));
        points = tw_sat_mul(points, p->size[p->t][l]);
    }
}

static bool grow_level(plant *p)
{
    const tw_space *s = p->s;
    for (int l = 0; l < s->op->n_loops; l++) p->size[p->t][l] = least_of(p, l);
    if (!fits(p, p->size[p->t])) return false;
    for (int l = 0; l < s->op->n_loops; l++) /* sums are complete before they leave */
        if (s->op->loop[l].reduces) grow(p, l, TW_EXTENT_MAX);
    for (int d = 0; d < p->f->n_dims; d++) fill_dim(p, d, p->f->size[d]);
    if (p->first->growth == TW_GROW_TOGETHER)
        grow_by_turns(p);
    else
        grow_rows(p, &s->op->operand[p->first->growth == TW_GROW_READ ? 0 : tw_op_output(s->op)]);
    for (int l = 0; l < s->op->n_loops && p->first->even; l++) p->size[p->t][l] = evened(p, l, p->size[p->t][l]);
    return true;
}

/* Whether the compute engine does not take every size. */
static bool takes_some(const tw_space *s)
{
    for (int l = 0; l < s->op->n_loops; l++)
        if (!tw_taken_is_any(&s->taken[l])) return true;
    return false;
}

/* Tiles and a rest, wherever that is allowed and not the same. */
static void leave_rests(const tw_space *s, tw_part *part)
{
    const tw_frame *f = &s->frame[part->frame];
    for (int i = f->rule; i < f->modes; i++)
        if (tw_part_may_choose(s, part, i, 1)) part->var[i] = (tw_range){1, 1};
}

tw_status tw_first_part(const tw_space *s, int frame, const tw_first *first, tw_part **out)
{
    plant p = {.s = s, .f = &s->frame[frame], .first = first};
    bool empty;
    *out = NULL;
    for (p.t = p.f->n_tiled - 1; p.t >= 0; p.t--)
        if (!grow_level(&p)) return TW_OK;
    tw_part *part = tw_part_of_frame(s, frame, &empty);
    if (!part) return TW_ERR_NOMEM;
    for (int t = 0; t < p.f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++)
            part->var[tw_var_size(s, t, l)] = (tw_range){(int32_t)p.size[t][l], (int32_t)p.size[t][l]};
    if (!first->even || takes_some(s)) leave_rests(s, part);
    if (!empty && tw_part_complete(s, part))
        *out = part;
    else
        free(part);
    return TW_OK;
}

bool tw_first_way(int k, tw_first *out)
{
    static const int64_t buffers[] = {2, 1, 3, 4, 8};
    if (k >= 2 * TW_N_GROWTHS * (int)TW_COUNT(buffers)) return false;
    *out = (tw_first){.growth = (tw_growth)(k / 2 % TW_N_GROWTHS),
                      .buffers = buffers[k / (2 * TW_N_GROWTHS)],
                      .even = k % 2 == 0};
    return true;
}
