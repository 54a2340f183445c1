/* src/place/pack_heuristic.c - see pack_heuristic.h.
 *
 * Each item goes to the lowest place that those before it leave: large ones first, long ones first, and so on. Many
 * items are placed in the order of time instead, where only what is live at that moment has to be looked at. */
#include "place/pack_heuristic.h"

#include <stdlib.h>
#include <string.h>

enum {
    MANY_SEGMENTS = 64,
    N_PLAIN_ORDERS = 4, /* by area, size, width, time                                              */
    N_ORDERS = 6        /* and by alignment: the others then lie in the room that aligned ones leave */
};

typedef struct ranked {
    double key, second; /* larger first    */
    int64_t time;       /* smaller first   */
    int item;
} ranked;

static int by_key(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    if (x->second != y->second) return x->second > y->second ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int by_lo(const void *a, const void *b)
{
    int64_t x = ((const tw_span *)a)->lo, y = ((const tw_span *)b)->lo;
    return x < y ? -1 : x > y;
}

/* From the first start to the last end. */
static tw_span lifetime(const tw_pack_item *item)
{
    tw_span t = {INT64_MAX, INT64_MIN};
    for (int k = 0; k < item->n_segments; k++) {
        if (item->segment[k].lower >= item->segment[k].upper) continue;
        t.lo = tw_min(t.lo, item->segment[k].lower);
        t.hi = tw_max(t.hi, item->segment[k].upper);
    }
    return t;
}

/* Offsets strictly inside these spans make item a overlap item b, which lies at `at`. */
static int collect_forbidden(const tw_pack_item *a, const tw_pack_item *b, int64_t at, tw_span *out)
{
    int n = 0;
    for (int x = 0; x < a->n_segments; x++)
        for (int y = 0; y < b->n_segments; y++) {
            const tw_pack_segment *p = &a->segment[x], *q = &b->segment[y];
            bool meet =
                tw_max(p->lower, q->lower) < tw_min(p->upper, q->upper) && p->low < p->high && q->low < q->high;
            if (meet) out[n++] = (tw_span){at + q->low - p->high, at + q->high - p->low};
        }
    return n;
}

static bool are_sorted(const tw_span *span, int n)
{
    for (int k = 1; k < n; k++)
        if (span[k].lo < span[k - 1].lo) return false;
    return true;
}

/* The lowest offset outside all spans; INT64_MAX when the item's windows have no room. */
static int64_t lowest_outside(const tw_pack_item *item, int64_t reach, tw_span *span, int n)
{
    if (!are_sorted(span, n)) qsort(span, (size_t)n, sizeof *span, by_lo);
    int64_t at = tw_pack_fit(item, reach, 0);
    for (int k = 0; k < n && at != INT64_MAX && span[k].lo < at; k++)
        if (at < span[k].hi) at = tw_pack_fit(item, reach, span[k].hi);
    for (int k = 0; k < n && at != INT64_MAX; k++)
        if (span[k].lo < at && at < span[k].hi) { /* a constraint moved it past the end of the scan */
            at = tw_pack_fit(item, reach, span[k].hi);
            k = -1;
        }
    return at;
}

/* Items that have a place, the lowest first: what they forbid an item of one segment is then in order, too. */
typedef struct placed {
    int64_t at;
    tw_span life;
    int item;
} placed;

/* The item's lowest place among those that have one. */
static int64_t place_among(const tw_pack_item *item, int i, const placed *done, int n_done, tw_span *span)
{
    int n_spans = 0;
    tw_span life = lifetime(&item[i]);
    for (int d = 0; d < n_done; d++)
        if (life.lo < done[d].life.hi && done[d].life.lo < life.hi)
            n_spans += collect_forbidden(&item[i], &item[done[d].item], done[d].at, span + n_spans);
    return lowest_outside(&item[i], tw_pack_reach(&item[i]), span, n_spans);
}

/* Places in the order of `rank`, fixed items first. */
static int64_t first_fit(const tw_pack_item *item, int n, const ranked *rank, tw_span *span, placed *done,
                         int64_t *offset)
{
    int n_done = 0;
    int64_t height = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n; k++) {
            int i = rank[k].item;
            if ((item[i].fixed >= 0) != (pass == 0)) continue;
            int64_t at = item[i].fixed >= 0 ? item[i].fixed : place_among(item, i, done, n_done, span);
            if (at == INT64_MAX) return INT64_MAX;
            offset[i] = at;
            height = tw_max(height, at + tw_pack_reach(&item[i]));
            int place = n_done++;
            for (; place > 0 && done[place - 1].at > at; place--) done[place] = done[place - 1];
            done[place] = (placed){at, lifetime(&item[i]), i};
        }
    return height;
}

