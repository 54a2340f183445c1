/* src/verify/time.c - how long instructions and rows may take.
 *
 * A row ends with its slowest engine. Transfers into and out of memories that are passed through hide behind the
 * level's own work and, in a row that has none, behind the innermost of themselves. All that is asked of a hidden
 * transfer is that it starts in its row, takes its time, and shares its channel with no other transfer of the row. */
#include "verify/checker.h"
#include "verify/cost.h"

/* Transfers into and out of memories that are passed through hide behind the level's own work. */
static bool is_passing(const tw_checked *s, const tw_instr *i)
{
    return (i->op == TW_LOAD || i->op == TW_STORE) &&
           s->at.in->is_pass[s->at.in->machine->engine[i->engine].memory];
}

static int64_t cost_of(const tw_checked *s, const tw_event *e)
{
    if (e->instr.op == TW_EXEC && e->instr.nested)
        return s->c->level[s->at.row->level + 1].clock - s->at.row->start_cycle;
    const tw_engine *engine = &s->at.in->machine->engine[e->instr.engine];
    bool array = e->instr.op == TW_EXEC && engine->cost.kind == TW_COST_ARRAY;
    int64_t work = array ? tw_verify_passes(s->at.in, &engine->cost.array, &e->instr.box) : e->instr.work;
    return tw_verify_cycles(engine, work);
}

static bool check_event_time(const tw_checked *s, const tw_event *e, bool hides)
{
    int64_t cost = cost_of(s, e);
    if (cost < 0) return tw_fault_at(&s->at, "takes longer than can be counted");
    if (e->end_cycle - e->start_cycle != cost)
        return tw_fault_at(&s->at, "takes %" PRId64 " cycles, should take %" PRId64, e->end_cycle - e->start_cycle,
                           cost);
    if (e->start_cycle < s->at.row->start_cycle || (!hides && e->end_cycle > s->at.row->end_cycle))
        return tw_fault_at(&s->at, "runs in %" PRId64 "..%" PRId64 ", outside its row %" PRId64 "..%" PRId64,
                           e->start_cycle, e->end_cycle, s->at.row->start_cycle, s->at.row->end_cycle);
    if (e->instr.nested && e->start_cycle != s->at.row->start_cycle)
        return tw_fault_at(&s->at, "does not start with its row");
    return true;
}

/* Transfers of a mover with one channel take turns. */
static bool check_channel(const tw_checked *s, int i)
{
    const tw_event *e = &s->at.row->event[i];
    bool moves = e->instr.op == TW_LOAD || e->instr.op == TW_STORE;
    if (!moves || !s->at.in->machine->engine[e->instr.engine].one_channel) return true;
    for (int j = 0; j < i; j++) {
        const tw_event *f = &s->at.row->event[j];
        if (f->instr.engine == e->instr.engine && f->start_cycle < e->end_cycle && e->start_cycle < f->end_cycle)
            return tw_fault_at(&s->at, "runs while '%s' is busy", s->at.in->machine->engine[e->instr.engine].name);
    }
    return true;
}

/* The memory whose engines set the length of the row: the level's own, or, where only transfers that pass through
 * run, the innermost that they fill. */
static int deciding_memory(const tw_checked *s)
{
    int deciding = 0;
    for (int i = 0; i < s->at.row->n_events; i++) {
        const tw_instr *instr = &s->at.row->event[i].instr;
        int memory = is_passing(s, instr) ? s->at.in->machine->engine[instr->engine].memory : TW_MAX_MEMORIES;
        deciding = memory > deciding ? memory : deciding;
    }
    return deciding;
}

static bool sets_length(const tw_checked *s, const tw_instr *instr, int deciding)
{
    return !is_passing(s, instr) || s->at.in->machine->engine[instr->engine].memory == deciding;
}

/* Cycles of the slowest engine among those that set the length. */
static int64_t slowest(const tw_checked *s, int deciding)
{
    int64_t busy[TW_MAX_ENGINES + 1] = {0}, longest = 0;
    for (int i = 0; i < s->at.row->n_events; i++) {
        const tw_event *e = &s->at.row->event[i];
        if (!sets_length(s, &e->instr, deciding)) continue;
        bool moves = e->instr.op == TW_LOAD || e->instr.op == TW_STORE;
        bool in_turn = moves && s->at.in->machine->engine[e->instr.engine].one_channel;
        int64_t *mine = &busy[e->instr.nested ? TW_MAX_ENGINES : e->instr.engine], cost = cost_of(s, e);
        if (!in_turn)
            *mine = tw_max(*mine, cost);
        else if (!tw_ckd_add(*mine, cost, mine))
            *mine = INT64_MAX;
        longest = tw_max(longest, *mine);
    }
    return longest;
}

bool tw_rules_time(const tw_checked *row)
{
    int deciding = deciding_memory(row);
    for (int i = 0; i < row->at.row->n_events; i++) {
        tw_checked s = *row;
        const tw_event *e = &row->at.row->event[i];
        s.at.instr = &e->instr;
        if (!check_event_time(&s, e, !sets_length(row, &e->instr, deciding)) || !check_channel(&s, i)) return false;
    }
    int64_t length = slowest(row, deciding);
    if (row->at.row->end_cycle - row->at.row->start_cycle == length) return true;
    return tw_fault_at(&row->at, "lasts %" PRId64 " cycles, its slowest engine %" PRId64,
                       row->at.row->end_cycle - row->at.row->start_cycle, length);
}
