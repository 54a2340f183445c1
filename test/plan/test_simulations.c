/* test/plan/test_simulations.c - how often an operator is simulated: the linker leads the calls of the simulator through
 * this file (--wrap). */
#include "sim/discipline.h"
#include "tw_test.h"

#include <stdlib.h>

static int n_simulations;
tw_status __real_tw_async_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch,
                              tw_diag *diag, tw_timeline *out);
tw_status __wrap_tw_async_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch,
                              tw_diag *diag, tw_timeline *out);

tw_status __wrap_tw_async_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch,
                              tw_diag *diag, tw_timeline *out)
{
    n_simulations++;
    return __real_tw_async_run(program, asked, scratch, diag, out);
}

static const char *path_of(char *room, size_t size, const char *file)
{
    snprintf(room, size, "%s/examples/08-nsnet2/%s", getenv("TW_SOURCE"), file);
    return room;
}

TEST(an_operator_is_simulated_once_for_its_plan_and_once_for_its_verdict)
{
    char path[1024];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, path_of(path, sizeof path, "workload.yaml"), &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "snitch", &machine), TW_OK);
    path_of(path, sizeof path, "hand-picked.mlir");
    CHECK_EQ(tw_mapping_open_lowering(ctx, model, machine, path, &mapping), TW_OK);
    n_simulations = 0;
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
    CHECK_EQ(n_simulations, tw_model_n_ops(model));
    for (int op = 0; op < tw_model_n_ops(model); op++) {
        const tw_verdict *verdict;
        CHECK_EQ(tw_plan_verify(ctx, plan, op, NULL, &verdict), TW_OK);
    }
    CHECK_EQ(n_simulations, 2 * tw_model_n_ops(model));
    tw_context_free(ctx);
}
