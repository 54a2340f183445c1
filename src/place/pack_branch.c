/* src/place/pack_branch.c - see pack_branch.h.
 *
 * Invariants, between two calls of descend():
 *   1. start[i], i not placed, is the least offset that the item's own constraints, the obstacles and the floors of its
 *      sections allow.
 *   2. floor[s] is the least address that an item not yet placed may take in s: min over those of start + low.
 *   3. top[s] <= floor[s] is the end of what really lies below; between them is a hole.
 *   4. Every change is on the trail; leaving a case rewinds it.
 *
 * Among all placements that fit, one with the least sum of offsets is never cut off: in it every item is carried by
 * something and no item fits into a hole below it, which is all that "dominated" asks for.
 *
 * Obstacles are fixed items, and items with low > 0 that are placed above room that others may still use. Without them
 * and without constrained items the problem is `simple`: then any section lower than its neighbours may be filled
 * next; otherwise it has to be one with the lowest floor of all. */
#include "place/pack_branch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    N_WORDS = 4,         /* a set of sections has 64 * N_WORDS buckets                          */
    MAX_DEPTH = 5000,    /* of the recursion                                                    */
    MAX_OPEN = 1 << 18,  /* candidates of all levels together                                   */
    TABLE_BITS = 18,     /* entries that remember refuted states                                */
    FIRST_RUN = 2000,    /* nodes of the first run; later ones get more                         */
    CLOCK_EVERY = 64,    /* nodes between two looks at the clock                                */
};

typedef struct set {
    uint64_t word[N_WORDS];
} set;

typedef struct slot { /* an item in the list of a section; those not yet placed come first */
    int item, piece;
    int64_t low, high;
} slot;

typedef struct candidate {
    int item;
    double cost;
} candidate;

typedef struct change {
    int64_t *where;
    int64_t old;
} change;

typedef struct refuted {
    uint64_t a, b;
    int64_t height;
    set why;
} refuted;

/* How a run chooses: which section next, which item first. */
typedef enum pick { PICK_FEW_LOW, PICK_LOW, PICK_WEIGHED, PICK_FEW_TIGHT } pick;
typedef enum taste { TASTE_NONE, TASTE_TIGHT, TASTE_TIGHT_WEIGHED, TASTE_WASTE, TASTE_LOG } taste;
typedef enum rank { RANK_AREA, RANK_WIDTH, RANK_SIZE, RANK_LOADED } rank;
static const struct strategy {
    pick pick;
    taste taste;
    rank rank;
} strategy[] = {
    {PICK_WEIGHED, TASTE_WASTE, RANK_LOADED}, {PICK_FEW_TIGHT, TASTE_NONE, RANK_SIZE},
    {PICK_WEIGHED, TASTE_TIGHT, RANK_WIDTH},  {PICK_FEW_LOW, TASTE_LOG, RANK_WIDTH},
    {PICK_WEIGHED, TASTE_WASTE, RANK_WIDTH},  {PICK_WEIGHED, TASTE_TIGHT, RANK_SIZE},
    {PICK_LOW, TASTE_TIGHT_WEIGHED, RANK_AREA}, {PICK_WEIGHED, TASTE_TIGHT, RANK_LOADED},
};

struct tw_pack_search {
    const tw_pack_item *item;
    const tw_pack_sections *sec;
    tw_arena *arena;
    int n, n_sections;
    bool simple; /* nothing is constrained, fixed, interrupted or raised               */
    bool grounded; /* every piece has low 0                                          */
    int64_t height;
    struct strategy by;
    /* of items */
    int64_t *start, *offset, *reach;
    int *first, *last, *twin; /* twin: an equal item before it, -1 none                        */
    bool *special;            /* has constraints of its own                                  */
    double *order, *width;
    uint64_t *key[2];         /* two, so that two hashes do not err together                 */
    set *in;                  /* its sections                                                */
    /* of sections */
    int64_t *floor, *top, *rest, *n_open, *n_crossing, *n_obstacles, *keys[2]; /* keys: of the open items that begin there */
    double *weight;
    slot *slot;
    int *place_of; /* per piece: its slot's number within the section           */
    tw_span *obstacle;
    bool obstacles;
    /* of the change under way */
    int *dirty, n_dirty, *changed, n_changed, *dirty_mark, *changed_mark, *hole_mark, mark;
    set why; /* the sections that the newest refutation looked at */
    change *trail;
    int64_t n_trail, trail_room, step_room;
    candidate *open;
    int64_t open_room;
    int n_open_all, depth;
    refuted *table;
    uint64_t table_mask;
    int64_t nodes, node_limit;
    int run;
    tw_pack_budget *budget;
};
typedef tw_pack_search search;

double tw_pack_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool tw_pack_is_late(const tw_pack_budget *budget) { return budget->until > 0 && tw_pack_clock() >= budget->until; }

/* ---- sets of sections ---- */

