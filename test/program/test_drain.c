/* test/program/test_drain.c - a mover that fetches ahead inside of one sweep of the innermost loop only: numbers worked out by hand.
 *
 * A transfer takes 11 cycles, an execution 100. Two planes of four rows of one byte are pooled, three rows each, a row of padding at both
 * ends; every tap is a step, so that a sweep has three of them:
 *
 *     plane 0  row 0        its first tap is padding: nothing comes for it, the second comes meanwhile             300
 *              row 1 .. 3   when all executions are over the last row leaves and the first tap comes               3 x 322
 *     plane 1  row 0        the first tap is padding again; what comes first waits until it is executed, too       100 + 211
 *              row 1 .. 3                                                                                          3 x 322
 *     the last row leaves                                                                                          11 */
#include "plan/plan.h"
#include "tw_test.h"

#include "cli/oracle.h"

static const char machine_text[] =
    "machine: one\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: "
    "64}]\nengines:\n"
    "  - {name: dma, between: [dram, l1], prefetch: innermost, cost: {latency: 10, per_cycle: 1}}\n"
    "  - {name: alu, computes: max, memory: l1, cost: {constant: 100}}\n";

TEST(the_first_input_of_a_sweep_waits_for_the_one_before_also_where_it_begins_in_padding)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *v = NULL;
    tw_verify_options options = {.reference = tw_oracle_reference, .seed = 7};
    CHECK_EQ(tw_model_open(ctx, "pool:2x4x1,kernel=3x1,stride=1,pad=1x0,type=max,dtype=i8", &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine_text, &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "map",
                              "mapping: {pool: {levels: [{at: l1, tiles: {c: 2, oy: 4, ky: 3}, order: [c, oy, ky], "
                              "buffers: {ifm: 4, ofm: 2}}]}}\n",
                              &mapping),
             TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
    CHECK_EQ(plan->sum.cycles, 300 + 3 * 322 + 311 + 3 * 322 + 11);
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, &options, &v), TW_OK);
    CHECK(v->checked && v->executed && v->equal && v->first_fault == NULL);
    tw_context_free(ctx);
}
