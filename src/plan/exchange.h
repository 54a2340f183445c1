/* src/plan/exchange.h - a plan on several cores as it is, or with runs of operators whose tensors stay in parts and whose cores exchange halos over links (fuse/exchange.h): whichever is better. */
#ifndef TW_PLAN_EXCHANGE_H
#define TW_PLAN_EXCHANGE_H
#include "plan/plan.h"

/* *out is the plan of the request as it is, and may become one of a model with divided operators. */
TW_NODISCARD tw_status tw_exchange_improve(const tw_request *asked, const tw_work *work, const tw_plan **out);
/* The same with pipelines some of whose stages several cores share (fuse/sharing.h), instead of groups of the plan of the request as it is; *out is the best so far. */
TW_NODISCARD tw_status tw_sharing_improve(const tw_request *asked, const tw_plan *given, const tw_work *work,
                                          const tw_plan **out);
#endif
