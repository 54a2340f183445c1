/* cli/session.c - see session.h. */
#include "session.h"
#include "advice.h"
#include "busy.h"
#include "fence.h"
#include "find.h"
#include "finish.h"
#include "foreign.h"
#include "interrupt.h"
#include "limit.h"
#include "oracle.h"
#include "output.h"
#include "status.h"
#include "tilewright/paint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char lowering_name[] = "lowering_config.txt";

/* Ticks, or commands of an async machine, up to which the files hold every row; of longer plans they hold this many. */
enum { FILE_ROWS_MAX = 20000 };

__attribute__((format(printf, 1, 2))) static void complain(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("tilewright: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

static int exit_code(session *s, tw_status status) { return status_exit(s->ctx, status); }

static void enter(session *s, limit_stage stage) { limit_enter(s->ctx, s->options->search.time_limit, stage); }

/* ---- verification ---- */

static int verify(session *s)
{
    tw_verify_options how = {.size = sizeof how,
                             .reference = tw_oracle_reference_fenced,
                             .seed = s->options->seed,
                             .max_macs = s->options->max_macs,
                             .max_instructions = s->options->max_instructions};
    int n = tw_model_n_ops(s->model), code = EXIT_DONE;
    bool grouped = tw_plan_n_groups(s->plan) > 0;
    s->verdict = calloc((size_t)n, sizeof *s->verdict);
    if (!s->verdict) return exit_code(s, TW_ERR_NOMEM);
    for (int i = 0; i < n; i++) {
        if (i > 0 && grouped) { /* one verdict about the whole program */
            s->verdict[i] = s->verdict[0];
            continue;
        }
        const char *what = grouped ? "the groups" : tw_model_op_name(s->model, i);
        busy *b = busy_begin(s->options->quiet, "verifying %s", what);
        how.progress = busy_at;
        how.progress_user = b;
        tw_status status = tw_plan_verify(s->ctx, s->plan, i, &how, &s->verdict[i]);
        busy_end(b);
        if (status != TW_OK) code = exit_code(s, status);
        if (status == TW_WRONG)
            complain("the plan of '%s' is wrong, please report it: %s", what, s->verdict[i]->first_fault);
        if (status == TW_OK || status == TW_WRONG) continue;
        free(s->verdict);
        s->verdict = NULL;
        return code;
    }
    return code;
}

/* ---- files ---- */

typedef tw_status (*printer)(session *s, FILE *out);

/* The same bytes wherever and however often the command runs: nothing here asks the terminal, the clock or the
 * cache. */
static tw_print_options file_options(const session *s)
{
    tw_print_options print = {.size = sizeof print,
                              .n_rows = -1,
                              .columns = s->options->columns_given ? s->options->print.columns : 80,
                              .remedy = s->remedy,
                              .n_remedies = s->n_remedies};
    const tw_summary *sum = tw_plan_summary(s->plan);
    if (sum->ticks > FILE_ROWS_MAX || (sum->ticks == 0 && sum->instructions > FILE_ROWS_MAX))
        print.n_rows = FILE_ROWS_MAX;
    return print;
}

static tw_status print_report_file(session *s, FILE *out)
{
    tw_print_options print = file_options(s);
    return tw_plan_print_text(s->ctx, s->plan, s->verdict, &print, out);
}

static tw_status print_json_file(session *s, FILE *out)
{
    tw_print_options print = file_options(s);
    return tw_plan_print_json(s->ctx, s->plan, s->verdict, &print, out);
}

static tw_status print_html_file(session *s, FILE *out)
{
    tw_print_options print = file_options(s);
    print.hint = s->hint;
    print.n_hints = s->n_hints;
    return tw_plan_print_html(s->ctx, s->plan, s->verdict, &print, out);
}

static tw_status print_mapping_file(session *s, FILE *out) { return tw_plan_print_mapping(s->ctx, s->plan, out); }
static tw_status print_lowering_file(session *s, FILE *out) { return tw_plan_print_lowering(s->ctx, s->plan, out); }

/* ---- views ---- */

/* Each operator's chart. Cycles are those of the operator: one that has none of them is left out, which the check
 * below has seen to be not all. */
static tw_status print_gantt(session *s, const tw_print_options *print, FILE *out)
{
    const cli_options *o = s->options;
    const char *gap = "";
    if (tw_plan_n_groups(s->plan) > 0) return tw_plan_print_gantt(s->ctx, s->plan, 0, o->from, o->to, print, out);
    for (int i = 0; i < tw_model_n_ops(s->model); i++) {
        int64_t end = tw_plan_op_summary(s->plan, i)->cycles, to = o->to > end ? end : o->to;
        if (o->from > 0 && o->from >= end) continue;
        fputs(gap, out);
        gap = "\n";
        tw_status status = tw_plan_print_gantt(s->ctx, s->plan, i, o->from, to, print, out);
        if (status != TW_OK) return status;
    }
    return TW_OK;
}

static tw_status print_view(session *s, const tw_print_options *print, FILE *out)
{
    const cli_options *o = s->options;
    switch (o->view) {
    case VIEW_EVENTS: return tw_plan_print_events(s->ctx, s->plan, o->format, o->engine, out);
    case VIEW_GANTT: return print_gantt(s, print, out);
    case VIEW_INJECTION: return tw_plan_print_injection(s->ctx, s->plan, o->format, &o->injection, print, out);
    case VIEW_SYMBOLIC: return tw_plan_print_symbolic(s->ctx, s->plan, print, out);
    case VIEW_NONE: break;
    }
    return TW_OK;
}

static tw_status print_view_file(session *s, FILE *out)
{
    tw_print_options print = file_options(s);
    return print_view(s, &print, out);
}

static const char *view_file(const cli_options *o)
{
    switch (o->view) {
    case VIEW_EVENTS: return o->format == TW_FORMAT_CSV ? "events.csv" : "events.jsonl";
    case VIEW_GANTT: return "gantt.txt";
    case VIEW_INJECTION:
        return o->format == TW_FORMAT_CSV    ? "injection.csv"
               : o->format == TW_FORMAT_JSON ? "injection.json"
                                             : "injection.txt";
    case VIEW_SYMBOLIC: return "symbolic.txt";
    case VIEW_NONE: break;
    }
    return NULL;
}

/* The last cycle that can be shown: a picture has all operators one after the other, or the one that is named. */
static int64_t end_of(const session *s)
{
    const cli_options *o = s->options;
    int64_t longest = 0;
    if (tw_plan_n_groups(s->plan) > 0) return tw_plan_summary(s->plan)->cycles;
    for (int i = 0; i < tw_model_n_ops(s->model); i++) {
        int64_t cycles = tw_plan_op_summary(s->plan, i)->cycles;
        if (o->plot.op && strcmp(o->plot.op, tw_model_op_name(s->model, i)) == 0) return cycles;
        longest = cycles > longest ? cycles : longest;
    }
    return o->plot.kind != PLOT_NONE ? tw_plan_summary(s->plan)->cycles : longest;
}

/* The cycles that were asked for, against those that there are. */
static int check_cycles(const session *s)
{
    const cli_options *o = s->options;
    int64_t end = end_of(s);
    bool asked = o->view == VIEW_GANTT || options_plot_has_cycles(&o->plot);
    if (!asked || ((o->from == 0 || o->from < end) && o->to <= end)) return EXIT_DONE;
    if (o->from >= end)
        complain("--cycles begins at %" PRId64 ", but the plan ends at cycle %" PRId64, o->from, end);
    else
        complain("--cycles ends at %" PRId64 ", but the plan ends at cycle %" PRId64, o->to, end);
    return EXIT_USAGE;
}

/* ---- writing them ---- */

static int cannot_write(const char *folder, const char *name)
{
    complain("cannot write '%s/%s': %s", folder, name, strerror(errno));
    return EXIT_WRITING;
}

static int make_folder(const char *folder)
{
    if (output_make_folder(folder)) return EXIT_DONE;
    complain("cannot make the folder '%s': %s", folder, strerror(errno));
    return EXIT_WRITING;
}

/* Keeps the file for the end, or gives it up when printing it failed. */
static int finish_file(session *s, const char *folder, const char *name, output_file *file, tw_status status)
{
    if (status == TW_OK) return output_batch_add(&s->files, file) ? EXIT_DONE : cannot_write(folder, name);
    bool full = ferror(file->stream);
    output_file_drop(file);
    if (!full) return exit_code(s, status);
    tw_context_clear_messages(s->ctx);
    return cannot_write(folder, name);
}

/* There is no time for this file. One that is there from an earlier plan would look like this one's. */
static int leave_out(session *s, const char *name)
{
    complain("'%s/%s' is left out: time was up", s->options->folder, name);
    if (s->n_left_out < SESSION_FILES) s->left_out[s->n_left_out++] = name;
    return EXIT_DONE;
}

/* A file is replaced only by a complete one. The mapping is the result, and soon written: there is always time for it. */
static int write_file(session *s, const char *name, printer print)
{
    output_file file;
    const char *folder = s->options->folder;
    if (tw_context_is_over(s->ctx) && print != print_mapping_file) return leave_out(s, name);
    if (!output_file_open(&file, folder, name)) return cannot_write(folder, name);
    busy *b = busy_begin(s->options->quiet, "writing %s/%s", folder, name);
    tw_status status = print(s, file.stream);
    busy_end(b);
    if (status != TW_STOPPED) return finish_file(s, folder, name, &file, status);
    output_file_drop(&file);
    tw_context_clear_messages(s->ctx);
    return leave_out(s, name);
}

/* ---- the files of a Pareto front ---- */

/* "01.yaml", in plans of several operators "conv1-01.yaml". */
static void name_point(const session *s, int op, int i, char *name, size_t size)
{
    bool several = tw_model_n_ops(s->model) > 1;
    snprintf(name, size, "%s%s%02d.yaml", several ? tw_model_op_name(s->model, op) : "", several ? "-" : "", i + 1);
}

static int write_point(session *s, const char *folder, int op, int i)
{
    output_file file;
    char name[200];
    name_point(s, op, i, name, sizeof name);
    if (!output_file_open(&file, folder, name)) return cannot_write(folder, name);
    const tw_mapping *mapping = tw_plan_front(s->plan, op, i)->mapping;
    return finish_file(s, folder, name, &file,
                       tw_mapping_print_to(s->ctx, mapping, s->model, s->machine, file.stream));
}

/* A longer front that was there before would look like a part of this one. */
static void drop_points(const session *s, int op)
{
    for (int i = tw_plan_n_front(s->plan, op);; i++) {
        char name[200], in_folder[220];
        name_point(s, op, i, name, sizeof name);
        snprintf(in_folder, sizeof in_folder, "front/%s", name);
        if (!output_remove(s->options->folder, in_folder)) return;
    }
}

static int write_front_of(session *s, const char *folder, int op)
{
    int n = tw_plan_n_front(s->plan, op), code = make_folder(folder);
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = write_point(s, folder, op, i);
    return code;
}

static int write_front(session *s)
{
    char *folder;
    int code = EXIT_DONE;
    if (!s->options->search.pareto) return EXIT_DONE;
    if (asprintf(&folder, "%s/front", s->options->folder) < 0) return exit_code(s, TW_ERR_NOMEM);
    for (int op = 0; op < tw_model_n_ops(s->model) && code == EXIT_DONE; op++) code = write_front_of(s, folder, op);
    free(folder);
    return code;
}

/* ---- all files ---- */

enum { FILES_MAX = SESSION_FILES };
typedef struct named_file {
    const char *name;
    printer print; /* NULL: written apart */
} named_file;

/* The files that belong to this plan; returns how many. */
static int list_files(const session *s, named_file file[FILES_MAX])
{
    int n = 0;
    file[n++] = (named_file){"report.html", print_html_file};
    file[n++] = (named_file){"report.txt", print_report_file};
    file[n++] = (named_file){"plan.json", print_json_file};
    file[n++] = (named_file){"mapping.yaml", print_mapping_file};
    if (tw_plan_has_lowering(s->plan)) file[n++] = (named_file){lowering_name, print_lowering_file};
    if (view_file(s->options)) file[n++] = (named_file){view_file(s->options), print_view_file};
    if (s->options->search.pareto) file[n++] = (named_file){"front/", NULL};
    return n;
}

static advice advice_of(const session *s)
{
    const cli_options *o = s->options;
    return (advice){s->ctx, o->folder, o->workload, o->machine, s->model, s->machine, s->remedy, s->n_remedies};
}

/* Attributes that are there from an earlier plan would look like this one's. */
static void drop_old(const session *s)
{
    if (!s->options->folder || !s->plan) return;
    if (!tw_plan_has_lowering(s->plan)) output_remove(s->options->folder, lowering_name);
    for (int i = 0; i < s->n_left_out; i++) output_remove(s->options->folder, s->left_out[i]);
    const advice advised = advice_of(s);
    advice_drop_old(&advised);
    for (int op = 0; s->options->search.pareto && op < tw_model_n_ops(s->model); op++) drop_points(s, op);
}

static int write_files(session *s)
{
    named_file file[FILES_MAX];
    int n = list_files(s, file), code = make_folder(s->options->folder);
    for (int i = n - 1; i >= 0 && code == EXIT_DONE; i--) /* what takes longest comes last */
        if (file[i].print) code = write_file(s, file[i].name, file[i].print);
    const advice advised = advice_of(s);
    if (code == EXIT_DONE) code = advice_write(&advised, &s->files);
    return code == EXIT_DONE ? write_front(s) : code;
}

/* ---- the picture ---- */

static tw_status print_picture(session *s, FILE *out)
{
    static const tw_plot_kind kind[] = {
        [PLOT_GANTT] = TW_PLOT_GANTT,     [PLOT_BUFFERS] = TW_PLOT_BUFFERS, [PLOT_ROOFLINE] = TW_PLOT_ROOFLINE,
        [PLOT_TRAFFIC] = TW_PLOT_TRAFFIC, [PLOT_LOSSES] = TW_PLOT_LOSSES,   [PLOT_PARETO] = TW_PLOT_PARETO};
    const cli_plot *plot = &s->options->plot;
    if (plot->kind == PLOT_COSTS) { /* a network, which a mapping of another tool made a workload */
        fprintf(stderr, "tilewright: --plot=costs is of networks layer by layer; of groups there are gantt, "
                        "buffers and losses\n");
        return TW_ERR_INPUT;
    }
    tw_plot_options how = {.size = sizeof how,
                           .kind = kind[plot->kind],
                           .image = plot->image,
                           .width_mm = plot->width_mm,
                           .dpi = plot->dpi,
                           .op = plot->op,
                           .from = s->options->from,
                           .to = s->options->to};
    return tw_plan_plot(s->ctx, s->plan, &how, out);
}

/* ---- the trace ---- */

/* x.pftrace, x.json; with .gz behind it, smaller. */
static tw_status print_trace_file(session *s, FILE *out)
{
    bool gzip;
    tw_trace_format format = options_trace_format(s->options->trace, &gzip);
    return tw_plan_print_trace(s->ctx, s->plan, format, gzip, out);
}

static int cannot_write_path(const char *path)
{
    output_complain(path);
    return EXIT_WRITING;
}

typedef struct printing { /* of one file */
    session *s;
    const char *path;
    printer print;
} printing;

/* Prints all of it; what went wrong is said. */
static int print_path(void *user, FILE *out)
{
    const printing *p = user;
    tw_status status = p->print(p->s, out);
    if (status == TW_OK && fflush(out) == 0) return EXIT_DONE;
    if (status != TW_OK && status != TW_ERR_IO) return exit_code(p->s, status);
    tw_context_clear_messages(p->s->ctx);
    return cannot_write_path(p->path);
}

/* A file outside of the folder; `path` NULL: none. Pictures are drawn behind a fence. */
static int write_path(session *s, const char *path, printer print)
{
    output_file file;
    printing p = {s, path, print};
    if (!path) return EXIT_DONE;
    if (!output_path_open(&file, path)) return cannot_write_path(path);
    busy *b = busy_begin(s->options->quiet, "writing %s", path);
    int code = print == print_picture ? fence_draw(print_path, &p, file.stream) : print_path(&p, file.stream);
    busy_end(b);
    if (code == EXIT_DONE) return output_batch_add(&s->files, &file) ? EXIT_DONE : cannot_write_path(path);
    output_file_drop(&file);
    return code == FENCE_BROKEN ? EXIT_FAULT : code;
}

/* ---- standard output ---- */

typedef enum input { NO_INPUT, MODEL, MACHINE, MAPPING } input;

/* The input that --dump asks for: it can be printed without a plan, so that one that does not exist or takes long
 * to find is no hindrance. */
static input dumped_input(const session *s)
{
    const char *stage = s->options->dump;
    if (!stage) return NO_INPUT;
    if (strcmp(stage, "model") == 0) return MODEL;
    if (strcmp(stage, "machine") == 0) return MACHINE;
    return strcmp(stage, "mapping") == 0 && s->mapping ? MAPPING : NO_INPUT;
}

/* As for standard output, with what was found out since. */
static tw_print_options stdout_options(const session *s)
{
    tw_print_options print = s->options->print;
    print.cached = s->cached && print.seconds;
    print.remedy = s->remedy;
    print.n_remedies = s->n_remedies;
    print.hint = s->hint;
    print.n_hints = s->n_hints;
    return print;
}

/* A picture instead of the report. */
static bool is_picture(const cli_options *o)
{
    return o->plot.file && !o->dump && !o->json && o->view == VIEW_NONE;
}

static tw_status print_stdout(session *s, FILE *out)
{
    const cli_options *o = s->options;
    tw_print_options how = stdout_options(s);
    switch (dumped_input(s)) {
    case MODEL: return tw_model_print_to(s->ctx, s->model, out);
    case MACHINE: return tw_machine_print_to(s->ctx, s->machine, out);
    case MAPPING: return tw_mapping_print_to(s->ctx, s->mapping, s->model, s->machine, out);
    case NO_INPUT: break;
    }
    if (o->dump && strcmp(o->dump, "verdict") == 0) return tw_plan_dump_verdict(s->ctx, s->plan, s->verdict, out);
    if (o->dump) return tw_plan_dump(s->ctx, s->plan, o->dump, out);
    if (o->json) return tw_plan_print_json(s->ctx, s->plan, s->verdict, &how, out);
    if (o->view != VIEW_NONE && !(o->quiet && o->folder)) return print_view(s, &how, out);
    if (o->quiet) return TW_OK;
    if (is_picture(o)) return TW_OK; /* which say_where tells */
    return tw_plan_print_text(s->ctx, s->plan, s->verdict, &how, out);
}

static bool is_left_out(const session *s, const char *name)
{
    for (int i = 0; i < s->n_left_out; i++)
        if (strcmp(s->left_out[i], name) == 0) return true;
    return false;
}

/* The files are in place: what an earlier run left goes, and the user is told where they are. */
static void say_where(const void *user, FILE *out)
{
    const session *s = user;
    named_file file[FILES_MAX];
    const char *name[FILES_MAX];
    const cli_options *o = s->options;
    drop_old(s);
    if (!s->plan || o->quiet || o->target) return;
    if (is_picture(o)) output_say_file(o->plot.file, out);
    int n = o->folder ? list_files(s, file) : 0;
    int n_written = 0;
    for (int i = 0; i < n; i++)
        if (!is_left_out(s, file[i].name)) name[n_written++] = file[i].name;
    n = n_written;
    if (n > 0 || o->trace) fputc('\n', out);
    if (n > 0) output_say_wrote(o->folder, name, n, o->print.columns, out);
    const advice advised = advice_of(s);
    advice_say(&advised, out);
    if (o->trace) output_say_file(o->trace, out);
}

/* A report on a terminal says so itself; elsewhere it has the same bytes whether there is a cache or not. */
static void say_cached(const session *s)
{
    if (s->cached && !s->options->print.seconds && !s->options->quiet)
        complain("(from the cache; --no-cache searches anew)");
}

/* What a program reads has nothing else in it. */
static bool is_data(const cli_options *o)
{
    return o->view == VIEW_EVENTS || (o->view == VIEW_INJECTION && o->format != TW_FORMAT_TEXT);
}

/* Ends standard output, to which something was printed with this result, and puts the files in place. */
static int finish_stdout(session *s, FILE *out, tw_status status, bool apart)
{
    finish end = {.ctx = s->ctx, .files = &s->files, .say = say_where, .user = s, .apart = apart};
    return finish_output(&end, out, status);
}

static int print(session *s)
{
    FILE *out = output_open();
    if (!out) return exit_code(s, TW_ERR_NOMEM);
    bool apart = s->options->json || s->options->dump || is_data(s->options);
    return finish_stdout(s, out, print_stdout(s, out), apart);
}

/* Verifies the plan, writes the files, prints the report. A plan that was found wrong is shown all the same. */
static int report(session *s)
{
    if (!s->options->quiet && !s->mapping) interrupt_say("plan");
    enter(s, LIMIT_VERIFY);
    int wrong = s->options->verify ? verify(s) : EXIT_DONE;
    if (wrong != EXIT_DONE && !s->verdict) return wrong;
    say_cached(s);
    enter(s, LIMIT_FILES);
    int code = s->options->folder ? write_files(s) : EXIT_DONE;
    if (code == EXIT_DONE) code = write_path(s, s->options->trace, print_trace_file);
    if (code == EXIT_DONE) code = write_path(s, s->options->plot.file, print_picture);
    enter(s, LIMIT_REPORT); /* whatever there is is printed */
    if (code == EXIT_DONE) code = print(s);
    return code != EXIT_DONE ? code : wrong;
}

/* ---- the run ---- */

/* Model and machine are opened even when one is bad, so that one run reports the faults of both. */
static tw_status open_inputs(session *s)
{
    const cli_options *o = s->options;
    s->search = o->search;
    if (foreign_is_meant(o)) return foreign_open(s->ctx, o, &s->model, &s->machine, &s->mapping);
    tw_status model = tw_model_open(s->ctx, o->workload, &s->model);
    tw_status machine = tw_machine_open(s->ctx, o->machine, &s->machine);
    if (model != TW_OK) return model;
    if (machine != TW_OK) return machine;
    tw_search_options_aim(s->machine, &s->search);
    if (o->limits) return tw_limits_open(s->ctx, s->model, s->machine, o->limits, &s->limits);
    if (o->lowering && *o->lowering == '@')
        return tw_mapping_open_lowering(s->ctx, s->model, s->machine, o->lowering + 1, &s->mapping);
    if (o->lowering) return tw_mapping_of_lowering(s->ctx, s->model, s->machine, o->lowering, &s->mapping);
    return o->mapping ? tw_mapping_open(s->ctx, s->model, s->machine, o->mapping, &s->mapping) : TW_OK;
}

static tw_status evaluate(session *s)
{
    busy *b = busy_begin(s->options->quiet, "simulating");
    tw_status status = tw_plan_eval(s->ctx, s->model, s->machine, s->mapping, &s->plan);
    busy_end(b);
    return status;
}

static tw_status make_plan(session *s)
{
    tw_status status = s->mapping ? evaluate(s) : find_plan(s);
    if (status == TW_OK) s->model = tw_plan_model(s->plan); /* perhaps with padding written */
    if (status == TW_OK && s->options->explain) return find_remedies(s);
    bool shown = s->options->print.brief && !s->options->json && !s->options->quiet && !s->options->dump;
    bool wanted = (shown || s->options->folder) && !interrupt_came();
    return status == TW_OK && wanted ? find_hints(s) : status;
}

/* ---- a mapping that does not fit ---- */

/* The mapping that was asked about. A partial one stands for itself with the defaults of what it leaves open, if that
 * makes a mapping. */
static tw_status find_mapping(session *s)
{
    const cli_options *o = s->options;
    if (s->mapping || !o->limits) return s->mapping ? TW_OK : TW_INFEASIBLE;
    tw_status status =
        tw_mapping_parse(s->ctx, s->model, s->machine, o->limits, tw_limits_text(s->limits), &s->mapping);
    tw_context_clear_messages(s->ctx);
    return status;
}

static tw_status ask_why(session *s, const tw_why_not **why)
{
    tw_status status = find_mapping(s);
    if (status != TW_OK) return status;
    busy *b = busy_begin(s->options->quiet, "looking for the nearest mapping that fits");
    status = tw_plan_why_not(s->ctx, s->model, s->machine, s->mapping, why);
    busy_end(b);
    tw_context_clear_messages(s->ctx);
    return status;
}

/* Why the mapping does not fit, if it is for want of memory: other reasons were said in a line. */
static int explain(session *s)
{
    const cli_options *o = s->options;
    const tw_why_not *why;
    bool wanted = o->json || !(o->quiet || o->dump || o->view != VIEW_NONE);
    tw_status status = wanted ? ask_why(s, &why) : TW_INFEASIBLE;
    if (status == TW_ERR_NOMEM) return exit_code(s, status);
    if (status != TW_OK || why->n_groups == 0) return EXIT_INFEASIBLE;
    FILE *out = output_open();
    if (!out) return exit_code(s, TW_ERR_NOMEM);
    status = o->json ? tw_why_not_print_json(s->ctx, why, out) : tw_why_not_print_text(s->ctx, why, &o->print, out);
    int code = finish_stdout(s, out, status, false);
    return code == EXIT_DONE ? EXIT_INFEASIBLE : code;
}

/* What cannot be written is said before anything is searched for. */
static int check_targets(const session *s)
{
    const cli_options *o = s->options;
    if (o->folder && !output_folder_is_possible(o->folder)) {
        complain("cannot write to the folder '%s': %s", o->folder, strerror(errno));
        return EXIT_WRITING;
    }
    if (o->trace && !output_path_is_possible(o->trace)) return cannot_write_path(o->trace);
    if (o->plot.file && !output_path_is_possible(o->plot.file)) return cannot_write_path(o->plot.file);
    return EXIT_DONE;
}

static int run(session *s)
{
    int code = exit_code(s, s->ctx ? open_inputs(s) : TW_ERR_NOMEM);
    if (code != EXIT_DONE) return code;
    if (dumped_input(s) != NO_INPUT) return print(s);
    code = check_targets(s);
    if (code != EXIT_DONE) return code;
    enter(s, LIMIT_WORK);
    code = exit_code(s, make_plan(s));
    if (code == EXIT_INFEASIBLE) return explain(s);
    if (code == EXIT_DONE) code = check_cycles(s);
    return code == EXIT_DONE ? report(s) : code;
}

/* Opens a session, lets it run and ends it. */
static int run_session(const cli_options *options, int (*run_it)(session *s))
{
    session s = {.options = options, .ctx = tw_context_new()};
    if (s.ctx) {
        enter(&s, LIMIT_OPEN);
        tw_context_use_painter(s.ctx, tw_cairo_painter());
    }
    int code = run_it(&s);
    output_batch_drop(&s.files); /* what is not in place by now must not appear */
    interrupt_enter(INTERRUPT_WRITING, NULL);
    free(s.verdict);
    tw_context_free(s.ctx);
    return code;
}

int session_run(const cli_options *options) { return run_session(options, run); }

/* ---- plans for other compilers ---- */

static int emit_to_stdout(session *s)
{
    FILE *out = output_open();
    if (!out) return exit_code(s, TW_ERR_NOMEM);
    return finish_stdout(s, out, tw_plan_print_lowering(s->ctx, s->plan, out), false);
}

/* What is found wrong is not handed on. */
static int emit(session *s)
{
    int code = exit_code(s, s->ctx ? open_inputs(s) : TW_ERR_NOMEM);
    if (code != EXIT_DONE) return code;
    enter(s, LIMIT_WORK);
    code = exit_code(s, s->mapping ? make_plan(s) : find_lowered(s));
    if (code != EXIT_DONE) return code;
    if (!s->mapping) interrupt_say("plan");
    enter(s, LIMIT_VERIFY);
    code = verify(s);
    enter(s, LIMIT_REPORT);
    if (code != EXIT_DONE || !s->options->file) return code == EXIT_DONE ? emit_to_stdout(s) : code;
    code = write_path(s, s->options->file, print_lowering_file);
    return code != EXIT_DONE || output_batch_commit(&s->files) ? code : EXIT_WRITING;
}

int session_emit(const cli_options *options) { return run_session(options, emit); }
