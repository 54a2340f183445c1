/* src/machine/cost_linear.h - a latency, and then so much work in every cycle: latency + ceil(work / per_cycle). */
#ifndef TW_MACHINE_COST_LINEAR_H
#define TW_MACHINE_COST_LINEAR_H
#include "core/core.h"

typedef struct tw_cost_linear {
    int64_t latency, per_cycle;
} tw_cost_linear;
#endif
