/* src/report/text/joint.h - a plan of groups for people: how long and why, then groups, engines, ports, memories, what is held
 * where, and all engines over time. */
#ifndef TW_REPORT_TEXT_JOINT_H
#define TW_REPORT_TEXT_JOINT_H
#include "plan/plan.h"
#include "write/line.h"

/* `verdict` is about the whole program; NULL: not verified. `brief`: without the tables behind the groups. */
TW_NODISCARD tw_status tw_joint_print(const tw_plan *plan, const tw_verdict *verdict, bool brief, tw_line *line,
                                      const tw_work *work);
/* "a alone 24'282, c alone 12'632; equal parts on all 9'863"; nothing on one core. */
void tw_cores_compared_print(const tw_platform *platform, const tw_joint_search *search, tw_line *line);
/* That all of a small space was looked at; nothing where it was not. */
void tw_joint_space_print(const tw_plan *plan, tw_line *line);
#endif
