/* cli/cmd_place.c - addresses for the buffers of a CSV file. */
#include "busy.h"
#include "cmd.h"
#include "finish.h"
#include "help.h"
#include "interrupt.h"
#include "limit.h"
#include "options.h"
#include "output.h"
#include "status.h"
#include "terminal.h"
#include "value.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_CAPACITY = 256,
    KEY_MINIMIZE,
    KEY_TIME_LIMIT,
    KEY_NODES,
    KEY_MAP,
    KEY_JSON,
    KEY_COLUMNS,
    KEY_ASCII,
    KEY_COLOR
};

typedef struct place_options {
    const char *input, *output;
    tw_pack_options pack;
    double time_limit; /* seconds, 0: none */
    bool map, json, quiet;
    terminal terminal;
    tw_print_options print;
} place_options;

static const struct argp_option options[] = {
    {"capacity", KEY_CAPACITY, "SIZE", 0, "do they fit into SIZE bytes? Without it the least height is looked for",
     0},
    {"minimize", KEY_MINIMIZE, 0, 0, "with --capacity: the least height, if it is not above SIZE", 0},
    {"output", 'o', "FILE", 0, "write the file with a column 'offset' ('-': to standard output)", 0},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0, "of the whole command: ends with the best so far", 0},
    {"nodes", KEY_NODES, "N", 0, "stop after so many nodes of the search; the same on every machine", 0},
    {"map", KEY_MAP, 0, 0, "draw the addresses over time", 0},
    {"json", KEY_JSON, 0, 0, "one JSON document on standard output (docs/place.md)", 0},
    {"columns", KEY_COLUMNS, "N", 0, "width of the report, 60 to 400; default: the terminal's, or 80", 0},
    {"ascii", KEY_ASCII, 0, 0, "no box-drawing characters", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto (default), always or never; NO_COLOR is honoured", 0},
    {"quiet", 'q', 0, 0, "no report, only messages, files and the exit code", 0},
    {0}};

