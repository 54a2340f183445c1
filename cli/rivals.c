/* cli/rivals.c - see rivals.h. The workload, the machine's files and the mapping are one set of files, whichever says what. */
#include "rivals.h"
#include "finish.h"
#include "limit.h"
#include "output.h"
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rivals_are_meant(const cli_options *o)
{
    if (o->rules == TW_RULES_NATIVE) return false;
    if (o->rules != RULES_OF_FILES) return true;
    for (int i = 0; i < o->n_machine_files; i++)
        if (tw_rival_kind(o->machine_file[i]) != TW_RULES_NATIVE || strchr(o->machine_file[i], ',')) return true;
    return false;
}

typedef struct run {
    const cli_options *options;
    tw_context *ctx;
    const tw_rival *rival;
    output_batch files;
    int layer;
} run;

enum { FILES = 4 * CLI_MAX_FILES };
typedef struct file_list {
    const char *path[FILES];
    int n;
    char *text[CLI_MAX_FILES + 3]; /* that the paths point into */
    int n_texts;
} file_list;

/* The files of a list with commas between them. */
static void add_files(file_list *files, const char *list)
{
    char *text = list ? strdup(list) : NULL, *rest = text, *path;
    if (!text) return;
    files->text[files->n_texts++] = text;
    while ((path = strsep(&rest, ",")) != NULL)
        if (*path && files->n < FILES) files->path[files->n++] = path;
}

static tw_status open_files(run *r)
{
    const cli_options *o = r->options;
    file_list files = {0};
    add_files(&files, o->workload);
    for (int i = 0; i < o->n_machine_files; i++) add_files(&files, o->machine_file[i]);
    add_files(&files, o->mapping);
    add_files(&files, o->limits);
    tw_status status = tw_rival_open(r->ctx, files.path, files.n, &r->rival);
    for (int i = 0; i < files.n_texts; i++) free(files.text[i]);
    return status;
}

static tw_rules rules_of(const run *r)
{
    int asked = r->options->rules;
    return asked == RULES_OF_FILES || asked == RULES_ALL ? tw_rival_rules(r->rival) : (tw_rules)asked;
}

static tw_status print_account(run *r, const tw_account *account, FILE *out)
{
    if (r->options->quiet) return TW_OK;
    return r->options->json ? tw_account_print_json(r->ctx, account, out)
                            : tw_account_print_text(r->ctx, account, out);
}

static tw_status eval_layers(run *r, FILE *out)
{
    tw_status status = TW_OK;
    for (int i = 0; i < tw_rival_n_layers(r->rival) && status == TW_OK; i++) {
        const tw_account *account;
        status = tw_rival_count(r->ctx, r->rival, i, rules_of(r), &account);
        if (status == TW_OK) status = print_account(r, account, out);
    }
    return status;
}

/* ---- searching ---- */

static void print_found(const tw_rival_found *f, FILE *out)
{
    if (f->proven)
        fprintf(out, "\nproven best of %s\n", f->space);
    else
        fprintf(out, "\nat most %.2f %% above the best of %s\n", 100 * (f->value / f->bound - 1), f->space);
    fprintf(out, "%" PRId64 " nodes, %" PRId64 " mappings counted, %.2f s\n", f->nodes, f->counted, f->seconds);
}

/* The mapping that was found, as a file of its tool. */
static tw_status write_mapping(run *r, const tw_rival_found *found, int layer)
{
    output_file file;
    if (!r->options->folder || !output_make_folder(r->options->folder)) return TW_OK;
    if (!output_file_open(&file, r->options->folder, "mapping.yaml")) return TW_ERR_IO;
    tw_status status = tw_rival_print_mapping(r->ctx, found->rival, layer, file.stream);
    if (status == TW_OK) return output_batch_add(&r->files, &file) ? TW_OK : TW_ERR_IO;
    output_file_drop(&file);
    return status;
}

static tw_measure measure_of(const cli_options *o)
{
    return o->search.n_objectives > 0 ? o->objective[0].measure : TW_EDP;
}

static tw_status plan_layers(run *r, FILE *out)
{
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    how.measure = measure_of(r->options);
    how.any_sizes = r->options->any_sizes;
    how.max_nodes = r->options->search.budget;
    tw_status status = TW_OK;
    for (int i = 0; i < tw_rival_n_layers(r->rival) && status == TW_OK; i++) {
        const tw_rival_found *found;
        status = tw_rival_search(r->ctx, r->rival, i, &how, &found);
        if (status == TW_OK) status = print_account(r, found->account, out);
        if (status == TW_OK && !r->options->quiet && !r->options->json) print_found(found, out);
        if (status == TW_OK) status = write_mapping(r, found, i);
    }
    return status;
}

static int walk(run *r)
{
    tw_status status = r->ctx ? open_files(r) : TW_ERR_NOMEM;
    if (status != TW_OK) return status_exit(r->ctx, status);
    FILE *out = output_open();
    if (!out) return status_exit(r->ctx, TW_ERR_NOMEM);
    finish end = {.ctx = r->ctx, .files = &r->files};
    return finish_output(&end, out, r->options->mapping ? eval_layers(r, out) : plan_layers(r, out));
}

int rivals_run(const cli_options *options)
{
    run r = {.options = options, .ctx = tw_context_new()};
    if (r.ctx) limit_apply(r.ctx, options->search.time_limit);
    int code = walk(&r);
    output_batch_drop(&r.files);
    tw_context_free(r.ctx);
    return code;
}
