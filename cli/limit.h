/* cli/limit.h - the time that a command may take, counted from its start, and what Ctrl-C leaves of it.
 *
 *     |-- open --|----------- work: search ----------|-- explain --|-- verify --|-- files, report --|
 *     start                                                        limit - reserve            limit |
 *
 * One limit is for the whole command. A search leaves a reserve, since a plan is worth more when it is verified; what is not
 * reached by the limit is left out and named. Files and the report are written then, of what there is: for them there is
 * a grace of a tenth of the limit and a little more.
 *
 * Ctrl-C ends work and verification; of a search that it ends the result is verified if that takes a moment. Files and the report
 * are finished. */
#ifndef TW_CLI_LIMIT_H
#define TW_CLI_LIMIT_H
#include "tilewright/tilewright.h"

typedef enum limit_stage { LIMIT_OPEN, LIMIT_WORK, LIMIT_VERIFY, LIMIT_FILES, LIMIT_REPORT } limit_stage;

/* Called by main before anything else: here the time begins. */
void limit_begin(void);
/* The command has come to this stage, with a limit of so many seconds for all of it, 0: none. */
void limit_enter(tw_context *ctx, double limit, limit_stage stage);
/* Seconds for a search that may take this share of what is left of the limit before its reserve; 0: no limit. */
double limit_of_search(double seconds, double share);
#endif