static void set_add(set *x, const search *q, int s)
{
    unsigned b = q->n_sections <= 64 * N_WORDS ? (unsigned)s
                                               : (unsigned)((int64_t)s * (64 * N_WORDS) / q->n_sections);
    x->word[b >> 6] |= UINT64_C(1) << (b & 63);
}
static void set_join(set *x, const set *y)
{
    for (int k = 0; k < N_WORDS; k++) x->word[k] |= y->word[k];
}
static bool set_meets(const set *x, const set *y)
{
    uint64_t common = 0;
    for (int k = 0; k < N_WORDS; k++) common |= x->word[k] & y->word[k];
    return common != 0;
}
static set set_of(const search *q, int s)
{
    set x = {{0}};
    set_add(&x, q, s);
    return x;
}
static set dirty_set(const search *q)
{
    set x = {{0}};
    for (int k = 0; k < q->n_dirty; k++) set_add(&x, q, q->dirty[k]);
    return x;
}

/* ---- changes that can be taken back ---- */

static inline void put(search *q, int64_t *where, int64_t value)
{
    q->trail[q->n_trail++] = (change){where, *where};
    *where = value;
}

static void rewind_to(search *q, int64_t mark)
{
    while (q->n_trail > mark) {
        change *c = &q->trail[--q->n_trail];
        *c->where = c->old;
    }
}

static tw_status make_room(search *q)
{
    if (q->n_trail + q->step_room <= q->trail_room) return TW_OK;
    change *larger;
    int64_t room = 2 * (q->n_trail + q->step_room);
    TW_ALLOC(q->arena, larger, room);
    if (q->n_trail > 0) memcpy(larger, q->trail, (size_t)q->n_trail * sizeof *larger);
    q->trail = larger;
    q->trail_room = room;
    return TW_OK;
}

static inline slot *slots_of(const search *q, int s) { return q->slot + q->sec->first_in[s]; }
static inline const tw_pack_piece *pieces_of(const search *q, int i) { return q->sec->piece + q->sec->first[i]; }
static inline int n_pieces_of(const search *q, int i) { return q->sec->first[i + 1] - q->sec->first[i]; }
static inline tw_span *obstacles_of(const search *q, int s) { return q->obstacle + q->sec->first_in[s]; }

/* The least offset >= at that the item's constraints and the obstacles allow. */
static int64_t next_start(const search *q, int i, int64_t at)
{
    if (!q->special[i] && !q->obstacles) return at;
    for (bool moved = true; moved;) {
        moved = false;
        at = tw_pack_fit(&q->item[i], q->reach[i], at);
        if (at > q->height) return INT64_MAX / 2;
        for (int k = 0; q->obstacles && k < n_pieces_of(q, i); k++) {
            const tw_pack_piece *p = &pieces_of(q, i)[k];
            const tw_span *o = obstacles_of(q, p->section);
            for (int64_t m = 0; m < q->n_obstacles[p->section]; m++)
                if (at + p->low < o[m].hi && o[m].lo < at + p->high) at = o[m].hi - p->low, moved = true;
        }
    }
    return at;
}

static inline void begin_change(search *q)
{
    q->mark++;
    q->n_dirty = q->n_changed = 0;
}

static inline void touch(search *q, int s)
{
    if (q->dirty_mark[s] == q->mark) return;
    q->dirty_mark[s] = q->mark;
    q->dirty[q->n_dirty++] = s;
}

static inline void raise_start(search *q, int i, int64_t at)
{
    put(q, &q->start[i], next_start(q, i, at));
    if (q->changed_mark[i] == q->mark) return;
    q->changed_mark[i] = q->mark;
    q->changed[q->n_changed++] = i;
}

/* ---- what follows from a change ---- */

/* Whether `s` must be left empty for longer than it can afford, as none of its items can start low enough. */
static bool is_idle_too_long(const search *q, int s, int64_t highest, int64_t slack)
{
    const slot *list = slots_of(q, s);
    int64_t at = q->floor[s], base = at;
    while (highest - at > slack) {
        int64_t sum = 0, next = INT64_MAX;
        for (int64_t k = 0; k < q->n_open[s]; k++) {
            int64_t from = q->start[list[k].item] + list[k].low;
            if (from <= at) sum += list[k].high - list[k].low;
            else next = tw_min(next, from);
        }
        if (base + sum >= highest) return false;
        if (base + sum > at) {
            at = base + sum;
            continue;
        }
        slack -= next - at;
        if (slack < 0) return true;
        base += next - at;
        at = next;
    }
    return false;
}

/* Obstacles above the floor; those below it carry what comes next. */
static int64_t obstacles_above(search *q, int s)
{
    int64_t above = 0;
    const tw_span *o = obstacles_of(q, s);
    for (int64_t k = 0; k < q->n_obstacles[s]; k++) {
        if (o[k].lo >= q->floor[s]) above += o[k].hi - o[k].lo;
        else if (o[k].hi > q->top[s]) put(q, &q->top[s], o[k].hi);
    }
    return above;
}

