/* src/rivals/convert.h - a machine and layers of another tool in our own words.
 *
 * The border between what software manages and what an execution does by itself is drawn once: the outermost memory, one memory
 * on chip that is as large as all others of the hierarchy together, and the array with what is private to its multipliers. Movers
 * of ours that leave one memory for several cannot share a port; one memory on chip keeps the port of the outermost what it is.
 *
 *     outermost --(its port)--> on chip --> array (multipliers and their registers)
 *
 * Energies of what is folded are those of an access per point of the loops. */
#ifndef TW_RIVALS_CONVERT_H
#define TW_RIVALS_CONVERT_H
#include "rivals/rival.h"

/* TW_ERR_INPUT where an operand has no memory but the outermost. */
TW_NODISCARD tw_status tw_rival_machine_print(const tw_rival *rival, tw_diag *diag, tw_text *out);
/* All layers as described operators. TW_ERR_INPUT where elements have a width that no type has. */
TW_NODISCARD tw_status tw_rival_workload_print(const tw_rival *rival, tw_diag *diag, tw_text *out);
#endif
