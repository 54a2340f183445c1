/* cli/cmd_convert.c - files of other tools as files of ours. */
#include "cmd.h"
#include "finish.h"
#include "options.h"
#include "output.h"
#include "status.h"

#include <string.h>

/* With a mapping of ours, their files with it in place of theirs: one layer after the other. */
static tw_status print_their_mapping(tw_context *ctx, const tw_rival *rival, FILE *out)
{
    tw_status status = TW_OK;
    for (int i = 0; i < tw_rival_n_layers(rival) && status == TW_OK; i++)
        status = tw_rival_print_mapping(ctx, rival, i, out);
    return status;
}

static tw_status print(const cli_options *o, tw_context *ctx, const tw_rival *rival, FILE *out)
{
    if (strcmp(o->converts_to, "machine") == 0) return tw_rival_print_machine(ctx, rival, out);
    if (strcmp(o->converts_to, "workload") == 0) return tw_rival_print_workload(ctx, rival, out);
    if (strcmp(o->converts_to, "levels") == 0) return tw_rival_print_levels(ctx, rival, out);
    return o->mapping ? print_their_mapping(ctx, rival, out) : tw_rival_print_our_mapping(ctx, rival, out);
}

static int convert(const cli_options *o, tw_context *ctx)
{
    const tw_rival *rival;
    tw_status status = ctx ? tw_rival_open(ctx, o->machine_file, o->n_machine_files, &rival) : TW_ERR_NOMEM;
    if (status == TW_OK && o->mapping) status = tw_rival_take_our_mapping(ctx, rival, o->mapping, &rival);
    int code = status_exit(ctx, status);
    if (status != TW_OK) return code;
    FILE *out = output_open();
    if (!out) return status_exit(ctx, TW_ERR_NOMEM);
    return finish_output(&(finish){.ctx = ctx}, out, print(o, ctx, rival, out));
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
