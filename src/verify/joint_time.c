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
    return &s->group->hold[s->todo->dst].slot[s->j->in.buffer[s->instr->dst].slot];
}

bool tw_joint_is_late(const tw_joint_at *s)
{
    return s->instr->op == TW_EXEC && s->todo->takes && s->op->engine.late;
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
    const tw_operand *shape = &s->j->tensor[s->group->hold[hold].tensor].shape;
    int64_t latest = slot->there;
    for (int i = 0; i < slot->n_writes; i++)
        if (!is_apart(shape, &slot->write[i].region, region)) latest = tw_max(latest, slot->write[i].end);
    return latest;
}

static bool wait_for(const tw_joint_at *s, int buffer, int tensor, const char *what, int64_t until)
{
    if (s->event->start_cycle >= until) return true;
    return tw_joint_fault(s, "starts at %" PRId64 ", %s is %s until %" PRId64, s->event->start_cycle,
                          tw_joint_buffer_name(s->j, buffer, tensor).text, what, until);
}

static bool check_source(const tw_joint_at *s, int index)
{
    const tw_joint_source *src = &s->todo->src[index];
    tw_region region = s->todo->region;
    if (s->instr->op == TW_EXEC && !src->run) return true;
    if (!src->run) return wait_for(s, -1, s->tensor, "stored", s->j->tensor[s->tensor].stored_at);
    if (s->instr->op == TW_EXEC && !tw_verify_hull(s->op->op, index, &s->todo->box, &region)) return true;
    return wait_for(s, s->instr->src[index], -1, "written",
                    there(s, src->hold, slot_of(s, src->hold, src->run), &region));
}

static bool check_target(const tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    if (todo->dst < 0 || tw_joint_is_late(s)) return true;
    if (todo->takes) return wait_for(s, s->instr->dst, -1, "held", target_of(s)->free_at);
    if (s->instr->op != TW_EXEC) return true;
    tw_region made = tw_verify_output_region(s->op->op, &todo->box);
    return wait_for(s, s->instr->dst, -1, "written", there(s, todo->dst, target_of(s), &made));
}

static bool check_unit(const tw_joint_at *s)
{
    if (s->event->start_cycle >= s->unit_at) return true;
    return tw_joint_fault(s, "starts at %" PRId64 ", unit %d of '%s' is busy until %" PRId64, s->event->start_cycle,
                          s->instr->unit, tw_joint_engine_name(s->j, s->instr->engine), s->unit_at);
}

/* ---- what is ---- */

static void find_moments(tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    s->unit_at = s->j->engine[s->instr->engine].free[s->instr->unit];
    s->data_at = s->credit_at = 0;
    for (int i = 0; i < todo->n_src; i++) {
        const tw_joint_source *src = &todo->src[i];
        if (src->run)
            s->data_at = tw_max(s->data_at, slot_of(s, src->hold, src->run)->latest);
        else if (s->instr->op != TW_EXEC)
            s->data_at = tw_max(s->data_at, s->j->tensor[s->tensor].stored_at);
    }
    if (todo->dst >= 0 && !todo->takes)
        s->data_at = tw_max(s->data_at, tw_max(target_of(s)->read, target_of(s)->latest));
    else if (todo->dst >= 0 && !tw_joint_is_late(s))
        s->credit_at = target_of(s)->free_at;
    s->ready = tw_max(s->unit_at, tw_max(s->data_at, s->credit_at));
}

static const char *reason_name(tw_wait wait)
{
    static const char *const name[] = {[TW_WAIT_NONE] = "nothing",
                                       [TW_WAIT_ENGINE] = "its engine",
                                       [TW_WAIT_DATA] = "data",
                                       [TW_WAIT_CREDIT] = "a credit",
                                       [TW_WAIT_PORT] = "a port"};
    return (unsigned)wait < TW_COUNT(name) ? name[wait] : "an unknown reason";
}

static bool check_reason(const tw_joint_at *s)
{
    const tw_event *e = s->event;
    tw_wait wait = TW_WAIT_CREDIT;
    if (e->start_cycle > s->ready)
        wait = TW_WAIT_PORT;
    else if (s->ready == s->unit_at)
        wait = s->ready == 0 ? TW_WAIT_NONE : TW_WAIT_ENGINE;
    else if (s->ready == s->data_at)
        wait = TW_WAIT_DATA;
    if (e->wait != wait)
        return tw_joint_fault(s, "says that it waited for %s, it was %s", reason_name(e->wait), reason_name(wait));
    if (e->waited == e->start_cycle - s->unit_at) return true;
    return tw_joint_fault(s, "says that its unit stood idle for %" PRId64 " cycles, it was %" PRId64, e->waited,
                          e->start_cycle - s->unit_at);
}

static bool check_earliest(const tw_joint_at *s)
{
    int64_t start = s->event->start_cycle, earliest = tw_joint_ports_earliest(s);
    if (start == earliest) return check_reason(s);
    if (start < s->ready)
        return tw_joint_fault(s, "starts at %" PRId64 ", what it waits for comes at %" PRId64, start, s->ready);
    return tw_joint_fault(s, "starts at %" PRId64 ", nothing keeps it after %" PRId64, start, earliest);
}

bool tw_joint_check_start(tw_joint_at *s, const tw_joint_moved *moved)
{
    int64_t late_until = tw_joint_is_late(s) ? target_of(s)->free_at : -1;
    find_moments(s);
    if (!tw_joint_check_time(s, moved, late_until) || !check_unit(s)) return false;
    for (int i = 0; i < s->todo->n_src; i++)
        if (!check_source(s, i)) return false;
    if (!check_target(s) || !tw_joint_ports_check(s)) return false;
    return s->j->in.unhurried || check_earliest(s);
}
