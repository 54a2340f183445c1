/* src/report/data/joint_json.h - what a plan.json has of a plan of groups: docs/json.md, "Plans of groups". */
#ifndef TW_REPORT_DATA_JOINT_JSON_H
#define TW_REPORT_DATA_JOINT_JSON_H
#include "plan/plan.h"
#include "write/json.h"

/* Keys and values of the document's object: groups, bottleneck, engines, ports, memories, holds, buffers. */
void tw_joint_json(const tw_plan *plan, tw_json *j);
/* `port_traffic`: what passes each port of each tensor. */
TW_NODISCARD tw_status tw_joint_traffic_json(const tw_plan *plan, const tw_work *work, tw_json *j);
/* Keys and values of one command, inside its object: the group, the operator, and the label. */
void tw_joint_command_json(const tw_plan *plan, const tw_instr *in, tw_json *j);
#endif