static int64_t slack_of(search *q, int s)
{
    int64_t above = q->obstacles ? obstacles_above(q, s) : 0;
    return q->height - q->floor[s] - q->rest[s] - above;
}

static bool refuse_at(search *q, int s, int64_t *count)
{
    ++*count;
    q->weight[s] += 1;
    q->why = set_of(q, s);
    return false;
}

/* Invariant 2 for one section, and whether it can still be filled. */
static bool settle(search *q, int s)
{
    int64_t lowest = INT64_MAX, highest = 0, n = q->n_open[s];
    const slot *list = slots_of(q, s);
    if (n == 0) return true;
    for (int64_t k = 0; k < n; k++) {
        int64_t from = q->start[list[k].item] + list[k].low;
        lowest = tw_min(lowest, from);
        highest = tw_max(highest, from);
    }
    if (lowest > q->floor[s]) put(q, &q->floor[s], lowest);
    int64_t slack = slack_of(q, s);
    if (slack < 0) return refuse_at(q, s, &q->budget->counts->over_load);
    if (highest - q->floor[s] > slack && !q->obstacles && is_idle_too_long(q, s, highest, slack))
        return refuse_at(q, s, &q->budget->counts->over_idle);
    return true;
}

/* Whether the item, still to come, could lie in a hole that was left below it. */
static bool fits_into_hole(const search *q, int i)
{
    int64_t at = 0;
    for (int k = 0; k < n_pieces_of(q, i); k++) {
        const tw_pack_piece *p = &pieces_of(q, i)[k];
        at = tw_max(at, q->top[p->section] - p->low);
        if (at + p->high > q->floor[p->section]) return false;
    }
    if (q->special[i]) at = tw_pack_fit(&q->item[i], q->reach[i], at);
    if (at > q->height) return false;
    for (int k = 0; k < n_pieces_of(q, i); k++) {
        const tw_pack_piece *p = &pieces_of(q, i)[k];
        if (at + p->high > q->floor[p->section]) return false;
    }
    return true;
}

static bool has_filled_hole(search *q, int s)
{
    if (q->floor[s] <= q->top[s]) return false;
    const slot *list = slots_of(q, s);
    for (int64_t k = 0; k < q->n_open[s]; k++) {
        int i = list[k].item;
        if (q->top[s] + list[k].high - list[k].low > q->floor[s] || q->hole_mark[i] == q->mark) continue;
        q->hole_mark[i] = q->mark;
        if (!fits_into_hole(q, i)) continue;
        q->budget->counts->dominated++;
        q->why = q->in[i];
        return true;
    }
    return false;
}

/* False when the change cannot lead to a placement; q->why then says which sections show it. */
static bool follow(search *q)
{
    for (int k = 0; k < q->n_changed; k++) {
        int i = q->changed[k];
        for (int m = 0; m < n_pieces_of(q, i); m++) touch(q, pieces_of(q, i)[m].section);
    }
    for (int k = 0; k < q->n_changed; k++) {
        int i = q->changed[k];
        if (q->start[i] + q->reach[i] <= q->height) continue;
        q->budget->counts->over_load++;
        q->weight[q->first[i]] += 1;
        q->why = q->in[i];
        return false;
    }
    for (int k = 0; k < q->n_dirty; k++)
        if (!settle(q, q->dirty[k])) return false;
    for (int k = 0; k < q->n_dirty; k++)
        if (has_filled_hole(q, q->dirty[k])) return false;
    return true;
}

/* ---- the two kinds of choice ---- */

static void take_out(search *q, int s, int piece)
{
    slot *list = slots_of(q, s);
    int64_t last = q->n_open[s] - 1;
    slot mine = list[q->place_of[piece]], other = list[last];
    list[q->place_of[piece]] = other;
    q->place_of[other.piece] = q->place_of[piece];
    list[last] = mine;
    q->place_of[piece] = (int)last;
    put(q, &q->n_open[s], last);
    put(q, &q->rest[s], q->rest[s] - (mine.high - mine.low));
}

/* Whether something still to come could lie in `room` below a piece. */
static bool room_is_usable(const search *q, int s, int64_t room)
{
    const slot *list = slots_of(q, s);
    for (int64_t k = 0; k < q->n_open[s]; k++)
        if (list[k].high - list[k].low <= room) return true;
    return false;
}

static void add_obstacle(search *q, int s, tw_span where)
{
    obstacles_of(q, s)[q->n_obstacles[s]] = where;
    put(q, &q->n_obstacles[s], q->n_obstacles[s] + 1);
    q->obstacles = true;
    slot *list = slots_of(q, s);
    for (int64_t k = 0; k < q->n_open[s]; k++) {
        int j = list[k].item;
        int64_t from = q->start[j] + list[k].low, to = q->start[j] + list[k].high;
        if (from < where.hi && where.lo < to) raise_start(q, j, q->start[j]);
    }
}

