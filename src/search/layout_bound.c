/* src/search/layout_bound.c - the fewest passes over an array of all tiles of a part, where loops may be divided.
 *
 * Of the loops over the array let a be the longest, and b and c the others, two at most. The tiles are those of a cut of a times a cut
 * of b times a cut of c. For given cuts of b and c the passes of tiles with x points of a are a sum over the kinds of tiles.
 * Where one level cuts, a has tiles of one size and a rest, or tiles that differ by one: the least is a sum for each size, and a range of
 * sizes has the least of its sizes. 25 channels and 10 positions have no layout of one pass, 24 have: tiles of 25 are not tiles of 24.
 * Where several levels cut, the whole loop takes no fewer passes than its best length does for each of its points. So the least is
 * known for every longest tile of a and every largest tile of b and c: the least over all cuts of them that have such tiles.
 *
 * The largest tile has its sums in the innermost memory of the output: long tiles along b and c leave room for short ones along a. That is
 * what tells 49 positions of 18 channels, 86 % of four passes, from 4 of 256, which would be all of them. */
#include "search/layout.h"

#include "search/view.h"

#include <math.h>

enum { MOST_CUTS = 64, MOST_LEAST = 1 << 18 };

/* ---- cuts ---- */

typedef struct cut { /* kinds of tiles, and how many there are of each */
    int n;
    int64_t len[TW_PAIR_LONGEST];
    double count[TW_PAIR_LONGEST];
} cut;
typedef struct cuts { /* those whose largest tile has a given length */
    int n;
    cut of[MOST_CUTS];
} cuts;

static void add_cut(cuts *c, const tw_tiles *tiles)
{
    cut *to = &c->of[c->n++];
    to->n = tiles->n;
    for (int k = 0; k < tiles->n; k++) to->len[k] = tiles->len[k], to->count[k] = (double)tiles->count[k];
}

/* All ways to cut what is left into tiles up to a length, behind those that there are; false: there are too many. */
static bool partition(cuts *c, cut *now, int64_t left, int64_t longest)
{
    bool all = true;
    if (left == 0 && c->n == MOST_CUTS) return false;
    if (left == 0) c->of[c->n++] = *now;
    for (int64_t len = tw_min(left, longest); len > 0 && all; len--) {
        bool again = now->n > 0 && now->len[now->n - 1] == len;
        if (!again) now->len[now->n] = len, now->count[now->n++] = 0;
        now->count[now->n - 1]++;
        all = partition(c, now, left - len, len);
        now->count[now->n - 1]--;
        now->n -= !again;
    }
    return all;
}

/* One level cuts by one of two rules; several make any tiles. Where that is too much: tiles of any one length, as many as have all points;
 * none at all: nothing is known. */
static void list_cuts(int64_t extent, int64_t size, bool levels, cuts *c)
{
    c->n = 0;
    if (!levels) {
        int64_t count = tw_cdiv(extent, size);
        tw_tiles rest = tw_tiles_of(tw_split_by_size(extent, size));
        tw_tiles even = tw_tiles_of(tw_split_by_count(extent, count, TW_BALANCED));
        add_cut(c, &rest);
        if (tw_cdiv(extent, count) == size && extent % size > 0) add_cut(c, &even);
        return;
    }
    cut first = {.n = 1, .len = {size}, .count = {1}};
    if (extent <= TW_PAIR_LONGEST && partition(c, &first, extent - size, size)) return;
    c->n = 0;
    for (int64_t len = 1; size <= MOST_CUTS && len <= size; len++)
        c->of[c->n++] = (cut){.n = 1, .len = {len}, .count = {(double)extent / (double)len}};
}

/* ---- what is remembered ---- */

static int64_t extent_of(const tw_space *s, int i)
{
    return s->laid_loop[i] < 0 ? 1 : s->op->loop[s->laid_loop[i]].extent;
}

