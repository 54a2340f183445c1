/* cli/cmd_emit.c - the plan as another compiler reads it. */
#include "cmd.h"
#include "session.h"

int cmd_emit(int argc, char **argv)
{
    cli_options options;
    cli_options_emit(argc, argv, &options);
    return session_emit(&options);
}
