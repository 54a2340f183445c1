/* src/search/layout.c - see layout.h. */
#include "search/layout.h"

#include "search/view.h"

#include <math.h>
#include <string.h>

enum {
    MOST_KINDS = 64,
    MOST_KNOWN = 1 << 17,
    FEW = 64,              /* points, or groups of them, that a loop is divided into */
    MOST_LOOKED = 1 << 14, /* spreads; then the best so far is as good as any,      */
    FEW_LOOKED = 1 << 9,   /* for an estimate */
};

static const tw_cost_array *array_of(const tw_space *s)
{
    return &s->machine->engine[s->machine->compute].cost.array;
}

bool tw_layout_may_lie(const tw_space *s, int l)
{
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    return s->op->loop[l].extent > 1 && !(mac->unrolls_parallel && s->op->loop[l].reduces);
}

/* ---- frames ---- */

/* Elements of an operand, at most all of its tensor. */
static double elems_of(const tw_space *s, int o)
{
    double elems = 1, points = 1;
    for (int a = 0; a < s->op->operand[o].n_axes; a++) elems *= (double)s->op->operand[o].axis[a].extent;
    for (unsigned rest = s->loops[o]; rest; rest &= rest - 1)
        points *= (double)s->op->loop[__builtin_ctz(rest)].extent;
    return fmin(elems, points);
}

/* Cycles of the busiest mover if every element comes, or goes, once. */
static double moving(const tw_space *s)
{
    double units[TW_MAX_ENGINES] = {0}, most = 0;
    for (int o = 0; o < s->op->n_operands; o++)
        for (int m = 1; m < s->machine->n_memories; m++)
            if (tw_space_holds(s, m, o)) units[s->mover[m][o]] += elems_of(s, o) * (double)s->elem_units[o];
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (units[e] < 1 || units[e] > 1e15) continue;
        most = fmax(most, (double)tw_busy_of(engine, 1, (int64_t)units[e]) / (double)engine->count);
    }
    return most;
}

/* Whether windows of an input may slide somewhere. */
static bool may_slide(const tw_space *s)
{
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(s->op); o++)
            if (s->slides[m][o]) return true;
    return false;
}

/* Whether loops of the operator may be divided over the array in this space at all; *ideal: passes that fill it. */
static bool may_divide(const tw_space *s, double *ideal)
{
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    double units = 1, points = 1, rest = 1;
    if (!s->divides || mac->unrolls_whole || mac->cost.kind != TW_COST_ARRAY || mac->cost.array.n_dims < 2 ||
        mac->cost.array.stationary || s->rules->nests)
        return false;
    for (int d = 0; d < mac->cost.array.n_dims; d++) units *= (double)mac->cost.array.size[d];
    for (int l = 0; l < s->op->n_loops; l++)
        *(tw_layout_may_lie(s, l) ? &points : &rest) *= (double)s->op->loop[l].extent;
    if (points >= 1e15 || rest >= 1e15) return false;
    *ideal = (double)tw_cdiv((int64_t)points, (int64_t)units) * rest;
    return *ideal < 1e15;
}

static double cycles_of(const tw_space *s, double passes)
{
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    return (double)tw_busy_of(mac, 1, (int64_t)passes) / (double)mac->count;
}

bool tw_layout_is_moved(const tw_space *s)
{
    double ideal;
    return may_slide(s) && may_divide(s, &ideal) && cycles_of(s, ideal) < moving(s);
}

bool tw_layout_helps(const tw_space *s, double undivided)
{
    static const double worth = 1.1; /* less is not worth a frame */
    double ideal;
    if (undivided >= 1e15 || !may_divide(s, &ideal)) return false;
    if (undivided > worth * ideal && cycles_of(s, undivided) > worth * moving(s)) return true;
    return tw_layout_is_moved(s);
}

tw_spread tw_layout_joined(const tw_space *s)
{
    const tw_level_limits *inner = &s->limits.level[s->machine->n_memories - 2];
    tw_spread all = {{0}};
    for (int l = 0; l < s->op->n_loops; l++)
        all.dim[l] = inner->has_unroll ? tw_spread_lies(&inner->over, l) : tw_layout_may_lie(s, l);
    return all;
}

/* ---- spreads ---- */

