/* cli/rivals.c - see rivals.h. The workload, the machine's files and the mapping are one set of files, whichever says what. */
#include "rivals.h"
#include "finish.h"
#include "interrupt.h"
#include "limit.h"
#include "output.h"
#include "rivals_all.h"
#include "status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rivals_are_meant(const cli_options *o)
{
    if (o->rules == TW_RULES_NATIVE) return false;
    if (o->rules != RULES_OF_FILES || tw_rival_kind(o->workload) != TW_RULES_NATIVE) return true;
    for (int i = 0; i < o->n_machine_files; i++)
        if (tw_rival_kind(o->machine_file[i]) != TW_RULES_NATIVE || strchr(o->machine_file[i], ',')) return true;
    return false;
}

typedef struct run {
    const cli_options *options;
    tw_context *ctx;
    const tw_rival *rival;
    const tw_plan *plan; /* of ours that `rival` was made of, NULL: files of another tool */
    output_batch files;
    int layer;
} run;

static void enter(run *r, limit_stage stage) { limit_enter(r->ctx, r->options->search.time_limit, stage); }

enum { FILES = 4 * CLI_MAX_FILES };
typedef struct file_list {
    const char *path[FILES];
    int n;
    char *text[CLI_MAX_FILES + 3]; /* that the paths point into */
    int n_texts;
} file_list;

/* The files of a list with commas between them; a list that is NULL has none. */
static bool add_files(file_list *files, const char *list)
{
    char *text = list ? strdup(list) : NULL, *rest = text, *path;
    if (!text) return !list;
    files->text[files->n_texts++] = text;
    while ((path = strsep(&rest, ",")) != NULL)
        if (*path && files->n < FILES) files->path[files->n++] = path;
    return true;
}

static tw_status open_files(run *r)
{
    const cli_options *o = r->options;
    file_list files = {0};
    bool all = add_files(&files, o->workload);
    for (int i = 0; i < o->n_machine_files; i++) all &= add_files(&files, o->machine_file[i]);
    all &= add_files(&files, o->mapping);
    all &= add_files(&files, o->limits);
    tw_status status = all ? tw_rival_open(r->ctx, files.path, files.n, &r->rival) : TW_ERR_NOMEM;
    for (int i = 0; i < files.n_texts; i++) free(files.text[i]);
    return status;
}

static tw_rules rules_of(const run *r)
{
    int asked = r->options->rules;
    return asked == RULES_OF_FILES || asked == RULES_ALL ? tw_rival_rules(r->rival) : (tw_rules)asked;
}

/* One document: the account of one layer, or a list of those of several. */
static tw_status print_json(tw_context *ctx, const tw_account *const *account, int n, FILE *out)
{
    tw_status status = TW_OK;
    if (n != 1) fputs("[", out);
    for (int i = 0; i < n && status == TW_OK; i++) {
        fputs(i ? ",\n" : "", out);
        status = tw_account_print_json(ctx, account[i], out);
    }
    if (n != 1) fputs("]\n", out);
    return status;
}

/* One layer's account, or all of them, as the options ask for it. */
static tw_status print_accounts(run *r, const tw_account *const *account, int n, FILE *out)
{
    const cli_options *o = r->options;
    tw_status status = TW_OK;
    if (o->quiet) return TW_OK;
    if (o->json) return print_json(r->ctx, account, n, out);
    if (o->print.brief) return tw_accounts_print_brief(r->ctx, account, n, &o->print, out);
    for (int i = 0; i < n && status == TW_OK; i++) status = tw_account_print_text(r->ctx, account[i], out);
    return status;
}

/* What was found until Ctrl-C came is printed as a whole. */
static void end_work(run *r)
{
    if (!r->options->quiet) interrupt_say("mapping");
    enter(r, LIMIT_REPORT);
}

/* The layers one after the other, of which nothing overlaps. */
typedef struct totals {
    int n_layers, n_different;
    double cycles, energy_pj;
} totals;

static void add_to(totals *t, const run *r, int layer, const tw_account *account)
{
    t->n_layers++;
    t->n_different += tw_rival_like(r->rival, layer) == layer;
    t->cycles += account->cycles;
    t->energy_pj += account->energy_pj;
}

static void print_totals(const run *r, const totals *t, FILE *out)
{
    if (t->n_layers < 2 || r->options->print.brief || r->options->quiet || r->options->json) return;
    fprintf(out, "\n%d layers, %d of them different: %.10g cycles, %.3f uJ\n", t->n_layers, t->n_different,
            t->cycles, t->energy_pj / 1e6);
}

