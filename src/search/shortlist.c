/* src/search/shortlist.c - see shortlist.h. */
#include "search/shortlist.h"

#include "search/fills.h"
#include "search/kernels.h"
#include "search/layout.h"
#include "search/queue.h"
#include "search/view.h"
#include "tile/box.h"
#include "tile/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_COUNTS = 4096,  /* of tiles along a loop that are all looked at, and of the smallest sizes */
    MOST_SIZES = 16,     /* of a loop at one level,                               */
    ROOM = 4,            /* of which so many are left for those that do not divide, if they are too many */
    MOST_PARALLEL = 4,   /* loops of a level that are put into every order        */
    MOST_WEIGHED = 8000, /* nests of a frame                                      */
    MOST_OUTER = 400,    /* of two levels, for each choice of the inner one */
    MOST_LOOKS = 200000, /* choices of sizes of a frame,                          */
    ALL_LOOKS = 300000,  /* and of all; but of each                               */
    FEW_LOOKS = 5000,    /* so many                                               */
    WEIGH_WORK = 20,     /* of weighing a nest                                    */
    LAY_WORK = 50,       /* of laying tiles over an array, in looks               */
    MOST_FILLS = 256,    /* tiles that fill it well                               */
    PLAY_SHARE = 4,      /* so many steps of a queue are a piece of work          */
    MOST_PLACES = TW_SHORTLIST_LEVELS * TW_MAX_LOOPS,
};

typedef struct nest_search {
    const tw_space *s;
    const tw_frame *f;
    tw_shortlist *shortlist;
    double below;       /* weight that something has to beat          */
    int64_t left;       /* nests that may still be weighed            */
    int64_t looks_left; /* choices of sizes that may still be looked at */
    tw_pulse pulse;
    unsigned windows;
    unsigned small; /* levels in which no whole window has room */
    double slack;   /* times as many passes as needed do no harm */
    bool slides;    /* windows slide where that spares something   */
    bool windowed;  /* some may                                    */
    bool divides;   /* reductions are cut in the outer one of two levels, too */
    int n_sizes[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS];
    int64_t sizes[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS][MOST_SIZES]; /* of each level, falling */
    tw_candidate candidate;                                       /* at hand */
    /* of its sizes */
    int64_t laid; /* passes, where loops may be divided; 0: not known yet */
    int64_t compute, execs;
    int64_t ends; /* cycles: see ends_of */
    int64_t trips[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS];
    int64_t units[TW_SHORTLIST_LEVELS][TW_MAX_OPERANDS]; /* of a buffer                        */
    int64_t sweep[TW_SHORTLIST_LEVELS][TW_MAX_OPERANDS]; /* of all tiles, each once            */
    int64_t fresh[TW_SHORTLIST_LEVELS][TW_MAX_OPERANDS]; /* the same if windows slide where they may */
    int64_t shaped[TW_MAX_MEMORIES]
                  [TW_MAX_OPERANDS]; /* cycles of a transfer that depend on the tile's shape, 0: not so */
    int n_cut[TW_SHORTLIST_LEVELS];
    int n_parallel[TW_SHORTLIST_LEVELS];
} nest_search;

/* ---- sizes ---- */

typedef struct cut { /* a loop in tiles of two lengths */
    int64_t len[2], n[2];
} cut;

/* Where tiles that differ by one at most have this size they are meant, otherwise tiles and a rest. */
static cut cut_of(int64_t extent, int64_t size)
{
    int64_t count = tw_cdiv(extent, size), small = extent / count, n_large = extent % count;
    if (tw_cdiv(extent, count) != size) return (cut){{size, extent - (count - 1) * size}, {count - 1, 1}};
    return (cut){{small + 1, small}, {n_large, count - n_large}};
}

/* Passes over an array when the loop is cut into tiles of this size, and `with` points of others lie beside each of its own. */
static int64_t passes_of(int64_t extent, int64_t size, int64_t with, int64_t rows)
{
    cut c = cut_of(extent, size);
    return c.n[0] * tw_cdiv(tw_sat_mul(c.len[0], with), rows) + c.n[1] * tw_cdiv(tw_sat_mul(c.len[1], with), rows);
}

/* Units of the dimension that a loop lies over; 1: none. */
static int64_t rows_of(const nest_search *c, int l)
{
    int d = c->f->over.dim[l] - 1;
    return d >= 0 && d < c->f->n_dims ? c->f->size[d] : 1;
}

/* Points of the other loops over the same dimension, if they are not cut. */
static int64_t beside(const nest_search *c, int l)
{
    int64_t points = 1;
    int d = c->f->over.dim[l] - 1;
    for (int i = 0; i < c->s->op->n_loops && d >= 0; i++)
        if (i != l && (c->f->loops[d] >> i & 1)) points = tw_sat_mul(points, c->s->op->loop[i].extent);
    return points;
}

/* Whether the machine takes tiles of this size. */
static bool is_taken(const nest_search *c, int t, int l, int64_t size)
{
    return tw_space_size_near(c->s, c->f, t, l, size) == size;
}

/* Only the innermost level decides about passes: a quarter too many at most, or so many that movers still take longer. */
static bool is_allowed(const nest_search *c, int t, int l, int64_t size)
{
    const tw_level_limits *limits = &c->s->limits.level[c->f->memory[t] - 1];
    bool inner = t == c->f->n_tiled - 1;
    int64_t extent = c->s->op->loop[l].extent, rows = inner ? rows_of(c, l) : 1, with = inner ? beside(c, l) : 1;
    if (!is_taken(c, t, l, size)) return false;
    if ((c->windows >> l & 1) && !(c->small >> t & 1) && is_taken(c, t, l, extent)) return size == extent;
    if (size < extent && extent / tw_cdiv(extent, size) < tw_max(c->s->min_tile, limits->min_tile)) return false;
    return (double)passes_of(extent, size, with, rows) <=
           c->slack * (double)tw_cdiv(tw_sat_mul(extent, with), rows);
}

static void add_size(nest_search *c, int t, int l, int64_t size)
{
    int n = c->n_sizes[t][l], at = 0;
    int64_t *sizes = c->sizes[t][l];
    while (at < n && sizes[at] > size) at++;
    if (n == MOST_SIZES || (at < n && sizes[at] == size)) return;
    memmove(&sizes[at + 1], &sizes[at], (size_t)(n - at) * sizeof size);
    sizes[at] = size;
    c->n_sizes[t][l]++;
}

/* Numbers of tiles to look at, rising: all up to MOST_COUNTS, then one for each of the smallest sizes; 0: no more. */
static int64_t count_after(int64_t extent, int64_t count)
{
    if (count < tw_min(extent, MOST_COUNTS)) return count + 1;
    int64_t size = tw_min(tw_cdiv(extent, count) - 1, MOST_COUNTS);
    return size < 1 ? 0 : tw_cdiv(extent, size);
}

/* Those that divide; if there are too many, so far apart that there is room down to 1. */
static void list_divisors(nest_search *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent;
    int n_divisors = 0;
    for (int64_t count = 1; count > 0; count = count_after(extent, count))
        n_divisors += extent % count == 0 && is_allowed(c, t, l, extent / count);
    double apart = n_divisors > MOST_SIZES ? pow((double)extent, 1.0 / (MOST_SIZES - ROOM)) : 1, before = INFINITY;
    for (int64_t count = 1; count > 0; count = count_after(extent, count)) {
        bool divides = extent % count == 0 && is_allowed(c, t, l, extent / count);
        if (!divides || (double)extent / (double)count * apart > before) continue;
        before = (double)extent / (double)count;
        add_size(c, t, l, extent / count);
    }
}

/* What sizes had best be multiples of: the points that are done at a time, or units of an array, the other loops over its dimension
 * being whole. */
static int64_t grain_of(const nest_search *c, int l)
{
    const tw_cost *cost = &c->s->machine->engine[c->s->machine->compute].cost;
    int64_t cycles, grain = tw_cost_grain(cost, &cycles), rows = rows_of(c, l);
    return grain > 0 && !c->s->op->loop[l].reduces ? grain : rows / tw_gcd(rows, beside(c, l));
}

/* Whether a size between half and twice as much is there that takes no more passes. */
static bool is_matched(const nest_search *c, int t, int l, int64_t size)
{
    int64_t extent = c->s->op->loop[l].extent, grain = grain_of(c, l), passes = passes_of(extent, size, 1, grain);
    for (int i = 0; i < c->n_sizes[t][l]; i++) {
        int64_t other = c->sizes[t][l][i];
        if (2 * other > size && other < 2 * size && passes_of(extent, other, 1, grain) <= passes) return true;
    }
    return false;
}

/* Whole passes and a rest, where what divides takes more. */
static void list_passes(nest_search *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent, grain = grain_of(c, l);
    for (int64_t size = grain; grain > 1 && size < extent; size *= 2)
        if (is_allowed(c, t, l, size) && !is_matched(c, t, l, size)) add_size(c, t, l, size);
}

/* Where several loops lie over a dimension, those that divide it: tiles of 8 x 8 and their rests fill 16 units, tiles of 7 x 14
 * do not. */
static void list_shares(nest_search *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent, rows = rows_of(c, l);
    for (int64_t size = rows; size > 1 && beside(c, l) > 1; size--)
        if (rows % size == 0 && size < extent && is_allowed(c, t, l, size)) add_size(c, t, l, size);
}

/* Where loops may be divided: sizes that fill the array best, the other loops being whole or cut in two or in four, as far as their
 * sums have room. */
