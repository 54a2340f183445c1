/* src/fuse/stages.h - a group as a pipeline: its operators on several cores of one kind, tile by tile.
 *
 *     conv1 conv2 | conv3 | conv4 conv5        stages are stretches of the operators, each on a core of its own; what passes from one to
 *       core a      core b    core c           the next does so over links, while the cores before make the next tile
 *
 * A stage may have several cores, which share its operators (sharing.h). Of all ways to cut a chain into so many stretches over so many cores, the one whose slowest stretch is fastest is found by dynamic programming over prefixes: least(n, k, c) =
 * min over m and j of max(least(m, k - 1, c - j), work of operators m .. n - 1 / j). Work is that of the loop points at the peak of the engine. Whether the pipeline is any good is for
 * a simulation to say. */
#ifndef TW_FUSE_STAGES_H
#define TW_FUSE_STAGES_H
#include "fuse/kinds.h"
#include "fuse/segment.h"

enum { TW_STAGES_CORES = 8 };
typedef struct tw_stages {
    int k;
    int first[TW_STAGES_CORES];   /* operator of each stage   */
    int n_cores[TW_STAGES_CORES]; /* and how many cores it has */
} tw_stages;

/* Whether cores can pass something on inside of a group: over links, or in a memory other than 0 that several of them reach. */
bool tw_stages_can_pass(const tw_platform *platform);
/* A core and those of its kind behind it, round and round, at most TW_STAGES_CORES; how many. */
int tw_stages_cores(const tw_platform *platform, const tw_core_machine *core, int first, int of[TW_STAGES_CORES]);
/* Cycles of each operator at the peak of the core's first engine for it, more or less; false: it cannot run one of them. */
bool tw_stages_work(const tw_segment *segment, const tw_core_machine *core, double work[TW_MAX_GROUP_OPS]);
/* k stages of some operators with so much work over n_cores, k <= n_cores <= TW_STAGES_CORES, the last stage on `most_last` of them at most; k is at most the number of operators. */
void tw_stages_cut(const double *work, int n_ops, int k, int n_cores, int most_last, tw_stages *out);
/* Puts cores that pass something on, pairs of places in the list, where few links lie between them: swaps two of the list as long as that helps. All are of one kind. */
void tw_stages_settle(const tw_platform *platform, int n_pairs, const int (*pair)[2], int n, int *of);
/* The group, all of whose operators run on core of[0], with operator i on core of[stage[i]], one of k, all of one kind: operators, levels and holds. What a core reads
 * of another one has two buffers. TW_INFEASIBLE when there are too many levels. */
TW_NODISCARD tw_status tw_stages_place(const tw_model *model, const tw_core_machine *core,
                                       const tw_group_map *group, const int *stage, const int *of, int k,
                                       tw_arena *arena, tw_group_map *out);
#endif
