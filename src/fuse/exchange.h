/* src/fuse/exchange.h - runs of operators whose tensors stay on the cores in parts, which exchange what windows share.
 *
 * A segment that is split over cores computes its halos again, and what several of them pass on goes through memory 0. In a *run* every operator is split over the same cores by itself, along one axis of what it
 * makes; what is between stays in parts where it is made, and each core takes what it needs of the others' parts over links:
 *
 *     core 0   conv1.part0 --h.part0--> conv2.part0 --> conv3, rows 0 .. 13
 *                                  \/ border rows
 *     core 1   conv1.part1 --h.part1--> conv2.part1 --> conv3, rows 14 .. 27
 *
 * All but the last operator of a run are divided (model/divided.h), so that the answer is of another model. Runs of the given mapping are tried from long to short, each with the other groups as they are, and decided by simulation. */
#ifndef TW_FUSE_EXCHANGE_H
#define TW_FUSE_EXCHANGE_H
#include "fuse/fuse.h"

typedef struct tw_exchanged {
    const tw_model *model; /* NULL: nothing is better than what was given */
    tw_mapping mapping;
    int64_t cycles, energy_fj, n_commands;
    int n_simulated;
} tw_exchanged;

/* `base` is a mapping of the request's model in groups, with its figures. */
TW_NODISCARD tw_status tw_exchange_find(const tw_fuse_request *asked, const tw_fused *base, const tw_work *work,
                                        tw_exchanged *out);
#endif
