/* cli/network.c - see network.h. */
#include "network.h"
#include "advice.h"
#include "busy.h"
#include "cache_network.h"
#include "fence.h"
#include "finish.h"
#include "interrupt.h"
#include "limit.h"
#include "output.h"
#include "progress.h"
#include "status.h"
#include "tilewright/paint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DATA_MAX = 256, NET_HINTS = 3 };
typedef struct data_list {
    tw_network_data all[DATA_MAX];
    int n;
} data_list;

typedef struct net_session {
    const cli_options *options;
    tw_context *ctx;
    const tw_machine *machine; /* NULL: none was asked for */
    const tw_network *network; /* as it suits the machine  */
    int n_plans, n_cached;
    const tw_network_plan *plan[1 + CLI_MAX_CORES]; /* the machine's, then those of further cores */
    data_list data, known;                          /* of inputs, for a run; those that shapes depend on */
    const tw_network_verdict *verdict;              /* NULL: not run                               */
    int n_remedies;
    const tw_network_remedy *remedy; /* NULL: nobody asked                          */
    tw_remedy *summed;               /* the same, of the whole network alone        */
    progress progress;
    const char *doing;         /* "planning", "running" */
    int n_to_plan;             /* searches that are still to be made, and the run */
    bool runs;                 /* after planning                                  */
    tw_remedy hint[NET_HINTS]; /* for the first screen: of the layer that takes longest */
    char *hint_change[NET_HINTS];
    int n_hints;
    bool asked_hints;   /* none then: nothing helps */
    output_batch files; /* written, but not under their names yet */
    bool left_out[8];   /* of the files below: there was no time for it, or one machine has no table of costs */
} net_session;

static void enter(net_session *s, limit_stage stage) { limit_enter(s->ctx, s->options->search.time_limit, stage); }

/* ---- opening ---- */

/* As it suits a machine; NULL: none in particular. */
static tw_status open_network_for(net_session *s, const char *name, const tw_machine **machine,
                                  const tw_network **out)
{
    tw_network_options how = s->options->network.open;
    tw_status status = name ? tw_machine_open(s->ctx, name, machine) : TW_OK;
    how.machine = name ? *machine : NULL;
    how.n_data = s->known.n;
    how.data = s->known.all;
    return status == TW_OK ? tw_network_open(s->ctx, s->options->workload, &how, out) : status;
}

static tw_status open_network(net_session *s)
{
    return open_network_for(s, s->options->machine, &s->machine, &s->network);
}

/* ---- progress ---- */

/* Seconds until all layers are done if the others take as long as those before them. */
static double seconds_left(const tw_network_progress *now)
{
    return now->n_done > 0 ? now->seconds * (now->n_layers - now->n_done) / now->n_done : 0;
}

