/* src/verify/time.c - see time.h. */
#include "verify/time.h"
#include "verify/cost.h"

static const tw_engine *engine_of(const tw_scene *scene, int engine) { return &scene->platform->engine[engine].is; }

int64_t tw_units_count(const tw_scene *scene, int engine)
{
    return tw_clamp(engine_of(scene, engine)->count, 1, INT16_MAX);
}

bool tw_units_init(tw_units *units, const tw_scene *scene, int64_t launch, tw_arena *arena)
{
    int n_engines = scene->platform->n_engines;
    units->free = TW_NEW(arena, int64_t *, n_engines + 1);
    for (int e = 0; e < n_engines && units->free; e++) {
        int64_t n = tw_units_count(scene, e);
        if (!(units->free[e] = TW_NEW(arena, int64_t, n))) return false;
        for (int64_t u = 0; u < n; u++) units->free[e][u] = launch / TW_MILLI + (launch % TW_MILLI > 0);
    }
    return units->free;
}

bool tw_units_disturb(const tw_units *units, const tw_scene *scene, int memory, int64_t at)
{
    for (int e = 0; e < scene->platform->n_engines; e++) {
        const tw_engine *engine = engine_of(scene, e);
        if (engine->kind != TW_MOVES || engine->memory != memory) continue;
        for (int64_t u = 0, n = tw_units_count(scene, e); u < n; u++)
            if (units->free[e][u] > at) return true;
    }
    return false;
}

tw_length tw_time_length(const tw_engine *engine, int64_t work, int64_t at_ports)
{
    tw_length t = {.all = work < 0 ? -1 : tw_verify_cycles(engine, work)};
    t.busy = tw_max(tw_verify_busy(engine, t.all), at_ports);
    if (t.all >= 0) t.all = tw_max(t.all, at_ports);
    return t;
}

bool tw_time_engine(const tw_site *s, const tw_instr *instr)
{
    const tw_scene *scene = s->in->scene;
    int e = instr->engine;
    if (e < 0 || e >= scene->platform->n_engines) return tw_fault_at(s, "is on engine %d, there is none", e);
    int64_t n = tw_units_count(scene, e);
    if (instr->unit >= 0 && instr->unit < n) return true;
    return tw_fault_at(s, "is on unit %d of '%s', which has %" PRId64, instr->unit, scene->platform->engine[e].name,
                       n);
}

bool tw_time_takes(const tw_site *s, const tw_event *e, tw_length t, int64_t until)
{
    if (t.all < 0) return tw_fault_at(s, "takes longer than can be counted");
    if (e->start_cycle < 0 || e->end_cycle < e->start_cycle || e->busy_end < e->start_cycle)
        return tw_fault_at(s, "runs backwards in time");
    int64_t took = e->end_cycle - e->start_cycle, kept = e->busy_end - e->start_cycle;
    if (until - e->start_cycle > t.all) {
        t.busy += until - e->start_cycle - t.all;
        t.all = until - e->start_cycle;
    }
    if (took != t.all) return tw_fault_at(s, "takes %" PRId64 " cycles, should take %" PRId64, took, t.all);
    if (kept == t.busy) return true;
    return tw_fault_at(s, "keeps its engine busy for %" PRId64 " cycles, should for %" PRId64, kept, t.busy);
}

bool tw_time_unit(const tw_site *s, const tw_event *e, int64_t unit)
{
    if (e->start_cycle >= unit) return true;
    return tw_fault_at(s, "starts at %" PRId64 ", unit %d of '%s' is busy until %" PRId64, e->start_cycle,
                       e->instr.unit, s->in->scene->platform->engine[e->instr.engine].name, unit);
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

/* What it waited for last: where several came last, the first of these. */
static tw_wait reason_of(const tw_moments *m, int64_t start)
{
    int64_t ready = tw_moments_last(m);
    if (start > ready) return TW_WAIT_PORT;
    if (ready == m->unit) return ready == 0 ? TW_WAIT_NONE : TW_WAIT_ENGINE;
    return ready == m->data ? TW_WAIT_DATA : TW_WAIT_CREDIT;
}

bool tw_time_start(const tw_site *s, const tw_event *e, const tw_moments *m, int64_t earliest)
{
    int64_t start = e->start_cycle, ready = tw_moments_last(m);
    tw_wait wait = reason_of(m, start);
    if (start < ready)
        return tw_fault_at(s, "starts at %" PRId64 ", what it waits for comes at %" PRId64, start, ready);
    if (start != earliest)
        return tw_fault_at(s, "starts at %" PRId64 ", nothing keeps it after %" PRId64, start, earliest);
    if (e->wait != wait)
        return tw_fault_at(s, "says that it waited for %s, it was %s", reason_name(e->wait), reason_name(wait));
    if (e->waited == start - m->unit) return true;
    return tw_fault_at(s, "says that its unit stood idle for %" PRId64 " cycles, it was %" PRId64, e->waited,
                       start - m->unit);
}
