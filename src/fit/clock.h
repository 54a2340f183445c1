/* src/fit/clock.h - how long many mappings take on one machine, measured by threads.
 *
 * Each sample is a simulation of its own. A thread takes the next sample that nobody has, and puts its cycles where
 * they belong: the answer does not depend on how many threads there are. */
#ifndef TW_FIT_CLOCK_H
#define TW_FIT_CLOCK_H
#include "core/deadline.h"
#include "machine/machine.h"
#include "mapping/mapping.h"

typedef struct tw_fit_sample {
    const tw_model *model;
    const tw_mapping *mapping;
    int64_t measured; /* cycles                                */
    double weight;    /* of its error, relative to the others' */
} tw_fit_sample;

/* Cycles of a mapping, TW_INFEASIBLE when it does not fit: what later stages know. Both arenas are the caller's, who
 * rewinds them. */
typedef tw_status (*tw_time_fn)(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                                const tw_work *work, int64_t *cycles);

typedef struct tw_clock tw_clock;
/* NULL when out of memory. Runs end with TW_STOPPED when the deadline, which may be NULL, is over. */
tw_clock *tw_clock_new(int n_threads, tw_time_fn time, const tw_deadline *deadline);
void tw_clock_free(tw_clock *clock);
/* From now on runs come to their end: a few that time was kept for. */
void tw_clock_go_on(tw_clock *clock);
/* cycles[i] of sample pick[i], 0: does not fit; `pick` NULL: of sample i. A status other than these two is that of
 * the first sample that has one. */
TW_NODISCARD tw_status tw_clock_run(tw_clock *clock, const tw_machine *machine, const tw_fit_sample *sample,
                                    const int *pick, int n, int64_t *cycles);
#endif
