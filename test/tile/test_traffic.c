/* test/tile/test_traffic.c - exact traffic against walking the nest and remembering what is resident. */
#include "tile/traffic.h"

#include "tile/box.h"
#include "tw_test.h"

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
