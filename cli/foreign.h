/* cli/foreign.h - a machine and a mapping of Stream, evaluated by our simulation. */
#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H
#include "options.h"

/* Whether `eval --rules=native` was given files of Stream: its machine, and a mapping that says which cores run what. */
bool foreign_is_meant(const cli_options *o);
/* The workload, the machine and the mapping of these files in our words. */
tw_status foreign_open(tw_context *ctx, const cli_options *o, const tw_model **model, const tw_machine **machine,
                       const tw_mapping **mapping);
#endif
