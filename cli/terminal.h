/* cli/terminal.h - what the terminal can do, and what the user wants of it. */
#ifndef TW_CLI_TERMINAL_H
#define TW_CLI_TERMINAL_H
#include "tilewright/tilewright.h"

#include <argp.h>

typedef struct terminal {
    int columns;        /* 0: as many as there are */
    bool ascii;         /* even where there is more */
    const char *colour; /* "auto", "always", "never" */
} terminal;

/* Columns of the terminal behind a descriptor; 80 when there is none. */
int terminal_width(int descriptor);
/* Values of --columns and --color; another text ends the process with a usage error. */
int terminal_read_columns(const struct argp_state *state, const char *text);
const char *terminal_read_colour(const struct argp_state *state, const char *text);
/* Width, colours and characters for standard output. */
void terminal_apply(const terminal *wanted, tw_print_options *out);
#endif
