/* cli/status.c - see status.h. */
#include "status.h"

#include "options.h"

#include <stdio.h>

int status_exit(tw_context *ctx, tw_status status)
{
    static const int code[] = {
        [TW_OK] = EXIT_DONE,           [TW_INFEASIBLE] = EXIT_INFEASIBLE, [TW_ERR_INPUT] = EXIT_INPUT,
        [TW_ERR_NOMEM] = EXIT_FAULT,   [TW_ERR_IO] = EXIT_INPUT,          [TW_WRONG] = EXIT_FAULT,
        [TW_STOPPED] = EXIT_INFEASIBLE};
    bool said = ctx && tw_context_n_messages(ctx) > 0;
    for (int i = 0; ctx && i < tw_context_n_messages(ctx); i++) fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    if (ctx) tw_context_clear_messages(ctx);
    if (status == TW_ERR_NOMEM) fputs("tilewright: out of memory\n", stderr);
    if (status == TW_WRONG && !said) fputs("tilewright: the planner made a wrong plan, please report it\n", stderr);
    return code[status];
}
