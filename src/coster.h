/* src/coster.h - what the search asks the later stages: what a mapping costs, and how its tiles move. */
#ifndef TW_COSTER_H
#define TW_COSTER_H
#include "program/program.h"
#include "search/search.h"
#include "sim/timeline.h"

typedef struct tw_coster tw_coster;
/* For searches on up to n threads; NULL when out of memory. */
tw_coster *tw_coster_new(int n);
void tw_coster_free(tw_coster *coster);
const tw_eval *tw_coster_eval(const tw_coster *coster);
/* What a program cost, of which this is the timeline; of memories what its group takes. */
TW_NODISCARD tw_status tw_outcome_of(const tw_program *p, const tw_timeline *timeline, tw_arena *scratch,
                                     tw_outcome *out);
#endif
