/* test/lib/losses_check.h - the losses of a plan against what can be seen of its timeline, command by command. */
#ifndef TW_LOSSES_CHECK_H
#define TW_LOSSES_CHECK_H
#include "tw_test.h"

/* Fails the test unless the parts of every compute engine add up, and start, end and waits are those of its executions. */
void losses_check(const tw_plan *plan);
#endif
