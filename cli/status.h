/* cli/status.h - what the library said, as messages and as an exit code. */
#ifndef TW_CLI_STATUS_H
#define TW_CLI_STATUS_H
#include "tilewright/tilewright.h"

/* Prints the messages of the context, which may be NULL, forgets them, and translates the status. */
int status_exit(tw_context *ctx, tw_status status);
#endif
