/* cli/cmd_machines.c - the machines that come with the library. */
#include "cmd.h"
#include "finish.h"
#include "options.h"
#include "output.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

/* The sentence that a machine file opens with. */
static void print_entry(const char *name, const char *text, FILE *out)
{
    int n = (int)strcspn(text, "\n");
    const char *comment = text[0] == '#' ? text + 1 : "";
    fprintf(out, "%-18s%.*s\n", name, *comment ? n - 1 : 0, comment);
}

/* False when there is no machine of that name; NULL lists all. */
static bool print_machines(const char *wanted, FILE *out)
{
    bool found = !wanted;
    for (int i = 0; tw_machine_builtin_name(i); i++) {
        const char *name = tw_machine_builtin_name(i), *text = tw_machine_builtin_text(i);
        if (!wanted) print_entry(name, text, out);
        if (!wanted || strcmp(wanted, name) != 0) continue;
        fputs(text, out);
        found = true;
    }
    return found;
}

int cmd_machines(int argc, char **argv)
{
    cli_options options;
    cli_options_machines(argc, argv, &options);
    FILE *out = output_open();
    if (!out) return status_exit(NULL, TW_ERR_NOMEM);
    bool found = print_machines(options.machine, out);
    int code = finish_output(&(finish){0}, out, TW_OK);
    if (code != EXIT_DONE) return code;
    if (!found) fprintf(stderr, "tilewright: there is no built-in machine '%s'\n", options.machine);
    return found ? EXIT_DONE : EXIT_INPUT;
}
