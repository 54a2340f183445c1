/* src/place/pack_join.c - buffers that start at one address become one item, see pack.h.
 *
 * At any time the joined item is as large as the largest of its members that are live then: at the hand-over from one
 * to the other both are, and they overlap on purpose. */
#include "place/pack.h"

#include <stdlib.h>

static int root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Segments of the union of all members' segments, at each time the hull of what is live. */
static tw_status join_segments(const tw_pack_item *item, const int *member, int n, tw_arena *arena,
                               tw_pack_item *out)
{
    int64_t total = 0;
    for (int k = 0; k < n; k++) total += item[member[k]].n_segments;
    int64_t *cut;
    tw_pack_segment *to;
    TW_ALLOC(arena, cut, 2 * total + 1);
    TW_ALLOC(arena, to, 2 * total + 1);
    int n_cuts = 0, n_out = 0;
    for (int k = 0; k < n; k++)
        for (int s = 0; s < item[member[k]].n_segments; s++) {
            cut[n_cuts++] = item[member[k]].segment[s].lower;
            cut[n_cuts++] = item[member[k]].segment[s].upper;
        }
    qsort(cut, (size_t)n_cuts, sizeof *cut, by_value);
    for (int c = 0; c + 1 < n_cuts; c++) {
        tw_pack_segment now = {cut[c], cut[c + 1], INT64_MAX, 0};
        if (now.lower == now.upper) continue;
        for (int k = 0; k < n; k++)
            for (int s = 0; s < item[member[k]].n_segments; s++) {
                const tw_pack_segment *g = &item[member[k]].segment[s];
                if (g->lower > now.lower || g->upper < now.upper || g->low >= g->high) continue;
                now.low = tw_min(now.low, g->low);
                now.high = tw_max(now.high, g->high);
            }
        if (now.low >= now.high) continue;
        tw_pack_segment *last = n_out > 0 ? &to[n_out - 1] : NULL;
        if (last && last->upper == now.lower && last->low == now.low && last->high == now.high)
            last->upper = now.upper;
        else
            to[n_out++] = now;
    }
    out->segment = to;
    out->n_segments = n_out;
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
    if (n == 0) both[n++] = (tw_span){0, 0}; /* nothing of any size fits */
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

tw_status tw_pack_join(const tw_pack_item *item, const int *partner, int n, tw_arena *arena, tw_pack_item **joined,
                       int *n_joined, int *group, int *conflict)
{
    int *parent, *size, *first, *member;
    tw_pack_item *out;
    TW_ALLOC(arena, parent, n + 1);
    TW_ALLOC(arena, size, n + 1);
    TW_ALLOC(arena, first, n + 2);
    TW_ALLOC(arena, member, n + 1);
    TW_ALLOC(arena, out, n + 1);
    *conflict = -1;
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
                *conflict = m[k];
                return TW_OK;
            }
            TW_TRY(meet_windows(&item[m[k]], reach, &out[g], arena));
        }
        TW_TRY(join_segments(item, m, size[g], arena, &out[g]));
    }
    *joined = out;
    *n_joined = count;
    return TW_OK;
}
