/* cli/help.c - see help.h. */
#include "help.h"

#include "memo.h"
#include "options.h"
#include "status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_USAGE = -3 }; /* as argp numbers its own */

static const struct argp_option options[] = {{"help", '?', 0, 0, "Give this help list", -1},
                                             {"usage", KEY_USAGE, 0, 0, "Give a short usage message", 0},
                                             {"version", 'V', 0, 0, "Print program version", -1},
                                             {0}};

static _Noreturn void end_without_memory(void) { exit(status_exit(NULL, TW_ERR_NOMEM)); }

/* Ends the process, with what was printed on its way; a reader that went away has what it wanted. */
static _Noreturn void end_printing(void)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (!written && errno != EPIPE) {
        fprintf(stderr, "tilewright: cannot write to standard output: %s\n", strerror(errno));
        _exit(EXIT_WRITING); /* not to try again */
    }
    exit(EXIT_DONE);
}

static void render(const struct argp_state *state, unsigned what, memo *text)
{
    if (!memo_open(text)) end_without_memory();
    argp_help(state->root_argp, text->stream, what, state->name);
    if (!memo_close(text)) end_without_memory();
}

static _Noreturn void print_help(const struct argp_state *state, unsigned what)
{
    memo one, other;
    render(state, what, &one);
    render(state, what, &other);
    if (one.n != other.n || memcmp(one.bytes, other.bytes, one.n) != 0) end_without_memory();
    fwrite(one.bytes, 1, one.n, stdout);
    free(one.bytes);
    free(other.bytes);
    end_printing();
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    switch (key) {
    case '?': print_help(state, ARGP_HELP_STD_HELP & ~(unsigned)(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR));
    case KEY_USAGE: print_help(state, ARGP_HELP_USAGE);
    case 'V': printf("tilewright %s\n", tw_version()); end_printing();
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Without memory for its help, argp fails an assertion. */
static void be_out_of_memory(int signal)
{
    static const char text[] = "tilewright: out of memory\n";
    (void)signal;
    _exit(write(STDERR_FILENO, text, sizeof text - 1) < 0 ? EXIT_WRITING : EXIT_FAULT);
}

void help_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static const struct argp helper = {options, parse, 0, "\vdocs/glossary.md explains the words of the reports.",
                                       0,       0,     0};
    const struct argp_child children[] = {{argp, 0, 0, 0}, {&helper, 0, 0, 0}, {0}};
    const struct argp top = {.children = children};
    argp_err_exit_status = EXIT_USAGE;
    signal(SIGABRT, be_out_of_memory);
    if (argp_parse(&top, argc, argv, ARGP_NO_HELP, NULL, input) != 0) end_without_memory();
    signal(SIGABRT, SIG_DFL);
}
