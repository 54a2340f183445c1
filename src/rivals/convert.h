/* src/rivals/convert.h - a machine, layers and mappings of another tool in our own words. */
#ifndef TW_RIVALS_CONVERT_H
#define TW_RIVALS_CONVERT_H
#include "rivals/levels.h"

/* The machine for the first layer, see levels.h. TW_ERR_INPUT where an operand has no memory but the outermost. */
TW_NODISCARD tw_status tw_rival_machine_print(const tw_rival *rival, tw_levels_kind kind, tw_work work,
                                              tw_text *out);
/* The layer that makes what the operand reads, element by element; -1: none. axis[r] is the operand's axis along axis r of what is made, -1: that one has
 * length 1, and the operand has none. */
int tw_rival_maker(const tw_rival *rival, int layer, int operand, int axis[TW_RIVAL_RANKS]);
/* All layers as described operators. TW_ERR_INPUT where elements have a width that no type has. */
TW_NODISCARD tw_status tw_rival_workload_print(const tw_rival *rival, tw_diag *diag, tw_text *out);
#endif