static bool place(search *q, int i, int64_t at)
{
    begin_change(q);
    put(q, &q->offset[i], at);
    const tw_pack_piece *p = pieces_of(q, i);
    for (int k = 0, n = n_pieces_of(q, i); k < n; k++) {
        int s = p[k].section;
        take_out(q, s, q->sec->first[i] + k);
        touch(q, s);
        int64_t room = at + p[k].low - q->floor[s], top = at + p[k].high;
        if (!q->simple && room > 0 && room_is_usable(q, s, room)) {
            add_obstacle(q, s, (tw_span){at + p[k].low, top});
            continue;
        }
        put(q, &q->floor[s], top);
        put(q, &q->top[s], top);
        const slot *list = slots_of(q, s);
        for (int64_t m = 0, n_open = q->n_open[s]; m < n_open; m++)
            if (q->start[list[m].item] < top - list[m].low) raise_start(q, list[m].item, top - list[m].low);
    }
    for (int s = q->first[i]; s < q->last[i]; s++) put(q, &q->n_crossing[s], q->n_crossing[s] - 1);
    for (int lane = 0; lane < 2; lane++) {
        int64_t *key = &q->keys[lane][q->first[i]];
        put(q, key, (int64_t)((uint64_t)*key ^ q->key[lane][i]));
    }
    return follow(q);
}

static bool is_in(const search *q, int i, int s)
{
    if (s < q->first[i] || s > q->last[i]) return false;
    for (int k = 0; !q->simple && k < n_pieces_of(q, i); k++)
        if (pieces_of(q, i)[k].section == s) return true;
    return q->simple;
}

/* Item i may not start where it could: the next offset at which its own constraints, an obstacle, or an item that is
 * not in section s could carry it. */
static int64_t next_carried(const search *q, int i, int s)
{
    int64_t at = q->start[i], next = INT64_MAX;
    for (int k = 0; k < n_pieces_of(q, i); k++) {
        const tw_pack_piece *p = &pieces_of(q, i)[k];
        const slot *list = slots_of(q, p->section);
        for (int64_t m = 0; m < q->n_open[p->section]; m++) {
            int j = list[m].item;
            int64_t on_it = q->start[j] + list[m].high - p->low;
            if (on_it >= next || j == i || (q->grounded && is_in(q, j, s))) continue;
            next = tw_max(on_it, at + 1);
        }
        const tw_span *o = obstacles_of(q, p->section);
        for (int64_t m = 0; q->obstacles && m < q->n_obstacles[p->section]; m++)
            if (o[m].hi - p->low > at) next = tw_min(next, o[m].hi - p->low);
    }
    if (!q->special[i]) return next;
    const tw_pack_item *it = &q->item[i];
    if (it->align > 1) next = tw_min(next, at + 1);
    if (it->bank > 0) next = tw_min(next, (at / it->bank + 1) * it->bank);
    for (int k = 0; k < it->n_windows; k++)
        if (it->window[k].lo > at) next = tw_min(next, it->window[k].lo);
    return next == INT64_MAX ? next : next_start(q, i, next);
}

/* Nothing lies on the floor of s. The lowest item there is then carried by something outside s. */
static bool waste(search *q, int s)
{
    begin_change(q);
    const slot *list = slots_of(q, s);
    int64_t at = q->floor[s], next = INT64_MAX, n = q->n_open[s];
    for (int64_t k = 0; k < n; k++) {
        int64_t from = q->start[list[k].item] + list[k].low;
        if (from == at) {
            from = next_carried(q, list[k].item, s);
            if (from < INT64_MAX) from += list[k].low;
        }
        next = tw_min(next, from);
    }
    touch(q, s);
    if (next > q->height) return refuse_at(q, s, &q->budget->counts->dominated);
    for (int64_t k = 0; k < n; k++)
        if (q->start[list[k].item] + list[k].low < next) raise_start(q, list[k].item, next - list[k].low);
    return follow(q);
}

/* ---- refuted states ---- */

static void hash_state(const search *q, int from, int to, uint64_t *a, uint64_t *b)
{
    uint64_t x = UINT64_C(0x1234567) + (uint64_t)from, y = UINT64_C(0x9876543) + (uint64_t)to;
    for (int s = from; s < to; s++) {
        if (q->n_open[s] == 0) continue;
        uint64_t level = (uint64_t)q->floor[s] * 2 + (q->floor[s] == q->top[s]), w = level;
        uint64_t v = level * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)q->keys[0][s];
        const tw_span *o = obstacles_of(q, s);
        for (int64_t k = 0; q->obstacles && k < q->n_obstacles[s]; k++)
            if (o[k].hi >= q->floor[s]) {
                v += (uint64_t)o[k].lo * UINT64_C(0xd6e8feb86659fd93) ^ (uint64_t)o[k].hi << 7;
                w += (uint64_t)o[k].hi * UINT64_C(0xa0761d6478bd642f) ^ (uint64_t)o[k].lo << 11;
            }
        w = w * UINT64_C(0xe7037ed1a0b428db) ^ (uint64_t)q->keys[1][s];
        v ^= v >> 29;
        w ^= w >> 31;
        x = (x ^ v) * UINT64_C(0xbf58476d1ce4e5b9);
        x ^= x >> 32;
        y = (y + w) * UINT64_C(0x94d049bb133111eb);
        y = (y ^ y >> 31) + (uint64_t)s;
    }
    *a = x;
    *b = y | 1;
}

