/* test/tile/test_traffic.c - exact traffic against walking the nest and remembering what is resident. */
#include "tile/traffic.h"

#include "tile/box.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

/* A random operator with three loops: one input over some of them, with windows and clipping, and an output. */
static tw_op random_op(uint64_t *rng)
{
    tw_op op = {.n_loops = 3, .n_operands = 2};
    for (int l = 0; l < 3; l++) op.loop[l] = (tw_loop){"l", tw_test_pick(rng, 1, 7), l == 2};
    tw_operand *in = &op.operand[0];
    in->n_axes = (int)tw_test_pick(rng, 1, 2);
    for (int a = 0; a < in->n_axes; a++) {
        tw_axis *axis = &in->axis[a];
        *axis =
            (tw_axis){.extent = tw_test_pick(rng, 1, 12), .divisor = 1, .n_terms = (int)tw_test_pick(rng, 1, 2)};
        axis->offset = tw_test_pick(rng, -2, 1);
        int first = (int)tw_test_pick(rng, 0, 2);
        for (int t = 0; t < axis->n_terms; t++) axis->term[t] = (tw_term){(first + t) % 3, tw_test_pick(rng, 1, 2)};
    }
    op.operand[1] = (tw_operand){.n_axes = 2};
    for (int a = 0; a < 2; a++)
        op.operand[1].axis[a] =
            (tw_axis){.extent = op.loop[a].extent, .divisor = 1, .n_terms = 1, .term = {{a, 1}}};
    return op;
}

static tw_tile_nest random_nest(uint64_t *rng, const tw_op *op)
{
    tw_tile_nest nest = {.op = op, .serpentine = tw_test_pick(rng, 0, 1)};
    for (int l = 0; l < 3; l++) {
        nest.order[l] = l;
        nest.split[l] =
            tw_test_pick(rng, 0, 1)
                ? tw_split_by_size(op->loop[l].extent, tw_test_pick(rng, 1, 7))
                : tw_split_by_count(op->loop[l].extent, tw_test_pick(rng, 1, op->loop[l].extent), TW_BALANCED);
    }
    for (int l = 2; l > 0; l--) {
        int k = (int)tw_test_pick(rng, 0, l), t = nest.order[l];
        nest.order[l] = nest.order[k];
        nest.order[k] = t;
    }
    return nest;
}

/* The oracle: visit every point of the tile nest. Resident are the tiles touched since the outer `depth` loops
 * last changed to another set of this operand's tiles; a tile that is not resident is loaded. */
enum { TILES = 7 * 7 * 7 };
typedef struct walk {
    const tw_tile_nest *nest;
    const tw_operand *operand;
    unsigned loops;
    int depth;
    int64_t index[3], outer[3];
    bool started, resident[TILES];
    int64_t loads, elems;
} walk;

static void visit(walk *w)
{
    bool same = w->started;
    for (int p = 0; p < w->depth; p++) {
        int l = w->nest->order[p];
        if ((w->loops >> l & 1) && w->index[l] != w->outer[l]) same = false;
        w->outer[l] = w->index[l];
    }
    w->started = true;
    if (!same) memset(w->resident, 0, sizeof w->resident);
    int id = 0;
    tw_box box = {0};
    for (int l = 0; l < 3; l++) {
        box.span[l] = tw_split_at(&w->nest->split[l], 0, w->index[l]);
        if (w->loops >> l & 1) id = id * 7 + (int)w->index[l];
    }
    if (w->resident[id]) return;
    w->resident[id] = true;
    tw_region region;
    w->loads++;
    w->elems += tw_region_of(w->operand, &box, &region);
}

static void run(walk *w, int place, bool *back)
{
    if (place == 3) {
        visit(w);
        return;
    }
    int l = w->nest->order[place];
    int64_t n = w->nest->split[l].count;
    for (int64_t i = 0; i < n; i++) {
        w->index[l] = back[place] && w->nest->serpentine ? n - 1 - i : i;
        run(w, place + 1, back);
    }
    back[place] = !back[place];
}

