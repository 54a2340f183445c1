/* src/verify/joint_order.c - the commands of groups in the order of time.
 *
 * Commands come in the order of the program. One waits here until none that is still to come can start before it: a unit runs
 * its commands one after the other, and an engine that no group needs any more, or that has had all the commands that the report
 * counts, holds nobody up. */
#include "core/agenda.h"
#include "verify/joint_judge.h"

struct tw_joint_order {
    tw_agenda agenda;
    tw_joint_job *over;
    int *n_groups;     /* per engine: groups that may still need it */
    bool *counted_off; /* per group: it is done                    */
    int64_t *earliest; /* per engine: of its units                 */
};

/* ---- jobs ---- */

tw_joint_job *tw_joint_job_new(tw_joint_judge *j)
{
    tw_joint_job *job = j->order->over;
    if (!job) return TW_NEW(j->arena, tw_joint_job, 1);
    j->order->over = job->next;
    job->space.used = 0;
    return job;
}

void tw_joint_job_over(tw_joint_judge *j, tw_joint_job *job)
{
    if (job->run) tw_joint_release(&j->group[job->event.instr.group].hold[job->dst_hold], job->run);
    job->run = NULL;
    job->next = j->order->over;
    j->order->over = job;
}

void tw_joint_job_inherit(tw_joint_judge *j, tw_joint_job *job)
{
    tw_joint_job *from = j->order->over;
    if (job->space.room > 0 || !from) return;
    job->space = (tw_byte_space){from->space.at, 0, from->space.room};
    from->space = (tw_byte_space){0};
}

/* ---- engines ---- */

static bool moves_for(const tw_joint_judge *j, const tw_joint_group *g, int engine)
{
    const tw_engine *e = &j->in.platform->engine[engine].is;
    for (int h = 0; h < g->n_holds && e->kind == TW_MOVES; h++) {
        const tw_joint_hold *hold = &g->hold[h];
        int outer = hold->outer >= 0 ? g->hold[hold->outer].memory : 0,
            parent = hold->parent >= 0 ? g->hold[hold->parent].memory : 0;
        if (e->memory != hold->memory || hold->home) continue;
        if (hold->outer != -2 && e->outer == outer && (e->carries & TW_OUTWARDS)) return true;
        if (!hold->made && !hold->outward && e->outer == parent && (e->carries & TW_INWARDS)) return true;
    }
    return false;
}

bool tw_joint_needs(const tw_joint_judge *j, const tw_joint_group *g, int engine)
{
    for (int i = 0; i < g->n_ops; i++)
        if (g->op[i].view->engine == engine) return true;
    return moves_for(j, g, engine);
}

tw_joint_order *tw_joint_order_new(tw_joint_judge *j)
{
    const tw_platform *p = j->in.platform;
    tw_joint_order *o = TW_NEW(j->arena, tw_joint_order, 1);
    if (!o) return NULL;
    o->n_groups = TW_NEW(j->arena, int, p->n_engines + 1);
    o->earliest = TW_NEW(j->arena, int64_t, p->n_engines + 1);
    o->counted_off = TW_NEW(j->arena, bool, j->in.n_groups + 1);
    if (!o->n_groups || !o->earliest || !o->counted_off) return NULL;
    for (int e = 0; e < p->n_engines; e++)
        for (int g = 0; g < j->in.n_groups; g++) o->n_groups[e] += tw_joint_needs(j, &j->group[g], e);
    return o;
}

static void count_off(tw_joint_judge *j, int group)
{
    const tw_joint_group *g = &j->group[group];
    tw_joint_order *o = j->order;
    if (o->counted_off[group] || !g->done || g->n_pending > 0) return;
    o->counted_off[group] = true;
    for (int e = 0; e < j->in.platform->n_engines; e++) o->n_groups[e] -= tw_joint_needs(j, g, e);
}

static void note_engine(tw_joint_judge *j, int engine)
{
    int64_t least = INT64_MAX;
    for (int64_t u = 0, n = tw_units_count(j->known.scene, engine); u < n; u++)
        least = tw_min(least, j->units.free[engine][u]);
    j->order->earliest[engine] = least;
}

static bool is_done(const tw_joint_judge *j, int engine)
{
    const tw_engine_use *said = j->in.claims && j->in.claims->engine ? &j->in.claims->engine[engine] : NULL,
                        *seen = &j->tally.engine[engine];
    if (j->order->n_groups[engine] <= 0) return true;
    return said && seen->loads + seen->stores + seen->ops >= said->loads + said->stores + said->ops;
}

int64_t tw_joint_watermark(const tw_joint_judge *j)
{
    int64_t least = INT64_MAX;
    for (int e = 0; e < j->in.platform->n_engines; e++)
        if (j->order->earliest[e] < least && !is_done(j, e)) least = j->order->earliest[e];
    return least;
}

/* ---- order ---- */

static tw_status pass_on(tw_joint_judge *j, int64_t until)
{
    while (tw_agenda_is_due(&j->order->agenda, until) && !j->fault.set) {
        tw_joint_job *job = tw_agenda_take(&j->order->agenda).what;
        if (j->runner && !j->fault.set)
            TW_TRY(tw_joint_runner_start(j, job));
        else
            tw_joint_job_over(j, job);
    }
    return TW_OK;
}

tw_status tw_joint_order_put(tw_joint_judge *j, tw_joint_job *job)
{
    const tw_event *e = &job->event;
    TW_TRY(tw_agenda_put(&j->order->agenda, (tw_agenda_entry){e->start_cycle, job->row.tick, job}, j->arena));
    note_engine(j, e->instr.engine);
    count_off(j, e->instr.group);
    return pass_on(j, tw_joint_watermark(j));
}

tw_status tw_joint_order_flush(tw_joint_judge *j) { return pass_on(j, INT64_MAX); }
