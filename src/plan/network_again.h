/* src/plan/network_again.h - stretches of a network that are equal but for the names of their steps and tensors: one of them is planned, the others run the same groups. */
#ifndef TW_PLAN_NETWORK_AGAIN_H
#define TW_PLAN_NETWORK_AGAIN_H
#include "plan/network_join.h"

/* All that counts for the plan of a stretch whose model is made, formulas included: equal texts, equal plans. */
TW_NODISCARD tw_status tw_stretch_print(const tw_stretch *s, tw_arena *scratch, tw_text *out);
/* The groups that were found for an equal stretch as the program of this one. */
TW_NODISCARD tw_status tw_stretch_again(const tw_stretch *like, const tw_plan *found, const tw_stretch *s,
                                        const tw_work *work, const tw_plan **out);
#endif
