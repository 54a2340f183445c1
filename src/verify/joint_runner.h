/* src/verify/joint_runner.h - what joint_run.c and joint_numbers.c share: places that hold numbers, and the numbers.
 *
 * Every operator must see numbers that it computes exactly with, and in a chain its inputs are what others made. So what an operator
 * made becomes a small number again before another reads it, drawn with the value itself as the seed: wrong values stay
 * wrong, and none grows. What lies in memory 0 is as it was made; that is compared. */
#ifndef TW_VERIFY_JOINT_RUNNER_H
#define TW_VERIFY_JOINT_RUNNER_H
#include "verify/executor.h"
#include "verify/joint_judge.h"

typedef struct tw_joint_place { /* a lane of a buffer */
    tw_joint_part is;           /* how its numbers are to be read; not `any`: it holds nothing */
    double *value;
    uint8_t *there;
    int64_t room;
} tw_joint_place;

typedef struct tw_joint_maths { /* an operator of the model */
    tw_executor like;           /* its operator and what it holds, for compute.c */
    double *divisor;            /* averages */
} tw_joint_maths;

typedef struct tw_joint_stock { /* a tensor in memory 0 */
    double *value;
    uint8_t *stored; /* NULL: an input of the model, which is all there */
    tw_draw draw;    /* for all that read it  */
    bool is_read;
} tw_joint_stock;

typedef struct tw_joint_moment {
    int64_t cycle, number;
    int kind;
    tw_joint_job *job;
} tw_joint_moment;

struct tw_joint_runner {
    tw_joint_place *place; /* per buffer */
    tw_joint_maths *op;    /* per operator of the model */
    tw_joint_stock *stock; /* per tensor                */
    tw_joint_moment *moment;
    int n_moments, room;
    int64_t n_made;
    bool no_memory;
};

/* Draws all numbers. */
TW_NODISCARD tw_status tw_joint_draw(tw_joint_judge *j);
/* Whether `dtype` holds them; they become what it makes of them. The number that does not fit is at the index returned, n: all do. */
int64_t tw_joint_round(tw_dtype dtype, double *value, int64_t n);
/* What was made as somebody reads it. */
void tw_joint_tame(const tw_joint_judge *j, int tensor, double *value, int64_t n);
/* Complete sums of a region of an operator's output become elements; the index of one that does not fit, n: all do. */
int64_t tw_joint_complete(const tw_joint_judge *j, int op, const tw_region *region, double *value, int64_t n);
/* Compares what was stored with the reference. */
TW_NODISCARD tw_status tw_joint_refer(tw_joint_judge *j, const char **who, int64_t *elements);
#endif