typedef struct layer {
    const tw_cost_array *array;
    int n_loops, loop[TW_MAX_LOOPS]; /* that lie over the array; those of many points first */
    int64_t len[TW_MAX_LOOPS];       /* of the largest tile                                 */
    const tw_tiles *tiles;           /* along each loop, NULL: the largest one only         */
    int64_t count;                   /* largest tiles,                                      */
    int64_t others;                  /* and what all others take at least                   */
    int64_t stop;                    /* nothing takes fewer passes                          */
    int64_t best;
    int n_divided, best_divided;
    int n_looked, most_looked;
    tw_spread over, found;
} layer;

static int64_t passes_along(const tw_cost_array *array, const int64_t along[TW_MAX_DIMS])
{
    int64_t n = 1;
    for (int d = 0; d < array->n_dims; d++) n *= tw_cdiv(along[d], array->size[d]);
    return n;
}

/* Passes of all tiles from loop i on, beside these points over no dimension and over each. */
static int64_t passes_of_kinds(const layer *w, int i, const int64_t along[1 + TW_MAX_DIMS])
{
    int64_t sum = 0;
    if (i == w->n_loops) return tw_sat_mul(along[0], passes_along(w->array, along + 1));
    const tw_tiles *tiles = &w->tiles[w->loop[i]];
    for (int k = 0; k < tiles->n; k++) {
        int64_t beside[1 + TW_MAX_DIMS];
        memcpy(beside, along, sizeof beside);
        tw_spread_lay(&w->over, w->loop[i], tiles->len[k], beside);
        sum = tw_sat_add(sum, tw_sat_mul(tiles->count[k], passes_of_kinds(w, i + 1, beside)));
    }
    return sum;
}

/* The same however they are laid out: every tile has no fewer passes than all its points fill. */
static int64_t least_of_kinds(const layer *w, int i, int64_t points, int64_t units)
{
    int64_t sum = 0;
    if (i == w->n_loops) return tw_cdiv(points, units);
    const tw_tiles *tiles = &w->tiles[w->loop[i]];
    for (int k = 0; k < tiles->n; k++)
        sum = tw_sat_add(sum, tw_sat_mul(tiles->count[k], least_of_kinds(w, i + 1, points * tiles->len[k], units)));
    return sum;
}

static void take(layer *w, const int64_t along[TW_MAX_DIMS])
{
    static const int64_t one[1 + TW_MAX_DIMS] = {1, 1, 1, 1, 1};
    int64_t passes = w->others > 0 ? passes_of_kinds(w, 0, one) : w->count * passes_along(w->array, along);
    if (passes > w->best || (passes == w->best && w->n_divided >= w->best_divided)) return;
    w->best = passes;
    w->best_divided = w->n_divided;
    w->found = w->over;
}

static void lay(layer *w, int i, const int64_t along[TW_MAX_DIMS]);

/* Loop i over dimension d, or some points of it there and the groups of them over dimension e. */
static void lay_loop(layer *w, int i, int d, int e, int64_t share, int64_t groups, const int64_t along[TW_MAX_DIMS])
{
    int l = w->loop[i];
    int64_t more[TW_MAX_DIMS];
    for (int k = 0; k < w->array->n_dims; k++) more[k] = along[k];
    more[d] *= share;
    if (e >= 0) more[e] *= groups;
    w->over.dim[l] = (int8_t)(1 + (e >= 0 ? e : d));
    w->over.share[l][d] = e >= 0 ? (int32_t)share : 0;
    w->n_divided += e >= 0 && w->tiles;
    lay(w, i + 1, more);
    w->n_divided -= e >= 0 && w->tiles;
    w->over.share[l][d] = 0;
}

/* The least share that makes fewer groups; of a long loop, either few points are side by side or few groups of them. */
static int64_t next_share(int64_t len, int64_t share, int64_t groups)
{
    return groups < 2 ? len : tw_cdiv(len, share >= FEW ? tw_min(groups - 1, FEW) : groups - 1);
}

