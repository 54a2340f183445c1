/* src/verify/joint_time.c - when a command of a group starts: when its unit is free, what it reads is there, what it writes is
 * free and, of a transfer, a way of each of its ports; not before that, and not later.
 *
 * What must be is checked first, part by part: a source is there when all that overlaps it has been written. Then what is: a
 * program waits for whole buffers. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

static const tw_joint_slot *slot_of(const tw_joint_at *s, int hold, const tw_joint_run *run)
{
    return &s->group->hold[hold].slot[run->slot];
}

/* The slot that a command writes, which it may be about to take. */
static const tw_joint_slot *target_of(const tw_joint_at *s)
{
    return &s->group->hold[s->todo->dst].slot[s->j->in.buffer[s->at.instr->dst].slot];
}

bool tw_joint_is_late(const tw_joint_at *s)
{
    return s->at.instr->op == TW_EXEC && s->todo->takes && s->op->engine.late &&
           !s->group->hold[s->todo->dst].slide.is;
}

/* When there is room for what is written: of a window that goes on, not before the one before it comes; a sweep begins when all
 * windows are free. */
static int64_t free_from(const tw_joint_at *s)
{
    const struct tw_joint_slide *slide = &s->group->hold[s->todo->dst].slide;
    int64_t free_at = target_of(s)->free_at;
    return slide->is ? tw_max(free_at, s->todo->continues ? slide->came : slide->behind) : free_at;
}

/* ---- what must be ---- */

static bool is_apart(const tw_operand *shape, const tw_region *a, const tw_region *b)
{
    for (int i = 0; i < shape->n_axes; i++)
        if (a->axis[i].hi <= b->axis[i].lo || b->axis[i].hi <= a->axis[i].lo) return true;
    return false;
}

/* From when on a region of a slot is there. */
static int64_t there(const tw_joint_at *s, int hold, const tw_joint_slot *slot, const tw_region *region)
{
    const tw_joint_hold *h = &s->group->hold[hold];
    const tw_operand *shape = &s->j->tensor[h->tensor].shape;
    bool reshaped = h->home && h->home->tensor != h->tensor; /* what was written there is known in another shape */
    int64_t latest = slot->there;
    for (int i = 0; i < slot->n_writes; i++)
        if (reshaped || !is_apart(shape, &slot->write[i].region, region))
            latest = tw_max(latest, slot->write[i].end);
    return latest;
}

static bool wait_for(const tw_joint_at *s, int buffer, int tensor, const char *what, int64_t until)
{
    if (s->event->start_cycle >= until) return true;
    return tw_fault_at(&s->at, "starts at %" PRId64 ", %s is %s until %" PRId64, s->event->start_cycle,
                       tw_joint_buffer_name(s->j, buffer, tensor).text, what, until);
}

/* When the last of the bytes of the tensor at hand came to memory 0. */
static int64_t stored_at(const tw_joint_at *s)
{
    return s->j->tensor[s->j->in.model->tensor[s->tensor].root].stored_at;
}

static bool check_source(const tw_joint_at *s, int index)
{
    const tw_joint_source *src = &s->todo->src[index];
    tw_region region = s->todo->region;
    if (s->at.instr->op == TW_EXEC && !src->run) return true;
    if (!src->run) return wait_for(s, -1, s->tensor, "stored", stored_at(s));
    if (s->todo->rescales)
        region = src->run->region;
    else if (s->at.instr->op == TW_EXEC && !tw_verify_hull(s->op->op, index, &s->todo->box, &region))
        return true;
    return wait_for(s, s->at.instr->src[index], -1, "written",
                    there(s, src->hold, slot_of(s, src->hold, src->run), &region));
}

static bool check_target(const tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    if (todo->dst < 0 || tw_joint_is_late(s)) return true;
    if (todo->takes) return wait_for(s, s->at.instr->dst, -1, "held", free_from(s));
    if (s->at.instr->op != TW_EXEC) return true;
    tw_region made = tw_verify_output_region(s->op->op, &todo->box);
    return wait_for(s, s->at.instr->dst, -1, "written", there(s, todo->dst, target_of(s), &made));
}

/* ---- what is ---- */

static void find_moments(tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    s->moments = (tw_moments){.unit = s->j->units.free[s->at.instr->engine][s->at.instr->unit]};
    for (int i = 0; i < todo->n_src; i++) {
        const tw_joint_source *src = &todo->src[i];
        if (src->run)
            s->moments.data = tw_max(s->moments.data, slot_of(s, src->hold, src->run)->latest);
        else if (s->at.instr->op != TW_EXEC)
            s->moments.data = tw_max(s->moments.data, stored_at(s));
    }
    if (todo->dst >= 0 && !todo->takes)
        s->moments.data = tw_max(s->moments.data, tw_max(target_of(s)->read, target_of(s)->latest));
    else if (todo->dst >= 0 && !tw_joint_is_late(s))
        s->moments.credit = free_from(s);
}

bool tw_joint_check_start(tw_joint_at *s, const tw_moved *moved)
{
    int64_t late_until = tw_joint_is_late(s) ? target_of(s)->free_at : -1;
    find_moments(s);
    if (!tw_joint_check_time(s, moved, late_until) || !tw_time_unit(&s->at, s->event, s->moments.unit))
        return false;
    for (int i = 0; i < s->todo->n_src; i++)
        if (!check_source(s, i)) return false;
    if (!check_target(s) || !tw_ways_check(s->j->ports, &s->at, s->event, s->inward)) return false;
    if (s->j->in.unhurried) return true;
    int64_t ready = tw_moments_last(&s->moments);
    if (s->at.instr->heard) ready = s->event->start_cycle; /* which was found to be that of the transfer it hears */
    return tw_time_start(&s->at, s->event, &s->moments, tw_ways_earliest(s->j->ports, s->event, s->inward, ready));
}