static void list_laid(nest_search *c, int t, int l)
{
    const tw_space *s = c->s;
    int memory = tw_path_innermost(s->path[tw_op_output(s->op)]), other[TW_MAX_LOOPS], n = 0, ways = 1;
    if (!c->f->joined || t != c->f->n_tiled - 1 || c->f->over.dim[l] == 0) return;
    if (tw_layout_is_moved(s)) return; /* there has to be room for those that divide */
    for (unsigned rest = c->f->loops[0] & ~(1u << l); rest && n < 3; rest &= rest - 1)
        other[n++] = __builtin_ctz(rest), ways *= 3;
    for (int way = 0; way < ways; way++) {
        int64_t len[TW_MAX_LOOPS], room = s->machine->memory[memory].size / tw_max(1, s->partial_units);
        for (int i = 0; i < s->op->n_loops; i++) len[i] = 1;
        for (int i = 0, code = way; i < n; i++, code /= 3) {
            len[other[i]] = tw_min(tw_cdiv(s->op->loop[other[i]].extent, INT64_C(1) << code % 3), TW_LAID_LONGEST);
            room /= len[other[i]];
        }
        int64_t size = room > 0 ? tw_layout_fill(s, l, room, len) : 0;
        if (size > 0 && is_allowed(c, t, l, size)) add_size(c, t, l, size);
    }
}

/* The smallest size from this one on that the compute engine takes. */
static int64_t taken_above(const nest_search *c, int t, int l, int64_t size)
{
    const tw_taken *taken = &c->s->taken[l];
    int64_t above =
        t == c->f->n_tiled - 1 ? tw_number_above(&taken->tiles, size) : tw_cdiv(size, taken->step) * taken->step;
    return above > 0 ? tw_min(above, c->s->op->loop[l].extent) : size;
}

/* First those that divide, then those that waste no pass, then others, if there is room. */
static void list_good(nest_search *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent;
    list_laid(c, t, l);
    list_divisors(c, t, l);
    list_passes(c, t, l);
    list_shares(c, t, l);
    double before = (double)extent;
    for (int64_t count = count_after(extent, 1); count > 0; count = count_after(extent, count)) {
        int64_t size = taken_above(c, t, l, tw_cdiv(extent, count));
        if (tw_cdiv(extent, size) != count || !is_allowed(c, t, l, size) || 4 * (double)size > 3 * before) continue;
        before = (double)size;
        add_size(c, t, l, size);
    }
}

/* Where the machine takes none of these, others, whatever passes they waste. */
static void list_sizes(nest_search *c, int t, int l)
{
    const double slack = c->slack;
    list_good(c, t, l);
    if (c->n_sizes[t][l] > 0) return;
    c->slack = INFINITY;
    list_good(c, t, l);
    c->slack = slack;
}

/* ---- the weight of a nest ---- */

typedef struct nest {
    int n, end[TW_SHORTLIST_LEVELS]; /* places, and those before the end of each level */
    int64_t trips[MOST_PLACES];
    double rest[MOST_PLACES]; /* length of the last tile as a share of the others                         */
    unsigned depends[TW_MAX_OPERANDS]; /* places that change the operand's tile */
} nest;

static nest nest_of(const nest_search *c)
{
    nest n = {0};
    for (int t = 0; t < c->f->n_tiled; t++) {
        for (int i = 0; i < c->n_cut[t]; i++) {
            int l = c->candidate.order[t][i];
            for (int o = 0; o < c->s->op->n_operands; o++)
                if (tw_space_depends(c->s, o, l)) n.depends[o] |= 1u << n.n;
            cut k = cut_of(t > 0 ? c->candidate.size[t - 1][l] : c->s->op->loop[l].extent, c->candidate.size[t][l]);
            n.rest[n.n] = k.len[0] - k.len[1] > 1 ? (double)k.len[1] / (double)k.len[0] : 1;
            n.trips[n.n++] = c->trips[t][l];
        }
        n.end[t] = n.n;
    }
    return n;
}

static unsigned span_of(int from, int to) { return (1u << to) - (1u << from); }

static int64_t product_of(const nest *n, unsigned places)
{
    int64_t product = 1;
    for (; places; places &= places - 1) product = tw_sat_mul(product, n->trips[__builtin_ctz(places)]);
    return product;
}

/* The same in whole tiles, rests being parts of them. */
static double whole_of(const nest *n, unsigned places)
{
    double product = 1;
    for (; places; places &= places - 1) {
        int i = __builtin_ctz(places);
        product *= (double)(n->trips[i] - 1) + n->rest[i];
    }
    return product;
}

/* Units that all tiles of these lengths have together, `n_tiles` along each loop. Several loops of an axis may be cut: each tile of the one
 * reaches as far as each tile of the other takes it. */
static int64_t sweep_of(const nest_search *c, int o, const int64_t *n_tiles, const int64_t *len)
{
    const tw_operand *operand = &c->s->op->operand[o];
    int64_t units = c->s->elem_units[o];
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int64_t sum = 1, tiles = 1; /* what the tiles of the terms so far reach together */
        for (int i = 0; i < axis->n_terms; i++) {
            int l = axis->term[i].loop;
            int64_t step = llabs(axis->term[i].coef), n = n_tiles[l];
            int64_t steps = n > 1 ? tw_max(0, c->s->op->loop[l].extent - n) : len[l] - 1;
            sum = tw_sat_add(tw_sat_mul(n, sum), tw_sat_mul(tiles, tw_sat_mul(step, steps)));
            tiles = tw_sat_mul(tiles, n);
        }
        sum = axis->divisor > 1 ? tw_cdiv(sum, axis->divisor) : tw_max(1, sum - c->s->overhang[o][a]);
        units = tw_sat_mul(units, sum);
    }
    return units;
}

/* The same of the tiles of level t whose windows slide along loop `slide`: those of a piece are one. */
static int64_t slid_sweep(const nest_search *c, int t, int o, int slide)
{
    int64_t len[TW_MAX_LOOPS], n_tiles[TW_MAX_LOOPS];
    for (int l = 0; l < c->s->op->n_loops; l++) {
        bool slides = l == slide;
        int64_t piece = t > 0 ? c->candidate.size[t - 1][l] : c->s->op->loop[l].extent;
        len[l] = slides ? piece : c->candidate.size[t][l];
        n_tiles[l] = (t > 0 ? c->trips[0][l] : 1) * (slides ? 1 : c->trips[t][l]);
    }
    return sweep_of(c, o, n_tiles, len);
}

/* Whether the tiles of level t of the operand are one sweep along loop l: no other loop of its own is cut, nor is l outside. */
static bool sweeps_once(const nest_search *c, int t, int o, int l)
{
    for (unsigned rest = c->s->loops[o]; rest; rest &= rest - 1) {
        int k = __builtin_ctz(rest);
        if ((k != l && c->trips[t][k] > 1) || (t > 0 && c->trips[0][k] > 1)) return false;
    }
    return true;
}

/* Loops along which windows of the operand are weighed that slide from tile to tile of level t, as a mask. How long a sweep waits that
 * begins behind stores is not estimated well enough: in a queue for both ways there has to be one sweep. */
static unsigned slides_along(const nest_search *c, int t, int o)
{
    unsigned loops = 0;
    for (int m = 1; m < c->s->machine->n_memories; m++) {
        if (c->f->grain[m] != t || !c->s->slides[m][o]) continue;
        bool both = c->s->machine->engine[c->s->mover[m][o]].carries == TW_BOTH_WAYS;
        for (unsigned rest = c->s->slides[m][o]; rest; rest &= rest - 1) {
            int l = __builtin_ctz(rest);
            if (c->trips[t][l] > 1 && (!both || sweeps_once(c, t, o, l))) loops |= 1u << l;
        }
    }
    return loops;
}

/* What slides brings least. */
static int64_t fresh_of(const nest_search *c, int t, int o)
{
    int64_t least = c->sweep[t][o];
    for (unsigned slides = slides_along(c, t, o); slides; slides &= slides - 1)
        least = tw_min(least, slid_sweep(c, t, o, __builtin_ctz(slides)));
    return least;
}

typedef struct residency { /* a choice of how long a memory keeps an input */
    int keep;
    int slide;      /* the loop along which its window slides, -1: whole tiles come                 */
    unsigned first; /* places that stand on their first index when a tile comes: see program/flow.h */
    int64_t buffers, transfers, moved, held;
    int64_t
        further; /* of a window that slides: units more with which the first window of the next sweep has room beside the last one of this */
} residency;

/* `asked`: the same of the memory inside. */
static residency residency_of(const nest_search *c, const nest *n, int m, int o, unsigned asked, int keep)
{
    int t = c->f->grain[m], end = n->end[t], depth = end - keep;
    unsigned running = (span_of(depth, end) & ~n->depends[o]) | span_of(end, n->n), back = running & ~asked;
    residency s = {.keep = keep, .slide = -1, .first = asked | running, .buffers = 1};
    int q = back ? __builtin_ctz(back) : end;
    if (q < end) s.buffers = product_of(n, n->depends[o] & span_of(q + 1, end));
    s.transfers = product_of(n, span_of(0, n->n) & ~s.first);
    s.moved = tw_sat_mul(c->sweep[t][o], product_of(n, span_of(0, n->n) & ~s.first & ~n->depends[o]));
    if (s.transfers > s.buffers) s.buffers++; /* the next one comes meanwhile */
    s.held = tw_sat_mul(s.buffers, c->units[t][o]);
    return s;
}

/* The term by which the loop moves a window of the operand, NULL: none; *reach is how far the tile's other loops reach. */
static const tw_term *term_along(const nest_search *c, int t, int o, int l, int64_t *reach)
{
    const tw_operand *operand = &c->s->op->operand[o];
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        const tw_term *found = NULL;
        *reach = 1;
        for (int i = 0; i < axis->n_terms; i++) {
            if (axis->term[i].loop == l)
                found = &axis->term[i];
            else
                *reach += llabs(axis->term[i].coef) * (c->candidate.size[t][axis->term[i].loop] - 1);
        }
        if (found) return found;
    }
    return NULL;
}

