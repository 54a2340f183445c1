/* src/search/spread.c - see spread.h. */
#include "search/layout.h"

#include <string.h>

static const tw_cost_array *array_of(const tw_space *s)
{
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    return cost->kind == TW_COST_ARRAY ? &cost->array : NULL;
}

static tw_spread default_of(const tw_space *s)
{
    static const tw_spread none = {{0}};
    return tw_spread_or_default(&none, s->op, tw_cost_dims(&s->machine->engine[s->machine->compute].cost));
}

/* ---- choices ---- */

typedef struct choice {
    double passes;
    int moved; /* loops of the default that lie elsewhere */
    tw_spread over;
} choice;

typedef struct chooser {
    const tw_space *s;
    const tw_cost_array *array;
    tw_spread usual;
    int n_loops, loop[TW_MAX_LOOPS]; /* those that are laid over the array, the default's first */
    tw_spread over;                  /* at hand */
    int n;
    choice *best;
} chooser;

static bool may_lie(const tw_space *s, int l)
{
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    return s->op->loop[l].extent > 1 && !(mac->unrolls_parallel && s->op->loop[l].reduces);
}

/* Takes the loop out that is left out with least harm. */
static void drop_shortest(chooser *c)
{
    int at = 0;
    for (int i = 1; i < c->n_loops; i++)
        if (c->s->op->loop[c->loop[i]].extent < c->s->op->loop[c->loop[at]].extent) at = i;
    memmove(&c->loop[at], &c->loop[at + 1], (size_t)(c->n_loops - at - 1) * sizeof *c->loop);
    c->n_loops--;
}

static void list_loops(chooser *c)
{
    for (int d = 0; d <= c->array->n_dims; d++)
        for (int l = 0; l < c->s->op->n_loops; l++)
            if (c->usual.dim[l] == (d + 1) % (c->array->n_dims + 1) && may_lie(c->s, l)) c->loop[c->n_loops++] = l;
    for (;;) {
        double n = 1;
        for (int i = 0; i < c->n_loops; i++) n *= c->array->n_dims;
        if (n <= TW_MOST_CHOICES) return;
        drop_shortest(c);
    }
}

/* Passes if nothing is cut: with cuts there are no fewer. */
static double passes_whole(const chooser *c)
{
    double along[1 + TW_MAX_DIMS] = {1, 1, 1, 1, 1};
    for (int l = 0; l < c->s->op->n_loops; l++) along[c->over.dim[l]] *= (double)c->s->op->loop[l].extent;
    for (int d = 0; d < c->array->n_dims; d++) {
        double size = (double)c->array->size[d], whole = along[d + 1] / size;
        along[0] *= whole < 1e15 ? (double)tw_cdiv((int64_t)along[d + 1], c->array->size[d]) : whole;
    }
    return along[0];
}

static bool is_before(const choice *a, const choice *b)
{
    return a->passes < b->passes || (a->passes == b->passes && a->moved < b->moved);
}

static void offer(chooser *c)
{
    choice now = {.passes = passes_whole(c), .over = c->over};
    for (int i = 0; i < c->n_loops; i++) {
        int usual = c->usual.dim[c->loop[i]];
        now.moved += usual > 0 && usual != c->over.dim[c->loop[i]];
    }
    int at = c->n;
    while (at > 0 && is_before(&now, &c->best[at - 1])) at--;
    if (at == TW_MOST_SPREADS) return;
    if (c->n == TW_MOST_SPREADS) c->n--;
    memmove(&c->best[at + 1], &c->best[at], (size_t)(c->n - at) * sizeof now);
    c->best[at] = now;
    c->n++;
}

/* Whether a dimension of the same size stands before it, and has no loop: then this one would mirror it. */
static bool is_mirror(const chooser *c, int d, unsigned used)
{
    for (int e = 0; e < d && !(used >> d & 1); e++)
        if (!(used >> e & 1) && c->array->size[e] == c->array->size[d]) return true;
    return false;
}

static void choose(chooser *c, int i, unsigned used)
{
    if (i == c->n_loops) {
        if (used || c->n_loops == 0) offer(c); /* no loop at all means the default */
        return;
    }
    c->over.dim[c->loop[i]] = 0;
    for (int d = 0; d < c->array->n_dims; d++) {
        if (is_mirror(c, d, used)) continue;
        c->over.dim[c->loop[i]] = (int8_t)(d + 1);
        choose(c, i + 1, used | 1u << d);
    }
}

/* The only one: what the mapping says, or nothing where there is no array. */
static tw_laying laying_of(const tw_space *s, const tw_spread *over)
{
    for (int l = 0; l < s->op->n_loops && array_of(s); l++)
        if (tw_spread_divides(over, l)) return (tw_laying){true, tw_layout_joined(s)};
    return (tw_laying){false, *over};
}

