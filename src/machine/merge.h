/* src/machine/merge.h - what a machine makes of two loops that become one: see model/simplify.h. */
#ifndef TW_MACHINE_MERGE_H
#define TW_MACHINE_MERGE_H
#include "machine/machine.h"
#include "model/simplify.h"

/* The judge of a machine, which it points to. NULL: of all machines with square arrays of the usual sizes. */
tw_merge_judge tw_merge_judge_of(const tw_machine *machine);
#endif