/* The residency becomes that of a window that slides along loop l: of the next ones only what is new comes. */
static void let_slide(const nest_search *c, const nest *n, int m, int o, int l, residency *s)
{
    int t = c->f->grain[m];
    int64_t reach = 0, window, ahead;
    const tw_term *term = term_along(c, t, o, l, &reach);
    int64_t step = llabs(term->coef); /* transposed convolutions walk backwards */
    ahead = step * c->candidate.size[t][l];
    window = reach + ahead - step;
    s->slide = l;
    s->moved = tw_sat_mul(slid_sweep(c, t, o, l), product_of(n, span_of(0, n->n) & ~s->first & ~n->depends[o]));
    int64_t each = tw_cdiv(tw_sat_mul(c->units[t][o], ahead), window);
    s->held = tw_sat_add(c->units[t][o], tw_sat_mul(s->buffers - 1, each));
    s->further = tw_sat_mul(tw_max(0, tw_cdiv(window, ahead) + 1 - s->buffers), each);
}

/* A window that slides along the innermost loop that moves it; false: it cannot. `inside` is what the memory inside does. */
static bool sliding_of(const nest_search *c, const nest *n, int m, int o, const residency *inside, residency *out)
{
    int t = c->f->grain[m], begin = t > 0 ? n->end[t - 1] : 0, at = n->end[t] - 1;
    int64_t len[TW_MAX_LOOPS];
    while (at >= begin && !(n->depends[o] >> at & 1)) at--;
    if (at < begin || !c->slides) return false;
    int l = c->candidate.order[t][at - begin];
    for (int i = 0; i < c->s->op->n_loops; i++) len[i] = c->candidate.size[t][i];
    if (!(c->s->slides[m][o] >> l & 1) || !tw_windows_overlap(c->s->op, o, l, len)) return false;
    *out = residency_of(c, n, m, o, inside->first, n->end[t] - 1 - at);
    if (out->buffers > 2) return false;
    out->keep = n->end[t] - begin + 1;
    let_slide(c, n, m, o, l, out);
    return true;
}

/* Whether some input is ever in memory m. */
static bool holds_inputs(const tw_space *s, int m)
{
    for (int o = 0; o < tw_op_output(s->op); o++)
        if (tw_space_holds(s, m, o)) return true;
    return false;
}

typedef struct memory_choice { /* where all inputs reside, and for how long, in one memory */
    const nest_search *c;
    const nest *n;
    int m;
    int64_t room;
    const residency *inside; /* the same of the memory inside */
    residency now[TW_MAX_OPERANDS], best[TW_MAX_OPERANDS];
    int64_t least, least_room; /* units moved, and held, by the best */
} memory_choice;

static void choose_residencies(memory_choice *w, int o, int64_t moved, int64_t held)
{
    if (held > w->room || moved > w->least) return;
    if (o == tw_op_output(w->c->s->op)) {
        if (moved == w->least && held >= w->least_room) return;
        w->least = moved;
        w->least_room = held;
        memcpy(w->best, w->now, sizeof w->best);
        return;
    }
    if (!tw_space_holds(w->c->s, w->m, o)) {
        choose_residencies(w, o + 1, moved, held);
        return;
    }
    int t = w->c->f->grain[w->m], n_keeps = w->n->end[t] - (t > 0 ? w->n->end[t - 1] : 0);
    unsigned kept = w->c->s->machine->memory[w->m].keeps, before = 0;
    if (!(kept & tw_role_of(w->c->s->op, o)) || w->c->s->machine->memory[w->m].whole) n_keeps = 0;
    for (int keep = 0; keep <= n_keeps; keep++) {
        residency s = residency_of(w->c, w->n, w->m, o, w->inside[o].first, keep);
        if (keep > 0 && s.first == before) continue;
        before = s.first;
        bool passes = s.first == w->inside[o].first && w->inside[o].slide >= 0;
        if (passes)
            let_slide(w->c, w->n, w->m, o, w->inside[o].slide, &s); /* what is new is all that it is asked for */
        w->now[o] = s;
        choose_residencies(w, o + 1, tw_sat_add(moved, s.moved), tw_sat_add(held, s.held));
    }
    if (sliding_of(w->c, w->n, w->m, o, &w->inside[o], &w->now[o]))
        choose_residencies(w, o + 1, tw_sat_add(moved, w->now[o].moved), tw_sat_add(held, w->now[o].held));
}

/* Cycles of engines: of all commands, of those of the busiest operand, and of those that are over when the outermost loop takes
 * its second step. */
typedef struct loads {
    int64_t all[TW_MAX_ENGINES], most[TW_MAX_ENGINES], early[TW_MAX_ENGINES];
    double energy; /* of what is moved, if energy is weighed */
    double units;  /* of what is moved where traffic is weighed */
} loads;

/* Adds what moving so many units of operand o into memory m, or out of it, weighs. */
static void charge(const nest_search *c, loads *busy, int m, int o, int64_t units)
{
    const tw_goal *goal = &c->shortlist->goal;
    const tw_memory *memory = c->s->machine->memory;
    if (goal->measure == TW_CYCLES && isinf(c->shortlist->energy)) return; /* nobody asks */
    int64_t each = memory[c->s->outside[m][o]].energy_fj + memory[m].energy_fj;
    busy->energy += (double)units * (double)each;
    if (goal->memory >= 0 ? tw_goal_crosses(goal, m) : goal->engine == c->s->mover[m][o])
        busy->units += (double)units;
}

/* Cycles of so many transfers of an operand into or out of memory m that carry so much together; `slid`: parts of tiles. */
static int64_t transfers_of(const nest_search *c, int m, int o, int64_t commands, int64_t units, bool slid)
{
    const tw_engine *engine = &c->s->machine->engine[c->s->mover[m][o]];
    int64_t one = tw_max(1, units / tw_max(1, commands)), each = tw_engine_busy(engine, one);
    double share = slid ? (double)one / (double)c->units[c->f->grain[m]][o] : 1;
    if (c->shaped[m][o] > 0) each = tw_max(each, (int64_t)(share * (double)c->shaped[m][o]));
    return tw_max(tw_sat_mul(commands, each), tw_busy_of(engine, commands, units));
}

static void load(const nest_search *c, loads *busy, int m, int o, tw_load moved, bool slid)
{
    int e = c->s->mover[m][o];
    int64_t cycles = transfers_of(c, m, o, moved.transfers, moved.units, slid);
    busy->all[e] = tw_sat_add(busy->all[e], cycles);
    busy->most[e] = tw_max(busy->most[e], cycles);
    charge(c, busy, m, o, moved.units);
}

/* Cycles of one of so many transfers. */
static double transfer_of(const nest_search *c, int m, int o, int64_t commands, int64_t units, bool slid)
{
    return (double)transfers_of(c, m, o, commands, units, slid) / (double)tw_max(1, commands);
}

/* Cycles of a whole tile. */
static int64_t tile_cycles(const nest_search *c, int m, int o)
{
    const tw_engine *engine = &c->s->machine->engine[c->s->mover[m][o]];
    return tw_max(c->shaped[m][o], tw_cost_of_units(&engine->cost, c->units[c->f->grain[m]][o]));
}

typedef struct burden { /* of a nest */
    loads busy;
    int64_t waits;  /* cycles in which the array waits for its only buffer of sums, */
    int64_t sweeps; /* and for the first rows of windows that slide                 */
    bool slides;    /* some window does                                             */
    bool restarts;  /* and begins again behind stores, in the queue of a mover that carries both ways */
    int64_t sums[TW_MAX_MEMORIES];
    residency kept[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* inputs */
} burden;

/* Units of a buffer of the output in memory m, which takes more where sums are not finished. */
static int64_t sum_units(const nest_search *c, int m)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op), inner = c->f->n_tiled - 1;
    int64_t units = c->units[c->f->grain[m]][output];
    bool sums = c->n_cut[inner] > c->n_parallel[inner] && m == tw_path_innermost(s->path[output]);
    int64_t wide = tw_machine_units(s->machine, s->op->accumulator, 1);
    return sums ? tw_sat_mul(units / s->elem_units[output], tw_max(wide, s->elem_units[output])) : units;
}

/* Sums in memory m, of which `room` is left: as many as the outermost reduction sweeps over, and one that is stored. */
static void keep_sums(nest_search *c, const nest *n, int m, int64_t *room, burden *w)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op), t = c->f->grain[m], end = n->end[t];
    unsigned swept = span_of(0, end), reductions = swept & ~n->depends[output];
    int q = reductions ? __builtin_ctz(reductions) : end;
    int64_t stores = product_of(n, n->depends[output] & swept), units = sum_units(c, m);
    int64_t held = product_of(n, n->depends[output] & span_of(q, end));
    bool several = product_of(n, n->depends[output]) > held;
    if (!tw_space_holds(s, m, output)) return;
    c->candidate.keep[m][output] = (int8_t)(held > 1 ? end - q : 0);
    w->sums[m] = held + (several && tw_sat_mul(held + 1, units) <= *room);
    *room -= tw_sat_mul(w->sums[m], units);
    if (several && w->sums[m] == 1) w->waits = tw_sat_add(w->waits, tw_sat_mul(stores, tile_cycles(c, m, output)));
    load(c, &w->busy, m, output, (tw_load){stores, c->sweep[t][output]}, false);
}

/* Where the first window of a sweep has no room beside the last one of the sweep before, its rows come while nothing runs; `left` is what room
 * there is. In a queue for both ways, where only single sweeps are weighed, loads are all alike, and the first one is longer than they are. */
