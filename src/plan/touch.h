/* src/plan/touch.h - when the commands of an operator touch its buffers: what lifetimes are made of. */
#ifndef TW_PLAN_TOUCH_H
#define TW_PLAN_TOUCH_H
#include "sim/timeline.h"

typedef struct tw_touch {
    int64_t lower, upper;  /* from the first command that touches the buffer to behind the last; 0, 0: none does */
    int64_t reads, writes; /* commands that do                                                                  */
} tw_touch;

/* Commands are counted as they are shown: rows on a lockstep machine. */
typedef struct tw_touches {
    int64_t n_commands;
    const tw_touch *of; /* per buffer; NULL: nobody looked, and all buffers live as long as the operator runs */
} tw_touches;

/* Programs of more instructions are not looked at. */
#define TW_TOUCHES_MOST (INT64_C(1) << 20)

/* Simulates the program once, and notes what touches what on the way. */
TW_NODISCARD tw_status tw_touches_watch(const tw_program *program, const tw_work *work, tw_timeline *timeline,
                                        tw_touches *out);
#endif
