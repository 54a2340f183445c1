/* src/place/pack_branch.c - see pack_branch.h for the search, pack_state.h for what it changes. */
#include "place/pack_state.h"

#include <time.h>

enum {
    MAX_DEPTH = 5000,   /* of the recursion                                   */
    MAX_OPEN = 1 << 18, /* candidates of all levels together                  */
    TABLE_BITS = 18,    /* entries that remember refuted states               */
    FIRST_RUN = 2000,   /* nodes of the first run; later ones get more        */
    CLOCK_EVERY = 64,   /* nodes between two looks at the clock               */
};

static const strategy strategies[] = {
    {PICK_WEIGHED, SCORE_WASTE, RANK_LOADED},   {PICK_FEW_TIGHT, SCORE_NONE, RANK_SIZE},
    {PICK_WEIGHED, SCORE_TIGHT, RANK_WIDTH},    {PICK_FEW_LOW, SCORE_LOG, RANK_WIDTH},
    {PICK_WEIGHED, SCORE_WASTE, RANK_WIDTH},    {PICK_WEIGHED, SCORE_TIGHT, RANK_SIZE},
    {PICK_LOW, SCORE_TIGHT_WEIGHED, RANK_AREA}, {PICK_WEIGHED, SCORE_TIGHT, RANK_LOADED},
};

double tw_pack_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- refuted states ---- */

/* A state has two names. The coarse one knows the floors and whether a hole is under them, which decides everything but
 * whether something fits into a hole; the fine one knows how deep the holes are, too. */
typedef struct name {
    uint64_t a, b;
} name;
typedef struct names {
    name coarse, fine;
} names;

static names hash_state(const search *q, int from, int to)
{
    uint64_t x = UINT64_C(0x1234567) + (uint64_t)from, y = UINT64_C(0x9876543) + (uint64_t)to, hx = 0, hy = 0;
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
        hx = (hx ^ (uint64_t)q->top[s]) * UINT64_C(0xc2b2ae3d27d4eb4f);
        hx ^= hx >> 33;
        hy = (hy + (uint64_t)q->top[s]) * UINT64_C(0x8ebc6af09c88c6e3);
        hy ^= hy >> 30;
    }
    return (names){{x, y | 1}, {(x ^ hx) * UINT64_C(0x9fb21c651e98df25), (y + hy) * 2 + 1}};
}

static bool is_refuted(search *q, name n)
{
    const refuted *r = &q->table[n.a & q->table_mask & ~UINT64_C(3)];
    for (int k = 0; k < 4; k++)
        if (r[k].a == n.a && r[k].b == n.b && r[k].height >= q->height) {
            q->budget->counts->repeats++;
            q->why = r[k].why;
            return true;
        }
    return false;
}

/* A refutation that rests on what fits into a hole is one of the fine name alone: with the same floors above smaller holes
 * the same items to come may be right. */
static void remember(search *q, const names *state, const set *why)
{
    name n = why->hole ? state->fine : state->coarse;
    refuted *r = &q->table[n.a & q->table_mask & ~UINT64_C(3)];
    int at = (int)(q->nodes & 3);
    for (int k = 0; k < 4; k++)
        if (r[k].b == 0 || (r[k].a == n.a && r[k].b == n.b)) {
            at = k;
            break;
        }
    r[at] = (refuted){n.a, n.b, q->height, *why};
    q->why = *why;
}

/* ---- choosing ---- */

/* Whether an item that is still to come could end exactly where a piece of i begins. Only pieces with low > 0 leave room
 * for that: a grounded item lies no lower than the lowest floor, and then nothing to come lies under it. */
static bool may_be_carried(const search *q, int i)
{
    for (int k = 0; !q->grounded && k < n_pieces_of(q, i); k++) {
        const tw_pack_piece *p = &pieces_of(q, i)[k];
        const slot *list = slots_of(q, p->section);
        for (int64_t m = 0; m < q->n_open[p->section]; m++)
            if (list[m].item != i && q->start[list[m].item] + list[m].high <= q->start[i] + p->low) return true;
    }
    return false;
}

