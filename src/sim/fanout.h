/* src/sim/fanout.h - one timeline shown to several observers, in order. */
#ifndef TW_SIM_FANOUT_H
#define TW_SIM_FANOUT_H
#include "program/instr.h"

enum { TW_FANOUT_MAX = 4 };
typedef struct tw_row_fanout {
    int n;
    tw_row_sink sink[TW_FANOUT_MAX];
} tw_row_fanout;

void tw_row_fanout_add(tw_row_fanout *fanout, tw_row_sink sink);
/* The fanout itself as an observer. */
tw_row_sink tw_row_fanout_sink(tw_row_fanout *fanout);
#endif
