/* src/report/facts/reach.h - what the tiles of a level reach along one axis of an operand, padding left out. */
#ifndef TW_REPORT_FACTS_REACH_H
#define TW_REPORT_FACTS_REACH_H
#include "program/program.h"

typedef struct tw_reach {
    int64_t sum;  /* over all tiles: windows overlap, so this may be more than the axis has */
    int64_t most; /* of one tile                                                           */
} tw_reach;

/* Of all combinations of tiles, down to the tiled level `level`, of the loops that the axis names. */
tw_reach tw_reach_of(const tw_program *program, const tw_axis *axis, int level);
#endif
