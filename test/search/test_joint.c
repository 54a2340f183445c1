/* test/search/test_joint.c - what movers carry by one order of loops, against every order.
 *
 * Sizes of a part are drawn, then every order is chosen in turn; its residencies are chosen for each mover alone, by the closed form that
 * test_closed holds against programs. In whichever class an order is, no mover carries less than the class says. */
#include "search/joint.h"

#include "tw_read.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct scene {
    tw_context *ctx;
    tw_arena *arena;
    const tw_model *model;
    tw_machine machine;
    tw_space space;
} scene;

static void open_scene(scene *s, const char *workload, uint64_t *rng)
{
    char text[900];
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    snprintf(
        text, sizeof text,
        "machine: m\nunit: element\ntiming: async\nreuse: declared\nmemories:\n  - {name: dram, size: unlimited}\n"
        "  - {name: l2, size: %" PRId64 "}\n  - {name: l1, size: %" PRId64 ", holds: inputs}\n"
        "  - {name: sums, size: %" PRId64 ", holds: output}\nengines:\n"
        "  - {name: load, between: [dram, l2], carries: in, cost: {latency: 0, per_cycle: 1}}\n"
        "  - {name: feed, between: [l2, l1], carries: in, cost: {latency: 0, per_cycle: 1}}\n"
        "  - {name: mac, computes: [multiply-add], memory: sums, accumulate: fused, cost: {array: [2, 2]}}\n"
        "  - {name: drain, between: [l2, sums], carries: both, cost: {latency: 0, per_cycle: 1}}\n"
        "  - {name: write, between: [dram, l2], carries: out, cost: {latency: 0, per_cycle: 1}}\n",
        tw_test_pick(rng, 20, 300), tw_test_pick(rng, 8, 120), tw_test_pick(rng, 2, 40));
    s->ctx = tw_context_new();
    s->arena = tw_arena_new();
    CHECK_EQ(tw_model_open(s->ctx, workload, &s->model), TW_OK);
    CHECK_EQ(tw_machine_parse(s->ctx, "machine", text, &machine), TW_OK);
    s->machine = tw_machine_for(machine, s->model, &s->model->op[0], (tw_fusion){0});
    tw_search_options options = {.space = TW_SPACE_WHOLE, .cut = TW_CUT_GREEDY, .approach = TW_APPROACH_DIRECT};
    CHECK_EQ(tw_space_of(&(tw_problem){s->model, 0, &s->machine}, &options, s->arena, &diag, &s->space), TW_OK);
    CHECK_EQ(tw_space_measure(&s->space, s->arena), TW_OK);
}

/* Loops of the output inside the outermost reduction that is cut, as a mask. */
static unsigned inside_of(const tw_space *s, const tw_cut_loops *order)
{
    unsigned inside = 0;
    bool reduces = false;
    for (int i = 0; i < order->n; i++) {
        reduces |= s->reductions >> order->loop[i] & 1;
        if (reduces && !(s->reductions >> order->loop[i] & 1)) inside |= 1u << order->loop[i];
    }
    return inside;
}

/* Units of each mover by the order of the part, at least; false: nothing fits. */
static bool units_by_order(const tw_view *v, tw_traffic_bound *all)
{
    const tw_space *s = v->s;
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int e = 0; e < s->machine->n_engines; e++) {
            const tw_engine *engine = &s->machine->engine[e];
            tw_closed c;
            if (engine->kind != TW_MOVES || engine->memory != m || !tw_closed_of(v, m, &c) || c.n == 0) continue;
            tw_price price = tw_price_of_units(s, m, e);
            all->units[e] = tw_closed_least(&c, &price);
            if (all->units[e] == INT64_MAX) return false;
        }
    return true;
}

/* The order is in one of the classes, and none of its movers carries less there. */
static void check_order(const tw_view *v, const tw_joint_order *joint, const tw_view *ordered,
                        const tw_cut_loops *order)
{
    const tw_space *s = v->s;
    tw_traffic_bound by_order = {0};
    unsigned inside = inside_of(s, order);
    if (!units_by_order(ordered, &by_order)) return;
    bool stays = by_order.units[joint->mover] < joint->leaving, known = false;
    for (int i = 0; i < joint->n && stays; i++) {
        tw_traffic_bound least = {0};
        if (joint->inside[i] != inside) continue;
        known = true;
        for (int e = 0; e < s->machine->n_engines; e++) least.units[e] = by_order.units[e] > 0;
        int outermost = joint->outside[i] ? order->loop[0] : -1;
        CHECK(outermost < 0 || (joint->outside[i] >> outermost & 1));
        CHECK(tw_joint_units(v, joint, i, outermost, &least));
        for (int e = 0; e < s->machine->n_engines; e++) CHECK(least.units[e] <= tw_max(1, by_order.units[e]));
    }
    CHECK(known || !stays);
}

TEST(no_order_of_loops_carries_less_than_its_class)
{
    static const char *const spec[] = {"matmul:6x8x9,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "matmul:4x6x8,batch=2,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "conv:4x4x3,out=6,kernel=1,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "conv:3x7x5,out=4,kernel=1,stride=2,dtype=i8,out_dtype=i8,accumulator=i8"};
    uint64_t rng = tw_test_seed();
    int n_orders = 0;
    for (int i = 0; i < tw_test_rounds(3000); i++) {
        scene s;
        bool empty;
        tw_view view;
        tw_joint_order joint;
        tw_part_bounds least = {0};
        open_scene(&s, spec[(size_t)i % TW_COUNT(spec)], &rng);
        tw_part *part = tw_part_of_frame(&s.space, 0, &empty), *chosen = tw_part_of_frame(&s.space, 0, &empty);
        const tw_op *op = s.space.op;
        for (int l = 0; l < op->n_loops; l++) {
            int64_t size = tw_test_pick(&rng, 1, op->loop[l].extent);
            int var = tw_var_size(&s.space, 0, l);
            part->var[var] = chosen->var[var] = (tw_range){(int32_t)size, (int32_t)size};
        }
        tw_view_of(&s.space, part, &least, &view);
        int64_t n = 1;
        for (int l = 2; l <= op->n_loops; l++) n *= l;
        bool fits = tw_joint_of(&view, &joint);
        for (int64_t k = 0; k < n && fits; k++) {
            int order[TW_MAX_LOOPS];
            tw_cut_loops cut;
            tw_view ordered;
            tw_order_of_number(op, k, order);
            if (!tw_part_set_order(&s.space, chosen, 0, order)) continue;
            CHECK(tw_part_order(&s.space, chosen, 0, &cut));
            tw_view_of(&s.space, chosen, &least, &ordered);
            check_order(&view, &joint, &ordered, &cut);
            n_orders++;
        }
        free(part);
        free(chosen);
        tw_arena_free(s.arena);
        tw_context_free(s.ctx);
    }
    CHECK(n_orders > tw_test_rounds(3000));
}
