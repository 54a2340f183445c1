/* src/report/facts/usage.c - see usage.h. */
#include "report/facts/usage.h"

void tw_usage_init(tw_usage *usage, const tw_program *program)
{
    *usage = (tw_usage){.program = program};
    for (int m = 0; m < TW_MAX_MEMORIES; m++) usage->peak_tick[m] = -1;
}

/* Before the rows nested in this one: they begin with it. */
static tw_status begin_row(void *user, const tw_rowset *row)
{
    tw_usage *u = user;
    u->inner_end[row->level + 1] = row->start_cycle;
    if (u->peak_tick[row->memory] < 0 || row->live_units > u->peak_live[row->memory]) {
        u->peak_live[row->memory] = row->live_units;
        u->peak_tick[row->memory] = row->tick;
    }
    return TW_OK;
}

/* Instructions of an engine in a row either all start together or follow each other: one interval. */
static void add_active(tw_usage *u, const tw_rowset *row)
{
    tw_span interval[TW_MAX_ENGINES] = {0};
    for (int i = 0; i < row->n_events; i++) {
        const tw_event *e = &row->event[i];
        if (e->instr.nested) continue;
        tw_span *s = &interval[e->instr.engine], now = {e->start_cycle, tw_min(e->end_cycle, row->end_cycle)};
        *s = tw_span_len(*s) > 0 ? (tw_span){tw_min(s->lo, now.lo), tw_max(s->hi, now.hi)} : now;
    }
    for (int e = 0; e < u->program->machine->n_engines; e++) u->active_cycles[e] += tw_span_len(interval[e]);
}

static bool reads_nothing(const tw_instr *instr)
{
    if (instr->nested || (instr->op != TW_EXEC && instr->op != TW_FILL)) return false;
    for (int i = 0; i < instr->n_src; i++)
        if (instr->src[i] >= 0) return false;
    return true;
}

static int rank(const tw_machine *machine, int engine)
{
    static const int of[] = {[TW_COMPUTES] = 0, [TW_ADDS] = 1, [TW_MOVES] = 2};
    return of[machine->engine[engine].kind];
}

/* Whether x, not y, is what a row waited for. */
static bool is_later(const tw_machine *machine, const tw_event *x, const tw_event *y)
{
    if (x->end_cycle != y->end_cycle) return x->end_cycle > y->end_cycle;
    int a = rank(machine, x->instr.engine), b = rank(machine, y->instr.engine);
    return a != b ? a < b : x->instr.engine < y->instr.engine;
}

/* Rows nested in this one have found their engines already; what is left of the row waits for its own. */
static void add_decisive(tw_usage *u, const tw_rowset *row)
{
    const tw_event *last = NULL;
    for (int i = 0; i < row->n_events; i++) {
        const tw_event *e = &row->event[i];
        if (!e->instr.nested && (!last || is_later(u->program->machine, e, last))) last = e;
    }
    int64_t left = row->end_cycle - u->inner_end[row->level + 1];
    if (last && left > 0) u->decisive_cycles[last->instr.engine] += left;
}

static tw_status end_row(void *user, const tw_rowset *row)
{
    tw_usage *u = user;
    add_active(u, row);
    add_decisive(u, row);
    for (int i = 0; i < row->n_events; i++) u->n_reading_nothing += reads_nothing(&row->event[i].instr);
    u->inner_end[row->level] = row->end_cycle;
    return TW_OK;
}

tw_row_sink tw_usage_sink(tw_usage *usage) { return (tw_row_sink){begin_row, end_row, usage}; }

int tw_usage_bottleneck(const tw_usage *usage)
{
    int best = usage->program->machine->compute;
    for (int e = 0; e < usage->program->machine->n_engines; e++)
        if (usage->decisive_cycles[e] > usage->decisive_cycles[best]) best = e;
    return best;
}
