/* test/verify/test_shares.c - loops that are divided over dimensions of an array: passes as the verifier counts them, as the simulator
 * does, and as every point has its place; and what an array does not take. */
#include "mapping/spread.h"
#include "tw_test.h"
#include "verify/cost.h"
#include "verify/shape.h"

#include <string.h>

enum { LOOPS = 3, MOST = 9 };

typedef struct scene {
    tw_op op;
    tw_engine engine;
    tw_spread over;
    tw_verify_input in;
    int64_t len[TW_MAX_LOOPS];
    tw_box box;
} scene;

static void draw(uint64_t *r, scene *s)
{
    *s = (scene){.op = {.n_loops = LOOPS, .n_operands = 1}};
    tw_cost_array *array = &s->engine.cost.array;
    s->engine.cost.kind = TW_COST_ARRAY;
    array->n_dims = (int)tw_test_pick(r, 1, 3);
    for (int d = 0; d < array->n_dims; d++) array->size[d] = tw_test_pick(r, 1, 5);
    for (int l = 0; l < LOOPS; l++) {
        s->op.loop[l] = (tw_loop){.name = "x", .extent = MOST};
        s->len[l] = tw_test_pick(r, 1, MOST);
        s->box.span[l] = (tw_span){3, 3 + s->len[l]};
        s->over.dim[l] = (int8_t)tw_test_pick(r, 0, array->n_dims);
        for (int d = 0; d < array->n_dims; d++)
            if (s->over.dim[l] != d + 1 && tw_test_pick(r, 0, 2) == 0)
                s->over.share[l][d] = (int32_t)tw_test_pick(r, 2, MOST);
    }
    if (!tw_spread_is_given(&s->over, &s->op)) s->over.dim[0] = 1;
    s->in.op = &s->op;
    tw_verify_lay_out(&s->over, array->n_dims, &s->in);
}

/* Where a point of a loop lies: along each dimension, and at last in time. */
static void place_of(const scene *s, int l, int64_t point, int64_t place[TW_MAX_DIMS + 1])
{
    for (int d = 0; d <= TW_MAX_DIMS; d++) place[d] = 0;
    for (int d = 0; d < s->engine.cost.array.n_dims; d++) {
        if (s->over.share[l][d] == 0) continue;
        place[d] = point % s->over.share[l][d];
        point /= s->over.share[l][d];
    }
    place[s->over.dim[l] > 0 ? s->over.dim[l] - 1 : TW_MAX_DIMS] += point;
}

/* Passes when each point is put to its place. */
static int64_t passes_by_points(const scene *s)
{
    int64_t passes = 1;
    for (int d = 0; d <= TW_MAX_DIMS; d++) {
        int64_t along = 1;
        for (int l = 0; l < LOOPS; l++) {
            int64_t furthest = 0, place[TW_MAX_DIMS + 1];
            for (int64_t i = 0; i < s->len[l]; i++) {
                place_of(s, l, i, place);
                furthest = tw_max(furthest, place[d]);
            }
            along *= furthest + 1;
        }
        passes *= d < s->engine.cost.array.n_dims ? tw_cdiv(along, s->engine.cost.array.size[d]) : along;
    }
    return passes;
}

TEST(passes_of_divided_loops_are_those_of_points_in_their_places)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 20000; i++) {
        scene s;
        draw(&r, &s);
        int64_t expected = passes_by_points(&s);
        CHECK_EQ(tw_spread_passes(&s.over, &s.op, &s.engine.cost.array, s.len), expected);
        CHECK_EQ(tw_verify_passes(&s.in, &s.engine.cost.array, &s.box), expected);
    }
}

static void check_phrase(const scene *s, const char *before, const char *after)
{
    tw_verify_phrase fault = {NULL, NULL};
    CHECK(!tw_verify_array_takes(&s->in, &s->engine, 0, &fault));
    CHECK_STR(fault.before, before);
    CHECK_STR(fault.after, after);
}

TEST(an_array_takes_loops_as_the_machine_says)
{
    scene s = {.op = {.n_loops = 1, .n_operands = 1, .loop = {{.name = "k", .extent = 8, .reduces = true}}}};
    tw_verify_phrase fault;
    s.engine.cost = (tw_cost){TW_COST_ARRAY, .array = {.n_dims = 2, .size = {4, 4}}};
    s.in.op = &s.op;
    s.in.over[0] = 2;
    s.in.share[0][0] = 2;
    CHECK(tw_verify_array_takes(&s.in, &s.engine, 0, &fault));
    s.engine.unrolls_whole = true;
    check_phrase(&s, "several dimensions of ", ", which takes whole loops");
    s.engine.unrolls_whole = false;
    s.in.dims = 1;
    check_phrase(&s, "several dimensions of ", ", which takes whole loops");
    s.in.dims = 0;
    s.engine.unrolls_parallel = true;
    check_phrase(&s, "", ", which takes parallel loops only");
    s.in.over[0] = 0;
    check_phrase(&s, "", ", which takes parallel loops only");
    s.engine.unrolls_parallel = false;
    s.in.share[0][0] = 1;
    check_phrase(&s, "a dimension of ", " with a share that is none");
    s.in.share[0][0] = 2;
    s.in.over[0] = 1;
    check_phrase(&s, "a dimension of ", " with a share that is none");
    s.in.over[0] = 0;
    s.in.share[0][3] = 2;
    check_phrase(&s, "a dimension that ", " does not have");
}
