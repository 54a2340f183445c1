/* src/fuse/least_cores.h - what every plan of a model takes at least on a machine of several cores.
 *
 * Whatever runs where, three things are shared by all cores:
 *
 *   ports    what least.h says must pass into and out of memory 0 passes its ports, if all movers there do
 *   movers   and it passes some mover at memory 0, all of which together carry so much a cycle
 *   engines  the points of all operators of one kind are executed by engines that compute it. For any weights s of the engines,
 *                T * sum of s  >=  sum over operators of the least s * cycles of the operator on one of them,
 *            since an engine works for T cycles at most, and a share of an operator takes at least that share of its cycles. The weights are the speeds of the engines
 *
 * and the longest of these is a bound. Broadcasts pass a port once, and are counted once. */
#ifndef TW_FUSE_LEAST_CORES_H
#define TW_FUSE_LEAST_CORES_H
#include "machine/platform.h"
#include "model/model.h"

typedef struct tw_cores_least {
    int64_t cycles; /* 0: nothing is known */
    const char *by; /* what takes so long: a port, a mover, or an engine, the first one of several */
    int64_t units;  /* that pass into and out of memory 0; 0: not known */
} tw_cores_least;

TW_NODISCARD tw_status tw_cores_least_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch,
                                         tw_cores_least *out);
#endif