static bool is_refuted(search *q, uint64_t a, uint64_t b)
{
    const refuted *r = &q->table[a & q->table_mask & ~UINT64_C(3)];
    for (int k = 0; k < 4; k++)
        if (r[k].a == a && r[k].b == b && r[k].height >= q->height) {
            q->budget->counts->repeats++;
            q->why = r[k].why;
            return true;
        }
    return false;
}

static void remember(search *q, uint64_t a, uint64_t b, const set *why)
{
    refuted *r = &q->table[a & q->table_mask & ~UINT64_C(3)];
    int at = (int)(q->nodes & 3);
    for (int k = 0; k < 4; k++)
        if (r[k].b == 0 || (r[k].a == a && r[k].b == b)) {
            at = k;
            break;
        }
    r[at] = (refuted){a, b, q->height, *why};
    q->why = *why;
}

/* ---- choosing ---- */

/* Whether something holds the item where it would start: otherwise a lower placement exists elsewhere. */
static bool is_carried(const search *q, int i)
{
    int64_t at = q->start[i];
    if (at == 0 || q->special[i]) return true;
    for (int k = 0; k < n_pieces_of(q, i); k++) {
        const tw_pack_piece *p = &pieces_of(q, i)[k];
        if (q->top[p->section] == at + p->low) return true;
        const tw_span *o = obstacles_of(q, p->section);
        for (int64_t m = 0; q->obstacles && m < q->n_obstacles[p->section]; m++)
            if (o[m].hi == at + p->low) return true;
    }
    return false;
}

typedef struct choice {
    int section;
    double first, second; /* smaller is better */
} choice;

static void consider(search *q, int s, choice *best)
{
    int64_t n = 0, at = q->floor[s], slack = slack_of(q, s);
    const slot *list = slots_of(q, s);
    for (int64_t k = 0; k < q->n_open[s]; k++) n += q->start[list[k].item] + list[k].low == at;
    double few = (double)(n + (slack > 0)), low = (double)at;
    choice c = {s, few, low};
    switch (q->by.pick) {
    case PICK_FEW_LOW: break;
    case PICK_LOW: c = (choice){s, low, few}; break;
    case PICK_WEIGHED: c = (choice){s, few / (10 + q->weight[s]), 0}; break;
    case PICK_FEW_TIGHT: c.second = (double)slack; break;
    }
    if (best->section < 0 || c.first < best->first || (c.first == best->first && c.second < best->second)) *best = c;
}

/* A section of [from, to) whose floor can be decided now: no item that could lie on it leaves room below itself. */
static int pick_section(search *q, int from, int to)
{
    choice best = {-1, 0, 0};
    int64_t lowest = INT64_MAX;
    for (int s = from; !q->simple && s < to; s++)
        if (q->n_open[s] > 0) lowest = tw_min(lowest, q->floor[s]);
    for (int s = from, end; s < to; s = end) {
        for (end = s + 1; end < to && q->floor[end] == q->floor[s];) end++;
        bool valley = q->simple ? (s == from || q->floor[s - 1] > q->floor[s]) && (end == to || q->floor[end] > q->floor[s])
                                : q->floor[s] == lowest;
        for (int k = s; valley && k < end; k++)
            if (q->n_open[k] > 0) consider(q, k, &best);
    }
    return best.section;
}

/* log2(x) in steps of 1/1024, without the host's opinion on rounding. */
static double log_steps(int64_t x)
{
    int k = 63 - __builtin_clzll((uint64_t)x);
    int64_t part = k >= 10 ? x >> (k - 10) : x << (10 - k);
    return (double)(k * 1024 + (int)(part - 1024));
}

/* How much it hurts that section s has only so much slack left. */
static double pain(search *q, int s)
{
    int64_t slack = tw_max(slack_of(q, s), 0);
    switch (q->by.taste) {
    case TASTE_TIGHT_WEIGHED: return (1 + q->weight[s]) / (double)(slack + 1);
    case TASTE_WASTE: return -(double)slack * (10 + q->weight[s]);
    case TASTE_LOG: return -log_steps(slack + 1);
    default: return 1 / (double)(slack + 1);
    }
}

/* Tries each candidate for one step: drops those that fail at once, and puts those first that leave tight sections
 * their slack. Equal ones keep their order. */