static double key_of(const tw_pack_item *item, int order)
{
    double width = 0, size = (double)tw_pack_reach(item);
    for (int k = 0; k < item->n_segments; k++)
        width += (double)item->segment[k].upper - (double)item->segment[k].lower;
    switch (order) {
    case 0: return width * size;
    case 1: return size;
    case 2: return width;
    case 3: return 0; /* by time */
    default: return (double)item->align;
    }
}

/* Among items of one alignment: by size, either way round, as the highest of them need not be rounded up. */
static double second_of(const tw_pack_item *item, int order)
{
    double size = (double)tw_pack_reach(item);
    return order < N_PLAIN_ORDERS ? 0 : order == N_PLAIN_ORDERS ? size : -size;
}

/* ---- many items: a list of what is live, by address ---- */

typedef struct block {
    int64_t lo, hi, until;
} block;

typedef struct live_list { /* what is live now, by address; blocks do not overlap */
    block *block;
    int n;
    int64_t next_end; /* when the first of them ends                                                  */
    int64_t widest;   /* no hole below the highest block is wider: what is larger goes on top of it at once */
} live_list;

static int64_t top_of(const live_list *l) { return l->n > 0 ? l->block[l->n - 1].hi : 0; }

static void drop_ended(live_list *l, int64_t now)
{
    int n = l->n;
    l->n = 0;
    l->next_end = INT64_MAX;
    l->widest = 0;
    for (int k = 0; k < n; k++) {
        if (l->block[k].until <= now) continue;
        l->widest = tw_max(l->widest, l->block[k].lo - top_of(l));
        l->next_end = tw_min(l->next_end, l->block[k].until);
        l->block[l->n++] = l->block[k];
    }
}

static void insert(live_list *l, block new)
{
    l->widest = tw_max(l->widest, new.lo - top_of(l));
    l->next_end = tw_min(l->next_end, new.until);
    int k = l->n++;
    for (; k > 0 && l->block[k - 1].lo > new.lo; k--) l->block[k] = l->block[k - 1];
    l->block[k] = new;
}

typedef struct fixed_list {
    const int *item;
    int n;
} fixed_list;

/* The lowest place from `at` on that meets no fixed item of this time; INT64_MAX: there is none. */
static int64_t above_fixed(const tw_pack_item *item, int i, tw_span life, const fixed_list *fixed, int64_t at)
{
    int64_t reach = tw_pack_reach(&item[i]);
    for (int f = 0; f < fixed->n && at != INT64_MAX; f++) {
        const tw_pack_item *o = &item[fixed->item[f]];
        tw_span other = lifetime(o);
        int64_t end = o->fixed + tw_pack_reach(o);
        bool meets = other.lo < life.hi && life.lo < other.hi && at < end && o->fixed < at + reach;
        if (meets) at = tw_pack_fit(&item[i], reach, end);
    }
    return at;
}

/* The lowest place among the live blocks and fixed items, or, for who has no time, above all live blocks. */
static int64_t place_live(const tw_pack_item *item, int i, tw_span life, const live_list *l,
                          const fixed_list *fixed, bool late)
{
    int64_t reach = tw_pack_reach(&item[i]), before;
    int first = late || reach > l->widest ? l->n : 0;
    int64_t at = tw_pack_fit(&item[i], reach, first > 0 ? top_of(l) : 0);
    do {
        before = at;
        for (int b = first; b < l->n && at != INT64_MAX && l->block[b].lo < at + reach; b++)
            if (l->block[b].hi > at) at = tw_pack_fit(&item[i], reach, l->block[b].hi);
        if (at != INT64_MAX) at = above_fixed(item, i, life, fixed, at);
    } while (at != before && at != INT64_MAX && fixed->n > 0);
    return at;
}

typedef struct pass {
    const tw_pack_item *item;
    const ranked *rank; /* the items in their order */
    int n;
    fixed_list fixed;
    const tw_deadline *deadline; /* see tw_pack_first_fit    */
} pass;

/* One pass; items with several segments keep their whole reach all the time. */
static int64_t fit_in_time(const pass *p, block *room, int64_t *offset)
{
    const tw_pack_item *item = p->item;
    enum { CLOCK_EVERY = 64 };
    live_list live = {.block = room, .next_end = INT64_MAX};
    int64_t height = 0;
    bool late = false;
    for (int k = 0; k < p->n; k++) {
        int i = p->rank[k].item;
        tw_span life = lifetime(&item[i]);
        int64_t reach = tw_pack_reach(&item[i]), at = item[i].fixed;
        bool lives = life.lo < life.hi && reach > 0;
        if (k % CLOCK_EVERY == 0) late = late || tw_deadline_is_over(p->deadline);
        if (!late && live.next_end <= life.lo) drop_ended(&live, life.lo);
        if (at < 0)
            at = lives ? place_live(item, i, life, &live, &p->fixed, late) : tw_pack_fit(&item[i], reach, 0);
        if (at == INT64_MAX) return INT64_MAX;
        if (item[i].fixed < 0 && lives) insert(&live, (block){at, at + reach, life.hi});
        offset[i] = at;
        height = tw_max(height, at + reach);
    }
    return height;
}

