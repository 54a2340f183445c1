/* src/verify/row_follow.h - whether the rows of a lockstep program are those that the mapping asks for.
 *
 *   - executions come in the order of the mapping's tiles; those that meet only padding are left out, or fills
 *   - a tile is loaded when no buffer has it, into the buffer that was not used for longest, one row before its execution
 *   - a result goes into the buffer that has been free for longest, queues take turns
 *   - everything stands in the first row that what it depends on allows */
#ifndef TW_VERIFY_ROW_FOLLOW_H
#define TW_VERIFY_ROW_FOLLOW_H
#include "verify/checker.h"

/* A program of the level begins, on this box; ends. */
void tw_row_follow_begin(tw_checker_level *l, const tw_box *box);
void tw_row_follow_end(tw_checker *c, tw_checker_level *l);
/* The row against what was before it: is every instruction where it has to be? */
bool tw_row_follow_place(const tw_checked *row);
/* And, when what the row reads has been noted, do the loads take the right buffers? */
bool tw_row_follow_buffers(const tw_checked *row);
#endif