static int look_ahead(search *q, candidate *c, int n, set *why)
{
    int kept = 0;
    for (int k = 0; k < n; k++) {
        int64_t mark = q->n_trail;
        candidate now = {c[k].item, 0};
        if (place(q, now.item, q->start[now.item])) {
            for (int d = 0; d < q->n_dirty; d++) now.cost += pain(q, q->dirty[d]);
            rewind_to(q, mark);
            for (int d = 0; d < q->n_dirty; d++) now.cost -= pain(q, q->dirty[d]);
            rewind_to(q, mark);
            int at = kept++;
            for (; at > 0 && c[at - 1].cost > now.cost; at--) c[at] = c[at - 1];
            c[at] = now;
        } else {
            rewind_to(q, mark);
            set_join(why, &q->why);
        }
    }
    return kept;
}

/* Items that may lie on the floor of s, best first by the run's order. */
static int list_candidates(search *q, int s, candidate *c, set *why)
{
    int n = 0;
    const slot *list = slots_of(q, s);
    for (int64_t k = 0; k < q->n_open[s]; k++) {
        int i = list[k].item;
        if (q->start[i] + list[k].low != q->floor[s]) continue;
        set_join(why, &q->in[i]);
        bool twin_first = q->twin[i] >= 0 && q->offset[q->twin[i]] < 0;
        if (twin_first || !is_carried(q, i)) continue;
        int at = n++;
        for (; at > 0 && (q->order[c[at - 1].item] < q->order[i] ||
                          (q->order[c[at - 1].item] == q->order[i] && c[at - 1].item > i));
             at--)
            c[at] = c[at - 1];
        c[at] = (candidate){i, 0};
    }
    return n;
}

/* An item as wide as the whole component, when its floor is flat, may as well lie at the bottom. */
static int find_lid(const search *q, const candidate *c, int n, int from, int to)
{
    for (int k = 0; q->simple && k < n; k++) {
        if (q->first[c[k].item] != from || q->last[c[k].item] != to - 1) continue;
        for (int s = from + 1; s < to; s++)
            if (q->floor[s] != q->floor[from]) return -1;
        return k;
    }
    return -1;
}

/* ---- descending ---- */

typedef enum answer { YES, NO, STOPPED, OUT_OF_MEMORY } answer;

static answer descend(search *q, int from, int to);

/* One case: it was entered with `possible`; what it touched is `dirty`. On NO, *jump says whether the refutation holds
 * without it, and `why` has grown. */
static answer close_case(search *q, int from, int to, bool possible, int64_t mark, set *why, bool *jump)
{
    set dirty = dirty_set(q);
    answer a = possible ? descend(q, from, to) : NO;
    if (a != NO) return a;
    rewind_to(q, mark);
    *jump = !set_meets(&dirty, &q->why);
    if (*jump) {
        q->budget->counts->jumps++;
        *why = q->why;
    } else {
        set_join(why, &q->why);
    }
    return NO;
}

static answer try_cases(search *q, int from, int to, int s, set *why)
{
    candidate *c = q->open + q->n_open_all;
    if (q->n_open_all + q->n_open[s] > q->open_room) return STOPPED;
    int n = list_candidates(q, s, c, why), lid = find_lid(q, c, n, from, to);
    bool may_waste = lid < 0 && slack_of(q, s) > 0, jump = false;
    if (lid >= 0) {
        c[0] = c[lid];
        n = 1;
    }
    if (make_room(q) != TW_OK) return OUT_OF_MEMORY;
    if (q->by.taste != TASTE_NONE && n + may_waste > 1) n = look_ahead(q, c, n, why);
    q->n_open_all += n;
    answer a = NO;
    int64_t mark = q->n_trail;
    for (int k = 0; k < n && a == NO && !jump; k++) {
        bool possible = place(q, c[k].item, q->start[c[k].item]);
        a = close_case(q, from, to, possible, mark, why, &jump);
    }
    q->n_open_all -= n;
    if (a != NO || jump || !may_waste) return a;
    return close_case(q, from, to, waste(q, s), mark, why, &jump);
}

/* The items of sections [from, to), which no other item crosses. */
static answer solve(search *q, int from, int to)
{
    if (++q->nodes > q->node_limit || q->depth >= MAX_DEPTH) return STOPPED;
    if (q->nodes % CLOCK_EVERY == 0 && tw_pack_is_late(q->budget)) return STOPPED;
    uint64_t a, b;
    hash_state(q, from, to, &a, &b);
    if (is_refuted(q, a, b)) return NO;
    int s = pick_section(q, from, to);
    set why = set_of(q, s);
    q->depth++;
    answer result = try_cases(q, from, to, s, &why);
    q->depth--;
    if (result == NO) remember(q, a, b, &why);
    return result;
}

/* Each part of [from, to) that nothing crosses by itself; one that fails refutes all. */
static answer descend(search *q, int from, int to)
{
    for (int s = from, end; s < to; s = end) {
        end = s + 1;
        if (q->n_open[s] == 0) continue;
        while (end < to && q->n_crossing[end - 1] > 0) end++;
        answer a = solve(q, s, end);
        if (a != YES) return a;
    }
    return YES;
}

/* ---- runs ---- */

