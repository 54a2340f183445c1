/* cli/cmd_plan.c - search, verify, show; the mapping that is written reproduces the plan with `eval`. */
#include "cmd.h"
#include "network.h"
#include "rivals.h"
#include "session.h"

int cmd_plan(int argc, char **argv)
{
    cli_options options;
    cli_options_plan(argc, argv, &options);
    if (rivals_are_meant(&options)) return rivals_run(&options, true);
    return tw_network_is_path(options.workload) ? network_plan(&options) : session_run(&options);
}
