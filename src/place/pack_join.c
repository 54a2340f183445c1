/* src/place/pack_join.c - buffers that start at one address become one item, see pack.h.
 *
 * At any time the joined item takes the union of what its members need then: at the hand-over from one to the other
 * both are live, and they overlap on purpose. The union is exact: where two members need the two ends of a buffer, the
 * bytes between stay free for others.
 *
 * One sweep over time. Pieces that begin at 0, which most do, count by the highest of them alone: a heap holds those, and
 * what has ended is dropped when it comes to the top. The others are few and are kept in a list. */
#include "place/pack.h"

#include <stdlib.h>
#include <string.h>

static int root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static int by_lower(const void *a, const void *b)
{
    const tw_pack_segment *x = a, *y = b;
    if (x->lower != y->lower) return x->lower < y->lower ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static int by_low(const void *a, const void *b)
{
    const tw_pack_segment *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

typedef struct sweep {
    tw_pack_segment *all; /* of all members, by their start; `next` of them have started  */
    int64_t n, next;
    tw_pack_segment *heap; /* live, low == 0; the highest first; some may have ended       */
    tw_pack_segment *list; /* live, low > 0                                                */
    int64_t n_heap, n_list;
    tw_pack_segment *out; /* the union; [last, n_out) are those of the newest interval    */
    int64_t n_out, room, last;
} sweep;

static void sink(tw_pack_segment *heap, int64_t n)
{
    for (int64_t at = 0, child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1].high > heap[child].high) child++;
        if (heap[child].high <= heap[at].high) return;
        tw_pack_segment t = heap[at];
        heap[at] = heap[child];
        heap[child] = t;
    }
}

static void push(sweep *w, tw_pack_segment g)
{
    int64_t at = w->n_heap++;
    for (; at > 0 && w->heap[(at - 1) / 2].high < g.high; at = (at - 1) / 2) w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = g;
}

/* What starts by `now` is live, what ends by then is not. */
static void advance(sweep *w, int64_t now)
{
    for (; w->next < w->n && w->all[w->next].lower <= now; w->next++) {
        if (w->all[w->next].low == 0)
            push(w, w->all[w->next]);
        else
            w->list[w->n_list++] = w->all[w->next];
    }
    while (w->n_heap > 0 && w->heap[0].upper <= now) {
        w->heap[0] = w->heap[--w->n_heap];
        sink(w->heap, w->n_heap);
    }
    int64_t kept = 0;
    for (int64_t k = 0; k < w->n_list; k++)
        if (w->list[k].upper > now) w->list[kept++] = w->list[k];
    w->n_list = kept;
}

static tw_status make_room(sweep *w, tw_arena *arena)
{
    if (w->n_out + w->n_list + 1 <= w->room) return TW_OK;
    tw_pack_segment *larger;
    w->room = 2 * (w->n_out + w->n_list + 1);
    TW_ALLOC(arena, larger, w->room);
    if (w->n_out > 0) memcpy(larger, w->out, (size_t)w->n_out * sizeof *larger);
    w->out = larger;
    return TW_OK;
}

/* The union of what is live in `when`. Equal to what was live before: that lasts longer. */
static tw_status unite(sweep *w, tw_span when, tw_arena *arena)
{
    TW_TRY(make_room(w, arena));
    int64_t first = w->n_out;
    if (w->n_heap > 0) w->out[w->n_out++] = (tw_pack_segment){when.lo, when.hi, 0, w->heap[0].high};
    qsort(w->list, (size_t)w->n_list, sizeof *w->list, by_low);
    for (int64_t k = 0; k < w->n_list; k++) {
        tw_pack_segment *top = w->n_out > first ? &w->out[w->n_out - 1] : NULL;
        if (top && w->list[k].low <= top->high)
            top->high = tw_max(top->high, w->list[k].high);
        else
            w->out[w->n_out++] = (tw_pack_segment){when.lo, when.hi, w->list[k].low, w->list[k].high};
    }
    int64_t n = w->n_out - first;
    bool same = n > 0 && first - w->last == n && w->out[w->last].upper == when.lo;
    for (int64_t k = 0; same && k < n; k++)
        same =
            w->out[w->last + k].low == w->out[first + k].low && w->out[w->last + k].high == w->out[first + k].high;
    for (int64_t k = 0; same && k < n; k++) w->out[w->last + k].upper = when.hi;
    if (same)
        w->n_out = first;
    else
        w->last = first;
    return TW_OK;
}

