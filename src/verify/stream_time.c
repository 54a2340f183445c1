/* src/verify/stream_time.c - when a command may start, how long it takes, and what it says it waited for.
 *
 * A command is one instruction, or the loads of several inputs on a mover that joins them. It starts at the latest
 * of three moments: its unit is free, its data are there, its credits are free; an engine does not stand idle
 * without one of these reasons. */
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

static bool check_engine(const tw_commanded *s)
{
    const tw_rowset *row = s->at.row;
    if (row->level != 0) return tw_fault_at(&s->at, "is of level %d", row->level);
    if (row->tick != s->k->n_commands) return tw_fault_at(&s->at, "should have number %" PRId64, s->k->n_commands);
    if (row->n_events < 1) return tw_fault_at(&s->at, "is empty");
    const tw_instr *i = &row->event[0].instr;
    if (i->engine < 0 || i->engine >= s->at.in->machine->n_engines)
        return tw_fault_at(&s->at, "is on engine %d, there is none", i->engine);
    if (i->unit >= 0 && i->unit < engine_of(s)->count) return true;
    return tw_fault_at(&s->at, "is on unit %d of '%s', which has %" PRId64, i->unit, engine_of(s)->name,
                       engine_of(s)->count);
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

/* Whether a mover works on the memory of the compute engine when the command starts. */
static bool is_contended(const tw_commanded *s)
{
    const tw_machine *m = s->at.in->machine;
    int64_t start = s->at.row->event[0].start_cycle;
    for (int e = 0; e < m->n_engines; e++)
        for (int u = 0; u < m->engine[e].count && m->engine[e].kind == TW_MOVES; u++)
            if (m->engine[e].memory == engine_of(s)->memory && s->k->unit_free[e][u] > start) return true;
    return false;
}

static bool check_length(const tw_commanded *s)
{
    const tw_event *e = &s->at.row->event[0];
    int64_t work = total_work(s);
    if (e->instr.op == TW_EXEC && engine_of(s)->cost.kind == TW_COST_KERNEL && is_contended(s))
        work = e->instr.contended;
    int64_t cycles = work < 0 ? -1 : tw_verify_cycles(engine_of(s), work);
    int64_t busy = tw_verify_busy(engine_of(s), cycles);
    if (cycles < 0) return tw_fault_at(&s->at, "takes longer than can be counted");
    if (e->start_cycle < 0 || e->end_cycle < e->start_cycle || e->busy_end < e->start_cycle)
        return tw_fault_at(&s->at, "runs backwards in time");
    int64_t until = held_until(s);
    if (until > e->start_cycle + cycles) cycles = busy = until - e->start_cycle;
    if (e->end_cycle - e->start_cycle != cycles)
        return tw_fault_at(&s->at, "takes %" PRId64 " cycles, should take %" PRId64, e->end_cycle - e->start_cycle,
                           cycles);
    if (e->busy_end - e->start_cycle == busy) return true;
    return tw_fault_at(&s->at, "keeps its engine busy for %" PRId64 " cycles, should for %" PRId64,
                       e->busy_end - e->start_cycle, busy);
}

bool tw_stream_command(const tw_commanded *s)
{
    if (!check_engine(s) || !check_members(s) || !check_length(s)) return false;
    const tw_event *e = &s->at.row->event[0];
    int64_t unit = s->k->unit_free[e->instr.engine][e->instr.unit];
    if (e->start_cycle >= unit) return true;
    return tw_fault_at(&s->at, "starts at %" PRId64 ", unit %d of '%s' is busy until %" PRId64, e->start_cycle,
                       e->instr.unit, engine_of(s)->name, unit);
}

static const char *reason_name(tw_wait wait)
{
    switch (wait) {
    case TW_WAIT_NONE: return "nothing";
    case TW_WAIT_ENGINE: return "its engine";
    case TW_WAIT_DATA: return "data";
    case TW_WAIT_CREDIT: return "a credit";
    case TW_WAIT_PORT: return "a port";
    }
    return "an unknown reason";
}

bool tw_stream_start(const tw_commanded *s)
{
    const tw_event *e = s->event;
    int64_t unit = s->k->unit_free[e->instr.engine][e->instr.unit], start = e->start_cycle;
    int64_t earliest = tw_max(unit, tw_max(s->data, s->credit));
    if (start != earliest)
        return tw_fault_at(&s->at, "starts at %" PRId64 ", nothing keeps it after %" PRId64, start, earliest);
    tw_wait wait = start == 0         ? TW_WAIT_NONE
                   : start == unit    ? TW_WAIT_ENGINE
                   : start == s->data ? TW_WAIT_DATA
                                      : TW_WAIT_CREDIT;
    if (e->wait != wait)
        return tw_fault_at(&s->at, "says that it waited for %s, it was %s", reason_name(e->wait),
                           reason_name(wait));
    if (e->waited == start - unit) return true;
    return tw_fault_at(&s->at, "says that its unit stood idle for %" PRId64 " cycles, it was %" PRId64, e->waited,
                       start - unit);
}