static void lay(layer *w, int i, const int64_t along[TW_MAX_DIMS])
{
    if ((w->best <= w->stop && w->best_divided == 0) || w->n_looked++ > w->most_looked) return;
    int64_t least = tw_sat_add(w->others, tw_sat_mul(w->count, passes_along(w->array, along)));
    if (least > w->best || (least == w->best && w->n_divided >= w->best_divided)) return;
    if (i == w->n_loops) {
        take(w, along);
        return;
    }
    int64_t len = w->len[w->loop[i]];
    for (int d = 0; d < w->array->n_dims; d++) lay_loop(w, i, d, -1, len, 1, along);
    for (int64_t share = 2, groups; share < len; share = next_share(len, share, groups)) {
        if (w->best <= w->stop && w->n_divided + 1 >= w->best_divided) return;
        groups = tw_cdiv(len, share);
        for (int d = 0; d < w->array->n_dims; d++)
            for (int e = d + 1; e < w->array->n_dims; e++) lay_loop(w, i, d, e, share, groups, along);
    }
}

static void add_loop(layer *w, int l, int64_t len)
{
    int at = w->n_loops++;
    for (; at > 0 && w->len[w->loop[at - 1]] < len; at--) w->loop[at] = w->loop[at - 1];
    w->loop[at] = l;
    w->len[l] = len;
}

static layer layer_of(const tw_space *s, const tw_tiles *tiles)
{
    layer w = {.array = array_of(s),
               .tiles = tiles,
               .count = 1,
               .best = INT64_MAX,
               .best_divided = TW_MAX_LOOPS,
               .most_looked = MOST_LOOKED};
    return w;
}

/* The least that can be: of every tile, all points over all units. */
static void find_stop(layer *w, int64_t largest)
{
    int64_t units = 1;
    for (int d = 0; d < w->array->n_dims; d++) units *= w->array->size[d];
    int64_t one = tw_cdiv(largest, units);
    w->stop = w->tiles ? least_of_kinds(w, 0, 1, units) : one;
    w->others = w->stop - tw_sat_mul(w->count, one);
}

static int64_t given_passes(const tw_space *s, const tw_tiles tiles[TW_MAX_LOOPS])
{
    static const int64_t one[1 + TW_MAX_DIMS] = {1, 1, 1, 1, 1};
    layer w = layer_of(s, tiles);
    w.over = s->limits.level[s->machine->n_memories - 2].over;
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_spread_lies(&w.over, l)) add_loop(&w, l, 1);
    return passes_of_kinds(&w, 0, one);
}

/* tw_layout_best, where so many spreads are looked at. */
static int64_t best_of(const tw_space *s, const tw_tiles tiles[TW_MAX_LOOPS], int most_looked, tw_spread *out)
{
    static const int64_t one[TW_MAX_DIMS] = {1, 1, 1, 1};
    const tw_level_limits *inner = &s->limits.level[s->machine->n_memories - 2];
    layer w = layer_of(s, tiles);
    int64_t kinds = 1, points = 1, volume = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        bool lies = inner->has_unroll ? tw_spread_lies(&inner->over, l) : tw_layout_may_lie(s, l);
        int largest = 0;
        if (!lies) continue;
        for (int k = 1; k < tiles[l].n; k++)
            if (tiles[l].len[k] > tiles[l].len[largest]) largest = k;
        add_loop(&w, l, tiles[l].len[largest]);
        w.count = tw_sat_mul(w.count, tiles[l].count[largest]);
        points = tw_sat_mul(points, s->op->loop[l].extent);
        volume = tw_sat_mul(volume, tiles[l].len[largest]);
        if ((kinds *= tiles[l].n) > MOST_KINDS) return 0;
    }
    if (points > INT64_MAX >> 2 * TW_MAX_LOOPS) return 0;
    *out = inner->over;
    if (inner->has_unroll) return given_passes(s, tiles);
    w.most_looked = most_looked;
    find_stop(&w, volume);
    lay(&w, 0, one);
    *out = w.found;
    return w.best;
}

int64_t tw_layout_best(const tw_space *s, const tw_tiles tiles[TW_MAX_LOOPS], tw_spread *out)
{
    return best_of(s, tiles, MOST_LOOKED, out);
}

/* ---- one tile ---- */

