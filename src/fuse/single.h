/* src/fuse/single.h - the mapping of one operator, in levels, as a group of its own. */
#ifndef TW_FUSE_SINGLE_H
#define TW_FUSE_SINGLE_H
#include "mapping/mapping.h"

/* On the machine itself, view 0. TW_INFEASIBLE, without a word, when groups cannot say it. */
TW_NODISCARD tw_status tw_single_group(const tw_problem *problem, const tw_op_map *map, tw_arena *arena,
                                       tw_group_map *out);
#endif