static double rank_of(const search *q, int i, rank by)
{
    double width = q->width[i], size = (double)q->reach[i], load = 0;
    switch (by) {
    case RANK_AREA: return width * size;
    case RANK_WIDTH: return width + size * 1e-9;
    case RANK_SIZE: return size + width * 1e-9;
    case RANK_LOADED: break;
    }
    for (int k = 0; k < n_pieces_of(q, i); k++) {
        double here = (double)q->rest[pieces_of(q, i)[k].section];
        if (here > load) load = here;
    }
    return load * load * load * width;
}

/* From the second round on, a factor between 0.7 and 1.3 shuffles the order. */
static void rank_items(search *q)
{
    uint64_t seed = (uint64_t)q->run * 7919 + 5;
    for (int i = 0; i < q->n; i++) {
        q->order[i] = rank_of(q, i, q->by.rank);
        double factor = 0.7 + 0.0006 * (double)(tw_random_next(&seed) % 1001);
        if (q->run >= (int)TW_COUNT(strategy)) q->order[i] *= factor;
    }
}

/* Everything unplaced, fixed items as obstacles. False when these already contradict. */
static bool start_over(search *q)
{
    q->n_trail = 0;
    q->n_open_all = q->depth = 0;
    q->obstacles = false;
    for (int s = 0; s < q->n_sections; s++) {
        q->floor[s] = q->top[s] = q->rest[s] = q->n_crossing[s] = q->n_obstacles[s] = 0;
        q->n_open[s] = q->keys[0][s] = q->keys[1][s] = 0;
    }
    for (int i = 0; i < q->n; i++) q->offset[i] = q->item[i].fixed >= 0 ? q->item[i].fixed : -1;
    for (int k = 0, n = q->sec->first[q->n]; k < n; k++) {
        const tw_pack_piece *p = &q->sec->piece[k];
        int s = p->section, i = p->item;
        if (q->item[i].fixed >= 0) {
            int64_t at = q->item[i].fixed;
            obstacles_of(q, s)[q->n_obstacles[s]++] = (tw_span){at + p->low, at + p->high};
            q->obstacles = true;
            continue;
        }
        slots_of(q, s)[q->n_open[s]] = (slot){i, k, p->low, p->high};
        q->place_of[k] = (int)q->n_open[s]++;
        q->rest[s] += p->high - p->low;
    }
    for (int i = 0; i < q->n; i++) {
        if (q->item[i].fixed >= 0 || n_pieces_of(q, i) == 0) continue;
        for (int s = q->first[i]; s < q->last[i]; s++) q->n_crossing[s]++;
        for (int lane = 0; lane < 2; lane++) q->keys[lane][q->first[i]] ^= (int64_t)q->key[lane][i];
    }
    begin_change(q);
    for (int s = 0; s < q->n_sections; s++) touch(q, s);
    for (int i = 0; i < q->n; i++) {
        q->start[i] = q->item[i].fixed >= 0 ? q->item[i].fixed : next_start(q, i, 0);
        if (q->start[i] + q->reach[i] > q->height) return false;
    }
    return follow(q);
}

tw_status tw_pack_search_run(tw_pack_search *q, int64_t height, int64_t nodes, tw_pack_budget *budget,
                             int64_t *offset, tw_pack_verdict *out)
{
    const int n_strategies = (int)TW_COUNT(strategy);
    q->height = height;
    q->budget = budget;
    *out = TW_PACK_UNDECIDED;
    for (int round = 0; nodes > 0 && !tw_pack_is_late(budget); round++) {
        int64_t grown = FIRST_RUN + 4 * (int64_t)q->n;
        for (int k = 0; k < round / n_strategies && grown < INT64_MAX / 4; k++) grown += grown / 2;
        q->node_limit = tw_min(tw_min(grown, nodes), budget->nodes);
        if (q->node_limit <= 0) return TW_OK;
        q->nodes = 0;
        q->by = strategy[q->run % n_strategies];
        TW_TRY(make_room(q));
        answer a = start_over(q) ? YES : NO;
        if (a == YES) {
            rank_items(q);
            a = descend(q, 0, q->n_sections);
        }
        budget->counts->runs++;
        budget->counts->nodes += q->nodes;
        budget->nodes -= q->nodes;
        nodes -= q->nodes;
        if (a == OUT_OF_MEMORY) return TW_ERR_NOMEM;
        if (a == NO) *out = TW_PACK_DOES_NOT_FIT;
        if (a == YES) {
            *out = TW_PACK_FITS;
            for (int i = 0; i < q->n; i++) offset[i] = q->offset[i] >= 0 ? q->offset[i] : q->start[i];
        }
        if (a != STOPPED) return TW_OK;
        q->run++;
    }
    return TW_OK;
}

/* ---- making a search ---- */