/* ---- fixed items ---- */

typedef struct box {
    int64_t lower, upper, lo, hi;
    int item;
} box;

static int by_lower(const void *a, const void *b)
{
    const box *x = a, *y = b;
    if (x->lower != y->lower) return x->lower < y->lower ? -1 : 1;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static int drop_boxes(box *live, int n, int64_t now, int64_t *next_end)
{
    int kept = 0;
    *next_end = INT64_MAX;
    for (int b = 0; b < n; b++) {
        if (live[b].upper <= now) continue;
        *next_end = tw_min(*next_end, live[b].upper);
        live[kept++] = live[b];
    }
    return kept;
}

/* The first fixed item in time that overlaps another, -1: none. Live boxes are kept by address. */
static tw_status find_clash(const tw_pack_item *item, const int *fixed, int n_fixed, tw_arena *scratch, int *clash)
{
    int64_t room = 0;
    for (int f = 0; f < n_fixed; f++) room += item[fixed[f]].n_segments;
    box *all, *live;
    TW_ALLOC(scratch, all, room + 1);
    TW_ALLOC(scratch, live, room + 1);
    int n = 0, n_live = 0;
    for (int f = 0; f < n_fixed; f++)
        for (int k = 0; k < item[fixed[f]].n_segments; k++) {
            const tw_pack_segment *g = &item[fixed[f]].segment[k];
            int64_t at = item[fixed[f]].fixed;
            if (g->lower < g->upper && g->low < g->high)
                all[n++] = (box){g->lower, g->upper, at + g->low, at + g->high, fixed[f]};
        }
    qsort(all, (size_t)n, sizeof *all, by_lower);
    *clash = -1;
    int64_t next_end = INT64_MAX;
    for (int k = 0; k < n; k++) {
        if (next_end <= all[k].lower) n_live = drop_boxes(live, n_live, all[k].lower, &next_end);
        next_end = tw_min(next_end, all[k].upper);
        int b = n_live;
        for (; b > 0 && live[b - 1].lo > all[k].lo; b--) live[b] = live[b - 1];
        live[b] = all[k];
        n_live++;
        bool below = b > 0 && live[b - 1].hi > all[k].lo, above = b + 1 < n_live && live[b + 1].lo < all[k].hi;
        if (!below && !above) continue;
        *clash = all[k].item;
        return TW_OK;
    }
    return TW_OK;
}

tw_status tw_pack_first_fit(const tw_pack_item *item, int n, const tw_deadline *deadline, tw_arena *scratch,
                            int64_t *offset, tw_pack_first *out)
{
    ranked *rank;
    int *fixed, n_fixed = 0, most = 1;
    bool aligned = false;
    TW_ALLOC(scratch, rank, n + 1);
    TW_ALLOC(scratch, fixed, n + 1);
    int64_t n_segments = 0;
    for (int i = 0; i < n; i++) {
        if (item[i].fixed >= 0) fixed[n_fixed++] = i;
        n_segments += item[i].n_segments;
        aligned = aligned || item[i].align > 1;
        most = (int)tw_max(most, item[i].n_segments);
    }
    TW_TRY(find_clash(item, fixed, n_fixed, scratch, &out->clash));
    if (out->clash >= 0) return TW_OK;
    out->height = INT64_MAX;
    if (n > TW_PACK_FIRST_FIT_MAX || n_segments > 2 * TW_PACK_FIRST_FIT_MAX || most > MANY_SEGMENTS) {
        block *live;
        TW_ALLOC(scratch, live, n + 1);
        for (int i = 0; i < n; i++) rank[i] = (ranked){0, 0, lifetime(&item[i]).lo, i};
        qsort(rank, (size_t)n, sizeof *rank, by_key);
        out->height = fit_in_time(&(pass){item, rank, n, {fixed, n_fixed}, deadline}, live, offset);
        return TW_OK;
    }
    placed *done;
    int64_t *now;
    tw_span *span;
    TW_ALLOC(scratch, done, n + 1);
    TW_ALLOC(scratch, now, n + 1);
    TW_ALLOC(scratch, span, most * n_segments + 1);
    for (int order = 0; order < (aligned ? N_ORDERS : N_PLAIN_ORDERS); order++) {
        for (int i = 0; i < n; i++)
            rank[i] = (ranked){key_of(&item[i], order), second_of(&item[i], order), lifetime(&item[i]).lo, i};
        qsort(rank, (size_t)n, sizeof *rank, by_key);
        if (order > 0 && tw_deadline_is_over(deadline)) break;
        int64_t h = first_fit(item, n, rank, span, done, now);
        if (h >= out->height) continue;
        out->height = h;
        memcpy(offset, now, (size_t)n * sizeof *offset);
    }
    return TW_OK;
}
