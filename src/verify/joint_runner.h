/* src/verify/joint_runner.h - what joint_run.c and joint_numbers.c share: the state of groups that run on numbers.
 *
 * Every operator must see numbers that it computes exactly with, and in a chain its inputs are what others made. So what an operator
 * made becomes a small number again before another reads it, drawn with the value itself as the seed: wrong values stay
 * wrong, and none grows. What lies in memory 0 is as it was made; that is compared. */
#ifndef TW_VERIFY_JOINT_RUNNER_H
#define TW_VERIFY_JOINT_RUNNER_H
#include "core/agenda.h"
#include "verify/executor.h"
#include "verify/joint_judge.h"

typedef struct tw_joint_stock { /* a tensor */
    tw_place place;             /* in memory 0, unless it is never there; an input of the model is all there */
    double *value;              /* of an input of the model */
    tw_draw draw;               /* for all that read it     */
    bool is_read;
} tw_joint_stock;

struct tw_joint_runner {
    tw_place *place;       /* per buffer                */
    tw_place *past;        /* and of references: what was there before the last step */
    tw_maths *op;          /* per operator of the model */
    tw_joint_stock *stock; /* per tensor                */
    tw_agenda agenda;
    int64_t n_made;
};

/* Draws all numbers. */
TW_NODISCARD tw_status tw_joint_draw(tw_joint_judge *j);
/* What was made as somebody reads it. */
void tw_joint_tame(const tw_joint_judge *j, int tensor, double *value, int64_t n);
/* Complete sums of a region of an operator's output become elements; the index of one that does not fit, n: all do. */
int64_t tw_joint_complete(const tw_joint_judge *j, int op, const tw_region *region, double *value, int64_t n);
/* Compares what was stored with the reference. */
TW_NODISCARD tw_status tw_joint_compare(tw_joint_judge *j, const char **who, int64_t *elements);
#endif
