/* src/advise/change.h - a machine with one thing made better: what could be bought instead of it.
 *
 *     each limited memory inside the outermost   twice as large
 *     each mover, adder and the compute engine   twice the work per cycle, or half the cycles; not below one
 *     each mover                                 lockstep: unlimited channels; async: one more that takes turns
 *     a compute engine that is an array          each dimension twice as long; and of two, one twice and the other half
 *                                                as long, which takes as many units as before
 *     each port                                  twice the units per cycle; one more way
 *
 * Hardware comes in powers of two, so nothing smaller is asked: a change that is not worth doubling is not worth a tenth. */
#ifndef TW_ADVISE_CHANGE_H
#define TW_ADVISE_CHANGE_H
#include "machine/vary.h"

/* Told one change, its words and the machine with it made in the arena. What it returns ends the list unless it is TW_OK. */
typedef struct tw_change_sink {
    tw_status (*put)(void *user, const tw_remedy *change, const tw_machine *changed);
    void *user;
} tw_change_sink;

typedef struct tw_change_scope {
    bool timed; /* engines are asked, too                                                                       */
    bool
        all; /* the whole platform is, its ports included, and not only view 0. Parts of several cores that are called and are
                   alike are changed together                                                                  */
} tw_change_scope;
/* Memories first, then the engines in the order of the machine, then ports. */
TW_NODISCARD tw_status tw_changes_each(const tw_machine *machine, tw_change_scope scope, tw_arena *arena,
                                       tw_change_sink sink);
#endif
