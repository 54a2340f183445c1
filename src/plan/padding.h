/* src/plan/padding.h - a model as it is, or with padding written that the machine does not take: whichever is better.
 *
 * Without it tiles have to be such that none meets too much padding: single taps, tiles of nothing but padding. With it there is one more operator, which copies its
 * input into a larger tensor (model/padded.h); in a group that is a tile at a time, on chip. Both are planned, and compared by the first objective if that is
 * time, energy or both; by any other one what is written counts where there is no plan without. */
#ifndef TW_PLAN_PADDING_H
#define TW_PLAN_PADDING_H
#include "plan/plan.h"

typedef tw_status tw_find_fn(const tw_request *asked, const tw_work *work, const tw_plan **out);
/* `find` plans a model as it is. */
TW_NODISCARD tw_status tw_padding_find(const tw_request *asked, tw_find_fn *find, const tw_work *work,
                                       const tw_plan **out);
#endif
