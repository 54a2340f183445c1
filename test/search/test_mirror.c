/* test/search/test_mirror.c - a mapping whose choices about rows are made about columns costs the same, and only then spreads are left out.
 *
 * The mirror image is made of the mapping's own fields by the names of the loops; the simulator knows nothing of mirrors. */
#include "search/mirror.h"

#include "brute_random.h"
#include "plan/evaluate.h"
#include "tw_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- images cost the same ---- */

static int loop_named(const tw_op *op, const char *name)
{
    int l = 0;
    while (l < op->n_loops && strcmp(op->loop[l].name, name) != 0) l++;
    return l < op->n_loops ? l : -1;
}

static int other_of(const tw_op *op, int l)
{
    static const char *const pair[][2] = {{"oy", "ox"}, {"ox", "oy"}, {"ky", "kx"}, {"kx", "ky"}};
    for (size_t i = 0; i < TW_COUNT(pair); i++)
        if (strcmp(op->loop[l].name, pair[i][0]) == 0) return loop_named(op, pair[i][1]);
    return l;
}

static tw_op_map image_of(const tw_op *op, const tw_machine *machine, const tw_op_map *map)
{
    tw_op_map now = *map, out;
    tw_spread *over =
        &now.level[now.n_levels - 1].over; /* no loop at all means the default, which is no image of itself */
    *over = tw_spread_or_default(over, op, tw_cost_dims(&machine->engine[machine->compute].cost));
    map = &now;
    out = now;
    for (int i = 0; i < map->n_levels; i++) {
        const tw_level_map *from = &map->level[i];
        tw_level_map *to = &out.level[i];
        for (int l = 0; l < op->n_loops; l++) {
            int k = other_of(op, l);
            to->count[k] = from->count[l];
            to->size[k] = from->size[l];
            to->order[l] = other_of(op, from->order[l]);
            to->over.dim[k] = from->over.dim[l];
            memcpy(to->over.share[k], from->over.share[l], sizeof from->over.share[l]);
        }
        for (int o = 0; o < op->n_operands; o++) {
            if (from->keeps[o] > 0) to->keeps[o] = 1 + other_of(op, from->keeps[o] - 1);
            if (from->slides[o] > 0) to->slides[o] = 1 + other_of(op, from->slides[o] - 1);
        }
    }
    return out;
}

typedef struct walk {
    uint64_t *rng;
    tw_part *next;
    int n;
} walk;

static bool take(void *user, tw_part *part)
{
    walk *w = user;
    if (tw_test_pick(w->rng, 1, ++w->n) > 1) {
        free(part);
        return true;
    }
    free(w->next);
    w->next = part;
    return true;
}

/* Some mapping of the space; false: the walk ended in nothing. */
static bool any_map(const tw_space *s, uint64_t *rng, tw_op_map *out)
{
    bool empty, divided = true;
    tw_part *part = tw_part_of_frame(s, (int)tw_test_pick(rng, 0, s->n_frames - 1), &empty);
    while (!empty && part && divided) {
        walk w = {.rng = rng};
        CHECK_EQ(tw_part_divide(s, part, take, &w, &divided), TW_OK);
        if (!divided) break;
        free(part);
        part = w.next;
    }
    bool found = !empty && part;
    if (found) tw_part_map(s, part, out);
    free(part);
    return found;
}

static bool is_same(const tw_machine *machine, const tw_outcome *a, const tw_outcome *b)
{
    bool same = a->cycles == b->cycles && a->energy_fj == b->energy_fj;
    for (int e = 0; e < machine->n_engines; e++) same &= a->moved[e] == b->moved[e];
    for (int m = 1; m < machine->n_memories; m++)
        same &= a->crossed[m] == b->crossed[m] && a->used[m] == b->used[m];
    return same;
}

/* How many mappings and their images were compared. */
static int compare_images(const tw_model *model, const tw_machine *machine, uint64_t *rng, int n)
{
    tw_arena *arena = tw_arena_new();
    tw_evaluator *evaluator = tw_evaluator_new(1);
    const tw_eval *eval = tw_evaluator_eval(evaluator);
    tw_search_options options = {.space = TW_SPACE_ALL};
    tw_diag diag = {.muted = true};
    tw_space space;
    int n_compared = 0;
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    const tw_problem problem = {model, 0, &here};
    bool takes = tw_space_of(&problem, &options, arena, &diag, &space) == TW_OK;
    for (int l = 0; takes && l < space.op->n_loops; l++) /* tiles of some sizes by the names of loops */
        if (other_of(space.op, l) != l && !tw_taken_is_any(&space.taken[l])) takes = false;
    for (int i = 0; i < n && takes; i++) {
        tw_op_map map;
        if (!any_map(&space, rng, &map)) continue;
        tw_op_map image = image_of(space.op, &here, &map);
        tw_outcome real[2];
        int64_t ignored;
        tw_meter meter[2] = {{.limit = 100000}, {.limit = 100000}};
        tw_status status = eval->cost(eval->user[0], &problem, &map, &meter[0], &real[0], &ignored);
        CHECK_EQ(eval->cost(eval->user[0], &problem, &image, &meter[1], &real[1], &ignored), status);
        if (status != TW_OK || meter[0].unfinished) continue;
        if (!is_same(&here, &real[0], &real[1])) {
            tw_text out = {0};
            tw_mapping_print(&(tw_mapping){1, &map}, model, &here, &out);
            fprintf(stderr, "on %s: %" PRId64 " and %" PRId64 " cycles\n%s", machine->name, real[0].cycles,
                    real[1].cycles, out.bytes);
            tw_text_release(&out);
            CHECK(false);
        }
        n_compared++;
    }
    tw_evaluator_free(evaluator);
    tw_arena_free(arena);
    return n_compared;
}

