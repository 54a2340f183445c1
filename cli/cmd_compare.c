/* cli/cmd_compare.c - how do two plans differ? */
#include "busy.h"
#include "cmd.h"
#include "finish.h"
#include "help.h"
#include "options.h"
#include "output.h"
#include "status.h"
#include "terminal.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

enum { KEY_JSON = 256, KEY_COLUMNS, KEY_ASCII, KEY_COLOR };

typedef struct compare_options {
    const char *input[2], *output;
    int n_inputs;
    bool json, quiet;
    terminal terminal;
    tw_print_options print;
} compare_options;

static const struct argp_option options[] = {
    {"output", 'o', "FILE.html", 0, "write a page that shows both side by side", 0},
    {"json", KEY_JSON, 0, 0, "all values as one JSON document on standard output (docs/json.md)", 0},
    {"columns", KEY_COLUMNS, "N", 0, "width of the report, 60 to 400; default: the terminal's, or 80", 0},
    {"ascii", KEY_ASCII, 0, 0, "no box-drawing characters", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto (default), always or never; NO_COLOR is honoured", 0},
    {"quiet", 'q', 0, 0, "no report, only messages, files and the exit code", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    compare_options *o = state->input;
    switch (key) {
    case 'o': o->output = arg; break;
    case KEY_JSON: o->json = true; break;
    case KEY_COLUMNS: o->terminal.columns = terminal_read_columns(state, arg); break;
    case KEY_ASCII: o->terminal.ascii = true; break;
    case KEY_COLOR: o->terminal.colour = terminal_read_colour(state, arg); break;
    case 'q': o->quiet = true; break;
    case ARGP_KEY_ARG:
        if (o->n_inputs == 2) argp_error(state, "two plans at a time: '%s' is a third one", arg);
        if (!*arg) argp_error(state, "a plan needs the name of a file or folder");
        o->input[o->n_inputs++] = arg;
        break;
    case ARGP_KEY_END:
        if (o->n_inputs < 2) argp_error(state, "two plans are needed");
        if (o->output && !*o->output) argp_error(state, "--output needs the name of a file");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void read_options(int argc, char **argv, compare_options *out)
{
    static const char doc[] = "Compares two plans, or two networks, that earlier runs wrote: A and B are files "
                              "plan.json or folders that have one.";
    static const struct argp argp = {options, parse, "A B", doc, 0, 0, 0};
    *out = (compare_options){.terminal = {.colour = "auto"}};
    help_parse(&argp, argc, argv, out);
    terminal_apply(&out->terminal, &out->print);
}

/* ---- running ---- */

typedef struct run {
    const compare_options *options;
    tw_context *ctx;
    const tw_comparison *result;
    output_batch files; /* written, but not under their names yet */
} run;

static int cannot_write(const char *path)
{
    output_complain(path);
    return EXIT_WRITING;
}

static int write_page(run *r, const char *path)
{
    output_file file;
    if (!output_path_open(&file, path)) return cannot_write(path);
    busy *b = busy_begin(r->options->quiet, "writing %s", path);
    tw_status status = tw_comparison_print_html(r->ctx, r->result, file.stream);
    busy_end(b);
    if (status == TW_OK) return output_batch_add(&r->files, &file) ? EXIT_DONE : cannot_write(path);
    output_file_drop(&file);
    return status == TW_ERR_IO ? cannot_write(path) : status_exit(r->ctx, status);
}

static void say_where(const void *user, FILE *out)
{
    const compare_options *o = user;
    if (!o->output || o->quiet) return;
    fputc('\n', out);
    output_say_file(o->output, out);
}

static int print(run *r)
{
    const compare_options *o = r->options;
    finish end = {.ctx = r->ctx, .files = &r->files, .say = say_where, .user = o, .apart = o->json};
    FILE *out = output_open();
    if (!out) return status_exit(r->ctx, TW_ERR_NOMEM);
    tw_status status = TW_OK;
    if (o->json)
        status = tw_comparison_print_json(r->ctx, r->result, out);
    else if (!o->quiet)
        status = tw_comparison_print_text(r->ctx, r->result, &o->print, out);
    return finish_output(&end, out, status);
}

static int walk(run *r)
{
    const compare_options *o = r->options;
    busy *b = busy_begin(o->quiet, "comparing");
    tw_status status = r->ctx ? tw_comparison_open(r->ctx, o->input[0], o->input[1], &r->result) : TW_ERR_NOMEM;
    busy_end(b);
    int code = status_exit(r->ctx, status);
    if (code == EXIT_DONE && o->output) code = write_page(r, o->output);
    return code == EXIT_DONE ? print(r) : code;
}

int cmd_compare(int argc, char **argv)
{
    compare_options o;
    read_options(argc, argv, &o);
    run r = {.options = &o, .ctx = tw_context_new()};
    int code = walk(&r);
    output_batch_drop(&r.files);
    tw_context_free(r.ctx);
    return code;
}
