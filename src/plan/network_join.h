/* src/plan/network_join.h - steps of a network as programs: groups of operators on one timeline, where that is better than one by one.
 *
 *     conv relu conv add | NonZero | conv conv pool       a stretch, a step of the host, a stretch
 *
 * A *stretch* is as many steps, one behind the other, as can be one program: described operators that have a plan, and that read no rows
 * by an index. Its model has each operator twice, over the same tensors: as the layer was planned, with loops that suit the machine, and
 * with the axes that its tensors have, which operators of a group have to share (model/unmerge.h). Operators that see a tensor
 * in different shapes hand it on through the outermost memory. */
#ifndef TW_PLAN_NETWORK_JOIN_H
#define TW_PLAN_NETWORK_JOIN_H
#include "plan/network.h"

/* Steps [first, first + n) as one program. */
typedef struct tw_stretch {
    int first, n;
    tw_model model;      /* for groups of several operators                             */
    const tw_op *alone;  /* the same operators as their layers were planned             */
    const int *graph_of; /* per tensor: one of the graph that has its bytes, or more    */
} tw_stretch;
/* Steps from `first` on that can be one program, without its model; n is 0 if there are none. `plan` has the network and the machine; where its layers are
 * planned, their steps need a plan. */
TW_NODISCARD tw_status tw_stretch_from(const tw_network_plan *plan, int first, const tw_work *work,
                                       tw_stretch *out);
/* Makes the model of the stretch's steps, called as the network labels them. */
TW_NODISCARD tw_status tw_stretch_build(const tw_network *net, const tw_work *work, tw_stretch *s);
/* Finds the parts of the plan, whose layers are planned; unless groups are asked for, and in networks of more than
 * TW_JOIN_MAX_STEPS steps, all steps are done by their layers. */
enum { TW_JOIN_MAX_STEPS = 1 << 14 };
TW_NODISCARD tw_status tw_network_join(const tw_network_plan *plan, const tw_search_options *options,
                                       const tw_work *work, tw_network_plan *out);
/* The same for programs that are given. */
struct tw_network_mapping;
TW_NODISCARD tw_status tw_network_join_given(const tw_network_plan *plan, const struct tw_network_mapping *given,
                                             const tw_work *work, tw_network_plan *out);
#endif
