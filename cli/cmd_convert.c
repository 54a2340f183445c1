/* cli/cmd_convert.c - files of other tools as files of ours. */
#include "cmd.h"
#include "finish.h"
#include "options.h"
#include "output.h"
#include "status.h"

#include <string.h>

/* What is printed of files of ours, -1: they are theirs. */
static int output_of(const cli_options *o)
{
    static const char *const word[] = {"timeloop", "zigzag-accelerator", "zigzag-workload", "zigzag-mapping"};
    for (int i = 0; i < 4; i++)
        if (strcmp(o->converts_to, word[i]) == 0) return i;
    return -1;
}

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
    if (output_of(o) >= 0) return tw_rival_print_as(ctx, rival, (tw_rival_output)output_of(o), out);
    if (strcmp(o->converts_to, "machine") == 0) return tw_rival_print_machine(ctx, rival, out);
    if (strcmp(o->converts_to, "workload") == 0) return tw_rival_print_workload(ctx, rival, out);
    if (strcmp(o->converts_to, "levels") == 0) return tw_rival_print_levels(ctx, rival, out);
    return o->mapping ? print_their_mapping(ctx, rival, out) : tw_rival_print_our_mapping(ctx, rival, out);
}

static tw_status open_ours(const cli_options *o, tw_context *ctx, const tw_rival **out)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    tw_status status = tw_model_open(ctx, o->machine, &model);
    if (status == TW_OK) status = tw_machine_open(ctx, o->machine_of_ours, &machine);
    if (status == TW_OK) status = tw_mapping_open(ctx, model, machine, o->mapping, &mapping);
    if (status == TW_OK) status = tw_plan_eval(ctx, model, machine, mapping, &plan);
    return status == TW_OK ? tw_rival_of_plan(ctx, plan, out) : status;
}

static tw_status open_files(const cli_options *o, tw_context *ctx, const tw_rival **out)
{
    if (!ctx) return TW_ERR_NOMEM;
    if (output_of(o) >= 0) return open_ours(o, ctx, out);
    tw_status status = tw_rival_open(ctx, o->machine_file, o->n_machine_files, out);
    return status == TW_OK && o->mapping ? tw_rival_take_our_mapping(ctx, *out, o->mapping, out) : status;
}

static int convert(const cli_options *o, tw_context *ctx)
{
    const tw_rival *rival;
    tw_status status = open_files(o, ctx, &rival);
    int code = status_exit(ctx, status);
    if (status != TW_OK) return code;
    FILE *out = output_open();
    if (!out) return status_exit(ctx, TW_ERR_NOMEM);
    status = print(o, ctx, rival, out);
    if (status == TW_OK) (void)status_exit(ctx, TW_OK); /* prints what ours does not say */
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
