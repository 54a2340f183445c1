/* cli/cmd_verify.c - every layer of a network, run on numbers. */
#include "cmd.h"
#include "network.h"

int cmd_verify(int argc, char **argv)
{
    cli_options options;
    cli_options_verify(argc, argv, &options);
    return network_verify(&options);
}
