/* cli/rivals.h - eval and plan of other tools' files. */
#ifndef TW_CLI_RIVALS_H
#define TW_CLI_RIVALS_H
#include "options.h"

/* Whether the rules that were asked for, the workload or the machine's files are another tool's. */
bool rivals_are_meant(const cli_options *options);
/* What the mapping of the files costs, or the best one; returns the exit code. */
int rivals_run(const cli_options *options, bool searches);
#endif
