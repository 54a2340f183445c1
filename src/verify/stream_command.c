/* src/verify/stream_command.c - a command as a whole: one instruction, or the loads of several inputs on a mover that joins them. */
#include "verify/cost.h"
#include "verify/stream_checker.h"

static const tw_engine *engine_of(const tw_commanded *s)
{
    return &s->at.in->machine->engine[s->at.row->event[0].instr.engine];
}

/* All instructions of a command say the same. */
static bool check_members(const tw_commanded *s)
{
    const tw_rowset *row = s->at.row;
    const tw_event *first = &row->event[0];
    for (int i = 0; i < row->n_events; i++) {
        const tw_event *e = &row->event[i];
        if (e->instr.together != (i > 0))
            return tw_fault_at(&s->at, i ? "holds instructions that do not belong together"
                                         : "belongs to the command before it");
        bool same = e->instr.engine == first->instr.engine && e->instr.unit == first->instr.unit &&
                    e->start_cycle == first->start_cycle && e->end_cycle == first->end_cycle &&
                    e->busy_end == first->busy_end && e->wait == first->wait && e->waited == first->waited;
        if (!same) return tw_fault_at(&s->at, "has instructions that disagree about its engine or its time");
        if (row->n_events > 1 && (e->instr.op != TW_LOAD || !engine_of(s)->joins))
            return tw_fault_at(&s->at, "joins instructions, which '%s' cannot", engine_of(s)->name);
    }
    if (row->start_cycle == first->start_cycle && row->end_cycle == first->end_cycle) return true;
    return tw_fault_at(&s->at, "disagrees with its instruction about its time");
}

static bool check_row(const tw_commanded *s)
{
    const tw_rowset *row = s->at.row;
    if (row->level != 0) return tw_fault_at(&s->at, "is of level %d", row->level);
    if (row->tick != s->k->n_commands) return tw_fault_at(&s->at, "should have number %" PRId64, s->k->n_commands);
    if (row->n_events < 1) return tw_fault_at(&s->at, "is empty");
    return tw_time_engine(&s->at, &row->event[0].instr);
}

/* Of all instructions together; -1 when that is too much. On an array passes are what takes time. */
static int64_t total_work(const tw_commanded *s)
{
    int64_t total = 0;
    for (int i = 0; i < s->at.row->n_events; i++) {
        const tw_instr *instr = &s->at.row->event[i].instr;
        int64_t work = tw_verify_by_shape(engine_of(s)) ? instr->passes : instr->work;
        if (work < 0 || !tw_ckd_add(total, work, &total)) return -1;
    }
    return total;
}

/* An execution that writes at its end waits there, if it must, until the buffer is free. */
static int64_t held_until(const tw_commanded *s)
{
    const tw_instr *i = &s->at.row->event[0].instr;
    if (!tw_stream_is_late(s, i) || i->dst < 0 || i->dst >= s->at.in->layout->n_buffers) return -1;
    return tw_max(s->k->slot[i->dst].there, s->k->slot[i->dst].read);
}

bool tw_stream_command(tw_commanded *s)
{
    if (!check_row(s) || !check_members(s)) return false;
    const tw_event *e = &s->at.row->event[0];
    const tw_engine *engine = engine_of(s);
    int64_t work = total_work(s), until = held_until(s);
    tw_length alone = tw_time_length(engine, work, 0);
    if (e->instr.op == TW_EXEC && engine->cost.kind == TW_COST_KERNEL &&
        tw_units_disturb(&s->k->units, s->at.in->scene, engine->memory, e->start_cycle))
        work = e->instr.contended;
    tw_length length = tw_time_length(engine, work, 0);
    s->contended = length.busy - alone.busy;
    s->stalled = tw_max(0, until - e->start_cycle - length.all);
    s->moments.unit = s->k->units.free[e->instr.engine][e->instr.unit];
    return tw_time_takes(&s->at, e, length, until) && tw_time_unit(&s->at, e, s->moments.unit);
}
