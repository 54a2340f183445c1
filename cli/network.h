/* cli/network.h - one run of the library on a whole network: open, plan or evaluate, run, show. */
#ifndef TW_CLI_NETWORK_H
#define TW_CLI_NETWORK_H
#include "options.h"

/* Searches a plan, or evaluates the mapping that is given; returns the exit code. */
int network_plan(const cli_options *options);
/* The same, and executes it. */
int network_verify(const cli_options *options);
#endif
