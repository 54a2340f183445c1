/* src/report/facts/jointfacts.h - what reports say of a plan of groups. */
#ifndef TW_REPORT_FACTS_JOINTFACTS_H
#define TW_REPORT_FACTS_JOINTFACTS_H
#include "plan/plan.h"
#include "report/report.h"

/* What is busy longest: no schedule of these commands is shorter. */
typedef struct tw_joint_limit {
    bool port;      /* a port, otherwise an engine */
    int number;     /* of the platform             */
    int64_t cycles; /* of its busiest unit or way, at least */
} tw_joint_limit;
tw_joint_limit tw_joint_limit_of(const tw_plan *plan);
/* The name of that engine or port. */
const char *tw_joint_limit_name(const tw_plan *plan, const tw_joint_limit *limit);
/* The engine with the largest share of the critical path. */
int tw_joint_most_critical(const tw_plan *plan);
/* Cycles of the critical path that are no engine's: a transfer waited for a port. */
int64_t tw_joint_port_path(const tw_plan *plan);
/* Cycles that an engine's units neither work nor wait. */
int64_t tw_joint_idle(const tw_plan *plan, int engine);
/* Whether the engine runs and moves nothing. */
bool tw_joint_does_nothing(const tw_plan *plan, int engine);
/* Femtojoules of what engine e computes. */
int64_t tw_joint_compute_energy(const tw_plan *plan, int engine);

/* From the first execution of the group to the end of the last. */
tw_span tw_joint_group_span(const tw_plan *plan, int group);
/* "while m, n stand still", "for a step", "for a part of a step", "all along". */
void tw_joint_kept_print(const tw_plan *plan, const tw_nest_hold *hold, int group, tw_text *out);
/* The loop of the group's driver along which the window of a hold slides that does. */
const char *tw_joint_slide_loop(const tw_plan *plan, const tw_nest_hold *hold, int group);
/* The engine that makes the transfers which a hold counts: loads into it, stores out of it; -1: there are none. */
int tw_joint_mover_of(const tw_plan *plan, int hold);
/* The group that a hold belongs to. */
int tw_joint_group_of_hold(const tw_plan *plan, int hold);

enum { TW_JOINT_LABEL = 256 };
/* "mid[2,1]": a tensor, or an operator that runs, with the tiles of the group's cuts that it is for; of what is held longer, of
 * those that stand still meanwhile. `text` has room for TW_JOINT_LABEL bytes and is returned. */
const char *tw_joint_label(const tw_plan *plan, const tw_instr *in, char *text);

/* How many of the loops that the group cuts stand in it; and all of them, in the order of the cuts, with how many there are. */
int tw_joint_label_depth(const tw_plan *plan, const tw_instr *in);
int tw_joint_cut_loops(const tw_plan *plan, int group, int loop[TW_MAX_LOOPS]);

/* What passes a port of a tensor. Loads that hear another one are delivered and do not pass. */
typedef struct tw_port_traffic {
    int port, tensor;                    /* of the platform, of the model    */
    int64_t transfers, units, delivered; /* that pass; units that arrive     */
} tw_port_traffic;
/* In the order of ports and tensors, those that there are. All that pass one port add up to what the port has passed. */
TW_NODISCARD tw_status tw_joint_port_traffic(const tw_plan *plan, const tw_work *work, int *n,
                                             const tw_port_traffic **out);

/* Lets the sink see every command again, in the order of the program. */
TW_NODISCARD tw_status tw_joint_walk(const tw_plan *plan, const tw_row_sink *sink, tw_arena *scratch,
                                     tw_diag *diag);
/* The same as the public interface shows it: `action` has room for one. */
void tw_joint_row(const tw_plan *plan, const tw_rowset *row, tw_action *action, tw_action_tables *tables,
                  tw_row *out);
#endif
