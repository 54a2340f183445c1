/* test/tile/test_box.c - footprints against enumeration and against isl. */
#include "tile/box.h"
#include "tw_test.h"

#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/val.h>
#include <stdio.h>
#include <string.h>

static tw_axis random_axis(uint64_t *rng, int n_loops)
{
    tw_axis axis = {
        .extent = tw_test_pick(rng, 1, 12), .offset = tw_test_pick(rng, -6, 6), .divisor = tw_test_pick(rng, 1, 3)};
    axis.floors = axis.divisor > 1 && tw_test_pick(rng, 0, 1);
    axis.n_terms = (int)tw_test_pick(rng, 1, n_loops);
    for (int t = 0; t < axis.n_terms; t++) {
        int64_t coef = tw_test_pick(rng, -3, 3);
        axis.term[t] = (tw_term){t, coef == 0 ? 1 : coef};
    }
    return axis;
}

static tw_box random_box(uint64_t *rng, int n_loops)
{
    tw_box box = {0};
    for (int l = 0; l < n_loops; l++) {
        int64_t lo = tw_test_pick(rng, 0, 5);
        box.span[l] = (tw_span){lo, lo + tw_test_pick(rng, 1, 5)};
    }
    return box;
}

/* First and last position inside the tensor that some point of the box reaches, and how many points did. */
static int64_t enumerate(const tw_axis *axis, const tw_box *box, int term, int64_t sum, tw_span *hull)
{
    if (term == axis->n_terms) {
        while (axis->floors && sum % axis->divisor != 0) sum--;
        if (sum % axis->divisor != 0) return 0;
        int64_t at = sum / axis->divisor;
        if (at < 0 || at >= axis->extent) return 0;
        hull->lo = tw_min(hull->lo, at);
        hull->hi = tw_max(hull->hi, at + 1);
        return 1;
    }
    int64_t n = 0;
    tw_span s = box->span[axis->term[term].loop];
    for (int64_t i = s.lo; i < s.hi; i++)
        n += enumerate(axis, box, term + 1, sum + axis->term[term].coef * i, hull);
    return n;
}

TEST(a_footprint_holds_everything_that_is_read_and_nothing_beyond_its_hull)
{
    uint64_t rng = tw_test_seed();
    int exact = 0;
    for (int i = 0; i < 100000; i++) {
        tw_operand operand = {.n_axes = 1, .axis = {random_axis(&rng, 3)}};
        tw_box box = random_box(&rng, 3);
        tw_region region;
        tw_span hull = {INT64_MAX, INT64_MIN};
        int64_t reads = enumerate(&operand.axis[0], &box, 0, operand.axis[0].offset, &hull);
        int64_t elems = tw_region_of(&operand, &box, &region);
        if (reads == 0) continue; /* the hull may still hold positions that the division skips */
        CHECK(region.axis[0].lo <= hull.lo && hull.hi <= region.axis[0].hi);
        CHECK_EQ(elems, tw_span_len(region.axis[0]));
        exact += elems == tw_span_len(hull);
        /* With a unit step somewhere and no division the positions are dense and the hull is exact. */
        bool unit = operand.axis[0].divisor == 1;
        for (int t = 0; t < operand.axis[0].n_terms && unit; t++)
            if (operand.axis[0].term[t].coef != 1 && operand.axis[0].term[t].coef != -1) unit = false;
        if (unit) CHECK_EQ(elems, tw_span_len(hull));
    }
    print_message("%d of 100000 hulls are tight\n", exact);
}

TEST(convolution_windows_agree_with_isl)
{
    uint64_t rng = tw_test_seed();
    isl_ctx *ctx = isl_ctx_alloc();
    for (int i = 0; i < 300; i++) {
        int64_t s = tw_test_pick(&rng, 1, 3), d = tw_test_pick(&rng, 1, 3), k = tw_test_pick(&rng, 1, 5);
        int64_t pad = tw_test_pick(&rng, 0, 4), extent = tw_test_pick(&rng, 1, 40);
        int64_t lo = tw_test_pick(&rng, 0, 8), hi = lo + tw_test_pick(&rng, 1, 8);
        tw_operand operand = {
            .n_axes = 1,
            .axis = {{.extent = extent, .offset = -pad, .divisor = 1, .n_terms = 2, .term = {{0, s}, {1, d}}}}};
        tw_box box = {.span = {{lo, hi}, {0, k}}};
        char text[256];
        snprintf(text, sizeof text,
                 "{ [p] : exists (o, k : p = %d*o + %d*k - %d and %d <= o < %d and 0 <= k < %d and 0 <= p < %d) }",
                 (int)s, (int)d, (int)pad, (int)lo, (int)hi, (int)k, (int)extent);
        isl_set *read = isl_set_read_from_str(ctx, text);
        CHECK(read != NULL);
        tw_region region;
        int64_t elems = tw_region_of(&operand, &box, &region);
        if (!isl_set_is_empty(read)) {
            isl_val *min = isl_set_dim_min_val(isl_set_copy(read), 0),
                    *max = isl_set_dim_max_val(isl_set_copy(read), 0);
            tw_span hull = {isl_val_get_num_si(min), isl_val_get_num_si(max) + 1};
            isl_val_free(min);
            isl_val_free(max);
            /* Clipping may cut between two taps of a dilated kernel: then the hull is one gap wider. */
            CHECK(region.axis[0].lo <= hull.lo && hull.hi <= region.axis[0].hi);
            if (d == 1 && s <= k) CHECK_EQ(elems, tw_span_len(hull));
        }
        isl_set_free(read);
    }
    isl_ctx_free(ctx);
}

TEST(boxes_with_equal_keys_have_equal_footprints_piece_by_piece)
{
    uint64_t rng = tw_test_seed();
    int64_t compared = 0;
    for (int i = 0; i < 200000; i++) {
        tw_op op = {.n_loops = 2, .n_operands = 2};
        op.loop[0].extent = op.loop[1].extent = 12;
        op.operand[0] = (tw_operand){.n_axes = 1, .axis = {random_axis(&rng, 2)}};
        op.operand[1] =
            (tw_operand){.n_axes = 1, .axis = {{.extent = 12, .divisor = 1, .n_terms = 1, .term = {{0, 1}}}}};
        tw_box a = random_box(&rng, 2), b = random_box(&rng, 2);
        int64_t key_a[TW_BOX_KEY_MAX], key_b[TW_BOX_KEY_MAX];
        int n = tw_box_key(&op, &a, 1, key_a);
        CHECK_EQ(tw_box_key(&op, &b, 1, key_b), n);
        if (memcmp(key_a, key_b, (size_t)n * sizeof *key_a) != 0) continue;
        compared++;
        for (int64_t cut = 1; cut <= tw_span_len(a.span[0]); cut++) {
            tw_box pa = a, pb = b;
            tw_region region;
            pa.span[0].hi = a.span[0].lo + cut;
            pb.span[0].hi = b.span[0].lo + cut;
            CHECK_EQ(tw_region_of(&op.operand[0], &pa, &region), tw_region_of(&op.operand[0], &pb, &region));
        }
    }
    CHECK(compared > 1000);
}
