/* src/plan/fused.h - a plan layer by layer, or the same model as groups on one timeline: whichever is better by the objectives. */
#ifndef TW_PLAN_FUSED_H
#define TW_PLAN_FUSED_H
#include "fuse/fuse.h"
#include "plan/plan.h"

/* Whether groups are looked for at all: of several operators, by an objective that groups can be compared by, and without limits of a
 * partial mapping, which are about operators one by one. */
bool tw_fused_is_asked(const tw_request *asked);
/* The same for any number of operators. */
bool tw_fused_suits(const tw_request *asked);

/* By which times and energies are compared: those of the plan layer by layer (NULL: there is none). */
typedef struct tw_fused_scale {
    tw_measure measure;
    double cycles, energy_fj;
} tw_fused_scale;
tw_fused_scale tw_fused_scale_of(const tw_request *asked, const tw_summary *apart);
double tw_fused_price(const void *scale, double cycles, double energy_fj);
/* What counts in the end: the first objective itself, then the time, then the energy. */
bool tw_fused_is_better(const tw_fused_scale *s, const tw_fused *fused, const tw_summary *apart);
/* `apart` is the plan of the same request; *out is the better one. */
TW_NODISCARD tw_status tw_fused_find(const tw_request *asked, const tw_plan *apart, const tw_work *work,
                                     const tw_plan **out);
#endif
