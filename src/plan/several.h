/* src/plan/several.h - the plan of a model on several cores, or behind ports: groups that are moved and split; fuse/cores.h finds them. */
#ifndef TW_PLAN_SEVERAL_H
#define TW_PLAN_SEVERAL_H
#include "plan/plan.h"

/* Whether groups on several cores are looked for; and whether nothing else can be planned on the machine. */
bool tw_several_is_asked(const tw_request *asked);
bool tw_several_is_needed(const tw_request *asked);
/* The best plan of groups if it is better than `apart`, the plan layer by layer (NULL: there is none); else that. TW_INFEASIBLE, without a
 * word, when there is neither. */
TW_NODISCARD tw_status tw_several_find(const tw_request *asked, const tw_plan *apart, const tw_work *work,
                                       const tw_plan **out);
/* A plan that is worth the time only if it is better than `given`, the plan of a model that computes the same: small spaces are walked for what is better than that alone, for a short while, and in
 * one order. What is found may be worse; what is much worse is not handed out. */
TW_NODISCARD tw_status tw_several_beat(const tw_request *asked, const tw_plan *given, const tw_work *work,
                                       const tw_plan **out);
/* Writes what no plan of the model on such a machine can be below, if that is known. */
TW_NODISCARD tw_status tw_several_bound(const tw_request *asked, tw_arena *scratch, tw_joint_search *search);
#endif
