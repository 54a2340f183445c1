/* src/verify/joint_cost.c - what the commands of groups move, and how long they take, at ports too. */
#include "verify/cost.h"
#include "verify/joint_judge.h"
#include "verify/shape.h"

/* ---- what is moved ---- */

static int64_t units_of(const tw_joint_at *s, const tw_region *region)
{
    const tw_joint_judge *j = s->j;
    return tw_verify_dtype_units(j->known.scene->unit, j->in.model->tensor[s->tensor].dtype,
                                 tw_verify_region_elems(&j->tensor[s->tensor].shape, region));
}

/* Whether a lane differs from one before it only in pieces of loops that the operand does not depend on. Pieces are filled from
 * the first on, so that is a lane which has a piece other than the first of such a loop. */
static bool is_repeated(const tw_joint_at *s, unsigned per, int64_t lane)
{
    unsigned known = tw_verify_loops(&s->op->op->operand[s->at.instr->operand]);
    for (int l = s->op->op->n_loops - 1; l >= 0; l--) {
        if (s->op->in.over[l] == 0 || !(per >> (s->op->in.over[l] - 1) & 1)) continue;
        if (lane % s->op->in.parts[l] > 0 && !(known >> l & 1)) return true;
        lane /= s->op->in.parts[l];
    }
    return false;
}

/* A part of what a lane holds: of a store of what was just made, what it has of that. */
static tw_joint_part moved_part(const tw_joint_at *s, const tw_joint_part *lane)
{
    const tw_operand *shape = &s->j->tensor[s->tensor].shape;
    tw_joint_part part = *lane;
    if (!lane->any) return part;
    part.region = tw_verify_common(shape, &lane->region, &s->todo->region);
    part.any = tw_verify_region_is_sound(shape, &part.region);
    return part;
}

tw_moved tw_joint_move(const tw_joint_at *s, const tw_joint_hold *inner)
{
    bool inward = s->inward;
    const tw_engine *e = &s->j->in.platform->engine[s->at.instr->engine].is;
    const tw_joint_run *run = inward ? s->todo->run : s->todo->src[0].run;
    int64_t once = 0, each = 0, whole = units_of(s, &s->todo->region);
    if (inner->lanes == 1) return (tw_moved){inward, whole, whole, whole};
    for (int64_t i = 0; i < inner->lanes; i++) {
        tw_joint_part part = moved_part(s, &run->lane[i]);
        if (!part.any) continue;
        each += units_of(s, &part.region);
        if (!is_repeated(s, inner->per, i)) once += units_of(s, &part.region);
    }
    bool shared = inward ? e->multicast : inner->summed;
    return (tw_moved){inward, shared ? once : each, shared && inward ? once : each,
                      shared && !inward ? once : each};
}

/* ---- time ---- */

static int64_t shape_of(const tw_joint_at *s, const tw_engine *engine, const tw_region *region)
{
    tw_instr alone = *s->at.instr;
    alone.region = *region;
    alone.work = units_of(s, region);
    return tw_verify_shape(&s->op->in, engine, &alone);
}

/* Each lane is a transfer of its own, but those that are served together. */
static int64_t transfer_shape(const tw_joint_at *s, const tw_engine *engine)
{
    bool inward = s->inward;
    int hold = inward ? s->todo->dst : s->todo->src[0].hold;
    const tw_joint_hold *h = &s->group->hold[hold];
    const tw_joint_run *run = inward ? s->todo->run : s->todo->src[0].run;
    int64_t sum = 0;
    if (h->lanes == 1) return shape_of(s, engine, &s->todo->region);
    for (int64_t i = 0; i < h->lanes; i++) {
        tw_joint_part part = moved_part(s, &run->lane[i]);
        bool shared = inward ? engine->multicast : h->summed;
        if (part.any && !(shared && is_repeated(s, h->per, i))) sum += shape_of(s, engine, &part.region);
    }
    return sum;
}

static const tw_engine *engine_of(const tw_joint_at *s)
{
    return s->at.instr->op == TW_EXEC ? &s->op->engine : &s->j->in.platform->engine[s->at.instr->engine].is;
}

/* What `passes` must be, where the cost asks for the shape of the work. */
static int64_t passes_of(const tw_joint_at *s)
{
    const tw_engine *e = engine_of(s);
    if (!tw_verify_by_shape(e)) return s->at.instr->passes;
    return s->at.instr->op == TW_EXEC ? tw_verify_shape(&s->op->in, e, s->at.instr) : transfer_shape(s, e);
}

bool tw_joint_check_passes(const tw_joint_at *s) { return tw_cost_claims(&s->at, engine_of(s), passes_of(s)); }

static tw_length length_of(const tw_joint_at *s, int64_t work, const tw_moved *moved)
{
    const tw_scene *scene = s->at.in->scene;
    int engine = s->at.instr->engine;
    int64_t ports = 0;
    if (s->at.instr->op != TW_EXEC)
        ports = tw_max(tw_port_length(tw_port_at(scene, engine, s->inward, true), moved->reads),
                       tw_port_length(tw_port_at(scene, engine, s->inward, false), moved->writes));
    return tw_time_length(engine_of(s), work, ports);
}

/* A load that finds another one to hear lasts as long as that one, and starts with it; *t becomes its length. */
static bool check_heard(const tw_joint_at *s, tw_length *t)
{
    const tw_event *e = s->event;
    int64_t ready = s->j->in.unhurried ? e->start_cycle : tw_moments_last(&s->moments);
    tw_span other = tw_ways_hear(s->j->ports, &(tw_asked){e, s->tensor, s->inward}, ready, t->busy);
    bool hears = other.hi > 0 && (!s->j->in.unhurried || e->instr.heard);
    if (e->instr.heard != hears)
        return tw_fault_at(&s->at,
                           hears ? "passes its port, where it should hear a transfer at %" PRId64
                                 : "should hear a transfer, and there is none%.0" PRId64,
                           other.lo);
    if (!hears) return true;
    if (e->start_cycle != other.lo)
        return tw_fault_at(&s->at, "hears a transfer at %" PRId64 ", it should the one at %" PRId64, e->start_cycle,
                           other.lo);
    t->busy = tw_span_len(other);
    t->all = tw_max(t->all, t->busy);
    return true;
}

bool tw_joint_check_time(tw_joint_at *s, const tw_moved *moved, int64_t late_until)
{
    const tw_event *e = s->event;
    const tw_instr *i = s->at.instr;
    tw_length t = length_of(s, tw_verify_by_shape(engine_of(s)) ? i->passes : i->work, moved);
    tw_length alone = t;
    bool has_other = i->op == TW_EXEC && s->op->engine.cost.kind == TW_COST_KERNEL;
    if (has_other && (s->j->in.unhurried
                          ? e->end_cycle - e->start_cycle != t.all
                          : tw_units_disturb(&s->j->units, s->at.in->scene, s->op->engine.memory, e->start_cycle)))
        t = length_of(s, i->contended, moved);
    if (i->op == TW_EXEC && i->heard) return tw_fault_at(&s->at, "executes, and hears nothing");
    if (i->op != TW_EXEC && t.all >= 0 && !check_heard(s, &t)) return false;
    s->contended = t.busy - alone.busy;
    s->stalled = tw_max(0, late_until - e->start_cycle - t.all);
    return tw_time_takes(&s->at, e, t, late_until);
}
