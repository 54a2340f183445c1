/* src/plan/groupform.h - the closed form of a group, to stand beside what was simulated: docs/design/fuse.md.
 *
 *     cycles          of the engine that is busy longest with what the group computes and moves: no waiting, no start, no end
 *     more, saved     computing again at the peak; what is neither stored nor loaded, over the links that would carry it
 *
 * A group pays, by this alone, where more < saved. Counts are exact, and an engine is busy for at least as long as is said here: `cycles` is never above what the plan takes, of
 * which groups that overlap have less each. */
#ifndef TW_PLAN_GROUPFORM_H
#define TW_PLAN_GROUPFORM_H
#include "plan/plan.h"

typedef struct tw_group_form {
    int64_t cycles;
    int engine; /* of the platform; -1: nothing takes time                     */
    int64_t more_cycles, saved_cycles;
    int64_t weight_bytes, weight_loaded; /* of the weights that come from memory 0: once; all that does */
} tw_group_form;
tw_group_form tw_group_form_of(const tw_plan *plan, int group);
#endif
