/* src/verify/joint_turn.c - which group has the next command.
 *
 * Of the next commands of all groups the one that can start first is next, of equals that of the group which stands first. What
 * the next command of a group is, is known when it comes; whether it should have come before others is found then. It could have come
 * since the command before it in its group, those of the groups that it waits for, and the last use of the addresses that it takes, and
 * what it waits for has been known since then, but for its unit. So it came too late if one of the commands since then
 *
 *     could start neither before the unit was free then, nor before the rest of what it waits for.
 *
 * Per unit, the commands that could not start before it was free are remembered, as long as no later one could start later
 * still; and those that could start just when it was free, as long as no later one is of a group behind theirs. */
#include "verify/joint_judge.h"

#include <string.h>

typedef struct turn { /* of a command that came */
    int64_t ready, tick;
    int group;
} turn;

typedef struct turn_list { /* the later ones at the end */
    int n, room;
    turn *turn;
} turn_list;

struct tw_joint_turns {
    int n_units;
    int *first;               /* per engine: its unit 0 in all                                   */
    int64_t *since;           /* per group: number of the command behind its last one            */
    turn_list *above, *level; /* per unit: ready after the unit was free, just when it was       */
};

/* Whether a group makes the tensor for others. */
static bool makes(const tw_joint_judge *j, const tw_joint_group *g, int tensor)
{
    const tw_op *driver = g->op[g->n_ops - 1].op;
    for (int h = 0; h < g->n_holds; h++)
        if (g->hold[h].maker >= 0 && tw_tensors_share(j->in.model, g->hold[h].tensor, tensor) &&
            g->hold[h].outer == -1)
            return true;
    return tw_tensors_share(j->in.model, driver->operand[tw_op_output(driver)].tensor, tensor);
}

tw_joint_turns *tw_joint_turns_new(tw_joint_judge *j)
{
    const tw_platform *p = j->in.platform;
    int n = j->in.n_groups;
    tw_joint_turns *t = TW_NEW(j->arena, tw_joint_turns, 1);
    if (!t) return NULL;
    t->first = TW_NEW(j->arena, int, p->n_engines + 1);
    t->since = TW_NEW(j->arena, int64_t, n + 1);
    if (!t->first || !t->since) return NULL;
    for (int e = 0; e < p->n_engines; e++) t->first[e + 1] = t->first[e] + (int)tw_units_count(j->known.scene, e);
    t->n_units = t->first[p->n_engines];
    t->above = TW_NEW(j->arena, turn_list, t->n_units + 1);
    t->level = TW_NEW(j->arena, turn_list, t->n_units + 1);
    return t->above && t->level ? t : NULL;
}

/* Whether the group has no commands left. */
static bool is_over(tw_joint_judge *j, tw_joint_group *g)
{
    while (!g->done && g->n_pending == 0 && !j->fault.set && !j->no_memory)
        j->no_memory |= tw_joint_advance(j, g) != TW_OK;
    return g->done && g->n_pending == 0;
}

/* Whether a command waits until group k has no commands left: it loads what that one makes, or reads it where it stays. */
static bool waits_for(const tw_joint_at *s, int k)
{
    const tw_instr *i = s->at.instr;
    if (k == s->group->number) return false;
    if (i->op == TW_LOAD && i->src[0] == -1 && makes(s->j, &s->j->group[k], s->tensor)) return true;
    for (int n = 0; n < i->n_src && n < TW_MAX_OPERANDS; n++)
        if (tw_joint_owner(s, n) == k) return true;
    return false;
}

/* Whether it waits for any. */
static bool waits(const tw_joint_at *s)
{
    const tw_instr *i = s->at.instr;
    bool owned = i->op == TW_LOAD && i->src[0] == -1 && s->j->tensor[s->tensor].maker >= 0;
    for (int n = 0; n < i->n_src && n < TW_MAX_OPERANDS; n++) owned |= tw_joint_owner(s, n) >= 0;
    return owned;
}

