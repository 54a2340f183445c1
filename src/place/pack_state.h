/* src/place/pack_state.h - the state of the search, and the two things that change it.
 *
 * Invariants, between two calls of descend():
 *   1. start[i], i not placed, is the least offset that the item's own constraints, the obstacles and the floors of its
 *      sections allow.
 *   2. floor[s] is the least address that an item not yet placed may take in s: min over those of start + low.
 *   3. top[s] <= floor[s] is the end of what really lies below; between them is a hole.
 *   4. Every change is on the trail; leaving a case rewinds it.
 *
 * Among all placements that fit, one with the least sum of offsets is never cut off: in it every item is carried by
 * something, placed or still to come, and no item fits into a hole below it, which is all that "dominated" asks for.
 *
 * Obstacles are fixed items, and items with low > 0 that are placed above room that others may still use. Without them
 * and without constrained items the problem is `simple`: then any section lower than its neighbours may be filled
 * next; otherwise it has to be one with the lowest floor of all. */
#ifndef TW_PLACE_PACK_STATE_H
#define TW_PLACE_PACK_STATE_H
#include "place/pack_branch.h"

enum { N_WORDS = 4 }; /* a set of sections has 64 * N_WORDS buckets */

typedef struct set {
    uint64_t word[N_WORDS];
    bool hole; /* of a refutation: it also looked into a hole below a floor */
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
typedef enum score { SCORE_NONE, SCORE_TIGHT, SCORE_TIGHT_WEIGHED, SCORE_WASTE, SCORE_LOG } score;
typedef enum rank { RANK_AREA, RANK_WIDTH, RANK_SIZE, RANK_LOADED } rank;
typedef struct strategy {
    pick pick;
    score score;
    rank rank;
} strategy;

struct tw_pack_search {
    const tw_pack_item *item;
    const tw_pack_sections *sec;
    tw_arena *arena;
    int n, n_sections;
    bool simple;   /* nothing is constrained, fixed, interrupted or raised               */
    bool grounded; /* every piece has low 0                                          */
    int64_t height;
    strategy by;
    /* of items */
    int64_t *start, *offset, *reach;
    int *first, *last, *twin; /* twin: an equal item before it, -1 none                        */
    bool *special;            /* has constraints of its own                                  */
    double *order, *width;
    uint64_t *key[2]; /* two, so that two hashes do not err together                 */
    set *in;          /* its sections                                                */
    /* of sections */
    int64_t *floor, *top, *rest, *n_open, *n_crossing, *n_obstacles,
        *keys[2]; /* keys: of the open items that begin there */
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

/* ---- sets of sections ---- */

static inline void set_add(set *x, const search *q, int s)
{
    unsigned b =
        q->n_sections <= 64 * N_WORDS ? (unsigned)s : (unsigned)((int64_t)s * (64 * N_WORDS) / q->n_sections);
    x->word[b >> 6] |= UINT64_C(1) << (b & 63);
}
static inline void set_join(set *x, const set *y)
{
    for (int k = 0; k < N_WORDS; k++) x->word[k] |= y->word[k];
    x->hole = x->hole || y->hole;
}
static inline bool set_meets(const set *x, const set *y)
{
    uint64_t common = 0;
    for (int k = 0; k < N_WORDS; k++) common |= x->word[k] & y->word[k];
    return common != 0;
}
static inline set set_of(const search *q, int s)
{
    set x = {{0}};
    set_add(&x, q, s);
    return x;
}
static inline set dirty_set(const search *q)
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

static inline void rewind_to(search *q, int64_t mark)
{
    while (q->n_trail > mark) {
        change *c = &q->trail[--q->n_trail];
        *c->where = c->old;
    }
}

static inline slot *slots_of(const search *q, int s) { return q->slot + q->sec->first_in[s]; }
static inline const tw_pack_piece *pieces_of(const search *q, int i) { return q->sec->piece + q->sec->first[i]; }
static inline int n_pieces_of(const search *q, int i) { return q->sec->first[i + 1] - q->sec->first[i]; }
static inline tw_span *obstacles_of(const search *q, int s) { return q->obstacle + q->sec->first_in[s]; }

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

/* Room on the trail for one more change; before each. */
TW_NODISCARD tw_status tw_pack_make_room(search *q);
/* The least offset >= at that the item's constraints and the obstacles allow. */
int64_t tw_pack_next_start(const search *q, int i, int64_t at);
/* What section s could still waste. */
int64_t tw_pack_slack(search *q, int s);
/* What follows from the change under way. False when it cannot lead to a placement; q->why then says which sections
 * show it. So do the two below. */
bool tw_pack_follow(search *q);
bool tw_pack_place(search *q, int i, int64_t at);
/* Nothing lies on the floor of s. */
bool tw_pack_waste(search *q, int s);
#endif
