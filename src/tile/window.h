/* src/tile/window.h - which input elements does an output tile read?
 *
 * A sliding-window operator (convolution, pooling) maps an interval of outputs to an interval of
 * inputs: the tile's reach. Where the reach leaves the tensor nothing is stored: no transfer, no
 * scratchpad, the kernel has to invent the values.
 *
 *     input                    0 [=====================) in_extent
 *     reach               [---------------)
 *                         pad_lo |  load  |              here pad_hi = 0
 *
 * One call describes one axis; a 2-D tile asks twice. The types are public: tw_window_axis and
 * tw_window in tilewright.h. */
#ifndef TW_TILE_WINDOW_H
#define TW_TILE_WINDOW_H
#include "core/core.h"

/* Accepts `ax`, or reports at `loc` what is wrong with it. tw_window_n_outputs and tw_window_of are
 * total on every axis accepted here. */
tw_status tw_window_axis_check(const tw_window_axis *ax, tw_loc loc, tw_diag *diag);
#endif
