/* test/fuse/test_segment.c - boxes and regions of a segment against points that are walked one by one. */
#include "fuse/segment.h"
#include "tile/box.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 4, SIDE = 64 };

/* Which rows and columns of each operator's output somebody behind it reads, found point by point. */
typedef struct seen {
    bool row[MOST + 1][SIDE], column[MOST + 1][SIDE];
} seen;

typedef struct drawn {
    int n;
    int64_t side[MOST + 1]; /* of the input and of each output */
    int64_t kernel[MOST], stride[MOST], pad[MOST];
} drawn;

static drawn draw(uint64_t *random)
{
    drawn d = {.n = (int)tw_test_pick(random, 1, MOST)};
    d.side[0] = tw_test_pick(random, 8, 40);
    for (int i = 0; i < d.n; i++) {
        d.kernel[i] = tw_test_pick(random, 1, 4);
        d.stride[i] = tw_test_pick(random, 1, 2);
        d.pad[i] = tw_test_pick(random, 0, d.kernel[i] - 1);
        d.side[i + 1] = (d.side[i] + 2 * d.pad[i] - d.kernel[i]) / d.stride[i] + 1;
        if (d.side[i + 1] < 2) d.n = i == 0 ? 1 : i;
        if (d.side[i + 1] < 2 && i == 0) return draw(random);
    }
    return d;
}

static void write(const drawn *d, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "workload: w\nops:\n");
    for (int i = 0; i < d->n; i++)
        n += (size_t)snprintf(
            text + n, size - n,
            "  - {name: o%d, op: conv, shape: [2, %d, %d], out: 2, kernel: %d, stride: %d, pad: %d, dtype: "
            "i32, inputs: {ifm: t%d}, output: t%d}\n",
            i, (int)d->side[i], (int)d->side[i], (int)d->kernel[i], (int)d->stride[i], (int)d->pad[i], i, i + 1);
}

static void look(const drawn *d, int op, const bool *made, bool *read)
{
    for (int64_t o = 0; o < d->side[op + 1]; o++)
        for (int64_t k = 0; k < d->kernel[op] && made[o]; k++) {
            int64_t at = o * d->stride[op] - d->pad[op] + k;
            if (at >= 0 && at < d->side[op]) read[at] = true;
        }
}

/* The hull of what was seen is what the span says. */
static void compare(const bool *mark, tw_span span)
{
    int64_t lo = SIDE, hi = 0;
    for (int64_t i = 0; i < SIDE; i++)
        if (mark[i]) lo = tw_min(lo, i), hi = i + 1;
    if (hi == 0) lo = 0;
    CHECK_EQ(span.lo, lo);
    CHECK_EQ(span.hi, hi);
}

static void fill_hull(bool *mark)
{
    int64_t lo = SIDE, hi = 0;
    for (int64_t i = 0; i < SIDE; i++)
        if (mark[i]) lo = tw_min(lo, i), hi = i + 1;
    for (int64_t i = lo; i < hi; i++) mark[i] = true;
}

static void check_closed(const tw_segment *segment)
{
    const tw_span *readers;
    tw_arena *arena = tw_arena_new();
    CHECK_EQ(tw_readers_of(segment->model, arena, &readers), TW_OK);
    CHECK(tw_segment_is_closed(segment, readers));
    tw_arena_free(arena);
}

static void check(const drawn *d, uint64_t *random)
{
    char text[2000];
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    write(d, text, sizeof text);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", text, &model), TW_OK);
    const tw_segment segment = {model, 0, d->n};
    check_closed(&segment);
    const tw_op *driver = tw_segment_op(&segment, d->n - 1);
    tw_box tile = tw_box_of_op(driver), box[TW_MAX_GROUP_OPS];
    seen all = {0};
    for (int axis = 0; axis < 2; axis++) {
        int64_t side = d->side[d->n], lo = tw_test_pick(random, 0, side - 1),
                hi = tw_test_pick(random, lo + 1, side);
        for (int l = 0; l < driver->n_loops; l++)
            if (strcmp(driver->loop[l].name, axis == 0 ? "oy" : "ox") == 0) tile.span[l] = (tw_span){lo, hi};
        for (int64_t i = lo; i < hi; i++) (axis == 0 ? all.row : all.column)[d->n][i] = true;
    }
    tw_segment_boxes(&segment, &tile, box);
    for (int k = d->n - 1; k >= 0; k--) {
        look(d, k, all.row[k + 1], all.row[k]);
        look(d, k, all.column[k + 1], all.column[k]);
        tw_region region;
        int tensor = tw_segment_op(&segment, k)->operand[0].tensor;
        int64_t elems = tw_segment_region(&segment, box, tensor, &region);
        if (elems > 0) {
            compare(all.row[k], region.axis[1]);
            compare(all.column[k], region.axis[2]);
        }
        fill_hull(all.row[k]); /* a producer makes whole intervals */
        fill_hull(all.column[k]);
    }
    tw_context_free(ctx);
}

TEST(what_a_tile_needs_is_what_walking_its_points_reads)
{
    uint64_t random = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        drawn d = draw(&random);
        check(&d, &random);
    }
}

TEST(a_residual_add_reads_the_hull_of_both_ways)
{
    static const char text[] = "workload: w\nops:\n"
                               "  - {name: a, op: conv, shape: [4, 56, 56], out: 4, kernel: 3, pad: 1, dtype: i8, "
                               "out_dtype: i8, accumulator: "
                               "i32, inputs: {ifm: x}, output: ta}\n"
                               "  - {name: b, op: conv, shape: [4, 56, 56], out: 4, kernel: 3, pad: 1, dtype: i8, "
                               "out_dtype: i8, accumulator: "
                               "i32, inputs: {ifm: ta}, output: tb}\n"
                               "  - {name: c, op: add, shape: [4, 56, 56], dtype: i8, out_dtype: i8, inputs: {ifm: "
                               "tb, w: x}, output: tc}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", text, &model), TW_OK);
    const tw_segment segment = {model, 0, 3}, open = {model, 1, 2};
    check_closed(&segment);
    check_closed(&open);
    tw_box tile = tw_box_of_op(tw_segment_op(&segment, 2)), box[TW_MAX_GROUP_OPS];
    tile.span[1] = (tw_span){14, 28};
    tw_region region;
    tw_segment_boxes(&segment, &tile, box);
    tw_segment_region(&segment, box, model->op[0].operand[0].tensor, &region);
    CHECK_EQ(region.axis[1].lo, 12);
    CHECK_EQ(region.axis[1].hi, 30);
    tw_context_free(ctx);
}
