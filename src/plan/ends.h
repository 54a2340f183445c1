/* src/plan/ends.h - why does a group end where it ends? What is in the way of joining it with the next one:
 *
 *     a structure       its last steps and the next group share nothing, or see a tensor in different shapes; others read what would stay inside, or it is an output;
 *                       a group would have too many operators, or no engines of one core
 *     memory            no tiling of both together fits; tried with memories of twice, four times, .. the size
 *     cost              one fits, and its closed form is what it is: shown beside that of both groups by themselves
 *
 * The answers are estimates in closed form (fuse/tiling.h), not simulations: advice simulates (advise/). */
#ifndef TW_PLAN_ENDS_H
#define TW_PLAN_ENDS_H
#include "plan/plan.h"

typedef enum tw_end_kind {
    TW_ENDS_LAST,
    TW_ENDS_ELSEWHERE, /* the next group does not follow it in the order of the operators, or is a part */
    TW_ENDS_UNRELATED, /* the next group reads nothing that it makes                                    */
    TW_ENDS_SHAPE,     /* the next group sees `tensor` in another shape                                 */
    TW_ENDS_SHARED,    /* `op`, behind both, reads `tensor`, too                                        */
    TW_ENDS_OUTPUT,    /* `tensor`, which would stay inside, is an output of the model                  */
    TW_ENDS_MANY,      /* too many operators                                                            */
    TW_ENDS_ENGINES,   /* no way to run both together                                                   */
    TW_ENDS_MEMORY,    /* memory `memory` of `has` units is too small, one of `fits` is not; 0: none is */
    TW_ENDS_COST,      /* both together take `joined` cycles, by themselves `apart`                     */
} tw_end_kind;
typedef struct tw_group_end {
    tw_end_kind kind;
    const char *tensor, *op, *memory;
    int64_t has, fits;
    int64_t joined, apart; /* cycles in closed form */
} tw_group_end;

/* Of each group of the plan, in its arena; NULL in *out when time is up. */
TW_NODISCARD tw_status tw_group_ends_find(const tw_plan *plan, const tw_work *work, const tw_group_end **out);
/* *out is the plan with them, or the plan itself where time is up. */
TW_NODISCARD tw_status tw_joint_with_ends(const tw_plan *plan, const tw_work *work, const tw_plan **out);
/* "memory sram of 1'048'576 bytes is too small for it and the next group together, 2'097'152 would do"; NULL when out of memory. */
const char *tw_group_end_text(const tw_plan *plan, const tw_group_end *end, tw_arena *arena);
#endif