static void await_sweeps(const nest_search *c, int m, int o, int64_t *left, burden *w)
{
    int t = c->f->grain[m];
    const residency *s = &w->kept[m][o];
    int64_t sweeps = s->transfers / tw_max(1, c->trips[t][s->slide]), first = tile_cycles(c, m, o);
    bool both = c->s->machine->engine[c->s->mover[m][o]].carries == TW_BOTH_WAYS;
    int64_t alike = both ? (int64_t)transfer_of(c, m, o, s->transfers, s->moved, true) : first;
    w->slides = true;
    w->restarts |= both && sweeps > 1;
    if (sweeps > 1 && s->further <= *left) {
        *left -= s->further;
        sweeps = 1;
    }
    w->sweeps = tw_sat_add(w->sweeps, tw_sat_mul(tw_max(0, sweeps - 1), first) + tw_max(0, first - alike));
}

/* Chooses what the memories keep; false: it does not fit. */
static bool keep_most(nest_search *c, const nest *n, burden *w)
{
    const tw_space *s = c->s;
    residency inside[TW_MAX_OPERANDS];
    int level = c->f->n_tiled - 1;
    for (int o = 0; o < s->op->n_operands; o++) inside[o] = (residency){.slide = -1};
    for (int m = s->machine->n_memories - 1; m > 0; m--) {
        int64_t room = s->machine->memory[m].size;
        keep_sums(c, n, m, &room, w);
        if (room < 0) return false;
        if (!holds_inputs(s, m)) continue;
        for (int o = 0; o < s->op->n_operands; o++)
            if (c->f->grain[m] != level) inside[o].slide = -1; /* tiles of another level */
        level = c->f->grain[m];
        memory_choice inputs = {.c = c, .n = n, .m = m, .room = room, .inside = inside, .least = INT64_MAX};
        choose_residencies(&inputs, 0, 0, 0);
        if (inputs.least == INT64_MAX) return false;
        int64_t left = room - inputs.least_room;
        for (int o = 0; o < tw_op_output(s->op); o++) {
            if (!tw_space_holds(s, m, o)) continue;
            w->kept[m][o] = inputs.best[o];
            c->candidate.keep[m][o] = (int8_t)inputs.best[o].keep;
            bool passes = inside[o].slide >= 0 && inside[o].first == inputs.best[o].first;
            inside[o] = inputs.best[o];
            if (inside[o].slide >= 0 && !passes) await_sweeps(c, m, o, &left, w);
            int e = s->mover[m][o];
            int64_t before = w->busy.all[e];
            load(c, &w->busy, m, o, (tw_load){inside[o].transfers, inside[o].moved}, inside[o].slide >= 0);
            if (inputs.best[o].first & 1) w->busy.early[e] = tw_sat_add(w->busy.early[e], w->busy.all[e] - before);
        }
    }
    return true;
}

/* The way of the first tiles into memory m; `queued`: one behind the other, as far as a mover has no units for them all. */
static int64_t first_tiles(const nest_search *c, int m, bool queued)
{
    const tw_space *s = c->s;
    int64_t most = 0, all[TW_MAX_ENGINES] = {0};
    for (int o = 0; o < tw_op_output(s->op); o++) {
        if (!tw_space_holds(s, m, o)) continue;
        int e = s->mover[m][o];
        const tw_engine *engine = &s->machine->engine[e];
        int64_t one = tile_cycles(c, m, o);
        all[e] = tw_sat_add(all[e], one);
        most = tw_max(most, one);
        if (queued) most = tw_max(most, tw_cdiv(all[e], engine->count));
    }
    return most;
}

/* The way of the first tiles in and of the last one out. */
static int64_t ends_of(const nest_search *c)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op);
    int64_t cycles = tw_cdiv(s->machine->launch, TW_MILLI), before = 0;
    for (int m = 1; m < s->machine->n_memories; m++) {
        if (tw_space_holds(s, m, output)) cycles = tw_sat_add(cycles, tile_cycles(c, m, output));
        if (!holds_inputs(s, m)) continue;
        cycles = tw_sat_add(cycles, first_tiles(c, m, before == 0));
        before = m;
    }
    return cycles;
}

static bool is_lighter(const tw_candidate *a, const tw_candidate *b)
{
    return a->weight < b->weight || (a->weight == b->weight && a->moving < b->moving);
}

/* Whether two candidates have the same tiles; loops may lie over the array in other ways. */
static bool is_cut_alike(const tw_space *s, const tw_candidate *a, const tw_candidate *b)
{
    const tw_frame *f = &s->frame[a->frame], *g = &s->frame[b->frame];
    return f->n_tiled == g->n_tiled && memcmp(f->memory, g->memory, sizeof f->memory) == 0 &&
           memcmp(a->size, b->size, sizeof a->size) == 0;
}

/* Whether loops may be divided and tiles are the same along those that lie over the array, as far as these are known: estimates of such tiles err
 * alike, so that others are worth more. */
static bool is_filled_alike(const tw_space *s, const tw_candidate *a, const tw_candidate *b)
{
    int t = s->frame[a->frame].n_tiled - 1;
    if (a->frame != b->frame || !s->frame[a->frame].joined || s->n_laid == 0) return false;
    for (int i = 0; i < s->n_laid; i++)
        if (a->size[t][s->laid_loop[i]] != b->size[t][s->laid_loop[i]]) return false;
    return true;
}

/* Whether two candidates that are cut alike are one nest. */
static bool is_same_nest(const tw_space *s, const tw_candidate *a, const tw_candidate *b)
{
    for (int t = 0; t < s->frame[a->frame].n_tiled; t++) {
        size_t n_cut = 0;
        for (int l = 0; l < s->op->n_loops; l++)
            n_cut += a->size[t][l] < (t > 0 ? a->size[t - 1][l] : s->op->loop[l].extent);
        if (memcmp(a->order[t], b->order[t], n_cut) != 0) return false;
    }
    return a->frame == b->frame && memcmp(a->keep, b->keep, sizeof a->keep) == 0;
}

static bool is_tried(const tw_space *s, const tw_shortlist *shortlist, const tw_candidate *candidate)
{
    for (int i = 0; i < shortlist->n_tried; i++)
        if (is_cut_alike(s, candidate, &shortlist->tried[i]) && is_same_nest(s, candidate, &shortlist->tried[i]))
            return true;
    return false;
}

static void serve(const tw_space *s, tw_shortlist *shortlist, const tw_candidate *candidate)
{
    int at = 0, n = shortlist->n;
    bool limited = shortlist->cycles != INT64_MAX && shortlist->goal.measure != TW_CYCLES;
    if (is_tried(s, shortlist, candidate)) return;
    for (int i = 0; i < n;
         i++) { /* one of each choice of sizes; windows that slide move less, and may wait for too long */
        tw_candidate *d = &shortlist->candidate[i];
        if (limited && d->slides != candidate->slides) continue;
        if (!is_cut_alike(s, d, candidate) && !is_filled_alike(s, d, candidate)) continue;
        if (!is_lighter(candidate, d)) return;
        memmove(d, d + 1, (size_t)(n - i - 1) * sizeof *d);
        n--;
        break;
    }
    while (at < n && !is_lighter(candidate, &shortlist->candidate[at])) at++;
    if (at == TW_SHORTLIST_CANDIDATES) return;
    if (n == TW_SHORTLIST_CANDIDATES) n--;
    memmove(&shortlist->candidate[at + 1], &shortlist->candidate[at], (size_t)(n - at) * sizeof *candidate);
    shortlist->candidate[at] = *candidate;
    shortlist->n = n + 1;
}

static double energy_of(const nest_search *c, const loads *busy)
{
    const tw_engine *compute = &c->s->machine->engine[c->s->machine->compute];
    return busy->energy + (double)c->s->points_inside * (double)compute->energy_fj;
}

/* The objective of a program that takes so many cycles and moves what is in `busy`. */
static double weight_of(const nest_search *c, int64_t cycles, const loads *busy)
{
    switch (c->shortlist->goal.measure) {
    case TW_ENERGY: return energy_of(c, busy);
    case TW_EDP: return energy_of(c, busy) * (double)cycles;
    case TW_TRAFFIC: return busy->units;
    default: return (double)cycles;
    }
}

/* Whether a program that takes at least so long, and moves at least so much, may be worth a place. Executions are a preference,
 * no part of its time. */
static bool is_wanted(const nest_search *c, int64_t cycles, int64_t execs, const loads *busy)
{
    const tw_shortlist *shortlist = c->shortlist;
    double weight = weight_of(c, tw_sat_add(cycles, execs / c->shortlist->execs), busy);
    if (weight >= c->below || cycles > shortlist->cycles) return false;
    if (isfinite(shortlist->energy) && energy_of(c, busy) > shortlist->energy) return false;
    return shortlist->n < TW_SHORTLIST_CANDIDATES || weight <= shortlist->candidate[shortlist->n - 1].weight;
}

/* How many times longer the transfer of a whole tile is than a transfer as estimated, which is a whole tile's where shapes matter. */
static double larger_than_mean(const nest_search *c, const nest *n, int m, int o, unsigned own)
{
    return c->shaped[m][o] > 0 ? 1 : (double)product_of(n, own) / whole_of(n, own);
}