TEST(a_mapping_and_its_mirror_image_cost_the_same)
{
    static const char *const spec[] = {
        "conv:5x9x9,out=6,kernel=3,pad=1",           "conv:3x12x12,out=4,kernel=5,stride=2,pad=2",
        "dwconv:7x9x9,kernel=3,stride=2,pad=1",      "conv:6x8x8,out=10,kernel=1",
        "pool:5x11x11,kernel=3,stride=2,pad=1,ceil", "conv:4x5x5,out=3,kernel=4,stride=2,pad=1,transposed"};
    static const char *const name[] = {"kpu", "kpu-minimal", "kpu-edge"};
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (size_t i = 0; i < TW_COUNT(spec); i++)
        for (size_t k = 0; k < TW_COUNT(name); k++) {
            tw_context *ctx = tw_context_new();
            const tw_model *model;
            const tw_machine *machine;
            CHECK_EQ(tw_model_open(ctx, spec[i], &model), TW_OK);
            CHECK_EQ(tw_machine_open(ctx, name[k], &machine), TW_OK);
            n += compare_images(model, machine, &rng, tw_test_rounds(150));
            tw_context_free(ctx);
        }
    CHECK(n > tw_test_rounds(150));
}

/* Whether mirror.c says nothing about the machine. */
static bool asks_for_shapes(const tw_machine *machine)
{
    bool asks = machine->pads || machine->engine[machine->compute].cost.kind != TW_COST_ARRAY;
    for (int e = 0; e < machine->n_engines; e++)
        asks |= machine->engine[e].strided || tw_cost_by_shape(&machine->engine[e].cost);
    return asks;
}

TEST(on_random_machines_they_do_as_well)
{
    static const char *const spec[] = {"conv:2x4x4,out=3,kernel=2,dtype=i8,pad=1",
                                       "dwconv:3x5x5,kernel=3,dtype=i8,pad=1",
                                       "conv:3x4x4,out=2,kernel=1,dtype=i8"};
    uint64_t rng = tw_test_seed();
    int n = 0;
    for (int i = 0; i < tw_test_rounds(300); i++) {
        brute_case c;
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        brute_random_make(
            &rng, (brute_wish){.timing = TW_ASYNC, .limit = 3000, .cluster = i % 3 == 2, .array = true}, &c);
        CHECK_EQ(tw_model_open(ctx, spec[(size_t)i % TW_COUNT(spec)], &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "machine", c.machine, &machine), TW_OK);
        if (!asks_for_shapes(machine)) n += compare_images(model, machine, &rng, 40);
        tw_context_free(ctx);
    }
    CHECK(n > tw_test_rounds(100));
}

/* ---- and no others are left out ---- */

static int spreads_of(const char *spec, const char *array, const char *cost)
{
    static const char machine_text[] =
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
        "  - {name: sram, size: 65536}\nengines:\n  - {name: dma, between: [dram, sram], carries: both, cost: %s}\n"
        "  - {name: mac, computes: [multiply-add, max], on: sram, accumulate: fused, unrolls: [parallel, whole], "
        "cost: {array: %s}}\n";
    char text[sizeof machine_text + 200];
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new();
    const tw_model *model;
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    tw_search_options options = {.space = TW_SPACE_ALL};
    tw_space space;
    snprintf(text, sizeof text, machine_text, cost, array);
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
    tw_machine here = tw_machine_for(machine, model, &model->op[0], (tw_fusion){0});
    CHECK_EQ(tw_space_of(&(tw_problem){model, 0, &here}, &options, arena, &diag, &space), TW_OK);
    int n = space.n_frames;
    tw_arena_free(arena);
    tw_context_free(ctx);
    return n;
}

TEST(of_spreads_that_mirror_each_other_one_is_left)
{
    static const char units[] = "{latency: 1, per_cycle: 64}";
    /* Channels, rows and columns: whether channels lie beside one of them or the other is the same. */
    CHECK_EQ(spreads_of("conv:8x16x16,out=24,kernel=1", "[4, 4]", units), 3);
    CHECK_EQ(spreads_of("conv:8x16x16,out=24,kernel=3,pad=1", "[4, 4]", units), 3);
    CHECK_EQ(spreads_of("conv:8x16x16,out=24,kernel=3,pad=1", "[4, 5]", units), 6);
    CHECK_EQ(spreads_of("dwconv:8x16x16,kernel=5,stride=2,pad=2", "[4, 5]", units), 6);
}

TEST(loops_that_something_tells_apart_mirror_nothing)
{
    static const char units[] = "{latency: 1, per_cycle: 64}";
    CHECK_EQ(spreads_of("conv:8x16x15,out=24,kernel=1", "[4, 4]", units), 4);         /* a longer loop       */
    CHECK_EQ(spreads_of("conv:8x16x16,out=24,kernel=5x3,pad=1", "[4, 4]", units), 4); /* a longer kernel     */
    CHECK_EQ(spreads_of("conv:8x18x16,out=24,kernel=5x3", "[4, 5]", units), 8);       /* outputs are square  */
    CHECK_EQ(spreads_of("matmul:16x16x16", "[4, 5]", units), 4);                      /* of other operands   */
    CHECK_EQ(spreads_of("conv:8x16x16,out=16,kernel=1", "[4, 5]", units), 6);         /* channels are others */
}
