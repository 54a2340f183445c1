/* cli/interrupt.h - what Ctrl-C does, in every command.
 *
 * The first one ends what the command is busy with, which then goes on with what there is; the second one ends the process.
 * What that means depends on how far the command is:
 *
 *     opening   nothing is there that could be kept: it says so and ends with exit code 1
 *     working   all work of the context is over now: a search has its best so far, a verification says that it was not finished
 *     writing   files and the report are finished, since they are what is kept
 *
 * Whoever started us with the signal ignored (nohup, a script's background) wants it ignored. */
#ifndef TW_CLI_INTERRUPT_H
#define TW_CLI_INTERRUPT_H
#include "tilewright/tilewright.h"

typedef enum interrupt_stage { INTERRUPT_OPENING, INTERRUPT_WORKING, INTERRUPT_WRITING } interrupt_stage;

/* Called by main: from here on the command is opening. */
void interrupt_begin(void);
/* How far the command is. Only the work of `ctx`, which may be NULL, is ended, and only while it is working. */
void interrupt_enter(interrupt_stage stage, tw_context *ctx);
/* Whether there was a Ctrl-C. */
bool interrupt_came(void);
/* Says on standard error that `what`, a noun, is the best that was found until Ctrl-C came; nothing if it did not. */
void interrupt_say(const char *what);
#endif