/* Segments of the union of all members' segments. */
static tw_status join_segments(const tw_pack_item *item, const int *member, int n, tw_arena *arena,
                               tw_pack_item *out)
{
    sweep w = {0};
    int64_t total = 0, n_cuts = 0, *cut;
    for (int k = 0; k < n; k++) total += item[member[k]].n_segments;
    TW_ALLOC(arena, cut, 2 * total + 1);
    TW_ALLOC(arena, w.all, total + 1);
    TW_ALLOC(arena, w.heap, total + 1);
    TW_ALLOC(arena, w.list, total + 1);
    for (int k = 0; k < n; k++)
        for (int s = 0; s < item[member[k]].n_segments; s++) {
            const tw_pack_segment *g = &item[member[k]].segment[s];
            if (g->low >= g->high || g->lower >= g->upper) continue;
            w.all[w.n++] = *g;
            cut[n_cuts++] = g->lower;
            cut[n_cuts++] = g->upper;
        }
    qsort(cut, (size_t)n_cuts, sizeof *cut, tw_by_int64);
    qsort(w.all, (size_t)w.n, sizeof *w.all, by_lower);
    for (int64_t c = 0; c + 1 < n_cuts; c++) {
        if (cut[c] == cut[c + 1]) continue;
        advance(&w, cut[c]);
        TW_TRY(unite(&w, (tw_span){cut[c], cut[c + 1]}, arena));
    }
    if (w.n_out > INT32_MAX) return TW_ERR_NOMEM;
    out->segment = w.out;
    out->n_segments = (int)w.n_out;
    return TW_OK;
}

/* The windows of member `a` on top of those that `out` has. A window is about the member's own bytes; the group reaches
 * further, so its windows end later by the difference. */
static tw_status meet_windows(const tw_pack_item *a, int64_t group_reach, tw_pack_item *out, tw_arena *arena)
{
    if (a->n_windows == 0) return TW_OK;
    int64_t more = group_reach - tw_pack_reach(a);
    tw_span *both;
    TW_ALLOC(arena, both, a->n_windows + out->n_windows + 1);
    int n = 0;
    for (int i = 0, j = 0; i < a->n_windows && (j < out->n_windows || out->n_windows == 0);) {
        tw_span x = {a->window[i].lo, a->window[i].hi + more}, y = out->n_windows ? out->window[j] : x;
        tw_span common = {tw_max(x.lo, y.lo), tw_min(x.hi, y.hi)};
        if (common.hi - common.lo >= group_reach) both[n++] = common;
        if (x.hi < y.hi || out->n_windows == 0)
            i++;
        else
            j++;
    }
    out->nowhere = out->nowhere || n == 0;
    out->window = both;
    out->n_windows = n;
    return TW_OK;
}

/* The constraints of `a` on top of those that `out` has. False when they contradict. */
static bool meet_constraints(const tw_pack_item *a, tw_pack_item *out)
{
    int64_t align;
    if (!tw_ckd_mul(out->align / tw_gcd(out->align, a->align), a->align, &align)) return false;
    if (a->bank > 0 && out->bank > 0 && a->bank != out->bank) return false;
    if (a->fixed >= 0 && out->fixed >= 0 && a->fixed != out->fixed) return false;
    out->align = align;
    out->bank = tw_max(out->bank, a->bank);
    out->fixed = tw_max(out->fixed, a->fixed);
    return out->bank == 0 || out->bank % out->align == 0 || out->align % out->bank == 0;
}

tw_status tw_pack_join(const tw_pack_item *item, const int *partner, int n, tw_arena *arena, tw_pack_joined *joined)
{
    int *parent, *size, *first, *member, *group;
    tw_pack_item *out;
    TW_ALLOC(arena, group, n + 1);
    TW_ALLOC(arena, parent, n + 1);
    TW_ALLOC(arena, size, n + 1);
    TW_ALLOC(arena, first, n + 2);
    TW_ALLOC(arena, member, n + 1);
    TW_ALLOC(arena, out, n + 1);
    joined->conflict = -1;
    for (int i = 0; i < n; i++) parent[i] = i;
    for (int i = 0; i < n; i++)
        if (partner[i] >= 0) parent[root_of(parent, i)] = root_of(parent, partner[i]);
    int count = 0;
    int *number = size; /* of a root's group, plus one; first used as that, then as fill counts */
    for (int i = 0; i < n; i++) {
        int root = root_of(parent, i);
        if (number[root] == 0) number[root] = ++count;
        group[i] = number[root] - 1;
        first[group[i] + 1]++;
    }
    for (int g = 0; g < count; g++) first[g + 1] += first[g];
    for (int i = 0; i < n; i++) size[i] = 0;
    for (int i = 0; i < n; i++) member[first[group[i]] + size[group[i]]++] = i;
    for (int g = 0; g < count; g++) {
        const int *m = member + first[g];
        out[g] = item[m[0]];
        if (size[g] == 1) continue;
        int64_t reach = 0;
        for (int k = 0; k < size[g]; k++) reach = tw_max(reach, tw_pack_reach(&item[m[k]]));
        out[g].n_windows = 0;
        for (int k = 0; k < size[g]; k++) {
            if (!meet_constraints(&item[m[k]], &out[g])) {
                joined->conflict = m[k];
                return TW_OK;
            }
            TW_TRY(meet_windows(&item[m[k]], reach, &out[g], arena));
        }
        TW_TRY(join_segments(item, m, size[g], arena, &out[g]));
    }
    *joined = (tw_pack_joined){count, out, group, -1};
    return TW_OK;
}
