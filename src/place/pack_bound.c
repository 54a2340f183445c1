/* src/place/pack_bound.c - see pack_bound.h for the idea.
 *
 * For each alignment that occurs, one sweep over time keeps the rounded sizes of what is live. Who is live is looked at only
 * when their sum promises more than the bound found so far, and only as often as MAX_LOOKS allows: leaving some out makes
 * the bound weaker, never wrong. So does leaving out pieces that begin above their item's offset. */
#include "place/pack_bound.h"

#include <stdlib.h>

enum {
    MAX_ALIGNS = 32,    /* different alignments that are tried, the largest first */
    MAX_LOOKS = 1 << 24 /* items that are looked at, per alignment                */
};

typedef struct event { /* a piece of `size` starts or ends */
    int64_t at, size;
    int piece;
    bool starts;
} event;

typedef struct live_list {
    int *piece, *place; /* place[p]: where piece p is in the list */
    int n;
} live_list;

static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->piece < y->piece ? -1 : x->piece > y->piece;
}

static int by_value_down(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

static int64_t rounding(int64_t size, int64_t align) { return (align - size % align) % align; }

/* Pieces of items whose alignment is a multiple of `align`, as events. */
static int64_t list_events(const tw_pack_item *item, int n, int64_t align, event *ev)
{
    int64_t count = 0;
    int piece = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < item[i].n_segments; k++) {
            const tw_pack_segment *g = &item[i].segment[k];
            if (item[i].align % align != 0 || g->low > 0 || g->high <= 0 || g->lower >= g->upper) continue;
            ev[count++] = (event){g->lower, g->high, piece, true};
            ev[count++] = (event){g->upper, g->high, piece++, false};
        }
    qsort(ev, (size_t)count, sizeof *ev, by_time);
    return count;
}

static void update(live_list *live, const event *e)
{
    if (e->starts) {
        live->place[e->piece] = live->n;
        live->piece[live->n++] = e->piece;
        return;
    }
    int last = live->piece[--live->n];
    live->piece[live->place[e->piece]] = last;
    live->place[last] = live->place[e->piece];
}

/* The bound for one alignment; `size` has room for the size of each piece. */
static int64_t bound_of(const event *ev, int64_t n_events, int64_t align, live_list *live, int64_t *size)
{
    int64_t bound = 0, sum = 0, looks = 0;
    for (int64_t k = 0; k < n_events; k++) size[ev[k].piece] = ev[k].size;
    live->n = 0;
    for (int64_t k = 0; k < n_events;) {
        int64_t at = ev[k].at;
        for (; k < n_events && ev[k].at == at; k++) {
            int64_t whole = ev[k].size + rounding(ev[k].size, align);
            sum += ev[k].starts ? whole : -whole;
            update(live, &ev[k]);
        }
        if (sum <= bound || looks > MAX_LOOKS) continue;
        int64_t saved = 0;
        for (int m = 0; m < live->n; m++) saved = tw_max(saved, rounding(size[live->piece[m]], align));
        looks += live->n;
        bound = tw_max(bound, sum - saved);
    }
    return bound;
}

tw_status tw_pack_aligned_bound(const tw_pack_item *item, int n, tw_arena *scratch, int64_t *bound)
{
    int64_t *align, *size, n_segments = 0;
    int n_aligns = 0, unique = 0;
    event *ev;
    live_list live;
    *bound = 0;
    TW_ALLOC(scratch, align, n + 1);
    for (int i = 0; i < n; i++) {
        n_segments += item[i].n_segments;
        if (item[i].align > 1) align[n_aligns++] = item[i].align;
    }
    if (n_aligns == 0) return TW_OK;
    qsort(align, (size_t)n_aligns, sizeof *align, by_value_down);
    TW_ALLOC(scratch, ev, 2 * n_segments + 1);
    TW_ALLOC(scratch, size, n_segments + 1);
    TW_ALLOC(scratch, live.piece, n_segments + 1);
    TW_ALLOC(scratch, live.place, n_segments + 1);
    for (int k = 0; k < n_aligns && unique < MAX_ALIGNS; k++) {
        if (k > 0 && align[k] == align[k - 1]) continue;
        unique++;
        int64_t n_events = list_events(item, n, align[k], ev);
        *bound = tw_max(*bound, bound_of(ev, n_events, align[k], &live, size));
    }
    return TW_OK;
}
