/* src/search/search.h - the best mapping of one operator over a stated family.
 *
 * direct      tile once, for the innermost memory; pass through the others. Exhaustive over the family of
 *             family.h; ties are counted and the first optimum met is kept.
 * multistage  tile at every level. Level by level from the outside: each candidate of a level is
 *             completed with the best inner mapping for its first (largest) tile, and the whole is then
 *             simulated. Exhaustive per level, but an inner mapping that is worse for the first tile and
 *             better for the others is not tried: the result is the best found, not a proven optimum.
 *
 * What a mapping costs is not known here: the caller hands in `tw_eval`, the only arrow that points
 * back to later stages. */
#ifndef TW_SEARCH_SEARCH_H
#define TW_SEARCH_SEARCH_H
#include "search/mapping.h"

typedef struct tw_eval {
    /* Ticks and cycles of the operator on the machine with this mapping. TW_INFEASIBLE, and in *short_by how
     * much memory is missing (0: not a matter of memory), when it does not fit. Reports nothing. */
    tw_status (*cost)(void *user, const tw_model *model, const tw_machine *machine, const tw_op_map *map,
                      tw_summary *out, int64_t *short_by);
    void *user;
} tw_eval;

/* Searches operator `op`. TW_INFEASIBLE when nothing in the family fits; *nearest tells then whether *map is the
 * mapping that misses the least memory. */
TW_NODISCARD tw_status tw_search_op(const tw_model *model, int op, const tw_machine *machine,
                                    const tw_search_options *options, const tw_eval *eval, tw_arena *scratch,
                                    tw_diag *diag, tw_op_map *map, tw_search_result *result, bool *nearest);
#endif