/* Cycles of the whole program where the mover that stores the output of memory m loads inputs, too; 0: it does not. */
static int64_t queue_cycles(const nest_search *c, const nest *n, int m, const burden *w)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op), t = c->f->grain[m], e = s->mover[m][output];
    if (w->sums[m] == 0) return 0; /* the output is not there */
    const tw_engine *engine = &s->machine->engine[e];
    unsigned places = span_of(0, n->end[t]);
    if (engine->carries != TW_BOTH_WAYS || output > TW_QUEUE_INPUTS || n->end[t] > TW_QUEUE_PLACES) return 0;
    tw_queue q = {.n_places = n->end[t],
                  .output = n->depends[output] & places,
                  .exec = (double)c->compute / whole_of(n, places),
                  .units = (int)tw_min(engine->count, TW_QUEUE_UNITS),
                  .prefetches = engine->prefetches,
                  .sums = (int)tw_min(w->sums[m], TW_QUEUE_SUMS + 1)};
    memcpy(q.trips, n->trips, (size_t)n->end[t] * sizeof *q.trips);
    memcpy(q.rest, n->rest, (size_t)n->end[t] * sizeof *q.rest);
    q.store = transfer_of(c, m, output, product_of(n, q.output), c->sweep[t][output], false) *
              larger_than_mean(c, n, m, output, q.output);
    for (int o = 0; o < output; o++) {
        if (!tw_space_holds(s, m, o) || s->mover[m][o] != e) continue;
        const residency *kept = &w->kept[m][o];
        unsigned own = places & n->depends[o];
        q.load[q.n_inputs] = transfer_of(c, m, o, kept->transfers, kept->moved, kept->slide >= 0) *
                             larger_than_mean(c, n, m, o, own);
        q.shrinks[q.n_inputs] = own;
        q.first[q.n_inputs++] = kept->first & places;
    }
    double cycles = q.n_inputs > 0 ? tw_queue_cycles(&q, &c->shortlist->n_played) : 0;
    return cycles < 9e18 ? (int64_t)cycles : INT64_MAX;
}

/* Cycles of a mover, of which those of a mover that carries both ways include the ends. */
static int64_t between_ends(const tw_engine *engine, int64_t cycles, int64_t ends)
{
    return engine->carries == TW_BOTH_WAYS ? tw_max(0, cycles - ends) : cycles;
}

/* Cycles of the first step of the outermost loop and of the others, when executions take so long in all: what comes in the first
 * step alone hides behind its executions, not behind all. Queues are played elsewhere. */
static int64_t steps_of(const nest_search *c, const nest *n, const loads *busy, int64_t compute)
{
    const tw_machine *machine = c->s->machine;
    int64_t steps = n->n > 0 ? n->trips[0] : 1, first = compute / steps, other = first;
    for (int e = 0; e < machine->n_engines; e++) {
        if (machine->engine[e].carries == TW_BOTH_WAYS) continue;
        int64_t early = busy->early[e] / machine->engine[e].count;
        int64_t each = (busy->all[e] - busy->early[e]) / steps / machine->engine[e].count;
        first = tw_max(first, tw_sat_add(early, each));
        other = tw_max(other, each);
    }
    return tw_sat_add(first, tw_sat_mul(other, steps - 1));
}

/* Cycles of a nest of which nothing waits for a buffer or in a queue. */
static int64_t flowing(const nest_search *c, const nest *n, const burden *w)
{
    const tw_machine *machine = c->s->machine;
    int64_t cycles = steps_of(c, n, &w->busy, tw_sat_add(c->compute, tw_sat_add(w->waits, w->sweeps)));
    for (int e = 0; e < machine->n_engines; e++) {
        int64_t count = machine->engine[e].count, all = w->busy.all[e], each = tw_cdiv(all, count);
        /* Units that take turns may each get one operand; which one is known where the queue is played. */
        if (count > 1 && machine->engine[e].carries != TW_BOTH_WAYS) each = tw_max(each, w->busy.most[e]);
        cycles = tw_max(cycles, between_ends(&machine->engine[e], each, c->ends));
    }
    return tw_sat_add(cycles, c->ends);
}

/* Pieces of work of looking at sizes and weighing nests, and of playing queues. */
static int64_t weighed_of(const tw_shortlist *shortlist)
{
    return shortlist->n_looked + WEIGH_WORK * shortlist->n_weighed;
}

static int64_t played_of(const tw_shortlist *shortlist) { return shortlist->n_played / PLAY_SHARE; }

/* Weighs the nest with what its memories keep, if that is new: with windows that slide only where some do. */
static void weigh_kept(nest_search *c, bool slides)
{
    const tw_machine *machine = c->s->machine;
    nest n = nest_of(c);
    burden w = {.waits = 0};
    c->slides = slides;
    c->shortlist->n_weighed++;
    c->left -= played_of(c->shortlist) < c->shortlist->most_played ? 1 : c->left;
    if (!keep_most(c, &n, &w) || w.slides != slides || w.restarts) return;
    int64_t cycles = flowing(c, &n, &w), longer = c->execs / c->shortlist->execs;
    for (int m = 1; m < machine->n_memories && is_wanted(c, cycles, c->execs, &w.busy); m++) {
        int64_t queued = queue_cycles(c, &n, m, &w);
        int64_t besides = tw_sat_add(tw_cdiv(machine->launch, TW_MILLI), w.sweeps);
        if (queued > 0) cycles = tw_max(cycles, tw_sat_add(queued, besides));
    }
    c->candidate.cycles = tw_sat_add(cycles, longer);
    c->candidate.slides = slides;
    c->candidate.moving = 0;
    for (int e = 0; e < machine->n_engines; e++)
        c->candidate.moving = tw_sat_add(c->candidate.moving, w.busy.all[e]);
    c->candidate.weight = weight_of(c, c->candidate.cycles, &w.busy);
    if (cycles > c->shortlist->above && is_wanted(c, cycles, c->execs, &w.busy))
        serve(c->s, c->shortlist, &c->candidate);
}

/* Whole tiles and windows that slide: what moves less may wait more. */
static void weigh(nest_search *c)
{
    unsigned slides = 0;
    for (int t = 0; t < c->f->n_tiled && c->windowed; t++)
        for (int o = 0; o < tw_op_output(c->s->op); o++) slides |= slides_along(c, t, o);
    weigh_kept(c, false);
    if (slides) weigh_kept(c, true);
}

/* ---- orders and sizes ---- */

/* Whether the same operands depend on both: then it is all the same which of them is outside. */
static bool are_alike(const tw_space *s, int a, int b)
{
    for (int o = 0; o < s->op->n_operands; o++)
        if (tw_space_depends(s, o, a) != tw_space_depends(s, o, b)) return false;
    return true;
}

/* Whether a loop that is like the k-th, but comes before it in the operator, is still to be placed from i on. */
static bool comes_later(const nest_search *c, int t, int i, int k)
{
    const int8_t *order = c->candidate.order[t];
    for (int j = i; j < c->n_parallel[t]; j++)
        if (order[j] < order[k] && are_alike(c->s, order[j], order[k])) return true;
    return false;
}

/* Whether sums may stay while the loops outside of a reduction run, or some of them: there is one memory for them. */
static bool may_keep_sums(const nest_search *c)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op), m = tw_path_innermost(s->path[output]);
    const tw_memory *memory = &s->machine->memory[m];
    if (c->f->n_tiled > 1 || c->n_cut[0] == c->n_parallel[0] || tw_path_outer(s->path[output], m) > 0) return false;
    return s->discipline->sums_leave && (memory->keeps & tw_role_of(s->op, output)) && !memory->whole;
}

/* The reductions outside of the innermost parallel loop, then of two, and so on. */
static void order_reductions(nest_search *c)
{
    int8_t *order = c->candidate.order[0], was[TW_MAX_LOOPS];
    int n = c->n_parallel[0], n_reductions = c->n_cut[0] - n;
    memcpy(was, order, sizeof was);
    for (int i = n - 1; i >= 0 && c->left > 0; i--) {
        memmove(order + i + n_reductions, was + i, (size_t)(n - i));
        memcpy(order + i, was + n, (size_t)n_reductions);
        weigh(c);
    }
    memcpy(order, was, sizeof was);
}

static void order_level(nest_search *c, int t, int i)
{
    if (c->left <= 0) return;
    if (t == c->f->n_tiled) {
        weigh(c);
        return;
    }
    if (i >= tw_min(c->n_parallel[t], MOST_PARALLEL)) {
        order_level(c, t + 1, 0);
        if (may_keep_sums(c)) order_reductions(c);
        return;
    }
    int8_t *order = c->candidate.order[t], chosen = order[i];
    for (int k = i; k < c->n_parallel[t]; k++) {
        if (comes_later(c, t, i, k)) continue;
        order[i] = order[k];
        order[k] = chosen;
        order_level(c, t, i + 1);
        order[k] = order[i];
        order[i] = chosen;
    }
}

/* Cycles of a transfer of a tile that lies inside, if it has neighbours on both sides. */
static int64_t shaped_cycles(const nest_search *c, int t, const tw_engine *engine, int o)
{
    const tw_operand *operand = &c->s->op->operand[o];
    tw_box box = tw_box_of_op(c->s->op);
    tw_region region;
    for (int l = 0; l < c->s->op->n_loops; l++) {
        int64_t len = c->candidate.size[t][l], lo = 2 * len <= tw_span_len(box.span[l]) ? len : 0;
        box.span[l] = (tw_span){lo, lo + len};
    }
    if (tw_region_of(operand, &box, &region) == 0) return 0;
    tw_shape shape = tw_region_shape(operand, &region, NULL, c->s->elem_units[o]);
    return tw_cost_cycles(&engine->cost, tw_cost_of_transfer(&engine->cost.descriptor, &shape));
}

