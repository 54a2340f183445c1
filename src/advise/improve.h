/* src/advise/improve.h - a mapping that fits: which single change of it would be faster?
 *
 * Every change of moves.h is simulated. Of changes of one kind (the tile along one loop, the buffers of one operand, the order at
 * one level) the best is told. A change for which a memory is too small is simulated in memories of any size, and what it
 * needs is told:
 *
 *     buffers of ofm in fabric: 2, not 1; needs 8'192 bytes of fabric, which has 4'096 */
#ifndef TW_ADVISE_IMPROVE_H
#define TW_ADVISE_IMPROVE_H
#include "core/deadline.h"
#include "plan/evaluate.h"
#include "plan/plan.h"

/* The plan that is asked about, and who answers. */
typedef struct tw_improver {
    const tw_plan *plan;
    const tw_eval *eval;
    const tw_goals *goals; /* the first one counts */
    const tw_deadline *deadline;
    tw_arena *arena, *scratch; /* words are made in `arena` */
    int64_t *left; /* commands that may still be simulated, NULL: any number; 0: what is asked then is not tried */
} tw_improver;

typedef struct tw_improvement {
    tw_change_kind kind;
    const char *change;
    double value;              /* of the operator */
    const tw_op_map *map;      /* with the change                                             */
    const tw_machine *machine; /* with memories that are just large enough for it; NULL: they are */
} tw_improvement;

/* The first goal of the operator with this mapping on this machine; INFINITY: it does not fit, or is no mapping. */
TW_NODISCARD tw_status tw_improver_value(const tw_improver *a, int op, const tw_machine *machine,
                                         const tw_op_map *map, double *out);
/* The changes of operator `op` with less than `value`, the best first. *all: every one was tried before the deadline. */
TW_NODISCARD tw_status tw_improvements_find(const tw_improver *a, int op, double value, const tw_improvement **out,
                                            int *n, bool *all);
#endif
