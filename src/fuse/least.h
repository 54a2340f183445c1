/* src/fuse/least.h - what every plan of a model takes at least, whatever is fused with what.
 *
 * Each input of the graph is loaded once and each output stored once; every loop point is executed once, at the peak of its engine. Each
 * engine is busy for what it has to do, and the whole takes as long as the engine that is busy longest. Nothing in between need
 * leave the chip, so that this is a bound for layers one after the other and for groups alike. */
#ifndef TW_FUSE_LEAST_H
#define TW_FUSE_LEAST_H
#include "machine/platform.h"
#include "model/model.h"

typedef struct tw_least {
    int64_t cycles;
    int engine; /* of the platform, that is busy so long; -1: there is no bound, since operators may run on several engines */
} tw_least;

TW_NODISCARD tw_status tw_least_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch, tw_least *out);
#endif
