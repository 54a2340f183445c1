/* src/mapping/record.h - what a search says of its result, as tw_search_result describes it. Inside the library it is a value
 * that can be copied, with its tables in it; the public struct is a view of one. */
#ifndef TW_MAPPING_RECORD_H
#define TW_MAPPING_RECORD_H
#include "core/core.h"

enum { TW_MAX_OBJECTIVES = 4 };
#define TW_WITHIN_MAX 100.0 /* an objective may be so many times its least above it */

typedef struct tw_search_record {
    bool missing; /* nobody searched */
    int n_objectives;
    tw_objective objective[TW_MAX_OBJECTIVES];
    double value[TW_MAX_OBJECTIVES], within[TW_MAX_OBJECTIVES], least[TW_MAX_OBJECTIVES], bounds[TW_MAX_OBJECTIVES];
    int64_t best;
    double bound, gap, root_bound;
    tw_closer bound_by;
    const char *bound_at;
    double n_space;
    int64_t n_nodes, n_points, work;
    int64_t closed[TW_N_BOUNDS];
    int64_t n_optima;
    bool proven;
    tw_ending ending;
    tw_space_name space;
    double seconds;
    bool by_default, limited;
    tw_fusion_result fusion;
} tw_search_record;
/* Lives as long as the record. */
tw_search_result tw_search_view(const tw_search_record *record);
/* The record that a caller's result stands for, NULL: none; names are copied into the arena. */
TW_NODISCARD tw_status tw_search_record_of(const tw_search_result *result, tw_arena *arena, tw_diag *diag,
                                           tw_search_record *out);
/* Accepts a number of objectives, or reports it. */
TW_NODISCARD tw_status tw_objectives_check(int n, tw_diag *diag);
#endif
