/* src/verify/rewritten.h - whether a model that a mapping rewrote still computes what the workload says.
 *
 * A mapping may divide operators (model/divided.h) and have padding written by operators of their own (model/padded.h). What is planned and
 * executed is the rewritten model, so a plan that is right for that one is worth nothing if it computes something else. Each operator of the
 * workload is therefore evaluated as it was given, and what stands in its place is evaluated on the same numbers: the two must agree.
 *
 *     conv                  ifm, w -> ofm                       as it was given
 *     conv.sum0, conv.sum1  ifm, w -> sums, added up by conv    what stands in its place: the run of operators that are called after it
 *
 * Numbers are drawn for each operator anew, so that they suit it; what is read of a tensor in parts is cut out of the whole, and what is made in
 * parts is put together. How the rewritten operators came about is not asked: names and order of operators are all that is taken for granted. */
#ifndef TW_VERIFY_REWRITTEN_H
#define TW_VERIFY_REWRITTEN_H
#include "verify/executor.h"

typedef struct tw_rewriting {
    const tw_model *given, *now;
    tw_reference_fn reference; /* see tw_referee */
    void *user;
    uint64_t seed;
    const tw_deadline *deadline;
} tw_rewriting;

/* What is wrong with the operators that stand in the place of one, of which `op` of the rewritten model is; -1: of any. *fault is NULL when they
 * agree. Of an answer made after the deadline nothing is believed. */
TW_NODISCARD tw_status tw_rewriting_check(const tw_rewriting *is, int op, tw_arena *arena, const char **fault);
#endif
