/* src/place/pack_section.c - see pack_section.h. One sweep over the sorted ends of all segments. */
#include "place/pack_section.h"

#include <limits.h>
#include <stdlib.h>

/* A segment starts or ends. */
typedef struct event {
    int64_t at, size; /* size < 0: it ends            */
    int count;        /* +1, -1                       */
} event;

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const event *)a)->at, y = ((const event *)b)->at;
    return x < y ? -1 : x > y;
}

static bool takes_room(const tw_pack_segment *g) { return g->lower < g->upper && g->low < g->high; }

tw_status tw_pack_peak_find(const tw_pack_item *item, int n, tw_arena *scratch, tw_pack_peak *out)
{
    *out = (tw_pack_peak){0};
    int64_t n_segments = 0;
    for (int i = 0; i < n; i++) n_segments += item[i].n_segments;
    event *ev;
    TW_ALLOC(scratch, ev, 2 * n_segments + 1);
    int n_events = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < item[i].n_segments; k++) {
            const tw_pack_segment *g = &item[i].segment[k];
            if (!takes_room(g)) continue;
            ev[n_events++] = (event){g->lower, g->high - g->low, 1};
            ev[n_events++] = (event){g->upper, g->low - g->high, -1};
        }
    qsort(ev, (size_t)n_events, sizeof *ev, by_time);
    int64_t load = 0, live = 0, pieces = 0;
    for (int k = 0; k < n_events;) {
        int64_t at = ev[k].at;
        for (; k < n_events && ev[k].at == at; k++) load += ev[k].size, live += ev[k].count;
        pieces += live;
        if (load > out->load) out->load = load, out->when = (tw_span){at, k < n_events ? ev[k].at : at};
    }
    out->n_pieces = pieces > INT_MAX ? INT_MAX : (int)pieces;
    return TW_OK;
}

/* ---- sections ---- */

/* The index of `at` in the sorted cuts. */
static int cut_of(const int64_t *cut, int n, int64_t at)
{
    int lo = 0, hi = n - 1;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (cut[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int by_item(const void *a, const void *b)
{
    const tw_pack_piece *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    if (x->section != y->section) return x->section < y->section ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static int by_place(const void *a, const void *b)
{
    const tw_pack_piece *x = a, *y = b;
    if (x->section != y->section) return x->section < y->section ? -1 : 1;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* Whether every piece of a[0..n) is found in b[0..m), both ascending by item. */
static bool is_contained(const tw_pack_piece *a, int n, const tw_pack_piece *b, int m)
{
    if (n > m) return false;
    for (int i = 0, j = 0; i < n; i++, j++) {
        while (j < m && b[j].item < a[i].item) j++;
        if (j == m || b[j].item != a[i].item || b[j].low != a[i].low || b[j].high != a[i].high) return false;
    }
    return true;
}

/* Marks sections that a neighbour among those kept contains: one pass with a stack. Returns how many are kept. */
static int drop_contained(const tw_pack_piece *by_section, const int *first_in, int n_sections, int *keep)
{
    int top = 0;
    for (int s = 0; s < n_sections; s++) {
        const tw_pack_piece *p = by_section + first_in[s];
        int n = first_in[s + 1] - first_in[s];
        bool drop = n == 0;
        while (!drop && top > 0) {
            int q = keep[top - 1], m = first_in[q + 1] - first_in[q];
            drop = is_contained(p, n, by_section + first_in[q], m);
            if (drop || !is_contained(by_section + first_in[q], m, p, n)) break;
            top--;
        }
        if (!drop) keep[top++] = s;
    }
    return top;
}

static void index_pieces(const tw_pack_piece *piece, int n, int n_items, int n_sections, int *first, int *first_in)
{
    for (int k = 0; k < n; k++) {
        if (first) first[piece[k].item + 1]++;
        if (first_in) first_in[piece[k].section + 1]++;
    }
    for (int i = 0; first && i < n_items; i++) first[i + 1] += first[i];
    for (int s = 0; first_in && s < n_sections; s++) first_in[s + 1] += first_in[s];
}

/* All pieces of all sections, by section. */
typedef struct pieces {
    int n, n_sections;
    tw_pack_piece *piece;
} pieces;

static tw_status cut_into_pieces(const tw_pack_item *item, const int *member, int n, tw_arena *arena, pieces *out)
{
    int64_t n_segments = 0;
    for (int i = 0; i < n; i++) n_segments += item[member[i]].n_segments;
    int64_t *cut;
    TW_ALLOC(arena, cut, 2 * n_segments + 1);
    int n_cuts = 0, unique = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < item[member[i]].n_segments; k++) {
            cut[n_cuts++] = item[member[i]].segment[k].lower;
            cut[n_cuts++] = item[member[i]].segment[k].upper;
        }
    qsort(cut, (size_t)n_cuts, sizeof *cut, tw_by_int64);
    for (int k = 0; k < n_cuts; k++)
        if (unique == 0 || cut[unique - 1] != cut[k]) cut[unique++] = cut[k];
    int64_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        int64_t at = 0;
        if (pass == 1) TW_ALLOC(arena, out->piece, total + 1);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < item[member[i]].n_segments; k++) {
                const tw_pack_segment *g = &item[member[i]].segment[k];
                if (!takes_room(g)) continue;
                int from = cut_of(cut, unique, g->lower), to = cut_of(cut, unique, g->upper);
                if (pass == 0) total += to - from;
                for (int s = from; pass == 1 && s < to; s++)
                    out->piece[at++] = (tw_pack_piece){i, s, g->low, g->high};
            }
    }
    out->n = (int)total;
    out->n_sections = unique > 0 ? unique - 1 : 0;
    qsort(out->piece, (size_t)total, sizeof *out->piece, by_place);
    return TW_OK;
}

tw_status tw_pack_sections_build(const tw_pack_item *item, const int *member, int n, tw_arena *arena,
                                 tw_pack_sections *out)
{
    pieces all = {0};
    TW_TRY(cut_into_pieces(item, member, n, arena, &all));
    tw_pack_piece *piece = all.piece;
    int n_sections = all.n_sections;
    int *first_in, *keep, *number;
    TW_ALLOC(arena, first_in, n_sections + 1);
    TW_ALLOC(arena, keep, n_sections + 1);
    TW_ALLOC(arena, number, n_sections + 1);
    index_pieces(piece, all.n, n, n_sections, NULL, first_in);
    int n_kept = drop_contained(piece, first_in, n_sections, keep);
    for (int s = 0; s < n_sections; s++) number[s] = -1;
    for (int k = 0; k < n_kept; k++) number[keep[k]] = k;

    int n_left = 0;
    for (int k = 0; k < all.n; k++)
        if (number[piece[k].section] >= 0) {
            piece[n_left] = piece[k];
            piece[n_left].section = number[piece[k].section];
            n_left++;
        }
    tw_pack_piece *sorted;
    int *first, *kept_in;
    TW_ALLOC(arena, sorted, n_left + 1);
    TW_ALLOC(arena, first, n + 1);
    TW_ALLOC(arena, kept_in, n_kept + 1);
    for (int k = 0; k < n_left; k++) sorted[k] = piece[k];
    qsort(sorted, (size_t)n_left, sizeof *sorted, by_item);
    index_pieces(piece, n_left, n, n_kept, first, kept_in);
    *out = (tw_pack_sections){n, n_kept, sorted, first, piece, kept_in};
    return TW_OK;
}
