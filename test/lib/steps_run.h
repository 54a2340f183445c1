/* test/lib/steps_run.h - the steps of a lowered network on numbers, one after the other, without a machine: a described operator
 * by the direct interpretation of its description (verify's reference, which visits every point of the nest), a step of the
 * host by the evaluator. */
#ifndef TW_TEST_STEPS_RUN_H
#define TW_TEST_STEPS_RUN_H
#include "lower/lower.h"

typedef struct steps_run {
    const tw_lowered *lowered;
    tw_array *root;  /* per tensor that is its own root */
    tw_array *value; /* of the file, for subgraphs      */
    tw_arena *arena;
    tw_diag *diag;
} steps_run;

steps_run steps_run_of(const tw_lowered *lowered, tw_arena *arena, tw_diag *diag);
/* Elements of an input of the main graph. */
void steps_give(steps_run *r, int value, const tw_array *array);
TW_NODISCARD tw_status steps_run_all(steps_run *r);
/* The elements of a tensor, wherever they lie; data NULL: not there. */
tw_array steps_tensor(steps_run *r, int tensor);
#endif
