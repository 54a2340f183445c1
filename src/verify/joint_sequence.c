/* src/verify/joint_sequence.c - the order of the commands of one group, which mover carries what, and on which unit.
 *
 * The walk numbers what must come as the rules have it. The stores at the end of a step may wait until the loads of the next
 * step's first execution have come,
 *
 *     exec  [stores]  [loads]  exec      or      exec  [loads]  [stores]  exec
 *
 * and must where a mover of the group runs ahead, unless one of these loads takes what the stores give back. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

/* ---- movers ---- */

static bool runs_between(const tw_joint_at *s, int engine, int outer, int inner)
{
    const tw_platform *p = s->j->in.platform;
    const tw_platform_engine *e = &p->engine[engine];
    int core = p->engine[s->op->view->engine].core;
    return e->is.kind == TW_MOVES && e->is.outer == outer && e->is.memory == inner &&
           (e->is.carries & (s->inward ? TW_INWARDS : TW_OUTWARDS)) && (e->core < 0 || e->core == core);
}

int tw_joint_mover(const tw_joint_at *s, int outer, int inner)
{
    const tw_platform *p = s->j->in.platform;
    unsigned role = tw_verify_role(s->op->op, s->at.instr->operand);
    if (s->inward != (s->at.instr->op == TW_LOAD)) return -1;
    int link = s->inward ? tw_joint_link(s->j, outer, inner, s->op->op, s->at.instr->operand) : -1;
    if (link >= 0) return link;
    for (int e = 0; e < p->n_engines; e++)
        if (runs_between(s, e, outer, inner) &&
            tw_verify_is_named(p->engine[e].is.named, s->op->op, s->at.instr->operand))
            return e;
    for (int e = 0; e < p->n_engines; e++)
        if (runs_between(s, e, outer, inner) && (p->engine[e].is.roles & role)) return e;
    return -1;
}

/* ---- units ---- */

/* A group takes the units of an engine in turn; `shifted`: stores that wait have had theirs before. */
static bool check_unit(const tw_joint_at *s, bool shifted)
{
    int64_t turn = s->group->n_on[s->at.instr->engine]++ % tw_units_count(s->at.in->scene, s->at.instr->engine);
    if (shifted || s->at.instr->unit == turn) return true;
    return tw_fault_at(&s->at, "is on unit %d, it is the turn of unit %" PRId64, s->at.instr->unit, turn);
}

/* ---- order ---- */

/* Whether it takes a buffer that the stores before it gave back. */
static bool takes_from(const tw_joint_at *s, int64_t since)
{
    int buffer = s->at.instr->dst;
    if (!s->at.instr->takes || buffer < 0 || buffer >= s->j->in.n_buffers) return false;
    const tw_buffer *b = &s->j->in.buffer[buffer];
    const tw_joint_hold *h = &s->group->hold[s->todo->dst];
    return b->slot < h->slots && h->slot[b->slot].giver >= since;
}

static void note_store(const tw_joint_at *s, struct tw_joint_sequence *q)
{
    bool waited = q->ahead > q->behind;
    if (s->todo->number == q->stores && !waited) q->since = s->at.row->tick, q->loads = q->needed = false;
    if (waited && q->waited < 0) q->waited = s->at.row->tick;
    if (++q->next == q->behind) q->next = q->ahead;
}

static void note_other(const tw_joint_at *s, struct tw_joint_sequence *q, bool load)
{
    q->next++;
    if (q->since < 0) return;
    if (load) {
        q->loads = true;
        q->needed |= takes_from(s, q->since);
        return;
    }
    if (q->loads && !q->needed && q->hurried < 0) q->hurried = q->since;
    q->since = -1;
}

bool tw_joint_check_sequence(const tw_joint_at *s)
{
    struct tw_joint_sequence *q = &s->group->sequence;
    int64_t number = s->todo->number;
    bool load = s->at.instr->op == TW_LOAD, store = number >= q->stores && number < q->behind;
    if (s->j->in.unhurried) return true;
    q->prefetches |= s->j->in.platform->engine[s->at.instr->engine].is.prefetches;
    if (load && q->next == q->stores && q->stores < q->behind && number == q->ahead) {
        q->ahead++;
        return check_unit(s, true);
    }
    if (number != q->next || (load && q->ahead > q->behind && number == q->ahead))
        return tw_fault_at(&s->at,
                           "comes out of order: it is command %" PRId64 " of group '%s', %" PRId64 " is next",
                           number, s->group->map->name, q->next);
    if (store)
        note_store(s, q);
    else
        note_other(s, q, load);
    return check_unit(s, store && q->ahead > q->behind);
}

void tw_joint_check_ahead(tw_joint_judge *j, const tw_joint_group *g)
{
    const struct tw_joint_sequence *q = &g->sequence;
    if (j->in.unhurried) return;
    if (q->prefetches && q->hurried >= 0)
        tw_fault_set(&j->fault, "group '%s': its stores from command %" PRId64 " on do not wait for the next loads",
                     g->map->name, q->hurried);
    if (!q->prefetches && q->waited >= 0)
        tw_fault_set(&j->fault,
                     "group '%s': command %" PRId64 " waits for the next loads, no mover of it runs ahead",
                     g->map->name, q->waited);
}
