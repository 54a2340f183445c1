/* src/machine/read.h - a tree (machine file) to a checked machine. */
#ifndef TW_MACHINE_READ_H
#define TW_MACHINE_READ_H
#include "input/tree.h"
#include "machine/machine.h"
/* The names of the machine point into the tree, which has to live as long. */
TW_NODISCARD tw_status tw_machine_of_tree(const tw_node *root, tw_diag *diag, tw_machine *out);
/* The same machine with other values of its parameters, in thousandths. */
TW_NODISCARD tw_status tw_machine_with(const tw_machine *machine, const int64_t *value, tw_diag *diag,
                                       tw_machine *out);
#endif
