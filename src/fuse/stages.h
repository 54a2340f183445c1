/* src/fuse/stages.h - a group as a pipeline: its operators on several cores of one kind, tile by tile.
 *
 *     conv1 conv2 | conv3 | conv4 conv5        stages are stretches of the operators, each on a core of its own; what passes from one to
 *       core a      core b    core c           the next does so over links, while the cores before make the next tile
 *
 * Of all ways to cut a chain into so many stretches, the one whose slowest stretch is fastest is found by dynamic programming over prefixes: least(n, k) =
 * min over m of max(least(m, k - 1), work of operators m .. n - 1). Work is that of the loop points at the peak of the engine. Whether the pipeline is any good is for a simulation to
 * say. */
#ifndef TW_FUSE_STAGES_H
#define TW_FUSE_STAGES_H
#include "fuse/kinds.h"
#include "model/model.h"

/* The first operator of each of k stages of a group, into first[0] .. first[k - 1]; k is at most the number of operators. */
void tw_stages_cut(const tw_model *model, const tw_platform *platform, const tw_group_map *group, int k,
                   int first[TW_MAX_GROUP_OPS]);
/* The group, all of whose operators run on core of[0], with stage i on core of[i], all of one kind: operators, levels and holds. What a stage reads of the
 * one before it has two buffers. TW_INFEASIBLE when there are too many levels. */
TW_NODISCARD tw_status tw_stages_place(const tw_model *model, const tw_core_machine *core,
                                       const tw_group_map *group, const int *first, const int *of, int k,
                                       tw_arena *arena, tw_group_map *out);
#endif
