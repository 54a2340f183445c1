/* cli/finish.h - how a command ends: what it printed is out, the files that it made appear, and then it says so.
 *
 * All of it or nothing: the files are complete on disk before the report is printed, and get their names after it. */
#ifndef TW_CLI_FINISH_H
#define TW_CLI_FINISH_H
#include "output.h"
#include "tilewright/tilewright.h"

typedef struct finish {
    tw_context *ctx;
    output_batch *files;                      /* NULL: none                                          */
    void (*say)(const void *user, FILE *out); /* where they are, NULL: nothing                       */
    const void *user;
    bool apart; /* `say` says it on standard error                     */
} finish;

/* Ends standard output, to which something was printed with this status, and the files; returns the exit code. */
int finish_output(const finish *f, FILE *out, tw_status status);
#endif
