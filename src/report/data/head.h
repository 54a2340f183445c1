/* src/report/data/head.h - what every document about a model on a machine begins with. */
#ifndef TW_REPORT_DATA_HEAD_H
#define TW_REPORT_DATA_HEAD_H
#include "machine/machine.h"
#include "write/json.h"

void tw_json_head(tw_json *j, const char *schema, int version, const tw_model *model, const tw_machine *machine);
/* The key "loops", and a list of the operator's. */
void tw_json_loops(tw_json *j, const tw_op *op);
#endif
