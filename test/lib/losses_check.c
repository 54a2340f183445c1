/* test/lib/losses_check.c - walks every command once more, writes down when each unit of a compute engine executes, and counts
 * the cycles before, between and behind by hand. */
#include "losses_check.h"

#include "report/facts/jointfacts.h"
#include "report/facts/losses.h"

#include <math.h>
#include <string.h>

enum { MAX_SEEN = 64 };

typedef struct unit {
    int engine, number;
    int64_t first, last, gaps, busy;
} unit;

typedef struct watch {
    const tw_plan *plan;
    int n;
    unit unit[MAX_SEEN];
    int64_t end;
} watch;

static unit *unit_of(watch *w, const tw_event *e)
{
    for (int i = 0; i < w->n; i++)
        if (w->unit[i].engine == e->instr.engine && w->unit[i].number == e->instr.unit) return &w->unit[i];
    CHECK(w->n < MAX_SEEN);
    w->unit[w->n] = (unit){e->instr.engine, e->instr.unit, e->start_cycle, e->start_cycle, 0, 0};
    return &w->unit[w->n++];
}

static tw_status see(void *user, const tw_rowset *row)
{
    watch *w = user;
    w->end = tw_max(w->end, row->end_cycle);
    for (int i = 0; i < row->n_events; i++) {
        const tw_event *e = &row->event[i];
        w->end = tw_max(w->end, e->busy_end);
        if ((e->instr.op != TW_EXEC && e->instr.op != TW_FILL) || e->instr.nested) continue;
        unit *u = unit_of(w, e);
        u->gaps += e->start_cycle - u->last;
        u->busy += e->busy_end - e->start_cycle;
        u->last = e->busy_end;
    }
    return TW_OK;
}

/* All parts, and what they are in order. */
static void check_sums(const tw_losses *x)
{
    int64_t by_kind = x->peak, by_part = x->peak, of[TW_N_LOSSES] = {0};
    for (int k = 0; k < TW_N_LOSSES; k++) {
        CHECK(x->of[k] >= 0);
        by_kind += x->of[k];
    }
    for (int i = 0; i < x->n; i++) {
        const tw_loss *part = &x->part[i];
        CHECK(part->cycles > 0);
        CHECK(i == 0 || x->part[i - 1].kind <= part->kind);
        by_part += part->cycles;
        of[part->kind] += part->cycles;
    }
    for (int k = 0; k < TW_N_LOSSES; k++) CHECK_EQ(of[k], x->of[k]);
    CHECK_EQ(by_kind, x->cycles);
    CHECK_EQ(by_part, x->cycles);
}

/* Cycles of several units are divided by their number, each sum rounded up. */
static void check_about(int64_t shown, int64_t of_units, int64_t units)
{
    if (units == 1)
        CHECK_EQ(shown, of_units);
    else
        CHECK(shown * units > of_units - units && shown * units < of_units + units);
}

/* `late`: executions may wait for a buffer with their result, which does not show. */
static void check_times(const watch *w, int engine, const tw_losses *x, bool late)
{
    int64_t startup = 0, tail = 0, gaps = 0, busy = 0;
    for (int i = 0; i < w->n; i++) {
        if (w->unit[i].engine != engine) continue;
        startup += w->unit[i].first;
        tail += w->end - w->unit[i].last;
        gaps += w->unit[i].gaps;
        busy += w->unit[i].busy;
    }
    CHECK_EQ(x->cycles, w->end);
    CHECK_EQ(x->busy, busy / x->units);
    check_about(x->of[TW_LOSS_START], startup, x->units);
    check_about(x->of[TW_LOSS_END], tail, x->units);
    if (late)
        CHECK(x->of[TW_LOSS_WAIT] * x->units > gaps - x->units);
    else if (x->units == 1)
        CHECK_EQ(x->of[TW_LOSS_WAIT], gaps);
}

