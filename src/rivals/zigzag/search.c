/* placeholder */
#include "rivals/zigzag/zigzag.h"
tw_status tw_zz_search(const tw_zz_goal *goal, tw_work work, tw_zz_best *out, double *bound)
{
    *bound = 0;
    return tw_zz_loma(goal, work.diag, out);
}
