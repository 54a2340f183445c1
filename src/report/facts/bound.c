/* src/report/facts/bound.c - see bound.h.
 *
 * Ticks: executions follow each other one per row; before the first one that reads something its data crosses every
 * memory, after the last one its result crosses them back, a row each. Only executions that read nothing, fills and
 * tiles of pure padding, can fill the rows at the front. So with m memories between outside and the compute engine,
 * the outermost not counted, ticks >= executions + m + max(0, m - executions that read nothing), the last term only
 * when any reads.
 *
 * Cycles: the compute engine, an adder and a mover with one channel do one thing at a time, so the plan
 * lasts at least as long as each of them is busy. A mover with unlimited channels bounds nothing, and neither does
 * one that feeds a memory which is passed through: its transfers hide behind the rows they fall into (timeline.h). */
#include "report/facts/bound.h"

static bool feeds_pass_through(const tw_program *program, int engine)
{
    for (int t = 0; t < program->n_tiled; t++)
        for (int i = 0; i < program->tiled[t].n_pass; i++)
            if (program->tiled[t].mover[i] == engine) return true;
    return false;
}

static bool bounds_cycles(const tw_program *program, int engine)
{
    const tw_engine *e = &program->machine->engine[engine];
    return e->kind != TW_MOVES || (e->one_channel && !feeds_pass_through(program, engine));
}

tw_bound tw_bound_of(const tw_op_plan *plan, const tw_usage *usage)
{
    const tw_machine *machine = plan->program.machine;
    const tw_timeline *timeline = &plan->timeline;
    tw_bound bound = {.engine = machine->compute, .cycles = timeline->engine[machine->compute].busy_cycles};
    int64_t execs = timeline->sum.execs, idle = usage->n_reading_nothing, crossings = machine->n_memories - 1;
    if (execs > 0) bound.ticks = execs + crossings + (idle < execs ? tw_max(0, crossings - idle) : 0);
    for (int e = 0; e < machine->n_engines; e++)
        if (bounds_cycles(&plan->program, e) && timeline->engine[e].busy_cycles > bound.cycles) {
            bound.cycles = timeline->engine[e].busy_cycles;
            bound.engine = e;
        }
    return bound;
}
