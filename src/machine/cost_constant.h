/* src/machine/cost_constant.h - every command takes as long as every other, however much it does. */
#ifndef TW_MACHINE_COST_CONSTANT_H
#define TW_MACHINE_COST_CONSTANT_H
#include "core/core.h"

typedef struct tw_cost_constant {
    int64_t cycles;
    int64_t busy; /* cycles until the engine can start its next command, at most `cycles` */
} tw_cost_constant;
#endif
