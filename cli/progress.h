/* cli/progress.h - what a search shows while it runs.
 *
 * On a terminal one line is written over and over, from half a second on, and is gone at the end:
 *
 *     matmul  best 8'616, bound 8'552 in space 'all', gap 0.74 %, 3.1 of at most 5.0 s
 */
#ifndef TW_CLI_PROGRESS_H
#define TW_CLI_PROGRESS_H
#include "tilewright/tilewright.h"

typedef struct progress {
    const tw_model *model;
    bool shown;  /* standard error is a terminal, and the user did not ask for silence */
    int width;   /* characters on the line now                                         */
    double last; /* seconds at which progress_say last drew                            */
} progress;

/* `model` names operators; NULL: progress_say does without. */
void progress_begin(progress *p, const tw_model *model, bool quiet);
/* As tw_search_options has it; `user` is a progress. False after Ctrl-C. */
bool progress_show(void *user, const tw_progress *now);
/* Any other line after so many seconds of work; false after Ctrl-C. Without a model. */
bool progress_say(progress *p, double seconds, const char *line);
/* The line is gone. */
void progress_end(progress *p);
#endif