static error_t parse_printing(int key, char *arg, struct argp_state *state)
{
    place_options *o = state->input;
    switch (key) {
    case KEY_MAP: o->map = true; break;
    case KEY_JSON: o->json = true; break;
    case KEY_COLUMNS: o->terminal.columns = terminal_read_columns(state, arg); break;
    case KEY_ASCII: o->terminal.ascii = true; break;
    case KEY_COLOR: o->terminal.colour = terminal_read_colour(state, arg); break;
    case 'q': o->quiet = true; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    place_options *o = state->input;
    switch (key) {
    case KEY_CAPACITY: o->pack.capacity = value_bytes(state, "--capacity", arg); break;
    case KEY_MINIMIZE: o->pack.minimize = true; break;
    case KEY_TIME_LIMIT: o->time_limit = value_seconds(state, "--time-limit", arg); break;
    case KEY_NODES: o->pack.max_nodes = value_number(state, "--nodes", arg, 1, INT64_MAX); break;
    case 'o': o->output = arg; break;
    case ARGP_KEY_ARG:
        if (o->input) argp_error(state, "one file at a time: '%s' is a second one", arg);
        o->input = arg;
        break;
    case ARGP_KEY_END:
        if (!o->input) argp_error(state, "the file is missing");
        if (o->json && o->output && strcmp(o->output, "-") == 0)
            argp_error(state, "--json and --output=- cannot both have standard output");
        if (o->pack.capacity == INT64_MAX) o->pack.minimize = true;
        break;
    default: return parse_printing(key, arg, state);
    }
    return 0;
}

static void read_options(int argc, char **argv, place_options *out)
{
    static const char doc[] = "Gives every buffer of FILE.csv an address so that no two that are live at the same "
                              "time overlap: the least height "
                              "with its proof, or whether a capacity is enough. The columns are id, lower, upper, "
                              "size and more (docs/place.md).";
    static const struct argp argp = {options, parse, "FILE.csv", doc, 0, 0, 0};
    *out =
        (place_options){.pack = {.size = sizeof out->pack, .capacity = INT64_MAX}, .terminal = {.colour = "auto"}};
    help_parse(&argp, argc, argv, out);
    terminal_apply(&out->terminal, &out->print);
    out->print.seconds = true;
}

/* ---- running ---- */

typedef struct run {
    place_options *options;
    tw_context *ctx;
    const tw_packing *packing;
    const tw_packed *packed;
    output_batch files; /* written, but not under their names yet */
} run;

static int exit_code(run *r, tw_status status) { return status_exit(r->ctx, status); }

static int cannot_write(const char *path)
{
    output_complain(path);
    return EXIT_WRITING;
}

/* The file with its offsets, whole or not at all. */
static int write_offsets(run *r, const char *path)
{
    output_file file;
    if (!output_path_open(&file, path)) return cannot_write(path);
    tw_status status = tw_packed_print_csv(r->ctx, r->packing, r->packed, file.stream);
    if (status == TW_OK) return output_batch_add(&r->files, &file) ? EXIT_DONE : cannot_write(path);
    output_file_drop(&file);
    return status == TW_ERR_IO ? cannot_write(path) : exit_code(r, status);
}

static tw_status print_report(run *r, bool to_stdout, FILE *out)
{
    const place_options *o = r->options;
    tw_status status = TW_OK;
    if (to_stdout) return r->packed->offset ? tw_packed_print_csv(r->ctx, r->packing, r->packed, out) : TW_OK;
    if (o->json) return tw_packed_print_json(r->ctx, r->packing, r->packed, out);
    if (!o->quiet) status = tw_packed_print_text(r->ctx, r->packing, r->packed, &o->print, out);
    if (o->map && status == TW_OK) status = tw_packed_print_map(r->ctx, r->packing, r->packed, &o->print, out);
    return status;
}

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

static void say_where(const void *user, FILE *out)
{
    const run *r = user;
    const place_options *o = r->options;
    if (!o->output || is_stdout(o->output) || !r->packed->offset || o->quiet || o->json) return;
    fputc('\n', out);
    output_say_file(o->output, out);
}

static int print(run *r)
{
    finish end = {.ctx = r->ctx, .files = &r->files, .say = say_where, .user = r};
    FILE *out = output_open();
    if (!out) return exit_code(r, TW_ERR_NOMEM);
    return finish_output(&end, out, print_report(r, is_stdout(r->options->output), out));
}

/* Infeasible is an answer: it is reported like the others, and so is "undecided", which ends with the same code. */
static int walk(run *r)
{
    const char *path = r->options->output;
    tw_status status = r->ctx ? tw_packing_open(r->ctx, r->options->input, &r->packing) : TW_ERR_NOMEM;
    if (r->ctx) limit_enter(r->ctx, r->options->time_limit, LIMIT_WORK);
    busy *b = busy_begin(r->options->quiet, "packing %s", r->options->input);
    if (status == TW_OK) status = tw_packing_solve(r->ctx, r->packing, &r->options->pack, &r->packed);
    busy_end(b);
    int code = exit_code(r, status);
    if (!r->packed) return code;
    if (!r->options->quiet && r->packed->offset) interrupt_say("placement");
    limit_enter(r->ctx, 0, LIMIT_REPORT);
    if (r->packed->verdict == TW_PACK_UNDECIDED) {
        fprintf(stderr, "tilewright: no placement was found before the limit, and no proof that there is none\n");
        code = EXIT_INFEASIBLE;
    }
    if (r->packed->offset && path && strcmp(path, "-") != 0) {
        int written = write_offsets(r, path);
        if (written != EXIT_DONE) return written;
    }
    int printed = print(r);
    return printed == EXIT_DONE ? code : printed;
}

int cmd_place(int argc, char **argv)
{
    place_options o;
    read_options(argc, argv, &o);
    run r = {.options = &o, .ctx = tw_context_new()};
    if (r.ctx) limit_enter(r.ctx, o.time_limit, LIMIT_OPEN);
    int code = walk(&r);
    output_batch_drop(&r.files);
    interrupt_enter(INTERRUPT_WRITING, NULL);
    tw_context_free(r.ctx);
    return code;
}
