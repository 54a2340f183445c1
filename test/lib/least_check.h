/* test/lib/least_check.h - no plan is below what every plan of its model takes at least. */
#ifndef TW_LEAST_CHECK_H
#define TW_LEAST_CHECK_H
#include "tw_test.h"

/* Whether the bound (fuse/least.h) is at most what the plan takes: in cycles, where there is one for the machine, and of plans in groups in units that
 * pass into and out of memory 0. Otherwise it prints both. */
bool least_holds(const tw_plan *plan);
#endif
