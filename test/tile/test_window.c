/* test/tile/test_window.c - windows against an oracle that visits every tap of every output. */
#include "model/axis.h"
#include "tw_test.h"

TEST(a_kernel_wider_than_its_input_is_reported_where_it_was_written)
{
    tw_window_axis ax = {.in_extent = 3, .kernel = 5, .stride = 1, .dilation = 1};
    tw_diag diag = {0};
    CHECK_EQ(tw_window_axis_check(&ax, (tw_loc){"net.yaml", 7, 12}, &diag), TW_ERR_INPUT);
    CHECK_STR(diag.last, "net.yaml:7:12: error: kernel reaches 5 elements, padded input has 3");
    tw_diag_release(&diag);
}

TEST(every_field_out_of_range_is_named)
{
    const tw_window_axis good = {.in_extent = 8, .kernel = 3, .stride = 1, .dilation = 1};
    const struct {
        tw_window_axis ax;
        const char *text;
    } bad[] = {
        {{.in_extent = 0, .kernel = 3, .stride = 1, .dilation = 1},
         "error: 'in_extent' is 0, outside 1..2147483647"},
        {{.in_extent = 8, .kernel = 0, .stride = 1, .dilation = 1}, "error: 'kernel' is 0, outside 1..2147483647"},
        {{.in_extent = 8, .kernel = 3, .stride = 0, .dilation = 1}, "error: 'stride' is 0, outside 1..2147483647"},
        {{.in_extent = 8, .kernel = 3, .stride = 1, .dilation = -1},
         "error: 'dilation' is -1, outside 1..2147483647"},
        {{.in_extent = 8, .kernel = 3, .stride = 1, .dilation = 1, .pad_lo = -1},
         "error: 'pad_lo' is -1, outside 0..2147483647"},
        {{.in_extent = 8, .kernel = 3, .stride = 1, .dilation = 1, .out_pad = 1},
         "error: 'out_pad' is 1, but the axis is not transposed"},
        {{.in_extent = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_lo = 1, .transposed = true},
         "error: pads of 1 and 0 crop all outputs"},
    };
    tw_diag diag = {0};
    CHECK_EQ(tw_window_axis_check(&good, (tw_loc){0}, &diag), TW_OK);
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        CHECK_EQ(tw_window_axis_check(&bad[i].ax, (tw_loc){0}, &diag), TW_ERR_INPUT);
        CHECK_STR(diag.last, bad[i].text);
    }
    tw_diag_release(&diag);
}

/* Oracle: visit every tap of every output and sort the positions into before / inside / after. */
static void check_by_enumeration(const tw_window_axis *ax, tw_span out)
{
    int64_t first = INT64_MAX, last = INT64_MIN, before = 0, inside = 0, after = 0;
    for (int64_t o = out.lo; o < out.hi; o++)
        for (int64_t k = 0; k < ax->kernel; k++) {
            int64_t at = o * ax->stride + k * ax->dilation - ax->pad_lo;
            first = at < first ? at : first;
            last = at > last ? at : last;
        }
    for (int64_t at = first; at <= last; at++)
        if (at < 0)
            before++;
        else if (at < ax->in_extent)
            inside++;
        else
            after++;
    tw_window w = tw_window_of(ax, out.lo, out.hi);
    CHECK_EQ(w.all_pad, inside == 0);
    CHECK_EQ(w.in_hi - w.in_lo, inside);
    if (inside == 0) return;
    CHECK_EQ(w.pad_lo, before);
    CHECK_EQ(w.pad_hi, after);
    CHECK_EQ(w.in_lo - w.pad_lo, first);
    CHECK_EQ(w.pad_within_half, before <= ax->kernel / 2 && after <= ax->kernel / 2);
}

/* Oracle: place windows one by one while they lie inside the padded input. Ceil mode adds one that sticks out
 * when the last does not end flush, and then drops the last if it starts in the high padding. */
static int64_t outputs_by_enumeration(const tw_window_axis *ax)
{
    int64_t padded = ax->pad_lo + ax->in_extent + ax->pad_hi, reach = (ax->kernel - 1) * ax->dilation + 1, n = 0;
    while (n * ax->stride + reach <= padded) n++;
    if (ax->ceil_mode && (n - 1) * ax->stride + reach < padded) n++;
    if (ax->ceil_mode && (n - 1) * ax->stride >= ax->in_extent + ax->pad_lo) n--;
    return n;
}

