/* src/rivals/timeloop/search.c - the best mapping under Timeloop's rules. */
#include "rivals/timeloop/timeloop.h"

tw_status tw_tl_search(const tw_rival *rival, int layer, const tw_rival_search_options *options, tw_work work,
                       tw_rival_found *out)
{
    (void)options;
    (void)out;
    return tw_diag_error(work.diag, rival->layer[layer].loc, "not searched yet");
}
