/* src/advise/remedy.h - what would help? Every answer is a search, or a simulation, with one thing changed.
 *
 * A plan that was found is asked how much each part of the machine holds it back; one of a given mapping, what should be different in
 * it, too; a problem without a plan, how large a memory would have to be. Nothing here is estimated: a number that is given was simulated. */
#ifndef TW_ADVISE_REMEDY_H
#define TW_ADVISE_REMEDY_H
#include "core/deadline.h"
#include "plan/plan.h"

/* The largest gain first, equal ones in this order:
 *
 *     of a given mapping                   the single changes of it that help (improve.h), fusion with the operator before, and
 *                                          what a search finds instead
 *     the changes of the machine           (change.h)
 *     fusion                               of a plan that was searched for: all neighbours that can be fused and were not, those for
 *                                          which it is better
 *     each limit on buffers in `options`   one more; of a plan that was searched for
 *
 * The options are those that the plan was found with; their time limit is for all searches together, which share it. When
 * `progress` or the diag's deadline ends one, the list holds what was finished before. */
TW_NODISCARD tw_status tw_remedies_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                                        const tw_remedy **out, int *n);

/* Up to three changes that help by a hundredth at least, simulated with the mapping as it is: the best of the machine, the best of the mapping and
 * the next of the machine elsewhere. Costs at most as much as simulating some hundred thousand commands, which does not depend on the host; of
 * plans that are much longer nothing is told: *out is NULL. */
TW_NODISCARD tw_status tw_hints_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                                     const tw_remedy **out, int *n);
enum { TW_MAX_HINTS = 3, TW_HINT_COMMANDS = 300000 };

/* Whether a, which was found first, stands before b: the larger gain, then what has no plan, then what was not tried. */
bool tw_remedy_is_before(const tw_remedy *a, const tw_remedy *b);

/* Nothing in the operator's space fits `beside` the others as they are mapped there (NULL: those of its group take one tile): notes, for each memory that could be enlarged alone, the smallest size that
 * makes it fit. Where none can, the sizes that do together, the innermost as small as possible. Searches as the options
 * say; a muted diag is spared that. Where it is not `proven` that nothing fits only what proves it is told: a least size of a memory that is above
 * what it has. */
void tw_smallest_capacity_note(const tw_problem *problem, const tw_op_map *beside, const tw_search_options *options,
                               bool proven, tw_arena *scratch, tw_diag *diag);
#endif
