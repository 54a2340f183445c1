/* src/program/flowbuild.h - the parts of building a program that concern async machines; build.c calls them. */
#ifndef TW_PROGRAM_FLOWBUILD_H
#define TW_PROGRAM_FLOWBUILD_H
#include "program/program.h"

#include <string.h>

/* Tiles of partial sums that may lie in the outermost memory: when each comes back is kept per tile. */
enum { TW_FLOW_MAX_RETURNS = 1 << 20 };

/* The flow of a program whose levels are resolved; most[t][l] is the largest number of tiles that level t cuts a
 * piece of loop l into, largest[t][l] the longest of them. */
TW_NODISCARD tw_status tw_flow_build(const tw_program *program, int64_t most[TW_MAX_MEMORIES][TW_MAX_LOOPS],
                                     int64_t largest[TW_MAX_MEMORIES][TW_MAX_LOOPS], tw_arena *arena, tw_diag *diag,
                                     const tw_flow **out);
/* Slots of the pool that stands under this operand's name in the memory, 0 when there is none: as the mapping says or,
 * where it is silent, as many as are needed. */
int64_t tw_flow_slots(const tw_program *program, const tw_flow *flow, int memory, int operand);
#endif