tw_status tw_layout_open_bounds(tw_space *s, int64_t n_tiles, tw_arena *arena)
{
    s->n_laid = 0;
    s->laid_least = NULL;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (!tw_layout_may_lie(s, l)) continue;
        if (s->n_laid == TW_LAID_LOOPS) return TW_OK;
        int at = s->n_laid++;
        for (; at > 0 && s->op->loop[s->laid_loop[at - 1]].extent < s->op->loop[l].extent; at--)
            s->laid_loop[at] = s->laid_loop[at - 1];
        s->laid_loop[at] = l;
    }
    for (int i = s->n_laid; i < TW_LAID_LOOPS; i++) s->laid_loop[i] = -1;
    if (s->n_laid == 0 || 2 * n_tiles > MOST_LEAST || extent_of(s, 1) > TW_LAID_LONGEST) return TW_OK;
    TW_ALLOC(arena, s->laid_least, 2 * n_tiles);
    return TW_OK;
}

/* Passes of all tiles with x points of the longest loop, by these cuts of the others, for each of these points. */
static double passes_of_cuts(const tw_space *s, int64_t x, const cut *b, const cut *c)
{
    int64_t len[TW_MAX_LOOPS] = {0};
    double sum = 0;
    len[s->laid_loop[0]] = x;
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < c->n; k++) {
            if (s->laid_loop[1] >= 0) len[s->laid_loop[1]] = b->len[i];
            if (s->laid_loop[2] >= 0) len[s->laid_loop[2]] = c->len[k];
            sum += b->count[i] * c->count[k] * (double)tw_layout_passes(s, len);
        }
    return sum / (double)x;
}

static uint32_t passes_with(const tw_space *s, int64_t x, const cuts *b, const cuts *c)
{
    double best = INFINITY;
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < c->n; k++) best = fmin(best, passes_of_cuts(s, x, &b->of[i], &c->of[k]));
    double all = ceil(best * (double)extent_of(s, 0) - 1e-6);
    return all < UINT32_MAX / 2 ? (uint32_t)all : 0;
}

/* Where what is remembered begins of tiles so long along b and c. */
static int64_t row_of(const tw_space *s, int64_t b, int64_t c, bool levels)
{
    int64_t room = 1 + tw_min(extent_of(s, 0), TW_LAID_LONGEST);
    return (((int64_t)levels * extent_of(s, 1) + b - 1) * extent_of(s, 2) + c - 1) * room;
}

/* Passes of all tiles, at least, the longest being up to `most` along a, and so long along b and c; several levels cut. 0: not known. */
static int64_t least_up_to(const tw_space *s, int64_t most, int64_t b, int64_t c)
{
    int64_t x = most, row = row_of(s, b, c, true);
    cuts of_b, of_c;
    while (x > 0 && atomic_load_explicit(&s->laid_least[row + x], memory_order_relaxed) == 0) x--;
    uint32_t least = x > 0 ? atomic_load_explicit(&s->laid_least[row + x], memory_order_relaxed) : UINT32_MAX;
    if (x == most) return least - 1;
    list_cuts(extent_of(s, 1), b, true, &of_b);
    list_cuts(extent_of(s, 2), c, true, &of_c);
    while (x++ < most) { /* what is known is one more, so that 0 is not */
        least = (uint32_t)tw_min(least, 1 + passes_with(s, x, &of_b, &of_c));
        atomic_store_explicit(&s->laid_least[row + x], least, memory_order_relaxed);
    }
    return least - 1;
}

/* The same where one level cuts, of tiles that are x long along a. */
static uint32_t least_at(const tw_space *s, int64_t x, const cuts *b, const cuts *c)
{
    cuts a;
    double best = INFINITY;
    list_cuts(extent_of(s, 0), x, false, &a);
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < c->n; k++)
            for (int j = 0; j < a.n; j++) {
                double sum = 0;
                for (int n = 0; n < a.of[j].n; n++)
                    sum += a.of[j].count[n] * (double)a.of[j].len[n] *
                           passes_of_cuts(s, a.of[j].len[n], &b->of[i], &c->of[k]);
                best = fmin(best, sum);
            }
    double all = ceil(best - 1e-3); /* a whole number, but for rounding */
    return all < UINT32_MAX / 2 ? (uint32_t)all : 0;
}

