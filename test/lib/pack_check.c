/* test/lib/pack_check.c - see pack_check.h. Slow and obvious. */
#include "pack_check.h"
#include "tw_test.h"

#include <stdio.h>

static bool overlap(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi)
{
    return a_lo < a_hi && b_lo < b_hi && a_lo < b_hi && b_lo < a_hi;
}

static bool collide(const tw_pack_item *a, int64_t at, const tw_pack_item *b, int64_t bt)
{
    for (int x = 0; x < a->n_segments; x++)
        for (int y = 0; y < b->n_segments; y++) {
            const tw_pack_segment *p = &a->segment[x], *q = &b->segment[y];
            if (overlap(p->lower, p->upper, q->lower, q->upper) &&
                overlap(at + p->low, at + p->high, bt + q->low, bt + q->high))
                return true;
        }
    return false;
}

/* One item by itself; its extent is [0, the highest of its segments). */
static const char *alone(const tw_pack_item *it, int64_t at, int64_t capacity)
{
    int64_t reach = 0;
    bool inside = it->n_windows == 0;
    for (int k = 0; k < it->n_segments; k++)
        if (it->segment[k].high > reach) reach = it->segment[k].high;
    if (at < 0 || at + reach > capacity) return "outside";
    if (at % it->align != 0) return "not aligned";
    if (it->fixed >= 0 && at != it->fixed) return "moved";
    if (it->bank > 0 && reach > 0 && at / it->bank != (at + reach - 1) / it->bank) return "crosses a bank";
    for (int k = 0; k < it->n_windows; k++)
        inside = inside || (it->window[k].lo <= at && at + reach <= it->window[k].hi);
    return inside ? NULL : "outside its windows";
}

const char *pack_check(const tw_pack_item *item, int n, const int64_t *offset, int64_t capacity)
{
    static char text[100];
    for (int i = 0; i < n; i++) {
        const char *fault = alone(&item[i], offset[i], capacity);
        for (int j = 0; j < i && !fault; j++)
            if (collide(&item[i], offset[i], &item[j], offset[j])) fault = "overlaps one before it";
        if (!fault) continue;
        snprintf(text, sizeof text, "item %d %s", i, fault);
        return text;
    }
    return NULL;
}

static bool extend(const tw_pack_item *item, int n, int at, int64_t *offset, int64_t capacity)
{
    if (at == n) return true;
    for (offset[at] = 0; offset[at] <= capacity; offset[at]++) {
        bool free = !alone(&item[at], offset[at], capacity);
        for (int j = 0; j < at && free; j++) free = !collide(&item[at], offset[at], &item[j], offset[j]);
        if (free && extend(item, n, at + 1, offset, capacity)) return true;
    }
    return false;
}

int64_t pack_brute(const tw_pack_item *item, int n, int64_t limit)
{
    int64_t offset[PACK_MAX], height = 0;
    while (height <= limit && !extend(item, n, 0, offset, height)) height++;
    return height;
}

/* ---- problems ---- */

static void add(pack_problem *p, int64_t lower, int64_t upper, int64_t size)
{
    int i = p->n++;
    p->segment[i][0] = (tw_pack_segment){lower, upper, 0, size};
    p->item[i] =
        (tw_pack_item){.segment = p->segment[i], .n_segments = 1, .align = 1, .fixed = -1, .window = p->window[i]};
}

/* The item's life in two halves, of which one takes less. */
static void vary(uint64_t *seed, pack_problem *p, int i, bool raised)
{
    tw_pack_segment *g = p->segment[i];
    if (g->upper - g->lower < 2 || g->high < 2) return;
    int64_t cut = tw_test_pick(seed, g->lower + 1, g->upper - 1), part = tw_test_pick(seed, 1, g->high - 1);
    g[1] = (tw_pack_segment){cut, g->upper, 0, g->high};
    g->upper = cut;
    tw_pack_segment *less = &g[tw_test_pick(seed, 0, 1)];
    if (raised)
        less->low = part;
    else
        less->high = part;
    p->item[i].n_segments = 2;
}

static void constrain(uint64_t *seed, pack_problem *p, int i, unsigned kinds, int64_t load)
{
    tw_pack_item *it = &p->item[i];
    unsigned kind = kinds & 1u << tw_test_pick(seed, 0, 5);
    int64_t size = p->segment[i][0].high;
    if (kind == PACK_ALIGN) it->align = tw_test_pick(seed, 2, 4);
    if (kind == PACK_BANK) it->bank = tw_test_pick(seed, size, size + 4);
    if (kind == PACK_FIXED) it->fixed = tw_test_pick(seed, 0, load);
    if (kind == PACK_STEPS) vary(seed, p, i, false);
    if (kind == PACK_RAISED) vary(seed, p, i, true);
    if (kind == PACK_WINDOW) {
        int64_t lo = tw_test_pick(seed, 0, 4), hi = lo + size + tw_test_pick(seed, 0, 3);
        p->window[i][0] = (tw_span){lo, hi};
        p->window[i][1] = (tw_span){hi + 2, hi + 2 + size + tw_test_pick(seed, 0, load)};
        it->n_windows = 2;
    }
}

static int64_t load_at(const pack_problem *p, int64_t t)
{
    int64_t load = 0;
    for (int i = 0; i < p->n; i++)
        if (p->segment[i][0].lower <= t && t < p->segment[i][0].upper) load += p->segment[i][0].high;
    return load;
}

/* Items grow as long as the load stays what it is. */
static int64_t top_up(uint64_t *seed, pack_problem *p, int64_t times)
{
    int64_t most = 0;
    for (int64_t t = 0; t < times; t++) most = tw_max(most, load_at(p, t));
    for (int k = 0; k < 10 * p->n; k++) {
        int64_t mine = 0;
        tw_pack_segment *g = p->segment[tw_test_pick(seed, 0, p->n - 1)];
        for (int64_t t = g->lower; t < g->upper; t++) mine = tw_max(mine, load_at(p, t));
        if (mine < most) g->high += tw_test_pick(seed, 1, most - mine);
    }
    return most;
}

void pack_random(uint64_t *seed, int n, int64_t size, unsigned kinds, pack_problem *p)
{
    int64_t times = tw_test_pick(seed, 6, 12);
    for (p->n = 0; p->n < n;) {
        int64_t lower = tw_test_pick(seed, 0, times - 1), length = tw_test_pick(seed, 1, 6);
        add(p, lower, tw_min(lower + length, times), tw_test_pick(seed, 1, size));
    }
    int64_t load = top_up(seed, p, times);
    for (int i = 0; kinds && i < n; i++)
        if (tw_test_pick(seed, 0, 3) == 0) constrain(seed, p, i, kinds, load);
}
