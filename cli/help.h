/* cli/help.h - --help, --usage and --version of every command.
 *
 * argp has them too, but loses parts of its help, or all of it, without a word when memory is short: here they are printed only if
 * they came out the same twice. */
#ifndef TW_CLI_HELP_H
#define TW_CLI_HELP_H
#include <argp.h>

/* argp_parse with these options; whatever it cannot do ends the process with a message. */
void help_parse(const struct argp *argp, int argc, char **argv, void *input);
#endif
