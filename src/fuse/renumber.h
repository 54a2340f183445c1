/* src/fuse/renumber.h - groups and residents of a model as those of one in which some of its operators are divided (model/divided.h). Tensors that both have keep their numbers. */
#ifndef TW_FUSE_RENUMBER_H
#define TW_FUSE_RENUMBER_H
#include "mapping/group.h"

/* The operator in the other model, by its name; -1: it is divided. */
int tw_renumber_op(const tw_op *op, const tw_model *to);
/* A part of an operator that is divided along a parallel loop; -1: there is no such part. */
int tw_renumber_part(const tw_op *op, int part, const tw_model *to);
/* A group none of whose operators is divided. */
TW_NODISCARD tw_status tw_renumber_group(const tw_model *from, const tw_model *to, tw_arena *arena,
                                         tw_group_map *group);
/* False: the tensor leaves behind an operator that is divided. */
bool tw_renumber_resident(const tw_model *from, const tw_model *to, tw_group_resident *resident);
#endif
