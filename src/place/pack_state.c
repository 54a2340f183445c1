/* src/place/pack_state.c - see pack_state.h. */
#include "place/pack_state.h"

#include <string.h>

tw_status tw_pack_make_room(search *q)
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

int64_t tw_pack_next_start(const search *q, int i, int64_t at)
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

static inline void raise_start(search *q, int i, int64_t at)
{
    put(q, &q->start[i], tw_pack_next_start(q, i, at));
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
            if (from <= at)
                sum += list[k].high - list[k].low;
            else
                next = tw_min(next, from);
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
        if (o[k].lo >= q->floor[s])
            above += o[k].hi - o[k].lo;
        else if (o[k].hi > q->top[s])
            put(q, &q->top[s], o[k].hi);
    }
    return above;
}

int64_t tw_pack_slack(search *q, int s)
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
    int64_t slack = tw_pack_slack(q, s);
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
        q->why.hole = true;
        return true;
    }
    return false;
}

bool tw_pack_follow(search *q)
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

bool tw_pack_place(search *q, int i, int64_t at)
{
    begin_change(q);
    put(q, &q->offset[i], at);
    const tw_pack_piece *p = pieces_of(q, i);
    for (int k = 0; k < n_pieces_of(q, i); k++) take_out(q, p[k].section, q->sec->first[i] + k);
    for (int k = 0, n = n_pieces_of(q, i); k < n; k++) {
        int s = p[k].section;
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
    return tw_pack_follow(q);
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
    return next == INT64_MAX ? next : tw_pack_next_start(q, i, next);
}

/* Nothing lies on the floor of s. The lowest item there is then carried by something outside s. */
bool tw_pack_waste(search *q, int s)
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
    return tw_pack_follow(q);
}
