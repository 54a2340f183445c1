/* cli/cmd_eval.c - what does this mapping cost, does it fit, is it right? */
#include "cmd.h"
#include "foreign.h"
#include "network.h"
#include "rivals.h"
#include "session.h"

int cmd_eval(int argc, char **argv)
{
    cli_options options;
    cli_options_eval(argc, argv, &options);
    if (rivals_are_meant(&options)) return rivals_run(&options, false);
    bool network = tw_network_is_path(options.workload) && !foreign_is_meant(&options);
    return network ? network_plan(&options) : session_run(&options);
}
