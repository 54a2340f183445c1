/* cli/cmd_convert.c - files of other tools as files of ours. */
#include "cmd.h"
#include "finish.h"
#include "options.h"
#include "output.h"
#include "status.h"

#include <string.h>

static int convert(const cli_options *o, tw_context *ctx)
{
    const tw_rival *rival;
    tw_status status = ctx ? tw_rival_open(ctx, o->machine_file, o->n_machine_files, &rival) : TW_ERR_NOMEM;
    int code = status_exit(ctx, status);
    if (status != TW_OK) return code;
    FILE *out = output_open();
    if (!out) return status_exit(ctx, TW_ERR_NOMEM);
    status = (strcmp(o->converts_to, "machine") == 0 ? tw_rival_print_machine : tw_rival_print_workload)(ctx, rival,
                                                                                                         out);
    return finish_output(&(finish){.ctx = ctx}, out, status);
}

int cmd_convert(int argc, char **argv)
{
    cli_options options;
    cli_options_convert(argc, argv, &options);
    tw_context *ctx = tw_context_new();
    int code = convert(&options, ctx);
    tw_context_free(ctx);
    return code;
}
