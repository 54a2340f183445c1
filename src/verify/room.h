/* src/verify/room.h - whether the table of buffers is the one that the mapping asks for, and the cuts are those that the machine takes.
 *
 * Every pool has as many buffers as the mapping says or, where it is silent, as are needed; each is as large as the largest tile and no
 * larger; where addresses follow from an order they are those. Tiles are not smaller than the compute engine takes, multiples of
 * what it asks for, and have no more padding. An operator is fused with the one before it only if it reads once, and alone,
 * what that one makes. */
#ifndef TW_VERIFY_ROOM_H
#define TW_VERIFY_ROOM_H
#include "verify/fault.h"
#include "verify/residency.h"

/* Positions of the axis that the circular buffer of a window that slides has room for: the longest window and, for every buffer but the
 * first, what a tile moves it on by. 0: nothing slides there. */
int64_t tw_room_rows(const tw_verify_input *in, const tw_residencies *residencies, int memory, int operand);
/* Of the whole; needs in->map. */
void tw_room_check(const tw_verify_input *in, tw_fault *fault);
/* Of one execution: false and a fault when the compute engine does not take its box. */
bool tw_room_exec(const tw_site *site);
/* Whether the compute engine takes a tile with this part of a loop. */
bool tw_room_takes(const tw_engine *mac, const tw_op *op, int loop, tw_span span);
#endif
