/* src/tile/window.c - which input elements does an output tile read?
 *
 * A sliding-window operator (convolution, pooling) maps an interval of outputs to an interval of
 * inputs: the tile's reach. Where the reach leaves the tensor nothing is stored: no transfer, no
 * scratchpad, the kernel has to invent the values.
 *
 *     input                    0 [=====================) in_extent
 *     reach               [---------------)
 *                         pad_lo |  load  |              here pad_hi = 0
 *
 * Padding comes from clipping the reach, not from asking "is this the first tile?": with 5 taps and
 * one-row tiles the second tile still needs row -1.
 *
 * A transposed axis runs the other way: input i reaches the outputs [i*stride - pad_lo, .. + reach), and a
 * tile needs every input that reaches one of its outputs. What those inputs produce beyond the tile is
 * cropped; a negative crop counts outputs at the tile's edge that no input reaches. Of a tile that no input
 * reaches the crops are those of the empty stretch of inputs where it would begin.
 *
 * One call describes one axis; a 2-D tile asks twice. */
#include "model/axis.h"

static tw_window transposed_window(const tw_window_axis *ax, tw_span out)
{
    int64_t reach = tw_window_reach(ax);
    int64_t lo = tw_max(0, tw_cdiv(out.lo + ax->pad_lo - reach + 1, ax->stride));
    int64_t hi = tw_min(ax->in_extent, tw_fdiv(out.hi - 1 + ax->pad_lo, ax->stride) + 1);
    bool any = hi > lo;
    hi = tw_max(lo, hi);
    return (tw_window){
        .in_lo = lo,
        .in_hi = hi,
        .crop_lo = out.lo - (lo * ax->stride - ax->pad_lo),
        .crop_hi = (hi - 1) * ax->stride - ax->pad_lo + reach - out.hi,
        .all_pad = !any,
        .pad_within_half = any,
    };
}

tw_window tw_window_of(const tw_window_axis *ax, int64_t out_lo, int64_t out_hi)
{
    assert(0 <= out_lo && out_lo < out_hi && out_hi <= tw_window_n_outputs(ax));
    if (ax->transposed) return transposed_window(ax, (tw_span){out_lo, out_hi});
    int64_t lo = out_lo * ax->stride - ax->pad_lo;
    int64_t hi = (out_hi - 1) * ax->stride - ax->pad_lo + tw_window_reach(ax);
    tw_span in = tw_span_clip((tw_span){lo, hi}, 0, ax->in_extent);
    tw_window w = {.in_lo = in.lo, .in_hi = in.hi, .all_pad = in.hi <= in.lo};
    if (w.all_pad) return w;
    w.pad_lo = tw_max(0, 0 - lo);
    w.pad_hi = tw_max(0, hi - ax->in_extent);
    w.pad_within_half = w.pad_lo <= ax->kernel / 2 && w.pad_hi <= ax->kernel / 2;
    return w;
}
