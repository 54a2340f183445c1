/* src/advise/joint_remedy.h - what would help a plan in groups? Every answer is a program of groups that was simulated.
 *
 *     of the mapping     every single change of group_moves.h, simulated. Of those that ask the same the best is told, and twelve at most. One for
 *                        which memories are too small is simulated in larger ones, and what it needs is told
 *     of the machine     every change of change.h of the whole platform: the same groups are simulated on it and, unless the mapping was
 *                        given, searched for again; the better of both is told
 *     a search           of a mapping that was given: what `plan` would do instead
 *
 * Changes of the mapping have a third of the time; changes of the machine are searched in the order of what the simulation promised, and share
 * what is left. */
#ifndef TW_ADVISE_JOINT_REMEDY_H
#define TW_ADVISE_JOINT_REMEDY_H
#include "plan/plan.h"

/* As tw_remedies_find, of a plan in groups. */
TW_NODISCARD tw_status tw_joint_remedies_find(const tw_plan *plan, const tw_search_options *options,
                                              const tw_work *work, const tw_remedy **out, int *n);
/* The same with simulations of the groups as they are and of their small changes alone, of at most so many commands; *left is what is left of
 * them. */
TW_NODISCARD tw_status tw_joint_hints_find(const tw_plan *plan, const tw_search_options *options, int64_t *left,
                                           const tw_work *work, const tw_remedy **out, int *n);
/* Changes of the mapping alone, each simulated, of a program that is a part of something larger; in the time limit of the options. */
TW_NODISCARD tw_status tw_joint_moves_find(const tw_plan *plan, const tw_search_options *options,
                                           const tw_work *work, const tw_remedy **out, int *n);
#endif
