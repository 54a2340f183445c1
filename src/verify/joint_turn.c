/* src/verify/joint_turn.c - which group has the next command.
 *
 * Of the next commands of all groups the one that can start first is next, of equals that of the group which stands first. What
 * the next command of another group is, is known when it comes; whether it should have come before others is found then. Of
 * what it waits for only its unit may have changed meanwhile, so it came too late if a command before it
 *
 *     could start neither before the unit was free then, nor before the rest of what it waits for,
 *
 * and for this it suffices to know, per group and unit, the last of those that could not start before the unit was free. */
#include "verify/joint_judge.h"

#include <string.h>

typedef struct turn { /* of a command that came */
    int64_t ready, tick;
    int group;
} turn;

struct tw_joint_turns {
    int n_units;
    int *first;  /* per engine: its unit 0 in all */
    bool *needs; /* per group and engine          */
    bool *after; /* per group and group: it reads what that one makes */
    turn *last;  /* per group and unit; tick -1: there is none */
};

static bool reads_from(const tw_joint_group *g, const tw_joint_group *other)
{
    for (int h = 0; h < g->n_holds && g != other; h++)
        for (int k = 0; k < other->n_holds; k++)
            if (g->hold[h].maker < 0 && g->hold[h].tensor == other->hold[k].tensor && other->hold[k].outer == -1)
                return true;
    return false;
}

static void forget(tw_joint_turns *t, int group)
{
    for (int u = 0; u < t->n_units; u++) t->last[group * t->n_units + u].tick = -1;
}

tw_joint_turns *tw_joint_turns_new(tw_joint_judge *j)
{
    const tw_platform *p = j->in.platform;
    int n = j->in.n_groups;
    tw_joint_turns *t = TW_NEW(j->arena, tw_joint_turns, 1);
    if (!t) return NULL;
    t->first = TW_NEW(j->arena, int, p->n_engines + 1);
    t->needs = TW_NEW(j->arena, bool, (int64_t)n * p->n_engines + 1);
    t->after = TW_NEW(j->arena, bool, (int64_t)n *n + 1);
    if (!t->first || !t->needs || !t->after) return NULL;
    for (int e = 0; e < p->n_engines; e++) t->first[e + 1] = t->first[e] + (int)tw_units_count(j->known.scene, e);
    t->n_units = t->first[p->n_engines];
    t->last = TW_NEW(j->arena, turn, (int64_t)n * t->n_units + 1);
    if (!t->last) return NULL;
    for (int g = 0; g < n; g++) {
        forget(t, g);
        for (int e = 0; e < p->n_engines; e++) t->needs[g * p->n_engines + e] = tw_joint_needs(j, &j->group[g], e);
        for (int k = 0; k < n; k++) t->after[g * n + k] = reads_from(&j->group[g], &j->group[k]);
    }
    return t;
}

static bool is_over(const tw_joint_group *g) { return g->done && g->n_pending == 0; }

bool tw_joint_check_makers(const tw_joint_at *s)
{
    const tw_joint_group *g = s->group;
    if (g->n_seen > 0) return true;
    for (int k = 0; k < s->j->in.n_groups; k++) {
        const tw_joint_group *other = &s->j->group[k];
        const tw_op *driver = other->op[other->n_ops - 1].op;
        if (s->j->turns->after[g->number * s->j->in.n_groups + k] && !is_over(other))
            return tw_fault_at(&s->at, "comes before group '%s' has made '%s'", other->map->name,
                               s->j->in.model->tensor[driver->operand[tw_op_output(driver)].tensor].name);
    }
    return true;
}

/* Whether the group has a command that could come instead of one of group `now`. */
static bool may_go(const tw_joint_judge *j, int group, int now)
{
    int n = j->in.n_groups;
    if (is_over(&j->group[group])) return false;
    for (int k = 0; k < n; k++)
        if (j->turns->after[group * n + k] && (k == now || !is_over(&j->group[k]))) return false;
    return true;
}

/* Whether a command comes before one of a group that is ready at a time. */
static bool comes_before(const turn *t, int64_t ready, int group)
{
    return t->ready != ready ? t->ready < ready : t->group < group;
}

/* A group that could have had its turn now, but had not. */
static void pass_over(const tw_joint_at *s, int group, const turn *now)
{
    tw_joint_turns *t = s->j->turns;
    int n_engines = s->j->in.platform->n_engines;
    for (int e = 0; e < n_engines; e++) {
        if (!t->needs[group * n_engines + e]) continue;
        for (int u = t->first[e]; u < t->first[e + 1]; u++) {
            turn *last = &t->last[group * t->n_units + u];
            if (comes_before(now, s->j->units.free[e][u - t->first[e]], group)) continue;
            if (last->tick < 0 || comes_before(last, now->ready, now->group)) *last = *now;
        }
    }
}

bool tw_joint_check_turn(const tw_joint_at *s)
{
    tw_joint_turns *t = s->j->turns;
    int mine = s->group->number;
    const turn now = {tw_moments_last(&s->moments), s->at.row->tick, mine},
               *last = &t->last[mine * t->n_units + t->first[s->at.instr->engine] + s->at.instr->unit];
    int64_t rest = tw_max(s->moments.data, s->moments.credit);
    if (s->j->in.unhurried || s->j->in.n_groups == 1) return true;
    if (last->tick >= 0 && !comes_before(last, rest, mine))
        return tw_fault_at(&s->at,
                           "could start at %" PRId64 " and comes after command %" PRId64
                           " of group '%s', which could start at %" PRId64,
                           rest, last->tick, s->j->group[last->group].map->name, last->ready);
    forget(t, mine);
    for (int g = 0; g < s->j->in.n_groups; g++)
        if (g != mine && may_go(s->j, g, mine)) pass_over(s, g, &now);
    return true;
}