/* Whether something holds the item where it would start: otherwise a lower placement exists elsewhere. */
static bool is_carried(const search *q, int i)
{
    int64_t at = q->start[i];
    if (at == 0 || q->special[i] || may_be_carried(q, i)) return true;
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
    int64_t n = 0, at = q->floor[s], slack = tw_pack_slack(q, s);
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
    if (best->section < 0 || c.first < best->first || (c.first == best->first && c.second < best->second))
        *best = c;
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
        bool valley =
            q->simple ? (s == from || q->floor[s - 1] > q->floor[s]) && (end == to || q->floor[end] > q->floor[s])
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
    int64_t slack = tw_max(tw_pack_slack(q, s), 0);
    switch (q->by.score) {
    case SCORE_TIGHT_WEIGHED: return (1 + q->weight[s]) / (double)(slack + 1);
    case SCORE_WASTE: return -(double)slack * (10 + q->weight[s]);
    case SCORE_LOG: return -log_steps(slack + 1);
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
        if (tw_pack_place(q, now.item, q->start[now.item])) {
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

/* The cases of the items in sections [from, to), tried one after the other. */
typedef struct cases {
    int from, to;
    int64_t mark; /* of the trail before each                 */
    set *why;     /* what refutes those tried so far          */
    bool jump;    /* the last refutation holds without its case */
} cases;

/* One case: it was entered with `possible`; what it touched is `dirty`. On NO, `jump` is set and `why` has grown. */
static answer close_case(search *q, cases *c, bool possible)
{
    set dirty = dirty_set(q);
    answer a = possible ? descend(q, c->from, c->to) : NO;
    if (a != NO) return a;
    rewind_to(q, c->mark);
    c->jump = !set_meets(&dirty, &q->why);
    if (c->jump) {
        q->budget->counts->jumps++;
        *c->why = q->why;
    } else {
        set_join(c->why, &q->why);
    }
    return NO;
}

static answer try_cases(search *q, int from, int to, int s, set *why)
{
    candidate *c = q->open + q->n_open_all;
    if (q->n_open_all + q->n_open[s] > q->open_room) return STOPPED;
    int n = list_candidates(q, s, c, why), lid = find_lid(q, c, n, from, to);
    bool may_waste = lid < 0 && tw_pack_slack(q, s) > 0;
    if (lid >= 0) {
        c[0] = c[lid];
        n = 1;
    }
    if (tw_pack_make_room(q) != TW_OK) return OUT_OF_MEMORY;
    if (q->by.score != SCORE_NONE && n + may_waste > 1) n = look_ahead(q, c, n, why);
    q->n_open_all += n;
    answer a = NO;
    cases all = {from, to, q->n_trail, why, false};
    for (int k = 0; k < n && a == NO && !all.jump; k++) {
        bool possible = tw_pack_place(q, c[k].item, q->start[c[k].item]);
        a = close_case(q, &all, possible);
    }
    q->n_open_all -= n;
    if (a != NO || all.jump || !may_waste) return a;
    return close_case(q, &all, tw_pack_waste(q, s));
}

/* The items of sections [from, to), which no other item crosses. */
static answer solve(search *q, int from, int to)
{
    if (++q->nodes > q->node_limit || q->depth >= MAX_DEPTH) return STOPPED;
    if (q->nodes % CLOCK_EVERY == 0 && tw_deadline_is_over(q->budget->deadline)) return STOPPED;
    names state = hash_state(q, from, to);
    if (is_refuted(q, state.coarse) || is_refuted(q, state.fine)) return NO;
    int s = pick_section(q, from, to);
    set why = set_of(q, s);
    q->depth++;
    answer result = try_cases(q, from, to, s, &why);
    q->depth--;
    if (result == NO) remember(q, &state, &why);
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
        if (q->run >= (int)TW_COUNT(strategies)) q->order[i] *= factor;
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
        q->start[i] = q->item[i].fixed >= 0 ? q->item[i].fixed : tw_pack_next_start(q, i, 0);
        if (q->start[i] + q->reach[i] > q->height) return false;
    }
    return tw_pack_follow(q);
}

tw_status tw_pack_search_run(tw_pack_search *q, int64_t height, int64_t nodes, tw_pack_budget *budget,
                             int64_t *offset, tw_pack_verdict *out)
{
    const int n_strategies = (int)TW_COUNT(strategies);
    q->height = height;
    q->budget = budget;
    *out = TW_PACK_UNDECIDED;
    for (int round = 0; nodes > 0 && !tw_deadline_is_over(budget->deadline); round++) {
        int64_t grown = FIRST_RUN + 4 * (int64_t)q->n;
        for (int k = 0; k < round / n_strategies && grown < INT64_MAX / 4; k++) grown += grown / 2;
        q->node_limit = tw_min(tw_min(grown, nodes), budget->nodes);
        if (q->node_limit <= 0) return TW_OK;
        q->nodes = 0;
        q->by = strategies[q->run % n_strategies];
        TW_TRY(tw_pack_make_room(q));
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
    if (n_pieces_of(q, i) != n_pieces_of(q, j) || q->first[i] != q->first[j] || q->last[i] != q->last[j])
        return false;
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
        for (int k = 0; k < it->n_segments; k++)
            q->width[i] += (double)it->segment[k].upper - (double)it->segment[k].lower;
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
    return tw_pack_make_room(q);
}

tw_status tw_pack_search_new(const tw_pack_item *item, const tw_pack_sections *sections, tw_arena *arena,
                             tw_pack_search **out)
{
    search *q;
    TW_ALLOC(arena, q, 1);
    *q = (search){
        .item = item, .sec = sections, .arena = arena, .n = sections->n_items, .n_sections = sections->n_sections};
    TW_TRY(allocate(q));
    describe_items(q);
    *out = q;
    return TW_OK;
}
