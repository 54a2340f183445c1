/* cli/output.h - where the command writes: standard output, watched for errors, and files replaced as a whole. */
#ifndef TW_CLI_OUTPUT_H
#define TW_CLI_OUTPUT_H
#include "target.h"
#include "temporary.h"

#include <stdbool.h>
#include <stdio.h>

/* A stream to standard output that remembers the first error. A reader that went away (EPIPE) is no fault of
 * anybody: what follows is dropped in silence. NULL when out of memory. */
FILE *output_open(void);
/* Sends what is still held back; 0, or the errno of the first error other than EPIPE. */
int output_flush(FILE *stream);
/* Whether the reader went away. */
bool output_was_left(void);
/* Ends the stream; returns as output_flush does. */
int output_close(FILE *stream);

/* "wrote out/report.html, plan.json and mapping.yaml", in lines of at most so many columns where names allow it. */
void output_say_wrote(const char *folder, const char *const *name, int n, int columns, FILE *out);
/* "wrote PATH" */
void output_say_file(const char *path, FILE *out);

/* Whether a folder can be made there and written to, or a file of this path; nothing is made. Errors go to errno. */
bool output_folder_is_possible(const char *path);
bool output_path_is_possible(const char *path);
/* Makes the folder and what is missing above it. */
bool output_make_folder(const char *path);
/* A file that replaces folder/name when it is complete: it is written beside it under another name. What exists and
 * is no regular file (a pipe, a device, /dev/stdout) is written to directly; see target.h. */
typedef struct output_file {
    FILE *stream;
    target target;
    temporary *made; /* NULL: the target is written to directly */
} output_file;
/* Errors go to errno, here and below. */
bool output_file_open(output_file *file, const char *folder, const char *name);
/* The same for a path. */
bool output_path_open(output_file *file, const char *path);
/* Says that it could not be written, by errno. */
void output_complain(const char *path);
/* Puts it in place: on disk first, then under its name. False leaves what was there before. */
bool output_file_commit(output_file *file);
/* Gives it up. */
void output_file_drop(output_file *file);

/* Files that are complete and wait for their names: all of them appear, or none. More than there is room for are put in place
 * in parts. All zero: empty. */
enum { OUTPUT_BATCH = 64 };
typedef struct output_batch {
    int n;
    output_file file[OUTPUT_BATCH];
} output_batch;
/* Takes a file over when all of it was written; false with errno gives it up. */
bool output_batch_add(output_batch *batch, output_file *file);
/* Puts all in place. False says which one cannot be written and gives up the rest. */
bool output_batch_commit(output_batch *batch);
void output_batch_drop(output_batch *batch);

/* Removes a file, or the link to one, of an earlier run; false: there was none. Nothing else is removed. */
bool output_remove(const char *folder, const char *name);
#endif
