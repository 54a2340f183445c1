/* src/fuse/cores.h - which cores run what: a search over groups on a machine of several cores.
 *
 * Every core alone is planned with groups (fuse.h), on a machine that has its compute engines and the shared ones only; so are all cores
 * together, each operator on the first engine that computes it. The best of these is where the search begins, so that more cores are never worse than the best one.
 * Then each group is tried on other cores, and split over some of them along a loop of its driver:
 *
 *     oy 0 ............................. 55       core 2 is the fastest: its share is the largest, so that
 *        |   core 2   |  core 1  | core 0 |       all end together; a core too slow to help has none
 *
 * Shares begin in proportion to the speed of each core on that group, and follow what the parts took when they were simulated. Everything is decided by
 * simulating programs, one after the other, so that the same model gives the same mapping. */
#ifndef TW_FUSE_CORES_H
#define TW_FUSE_CORES_H
#include "fuse/fuse.h"

typedef struct tw_cores_found {
    tw_fused best;
    int64_t *
        alone; /* per core: cycles of the best mapping of groups on it alone; 0: there is none; -n: none was looked for,
                       since it takes n at least and better was known */
    int64_t equal;      /* cycles with the same groups, each split in equal parts over all cores; 0: it cannot be */
    int64_t n_commands; /* that were simulated, but for those of each core alone */
} tw_cores_found;

/* TW_INFEASIBLE, without a word, when no mapping was found. `apart` of the request is of no use here. */
TW_NODISCARD tw_status tw_cores_find(const tw_fuse_request *asked, const tw_work *work, tw_cores_found *out);

/* What each operator takes by itself on each core, in the best way that is found: cycles of operator i on core c in table[i * cores + c], 0: the core cannot run it. NULL: the machine has one
 * core, or there are more than TW_TABLE_MOST operators for kinds of cores. */
enum { TW_TABLE_MOST = 256 };
TW_NODISCARD tw_status tw_cores_table(const tw_model *model, const tw_machine *machine, const tw_work *work,
                                      const int64_t **table);
#endif