TEST(a_hundred_thousand_random_nests_move_what_walking_them_moves)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 100000; i++) {
        uint64_t seed = rng;
        tw_op op = random_op(&rng);
        tw_tile_nest nest = random_nest(&rng, &op);
        int operand = (int)tw_test_pick(&rng, 0, 1), depth = (int)tw_test_pick(&rng, 0, 3);
        walk w = {.nest = &nest, .operand = &op.operand[operand], .depth = depth};
        w.loops = tw_operand_loops(w.operand);
        bool back[3] = {false};
        run(&w, 0, back);
        tw_traffic t;
        CHECK(tw_traffic_of(&nest, operand, depth, &t));
        if (t.loads != w.loads || t.elems != w.elems)
            print_error("case %d, seed %" PRIu64 ", depth %d, serpentine %d\n", i, seed, depth, nest.serpentine);
        CHECK_EQ(t.loads, w.loads);
        CHECK_EQ(t.elems, w.elems);
        CHECK(t.elems >= t.sweep && t.sweep > 0 ? t.loads >= t.tiles : true);
    }
}

/* Distinct positions along each axis, by visiting every point. */
TEST(what_is_touched_at_all_is_what_visiting_every_point_marks)
{
    uint64_t rng = tw_test_seed();
    tw_arena *scratch = tw_arena_new();
    for (int i = 0; i < 50000; i++) {
        tw_op op = random_op(&rng);
        if (tw_test_pick(&rng, 0, 1)) op.operand[0].axis[0].divisor = tw_test_pick(&rng, 1, 3);
        op.operand[0].axis[0].floors = op.operand[0].axis[0].divisor > 1 && tw_test_pick(&rng, 0, 1);
        int64_t expected = 1, got;
        for (int a = 0; a < op.operand[0].n_axes; a++) {
            const tw_axis *axis = &op.operand[0].axis[a];
            bool seen[16] = {false};
            int64_t n = 0;
            for (int64_t x = 0; x < 7 * 7 * 7; x++) {
                int64_t index[3] = {x % 7, x / 7 % 7, x / 49}, value = axis->offset;
                bool inside = true;
                for (int l = 0; l < 3; l++) inside = inside && index[l] < op.loop[l].extent;
                for (int t = 0; t < axis->n_terms; t++) value += axis->term[t].coef * index[axis->term[t].loop];
                bool whole = axis->floors || value % axis->divisor == 0;
                if (!inside || value < 0 || !whole || value / axis->divisor >= axis->extent) continue;
                n += !seen[value / axis->divisor];
                seen[value / axis->divisor] = true;
            }
            expected *= n;
        }
        CHECK_EQ(tw_traffic_least(&op, 0, scratch, &got), TW_OK);
        CHECK_EQ(got, expected);
    }
    tw_arena_free(scratch);
}

/* With one slot per operand the simulator keeps one tile of each: the closed form at full depth. */
TEST(the_simulator_moves_what_the_closed_form_says)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        int64_t extent[3], tile[3];
        for (int l = 0; l < 3; l++) {
            extent[l] = tw_test_pick(&rng, 1, 12);
            tile[l] = tw_test_pick(&rng, 1, extent[l]);
        }
        bool nm = tw_test_pick(&rng, 0, 1);
        char workload[64], mapping[256];
        snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, extent[0], extent[1],
                 extent[2]);
        snprintf(mapping, sizeof mapping,
                 "mapping: {matmul: {levels: [{at: buffer, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64
                 "}, order: [%s, k], accumulate: fused}]}}",
                 tile[0], tile[1], tile[2], nm ? "n, m" : "m, n");
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *map;
        const tw_plan *plan;
        CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
        CHECK_EQ(tw_machine_open(ctx, "tick-10k", &machine), TW_OK);
        CHECK_EQ(tw_mapping_parse(ctx, model, machine, "m", mapping, &map), TW_OK);
        CHECK_EQ(tw_plan_eval(ctx, model, machine, map, &plan), TW_OK);
        tw_traffic_nest nest = {tile, nm ? "n m k" : "m n k", false};
        for (int o = 0; o < 3; o++) {
            const tw_link_use *use = tw_plan_link_use(plan, 0, 1, o);
            tw_traffic t;
            CHECK_EQ(tw_traffic_count(ctx, model, 0, &nest, use->operand, 3, &t), TW_OK);
            CHECK_EQ(use->transfers, t.loads);
            CHECK_EQ(use->units, t.elems);
        }
        tw_context_free(ctx);
    }
}