bool tw_joint_check_makers(const tw_joint_at *s)
{
    for (int k = 0; k < s->j->in.n_groups && waits(s); k++) {
        tw_joint_group *other = &s->j->group[k];
        const tw_op *driver = other->op[other->n_ops - 1].op;
        if (waits_for(s, k) && !is_over(s->j, other))
            return tw_fault_at(&s->at, "comes before group '%s' has made '%s'", other->map->name,
                               s->j->in.model->tensor[driver->operand[tw_op_output(driver)].tensor].name);
    }
    return true;
}

/* Whether a command comes before one of a group that is ready at a time. */
static bool comes_before(const turn *t, int64_t ready, int group)
{
    return t->ready != ready ? t->ready < ready : t->group < group;
}

/* ---- what came ---- */

static bool append(turn_list *list, const turn *now, tw_arena *arena)
{
    if (list->n == list->room) {
        int room = list->room ? 2 * list->room : 16;
        turn *wider = TW_NEW(arena, turn, room);
        if (!wider) return false;
        if (list->n) memcpy(wider, list->turn, (size_t)list->n * sizeof *wider);
        list->turn = wider;
        list->room = room;
    }
    list->turn[list->n++] = *now;
    return true;
}

static bool note_turn(tw_joint_judge *j, const turn *now)
{
    tw_joint_turns *t = j->turns;
    for (int e = 0; e < j->in.platform->n_engines; e++)
        for (int u = t->first[e]; u < t->first[e + 1]; u++) {
            int64_t free = j->units.free[e][u - t->first[e]];
            turn_list *above = &t->above[u], *level = &t->level[u];
            if (now->ready < free) continue;
            if (now->ready > free) {
                while (above->n > 0 && comes_before(&above->turn[above->n - 1], now->ready, now->group)) above->n--;
                if (!append(above, now, j->arena)) return false;
                continue;
            }
            while (level->n > 0 && level->turn[level->n - 1].group <= now->group) level->n--;
            if (!append(level, now, j->arena)) return false;
        }
    return true;
}

/* The first of a list that came as command `since` or later, and was ready not before a time; NULL: there is none. */
static const turn *find_since(const turn_list *list, int64_t since, int64_t ready)
{
    int lo = 0, hi = list->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (list->turn[mid].tick < since || list->turn[mid].ready < ready)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < list->n ? &list->turn[lo] : NULL;
}

/* ---- what should have come ---- */

/* The number of the first command in whose stead it could have come. */
static int64_t could_come(const tw_joint_at *s)
{
    const tw_joint_turns *t = s->j->turns;
    int64_t since = t->since[s->group->number];
    for (int k = 0; k < s->j->in.n_groups && waits(s); k++)
        if (waits_for(s, k)) since = tw_max(since, t->since[k]);
    if (!s->at.instr->takes) return since;
    const tw_joint_slot *slot = &s->group->hold[s->todo->dst].slot[s->j->in.buffer[s->at.instr->dst].slot];
    return slot->given >= 0 ? since : tw_max(since, slot->behind);
}

bool tw_joint_check_turn(const tw_joint_at *s)
{
    tw_joint_turns *t = s->j->turns;
    int mine = s->group->number, unit = t->first[s->at.instr->engine] + s->at.instr->unit;
    const turn now = {tw_moments_last(&s->moments), s->at.row->tick, mine};
    int64_t rest = tw_max(s->moments.data, s->moments.credit), since = could_come(s);
    if (s->j->in.unhurried || s->j->in.n_groups == 1) return true;
    const turn *above = find_since(&t->above[unit], since, INT64_MIN),
               *level = find_since(&t->level[unit], since, rest);
    if (above && comes_before(above, rest, mine)) above = NULL;
    if (!above && level && level->group > mine) above = level;
    if (above)
        return tw_fault_at(&s->at,
                           "could start at %" PRId64 " and comes after command %" PRId64
                           " of group '%s', which could start at %" PRId64,
                           rest, above->tick, s->j->group[above->group].map->name, above->ready);
    t->since[mine] = now.tick + 1;
    s->j->no_memory |= !note_turn(s->j, &now);
    return !s->j->no_memory;
}
