/* src/plan/evaluate.h - what the search asks the later stages: what a mapping costs, and how its tiles move. */
#ifndef TW_PLAN_EVALUATE_H
#define TW_PLAN_EVALUATE_H
#include "program/program.h"
#include "search/search.h"
#include "sim/timeline.h"

typedef struct tw_evaluator tw_evaluator;
/* For searches on up to n threads; NULL when out of memory. */
tw_evaluator *tw_evaluator_new(int n);
void tw_evaluator_free(tw_evaluator *evaluator);
const tw_eval *tw_evaluator_eval(const tw_evaluator *evaluator);
/* The timeline of a mapping of an operator that stands alone, if it was simulated, took long and was the best; on this very
 * machine. False: it has to be simulated. */
bool tw_evaluator_recall(const tw_evaluator *evaluator, const tw_problem *problem, const tw_op_map *map,
                         tw_timeline *out);
/* What a program cost, of which this is the timeline; of memories what its group takes. */
TW_NODISCARD tw_status tw_outcome_of(const tw_program *p, const tw_timeline *timeline, tw_arena *scratch,
                                     tw_outcome *out);
#endif
