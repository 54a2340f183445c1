/* src/coster.h - what the search asks the later stages: what a mapping costs, and how its tiles move. */
#ifndef TW_COSTER_H
#define TW_COSTER_H
#include "search/search.h"

typedef struct tw_coster tw_coster;
/* For searches on up to n threads; NULL when out of memory. */
tw_coster *tw_coster_new(int n);
void tw_coster_free(tw_coster *coster);
const tw_eval *tw_coster_eval(const tw_coster *coster);
#endif
