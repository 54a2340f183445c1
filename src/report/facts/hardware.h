/* src/report/facts/hardware.h - what a plan runs on, by the numbers that its commands use: memories and engines of its machine or,
 * of a plan of groups, of the whole platform. */
#ifndef TW_REPORT_FACTS_HARDWARE_H
#define TW_REPORT_FACTS_HARDWARE_H
#include "plan/plan.h"

int tw_hardware_n_engines(const tw_plan *plan);
/* Its name in the engine itself is the short one; `outer` and `memory` are numbers of these memories. */
const tw_engine *tw_hardware_engine(const tw_plan *plan, int engine);
const char *tw_hardware_engine_name(const tw_plan *plan, int engine);
int tw_hardware_n_memories(const tw_plan *plan);
const tw_memory *tw_hardware_memory(const tw_plan *plan, int memory);
const char *tw_hardware_memory_name(const tw_plan *plan, int memory);
/* The buffers of an operator; of a plan of groups, all of them for every operator. */
const tw_buffer *tw_hardware_buffers(const tw_plan *plan, int op, int *n);
#endif
