/* src/api/restore.h - what searches said of a plan, for plans that are made again from their mappings. */
#ifndef TW_API_RESTORE_H
#define TW_API_RESTORE_H
#include "plan/plan.h"

/* Copied, since the caller's may be gone before the plan is. */
TW_NODISCARD tw_status tw_joint_search_of(tw_context *ctx, const tw_group_search *said, tw_joint_search *out);
#endif
