/* test/plan/test_simulations.c - how often an operator is simulated: the linker leads the calls of the simulator through
 * this file (--wrap). */
#include "sim/discipline.h"
#include "tilewright/build.h"
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

/* Of its eight dispatches, two operators each, the four of the GRUs are equal, and so are their mappings. */
TEST(an_operator_is_simulated_once_for_its_plan_unless_it_repeats_another_and_once_for_its_verdict)
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
    CHECK_EQ(tw_model_n_ops(model), 2 * 8);
    CHECK_EQ(n_simulations, 2 * (8 - 3));
    for (int op = 0; op < tw_model_n_ops(model); op++) {
        const tw_verdict *verdict;
        CHECK_EQ(tw_plan_verify(ctx, plan, op, NULL, &verdict), TW_OK);
    }
    CHECK_EQ(n_simulations, 2 * (8 - 3) + tw_model_n_ops(model));
    tw_context_free(ctx);
}

/* ---- searches ---- */

typedef struct hunt {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    int n_simulations;
} hunt;

static hunt search(const char *ops, const char *limits)
{
    hunt h = {.ctx = tw_context_new()};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    tw_text text = {0};
    tw_text_printf(&text, "workload: w\nops:\n%s", ops);
    CHECK_EQ(tw_model_parse(h.ctx, "w", text.bytes, &h.model), TW_OK);
    CHECK_EQ(tw_machine_open(h.ctx, "kpu", &h.machine), TW_OK);
    if (limits) CHECK_EQ(tw_limits_parse(h.ctx, h.model, h.machine, "l", limits, &options.limits), TW_OK);
    options.n_threads = 1;
    options.budget = 300;
    n_simulations = 0;
    CHECK_EQ(tw_plan_search(h.ctx, h.model, h.machine, &options, &h.plan), TW_OK);
    h.n_simulations = n_simulations;
    tw_text_release(&text);
    return h;
}

static void check_same_plan(const hunt *a, int i, const hunt *b, int k)
{
    const tw_search_result *x = tw_plan_search_result(a->plan, i), *y = tw_plan_search_result(b->plan, k);
    CHECK_EQ(tw_plan_op_summary(a->plan, i)->cycles, tw_plan_op_summary(b->plan, k)->cycles);
    CHECK_EQ(tw_plan_op_summary(a->plan, i)->instructions, tw_plan_op_summary(b->plan, k)->instructions);
    CHECK_EQ(x->n_nodes, y->n_nodes);
    CHECK_EQ(x->proven, y->proven);
    for (int level = 0; level < tw_plan_n_levels(a->plan, i); level++)
        for (int l = 0; l < tw_plan_n_loops(a->plan, i); l++)
            CHECK_EQ(tw_plan_tile_size(a->plan, i, level, l), tw_plan_tile_size(b->plan, k, level, l));
}

static void check_verified(const hunt *h)
{
    for (int op = 0; op < tw_model_n_ops(h->model); op++) {
        const tw_verdict *verdict;
        CHECK_EQ(tw_plan_verify(h->ctx, h->plan, op, NULL, &verdict), TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
    }
}

#define CONV(name, out) "  - {name: " name ", op: conv, shape: [4, 6, 6], out: " out ", kernel: 3, pad: 1}\n"

TEST(ten_equal_operators_are_searched_once_and_planned_as_alone)
{
    hunt alone = search(CONV("a", "16"), NULL), other = search(CONV("a", "8"), NULL);
    hunt all = search(CONV("a", "16") CONV("b", "16") CONV("c", "8") CONV("d", "16") CONV("e", "16") CONV("f", "16")
                          CONV("g", "16") CONV("h", "16") CONV("i", "16") CONV("j", "16"),
                      NULL);
    CHECK_EQ(all.n_simulations, alone.n_simulations + other.n_simulations);
    for (int i = 0; i < 10; i++) check_same_plan(&all, i, i == 2 ? &other : &alone, 0);
    CHECK_EQ(tw_plan_summary(all.plan)->cycles,
             9 * tw_plan_summary(alone.plan)->cycles + tw_plan_summary(other.plan)->cycles);
    check_verified(&all);
    tw_context_free(alone.ctx);
    tw_context_free(other.ctx);
    tw_context_free(all.ctx);
}

TEST(equal_operators_with_limits_of_their_own_are_searched_apart)
{
    static const char limits[] = "mapping:\n  b:\n    levels:\n      - {at: l1, sizes: {oc: 4}}\n";
    hunt alone = search(CONV("a", "16"), NULL), both = search(CONV("a", "16") CONV("b", "16"), limits);
    check_same_plan(&both, 0, &alone, 0);
    CHECK(tw_plan_summary(both.plan)->cycles > 2 * tw_plan_summary(alone.plan)->cycles);
    check_verified(&both);
    tw_context_free(alone.ctx);
    tw_context_free(both.ctx);
}
