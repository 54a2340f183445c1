/* src/mapping/objective.h - what a search makes small, resolved against a machine, and how values compare. */
#ifndef TW_MAPPING_OBJECTIVE_H
#define TW_MAPPING_OBJECTIVE_H
#include "machine/discipline.h"
#include "mapping/record.h"

__extension__ typedef __int128 tw_wide; /* energy x cycles leaves 64 bits */

typedef struct tw_goal {
    tw_measure measure;
    int memory, engine; /* TRAFFIC: one of them, the other -1; PEAK: the memory */
} tw_goal;
typedef struct tw_goals {
    int n;
    tw_goal goal[TW_MAX_OBJECTIVES];
    bool pareto;
} tw_goals;
typedef struct tw_goal_value {
    tw_wide of[TW_MAX_OBJECTIVES];
} tw_goal_value;

/* What a mapping, or all mappings of a part of the space at least, cost. */
typedef struct tw_outcome {
    int64_t cycles, ticks, energy_fj;
    int64_t moved[TW_MAX_ENGINES];    /* units by each mover                                      */
    int64_t crossed[TW_MAX_MEMORIES]; /* units between this memory and those outside, both ways   */
    int64_t used[TW_MAX_MEMORIES];    /* units of its buffers                                     */
} tw_outcome;

/* Names to numbers; what does not exist is reported. Without objectives: latency. */
TW_NODISCARD tw_status tw_goals_of(const tw_search_options *options, const tw_machine *machine, tw_diag *diag,
                                   tw_goals *out);
tw_goal_value tw_goals_value(const tw_goals *goals, const tw_outcome *outcome);
/* -1, 0, 1: lexicographic. */
int tw_value_compare(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b);
/* Whether a is at most b in every objective. */
bool tw_value_covers(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b);
#endif
