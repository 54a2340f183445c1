/* src/verify/critical.h - how much of the critical path of a stream belongs to each engine.
 *
 * The path to a start is that of the moment which decided it: its unit became free, a source was there, a buffer was free; of moments at the same
 * time the one that is asked first. What the command takes is its engine's. All commands are followed, also those whose repetition the simulation
 * skips. Shares are compared by fingerprint, as sets of points are (cover.h): each engine has a 64-bit weight, and a path weighs the sum of
 * cycles times weights; so a moment is two numbers, however many engines there are.
 *
 * The commands were found to be right before: who asks gives them one by one, in the order of the program. */
#ifndef TW_VERIFY_CRITICAL_H
#define TW_VERIFY_CRITICAL_H
#include "verify/verify.h"

typedef struct tw_critical tw_critical;
/* NULL when out of memory. */
tw_critical *tw_critical_new(const tw_verify_input *in, tw_arena *arena);
void tw_critical_command(tw_critical *p, const tw_rowset *row);
/* Whether these are the shares of all engines. Also true where that is not known: sums that leave for the outermost memory come back from
 * places that commands do not name. */
bool tw_critical_is(const tw_critical *p, const tw_engine_use *engine);
#endif
