/* src/sim/joint.h - when every command of a program of groups runs.
 *
 * Each group is a stream in program order; engines run their commands in the order in which they are handed to them. Of the next
 * commands of all groups the one that can start first is next, of equals the group that stands first. Loads of what
 * another group makes wait until that one has no commands left. docs/design/groups.md, 9 to 11, has the rules. */
#ifndef TW_SIM_JOINT_H
#define TW_SIM_JOINT_H
#include "program/nest.h"
#include "sim/timeline.h"

typedef struct tw_joint_span {      /* of one operator of a group */
    int64_t start_cycle, end_cycle; /* of its executions */
    int64_t execs, macs;
    int64_t rescaled;    /* points of those that rescale what was added up               */
    int64_t busy;        /* cycles of its engine, summed over units                      */
    int64_t most_points; /* of one execution,                                            */
    int64_t n_most;      /* and how many have as many                                    */
    tw_box most;         /* one of these                                                 */
} tw_joint_span;

typedef struct tw_joint_timeline {
    tw_summary sum;
    tw_engine_use *engine;                 /* per engine of the platform                */
    tw_link_count *link;                   /* per hold: what comes into it or, of outputs, leaves it */
    tw_pool_use *pool;                     /* per hold                                  */
    tw_span *life;                         /* per hold: from its first buffer taken to its last given back */
    tw_joint_span (*op)[TW_MAX_GROUP_OPS]; /* per group and operator               */
    int64_t *port_busy, *port_passed;      /* per port                                  */
    int64_t *port_units;                   /* per port: in whole words, what is heard once */
    int64_t
        outermost_units; /* read from and written to memory 0: as its ports count, in whole words, what is heard once */
    tw_idle *idle;       /* per engine: of those that compute         */
    int64_t *op_extra;            /* per group and operator, flat: cycles of `idle` late and contended */
    int64_t *no_data, *no_credit; /* per engine and hold: engine * holds + hold, see tw_timeline */
    int64_t *group_fj;            /* per group: energy of its commands         */
    int *first_wait;              /* per engine: hold that its first execution waited for last, -1: none */
} tw_joint_timeline;

/* Tables go into the work's arena. The sink, which may be NULL, sees every command in program order. TW_STOPPED when the deadline
 * of the diagnostics ends it. TW_WRONG when groups wait for each other, or for a buffer that there is not: whoever made the program was
 * wrong. The timeline is then that of the commands that ran, for the verifier to find out more. */
TW_NODISCARD tw_status tw_joint_run(const tw_joint *joint, const tw_row_sink *sink, const tw_work *work,
                                    tw_joint_timeline *out);
/* Femtojoules of one command. */
double tw_joint_energy(const tw_platform *platform, const tw_instr *in);
/* Cycles, counts and energy alone, which is faster; nothing is left in an arena. TW_INFEASIBLE when the meter, which counts commands
 * and may be NULL, ends it. */
TW_NODISCARD tw_status tw_joint_measure(const tw_joint *joint, tw_meter *meter, const tw_work *work,
                                        tw_summary *out);
#endif
