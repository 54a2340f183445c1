/* src/sim/discipline.h - the clocks that timeline.c chooses from; `sink` is NULL when nobody watches. `brief`: nobody asks
 * for critical paths and for peaks either. */
#ifndef TW_SIM_DISCIPLINE_H
#define TW_SIM_DISCIPLINE_H
#include "sim/timeline.h"

typedef struct tw_clock {
    tw_status (*run)(const tw_program *program, const tw_row_sink *sink, tw_meter *meter, bool brief,
                     tw_arena *scratch, tw_diag *diag, tw_timeline *out);
    bool runs_ahead; /* see tw_timeline_runs_ahead */
} tw_clock;

TW_NODISCARD tw_status tw_lockstep_run(const tw_program *program, const tw_row_sink *sink, tw_meter *meter,
                                       bool brief, tw_arena *scratch, tw_diag *diag, tw_timeline *out);
TW_NODISCARD tw_status tw_async_run(const tw_program *program, const tw_row_sink *sink, tw_meter *meter, bool brief,
                                    tw_arena *scratch, tw_diag *diag, tw_timeline *out);
#endif
