/* src/advise/change.h - a machine with one thing made better: what could be bought instead of it.
 *
 *     each limited memory inside the outermost   twice as large
 *     each mover, adder and the compute engine   twice the work per cycle, or half the cycles; not below one
 *     each mover                                 lockstep: unlimited channels; async: one more that takes turns
 *     a compute engine that is an array          each dimension twice as long; and of two, one twice and the other half
 *                                                as long, which takes as many units as before
 *
 * Hardware comes in powers of two, so nothing smaller is asked: a change that is not worth doubling is not worth a tenth. */
#ifndef TW_ADVISE_CHANGE_H
#define TW_ADVISE_CHANGE_H
#include "machine/machine.h"

/* Told one change, its words made in the arena, and the machine with it. What it returns ends the list unless it is TW_OK. */
typedef struct tw_change_sink {
    tw_status (*put)(void *user, const tw_remedy *change, const tw_machine *changed);
    void *user;
} tw_change_sink;

/* Memories first, then the engines in the order of the machine. `timed`: engines are asked, too. */
TW_NODISCARD tw_status tw_changes_each(const tw_machine *machine, bool timed, tw_arena *arena, tw_change_sink sink);
#endif
