/* test/networks/test_plan.c - budgets of the layers of a network. */
#include "tilewright/network.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { BASE = 1000000, PATIENCE = 200000 }; /* of a layer in the first round: src/plan/network_plan.c */

static const tw_network_plan *plan_digits(tw_context *ctx, const tw_machine *machine, int n_threads)
{
    const tw_network *network;
    const tw_network_plan *plan;
    tw_search_options layers = {.n_threads = n_threads};
    tw_network_search_options options = {.search = &layers};
    tw_network_dim batch = {"batch", 1};
    tw_network_options open = {.n_dims = 1, .dim = &batch};
    const char *source = getenv("TW_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/09-network/digits.onnx", source ? source : ".");
    CHECK_EQ(tw_network_open(ctx, path, &open, &network), TW_OK);
    CHECK_EQ(tw_network_search(ctx, network, machine, &options, &plan), TW_OK);
    return plan;
}

TEST(a_layer_is_planned_no_worse_than_alone_however_many_others_there_are)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    const tw_network_plan *plan = plan_digits(ctx, machine, 1);
    tw_search_options alone = {
        .space = TW_SPACE_WINDOWS, .gap = 0.0099, .budget = BASE, .patience = PATIENCE, .n_threads = 1};
    for (int i = 0; i < tw_network_plan_n_layers(plan); i++) {
        tw_layer_info layer = tw_network_plan_layer(plan, i);
        const tw_plan *own;
        CHECK(layer.plan);
        CHECK_EQ(tw_plan_search(ctx, layer.model, machine, &alone, &own), TW_OK);
        CHECK(tw_plan_summary(layer.plan)->cycles <= tw_plan_summary(own)->cycles);
        CHECK(tw_plan_search_result(own, 0)->work > 0);
    }
    tw_context_free(ctx);
}

/* A network in the shape of BlazeFace: many small layers, most of them depthwise, whose weights are not there. */
TEST(every_layer_of_a_face_detector_has_a_plan_near_its_bound)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_network *network;
    const tw_network_plan *plan;
    const char *source = getenv("TW_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/test/networks/blaze.onnx", source ? source : ".");
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    CHECK_EQ(tw_network_open(ctx, path, &(tw_network_options){.machine = machine}, &network), TW_OK);
    CHECK_EQ(tw_network_search(ctx, network, machine, &(tw_network_search_options){0}, &plan), TW_OK);
    const tw_network_totals *sum = tw_network_plan_totals(plan);
    CHECK_EQ(sum->n_planned, 88);
    CHECK_EQ(sum->n_refused + sum->n_untimed, 0);
    CHECK((double)sum->cycles < 1.06 * sum->bound);
    int64_t work = 0;
    for (int i = 0; i < tw_network_plan_n_layers(plan); i++)
        work += tw_plan_search_result(tw_network_plan_layer(plan, i).plan, 0)->work;
    if (work >= 60 * (int64_t)BASE) print_error("work %" PRId64 "\n", work);
    CHECK(work < 60 * (int64_t)BASE); /* of 52 layers: their budgets, what was left of others, and ties */
    tw_context_free(ctx);
}

TEST(shares_of_what_is_left_do_not_depend_on_threads)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    CHECK_EQ(tw_machine_open(ctx, "kpu", &machine), TW_OK);
    const tw_network_plan *one = plan_digits(ctx, machine, 1), *many = plan_digits(ctx, machine, 7);
    for (int i = 0; i < tw_network_plan_n_layers(one); i++) {
        const tw_search_result *a = tw_plan_search_result(tw_network_plan_layer(one, i).plan, 0);
        const tw_search_result *b = tw_plan_search_result(tw_network_plan_layer(many, i).plan, 0);
        CHECK_EQ(a->best, b->best);
        CHECK_EQ(a->work, b->work);
        CHECK(a->bound == b->bound);
    }
    CHECK_EQ(tw_network_plan_totals(one)->n_ran_out, tw_network_plan_totals(many)->n_ran_out);
    tw_context_free(ctx);
}
