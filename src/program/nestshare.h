/* src/program/nestshare.h - groups that do not live at the same time share addresses.
 *
 * Groups live one after the other, parts of one group together: time is counted in these *ranks*. A hold lives while its group
 * does; where there is room, what a group loads lives one rank longer, from the one before on, so that it can come while that
 * one computes:
 *
 *     address  | weights of a | weights of c |         weights of b come while a lives, those of c while b lives,
 *              |       weights of b          |         at the addresses of what a has given back for good
 *     rank       a      b      c                                                                                     */
#ifndef TW_PROGRAM_NESTSHARE_H
#define TW_PROGRAM_NESTSHARE_H
#include "program/nest.h"

/* The ranks of all holds of all groups, which are numbered. */
void tw_joint_live(tw_joint *joint, tw_nest *nest);
/* New addresses for the buffers of a memory that has no room for all of them one behind the other. TW_INFEASIBLE when the holds of a
 * group have no room in it either. */
TW_NODISCARD tw_status tw_joint_pack(tw_joint *joint, int memory, tw_buffer *buffer, const tw_work *work);
/* Holds of groups that read what is resident have the buffer of the group that makes it. */
void tw_joint_settle_residents(const tw_joint *joint, tw_nest *nest);
/* Which buffers wait for which: fills in `heirs`. */
TW_NODISCARD tw_status tw_joint_find_heirs(tw_joint *joint, const tw_work *work);
#endif