tw_status tw_spreads_of(const tw_space *s, tw_arena *arena, int *n, tw_laying **out)
{
    const tw_level_limits *inner = &s->limits.level[s->machine->n_memories - 2];
    chooser c = {.s = s, .array = array_of(s), .usual = default_of(s)};
    tw_laying *list;
    if (!c.array || inner->has_unroll) {
        TW_ALLOC(arena, list, 1);
        list[0] = laying_of(s, c.array ? &inner->over : &c.usual);
        *n = 1;
        *out = list;
        return TW_OK;
    }
    TW_ALLOC(arena, c.best, TW_MOST_SPREADS);
    list_loops(&c);
    choose(&c, 0, 0);
    bool divide = tw_layout_helps(s, c.best[0].passes);
    TW_ALLOC(arena, list, c.n + divide);
    for (int i = 0; i < c.n; i++) list[i].over = c.best[i].over;
    if (divide) list[c.n] = (tw_laying){true, tw_layout_joined(s)};
    *n = c.n + divide;
    *out = list;
    return TW_OK;
}

/* ---- tiles ---- */

static bool add_tiles(tw_tiles *tiles, int64_t len, int64_t count)
{
    int i = 0;
    if (count == 0) return true;
    while (i < tiles->n && tiles->len[i] != len) i++;
    if (i == TW_MAX_TILES) return false;
    if (i == tiles->n) tiles->len[tiles->n] = len, tiles->count[tiles->n++] = 0;
    tiles->count[i] += count;
    return true;
}

/* Cuts each piece by the choice of level t. */
static bool cut_tiles(const tw_space *s, const tw_part *p, int t, int l, tw_tiles *tiles)
{
    const tw_frame *f = &s->frame[p->frame];
    tw_range size = p->var[tw_var_size(s, t, l)], rule = p->var[tw_var_rule(s, f, t, l)];
    if (tw_range_open(size)) return false;
    int64_t count = tw_cdiv(tw_part_piece(s, p, t, l), size.lo);
    tw_tiles pieces = *tiles;
    tiles->n = 0;
    for (int i = 0; i < pieces.n; i++) {
        int64_t len = pieces.len[i], n = pieces.count[i];
        bool alike = len == size.lo * count; /* whatever the rule */
        if (!alike && (tw_range_open(rule) || (rule.lo == 0 && count > len))) return false;
        tw_split split = rule.lo == 1 ? tw_split_by_size(len, size.lo) : tw_split_by_count(len, count, TW_BALANCED);
        int64_t large = split.extra > 0 ? split.extra : split.count - 1;
        int64_t last = tw_span_len(tw_split_at(&split, 0, split.count - 1));
        if (!add_tiles(tiles, tw_split_largest(&split), n * large)) return false;
        if (!add_tiles(tiles, last, n * (split.count - large))) return false;
    }
    return true;
}

bool tw_part_tiles(const tw_space *s, const tw_part *p, int l, tw_tiles *out)
{
    out->n = 0;
    add_tiles(out, s->op->loop[l].extent, 1);
    for (int t = 0; t < s->frame[p->frame].n_tiled; t++)
        if (!cut_tiles(s, p, t, l, out)) return false;
    return true;
}

bool tw_tiles_combine(tw_tiles *all, const tw_tiles *others)
{
    tw_tiles before = *all;
    all->n = 0;
    for (int i = 0; i < before.n; i++)
        for (int k = 0; k < others->n; k++) {
            int64_t len, count;
            if (!tw_ckd_mul(before.len[i], others->len[k], &len)) return false;
            if (!tw_ckd_mul(before.count[i], others->count[k], &count) || !add_tiles(all, len, count)) return false;
        }
    return true;
}

/* ---- how a spread is written ---- */

/* Whether all tiles take as many passes when loop l does not lie over its dimension. */
static bool is_idle(const tw_space *s, const tw_part *p, const tw_spread *over, int l)
{
    int64_t size = array_of(s)->size[over->dim[l] - 1];
    tw_tiles others = {.n = 1, .len = {1}, .count = {1}}, tiles;
    for (int i = 0; i < s->op->n_loops; i++)
        if (i != l && over->dim[i] == over->dim[l])
            if (!tw_part_tiles(s, p, i, &tiles) || !tw_tiles_combine(&others, &tiles)) return false;
    if (!tw_part_tiles(s, p, l, &tiles)) return false;
    for (int i = 0; i < others.n; i++)
        for (int k = 0; k < tiles.n; k++)
            if (tw_cdiv(others.len[i] * tiles.len[k], size) != tiles.len[k] * tw_cdiv(others.len[i], size))
                return false;
    return true;
}

static bool is_same(const tw_op *op, const tw_spread *a, const tw_spread *b)
{
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].extent > 1 && a->dim[l] != b->dim[l]) return false;
    return true;
}

/* Of a joined frame: what suits the tiles. */
static tw_spread lay_tiles(const tw_space *s, const tw_part *p)
{
    tw_tiles tiles[TW_MAX_LOOPS];
    tw_spread over = default_of(s);
    for (int l = 0; l < s->op->n_loops; l++)
        if (!tw_part_tiles(s, p, l, &tiles[l])) return over;
    tw_layout_best(s, tiles, &over);
    return over;
}