/* By all rules the accounts stand side by side. */
static tw_status show_all(run *r, const tw_rival *rival, FILE *out)
{
    return r->options->quiet ? TW_OK : rivals_print_all(r->ctx, rival, r->plan, r->options->json, out);
}

static tw_status eval_layers(run *r, FILE *out)
{
    if (r->options->rules == RULES_ALL) return show_all(r, r->rival, out);
    int n = tw_rival_n_layers(r->rival);
    const tw_account **account = calloc((size_t)n + 1, sizeof *account);
    tw_status status = account ? TW_OK : TW_ERR_NOMEM;
    totals sum = {0};
    for (int i = 0; i < n && status == TW_OK; i++) {
        status = tw_rival_count(r->ctx, r->rival, i, rules_of(r), &account[i]);
        if (status == TW_OK) add_to(&sum, r, i, account[i]);
    }
    enter(r, LIMIT_REPORT);
    if (status == TW_OK) status = print_accounts(r, account, n, out);
    if (status == TW_OK) print_totals(r, &sum, out);
    free(account);
    return status;
}

/* ---- searching ---- */

/* What is known of all searches together. */
typedef struct known {
    int64_t nodes, counted;
    double seconds, above;  /* the furthest above its bound        */
    int proven, bounded, n; /* layers: proven; with a bound; all   */
    const char *space;
} known;

static known know(const tw_rival_found *const *found, int n)
{
    known k = {.n = n, .space = found[0]->space};
    for (int i = 0; i < n; i++) {
        k.nodes += found[i]->nodes;
        k.counted += found[i]->counted;
        k.seconds += found[i]->seconds;
        k.proven += found[i]->proven;
        if (found[i]->proven || found[i]->bound <= 0) continue;
        k.bounded++;
        k.above = fmax(k.above, found[i]->value / found[i]->bound - 1);
    }
    return k;
}

/* A search that ends before it has a bound of everything knows of none. */
static void print_found(const tw_rival_found *const *found, int n, FILE *out)
{
    const known k = know(found, n);
    int unknown = n - k.proven - k.bounded;
    if (n > 1) fprintf(out, "\n%d of %d layers are", k.proven, n);
    if (k.proven > 0) fprintf(out, "%sproven best of %s\n", n > 1 ? " " : "\n", k.space);
    if (k.proven == 0 && n > 1) fprintf(out, " proven best\n");
    if (n > 1 && k.bounded > 0)
        fprintf(out, "%s%d are at most %.2f %% above the best of %s\n", unknown ? "" : "the other ", k.bounded,
                100 * k.above, k.space);
    if (n > 1 && unknown > 0)
        fprintf(out, "of %d it is not known how far they are above the best of %s\n", unknown, k.space);
    if (n == 1 && k.bounded > 0)
        fprintf(out, "\nit is at most %.2f %% above the best of %s\n", 100 * k.above, k.space);
    if (n == 1 && unknown > 0)
        fprintf(out, "\nhow far it is above the best of %s is not known: the search ended before it had a bound\n",
                k.space);
    fprintf(out, "%" PRId64 " nodes, %" PRId64 " mappings counted, %.2f s\n", k.nodes, k.counted, k.seconds);
}

/* The mappings that were found, as a file of their tool. */
static tw_status write_mapping(run *r, const tw_rival *mapped)
{
    output_file file;
    tw_status status = TW_OK;
    if (!r->options->folder || !output_make_folder(r->options->folder)) return TW_OK;
    if (!output_file_open(&file, r->options->folder, "mapping.yaml")) return TW_ERR_IO;
    for (int i = 0; i < tw_rival_n_layers(mapped) && status == TW_OK; i++)
        status = tw_rival_print_mapping(r->ctx, mapped, i, file.stream);
    if (status == TW_OK) return output_batch_add(&r->files, &file) ? TW_OK : TW_ERR_IO;
    output_file_drop(&file);
    return status;
}

/* Without an objective: what the tool itself makes small. */
static tw_measure measure_of(const run *r)
{
    if (r->options->search.n_objectives > 0) return r->options->objective[0].measure;
    return tw_rival_rules(r->rival) == TW_RULES_ZIGZAG ? TW_CYCLES : TW_EDP;
}

