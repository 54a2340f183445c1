/* cli/terminal.c - see terminal.h. */
#include "terminal.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MIN = 60, COLUMNS_MAX = 400 };

static const char *const when_words[] = {"auto", "always", "never", NULL};

static bool wants_colour(const char *when)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(when, "auto") != 0) return strcmp(when, "always") == 0;
    if (no_color && *no_color) return false;
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

int terminal_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static int report_columns(void)
{
    int width = terminal_width(STDOUT_FILENO);
    return width < COLUMNS_MIN ? COLUMNS_MIN : width > COLUMNS_MAX ? COLUMNS_MAX : width;
}

int terminal_read_columns(const struct argp_state *state, const char *text)
{
    return (int)value_number(state, "--columns", text, COLUMNS_MIN, COLUMNS_MAX);
}

const char *terminal_read_colour(const struct argp_state *state, const char *text)
{
    return when_words[value_word(state, "--color", text, when_words)];
}

/* Whether the user's locale is one of UTF-8, by its name: "de_DE.UTF-8", "C.utf8". The locale itself is not asked for, since
 * nothing else of it is wanted here, and no number must be written by it. */
static bool shows_utf8(void)
{
    static const char *const variable[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof variable / sizeof *variable && !(name && *name); i++) name = getenv(variable[i]);
    const char *codeset = name ? strchr(name, '.') : NULL;
    return codeset && (strncasecmp(codeset, ".UTF-8", 6) == 0 || strncasecmp(codeset, ".UTF8", 5) == 0);
}

void terminal_apply(const terminal *wanted, tw_print_options *out)
{
    out->size = sizeof *out;
    out->columns = wanted->columns ? wanted->columns : report_columns();
    out->colour = wants_colour(wanted->colour);
    out->seconds = isatty(STDOUT_FILENO); /* what goes into a file is the same every time */
    out->ascii = wanted->ascii || !shows_utf8();
}