static void measure_shapes(nest_search *c, int t)
{
    const tw_space *s = c->s;
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands; o++) {
            if (c->f->grain[m] != t || !tw_space_holds(s, m, o) || (s->resident >> o & 1)) continue;
            const tw_engine *engine = &s->machine->engine[s->mover[m][o]];
            if (tw_cost_by_shape(&engine->cost) && !s->machine->arranged)
                c->shaped[m][o] = shaped_cycles(c, t, engine, o);
        }
}

/* What a tile of the level is, and what is cut there. */
static void measure_tile(nest_search *c, int t)
{
    const tw_space *s = c->s;
    int64_t len[TW_MAX_LOOPS];
    int n = 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t piece = t > 0 ? c->candidate.size[t - 1][l] : s->op->loop[l].extent;
        len[l] = c->candidate.size[t][l];
        c->trips[t][l] = tw_cdiv(piece, len[l]);
    }
    for (int reduces = 0; reduces < 2; reduces++) {
        for (int l = 0; l < s->op->n_loops; l++)
            if (c->trips[t][l] > 1 && s->op->loop[l].reduces == reduces) c->candidate.order[t][n++] = (int8_t)l;
        if (!reduces) c->n_parallel[t] = n;
    }
    c->n_cut[t] = n;
    for (int o = 0; o < s->op->n_operands; o++) c->units[t][o] = s->elem_units[o] * tw_footprint_most(s, o, len);
    measure_shapes(c, t);
}

/* What all tiles of the level bring; those of the levels outside are measured. */
static void measure_sweeps(nest_search *c, int t)
{
    const tw_space *s = c->s;
    int64_t len[TW_MAX_LOOPS], n_tiles[TW_MAX_LOOPS];
    for (int l = 0; l < s->op->n_loops; l++) {
        len[l] = c->candidate.size[t][l];
        n_tiles[l] = t > 0 ? c->trips[0][l] * c->trips[t][l] : c->trips[t][l];
    }
    for (int o = 0; o < s->op->n_operands; o++) {
        c->sweep[t][o] = sweep_of(c, o, n_tiles, len);
        c->fresh[t][o] = c->windowed ? fresh_of(c, t, o) : c->sweep[t][o];
    }
}

/* Whether one buffer of each operand of level t fits into its memories; `doubled`: two of each input that changes, as nests have them that
 * are weighed. */
static bool level_fits(const nest_search *c, int t, bool doubled)
{
    const tw_space *s = c->s;
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t sum = 0;
        for (int o = 0; o < s->op->n_operands && c->f->grain[m] == t; o++) {
            bool changes = false;
            if (!tw_space_holds(s, m, o)) continue;
            for (int l = 0; l < s->op->n_loops && doubled && o < tw_op_output(s->op); l++)
                changes = changes || (c->trips[t][l] > 1 && tw_space_depends(s, o, l));
            bool slides = s->slides[m][o] != 0; /* the second one may be smaller */
            sum = tw_sat_add(sum, tw_sat_mul(changes && !slides ? 2 : 1, c->units[t][o]));
        }
        if (sum > s->machine->memory[m].size) return false;
    }
    return true;
}

/* Cycles that the movers into the memories of level t take at least, between the ends: every tile comes once. What that weighs is added
 * to *sum. */
static int64_t least_moved(const nest_search *c, int t, loads *sum)
{
    const tw_space *s = c->s;
    loads busy = {0};
    int64_t most = 0, n_tiles[TW_MAX_OPERANDS];
    for (int o = 0; o < s->op->n_operands; o++) {
        n_tiles[o] = 1;
        for (int l = 0; l < s->op->n_loops; l++)
            for (int i = 0; i <= t && tw_space_depends(s, o, l); i++)
                n_tiles[o] = tw_sat_mul(n_tiles[o], c->trips[i][l]);
    }
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands && c->f->grain[m] == t; o++)
            if (tw_space_holds(s, m, o))
                load(c, &busy, m, o, (tw_load){n_tiles[o], c->fresh[t][o]}, c->fresh[t][o] < c->sweep[t][o]);
    for (int e = 0; e < s->machine->n_engines; e++)
        most = tw_max(
            most, between_ends(&s->machine->engine[e], tw_cdiv(busy.all[e], s->machine->engine[e].count), c->ends));
    sum->energy += busy.energy;
    sum->units += busy.units;
    return most;
}

/* Counts a choice of sizes; false: that is enough. */
static bool may_look(nest_search *c)
{
    if (c->looks_left <= 0 || c->left <= 0) return false;
    c->looks_left--;
    c->shortlist->n_looked++;
    if (tw_pulse_is_over(&c->pulse, 256)) c->looks_left = 0;
    return c->looks_left > 0;
}

/* Whether a program that takes so long but for its ends, and moves so much at least, may be worth a place. */
static bool may_be_light(const nest_search *c, int64_t cycles, const loads *least)
{
    return is_wanted(c, tw_sat_add(cycles, c->ends), c->execs, least);
}

/* Whether the outer one of two levels may cut a reduction like this: its first piece consists of whole tiles. */
static bool may_divide(const nest_search *c, int l, int64_t size)
{
    return c->divides && size % c->candidate.size[c->f->n_tiled - 1][l] == 0;
}

/* Tiles of the outer one of two levels: parallel loops are cut there, and reductions where that is asked for; sums stay inside. */
static void choose_outer(nest_search *c, int l)
{
    int inner = c->f->n_tiled - 1;
    if (l == c->s->op->n_loops) {
        loads least = {0};
        measure_tile(c, 0);
        if (!level_fits(c, 0, true)) return;
        measure_tile(c, inner);
        c->ends = ends_of(c);
        int64_t cycles = c->compute;
        for (int t = 0; t <= inner; t++) {
            if (!may_be_light(c, cycles, &least)) return;
            measure_sweeps(c, t);
            cycles = tw_max(cycles, least_moved(c, t, &least));
        }
        if (may_be_light(c, cycles, &least)) order_level(c, 0, 0);
        return;
    }
    for (int i = 0; i < c->n_sizes[0][l]; i++) {
        int64_t size = c->sizes[0][l][i];
        bool reduced = c->s->op->loop[l].reduces && size < c->s->op->loop[l].extent;
        if (i > 0 && size < c->candidate.size[inner][l]) break;
        if (reduced && !may_divide(c, l, size)) continue;
        c->candidate.size[0][l] = (int32_t)size;
        if (!may_look(c)) return;
        choose_outer(c, l + 1);
    }
}

/* Tiles that differ by one at most, or tiles and a rest, as in passes_of. */
static tw_pieces pieces_of(int64_t extent, int64_t size)
{
    int64_t count = tw_cdiv(extent, size), small = extent / count, n_large = extent % count;
    if (tw_cdiv(extent, count) != size) return (tw_pieces){2, {size, extent - (count - 1) * size}, {count - 1, 1}};
    if (n_large == 0) return (tw_pieces){1, {size}, {count}};
    return (tw_pieces){2, {size, small}, {n_large, count - n_large}};
}

static int64_t kernels_of(const nest_search *c)
{
    tw_pieces pieces[TW_MAX_LOOPS];
    for (int l = 0; l < c->s->op->n_loops; l++)
        pieces[l] = pieces_of(c->s->op->loop[l].extent, c->candidate.size[c->f->n_tiled - 1][l]);
    return tw_kernels_exactly(c->s, pieces);
}

/* Passes over `rows` of tiles along these loops, each with so many points of others. */
static int64_t passes_over(const nest_search *c, unsigned loops, int64_t with, int64_t rows)
{
    if (loops == 0) return tw_cdiv(with, rows);
    int l = __builtin_ctz(loops);
    cut k = cut_of(c->s->op->loop[l].extent, c->candidate.size[c->f->n_tiled - 1][l]);
    int64_t sum = 0;
    for (int i = 0; i < 2; i++)
        if (k.n[i] > 0)
            sum = tw_sat_add(
                sum, tw_sat_mul(k.n[i], passes_over(c, loops & (loops - 1), tw_sat_mul(with, k.len[i]), rows)));
    return sum;
}

/* Passes of all executions for the blocks of an operand that stays in place; 0: none does. Blocks are the passes of its own loops. */
static int64_t block_passes(const nest_search *c)
{
    const tw_space *s = c->s;
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    int64_t most = 0;
    for (int o = 0; o < s->op->n_operands && cost->kind == TW_COST_ARRAY && cost->array.stationary; o++) {
        int64_t passes = cost->array.block_least;
        if (!(cost->array.stationary & tw_role_of(s->op, o))) continue;
        for (int d = 0; d < c->f->n_dims; d++)
            passes = tw_sat_mul(passes, passes_over(c, c->f->loops[d] & s->loops[o], 1, c->f->size[d]));
        for (int l = 0; l < s->op->n_loops; l++) {
            int64_t extent = s->op->loop[l].extent, size = c->candidate.size[c->f->n_tiled - 1][l];
            if (!tw_space_depends(s, o, l))
                passes = tw_sat_mul(passes, tw_cdiv(extent, size));
            else if (c->f->over.dim[l] == 0)
                passes = tw_sat_mul(passes, extent);
        }
        most = tw_max(most, passes);
    }
    return most;
}

/* Passes of all executions over the array, where loops may be divided; before sizes are chosen, at least. */
static int64_t laid_passes(const nest_search *c, bool chosen)
{
    int64_t laid = c->laid;
    if (laid == 0 && chosen) laid = tw_layout_about(c->s, c->candidate.size[c->f->n_tiled - 1]);
    return laid > 0 ? laid : passes_over(c, c->f->loops[0], 1, c->f->size[0]);
}

