/* cli/output.h - where the command writes: standard output, watched for errors, and files replaced as a whole. */
#ifndef TW_CLI_OUTPUT_H
#define TW_CLI_OUTPUT_H
#include <stdbool.h>
#include <stdio.h>

/* A stream to standard output that remembers the first error. A reader that went away (EPIPE) is no fault of
 * anybody: what follows is dropped in silence. NULL when out of memory. */
FILE *output_open(void);
/* Ends the stream; 0, or the errno of the first error other than EPIPE. */
int output_close(FILE *stream);

/* Makes the folder and what is missing above it. */
bool output_make_folder(const char *path);
/* Replaces folder/name by `bytes`: a temporary file beside it, fsync, rename. Errors go to errno. */
bool output_replace(const char *folder, const char *name, const char *bytes, size_t n);
#endif
