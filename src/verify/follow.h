/* src/verify/follow.h - whether the commands of an async program are those that the mapping asks for: no others, none missing,
 * in this order, with these tiles, units and buffers. */
#ifndef TW_VERIFY_FOLLOW_H
#define TW_VERIFY_FOLLOW_H
#include "verify/fault.h"

typedef struct tw_follow tw_follow;
/* NULL when out of memory. Needs in->map. */
tw_follow *tw_follow_new(const tw_verify_input *in, tw_arena *arena);
/* false and a fault: this instruction is not the one that comes next. */
bool tw_follow_instr(tw_follow *f, const tw_site *site);
/* After the last. */
void tw_follow_finish(tw_follow *f, tw_fault *fault);
#endif
