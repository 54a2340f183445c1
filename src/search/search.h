/* src/search/search.h - the best mapping of one operator over a stated space, with a proof.
 *
 *     space.h    what a mapping may choose, as variables with ranges; parts of the space; how a part is halved
 *     bound.h    what every mapping of a part costs at least
 *     leaf.h     all is chosen but the buffers: which of them are worth simulating
 *     branch.h   parts in the order of their bounds, on all cores, until nothing open can beat the best
 *
 * What a mapping costs is not known here: the caller hands in `tw_eval`, the only arrow that points
 * back to later stages. */
#ifndef TW_SEARCH_SEARCH_H
#define TW_SEARCH_SEARCH_H
#include "core/meter.h"
#include "mapping/limits.h"
#include "mapping/objective.h"

enum { TW_MAX_THREADS = 64 };
#define TW_DEFAULT_BUDGET INT64_C(20000000) /* pieces of work: about two seconds of a processor */

/* How an async program moves its tiles, whatever its buffers: exact, by formula. */
typedef struct tw_outline {
    bool here[TW_MAX_MEMORIES][TW_MAX_OPERANDS];          /* the memory holds the operand                   */
    int64_t needed[TW_MAX_MEMORIES][TW_MAX_OPERANDS];     /* fewest buffers                                 */
    int64_t slot_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* size of one                                    */
    int64_t ahead_units[TW_MAX_MEMORIES]
                       [TW_MAX_OPERANDS]; /* a window slides: size of each further one, 0: as large */
    int64_t transfers[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* into it; of the output: out of it              */
    int64_t commands[TW_MAX_ENGINES];                    /* of movers, at least                            */
    int64_t units[TW_MAX_ENGINES];                       /* that movers move                               */
    int64_t crossed[TW_MAX_MEMORIES];
    int depth[TW_MAX_MEMORIES][TW_MAX_OPERANDS];    /* order of `bump`, see tw_pools                  */
    bool packed[TW_MAX_MEMORIES][TW_MAX_OPERANDS];  /* slots lie directly behind each other           */
    bool changes[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* an input whose tile changes with every step    */
    int64_t extra[TW_MAX_MEMORIES];                 /* units beside the buffers                       */
    int64_t others[TW_MAX_MEMORIES];                /* units that the rest of its group needs when these buffers are
                                                       gone, at least; `bump`: beside them                */
    int64_t energy_fj;
    bool exact;    /* false: numbers leave 64 bits; only `here`, `needed` and `slot_units` are given. All hold
                      as long as no tile lies wholly in padding and is left out                              */
    bool monotone; /* one unit fills each pool: more buffers never take longer                            */
    int64_t n_execs, n_sweeps; /* executions, and how many of them come last in a sweep of the innermost loop */
    int64_t alone, under; /* cycles of one, of whole tiles, with and without transfers meanwhile; 0: not known */
    bool contended;       /* executions take longer while transfers run                                         */
    bool reorders;        /* the number of buffers decides in what order transfers stand                        */
} tw_outline;

/* Instructions of the program, at least. */
int64_t tw_outline_instructions(const tw_outline *outline, const tw_machine *machine);

typedef struct tw_eval {
    /* What the mapping costs on the machine. TW_INFEASIBLE, and in *short_by how much memory is missing (0: not a
     * matter of memory), when it does not fit; TW_ERR_INPUT when it is not legal. Reports nothing. TW_OK without an
     * outcome when the meter ends it. */
    tw_status (*cost)(void *user, const tw_problem *problem, const tw_op_map *map, tw_meter *meter, tw_outcome *out,
                      int64_t *short_by);
    /* Async machines: the same but for the time, by formula; for mappings whose outline is exact. */
    tw_status (*count)(void *user, const tw_problem *problem, const tw_op_map *map, tw_outcome *out,
                       int64_t *short_by);
    /* Async machines: the mapping's buffers do not matter, nor whether they fit. */
    tw_status (*outline)(void *user, const tw_problem *problem, const tw_op_map *map, tw_outline *out);
    void *user[TW_MAX_THREADS]; /* one for each thread that may call at the same time */
    int n_users;
} tw_eval;

typedef struct tw_found {
    tw_op_map map;
    bool nearest; /* infeasible: `map` is the mapping that misses the least memory */
    int n_front;
    const tw_op_map *front; /* Pareto: best first objective first */
    const tw_goal_value *front_value;
} tw_found;

/* What a search that finds nothing does not speak for. */
typedef enum tw_among {
    TW_AMONG_NONE, /* nothing: what it proves is proven                                                          */
    TW_AMONG_OTHERS, /* operators that are fused with it stand for others, which may leave more room               */
    TW_AMONG_WISHES /* it wished to be fused, which nobody has ruled out                                          */
} tw_among;

typedef struct tw_search { /* what is searched */
    tw_problem problem;
    const tw_search_options *options;
    const tw_eval *eval; /* what a mapping costs                                                                 */
    const tw_op_map *start; /* a mapping to begin with, NULL: none                                               */
    bool
        foreign; /* `start` was found for another objective: seeds are made as if there were none. Otherwise an earlier
                     search with these options, but a smaller budget, found it, and has made them               */
    bool optional; /* if `start` takes more than the budget to simulate, nothing is looked for          */
    tw_among among;
} tw_search;
/* TW_INFEASIBLE when nothing fits. The front is made in `arena`. */
TW_NODISCARD tw_status tw_search_op(const tw_search *search, tw_arena *arena, tw_diag *diag, tw_found *found,
                                    tw_search_record *result);
/* How many threads the options ask for: as many as there are cores unless they say a number. */
int tw_search_threads(const tw_search_options *options);
/* What every mapping costs at least, as far as is known before anything is searched. TW_INFEASIBLE: none fits. */
TW_NODISCARD tw_status tw_search_floor(const tw_search *search, tw_arena *arena, tw_diag *diag, tw_goal_value *out);
#endif
