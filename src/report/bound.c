/* src/report/bound.c - see bound.h.
 *
 * Ticks: executions follow each other one per row; before the first one its data crosses every memory, after
 * the last one its result crosses them back, a row each. So ticks >= executions + 2 * (memories - 1).
 *
 * Cycles: the compute engine, an adder and a mover with one channel do one thing at a time, so the plan
 * lasts at least as long as each of them is busy. A mover with unlimited channels bounds nothing. */
#include "report/bound.h"

tw_bound tw_bound_of(const tw_op_plan *plan)
{
    const tw_machine *machine = plan->program.machine;
    const tw_timeline *timeline = &plan->timeline;
    tw_bound bound = {.engine = machine->compute, .cycles = timeline->engine[machine->compute].busy_cycles};
    if (timeline->sum.execs > 0) bound.ticks = timeline->sum.execs + 2 * (machine->n_memories - 1);
    for (int e = 0; e < machine->n_engines; e++) {
        bool one_at_a_time = machine->engine[e].kind != TW_MOVES || machine->engine[e].one_channel;
        if (one_at_a_time && timeline->engine[e].busy_cycles > bound.cycles) {
            bound.cycles = timeline->engine[e].busy_cycles;
            bound.engine = e;
        }
    }
    return bound;
}
