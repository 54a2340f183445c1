/* src/plan/plan.h - a finished plan, and the whole walk that makes it: model, machine and mapping in, a plan out.
 *
 *   find.c    the mapping of every operator by search (evaluate.c: what a mapping costs)
 *   build.c   programs, timelines and addresses of a mapping (placing.c: which pieces of memory lie where)
 *   judge.c   what checker and executor say of it (execute.c: they watch, or run it on given numbers) */
#ifndef TW_PLAN_PLAN_H
#define TW_PLAN_PLAN_H
#include "mapping/mapping.h"
#include "mapping/record.h"
#include "plan/touch.h"
#include "program/program.h"
#include "sim/joint.h"
#include "sim/timeline.h"

typedef struct tw_op_plan {
    tw_program program;
    tw_timeline timeline;
    const tw_op_map *next; /* the mapping of the operator behind it, NULL: there is none */
    tw_touches touches;    /* of a group whose addresses had to be found */
    bool searched;
    tw_search_record search;
    tw_search_result result; /* the same for the public interface: points into `search` */
    tw_memory_use memory[TW_MAX_MEMORIES];
    tw_link_use link[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* into memory m, from 1 on */
} tw_op_plan;

/* A piece of memory that is given out as one, see placing.h. */
typedef struct tw_block {
    int op, operand;
    int last_op;           /* that touches it: it is kept until that one is over                           */
    int slot;              /* -1: all slots of the pool                                                    */
    int first, n;          /* buffers of the operator's layout; n 0: nothing ever lies there               */
    int64_t size;          /* units                                                                        */
    int64_t lower, upper;  /* live in commands [lower, upper) of the group                             */
    int64_t reads, writes; /* commands that do                                                        */
    int64_t offset;
} tw_block;

typedef struct tw_placing { /* of one memory in one group of operators */
    int memory, first_op, n_ops;
    tw_placement policy;
    int64_t capacity, align;
    int n_blocks;
    tw_block *block; /* in the order in which `bump` gives them out                         */
    int64_t n_commands;
    bool coarse;                     /* too many commands to look at: lifetimes are whole operators         */
    int64_t height[TW_N_PLACEMENTS]; /* that each policy takes                                        */
    bool proven;                     /* the last one is the least                                           */
    int64_t least;                   /* no placement is lower than this                                     */
    int64_t live;                    /* most units that must be there at once,                              */
    int live_op;                     /* in this operator                                                    */
} tw_placing;

typedef struct tw_front_list { /* Pareto front of one operator */
    int n;
    const tw_front_point *point;
} tw_front_list;

/* How groups were found. */
typedef struct tw_joint_search {
    bool given;         /* nothing was searched: the rest is what groups that a file gives are compared with */
    tw_measure measure; /* that was made small                                                    */
    tw_summary
        apart; /* what the same takes layer by layer: the plan that it was compared with; cycles 0: there is none */
    const tw_summary *apart_op; /* per operator of the model: what it takes in that plan; NULL: not known        */
    int64_t bound;              /* proven: no plan, fused or not, takes fewer cycles; 0: not known           */
    const char *bound_by;       /* the engine that is busy so long; NULL: not known                          */
    bool bound_waits;           /* or, before that, waits for work that it cannot load further ahead of      */
    int64_t bound_units;        /* proven: no plan moves fewer into and out of memory 0; 0: not known        */
    int64_t n_simulated;        /* programs of groups                                                     */
    double seconds;             /* of the search for groups                                               */
    int n_cores;                /* that were searched; 0: the machine has none, or one                    */
    const int64_t *alone;       /* per core: cycles of the best plan on it alone; 0: there is none; -n: none was
                                   looked for, since it takes n at least and better was known          */
    int64_t equal;              /* cycles of the same groups in equal parts on all cores; 0: not known    */
    double space; /* mappings of a small space, none of which is better (fuse/exact.h); 0: not known   */
} tw_joint_search;

/* Operators that run as groups, all on one timeline. */
typedef struct tw_joint_plan {
    const tw_joint_search *search; /* NULL: the mapping was given */
    const tw_joint *program;
    tw_joint_timeline timeline;
    const tw_memory_use *memory;    /* per memory of the platform                        */
    const struct tw_group_end *end; /* per group: why it ends there (ends.h); NULL: not known */
} tw_joint_plan;

struct tw_plan {
    const tw_joint_plan
        *joint; /* NULL: operators run one after the other, each as `op` says; otherwise `op` has summaries alone */
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_op_plan *op;       /* one per operator of the model, run one after the other */
    const tw_front_list *front; /* one per operator, NULL: not searched */
    int n_placings;             /* per group and memory                 */
    const tw_placing *placing;
    const tw_placement_use *placement; /* the same for the public interface */
    tw_summary sum;
};

/* Who is asked for help when nothing fits: notes follow the reason. What helps is found by planning again, so that it
 * lies above this folder: advise/. */
typedef struct tw_advisor {
    /* The mapping needs more than a memory of the machine, the operator's view, has. */
    void (*too_large)(const tw_problem *problem, const tw_op_map *map, tw_arena *scratch, tw_diag *diag);
    /* In the operator's space nothing fits beside the others, `proven`, or nothing was found that does. */
    void (*nothing_fits)(const tw_problem *problem, const tw_op_map *beside, const tw_search_options *options,
                         bool proven, tw_arena *scratch, tw_diag *diag);
} tw_advisor;

/* Where a mapping comes from. */
typedef struct tw_origin {
    const tw_search_record *found;        /* how the search of each operator ended; NULL: it was given       */
    const tw_front_list *front;           /* the Pareto front of each; NULL: none                            */
    const tw_advisor *advisor;            /* NULL: nobody is asked                                           */
    const struct tw_evaluator *evaluator; /* of that search: may have simulated it already; NULL: none */
} tw_origin;

/* Lays out, programs and times the mapping of every operator; `origin` NULL: a given mapping, and nobody is asked. */
TW_NODISCARD tw_status tw_plan_build(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                                     const tw_origin *origin, const tw_work *work, const tw_plan **out);
/* The same for a mapping with groups: in joint.c. TW_WRONG when the program that was made of it cannot go on; the plan is written then, too,
 * with the commands that ran, for tw_joint_tell_fault. */
TW_NODISCARD tw_status tw_plan_build_joint(const tw_model *model, const tw_machine *machine,
                                           const tw_mapping *mapping, const tw_joint_search *search,
                                           const tw_work *work, const tw_plan **out);
/* What is to be planned, and how a mapping of it is looked for. */
typedef struct tw_request {
    const tw_model *model;
    const tw_machine *machine;
    const tw_search_options *options;
    const tw_mapping *start;   /* what an earlier search over the same space found; NULL: there was none */
    const tw_advisor *advisor; /* NULL: nobody is asked                                                  */
    bool
        writes; /* padding that the machine does not take may be written, so that the plan is about a larger model */
} tw_request;
/* Finds a mapping first. */
TW_NODISCARD tw_status tw_plan_find(const tw_request *asked, const tw_work *work, const tw_plan **out);
/* Lets the judges watch operator `op`; of a plan with groups all of it. The verdict is written whenever the run was possible. */
TW_NODISCARD tw_status tw_plan_judge(const tw_plan *plan, int op, const tw_verify_options *options,
                                     const tw_work *work, const tw_verdict **out);

/* Operators [first, first + n), a group: see placing.h. `map` has an entry for every operator of the model. */
typedef struct tw_group {
    const tw_model *model;
    const tw_machine *machine;
    const tw_op_map *map;
    int first, n;
    const tw_advisor *advisor;            /* NULL: nobody is asked */
    const struct tw_evaluator *evaluator; /* as tw_origin has it */
    const tw_op_plan *like;               /* the plans of an equal group; NULL: there is none before it */
} tw_group;
/* What is made of groups: `op` has room for every operator of the model, `placing` for every memory of each group. */
typedef struct tw_parts {
    tw_op_plan *op;
    tw_placing *placing;
    int n_placings;
} tw_parts;
/* Programs, timelines and addresses of the group, added to `out`. */
TW_NODISCARD tw_status tw_group_build(const tw_group *group, const tw_work *work, tw_parts *out);
/* Whether operators that run one after the other on view 0 are all that there is to it: what only a mapping with groups can use is
 * refused, and operands that no mover carries. */
TW_NODISCARD tw_status tw_machine_suits(const tw_model *model, const tw_machine *machine, tw_diag *diag);
#endif
