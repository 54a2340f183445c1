/* cli/visible.h - nothing that other people named reaches the terminal as it is.
 *
 * A path on the command line may hold what steers a terminal, reorders a line or begins a new one that looks like ours. All of
 * standard error goes through one door, which writes such things out ("\x1b"): messages of the command, of the library, and of
 * the C library about options. What is printed to standard output says `visible_print` for a path. */
#ifndef TW_CLI_VISIBLE_H
#define TW_CLI_VISIBLE_H
#include "tilewright/tilewright.h"

/* From here on `stderr` shows the visible form of what is printed to it: of each piece only the line feed at its end ends a
 * line. */
void visible_begin(void);
/* Prints the visible form of a text; returns its columns. */
int visible_print(const char *text, FILE *out);
/* Puts a line in the place of the one that is there on standard error, a terminal of so many columns, and that takes `before`
 * of them: its visible form, as much as fits. Returns its columns. The last column stays free, since a character there would
 * move some terminals to the next line. */
int visible_overwrite(const char *line, int before, int columns);
#endif
