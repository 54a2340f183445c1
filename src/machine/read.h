/* src/machine/read.h - a tree (machine file) to a checked machine. */
#ifndef TW_MACHINE_READ_H
#define TW_MACHINE_READ_H
#include "input/tree.h"
#include "machine/machine.h"
/* The machine is view 0 of its platform, see platform.h, which is made in the arena. The names of both point into the tree,
 * which has to live as long. */
TW_NODISCARD tw_status tw_machine_of_tree(const tw_node *root, tw_arena *arena, tw_diag *diag, tw_machine *out);
/* The same machine with other values of its parameters, in thousandths. */
TW_NODISCARD tw_status tw_machine_with(const tw_machine *machine, const int64_t *value, tw_arena *arena,
                                       tw_diag *diag, tw_machine *out);
#endif
