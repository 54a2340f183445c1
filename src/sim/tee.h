/* src/sim/tee.h - one timeline shown to several observers, in order. */
#ifndef TW_SIM_TEE_H
#define TW_SIM_TEE_H
#include "program/instr.h"

enum { TW_TEE_MAX = 4 };
typedef struct tw_row_tee {
    int n;
    tw_row_sink sink[TW_TEE_MAX];
} tw_row_tee;

void tw_row_tee_add(tw_row_tee *tee, tw_row_sink sink);
/* The tee itself as an observer. */
tw_row_sink tw_row_tee_sink(tw_row_tee *tee);
#endif
