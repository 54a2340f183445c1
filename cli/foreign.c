/* cli/foreign.c - see foreign.h. What 'tilewright convert' writes of the files is read again. */
#include "foreign.h"

#include <stdio.h>
#include <stdlib.h>

bool foreign_is_meant(const cli_options *o)
{
    return o->rules == TW_RULES_NATIVE && o->mapping && o->n_machine_files == 1 &&
           tw_rival_kind(o->machine_file[0]) == TW_RULES_ZIGZAG && tw_rival_kind(o->mapping) == TW_RULES_ZIGZAG;
}

typedef tw_status printer(tw_context *ctx, const tw_rival *rival, FILE *out);

/* What it prints, as a text that the caller frees. */
static tw_status text_of(tw_context *ctx, const tw_rival *rival, printer *print, char **out)
{
    size_t n = 0;
    *out = NULL;
    FILE *file = open_memstream(out, &n);
    if (!file) return TW_ERR_NOMEM;
    tw_status status = print(ctx, rival, file);
    return fclose(file) == 0 ? status : TW_ERR_NOMEM;
}

tw_status foreign_open(tw_context *ctx, const cli_options *o, const tw_model **model, const tw_machine **machine,
                       const tw_mapping **mapping)
{
    const char *path[] = {o->machine_file[0], o->workload, o->mapping};
    printer *print[] = {tw_rival_print_machine, tw_rival_print_workload, tw_rival_print_our_mapping};
    char *text[3] = {NULL, NULL, NULL};
    const tw_rival *rival;
    tw_status status = tw_rival_open(ctx, path, 3, &rival);
    for (int i = 0; i < 3 && status == TW_OK; i++) status = text_of(ctx, rival, print[i], &text[i]);
    if (status == TW_OK) status = tw_machine_parse(ctx, "converted machine", text[0], machine);
    if (status == TW_OK) status = tw_model_parse(ctx, "converted workload", text[1], model);
    if (status == TW_OK) status = tw_mapping_parse(ctx, *model, *machine, "converted mapping", text[2], mapping);
    for (int i = 0; i < 3; i++) free(text[i]);
    return status;
}
