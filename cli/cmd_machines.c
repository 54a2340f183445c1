/* cli/cmd_machines.c - the machines that come with the library. */
#include "cmd.h"
#include "finish.h"
#include "options.h"
#include "output.h"
#include "status.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DESCRIPTION = 19 }; /* column of the description */

/* The next word of a comment: behind blanks, ends of lines and their signs. */
static const char *next_word(const char *text, int *length)
{
    text += strspn(text, " #\n");
    *length = (int)strcspn(text, " \n");
    return text;
}

/* The sentence that a machine file opens with, in as many lines as it needs. */
static void print_entry(const char *name, const char *text, int columns, FILE *out)
{
    int at = fprintf(out, "%-*s", DESCRIPTION - 1, name), n = 0;
    bool open = text[0] == '#';
    for (const char *word = next_word(text, &n); open && n > 0; word = next_word(word + n, &n)) {
        if (at + 1 + n > columns) at = fprintf(out, "\n%*s", DESCRIPTION - 1, "") - 1;
        at += fprintf(out, " %.*s", n, word);
        open = word[n - 1] != '.';
    }
    fputc('\n', out);
}

/* False when there is no machine of that name; NULL lists all. */
static bool print_machines(const char *wanted, int columns, FILE *out)
{
    bool found = !wanted;
    for (int i = 0; tw_machine_builtin_name(i); i++) {
        const char *name = tw_machine_builtin_name(i), *text = tw_machine_builtin_text(i);
        if (!wanted) print_entry(name, text, columns, out);
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
    bool found = print_machines(options.machine, terminal_width(STDOUT_FILENO), out);
    int code = finish_output(&(finish){0}, out, TW_OK);
    if (code != EXIT_DONE) return code;
    if (!found) fprintf(stderr, "tilewright: there is no built-in machine '%s'\n", options.machine);
    return found ? EXIT_DONE : EXIT_INPUT;
}
