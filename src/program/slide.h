/* src/program/slide.h - a window that slides: only its new rows come.
 *
 * Tiles of an input overlap where a convolution's kernel reaches over more than one stride. In a memory that says `slide`, the
 * rows that two windows share stay, and a transfer brings box(t) minus box(t-1), which is again a box, since one axis moves:
 *
 *     rows       0  1  2  3  4  5  6  7              window of 4 rows, 2 new ones per step
 *     window 0  [===========)                        loads 0..3
 *     window 1        [=====|=====)                  loads 4, 5
 *     window 2              [=====|=====)            loads 6, 7
 *
 * The buffer is circular along that axis: rows are numbered as they come, and lie at their number modulo its rows. A *sweep* is one run of the loop along which the window
 * slides, all loops outside of it standing still. The credits of the pool are windows: one is taken by the transfer that brings the window's new
 * rows and given back by its last reader, in the order of the windows. With n credits the buffer has
 *
 *     rows of the largest window + (n - 1) x rows by which the largest tile moves it on
 *
 * which holds any n windows of a sweep that follow each other; so whoever has a credit has room. A sweep begins with a whole window, which takes more rows:
 * it also waits for the windows that have rows where its own come. A window without new rows moves nothing, and goes on
 * with the credit of the one before. */
#ifndef TW_PROGRAM_SLIDE_H
#define TW_PROGRAM_SLIDE_H
#include "program/program.h"

/* Settles which holds of the flow slide, `largest[t][l]` being the longest tile of loop l at level t, or refuses those that cannot. */
TW_NODISCARD tw_status tw_slide_settle(const tw_program *program, int64_t largest[TW_MAX_MEMORIES][TW_MAX_LOOPS],
                                       tw_flow *flow, tw_diag *diag);
/* The rows inside the tensor of the window that a tile of the sweep needs: along the axis of `slide`, `box` being a tile of this
 * sweep and `tile` what another one has of the loop. */
tw_span tw_slide_window(const tw_operand *operand, const tw_sliding *slide, const tw_box *box, tw_span tile);
/* What of a window is new after the one before it: never more than the window. */
tw_span tw_slide_new_rows(tw_span window, tw_span before);
#endif
