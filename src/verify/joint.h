/* src/verify/joint.h - nothing is believed of groups, either.
 *
 * The judge of a program of groups (mapping/group.h; docs/design/groups.md has the rules) knows the workload, the machine as a
 * graph, the groups as they were written, the table of buffers and the commands with their times. It derives everything else
 * itself, and shares no code with what made them. */
#ifndef TW_VERIFY_JOINT_H
#define TW_VERIFY_JOINT_H
#include "mapping/group.h"
#include "verify/verify.h"

/* Numbers to run on instead of drawn ones, and room for what becomes of them: dense, in the order of the elements. */
typedef struct tw_joint_given {
    const double *const *tensor; /* per tensor: of one that is its own root and that no operator makes   */
    const tw_given *op;          /* per operator: what is held                                           */
    double *const
        *made; /* per tensor that an operator makes: what lies in memory 0 at the end or, of one that never
                                    comes there, what executions made of it; written where `there` has 1 */
    uint8_t *const *there; /* the same, per element; all 0 at first                                */
} tw_joint_given;

typedef struct tw_joint_input {
    const tw_model *model;
    const tw_platform *platform;
    int n_groups;
    const tw_group_map *group;
    int n_residents;
    const tw_group_resident *resident;
    int n_rooms;
    const tw_group_room *room;
    int n_buffers;
    const tw_buffer *buffer;
    const tw_claims *claims;     /* NULL: nothing is compared */
    const tw_deadline *deadline; /* that may end it; NULL: none */
    uint64_t seed;               /* of the numbers that it is executed on */
    const tw_joint_given *given; /* NULL: they are drawn, and compared with a reference in the end */
    bool executes;
    tw_reference_fn reference; /* asked before the library's own, with `user`; NULL: nobody is */
    void *user;
    bool unhurried; /* commands may start later than they could, and groups take turns as they like */
} tw_joint_input;

typedef struct tw_joint_judge tw_joint_judge;
/* NULL when out of memory. Everything is allocated in `arena`. */
tw_joint_judge *tw_joint_judge_new(const tw_joint_input *in, tw_arena *arena);
/* Takes the commands in program order, with their times; each row is one command. Only TW_ERR_NOMEM stops a run. */
tw_row_sink tw_joint_judge_sink(tw_joint_judge *judge);
/* After the last command: the first fault found, NULL when there is none. `*elements`: of all outputs, compared with the
 * reference, which is computed operator by operator on whole tensors; 0 when nothing was executed. `*who`: the reference. */
TW_NODISCARD tw_status tw_joint_judge_finish(tw_joint_judge *judge, const char **fault, const char **who,
                                             int64_t *elements);
#endif
