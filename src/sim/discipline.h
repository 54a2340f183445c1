/* src/sim/discipline.h - the clocks that timeline.c chooses from. */
#ifndef TW_SIM_DISCIPLINE_H
#define TW_SIM_DISCIPLINE_H
#include "sim/timeline.h"

typedef struct tw_sim_request { /* what a simulation is asked for beside its totals */
    const tw_row_sink *sink;    /* who sees its rows; NULL: nobody watches          */
    tw_meter *meter;            /* may end it early                                 */
    bool brief;                 /* nobody asks for critical paths and peaks         */
} tw_sim_request;

typedef struct tw_clock {
    tw_status (*run)(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch, tw_diag *diag,
                     tw_timeline *out);
    bool runs_ahead; /* see tw_timeline_runs_ahead */
} tw_clock;

TW_NODISCARD tw_status tw_lockstep_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch,
                                       tw_diag *diag, tw_timeline *out);
TW_NODISCARD tw_status tw_async_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch,
                                    tw_diag *diag, tw_timeline *out);
#endif
