/* cli/rivals_all.h - a layer of other tools' files by the rules of all tools, beside our own simulated answer. */
#ifndef TW_CLI_RIVALS_ALL_H
#define TW_CLI_RIVALS_ALL_H
#include "tilewright/rivals.h"

#include <stdio.h>

/* Every layer: a table with a column per rules, and why the columns differ. As JSON: a list of all accounts. `plan` is our own answer; NULL:
 * the fastest plan on the machine that the files are converted to. */
tw_status rivals_print_all(tw_context *ctx, const tw_rival *rival, const tw_plan *plan, bool json, FILE *out);
#endif
