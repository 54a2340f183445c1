/* src/sim/live.h - how much of a memory is alive in each row, and the most there ever is.
 *
 * A value is alive from the row that writes it to the row of its last read. The last read of an input
 * tile is known only when its slot is overwritten, which may be millions of rows later; rows close
 * long before that. Between the last read seen so far and the present the value is *in doubt*.
 *
 *     row        0    1    2    3    4    5    6 ..
 *     ifm0       w    r    .    .    .    .        in doubt since row 2
 *     w0         w    r    r    r    .    .        in doubt since row 4
 *     segments  [         ][        ][        ]    one maximum each, of what is certainly alive
 *
 * Rows in doubt about the same values form a segment, of which only the maximum is kept. When a
 * value in doubt is read again it was alive all along: its size is added to every segment since its
 * doubt began. When it is overwritten it had died: nothing is added. Either way its boundary goes and
 * two segments merge. There are never more segments than slots in doubt, plus one, whatever the
 * length of the program, and the peak is exact. */
#ifndef TW_SIM_LIVE_H
#define TW_SIM_LIVE_H
#include "core/core.h"

typedef struct tw_live_segment {
    int64_t from; /* first row                                     */
    int64_t peak; /* most that is certainly alive in one of its rows */
} tw_live_segment;

typedef struct tw_live {
    int64_t alive;    /* everything written and not known to be dead, as of the last closed row */
    int64_t in_doubt; /* the part of it that is in doubt                                        */
    int n_segments;
    tw_live_segment *segment; /* oldest first                                                    */
} tw_live;

/* Room for `n_slots` values in doubt. */
TW_NODISCARD tw_status tw_live_init(tw_live *live, int n_slots, tw_arena *arena);
/* A value of `size` is in doubt from `row` on, which is the next row to close. */
void tw_live_doubt(tw_live *live, int64_t row, int64_t size);
/* The doubt that began at `row` is over. `was_alive`: it was read again; `shared`: other values are in doubt
 * since the same row. */
void tw_live_settle(tw_live *live, int64_t row, int64_t size, bool was_alive, bool shared);
/* Closes a row, in which `change` comes to life less what died before it; returns what is certainly alive. */
int64_t tw_live_close(tw_live *live, int64_t row, int64_t change);
/* The most that was ever alive, all values in doubt being dead. */
int64_t tw_live_peak(const tw_live *live);
#endif