static bool are_equal(const search *q, int i, int j)
{
    const tw_pack_item *a = &q->item[i], *b = &q->item[j];
    if (n_pieces_of(q, i) != n_pieces_of(q, j) || q->first[i] != q->first[j] || q->last[i] != q->last[j]) return false;
    if (a->align != b->align || a->bank != b->bank || a->fixed >= 0 || b->fixed >= 0) return false;
    if (q->reach[i] != q->reach[j] || a->n_windows > 0 || b->n_windows > 0) return false;
    for (int k = 0; k < n_pieces_of(q, i); k++) {
        const tw_pack_piece *x = &pieces_of(q, i)[k], *y = &pieces_of(q, j)[k];
        if (x->section != y->section || x->low != y->low || x->high != y->high) return false;
    }
    return true;
}

static void describe_items(search *q)
{
    uint64_t seed = 1;
    q->simple = q->grounded = true;
    for (int i = 0; i < q->n; i++) {
        const tw_pack_item *it = &q->item[i];
        int n = n_pieces_of(q, i);
        for (int lane = 0; lane < 2; lane++) q->key[lane][i] = tw_random_next(&seed);
        q->reach[i] = tw_pack_reach(it);
        q->first[i] = n > 0 ? pieces_of(q, i)[0].section : 0;
        q->last[i] = n > 0 ? pieces_of(q, i)[n - 1].section : 0;
        q->special[i] = it->align > 1 || it->bank > 0 || it->n_windows > 0;
        for (int k = 0; k < it->n_segments; k++) q->width[i] += (double)it->segment[k].upper - (double)it->segment[k].lower;
        q->simple = q->simple && !q->special[i] && it->fixed < 0 && q->last[i] - q->first[i] + 1 == n;
        for (int k = 0; k < n; k++) {
            const tw_pack_piece *p = &pieces_of(q, i)[k];
            q->grounded = q->grounded && p->low == 0;
            set_add(&q->in[i], q, p->section);
        }
        q->simple = q->simple && q->grounded;
        q->twin[i] = -1;
        for (int j = i - 1; j >= 0 && q->twin[i] < 0; j--)
            if (are_equal(q, i, j)) q->twin[i] = j;
    }
}

static tw_status allocate(search *q)
{
    tw_arena *arena = q->arena;
    int n = q->n, m = q->n_sections, pieces = q->sec->first[n];
    TW_ALLOC(arena, q->start, n + 1);
    TW_ALLOC(arena, q->offset, n + 1);
    TW_ALLOC(arena, q->reach, n + 1);
    TW_ALLOC(arena, q->first, n + 1);
    TW_ALLOC(arena, q->last, n + 1);
    TW_ALLOC(arena, q->twin, n + 1);
    TW_ALLOC(arena, q->special, n + 1);
    TW_ALLOC(arena, q->order, n + 1);
    TW_ALLOC(arena, q->width, n + 1);
    for (int lane = 0; lane < 2; lane++) {
        TW_ALLOC(arena, q->key[lane], n + 1);
        TW_ALLOC(arena, q->keys[lane], m + 1);
    }
    TW_ALLOC(arena, q->in, n + 1);
    TW_ALLOC(arena, q->changed, n + 1);
    TW_ALLOC(arena, q->changed_mark, n + 1);
    TW_ALLOC(arena, q->hole_mark, n + 1);
    TW_ALLOC(arena, q->floor, m + 1);
    TW_ALLOC(arena, q->top, m + 1);
    TW_ALLOC(arena, q->rest, m + 1);
    TW_ALLOC(arena, q->n_open, m + 1);
    TW_ALLOC(arena, q->n_crossing, m + 1);
    TW_ALLOC(arena, q->n_obstacles, m + 1);
    TW_ALLOC(arena, q->weight, m + 1);
    TW_ALLOC(arena, q->dirty, m + 1);
    TW_ALLOC(arena, q->dirty_mark, m + 1);
    TW_ALLOC(arena, q->slot, pieces + 1);
    TW_ALLOC(arena, q->place_of, pieces + 1);
    TW_ALLOC(arena, q->obstacle, pieces + 1);
    q->open_room = tw_min(MAX_OPEN, (int64_t)n * n + 1);
    TW_ALLOC(arena, q->open, q->open_room);
    int bits = 4;
    while (bits < TABLE_BITS && (INT64_C(1) << bits) < (int64_t)n * n * 16) bits++;
    q->table_mask = (UINT64_C(1) << bits) - 1;
    TW_ALLOC(arena, q->table, INT64_C(1) << bits);
    q->step_room = 4 * (int64_t)pieces + 8 * (int64_t)m + 2 * (int64_t)n + 16;
    return make_room(q);
}

tw_status tw_pack_search_new(const tw_pack_item *item, const tw_pack_sections *sections, tw_arena *arena,
                             tw_pack_search **out)
{
    search *q;
    TW_ALLOC(arena, q, 1);
    *q = (search){.item = item, .sec = sections, .arena = arena, .n = sections->n_items,
                  .n_sections = sections->n_sections};
    TW_TRY(allocate(q));
    describe_items(q);
    *out = q;
    return TW_OK;
}
