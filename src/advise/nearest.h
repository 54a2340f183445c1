/* src/advise/nearest.h - a mapping does not fit: what is the smallest change that does? */
#ifndef TW_ADVISE_NEAREST_H
#define TW_ADVISE_NEAREST_H
#include "program/program.h"

/* Tries one change at a time: one buffer less of an operand, or more tiles along one loop of one level. Adds a
 * note with the one that makes the fewest executions, or none when no single change helps. */
void tw_nearest_note(const tw_problem *problem, const tw_op_map *map, tw_arena *scratch, tw_diag *diag);
#endif
