/* src/model/read.h - a tree (workload file or one-line workload) to a checked model. */
#ifndef TW_MODEL_READ_H
#define TW_MODEL_READ_H
#include "input/tree.h"
#include "model/model.h"
/* The names of the model point into the tree, which has to live as long. */
TW_NODISCARD tw_status tw_model_of_tree(const tw_node *root, tw_arena *arena, tw_diag *diag, tw_model *out);
#endif
