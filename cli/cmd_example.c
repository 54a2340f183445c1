/* cli/cmd_example.c - `tilewright` alone: a plan to look at, of a matmul on three levels of memory. */
#include "cmd.h"
#include "session.h"

int cmd_example(int argc, char **argv)
{
    cli_options options;
    cli_options_example(argc, argv, &options);
    return session_run(&options);
}
