/* cli/cmd_eval.c - what does this mapping cost, does it fit, is it right? */
#include "cmd.h"
#include "session.h"

int cmd_eval(int argc, char **argv)
{
    cli_options options;
    cli_options_eval(argc, argv, &options);
    return session_run(&options);
}
