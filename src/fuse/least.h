/* src/fuse/least.h - what every plan of a model takes at least, whatever is fused with what.
 *
 * Outputs of the graph are stored once. What is needed for them is followed backwards, axis by axis and element by element: a pooling
 * that leaves out the last row does not need it, and in a group nobody makes it. Of inputs of the graph what is needed is loaded once, and
 * every loop point that makes something needed is executed once, at the peak of its engine. Each engine is busy for what it has to do, and the
 * whole takes as long as the engine that is busy longest. Nothing in between need leave the chip, so that this is a bound for
 * layers one after the other and for groups alike. Where memories are small, engines cannot all be busy from the beginning: ahead.h.
 *
 * What is read only where its readers find padding is not needed, nor is anything that is made for it. Of a tensor with several readers, what the one that needs most of it needs is counted; of what readers see in other shapes than who makes it,
 * all of it if one of them needs all, otherwise nothing. */
#ifndef TW_FUSE_LEAST_H
#define TW_FUSE_LEAST_H
#include "machine/platform.h"
#include "model/model.h"

typedef struct tw_least {
    int64_t cycles;
    int engine; /* of the platform, that is busy so long; -1: there is no bound: operators may run on several engines, or axes
                   are too long to be walked */
    int64_t units;   /* that pass into and out of memory 0; 0: not known */
    int64_t *points; /* if the caller has room: of every operator, loop points that are executed at least */
    bool
        waits; /* `cycles` has, before what `engine` moves in the end, work that it cannot load further ahead of: ahead.h */
} tw_least;

TW_NODISCARD tw_status tw_least_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch,
                                   tw_least *out);
/* Cycles that the compute engine which is busy longest executes at least, wherever inputs are and outputs go; 0: not known. */
TW_NODISCARD tw_status tw_least_work_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch,
                                        int64_t *cycles);
/* Cycles that the compute engine of a view is busy at least with so many points of the operator, over all of its units. */
int64_t tw_least_cycles(const tw_platform_view *view, const tw_op *op, int64_t points);
/* Whether a loop walks two axes of the operand: then what is read is no product of positions. */
bool tw_operand_is_diagonal(const tw_operand *operand);
#endif
