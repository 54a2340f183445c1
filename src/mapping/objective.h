/* src/mapping/objective.h - what a search makes small, resolved against a machine, and how values compare.
 *
 * A list of objectives is searched in stages, one for each: the least of the first, then the least of the second among the
 * mappings that keep the first, and so on; in the end less energy, less time and less memory decide among equals. A stage has one
 * objective, ties, which order mappings that are found but close no part of the space, and limits, which what is found has to
 * keep. So the values of a stage are
 *
 *     of[0 .. n)               objectives, the first counts most (a stage has one; a Pareto front several)
 *     of[n .. n + n_ties)      ties
 *     of[n + n_ties ..]        limits: at most `most`, or equal to it                                          */
#ifndef TW_MAPPING_OBJECTIVE_H
#define TW_MAPPING_OBJECTIVE_H
#include "machine/discipline.h"
#include "mapping/record.h"

__extension__ typedef __int128 tw_wide; /* energy x cycles leaves 64 bits */

enum { TW_MAX_GOALS = 2 * TW_MAX_OBJECTIVES + 3 };
typedef struct tw_goal {
    tw_measure measure;
    int memory,
        engine; /* TRAFFIC: one of them, the other -1; PEAK: the memory, -1: all but the outermost together */
    unsigned
        joined;    /* TRAFFIC of the outermost memory: bit m: memory m is joined to it, and to none else outside */
    double within; /* how far it may be above its least for the sake of those behind it; 0.01 is 1 %           */
    bool exact;    /* a limit: nothing but `most` itself                                                       */
    tw_wide most;  /* a limit                                                                                  */
} tw_goal;
typedef struct tw_goals {
    int n, n_ties, n_limits;
    tw_goal goal[TW_MAX_GOALS];
    bool pareto;
} tw_goals;
typedef struct tw_goal_value {
    tw_wide of[TW_MAX_GOALS];
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
/* Reports names that no view of the machine has. */
TW_NODISCARD tw_status tw_goals_check(const tw_search_options *options, const tw_machine *machine, tw_diag *diag);
/* Whether the objective is all traffic into and out of the outermost memory: by its own name, or by that of the only memory or the only mover that is joined to it. */
bool tw_objective_is_off_chip(const tw_objective *objective, const tw_machine *machine);
/* Adds what decides among equals, energy, then time, then memory, as ties, as far as they are not objectives themselves.
 * Where time is no goal it may not be known: then only energy. */
void tw_goals_add_ties(tw_goals *goals, bool timed);
/* The stage of the goal `is`, in which the `n_kept` goals of `kept` are limits as they say. Its ties are those of them that
 * have a tolerance, and what decides among equals: not the objectives to come, so that it goes as it would without them. */
tw_goals tw_goals_stage(const tw_goal *is, const tw_goal *kept, int n_kept);
/* The same of `n` goals, of which one counts before the next. */
tw_goals tw_goals_stage_of(const tw_goal *is, int n, const tw_goal *kept, int n_kept);
/* The limit that a goal becomes when `least` is the least of it. */
tw_goal tw_goal_kept(const tw_goal *goal, tw_wide least);
/* Whether what passes into and out of the memory, on its outer side, counts: of TRAFFIC of memories. */
bool tw_goal_crosses(const tw_goal *goal, int memory);
/* Whether both are about the same number. */
bool tw_goal_same(const tw_goal *a, const tw_goal *b);
/* Where the value of a goal stands among those of `goals`, -1: nowhere. */
int tw_goals_find(const tw_goals *goals, const tw_goal *goal);
/* What decides among equals, in this order: energy, cycles, and the units of all buffers, which is what "less memory"
 * means. */
enum { TW_N_TIES = 3 };
tw_goal tw_goal_tie(int i);
/* Whether time, or the room of buffers, is among the goals in any role but that of a tie. */
bool tw_goals_timed(const tw_goals *goals);
bool tw_goals_placed(const tw_goals *goals);

tw_goal_value tw_goals_value(const tw_goals *goals, const tw_outcome *outcome);
/* -1, 0, 1: lexicographic by objectives; what exceeds a limit comes behind what keeps it. */
int tw_value_compare(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b);
/* The same of ties, between values whose objectives are equal. */
int tw_value_compare_ties(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b);
/* Whether a mapping with this value keeps all limits; whether one that costs at least this may. */
bool tw_value_keeps(const tw_goals *goals, const tw_goal_value *value);
bool tw_value_may_keep(const tw_goals *goals, const tw_goal_value *bound);
/* Whether a is at most b in every objective. */
bool tw_value_covers(const tw_goals *goals, const tw_goal_value *a, const tw_goal_value *b);
#endif
