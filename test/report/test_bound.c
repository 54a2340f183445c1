/* test/report/test_bound.c - a bound that a simulation beats would be a lie: none does. */
#include "report/facts/bound.h"
#include "test/verify/cases.h"

/* Movers of unequal cost, some with one channel and some without. */
static void vary_movers(uint64_t *r, tw_machine *machine)
{
    for (int e = 0; e < machine->n_engines; e++) {
        if (machine->engine[e].kind != TW_MOVES) continue;
        machine->engine[e].cost = case_cost(r);
        machine->engine[e].one_channel = tw_test_pick(r, 0, 1);
    }
}

TEST(the_printed_bound_never_exceeds_the_simulation)
{
    uint64_t r = tw_test_seed();
    int reached_ticks = 0, reached_cycles = 0;
    for (int i = 0; i < 4000; i++) {
        test_case *c = case_new(&r, i % CASE_KINDS, i % 2 ? 4 : 12);
        tw_op_plan plan = {.program = c->program};
        tw_diag diag = {0};
        vary_movers(&r, &c->machine);
        tw_usage usage;
        tw_usage_init(&usage, &plan.program);
        tw_row_sink sink = tw_usage_sink(&usage);
        CHECK_EQ(tw_timeline_walk(&plan.program, &sink, c->arena, &diag, &plan.timeline), TW_OK);
        tw_bound bound = tw_bound_of(&plan, &usage);
        const tw_summary *sum = &plan.timeline.sum;
        if (bound.ticks > sum->ticks || bound.cycles > sum->cycles)
            print_error("case %d, %s: %" PRId64 " ticks, bound %" PRId64 "; %" PRId64 " cycles, bound %" PRId64
                        " of %s\n",
                        i, c->line, sum->ticks, bound.ticks, sum->cycles, bound.cycles,
                        c->machine.engine[bound.engine].name);
        CHECK(bound.ticks <= sum->ticks && bound.cycles <= sum->cycles);
        reached_ticks += bound.ticks == sum->ticks;
        reached_cycles += bound.cycles == sum->cycles;
        tw_diag_release(&diag);
        case_free(c);
    }
    CHECK(reached_ticks > 0 && reached_cycles > 0); /* and it is not a trivial one */
}
