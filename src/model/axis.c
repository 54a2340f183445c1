/* src/model/axis.c - see axis.h.
 *
 * Overflow: the check bounds every field by 2^31 - 1, so kernel * dilation and extent * stride fit;
 * on an accepted axis every position lies within a few times 2^62. */
#include "model/axis.h"

int64_t tw_window_reach(const tw_window_axis *ax) { return (ax->kernel - 1) * ax->dilation + 1; }

static int64_t transposed_outputs(const tw_window_axis *ax)
{
    return (ax->in_extent - 1) * ax->stride - ax->pad_lo - ax->pad_hi + tw_window_reach(ax) + ax->out_pad;
}

static tw_status check_ranges(const tw_window_axis *ax, tw_loc loc, tw_diag *diag)
{
    const struct {
        const char *name;
        int64_t value, min;
    } field[] = {
        {"in_extent", ax->in_extent, 1}, {"kernel", ax->kernel, 1}, {"stride", ax->stride, 1},
        {"dilation", ax->dilation, 1},   {"pad_lo", ax->pad_lo, 0}, {"pad_hi", ax->pad_hi, 0},
        {"out_pad", ax->out_pad, 0},
    };
    for (size_t i = 0; i < TW_COUNT(field); i++)
        if (field[i].value < field[i].min || field[i].value > TW_EXTENT_MAX)
            return tw_diag_error(diag, loc, "'%s' is %" PRId64 ", outside %" PRId64 "..%" PRId64, field[i].name,
                                 field[i].value, field[i].min, TW_EXTENT_MAX);
    return TW_OK;
}

tw_status tw_window_axis_check(const tw_window_axis *ax, tw_loc loc, tw_diag *diag)
{
    TW_TRY(check_ranges(ax, loc, diag));
    if (ax->transposed && ax->ceil_mode) return tw_diag_error(diag, loc, "a transposed axis has no ceil mode");
    if (!ax->transposed && ax->out_pad != 0)
        return tw_diag_error(diag, loc, "'out_pad' is %" PRId64 ", but the axis is not transposed", ax->out_pad);
    if (ax->transposed && transposed_outputs(ax) < 1)
        return tw_diag_error(diag, loc, "pads of %" PRId64 " and %" PRId64 " crop all outputs", ax->pad_lo,
                             ax->pad_hi);
    int64_t padded = ax->pad_lo + ax->in_extent + ax->pad_hi;
    if (!ax->transposed && tw_window_reach(ax) > padded)
        return tw_diag_error(diag, loc, "kernel reaches %" PRId64 " elements, padded input has %" PRId64,
                             tw_window_reach(ax), padded);
    if (tw_window_n_outputs(ax) > TW_EXTENT_MAX)
        return tw_diag_error(diag, loc, "axis has %" PRId64 " outputs, more than %" PRId64, tw_window_n_outputs(ax),
                             TW_EXTENT_MAX);
    return TW_OK;
}

int64_t tw_window_n_outputs(const tw_window_axis *ax)
{
    if (ax->transposed) return transposed_outputs(ax);
    int64_t slack = ax->pad_lo + ax->in_extent + ax->pad_hi - tw_window_reach(ax);
    if (!ax->ceil_mode) return slack / ax->stride + 1;
    int64_t n = tw_cdiv(slack, ax->stride) + 1;
    /* A window that would begin in the high padding is dropped. */
    return (n - 1) * ax->stride >= ax->in_extent + ax->pad_lo ? n - 1 : n;
}