/* Cycles of all executions; `chosen`: none of the sizes is chosen later. */
static int64_t compute_of(nest_search *c, bool chosen)
{
    const tw_space *s = c->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int t = c->f->n_tiled - 1;
    int64_t work = 1, execs = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t extent = s->op->loop[l].extent;
        if (c->f->over.dim[l] == 0) work = tw_sat_mul(work, extent);
        execs = tw_sat_mul(execs, tw_cdiv(extent, c->candidate.size[t][l]));
    }
    for (int d = 0; d < c->f->n_dims; d++)
        work = tw_sat_mul(work,
                          c->f->joined ? laid_passes(c, chosen) : passes_over(c, c->f->loops[d], 1, c->f->size[d]));
    c->execs = execs;
    if (mac->cost.kind == TW_COST_KERNEL) return kernels_of(c);
    return tw_cdiv(tw_busy_of(mac, execs, tw_max(work, block_passes(c))), mac->count);
}

/* Whether tiles of these sizes, the loops from l on being as short as can be, may fit. */
static bool may_fit(nest_search *c, int l)
{
    int t = c->f->n_tiled - 1;
    int64_t len[TW_MAX_LOOPS];
    for (int i = 0; i < c->s->op->n_loops; i++)
        len[i] = i < l ? c->candidate.size[t][i] : c->sizes[t][i][c->n_sizes[t][i] - 1];
    for (int o = 0; o < c->s->op->n_operands; o++)
        c->units[t][o] = c->s->elem_units[o] * tw_footprint_most(c->s, o, len);
    return level_fits(c, t, false);
}

static void choose_inner(nest_search *c, int l)
{
    int t = c->f->n_tiled - 1;
    loads least = {0};
    if (l < c->s->op->n_loops) {
        for (int i = 0; i < c->n_sizes[t][l]; i++) {
            c->candidate.size[t][l] = (int32_t)c->sizes[t][l][i];
            if (!may_look(c)) return;
            /* Loops that come later are whole: cutting them saves no pass. */
            if (is_wanted(c, compute_of(c, false), 0, &least) && may_fit(c, l + 1)) choose_inner(c, l + 1);
        }
        c->candidate.size[t][l] = (int32_t)c->s->op->loop[l].extent;
        return;
    }
    measure_tile(c, t);
    if (!level_fits(c, t, true)) return;
    c->compute = compute_of(c, true);
    if (c->f->joined && c->laid == 0) {
        c->looks_left -= LAY_WORK;
        c->shortlist->n_looked += LAY_WORK;
    }
    if (!is_wanted(c, c->compute, 0, &least)) return;
    if (t == 0) {
        c->ends = ends_of(c);
        if (!may_be_light(c, c->compute, &least)) return;
        measure_sweeps(c, 0);
        int64_t moved = least_moved(c, 0, &least);
        if (may_be_light(c, tw_max(c->compute, moved), &least)) order_level(c, 0, 0);
        return;
    }
    memcpy(c->units[0], c->units[t], sizeof c->units[0]); /* tiles outside are no smaller */
    for (int m = 1; m < c->s->machine->n_memories; m++)
        if (c->f->grain[m] == 0) memset(c->shaped[m], 0, sizeof c->shaped[m]);
    c->ends = ends_of(c);
    if (!may_be_light(c, c->compute, &least)) return;
    int64_t left = c->left, share = c->divides ? left : tw_min(left, MOST_OUTER);
    c->left = share;
    choose_outer(c, 0);
    c->left += left - share;
}

/* ---- the shortlist ---- */

/* How many times longer movers take than executions if every element is moved once and no pass is wasted. Smaller tiles than
 * passes ask for shorten the ends of a program alone: where it is long, that is not worth looking for. */
static double slack_of(nest_search *c)
{
    enum { LONG = 8 };
    int64_t moved = 0;
    loads ignored = {0};
    for (int t = 0; t < c->f->n_tiled; t++)
        for (int l = 0; l < c->s->op->n_loops; l++) c->candidate.size[t][l] = (int32_t)c->s->op->loop[l].extent;
    for (int t = 0; t < c->f->n_tiled; t++) {
        measure_tile(c, t);
        measure_sweeps(c, t);
        moved = tw_max(moved, least_moved(c, t, &ignored)); /* ends are not known yet */
    }
    memset(c->units, 0, sizeof c->units);
    memset(c->shaped, 0, sizeof c->shaped);
    if (moved > LONG * ends_of(c)) return 1.25;
    return fmax(1.25, (double)moved / (double)tw_max(1, compute_of(c, false)));
}

/* Whether executions may take longer because of what else runs, or of zeros that are filled in. */
static bool may_be_disturbed(const tw_machine *machine)
{
    const tw_cost *cost = &machine->engine[machine->compute].cost;
    if (!tw_cost_contends(cost)) return false;
    return cost->kernel.banks.busy > 0 || cost->kernel.banks.along > 0 || machine->pads;
}

/* What the goals allow at most of a measure, -1: any amount. */
static tw_wide limit_of(const tw_goals *goals, tw_measure measure)
{
    for (int i = goals->n + goals->n_ties; i < goals->n + goals->n_ties + goals->n_limits; i++)
        if (goals->goal[i].measure == measure) return goals->goal[i].most;
    return -1;
}

bool tw_shortlist_serves(const tw_space *s) { return s->rules->shortlist && !may_be_disturbed(s->machine); }

bool tw_shortlist_suits(const tw_space *s, const tw_goals *goals)
{
    tw_measure measure = goals->goal[0].measure;
    if (!tw_shortlist_serves(s) || goals->n != 1) return false;
    if (measure == TW_ENERGY || measure == TW_TRAFFIC) return limit_of(goals, TW_CYCLES) >= 0;
    return measure == TW_CYCLES || measure == TW_EDP;
}

tw_shortlist tw_shortlist_of(const tw_space *s, const tw_goals *goals, const tw_deadline *deadline)
{
    static const double slack = 1.001; /* estimates of edges are no exact counts */
    const tw_goal product = {.measure = TW_EDP, .memory = -1, .engine = -1};
    tw_wide cycles = limit_of(goals, TW_CYCLES), energy = limit_of(goals, TW_ENERGY);
    return (tw_shortlist){.goal = tw_shortlist_suits(s, goals) ? goals->goal[0] : product,
                          .cycles = cycles >= 0 ? (int64_t)cycles : INT64_MAX,
                          .above = -1,
                          .energy = energy >= 0 ? slack * (double)energy : INFINITY,
                          .most_work = INT64_MAX,
                          .most_played = INT64_MAX,
                          .execs = TW_SHORTLIST_EXECS,
                          .deadline = deadline};
}

bool tw_shortlist_doubt(tw_shortlist *shortlist, const tw_goal_value *best)
{
    static const int64_t share = 16; /* estimates are rarely further off */
    if (shortlist->goal.measure == TW_CYCLES) shortlist->cycles = tw_min(shortlist->cycles, (int64_t)best->of[0]);
    if (shortlist->cycles == INT64_MAX) return false;
    shortlist->above = shortlist->cycles;
    shortlist->cycles = tw_sat_add(shortlist->cycles, shortlist->cycles / share);
    return true;
}

/* Whether windows of an operand may slide. */
static bool may_slide(const tw_space *s)
{
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(s->op); o++)
            if (s->slides[m][o]) return true;
    return false;
}

int64_t tw_shortlist_work(const tw_shortlist *shortlist) { return weighed_of(shortlist) + played_of(shortlist); }

static int compare_fills(const void *a, const void *b)
{
    const tw_fill *x = a, *y = b;
    if (x->cycles != y->cycles) return x->cycles < y->cycles ? -1 : 1;
    return memcmp(x->size, y->size, sizeof x->size);
}

/* Puts tiles that fill the array well into the order of what bounds know of them, movers included; returns how many may be wanted. */
static int weigh_fills(nest_search *c, tw_fill *fill, int n)
{
    enum { BOUND_WORK = 30 };
    const tw_space *s = c->s;
    int n_left = 0;
    bool empty;
    tw_part *part = tw_part_of_frame(s, c->candidate.frame, &empty);
    for (int i = 0; i < n && part && !empty && c->looks_left > 0; i++) {
        tw_part_bounds least;
        bool allowed = true;
        for (int k = 0; k < s->n_laid; k++) {
            int l = s->laid_loop[k];
            allowed = allowed && is_allowed(c, c->f->n_tiled - 1, l, fill[i].size[k]);
            part->var[tw_var_size(s, c->f->n_tiled - 1, l)] = (tw_range){fill[i].size[k], fill[i].size[k]};
        }
        if (!allowed) continue;
        c->looks_left -= BOUND_WORK;
        c->shortlist->n_looked += BOUND_WORK;
        tw_part_least(s, part, &least);
        if (!least.feasible) continue;
        fill[n_left] = fill[i];
        fill[n_left++].cycles = least.cost.cycles;
    }
    free(part);
    qsort(fill, (size_t)n_left, sizeof *fill, compare_fills);
    return n_left;
}

/* Of the sizes of loops that do not lie over the array a few: how long they are matters little to the estimate. */
static void thin_sizes(nest_search *c)
{
    static const int64_t near[] = {64, 24, 10, 4};
    int t = c->f->n_tiled - 1;
    for (int l = 0; l < c->s->op->n_loops; l++) {
        int64_t few[TW_COUNT(near)];
        int n = 0;
        if (c->f->over.dim[l] != 0 || c->n_sizes[t][l] <= (int)TW_COUNT(near)) continue;
        for (size_t i = 0; i < TW_COUNT(near); i++) {
            int k = 0;
            while (k + 1 < c->n_sizes[t][l] && c->sizes[t][l][k] > near[i]) k++;
            if (n == 0 || few[n - 1] != c->sizes[t][l][k]) few[n++] = c->sizes[t][l][k];
        }
        memcpy(c->sizes[t][l], few, (size_t)n * sizeof *few);
        c->n_sizes[t][l] = n;
    }
}

