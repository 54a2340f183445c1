/* src/search/front.c - see front.h. */
#include "search/front.h"

#include <stdlib.h>
#include <string.h>

void tw_front_release(tw_front *front)
{
    free(front->best);
    *front = (tw_front){.goals = front->goals};
}

tw_status tw_front_copy(tw_front *to, const tw_front *from)
{
    *to = *from;
    to->room = from->n;
    to->best = malloc((size_t)tw_max(from->n, 1) * sizeof *to->best);
    if (!to->best) return TW_ERR_NOMEM;
    if (from->n > 0) memcpy(to->best, from->best, (size_t)from->n * sizeof *to->best);
    return TW_OK;
}

static int compare_levels(const tw_op *op, const tw_level_map *a, const tw_level_map *b)
{
    for (int l = 0; l < op->n_loops; l++)
        if (a->count[l] != b->count[l]) return a->count[l] < b->count[l] ? -1 : 1;
    for (int l = 0; l < op->n_loops; l++)
        if (a->size[l] != b->size[l]) return a->size[l] < b->size[l] ? -1 : 1;
    for (int o = 0; o < op->n_operands; o++)
        if (a->slots[o] != b->slots[o]) return a->slots[o] < b->slots[o] ? -1 : 1;
    return memcmp(a->order, b->order, sizeof a->order);
}

/* The order of the notes: tiles of the first loop slowest, then buffers, then the order of the loops. */
static int compare_maps(const tw_op *op, const tw_best *a, const tw_op_map *map, int frame)
{
    if (a->frame != frame) return a->frame < frame ? -1 : 1;
    for (int l = 0; l < map->n_levels; l++) {
        int order = compare_levels(op, &a->map.level[l], &map->level[l]);
        if (order) return order;
    }
    return 0;
}

static tw_status insert(tw_front *f, int at, const tw_best *best)
{
    if (f->n == f->room) {
        int room = f->room > 0 ? 2 * f->room : 4;
        tw_best *more = realloc(f->best, (size_t)room * sizeof *more);
        if (!more) return TW_ERR_NOMEM;
        f->best = more;
        f->room = room;
    }
    memmove(f->best + at + 1, f->best + at, (size_t)(f->n - at) * sizeof *f->best);
    f->best[at] = *best;
    f->n++;
    return TW_OK;
}

static tw_status offer_point(tw_front *f, const tw_best *best)
{
    int n = 0, at = 0;
    for (int i = 0; i < f->n; i++)
        if (tw_value_covers(f->goals, &f->best[i].value, &best->value)) return TW_OK;
    for (int i = 0; i < f->n; i++)
        if (!tw_value_covers(f->goals, &best->value, &f->best[i].value)) f->best[n++] = f->best[i];
    f->n = n;
    while (at < n && tw_value_compare(f->goals, &f->best[at].value, &best->value) < 0) at++;
    return insert(f, at, best);
}

tw_status tw_front_offer(tw_front *f, const tw_op *op, const tw_goal_value *value, int frame, const tw_op_map *map)
{
    tw_best best = {*value, frame, *map};
    if (f->goals->pareto) return offer_point(f, &best);
    if (!tw_value_keeps(f->goals, value)) return TW_OK;
    int order = f->n == 0 ? -1 : tw_value_compare(f->goals, value, &f->best[0].value);
    if (order > 0) return TW_OK;
    f->n_optima = order < 0 ? 1 : f->n_optima + 1;
    if (order == 0) order = tw_value_compare_ties(f->goals, value, &f->best[0].value);
    if (order == 0 && f->counts) order = -compare_maps(op, &f->best[0], map, frame);
    if (order >= 0) return TW_OK;
    f->n = 0;
    return insert(f, 0, &best);
}

tw_status tw_front_merge(tw_front *f, const tw_op *op, const tw_front *other)
{
    if (!f->goals->pareto && other->n_optima == 0) return TW_OK; /* nothing new */
    int64_t before = f->n_optima;
    bool equal =
        !f->goals->pareto && f->n > 0 && tw_value_compare(f->goals, &other->best[0].value, &f->best[0].value) == 0;
    for (int i = 0; i < other->n; i++)
        TW_TRY(tw_front_offer(f, op, &other->best[i].value, other->best[i].frame, &other->best[i].map));
    if (equal)
        f->n_optima = before + other->n_optima;
    else if (f->n_optima == 1)
        f->n_optima = other->n_optima; /* it was better */
    return TW_OK;
}

bool tw_front_wants(const tw_front *f, const tw_goal_value *bound)
{
    if (!tw_value_may_keep(f->goals, bound)) return false;
    if (!f->goals->pareto) {
        int order = f->n == 0 ? -1 : tw_value_compare(f->goals, bound, &f->best[0].value);
        return order < 0 || (order == 0 && f->counts);
    }
    for (int i = 0; i < f->n; i++)
        if (tw_value_covers(f->goals, &f->best[i].value, bound)) return false;
    return true;
}
