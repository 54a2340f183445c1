/* cli/main.c - which sub-command? Without one, the built-in example. */
#include "cmd.h"
#include "interrupt.h"
#include "limit.h"
#include "options.h"
#include "visible.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *full_name;
    int (*run)(int argc, char **argv);
} command[] = {
    {"plan", "tilewright plan", cmd_plan},
    {"eval", "tilewright eval", cmd_eval},
    {"verify", "tilewright verify", cmd_verify},
    {"emit", "tilewright emit", cmd_emit},
    {"calibrate", "tilewright calibrate", cmd_calibrate},
    {"place", "tilewright place", cmd_place},
    {"compare", "tilewright compare", cmd_compare},
    {"machines", "tilewright machines", cmd_machines},
    {"convert", "tilewright convert", cmd_convert},
};

/* `tilewright help`, and `tilewright help COMMAND`, which is what `tilewright COMMAND --help` prints. */
static int help_with(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof command / sizeof *command; i++)
        if (strcmp(argv[2], command[i].name) == 0) {
            argv[1] = (char *)command[i].full_name;
            argv[2] = (char *)"--help";
            return command[i].run(2, argv + 1);
        }
    if (argc > 2) return cmd_example(argc - 1, argv + 1); /* which says that there is no such command */
    argv[1] = (char *)"--help";
    return cmd_example(argc, argv);
}

int main(int argc, char **argv)
{
    static char held_back[BUFSIZ]; /* no memory is needed to print help */
    limit_begin();
    interrupt_begin();
    visible_begin();
    setvbuf(stdout, held_back, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof held_back);
    signal(SIGPIPE, SIG_IGN); /* a reader that went away shows as EPIPE, see output.h */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow further shows as EFBIG      */
    const char *first = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof command / sizeof *command; i++)
        if (strcmp(first, command[i].name) == 0) {
            argv[1] = (char *)command[i].full_name;
            return command[i].run(argc - 1, argv + 1);
        }
    if (strcmp(first, "help") == 0) return help_with(argc, argv);
    return cmd_example(argc, argv);
}