/* "planning [######------] 12/21  3.1 s, about 2 s left  layer1.0.conv1" */
static bool show(void *user, const tw_network_progress *now)
{
    enum { BAR = 24 };
    net_session *s = user;
    char line[512], bar[BAR + 1], left[48] = "";
    int full = now->n_layers > 0 ? now->n_done * BAR / now->n_layers : 0;
    memset(bar, '-', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    if (seconds_left(now) >= 1) snprintf(left, sizeof left, ", about %.0f s left", seconds_left(now));
    snprintf(line, sizeof line, "%s [%s] %d/%d  %.1f s%s  %s", s->doing, bar, now->n_done, now->n_layers,
             now->seconds, left, now->name);
    return progress_say(&s->progress, now->seconds, line);
}

/* ---- plans ---- */

static tw_status search_anew(net_session *s, const network_question *asked, const tw_network_plan **out)
{
    s->doing = "planning";
    progress_begin(&s->progress, NULL, s->options->quiet);
    tw_status status = tw_network_search(s->ctx, asked->network, asked->machine, asked->how, out);
    progress_end(&s->progress);
    return status;
}

/* From the cache, or anew. */
static tw_status find_plan(net_session *s, const network_question *asked, const tw_network_plan **out)
{
    cache_slot slot;
    cache_network_slot_init(&slot, asked);
    bool cached = cache_network_load(&slot, asked, out);
    tw_status status = cached ? TW_OK : search_anew(s, asked, out);
    if (status == TW_OK && !cached && !interrupt_came()) cache_network_store(&slot, asked, *out);
    s->n_cached += cached;
    cache_slot_release(&slot);
    return status;
}

static tw_status search(net_session *s, const tw_network *network, const tw_machine *machine,
                        const tw_network_plan **out)
{
    tw_search_options layers = s->options->search;
    tw_search_options_aim(machine, &layers);
    tw_network_search_options how = {
        .size = sizeof how, .search = &layers, .keep_space = s->options->space_given, .progress = show, .user = s};
    if (s->options->limits) {
        tw_status status = tw_network_limits(s->ctx, network, machine, s->options->limits, &layers.limits);
        if (status != TW_OK) return status;
    }
    layers.groups = !s->options->layers;
    layers.time_limit = limit_of_search(s->options->search.time_limit, 1.0 / s->n_to_plan--);
    return find_plan(s, &(network_question){s->options, s->ctx, network, machine, &how}, out);
}

/* What would help. Without a limit of the user's it has one of its own: every change is a plan of the whole network. */
static tw_status find_remedies(net_session *s)
{
    static const double of_found = 30, of_given = 10; /* seconds */
    static const tw_remedy nothing = {0};             /* not NULL: somebody asked */
    tw_search_options layers = s->options->search;
    tw_network_search_options how = {
        .size = sizeof how, .search = &layers, .keep_space = s->options->space_given, .progress = show, .user = s};
    tw_search_options_aim(s->machine, &layers);
    layers.groups = !s->options->layers;
    layers.time_limit = limit_of_search(s->options->search.time_limit, 1);
    if (layers.time_limit <= 0) layers.time_limit = s->options->mapping ? of_given : of_found;
    s->doing = "what would help";
    progress_begin(&s->progress, NULL, s->options->quiet);
    tw_status status = tw_network_remedies(s->ctx, s->plan[0], &how, &s->remedy, &s->n_remedies);
    progress_end(&s->progress);
    if (status != TW_OK) return status;
    s->summed = calloc((size_t)s->n_remedies + 1, sizeof *s->summed);
    if (!s->summed) return TW_ERR_NOMEM;
    s->summed[0] = nothing;
    for (int i = 0; i < s->n_remedies; i++) s->summed[i] = s->remedy[i].all;
    return TW_OK;
}

/* Every command of the programs is checked; a run on numbers checks them, too. */
static tw_status check_programs(net_session *s)
{
    if (s->runs || tw_network_plan_totals(s->plan[0])->n_programs == 0) return TW_OK;
    busy *b = busy_begin(s->options->quiet, "checking");
    tw_status status = tw_network_check(s->ctx, s->plan[0], &s->verdict);
    busy_end(b);
    return status;
}

static tw_status evaluate(net_session *s, const tw_machine *machine, const char *mapping,
                          const tw_network_plan **out)
{
    busy *b = busy_begin(s->options->quiet, "simulating");
    tw_status status = tw_network_eval(s->ctx, s->network, machine, mapping, out);
    busy_end(b);
    return status;
}

/* A column of the cost table. */
static tw_status plan_core(net_session *s, const char *name)
{
    const tw_machine *machine;
    const tw_network *network;
    tw_status status = open_network_for(s, name, &machine, &network);
    return status == TW_OK ? search(s, network, machine, &s->plan[s->n_plans++]) : status;
}

static tw_status make_plans(net_session *s)
{
    const cli_options *o = s->options;
    enter(s, LIMIT_WORK);
    s->n_to_plan = o->network.n_cores + 1 - (o->mapping != NULL) + s->runs + o->explain;
    const tw_network_plan **first = &s->plan[s->n_plans++];
    tw_status status =
        o->mapping ? evaluate(s, s->machine, o->mapping, first) : search(s, s->network, s->machine, first);
    for (int i = 0; i < o->network.n_cores && status == TW_OK; i++) status = plan_core(s, o->network.core[i]);
    if (status == TW_OK) status = check_programs(s);
    return status == TW_OK && o->explain ? find_remedies(s) : status;
}

/* ---- running ---- */

/* folder/KIND_i.pb; NULL in *out when there is none. */
static tw_status open_numbered(net_session *s, const char *kind, int i, const tw_network_data **out)
{
    char *path;
    *out = NULL;
    if (asprintf(&path, "%s/%s_%d.pb", s->options->network.data, kind, i) < 0) return TW_ERR_NOMEM;
    tw_status status = access(path, F_OK) == 0 ? tw_network_data_open(s->ctx, path, out) : TW_OK;
    free(path);
    return status;
}

/* Names and elements of the inputs that files give, in the order of the network's inputs. */
static tw_status open_inputs(net_session *s, const tw_network *network, data_list *list)
{
    const cli_network *n = &s->options->network;
    const tw_network_data *data;
    for (int i = 0; i < n->n_inputs && list->n < DATA_MAX; i++) {
        tw_status status = tw_network_data_open(s->ctx, n->input_file[i], &data);
        if (status != TW_OK) return status;
        list->all[list->n] = *data;
        list->all[list->n++].name = n->input_name[i];
    }
    for (int i = 0; n->data && i < tw_network_n_inputs(network) && list->n < DATA_MAX; i++) {
        tw_status status = open_numbered(s, "input", i, &data);
        if (status != TW_OK) return status;
        if (!data) continue;
        list->all[list->n] = *data;
        list->all[list->n++].name = tw_network_input(network, i).name;
    }
    return TW_OK;
}

static bool is_filled(const net_session *s, const char *input)
{
    const tw_network_options *o = &s->options->network.open;
    for (int i = 0; i < o->n_fills; i++)
        if (strcmp(o->fill[i].input, input) == 0) return true;
    return false;
}

static bool says_how(const net_session *s, const char *input)
{
    for (int i = 0; i < tw_network_n_inputs(s->network); i++)
        if (strcmp(tw_network_input(s->network, i).name, input) == 0)
            return tw_network_input_says_how(s->network, i);
    return false;
}

/* Shapes may depend on inputs that files give: the network is read once more, with those known. */
static tw_status read_again(net_session *s)
{
    for (int i = 0; i < s->data.n; i++)
        if (says_how(s, s->data.all[i].name) && !is_filled(s, s->data.all[i].name))
            s->known.all[s->known.n++] = s->data.all[i];
    if (s->known.n == 0) return TW_OK;
    tw_status status = open_network(s);
    if (status == TW_OK) tw_context_clear_messages(s->ctx); /* they were told before */
    return status;
}

static tw_network_run_options run_options(net_session *s)
{
    return (tw_network_run_options){.size = sizeof(tw_network_run_options),
                                    .n_inputs = s->data.n,
                                    .input = s->data.all,
                                    .seed = s->options->seed,
                                    .max_instructions = s->options->max_instructions,
                                    .max_memory = s->options->network.max_memory,
                                    .progress = show,
                                    .user = s};
}

/* Inputs from files, and whether everything is there: before anything is searched. */
static tw_status prepare(net_session *s)
{
    tw_status status = open_inputs(s, s->network, &s->data);
    if (status == TW_OK) status = read_again(s);
    tw_network_run_options how = run_options(s);
    return status == TW_OK ? tw_network_run_check(s->ctx, s->network, &how) : status;
}

static tw_status run(net_session *s)
{
    tw_network_run_options how = run_options(s);
    s->doing = "running";
    progress_begin(&s->progress, NULL, s->options->quiet);
    tw_status status = tw_network_run(s->ctx, s->plan[0], &how, &s->verdict);
    progress_end(&s->progress);
    return status;
}

/* Roundings of a whole network add up: elements that are small beside the largest one are not close in themselves. */
static bool is_near(const net_session *s, const tw_network_data *data, double off)
{
    bool is_float = strstr(data->type, "float") || strcmp(data->type, "double") == 0;
    double tolerance = s->options->network.tolerance;
    return off <= (tolerance > 0 ? tolerance : is_float ? 1e-3 : 0);
}

/* Results against output_0.pb.. */
static int compare_outputs(net_session *s)
{
    int code = EXIT_DONE;
    for (int i = 0; s->options->network.data && i < s->verdict->n_outputs; i++) {
        const tw_network_data *want, *got = &s->verdict->output[i];
        tw_status status = open_numbered(s, "output", i, &want);
        bool close = false;
        if (status != TW_OK) return status_exit(s->ctx, status);
        if (!want) continue;
        double off = tw_network_data_differ(got, want, &close);
        close |= is_near(s, got, off);
        if (!s->options->quiet && !s->options->json)
            printf("output '%s' %s output_%d.pb: largest difference %.2g of the largest element\n", got->name,
                   close ? "agrees with" : "differs from", i, off);
        if (!close) code = EXIT_FAULT;
    }
    return code;
}

/* ---- files ---- */

typedef tw_status (*net_printer)(net_session *s, FILE *out);
static tw_status print_text_file(net_session *s, FILE *out)
{
    enum { COLUMNS = 160 };
    tw_print_options how = {.size = sizeof how,
                            .columns = s->options->columns_given ? s->options->print.columns : COLUMNS,
                            .n_rows = -1,
                            .remedy = s->summed,
                            .n_remedies = s->n_remedies};
    return tw_network_print_text(s->ctx, s->plan[0], s->verdict, &how, out);
}
static tw_network_document document_of(const net_session *s)
{
    return (tw_network_document){.size = sizeof(tw_network_document),
                                 .verdict = s->verdict,
                                 .n_remedies = s->n_remedies,
                                 .remedy = s->remedy,
                                 .n_hints = s->n_hints,
                                 .hint = s->asked_hints ? s->hint : NULL};
}
static tw_status print_html_file(net_session *s, FILE *out)
{
    const tw_network_document document = document_of(s);
    return tw_network_print_page(s->ctx, s->plan, s->n_plans, &document, out);
}
static tw_status print_json_file(net_session *s, FILE *out)
{
    const tw_network_document document = document_of(s);
    return tw_network_print_document(s->ctx, s->plan[0], &document, out);
}
static tw_status print_mapping_file(net_session *s, FILE *out)
{
    return tw_network_print_mapping(s->ctx, s->plan[0], out);
}
static tw_status print_csv(net_session *s, FILE *out)
{
    return tw_network_print_costs(s->ctx, s->plan, s->n_plans, TW_FORMAT_CSV, out);
}
static tw_status print_costs_json(net_session *s, FILE *out)
{
    return tw_network_print_costs(s->ctx, s->plan, s->n_plans, TW_FORMAT_JSON, out);
}
static tw_status draw_svg(net_session *s, FILE *out)
{
    return tw_network_draw_costs_svg(s->ctx, s->plan, s->n_plans, out);
}
static tw_status draw_png(net_session *s, FILE *out)
{
    return tw_network_draw_costs_png(s->ctx, s->plan, s->n_plans, out);
}

static tw_status draw_plot(net_session *s, FILE *out)
{
    const cli_plot *plot = &s->options->plot;
    const tw_plot_options how = {.size = sizeof how,
                                 .kind = plot->kind == PLOT_LOSSES    ? TW_PLOT_LOSSES
                                         : plot->kind == PLOT_BUFFERS ? TW_PLOT_BUFFERS
                                                                      : TW_PLOT_GANTT,
                                 .image = plot->image,
                                 .width_mm = plot->width_mm,
                                 .dpi = plot->dpi,
                                 .from = s->options->from,
                                 .to = s->options->to};
    if (plot->kind == PLOT_GANTT || plot->kind == PLOT_BUFFERS)
        return tw_network_plot_gantt(s->ctx, s->plan[0], &how, out);
    return tw_network_plot(s->ctx, s->plan, s->n_plans, &how, out);
}

static const struct {
    const char *name;
    net_printer print;
    bool of_several; /* compares machines: is written where there are some */
} files[] = {
    {"report.html", print_html_file, false}, {"report.txt", print_text_file, false},
    {"plan.json", print_json_file, false},   {"mapping.yaml", print_mapping_file, false},
    {"costs.csv", print_csv, true},          {"costs.json", print_costs_json, true},
    {"costs.svg", draw_svg, true},           {"costs.png", draw_png, true},
};
enum { N_FILES = sizeof files / sizeof *files };

static int cannot_write(const char *folder, const char *name)
{
    fprintf(stderr, "tilewright: cannot write '%s/%s': %s\n", folder, name, strerror(errno));
    return EXIT_WRITING;
}

/* A file is replaced only by a complete one. What stopped a printer is the disk when its stream says so. */
static int finish_file(net_session *s, const char *name, output_file *file, tw_status status)
{
    const char *folder = s->options->folder;
    if (status == TW_OK) return output_batch_add(&s->files, file) ? EXIT_DONE : cannot_write(folder, name);
    bool full = ferror(file->stream);
    output_file_drop(file);
    if (!full) return status_exit(s->ctx, status);
    tw_context_clear_messages(s->ctx);
    return cannot_write(folder, name);
}

/* This file is not written. One that is there from an earlier plan would look like this one's. */
static int leave_out(net_session *s, int i)
{
    _Static_assert(N_FILES <= sizeof s->left_out / sizeof *s->left_out, "each file has its mark");
    s->left_out[i] = true;
    output_remove(s->options->folder, files[i].name);
    return EXIT_DONE;
}

static int leave_out_late(net_session *s, int i)
{
    tw_context_clear_messages(s->ctx);
    fprintf(stderr, "tilewright: '%s/%s' is left out: time was up\n", s->options->folder, files[i].name);
    return leave_out(s, i);
}

enum { DRAWING_STOPPED = 100 }; /* by the clock; no exit code */
typedef struct drawing {
    net_session *s;
    const char *path;
    net_printer draw;
} drawing;

/* What went wrong is said. */
static int draw(void *user, FILE *out)
{
    const drawing *d = user;
    tw_status status = d->draw(d->s, out);
    if (status == TW_OK && fflush(out) == 0) return EXIT_DONE;
    if (status == TW_STOPPED) return DRAWING_STOPPED;
    if (status != TW_OK && status != TW_ERR_IO) return status_exit(d->s->ctx, status);
    output_complain(d->path);
    return EXIT_WRITING;
}

static int draw_fenced(net_session *s, const char *path, net_printer how, output_file *file)
{
    drawing d = {s, path, how};
    int code = fence_draw(draw, &d, file->stream);
    return code == FENCE_BROKEN ? EXIT_FAULT : code;
}

/* Pictures that a library draws are drawn behind a fence. The mapping is the result, and soon written: there is always time for it. */
static int write_file(net_session *s, int i)
{
    const char *name = files[i].name;
    net_printer print = files[i].print;
    output_file file;
    tw_status status = TW_OK;
    int code = EXIT_DONE;
    if (files[i].of_several && s->n_plans < 2) return leave_out(s, i);
    if (tw_context_is_over(s->ctx) && print != print_mapping_file) return leave_out_late(s, i);
    if (!output_file_open(&file, s->options->folder, name)) return cannot_write(s->options->folder, name);
    busy *b = busy_begin(s->options->quiet, "writing %s/%s", s->options->folder, name);
    if (print == draw_png)
        code = draw_fenced(s, name, print, &file);
    else
        status = print(s, file.stream);
    busy_end(b);
    if (code == EXIT_DONE && status != TW_STOPPED) return finish_file(s, name, &file, status);
    output_file_drop(&file);
    return status == TW_STOPPED || code == DRAWING_STOPPED ? leave_out_late(s, i) : code;
}

static int write_output(net_session *s, int i)
{
    char name[40];
    output_file file;
    snprintf(name, sizeof name, "output_%d.pb", i);
    if (!output_file_open(&file, s->options->folder, name)) return cannot_write(s->options->folder, name);
    return finish_file(s, name, &file, tw_network_data_write(s->ctx, &s->verdict->output[i], file.stream));
}

static advice advice_of(const net_session *s)
{
    const cli_options *o = s->options;
    return (advice){s->ctx,     o->folder, o->workload,   o->machine, NULL,
                    s->machine, s->summed, s->n_remedies, s->remedy};
}

static int write_files(net_session *s)
{
    const char *folder = s->options->folder;
    int code = EXIT_DONE;
    if (!folder) return EXIT_DONE;
    if (!output_make_folder(folder)) {
        fprintf(stderr, "tilewright: cannot make the folder '%s': %s\n", folder, strerror(errno));
        return EXIT_WRITING;
    }
    for (int i = 0; i < N_FILES && code == EXIT_DONE; i++) code = write_file(s, i);
    for (int i = 0; s->verdict && i < s->verdict->n_outputs && code == EXIT_DONE; i++) code = write_output(s, i);
    const advice advised = advice_of(s);
    return code == EXIT_DONE ? advice_write(&advised, &s->files) : code;
}

/* The trace of all steps, if one is asked for. */
static int write_trace(net_session *s)
{
    output_file file;
    const char *path = s->options->trace;
    bool gzip;
    if (!path) return EXIT_DONE;
    tw_trace_format format = options_trace_format(path, &gzip);
    if (output_path_open(&file, path)) {
        busy *b = busy_begin(s->options->quiet, "writing %s", path);
        tw_status status = tw_network_print_trace(s->ctx, s->plan[0], format, gzip, file.stream);
        busy_end(b);
        if (status == TW_OK && output_batch_add(&s->files, &file)) return EXIT_DONE;
        if (status != TW_OK) output_file_drop(&file);
        if (status != TW_OK && status != TW_ERR_IO) return status_exit(s->ctx, status);
        tw_context_clear_messages(s->ctx);
    }
    output_complain(path);
    return EXIT_WRITING;
}

/* The picture that --plot asks for, instead of all files. */
static int write_plot(net_session *s)
{
    output_file file;
    const char *path = s->options->plot.file;
    if (output_path_open(&file, path)) {
        int code = draw_fenced(s, path, draw_plot, &file);
        if (code == EXIT_DONE && output_batch_add(&s->files, &file)) return EXIT_DONE;
        if (code != EXIT_DONE) {
            output_file_drop(&file);
            if (code != DRAWING_STOPPED) return code;
            fprintf(stderr, "tilewright: '%s' is left out: time was up\n", path);
            return EXIT_INFEASIBLE;
        }
    }
    output_complain(path);
    return EXIT_WRITING;
}

/* ---- standard output ---- */

static bool is_stage(const net_session *s, const char *stage)
{
    return s->options->dump && strcmp(s->options->dump, stage) == 0;
}

/* Which stages need a plan, a machine, or only the network. */
static tw_status print_stage(net_session *s, FILE *out)
{
    const tw_machine *machine;
    if (is_stage(s, "mapping")) return tw_network_print_mapping(s->ctx, s->plan[0], out);
    if (!is_stage(s, "machine")) return tw_network_dump(s->ctx, s->network, s->options->dump, out);
    tw_status status = tw_machine_open(s->ctx, s->options->machine, &machine);
    return status == TW_OK ? tw_machine_print_to(s->ctx, machine, out) : status;
}

/* The program that takes longest; NULL: there is none. */
static const tw_plan *slowest_program(const tw_network_plan *plan, tw_network_part *out)
{
    const tw_plan *best = NULL;
    for (int i = 0; i < tw_network_plan_n_parts(plan); i++) {
        tw_network_part part = tw_network_plan_part(plan, i);
        if (!part.plan || (best && tw_plan_summary(best)->cycles >= tw_plan_summary(part.plan)->cycles)) continue;
        best = part.plan;
        *out = part;
    }
    return best;
}

/* The layer whose steps take longest, -1: there is no plan. */
static int slowest_layer(const tw_network_plan *plan)
{
    int best = -1;
    int64_t most = 0;
    for (int i = 0; i < tw_network_plan_n_layers(plan); i++) {
        tw_layer_info layer = tw_network_plan_layer(plan, i);
        int64_t cycles = layer.plan ? tw_plan_summary(layer.plan)->cycles * layer.n_steps : 0;
        if (cycles > most) best = i, most = cycles;
    }
    return best;
}

/* What is known without a search about the layer that takes longest: its name stands before each. */
static tw_status find_layer_hints(net_session *s)
{
    int slowest = slowest_layer(s->plan[0]), n;
    const tw_remedy *found;
    tw_search_options search = s->options->search;
    s->asked_hints = slowest >= 0;
    if (slowest < 0) return TW_OK;
    tw_layer_info layer = tw_network_plan_layer(s->plan[0], slowest);
    tw_search_options_aim(s->machine, &search);
    tw_status status = tw_plan_hints(s->ctx, layer.plan, &search, &found, &n);
    for (int i = 0; status == TW_OK && i < n && i < NET_HINTS; i++) {
        bool of_mapping = tw_change_is_of_mapping(found[i].kind);
        s->hint[i] = found[i];
        s->hint[i].at = layer.name;
        if (asprintf(&s->hint_change[i], "this layer alone, %s%s%s", of_mapping ? "" : found[i].at,
                     of_mapping ? "" : ": ", found[i].change) < 0)
            return TW_ERR_NOMEM;
        s->hint[i].change = s->hint_change[i];
        s->n_hints = i + 1;
    }
    return status;
}

/* The same about the program that takes longest: its steps stand before each, unless it is all there is. */
static tw_status find_program_hints(net_session *s)
{
    int n;
    const tw_remedy *found;
    tw_network_part part = {0};
    tw_search_options search = s->options->search;
    const tw_plan *program = slowest_program(s->plan[0], &part);
    bool all = tw_plan_summary(program)->cycles == tw_network_plan_totals(s->plan[0])->cycles;
    tw_search_options_aim(s->machine, &search);
    tw_status status = tw_plan_hints(s->ctx, program, &search, &found, &n);
    for (int i = 0; status == TW_OK && i < n && i < NET_HINTS; i++) {
        s->hint[i] = found[i];
        s->n_hints = i + 1;
        if (all) continue;
        if (asprintf(&s->hint_change[i], "steps %d to %d alone, %s", part.first_step,
                     part.first_step + part.n_steps - 1, found[i].change) < 0)
            return TW_ERR_NOMEM;
        s->hint[i].change = s->hint_change[i];
    }
    return status;
}

/* For the first screen and the page, where nobody asks for more. */
static tw_status find_hints(net_session *s)
{
    const cli_options *o = s->options;
    bool shown = o->print.brief && !o->json && !o->quiet && !o->plot.file;
    if (o->explain || interrupt_came() || !(shown || o->folder)) return TW_OK;
    s->asked_hints = true;
    return tw_network_plan_totals(s->plan[0])->n_programs > 0 ? find_program_hints(s) : find_layer_hints(s);
}

static tw_status print_it(net_session *s, FILE *out)
{
    const cli_options *o = s->options;
    if (o->dump) return print_stage(s, out);
    if (o->view == VIEW_EVENTS) return tw_network_print_events(s->ctx, s->plan[0], o->format, o->engine, out);
    if (o->view == VIEW_GANTT) return tw_network_print_gantt(s->ctx, s->plan[0], o->from, o->to, &o->print, out);
    if (o->json) return print_json_file(s, out);
    if (o->quiet) return TW_OK;
    if (o->plot.file) return TW_OK; /* which say_where tells */
    tw_print_options how = o->print;
    how.remedy = s->summed;
    how.n_remedies = s->n_remedies;
    how.hint = s->asked_hints ? s->hint : NULL;
    how.n_hints = s->n_hints;
    return tw_network_print_text(s->ctx, s->plan[0], s->verdict, &how, out);
}

static void say_where(const void *user, FILE *out)
{
    const char *name[N_FILES];
    int n = 0;
    const net_session *s = user;
    if (s->options->view != VIEW_NONE) out = stderr; /* what is printed is data, or a chart alone */
    int results = s->verdict ? s->verdict->n_outputs : 0;
    bool picture = s->options->plot.file && !s->options->json && !s->options->dump && !s->options->quiet;
    if (picture) output_say_file(s->options->plot.file, out);
    if (s->options->trace && !s->options->quiet) output_say_file(s->options->trace, out);
    const advice advised = advice_of(s);
    if (s->options->folder && !s->options->dump && !s->options->plot.file) advice_drop_old(&advised);
    if (!s->options->folder || s->options->quiet || s->options->dump || s->options->view != VIEW_NONE) return;
    for (int i = 0; i < N_FILES; i++)
        if (!s->left_out[i]) name[n++] = files[i].name;
    if (out != stderr) fputc('\n', out);
    if (n > 0) output_say_wrote(s->options->folder, name, n, s->options->print.columns, out);
    if (results > 0)
        fprintf(out, "and the result%s as output_0.pb%s\n", results == 1 ? "" : "s", results == 1 ? "" : "..");
    advice_say(&advised, out);
}

static int print(net_session *s)
{
    finish end = {.ctx = s->ctx, .files = &s->files, .say = say_where, .user = s, .apart = s->options->json};
    FILE *out = output_open();
    return out ? finish_output(&end, out, print_it(s, out)) : status_exit(s->ctx, TW_ERR_NOMEM);
}

/* ---- the walk ---- */

static const char *unfit_option(const net_session *s)
{
    const cli_options *o = s->options;
    if (o->view == VIEW_INJECTION || o->view == VIEW_SYMBOLIC) return "--injection and --symbolic";
    if (is_stage(s, "layout") || is_stage(s, "program") || is_stage(s, "timeline") || is_stage(s, "verdict"))
        return "--dump=layout, program, timeline and verdict";
    if (o->print.map) return "--map";
    if (o->search.pareto) return "--pareto";
    return o->lowering ? "--lowering-config" : NULL;
}

static int first_part(net_session *s)
{
    const char *unfit = unfit_option(s);
    if (unfit) {
        fprintf(stderr, "tilewright: %s: not for networks, only for single operators\n", unfit);
        return EXIT_USAGE;
    }
    const char *folder = s->options->folder, *trace = s->options->trace;
    if (folder && !s->options->dump && !output_folder_is_possible(folder)) {
        fprintf(stderr, "tilewright: cannot write to the folder '%s': %s\n", folder, strerror(errno));
        return EXIT_WRITING;
    }
    if (trace && !output_path_is_possible(trace)) {
        output_complain(trace);
        return EXIT_WRITING;
    }
    return status_exit(s->ctx, s->ctx ? open_network(s) : TW_ERR_NOMEM);
}

/* The first layer that ought to have a plan and has none: a mapping that does not fit, a machine for which everything is
 * too large, and with --strict any layer. What an engine cannot compute is no fault of a mapping. */
static int find_refused(const net_session *s)
{
    const tw_network_totals *t = tw_network_plan_totals(s->plan[0]);
    bool all = s->options->network.open.strict || (t->n_planned == 0 && t->n_refused > 0);
    for (int i = 0; i < tw_network_plan_n_layers(s->plan[0]); i++) {
        tw_layer_info layer = tw_network_plan_layer(s->plan[0], i);
        if (layer.refusal && (all || (s->options->mapping && !layer.foreign))) return i;
    }
    return -1;
}

static int judge(const net_session *s)
{
    int layer = find_refused(s);
    if (layer < 0) return EXIT_DONE;
    tw_layer_info info = tw_network_plan_layer(s->plan[0], layer);
    const char *kind = tw_network_plan_is_left(s->plan[0], layer) ? "stopped" : "infeasible";
    fprintf(stderr, "%s: %s: layer '%s': %s\n", s->options->workload, kind, info.name, info.refusal);
    return EXIT_INFEASIBLE;
}

/* The cycles that were asked for, against those that there are. */
static int check_cycles(const net_session *s)
{
    const cli_options *o = s->options;
    int64_t end = tw_network_plan_totals(s->plan[0])->cycles;
    bool asked = o->view == VIEW_GANTT || o->plot.kind == PLOT_GANTT;
    if (!asked || ((o->from == 0 || o->from < end) && o->to <= end)) return EXIT_DONE;
    fprintf(stderr, "tilewright: --cycles %s at %" PRId64 ", but the plan ends at cycle %" PRId64 "\n",
            o->from >= end ? "begins" : "ends", o->from >= end ? o->from : o->to, end);
    return EXIT_USAGE;
}

/* Whether there is a plan of anything. */
static bool is_planned(const net_session *s)
{
    const tw_network_totals *t = tw_network_plan_totals(s->plan[0]);
    return t->n_planned > 0 || t->n_programs > 0;
}

/* Files and the report; a plan that is not complete is shown all the same. */
static int report(net_session *s)
{
    int bad = check_cycles(s);
    if (bad != EXIT_DONE) return bad;
    if (!s->options->quiet && !s->options->mapping && is_planned(s)) interrupt_say("plan");
    enter(s, LIMIT_FILES);
    bool prints = s->options->dump || s->options->view != VIEW_NONE; /* that alone is asked for */
    int code = prints ? EXIT_DONE : status_exit(s->ctx, find_hints(s));
    if (code != EXIT_DONE) return code;
    code = prints ? EXIT_DONE : s->options->plot.file ? write_plot(s) : write_files(s);
    if (code == EXIT_DONE && !s->options->dump) code = write_trace(s);
    enter(s, LIMIT_REPORT); /* whatever there is is printed */
    if (s->n_cached > 0 && !s->options->quiet)
        fprintf(stderr, "tilewright: (from the cache; --no-cache searches anew)\n");
    if (code == EXIT_DONE) code = print(s);
    return code == EXIT_DONE ? judge(s) : code;
}

static int plan_all(net_session *s)
{
    int code = first_part(s);
    bool needs_plan = !s->options->dump || is_stage(s, "mapping");
    if (code != EXIT_DONE || !needs_plan) return code == EXIT_DONE ? print(s) : code;
    code = status_exit(s->ctx, make_plans(s));
    return code == EXIT_DONE ? report(s) : code;
}

static int verify_all(net_session *s)
{
    if (s->options->dump) return plan_all(s);
    s->runs = true;
    int code = first_part(s);
    if (code == EXIT_DONE) code = status_exit(s->ctx, prepare(s));
    if (code == EXIT_DONE) code = status_exit(s->ctx, make_plans(s));
    if (code != EXIT_DONE) return code;
    enter(s, LIMIT_VERIFY);
    int wrong = status_exit(s->ctx, run(s));
    if (!s->verdict) return wrong;
    code = report(s);
    if (code == EXIT_DONE) code = compare_outputs(s);
    return code == EXIT_DONE ? wrong : code;
}

static int with_session(const cli_options *options, int (*walk)(net_session *s))
{
    net_session *s = calloc(1, sizeof *s);
    if (!s) return status_exit(NULL, TW_ERR_NOMEM);
    s->options = options;
    s->ctx = tw_context_new();
    if (s->ctx) {
        enter(s, LIMIT_OPEN);
        tw_context_use_painter(s->ctx, tw_cairo_painter());
    }
    int code = walk(s);
    output_batch_drop(&s->files); /* what is not in place by now must not appear */
    interrupt_enter(INTERRUPT_WRITING, NULL);
    tw_context_free(s->ctx);
    free(s->summed);
    for (int i = 0; i < s->n_hints; i++) free(s->hint_change[i]);
    free(s);
    return code;
}

int network_plan(const cli_options *options) { return with_session(options, plan_all); }
int network_verify(const cli_options *options) { return with_session(options, verify_all); }