/* The least of all sizes in a range of a. */
static int64_t least_within(const tw_space *s, int64_t lo, int64_t hi, int64_t b, int64_t c)
{
    int64_t row = row_of(s, b, c, false), least = INT64_MAX;
    cuts of_b, of_c; /* filled in where something is not known yet */
    of_b.n = of_c.n = 0;
    for (int64_t x = lo; x <= hi; x++) {
        int64_t known = atomic_load_explicit(&s->laid_least[row + x], memory_order_relaxed);
        if (known == 0) { /* what is known is one more, so that 0 is not */
            if (of_b.n == 0) {
                list_cuts(extent_of(s, 1), b, false, &of_b);
                list_cuts(extent_of(s, 2), c, false, &of_c);
            }
            known = 1 + least_at(s, x, &of_b, &of_c);
            atomic_store_explicit(&s->laid_least[row + x], (uint32_t)known, memory_order_relaxed);
        }
        least = tw_min(least, known);
    }
    return least - 1;
}

/* ---- parts ---- */

int64_t tw_layout_at(const tw_space *s, int64_t a, int64_t b, int64_t c) { return least_within(s, a, a, b, c); }

int64_t tw_layout_room(const tw_space *s)
{
    int output = tw_op_output(s->op);
    const tw_memory *memory = &s->machine->memory[tw_path_innermost(s->path[output])];
    int64_t len[TW_MAX_LOOPS], points = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        len[l] = s->op->loop[l].extent;
        if (tw_space_depends(s, output, l)) points = tw_sat_mul(points, len[l]);
    }
    for (int i = 0; i < s->n_laid; i++)
        if (!tw_space_depends(s, output, s->laid_loop[i])) return INT64_MAX;
    if (memory->size == TW_UNLIMITED || tw_footprint_least(s, output, len) != points) return INT64_MAX;
    return memory->size / tw_max(1, tw_min(s->partial_units, s->elem_units[output]));
}

static tw_range range_of(const tw_space *s, const tw_part *p, int i)
{
    if (s->laid_loop[i] < 0) return (tw_range){1, 1};
    tw_range r = p->var[tw_var_size(s, s->frame[p->frame].n_tiled - 1, s->laid_loop[i])];
    int32_t extent = (int32_t)s->op->loop[s->laid_loop[i]].extent;
    return (tw_range){r.lo < extent ? r.lo : extent, r.hi < extent ? r.hi : extent};
}

/* The least over all sizes in the ranges of the part. */
static int64_t least_of_ranges(const tw_space *s, const tw_part *p)
{
    bool levels = s->frame[p->frame].n_tiled > 1;
    tw_range a = range_of(s, p, 0), b = range_of(s, p, 1), c = range_of(s, p, 2);
    int64_t room = tw_layout_room(s), least = INT64_MAX;
    for (int64_t y = b.lo; y <= b.hi; y++)
        for (int64_t z = c.lo; z <= c.hi; z++) {
            int64_t most = tw_min(a.hi, room / (y * z));
            if (most < a.lo) continue; /* which does not fit */
            if (most > TW_LAID_LONGEST) return 0;
            least = tw_min(least, levels ? least_up_to(s, most, y, z) : least_within(s, a.lo, most, y, z));
        }
    return least == INT64_MAX ? 0 : least;
}

int64_t tw_layout_least(const tw_space *s, const tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    tw_tiles tiles[TW_MAX_LOOPS];
    tw_spread ignored;
    bool chosen = true;
    for (unsigned rest = f->loops[0]; rest && chosen; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        chosen = tw_part_tiles(s, p, l, &tiles[l]);
    }
    if (chosen) return tw_layout_best(s, tiles, &ignored);
    if (s->limits.level[s->machine->n_memories - 2].has_unroll || !s->laid_least) return 0;
    return least_of_ranges(s, p);
}
