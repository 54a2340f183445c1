/* src/advise/remedy.h - what would help? Every answer is a search on a machine that is a little better.
 *
 * A plan that was found is asked how much each part of the machine holds it back; a problem without a plan, how large a
 * memory would have to be. Nothing here is estimated: a number that is given was simulated. */
#ifndef TW_ADVISE_REMEDY_H
#define TW_ADVISE_REMEDY_H
#include "core/deadline.h"
#include "plan/plan.h"

/* The changes, the largest gain first, equal ones in the machine's order:
 *
 *     each limited memory inside the outermost   a tenth larger, rounded up to its alignment
 *     each mover, adder and the compute engine   a tenth more work per cycle, or a tenth fewer cycles; not below one
 *     each mover                                 lockstep: unlimited channels; async: one more that takes turns
 *     each limit on buffers in `options`         one more
 *
 * The options are those that the plan was found with; their time limit is for all searches together, which share it. When
 * `progress` or the diag's deadline ends one, the list holds what was finished before. */
TW_NODISCARD tw_status tw_remedies_find(const tw_plan *plan, const tw_search_options *options, const tw_work *work,
                                        const tw_remedy **out, int *n);

/* Nothing in the operator's space fits: notes, for each memory that could be enlarged alone, the smallest size that
 * makes it fit. Where none can, the sizes that do together, the innermost as small as possible. Searches as the options
 * say; a muted diag is spared that. */
void tw_smallest_capacity_note(const tw_problem *problem, const tw_search_options *options, tw_arena *scratch,
                               tw_diag *diag);
#endif
