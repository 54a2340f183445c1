/* src/verify/links.h - what is reported of one operator beside what every program counts (tally.h). */
#ifndef TW_VERIFY_LINKS_H
#define TW_VERIFY_LINKS_H
#include "verify/tally.h"

typedef struct tw_links {
    const tw_verify_input *in;
    const tw_tally *tally;
    tw_link_use link[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
} tw_links;

/* A transfer; everything else crosses no link. */
void tw_links_count(tw_links *k, const tw_instr *instr);
/* After the last row, when the tally is complete: the first number that is not so is the fault. */
void tw_links_compare(const tw_links *k, tw_fault *fault);
#endif