tw_spread tw_spread_plain(const tw_space *s, const tw_part *p)
{
    tw_spread over = s->frame[p->frame].over, usual = default_of(s), none = {{0}};
    const tw_level_limits *inner = &s->limits.level[s->machine->n_memories - 2];
    if (!array_of(s)) return none;
    if (inner->has_unroll) return inner->over;
    if (s->frame[p->frame].joined) return lay_tiles(s, p);
    if (array_of(s)->stationary) return over; /* blocks of what stays in place may grow where passes do not */
    /* What the default has stays if it can; then what fills a dimension that another loop fills as well. */
    for (int pass = 0; pass < 2; pass++)
        for (int l = s->op->n_loops - 1; l >= 0; l--) {
            bool stays =
                pass == 0 ? over.dim[l] == usual.dim[l] : tw_spread_loop(&over, s->op, over.dim[l] - 1) == l;
            if (over.dim[l] > 0 && !stays && is_idle(s, p, &over, l)) over.dim[l] = 0;
        }
    if (is_same(s->op, &over, &usual)) return none;
    return tw_spread_is_given(&over, s->op) ? over
                                            : s->frame[p->frame].over; /* no loop at all would be the default */
}

/* ---- frames with the same tiles ---- */

typedef struct tile_lengths { /* of the innermost tiles */
    int n[TW_MAX_LOOPS];
    int64_t len[TW_MAX_LOOPS][TW_MAX_LENGTHS];
} tile_lengths;

static void add_lengths(tile_lengths *out, int l, int n, const int64_t *len, bool *room)
{
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < out->n[l] && out->len[l][at] != len[i]) at++;
        *room = *room && at < TW_MAX_LENGTHS;
        if (at == out->n[l] && *room) out->len[l][out->n[l]++] = len[i];
    }
}

/* The lengths along loop l by whichever rules, from level t on; false: they are too many, or there is no program by some rule. */
static bool lengths_along(const tw_space *s, tw_part *p, int t, int l, tile_lengths *out)
{
    const tw_frame *f = &s->frame[p->frame];
    bool good = true;
    if (t == f->n_tiled) {
        int64_t len[TW_MAX_LENGTHS];
        int n = tw_part_lengths(s, p, t, l, len);
        add_lengths(out, l, n, len, &good);
        return good && n > 0;
    }
    tw_range *rule = &p->var[tw_var_rule(s, f, t, l)], was = *rule;
    for (int32_t k = was.lo; k <= was.hi && k < 2 && good; k++) {
        *rule = (tw_range){k, k};
        good = lengths_along(s, p, t + 1, l, out);
    }
    *rule = was;
    return good;
}

static int64_t passes_in(const tw_space *s, const tw_frame *f, const int64_t *len)
{
    int64_t passes = 1, over[TW_MAX_DIMS];
    for (int d = 0; d < f->n_dims; d++) over[d] = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        int d = f->over.dim[l] - 1;
        int64_t *points = d >= 0 && d < f->n_dims ? &over[d] : &passes;
        *points = tw_sat_mul(*points, len[l]);
    }
    for (int d = 0; d < f->n_dims; d++) passes = tw_sat_mul(passes, tw_cdiv(over[d], f->size[d]));
    return passes;
}

/* Whether no tile takes more passes in frame g than in frame f, `len` being chosen along the loops before l; *fewer: some take fewer. */
static bool takes_no_more(const tw_space *s, const tw_frame *f, const tw_frame *g, const tile_lengths *tiles, int l,
                          int64_t *len, bool *fewer, int64_t *n_asked)
{
    if (l == s->op->n_loops) {
        int64_t here = passes_in(s, f, len), there = passes_in(s, g, len);
        ++*n_asked;
        *fewer = *fewer || there < here;
        return there <= here;
    }
    for (int i = 0; i < tiles->n[l]; i++) {
        len[l] = tiles->len[l][i];
        if (!takes_no_more(s, f, g, tiles, l + 1, len, fewer, n_asked)) return false;
    }
    return true;
}

bool tw_spread_is_beaten(const tw_space *s, tw_part *p, int64_t *n_asked)
{
    enum { MOST_TILES = 64 };
    const tw_frame *f = &s->frame[p->frame];
    const tw_cost_array *array = array_of(s);
    tile_lengths tiles = {0};
    int64_t n = 1, len[TW_MAX_LOOPS];
    if (!array || array->stationary || f->joined || !tw_part_is_sized(s, p)) return false;
    for (int i = f->rule; i < f->rule + f->n_tiled * s->op->n_loops; i++)
        if (!tw_range_open(p->var[i])) return false;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (!lengths_along(s, p, 0, l, &tiles)) return false;
        n *= tiles.n[l];
        if (n > MOST_TILES) return false;
    }
    for (int i = 0; i < s->n_frames; i++) {
        const tw_frame *g = &s->frame[i];
        bool fewer = false;
        if (g == f || g->joined || g->n_tiled != f->n_tiled || memcmp(g->memory, f->memory, sizeof g->memory) != 0)
            continue;
        if (takes_no_more(s, f, g, &tiles, 0, len, &fewer, n_asked) && (fewer || g < f)) return true;
    }
    return false;
}
