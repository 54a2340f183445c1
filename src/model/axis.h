/* src/model/axis.h - the shape of a sliding-window axis: is it sound, how many outputs has it?
 *
 * The type is public (tw_window_axis), and so is tw_window_n_outputs. What a tile of those outputs reads is
 * tile/window.c's business. */
#ifndef TW_MODEL_AXIS_H
#define TW_MODEL_AXIS_H
#include "core/core.h"

/* Accepts `ax`, or reports at `loc` what is wrong with it. tw_window_n_outputs and tw_window_of are
 * total on every axis accepted here. */
TW_NODISCARD tw_status tw_window_axis_check(const tw_window_axis *ax, tw_loc loc, tw_diag *diag);
/* Input elements from the first tap of one output to its last, both included. */
int64_t tw_window_reach(const tw_window_axis *ax);
#endif
