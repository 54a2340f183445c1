/* src/plan/execute.h - lets the judges watch the program of a plan, and runs it on given numbers. */
#ifndef TW_PLAN_EXECUTE_H
#define TW_PLAN_EXECUTE_H
#include "plan/plan.h"
#include "verify/joint.h"

/* What the judges need to know about a program; `level` and `resident` are written and must live as long. */
tw_verify_input tw_verify_input_of(const tw_program *p, const tw_op_map *next, tw_level_info level[TW_MAX_MEMORIES],
                                   tw_resident resident[TW_MAX_OPERANDS]);
/* What the plan reports of the operator. */
tw_claims tw_claims_of(const tw_op_plan *plan);
typedef struct tw_judges {
    tw_checker *checker;
    tw_executor *executor; /* NULL: nothing is executed          */
    tw_arena *arena;       /* lives until both have been asked   */
} tw_judges;
/* Walks the program once, past the judges and `other`, which may be NULL. */
TW_NODISCARD tw_status tw_watch(const tw_op_plan *plan, const tw_row_sink *other, const tw_judges *judges,
                                tw_arena *scratch, tw_diag *diag);

/* Counts what goes by for a verdict, and says how far it has come of so many instructions. */
typedef struct tw_row_count {
    tw_verdict *verdict;
    const tw_verify_options *options;
    int64_t total;
} tw_row_count;
tw_row_sink tw_row_count_sink(tw_row_count *count);
/* What the judge of groups says of the program; its faults live in `judges`. */
TW_NODISCARD tw_status tw_joint_hear(const tw_plan *plan, const tw_verify_options *options, const tw_work *work,
                                     tw_arena *judges, tw_verdict *v);
/* Of a plan whose program cannot go on (tw_plan_build_joint): what the verifier says of the part that ran, as a note. Returns TW_WRONG, or
 * why there is no answer. */
TW_NODISCARD tw_status tw_joint_tell_fault(const tw_plan *plan, const tw_work *work);

/* Runs a plan with groups on given numbers, every command checked; *fault as below. */
TW_NODISCARD tw_status tw_joint_execute(const tw_plan *plan, const tw_joint_given *given, tw_arena *scratch,
                                        tw_diag *diag, const char **fault);

/* The same for an operator of the same kind (model/layers.h). */
tw_op_plan tw_op_plan_for(const tw_op_plan *plan, const tw_model *model, int op);
/* The operator's output for given inputs, as its instructions compute it; the checker looks on. `out` has room for all its elements. `*fault`, in `scratch`, is the first fault of either judge, NULL: there is none, and
 * only then `out` is written. Plans are only read: several threads may run at once, each with its own `scratch` and
 * `diag`. */
TW_NODISCARD tw_status tw_plan_execute(const tw_op_plan *plan, const tw_given *given, tw_arena *scratch,
                                       tw_diag *diag, double *out, const char **fault);
#endif
