/* cli/cmd_plan.c - search, verify, show; the mapping that is written reproduces the plan with `eval`. */
#include "cmd.h"
#include "session.h"

int cmd_plan(int argc, char **argv)
{
    cli_options options;
    cli_options_plan(argc, argv, &options);
    return session_run(&options);
}