tw_status tw_layout_open(tw_space *s, tw_arena *arena)
{
    int64_t n = 1;
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_layout_may_lie(s, l)) n = tw_sat_mul(n, 1 + tw_min(s->op->loop[l].extent, TW_LAID_LONGEST));
    s->laid = NULL;
    if (n > MOST_KNOWN) return TW_OK;
    TW_ALLOC(arena, s->laid, n);
    return tw_layout_open_bounds(s, n, arena);
}

static int64_t measure_tile(const tw_space *s, const int64_t *len)
{
    static const int64_t one[TW_MAX_DIMS] = {1, 1, 1, 1};
    layer w = layer_of(s, NULL);
    int64_t points = 1;
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_layout_may_lie(s, l)) add_loop(&w, l, len[l]), points = tw_sat_mul(points, len[l]);
    find_stop(&w, points);
    lay(&w, 0, one);
    return w.n_looked > MOST_LOOKED ? w.stop : w.best;
}

int64_t tw_layout_passes(const tw_space *s, const int64_t *len)
{
    int64_t at = 0;
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_layout_may_lie(s, l)) at = at * (1 + tw_min(s->op->loop[l].extent, TW_LAID_LONGEST)) + len[l];
    int known = atomic_load_explicit(&s->laid[at], memory_order_relaxed);
    if (known > 0) return known;
    int64_t passes = measure_tile(s, len);
    if (passes < UINT16_MAX) atomic_store_explicit(&s->laid[at], (uint16_t)passes, memory_order_relaxed);
    return passes;
}

int64_t tw_layout_fill(const tw_space *s, int l, int64_t most, int64_t len[TW_MAX_LOOPS])
{
    int64_t best = 0, best_passes = 1;
    for (int64_t x = 1; s->laid && x <= tw_min(most, tw_min(s->op->loop[l].extent, TW_LAID_LONGEST)); x++) {
        len[l] = x;
        int64_t passes = tw_layout_passes(s, len);
        if (x * best_passes >= best * passes) best = x, best_passes = passes;
    }
    return best;
}

/* ---- sizes ---- */

tw_tiles tw_tiles_of(tw_split split)
{
    int64_t large = split.extra > 0 ? split.extra : split.count - 1;
    tw_tiles tiles; /* room for many kinds, of which two are filled in at most */
    tw_span last = tw_split_at(&split, 0, split.count - 1);
    tiles.n = 0;
    if (large > 0) tiles.len[tiles.n] = tw_split_largest(&split), tiles.count[tiles.n++] = large;
    if (large < split.count) tiles.len[tiles.n] = tw_span_len(last), tiles.count[tiles.n++] = split.count - large;
    return tiles;
}

/* tw_layout_of_sizes, where so many spreads are looked at. */
static int64_t of_sizes(const tw_space *s, const int32_t size[TW_MAX_LOOPS], int most_looked, unsigned *rests)
{
    tw_tiles tiles[TW_MAX_LOOPS];
    tw_spread ignored;
    *rests = 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t extent = s->op->loop[l].extent, count = tw_cdiv(extent, size[l]);
        bool even = tw_cdiv(extent, count) == size[l];
        if (!even) *rests |= 1u << l;
        tiles[l] =
            tw_tiles_of(even ? tw_split_by_count(extent, count, TW_BALANCED) : tw_split_by_size(extent, size[l]));
    }
    int64_t best = best_of(s, tiles, most_looked, &ignored);
    for (int l = 0; l < s->op->n_loops && best > 0; l++) {
        tw_tiles before = tiles[l];
        if (!tw_layout_may_lie(s, l) || (*rests >> l & 1) || s->op->loop[l].extent % size[l] == 0) continue;
        tiles[l] = tw_tiles_of(tw_split_by_size(s->op->loop[l].extent, size[l]));
        int64_t now = best_of(s, tiles, most_looked, &ignored);
        if (now > 0 && now < best)
            best = now, *rests |= 1u << l;
        else
            tiles[l] = before;
    }
    return best;
}

int64_t tw_layout_of_sizes(const tw_space *s, const int32_t size[TW_MAX_LOOPS], unsigned *rests)
{
    return of_sizes(s, size, MOST_LOOKED, rests);
}

int64_t tw_layout_about(const tw_space *s, const int32_t size[TW_MAX_LOOPS])
{
    unsigned ignored;
    return of_sizes(s, size, FEW_LOOKED, &ignored);
}