/* Oracle for a transposed axis: spread every input over the outputs it reaches. */
static void check_transposed(const tw_window_axis *ax, tw_span out)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN, first = INT64_MAX, last = INT64_MIN,
            reach = (ax->kernel - 1) * ax->dilation + 1;
    for (int64_t i = 0; i < ax->in_extent; i++) {
        int64_t from = i * ax->stride - ax->pad_lo, to = from + reach; /* outputs [from, to) lie in its hull */
        if (to <= out.lo || from >= out.hi) continue;
        lo = i < lo ? i : lo;
        hi = i + 1 > hi ? i + 1 : hi;
        first = from < first ? from : first;
        last = to > last ? to : last;
    }
    tw_window w = tw_window_of(ax, out.lo, out.hi);
    CHECK_EQ(w.all_pad, hi < lo);
    if (hi <
        lo) { /* an empty stretch of inputs: behind those that reach less far, before those that reach further */
        CHECK_EQ(w.in_lo, w.in_hi);
        CHECK_EQ(w.crop_lo, out.lo - (w.in_lo * ax->stride - ax->pad_lo));
        CHECK_EQ(w.crop_hi, (w.in_lo - 1) * ax->stride - ax->pad_lo + reach - out.hi);
        return;
    }
    CHECK_EQ(w.in_lo, lo);
    CHECK_EQ(w.in_hi, hi);
    CHECK_EQ(w.crop_lo, out.lo - first);
    CHECK_EQ(w.crop_hi, last - out.hi);
}

TEST(every_tile_of_every_kind_of_axis)
{
    static const tw_window_axis kind[] = {
        {8, 3, 1, 1, 1, 1, false, false, 0},
        /* "same"            */ {6, 5, 1, 1, 2, 2, false, false, 0}, /* pad deeper than a tile */
        {9, 3, 2, 1, 0, 1, false, false, 0},
        /* lopsided          */ {9, 3, 1, 3, 3, 3, false, false, 0}, /* dilated                */
        {9, 1, 3, 1, 0, 0, false, false, 0},
        /* skips elements    */ {2, 3, 1, 1, 4, 4, false, false, 0}, /* tiles of pure padding  */
        {12, 3, 2, 1, 0, 0, true, false, 0},
        /* ceil              */ {7, 2, 3, 1, 1, 2, true, false, 0},
    };
    for (size_t i = 0; i < TW_COUNT(kind); i++)
        for (int64_t lo = 0; lo < tw_window_n_outputs(&kind[i]); lo++)
            for (int64_t hi = lo + 1; hi <= tw_window_n_outputs(&kind[i]); hi++)
                check_by_enumeration(&kind[i], (tw_span){lo, hi});
}

TEST(two_hundred_thousand_random_axes_agree_with_enumeration)
{
    uint64_t rng = tw_test_seed();
    int64_t accepted = 0;
    tw_diag diag = {.muted = true};
    while (accepted < 200000) {
        bool transposed = tw_test_pick(&rng, 0, 3) == 0;
        tw_window_axis ax = {.in_extent = tw_test_pick(&rng, 1, 20),
                             .kernel = tw_test_pick(&rng, 1, 7),
                             .stride = tw_test_pick(&rng, 1, 4),
                             .dilation = tw_test_pick(&rng, 1, 3),
                             .pad_lo = tw_test_pick(&rng, 0, 6),
                             .pad_hi = tw_test_pick(&rng, 0, 6),
                             .ceil_mode = !transposed && tw_test_pick(&rng, 0, 1),
                             .transposed = transposed,
                             .out_pad = transposed ? tw_test_pick(&rng, 0, 2) : 0};
        if (tw_window_axis_check(&ax, (tw_loc){0}, &diag) != TW_OK) continue;
        accepted++;
        int64_t n = tw_window_n_outputs(&ax);
        if (!transposed) CHECK_EQ(n, outputs_by_enumeration(&ax));
        int64_t lo = tw_test_pick(&rng, 0, n - 1), hi = tw_test_pick(&rng, lo + 1, n);
        if (transposed)
            check_transposed(&ax, (tw_span){lo, hi});
        else
            check_by_enumeration(&ax, (tw_span){lo, hi});
    }
    print_message("%" PRId64 " axes\n", accepted);
}
