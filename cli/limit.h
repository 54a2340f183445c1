/* cli/limit.h - the time that a command may take, counted from its start.
 *
 *     |------------------- search ------------------|-- explain --|-- verify --|-- files, report --|
 *     start                                                       limit - reserve            limit |
 *
 * One limit is for the whole command. A search leaves a reserve, since a plan is worth more when it is verified; what is not
 * reached by the limit is left out and named. Files and the report are written then, of what there is: for them there is
 * a grace of a tenth of the limit and a little more. */
#ifndef TW_CLI_LIMIT_H
#define TW_CLI_LIMIT_H
#include "tilewright/tilewright.h"

/* Called by main before anything else: here the time begins. */
void limit_begin(void);
/* All work of the context ends so many seconds after the start, 0: never. Takes back an interruption. */
void limit_apply(tw_context *ctx, double seconds);
/* The same with the grace: from here on there are only files and the report. */
void limit_apply_grace(tw_context *ctx, double seconds);
/* Seconds for a search that may take this share of what is left of the limit before its reserve; 0: no limit. */
double limit_of_search(double seconds, double share);
#endif