/* The peak, from the cost as the machine file has it. */
static void check_peak(const tw_losses *x, const tw_cost *cost, int64_t points)
{
    double rate = tw_cost_rate(cost) * (double)x->units;
    CHECK_EQ(x->has_peak, rate > 0);
    if (x->has_peak) CHECK_EQ(x->peak, (int64_t)ceil((double)points / rate - 1e-9));
    if (!x->has_peak) CHECK_EQ(x->of[TW_LOSS_FILL] + x->of[TW_LOSS_EDGE] + x->of[TW_LOSS_OVERHEAD], 0);
}

static void check_op(const tw_plan *plan, int op, tw_arena *arena)
{
    const tw_op_plan *one = &plan->op[op];
    const tw_machine *machine = one->program.machine;
    const tw_engine *engine = &machine->engine[machine->compute];
    watch w = {.plan = plan};
    tw_row_sink sink = {NULL, see, &w};
    tw_diag diag = {0};
    tw_timeline again;
    tw_losses x;
    CHECK_EQ(tw_timeline_walk(&one->program, &sink, arena, &diag, &again), TW_OK);
    CHECK_EQ(tw_losses_of_op(one, arena, &x), TW_OK);
    check_sums(&x);
    check_times(&w, machine->compute, &x, engine->late);
    check_peak(&x, &engine->cost, one->timeline.sum.macs);
    tw_diag_release(&diag);
}

static void check_engine(const watch *w, int e, tw_arena *arena)
{
    const tw_engine *engine = &w->plan->joint->program->platform->engine[e].is;
    tw_losses x;
    bool executes;
    if (engine->kind != TW_COMPUTES) return;
    CHECK_EQ(tw_losses_of_engine(w->plan, e, arena, &executes, &x), TW_OK);
    if (!executes) return;
    check_sums(&x);
    check_times(w, e, &x, engine->late);
}

/* Of a plan on several cores: what its busiest engine has to do at its own peak is what all cores take together, and what the others leave to it. */
static void check_cores(const tw_plan *plan, const tw_losses *all, tw_arena *arena)
{
    const tw_platform *platform = plan->joint->program->platform;
    int64_t points = 0, own = -1;
    double rate = 0;
    for (int e = 0; e < platform->n_engines; e++) {
        const tw_platform_engine *engine = &platform->engine[e];
        tw_losses x;
        bool executes;
        int64_t a, b;
        if (engine->is.kind != TW_COMPUTES) continue;
        CHECK_EQ(tw_losses_of_engine(plan, e, arena, &executes, &x), TW_OK);
        CHECK_EQ(x.of[TW_LOSS_CORES], 0);
        if (executes) points += x.points;
        if (strcmp(engine->name, all->engine) == 0) own = x.peak;
        if (tw_cost_peak(&engine->is.cost, &a, &b))
            rate += (double)a / (double)b * (double)tw_max(1, engine->is.count);
    }
    CHECK(own >= 0);
    CHECK_EQ(all->peak + all->of[TW_LOSS_CORES], own);
    if (!all->all_cores) return;
    CHECK(platform->n_cores > 1);
    CHECK(all->points <= points);
    CHECK((double)all->rate / (double)all->per <= rate * 1.000001);
    CHECK(fabs((double)all->peak - (double)all->points * (double)all->per / (double)all->rate) < 1);
}

void losses_check(const tw_plan *plan)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    watch w = {.plan = plan};
    tw_row_sink sink = {NULL, see, &w};
    tw_losses all;
    CHECK(arena != NULL);
    for (int i = 0; i < plan->model->n_ops && !plan->joint; i++) check_op(plan, i, arena);
    if (plan->joint) CHECK_EQ(tw_joint_walk(plan, &sink, arena, &diag), TW_OK);
    for (int e = 0; plan->joint && e < plan->joint->program->platform->n_engines; e++) check_engine(&w, e, arena);
    CHECK_EQ(tw_losses_of_plan(plan, arena, &all), TW_OK);
    check_sums(&all);
    CHECK_EQ(all.cycles, plan->sum.cycles);
    if (plan->joint) check_cores(plan, &all, arena);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}