/* Tiles that are so long along the loops over the array, with all sizes of the others. */
static void choose_filled(nest_search *c, const int32_t size[TW_MAX_LOOPS])
{
    int t = c->f->n_tiled - 1;
    unsigned rests;
    for (int k = 0; k < c->s->n_laid; k++) {
        int l = c->s->laid_loop[k];
        c->n_sizes[t][l] = 1;
        c->sizes[t][l][0] = c->candidate.size[t][l] = size[l];
    }
    c->looks_left -= LAY_WORK;
    c->shortlist->n_looked += LAY_WORK;
    c->laid = tw_layout_of_sizes(c->s, c->candidate.size[t], &rests);
    choose_inner(c, 0);
}

/* Tiles of loops that may be divided are chosen together: those that fill the array best, as far as the estimate wants them; first with a few
 * sizes of the other loops, then the best with all. False: none are known. */
static bool choose_fills(nest_search *c)
{
    const tw_space *s = c->s;
    int t = c->f->n_tiled - 1, n;
    tw_fill fill[MOST_FILLS];
    int32_t size[TW_SHORTLIST_CANDIDATES][TW_MAX_LOOPS];
    if (!c->f->joined || t > 0 || s->limits.level[s->machine->n_memories - 2].has_unroll) return false;
    if (tw_layout_is_moved(s)) return false; /* which tiles bring least is a matter of each loop by itself */
    n = tw_fills_of(s, MOST_FILLS, fill);
    if (n == 0) return false;
    n = weigh_fills(c, fill, n);
    nest_search whole = *c;
    thin_sizes(c);
    for (int i = 0; i < n && c->looks_left > 0 && is_wanted(c, fill[i].cycles, 0, &(loads){0}); i++) {
        for (int k = 0; k < s->n_laid; k++) size[0][s->laid_loop[k]] = fill[i].size[k];
        choose_filled(c, size[0]);
    }
    memcpy(c->sizes, whole.sizes, sizeof c->sizes);
    memcpy(c->n_sizes, whole.n_sizes, sizeof c->n_sizes);
    n = c->shortlist->n;
    for (int i = 0; i < n; i++) memcpy(size[i], c->shortlist->candidate[i].size[t], sizeof size[i]);
    for (int i = 0; i < n && c->looks_left > 0; i++) choose_filled(c, size[i]);
    return true;
}

/* Levels of the frame in which two windows of each input have no room beside a sum: there windows have to be cut. */
static unsigned small_levels(const tw_space *s, const tw_frame *f)
{
    const unsigned windows = tw_op_windows(s->op);
    int64_t len[TW_MAX_LOOPS];
    unsigned small = 0;
    for (int l = 0; l < s->op->n_loops; l++) len[l] = windows >> l & 1 ? s->op->loop[l].extent : 1;
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t sum = 0;
        for (int o = 0; o < s->op->n_operands; o++)
            if (tw_space_holds(s, m, o))
                sum = tw_sat_add(sum, (o == tw_op_output(s->op) ? 1 : 2) * s->elem_units[o] *
                                          tw_footprint_most(s, o, len));
        if (sum > s->machine->memory[m].size) small |= 1u << f->grain[m];
    }
    return small;
}

static nest_search search_of(const tw_space *s, int frame, double below, tw_shortlist *shortlist)
{
    int64_t left = tw_max(0, shortlist->most_work - weighed_of(shortlist));
    nest_search c = {.s = s,
                     .f = &s->frame[frame],
                     .shortlist = shortlist,
                     .below = below,
                     .left = tw_min(MOST_WEIGHED, left / WEIGH_WORK),
                     .looks_left = tw_min(left, tw_clamp(ALL_LOOKS - shortlist->n_looked, FEW_LOOKS, MOST_LOOKS)),
                     .pulse = {.deadline = shortlist->deadline},
                     .windows = tw_op_windows(s->op)};
    c.candidate.frame = frame;
    c.small = small_levels(s, c.f);
    c.windowed = may_slide(s);
    c.slack = slack_of(&c);
    return c;
}

/* What a level of `home` has, half and twice as much. */
static void list_near(nest_search *c, const tw_part *home, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent, size = home->var[tw_var_size(c->s, t, l)].lo;
    const int64_t near[] = {tw_min(2 * size, extent), size, taken_above(c, t, l, tw_cdiv(size, 2))};
    for (size_t i = 0; i < TW_COUNT(near); i++)
        if (is_allowed(c, t, l, near[i])) add_size(c, t, l, near[i]);
}

/* All pieces of a reduction that consist of whole tiles of `home`, or some of them. */
static void list_pieces(nest_search *c, const tw_part *home, int l)
{
    int64_t extent = c->s->op->loop[l].extent, tile = home->var[tw_var_size(c->s, 1, l)].lo;
    int64_t n = tw_cdiv(extent, tile), each = tw_cdiv(n, MOST_SIZES);
    if (is_allowed(c, 0, l, extent)) add_size(c, 0, l, extent);
    for (int64_t k = (n - 1) / each * each; k > 0; k -= each)
        if (is_allowed(c, 0, l, k * tile)) add_size(c, 0, l, k * tile);
}

void tw_shortlist_divide(const tw_space *s, const tw_part *home, double below, tw_shortlist *shortlist)
{
    if (s->frame[home->frame].n_tiled != TW_SHORTLIST_LEVELS || s->frame[home->frame].joined) return;
    nest_search c = search_of(s, home->frame, below, shortlist);
    c.divides = true;
    for (int t = 0; t < c.f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++) {
            if (t == 0 && s->op->loop[l].reduces)
                list_pieces(&c, home, l);
            else
                list_near(&c, home, t, l);
            if (c.n_sizes[t][l] == 0) return; /* the form does not have such tiles */
        }
    choose_inner(&c, 0);
}

void tw_shortlist_add(const tw_space *s, int frame, double below, tw_shortlist *shortlist)
{
    if (s->frame[frame].n_tiled > TW_SHORTLIST_LEVELS) return;
    nest_search c = search_of(s, frame, below, shortlist);
    if (!is_wanted(&c, compute_of(&c, false), 0, &(loads){0})) return;
    for (int t = 0; t < c.f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++) {
            list_sizes(&c, t, l);
            if (c.n_sizes[t][l] == 0) return; /* none that the form knows is allowed */
        }
    if (!choose_fills(&c)) choose_inner(&c, 0);
}

/* Chooses what the candidate keeps, as far as it may. */
static void choose_keeps(const tw_space *s, const tw_candidate *candidate, tw_part *p)
{
    const tw_frame *f = &s->frame[candidate->frame];
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands; o++) {
            int var = tw_var_keep(s, f, m, o);
            int32_t keep = candidate->keep[m][o];
            while (keep > 0 && !tw_part_may_choose(s, p, var, keep)) keep--;
            if (tw_part_may_choose(s, p, var, keep)) p->var[var] = (tw_range){keep, keep};
        }
}

/* Tiles and a rest where that takes fewer passes. */
static void choose_rests(const tw_space *s, const tw_candidate *candidate, tw_part *p)
{
    const tw_frame *f = &s->frame[candidate->frame];
    unsigned rests;
    int t = f->n_tiled - 1;
    tw_layout_of_sizes(s, candidate->size[t], &rests);
    for (int l = 0; l < s->op->n_loops; l++)
        if (rests >> l & 1) p->var[tw_var_rule(s, f, t, l)] = (tw_range){1, 1};
}

/* Pieces of two lengths have tiles of one: in as many tiles the shorter ones would be cut into shorter tiles. */
static void choose_alike(const tw_space *s, const tw_candidate *candidate, tw_part *p)
{
    const tw_frame *f = &s->frame[candidate->frame];
    for (int t = 1; t < f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++) {
            int64_t extent = t > 1 ? candidate->size[t - 2][l] : s->op->loop[l].extent;
            cut k = cut_of(extent, candidate->size[t - 1][l]);
            int var = tw_var_rule(s, f, t, l);
            if (k.len[0] - k.len[1] > 1 && tw_part_may_choose(s, p, var, 1)) p->var[var] = (tw_range){1, 1};
        }
}

static bool fill_in(const tw_space *s, const tw_candidate *candidate, tw_part *p)
{
    const tw_frame *f = &s->frame[candidate->frame];
    for (int t = 0; t < f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++)
            p->var[tw_var_size(s, t, l)] = (tw_range){candidate->size[t][l], candidate->size[t][l]};
    if (f->joined) choose_rests(s, candidate, p);
    choose_alike(s, candidate, p);
    if (!tw_part_complete(s, p)) return false;
    for (int t = 0; t < f->n_tiled; t++) {
        int order[TW_MAX_LOOPS], n = 0;
        unsigned seen = 0;
        for (int i = 0; i < s->op->n_loops && n < s->op->n_loops; i++) {
            int l = candidate->order[t][i];
            if (!(seen >> l & 1)) order[n++] = l;
            seen |= 1u << l;
        }
        for (int l = 0; l < s->op->n_loops; l++)
            if (!(seen >> l & 1)) order[n++] = l;
        if (!tw_part_set_order(s, p, t, order)) return false;
    }
    if (!tw_part_complete(s, p)) return false;
    choose_keeps(s, candidate, p);
    return tw_part_complete(s, p);
}

tw_status tw_shortlist_part(const tw_space *s, const tw_candidate *candidate, tw_part **out)
{
    bool empty;
    tw_part *p = tw_part_of_frame(s, candidate->frame, &empty);
    *out = p;
    if (!p) return TW_ERR_NOMEM;
    if (!empty && fill_in(s, candidate, p)) return TW_OK;
    free(p);
    *out = NULL;
    return TW_OK;
}
