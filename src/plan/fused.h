/* src/plan/fused.h - a plan layer by layer, or the same model as groups on one timeline: whichever is better by the objectives. */
#ifndef TW_PLAN_FUSED_H
#define TW_PLAN_FUSED_H
#include "fuse/fuse.h"
#include "plan/plan.h"

/* Whether groups are looked for at all: of several operators, by an objective that groups can be compared by, and without limits of a
 * partial mapping that are about operators one by one. */
bool tw_fused_is_asked(const tw_request *asked);
/* The same for any number of operators. */
bool tw_fused_suits(const tw_request *asked);
/* Groups are given, at `loc`: whether the options and the machine are such that they are looked for. */
TW_NODISCARD tw_status tw_fused_check(const tw_search_options *options, const tw_machine *machine, tw_loc loc,
                                      tw_diag *diag);

/* By which times and energies are compared: those of the plan layer by layer (NULL: there is none). */
typedef struct tw_fused_scale {
    tw_measure measure;
    double cycles, energy_fj;
    double within; /* how far time may be above its least for the sake of energy (`latency+1%,energy`) */
    double weight; /* of the energy of all layers, as a share of their time; 0: energy decides among equals alone */
} tw_fused_scale;
tw_fused_scale tw_fused_scale_of(const tw_request *asked, const tw_summary *apart);
double tw_fused_price(const void *scale, double cycles, double energy_fj);
/* What counts in the end: the first objective itself, then the time, then the energy. Groups that are faster than layers, but within the tolerance, have to take less energy than they do. */
bool tw_fused_is_better(const tw_fused_scale *s, const tw_fused *fused, const tw_summary *apart);
/* `apart` is the plan of the same request, of operators that look like `alone` (fuse.h) or, if that is NULL, as in the model; *out is the
 * better one or, where limits give groups, the one in groups. Of `apart` the mapping and the sums are read alone; NULL: there is none. */
TW_NODISCARD tw_status tw_fused_find(const tw_request *asked, const tw_plan *apart, const tw_op *alone,
                                     const tw_work *work, const tw_plan **out);
/* Writes what no plan of the model on the machine can be below, if that is known. */
TW_NODISCARD tw_status tw_fused_bound(const tw_request *asked, tw_arena *scratch, tw_joint_search *search);
#endif
