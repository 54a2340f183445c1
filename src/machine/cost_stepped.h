/* src/machine/cost_stepped.h - work is done in steps, each of which takes as long as a full one:
 * per_step * ceil(work / step). */
#ifndef TW_MACHINE_COST_STEPPED_H
#define TW_MACHINE_COST_STEPPED_H
#include "core/core.h"

typedef struct tw_cost_stepped {
    int64_t step;     /* work of one step      */
    int64_t per_step; /* cycles of one step    */
} tw_cost_stepped;
#endif
