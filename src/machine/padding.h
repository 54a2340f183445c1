/* src/machine/padding.h - which padding of a model the machine cannot do, so that it has to be written: see model/padded.h. */
#ifndef TW_MACHINE_PADDING_H
#define TW_MACHINE_PADDING_H
#include "machine/platform.h"
#include "model/padded.h"

/* Whether some engine of the machine computes maps. */
bool tw_machine_maps(const tw_machine *machine);
/* Whether the engine that runs the operator takes half a kernel of padding at most. */
bool tw_machine_limits_padding(const tw_machine *machine, const tw_op *op);
/* The inputs with more padding than the engine takes which can be written; *n is 0 where there are none. Tiles may be cut such that none meets
 * more than that (single taps, tiles of nothing but padding), so that this is what one may do, not what one must. */
TW_NODISCARD tw_status tw_machine_finds_padding(const tw_machine *machine, const tw_model *model, tw_arena *arena,
                                                int *n, const tw_written_padding **out);
#endif