static tw_status print_plans(run *r, const tw_rival_found *const *found, FILE *out)
{
    int n = tw_rival_n_layers(r->rival);
    const tw_account **account = calloc((size_t)n + 1, sizeof *account);
    totals sum = {0};
    if (!account) return TW_ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        account[i] = found[i]->account;
        add_to(&sum, r, i, account[i]);
    }
    tw_status status = print_accounts(r, account, n, out);
    if (status == TW_OK && !r->options->quiet && !r->options->json) print_found(found, n, out);
    if (status == TW_OK) print_totals(r, &sum, out);
    free(account);
    return status;
}

static tw_status plan_layers(run *r, FILE *out)
{
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_rival *mapped = NULL;
    const tw_rival_found **found = calloc((size_t)tw_rival_n_layers(r->rival) + 1, sizeof *found);
    if (!found) return TW_ERR_NOMEM;
    how.measure = measure_of(r);
    how.any_sizes = r->options->any_sizes;
    how.max_nodes = r->options->search.budget;
    tw_status status = tw_rival_search_all(r->ctx, r->rival, &how, found, &mapped);
    bool all = r->options->rules == RULES_ALL;
    if (status == TW_OK && !all) end_work(r);
    if (status == TW_OK) status = all ? show_all(r, mapped, out) : print_plans(r, found, out);
    if (status == TW_OK) status = write_mapping(r, mapped);
    free(found);
    return status;
}

/* ---- machines with several cores ---- */

/* What each layer costs on each core, by the tool's own search or by ours, and how long all of them take as the tool runs them. */
static tw_status show_cores(run *r, bool searches, FILE *out)
{
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_core_table *table;
    how.measure = measure_of(r);
    how.max_nodes = r->options->search.budget;
    tw_status status = tw_rival_table(r->ctx, r->rival, searches ? &how : NULL, &table);
    if (status == TW_OK) end_work(r);
    if (status != TW_OK || r->options->quiet) return status;
    return (r->options->json ? tw_core_table_print_json : tw_core_table_print_text)(r->ctx, table, out);
}

/* ---- plans of ours by other tools' rules ---- */

static bool is_ours(const cli_options *o)
{
    if (tw_network_is_path(o->workload) || tw_rival_kind(o->workload) != TW_RULES_NATIVE) return false;
    for (int i = 0; i < o->n_machine_files; i++)
        if (tw_rival_kind(o->machine_file[i]) != TW_RULES_NATIVE || strchr(o->machine_file[i], ',')) return false;
    return true;
}

static tw_status plan_ours(run *r, bool searches)
{
    const cli_options *o = r->options;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    tw_status status = tw_model_open(r->ctx, o->workload, &model);
    if (status == TW_OK) status = tw_machine_open(r->ctx, o->machine, &machine);
    enter(r, LIMIT_WORK);
    if (status == TW_OK && searches) return tw_plan_search(r->ctx, model, machine, &o->search, &r->plan);
    if (status == TW_OK) status = tw_mapping_open(r->ctx, model, machine, o->mapping, &mapping);
    return status == TW_OK ? tw_plan_eval(r->ctx, model, machine, mapping, &r->plan) : status;
}

static tw_status open_ours(run *r, bool searches)
{
    tw_status status = plan_ours(r, searches);
    return status == TW_OK ? tw_rival_of_plan(r->ctx, r->plan, &r->rival) : status;
}

static int walk(run *r, bool searches)
{
    bool ours = is_ours(r->options);
    tw_status status = !r->ctx ? TW_ERR_NOMEM : ours ? open_ours(r, searches) : open_files(r);
    if (r->ctx) enter(r, LIMIT_WORK);
    int code = status_exit(r->ctx, status); /* prints what the files give reason to remark */
    if (status != TW_OK) return code;
    FILE *out = output_open();
    if (!out) return status_exit(r->ctx, TW_ERR_NOMEM);
    finish end = {.ctx = r->ctx, .files = &r->files};
    if (tw_rival_n_cores(r->rival) > 0) {
        status = show_cores(r, searches, out);
        if (status == TW_OK) (void)status_exit(r->ctx, TW_OK); /* prints which cores do not run what, and why */
    } else
        status = searches && !ours ? plan_layers(r, out) : eval_layers(r, out);
    return finish_output(&end, out, status);
}

int rivals_run(const cli_options *options, bool searches)
{
    run r = {.options = options, .ctx = tw_context_new()};
    if (r.ctx) enter(&r, LIMIT_OPEN);
    int code = walk(&r, searches);
    output_batch_drop(&r.files);
    interrupt_enter(INTERRUPT_WRITING, NULL);
    tw_context_free(r.ctx);
    return code;
}
